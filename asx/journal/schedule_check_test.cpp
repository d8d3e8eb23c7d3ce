// Tests of the judge of schedules: asx/journal/schedule_check.hpp. Every schedule here was written from the rulings by
// hand and is legal; the tests beside it have those that are not.
#include "asx/journal/schedule_check.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/journal/testing/schedule_script.hpp"
#include "asx/model/cancel_kind.hpp"

namespace asx {
namespace {

using testing::schedule_script;
using enum governor_code;

constexpr std::uint64_t hour = 3'600'000'000'000;
constexpr std::array<std::uint16_t, 2> two_workers{0, 1};
constexpr std::array<std::uint16_t, 3> three_workers{0, 1, 2};

schedule_verdict accept(const schedule_script& s) {
  schedule_verdict v = check_schedule(s.events);
  EXPECT_TRUE(v.accepted()) << explain(v);
  EXPECT_TRUE(v.unknown.empty()) << explain(v);
  EXPECT_EQ(v.unchecked, 0U);
  EXPECT_TRUE(v.certificate_known);
  return v;
}

/// cancel, timed, ready, fallback, above base, above effective, largest limit.
recomputed_certificate counters(const std::array<std::uint64_t, 7>& n) {
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
}

void forty_cancels_and_two_ready(schedule_script& s) {
  for (std::uint64_t task = 1; task <= 40; ++task) s.cancel(task);
  s.ready(41);
  s.ready(42);
}

// ---- the cancel streak -------------------------------------------------------------------------------

TEST(schedule_check, sixteen_cancels_then_one_other_dispatch) {
  schedule_script s;
  forty_cancels_and_two_ready(s);
  s.each(lane_code::cancel, 1, 16);
  s.r(41);
  s.each(lane_code::cancel, 17, 32);
  s.r(42);
  s.each(lane_code::cancel, 33, 40);
  const schedule_verdict v = accept(s);
  EXPECT_EQ(v.certificate, counters({40, 0, 2, 0, 0, 0, 16}));
  EXPECT_EQ(v.dispatches, 42U);
  EXPECT_EQ(v.waits_of(lane_code::cancel).longest, 42U);
  EXPECT_EQ(v.waits_of(lane_code::ready).longest, 34U);
}

TEST(schedule_check, draining_doubles_the_cancel_streak) {
  schedule_script s;
  forty_cancels_and_two_ready(s);
  s.govern(drain_obligations, no_preference);
  s.each(lane_code::cancel, 1, 32);
  s.r(41);
  s.each(lane_code::cancel, 33, 40);
  s.r(42);
  EXPECT_EQ(accept(s).certificate, counters({40, 0, 2, 0, 16, 0, 32}));
}

TEST(schedule_check, a_doubled_limit_applies_to_the_running_streak_and_so_does_a_halved_one) {
  schedule_script s;
  forty_cancels_and_two_ready(s);
  s.each(lane_code::cancel, 1, 10);
  s.govern(drain_regions, no_preference);
  s.each(lane_code::cancel, 11, 30);
  s.govern(no_preference, drain_regions);  // 30 in a row are too many now.
  s.r(41);
  s.c(31);
  EXPECT_EQ(accept(s).certificate, counters({31, 0, 1, 0, 14, 0, 32}));
}

TEST(schedule_check, a_suggestion_that_is_taken_back_at_once_was_never_in_force) {
  schedule_script s;
  s.ready(1);
  s.govern(drain_regions, no_preference);
  s.govern(no_preference, drain_regions);
  s.r(1);
  EXPECT_EQ(accept(s).certificate, counters({0, 0, 1, 0, 0, 0, 16}));
}

TEST(schedule_check, cancels_alone_go_on_by_fallback_and_the_streak_counts_on) {
  schedule_script s;
  for (std::uint64_t task = 1; task <= 20; ++task) s.cancel(task);
  s.each(lane_code::cancel, 1, 16);
  s.f(17);
  s.f(18);
  s.ready(21);
  s.r(21);  // 18 in a row: ready at once.
  s.c(19);
  s.c(20);
  EXPECT_EQ(accept(s).certificate, counters({18, 0, 1, 2, 2, 2, 16}));
}

TEST(schedule_check, a_park_ends_both_streaks) {
  schedule_script s;
  s.configure(2, 2);
  for (std::uint64_t task : {1U, 2U, 3U, 4U}) s.cancel(task);
  s.c(1);
  s.c(2);
  s.f(3);
  s.f(4);
  s.idle();
  s.cancel(5);
  s.ready(6);
  s.c(5);
  s.r(6);
  EXPECT_EQ(accept(s).certificate, counters({3, 0, 1, 2, 2, 2, 2}));
}

TEST(schedule_check, a_limit_of_0_leaves_cancels_to_the_fallback) {
  schedule_script s;
  s.configure(0, 64);
  s.cancel(1);
  s.ready(2);
  s.r(2);
  s.f(1);
  EXPECT_EQ(accept(s).certificate, counters({0, 0, 1, 1, 1, 1, 0}));
}

// ---- the timed streak --------------------------------------------------------------------------------

TEST(schedule_check, ready_runs_as_dispatch_65_of_an_endless_timed_yielder) {
  schedule_script s;
  s.until(1, hour);
  s.timed(1);
  s.ready(2);
  s.t_yields(1, 64);
  s.r(2);
  s.t(1);
  const schedule_verdict v = accept(s);
  EXPECT_EQ(v.certificate, counters({0, 65, 1, 0, 0, 0, 16}));
  EXPECT_EQ(v.waits_of(lane_code::ready).worst_wait, 65U);
  EXPECT_EQ(v.waits_of(lane_code::ready).worst_bound, 65U * 17U);
}

TEST(schedule_check, a_cancel_does_not_end_the_timed_streak) {
  schedule_script s;
  s.configure(16, 3);
  s.until(1, hour);
  s.timed(1);
  s.ready(2);
  s.t_yields(1, 2);
  s.cancel(3);
  s.c(3);
  s.t_yields(1, 1);
  s.r(2);
  s.t(1);
  EXPECT_EQ(accept(s).certificate, counters({1, 4, 1, 0, 0, 0, 16}));
}

TEST(schedule_check, a_full_timed_streak_counts_on_while_nothing_else_waits) {
  schedule_script s;
  s.configure(16, 3);
  s.until(1, hour);
  s.timed(1);
  s.t_yields(1, 7);
  s.ready(2);
  s.r(2);  // At once: the streak is 7.
  s.t_yields(1, 3);
  (void)accept(s);
}

TEST(schedule_check, without_a_limit_timed_work_goes_on) {
  schedule_script s;
  s.configure(16, 0);
  s.until(1, hour);
  s.timed(1);
  s.ready(2);
  s.t_yields(1, 200);
  s.t(1);
  s.r(2);
  EXPECT_EQ(accept(s).waits_of(lane_code::ready).longest, 202U);
}

TEST(schedule_check, with_both_streaks_full_ready_is_next) {
  schedule_script s;
  s.configure(2, 2);
  s.until(1, hour);
  s.timed(1);
  s.t_yields(1, 2);
  for (std::uint64_t task : {3U, 4U, 5U}) s.cancel(task);
  s.ready(2);
  s.c(3);
  s.c(4);
  s.r(2);
  s.c(5);
  s.t(1);
  (void)accept(s);
}

// ---- meet_deadlines ---------------------------------------------------------------------------

TEST(schedule_check, meet_deadlines_puts_timed_first_from_the_next_dispatch_on) {
  schedule_script s;
  s.until(1, hour);
  s.until(2, hour);
  s.timed(1);
  s.timed(2);
  s.cancel(3);
  s.cancel(4);
  s.ready(5);
  s.c(3);
  s.govern(meet_deadlines, no_preference);
  s.t(1);
  s.t(2);
  s.c(4);
  s.r(5);
  EXPECT_EQ(accept(s).certificate, counters({2, 2, 1, 0, 0, 0, 16}));
}

TEST(schedule_check, a_full_timed_streak_is_followed_by_one_cancel_then_one_ready) {
  schedule_script s;
  s.configure(16, 3);
  s.govern(meet_deadlines, no_preference);
  s.until(1, hour);
  s.timed(1);
  s.cancel(2);
  s.cancel(3);
  s.ready(4);
  s.ready(5);
  for (std::uint64_t round : {0U, 1U}) {
    s.t_yields(1, 3);
    s.c(2 + round);
    s.r(4 + round);
  }
  s.t(1);
  (void)accept(s);
}

TEST(schedule_check, without_ready_work_two_cancels_are_parted_by_the_limit) {
  schedule_script s;
  s.configure(16, 3);
  s.govern(meet_deadlines, no_preference);
  s.until(1, hour);
  s.timed(1);
  for (std::uint64_t task : {2U, 3U, 4U}) s.cancel(task);
  for (std::uint64_t task : {2U, 3U, 4U}) {
    s.t_yields(1, 3);
    s.c(task);
  }
  const schedule_verdict v = accept(s);
  EXPECT_EQ(v.waits_of(lane_code::cancel).longest, 12U);
}

TEST(schedule_check, a_late_cancel_has_its_turn_at_once_and_the_next_one_a_limit_later) {
  schedule_script s;
  s.configure(16, 3);
  s.govern(meet_deadlines, no_preference);
  s.until(1, hour);
  s.timed(1);
  s.t_yields(1, 5);
  s.cancel(2);
  s.cancel(3);
  s.c(2);
  s.t_yields(1, 3);
  s.c(3);
  (void)accept(s);
}

TEST(schedule_check, a_cancel_can_wait_for_two_streaks_and_no_longer) {
  schedule_script s;
  s.configure(16, 3);
  s.govern(meet_deadlines, no_preference);
  s.until(1, hour);
  s.timed(1);
  s.cancel(2);
  s.t_yields(1, 3);
  s.c(2);
  s.cancel(3);  // Just after cancel's turn.
  s.t_yields(1, 2);
  s.ready(4);  // Just before it comes back: ready takes its own, and the streak starts anew.
  s.r(4);
  s.t_yields(1, 3);
  s.c(3);
  const lane_waits w = accept(s).waits_of(lane_code::cancel);
  EXPECT_EQ(w.worst_wait, 7U);  // 2 * 3 + 1
  EXPECT_EQ(w.worst_bound, 7U);
  EXPECT_EQ(w.worst_ratio(), 1.0);
}

TEST(schedule_check, a_cancel_under_another_suggestion_takes_the_turn_too) {
  schedule_script s;
  s.configure(16, 3);
  s.until(1, hour);
  s.timed(1);
  s.t_yields(1, 3);
  s.cancel(2);
  s.cancel(3);
  s.c(2);  // no_preference: the cancel lane is first, and the timed streak is full.
  s.govern(meet_deadlines, no_preference);
  s.t_yields(1, 3);
  s.c(3);
  (void)accept(s);
}

TEST(schedule_check, stall_polls_wait_for_no_timer_once_the_root_is_told_to_shut_down) {
  for (const bool is_strengthened : {false, true}) {
    schedule_script s;
    s.until(1, hour);
    s.timer(event_kind::timer_registered, 1, hour, 1);
    event& told = s.put(is_strengthened ? event_kind::region_reason_strengthened : event_kind::region_closing);
    told.subject = 1;
    (is_strengthened ? told.a : told.b) = static_cast<std::uint64_t>(cancel_kind::shutdown);
    s.s(2);
    (void)accept(s);
  }
}

TEST(schedule_check, stall_polls_wait_for_timers_while_only_a_branch_shuts_down) {
  schedule_script s;
  s.timer(event_kind::timer_registered, 1, hour, 1);
  event& told = s.put(event_kind::region_closing);
  told.subject = 2;
  told.object = 1;
  told.b = static_cast<std::uint64_t>(cancel_kind::shutdown);
  s.s(2);
  EXPECT_EQ(check_schedule(s.events).violation_count, 1U);
}

TEST(schedule_check, a_passed_deadline_keeps_its_lane_until_the_cancel_finds_room) {
  schedule_script s;
  s.until(1, 50);
  s.now = 50;
  s.deadline_event(event_kind::deadline_passed, 1);
  s.put(event_kind::cancel_deferred).subject = 1;
  s.timed(1);
  s.t(1);
  s.put(event_kind::cancel_requested).subject = 1;
  s.cancel(1);
  s.c(1);
  (void)accept(s);
}

TEST(schedule_check, with_its_turn_taken_cancel_goes_on_when_nothing_timed_or_ready_waits) {
  schedule_script s;
  s.configure(2, 2);
  s.govern(meet_deadlines, no_preference);
  s.until(1, hour);
  s.timed(1);
  s.t_yields(1, 1);
  s.t(1);
  for (std::uint64_t task : {2U, 3U, 4U}) s.cancel(task);
  s.c(2);
  s.c(3);
  s.f(4);
  (void)accept(s);
}

// ---- order inside lanes, moves between them ------------------------------------------------------------------------

TEST(schedule_check, higher_priority_first_then_first_come_first_served) {
  schedule_script s;
  s.ready(1, 100);
  s.ready(2, 200);
  s.ready(3, 100);
  s.ready(4, 200);
  for (std::uint64_t task : {2U, 4U, 1U, 3U}) s.r(task);
  s.cancel(5, 200);
  s.cancel(6, 220);
  s.c(6);
  s.c(5);
  (void)accept(s);
}

TEST(schedule_check, earliest_deadline_first_then_first_come_first_served) {
  schedule_script s;
  s.until(1, 3 * hour);
  s.until(2, hour);
  s.until(3, hour);
  s.timed(1);
  s.timed(3);
  s.timed(2);
  for (std::uint64_t task : {3U, 2U, 1U}) s.t(task);
  (void)accept(s);
}

TEST(schedule_check, two_yielding_tasks_alternate) {
  schedule_script s;
  s.ready(1);
  s.ready(2);
  for (int i = 0; i < 10; ++i) {
    for (std::uint64_t task : {1U, 2U}) {
      s.r(task);
      s.ready(task);
    }
  }
  (void)accept(s);
}

TEST(schedule_check, a_cancelled_task_moves_and_a_stronger_reason_moves_it_again) {
  schedule_script s;
  s.until(2, hour);
  s.ready(1);
  s.timed(2);
  s.ready(3);
  s.requeue(1, lane_code::cancel, 200);
  s.deadline_event(event_kind::deadline_dropped, 2);
  s.requeue(2, lane_code::cancel, 200);
  s.requeue(1, lane_code::cancel, 220);
  s.dequeue(3);
  s.c(1);
  s.c(2);
  s.requeue(1, lane_code::cancel, 220);  // It was cancelled again while it was polled.
  s.c(1);
  (void)accept(s);
}

// ---- timers, deadlines, time ---------------------------------------------------------------------------------------

TEST(schedule_check, what_is_due_comes_before_dispatches) {
  schedule_script s;
  s.until(1, 100);
  s.timed(1);
  s.t(1);
  s.timer(event_kind::timer_registered, 1, 50, 1);
  s.timer(event_kind::timer_registered, 2, 50, 2);
  s.timer(event_kind::timer_registered, 3, 40, 3);
  s.timer(event_kind::timer_registered, 4, 60, 4);
  s.timer(event_kind::timer_cancelled, 4, 60, 4);
  s.timer(event_kind::timer_registered, 5, 70, 5);
  s.timer(event_kind::timer_updated, 6, 500, 5);
  s.now = 100;
  event& clock = s.put(event_kind::input_time);
  clock.a = 100;
  s.timer(event_kind::timer_fired, 3, 40, 3);
  s.timer(event_kind::timer_fired, 1, 50, 1);
  s.timer(event_kind::timer_fired, 2, 50, 2);
  s.deadline_event(event_kind::deadline_passed, 1);
  s.ready(9);
  s.cancel(1);
  s.c(1);
  s.r(9);
  s.now = 500;
  s.timer(event_kind::timer_fired, 6, 500, 6);
  (void)accept(s);
}

TEST(schedule_check, coalesced_timers_may_fire_early) {
  schedule_script s;
  s.timer(event_kind::timer_registered, 1, 50, 1);
  s.timer(event_kind::timer_registered, 2, 90, 2);
  s.now = 60;
  s.timer(event_kind::timers_coalesced, 0, 2, 100);
  s.timer(event_kind::timer_fired, 1, 50, 1);
  s.timer(event_kind::timer_fired, 2, 90, 2);
  (void)accept(s);
}

// ---- workers, thefts, stalls ---------------------------------------------------------------------------------------

TEST(schedule_check, numbers_and_streaks_belong_to_a_worker) {
  schedule_script s;
  s.start(7, 2);
  s.configure(1, 64);
  for (const std::uint16_t w : two_workers) {
    s.cancel(1U + w, 128, w);
    s.cancel(3U + w, 128, w);
    s.ready(5U + w, 128, w);
  }
  for (std::uint64_t task : {1U, 2U}) s.c(task);
  for (std::uint64_t task : {5U, 6U}) s.r(task);
  for (std::uint64_t task : {3U, 4U}) s.c(task);
  s.idle(0);
  s.idle(1);
  EXPECT_EQ(accept(s).certificate, counters({4, 0, 2, 0, 0, 0, 1}));
}

TEST(schedule_check, a_thief_takes_the_last_ranked_ready_entry_of_the_first_victim_that_has_one) {
  schedule_script s;
  s.start(7, 3);
  s.ready(1, 128, 2);
  s.ready(2, 128, 2);
  s.ready(3, 100, 2);
  s.ready(4, 128, 2);
  s.until(9, hour);
  s.timed(9, 0);
  s.steal(3, 1, 0, 2);  // Victims of worker 1 are 0 and 2; 0 has only timed work.
  s.run(3, lane_code::ready, 1);
  s.steal(4, 1, 1, 1);
  s.run(4, lane_code::ready, 1);
  s.r(1);
  s.t(9);
  s.steal(2, 0, 1, 1);
  s.run(2, lane_code::ready, 0);
  for (const std::uint16_t w : three_workers) s.idle(w);
  const schedule_verdict v = accept(s);
  EXPECT_EQ(v.certificate, counters({0, 1, 4, 0, 0, 0, 16}));
  EXPECT_EQ(v.waits_of(lane_code::ready).longest, 2U);
}

TEST(schedule_check, stealing_comes_before_fallback_and_ends_the_streaks) {
  schedule_script s;
  s.start(7, 2);
  s.configure(2, 64);
  for (std::uint64_t task : {1U, 2U, 3U, 4U, 5U}) s.cancel(task);
  s.ready(6, 128, 1);
  s.c(1);
  s.c(2);
  s.steal(6, 0, 0, 1);
  s.run(6, lane_code::ready, 0);
  s.c(3);
  s.c(4);
  s.f(5);
  EXPECT_EQ(accept(s).certificate, counters({4, 0, 1, 1, 1, 1, 2}));
}

TEST(schedule_check, a_stall_poll_counts_as_fallback_and_exceeds_nothing) {
  schedule_script s;
  s.cancel(1);
  s.c(1);
  s.idle();
  s.s(1);
  s.s(1);
  s.idle();
  EXPECT_EQ(accept(s).certificate, counters({1, 0, 0, 2, 0, 0, 16}));
}

// ---- draws ---------------------------------------------------------------------------------------------------------

TEST(schedule_check, ties_are_broken_by_the_seed) {
  schedule_script s;
  s.start(7, 1);
  s.configure(16, 64, true);
  for (std::uint64_t task : {1U, 2U, 3U, 4U}) s.ready(task);
  s.ready(5, 200);
  s.r(5);  // One candidate: no draw.
  // Stream 0 of seed 7 and worker 0 gives numbers whose remainders are 1 of 4, 2 of 3 and 1 of 2.
  s.tie(4, 1);
  s.r(2);
  s.tie(3, 2);
  s.r(4);
  s.tie(2, 1);
  s.r(3);
  s.r(1);
  (void)accept(s);
}

TEST(schedule_check, the_order_of_workers_is_drawn_from_the_seed) {
  schedule_script s;
  s.start(7, 3);
  for (const std::uint16_t w : three_workers) s.ready(1U + w, 128, w);
  for (const std::uint64_t drawn : {1U, 2U, 1U, 0U}) {  // Stream 2 of seed 7, modulo 3.
    event& e = s.put(event_kind::worker_chosen);
    e.subject = drawn;
    e.a = 3;
    if (s.seq() == 5 || s.seq() == 7) s.r(1 + drawn);
  }
  s.r(1);
  (void)accept(s);
}

// ---- certificates, and what else a journal says --------------------------------------------------------------------

TEST(schedule_check, certificates_are_recomputed) {
  schedule_script s;
  s.govern(drain_regions, no_preference);
  s.cancel(1);
  s.ready(2);
  s.c(1);
  s.r(2);
  event& first = s.put(event_kind::certificate_issued);
  first.a = hash_fields(std::array<std::uint64_t, 7>{1, 0, 1, 0, 0, 0, 32});
  first.b = 2;
  s.put(event_kind::certificate_reset);
  s.govern(no_preference, drain_regions);
  event& second = s.put(event_kind::certificate_issued);
  second.a = hash_fields(std::array<std::uint64_t, 7>{0, 0, 0, 0, 0, 0, 16});
  s.ready(2);
  s.r(2);
  event& third = s.put(event_kind::certificate_issued);
  third.a = hash_fields(std::array<std::uint64_t, 7>{0, 0, 1, 0, 0, 0, 16});
  third.b = 1;
  const schedule_verdict v = accept(s);
  EXPECT_EQ(v.certificates_checked, 3U);
  EXPECT_EQ(v.certificate.hash(), third.a);
}

TEST(schedule_check, limits_that_were_met_may_be_told) {
  schedule_script s;
  s.configure(1, 1);
  s.until(1, hour);
  s.cancel(2);
  s.cancel(3);
  s.timed(1);
  s.ready(4);
  s.c(2);
  event& cancel_back = s.put(event_kind::streak_limited);
  cancel_back.b = 1;
  s.t_yields(1, 1);
  s.c(3);
  event& timed_back = s.put(event_kind::streak_limited);
  timed_back.a = 1;
  timed_back.b = 1;
  s.r(4);
  (void)accept(s);
}

TEST(schedule_check, an_empty_journal_is_a_legal_one) {
  const schedule_verdict v = accept({});
  EXPECT_EQ(v.dispatches, 0U);
  EXPECT_EQ(v.certificate.hash(), hash_fields(std::array<std::uint64_t, 7>{0, 0, 0, 0, 0, 0, 16}));
}

TEST(schedule_check, diagnostics_change_nothing) {
  schedule_script s;
  s.ready(1);
  s.r(1);
  std::vector<event> events;
  for (const event& e : s.events) {
    events.push_back({.seq = e.seq - 1, .time_ns = 999, .kind = event_kind::steal_missed});
    events.push_back(e);
  }
  EXPECT_TRUE(check_schedule(events).accepted());
}

}  // namespace
}  // namespace asx
