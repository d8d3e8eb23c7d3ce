// asx/base/testing/counted_new.hpp - how often a test program has asked the heap: `news`, the calls of operator new.
//
// It replaces the global operators, so one source of a program includes it, and no other.
//
// Cancel points: none. Threads: one. Lifetime: the program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace asx::testing {
inline std::uint64_t news = 0;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++asx::testing::news;
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) std::abort();
  return block;
}
// All forms: a sanitizer has its own of those that are not replaced, and sees blocks of one handed to the other.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++asx::testing::news;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
  return ::operator new(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t& no) noexcept {
  return ::operator new(bytes, no);
}
[[gnu::noinline]] void operator delete[](void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
