// Combinators in the lab: every promise under many schedules, with all of the lab's oracles.
#include "asx/coro/combine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

auto in(int ms) {
  return [ms](cx c) -> task<int> {
    co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(ms)));
    static_cast<void>(c);
    co_return ms;
  };
}

auto broken(int ms) {
  return [ms](cx) -> task<int> {
    co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(ms)));
    co_await fail(status::io, 5);
    co_return 0;
  };
}

LAB_TEST(combine, join_all_gives_every_outcome_in_the_order_given) {
  auto [a, b, failed] = co_await join_all(c, in(30), in(10), broken(20));
  EXPECT_EQ(a.value(), 30);
  EXPECT_EQ(b.value(), 10);
  EXPECT_TRUE(failed.is_err());
  EXPECT_EQ(failed.error(), (error{status::io, 5}));
  EXPECT_EQ(c.now(), instant{30'000'000}) << "they ran at once";
}

LAB_TEST(combine, race_gives_the_first_and_drains_the_others) {
  int losers = 0;
  struct counted {
    int& count;
    explicit counted(int& n) : count(n) {}
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { ++count; }
  };
  const auto slow = [&losers](cx) -> task<int> {
    const counted local(losers);
    co_await sleep(duration::seconds(3600));
    co_return 0;
  };
  const auto first = co_await race(c, slow, in(10), slow);
  EXPECT_EQ(first.value(), 10);
  EXPECT_EQ(losers, 2) << "their destructors have run when race returns";
  EXPECT_EQ(c.now(), instant{10'000'000});
}

LAB_TEST(combine, race_is_won_by_a_failure_too) {
  const auto first = co_await race(c, broken(5), in(10));
  EXPECT_TRUE(first.is_err());
}

LAB_TEST(combine, first_ok_passes_over_failures) {
  const auto got = co_await first_ok(c, broken(5), in(20), in(10));
  EXPECT_EQ(got.value(), 10);
  const auto none = co_await first_ok(c, broken(5), broken(7));
  EXPECT_TRUE(none.is_err());
}

LAB_TEST(combine, quorum_stops_when_it_is_reached_or_cannot_be) {
  const auto two = co_await quorum(c, 2, broken(5), in(10), in(20), in(3600));
  EXPECT_TRUE(two.is_reached);
  EXPECT_FALSE(two.values[0].has_value() || two.values[3].has_value());
  EXPECT_EQ(*two.values[1] + *two.values[2], 30);
  EXPECT_EQ(c.now(), instant{20'000'000});
  const auto three = co_await quorum(c, 3, broken(1), broken(2), in(3), in(3600));
  EXPECT_FALSE(three.is_reached);
  EXPECT_EQ(c.now(), instant{22'000'000}) << "two failures of four make three impossible";
}

LAB_TEST(combine, retry_waits_longer_each_time_and_ends_with_the_last_failure) {
  int attempts = 0;
  const auto flaky = [&attempts](cx) -> task<int> {
    if (++attempts < 4) co_await fail(status::io, static_cast<std::uint64_t>(attempts));
    co_return attempts;
  };
  EXPECT_EQ(co_await retry(c, {.attempts = 5}, flaky), 4);
  EXPECT_EQ(c.now(), instant{70'000'000}) << "10 + 20 + 40 ms";
  attempts = -10;
  const auto failed = co_await attempt(retry(c, {.attempts = 2}, flaky));
  EXPECT_TRUE(failed.is_err());
  EXPECT_EQ(attempts, -8);
}

LAB_TEST(combine, for_each_keeps_its_limit_and_handles_every_item) {
  std::vector<int> items{5, 1, 4, 2, 3, 6, 7};
  int at_once = 0, most = 0, sum = 0;
  co_await for_each(c, items, 3, [&](cx, int& item) -> task<> {
    most = std::max(most, ++at_once);
    co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(item)));
    --at_once;
    sum += item;
  });
  EXPECT_EQ(sum, 28);
  EXPECT_EQ(most, 3);
}

LAB_TEST(combine, for_each_stops_at_the_first_failure) {
  std::vector<int> items{1, 2, 3, 4, 5, 6};
  int handled = 0;
  const auto how = co_await attempt(for_each(c, items, 2, [&](cx, int& item) -> task<> {
    co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(item)));
    if (item == 3) co_await fail(status::io);
    ++handled;
  }));
  EXPECT_TRUE(how.is_err());
  EXPECT_LT(handled, 6);
}

// A race between a receive and a timer loses no message: what the loser did not take is still there.
LAB_TEST(combine, a_receive_that_loses_a_race_takes_nothing) {
  auto [code, tx, rx] = channel<int>(c, 1);
  EXPECT_EQ(code, status::ok);
  const auto take = [&inbox = rx](cx) -> task<int> { co_return (co_await recv(inbox)).value_or(-1); };
  const auto first = co_await race(c, take, in(5));
  EXPECT_EQ(first.value(), 5) << "nobody has sent anything";
  EXPECT_EQ(tx.try_send(7).code, status::ok) << "and nobody waits any more";
  EXPECT_EQ(*rx.try_recv().value, 7);
}

// Goal:   a message that comes at the moment at which the race is decided is taken once, or is still there.
// Method: the receive waits; sender and timer are due at the same time, in an order that the lab draws. Whoever was
//         woken for the message and is cancelled before it has run must leave it.
LAB_TEST(combine, a_receive_that_was_woken_and_loses_the_race_leaves_the_message) {
  auto [code, tx, rx] = channel<int>(c, 1);
  EXPECT_EQ(code, status::ok);
  int taken = 0;
  const auto take = [&inbox = rx, &taken](cx) -> task<int> {
    taken = *co_await recv(inbox);
    co_return taken;
  };
  const auto sends = [&outbox = tx](cx) -> task<> {
    co_await sleep(duration::milliseconds(5));
    EXPECT_EQ(outbox.try_send(7).code, status::ok);
  };
  auto sender = co_await start(c, sends);
  const auto first = co_await race(c, take, in(5));
  static_cast<void>(co_await join(sender));
  EXPECT_TRUE(first.value() == 5 || first.value() == taken);
  EXPECT_EQ(taken + rx.try_recv().value.value_or(0), 7) << "once, and not twice or never";
}

TEST(combine, leaves_nothing_behind_wherever_it_is_cancelled) {
  const auto body = [](cx c) -> task<> {
    co_await race(c, in(10), in(20), broken(30));
    co_await join_all(c, in(1), broken(2));
    std::vector<int> items{1, 2, 3};
    co_await for_each(c, items, 2, [](cx, int& ms) -> task<> {
      co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(ms)));
    });
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, 1U);
  }
}

auto panics(const char* what) {
  return [what](cx c) -> task<int> {
    co_await yield();
    c.panic(what);
    co_return 0;
  };
}

ASX_LAB_TEST_WITH(combine, what_a_child_said_when_it_panicked_is_told, .may_panic = true) {
  const auto first = co_await race(c, panics("the disk burns"), in(10));
  EXPECT_TRUE(first.is_panicked());
  const auto [a, b] = co_await join_all(c, panics("left"), panics("right"));
  const auto none = co_await first_ok(c, panics("not this one"));
  EXPECT_EQ(first.panic().text, "the disk burns");
  EXPECT_EQ(a.panic().text, "left");
  EXPECT_EQ(b.panic().text, "right");
  EXPECT_EQ(none.panic().text, "not this one");
}

LAB_TEST(combine, retry_waits_no_longer_than_it_is_told) {
  static_cast<void>(co_await attempt(
      retry(c, {.attempts = 2, .first_delay = duration::seconds(20), .max_delay = duration::seconds(10)}, broken(0))));
  EXPECT_EQ(c.now(), instant{10'000'000'000});
}

}  // namespace
}  // namespace asx
