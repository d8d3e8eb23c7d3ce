// asx/runtime/port_park.hpp - how a drive waits when nothing is to be done, and how others end that wait.
//
//     drive --park--> spins a moment, lets others run, then sleeps <--unpark-- another thread, a signal handler
//
// 1  park returns at `until` at the latest, and may return earlier, for no reason: who parks looks again.
// 2  An unpark that comes before the park ends it at once: none is lost. Several before one park are one.
// 3  In virtual time nobody parks: the clock jumps.
//
// A reactor that waits for input and output takes the place of thread_parker, and its waiting serves both.
//
// Cancel points: none.
// Threads: park is the drive's own; unpark may be called by any thread and by signal handlers.
// Lifetime: the context outlives the runtime that parks. Nobody unparks once the runtime is gone (inbox.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/base/time.hpp"

namespace asx {

struct park_port {
  void* context = nullptr;
  /// An `until` of none: until somebody unparks.
  void (*park)(void* context, instant now, instant until) noexcept = nullptr;
  /// Null: nobody can end the wait, and no foreign handle is made.
  void (*unpark)(void* context) noexcept = nullptr;
};

/// What a parker and an inbox ask of the machine; a test puts one in its place that tries interleavings
/// (tests/interleave).
struct ASX_API system_threads {
  template <class T>
  using atomic = atomic_word<T>;
  template <class T>
  using plain = T;
  static constexpr int spins = 64;  // About a microsecond: an answer that is already on its way.
  static constexpr int yields = 2;
  static void relax() noexcept;
  static void yield() noexcept;
  /// Looks and goes to sleep in one step: a wake_one that comes after the look ends it.
  static void sleep_while(atomic_word<std::uint32_t>& word, std::uint32_t value, duration longest) noexcept;
  static void wake_one(atomic_word<std::uint32_t>& word) noexcept;
};

/// Parks one thread.
template <class Threads>
class ASX_API basic_thread_parker {
 public:
  basic_thread_parker() noexcept = default;
  basic_thread_parker(const basic_thread_parker&) = delete;
  basic_thread_parker& operator=(const basic_thread_parker&) = delete;

  /// Returns after `longest`, or when it was unparked; for duration::max(), only then.
  void park(duration longest) noexcept;
  /// Async-signal-safe; no system call unless somebody sleeps.
  void unpark() noexcept;

  [[nodiscard]] park_port port() noexcept {
    return {this,
            [](void* self, instant now, instant until) noexcept {
              static_cast<basic_thread_parker*>(self)->park(until - now);
            },
            [](void* self) noexcept { static_cast<basic_thread_parker*>(self)->unpark(); }};
  }

 private:
  enum : std::uint32_t { awake, asleep, told };
  [[nodiscard]] bool take_told() noexcept;

  typename Threads::template atomic<std::uint32_t> state_{awake};
};

// A word that says awake, asleep or told, and a futex to sleep on it. The sleeper looks at the word under the machine's
// own lock, so that an unpark between the look and the sleep is not lost.

// Acquire: pairs with the release in unpark; what was written before it is seen.
template <class Threads>
bool basic_thread_parker<Threads>::take_told() noexcept {
  if (state_.load(std::memory_order_relaxed) != told) return false;
  return state_.exchange(awake, std::memory_order_acquire) == told;
}

template <class Threads>
void basic_thread_parker<Threads>::park(duration longest) noexcept {
  for (int i = 0; i < Threads::spins; ++i) {
    if (take_told()) return;
    Threads::relax();
  }
  for (int i = 0; i < Threads::yields; ++i) {
    Threads::yield();
    if (take_told()) return;
  }
  std::uint32_t seen = awake;
  // Relaxed: nothing is handed over by going to sleep; told is taken below, with acquire.
  if (state_.compare_exchange_strong(seen, asleep, std::memory_order_relaxed)) {
    Threads::sleep_while(state_, asleep, longest);
  }
  state_.exchange(awake, std::memory_order_acquire);
}

template <class Threads>
void basic_thread_parker<Threads>::unpark() noexcept {
  // Release: pairs with the acquire of the one who parks.
  if (state_.exchange(told, std::memory_order_release) == asleep) Threads::wake_one(state_);
}

using thread_parker = basic_thread_parker<system_threads>;
extern template bool
basic_thread_parker<system_threads>::take_told() noexcept;  // In the library: nobody else pays for them.
extern template void basic_thread_parker<system_threads>::park(duration longest) noexcept;
extern template void basic_thread_parker<system_threads>::unpark() noexcept;

}  // namespace asx
