// Tests of asx/base/slab.hpp: records of every shape, a life without a heap, and random histories against std::map.
#include "asx/base/slab.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing.hpp"

// Every operator new of this program is counted here; the other forms end up in these two. Not inlined, or g++ 12
// sees a block of operator new handed to free and warns.
namespace {
std::size_t operator_new_calls = 0;
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++operator_new_calls;
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++operator_new_calls;
  const auto step = static_cast<std::size_t>(alignment);
  if (void* const block = std::aligned_alloc(step, (bytes + step - 1) / step * step)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace {

using asx::memory_port;
using asx::slab;
using asx::slab_entry;
using asx::slab_key;
using namespace asx::testing;

// ---- Shapes of records --------------------------------------------------------------------------------------------

template <std::size_t Size, std::size_t Alignment>
struct shaped {
  alignas(Alignment) std::array<std::byte, Size> bytes;
  explicit shaped(std::byte fill) { bytes.fill(fill); }
};

template <class T>
class slab_of : public testing::Test {};
using shapes =
    testing::Types<shaped<1, 1>, shaped<3, 1>, shaped<2, 2>, shaped<8, 8>, shaped<9, 8>, shaped<16, 16>, shaped<24, 32>,
                   shaped<64, 64>, shaped<1, 128>, shaped<128, 128>, shaped<200, 128>, shaped<1, 4096>>;
TYPED_TEST_SUITE(slab_of, shapes);

TYPED_TEST(slab_of, records_are_aligned_and_do_not_overlap) {
  counting_memory memory;
  slab<TypeParam> s(130, memory.port());
  std::vector<slab_entry<TypeParam>> entries;
  for (int i = 0; i < 130; ++i) {
    entries.push_back(s.allocate(static_cast<std::byte>(i)));
    ASSERT_TRUE(entries.back());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entries.back().record) % alignof(TypeParam), 0U);
  }
  s.check();  // A record that reaches into the next slot would have hit its generation.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const std::byte b : entries[i].record->bytes) ASSERT_EQ(b, static_cast<std::byte>(i));
    ASSERT_EQ(s.find(entries[i].key), entries[i].record);
  }
}

TYPED_TEST(slab_of, a_block_at_any_place_serves_aligned_records) {
  std::vector<std::byte> bytes(std::size_t{1} << 21);
  for (const std::size_t skew : {0U, 1U, 7U, 33U}) {
    asx::bump_memory memory(std::span<std::byte>(bytes).subspan(skew));
    slab<TypeParam> s(70, memory.port());
    for (int i = 0; i < 70; ++i) {
      const auto entry = s.allocate(static_cast<std::byte>(i));
      ASSERT_TRUE(entry);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entry.record) % alignof(TypeParam), 0U);
    }
    s.check();
  }
}

TEST(slab, arguments_are_forwarded_and_records_need_neither_default_copy_nor_move) {
  struct picky {
    picky(std::unique_ptr<int> moved, const std::string& seen, int& changed) : owned(std::move(moved)), name(seen) {
      ++changed;
    }
    picky(const picky&) = delete;
    picky& operator=(const picky&) = delete;
    std::unique_ptr<int> owned;
    std::string name;
  };
  int changed = 0;
  slab<picky> s(1);
  const auto entry = s.allocate(std::make_unique<int>(7), "name", changed);
  ASSERT_TRUE(entry);
  EXPECT_EQ(*entry.record->owned, 7);
  EXPECT_EQ(entry.record->name, "name");
  EXPECT_EQ(changed, 1);
}

TEST(slab, a_refused_allocate_does_not_consume_its_arguments) {  // law 4
  slab<std::unique_ptr<int>> s(0);
  auto kept = std::make_unique<int>(7);
  EXPECT_FALSE(s.allocate(std::move(kept)));
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(*kept, 7);
}

// ---- Without a heap -----------------------------------------------------------------------------------------------

TEST(slab, a_whole_life_fits_in_a_block_of_the_caller_without_operator_new) {
  static std::array<std::byte, 64 * 1024> block;
  asx::bump_memory memory(block);
  const std::size_t calls = operator_new_calls;
  bool right = true;
  {
    slab<std::uint64_t> s(500, memory.port());
    std::array<slab_key, 500> keys{};
    for (int life = 0; life < 3; ++life) {
      for (std::uint64_t i = 0; i < 500; ++i) {
        const auto entry = s.allocate(i);
        const auto* const at = reinterpret_cast<const std::byte*>(entry.record);
        right = right && entry && at >= block.data() && at + sizeof(std::uint64_t) <= block.data() + block.size();
        keys[i] = entry.key;
      }
      right = right && !s.allocate(0U);
      s.for_each([&](std::uint64_t& value, slab_key key) { right = right && keys[value] == key; });
      s.check();
      for (const slab_key key : keys) s.release(key);
    }
    right = right && s.bytes() <= memory.used();
  }
  EXPECT_EQ(operator_new_calls, calls);
  EXPECT_TRUE(right);
  EXPECT_EQ(memory.used(), 0U) << "a dying slab gives its blocks back, the newest first";
}

TEST(slab, operator_new_is_counted_in_this_program) {  // Otherwise the test above would prove nothing.
  const std::size_t calls = operator_new_calls;
  ::operator delete(::operator new(8));  // As functions, because a compiler may leave a new-expression out.
  ::operator delete(::operator new(8, std::align_val_t{128}), std::align_val_t{128});
  EXPECT_EQ(operator_new_calls - calls, 2U);
}

TEST(slab, a_block_that_is_too_small_refuses_the_records_that_do_not_fit) {  // law 4
  // Every size, so that the tables, each chunk and the space between them are the thing that does not fit.
  alignas(64) std::array<std::byte, 8'192> block{};
  std::uint32_t best = 0;
  for (std::size_t size = 0; size <= block.size(); size += 8) {
    asx::bump_memory memory(std::span<std::byte>(block).first(size));
    {
      slab<std::uint64_t> s(200, memory.port());
      std::uint32_t fitted = 0;
      while (s.allocate(fitted)) ++fitted;
      ASSERT_EQ(s.live(), fitted);
      ASSERT_TRUE(fitted % 64 == 0 || fitted == 200) << "whole chunks only";
      ASSERT_GE(fitted, best) << "more memory never serves fewer";
      best = fitted;
      ASSERT_EQ(s.find({fitted, 1}), nullptr);
      s.check();
    }
    ASSERT_EQ(memory.used(), 0U) << size;
  }
  EXPECT_EQ(best, 200U);
}

// ---- Random histories ---------------------------------------------------------------------------------------------

TEST(slab, a_long_life_agrees_with_a_map) {
  for (const std::uint32_t limit : {1U, 5U, 64U, 65U, 200U, 4'097U}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      asx::splitmix64 random(seed);
      compared_slab<> s(limit);
      std::uint64_t favour = 0;  // Of 8: how often a step releases. Changes, so that the slab fills and empties.
      const int steps = limit > 1'000 ? 1'500 : 3'000;
      for (int step = 0; step < steps; ++step) {
        if (step % 200 == 0) favour = 1 + random.next_below(7);
        std::string wrong;
        if (s.live() > 0 && random.next_below(8) < favour) {
          s.release(s.nth_live(random.next()));
        } else {
          wrong = s.allocate();
        }
        if (wrong.empty() && step % 61 == 0) wrong = s.compare();
        ASSERT_EQ(wrong, "") << "limit " << limit << " seed " << seed << " step " << step;
      }
    }
  }
}

RC_GTEST_PROP(slab, any_history_agrees_with_a_map, (const std::vector<std::uint16_t>& steps)) {
  compared_slab<std::uint16_t> s(steps.empty() ? 0 : steps.front() % 140U);
  for (const std::uint16_t step : steps) {
    if (step % 3 == 0 && s.live() > 0) {
      s.release(s.nth_live(step / 3U));
    } else {
      RC_ASSERT(s.allocate() == "");
    }
  }
  RC_ASSERT(s.compare() == "");
}

RC_GTEST_PROP(slab, no_forged_key_finds_anything, (std::uint32_t index, std::uint64_t generation)) {
  slab<int> s(100);
  for (int i = 0; i < 50; ++i) RC_ASSERT(static_cast<bool>(s.allocate(i)));
  const bool real = index < 50 && generation == 1;
  RC_ASSERT((s.find({index, generation}) != nullptr) == real);
}

TEST(slab, the_core_finds_the_next_taken_slot_from_every_position) {  // Every set of slots of every small limit.
  for (std::uint32_t limit = 0; limit <= 6; ++limit) {
    for (std::uint32_t set = 0; set < (1U << limit); ++set) {
      asx::detail::slab_core core(8, 8, limit, asx::heap_memory());
      ASSERT_TRUE(core.reserve(limit));
      for (std::uint32_t i = 0; i < limit; ++i) {
        if ((set >> i & 1U) != 0) core.take(i);
      }
      for (std::uint32_t from = 0; from <= 70; ++from) {
        std::uint32_t expected = from;
        while (expected < limit && (set >> expected & 1U) == 0) ++expected;
        ASSERT_EQ(core.next_taken(from), expected < limit ? expected : core.npos) << limit << ' ' << set << ' ' << from;
      }
    }
  }
}

// ---- check() itself -----------------------------------------------------------------------------------------------

TEST(slab, check_finds_a_slot_that_is_both_free_and_live) {
  asx::detail::slab_core core(8, 8, 10, asx::heap_memory());
  ASSERT_EQ(core.lowest_free(), 0U);
  core.check();
  EXPECT_DEATH(
      {
        ++core.generation(3);
        core.check();
      },
      "a slot is either free or live");
  EXPECT_DEATH(
      {
        core.take(0);
        core.check();
      },
      "a slot is either free or live");
}

TEST(slab, a_key_and_an_entry_are_plain_values) {
  static_assert(sizeof(slab_key) == 16 && std::is_trivially_copyable_v<slab_key>);
  static_assert(std::is_trivially_copyable_v<slab_entry<record>>);
  static_assert(slab_key{1, 2} == slab_key{1, 2} && !(slab_key{1, 2} == slab_key{1, 3}) &&
                !(slab_key{1, 2} == slab_key{2, 2}));
  static_assert(!std::is_convertible_v<slab_entry<int>, bool>);
  static_assert(!std::is_copy_constructible_v<slab<int>> && !std::is_move_constructible_v<slab<int>>);
}

}  // namespace
