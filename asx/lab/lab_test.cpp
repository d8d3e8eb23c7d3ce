// The lab finds what it says it finds: one planted fault for each oracle, and none in a program that is right.
#include "asx/lab/lab.hpp"

#include <gtest/gtest.h>

#include <source_location>
#include <string>

#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

task<> produce(cx, sender<int> tx, int from, int count) {
  for (int i = 0; i < count; ++i) co_await send(tx, from + i);
}

// Three producers into one consumer, in a region of their own.
task<int> pipeline(cx c) {
  co_return co_await region(c, [](cx r) -> task<int> {
    auto [code, tx, rx] = channel<int>(r, 2, "numbers");
    if (code != status::ok) co_await fail(code);
    for (int i = 0; i < 3; ++i) {
      if (const auto s = spawn(r, produce, tx, i * 100, 5); s.code != status::ok) co_await fail(s.code);
    }
    tx.drop();
    int sum = 0;
    while (auto got = co_await recv(rx)) sum += *got;
    co_return sum;
  });
}

// cut: lab_test
LAB_TEST(lab, finds_nothing_in_a_program_that_is_right) {
  const int sum = co_await pipeline(c);
  EXPECT_EQ(sum, 3 * 10 + 500 + 1000);
}
// end: lab_test

TEST(lab, explores_schedules_that_differ) {
  const auto body = [](cx c) -> task<> { co_await pipeline(c); };
  const lab_result a = explore({.first_seed = 1, .seeds = 1}, body);
  const lab_result b = explore({.first_seed = 2, .seeds = 1}, body);
  EXPECT_TRUE(a.is_ok) << a.report();
  EXPECT_NE(a.digest.low, b.digest.low);
}

TEST(lab, survives_every_sweep_of_a_program_that_is_right) {
  const auto body = [](cx c) -> task<> { co_await pipeline(c); };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, fault == lab_fault::cancel ? 10U : 0U);
  }
}

TEST(lab, finds_a_body_that_fails_or_throws) {
  const lab_result failed = explore({}, [](cx) -> task<> { co_await fail(status::io, 3); });
  EXPECT_FALSE(failed.is_ok);
  EXPECT_NE(failed.finding.find("err: io"), std::string::npos) << failed.finding;
#if defined(__cpp_exceptions)
  const lab_result thrown = explore({}, [](cx) -> task<> {
    co_await yield();
    throw std::runtime_error("boom");
  });
  EXPECT_NE(thrown.finding.find("panicked: std::runtime_error: boom"), std::string::npos) << thrown.finding;
#endif
}

// Two tasks that take two locks in opposite order: a knot in some schedules only.
TEST(lab, finds_a_knot_and_names_who_waits_for_whom) {
  static std::uint32_t second_lock = 0;
  const auto body = [](cx c) -> task<> {
    co_await region(c, [](cx r) -> task<> {
      mutex<int> a, b;
      if (mutex<int>::create(r, a, "a", 0) != status::ok || mutex<int>::create(r, b, "b", 0) != status::ok) {
        co_await fail(status::resource_exhausted);
      }
      const auto take = [](cx, mutex<int> first, mutex<int> second) -> task<> {
        const auto one = co_await lock(first);
        co_await yield();
        second_lock = std::source_location::current().line() + 1;
        const auto two = co_await lock(second);
      };
      if (spawn(r, take, a, b).code != status::ok || spawn(r, take, b, a).code != status::ok) {
        co_await fail(status::resource_exhausted);
      }
    });
  };
  const lab_result r = explore({.seeds = 50}, body);
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("blocked for ever"), std::string::npos) << r.finding;
  EXPECT_NE(r.finding.find("holds 1 of sync"), std::string::npos) << r.finding;
  const std::string where = " at lab_test.cpp:" + std::to_string(second_lock) + "  polls";
  const std::size_t one = r.finding.find(where);
  ASSERT_NE(one, std::string::npos) << where << " is not in\n" << r.finding;
  EXPECT_NE(r.finding.find(where, one + 1), std::string::npos) << "both of them\n" << r.finding;
  const lab_result again = replay({}, r.token, body);
  EXPECT_EQ(again.finding, r.finding);
  EXPECT_EQ(again.digest, r.digest);
}

TEST(lab, finds_a_promise_that_is_broken) {
  const lab_result r = explore({}, [](cx c) -> task<> {
    obligation_handle o;
    if (c.kernel().reserve(c.region(), o) != status::ok) co_await fail(status::resource_exhausted);
  });
  EXPECT_NE(r.finding.find("1 obligations leaked"), std::string::npos) << r.finding;
}

TEST(lab, finds_a_cleanup_that_overruns_its_budget) {
  const lab_result r = explore({.may_block = true}, [](cx c) -> task<> {
    const auto stubborn = [](cx s) -> task<> {
      for (;;) {
        static_cast<void>(s.checkpoint());
        co_await yield();
      }
    };
    auto spawned = spawn(c, stubborn);
    co_await yield();
    static_cast<void>(spawned.handle.cancel());
  });
  EXPECT_NE(r.finding.find("completed by force"), std::string::npos) << r.finding;
}

TEST(lab, finds_a_program_that_is_not_the_same_twice) {
  int runs = 0;
  const lab_result r = explore({}, [&runs](cx) -> task<> {
    if (++runs % 2 == 0) co_await yield();
  });
  EXPECT_NE(r.finding.find("two digests"), std::string::npos) << r.finding;
  EXPECT_NE(r.finding.find("what the poll said"), std::string::npos) << "where they part is told: " << r.finding;
}

TEST(lab, finds_a_program_that_never_ends) {
  const lab_result r = explore({.max_steps = 1000}, [](cx) -> task<> {
    for (;;) co_await yield();
  });
  EXPECT_NE(r.finding.find("still work: step_limit"), std::string::npos) << r.finding;
}

TEST(lab, says_what_is_wrong_with_a_token) {
  const auto body = [](cx) -> task<> { co_return; };
  EXPECT_NE(replay({}, "nonsense", body).finding.find("this is no token: 'nonsense'"), std::string::npos);
  EXPECT_NE(replay({}, "lab1.1.2.none.0.0123456789abcdef", body).finding.find("the program is another"),
            std::string::npos);
  const lab_result known = explore({.seeds = 1}, body);
  EXPECT_TRUE(replay({}, known.token, body).is_ok);
}

TEST(lab, calls_a_sweep_that_hits_nothing_a_finding) {
  lab_options options;
  options.may_fail = true;
  const lab_result r = sweep(options, lab_fault::memory, [](cx) -> task<> { co_return; });
  EXPECT_TRUE(r.is_ok || r.finding.find("hit nothing") != std::string::npos) << r.report();
}

TEST(lab, finds_a_failure_that_nobody_joined) {
  const lab_result r = explore({}, [](cx c) -> task<> {
    co_await start(c, {.name = "child"}, [](cx) -> task<> {
      co_await yield();
      co_await fail(status::io);
    });
  });
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("in task 2 'child', which nobody joined"), std::string::npos) << r.finding;
  EXPECT_TRUE(explore({.may_fail = true}, [](cx c) -> task<> {
                co_await start(c, [](cx) -> task<> { co_await fail(status::io); });
              }).is_ok);
}

TEST(lab, remembers_what_the_ring_of_the_journal_forgets) {
  const lab_result r = explore({.seeds = 1}, [](cx c) -> task<> {
    auto child = co_await start(c, [](cx own) -> task<> {
      for (;;) {
        static_cast<void>(own.checkpoint());
        static_cast<void>(co_await attempt(yield()));
      }
    });
    EXPECT_EQ(child.cancel(), status::ok);
    for (int i = 0; i < 40'000; ++i) co_await yield();
  });
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("completed by force"), std::string::npos) << r.finding;
}

TEST(lab, stops_where_a_framework_has_seen_a_failure) {
  static int asked;
  asked = 0;
  const lab_result r = explore({.has_failed = [] { return ++asked == 3; }}, [](cx) -> task<> { co_return; });
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.runs, 3U);
  EXPECT_EQ(r.finding, "an expectation did not hold");
  EXPECT_FALSE(r.token.empty());
  EXPECT_FALSE(r.tail.empty());
}

TEST(lab, names_the_seed_whose_second_run_failed) {
  static int asked;
  asked = 0;
  const lab_result r = explore({.has_failed = [] { return ++asked >= 4; }}, [](cx) -> task<> { co_return; });
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.seed, 2U);
  EXPECT_EQ(r.runs, 4U);
}

TEST(lab, refuses_what_would_show_nothing) {
  const auto body = [](cx) -> task<> { co_return; };
  EXPECT_FALSE(explore({.seeds = 0}, body).is_ok);
  EXPECT_FALSE(explore({.workers = 65}, body).is_ok);
  EXPECT_TRUE(explore({.seeds = 65, .workers = 64}, body).is_ok);
}

TEST(lab, reads_a_token_to_the_letter) {
  const auto body = [](cx) -> task<> { co_return; };
  const lab_result whole = explore({.seeds = 1}, body);
  ASSERT_TRUE(replay({}, whole.token, body).is_ok) << whole.token;
  const std::string tail = whole.token.substr(whole.token.rfind('.'));
  for (const char* const wrong :
       {"lab1. 1.2.none.0", "lab1.0x1.2.none.0", "lab1.1.4294967298.none.0", "lab1.-1.2.none.0", "lab1.1.65.none.0",
        "lab1.1.0.none.0", "lab1.1.2.nine.0", "lab1.1.2.none.", "lab2.1.2.none.0", "lab1.10000000000000000.2.none.0",
        "lab1.1.2.none.0.0"}) {
    const lab_result r = replay({}, wrong + tail, body);
    EXPECT_NE(r.finding.find("this is no token"), std::string::npos) << wrong << tail << ": " << r.finding;
  }
}

}  // namespace
}  // namespace asx
