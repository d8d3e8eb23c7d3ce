// The inbox, the parker and signals under real threads: nothing that was said is lost, and a parked drive is woken.
// A lost wake-up would hang here. Run it under the thread sanitizer as well.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/drive_live.hpp"
#include "asx/runtime/drive_signal.hpp"
#include "asx/runtime/inbox.hpp"
#include "asx/runtime/port_park.hpp"
#include "tests/stress/deadline.hpp"

namespace {

using asx::cx;
using asx::foreign_handle;
using asx::poll_result;
using asx::status;

struct body {
  std::function<poll_result(cx&)> run;
  static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
};

asx::task_handle must_spawn(asx::runtime& rt, body& b, std::string_view name = {}) {
  asx::task_handle out;
  EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &body::poll, .context = &b, .name = name}, out), status::ok);
  return out;
}
foreign_handle must_open(asx::runtime& rt, asx::task_handle t) {
  foreign_handle out;
  EXPECT_EQ(rt.foreign(t, out), status::ok);
  return out;
}

TEST(thread_parker_stress, no_unpark_is_lost) {  // law 2 of port_park.hpp
  asx::thread_parker parker;
  std::atomic<int> sent{0};
  constexpr int rounds = 20'000;
  std::atomic<int> seen{0};
  std::thread speaker([&] {
    for (int i = 1; i <= rounds; ++i) {
      sent.store(i);
      parker.unpark();
      while (i % 64 == 0 && seen.load() < i) std::this_thread::yield();  // Now and then it must have arrived.
    }
  });
  while (seen.load() < rounds) {
    parker.park(asx::duration::max());
    seen.store(sent.load());
  }
  speaker.join();
}

// It may return earlier, for no reason, and is parked again then: once it has its time.
TEST(thread_parker_stress, returns_when_its_time_is_over) {  // law 1 of port_park.hpp
  asx::thread_parker parker;
  asx::steady_clock clock;
  const asx::stress::deadline late;
  bool has_waited = false;
  while (!has_waited && !late.is_over()) {
    const asx::instant before = clock.now();
    parker.park(asx::duration::milliseconds(20));
    has_waited = clock.now() >= before + asx::duration::milliseconds(15);
  }
  EXPECT_TRUE(has_waited) << "no park lasted as long as it was asked to";
}

TEST(inbox_stress, counts_every_word_of_many_threads) {
  // Each thread counts up before it speaks, and the last word of each must be seen: then all of them are.
  asx::live_runtime rt;
  constexpr int threads = 4;
  constexpr std::uint64_t words = 5'000;
  struct line {
    std::atomic<std::uint64_t> said{0};
    std::uint64_t heard = 0;
    body task;
  };
  std::deque<line> lines(threads);
  std::vector<std::thread> speakers;
  for (line& l : lines) {
    l.task.run = [&l](cx& c) {
      if (c.checkpoint() != status::ok) return poll_result::ready;
      l.heard = l.said.load(std::memory_order_relaxed);  // Relaxed: the inbox orders it.
      static_cast<void>(c.get_waker());
      return l.heard == words ? poll_result::ready : poll_result::pending;
    };
    const asx::task_handle t = must_spawn(*rt, l.task);
    speakers.emplace_back([&l, h = must_open(*rt, t)] {
      for (std::uint64_t i = 1; i <= words; ++i) {
        l.said.store(i, std::memory_order_relaxed);
        h.wake();
      }
    });
  }
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  for (const line& l : lines) EXPECT_EQ(l.heard, words);
  for (std::thread& s : speakers) s.join();
  rt->run_until_idle();
  EXPECT_EQ(rt->inbox().open_handles(), 0U);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

TEST(inbox_stress, a_runtime_goes_while_many_still_speak_to_it) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> speakers;
  {
    asx::live_runtime rt;
    body waits{[](cx& c) {
      if (c.checkpoint() != status::ok) return poll_result::ready;
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }};
    const asx::task_handle t = must_spawn(*rt, waits);
    for (int i = 0; i < 8; ++i) {
      speakers.emplace_back([&is_over, h = must_open(*rt, t)] {
        while (!is_over.load(std::memory_order_relaxed)) h.wake();
      });
    }
    rt->run_until_idle();
    EXPECT_TRUE(rt->shutdown().is_quiescent());
  }  // A loud crowd must not hold it up: this would hang.
  is_over.store(true);
  for (std::thread& s : speakers) s.join();
}

TEST(inbox_stress, answers_one_word_at_a_time_from_sleep) {
  // Ping-pong between a parked runtime and a thread that waits for each answer: every wake-up counts.
  asx::live_runtime rt;
  constexpr int rounds = 2'000;
  std::atomic<int> asked{0};
  std::atomic<int> answered{0};
  body b{[&](cx& c) {
    answered.store(asked.load());
    static_cast<void>(c.get_waker());
    return answered.load() == rounds ? poll_result::ready : poll_result::pending;
  }};
  const asx::task_handle t = must_spawn(*rt, b);
  std::thread speaker([&, h = must_open(*rt, t)] {
    for (int i = 1; i <= rounds; ++i) {
      asked.store(i);
      h.wake();
      while (answered.load() < i) std::this_thread::yield();
    }
  });
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  EXPECT_EQ(answered.load(), rounds);
  speaker.join();
}

TEST(inbox_stress, many_may_speak_through_one_handle) {
  asx::live_runtime rt;
  std::atomic<int> left{4};
  body b{[&](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  const asx::task_handle t = must_spawn(*rt, b);
  const foreign_handle h = must_open(*rt, t);
  std::vector<std::thread> speakers;
  for (int i = 0; i < 4; ++i) {
    speakers.emplace_back([&] {
      for (int k = 0; k < 2'000; ++k) h.wake();
      if (left.fetch_sub(1) == 1) h.cancel();
    });
  }
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  EXPECT_EQ(rt->kernel().live_tasks(), 0U);
  for (std::thread& s : speakers) s.join();
}

TEST(inbox_stress, a_handle_may_speak_while_its_runtime_goes) {  // Lifetime
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> stop{false};
    std::atomic<bool> has_begun{false};
    std::thread speaker;
    {
      asx::live_runtime rt;
      body b{[](cx& c) {
        static_cast<void>(c.get_waker());
        return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
      }};
      const asx::task_handle t = must_spawn(*rt, b);
      speaker = std::thread([&, h = must_open(*rt, t)]() mutable {
        do {
          h.wake();
          has_begun.store(true);
        } while (!stop.load());
        h.drop();
      });
      while (!has_begun.load()) std::this_thread::yield();
      rt->run_until_idle(1'000);
      EXPECT_TRUE(rt->shutdown().is_quiescent());
    }
    stop.store(true);
    speaker.join();
  }
}

TEST(signals, end_a_parked_run_in_order) {
  asx::live_runtime rt;
  const asx::signal_watch watch = asx::cancel_on_signal(*rt, {SIGTERM, SIGUSR2});
  ASSERT_TRUE(watch.is_on());
  std::atomic<bool> is_waiting{false};
  bool was_asked = false;
  body b{[&](cx& c) {
    if (c.checkpoint() != status::ok) {
      was_asked = true;
      return poll_result::ready;
    }
    static_cast<void>(c.get_waker());
    is_waiting.store(true);
    return poll_result::pending;
  }};
  const foreign_handle keeps_it_up = must_open(*rt, must_spawn(*rt, b));
  std::thread killer([&] {
    while (!is_waiting.load()) std::this_thread::yield();
#if defined(__SANITIZE_THREAD__)
    raise(SIGTERM);  // The sanitizer puts a handler off until its thread makes a call that it knows.
#else
    kill(getpid(), SIGTERM);
#endif
  });
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  killer.join();
  EXPECT_TRUE(was_asked);
  EXPECT_TRUE(rt->kernel().is_shutting_down());
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

TEST(signals, are_watched_once_and_come_back_when_the_watch_goes) {
  asx::live_runtime rt;
  {
    const asx::signal_watch first = asx::list_tasks_on_signal(*rt, {SIGUSR1});
    EXPECT_TRUE(first.is_on());
    const asx::signal_watch second = asx::cancel_on_signal(*rt, {SIGUSR2, SIGUSR1});
    EXPECT_FALSE(second.is_on());
    EXPECT_EQ(second.code(), status::invalid_argument);
    const asx::signal_watch third = asx::cancel_on_signal(*rt, {SIGUSR2});
    EXPECT_TRUE(third.is_on()) << "what was refused has changed nothing";
  }
  const asx::signal_watch never = asx::cancel_on_signal(*rt, {SIGKILL});
  EXPECT_EQ(never.code(), status::invalid_argument);
  struct sigaction now{};
  sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(signals, list_the_tasks_of_a_parked_run) {
  asx::live_runtime rt;
  const asx::signal_watch watch = asx::list_tasks_on_signal(*rt, {SIGUSR1});
  ASSERT_TRUE(watch.is_on());
  body b{[&](cx& c) {
    static_cast<void>(c.get_waker());
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  const asx::task_handle t = must_spawn(*rt, b, "patient");
  rt->run_until_idle();
  const std::uint64_t before = rt->journal().seq();
  ::testing::internal::CaptureStderr();
  raise(SIGUSR1);
  rt->step();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("task 1 'patient'  running, waits for a wake"), std::string::npos) << said;
  EXPECT_EQ(rt->journal().seq(), before) << "looking is no event";
  EXPECT_EQ(rt->kernel().request_cancel(t, {}), status::ok);
  rt->run_until_idle();
}

TEST(signals, name_the_line_where_a_coroutine_waits) {
  asx::live_runtime rt;
  const asx::signal_watch watch = asx::list_tasks_on_signal(*rt, {SIGUSR1});
  ASSERT_TRUE(watch.is_on());
  std::uint32_t line = 0;
  auto made = asx::spawn_in(rt->kernel(), rt->root(), {.name = "patient"}, [&line](cx) -> asx::task<> {
    line = std::source_location::current().line() + 1;
    co_await asx::sleep(asx::duration::hours(1));
  });
  rt->run_until_idle();
  ::testing::internal::CaptureStderr();
  raise(SIGUSR1);
  rt->step();
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string wanted = " at inbox_stress.cpp:" + std::to_string(line) + "  polls 1";
  EXPECT_NE(said.find("task 1 'patient'  running, waits for timer"), std::string::npos) << said;
  EXPECT_NE(said.find(wanted), std::string::npos) << wanted << " is not in " << said;
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt->run_until_idle();
}

}  // namespace
