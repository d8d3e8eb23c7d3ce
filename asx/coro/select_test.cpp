// The first of several operations: the winner takes effect, the losers have done nothing.
#include "asx/coro/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

template <class T>
channel_report look(const T& end) {
  channel_report r;
  EXPECT_EQ(end.inspect(r), status::ok);
  return r;
}

TEST(coro_select, gives_the_first_that_is_ready_and_decides_equals_by_their_order) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 2);
    auto [code2, tx2, rx2] = channel<std::string>(c, 2);
    EXPECT_EQ(tx.try_send(4).code, status::ok);
    EXPECT_EQ(tx2.try_send("four").code, status::ok);
    const auto first = co_await select(recv(rx), recv(rx2));
    EXPECT_EQ(first.index(), 0U);
    EXPECT_EQ(std::get<0>(first), 4);
    EXPECT_EQ(look(rx2).queued, 1U) << "the other was not even asked";
    const auto second = co_await select(recv(rx), recv(rx2));
    EXPECT_EQ(second.index(), 1U);
    EXPECT_EQ(std::get<1>(second), "four");
    const auto third = co_await select(recv(rx), sleep(duration::seconds(2)), sleep(duration::seconds(1)));
    EXPECT_EQ(third.index(), 2U);
    EXPECT_EQ(c.now(), instant{1'000'000'000});
    const auto alone = co_await select(yield());
    EXPECT_EQ(alone.index(), 0U);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  expect_legal(rt);
}

// Two channels that always have something: by order the second is never asked.
std::vector<std::size_t> winners(std::uint64_t seed, bool is_fair) {
  runtime_config config;
  config.seed = seed;
  runtime rt(config);
  std::vector<std::size_t> out;
  outcome_of(
      rt,
      [](cx c, std::vector<std::size_t>* to, bool fair) -> task<int> {
        auto [code, tx, rx] = channel<int>(c, 300);
        auto [code2, tx2, rx2] = channel<int>(c, 300);
        for (int i = 0; i < 300; ++i) {
          EXPECT_EQ(tx.try_send(i).code, status::ok);
          EXPECT_EQ(tx2.try_send(i).code, status::ok);
        }
        for (int i = 0; i < 200; ++i) {
          if (fair) {
            to->push_back((co_await select_fair(recv(rx), recv(rx2))).index());
          } else {
            to->push_back((co_await select(recv(rx), recv(rx2))).index());
          }
        }
        EXPECT_EQ(look(rx).queued + look(rx2).queued, 400U) << "the losers have taken nothing";
        co_return 1;
      },
      &out, is_fair);
  return out;
}

TEST(coro_select, decides_equals_by_a_draw_where_it_is_to_be_fair) {
  const auto count = [](const std::vector<std::size_t>& all) { return std::count(all.begin(), all.end(), 1U); };
  EXPECT_EQ(count(winners(1, false)), 0);
  EXPECT_GT(count(winners(1, true)), 60);
  EXPECT_LT(count(winners(1, true)), 140);
  EXPECT_EQ(winners(1, true), winners(1, true));
  EXPECT_NE(winners(1, true), winners(2, true));
}

TEST(coro_select, that_is_fair_waits_for_the_first_and_takes_the_others_out) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    for (std::uint64_t i = 1; i <= 20; ++i) {
      const auto got = co_await select_fair(recv(rx), sleep(duration::seconds(9)), sleep(duration::seconds(1)));
      EXPECT_EQ(got.index(), 2U);
      EXPECT_EQ(c.now(), instant{i * 1'000'000'000});
    }
    EXPECT_EQ(c.kernel().live_timers(), 0U);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
  expect_legal(rt);
}

TEST(coro_select, leaves_the_message_that_a_losing_recv_could_have_had) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<std::unique_ptr<int>>(c, 1);
    notify n;
    EXPECT_EQ(notify::create(c, n), status::ok);
    auto teller = spawn(
        c,
        [](cx, notify of, sender<std::unique_ptr<int>> to) -> task<> {
          EXPECT_EQ(of.notify_one(), status::ok);
          EXPECT_EQ(to.try_send(std::make_unique<int>(9)).code, status::ok);
          co_return;
        },
        n, tx);
    const auto got = co_await select(wait(n), recv(rx));  // Both came between two polls.
    EXPECT_EQ(got.index(), 0U);
    EXPECT_EQ(look(rx).queued, 1U);
    EXPECT_FALSE(look(rx).is_receiver_waiting);
    auto later = co_await select(sleep(duration::seconds(1)), recv(rx));
    EXPECT_EQ(later.index(), 1U);
    EXPECT_EQ(**std::get<1>(later), 9);
    EXPECT_EQ(c.kernel().live_timers(), 0U) << "the losing sleep stopped its timer";
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_select, takes_a_losing_recv_out_of_the_channel) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    const auto got = co_await select(recv(rx), sleep(duration::seconds(1)));
    EXPECT_EQ(got.index(), 1U);
    EXPECT_FALSE(look(rx).is_receiver_waiting);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_select, takes_the_place_of_a_losing_reserve_out_of_the_queue_and_its_slot_goes_to_the_next) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    EXPECT_EQ(tx.try_send(1).code, status::ok);
    auto late = co_await select(reserve(tx), sleep(duration::seconds(1)));
    EXPECT_EQ(late.index(), 1U);
    EXPECT_EQ(look(tx).waiters, 0U);
    auto next = spawn(c, [](cx, sender<int> to) -> task<> { co_await send(to, 2); }, tx);
    co_await yield();
    EXPECT_EQ(*co_await recv(rx), 1);
    EXPECT_EQ(*co_await recv(rx), 2);
    // Ready, and behind the winner: no permit was made.
    const auto both = co_await select(sleep(duration{}), reserve(tx));
    EXPECT_EQ(both.index(), 0U);
    EXPECT_EQ(look(tx).reserved, 0U);
    auto permit = co_await select(reserve(tx), sleep(duration::seconds(1)));
    EXPECT_EQ(look(tx).reserved, 1U);
    EXPECT_EQ(std::get<0>(permit).send(3).code, status::ok);
    co_return *co_await recv(rx);
  });
  EXPECT_EQ(out.value(), 3);
  expect_legal(rt);
}

TEST(coro_select, passes_on_the_notification_and_the_units_of_losers) {
  runtime rt;
  notify n;
  semaphore s;
  ASSERT_EQ(notify::create(rt.kernel(), rt.root(), n), status::ok);
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, s), status::ok);
  semaphore_units host;
  ASSERT_EQ(s.try_acquire(1, host), status::ok);
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  auto chooser = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, receiver<int> from, notify of, semaphore units) -> task<std::size_t> {
        const auto got = co_await select(recv(from), wait(of), acquire(units));
        co_return got.index();
      },
      std::move(rx), n, s);
  auto told = spawn_in(rt.kernel(), rt.root(), {}, [](cx, notify of) -> task<> { co_await wait(of); }, n);
  auto served = spawn_in(
      rt.kernel(), rt.root(), {}, [](cx, semaphore of) -> task<> { static_cast<void>(co_await acquire(of)); }, s);
  rt.run_until_idle();
  EXPECT_EQ(n.notify_one(), status::ok);  // The chooser stands first in each queue,
  host.release();
  EXPECT_EQ(tx.try_send(1).code, status::ok);  // and takes the message.
  rt.run_until_idle();
  outcome<std::size_t> out;
  ASSERT_EQ(chooser.handle.take(out), status::ok);
  EXPECT_EQ(out.value(), 0U);
  EXPECT_TRUE(told.handle.is_done()) << "R-246";
  EXPECT_TRUE(served.handle.is_done());
  expect_legal(rt);
}

TEST(coro_select, ends_as_its_winner_does) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    rx.drop();
    const auto how = co_await attempt(select(sleep(duration::seconds(1)), reserve(tx)));
    EXPECT_EQ(how.code, status::disconnected);
    EXPECT_EQ(c.kernel().live_timers(), 0U);
    static_cast<void>(co_await select(sleep(duration::seconds(1)), reserve(tx)));
    co_return 1;
  });
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::disconnected);

  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> {
    static_cast<void>(co_await select(sleep(duration::hours(1)), sleep(duration::hours(2))));
  });
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(rt.kernel().live_timers(), 0U);
}

// The loop of every server: a message, or silence, or the order to stop.
task<std::vector<std::string>> serves(cx, receiver<int> from, notify stop) {
  std::vector<std::string> log;
  for (;;) {
    auto got = co_await select(wait(stop), recv(from), sleep(duration::milliseconds(10)));
    if (got.index() == 0) co_return log;
    if (got.index() == 2) {
      log.push_back("silence");
    } else if (auto& message = std::get<1>(got)) {
      log.push_back(std::to_string(*message));
    } else {
      log.push_back("end");
      co_return log;
    }
  }
}

TEST(coro_select, serves_messages_notices_silence_and_stops_when_it_is_told) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 4);
    notify stop;
    EXPECT_EQ(notify::create(c, stop), status::ok);
    auto server = spawn(c, serves, std::move(rx), stop);
    co_await send(tx, 1);
    co_await send(tx, 2);
    co_await sleep(duration::milliseconds(25));
    co_await send(tx, 3);
    co_await sleep(duration::milliseconds(5));
    EXPECT_EQ(stop.notify_one(), status::ok);
    const auto log = co_await join(server.handle);
    EXPECT_EQ(log.value(), (std::vector<std::string>{"1", "2", "silence", "silence", "3"}));
    EXPECT_EQ(c.now(), instant{30'000'000});
    EXPECT_EQ(c.kernel().live_timers(), 0U);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  expect_legal(rt);
}

TEST(coro_select, loses_no_message_wherever_its_loop_is_cancelled) {
  for (std::uint64_t steps = 0;; ++steps) {
    ASSERT_LT(steps, 500U);
    runtime rt;
    notify stop;
    ASSERT_EQ(notify::create(rt.kernel(), rt.root(), stop), status::ok);
    auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
    receiver<int> from = std::move(rx);
    std::vector<int> got;
    auto sends = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, sender<int> to) -> task<> {
          for (int i = 0; i < 5; ++i) {
            co_await send(to, i);
            co_await sleep(duration::milliseconds(i % 2 == 0 ? 1U : 15U));
          }
        },
        std::move(tx));
    auto loop = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, receiver<int>* in, notify told, std::vector<int>* to) -> task<> {
          for (;;) {
            auto one = co_await select(wait(told), sleep(duration::milliseconds(10)), recv(*in));
            if (one.index() != 2) continue;
            if (!std::get<2>(one)) co_return;
            to->push_back(*std::get<2>(one));
          }
        },
        &from, stop, &got);
    rt.run_until_quiescent(steps);
    const bool was_over = loop.handle.is_done();
    if (!was_over) {
      EXPECT_EQ(loop.handle.cancel(), status::ok);
    }
    while (!loop.handle.is_done()) rt.run_until_quiescent(1);
    // Somebody else goes on where it stopped.
    auto heir = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, receiver<int>* in, std::vector<int>* to) -> task<> {
          while (auto one = co_await recv(*in)) to->push_back(*one);
        },
        &from, &got);
    rt.run_until_quiescent();
    ASSERT_TRUE(heir.handle.is_done());
    ASSERT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4})) << "cancelled after " << steps << " steps";
    if (was_over) return;
  }
}

}  // namespace
}  // namespace asx
