// Channels as coroutines use them: nothing is lost and nothing comes twice, wherever somebody is cancelled.
#include "asx/coro/chan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asx/coro/region.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::expect_legal;
using testing::life;
using testing::nothing_left;
using testing::outcome_of;

TEST(coro_chan, brings_every_value_in_order_and_then_the_end) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<std::unique_ptr<int>>(c, 2);
    const auto produce = [](cx, sender<std::unique_ptr<int>> to) -> task<> {
      for (int i = 0; i < 10; ++i) {
        if (i % 2 == 0) {
          co_await send(to, std::make_unique<int>(i));
        } else {
          auto permit = co_await reserve(to);
          co_await yield();
          EXPECT_EQ(permit.send(std::make_unique<int>(i)).code, status::ok);
        }
      }
    };
    EXPECT_EQ(spawn(c, produce, std::move(tx)).code, status::ok);
    int next = 0;
    while (auto got = co_await recv(rx)) EXPECT_EQ(**got, next++);
    EXPECT_FALSE((co_await recv(rx)).has_value()) << "the end stays the end";
    co_return next;
  });
  EXPECT_EQ(out.value(), 10);
  before.check();
  expect_legal(rt);
}

// Goal:   what takes the place of a close that drains: the receiver has its senders end, and receives until the
//         end.
// Method: three senders are cancelled at every moment of a short run; each counts what was sent, and one sends on a
//         permit that it had when it was cancelled.
TEST(coro_chan, r300_a_receiver_that_has_its_senders_end_loses_nothing) {
  for (int before_the_end = 0; before_the_end < 24; ++before_the_end) {
    runtime rt;
    const nothing_left before(rt);
    const auto out = outcome_of(rt, [before_the_end](cx c) -> task<int> {
      auto [code, tx, rx] = channel<int>(c, 2);
      int sent = 0;
      auto* const s = &sent;
      auto* const to = &tx;
      auto* const from = &rx;
      int received = 0;
      auto* const r = &received;
      co_await region(c, {.policy = region_policy::body_decides}, [s, to, from, r, before_the_end](cx in) -> task<> {
        std::vector<join_handle<void>> all;
        for (int i = 0; i < 3; ++i) {
          all.push_back(co_await start(
              in,
              [](cx, sender<int> mine, int* count, bool has_permit) -> task<> {
                for (;;) {
                  auto place = co_await attempt(reserve(mine));
                  if (place.code != status::ok) co_return;
                  const bool goes_on =
                      !has_permit || (co_await attempt(sleep(duration::milliseconds(1)))).code == status::ok;
                  EXPECT_EQ(place.value->send(1).code, status::ok);
                  ++*count;
                  if (!goes_on) co_return;
                }
              },
              *to, s, i == 2));
        }
        to->drop();
        for (int i = 0; i < before_the_end; ++i) *r += co_await recv(*from) ? 1 : 0;
        for (auto& h : all) EXPECT_EQ(h.cancel(), status::ok);
        while (co_await recv(*from)) ++*r;
        EXPECT_EQ(from->try_recv().code, status::disconnected);
      });
      EXPECT_EQ(received, sent);
      co_return received;
    });
    EXPECT_GE(out.value(), before_the_end);
    before.check();
    expect_legal(rt);
  }
}

TEST(coro_chan, ends_with_disconnected_when_nobody_receives) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    rx.drop();
    co_await send(tx, 1);
    co_return 1;
  });
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::disconnected);
}

TEST(coro_chan, says_stale_for_an_end_that_was_dropped) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    sender<int> dead = tx;
    dead.drop();
    EXPECT_EQ((co_await attempt(reserve(dead))).code, status::stale_handle);
    receiver<int> none;
    EXPECT_EQ((co_await attempt(recv(none))).code, status::stale_handle);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

// Law 1: when a send ends otherwise, the value is in the answer.
TEST(coro_chan, hands_back_the_value_of_a_send_that_was_attempted_in_vain) {
  runtime rt;
  book_of_lives book;
  int handed_back = 0;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, book_of_lives* b, int* back) -> task<> {
        auto [code, tx, rx] = channel<life>(c, 1);
        auto good = co_await attempt(send(tx, life(*b, 1)));
        EXPECT_EQ(good.code, status::ok);
        EXPECT_FALSE(good.value.has_value());
        auto cancelled = co_await attempt(send(tx, life(*b, 2)));
        EXPECT_EQ(cancelled.code, status::cancelled);
        if (cancelled.value) *back += cancelled.value->number();
        EXPECT_EQ(c.mask_enter(), status::ok);
        rx.drop();
        auto late = co_await attempt(send(tx, life(*b, 40)));
        EXPECT_EQ(late.code, status::disconnected);
        if (late.value) *back += late.value->number();
      },
      &book, &handed_back);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_quiescent();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(handed_back, 42);
  EXPECT_TRUE(book.is_balanced());
}

TEST(coro_chan, gives_a_permit_back_that_dies_with_a_cancelled_coroutine_and_the_next_is_served) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    auto holder = spawn(
        c,
        [](cx, sender<int> to) -> task<> {
          const auto permit = co_await reserve(to);
          co_await sleep(duration::hours(1));
        },
        tx);
    co_await yield();
    auto next = spawn(c, [](cx, sender<int> to) -> task<> { co_await send(to, 7); }, tx);
    co_await yield();
    EXPECT_EQ(holder.handle.cancel(), status::ok);
    const auto got = co_await recv(rx);
    EXPECT_EQ(c.now(), instant{});
    co_return got.value_or(0);
  });
  EXPECT_EQ(out.value(), 7);
}

TEST(coro_chan, tracks_a_promise_until_it_is_kept) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, plain, rx] = channel<int>(c, 1);
    tracked_sender<int> tx(std::move(plain));
    auto permit = co_await reserve(tx);
    region_report r;
    EXPECT_EQ(c.kernel().inspect(c.region(), r), status::ok);
    EXPECT_EQ(r.reserved, 1U);
    EXPECT_EQ(permit.send(5).code, status::ok);
    EXPECT_EQ(c.kernel().inspect(c.region(), r), status::ok);
    EXPECT_EQ(r.reserved, 0U);
    co_return *co_await recv(rx);
  });
  EXPECT_EQ(out.value(), 5);
}

// ---- a pipeline, and a cancel of one of its parts after every number of steps -------------------------------------

struct ledger {
  std::vector<int> made;      // Values that a send was begun for.
  std::vector<int> sent;      // Those whose send has returned.
  std::vector<int> kept;      // Those that came back.
  std::vector<int> received;  // At the end of the pipeline.
};

task<> produces(cx, sender<int> to, ledger* book, int base) {
  for (int i = 0; i < 6; ++i) {
    book->made.push_back(base + i);
    auto how = co_await attempt(send(to, base + i));
    if (how.code != status::ok) {
      if (how.value) book->kept.push_back(*how.value);
      co_return;
    }
    book->sent.push_back(base + i);
  }
}

// Takes a value only when it has a place for it: two-phase, so that a cancel between the two loses nothing.
task<> relays(cx, receiver<int> from, sender<int> to) {
  for (;;) {
    auto permit = co_await reserve(to);
    auto got = co_await recv(from);
    if (!got) co_return;
    EXPECT_EQ(permit.send(*got).code, status::ok);
    co_await yield();
  }
}

task<> consumes(cx, receiver<int>* from, ledger* book) {
  while (auto got = co_await recv(*from)) {
    book->received.push_back(*got);
    co_await sleep(duration::milliseconds(1));
  }
}

// What went with the ends of receivers, by the journal: the channels are gone by then.
std::size_t discarded_in(runtime& rt) {
  std::size_t out = 0;
  for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
    const event e = rt.journal().at(i);
    const bool is_told =
        e.kind == event_kind::channel_receiver_closed || e.kind == event_kind::channel_fully_closed_by_receiver;
    if (is_told) out += high_half(e.a);
  }
  return out;
}

// Cancels part `victim` after `steps` steps. True when everything had ended before.
bool pipeline_ends_before(std::uint64_t steps, std::size_t victim) {
  runtime rt;
  ledger book;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 2, "first");
  auto [code2, tx2, rx2] = channel<int>(rt.kernel(), rt.root(), 1, "second");
  EXPECT_EQ(code, status::ok);
  EXPECT_EQ(code2, status::ok);
  receiver<int> last = std::move(rx2);
  std::vector<join_handle<void>> parts;
  const auto add = [&parts](auto made) {
    EXPECT_EQ(made.code, status::ok);
    parts.push_back(std::move(made.handle));
  };
  add(spawn_in(rt.kernel(), rt.root(), {}, produces, tx, &book, 100));
  add(spawn_in(rt.kernel(), rt.root(), {}, produces, std::move(tx), &book, 200));
  add(spawn_in(rt.kernel(), rt.root(), {}, relays, std::move(rx), std::move(tx2)));
  add(spawn_in(rt.kernel(), rt.root(), {}, consumes, &last, &book));
  rt.run_until_quiescent(steps);
  const bool was_over = std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.is_done(); });
  const bool has_hit = !parts[victim].is_done();
  if (has_hit) {
    EXPECT_EQ(parts[victim].cancel(), status::ok);
  }
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  while (true) {  // What a cancelled consumer left in the channels is still there, and comes as there is room.
    auto left = last.try_recv();
    if (left.code != status::ok) break;
    book.received.push_back(*left.value);
    rt.run_until_quiescent();
  }
  for (const auto& p : parts) EXPECT_TRUE(p.is_done());
  const std::size_t discarded = discarded_in(rt);
  last.drop();
  rt.run_until_quiescent();

  std::vector<int> all = book.received;
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "nothing twice";
  for (const int base : {100, 200}) {
    std::vector<int> of;
    std::copy_if(book.received.begin(), book.received.end(), std::back_inserter(of),
                 [base](int v) { return v / 100 == base / 100; });
    std::vector<int> sent;
    std::copy_if(book.sent.begin(), book.sent.end(), std::back_inserter(sent),
                 [base](int v) { return v / 100 == base / 100; });
    EXPECT_LE(of.size(), sent.size());
    EXPECT_TRUE(std::equal(of.begin(), of.end(), sent.begin())) << "in order, and none between them is missing";
  }
  EXPECT_EQ(book.sent.size(), all.size() + discarded) << "what was sent was received, or went with its receiver";
  EXPECT_EQ(book.made.size(), book.sent.size() + book.kept.size()) << "what was not sent came back";
  if (victim != 2) {  // Only the relay holds a receiver that somebody could wait for.
    EXPECT_EQ(discarded, 0U);
  }
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
  return was_over;
}

TEST(coro_chan_sweep, loses_nothing_and_brings_nothing_twice_wherever_a_part_of_a_pipeline_is_cancelled) {
  for (std::size_t victim = 0; victim < 4; ++victim) {
    std::uint64_t steps = 0;
    while (!pipeline_ends_before(steps, victim)) {
      ASSERT_FALSE(::testing::Test::HasFailure()) << "part " << victim << " was cancelled after " << steps << " steps";
      ASSERT_LT(++steps, 2000U);
    }
    EXPECT_GT(steps, 20U);
  }
}

// A relay that takes before it has a place must hand on what it took: the whole is told by attempt.
TEST(coro_chan, keeps_what_it_received_when_the_send_behind_it_is_cancelled) {
  runtime rt;
  std::vector<int> rescued;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 4, "in");
  auto [code2, tx2, rx2] = channel<int>(rt.kernel(), rt.root(), 1, "out");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tx.try_send(i).code, status::ok);
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, receiver<int> from, sender<int> to, std::vector<int>* safe) -> task<> {
        for (;;) {
          const auto got = co_await recv(from);
          if (!got) co_return;
          auto how = co_await attempt(send(to, *got));
          if (how.code == status::ok) continue;
          safe->push_back(how.value.value_or(-1));
          co_return;
        }
      },
      std::move(rx), std::move(tx2), &rescued);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(rescued, std::vector<int>{1});
  EXPECT_EQ(*rx2.try_recv().value, 0);
}

TEST(coro_chan_death, a_task_waits_only_for_what_is_of_its_own_runtime) {
  const auto crosses = [] {
    runtime a, b;
    auto ends = channel<int>(b.kernel(), b.root(), 1);
    auto t = spawn_in(
        a.kernel(), a.root(), {}, [](cx, receiver<int> rx) -> task<> { static_cast<void>(co_await attempt(recv(rx))); },
        std::move(ends.rx));
    a.run_until_idle();
    static_cast<void>(t);
  };
  EXPECT_DEATH(crosses(), "a task waits only for what is of its own runtime");
}

}  // namespace
}  // namespace asx
