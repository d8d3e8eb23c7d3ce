// asx/runtime/kernel_rulings_test.cpp - the rulings' own tests on tasks, cancellation and budgets.
//
// Each is written against kernel_world and holds for the naive model and for the kernel. Those on regions and
// obligations are in kernel_region_rulings_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/kernel/testing/world.hpp"
#include "asx/runtime/testing/world_stage.hpp"

namespace {

using asx::budget;
using asx::cancel_kind;
using asx::cancel_phase;
using asx::instant;
using asx::outcome_kind;
using asx::region_state;
using asx::status;
using asx::task_state;
using asx::testing::action;
using asx::testing::cleans_slowly;
using asx::testing::does;
using asx::testing::kernel_stage;
using asx::testing::of_task;
using asx::testing::plays;
using asx::testing::repeats;
using asx::testing::step_view;
using asx::testing::world_config;
using do_ = action::kind;

class kernel_task_rulings : public kernel_stage {};

INSTANTIATE_TEST_SUITE_P(each, kernel_task_rulings, ::testing::ValuesIn(asx::testing::world_makers()),
                         [](const auto& maker) { return std::string(maker.param.name); });

// ---- Lives ----

TEST_P(kernel_task_rulings, r126_a_task_is_created_until_its_first_dispatch_and_running_after) {
  open({plays({does(do_::yield), does(do_::park), does(do_::return_ok, 7)})});
  const auto t = spawn(1, 0);
  EXPECT_EQ(state(t), task_state::created);
  EXPECT_EQ(world().task(t).lane, 2);
  step(t);
  EXPECT_EQ(state(t), task_state::running);
  EXPECT_EQ(world().task(t).lane, 2);  // a yield is queued again without a wake.
  step(t);
  EXPECT_EQ(world().task(t).lane, 3);
  EXPECT_TRUE(world().step().is_idle);
  world().wake(t);
  step(t);
  EXPECT_EQ(state(t), task_state::completed);
  EXPECT_EQ(world().task(t).ended_value, 7U);
}

TEST_P(kernel_task_rulings, r18_cancelling_a_completed_task_is_ok_and_changes_nothing) {
  open({plays({does(do_::return_ok)})});
  const auto t = spawn(1, 0);
  run();
  EXPECT_FALSE(cancel(t, cancel_kind::shutdown));
  EXPECT_EQ(world().task(t).epoch, 0U);
  EXPECT_FALSE(world().task(t).has_witness);
}

TEST_P(kernel_task_rulings, r19_the_outcome_is_decided_by_observation) {
  open({plays({does(do_::park), does(do_::return_ok, 3)}),
        plays({does(do_::park), does(do_::checkpoint), does(do_::return_ok, 3)})});
  const auto blind = spawn(1, 0), seeing = spawn(1, 1);
  run();
  cancel(blind, cancel_kind::user);
  cancel(seeing, cancel_kind::user);
  run();
  EXPECT_EQ(ended(blind), outcome_kind::ok);
  EXPECT_EQ(world().task(blind).phase, cancel_phase::completed);
  EXPECT_EQ(ended(seeing), outcome_kind::cancelled);
  EXPECT_EQ(world().task(seeing).phase, cancel_phase::completed);
}

TEST_P(kernel_task_rulings, r20_ready_error_and_panic_in_cleanup) {
  open({plays({does(do_::park), does(do_::checkpoint), does(do_::return_ok)}),
        plays({does(do_::park), does(do_::checkpoint), does(do_::return_error, 5)}),
        plays({does(do_::park), does(do_::checkpoint), does(do_::panic)})});
  for (const std::size_t s : {0U, 1U, 2U}) spawn(1, s);
  run();
  for (const std::uint64_t t : {1U, 2U, 3U}) cancel(t, cancel_kind::timeout);
  run();
  EXPECT_EQ(ended(1), outcome_kind::cancelled);
  EXPECT_EQ(ended(2), outcome_kind::cancelled);
  EXPECT_EQ(ended(3), outcome_kind::panicked);
  EXPECT_EQ(world().task(2).ended_kind, cancel_kind::timeout);
}

TEST_P(kernel_task_rulings, r21_a_query_moves_nothing_and_a_checkpoint_acknowledges) {
  open({plays({does(do_::park), does(do_::is_cancelled), does(do_::yield), does(do_::checkpoint), does(do_::checkpoint),
               does(do_::yield), does(do_::checkpoint), does(do_::yield)})});
  const auto t = spawn(1, 0);
  run();
  EXPECT_TRUE(cancel(t, cancel_kind::user));
  step(t);
  EXPECT_EQ(state(t), task_state::cancel_requested);
  step(t);
  EXPECT_EQ(state(t), task_state::cancelling);
  EXPECT_EQ(world().task(t).cleanup_polls_left, 1000U);  // that poll was not charged.
  step(t);
  EXPECT_EQ(world().task(t).cleanup_polls_left, 999U);
  const std::vector<std::string> expected = {"op 1 is_cancelled true", "op 1 checkpoint cancelled",
                                             "op 1 checkpoint cancelled", "op 1 checkpoint cancelled"};
  EXPECT_EQ(world().log(), expected);
}

TEST_P(kernel_task_rulings, r22_a_stubborn_task_under_shutdown_gets_twice_its_quota) {
  open({repeats(do_::yield, 500)});
  const auto t = spawn(1, 0);
  step(t);
  cancel(t, cancel_kind::shutdown);
  for (int i = 0; i < 50; ++i) step(t);
  EXPECT_EQ(state(t), task_state::cancel_requested);
  step(t);
  EXPECT_EQ(state(t), task_state::cancelling);  // forced before this poll, which was charged.
  EXPECT_EQ(world().task(t).cleanup_polls_left, 49U);
  for (int i = 0; i < 49; ++i) step(t);
  EXPECT_EQ(state(t), task_state::cancelling);
  step(t);
  EXPECT_EQ(state(t), task_state::completed);
  EXPECT_EQ(world().task(t).polls, 101U);
  EXPECT_TRUE(world().task(t).ended_overrun);
  EXPECT_EQ(world().task(t).ended_kind, cancel_kind::shutdown);
}

TEST_P(kernel_task_rulings, r223_a_limit_of_its_own_replaces_the_quota_and_0_means_never) {
  world_config config;
  config.max_unobserved_cancel_polls = 2;
  open({repeats(do_::yield, 50)}, config);
  spawn(1, 0);
  cancel(1, cancel_kind::user);
  step(1);
  step(1);
  EXPECT_EQ(state(1), task_state::cancel_requested);
  step(1);
  EXPECT_EQ(state(1), task_state::cancelling);
  EXPECT_EQ(world().task(1).cleanup_polls_left, 999U);

  config.max_unobserved_cancel_polls = 0;
  open({repeats(do_::yield, 2000)}, config);
  spawn(1, 0);
  cancel(1, cancel_kind::shutdown);
  for (int i = 0; i < 1500; ++i) step(1);
  EXPECT_EQ(state(1), task_state::cancel_requested);
}

TEST_P(kernel_task_rulings, r23_a_task_cancelled_before_its_first_poll_is_polled_in_cancel_requested) {
  open({plays({does(do_::is_cancelled), does(do_::return_ok)})});
  EXPECT_TRUE(cancel(spawn(1, 0), cancel_kind::user));
  EXPECT_EQ(state(1), task_state::cancel_requested);  // T2
  step(1);
  EXPECT_TRUE(has_logged("op 1 is_cancelled true"));
  EXPECT_EQ(ended(1), outcome_kind::ok);
}

TEST_P(kernel_task_rulings, r23_a_wake_during_the_poll_queues_it_again) {
  open({plays({does(do_::wake_task, 1), does(do_::park), does(do_::return_ok)})});
  spawn(1, 0);
  step(1);
  EXPECT_EQ(world().task(1).lane, 2);
}

TEST_P(kernel_task_rulings, r24_a_cleanup_that_never_ends_is_force_completed_and_unwound) {
  auto s = cleans_slowly(do_::yield, 200);
  s.actions.insert(s.actions.begin(), does(do_::push_cleanup, 4));
  open({s});
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::shutdown);
  step(1);  // Acknowledges, uncharged.
  for (int i = 0; i < 50; ++i) step(1);
  EXPECT_EQ(state(1), task_state::cancelling);
  EXPECT_EQ(world().task(1).cleanup_polls_left, 0U);
  step(1);
  EXPECT_EQ(ended(1), outcome_kind::cancelled);
  EXPECT_TRUE(world().task(1).ended_overrun);
  EXPECT_TRUE(has_logged("cleanup 1 4"));
  EXPECT_EQ(world().task(1).polls, 52U);
}

TEST_P(kernel_task_rulings, r25_a_cancel_between_the_last_two_dispatches_strengthens_the_end) {
  open({plays({does(do_::park), does(do_::push_cleanup, 1), does(do_::checkpoint), does(do_::return_ok)})});
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  step(1);
  EXPECT_EQ(state(1), task_state::finalizing);  // T10
  EXPECT_EQ(world().task(1).lane, 0);
  EXPECT_TRUE(has_logged("cleanup 1 1"));
  EXPECT_FALSE(cancel(1, cancel_kind::shutdown));  // T12
  const std::uint64_t polls = world().task(1).polls;
  step(1);
  EXPECT_EQ(state(1), task_state::completed);
  EXPECT_EQ(world().task(1).polls, polls);
  EXPECT_EQ(world().task(1).ended_kind, cancel_kind::shutdown);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::shutdown);
}

TEST_P(kernel_task_rulings, r27_a_cancel_wakes_a_parked_task_into_the_cancel_lane) {
  open({repeats(do_::park, 3)});
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  EXPECT_EQ(world().task(1).lane, 0);
  step(1);
  EXPECT_FALSE(cancel(1, cancel_kind::shutdown));  // strengthening a parked one does not.
  EXPECT_EQ(world().task(1).lane, 3);
}

TEST_P(kernel_task_rulings, r27_strengthening_moves_a_queued_task_to_the_tail_of_a_higher_priority) {
  open({repeats(do_::park, 9)});
  for (int i = 0; i < 3; ++i) spawn(1, 0);
  cancel(1, cancel_kind::shutdown);
  cancel(2, cancel_kind::user);
  cancel(3, cancel_kind::shutdown);
  cancel(2, cancel_kind::shutdown);
  cancel(1, cancel_kind::shutdown);  // Keeps its place.
  step(1);
  step(3);
  step(2);
}

TEST_P(kernel_task_rulings, r28_a_second_cancel_strengthens_in_each_of_three_states) {
  open({repeats(do_::yield, 9), cleans_slowly(do_::yield, 9),
        plays({does(do_::park), does(do_::checkpoint), does(do_::return_ok)})});
  for (const std::size_t s : {0U, 1U, 2U}) spawn(1, s);
  for (int i = 0; i < 3; ++i) world().step();
  for (const std::uint64_t t : {1U, 2U, 3U}) EXPECT_TRUE(cancel(t, cancel_kind::user));
  for (int i = 0; i < 3; ++i) world().step();
  const std::vector<task_state> states = {state(1), state(2), state(3)};
  const std::vector<task_state> expected = {task_state::cancel_requested, task_state::cancelling,
                                            task_state::finalizing};
  EXPECT_EQ(states, expected);
  for (const std::uint64_t t : {1U, 2U, 3U}) {
    EXPECT_FALSE(cancel(t, cancel_kind::shutdown));
    EXPECT_EQ(world().task(t).epoch, 1U);
    EXPECT_EQ(world().task(t).reason_kind, cancel_kind::shutdown);
  }
  EXPECT_EQ(world().task(2).cleanup_polls_left, 50U);
}

TEST_P(kernel_task_rulings, r35_a_witness_exists_from_the_request_on) {
  open({plays({does(do_::park), does(do_::checkpoint), does(do_::yield), does(do_::return_ok)})});
  spawn(1, 0);
  run();
  EXPECT_FALSE(world().task(1).has_witness);
  cancel(1, cancel_kind::user);
  for (const cancel_phase phase : {cancel_phase::requested, cancel_phase::cancelling, cancel_phase::finalizing}) {
    EXPECT_TRUE(world().task(1).has_witness);
    EXPECT_EQ(world().task(1).phase, phase);
    step(1);
  }
  EXPECT_EQ(world().task(1).phase, cancel_phase::completed);
}

TEST_P(kernel_task_rulings, r40_what_remains_is_bounded_and_never_rises) {
  open({cleans_slowly(do_::yield, 400)});
  spawn(1, 0);
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::parent_cancelled);  // 200
  for (int i = 0; i < 51; ++i) step(1);
  EXPECT_EQ(world().task(1).cleanup_polls_left, 150U);
  cancel(1, cancel_kind::shutdown);
  EXPECT_EQ(world().task(1).cleanup_polls_left, 50U);
  for (int i = 0; i < 30; ++i) step(1);
  cancel(1, cancel_kind::shutdown);
  cancel(1, cancel_kind::user);
  EXPECT_EQ(world().task(1).cleanup_polls_left, 20U);
  run();
  cancel(2, cancel_kind::parent_cancelled);
  for (int i = 0; i < 181; ++i) step(2);
  cancel(2, cancel_kind::shutdown);
  EXPECT_EQ(world().task(2).cleanup_polls_left, 20U);
}

// ---- Masks ----

TEST_P(kernel_task_rulings, r134_a_masked_cleanup_may_wait_and_ends_by_its_quota) {
  open({plays({does(do_::park), does(do_::mask_enter), does(do_::checkpoint), does(do_::mask_leave),
               does(do_::checkpoint), does(do_::mask_enter), does(do_::checkpoint), does(do_::sleep, 1'000),
               does(do_::checkpoint), does(do_::mask_leave), does(do_::checkpoint)})});
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  run();
  world().advance(1'000);
  run();
  const std::vector<std::string> expected = {
      "op 1 mask_enter ok",        "op 1 checkpoint ok",  // not acknowledged,
      "op 1 checkpoint cancelled", "op 1 mask_enter ok",       "op 1 checkpoint ok", "op 1 sleep ok",
      "op 1 checkpoint ok",        "op 1 checkpoint cancelled"};
  EXPECT_EQ(world().log(), expected);
  EXPECT_EQ(ended(1), outcome_kind::cancelled);

  auto endless = repeats(do_::park, 200);
  endless.actions.insert(endless.actions.begin(),
                         {does(do_::park), does(do_::checkpoint), does(do_::mask_enter), does(do_::checkpoint)});
  open({endless});
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::shutdown);
  run();
  EXPECT_TRUE(world().task(1).ended_overrun);
}

TEST_P(kernel_task_rulings, r159_one_mask_too_many_is_refused) {
  world_config config;
  config.mask_depth = 2;
  open({plays({does(do_::mask_enter), does(do_::mask_enter), does(do_::mask_enter), does(do_::return_ok)})}, config);
  spawn(1, 0);
  run();
  EXPECT_EQ(world().log().back(), "op 1 mask_enter resource_exhausted");
}

// ---- Budgets ----

TEST_P(kernel_task_rulings, r52_n_polls_are_granted_and_the_next_one_cancels) {
  open({plays({does(do_::yield), does(do_::yield), does(do_::return_ok)}), repeats(do_::yield, 9)});
  budget b = of_task();
  b.poll_quota = 3;
  spawn(1, 0, b);
  run();
  EXPECT_EQ(ended(1), outcome_kind::ok);
  spawn(1, 1, b);
  for (int i = 0; i < 3; ++i) step(2);
  EXPECT_EQ(state(2), task_state::running);
  step(2);  // cancelled and polled in the same dispatch.
  EXPECT_EQ(state(2), task_state::cancel_requested);
  EXPECT_EQ(world().task(2).reason_kind, cancel_kind::poll_quota);
  EXPECT_EQ(world().task(2).polls, 4U);
  b.poll_quota = 0;
  spawn(1, 1, b);
  EXPECT_EQ(state(3), task_state::created);
  while (world().task(3).polls == 0) world().step();
  EXPECT_EQ(state(3), task_state::cancel_requested);
}

TEST_P(kernel_task_rulings, r53_cost_is_refused_whole_and_asks_for_a_cancel) {
  open({plays({does(do_::consume_cost, 7), does(do_::consume_cost, 0), does(do_::park)}),
        plays({does(do_::consume_cost, 5), does(do_::yield), does(do_::park)})});
  budget b = of_task();
  b.cost_quota = 5;
  spawn(1, 0, b);
  step(1);
  EXPECT_EQ(world().log().front(), "op 1 consume_cost budget_exhausted");
  EXPECT_EQ(state(1), task_state::cancel_requested);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::cost_budget);
  EXPECT_EQ(world().task(1).lane, 0);  // queued again after the poll, though it parked.
  run();
  spawn(1, 1, b);
  step(2);
  EXPECT_EQ(state(2), task_state::running);
  step(2);
  EXPECT_EQ(world().task(2).reason_kind, cancel_kind::cost_budget);
  EXPECT_EQ(state(2), task_state::cancel_requested);
}

TEST_P(kernel_task_rulings, r54_a_deadline_cancels_a_parked_task_and_is_no_timer) {
  open({repeats(do_::park, 3)});
  budget b = of_task();
  b.deadline = instant{10};
  spawn(1, 0, b);
  EXPECT_EQ(world().task(1).lane, 1);
  run();
  world().advance(9);
  EXPECT_TRUE(world().step().is_idle);
  world().advance(1);
  std::uint32_t mask = 0;
  EXPECT_EQ(world().quiescence(mask), status::tasks_still_active);
  EXPECT_EQ(mask & 8U, 0U);
  const step_view v = world().step();
  EXPECT_EQ(v.passed, 1U);
  EXPECT_EQ(v.source, 0);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::deadline);
}

TEST_P(kernel_task_rulings, r131_the_ordinary_budget_is_suspended_by_a_cancel) {
  open({cleans_slowly(do_::yield, 10)});
  budget b = of_task();
  b.deadline = instant{5};
  b.poll_quota = 2;
  spawn(1, 0, b);
  run();
  world().advance(5);
  EXPECT_EQ(world().step().passed, 1U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(world().step().passed, 0U);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::deadline);
}

TEST_P(kernel_task_rulings, r152_several_limits_at_once_are_named_in_order) {
  open({repeats(do_::yield, 3)});
  budget b = of_task();
  b.poll_quota = 0;
  b.cost_quota = 0;
  spawn(1, 0, b);
  step(1);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::poll_quota);
  b.deadline = instant{0};
  spawn(1, 0, b);
  world().step();
  EXPECT_EQ(world().task(2).reason_kind, cancel_kind::deadline);
}

TEST_P(kernel_task_rulings, r56_siblings_have_copies_of_their_regions_budget) {
  open({repeats(do_::yield, 20)});
  budget b;
  b.poll_quota = 10;
  const auto r = child(1, b);
  spawn(r, 0);
  spawn(r, 0);
  for (int i = 0; i < 20; ++i) world().step();
  EXPECT_EQ(state(1), task_state::running);
  EXPECT_EQ(state(2), task_state::running);
  EXPECT_EQ(world().task(1).polls, 10U);
  EXPECT_EQ(world().task(2).polls, 10U);
}

// ---- Timers ----

TEST_P(kernel_task_rulings, r89_timers_of_a_cancelled_task_live_until_it_acknowledges) {
  world_config config;
  config.max_unobserved_cancel_polls = 1;
  open({plays({does(do_::sleep, 100), does(do_::sleep, 100), does(do_::checkpoint), does(do_::park)})}, config);
  std::uint32_t mask = 0;
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  static_cast<void>(world().quiescence(mask));
  EXPECT_EQ(mask & 8U, 8U);
  step(1);  // Woken by the cancel; sleeps once more, not acknowledged.
  static_cast<void>(world().quiescence(mask));
  EXPECT_EQ(mask & 8U, 8U);
  world().wake(1);
  step(1);  // the kernel acknowledges.
  static_cast<void>(world().quiescence(mask));
  EXPECT_EQ(mask & 8U, 0U);
}

// ---- Stall polls ----

TEST_P(kernel_task_rulings, r132_a_parked_cleanup_runs_its_quota_down) {
  open({cleans_slowly(do_::park, 200), repeats(do_::park, 9)});
  spawn(1, 0);
  spawn(1, 0);
  spawn(1, 1);
  run();
  cancel(2, cancel_kind::shutdown);
  cancel(1, cancel_kind::shutdown);
  step(2);
  step(1);
  for (int i = 0; i < 50; ++i) {  // In creation order, round after round.
    for (const std::uint64_t t : {1U, 2U}) {
      const step_view v = world().step();
      EXPECT_EQ(v.task, t);
      EXPECT_EQ(v.source, 4);
    }
  }
  step(1);
  step(2);
  EXPECT_TRUE(world().task(1).ended_overrun);
  EXPECT_TRUE(world().task(2).ended_overrun);
  EXPECT_TRUE(world().step().is_idle);
  EXPECT_EQ(world().task(3).polls, 1U);  // Others are left alone.
}

TEST_P(kernel_task_rulings, r130_a_cleanup_that_sleeps_is_not_force_completed_before_shutdown) {
  open({plays({does(do_::park), does(do_::checkpoint), does(do_::mask_enter), does(do_::sleep, 3'600'000'000'000),
               does(do_::return_ok)})});
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  run();
  EXPECT_TRUE(world().step().is_idle);
  world().advance(3'600'000'000'000);
  run();
  EXPECT_FALSE(world().task(1).ended_overrun);
}

TEST_P(kernel_task_rulings, r150_without_a_limit_an_unobserved_cancel_gets_no_stall_polls) {
  world_config config;
  config.max_unobserved_cancel_polls = 0;
  open({repeats(do_::park, 9)}, config);
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  step(1);
  EXPECT_TRUE(world().step().is_idle);
}

TEST_P(kernel_task_rulings, r182_an_interrupted_round_goes_on_where_it_stopped) {
  open({repeats(do_::park, 40), repeats(do_::yield, 1)});
  for (int i = 0; i < 3; ++i) spawn(1, 0);
  run();
  for (const std::uint64_t t : {1U, 2U, 3U}) cancel(t, cancel_kind::user);
  for (int i = 0; i < 3; ++i) world().step();
  step(1);
  spawn(1, 1);
  step(4);
  step(4);
  step(2);
  step(3);
  step(1);
}

TEST_P(kernel_task_rulings, r214_after_shutdown_a_timer_keeps_no_stall_poll_away) {
  open({plays({does(do_::park), does(do_::checkpoint), does(do_::sleep, 1'000'000), does(do_::return_ok)})});
  const auto r = child(1);
  spawn(r, 0);
  run();
  cancel(1, cancel_kind::user);
  run();
  EXPECT_TRUE(world().step().is_idle);
  EXPECT_EQ(world().shutdown_begin(), status::ok);
  EXPECT_EQ(world().step().source, 4);
  run();
  std::uint32_t mask = 0;
  EXPECT_EQ(world().quiescence(mask), status::ok);
}

// ---- Records ----

TEST_P(kernel_task_rulings, r133_a_record_goes_with_its_end_unless_it_is_held) {
  world_config config;
  config.max_tasks = 2;
  open({plays({does(do_::return_ok, 1)})}, config);
  bool newly = false;
  for (int i = 0; i < 100; ++i) {
    spawn(1, 0, of_task(), false);
    run();
  }
  EXPECT_TRUE(world().task(100).is_released);
  EXPECT_EQ(world().request_cancel(100, cancel_kind::user, newly), status::stale_handle);
  spawn(1, 0);
  spawn(1, 0);
  run();
  EXPECT_EQ(world().spawn(1, 0, of_task(), true), status::resource_exhausted);
  world().release_task(101);
  EXPECT_TRUE(world().task(101).is_released);
  EXPECT_EQ(world().request_cancel(101, cancel_kind::user, newly), status::stale_handle);
  EXPECT_EQ(world().request_cancel(102, cancel_kind::user, newly), status::ok);
  EXPECT_EQ(world().spawn(1, 0, of_task(), true), status::ok);
}

TEST_P(kernel_task_rulings, r15_a_tasks_stack_is_unwound_before_its_regions) {
  open({plays({does(do_::push_cleanup, 1), does(do_::push_cleanup, 2), does(do_::return_ok)})});
  const auto r = child(1);
  for (const std::uint64_t n : {7U, 8U}) {
    asx::testing::finalizer_script f;
    f.number = n;
    EXPECT_EQ(world().add_finalizer(r, f), status::ok);
  }
  spawn(r, 0);
  EXPECT_EQ(world().close(r, cancel_kind::user), status::ok);
  run();
  const std::vector<std::string> expected = {"op 1 push_cleanup ok", "op 1 push_cleanup ok", "cleanup 1 2",
                                             "cleanup 1 1",          "finalizer 2 8",        "finalizer 2 7"};
  EXPECT_EQ(world().log(), expected);
  EXPECT_EQ(region(r), region_state::closed);
}

}  // namespace
