// How scenarios are played: scripts, branches, waits, names, cleanups, the end.
#include "asx/scenario/testing/playing.hpp"

namespace asx::scenario::testing {
namespace {

// ---- the whole ---------------------------------------------------------------------------------------------------

constexpr std::string_view two_sleepers = R"({
  "scenario_dsl_version": 1,
  "id": "two-sleepers",
  "title": "The shorter sleep ends first",
  "pins": ["R-81", "INV-TM-03"],
  "tasks": {
    "sleeper": [{"do": "sleep", "for": "5ms"}, {"do": "say", "text": "five"}, {"do": "return"}],
    "napper":  [{"do": "sleep", "for": "2ms"}, {"do": "say", "text": "two"},  {"do": "return", "value": 2}]
  },
  "steps": [
    {"do": "spawn", "task": "sleeper", "as": "a"},
    {"do": "spawn", "task": "napper", "as": "b"},
    {"do": "run_until_quiescent"},
    {"do": "expect", "said": ["two", "five"]},
    {"do": "expect", "task": "b", "state": "completed", "outcome": {"ok": 2}}
  ]
})";

TEST(scenario_player, plays_the_example_of_the_manual) {
  const verdict v = play_json(std::string(two_sleepers));
  EXPECT_EQ(failures_of(v), lines{});
  EXPECT_EQ(v.said, (lines{"two", "five"}));
  EXPECT_EQ(v.ended_at.ns, 5'000'000U);
  EXPECT_EQ(v.limit_refusals, 0U);
  EXPECT_GT(v.checks, 5U);
  ASSERT_GE(v.names.size(), 3U);
  EXPECT_EQ(v.names[0].name, "root");
  EXPECT_EQ(v.names[1].type, 't');
  EXPECT_EQ(v.names[1].name, "a");
}

TEST(scenario_player, gives_the_same_digest_in_every_profile_and_again) {
  const std::unique_ptr<scenario> s = read_or_complain(std::string(two_sleepers));
  ASSERT_NE(s, nullptr);
  const digest128 first = play(*s, {}).digest;
  EXPECT_EQ(play(*s, {}).digest, first);
  EXPECT_EQ(play(*s, {.with = profile::tiny}).digest, first);
  EXPECT_EQ(play(*s, {.with = profile::server}).digest, first);
}

TEST(scenario_player, names_line_step_and_status_of_a_wrong_answer_and_goes_on) {
  const verdict v = play_json(
      "{\"scenario_dsl_version\": 1, \"id\": \"x\", \"steps\": [\n"
      "  {\"do\": \"hold\", \"status\": [\"full\", \"empty\"]},\n"
      "  {\"do\": \"say\", \"text\": \"on\"}]}");
  ASSERT_EQ(failures_of(v), (lines{"steps[0] hold: expected status full or empty, got ok"}));
  EXPECT_EQ(v.failures[0].at.line, 2U);
  EXPECT_EQ(v.said, lines{"on"});
}

TEST(scenario_player, shuts_down_at_the_end_and_minds_when_that_does_not_end) {
  constexpr std::string_view holds = R"({"do": "open_region", "as": "r"},
    {"do": "reserve_obligation", "region": "r", "as": "o"})";
  constexpr std::string_view text =
      "shutdown: the shutdown does not end in quiescence: obligations_unresolved, "
      "regions_not_closed";
  EXPECT_EQ(failures("", holds, R"("leaks": "hold")"), lines{std::string(text)});
  EXPECT_EQ(failures("", holds, R"("leaks": "hold")", R"("shutdown": "skip", )"), lines{});
  EXPECT_EQ(failures("", holds), lines{});
}

TEST(scenario_player, takes_down_what_a_scenario_leaves_behind) {
  constexpr std::string_view tasks = R"("ever": [{"do": "repeat", "steps": [{"do": "yield"}]}],
    "waits": [{"do": "reserve", "tx": "tx", "as": "$p"}])";
  constexpr std::string_view steps = R"({"do": "spawn", "task": "ever"}, {"do": "hold"},
    {"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"}, {"do": "try_reserve", "tx": "tx", "as": "p"},
    {"do": "track", "tx": "tx", "as": "tt"}, {"do": "spawn", "task": "waits"}, {"do": "reserve_task", "as": "slot"},
    {"do": "reserve_obligation", "as": "o"}, {"do": "run_until_idle", "max_steps": 9, "status": "step_limit"})";
  EXPECT_EQ(failures(tasks, steps, R"("leaks": "hold", "max_unobserved_cancel_polls": 0)", R"("shutdown": "skip", )"),
            lines{"task waits[0] reserve: expected status ok, got stale_handle"});
}

// A dropped permit's promise is still held against its region, and nobody has a handle to it any more.
TEST(scenario_player, takes_down_a_region_that_is_held_by_a_dropped_permit) {
  EXPECT_EQ(
      failures(R"("l": [{"do": "reserve", "tx": "tt", "as": "$p"}, {"do": "drop", "what": "$p"}])",
               R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"}, {"do": "track", "tx": "tx", "as": "tt"},
      {"do": "spawn", "task": "l", "as": "l"}, {"do": "run_until_idle"},
      {"do": "expect", "task": "l", "outcome": "panicked"}, {"do": "expect", "region": "root", "reserved": 1})",
               R"("leaks": "hold")", R"("shutdown": "skip", )"),
      lines{});
}

// Sanitizers see what this is about: sleepers are polled once more when a play is taken down.
TEST(scenario_player, takes_down_sleepers_that_nobody_woke) {
  EXPECT_EQ(
      failures(
          R"("w": [{"do": "sleep", "for": "1h"}], "r": [{"do": "reserve", "tx": "tx", "as": "$p"}],
      "j": [{"do": "join", "task": "a1"}], "c": [{"do": "await_closed", "region": "root"}])",
          R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"}, {"do": "try_reserve", "tx": "tx", "as": "p"},
      {"do": "spawn", "task": "w", "as": "a", "count": 12}, {"do": "spawn", "task": "r", "count": 3},
      {"do": "spawn", "task": "j"}, {"do": "spawn", "task": "c"}, {"do": "run_until_idle"})",
          {}, R"("shutdown": "skip", )"),
      lines{});
}

TEST(scenario_player, says_so_when_a_runtime_does_not_start) {
  std::vector<complaint> wrong;
  const auto s = read(two_sleepers, "", wrong);
  ASSERT_NE(s, nullptr);
  play_options poor;
  poor.memory = {nullptr, [](void*, std::size_t, std::size_t) noexcept -> void* { return nullptr; },
                 [](void*, void*, std::size_t, std::size_t) noexcept {}};
  EXPECT_EQ(
      failures_of(play(*s, poor)),
      lines{"runtime: the runtime does not start in the profile core: resource_exhausted; ask for less in 'contract'"});
}

TEST(scenario_player, holds_a_play_to_the_digest_that_its_file_says) {
  const auto with = [](std::string_view digits) {
    std::string json(two_sleepers);
    json.insert(json.rfind('}'), R"(, "digest": ")" + std::string(digits) + '"');
    return json;
  };
  const auto hex = play_json(std::string(two_sleepers)).digest.hex();
  const std::string own(hex.data(), hex.size()), other(32, '0');
  EXPECT_EQ(failures_of(play_json(with(own))), lines{});
  EXPECT_EQ(failures_of(play_json(with(other))), lines{"digest: expected " + other + ", got " + own});
}

// ---- scripts -----------------------------------------------------------------------------------------------------

TEST(scenario_player, ends_a_repeat_for_ever_at_its_limit_of_steps) {
  constexpr std::string_view tasks = R"("ever": [{"do": "repeat", "steps": [{"do": "yield"}]}])";
  EXPECT_EQ(failures(tasks, R"({"do": "spawn", "task": "ever", "as": "t"},
    {"do": "run_until_idle", "max_steps": 10, "status": "step_limit", "steps": 10},
    {"do": "expect", "task": "t", "polls": 10})"),
            lines{});
  EXPECT_EQ(failures(tasks, R"({"do": "spawn", "task": "ever"}, {"do": "run_until_idle", "max_steps": 10})"),
            lines{"steps[1] run_until_idle: expected status ok, got step_limit"});
}

TEST(scenario_player, ends_a_poll_that_does_not_end) {
  const std::unique_ptr<scenario> s = read_or_complain(
      file_of(R"("mad": [{"do": "repeat", "times": 5000, "steps": [{"do": "hold"}, {"do": "unhold"}]}])",
              R"({"do": "spawn", "task": "mad", "as": "t"}, {"do": "run_until_idle"},
                 {"do": "expect", "task": "t", "outcome": {"panicked": "a poll that does not end"}})"));
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(failures_of(play(*s, {.max_steps = 1000})),
            lines{"task mad[0].steps[1] unhold: one poll did more than 1000 steps"});
}

TEST(scenario_player, ends_a_play_whose_polls_end_and_which_does_not) {
  const std::unique_ptr<scenario> s = read_or_complain(file_of(
      R"("busy": [{"do": "repeat", "steps": [{"do": "repeat", "times": 500, "steps": [{"do": "is_cancelled"}]},
                                             {"do": "yield"}]}])",
      R"({"do": "spawn", "task": "busy", "count": 2}, {"do": "run_until_idle", "status": "step_limit"},
         {"do": "say", "text": "not here"}, {"do": "hold", "status": "full"})"));
  ASSERT_NE(s, nullptr);
  const verdict v = play(*s, {.max_steps = 1000});
  EXPECT_EQ(
      failures_of(v),
      lines{"task busy[0].steps[0].steps[0] is_cancelled: scripts did more than 10000 steps; the play ends here"});
  EXPECT_EQ(v.said, lines{});
}

TEST(scenario_player, counts_what_one_step_of_a_script_asks_for) {
  const std::unique_ptr<scenario> s = read_or_complain(file_of(
      R"("t": [{"do": "consume_polls", "budget": "infinite", "times": 20000}, {"do": "say", "text": "not here"}])",
      R"({"do": "spawn", "task": "t"}, {"do": "run_until_idle"})"));
  ASSERT_NE(s, nullptr);
  const verdict v = play(*s, {.max_steps = 1000});
  EXPECT_EQ(failures_of(v), lines{"task t[0] consume_polls: scripts did more than 10000 steps; the play ends here"});
  EXPECT_EQ(v.said, lines{});
}

TEST(scenario_player, does_as_often_as_a_step_says) {
  const std::unique_ptr<scenario> s = read_or_complain(
      file_of(R"("ever": [{"do": "repeat", "steps": [{"do": "yield"}]}])",
              R"({"do": "consume_polls", "budget": {"polls": 5000}, "times": 4000, "left": {"polls": 1000}},
        {"do": "spawn", "task": "ever", "as": "t"}, {"do": "step", "times": 3000},
        {"do": "expect", "task": "t", "polls": 3000})"));
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(failures_of(play(*s, {.max_steps = 1000})), lines{});
}

TEST(scenario_player, keeps_a_hundred_failures_and_counts_the_rest) {
  const verdict v =
      play_json(file_of(R"("t": [{"do": "repeat", "times": 900, "steps": [{"do": "is_cancelled", "status": "full"}]}])",
                        R"({"do": "spawn", "task": "t"}, {"do": "run_until_idle"})"));
  ASSERT_EQ(v.failures.size(), most_failures + 1);
  EXPECT_EQ(v.failures[0].text, "expected status full, got ok");
  EXPECT_EQ(v.failures.back().text, "and 800 more failures");
  EXPECT_EQ(v.failed, 900U);
  EXPECT_EQ(v.checks, 903U);  // The spawn, the run and the end are checks, too.
}

TEST(scenario_player, what_fails_is_among_the_checks) {
  const verdict late =
      play_json(file_of(R"("t": [{"do": "sleep", "for": "1h", "status": "cancelled"}, {"do": "return"}])",
                        R"({"do": "wake", "task": "late"}, {"do": "expect", "task": "late", "polls": 0},
         {"do": "expect", "events": ["task_completed late"]}, {"do": "expect", "said": ["x"], "since": "m"},
         {"do": "expect", "dispatched": ["late"]}, {"do": "spawn", "task": "t", "as": "late"}, {"do": "run_until_idle"},
         {"do": "cancel", "task": "late"}, {"do": "run_until_idle"},
         {"do": "expect", "task": "late", "outcome": {"cancelled": {}, "overran": true, "cleanup_error": "io"}},
         {"do": "mark", "as": "m"})"));
  EXPECT_EQ(late.failures.size(), 8U);
  EXPECT_EQ(late.failed, 8U);
  EXPECT_EQ(late.checks, late.failed + 10);
}

TEST(scenario_player, repeats_nested_lists_and_nothing_at_all) {
  EXPECT_EQ(failures(R"("t": [{"do": "repeat", "times": 2, "steps": [{"do": "say", "text": "a"},
      {"do": "repeat", "times": 2, "steps": [{"do": "say", "text": "b"}, {"do": "yield"}]}]},
      {"do": "repeat", "times": 0, "steps": [{"do": "say", "text": "never"}]},
      {"do": "repeat", "times": 3, "steps": []}, {"do": "return", "value": 1}])",
                     R"({"do": "spawn", "task": "t", "as": "t"}, {"do": "run_until_idle"},
      {"do": "expect", "said": ["a", "b", "b", "a", "b", "b"]}, {"do": "expect", "task": "t", "outcome": {"ok": 1}})"),
            lines{});
}

TEST(scenario_player, goes_to_when_cancelled_and_ends_there) {
  constexpr std::string_view tasks = R"(
    "bare": [{"do": "sleep", "for": "1h"}, {"do": "say", "text": "not here"}],
    "careful": {"steps": [{"do": "sleep", "for": "1h"}, {"do": "say", "text": "not here"}],
                "when_cancelled": [{"do": "say", "text": "cleaning"}, {"do": "yield"}, {"do": "say", "text": "clean"}]},
    "twice": {"steps": [{"do": "sleep", "for": "1h"}],
              "when_cancelled": [{"do": "say", "text": "once"}, {"do": "checkpoint"}, {"do": "say", "text": "not here"}]},
    "aware": [{"do": "sleep", "for": "1h", "status": "cancelled"}, {"do": "say", "text": "knew"}])";
  constexpr std::string_view steps = R"(
    {"do": "spawn", "task": "bare", "as": "a"}, {"do": "spawn", "task": "careful", "as": "b"},
    {"do": "spawn", "task": "twice", "as": "c"}, {"do": "spawn", "task": "aware", "as": "d"},
    {"do": "run_until_idle"},
    {"do": "cancel", "task": "a"}, {"do": "cancel", "task": "b"}, {"do": "cancel", "task": "c"},
    {"do": "cancel", "task": "d"}, {"do": "run_until_idle"},
    {"do": "expect", "said": ["cleaning", "once", "knew", "clean"]},
    {"do": "expect", "task": "a", "outcome": "cancelled"}, {"do": "expect", "task": "b", "outcome": "cancelled"},
    {"do": "expect", "task": "c", "outcome": "cancelled"}, {"do": "expect", "task": "d", "outcome": "cancelled"})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, a_cancel_at_a_step_that_says_another_status_is_a_failure) {
  EXPECT_EQ(
      failures(R"("t": [{"do": "sleep", "for": "1h", "status": "ok"}, {"do": "say", "text": "on"}])",
               R"({"do": "spawn", "task": "t", "as": "t"}, {"do": "run_until_idle"}, {"do": "cancel", "task": "t"},
      {"do": "run_until_idle"}, {"do": "expect", "said": ["on"]})"),
      lines{"task t[0] sleep: expected status ok, got cancelled"});
}

TEST(scenario_player, does_the_steps_of_a_branch_and_goes_on_behind) {
  constexpr std::string_view tasks = R"("t": [
    {"do": "try_recv", "rx": "rx", "on": {"empty": [{"do": "say", "text": "empty"}, {"do": "yield"}],
                                          "ok": [{"do": "say", "text": "full"}]}},
    {"do": "try_recv", "rx": "rx", "on": {"ok": [{"do": "say", "text": "got"}]}},
    {"do": "say", "text": "behind"}])";
  constexpr std::string_view steps = R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"},
    {"do": "spawn", "task": "t", "as": "t"}, {"do": "step"},
    {"do": "try_send", "tx": "tx", "value": 1, "on": {"ok": [{"do": "say", "text": "sent"}]}},
    {"do": "try_send", "tx": "tx", "value": 1, "on": {"full": [{"do": "hold", "status": "full"}]}},
    {"do": "run_until_idle"}, {"do": "unhold"}, {"do": "expect", "said": ["empty", "sent", "got", "behind"]})";
  EXPECT_EQ(failures(tasks, steps), lines{"steps[4].on.full[0] hold: expected status full, got ok"});
}

TEST(scenario_player, shows_would_block_to_who_polls_once_and_keeps_the_place) {
  constexpr std::string_view tasks = R"(
    "first": [{"do": "reserve", "tx": "tx", "as": "$p", "poll_once": true, "status": "would_block"},
              {"do": "say", "text": "waits"}, {"do": "park"},
              {"do": "reserve", "tx": "tx", "as": "$p"}, {"do": "say", "text": "first"}, {"do": "abort", "what": "$p"}],
    "second": [{"do": "reserve", "tx": "tx", "as": "$p"}, {"do": "say", "text": "second"}],
    "quits": [{"do": "reserve", "tx": "tx", "as": "$p", "poll_once": true, "status": "would_block"},
              {"do": "stop_waiting"}, {"do": "park"}],
    "looks": [{"do": "recv", "rx": "rx", "poll_once": true, "status": "would_block"}, {"do": "stop_waiting"},
              {"do": "join", "task": "a", "poll_once": true, "status": "would_block"},
              {"do": "await_closed", "region": "root", "poll_once": true, "status": "would_block"},
              {"do": "stop_waiting"}, {"do": "park"}])";
  constexpr std::string_view steps = R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"},
    {"do": "try_reserve", "tx": "tx", "as": "p"}, {"do": "spawn", "task": "quits", "as": "q"},
    {"do": "spawn", "task": "first", "as": "a"},
    {"do": "spawn", "task": "second", "as": "b"}, {"do": "spawn", "task": "looks", "as": "l"},
    {"do": "run_until_idle"}, {"do": "expect", "channel": "rx", "waiters": 2, "receiver_waits": false},
    {"do": "abort", "what": "p"}, {"do": "run_until_idle"}, {"do": "expect", "said": ["waits", "first", "second"]})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, destroying_a_task_gives_up_its_waits_and_the_ends_that_are_its_own) {
  constexpr std::string_view tasks = R"("t": [{"do": "clone", "tx": "tx", "as": "$mine"},
      {"do": "clone", "tx": "tx", "as": "$mine"}, {"do": "clone", "tx": "tx", "as": "shared"},
      {"do": "reserve", "tx": "$mine", "as": "$p"}])";
  constexpr std::string_view steps = R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"},
    {"do": "try_reserve", "tx": "tx", "as": "p"}, {"do": "spawn", "task": "t", "as": "t"}, {"do": "run_until_idle"},
    {"do": "expect", "channel": "rx", "senders": 4, "waiters": 1},
    {"do": "complete", "task": "t", "outcome": {"err": "io"}},
    {"do": "expect", "channel": "rx", "senders": 2, "waiters": 0},
    {"do": "expect", "task": "t", "outcome": {"err": "io"}}, {"do": "abort", "what": "p"})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, a_parked_wait_keeps_its_target_when_the_name_is_made_anew) {
  constexpr std::string_view tasks = R"("t": [{"do": "recv", "rx": "rx", "value": 1}, {"do": "say", "text": "got"}])";
  constexpr std::string_view steps = R"({"do": "channel", "capacity": 1, "tx": "a", "rx": "rx"},
    {"do": "spawn", "task": "t", "as": "t"}, {"do": "run_until_idle"},
    {"do": "channel", "capacity": 1, "tx": "b", "rx": "rx"}, {"do": "wake", "task": "t"}, {"do": "run_until_idle"},
    {"do": "try_send", "tx": "a", "value": 1}, {"do": "run_until_idle"}, {"do": "expect", "said": ["got"]})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, a_wait_goes_with_its_task_and_takes_no_other_along) {
  constexpr std::string_view tasks = R"(
    "a": [{"do": "recv", "rx": "rx", "poll_once": true, "status": "would_block"}, {"do": "park"}, @{"do": "return"}],
    "b": [{"do": "recv", "rx": "rx", "value": 5}, {"do": "say", "text": "got"}])";
  constexpr std::string_view steps = R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"},
    {"do": "spawn", "task": "a", "as": "a"}, {"do": "run_until_idle"}, {"do": "spawn", "task": "b", "as": "b"},
    {"do": "run_until_idle"}, {"do": "wake", "task": "a"}, {"do": "run_until_idle"},
    {"do": "expect", "channel": "rx", "receiver_waits": true},
    {"do": "try_send", "tx": "tx", "value": 5}, {"do": "run_until_idle"}, {"do": "expect", "said": ["got"]})";
  EXPECT_EQ(failures(with(tasks, ""), steps), lines{});
  EXPECT_EQ(failures(with(tasks, R"({"do": "stop_waiting"}, )"), steps), lines{});
}

TEST(scenario_player, unmask_ends_a_mask_of_the_script_and_no_other) {
  EXPECT_EQ(failures(R"("t": [{"do": "unmask", "status": "invalid_argument", "unchanged": true}, {"do": "mask"},
      {"do": "unmask"}, {"do": "unmask", "status": "invalid_argument"}])",
                     R"({"do": "spawn", "task": "t"}, {"do": "run_until_idle"})"),
            lines{});
}

// ---- names -------------------------------------------------------------------------------------------------------

TEST(scenario_player, many_tasks_run_one_script_with_names_of_their_own) {
  constexpr std::string_view tasks = R"("w": [{"do": "reserve", "tx": "tx", "as": "$p"}, {"do": "yield"},
      {"do": "send", "permit": "$p", "value": 7}])";
  constexpr std::string_view steps = R"({"do": "channel", "capacity": 3, "tx": "tx", "rx": "rx"},
    {"do": "spawn", "task": "w", "count": 3, "as": "w"}, {"do": "run_until_idle"},
    {"do": "expect", "channel": "rx", "queued": 3, "counts": {"sent": 3}},
    {"do": "expect", "task": "w3", "outcome": "ok"},
    {"do": "expect", "dispatched": ["w1", "w2", "w3", "w1", "w2", "w3"]},
    {"do": "drop", "what": "rx"}, {"do": "expect", "destroyed": [7, 7, 7]})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, a_spawn_of_many_ends_at_the_first_refusal) {
  EXPECT_EQ(failures(R"("t": [{"do": "park"}])",
                     R"({"do": "spawn", "task": "t", "count": 5, "as": "w", "status": "resource_exhausted"},
      {"do": "expect", "runtime": true, "live_tasks": 2, "limit_refusals": 1},
      {"do": "expect", "task": "w2", "state": "created"})",
                     R"("contract": {"max_tasks": 2})"),
            lines{});
}

TEST(scenario_player, minds_names_that_stand_for_nothing_or_for_something_else) {
  EXPECT_EQ(
      failures(R"("t": [{"do": "wake", "task": "late"}, {"do": "close", "region": "x"}])",
               R"({"do": "open_region", "as": "x"}, {"do": "spawn", "task": "t", "as": "x"}, {"do": "run_until_idle"},
      {"do": "spawn", "task": "t", "as": "late"}, {"do": "mark", "as": "x"}, {"do": "expect", "task": "x", "outcome": "ok"},
      {"do": "cancel", "task": "late"})"),
      (lines{"task t[0] wake: nothing is called 'late' yet", "task t[1] close: 'x' is a task now",
             "task t[1] close: 'x' is a task now"}));
}

// ---- cleanup actions and finalizers ------------------------------------------------------------------------------

TEST(scenario_player, runs_cleanup_actions_last_in_first_out_and_takes_them_back) {
  constexpr std::string_view tasks = R"("t": [
    {"do": "push_cleanup", "steps": [{"do": "say", "text": "a"}]},
    {"do": "push_cleanup", "as": "$b", "steps": [{"do": "say", "text": "b"}]},
    {"do": "push_cleanup", "steps": [{"do": "say", "text": "c"}], "returns": "io"},
    {"do": "pop_cleanup", "what": "$b"}, {"do": "pop_cleanup", "what": "$b", "status": "stale_handle"},
    {"do": "return", "value": 3}])";
  constexpr std::string_view steps = R"({"do": "spawn", "task": "t", "as": "t"}, {"do": "run_until_idle"},
    {"do": "expect", "said": ["c", "a"]}, {"do": "expect", "task": "t", "outcome": {"ok": 3}},
    {"do": "expect", "count": {"cleanup_failed": 1, "cleanup_ran": 1}})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, tells_where_a_synchronous_step_stands) {
  EXPECT_EQ(failures(R"("t": [{"do": "push_cleanup", "steps": [{"do": "unhold"}]}])",
                     R"({"do": "add_finalizer", "steps": [{"do": "open_region"}]},
      {"do": "spawn", "task": "t"}, {"do": "run_until_idle"})"),
            (lines{"task t[0].steps[0] unhold: expected status ok, got invalid_argument",
                   "steps[0].steps[0] open_region: expected status ok, got region_not_open"}));
}

TEST(scenario_player, a_finalizer_spawns_into_its_own_region) {
  constexpr std::string_view tasks = R"("late": [{"do": "say", "text": "task"}, {"do": "return"}])";
  constexpr std::string_view steps = R"({"do": "open_region", "as": "r"},
    {"do": "add_finalizer", "region": "r", "steps": [{"do": "say", "text": "f"}, {"do": "spawn", "task": "late", "as": "t"}]},
    {"do": "close", "region": "r"}, {"do": "expect", "region": "r", "state": "finalizing", "live_tasks": 1},
    {"do": "run_until_idle"}, {"do": "expect", "region": "r", "state": "closed"},
    {"do": "expect", "task": "t", "outcome": "ok"}, {"do": "expect", "said": ["f", "task"]})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, what_a_finalizer_makes_under_a_name_of_a_task_that_has_gone_goes_when_it_is_done) {
  constexpr std::string_view tasks = R"("a": [{"do": "add_finalizer", "region": "r", "steps": [
      {"do": "clone", "tx": "tx", "as": "$c"}, {"do": "try_reserve", "tx": "$c", "as": "$p"},
      {"do": "expect", "channel": "tx", "senders": 2, "reserved": 1}]}])";
  constexpr std::string_view steps = R"({"do": "open_region", "as": "r"},
    {"do": "channel", "capacity": 2, "tx": "tx", "rx": "rx"}, {"do": "spawn", "task": "a"}, {"do": "run_until_idle"},
    {"do": "close", "region": "r"}, {"do": "run_until_idle"},
    {"do": "expect", "channel": "tx", "senders": 1, "reserved": 0, "counts": {"reserved": 1, "aborted": 1}})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

TEST(scenario_player, a_shutdown_answers_who_asks_for_its_status) {
  constexpr std::string_view tasks = R"("w": [{"do": "park"}])";
  constexpr std::string_view steps = R"({"do": "open_region", "as": "r"},
    {"do": "reserve_obligation", "region": "r", "as": "o"}, {"do": "shutdown"@})";
  constexpr std::string_view holds = R"("leaks": "hold")";
  const auto told = [&](std::string_view more) { return failures(tasks, with(steps, more), holds); };
  EXPECT_EQ(told(R"(, "status": ["ok", "obligations_unresolved"])"), lines{});
  EXPECT_EQ(told(R"(, "status": ["obligations_unresolved", "ok"])"), lines{});
  EXPECT_EQ(told(R"(, "on": {"obligations_unresolved": [{"do": "hold", "status": "full"}]})"),
            lines{"steps[2].on.obligations_unresolved[0] hold: expected status full, got ok"});
  EXPECT_EQ(told(R"(, "status": "tasks_still_active")"),
            lines{"steps[2] shutdown: expected status tasks_still_active, got obligations_unresolved"});
  EXPECT_EQ(told(R"(, "quiescent": false)"), lines{});
  EXPECT_EQ(told(""), lines{"steps[2] shutdown: expected quiescent true, got false: obligations_unresolved, "
                            "regions_not_closed"});
}

// ---- what was found while playing --------------------------------------------------------------------------------

TEST(scenario_player, a_refusal_without_a_limit_is_the_same_in_every_profile) {
  const std::unique_ptr<scenario> s = read_or_complain(
      file_of("", R"({"do": "add_timer", "for": "8d", "status": "timer_duration_exceeded", "unchanged": true})"));
  ASSERT_NE(s, nullptr);
  const verdict core = play(*s, {});
  EXPECT_EQ(core.limit_refusals, 0U);
  EXPECT_EQ(play(*s, {.with = profile::tiny}).digest, core.digest);
  EXPECT_EQ(play(*s, {.with = profile::server}).digest, core.digest);
}

TEST(scenario_player, r88_a_task_that_cleans_up_may_add_a_timer_to_its_draining_region) {
  constexpr std::string_view tasks = R"(
    "cleans": {"steps": [{"do": "park"}, {"do": "checkpoint"}],
               "when_cancelled": [{"do": "add_timer", "for": "1h"}, {"do": "say", "text": "taken"}]},
    "outside": [{"do": "park"}, {"do": "add_timer", "region": "r", "for": "1h", "status": "region_not_open"}],
    "asked": [{"do": "park"}, {"do": "add_timer", "for": "1h", "status": "region_not_open", "unchanged": true}])";
  constexpr std::string_view steps = R"({"do": "open_region", "as": "r"},
    {"do": "spawn", "task": "asked", "region": "r"}, {"do": "spawn", "task": "cleans", "region": "r"},
    {"do": "spawn", "task": "outside", "as": "o"}, {"do": "run_until_idle"}, {"do": "close", "region": "r"},
    {"do": "wake", "task": "o"},
    {"do": "add_timer", "region": "r", "for": "1h", "status": "region_not_open", "unchanged": true},
    {"do": "run_until_idle"}, {"do": "expect", "said": ["taken"]}, {"do": "expect", "region": "r", "state": "closed"})";
  EXPECT_EQ(failures(tasks, steps), lines{});
}

}  // namespace
}  // namespace asx::scenario::testing
