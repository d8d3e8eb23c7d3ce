// What users of the neighbours suffer from, part two: cleanup, joins, failures, and looking inside. Part one is
// complaints_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/asx.hpp"
#include "asx/journal/why.hpp"
#include "asx/kernel/report.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

constexpr duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}

// Cancels `f` once it waits, and gives how it ended.
template <class F>
outcome<unit> cancelled_outcome(runtime& rt, F f) {
  auto made = spawn_in(rt.kernel(), rt.root(), {}, std::move(f));
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel({cancel_kind::user, "enough"}), status::ok);
  rt.run_until_quiescent();
  outcome<unit> out;
  EXPECT_EQ(made.handle.take(out), status::ok);
  if (out.is_cancelled()) {  // Its text goes with the handle.
    cancellation how = out.cancelled_by();
    how.reason.message = {};
    out = outcome<unit>::cancelled(how);
  }
  return out;
}

// ---- "cleanup cannot await" (Trio 147, tokio 6615)

// A session that is stopped at any moment says goodbye to its peer, over a channel, and waits for the answer.
TEST(complaints, trio_147_and_tokio_6615_a_cleanup_cannot_await) {
  int sessions = 0;
  int goodbyes = 0;
  const auto body = [&](cx c) -> task<> {
    const auto peer = [](cx, receiver<std::string> from, sender<int> answer) -> task<> {
      while (const auto said = co_await recv(from)) {
        co_await sleep(ms(1));
        if (*said == "goodbye") co_await send(answer, 1);
      }
    };
    const auto session = [&](cx own, sender<std::string> to, receiver<int> answer) -> task<> {
      ++sessions;
      for (int i = 0; i < 3; ++i) {
        if ((co_await attempt(send(to, std::string("hello")))).code != status::ok) break;
        if ((co_await attempt(sleep(ms(2)))).code != status::ok) break;
      }
      const auto quiet = co_await mask();
      co_await send(to, std::string("goodbye"));
      goodbyes += (co_await recv(answer)).value_or(0);
      static_cast<void>(own.checkpoint());
    };
    auto [code, to, from] = channel<std::string>(c, 1);
    auto [code2, answers, answer] = channel<int>(c, 1);
    if (code != status::ok || code2 != status::ok) co_await fail(status::resource_exhausted);
    const auto p = spawn(c, peer, std::move(from), std::move(answers));
    if (p.code != status::ok) co_await fail(p.code);
    co_await session(c, std::move(to), std::move(answer));
  };
  const lab_result r = sweep({}, lab_fault::cancel_body, body);
  EXPECT_TRUE(r.is_ok) << r.report();
  EXPECT_GT(r.faults, 5U);
  EXPECT_GT(sessions, 5);
  EXPECT_EQ(goodbyes, sessions) << "who had begun has said goodbye, wherever it was stopped";
  const lab_result either = sweep({}, lab_fault::cancel, body);  // The peer, too: then nobody hears it.
  EXPECT_TRUE(either.is_ok) << either.report();
  EXPECT_GT(either.faults, r.faults);
}

// ---- "cleanup cannot be bounded" (cats-effect masks)

TEST(complaints, cats_effect_a_mask_that_waits_for_ever_hangs_the_shutdown) {
  for (int kind = 0; kind < 3; ++kind) {
    runtime rt;
    auto made = spawn_in(
        rt.kernel(), rt.root(), {.name = "stubborn"},
        [](cx c, int how) -> task<> {
          auto [code, tx, rx] = channel<int>(c, 1);
          EXPECT_EQ(code, status::ok);
          const auto quiet = co_await mask();
          if (how == 0) static_cast<void>(co_await recv(rx));  // Nobody sends.
          for (;;) {
            if (how == 1) co_await yield();
            if (how == 2) co_await sleep(duration::hours(1));
          }
        },
        kind);
    made.handle.drop();
    rt.run_until_idle(100);
    const shutdown_result end = rt.shutdown({}, 10'000);
    EXPECT_TRUE(end.is_quiescent()) << kind << '\n' << end.survivors;
  }
}

// ---- "timeouts do not work inside cleanup" (ZIO 8483)

task<int> never(cx) {
  co_await sleep(duration::hours(1));
  co_return 1;
}

LAB_TEST(complaints, zio_8483_a_timeout_does_not_work_inside_cleanup) {
  int timed_out = 0;
  const auto tidy = [&timed_out](cx own) -> task<> {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    const auto quiet = co_await mask();
    if (!co_await within(own, ms(10), never)) ++timed_out;
    // And what is in time is.
    if (co_await within(own, ms(10), [](cx) -> task<> { co_await sleep(ms(5)); })) ++timed_out;
  };
  // In a task that is cancelled alone, in a region that closes, in a finalizer.
  co_await region(c, region_options{.policy = region_policy::body_decides}, [&](cx r) -> task<> {
    auto alone = co_await start(r, tidy);
    co_await sleep(ms(1));
    EXPECT_EQ(alone.cancel(), status::ok);
  });
  EXPECT_EQ(timed_out, 2);
  const auto failed = co_await attempt(region(c, [&](cx r) -> task<> {
    co_await start(r, tidy);
    co_await sleep(ms(1));
    co_await fail(status::corrupt);
  }));
  EXPECT_TRUE(failed.is_err());
  EXPECT_EQ(timed_out, 4);
  co_await region(c, [&](cx r) -> task<> {
    co_await finally(r, [&timed_out](cx f) -> task<> {
      if (!co_await within(f, ms(10), never)) ++timed_out;
    });
  });
  EXPECT_EQ(timed_out, 5);
  EXPECT_LT(c.now(), instant{1'000'000'000});
}

// ---- "a catch-all swallows the cancel" (Kotlin 1814)

TEST(complaints, kotlin_1814_a_catch_all_swallows_the_cancel) {
  runtime rt;
  int caught = 0;
  const auto out = cancelled_outcome(rt, [&caught](cx) -> task<> {
    for (;;) {
      bool has_failed = false;
      try {
        co_await sleep(duration::hours(1));
      } catch (...) {
        ++caught;
        has_failed = true;
      }
      if (has_failed) co_await yield();
    }
  });
  EXPECT_EQ(caught, 0);
  EXPECT_TRUE(out.is_cancelled());
  EXPECT_FALSE(out.cancelled_by().cleanup_budget_exceeded) << "it ended where it stood";
  EXPECT_EQ(rt.now(), instant{});

  // Who takes every answer as a value and goes on ends cancelled all the same, and its budget sees to it that it ends.
  const auto stubborn = cancelled_outcome(rt, [](cx) -> task<> {
    for (;;) static_cast<void>(co_await attempt(sleep(duration::hours(1))));
  });
  EXPECT_TRUE(stubborn.is_cancelled());
  EXPECT_TRUE(stubborn.cancelled_by().cleanup_budget_exceeded);
  const auto pretends =
      cancelled_outcome(rt, [](cx) -> task<> { static_cast<void>(co_await attempt(sleep(duration::hours(1)))); });
  EXPECT_TRUE(pretends.is_cancelled()) << "it said ok after it had seen the cancel";
}

// ---- "a resource made just before a late cancel is dropped" (Kotlin 3504)

struct connection {
  explicit connection(int& count) : open(&count) { ++*open; }
  connection(connection&& other) noexcept : open(std::exchange(other.open, nullptr)) {}
  connection& operator=(connection&&) = delete;
  ~connection() {
    if (open != nullptr) --*open;
  }
  int* open;
};

TEST(complaints, kotlin_3504_a_resource_made_just_before_a_late_cancel_is_dropped) {
  int open = 0;
  int made = 0;
  int given = 0;
  const auto connect = [&open, &made](cx, std::uint64_t after) -> task<connection> {
    co_await sleep(duration{after});
    connection fresh(open);
    ++made;
    co_return fresh;
  };
  // Just before the limit, at it, just after it: what was made is in somebody's hands, or was closed.
  const auto body = [&](cx c) -> task<> {
    for (const std::uint64_t after : {999'999U, 1'000'000U, 1'000'001U}) {
      {
        const auto got = co_await with_timeout(c, ms(1), connect, after);
        given += got ? 1 : 0;
        EXPECT_EQ(open, got ? 1 : 0);
      }
      {
        const auto got = co_await within(c, ms(1), connect, after);
        given += got ? 1 : 0;
        EXPECT_EQ(open, got ? 1 : 0);
      }
    }
    auto child = co_await start(c, connect, 10U);
    auto how = co_await join(child);
    EXPECT_EQ(open, how.is_ok() ? 1 : 0);
  };
  const lab_result explored = explore({.seeds = 16}, body);
  EXPECT_TRUE(explored.is_ok) << explored.report();
  EXPECT_GT(given, 0);
  EXPECT_GE(made, given);
  const lab_result cancelled = sweep({}, lab_fault::cancel, body);
  EXPECT_TRUE(cancelled.is_ok) << cancelled.report();
  EXPECT_EQ(open, 0) << "wherever the cancel came";
}

// ---- "the delivery of a cancel spins" (anyio 1111)

TEST(complaints, anyio_1111_the_delivery_of_a_cancel_spins) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    const auto quiet = co_await mask();
    co_await sleep(duration::hours(2));  // It answers late, and nobody asks it meanwhile.
  });
  rt.run_until_idle();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(made.handle.cancel(), status::ok);
  const run_result ran = rt.run_until_quiescent();
  EXPECT_LE(ran.steps, 8U);
  EXPECT_EQ(rt.now(), instant{duration::hours(2).ns});
  outcome<unit> out;
  EXPECT_EQ(made.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_cancelled());
  // Nor does one that cannot be cancelled yet: it waits in a mask that it took before.
  auto shielded = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> {
    const auto quiet = co_await mask();
    co_await sleep(duration::hours(2));
  });
  rt.run_until_idle();
  EXPECT_EQ(shielded.handle.cancel(), status::ok);
  EXPECT_LE(rt.run_until_quiescent().steps, 8U);
}

// ---- "a scope's join locks up" (stdexec 1909)

// Children that end, spawn and fail while the block begins to wait; the lab finds whoever waits for ever.
task<> busy_block(cx c, int shape) {
  static_cast<void>(co_await attempt(region(c, [shape](cx r) -> task<> {
    if ((shape & 1) != 0) co_return;  // Nothing in it but the body.
    const auto leaf = [](cx, int turns) -> task<> {
      for (int i = 0; i < turns; ++i) co_await yield();
    };
    const auto spawner = [leaf](cx own, int turns) -> task<> {
      for (int i = 0; i < turns; ++i) {
        co_await yield();
        co_await start(own, leaf, i % 2);
      }
    };
    for (int i = 0; i < 3; ++i) co_await start(r, spawner, i);
    if ((shape & 2) != 0) co_await start(r, [](cx) -> task<> { co_await fail(status::corrupt); });
    if ((shape & 4) != 0) static_cast<void>(r.kernel().close(r.region()));  // From within.
    if ((shape & 8) != 0) co_await region(r, [leaf](cx rr) -> task<> { co_await start(rr, leaf, 2); });
  })));
}

TEST(complaints, stdexec_1909_the_join_of_a_scope_locks_up) {
  for (int shape = 0; shape < 16; ++shape) {
    const auto body = [shape](cx c) -> task<> { co_await busy_block(c, shape); };
    const lab_result r = explore({.seeds = 16}, body);
    ASSERT_TRUE(r.is_ok) << shape << ": " << r.report();
    const lab_result cancelled = sweep({}, lab_fault::cancel, body);
    ASSERT_TRUE(cancelled.is_ok) << shape << ": " << cancelled.report();
  }
}

// ---- "a failing child terminates the process" (stdexec 1213)

ASX_LAB_TEST_WITH(complaints, stdexec_1213_a_failing_child_terminates_the_process, .may_panic = true) {
  const auto throws = [](cx, int when) -> task<> {
    if (when == 1) co_await yield();
    if (when == 2) co_await sleep(ms(1));
    throw std::runtime_error("order 7");
  };
  for (int when = 0; when < 3; ++when) {
    const auto how = co_await attempt(region(c, [throws, when](cx r) -> task<> {
      co_await start(r, throws, when);
      co_await sleep(duration::hours(1));
    }));
    EXPECT_TRUE(how.is_panicked());
    if (how.is_panicked()) {
      EXPECT_EQ(how.panic().text, "std::runtime_error: order 7");
    }
  }
  const auto in_cleanup = co_await attempt(region(c, [throws](cx r) -> task<> { co_await finally(r, throws, 1); }));
  EXPECT_TRUE(in_cleanup.is_panicked());
  const auto awaited = co_await attempt(throws(c, 1));
  EXPECT_TRUE(awaited.is_panicked());
  if (awaited.is_panicked()) {
    EXPECT_EQ(awaited.panic().text, "std::runtime_error: order 7");
  }
  EXPECT_LT(c.now(), instant{duration::hours(1).ns}) << "those who waited were told";
}

// ---- "debugging blind" (folly 2312, Asio 1239): no list of tasks, not what they wait for, no reason

TEST(complaints, folly_2312_and_asio_1239_nobody_can_see_who_waits_for_what_and_why) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1, "orders");
  ASSERT_EQ(code, status::ok);
  constexpr int line = __LINE__;
  const auto reads = [](cx, receiver<int>& from) -> task<> { static_cast<void>(co_await recv(from)); };
  const auto serves = [reads](cx own, receiver<int> from) -> task<> { co_await reads(own, from); };
  const auto tidies = [](cx) -> task<> {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    const auto quiet = co_await mask();
    co_await sleep(duration::hours(3));
  };
  const auto place = [](int behind) { return "complaints_cleanup_test.cpp:" + std::to_string(line + behind); };
  auto reader = spawn_in(rt.kernel(), rt.root(), {.name = "reader"}, serves, std::move(rx));
  auto tidier = spawn_in(rt.kernel(), rt.root(), {.name = "tidier"}, tidies);
  rt.run_until_idle();
  EXPECT_EQ(tidier.handle.cancel({cancel_kind::user, "closing time"}), status::ok);
  rt.run_until_idle();
  const std::string tree = describe_tree(rt.kernel());
  // Where each stands, and who awaits it; the place of the spawn is told besides, and would not do.
  const std::vector<std::string> all_said{
      "'reader'",     "waits for a message of channel",     "'tidier'",       "cancelling",
      "closing time", " at " + place(1) + " < " + place(2), " at " + place(6)};
  for (const std::string& said : all_said) {
    EXPECT_NE(tree.find(said), std::string::npos) << said << " is not in\n" << tree;
  }
  const std::vector<event> events = testing::events_of(rt);
  task_report r;
  ASSERT_EQ(rt.kernel().inspect(reader.handle.task(), r), status::ok);
  const std::string why = why_blocked(events, r.id.value).text;
  EXPECT_NE(why.find("channel"), std::string::npos) << why;
  tx.drop();
  rt.run_until_quiescent();
}

}  // namespace
}  // namespace asx
