// Values from elsewhere, on one thread: kept, dropped, abandoned, refused. Threads: tests/stress/foreign_stress.cpp.
#include "asx/coro/foreign.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "asx/coro/chan.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;

// A task that waits for a value, and the promise of it.
struct waiting {
  foreign_promise<std::unique_ptr<int>> promise;
  int got = 0;
  status code = status::ok;
  task<> run(cx c) {
    auto made = foreign_value<std::unique_ptr<int>>(c);
    EXPECT_EQ(made.code, status::ok);
    promise = std::move(made.promise);
    auto answer = co_await attempt(std::move(made.future));
    code = answer.code;
    if (answer.is_ok()) got = **answer.value;
  }
};

TEST(coro_foreign, gives_the_value_once_it_was_set) {  // law 1
  waiting w;
  runtime rt;
  const nothing_left before(rt);
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&w](cx c) { return w.run(c); });
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().foreign_holds(), 1U);
  w.promise.set(std::make_unique<int>(42));
  EXPECT_TRUE(w.promise.is_null());
  w.promise.set(std::make_unique<int>(43));
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(w.got, 42);
  EXPECT_EQ(rt.kernel().foreign_holds(), 0U);
  EXPECT_EQ(rt.inbox().open_handles(), 0U);
  made.handle.drop();
  before.check();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(coro_foreign, ends_with_disconnected_when_the_promise_is_dropped) {  // law 2
  waiting w;
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&w](cx c) { return w.run(c); });
  rt.run_until_idle();
  w.promise = {};
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(w.code, status::disconnected);
}

TEST(coro_foreign, lets_go_when_it_is_cancelled_and_what_comes_later_harms_nobody) {  // law 3
  waiting w;
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&w](cx c) { return w.run(c); });
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(w.code, status::cancelled);
  EXPECT_EQ(rt.kernel().foreign_holds(), 0U) << "nobody waits any more (law 4)";
  w.promise.set(std::make_unique<int>(1));
  rt.run_until_idle();
  EXPECT_EQ(rt.inbox().open_handles(), 0U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(coro_foreign, gives_a_value_that_was_there_before_the_cancel) {  // law 3, R-351
  waiting w;
  runtime rt;
  const nothing_left before(rt);
  status next = status::ok;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
    co_await w.run(c);
    next = (co_await attempt(sleep(duration::seconds(1)))).code;
  });
  rt.run_until_idle();
  w.promise.set(std::make_unique<int>(42));
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(w.code, status::ok);
  EXPECT_EQ(w.got, 42);
  EXPECT_EQ(next, status::cancelled);
  made.handle.drop();
  before.check();
  expect_legal(rt);
}

TEST(coro_foreign, that_was_dropped_is_nothing_to_a_cancelled_task) {  // law 3
  waiting w;
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&w](cx c) { return w.run(c); });
  rt.run_until_idle();
  w.promise = {};
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.code, status::cancelled);
}

TEST(coro_foreign, that_is_there_goes_before_what_is_only_ready) {  // law 3, R-351
  runtime rt;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<> {
    auto [code, tx, rx] = channel<int>(c, 1);
    EXPECT_EQ(tx.try_send(7).code, status::ok);
    auto pair = foreign_value<int>(c);
    pair.promise.set(1);
    co_await yield();  // It is taken in.
    const auto got = co_await select(recv(rx), std::move(pair.future));
    EXPECT_EQ(got.index(), 1U);
    EXPECT_EQ(rx.try_recv().value, 7) << "and a message can wait";
  });
  rt.run_until_quiescent();
  EXPECT_TRUE(made.handle.is_done());
}

TEST(coro_foreign, that_lost_a_select_by_its_name_is_awaited_again) {  // law 6
  runtime rt;
  foreign_promise<std::unique_ptr<int>> late;
  int got = 0;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
    auto [code, tx, never] = channel<int>(c, 1);
    auto pair = foreign_value<std::unique_ptr<int>>(c);
    late = std::move(pair.promise);
    const auto first = co_await select(std::ref(pair.future), sleep(duration::seconds(1)));
    EXPECT_EQ(first.index(), 1U);
    EXPECT_FALSE(pair.future.is_null());
    auto second = co_await select(recv(never), std::ref(pair.future));
    EXPECT_EQ(second.index(), 1U);
    if (second.index() == 1) got = *std::get<1>(second);
    EXPECT_EQ((co_await attempt(std::move(pair.future))).code, status::disconnected) << "there is no second one";
  });
  rt.run_until_quiescent();
  EXPECT_FALSE(made.handle.is_done());
  late.set(std::make_unique<int>(5));
  rt.run_until_idle();
  EXPECT_EQ(got, 5);
  EXPECT_TRUE(made.handle.is_done());
}

TEST(coro_foreign, may_lose_a_select) {
  runtime rt;
  foreign_promise<int> late;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&late](cx c) -> task<> {
    auto pair = foreign_value<int>(c);
    late = std::move(pair.promise);
    const auto got = co_await select(std::move(pair.future), sleep(duration::seconds(1)));
    EXPECT_EQ(got.index(), 1U);
  });
  rt.run_until_quiescent();
  EXPECT_TRUE(made.handle.is_done());
  late.set(1);
  rt.run_until_idle();
}

TEST(coro_foreign, may_be_kept_after_the_runtime_is_gone) {
  waiting w;
  {
    runtime rt;
    auto made = spawn_in(rt.kernel(), rt.root(), {}, [&w](cx c) { return w.run(c); });
    rt.run_until_idle();
    made.handle.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
  w.promise.set(std::make_unique<int>(7));
  EXPECT_EQ(w.got, 0);
}

// Law 5: whoever plays the library in a test is a task.
LAB_TEST(coro_foreign, comes_at_once_from_a_task_of_the_same_run_before_time_moves) {
  const auto library = [](cx own, foreign_promise<int> p, duration after, bool is_kept) -> task<> {
    if (after.ns != 0) co_await sleep(after);
    if (is_kept) p.set(static_cast<int>(own.now().ns / 1'000'000));
  };
  for (const std::uint64_t after : {0U, 3U}) {
    for (const bool is_kept : {true, false}) {
      auto made = foreign_value<int>(c);
      EXPECT_EQ(made.code, status::ok);
      const auto began = c.now();
      const auto s = spawn(c, library, std::move(made.promise), duration::milliseconds(after), is_kept);
      EXPECT_EQ(s.code, status::ok);
      const auto timer = spawn(c, [](cx) -> task<> { co_await sleep(duration{1}); });
      const auto got = co_await attempt(std::move(made.future));
      EXPECT_EQ(got.code, is_kept ? status::ok : status::disconnected);
      EXPECT_EQ(c.now(), began + duration::milliseconds(after)) << "no jump came in between";
    }
  }
}

TEST(coro_foreign, takes_in_what_came_before_it_was_awaited_and_between_two_runs) {  // law 5
  runtime rt;
  foreign_promise<int> later;
  int sum = 0;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
    auto early = foreign_value<int>(c);
    early.promise.set(1);
    sum += co_await std::move(early.future);
    auto late = foreign_value<int>(c);
    later = std::move(late.promise);
    sum += co_await std::move(late.future);
  });
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok) << "virtual time waits for nobody";
  EXPECT_FALSE(made.handle.is_done());
  EXPECT_EQ(sum, 1);
  later.set(20);
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(sum, 21);
}

TEST(coro_foreign, is_named_when_the_lab_ends_with_a_promise_outside) {  // law 5
  foreign_promise<int> outside;
  const lab_result r = explore({.seeds = 1}, [&outside](cx c) -> task<> {
    auto made = foreign_value<int>(c);
    outside = std::move(made.promise);
    static_cast<void>(co_await std::move(made.future));
  });
  EXPECT_NE(r.finding.find("blocked for ever"), std::string::npos) << r.finding;
  EXPECT_NE(r.finding.find("virtual time waits for no thread (R-281)"), std::string::npos) << r.finding;
}

TEST(coro_foreign, is_refused_when_no_handle_is_left) {
  runtime_config config;
  config.max_foreign = 1;
  runtime rt(config);
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<> {
    auto first = foreign_value<int>(c);
    auto second = foreign_value<int>(c);
    EXPECT_EQ(second.code, status::resource_exhausted);
    EXPECT_TRUE(second.promise.is_null());
    first.promise.set(3);
    EXPECT_EQ(co_await std::move(first.future), 3);
  });
  rt.run_until_quiescent();
  EXPECT_TRUE(made.handle.is_done());
}

}  // namespace
}  // namespace asx
