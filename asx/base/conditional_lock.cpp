// The three-state lock over a futex: unlocked, held, held with sleepers. Whoever had to wait takes the lock
// as `contended`, because it cannot know whether others still sleep; the price is at most one spare wake.
#include "asx/base/conditional_lock.hpp"

namespace asx {

#if defined(ASX_ONE_THREAD)
// A build without workers of its own threads: no lock is on, and sleeping would need the C++ library.
void conditional_lock::lock_contended() noexcept {
  ASX_UNREACHABLE("nobody waits for a lock where there is one thread");
}
#else
void conditional_lock::lock_contended() noexcept {
  // Acquire: pairs with the release in unlock.
  while (state_.exchange(contended, std::memory_order_acquire) != unlocked) {
    state_.wait(contended, std::memory_order_relaxed);  // Relaxed: the exchange above decides, this only sleeps.
  }
}
#endif

}  // namespace asx
