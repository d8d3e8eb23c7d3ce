// asx/sched/governor.hpp - which lane is next: a pure function of what waits, of two streaks and of a suggestion.
//
//                                                   and when the timed streak is full
//     no_preference, drain_*    cancel > timed > ready    cancel > ready > timed     drain_* double the cancel limit
//     meet_deadlines            timed > cancel > ready    cancel > ready > timed     before cancel's turn is taken
//                                                         ready > timed > cancel     after
//
// R-102  at most `cancel limit` cancel dispatches in a row while timed or ready work exists, then one other.
// R-106  after `timed limit` timed dispatches one ready dispatch; R-162: under meet_deadlines one cancel before it.
// R-151  only a ready dispatch or a park starts the timed streak anew.
// R-165  every dispatch that is not from the cancel lane starts the cancel streak anew.
// R-204  with no ready work, cancel's turn comes back after another `timed limit` timed dispatches.
// INV-SC-08  a suggestion changes the order, never whether something is dispatched: if anything waits, something goes,
//        here or as a fallback.
//
// The policy at the end sets the suggestion from pressure. It is off unless a runtime asks for it.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/sched/place.hpp"

namespace asx {

/// Suggestions, in the order of the specification.
enum class governor : std::uint8_t { no_preference, meet_deadlines, drain_obligations, drain_regions };

[[nodiscard]] constexpr bool is_draining(governor g) noexcept {
  return g >= governor::drain_obligations;
}

/// The cancel limit in force.
[[nodiscard]] constexpr std::uint32_t effective_limit(governor g, std::uint32_t base) noexcept {
  return is_draining(g) ? 2 * base : base;
}

struct waiting_lanes {
  bool cancel = false;
  bool timed = false;
  bool ready = false;
};

/// The two streaks of one worker, and when cancel's next turn comes.
class lane_streaks {
 public:
  constexpr explicit lane_streaks(std::uint32_t timed_limit) noexcept
      : timed_limit_(timed_limit), cancel_turn_(timed_limit) {}

  [[nodiscard]] constexpr std::uint64_t cancel() const noexcept { return cancel_; }
  [[nodiscard]] constexpr std::uint64_t timed() const noexcept { return timed_; }
  [[nodiscard]] constexpr bool timed_is_full() const noexcept { return timed_limit_ != 0 && timed_ >= timed_limit_; }
  /// The timed streak is full and cancel has not had its turn since.
  [[nodiscard]] constexpr bool is_cancels_turn() const noexcept { return timed_is_full() && timed_ >= cancel_turn_; }

  constexpr void went_from_cancel() noexcept {
    ++cancel_;
    if (timed_is_full()) cancel_turn_ = timed_ + timed_limit_;
  }
  constexpr void went_from_timed() noexcept {
    ++timed_;
    cancel_ = 0;
  }
  constexpr void went_from_ready() noexcept { reset(); }
  /// A ready dispatch and a park leave the same behind.
  constexpr void reset() noexcept {
    cancel_ = timed_ = 0;
    cancel_turn_ = timed_limit_;
  }

 private:
  std::uint64_t cancel_ = 0;
  std::uint64_t timed_ = 0;
  std::uint64_t timed_limit_;
  std::uint64_t cancel_turn_;  // The timed streak at which cancel may go before timed.
};

struct lane_choice {
  bool found = false;  // False: nothing of this worker's own may go now; a full cancel lane is left to the fallback.
  lane from = lane::ready;
  bool is_limited = false;  // A full streak changed the choice, and `limited` is who stepped back.
  lane limited = lane::ready;
};

/// The lane that would go if streaks did not matter. Something must wait.
[[nodiscard]] constexpr lane preferred_lane(governor g, waiting_lanes has) noexcept {
  ASX_ASSERT(has.cancel || has.timed || has.ready, "a preference among nothing has no answer");
  if (g == governor::meet_deadlines && has.timed) return lane::timed;
  if (has.cancel) return lane::cancel;
  return has.timed ? lane::timed : lane::ready;
}

[[nodiscard]] constexpr lane_choice choose_lane(governor g, const lane_streaks& streaks, std::uint32_t cancel_limit,
                                                waiting_lanes has) noexcept {
  if (!has.cancel) [[likely]] {
    // Two lanes in the same order under every suggestion.
    if (!has.timed) return {has.ready, lane::ready, false, lane::ready};
    const bool gives_way = has.ready && streaks.timed_is_full();
    return {true, gives_way ? lane::ready : lane::timed, gives_way, lane::timed};
  }
  const bool may_cancel = has.cancel && streaks.cancel() < cancel_limit;
  lane_choice out{true, lane::cancel, false, preferred_lane(g, has)};
  const bool is_full = streaks.timed_is_full();
  const bool has_cancel_turn = g != governor::meet_deadlines || !is_full || streaks.is_cancels_turn();
  const bool is_timed_first = g == governor::meet_deadlines && has.timed && !is_full;
  const bool goes_timed = has.timed && (!is_full || !has.ready);  // Counts on while nobody else waits.
  if (may_cancel && has_cancel_turn && !is_timed_first) {
    out.from = lane::cancel;
  } else if (goes_timed) {
    out.from = lane::timed;
  } else if (has.ready) {
    out.from = lane::ready;
  } else {
    out.found = may_cancel;  // Cancel has had its turn, but there is nobody to whom the next one could go.
  }
  out.is_limited = out.from != out.limited;
  return out;
}

// ---- the built-in policy ------------------------------------------------------------------------------------------

/// What weighs on a runtime, as counts at one moment.
struct pressure {
  std::uint64_t missed_deadlines = 0;  // Since the policy last looked.
  std::uint64_t open_obligations = 0;
  std::uint64_t closing_regions = 0;
};

/// Sets the suggestion from pressure; a pure function, so that a replay decides the same. A suggestion is taken up at
/// `enter` and kept until its count is at `leave` or below, so that it does not flutter.
struct pressure_policy {
  bool is_on = false;
  std::uint32_t every = 64;  // Dispatches between two looks.
  std::uint64_t missed_deadlines_enter = 1, missed_deadlines_leave = 0;
  std::uint64_t closing_regions_enter = 4, closing_regions_leave = 0;
  std::uint64_t open_obligations_enter = 1024, open_obligations_leave = 512;

  /// Deadlines outrank regions, regions outrank obligations: what is late is lost, and a closing region holds the rest.
  [[nodiscard]] constexpr governor suggest(const pressure& now, governor current) const noexcept {
    const auto weighs = [current](governor g, std::uint64_t count, std::uint64_t enter, std::uint64_t leave) {
      return current == g ? count > leave : count >= enter && count > leave;
    };
    if (weighs(governor::meet_deadlines, now.missed_deadlines, missed_deadlines_enter, missed_deadlines_leave)) {
      return governor::meet_deadlines;
    }
    if (weighs(governor::drain_regions, now.closing_regions, closing_regions_enter, closing_regions_leave)) {
      return governor::drain_regions;
    }
    if (weighs(governor::drain_obligations, now.open_obligations, open_obligations_enter, open_obligations_leave)) {
      return governor::drain_obligations;
    }
    return governor::no_preference;
  }
};

}  // namespace asx
