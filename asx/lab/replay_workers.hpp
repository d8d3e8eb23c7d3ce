// asx/lab/replay_workers.hpp - plays a run of many workers again, on one thread.
//
//     void program(asx::runtime& rt) { ... }                // spawns, runs, shuts down; there and here alike
//
//     asx::entry_order order;                               // there: as threads come
//     asx::threaded_runtime rt({.workers = 4, .record = &order}, config);
//     program(*rt);
//
//     const asx::workers_replay again = asx::replay_workers(order, config, program);
//     std::puts(again.report().c_str());                    // the same run, or the first event that differs
//
// 1  Each worker has a stack, and one of them goes on at a time until it comes to the kernel's gate and it is another
//    one's turn there: in the middle of a poll, too. So the run is the recorded one, event by event, whatever its
//    threads did; and a debugger that stops in it stops all of it, at the same place every time.
// 2  What it covers is what an order covers (asx/runtime/entry_order.hpp, law 2). Words of the program's that each
//    thread has are one for all workers here.
// 3  Another program is told, by the first of these that differs: an event, if there is a recorded journal; the digest
//    that the order keeps. An order that was kept before its first run was over has none: without a journal nothing
//    can be said then, and that is said. It comes to its end: past the order workers take turns.
// 4  Nobody waits at the gate for a turn that does not come: whoever is next is let go on. What is left is a poll that
//    does not come back, since it waits for another one past asx, which cannot go on before it: `stuck_after` says when
//    that is found, and by whom. It is the end of the process, by kernel_options::fatal: nobody can take it back.
// 5  The run is judged as the lab judges one: obligations that leaked, cleanups that were ended by force, failures that
//    nobody heard of. What is found is of the recorded run as well, if it is the same.
//
// Cancel points: none. Threads: one, and one that looks on for law 4. Lifetime: results own their data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "asx/base/hash.hpp"
#include "asx/journal/compare.hpp"
#include "asx/lab/replay_live.hpp"
#include "asx/runtime/drive_workers.hpp"
#include "asx/runtime/entry_order.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

struct workers_replay_options {
  const live_recording* journal = nullptr;  // Of the recorded run, if it was kept: read_recording (replay_live.hpp).
  std::size_t stack_bytes = 0;              // Of a worker; 0: as much as a thread has.
  /// How long a worker may be out with what is the user's, more than the longest poll computes; 0: nobody looks, and
  /// there is no second thread. Time in a debugger does not count.
  duration stuck_after = duration::seconds(60);
};

struct workers_replay {
  status code = status::ok;   // Why it was not played: invalid_argument for an order that is not complete.
  comparison found;           // With the recorded journal.
  digest128 digest{};         // Of the replay, when the program returned.
  std::uint64_t entries = 0;  // That came as they were recorded.
  std::string parting;        // How it differs from the recorded run; empty: as far as is known, not at all.
  std::string finding;        // What was wrong with the run itself; empty: nothing.

  [[nodiscard]] bool is_same() const noexcept { return code == status::ok && parting.empty(); }
  /// For people: "the same run", or how it differs; and what was wrong.
  [[nodiscard]] ASX_API std::string report() const;
};

/// `config` as in the recorded run; its seed, workers, clock, park, sink and arrivals are replaced.
[[nodiscard]] ASX_API workers_replay replay_workers(const entry_order& order, const runtime_config& config,
                                                    const std::function<void(runtime&)>& program,
                                                    const workers_replay_options& options = {});

}  // namespace asx
