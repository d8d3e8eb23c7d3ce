// The governor by enumeration: every suggestion, every set of waiting lanes, every pair of streaks around the limits.
#include "asx/sched/governor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace asx {
namespace {

constexpr std::array all_suggestions{governor::no_preference, governor::meet_deadlines, governor::drain_obligations,
                                     governor::drain_regions};

// A worker with these streaks, reached by dispatches as a run would reach them.
lane_streaks streaks_of(std::uint32_t timed_limit, unsigned timed, unsigned cancel) {
  lane_streaks s(timed_limit);
  for (unsigned i = 0; i < timed; ++i) s.went_from_timed();
  for (unsigned i = 0; i < cancel; ++i) s.went_from_cancel();
  return s;
}

template <class Check>
void for_every_small_world(Check check) {
  for (const governor g : all_suggestions) {
    for (const std::uint32_t timed_limit : {0U, 1U, 2U, 3U}) {
      for (unsigned timed = 0; timed <= 7; ++timed) {
        for (unsigned cancel = 0; cancel <= 5; ++cancel) {
          for (unsigned lanes = 0; lanes < 8; ++lanes) {
            const waiting_lanes has{(lanes & 1U) != 0, (lanes & 2U) != 0, (lanes & 4U) != 0};
            SCOPED_TRACE("suggestion " + std::to_string(static_cast<int>(g)) + ", timed limit " +
                         std::to_string(timed_limit) + ", timed " + std::to_string(timed) + ", cancel " +
                         std::to_string(cancel) + ", lanes " + std::to_string(lanes));
            check(g, streaks_of(timed_limit, timed, cancel), has);
          }
        }
      }
    }
  }
}

TEST(governor, never_chooses_a_lane_in_which_nobody_waits) {
  for_every_small_world([](governor g, const lane_streaks& s, waiting_lanes has) {
    const lane_choice c = choose_lane(g, s, 2, has);
    if (!c.found) return;
    ASSERT_TRUE(c.from == lane::cancel ? has.cancel : c.from == lane::timed ? has.timed : has.ready);
  });
}

// INV-SC-08: the only thing that can be held back is a cancel lane that has had its streak, when it is all there is.
TEST(governor, holds_back_nothing_but_a_cancel_lane_that_waits_alone_with_a_full_streak) {
  for_every_small_world([](governor g, const lane_streaks& s, waiting_lanes has) {
    const std::uint32_t limit = effective_limit(g, 1);
    const bool may_hold_back = !has.timed && !has.ready && (!has.cancel || s.cancel() >= limit);
    ASSERT_EQ(choose_lane(g, s, limit, has).found, !may_hold_back);
  });
}

TEST(governor, says_that_a_streak_changed_the_choice_exactly_when_it_did) {
  for_every_small_world([](governor g, const lane_streaks& s, waiting_lanes has) {
    if (!has.cancel && !has.timed && !has.ready) return;
    const lane_choice c = choose_lane(g, s, 2, has);
    const lane_choice without = choose_lane(g, lane_streaks(0), UINT32_MAX, has);
    ASSERT_TRUE(without.found && !without.is_limited);
    if (!c.found) return;
    ASSERT_EQ(c.is_limited, c.from != without.from);
    if (c.is_limited) {
      ASSERT_EQ(c.limited, without.from);
    }
  });
}

// whoever has had a full streak does not go before ready work.
TEST(governor, lets_no_full_streak_go_before_ready_work) {
  for_every_small_world([](governor g, const lane_streaks& s, waiting_lanes has) {
    if (!has.ready) return;
    const std::uint32_t limit = effective_limit(g, 2);
    const lane_choice c = choose_lane(g, s, limit, has);
    if (s.cancel() >= limit) {
      ASSERT_NE(c.from, lane::cancel);
    }
    if (s.timed_is_full()) {
      ASSERT_NE(c.from, lane::timed);
    }
  });
}

TEST(governor, doubles_the_cancel_limit_while_draining) {
  EXPECT_EQ(effective_limit(governor::no_preference, 16), 16U);
  EXPECT_EQ(effective_limit(governor::meet_deadlines, 16), 16U);
  EXPECT_EQ(effective_limit(governor::drain_obligations, 16), 32U);
  EXPECT_EQ(effective_limit(governor::drain_regions, 16), 32U);
}

// R-162, then R-204: t t c r, and with no ready work t t c t t c.
TEST(governor, gives_cancel_one_turn_for_each_full_timed_streak) {
  const auto run = [](bool has_ready) {
    lane_streaks s(2);
    std::string out;
    for (int i = 0; i < 8; ++i) {
      const lane_choice c = choose_lane(governor::meet_deadlines, s, 16, {true, true, has_ready});
      switch (c.from) {
        case lane::cancel:
          s.went_from_cancel();
          out += 'c';
          break;
        case lane::timed:
          s.went_from_timed();
          out += 't';
          break;
        case lane::ready:
          s.went_from_ready();
          out += 'r';
          break;
      }
    }
    return out;
  };
  EXPECT_EQ(run(true), "ttcrttcr");
  EXPECT_EQ(run(false), "ttcttctt");
}

// ---- the policy ---------------------------------------------------------------------------------------------------

TEST(pressure_policy, is_off_by_default_and_suggests_nothing_without_pressure) {
  constexpr pressure_policy policy;
  static_assert(!policy.is_on);
  for (const governor g : all_suggestions) EXPECT_EQ(policy.suggest({}, g), governor::no_preference);
}

TEST(pressure_policy, puts_deadlines_before_regions_before_obligations) {
  constexpr pressure_policy policy;
  EXPECT_EQ(policy.suggest({1, 5000, 10}, governor::no_preference), governor::meet_deadlines);
  EXPECT_EQ(policy.suggest({0, 5000, 10}, governor::no_preference), governor::drain_regions);
  EXPECT_EQ(policy.suggest({0, 5000, 0}, governor::no_preference), governor::drain_obligations);
}

TEST(pressure_policy, keeps_a_suggestion_until_its_count_is_at_leave_and_does_not_flutter) {
  constexpr pressure_policy policy{.open_obligations_enter = 100, .open_obligations_leave = 50};
  governor g = governor::no_preference;
  const auto look = [&](std::uint64_t open) { return g = policy.suggest({0, open, 0}, g); };
  EXPECT_EQ(look(99), governor::no_preference);
  EXPECT_EQ(look(100), governor::drain_obligations);
  EXPECT_EQ(look(51), governor::drain_obligations);
  EXPECT_EQ(look(99), governor::drain_obligations);
  EXPECT_EQ(look(50), governor::no_preference);
  EXPECT_EQ(look(99), governor::no_preference);
}

}  // namespace
}  // namespace asx
