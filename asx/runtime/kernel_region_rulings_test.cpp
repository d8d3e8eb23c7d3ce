// asx/runtime/kernel_region_rulings_test.cpp - the rulings' own tests on regions, obligations, propagation and
// shutdown.
//
// Each is written against kernel_world and holds for the naive model and for the kernel.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/kernel/testing/world.hpp"
#include "asx/runtime/testing/world_stage.hpp"

namespace {

using asx::budget;
using asx::cancel_kind;
using asx::obligation_state;
using asx::outcome_kind;
using asx::region_state;
using asx::status;
using asx::task_state;
using asx::testing::action;
using asx::testing::cleans_slowly;
using asx::testing::does;
using asx::testing::finalizer_script;
using asx::testing::kernel_stage;
using asx::testing::kernel_world;
using asx::testing::of_task;
using asx::testing::plays;
using asx::testing::repeats;
using asx::testing::world_config;
using do_ = action::kind;

class kernel_region_rulings : public kernel_stage {
 protected:
  void finalizer(std::uint64_t region, std::uint64_t number, std::int32_t spawns = -1, std::int32_t commits = -1,
                 bool panics = false) {
    finalizer_script f;
    f.number = number;
    f.spawns = spawns;
    f.commits = commits;
    f.panics = panics;
    EXPECT_EQ(world().add_finalizer(region, f), status::ok);
  }
  status close(std::uint64_t region, cancel_kind k = cancel_kind::user) { return world().close(region, k); }
};

INSTANTIATE_TEST_SUITE_P(each, kernel_region_rulings, ::testing::ValuesIn(asx::testing::world_makers()),
                         [](const auto& maker) { return std::string(maker.param.name); });

// ---- Moves ----

// Brings a fresh region with one live task, or none, into a state by single steps.
std::uint64_t bring(kernel_world& w, region_state to) {
  EXPECT_EQ(w.create_region(1, {}, true), status::ok);
  const std::uint64_t r = w.regions();
  if (to >= region_state::closing) {
    EXPECT_EQ(w.begin_close(r, cancel_kind::user), status::ok);
  }
  if (to == region_state::draining) {
    EXPECT_EQ(w.begin_drain(r), status::ok);
  }
  if (to >= region_state::finalizing) {
    EXPECT_EQ(w.begin_finalize(r), status::ok);
  }
  if (to == region_state::closed) {
    EXPECT_EQ(w.finish_close(r), status::ok);
  }
  EXPECT_EQ(w.region(r).state, to);
  return r;
}

TEST_P(kernel_region_rulings, r01_a_step_without_an_edge_is_an_invalid_transition) {
  world_config config;
  config.max_regions = 64;
  open({}, config);
  constexpr auto yes = status::ok, no = status::invalid_transition;
  const std::vector<std::vector<status>> table = {
      // begin_close, begin_drain, begin_finalize, finish_close
      {yes, no, no, no},   // open
      {no, yes, yes, no},  // closing
      {no, no, yes, no},   // draining
      {no, no, no, yes},   // finalizing
      {no, no, no, no},    // closed
  };
  for (std::size_t s = 0; s < table.size(); ++s) {
    for (std::size_t call = 0; call < 4; ++call) {
      const auto from = static_cast<region_state>(s);
      const std::uint64_t r = bring(world(), from);
      const status seen = call == 0   ? world().begin_close(r, cancel_kind::user)
                          : call == 1 ? world().begin_drain(r)
                          : call == 2 ? world().begin_finalize(r)
                                      : world().finish_close(r);
      EXPECT_EQ(seen, table[s][call]) << s << " " << call;
      if (seen != status::ok) {
        EXPECT_EQ(region(r), from);
      }
      EXPECT_EQ(close(bring(world(), from)), s == 0 ? yes : no);
    }
  }
}

TEST_P(kernel_region_rulings, r03_finalizing_with_a_live_child_is_incomplete) {
  open({repeats(do_::park, 9)});
  const auto r = child(1);
  spawn(r, 0);
  EXPECT_EQ(world().begin_close(r, cancel_kind::user), status::ok);
  EXPECT_EQ(world().begin_finalize(r), status::incomplete_children);
  EXPECT_EQ(region(r), region_state::closing);
  EXPECT_EQ(world().begin_drain(r), status::ok);
  EXPECT_EQ(world().begin_finalize(r), status::incomplete_children);
  EXPECT_EQ(region(r), region_state::draining);
}

TEST_P(kernel_region_rulings, r04_children_that_have_ended_are_none) {
  open({plays({does(do_::return_ok)})});
  const auto r = child(1), driven = child(1);
  spawn(r, 0);
  spawn(driven, 0);
  run();
  EXPECT_EQ(close(driven), status::ok);
  EXPECT_EQ(region(driven), region_state::closed);
  EXPECT_EQ(world().begin_close(r, cancel_kind::user), status::ok);
  EXPECT_EQ(world().begin_drain(r), status::ok);
  EXPECT_EQ(world().begin_finalize(r), status::ok);
  EXPECT_EQ(world().finish_close(r), status::ok);
}

TEST_P(kernel_region_rulings, r05_a_close_delivers_every_cancel_before_it_returns) {
  open({repeats(do_::park, 9)});
  const auto r = child(1), below = child(r);
  spawn(r, 0);
  spawn(below, 0);
  EXPECT_EQ(world().begin_close(r, cancel_kind::user), status::ok);
  for (const std::uint64_t t : {1U, 2U}) {
    EXPECT_EQ(state(t), task_state::cancel_requested);
    EXPECT_EQ(world().task(t).epoch, 1U);
  }
  EXPECT_EQ(region(below), region_state::closing);
  EXPECT_EQ(world().begin_drain(r), status::ok);
  EXPECT_EQ(region(below), region_state::closing);
  EXPECT_EQ(world().task(2).chain_levels, 3U);
}

TEST_P(kernel_region_rulings, r02_a_cascade_strengthens_what_is_closing_already) {
  open({repeats(do_::park, 200)});
  const auto parent = child(1), r = child(parent);
  spawn(r, 0);
  EXPECT_EQ(close(r), status::ok);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::parent_cancelled);
  EXPECT_EQ(region(r), region_state::draining);
  EXPECT_EQ(close(parent, cancel_kind::shutdown), status::ok);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::shutdown);
  EXPECT_EQ(region(r), region_state::draining);
  EXPECT_EQ(world().region(r).reason_kind, cancel_kind::shutdown);
  EXPECT_EQ(close(r), status::invalid_transition);
}

TEST_P(kernel_region_rulings, r07_regions_close_innermost_first) {
  open({plays({does(do_::park), does(do_::return_ok)})});
  const auto a = child(1), b = child(a), c = child(b);
  for (const auto r : {a, b, c}) finalizer(r, r);
  spawn(c, 0);
  EXPECT_EQ(close(a), status::ok);
  for (const auto r : {a, b, c}) EXPECT_EQ(region(r), region_state::draining);
  run();
  const std::vector<std::string> expected = {"finalizer 4 4", "finalizer 3 3", "finalizer 2 2"};
  EXPECT_EQ(world().log(), expected);
  EXPECT_EQ(region(a), region_state::closed);
}

TEST_P(kernel_region_rulings, r154_a_single_step_drives_nothing_and_a_driven_cascade_drives_all) {
  open({plays({does(do_::park), does(do_::return_ok)})});
  const auto a = child(1), b = child(a);
  spawn(b, 0);
  EXPECT_EQ(world().begin_close(b, cancel_kind::user), status::ok);
  run();
  EXPECT_EQ(state(1), task_state::completed);
  EXPECT_EQ(region(b), region_state::closing);
  EXPECT_EQ(close(a), status::ok);
  EXPECT_EQ(region(b), region_state::closed);
  EXPECT_EQ(region(a), region_state::closed);
}

TEST_P(kernel_region_rulings, r09_each_refusal_by_its_own_code) {
  open({repeats(do_::park, 3)});
  for (const region_state s :
       {region_state::closing, region_state::draining, region_state::finalizing, region_state::closed}) {
    const std::uint64_t r = bring(world(), s);
    EXPECT_EQ(world().spawn(r, 0, of_task(), false), status::region_not_open);
    EXPECT_EQ(world().create_region(r, {}, false), status::region_not_open);
    EXPECT_EQ(world().reserve(r), status::region_not_open);
    world().release_region(r);
    const status after = s == region_state::closed ? status::stale_handle : status::region_not_open;
    EXPECT_EQ(world().spawn(r, 0, of_task(), false), after);
    EXPECT_EQ(world().reserve(r), after);
  }
  EXPECT_EQ(world().tasks(), 0U);
}

TEST_P(kernel_region_rulings, r109_a_full_limit_refuses_without_a_trace) {
  world_config config;
  config.max_tasks = 1;
  config.max_regions = 2;
  config.max_obligations = 1;
  open({repeats(do_::park, 3)}, config);
  const auto r = child(1);
  spawn(r, 0);
  reserved(r);
  EXPECT_EQ(world().spawn(r, 0, of_task(), false), status::resource_exhausted);
  EXPECT_EQ(world().create_region(r, {}, false), status::resource_exhausted);
  EXPECT_EQ(world().reserve(r), status::resource_exhausted);
  EXPECT_EQ(world().tasks() + world().regions() + world().obligations(), 4U);
  EXPECT_EQ(world().commit(1), status::ok);  // reserved ones count.
  EXPECT_EQ(world().reserve(r), status::ok);
}

// ---- Finalizing ----

TEST_P(kernel_region_rulings, r08_a_finalizing_region_admits_finalizer_tasks_only) {
  open({plays({does(do_::spawn, 1), does(do_::create_region), does(do_::reserve), does(do_::yield),
               does(do_::return_ok)}),
        plays({does(do_::return_ok)})});
  const auto r = child(1);
  finalizer(r, 1, 0);
  EXPECT_EQ(close(r), status::ok);
  EXPECT_EQ(region(r), region_state::finalizing);
  EXPECT_EQ(world().region(r).live_tasks, 1U);
  EXPECT_EQ(world().spawn(r, 1, of_task(), false), status::region_not_open);
  EXPECT_EQ(world().create_region(r, {}, false), status::region_not_open);
  step(1);
  const std::vector<std::string> expected = {"finalizer 2 1", "op 1 spawn ok", "op 1 create_region region_not_open",
                                             "op 1 reserve region_not_open"};
  EXPECT_EQ(world().log(), expected);
  EXPECT_EQ(world().finish_close(r), status::incomplete_children);
  run();
  EXPECT_EQ(world().tasks(), 2U);
  EXPECT_EQ(region(r), region_state::closed);
}

TEST_P(kernel_region_rulings, r221_a_finalizer_task_has_the_cleanup_budget_of_the_close) {
  open({repeats(do_::yield, 80)});
  budget b;
  b.poll_quota = 1;  // The region's own budget does not count.
  const auto r = child(1, b);
  finalizer(r, 1, 0);
  EXPECT_EQ(close(r, cancel_kind::shutdown), status::ok);
  for (int i = 0; i < 50; ++i) step(1);
  EXPECT_EQ(state(1), task_state::running);
  step(1);
  EXPECT_EQ(state(1), task_state::cancel_requested);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::poll_quota);
}

TEST_P(kernel_region_rulings, r215_a_finalizer_task_that_waits_for_ever_is_stall_polled) {
  open({repeats(do_::park, 5'000)});
  const auto r = child(1);
  finalizer(r, 1, 0);
  EXPECT_EQ(close(r, cancel_kind::shutdown), status::ok);
  step(1);
  EXPECT_EQ(world().step().source, 4);
  EXPECT_EQ(state(1), task_state::running);
  run();
  EXPECT_TRUE(world().region(r).has_ended);
  EXPECT_EQ(world().region(r).ended, outcome_kind::cancelled);
}

TEST_P(kernel_region_rulings, r217_a_finalizer_that_panics_stops_no_other) {
  open({});
  const auto r = child(1);
  finalizer(r, 1);
  finalizer(r, 2, -1, -1, true);
  finalizer(r, 3);
  EXPECT_EQ(close(r), status::ok);
  const std::vector<std::string> expected = {"finalizer 2 3", "finalizer 2 2", "finalizer 2 1"};
  EXPECT_EQ(world().log(), expected);
  EXPECT_EQ(world().region(r).ended, outcome_kind::panicked);
}

// ---- Obligations ----

TEST_P(kernel_region_rulings, r10_a_leak_proceeds_or_holds_by_policy) {
  world_config config;
  for (const bool holds : {false, true}) {
    config.hold_leaks = holds;
    open({plays({does(do_::return_ok)})}, config);
    const auto r = child(1);
    spawn(r, 0);
    run();
    const auto o = reserved(r);
    EXPECT_EQ(close(r), status::ok);
    EXPECT_EQ(region(r), holds ? region_state::finalizing : region_state::closed);
    if (holds) {
      EXPECT_EQ(world().finish_close(r), status::unresolved_obligations);
      EXPECT_EQ(world().commit(o), status::ok);  // tries the close again.
    }
    EXPECT_EQ(region(r), region_state::closed);
    EXPECT_EQ(world().region(r).leaked, holds ? 0U : 1U);
    EXPECT_EQ(world().region(r).ended, outcome_kind::ok);
    EXPECT_EQ(world().commit(o), holds ? status::obligation_already_resolved : status::obligation_leaked);
  }
}

TEST_P(kernel_region_rulings, r11_a_finalizer_may_still_commit_before_the_sweep) {
  open({plays({does(do_::reserve), does(do_::reserve), does(do_::return_ok)})});
  const auto r = child(1);
  spawn(r, 0);
  run();  // the task has ended.
  EXPECT_EQ(world().region(r).reserved, 2U);
  finalizer(r, 1, -1, 1);
  EXPECT_EQ(close(r), status::ok);
  EXPECT_EQ(obligation(1), obligation_state::leaked);
  EXPECT_EQ(obligation(2), obligation_state::committed);
}

TEST_P(kernel_region_rulings, r30_the_code_of_a_second_resolution_depends_on_the_obligation_alone) {
  open({});
  const auto r = child(1);
  const auto kept = reserved(r), given = reserved(r), lost = reserved(r);
  EXPECT_EQ(world().commit(kept), status::ok);
  EXPECT_EQ(world().abort(given), status::ok);
  for (int closed = 0; closed < 2; ++closed) {
    for (const auto o : {kept, given}) {
      EXPECT_EQ(world().commit(o), status::obligation_already_resolved);
      EXPECT_EQ(world().abort(o), status::obligation_already_resolved);
    }
    if (closed == 0) {
      EXPECT_EQ(close(r), status::ok);
    }
  }
  EXPECT_EQ(world().abort(lost), status::obligation_leaked);
  reserved(1);  // R-218, U-19: the lowest slot is used again.
  obligation_state unused{};
  EXPECT_EQ(world().commit(kept), status::stale_handle);
  EXPECT_EQ(world().obligation_state_of(kept, unused), status::stale_handle);
  EXPECT_EQ(world().commit(given), status::obligation_already_resolved);
}

// ---- Outcomes ----

TEST_P(kernel_region_rulings, r13_a_region_folds_all_its_children_in_creation_order) {
  open({plays({does(do_::park), does(do_::return_error, 1)}), plays({does(do_::return_error, 2)}),
        plays({does(do_::panic)}), plays({does(do_::return_ok, 9)})});
  const auto r = child(1);
  spawn(r, 0);
  spawn(r, 1);
  run();
  world().wake(1);
  run();
  EXPECT_EQ(close(r), status::ok);
  EXPECT_EQ(world().region(r).ended, outcome_kind::err);
  EXPECT_EQ(world().region(r).ended_value, 1U);

  const auto outer = child(1), inner = child(outer);
  spawn(outer, 3);
  spawn(inner, 2);
  run();
  EXPECT_EQ(close(outer), status::ok);
  EXPECT_EQ(world().region(outer).ended, outcome_kind::panicked);

  const auto fine = child(1);
  spawn(fine, 3, of_task(), false);
  run();
  EXPECT_EQ(close(fine), status::ok);
  EXPECT_EQ(world().region(fine).ended_value, 9U);
}

// ---- Cancel queue ----

TEST_P(kernel_region_rulings, r14_a_close_that_finds_no_room_changes_nothing) {
  world_config config;
  config.cancel_queue = 2;
  open({plays({does(do_::park), does(do_::return_ok)})}, config);
  const auto r = child(1), below = child(r);
  spawn(r, 0);
  spawn(below, 0);
  spawn(below, 0);
  run();
  EXPECT_EQ(close(r), status::resource_exhausted);
  EXPECT_EQ(region(r), region_state::open);
  for (const std::uint64_t t : {1U, 2U, 3U}) EXPECT_EQ(state(t), task_state::running);
  world().wake(2);
  run();
  EXPECT_EQ(close(r), status::ok);
  bool newly = true;
  spawn(1, 0);
  EXPECT_EQ(world().request_cancel(4, cancel_kind::user, newly), status::resource_exhausted);
  EXPECT_FALSE(newly);
  EXPECT_EQ(state(4), task_state::created);
  EXPECT_FALSE(cancel(1, cancel_kind::shutdown));  // It has its entry.
  step(1);                                         // until it is completed.
  EXPECT_TRUE(cancel(4, cancel_kind::user));
  EXPECT_EQ(world().shutdown_begin(), status::ok);  // Shutdown has its own entries.
}

TEST_P(kernel_region_rulings, r219_out_of_polls_and_no_room_waits_for_the_next_phase_0) {
  world_config config;
  config.cancel_queue = 1;
  open({plays({does(do_::park), does(do_::park), does(do_::return_ok)}), repeats(do_::yield, 9)}, config);
  spawn(1, 0);
  run();
  cancel(1, cancel_kind::user);
  step(1);
  budget b = of_task();
  b.poll_quota = 1;
  spawn(1, 1, b);
  step(2);
  step(2);
  EXPECT_EQ(world().task(2).polls, 1U);  // Not polled,
  EXPECT_EQ(world().task(2).lane, 3);    // and out of its lane.
  EXPECT_EQ(state(2), task_state::running);
  world().wake(1);
  step(1);
  EXPECT_EQ(state(1), task_state::completed);
  EXPECT_EQ(state(2), task_state::running);
  EXPECT_EQ(world().step().source, 0);
  EXPECT_EQ(state(2), task_state::cancel_requested);
  EXPECT_EQ(world().task(2).reason_kind, cancel_kind::poll_quota);
  EXPECT_EQ(world().task(2).polls, 2U);
}

// ---- Propagation ----

TEST_P(kernel_region_rulings, r41_a_hop_keeps_shutdown_and_turns_the_rest_into_parent_cancelled) {
  open({cleans_slowly(do_::park, 9)});
  const auto a = child(1), b = child(1), deep = child(b);
  spawn(a, 0);
  spawn(deep, 0);
  run();
  EXPECT_EQ(close(a), status::ok);
  EXPECT_EQ(close(b, cancel_kind::shutdown), status::ok);
  EXPECT_EQ(world().task(1).reason_kind, cancel_kind::parent_cancelled);
  EXPECT_EQ(world().task(1).chain_levels, 2U);
  EXPECT_EQ(world().task(2).reason_kind, cancel_kind::shutdown);
  EXPECT_EQ(world().task(2).chain_levels, 3U);
  EXPECT_EQ(world().region(deep).reason_kind, cancel_kind::shutdown);
  step(2);
  step(1);
  EXPECT_EQ(world().task(1).cleanup_polls_left, 200U);
  EXPECT_EQ(world().task(2).cleanup_polls_left, 50U);
}

TEST_P(kernel_region_rulings, r42_propagation_is_in_pre_order) {
  open({repeats(do_::park, 9)});
  const auto r = child(1), first = child(r);
  spawn(first, 0);
  spawn(r, 0);
  const auto second = child(r);
  spawn(second, 0);
  spawn(r, 0);
  run();
  EXPECT_EQ(close(r), status::ok);
  for (const std::uint64_t t : {2U, 4U, 1U, 3U}) step(t);
}

TEST_P(kernel_region_rulings, r43_a_cancel_does_not_go_sideways) {
  open({repeats(do_::park, 9)});
  const auto a = child(1), b = child(1);
  spawn(a, 0);
  spawn(b, 0);
  run();
  EXPECT_EQ(close(a, cancel_kind::fail_fast), status::ok);
  EXPECT_FALSE(world().task(2).has_witness);
  EXPECT_EQ(region(b), region_state::open);
}

TEST_P(kernel_region_rulings, r161_a_task_may_close_its_own_region) {
  open({plays({does(do_::close_region, 2), does(do_::is_cancelled), does(do_::park), does(do_::return_ok)})});
  const auto r = child(1);
  spawn(r, 0);
  step(1);
  const std::vector<std::string> expected = {"op 1 close_region ok", "op 1 is_cancelled true"};
  EXPECT_EQ(world().log(), expected);
  EXPECT_EQ(region(r), region_state::draining);
  EXPECT_EQ(world().task(1).lane, 0);
  step(1);
  EXPECT_EQ(region(r), region_state::closed);
}

TEST_P(kernel_region_rulings, r88_who_may_register_a_timer_in_a_region_that_ends) {
  open({plays({does(do_::park), does(do_::sleep, 1), does(do_::checkpoint), does(do_::sleep, 1), does(do_::return_ok)}),
        plays({does(do_::sleep, 1), does(do_::return_ok)})});
  const auto r = child(1), steps = child(1);
  spawn(r, 0);
  spawn(steps, 0);
  run();
  finalizer(r, 1, 1);
  EXPECT_EQ(close(r), status::ok);
  EXPECT_EQ(world().begin_close(steps, cancel_kind::user), status::ok);
  run();
  world().advance(1);
  run();
  const std::vector<std::string> expected = {
      "op 1 sleep region_not_open", "op 1 checkpoint cancelled",  "op 1 sleep ok", "op 2 sleep region_not_open",
      "op 2 checkpoint cancelled",  "op 2 sleep region_not_open", "finalizer 2 1", "op 3 sleep ok"};
  EXPECT_EQ(world().log(), expected);
}

// ---- Quiescence and shutdown ----

TEST_P(kernel_region_rulings, r74_all_checks_run_and_the_first_is_the_answer) {
  open({plays({does(do_::sleep, 50), does(do_::return_ok)})});
  std::uint32_t mask = 99;
  EXPECT_EQ(world().quiescence(mask), status::ok);
  EXPECT_EQ(mask, 0U);
  const auto r = child(1);
  EXPECT_EQ(world().quiescence(mask), status::regions_not_closed);
  EXPECT_EQ(mask, 4U);
  spawn(r, 0);
  run();
  reserved(r);
  EXPECT_EQ(world().quiescence(mask), status::tasks_still_active);
  EXPECT_EQ(mask, 15U);
  EXPECT_EQ(close(r), status::ok);
  run();
  EXPECT_EQ(region(r), region_state::closed);
  EXPECT_EQ(world().quiescence(mask), status::regions_not_closed);
}

TEST_P(kernel_region_rulings, r108_shutdown_ends_a_mixed_crowd) {
  open({repeats(do_::yield, 500), repeats(do_::park, 500), cleans_slowly(do_::park, 500),
        plays({does(do_::reserve), does(do_::sleep, 1'000'000), does(do_::return_ok)}), plays({does(do_::return_ok)})});
  const auto a = child(1), b = child(a, {}, false);
  finalizer(a, 1, 1);
  for (std::uint64_t i = 0; i < 40; ++i)
    spawn(i % 3 == 0 ? 1 : i % 3 == 1 ? a : b, static_cast<std::size_t>(i % 5), of_task(), i % 2 == 0);
  run(60);
  EXPECT_EQ(world().shutdown_begin(), status::ok);
  EXPECT_EQ(world().spawn(1, 4, of_task(), false), status::region_not_open);
  EXPECT_LT(run(20'000), 20'000U);
  std::uint32_t mask = 99;
  EXPECT_EQ(world().quiescence(mask), status::ok);
  EXPECT_EQ(mask, 0U);
  EXPECT_EQ(region(1), region_state::closed);
  EXPECT_EQ(world().region(1).reason_kind, cancel_kind::shutdown);
}

}  // namespace
