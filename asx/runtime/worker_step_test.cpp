// The step: what is due comes first, one dispatch at most, and it says what it did.
#include "asx/runtime/worker_step.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "asx/journal/schedule_check.hpp"
#include "asx/runtime/testing.hpp"

namespace asx {
namespace {

using testing::toy_world;

constexpr instant at_ms(std::uint64_t ms) {
  return {ms * 1'000'000};
}

const toy_world::body yields_for_ever = [](toy_world&, toy_world::toy_task& self) { self.yields = true; };
const toy_world::body ends_at_once = [](toy_world&, toy_world::toy_task& self) { self.ends = true; };

toy_world::body yields(int times) {
  return [times](toy_world&, toy_world::toy_task& self) mutable { (times-- > 0 ? self.yields : self.ends) = true; };
}

// "c16 r" and the like, from the letters of a run.
std::string runs_of(const std::string& letters) {
  std::string out;
  for (std::size_t i = 0; i < letters.size();) {
    const std::size_t end = std::min(letters.find_first_not_of(letters[i], i), letters.size());
    out += (out.empty() ? "" : " ") + std::string(1, letters[i]);
    if (end - i > 1) out += std::to_string(end - i);
    i = end;
  }
  return out;
}

TEST(worker_step, handles_due_timers_before_any_task_is_dispatched) {  // sc-timer-phase0-001, INV-SC-07
  toy_world world(sched_config{});
  auto& sleeper = world.spawn(
      [](toy_world& w, toy_world::toy_task& self) {
        if (w.now == instant{}) {
          w.sleep(self, at_ms(10));
        } else {
          self.ends = true;
        }
      },
      255);
  world.step();
  world.spawn(yields_for_ever, 1);
  EXPECT_EQ(world.step().task, task_id{2});
  world.move_time(at_ms(10));
  const step_report report = world.step();
  EXPECT_EQ(report.passed, 1U);
  EXPECT_EQ(report.task, sleeper.task()) << "it was due, woke, and goes first by its priority";
}

TEST(worker_step, passes_deadlines_after_timers_and_before_the_dispatch) {
  toy_world world(sched_config{});
  world.spawn([](toy_world& w, toy_world::toy_task& self) { w.sleep(self, at_ms(10)); }, 1, at_ms(10));
  world.spawn([](toy_world&, toy_world::toy_task&) {}, 1, at_ms(10));
  world.step();
  world.step();
  world.move_time(at_ms(10));
  EXPECT_EQ(world.step().passed, 3U) << "one timer, two deadlines";
  std::vector<event_kind> seen;
  for (const event& e : world.events()) {
    if (e.time_ns != 0 && (e.kind == event_kind::timer_fired || e.kind == event_kind::deadline_passed ||
                           e.kind == event_kind::task_dispatched)) {
      seen.push_back(e.kind);
    }
  }
  EXPECT_EQ(seen, (std::vector{event_kind::timer_fired, event_kind::deadline_passed, event_kind::deadline_passed,
                               event_kind::task_dispatched}));
}

TEST(worker_step, parks_until_the_earlier_of_the_next_timer_and_the_next_deadline) {
  toy_world world(sched_config{});
  EXPECT_TRUE(world.step().park_until.is_none());
  world.spawn([](toy_world& w, toy_world::toy_task& self) { w.sleep(self, at_ms(30)); });
  world.step();
  step_report report = world.step();
  EXPECT_TRUE(report.is_idle);
  EXPECT_EQ(report.park_until, at_ms(30));
  world.spawn([](toy_world&, toy_world::toy_task&) {}, 1, at_ms(20));
  world.step();
  EXPECT_EQ(world.step().park_until, at_ms(20));
}

TEST(worker_step, dispatches_at_most_one_task_and_journals_idleness_once) {
  toy_world world(sched_config{});
  for (int i = 0; i < 3; ++i) world.spawn(ends_at_once);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(world.step().is_idle);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.step().is_idle);
  int idled = 0;
  for (const event& e : world.events()) idled += e.kind == event_kind::worker_idled ? 1 : 0;
  EXPECT_EQ(idled, 1);
  EXPECT_EQ(world.letters(), "rrr");
}

// two tasks that yield ten times each alternate strictly, to the last poll.
TEST(worker_step, lets_equal_tasks_that_yield_take_turns) {
  toy_world world(sched_config{});
  world.spawn(yields(10));
  world.spawn(yields(10));
  for (std::uint64_t i = 0; i < 22; ++i) ASSERT_EQ(world.step().task, task_id{i % 2 + 1});
  EXPECT_TRUE(world.step().is_idle);
}

// 40 cancelled tasks and 2 ready ones, all ended by their first poll.
TEST(worker_step, gives_way_once_after_each_full_streak_of_cancels) {
  const auto run = [](governor g) {
    toy_world world(sched_config{});
    set_governor(world.context, g, world.now);
    for (int i = 0; i < 40; ++i) world.cancel(world.spawn(ends_at_once), 200);
    for (int i = 0; i < 2; ++i) world.spawn(ends_at_once);
    while (!world.step().is_idle) {
    }
    const fairness_certificate c = issue_certificate(world.context, world.now);
    EXPECT_EQ(c.cancel_dispatches, 40U);
    EXPECT_EQ(c.ready_dispatches, 2U);
    EXPECT_EQ(c.timed_dispatches + c.fallback_cancel_dispatches, 0U);
    EXPECT_EQ(c.base_limit_exceedances, g == governor::no_preference ? 0U : 16U);
    EXPECT_EQ(c.effective_limit_exceedances, 0U);
    EXPECT_EQ(c.max_effective_limit_observed, g == governor::no_preference ? 16U : 32U);
    EXPECT_EQ(c.witness_hash(), world.events().back().a);
    return runs_of(world.letters());
  };
  EXPECT_EQ(run(governor::no_preference), "c16 r c16 r c8");
  EXPECT_EQ(run(governor::drain_regions), "c32 r c8 r");
  EXPECT_EQ(run(governor::drain_obligations), "c32 r c8 r");
}

TEST(worker_step, runs_ready_work_as_dispatch_65_beside_an_endless_timed_task) {
  toy_world world(sched_config{});
  world.spawn(yields_for_ever, 128, at_ms(1));
  world.spawn(ends_at_once);
  for (int i = 0; i < 70; ++i) world.step();
  EXPECT_EQ(runs_of(world.letters()), "t64 r t5");
}

TEST(worker_step, journals_a_change_of_the_governor_before_the_dispatch_that_it_changes) {
  toy_world world(sched_config{});
  world.spawn(yields_for_ever, 128, at_ms(1));
  world.cancel(world.spawn(yields_for_ever), 1);
  world.step();
  set_governor(world.context, governor::meet_deadlines, world.now);
  set_governor(world.context, governor::meet_deadlines, world.now);
  world.step();
  EXPECT_EQ(world.letters(), "ct");
  int changes = 0;
  for (const event& e : world.events()) changes += e.kind == event_kind::governor_changed ? 1 : 0;
  EXPECT_EQ(changes, 1);
}

TEST(worker_step, follows_the_pressure_when_the_policy_is_on_and_only_then) {
  for (const bool is_on : {false, true}) {
    toy_world world(sched_config{});
    world.context.policy.is_on = is_on;
    world.context.policy.every = 4;
    world.spawn(yields_for_ever);
    world.weight = {.missed_deadlines = 3};
    for (int i = 0; i < 4; ++i) world.step();
    EXPECT_EQ(world.sched.suggestion(), is_on ? governor::meet_deadlines : governor::no_preference);
    for (int i = 0; i < 4; ++i) world.step();
    EXPECT_EQ(world.sched.suggestion(), governor::no_preference) << "the pressure is gone at the second look";
  }
}

// ---- workers ------------------------------------------------------------------------------------------------------

TEST(worker_order, goes_round_in_turn_and_draws_nothing_for_one_worker) {
  toy_world world(sched_config{.workers = 3});
  worker_order turns(worker_order::kind::round_robin, 1, 3);
  for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(turns.next(world.context, {}), i % 3);
  worker_order one(worker_order::kind::drawn, 1, 1);
  const std::uint64_t before = world.log.seq();
  EXPECT_EQ(one.next(world.context, {}), 0U);
  EXPECT_EQ(world.log.seq(), before);
}

TEST(worker_order, is_drawn_from_stream_2_of_worker_0) {
  toy_world world(sched_config{.workers = 5});
  worker_order drawn(worker_order::kind::drawn, 99, 5);
  splitmix64 stream(99, 0, random_stream::worker_order);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(drawn.next(world.context, {}), stream.next() % 5);
}

TEST(worker_step, steals_for_a_worker_that_has_nothing) {
  toy_world world(sched_config{.workers = 3});
  for (int i = 0; i < 3; ++i) world.spawn(ends_at_once);
  const step_report report = world.step(2);
  EXPECT_EQ(report.victim, 0U);
  EXPECT_EQ(report.task, task_id{3}) << "the last-ranked";
  EXPECT_EQ(world.step(0).task, task_id{1});
}

// ---- the same run again -------------------------------------------------------------------------------------------

digest128 digest_of(std::uint64_t seed, std::uint32_t workers, tie_break ties, worker_order::kind how) {
  toy_world world(sched_config{.seed = seed, .workers = workers, .max_places = 4096, .ready_tiebreak = ties});
  run_random_world(world, seed, how, 3'000);
  world.sched.check();
  return world.log.digest();
}

TEST(worker_step, gives_the_same_journal_for_the_same_seed_and_another_for_another) {
  for (const auto how : {worker_order::kind::round_robin, worker_order::kind::drawn}) {
    for (const auto ties : {tie_break::fifo, tie_break::rng}) {
      const digest128 first = digest_of(5, 4, ties, how);
      EXPECT_EQ(first, digest_of(5, 4, ties, how));
      EXPECT_NE(first, digest_of(6, 4, ties, how));
    }
  }
}

// Judged by code that shares nothing with the scheduler: every dispatch, every draw, every certificate.
TEST(worker_step, leaves_journals_that_the_independent_checker_accepts) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const auto workers = static_cast<std::uint32_t>(1 + seed % 8);
    toy_world world(sched_config{.seed = seed,
                                 .workers = workers,
                                 .max_places = 4096,
                                 .cancel_streak_limit = seed % 3 == 0 ? 2U : 16U,
                                 .timed_streak_limit = seed % 4 == 0   ? 0U
                                                       : seed % 4 == 1 ? 3U
                                                                       : 64U,
                                 .ready_tiebreak = seed % 2 == 0 ? tie_break::rng : tie_break::fifo});
    run_random_world(world, seed, seed % 5 == 0 ? worker_order::kind::round_robin : worker_order::kind::drawn, 2'000);
    const schedule_verdict verdict = check_schedule(world.events());
    ASSERT_TRUE(verdict.violations.empty()) << "seed " << seed << ": " << explain(verdict);
    EXPECT_GT(verdict.dispatches, 300U);
  }
}

// The same with every compiler, at every level of optimisation, on every architecture: these values were printed once.
TEST(worker_step, gives_the_journal_and_the_witness_that_it_has_always_given) {
  toy_world world(sched_config{.seed = 2026, .workers = 4, .max_places = 4096, .ready_tiebreak = tie_break::rng});
  run_random_world(world, 2026, worker_order::kind::drawn, 20'000);
  const std::array<char, 32> hex = world.log.digest().hex();
  EXPECT_EQ(std::string(hex.data(), hex.size()), "4649bff2340fe7017dede90ce9e3a63c");
  EXPECT_EQ(world.sched.certificate().witness_hash(), 2422779947715669263U);
}

}  // namespace
}  // namespace asx
