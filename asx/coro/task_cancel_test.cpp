// A cancel at every poll of every chain of coroutines: each local dies exactly once, the youngest first, and nothing
// stays behind.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::expect_legal;
using testing::life;
using testing::nothing_left;

// Coroutine number `at` of a chain of `depth`, with locals in front of, between and behind its awaits.
task<int> chain(cx c, book_of_lives* book, int depth, int at) {
  const life first(*book, 10 * at);
  co_await yield();
  const life second(*book, 10 * at + 1);
  int below = 0;
  if (at < depth) {
    const life around(*book, 10 * at + 2);
    below = co_await chain(c, book, depth, at + 1);
  }
  co_await sleep(duration::milliseconds(1));
  for (int i = 0; i < 2; ++i) {
    const life turn(*book, 10 * at + 3);
    co_await checkpoint();
  }
  const life last(*book, 10 * at + 4);
  co_await sleep(duration::milliseconds(1));
  co_return below + 1;
}

enum class stop { cancel, complete, forget };

// Runs `steps` of the chain, stops it, and lets it end. True when it had ended by itself before.
bool is_over_before(int depth, std::uint64_t steps, stop how) {
  book_of_lives book;
  bool was_over = false;
  {
    runtime rt;
    const nothing_left before(rt);
    {
      auto made = spawn_in(rt.kernel(), rt.root(), {}, chain, &book, depth, 1);
      EXPECT_EQ(made.code, status::ok);
      rt.run_until_quiescent(steps);
      was_over = made.handle.is_done();
      if (!was_over && how == stop::cancel) {
        EXPECT_EQ(made.handle.cancel(), status::ok);
      }
      if (!was_over && how == stop::complete) {
        EXPECT_EQ(rt.kernel().complete(made.handle.task(), task_outcome::err({status::corrupt, 0})), status::ok);
        EXPECT_TRUE(book.is_balanced()) << "the frame is gone when the call returns";
      }
      if (how == stop::forget) {
        rt.shutdown();
        EXPECT_TRUE(book.is_balanced());
      }
      rt.run_until_quiescent();
      outcome<int> out;
      EXPECT_EQ(made.handle.take(out), status::ok);
      if (was_over) {
        EXPECT_EQ(out.value(), depth);
      } else if (how == stop::complete) {
        EXPECT_TRUE(out.is_err());
      } else {
        EXPECT_TRUE(out.is_cancelled());
      }
    }
    if (how != stop::forget) before.check();
    expect_legal(rt);
  }
  EXPECT_TRUE(book.is_balanced()) << book.born << " were born, " << book.died << " died";
  EXPECT_EQ(book.out_of_order, 0);
  return was_over;
}

TEST(coro_cancel_sweep, destroys_each_local_once_and_the_youngest_first_at_every_depth_and_point) {
  for (const stop how : {stop::cancel, stop::complete, stop::forget}) {
    for (int depth = 1; depth <= 6; ++depth) {
      std::uint64_t steps = 0;
      while (!is_over_before(depth, steps, how)) {
        if (::testing::Test::HasFailure()) FAIL() << "depth " << depth << ", step " << steps;
        ASSERT_LT(++steps, 1000U);
      }
      EXPECT_GE(steps, static_cast<std::uint64_t>(3 * depth)) << "there was a point for each await";
    }
  }
}

// Every operation there is, so that each is left behind at each of its points.
task<> tour(cx c, book_of_lives* book, semaphore units, mutex<int> guarded, notify told) {
  const life whole(*book, 1);
  auto [code, tx, rx] = channel<int>(c, 1);
  {
    const life at(*book, 2);
    auto permit = co_await reserve(tx);
    co_await yield();
    EXPECT_EQ(permit.send(1).code, status::ok);
    co_await select(reserve(tx), sleep(duration::milliseconds(1)));  // Full: time wins.
    static_cast<void>(co_await recv(rx));
    co_await select(recv(rx), sleep(duration::milliseconds(1)));
  }
  {
    const life at(*book, 3);
    const auto held = co_await acquire(units, 2);
    const auto guard = co_await lock(guarded);
    co_await sleep(duration::milliseconds(1));
    ++*guard;
  }
  {
    const life at(*book, 4);
    const auto told_later = [](cx, notify n) -> task<> {
      co_await sleep(duration::milliseconds(1));
      EXPECT_EQ(n.notify_one(), status::ok);
    };
    auto teller = spawn(c, told_later, told);
    co_await wait(told);
    static_cast<void>(co_await join(teller.handle));
  }
  {
    const life at(*book, 5);
    int borrowed = 0;
    co_await region(c, [&](cx r) -> task<> {
      for (int i = 0; i < 2; ++i) {
        const auto made = spawn(r, [&borrowed](cx) -> task<> {
          co_await sleep(duration::milliseconds(1));
          ++borrowed;
        });
        EXPECT_TRUE(made.code == status::ok || made.code == status::region_not_open);
      }
      co_await yield();
    });
    EXPECT_EQ(borrowed, 2);
    const auto late =
        co_await with_timeout(c, duration::milliseconds(1), [](cx) -> task<> { co_await sleep(duration::seconds(1)); });
    EXPECT_FALSE(late.has_value());
  }
}

TEST(coro_cancel_sweep, leaves_nothing_of_any_operation_behind_at_any_point) {
  for (std::uint64_t steps = 0;; ++steps) {
    ASSERT_LT(steps, 1000U);
    book_of_lives book;
    bool was_over = false;
    {
      runtime rt;
      semaphore units;
      mutex<int> guarded;
      notify told;
      ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 2, units), status::ok);
      ASSERT_EQ(mutex<int>::create(rt.kernel(), rt.root(), guarded, "guarded", 0), status::ok);
      ASSERT_EQ(notify::create(rt.kernel(), rt.root(), told), status::ok);
      const nothing_left before(rt);
      {
        auto made = spawn_in(rt.kernel(), rt.root(), {}, tour, &book, units, guarded, told);
        rt.run_until_quiescent(steps);
        was_over = made.handle.is_done();
        if (!was_over) {
          EXPECT_EQ(made.handle.cancel(), status::ok);
        }
        EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
        outcome<unit> out;
        ASSERT_EQ(made.handle.take(out), status::ok);
        EXPECT_TRUE(out.is_ok() || out.is_cancelled()) << name(out.kind());
        EXPECT_EQ(out.is_ok(), was_over) << "step " << steps;
      }
      before.check();
      semaphore_report r;
      ASSERT_EQ(units.inspect(r), status::ok);
      EXPECT_EQ(r.left, 2U);
      expect_legal(rt);
    }
    EXPECT_TRUE(book.is_balanced());
    EXPECT_EQ(book.out_of_order, 0);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "cancelled after " << steps << " steps";
    if (was_over) {
      EXPECT_GT(steps, 15U);
      return;
    }
  }
}

task<> nest(cx c, book_of_lives* book, int left) {
  const life here(*book, left);
  if (left == 0) {
    co_await sleep(duration::hours(1));
  } else {
    co_await nest(c, book, left - 1);
  }
}

// Three wakes are what design asks for; here it is one poll that sees the cancel and one that finalizes.
TEST(coro_cancel, of_a_parked_chain_costs_two_dispatches_whatever_its_depth) {
  for (const int depth : {1, 6}) {
    runtime rt;
    book_of_lives book;
    auto made = spawn_in(rt.kernel(), rt.root(), {}, nest, &book, depth);
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel(), status::ok);
    EXPECT_EQ(rt.run_until_idle().steps, 3U) << "two dispatches, and one that finds nothing";
    EXPECT_TRUE(made.handle.is_done());
    EXPECT_TRUE(book.is_balanced());
  }
}

}  // namespace
}  // namespace asx
