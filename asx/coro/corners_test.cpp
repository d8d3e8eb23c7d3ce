// Corners that a reader found: limits that were over before anybody waited, finalizers that hang, masks in regions that
// close, values that were handed over already, texts that must last.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "asx/coro/blocking.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/time.hpp"

namespace asx {
namespace {

constexpr duration ms = duration::milliseconds(1);

duration many(std::uint64_t n) {
  return duration::milliseconds(n);
}

task<> waits_for_ever(cx c) {
  auto made = channel<int>(c, 1);
  const auto never = co_await recv(made.rx);
  static_cast<void>(never);
}

template <class F>
void play(F f, const runtime_config& config = {}) {
  runtime rt(config);
  const auto out = run_in(rt, f);
  EXPECT_TRUE(out.is_ok()) << out.text;
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

// ---- within

TEST(coro_corners, a_limit_of_nothing_is_over_at_once) {
  play([](cx c) -> task<> {
    const auto got = co_await within(c, duration{0}, waits_for_ever);
    EXPECT_FALSE(got.has_value());
    EXPECT_EQ(c.now(), instant{});
  });
}

task<> waits_after_a_block(cx c) {
  const auto how = co_await attempt(region(c, [](cx) -> task<> { co_await sleep(duration::hours(1)); }));
  EXPECT_TRUE(how.is_cancelled());
  co_await waits_for_ever(c);
}

TEST(coro_corners, a_limit_that_ended_a_block_ends_the_wait_behind_it) {
  play([](cx c) -> task<> {
    const auto got = co_await within(c, many(5), waits_after_a_block);
    EXPECT_FALSE(got.has_value());
    EXPECT_EQ(c.now(), instant{5 * ms.ns});
  });
}

task<> waits_again_when_cancelled(cx c) {
  auto made = channel<int>(c, 1);
  const auto first = co_await attempt(recv(made.rx));
  EXPECT_EQ(first.code, status::cancelled);
  const auto quiet = co_await mask();
  const auto second = co_await recv(made.rx);
  static_cast<void>(second);
}

TEST(coro_corners, a_limit_holds_on_when_its_timer_went_with_a_cancel) {
  play([](cx c) -> task<> {
    instant over{};
    auto limited = co_await start(
        c,
        [](cx own, instant* at) -> task<> {
          const auto got = co_await within(own, many(5), waits_again_when_cancelled);
          EXPECT_FALSE(got.has_value());
          *at = own.now();
        },
        &over);
    co_await sleep(ms);
    static_cast<void>(limited.cancel());
    co_await sleep(duration::seconds(10));
    EXPECT_EQ(over, instant{5 * ms.ns});
  });
}

// ---- finally

TEST(coro_corners, a_finalizer_that_hangs_does_not_take_the_others_along) {
  play([](cx c) -> task<> {
    auto made = channel<int>(c, 1);
    std::string ran;
    const auto how = co_await attempt(region(c, [&made, &ran](cx r) -> task<> {
      co_await finally(r, [&ran](cx) -> task<> {
        co_await sleep(ms);
        ran += 'c';
      });
      co_await finally(r, [&ran](cx) -> task<> {
        co_await sleep(ms);
        ran += 'b';
      });
      co_await finally(r, [&made, &ran](cx) -> task<> {
        ran += 'a';
        const auto v = co_await recv(made.rx);
        static_cast<void>(v);
      });
    }));
    EXPECT_EQ(ran, "abc");
    EXPECT_FALSE(how.is_ok());
  });
}

TEST(coro_corners, finalizers_run_in_a_region_that_has_room_for_one_task) {
  play([](cx c) -> task<> {
    int ran = 0;
    region_options one;
    one.max_tasks = 1;
    co_await region(c, one, [&ran](cx r) -> task<> {
      const auto count = [&ran](cx) -> task<> {
        co_await yield();
        ++ran;
      };
      for (int i = 0; i < 3; ++i) co_await finally(r, count);
    });
    EXPECT_EQ(ran, 3);
  });
}

// ---- masks

TEST(coro_corners, r268_a_masked_task_sleeps_on_while_its_region_closes) {
  play([](cx c) -> task<> {
    int steps = 0;
    const auto late = co_await with_timeout(c, many(5), [&steps](cx r) -> task<> {
      co_await start(r, [&steps](cx own) -> task<> {
        const auto quiet = co_await mask();
        co_await sleep(many(10));
        ++steps;
        co_await sleep(many(10));
        ++steps;
        const auto in_time = co_await within(own, many(10), [](cx) -> task<> { co_await yield(); });
        if (in_time) ++steps;
      });
      co_await sleep(duration::seconds(1));
    });
    EXPECT_FALSE(late.has_value());
    EXPECT_EQ(steps, 3);
    EXPECT_EQ(c.now(), instant{20 * ms.ns});
  });
}

// ---- select

TEST(coro_corners, what_was_handed_over_wins_a_select_whatever_else_is_ready) {
  play([](cx c) -> task<> {
    auto ends = rendezvous<int>(c);
    int received = 0;
    auto taker = co_await start(
        c,
        [](cx, rendezvous_receiver<int> rx, int* out) -> task<> {
          co_await sleep(ms);
          const auto got = co_await recv(rx);
          *out = got.value_or(-1);
        },
        std::move(ends.rx), &received);
    co_await yield();  // Its timer goes first, and the value is gone when this task is polled.
    const auto first = co_await select(sleep(ms), hand_over(ends.tx, 5));
    ends.tx = {};
    const auto how = co_await join(taker);
    EXPECT_TRUE(how.is_ok());
    EXPECT_EQ(received, 5);
    EXPECT_EQ(first.index(), 1U);
  });
}

// ---- race

TEST(coro_corners, a_race_stops_its_losers_when_the_cancel_queue_has_room_again) {
  runtime_config config;
  config.contract.max_cancel_queue = 1;
  play(
      [](cx c) -> task<> {
        auto stubborn = co_await start(c, [](cx) -> task<> {
          const auto quiet = co_await mask();
          co_await sleep(duration::seconds(2));
        });
        co_await yield();
        static_cast<void>(stubborn.cancel());
        const auto first = co_await race(
            c,
            [](cx) -> task<int> {
              co_await sleep(ms);
              co_return 1;
            },
            [](cx) -> task<int> {
              co_await sleep(duration::hours(24));
              co_return 2;
            });
        EXPECT_TRUE(first.is_ok());
        EXPECT_LT(c.now(), instant{duration::seconds(3).ns});
        const auto how = co_await join(stubborn);
        static_cast<void>(how);
      },
      config);
}

// ---- panics and exceptions

task<> throws(cx, const char* text) {
  throw std::runtime_error(text);
  co_return;
}
task<outcome<unit>> passes_on(cx c) {
  co_return co_await attempt(throws(c, "a text that goes with its outcome"));
}

TEST(coro_corners, the_text_of_a_panic_lasts_as_long_as_its_outcome_can_be_read) {
  play([](cx c) -> task<> {
    const auto first = co_await attempt(throws(c, "the first"));
    const auto second = co_await attempt(throws(c, "the second"));
    EXPECT_NE(first.panic().text.find("the first"), std::string_view::npos) << first.panic().text;
    EXPECT_NE(second.panic().text.find("the second"), std::string_view::npos) << second.panic().text;
    auto other = co_await start(c, passes_on);
    auto joined = co_await join(other);
    const auto inner = std::move(joined).value();
    EXPECT_NE(inner.panic().text.find("goes with its outcome"), std::string_view::npos) << inner.panic().text;
  });
}

TEST(coro_corners, a_block_whose_function_throws_before_its_coroutine_exists_leaves_no_region) {
  play([](cx c) -> task<> {
    const auto before = c.kernel().live_regions();
    for (int i = 0; i < 5; ++i) {
      bool has_thrown = false;
      try {
        co_await region(c, [](cx) -> task<> { throw std::runtime_error("no coroutine"); });
      } catch (const std::runtime_error&) {
        has_thrown = true;
      }
      EXPECT_TRUE(has_thrown);
      co_await yield();
    }
    EXPECT_EQ(c.kernel().live_regions(), before);
  });
}

}  // namespace
}  // namespace asx
