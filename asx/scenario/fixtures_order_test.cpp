// asx/scenario/fixtures_order_test.cpp - which fixtures depend on a global order: shown on one thread, not claimed.
//
// Workers that make their dispatches in some other order do nothing wrong. So a fixture depends on the order exactly if
// it fails when one thread steps the same workers in an order that was drawn (drive::kind::any_order). conformance/
// order.json lists those, with the reason; here a drawn order breaks each of them, and none of a hundred breaks
// another. What is not listed must hold on threads (tests/stress/fixtures_stress.cpp).
#include <gtest/gtest.h>

#include <set>

#include "asx/scenario/recycled_memory.hpp"
#include "asx/scenario/testing/fixtures.hpp"

namespace asx::scenario {
namespace {

using testing::order_need;

constexpr std::uint64_t some = 100;
constexpr std::uint64_t many = 10'000;  // Of one that fails in the end: few orders break the rarest.

// How the play fails in the first of `most` drawn orders that breaks it; empty: in none of them.
std::string failure_in_some_order(const scenario& s, recycled_memory& memory, bool checks_order, std::uint64_t most) {
  for (std::uint64_t draw = 1; draw <= most; ++draw) {
    for (const std::uint32_t workers : {2U, 4U}) {
      play_options how;
      how.with = s.profiles.front();
      how.seed = s.seeds[draw % s.seeds.size()];
      how.by = {drive::kind::any_order, workers, draw};
      how.checks_order = checks_order;
      how.memory = memory.port();
      const verdict v = play(s, how);
      if (v.passed()) continue;
      return std::to_string(workers) + " workers, draw " + std::to_string(draw) + ": " + testing::first_failure(v);
    }
  }
  return {};
}

TEST(fixtures_order, those_that_hold_in_one_order_only_are_known_and_so_is_why) {
  const auto fixtures = testing::all_fixtures();
  auto needed = testing::orders_needed();
  recycled_memory memory;
  for (const auto& [id, s] : fixtures) {
    if (!s->same_as.empty()) {
      EXPECT_EQ(needed.count(id), 0U) << id << " is an alias";
      continue;
    }
    const order_need need = needed[id].need;
    const std::string strictly = failure_in_some_order(*s, memory, true, need == order_need::none ? some : many);
    if (need == order_need::none) {
      EXPECT_EQ(strictly, "") << id << " depends on an order, and order.json does not say so";
      continue;
    }
    EXPECT_NE(strictly, "") << id << " holds in every order that was drawn: take it out of order.json";
    const std::string loosely = failure_in_some_order(*s, memory, false, need == order_need::lists ? some : many);
    if (need == order_need::lists) {
      EXPECT_EQ(loosely, "") << id << " depends on an order beyond its lists";
    } else {
      EXPECT_NE(loosely, "") << id << " depends on the order of its lists only: let order.json say so";
    }
  }
  for (const auto& [id, entry] : needed) EXPECT_EQ(fixtures.count(id), 1U) << id << " is no fixture";
}

// What the names of the groups say can be seen in the files.
TEST(fixtures_order, the_reasons_are_those_of_the_files) {
  const auto fixtures = testing::all_fixtures();
  std::set<std::string> groups;
  for (const auto& [id, entry] : testing::orders_needed()) {
    const auto at = fixtures.find(id);
    ASSERT_NE(at, fixtures.end()) << id;
    groups.insert(entry.group);
    const scenario& s = *at->second;
    const std::string text = testing::text_of(testing::conformance_folder() / "fixtures" / s.domain / (id + ".json"));
    const auto says = [&](std::string_view word) { return text.find(word) != std::string::npos; };
    if (entry.group == "one_dispatch_at_a_time") {
      EXPECT_TRUE(says(R"("do": "step")")) << id;
    } else if (entry.group == "first_come") {
      EXPECT_TRUE(says(R"("reserve")") || says(R"("max_tasks")")) << id << ": nobody can come too late";
    } else if (entry.group == "what_one_worker_counts") {
      EXPECT_TRUE(says(R"("certificate")") || says(R"("tie_broken")") || says(R"("task_stolen)")) << id;
    } else {
      EXPECT_TRUE(says(R"("dispatched")") || says(R"("events")") || says(R"("said")") || says(R"("step")")) << id;
    }
  }
  EXPECT_EQ(groups,
            (std::set<std::string>{"but_for_lists", "one_dispatch_at_a_time", "first_come", "what_one_worker_counts"}));
}

}  // namespace
}  // namespace asx::scenario
