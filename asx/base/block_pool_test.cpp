#include "asx/base/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "asx/base/random.hpp"

namespace asx {
namespace {

// Counts what is asked for, and refuses what is larger than it is told to.
class meter {
 public:
  [[nodiscard]] memory_port port() noexcept { return {this, &meter::allocate, &meter::release}; }

  std::uint64_t asked = 0;
  std::size_t bytes = 0;  // Out at present.
  std::size_t largest = SIZE_MAX;

 private:
  static void* allocate(void* self, std::size_t bytes, std::size_t alignment) noexcept {
    auto& m = *static_cast<meter*>(self);
    ++m.asked;
    if (bytes > m.largest) return nullptr;
    void* const block = heap_memory().allocate(nullptr, bytes, alignment);
    if (block != nullptr) m.bytes += bytes;
    return block;
  }
  static void release(void* self, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    static_cast<meter*>(self)->bytes -= bytes;
    heap_memory().release(nullptr, block, bytes, alignment);
  }
};

TEST(block_pool, aligns_every_block_as_it_was_asked_to) {
  meter m;
  {
    block_pool pool(m.port());
    std::vector<std::pair<void*, std::pair<std::size_t, std::size_t>>> out;
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
      for (const std::size_t bytes :
           {0UL, 1UL, 63UL, 64UL, 65UL, 128UL, 191UL, 193UL, 640UL, 1024UL, 1025UL, 5000UL, 1048576UL, 1048577UL}) {
        for (int i = 0; i < 3; ++i) {
          void* const block = pool.allocate(bytes, alignment);
          ASSERT_NE(block, nullptr);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U) << bytes << " at " << alignment;
          std::memset(block, 0x5a, bytes);
          out.push_back({block, {bytes, alignment}});
        }
      }
    }
    for (const auto& [block, how] : out) pool.release(block, how.first, how.second);
  }
  EXPECT_EQ(m.bytes, 0U);
}

TEST(block_pool, a_block_is_nobody_elses_while_it_is_out) {
  meter m;
  {
    block_pool pool(m.port());
    splitmix64 draw(7, 0, random_stream::faults);
    struct life {
      std::size_t bytes;
      std::size_t alignment;
      unsigned char mark;
    };
    std::map<unsigned char*, life> out;
    for (int i = 0; i < 50'000; ++i) {
      if (out.size() > 300 || (!out.empty() && draw.next_below(2) == 0)) {
        auto which = out.begin();
        std::advance(which, static_cast<long>(draw.next_below(out.size())));
        for (std::size_t at = 0; at < which->second.bytes; ++at) ASSERT_EQ(which->first[at], which->second.mark);
        pool.release(which->first, which->second.bytes, which->second.alignment);
        out.erase(which);
      } else {
        const life l{1 + static_cast<std::size_t>(draw.next_below(draw.next_below(8) == 0 ? 9000 : 1200)),
                     std::size_t{1} << draw.next_below(10), static_cast<unsigned char>(i)};
        auto* const block = static_cast<unsigned char*>(pool.allocate(l.bytes, l.alignment));
        ASSERT_NE(block, nullptr);
        std::memset(block, l.mark, l.bytes);
        ASSERT_TRUE(out.emplace(block, l).second);
      }
      ASSERT_EQ(pool.live(), out.size());
    }
    for (const auto& [block, l] : out) pool.release(block, l.bytes, l.alignment);
  }
  EXPECT_EQ(m.bytes, 0U);
}

TEST(block_pool, what_comes_back_is_used_again_the_newest_first) {
  meter m;
  block_pool pool(m.port());
  void* const a = pool.allocate(100, 8);
  void* const b = pool.allocate(128, 64);
  pool.release(a, 100, 8);
  pool.release(b, 128, 64);
  const std::uint64_t before = m.asked;
  EXPECT_EQ(pool.allocate(120, 16), b);
  EXPECT_EQ(pool.allocate(65, 1), a);
  EXPECT_EQ(m.asked, before);
  pool.release(a, 65, 1);
  pool.release(b, 120, 16);
}

TEST(block_pool, what_is_made_together_lies_together_and_costs_few_requests) {
  meter m;
  block_pool pool(m.port());
  std::vector<std::byte*> all;
  for (int i = 0; i < 1024; ++i) all.push_back(static_cast<std::byte*>(pool.allocate(300, 64)));
  EXPECT_LE(m.asked, 40U);  // 1, 1, 2, 4, 8, 16, and then 32 at a time.
  int neighbours = 0;
  for (std::size_t i = 1; i < all.size(); ++i) neighbours += all[i] == all[i - 1] + 320 ? 1 : 0;
  EXPECT_GT(neighbours, 980);
  for (std::byte* const block : all) pool.release(block, 300, 64);
}

TEST(block_pool, asks_for_one_block_when_there_is_no_room_for_several) {
  meter m;
  block_pool pool(m.port());
  std::vector<void*> all;
  for (int i = 0; i < 16; ++i) all.push_back(pool.allocate(256, 64));
  m.largest = 256 + 64;
  void* const last = pool.allocate(256, 64);
  EXPECT_NE(last, nullptr);
  m.largest = 0;
  const std::uint64_t live = pool.live();
  EXPECT_EQ(pool.allocate(256, 64), nullptr);
  EXPECT_EQ(pool.allocate(std::size_t{1} << 30, 64), nullptr);
  EXPECT_EQ(pool.live(), live);
  pool.release(last, 256, 64);
  EXPECT_EQ(pool.allocate(256, 64), last);
  pool.release(last, 256, 64);
  for (void* const block : all) pool.release(block, 256, 64);
}

}  // namespace
}  // namespace asx
