// The memory of frames: it comes from the runtime's pool and goes back, and one that is refused is told as err.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "asx/base/testing.hpp"
#include "asx/base/testing/counted_new.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::counting_memory;
using testing::life;
using testing::news;
using testing::nothing_left;

task<int> leaf(cx, int n) {
  co_await yield();
  co_return n;
}

task<int> sums(cx c, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await leaf(c, i);
  co_return sum;
}

task<> beats(cx, sender<int> tx, int n) {
  for (int i = 0; i < n; ++i) {
    co_await sleep(duration::milliseconds(1));
    co_await send(tx, i);
  }
}

// Children, tasks, a channel, time, a block and a timeout: 15 + 6 + 1 in all.
task<int> program(cx c, life) {
  auto [code, tx, rx] = channel<int>(c, 2);
  if (code != status::ok) co_await fail(code);
  int sum = co_await sums(c, 6);
  auto made = spawn(c, beats, std::move(tx), 4);
  if (made.code != status::ok) co_await fail(made.code);
  while (auto got = co_await recv(rx)) sum += *got;
  const auto how = co_await join(made.handle);
  if (how.is_err()) co_await fail(how.error().code);
  sum += co_await region(c, [](cx r) -> task<int> {
    auto child = spawn(r, leaf, 1);
    if (child.code != status::ok) co_await fail(child.code);
    co_return 1;
  });
  const auto late =
      co_await with_timeout(c, duration::milliseconds(1), [](cx) -> task<> { co_await sleep(duration::seconds(1)); });
  co_return late.has_value() ? -1 : sum;
}

constexpr int total = 15 + 6 + 1;

TEST(coro_memory, asks_nobody_for_anything_once_the_pools_are_warm) {
  counting_memory memory;
  runtime_config config;
  config.memory = memory.port();
  config.journaling = journal_mode::off;
  runtime rt(config);
  book_of_lives book;
  book.alive.reserve(8);
  book.deaths.reserve(1000);
  const nothing_left before(rt);
  std::size_t requests = 0;
  std::uint64_t calls = 0;
  for (int i = 0; i < 60; ++i) {
    if (i == 10) {
      requests = memory.requests();
      calls = news;
    }
    auto made = spawn_in(rt.kernel(), rt.root(), {}, program, life(book, i));
    rt.run_until_quiescent();
    outcome<int> out;
    EXPECT_EQ(made.handle.take(out), status::ok);
    EXPECT_EQ(out.value(), total);
  }
  EXPECT_EQ(memory.requests(), requests);
  EXPECT_EQ(news, calls);
  EXPECT_TRUE(book.is_balanced());
  before.check();
}

task<> sends_often(cx, sender<int> tx, int n) {
  for (int i = 0; i < n; ++i) co_await send(tx, i);
}

task<int> drains_slowly(cx, receiver<int> rx) {
  int count = 0;
  while (const auto got = co_await recv(rx)) {
    ++count;
    co_await yield();
  }
  co_return count;
}

task<int> crowded(cx c, int n) {
  auto ends = channel<int>(c, 1);
  auto count = spawn(c, drains_slowly, std::move(ends.rx));
  co_await region(c, [n, tx = &ends.tx](cx r) -> task<> {
    for (int i = 0; i < 4; ++i) co_await start(r, sends_often, *tx, n);
  });
  ends.tx.drop();
  const outcome<int> received = co_await join(count.handle);
  co_return received.value();
}

// A send that is awaited waits with its message in its frame.
TEST(coro_memory, senders_that_wait_with_their_messages_ask_for_nothing) {
  counting_memory memory;
  runtime_config config;
  config.memory = memory.port();
  config.journaling = journal_mode::off;
  runtime rt(config);
  std::size_t requests = 0;
  std::uint64_t calls = 0;
  for (int i = 0; i < 12; ++i) {
    if (i == 2) {
      requests = memory.requests();
      calls = news;
    }
    auto made = spawn_in(rt.kernel(), rt.root(), {}, crowded, 40);
    rt.run_until_quiescent();
    outcome<int> out;
    EXPECT_EQ(made.handle.take(out), status::ok);
    EXPECT_EQ(out.value(), 160);
  }
  EXPECT_EQ(memory.requests(), requests);
  EXPECT_EQ(news, calls);
}

struct trial {
  status spawned = status::ok;
  outcome<int> out{};
};

// One run of the program; everything must be back at its end.
trial run_once(runtime& rt) {
  trial t;
  book_of_lives book;
  const nothing_left before(rt);
  {
    auto made = spawn_in(rt.kernel(), rt.root(), {}, program, life(book, 1));
    t.spawned = made.code;
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    if (made.code == status::ok) {
      EXPECT_EQ(made.handle.take(t.out), status::ok);
    }
  }
  EXPECT_TRUE(book.is_balanced()) << book.born << " and " << book.died;
  before.check();
  return t;
}

void expect_served_or_refused(const trial& t) {
  if (t.spawned != status::ok) {
    EXPECT_EQ(t.spawned, status::resource_exhausted);
  } else if (t.out.is_err()) {
    EXPECT_EQ(t.out.error().code, status::resource_exhausted);
  } else {
    ASSERT_TRUE(t.out.is_ok()) << name(t.out.kind());
    EXPECT_EQ(t.out.value(), total);
  }
}

TEST(coro_memory, tells_the_kth_refusal_as_err_and_loses_nothing_for_every_k) {
  for (const bool refuses_ever_after : {false, true}) {
    int refused = 0;
    for (std::size_t k = 0;; ++k) {
      counting_memory memory;
      runtime_config config;
      config.memory = memory.port();
      config.journaling = journal_mode::off;
      runtime rt(config);
      ASSERT_EQ(rt.start_status(), status::ok);
      memory.refuse_from = memory.requests() + k;
      if (!refuses_ever_after) memory.refuse_to = memory.refuse_from + 1;
      const trial t = run_once(rt);
      const bool was_hit = memory.requests() > memory.refuse_from;
      memory.refuse_from = counting_memory::never;
      expect_served_or_refused(t);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "request " << k << " was refused";
      if (t.spawned != status::ok || !t.out.is_ok()) ++refused;
      EXPECT_EQ(run_once(rt).out.value(), total) << "with memory again, all is well";
      if (!was_hit) break;
    }
    EXPECT_GT(refused, 8) << "frames were among what was refused";
  }
}

TEST(coro_memory, tells_every_ceiling_of_bytes_as_err_and_loses_nothing) {
  int refused = 0;
  int served = 0;
  for (std::uint64_t room = 0; room < 8192 && served < 3; room += 64) {
    runtime_config config;
    {
      runtime probe(config);
      config.contract.max_bytes = probe.kernel().nominal_used() + room;
    }
    runtime rt(config);
    const trial t = run_once(rt);
    expect_served_or_refused(t);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "with room for " << room;
    ++(t.spawned == status::ok && t.out.is_ok() ? served : refused);
  }
  EXPECT_GT(refused, 20);
  EXPECT_EQ(served, 3);
}

TEST(coro_memory, gives_an_empty_task_for_a_frame_that_is_refused_and_the_awaiting_one_may_go_on) {
  counting_memory memory;
  runtime_config config;
  config.memory = memory.port();
  config.journaling = journal_mode::off;
  runtime rt(config);
  book_of_lives book;
  const auto out = testing::outcome_of(
      rt,
      [](cx c, counting_memory* m, book_of_lives* b) -> task<int> {
        const auto child = [](cx, life) -> task<int> { co_return 1; };
        m->refuse_from = 0;
        task<int> refused = child(c, life(*b, 1));
        EXPECT_FALSE(refused);
        EXPECT_EQ(b->died, 1) << "its arguments are gone";
        const outcome<int> how = co_await attempt(std::move(refused));
        EXPECT_TRUE(how.is_err());
        EXPECT_EQ(how.error().code, status::resource_exhausted);
        task<int> again = child(c, life(*b, 2));
        m->refuse_from = counting_memory::never;
        co_return co_await std::move(again);
      },
      &memory, &book);
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::resource_exhausted);
  EXPECT_TRUE(book.is_balanced());
}

}  // namespace
}  // namespace asx
