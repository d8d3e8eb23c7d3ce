// Journals that lack their beginning, have a gap, or make no sense: schedule_check.hpp accuses nobody of what it cannot
// know, and says what that is.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/random.hpp"
#include "asx/journal/schedule_check.hpp"
#include "asx/journal/testing.hpp"
#include "asx/journal/testing/schedule_script.hpp"

namespace asx {
namespace {

using testing::schedule_script;
using enum governor_code;

// Goal:   a journal without its beginning is never accused of what it cannot show, and what was not checked is said.
// Method: a legal schedule with two lanes, timers and a changed governor, cut at every place.
TEST(schedule_part_check, no_beginning_that_is_missing_is_held_against_the_rest) {
  schedule_script s;
  s.start(7, 2);
  s.configure(2, 3, true);
  s.govern(meet_deadlines, no_preference);
  s.until(1, 900);
  s.timed(1);
  s.timer(event_kind::timer_registered, 1, 50, 1);
  for (std::uint64_t task : {2U, 3U, 4U}) s.cancel(task);
  s.ready(5);
  s.ready(6, 128, 1);
  s.ready(7, 100, 1);
  s.t_yields(1, 3);
  s.c(2);
  s.r(5);
  s.t(1);
  s.c(3);
  s.c(4);
  s.steal(7, 0, 0, 1);
  s.run(7, lane_code::ready, 0);
  s.now = 60;
  s.timer(event_kind::timer_fired, 1, 50, 1);
  s.r(6);
  s.idle(0);
  s.deadline_event(event_kind::deadline_dropped, 1);
  s.idle(1);
  s.put(event_kind::stall_poll).subject = 9;
  s.run(9, lane_code::stall, 0);
  s.last().a = pack(0, 4);
  s.put(event_kind::certificate_issued);
  s.last().a = hash_fields(std::array<std::uint64_t, 7>{3, 4, 3, 1, 0, 0, 2});
  s.last().b = 11;
  ASSERT_TRUE(check_schedule(s.events).accepted()) << explain(check_schedule(s.events));
  const std::span<const event> all = s.events;
  for (std::size_t from = 1; from < all.size(); ++from) {
    const schedule_verdict v = check_schedule(all.subspan(from));
    EXPECT_TRUE(v.accepted()) << "from " << from << "\n" << explain(v);
    EXPECT_EQ(v.unchecked, v.dispatches);
    EXPECT_FALSE(v.certificate_known);
    EXPECT_NE(explain(v).find("begins at event " + std::to_string(from + 1)), std::string::npos);
    for (std::size_t gap = from + 1; gap < all.size(); ++gap) {
      std::vector<event> holed(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(from));
      holed.insert(holed.end(), all.begin() + static_cast<std::ptrdiff_t>(gap), all.end());
      const schedule_verdict h = check_schedule(holed);
      EXPECT_TRUE(h.accepted()) << "without " << from + 1 << " to " << gap << "\n" << explain(h);
      EXPECT_FALSE(h.unknown.empty());
    }
  }
}

TEST(schedule_part_check, a_journal_without_its_beginning_is_still_held_to_what_it_shows) {
  schedule_script s;
  for (std::uint64_t task : {1U, 2U}) s.cancel(task, 100);
  s.cancel(3, 200);
  s.c(1);  // 3 has the higher priority.
  s.c(3);
  s.c(2);
  const std::span<const event> all = s.events;
  const schedule_verdict v = check_schedule(all.subspan(1));
  ASSERT_EQ(v.violations.size(), 1U) << explain(v);
  EXPECT_EQ(v.violations[0].seq, 4U);
  EXPECT_EQ(v.violations[0].rule, "R-97");
}

TEST(schedule_part_check, a_reset_makes_the_count_of_a_late_journal_known) {
  schedule_script s;
  s.ready(1);
  s.r(1);
  s.put(event_kind::certificate_reset);
  s.ready(1);
  s.r(1);
  s.put(event_kind::certificate_issued).b = 2;
  const schedule_verdict v = check_schedule(std::span<const event>(s.events).subspan(1));
  ASSERT_EQ(v.violations.size(), 1U) << explain(v);
  EXPECT_EQ(v.violations[0].rule, "R-103");
}

// Goal:   no stream of events, however strange, breaks the judge.
// Method: streams of the toy runtime, which keeps neither numbers nor lanes by worker, and the same with fields
// changed.
TEST(schedule_part_check, strange_journals_are_judged_and_nothing_breaks) {
  splitmix64 dice(20261115);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<event> events = testing::make_stream(seed, {.events = 2'000}).events;
    const schedule_verdict plain = check_schedule(events);
    EXPECT_GT(plain.dispatches, 0U);
    EXPECT_LE(plain.violations.size(), schedule_verdict::violations_kept);
    for (event& e : events) {
      if (dice.next_below(4) != 0 || !e.semantic()) continue;
      switch (dice.next_below(6)) {
        case 0: e.kind = static_cast<event_kind>(700 + dice.next_below(13)); break;
        case 1: e.a = dice.next(); break;
        case 2: e.b = dice.next_below(4); break;
        case 3: e.worker = static_cast<std::uint16_t>(dice.next()); break;
        case 4: e.subject = dice.next_below(8); break;
        default: e.object = dice.next(); break;
      }
    }
    EXPECT_FALSE(check_schedule(events).accepted());
  }
}

}  // namespace
}  // namespace asx
