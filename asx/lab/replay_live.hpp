// asx/lab/replay_live.hpp - plays a live run again from its journal, event by event.
//
//     void program(asx::runtime& rt) { ... }                // spawns, runs, shuts down; live and here alike
//
//     asx::bin_writer file;                                 // live: the journal goes to a file (journal/file.hpp)
//     file.open(asx::heap_memory(), asx::descriptor_writer(fd), asx::journal_header::of("core", 0));
//     config.sink = file.sink();
//     asx::live_runtime rt(config);
//     program(*rt);
//     file.close();
//
//     asx::live_recording run;
//     if (asx::read_recording(file_reader, run).code == asx::status::ok) ...
//     const asx::live_replay again = asx::replay_live(run, config, program);
//     std::puts(again.report().c_str());                    // the same run, or the first event that differs
//
// 1  Everything that a live run on one thread learns from outside is in its journal: the time of a step is that of the
//    first event that follows it, and what arrived through the inbox is marked `arrived`. A replay reads clock and
//    inbox from there, by the number of the event that comes next, so each comes at the step where it came.
// 2  A program whose only inputs come through asx - cx::now, handles, blocking calls and foreign values that give the
//    same again - has the same digest. The journal holds when something came and not what it was: a replay makes
//    blocking calls again, on its own thread, and waits for a foreign value until it is brought again. What
//    blocking_kept gave is in the journal, and is given again without a call. Threads may run as in the live
//    run; that they speak is not heard.
// 3  The first event that differs is found when it happens. From there on time jumps as in the lab and handles are
//    heard, so that the program comes to its end.
// 4  A recording that is cut, as of a process that died, is played to its end; from there the run goes on by itself.
//
// Cancel points: none. Threads: one. Lifetime: results own their data; the recording outlives the call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/journal/compare.hpp"
#include "asx/journal/port.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

struct live_recording {
  std::vector<event> events;                    // The semantic ones, from the first.
  bool is_whole = true;                         // The writer closed it: nothing is missing at its end.
  std::map<std::uint64_t, std::string> values;  // What calls gave, by their handles: the bytes, and zeroes behind them.
};

/// From a binary journal. invalid_argument: it does not begin with the run; else as bin_reader. A cut end is none.
[[nodiscard]] ASX_API journal_fault read_recording(read_port in, live_recording& out);
/// From a journal in memory. invalid_argument: its ring has lost the beginning, or it was not full.
[[nodiscard]] ASX_API status read_recording(const journal& log, live_recording& out);

struct live_replay {
  comparison found;
  digest128 digest{};              // Of the replay, up to the end of the program.
  std::uint64_t inputs_given = 0;  // Arrivals that were played.

  [[nodiscard]] bool is_same() const noexcept { return found.match(); }
  /// For people: "the same run", or the first event that differs, as compare explains it.
  [[nodiscard]] ASX_API std::string report() const;
};

/// `config` as in the live run; its clock, park, sink and arrivals are replaced.
[[nodiscard]] ASX_API live_replay replay_live(const live_recording& recorded, const runtime_config& config,
                                              const std::function<void(runtime&)>& program);

}  // namespace asx
