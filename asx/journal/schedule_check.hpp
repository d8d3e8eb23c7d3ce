// asx/journal/schedule_check.hpp - was this schedule legal? Judged from its journal alone.
//
//     journal --take--> lanes, streaks, timers, rebuilt from the events --finish--> verdict
//                       every dispatch: right lane? right entry? right moment? certificate right? who waited longest?
//
// 1  Nothing is shared with the scheduler but the events and the hash: lanes, choice, random draws and counters are
//    written a second time, from the rulings. Two mistakes would have to be equal to go unseen.
// 2  A violation names the event, the rule that it breaks, what was expected and what was found. After it the journal
//    is believed and the check goes on, so that one mistake is told once.
// 3  What cannot be known is said and never guessed: a journal that begins in the middle, or has a gap, is held to
//    the rules that need no past (order inside a lane, numbers, timers, time), and its dispatches count as unchecked.
// 4  Waits are measured in dispatches of the worker in whose lane a task stands, and held against the bounds of
//    docs/spec/scheduler.md, "How long a task can wait".
// 5  Memory grows with what is queued, live and pending at a time, not with the length of the journal.
//
// Two things are beyond a journal: a steal scan that finds nothing leaves no event, so draws of the steal stream are
// not counted, and scans are held only to their recorded start; and who a woken task should go to is nobody's rule.
//
// Cancel points: none. Threads: one owner. Lifetime: a verdict owns its data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/config.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/event_kind.hpp"

namespace asx {

namespace detail {
class schedule_model;
}

struct schedule_violation {
  std::uint64_t seq = 0;  // The event that should not be, or not be so.
  std::string_view rule;  // "R-102", "INV-SC-03"
  std::string text;       // What was expected, and what was found.
};

/// The seven counters of R-103, in the order that the hash has them.
struct recomputed_certificate {
  std::uint64_t cancel_dispatches = 0;
  std::uint64_t timed_dispatches = 0;
  std::uint64_t ready_dispatches = 0;
  std::uint64_t fallback_cancel_dispatches = 0;
  std::uint64_t base_limit_exceedances = 0;
  std::uint64_t effective_limit_exceedances = 0;
  std::uint64_t max_effective_limit_observed = 16;

  [[nodiscard]] constexpr std::uint64_t dispatches() const noexcept {
    return cancel_dispatches + timed_dispatches + ready_dispatches + fallback_cancel_dispatches;
  }
  [[nodiscard]] constexpr std::array<std::uint64_t, 7> fields() const noexcept {
    return {cancel_dispatches,           timed_dispatches,       ready_dispatches,
            fallback_cancel_dispatches,  base_limit_exceedances, effective_limit_exceedances,
            max_effective_limit_observed};
  }
  [[nodiscard]] ASX_API std::uint64_t hash() const noexcept;
  friend constexpr bool operator==(const recomputed_certificate&, const recomputed_certificate&) noexcept = default;
};

/// How long entries of one lane waited. A wait of 1 is none: the next dispatch of the worker was theirs.
struct lane_waits {
  std::uint64_t entries = 0;      // Entries that were dispatched, here or by a thief.
  std::uint64_t longest = 0;      // In dispatches of the worker.
  std::uint64_t longest_seq = 0;  // The dispatch that ended it.
  std::uint64_t judged = 0;       // Waits that had a bound.
  std::uint64_t worst_wait = 0;   // The wait that came nearest to its bound, and that bound.
  std::uint64_t worst_bound = 0;
  std::uint64_t worst_seq = 0;

  /// 1 when a task waited as long as a task can; above 1 only beside a violation.
  [[nodiscard]] constexpr double worst_ratio() const noexcept {
    return worst_bound == 0 ? 0.0 : static_cast<double>(worst_wait) / static_cast<double>(worst_bound);
  }
};

struct schedule_verdict {
  static constexpr std::size_t violations_kept = 1'000;

  std::vector<schedule_violation> violations;  // The first ones; violation_count counts them all.
  std::uint64_t violation_count = 0;
  std::vector<std::string> unknown;  // Whole sentences about what could not be checked, and why.

  std::uint64_t events = 0;  // Semantic ones.
  std::uint64_t first_seq = 0, last_seq = 0;
  std::uint64_t dispatches = 0;  // All of them; unchecked ones were held only to rules that need no past.
  std::uint64_t unchecked = 0;

  bool certificate_known = false;  // False when dispatches may be missing.
  recomputed_certificate certificate;
  std::uint64_t certificates_checked = 0;
  std::array<lane_waits, 3> waits;  // By lane_code: cancel, timed, ready.

  [[nodiscard]] bool accepted() const noexcept { return violation_count == 0; }
  [[nodiscard]] const lane_waits& waits_of(lane_code lane) const noexcept {
    return waits[static_cast<std::size_t>(lane)];
  }
};

class ASX_API schedule_checker {
 public:
  schedule_checker();
  ~schedule_checker();
  schedule_checker(const schedule_checker&) = delete;
  schedule_checker& operator=(const schedule_checker&) = delete;

  /// Events in their order; diagnostics are passed over.
  void take(const event& e);
  /// The journal is over. Nothing can be taken afterwards.
  [[nodiscard]] schedule_verdict finish();

 private:
  std::unique_ptr<detail::schedule_model> model_;
};

[[nodiscard]] ASX_API schedule_verdict check_schedule(std::span<const event> events);

/// Several lines for people: the verdict, the violations, the certificate, the waits, what is unknown.
[[nodiscard]] ASX_API std::string explain(const schedule_verdict& verdict);

}  // namespace asx
