// asx/scenario/recycled_memory.hpp - memory for one play after the other.
//
// A runtime touches all of its memory when it starts, so that it meets no fault later; fresh pages then cost more than
// everything else that a short play does. Large blocks are kept here for the next one of the same size.
//
// Cancel points: none. Threads: one owner. Lifetime: outlives whoever took its port.
#pragma once

#include <cstddef>
#include <vector>

#include "asx/base/memory.hpp"

namespace asx::scenario {

class recycled_memory {
 public:
  recycled_memory() = default;
  recycled_memory(const recycled_memory&) = delete;
  recycled_memory& operator=(const recycled_memory&) = delete;
  ~recycled_memory() {
    const memory_port heap = heap_memory();
    for (const block& b : free_) heap.release(heap.context, b.at, b.bytes, b.alignment);
  }

  [[nodiscard]] memory_port port() noexcept {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              return static_cast<recycled_memory*>(self)->take(bytes, alignment);
            },
            [](void* self, void* at, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<recycled_memory*>(self)->give_back({at, bytes, alignment});
            }};
  }

 private:
  struct block {
    void* at;
    std::size_t bytes, alignment;
  };
  static constexpr std::size_t large = 1U << 17;

  void* take(std::size_t bytes, std::size_t alignment) noexcept {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].bytes != bytes || free_[i].alignment != alignment) continue;
      void* const at = free_[i].at;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return at;
    }
    const memory_port heap = heap_memory();
    return heap.allocate(heap.context, bytes, alignment);
  }
  void give_back(const block& b) noexcept {
    const memory_port heap = heap_memory();
    if (b.bytes < large) return heap.release(heap.context, b.at, b.bytes, b.alignment);
    free_.push_back(b);
    if (free_.size() <= most_kept) return;
    heap.release(heap.context, free_.front().at, free_.front().bytes, free_.front().alignment);
    free_.erase(free_.begin());
  }
  static constexpr std::size_t most_kept = 32;

  std::vector<block> free_;
};

}  // namespace asx::scenario
