// Calls that block, as the lab sees them: in virtual time, without a thread. tests/stress/blocking_stress.cpp has
// threads.
#include "asx/coro/blocking.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/lab.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::events_of;
using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

TEST(coro_blocking, gives_what_the_function_returns_and_leaves_nothing) {
  blocking_pool pool;
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [&pool](cx) -> task<int> {
    const std::string text = co_await blocking(pool, [] { return std::string(100, 'x'); });
    auto owner = [p = std::make_unique<int>(5)]() mutable { return std::move(p); };
    auto moved = co_await blocking(pool, asx::moved(owner));
    int touched = 0;
    co_await blocking(pool, [&touched] { touched = 7; });
    co_return static_cast<int>(text.size()) + *moved + touched;
  });
  ASSERT_TRUE(out.is_ok());
  EXPECT_EQ(out.value(), 112);
  EXPECT_EQ(pool.threads(), 0U) << "in virtual time there is no thread";
  rt.run_until_idle();
  before.check();
  EXPECT_EQ(rt.kernel().foreign_holds(), 0U);
  EXPECT_EQ(rt.inbox().open_handles(), 0U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(coro_blocking, lets_others_run_before_it_has_arrived) {
  blocking_pool pool;
  runtime rt;
  std::vector<int> order;
  auto first = spawn_in(rt.kernel(), rt.root(), {}, [&](cx) -> task<> {
    co_await blocking(pool, [&order] { order.push_back(1); });
    order.push_back(3);
  });
  auto second = spawn_in(rt.kernel(), rt.root(), {}, [&](cx) -> task<> {
    order.push_back(2);
    co_return;
  });
  rt.run_until_quiescent();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(coro_blocking, hands_an_exception_to_whoever_awaits_and_panics_the_task_otherwise) {  // law 5
  blocking_pool pool;
  runtime rt;
  const auto caught = outcome_of(rt, [&pool](cx) -> task<int> {
    try {
      co_await blocking(pool, [] { throw std::runtime_error("no such file"); });
    } catch (const std::runtime_error& e) {
      co_return static_cast<int>(std::string(e.what()).size());
    }
    co_return 0;
  });
  EXPECT_EQ(caught.value(), 12);
  const auto out = run_in(rt, [&pool](cx) -> task<int> {
    co_return co_await blocking(pool, []() -> int { throw std::runtime_error("no such file"); });
  });
  ASSERT_TRUE(out.result.is_panicked());
  EXPECT_NE(out.text.find("no such file"), std::string::npos) << out.text;
}

TEST(coro_blocking, calls_nothing_for_a_task_that_is_cancelled_before) {  // law 2
  blocking_pool pool;
  runtime rt;
  bool was_called = false;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx) -> task<> {
    co_await yield();
    co_await blocking(pool, [&] { was_called = true; });
  });
  rt.step();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_FALSE(was_called);
  outcome<unit> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_cancelled());
}

TEST(coro_blocking, gives_the_value_to_a_task_that_is_cancelled_meanwhile) {  // law 2
  blocking_pool pool;
  runtime rt;
  int got = 0;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx) -> task<> {
    got = co_await blocking(pool, [] { return 9; });
    co_await checkpoint();
    got = -1;
  });
  rt.step();  // Submitted; it arrives with the next step.
  EXPECT_EQ(rt.kernel().foreign_holds(), 1U);
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(got, 9);
  outcome<unit> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_cancelled());
  expect_legal(rt);
}

TEST(coro_blocking, is_an_obligation_of_the_root_while_it_is_under_way) {  // law 3 of drive_pool.hpp
  blocking_pool pool;
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx) -> task<> { co_await blocking(pool, [] {}); });
  rt.step();
  EXPECT_NE(rt.kernel().check_quiescence().failed & 0b10U, 0U);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().check_quiescence().failed & 0b10U, 0U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(coro_blocking, works_in_the_cleanup_of_a_region_that_closes) {
  blocking_pool pool;
  runtime rt;
  bool was_flushed = false;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    EXPECT_EQ(c.mask_enter(), status::ok);
    co_await blocking(pool, [&] { was_flushed = true; });
    c.mask_leave();
  });
  rt.run_until_idle();
  EXPECT_TRUE(rt.shutdown(duration::seconds(1)).is_quiescent());
  EXPECT_TRUE(was_flushed);
}

TEST(coro_blocking, refuses_when_no_handle_is_left_and_has_changed_nothing) {
  blocking_pool pool;
  runtime_config config;
  config.max_foreign = 1;
  runtime rt(config);
  const auto out = outcome_of(rt, [&pool](cx c) -> task<int> {
    foreign_handle mine;
    EXPECT_EQ(open_foreign(c, mine), status::ok);
    bool was_called = false;
    const auto got = co_await attempt(blocking(pool, [&] { was_called = true; }));
    EXPECT_EQ(got.code, status::resource_exhausted);
    EXPECT_FALSE(was_called);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().check_quiescence().failed & 0b10U, 0U) << "no obligation was left";
  EXPECT_EQ(rt.kernel().foreign_holds(), 0U);
}

TEST(coro_blocking, is_the_same_run_again) {
  const auto digest = [] {
    blocking_pool pool;
    runtime rt;
    std::vector<join_handle<int>> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(std::move(spawn_in(rt.kernel(), rt.root(), {}, [&pool, i](cx) -> task<int> {
                                co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(i % 3)));
                                co_return co_await blocking(pool, [i] { return i * i; });
                              }).handle));
    }
    rt.run_until_quiescent();
    rt.shutdown();
    all.clear();
    return rt.journal().digest();
  };
  EXPECT_EQ(digest(), digest());
}

// Several callers, one after the other and at once, with a value of the frame under each call.
task<> many_calls(cx c, blocking_pool& pool) {
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(co_await start(
        c,
        [](cx, blocking_pool* p, int n) -> task<int> {
          int local = n;
          co_await blocking(*p, [&local] { local *= 2; });
          co_await yield();
          co_return co_await blocking(*p, [&local] { return local + 1; });
        },
        &pool, i));
  }
  for (int i = 0; i < 3; ++i) {
    const auto out = co_await join(all[static_cast<std::size_t>(i)]);
    if (out.is_ok()) {
      EXPECT_EQ(out.value(), 2 * i + 1);
    }
  }
}

TEST(coro_blocking, holds_under_every_schedule_and_wherever_it_is_cancelled) {
  blocking_pool pool;
  const auto body = [&pool](cx c) { return many_calls(c, pool); };
  const lab_result explored = explore({.seeds = 40}, body);
  EXPECT_TRUE(explored.is_ok) << explored.report();
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result swept = sweep({.may_fail = true}, fault, body);
    EXPECT_TRUE(swept.is_ok) << swept.report();
    EXPECT_GT(swept.faults, 0U);
  }
  EXPECT_EQ(pool.threads(), 0U);
}

}  // namespace
}  // namespace asx
