// A runtime as its users meet it: run, wait, cancel, shut down, and be told why.
#include "asx/runtime/runtime.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::expect_legal;
using testing::must_create;
using testing::must_spawn;

TEST(runtime, runs_a_task_to_its_end_and_hands_over_its_value) {
  runtime rt;
  ASSERT_EQ(rt.start_status(), status::ok);
  int polls = 0;
  body b{[&](cx& c) {
    if (++polls < 3) {
      c.yield();
      return poll_result::pending;
    }
    c.set_value(42);
    return poll_result::ready;
  }};
  const task_handle t = must_spawn(rt, rt.root(), b);
  EXPECT_EQ(rt.run_until_idle().ended, status::ok);
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(t, out), status::ok);
  EXPECT_EQ(out.value(), 42U);
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  EXPECT_EQ(rt.kernel().result(t, out), status::stale_handle);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(runtime, r269_a_panic_while_a_task_is_dropped_changes_no_result) {
  runtime rt;
  task_handle t;
  const task_spec spec{.poll =
                           [](void*, cx& c) {
                             c.set_value(5);
                             return poll_result::ready;
                           },
                       .context = &rt.kernel(),
                       .drop = [](void* k) noexcept { static_cast<kernel*>(k)->panic("too late"); },
                       .is_held = true};
  ASSERT_EQ(rt.kernel().spawn(rt.root(), spec, t), status::ok);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(t, out), status::ok);
  EXPECT_EQ(out.value(), 5U);
  EXPECT_EQ(rt.kernel().reasons().live(), 0U) << "nobody can read the text, so nobody keeps it";
  ASSERT_EQ(rt.kernel().release_task(t), status::ok);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  std::vector<event> events(static_cast<std::size_t>(rt.journal().size()));
  events.resize(rt.journal().copy_tail(events));
  EXPECT_EQ(
      std::count_if(events.begin(), events.end(), [](const event& e) { return e.kind == event_kind::task_panicked; }),
      1);
}

TEST(runtime, is_quiescent_when_it_is_new_and_when_everything_has_ended) {
  runtime rt;
  EXPECT_EQ(rt.kernel().check_quiescence().failed, 0U);
  body b{[](cx&) { return poll_result::ready; }};
  must_spawn(rt, rt.root(), b, {}, false);
  EXPECT_EQ(rt.kernel().check_quiescence().first, status::tasks_still_active);
  EXPECT_EQ(rt.kernel().check_quiescence().failed, 0b101U);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().check_quiescence().first, status::regions_not_closed);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(runtime, wakes_a_sleeper_at_its_moment_when_time_may_jump) {
  runtime rt;
  instant woke;
  slab_key timer;
  body b{[&](cx& c) {
    if (timer == slab_key{}) {
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::seconds(5), timer), status::ok);
      return poll_result::pending;
    }
    woke = c.now();
    return poll_result::ready;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  const run_result idle = rt.run_until_idle();
  EXPECT_EQ(idle.next_due, instant{5'000'000'000});
  EXPECT_EQ(rt.now(), instant{});
  rt.run_until_quiescent();
  EXPECT_EQ(woke, instant{5'000'000'000});
  expect_legal(rt);
}

TEST(runtime, shuts_down_a_crowd_of_stubborn_tasks_and_says_nothing_is_left) {
  runtime rt;
  std::deque<body> crowd;
  const region_handle region = must_create(rt, rt.root());
  for (int i = 0; i < 100; ++i) {
    crowd.push_back({[i](cx& c) {
      if (i % 4 == 0 && c.checkpoint() != status::ok) return poll_result::ready;
      if (i % 4 == 1) {
        static_cast<void>(c.get_waker());  // Never woken, never looks.
        return poll_result::pending;
      }
      if (i % 4 == 2) static_cast<void>(c.mask_enter());
      c.yield();
      return poll_result::pending;
    }});
    must_spawn(rt, region, crowd.back(), {}, false);
  }
  for (int i = 0; i < 500; ++i) rt.step();
  const shutdown_result out = rt.shutdown();
  EXPECT_TRUE(out.is_quiescent()) << out.survivors;
  expect_legal(rt);
}

TEST(runtime, names_what_a_shutdown_leaves_behind_when_its_steps_are_few) {
  runtime rt;
  body b{[](cx& c) {
    c.yield();
    return poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, "pump", false);
  const shutdown_result out = rt.shutdown({}, 5);
  EXPECT_FALSE(out.is_quiescent());
  EXPECT_EQ(out.quiescence.first, status::tasks_still_active);
  EXPECT_NE(out.survivors.find("task 1 'pump'  cancel_requested"), std::string::npos) << out.survivors;
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(runtime, ends_a_cleanup_that_sleeps_an_hour_soon_after_the_grace) {
  runtime rt;
  slab_key timer;
  body b{[&](cx& c) {
    if (c.checkpoint() != status::ok && timer == slab_key{}) {
      EXPECT_EQ(c.mask_enter(), status::ok);
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::hours(1), timer), status::ok);
    }
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_idle();
  const shutdown_result out = rt.shutdown(duration::seconds(10));
  EXPECT_TRUE(out.is_quiescent()) << out.survivors;
  EXPECT_EQ(rt.now(), instant{10'000'000'000});
  EXPECT_LE(out.steps, 120U);
}

TEST(runtime, refuses_to_be_run_from_inside_a_poll) {
  runtime rt;
  status inner = status::ok;
  body b{[&](cx&) {
    inner = rt.run_until_idle().ended;
    return poll_result::ready;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_idle();
  EXPECT_EQ(inner, status::reentrant);
}

TEST(runtime, refuses_to_be_stepped_from_any_code_that_it_calls) {
  struct caller {
    runtime* rt;
    int asked = 0;
    void ask() {
      ++asked;
      const std::uint64_t hash = rt->kernel().state_hash();
      EXPECT_EQ(rt->step().refused, status::reentrant);
      EXPECT_EQ(rt->run_until_idle().ended, status::reentrant);
      EXPECT_EQ(rt->run_until_quiescent().ended, status::reentrant);
      EXPECT_FALSE(rt->shutdown().is_quiescent());
      EXPECT_EQ(rt->kernel().state_hash(), hash);
    }
  };
  static constexpr auto undo = [](void* self) {
    static_cast<caller*>(self)->ask();
    return status::ok;
  };
  runtime rt;
  caller me{&rt};
  body bystander{[](cx& c) {
    c.yield();
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  must_spawn(rt, rt.root(), bystander, {}, false);
  body b{[&](cx& c) {
    me.ask();  // A poll,
    EXPECT_EQ(c.push_cleanup(undo, &me), status::ok);
    c.yield();
    return poll_result::pending;
  }};
  task_spec spec{.poll = &body::poll, .context = &b};
  spec.drop = [](void*) noexcept {};
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), spec, t), status::ok);
  rt.step();
  rt.step();
  EXPECT_EQ(me.asked, 1);
  EXPECT_EQ(rt.kernel().complete(t, task_outcome::ok()), status::ok);  // a cleanup action that the host set off,
  EXPECT_EQ(me.asked, 2);

  const region_handle region = must_create(rt, rt.root());
  region_spec child;
  child.context = &me;
  child.closed = [](void* self, region_handle) noexcept { static_cast<caller*>(self)->ask(); };
  region_handle inner;
  ASSERT_EQ(rt.kernel().create_region(region, child, inner), status::ok);
  ASSERT_EQ(
      rt.kernel().add_finalizer(inner, [](void* self, region_handle, kernel&) { return undo(self); }, &me), status::ok);
  ASSERT_EQ(rt.kernel().begin_close(inner), status::ok);
  ASSERT_EQ(rt.kernel().begin_finalize(inner), status::ok);  // a finalizer,
  EXPECT_EQ(me.asked, 3);
  ASSERT_EQ(rt.kernel().finish_close(inner), status::ok);  // and the word that a region has closed.
  EXPECT_EQ(me.asked, 4);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

TEST(runtime, stops_before_a_step_when_its_journal_may_not_lose_an_event) {
  runtime_config config;
  config.contract.overflow = trace_overflow::reject;
  config.contract.max_trace_events = 256;
  runtime rt(config);
  body b{[](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  EXPECT_EQ(rt.run_until_idle().ended, status::resource_exhausted);
  EXPECT_EQ(rt.journal().overwritten(), 0U);
  EXPECT_EQ(rt.run_until_idle().steps, 0U) << "and stays stopped until somebody takes the events";
  rt.journal().discard_oldest(rt.journal().size());
  EXPECT_GT(rt.run_until_idle().steps, 0U);
  rt.journal().discard_oldest(rt.journal().size());
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(runtime, runs_until_quiescent_and_leaves_an_open_root) {
  runtime rt;
  slab_key timer;
  body b{[&](cx& c) {
    if (timer != slab_key{}) return poll_result::ready;
    EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::hours(2), timer), status::ok);
    return poll_result::pending;
  }};
  const region_handle region = must_create(rt, rt.root());
  must_spawn(rt, region, b, {}, false);
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_EQ(rt.now(), instant{} + duration::hours(2));
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

TEST(runtime, has_three_profiles_with_the_counts_of_the_specification) {  // U-04, U-05, U-08, R-227
  constexpr resource_contract tiny = resource_contract::tiny();
  static_assert(tiny.max_tasks == 64 && tiny.max_regions == 16 && tiny.max_obligations == 64 &&
                tiny.max_channels == 16);
  static_assert(tiny.max_timers == 64 && tiny.max_trace_events == 256);
  constexpr resource_contract core = resource_contract::core();
  static_assert(core.max_tasks == 65'536 && core.max_regions == 4'096 && core.max_obligations == 65'536);
  static_assert(core.max_channels == 4'096 && core.max_timers == 65'536 && core.max_trace_events == 65'536);
  constexpr resource_contract server = resource_contract::server();
  static_assert(server.max_tasks >= 1'000'000 && server.max_timers >= 1'000'000 &&
                server.max_trace_events == 1'048'576);
  for (const resource_contract& c : {tiny, core}) {
    runtime_config config;
    config.contract = c;
    runtime rt(config);
    EXPECT_EQ(rt.start_status(), status::ok);
  }
}

TEST(runtime, refuses_to_start_with_numbers_out_of_range_or_without_memory) {
  runtime_config config;
  config.workers = 0;
  EXPECT_EQ(runtime(config).start_status(), status::invalid_argument);
  config = {};
  config.contract.version = 2;
  EXPECT_EQ(runtime(config).start_status(), status::invalid_argument);
  config = {};
  config.memory = testing::no_memory;
  runtime rt(config);
  EXPECT_EQ(rt.start_status(), status::resource_exhausted);
  EXPECT_EQ(rt.run_until_idle().ended, status::resource_exhausted);
}

// A block whose children borrow from the frame of the task that owns it: the frame must outlive them.
// Records that are held outlive their region and its parent; what they say must not read theirs.
// A clock that moves by itself, without a machine's clock: each look is a millisecond later, and parking skips ahead.
TEST(runtime, waits_out_a_grace_on_a_clock_that_moves_by_itself_without_using_up_its_steps) {
  struct machine {
    std::uint64_t ns = 0;
    std::uint64_t parked = 0;
  } m;
  runtime_config config;
  config.clock = {&m, [](void* self) noexcept { return instant{static_cast<machine*>(self)->ns += 1'000}; }};
  config.park = {&m, [](void* self, instant, instant until) noexcept {
                   auto& at = *static_cast<machine*>(self);
                   ++at.parked;
                   at.ns = std::min(at.ns + 10'000'000, until.ns);  // It wakes early, as a thread may.
                 }};
  runtime rt(config);
  body b{[](cx& c) {
    static_cast<void>(c.checkpoint());
    static_cast<void>(c.get_waker());
    return c.reason() != nullptr && c.reason()->kind == cancel_kind::shutdown ? poll_result::ready
                                                                              : poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_idle();
  rt.kernel().take_foreign_hold();  // Stall polls would end it before the grace does.
  const std::uint64_t events = rt.journal().seq();
  const shutdown_result first = rt.shutdown(duration::seconds(2), 1'000);
  EXPECT_GE(m.ns, duration::seconds(2).ns);
  EXPECT_GT(m.parked, 100U);
  EXPECT_LT(first.steps, 900U);
  EXPECT_LT(rt.journal().seq() - events, 1'000U) << "waiting is not told once a turn";
  rt.kernel().release_foreign_hold();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

}  // namespace
}  // namespace asx
