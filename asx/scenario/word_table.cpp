// The rows of words.hpp: every operation with its fields, every thing that can be expected, every setting.
//
// docs/scenarios.md says the same for people; a test compares the two, and conformance/schema is printed from here.
#include <array>
#include <tuple>
#include <type_traits>

#include "asx/model/lifecycle.hpp"
#include "asx/scenario/words.hpp"

namespace asx::scenario {
namespace {

using words_of = std::span<const std::string_view>;

// ---- how a row is written ------------------------------------------------------------------------------------------

constexpr field_info needed(field_info f) {
  f.is_required = true;
  return f;
}
/// Expected of an answer that is ok; beside a refusal it would never be looked at.
constexpr field_info with_ok(field_info f) {
  f.comes_with_ok = true;
  return f;
}
constexpr field_info plain(std::string_view name, takes type, std::string_view says, std::string_view standard = {}) {
  return {.name = name, .type = type, .says = says, .standard = standard};
}
constexpr field_info number(std::string_view name, std::string_view says, std::string_view standard = {},
                            std::uint64_t least = 0, std::uint64_t most = UINT64_MAX) {
  return {.name = name, .says = says, .standard = standard, .least = least, .most = most};
}
constexpr field_info named(std::string_view name, std::uint32_t things, std::string_view says,
                           takes type = takes::name) {
  return {.name = name, .type = type, .says = says, .things = things};
}
constexpr field_info made(std::uint32_t things, std::string_view name = "as") {
  return {.name = name, .type = takes::new_name, .says = "the name for what it makes", .things = things};
}
constexpr field_info word(std::string_view name, words_of words, std::string_view says, std::string_view standard = {},
                          takes type = takes::word) {
  return {.name = name, .type = type, .says = says, .standard = standard, .words = words};
}
constexpr field_info flag(std::string_view name, std::string_view says, std::string_view standard = {}) {
  return plain(name, takes::flag, says, standard);
}

// ---- words that some fields take -----------------------------------------------------------------------------------

template <class Table>
constexpr auto state_names(const Table& table) {
  std::array<std::string_view, std::tuple_size_v<std::remove_cvref_t<decltype(table.states())>>> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = table.states()[i].name;
  return out;
}
constexpr auto region_states = state_names(region_lifecycle);
constexpr auto task_states = state_names(task_lifecycle);
constexpr auto obligation_states = state_names(obligation_lifecycle);
constexpr auto phases = state_names(cancel_phase_lifecycle);
constexpr auto channel_states = state_names(channel_lifecycle);

constexpr auto phases_or_none = [] {
  std::array<std::string_view, phases.size() + 1> out{"none"};  // Nobody has asked for a cancel.
  for (std::size_t i = 0; i < phases.size(); ++i) out[i + 1] = phases[i];
  return out;
}();

constexpr std::string_view machines[] = {"region", "task", "obligation", "cancel_phase"};
constexpr std::string_view lanes[] = {"none", "ready", "timed", "cancel"};
constexpr std::string_view sources[] = {"cancel", "timed", "ready", "fallback", "stall"};
constexpr std::string_view governors[] = {"no_preference", "meet_deadlines", "drain_obligations", "drain_regions"};
constexpr std::string_view budget_parts[] = {"none", "deadline", "polls", "cost"};
constexpr std::string_view channel_counts[] = {"reserved", "sent", "aborted", "received", "evicted", "discarded"};
constexpr std::string_view profiles[] = {"tiny", "core", "server"};
constexpr std::string_view domains[] = {"region",  "task",  "obligation", "cancel",       "outcome",    "budget",
                                        "channel", "timer", "scheduler",  "finalization", "integration"};
constexpr std::string_view orders[] = {"round_robin", "seeded"};
constexpr std::string_view leak_words[] = {"proceed", "hold"};
constexpr std::string_view tie_breaks[] = {"fifo", "rng"};
constexpr std::string_view overflows[] = {"ring", "reject"};
constexpr std::string_view committed[] = {"committed"};
constexpr std::string_view aborted[] = {"aborted"};
constexpr std::string_view skip[] = {"skip"};

// ---- fields --------------------------------------------------------------------------------------------------------

constexpr field_info in_region = named("region", thing::region, "the task's own when left out; root for the driver");
constexpr field_info kind = plain("kind", takes::cancel_kind, "of the reason", "user");
constexpr field_info message = plain("message", takes::text, "of the reason");
constexpr field_info priority = number("priority", "higher is more urgent", "128", 0, 255);
constexpr field_info budget_field = plain("budget", takes::budget, "what it may use", "infinite");
constexpr field_info held = flag("held", "its record stays until it is released", "true");
constexpr field_info poll_once = flag("poll_once", "answers would_block instead of waiting", "false");
constexpr field_info value = number("value", "what is sent");
constexpr field_info wanted_value = with_ok(number("value", "expected"));
constexpr field_info script_field = needed(plain("task", takes::script, "a script"));
constexpr field_info a_task = needed(named("task", thing::task, "a task"));
constexpr field_info sync_steps = plain("steps", takes::synchronous_steps, "what it does, without waiting");
constexpr field_info returns = plain("returns", takes::status, "what it answers", "ok");
constexpr field_info tx = needed(named("tx", thing::sender, "a sender"));
constexpr field_info rx = needed(named("rx", thing::receiver, "a receiver"));
constexpr field_info a_permit = needed(named("permit", thing::permit, "a permit, tracked or not"));
constexpr field_info which_wheel = named("wheel", thing::wheel, "which, when there are several");
constexpr std::uint64_t most_times = 1'000'000;  // What one step may ask for.
constexpr field_info a_timer = needed(named("timer", thing::wheel_timer, "a timer of the wheel"));
constexpr field_info deadline_at = needed(plain("at", takes::moment, "when it is due"));
constexpr field_info was_live = flag("was_live", "expected");
constexpr field_info given_budget = needed(plain("budget", takes::budget, "the budget"));
constexpr field_info left = plain("left", takes::budget, "expected");
constexpr field_info since = named("since", thing::mark, "only what came behind this mark");
constexpr field_info gone = flag("gone", "the handle is stale");

constexpr field_info open_region_fields[] = {named("in", thing::region, "its parent; as region when left out"),
                                             made(thing::region),
                                             budget_field,
                                             number("max_tasks", "at most so many live tasks", {}, 0, UINT32_MAX),
                                             named("owner", thing::task, "whose cancel closes it"),
                                             flag("ends_when_empty", "it closes with its last child"),
                                             flag("fails_fast", "the first failure closes it"),
                                             held};
constexpr field_info close_fields[] = {in_region, kind, message};
constexpr field_info region_only[] = {in_region};
constexpr field_info add_finalizer_fields[] = {in_region, sync_steps, returns,
                                               flag("in_turn", "it waits for the one before it")};
constexpr field_info arena_fields[] = {in_region, needed(number("bytes", "how many")),
                                       number("alignment", "a power of two", "8", 1, UINT32_MAX)};
constexpr field_info release_fields[] = {needed(named("what", thing::task | thing::region, "a held task or region"))};
constexpr field_info spawn_fields[] = {script_field,
                                       in_region,
                                       made(thing::task),
                                       number("count", "how many; named w1, w2, ...", "1", 1, 1'000'000),
                                       priority,
                                       budget_field,
                                       held};
constexpr field_info reserve_task_fields[] = {in_region, made(thing::slot)};
constexpr field_info a_slot = needed(named("slot", thing::slot, "a slot that was reserved"));
constexpr field_info commit_task_fields[] = {a_slot, script_field, made(thing::task), priority, budget_field, held};
constexpr field_info abandon_task_fields[] = {a_slot};
constexpr field_info cancel_fields[] = {a_task, kind, message, flag("newly", "expected: the first request")};
constexpr field_info complete_fields[] = {a_task, needed(plain("outcome", takes::outcome, "how it ends"))};
constexpr field_info wake_fields[] = {a_task};
constexpr field_info reserve_obligation_fields[] = {in_region, made(thing::obligation)};
constexpr field_info commit_fields[] = {needed(named("what", thing::obligation, "an obligation"))};
constexpr field_info abort_fields[] = {
    needed(named("what", thing::obligation | thing::permit, "an obligation or a permit"))};
constexpr field_info add_timer_fields[] = {in_region, plain("at", takes::moment, "when it is due"),
                                           plain("for", takes::duration, "how long from now"), made(thing::timer)};
constexpr std::string_view at_or_for[] = {"at", "for"};
constexpr field_info cancel_timer_fields[] = {needed(named("timer", thing::timer, "a timer")), was_live};
constexpr field_info channel_fields[] = {in_region, needed(number("capacity", "slots", {}, 0, UINT32_MAX)),
                                         made(thing::sender, "tx"), made(thing::receiver, "rx")};
constexpr field_info sender_fields[] = {tx, made(thing::sender)};
constexpr field_info drop_fields[] = {
    needed(named("what", thing::sender | thing::receiver | thing::permit, "a sender, a receiver or a permit"))};
constexpr field_info try_reserve_fields[] = {tx, made(thing::permit),
                                             named("region", thing::region, "for a tracked sender, outside of tasks")};
constexpr field_info send_fields[] = {a_permit, value, word("proof", committed, "expected of a tracked permit")};
constexpr field_info abort_permit_fields[] = {a_permit, word("proof", aborted, "expected of a tracked permit")};
constexpr field_info try_send_fields[] = {tx, value};
constexpr field_info send_evicting_fields[] = {
    tx, value, plain("evicted", takes::number_or_null, "expected: the value that made room")};
constexpr field_info try_recv_fields[] = {rx, wanted_value};
constexpr field_info say_fields[] = {needed(plain("text", takes::text, "the line"))};
constexpr field_info begin_shutdown_fields[] = {plain("kind", takes::cancel_kind, "of the reason", "shutdown"),
                                                message};
constexpr field_info mark_fields[] = {needed(made(thing::mark))};

constexpr field_info set_governor_fields[] = {needed(word("to", governors, "the suggestion"))};
constexpr field_info advance_fields[] = {plain("by", takes::duration, "how far"),
                                         plain("to", takes::moment, "until when")};
constexpr std::string_view by_or_to[] = {"by", "to"};
constexpr field_info step_fields[] = {
    number("worker", "the next in turn when left out", {}, 0, 63),
    number("times", "how many steps", "1", 1, most_times), flag("idle", "expected of the last"),
    named("task", thing::task, "expected: who was dispatched last"), word("from", sources, "expected: from where")};
constexpr field_info run_fields[] = {number("max_steps", "the limit", "1000000", 0, most_times),
                                     number("steps", "expected")};
constexpr field_info shutdown_fields[] = {plain("grace", takes::duration, "between the cancel and the shutdown", "0"),
                                          flag("quiescent", "expected", "true")};
constexpr field_info certificate_fields[] = {made(thing::certificate),
                                             named("same_as", thing::certificate, "an earlier one with an equal hash"),
                                             number("cancel", "expected dispatches"),
                                             number("timed", "expected dispatches"),
                                             number("ready", "expected dispatches"),
                                             number("fallback", "expected dispatches"),
                                             number("base_exceedances", "expected"),
                                             number("effective_exceedances", "expected"),
                                             number("max_effective", "expected")};

constexpr field_info reserve_fields[] = {tx, made(thing::permit), poll_once};
constexpr field_info recv_fields[] = {rx, wanted_value, poll_once};
constexpr field_info sleep_fields[] = {plain("for", takes::duration, "how long"),
                                       plain("until", takes::moment, "until when")};
constexpr std::string_view for_or_until[] = {"for", "until"};
constexpr field_info join_fields[] = {a_task, with_ok(plain("outcome", takes::wanted_outcome, "expected")), poll_once};
constexpr field_info await_closed_fields[] = {in_region, poll_once};
constexpr field_info is_cancelled_fields[] = {flag("is", "expected")};
constexpr field_info consume_fields[] = {needed(number("cost", "how much"))};
constexpr field_info push_cleanup_fields[] = {made(thing::cleanup), sync_steps, returns};
constexpr field_info pop_cleanup_fields[] = {needed(named("what", thing::cleanup, "a cleanup action"))};
constexpr field_info repeat_fields[] = {number("times", "for ever when left out"),
                                        needed(plain("steps", takes::same_steps, "what is repeated"))};
constexpr field_info return_fields[] = {number("value", "none when left out")};
constexpr field_info fail_fields[] = {needed(plain("error", takes::error, "a status that is not ok")),
                                      number("detail", "of the error", "0")};
constexpr field_info panic_fields[] = {plain("text", takes::text, "what it says")};

constexpr field_info check_transition_fields[] = {needed(word("machine", machines, "which table")),
                                                  needed(plain("from", takes::state, "a state of it")),
                                                  needed(plain("to", takes::state, "a state of it"))};
constexpr field_info check_witness_fields[] = {needed(plain("previous", takes::witness, "the older one")),
                                               needed(plain("next", takes::witness, "the newer one"))};
constexpr field_info check_kind_fields[] = {needed(plain("kind", takes::cancel_kind, "whose row")),
                                            number("severity", "expected"), number("quota", "expected"),
                                            number("priority", "expected")};
constexpr field_info join_outcomes_fields[] = {needed(plain("outcomes", takes::outcomes, "folded from the left")),
                                               plain("is", takes::wanted_outcome, "expected")};
constexpr field_info meet_budgets_fields[] = {needed(plain("budgets", takes::budgets, "folded from the left")),
                                              plain("is", takes::budget, "expected")};
constexpr field_info consume_polls_fields[] = {given_budget, number("times", "how many polls", "1", 1, most_times),
                                               left};
constexpr field_info consume_cost_fields[] = {given_budget, needed(number("amount", "how much")), left};
constexpr field_info exhausted_fields[] = {given_budget, plain("at", takes::moment, "the time", "0"),
                                           word("is", budget_parts, "expected")};
constexpr field_info strengthen_fields[] = {needed(plain("reasons", takes::reasons, "folded from the left")),
                                            plain("is", takes::wanted_reason, "expected")};
constexpr field_info wheel_fields[] = {made(thing::wheel),
                                       number("capacity", "live timers", "65536", 0, UINT32_MAX),
                                       plain("max_wheel", takes::duration, "beyond it: the heap", "24h"),
                                       plain("max_timer", takes::duration, "the longest", "7d"),
                                       plain("coalesce_window", takes::duration, "0 is off", "0"),
                                       number("coalesce_min_group", "fewer do not fire early", "2", 0, UINT32_MAX),
                                       plain("start", takes::moment, "its first now", "0"),
                                       number("first_id", "of its timers", "1"),
                                       number("first_generation", "of its timers", "1")};
constexpr field_info register_fields[] = {deadline_at, made(thing::wheel_timer), with_ok(number("id", "expected")),
                                          with_ok(number("generation", "expected")), which_wheel};
constexpr field_info update_fields[] = {a_timer, deadline_at, made(thing::wheel_timer), which_wheel};
constexpr field_info unregister_fields[] = {a_timer, was_live, which_wheel};
constexpr field_info collect_fields[] = {
    needed(plain("at", takes::moment, "the time")), number("room", "unlimited when left out"),
    named("fired", thing::wheel_timer, "expected, in order", takes::names), which_wheel};
constexpr field_info wheel_advance_fields[] = {needed(plain("at", takes::moment, "the time")), which_wheel};
constexpr field_info wheel_only[] = {which_wheel};

// ---- operations ----------------------------------------------------------------------------------------------------

constexpr std::uint8_t all = place_of::anywhere, driver = place_of::driver, task = place_of::task;

constexpr op_info act(op what, std::string_view w, op_group group, std::uint8_t stands, std::string_view says,
                      std::span<const field_info> fields = {}, words_of one_of = {}) {
  return {.what = what, .word = w, .group = group, .stands = stands, .says = says, .fields = fields, .one_of = one_of};
}
constexpr op_info waits(op what, std::string_view w, std::string_view says, std::span<const field_info> fields = {},
                        words_of one_of = {}) {
  op_info row = act(what, w, op_group::poll, task, says, fields, one_of);
  row.is_cancel_point = true;
  return row;
}
constexpr op_info law(op what, std::string_view w, std::string_view says, std::span<const field_info> fields) {
  return act(what, w, op_group::law, all, says, fields);
}

// clang-format off: a table is read by its rows
constexpr op_info op_table[] = {
    act(op::open_region, "open_region", op_group::region, all, "opens a child region", open_region_fields),
    act(op::close, "close", op_group::region, all, "closes a region (R-07)", close_fields),
    act(op::begin_close, "begin_close", op_group::region, all, "takes the single step (R-154)", close_fields),
    act(op::begin_drain, "begin_drain", op_group::region, all, "takes the single step (R-154)", region_only),
    act(op::begin_finalize, "begin_finalize", op_group::region, all, "takes the single step (R-154)", region_only),
    act(op::finish_close, "finish_close", op_group::region, all, "takes the single step (R-154)", region_only),
    act(op::add_finalizer, "add_finalizer", op_group::region, all, "registers a finalizer; last in, first out", add_finalizer_fields),
    act(op::arena, "arena", op_group::region, all, "takes memory of the region", arena_fields),
    act(op::release, "release", op_group::region, all, "lets a record be used again", release_fields),
    act(op::spawn, "spawn", op_group::task, all, "spawns tasks", spawn_fields),
    act(op::reserve_task, "reserve_task", op_group::task, all, "reserves a slot for a task", reserve_task_fields),
    act(op::commit_task, "commit_task", op_group::task, all, "spawns into a reserved slot", commit_task_fields),
    act(op::abandon_task, "abandon_task", op_group::task, all, "gives a reserved slot back", abandon_task_fields),
    act(op::cancel, "cancel", op_group::task, all, "requests a cancel", cancel_fields),
    act(op::complete, "complete", op_group::task, all, "ends a task from outside", complete_fields),
    act(op::wake, "wake", op_group::task, all, "wakes a task, spurious or not", wake_fields),
    act(op::reserve_obligation, "reserve_obligation", op_group::thing, all, "reserves an obligation", reserve_obligation_fields),
    act(op::commit, "commit", op_group::thing, all, "keeps an obligation", commit_fields),
    act(op::abort, "abort", op_group::thing, all, "gives an obligation or a permit back", abort_fields),
    act(op::add_timer, "add_timer", op_group::thing, all, "adds a timer that wakes nobody", add_timer_fields, at_or_for),
    act(op::cancel_timer, "cancel_timer", op_group::thing, all, "cancels a timer", cancel_timer_fields),
    act(op::channel, "channel", op_group::channel, all, "makes a channel", channel_fields),
    act(op::clone, "clone", op_group::channel, all, "makes another sender", sender_fields),
    act(op::track, "track", op_group::channel, all, "turns a sender into a tracked one", sender_fields),
    act(op::drop, "drop", op_group::channel, all, "gives up an end or a permit", drop_fields),
    act(op::try_reserve, "try_reserve", op_group::channel, all, "takes a slot if one is free", try_reserve_fields),
    act(op::send, "send", op_group::channel, all, "sends with a permit; never waits", send_fields),
    act(op::abort_permit, "abort_permit", op_group::channel, all, "gives the slot of a permit back", abort_permit_fields),
    act(op::try_send, "try_send", op_group::channel, all, "sends without a permit", try_send_fields),
    act(op::send_evicting, "send_evicting", op_group::channel, all, "sends, and evicts the oldest when full", send_evicting_fields),
    act(op::try_recv, "try_recv", op_group::channel, all, "takes a message if one is there", try_recv_fields),
    act(op::say, "say", op_group::thing, all, "adds a line to the transcript", say_fields),
    act(op::hold, "hold", op_group::thing, all, "somebody outside may wake somebody (R-132)"),
    act(op::unhold, "unhold", op_group::thing, all, "takes a hold back"),
    act(op::begin_shutdown, "begin_shutdown", op_group::thing, all, "begins to shut down", begin_shutdown_fields),
    act(op::mark, "mark", op_group::thing, all, "marks a place in the journal and in the transcript", mark_fields),
    act(op::expect, "expect", op_group::expect, all, "looks at one thing"),

    act(op::set_governor, "set_governor", op_group::driver, driver, "sets the scheduler's governor", set_governor_fields),
    act(op::advance, "advance", op_group::driver, driver, "moves virtual time; nothing runs", advance_fields, by_or_to),
    act(op::step, "step", op_group::driver, driver, "steps a worker", step_fields),
    act(op::run_until_idle, "run_until_idle", op_group::driver, driver, "runs, and does not move time", run_fields),
    act(op::run_until_quiescent, "run_until_quiescent", op_group::driver, driver, "runs, and moves time to what is due", run_fields),
    act(op::shutdown, "shutdown", op_group::driver, driver, "shuts down and runs to the end", shutdown_fields),
    act(op::certificate, "certificate", op_group::driver, driver, "issues the fairness certificate", certificate_fields),
    act(op::reset_certificate, "reset_certificate", op_group::driver, driver, "starts the certificate anew"),

    waits(op::reserve, "reserve", "waits for a slot", reserve_fields),
    waits(op::recv, "recv", "waits for a message", recv_fields),
    waits(op::sleep, "sleep", "waits for time to pass", sleep_fields, for_or_until),
    waits(op::join, "join", "waits for a task to complete", join_fields),
    waits(op::await_closed, "await_closed", "waits for a region to close", await_closed_fields),
    waits(op::checkpoint, "checkpoint", "observes a cancel"),
    act(op::is_cancelled, "is_cancelled", op_group::poll, task, "looks whether a cancel is requested", is_cancelled_fields),
    act(op::yield, "yield", op_group::control, task, "lets others run"),
    act(op::park, "park", op_group::control, task, "says pending until it is woken"),
    act(op::consume, "consume", op_group::poll, task, "spends cost", consume_fields),
    act(op::mask, "mask", op_group::poll, task, "puts cancels off"),
    act(op::unmask, "unmask", op_group::poll, task, "ends a mask"),
    act(op::push_cleanup, "push_cleanup", op_group::poll, task, "pushes a cleanup action", push_cleanup_fields),
    act(op::pop_cleanup, "pop_cleanup", op_group::poll, task, "takes a cleanup action back", pop_cleanup_fields),
    act(op::repeat, "repeat", op_group::control, task, "does steps again and again", repeat_fields),
    act(op::return_, "return", op_group::control, task, "ends the task: ok", return_fields),
    act(op::fail, "fail", op_group::control, task, "ends the task: err", fail_fields),
    act(op::panic, "panic", op_group::control, task, "ends the task: panicked", panic_fields),
    act(op::stop_waiting, "stop_waiting", op_group::poll, task, "gives up what poll_once has registered"),

    law(op::check_transition, "check_transition", "asks the table of a machine", check_transition_fields),
    law(op::check_witness, "check_witness", "asks the validator of witnesses", check_witness_fields),
    law(op::check_kind, "check_kind", "looks into the table of cancel kinds", check_kind_fields),
    law(op::join_outcomes, "join_outcomes", "joins outcomes", join_outcomes_fields),
    law(op::meet_budgets, "meet_budgets", "meets budgets", meet_budgets_fields),
    law(op::consume_polls, "consume_polls", "spends polls of a budget", consume_polls_fields),
    law(op::consume_cost, "consume_cost", "spends cost of a budget", consume_cost_fields),
    law(op::exhausted, "exhausted", "asks what of a budget is spent", exhausted_fields),
    law(op::strengthen, "strengthen", "strengthens reasons", strengthen_fields),
    law(op::wheel, "wheel", "makes a timer wheel of its own", wheel_fields),
    law(op::register_, "register", "adds a timer to a wheel", register_fields),
    law(op::update, "update", "replaces a timer of a wheel", update_fields),
    law(op::unregister, "unregister", "takes a timer out of a wheel", unregister_fields),
    law(op::collect, "collect", "moves a wheel's time and takes what is due", collect_fields),
    law(op::wheel_advance, "wheel_advance", "moves a wheel's time and takes nothing", wheel_advance_fields),
    law(op::cancel_all, "cancel_all", "cancels every timer of a wheel", wheel_only),
    law(op::purge, "purge", "gives up what cancelled timers left; live ones stay (R-200)", wheel_only),
};
// clang-format on

constexpr bool ops_are_in_order() {
  for (std::size_t i = 0; i < std::size(op_table); ++i) {
    if (static_cast<std::size_t>(op_table[i].what) != i) return false;
  }
  return std::size(op_table) == op_count;
}
static_assert(ops_are_in_order(), "the table is indexed by the enumeration");

// ---- what can be expected ------------------------------------------------------------------------------------------

constexpr field_info wanted_reason = plain("reason", takes::wanted_cause, "why it is cancelled; null: it is not");
constexpr field_info wanted_outcome = plain("outcome", takes::wanted_outcome, "how it ended");
constexpr field_info task_facts[] = {word("state", task_states, "of its life"),
                                     number("polls", "how often it was polled"),
                                     number("epoch", "of its cancel"),
                                     word("phase", phases_or_none, "of its cancel"),
                                     wanted_reason,
                                     number("cleanup_polls_left", "of the cleanup budget"),
                                     number("mask_depth", "masks that are open"),
                                     plain("budget_left", takes::budget, "what it may still use"),
                                     word("lane", lanes, "where it is queued"),
                                     wanted_outcome,
                                     plain("witness", takes::wanted_witness, "of its cancel; null: there is none"),
                                     gone};
constexpr field_info region_facts[] = {word("state", region_states, "of its life"),
                                       number("live_tasks", "in it"),
                                       number("live_regions", "in it"),
                                       number("reserved", "obligations"),
                                       number("leaked", "obligations"),
                                       wanted_reason,
                                       wanted_outcome,
                                       gone};
constexpr field_info obligation_facts[] = {word("state", obligation_states, "of its life"), gone};
constexpr field_info channel_facts[] = {word("state", channel_states, "which sides are left"),
                                        number("capacity", "slots"),
                                        number("queued", "messages"),
                                        number("reserved", "slots"),
                                        number("waiters", "senders that wait"),
                                        number("senders", "that are left"),
                                        flag("receiver_waits", "whether it does"),
                                        word("counts", channel_counts, "since it was made", {}, takes::counts)};
constexpr field_info permit_facts[] = {flag("held", "whether it can still be sent")};
constexpr field_info wheel_facts[] = {number("live", "timers"), plain("next", takes::moment, "the first deadline"),
                                      named("holds", thing::wheel_timer, "all timers that are live", takes::names)};
constexpr field_info quiescence_facts[] = {plain("also", takes::statuses, "all that fail")};
constexpr field_info runtime_facts[] = {plain("now", takes::moment, "virtual time"),
                                        number("live_tasks", "in all"),
                                        number("live_regions", "in all"),
                                        number("live_timers", "in all"),
                                        number("limit_refusals", "how many"),
                                        number("fatal", "calls of the fatal hook"),
                                        number("violations", "that ghost monitors saw, when they are on"),
                                        word("governor", governors, "in force")};
constexpr field_info said_facts[] = {since, flag("sorted", "compares without order", "false")};
constexpr field_info dispatched_facts[] = {since, word("from", sources, "lanes beside it", {}, takes::words)};
constexpr field_info events_facts[] = {since, flag("among", "only a subsequence", "false"),
                                       plain("kinds", takes::event_kinds, "kinds to look at as well")};
constexpr field_info count_facts[] = {since};

constexpr expectation_info expectations[] = {
    {named("task", thing::task, "a task"), task_facts},
    {named("region", thing::region, "a region"), region_facts},
    {named("obligation", thing::obligation, "an obligation"), obligation_facts},
    {named("channel", thing::sender | thing::receiver, "either end of a channel"), channel_facts},
    {named("permit", thing::permit, "a permit"), permit_facts},
    {named("wheel", thing::wheel, "a wheel; true when there is one", takes::name_or_true), wheel_facts},
    {plain("quiescence", takes::status, "ok, or the first status that fails"), quiescence_facts},
    {plain("runtime", takes::only_true, "the runtime"), runtime_facts},
    {plain("said", takes::texts, "the transcript"), said_facts},
    {plain("destroyed", takes::numbers, "values that nobody got, in order"), {}},
    {named("dispatched", thing::task, "tasks in the order of their dispatches", takes::names), dispatched_facts},
    {plain("events", takes::events, "events of these kinds, in order"), events_facts},
    {plain("count", takes::event_counts, "how many events of each kind"), count_facts},
};

// ---- the file ------------------------------------------------------------------------------------------------------

constexpr field_info every_step[] = {
    needed(plain("do", takes::operation, "the word of the operation")),
    plain("status", takes::status_or_statuses, "what it must answer; a list: any of these", "ok"),
    flag("unchanged", "the state of the runtime is the same after as before (R-139)", "false"),
    plain("on", takes::branches, "steps for an answer"), plain("note", takes::text, "a remark; for people")};

constexpr field_info file_fields[] = {needed(plain("scenario_dsl_version", takes::version, "1")),
                                      needed(plain("id", takes::id, "letters, digits, '-', '_' and '.'")),
                                      plain("title", takes::text, "one sentence"),
                                      word("domain", domains, "of a fixture"),
                                      plain("pins", takes::texts, "the laws that it pins"),
                                      flag("must_fail", "the point of the file is a refusal", "false"),
                                      plain("same_as", takes::id, "another id, whose scenario runs under this one"),
                                      plain("runtime", takes::settings, "settings"),
                                      plain("tasks", takes::scripts, "scripts by name"),
                                      plain("steps", takes::same_steps, "what the driver does"),
                                      word("shutdown", skip, "skip: no shutdown at the end"),
                                      plain("digest", takes::text, "what every play comes to: 32 digits")};

constexpr field_info settings[] = {number("seed", "of everything that is drawn", "0"),
                                   plain("seeds", takes::numbers, "the scenario runs once under each"),
                                   number("workers", "how many", "1", 1, 64),
                                   word("order", orders, "of the workers", "round_robin"),
                                   plain("contract", takes::limits, "limits by name; the rest comes from the profile"),
                                   word("leaks", leak_words, "what a closing region does about obligations", "proceed"),
                                   number("cancel_streak_limit", "of the scheduler", "16", 1, INT32_MAX),
                                   number("timed_streak_limit", "of the scheduler", "64", 0, UINT32_MAX),
                                   word("ready_tiebreak", tie_breaks, "of equal priorities", "fifo"),
                                   plain("coalesce_window", takes::duration, "of timers", "0"),
                                   plain("max_unobserved_cancel_polls", takes::polls_or_quota, "0: never", "quota"),
                                   word("profiles", profiles, "under which it runs", "all three", takes::words),
                                   word("trace_overflow", overflows, "what a full trace does", "ring")};

using c = resource_contract;
// What a runtime makes room for when it starts is bounded by the largest that a profile asks for.
constexpr std::uint64_t most_room = 1U << 22;
constexpr limit_info limits[] = {
    {"max_tasks", &c::max_tasks, nullptr, most_room},
    {"max_regions", &c::max_regions, nullptr, most_room, 1},
    {"max_obligations", &c::max_obligations, nullptr, most_room},
    {"max_timers", &c::max_timers, nullptr, most_room},
    {"max_channels", &c::max_channels, nullptr, most_room},
    {"max_channel_waiters", &c::max_channel_waiters},
    {"max_sync", &c::max_sync, nullptr, most_room},
    {"max_ready_queue", &c::max_ready_queue},
    {"max_cancel_queue", &c::max_cancel_queue},
    {"max_cleanup_entries", &c::max_cleanup_entries, nullptr, most_room},
    {"max_cleanup_per_task", &c::max_cleanup_per_task},
    {"max_finalizers", &c::max_finalizers, nullptr, most_room},
    {"max_finalizers_per_region", &c::max_finalizers_per_region},
    {"max_tasks_per_region", &c::max_tasks_per_region},
    {"max_causes", &c::max_causes, nullptr, most_room},
    {"cause_message_bytes", &c::cause_message_bytes, nullptr, 4008},
    {"max_mask_depth", &c::max_mask_depth},
    {"coop_limit", &c::coop_limit},
    {"max_ghost_entries", &c::max_ghost_entries, nullptr, most_room},
    {"max_bytes", nullptr, &c::max_bytes, UINT64_MAX},
    {"max_trace_events", nullptr, &c::max_trace_events, most_room, 1},
};

}  // namespace

std::span<const op_info> all_ops() noexcept {
  return op_table;
}
std::span<const field_info> fields_of_every_step() noexcept {
  return every_step;
}
std::span<const field_info> fields_of_file() noexcept {
  return file_fields;
}
std::span<const field_info> runtime_settings() noexcept {
  return settings;
}
std::span<const expectation_info> all_expectations() noexcept {
  return expectations;
}
std::span<const limit_info> all_limits() noexcept {
  return limits;
}

words_of lane_words() noexcept {
  return lanes;
}
words_of dispatch_words() noexcept {
  return sources;
}
words_of governor_words() noexcept {
  return governors;
}
words_of budget_part_words() noexcept {
  return budget_parts;
}
words_of profile_words() noexcept {
  return profiles;
}
words_of machine_words() noexcept {
  return machines;
}
words_of state_words(std::string_view machine) noexcept {
  if (machine == "region") return region_states;
  if (machine == "task") return task_states;
  if (machine == "obligation") return obligation_states;
  if (machine == "cancel_phase") return phases;
  if (machine == "channel") return channel_states;
  return {};
}

}  // namespace asx::scenario
