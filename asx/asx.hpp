// asx/asx.hpp - everything of asx, as a table of contents. A header costs what it includes: include the single
// ones where compile time matters.
//
// Laws, cancel points, threads and lifetime: at the head of each header below.
#pragma once

// base: no domain knowledge
#include "asx/base/assert.hpp"            // assertions that stay on
#include "asx/base/bitmap256.hpp"         // 256 bits with highest, lowest, next
#include "asx/base/bitmap_queue.hpp"      // 256 priorities, O(1)
#include "asx/base/conditional_lock.hpp"  // a lock that can be switched off
#include "asx/base/config.hpp"            // version, visibility
#include "asx/base/construct.hpp"         // construct_at without streams
#include "asx/base/hash.hpp"              // XXH3-64 over fields, a running XXH3-128 digest
#include "asx/base/id.hpp"                // distinct id types
#include "asx/base/intrusive_list.hpp"    // FIFO list with its links in the elements
#include "asx/base/memory.hpp"            // heap, or the caller's block
#include "asx/base/random.hpp"            // splitmix64 in seeded streams
#include "asx/base/slab.hpp"              // records with stable addresses and generations
#include "asx/base/time.hpp"              // instant, duration: saturating nanoseconds

// model: the laws as constexpr values
#include "asx/model/budget.hpp"         // deadline, polls, cost, priority; meet
#include "asx/model/cancel_kind.hpp"    // eleven kinds, their severity and cleanup budget
#include "asx/model/cancel_reason.hpp"  // why, with the chain of causes; strengthen
#include "asx/model/cause_store.hpp"    // where chains are kept and shared
#include "asx/model/handle.hpp"         // sixteen bytes that reach a record
#include "asx/model/ids.hpp"            // region_id, task_id, ...
#include "asx/model/lifecycle.hpp"      // the five state machines
#include "asx/model/outcome.hpp"        // ok, err, cancelled, panicked; join
#include "asx/model/status.hpp"         // the result of a call
#include "asx/model/witness.hpp"        // how far a cancellation has come

// journal: what happened, in order, with a digest
#include "asx/journal/event.hpp"    // 64 bytes that mean the same everywhere
#include "asx/journal/journal.hpp"  // the ring and the running digest
// For tools, and not included here: event_table.hpp, compare.hpp, file.hpp, schedule_check.hpp, why.hpp, codec_*.hpp,
// export_*.hpp.

// wheel: who is due
#include "asx/wheel/timer_wheel.hpp"  // O(1) timers, exact deadlines, deterministic order

// sched: who is next
#include "asx/sched/certificate.hpp"  // how fair a run was
#include "asx/sched/governor.hpp"     // which lane, given streaks and a suggestion
#include "asx/sched/scheduler.hpp"    // three lanes a worker, stealing

// kernel: regions, tasks, obligations, cancellation
#include "asx/kernel/contract.hpp"  // every limit, and three profiles
#include "asx/kernel/cx.hpp"        // what a task can do while it is polled
#include "asx/kernel/fault.hpp"     // where a run is made to go wrong on purpose
#include "asx/kernel/gate.hpp"      // how several threads share one kernel
#include "asx/kernel/ghost.hpp"     // monitors that record and never change a result
#include "asx/kernel/kernel.hpp"    // the only code that moves a state
#include "asx/kernel/owned.hpp"     // how other things hang on regions
#include "asx/kernel/report.hpp"    // who is alive, and why

// runtime: ports and drives
#include "asx/runtime/drive_live.hpp"      // on the machine's own clock
#include "asx/runtime/drive_pool.hpp"      // threads for calls that block
#include "asx/runtime/drive_signal.hpp"    // Ctrl-C as an orderly end, a list of tasks on demand
#include "asx/runtime/drive_watchdog.hpp"  // names a poll that hangs
#include "asx/runtime/drive_workers.hpp"   // many workers on threads
#include "asx/runtime/inbox.hpp"           // wakes and cancels from other threads
#include "asx/runtime/metrics.hpp"         // counters, histograms, a page for Prometheus
#include "asx/runtime/parallel.hpp"        // computing on several workers, inside one poll
#include "asx/runtime/port_clock.hpp"      // virtual and steady time
#include "asx/runtime/port_park.hpp"       // how a drive waits
#include "asx/runtime/runtime.hpp"         // a whole runtime as one object
#include "asx/runtime/worker_step.hpp"     // what is due, then one dispatch

// chan: values from task to task
#include "asx/chan/broadcast.hpp"   // every receiver sees every value, up to a bound
#include "asx/chan/mpsc.hpp"        // bounded, two-phase, many senders
#include "asx/chan/oneshot.hpp"     // one value, once
#include "asx/chan/rendezvous.hpp"  // over when the receiver has the value
#include "asx/chan/tracked.hpp"     // permits that must not be forgotten
#include "asx/chan/watch.hpp"       // the latest value

// sync: taking turns
#include "asx/sync/mutex.hpp"      // a value that one task at a time may touch
#include "asx/sync/notify.hpp"     // something happened
#include "asx/sync/semaphore.hpp"  // units to take and give back

// coro: what users write
#include "asx/coro/blocking.hpp"       // calls that block, on threads that may
#include "asx/coro/chan.hpp"           // reserve, send, recv
#include "asx/coro/cleanup.hpp"        // mask, within, finally
#include "asx/coro/combine.hpp"        // join_all, race, first_ok, quorum, retry, for_each
#include "asx/coro/combine_range.hpp"  // the same of as many as a range has
#include "asx/coro/foreign.hpp"        // a value from another thread
#include "asx/coro/join_set.hpp"       // who ends next
#include "asx/coro/link.hpp"           // tasks that end together
#include "asx/coro/many.hpp"           // several messages in one await
#include "asx/coro/moved.hpp"          // handing over what owns memory
#include "asx/coro/near.hpp"           // oneshot, watch, broadcast, rendezvous
#include "asx/coro/region.hpp"         // blocks that wait for their children
#include "asx/coro/run.hpp"            // a whole program
#include "asx/coro/select.hpp"         // the first of several operations
#include "asx/coro/spawn.hpp"          // tasks and their results
#include "asx/coro/sync.hpp"           // acquire, lock, wait
#include "asx/coro/task.hpp"           // coroutines
#include "asx/coro/time.hpp"           // sleep, interval, yield

// lab: for tests, and not included here: asx/lab/lab.hpp, asx/lab/replay_live.hpp,
// asx/lab/replay_workers.hpp, asx/lab/gtest.hpp.
