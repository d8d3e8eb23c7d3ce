// Blocks that come back are used again, and a block is no larger than it must be.
#include "asx/base/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace asx {
namespace {

// The port, with a note of what was asked for.
struct noted_memory {
  std::vector<std::pair<std::size_t, std::size_t>> asked;  // Bytes, alignment.
  std::size_t out = 0;
  [[nodiscard]] memory_port port() {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto& m = *static_cast<noted_memory*>(self);
              m.asked.emplace_back(bytes, alignment);
              m.out += bytes;
              const memory_port heap = heap_memory();
              return heap.allocate(heap.context, bytes, alignment);
            },
            [](void* self, void* block, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<noted_memory*>(self)->out -= bytes;
              const memory_port heap = heap_memory();
              heap.release(heap.context, block, bytes, alignment);
            }};
  }
};

TEST(block_pool, wastes_less_than_64_bytes_of_a_block_up_to_a_kilobyte) {
  for (std::size_t bytes = 1; bytes <= 1024; ++bytes) {
    noted_memory memory;
    block_pool pool(memory.port());
    void* const block = pool.allocate(bytes, 16);
    ASSERT_NE(block, nullptr);
    std::memset(block, 1, bytes);
    ASSERT_EQ(memory.asked.size(), 1U);
    EXPECT_GE(memory.asked[0].first, bytes);
    EXPECT_LT(memory.asked[0].first, bytes + 64);
    pool.release(block, bytes, 16);
  }
}

TEST(block_pool, gives_every_block_its_size_and_alignment_and_uses_it_again) {
  noted_memory memory;
  {
    block_pool pool(memory.port());
    std::size_t requests = 0;
    for (int round = 0; round < 2; ++round) {
      std::vector<std::pair<void*, std::pair<std::size_t, std::size_t>>> out;
      for (std::size_t alignment = 1; alignment <= 1024; alignment *= 2) {
        for (const std::size_t bytes : {1U, 63U, 64U, 65U, 128U, 320U, 1024U, 1025U, 5000U, 1U << 20}) {
          void* const block = pool.allocate(bytes, alignment);
          ASSERT_NE(block, nullptr);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U) << bytes << '@' << alignment;
          std::memset(block, 7, bytes);
          out.push_back({block, {bytes, alignment}});
        }
      }
      for (const auto& [block, shape] : out) pool.release(block, shape.first, shape.second);
      EXPECT_EQ(pool.live(), 0U);
      if (round == 0) requests = memory.asked.size();
    }
    // What is aligned to more than 512 is not kept: ten shapes.
    EXPECT_EQ(memory.asked.size(), requests + 10);
  }
  EXPECT_EQ(memory.out, 0U) << "everything went back";
}

TEST(block_pool, gives_the_newest_that_came_back_first) {
  noted_memory memory;
  block_pool pool(memory.port());
  void* const a = pool.allocate(100, 8);
  void* const b = pool.allocate(128, 64);  // The same class.
  pool.release(a, 100, 8);
  pool.release(b, 128, 64);
  EXPECT_EQ(pool.allocate(65, 8), b);
  EXPECT_EQ(pool.allocate(65, 8), a);
  pool.release(a, 65, 8);
  pool.release(b, 65, 8);
}

}  // namespace
}  // namespace asx
