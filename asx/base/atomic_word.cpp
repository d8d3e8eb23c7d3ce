#include "asx/base/atomic_word.hpp"

#if defined(ASX_DISTURBED)

#include <sched.h>

#include "asx/base/random.hpp"

namespace asx {

namespace {

// A thread often begins where one before it ended, at the same addresses; in another process those differ, and the
// counts do not: both are drawn from.
constinit std::atomic<std::uint64_t> births{0};

struct mood {
  splitmix64 draws{0};
  std::uint64_t asked = 0;
};
constinit thread_local mood own;  // Made without a call: a signal handler may be the first to ask.

}  // namespace

void disturb() noexcept {
  if (own.asked++ == 0) {
    const auto place = reinterpret_cast<std::uintptr_t>(&own);
    own.draws = splitmix64(splitmix64(births.fetch_add(1, std::memory_order_relaxed)).next() ^ place);
  }
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
