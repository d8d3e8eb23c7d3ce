// Names: a step may use what a later one makes, so all are judged when the whole file has been seen.
#include <algorithm>

#include "asx/scenario/detail/reading.hpp"

namespace asx::scenario {
namespace {

bool is_name(std::string_view word) {
  if (word.starts_with('$')) word.remove_prefix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

/// A task's own names are kept apart: no name and no script holds a newline.
std::string key_of(std::string_view name, std::string_view script) {
  return name.starts_with('$') ? std::string(script) + "\n" + std::string(name) : std::string(name);
}

constexpr std::string_view spelling =
    " is no name; names are letters, digits, '-', '_' and '.', with a '$' before a task's own.";

}  // namespace

std::string quoted(std::string_view word) {
  constexpr std::size_t shown = 60;
  return word.size() <= shown ? "'" + std::string(word) + "'" : "'" + std::string(word.substr(0, shown)) + "...'";
}

std::string phrase_of_things(std::uint32_t things) {
  static constexpr std::pair<std::uint32_t, std::string_view> names[] = {
      {thing::region, "a region"},
      {thing::task, "a task"},
      {thing::slot, "a slot for a task"},
      {thing::obligation, "an obligation"},
      {thing::timer, "a timer"},
      {thing::sender, "a sender"},
      {thing::receiver, "a receiver"},
      {thing::permit, "a permit"},
      {thing::cleanup, "a cleanup action"},
      {thing::mark, "a mark"},
      {thing::certificate, "a certificate"},
      {thing::wheel, "a wheel"},
      {thing::wheel_timer, "a timer of a wheel"},
  };
  if (things == thing::any_subject) return "anything";
  std::vector<std::string_view> parts;
  for (const auto& [bit, name] : names) {
    if ((things & bit) != 0) parts.push_back(name);
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out += std::string(i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + std::string(parts[i]);
  }
  return out;
}

bool reading::make_name(const node& v, const field_info& field, const surroundings& around, const node& step) {
  if (!wants(field, v, node_kind::text)) return false;
  if (!is_name(v.text)) {
    say(v.at, quoted(v.text) + std::string(spelling));
    return false;
  }
  if (v.text == "root") {
    say(v.at, "'root' is the root region; choose another name.");
    return false;
  }
  if (v.text.starts_with('$') && around.script.empty()) {
    say(v.at, quoted(v.text) + " begins with '$', and such names belong to tasks; the driver has none.");
    return false;
  }
  maker& m = made_[key_of(v.text, around.script)];
  const node* const count = step.find("count");
  if (field.things == thing::task && count != nullptr) {
    m.counted_things |= field.things;
    m.count = std::max(m.count, number_of(*count));
  } else {
    m.things |= field.things;
  }
  return true;
}

bool reading::use_name(position at, std::string_view name, std::uint32_t things, std::string_view field,
                       const surroundings& around) {
  if (!is_name(name)) {
    say(at, quoted(name) + std::string(spelling));
    return false;
  }
  if (name.starts_with('$') && around.script.empty()) {
    say(at, quoted(name) + " begins with '$', and such names belong to tasks; the driver has none.");
    return false;
  }
  uses_.push_back({std::string(name), things, std::string(field), around.script, at, path_});
  return true;
}

bool reading::a_script(const node& v) {
  const node* const tasks = tree_.find("tasks");
  std::vector<std::string_view> names;
  if (tasks != nullptr) names.assign(tasks->keys.begin(), tasks->keys.end());
  if (index_in(v.text, names)) return true;
  say(v.at, "No script of 'tasks' is called " + quoted(v.text) + or_meant(v.text, names));
  return false;
}

std::uint32_t reading::what_is(std::string_view key) const {
  if (key == "root") return thing::region;
  std::uint32_t things = 0;
  if (const auto found = made_.find(key); found != made_.end()) things |= found->second.things;
  // w12 may be the twelfth of "as": "w", "count": 20, and so may w1 and a 2 behind it be the second of w1.
  for (std::size_t digits = 1; digits < key.size() && digits <= 7; ++digits) {
    const std::string_view number = key.substr(key.size() - digits);
    if (number.front() < '0' || number.front() > '9') break;
    if (number.front() == '0') continue;
    std::uint64_t n = 0;
    for (const char c : number) n = n * 10 + static_cast<std::uint64_t>(c - '0');
    const auto found = made_.find(key.substr(0, key.size() - digits));
    if (found != made_.end() && n <= found->second.count) things |= found->second.counted_things;
  }
  return things;
}

void reading::judge(const name_use& use) {
  const std::uint32_t is = what_is(key_of(use.name, use.script));
  if ((is & use.things) != 0) return;
  const auto complain = [&](std::string text) { wrong_.push_back({use.at, use.path, std::move(text)}); };
  if (is != 0) {
    complain(quoted(use.name) + " is " + phrase_of_things(is) + ", and " + quoted(use.field) + " takes " +
             phrase_of_things(use.things) + ".");
    return;
  }
  std::vector<std::string> names;
  if ((use.things & thing::region) != 0) names.emplace_back("root");
  for (const auto& [key, m] : made_) {
    const std::size_t mark = key.find('\n');
    if (mark != std::string::npos && std::string_view(key).substr(0, mark) != use.script) continue;
    const std::string name = mark == std::string::npos ? key : key.substr(mark + 1);
    if ((m.things & use.things) != 0) names.push_back(name);
    if ((m.counted_things & use.things) != 0) names.push_back(name + std::to_string(m.count));
  }
  const std::vector<std::string_view> near(names.begin(), names.end());
  const std::string own = use.name.starts_with('$') ? " in this script" : "";
  complain("No step" + own + " makes " + phrase_of_things(use.things) + " called " + quoted(use.name) +
           or_meant(use.name, near));
}

void reading::leave_wheel_out(position at, const surroundings& around) {
  wheels_left_out_.push_back({wheels_.size(), around.place != place_of::driver, at, path_});
}

void reading::judge_wheels() {
  for (const wheel_left_out& use : wheels_left_out_) {
    const std::size_t count = use.is_scripted ? wheels_.size() : use.wheels;
    if (wheels_.empty()) {
      wrong_.push_back({use.at, use.path, "There is no wheel; a step {\"do\": \"wheel\"} makes one."});
    } else if (count > 1) {
      const std::string when = use.is_scripted ? " wheels in this file" : " wheels by now";
      wrong_.push_back({use.at, use.path, "There are " + std::to_string(count) + when + "; say which with 'wheel'."});
    }
  }
}

void reading::judge_names() {
  for (const name_use& use : uses_) judge(use);
  judge_wheels();
}

}  // namespace asx::scenario
