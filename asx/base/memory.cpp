#include "asx/base/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "asx/base/assert.hpp"

namespace asx {
namespace {

// Not operator new: its nothrow form still calls the new-handler (law 1), and libstdc++ 12 rounds a size near
// SIZE_MAX up to 0 and serves it.
void* heap_allocate(void*, std::size_t bytes, std::size_t alignment) noexcept {
  bytes = std::max<std::size_t>(bytes, 1);  // Null would say that memory was refused.
  if (alignment <= alignof(void*)) return std::malloc(bytes);
  if (bytes > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void heap_release(void*, void* block, std::size_t, std::size_t) noexcept {
  std::free(block);
}

}  // namespace

memory_port heap_memory() noexcept {
  return {nullptr, &heap_allocate, &heap_release};
}

memory_port bump_memory::port() noexcept {
  return {this, &bump_memory::allocate, &bump_memory::release};
}

void* bump_memory::allocate(void* context, std::size_t bytes, std::size_t alignment) noexcept {
  auto& self = *static_cast<bump_memory*>(context);
  void* at = self.block_.data() + self.used_;
  std::size_t room = self.left();
  if (std::align(alignment, bytes, at, room) == nullptr) return nullptr;
  self.used_ = self.block_.size() - room + bytes;
  return at;
}

void bump_memory::release(void* context, void* block, std::size_t bytes, std::size_t) noexcept {
  auto& self = *static_cast<bump_memory*>(context);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - self.block_.data());
  // Not offset + bytes <= used, which wraps for a block that lies before ours.
  ASX_ASSERT(offset <= self.used_ && bytes <= self.used_ - offset,
             "a block goes back to the memory that it came from, once");
  if (offset + bytes == self.used_) self.used_ = offset;
}

}  // namespace asx
