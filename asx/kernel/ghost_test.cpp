// The monitors beside a kernel that is stepped by hand: what they record of moves, resolutions and cancels, and their
// limits. Each report is compared word for word.
#include "asx/kernel/ghost.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/kernel/testing/stepped_kernel.hpp"

namespace asx {
namespace {

using testing::body;
using testing::stepped_kernel;

// ---- what is recorded ---------------------------------------------------------------------------------------------

TEST(ghosts, say_that_all_is_well_and_say_that_they_are_off) {
  stepped_kernel on;
  EXPECT_EQ(on.g().report(), "ghosts: 0 violations, 0 notes\n");
  stepped_kernel off(ghost_mode::off);
  EXPECT_EQ(off.g().report(), "ghosts: off\n");
}

TEST(ghosts, are_on_by_themselves_in_a_debug_build_only) {  // U-35
#if defined(NDEBUG)
  constexpr bool is_debug = false;
#else
  constexpr bool is_debug = true;
#endif
  stepped_kernel b(ghost_mode::automatic);
  EXPECT_EQ(b.g().is_on(), is_debug);
}

TEST(ghosts, count_an_illegal_move_of_a_region_once) {  // R-17, FB-007, FB-008
  stepped_kernel b;
  const region_handle r = b.region();
  EXPECT_EQ(b.k.begin_finalize(r), status::invalid_transition);
  EXPECT_EQ(b.g().count(ghost_kind::illegal_transition), 1U);
  EXPECT_EQ(b.k.begin_close(r), status::ok);
  EXPECT_EQ(b.k.begin_close(r), status::invalid_transition);
  EXPECT_EQ(b.k.finish_close(r), status::invalid_transition);
  EXPECT_EQ(b.k.close(b.k.root()), status::invalid_transition);
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 4 violations, 0 notes\n"
      "  illegal_transition 4\n"
      "FB-008  illegal_transition  region 2 asked to finalize while open, by the host, worker 0, after event 1\n"
      "FB-007  illegal_transition  region 2 asked to close while closing, by the host, worker 0, after event 4\n"
      "FB-008  illegal_transition  region 2 asked to finish its close while closing, by the host, worker 0, after "
      "event 5\n"
      "FB-008  illegal_transition  region 1 asked to close while open, by the host, worker 0, after event 6\n");
  const std::vector<event> told = b.diagnostics();
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].kind, event_kind::ghost_violation);
  EXPECT_EQ(told[0].a, 8U);
  EXPECT_EQ(told[0].b, static_cast<std::uint64_t>(status::invalid_transition));
  EXPECT_EQ(told[0].object, 2U);
  EXPECT_FALSE(told[0].semantic());
  EXPECT_EQ(b.k.begin_drain(r), status::ok);
  EXPECT_EQ(b.k.begin_finalize(r), status::ok);
  EXPECT_EQ(b.k.finish_close(r), status::ok);
  EXPECT_EQ(b.k.release_region(r), status::ok);
}

TEST(ghosts, count_every_pair_of_region_state_and_step_that_is_refused) {  // R-17, all 4 steps in all 5 states
  for (int steps = 0; steps <= 4; ++steps) {
    stepped_kernel b;
    const region_handle r = b.region();
    using step = status (*)(kernel&, region_handle);
    constexpr step path[] = {[](kernel& k, region_handle h) { return k.begin_close(h); },
                             [](kernel& k, region_handle h) { return k.begin_drain(h); },
                             [](kernel& k, region_handle h) { return k.begin_finalize(h); },
                             [](kernel& k, region_handle h) { return k.finish_close(h); }};
    for (int i = 0; i < steps; ++i) ASSERT_EQ(path[i](b.k, r), status::ok);
    for (int i = 0; i < 4; ++i) {
      if (i == steps || (steps == 1 && i == 2)) continue;  // The legal ones: R2 and R3 both leave closing.
      const std::uint64_t before = b.g().violations();
      EXPECT_EQ(path[i](b.k, r), status::invalid_transition);
      ASSERT_EQ(b.g().violations(), before + 1);
      EXPECT_STREQ(b.g().at(b.g().size() - 1).rule.id, i > steps ? "FB-008" : "FB-007");
    }
    for (int i = steps; i < 4; ++i) ASSERT_EQ(path[i](b.k, r), status::ok);
    EXPECT_EQ(b.k.release_region(r), status::ok);
  }
}

TEST(ghosts, count_an_illegal_move_of_a_task_once) {  // FB-007, FB-009
  stepped_kernel b;
  body idle{[](cx&) { return poll_result::ready; }};
  const task_handle t = b.spawn(idle);
  EXPECT_EQ(b.k.complete(t, task_outcome::ok()), status::invalid_transition);
  EXPECT_TRUE(b.dispatch_one(0));
  EXPECT_EQ(b.k.complete(t, task_outcome::ok()), status::invalid_transition);
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 2 violations, 0 notes\n"
      "  illegal_transition 2\n"
      "FB-009  illegal_transition  task 1 completed from outside while created, by the host, worker 0, after event "
      "3\n"
      "FB-007  illegal_transition  task 1 completed from outside while completed, by the host, worker 0, after event "
      "7\n");
  EXPECT_EQ(b.k.release_task(t), status::ok);
}

TEST(ghosts, see_a_second_resolution_of_an_obligation) {  // FB-003 to FB-006
  stepped_kernel b;
  const region_handle r = b.region();
  const obligation_handle kept = b.reserve(r);
  const obligation_handle given_back = b.reserve(r);
  EXPECT_EQ(b.k.commit(kept), status::ok);
  EXPECT_EQ(b.k.abort(given_back), status::ok);
  EXPECT_EQ(b.k.commit(kept), status::obligation_already_resolved);
  EXPECT_EQ(b.k.abort(given_back), status::obligation_already_resolved);
  EXPECT_EQ(b.k.abort(kept), status::obligation_already_resolved);
  EXPECT_EQ(b.k.commit(given_back), status::obligation_already_resolved);
  EXPECT_EQ(b.g().report(),
            "ghosts: 4 violations, 0 notes\n"
            "  use_after_resolve 4\n"
            "FB-003  use_after_resolve  obligation 1 committed while committed, by the host, worker 0, after event 5\n"
            "FB-004  use_after_resolve  obligation 2 aborted while aborted, by the host, worker 0, after event 6\n"
            "FB-005  use_after_resolve  obligation 1 aborted while committed, by the host, worker 0, after event 7\n"
            "FB-006  use_after_resolve  obligation 2 committed while aborted, by the host, worker 0, after event 8\n");
  EXPECT_EQ(b.k.close(r), status::ok);
  EXPECT_EQ(b.k.release_region(r), status::ok);
}

TEST(ghosts, see_a_leak_with_its_owner_and_where_it_was_reserved_and_a_use_after_it) {  // FB-011
  stepped_kernel b;
  const region_handle r = b.region();
  obligation_handle o;
  const auto line = std::to_string(__LINE__ + 1);
  body debtor{[&](cx&) { return b.k.reserve(r, o) == status::ok ? poll_result::ready : poll_result::error; }};
  const task_handle t = b.spawn(debtor);
  EXPECT_TRUE(b.dispatch_one(0));
  EXPECT_EQ(b.k.close(r), status::ok);
  EXPECT_EQ(b.k.commit(o), status::obligation_leaked);
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 2 violations, 0 notes\n"
      "  use_after_resolve 1\n"
      "  leak 1\n"
      "FB-011  leak  obligation 1 never resolved: its region closed first, by task 1, worker 0, after event 12  "
      "ghost_test.cpp:" +
          line +
          "\n"
          "FB-011  use_after_resolve  obligation 1 committed while leaked, by the host, worker 0, after event 14  "
          "ghost_test.cpp:" +
          line + "\n");
  EXPECT_EQ(b.k.release_task(t), status::ok);
  EXPECT_EQ(b.k.release_region(r), status::ok);
}

TEST(ghosts, note_a_second_cancel_of_a_task_or_a_timer_as_no_violation) {
  stepped_kernel b;
  body sleeper{[](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  const task_handle t = b.spawn(sleeper);
  bool newly = false;
  EXPECT_EQ(b.k.request_cancel(t, {}, &newly), status::ok);
  EXPECT_TRUE(newly);
  EXPECT_EQ(b.g().notes(), 0U);
  EXPECT_EQ(b.k.request_cancel(t, {}, &newly), status::ok);
  EXPECT_FALSE(newly);
  slab_key timer;
  EXPECT_EQ(b.k.register_timer(b.k.root(), instant{1000}, timer), status::ok);
  EXPECT_TRUE(b.k.cancel_timer(timer));
  EXPECT_FALSE(b.k.cancel_timer(timer));
  EXPECT_FALSE(b.k.cancel_timer(slab_key{}));  // Never was one.
  EXPECT_EQ(b.g().report(),
            "ghosts: 0 violations, 2 notes\n  double_cancel 1 (note)\n  double_timer_cancel 1 (note)\n");
  const std::vector<event> told = b.diagnostics();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].kind, event_kind::ghost_note);
  EXPECT_EQ(told[0].a, 28U);
  EXPECT_EQ(told[0].object, 1U);
  EXPECT_EQ(told[1].a, 92U);
  EXPECT_EQ(b.k.release_task(t), status::ok);
  while (b.dispatch_one(0)) {  // The sleeper ends before its body does.
  }
}

TEST(ghosts, do_not_note_the_cancel_of_a_timer_that_has_fired) {
  stepped_kernel b;
  slab_key timer;
  EXPECT_EQ(b.k.register_timer(b.k.root(), instant{1000}, timer), status::ok);
  EXPECT_EQ(b.k.pass_time(0, instant{2000}), 1U);
  EXPECT_FALSE(b.k.cancel_timer(timer));
  EXPECT_EQ(b.g().notes(), 0U);
}

// ---- limits -------------------------------------------------------------------------------------------------------

TEST(ghosts, remember_the_last_violations_and_count_all) {
  resource_contract limits = resource_contract::tiny();
  limits.max_ghost_entries = 2;
  stepped_kernel b(ghost_mode::on, limits);
  b.g().touch(0, ghost_object{1});
  for (std::uint32_t w = 1; w <= 3; ++w) b.g().touch(w, ghost_object{1});
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 3 violations, 0 notes\n"
      "  foreign_use 3\n"
      "the last 2 of them:\n"
      "FB-202  foreign_use  object 1 touched without a transfer certificate (worker 0 owns it), by the host, worker "
      "2, after event 0\n"
      "FB-202  foreign_use  object 1 touched without a transfer certificate (worker 0 owns it), by the host, worker "
      "3, after event 0\n");
  b.g().touch(0, ghost_object{2});
  b.g().touch(0, ghost_object{3});
  EXPECT_EQ(b.g().count(ghost_kind::ledger_full), 1U);
  EXPECT_EQ(b.g().violations(), 3U);
}

TEST(ghosts, take_one_block_at_the_start_and_count_on_when_it_is_refused) {
  testing::counting_memory memory;
  std::size_t without = 0;
  {
    stepped_kernel off(ghost_mode::off, resource_contract::tiny(), memory.port());
    without = memory.requests();
  }
  const std::size_t begin = memory.requests();
  {
    stepped_kernel on(ghost_mode::on, resource_contract::tiny(), memory.port());
    EXPECT_EQ(memory.requests() - begin, without + 1);
    const std::size_t started = memory.requests();
    for (std::uint64_t i = 1; i < 100; ++i) static_cast<void>(on.g().borrow_mut(task_id{i}, ghost_object{i % 3}));
    on.g().touch(0, ghost_object{1});
    on.g().touch(1, ghost_object{1});
    EXPECT_EQ(memory.requests(), started) << "nothing is allocated after the start";
  }
  memory.refuse_from = memory.requests() + without;
  {
    stepped_kernel refused(ghost_mode::on, resource_contract::tiny(), memory.port());
    EXPECT_TRUE(refused.k.ready());
    EXPECT_EQ(refused.k.close(refused.k.root()), status::invalid_transition);
    EXPECT_TRUE(refused.g().borrow(task_id{1}, ghost_object{1}).is_null());
    refused.g().touch(0, ghost_object{1});
    EXPECT_EQ(refused.g().report(),
              "ghosts: 1 violation, 2 notes\n"
              "  illegal_transition 1\n"
              "  ledger_full 2 (note)\n"
              "the last 0 of them:\n");
  }
}

TEST(ghosts, stay_out_of_a_journal_whose_room_is_counted) {  // A diagnostic would take the room of an event.
  resource_contract limits = resource_contract::tiny();
  limits.overflow = trace_overflow::reject;
  stepped_kernel b(ghost_mode::on, limits);
  EXPECT_EQ(b.k.close(b.k.root()), status::invalid_transition);
  EXPECT_EQ(b.g().violations(), 1U);
  EXPECT_TRUE(b.diagnostics().empty());
}

TEST(ghosts, know_nothing_and_return_null_borrows_while_they_are_off) {
  stepped_kernel b(ghost_mode::off);
  const ghost_borrow null = b.g().borrow(task_id{1}, ghost_object{1});
  EXPECT_TRUE(null.is_null());
  b.g().copy(null);
  b.g().release(null);
  b.g().touch(0, ghost_object{1});
  b.g().touch(1, ghost_object{1});
  b.g().transfer(ghost_object{1}, 0, 1);
  b.g().forget(ghost_object{1});
  EXPECT_FALSE(b.g().expect_digest(1, {}));
  b.g().expect_digests({});
  b.g().record({.kind = ghost_kind::leak});
  EXPECT_EQ(b.k.close(b.k.root()), status::invalid_transition);
  EXPECT_EQ(b.g().violations() + b.g().notes() + b.g().size(), 0U);
  EXPECT_TRUE(b.diagnostics().empty());
}

TEST(ghosts, take_what_components_above_the_kernel_record) {  // a permit that was sent already.
  stepped_kernel b;
  b.g().record({.kind = ghost_kind::use_after_resolve,
                .on = ghost_noun::obligation,
                .returned = status::obligation_already_resolved,
                .rule = {3, "FB-003"},
                .object = 5,
                .detail = static_cast<std::uint64_t>(obligation_state::committed),
                .text = "sent"});
  EXPECT_EQ(b.g().report(),
            "ghosts: 1 violation, 0 notes\n"
            "  use_after_resolve 1\n"
            "FB-003  use_after_resolve  obligation 5 sent while committed, by the host, worker 0, after event 0\n");
}

}  // namespace
}  // namespace asx
