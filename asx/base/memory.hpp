// asx/base/memory.hpp - where a runtime's bytes come from: the heap, or one block that the caller hands over.
//
// 1  allocate returns null when it cannot serve; it never throws and never calls a new-handler. The
//    operation that asked is then refused before it changed anything (U-36).
// 2  A bump_memory never calls the system's allocator: everything is carved from the caller's block.
//
// Cancel points: none. Threads: one owner, or a lock around it. Lifetime: a port's context outlives its users.
#pragma once

#include <cstddef>
#include <span>

#include "asx/base/config.hpp"

namespace asx {

struct memory_port {
  void* context;
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment) noexcept;
  void (*release)(void* context, void* block, std::size_t bytes, std::size_t alignment) noexcept;
};

/// The system's allocator.
[[nodiscard]] ASX_API memory_port heap_memory() noexcept;

/// Carves blocks from the front of the caller's memory. Only the newest block can be given back, without the padding
/// in front of it; others return to the caller with the whole.
class ASX_API bump_memory {
 public:
  explicit bump_memory(std::span<std::byte> block) noexcept : block_(block) {}
  bump_memory(const bump_memory&) = delete;
  bump_memory& operator=(const bump_memory&) = delete;

  [[nodiscard]] memory_port port() noexcept;
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] std::size_t left() const noexcept { return block_.size() - used_; }

 private:
  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) noexcept;
  static void release(void* context, void* block, std::size_t bytes, std::size_t alignment) noexcept;

  std::span<std::byte> block_;
  std::size_t used_ = 0;
};

}  // namespace asx
