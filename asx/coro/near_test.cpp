// The neighbours of channels, awaited: each in the lab under many schedules, and in a select.
#include "asx/coro/near.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

task<> answer(cx, oneshot_sender<int> tx, int value) {
  co_await sleep(duration::milliseconds(5));
  EXPECT_EQ(tx.send(value).code, status::ok);
}

LAB_TEST(near, a_question_is_answered_once) {
  auto [code, tx, rx] = oneshot<int>(c);
  EXPECT_EQ(code, status::ok);
  co_await start(c, answer, std::move(tx), 42);
  EXPECT_EQ((co_await recv(rx)).value_or(0), 42);
  EXPECT_FALSE((co_await recv(rx)).has_value());
}

LAB_TEST(near, a_question_that_nobody_will_answer_is_over) {
  auto [code, tx, rx] = oneshot<int>(c);
  EXPECT_EQ(code, status::ok);
  tx.drop();
  EXPECT_FALSE((co_await recv(rx)).has_value());
}

task<> follow(cx, watch_receiver<int> rx, std::vector<int>& seen) {
  while (co_await changed(rx)) {
    int value = 0;
    EXPECT_EQ(rx.latest(value), status::ok);
    seen.push_back(value);
  }
}

LAB_TEST(near, a_watch_shows_the_latest_value_and_its_end) {
  std::vector<int> seen;
  co_await region(c, [&seen](cx r) -> task<> {
    auto [code, tx, rx] = watch<int>(r, 0);
    EXPECT_EQ(code, status::ok);
    const auto work = [&seen](cx w, watch_receiver<int> from) -> task<> { co_await follow(w, std::move(from), seen); };
    co_await start(r, work, std::move(rx));
    for (int i = 1; i <= 5; ++i) {
      EXPECT_EQ(tx.send(i).code, status::ok);
      co_await sleep(duration::milliseconds(1));
    }
    tx.drop();
  });
  EXPECT_EQ(seen.back(), 5);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

LAB_TEST(near, a_broadcast_says_how_much_a_slow_listener_missed) {
  auto [code, tx, rx] = broadcast<int>(c, 2);
  EXPECT_EQ(code, status::ok);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(tx.send(i).code, status::ok);
  const auto late = co_await recv(rx);
  EXPECT_EQ(late.code, status::lagged);
  EXPECT_EQ(late.skipped, 3U);
  EXPECT_EQ((co_await recv(rx)).value.value_or(0), 4);
  EXPECT_EQ((co_await recv(rx)).value.value_or(0), 5);
  tx.drop();
  EXPECT_EQ((co_await recv(rx)).code, status::disconnected);
}

LAB_TEST(near, a_rendezvous_is_over_when_the_other_has_the_value) {
  std::vector<int> got;
  co_await region(c, [&got](cx r) -> task<> {
    auto [code, tx, rx] = rendezvous<int>(r);
    EXPECT_EQ(code, status::ok);
    const auto offer = [&got](cx, rendezvous_sender<int> to) -> task<> {
      for (int i = 1; i <= 3; ++i) {
        co_await hand_over(to, i);
        EXPECT_EQ(got.size(), static_cast<std::size_t>(i)) << "nobody is ahead";
        got.push_back(-i);
        got.pop_back();
      }
    };
    co_await start(r, offer, std::move(tx));
    while (const auto value = co_await recv(rx)) got.push_back(*value);
  });
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3}));
}

LAB_TEST(near, each_can_stand_in_a_select_and_lose_nothing) {
  auto [one, ask, reply] = oneshot<int>(c);
  auto [two, publish, settings] = watch<int>(c, 0);
  auto [three, tell, feed] = broadcast<int>(c, 2);
  auto [four, offer, meet_here] = rendezvous<int>(c);
  EXPECT_TRUE(one == status::ok && two == status::ok && three == status::ok && four == status::ok);
  for (int i = 0; i < 3; ++i) {
    const auto none =
        co_await select(recv(reply), changed(settings), recv(feed), recv(meet_here), sleep(duration::milliseconds(1)));
    EXPECT_EQ(none.index(), 4U);
  }
  EXPECT_EQ(tell.send(7).code, status::ok);
  EXPECT_EQ(publish.send(8).code, status::ok);
  EXPECT_EQ(ask.send(9).code, status::ok);
  const auto first = co_await select(recv(reply), changed(settings), recv(feed));
  EXPECT_EQ(std::get<0>(first).value_or(0), 9);
  const auto second = co_await select(changed(settings), recv(feed));
  EXPECT_TRUE(std::get<0>(second));
  const auto third = co_await select(changed(settings), recv(feed));
  EXPECT_EQ(std::get<1>(third).value.value_or(0), 7);
}

LAB_TEST(near, who_loses_a_select_waits_no_longer) {
  auto [made, question, answer_of] = oneshot<int>(c);
  auto meeting = rendezvous<int>(c);
  EXPECT_EQ(made, status::ok);
  EXPECT_EQ(meeting.code, status::ok);
  const auto won = co_await select(recv(answer_of), recv(meeting.rx), sleep(duration::milliseconds(1)));
  EXPECT_EQ(won.index(), 2U);
  channel_report one;
  rendezvous_report two;
  EXPECT_EQ(answer_of.inspect(one), status::ok);
  EXPECT_EQ(meeting.rx.inspect(two), status::ok);
  EXPECT_FALSE(one.is_receiver_waiting);
  EXPECT_FALSE(two.is_receiver_waiting);
}

LAB_TEST(near, what_could_not_be_handed_over_comes_back) {
  auto ends = rendezvous<std::unique_ptr<int>>(c);
  EXPECT_EQ(ends.code, status::ok);
  ends.rx.drop();
  auto told = co_await attempt(hand_over(ends.tx, std::make_unique<int>(7)));
  EXPECT_EQ(told.code, status::disconnected);
  EXPECT_TRUE(told.value && *told.value && **told.value == 7);
}

}  // namespace
}  // namespace asx
