#include "asx/journal/detail/schedule_rules.hpp"

#include <algorithm>

namespace asx::detail {
namespace {

using enum step_choice;

std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
  return a != 0 && b > (no_bound - 1) / a ? no_bound - 1 : a * b;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept {
  return b > no_bound - 1 - a ? no_bound - 1 : a + b;
}

}  // namespace

std::string_view name(step_choice choice) noexcept {
  switch (choice) {
    case cancel: return "the cancel lane";
    case timed: return "the timed lane";
    case ready: return "the ready lane";
    case fallback: return "fallback cancel";
    case stall: return "a stall poll";
    case theft: return "a theft";
    default: return "nothing";
  }
}

void schedule_worker::run(lane_code source, const schedule_setup& setup) noexcept {
  switch (source) {
    case lane_code::cancel:
    case lane_code::fallback:
      ++cancel_streak;
      if (timed_streak_full(setup)) {  // whatever the reason, cancel has had its turn.
        cancel_had_turn = true;
        cancel_turn_at = timed_streak;
      }
      break;
    case lane_code::timed:
      cancel_streak = 0;
      ++timed_streak;
      break;
    case lane_code::ready: park(); break;
    default: break;
  }
}

step_choice prescribed(const schedule_worker& w, bool others_have_ready, const schedule_setup& setup,
                       governor_code governor) noexcept {
  const bool cancel_waits = w.has(lane_code::cancel), timed_waits = w.has(lane_code::timed);
  const bool ready_waits = w.has(lane_code::ready);
  const bool cancel_open = cancel_waits && w.cancel_streak < setup.cancel_limit_under(governor);
  const bool full = w.timed_streak_full(setup);
  if (governor == governor_code::meet_deadlines) {
    if (full && cancel_open && w.cancel_may_have_turn(setup)) return cancel;
    if (full && ready_waits) return ready;
    if (timed_waits) return timed;
    if (cancel_open) return cancel;
  } else {
    if (cancel_open) return cancel;
    if (timed_waits && !(full && ready_waits)) return timed;
  }
  if (ready_waits) return ready;
  if (others_have_ready) return theft;
  return cancel_waits ? fallback : nothing;
}

std::string_view rule_broken(step_choice wanted, step_choice found, const schedule_worker& w,
                             const schedule_setup& setup, governor_code governor) noexcept {
  const bool meets = governor == governor_code::meet_deadlines;
  const bool full = w.timed_streak_full(setup);
  if (found == theft) return "R-101";                           // A step steals when it finds nothing of its own.
  if (wanted == theft) return "R-163";                          // Stealing comes before fallback cancel.
  if (found == fallback || wanted == fallback) return "R-102";  // cancel and fallback, told apart by the streak.
  if (found == cancel) {
    if (w.cancel_streak >= setup.cancel_limit_under(governor)) return "R-102";
    return !full ? "R-107" : wanted == timed ? "R-204" : "R-162";
  }
  if (wanted == cancel) {
    if (!meets) return "INV-SC-01";
    return !full ? "R-107" : w.cancel_had_turn ? "R-204" : "R-162";
  }
  if (wanted == ready) return meets ? "R-162" : "R-106";  // Timed was taken although its streak is full.
  return meets ? "R-107" : "INV-SC-01";                   // Ready was taken before timed.
}

std::uint64_t wait_bound(const wait_account& a, std::uint64_t timed_limit) noexcept {
  const std::uint64_t turns = plus(a.same_lane, 1);
  const std::uint64_t with_cancels = plus(a.limit_max, 1);  // A dispatch, and the cancels that may come before it.
  // Under meet_deadlines alone a full timed streak lets one cancel through, not a streak of them.
  const std::uint64_t with_turn = a.only_deadlines ? std::min<std::uint64_t>(with_cancels, 2) : with_cancels;
  switch (a.lane) {
    case lane_code::ready:
      if (timed_limit == 0) return times(plus(turns, a.timed), with_cancels);
      return times(turns, plus(times(timed_limit, with_cancels), with_turn));
    case lane_code::timed: {
      if (timed_limit == 0) return times(turns, a.only_deadlines ? 1 : with_cancels);
      const std::uint64_t ready_turns = plus(a.same_lane / timed_limit, 1);
      if (a.only_deadlines) return plus(turns, times(ready_turns, with_turn));
      return times(plus(turns, ready_turns), with_cancels);
    }
    default:
      if (a.limit_min == 0) return no_bound;  // Cancels run only when nothing else can.
      if (a.met_deadlines && timed_limit != 0) return times(turns, plus(times(2, timed_limit), 1));
      return plus(plus(plus(turns, 1), a.same_lane / a.limit_min), a.met_deadlines ? a.timed : 0);
  }
}

}  // namespace asx::detail
