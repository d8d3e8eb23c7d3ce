// Whole programs: run and run_in.
#include "asx/coro/run.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/journal/digest.hpp"

namespace asx {
namespace {

TEST(coro_run, gives_the_value_of_a_program_and_no_words) {
  const auto out = run(
      [](cx, int a, std::unique_ptr<int> b) -> task<int> {
        co_await sleep(duration::microseconds(10));
        co_return a + *b;
      },
      3, std::make_unique<int>(4));
  ASSERT_TRUE(out.is_ok());
  EXPECT_EQ(out.result.value(), 7);
  EXPECT_TRUE(out.text.empty());
  EXPECT_TRUE(run([](cx) -> task<> { co_return; }).is_ok());
}

TEST(coro_run, waits_for_everything_that_the_program_started) {
  runtime rt;
  int ended = 0;
  const auto out = run_in(
      rt,
      [](cx c, int* n) -> task<> {
        const auto child = [](cx, int* count) -> task<> {
          co_await sleep(duration::seconds(5));
          ++*count;
        };
        EXPECT_EQ(spawn(c, child, n).code, status::ok);
        co_return;
      },
      &ended);
  EXPECT_TRUE(out.is_ok());
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(rt.now(), instant{5'000'000'000});
  EXPECT_TRUE(run_in(rt, [](cx) -> task<> { co_return; }).is_ok()) << "it does not shut down";
}

// A text that ends or goes on behind the place where somebody panicked.
std::string without_place(std::string text) {
  const std::size_t at = text.find(" at run_test.cpp:");
  EXPECT_NE(at, std::string::npos) << text;
  if (at == std::string::npos) return text;
  return text.erase(at, text.find_first_not_of("0123456789", text.find(':', at) + 1) - at);
}

TEST(coro_run, tells_an_err_a_cancel_and_a_panic_in_words) {
  const auto err = run([](cx) -> task<int> {
    co_await fail(status::corrupt);
    co_return 1;
  });
  EXPECT_EQ(err.result.error().code, status::corrupt);
  EXPECT_EQ(err.text.rfind("err: corrupt (", 0), 0U) << err.text;

  const auto cancelled = run([](cx c) -> task<int> {
    EXPECT_EQ(c.kernel().request_cancel(c.handle(), {cancel_kind::user, "a text that lives only in the runtime"}),
              status::ok);
    co_await sleep(duration::hours(1));
    co_return 1;
  });
  ASSERT_TRUE(cancelled.result.is_cancelled());
  EXPECT_EQ(cancelled.result.reason().kind, cancel_kind::user);
  EXPECT_EQ(cancelled.text, "cancelled: user, a text that lives only in the runtime");

  const auto panicked = run([](cx c) -> task<int> {
    c.panic(std::string("made of ") + "parts");
    co_return 1;
  });
  ASSERT_TRUE(panicked.result.is_panicked());
  EXPECT_EQ(without_place(panicked.text), "panicked: made of parts");
}

// The sentence of resource_exhausted leaves to the journal which limit it was; who runs a program without one asks
// here.
TEST(coro_run, names_the_limit_that_was_met) {
  const auto starts_three = [](cx c) -> task<> {
    const auto child = [](cx) -> task<> { co_await sleep(duration::seconds(1)); };
    for (int i = 0; i < 3; ++i) co_await start(c, child);
  };
  for (const journal_mode mode : {journal_mode::full, journal_mode::off}) {
    runtime_config config;
    config.journaling = mode;
    config.contract.max_tasks = 3;
    runtime rt(config);
    const auto out = run_in(rt, starts_three);
    ASSERT_TRUE(out.result.is_err());
    EXPECT_EQ(out.result.error().code, status::resource_exhausted);
    EXPECT_EQ(out.text.rfind("err: resource_exhausted (", 0), 0U) << out.text;
    EXPECT_NE(out.text.find("; the limit met last: tasks (3), by task 1"), std::string::npos) << out.text;
  }
}

// Deeper than any memory here; Clang warns of what has no end at all.
task<int> deeper(cx c, std::uint64_t left = UINT64_MAX) {
  if (left == 0) co_return 0;
  co_return 1 + co_await deeper(c, left - 1);
}

TEST(coro_run, names_memory_when_a_frame_found_none) {
  runtime_config config;
  config.contract.max_tasks = 2;
  config.contract.max_bytes = 100'000;
  runtime rt(config);
  const auto out = run_in(rt, [](cx c) -> task<int> {
    const auto child = [](cx) -> task<> { co_return; };
    EXPECT_EQ(spawn(c, child).code, status::ok);
    EXPECT_EQ(spawn(c, child).code, status::resource_exhausted) << "of tasks, and somebody looked at that";
    co_return co_await deeper(c);
  });
  ASSERT_TRUE(out.result.is_err());
  EXPECT_NE(out.text.find("; the limit met last: memory (100000), by task 1"), std::string::npos) << out.text;
}

TEST(coro_run, names_the_limit_of_a_failure_that_nobody_joined_and_of_no_other) {
  runtime_config config;
  config.contract.max_regions = 1;
  runtime rt(config);
  const auto lost = run_in(rt, [](cx c) -> task<> {
    const auto child = [](cx own) -> task<> { co_await region(own, [](cx) -> task<> { co_return; }); };
    EXPECT_EQ(spawn(c, {.name = "child"}, child).code, status::ok);
    co_return;
  });
  EXPECT_NE(lost.text.find(" 'child', which nobody joined; the limit met last: regions (1), by task 2"),
            std::string::npos)
      << lost.text;
  const auto other = run_in(rt, [](cx) -> task<> { co_await fail(status::corrupt); });
  EXPECT_EQ(other.text.find("limit"), std::string::npos) << other.text;
}

TEST(coro_run, says_so_when_the_program_can_never_end) {
  const auto out = run([](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    co_return (co_await recv(rx)).value_or(1);  // Its own sender keeps it waiting.
  });
  ASSERT_TRUE(out.result.is_err());
  EXPECT_EQ(out.result.error().code, status::tasks_still_active);
  EXPECT_FALSE(out.text.empty());
}

TEST(coro_run, is_refused_inside_a_run_and_in_a_runtime_without_memory) {
  runtime rt;
  const auto out = run_in(
      rt,
      [](cx, runtime* same) -> task<status> {
        const auto inner = run_in(*same, [](cx) -> task<> { co_return; });
        co_return inner.result.is_err() ? inner.result.error().code : status::ok;
      },
      &rt);
  EXPECT_EQ(out.result.value(), status::reentrant);

  runtime_config config;
  config.contract.max_tasks = 1;
  config.contract.max_bytes = 1;
  runtime small(config);
  const auto refused = run_in(small, [](cx) -> task<> { co_return; });
  EXPECT_TRUE(refused.result.is_err());
  EXPECT_FALSE(refused.text.empty());
}

// Tasks, channels, time, blocks, a timeout and a failure.
task<int> story(cx c) {
  auto [code, tx, rx] = channel<int>(c, 2);
  const auto produce = [](cx, sender<int> to, int base) -> task<> {
    for (int i = 0; i < 20; ++i) {
      co_await send(to, base + i);
      if (i % 3 == 0) co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(base / 50)));
    }
  };
  for (const int base : {100, 200, 300}) EXPECT_EQ(spawn(c, produce, tx, base).code, status::ok);
  tx.drop();
  int sum = 0;
  for (;;) {
    auto got = co_await select(recv(rx), sleep(duration::milliseconds(3)));
    if (got.index() == 1) continue;
    if (!std::get<0>(got)) break;
    sum += *std::get<0>(got);
  }
  const auto late =
      co_await with_timeout(c, duration::milliseconds(1), [](cx) -> task<> { co_await sleep(duration::seconds(1)); });
  const auto failed = co_await attempt(region(c, [](cx) -> task<> { co_await fail(status::corrupt); }));
  co_return late.has_value() || failed.is_ok() ? 0 : sum;
}

TEST(coro_run, journals_the_same_program_the_same_way_twice) {
  digest128 digests[2] = {};
  for (auto& digest : digests) {
    runtime rt;
    const auto out = run_in(rt, story);
    EXPECT_EQ(out.result.value(), 20 * (100 + 200 + 300) + 3 * 190);
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    digest = rt.journal().digest();
    EXPECT_GT(rt.journal().size(), 100U);
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digest128{});
}

task<> fails_later(cx) {
  co_await yield();
  co_await fail(status::corrupt, 3);
}

TEST(coro_run, tells_of_a_failure_that_nobody_joined) {  // law 3
  const auto lost = run([](cx c) -> task<int> {
    co_await start(c, {.name = "child"}, fails_later);
    co_return 1;
  });
  ASSERT_TRUE(lost.result.is_err());
  EXPECT_EQ(lost.result.error(), (error{status::corrupt, 3}));
  EXPECT_NE(lost.text.find("in task 2 'child', which nobody joined"), std::string::npos) << lost.text;

  const auto panicked = run([](cx c) -> task<int> {
    co_await start(c, [](cx r) -> task<> {
      co_await yield();
      r.panic("the disk burns");
    });
    co_return 1;
  });
  ASSERT_TRUE(panicked.result.is_panicked());
  EXPECT_EQ(without_place(panicked.text), "panicked: the disk burns, in task 2, which nobody joined");

  const auto joined = run([](cx c) -> task<int> {
    auto child = co_await start(c, fails_later);
    static_cast<void>(co_await attempt(join(child)));
    co_return 1;
  });
  EXPECT_TRUE(joined.is_ok()) << joined.text;
}

task<> panics_later(cx c) {
  co_await yield();
  c.panic("the disk burns");
}

TEST(coro_run, tells_of_a_failure_whose_handle_was_kept_and_never_joined) {  // law 3
  const auto dropped_behind_it = run([](cx c) -> task<int> {
    auto child = co_await start(c, {.name = "child"}, fails_later);
    while (!child.is_done()) co_await yield();  // To know that it has ended is not to know how.
    co_return 1;
  });
  ASSERT_TRUE(dropped_behind_it.result.is_err());
  EXPECT_EQ(dropped_behind_it.result.error(), (error{status::corrupt, 3}));
  EXPECT_EQ(dropped_behind_it.text.rfind("err: corrupt", 0), 0U) << dropped_behind_it.text;
  EXPECT_NE(dropped_behind_it.text.find("in task 2 'child', which nobody joined"), std::string::npos);

  const auto panicked = run([](cx c) -> task<int> {
    auto child = co_await start(c, panics_later);
    co_await sleep(duration::microseconds(1));
    co_return 1;
  });
  ASSERT_TRUE(panicked.result.is_panicked());
  EXPECT_EQ(without_place(panicked.text), "panicked: the disk burns, in task 2, which nobody joined");

  const auto taken = run([](cx c) -> task<int> {
    auto child = co_await start(c, fails_later);
    while (!child.is_done()) co_await yield();
    outcome<unit> how;
    EXPECT_EQ(child.take(how), status::ok);
    co_return how.is_err() ? 1 : 2;
  });
  ASSERT_TRUE(taken.is_ok()) << taken.text;
  EXPECT_EQ(taken.result.value(), 1);

  const auto other_end = run([](cx c) -> task<int> {  // A cancel that was asked for is no failure.
    auto child = co_await start(c, [](cx) -> task<> { co_await sleep(duration::hours(1)); });
    static_cast<void>(child.cancel());
    co_return 1;
  });
  EXPECT_TRUE(other_end.is_ok()) << other_end.text;
}

TEST(coro_run, a_handle_that_outlives_the_run_may_still_hear) {  // law 3
  runtime rt;
  join_handle<> kept;
  const auto first = run_in(
      rt,
      [](cx c, join_handle<>* to) -> task<> {
        auto child = co_await start(c, fails_later);
        *to = std::move(child);
      },
      &kept);
  EXPECT_TRUE(first.is_ok()) << first.text;
  outcome<unit> how;
  ASSERT_EQ(kept.take(how), status::ok);
  EXPECT_TRUE(how.is_err());
  kept.drop();
  EXPECT_EQ(rt.kernel().unheard().kind, outcome_kind::ok);
}

TEST(coro_run, tells_of_a_panic_where_the_body_decides) {  // law 3
  const auto block = [](cx c, bool is_held, bool is_joined, task<> (*child)(cx)) -> task<int> {
    const region_options how{.policy = region_policy::body_decides};
    co_await region(c, how, [is_held, is_joined, child](cx r) -> task<> {
      auto h = co_await start(r, {.name = "child"}, child);
      if (!is_held) h.drop();
      co_await yield();
      co_await yield();
      if (is_joined) static_cast<void>(co_await join(h));
    });
    co_return 1;
  };
  for (const bool is_held : {false, true}) {
    const auto lost = run(block, is_held, false, panics_later);
    ASSERT_TRUE(lost.result.is_panicked()) << is_held;
    EXPECT_EQ(without_place(lost.text), "panicked: the disk burns, in task 3 'child', which nobody joined");
    const auto answer = run(block, is_held, false, fails_later);
    EXPECT_TRUE(answer.is_ok()) << "an err is an answer there: " << answer.text;
  }
  const auto joined = run(block, true, true, panics_later);
  EXPECT_TRUE(joined.is_ok()) << joined.text;
}

TEST(coro_run, an_err_of_the_program_hides_no_panic_that_nobody_heard) {  // law 3
  const auto both = run([](cx c) -> task<int> {
    co_await start(c, {.name = "child"}, panics_later);
    co_await sleep(duration::microseconds(1));
    co_await fail(status::io);
    co_return 1;
  });
  ASSERT_TRUE(both.result.is_panicked()) << both.text;
  EXPECT_EQ(without_place(both.text).rfind(
                "panicked: the disk burns, in task 2 'child', which nobody joined; the program itself ended "
                "err: io (",
                0),
            0U)
      << both.text;

  const auto errs = run([](cx c) -> task<int> {  // Of two of a kind the program's own.
    co_await start(c, {.name = "child"}, fails_later);
    co_await sleep(duration::microseconds(1));
    co_await fail(status::io);
    co_return 1;
  });
  ASSERT_TRUE(errs.result.is_err());
  EXPECT_EQ(errs.result.error().code, status::io);
  EXPECT_EQ(errs.text.rfind("err: io (", 0), 0U) << errs.text;
  EXPECT_NE(errs.text.find("; and err: corrupt ("), std::string::npos) << errs.text;

  const auto later = run([](cx c) -> task<int> {  // And of two that nobody heard the panic, though it came later.
    co_await start(c, fails_later);
    co_await start(c, [](cx own) -> task<> {
      co_await sleep(duration::microseconds(1));
      own.panic("the disk burns");
    });
    co_return 1;
  });
  ASSERT_TRUE(later.result.is_panicked());
  EXPECT_EQ(without_place(later.text), "panicked: the disk burns, in task 3, which nobody joined");
}

TEST(coro_run, ends_what_a_program_started_when_it_fails) {  // law 1
  bool was_cancelled = false;
  const auto forever = [](cx, bool* was) -> task<> {
    const auto slept = co_await attempt(sleep(duration::hours(1)));
    *was = slept.code == status::cancelled;
  };
  const auto out = run([&forever, &was_cancelled](cx c) -> task<> {
    co_await start(c, forever, &was_cancelled);
    co_await yield();
    co_await fail(status::io);
  });
  ASSERT_TRUE(out.result.is_err()) << out.text;
  EXPECT_EQ(out.result.error().code, status::io);
  EXPECT_TRUE(was_cancelled);
}

TEST(coro_run, ends_what_a_program_started_however_it_fails) {  // law 1
  const auto forever = [](cx) -> task<> { co_await sleep(duration::hours(1)); };
  const auto panicked = run([&forever](cx c) -> task<int> {
    co_await start(c, forever);
    c.panic("boom");
    co_return 1;
  });
  EXPECT_TRUE(panicked.result.is_panicked()) << panicked.text;
  const auto alone = run([&forever](cx c) -> task<> {
    co_await start(c, forever);
    EXPECT_EQ(c.kernel().request_cancel(c.handle(), {cancel_kind::user, "only me"}), status::ok);
    co_await sleep(duration::hours(1));
  });
  EXPECT_EQ(alone.text, "cancelled: user, only me");
  const auto pretends = run([&forever](cx c) -> task<> {
    co_await start(c, forever);
    co_await fail(status::cancelled);
  });
  EXPECT_FALSE(pretends.is_ok());
}

TEST(coro_run, a_failure_is_told_once_and_of_the_run_it_is_of) {  // law 3
  runtime rt;
  const auto fails = [](cx) -> task<> { co_await fail(status::io); };
  static_cast<void>(spawn_in(rt.kernel(), rt.root(), {}, fails));
  const auto before = run_in(rt, [](cx) -> task<int> { co_return 1; });
  EXPECT_TRUE(before.is_ok()) << "it was there before: " << before.text;
  const auto lost = run_in(rt, [&fails](cx c) -> task<int> {
    co_await start(c, fails);
    co_return 2;
  });
  EXPECT_TRUE(lost.result.is_err()) << lost.text;
  const auto after = run_in(rt, [](cx) -> task<int> { co_return 3; });
  ASSERT_TRUE(after.is_ok()) << after.text;
  EXPECT_EQ(after.result.value(), 3);
}

TEST(coro_run, a_service_on_a_live_clock_has_no_limit_of_steps) {  // law 2
  const auto yields = [](cx) -> task<std::uint64_t> {
    std::uint64_t n = 0;
    for (; n < runtime::default_max_steps + 10; ++n) co_await yield();
    co_return n;
  };
  live_runtime rt;
  const auto out = run_in(*rt, yields);
  EXPECT_TRUE(out.is_ok()) << out.text;
  runtime in_no_time;
  EXPECT_EQ(run_in(in_no_time, yields).result.error().code, status::step_limit);
  in_no_time.shutdown();
}

}  // namespace
}  // namespace asx
