// bench/shared/count_allocations.hpp - counts what asks the C library for memory, operator new too. One file a program
// includes it, and the program's allocations are reported with its times.
#pragma once

#include "bench/shared/measure.hpp"

namespace bench {
inline volatile std::uint64_t allocations = 0;  // Compilers think that malloc changes nothing that they can see.
[[maybe_unused]] inline const bool counts_allocations =
    (allocations_so_far = [] { return std::uint64_t{allocations}; }, true);
}  // namespace bench

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_realloc(block, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 : 0;  // ENOMEM
}
}
