// Tests of asx/base/id.hpp; "law n" is the n-th of its banner.
#include "asx/base/id.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <type_traits>

namespace {

using task_id = asx::id<struct task_tag>;
using region_id = asx::id<struct region_tag>;

template <class A, class B>
concept comparable = requires(A a, B b) { a == b; } || requires(A a, B b) { a < b; };

TEST(id, ids_of_different_tags_do_not_convert_into_each_other) {  // law 1
  static_assert(!std::is_same_v<task_id, region_id>);
  static_assert(!std::is_convertible_v<task_id, region_id>);
  static_assert(!std::is_constructible_v<task_id, region_id>);
  static_assert(!std::is_assignable_v<task_id&, region_id>);
  static_assert(!comparable<task_id, region_id>);
  static_assert(comparable<task_id, task_id>);
}

TEST(id, an_id_is_not_a_number_and_a_number_is_not_an_id) {  // law 1
  static_assert(!std::is_convertible_v<std::uint64_t, task_id>);
  static_assert(!std::is_convertible_v<task_id, std::uint64_t>);
  static_assert(!std::is_constructible_v<std::uint64_t, task_id>);
  static_assert(!std::is_assignable_v<task_id&, std::uint64_t>);
  static_assert(!comparable<task_id, std::uint64_t>);
  static_assert(!comparable<task_id, int>);
  static_assert(std::is_constructible_v<task_id, std::uint64_t>, "but one can be made, explicitly");
}

TEST(id, zero_is_the_absent_id_and_the_only_one) {  // law 2
  static_assert(task_id{}.absent());
  static_assert(task_id{} == task_id{0});
  static_assert(task_id{}.value == 0);
  static_assert(!task_id{1}.absent(), "counters start at 1");
  for (unsigned bit = 0; bit < 64; ++bit) EXPECT_FALSE(task_id{std::uint64_t{1} << bit}.absent()) << "bit " << bit;
  EXPECT_FALSE(task_id{UINT64_MAX}.absent());
}

TEST(id, ids_are_ordered_as_their_numbers) {
  constexpr std::array<std::uint64_t, 6> numbers{0, 1, 2, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX};
  for (const std::uint64_t a : numbers) {
    for (const std::uint64_t b : numbers) {
      EXPECT_EQ(task_id{a} == task_id{b}, a == b);
      EXPECT_EQ(task_id{a} < task_id{b}, a < b);
      EXPECT_EQ(task_id{a} <=> task_id{b}, a <=> b);
    }
  }
}

TEST(id, an_id_is_a_plain_value_of_eight_bytes) {
  static_assert(sizeof(task_id) == 8);
  static_assert(std::is_trivially_copyable_v<task_id>);
  static_assert(std::is_nothrow_default_constructible_v<task_id>);
  static_assert(std::regular<task_id> && std::totally_ordered<task_id>);
  std::map<task_id, int> by_id;
  by_id[task_id{2}] = 20;
  by_id[task_id{1}] = 10;
  EXPECT_EQ(by_id.begin()->second, 10);
  EXPECT_EQ(by_id.count(task_id{}), 0U);
}

}  // namespace
