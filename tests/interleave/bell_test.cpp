// Laws 1 to 3 of asx/runtime/detail/bell.hpp: one that sleeps and somebody who rings in every interleaving, and two
// that sleep in all with few preemptions, three for one ring and two for two (one more under ASX_INTERLEAVE_LONG), and
// with one stale read of each thread. What needs more of either among two sleepers is not tried.
#include "asx/runtime/detail/bell.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "asx/base/conditional_lock.hpp"
#include "asx/runtime/port_park.hpp"
#include "tests/interleave/atomic.hpp"
#include "tests/interleave/expect.hpp"
#include "tests/interleave/faults.hpp"

namespace {

using namespace asx::interleave;
using asx::duration;

constexpr auto relaxed = std::memory_order_relaxed;

// All but the last thread look inside for what is said, and sleep while there is nothing, as workers do; whoever finds
// all of it ends it for both. `Words` times something is said, and rung for, by the last one. The words are relaxed:
// only the bell, the parkers and the gate order them.
template <template <class> class Atomic, unsigned Words, unsigned Sleepers = 2>
struct sleepers : world {
  static_assert(Sleepers == 1 || Sleepers == 2);
  using bell = asx::detail::basic_bell<Atomic>;
  asx::basic_conditional_lock<asx::interleave::atomic> gate{true};
  bell rings;
  std::array<asx::basic_thread_parker<threads>, Sleepers> parkers;
  asx::interleave::atomic<unsigned> said{0};
  plain<unsigned> woken{0};  // Of the last thread alone.
  std::array<plain<bool>, Sleepers> is_idle;
  plain<bool> is_over{false};

  void run(unsigned thread) override {
    if (thread == Sleepers) return speak();
    const unsigned other = Sleepers - 1 - thread;  // Alone: itself.
    gate.lock();
    while (!is_over) {
      if (said.load(relaxed) == Words) {
        is_over = true;
        if (other != thread) parkers[other].unpark();
        break;
      }
      is_idle[thread] = true;
      if (rings.may_sleep(thread)) {
        gate.unlock();
        parkers[thread].park(duration::max());
        gate.lock();
      }
      is_idle[thread] = false;
      if (rings.answers() == thread) rings.hand_on(is_idle[other] ? other : bell::nobody);
    }
    gate.unlock();
  }
  void speak() {
    for (unsigned i = 1; i <= Words; ++i) {
      said.store(i, relaxed);
      const unsigned one = rings.ring();
      if (one == bell::nobody) continue;
      woken = woken + 1;
      parkers[one].unpark();
    }
  }
  void end() override { check(woken <= Words, "law 2: a ring wakes one at most"); }
};

limits few(unsigned preemptions) {
  return {.executions = 20'000'000, .preemptions = is_long() ? preemptions + 1 : preemptions, .stale_reads = 1};
}

TEST(interleave_bell, one_that_sleeps_hears_each_ring_in_every_interleaving) {  // laws 1 and 2
  constexpr limits none{.executions = 20'000'000, .stale_reads = UINT32_MAX};
  expect_all_hold<sleepers<asx::interleave::atomic, 1, 1>>(2, none);
  expect_all_hold<sleepers<asx::interleave::atomic, 2, 1>>(2, none);
  expect_all_hold<sleepers<asx::interleave::atomic, 3, 1>>(2, none);
}

TEST(interleave_bell, one_ring_is_heard_by_one_of_two_and_nobody_sleeps_on) {  // laws 1 to 3
  const verdict v = explore<sleepers<asx::interleave::atomic, 1>>(3, few(3));
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 100U);
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_bell, a_second_ring_is_heard_whether_the_first_was_or_not) {  // laws 1 and 2
  const verdict v = explore<sleepers<asx::interleave::atomic, 2>>(3, few(2));
  EXPECT_TRUE(v.holds) << v.story;
  RecordProperty("executions", std::to_string(v.executions));
}

// ---- the checks can fail

TEST(interleave_bell_faults, an_exchange_in_two_steps_loses_a_ring_and_is_noticed) {
  expect_noticed<sleepers<torn_atomic, 1, 1>>("everybody sleeps");
  const verdict v = explore<sleepers<torn_atomic, 1>>(3, few(3));
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps"), std::string::npos) << v.story;
}

TEST(interleave_bell_faults, an_exchange_that_hands_nothing_over_is_noticed) {
  EXPECT_FALSE((explore<sleepers<forgetful_atomic, 1>>(3, few(3))).holds);
}

}  // namespace
