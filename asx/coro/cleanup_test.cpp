// Masks, limits of time and finalizers that await: cleanup is code like any other, and it is bounded.
#include "asx/coro/cleanup.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::expect_legal;
using testing::life;
using testing::nothing_left;
using testing::outcome_of;

constexpr duration second = duration::seconds(1);

task<int> answers_after(cx, duration d) {
  co_await sleep(d);
  co_return 7;
}

// ---- mask

TEST(coro_mask, lets_a_cleanup_await_and_ends_with_its_scope) {
  runtime rt;
  const nothing_left before(rt);
  std::vector<status> seen;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, std::vector<status>* log) -> task<> {
          log->push_back((co_await attempt(sleep(duration::hours(1)))).code);
          {
            const auto quiet = co_await mask();
            log->push_back((co_await attempt(sleep(second))).code);
            const auto more = co_await mask();
          }
          log->push_back(c.checkpoint());
          log->push_back((co_await attempt(sleep(second))).code);
        },
        &seen);
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel(), status::ok);
    rt.run_until_quiescent();
  }
  EXPECT_EQ(seen, (std::vector<status>{status::cancelled, status::ok, status::cancelled, status::cancelled}));
  EXPECT_EQ(rt.now(), instant{second.ns});
  before.check();
  expect_legal(rt);
}

TEST(coro_mask, too_deep_is_refused_and_ends_the_coroutine) {
  runtime_config config;
  config.contract.max_mask_depth = 1;
  runtime rt(config);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto one = co_await mask();
    const auto two = co_await attempt(mask());
    EXPECT_EQ(two.code, status::resource_exhausted);
    task_report r;
    EXPECT_EQ(c.kernel().inspect(c.handle(), r), status::ok);
    EXPECT_EQ(r.mask_depth, 1U) << "what was refused leaves nothing";
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

// R-137, as coroutines meet it: the grace is waited for, the hour is not, and what is borrowed outlives who borrows it.
TEST(coro_mask, that_sleeps_an_hour_ends_soon_after_the_grace_of_a_shutdown) {
  runtime rt;
  book_of_lives book;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, book_of_lives* b) -> task<> {
          const life here(*b, 1);
          std::vector<int> borrowed(100);
          co_await region(c, [b, &borrowed](cx r) -> task<> {
            const auto sleeps = [](cx, book_of_lives* to, std::vector<int>* into, int n) -> task<> {
              const life mine(*to, n);
              static_cast<void>(co_await attempt(sleep(duration::hours(1))));
              const auto quiet = co_await mask();
              for (;;) {
                (*into)[static_cast<std::size_t>(n)] += 1;
                static_cast<void>(co_await attempt(sleep(duration::hours(1))));
              }
            };
            for (int i = 2; i < 5; ++i) EXPECT_EQ(spawn(r, sleeps, b, &borrowed, i).code, status::ok);
            co_await sleep(duration::hours(1));
          });
        },
        &book);
    rt.run_until_idle();
    const shutdown_result end = rt.shutdown(duration::seconds(2));
    EXPECT_TRUE(end.is_quiescent()) << end.survivors;
  }
  EXPECT_EQ(rt.now(), instant{2 * second.ns});
  EXPECT_TRUE(book.is_balanced());
  ASSERT_FALSE(book.deaths.empty());
  EXPECT_EQ(book.deaths.back(), 1) << "the frame that was borrowed from went last";
  expect_legal(rt);
}

// ---- within

TEST(coro_within, gives_the_value_in_time_and_nothing_after_it) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b) -> task<int> {
        const auto in_time = co_await within(c, duration::seconds(2), answers_after, second);
        EXPECT_EQ(in_time, 7);
        EXPECT_EQ(c.kernel().live_timers(), 0U);
        const auto nested = [](cx own, book_of_lives* to, int n) -> task<> {
          const life outer(*to, n);
          co_await region(own, [to, n](cx) -> task<> {
            const life inner(*to, n + 1);
            co_await sleep(duration::hours(1));
          });
        };
        const auto late = co_await within(c, second, nested, b, 1);
        EXPECT_FALSE(late.has_value());
        EXPECT_TRUE(b->is_balanced()) << "it is gone when the answer is there";
        EXPECT_EQ(c.now(), instant{2 * second.ns});
        const auto stubborn = [](cx own, book_of_lives* to) -> task<> {
          const life here(*to, 9);
          for (;;) {
            static_cast<void>(co_await attempt(sleep(duration::milliseconds(400))));
            static_cast<void>(own.checkpoint());
          }
        };
        EXPECT_FALSE((co_await within(c, second, stubborn, b)).has_value());
        EXPECT_EQ(c.now(), instant{3 * second.ns});
        EXPECT_TRUE((co_await within(c, duration::max(), answers_after, second)).has_value());
        co_return 1;
      },
      &book);
  EXPECT_EQ(out.value(), 1);
  EXPECT_TRUE(book.is_balanced());
  EXPECT_EQ(book.out_of_order, 0);
  before.check();
  expect_legal(rt);
}

TEST(coro_within, the_outer_limit_takes_the_inner_one_along) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto outer = [](cx own) -> task<int> {
      const auto inner = co_await within(own, duration::seconds(5), answers_after, duration::hours(1));
      ADD_FAILURE() << "the outer one ends it";
      co_return inner.has_value() ? 1 : 2;
    };
    EXPECT_FALSE((co_await within(c, second, outer)).has_value());
    const auto inner_first = [](cx own) -> task<int> {
      const auto inner = co_await within(own, second, answers_after, duration::hours(1));
      co_await sleep(second);
      co_return inner.has_value() ? 1 : 2;
    };
    EXPECT_EQ(co_await within(c, duration::seconds(5), inner_first), 2);
    EXPECT_EQ(c.now(), instant{3 * second.ns});
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
}

TEST(coro_within, passes_on_failures_and_cancels_as_an_await_does) {
  runtime rt;
  const nothing_left before(rt);
  const auto fails = [](cx c) -> task<int> {
    co_await within(c, second, [](cx) -> task<> { co_await fail(status::corrupt, 9); });
    co_return 1;
  };
  const auto out = outcome_of(rt, fails);
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error(), (error{status::corrupt, 9}));
  {
    auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<> {
      static_cast<void>(co_await within(c, duration::hours(1), answers_after, duration::hours(2)));
      ADD_FAILURE() << "it was cancelled";
    });
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel(), status::ok);
    rt.run_until_quiescent();
    outcome<unit> how;
    ASSERT_EQ(made.handle.take(how), status::ok);
    EXPECT_TRUE(how.is_cancelled());
  }
  EXPECT_EQ(rt.now(), instant{}) << "at once";
  before.check();
}

TEST(coro_within, ends_what_is_always_ready) {  // it comes up for air every coop_limit operations.
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<bool> {
    const auto busy = [](cx) -> task<> {
      for (;;) co_await checkpoint();
    };
    co_return (co_await within(c, duration::milliseconds(50), busy)).has_value();
  });
  for (int steps = 0; steps < 100 && !made.handle.is_done(); ++steps) {
    EXPECT_EQ(rt.advance(duration::milliseconds(1)), status::ok);
    static_cast<void>(rt.step());
  }
  outcome<bool> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_FALSE(out.value());
}

TEST(coro_within, leaves_nothing_behind_wherever_it_is_cancelled) {
  const auto body = [](cx c) -> task<> {
    const auto work = [](cx own) -> task<int> {
      int sum = 0;
      for (int i = 0; i < 4; ++i) {
        const auto got =
            co_await within(own, duration::milliseconds(3), answers_after, duration::milliseconds(1U << i));
        sum += got.value_or(1);
      }
      sum += co_await region(own, [](cx r) -> task<int> {
        co_return (co_await within(r, duration::milliseconds(5), answers_after, second)).value_or(2);
      });
      co_return sum;
    };
    const auto got = co_await within(c, second, work);
    EXPECT_EQ(got, 7 + 7 + 1 + 1 + 2);
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, 3U);
  }
}

// ---- finally

TEST(coro_finally, runs_when_all_have_ended_the_last_registered_first_and_one_after_the_other) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    std::vector<std::string> order;
    co_await region(c, [&order](cx r) -> task<> {
      const auto closes = [](cx f, std::vector<std::string>* to, std::string what) -> task<> {
        to->push_back(what + " begins");
        co_await sleep(duration::seconds(3));
        to->push_back(what + " ends");
        EXPECT_EQ(f.checkpoint(), status::ok);
      };
      co_await finally(r, closes, &order, std::string("file"));
      co_await finally(r, closes, &order, std::string("peer"));
      const auto child = [](cx, std::vector<std::string>* to) -> task<> {
        co_await sleep(second);
        to->push_back("child ends");
      };
      EXPECT_EQ(spawn(r, child, &order).code, status::ok);
      order.push_back("body ends");
    });
    EXPECT_EQ(order, (std::vector<std::string>{"body ends", "child ends", "peer begins", "peer ends", "file begins",
                                               "file ends"}));
    EXPECT_EQ(c.now(), instant{7 * second.ns});
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
  expect_legal(rt);
}

TEST(coro_finally, runs_to_its_end_in_a_region_that_was_cancelled_and_shut_down_with_a_grace) {
  for (const bool by_shutdown : {false, true}) {
    runtime rt;
    int ended = 0;
    {
      auto made = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, int* to) -> task<> {
            co_await region(c, [to](cx r) -> task<> {
              co_await finally(
                  r,
                  [](cx f, int* n) -> task<> {
                    co_await sleep(second);
                    EXPECT_EQ((co_await within(f, second, answers_after, duration::hours(1))).has_value(), false);
                    ++*n;
                  },
                  to);
              co_await sleep(duration::hours(1));
            });
          },
          &ended);
      rt.run_until_idle();
      if (by_shutdown) {
        EXPECT_TRUE(rt.shutdown(duration::seconds(10)).is_quiescent());
      } else {
        EXPECT_EQ(made.handle.cancel(), status::ok);
        rt.run_until_quiescent();
      }
    }
    EXPECT_EQ(ended, 1) << by_shutdown;
    expect_legal(rt);
  }
}

TEST(coro_finally, that_never_ends_is_ended_by_its_budget_and_the_next_one_runs) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  bool has_next_run = false;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b, bool* ran) -> task<bool> {
        const auto how = co_await attempt(region(c, [b, ran](cx r) -> task<> {
          co_await finally(
              r,
              [](cx, bool* to) -> task<> {
                *to = true;
                co_return;
              },
              ran);
          co_await finally(
              r,
              [](cx, life) -> task<> {
                for (;;) co_await yield();
              },
              life(*b, 1));
        }));
        co_return how.is_ok();
      },
      &book, &has_next_run);
  EXPECT_FALSE(out.value()) << "the block tells that its cleanup failed";
  EXPECT_TRUE(has_next_run);
  EXPECT_TRUE(book.is_balanced());
  before.check();
  expect_legal(rt);
}

TEST(coro_finally, that_fails_or_panics_is_what_the_block_ends_with) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto failed = co_await attempt(region(
        c, [](cx r) -> task<> { co_await finally(r, [](cx) -> task<> { co_await fail(status::corrupt, 5); }); }));
    EXPECT_TRUE(failed.is_err());
    if (failed.is_err()) {
      EXPECT_EQ(failed.error(), (error{status::corrupt, 5}));
    }
    const auto panicked = co_await attempt(region(c, [](cx r) -> task<> {
      co_await finally(r, [](cx f) -> task<> {
        f.panic("the file is gone");
        co_return;
      });
    }));
    EXPECT_TRUE(panicked.is_panicked());
    if (panicked.is_panicked()) {
      EXPECT_EQ(panicked.panic().text, "the file is gone");
    }
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_finally, refused_registers_nothing_and_destroys_its_arguments_once) {
  runtime_config config;
  config.contract.max_finalizers_per_region = 1;
  runtime rt(config);
  book_of_lives book;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b) -> task<int> {
        co_await region(c, [b](cx r) -> task<> {
          const auto nothing = [](cx, life) -> task<> { co_return; };
          co_await finally(r, nothing, life(*b, 1));
          const std::uint64_t used = r.kernel().nominal_used();
          EXPECT_EQ((co_await attempt(finally(r, nothing, life(*b, 2)))).code, status::resource_exhausted);
          EXPECT_EQ(b->died, 1);
          EXPECT_EQ(r.kernel().nominal_used(), used);
        });
        co_return 1;
      },
      &book);
  EXPECT_EQ(out.value(), 1);
  EXPECT_TRUE(book.is_balanced());
}

TEST(coro_finally, leaves_nothing_behind_wherever_it_is_cancelled_and_runs_once) {
  int registered = 0;
  int ran = 0;
  const auto body = [&](cx c) -> task<> {
    co_await region(c, [&](cx r) -> task<> {
      for (int i = 0; i < 2; ++i) {
        co_await finally(r, [&ran](cx) -> task<> {
          co_await sleep(second);
          ++ran;
        });
        ++registered;
        co_await yield();
      }
    });
  };
  const lab_result cancelled = sweep({}, lab_fault::cancel, body);
  EXPECT_TRUE(cancelled.is_ok) << cancelled.report();
  EXPECT_GT(cancelled.faults, 5U);
  EXPECT_EQ(ran, registered);
  const lab_result refused = sweep({}, lab_fault::memory, body);
  EXPECT_TRUE(refused.is_ok) << refused.report();
}

// ---- where no block is opened any more

task<> steps(cx) {  // At a shutdown without a grace no time passes.
  co_await yield();
}

struct cleanup_with {
  const char* what;
  bool opens_block;
  task<> (*run)(cx);
};
constexpr cleanup_with cleanups[] = {
    {"region", true, [](cx c) -> task<> { co_await region(c, steps); }},
    {"with_timeout", true, [](cx c) -> task<> { static_cast<void>(co_await with_timeout(c, second, steps)); }},
    {"race", true, [](cx c) -> task<> { static_cast<void>(co_await race(c, steps, steps)); }},
    {"first_ok", true, [](cx c) -> task<> { static_cast<void>(co_await first_ok(c, steps, steps)); }},
    {"quorum", true, [](cx c) -> task<> { static_cast<void>(co_await quorum(c, 1, steps, steps)); }},
    {"join_all", true, [](cx c) -> task<> { static_cast<void>(co_await join_all(c, steps, steps)); }},
    {"for_each", true,
     [](cx c) -> task<> {
       const std::vector<int> items{1, 2, 3};
       co_await for_each(c, items, 2, [](cx, int) -> task<> { co_await yield(); });
     }},
    {"retry", false, [](cx c) -> task<> { co_await retry(c, {.attempts = 2}, steps); }},
    {"within", false, [](cx c) -> task<> { static_cast<void>(co_await within(c, second, steps)); }},
};

task<> tidies_with(cx c, const cleanup_with* how, bool* is_through) {
  static_cast<void>(co_await attempt(sleep(duration::hours(1))));
  const auto quiet = co_await mask();
  co_await how->run(c);
  *is_through = true;
}

// Goal: what cleanup may open depends on who was told to stop: the task alone, or the region around it.
TEST(coro_cleanup, opens_a_block_when_the_task_alone_is_cancelled_and_not_when_its_region_closes) {
  enum class stopped { alone, with_its_region, at_shutdown };
  for (const cleanup_with& how : cleanups) {
    for (const stopped by : {stopped::alone, stopped::with_its_region, stopped::at_shutdown}) {
      const std::string label = std::string(how.what) + ", " + std::to_string(static_cast<int>(by));
      runtime rt;
      region_handle shop;
      ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, shop), status::ok);
      bool is_through = false;
      auto made = spawn_in(rt.kernel(), shop, {.name = "tidier"}, tidies_with, &how, &is_through);
      ASSERT_EQ(made.code, status::ok);
      rt.run_until_idle();
      switch (by) {
        case stopped::alone: EXPECT_EQ(made.handle.cancel(), status::ok); break;
        case stopped::with_its_region: EXPECT_EQ(rt.kernel().close(shop), status::ok); break;
        case stopped::at_shutdown: EXPECT_TRUE(rt.shutdown().is_quiescent()) << label; break;
      }
      if (by != stopped::at_shutdown) rt.run_until_quiescent();
      outcome<unit> out;
      ASSERT_EQ(made.handle.take(out), status::ok) << label;
      ASSERT_TRUE(out.is_cancelled()) << label;
      const bool is_refused = how.opens_block && by != stopped::alone;
      EXPECT_EQ(is_through, !is_refused) << label;
      EXPECT_EQ(out.cancelled_by().cleanup_error, is_refused ? status::region_not_open : status::ok) << label;
      EXPECT_FALSE(out.cancelled_by().cleanup_budget_exceeded) << label;
      expect_legal(rt);
    }
  }
}

}  // namespace
}  // namespace asx
