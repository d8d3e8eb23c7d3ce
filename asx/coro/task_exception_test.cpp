// Exceptions in coroutines: they go to whoever awaits, and one that leaves a task panics it.
#include <gtest/gtest.h>

#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include "asx/coro/chan.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::life;
using testing::nothing_left;
using testing::outcome_of;

struct no_such_order : std::runtime_error {
  using std::runtime_error::runtime_error;
};

task<int> throws(cx, book_of_lives* book, int depth_left) {
  const life here(*book, depth_left);
  co_await yield();
  throw no_such_order("order 7");
}

task<int> passes_on(cx c, book_of_lives* book, int depth_left) {
  const life here(*book, depth_left);
  if (depth_left == 0) co_return co_await throws(c, book, -1);
  const life more(*book, 100 + depth_left);
  co_return co_await passes_on(c, book, depth_left - 1);
}

TEST(coro_exceptions, reach_whoever_awaits_through_any_number_of_coroutines) {
  for (int depth = 0; depth < 6; ++depth) {
    runtime rt;
    const nothing_left before(rt);
    book_of_lives book;
    const auto out = outcome_of(
        rt,
        [](cx c, book_of_lives* b, int d) -> task<std::string> {
          std::string said;
          try {
            static_cast<void>(co_await passes_on(c, b, d));
          } catch (const no_such_order& e) {
            said = e.what();
          }
          EXPECT_TRUE(b->is_balanced());
          co_await yield();
          co_return said;
        },
        &book, depth);
    EXPECT_EQ(out.value(), "order 7");
    EXPECT_EQ(book.out_of_order, 0);
    before.check();
  }
}

TEST(coro_exceptions, that_leave_a_task_panic_it_with_type_and_text) {
  runtime rt;
  book_of_lives book;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, passes_on, &book, 2);
  rt.run_until_quiescent();
  outcome<int> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  ASSERT_TRUE(out.is_panicked());
  EXPECT_NE(out.panic().text.find("no_such_order: order 7"), std::string_view::npos) << out.panic().text;
  EXPECT_TRUE(book.is_balanced());

  auto number = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> {
    throw 42;
    co_return;
  });
  rt.run_until_quiescent();
  outcome<unit> how;
  ASSERT_EQ(number.handle.take(how), status::ok);
  ASSERT_TRUE(how.is_panicked());
  EXPECT_EQ(how.panic().text, "an exception that is no std::exception");
}

// Where something was thrown nobody knows, but where the task was spawned, and where a panic was said.
TEST(coro_exceptions, that_nobody_joined_are_told_with_the_place_of_their_task) {
  std::uint32_t line = 0;
  const auto lost = run([&line](cx c) -> task<> {
    const auto child = [](cx) -> task<> {
      co_await yield();
      throw no_such_order("order 7");
    };
    line = std::source_location::current().line() + 1;
    co_await start(c, child);
  });
  const std::string spawned =
      "order 7, in task 2, spawned at task_exception_test.cpp:" + std::to_string(line) + ", which nobody joined";
  EXPECT_NE(lost.text.find(spawned), std::string::npos) << lost.text << "\nhas not " << spawned;

  const auto said = run([&line](cx c) -> task<> {
    line = std::source_location::current().line() + 1;
    c.panic("boom");
    co_return;
  });
  EXPECT_EQ(said.text, "panicked: boom at task_exception_test.cpp:" + std::to_string(line));

  const auto thrown = run([](cx) -> task<> {
    co_await yield();
    throw no_such_order("order 7");
  });
  EXPECT_EQ(thrown.text.find(".hpp"), std::string::npos) << "no place of asx's own: " << thrown.text;
}

TEST(coro_exceptions, are_an_outcome_for_who_attempts_the_child) {
  runtime rt;
  book_of_lives book;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b) -> task<bool> {
        const outcome<int> how = co_await attempt(throws(c, b, 1));
        co_return how.is_panicked();
      },
      &book);
  EXPECT_TRUE(out.value());
  EXPECT_TRUE(book.is_balanced());
}

// Of users' own operations: a move of a value that fails, a check that does.
struct throwing_op {
  enum class when { first_poll, second_poll, take } at;
  int polls = 0;
  status poll(cx& c) {
    ++polls;
    if ((at == when::first_poll && polls == 1) || (at == when::second_poll && polls == 2)) throw no_such_order("poll");
    if (polls > 1) return status::ok;
    c.yield();
    return status::would_block;
  }
  int take() const {
    if (at == when::take) throw no_such_order("take");
    return polls;
  }
};

TEST(coro_exceptions, of_an_operation_reach_the_coroutine_that_awaits_it_whenever_they_come) {
  for (const auto at : {throwing_op::when::first_poll, throwing_op::when::second_poll, throwing_op::when::take}) {
    for (const bool is_attempted : {false, true}) {
      runtime rt;
      const nothing_left before(rt);
      book_of_lives book;
      const auto out = outcome_of(
          rt,
          [](cx, book_of_lives* b, throwing_op::when w, bool attempts) -> task<std::string> {
            const life here(*b, 1);
            std::string said = "nothing";
            try {
              if (attempts) {
                static_cast<void>(co_await attempt(throwing_op{w}));
              } else {
                static_cast<void>(co_await throwing_op{w});
              }
            } catch (const no_such_order& e) {
              said = e.what();
            }
            co_await yield();
            co_return said;
          },
          &book, at, is_attempted);
      ASSERT_TRUE(out.is_ok()) << name(out.kind());
      EXPECT_EQ(out.value(), at == throwing_op::when::take ? "take" : "poll");
      EXPECT_TRUE(book.is_balanced());
      before.check();
    }
  }
}

struct fragile {
  explicit fragile(int n) : left(n) {}
  fragile(fragile&& other) : left(other.left - 1) {
    if (left < 0) throw no_such_order("moved too often");
  }
  int left;
};

TEST(coro_exceptions, of_a_value_that_cannot_be_moved_panic_the_task_and_leak_nothing) {
  bool has_succeeded = false;
  int failures = 0;
  for (int moves = 0; !has_succeeded; ++moves) {
    ASSERT_LT(moves, 20);
    runtime rt;
    const nothing_left before(rt);
    {
      auto made = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, int n) -> task<fragile> {
            const auto child = [](cx, int nn) -> task<fragile> { co_return fragile(nn); };
            co_return co_await child(c, n);
          },
          moves);
      rt.run_until_quiescent();
      task_outcome how;
      ASSERT_EQ(rt.kernel().result(made.handle.task(), how), status::ok);
      has_succeeded = how.is_ok();
      if (!has_succeeded) {
        ++failures;
        EXPECT_TRUE(how.is_panicked());
      }
    }
    before.check();
  }
  EXPECT_GE(failures, 3);
}

TEST(coro_exceptions, of_arguments_and_functions_leave_spawn_and_start_nothing) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  const auto coroutine = [](cx, fragile, life) -> task<> { co_return; };
  int thrown = 0;
  for (int moves = 0; moves < 4; ++moves) {
    try {
      auto made = spawn_in(rt.kernel(), rt.root(), {}, coroutine, fragile(moves), life(book, moves));
      EXPECT_EQ(made.code, status::ok);
      rt.run_until_quiescent();
    } catch (const no_such_order&) {
      ++thrown;
    }
    EXPECT_TRUE(book.is_balanced());
    before.check();
  }
  EXPECT_GE(thrown, 2);
  EXPECT_LT(thrown, 4);
  const auto function = [](cx, life) -> task<> { throw no_such_order("before it began"); };
  EXPECT_THROW(static_cast<void>(spawn_in(rt.kernel(), rt.root(), {}, function, life(book, 9))), no_such_order);
  EXPECT_TRUE(book.is_balanced());
  before.check();
}

TEST(coro_exceptions, of_a_child_close_its_block_and_panic_whoever_awaits_it) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, book_of_lives* b) -> task<int> {
          const life here(*b, 1);
          co_await region(c, [b](cx r) -> task<> {
            const life body(*b, 2);
            auto child = spawn(r, throws, b, 3);
            EXPECT_EQ(child.code, status::ok);
            co_await sleep(duration::hours(1));
          });
          ADD_FAILURE() << "the block has failed";
          co_return 1;
        },
        &book);
    rt.run_until_quiescent();
    outcome<int> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    ASSERT_TRUE(out.is_panicked()) << name(out.kind());
    EXPECT_NE(out.panic().text.find("no_such_order: "), std::string_view::npos) << out.panic().text;
    EXPECT_EQ(rt.now(), instant{}) << "the body was cancelled";
  }
  EXPECT_TRUE(book.is_balanced());
  before.check();
}

TEST(coro_exceptions, never_leave_a_run) {
  const auto at_once = run([](cx) -> task<int> { throw no_such_order("no coroutine at all"); });
  ASSERT_TRUE(at_once.result.is_panicked());
  EXPECT_NE(at_once.text.find("no coroutine at all"), std::string::npos) << at_once.text;
  const auto later = run([](cx) -> task<int> {
    co_await yield();
    throw no_such_order("order 9");
  });
  ASSERT_TRUE(later.result.is_panicked());
  EXPECT_NE(later.text.find("no_such_order: order 9"), std::string::npos) << later.text;
}

// A function whose move throws, the `left`-th time that it is moved or copied.
struct short_fuse {
  explicit short_fuse(int* moves) noexcept : left(moves) {}
  short_fuse(const short_fuse& other) : left(other.left) { burn(); }
  short_fuse(short_fuse&& other) : left(other.left) { burn(); }
  short_fuse& operator=(const short_fuse&) = delete;
  short_fuse& operator=(short_fuse&&) = delete;
  ~short_fuse() = default;
  task<int> operator()(cx) const { co_return 1; }
  void burn() const {
    if (--*left == 0) throw std::runtime_error("the fuse");
  }
  int* left;
};

// Goal:   what a combinator's own work throws is the caller's panic, and no end as if nothing had been.
TEST(coro_exceptions, of_a_function_that_is_moved_into_a_combinator_are_not_lost) {
  const auto two = [](cx) -> task<int> { co_return 2; };
  for (int way = 0; way < 4; ++way) {
    int went_on = 0;
    int threw = 0;
    for (int moves = 1; moves < 12; ++moves) {
      int left = moves;
      bool is_over = false;
      const auto body = [&, way](cx c) -> task<> {
        const short_fuse one(&left);
        if (way == 0) static_cast<void>(co_await join_all(c, one, two));
        if (way == 1) static_cast<void>(co_await race(c, one, two));
        if (way == 2) static_cast<void>(co_await first_ok(c, one, two));
        if (way == 3) static_cast<void>(co_await quorum(c, 2, one, two));
        is_over = true;
      };
      runtime rt;
      const auto how = run_in(rt, body);
      (is_over ? went_on : threw) += 1;
      EXPECT_EQ(how.is_ok(), is_over) << "way " << way << ", move " << moves;
      if (!is_over) {
        EXPECT_TRUE(how.result.is_panicked()) << "way " << way << ", move " << moves << ": " << how.text;
      }
    }
    EXPECT_GT(threw, 0) << way;
    EXPECT_GT(went_on, 0) << way;
  }
}

}  // namespace
}  // namespace asx
