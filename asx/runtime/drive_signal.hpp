// asx/runtime/drive_signal.hpp - signals of the process as words to a runtime.
//
//     asx::live_runtime rt;
//     const asx::signal_watch stop = asx::cancel_on_signal(*rt, {SIGINT, SIGTERM});   // Ctrl-C: shut down in order
//     const asx::signal_watch look = asx::list_tasks_on_signal(*rt, {SIGUSR1});       // kill -USR1: who is alive
//
// 1  A handler only speaks through a foreign handle, which is safe in a signal; the drive does the rest in phase 0
//    of its next step, and is unparked for it.
// 2  The first signal begins a shutdown with runtime_config::grace, a second one ends the grace (inbox.hpp, law 5).
// 3  A look changes nothing in the run: no event tells of it.
// 4  A watch is no foreign hold: a run ends as if it were not there.
// 5  One watch a signal in a process: another one is refused, and is_on says so. What was there before comes back
//    when the watch goes.
//
// Cancel points: none.
// Threads: watches are made and dropped on the runtime's thread; the signal may arrive on any.
// Lifetime: a watch may outlive its runtime, and does nothing then.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "asx/base/config.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

class ASX_API signal_watch {
 public:
  static constexpr std::size_t most = 8;  // Signals in one watch.

  signal_watch() noexcept = default;
  signal_watch(signal_watch&& other) noexcept;
  signal_watch& operator=(signal_watch&& other) noexcept;
  ~signal_watch() { drop(); }

  /// ok; or why no signal is watched: invalid_argument (a number that cannot be caught, too many, or watched),
  /// resource_exhausted (no foreign handle is left).
  [[nodiscard]] status code() const noexcept { return code_; }
  [[nodiscard]] bool is_on() const noexcept { return count_ != 0; }
  void drop() noexcept;

 private:
  friend signal_watch cancel_on_signal(runtime& rt, std::initializer_list<int> signals) noexcept;
  friend signal_watch list_tasks_on_signal(runtime& rt, std::initializer_list<int> signals) noexcept;
  signal_watch(runtime& rt, std::initializer_list<int> signals, std::uint32_t what) noexcept;
  [[nodiscard]] status watch(runtime& rt, int number, std::uint32_t what) noexcept;

  status code_ = status::ok;
  std::uint32_t count_ = 0;
  std::array<int, most> signals_{};
};

/// Each of them begins an orderly shutdown of the runtime.
[[nodiscard("the watch ends when it goes")]] ASX_API signal_watch
cancel_on_signal(runtime& rt, std::initializer_list<int> signals) noexcept;
/// Each of them prints describe_tasks (asx/kernel/report.hpp) to stderr, between two polls.
[[nodiscard("the watch ends when it goes")]] ASX_API signal_watch
list_tasks_on_signal(runtime& rt, std::initializer_list<int> signals) noexcept;

}  // namespace asx
