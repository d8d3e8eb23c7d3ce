// asx/scenario/drive_test.cpp - drawn orders on one thread: legal, different, repeatable; and lists without an order.
#include <gtest/gtest.h>

#include <set>

#include "asx/journal/schedule_check.hpp"
#include "asx/scenario/testing/playing.hpp"

namespace asx::scenario {
namespace {

using testing::failures_of;
using testing::file_of;
using testing::lines;
using testing::play_json;

constexpr std::string_view speakers = R"(
  "a": [{"do": "say", "text": "a"}], "b": [{"do": "say", "text": "b"}], "c": [{"do": "say", "text": "c"}])";
constexpr std::string_view three = R"(
  {"do": "spawn", "task": "a", "as": "a"}, {"do": "spawn", "task": "b", "as": "b"},
  {"do": "spawn", "task": "c", "as": "c"}, )";

play_options drawn(std::uint64_t draw, std::uint32_t workers = 4, bool checks_order = true) {
  play_options how;
  how.by = {drive::kind::any_order, workers, draw};
  how.checks_order = checks_order;
  return how;
}

TEST(drive, drawn_orders_reach_every_order_of_three_tasks_and_each_is_legal) {
  const std::string file = file_of(speakers, testing::both(three, R"({"do": "run_until_idle"})"));
  std::set<lines> said;
  for (std::uint64_t draw = 1; draw <= 200; ++draw) {
    const verdict v = play_json(file, drawn(draw));
    EXPECT_EQ(failures_of(v), lines{});
    EXPECT_TRUE(check_schedule(v.journal).accepted()) << "draw " << draw;
    said.insert(v.said);
  }
  EXPECT_EQ(said.size(), 6U);
}

TEST(drive, one_draw_gives_one_play) {
  const std::string file = file_of(speakers, testing::both(three, R"({"do": "run_until_idle"})"));
  std::set<std::string> digests;
  for (std::uint64_t draw = 1; draw <= 20; ++draw) {
    const digest128 first = play_json(file, drawn(draw)).digest;
    EXPECT_EQ(first, play_json(file, drawn(draw)).digest) << "draw " << draw;
    const auto digits = first.hex();
    digests.emplace(digits.data(), digits.size());
  }
  EXPECT_GT(digests.size(), 1U);
}

TEST(drive, one_worker_has_one_order) {
  const std::string file =
      file_of(speakers, testing::both(three, R"({"do": "run_until_idle"}, {"do": "expect", "said": ["a", "b", "c"]})"));
  for (std::uint64_t draw = 1; draw <= 20; ++draw) EXPECT_EQ(failures_of(play_json(file, drawn(draw, 1))), lines{});
}

TEST(drive, a_step_is_one_dispatch_by_whoever_comes_first) {
  const std::string file =
      file_of(speakers, testing::both(three, R"({"do": "step"}, {"do": "expect", "count": {"task_dispatched": 1}},
      {"do": "step", "times": 2}, {"do": "expect", "count": {"task_dispatched": 3}}, {"do": "step", "idle": true})"));
  for (std::uint64_t draw = 1; draw <= 20; ++draw) EXPECT_EQ(failures_of(play_json(file, drawn(draw))), lines{});
}

// How many of the draws fail.
int failing(std::string_view steps, bool checks_order) {
  const std::string file = file_of(speakers, testing::both(three, steps));
  int out = 0;
  for (std::uint64_t draw = 1; draw <= 40; ++draw) {
    out += play_json(file, drawn(draw, 4, checks_order)).passed() ? 0 : 1;
  }
  return out;
}

TEST(drive, without_the_order_lists_are_held_to_what_is_in_them) {
  constexpr std::string_view right[] = {
      R"({"do": "run_until_idle"}, {"do": "expect", "said": ["a", "b", "c"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "dispatched": ["a", "b", "c"], "from": ["ready", "ready", "ready"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "events": ["task_completed a", "task_completed b", "task_completed c"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "among": true, "events": ["task_completed a", "task_completed c"]})",
      R"({"do": "step", "task": "a", "from": "ready"})",
  };
  for (const std::string_view steps : right) {
    EXPECT_GT(failing(steps, true), 0) << steps;
    EXPECT_EQ(failing(steps, false), 0) << steps;
  }
  constexpr std::string_view wrong[] = {
      R"({"do": "run_until_idle"}, {"do": "expect", "said": ["a", "b"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "said": ["a", "b", "b"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "dispatched": ["a", "b"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "dispatched": ["a", "b", "c"], "from": ["ready", "ready", "timed"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "events": ["task_completed a", "task_completed b"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "events": ["task_completed a", "task_completed b", "task_completed b"]})",
      R"({"do": "run_until_idle"}, {"do": "expect", "among": true, "events": ["task_completed a", "task_completed a"]})",
      R"({"do": "step", "idle": true})",
  };
  for (const std::string_view steps : wrong) EXPECT_EQ(failing(steps, false), 40) << steps;
}

TEST(drive, without_the_order_who_says_most_about_an_event_has_the_first_choice) {
  constexpr std::string_view steps = R"({"do": "run_until_idle"},
      {"do": "expect", "events": ["task_completed", "task_completed", "task_completed a"]})";
  EXPECT_EQ(failing(steps, false), 0);
}

}  // namespace
}  // namespace asx::scenario
