// The drive of many workers by itself: how many there are, what a run's limits mean, what idleness costs, and how soon
// somebody helps. What holds among threads under load is in the files beside this one.
#include "asx/runtime/drive_workers.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asx/runtime/entry_order.hpp"
#include "asx/runtime/inbox.hpp"
#include "asx/runtime/metrics.hpp"
#include "asx/runtime/testing/program.hpp"
#include "tests/stress/workers.hpp"

namespace asx {
namespace {

using stress::deadline;
using stress::hang_guard;
using testing::body;
using testing::must_spawn;

// Nobody listens: plain dispatches go their short way.
runtime_config quiet() {
  runtime_config c;
  c.journaling = journal_mode::off;
  c.behaviour.ghosts = ghost_mode::off;
  return c;
}

std::chrono::steady_clock::time_point clock_now() {
  return std::chrono::steady_clock::now();
}
std::int64_t ms_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_now() - then).count();
}

body yields(int times) {
  return {[times](cx& c) mutable {
    if (times-- == 0) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
}
body sleeps(duration d) {
  return {[d, timer = slab_key{}, is_set = false](cx& c) mutable {
    if (is_set || c.checkpoint() != status::ok) return poll_result::ready;
    is_set = true;
    EXPECT_EQ(c.kernel().register_timer(c, c.now() + d, timer), status::ok);
    return poll_result::pending;
  }};
}

TEST(workers_drive_stress, has_as_many_workers_as_it_is_asked_for) {
  EXPECT_EQ(threaded_runtime({}, quiet()).workers(), threaded_runtime({.workers = 0}, quiet()).workers());
  EXPECT_GE(threaded_runtime({}, quiet()).workers(), 1U);
  EXPECT_EQ(threaded_runtime({.workers = 1}, quiet()).workers(), 1U);
  EXPECT_EQ(threaded_runtime({.workers = 5}, quiet()).workers(), 5U);
  threaded_runtime many({.workers = 1'000}, quiet());
  EXPECT_EQ(many.workers(), 64U);
  EXPECT_EQ(many.start_status(), status::ok);
  EXPECT_EQ(many->sched().workers(), 64U);
}

TEST(workers_drive_stress, says_when_it_cannot_start_and_runs_nothing_then) {
  runtime_config impossible = quiet();
  impossible.contract.max_regions = 0;
  threaded_runtime rt({.workers = 2}, impossible);
  EXPECT_EQ(rt.start_status(), status::invalid_argument);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::invalid_argument);
}

// Who asks it all the same is told why, nothing of theirs runs or stays, and it goes as any other one.
void refuses_everything(const threads_config& how, status expected) {
  std::atomic<int> ended{0};
  {
    threaded_runtime rt(how, quiet());
    ASSERT_EQ(rt.start_status(), expected);
    std::shared_ptr<void> lives(nullptr, [&](void*) { ended.fetch_add(1); });
    const auto ran = run_in(*rt, [lives = std::move(lives)](cx) -> task<> {
      ADD_FAILURE() << "nothing runs";
      co_return;
    });
    EXPECT_EQ(ended.load(), 1) << "what it had has ended";
    ASSERT_TRUE(ran.result.is_err());
    EXPECT_EQ(ran.result.error().code, expected);
    EXPECT_EQ(rt->run_until_quiescent().ended, expected);
    EXPECT_EQ(rt->run_until_idle().ended, expected);
    EXPECT_EQ(rt->kernel().live_tasks(), 0U);
  }
  threaded_runtime asked(how, quiet());
  region_handle below;
  EXPECT_EQ(asked->kernel().create_region(asked->root(), {}, below), expected);
  EXPECT_TRUE(asked->shutdown(duration::seconds(1)).is_quiescent());
}

TEST(workers_drive_stress, refuses_everything_when_its_order_cannot_be_played) {
  entry_order order;
  {
    threaded_runtime rt({.workers = 2, .is_virtual = true, .record = &order}, quiet());
    body quick = yields(3);
    must_spawn(*rt, rt->root(), quick, {}, false);
    EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  }
  refuses_everything({.workers = 4, .is_virtual = true, .replay = &order}, status::invalid_argument);
  refuses_everything({.workers = 4, .is_virtual = true, .replay = &order, .is_on_one_thread = true},
                     status::invalid_argument);
  refuses_everything({.workers = 2, .is_on_one_thread = true}, status::invalid_argument);
  refuses_everything(
      {.workers = 2, .is_virtual = true, .replay = &order, .is_on_one_thread = true, .stack_bytes = SIZE_MAX / 2},
      status::resource_exhausted);
}

#if defined(__linux__) && defined(__GLIBC__) && defined(__cpp_exceptions)
TEST(workers_drive_stress, refuses_everything_when_the_machine_has_no_threads_for_it) {
  pthread_attr_t usual;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  pthread_attr_t huge = usual;
  ASSERT_EQ(pthread_attr_setstacksize(&huge, SIZE_MAX / 4), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);  // No machine has room for one of these.
  refuses_everything({.workers = 3}, status::resource_exhausted);
  refuses_everything({.workers = 3, .is_virtual = true}, status::resource_exhausted);
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(pthread_attr_destroy(&usual), 0);
}
#endif

// It would wait for that run for ever, and say nothing.
TEST(workers_drive_stress, says_that_it_is_destroyed_while_another_thread_runs_it) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto goes_too_early = [] {
    threaded_runtime rt({.workers = 2}, quiet());
    std::atomic<bool> is_in{false};
    body endless{[&](cx& c) {
      is_in = true;
      c.yield();
      return poll_result::pending;
    }};
    must_spawn(*rt, rt->root(), endless, {}, false);
    std::thread([&] { static_cast<void>(rt->run_until_quiescent(UINT64_MAX)); }).detach();
    while (!is_in.load()) std::this_thread::yield();
    alarm(60);  // Where it hangs.
  };
  EXPECT_DEATH(goes_too_early(), "destroyed while another thread runs it.*foreign_handle::shut_down");
}

// What is told of a soak in hours counts where workers meet.
TEST(workers_drive_stress, is_counted_as_a_round_of_several_workers_when_there_are_several) {
  const auto counted = [](std::uint32_t workers) {
    const std::uint64_t before = stress::tally::of_this_program().rounds();
    threaded_runtime rt({.workers = workers}, quiet());
    const hang_guard guard(rt);
    return stress::tally::of_this_program().rounds() - before;
  };
  EXPECT_EQ(counted(1), 0U);
  EXPECT_EQ(counted(2), 1U);
}

#if defined(__linux__)
cpu_set_t own_processors() {
  cpu_set_t out;
  CPU_ZERO(&out);
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof out, &out), 0);
  return out;
}

// The numbers of those that this thread may use.
std::vector<std::size_t> allowed_here() {
  const cpu_set_t all = own_processors();
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) out.push_back(i);
  }
  return out;
}
cpu_set_t just(std::size_t processor) {
  cpu_set_t out;
  CPU_ZERO(&out);
  CPU_SET(processor, &out);
  return out;
}

TEST(workers_drive_stress, runs_what_is_pinned) {
  const std::vector<std::size_t> allowed = allowed_here();
  threaded_runtime rt({.workers = 2, .is_pinned = true}, quiet());
  const hang_guard guard(rt);
  std::atomic<int> polled{0};
  cpu_set_t seen[2];
  std::thread::id by[2];
  // Each is polled for as long as it takes another worker to come for the other one.
  const auto looks = [&](std::size_t which) {
    return body{[&, which](cx&) {
      seen[which] = own_processors();
      by[which] = std::this_thread::get_id();
      polled.fetch_add(1);
      const deadline late;
      while (polled.load() < 2 && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
      return poll_result::ready;
    }};
  };
  body first = looks(0);
  body second = looks(1);
  must_spawn(*rt, rt->root(), first, {}, false);
  must_spawn(*rt, rt->root(), second, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(rt->kernel().live_tasks(), 0U);
  ASSERT_NE(by[0], by[1]) << "both workers had to poll one";
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t own = by[i] == std::this_thread::get_id() ? 0 : 1;
    const cpu_set_t meant = just(allowed[own % allowed.size()]);
    EXPECT_TRUE(CPU_EQUAL(&seen[i], &meant)) << "worker " << own;
  }
}

// Goal:   what an operator keeps from a process (taskset, a cpuset), no runtime takes.
// Method: its maker may use the last processor alone, which is not the first where there are two.
TEST(workers_drive_stress, stays_on_the_processors_that_its_maker_may_use) {
  const cpu_set_t before = own_processors();
  const std::vector<std::size_t> allowed = allowed_here();
  const cpu_set_t last = just(allowed.back());
  EXPECT_EQ(threaded_runtime({}, quiet()).workers(), std::min<std::size_t>(allowed.size(), 64));
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof last, &last), 0);
  EXPECT_EQ(threaded_runtime({}, quiet()).workers(), 1U) << "as many as it may use, and not as many as there are";
  {
    threaded_runtime rt({.workers = 3, .is_pinned = true}, quiet());
    const hang_guard guard(rt);
    // Who runs it may use all of them again; the worker that it is stays where the maker said.
    EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof before, &before), 0);
    std::atomic<int> polled{0};
    std::atomic<int> elsewhere{0};
    body looks{[&](cx&) {
      const cpu_set_t seen = own_processors();
      if (!CPU_EQUAL(&seen, &last)) elsewhere.fetch_add(1);
      polled.fetch_add(1);
      const deadline late;
      while (polled.load() < 3 && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
      return poll_result::ready;
    }};
    std::deque<body> all(3, looks);
    for (body& b : all) must_spawn(*rt, rt->root(), b, {}, false);
    EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
    EXPECT_EQ(polled.load(), 3);
    EXPECT_EQ(elsewhere.load(), 0);
  }
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof before, &before), 0);
}

TEST(workers_drive_stress, whoever_runs_what_is_pinned_has_its_processors_back_afterwards) {
  const auto runs_and_looks = [](threaded_runtime& rt) {
    const cpu_set_t before = own_processors();
    cpu_set_t meanwhile = before;
    body looks{[&](cx&) {
      meanwhile = own_processors();
      return poll_result::ready;
    }};
    must_spawn(*rt, rt->root(), looks, {}, false);
    EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
    const cpu_set_t after = own_processors();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
    const cpu_set_t first = just(allowed_here().front());
    EXPECT_TRUE(CPU_EQUAL(&first, &meanwhile));
  };
  const cpu_set_t before = own_processors();
  {
    threaded_runtime rt({.workers = 1, .is_pinned = true}, quiet());
    const hang_guard guard(rt);
    const cpu_set_t made = own_processors();
    EXPECT_TRUE(CPU_EQUAL(&before, &made)) << "who makes it is not pinned";
    runs_and_looks(rt);
    std::thread([&] { runs_and_looks(rt); }).join();  // Another one is worker 0 now.
    runs_and_looks(rt);
  }
  const cpu_set_t after = own_processors();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}
#endif

TEST(workers_drive_stress, an_hour_of_virtual_time_is_over_at_once) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    threaded_runtime rt({.workers = workers, .is_virtual = true}, quiet());
    const hang_guard guard(rt);
    const auto began = clock_now();
    body sleeper = sleeps(duration::hours(1));
    must_spawn(*rt, rt->root(), sleeper, {}, false);
    EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
    EXPECT_EQ(rt->kernel().live_tasks(), 0U);
    EXPECT_GE(rt->now(), instant{duration::hours(1).ns});
    EXPECT_LT(ms_since(began), 60'000);
  }
}

// U-02: a run until idle does not wait for what is due later.
TEST(workers_drive_stress, a_run_until_idle_waits_for_nothing) {
  for (const bool is_virtual : {true, false}) {
    threaded_runtime rt({.workers = 2, .is_virtual = is_virtual}, quiet());
    const hang_guard guard(rt);
    body sleeper = sleeps(duration::hours(1));
    body quick = yields(10);
    must_spawn(*rt, rt->root(), sleeper, {}, false);
    must_spawn(*rt, rt->root(), quick, {}, false);
    EXPECT_EQ(rt->run_until_idle().ended, status::ok);
    EXPECT_EQ(rt->kernel().live_tasks(), 1U) << "the one that yields has ended, the one that sleeps has not";
    EXPECT_TRUE(rt->shutdown().is_quiescent());
  }
}

TEST(workers_drive_stress, is_run_by_whoever_calls) {
  threaded_runtime rt({.workers = 3}, quiet());
  const hang_guard guard(rt);
  std::deque<body> all(12, yields(10));
  for (std::size_t i = 0; i < 4; ++i) must_spawn(*rt, rt->root(), all[i], {}, false);
  std::thread([&] { EXPECT_EQ(rt->run_until_quiescent().ended, status::ok); }).join();
  EXPECT_EQ(rt->kernel().live_tasks(), 0U);
  for (std::size_t i = 4; i < 8; ++i) must_spawn(*rt, rt->root(), all[i], {}, false);
  std::thread([&] { EXPECT_EQ(rt->run_until_quiescent().ended, status::ok); }).join();
  for (std::size_t i = 8; i < 12; ++i) must_spawn(*rt, rt->root(), all[i], {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(rt->kernel().live_tasks(), 0U);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

// Who ran it last goes on calling in while another thread begins to: neither is taken for the other, and one of them is
// inside at a time.
TEST(workers_drive_stress, who_ran_it_before_calls_in_while_another_one_runs_it) {
  for (const std::uint32_t workers : {1U, 2U}) {
    threaded_runtime rt({.workers = workers}, quiet());
    const hang_guard guard(rt);
    std::atomic<std::uint64_t> ended{0};
    std::uint64_t spawned = 0;
    const auto counts = [&ended](cx) -> task<> {
      ended.fetch_add(1, std::memory_order_relaxed);
      co_return;
    };
    const auto spawn_some = [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        EXPECT_EQ(spawn_in(rt->kernel(), rt->root(), {}, counts).code, status::ok);
      }
      spawned += n;
    };
    const std::uint64_t most = stress::rounds(60);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      spawn_some(200);  // Alone for long enough to be the favourite,
      EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      std::atomic<bool> is_over{false};
      std::thread other([&] {
        while (!is_over.load(std::memory_order_acquire)) {
          EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
        }
      });
      spawn_some(300);  // and on while the other one takes its place.
      is_over.store(true, std::memory_order_release);
      other.join();
    }
    EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_EQ(ended.load(), spawned);
    EXPECT_EQ(rt->kernel().live_tasks(), 0U);
    EXPECT_TRUE(rt->shutdown().is_quiescent());
  }
}

TEST(workers_drive_stress, is_run_by_one_after_it_was_shut_down_by_another) {
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  body busy = yields(1000);
  must_spawn(*rt, rt->root(), busy, {}, false);
  std::thread([&] {
    const shutdown_result cut = rt->shutdown(duration::seconds(10), 3);  // It does not get to the end in three steps.
    EXPECT_FALSE(cut.is_quiescent());
  }).join();
  EXPECT_EQ(rt->run_until_idle().ended, status::ok);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

// U-03, R-371: a limit that is not reached is not said, however many of its steps others might still have begun.
TEST(workers_drive_stress, says_nothing_of_a_limit_of_steps_that_was_not_reached) {
  for (const std::uint32_t workers : {2U, 4U}) {
    for (const ghost_mode ghosts : {ghost_mode::off, ghost_mode::on}) {  // Plain dispatches, and others.
      runtime_config config = quiet();
      config.behaviour.ghosts = ghosts;
      threaded_runtime rt({.workers = workers}, config);
      const hang_guard guard(rt);
      const std::uint64_t most = stress::rounds(200);
      const deadline late(std::chrono::seconds(10));  // Fewer will do where the machine makes each yield a long one.
      for (std::uint64_t round = 0; round < most && !HasFailure() && !late.is_over(); ++round) {
        body waits{[](cx&) {  // For long enough that others look whether there is anything to do.
          for (int i = 0; i < 20; ++i) std::this_thread::yield();
          return poll_result::ready;
        }};
        std::deque<body> all(4, waits);
        for (body& b : all) must_spawn(*rt, rt->root(), b, {}, false);
        const run_result ran = rt->run_until_quiescent(20);
        EXPECT_EQ(ran.ended, status::ok) << workers << " workers, round " << round;
        EXPECT_EQ(ran.steps, 4U) << workers << " workers, round " << round;
      }
    }
  }
}

// Goal:   a step that is under way when the others come to the limit may turn out to be none, and is waited for.
// Method: two steps are allowed. The first one's poll shuts down, which the other worker takes in as the second: it has
//         nobody to poll, but a finalizer to run. That begins, the poll ends, its worker finds both steps begun, and
//         only when it has looked does the finalizer end.
TEST(workers_drive_stress, says_nothing_of_a_limit_while_a_step_may_still_be_given_back) {  // U-03, R-371
  const std::uint64_t most = stress::rounds(20);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    struct scene {
      std::atomic<bool> is_finalizing{false};
      std::atomic<bool> has_looked{false};
      const deadline late{};
    } all;
    threaded_runtime rt({.workers = 2}, quiet());
    const hang_guard guard(rt);
    region_handle closing;
    ASSERT_EQ(rt->kernel().create_region(rt->root(), {.name = "closing"}, closing), status::ok);
    const auto finalizes = [](void* self, region_handle, kernel& k) {
      auto& s = *static_cast<scene*>(self);
      s.is_finalizing = true;
      while (!s.has_looked.load() && !s.late.is_over()) {  // asx: bounded by 30 s
        std::this_thread::yield();
        const inside here(k);  // Its worker is out again, and has looked: it looks before it goes out.
        s.has_looked = k.live_tasks() == 0;
      }
      return status::ok;
    };
    ASSERT_EQ(rt->kernel().add_finalizer(closing, finalizes, &all), status::ok);
    foreign_handle h;  // It says nothing more in the run, not that it goes: a step that comes upon a word is one.
    body shuts_down{[&](cx& c) {
      EXPECT_EQ(open_foreign(c, h), status::ok);
      h.shut_down();
      while (!all.is_finalizing.load() && !all.late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
      return poll_result::ready;
    }};
    must_spawn(*rt, rt->root(), shuts_down, {}, false);
    const run_result ran = rt->run_until_quiescent(2);
    EXPECT_TRUE(all.is_finalizing.load()) << "nobody else has taken it in: this shows nothing";
    EXPECT_TRUE(all.has_looked.load()) << "its worker has not come back: this shows nothing";
    EXPECT_EQ(ran.ended, status::ok) << "round " << round;
    EXPECT_EQ(ran.steps, 1U) << "round " << round;
    h.drop();
    EXPECT_TRUE(rt->shutdown().is_quiescent());
  }
}

// U-03, R-371: a limit of steps is met, said, and the run can be taken up again.
TEST(workers_drive_stress, ends_a_run_at_its_limit_of_steps) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    threaded_runtime rt({.workers = workers}, quiet());
    const hang_guard guard(rt);
    std::atomic<std::uint32_t> polls{0};  // Of a size that every machine has.
    std::atomic<bool> is_over{false};
    body endless{[&](cx& c) {
      polls.fetch_add(1);
      if (is_over.load()) return poll_result::ready;
      c.yield();
      return poll_result::pending;
    }};
    must_spawn(*rt, rt->root(), endless, {}, false);
    const run_result first = rt->run_until_quiescent(100);
    EXPECT_EQ(first.ended, status::step_limit);
    EXPECT_EQ(first.steps, 100U);
    EXPECT_EQ(polls.load(), 100U);
    is_over = true;
    EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
    EXPECT_EQ(rt->kernel().live_tasks(), 0U);
  }
}

TEST(workers_drive_stress, a_run_from_inside_a_poll_is_refused) {
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  std::atomic<int> refused{0};
  body asks{[&](cx&) {
    if (rt->run_until_idle().ended == status::reentrant) refused.fetch_add(1);
    return poll_result::ready;
  }};
  must_spawn(*rt, rt->root(), asks, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(refused.load(), 1);
}

TEST(workers_drive_stress, ten_thousand_that_wait_cost_no_processor) {  // law 4
  if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "nobody tells which threads sleep";
  std::thread([] {}).join();  // A sanitizer has a thread of its own, which comes with the first one of the program.
  const std::set<std::string> before_it = stress::threads_of_this_process();
  threaded_runtime rt({.workers = 4}, quiet());
  const hang_guard guard(rt);
  std::deque<body> all;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back({[](cx& c) {
      if (c.checkpoint() != status::ok) return poll_result::ready;
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }});
    must_spawn(*rt, rt->root(), all.back(), {}, false);
  }
  EXPECT_EQ(rt->run_until_idle().ended, status::ok);
  rt->kernel().take_foreign_hold();
  std::thread runs([&] { EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok); });
  // Those that came with the runtime: its workers, the guard and who runs it. Who does anything now and then goes to
  // sleep again, which is counted; who stands in line, on a machine that has other things to do, has not come to rest
  // yet, however long nothing is seen of it.
  bool has_rested = false;
  std::uint64_t ran_ns = 0;
  for (int i = 0; i < 100 && !has_rested; ++i) {  // asx: bounded by its tries
    const stress::seen_threads before = stress::look_at_those_since(before_it);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const stress::seen_threads after = stress::look_at_those_since(before_it);
    has_rested = before.is_all_asleep && after.is_all_asleep && before.sleeps == after.sleeps;
    ran_ns = after.ran_ns - before.ran_ns;
  }
  EXPECT_TRUE(has_rested) << "somebody is awake again and again";
  if (has_rested) {
    EXPECT_LT(ran_ns, 300'000U) << "nanoseconds, of 300,000,000 of each of them";
  }
  rt->kernel().release_foreign_hold();
  runs.join();
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

TEST(workers_drive_stress, a_long_poll_keeps_nobody_waiting_while_somebody_is_idle) {  // laws 2, 4
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  std::atomic<bool> has_run{false};
  bool was_in_time = false;
  body behind{[&](cx&) {
    has_run = true;
    return poll_result::ready;
  }};
  body longest{[&](cx&) {  // Ends only when the other one has run, or much later.
    const deadline late;
    while (!has_run.load() && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
    was_in_time = has_run.load();
    return poll_result::ready;
  }};
  must_spawn(*rt, rt->root(), longest, {}, false);
  must_spawn(*rt, rt->root(), behind, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(was_in_time) << "what stands behind a poll has waited for its end";
}

// What is ready behind a long poll goes to another worker; what has a deadline, or is cancelled, stays at home.
TEST(workers_drive_stress, what_is_cancelled_or_has_a_deadline_waits_for_its_worker) {
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  std::atomic<int> polled_at_home{0};
  std::atomic<bool> has_run{false};
  std::thread::id home;
  std::thread::id helper;
  int polled_meanwhile = -1;
  const auto counts = [&](cx&) {
    EXPECT_EQ(std::this_thread::get_id(), home);
    polled_at_home.fetch_add(1);
    return poll_result::ready;
  };
  body with_deadline{counts};
  body cancelled{counts};
  body ready{[&](cx&) {
    helper = std::this_thread::get_id();
    has_run = true;
    return poll_result::ready;
  }};
  body longest{[&](cx& c) {
    home = std::this_thread::get_id();
    task_handle out;
    task_spec spec{.poll = &body::poll, .context = &with_deadline};
    spec.limits.deadline = c.now() + duration::hours(1);
    EXPECT_EQ(rt->kernel().spawn(rt->root(), spec, out), status::ok);
    const task_handle other = must_spawn(*rt, rt->root(), cancelled, {}, false);
    EXPECT_EQ(rt->kernel().request_cancel(other), status::ok);
    must_spawn(*rt, rt->root(), ready, {}, false);
    const deadline late;
    while (!has_run.load() && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
    const auto then = clock_now();
    while (ms_since(then) < 20) std::this_thread::yield();  // The idle one looks around once a millisecond.
    polled_meanwhile = polled_at_home.load();
    return poll_result::ready;
  }};
  must_spawn(*rt, rt->root(), longest, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(has_run.load());
  EXPECT_NE(helper, home);
  EXPECT_EQ(polled_meanwhile, 0);
  EXPECT_EQ(polled_at_home.load(), 2);
}

// The same after a time in which everybody slept: somebody looks around again.
TEST(workers_drive_stress, a_long_poll_after_a_quiet_time_keeps_nobody_waiting) {  // laws 2, 4
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  std::atomic<bool> has_run{false};
  bool was_in_time = false;
  body behind{[&](cx&) {
    has_run = true;
    return poll_result::ready;
  }};
  body sleeper{[&, timer = slab_key{}, is_set = false](cx& c) mutable {
    if (!is_set) {
      is_set = true;
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::milliseconds(20), timer), status::ok);
      return poll_result::pending;
    }
    must_spawn(*rt, rt->root(), behind, {}, false);
    const deadline late;
    while (!has_run.load() && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
    was_in_time = has_run.load();
    return poll_result::ready;
  }};
  must_spawn(*rt, rt->root(), sleeper, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(was_in_time);
}

// Several workers together do as many steps as they were given, and no more.
TEST(workers_drive_stress, a_limit_of_steps_is_everybodys) {
  threaded_runtime rt({.workers = 4}, quiet());
  const hang_guard guard(rt);
  std::atomic<std::uint32_t> polls{0};
  std::vector<body> all(64, body{[&](cx& c) {
                          ++polls;
                          c.yield();
                          return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
                        }});
  for (body& b : all) must_spawn(*rt, rt->root(), b, {}, false);
  const run_result ran = rt->run_until_quiescent(100);
  EXPECT_EQ(ran.ended, status::step_limit);
  EXPECT_EQ(ran.steps, 100U);
  EXPECT_EQ(polls.load(), 100U);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

// A timer that is due while somebody is polled for long fires on another worker.
TEST(workers_drive_stress, a_timer_fires_beside_a_long_poll) {
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  std::atomic<bool> has_fired{false};
  bool was_in_time = false;
  body sleeper{[&, timer = slab_key{}, is_set = false](cx& c) mutable {
    if (is_set) {
      has_fired = true;
      return poll_result::ready;
    }
    is_set = true;
    EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::milliseconds(5), timer), status::ok);
    return poll_result::pending;
  }};
  body longest{[&](cx&) {
    const deadline late;
    while (!has_fired.load() && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
    was_in_time = has_fired.load();
    return poll_result::ready;
  }};
  must_spawn(*rt, rt->root(), sleeper, {}, false);
  must_spawn(*rt, rt->root(), longest, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(was_in_time);
}

// The same after a time in which nobody had anything to do: whoever saw to the timers is in the long poll.
TEST(workers_drive_stress, a_timer_after_a_quiet_time_fires_beside_a_long_poll) {
  threaded_runtime rt({.workers = 2}, quiet());
  const hang_guard guard(rt);
  std::atomic<bool> has_fired{false};
  bool was_in_time = false;
  const auto after = [](duration d, auto then) {
    return body{[d, then, timer = slab_key{}, is_set = false](cx& c) mutable {
      if (is_set) {
        then();
        return poll_result::ready;
      }
      is_set = true;
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + d, timer), status::ok);
      return poll_result::pending;
    }};
  };
  body first = after(duration::milliseconds(20), [&] {
    const deadline late;
    while (!has_fired.load() && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
    was_in_time = has_fired.load();
  });
  body second = after(duration::milliseconds(50), [&] { has_fired = true; });
  must_spawn(*rt, rt->root(), first, {}, false);
  must_spawn(*rt, rt->root(), second, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(was_in_time);
}

TEST(workers_drive_stress, counts_what_all_of_them_did) {
  metrics m;
  runtime_config config = quiet();
  config.measure = &m;
  threaded_runtime rt({.workers = 3}, config);
  const hang_guard guard(rt);
  std::deque<body> all(6, yields(50));
  for (body& b : all) must_spawn(*rt, rt->root(), b, {}, false);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(rt->measured().all_polls(), 6U * 51U);
  EXPECT_EQ(rt->measured().live_tasks, 0U);
}

TEST(workers_drive_stress, two_may_live_in_one_process_and_call_each_other) {
  threaded_runtime one({.workers = 2}, quiet());
  threaded_runtime other({.workers = 2}, quiet());
  const hang_guard guard(one);
  std::atomic<int> done{0};
  std::deque<body> there;
  for (int i = 0; i < 20; ++i) {
    there.push_back({[&](cx&) {
      done.fetch_add(1);
      return poll_result::ready;
    }});
  }
  body sends{[&, i = std::size_t{0}](cx& c) mutable {  // A worker of one is a stranger to the other.
    if (i == there.size()) return poll_result::ready;
    must_spawn(*other, other->root(), there[i++], {}, false);
    c.yield();
    return poll_result::pending;
  }};
  must_spawn(*one, one->root(), sends, {}, false);
  EXPECT_EQ(one->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(other->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(done.load(), 20);
}

TEST(workers_drive_stress, a_run_beside_a_run_is_refused) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    threaded_runtime rt({.workers = workers}, quiet());
    const hang_guard guard(rt);
    std::atomic<bool> is_in{false};
    std::atomic<bool> may_go{false};
    body waits{[&](cx& c) {
      is_in.store(true);
      if (may_go.load()) return poll_result::ready;
      c.yield();
      return poll_result::pending;
    }};
    must_spawn(*rt, rt->root(), waits, {}, false);
    std::thread runner([&] { EXPECT_EQ(rt->run_until_quiescent().ended, status::ok); });
    while (!is_in.load()) std::this_thread::yield();
    EXPECT_EQ(rt->run_until_quiescent().ended, status::reentrant);
    EXPECT_EQ(rt->shutdown(duration::seconds(5)).quiescence.first, status::reentrant);
    EXPECT_FALSE(rt->kernel().is_shutting_down()) << "a refusal changes nothing";
    may_go.store(true);
    runner.join();
    EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  }
}

}  // namespace
}  // namespace asx
