// Schedules with something overdue, wrong idleness, or a wrong certificate: schedule_check.hpp.
#include <gtest/gtest.h>

#include <array>

#include "asx/base/hash.hpp"
#include "asx/journal/testing/broken_schedule.hpp"

namespace asx::testing {
namespace {

using enum governor_code;
using enum event_kind;

// clang-format off: a table is read by its rows
constexpr broken_schedule time_idleness_certificate[] = {
    {"timer_overdue", "INV-SC-07",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.ready(1);
       s.now = 50;
       s.r(1);
       const std::uint64_t at = s.seq();
       s.ready(1);
       s.r(1);  // Told once.
       s.timer(timer_fired, 1, 50, 1);
       return at;
     }},
    {"updated_timer_overdue", "INV-SC-07",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 500, 1);
       s.timer(timer_updated, 2, 50, 1);
       s.ready(1);
       s.now = 60;
       s.r(1);
       return s.seq();
     }},
    {"deadline_overdue", "INV-SC-07",
     [](schedule_script& s) {
       s.until(1, 50);
       s.ready(2);
       s.now = 50;
       s.r(2);
       const std::uint64_t at = s.seq();
       s.deadline_event(deadline_passed, 1);
       return at;
     }},
    {"deadline_of_the_dispatched_task_overdue", "INV-SC-07",
     [](schedule_script& s) {
       s.until(1, 50);
       s.timed(1);
       s.now = 51;
       s.t(1);
       return s.seq();
     }},
    {"deadline_passed_too_early", "R-54",
     [](schedule_script& s) {
       s.until(1, 50);
       s.now = 49;
       s.deadline_event(deadline_passed, 1);
       return s.seq();
     }},
    {"deadline_passed_twice", "R-54",
     [](schedule_script& s) {
       s.until(1, 50);
       s.now = 50;
       s.deadline_event(deadline_passed, 1);
       s.deadline_event(deadline_passed, 1);
       return s.seq();
     }},
    {"another_deadline_passed", "R-54",
     [](schedule_script& s) {
       s.until(1, 50);
       s.now = 50;
       s.deadline_event(deadline_passed, 1).a = 49;
       return s.seq();
     }},
    {"timers_fired_out_of_order", "R-81",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.timer(timer_registered, 2, 40, 2);
       s.now = 60;
       s.timer(timer_fired, 1, 50, 1);
       s.timer(timer_fired, 2, 40, 2);
       return s.seq();
     }},
    {"equal_timers_fired_out_of_order", "INV-TM-03",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.timer(timer_registered, 2, 50, 2);
       s.now = 60;
       s.timer(timer_fired, 2, 50, 2);
       s.timer(timer_fired, 1, 50, 1);
       return s.seq();
     }},
    {"timer_fired_too_early", "INV-TM-08",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.now = 49;
       s.timer(timer_fired, 1, 50, 1);
       return s.seq();
     }},
    {"timer_fired_beyond_what_was_coalesced", "INV-TM-08",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.timer(timer_registered, 2, 90, 2);
       s.now = 55;
       s.timer(timers_coalesced, 0, 2, 80);
       s.timer(timer_fired, 1, 50, 1);
       s.timer(timer_fired, 2, 90, 2);
       return s.seq();
     }},
    {"cancelled_timer_fired", "INV-TM-02",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.timer(timer_cancelled, 1, 50, 1);
       s.now = 50;
       s.timer(timer_fired, 1, 50, 1);
       return s.seq();
     }},
    {"replaced_timer_fired", "INV-TM-02",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.timer(timer_updated, 2, 90, 1);
       s.now = 50;
       s.timer(timer_fired, 1, 50, 1);
       return s.seq();
     }},
    {"time_goes_back", "R-87",
     [](schedule_script& s) {
       s.now = 10;
       s.ready(1);
       s.now = 9;
       s.r(1);
       return s.seq();
     }},
    {"the_clock_goes_back", "R-87",
     [](schedule_script& s) {
       event& e = s.put(input_time);
       e.a = 5;
       e.b = 6;
       s.now = 5;
       return s.seq();
     }},
    {"time_before_what_the_clock_said", "R-87",
     [](schedule_script& s) {
       s.put(input_time).a = 100;
       s.ready(1);
       return s.seq();
     }},
    {"a_number_given_twice", "R-113",
     [](schedule_script& s) {
       s.ready(1);
       s.put(poll_ended).seq = 1;
       s.events.back().subject = 1;
       return std::uint64_t{1};
     }},
    {"idle_with_ready_work", "R-206",
     [](schedule_script& s) {
       s.ready(1);
       s.idle();
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"idle_with_cancel_work", "R-206",
     [](schedule_script& s) {
       cancels(s, 1, 17);
       s.each(lane_code::cancel, 1, 16);
       s.idle();
       return s.seq();
     }},
    {"idle_while_others_have_ready_work", "R-206",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1, 128, 1);
       s.idle(0);
       return s.seq();
     }},
    {"idle_told_twice", "R-206",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       s.idle();
       s.idle();
       return s.seq();
     }},
    {"idle_told_of_another", "R-206",
     [](schedule_script& s) {
       s.start(7, 2);
       s.idle(1).subject = 0;
       return s.seq();
     }},
    {"stall_while_runnable", "R-132",
     [](schedule_script& s) {
       s.ready(1);
       s.s(2);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"stall_while_another_worker_has_work", "R-132",
     [](schedule_script& s) {
       s.start(7, 2);
       s.cancel(1, 128, 1);
       s.s(2);
       return s.seq();
     }},
    {"stall_while_a_timer_is_pending", "R-132",
     [](schedule_script& s) {
       s.timer(timer_registered, 1, 50, 1);
       s.s(2);
       return s.seq();
     }},
    {"stall_while_a_deadline_is_pending", "R-132",
     [](schedule_script& s) {
       s.until(1, hour);
       s.s(2);
       return s.seq();
     }},
    {"stall_while_somebody_outside_may_wake", "R-132",
     [](schedule_script& s) {
       s.put(foreign_hold_taken).a = 1;
       s.s(2);
       return s.seq();
     }},
    {"stall_poll_that_the_kernel_did_not_ask_for", "R-132",
     [](schedule_script& s) {
       s.s(2);
       s.s(3);
       s.events[s.events.size() - 2].subject = 4;
       return s.seq();
     }},
    {"stall_with_an_insertion_number", "R-132",
     [](schedule_script& s) {
       s.s(2).b = 1;
       return s.seq();
     }},
    {"stall_of_a_worker_that_is_not_idle", "R-207",
     [](schedule_script& s) {
       s.cancel(1);
       s.c(1);
       s.s(1);
       return s.seq();
     }},
    {"governor_before_does_not_match", "R-107",
     [](schedule_script& s) {
       s.govern(meet_deadlines, no_preference);
       s.govern(drain_regions, no_preference);
       return s.seq();
     }},
    {"a_suggestion_that_does_not_exist", "R-107",
     [](schedule_script& s) {
       s.put(governor_changed).a = pack(4, 0);
       return s.seq();
     }},
    {"limits_changed_in_the_middle", "R-102",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       s.configure(17, 64);
       return s.seq();
     }},
    {"a_limit_told_that_is_not_in_force", "R-102",
     [](schedule_script& s) {
       s.configure(1, 64);
       cancels(s, 1, 2);
       s.c(1);
       s.put(streak_limited).b = 2;
       return s.seq();
     }},
    {"a_limit_told_that_was_not_reached", "R-106",
     [](schedule_script& s) {
       timed_streak(s, 3);
       event& e = s.put(streak_limited);
       e.a = 1;
       e.b = 64;
       return s.seq();
     }},
    {"wrong_certificate_hash", "INV-SC-06",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       event& e = s.put(certificate_issued);
       e.a = hash_fields(std::array<std::uint64_t, 7>{0, 0, 0, 1, 0, 0, 16});
       e.b = 1;
       return s.seq();
     }},
    {"wrong_certificate_count", "R-103",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       event& e = s.put(certificate_issued);
       e.a = hash_fields(std::array<std::uint64_t, 7>{0, 0, 1, 0, 0, 0, 16});
       e.b = 2;
       return s.seq();
     }},
    {"certificate_that_forgot_its_reset", "R-103",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       s.put(certificate_reset);
       event& e = s.put(certificate_issued);
       e.a = hash_fields(std::array<std::uint64_t, 7>{0, 0, 1, 0, 0, 0, 16});
       e.b = 1;
       return s.seq();
     }},
    {"certificate_that_counts_a_limit_never_in_force", "INV-SC-06",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       s.govern(drain_regions, no_preference);
       event& e = s.put(certificate_issued);
       e.a = hash_fields(std::array<std::uint64_t, 7>{0, 0, 1, 0, 0, 0, 32});
       e.b = 1;
       return s.seq();
     }},
};
// clang-format on

class schedule_time_check : public ::testing::TestWithParam<broken_schedule> {};
TEST_P(schedule_time_check, the_one_thing_that_is_wrong) {
  expect_found(GetParam());
}
INSTANTIATE_TEST_SUITE_P(time_idleness_certificate, schedule_time_check, ::testing::ValuesIn(time_idleness_certificate),
                         name_of_row);

}  // namespace
}  // namespace asx::testing
