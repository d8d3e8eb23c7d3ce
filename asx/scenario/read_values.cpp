// Values: each type of words.hpp, checked against what stands in the file.
#include <array>

#include "asx/journal/event_table.hpp"
#include "asx/scenario/detail/reading.hpp"

namespace asx::scenario {
namespace {

using kind_of = node_kind;

/// What a field of this type takes, for the sentence "'x' takes ...".
std::string phrase_of(const field_info& field) {
  switch (field.type) {
    case takes::number:
    case takes::polls_or_quota: return "a number";
    case takes::number_or_null: return "a number or null";
    case takes::flag: return "true or false";
    case takes::only_true: return "true";
    case takes::duration: return "a duration such as \"5ms\"";
    case takes::moment: return "a moment such as \"5ms\", or \"none\"";
    case takes::budget: return "a budget: \"infinite\", \"zero\" or an object";
    case takes::reason:
    case takes::wanted_reason: return "a reason, which is an object";
    case takes::wanted_cause: return "a reason, which is an object, or null for none";
    case takes::outcome: return "an outcome: \"ok\" or an object";
    case takes::wanted_outcome: return "an outcome: ok, err, cancelled, panicked or an object";
    case takes::cancel_kind: return "a cancel kind, which is a text";
    case takes::status:
    case takes::error: return "a status, which is a text";
    case takes::status_or_statuses: return "a status or a list of them";
    case takes::name:
    case takes::new_name: return "a name, which is a text";
    case takes::name_or_true: return "a name, or true";
    case takes::name_or_null: return "a name, or null for none";
    case takes::script: return "the name of a script, which is a text";
    case takes::text:
    case takes::word:
    case takes::state:
    case takes::id:
    case takes::operation: return "a text";
    case takes::same_steps:
    case takes::synchronous_steps: return "a list of steps";
    case takes::outcomes: return "a list of outcomes";
    case takes::budgets: return "a list of budgets";
    case takes::reasons: return "a list of reasons";
    case takes::statuses: return "a list of statuses";
    case takes::numbers: return "a list of numbers";
    case takes::texts: return "a list of texts";
    case takes::names: return "a list of names";
    case takes::words: return "a list of words";
    case takes::events: return "a list of events";
    case takes::event_kinds: return "a list of kinds of events";
    case takes::witness: return "a witness, which is an object";
    case takes::wanted_witness: return "a witness, which is an object, or null for none";
    case takes::counts:
    case takes::event_counts: return "an object with numbers";
    case takes::version: return "the number 1";
    case takes::settings: return "an object with settings";
    case takes::limits: return "an object with limits";
    case takes::scripts: return "an object with scripts";
    case takes::branches: return "an object with a list of steps for each status";
  }
  return "something else";
}

constexpr field_info row(std::string_view name, takes type, std::uint32_t things = 0) {
  return {.name = name, .type = type, .things = things};
}
constexpr field_info needed(std::string_view name, takes type) {
  return {.name = name, .type = type, .is_required = true};
}

constexpr field_info priority_row{.name = "priority", .most = 255};
constexpr field_info budget_rows[] = {row("deadline", takes::moment), row("polls", takes::number),
                                      row("cost", takes::number), priority_row};
constexpr field_info reason_rows[] = {needed("kind", takes::cancel_kind), row("at", takes::moment),
                                      row("message", takes::text)};
constexpr field_info wanted_reason_rows[] = {row("kind", takes::cancel_kind),
                                             row("message", takes::text),
                                             row("at", takes::moment),
                                             row("severity", takes::number),
                                             row("origin_region", takes::name_or_null, thing::region),
                                             row("origin_task", takes::name_or_null, thing::task),
                                             row("cause", takes::wanted_cause),
                                             row("levels", takes::number),
                                             row("truncated", takes::flag),
                                             row("truncated_at", takes::number)};
constexpr field_info ok_rows[] = {row("ok", takes::number_or_null)};
constexpr field_info err_rows[] = {row("err", takes::error), row("detail", takes::number)};
constexpr field_info cancelled_rows[] = {row("cancelled", takes::reason), row("overran", takes::flag),
                                         row("cleanup_error", takes::status)};
constexpr field_info wanted_cancelled_rows[] = {row("cancelled", takes::wanted_reason), row("overran", takes::flag),
                                                row("cleanup_error", takes::status)};
constexpr field_info panicked_rows[] = {row("panicked", takes::text)};
constexpr std::array<std::string_view, 4> outcome_words{"ok", "err", "cancelled", "panicked"};

field_info phase_row() {
  return {.name = "phase", .type = takes::word, .words = state_words("cancel_phase")};
}

std::vector<std::string_view> status_names() {
  std::vector<std::string_view> names;
  for (const status_info& s : status_table) names.push_back(s.name);
  return names;
}

}  // namespace

bool reading::wrong_type(const field_info& field, const node& v) {
  say(v.at, quoted(field.name) + " takes " + phrase_of(field) + ", and this is " + std::string(name(v.kind)) + ".");
  return false;
}

bool reading::wants(const field_info& field, const node& v, node_kind kind) {
  return v.is(kind) || wrong_type(field, v);
}

bool reading::number(const field_info& field, const node& v) {
  const bool is_max = v.is(kind_of::text) && v.text == "max";
  if (!v.is(kind_of::number) && !is_max) return wrong_type(field, v);
  const std::uint64_t n = number_of(v);
  if (n >= field.least && n <= field.most) return true;
  const std::string most = field.most == UINT64_MAX ? "2^64 - 1" : std::to_string(field.most);
  say(v.at, quoted(field.name) + " is " + std::to_string(field.least) + " to " + most + ", and this is " +
                (is_max ? std::string("max") : std::to_string(n)) + ".");
  return false;
}

bool reading::time(const field_info& field, const node& v) {
  if (v.is(kind_of::number)) return true;
  if (!wants(field, v, kind_of::text)) return false;
  if (v.text == "max" || (v.text == "none" && field.type == takes::moment)) return true;
  duration ignored;
  std::string why;
  if (parse_duration(v.text, ignored, why)) return true;
  say(v.at, std::move(why));
  return false;
}

bool reading::one_of(const node& v, std::span<const std::string_view> words, std::string_view verdict) {
  if (index_in(v.text, words)) return true;
  std::string text = quoted(v.text) + " " + std::string(verdict);
  if (nearest(v.text, words).empty() && words.size() <= 12) {
    text += "; it can be ";
    for (std::size_t i = 0; i < words.size(); ++i) {
      text += std::string(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
    }
    text += ".";
  } else {
    text += or_meant(v.text, words);
  }
  say(v.at, std::move(text));
  return false;
}

bool reading::a_status(const node& v, std::string_view word) {
  if (parse_status(word)) return true;
  std::string small;  // Slips in ASX_E_FULL and FULL are near to full, too.
  for (const char c : word) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string_view plain = std::string_view(small).substr(small.starts_with("asx_e_") ? 6 : 0);
  say(v.at, quoted(word) + " is no status" + or_meant(plain, status_names()));
  return false;
}

bool reading::an_event_kind(position at, std::string_view word) {
  if (find_event_kind(word) != nullptr) return true;
  std::vector<std::string_view> names;
  for (const event_info& e : event_table) names.push_back(e.name);
  say(at, quoted(word) + " is no kind of event" + or_meant(word, names));
  return false;
}

bool reading::name_in_event(position at, std::string_view name, std::string_view kind, std::string_view part,
                            const surroundings& around) {
  const event_info* const row = find_event_kind(kind);
  if (row == nullptr) return true;  // It has its own complaint.
  const std::uint32_t things = things_of(part == "with" ? row->object : row->subject);
  if (things != 0) return use_name(at, name, things, kind, around);
  say(at, quoted(kind) + " has nothing with a name there.");
  return false;
}

bool reading::an_event(const node& v, const surroundings& around) {
  if (v.is(kind_of::text)) {
    const std::size_t space = v.text.find(' ');
    const std::string_view text = v.text;
    const std::string_view kind = text.substr(0, space);
    if (!an_event_kind(v.at, kind)) return false;
    return space == std::string_view::npos || name_in_event(v.at, text.substr(space + 1), kind, "of", around);
  }
  if (!v.is(kind_of::object)) {
    say(v.at,
        "An event is a text such as \"region_closed r\" or an object, and this is " + std::string(name(v.kind)) + ".");
    return false;
  }
  constexpr field_info rows[] = {needed("kind", takes::text), row("of", takes::text), row("with", takes::text),
                                 row("a", takes::number), row("b", takes::number)};
  bool is_right = fields(v, "an event", rows, {}, around);
  const node* const kind = v.find("kind");
  if (kind != nullptr && kind->is(kind_of::text)) {
    const path_scope inside(path_, "kind");
    is_right = an_event_kind(kind->at, kind->text) && is_right;
  }
  for (const std::string_view part : {"of", "with"}) {
    const node* const named = v.find(part);
    if (named == nullptr || !named->is(kind_of::text) || kind == nullptr) continue;
    const path_scope inside(path_, part);
    is_right = name_in_event(named->at, named->text, kind->text, part, around) && is_right;
  }
  return is_right;
}

bool reading::says_something(const field_info& field, const node& v) {
  if (!v.keys.empty()) return true;
  say(v.at, quoted(field.name) + " is empty and says nothing; name a part of it, or leave it out.");
  return false;
}

bool reading::an_outcome(const field_info& field, const node& v, const surroundings& around) {
  const bool is_wanted = field.type == takes::wanted_outcome;
  if (v.is(kind_of::text)) {
    if (is_wanted || v.text == "ok") return one_of(v, outcome_words, "is no outcome");
    say(v.at, quoted(v.text) +
                  " says too little of an outcome that is given; write {\"err\": \"full\"}, {\"cancelled\": "
                  "{\"kind\": \"user\"}} or {\"panicked\": \"text\"}.");
    return false;
  }
  if (!wants(field, v, kind_of::object)) return false;
  std::size_t kinds = 0;
  std::string_view which;
  for (const std::string_view word : outcome_words) {
    if (v.find(word) == nullptr) continue;
    ++kinds;
    which = word;
  }
  if (kinds != 1) {
    say(v.at, kinds == 0 ? "An outcome says one of ok, err, cancelled and panicked, and this says none."
                         : "An outcome says one of ok, err, cancelled and panicked, and this says several.");
    return false;
  }
  const std::string of = "the outcome " + std::string(which);
  if (which == "ok") return fields(v, of, ok_rows, {}, around);
  if (which == "err") return fields(v, of, err_rows, {}, around);
  if (which == "panicked") return fields(v, of, panicked_rows, {}, around);
  return is_wanted ? fields(v, of, wanted_cancelled_rows, {}, around) : fields(v, of, cancelled_rows, {}, around);
}

bool reading::list_value(const field_info& field, const node& v, const surroundings& around, const node& step) {
  if (!wants(field, v, kind_of::list)) return false;
  field_info item = field;
  switch (field.type) {
    case takes::outcomes: item.type = takes::outcome; break;
    case takes::budgets: item.type = takes::budget; break;
    case takes::reasons: item.type = takes::reason; break;
    case takes::statuses: item.type = takes::status; break;
    case takes::numbers: item.type = takes::number; break;
    case takes::texts: item.type = takes::text; break;
    case takes::names: item.type = takes::name; break;
    default: item.type = takes::word; break;
  }
  if (field.type == takes::reasons && v.items.empty()) {  // Outcomes and budgets have an identity, reasons have none.
    say(v.at, quoted(field.name) + " needs at least one.");
    return false;
  }
  bool is_right = true;
  for (std::size_t i = 0; i < v.items.size(); ++i) {
    const path_scope inside(path_, i);
    const node& each = v.items[i];
    if (field.type == takes::events) {
      is_right = an_event(each, around) && is_right;
    } else if (field.type == takes::event_kinds) {
      is_right = wants({.name = field.name, .type = takes::text}, each, kind_of::text) &&
                 an_event_kind(each.at, each.text) && is_right;
    } else {
      is_right = value(item, each, around, step) && is_right;
    }
  }
  return is_right;
}

bool reading::simple_value(const field_info& field, const node& v, const node& step) {
  switch (field.type) {
    case takes::number: return number(field, v);
    case takes::number_or_null: return v.is(kind_of::null) || number(field, v);
    case takes::polls_or_quota:
      if (v.is(kind_of::text) && v.text == "quota") return true;
      return number({.name = field.name, .type = takes::number, .most = UINT32_MAX - 1}, v);
    case takes::flag: return wants(field, v, kind_of::boolean);
    case takes::only_true: return (v.is(kind_of::boolean) && v.flag) || wrong_type(field, v);
    case takes::duration:
    case takes::moment: return time(field, v);
    case takes::cancel_kind: {
      if (!wants(field, v, kind_of::text)) return false;
      if (parse_cancel_kind(v.text)) return true;
      std::vector<std::string_view> names;
      for (const cancel_kind_info& k : cancel_kind_table) names.push_back(k.name);
      say(v.at, quoted(v.text) + " is no cancel kind" + or_meant(v.text, names));
      return false;
    }
    case takes::status: return wants(field, v, kind_of::text) && a_status(v, v.text);
    case takes::error:
      if (!wants(field, v, kind_of::text) || !a_status(v, v.text)) return false;
      if (parse_status(v.text) != status::ok) return true;
      say(v.at, quoted(field.name) + " takes a status that is an error, and ok is none.");
      return false;
    case takes::word:
      return wants(field, v, kind_of::text) &&
             one_of(v, field.words, "is nothing that " + quoted(field.name) + " takes");
    case takes::state: {
      const node* const machine = step.find("machine");
      const auto states = state_words(machine != nullptr ? std::string_view(machine->text) : std::string_view());
      if (!wants(field, v, kind_of::text)) return false;
      return states.empty() ||
             one_of(v, states, "is no state of a " + machine->text);  // The machine has its own complaint.
    }
    case takes::script: return wants(field, v, kind_of::text) && a_script(v);
    default: return wants(field, v, kind_of::text);
  }
}

bool reading::value(const field_info& field, const node& v, const surroundings& around, const node& step) {
  switch (field.type) {
    case takes::name: return wants(field, v, kind_of::text) && use_name(v.at, v.text, field.things, field.name, around);
    case takes::name_or_true:
      if (v.is(kind_of::boolean) && v.flag) {
        leave_wheel_out(v.at, around);
        return true;
      }
      return wants(field, v, kind_of::text) && use_name(v.at, v.text, field.things, field.name, around);
    case takes::name_or_null:
      if (v.is(kind_of::null)) return true;
      return wants(field, v, kind_of::text) && use_name(v.at, v.text, field.things, field.name, around);
    case takes::new_name: return make_name(v, field, around, step);
    case takes::budget: {
      constexpr std::array<std::string_view, 2> words{"infinite", "zero"};
      if (v.is(kind_of::text)) return one_of(v, words, "is no budget");
      return wants(field, v, kind_of::object) && fields(v, "a budget", budget_rows, {}, around);
    }
    case takes::reason: return wants(field, v, kind_of::object) && fields(v, "a reason", reason_rows, {}, around);
    case takes::wanted_cause:
      if (v.is(kind_of::null)) return true;
      [[fallthrough]];
    case takes::wanted_reason:
      // Of an outcome, {} is any reason: other parts may stand beside it.
      return wants(field, v, kind_of::object) && (field.name == "cancelled" || says_something(field, v)) &&
             fields(v, "a reason", wanted_reason_rows, {}, around);
    case takes::outcome:
    case takes::wanted_outcome: return an_outcome(field, v, around);
    case takes::witness:
    case takes::wanted_witness: {
      if (field.type == takes::wanted_witness && v.is(kind_of::null)) return true;
      if (field.type == takes::wanted_witness && v.is(kind_of::object) && !says_something(field, v)) return false;
      const takes who = field.type == takes::witness ? takes::number : takes::name;
      const field_info rows[] = {row("task", who, thing::task), row("region", who, thing::region),
                                 row("epoch", takes::number), phase_row(), row("kind", takes::cancel_kind)};
      return wants(field, v, kind_of::object) && fields(v, "a witness", rows, {}, around);
    }
    case takes::counts: {
      std::vector<field_info> rows;
      for (const std::string_view word : field.words) rows.push_back(row(word, takes::number));
      return wants(field, v, kind_of::object) && says_something(field, v) && fields(v, "'counts'", rows, {}, around);
    }
    case takes::event_counts: {
      if (!wants(field, v, kind_of::object) || !says_something(field, v)) return false;
      bool is_right = true;
      for (std::size_t i = 0; i < v.keys.size(); ++i) {
        const path_scope inside(path_, v.keys[i]);
        is_right = an_event_kind(v.keys_at[i], v.keys[i]) && is_right;
        is_right = number({.name = v.keys[i]}, v.items[i]) && is_right;
      }
      return is_right;
    }
    case takes::outcomes:
    case takes::budgets:
    case takes::reasons:
    case takes::statuses:
    case takes::numbers:
    case takes::texts:
    case takes::names:
    case takes::words:
    case takes::events:
    case takes::event_kinds: return list_value(field, v, around, step);
    case takes::same_steps:
    case takes::synchronous_steps: return wants(field, v, kind_of::list);
    case takes::settings:
    case takes::limits:
    case takes::scripts:
    case takes::branches: return wants(field, v, kind_of::object);
    case takes::operation:
    case takes::status_or_statuses:
    case takes::version: return true;  // Read where they are used.
    default: return simple_value(field, v, step);
  }
}

bool reading::fields(const node& object, std::string_view of, std::span<const field_info> rows,
                     std::span<const field_info> more, const surroundings& around) {
  bool is_right = true;
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    const std::string& key = object.keys[i];
    const path_scope inside(path_, key);
    const field_info* field = find_field(rows, key);
    if (field == nullptr) field = find_field(more, key);
    if (field != nullptr) {
      is_right = value(*field, object.items[i], around, object) && is_right;
      continue;
    }
    std::vector<std::string_view> names;
    for (const field_info& r : rows) names.push_back(r.name);
    for (const field_info& r : more) names.push_back(r.name);
    say(object.keys_at[i], quoted(key) + " is no field of " + std::string(of) + or_meant(key, names));
    is_right = false;
  }
  for (const auto& list : {rows, more}) {
    for (const field_info& r : list) {
      if (!r.is_required || object.find(r.name) != nullptr) continue;
      say(object.at, quoted(r.name) + " is missing; " + std::string(of) + " needs it.");
      is_right = false;
    }
  }
  return is_right;
}

}  // namespace asx::scenario
