// Sleeps, intervals, yields and checkpoints in virtual time.
#include "asx/coro/time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "asx/coro/region.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

TEST(coro_time, wakes_a_sleeper_at_its_moment_and_no_earlier) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    co_await sleep(duration::milliseconds(3));
    EXPECT_EQ(c.now(), instant{3'000'000});
    co_await sleep(duration::nanoseconds(1));
    EXPECT_EQ(c.now(), instant{3'000'001});
    co_await sleep_until(instant{9'000'000'000});
    EXPECT_EQ(c.now(), instant{9'000'000'000});
    co_await sleep(duration::days(6));
    EXPECT_EQ(c.now(), instant{9'000'000'000} + duration::days(6));
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
  expect_legal(rt);
}

TEST(coro_time, takes_what_chrono_calls_a_duration_wherever_there_is_one) {
  using namespace std::chrono_literals;
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    constexpr auto nap = 3ms;
    co_await sleep(nap);
    co_await sleep_until(c.now() + 2ms);
    interval every(c, 5ms);
    co_await every.tick();
    EXPECT_EQ(c.now(), instant{} + 10ms);
    const auto naps = [](cx, duration d) -> task<> { co_await sleep(d); };
    EXPECT_FALSE((co_await with_timeout(c, 1s, naps, 1h)).has_value());
    EXPECT_EQ(c.now(), instant{} + 1010ms);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_time, is_ready_at_once_for_no_time_and_for_the_past) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> {
    co_await sleep(duration{});
    co_await sleep_until(instant{});
  });
  rt.step();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(rt.kernel().live_timers(), 0U);
}

TEST(coro_time, counts_a_sleep_from_the_await) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto later = sleep(duration::seconds(1));
    co_await sleep(duration::seconds(2));
    co_await std::move(later);
    EXPECT_EQ(c.now(), instant{3'000'000'000});
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_time, refuses_a_sleep_that_no_timer_can_be_set_for) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx) -> task<int> {
    EXPECT_EQ((co_await attempt(sleep(duration::max()))).code, status::timer_duration_exceeded);
    EXPECT_EQ((co_await attempt(sleep(duration::days(8)))).code, status::timer_duration_exceeded);
    co_await sleep_until(instant::none());
    co_return 1;
  });
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::timer_duration_exceeded);
}

TEST(coro_time, lets_go_of_its_timer_when_it_is_cancelled) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> { co_await sleep(duration::hours(1)); });
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().live_timers(), 1U);
  EXPECT_EQ(made.handle.cancel(), status::ok);
  EXPECT_EQ(rt.kernel().live_timers(), 1U);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().live_timers(), 0U);
  EXPECT_TRUE(made.handle.is_done());
}

// a timer that was promoted is consumed, so the sleep is over and does not look at the clock again.
TEST(coro_time, is_over_when_its_timer_fires_with_others_a_little_early) {
  runtime_config config;
  config.coalesce_window = duration::milliseconds(10);
  runtime rt(config);
  const nothing_left before(rt);
  int ended = 0;
  std::vector<join_handle<void>> all;
  for (const std::uint64_t ms : {11U, 14U, 19U, 19U, 20U, 31U}) {
    all.push_back(spawn_in(
                      rt.kernel(), rt.root(), {},
                      [](cx, std::uint64_t d, int* n) -> task<> {
                        co_await sleep(duration::milliseconds(d));
                        ++*n;
                      },
                      ms, &ended)
                      .handle);
  }
  EXPECT_EQ(rt.run_until_quiescent(10'000).ended, status::ok) << "it spins";
  EXPECT_EQ(ended, 6);
  all.clear();
  before.check();
}

TEST(coro_time, ends_a_sleep_at_the_deadline_of_its_task) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {.limits = {.deadline = instant{2'000'000'000}}},
                       [](cx) -> task<> { co_await sleep(duration::hours(1)); });
  rt.run_until_quiescent();
  outcome<unit> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  ASSERT_TRUE(out.is_cancelled()) << name(out.kind());
  EXPECT_EQ(out.reason().kind, cancel_kind::deadline);
  EXPECT_EQ(rt.now(), instant{2'000'000'000});
}

// Ticks of a period of 10 ms, by somebody who is away from 15 to 47 ms.
std::vector<std::uint64_t> ticks(missed_ticks policy, std::vector<std::uint64_t>& missed) {
  runtime rt;
  std::vector<std::uint64_t> at;
  const auto out = outcome_of(
      rt,
      [](cx c, missed_ticks p, std::vector<std::uint64_t>* log, std::vector<std::uint64_t>* lost) -> task<int> {
        interval every(c, duration::milliseconds(10), p);
        for (int i = 0; i < 7; ++i) {
          lost->push_back(co_await every.tick());
          log->push_back(c.now().ns / 1'000'000);
          if (i == 0) co_await sleep_until(instant{47'000'000});
        }
        co_return 1;
      },
      policy, &at, &missed);
  EXPECT_EQ(out.value(), 1);
  return at;
}

TEST(coro_interval, gives_missed_ticks_one_after_the_other_in_a_burst) {
  std::vector<std::uint64_t> missed;
  EXPECT_EQ(ticks(missed_ticks::burst, missed), (std::vector<std::uint64_t>{10, 47, 47, 47, 50, 60, 70}));
  EXPECT_EQ(missed, (std::vector<std::uint64_t>{0, 2, 1, 0, 0, 0, 0}));
}
TEST(coro_interval, skips_missed_ticks_and_keeps_its_grid) {
  std::vector<std::uint64_t> missed;
  EXPECT_EQ(ticks(missed_ticks::skip, missed), (std::vector<std::uint64_t>{10, 47, 50, 60, 70, 80, 90}));
  EXPECT_EQ(missed, (std::vector<std::uint64_t>{0, 2, 0, 0, 0, 0, 0}));
}
TEST(coro_interval, starts_a_new_grid_at_the_late_tick) {
  std::vector<std::uint64_t> missed;
  EXPECT_EQ(ticks(missed_ticks::delay, missed), (std::vector<std::uint64_t>{10, 47, 57, 67, 77, 87, 97}));
  EXPECT_EQ(missed, (std::vector<std::uint64_t>{0, 2, 0, 0, 0, 0, 0}));
}

TEST(coro_interval, never_wraps_around_the_end_of_time) {
  for (const missed_ticks policy : {missed_ticks::burst, missed_ticks::skip, missed_ticks::delay}) {
    runtime rt;
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, missed_ticks p) -> task<bool> {
          interval every(c, duration{UINT64_MAX / 2 + 1}, p);
          co_await yield();
          co_await every.tick();
          co_return every.next().is_none();
        },
        policy);
    rt.step();
    EXPECT_EQ(rt.advance(duration{UINT64_MAX / 2 + 1}), status::ok);
    rt.run_until_idle();
    outcome<bool> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    EXPECT_TRUE(out.value()) << static_cast<int>(policy);
  }
}

TEST(coro_interval, of_no_length_ticks_each_nanosecond) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<std::uint64_t> {
    interval every(c, duration{});
    for (int i = 0; i < 5; ++i) co_await every.tick();
    co_return c.now().ns;
  });
  EXPECT_EQ(out.value(), 5U);
}

TEST(coro_interval, that_is_cancelled_in_a_tick_has_not_moved) {
  runtime rt;
  instant next;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, instant* to) -> task<> {
        interval every(c, duration::seconds(1));
        const auto got = co_await attempt(every.tick());
        EXPECT_EQ(got.code, status::cancelled);
        *to = every.next();
      },
      &next);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_quiescent();
  EXPECT_EQ(next, instant{1'000'000'000});
}

TEST(coro_time, yields_to_the_others_and_a_yield_is_no_cancel_point) {
  runtime rt;
  std::vector<int> order;
  const auto turns = [](cx c, std::vector<int>* log, int who) -> task<> {
    for (int i = 0; i < 3; ++i) {
      log->push_back(who);
      co_await yield();
    }
    log->push_back(10 * who);
    co_await checkpoint();
    log->push_back(100 * who);
    EXPECT_FALSE(c.is_cancelled());
  };
  auto first = spawn_in(rt.kernel(), rt.root(), {}, turns, &order, 1);
  auto second = spawn_in(rt.kernel(), rt.root(), {}, turns, &order, 2);
  rt.step();
  EXPECT_EQ(first.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(std::count(order.begin(), order.end(), 1), 3);
  EXPECT_EQ(std::count(order.begin(), order.end(), 10), 1) << "no yield ended it";
  EXPECT_EQ(std::count(order.begin(), order.end(), 100), 0) << "the checkpoint did";
  EXPECT_EQ(order.back(), 200);
}

}  // namespace
}  // namespace asx
