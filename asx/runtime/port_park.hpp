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

/// Parks one thread.
class ASX_API thread_parker {
 public:
  thread_parker() noexcept = default;
  thread_parker(const thread_parker&) = delete;
  thread_parker& operator=(const thread_parker&) = delete;

  /// Returns after `longest`, or when it was unparked; for duration::max(), only then.
  void park(duration longest) noexcept;
  /// Async-signal-safe; no system call unless somebody sleeps.
  void unpark() noexcept;

  [[nodiscard]] park_port port() noexcept {
    return {
        this,
        [](void* self, instant now, instant until) noexcept { static_cast<thread_parker*>(self)->park(until - now); },
        [](void* self) noexcept { static_cast<thread_parker*>(self)->unpark(); }};
  }

 private:
  enum : std::uint32_t { awake, asleep, told };
  [[nodiscard]] bool take_told() noexcept;

  std::atomic<std::uint32_t> state_{awake};
};

}  // namespace asx
