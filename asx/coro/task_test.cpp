// Coroutines of one task: values, children, ends. Cancels at every point are in task_cancel_test, memory in
// task_memory_test, exceptions in task_exception_test.
#include "asx/coro/task.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::life;
using testing::nothing_left;
using testing::outcome_of;

static_assert(!std::is_copy_constructible_v<task<int>> && std::is_nothrow_move_constructible_v<task<int>>);
static_assert(!std::is_default_constructible_v<task<int>>);

task<int> marks(cx, int* ran) {
  ++*ran;
  co_return 7;
}

TEST(coro_task, does_not_run_before_it_is_awaited) {
  runtime rt;
  int ran = 0;
  const auto out = outcome_of(
      rt,
      [](cx c, int* count) -> task<int> {
        task<int> later = marks(c, count);
        EXPECT_EQ(*count, 0);
        co_await yield();
        EXPECT_EQ(*count, 0);
        co_return co_await std::move(later);
      },
      &ran);
  EXPECT_EQ(out.value(), 7);
  EXPECT_EQ(ran, 1);
}

TEST(coro_task, destroys_the_arguments_of_one_that_is_never_awaited) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  int ran = 0;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b, int* count) -> task<> {
        const auto never = [](cx, life, int* n) -> task<> {
          ++*n;
          co_return;
        };
        {
          const task<> unused = never(c, life(*b, 1), count);
        }
        EXPECT_EQ(b->died, 1);
        task<> first = never(c, life(*b, 2), count);
        task<> second = never(c, life(*b, 3), count);
        first = std::move(second);
        EXPECT_EQ(b->deaths, (std::vector<int>{1, 2})) << "the one that was overwritten";
        task<> third = std::move(first);
        EXPECT_TRUE(third);
        EXPECT_FALSE(second);
        co_return;
      },
      &book, &ran);
  EXPECT_TRUE(out.is_ok());
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(book.is_balanced());
  before.check();
}

struct alignas(64) wide {
  explicit wide(int n) : number(n) {}
  wide(const wide& other) : number(other.number) { EXPECT_TRUE(is_aligned() && other.is_aligned()); }
  [[nodiscard]] bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(this) % alignof(wide) == 0; }
  int number;
};

TEST(coro_task, hands_over_nothing_what_can_only_be_moved_and_what_is_aligned_widely) {
  runtime rt;
  const auto bare = outcome_of(rt, [](cx) -> task<void> { co_return; });
  EXPECT_TRUE(bare.is_ok());

  const auto moved = outcome_of(rt, [](cx c) -> task<std::unique_ptr<int>> {
    const auto make = [](cx) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
    std::unique_ptr<int> got = co_await make(c);
    ++*got;
    co_return got;
  });
  EXPECT_EQ(*moved.value(), 6);

  const auto aligned = outcome_of(rt, [](cx c) -> task<wide> {
    const auto make = [](cx) -> task<wide> {
      co_await yield();
      co_return wide(8);
    };
    wide got = co_await make(c);
    EXPECT_TRUE(got.is_aligned()) << "a local of a frame";
    co_await yield();
    got.number += 1;
    co_return got;
  });
  EXPECT_TRUE(aligned.value().is_aligned());
  EXPECT_EQ(aligned.value().number, 9);
}

TEST(coro_task, gives_the_value_of_a_child_in_the_midst_of_an_expression) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<std::string> {
    const auto word = [](cx, std::string text) -> task<std::string> {
      co_await yield();
      co_return text + "!";
    };
    co_return co_await word(c, "one") + co_await word(c, "two") + co_await word(c, co_await word(c, "three"));
  });
  EXPECT_EQ(out.value(), "one!two!three!!");
}

TEST(coro_task, ends_with_err_where_it_says_fail_and_takes_its_callers_along) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  int passed = 0;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b, int* p) -> task<int> {
        const life outer(*b, 1);
        const auto child = [](cx, book_of_lives* bb, int* pp) -> task<int> {
          const life inner(*bb, 2);
          co_await yield();
          co_await fail(status::corrupt, 77);
          ++*pp;
          co_return 1;
        };
        const int got = co_await child(c, b, p);
        ++*p;
        co_return got;
      },
      &book, &passed);
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error(), (error{status::corrupt, 77}));
  EXPECT_EQ(passed, 0);
  EXPECT_EQ(book.deaths, (std::vector<int>{2, 1})) << "innermost first";
  EXPECT_TRUE(book.is_balanced());
  before.check();
}

TEST(coro_task, goes_on_after_an_attempt_whatever_came_of_it) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    EXPECT_EQ(code, status::ok);
    const auto sent = co_await attempt(reserve(tx));
    EXPECT_TRUE(sent.is_ok());
    EXPECT_TRUE(sent.value.has_value());
    rx.drop();
    auto refused = co_await attempt(reserve(tx));
    EXPECT_EQ(refused.code, status::disconnected);
    EXPECT_FALSE(refused.value.has_value());
    const auto slept = co_await attempt(sleep(duration::milliseconds(1)));
    EXPECT_TRUE(slept.is_ok());

    const auto good = [](cx) -> task<int> { co_return 3; };
    const auto bad = [](cx) -> task<int> {
      co_await fail(status::corrupt, 4);
      co_return 0;
    };
    const outcome<int> first = co_await attempt(good(c));
    EXPECT_EQ(first.value(), 3);
    const outcome<int> second = co_await attempt(bad(c));
    EXPECT_TRUE(second.is_err());
    EXPECT_EQ(second.error(), (error{status::corrupt, 4}));
    const auto nothing = [](cx) -> task<> { co_return; };
    EXPECT_TRUE((co_await attempt(nothing(c))).is_ok());
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_task, sees_the_cancel_of_a_child_it_attempts_and_ends_cancelled_all_the_same) {
  runtime rt;
  bool has_seen = false;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, bool* seen) -> task<int> {
        const auto sleeper = [](cx) -> task<> { co_await sleep(duration::seconds(9)); };
        const auto how = co_await attempt(sleeper(c));
        EXPECT_TRUE(how.is_cancelled());
        EXPECT_EQ(how.reason().kind, cancel_kind::timeout);
        *seen = true;
        EXPECT_EQ((co_await attempt(sleep(duration::seconds(1)))).code, status::cancelled) << "from then on (R-21)";
        co_return 4;
      },
      &has_seen);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel({cancel_kind::timeout, "enough"}), status::ok);
  rt.run_until_quiescent();
  EXPECT_TRUE(has_seen);
  outcome<int> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  ASSERT_TRUE(out.is_cancelled());
  EXPECT_EQ(out.reason().message, "enough");
  EXPECT_EQ(rt.now(), instant{}) << "nobody slept";
}

// Whoever says cancelled without having been asked to has failed: R-26 knows no cancelled without a witness.
TEST(coro_task, is_not_ok_when_it_ends_cancelled_and_nobody_cancelled_it) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx) -> task<int> {
    co_await fail(status::cancelled, 3);
    co_return 1;
  });
  ASSERT_TRUE(out.is_err()) << name(out.kind());
  EXPECT_EQ(out.error(), (error{status::cancelled, 3}));
}

TEST(coro_task, keeps_its_own_value_when_it_ends_before_it_saw_the_cancel) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<int> {
    co_await yield();
    co_await yield();
    co_return 5;
  });
  rt.step();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_quiescent();
  outcome<int> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_EQ(out.value(), 5);
}

//
TEST(coro_task, lets_another_run_within_129_ready_operations) {
  runtime rt;
  std::uint64_t done = 0;
  std::uint64_t seen = 0;
  auto busy = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, std::uint64_t* count) -> task<> {
        auto [code, tx, rx] = channel<int>(c, 4);
        while (*count < 1000) {
          EXPECT_EQ((co_await reserve(tx)).send(1).code, status::ok);
          ++*count;
          EXPECT_TRUE((co_await recv(rx)).has_value());
          ++*count;
        }
      },
      &done);
  auto other = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, std::uint64_t* count, std::uint64_t* at) -> task<> {
        *at = *count;
        co_return;
      },
      &done, &seen);
  rt.run_until_quiescent();
  EXPECT_EQ(seen, 128U);
  EXPECT_EQ(done, 1000U);
  EXPECT_TRUE(busy.handle.is_done() && other.handle.is_done());
}

TEST(coro_task, does_not_suspend_for_an_operation_that_is_ready) {
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<> {
    auto [code, tx, rx] = channel<int>(c, 1);
    for (int i = 0; i < 30; ++i) {
      co_await send(tx, i);
      EXPECT_EQ(*co_await recv(rx), i);
      co_await sleep(duration{});
      co_await checkpoint();
    }
  });
  task_report r;
  rt.step();
  ASSERT_EQ(rt.kernel().inspect(made.handle.task(), r), status::ok);
  EXPECT_EQ(r.state, task_state::completed);
  EXPECT_EQ(r.polls, 1U);
}

TEST(coro_task, yields_at_every_operation_when_the_contract_grants_none) {
  runtime_config config;
  config.contract.coop_limit = 0;
  runtime rt(config);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    auto [code, tx, rx] = channel<int>(c, 1);
    int sum = 0;
    for (int i = 0; i < 10; ++i) {
      co_await send(tx, i);
      sum += *co_await recv(rx);
    }
    co_return sum;
  });
  EXPECT_EQ(out.value(), 45);
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // Clang sees it at once; GCC 12 says nothing.
#endif
task<std::string> forgets(cx, book_of_lives* book, bool waits) {
  const life here(*book, 1);
  if (waits) co_await yield();
  if (here.number() == 0) co_return "a value";
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

// A panic of the task that is polled; the words of one that it saw itself live in it.
bool is_told(const outcome<std::string>& how, std::string_view begins) {
  return how.is_panicked() && how.panic().text.starts_with(begins);
}

TEST(coro_task, that_ends_without_its_value_is_a_panic_and_no_garbage) {  // law 5
  static constexpr std::string_view words = "a coroutine ended without the value that it promised";
  for (const bool waits : {false, true}) {
    SCOPED_TRACE(waits);
    runtime rt;
    const nothing_left before(rt);
    book_of_lives book;
    {
      outcome<std::string> out;
      auto first = spawn_in(rt.kernel(), rt.root(), {}, forgets, &book, waits);
      auto second = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, book_of_lives* b, bool w) -> task<std::string> {
            const auto how = co_await attempt(forgets(c, b, w));
            EXPECT_TRUE(is_told(how, words));
            EXPECT_EQ(how.is_panicked() && how.panic().file.ends_with("task_test.cpp"), w) << "where it waited last";
            co_return "and goes on";
          },
          &book, waits);
      auto third = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, book_of_lives* b, bool w) -> task<std::string> { co_return co_await forgets(c, b, w) + "!"; }, &book,
          waits);
      auto fourth = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, book_of_lives* b, bool w) -> task<std::string> {
            co_return (co_await within(c, duration::seconds(1), forgets, b, w)).value_or("late");
          },
          &book, waits);
      rt.run_until_quiescent();
      ASSERT_EQ(first.handle.take(out), status::ok);
      EXPECT_TRUE(is_told(out, words));
      ASSERT_EQ(second.handle.take(out), status::ok);
      EXPECT_EQ(out.value(), "and goes on");
      ASSERT_EQ(third.handle.take(out), status::ok);
      EXPECT_TRUE(is_told(out, words));
      ASSERT_EQ(fourth.handle.take(out), status::ok);
      EXPECT_TRUE(is_told(out, words));
    }
    EXPECT_TRUE(book.is_balanced());
    before.check();
  }
}

// NOLINTBEGIN(bugprone-use-after-move, clang-analyzer-cplusplus.Move): that is what it is about.
TEST(coro_task, awaited_a_second_time_is_a_panic_and_not_a_want_of_memory) {  // law 1
  static constexpr std::string_view words = "a task was awaited that is spent";
  const auto word = [](cx) -> task<std::string> { co_return "word"; };
  runtime rt;
  const nothing_left before(rt);
  {
    outcome<std::string> out;
    auto awaits = spawn_in(rt.kernel(), rt.root(), {}, [&word](cx c) -> task<std::string> {
      auto t = word(c);
      EXPECT_EQ(co_await std::move(t), "word");
      EXPECT_FALSE(t);
      co_return co_await std::move(t);
    });
    auto attempts = spawn_in(rt.kernel(), rt.root(), {}, [&word](cx c) -> task<std::string> {
      auto t = word(c);
      const auto elsewhere = std::move(t);
      const auto how = co_await attempt(std::move(t));
      const auto here = std::source_location::current();
      EXPECT_TRUE(is_told(how, words));
      if (how.is_panicked()) {
        EXPECT_EQ(how.panic().file, here.file_name());
        EXPECT_EQ(how.panic().line + 1, here.line());
      }
      co_return "and goes on";
    });
    auto limits = spawn_in(rt.kernel(), rt.root(), {}, [&word](cx c) -> task<std::string> {
      auto t = word(c);
      EXPECT_EQ(co_await std::move(t), "word");
      const auto again = [&t](cx) { return std::move(t); };
      co_return (co_await within(c, duration::seconds(1), again)).value_or("late");
    });
    rt.run_until_quiescent();
    ASSERT_EQ(awaits.handle.take(out), status::ok);
    EXPECT_TRUE(is_told(out, words));
    ASSERT_EQ(attempts.handle.take(out), status::ok);
    EXPECT_EQ(out.value(), "and goes on");
    ASSERT_EQ(limits.handle.take(out), status::ok);
    EXPECT_TRUE(is_told(out, words));
  }
  before.check();
}
// NOLINTEND(bugprone-use-after-move, clang-analyzer-cplusplus.Move)

// A cleanup that awaits: what the cancel found is told in a mask, and the cancel counts again behind it.
TEST(coro_task, may_wait_in_a_mask_while_it_answers_a_cancel) {
  runtime rt;
  std::vector<std::string> said;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, std::vector<std::string>* log) -> task<> {
        if (!(co_await attempt(sleep(duration::hours(1)))).is_ok()) {
          EXPECT_EQ(c.mask_enter(), status::ok);
          co_await sleep(duration::seconds(1));
          log->push_back("goodbye");
          c.mask_leave();
          co_await sleep(duration::seconds(1));
          log->push_back("never");
        }
      },
      &said);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_quiescent();
  EXPECT_EQ(said, std::vector<std::string>{"goodbye"});
  EXPECT_EQ(rt.now(), instant{1'000'000'000});
  outcome<unit> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_cancelled());
}

}  // namespace
}  // namespace asx
