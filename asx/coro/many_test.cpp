// Lists through channels as coroutines use them: all of it, in order, and what was not sent is still there.
#include "asx/coro/many.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::nothing_left;
using testing::outcome_of;

using number = std::unique_ptr<std::uint64_t>;  // Null once it was moved from: sent, or received.

std::vector<number> numbers(std::uint64_t first, std::size_t count) {
  std::vector<number> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::make_unique<std::uint64_t>(first + i));
  return out;
}

// Every element behind those that were sent is there and in order; none before is.
void expect_rest(const std::vector<number>& list, std::uint64_t first, std::size_t sent) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i] != nullptr, i >= sent) << i;
    EXPECT_TRUE(list[i] == nullptr || *list[i] == first + i) << i;
  }
}

LAB_TEST(coro_many, all_of_a_list_comes_in_order_and_then_the_end) {
  auto [code, tx, rx] = channel<number>(c, 3);
  const auto produce = [](cx, sender<number> to) -> task<> {
    auto list = numbers(0, 10);
    co_await send_many(to, list);
    expect_rest(list, 0, 10);
    list.clear();
    co_await send_many(to, list);  // Nothing is sent by an empty one.
    std::array<number, 2> last{std::make_unique<std::uint64_t>(10), std::make_unique<std::uint64_t>(11)};
    co_await send_many(to, std::span(last));
  };
  EXPECT_EQ(spawn(c, produce, std::move(tx)).code, status::ok);
  std::vector<number> got;
  std::size_t all = 0;
  while (const std::size_t more = co_await recv_many(rx, got, 100)) {
    EXPECT_LE(more, 3U) << "no more than the channel holds";
    all += more;
  }
  EXPECT_EQ(all, 12U);
  EXPECT_EQ(got.size(), 12U);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(*got[i], i);
  EXPECT_EQ(co_await recv_many(rx, got, 1), 0U) << "the end stays the end";
  EXPECT_EQ((co_await attempt(recv_many(rx, got, 1))).value, 0U);
}

// Goal:   a turn is as many messages as there is room for, so that several who wait do not pay a dispatch a message.
// Method: four senders of 64 each, capacity 16; the receiver counts how often it took some.
TEST(coro_many, takes_few_polls_where_several_wait) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<std::uint64_t> {
    auto [code, tx, rx] = channel<std::uint64_t>(c, 16);
    const auto produce = [](cx, sender<std::uint64_t> to) -> task<> {
      std::vector<std::uint64_t> list(64);
      co_await send_many(to, list);
    };
    for (int i = 0; i < 4; ++i) co_await start(c, produce, tx);
    tx.drop();
    std::vector<std::uint64_t> got;
    std::uint64_t times = 0;
    while (co_await recv_many(rx, got, 16) != 0) ++times;
    EXPECT_EQ(got.size(), 256U);
    co_return times;
  });
  EXPECT_LE(out.value(), 24U) << "sixteen at a time, but for a few";
  before.check();
}

TEST(coro_many, a_list_that_lies_ready_takes_no_more_than_was_asked_for) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<> {
    auto [code, tx, rx] = channel<int>(c, 8);
    std::vector<int> list{1, 2, 3, 4, 5};
    co_await send_many(tx, list);
    std::vector<int> got;
    EXPECT_EQ(co_await recv_many(rx, got, 2), 2U);
    EXPECT_EQ(co_await recv_many(rx, got, 0), 1U) << "0 counts as 1";
    EXPECT_EQ(co_await recv_many(rx, got, 100), 2U);
    EXPECT_EQ(got, list);
    for (int i = 0; i < 100; ++i) {  // What goes on being filled is not copied each time.
      co_await send(tx, i);
      const std::size_t room = got.capacity();
      co_await recv_many(rx, got, 1);
      EXPECT_TRUE(got.capacity() == room || got.capacity() >= 2 * room);
    }
  });
  EXPECT_TRUE(out.is_ok());
}

LAB_TEST(coro_many, what_was_not_sent_is_in_the_list_when_the_receiver_goes) {
  auto [code, tx, rx] = channel<number>(c, 2);
  auto list = numbers(0, 7);
  co_await start(
      c,
      [](cx, receiver<number> from) -> task<> {
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(co_await recv(from));
      },
      std::move(rx));
  const sent_many told = co_await attempt(send_many(tx, list));
  EXPECT_EQ(told.code, status::disconnected);
  EXPECT_FALSE(told.is_ok());
  EXPECT_GE(told.sent, 3U);
  EXPECT_LE(told.sent, 5U);
  expect_rest(list, 0, told.sent);
}

// Goal:   an operation that loses a select has taken nothing, and what it sent before is told.
// Method: a list that does not fit waits beside a shorter sleep; a receive of several waits beside one, too.
LAB_TEST(coro_many, who_loses_a_select_takes_nothing_more) {
  auto [code, tx, rx] = channel<number>(c, 2);
  auto list = numbers(0, 5);
  {
    auto sending = send_many(tx, list);
    const auto won = co_await select(std::ref(sending), sleep(duration::milliseconds(1)));
    EXPECT_EQ(won.index(), 1U);
    EXPECT_EQ(sending.sent(), 2U);
  }
  expect_rest(list, 0, 2);
  channel_report r;
  EXPECT_EQ(tx.inspect(r), status::ok);
  EXPECT_EQ(r.waiters, 0U) << "it waits no more";
  std::vector<number> got;
  EXPECT_EQ(co_await recv_many(rx, got, 5), 2U);
  const auto late = co_await select(recv_many(rx, got, 5), sleep(duration::milliseconds(1)));
  EXPECT_EQ(late.index(), 1U);
  EXPECT_EQ(rx.inspect(r), status::ok);
  EXPECT_FALSE(r.is_receiver_waiting);
  co_await send(tx, std::make_unique<std::uint64_t>(2));
  const auto early = co_await select(recv_many(rx, got, 5), sleep(duration::milliseconds(1)));
  EXPECT_EQ(early.index(), 0U);
  EXPECT_EQ(got.size(), 3U);
}

LAB_TEST(coro_many, what_has_a_name_may_be_asked_again_until_it_is_spent) {
  auto [code, tx, rx] = channel<int>(c, 2);
  std::vector<int> list{1, 2, 3, 4, 5};
  std::vector<int> got;
  auto sending = send_many(tx, list);
  auto receiving = recv_many(rx, got, 8);
  for (int i = 0; i < 3; ++i) {  // By turns: a list that waits has sent two, and the receive takes them.
    const auto won = co_await select(std::ref(sending), std::ref(receiving));
    EXPECT_EQ(won.index(), i < 2 ? 1U : 0U);
    EXPECT_EQ(sending.sent(), i == 0 ? 2U : i == 1 ? 4U : 5U);
  }
  const auto spent = co_await attempt(select(std::ref(sending), sleep(duration::milliseconds(1))));
  EXPECT_EQ(spent.code, status::invalid_argument);
  EXPECT_EQ(spent.branch, 0U);
  got.shrink_to_fit();  // It makes room each time.
  const auto rest = co_await select(std::ref(receiving), sleep(duration::milliseconds(1)));
  EXPECT_EQ(rest.index(), 0U);
  EXPECT_EQ(got, list);
}

// A list without memory for more: what is thrown is seen where it is awaited, and nothing was taken.
struct no_memory {};
template <class T>
struct small_list : std::vector<T> {
  void reserve(std::size_t wanted) {
    if (wanted > 4) throw no_memory();
    std::vector<T>::reserve(wanted);
  }
};
LAB_TEST(coro_many, a_list_without_memory_for_more_takes_nothing) {
  auto [code, tx, rx] = channel<int>(c, 4);
  std::vector<int> list{1, 2, 3, 4};
  co_await send_many(tx, list);
  small_list<int> got;
  EXPECT_EQ(co_await recv_many(rx, got, 2), 2U);
  bool is_thrown = false;
  try {
    static_cast<void>(co_await recv_many(rx, got, 3));
  } catch (const no_memory&) {
    is_thrown = true;
  }
  EXPECT_TRUE(is_thrown);
  EXPECT_EQ(got.size(), 2U);
  EXPECT_EQ(rx.depth(), 2U);
}

// Goal:   plain messages, which go as bytes where nobody listens, do what others do.
// Method: lists of drawn lengths through drawn capacities, with a journal and without, and a sender of single messages
//         beside them, against what was sent.
TEST(coro_many, plain_messages_do_the_same_with_a_journal_and_without) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::array<std::vector<std::uint64_t>, 2> came;
    for (const bool is_told : {false, true}) {
      runtime_config config;
      config.journaling = is_told ? journal_mode::full : journal_mode::off;
      config.behaviour.ghosts = is_told ? ghost_mode::on : ghost_mode::off;
      runtime rt(config);
      const auto out = outcome_of(
          rt,
          [](cx c, std::uint64_t drawn, std::vector<std::uint64_t>* got) -> task<> {
            splitmix64 draws(drawn);
            auto [code, tx, rx] = channel<std::uint64_t>(c, static_cast<std::uint32_t>(1 + draws.next() % 9));
            const auto lists = [](cx, sender<std::uint64_t> to, std::uint64_t first, std::uint64_t with) -> task<> {
              splitmix64 lengths(with);
              for (std::uint64_t next = 0; next < 60;) {
                std::vector<std::uint64_t> list;
                for (std::uint64_t left = lengths.next() % 14; left != 0; --left) list.push_back(first + next++);
                co_await send_many(to, list);
              }
            };
            const auto singles = [](cx, sender<std::uint64_t> to) -> task<> {
              for (std::uint64_t i = 0; i < 20; ++i) co_await send(to, 3000 + i);
            };
            for (std::uint64_t i = 0; i < 3; ++i) co_await start(c, lists, tx, 1000 * i, draws.next());
            co_await start(c, singles, tx);
            tx.drop();
            std::vector<std::uint64_t> list;
            while (co_await recv_many(rx, list, static_cast<std::size_t>(draws.next() % 12)) != 0) {
              got->insert(got->end(), list.begin(), list.end());
              list.clear();
            }
          },
          seed, &came[is_told ? 1 : 0]);
      EXPECT_TRUE(out.is_ok());
    }
    EXPECT_EQ(came[0], came[1]) << seed;
    std::array<std::uint64_t, 4> next{};
    for (const std::uint64_t m : came[0]) EXPECT_EQ(m % 1000, next[m / 1000]++) << "out of its sender's order";
    EXPECT_EQ(next[3], 20U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_GE(next[i], 60U);
    if (HasFailure()) return;
  }
}

// ---- whatever goes wrong -------------------------------------------------------------------------------------------

struct account {
  std::vector<number> list;
  std::size_t sent = 0;
  bool has_answered = false;
};

// What was sent was received, or lies in the channel when its receiver goes; what was not is in the list.
void expect_all_there(const std::array<account, 3>& senders, const std::vector<number>& got) {
  std::array<std::size_t, 3> came{};
  for (const number& n : got) {
    const std::size_t who = *n / 100;
    EXPECT_EQ(*n % 100, came[who]) << "in its sender's order, and once";
    ++came[who];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t gone = 0;
    for (const number& n : senders[i].list) gone += n == nullptr ? 1U : 0U;
    EXPECT_GE(gone, came[i]);
    EXPECT_LE(gone, came[i] + 4) << "the channel holds four";
    EXPECT_TRUE(!senders[i].has_answered || senders[i].sent == gone);
    expect_rest(senders[i].list, 100 * i, gone);
  }
}

LAB_SWEEP(coro_many, nothing_is_lost_or_comes_twice_wherever_it_breaks, cancel, cancel_body, admission, polls, memory) {
  struct whole {
    std::array<account, 3> senders;
    std::vector<number> got;
    ~whole() { expect_all_there(senders, got); }
  } all;
  for (std::size_t i = 0; i < 3; ++i) all.senders[i].list = numbers(100 * i, 6);
  all.got.reserve(32);
  auto* const a = &all;
  co_await region(c, [a](cx r) -> task<> {
    auto [code, tx, rx] = channel<number>(r, 4);
    if (code != status::ok) co_await fail(code);
    const auto produce = [](cx, sender<number> to, account* mine) -> task<> {
      const sent_many told = co_await attempt(send_many(to, mine->list));
      mine->sent = told.sent;
      mine->has_answered = true;
      if (!told.is_ok()) co_await fail(told.code);
    };
    for (account& each : a->senders) co_await start(r, produce, tx, &each);
    tx.drop();
    while (co_await recv_many(rx, a->got, 3) != 0) co_await yield();
  });
}

}  // namespace
}  // namespace asx
