// asx/base/conditional_lock.hpp - a lock that can be switched off, for structures that only many workers share.
//
// In the lab and on one thread the lock is off and costs one predicted branch; with many workers it is a
// real lock. So the code that the lab explores is the code that threads run.
//
// 1  Off or on is decided at construction and never changes.
// 2  While on, at most one thread is between lock and unlock, and what it wrote is visible to the next.
// 3  A thread that has to wait sleeps; it does not spin for long.
//
// Not recursive. No lock may be held while user code, destructors or wakes run.
//
// Cancel points: none (a lock is never held across a suspension). Threads: any. Lifetime: outlives its holders.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/base/atomic_word.hpp"

namespace asx {

/// `Atomic` is words::atomic; a test puts one in its place that tries interleavings (tests/interleave).
template <template <class> class Atomic>
class ASX_API basic_conditional_lock {
 public:
  explicit basic_conditional_lock(bool on) noexcept : on_(on) {}
  basic_conditional_lock(const basic_conditional_lock&) = delete;
  basic_conditional_lock& operator=(const basic_conditional_lock&) = delete;

  void lock() noexcept {
    if (!on_) [[likely]]
      return;
    std::uint32_t expected = unlocked;
    // Acquire: pairs with the release in unlock, so that the next holder sees what the last one wrote.
    if (!state_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed)) {
      lock_contended();
    }
  }

  [[nodiscard]] bool try_lock() noexcept {
    if (!on_) [[likely]]
      return true;
    std::uint32_t expected = unlocked;
    // Acquire: as in lock.
    return state_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void unlock() noexcept {
    if (!on_) [[likely]]
      return;
    // Release: pairs with the acquire of whoever takes the lock next.
    const std::uint32_t was = state_.exchange(unlocked, std::memory_order_release);
    ASX_ASSERT(was != unlocked, "only a lock that is held can be unlocked");
    if (was == contended) state_.notify_one();
  }

  [[nodiscard]] bool is_on() const noexcept { return on_; }

 private:
  static constexpr std::uint32_t unlocked = 0;
  static constexpr std::uint32_t held = 1;       // Held, and nobody sleeps.
  static constexpr std::uint32_t contended = 2;  // Held, and somebody may sleep: unlock must wake one.

  void lock_contended() noexcept;

  Atomic<std::uint32_t> state_{unlocked};
  const bool on_;
};

// The three-state lock over a futex: unlocked, held, held with sleepers. Whoever had to wait takes the lock as
// `contended`, because it cannot know whether others still sleep; the price is at most one spare wake.
template <template <class> class Atomic>
void basic_conditional_lock<Atomic>::lock_contended() noexcept {
#if defined(ASX_ONE_THREAD)
  // A build without workers of its own threads: no lock is on, and sleeping would need the C++ library.
  ASX_UNREACHABLE("nobody waits for a lock where there is one thread");
#else
  // Acquire: pairs with the release in unlock.
  while (state_.exchange(contended, std::memory_order_acquire) != unlocked) {
    state_.wait(contended, std::memory_order_relaxed);  // Relaxed: the exchange above decides, this only sleeps.
  }
#endif
}

using conditional_lock = basic_conditional_lock<words::atomic>;
// In the library: nobody else pays for it.
extern template void basic_conditional_lock<words::atomic>::lock_contended() noexcept;

/// Holds a conditional_lock for a scope.
class [[nodiscard]] lock_guard {
 public:
  explicit lock_guard(conditional_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~lock_guard() { lock_.unlock(); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  conditional_lock& lock_;
};

}  // namespace asx
