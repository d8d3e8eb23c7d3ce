// Blocking calls on real threads: values and exceptions come back, a task never ends before its call, a full queue
// refuses, and shutdown waits. Run it under the thread sanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "asx/coro/blocking.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/drive_workers.hpp"

namespace {

using asx::attempt;
using asx::blocking;
using asx::blocking_pool;
using asx::cx;
using asx::status;
using asx::task;

// A door that calls wait at until it is opened.
struct door {
  std::atomic<bool> is_open{false};
  std::atomic<int> inside{0};
  void pass() {
    inside.fetch_add(1);
    is_open.wait(false);
    inside.fetch_sub(1);
  }
  void open() {
    is_open.store(true);
    is_open.notify_all();
  }
  void await_inside(int count) const {
    while (inside.load() < count) std::this_thread::yield();
  }
};

TEST(blocking_stress, gives_every_caller_its_own_answer) {
  blocking_pool pool({.threads = 3, .queue = 1'000});
  asx::live_runtime rt;
  constexpr int calls = 400;
  std::vector<asx::join_handle<int>> all;
  for (int i = 0; i < 100; ++i) {
    auto made = asx::spawn_in(rt->kernel(), rt->root(), {}, [&pool, i](cx) -> task<int> {
      int sum = 0;
      for (int k = 0; k < calls / 100; ++k) {
        int local = i;  // The call writes into the frame.
        sum += co_await blocking(pool, [&local, k] { return local += k; });
        EXPECT_EQ(local, i + k);
      }
      co_return sum;
    });
    ASSERT_EQ(made.code, status::ok);
    all.push_back(std::move(made.handle));
  }
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  for (int i = 0; i < 100; ++i) {
    asx::outcome<int> out;
    ASSERT_EQ(all[static_cast<std::size_t>(i)].take(out), status::ok);
    EXPECT_EQ(out.value(), 4 * i + 6);
  }
  all.clear();
  EXPECT_LE(pool.threads(), 3U);
  EXPECT_GE(pool.threads(), 1U);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

TEST(blocking_stress, a_cancelled_task_ends_after_its_call_and_not_before) {  // law 2
  blocking_pool pool({.threads = 1});
  door d;
  asx::live_runtime rt;
  std::atomic<bool> has_returned{false};
  bool frame_saw_it = false;
  struct guard {
    bool& saw;
    std::atomic<bool>& returned;
    ~guard() { saw = returned.load(); }
  };
  auto made = asx::spawn_in(rt->kernel(), rt->root(), {}, [&](cx) -> task<> {
    const guard frame{frame_saw_it, has_returned};
    co_await blocking(pool, [&] {
      d.pass();
      has_returned.store(true);
    });
    co_await asx::checkpoint();
  });
  rt->run_until_idle();
  d.await_inside(1);
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt->run_until_idle();
  EXPECT_FALSE(made.handle.is_done());
  std::thread opener([&] { d.open(); });
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok) << "it parks for the call";
  opener.join();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_TRUE(frame_saw_it);
}

TEST(blocking_stress, a_full_queue_refuses_and_changes_nothing) {  // law 4
  blocking_pool pool({.threads = 1, .queue = 1});
  door d;
  asx::live_runtime rt;
  std::atomic<int> calls{0};
  auto call = [&](cx) -> task<> {
    co_await blocking(pool, [&] {
      calls.fetch_add(1);
      d.pass();
    });
  };
  auto first = asx::spawn_in(rt->kernel(), rt->root(), {}, call);
  rt->run_until_idle();
  d.await_inside(1);
  auto second = asx::spawn_in(rt->kernel(), rt->root(), {}, call);
  auto third = asx::spawn_in(rt->kernel(), rt->root(), {}, call);
  rt->run_until_idle();
  asx::outcome<asx::unit> out;
  ASSERT_EQ(third.handle.take(out), status::ok);
  ASSERT_TRUE(out.is_err());
  EXPECT_EQ(out.error().code, status::resource_exhausted);
  EXPECT_FALSE(second.handle.is_done());
  d.open();
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  EXPECT_EQ(calls.load(), 2);
  EXPECT_TRUE(second.handle.is_done());
}

TEST(blocking_stress, an_exception_crosses_the_threads) {  // law 5
  blocking_pool pool;
  const auto out = asx::run([&pool](cx) -> task<int> {
    co_return co_await blocking(pool, []() -> int { throw std::runtime_error("the disk is gone"); });
  });
  ASSERT_TRUE(out.result.is_panicked());
  EXPECT_NE(out.text.find("the disk is gone"), std::string::npos) << out.text;
}

TEST(blocking_stress, shutdown_waits_for_a_call_in_flight) {
  blocking_pool pool({.threads = 1});
  door d;
  std::atomic<bool> has_returned{false};
  std::thread opener;
  {
    asx::live_runtime rt;
    auto made = asx::spawn_in(rt->kernel(), rt->root(), {}, [&](cx) -> task<> {
      co_await blocking(pool, [&] {
        d.pass();
        has_returned.store(true);
      });
    });
    rt->run_until_idle();
    d.await_inside(1);
    opener = std::thread([&] { d.open(); });
    const asx::shutdown_result out = rt->shutdown(asx::duration::milliseconds(1));
    EXPECT_TRUE(out.is_quiescent()) << out.survivors;
    EXPECT_TRUE(has_returned.load());
  }
  opener.join();
}

// Ready as soon as somebody is inside.
class entered_op {
 public:
  explicit entered_op(door& d) noexcept : door_(d) {}
  status poll(cx& c) noexcept {
    if (door_.inside.load() != 0) return status::ok;
    c.yield();
    return status::would_block;
  }
  void take() const noexcept {}

 private:
  door& door_;
};

TEST(blocking_stress, one_that_is_dropped_is_waited_for) {  // law 3
  blocking_pool pool({.threads = 1, .queue = 4});
  door d;
  asx::live_runtime rt;
  auto made = asx::spawn_in(rt->kernel(), rt->root(), {}, [&](cx) -> task<> {
    int local = 0;
    auto running = blocking(pool, [&d, &local] {
      d.pass();
      local = 1;
    });
    auto waiting = blocking(pool, [] {});
    co_await asx::select(std::move(running), std::move(waiting), entered_op(d));
    EXPECT_EQ(local, 1) << "its frame was there until it had returned";
  });
  std::thread opener([&] {
    d.await_inside(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // Most often the select is over by then.
    d.open();
  });
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  opener.join();
  EXPECT_TRUE(made.handle.is_done());
}

// Goal:   a call that lost a select is waited for by its task alone, and outside: the thread that runs it may be on its
//         way in.
// Method: two workers; the function sends, which it can only do if nobody is inside, and the other task goes on.
TEST(blocking_stress, one_that_lost_a_select_holds_nobody_else_up) {  // law 3
  blocking_pool pool({.threads = 1, .queue = 4});
  door d;
  asx::threaded_runtime rt({.workers = 2});
  auto ends = asx::channel<int>(rt->kernel(), rt->root(), 4);
  std::atomic<int> turns{0};
  auto made = asx::spawn_in(rt->kernel(), rt->root(), {}, [&](cx) -> task<> {
    const auto won = co_await asx::select(blocking(pool,
                                                   [&] {
                                                     d.pass();
                                                     auto mine = ends.tx;
                                                     return mine.try_send(1).code;
                                                   }),
                                          entered_op(d));
    EXPECT_EQ(won.index(), 1U);
  });
  auto other = asx::spawn_in(rt->kernel(), rt->root(), {}, [&](cx) -> task<> {
    while (d.inside.load() == 0) co_await asx::yield();
    while (turns.fetch_add(1) < 1'000) co_await asx::yield();
    d.open();  // Nobody else does: whoever held this task up would wait for ever.
  });
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  EXPECT_TRUE(made.handle.is_done() && other.handle.is_done());
  EXPECT_EQ(ends.rx.try_recv().value, 1);
}

}  // namespace
