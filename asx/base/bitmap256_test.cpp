// Tests of asx/base/bitmap256.hpp: every answer for every map of none, one, two and all bits, then at random
// against std::bitset.
#include "asx/base/bitmap256.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "asx/base/random.hpp"

namespace {

using asx::bitmap256;

constexpr std::uint8_t bit(int i) {
  return static_cast<std::uint8_t>(i);
}

// All that a bitmap can be asked, answered by walking. Returns the first question with a wrong answer, or "".
std::string first_difference(const bitmap256& map, const std::bitset<256>& model) {
  int next = bitmap256::none;  // The lowest set bit from the position that the loop below is at.
  if (map.next(256) != bitmap256::none) return "next(256)";
  int highest = bitmap256::none;
  for (int i = 255; i >= 0; --i) {
    const bool is_set = model[static_cast<std::size_t>(i)];
    if (is_set && highest == bitmap256::none) highest = i;
    if (is_set) next = i;
    if (map.test(bit(i)) != is_set) return "test(" + std::to_string(i) + ")";
    if (map.next(i) != next) return "next(" + std::to_string(i) + ")";
  }
  if (map.lowest() != next) return "lowest()";
  if (map.highest() != highest) return "highest()";
  if (map.any() != model.any()) return "any()";
  if (map.count() != static_cast<int>(model.count())) return "count()";
  return "";
}

TEST(bitmap256, an_empty_map_finds_nothing_from_anywhere) {
  const bitmap256 map;
  EXPECT_EQ(first_difference(map, {}), "");
  EXPECT_FALSE(map.any());
  EXPECT_EQ(map.lowest(), bitmap256::none);
  EXPECT_EQ(map.highest(), bitmap256::none);
}

TEST(bitmap256, a_full_map_finds_every_position_itself) {
  bitmap256 map;
  for (int i = 0; i < 256; ++i) map.set(bit(i));
  EXPECT_EQ(first_difference(map, std::bitset<256>().set()), "");
  EXPECT_EQ(map.count(), 256);
}

TEST(bitmap256, every_single_bit_is_found_from_every_position) {
  for (int only = 0; only < 256; ++only) {
    bitmap256 map;
    map.set(bit(only));
    ASSERT_EQ(first_difference(map, std::bitset<256>().set(static_cast<std::size_t>(only))), "") << "bit " << only;
    map.clear(bit(only));
    ASSERT_EQ(map, bitmap256{}) << "bit " << only;
  }
}

TEST(bitmap256, every_single_hole_in_a_full_map_is_stepped_over) {
  bitmap256 map;
  for (int i = 0; i < 256; ++i) map.set(bit(i));
  for (int hole = 0; hole < 256; ++hole) {
    map.clear(bit(hole));
    ASSERT_EQ(first_difference(map, std::bitset<256>().set().reset(static_cast<std::size_t>(hole))), "")
        << "hole " << hole;
    map.set(bit(hole));
  }
}

TEST(bitmap256, every_pair_of_bits_is_found_in_order_from_every_position) {
  for (int low = 0; low < 256; ++low) {
    bitmap256 map;
    map.set(bit(low));
    for (int high = low + 1; high < 256; ++high) {
      map.set(bit(high));
      ASSERT_EQ(map.lowest(), low);
      ASSERT_EQ(map.highest(), high);
      ASSERT_EQ(map.count(), 2);
      bool right = true;
      for (int from = 0; from <= 256; ++from) {
        const int expected = from <= low ? low : from <= high ? high : bitmap256::none;
        right = right && map.next(from) == expected;
      }
      ASSERT_TRUE(right) << "bits " << low << " and " << high;
      map.clear(bit(high));
    }
  }
}

TEST(bitmap256, next_finds_nothing_from_256_on) {
  bitmap256 map;
  for (int i = 0; i < 256; ++i) map.set(bit(i));
  EXPECT_EQ(map.next(255), 255);
  EXPECT_EQ(map.next(256), bitmap256::none);
  EXPECT_EQ(map.next(257), bitmap256::none);
  EXPECT_EQ(map.next(INT32_MAX), bitmap256::none);
}

TEST(bitmap256, setting_and_clearing_twice_is_the_same_as_once) {
  for (const int i : {0, 1, 63, 64, 127, 128, 191, 192, 255}) {
    bitmap256 once;
    once.set(bit(i));
    bitmap256 twice = once;
    twice.set(bit(i));
    EXPECT_EQ(once, twice) << i;
    twice.clear(bit(i));
    twice.clear(bit(i));
    EXPECT_EQ(twice, bitmap256{}) << i;
  }
}

TEST(bitmap256, walking_with_next_visits_each_bit_once_in_ascending_order) {
  bitmap256 map;
  const std::vector<int> bits{0, 1, 62, 63, 64, 65, 127, 128, 190, 191, 192, 254, 255};
  for (const int i : bits) map.set(bit(i));
  std::vector<int> seen;
  for (int at = map.lowest(); at != bitmap256::none; at = map.next(at + 1)) seen.push_back(at);
  EXPECT_EQ(seen, bits);
}

TEST(bitmap256, maps_are_equal_exactly_when_their_bits_are) {
  bitmap256 left;
  bitmap256 right;
  for (int i = 0; i < 256; ++i) {
    left.set(bit(i));
    EXPECT_NE(left, right);
    right.set(bit(i));
    EXPECT_EQ(left, right);
  }
}

TEST(bitmap256, a_long_life_agrees_with_a_bitset) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    asx::splitmix64 random(seed);
    bitmap256 map;
    std::bitset<256> model;
    for (int step = 0; step < 1000; ++step) {
      const auto i = random.next_below(256);
      // Seeds take turns in how full the map stays.
      const bool on = random.next_below(8) < 1 + 2 * (seed - 1);
      on ? map.set(static_cast<std::uint8_t>(i)) : map.clear(static_cast<std::uint8_t>(i));
      model.set(i, on);
      ASSERT_EQ(first_difference(map, model), "") << "step " << step;
    }
  }
}

RC_GTEST_PROP(bitmap256, any_set_of_bits_agrees_with_a_bitset, (const std::vector<std::uint8_t>& bits)) {
  bitmap256 map;
  std::bitset<256> model;
  for (const std::uint8_t i : bits) {
    map.set(i);
    model.set(i);
  }
  RC_ASSERT(first_difference(map, model) == "");
}

TEST(bitmap256, the_answers_are_the_same_at_compile_time) {
  static_assert([] {
    bitmap256 map;
    map.set(3);
    map.set(200);
    return map.lowest() == 3 && map.next(4) == 200 && map.highest() == 200 && map.next(201) == bitmap256::none &&
           map.count() == 2 && map.test(3) && !map.test(4) && map.any();
  }());
  static_assert(sizeof(bitmap256) == 32);
  SUCCEED();
}

}  // namespace
