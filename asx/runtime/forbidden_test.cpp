// What must not happen, provoked: FB-001 to FB-014 of the catalogue, and FB-300 to FB-304. Expected values are the
// rulings'. FB-100 to FB-104 are in forbidden_limits_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "asx/model/witness.hpp"
#include "asx/runtime/testing/refusals.hpp"

namespace asx {
namespace {

using rs = region_state;
using ts = task_state;
constexpr std::array region_states{rs::open, rs::closing, rs::draining, rs::finalizing, rs::closed};
constexpr std::array task_states{ts::created,    ts::running,    ts::cancel_requested,
                                 ts::cancelling, ts::finalizing, ts::completed};
constexpr auto bad_move = status::invalid_transition;

class forbidden : public testing::refusal_test {
 protected:
  /// A held region without children, brought there by single steps.
  region_handle region_in(region_state wanted) {
    const region_handle r = make_region();
    if (wanted != rs::open) must(k.begin_close(r));
    if (wanted == rs::draining) must(k.begin_drain(r));
    if (wanted >= rs::finalizing) must(k.begin_finalize(r));
    if (wanted == rs::closed) must(k.finish_close(r));
    EXPECT_EQ(state_of(r), wanted);
    return r;
  }
  /// A held task in the root. In cancelling it waits until `cleaned`.
  task_handle task_in(task_state wanted) {
    const bool cleans = wanted >= ts::finalizing;
    const task_handle t = make_task(rt.root(), [cleans](cx& c) {
      if (c.checkpoint() != status::ok && cleans) return poll_result::ready;
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    });
    if (wanted >= ts::running) rt.step();
    if (wanted >= ts::cancel_requested) must(k.request_cancel(t));
    if (wanted >= ts::cancelling) rt.step();
    if (wanted == ts::completed) rt.step();
    EXPECT_EQ(state_of(t), wanted);
    return t;
  }
};

TEST_F(forbidden, fb_001_002_014_nothing_new_in_a_region_that_is_not_open) {
  for (const region_state state : region_states) {
    SCOPED_TRACE(static_cast<int>(state));
    const region_handle r = region_in(state);
    task_handle t;
    region_handle child;
    obligation_handle o;
    task_slot slot;
    slab_key timer;
    void* p = nullptr;
    const task_spec spec{.poll = [](void*, cx&) { return poll_result::ready; }};
    const auto no_finalizer = [](void*, region_handle, kernel&) { return status::ok; };
    if (state == rs::open) {
      EXPECT_EQ(k.spawn(r, spec, t), status::ok);
      EXPECT_EQ(k.create_region(r, {}, child), status::ok);
      EXPECT_EQ(k.reserve(r, o), status::ok);
      EXPECT_EQ(k.arena_allocate(r, 8, 8, p), status::ok);
      continue;
    }
    constexpr auto not_open = status::region_not_open;
    refused(not_open, event_kind::refused_spawn, [&] { return k.spawn(r, spec, t); });
    refused(not_open, event_kind::refused_spawn, [&] { return k.reserve_task(r, slot); });
    refused(not_open, event_kind::refused_region, [&] { return k.create_region(r, {}, child); });
    refused(not_open, event_kind::refused_obligation, [&] { return k.reserve(r, o); });
    refused(not_open, event_kind::refused_finalizer, [&] { return k.add_finalizer(r, no_finalizer, nullptr); });
    refused(not_open, event_kind::refused_timer, [&] { return k.register_timer(r, instant{5}, timer); });
    if (state == rs::closed) {
      refused(status::region_closed, event_kind::refused_memory, [&] { return k.arena_allocate(r, 8, 8, p); });
    } else {
      EXPECT_EQ(k.arena_allocate(r, 8, 8, p), status::ok);
    }
  }
}

TEST_F(forbidden, fb_001_an_open_region_admits_nothing_once_shutdown_has_begun) {
  const region_handle r = make_region();
  make_task(r, waits, false);
  EXPECT_EQ(k.begin_shutdown(), status::ok);
  task_handle t;
  refused(status::region_not_open, event_kind::refused_spawn,
          [&] { return k.spawn(r, {.poll = [](void*, cx&) { return poll_result::ready; }}, t); });
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST_F(forbidden, fb_003_to_006_an_obligation_is_resolved_once) {
  const region_handle r = make_region();
  const auto again = [&](obligation_handle o, status code) {
    refused(code, event_kind::refused_obligation, [&] { return k.commit(o); });
    refused(code, event_kind::refused_obligation, [&] { return k.abort(o); });
  };
  constexpr auto resolved = status::obligation_already_resolved;
  obligation_handle committed, aborted, leaked;
  ASSERT_EQ(k.reserve(r, committed), status::ok);
  ASSERT_EQ(k.reserve(r, aborted), status::ok);
  ASSERT_EQ(k.reserve(r, leaked), status::ok);
  ASSERT_EQ(k.commit(committed), status::ok);
  ASSERT_EQ(k.abort(aborted), status::ok);
  again(committed, resolved);
  again(aborted, resolved);
  ASSERT_EQ(k.begin_close(r), status::ok);
  ASSERT_EQ(k.begin_finalize(r), status::ok);
  again(committed, resolved);
  again(aborted, resolved);
  ASSERT_EQ(k.finish_close(r), status::ok);
  again(committed, resolved);
  again(aborted, resolved);
  again(leaked, status::obligation_leaked);
  obligation_state state{};
  EXPECT_EQ(k.inspect(leaked, state), status::ok);
  EXPECT_EQ(state, obligation_state::leaked);
  for (int i = 0; i < 3; ++i) {  // Their slots are used again, lowest first.
    obligation_handle o;
    ASSERT_EQ(k.reserve(rt.root(), o), status::ok);
  }
  for (const obligation_handle o : {committed, aborted, leaked}) again(o, status::stale_handle);
}

TEST_F(forbidden, fb_007_008_a_region_moves_forward_and_skips_nothing) {
  using step = status (kernel::*)(region_handle);
  const auto begin_close = [](kernel& on, region_handle r) { return on.begin_close(r); };
  const std::array<step, 3> steps{&kernel::begin_drain, &kernel::begin_finalize, &kernel::finish_close};
  // Rows: the state. Columns: begin_close, begin_drain, begin_finalize, finish_close.
  constexpr bool legal[5][4] = {{true, false, false, false},
                                {false, true, true, false},
                                {false, false, true, false},
                                {false, false, false, true},
                                {false, false, false, false}};
  for (const region_state state : region_states) {
    for (std::size_t column = 0; column < 4; ++column) {
      SCOPED_TRACE(std::to_string(static_cast<int>(state)) + " step " + std::to_string(column));
      const region_handle r = region_in(state);
      const auto take = [&] { return column == 0 ? begin_close(k, r) : (k.*steps[column - 1])(r); };
      if (legal[static_cast<std::size_t>(state)][column]) {
        EXPECT_EQ(take(), status::ok);
        EXPECT_GT(state_of(r), state);
        continue;
      }
      refused(bad_move, event_kind::refused_close, take);
      if (column == 0) refused(bad_move, event_kind::refused_close, [&] { return k.close(r); });
    }
  }
}

TEST_F(forbidden, fb_007_the_root_is_closed_by_shutdown_only) {  // U-40
  refused(bad_move, event_kind::refused_close, [&] { return k.close(rt.root()); });
  refused(bad_move, event_kind::refused_close, [&] { return k.begin_close(rt.root()); });
}

TEST_F(forbidden, fb_007_009_a_task_is_not_moved_from_outside_but_along_its_table) {
  const std::array<task_outcome, 4> outcomes{task_outcome::ok(1), task_outcome::err({status::io, 2}),
                                             task_outcome::cancelled(cancel_reason{}),
                                             task_outcome::panicked({"told", "here", 3})};
  // Rows: the state. Columns: ok, err, cancelled, panicked.
  constexpr bool legal[6][4] = {{false, true, false, true}, {true, true, false, true},    {true, true, true, true},
                                {true, true, true, true},   {false, false, false, false}, {false, false, false, false}};
  for (const task_state state : task_states) {
    for (std::size_t column = 0; column < 4; ++column) {
      SCOPED_TRACE(std::to_string(static_cast<int>(state)) + " with outcome " + std::to_string(column));
      const task_handle t = task_in(state);
      if (!legal[static_cast<std::size_t>(state)][column]) {
        refused(bad_move, event_kind::refused_other, [&] { return k.complete(t, outcomes[column]); });
        rt.run_until_idle();
        static_cast<void>(k.complete(t, task_outcome::err({status::io, 0})));
      } else {
        EXPECT_EQ(k.complete(t, outcomes[column]), status::ok);
        task_outcome out;
        ASSERT_EQ(k.result(t, out), status::ok);
        const bool joins = state == ts::cancelling && column != 3;
        EXPECT_EQ(out.kind(), joins ? outcome_kind::cancelled : outcomes[column].kind());
      }
      refused(bad_move, event_kind::refused_other, [&] { return k.complete(t, outcomes[1]); });
      EXPECT_EQ(k.release_task(t), status::ok);
    }
  }
}

TEST_F(forbidden, fb_010_a_stale_handle_reaches_nothing) {
  const auto ends = [](cx&) { return poll_result::ready; };
  const task_handle old_task = make_task(rt.root(), ends);
  rt.run_until_idle();
  ASSERT_EQ(k.release_task(old_task), status::ok);
  const region_handle old_region = region_in(rs::closed);
  ASSERT_EQ(k.release_region(old_region), status::ok);
  make_region();  // The slots are used again.
  make_task(rt.root(), waits, false);
  rt.run_until_idle();

  constexpr auto stale = status::stale_handle;
  for (const region_handle r : {old_region, region_handle{}, region_handle::from(old_task)}) {
    task_handle t;
    region_handle child;
    obligation_handle o;
    task_slot slot;
    slab_key timer;
    void* p = nullptr;
    region_report report;
    task_outcome out;
    using e = event_kind;
    refused(stale, e::refused_spawn,
            [&] { return k.spawn(r, {.poll = [](void*, cx&) { return poll_result::ready; }}, t); });
    refused(stale, e::refused_spawn, [&] { return k.reserve_task(r, slot); });
    refused(stale, e::refused_region, [&] { return k.create_region(r, {}, child); });
    refused(stale, e::refused_obligation, [&] { return k.reserve(r, o); });
    refused(stale, e::refused_timer, [&] { return k.register_timer(r, instant{1}, timer); });
    refused(stale, e::refused_memory, [&] { return k.arena_allocate(r, 1, 1, p); });
    refused(stale, e::refused_finalizer,
            [&] { return k.add_finalizer(r, [](void*, region_handle, kernel&) { return status::ok; }, nullptr); });
    refused(stale, e::refused_close, [&] { return k.close(r); });
    refused(stale, e::refused_close, [&] { return k.begin_close(r); });
    refused(stale, e::refused_close, [&] { return k.begin_drain(r); });
    refused(stale, e::refused_close, [&] { return k.begin_finalize(r); });
    refused(stale, e::refused_close, [&] { return k.finish_close(r); });
    silent(stale, [&] { return k.inspect(r, report); });
    silent(stale, [&] { return k.result(r, out); });
    silent(stale, [&] { return k.release_region(r); });
  }
  for (const task_handle t : {old_task, task_handle{}, task_handle::from(old_region)}) {
    task_report report;
    task_outcome out;
    cancel_witness w;
    refused(stale, event_kind::refused_cancel, [&] { return k.request_cancel(t); });
    refused(stale, event_kind::refused_other, [&] { return k.complete(t, task_outcome::err({status::io, 0})); });
    silent(stale, [&] { return k.inspect(t, report); });
    silent(stale, [&] { return k.result(t, out); });
    silent(stale, [&] { return k.witness(t, w); });
    silent(stale, [&] { return k.release_task(t); });
    silent(status::ok, [&] {
      k.waker_of(t).wake();  // U-21
      return status::ok;
    });
    region_handle child;
    if (!t.is_null()) {
      region_spec spec;
      spec.owner = t;
      refused(stale, event_kind::refused_region, [&] { return k.create_region(rt.root(), spec, child); });
    }
  }
  obligation_state state{};
  silent(stale, [&] { return k.inspect(obligation_handle{}, state); });
  slab_key timer;
  ASSERT_EQ(k.register_timer(rt.root(), instant{1}, timer), status::ok);
  EXPECT_TRUE(k.cancel_timer(timer));
  silent(status::ok, [&] {
    EXPECT_FALSE(k.cancel_timer(timer));
    return status::ok;
  });
}

TEST_F(forbidden, fb_010_a_waiter_and_a_cleanup_reference_can_be_stale_too) {
  const task_handle gone = make_task(rt.root(), [](cx&) { return poll_result::ready; });
  rt.run_until_idle();
  EXPECT_EQ(k.release_task(gone), status::ok);
  const auto theirs = std::make_shared<cleanup_ref>();  // The first task is polled again when all is shut down.
  const auto nothing = [](void*) { return status::ok; };
  make_task(
      rt.root(),
      [nothing, theirs](cx& c) {
        if (theirs->key == slab_key{}) must(c.push_cleanup(nothing, nullptr, theirs.get()));
        return waits(c);
      },
      false);
  rt.run_until_idle();
  make_task(
      rt.root(),
      [&](cx& c) {
        waiter w;
        refused(status::stale_handle, event_kind::refused_join, [&] { return k.await_completed(gone, c, w); });
        refused(status::stale_handle, event_kind::refused_join, [&] { return k.await_closed({}, c, w); });
        refused(status::invalid_argument, event_kind::refused_join,
                [&] { return k.await_completed(c.handle(), c, w); });
        cleanup_ref ref;
        EXPECT_EQ(c.push_cleanup(nothing, nullptr, &ref), status::ok);
        EXPECT_EQ(c.pop_cleanup(ref), status::ok);
        silent(status::stale_handle, [&] { return c.pop_cleanup(ref); });
        silent(status::stale_handle, [&] { return c.pop_cleanup({}); });
        silent(status::stale_handle, [&] { return c.pop_cleanup(*theirs); });  // Another task's.
        return poll_result::ready;
      },
      false);
  rt.run_until_idle();
}

TEST_F(forbidden, fb_010_an_owner_that_has_ended_owns_nothing) {
  const task_handle done = make_task(rt.root(), [](cx&) { return poll_result::ready; });
  rt.run_until_idle();
  region_spec spec;
  spec.owner = done;
  region_handle r;
  refused(status::stale_handle, event_kind::refused_region, [&] { return k.create_region(rt.root(), spec, r); });
  EXPECT_EQ(k.release_task(done), status::ok);
}

TEST_F(forbidden, fb_010_an_owner_owns_only_below_its_own_region) {  // R1b, R-42
  const region_handle street = make_region();
  const task_handle owner = make_task(street, waits);
  region_spec spec;
  spec.owner = owner;
  region_handle house, room;
  for (const region_handle elsewhere : {rt.root(), make_region()}) {
    refused(status::invalid_argument, event_kind::refused_region,
            [&] { return k.create_region(elsewhere, spec, house); });
  }
  ASSERT_EQ(k.create_region(street, spec, house), status::ok);
  ASSERT_EQ(k.create_region(house, spec, room), status::ok) << "a block in a block";
  make_task(room, waits, false);
  rt.run_until_idle();
  EXPECT_EQ(k.request_cancel(owner), status::ok);
  EXPECT_EQ(state_of(house), rs::draining);
  EXPECT_EQ(state_of(room), rs::draining);
  EXPECT_EQ(state_of(street), rs::open);
  EXPECT_EQ(k.release_task(owner), status::ok);
}

TEST_F(forbidden, fb_010_a_held_task_still_knows_its_region_when_that_is_gone) {
  region_handle r;
  ASSERT_EQ(k.create_region(rt.root(), {}, r), status::ok);
  region_report before;
  ASSERT_EQ(k.inspect(r, before), status::ok);
  const task_handle t = make_task(r, waits);
  EXPECT_EQ(k.close(r), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(k.inspect(r, before), status::stale_handle);
  const region_handle other = make_region();  // In the same slot.
  EXPECT_EQ(other.index(), r.index());
  cancel_witness w;
  ASSERT_EQ(k.witness(t, w), status::ok);
  EXPECT_EQ(w.region, before.id);
  EXPECT_EQ(k.release_task(t), status::ok);
  const event told = rt.journal().at(rt.journal().size() - 1);
  EXPECT_EQ(name(told.kind), name(event_kind::task_released));
  EXPECT_EQ(told.object, before.id.value);
}

TEST_F(forbidden, fb_010_a_held_region_still_knows_its_parent_when_that_is_gone) {
  region_handle parent;
  ASSERT_EQ(k.create_region(rt.root(), {}, parent), status::ok);
  region_report before;
  ASSERT_EQ(k.inspect(parent, before), status::ok);
  const region_handle child = make_region(rt, parent);
  EXPECT_EQ(k.close(parent), status::ok);
  EXPECT_EQ(k.inspect(parent, before), status::stale_handle);
  EXPECT_EQ(make_region().index(), parent.index());
  EXPECT_EQ(k.release_region(child), status::ok);
  const event told = rt.journal().at(rt.journal().size() - 1);
  EXPECT_EQ(name(told.kind), name(event_kind::region_released));
  EXPECT_EQ(told.object, before.id.value);
}

TEST_F(forbidden, fb_011_300_an_unresolved_obligation_is_leaked_and_accounted_for) {
  const region_handle r = make_region();
  make_task(r, [](cx&) { return poll_result::ready; }, false);
  rt.run_until_idle();
  obligation_handle kept, first, second;
  for (obligation_handle* o : {&kept, &first, &second}) ASSERT_EQ(k.reserve(r, *o), status::ok);
  ASSERT_EQ(
      k.add_finalizer(
          r, [](void* o, region_handle, kernel& on) { return on.commit(*static_cast<obligation_handle*>(o)); }, &kept),
      status::ok);
  EXPECT_EQ(k.close(r), status::ok);
  EXPECT_EQ(state_of(r), rs::closed);
  region_report report;
  ASSERT_EQ(k.inspect(r, report), status::ok);
  EXPECT_EQ(report.leaked, 2U);
  EXPECT_EQ(report.reserved, 0U);
  task_outcome out;
  ASSERT_EQ(k.result(r, out), status::ok);
  EXPECT_TRUE(out.is_ok()) << "a leak is no outcome (R-12)";
  std::vector<std::uint64_t> leaked;
  std::vector<event_kind> order;
  for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
    const event e = rt.journal().at(i);
    if (e.kind == event_kind::obligation_leaked) leaked.push_back(e.subject);
    if (e.kind == event_kind::obligation_leaked || e.kind == event_kind::region_leaked) order.push_back(e.kind);
    if (e.kind == event_kind::region_leaked) {
      EXPECT_EQ(e.a, 2U);
      EXPECT_EQ(e.b, static_cast<std::uint64_t>(status::unresolved_obligations));
    }
  }
  EXPECT_EQ(leaked, (std::vector<std::uint64_t>{2, 3})) << "in order of creation";
  EXPECT_EQ(order,
            (std::vector{event_kind::obligation_leaked, event_kind::obligation_leaked, event_kind::region_leaked}));
}

TEST_F(forbidden, fb_011_300_the_other_policy_holds_the_region_until_it_is_resolved) {
  runtime_config config;
  config.behaviour.leaks = leak_policy::hold;
  runtime held(config);
  for (const bool is_driven : {true, false}) {
    const region_handle r = make_region(held, held.root());
    obligation_handle o;
    ASSERT_EQ(held.kernel().reserve(r, o), status::ok);
    if (is_driven) {
      EXPECT_EQ(held.kernel().close(r), status::ok);
    } else {
      EXPECT_EQ(held.kernel().begin_close(r), status::ok);
      EXPECT_EQ(held.kernel().begin_finalize(r), status::ok);
      EXPECT_EQ(held.kernel().finish_close(r), status::unresolved_obligations);
      silent(held, status::unresolved_obligations, [&] { return held.kernel().finish_close(r); });
    }
    region_report report;
    ASSERT_EQ(held.kernel().inspect(r, report), status::ok);
    EXPECT_EQ(report.state, rs::finalizing);
    EXPECT_EQ(report.reserved, 1U);
    EXPECT_EQ(held.kernel().abort(o), status::ok);
    if (!is_driven) must(held.kernel().finish_close(r));
    ASSERT_EQ(held.kernel().inspect(r, report), status::ok);
    EXPECT_EQ(report.state, rs::closed);
    EXPECT_EQ(report.leaked, 0U);
  }
  EXPECT_EQ(count(held, event_kind::region_close_held), 2U);
  EXPECT_EQ(count(held, event_kind::obligation_leaked), 0U);
}

TEST_F(forbidden, fb_012_301_a_region_with_live_children_waits_in_draining) {
  const region_handle r = make_region();
  const region_handle child = make_region(rt, r);
  bool go = false;
  const task_handle t = make_task(child, [&go](cx& c) {
    if (go) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  });
  rt.run_until_idle();
  EXPECT_EQ(k.begin_close(r), status::ok);
  refused(status::incomplete_children, event_kind::refused_close, [&] { return k.begin_finalize(r); });
  EXPECT_EQ(k.begin_drain(r), status::ok);
  refused(status::incomplete_children, event_kind::refused_close, [&] { return k.begin_finalize(r); });
  EXPECT_EQ(state_of(r), rs::draining);
  for (int i = 0; i < 20; ++i) rt.step();
  EXPECT_EQ(state_of(r), rs::draining);
  task_outcome out;
  silent(status::incomplete_children, [&] { return k.result(r, out); });
  go = true;
  k.waker_of(t).wake();
  rt.run_until_idle();
  EXPECT_EQ(k.begin_finalize(child), status::ok);
  EXPECT_EQ(k.finish_close(child), status::ok);
  EXPECT_EQ(k.begin_finalize(r), status::ok);
  EXPECT_EQ(k.finish_close(r), status::ok);
  EXPECT_EQ(k.release_task(t), status::ok);
}

TEST_F(forbidden, fb_013_cancelling_a_completed_task_does_nothing) {
  const task_handle t = make_task(rt.root(), [](cx&) { return poll_result::ready; });
  rt.run_until_idle();
  bool newly = true;
  silent(status::ok, [&] { return k.request_cancel(t, {cancel_kind::shutdown, "late"}, &newly); });
  EXPECT_FALSE(newly);
  task_report r;
  ASSERT_EQ(k.inspect(t, r), status::ok);
  EXPECT_EQ(r.epoch, 0U);
  EXPECT_EQ(r.reason, nullptr);
  cancel_witness w;
  silent(status::empty, [&] { return k.witness(t, w); });
  EXPECT_EQ(k.release_task(t), status::ok);
}

TEST_F(forbidden, fb_302_nothing_is_at_rest_while_a_timer_or_a_thing_is_not) {
  slab_key timer;
  ASSERT_EQ(k.register_timer(rt.root(), instant{1'000}, timer), status::ok);
  EXPECT_EQ(k.check_quiescence().first, status::timers_pending);
  EXPECT_EQ(k.check_quiescence().failed, 0b01000U);

  struct fake : owned {
    explicit fake(const owned_ops& table) noexcept : owned(table) {}
    bool is_empty = false;
    int finalized = 0;
  };
  static constexpr owned_ops ops{[](owned& self, kernel&) noexcept { ++static_cast<fake&>(self).finalized; },
                                 [](const owned& self) noexcept { return static_cast<const fake&>(self).is_empty; },
                                 [](const owned&, const text_port&) {}};
  fake in_root(ops), in_child(ops);
  ASSERT_EQ(k.adopt(rt.root(), in_root), status::ok);
  EXPECT_EQ(k.check_quiescence().failed, 0b11000U);
  EXPECT_TRUE(k.cancel_timer(timer));
  EXPECT_EQ(k.check_quiescence().first, status::channel_not_drained);
  EXPECT_EQ(k.check_quiescence().failed, 0b10000U);
  in_root.is_empty = true;
  EXPECT_EQ(k.check_quiescence().failed, 0U);

  const region_handle child = make_region();
  ASSERT_EQ(k.adopt(child, in_child), status::ok);
  obligation_handle o;
  ASSERT_EQ(k.reserve(child, o), status::ok);
  make_task(child, waits, false);
  ASSERT_EQ(k.register_timer(child, instant{1'000}, timer), status::ok);
  EXPECT_EQ(k.check_quiescence().first, status::tasks_still_active);
  EXPECT_EQ(k.check_quiescence().failed, 0b11111U);
  const shutdown_result out = rt.shutdown();
  EXPECT_TRUE(out.is_quiescent()) << out.survivors;
  EXPECT_EQ(in_root.finalized, 1);
  EXPECT_EQ(in_child.finalized, 1);
  fake late(ops);
  refused(status::region_not_open, event_kind::refused_other, [&] { return k.adopt(child, late); });
  EXPECT_EQ(k.release_region(child), status::ok);
  refused(status::stale_handle, event_kind::refused_other, [&] { return k.adopt(child, late); });
}

TEST_F(forbidden, fb_303_a_cancellation_only_moves_forward) {
  std::vector<cancel_witness> seen;
  const task_handle t = make_task(rt.root(), [](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  });
  const auto look = [&] {
    cancel_witness w;
    ASSERT_EQ(k.witness(t, w), status::ok);
    seen.push_back(w);
  };
  rt.run_until_idle();
  bool newly = false;
  ASSERT_EQ(k.request_cancel(t, {}, &newly), status::ok);
  EXPECT_TRUE(newly);
  look();
  rt.step();
  ASSERT_EQ(state_of(t), ts::finalizing) << "acknowledged and cleaned up in one poll";
  look();
  refused(bad_move, event_kind::refused_other, [&] { return k.complete(t, task_outcome::ok()); });
  ASSERT_EQ(k.request_cancel(t, {cancel_kind::shutdown, {}}, &newly), status::ok);  // T12
  EXPECT_FALSE(newly);
  EXPECT_EQ(state_of(t), ts::finalizing);
  look();
  rt.step();
  EXPECT_EQ(state_of(t), ts::completed);
  look();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].epoch, 1U);
    for (std::size_t j = i; j < seen.size(); ++j) {
      EXPECT_EQ(validate(seen[i], seen[j]), status::ok);
      if (seen[j].phase == seen[i].phase) continue;
      EXPECT_EQ(validate(seen[j], seen[i]), status::witness_phase_regression);
    }
  }
  EXPECT_EQ(seen.back().phase, cancel_phase::completed);
  EXPECT_EQ(seen.back().reason.kind, cancel_kind::shutdown);
  EXPECT_EQ(validate(seen[2], seen[1]), status::witness_reason_weakened) << "the same phase with a milder reason";
  task_outcome out;
  ASSERT_EQ(k.result(t, out), status::ok);
  EXPECT_EQ(out.reason().kind, cancel_kind::shutdown);
  EXPECT_EQ(k.release_task(t), status::ok);
}

TEST_F(forbidden, fb_304_an_overrun_cleanup_is_cut_after_its_quota_and_says_so) {
  for (const cancel_kind_info& kind : cancel_kind_table) {
    for (const bool observes : {true, false}) {
      SCOPED_TRACE(std::string(kind.name) + (observes ? ", observing" : ", deaf"));
      std::uint64_t polls = 0;
      int undone = 0;
      const task_handle t = make_task(rt.root(), [&](cx& c) {
        if (polls++ == 0) {
          EXPECT_EQ(c.push_cleanup([](void* n) { return ++*static_cast<int*>(n), status::ok; }, &undone), status::ok);
        }
        if (observes) static_cast<void>(c.checkpoint());
        c.yield();
        return poll_result::pending;
      });
      rt.step();
      const std::size_t told = count(rt, event_kind::task_force_completed);
      ASSERT_EQ(k.request_cancel(t, {kind.kind, {}}), status::ok);
      rt.run_until_idle();
      const std::uint64_t quota = kind.cleanup_quota;
      EXPECT_EQ(polls - 1, observes ? 1 + quota : 2 * quota);
      EXPECT_EQ(undone, 1) << "the stack is unwound without a poll";
      task_outcome out;
      ASSERT_EQ(k.result(t, out), status::ok);
      ASSERT_TRUE(out.is_cancelled());
      EXPECT_EQ(out.reason().kind, kind.kind);
      EXPECT_TRUE(out.cancelled_by().cleanup_budget_exceeded);
      EXPECT_EQ(count(rt, event_kind::task_force_completed), told + 1);
      std::uint64_t used = 0;
      for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
        const event e = rt.journal().at(i);
        if (e.kind == event_kind::task_force_completed) used = e.b;
      }
      EXPECT_EQ(used, quota);
      EXPECT_EQ(k.release_task(t), status::ok);
    }
  }
}

}  // namespace
}  // namespace asx
