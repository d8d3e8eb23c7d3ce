// asx/sched/fixtures_test.cpp - the catalogue's scheduler fixtures, each shown on the scheduler alone.
//
// One test for each id. The expectations are the rulings'; counters are worked out by hand beside them.
// sc-timer-phase0-001 is not here: it needs timers, and the scheduler knows none.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/time.hpp"
#include "asx/sched/scheduler.hpp"
#include "asx/sched/testing/stage.hpp"

namespace {

using asx::dispatch;
using asx::dispatch_source;
using asx::duration;
using asx::governor;
using asx::instant;
using asx::lane;
using asx::sched_config;
using asx::testing::stage;

using tasks = stage::tasks;

// written out a second time: the n-th draw (from 0) of a worker's stream.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}
constexpr std::uint64_t nth_draw(std::uint64_t seed, std::uint32_t worker, std::uint64_t stream, std::uint64_t n) {
  constexpr std::uint64_t step = 0x9e3779b97f4a7c15U;
  const std::uint64_t state = mix((seed ^ worker ^ (stream << 32)) + step);
  return mix(state + (n + 1) * step);
}
constexpr std::uint64_t tie_break_stream = 0;
constexpr std::uint64_t steal_stream = 1;

// sc-lane-priority-001. INV-SC-01: the lane decides first, whatever the priorities and the order of arrival.
TEST(scheduler_fixtures, sc_lane_priority_001) {
  RecordProperty("fixture", "sc-lane-priority-001");
  stage s;
  s.push(1, lane::ready, 255);
  s.push_timed(2, instant{0});
  s.push(3, lane::cancel, 0);
  s.push(4, lane::ready, 255);
  s.push_timed(5, instant::none());
  s.push(6, lane::cancel, 0);
  EXPECT_EQ(s.run(), "c2 t2 r2");
  EXPECT_EQ(s.dispatched(), (tasks{3, 6, 2, 5, 1, 4}));
  EXPECT_TRUE(s->empty());
  // Two of each; no streak came near a limit.
  s.expect_certificate({2, 2, 2, 0, 0, 0, 16});
}

// sc-fifo-priority-001. INV-SC-02, R-96: equal priorities in the order of insertion, not of the tasks' ids.
TEST(scheduler_fixtures, sc_fifo_priority_001) {
  RecordProperty("fixture", "sc-fifo-priority-001");
  for (const lane l : {lane::cancel, lane::ready}) {
    stage s;
    for (const std::uint64_t number : {9U, 2U, 7U, 4U}) s.push(number, l, 10);
    for (const std::uint64_t number : {8U, 1U}) s.push(number, l, 11);
    EXPECT_EQ(s.run_tasks(), (tasks{8, 1, 9, 2, 7, 4}));
  }

  stage s;  // What leaves and comes back is behind those that stayed.
  for (const std::uint64_t number : {1U, 2U, 3U}) s.push(number, lane::ready);
  EXPECT_TRUE(s->remove(s.task(1)));
  EXPECT_FALSE(s->remove(s.task(1)));
  s.push(1, lane::ready);
  EXPECT_EQ(s.run_tasks(), (tasks{2, 3, 1}));
}

// sc-edf-001. The timed lane knows deadlines and no priorities; none is the latest.
TEST(scheduler_fixtures, sc_edf_001) {
  RecordProperty("fixture", "sc-edf-001");
  stage s;
  s.push_timed(1, instant::none());
  s.push_timed(2, instant{duration::hours(1).ns});
  s.push_timed(3, instant{UINT64_MAX - 1});
  s.push_timed(4, instant{0});
  s.push_timed(5, instant{1});
  EXPECT_TRUE(s->push(0, s.task(6), lane::timed, 255, instant{duration::hours(2).ns}));
  EXPECT_EQ(s.run(), "t6");
  EXPECT_EQ(s.dispatched(), (tasks{4, 5, 2, 6, 3, 1}));
}

// sc-edf-fifo-001. INV-SC-03: equal deadlines in the order of insertion, and the priority does not count.
TEST(scheduler_fixtures, sc_edf_fifo_001) {
  RecordProperty("fixture", "sc-edf-fifo-001");
  stage s;
  const instant deadline{5};
  s.push_timed(3, deadline);
  EXPECT_TRUE(s->push(0, s.task(1), lane::timed, 0, deadline));
  EXPECT_TRUE(s->push(0, s.task(2), lane::timed, 255, deadline));
  s.push_timed(4, instant{4});
  EXPECT_EQ(s.run_tasks(), (tasks{4, 3, 1, 2}));
}

// sc-rng-tiebreak-001.: one draw a dispatch, modulo the candidates, in the order of insertion.
TEST(scheduler_fixtures, sc_rng_tiebreak_001) {
  RecordProperty("fixture", "sc-rng-tiebreak-001");
  const auto run = [](std::uint64_t seed) {
    sched_config config;
    config.seed = seed;
    config.ready_tiebreak = asx::tie_break::rng;
    stage s(config);
    for (std::uint64_t number = 1; number <= 6; ++number) s.push(number, lane::ready);
    tasks waiting = {1, 2, 3, 4, 5, 6};
    tasks order;
    for (std::uint64_t draw = 0; draw < 6; ++draw) {
      const std::uint64_t count = waiting.size();
      const std::uint64_t choice = count == 1 ? 0 : nth_draw(seed, 0, tie_break_stream, draw) % count;
      const dispatch d = s.next();
      EXPECT_EQ(d.candidates, count == 1 ? 0 : count) << "R-209: a single candidate is no choice";
      EXPECT_EQ(d.chosen, choice);
      const auto expected = waiting.begin() + static_cast<tasks::difference_type>(choice);
      EXPECT_EQ(stage::task_of(d), *expected);
      order.push_back(*expected);
      waiting.erase(expected);
    }
    return order;
  };
  EXPECT_EQ(run(0), (tasks{4, 6, 5, 1, 3, 2}));  // Draws 3, 4, 3, 0, 1 modulo 6, 5, 4, 3, 2.
  EXPECT_EQ(run(0), run(0));
  EXPECT_EQ(run(1), (tasks{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(run(42), (tasks{3, 4, 5, 6, 2, 1}));
}

// sc-steal-001. INV-SC-05, R-101: victims in a seeded circular order, and of a victim its last-ranked ready entry.
TEST(scheduler_fixtures, sc_steal_001) {
  RecordProperty("fixture", "sc-steal-001");
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, UINT64_MAX}) {
    sched_config config;
    config.seed = seed;
    config.workers = 4;
    stage s(config);
    for (std::uint32_t thief = 0; thief < 4; ++thief) {
      for (std::uint64_t scan = 0; scan < 8; ++scan) {
        const std::uint64_t start = nth_draw(seed, thief, steal_stream, scan) % 3;
        // Only the victim that is looked at last has something: the whole circle is walked.
        const std::uint64_t last_index = (start + 2) % 3;
        const auto victim = static_cast<std::uint32_t>(last_index < thief ? last_index : last_index + 1);
        s.push(1, lane::ready, 3, victim);
        const dispatch d = s.next(thief);
        ASSERT_NE(d.who, nullptr);
        EXPECT_EQ(d.from, dispatch_source::ready);
        EXPECT_EQ(d.victim, victim);
        EXPECT_EQ(d.scan_start, start) << "seed " << seed << " thief " << thief << " scan " << scan;
        EXPECT_EQ(d.scanned, 3U);
        EXPECT_FALSE(d.is_limited);
      }
    }
    s.expect_certificate({0, 0, 32, 0, 0, 0, 16});  // Each theft is a ready dispatch.
  }

  sched_config two;
  two.workers = 2;
  stage s(two);
  s.push(1, lane::ready, 5, 1);
  s.push(2, lane::ready, 9, 1);
  s.push(3, lane::ready, 5, 1);
  s.push(4, lane::cancel, 0, 1);
  s.push_timed(5, instant::none(), 1);
  EXPECT_EQ(s.run(), "s3");  // Never cancel or timed.
  EXPECT_EQ(s.dispatched(), (tasks{3, 1, 2}));
  EXPECT_EQ(s.run(stage::all, 1), "c t");
}

// sc-cancel-streak-001. INV-SC-04, R-102: after 16 cancels one other dispatch, of whatever lane is next.
TEST(scheduler_fixtures, sc_cancel_streak_001) {
  RecordProperty("fixture", "sc-cancel-streak-001");
  stage s;
  s.push_many(40, lane::cancel);
  s.push_many(1, lane::ready);
  s.push_many(1, lane::timed);
  EXPECT_EQ(s.run(16), "c16");
  EXPECT_EQ(s->cancel_streak(0), 16U);
  const dispatch given_way = s.next();
  EXPECT_EQ(given_way.from, dispatch_source::timed);
  EXPECT_TRUE(given_way.is_limited);
  EXPECT_EQ(given_way.limited, lane::cancel);
  EXPECT_EQ(s->cancel_streak(0), 0U);
  EXPECT_EQ(s.run(), "c16 r c8");
  // 16 + 16 + 8 cancels, one timed, one ready; the streak never went above 16.
  s.expect_certificate({40, 1, 1, 0, 0, 0, 16});

  stage alone;  // Nothing to give way to: the fallback, and the streak goes on counting.
  alone.push_many(40, lane::cancel);
  EXPECT_EQ(alone.run(39), "c16 f23");
  EXPECT_EQ(alone->cancel_streak(0), 39U);
  alone.push_many(1, lane::ready);
  EXPECT_EQ(alone.run(), "r c");
  // 16 plain and 1 after the ready; dispatches 17 to 39 are fallbacks, each above both limits.
  alone.expect_certificate({17, 0, 1, 23, 23, 23, 16});
}

// sc-governor-meet-001. MeetDeadlines: timed, cancel, ready; and back at the next dispatch.
TEST(scheduler_fixtures, sc_governor_meet_001) {
  RecordProperty("fixture", "sc-governor-meet-001");
  stage s;
  EXPECT_EQ(s->suggestion(), governor::no_preference);  // U-30
  s.push_many(3, lane::ready);
  s.push_many(4, lane::cancel);
  s.push_many(4, lane::timed);
  s->suggest(governor::meet_deadlines);
  EXPECT_EQ(s->suggestion(), governor::meet_deadlines);
  EXPECT_EQ(s->effective_limit(), 16U);
  EXPECT_EQ(s.run(3), "t3");
  s->suggest(governor::no_preference);
  EXPECT_EQ(s.run(2), "c2");
  s->suggest(governor::meet_deadlines);
  EXPECT_EQ(s.run(), "t c2 r3");
  s.expect_certificate({4, 4, 3, 0, 0, 0, 16});
}

// sc-governor-drain-001. Both drain suggestions double the limit of the cancel streak and leave the order alone.
TEST(scheduler_fixtures, sc_governor_drain_001) {
  RecordProperty("fixture", "sc-governor-drain-001");
  for (const governor drain : {governor::drain_obligations, governor::drain_regions}) {
    stage s;
    s->suggest(drain);
    EXPECT_EQ(s->effective_limit(), 32U);
    s.push_many(1, lane::ready);
    s.push_many(1, lane::timed);
    s.push_many(70, lane::cancel);
    EXPECT_EQ(s.run(), "c32 t c32 r c6");
    // Cancels 17 to 32 of each of the two long streaks are above the base limit 16: 2 x 16. None is above 32.
    s.expect_certificate({70, 1, 1, 0, 32, 0, 32});
  }
}

// sc-certificate-001. INV-SC-06: the hash covers the seven counters, and equal traces give equal hashes.
TEST(scheduler_fixtures, sc_certificate_001) {
  RecordProperty("fixture", "sc-certificate-001");
  const auto run = [](std::uint64_t first_task, std::uint64_t seed) {
    sched_config config;
    config.seed = seed;
    stage s(config);
    s->suggest(governor::drain_regions);
    for (std::uint64_t i = 0; i < 36; ++i) s.push(first_task + i, lane::cancel);
    EXPECT_EQ(s.run(), "c32 f4");
    s->suggest(governor::no_preference);
    for (std::uint64_t i = 0; i < 3; ++i) s.push_timed(first_task + i, instant{i});
    s.push(first_task + 3, lane::ready);
    EXPECT_EQ(s.run(), "t3 r");
    return s->certificate();
  };
  const asx::fairness_certificate first = run(1, 0);
  // Base 16: cancels 17 to 36 are above it, 20. Effective 32: 33 to 36, the fallbacks, 4.
  const std::array<std::uint64_t, 7> fields = {32, 3, 1, 4, 20, 4, 32};
  EXPECT_EQ(first, (asx::fairness_certificate{32, 3, 1, 4, 20, 4, 32}));
  EXPECT_EQ(first.dispatches(), 40U);
  EXPECT_EQ(first.witness_hash(), asx::hash_fields(fields));
  EXPECT_EQ(run(1, 0).witness_hash(), first.witness_hash());
  EXPECT_EQ(run(100, 7), first);  // Neither ids nor seed are in it, only what was counted.
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::array<std::uint64_t, 7> other = fields;
    ++other[i];
    const asx::fairness_certificate changed{other[0], other[1], other[2], other[3], other[4], other[5], other[6]};
    EXPECT_EQ(changed.witness_hash(), asx::hash_fields(other));
    EXPECT_NE(changed.witness_hash(), first.witness_hash()) << "field " << i << " is not in the hash";
  }

  // A certificate that counted nothing: six zeros and the base limit.
  stage fresh;
  fresh.expect_certificate({0, 0, 0, 0, 0, 0, 16});
}

}  // namespace
