// asx/lab/lab.hpp - running a program under many schedules, in virtual time, with everything checked that can be.
//
//     const asx::lab_result r = asx::explore({.seeds = 200}, [](asx::cx c) -> asx::task<> { co_await service(c); });
//     if (!r.is_ok) std::puts(r.report().c_str());    // what was wrong, a token that replays it, the journal's tail
//
// A run: a fresh runtime with virtual time that jumps when all are blocked, 1 to `workers` virtual workers, and a
// schedule drawn from the seed. The body is its first task; the run ends when nothing is left to do, and is shut down.
//
// What every run must satisfy, unless the options allow otherwise:
// - the body ends ok: or what it ended with is the finding
// - no failure is lost: nobody that the body started beside itself failed, and was let go of unheard (run.hpp)
// - nobody panics: whoever joined it, or caught what became of it
// - nobody is blocked for ever: who waits when nothing can happen any more, for what, and who could wake them is told
// - everything ends at shutdown: quiescence
// - no promise is broken: no obligation leaked, no ghost violation
// - no message is lost: the permits and messages of each channel add up, event by event
// - cleanup keeps its budget: nobody was completed by force
// - cleanup comes to its end: nobody who was cancelled ended with a failure of its own, which only its outcome tells of
//   most often a block that a closing region refused (region.hpp)
// - the same again: the second run of a seed has the digest of the first
//
// Sweeps do one thing at every point of a seed's run, one run a point, whichever task the point belongs to:
//     cancel        the task is asked to cancel: before it begins, at each cancel point that it passes, and behind each
//                   of its polls, where it waits
//     cancel_body   the body is, behind every step
//     admission     what a limit of the contract bounds is refused, as if it were met: a task, a region, a timer, an
//                   obligation, a channel, a place in a queue, a cancel, a frame ... (asx/kernel/fault.hpp)
//     polls         the polls of the task are spent, as if its quota ended there
//     region_polls  everybody has so many polls, as in a region whose budget says so
//     cost          the cost quota of the task is spent when it spends of it (cx::consume_cost)
//     memory        an allocation is refused
// A program that was struck may end as it likes, but not in a panic; everything else above holds for it, too. A failure
// that nobody joined, or in cleanup, is tolerated when it is the fault itself (cancelled, budget_exhausted or
// resource_exhausted) or the loss of a peer (disconnected). Every strike is counted, and a sweep without any is a
// finding.
//
// A token is a few words that name a run; replay gives the same run again, and says when the program is another by now.
// With the journal of the run that was found it says so with the first event that differs.
//
// Cancel points: none. Threads: one. Lifetime: the body is called for each run; what it refers to outlives explore.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "asx/base/hash.hpp"
#include "asx/coro/task.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

struct lab_options {
  std::uint64_t first_seed = 1;
  std::optional<std::uint32_t> seeds{};  // From the first on. Left empty: 32 of explore, and 1 of a sweep.
  std::uint32_t workers = 4;             // At most, and at most 64; a seed decides how many.
  resource_contract contract = resource_contract::core();
  kernel_options behaviour{};
  std::uint64_t max_steps = 1'000'000;  // Of one run: more is a finding.
  bool may_fail = false;                // The body may end otherwise than ok.
  bool may_block = false;               // Tasks may be left waiting; shutdown ends them.
  bool may_leak = false;
  bool may_overrun = false;
  bool may_fail_cleanup = false;   // Who was cancelled may end with a failure of its own.
  bool may_panic = false;          // Tasks may end panicked, if somebody hears of it; the body, if it may fail.
  bool (*has_failed)() = nullptr;  // Asked after each run; true is a finding. For frameworks with checks of their own.
  std::string journal{};  // A file. What is found is written there, event by event; a replay is compared with it.
};

using lab_body = std::function<task<void>(cx)>;

/// What a run is told to do besides.
enum class lab_fault : std::uint8_t { none, cancel, polls, memory, cancel_body, admission, region_polls, cost };

struct lab_result {
  bool is_ok = true;
  std::uint64_t runs = 0;
  std::uint64_t faults = 0;  // That hit: a sweep that hits nothing is a finding.
  std::uint64_t seed = 0;    // Of the first finding, or the last run.
  lab_fault fault = lab_fault::none;
  std::uint64_t at = 0;  // At which point of it the fault was to strike, from 1.
  digest128 digest{};    // Of that run.
  std::string finding;   // What was wrong; empty when nothing was.
  std::string struck;    // Whom the fault hit first, and where; empty when that was nobody's doing.
  std::string token;     // Names that run.
  std::string tail;      // The last events of its journal before that, one a line, without what workers do idly.
  std::string journal;   // The file that holds all of them, if one was asked for.

  /// All of it, for people.
  [[nodiscard]] std::string report() const;
};

/// Every seed, each twice; stops at the first finding.
[[nodiscard]] ASX_API lab_result explore(const lab_options& options, const lab_body& body);
/// Each seed's run, and again once for each point where the fault can strike; stops at the first finding.
[[nodiscard]] ASX_API lab_result sweep(const lab_options& options, lab_fault fault, const lab_body& body);
/// The run that a token names. A token that cannot be read is a finding; so is a digest that is not the token's. Writes
/// no journal.
[[nodiscard]] ASX_API lab_result replay(const lab_options& options, const std::string& token, const lab_body& body);

}  // namespace asx
