// asx/sched/scheduler.hpp under real threads: each steps its own worker, pushes into everybody's lanes and steals. Run
// it under the thread sanitizer as well: what a task carries is plain on purpose, so that handing it over without order
// is a reported race even when nothing is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/sched/scheduler.hpp"

namespace {

struct task : asx::place {
  using place::place;
  std::uint64_t runs = 0;  // Written by whoever dispatched it.
};

TEST(scheduler_stress, every_queued_task_is_dispatched_once_by_one_worker) {
  for (const std::uint32_t workers : {1U, 2U, 4U, 8U}) {
    constexpr std::uint32_t count = 200;
    constexpr std::uint64_t dispatches = 100'000;
    asx::scheduler sched({.seed = 1, .workers = workers, .max_places = count, .has_threads = true});
    ASSERT_EQ(sched.admit(count), asx::status::ok);
    const auto tasks = std::make_unique<task[]>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      tasks[i].rename(asx::task_id{i + 1});
      sched.push(i % workers, tasks[i], asx::lane::ready, static_cast<std::uint8_t>(i % 5));
    }
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint32_t> resting{0};
    std::vector<std::thread> threads;
    for (std::uint32_t w = 0; w < workers; ++w) {
      threads.emplace_back([&, w] {
        asx::splitmix64 random(w + 1);
        while (resting.load() != count) {
          asx::place* const p = sched.next(w).who;
          if (p == nullptr) {
            std::this_thread::yield();
            continue;
          }
          auto& t = static_cast<task&>(*p);
          ++t.runs;
          if (done.fetch_add(1) >= dispatches) {  // Enough: it is not queued again.
            resting.fetch_add(1);
            continue;
          }
          const auto to = static_cast<std::uint32_t>(random.next_below(workers));
          switch (random.next_below(4)) {
            case 0: sched.push(to, t, asx::lane::timed, 0, {random.next_below(100)}); break;
            case 1: sched.push_cancel(to, t, static_cast<std::uint8_t>(random.next_below(256))); break;
            default: sched.push(to, t, asx::lane::ready, static_cast<std::uint8_t>(random.next_below(256))); break;
          }
          if (random.next_below(512) == 0) sched.suggest(static_cast<asx::governor>(random.next_below(4)));
          if (random.next_below(512) == 0) static_cast<void>(sched.certificate());
        }
      });
    }
    for (std::thread& t : threads) t.join();
    std::uint64_t runs = 0;
    for (std::uint32_t i = 0; i < count; ++i) runs += tasks[i].runs;
    EXPECT_EQ(runs, done.load()) << workers << " workers";
    EXPECT_EQ(sched.certificate().dispatches(), runs);
    EXPECT_TRUE(sched.empty());
    sched.check();
  }
}

// Somebody who takes tasks out and cancels them while others dispatch and steal them: each task is had by one.
TEST(scheduler_stress, a_task_that_is_taken_out_or_cancelled_is_not_dispatched_as_well) {
  constexpr std::uint32_t count = 64;
  asx::scheduler sched({.seed = 1, .workers = 3, .max_places = count, .has_threads = true});
  ASSERT_EQ(sched.admit(count), asx::status::ok);
  const auto tasks = std::make_unique<task[]>(count);
  for (std::uint32_t i = 0; i < count; ++i) sched.push(i % 3, tasks[i], asx::lane::ready, 1);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> had{0};
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      asx::splitmix64 random(w + 1);
      while (!stop.load()) {
        asx::place* const p = sched.next(w).who;
        if (p == nullptr) continue;
        ++static_cast<task&>(*p).runs;
        had.fetch_add(1);
        const bool timed = random.next_below(3) == 0;
        sched.push(static_cast<std::uint32_t>(random.next_below(3)), *p, timed ? asx::lane::timed : asx::lane::ready, 1,
                   {random.next_below(9)});
      }
    });
  }
  asx::splitmix64 random(9);
  for (int i = 0; i < 50'000; ++i) {
    task& t = tasks[random.next_below(count)];
    if (!sched.remove(t)) continue;
    ++t.runs;
    had.fetch_add(1);
    const auto to = static_cast<std::uint32_t>(random.next_below(2));
    if (i % 2 == 0) {
      sched.push(to, t, asx::lane::ready, 1);
    } else {
      sched.push_cancel(to, t, static_cast<std::uint8_t>(i));
    }
  }
  stop.store(true);
  for (std::thread& t : threads) t.join();
  std::uint64_t runs = 0;
  for (std::uint32_t i = 0; i < count; ++i) runs += tasks[i].runs;
  EXPECT_EQ(runs, had.load());
  sched.check();
  for (std::uint32_t i = 0; i < count; ++i) sched.remove(tasks[i]);
  EXPECT_TRUE(sched.empty());
}

}  // namespace
