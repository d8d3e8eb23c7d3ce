// Expectations of things: tasks, regions, obligations, channels, permits, wheels, the runtime.
#include <algorithm>

#include "asx/journal/event_table.hpp"
#include "asx/scenario/detail/play.hpp"

namespace asx::scenario::detail {

void play_run::expect(const actor& who, const step& st) {
  constexpr std::pair<std::string_view, void (play_run::*)(const actor&, const step&)> table[] = {
      {"task", &play_run::expect_task},
      {"region", &play_run::expect_region},
      {"obligation", &play_run::expect_obligation},
      {"channel", &play_run::expect_channel},
      {"permit", &play_run::expect_permit},
      {"wheel", &play_run::expect_wheel},
      {"quiescence", &play_run::expect_quiescence},
      {"runtime", &play_run::expect_runtime},
      {"said", &play_run::expect_said},
      {"destroyed", &play_run::expect_destroyed},
      {"dispatched", &play_run::expect_dispatched},
      {"events", &play_run::expect_events},
      {"count", &play_run::expect_count},
  };
  const expectation_info* const what = find_expectation(*st.fields);
  for (const auto& [name, look] : table) {
    if (what != nullptr && what->subject.name == name) return (this->*look)(who, st);
  }
  fail_to_look(who, st, "there is nothing to look at");
}

bool play_run::is_there(const actor& who, const step& st, std::string_view noun, status looked) {
  const node* const gone = st.fields->find("gone");
  count_check();
  const bool wants_gone = gone != nullptr && gone->flag;
  const std::string subject = std::string(noun) + " '" + std::string(text_in(*st.fields, noun)) + "'";
  if (looked == status::ok) {
    if (wants_gone) fail(who, st, "expected " + subject + " gone, and it is there");
    return true;
  }
  if (!wants_gone) fail(who, st, "expected " + subject + ", got " + std::string(name(looked)));
  return false;
}

// ---- reasons, outcomes, budgets ----------------------------------------------------------------------------------

void play_run::want_reason(const actor& who, const step& st, const node& wanted, const full_reason& got,
                           const std::string& what, std::size_t level) {
  count_check();
  const bool is_there = level < got.size();
  if (wanted.is(node_kind::null)) {
    if (is_there) fail_expected(who, st, what, "none", name(got[level].kind));
    return;
  }
  if (!is_there) {
    const node* const kind = wanted.find("kind");
    return fail_expected(who, st, what, kind != nullptr ? kind->text : "one", "none");
  }
  const reason_level& r = got[level];
  for (std::size_t i = 0; i < wanted.keys.size(); ++i) {
    const std::string& key = wanted.keys[i];
    const node& v = wanted.items[i];
    const auto compare = [&](std::string_view expected, std::string_view seen) {
      if (expected != seen) fail_expected(who, st, what + "." + key, expected, seen);
    };
    const auto numbers = [&](std::uint64_t seen) { compare(std::to_string(number_of(v)), std::to_string(seen)); };
    const auto origin = [&](field_type type, std::uint64_t seen) {
      const bool wants_none = v.is(node_kind::null);
      const bound* const named = wants_none ? nullptr : find_called(who, st, v.text, things_of(type));
      if (named == nullptr && !wants_none) return;
      count_check();
      if ((wants_none ? 0 : named->id) != seen) {
        fail_expected(who, st, what + "." + key, wants_none ? "none" : v.text,
                      name_of(find_numbered(type)->letter, seen));
      }
    };
    if (!key.starts_with("origin_")) count_check();
    if (key == "kind") {
      compare(name(cancel_kind_of(v)), name(r.kind));
    } else if (key == "message") {
      if (v.text != r.message) fail_expected(who, st, what + ".message", "'" + v.text + "'", "'" + r.message + "'");
    } else if (key == "at") {
      compare(show_time(moment_of(v)), show_time(r.at));
    } else if (key == "severity") {
      numbers(severity(r.kind));
    } else if (key == "levels") {
      numbers(r.levels);
    } else if (key == "truncated") {
      compare(show(v.flag), show(r.truncated));
    } else if (key == "truncated_at") {
      numbers(r.truncated ? r.levels : 0U);
    } else if (key == "origin_region") {
      origin(field_type::region, r.origin_region.value);
    } else if (key == "origin_task") {
      origin(field_type::task, r.origin_task.value);
    } else if (key == "cause") {
      want_reason(who, st, v, got, what + ".cause", level + 1);
    }
  }
}

void play_run::want_outcome(const actor& who, const step& st, const node& wanted, const full_outcome& got) {
  count_check();
  if (wanted.is(node_kind::text)) {
    if (wanted.text != name(got.kind)) fail_expected(who, st, "outcome", wanted.text, show(got));
    return;
  }
  if (const node* const ok = wanted.find("ok"); ok != nullptr) {
    const std::optional<std::uint64_t> value =
        ok->is(node_kind::null) ? std::nullopt : std::optional<std::uint64_t>(number_of(*ok));
    if (got.kind == outcome_kind::ok && got.value == value) return;
    full_outcome expected;
    expected.value = value;
    return fail_expected(who, st, "outcome", show(expected), show(got));
  }
  if (const node* const err = wanted.find("err"); err != nullptr) {
    const node* const detail = wanted.find("detail");
    const bool is_right = got.kind == outcome_kind::err && got.failure.code == status_of(*err) &&
                          (detail == nullptr || number_of(*detail) == got.failure.detail);
    if (is_right) return;
    std::string text = "err " + std::string(name(status_of(*err)));
    if (detail != nullptr) text += " (detail " + std::to_string(number_of(*detail)) + ")";
    return fail_expected(who, st, "outcome", text, show(got));
  }
  if (const node* const panicked = wanted.find("panicked"); panicked != nullptr) {
    if (got.kind == outcome_kind::panicked && got.panic == panicked->text) return;
    return fail_expected(who, st, "outcome", "panicked '" + panicked->text + "'", show(got));
  }
  if (got.kind != outcome_kind::cancelled) return fail_expected(who, st, "outcome", "cancelled", show(got));
  if (const node* const reason = wanted.find("cancelled"); reason != nullptr && reason->is(node_kind::object)) {
    want_reason(who, st, *reason, got.reason, "outcome.reason");
  }
  if (const node* const overran = wanted.find("overran"); overran != nullptr) {
    count_check();
    if (overran->flag != got.overran) {
      fail_expected(who, st, "outcome.overran", show(overran->flag), show(got.overran));
    }
  }
  if (const node* const error = wanted.find("cleanup_error"); error != nullptr) {
    count_check();
    if (status_of(*error) != got.cleanup_error) {
      fail_expected(who, st, "outcome.cleanup_error", name(status_of(*error)), name(got.cleanup_error));
    }
  }
}

void play_run::want_budget(const actor& who, const step& st, std::string_view field, const budget& got, bool all) {
  const node* const wanted = st.fields->find(field);
  if (wanted == nullptr) return;
  count_check();
  budget expected = budget_of(*wanted);
  if (!all && (!wanted->is(node_kind::object) || wanted->find("priority") == nullptr)) expected.priority = got.priority;
  if (expected != got) fail_expected(who, st, field, show(expected), show(got));
}

// ---- tasks and regions -------------------------------------------------------------------------------------------

void play_run::expect_task(const actor& who, const step& st) {
  const bound* const task = find(who, st, "task", thing::task);
  if (task == nullptr) return;
  const ref at = task->at;
  task_look seen;
  if (!is_there(who, st, "task", world_->look_at_task(at, seen))) return;
  want_word(who, st, "state", task_lifecycle.name(seen.state));
  want_number(who, st, "polls", seen.polls);
  want_number(who, st, "epoch", seen.epoch);
  want_word(who, st, "phase", seen.reason.empty() ? "none" : cancel_phase_lifecycle.name(seen.phase));
  if (const node* const reason = st.fields->find("reason"); reason != nullptr) {
    want_reason(who, st, *reason, seen.reason, "reason");
  }
  want_number(who, st, "cleanup_polls_left", seen.cleanup_polls_left);
  want_number(who, st, "mask_depth", seen.mask_depth);
  want_budget(who, st, "budget_left", seen.left, false);
  const std::string_view lane = !seen.queued_in                   ? "none"
                                : *seen.queued_in == lane::cancel ? "cancel"
                                : *seen.queued_in == lane::timed  ? "timed"
                                                                  : "ready";
  want_word(who, st, "lane", lane);
  if (const node* const outcome = st.fields->find("outcome"); outcome != nullptr) {
    full_outcome ended;
    const status s = world_->task_outcome(at, ended);
    if (s == status::ok) {
      want_outcome(who, st, *outcome, ended);
    } else {
      count_check();
      fail(who, st, "expected an outcome, got " + std::string(name(s)));
    }
  }
  if (const node* const witness = st.fields->find("witness"); witness != nullptr) expect_witness(who, st, *witness, at);
}

void play_run::expect_witness(const actor& who, const step& st, const node& wanted, ref task) {
  count_check();
  full_witness seen;
  const status s = world_->witness(task, seen);
  if (wanted.is(node_kind::null)) {
    if (s == status::ok) fail(who, st, "expected no witness, got one");
    return;
  }
  if (s != status::ok) return fail(who, st, "expected a witness, got " + std::string(name(s)));
  for (std::size_t i = 0; i < wanted.keys.size(); ++i) {
    const std::string& key = wanted.keys[i];
    const node& v = wanted.items[i];
    const auto compare = [&](std::string_view expected, std::string_view got) {
      count_check();
      if (expected != got) fail_expected(who, st, "witness." + key, expected, got);
    };
    const auto named = [&](field_type type, std::uint64_t id) {
      const bound* const found = find_called(who, st, v.text, things_of(type));
      if (found == nullptr) return;
      count_check();
      if (found->id != id) fail_expected(who, st, "witness." + key, v.text, name_of(find_numbered(type)->letter, id));
    };
    if (key == "task") named(field_type::task, seen.task.value);
    if (key == "region") named(field_type::region, seen.region.value);
    if (key == "epoch") compare(std::to_string(number_of(v)), std::to_string(seen.epoch));
    if (key == "phase") compare(v.text, cancel_phase_lifecycle.name(seen.phase));
    if (key == "kind") compare(name(cancel_kind_of(v)), name(seen.kind));
  }
}

void play_run::expect_region(const actor& who, const step& st) {
  const bound* const region = find(who, st, "region", thing::region);
  if (region == nullptr) return;
  const ref at = region->at;
  region_look seen;
  if (!is_there(who, st, "region", world_->look_at_region(at, seen))) return;
  want_word(who, st, "state", region_lifecycle.name(seen.state));
  want_number(who, st, "live_tasks", seen.live_tasks);
  want_number(who, st, "live_regions", seen.live_regions);
  want_number(who, st, "reserved", seen.reserved);
  want_number(who, st, "leaked", seen.leaked);
  if (const node* const reason = st.fields->find("reason"); reason != nullptr) {
    want_reason(who, st, *reason, seen.reason, "reason");
  }
  const node* const outcome = st.fields->find("outcome");
  if (outcome == nullptr) return;
  full_outcome ended;
  const status s = world_->region_outcome(at, ended);
  if (s == status::ok) return want_outcome(who, st, *outcome, ended);
  count_check();
  fail(who, st, "expected an outcome, got " + std::string(name(s)));
}

void play_run::expect_obligation(const actor& who, const step& st) {
  const bound* const obligation = find(who, st, "obligation", thing::obligation);
  if (obligation == nullptr) return;
  obligation_state state{};
  if (!is_there(who, st, "obligation", world_->look_at_obligation(obligation->at, state))) return;
  want_word(who, st, "state", obligation_lifecycle.name(state));
}

// ---- channels ----------------------------------------------------------------------------------------------------

// A channel whose storage is free has lost both sides, and holds nothing.
channel_look play_run::look_at_channel(const bound& end) {
  channel_look out;
  if (world_->look_at_channel(channels_.at(end.id), out) != status::ok) out.state = channel_state::fully_closed;
  return out;
}

void play_run::expect_channel(const actor& who, const step& st) {
  const bound* const end = find(who, st, "channel", thing::sender | thing::receiver);
  if (end == nullptr) return;
  const channel_look seen = look_at_channel(*end);
  want_word(who, st, "state", channel_lifecycle.name(seen.state));
  want_number(who, st, "capacity", seen.capacity);
  want_number(who, st, "queued", seen.queued);
  want_number(who, st, "reserved", seen.reserved);
  want_number(who, st, "waiters", seen.waiters);
  want_number(who, st, "senders", seen.senders);
  want_flag(who, st, "receiver_waits", seen.is_receiver_waiting);
  const node* const counts = st.fields->find("counts");
  if (counts == nullptr) return;
  const std::pair<std::string_view, std::uint64_t> all[] = {
      {"reserved", seen.counts.reserved}, {"sent", seen.counts.sent},       {"aborted", seen.counts.aborted},
      {"received", seen.counts.received}, {"evicted", seen.counts.evicted}, {"discarded", seen.counts.discarded}};
  for (const auto& [key, got] : all) {
    const node* const wanted = counts->find(key);
    if (wanted == nullptr) continue;
    count_check();
    if (number_of(*wanted) != got) {
      fail_expected(who, st, "counts." + std::string(key), std::to_string(number_of(*wanted)), std::to_string(got));
    }
  }
}

void play_run::expect_permit(const actor& who, const step& st) {
  const bound* const permit = find(who, st, "permit", thing::permit);
  if (permit != nullptr) want_flag(who, st, "held", world_->is_held(permit->at));
}

// ---- the whole ---------------------------------------------------------------------------------------------------

void play_run::expect_wheel(const actor& who, const step& st) {
  const ref at = wheel_of(who, st);
  if (at == no_ref) return;
  const timer_wheel& wheel = *wheels_[at];
  want_number(who, st, "live", wheel.live());
  if (const node* const next = st.fields->find("next"); next != nullptr) {
    count_check();
    const instant wanted = moment_of(*next);
    if (wanted != wheel.next_deadline()) {
      fail_expected(who, st, "next", show_time(wanted), show_time(wheel.next_deadline()));
    }
  }
  const node* const holds = st.fields->find("holds");
  if (holds == nullptr) return;
  for (const node& timer : holds->items) {
    const bound* const found = find_name(who, timer.text);
    count_check();
    const bool is_live = found != nullptr && found->what == thing::wheel_timer && timers_[found->at].wheel == at &&
                         wheel.is_live(timers_[found->at].handle);
    if (!is_live) fail(who, st, "expected '" + timer.text + "' live, and it is not");
  }
  for (const law_timer& timer : timers_) {
    if (timer.wheel != at || !wheel.is_live(timer.handle)) continue;
    const bool is_named = std::any_of(holds->items.begin(), holds->items.end(), [&](const node& each) {
      const bound* const found = find_name(who, each.text);
      return found != nullptr && found->what == thing::wheel_timer && timers_[found->at].wheel == at &&
             timers_[found->at].handle == timer.handle;
    });
    count_check();
    if (!is_named) fail(who, st, "expected no other timer live, and " + name_of_timer(who, at, timer.handle) + " is");
  }
}

void play_run::expect_quiescence(const actor& who, const step& st) {
  const quiescence_look seen = world_->quiescence();
  count_check();
  const status wanted = status_in(*st.fields, "quiescence");
  if (wanted != seen.first) fail_expected(who, st, "quiescence", name(wanted), name(seen.first));
  const node* const also = st.fields->find("also");
  if (also == nullptr) return;
  std::vector<std::string> expected, got;
  for (const node& item : also->items) expected.emplace_back(name(status_of(item)));
  for (const status s : seen.failed) got.emplace_back(name(s));
  want_list(who, st, "also", expected, got);
}

void play_run::expect_runtime(const actor& who, const step& st) {
  const runtime_look seen = world_->look();
  if (const node* const now = st.fields->find("now"); now != nullptr) {
    count_check();
    if (moment_of(*now) != seen.now) fail_expected(who, st, "now", show_time(moment_of(*now)), show_time(seen.now));
  }
  want_number(who, st, "live_tasks", seen.live_tasks);
  want_number(who, st, "live_regions", seen.live_regions);
  want_number(who, st, "live_timers", seen.live_timers);
  if (st.fields->find("limit_refusals") != nullptr) want_number(who, st, "limit_refusals", count_limit_refusals());
  want_number(who, st, "fatal", seen.fatal_calls);
  if (seen.violations) want_number(who, st, "violations", *seen.violations);
  want_word(who, st, "governor", governor_words()[static_cast<std::size_t>(seen.suggestion)]);
}

std::uint64_t play_run::count_limit_refusals() {
  std::uint64_t out = 0;
  for (const event& e : events()) out += is_refusal(e.kind) && high_half(e.a) != 0 ? 1U : 0U;
  return out;
}

}  // namespace asx::scenario::detail
