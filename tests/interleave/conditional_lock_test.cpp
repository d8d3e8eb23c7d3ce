// Laws 2 and 3 of asx/base/conditional_lock.hpp for two and three threads, in every interleaving.
#include "asx/base/conditional_lock.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/interleave/atomic.hpp"
#include "tests/interleave/faults.hpp"

namespace {

using namespace asx::interleave;
using asx::basic_conditional_lock;

// Each thread takes the lock `Rounds` times and counts in a plain variable, which races if two are inside or if one
// does not see what the last one wrote.
template <template <class> class Atomic, unsigned Threads, unsigned Rounds, bool IsOn = true>
struct counters : world {
  basic_conditional_lock<Atomic> lock{IsOn};
  plain<unsigned> count{0};

  void run(unsigned) override {
    for (unsigned i = 0; i < Rounds; ++i) {
      lock.lock();
      count = count + 1;
      lock.unlock();
    }
  }
  void end() override {
    check(count == Threads * Rounds, "law 2: every round has counted");
    check(lock.try_lock(), "the lock is free again");
    lock.unlock();
  }
};

TEST(interleave_lock, two_threads_take_turns_and_see_what_the_other_wrote) {  // law 2
  const verdict once = explore<counters<asx::interleave::atomic, 2, 1>>(2);
  EXPECT_TRUE(once.holds) << once.story;
  const verdict v = explore<counters<asx::interleave::atomic, 2, 2>>(
      2, {.executions = 2'000'000, .stale_reads = is_long() ? 3U : 1U});
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 100U);
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_lock, three_threads_take_turns_and_none_sleeps_for_ever) {  // laws 2 and 3
  // Stale reads are the business of two; three would be too many executions.
  const verdict v = explore<counters<asx::interleave::atomic, 3, 1>>(
      3, {.executions = 50'000'000, .stale_reads = is_long() ? 1U : 0U});
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 100U);
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_lock, sleeps_that_end_for_no_reason_change_nothing) {
  const verdict v = explore<counters<asx::interleave::atomic, 2, 1>>(2, {.spurious = 2});
  EXPECT_TRUE(v.holds) << v.story;
}

TEST(interleave_lock, trying_takes_it_only_when_it_is_free) {  // law 2
  struct tries : world {
    basic_conditional_lock<asx::interleave::atomic> lock{true};
    plain<unsigned> count{0};
    plain<unsigned> taken{0};
    void run(unsigned thread) override {
      if (thread == 0) {
        lock.lock();
        count = count + 1;
        lock.unlock();
      } else if (lock.try_lock()) {
        count = count + 1;
        taken = 1;
        lock.unlock();
      }
    }
    void end() override { check(count == 1 + taken, "who was let in has counted"); }
  };
  const verdict v = explore<tries>(2);
  EXPECT_TRUE(v.holds) << v.story;
}

// ---- the checks can fail

TEST(interleave_lock_faults, a_lock_that_is_off_is_noticed) {
  const verdict v = explore<counters<asx::interleave::atomic, 2, 1, false>>(2);
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("a race"), std::string::npos) << v.story;
}

TEST(interleave_lock_faults, an_unlock_that_releases_nothing_is_noticed) {
  const verdict v = explore<counters<forgetful_atomic, 2, 1>>(2);
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("a race"), std::string::npos) << v.story;
}

TEST(interleave_lock_faults, an_unlock_that_wakes_nobody_is_noticed) {
  const verdict v = explore<counters<mute_atomic, 2, 1>>(2);
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps"), std::string::npos) << v.story;
}

TEST(interleave_lock_faults, a_waiter_that_forgets_the_other_sleepers_is_noticed_by_three) {
  const verdict v = explore<counters<careless_atomic, 3, 1>>(3, {.stale_reads = 0});
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps"), std::string::npos) << v.story;
}

TEST(interleave_lock_faults, an_exchange_in_two_steps_is_noticed) {
  EXPECT_FALSE((explore<counters<torn_atomic, 2, 2>>(2)).holds);
}

}  // namespace
