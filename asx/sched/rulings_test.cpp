// asx/sched/rulings_test.cpp - the exact runs that the scheduler's rulings name, with their certificates.
//
// Every expected counter is worked out by hand beside it. A run is a text: c, t and r are lanes, f is a fallback
// cancel, s a theft; see testing/stage.hpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/sched/scheduler.hpp"
#include "asx/sched/testing/stage.hpp"

namespace {

using asx::dispatch;
using asx::dispatch_source;
using asx::duration;
using asx::governor;
using asx::instant;
using asx::lane;
using asx::sched_config;
using asx::status;
using asx::testing::stage;

using tasks = stage::tasks;

sched_config with_limits(std::uint32_t cancel, std::uint32_t timed) {
  sched_config config;
  config.cancel_streak_limit = cancel;
  config.timed_streak_limit = timed;
  return config;
}

sched_config with_workers(std::uint32_t workers, std::uint64_t seed = 0) {
  sched_config config;
  config.workers = workers;
  config.seed = seed;
  return config;
}

// two tasks that yield alternate, whichever id is lower.
TEST(scheduler_rulings, two_yielding_tasks_alternate) {
  for (const lane l : {lane::ready, lane::timed}) {
    stage s;
    s.push(2, l);
    s.push(1, l);
    s.run_yielding(20);
    tasks expected;
    for (int i = 0; i < 10; ++i) expected.insert(expected.end(), {2, 1});
    EXPECT_EQ(s.dispatched(), expected);
  }
}

// a higher priority is more urgent, a lower deadline is.
TEST(scheduler_rulings, priority_220_goes_before_200) {
  for (const lane l : {lane::cancel, lane::ready}) {
    stage s;
    s.push(1, l, 200);
    s.push(2, l, 220);
    s.push(3, l, 0);
    s.push(4, l, 255);
    EXPECT_EQ(s.run_tasks(), (tasks{4, 2, 1, 3}));
  }
}

// no fast path overtakes the order of the lane.
TEST(scheduler_rulings, what_is_injected_last_is_not_first_unless_its_priority_is) {
  stage s;
  s.push(1, lane::ready, 10);
  s.push(2, lane::ready, 20);
  s.push(3, lane::ready, 10);
  EXPECT_EQ(s.run_tasks(), (tasks{2, 1, 3}));
}

// three workers, seed 42. Stream 1 draws modulo 2: worker 0: 0 0 0 0 0 1; worker 1: 0 1 0 1 0 1;
// worker 2: 1 0 0 0 1 1. Victims of 0: {1, 2}; of 1: {0, 2}; of 2: {0, 1}.
TEST(scheduler_rulings, three_workers_scan_in_an_order_fixed_by_the_seed) {
  struct scan {
    std::uint32_t thief, start, first_victim;
  };
  const std::vector<scan> expected = {{0, 0, 1}, {1, 0, 0}, {2, 1, 1}, {0, 0, 1}, {1, 1, 2}, {2, 0, 0},
                                      {0, 0, 1}, {1, 0, 0}, {2, 0, 0}, {0, 0, 1}, {1, 1, 2}, {2, 0, 0},
                                      {0, 0, 1}, {1, 0, 0}, {2, 1, 1}, {0, 1, 2}, {1, 1, 2}, {2, 1, 1}};
  stage s(with_workers(3, 42));
  for (const scan& e : expected) {
    for (std::uint32_t w = 0; w < 3; ++w) {
      if (w != e.thief) s.push(w + 1, lane::ready, 7, w);
    }
    const dispatch d = s.next(e.thief);
    ASSERT_NE(d.who, nullptr);
    EXPECT_EQ(d.scan_start, e.start);
    EXPECT_EQ(d.scanned, 1U) << "the first that is looked at has something";
    EXPECT_EQ(d.victim, e.first_victim);
    EXPECT_EQ(stage::task_of(d), e.first_victim + 1);
    for (std::uint64_t number = 1; number <= 3; ++number) s->remove(s.task(number));
  }
  // Nothing anywhere: each scan still walks the whole circle. The seventh draw of worker 0 is 0.
  const dispatch nothing = s.next(0);
  EXPECT_EQ(nothing.who, nullptr);
  EXPECT_EQ(nothing.scan_start, 0U);
  EXPECT_EQ(nothing.scanned, 2U);
  EXPECT_EQ(nothing.victim, asx::no_worker);
  EXPECT_TRUE(nothing.went_idle);
  s.expect_certificate({0, 0, 18, 0, 0, 0, 16});

  stage alone;  // No victims: none, without a scan.
  EXPECT_EQ(alone.next().scanned, 0U);
}

//
TEST(scheduler_rulings, forty_cancels_and_two_ready_ones) {
  stage s;
  s.push_many(40, lane::cancel);
  s.push_many(2, lane::ready);
  EXPECT_EQ(s.run(), "c16 r c16 r c8");
  // No streak went above 16: 40 cancels, 2 ready, and no exceedance.
  s.expect_certificate({40, 0, 2, 0, 0, 0, 16});

  stage drain;
  drain->suggest(governor::drain_obligations);
  drain.push_many(40, lane::cancel);
  drain.push_many(2, lane::ready);
  EXPECT_EQ(drain.run(), "c32 r c8 r");
  // Of the first 32, those from the 17th to the 32nd are above the base limit: 16. None is above 32.
  drain.expect_certificate({40, 0, 2, 0, 16, 0, 32});

  stage alone;
  alone->suggest(governor::drain_obligations);
  alone.push_many(40, lane::cancel);
  EXPECT_EQ(alone.run(), "c32 f8");
  // Above 16: the 17th to the 40th, 24. Above 32: the eight fallbacks.
  alone.expect_certificate({32, 0, 0, 8, 24, 8, 32});
}

// a deadline is the latest completion, not the earliest start.
TEST(scheduler_rulings, a_deadline_in_an_hour_runs_at_once_and_before_ready) {
  stage s;
  s.push(1, lane::ready, 255);
  s.push_timed(2, instant{duration::hours(1).ns});
  EXPECT_EQ(s.run_tasks(), (tasks{2, 1}));
}

// an endless timed yielder lets one ready task through after 64 dispatches, and again after 64 more.
TEST(scheduler_rulings, ready_runs_as_dispatch_65) {
  stage s;
  s.push_timed(1, instant{0});
  s.push(2, lane::ready);
  s.push(3, lane::ready);
  EXPECT_EQ(s.run_yielding(64), "t64");
  EXPECT_EQ(s->timed_streak(0), 64U);
  const dispatch sixty_fifth = s.next();
  EXPECT_EQ(sixty_fifth.who, &s.task(2));
  EXPECT_TRUE(sixty_fifth.is_limited);
  EXPECT_EQ(sixty_fifth.limited, lane::timed);
  EXPECT_EQ(s->timed_streak(0), 0U);
  EXPECT_EQ(s.run_yielding(65), "t64 r");
  // 64 + 64 timed, 2 ready.
  s.expect_certificate({0, 128, 2, 0, 0, 0, 16});

  stage off(with_limits(16, 0));
  off.push_timed(1, instant{0});
  off.push(2, lane::ready);
  EXPECT_EQ(off.run_yielding(1000), "t1000");

  stage cancels;  // a cancel does not restart the timed streak.
  cancels.push_timed(1, instant{0});
  cancels.push(2, lane::ready);
  EXPECT_EQ(cancels.run_yielding(63), "t63");
  cancels.push(3, lane::cancel);
  EXPECT_EQ(cancels.run_yielding(3), "c t r");
}

// a change acts on the next dispatch and on the running streak.
TEST(scheduler_rulings, a_suggestion_takes_effect_at_the_next_dispatch) {
  stage s;
  s.push_many(60, lane::cancel);
  s.push_many(2, lane::ready);
  s.push_many(3, lane::timed);
  EXPECT_EQ(s.run(10), "c10");
  s->suggest(governor::drain_regions);
  EXPECT_EQ(s.run(10), "c10");
  EXPECT_EQ(s->cancel_streak(0), 20U);
  s->suggest(governor::no_preference);  // 20 in a row, and the limit is 16 again.
  EXPECT_EQ(s.run(1), "t");
  EXPECT_EQ(s.run(5), "c5");
  s->suggest(governor::meet_deadlines);
  EXPECT_EQ(s.run(4), "t2 c2");
  s->suggest(governor::drain_obligations);
  EXPECT_EQ(s.run(31), "c30 r");  // The two cancels before count: 32.
  EXPECT_EQ(s.run(), "c3 r");
  // Cancels: 20 + 5 + 2 + 30 + 3. Above 16: the 17th to the 20th of the first streak, 4, all while the limit was
  // 32; and the 17th to the 32nd of the third, 16. Nothing above the limit in force.
  s.expect_certificate({60, 3, 2, 0, 20, 0, 32});

  stage lowered;  // A fallback above a limit that came down under it.
  lowered->suggest(governor::drain_regions);
  lowered.push_many(21, lane::cancel);
  EXPECT_EQ(lowered.run(20), "c20");
  lowered->suggest(governor::no_preference);
  EXPECT_EQ(lowered.run(), "f");
  // Above 16: the 17th to the 21st, 5. Above the limit in force: only the 21st.
  lowered.expect_certificate({20, 0, 0, 1, 5, 1, 32});
}

// room is asked for beforehand, and what was admitted never fails.
TEST(scheduler_rulings, places_are_admitted_before_they_are_used) {
  sched_config config;
  config.max_places = 4;
  asx::scheduler refused(config);
  EXPECT_EQ(refused.admit(4), status::ok);
  EXPECT_EQ(refused.admit(5), status::resource_exhausted);
  EXPECT_TRUE(refused.empty());
}

// under MeetDeadlines a full timed streak lets one cancel and then one ready dispatch go first.
TEST(scheduler_rulings, a_full_timed_streak_is_followed_by_one_cancel_and_one_ready) {
  stage s(with_limits(16, 3));
  s->suggest(governor::meet_deadlines);
  s.push_many(3, lane::cancel);
  s.push_many(3, lane::ready);
  s.push_many(20, lane::timed);
  EXPECT_EQ(s.run(3), "t3");
  const dispatch cancel = s.next();
  EXPECT_EQ(cancel.from, dispatch_source::cancel);
  EXPECT_TRUE(cancel.is_limited);
  EXPECT_EQ(cancel.limited, lane::timed);
  const dispatch ready = s.next();
  EXPECT_EQ(ready.from, dispatch_source::ready);
  EXPECT_TRUE(ready.is_limited);
  EXPECT_EQ(ready.limited, lane::timed);
  EXPECT_EQ(s.run(), "t3 c r t3 c r t11");
  EXPECT_EQ(s->timed_streak(0), 0U) << "the last step found nothing (R-206)";
  s.expect_certificate({3, 20, 3, 0, 0, 0, 16});

  stage alone(with_limits(16, 3));  // The streak counts on while nothing else waits; then nobody waits for long.
  alone.push_many(9, lane::timed);
  EXPECT_EQ(alone.run(7), "t7");
  EXPECT_EQ(alone->timed_streak(0), 7U);
  alone.push_many(2, lane::ready);
  EXPECT_EQ(alone.run(), "r t2 r");

  stage no_cancel(with_limits(16, 2));  // Without cancels, ready's turn comes at once.
  no_cancel->suggest(governor::meet_deadlines);
  no_cancel.push_many(2, lane::ready);
  no_cancel.push_many(5, lane::timed);
  EXPECT_EQ(no_cancel.run(), "t2 r t2 r t");
}

// a theft comes before the fallback, and a full streak makes it happen.
TEST(scheduler_rulings, a_theft_comes_before_a_fallback_cancel) {
  sched_config config = with_limits(2, 64);
  config.workers = 2;
  stage s(config);
  s.push_many(6, lane::cancel);
  s.push_many(1, lane::ready, 1);
  EXPECT_EQ(s.run(2), "c2");
  const dispatch theft = s.next();
  EXPECT_EQ(theft.victim, 1U);
  EXPECT_TRUE(theft.is_limited);
  EXPECT_EQ(theft.limited, lane::cancel);
  EXPECT_EQ(s.run(2), "c2");
  const dispatch fallback = s.next();
  EXPECT_EQ(fallback.from, dispatch_source::fallback);
  EXPECT_EQ(fallback.scanned, 1U) << "the scan found nothing";
  EXPECT_FALSE(fallback.is_limited);
  EXPECT_EQ(s.run(), "f");
  // 4 cancels, 1 theft, 2 fallbacks: the 3rd and 4th of the second streak, both above 2.
  s.expect_certificate({4, 0, 1, 2, 2, 2, 2});
}

// a timed dispatch ends a cancel streak as a ready one does.
TEST(scheduler_rulings, every_other_dispatch_restarts_the_cancel_streak) {
  stage s(with_limits(2, 64));
  s.push_many(7, lane::cancel);
  s.push_many(2, lane::timed);
  s.push_many(1, lane::ready);
  EXPECT_EQ(s.run(), "c2 t c2 t c2 r c");
  s.expect_certificate({7, 2, 1, 0, 0, 0, 2});
}

// a task that is queued is not queued again, nor moved.
TEST(scheduler_rulings, injecting_twice_changes_nothing) {
  stage s(with_workers(2));
  s.push(1, lane::ready, 10);
  s.push(2, lane::ready, 10);
  for (const lane l : {lane::cancel, lane::timed, lane::ready}) {
    EXPECT_FALSE(s->push(1, s.task(1), l, 255, instant{0}));
  }
  EXPECT_EQ(s.task(1).queued_in(), lane::ready);
  EXPECT_EQ(s.task(1).priority(), 10);
  EXPECT_EQ(s.task(1).insertion_seq(), 1U);
  EXPECT_EQ(s->depth(0, lane::ready), 2U);
  EXPECT_EQ(s.run_tasks(), (tasks{1, 2}));
}

// R-27, U-13: a cancel moves its task; strengthening moves it only upwards.
TEST(scheduler_rulings, a_cancel_takes_its_task_into_the_cancel_lane) {
  stage s;
  s.push(1, lane::ready, 255);
  s.push_timed(2, instant{7});
  s.push(3, lane::ready);
  EXPECT_TRUE(s->push_cancel(0, s.task(1), 200));
  EXPECT_TRUE(s->push_cancel(0, s.task(2), 200));
  EXPECT_TRUE(s->push_cancel(0, s.task(4), 200));  // It was parked.
  EXPECT_EQ(s->depth(0, lane::cancel), 3U);
  EXPECT_EQ(s->depth(0, lane::timed), 0U);
  EXPECT_EQ(s.task(2).deadline(), instant::none());
  EXPECT_EQ(s.task(1).priority(), 200);
  EXPECT_EQ(s.task(4).insertion_seq(), 6U);  // Three pushes, three moves.

  EXPECT_FALSE(s->push_cancel(0, s.task(1), 200));
  EXPECT_FALSE(s->push_cancel(0, s.task(1), 0));
  EXPECT_EQ(s.task(1).insertion_seq(), 4U);
  s.push(5, lane::cancel, 201);
  EXPECT_TRUE(s->push_cancel(0, s.task(1), 201));  // Behind task 5, which has 201 already.
  EXPECT_EQ(s.task(1).insertion_seq(), 8U);
  EXPECT_EQ(s.run_tasks(), (tasks{5, 1, 2, 4, 3}));
}

// strengthening leaves a task on the worker where it is, and takes the number there.
TEST(scheduler_rulings, a_stronger_cancel_does_not_move_its_task_to_another_worker) {
  stage s(with_workers(2));
  s.push(1, lane::ready);
  EXPECT_TRUE(s->push_cancel(1, s.task(1), 100));
  EXPECT_EQ(s.task(1).worker(), 1U);
  EXPECT_EQ(s.task(1).insertion_seq(), 1U);
  EXPECT_TRUE(s->push_cancel(0, s.task(1), 101));
  EXPECT_EQ(s.task(1).worker(), 1U);
  EXPECT_EQ(s.task(1).insertion_seq(), 2U);
  EXPECT_EQ(s->depth(0, lane::cancel), 0U);
  EXPECT_EQ(s->depth(1, lane::cancel), 1U);
}

// timed and cancel work, no ready work: cancels are parted by exactly the limit.
TEST(scheduler_rulings, cancels_turn_comes_back_after_another_full_streak) {
  stage s(with_limits(16, 3));
  s->suggest(governor::meet_deadlines);
  s.push_many(4, lane::cancel);
  s.push_many(14, lane::timed);
  EXPECT_EQ(s.run(), "t3 c t3 c t3 c t3 c t2");
  s.expect_certificate({4, 14, 0, 0, 0, 0, 16});

  stage late(with_limits(16, 3));  // Counted from the turn, not from a multiple of the limit.
  late->suggest(governor::meet_deadlines);
  late.push_many(15, lane::timed);
  EXPECT_EQ(late.run(5), "t5");
  late.push_many(2, lane::cancel);
  EXPECT_EQ(late.run(6), "c t3 c t");
  EXPECT_EQ(late->timed_streak(0), 9U);
  late.push_many(1, lane::ready);  // Ready takes its own turn; the streak starts anew, and so do the turns.
  late.push_many(2, lane::cancel);
  EXPECT_EQ(late.run(9), "r t3 c t3 c");

  stage ready_first(with_limits(16, 3));  // While ready work waits, cancel has had its turn.
  ready_first->suggest(governor::meet_deadlines);
  ready_first.push_many(3, lane::cancel);
  ready_first.push_many(10, lane::timed);
  EXPECT_EQ(ready_first.run(5), "t3 c t");
  ready_first.push_many(1, lane::ready);
  EXPECT_EQ(ready_first.run(), "r t3 c t3 c");
}

// a cancel takes the turn under any suggestion, and a fallback does.
TEST(scheduler_rulings, any_cancel_takes_the_turn_while_the_timed_streak_is_full) {
  stage s(with_limits(1, 3));
  s.push_many(6, lane::cancel);
  s.push_many(10, lane::timed);
  EXPECT_EQ(s.run(7), "c t c t c t c");  // The fourth cancel finds the timed streak full.
  s->suggest(governor::meet_deadlines);
  EXPECT_EQ(s.run(4), "t3 c");
  EXPECT_EQ(s.run(4), "t3 c");

  stage again(with_limits(1, 3));  // A cancel whose turn it was not takes it all the same.
  again.push_many(7, lane::cancel);
  again.push_many(10, lane::timed);
  EXPECT_EQ(again.run(9), "c t c t c t c t c");
  again->suggest(governor::meet_deadlines);
  EXPECT_EQ(again.run(4), "t3 c");

  stage fallback(with_limits(1, 2));
  fallback.push_many(2, lane::timed);
  EXPECT_EQ(fallback.run(2), "t2");
  fallback.push_many(4, lane::cancel);
  EXPECT_EQ(fallback.run(2), "c f");
  fallback->suggest(governor::meet_deadlines);
  fallback.push_many(4, lane::timed);
  EXPECT_EQ(fallback.run(), "t2 c t2 c");
  // Cancels 1 + 2, one fallback as the 2nd of its streak, above 1 and 1; 2 + 4 timed.
  fallback.expect_certificate({3, 6, 0, 1, 1, 1, 1});
}

// a limit is observed by a dispatch, of any lane; a reset leaves everything but the counters.
TEST(scheduler_rulings, a_limit_that_no_dispatch_saw_was_never_in_force) {
  stage s;
  s.push_many(30, lane::cancel);
  s.push_many(2, lane::ready);
  s->suggest(governor::drain_regions);
  s->suggest(governor::no_preference);
  EXPECT_EQ(s.run(5), "c5");
  s.expect_certificate({5, 0, 0, 0, 0, 0, 16});
  s->suggest(governor::drain_obligations);
  s.expect_certificate({5, 0, 0, 0, 0, 0, 16});
  EXPECT_EQ(s.run(1), "c");
  s.expect_certificate({6, 0, 0, 0, 0, 0, 32});

  s->reset_certificate();
  s.expect_certificate({0, 0, 0, 0, 0, 0, 16});
  EXPECT_EQ(s->suggestion(), governor::drain_obligations);
  EXPECT_EQ(s->cancel_streak(0), 6U);
  EXPECT_EQ(s->depth(0, lane::cancel), 24U);
  EXPECT_EQ(s.run(), "c24 r2");  // 6 + 24 in a row: 30, below 32.
  // Above 16: the 17th to the 30th, 14.
  s.expect_certificate({24, 0, 2, 0, 14, 0, 32});

  stage ready;  // The dispatch that observes need not be a cancel; a step that finds nothing observes nothing.
  ready->suggest(governor::drain_regions);
  EXPECT_EQ(ready.next().who, nullptr);
  ready.expect_certificate({0, 0, 0, 0, 0, 0, 16});
  ready.push_many(1, lane::ready);
  EXPECT_EQ(ready.run(), "r");
  ready.expect_certificate({0, 0, 1, 0, 0, 0, 32});
}

// finding nothing is the park: streaks restart, and going idle is told once.
TEST(scheduler_rulings, a_step_that_finds_nothing_restarts_both_streaks) {
  stage s(with_limits(2, 2));
  EXPECT_FALSE(s.next().went_idle) << "it has not dispatched yet";
  s.push_many(3, lane::timed);
  EXPECT_EQ(s.run(3), "t3");
  s.push_many(3, lane::cancel);
  EXPECT_EQ(s.run(3), "c2 f");
  EXPECT_EQ(s->cancel_streak(0), 3U);
  EXPECT_EQ(s->timed_streak(0), 3U);
  const dispatch idle = s.next();
  EXPECT_EQ(idle.who, nullptr);
  EXPECT_TRUE(idle.went_idle);
  EXPECT_FALSE(s.next().went_idle);
  EXPECT_EQ(s->cancel_streak(0), 0U);
  EXPECT_EQ(s->timed_streak(0), 0U);
  s.push_many(3, lane::cancel);
  s.push_many(3, lane::timed);
  s.push_many(1, lane::ready);
  EXPECT_EQ(s.run(), "c2 t c t r t");
  EXPECT_TRUE(s->empty());
  // 2 + 3 cancels, 3 + 3 timed, 1 ready; one fallback, the third of its streak, above 2 and 2.
  s.expect_certificate({5, 6, 1, 1, 1, 1, 2});
}

// stall polls are fallbacks that no streak sees.
TEST(scheduler_rulings, a_stall_poll_counts_as_a_fallback_and_never_as_an_exceedance) {
  stage s(with_limits(1, 64));
  s.push_many(2, lane::cancel);
  EXPECT_EQ(s.run(), "c f");
  for (int i = 0; i < 5; ++i) {
    s->count_stall(0);
    EXPECT_EQ(s->cancel_streak(0), 0U);
    EXPECT_EQ(s->timed_streak(0), 0U);
  }
  // One fallback above 1 and 1, and five stall polls.
  s.expect_certificate({1, 0, 0, 6, 1, 1, 1});
}

// each worker counts its insertions over its three lanes; a stolen entry keeps its number.
TEST(scheduler_rulings, numbers_are_counted_by_each_worker_from_one) {
  stage s(with_workers(2));
  s.push(1, lane::ready);
  s.push(2, lane::timed);
  s.push(3, lane::cancel);
  s.push(4, lane::ready, 128, 1);
  s.push(5, lane::cancel, 128, 1);
  for (std::uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(s.task(number).insertion_seq(), number);
  EXPECT_EQ(s.task(4).insertion_seq(), 1U);
  EXPECT_EQ(s.task(5).insertion_seq(), 2U);
  EXPECT_EQ(s.run(3), "c t r");
  const dispatch theft = s.next();
  EXPECT_EQ(theft.who, &s.task(4));
  EXPECT_EQ(theft.victim, 1U);
  EXPECT_EQ(s.task(4).insertion_seq(), 1U);
  s.push(6, lane::ready);
  EXPECT_EQ(s.task(6).insertion_seq(), 4U) << "the theft took no number of the thief";
}

// streaks are the worker's own; a theft restarts the thief's, and timed never gives way to one.
TEST(scheduler_rulings, a_full_timed_streak_does_not_give_way_to_a_theft) {
  sched_config config = with_limits(2, 3);
  config.workers = 2;
  stage s(config);
  s.push_many(5, lane::timed);
  s.push_many(4, lane::ready, 1);
  EXPECT_EQ(s.run(5), "t5");
  EXPECT_EQ(s->timed_streak(0), 5U);
  EXPECT_EQ(s->timed_streak(1), 0U);
  EXPECT_EQ(s.run(1), "s");
  EXPECT_EQ(s->timed_streak(0), 0U);
  s.push_many(3, lane::cancel);
  EXPECT_EQ(s.run(4), "c2 s c");
  EXPECT_EQ(s.run(stage::all, 1), "r2");
  s.expect_certificate({3, 5, 4, 0, 0, 0, 2});
}

// only one's own ready lane with two or more of the highest priority draws; thefts use another stream.
TEST(scheduler_rulings, the_tie_break_draws_only_for_a_choice) {
  const auto run = [](bool has_detours) {
    sched_config config = with_workers(2, 42);
    config.ready_tiebreak = asx::tie_break::rng;
    stage s(config);
    for (std::uint64_t number = 1; number <= 6; ++number) s.push(number, lane::ready);
    tasks order;
    for (int i = 0; i < 6; ++i) {
      if (has_detours) {
        s.push(20, lane::cancel);
        s.push(21, lane::cancel);
        s.push(22, lane::timed);
        s.push(23, lane::timed);
        s.push(24, lane::ready, 200);  // Alone at its priority: no draw.
        EXPECT_EQ(s.run(5), "c2 t2 r");
        s.push(25, lane::ready, 1);
        s.push(26, lane::ready, 1);
        EXPECT_EQ(s.run_tasks(2, 1), (tasks{26, 25})) << "a theft takes the last, without a tie-break";
      }
      order.push_back(stage::task_of(s.next()));
    }
    return order;
  };
  EXPECT_EQ(run(false), (tasks{3, 4, 5, 6, 2, 1}));  // As sc-rng-tiebreak-001, seed 42.
  EXPECT_EQ(run(true), run(false));
}

// U-30, U-31 and the limits of section H, and what a configuration may not be.
TEST(scheduler_rulings, the_defaults_are_the_specifications) {
  const sched_config config;
  EXPECT_EQ(config.workers, 1U);
  EXPECT_EQ(config.cancel_streak_limit, 16U);
  EXPECT_EQ(config.timed_streak_limit, 64U);
  EXPECT_EQ(config.ready_tiebreak, asx::tie_break::fifo);
  EXPECT_EQ(asx::scheduler::validate(config), status::ok);
  EXPECT_EQ(asx::scheduler::validate(with_limits(1, 0)), status::ok);
  EXPECT_EQ(asx::scheduler::validate(with_limits(0x7fff'ffff, 0)), status::ok);
  EXPECT_EQ(asx::scheduler::validate(with_limits(0x8000'0000, 0)), status::invalid_argument);
  EXPECT_EQ(asx::scheduler::validate(with_limits(0, 64)), status::invalid_argument);
  EXPECT_EQ(asx::scheduler::validate(with_workers(65'535)), status::ok);
  EXPECT_EQ(asx::scheduler::validate(with_workers(0)), status::invalid_argument);
  EXPECT_EQ(asx::scheduler::validate(with_workers(65'536)), status::invalid_argument);
}

}  // namespace
