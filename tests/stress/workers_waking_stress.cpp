// Who of many workers is woken, and who is let in: a foreign handle wakes one of those who sleep, another one is there
// while that one is busy, and threads that call in a loop do not keep workers out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "asx/base/favoured_lock.hpp"
#include "asx/runtime/drive_workers.hpp"
#include "asx/runtime/inbox.hpp"
#include "asx/runtime/testing/program.hpp"
#include "tests/stress/workers.hpp"

namespace asx {
namespace {

using stress::config_of;
using stress::hang_guard;
using testing::body;
using testing::must_spawn;

// How often threads of this process went to sleep, this one left out.
std::uint64_t sleeps_of_others() {
  return stress::look_at_those_since({std::to_string(gettid())}).sleeps;
}

void let_everybody_sleep() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
void wait_for(const std::atomic<int>& word, int value) {
  while (word.load() < value) std::this_thread::yield();
}

// Waits to be woken, `times` times.
body hears(std::atomic<int>& heard, int times) {
  return {[&heard, times](cx& c) {
    static_cast<void>(c.get_waker());
    return heard.fetch_add(1) == times ? poll_result::ready : poll_result::pending;
  }};
}

TEST(workers_waking_stress, a_foreign_handle_wakes_one_worker_and_not_all) {
  if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "nobody counts how often threads sleep";
  constexpr int rings = 100;
  threaded_runtime rt({.workers = 8}, config_of(journal_mode::off));
  const hang_guard guard(rt);
  std::atomic<int> heard{0};
  std::atomic<bool> is_over{false};
  body listener{[&](cx& c) {
    static_cast<void>(c.get_waker());
    heard.fetch_add(1);
    return is_over.load() ? poll_result::ready : poll_result::pending;
  }};
  const task_handle t = must_spawn(*rt, rt->root(), listener, {}, false);
  foreign_handle h;
  ASSERT_EQ(rt->foreign(t, h), status::ok);
  std::thread runs([&] { EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok); });
  wait_for(heard, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // One goes to sleep again after each ring; a herd of eight would do so eight times as often, each time. While the
  // machine keeps whoever polls from going on, who looks around once a millisecond sleeps as often: it is tried again.
  const stress::deadline late;
  std::uint64_t slept = UINT64_MAX;
  for (int said = 1; slept >= 4U * rings && !late.is_over();) {
    const std::uint64_t before = sleeps_of_others();
    for (int i = 1; i < rings; ++i, ++said) {
      h.wake();
      wait_for(heard, said + 1);
      let_everybody_sleep();
    }
    slept = sleeps_of_others() - before;
  }
  EXPECT_LT(slept, 4U * rings);
  is_over = true;
  h.wake();
  runs.join();
  h.drop();
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

TEST(workers_waking_stress, who_was_woken_and_is_busy_leaves_the_next_one_to_another) {
  for (std::uint64_t round = 0; round < stress::rounds(20) && !HasFailure(); ++round) {
    threaded_runtime rt({.workers = 3}, config_of(journal_mode::off));
    const hang_guard guard(rt);
    std::atomic<int> is_in{0};
    std::atomic<int> may_go{0};
    std::atomic<int> heard{0};
    // Stays in its second poll until the other one was heard.
    body busy{[&](cx& c) {
      static_cast<void>(c.get_waker());
      if (is_in.fetch_add(1) == 0) return poll_result::pending;
      wait_for(may_go, 1);
      return poll_result::ready;
    }};
    body listener = hears(heard, 1);
    const task_handle first = must_spawn(*rt, rt->root(), busy, {}, false);
    const task_handle second = must_spawn(*rt, rt->root(), listener, {}, false);
    foreign_handle to_first;
    foreign_handle to_second;
    ASSERT_EQ(rt->foreign(first, to_first), status::ok);
    ASSERT_EQ(rt->foreign(second, to_second), status::ok);
    std::thread runs([&] { EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok); });
    wait_for(heard, 1);
    wait_for(is_in, 1);
    if (round % 2 == 0) let_everybody_sleep();
    to_first.wake();
    wait_for(is_in, 2);
    if (round % 4 < 2) let_everybody_sleep();
    to_second.wake();
    wait_for(heard, 2);  // It hangs here if nobody else hears.
    may_go = 1;
    runs.join();
    to_first.drop();
    to_second.drop();
    EXPECT_TRUE(rt->shutdown().is_quiescent());
  }
}

void stay_for(std::chrono::microseconds long_) {
  const auto until = std::chrono::steady_clock::now() + long_;
  while (std::chrono::steady_clock::now() < until) {  // asx: bounded by the clock
  }
}

// Goal:   between two entries of workers no more than 64 of other threads pass one that waits.
// Method: three threads that are in for 20 us and come again at once; they do so before the run begins. Each counts
//         when it comes in and finds that a worker waits. The poll, which works outside for a while, begins the count
//         anew.
TEST(workers_waking_stress, threads_that_call_without_a_pause_let_workers_in) {
  for (const std::uint32_t workers : {1U, 2U}) {
    threaded_runtime rt({.workers = workers}, config_of(journal_mode::off));
    const hang_guard guard(rt);
    const favoured_lock& door = rt->kernel().gate_in_use().front.lock;
    bool is_counted = false;  // From the first poll to the last one. Written inside, as what follows.
    std::uint64_t passed = 0;
    std::uint64_t most = 0;
    std::atomic<bool> is_over{false};
    std::array<std::atomic<int>, 3> entries{};
    std::array<std::thread, entries.size()> callers;
    for (std::size_t i = 0; i < callers.size(); ++i) {
      callers[i] = std::thread([&, &mine = entries[i]] {
        while (!is_over.load()) {  // asx: bounded by the run
          const inside here(rt->kernel());
          if (is_counted && door.is_waited_for()) most = std::max(most, ++passed);
          mine.fetch_add(1);
          stay_for(std::chrono::microseconds(20));
        }
      });
    }
    for (const auto& n : entries) wait_for(n, 100);
    // Until it was passed often enough to show something: on a machine that has other things to do, many polls may go
    // by while no caller has a processor, and once is enough there.
    int waits = 0;
    const stress::deadline soon(std::chrono::seconds(10));
    const stress::deadline late(std::chrono::seconds(60));
    body works{[&](cx& c) {
      std::this_thread::yield();
      stay_for(std::chrono::microseconds(10));
      const inside here(rt->kernel());
      if (std::exchange(passed, 0) != 0) ++waits;
      is_counted = waits < 50 && !(waits == 0 ? late : soon).is_over();
      if (!is_counted) return poll_result::ready;
      c.yield();
      return poll_result::pending;
    }};
    must_spawn(*rt, rt->root(), works, {}, false);
    EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    is_over = true;
    for (std::thread& t : callers) t.join();
    EXPECT_GT(waits, 0) << "nobody had to wait: this shows nothing";
    // One worker comes in twice from one count to the next: back from its poll, and in the next one. Each time the one
    // who is in already may see that it waits, and 64 may follow. A second worker comes in between as often as it looks
    // around.
    if (workers == 1) {
      EXPECT_LE(most, 2U * (1 + 64));
    }
    EXPECT_TRUE(rt->shutdown().is_quiescent());
  }
}

}  // namespace
}  // namespace asx
