// Coroutines as tasks: what lives how long, what a handle sees, and what a refusal leaves.
#include "asx/coro/spawn.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::counting_memory;
using testing::expect_legal;
using testing::life;
using testing::must_create;
using testing::nothing_left;

TEST(coro_spawn, keeps_captures_and_arguments_of_a_scope_that_is_gone) {
  runtime rt;
  book_of_lives book;
  std::string said;
  join_handle<std::size_t> handle;
  {
    auto worker = [text = std::make_unique<std::string>("captured"), own = life(book, 2)](
                      cx, const std::string& word, life&& held, std::string* to) -> task<std::size_t> {
      co_await sleep(duration::milliseconds(5));
      *to = *text + " " + word + " " + std::to_string(held.number() + own.number());
      co_return to->size();
    };
    auto made = spawn_in(rt.kernel(), rt.root(), {}, std::move(worker),
                         std::string("a word that does not fit into a short string"), life(book, 40), &said);
    ASSERT_EQ(made.code, status::ok);
    handle = std::move(made.handle);
  }
  EXPECT_EQ(book.alive, (std::vector<int>{2, 40}));
  rt.run_until_quiescent();
  EXPECT_EQ(said, "captured a word that does not fit into a short string 42");
  EXPECT_TRUE(book.is_balanced()) << "function and arguments went with the task, not with the handle";
  outcome<std::size_t> out;
  ASSERT_EQ(handle.take(out), status::ok);
  EXPECT_EQ(out.value(), said.size());
}

// What would refer to a text that is gone before the task runs is told apart from what refers to the task's own copy.
using reads_fn = task<> (*)(cx, const std::string&);
inline constexpr auto reads_too = [](cx, const std::string&, int&&) -> task<> { co_return; };
using reads_too_fn = std::remove_const_t<decltype(reads_too)>;
inline constexpr auto takes = [](cx, std::string, std::string_view) -> task<> { co_return; };
inline constexpr auto counts = [](cx, const std::string&, int = 3) -> task<> { co_return; };
static_assert(detail::call_of<reads_fn, std::string>::is_safe);
static_assert(detail::call_of<std::remove_const_t<decltype(counts)>, std::string>::is_safe);
static_assert(!detail::call_of<reads_fn, const char*>::is_safe);
static_assert(detail::call_of<reads_too_fn, std::string, int>::is_safe);
static_assert(!detail::call_of<reads_too_fn, std::string, long>::is_safe);
static_assert(!detail::call_of<reads_too_fn, const char*, int>::is_safe);
static_assert(detail::call_of<reads_fn, std::reference_wrapper<std::string>>::is_safe);
static_assert(detail::call_of<std::remove_const_t<decltype(takes)>, const char*, std::string>::is_safe);

// Nor does it slip through because of what the function is wrapped in, or of what else is said of it.
struct often {
  task<> operator()(cx, const std::string&) & { co_return; }
};
struct often_const {
  task<> operator()(cx, const std::string&) const& { co_return; }
};
inline constexpr auto quiet = [](cx, const std::string&) noexcept -> task<> { co_return; };
inline constexpr auto changes = [](cx, const std::string&) mutable noexcept -> task<> { co_return; };
template <class F>
inline constexpr bool is_told = detail::call_of<F, std::string>::is_safe && !detail::call_of<F, const char*>::is_safe;
static_assert(is_told<task<> (*)(cx, const std::string&) noexcept>);
static_assert(is_told<moved_value<reads_fn>> && is_told<std::reference_wrapper<task<>(cx, const std::string&)>>);
static_assert(is_told<often> && is_told<often_const> && is_told<moved_value<often>>);
static_assert(is_told<std::remove_const_t<decltype(changes)>>);
static_assert(is_told<std::remove_const_t<decltype(quiet)>> && is_told<std::reference_wrapper<decltype(quiet)>>);

// A default is made for the call, too; with an argument in its place it is the task's own copy.
inline constexpr auto greets = [](cx, int, const std::string& = "a text that is made for the call") -> task<> {
  co_return;
};
using greets_fn = std::remove_const_t<decltype(greets)>;
static_assert(!detail::call_of<greets_fn, int>::is_safe && !detail::call_of<moved_value<greets_fn>, int>::is_safe);
static_assert(detail::call_of<greets_fn, int, std::string>::is_safe);
static_assert(!detail::call_of<std::remove_const_t<decltype(counts)>, const char*>::is_safe);

// A parameter that is made from its argument may refer to it, although it is no reference.
TEST(coro_spawn, keeps_what_a_view_or_a_weak_pointer_was_made_from) {
  runtime rt;
  std::string said;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, std::string_view word, std::span<const int> numbers, std::weak_ptr<int> weak,
         std::string* to) -> task<std::size_t> {
        co_await sleep(duration::milliseconds(5));
        *to = std::string(word) + " " + std::to_string(numbers.back()) + " " + std::to_string(weak.expired() ? 0 : 1);
        co_return numbers.size();
      },
      std::string("a word that does not fit into a short string"), std::vector<int>(1000, 7), std::make_shared<int>(4),
      &said);
  ASSERT_EQ(made.code, status::ok);
  rt.run_until_quiescent();
  EXPECT_EQ(said, "a word that does not fit into a short string 7 1");
}

TEST(coro_spawn, destroys_the_frame_before_the_arguments_it_may_refer_to) {
  runtime rt;
  book_of_lives book;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, const life&, book_of_lives* b) -> task<> {
        const life local(*b, 2);
        co_await yield();
      },
      life(book, 1), &book);
  rt.run_until_quiescent();
  EXPECT_EQ(book.deaths, (std::vector<int>{2, 1}));
  EXPECT_TRUE(made.handle.is_done());
}

task<int> ends_by(cx c, int how) {
  if (how == 1) co_await fail(status::corrupt, 5);
  if (how == 2) co_await sleep(duration::hours(1));
  if (how == 3) c.panic("enough");
  co_return 9;
}

TEST(coro_spawn, hands_over_each_kind_of_outcome_and_the_value_once) {
  runtime rt;
  const auto judge = [](cx c) -> task<int> {
    std::vector<join_handle<int>> handles;
    for (int i = 0; i < 4; ++i) handles.push_back(spawn(c, ends_by, i).handle);
    co_await yield();
    EXPECT_EQ(handles[2].cancel({cancel_kind::race_lost, "too slow"}), status::ok);
    EXPECT_EQ((co_await join(handles[0])).value(), 9);
    EXPECT_FALSE((co_await join(handles[0])).has_value()) << "it was moved out";
    const auto err = co_await join(handles[1]);
    EXPECT_EQ(err.error(), (error{status::corrupt, 5}));
    const auto cancelled = co_await join(handles[2]);
    EXPECT_EQ(cancelled.reason().kind, cancel_kind::race_lost);
    EXPECT_EQ(cancelled.reason().message, "too slow");
    const auto panicked = co_await join(handles[3]);
    EXPECT_TRUE(panicked.is_panicked());
    if (panicked.is_panicked()) {
      EXPECT_EQ(panicked.panic().text, "enough");
    }
    co_return 1;
  };
  EXPECT_EQ(testing::outcome_of(rt, judge).value(), 1);
  expect_legal(rt);
}

TEST(coro_spawn, waits_for_who_is_joined_and_is_cancelled_while_it_waits_without_cancelling_it) {
  runtime rt;
  auto worker = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<int> {
    co_await sleep(duration::seconds(1));
    co_return 3;
  });
  const auto waits = [](cx, join_handle<int>* h) -> task<int> { co_return (co_await join(*h)).value(); };
  auto first = spawn_in(rt.kernel(), rt.root(), {}, waits, &worker.handle);
  rt.run_until_idle();
  EXPECT_FALSE(first.handle.is_done());
  outcome<int> out;
  EXPECT_EQ(first.handle.take(out), status::tasks_still_active);
  EXPECT_EQ(first.handle.cancel(), status::ok);
  rt.run_until_idle();
  ASSERT_EQ(first.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_cancelled());
  auto second = spawn_in(rt.kernel(), rt.root(), {}, waits, &worker.handle);
  rt.run_until_quiescent();
  ASSERT_EQ(second.handle.take(out), status::ok);
  EXPECT_EQ(out.value(), 3);
}

TEST(coro_spawn, goes_on_without_its_handle_and_gives_everything_back) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  int ended = 0;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, life, int* n) -> task<int> {
          co_await sleep(duration::milliseconds(1));
          ++*n;
          co_return 5;
        },
        life(book, 1), &ended);
    made.handle.drop();
    EXPECT_TRUE(made.handle.is_null());
    EXPECT_EQ(made.handle.cancel(), status::stale_handle);
    outcome<int> out;
    EXPECT_EQ(made.handle.take(out), status::stale_handle);
  }
  rt.run_until_quiescent();
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(book.is_balanced());
  before.check();
}

TEST(coro_spawn, keeps_the_result_for_a_handle_that_outlives_the_region) {
  runtime rt;
  const region_handle region = must_create(rt, rt.root());
  auto made =
      spawn_in(rt.kernel(), region, {}, [](cx) -> task<std::string> { co_return "kept as long as the handle"; });
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  outcome<std::string> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_EQ(out.value(), "kept as long as the handle");
}

TEST(coro_spawn, may_own_the_handle_of_itself) {
  runtime rt;
  const nothing_left before(rt);
  for (const bool is_forced : {false, true}) {
    struct place {
      join_handle<int> handle;
    };
    auto home = std::make_shared<place>();
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, std::shared_ptr<place> p) -> task<int> {
          co_await sleep(duration::milliseconds(1));
          const auto self = co_await attempt(join(p->handle));
          EXPECT_EQ(self.code, status::invalid_argument) << "nobody can wait for itself";
          co_return 1;
        },
        home);
    ASSERT_EQ(made.code, status::ok);
    const task_handle t = made.handle.task();
    home->handle = std::move(made.handle);
    home.reset();
    rt.run_until_idle();
    if (is_forced) {
      EXPECT_EQ(rt.kernel().complete(t, task_outcome::err({status::corrupt, 0})), status::ok);
    }
    rt.run_until_quiescent();
    before.check();
  }
}

TEST(coro_spawn, ends_with_err_when_it_joins_itself_and_does_not_attempt_it) {
  runtime rt;
  join_handle<void> handle;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {}, [](cx, join_handle<void>* own) -> task<> { static_cast<void>(co_await join(*own)); },
      &handle);
  handle = std::move(made.handle);
  rt.run_until_quiescent();
  outcome<unit> out;
  ASSERT_EQ(handle.take(out), status::ok);
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::invalid_argument);
}

TEST(coro_spawn, refused_starts_nothing_and_destroys_function_and_arguments_once) {
  book_of_lives book;
  int started = 0;
  const auto try_in = [&](runtime& rt, region_handle region) {
    auto made = spawn_in(
        rt.kernel(), region, {},
        [own = life(book, 1)](cx, life, int* n) -> task<> {
          ++*n;
          co_return;
        },
        life(book, 2), &started);
    EXPECT_TRUE(made.handle.is_null() == (made.code != status::ok));
    rt.run_until_quiescent();
    EXPECT_TRUE(book.is_balanced());
    return made.code;
  };
  {
    runtime rt;
    const region_handle region = must_create(rt, rt.root());
    auto stays = spawn_in(rt.kernel(), region, {}, [](cx c) -> task<> {
      EXPECT_EQ(c.mask_enter(), status::ok);
      co_await sleep(duration::seconds(1));
    });
    ASSERT_EQ(rt.kernel().close(region), status::ok);
    const std::uint64_t used = rt.kernel().nominal_used();
    const std::uint64_t state = rt.kernel().state_hash();
    auto made =
        spawn_in(rt.kernel(), region, {}, [own = life(book, 1)](cx, life) -> task<> { co_return; }, life(book, 2));
    EXPECT_EQ(made.code, status::region_not_open);
    EXPECT_TRUE(book.is_balanced());
    EXPECT_EQ(rt.kernel().nominal_used(), used);
    EXPECT_EQ(rt.kernel().state_hash(), state);
    rt.run_until_quiescent();
    region_report r;
    ASSERT_EQ(rt.kernel().inspect(region, r), status::ok);
    EXPECT_EQ(r.state, region_state::closed) << r.live_tasks;
    EXPECT_EQ(try_in(rt, region), status::region_not_open);
    EXPECT_EQ(rt.kernel().release_region(region), status::ok);
    EXPECT_EQ(try_in(rt, region), status::stale_handle);
  }
  {
    runtime_config config;
    config.contract.max_tasks = 1;
    runtime rt(config);
    auto one = spawn_in(rt.kernel(), rt.root(), {}, [](cx) -> task<> { co_await sleep(duration::seconds(1)); });
    rt.run_until_idle();
    auto two = spawn_in(rt.kernel(), rt.root(), {}, [](cx, life) -> task<> { co_return; }, life(book, 3));
    EXPECT_EQ(two.code, status::resource_exhausted);
    EXPECT_TRUE(book.is_balanced());
  }
  EXPECT_EQ(started, 0);
  {
    runtime rt;
    EXPECT_EQ(try_in(rt, rt.root()), status::ok);
    EXPECT_EQ(started, 1);
  }
}

TEST(coro_spawn, refused_at_any_byte_or_request_leaves_the_runtime_as_it_was) {
  int refused = 0;
  for (std::size_t k = 0;; ++k) {
    counting_memory memory;
    runtime_config config;
    config.memory = memory.port();
    config.journaling = journal_mode::off;
    runtime rt(config);
    memory.refuse_from = memory.requests() + k;
    memory.refuse_to = memory.refuse_from + 1;
    book_of_lives book;
    const nothing_left before(rt);
    {
      auto made = spawn_in(
          rt.kernel(), rt.root(), {}, [own = life(book, 1)](cx, life, const life&) -> task<> { co_return; },
          life(book, 2), life(book, 3));
      if (memory.requests() <= memory.refuse_from) {
        EXPECT_EQ(made.code, status::ok);
        rt.run_until_quiescent();
        break;
      }
      EXPECT_EQ(made.code, status::resource_exhausted);
      EXPECT_TRUE(book.is_balanced());
      ++refused;
    }
    before.check();
  }
  EXPECT_GE(refused, 3) << "record, body and frame";
}

TEST(coro_spawn, ended_from_outside_destroys_its_frame_once_and_tells_who_waits) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, life, book_of_lives* b) -> task<int> {
          const life local(*b, 2);
          co_await sleep(duration::hours(1));
          co_return 1;
        },
        life(book, 1), &book);
    auto joins = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, join_handle<int>* h) -> task<bool> { co_return (co_await join(*h)).has_value(); }, &made.handle);
    rt.run_until_idle();
    EXPECT_EQ(rt.kernel().complete(made.handle.task(), task_outcome::ok()), status::ok);
    EXPECT_TRUE(book.is_balanced());
    EXPECT_EQ(book.deaths, (std::vector<int>{2, 1}));
    EXPECT_EQ(rt.kernel().live_timers(), 0U);
    rt.run_until_quiescent();
    outcome<bool> out;
    ASSERT_EQ(joins.handle.take(out), status::ok);
    EXPECT_FALSE(out.value()) << "ok, and nothing to hand over";
    EXPECT_EQ(rt.now(), instant{});
  }
  before.check();
}

TEST(coro_spawn, forced_to_end_destroys_its_frame_once) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  std::uint64_t polls = 0;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, life, book_of_lives* b, std::uint64_t* n) -> task<> {
          const life local(*b, 2);
          static_cast<void>(co_await attempt(sleep(duration::hours(1))));
          EXPECT_EQ(c.mask_enter(), status::ok);
          for (;;) {
            const life turn(*b, 3);
            co_await sleep(duration::seconds(1));
            ++*n;
          }
        },
        life(book, 1), &book, &polls);
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel({cancel_kind::shutdown, {}}), status::ok);
    rt.run_until_quiescent();
    outcome<unit> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    ASSERT_TRUE(out.is_cancelled());
    EXPECT_TRUE(out.cancelled_by().cleanup_budget_exceeded);
    EXPECT_EQ(polls, info(cancel_kind::shutdown).cleanup_quota);
  }
  EXPECT_TRUE(book.is_balanced());
  EXPECT_EQ(book.out_of_order, 0);
  before.check();
  expect_legal(rt);
}

// panic from a destructor while a cancelled coroutine unwinds.
TEST(coro_spawn, panics_when_a_destructor_says_so_while_it_is_cancelled) {
  struct panics_last {
    explicit panics_last(cx at) : c(at) {}
    ~panics_last() { c.panic("in a destructor"); }
    cx c;
  };
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<> {
    const panics_last last(c);
    co_await sleep(duration::hours(1));
  });
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_quiescent();
  outcome<unit> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  ASSERT_TRUE(out.is_panicked()) << name(out.kind());
  EXPECT_EQ(out.panic().text, "in a destructor");
}

TEST(coro_spawn, shows_in_the_tree_what_a_task_waits_for) {
  runtime rt;
  auto sleeper =
      spawn_in(rt.kernel(), rt.root(), {.name = "sleeper"}, [](cx) -> task<> { co_await sleep(duration::seconds(1)); });
  auto waits = spawn_in(
      rt.kernel(), rt.root(), {.name = "waits"},
      [](cx, join_handle<void>* h) -> task<> { static_cast<void>(co_await join(*h)); }, &sleeper.handle);
  rt.run_until_idle();
  const std::string tree = describe_tree(rt.kernel());
  EXPECT_NE(tree.find("task 1 'sleeper'  running, waits for timer 1"), std::string::npos) << tree;
  EXPECT_NE(tree.find("task 2 'waits'  running, waits for the end of task 1"), std::string::npos) << tree;
  rt.run_until_quiescent();
}

// A value of options, and not a name of one: the form that explains mistakes must not take it for a function.
TEST(coro_start, takes_options_that_were_just_made) {
  runtime rt;
  const auto options = [] { return spawn_options{.name = "made", .priority = 7}; };
  int ran = 0;
  const auto child = [](cx c, int* times) -> task<> {
    EXPECT_NE(describe_tasks(c.kernel()).find("made"), std::string::npos);
    ++*times;
    co_return;
  };
  const auto parent = [&](cx c) -> task<> {
    auto started = co_await start(c, options(), child, &ran);
    EXPECT_EQ((co_await join(started)).kind(), outcome_kind::ok);
    auto spawned = spawn(c, options(), child, &ran);
    EXPECT_EQ(spawned.code, status::ok);
    EXPECT_EQ((co_await join(spawned.handle)).kind(), outcome_kind::ok);
  };
  ASSERT_EQ(spawn_in(rt.kernel(), rt.root(), {}, parent).code, status::ok);
  rt.run_until_quiescent();
  EXPECT_EQ(ran, 2);
}

TEST(coro_start, takes_options_and_ends_the_coroutine_when_it_is_refused) {
  runtime_config config;
  config.contract.max_tasks = 2;
  runtime rt(config);
  const nothing_left before(rt);
  std::string tree;
  bool has_gone_on = false;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, std::string* seen, bool* on) -> task<> {
          const auto idle = [](cx) -> task<> { co_await sleep(duration::seconds(1)); };
          auto first = co_await start(c, {.name = "helper", .priority = 7}, idle);
          *seen = describe_tree(c.kernel());
          auto second = co_await start(c, {.name = "one too many"}, idle);
          *on = true;
        },
        &tree, &has_gone_on);
    rt.run_until_quiescent();
    outcome<unit> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    ASSERT_TRUE(out.is_err());
    EXPECT_EQ(out.error().code, status::resource_exhausted);
  }
  EXPECT_NE(tree.find("'helper'"), std::string::npos) << tree;
  EXPECT_NE(tree.find("spawn_test.cpp"), std::string::npos) << "the place is the caller's\n" << tree;
  EXPECT_FALSE(has_gone_on);
  before.check();
}

TEST(coro_spawn, a_task_knows_its_name) {
  runtime rt;
  std::string called = "nothing";
  std::string uncalled = "nothing";
  const auto says = [](cx c, std::string* out) -> task<> {
    *out = c.name();
    co_return;
  };
  EXPECT_EQ(spawn_in(rt.kernel(), rt.root(), {.name = "parser"}, says, &called).code, status::ok);
  EXPECT_EQ(spawn_in(rt.kernel(), rt.root(), {}, says, &uncalled).code, status::ok);
  rt.run_until_quiescent();
  EXPECT_EQ(called, "parser");
  EXPECT_EQ(uncalled, "");
}

}  // namespace
}  // namespace asx
