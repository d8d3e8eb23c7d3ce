// with_timeout: a value in time, an empty optional after it, and no third thing.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "asx/coro/region.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::expect_legal;
using testing::life;
using testing::nothing_left;
using testing::outcome_of;

task<int> answers_after(cx, duration d) {
  co_await sleep(d);
  co_return 7;
}

TEST(coro_timeout, gives_the_value_in_time_and_nothing_after_it) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto in_time = co_await with_timeout(c, duration::seconds(2), answers_after, duration::seconds(1));
    EXPECT_EQ(in_time, 7);
    EXPECT_EQ(c.now(), instant{1'000'000'000});
    EXPECT_EQ(c.kernel().live_timers(), 0U) << "the limit's own timer is gone with it";
    const auto late = co_await with_timeout(c, duration::seconds(2), answers_after, duration::hours(1));
    EXPECT_FALSE(late.has_value());
    EXPECT_EQ(c.now(), instant{3'000'000'000});
    const auto at_once = co_await with_timeout(c, duration{}, answers_after, duration{});
    static_cast<void>(at_once);
    const auto bare = co_await with_timeout(c, duration::seconds(1), [](cx) -> task<> { co_return; });
    EXPECT_TRUE(bare.has_value());
    const auto for_ever = co_await with_timeout(c, duration::max(), answers_after, duration::seconds(1));
    EXPECT_EQ(for_ever, 7);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
  expect_legal(rt);
}

TEST(coro_timeout, counts_from_the_await_as_everything_lazy_does) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<bool> {
    auto later = with_timeout(c, duration::seconds(2), answers_after, duration::seconds(1));
    co_await sleep(duration::seconds(5));
    const auto got = co_await std::move(later);
    co_return got.has_value();
  });
  EXPECT_TRUE(out.value());
}

TEST(coro_timeout, is_a_failure_when_the_body_fails_first) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    co_await with_timeout(c, duration::seconds(2), [](cx) -> task<> { co_await fail(status::corrupt, 9); });
    co_return 1;
  });
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error(), (error{status::corrupt, 9}));
}

TEST(coro_timeout, is_cancelled_from_above_whatever_the_time) {
  for (const std::uint64_t at_ms : {500U, 2500U}) {  // Before the limit, and while the body cleans up behind it.
    runtime rt;
    const nothing_left before(rt);
    bool has_gone_on = false;
    {
      auto made = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, bool* on) -> task<> {
            co_await with_timeout(c, duration::seconds(2), [](cx own) -> task<> {
              static_cast<void>(co_await attempt(sleep(duration::hours(1))));
              EXPECT_EQ(own.mask_enter(), status::ok);
              co_await sleep(duration::seconds(1));
              own.mask_leave();
            });
            *on = true;
          },
          &has_gone_on);
      auto stops = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx, join_handle<void>* h, std::uint64_t ms) -> task<> {
            co_await sleep(duration::milliseconds(ms));
            EXPECT_EQ(h->cancel(), status::ok);
          },
          &made.handle, at_ms);
      rt.run_until_quiescent();
      outcome<unit> out;
      ASSERT_EQ(made.handle.take(out), status::ok);
      EXPECT_TRUE(out.is_cancelled()) << at_ms;
      EXPECT_FALSE(has_gone_on);
    }
    before.check();
  }
}

TEST(coro_timeout, waits_for_a_body_that_ignores_its_cancel_until_its_quota_is_spent) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b) -> task<bool> {
        std::uint64_t turns = 0;
        const auto got = co_await with_timeout(
            c, duration::milliseconds(10),
            [&turns](cx own, life) -> task<> {
              EXPECT_EQ(own.mask_enter(), status::ok);
              for (;;) {
                co_await sleep(duration::milliseconds(1));
                ++turns;
              }
            },
            life(*b, 1));
        EXPECT_LE(turns, 11 + 2 * std::uint64_t{info(cancel_kind::timeout).cleanup_quota}) << "R-22";
        EXPECT_TRUE(b->is_balanced());
        co_return got.has_value();
      },
      &book);
  EXPECT_FALSE(out.value());
  before.check();
  expect_legal(rt);
}

// Cleanup must be able to bound itself: a timeout that does not work there is what users of others suffer from.
// Law 5, R-248: it is over, and what its cleanup makes of that is no third answer.
TEST(coro_timeout, is_over_also_when_what_it_closed_fails_in_its_cleanup) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto fails_behind = [](cx) -> task<> {
      static_cast<void>(co_await attempt(sleep(duration::hours(1))));
      co_await fail(status::corrupt, 9);
    };
    const auto how = co_await attempt(with_timeout(c, duration::seconds(1), [&fails_behind](cx own) -> task<> {
      co_await start(own, fails_behind);
      co_await fails_behind(own);
    }));
    EXPECT_TRUE(how.is_ok());
    EXPECT_FALSE(how.value().has_value());
    EXPECT_EQ(c.now(), instant{1'000'000'000});
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
}

TEST(coro_timeout, works_in_the_mask_of_a_cleanup) {
  runtime rt;
  const nothing_left before(rt);
  int answers = 0;
  int silences = 0;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, int* got, int* missed) -> task<> {
          static_cast<void>(co_await attempt(sleep(duration::hours(1))));
          EXPECT_EQ(c.mask_enter(), status::ok);
          const auto goodbye = co_await with_timeout(c, duration::seconds(2), answers_after, duration::seconds(1));
          if (goodbye == 7) ++*got;
          const auto silence = co_await with_timeout(c, duration::seconds(2), answers_after, duration::hours(1));
          if (!silence.has_value()) ++*missed;
          c.mask_leave();
        },
        &answers, &silences);
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel(), status::ok);
    rt.run_until_quiescent();
    outcome<unit> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    EXPECT_TRUE(out.is_cancelled());
  }
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(silences, 1);
  EXPECT_EQ(rt.now(), instant{3'000'000'000});
  before.check();
}

TEST(coro_timeout, refused_its_timer_starts_nothing) {
  runtime_config config;
  config.contract.max_timers = 1;
  runtime rt(config);
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    bool has_started = false;
    const auto body = [&has_started](cx) -> task<> {
      has_started = true;
      co_return;
    };
    const auto too_far = co_await attempt(with_timeout(c, duration::days(8), body));
    EXPECT_TRUE(too_far.is_err());
    EXPECT_EQ(too_far.error().code, status::timer_duration_exceeded);
    auto other = spawn(c, answers_after, duration::seconds(1));
    co_await yield();
    const auto full = co_await attempt(with_timeout(c, duration::seconds(1), body));
    EXPECT_TRUE(full.is_err());
    EXPECT_EQ(full.error().code, status::resource_exhausted) << "a limit that nobody watches is none";
    EXPECT_FALSE(has_started);
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
}

TEST(coro_timeout, is_over_when_its_timer_fires_with_others_a_little_early) {
  runtime_config config;
  config.coalesce_window = duration::milliseconds(10);
  runtime rt(config);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    std::vector<join_handle<int>> others;
    for (const std::uint64_t ms : {11U, 12U, 13U, 14U}) {
      others.push_back(spawn(c, answers_after, duration::milliseconds(ms)).handle);
    }
    const auto got = co_await with_timeout(c, duration::milliseconds(19), answers_after, duration::hours(1));
    EXPECT_FALSE(got.has_value());
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  EXPECT_LE(rt.now(), instant{19'000'000});
}

TEST(coro_timeout, is_ended_by_a_shorter_one_around_it) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto outer = co_await with_timeout(c, duration::seconds(1), [](cx r) -> task<bool> {
      const auto inner = co_await with_timeout(r, duration::seconds(5), answers_after, duration::hours(1));
      ADD_FAILURE() << "the outer one ends it";
      co_return inner.has_value();
    });
    EXPECT_FALSE(outer.has_value());
    EXPECT_EQ(c.now(), instant{1'000'000'000});
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

// the owner has had the outcome of the inner block, and decided.
TEST(coro_timeout, is_over_for_a_longer_one_around_it_without_a_trace) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto outer = co_await with_timeout(c, duration::seconds(5), [](cx r) -> task<bool> {
      const auto inner = co_await with_timeout(r, duration::seconds(1), answers_after, duration::hours(1));
      co_return inner.has_value();
    });
    EXPECT_EQ(outer, false);
    EXPECT_EQ(c.now(), instant{1'000'000'000});
    co_return 1;
  });
  EXPECT_TRUE(out.is_ok()) << name(out.kind());
}

TEST(coro_timeout, nor_does_a_block_fail_whose_body_attempted_one_that_did) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    co_return co_await region(c, [](cx r) -> task<int> {
      const auto inner = co_await attempt(region(r, [](cx) -> task<> { co_await fail(status::corrupt); }));
      EXPECT_TRUE(inner.is_err());
      co_return 4;
    });
  });
  EXPECT_TRUE(out.is_ok()) << name(out.kind());
}

// the queue has room for two, and two others answer their cancels slowly.
TEST(coro_timeout, tries_again_when_the_cancel_queue_is_full) {
  runtime_config config;
  config.contract.max_cancel_queue = 2;
  runtime rt(config);
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto slow = [](cx own) -> task<> {
      static_cast<void>(co_await attempt(sleep(duration::hours(1))));
      EXPECT_EQ(own.mask_enter(), status::ok);
      co_await sleep(duration::seconds(3));
    };
    auto one = spawn(c, slow);
    auto two = spawn(c, slow);
    co_await yield();
    EXPECT_EQ(one.handle.cancel(), status::ok);
    EXPECT_EQ(two.handle.cancel(), status::ok);
    const auto got = co_await with_timeout(c, duration::seconds(1), answers_after, duration::hours(1));
    EXPECT_FALSE(got.has_value());
    EXPECT_GE(c.now(), instant{3'000'000'000}) << "there was no room before";
    EXPECT_LE(c.now(), instant{3'010'000'000}) << "and it was asked again soon";
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
  before.check();
  expect_legal(rt);
}

// whichever came first, and whoever asked for the end.
TEST(coro_timeout, hides_no_panic_of_a_child_before_or_after_it) {
  for (const std::uint64_t at_ms : {500U, 1000U, 1500U}) {
    runtime rt;
    const nothing_left before(rt);
    const auto out = outcome_of(
        rt,
        [](cx c, std::uint64_t ms) -> task<int> {
          const auto how = co_await attempt(with_timeout(
              c, duration::seconds(1),
              [](cx r, std::uint64_t when) -> task<> {
                const auto child = [](cx own, std::uint64_t then) -> task<> {
                  EXPECT_EQ(own.mask_enter(), status::ok);
                  co_await sleep(duration::milliseconds(800));
                  if (then > 800) {  // Until the cancel is acknowledged, its region takes no timer.
                    own.mask_leave();
                    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
                    EXPECT_EQ(own.mask_enter(), status::ok);
                    co_await sleep_until(instant{then * 1'000'000});
                  }
                  own.panic("order 7 is wrong");
                };
                EXPECT_EQ(spawn(r, child, when).code, status::ok);
                co_await sleep(duration::hours(1));
              },
              ms));
          EXPECT_TRUE(how.is_panicked()) << ms << " " << name(how.kind());
          if (how.is_panicked()) {
            EXPECT_EQ(how.panic().text, "order 7 is wrong");
          }
          co_return 1;
        },
        at_ms);
    EXPECT_EQ(out.value(), 1);
    before.check();
  }
}

}  // namespace
}  // namespace asx
