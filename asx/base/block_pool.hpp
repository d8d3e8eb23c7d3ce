// asx/base/block_pool.hpp - blocks of any size, kept for the next who asks when they come back.
//
//     64 B   [free] -> [free]
//     128 B  [free]
//     ...                       one list a power of two up to 1 MiB; larger ones go straight to the port and back
//
// 1  A block that was given back is used again by the next request of its class, so that things which come and go ask
// the
//    port for nothing once they have been there, and memory that cannot be given back is not worn down.
// 2  The newest block given back is the first to be used again: it is warm, and the order is the same in every run.
// 3  Refused memory is a null pointer, and nothing has changed (U-36).
//
// A general allocator was not wanted: it would search, split and join, and the same program would be served differently
// after a different past.
//
// Cancel points: none. Threads: one owner, or a lock around it.
// Lifetime: all blocks are back before it dies.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "asx/base/assert.hpp"
#include "asx/base/memory.hpp"

namespace asx {

class ASX_API block_pool {
 public:
  explicit block_pool(memory_port memory) noexcept : memory_(memory) {}
  ~block_pool();
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t at = class_of(bytes, alignment);
    if (at < classes && free_[at] != nullptr) [[likely]] {
      free_block* const block = free_[at];
      free_[at] = block->next;
      ++live_;
      return block;
    }
    return fetch(at, bytes, alignment);
  }
  /// With the size and alignment that it was asked for with.
  void release(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t at = class_of(bytes, alignment);
    ASX_ASSERT(live_ != 0, "a block is given back once");
    --live_;
    if (at < classes) [[likely]] {
      free_[at] = new (block) free_block{free_[at]};
    } else {
      memory_.release(memory_.context, block, bytes, alignment);
    }
  }
  /// Blocks that are in use.
  [[nodiscard]] std::uint64_t live() const noexcept { return live_; }

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t smallest = 64;
  static constexpr std::size_t classes = 15;        // 64 B to 1 MiB.
  static constexpr std::size_t most_aligned = 512;  // A block is aligned to its size, up to this.
  static constexpr std::size_t alignment_of(std::size_t at) noexcept {
    return (smallest << at) < most_aligned ? smallest << at : most_aligned;
  }

  [[nodiscard]] static std::size_t class_of(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes < alignment) bytes = alignment;
    if (alignment > most_aligned || bytes > (smallest << (classes - 1))) return classes;
    return bytes <= smallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / smallest));
  }
  [[nodiscard]] void* fetch(std::size_t at, std::size_t bytes, std::size_t alignment) noexcept;

  memory_port memory_;
  std::array<free_block*, classes> free_{};
  std::uint64_t live_ = 0;
};

}  // namespace asx
