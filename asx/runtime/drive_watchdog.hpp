// asx/runtime/drive_watchdog.hpp - names a task whose poll takes too long, while it does.
//
//     asx::live_runtime rt;
//     const asx::watchdog dog(*rt, {.limit = asx::duration::milliseconds(100)});   // to stderr, or to you
//
//     asx: task 7 'parser' is being polled for 103 ms (spawned at orders.cpp:31); nobody else runs meanwhile
//
// 1  It looks from a thread of its own and reads only what was put there for it (poll_probe.hpp): a task that loops
//    for ever is named, too.
// 2  Each poll that is too long is told of once, between `limit` and two limits after it began.
// 3  Without a watchdog a runtime pays nothing; with one, a few stores a poll. It changes nothing in a run.
// 4  It measures by the machine's clock, whatever the runtime's is. Where time is virtual, and stands still in a poll,
//    it counts from when it first saw the poll: law 2 holds, and `so_far` is up to half a limit short. `began`
//    is the runtime's time.
//
// Cancel points: none.
// Threads: made and dropped on the runtime's thread; the report is called on the watchdog's own. Of clocks it reads
//          only the machine's.
// Lifetime: it is gone before its runtime is. One for each runtime.
#pragma once

#include "asx/base/config.hpp"
#include "asx/base/time.hpp"
#include "asx/runtime/poll_probe.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

struct watchdog_options {
  duration limit = duration::milliseconds(100);
  void* context = nullptr;
  /// Null: a line to stderr.
  void (*report)(void* context, const running_poll& poll, duration so_far) noexcept = nullptr;
};

class ASX_API watchdog {
 public:
  explicit watchdog(runtime& rt, const watchdog_options& options = {}) noexcept;
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// False: no thread could be started, and nobody watches.
  [[nodiscard]] bool is_on() const noexcept { return guard_ != nullptr; }

 private:
  struct guard;
  guard* guard_ = nullptr;
};

}  // namespace asx
