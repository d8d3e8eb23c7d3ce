// Corners of combinators: panics of those who lost, nobody, one alone, all at once, callers that are cancelled
// while others are drained, masks, budgets.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "asx/coro/cleanup.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/run.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

duration ms(int n) {
  return duration::milliseconds(static_cast<std::uint64_t>(n));
}
instant at_ms(int n) {
  return instant{ms(n).ns};
}

auto in(int after) {
  return [after](cx) -> task<int> {
    co_await sleep(ms(after));
    co_return after;
  };
}
auto broken(int after) {
  return [after](cx) -> task<int> {
    co_await sleep(ms(after));
    co_await fail(status::io, 5);
    co_return 0;
  };
}
auto throws(int after) {
  return [after](cx) -> task<int> {
    co_await sleep(ms(after));
    throw std::runtime_error("it burns");
    co_return 0;
  };
}
// Panics when it is told to stop.
auto panics_late(const char* what) {
  return [what](cx c) -> task<int> {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    c.panic(what);
    co_return 0;
  };
}
// Does not hear that it is to stop before it is done.
auto masked(int after, bool panics = false) {
  return [after, panics](cx c) -> task<int> {
    const auto quiet = co_await mask();
    co_await sleep(ms(after));
    if (panics) c.panic("behind the mask");
    co_return after;
  };
}

// ---- panics of those who lost ---------------------------------------------------------------------------------------

ASX_LAB_TEST_WITH(combine_corners, a_loser_that_panics_is_what_race_and_first_ok_answer_with, .may_panic = true) {
  const auto first = co_await race(c, panics_late("the loser"), in(10), in(20));
  EXPECT_TRUE(first.is_panicked());
  EXPECT_EQ(first.panic().text, "the loser");
  const auto good = co_await first_ok(c, broken(5), in(10), panics_late("so late"));
  EXPECT_TRUE(good.is_panicked());
  EXPECT_EQ(good.panic().text, "so late");
  const auto both = co_await race(c, panics_late("late"), throws(1));
  EXPECT_TRUE(both.is_panicked());
  EXPECT_EQ(both.panic().text, "std::runtime_error: it burns") << "the first one counts";
}

ASX_LAB_TEST_WITH(combine_corners, a_panic_decides_first_ok_and_quorum_at_once, .may_panic = true) {
  const auto got = co_await first_ok(c, in(900), throws(10));
  EXPECT_TRUE(got.is_panicked());
  EXPECT_EQ(c.now(), at_ms(10)) << "nothing that comes later could hide it";
  const auto most = co_await attempt(quorum(c, 1, in(900), throws(10)));
  EXPECT_TRUE(most.is_panicked());
  EXPECT_EQ(most.panic().text, "std::runtime_error: it burns");
  EXPECT_EQ(c.now(), at_ms(20));
}

ASX_LAB_TEST_WITH(combine_corners, a_loser_that_panics_ends_a_quorum, .may_panic = true) {
  const auto most = co_await attempt(quorum(c, 2, in(10), in(20), panics_late("the third")));
  EXPECT_TRUE(most.is_panicked());
  EXPECT_EQ(most.panic().text, "the third");
}

ASX_LAB_TEST_WITH(combine_corners, an_err_of_a_loser_is_passed_over, .may_fail_cleanup = true) {
  const auto gives_up = [](cx) -> task<int> {
    const auto how = co_await attempt(sleep(duration::hours(1)));
    EXPECT_EQ(how.code, status::cancelled);
    co_await fail(status::io);
    co_return 0;
  };
  EXPECT_EQ((co_await race(c, gives_up, in(10))).value(), 10);
  EXPECT_EQ((co_await first_ok(c, broken(10), in(10), gives_up)).value(), 10);
  EXPECT_TRUE((co_await quorum(c, 1, broken(10), in(10), gives_up)).is_reached);
}

// Goal:   a panic is told also when its caller was cancelled, so that nobody would look at an answer.
// Method: each of them in a task that is cancelled while its children are masked; one of those panics.
ASX_LAB_TEST_WITH(combine_corners, a_panic_is_told_when_the_caller_is_cancelled_during_the_drain, .may_panic = true) {
  const auto a = [](cx own) -> task<> { static_cast<void>(co_await race(own, in(5), masked(20, true))); };
  const auto b = [](cx own) -> task<> { static_cast<void>(co_await first_ok(own, in(5), masked(20, true))); };
  const auto d = [](cx own) -> task<> { static_cast<void>(co_await quorum(own, 1, in(5), masked(20, true))); };
  const auto e = [](cx own) -> task<> { static_cast<void>(co_await join_all(own, in(5), masked(20, true))); };
  const auto f = [](cx own) -> task<> {
    co_await region(own, {.policy = region_policy::body_decides},
                    [](cx r) -> task<> { static_cast<void>(co_await masked(20, true)(r)); });
  };
  co_await attempt(region(c, {.policy = region_policy::body_decides}, [&](cx r) -> task<> {
    std::vector<join_handle<>> tasks;
    tasks.push_back(co_await start(r, a));
    tasks.push_back(co_await start(r, b));
    tasks.push_back(co_await start(r, d));
    tasks.push_back(co_await start(r, e));
    tasks.push_back(co_await start(r, f));
    co_await sleep(ms(10));
    for (auto& one : tasks) EXPECT_EQ(one.cancel(), status::ok);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto how = co_await join(tasks[i]);
      EXPECT_EQ(how.kind(), outcome_kind::panicked) << i;
      if (how.is_panicked()) {
        EXPECT_EQ(how.panic().text, "behind the mask");
      }
    }
  }));
}

LAB_TEST(combine_corners, a_caller_that_is_cancelled_during_the_drain_is_cancelled_when_it_is_over) {
  const auto body = [](cx own) -> task<> {
    static_cast<void>(co_await race(own, in(5), masked(20)));
    ADD_FAILURE() << "it was cancelled";
  };
  auto h = co_await start(c, body);
  co_await sleep(ms(10));
  EXPECT_EQ(h.cancel(), status::ok);
  const auto how = co_await join(h);
  EXPECT_TRUE(how.is_cancelled());
  EXPECT_EQ(c.now(), at_ms(20)) << "and not before";
}

LAB_TEST(combine_corners, a_loser_that_masks_is_waited_for) {
  EXPECT_EQ((co_await race(c, masked(30), in(10))).value(), 10);
  EXPECT_EQ(c.now(), at_ms(30));
  EXPECT_EQ((co_await first_ok(c, in(5), masked(30))).value(), 5);
  EXPECT_EQ(c.now(), at_ms(60));
}

// ---- nobody, one alone, all at once ---------------------------------------------------------------------------------

LAB_TEST(combine_corners, nobody_is_over_at_once) {
  const std::tuple<> none = co_await join_all(c);
  static_cast<void>(none);
  const auto zero = co_await quorum(c, 0, in(10), broken(10));
  EXPECT_TRUE(zero.is_reached);
  EXPECT_FALSE(zero.values[0] || zero.values[1]);
  const auto too_many = co_await quorum(c, 3, in(10), in(10));
  EXPECT_FALSE(too_many.is_reached);
  std::vector<int> items;
  co_await for_each(c, items, 3, [](cx, int&) -> task<> { co_return; });
  EXPECT_EQ(c.now(), at_ms(0));
}

LAB_TEST(combine_corners, one_alone_is_itself) {
  const auto [only] = co_await join_all(c, in(1));
  EXPECT_EQ(only.value(), 1);
  EXPECT_EQ((co_await race(c, in(1))).value(), 1);
  EXPECT_EQ((co_await first_ok(c, in(1))).value(), 1);
  EXPECT_EQ((co_await first_ok(c, broken(1))).error(), (error{status::io, 5}));
  EXPECT_EQ((co_await race(c, broken(1))).error(), (error{status::io, 5}));
  const auto one = co_await quorum(c, 1, in(1));
  EXPECT_TRUE(one.is_reached && one.values[0] == 1);
}

LAB_TEST(combine_corners, all_that_fail_at_once_are_one_failure) {
  EXPECT_TRUE((co_await race(c, broken(5), broken(5), broken(5))).is_err());
  EXPECT_TRUE((co_await first_ok(c, broken(5), broken(5), broken(5))).is_err());
  EXPECT_FALSE((co_await quorum(c, 1, broken(5), broken(5))).is_reached);
  const auto [a, b] = co_await join_all(c, broken(5), broken(5));
  EXPECT_TRUE(a.is_err() && b.is_err());
  std::vector<int> items{1, 2, 3, 4};
  const auto how = co_await attempt(for_each(c, items, 4, [](cx, int& item) -> task<> {
    co_await sleep(ms(5));
    co_await fail(status::io, static_cast<std::uint64_t>(item));
  }));
  EXPECT_TRUE(how.is_err());
  EXPECT_EQ(how.error().code, status::io);
  EXPECT_EQ(c.now(), at_ms(25));
}

TEST(combine_corners, a_child_that_is_refused_counts_as_ended_with_the_refusal) {
  runtime_config config;
  config.contract.max_tasks = 3;  // The program, the body of the block, one child.
  runtime rt(config);
  const auto out = run_in(rt, [](cx c) -> task<> {
    const auto [a, b] = co_await join_all(c, in(5), in(5));
    EXPECT_EQ(a.value(), 5);
    EXPECT_EQ(b.error().code, status::resource_exhausted);
    EXPECT_EQ((co_await first_ok(c, in(5), in(5))).value(), 5);
    EXPECT_TRUE((co_await race(c, in(5), in(5))).is_err()) << "it was over first";
    EXPECT_TRUE((co_await quorum(c, 1, in(5), in(5))).is_reached);
    EXPECT_FALSE((co_await quorum(c, 2, in(5), in(5))).is_reached);
    std::vector<int> items{1, 2, 3};
    int sum = 0;
    co_await for_each(c, items, 3, [&sum](cx, int& item) -> task<> {
      sum += item;
      co_return;
    });
    EXPECT_EQ(sum, 6) << "fewer at once, and all of them";
  });
  EXPECT_TRUE(out.is_ok()) << out.text;
}

// ---- kinds and policies
// ----------------------------------------------------------------------------------------------

LAB_TEST(combine_corners, those_who_are_stopped_are_told_why) {
  std::vector<cancel_kind> told;
  const auto hears = [&told](cx own) -> task<int> {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    told.push_back(own.reason()->kind);
    co_return 0;
  };
  static_cast<void>(co_await race(c, hears, in(1)));
  static_cast<void>(co_await first_ok(c, hears, broken(1), in(2)));
  static_cast<void>(co_await quorum(c, 1, hears, in(1)));
  EXPECT_EQ(told, std::vector<cancel_kind>(3, cancel_kind::race_lost));
  told.clear();
  std::vector<int> items{1, 2};
  static_cast<void>(co_await attempt(for_each(c, items, 2, [&hears](cx own, int& item) -> task<> {
    if (item == 1) static_cast<void>(co_await hears(own));
    co_await sleep(ms(5));
    co_await fail(status::io);
  })));
  // The close is fail_fast, and a child of what closes is told that its parent is.
  EXPECT_EQ(told, std::vector<cancel_kind>(1, cancel_kind::parent_cancelled));
  told.clear();
  static_cast<void>(co_await with_timeout(c, ms(3), hears));
  EXPECT_EQ(told.size(), 1U);
}

ASX_LAB_TEST_WITH(combine_corners, a_block_of_which_all_fail_at_once_has_one_failure_and_the_worst_under_supervision,
                  .may_panic = true) {
  for (const region_policy policy : {region_policy::fail_fast, region_policy::supervise}) {
    for (const bool panics : {false, true}) {
      const auto how = co_await attempt(region(c, {.policy = policy}, [panics](cx r) -> task<> {
        for (int i = 0; i < 3; ++i) {
          if (panics && i == 1) {
            co_await start(r, throws(5));
          } else {
            co_await start(r, broken(5));
          }
        }
      }));
      if (policy == region_policy::supervise) {
        EXPECT_EQ(how.kind(), panics ? outcome_kind::panicked : outcome_kind::err);
      } else {  // The first that runs closes it, and the others are cancelled before they can fail.
        EXPECT_TRUE(how.is_err() || (panics && how.is_panicked()));
      }
    }
    const auto none = co_await attempt(region(c, {.policy = policy}, [](cx) -> task<> { co_return; }));
    EXPECT_TRUE(none.is_ok()) << "a block without children is its body";
  }
}

LAB_TEST(combine_corners, a_supervised_block_waits_for_who_is_left_and_is_cancelled_when_its_owner_is) {
  const auto body = [](cx own) -> task<> {
    co_await region(own, {.policy = region_policy::supervise}, [](cx r) -> task<> {
      co_await start(r, broken(5));
      co_await start(r, masked(30));
      co_await start(r, in(900));
    });
  };
  auto h = co_await start(c, body);
  co_await sleep(ms(10));
  EXPECT_FALSE(h.is_done()) << "one failure is no end";
  EXPECT_EQ(h.cancel(), status::ok);
  EXPECT_TRUE((co_await join(h)).is_cancelled());
  EXPECT_EQ(c.now(), at_ms(30));
}

// ---- retry inside a budget ------------------------------------------------------------------------------------------

LAB_TEST(combine_corners, retry_waits_for_no_attempt_behind_its_limit) {
  int attempts = 0;
  const auto flaky = [&attempts](cx) -> task<int> {
    ++attempts;
    co_await fail(status::io, static_cast<std::uint64_t>(attempts));
    co_return 0;
  };
  // 0, 10 and 30 ms lie within; 70 ms does not.
  const auto how = co_await attempt(retry(c, {.attempts = 100, .limit = ms(69)}, flaky));
  EXPECT_EQ(how.error(), (error{status::io, 3}));
  EXPECT_EQ(c.now(), at_ms(30)) << "it does not sleep for nothing";
  attempts = 0;
  static_cast<void>(co_await attempt(retry(c, {.attempts = 100, .limit = ms(70)}, flaky)));
  EXPECT_EQ(attempts, 4);
}

LAB_TEST(combine_corners, retry_ends_with_its_failure_and_not_by_the_deadline_of_its_task) {
  int attempts = 0;
  const auto body = [&attempts](cx own) -> task<int> {
    co_return co_await retry(own, {.attempts = 100}, [&attempts](cx) -> task<int> {
      ++attempts;
      co_await fail(status::io);
      co_return 0;
    });
  };
  co_await attempt(region(c, {.policy = region_policy::body_decides}, [&](cx r) -> task<> {
    auto h = co_await start(r, {.limits = {.deadline = at_ms(50)}}, body);
    const auto how = co_await join(h);
    EXPECT_TRUE(how.is_err());
    EXPECT_EQ(how.error().code, status::io);
    EXPECT_EQ(attempts, 3) << "at 0, 10 and 30 ms";
    EXPECT_EQ(c.now(), at_ms(30));
  }));
}

LAB_TEST(combine_corners, retry_makes_one_attempt_at_least_and_takes_an_exception_for_a_failure) {
  int attempts = 0;
  const auto once = [&attempts](cx) -> task<int> {
    ++attempts;
    throw std::runtime_error("not now");
    co_return 0;
  };
  const auto how = co_await attempt(retry(c, {.attempts = 0}, once));
  EXPECT_TRUE(how.is_panicked());
  EXPECT_EQ(attempts, 1);
  const auto twice = [&attempts](cx) -> task<int> {
    if (++attempts < 3) throw std::runtime_error("not now");
    co_return 7;
  };
  EXPECT_EQ(co_await retry(c, {.attempts = 2}, twice), 7);
}

LAB_TEST(combine_corners, retry_is_over_when_its_task_is_cancelled) {
  int attempts = 0;
  const auto body = [&attempts](cx own) -> task<int> {
    co_return co_await retry(own, {.attempts = 9}, [&attempts](cx) -> task<int> {
      ++attempts;
      co_await sleep(ms(10));
      co_return 1;
    });
  };
  auto h = co_await start(c, body);
  co_await sleep(ms(5));
  EXPECT_EQ(h.cancel(), status::ok);
  EXPECT_TRUE((co_await join(h)).is_cancelled());
  EXPECT_EQ(attempts, 1);
}

// When the attempts of two tasks began.
std::vector<std::vector<std::uint64_t>> attempts_under(std::uint64_t seed, std::uint32_t jitter, digest128* digest) {
  runtime rt({.seed = seed});
  std::vector<std::vector<std::uint64_t>> out(2);
  for (auto& to : out) {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, std::vector<std::uint64_t>* log, std::uint32_t percent) -> task<> {
          const auto fails = [log](cx own) -> task<> {
            log->push_back(own.now().ns);
            co_await fail(status::io);
          };
          static_cast<void>(co_await attempt(retry(c, {.attempts = 5, .jitter = percent}, fails)));
        },
        &to, jitter);
    EXPECT_EQ(made.code, status::ok);
  }
  rt.run_until_quiescent();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  *digest = rt.journal().digest();
  return out;
}

TEST(combine_corners, retry_leaves_out_a_part_of_each_wait_that_its_task_draws) {
  digest128 first, again, other;
  constexpr std::uint64_t full[] = {10'000'000, 20'000'000, 40'000'000, 80'000'000};
  const auto plain = attempts_under(7, 0, &first);
  EXPECT_EQ(plain[0], (std::vector<std::uint64_t>{0, 10'000'000, 30'000'000, 70'000'000, 150'000'000}));
  EXPECT_EQ(plain[0], plain[1]);
  EXPECT_EQ(attempts_under(8, 0, &again), plain) << "nothing is drawn";
  for (const std::uint32_t percent : {1U, 25U, 100U, 4'000'000'000U}) {
    const auto drawn = attempts_under(7, percent, &first);
    const std::uint64_t most = percent < 100 ? percent : 100;
    for (const auto& one : drawn) {
      ASSERT_EQ(one.size(), 5U);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_LE(one[i + 1] - one[i], full[i]);
        EXPECT_GE(one[i + 1] - one[i], full[i] - full[i] / 100 * most);
      }
    }
    EXPECT_NE(drawn[0], drawn[1]) << "those who failed together do not come back together";
    EXPECT_EQ(attempts_under(7, percent, &again), drawn);
    EXPECT_EQ(first, again);
    EXPECT_NE(attempts_under(8, percent, &other), drawn);
    EXPECT_NE(first, other);
  }
}

LAB_TEST(combine_corners, retry_draws_the_same_in_a_second_run) {
  const auto fails = [](cx) -> task<> { co_await fail(status::io); };
  const retry_policy how{.attempts = 6, .max_delay = ms(30), .limit = ms(100), .jitter = 50};
  const auto one = [fails, how](cx own) -> task<> { co_await retry(own, how, fails); };
  const auto [a, b] = co_await join_all(c, one, one);
  EXPECT_EQ(a.error().code, status::io);
  EXPECT_EQ(b.error().code, status::io);
  EXPECT_LE(c.now(), at_ms(100));
}

LAB_TEST(combine_corners, retry_tries_again_what_is_worth_it) {
  constexpr auto is_io = [](const error& failure) { return failure.code == status::io && failure.detail < 3; };
  int attempts = 0;
  const auto fails = [&attempts](cx) -> task<int> {
    ++attempts;
    co_await fail(attempts < 20 ? status::io : status::corrupt, static_cast<std::uint64_t>(attempts));
    co_return 0;
  };
  const auto third = co_await attempt(retry(c, {.attempts = 9, .is_worth = is_io}, fails));
  EXPECT_EQ(third.error(), (error{status::io, 3}));
  EXPECT_EQ(c.now(), at_ms(30)) << "it ends with the failure, and waits for nothing";
  attempts = 19;
  const auto other = co_await attempt(retry(c, {.attempts = 9, .is_worth = is_io}, fails));
  EXPECT_EQ(other.error(), (error{status::corrupt, 20}));
  attempts = 0;
  const auto throws_once = [&attempts](cx) -> task<int> {
    if (++attempts == 1) throw std::runtime_error("not now");
    co_return 7;
  };
  EXPECT_TRUE((co_await attempt(retry(c, {.is_worth = is_io}, throws_once))).is_panicked());
  EXPECT_EQ(attempts, 1) << "an exception is no error that was named";
}

// ---- for_each -------------------------------------------------------------------------------------------------------

LAB_TEST(combine_corners, for_each_takes_what_is_made_as_it_goes_and_what_can_only_be_moved) {
  int sum = 0;
  co_await for_each(c, std::views::iota(1, 6), 2, [&sum](cx, int item) -> task<> {
    co_await yield();
    sum += item;
  });
  EXPECT_EQ(sum, 15);
  std::vector<bool> bits{true, false, true};
  co_await for_each(c, bits, 9, [&sum](cx, bool bit) -> task<> {
    sum += bit ? 1 : 0;
    co_return;
  });
  EXPECT_EQ(sum, 17);
  std::vector<std::unique_ptr<int>> owned;
  for (int i = 0; i < 3; ++i) owned.push_back(std::make_unique<int>(i));
  co_await for_each(c, std::move(owned), 2, [&sum](cx, std::unique_ptr<int>& one) -> task<> {
    const auto mine = std::move(one);
    co_await yield();
    sum += *mine;
  });
  EXPECT_EQ(sum, 20);
}

LAB_TEST(combine_corners, for_each_of_no_width_is_refused) {
  std::vector<int> items{1};
  const auto how = co_await attempt(for_each(c, items, 0, [](cx, int&) -> task<> {
    ADD_FAILURE();
    co_return;
  }));
  EXPECT_EQ(how.error().code, status::invalid_argument);
}

LAB_TEST(combine_corners, for_each_begins_nothing_more_once_it_is_cancelled) {
  int begun = 0;
  const auto body = [&begun](cx own) -> task<> {
    co_await for_each(own, std::views::iota(0, 100), 2, [&begun](cx, int) -> task<> {
      ++begun;
      const auto quiet = co_await mask();
      co_await sleep(ms(10));
    });
  };
  auto h = co_await start(c, body);
  co_await sleep(ms(15));
  EXPECT_EQ(h.cancel(), status::ok);
  EXPECT_TRUE((co_await join(h)).is_cancelled());
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(c.now(), at_ms(20)) << "what has begun behind a mask ends";
}

}  // namespace
}  // namespace asx
