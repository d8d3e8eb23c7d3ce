// asx/journal/detail/schedule_rules.hpp - the rules of the scheduler as a judge needs them: who is next, and how late.
//
// Written from the rulings and not from the scheduler, whose journals are judged with it.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "asx/journal/event_kind.hpp"

namespace asx::detail {

inline constexpr std::uint64_t no_bound = UINT64_MAX;

/// scheduler_configured and runtime_started; these values hold when they are absent.
struct schedule_setup {
  std::uint64_t cancel_limit = 16;
  std::uint64_t timed_limit = 64;  // 0: off.
  std::uint64_t seed = 0;
  std::uint64_t workers = 1;
  bool random_ties = false;

  /// The effective limit of the cancel streak.
  [[nodiscard]] constexpr std::uint64_t cancel_limit_under(governor_code g) const noexcept {
    const bool drains = g == governor_code::drain_obligations || g == governor_code::drain_regions;
    return drains ? 2 * cancel_limit : cancel_limit;
  }
};

/// A stream of, written anew: equal code would have equal mistakes.
class draw_stream {
 public:
  draw_stream() noexcept = default;
  draw_stream(std::uint64_t seed, std::uint64_t worker, std::uint64_t stream) noexcept
      : state_(mix((seed ^ worker ^ (stream << 32)) + step)) {}
  [[nodiscard]] std::uint64_t next() noexcept { return mix(state_ += step); }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15U;
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_ = 0;
};

/// The place of an entry in its lane: the smallest is dispatched first, the largest is stolen.
struct lane_key {
  std::uint64_t rank = 0;  // 255 - priority; in the timed lane the deadline.
  std::uint64_t insertion = 0;
  std::uint64_t task = 0;
  friend constexpr auto operator<=>(const lane_key&, const lane_key&) noexcept = default;
};

/// Dispatches of a worker by the lane that they were taken from; a theft counts for the thief's ready lane.
struct lane_counts {
  std::uint64_t all = 0;
  std::array<std::uint64_t, 3> of{};
};

struct queued_task {
  std::uint64_t task = 0;
  lane_code lane = lane_code::ready;
  std::uint8_t priority = 0;
  std::uint16_t worker = 0;
  std::uint64_t deadline = 0;  // 0 in the cancel and ready lanes, whose keys hold none.
  bool deadline_known = true;
  std::uint64_t insertion = 0;
  std::uint64_t queued_by = 0;  // The event, which the dispatch names as its cause.
  lane_counts before;           // What its worker had dispatched by then.

  [[nodiscard]] lane_key key() const noexcept {
    if (lane != lane_code::timed) return {255U - priority, insertion, task};
    return {deadline_known ? deadline : UINT64_MAX, insertion, task};
  }
};

struct schedule_worker {
  std::array<std::set<lane_key>, 3> lanes;
  std::uint64_t next_insertion = 1;  // 0 when it is not known.
  std::uint64_t cancel_streak = 0;
  std::uint64_t timed_streak = 0;
  bool cancel_had_turn = false;      // since the timed streak became full.
  std::uint64_t cancel_turn_at = 0;  // The timed streak when it had it.
  bool idle = false;                 // Since its last dispatch.
  draw_stream ties;
  bool ties_known = true;
  lane_counts counts;
  // The number of the last dispatch of this worker that was made under each kind of suggestion.
  std::uint64_t last_plain = 0, last_meet = 0, last_drain = 0;

  [[nodiscard]] std::set<lane_key>& lane(lane_code l) noexcept { return lanes[static_cast<std::size_t>(l)]; }
  [[nodiscard]] bool has(lane_code l) const noexcept { return !lanes[static_cast<std::size_t>(l)].empty(); }
  [[nodiscard]] bool has_any() const noexcept {
    return has(lane_code::cancel) || has(lane_code::timed) || has(lane_code::ready);
  }
  [[nodiscard]] bool timed_streak_full(const schedule_setup& setup) const noexcept {
    return setup.timed_limit != 0 && timed_streak >= setup.timed_limit;
  }
  /// under a full timed streak.
  [[nodiscard]] bool cancel_may_have_turn(const schedule_setup& setup) const noexcept {
    return !cancel_had_turn || timed_streak - cancel_turn_at >= setup.timed_limit;
  }
  void park() noexcept {
    cancel_streak = timed_streak = 0;
    cancel_had_turn = false;
  }
  /// Moves the streaks by a dispatch from cancel, timed, ready or fallback.
  void run(lane_code source, const schedule_setup& setup) noexcept;
};

/// What a step can do. The first five are the sources that a dispatch records; a theft is recorded as ready.
enum class step_choice : std::uint8_t { cancel, timed, ready, fallback, stall, theft, nothing };
[[nodiscard]] std::string_view name(step_choice choice) noexcept;

/// What the rules prescribe for the next step of a worker.
[[nodiscard]] step_choice prescribed(const schedule_worker& worker, bool others_have_ready, const schedule_setup& setup,
                                     governor_code governor) noexcept;
/// The rule that a step broke which did `found` where `wanted` was prescribed.
[[nodiscard]] std::string_view rule_broken(step_choice wanted, step_choice found, const schedule_worker& worker,
                                           const schedule_setup& setup, governor_code governor) noexcept;

/// What went by while an entry waited.
struct wait_account {
  lane_code lane = lane_code::ready;
  std::uint64_t same_lane = 0;  // Dispatches from its own lane, ahead of it.
  std::uint64_t timed = 0;      // Dispatches from the timed lane.
  std::uint64_t limit_min = 0;  // The smallest and the largest effective cancel limit in force.
  std::uint64_t limit_max = 0;
  bool met_deadlines = false;   // meet_deadlines was in force at one of the dispatches,
  bool only_deadlines = false;  // or at all of them.
};
/// The latest dispatch, counted from the insertion, that can be the entry's own; no_bound when nothing is promised.
/// docs/spec/scheduler.md derives it.
[[nodiscard]] std::uint64_t wait_bound(const wait_account& account, std::uint64_t timed_limit) noexcept;

}  // namespace asx::detail
