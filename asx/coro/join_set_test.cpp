// Who ends next: the order of ends, waits that take nobody, and what becomes of a set that is dropped.
#include "asx/coro/join_set.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/testing/bomb.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/kernel/report.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

duration ms(int n) {
  return duration::milliseconds(static_cast<std::uint64_t>(n));
}

task<int> in(cx, int after) {
  co_await sleep(ms(after));
  co_return after;
}
task<int> now(cx, int value) {
  co_return value;
}
task<> stays(cx) {
  co_await sleep(duration::hours(1));
}
task<int> broken(cx, int after) {
  co_await sleep(ms(after));
  co_await fail(status::io, 5);
  co_return 0;
}
task<int> panics(cx c, const char* what) {
  co_await sleep(ms(1));
  c.panic(what);
  co_return 0;
}

// ---- order ----------------------------------------------------------------------------------------------------------

LAB_TEST(join_set, r380_gives_everybody_once_in_the_order_of_their_ends_with_the_number_of_adding) {
  join_set<int> set;
  for (const int after : {30, 10, 50, 20, 40}) EXPECT_EQ(co_await set.start(c, in, after), set.size() - 1);
  std::vector<int> values;
  std::vector<std::size_t> numbers;
  while (auto one = co_await join_next(set)) {
    EXPECT_EQ(c.now().ns, ms(one->how.value()).ns) << "none of them waits for another";
    values.push_back(one->how.value());
    numbers.push_back(one->index);
    EXPECT_TRUE(one->handle.is_done());
  }
  EXPECT_EQ(values, (std::vector{10, 20, 30, 40, 50}));
  EXPECT_EQ(numbers, (std::vector<std::size_t>{1, 3, 0, 4, 2}));
  EXPECT_TRUE(set.is_empty());
}

LAB_TEST(join_set, r380_of_an_empty_set_there_is_nobody_at_once) {
  join_set<> set;
  EXPECT_FALSE((co_await join_next(set)).has_value());
  EXPECT_FALSE(set.try_next().has_value());
  EXPECT_EQ(set.cancel(), status::ok);
  EXPECT_EQ(c.now().ns, 0U);
}

LAB_TEST(join_set, r380_who_had_ended_when_it_was_added_ended_then) {
  auto first = co_await start(c, now, 1);
  auto second = co_await start(c, now, 2);
  static_cast<void>(co_await join(second));
  join_set<int> set;
  co_await sleep(ms(1));
  EXPECT_EQ(set.add(std::move(second)), status::ok);
  static_cast<void>(co_await set.start(c, in, 1));
  EXPECT_EQ(set.add(std::move(first)), status::ok);
  EXPECT_TRUE(first.is_null() && second.is_null());
  EXPECT_EQ((co_await join_next(set))->index, 0U);
  EXPECT_EQ((co_await join_next(set))->index, 2U);
  EXPECT_EQ((co_await join_next(set))->index, 1U);
}

LAB_TEST(join_set, r380_is_filled_again_while_it_is_emptied) {
  join_set<int> set;
  int started = 3, sum = 0;
  for (int i = 0; i < started; ++i) static_cast<void>(co_await set.start(c, in, 5 - i));
  while (const auto one = co_await join_next(set)) {
    sum += one->how.value();
    if (started >= 10) continue;
    EXPECT_EQ(co_await set.start(c, in, 2), static_cast<std::size_t>(started));
    ++started;
  }
  EXPECT_EQ(sum, 5 + 4 + 3 + 7 * 2);
}

TEST(join_set, r380_an_end_costs_the_same_however_many_there_are) {
  const auto polls_of = [](int count) {
    runtime rt({.contract = resource_contract::core()});
    std::uint64_t polls = 0;  // Of the task that waits.
    const auto out = outcome_of(
        rt,
        [](cx c, int n, std::uint64_t* all) -> task<int> {
          join_set<int> set;
          for (int i = 0; i < n; ++i) static_cast<void>(co_await set.start(c, in, n - i));
          int sum = 0;
          while (const auto one = co_await join_next(set)) sum += one->how.value();
          task_report now;
          EXPECT_EQ(c.kernel().inspect(c.handle(), now), status::ok);
          *all = now.polls;
          co_return sum;
        },
        count, &polls);
    EXPECT_EQ(out.value(), count * (count + 1) / 2);
    expect_legal(rt);
    return polls;
  };
  EXPECT_EQ(polls_of(1), 2U) << "one in which it began, and one for the end";
  EXPECT_EQ(polls_of(100), 101U) << "one for each end, whoever else has not ended";
}

#if defined(__cpp_exceptions)
TEST(join_set, r380_a_value_whose_move_throws_leaves_its_task_in_the_set) {
  using testing::bomb;
  using testing::fuse;
  runtime rt;
  fuse f;
  const auto out = outcome_of(
      rt,
      [](cx c, fuse* at) -> task<int> {
        join_set<bomb> set;
        static_cast<void>(co_await set.start(c, [](cx, fuse* own) -> task<bomb> { co_return bomb(7, *own); }, at));
        co_await sleep(ms(1));
        int failed = 0;
        try {
          at->left = 0;
          static_cast<void>(co_await join_next(set));
        } catch (const std::runtime_error&) {
          ++failed;
        }
        at->left = fuse::none;
        EXPECT_EQ(failed, 1);
        EXPECT_EQ(set.size(), 1U);
        const auto again = co_await join_next(set);
        EXPECT_TRUE(again && again->how.has_value());
        co_return again->how.value().number();
      },
      &f);
  EXPECT_EQ(out.value(), 7);
  EXPECT_EQ(f.alive, 0);
}
#endif

TEST(join_set, r380_has_a_thousand) {
  resource_contract much = resource_contract::core();
  much.max_tasks = much.max_tasks_per_region = much.max_ready_queue = 2'000;
  much.max_bytes = 16 << 20;
  runtime rt({.contract = much});
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    join_set<int> set;
    for (int i = 0; i < 1'000; ++i) static_cast<void>(co_await set.start(c, in, (i * 7) % 11));
    int last = 0, count = 0;
    while (const auto one = co_await join_next(set)) {
      EXPECT_GE(one->how.value(), last);
      last = one->how.value();
      ++count;
    }
    co_return count;
  });
  EXPECT_EQ(out.value(), 1'000);
  before.check();
}

// ---- outcomes -------------------------------------------------------------------------------------------------------

ASX_LAB_TEST_WITH(join_set, r380_an_outcome_comes_with_the_handle_that_keeps_its_texts, .may_panic = true) {
  co_await region(c, {.policy = region_policy::body_decides}, [](cx r) -> task<> {
    join_set<int> set;
    static_cast<void>(co_await set.start(r, panics, "it burns"));
    static_cast<void>(co_await set.start(r, broken, 2));
    const auto panicked = co_await join_next(set);
    const auto failed = co_await join_next(set);
    EXPECT_EQ(panicked->how.panic().text, "it burns");
    EXPECT_EQ(failed->how.error(), (error{status::io, 5}));
  });
}

LAB_TEST(join_set, r380_values_that_can_only_be_moved_come_out) {
  join_set<std::unique_ptr<int>> set;
  static_cast<void>(
      co_await set.start(c, [](cx) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); }));
  auto one = co_await join_next(set);
  EXPECT_EQ(*std::move(one->how).value(), 7);
}

// ---- waits ----------------------------------------------------------------------------------------------------------

LAB_TEST(join_set, r380_a_cancelled_wait_has_taken_nobody) {
  join_set<int> set;
  static_cast<void>(co_await set.start(c, in, 20));
  const auto waits = [&set](cx) -> task<> { static_cast<void>(co_await join_next(set)); };
  auto waiter = co_await start(c, waits);
  co_await sleep(ms(10));
  EXPECT_EQ(waiter.cancel(), status::ok);
  EXPECT_TRUE((co_await join(waiter)).is_cancelled());
  EXPECT_EQ((co_await join_next(set))->how.value(), 20);

  static_cast<void>(co_await set.start(c, now, 1));
  co_await sleep(ms(1));  // It has ended, and comes to nobody who is asked to cancel before it looks.
  auto late = co_await start(c, waits);
  EXPECT_EQ(late.cancel(), status::ok);
  EXPECT_TRUE((co_await join(late)).is_cancelled());
  EXPECT_EQ(set.size(), 1U);
  EXPECT_EQ((co_await join_next(set))->how.value(), 1);
}

LAB_TEST(join_set, r380_one_that_lost_a_select_has_taken_nobody_and_the_winner_gives_one) {
  join_set<int> set;
  static_cast<void>(co_await set.start(c, in, 20));
  const auto early = co_await select(join_next(set), sleep(ms(10)));
  EXPECT_EQ(early.index(), 1U);
  const auto won = co_await select(sleep(ms(100)), join_next(set));
  EXPECT_EQ(std::get<1>(won)->how.value(), 20);
  EXPECT_EQ((co_await select(join_next(set), sleep(ms(1)))).index(), 0U) << "nobody is left";
}

LAB_TEST(join_set, r380_one_that_has_a_name_is_asked_again) {
  join_set<int> set;
  for (const int after : {10, 20, 30}) static_cast<void>(co_await set.start(c, in, after));
  auto next = join_next(set);
  int sum = 0, ticks = 0;
  for (;;) {
    const auto got = co_await select(std::ref(next), sleep(ms(7)));
    if (got.index() == 1) {
      ++ticks;
    } else if (const auto& one = std::get<0>(got)) {
      sum += one->how.value();
    } else {
      break;
    }
  }
  EXPECT_EQ(sum, 60);
  EXPECT_EQ(ticks, 3);
}

LAB_TEST(join_set, r380_two_sets_have_the_task_that_waits_for_both) {
  join_set<int> odd, even;
  for (int i = 1; i <= 6; ++i) static_cast<void>(co_await (i % 2 == 0 ? even : odd).start(c, in, i));
  int sum = 0;
  while (!odd.is_empty() || !even.is_empty()) {
    if (odd.is_empty() || even.is_empty()) {
      sum += (co_await join_next(odd.is_empty() ? even : odd))->how.value();
      continue;
    }
    const auto got = co_await select(join_next(odd), join_next(even));
    sum += got.index() == 0 ? std::get<0>(got)->how.value() : std::get<1>(got)->how.value();
  }
  EXPECT_EQ(sum, 21);
}

LAB_TEST(join_set, r380_try_next_takes_who_has_ended_and_never_waits) {
  join_set<int> set;
  static_cast<void>(co_await set.start(c, in, 10));
  EXPECT_FALSE(set.try_next().has_value());
  co_await sleep(ms(11));
  EXPECT_EQ(set.try_next()->how.value(), 10);
  EXPECT_FALSE(set.try_next().has_value());
}

TEST(join_set, r380_who_waits_for_it_is_listed_so) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "waits"}, [](cx c) -> task<> {
    join_set<> set;
    static_cast<void>(co_await set.start(c, stays));
    static_cast<void>(co_await join_next(set));
  });
  ASSERT_EQ(made.code, status::ok);
  for (int i = 0; i < 10; ++i) static_cast<void>(rt.step());
  const std::string list = describe_tasks(rt.kernel());
  EXPECT_NE(list.find("waits for the end of one of several tasks"), std::string::npos) << list;
  static_cast<void>(rt.shutdown());
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(join_set, r380_a_refused_add_leaves_the_handle_and_a_refused_start_has_started_nothing) {
  runtime rt, other;
  auto foreign = spawn_in(other.kernel(), other.root(), {}, now, 1);
  const auto out = outcome_of(
      rt,
      [](cx c, join_handle<int>* stranger) -> task<int> {
        join_set<int> set;
        EXPECT_EQ(set.add(join_handle<int>()), status::stale_handle);
        EXPECT_EQ(set.add(co_await start(c, now, 1)), status::ok);
        EXPECT_EQ(set.add(std::move(*stranger)), status::invalid_argument);
        EXPECT_FALSE(stranger->is_null());
        int ran = 0;
        const auto refused = co_await attempt(region(c, {.max_tasks = 1}, [&](cx r) -> task<> {
          static_cast<void>(co_await set.start(r, [&ran](cx) -> task<int> { co_return ++ran; }));
        }));
        EXPECT_TRUE(refused.is_err());
        EXPECT_EQ(refused.error().code, status::resource_exhausted);
        EXPECT_EQ(ran, 0);
        EXPECT_EQ(set.size(), 1U);
        co_return (co_await join_next(set))->how.value();
      },
      &foreign.handle);
  EXPECT_EQ(out.value(), 1);
}

// ---- the end of a set -----------------------------------------------------------------------------------------------

LAB_TEST(join_set, r381_a_set_that_is_dropped_cancels_nobody) {
  int ended = 0;
  co_await region(c, [&ended](cx r) -> task<> {
    join_set<> set;
    for (int i = 0; i < 4; ++i) {
      static_cast<void>(co_await set.start(
          r,
          [&ended](cx, int after) -> task<> {
            co_await sleep(ms(after));
            ++ended;
          },
          i * 10));
    }
    static_cast<void>(co_await join_next(set));
    co_await sleep(ms(15));  // Of those who are left one has ended, and two run.
  });
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(c.now().ns, ms(30).ns);
}

LAB_TEST(join_set, r381_cancel_asks_all_who_have_not_ended) {
  join_set<> set;
  for (int i = 0; i < 3; ++i) static_cast<void>(co_await set.start(c, stays));
  static_cast<void>(co_await set.start(c, [](cx) -> task<> { co_return; }));
  co_await sleep(ms(1));
  EXPECT_EQ(set.cancel({cancel_kind::user, "enough"}), status::ok);
  EXPECT_TRUE((co_await join_next(set))->how.is_ok());
  int cancelled = 0;
  while (const auto one = co_await join_next(set)) {
    EXPECT_EQ(one->how.cancelled_by().reason.message, "enough");
    ++cancelled;
  }
  EXPECT_EQ(cancelled, 3);
}

LAB_TEST(join_set, r381_ends_with_the_region_of_its_tasks_when_one_of_them_fails) {
  const auto how = co_await attempt(region(c, [](cx r) -> task<> {
    join_set<int> set;
    static_cast<void>(co_await set.start(r, broken, 10));
    static_cast<void>(co_await set.start(r, in, 3'600'000));
    static_cast<void>(co_await join_next(set));
    static_cast<void>(co_await join_next(set));
    ADD_FAILURE() << "fail_fast reaches whoever waits";
  }));
  EXPECT_EQ(how.error().code, status::io);
  EXPECT_EQ(c.now().ns, ms(10).ns);
}

TEST(join_set, r381_a_failure_that_nobody_heard_is_the_programs) {
  for (const bool is_heard : {true, false}) {
    runtime rt;
    const auto how = run_in(
        rt,
        [](cx c, bool hears) -> task<> {
          join_set<int> set;
          static_cast<void>(co_await set.start(c, broken, 10));
          co_await sleep(ms(20));
          if (!hears) co_return;
          EXPECT_TRUE((co_await join_next(set))->how.is_err());
        },
        is_heard);
    EXPECT_EQ(how.is_ok(), is_heard);
  }
}

TEST(join_set, r381_leaves_nothing_behind_wherever_it_breaks) {
  const auto body = [](cx c) -> task<> {
    co_await region(c, {.policy = region_policy::body_decides}, [](cx r) -> task<> {
      join_set<int> set;
      for (int i = 0; i < 4; ++i) static_cast<void>(co_await set.start(r, i == 2 ? broken : in, 4 - i));
      auto last = co_await start(r, in, 1);
      if (const status s = set.add(std::move(last)); s != status::ok) co_await fail(s);
      static_cast<void>(co_await join_next(set));
      static_cast<void>(co_await select(join_next(set), sleep(ms(1))));
      while (const auto one = co_await join_next(set)) {
        if (one->index == 1) break;
      }
    });
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({.may_fail = true}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, 0U);
  }
}

// Everybody who was added comes out once or is still there, whoever of them and of those who wait is cancelled.
LAB_SWEEP(join_set, r380_nobody_is_lost_or_comes_twice_wherever_it_is_cancelled, cancel) {
  struct books {
    join_set<int> set;
    std::size_t started = 0;
    std::vector<int> came = std::vector<int>(5);
  } all;
  co_await attempt(region(c, {.policy = region_policy::body_decides}, [&all](cx r) -> task<> {
    const auto fills = [&all](cx own) -> task<> {
      for (int i = 0; i < 5; ++i) {
        if (const auto made = co_await attempt(all.set.start(own, in, 5 - i)); !made.is_ok()) break;
        ++all.started;
      }
    };
    co_await fills(r);
    const auto waits = [&all](cx) -> task<> {
      while (const auto one = co_await join_next(all.set)) ++all.came[one->index];
    };
    auto first = co_await start(r, waits);
    static_cast<void>(co_await join(first));
    auto second = co_await start(r, waits);
    static_cast<void>(co_await join(second));
  }));
  const std::size_t left = all.set.size();
  while (const auto one = all.set.try_next()) ++all.came[one->index];
  EXPECT_EQ(all.set.size(), 0U) << "the region is closed, so all have ended; " << left << " were left";
  for (std::size_t i = 0; i < all.came.size(); ++i) EXPECT_EQ(all.came[i], i < all.started ? 1 : 0) << "task " << i;
}

}  // namespace
}  // namespace asx
