// asx/runtime/drive_workers.hpp - one runtime on many threads: each steps its own worker, polls run side by side.
//
//     asx::threaded_runtime rt({.workers = 4});          // 0: as many as it may use processors
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
//    that has nothing to do, once workers are out long enough to be worth it: two that talk stay together. One that is
//    cancelled, or has a deadline, is not stolen: it waits for the worker that dispatched it last, as
//    long as that one is in a poll, whoever else is idle.
// 3  Everything that does something may be called by any thread while it runs: spawn, cancel, try_send, wake. What only
//    looks and gives no status - live_tasks, now, next_due, describe_tasks, journal - is looked at inside: `const
//    inside here(rt->kernel())`. An end of a channel is of one task or thread at a time; copy it for another. A run
//    does not wait for other threads: one that has something to bring holds a foreign handle or a foreign_promise
//    (inbox.hpp, asx/coro/foreign.hpp). To stop a run from elsewhere: foreign_handle::shut_down, or a signal.
// 4  A worker with nothing to do sleeps; one of them sees to the timers, and looks around once a millisecond while
//    others are busy. A foreign handle wakes one of them, which takes in what was said and wakes others for what it
//    does not do itself; while that one is busy, another one hears the next.
// 5  Which worker polls whom is not decided by the seed: two runs may have different digests. A run that was recorded
//    is played again to the same digest (asx/runtime/entry_order.hpp): by as many threads, or by one (law 8). The lab
//    explores the orders that threads can have, with as many virtual workers.
// 6  Whoever calls run or shutdown is worker 0 from then on, once the thread that was it has come back from what is the
//    user's in a call of its own: a finalizer there must not wait for that run.
// 7  Threads that are no workers give way at the gate: between two entries of workers no more than 64 of theirs pass
//    while a worker waits, however many call and however often.
// 8  An order is played on one thread, if that is asked for: each worker has a stack of its own, and whoever comes to
//    the gate when it is another one's turn lets that one go on, in the middle of a poll, too. It is the thread that
//    made the runtime; another one's run is refused: wrong_thread. The order is always followed to its end: whoever is
//    next stands at the gate or comes to it, unless its poll waits for something past asx (stuck_after). Past the order
//    workers take turns, and time stands and jumps: a program that does more than it did comes to its end, the same way
//    each time. asx/lab/replay_workers.hpp plays, compares and tells. Not on systems without glibc: resource_exhausted.
// 9  A worker that has no task to poll computes pieces of what others are computing (asx/runtime/parallel.hpp), and is
//    back for tasks after the piece in which a millisecond passed.
//
// Inside, and so not to wait for another thread, are: moves and copies of messages and values, and the ends of what
// they were moved from; the functions of `visit` and `poll_recv_many`; the iterators of for_each; what a select polls.
// Destructors run outside, but for a value of a watch or a broadcast that another one replaces and whose move
// may throw.
//
// Cancel points: none. Threads: any, while it runs; one at a time calls run and shutdown. Either of them beside a run
// is refused: reentrant.
// Lifetime: as runtime.hpp; the threads end with it. Calls of other threads have returned before it goes, a run above
// all: one that is destroyed while another thread runs it ends the process with a word; foreign_handle::shut_down ends
// that run. A fork takes no worker along: its child neither calls nor destroys a runtime that was there before, and
// goes on by exec or _exit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asx/base/config.hpp"
#include "asx/runtime/port_clock.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

class entry_order;

struct threads_config {
  std::uint32_t workers = 0;  // 0: one for each processor that its maker may use. More than 64 are 64.
  /// Worker n stays on the nth of the processors that whoever makes it may use, from the first one on again when there
  /// are fewer; two runtimes of one maker share them. Worker 0 is whoever calls run or shutdown: it is there as long as
  /// the call lasts, and may run where it might before when that returns.
  bool is_pinned = false;
  bool is_virtual = false;  // Time stands while somebody works, and jumps when nobody does, as in the lab.
  /// For tests, not 0: threads pause for a moment, drawn from here, wherever they go in or out, and help each other
  /// however short the polls are.
  std::uint64_t disturbance = 0;
  /// One of both, or none: written while it runs, or the order to be played. As many workers as it was recorded with.
  /// Either keeps a digest at least, whatever the config says of a journal: without one others go in less often.
  entry_order* record = nullptr;
  const entry_order* replay = nullptr;
  /// With `replay`: no thread is started. Each worker has a stack of its own, and whoever made the runtime goes on with
  /// one after the other (law 8).
  bool is_on_one_thread = false;
  std::size_t stack_bytes = 0;  // Of each worker but the first, then. 0: as much as a thread has.
  /// And then, not 0: a thread looks on, and a poll that does not come back for so long is fatal (kernel_options).
  duration stuck_after{};
};

/// How far an order was played.
struct replayed_order {
  std::uint64_t entries = 0;   // That came as they were recorded.
  bool is_overrun = false;     // Somebody came in after the last one: the program does more than it did.
  bool is_unfinished = false;  // Whoever runs it, worker 0, was in more often: the program does less, or is not over.
  std::uint64_t runs = 0;      // That are over.
  digest128 digest{};          // Of the journal after as many of them as the order has; all zero before that.
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
  /// How many pieces (asx/runtime/parallel.hpp) another worker computed than the one that forked them. Any thread.
  [[nodiscard]] std::uint64_t pieces_helped() const noexcept;
  /// As runtime::start_status; resource_exhausted also when the machine has no further threads or stacks,
  /// invalid_argument when the order to be played is of another number of workers, of the other kind of time, or not
  /// complete, or when there is none to be played on one thread. Nothing runs then, and nothing is spawned: that is
  /// refused with the same.
  [[nodiscard]] status start_status() const noexcept;
  /// Of one that plays an order; between runs, by the thread that runs it.
  [[nodiscard]] replayed_order replayed() const noexcept;

 private:
  class crew;
  crew* crew_;  // Outlives the runtime that it drives.
  runtime* runtime_;
};

}  // namespace asx
