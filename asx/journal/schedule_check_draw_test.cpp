// Schedules with wrong thefts and wrong draws: schedule_check.hpp.
#include <gtest/gtest.h>

#include "asx/journal/testing/broken_schedule.hpp"

namespace asx::testing {
namespace {

using enum event_kind;

// clang-format off: a table is read by its rows
constexpr broken_schedule thefts_and_draws[] = {
    {"theft_of_the_first_ranked", "R-101",
     [](schedule_script& s) {
       three_workers(s);
       s.steal(1, 0, 0, 1);
       const std::uint64_t at = s.seq();
       s.run(1, lane_code::ready, 0);
       return at;
     }},
    {"theft_from_a_victim_that_is_not_next", "R-163",
     [](schedule_script& s) {
       three_workers(s);
       s.steal(3, 0, 0, 2);  // Worker 1 is scanned first and has ready work.
       const std::uint64_t at = s.seq();
       s.run(3, lane_code::ready, 0);
       return at;
     }},
    {"theft_whose_scan_does_not_lead_to_the_victim", "R-163",
     [](schedule_script& s) {
       three_workers(s);
       s.steal(3, 0, 0, 1);
       const std::uint64_t at = s.seq();
       s.run(3, lane_code::ready, 0);
       return at;
     }},
    {"theft_that_scans_the_thief", "R-163",
     [](schedule_script& s) {  // Three victims where there are two others.
       three_workers(s);
       s.steal(3, 0, 2, 1);
       const std::uint64_t at = s.seq();
       s.run(3, lane_code::ready, 0);
       return at;
     }},
    {"theft_of_a_timed_task", "R-101",
     [](schedule_script& s) {
       s.start(7, 2);
       s.until(1, hour);
       s.timed(1, 1);
       s.steal(1, 0, 0, 1);
       const std::uint64_t at = s.seq();
       s.run(1, lane_code::timed, 0);
       return at;
     }},
    {"theft_of_a_cancelled_task", "R-101",
     [](schedule_script& s) {
       s.start(7, 2);
       s.cancel(1, 128, 1);
       s.steal(1, 0, 0, 1);
       const std::uint64_t at = s.seq();
       s.run(1, lane_code::cancel, 0);
       return at;
     }},
    {"theft_with_a_single_worker", "R-101",
     [](schedule_script& s) {
       s.ready(1);
       s.steal(1, 0, 0, 1);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"theft_of_a_task_that_is_not_queued", "R-101",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1, 128, 1);
       s.ready(2, 128, 1);
       s.steal(2, 0, 0, 1).subject = 99;
       const std::uint64_t at = s.seq();
       return at;
     }},
    {"theft_told_with_another_victim", "R-208",
     [](schedule_script& s) {
       s.start(7, 3);
       s.ready(1, 128, 2);
       s.steal(1, 0, 0, 1).object = 1;
       const std::uint64_t at = s.seq();
       s.run(1, lane_code::ready, 0);
       return at;
     }},
    {"theft_under_a_number_of_the_thief", "R-208",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1, 128, 1);
       s.steal(1, 0, 0, 1).b = 9;
       const std::uint64_t at = s.seq();
       s.run(1, lane_code::ready, 0);
       return at;
     }},
    {"theft_without_its_dispatch", "R-208",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1, 128, 1);
       s.steal(1, 0, 0, 1);
       const std::uint64_t at = s.seq();
       s.put(poll_ended);
       return at;
     }},
    {"tie_broken_under_fifo", "R-98",
     [](schedule_script& s) {
       s.ready(1);
       s.ready(2);
       s.tie(2, 0);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"tie_not_broken_under_rng", "R-98",
     [](schedule_script& s) {
       random_ties(s);
       s.ready(1);
       s.ready(2);
       s.r(1);
       return s.seq();
     }},
    {"wrong_draw", "R-99",
     [](schedule_script& s) {
       random_ties(s);
       for (const std::uint64_t task : {1U, 2U, 3U, 4U}) s.ready(task);
       s.tie(4, 2);  // Seed 7 draws 1 of 4.
       const std::uint64_t at = s.seq();
       s.r(3);
       return at;
     }},
    {"wrong_number_of_candidates", "R-98",
     [](schedule_script& s) {
       random_ties(s);
       for (const std::uint64_t task : {1U, 2U, 3U, 4U}) s.ready(task);
       s.tie(5, 1);
       const std::uint64_t at = s.seq();
       s.r(2);
       return at;
     }},
    {"another_candidate_than_was_drawn", "R-98",
     [](schedule_script& s) {
       random_ties(s);
       for (const std::uint64_t task : {1U, 2U, 3U, 4U}) s.ready(task);
       s.tie(4, 1);
       s.r(3);
       return s.seq();
     }},
    {"draw_with_one_candidate", "R-98",
     [](schedule_script& s) {
       random_ties(s);
       s.ready(1);
       s.tie(1, 0);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"lower_priority_under_rng", "R-97",
     [](schedule_script& s) {
       random_ties(s);
       s.ready(1, 100);
       s.ready(2, 200);
       s.r(1);
       return s.seq();
     }},
    {"tie_broken_for_a_cancel", "R-209",
     [](schedule_script& s) {
       s.configure(16, 64, true);
       cancels(s, 1, 2);
       s.tie(2, 0);
       const std::uint64_t at = s.seq();
       s.c(1);
       return at;
     }},
    {"tie_broken_for_a_theft", "R-98", [](schedule_script& s) {
       three_workers(s);
       s.tie(2, 1);
       const std::uint64_t at = s.seq();
       s.steal(2, 0, 0, 1);
       s.run(2, lane_code::ready, 0);
       return at;
     }},
    {"tie_without_its_dispatch", "R-98",
     [](schedule_script& s) {
       random_ties(s);
       s.ready(1);
       s.ready(2);
       s.tie(2, 1);
       const std::uint64_t at = s.seq();
       s.put(poll_ended);
       return at;
     }},
    {"another_worker_than_was_chosen", "R-210",
     [](schedule_script& s) {
       s.start(7, 3);
       s.ready(1, 128, 0);
       s.ready(2, 128, 1);
       event& e = s.put(worker_chosen);
       e.subject = 1;
       e.a = 3;
       s.r(1);
       return s.seq();
     }},
    {"a_worker_that_was_not_drawn", "R-210",
     [](schedule_script& s) {
       s.start(7, 3);
       event& e = s.put(worker_chosen);
       e.subject = 2;  // Seed 7 draws 1 of 3.
       e.a = 3;
       return s.seq();
     }},
    {"a_draw_of_workers_where_there_is_one", "R-210",
     [](schedule_script& s) {
       s.start(7, 1);
       s.put(worker_chosen).a = 1;
       return s.seq();
     }},
};
// clang-format on

class schedule_draw_check : public ::testing::TestWithParam<broken_schedule> {};
TEST_P(schedule_draw_check, the_one_thing_that_is_wrong) {
  expect_found(GetParam());
}
INSTANTIATE_TEST_SUITE_P(thefts_and_draws, schedule_draw_check, ::testing::ValuesIn(thefts_and_draws), name_of_row);

}  // namespace
}  // namespace asx::testing
