// asx/base/block_pool.hpp - blocks of any size, kept for the next who asks when they come back.
//
//     64 B    [free] -> [free]
//     128 B   [free]
//     ...                        a list for every 64 bytes up to 1 KiB, then one a power of two up to 1 MiB;
//                                larger ones go straight to the port and back
//
// 1  A block that was given back is used again by the next request of its class, so that things which come and go ask
//    the port for nothing once they have been there, and memory that cannot be given back is not worn down.
// 2  The newest block given back is the first to be used again: it is warm, and the order is the same in every run.
// 3  Small blocks are fetched several at a time, in one piece: as many as the class has had before, 32 at most. They
//    are handed out in the order of their addresses, so that what is made together lies together. When the port has no
//    room for a piece, one block is asked for.
// 4  Refused memory is a null pointer, and nothing has changed (U-36).
//
// Frames of coroutines are most of what lies here, and a few hundred bytes each: powers of two, aligned to their
// size, cost a million waiting tasks 640 to 770 bytes more each. Under the address sanitizer a block that nobody has
// is poisoned (ASX_POISONS_POOLS, set by this project's own build: program and library must agree on it).
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
      return take(at);
    }
    return fetch(at, bytes, alignment);
  }
  /// With the size and alignment that it was asked for with.
  void release(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t at = class_of(bytes, alignment);
    ASX_ASSERT(live_ != 0, "a block is given back once");
    --live_;
    if (at < classes) [[likely]] {
      put(at, block);
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
  /// At the end of a piece, behind its blocks.
  struct piece {
    piece* next;
    void* start;
    std::size_t bytes;
    std::size_t alignment;
  };
  static constexpr std::size_t step = 64;
  static constexpr std::size_t fine = 16;             // Classes of 64 B, 128 B, 192 B to 1 KiB,
  static constexpr std::size_t classes = fine + 10;   // then 2 KiB, 4 KiB to 1 MiB.
  static constexpr std::size_t most_aligned = 512;    // A block whose size is a power of two is aligned to it, so far.
  static constexpr std::size_t most_in_a_piece = 32;  // Of the fine classes; the others are fetched one by one.
  static constexpr std::size_t size_of(std::size_t at) noexcept {
    return at < fine ? (at + 1) * step : (fine * step) << (at - fine + 1);
  }

  [[nodiscard]] static std::size_t class_of(std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment > step) {  // Only powers of two are aligned to more.
      if (alignment > most_aligned || bytes > size_of(classes - 1)) return classes;
      bytes = std::bit_ceil(bytes < alignment ? alignment : bytes);
    }
    if (bytes <= fine * step) return bytes == 0 ? 0 : (bytes - 1) / step;
    if (bytes > size_of(classes - 1)) return classes;
    return fine - 1 + static_cast<std::size_t>(std::bit_width((bytes - 1) / (fine * step)));
  }
#if defined(ASX_POISONS_POOLS)
  static void poison(void* block, std::size_t bytes) noexcept {
    __asan_poison_memory_region(static_cast<std::byte*>(block) + sizeof(free_block), bytes - sizeof(free_block));
  }
  static void use_again(void* block, std::size_t bytes) noexcept { __asan_unpoison_memory_region(block, bytes); }
#else
  static void poison(void*, std::size_t) noexcept {}
  static void use_again(void*, std::size_t) noexcept {}
#endif
  [[nodiscard]] void* take(std::size_t at) noexcept {
    free_block* const block = free_[at];
    free_[at] = block->next;
    ++live_;
    use_again(block, size_of(at));
    return block;
  }
  void put(std::size_t at, void* block) noexcept {
    free_[at] = new (block) free_block{free_[at]};
    poison(block, size_of(at));
  }
  [[nodiscard]] void* fetch(std::size_t at, std::size_t bytes, std::size_t alignment) noexcept;
  [[nodiscard]] bool fetch_piece(std::size_t at, std::size_t blocks) noexcept;

  memory_port memory_;
  std::array<free_block*, classes> free_{};
  std::array<std::uint32_t, fine> fetched_{};  // Blocks that a class ever had.
  piece* pieces_ = nullptr;
  std::uint64_t live_ = 0;
};

}  // namespace asx
