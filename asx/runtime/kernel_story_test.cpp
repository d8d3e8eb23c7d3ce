// Stories of regions, tasks and their records that no script of a world can tell: arenas, two-stage spawns, owners,
// waiters, held records, workers and reports.
#include "asx/kernel/kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "asx/kernel/report.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::events_of;
using testing::expect_legal;
using testing::must_create;
using testing::must_spawn;

TEST(kernel_story, joins_in_the_order_of_asking) {  // U-17
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

TEST(kernel_story, gives_and_frees_arena_memory_with_the_region) {
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

TEST(kernel_story, commits_a_reserved_task_into_a_region_that_began_to_close) {
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

TEST(kernel_story, closes_a_chain_of_a_hundred_thousand_regions_without_deep_calls) {  // R-42, U-12
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

TEST(kernel_story, runs_cleanup_of_a_task_before_the_finalizers_of_its_region) {
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

TEST(kernel_story, queues_a_woken_task_with_whoever_wakes_it_and_a_cancelled_one_at_home) {
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
  EXPECT_EQ(rt.sched().depth(0, lane::ready), 1U) << "from outside, whoever stepped last";
  rt.step(2);
  EXPECT_EQ(rt.sched().depth(2, lane::ready), 1U);
  rt.step(2);
  EXPECT_EQ(rt.kernel().request_cancel(t), status::ok);
  EXPECT_EQ(rt.sched().depth(2, lane::cancel), 1U) << "worker 2 polled it last";
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  expect_legal(rt);
}

TEST(kernel_story, completes_an_overrun_task_only_after_the_region_that_it_owns) {
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

TEST(kernel_story, lets_held_records_be_read_and_released_after_their_region_and_its_parent) {
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

TEST(kernel_story, asks_a_crowd_of_parked_cleanups_in_order_of_creation_round_after_round) {
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

TEST(kernel_story, names_the_closed_region_as_the_origin_of_a_close_whoever_asked) {
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

TEST(kernel_story, draws_its_tree_for_people_and_for_machines) {
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
