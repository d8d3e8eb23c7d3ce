// Tests of asx/base/memory.hpp; "law n" is the n-th of its banner.
#include "asx/base/memory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "asx/base/random.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define ASX_TEST_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASX_TEST_UNDER_ASAN 1
#endif
#endif
#if defined(ASX_TEST_UNDER_ASAN)
// The tests of law 1 ask for more than there is; without this the sanitizer ends the program instead of refusing.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#endif

namespace {

using asx::bump_memory;
using asx::heap_memory;
using asx::memory_port;

void* ask(const memory_port& memory, std::size_t bytes, std::size_t alignment) {
  return memory.allocate(memory.context, bytes, alignment);
}
void give(const memory_port& memory, void* block, std::size_t bytes, std::size_t alignment) {
  memory.release(memory.context, block, bytes, alignment);
}
bool aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

// Bytes that the C library has handed out, or always 0 where it cannot be asked.
std::size_t heap_in_use() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

// Sizes that no machine has, up to the one that overflows when it is rounded up to an alignment.
constexpr std::array<std::size_t, 4> impossible{SIZE_MAX / 2, SIZE_MAX - 4096, SIZE_MAX - 1, SIZE_MAX};

TEST(heap_memory, a_block_is_aligned_and_wholly_its_own) {
  const memory_port heap = heap_memory();
  struct block {
    std::byte* at;
    std::size_t bytes;
    std::size_t alignment;
  };
  std::vector<block> blocks;
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t bytes : {1U, 2U, 7U, 8U, 24U, 64U, 1000U, 5000U}) {
      auto* const at = static_cast<std::byte*>(ask(heap, bytes, alignment));
      ASSERT_NE(at, nullptr);
      ASSERT_TRUE(aligned(at, alignment)) << bytes << " bytes at " << alignment;
      std::memset(at, static_cast<int>(blocks.size()), bytes);
      blocks.push_back({at, bytes, alignment});
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block& b = blocks[i];
    EXPECT_TRUE(std::all_of(b.at, b.at + b.bytes, [i](std::byte v) { return v == static_cast<std::byte>(i); })) << i;
    give(heap, b.at, b.bytes, b.alignment);
  }
}

TEST(heap_memory, no_bytes_are_a_block_too) {
  const memory_port heap = heap_memory();
  for (const std::size_t alignment : {1U, 8U, 64U}) {
    void* const block = ask(heap, 0, alignment);
    EXPECT_NE(block, nullptr) << "null would say that memory was refused";
    give(heap, block, 0, alignment);
  }
}

TEST(heap_memory, a_request_that_cannot_be_served_returns_null) {  // law 1
  const memory_port heap = heap_memory();
  for (const std::size_t bytes : impossible) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
      EXPECT_EQ(ask(heap, bytes, alignment), nullptr) << bytes << " at " << alignment;
    }
  }
}

int new_handler_calls = 0;
void counting_new_handler() {
  ++new_handler_calls;
  throw std::bad_alloc();  // Returning would mean "try again", for ever.
}

TEST(heap_memory, a_refusal_calls_no_new_handler) {  // law 1
  const memory_port heap = heap_memory();
  const std::new_handler before = std::set_new_handler(&counting_new_handler);
  new_handler_calls = 0;
  for (const std::size_t bytes : impossible) {
    for (const std::size_t alignment : {1U, 8U, 16U, 64U}) EXPECT_EQ(ask(heap, bytes, alignment), nullptr);
  }
  std::set_new_handler(before);
  EXPECT_EQ(new_handler_calls, 0);
}

TEST(memory_port, asking_and_giving_back_never_throw) {  // law 1
  static_assert(noexcept(heap_memory().allocate(nullptr, 0, 1)));
  static_assert(noexcept(heap_memory().release(nullptr, nullptr, 0, 1)));
  static_assert(std::is_trivially_copyable_v<memory_port>);
}

// The caller's block, with bytes on both sides that nobody may touch.
class fenced_block {
 public:
  // `skew` moves the front away from every alignment.
  fenced_block(std::size_t size, std::size_t skew) : bytes_(size + skew + 2 * fence + 64, mark), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data() + fence);
    front_ = fence + static_cast<std::size_t>((64 - address % 64) % 64) + skew;
  }
  [[nodiscard]] std::span<std::byte> span() { return {bytes_.data() + front_, size_}; }
  [[nodiscard]] bool fences_stand() const {
    const auto intact = [](std::byte b) { return b == mark; };
    return std::all_of(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(front_), intact) &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(front_ + size_), bytes_.end(), intact);
  }

 private:
  static constexpr std::size_t fence = 32;
  static constexpr std::byte mark{0xA5};
  std::vector<std::byte> bytes_;
  std::size_t size_;
  std::size_t front_ = 0;
};

TEST(bump_memory, every_small_pair_of_requests_is_carved_as_the_arithmetic_says) {
  // All blocks of up to 40 bytes, all places of the front modulo 16, all pairs of sizes and alignments.
  const std::array<std::size_t, 6> sizes{0, 1, 3, 8, 16, 33};
  const std::array<std::size_t, 5> alignments{1, 2, 4, 8, 16};
  std::size_t wrong = 0;
  for (std::size_t size = 0; size <= 40; ++size) {
    for (std::size_t skew = 0; skew < 16; ++skew) {
      fenced_block block(size, skew);
      const auto front = reinterpret_cast<std::uintptr_t>(block.span().data());
      for (const std::size_t first : sizes) {
        for (const std::size_t first_alignment : alignments) {
          for (const std::size_t second : sizes) {
            for (const std::size_t second_alignment : alignments) {
              bump_memory memory(block.span());
              std::size_t used = 0;
              const auto expect = [&](std::size_t bytes, std::size_t alignment) {
                const std::size_t padding = (alignment - (front + used) % alignment) % alignment;
                const bool fits = used + padding + bytes <= size;
                const void* const at = ask(memory.port(), bytes, alignment);
                if (fits) used += padding + bytes;
                const bool right = fits ? reinterpret_cast<std::uintptr_t>(at) == front + used - bytes : at == nullptr;
                wrong += right && memory.used() == used && memory.left() == size - used ? 0U : 1U;
              };
              expect(first, first_alignment);
              expect(second, second_alignment);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(bump_memory, blocks_lie_in_the_callers_memory_and_do_not_overlap) {  // law 2
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    asx::splitmix64 random(seed);
    fenced_block block(4096, random.next_below(64));
    bump_memory memory(block.span());
    struct carved {
      std::byte* at;
      std::size_t bytes;
    };
    std::vector<carved> all;
    int refused = 0;
    while (refused < 5) {
      const std::size_t bytes = random.next_below(100);
      const std::size_t alignment = std::size_t{1} << random.next_below(8);
      auto* const at = static_cast<std::byte*>(ask(memory.port(), bytes, alignment));
      if (at == nullptr) {
        ++refused;
        continue;
      }
      ASSERT_TRUE(aligned(at, alignment)) << "seed " << seed;
      ASSERT_GE(at, block.span().data()) << "seed " << seed;
      ASSERT_LE(at + bytes, block.span().data() + block.span().size()) << "seed " << seed;
      if (bytes > 0) std::memset(at, static_cast<int>(all.size() % 251), bytes);
      all.push_back({at, bytes});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto value = static_cast<std::byte>(i % 251);
      ASSERT_TRUE(std::all_of(all[i].at, all[i].at + all[i].bytes, [value](std::byte b) { return b == value; }))
          << "seed " << seed << " block " << i;
    }
    EXPECT_TRUE(block.fences_stand()) << "seed " << seed;
  }
}

TEST(bump_memory, the_last_byte_is_served_and_not_one_more) {
  fenced_block block(64, 0);
  bump_memory memory(block.span());
  EXPECT_EQ(ask(memory.port(), 65, 1), nullptr);
  EXPECT_NE(ask(memory.port(), 64, 64), nullptr);
  EXPECT_EQ(memory.left(), 0U);
  EXPECT_EQ(ask(memory.port(), 1, 1), nullptr);
}

TEST(bump_memory, a_refusal_changes_nothing_and_a_smaller_request_still_succeeds) {  // law 1
  fenced_block block(100, 1);
  bump_memory memory(block.span());
  ASSERT_NE(ask(memory.port(), 10, 1), nullptr);
  for (const std::size_t bytes : {std::size_t{91}, impossible[0], impossible[1], impossible[2], impossible[3]}) {
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
      EXPECT_EQ(ask(memory.port(), bytes, alignment), nullptr);
      EXPECT_EQ(memory.used(), 10U);
      EXPECT_EQ(memory.left(), 90U);
    }
  }
  EXPECT_EQ(ask(memory.port(), 8, std::size_t{1} << 62), nullptr) << "an alignment that no address in here has";
  EXPECT_EQ(memory.used(), 10U);
  EXPECT_NE(ask(memory.port(), 90, 1), nullptr);
}

TEST(bump_memory, an_empty_block_refuses_everything_but_nothing) {
  bump_memory memory({});
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(memory.left(), 0U);
  EXPECT_EQ(ask(memory.port(), 1, 1), nullptr);
  EXPECT_EQ(ask(memory.port(), SIZE_MAX, 16), nullptr);
}

TEST(bump_memory, the_newest_block_can_be_given_back_and_is_served_again) {
  fenced_block block(128, 0);
  bump_memory memory(block.span());
  void* const first = ask(memory.port(), 32, 8);
  void* const second = ask(memory.port(), 32, 8);
  give(memory.port(), second, 32, 8);
  EXPECT_EQ(memory.used(), 32U);
  EXPECT_EQ(ask(memory.port(), 32, 8), second);
  give(memory.port(), second, 32, 8);
  give(memory.port(), first, 32, 8);  // Newest first, all of it comes back.
  EXPECT_EQ(memory.used(), 0U);
}

TEST(bump_memory, an_older_block_stays_used_until_the_whole_is_returned) {
  fenced_block block(128, 0);
  bump_memory memory(block.span());
  void* const first = ask(memory.port(), 32, 8);
  void* const second = ask(memory.port(), 32, 8);
  give(memory.port(), first, 32, 8);
  EXPECT_EQ(memory.used(), 64U);
  EXPECT_NE(ask(memory.port(), 8, 8), first) << "the second block lies behind it and is still in use";
  static_cast<void>(second);
}

TEST(bump_memory, all_ports_of_one_memory_share_it) {
  fenced_block block(64, 0);
  bump_memory memory(block.span());
  const memory_port one = memory.port();
  const memory_port two = memory.port();
  ASSERT_NE(ask(one, 40, 1), nullptr);
  EXPECT_EQ(ask(two, 40, 1), nullptr);
  EXPECT_NE(ask(two, 24, 1), nullptr);
}

TEST(bump_memory, the_systems_allocator_is_never_called) {  // law 2; too many blocks for an allocation each to hide
  fenced_block block(std::size_t{1} << 20, 0);
  bump_memory memory(block.span());
  const memory_port port = memory.port();
  const std::size_t before = heap_in_use();
  for (int i = 0; i < 10'000; ++i) {
    void* const at = ask(port, 64, 8);
    if (i % 3 == 0) give(port, at, 64, 8);
  }
  EXPECT_EQ(ask(port, std::size_t{1} << 20, 8), nullptr);
  EXPECT_EQ(heap_in_use(), before);
}

TEST(bump_memory, giving_the_newest_block_back_twice_is_an_assertion) {
  fenced_block block(64, 0);
  bump_memory memory(block.span());
  void* const only = ask(memory.port(), 16, 8);
  give(memory.port(), only, 16, 8);
  EXPECT_DEATH(give(memory.port(), only, 16, 8), "a block goes back to the memory that it came from, once");
}

TEST(bump_memory, giving_back_what_lies_outside_is_an_assertion) {
  std::array<std::byte, 192> all{};
  bump_memory memory(std::span<std::byte>(all).subspan(64, 64));
  const auto outside = [&](std::size_t offset, std::size_t bytes) {
    EXPECT_DEATH(give(memory.port(), all.data() + offset, bytes, 8),
                 "a block goes back to the memory that it came from, once")
        << offset << ' ' << bytes;
  };
  outside(64, 8);  // Inside, but nothing was carved yet.
  outside(56, 8);  // Ends just where the memory begins.
  outside(56, 16);
  outside(128, 8);
  static_cast<void>(ask(memory.port(), 32, 8));
  outside(56, 8);
  outside(56, 40);  // Would end at the newest block's end.
  outside(88, 16);
  outside(96, 8);
}

TEST(bump_memory, a_bump_memory_stays_where_its_port_points) {
  static_assert(!std::is_copy_constructible_v<bump_memory> && !std::is_move_constructible_v<bump_memory>);
  static_assert(!std::is_copy_assignable_v<bump_memory> && !std::is_move_assignable_v<bump_memory>);
}

RC_GTEST_PROP(bump_memory, blocks_given_back_newest_first_leave_nothing_used_when_none_needs_padding,
              (const std::vector<std::uint8_t>& sizes)) {
  fenced_block block(4096, 0);
  bump_memory memory(block.span());
  std::vector<std::pair<void*, std::size_t>> carved;
  for (const std::uint8_t size : sizes) {
    const std::size_t bytes = std::size_t{size} * 8;
    if (void* const at = ask(memory.port(), bytes, 8)) carved.emplace_back(at, bytes);
  }
  for (auto it = carved.rbegin(); it != carved.rend(); ++it) give(memory.port(), it->first, it->second, 8);
  RC_ASSERT(memory.used() == 0U);
  RC_ASSERT(block.fences_stand());
}

}  // namespace
