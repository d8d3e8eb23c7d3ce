// What must not happen when something is full, provoked: FB-100 to FB-104. Every value of every limit is swept in
// exhaustion_test.cpp; here each is met once, by hand, and the exact answer is asserted.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/runtime/testing/refusals.hpp"

namespace asx {
namespace {

class forbidden_limits : public testing::refusal_test {
 protected:
  static constexpr auto full = status::resource_exhausted;

  template <class Set>
  static runtime_config with(Set set) {
    runtime_config config;
    set(config.contract);
    return config;
  }
  static task_spec ready_task() {
    return {.poll = [](void*, cx&) { return poll_result::ready; }};
  }
};

TEST_F(forbidden_limits, fb_100_a_spawn_beyond_the_ready_queue_leaves_no_part_of_a_task) {
  runtime on(with([](resource_contract& c) { c.max_ready_queue = 2; }));
  task_handle t;
  const task_handle first = make_task(on, on.root(), waits);
  make_task(on, on.root(), waits, false);
  refused(on, full, event_kind::refused_spawn, limit_code::ready_queue,
          [&] { return on.kernel().spawn(on.root(), ready_task(), t); });
  on.run_until_idle();  // Parked ones keep their places: a wake never fails.
  refused(on, full, event_kind::refused_spawn, limit_code::ready_queue,
          [&] { return on.kernel().spawn(on.root(), ready_task(), t); });
  must(on.kernel().request_cancel(first));
  on.run_until_idle();
  EXPECT_EQ(on.kernel().spawn(on.root(), ready_task(), t), status::ok) << "the record is held, its place is free";
  must(on.kernel().release_task(first));
}

TEST_F(forbidden_limits, fb_101_a_timer_beyond_the_node_count_is_refused) {
  runtime on(with([](resource_contract& c) { c.max_timers = 2; }));
  slab_key timers[3];
  for (int i = 0; i < 2; ++i) must(on.kernel().register_timer(on.root(), instant{1'000}, timers[i]));
  refused(on, full, event_kind::refused_timer, limit_code::timers,
          [&] { return on.kernel().register_timer(on.root(), instant{1'000}, timers[2]); });
  EXPECT_TRUE(on.kernel().cancel_timer(timers[0]));
  must(on.kernel().register_timer(on.root(), instant{1'000}, timers[2]));
  EXPECT_EQ(on.run_until_quiescent().ended, status::ok);
  EXPECT_EQ(on.now(), instant{1'000});
}

TEST_F(forbidden_limits, fb_102_a_close_that_the_cancel_queue_cannot_hold_touches_nobody) {
  runtime on(with([](resource_contract& c) { c.max_cancel_queue = 2; }));
  kernel& q = on.kernel();
  const region_handle r = make_region(on, on.root());
  std::vector<task_handle> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(make_task(on, r, waits));
  on.run_until_idle();
  refused(on, full, event_kind::refused_close, limit_code::cancel_queue, [&] { return q.close(r); });
  refused(on, full, event_kind::refused_close, limit_code::cancel_queue, [&] { return q.begin_close(r); });
  must(q.complete(tasks[0], task_outcome::ok()));
  must(q.request_cancel(tasks[1]));
  must(q.request_cancel(tasks[2]));
  const task_handle outside = make_task(on, on.root(), waits);
  bool newly = true;
  refused(on, full, event_kind::refused_cancel, limit_code::cancel_queue,
          [&] { return q.request_cancel(outside, {}, &newly); });
  EXPECT_FALSE(newly);
  must(q.request_cancel(tasks[1], {cancel_kind::fail_fast, {}}));  // Strengthening takes no entry.
  must(q.close(r));                                                // Nor does closing over cancelled tasks.
  on.run_until_idle();
  must(q.request_cancel(outside, {}, &newly));
  EXPECT_TRUE(newly);
  for (const task_handle t : tasks) must(q.release_task(t));
  must(q.release_region(r));
  EXPECT_TRUE(on.shutdown().is_quiescent());
  must(q.release_task(outside));
}

TEST_F(forbidden_limits, fb_102_a_cancel_counts_the_tasks_of_the_regions_that_its_task_owns) {  // R-14, R1b
  runtime on(with([](resource_contract& c) { c.max_cancel_queue = 3; }));
  kernel& q = on.kernel();
  const task_handle owner = make_task(on, on.root(), waits);
  region_spec spec;
  spec.owner = owner;
  region_handle home;
  must(q.create_region(on.root(), spec, home));
  for (int i = 0; i < 3; ++i) make_task(on, home, waits, false);
  on.run_until_idle();
  refused(on, full, event_kind::refused_cancel, limit_code::cancel_queue, [&] { return q.request_cancel(owner); });
  region_report r;
  must(q.inspect(home, r));
  EXPECT_EQ(r.state, region_state::open);
  EXPECT_TRUE(on.shutdown().is_quiescent()) << "which has entries of its own";
  must(q.release_task(owner));
}

TEST_F(forbidden_limits, fb_102_a_cancel_of_the_kernel_waits_for_room_and_is_told_once) {
  runtime on(with([](resource_contract& c) { c.max_cancel_queue = 1; }));
  kernel& q = on.kernel();
  bool goes = false;
  const task_handle holder = make_task(on, on.root(), [&goes](cx& c) {
    if (c.checkpoint() != status::ok && goes) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  });
  on.run_until_idle();
  on.kernel().take_foreign_hold();  // No stall polls: the holder stays where it is.
  must(q.request_cancel(holder));
  on.run_until_idle();
  bodies.push_back({[](cx& c) { return waits(c); }});
  task_spec late{.poll = &body::poll, .context = &bodies.back()};
  late.limits.deadline = instant{10};
  late.is_held = true;
  task_handle t;
  must(q.spawn(on.root(), late, t));
  on.run_until_idle();
  must(on.advance(duration::nanoseconds(10)));
  on.run_until_idle();
  must(on.advance(duration::nanoseconds(10)));
  on.run_until_idle();
  task_report r;
  must(q.inspect(t, r));
  EXPECT_EQ(r.state, task_state::running);
  EXPECT_EQ(count(on, event_kind::cancel_deferred), 1U);
  goes = true;
  q.waker_of(holder).wake();
  on.run_until_idle();
  must(q.inspect(t, r));
  EXPECT_EQ(r.state, task_state::completed);
  EXPECT_EQ(r.reason->kind, cancel_kind::deadline);
  EXPECT_EQ(count(on, event_kind::cancel_deferred), 1U);
  EXPECT_EQ(count(on, event_kind::deadline_passed), 1U) << "told when it passed, and not again";
  q.release_foreign_hold();
  must(q.release_task(t));
  must(q.release_task(holder));
}

TEST_F(forbidden_limits, fb_103_the_ceiling_of_bytes_refuses_whatever_would_pass_it) {  // R-140, U-07
  constexpr auto memory = limit_code::memory;
  runtime on(with([](resource_contract& c) { c.max_bytes = nominal_bytes::region + 600; }));
  kernel& q = on.kernel();
  void* p = nullptr;
  refused(on, full, event_kind::refused_memory, memory, [&] { return q.arena_allocate(on.root(), 601, 8, p); });
  must(q.arena_allocate(on.root(), 100, 8, p));
  EXPECT_EQ(q.nominal_used(), nominal_bytes::region + 100);
  region_handle r;
  refused(on, full, event_kind::refused_region, memory, [&] { return q.create_region(on.root(), {}, r); });
  task_handle t;
  refused(on, full, event_kind::refused_spawn, memory, [&] { return q.spawn(on.root(), ready_task(), t); });
  std::vector<obligation_handle> all;
  for (std::uint64_t left = 500; left >= nominal_bytes::obligation; left -= nominal_bytes::obligation) {
    obligation_handle o;
    must(q.reserve(on.root(), o));
    all.push_back(o);
  }
  obligation_handle o;
  slab_key timer;
  refused(on, full, event_kind::refused_obligation, memory, [&] { return q.reserve(on.root(), o); });
  refused(on, full, event_kind::refused_timer, memory, [&] { return q.register_timer(on.root(), instant{1}, timer); });
  must(q.add_finalizer(on.root(), [](void*, region_handle, kernel&) { return status::ok; }, nullptr));
  refused(on, full, event_kind::refused_finalizer, memory, [&] {
    return q.add_finalizer(on.root(), [](void*, region_handle, kernel&) { return status::ok; }, nullptr);
  });
  for (const obligation_handle each : all) must(q.abort(each));
  must(q.register_timer(on.root(), instant{1}, timer));
}

TEST_F(forbidden_limits, fb_103_a_refused_allocation_is_a_reached_ceiling) {  // U-36
  testing::counting_memory heap;
  runtime_config config;
  config.memory = heap.port();
  runtime on(config);
  heap.refuse_from = 0;
  task_handle t;
  region_handle r;
  obligation_handle o;
  slab_key timer;
  void* p = nullptr;
  constexpr auto memory = limit_code::memory;
  kernel& q = on.kernel();
  refused(on, full, event_kind::refused_spawn, memory, [&] { return q.spawn(on.root(), ready_task(), t); });
  refused(on, full, event_kind::refused_obligation, memory, [&] { return q.reserve(on.root(), o); });
  refused(on, full, event_kind::refused_timer, memory, [&] { return q.register_timer(on.root(), instant{1}, timer); });
  refused(on, full, event_kind::refused_memory, memory, [&] { return q.arena_allocate(on.root(), 8, 8, p); });
  must(q.create_region(on.root(), {}, r));  // In the chunk of the root.
  heap.refuse_from = testing::counting_memory::never;
  must(q.spawn(on.root(), ready_task(), t));
}

TEST_F(forbidden_limits, fb_104_a_ring_overwrites_counts_and_digests_the_same) {
  const auto play = [](std::uint64_t capacity) {
    runtime_config config;
    config.contract.max_trace_events = capacity;
    runtime on(config);
    for (int i = 0; i < 50; ++i) {
      task_handle t;
      must(on.kernel().spawn(on.root(), ready_task(), t));
    }
    on.run_until_idle();
    EXPECT_EQ(on.journal().overwritten() > 0, capacity < on.journal().seq());
    return on.journal().digest();
  };
  EXPECT_EQ(play(16), play(100'000));
}

class full_trace : public forbidden_limits {
 protected:
  /// A runtime whose trace rejects, with little room left but everything there that a call could need.
  static runtime_config config() {
    return with([](resource_contract& c) {
      c.max_trace_events = 256;
      c.overflow = trace_overflow::reject;
    });
  }
  /// Spawns until there is no room for a spawn, and then until there is none to refuse one.
  static void fill(runtime& on) {
    task_handle t;
    std::size_t made = 0;
    while (on.kernel().spawn(on.root(), ready_task(), t) == status::ok && made < 300) ++made;
    EXPECT_LT(made, 300U) << "a full trace refuses";
    while (on.journal().reserve(1) == status::ok) {
      refused(on, full, event_kind::refused_spawn, limit_code::trace,
              [&] { return on.kernel().spawn(on.root(), ready_task(), t); });
    }
  }
  /// Refused, without a word: there is no room for one.
  template <class Call>
  static void no_room(runtime& on, Call call) {
    const std::uint64_t hash = on.kernel().state_hash();
    EXPECT_EQ(testing::name_of(call()), testing::name_of(full));
    EXPECT_EQ(on.kernel().state_hash(), hash);
    EXPECT_EQ(on.journal().overwritten(), 0U);
  }
};

TEST_F(full_trace, fb_104_every_call_that_would_be_told_is_refused) {
  runtime on(config());
  kernel& q = on.kernel();
  const region_handle r = make_region(on, on.root());
  const task_handle waiting = make_task(on, r, waits);
  on.run_until_idle();
  obligation_handle o, other;
  must(q.reserve(r, o));
  fill(on);
  EXPECT_EQ(on.journal().overwritten(), 0U);
  region_handle made;
  task_handle t;
  task_slot slot;
  slab_key timer;
  no_room(on, [&] { return q.spawn(r, ready_task(), t); });
  no_room(on, [&] { return q.reserve_task(r, slot); });
  no_room(on, [&] { return q.create_region(r, {}, made); });
  no_room(on, [&] { return q.reserve(r, other); });
  no_room(on, [&] { return q.commit(o); });
  no_room(on, [&] { return q.abort(o); });
  no_room(on, [&] { return q.register_timer(r, instant{5}, timer); });
  no_room(on, [&] { return q.add_finalizer(r, [](void*, region_handle, kernel&) { return status::ok; }, nullptr); });
  no_room(on, [&] { return q.request_cancel(waiting); });
  no_room(on, [&] { return q.complete(waiting, task_outcome::ok()); });
  no_room(on, [&] { return q.close(r); });
  no_room(on, [&] { return on.run_until_idle().ended; });
  on.journal().discard_oldest(on.journal().size());
  must(q.commit(o));
  must(q.close(r));
  EXPECT_EQ(on.run_until_idle().ended, full) << "and a run stops when there is no room for another step";
  for (int i = 0; i < 100 && on.run_until_idle().ended == full; ++i) on.journal().discard_oldest(on.journal().size());
  EXPECT_EQ(on.journal().overwritten(), 0U);
  must(q.release_task(waiting));
  must(q.release_region(r));
  on.journal().discard_oldest(on.journal().size());
}

}  // namespace
}  // namespace asx
