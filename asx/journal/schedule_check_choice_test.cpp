// Schedules in which the wrong lane was served, and what that does to those who wait: schedule_check.hpp.
#include <gtest/gtest.h>

#include "asx/journal/testing/broken_schedule.hpp"

namespace asx::testing {
namespace {

using enum governor_code;

// clang-format off: a table is read by its rows
constexpr broken_schedule lane_choice[] = {
    {"ready_before_cancel", "INV-SC-01",
     [](schedule_script& s) {
       s.ready(1);
       s.cancel(2);
       s.r(1);
       const std::uint64_t at = s.seq();
       s.c(2);
       return at;
     }},
    {"timed_before_cancel", "INV-SC-01",
     [](schedule_script& s) {
       s.until(1, hour);
       s.timed(1);
       s.cancel(2);
       s.t(1);
       const std::uint64_t at = s.seq();
       s.c(2);
       return at;
     }},
    {"ready_before_timed", "INV-SC-01",
     [](schedule_script& s) {
       s.until(1, hour);
       s.timed(1);
       s.ready(2);
       s.r(2);
       const std::uint64_t at = s.seq();
       s.t(1);
       return at;
     }},
    {"seventeen_cancels_while_ready_waits", "R-102",
     [](schedule_script& s) {
       cancels(s, 1, 18);
       s.ready(30);
       s.each(lane_code::cancel, 1, 17);
       const std::uint64_t at = s.seq();
       s.r(30);
       s.c(18);
       return at;
     }},
    {"seventeen_cancels_while_timed_waits", "R-102",
     [](schedule_script& s) {
       cancels(s, 1, 17);
       s.until(30, hour);
       s.timed(30);
       s.each(lane_code::cancel, 1, 17);
       const std::uint64_t at = s.seq();
       s.t(30);
       return at;
     }},
    {"fallback_while_ready_waits", "R-102",
     [](schedule_script& s) {
       cancels(s, 1, 17);
       s.ready(30);
       s.each(lane_code::cancel, 1, 16);
       s.f(17);
       const std::uint64_t at = s.seq();
       s.r(30);
       return at;
     }},
    {"fallback_before_the_streak_is_full", "R-102",
     [](schedule_script& s) {
       cancels(s, 1, 3);
       s.c(1);
       s.f(2);
       const std::uint64_t at = s.seq();
       s.c(3);
       return at;
     }},
    {"cancel_told_where_it_is_fallback", "R-102",
     [](schedule_script& s) {
       cancels(s, 1, 17);
       s.each(lane_code::cancel, 1, 17);
       return s.seq();
     }},
    {"a_timed_dispatch_that_does_not_end_the_cancel_streak", "INV-SC-01",
     [](schedule_script& s) {  // after timed the streak is 0, so cancel is first again.
       cancels(s, 1, 17);
       s.until(30, hour);
       s.timed(30);
       s.ready(31);
       s.each(lane_code::cancel, 1, 16);
       s.t(30);
       s.r(31);
       const std::uint64_t at = s.seq();
       s.c(17);
       return at;
     }},
    {"ready_ignored_at_65", "R-106",
     [](schedule_script& s) {
       s.ready(2);
       timed_streak(s, 64);
       s.t(1);
       const std::uint64_t at = s.seq();
       s.r(2);
       return at;
     }},
    {"ready_let_in_at_64", "INV-SC-01",
     [](schedule_script& s) {
       s.ready(2);
       timed_streak(s, 63);
       s.r(2);
       return s.seq();
     }},
    {"a_cancel_that_ends_the_timed_streak", "R-106",
     [](schedule_script& s) {
       s.configure(16, 3);
       s.ready(2);
       timed_streak(s, 2);
       s.cancel(3);
       s.c(3);
       s.t_yields(1, 1);
       s.t(1);
       const std::uint64_t at = s.seq();
       s.r(2);
       return at;
     }},
    {"a_theft_for_a_full_timed_streak", "R-101",
     [](schedule_script& s) {  // only ready work of the same worker counts.
       s.start(7, 2);
       s.configure(16, 3);
       timed_streak(s, 3);
       s.ready(2, 128, 1);
       s.steal(2, 0, 0, 1);
       s.run(2, lane_code::ready, 0);
       return s.seq();
     }},
    {"governor_not_applied", "R-107",
     [](schedule_script& s) {
       s.until(1, hour);
       s.timed(1);
       s.cancel(2);
       s.govern(meet_deadlines, no_preference);
       s.c(2);
       const std::uint64_t at = s.seq();
       s.t(1);
       return at;
     }},
    {"governor_applied_too_early", "INV-SC-01",
     [](schedule_script& s) {
       s.until(1, hour);
       s.timed(1);
       s.cancel(2);
       s.t(1);
       const std::uint64_t at = s.seq();
       s.govern(meet_deadlines, no_preference);
       s.c(2);
       return at;
     }},
    {"ready_before_cancel_under_meet_deadlines", "R-107",
     [](schedule_script& s) {
       s.govern(meet_deadlines, no_preference);
       s.ready(1);
       s.cancel(2);
       s.r(1);
       const std::uint64_t at = s.seq();
       s.c(2);
       return at;
     }},
    {"a_doubled_limit_after_it_was_taken_back", "R-102",
     [](schedule_script& s) {
       cancels(s, 1, 20);
       s.ready(30);
       s.govern(drain_regions, no_preference);
       s.each(lane_code::cancel, 1, 18);
       s.govern(no_preference, drain_regions);
       s.c(19);
       return s.seq();
     }},
    {"a_doubled_limit_that_was_not_used", "INV-SC-01",
     [](schedule_script& s) {
       cancels(s, 1, 20);
       s.ready(30);
       s.govern(drain_obligations, no_preference);
       s.each(lane_code::cancel, 1, 16);
       s.r(30);
       return s.seq();
     }},
    {"no_cancel_after_a_full_timed_streak", "R-162",
     [](schedule_script& s) {
       meet_with_3(s);
       s.cancel(2);
       timed_streak(s, 4);
       return s.seq() - 1;
     }},
    {"ready_before_cancels_turn", "R-162",
     [](schedule_script& s) {
       meet_with_3(s);
       s.cancel(2);
       s.ready(3);
       timed_streak(s, 3);
       s.r(3);
       return s.seq();
     }},
    {"no_ready_after_cancels_turn", "R-162",
     [](schedule_script& s) {
       meet_with_3(s);
       s.cancel(2);
       s.ready(3);
       timed_streak(s, 3);
       s.c(2);
       s.t(1);
       const std::uint64_t at = s.seq();
       s.r(3);
       return at;
     }},
    {"two_cancels_in_one_turn", "R-204",
     [](schedule_script& s) {
       meet_with_3(s);
       cancels(s, 2, 3);
       timed_streak(s, 3);
       s.c(2);
       s.c(3);
       return s.seq();
     }},
    {"cancels_turn_comes_back_too_early", "R-204",
     [](schedule_script& s) {
       meet_with_3(s);
       cancels(s, 2, 3);
       timed_streak(s, 3);
       s.c(2);
       s.t_yields(1, 2);
       s.c(3);
       return s.seq();
     }},
    {"cancels_turn_does_not_come_back", "R-204",
     [](schedule_script& s) {
       meet_with_3(s);
       cancels(s, 2, 3);
       timed_streak(s, 3);
       s.c(2);
       s.t_yields(1, 4);
       return s.seq() - 1;
     }},
    {"fallback_before_stealing", "R-163",
     [](schedule_script& s) {
       s.start(7, 2);
       s.configure(1, 64);
       cancels(s, 1, 2);
       s.ready(3, 128, 1);
       s.c(1);
       s.f(2);
       return s.seq();
     }},
    {"stealing_before_ones_own_ready_work", "R-101",
     [](schedule_script& s) {
       three_workers(s);
       s.steal(3, 1, 1, 1);
       s.run(3, lane_code::ready, 1);
       return s.seq();
     }},
};
// clang-format on

class schedule_choice_check : public ::testing::TestWithParam<broken_schedule> {};
TEST_P(schedule_choice_check, the_one_thing_that_is_wrong) {
  expect_found(GetParam());
}
INSTANTIATE_TEST_SUITE_P(lane_choice, schedule_choice_check, ::testing::ValuesIn(lane_choice), name_of_row);

// ---- starvation: who waits longer than the rules allow was passed over before, so several things are wrong ----------

schedule_violation last_of(const schedule_script& s) {
  const schedule_verdict v = check_schedule(s.events);
  EXPECT_FALSE(v.accepted());
  return v.accepted() ? schedule_violation{} : v.violations.back();
}

TEST(schedule_wait_check, a_ready_task_that_starves_behind_cancels_is_named) {
  schedule_script s;
  s.configure(2, 1);
  s.ready(1);
  for (std::uint64_t task = 2; task <= 8; ++task) {
    s.cancel(task);
    s.c(task);
  }
  s.r(1);
  const schedule_violation found = last_of(s);
  EXPECT_EQ(found.rule, "INV-SC-04");
  EXPECT_EQ(found.seq, s.seq());
  EXPECT_NE(found.text.find("dispatch 6 "), std::string::npos) << found.text;  // (0 + 1)(1 + 1)(2 + 1)
  EXPECT_NE(found.text.find("dispatch 8"), std::string::npos) << found.text;
}

TEST(schedule_wait_check, a_task_that_starves_to_the_end_is_named_too) {
  schedule_script s;
  s.configure(1, 1);
  s.until(1, hour);
  s.timed(1);
  const std::uint64_t queued = s.seq();
  for (std::uint64_t task = 2; task <= 5; ++task) {
    s.cancel(task);
    s.c(task);
  }
  const schedule_violation found = last_of(s);  // (0 + 2 + 0)(1 + 1) = 4 dispatches, and it still waits.
  EXPECT_EQ(found.rule, "INV-SC-04");
  EXPECT_EQ(found.seq, queued);
}

TEST(schedule_wait_check, a_cancel_that_starves_is_named) {
  schedule_script s;
  s.cancel(1);
  for (std::uint64_t task : {2U, 3U}) {
    s.ready(task);
    s.r(task);
  }
  s.c(1);
  const schedule_violation found = last_of(s);
  EXPECT_EQ(found.rule, "R-204");
  EXPECT_EQ(found.seq, s.seq());
}

TEST(schedule_wait_check, many_violations_are_counted_and_the_first_are_kept) {
  schedule_script s;
  for (std::uint64_t i = 0; i < 1'500; ++i) s.run(1, lane_code::ready, 0);
  const schedule_verdict v = check_schedule(s.events);
  EXPECT_EQ(v.violation_count, 1'500U);
  EXPECT_EQ(v.violations.size(), schedule_verdict::violations_kept);
  EXPECT_NE(explain(v).find("and 500 more"), std::string::npos);
}

}  // namespace
}  // namespace asx::testing
