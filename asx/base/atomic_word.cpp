#include "asx/base/atomic_word.hpp"

#if defined(ASX_DISTURBED)

#include <sched.h>

#include "asx/base/random.hpp"

namespace asx {

namespace {

struct mood {
  splitmix64 draws{reinterpret_cast<std::uintptr_t>(this)};  // Every thread's lies elsewhere.
  std::uint64_t asked = 0;
};
thread_local mood own;

}  // namespace

void disturb() noexcept {
  ++own.asked;
  const std::uint64_t drawn = own.draws.next();
  if (drawn % 1024 == 0) {
    sched_yield();
  } else if (drawn % 128 == 0) {
    for (std::uint64_t i = 0; i < drawn / 128 % 512; ++i) {  // asx: bounded by 512
      std::atomic_signal_fence(std::memory_order_seq_cst);   // For the compiler: the loop stays.
    }
  }
}

std::uint64_t disturbances() noexcept {
  return own.asked;
}

}  // namespace asx

#endif
