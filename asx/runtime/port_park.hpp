// asx/runtime/port_park.hpp - how a drive waits when nothing is to be done: the machine's sleep, or somebody else's.
//
// 1  park returns at `until` at the latest, and may return earlier, for no reason: who parks looks again.
// 2  In virtual time nobody parks: the clock jumps.
//
// A reactor that waits for input and output takes the place of thread_park, and its waiting serves both.
//
// Cancel points: none. Threads: the drive's own. Lifetime: the context outlives the runtime that parks.
#pragma once

#include "asx/base/config.hpp"
#include "asx/base/time.hpp"

namespace asx {

struct park_port {
  void* context = nullptr;
  void (*park)(void* context, instant now, instant until) noexcept = nullptr;
};

/// Sleeps, for at most 10 ms at a time, so that nothing is missed for longer.
[[nodiscard]] ASX_API park_port thread_park() noexcept;

}  // namespace asx
