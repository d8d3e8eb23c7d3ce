// asx/base/block_pool.hpp - blocks of any size, kept for the next who asks when they come back.
//
//     64 B   [free] -> [free]
//     128 B  [free]
//     ...                       one list a 64 bytes up to 1 KiB, then one a power of two up to 1 MiB; larger ones go
//                               straight to the port and back
//
// 1  A block that was given back is used again by the next request of its class, so that things which come and go ask
//    the port for nothing once they have been there, and memory that cannot be given back is not worn down.
// 2  The newest block given back is the first to be used again: it is warm, and the order is the same in every run.
// 3  Refused memory is a null pointer, and nothing has changed (U-36).
//
// Frames of coroutines are most of what lies here, and a few hundred bytes each: powers of two, aligned to their
// size, cost a million waiting tasks 640 to 770 bytes more each. Under the address sanitizer a block that was given
// back is poisoned (ASX_POISONS_POOLS, set by this project's own build: program and library must agree on it).
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

#if defined(ASX_POISONS_POOLS)
extern "C" {
void __asan_poison_memory_region(const volatile void* at, std::size_t bytes);
void __asan_unpoison_memory_region(const volatile void* at, std::size_t bytes);
}
#endif

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
      use_again(block, at);
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
      poison(block, at);
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
  static constexpr std::size_t fine = 16;            // 64 B to 1 KiB in steps of 64, aligned to 64.
  static constexpr std::size_t classes = fine + 15;  // Then 64 B to 1 MiB, the small ones for wide alignments.
  static constexpr std::size_t most_aligned = 512;   // Such a block is aligned to its size, up to this.
  static constexpr std::size_t size_of(std::size_t at) noexcept {
    return at < fine ? (at + 1) * smallest : smallest << (at - fine);
  }
  static constexpr std::size_t alignment_of(std::size_t at) noexcept {
    if (at < fine) return smallest;
    return size_of(at) < most_aligned ? size_of(at) : most_aligned;
  }

  [[nodiscard]] static std::size_t class_of(std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment <= smallest && bytes <= fine * smallest) [[likely]]
      return bytes == 0 ? 0 : (bytes - 1) / smallest;
    if (bytes < alignment) bytes = alignment;
    if (alignment > most_aligned || bytes > size_of(classes - 1)) return classes;
    return fine + (bytes <= smallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / smallest)));
  }
#if defined(ASX_POISONS_POOLS)
  static void poison(void* block, std::size_t at) noexcept {
    __asan_poison_memory_region(static_cast<std::byte*>(block) + sizeof(free_block), size_of(at) - sizeof(free_block));
  }
  static void use_again(void* block, std::size_t at) noexcept { __asan_unpoison_memory_region(block, size_of(at)); }
#else
  static void poison(void*, std::size_t) noexcept {}
  static void use_again(void*, std::size_t) noexcept {}
#endif
  [[nodiscard]] void* fetch(std::size_t at, std::size_t bytes, std::size_t alignment) noexcept;

  memory_port memory_;
  std::array<free_block*, classes> free_{};
  std::uint64_t live_ = 0;
};

}  // namespace asx
