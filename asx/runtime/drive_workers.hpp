// asx/runtime/drive_workers.hpp - one runtime on many threads: each steps its own worker, polls run side by side.
//
//     asx::threaded_runtime rt({.workers = 4});          // 0: as many as the machine has processors
//     asx::spawn_in(rt->kernel(), rt->root(), {}, serve);
//     rt->run_until_quiescent();                         // this thread is worker 0, the others join it
//
//     worker:  in --> what is due, the next task --> out: its poll --> in --> what follows from it --+
//               ^------------------------------------------------------------------------------------+
//               nothing to do: parks, until somebody has something for it or a timer is due
//
// 1  What is inside the kernel is done by one thread at a time (asx/kernel/gate.hpp); polls, cleanup actions and drops
//    run outside, side by side; finalizers and last calls of regions outside, too, one after the other. So regions,
//    channels, timers and cancellation mean what they mean on one thread, and the journal is one legal order of what
//    happened.
// 2  A task is polled by one worker at a time. It is woken on the worker that woke it, and stolen from there by one
//    that has nothing to do, once workers are out long enough to be worth it: two that talk stay together.
// 3  Everything that does something may be called by any thread while it runs: spawn, cancel, try_send, wake. What only
//    looks and gives no status - live_tasks, now, next_due, describe_tasks, journal - is looked at inside: `const
//    inside here(rt->kernel())`. An end of a channel is of one task or thread at a time; copy it for another. A run
//    does not wait for other threads: one that has something to bring holds a foreign handle or a foreign_promise
//    (inbox.hpp, asx/coro/foreign.hpp). To stop a run from elsewhere: foreign_handle::shut_down, or a signal.
// 4  A worker with nothing to do sleeps; one of them sees to the timers, and looks around once a millisecond while
//    others are busy.
// 5  Which worker polls whom is not decided by the seed: two runs may have different digests. A run that was recorded
//    is played again to the same digest (asx/runtime/entry_order.hpp). The lab explores the orders that threads can
//    have, with as many virtual workers.
// 6  Whoever calls run or shutdown is worker 0 from then on, once the thread that was it has come back from what is the
//    user's in a call of its own: a finalizer there must not wait for that run.
//
// Inside, and so not to wait for another thread, are: moves of messages and the ends of what they were moved from;
// values of mutex, watch and broadcast, when they are made, looked at by `visit`, and end; the iterators of for_each;
// what a select polls. A foreign handle wakes every worker that sleeps.
//
// Cancel points: none. Threads: any, while it runs; one at a time calls run and shutdown. Either of them beside a run
// is refused: reentrant. A thread that calls in a loop without a pause can keep workers waiting: the gate is not fair.
// Lifetime: as runtime.hpp; the threads end with it. Calls of other threads have returned before it goes.
#pragma once

#include <cstdint>

#include "asx/base/config.hpp"
#include "asx/runtime/port_clock.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

class entry_order;

struct threads_config {
  std::uint32_t workers = 0;  // 0: one for each processor. More than 64 are 64.
  bool is_pinned = false;     // Worker n stays on processor n; whoever made the runtime is worker 0, and stays there.
  bool is_virtual = false;    // Time stands while somebody works, and jumps when nobody does, as in the lab.
  /// For tests, not 0: threads pause for a moment, drawn from here, wherever they go in or out, and help each other
  /// however short the polls are.
  std::uint64_t disturbance = 0;
  /// One of both, or none: written while it runs, or the order to be played. As many workers as it was recorded with.
  entry_order* record = nullptr;
  const entry_order* replay = nullptr;
};

class ASX_API threaded_runtime {
 public:
  /// `config`.workers, clock and park are this one's to choose.
  explicit threaded_runtime(const threads_config& how = {}, const runtime_config& config = {});
  ~threaded_runtime();
  threaded_runtime(const threaded_runtime&) = delete;
  threaded_runtime& operator=(const threaded_runtime&) = delete;

  [[nodiscard]] runtime& operator*() noexcept { return *runtime_; }
  [[nodiscard]] runtime* operator->() noexcept { return runtime_; }
  [[nodiscard]] std::uint32_t workers() const noexcept;
  /// As runtime::start_status; resource_exhausted also when the machine has no further threads, invalid_argument when
  /// the order to be played is of another number of workers or not complete. Nothing runs then: spawn nothing.
  [[nodiscard]] status start_status() const noexcept;

 private:
  class crew;
  crew* crew_;  // Outlives the runtime that it drives.
  runtime* runtime_;
};

}  // namespace asx
