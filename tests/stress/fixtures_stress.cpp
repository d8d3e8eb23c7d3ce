// Every fixture of the specification on real threads: with 2 and 4 workers, disturbed, round after round, in virtual
// time. Scripts are played one at a time, inside the gate; dispatching, stealing, parking, timers and the ends of runs
// are the threads' own.
//
// conformance/order.json says which fixtures depend on a global order, and why; asx/scenario/fixtures_order_test.cpp
// shows that on one thread. Those that do not must hold as they are; those whose lists alone depend on it must hold but
// for the order of the lists. Of the rest, whatever an order can change is left out: they must end, in quiescence where
// that is theirs, with a legal schedule (asx/journal/schedule_check.hpp), and with no violation that they do not
// provoke on one thread.
//
// Run it under the thread and the address sanitizer as well. ASX_STRESS_ROUNDS makes it longer.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "asx/journal/schedule_check.hpp"
#include "asx/scenario/recycled_memory.hpp"
#include "asx/scenario/testing/fixtures.hpp"
#include "tests/stress/deadline.hpp"
#include "tests/stress/tally.hpp"

namespace {

using asx::event;
using asx::event_kind;
using asx::scenario::drive;
using asx::scenario::play_options;
using asx::scenario::recycled_memory;
using asx::scenario::verdict;
using asx::scenario::testing::all_fixtures;
using asx::scenario::testing::first_failure;
using asx::scenario::testing::fixture_map;
using asx::scenario::testing::order_need;
using asx::scenario::testing::orders_needed;

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t usual_rounds = 4;  // It is twenty times slower.
#else
constexpr std::uint64_t usual_rounds = 20;
#endif

std::uint64_t rounds(std::uint64_t usual) {
  const char* const text = std::getenv("ASX_STRESS_ROUNDS");
  return text == nullptr ? usual : usual * std::strtoull(text, nullptr, 10);
}

// Ends the process, with the name of what was played, when one play takes longer than any can.
class hang_guard {
 public:
  hang_guard() : thread_([this] { watch(); }) {}
  ~hang_guard() {
    begin({});
    {
      const std::lock_guard lock(door_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  hang_guard(const hang_guard&) = delete;
  hang_guard& operator=(const hang_guard&) = delete;

  void begin(std::string what) {
    const std::lock_guard lock(door_);
    what_ = std::move(what);
    ++plays_;
  }

 private:
  static constexpr std::chrono::seconds longest{120 * asx::stress::slowness};

  void watch() {
    std::unique_lock lock(door_);
    std::uint64_t seen = plays_;
    while (!is_over_) {
      if (changed_.wait_for(lock, longest) == std::cv_status::no_timeout || is_over_) continue;
      if (!what_.empty() && seen == plays_) {
        std::fprintf(stderr, "this play does not end: %s\n", what_.c_str());
        std::abort();
      }
      seen = plays_;
    }
  }

  std::mutex door_;
  std::condition_variable changed_;
  std::string what_;
  std::uint64_t plays_ = 0;
  bool is_over_ = false;
  std::thread thread_;  // Last: it looks at the others.
};

struct tally {
  std::uint64_t fixtures = 0;
  std::uint64_t plays = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t elsewhere = 0;  // By another worker than the first.
};

// What a play on one thread, as the fixture says it, has shown.
struct known {
  std::set<std::uint64_t> violations{};  // That the fixture provokes.
  // Windows of timers are not in the journal: the checker takes a timer that fires with another for one too early.
  bool has_legal_schedule = true;
};
known look_at(const verdict& v) {
  known out;
  for (const event& e : v.journal) {
    if (e.kind == event_kind::ghost_violation) out.violations.insert(e.a);
  }
  out.has_legal_schedule = check_schedule(v.journal).accepted();
  return out;
}

// What no order can change.
void check_laws(const std::string& title, const verdict& v, const known& before, tally& sum) {
  for (const event& e : v.journal) {
    if (e.kind == event_kind::ghost_violation) {
      EXPECT_EQ(before.violations.count(e.a), 1U) << title << ": FB-" << e.a << " at event " << e.seq;
    }
    if (e.kind != event_kind::task_dispatched) continue;
    ++sum.dispatches;
    sum.elsewhere += e.worker != 0 ? 1U : 0U;
  }
  if (before.has_legal_schedule) {
    const asx::schedule_verdict schedule = check_schedule(v.journal);
    for (const auto& x : schedule.violations)
      ADD_FAILURE() << title << ": " << x.rule << " at " << x.seq << ": " << x.text;
  }
  for (const auto& f : v.failures) {
    EXPECT_NE(f.step, "shutdown") << title << ": " << f.text;
    EXPECT_EQ(f.text.find("the play ends here"), std::string::npos) << title << ": " << f.text;
  }
}

tally play_on_threads(order_need need) {
  const fixture_map fixtures = all_fixtures();
  const auto orders = orders_needed();
  recycled_memory memory;
  hang_guard guard;
  tally sum;
  EXPECT_EQ(fixtures.size(), 147U);
  for (const auto& [id, own] : fixtures) {
    const std::string& original = own->same_as.empty() ? id : own->same_as;
    const auto listed = orders.find(original);
    if ((listed == orders.end() ? order_need::none : listed->second.need) != need) continue;
    ++sum.fixtures;
    if (original != id) continue;  // The same file again.
    const auto& s = *own;
    play_options how;
    how.with = s.profiles.front();
    how.memory = memory.port();
    how.seed = s.seeds.front();
    how.checks_order = need == order_need::none;
    const known before = look_at(play(s, how));
    for (std::uint64_t round = 1; round <= rounds(usual_rounds); ++round) {
      for (const std::uint32_t workers : {2U, 4U}) {
        how.with = round % 10 == 0 ? s.profiles.back() : s.profiles.front();  // The small one starts quickly.
        how.seed = s.seeds[round % s.seeds.size()];
        how.by = {drive::kind::threads, workers, round};
        const std::string title = id + ", " + std::to_string(workers) + " workers, round " + std::to_string(round);
        guard.begin(title);
        const verdict v = play(s, how);
        ++sum.plays;
        asx::stress::tally::of_this_program().add_round(workers);
        EXPECT_GT(v.checks, 0U) << title;
        if (need != order_need::the_one) {
          EXPECT_EQ(first_failure(v), "") << title;
        }
        check_laws(title, v, before, sum);
      }
    }
  }
  EXPECT_GT(sum.elsewhere, 0U) << "threads have not shared the work: this shows nothing";
  return sum;
}

void tell(const tally& sum, const char* what) {
  std::printf("%llu of 147 fixtures %s; %llu plays, %llu of %llu dispatches by other threads than the first\n",
              static_cast<unsigned long long>(sum.fixtures), what, static_cast<unsigned long long>(sum.plays),
              static_cast<unsigned long long>(sum.elsewhere), static_cast<unsigned long long>(sum.dispatches));
}

TEST(fixtures_stress, those_that_do_not_depend_on_an_order_hold_with_2_and_4_workers) {
  tell(play_on_threads(order_need::none), "do not depend on an order and hold");
}

TEST(fixtures_stress, those_that_only_list_things_in_an_order_hold_but_for_that_with_2_and_4_workers) {
  tell(play_on_threads(order_need::lists), "hold but for the order of what they list");
}

TEST(fixtures_stress, those_that_depend_on_an_order_end_well_with_2_and_4_workers) {
  tell(play_on_threads(order_need::the_one), "depend on an order, and end well");
}

// One worker has one order: the drive itself changes nothing.
TEST(fixtures_stress, all_but_the_one_that_names_three_workers_hold_with_1_worker) {
  const fixture_map fixtures = all_fixtures();
  recycled_memory memory;
  hang_guard guard;
  for (const auto& [id, s] : fixtures) {
    if (!s->same_as.empty() || s->settings.workers > 2) continue;  // It says of each step who makes it.
    for (const std::uint64_t seed : s->seeds) {
      play_options how;
      how.with = s->profiles.front();
      how.seed = seed;
      how.by = {drive::kind::threads, 1, 1};
      how.memory = memory.port();
      guard.begin(id + ", 1 worker");
      EXPECT_EQ(first_failure(play(*s, how)), "") << id << ", 1 worker, seed " << seed;
    }
  }
}

}  // namespace
