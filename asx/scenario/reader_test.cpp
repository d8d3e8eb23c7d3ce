// What a file that is wrong is told, word for word, and what a file that is right becomes.
#include "asx/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "asx/scenario/words.hpp"

namespace {

using namespace asx::scenario;

// A file with these members beside version and id.
std::string file(std::string_view members) {
  return R"({"scenario_dsl_version": 1, "id": "x", )" + std::string(members) + "}";
}
// A file whose driver does `steps`, which stand on line 2.
std::string driver(std::string_view steps, std::string_view tasks = "", std::string_view members = "") {
  const std::string scripts = tasks.empty() ? "" : R"("tasks": {)" + std::string(tasks) + "}, ";
  return file(std::string(members) + scripts + "\"steps\": [\n  " + std::string(steps) + "\n]");
}

std::vector<std::string> complaints(std::string_view json, std::string_view file_name = "") {
  std::vector<complaint> wrong;
  const auto read_one = read(json, file_name, wrong);
  EXPECT_EQ(read_one == nullptr, !wrong.empty());
  std::vector<std::string> out;
  for (const complaint& c : wrong) {
    out.push_back(std::to_string(c.at.line) + ":" + std::to_string(c.at.column) + ": " +
                  (c.field.empty() ? "" : c.field + ": ") + c.text);
  }
  return out;
}

using lines = std::vector<std::string>;

struct broken {
  std::string_view what;
  std::string json;
  lines told;
};

const broken broken_files[] = {
    // clang-format off: a table is read by its rows
    {"an empty file", "",
     {R"(1:1: The file is empty; a scenario is a JSON object.)"}},
    {"blank lines alone", R"j( 

 )j",
     {R"(1:1: The file is empty; a scenario is a JSON object.)"}},
    {"a byte order mark", "\xef\xbb\xbf{}",
     {R"(1:1: The file begins with a byte order mark; save it as UTF-8 without one.)"}},
    {"a list", "[]",
     {R"(1:1: A scenario is an object, and this is a list.)"}},
    {"no version, no id, no steps", "{}",
     {R"(1:1: 'id' is missing; a scenario needs it.)",
      R"(1:1: 'scenario_dsl_version' is missing; a scenario needs it.)",
      R"(1:1: 'steps' is missing; a scenario needs it, unless it has 'same_as'.)"}},
    {"another version", R"j({"scenario_dsl_version": 2, "id": "x", "what": 1})j",
     {R"(1:26: scenario_dsl_version: scenario_dsl_version is 2, and this asx reads 1.)"}},
    {"a version in quotes", R"j({"scenario_dsl_version": "1", "id": "x", "steps": []})j",
     {R"(1:26: scenario_dsl_version: 'scenario_dsl_version' takes the number 1, and this is a text.)"}},
    {"an id with a blank", R"j({"scenario_dsl_version": 1, "id": "a b", "steps": []})j",
     {R"(1:35: id: 'a b' is no id; ids are letters, digits, '-', '_' and '.'.)"}},
    {"an unknown field of the file", file(R"("stepps": [])"),
     {R"(1:1: 'steps' is missing; a scenario needs it, unless it has 'same_as'.)",
      R"(1:40: stepps: 'stepps' is no field of a scenario; did you mean 'steps'?)"}},
    {"a domain that is none", file(R"("domain": "chanel", "steps": [])"),
     {R"(1:50: domain: 'chanel' is nothing that 'domain' takes; did you mean 'channel'?)"}},
    {"pins that are no texts", file(R"("pins": ["R-01", 2], "steps": [])"),
     {R"(1:57: pins[1]: 'pins' takes a text, and this is a number.)"}},
    {"a step that is no object", driver(R"("close")"),
     {R"(2:3: steps[0]: A step is an object, and this is a text.)"}},
    {"a step without a word", driver(R"({"region": "root"})"),
     {R"(2:3: steps[0]: 'do' is missing; every step needs it.)"}},
    {"a slip in a word", driver(R"({"do": "clsoe"})"),
     {R"(2:10: steps[0].do: 'clsoe' is no operation; did you mean 'close'?)"}},
    {"a slip in a field", driver(R"({"do": "close", "regoin": "root"})"),
     {R"(2:19: steps[0].regoin: 'regoin' is no field of close; did you mean 'region'?)"}},
    {"a field that is missing", driver(R"({"do": "spawn", "as": "a"})"),
     {R"(2:3: steps[0]: 'task' is missing; spawn needs it.)"}},
    {"a wrong type", driver(R"({"do": "channel", "capacity": true, "tx": "t", "rx": "r"})"),
     {R"(2:33: steps[0].capacity: 'capacity' takes a number, and this is true or false.)"}},
    {"a number out of range", driver(R"({"do": "spawn", "task": "t", "priority": 256})", R"("t": [])"),
     {R"(2:44: steps[0].priority: 'priority' is 0 to 255, and this is 256.)"}},
    {"a script that is not there", driver(R"({"do": "spawn", "task": "wrker"})", R"("worker": [])"),
     {R"(2:27: steps[0].task: No script of 'tasks' is called 'wrker'; did you mean 'worker'?)"}},
    {"a region that nobody opens", driver(R"({"do": "open_region", "as": "inner"},
  {"do": "close", "region": "iner"})"),
     {R"(3:29: steps[1].region: No step makes a region called 'iner'; did you mean 'inner'?)"}},
    {"a task where a region is wanted", driver(R"({"do": "spawn", "task": "t", "as": "a"},
  {"do": "close", "region": "a"})", R"("t": [])"),
     {R"(3:29: steps[1].region: 'a' is a task, and 'region' takes a region.)"}},
    {"one more than were counted", driver(R"({"do": "spawn", "task": "t", "as": "w", "count": 3},
  {"do": "cancel", "task": "w3"},
  {"do": "cancel", "task": "w4"})", R"("t": [])"),
     {R"(4:28: steps[2].task: No step makes a task called 'w4'; did you mean 'w3'?)"}},
    {"the own name of another script", driver(R"({"do": "spawn", "task": "a"})", R"("a": [{"do": "mark", "as": "$m"}],
 "b": [{"do": "expect", "said": [], "since": "$m"}])"),
     {R"(2:46: tasks.b[0].since: No step in this script makes a mark called '$m'.)"}},
    {"an own name in the driver", driver(R"({"do": "mark", "as": "$m"})"),
     {R"(2:24: steps[0].as: '$m' begins with '$', and such names belong to tasks; the driver has none.)"}},
    {"root, made again", driver(R"({"do": "open_region", "as": "root"})"),
     {R"(2:31: steps[0].as: 'root' is the root region; choose another name.)"}},
    {"a name with a blank", driver(R"({"do": "mark", "as": "a b"})"),
     {R"(2:24: steps[0].as: 'a b' is no name; names are letters, digits, '-', '_' and '.', with a '$' before a task's own.)"}},
    {"waiting in the driver", driver(R"({"do": "recv", "rx": "r"})"),
     {R"(2:10: steps[0].do: 'recv' is for tasks; the driver cannot do it.)",
      R"(2:24: steps[0].rx: No step makes a receiver called 'r'.)"}},
    {"a driver's word in a task", driver(R"({"do": "spawn", "task": "t"})", R"("t": [{"do": "advance", "by": "1s"}])"),
     {R"(1:63: tasks.t[0].do: 'advance' is for the driver; a task cannot do it.)"}},
    {"waiting in a finalizer", driver(R"({"do": "channel", "capacity": 1, "tx": "t", "rx": "r"},
  {"do": "add_finalizer", "steps": [{"do": "reserve", "tx": "t"}]})"),
     {R"(3:44: steps[1].steps[0].do: 'reserve' cannot stand in a cleanup action or a finalizer: their steps are synchronous.)"}},
    {"time in a cleanup action", driver(R"({"do": "spawn", "task": "t"})", R"("t": [{"do": "push_cleanup", "steps": [{"do": "advance", "by": 1}]}])"),
     {R"(1:96: tasks.t[0].steps[0].do: 'advance' is for the driver; cleanup actions and finalizers cannot do it.)"}},
    {"both for and until", driver(R"({"do": "spawn", "task": "t"})", R"("t": [{"do": "sleep", "for": 1, "until": 2}])"),
     {R"(1:56: tasks.t[0]: sleep takes 'for' or 'until', and this has both.)"}},
    {"neither by nor to", driver(R"({"do": "advance"})"),
     {R"(2:3: steps[0]: advance needs 'by' or 'to'.)"}},
    {"a unit that is none", driver(R"({"do": "advance", "by": "5mss"})"),
     {R"(2:27: steps[0].by: '5mss' has no unit that is known; use ns, us, ms, s, m, h or d.)"}},
    {"a duration without a number", driver(R"({"do": "advance", "by": "ms"})"),
     {R"(2:27: steps[0].by: 'ms' is no duration; write a number and a unit, such as 5ms.)"}},
    {"a duration that is too long", driver(R"({"do": "advance", "by": "1s+300000d"})"),
     {R"(2:27: steps[0].by: '300000d' is longer than 2^64 - 1 nanoseconds.)"}},
    {"a status that is none", driver(R"({"do": "close", "status": "region_not_opn"})"),
     {R"(2:29: steps[0].status: 'region_not_opn' is no status; did you mean 'region_not_open'?)"}},
    {"no status in the list", driver(R"({"do": "close", "status": []})"),
     {R"(2:29: steps[0].status: 'status' names no status; leave it out, or name one.)"}},
    {"a branch on nothing", driver(R"({"do": "hold", "on": {"fulll": []}})"),
     {R"(2:25: steps[0].on.fulll: 'fulll' is no status; did you mean 'full'?)"}},
    {"a branch that is no list", driver(R"({"do": "hold", "on": {"full": {"do": "hold"}}})"),
     {R"(2:33: steps[0].on.full: 'full' takes a list of steps, and this is an object.)"}},
    {"a branch at a run", driver(R"({"do": "run_until_idle", "on": {"step_limit": []}})"),
     {R"(2:34: steps[0].on: 'on' cannot stand at run_until_idle; say what it must answer with 'status'.)"}},
    {"a wrong word inside a branch", driver(R"({"do": "hold", "on": {"full": [{"do": "unhodl"}]}})"),
     {R"(2:41: steps[0].on.full[0].do: 'unhodl' is no operation; did you mean 'unhold'?)"}},
    {"a cancel kind that is none", driver(R"({"do": "close", "kind": "usr"})"),
     {R"(2:27: steps[0].kind: 'usr' is no cancel kind; did you mean 'user'?)"}},
    {"a state of another machine", driver(R"({"do": "check_transition", "machine": "region", "from": "open", "to": "running"})"),
     {R"(2:73: steps[0].to: 'running' is no state of a region; did you mean 'draining'?)"}},
    {"a machine that is none", driver(R"({"do": "check_transition", "machine": "timer", "from": "open", "to": "closed"})"),
     {R"(2:41: steps[0].machine: 'timer' is nothing that 'machine' takes; it can be region, task, obligation or cancel_phase.)"}},
    {"an event that is none", driver(R"({"do": "expect", "events": ["region_close root", "task_spawned"]})"),
     {R"(2:31: steps[0].events[0]: 'region_close' is no kind of event; did you mean 'region_closed'?)"}},
    {"an event of nobody", driver(R"({"do": "expect", "events": [{"kind": "region_closed", "of": "r"}]})"),
     {R"(2:63: steps[0].events[0].of: No step makes a region called 'r'.)"}},
    {"a count of nothing", driver(R"({"do": "expect", "count": {"task_spawnd": 1}})"),
     {R"(2:30: steps[0].count.task_spawnd: 'task_spawnd' is no kind of event; did you mean 'task_spawned'?)"}},
    {"two things at once", driver(R"({"do": "expect", "runtime": true, "region": "root", "state": "open"})"),
     {R"(2:37: steps[0].region: expect looks at one thing, and this names both 'runtime' and 'region'.)"}},
    {"no thing at all", driver(R"({"do": "expect", "state": "open"})"),
     {R"(2:3: steps[0]: expect needs a thing to look at: task, region, obligation, channel, permit, wheel, quiescence, runtime, said, destroyed, dispatched, events or count.)"}},
    {"nothing about a thing", driver(R"({"do": "expect", "region": "root"})"),
     {R"(2:3: steps[0]: expect says nothing about the region; add a field such as 'state'.)"}},
    {"a field of another thing", driver(R"({"do": "expect", "region": "root", "polls": 1})"),
     {R"(2:38: steps[0].polls: 'polls' is no field of expect region.)"}},
    {"gone, and yet a state", driver(R"({"do": "expect", "region": "root", "gone": true, "state": "open"})"),
     {R"(2:3: steps[0]: What is gone has no other field; 'gone' stands alone.)"}},
    {"a status of an expectation", driver(R"({"do": "expect", "region": "root", "state": "open", "status": "ok"})"),
     {R"(2:55: steps[0].status: 'status' cannot stand at expect, which gives no answer.)"}},
    {"a budget with a slip", driver(R"({"do": "meet_budgets", "budgets": [{"pols": 1}, "infinit"]})"),
     {R"(2:39: steps[0].budgets[0].pols: 'pols' is no field of a budget; did you mean 'polls'?)",
      R"(2:51: steps[0].budgets[1]: 'infinit' is no budget; did you mean 'infinite'?)"}},
    {"nothing to fold", driver(R"({"do": "strengthen", "reasons": []})"),
     {R"(2:35: steps[0].reasons: 'reasons' needs at least one.)"}},
    {"a reason without a kind", driver(R"({"do": "strengthen", "reasons": [{"message": "stop"}]})"),
     {R"(2:36: steps[0].reasons[0]: 'kind' is missing; a reason needs it.)"}},
    {"an outcome that says too little", driver(R"({"do": "join_outcomes", "outcomes": ["cancelled"]})"),
     {R"(2:40: steps[0].outcomes[0]: 'cancelled' says too little of an outcome that is given; write {"err": "full"}, {"cancelled": {"kind": "user"}} or {"panicked": "text"}.)"}},
    {"an outcome of two kinds", driver(R"({"do": "join_outcomes", "outcomes": ["ok"], "is": {"ok": 1, "err": "full"}})"),
     {R"(2:53: steps[0].is: An outcome says one of ok, err, cancelled and panicked, and this says several.)"}},
    {"an error that is none", driver(R"({"do": "join_outcomes", "outcomes": [{"err": "ok"}]})"),
     {R"(2:48: steps[0].outcomes[0].err: 'err' takes a status that is an error, and ok is none.)"}},
    {"no wheel", driver(R"({"do": "register", "at": 5, "as": "t"})"),
     {R"(2:3: steps[0]: There is no wheel; a step {"do": "wheel"} makes one.)"}},
    {"which of two wheels", driver(R"({"do": "wheel", "as": "a"}, {"do": "wheel", "as": "b"}, {"do": "purge"})"),
     {R"(2:59: steps[2]: There are 2 wheels by now; say which with 'wheel'.)"}},
    {"a worker too many", driver(R"({"do": "step", "worker": 2})", "", R"("runtime": {"workers": 2}, )"),
     {R"(2:28: steps[0].worker: 'worker' is 2, and the last one is 1; 'runtime' says how many there are.)"}},
    {"an endless poll", driver(R"({"do": "spawn", "task": "t"})", R"("t": [{"do": "repeat", "steps": [{"do": "say", "text": "a"}]}])"),
     {R"(1:56: tasks.t[0]: repeat goes on for ever, and none of its steps waits or ends the task; the poll would never end.)"}},
    {"must_fail without a refusal", driver(R"({"do": "close", "status": "region_not_open"},
  {"do": "close", "unchanged": true})", "", R"("must_fail": true, )"),
     {R"(1:53: must_fail: 'must_fail' is true, and no step expects a refusal with 'unchanged': true.)"}},
    {"more beside same_as", file(R"("same_as": "y", "steps": [], "must_fail": true)"),
     {R"(1:56: steps: 'steps' cannot stand beside 'same_as': the other scenario says it.)",
      R"(1:69: must_fail: 'must_fail' cannot stand beside 'same_as': the other scenario says it.)"}},
    {"same as itself", file(R"("same_as": "x")"),
     {R"(1:51: same_as: 'same_as' names this file itself; it takes the id of another one.)"}},
    {"a setting with a slip", file(R"("runtime": {"sed": 1}, "steps": [])"),
     {R"(1:52: runtime.sed: 'sed' is no field of runtime; did you mean 'seed'?)"}},
    {"a setting out of range", file(R"("runtime": {"workers": 0, "order": "drawn"}, "steps": [])"),
     {R"(1:63: runtime.workers: 'workers' is 1 to 64, and this is 0.)",
      R"(1:75: runtime.order: 'drawn' is nothing that 'order' takes; it can be round_robin or seeded.)"}},
    {"seed and seeds", file(R"("runtime": {"seed": 1, "seeds": []}, "steps": [])"),
     {R"(1:51: runtime: 'seed' and 'seeds' are both there; one of them is enough.)",
      R"(1:72: runtime.seeds: 'seeds' is empty; name one, or leave it out.)"}},
    {"a profile twice", file(R"("runtime": {"profiles": ["tiny", "tiny", "cor"]}, "steps": [])"),
     {R"(1:73: runtime.profiles[1]: 'profiles' names this one twice.)",
      R"(1:81: runtime.profiles[2]: 'cor' is nothing that 'profiles' takes; did you mean 'core'?)"}},
    {"a limit with a slip", file(R"("runtime": {"contract": {"max_task": 3, "max_regions": 4294967296}}, "steps": [])"),
     {R"(1:65: runtime.contract.max_task: 'max_task' is no limit of the contract; did you mean 'max_tasks'?)",
      R"(1:95: runtime.contract.max_regions: 'max_regions' is 1 to 4194304, and this is 4294967296.)"}},
    {"no region at all", file(R"("runtime": {"contract": {"max_regions": 0}}, "steps": [])"),
     {R"(1:80: runtime.contract.max_regions: 'max_regions' is 1 to 4194304, and this is 0.)"}},
    {"a digest that is none", file(R"("digest": "12", "runtime": {"seeds": [1, 2]}, "steps": [])"),
     {R"(1:50: digest: '12' is no digest: 32 digits, 0 to 9 and a to f.)",
      R"(1:50: digest: 'digest' is of one play, and 'seeds' asks for several.)"}},
    {"a script that is a text", file(R"("tasks": {"a": "b", "c": {"when_cancelled": []}}, "steps": [])"),
     {R"(1:55: tasks.a: A script is a list of steps or an object with 'steps', and this is a text.)",
      R"(1:65: tasks.c: 'steps' is missing; a script needs it.)"}},
    {"many at once, in the order of the file", driver(R"({"do": "close", "region": "nowhere"},
  {"do": "clse"},
  {"do": "spawn", "task": "t", "rgion": 1})"),
     {R"(2:29: steps[0].region: No step makes a region called 'nowhere'.)",
      R"(3:10: steps[1].do: 'clse' is no operation; did you mean 'close'?)",
      R"(4:27: steps[2].task: No script of 'tasks' is called 't'.)",
      R"(4:32: steps[2].rgion: 'rgion' is no field of spawn; did you mean 'region'?)"}},
    {"a moment that is a list", driver(R"({"do": "collect", "at": []}, {"do": "wheel"})"),
     {R"(2:27: steps[0].at: 'at' takes a moment such as "5ms", or "none", and this is a list.)"}},
    {"a witness with wrong parts", driver(R"({"do": "check_witness", "previous": {"phase": "started"}, "next": {"task": "a"}})"),
     {R"(2:49: steps[0].previous.phase: 'started' is nothing that 'phase' takes; it can be requested, cancelling, finalizing or completed.)",
      R"(2:78: steps[0].next.task: 'task' takes a number, and this is a text.)"}},
    {"a status in capital letters", driver(R"({"do": "close", "status": ["ok", "ASX_E_FUL"]})"),
     {R"(2:36: steps[0].status[1]: 'ASX_E_FUL' is no status; did you mean 'full'?)"}},
    {"a governor that is none", driver(R"({"do": "set_governor", "to": "hurry"})"),
     {R"(2:32: steps[0].to: 'hurry' is nothing that 'to' takes; it can be no_preference, meet_deadlines, drain_obligations or drain_regions.)"}},
    {"an answer of what gives none", driver(R"({"do": "spawn", "task": "t"})", R"("t": [
  {"do": "yield", "status": "full"}, {"do": "park", "unchanged": true}, {"do": "repeat", "times": 1, "steps": [], "on": {}},
  {"do": "return", "status": "ok"}, {"do": "fail", "error": "io", "on": {}}, {"do": "panic", "unchanged": false}])"),
     {R"(2:19: tasks.t[0].status: 'status' cannot stand at yield, which gives no answer.)",
      R"(2:53: tasks.t[1].unchanged: 'unchanged' cannot stand at park, which gives no answer.)",
      R"(2:115: tasks.t[2].on: 'on' cannot stand at repeat, which gives no answer.)",
      R"(3:20: tasks.t[3].status: 'status' cannot stand at return, which gives no answer.)",
      R"(3:67: tasks.t[4].on: 'on' cannot stand at fail, which gives no answer.)",
      R"(3:94: tasks.t[5].unchanged: 'unchanged' cannot stand at panic, which gives no answer.)"}},
    {"expectations that say nothing", driver(R"({"do": "spawn", "task": "t", "as": "a"}, {"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"},
  {"do": "expect", "events": []},
  {"do": "expect", "events": [], "kinds": []},
  {"do": "expect", "events": [], "kinds": ["task_completed"], "among": true},
  {"do": "expect", "count": {}},
  {"do": "expect", "channel": "tx", "counts": {}},
  {"do": "expect", "task": "a", "witness": {}},
  {"do": "expect", "task": "a", "reason": {}},
  {"do": "strengthen", "reasons": [{"kind": "user"}], "is": {}})", R"("t": [])"),
     {R"(3:30: steps[2].events: 'events' is empty, and 'kinds' names none that must not be there.)",
      R"(4:30: steps[3].events: 'events' is empty, and 'kinds' names none that must not be there.)",
      R"(5:30: steps[4].events: 'events' is empty, and nothing is among all; name an event.)",
      R"(6:29: steps[5].count: 'count' is empty and says nothing; name a part of it, or leave it out.)",
      R"(7:47: steps[6].counts: 'counts' is empty and says nothing; name a part of it, or leave it out.)",
      R"(8:44: steps[7].witness: 'witness' is empty and says nothing; name a part of it, or leave it out.)",
      R"(9:43: steps[8].reason: 'reason' is empty and says nothing; name a part of it, or leave it out.)",
      R"(10:61: steps[9].is: 'is' is empty and says nothing; name a part of it, or leave it out.)"}},
    {"what comes with ok, beside a refusal", driver(R"({"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"}, {"do": "wheel"},
  {"do": "try_recv", "rx": "rx", "value": 7, "status": "empty"},
  {"do": "try_recv", "rx": "rx", "value": 7, "status": "empty", "on": {"ok": []}},
  {"do": "register", "at": 3, "id": 7, "generation": 8, "status": ["resource_exhausted", "timer_duration_exceeded"]},
  {"do": "shutdown", "status": "tasks_still_active", "quiescent": false})", R"("t": [
  {"do": "join", "task": "a", "outcome": "ok", "status": "cancelled"}, {"do": "spawn", "task": "t", "as": "a"}])"),
     {R"(2:42: tasks.t[0].outcome: 'outcome' comes with ok, and a refusal is expected; leave it out.)",
      R"(4:43: steps[2].value: 'value' comes with ok, and a refusal is expected; leave it out.)",
      R"(6:37: steps[4].id: 'id' comes with ok, and a refusal is expected; leave it out.)",
      R"(6:54: steps[4].generation: 'generation' comes with ok, and a refusal is expected; leave it out.)",
      R"(7:67: steps[5].quiescent: 'quiescent' follows from what 'status' or 'on' say; leave it out.)"}},
    {"too much of one step", driver(R"({"do": "consume_polls", "budget": "infinite", "times": 1000001},
  {"do": "step", "times": 5000000}, {"do": "run_until_idle", "max_steps": "max"})"),
     {R"(2:58: steps[0].times: 'times' is 1 to 1000000, and this is 1000001.)",
      R"(3:27: steps[1].times: 'times' is 1 to 1000000, and this is 5000000.)",
      R"(3:75: steps[2].max_steps: 'max_steps' is 0 to 1000000, and this is max.)"}},
    {"more workers than a scenario may have", file(R"("runtime": {"workers": 65}, "steps": [])"),
     {R"(1:63: runtime.workers: 'workers' is 1 to 64, and this is 65.)"}},
    {"two branches on one status", driver(R"({"do": "hold", "on": {"full": [], "FULL": []}})"),
     {R"(2:37: steps[0].on.FULL: 'FULL' has a branch already, in another spelling.)"}},
    {"a name of another kind than the event's", driver(R"({"do": "open_region", "as": "r"}, {"do": "spawn", "task": "t", "as": "t"},
  {"do": "expect", "events": ["task_completed r", {"kind": "task_spawned", "of": "root"}, "timer_fired t"]},
  {"do": "expect", "events": [{"kind": "region_created", "of": "r", "with": "t"}, "worker_idled t"]})", R"("t": [])"),
     {R"(3:31: steps[2].events[0]: 'r' is a region, and 'task_completed' takes a task.)",
      R"(3:82: steps[2].events[1].of: 'root' is a region, and 'task_spawned' takes a task.)",
      R"(3:91: steps[2].events[2]: 't' is a task, and 'timer_fired' takes a timer.)",
      R"(4:77: steps[3].events[0].with: 't' is a task, and 'region_created' takes a region.)",
      R"(4:83: steps[3].events[1]: 'worker_idled' has nothing with a name there.)"}},
    {"which of two wheels, in a script", driver(R"({"do": "wheel", "as": "a"}, {"do": "wheel", "as": "b"}, {"do": "spawn", "task": "t"})", R"("t": [{"do": "purge"}])"),
     {R"(1:56: tasks.t[0]: There are 2 wheels in this file; say which with 'wheel'.)"}},
    {"wheels without names", driver(R"({"do": "wheel"}, {"do": "wheel"}, {"do": "cancel_all"})"),
     {R"(2:37: steps[2]: There are 2 wheels by now; say which with 'wheel'.)"}},
    // clang-format on
};

TEST(scenario_reader, a_broken_file_is_told_what_is_wrong_and_where) {
  for (const broken& b : broken_files) EXPECT_EQ(complaints(b.json), b.told) << b.what;
}

TEST(scenario_reader, a_fixture_is_called_by_its_id_and_pins_something) {
  const std::string good = file(R"("pins": ["R-01"], "steps": [])");
  EXPECT_EQ(complaints(good, "x.json"), lines{});
  EXPECT_EQ(complaints(good, "conformance/fixtures/task/x.json"), lines{});
  EXPECT_EQ(complaints(good, "y.json"),
            lines{"1:35: id: The id is 'x', and the file is called 'y.json'; a fixture's file is called by its id and "
                  "'.json'."});
  EXPECT_EQ(complaints(file(R"("pins": [], "steps": [])"), "x.json"),
            lines{"1:48: pins: 'pins' is missing; a fixture names the laws that it pins."});
  EXPECT_EQ(complaints(file(R"("steps": [])"), "x.json"),
            lines{"1:1: pins: 'pins' is missing; a fixture names the laws that it pins."});
  EXPECT_EQ(complaints(file(R"("same_as": "y")"), "x.json"), lines{});  // The other file pins.
}

TEST(scenario_reader, what_is_left_out_has_its_default) {
  std::vector<complaint> wrong;
  const auto s = read(file(R"("steps": [{"do": "hold"}])"), "", wrong);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->id, "x");
  EXPECT_EQ(s->seeds, std::vector<std::uint64_t>{0});
  EXPECT_EQ(s->profiles, (std::vector{profile::tiny, profile::core, profile::server}));
  EXPECT_TRUE(s->shuts_down);
  EXPECT_FALSE(s->must_fail);
  EXPECT_EQ(s->settings.workers, 1U);
  EXPECT_EQ(s->settings.cancel_streak_limit, 16U);
  EXPECT_EQ(s->settings.timed_streak_limit, 64U);
  EXPECT_EQ(s->settings.behaviour.max_unobserved_cancel_polls, UINT32_MAX);
  EXPECT_EQ(s->contract_for(profile::tiny).max_tasks, 64U);
  EXPECT_EQ(s->contract_for(profile::server).max_trace_events, 1'048'576U);
  ASSERT_EQ(s->driver.size(), 1U);
  EXPECT_EQ(s->driver[0].what, op::hold);
  EXPECT_EQ(s->driver[0].expected, std::vector{asx::status::ok});
  EXPECT_FALSE(s->driver[0].says_status);
}

TEST(scenario_reader, settings_reach_the_runtime) {
  std::vector<complaint> wrong;
  const auto s = read(file(R"("title": "t", "domain": "task", "must_fail": true, "shutdown": "skip", "runtime": {
      "seeds": [3, "max"], "workers": 4, "order": "seeded", "leaks": "hold", "cancel_streak_limit": 2,
      "timed_streak_limit": 0, "ready_tiebreak": "rng", "coalesce_window": "1ms+5ns", "max_unobserved_cancel_polls": 7,
      "profiles": ["server", "tiny"], "trace_overflow": "reject",
      "contract": {"max_tasks": 3, "max_bytes": "max", "max_regions": "max", "max_timers": 9}},
      "steps": [{"do": "close", "status": ["REGION_NOT_OPEN", "ASX_E_FULL"], "unchanged": true}])"),
                      "", wrong);
  ASSERT_NE(s, nullptr);
  EXPECT_TRUE(s->must_fail);
  EXPECT_FALSE(s->shuts_down);
  EXPECT_EQ(s->title, "t");
  EXPECT_EQ(s->domain, "task");
  EXPECT_EQ(s->seeds, (std::vector<std::uint64_t>{3, UINT64_MAX}));
  EXPECT_EQ(s->profiles, (std::vector{profile::server, profile::tiny}));
  EXPECT_EQ(s->settings.workers, 4U);
  EXPECT_EQ(s->settings.order, asx::worker_order::kind::drawn);
  EXPECT_EQ(s->settings.behaviour.leaks, asx::leak_policy::hold);
  EXPECT_EQ(s->settings.behaviour.max_unobserved_cancel_polls, 7U);
  EXPECT_EQ(s->settings.cancel_streak_limit, 2U);
  EXPECT_EQ(s->settings.timed_streak_limit, 0U);
  EXPECT_EQ(s->settings.ready_tiebreak, asx::tie_break::rng);
  EXPECT_EQ(s->settings.coalesce_window.ns, 1'000'005U);
  const asx::resource_contract c = s->contract_for(profile::tiny);
  EXPECT_EQ(c.max_tasks, 3U);
  EXPECT_EQ(c.max_bytes, UINT64_MAX);
  EXPECT_EQ(c.max_regions, 1U << 22);
  EXPECT_EQ(c.max_timers, 9U);
  EXPECT_EQ(c.max_obligations, 64U);  // The profile's.
  EXPECT_EQ(c.overflow, asx::trace_overflow::reject);
  EXPECT_EQ(s->driver[0].expected, (std::vector{asx::status::region_not_open, asx::status::full}));
  EXPECT_TRUE(s->driver[0].says_status);
}

TEST(scenario_reader, steps_keep_their_branches_and_their_inner_steps) {
  std::vector<complaint> wrong;
  const auto s = read(driver(R"({"do": "channel", "capacity": 1, "tx": "t", "rx": "r"}, {"do": "spawn", "task": "a"})",
                             R"("a": {"steps": [
          {"do": "repeat", "steps": [{"do": "recv", "rx": "r", "on": {"disconnected": [{"do": "return"}], "FULL": []}}]},
          {"do": "push_cleanup", "as": "$c", "steps": [{"do": "say", "text": "x"}]}, {"do": "pop_cleanup", "what": "$c"}],
        "when_cancelled": [{"do": "fail", "error": "full"}]})"),
                      "", wrong);
  ASSERT_NE(s, nullptr);
  const script& a = s->tasks.at("a");
  ASSERT_EQ(a.body.size(), 3U);
  ASSERT_EQ(a.body[0].inner.size(), 1U);
  const step& recv = a.body[0].inner[0];
  EXPECT_EQ(recv.what, op::recv);
  EXPECT_EQ(text_in(*recv.fields, "rx"), "r");
  ASSERT_EQ(recv.on.size(), 2U);
  EXPECT_EQ(recv.on[0].first, asx::status::disconnected);
  EXPECT_EQ(recv.on[0].second.at(0).what, op::return_);
  EXPECT_EQ(recv.on[1].first, asx::status::full);
  EXPECT_TRUE(recv.on[1].second.empty());
  EXPECT_EQ(a.body[1].inner.at(0).what, op::say);
  EXPECT_EQ(a.when_cancelled.at(0).what, op::fail);
}

TEST(scenario_reader, a_timer_says_which_wheel_is_meant) {
  EXPECT_EQ(complaints(driver(
                R"({"do": "wheel", "as": "a"}, {"do": "register", "at": 1, "as": "t"}, {"do": "wheel", "as": "b"},
                                 {"do": "unregister", "timer": "t"}, {"do": "purge", "wheel": "b"})")),
            lines{});
}

TEST(scenario_reader, a_task_that_nobody_cancels_is_in_no_phase) {
  EXPECT_EQ(
      complaints(driver(R"({"do": "spawn", "task": "t", "as": "a"}, {"do": "expect", "task": "a", "phase": "none"})",
                        R"("t": [])")),
      lines{});
}

TEST(scenario_reader, null_is_no_reason_no_witness_and_no_origin) {
  EXPECT_EQ(complaints(driver(R"({"do": "spawn", "task": "t", "as": "a"},
    {"do": "expect", "task": "a", "reason": null, "witness": null},
    {"do": "expect", "task": "a", "reason": {"origin_task": null, "origin_region": null}})",
                              R"("t": [])")),
            lines{});
}

TEST(scenario_reader, names_may_be_used_before_the_step_that_makes_them) {
  EXPECT_EQ(complaints(driver(R"({"do": "spawn", "task": "a", "as": "w", "count": 12}, {"do": "open_region", "as": "r"},
                                 {"do": "wake", "task": "w12"}, {"do": "drop", "what": "t2"})",
                              R"("a": [{"do": "close", "region": "r"}, {"do": "clone", "tx": "t", "as": "t2"},
                                       {"do": "channel", "capacity": 0, "tx": "t", "rx": "$r"}])")),
            lines{});
}

}  // namespace
