// Semaphores, mutexes and notifies as coroutines use them.
#include "asx/coro/sync.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "asx/coro/region.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

std::uint64_t left_in(const semaphore& s) {
  semaphore_report r;
  EXPECT_EQ(s.inspect(r), status::ok);
  return r.left;
}

TEST(coro_sync, lets_as_many_in_as_there_are_units) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    semaphore s;
    EXPECT_EQ(semaphore::create(c, 3, s), status::ok);
    int inside = 0;
    int most = 0;
    co_await region(c, [&](cx r) -> task<> {
      const auto worker = [](cx, semaphore slots, int* now, int* top) -> task<> {
        const auto units = co_await acquire(slots);
        EXPECT_EQ(units.count(), 1U);
        *top = std::max(*top, ++*now);
        co_await sleep(duration::milliseconds(1));
        --*now;
      };
      for (int i = 0; i < 10; ++i) EXPECT_EQ(spawn(r, worker, s, &inside, &most).code, status::ok);
      co_return;
    });
    EXPECT_EQ(left_in(s), 3U);
    EXPECT_EQ(c.now(), instant{4'000'000});
    co_return most;
  });
  EXPECT_EQ(out.value(), 3);
  expect_legal(rt);
}

TEST(coro_sync, keeps_a_value_to_one_task_across_its_awaits_in_order_of_arrival) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    mutex<std::vector<int>> log;
    EXPECT_EQ(mutex<std::vector<int>>::create(c, log, "log"), status::ok);
    co_await region(c, [&](cx r) -> task<> {
      const auto writer = [](cx, mutex<std::vector<int>> to, int who) -> task<> {
        auto guard = co_await lock(to);
        for (int i = 0; i < 3; ++i) {
          guard->push_back(who);
          co_await yield();
        }
      };
      for (int i = 0; i < 3; ++i) EXPECT_EQ(spawn(r, writer, log, i).code, status::ok);
      co_return;
    });
    auto guard = co_await lock(log);
    EXPECT_EQ(*guard, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

// cut: a_guard_that_has_a_name
task<> add(cx, mutex<int> sum, int n) {
  const auto held = co_await lock(sum);  // A mere `co_await lock(sum);` has unlocked before the next line.
  const int before = *held;
  co_await yield();
  *held = before + n;
}
// end: a_guard_that_has_a_name

TEST(coro_sync, keeps_others_out_while_the_guard_has_a_name_and_not_when_it_is_dropped) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    mutex<int> sum;
    EXPECT_EQ(mutex<int>::create(c, sum, "sum", 0), status::ok);
    co_await region(c, [&](cx r) -> task<> {
      for (int i = 1; i <= 3; ++i) EXPECT_EQ(spawn(r, add, sum, i).code, status::ok);
      co_return;
    });
    static_cast<void>(co_await lock(sum));
    const auto held = co_await lock(sum);  // It would wait for ever.
    co_return *held;
  });
  EXPECT_EQ(out.value(), 1 + 2 + 3);
  expect_legal(rt);
}

TEST(coro_sync, unlocks_when_the_holder_is_cancelled_and_serves_the_next) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    mutex<int> m;
    EXPECT_EQ(mutex<int>::create(c, m, "m", 5), status::ok);
    const auto holds = [](cx, mutex<int> of) -> task<> {
      auto guard = co_await lock(of);
      ++*guard;
      co_await sleep(duration::hours(1));
    };
    auto holder = spawn(c, holds, m);
    auto waiter = spawn(c, holds, m);
    auto third = spawn(c, [](cx, mutex<int> of) -> task<int> { co_return *co_await lock(of); }, m);
    co_await yield();
    EXPECT_EQ(waiter.handle.cancel(), status::ok) << "in the queue";
    co_await yield();
    EXPECT_EQ(holder.handle.cancel(), status::ok) << "with the guard";
    const auto got = co_await join(third.handle);
    EXPECT_EQ(c.now(), instant{});
    co_return got.value();
  });
  EXPECT_EQ(out.value(), 6);
}

TEST(coro_sync, can_lock_in_the_mask_of_a_cleanup) {
  runtime rt;
  int written = 0;
  mutex<int> m;
  ASSERT_EQ(mutex<int>::create(rt.kernel(), rt.root(), m, "m", 0), status::ok);
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, mutex<int> of, int* to) -> task<> {
        static_cast<void>(co_await attempt(sleep(duration::hours(1))));
        EXPECT_EQ((co_await attempt(lock(of))).code, status::cancelled);
        EXPECT_EQ(c.mask_enter(), status::ok);
        {
          const auto guard = co_await lock(of);
          *to = ++*guard;
        }
        c.mask_leave();
      },
      m, &written);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_quiescent();
  EXPECT_EQ(written, 1);
}

TEST(coro_sync, goes_on_when_it_is_notified_and_not_before) {
  runtime rt;
  notify n;
  ASSERT_EQ(notify::create(rt.kernel(), rt.root(), n), status::ok);
  std::vector<int> order;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(spawn_in(
                      rt.kernel(), rt.root(), {},
                      [](cx, notify of, std::vector<int>* log, int who) -> task<> {
                        co_await wait(of);
                        log->push_back(who);
                      },
                      n, &order, i)
                      .handle);
  }
  rt.run_until_idle();
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(n.notify_one(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(order, std::vector<int>{0});
  EXPECT_EQ(n.notify_all(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(coro_sync, passes_on_a_notification_that_a_cancelled_waiter_was_told) {
  runtime rt;
  notify n;
  ASSERT_EQ(notify::create(rt.kernel(), rt.root(), n), status::ok);
  const auto waits = [](cx, notify of) -> task<int> {
    co_await wait(of);
    co_return 1;
  };
  auto first = spawn_in(rt.kernel(), rt.root(), {}, waits, n);
  auto second = spawn_in(rt.kernel(), rt.root(), {}, waits, n);
  rt.run_until_idle();
  EXPECT_EQ(n.notify_one(), status::ok);
  EXPECT_EQ(first.handle.cancel(), status::ok) << "told, and not polled since";
  rt.run_until_idle();
  outcome<int> out;
  ASSERT_EQ(first.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_cancelled());
  ASSERT_EQ(second.handle.take(out), status::ok);
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_sync, ends_with_disconnected_when_the_semaphore_closes) {
  runtime rt;
  semaphore s;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, s), status::ok);
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, semaphore of) -> task<int> {
        const auto first = co_await acquire(of);
        const auto second = co_await acquire(of);
        co_return 1;
      },
      s);
  rt.run_until_idle();
  EXPECT_EQ(s.close(), status::ok);
  rt.run_until_idle();
  outcome<int> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::disconnected);
  EXPECT_EQ(left_in(s), 1U) << "its first unit came back";
}

}  // namespace
}  // namespace asx
