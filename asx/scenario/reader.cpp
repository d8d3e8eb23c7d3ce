// The file as a whole: who it is, how the runtime is set, its scripts and its driver.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "asx/scenario/detail/reading.hpp"

namespace asx::scenario {
namespace {

bool is_id(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

bool may_stand_beside_same_as(std::string_view key) {
  return key == "scenario_dsl_version" || key == "id" || key == "title" || key == "domain" || key == "pins" ||
         key == "same_as";
}

constexpr std::string_view id_spelling = " is no id; ids are letters, digits, '-', '_' and '.'.";

}  // namespace

void reading::identity(scenario& out, std::string_view file_name) {
  for (const std::string_view key : {"id", "same_as"}) {
    const node* const id = tree_.find(key);
    if (id == nullptr || !id->is(node_kind::text)) continue;
    const path_scope inside(path_, key);
    if (!is_id(id->text)) say(id->at, quoted(id->text) + std::string(id_spelling));
    (key == "id" ? out.id : out.same_as) = id->text;
  }
  const node* const id = tree_.find("id");
  const node* const same_as = tree_.find("same_as");
  if (same_as != nullptr && id != nullptr && same_as->text == id->text && is_id(id->text)) {
    const path_scope inside(path_, "same_as");
    say(same_as->at, "'same_as' names this file itself; it takes the id of another one.");
  }
  out.title = text_in(tree_, "title");
  out.domain = text_in(tree_, "domain");
  const node* const pins = tree_.find("pins");
  if (pins != nullptr) {
    for (const node& pin : pins->items) out.pins.push_back(pin.text);
  }
  if (file_name.empty()) return;

  file_name.remove_prefix(std::min(file_name.size(), file_name.rfind('/') + 1));  // npos + 1 is 0.
  if (id != nullptr && is_id(id->text) && file_name != id->text + ".json") {
    const path_scope inside(path_, "id");
    say(id->at, "The id is " + quoted(id->text) + ", and the file is called " + quoted(file_name) +
                    "; a fixture's file is called by its id and '.json'.");
  }
  if (same_as == nullptr && (pins == nullptr || (pins->is(node_kind::list) && pins->items.empty()))) {
    const path_scope inside(path_, "pins");
    say(pins != nullptr ? pins->at : tree_.at, "'pins' is missing; a fixture names the laws that it pins.");
  }
}

void reading::contract(const node& object, scenario& out) {
  const path_scope inside(path_, "contract");
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    const path_scope at(path_, object.keys[i]);
    const node& v = object.items[i];
    const limit_info* found = nullptr;
    std::vector<std::string_view> names;
    for (const limit_info& row : all_limits()) {
      if (row.name == object.keys[i]) found = &row;
      names.push_back(row.name);
    }
    if (found == nullptr) {
      say(object.keys_at[i], quoted(object.keys[i]) + " is no limit of the contract" + or_meant(object.keys[i], names));
    } else if (v.is(node_kind::text) && v.text == "max") {
      out.limits.push_back({found->name, found->most});
    } else if (number({.name = found->name, .least = found->least, .most = found->most}, v)) {
      out.limits.push_back({found->name, v.number});
    }
  }
}

void reading::digest(const node& v, scenario& out) {
  const path_scope inside(path_, "digest");
  const bool is_hex = v.text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (v.text.size() != 32 || !is_hex) say(v.at, quoted(v.text) + " is no digest: 32 digits, 0 to 9 and a to f.");
  const node* const runtime = tree_.find("runtime");
  const node* const seeds = runtime != nullptr ? runtime->find("seeds") : nullptr;
  if (seeds != nullptr && seeds->items.size() > 1) say(v.at, "'digest' is of one play, and 'seeds' asks for several.");
  out.digest = v.text;
}

void reading::settings(const node& object, scenario& out) {
  const path_scope inside(path_, "runtime");
  const std::size_t before = wrong_.size();
  fields(object, "runtime", runtime_settings(), {}, {});
  if (const node* const limits = object.find("contract"); limits != nullptr && limits->is(node_kind::object)) {
    contract(*limits, out);
  }
  if (object.find("seed") != nullptr && object.find("seeds") != nullptr) {
    say(object.at, "'seed' and 'seeds' are both there; one of them is enough.");
  }
  for (const std::string_view key : {"seeds", "profiles"}) {
    const node* const list = object.find(key);
    if (list == nullptr || !list->is(node_kind::list)) continue;
    const path_scope at(path_, key);
    if (list->items.empty()) say(list->at, quoted(key) + " is empty; name one, or leave it out.");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const node& each = list->items[i];
      const bool is_again = std::any_of(
          list->items.begin(), list->items.begin() + static_cast<std::ptrdiff_t>(i), [&](const node& other) {
            return other.kind == each.kind && other.text == each.text && other.number == each.number;
          });
      const path_scope item(path_, i);
      if (is_again) say(each.at, quoted(key) + " names this one twice.");
    }
  }
  if (wrong_.size() != before) return;  // What follows trusts the types.

  if (object.find("seed") != nullptr) out.seeds = {number_in(object, "seed")};
  if (const node* const seeds = object.find("seeds")) {
    out.seeds.clear();
    for (const node& each : seeds->items) out.seeds.push_back(number_of(each));
  }
  if (const node* const profiles = object.find("profiles")) {
    out.profiles.clear();
    for (const node& each : profiles->items) {
      out.profiles.push_back(static_cast<profile>(*index_in(each.text, profile_words())));
    }
  }
  const auto small = [&](std::string_view key, std::uint32_t otherwise) {
    return static_cast<std::uint32_t>(number_in(object, key, otherwise));
  };
  runtime_config& s = out.settings;
  s.workers = small("workers", s.workers);
  s.cancel_streak_limit = small("cancel_streak_limit", s.cancel_streak_limit);
  s.timed_streak_limit = small("timed_streak_limit", s.timed_streak_limit);
  s.coalesce_window = duration_in(object, "coalesce_window");
  if (text_in(object, "order") == "seeded") s.order = worker_order::kind::drawn;
  if (text_in(object, "leaks") == "hold") s.behaviour.leaks = leak_policy::hold;
  if (text_in(object, "ready_tiebreak") == "rng") s.ready_tiebreak = tie_break::rng;
  if (text_in(object, "trace_overflow") == "reject") s.contract.overflow = trace_overflow::reject;
  if (const node* const polls = object.find("max_unobserved_cancel_polls");
      polls != nullptr && polls->text != "quota") {
    s.behaviour.max_unobserved_cancel_polls = static_cast<std::uint32_t>(number_of(*polls));
  }
}

void reading::scripts(const node& object, scenario& out) {
  const path_scope inside(path_, "tasks");
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    const std::string& key = object.keys[i];
    const path_scope at(path_, key);
    const node& v = object.items[i];
    const surroundings around{place_of::task, key};
    if (!is_id(key)) {
      say(object.keys_at[i],
          quoted(key) + " is no name of a script; such names are letters, digits, '-', '_' and '.'.");
    }
    script& s = out.tasks[key];
    if (v.is(node_kind::list)) {
      steps_of(v, around, s.body);
    } else if (v.is(node_kind::object)) {
      constexpr field_info rows[] = {{.name = "steps", .type = takes::same_steps, .is_required = true},
                                     {.name = "when_cancelled", .type = takes::same_steps}};
      fields(v, "a script", rows, {}, around);
      for (const std::string_view part : {"steps", "when_cancelled"}) {
        const node* const list = v.find(part);
        if (list == nullptr || !list->is(node_kind::list)) continue;
        const path_scope in_part(path_, part);
        steps_of(*list, around, part == "steps" ? s.body : s.when_cancelled);
      }
    } else {
      say(v.at,
          "A script is a list of steps or an object with 'steps', and this is " + std::string(name(v.kind)) + ".");
    }
  }
}

void reading::file(scenario& out, std::string_view file_name) {
  if (!tree_.is(node_kind::object)) {
    say(tree_.at, "A scenario is an object, and this is " + std::string(name(tree_.kind)) + ".");
    return;
  }
  if (const node* const version = tree_.find("scenario_dsl_version")) {
    const path_scope inside(path_, "scenario_dsl_version");
    if (!wants({.name = "scenario_dsl_version", .type = takes::version}, *version, node_kind::number)) return;
    if (version->number != dsl_version) {  // Another language: nothing else in it can be judged.
      say(version->at, "scenario_dsl_version is " + std::to_string(version->number) + ", and this asx reads " +
                           std::to_string(dsl_version) + ".");
      return;
    }
  }
  fields(tree_, "a scenario", fields_of_file(), {}, {});
  identity(out, file_name);
  if (tree_.find("same_as") != nullptr) {
    for (std::size_t i = 0; i < tree_.keys.size(); ++i) {
      const std::string& key = tree_.keys[i];
      if (may_stand_beside_same_as(key) || find_field(fields_of_file(), key) == nullptr) continue;
      const path_scope inside(path_, key);
      say(tree_.keys_at[i], quoted(key) + " cannot stand beside 'same_as': the other scenario says it.");
    }
    return;
  }
  out.must_fail = flag_in(tree_, "must_fail");
  out.shuts_down = tree_.find("shutdown") == nullptr;
  if (const node* const v = tree_.find("digest"); v != nullptr && v->is(node_kind::text)) digest(*v, out);
  const auto part = [&](std::string_view key, node_kind kind) {
    const node* const v = tree_.find(key);
    return v != nullptr && v->is(kind) ? v : nullptr;
  };
  if (const node* const v = part("runtime", node_kind::object)) settings(*v, out);
  if (const node* const v = part("tasks", node_kind::object)) scripts(*v, out);
  if (const node* const v = part("steps", node_kind::list)) {
    const path_scope inside(path_, "steps");
    steps_of(*v, {}, out.driver);
  }
  if (tree_.find("steps") == nullptr)
    say(tree_.at, "'steps' is missing; a scenario needs it, unless it has 'same_as'.");
  judge_names();
  if (out.must_fail && !refuses_unchanged_) {
    const path_scope inside(path_, "must_fail");
    say(tree_.find("must_fail")->at, "'must_fail' is true, and no step expects a refusal with 'unchanged': true.");
  }
}

resource_contract scenario::contract_for(profile p) const noexcept {
  resource_contract out = p == profile::tiny     ? resource_contract::tiny()
                          : p == profile::server ? resource_contract::server()
                                                 : resource_contract::core();
  for (const contract_change& change : limits) {
    for (const limit_info& row : all_limits()) {
      if (row.name != change.limit) continue;
      if (row.narrow != nullptr) out.*row.narrow = static_cast<std::uint32_t>(change.value);
      if (row.wide != nullptr) out.*row.wide = change.value;
    }
  }
  out.overflow = settings.contract.overflow;
  return out;
}

std::unique_ptr<scenario> read(std::string_view json, std::string_view file_name, std::vector<complaint>& wrong) {
  auto out = std::make_unique<scenario>();
  std::vector<complaint> found;
  if (complaint first; parse(json, out->tree, first)) {
    reading(out->tree, found).file(*out, file_name);
  } else {
    found.push_back(std::move(first));
  }
  std::sort(found.begin(), found.end(), [](const complaint& a, const complaint& b) {
    return std::tie(a.at.line, a.at.column, a.field, a.text) < std::tie(b.at.line, b.at.column, b.field, b.text);
  });
  const bool is_right = found.empty();
  std::move(found.begin(), found.end(), std::back_inserter(wrong));
  return is_right ? std::move(out) : nullptr;
}

}  // namespace asx::scenario
