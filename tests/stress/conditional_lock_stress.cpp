// Laws 2 and 3 of asx/base/conditional_lock.hpp under real threads. Run it under the thread sanitizer as well: the
// counters are plain on purpose, so that a missing acquire or release is a reported race even when the sum is right.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <unistd.h>
#endif

#include "asx/base/conditional_lock.hpp"
#include "tests/stress/deadline.hpp"

namespace {

using asx::conditional_lock;
using asx::lock_guard;

constexpr std::uint64_t operations = 1'000'000;

// Starts `count` threads that wait for each other before they run `body(number)`, and joins them.
template <class Body>
void in_threads(unsigned count, Body body) {
  std::atomic<unsigned> waiting{count};
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned number = 0; number < count; ++number) {
    threads.emplace_back([&waiting, &body, number] {
      waiting.fetch_sub(1);
      while (waiting.load() != 0) std::this_thread::yield();
      body(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(conditional_lock_stress, a_plain_counter_under_the_lock_loses_nothing) {  // law 2
  for (const unsigned count : {1U, 2U, 4U, 8U}) {
    conditional_lock lock(true);
    std::uint64_t counter = 0;
    in_threads(count, [&](unsigned) {
      for (std::uint64_t i = 0; i < operations / 4 / count; ++i) {
        const lock_guard guard(lock);
        ++counter;
      }
    });
    EXPECT_EQ(counter, operations / 4) << count << " threads";
    EXPECT_TRUE(lock.try_lock()) << "nobody left it locked";
    lock.unlock();
  }
}

TEST(conditional_lock_stress, what_a_holder_wrote_is_whole_for_the_next) {  // law 2
  conditional_lock lock(true);
  std::array<std::uint64_t, 16> row{};
  std::atomic<std::uint64_t> torn{0};
  in_threads(4, [&](unsigned) {
    for (std::uint64_t i = 0; i < operations / 20; ++i) {
      const lock_guard guard(lock);
      for (const std::uint64_t value : row) {
        if (value != row[0]) torn.fetch_add(1, std::memory_order_relaxed);
      }
      for (std::uint64_t& value : row) ++value;
    }
  });
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(row[0], operations / 5);
  EXPECT_EQ(row[15], operations / 5);
}

TEST(conditional_lock_stress, trying_and_waiting_together_let_one_in_at_a_time) {  // law 2
  conditional_lock lock(true);
  std::uint64_t counter = 0;
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> crowds{0};
  in_threads(4, [&](unsigned number) {
    for (std::uint64_t i = 0; i < operations / 16; ++i) {
      if (number % 2 == 0) {
        lock.lock();
      } else {
        while (!lock.try_lock()) std::this_thread::yield();
      }
      if (inside.fetch_add(1, std::memory_order_relaxed) != 0) crowds.fetch_add(1, std::memory_order_relaxed);
      ++counter;
      inside.fetch_sub(1, std::memory_order_relaxed);
      lock.unlock();
    }
  });
  EXPECT_EQ(counter, operations / 4);
  EXPECT_EQ(crowds.load(), 0U);
}

TEST(conditional_lock_stress, every_sleeper_is_woken) {  // law 3: a lost wake would hang here
  // The holder gives way while it holds, so that the others find the lock taken and go to sleep.
  conditional_lock lock(true);
  std::uint64_t counter = 0;
  in_threads(6, [&](unsigned) {
    for (int i = 0; i < 300; ++i) {
      const lock_guard guard(lock);
      ++counter;
      if (i % 4 == 0) std::this_thread::yield();
    }
  });
  EXPECT_EQ(counter, 1'800U);
}

#if defined(__linux__)
// The letter that the kernel has for what a thread of this process is doing: R runs, S sleeps.
char state_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '?' : line[name_end + 2];
}

TEST(conditional_lock_stress, a_thread_that_has_to_wait_sleeps) {  // law 3
  conditional_lock lock(true);
  std::atomic<pid_t> waiter{0};
  lock.lock();
  std::thread thread([&] {
    waiter.store(gettid());
    const lock_guard guard(lock);
  });
  while (waiter.load() == 0) std::this_thread::yield();
  // One look may catch it asleep for another reason; a thread that spins is seen running again and again.
  int asleep = 0;
  const asx::stress::deadline late;
  while (asleep < 100 && !late.is_over()) {
    asleep = state_of(waiter.load()) == 'S' ? asleep + 1 : 0;
    std::this_thread::yield();
  }
  lock.unlock();
  thread.join();
  EXPECT_EQ(asleep, 100) << "looks in a row that found the waiting thread asleep";
}
#endif

TEST(conditional_lock_stress, locks_that_are_off_serve_threads_that_share_nothing) {
  in_threads(4, [](unsigned) {
    conditional_lock lock(false);
    std::uint64_t counter = 0;
    for (std::uint64_t i = 0; i < operations / 4; ++i) {
      const lock_guard guard(lock);
      ++counter;
    }
    EXPECT_EQ(counter, operations / 4);
  });
}

TEST(conditional_lock_stress, the_guards_of_the_standard_library_take_it_too) {
  asx::conditional_lock one(true);
  asx::conditional_lock two(true);
  {
    const std::scoped_lock both(one, two);
    EXPECT_FALSE(one.try_lock());
    EXPECT_FALSE(two.try_lock());
  }
  const std::unique_lock trying(one, std::try_to_lock);
  EXPECT_TRUE(trying.owns_lock());
}

}  // namespace
