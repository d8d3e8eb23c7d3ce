// Steps: the row of the operation, where it stands, what its answer may be, and rules that no row can say.
#include <algorithm>

#include "asx/scenario/detail/reading.hpp"

namespace asx::scenario {
namespace {

bool is_run(op what) {
  return what == op::run_until_idle || what == op::run_until_quiescent;
}
/// The others name a timer, which belongs to one wheel.
bool needs_wheel(op what) {
  return what == op::register_ || what == op::collect || what == op::wheel_advance || what == op::cancel_all ||
         what == op::purge;
}

/// Whether some step here can leave a poll or end the script, so that repeating them for ever is no endless poll.
bool can_leave(const steps& all) {
  return std::any_of(all.begin(), all.end(), [](const step& s) {
    switch (s.what) {
      case op::reserve:
      case op::recv:
      case op::join:
      case op::await_closed:
      case op::sleep:
      case op::checkpoint:
      case op::yield:
      case op::park:
      case op::return_:
      case op::fail:
      case op::panic: return true;
      default: break;
    }
    return can_leave(s.inner) ||
           std::any_of(s.on.begin(), s.on.end(), [](const auto& b) { return can_leave(b.second); });
  });
}

bool expects_refusal(const step& s) {
  return s.says_status && std::find(s.expected.begin(), s.expected.end(), status::ok) == s.expected.end();
}

/// Whether nothing but refusals can be right.
bool knows_no_ok(const step& s) {
  return expects_refusal(s) &&
         std::none_of(s.on.begin(), s.on.end(), [](const auto& branch) { return branch.first == status::ok; });
}

std::string things_to_expect() {
  std::string out;
  for (const expectation_info& row : all_expectations()) {
    out += (out.empty() ? "" : &row == &all_expectations().back() ? " or " : ", ") + std::string(row.subject.name);
  }
  return out;
}

}  // namespace

void reading::steps_of(const node& list, const surroundings& around, steps& out) {
  out.reserve(list.items.size());
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const path_scope inside(path_, i);
    one_step(list.items[i], around, out.emplace_back());
  }
}

bool reading::may_stand(const op_info& row, const node& word, const surroundings& around) {
  if ((row.stands & around.place) != 0) return true;
  const std::string is = quoted(row.word);
  if (row.stands == place_of::driver) {
    say(word.at,
        is + " is for the driver; " +
            (around.place == place_of::task ? "a task cannot do it." : "cleanup actions and finalizers cannot do it."));
  } else if (around.place == place_of::driver) {
    say(word.at, is + " is for tasks; the driver cannot do it.");
  } else {
    say(word.at, is + " cannot stand in a cleanup action or a finalizer: their steps are synchronous.");
  }
  return false;
}

void reading::one_step(const node& v, const surroundings& around, step& out) {
  out.fields = &v;
  out.expected = {status::ok};
  if (!v.is(node_kind::object)) {
    say(v.at, "A step is an object, and this is " + std::string(name(v.kind)) + ".");
    return;
  }
  const node* const word = v.find("do");
  if (word == nullptr) {
    say(v.at, "'do' is missing; every step needs it.");
    return;
  }
  const op_info* row = nullptr;
  {
    const path_scope inside(path_, "do");
    if (!wants({.name = "do", .type = takes::operation}, *word, node_kind::text)) return;
    row = find_op(word->text);
    if (row == nullptr) {
      std::vector<std::string_view> words;
      for (const op_info& r : all_ops()) words.push_back(r.word);
      say(word->at, quoted(word->text) + " is no operation" + or_meant(word->text, words));
      return;
    }
    out.what = row->what;
    may_stand(*row, *word, around);
  }
  if (row->what == op::expect) {
    expectation(v, around);
    return;
  }
  fields(v, row->word, row->fields, fields_of_every_step(), around);
  exactly_one(v, *row);
  if (!row->gives_an_answer()) no_answer(v, row->word);
  statuses(v, out);
  branches(v, *row, around, out);
  for (const field_info& field : row->fields) {
    if (field.type != takes::same_steps && field.type != takes::synchronous_steps) continue;
    const node* const inner = v.find(field.name);
    if (inner == nullptr || !inner->is(node_kind::list)) continue;
    const path_scope inside(path_, field.name);
    surroundings here = around;
    if (field.type == takes::synchronous_steps) here.place = place_of::synchronous;
    steps_of(*inner, here, out.inner);
  }
  parts_of_ok(v, *row, out);
  own_rules(v, *row, around, out);
}

void reading::no_answer(const node& v, std::string_view word) {
  for (std::size_t i = 0; i < v.keys.size(); ++i) {
    const std::string& key = v.keys[i];
    const bool is_of_answer = key == "status" || key == "on" || (key == "unchanged" && word != "expect");
    if (!is_of_answer) continue;
    const path_scope inside(path_, key);
    say(v.keys_at[i], quoted(key) + " cannot stand at " + std::string(word) + ", which gives no answer.");
  }
}

void reading::parts_of_ok(const node& v, const op_info& row, const step& out) {
  if (row.what == op::shutdown && v.find("quiescent") != nullptr && (out.says_status || !out.on.empty())) {
    const path_scope inside(path_, "quiescent");
    say(v.find("quiescent")->at, "'quiescent' follows from what 'status' or 'on' say; leave it out.");
  }
  if (!knows_no_ok(out)) return;
  for (const field_info& field : row.fields) {
    const node* const part = v.find(field.name);
    if (!field.comes_with_ok || part == nullptr) continue;
    const path_scope inside(path_, field.name);
    say(part->at, quoted(field.name) + " comes with ok, and a refusal is expected; leave it out.");
  }
}

void reading::exactly_one(const node& v, const op_info& row) {
  if (row.one_of.empty()) return;
  const std::string first = quoted(row.one_of[0]), second = quoted(row.one_of[1]);
  const bool has_first = v.find(row.one_of[0]) != nullptr, has_second = v.find(row.one_of[1]) != nullptr;
  if (has_first != has_second) return;
  say(v.at, std::string(row.word) + (has_first ? " takes " + first + " or " + second + ", and this has both."
                                               : " needs " + first + " or " + second + "."));
}

void reading::statuses(const node& v, step& out) {
  const node* const said = v.find("status");
  if (said == nullptr) return;
  const path_scope inside(path_, "status");
  constexpr field_info field{.name = "status", .type = takes::status_or_statuses};
  out.says_status = true;
  if (said->is(node_kind::text)) {
    if (a_status(*said, said->text)) out.expected = {status_of(*said)};
    return;
  }
  if (!wants(field, *said, node_kind::list)) return;
  if (said->items.empty()) say(said->at, "'status' names no status; leave it out, or name one.");
  std::vector<status> any;
  for (std::size_t i = 0; i < said->items.size(); ++i) {
    const path_scope at(path_, i);
    const node& each = said->items[i];
    if (!wants({.name = "status", .type = takes::status}, each, node_kind::text) || !a_status(each, each.text))
      continue;
    any.push_back(status_of(each));
  }
  if (!any.empty()) out.expected = std::move(any);
}

void reading::branches(const node& v, const op_info& row, const surroundings& around, step& out) {
  const node* const on = v.find("on");
  if (on == nullptr || !on->is(node_kind::object)) return;
  const path_scope inside(path_, "on");
  if (is_run(row.what)) {
    say(on->at, "'on' cannot stand at " + std::string(row.word) + "; say what it must answer with 'status'.");
    return;
  }
  for (std::size_t i = 0; i < on->keys.size(); ++i) {
    const path_scope at(path_, on->keys[i]);
    const node& list = on->items[i];
    node key;  // A key has a place of its own.
    key.at = on->keys_at[i];
    const bool is_status = a_status(key, on->keys[i]);
    if (!wants({.name = on->keys[i], .type = takes::same_steps}, list, node_kind::list)) continue;
    steps branch;
    steps_of(list, around, branch);
    if (!is_status) continue;
    const status code = *parse_status(on->keys[i]);
    if (std::any_of(out.on.begin(), out.on.end(), [code](const auto& other) { return other.first == code; })) {
      say(on->keys_at[i], quoted(on->keys[i]) + " has a branch already, in another spelling.");
      continue;
    }
    out.on.emplace_back(code, std::move(branch));
  }
}

void reading::own_rules(const node& v, const op_info& row, const surroundings& around, const step& out) {
  if (flag_in(v, "unchanged") && expects_refusal(out)) refuses_unchanged_ = true;
  if (row.what == op::wheel && !expects_refusal(out)) {
    const std::string_view as = text_in(v, "as");
    wheels_.emplace(as.empty() ? "number " + std::to_string(wheels_.size()) : std::string(as));
  }
  if (needs_wheel(row.what) && v.find("wheel") == nullptr) leave_wheel_out(v.at, around);
  if (row.what == op::repeat && v.find("times") == nullptr && v.find("steps") != nullptr && !can_leave(out.inner)) {
    say(v.at, "repeat goes on for ever, and none of its steps waits or ends the task; the poll would never end.");
  }
  if (const node* const worker = v.find("worker"); row.what == op::step && worker != nullptr) {
    const node* const settings_given = tree_.find("runtime");
    const node* const workers = settings_given != nullptr ? settings_given->find("workers") : nullptr;
    const std::uint64_t count = workers != nullptr && workers->is(node_kind::number) ? workers->number : 1;
    if (worker->is(node_kind::number) && worker->number >= count) {
      const path_scope inside(path_, "worker");
      say(worker->at, "'worker' is " + std::to_string(worker->number) + ", and the last one is " +
                          std::to_string(count - (count == 0 ? 0 : 1)) + "; 'runtime' says how many there are.");
    }
  }
}

/// Lists of events that every journal has.
void reading::says_nothing(const node& v) {
  const node* const events = v.find("events");
  if (events == nullptr || !events->items.empty()) return;
  const node* const kinds = v.find("kinds");
  const path_scope inside(path_, "events");
  if (flag_in(v, "among")) {
    say(events->at, "'events' is empty, and nothing is among all; name an event.");
  } else if (kinds == nullptr || kinds->items.empty()) {
    say(events->at, "'events' is empty, and 'kinds' names none that must not be there.");
  }
}

void reading::expectation(const node& v, const surroundings& around) {
  const expectation_info* found = nullptr;
  no_answer(v, "expect");
  for (std::size_t i = 0; i < v.keys.size(); ++i) {
    for (const expectation_info& row : all_expectations()) {
      if (row.subject.name != v.keys[i]) continue;
      if (found != nullptr) {
        const path_scope inside(path_, v.keys[i]);
        say(v.keys_at[i], "expect looks at one thing, and this names both " + quoted(found->subject.name) + " and " +
                              quoted(row.subject.name) + ".");
        return;
      }
      found = &row;
    }
  }
  if (found == nullptr) {
    say(v.at, "expect needs a thing to look at: " + things_to_expect() + ".");
    return;
  }
  std::vector<field_info> rows{found->subject};
  for (const field_info& field : fields_of_every_step()) rows.push_back(field);
  const bool is_right = fields(v, "expect " + std::string(found->subject.name), found->fields, rows, around);
  std::size_t facts = 0;
  for (const field_info& field : found->fields) facts += v.find(field.name) != nullptr ? 1U : 0U;
  const takes type = found->subject.type;
  const bool says_nothing_itself = type == takes::name || type == takes::name_or_true || type == takes::only_true;
  if (is_right && facts == 0 && says_nothing_itself) {
    say(v.at, "expect says nothing about the " + std::string(found->subject.name) + "; add a field such as " +
                  quoted(found->fields.front().name) + ".");
  }
  if (is_right) says_nothing(v);
  if (flag_in(v, "gone") && facts > 1) say(v.at, "What is gone has no other field; 'gone' stands alone.");
}

}  // namespace asx::scenario
