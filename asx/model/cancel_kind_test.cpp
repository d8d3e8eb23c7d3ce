// asx/model/cancel_kind_test.cpp - the eleven kinds, each with the figures of the catalogue.
#include "asx/model/cancel_kind.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "asx/model/budget.hpp"

namespace {

using asx::cancel_kind;

struct expected_kind {
  cancel_kind kind;
  std::string_view name;
  std::string_view c_name;
  std::uint8_t severity;
  std::uint32_t quota;
  std::uint8_t priority;
  std::string_view category;
};

constexpr auto expectations = std::to_array<expected_kind>({
    {cancel_kind::user, "user", "ASX_CANCEL_USER", 0, 1000, 200, "explicit/gentle"},
    {cancel_kind::timeout, "timeout", "ASX_CANCEL_TIMEOUT", 1, 500, 210, "time-based"},
    {cancel_kind::deadline, "deadline", "ASX_CANCEL_DEADLINE", 1, 500, 210, "time-based"},
    {cancel_kind::poll_quota, "poll_quota", "ASX_CANCEL_POLL_QUOTA", 2, 300, 215, "resource budget"},
    {cancel_kind::cost_budget, "cost_budget", "ASX_CANCEL_COST_BUDGET", 2, 300, 215, "resource budget"},
    {cancel_kind::fail_fast, "fail_fast", "ASX_CANCEL_FAIL_FAST", 3, 200, 220, "sibling/peer"},
    {cancel_kind::race_lost, "race_lost", "ASX_CANCEL_RACE_LOST", 3, 200, 220, "sibling/peer"},
    {cancel_kind::linked_exit, "linked_exit", "ASX_CANCEL_LINKED_EXIT", 3, 200, 220, "sibling/peer"},
    {cancel_kind::parent_cancelled, "parent_cancelled", "ASX_CANCEL_PARENT", 4, 200, 220, "structural"},
    {cancel_kind::resource_unavailable, "resource_unavailable", "ASX_CANCEL_RESOURCE", 4, 200, 220, "structural"},
    {cancel_kind::shutdown, "shutdown", "ASX_CANCEL_SHUTDOWN", 5, 50, 255, "system-level"},
});

// eleven members, no twelfth called DeadlineMiss, ordinals by declaration order.
static_assert(asx::cancel_kind_table.size() == 11);
static_assert(static_cast<int>(cancel_kind::user) == 0 && static_cast<int>(cancel_kind::shutdown) == 10);
static_assert(sizeof(cancel_kind) == 1);
static_assert(asx::severity(cancel_kind::shutdown) == 5);
static_assert(asx::cleanup_budget(cancel_kind::shutdown).poll_quota == 50);

TEST(cancel_kind_laws, the_table_is_the_catalogues_in_its_order) {
  ASSERT_EQ(asx::cancel_kind_table.size(), expectations.size());
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const expected_kind& want = expectations[i];
    SCOPED_TRACE(std::string(want.name));
    EXPECT_EQ(static_cast<std::size_t>(want.kind), i);
    for (const asx::cancel_kind_info& row : {asx::cancel_kind_table[i], asx::info(want.kind)}) {
      EXPECT_EQ(row.kind, want.kind);
      EXPECT_EQ(row.name, want.name);
      EXPECT_EQ(row.c_name, want.c_name);
      EXPECT_EQ(row.severity, want.severity);
      EXPECT_EQ(row.cleanup_quota, want.quota);
      EXPECT_EQ(row.cleanup_priority, want.priority);
    }
    EXPECT_EQ(asx::name(want.kind), want.name);
    EXPECT_EQ(asx::severity(want.kind), want.severity);
  }
}

TEST(cancel_kind_laws, every_kind_is_of_the_category_that_the_catalogue_names) {
  for (const expected_kind& want : expectations) EXPECT_EQ(asx::info(want.kind).category, want.category) << want.name;
}

TEST(cancel_kind_laws, no_two_kinds_share_a_name) {
  std::set<std::string_view> names;
  for (const asx::cancel_kind_info& row : asx::cancel_kind_table) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(names.insert(row.c_name).second) << row.c_name;
  }
}

TEST(cancel_kind_laws, a_cleanup_is_bounded_in_polls_and_urgency_and_in_nothing_else) {
  for (const expected_kind& want : expectations) {
    SCOPED_TRACE(std::string(want.name));
    const asx::budget cleanup = asx::cleanup_budget(want.kind);
    EXPECT_TRUE(cleanup.deadline.is_none());
    EXPECT_EQ(cleanup.poll_quota, want.quota);
    EXPECT_EQ(cleanup.cost_quota, asx::unlimited);
    EXPECT_EQ(cleanup.priority, want.priority);
  }
}

TEST(cancel_kind_laws, a_more_severe_kind_never_gets_more_polls_or_less_urgency) {
  for (const expected_kind& a : expectations) {
    for (const expected_kind& b : expectations) {
      if (asx::severity(a.kind) > asx::severity(b.kind)) {
        EXPECT_LE(asx::cleanup_budget(a.kind).poll_quota, asx::cleanup_budget(b.kind).poll_quota)
            << a.name << ' ' << b.name;
        EXPECT_GE(asx::cleanup_budget(a.kind).priority, asx::cleanup_budget(b.kind).priority)
            << a.name << ' ' << b.name;
      }
    }
  }
}

TEST(cancel_kind_laws, strengthening_under_way_keeps_the_smaller_of_what_remains_and_the_new_quota) {
  asx::budget cleanup = asx::cleanup_budget(cancel_kind::parent_cancelled);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(cleanup.consume_poll(), asx::status::ok);
  const asx::budget late = asx::meet(cleanup, asx::cleanup_budget(cancel_kind::shutdown));
  EXPECT_EQ(late.poll_quota, 50U);
  EXPECT_EQ(late.priority, 255);

  for (int i = 50; i < 180; ++i) ASSERT_EQ(cleanup.consume_poll(), asx::status::ok);
  EXPECT_EQ(asx::meet(cleanup, asx::cleanup_budget(cancel_kind::shutdown)).poll_quota, 20U);
}

}  // namespace
