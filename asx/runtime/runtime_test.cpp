// A runtime as its users meet it: run, wait, cancel, shut down, and be told why.
#include "asx/runtime/runtime.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/journal/schedule_check.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/testing.hpp"

namespace asx {
namespace {

// A task of a test: a function that sees its own cx.
struct body {
  std::function<poll_result(cx&)> run;
  static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
};

task_handle must_spawn(runtime& rt, region_handle region, body& b, std::string_view name = {}, bool is_held = true) {
  task_handle out;
  task_spec spec{.poll = &body::poll, .context = &b, .name = name};
  spec.is_held = is_held;
  EXPECT_EQ(rt.kernel().spawn(region, spec, out), status::ok);
  return out;
}

region_handle must_create(runtime& rt, region_handle parent, std::string_view name = {}) {
  region_handle out;
  region_spec spec{.name = name};
  spec.is_held = true;
  EXPECT_EQ(rt.kernel().create_region(parent, spec, out), status::ok);
  return out;
}

std::vector<event> events_of(runtime& rt) {
  std::vector<event> out(static_cast<std::size_t>(rt.journal().size()));
  out.resize(rt.journal().copy_tail(out));
  return out;
}

void expect_legal(runtime& rt) {
  const schedule_verdict verdict = check_schedule(events_of(rt));
  EXPECT_TRUE(verdict.accepted()) << explain(verdict);
}

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

TEST(runtime, joins_in_the_order_of_asking) {  // U-17
  runtime rt;
  bool go = false;
  body worker{[&](cx& c) {
    if (go) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  const task_handle t = must_spawn(rt, rt.root(), worker);
  std::vector<int> order;
  waiter waiters[3];
  std::deque<body> joiners;
  for (int i = 0; i < 3; ++i) {
    joiners.push_back({[&, i](cx& c) {
      if (c.kernel().await_completed(t, c, waiters[i]) == status::would_block) return poll_result::pending;
      order.push_back(i);
      return poll_result::ready;
    }});
    must_spawn(rt, rt.root(), joiners.back(), {}, false);
  }
  rt.run_until_idle();
  EXPECT_TRUE(order.empty());
  go = true;
  rt.kernel().waker_of(t).wake();
  rt.run_until_idle();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
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

TEST(runtime, gives_and_frees_arena_memory_with_the_region) {
  runtime rt;
  const region_handle region = must_create(rt, rt.root());
  void* p = nullptr;
  const std::uint64_t before = rt.kernel().nominal_used();
  ASSERT_EQ(rt.kernel().arena_allocate(region, 100, 8, p), status::ok);
  ASSERT_EQ(rt.kernel().arena_allocate(region, 10'000, 16, p), status::ok);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0U);
  EXPECT_EQ(rt.kernel().arena_allocate(region, 1, 3, p), status::invalid_argument);
  EXPECT_EQ(rt.kernel().close(region), status::ok);
  EXPECT_EQ(rt.kernel().arena_allocate(region, 1, 1, p), status::region_closed);
  EXPECT_EQ(rt.kernel().nominal_used(), before);
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
  EXPECT_EQ(rt.kernel().arena_allocate(region, 1, 1, p), status::stale_handle);
}

TEST(runtime, commits_a_reserved_task_into_a_region_that_began_to_close) {
  runtime rt;
  const region_handle region = must_create(rt, rt.root());
  task_slot slot;
  ASSERT_EQ(rt.kernel().reserve_task(region, slot), status::ok);
  EXPECT_EQ(rt.kernel().close(region), status::ok);
  region_report r;
  ASSERT_EQ(rt.kernel().inspect(region, r), status::ok);
  EXPECT_EQ(r.state, region_state::draining) << "the slot counts as a child";
  bool saw_cancel = false;
  body b{[&](cx& c) {
    saw_cancel = c.checkpoint() == status::cancelled;
    return poll_result::ready;
  }};
  rt.kernel().commit(slot, {.poll = &body::poll, .context = &b});
  rt.run_until_idle();
  EXPECT_TRUE(saw_cancel);
  ASSERT_EQ(rt.kernel().inspect(region, r), status::ok);
  EXPECT_EQ(r.state, region_state::closed);
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

TEST(runtime, closes_a_chain_of_a_hundred_thousand_regions_without_deep_calls) {  // R-42, U-12
  runtime_config config;
  config.contract = resource_contract::server();
  config.journaling = journal_mode::digest_only;
  runtime rt(config);
  region_handle at = rt.root();
  region_handle first;
  for (int i = 0; i < 100'000; ++i) {
    region_handle next;
    ASSERT_EQ(rt.kernel().create_region(at, {}, next), status::ok);
    if (i == 0) first = next;
    at = next;
  }
  EXPECT_EQ(rt.kernel().close(first), status::ok);
  EXPECT_EQ(rt.kernel().live_regions(), 1U);
}

TEST(runtime, runs_cleanup_of_a_task_before_the_finalizers_of_its_region) {
  runtime rt;
  static std::vector<std::string> order;
  order.clear();
  const region_handle region = must_create(rt, rt.root());
  for (const char* name : {"F", "G"}) {
    ASSERT_EQ(rt.kernel().add_finalizer(
                  region,
                  [](void* n, region_handle, kernel&) {
                    order.emplace_back(static_cast<const char*>(n));
                    return status::ok;
                  },
                  const_cast<char*>(name)),
              status::ok);
  }
  body b{[](cx& c) {
    for (const char* name : {"A", "B"}) {
      EXPECT_EQ(c.push_cleanup(
                    [](void* n) {
                      order.emplace_back(static_cast<const char*>(n));
                      return status::ok;
                    },
                    const_cast<char*>(name)),
                status::ok);
    }
    return poll_result::ready;
  }};
  must_spawn(rt, region, b, {}, false);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().close(region), status::ok);
  EXPECT_EQ(order, (std::vector<std::string>{"B", "A", "G", "F"}));
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

TEST(runtime, queues_a_woken_task_with_whoever_wakes_it_and_a_cancelled_one_at_home) {
  runtime_config config;
  config.workers = 3;
  runtime rt(config);
  body sleeper{[](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  const task_handle t = must_spawn(rt, rt.root(), sleeper);
  rt.step(1);  // Stolen from worker 0, so worker 1 is its home.
  const waker w = rt.kernel().waker_of(t);
  body rouser{[&](cx&) {
    w.wake();
    return poll_result::ready;
  }};
  must_spawn(rt, rt.root(), rouser, {}, false);
  rt.step(2);
  EXPECT_EQ(rt.sched().depth(2, lane::ready), 1U);
  rt.step(2);
  EXPECT_EQ(rt.kernel().request_cancel(t), status::ok);
  EXPECT_EQ(rt.sched().depth(2, lane::cancel), 1U) << "worker 2 polled it last";
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  expect_legal(rt);
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
TEST(runtime, completes_an_overrun_task_only_after_the_region_that_it_owns) {
  runtime rt;
  int polls_after_overrun = 0;
  region_handle block;
  std::vector<std::string> order;
  body child{[&](cx& c) {
    static_cast<void>(c.checkpoint());
    static_cast<void>(c.get_waker());  // Stubborn: it ends by its quota.
    return poll_result::pending;
  }};
  bool is_overrun = false;
  body parent{[&](cx& c) {
    if (is_overrun) ++polls_after_overrun;
    if (block.is_null()) {
      region_spec spec{.owner = c.handle()};
      spec.context = &order;
      spec.closed = [](void* o, region_handle) noexcept {
        static_cast<std::vector<std::string>*>(o)->push_back("block");
      };
      EXPECT_EQ(c.kernel().create_region(c.region(), spec, block), status::ok);
      task_handle t;
      EXPECT_EQ(c.kernel().spawn(block, {.poll = &body::poll, .context = &child}, t), status::ok);
    }
    is_overrun = c.checkpoint() != status::ok && c.budget_left().poll_quota == 0;
    c.yield();
    return poll_result::pending;
  }};
  static std::vector<std::string>* told;
  told = &order;
  task_handle t;
  task_spec spec{.poll = &body::poll, .context = &parent};
  spec.drop = [](void*) noexcept { told->push_back("owner"); };
  ASSERT_EQ(rt.kernel().spawn(rt.root(), spec, t), status::ok);
  for (int i = 0; i < 5; ++i) rt.step();
  EXPECT_EQ(rt.kernel().request_cancel(t, {cancel_kind::fail_fast, {}}), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(order, (std::vector<std::string>{"block", "owner"}));
  EXPECT_EQ(polls_after_overrun, 0);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

// Records that are held outlive their region and its parent; what they say must not read theirs.
TEST(runtime, lets_held_records_be_read_and_released_after_their_region_and_its_parent) {
  runtime rt;
  const region_handle outer = must_create(rt, rt.root());
  const region_handle inner = must_create(rt, outer);
  body b{[](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  const task_handle t = must_spawn(rt, inner, b);
  rt.step();
  EXPECT_EQ(rt.kernel().close(outer), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().release_region(outer), status::ok);
  region_handle reuse;  // Region 4 takes the slot of region 2.
  ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, reuse), status::ok);
  ASSERT_EQ(reuse.index(), outer.index());
  cancel_witness w;
  EXPECT_EQ(rt.kernel().witness(t, w), status::ok);
  EXPECT_EQ(w.region, region_id{3});
  EXPECT_EQ(rt.kernel().release_region(inner), status::ok);
  ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, reuse), status::ok);
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  std::vector<std::uint64_t> said;
  for (const event& e : events_of(rt)) {
    if (e.kind == event_kind::task_released || (e.kind == event_kind::region_released && e.subject == 3)) {
      said.push_back(e.object);
    }
  }
  EXPECT_EQ(said, (std::vector<std::uint64_t>{2, 3}));
}

TEST(runtime, asks_a_crowd_of_parked_cleanups_in_order_of_creation_round_after_round) {
  runtime rt;
  const region_handle late = must_create(rt, rt.root());
  std::deque<body> crowd;
  std::vector<std::uint64_t> asked;
  for (int i = 0; i < 200; ++i) {
    crowd.push_back({[&](cx& c) {
      if (c.now().ns != 0) asked.push_back(c.task().value);
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }});
    must_spawn(rt, i % 3 == 0 ? late : rt.root(), crowd.back(), {}, false);  // Told in another order than made.
  }
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().begin_shutdown(), status::ok);
  for (int i = 0; i < 200; ++i) rt.step();
  EXPECT_EQ(rt.advance(duration{1}), status::ok);
  for (int i = 0; i < 600; ++i) rt.step();
  ASSERT_EQ(asked.size(), 600U);
  for (std::size_t i = 0; i < asked.size(); ++i) ASSERT_EQ(asked[i], i % 200 + 1) << i;
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  EXPECT_EQ(rt.kernel().release_region(late), status::ok);
}

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

TEST(runtime, names_the_closed_region_as_the_origin_of_a_close_whoever_asked) {
  runtime rt;
  const region_handle other = must_create(rt, rt.root());
  body b{[&](cx& c) {
    EXPECT_EQ(c.kernel().close(other), status::ok);
    return poll_result::ready;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_idle();
  region_report r;
  ASSERT_EQ(rt.kernel().inspect(other, r), status::ok);
  EXPECT_EQ(r.reason->origin_region, region_id{2});
  EXPECT_EQ(r.reason->origin_task, task_id{1});
  EXPECT_EQ(rt.kernel().release_region(other), status::ok);
}

TEST(runtime, draws_its_tree_for_people_and_for_machines) {
  runtime rt;
  const region_handle region = must_create(rt, rt.root(), "connection");
  body b{[](cx& c) {
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  must_spawn(rt, region, b, "reader", false);
  obligation_handle o;
  ASSERT_EQ(rt.kernel().reserve(region, o), status::ok);
  rt.run_until_idle();
  const std::string text = describe_tree(rt.kernel());
  EXPECT_NE(text.find("region 1 root  open  0 tasks, 1 region\n  region 2 'connection'  open  1 task\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    task 1 'reader'  running, waits for a wake  polls 1"), std::string::npos) << text;
  const std::string json = describe_tree_json(rt.kernel());
  EXPECT_EQ(json.find("{\"now_ns\":0,\"regions\":[{\"region\":1,"), 0U) << json;
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
  EXPECT_EQ(rt.kernel().abort(o), status::ok);
  body done{[](cx& c) {
    c.set_value(42);
    return poll_result::ready;
  }};
  const task_handle held = must_spawn(rt, region, done, "writer");
  rt.run_until_idle();
  EXPECT_NE(describe_tree(rt.kernel()).find("\ntask 2 'writer'  completed, held: ok 42  polls 1"), std::string::npos)
      << describe_tree(rt.kernel());
  EXPECT_NE(describe_tree_json(rt.kernel()).find("\"held\":[{\"task\":2,"), std::string::npos);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  EXPECT_EQ(rt.kernel().release_task(held), status::ok);
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

}  // namespace
}  // namespace asx
