// asx/journal/testing/broken_schedule.hpp - schedules that break one rule each, as rows of a table.
//
// Each row makes a schedule that is legal but for one event. The judge of asx/journal/schedule_check.hpp must find that
// event, name it and the rule that it breaks, and report nothing else.
//
// Cancel points: none. Threads: one. Lifetime: rows are constants.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "asx/journal/schedule_check.hpp"
#include "asx/journal/testing/schedule_script.hpp"

namespace asx::testing {

inline constexpr std::uint64_t hour = 3'600'000'000'000;

struct broken_schedule {
  std::string_view name;
  std::string_view rule;
  std::uint64_t (*make)(schedule_script& s);  // Returns the number of the event that is wrong.
};

inline std::ostream& operator<<(std::ostream& out, const broken_schedule& row) {
  return out << row.name;
}
inline std::string name_of_row(const ::testing::TestParamInfo<broken_schedule>& row) {
  return std::string(row.param.name);
}

inline void expect_found(const broken_schedule& row) {
  schedule_script s;
  const std::uint64_t at = row.make(s);
  const schedule_verdict v = check_schedule(s.events);
  ASSERT_EQ(v.violation_count, 1U) << explain(v);
  EXPECT_EQ(v.violations[0].seq, at) << explain(v);
  EXPECT_EQ(v.violations[0].rule, row.rule) << explain(v);
  EXPECT_NE(v.violations[0].text.find("expected"), std::string::npos) << explain(v);
  EXPECT_NE(explain(v).find(std::string(row.rule)), std::string::npos);
}

// ---- beginnings that many rows share

/// Task 1 is timed and runs `n` times; it is queued again afterwards.
inline void timed_streak(schedule_script& s, int n) {
  s.until(1, hour);
  s.timed(1);
  s.t_yields(1, n);
}

inline void cancels(schedule_script& s, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t task = first; task <= last; ++task) s.cancel(task);
}

/// Limits 16 and 3, timed first.
inline void meet_with_3(schedule_script& s) {
  s.configure(16, 3);
  s.govern(governor_code::meet_deadlines, governor_code::no_preference);
}

inline void random_ties(schedule_script& s) {
  s.start(7, 1);
  s.configure(16, 64, true);
}

inline void three_workers(schedule_script& s) {
  s.start(7, 3);
  s.ready(1, 128, 1);
  s.ready(2, 128, 1);
  s.ready(3, 128, 2);
}

}  // namespace asx::testing
