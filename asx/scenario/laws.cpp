// Operations that need no runtime: the tables of the model, and a timer wheel of their own.
#include <algorithm>

#include "asx/model/witness.hpp"
#include "asx/scenario/detail/play.hpp"

namespace asx::scenario::detail {

namespace {

using numbers = std::vector<std::uint64_t>;

void add(numbers& out, const budget& b) {
  out.insert(out.end(), {b.deadline.ns, b.poll_quota, b.cost_quota, b.priority});
}

std::uint64_t hash_text(std::string_view text) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

void add(numbers& out, const cancel_reason& r) {
  out.insert(out.end(), {static_cast<std::uint64_t>(r.kind), r.timestamp.ns, r.message.size(), hash_text(r.message)});
}

void add(numbers& out, const outcome<std::uint64_t>& o) {
  out.insert(out.end(), {static_cast<std::uint64_t>(o.kind()), o.has_value() ? 1U : 0U});
  if (o.has_value()) out.push_back(o.value());
  if (o.is_err()) out.insert(out.end(), {static_cast<std::uint64_t>(o.error().code), o.error().detail});
  if (o.is_cancelled()) {
    add(out, o.reason());
    out.insert(out.end(), {o.cancelled_by().cleanup_budget_exceeded ? 1U : 0U,
                           static_cast<std::uint64_t>(o.cancelled_by().cleanup_error)});
  }
}

template <class State, class Table>
status check(const Table& table, std::string_view from, std::string_view to) {
  const auto state = [&](std::string_view word) {
    for (std::size_t i = 0; i < table.states().size(); ++i) {
      if (table.states()[i].name == word) return static_cast<State>(i);
    }
    return State{};
  };
  return table.check(state(from), state(to));
}

cancel_witness witness_of(const node& w) {
  cancel_witness out;
  out.task = task_id{number_in(w, "task", 1)};
  out.region = region_id{number_in(w, "region", 1)};
  out.epoch = number_in(w, "epoch", 1);
  out.phase =
      static_cast<cancel_phase>(index_in(text_in(w, "phase", "requested"), state_words("cancel_phase")).value_or(0));
  out.reason.kind = cancel_kind_in(w, "kind");
  return out;
}

full_reason only(const cancel_reason& r) {
  return {{r.kind, std::string(r.message), r.timestamp, r.origin_region, r.origin_task, r.levels, r.truncated}};
}

}  // namespace

status play_run::check_transition(const node& f) const {
  const std::string_view machine = text_in(f, "machine"), from = text_in(f, "from"), to = text_in(f, "to");
  if (machine == "region") return check<region_state>(region_lifecycle, from, to);
  if (machine == "task") return check<task_state>(task_lifecycle, from, to);
  if (machine == "obligation") return check<obligation_state>(obligation_lifecycle, from, to);
  return check<cancel_phase>(cancel_phase_lifecycle, from, to);
}

bool play_run::perform_law(actor& who, const step& st, status& answer) {
  const node& f = *st.fields;
  numbers came_out;
  switch (st.what) {
    case op::check_transition: answer = check_transition(f); break;
    case op::check_witness: answer = validate(witness_of(*f.find("previous")), witness_of(*f.find("next"))); break;
    case op::check_kind: {
      const cancel_kind_info& row = info(cancel_kind_in(f, "kind"));
      came_out = {row.severity, row.cleanup_quota, row.cleanup_priority};
      want_number(who, st, "severity", row.severity);
      want_number(who, st, "quota", row.cleanup_quota);
      want_number(who, st, "priority", row.cleanup_priority);
      break;
    }
    case op::join_outcomes: {
      auto joined = outcome<std::uint64_t>::ok();
      bool is_first = true;
      for (const node& item : f.find("outcomes")->items) {
        joined = is_first ? outcome_of(item) : join(joined, outcome_of(item));
        is_first = false;
      }
      add(came_out, joined);
      if (const node* const is = f.find("is"); is != nullptr) want_outcome(who, st, *is, full(joined));
      break;
    }
    case op::meet_budgets: {
      budget met = budget::infinite();
      for (const node& item : f.find("budgets")->items) met = meet(met, budget_of(item));
      add(came_out, met);
      want_budget(who, st, "is", met, true);
      break;
    }
    case op::consume_polls: {
      budget left = budget_in(f, "budget");
      const std::uint64_t times = number_in(f, "times", 1);
      if (!who.is_driver && !may_go_on(who, st, times - 1)) return false;
      for (std::uint64_t i = 0; i < times; ++i) answer = left.consume_poll();
      add(came_out, left);
      if (knows(st, answer)) want_budget(who, st, "left", left, true);
      break;
    }
    case op::consume_cost: {
      budget left = budget_in(f, "budget");
      answer = left.consume_cost(number_in(f, "amount"));
      add(came_out, left);
      if (knows(st, answer)) want_budget(who, st, "left", left, true);
      break;
    }
    case op::exhausted: {
      const budget_part part = budget_in(f, "budget").exhausted(moment_in(f, "at"));
      came_out = {static_cast<std::uint64_t>(part)};
      want_word(who, st, "is", budget_part_words()[static_cast<std::size_t>(part)]);
      break;
    }
    case op::strengthen: {
      cancel_reason strongest;
      bool is_first = true;
      for (const node& item : f.find("reasons")->items) {
        const cancel_reason next = reason_of(item);
        strongest = is_first ? next : asx::strengthen(strongest, next);
        is_first = false;
      }
      add(came_out, strongest);
      if (const node* const is = f.find("is"); is != nullptr) want_reason(who, st, *is, only(strongest), "reason");
      break;
    }
    default:
      if (!perform_wheel(who, st, answer, came_out)) return false;
      break;
  }
  world_->note_law(++laws_, answer, hash_fields(came_out));
  return true;
}

// ---- a wheel -----------------------------------------------------------------------------------------------------

ref play_run::wheel_of(const actor& who, const step& st) {
  const node* const named = st.fields->find("wheel");
  if (named != nullptr && named->is(node_kind::text)) {
    const bound* const found = find(who, st, "wheel", thing::wheel);
    return found == nullptr ? no_ref : found->at;
  }
  if (!wheels_.empty()) return static_cast<ref>(wheels_.size() - 1);
  fail_to_look(who, st, "there is no wheel yet");
  return no_ref;
}

// What a refusal must not change, as far as a wheel tells: its time, who is live, and what is due first.
std::uint64_t play_run::wheels_hash() const {
  numbers all;
  for (const auto& wheel : wheels_) {
    all.insert(all.end(), {wheel->live(), wheel->next_deadline().ns, wheel->now().ns});
  }
  for (const law_timer& t : timers_) all.push_back(wheels_[t.wheel]->is_live(t.handle) ? 1U : 0U);
  return hash_fields(all);
}

std::string play_run::name_of_timer(const actor& who, ref wheel, timer_handle handle) const {
  const auto look = [&](const name_table& names) -> const std::string* {
    for (const auto& [name, what] : names) {
      if (what.what == thing::wheel_timer && timers_[what.at].wheel == wheel && timers_[what.at].handle == handle) {
        return &name;
      }
    }
    return nullptr;
  };
  if (const std::string* const found = look(names_); found != nullptr) return *found;
  if (const std::string* const found = who.own == nullptr ? nullptr : look(who.own->names); found != nullptr) {
    return *found;
  }
  return "timer " + std::to_string(handle.id);
}

void play_run::want_fired(const actor& who, const step& st, std::span<const expired_timer> fired, ref wheel) {
  const node* const names = st.fields->find("fired");
  if (names == nullptr) return;
  std::vector<std::string> wanted, got;
  for (const node& name : names->items) {
    const bound* const found = find_name(who, name.text);
    const bool is_timer = found != nullptr && found->what == thing::wheel_timer;
    // Of its own wheel: another one may use the same numbers.
    wanted.push_back(is_timer ? name_of_timer(who, timers_[found->at].wheel, timers_[found->at].handle) : name.text);
  }
  for (const expired_timer& timer : fired) got.push_back(name_of_timer(who, wheel, timer.handle));
  want_list(who, st, "fired", wanted, got);
}

bool play_run::perform_wheel(actor& who, const step& st, status& answer, numbers& came_out) {
  const node& f = *st.fields;
  if (st.what == op::wheel) {
    wheel_config config;
    config.capacity = static_cast<std::uint32_t>(number_in(f, "capacity", config.capacity));
    config.max_wheel_duration = duration_in(f, "max_wheel", config.max_wheel_duration);
    config.max_timer_duration = duration_in(f, "max_timer", config.max_timer_duration);
    config.coalesce_window = duration_in(f, "coalesce_window", config.coalesce_window);
    config.coalesce_min_group =
        static_cast<std::uint32_t>(number_in(f, "coalesce_min_group", config.coalesce_min_group));
    config.start = moment_in(f, "start", config.start);
    config.first_id = number_in(f, "first_id", config.first_id);
    config.first_generation = number_in(f, "first_generation", config.first_generation);
    answer = timer_wheel::validate(config);
    if (answer != status::ok) return true;
    auto made = std::make_unique<timer_wheel>(config);
    if (!made->ready()) {
      answer = status::resource_exhausted;
      return true;
    }
    wheels_.push_back(std::move(made));
    bind(who, st, "as", {thing::wheel, static_cast<ref>(wheels_.size() - 1), 0});
    return true;
  }
  const bound* timer = nullptr;
  if (f.find("timer") != nullptr) {
    timer = find(who, st, "timer", thing::wheel_timer);
    if (timer == nullptr) return false;
  }
  const ref at = timer != nullptr && f.find("wheel") == nullptr ? timers_[timer->at].wheel : wheel_of(who, st);
  if (at == no_ref) return false;
  timer_wheel& wheel = *wheels_[at];
  switch (st.what) {
    case op::register_:
    case op::update: {
      ASX_ASSERT(st.what == op::register_ || timer != nullptr, "what is moved is there");
      timer_handle handle{};
      const instant deadline = moment_in(f, "at");
      answer = st.what == op::update ? wheel.update(timers_[timer->at].handle, deadline, {}, handle)
                                     : wheel.register_timer(deadline, {}, handle);
      if (answer != status::ok) return true;
      came_out = {handle.id, handle.generation};
      want_number(who, st, "id", handle.id);
      want_number(who, st, "generation", handle.generation);
      timers_.push_back({at, handle});
      const std::string_view as = text_in(f, "as", st.what == op::update ? text_in(f, "timer") : std::string_view{});
      if (!as.empty()) bind_as(who, as, {thing::wheel_timer, static_cast<ref>(timers_.size() - 1), 0});
      return true;
    }
    case op::unregister: {
      ASX_ASSERT(timer != nullptr, "what is taken away is there");
      const bool was_live = wheel.cancel(timers_[timer->at].handle);
      came_out = {was_live ? 1U : 0U};
      want_flag(who, st, "was_live", was_live);
      return true;
    }
    case op::collect: {
      const std::uint64_t room = std::min<std::uint64_t>(number_in(f, "room", UINT64_MAX), wheel.live());
      std::vector<expired_timer> fired(static_cast<std::size_t>(room));
      fired.resize(wheel.collect_expired(moment_in(f, "at"), fired));
      for (const expired_timer& t : fired) came_out.insert(came_out.end(), {t.handle.id, t.deadline.ns});
      want_fired(who, st, fired, at);
      return true;
    }
    case op::wheel_advance:
      wheel.advance(moment_in(f, "at"));
      came_out = {wheel.now().ns, wheel.live()};
      return true;
    case op::cancel_all:
      wheel.cancel_all();
      came_out = {wheel.live()};
      return true;
    default:
      wheel.purge();
      came_out = {wheel.live()};
      return true;
  }
}

}  // namespace asx::scenario::detail
