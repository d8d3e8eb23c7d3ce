// asx/model/status_test.cpp - every status has one number, two names and a sentence, fixed for ever.
//
// The expectation is the catalogue's list of codes, written out here once more, and R-141's list of our own.
#include "asx/model/status.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace {

using asx::status;

struct expected_status {
  status code;
  std::uint32_t number;
  std::string_view name;
  std::string_view c_name;
  std::string_view group;  // Empty for our own: the catalogue gives them none.
};

// 0 to 27 in catalogue order. R-141: our own from 100 on.
constexpr auto expectations = std::to_array<expected_status>({
    {status::ok, 0, "ok", "ASX_OK", "success"},
    {status::invalid_transition, 1, "invalid_transition", "ASX_E_INVALID_TRANSITION", "transition"},
    {status::region_not_open, 2, "region_not_open", "ASX_E_REGION_NOT_OPEN", "region"},
    {status::region_closed, 3, "region_closed", "ASX_E_REGION_CLOSED", "region"},
    {status::admission_closed, 4, "admission_closed", "ASX_E_ADMISSION_CLOSED", "region"},
    {status::obligation_already_resolved, 5, "obligation_already_resolved", "ASX_E_OBLIGATION_ALREADY_RESOLVED",
     "obligation"},
    {status::obligation_leaked, 6, "obligation_leaked", "ASX_E_OBLIGATION_LEAKED", "obligation"},
    {status::unresolved_obligations, 7, "unresolved_obligations", "ASX_E_UNRESOLVED_OBLIGATIONS", "region"},
    {status::incomplete_children, 8, "incomplete_children", "ASX_E_INCOMPLETE_CHILDREN", "region"},
    {status::stale_handle, 9, "stale_handle", "ASX_E_STALE_HANDLE", "handle"},
    {status::resource_exhausted, 10, "resource_exhausted", "ASX_E_RESOURCE_EXHAUSTED", "resource"},
    {status::budget_exhausted, 11, "budget_exhausted", "ASX_E_BUDGET_EXHAUSTED", "budget"},
    {status::tasks_still_active, 12, "tasks_still_active", "ASX_E_TASKS_STILL_ACTIVE", "quiescence"},
    {status::obligations_unresolved, 13, "obligations_unresolved", "ASX_E_OBLIGATIONS_UNRESOLVED", "quiescence"},
    {status::regions_not_closed, 14, "regions_not_closed", "ASX_E_REGIONS_NOT_CLOSED", "quiescence"},
    {status::timers_pending, 15, "timers_pending", "ASX_E_TIMERS_PENDING", "quiescence"},
    {status::channel_not_drained, 16, "channel_not_drained", "ASX_E_CHANNEL_NOT_DRAINED", "quiescence"},
    {status::witness_task_mismatch, 17, "witness_task_mismatch", "ASX_E_WITNESS_TASK_MISMATCH", "witness"},
    {status::witness_region_mismatch, 18, "witness_region_mismatch", "ASX_E_WITNESS_REGION_MISMATCH", "witness"},
    {status::witness_epoch_mismatch, 19, "witness_epoch_mismatch", "ASX_E_WITNESS_EPOCH_MISMATCH", "witness"},
    {status::witness_phase_regression, 20, "witness_phase_regression", "ASX_E_WITNESS_PHASE_REGRESSION", "witness"},
    {status::witness_reason_weakened, 21, "witness_reason_weakened", "ASX_E_WITNESS_REASON_WEAKENED", "witness"},
    {status::disconnected, 22, "disconnected", "ASX_E_DISCONNECTED", "channel"},
    {status::cancelled, 23, "cancelled", "ASX_E_CANCELLED", "channel"},
    {status::full, 24, "full", "ASX_E_FULL", "channel"},
    {status::empty, 25, "empty", "ASX_E_EMPTY", "channel"},
    {status::would_block, 26, "would_block", "ASX_E_WOULD_BLOCK", "channel"},
    {status::timer_duration_exceeded, 27, "timer_duration_exceeded", "ASX_E_TIMER_DURATION_EXCEEDED", "timer"},
    {status::invalid_argument, 100, "invalid_argument", "ASX_E_INVALID_ARGUMENT", ""},
    {status::wrong_thread, 101, "wrong_thread", "ASX_E_WRONG_THREAD", ""},
    {status::reentrant, 102, "reentrant", "ASX_E_REENTRANT", ""},
    {status::step_limit, 103, "step_limit", "ASX_E_STEP_LIMIT", ""},
    {status::io, 104, "io", "ASX_E_IO", ""},
    {status::corrupt, 105, "corrupt", "ASX_E_CORRUPT", ""},
    {status::version, 106, "version", "ASX_E_VERSION", ""},
    {status::lagged, 107, "lagged", "ASX_E_LAGGED", ""},
});

constexpr std::uint32_t number_of(status code) {
  return static_cast<std::uint32_t>(code);
}

// the values are compile-time facts, so that a journal written today is read tomorrow.
static_assert(number_of(status::ok) == 0);
static_assert(number_of(status::timer_duration_exceeded) == 27);
static_assert(number_of(status::invalid_argument) == 100);
static_assert(number_of(status::version) == 106);
static_assert(number_of(status::lagged) == 107);
static_assert(sizeof(status) == 2);
// Not a static_assert over pointers: g++ 12 with the undefined sanitizer takes no address for a constant.
TEST(status_laws, a_row_is_found_by_its_number_and_by_both_names) {
  for (const expected_status& want : expectations) {
    const asx::status_info* const row = asx::find_status(want.number);
    ASSERT_NE(row, nullptr) << want.number;
    EXPECT_EQ(number_of(want.code), want.number);
    EXPECT_EQ(row->code, want.code);
    EXPECT_EQ(asx::find_status(want.name), row);
    EXPECT_EQ(asx::find_status(want.c_name), row);
  }
}

TEST(status_laws, the_table_lists_the_catalogue_in_order_and_then_our_own) {
  ASSERT_EQ(asx::status_table.size(), expectations.size());
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const expected_status& want = expectations[i];
    const asx::status_info& row = asx::status_table[i];
    SCOPED_TRACE(std::string(want.c_name));
    EXPECT_EQ(row.code, want.code);
    EXPECT_EQ(number_of(row.code), want.number);
    EXPECT_EQ(row.name, want.name);
    EXPECT_EQ(row.c_name, want.c_name);
    EXPECT_FALSE(row.group.empty());
    if (!want.group.empty()) {
      EXPECT_EQ(row.group, want.group);
    }
  }
}

TEST(status_laws, every_status_is_found_by_its_number_and_by_both_names) {
  for (const expected_status& want : expectations) {
    SCOPED_TRACE(std::string(want.c_name));
    const asx::status_info* row = asx::find_status(want.number);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->code, want.code);
    EXPECT_EQ(asx::find_status(want.name), row);
    EXPECT_EQ(asx::find_status(want.c_name), row);
    EXPECT_EQ(asx::name(want.code), want.name);
    EXPECT_EQ(asx::sentence(want.code), row->sentence);
  }
}

TEST(status_laws, every_sentence_is_a_whole_sentence_and_no_two_are_the_same) {
  std::set<std::string_view> sentences;
  for (const asx::status_info& row : asx::status_table) {
    SCOPED_TRACE(std::string(row.c_name));
    ASSERT_GE(row.sentence.size(), 2U);
    EXPECT_EQ(row.sentence.back(), '.');
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(row.sentence.front()))) << row.sentence;
    EXPECT_EQ(row.sentence.find('\n'), std::string_view::npos);
    EXPECT_TRUE(sentences.insert(row.sentence).second) << "said twice: " << row.sentence;
  }
}

TEST(status_laws, no_number_and_no_name_is_used_twice) {
  std::set<std::uint32_t> numbers;
  std::set<std::string_view> names;
  for (const asx::status_info& row : asx::status_table) {
    EXPECT_TRUE(numbers.insert(number_of(row.code)).second) << number_of(row.code);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(names.insert(row.c_name).second) << row.c_name;
  }
  EXPECT_EQ(numbers.size(), 28U + 8U);
}

TEST(status_laws, the_two_look_alikes_stay_apart) {
  EXPECT_NE(status::unresolved_obligations, status::obligations_unresolved);
  EXPECT_NE(asx::sentence(status::unresolved_obligations), asx::sentence(status::obligations_unresolved));
}

TEST(status_laws, a_number_nobody_was_given_has_no_row) {
  std::set<std::uint32_t> known;
  for (const expected_status& want : expectations) known.insert(want.number);
  for (std::uint32_t number = 0; number <= 0x1'0000; ++number) {
    ASSERT_EQ(asx::find_status(number) != nullptr, known.contains(number)) << "number " << number;
  }
  // A number beyond 16 bits is not folded onto a known one.
  for (const std::uint32_t number : {0x1'0001U, 0x1'0064U, 0x8000'0000U, 0xFFFF'0000U, 0xFFFF'FFFFU}) {
    EXPECT_EQ(asx::find_status(number), nullptr) << "number " << number;
  }
}

TEST(status_laws, a_word_that_is_no_name_has_no_row) {
  for (const std::string_view word :
       {"", "OK", "Ok", "ASX_E_OK", "asx_ok", "ASX_", "ASX_E_", "invalid_transition ", " ok", "invalid transition",
        "INVALID_TRANSITION", "ASX_INVALID_TRANSITION", "o", "okay", "deadline_miss"}) {
    EXPECT_EQ(asx::find_status(word), nullptr) << '"' << word << '"';
  }
  EXPECT_EQ(asx::find_status(std::string_view{}), nullptr);
  EXPECT_EQ(asx::find_status(std::string_view("ok\0", 3)), nullptr);
}

}  // namespace
