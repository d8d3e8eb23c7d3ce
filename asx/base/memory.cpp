#include "asx/base/memory.hpp"

#include <memory>
#include <new>

#include "asx/base/assert.hpp"

namespace asx {
namespace {

void* heap_allocate(void*, std::size_t bytes, std::size_t alignment) noexcept {
  return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
}

void heap_release(void*, void* block, std::size_t, std::size_t alignment) noexcept {
  ::operator delete(block, std::align_val_t{alignment});
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
  ASX_ASSERT(offset + bytes <= self.used_, "a block goes back to the memory that it came from, once");
  if (offset + bytes == self.used_) self.used_ = offset;
}

}  // namespace asx
