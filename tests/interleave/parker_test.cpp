// Laws 1 and 2 of asx/runtime/port_park.hpp in every interleaving: wake against park.
#include <gtest/gtest.h>

#include <string>

#include "asx/runtime/port_park.hpp"
#include "tests/interleave/atomic.hpp"
#include "tests/interleave/faults.hpp"

namespace {

using namespace asx::interleave;
using asx::basic_thread_parker;
using asx::duration;

constexpr duration ever = duration::max();
constexpr duration a_while = duration::milliseconds(1);
constexpr auto relaxed = std::memory_order_relaxed;

// One unpark, one park, in any order; what was written before the unpark is seen after the park.
template <class Threads>
struct once : world {
  basic_thread_parker<Threads> parker;
  plain<int> letter{0};

  void run(unsigned thread) override {
    if (thread == 0) {
      parker.park(ever);
      check(letter == 7, "what was written before the unpark is seen");
    } else {
      letter = 7;
      parker.unpark();
    }
  }
};

// The words are relaxed: only the parker orders them. Who looked, saw nothing new and parked must be told.
template <class Threads, unsigned Speakers, unsigned Words>
struct mailbox : world {
  basic_thread_parker<Threads> parker;
  asx::interleave::atomic<unsigned> said[Speakers];

  [[nodiscard]] bool has_all() noexcept {
    for (auto& s : said) {
      if (s.load(relaxed) != Words) return false;
    }
    return true;
  }
  void run(unsigned thread) override {
    if (thread == 0) {
      while (!has_all()) parker.park(ever);
      return;
    }
    for (unsigned i = 1; i <= Words; ++i) {
      said[thread - 1].store(i, relaxed);
      parker.unpark();
    }
  }
};

// A park whose time may be over at any moment, then one that only an unpark ends: an unpark that came too late for the
// first is kept for the second, and one that the first has swallowed has been seen.
template <class Threads>
struct impatient : world {
  basic_thread_parker<Threads> parker;
  asx::interleave::atomic<unsigned> said{0};
  plain<int> letter{0};

  void run(unsigned thread) override {
    if (thread == 0) {
      parker.park(a_while);
      if (said.load(relaxed) == 0) parker.park(ever);
      check(said.load(relaxed) == 1, "law 2: the unpark was seen by one of the two");
    } else {
      letter = 7;
      said.store(1, relaxed);
      parker.unpark();
    }
  }
  void end() override { check(letter == 7, "the world has ended after its threads"); }
};

TEST(interleave_parker, no_unpark_is_lost_whether_it_comes_before_or_after) {  // law 2
  const verdict v = explore<once<threads>>(2);
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GE(v.executions, 4U);
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_parker, who_saw_nothing_new_and_parks_is_woken) {  // law 2
  const verdict v = explore<mailbox<threads, 1, 1>>(2);
  EXPECT_TRUE(v.holds) << v.story;
  const verdict twice = explore<mailbox<threads, 1, 2>>(2);
  EXPECT_TRUE(twice.holds) << twice.story;
  const verdict restless = explore<mailbox<threads, 1, 1>>(2, {.spurious = 2});  // law 1
  EXPECT_TRUE(restless.holds) << restless.story;
  RecordProperty("executions", std::to_string(twice.executions));
}

TEST(interleave_parker, two_unparks_before_one_park_are_one_and_both_are_seen) {  // law 2
  const verdict v = explore<mailbox<threads, 2, 1>>(3, {.stale_reads = 2});
  EXPECT_TRUE(v.holds) << v.story;
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_parker, an_unpark_that_meets_the_end_of_the_time_is_seen_now_or_kept) {  // laws 1 and 2
  const verdict v = explore<impatient<threads>>(2);
  EXPECT_TRUE(v.holds) << v.story;
  RecordProperty("executions", std::to_string(v.executions));
}

// ---- the checks can fail

TEST(interleave_parker_faults, a_sleep_without_a_look_is_noticed) {
  const verdict v = explore<once<blind_threads>>(2);
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps"), std::string::npos) << v.story;
}

TEST(interleave_parker_faults, an_unpark_that_wakes_nobody_is_noticed) {
  const verdict v = explore<once<mute_threads>>(2);
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps"), std::string::npos) << v.story;
}

TEST(interleave_parker_faults, an_unpark_that_hands_nothing_over_is_noticed) {
  const verdict race = explore<once<forgetful_threads>>(2);
  EXPECT_FALSE(race.holds);
  EXPECT_NE(race.story.find("a race"), std::string::npos) << race.story;
  EXPECT_FALSE((explore<mailbox<forgetful_threads, 1, 1>>(2)).holds);
  EXPECT_FALSE((explore<impatient<forgetful_threads>>(2)).holds);
}

TEST(interleave_parker_faults, an_exchange_in_two_steps_is_noticed) {
  EXPECT_FALSE((explore<mailbox<torn_threads, 2, 1>>(3)).holds);
}

}  // namespace
