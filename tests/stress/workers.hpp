// What tests of many workers share: rounds on 1, 2 and 4 of them, disturbed in most, at rest after each, and an end
// with a list of tasks when one hangs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "asx/asx.hpp"
#include "asx/runtime/drive_workers.hpp"
#include "tests/stress/deadline.hpp"
#include "tests/stress/tally.hpp"

namespace asx::stress {

/// As many as usual, times ASX_STRESS_ROUNDS.
inline std::uint64_t rounds(std::uint64_t usual) {
  const char* const text = std::getenv("ASX_STRESS_ROUNDS");
  const std::uint64_t times = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  return usual * (times == 0 ? 1 : times);
}

/// Half of the seeds have ghosts watch, whatever the build: monitors tell of what no status does, and without them and
/// without a journal plain dispatches go their short way. Neighbours and multiples of four differ among themselves, so
/// that each comes with and without `crew_of`'s disturbance.
inline runtime_config config_of(journal_mode mode, std::uint64_t seed = 0) {
  runtime_config c;
  c.contract = resource_contract::core();
  c.journaling = mode;
  c.seed = seed;
  c.behaviour.ghosts = std::popcount(seed) % 2 == 0 ? ghost_mode::on : ghost_mode::off;
  return c;
}

/// After so long a time, longer where a build is slow, and as often as ASX_STRESS_ROUNDS says, five times at most, it
/// names who is alive, and ends the process: a run that hangs must not hang its caller. Before twenty minutes are over,
/// since who runs tests ends them soon after that, and names nobody. One guards one life of a runtime, and counts it.
class hang_guard {
 public:
  explicit hang_guard(threaded_runtime& rt, std::chrono::seconds longest = std::chrono::seconds(120))
      : thread_([this, &rt, longest] {
          kernel& k = rt->kernel();
          std::unique_lock lock(door_);
          const auto times = static_cast<std::int64_t>(std::min<std::uint64_t>(rounds(1), 5));
          const auto most = std::min<std::chrono::seconds>(longest * times * slowness, std::chrono::minutes(20));
          if (leave_.wait_for(lock, most, [this] { return is_over_; })) return;
          std::fprintf(stderr, "a run hangs; alive are:\n");
          std::fflush(stderr);
          const inside here(k);
          std::fprintf(stderr, "%s", describe_tasks(k).c_str());
          std::abort();
        }) {
    tally::of_this_program().add_round(rt.workers());
  }
  ~hang_guard() {
    {
      const std::lock_guard lock(door_);
      is_over_ = true;
    }
    leave_.notify_all();
    thread_.join();
  }
  hang_guard(const hang_guard&) = delete;
  hang_guard& operator=(const hang_guard&) = delete;

 private:
  std::mutex door_;
  std::condition_variable leave_;
  bool is_over_ = false;
  std::thread thread_;
};

/// Nobody but the root is alive, nobody has anything in hand, and ghosts have seen no misuse but leaks, where those are
/// meant. Lanes and journal are whole.
inline void expect_rest(threaded_runtime& rt, const std::string& where, bool may_leak = false) {
  kernel& k = rt->kernel();
  const inside here(k);
  rt->sched().check();
  rt->journal().check();
  EXPECT_EQ(k.live_tasks(), 0U) << where << "\n" << describe_tasks(k);
  EXPECT_EQ(k.live_regions(), 1U) << where << "\n" << describe_tree(k);
  EXPECT_EQ(k.live_timers(), 0U) << where;
  EXPECT_EQ(k.foreign_holds(), 0U) << where;
  // Only the root itself is left to close: tasks, obligations, timers are not.
  EXPECT_EQ(k.check_quiescence().failed & 0b01011U, 0U) << where << "\n" << describe_survivors(k);
  const ghosts& seen = k.ghosts();
  EXPECT_EQ(seen.violations(), may_leak ? seen.count(ghost_kind::leak) : 0U) << where << "\n" << seen.report();
}

inline void expect_end(threaded_runtime& rt, const std::string& where, duration grace = {}) {
  const shutdown_result end = rt->shutdown(grace, UINT64_MAX);
  EXPECT_TRUE(end.is_quiescent()) << where << "\n" << end.survivors;
}

/// Which crew plays a round. Three of four are disturbed.
inline threads_config crew_of(std::uint32_t workers, std::uint64_t round) {
  threads_config how;
  how.workers = workers;
  how.disturbance = round % 4 == 0 ? 0 : round * 0x9E37'79B9'7F4A'7C15 + workers;
  return how;
}

/// `f(cx, round)` as the first task of each round, by 1, 2 and 4 workers: it ends ok, and everything is at rest after
/// it. A runtime plays a few rounds, so that slots are used again.
template <class F>
void play_rounds(std::uint64_t usual, F f, journal_mode mode = journal_mode::off,
                 std::initializer_list<std::uint32_t> crews = {1, 2, 4}) {
  constexpr std::uint64_t a_life = 4;
  const std::uint64_t most = rounds(usual);
  for (const std::uint32_t workers : crews) {
    for (std::uint64_t round = 0; round < most && !::testing::Test::HasFailure();) {
      threaded_runtime rt(crew_of(workers, round / a_life), config_of(mode, round));
      ASSERT_EQ(rt.start_status(), status::ok);
      const hang_guard guard(rt);
      for (std::uint64_t i = 0; i < a_life && round < most; ++i, ++round) {
        if (i != 0) tally::of_this_program().add_round(workers);  // The guard counts the first one.
        const std::string where = std::to_string(workers) + " workers, round " + std::to_string(round);
        auto first = spawn_in(rt->kernel(), rt->root(), {.name = "first"}, f, round);
        ASSERT_EQ(first.code, status::ok) << where;
        ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok) << where;
        outcome<unit> how;
        ASSERT_EQ(first.handle.take(how), status::ok) << where;
        EXPECT_TRUE(how.is_ok()) << where << ": " << static_cast<int>(how.kind()) << " "
                                 << (how.is_err() ? static_cast<int>(how.error().code) : 0)
                                 << (how.is_panicked() ? std::string(how.panic().text) : "");
        first.handle.drop();
        expect_rest(rt, where);
      }
      expect_end(rt, std::to_string(workers) + " workers");
    }
  }
}

/// By their numbers; none on a system that does not tell.
inline std::set<std::string> threads_of_this_process() {
  std::set<std::string> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", none)) {
    out.insert(entry.path().filename().string());
  }
  return out;
}
/// What threads of this process had done when they were looked at.
struct seen_threads {
  bool is_all_asleep = true;  // One that stands in line for a processor is not.
  std::uint64_t sleeps = 0;   // How often they went to sleep.
  std::uint64_t ran_ns = 0;   // Where the system tells.
};
/// Those left out that are in `before`. Whoever is asleep here and when it is looked at again, and went to sleep no
/// more often, has done nothing meanwhile.
inline seen_threads look_at_those_since(const std::set<std::string>& before) {
  seen_threads out;
  for (const std::string& one : threads_of_this_process()) {
    if (before.contains(one)) continue;
    std::ifstream file("/proc/self/task/" + one + "/status");
    for (std::string word; file >> word;) {
      std::uint64_t times = 0;
      if (word == "State:" && file >> word) out.is_all_asleep = out.is_all_asleep && word == "S";
      if (word == "voluntary_ctxt_switches:" && file >> times) out.sleeps += times;
    }
    std::ifstream clock("/proc/self/task/" + one + "/schedstat");
    if (std::uint64_t ns = 0; clock >> ns) out.ran_ns += ns;
  }
  return out;
}

using counter = std::atomic<std::uint64_t>;

/// A value that counts how many of its kind there are, and how often it was given away.
class token {
 public:
  token() noexcept = default;
  token(std::uint64_t number, counter* alive) noexcept : number_(number), alive_(alive) { count(1); }
  token(token&& other) noexcept : number_(other.number_), alive_(std::exchange(other.alive_, nullptr)) {}
  token& operator=(token&& other) noexcept {
    if (this == &other) return *this;
    count(UINT64_MAX);
    number_ = other.number_;
    alive_ = std::exchange(other.alive_, nullptr);
    return *this;
  }
  ~token() { count(UINT64_MAX); }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_there() const noexcept { return alive_ != nullptr; }

 private:
  void count(std::uint64_t by) noexcept {
    if (alive_ != nullptr) alive_->fetch_add(by, std::memory_order_relaxed);
  }
  std::uint64_t number_ = 0;
  counter* alive_ = nullptr;
};

}  // namespace asx::stress
