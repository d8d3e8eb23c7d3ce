// Schedules with a wrong order inside a lane, or a record that does not fit the entry: schedule_check.hpp.
#include <gtest/gtest.h>

#include "asx/journal/testing/broken_schedule.hpp"

namespace asx::testing {
namespace {

// clang-format off: a table is read by its rows
constexpr broken_schedule order_and_record[] = {
    {"fifo_swapped_in_ready", "INV-SC-02",
     [](schedule_script& s) {
       s.ready(1);
       s.ready(2);
       s.r(2);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"fifo_swapped_in_cancel", "INV-SC-02",
     [](schedule_script& s) {
       cancels(s, 1, 2);
       s.c(2);
       const std::uint64_t at = s.seq();
       s.c(1);
       return at;
     }},
    {"lower_priority_first", "R-97",
     [](schedule_script& s) {
       s.ready(1, 100);
       s.ready(2, 101);
       s.r(1);
       return s.seq();
     }},
    {"lower_cleanup_priority_first", "R-97",
     [](schedule_script& s) {
       s.cancel(1, 200);
       s.cancel(2, 220);
       s.c(1);
       return s.seq();
     }},
    {"later_deadline_first", "R-96",
     [](schedule_script& s) {
       s.until(1, hour);
       s.until(2, hour - 1);
       s.timed(1);
       s.timed(2);
       s.t(1);
       const std::uint64_t at = s.seq();
       s.t(2);
       return at;
     }},
    {"fifo_swapped_among_equal_deadlines", "INV-SC-03",
     [](schedule_script& s) {
       s.until(1, hour);
       s.until(2, hour);
       s.timed(2);
       s.timed(1);
       s.t(1);
       return s.seq();
     }},
    {"a_move_to_a_new_priority_that_keeps_its_old_place", "INV-SC-02",
     [](schedule_script& s) {
       s.cancel(1, 200);
       s.cancel(2, 220);
       s.requeue(1, lane_code::cancel, 220);
       s.c(1);
       return s.seq();
     }},
    {"dispatched_though_not_queued", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       s.r(1);
       return s.seq();
     }},
    {"dispatched_after_it_was_dequeued", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.dequeue(1);
       s.r(1);
       return s.seq();
     }},
    {"dispatched_from_a_lane_where_it_is_not", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.t(1);
       return s.seq();
     }},
    {"dispatched_from_the_lane_that_it_left", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.requeue(1, lane_code::cancel, 200);
       s.r(1);
       return s.seq();
     }},
    {"another_source_than_there_is", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1).a = pack(128, 5);
       return s.seq();
     }},
    {"wrong_priority_told", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1).a = pack(129, 2);
       return s.seq();
     }},
    {"wrong_deadline_told", "R-96",
     [](schedule_script& s) {
       s.until(1, hour);
       s.timed(1);
       s.t(1).object = hour + 1;
       return s.seq();
     }},
    {"a_deadline_told_for_a_ready_task", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1).object = hour;
       return s.seq();
     }},
    {"wrong_insertion_number_told", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1).b = 2;
       return s.seq();
     }},
    {"wrong_cause", "R-113",
     [](schedule_script& s) {
       s.ready(1);
       s.ready(2);
       s.r(1).cause = 2;
       const std::uint64_t at = s.seq();
       s.r(2);
       return at;
     }},
    {"cause_from_before_it_moved", "R-113",
     [](schedule_script& s) {
       s.ready(1);
       s.requeue(1, lane_code::cancel, 200);
       s.c(1).cause = 1;
       return s.seq();
     }},
    {"insertion_number_left_out", "R-208",
     [](schedule_script& s) {
       s.ready(1);
       s.ready(2).b = 3;
       const std::uint64_t at = s.seq();
       s.ready(3).b = 4;
       s.r(1);
       s.r(2).b = 3;
       s.r(3).b = 4;
       return at;
     }},
    {"insertion_number_given_twice", "R-208",
     [](schedule_script& s) {
       s.ready(1);
       s.ready(2).b = 1;
       return s.seq();
     }},
    {"insertion_numbers_shared_by_workers", "R-208",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1);
       s.ready(2, 128, 1).b = 2;
       return s.seq();
     }},
    {"dispatched_by_another_worker_without_a_theft", "R-208",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1, 128, 1);
       s.run(1, lane_code::ready, 0);
       return s.seq();
     }},
    {"a_worker_that_does_not_exist", "R-101",
     [](schedule_script& s) {
       s.start(7, 2);
       s.ready(1, 128, 2);
       return s.seq();
     }},
    {"queued_twice", "R-177",
     [](schedule_script& s) {
       s.ready(1);
       s.ready(1);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"timed_without_a_deadline", "R-105",
     [](schedule_script& s) {
       s.timed(1);
       const std::uint64_t at = s.seq();
       s.t(1);
       return at;
     }},
    {"ready_with_a_deadline", "R-105",
     [](schedule_script& s) {
       s.until(1, hour);
       s.ready(1);
       const std::uint64_t at = s.seq();
       s.r(1);
       return at;
     }},
    {"a_lane_that_does_not_exist", "R-105",
     [](schedule_script& s) {
       s.ready(1).a = pack(3, 0);
       return s.seq();
     }},
    {"out_of_the_cancel_lane", "R-105",
     [](schedule_script& s) {
       s.cancel(1);
       s.requeue(1, lane_code::ready);
       return s.seq();
     }},
    {"a_move_for_no_higher_priority", "R-27",
     [](schedule_script& s) {
       s.cancel(1, 200);
       s.cancel(2, 200);
       s.requeue(1, lane_code::cancel, 200);
       const std::uint64_t at = s.seq();
       s.c(2);
       s.c(1);
       return at;
     }},
    {"dequeued_though_not_queued", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.r(1);
       s.dequeue(1);
       return s.seq();
     }},
    {"dequeued_under_another_number", "R-96",
     [](schedule_script& s) {
       s.ready(1);
       s.dequeue(1).b = 7;
       return s.seq();
     }},
};
// clang-format on

class schedule_order_check : public ::testing::TestWithParam<broken_schedule> {};
TEST_P(schedule_order_check, the_one_thing_that_is_wrong) {
  expect_found(GetParam());
}
INSTANTIATE_TEST_SUITE_P(order_and_record, schedule_order_check, ::testing::ValuesIn(order_and_record), name_of_row);

}  // namespace
}  // namespace asx::testing
