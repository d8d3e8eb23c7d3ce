// Every expectation once right and once wrong, with the exact words of the failure; then the laws.
#include "asx/scenario/testing/playing.hpp"

namespace asx::scenario::testing {
namespace {

// A task of region r that was cancelled, has seen it, and waits in a mask.
constexpr std::string_view cleaner = R"("t": [{"do": "park"}, {"do": "checkpoint", "status": "cancelled"},
  {"do": "mask"}, {"do": "park"}, {"do": "unmask"}, {"do": "fail", "error": "io"}])";
constexpr std::string_view cleaning = R"({"do": "open_region", "as": "r"},
  {"do": "spawn", "task": "t", "region": "r", "as": "t", "budget": {"polls": 9, "cost": 7, "deadline": "1h"}},
  {"do": "run_until_idle"}, {"do": "advance", "to": "3ms"}, {"do": "hold"},
  {"do": "close", "region": "r", "kind": "timeout", "message": "late"}, {"do": "run_until_idle"}, {"do": "unhold"}, )";

struct fact {
  std::string_view key, right, wrong, says;
};

std::string with_fact(std::string_view before, std::string_view subject, std::string_view key) {
  std::string out;
  out.append(before).append(R"({"do": "expect", )").append(subject).append(", \"").append(key).append("\": @}");
  return out;
}

void check_facts(std::string_view subject, std::string_view tasks, std::string_view before, int index,
                 std::span<const fact> facts, std::string_view settings = {}) {
  for (const fact& f : facts) {
    const std::string steps = with_fact(before, subject, f.key);
    const std::string says = "steps[" + std::to_string(index) + "] expect: " + std::string(f.says);
    check({f.key, tasks, steps, f.right, f.wrong, says, settings});
  }
}

TEST(scenario_expect, a_task) {
  constexpr fact facts[] = {
      {"state", R"("cancelling")", R"("running")", "expected state running, got cancelling"},
      {"polls", "2", "3", "expected polls 3, got 2"},
      {"epoch", "1", "0", "expected epoch 0, got 1"},
      {"phase", R"("cancelling")", R"("completed")", "expected phase completed, got cancelling"},
      {"cleanup_polls_left", "200", "199", "expected cleanup_polls_left 199, got 200"},
      {"mask_depth", "1", "0", "expected mask_depth 0, got 1"},
      {"lane", R"("none")", R"("ready")", "expected lane ready, got none"},
      {"reason", R"({"kind": "parent_cancelled", "severity": 4, "at": "3ms", "origin_region": "r", "levels": 2,
        "truncated": false, "truncated_at": 0, "cause": {"kind": "timeout", "message": "late", "cause": null}})",
       R"({"cause": {"message": "early"}})", "expected reason.cause.message 'early', got 'late'"},
      {"reason", R"({"origin_region": "r"})", R"({"origin_region": "root"})",
       "expected reason.origin_region root, got r"},
      {"reason", R"({"levels": 2})", R"({"levels": 1})", "expected reason.levels 1, got 2"},
      {"reason", R"({"cause": {"cause": null}})", R"({"cause": null})", "expected reason.cause none, got timeout"},
      {"reason", R"({"cause": {"kind": "timeout"}})", R"({"cause": {"cause": {"kind": "user"}}})",
       "expected reason.cause.cause user, got none"},
      {"reason", R"({"at": "3ms"})", R"({"at": 0})", "expected reason.at 0ns, got 3000000ns"},
      {"reason", R"({"truncated": false})", R"({"truncated": true})", "expected reason.truncated true, got false"},
      {"witness", R"({"task": "t", "region": "r", "epoch": 1, "phase": "cancelling", "kind": "parent_cancelled"})",
       R"({"region": "root"})", "expected witness.region root, got r"},
      {"reason", R"({"kind": "parent_cancelled"})", "null", "expected reason none, got parent_cancelled"},
      {"witness", R"({"epoch": 1})", "null", "expected no witness, got one"},
      {"witness", R"({"phase": "cancelling"})", R"({"phase": "requested"})",
       "expected witness.phase requested, got cancelling"},
      {"gone", "false", "true", "expected task 't' gone, and it is there"},
  };
  check_facts(R"("task": "t")", cleaner, cleaning, 8, facts);
  const std::string early = both(cleaning, R"({"do": "expect", "task": "t", "epoch": 1@})");
  check({"an outcome too early", cleaner, early, "", R"(, "outcome": "ok")",
         "steps[8] expect: expected an outcome, got tasks_still_active"});
  check({"budget_left", R"("t": [{"do": "consume", "cost": 3}, {"do": "park"}])",
         R"({"do": "spawn", "task": "t", "as": "t", "budget": {"polls": 9, "cost": 7}}, {"do": "run_until_idle"},
            {"do": "expect", "task": "t", "budget_left": {"polls": 8, "cost": @}})",
         "4", "7",
         "steps[2] expect: expected budget_left deadline none, polls 8, cost 7, priority 128, got deadline none, "
         "polls 8, cost 4, priority 128"});
  check({"no witness", R"("t": [{"do": "park"}])", R"({"do": "spawn", "task": "t", "as": "t"}, @
          {"do": "expect", "task": "t", "witness": {"epoch": 1}})",
         R"({"do": "cancel", "task": "t"},)", "", "steps[1] expect: expected a witness, got empty"});
}

TEST(scenario_expect, an_outcome) {
  constexpr std::string_view ended = R"({"do": "wake", "task": "t"}, {"do": "run_until_idle"}, )";
  const std::string before = both(cleaning, ended);
  constexpr fact facts[] = {
      {"outcome", R"("cancelled")", R"("ok")", "expected outcome ok, got cancelled (parent_cancelled)"},
      {"outcome", R"({"cancelled": {"kind": "parent_cancelled"}, "overran": false, "cleanup_error": "io"})",
       R"({"cancelled": {"kind": "user"}})", "expected outcome.reason.kind user, got parent_cancelled"},
      {"outcome", R"({"cancelled": {}, "overran": false})", R"({"cancelled": {}, "overran": true})",
       "expected outcome.overran true, got false"},
      {"outcome", R"({"cancelled": {}, "cleanup_error": "io"})", R"({"cancelled": {}, "cleanup_error": "full"})",
       "expected outcome.cleanup_error full, got io"},
      {"outcome", R"("cancelled")", R"({"err": "io"})", "expected outcome err io, got cancelled (parent_cancelled)"},
      {"outcome", R"("cancelled")", R"({"ok": 1})", "expected outcome ok 1, got cancelled (parent_cancelled)"},
  };
  check_facts(R"("task": "t")", cleaner, before, 10, facts);
}

TEST(scenario_expect, a_region) {
  const std::string before = both(cleaning, R"({"do": "open_region", "as": "q"},
    {"do": "reserve_obligation", "region": "q", "as": "o"}, {"do": "close", "region": "q"}, )");
  constexpr fact closing[] = {
      {"state", R"("draining")", R"("closed")", "expected state closed, got draining"},
      {"live_tasks", "1", "0", "expected live_tasks 0, got 1"},
      {"live_regions", "0", "1", "expected live_regions 1, got 0"},
      {"reserved", "0", "1", "expected reserved 1, got 0"},
      {"reason", R"({"kind": "timeout"})", R"({"kind": "user"})", "expected reason.kind user, got timeout"},
  };
  check_facts(R"("region": "r")", cleaner, before, 11, closing);
  constexpr fact closed[] = {
      {"leaked", "1", "0", "expected leaked 0, got 1"},
      {"outcome", R"("ok")", R"("err")", "expected outcome err, got ok without a value"},
      {"gone", "false", "true", "expected region 'q' gone, and it is there"},
  };
  check_facts(R"("region": "q")", cleaner, before, 11, closed);
  check({"an outcome too early", "", R"({"do": "expect", "region": "root", "leaked": 0@})", "", R"(, "outcome": "ok")",
         "steps[0] expect: expected an outcome, got incomplete_children"});
}

TEST(scenario_expect, things) {
  constexpr claim claims[] = {
      {"obligation", "", R"({"do": "reserve_obligation", "as": "o"}, {"do": "expect", "obligation": "o", "state": "@"},
        {"do": "commit", "what": "o"})",
       "reserved", "leaked", "steps[1] expect: expected state leaked, got reserved"},
      {"an obligation that is gone", "", R"({"do": "reserve_obligation", "as": "o"}, {"do": "commit", "what": "o"},
        {"do": "reserve_obligation", "as": "p"}, {"do": "commit", "what": "p"},
        {"do": "expect", "obligation": "o", "gone": @})",
       "true", "false", "steps[4] expect: expected obligation 'o', got stale_handle"},
      {"channel, state", "", R"({"do": "channel", "capacity": 2, "tx": "tx", "rx": "rx"}, {"do": "drop", "what": "tx"},
        {"do": "expect", "channel": "tx", "state": "@", "capacity": 2})",
       "sender_closed", "open", "steps[2] expect: expected state open, got sender_closed"},
      {"a channel that is gone", "", R"({"do": "channel", "capacity": 2, "tx": "tx", "rx": "rx"},
        {"do": "drop", "what": "tx"}, {"do": "drop", "what": "rx"},
        {"do": "expect", "channel": "rx", "state": "@", "queued": 0})",
       "fully_closed", "open", "steps[3] expect: expected state open, got fully_closed"},
      {"channel, counts", "", R"({"do": "channel", "capacity": 2, "tx": "tx", "rx": "rx"},
        {"do": "try_send", "tx": "tx", "value": 1}, {"do": "expect", "channel": "rx", "queued": 1, "reserved": 0,
        "counts": {"reserved": 1, "sent": @, "received": 0, "evicted": 0, "discarded": 0}}, {"do": "drop", "what": "rx"})",
       "1", "2", "steps[2] expect: expected counts.sent 2, got 1"},
      {"channel, receiver_waits", R"("t": [{"do": "recv", "rx": "rx"}])",
       R"({"do": "channel", "capacity": 2, "tx": "tx",
        "rx": "rx"}, {"do": "spawn", "task": "t"}, {"do": "run_until_idle"},
        {"do": "expect", "channel": "tx", "receiver_waits": @})",
       "true", "false", "steps[3] expect: expected receiver_waits false, got true"},
      {"permit", "", R"({"do": "channel", "capacity": 2, "tx": "tx", "rx": "rx"}, {"do": "try_reserve", "tx": "tx",
        "as": "p"}, {"do": "expect", "permit": "p", "held": @}, {"do": "abort", "what": "p"})",
       "true", "false", "steps[2] expect: expected held false, got true"},
      {"wheel, live", "", R"({"do": "wheel"}, {"do": "register", "at": "1ms", "as": "a"},
        {"do": "expect", "wheel": true, "live": @, "next": "1ms", "holds": ["a"]})",
       "1", "0", "steps[2] expect: expected live 0, got 1"},
      {"wheel, next", "", R"({"do": "wheel"}, {"do": "expect", "wheel": true, "next": "@"})", "none", "5ns",
       "steps[1] expect: expected next 5ns, got none"},
      {"wheel, holds", "", R"({"do": "wheel"}, {"do": "register", "at": "1ms", "as": "a"},
        {"do": "collect", "at": "@"}, {"do": "expect", "wheel": true, "holds": ["a"]})",
       "0", "1ms", "steps[3] expect: expected 'a' live, and it is not"},
      {"quiescence", "", R"({"do": "add_timer", "for": "1ms", "as": "x"}, {"do": "expect", "quiescence": "@"})",
       "timers_pending", "ok", "steps[1] expect: expected quiescence ok, got timers_pending"},
      {"quiescence, also", "", R"({"do": "add_timer", "for": "1ms", "as": "x"}, {"do": "open_region", "as": "r"},
        {"do": "expect", "quiescence": "regions_not_closed", "also": ["regions_not_closed"@]})",
       R"(, "timers_pending")", "",
       "steps[2] expect: also differs at 1: expected no more, got timers_pending; expected [regions_not_closed], got "
       "[regions_not_closed, timers_pending]"},
      {"runtime, live", R"("t": [{"do": "park"}])", R"({"do": "spawn", "task": "t"}, {"do": "open_region"},
        {"do": "add_timer", "for": "1s", "as": "x"},
        {"do": "expect", "runtime": true, "live_tasks": 1, "live_regions": 2, "live_timers": @, "fatal": 0})",
       "1", "2", "steps[3] expect: expected live_timers 2, got 1"},
      {"runtime, fatal", "",
       R"({"do": "channel", "capacity": @, "tx": "tx", "rx": "rx", "status": ["ok", "invalid_argument"]},
        {"do": "expect", "runtime": true, "fatal": 1})",
       "0", "1", "steps[1] expect: expected fatal 1, got 0"},
      {"runtime, limit_refusals", "", R"({"do": "reserve_obligation", "as": "o"},
        {"do": "reserve_obligation", "status": "resource_exhausted", "unchanged": true}, {"do": "commit", "what": "o"},
        {"do": "expect", "runtime": true, "limit_refusals": @})",
       "1", "0", "steps[3] expect: expected limit_refusals 0, got 1", R"("contract": {"max_obligations": 1})"},
  };
  for (const claim& c : claims) check(c);
}

TEST(scenario_expect, what_happened) {
  constexpr std::string_view two = R"("a": [{"do": "say", "text": "a"}, {"do": "yield"}, {"do": "say", "text": "b"}])";
  constexpr claim claims[] = {
      {"said, sorted", two, R"({"do": "spawn", "task": "a"}, {"do": "run_until_idle"},
        {"do": "expect", "said": ["b", "@"], "sorted": true})",
       "a", "c", "steps[2] expect: said differs at 0: expected b, got a; expected [b, c], got [a, b]"},
      {"said, too few", two, R"({"do": "spawn", "task": "a"}, {"do": "run_until_idle"},
        {"do": "expect", "said": ["a"@]})",
       R"(, "b")", "", "steps[2] expect: said differs at 1: expected no more, got b; expected [a], got [a, b]"},
      {"destroyed", "", R"({"do": "channel", "capacity": 3, "tx": "tx", "rx": "rx"},
        {"do": "try_send", "tx": "tx", "value": 1}, {"do": "try_send", "tx": "tx", "value": 2},
        {"do": "try_send", "tx": "tx", "value": 3}, {"do": "try_recv", "rx": "rx", "value": 1}, {"do": "drop", "what": "rx"},
        {"do": "expect", "destroyed": [2, @]})",
       "3", "1", "steps[6] expect: destroyed differs at 1: expected 1, got 3; expected [2, 1], got [2, 3]"},
      {"dispatched", two, R"({"do": "spawn", "task": "a", "as": "x"}, {"do": "spawn", "task": "a", "as": "y"},
        {"do": "run_until_idle"}, {"do": "expect", "dispatched": ["x", "y", "x", "@"]})",
       "y", "x",
       "steps[3] expect: dispatched differs at 3: expected x, got y; expected [x, y, x, x], got [x, y, x, y]"},
      {"dispatched, from", two, R"({"do": "spawn", "task": "a", "as": "x"}, {"do": "run_until_idle"},
        {"do": "expect", "dispatched": ["x", "x"], "from": ["ready", "@"]})",
       "ready", "cancel",
       "steps[2] expect: from differs at 1: expected cancel, got ready; expected [ready, cancel], got [ready, ready]"},
      {"events", "", R"({"do": "open_region", "as": "r"}, {"do": "open_region", "as": "s"},
        {"do": "close", "region": "r"}, {"do": "close", "region": "s"},
        {"do": "expect", "events": ["region_closed r", "region_closed @"]})",
       "s", "r",
       "steps[4] expect: events differs at 1: expected region_closed r, got region_closed s; expected [region_closed "
       "r, "
       "region_closed r], got [region_closed r, region_closed s]"},
      {"events, parts", "", R"({"do": "open_region", "as": "r"}, {"do": "open_region", "in": "r", "as": "s"},
        {"do": "expect", "events": [{"kind": "region_created", "of": "r", "with": "root", "a": 0},
        {"kind": "region_created", "of": "s", "with": "@"}]})",
       "r", "root",
       "steps[2] expect: events differs at 1: expected region_created s with root, got region_created s with r; "
       "expected "
       "[region_created r with root a=0, region_created s with root], got [region_created r with root a=0, "
       "region_created s "
       "with r]"},
      {"events, kinds", "", R"({"do": "open_region", "as": "r"}, {"do": "mark", "as": "m"},
        {"do": "close", "region": "r"}, {"do": "expect", "events": ["region_closing r", "region_closed r"],
        "kinds": ["@"], "since": "m"})",
       "region_draining", "region_finalizing_at_once",
       "steps[3] expect: events differs at 1: expected region_closed r, got region_finalizing_at_once r; expected "
       "[region_closing r, region_closed r], got [region_closing r, region_finalizing_at_once r, region_closed r]"},
      {"events, among", "", R"({"do": "open_region", "as": "r"}, {"do": "open_region", "as": "s"},
        {"do": "close", "region": "s"}, {"do": "expect", "among": true,
        "events": ["region_created s", "region_closed s"@]})",
       "", R"(, "region_closed r")", "steps[3] expect: events lack entry 2, region_closed r, behind those before it"},
      {"count", "", R"({"do": "open_region", "as": "r"}, {"do": "mark", "as": "m"}, {"do": "open_region", "as": "s"},
        {"do": "expect", "count": {"region_created": @, "region_closed": 0}, "since": "m"})",
       "1", "2", "steps[3] expect: expected region_created 2, got 1"},
  };
  for (const claim& c : claims) check(c);
}

TEST(scenario_expect, a_name_that_stands_for_another_kind_of_thing_is_no_number) {
  constexpr std::string_view tasks = R"("w": [{"do": "return"}], "k": [{"do": "cancel", "task": "a"}])";
  constexpr std::string_view start =
      R"({"do": "spawn", "task": "w", "as": "a"}, {"do": "spawn", "task": "k", "as": "k"},
    {"do": "spawn", "task": "w", "as": "x"}, {"do": "open_region", "as": "y"}, {"do": "cancel", "task": "x"},
    {"do": "expect", "task": "x", "reason": {"origin_task": null}, "witness": {"task": "x", "region": "root"}},
    {"do": "certificate", "as": "x"}, {"do": "certificate", "as": "y"}, )";
  const auto told = [&](std::string_view step) { return failures(tasks, both(start, step)); };
  EXPECT_EQ(told(R"({"do": "cancel", "task": "a"}, {"do": "expect", "task": "a", "reason": {"origin_task": "x"}})"),
            lines{"steps[9] expect: 'x' is a certificate now"});
  EXPECT_EQ(told(R"({"do": "cancel", "task": "a"}, {"do": "expect", "task": "a", "reason": {"origin_task": "late"}},
                    {"do": "spawn", "task": "w", "as": "late"})"),
            lines{"steps[9] expect: nothing is called 'late' yet"});
  EXPECT_EQ(told(R"({"do": "cancel", "task": "a"}, {"do": "expect", "task": "a", "witness": {"region": "y"}})"),
            lines{"steps[9] expect: 'y' is a certificate now"});
  EXPECT_EQ(told(R"({"do": "expect", "dispatched": ["x"]})"), lines{"steps[8] expect: 'x' is a certificate now"});
  EXPECT_EQ(told(R"({"do": "expect", "events": ["task_completed x"]})"),
            lines{"steps[8] expect: 'x' is a certificate now"});
}

TEST(scenario_expect, a_commit_takes_obligations_only) {
  EXPECT_EQ(failures("", R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"},
    {"do": "reserve_obligation", "as": "x"}, {"do": "abort", "what": "x"}, {"do": "try_reserve", "tx": "tx", "as": "x"},
    {"do": "commit", "what": "x"}, {"do": "expect", "permit": "x", "held": true}, {"do": "abort", "what": "x"})"),
            lines{"steps[4] commit: 'x' is a permit now"});
}

TEST(scenario_expect, a_wheel_holds_exactly_what_is_named) {
  constexpr std::string_view two = R"({"do": "wheel", "as": "A"}, {"do": "wheel", "as": "B"},
    {"do": "register", "wheel": "A", "at": 5, "as": "ta"}, {"do": "register", "wheel": "B", "at": 5, "as": "tb"}, )";
  EXPECT_EQ(failures("", both(two, R"({"do": "collect", "wheel": "A", "at": 10, "fired": ["tb"]})")),
            lines{"steps[4] collect: fired differs at 0: expected tb, got ta; expected [tb], got [ta]"});
  EXPECT_EQ(failures("", both(two, R"({"do": "expect", "wheel": "A", "holds": ["ta"]},
    {"do": "expect", "wheel": "A", "holds": []}, {"do": "expect", "wheel": "A", "holds": ["ta", "tb"]})")),
            (lines{"steps[5] expect: expected no other timer live, and ta is",
                   "steps[6] expect: expected 'tb' live, and it is not"}));
}

TEST(scenario_expect, violations_count_where_ghosts_watch) {
  EXPECT_EQ(failures("", R"({"do": "expect", "runtime": true, "violations": 0})"), lines{});
#ifdef NDEBUG
  const lines told{};
#else
  const lines told{"steps[0] expect: expected violations 1, got 0"};
#endif
  EXPECT_EQ(failures("", R"({"do": "expect", "runtime": true, "violations": 1})"), told);
}

TEST(scenario_expect, leaves_long_lists_out) {
  const std::string say = R"("t": [{"do": "repeat", "times": 20, "steps": [{"do": "say", "text": "x"}]}])";
  EXPECT_EQ(failures(say, R"({"do": "spawn", "task": "t"}, {"do": "run_until_idle"}, {"do": "expect", "said": ["x"]})"),
            lines{"steps[2] expect: said differs at 1: expected no more, got x; expected 1 entries, got 20"});
}

// ---- laws --------------------------------------------------------------------------------------------------------

TEST(scenario_laws, answer_and_are_journalled) {
  constexpr claim claims[] = {
      {"check_transition", "", R"({"do": "check_transition", "machine": "task", "from": "running", "to": "running",
        "status": "@"})",
       "invalid_transition", "ok", "steps[0] check_transition: expected status ok, got invalid_transition"},
      {"check_transition, obligation", "", R"({"do": "check_transition", "machine": "obligation", "from": "leaked",
        "to": "committed", "status": "@"})",
       "obligation_leaked", "ok", "steps[0] check_transition: expected status ok, got obligation_leaked"},
      {"check_transition, cancel_phase", "", R"({"do": "check_transition", "machine": "cancel_phase",
        "from": "finalizing", "to": "requested", "status": "@"})",
       "witness_phase_regression", "ok", "steps[0] check_transition: expected status ok, got witness_phase_regression"},
      {"check_witness", "", R"({"do": "check_witness", "status": "@",
        "previous": {"task": 1, "region": 1, "epoch": 1, "phase": "cancelling", "kind": "shutdown"},
        "next": {"task": 1, "region": 1, "epoch": 1, "phase": "finalizing", "kind": "user"}})",
       "witness_reason_weakened", "ok", "steps[0] check_witness: expected status ok, got witness_reason_weakened"},
      {"check_kind", "", R"({"do": "check_kind", "kind": "shutdown", "severity": 5, "quota": @, "priority": 255})",
       "50", "51", "steps[0] check_kind: expected quota 51, got 50"},
      {"join_outcomes", "", R"({"do": "join_outcomes", "outcomes": [{"ok": 1}, {"err": "io"}, {"err": "full"}],
        "is": {"err": "@"}})",
       "io", "full", "steps[0] join_outcomes: expected outcome err full, got err io (detail 0)"},
      {"meet_budgets", "", R"({"do": "meet_budgets", "budgets": [{"polls": 3}, {"cost": 2, "priority": 9}],
        "is": {"polls": 3, "cost": 2, "priority": @}})",
       "9", "0",
       "steps[0] meet_budgets: expected is deadline none, polls 3, cost 2, priority 0, got deadline none, polls 3, "
       "cost "
       "2, priority 9"},
      {"consume_polls", "", R"({"do": "consume_polls", "budget": {"polls": 2}, "times": 3, "status": "@",
        "left": {"polls": 0}})",
       "budget_exhausted", "ok", "steps[0] consume_polls: expected status ok, got budget_exhausted"},
      {"consume_cost", "", R"({"do": "consume_cost", "budget": {"cost": 5}, "amount": 3, "left": {"cost": @}})", "2",
       "5",
       "steps[0] consume_cost: expected left deadline none, polls unlimited, cost 5, priority 0, got deadline none, "
       "polls "
       "unlimited, cost 2, priority 0"},
      {"exhausted", "", R"({"do": "exhausted", "budget": {"deadline": "1ms", "polls": 0}, "at": "1ms", "is": "@"})",
       "deadline", "polls", "steps[0] exhausted: expected is polls, got deadline"},
      {"strengthen", "", R"({"do": "strengthen", "reasons": [{"kind": "user", "at": 5}, {"kind": "timeout", "at": 9,
        "message": "m"}], "is": {"kind": "@", "message": "m", "at": 9}})",
       "timeout", "deadline", "steps[0] strengthen: expected reason.kind deadline, got timeout"},
      {"wheel", "", R"({"do": "wheel", "max_wheel": "@", "status": "invalid_argument"})", "90d", "24h",
       "steps[0] wheel: expected status invalid_argument, got ok"},
      {"register", "", R"({"do": "wheel", "first_id": "max"}, {"do": "register", "at": "1ms", "as": "a", "id": "max"},
        {"do": "register", "at": "1ms", "id": @})",
       "1", "2", "steps[2] register: expected id 2, got 1"},
      {"register, refused", "", R"({"do": "wheel", "capacity": 1}, {"do": "register", "at": "1ms"},
        {"do": "register", "at": "1ms", "status": "@", "unchanged": true})",
       "resource_exhausted", "ok", "steps[2] register: expected status ok, got resource_exhausted"},
      {"update", "", R"({"do": "wheel"}, {"do": "register", "at": "1ms", "as": "a"},
        {"do": "update", "timer": "a", "at": "9ms"}, {"do": "update", "timer": "a", "at": "5ms", "as": "b"},
        {"do": "unregister", "timer": "a", "was_live": @}, {"do": "collect", "at": "5ms", "fired": ["b"]})",
       "false", "true", "steps[4] unregister: expected was_live true, got false"},
      {"collect", "",
       R"({"do": "wheel"}, {"do": "register", "at": "2ms", "as": "a"}, {"do": "register", "at": "1ms", "as": "b"},
        {"do": "collect", "at": "3ms", "room": 1, "fired": ["b"]}, {"do": "collect", "at": "3ms", "fired": ["@"]})",
       "a", "b", "steps[4] collect: fired differs at 0: expected b, got a; expected [b], got [a]"},
      {"purge", "", R"({"do": "wheel"}, {"do": "register", "at": "2ms", "as": "a"}, {"do": "purge"},
        {"do": "expect", "wheel": true, "live": @})",
       "1", "0", "steps[3] expect: expected live 0, got 1"},
      {"wheel_advance", "", R"({"do": "wheel", "max_timer": "1s"}, {"do": "register", "at": "5ms", "as": "a"},
        {"do": "wheel_advance", "at": "9ms"}, {"do": "expect", "wheel": true, "live": 1},
        {"do": "register", "at": "1s+@", "as": "b"})",
       "9ms", "10ms", "steps[4] register: expected status ok, got timer_duration_exceeded"},
      {"cancel_all", "", R"({"do": "wheel"}, {"do": "register", "at": "2ms"}, {"do": "register", "at": "3ms"},
        {"do": "cancel_all"}, {"do": "expect", "wheel": true, "live": @, "holds": [], "next": "none"})",
       "0", "2", "steps[4] expect: expected live 2, got 0"},
  };
  for (const claim& c : claims) check(c);
  EXPECT_EQ(failures("", R"({"do": "check_kind", "kind": "user"}, {"do": "wheel"},
    {"do": "expect", "events": [{"kind": "law_checked", "a": 0}, {"kind": "law_checked", "a": 0}]})"),
            lines{});
}

TEST(scenario_laws, what_comes_out_is_in_the_digest) {
  const auto digest = [](std::string_view step) { return play_json(file_of("", step)).digest; };
  EXPECT_NE(digest(R"({"do": "meet_budgets", "budgets": [{"polls": 3}]})"),
            digest(R"({"do": "meet_budgets", "budgets": [{"polls": 4}]})"));
  EXPECT_NE(digest(R"({"do": "strengthen", "reasons": [{"kind": "user", "message": "a"}]})"),
            digest(R"({"do": "strengthen", "reasons": [{"kind": "user", "message": "b"}]})"));
  EXPECT_EQ(digest(R"({"do": "meet_budgets", "budgets": [{"polls": 3}, {"polls": 5}]})"),
            digest(R"({"do": "meet_budgets", "budgets": [{"polls": 3}]})"));
}

}  // namespace
}  // namespace asx::scenario::testing
