// scenario_schema - prints the JSON Schema of scenarios from the table of words, and holds docs/scenarios.md to it.
//
//     scenario_schema --out SCHEMA PAGE      writes the schema
//     scenario_schema --check SCHEMA PAGE    exits 1 when the schema is stale, or the page and the table disagree
//
// The schema is for editors: it knows words, fields, types and where an operation may stand. What it cannot say - names
// that nobody makes, a refusal that is wanted - the reader does. Examples in the page must be read without complaint.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/journal/event_table.hpp"
#include "asx/scenario/scenario.hpp"
#include "asx/scenario/words.hpp"

namespace {

using namespace asx::scenario;
using json = nlohmann::ordered_json;

// ---- the schema ----------------------------------------------------------------------------------------------------

json defined(std::string_view name) {
  return {{"$ref", "#/$defs/" + std::string(name)}};
}
json list_of(json item) {
  return {{"type", "array"}, {"items", std::move(item)}};
}
json one_of_words(std::span<const std::string_view> words) {
  json out = json::array();
  for (const std::string_view w : words) out.push_back(w);
  return {{"enum", out}};
}
json closed_object(json properties, json required = json::array()) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

json schema_of(const field_info& field);

json properties_of(std::span<const field_info> fields) {
  json out = json::object();
  for (const field_info& f : fields) out[std::string(f.name)] = schema_of(f);
  return out;
}
json required_of(std::span<const field_info> fields) {
  json out = json::array();
  for (const field_info& f : fields) {
    if (f.is_required) out.push_back(f.name);
  }
  return out;
}

json number_schema(const field_info& field) {
  if (field.least == 0 && field.most == UINT64_MAX) return defined("number");
  if (field.most == UINT64_MAX)
    return {{"anyOf", {{{"type", "integer"}, {"minimum", field.least}}, {{"const", "max"}}}}};
  return {{"type", "integer"}, {"minimum", field.least}, {"maximum", field.most}};
}

json counts_schema(std::span<const std::string_view> words) {
  json properties = json::object();
  for (const std::string_view w : words) properties[std::string(w)] = defined("number");
  json out = closed_object(std::move(properties));
  out["minProperties"] = 1;
  return out;
}

json limits_schema() {
  json properties = json::object();
  for (const limit_info& l : all_limits()) {
    properties[std::string(l.name)] = {
        {"anyOf", {{{"type", "integer"}, {"minimum", l.least}, {"maximum", l.most}}, {{"const", "max"}}}}};
  }
  return closed_object(std::move(properties));
}

json bare_schema_of(const field_info& field) {
  switch (field.type) {
    case takes::number: return number_schema(field);
    case takes::number_or_null: return {{"anyOf", {defined("number"), {{"type", "null"}}}}};
    case takes::polls_or_quota:
      return {{"anyOf", {{{"type", "integer"}, {"minimum", 0}, {"maximum", UINT32_MAX - 1}}, {{"const", "quota"}}}}};
    case takes::flag: return {{"type", "boolean"}};
    case takes::only_true: return {{"const", true}};
    case takes::text: return {{"type", "string"}};
    case takes::duration: return defined("duration");
    case takes::moment: return defined("moment");
    case takes::budget: return defined("budget");
    case takes::reason: return defined("reason");
    case takes::wanted_reason: return defined("wanted_reason");
    case takes::wanted_cause: return {{"anyOf", {defined("wanted_reason"), {{"type", "null"}}}}};
    case takes::outcome: return defined("outcome");
    case takes::wanted_outcome: return defined("wanted_outcome");
    case takes::cancel_kind: return defined("cancel_kind");
    case takes::status:
    case takes::error: return defined("status");
    case takes::status_or_statuses: return {{"anyOf", {defined("status"), list_of(defined("status"))}}};
    case takes::word: return one_of_words(field.words);
    case takes::state: return {{"type", "string"}};
    case takes::name:
    case takes::new_name: return defined("name");
    case takes::name_or_true: return {{"anyOf", {defined("name"), {{"const", true}}}}};
    case takes::name_or_null: return {{"anyOf", {defined("name"), {{"type", "null"}}}}};
    case takes::script:
    case takes::id: return defined("id");
    case takes::same_steps: return list_of(defined("step_of_task"));  // Of repeat; the file's own are set there.
    case takes::synchronous_steps: return list_of(defined("step_synchronous"));
    case takes::outcomes: return list_of(defined("outcome"));
    case takes::budgets: return list_of(defined("budget"));
    case takes::reasons: return list_of(defined("reason"));
    case takes::statuses: return list_of(defined("status"));
    case takes::numbers: return list_of(defined("number"));
    case takes::texts: return list_of({{"type", "string"}});
    case takes::names: return list_of(defined("name"));
    case takes::words: return list_of(one_of_words(field.words));
    case takes::witness: return defined("witness");
    case takes::wanted_witness: return {{"anyOf", {defined("wanted_witness"), {{"type", "null"}}}}};
    case takes::counts: return counts_schema(field.words);
    case takes::events: return list_of(defined("event"));
    case takes::event_kinds: return list_of(defined("event_kind"));
    case takes::event_counts:
      return {{"type", "object"},
              {"minProperties", 1},
              {"propertyNames", defined("event_kind")},
              {"additionalProperties", defined("number")}};
    case takes::version: return {{"const", dsl_version}};
    case takes::settings: return defined("runtime");
    case takes::limits: return limits_schema();
    case takes::scripts:
      return {{"type", "object"}, {"propertyNames", defined("id")}, {"additionalProperties", defined("script")}};
    case takes::operation: return {{"type", "string"}};
    case takes::branches: return {{"type", "object"}, {"propertyNames", defined("status")}};
  }
  return true;
}

json schema_of(const field_info& field) {
  json out = bare_schema_of(field);
  if (out.is_object() && !field.says.empty()) out["description"] = field.says;
  return out;
}

json step_of(std::uint8_t place, std::string_view own) {
  json words = json::array();
  for (const op_info& row : all_ops()) {
    if ((row.stands & place) != 0) words.push_back(row.word);
  }
  const json branch = {{"type", "object"}, {"additionalProperties", list_of(defined(own))}};
  return {{"type", "object"},
          {"required", {"do"}},
          {"properties", {{"do", {{"enum", words}}}, {"on", branch}}},
          {"allOf", {defined("step")}}};
}

json expectation_schema() {
  json any = json::array();
  for (const expectation_info& row : all_expectations()) {
    std::vector<field_info> fields{row.subject};
    fields.insert(fields.end(), row.fields.begin(), row.fields.end());
    json properties = properties_of(fields);
    for (const field_info& f : fields_of_every_step()) {
      if (f.name != "status" && f.name != "on") properties[std::string(f.name)] = schema_of(f);
    }
    any.push_back(closed_object(std::move(properties), {"do", row.subject.name}));
  }
  return {{"oneOf", any}};
}

json step_schema() {
  json rows = json::array();
  for (const op_info& row : all_ops()) {
    json rule = defined("do_" + std::string(row.word));
    rows.push_back({{"if", {{"properties", {{"do", {{"const", row.word}}}}}}}, {"then", rule}});
  }
  return {{"allOf", rows}};
}

json op_schema(const op_info& row) {
  if (row.what == op::expect) return expectation_schema();
  json properties = properties_of(fields_of_every_step());
  if (!row.gives_an_answer()) {
    for (const std::string_view n : {"status", "unchanged", "on"}) properties.erase(std::string(n));
  }
  for (const field_info& f : row.fields) properties[std::string(f.name)] = schema_of(f);
  json required = required_of(fields_of_every_step());
  for (const json& r : required_of(row.fields)) required.push_back(r);
  json out = closed_object(std::move(properties), std::move(required));
  if (!row.one_of.empty()) {
    out["oneOf"] = json::array();
    for (const std::string_view field : row.one_of) out["oneOf"].push_back({{"required", {field}}});
  }
  out["description"] = row.says;
  return out;
}

json reason_schema(bool is_wanted) {
  json parts = {{"kind", defined("cancel_kind")}, {"at", defined("moment")}, {"message", {{"type", "string"}}}};
  if (!is_wanted) return closed_object(std::move(parts), {"kind"});
  for (const std::string_view n : {"severity", "levels", "truncated_at"}) parts[std::string(n)] = defined("number");
  for (const std::string_view n : {"origin_region", "origin_task"}) {
    parts[std::string(n)] = {{"anyOf", {defined("name"), {{"type", "null"}}}}};
  }
  parts["truncated"] = {{"type", "boolean"}};
  parts["cause"] = {{"anyOf", {defined("wanted_reason"), {{"type", "null"}}}}};
  return closed_object(std::move(parts));
}

json outcome_schema(bool is_wanted) {
  const json words = is_wanted ? json{"ok", "err", "cancelled", "panicked"} : json::array({"ok"});
  const json ok = {{"ok", {{"anyOf", {defined("number"), {{"type", "null"}}}}}}};
  const json err = {{"err", defined("status")}, {"detail", defined("number")}};
  const json cancelled = {{"cancelled", defined(is_wanted ? "wanted_reason" : "reason")},
                          {"overran", {{"type", "boolean"}}},
                          {"cleanup_error", defined("status")}};
  return {{"anyOf",
           {{{"enum", words}},
            closed_object(ok, json::array({"ok"})),
            closed_object(err, json::array({"err"})),
            closed_object(cancelled, json::array({"cancelled"})),
            closed_object({{"panicked", {{"type", "string"}}}}, json::array({"panicked"}))}}};
}

json witness_schema(const json& who) {
  return closed_object({{"task", who},
                        {"region", who},
                        {"epoch", defined("number")},
                        {"phase", one_of_words(state_words("cancel_phase"))},
                        {"kind", defined("cancel_kind")}});
}

json definitions() {
  json d = json::object();
  d["number"] = {{"anyOf", {{{"type", "integer"}, {"minimum", 0}, {"maximum", UINT64_MAX}}, {{"const", "max"}}}}};
  const std::string sum = R"([0-9]+(ns|us|ms|s|m|h|d)?(\+[0-9]+(ns|us|ms|s|m|h|d)?)*)";
  const auto time = [&](const std::string& word) {
    return json{{"anyOf", {defined("number"), {{"type", "string"}, {"pattern", "^(" + sum + word + ")$"}}}}};
  };
  d["duration"] = time("");
  d["moment"] = time("|none");
  d["name"] = {{"type", "string"}, {"pattern", "^\\$?[A-Za-z0-9_.-]+$"}};
  d["id"] = {{"type", "string"}, {"pattern", "^[A-Za-z0-9_.-]+$"}};
  json statuses = json::array(), kinds = json::array(), events = json::array();
  for (const asx::status_info& s : asx::status_table) {
    const std::string_view c = s.c_name;
    for (const std::string_view spelling : {s.name, c.substr(s.code == asx::status::ok ? 4 : 6), c})
      statuses.push_back(spelling);
  }
  for (const asx::cancel_kind_info& k : asx::cancel_kind_table) kinds.push_back(k.name);
  for (const asx::event_info& e : asx::event_table) events.push_back(e.name);
  d["status"] = {{"enum", statuses}};
  d["cancel_kind"] = {{"enum", kinds}};
  d["event_kind"] = {{"enum", events}};
  const json event_object = closed_object({{"kind", defined("event_kind")},
                                           {"of", defined("name")},
                                           {"with", defined("name")},
                                           {"a", defined("number")},
                                           {"b", defined("number")}},
                                          json::array({"kind"}));
  d["event"] = {{"anyOf", {{{"type", "string"}, {"pattern", "^[a-z_]+( \\$?[A-Za-z0-9_.-]+)?$"}}, event_object}}};
  const json parts = closed_object({{"deadline", defined("moment")},
                                    {"polls", defined("number")},
                                    {"cost", defined("number")},
                                    {"priority", {{"type", "integer"}, {"minimum", 0}, {"maximum", 255}}}});
  d["budget"] = {{"anyOf", {{{"enum", {"infinite", "zero"}}}, parts}}};
  d["reason"] = reason_schema(false);
  d["wanted_reason"] = reason_schema(true);
  d["outcome"] = outcome_schema(false);
  d["wanted_outcome"] = outcome_schema(true);
  d["witness"] = witness_schema(defined("number"));
  d["wanted_witness"] = witness_schema(defined("name"));
  d["runtime"] = closed_object(properties_of(runtime_settings()));
  const json body = list_of(defined("step_of_task"));
  d["script"] = {{"anyOf", {body, closed_object({{"steps", body}, {"when_cancelled", body}}, json::array({"steps"}))}}};
  d["step_of_driver"] = step_of(place_of::driver, "step_of_driver");
  d["step_of_task"] = step_of(place_of::task, "step_of_task");
  d["step_synchronous"] = step_of(place_of::synchronous, "step_synchronous");
  d["step"] = step_schema();
  for (const op_info& row : all_ops()) d["do_" + std::string(row.word)] = op_schema(row);
  return d;
}

// One line for each member of the two outer objects, so that a change shows where it is.
std::string schema() {
  json top = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$comment", "Printed from asx/scenario/word_table.cpp by tools/scenario_schema.cpp: run ./x docs."},
              {"title", "A scenario of asx"},
              {"type", "object"}};
  json properties = properties_of(fields_of_file());
  properties["steps"] = list_of(defined("step_of_driver"));
  top["properties"] = properties;
  top["required"] = required_of(fields_of_file());
  top["additionalProperties"] = false;
  json excluded = json::array();
  for (const std::string_view key : {"must_fail", "runtime", "tasks", "steps", "shutdown"}) {
    excluded.push_back({{"required", {key}}});
  }
  top["if"] = {{"required", {"same_as"}}};
  top["then"] = {{"not", {{"anyOf", excluded}}}};
  top["else"] = {{"required", {"steps"}}};

  std::string out = "{\n";
  for (const auto& [key, value] : top.items()) out += "  " + json(key).dump() + ": " + value.dump() + ",\n";
  out += "  \"$defs\": {\n";
  std::string between;
  const json all = definitions();
  for (const auto& [key, value] : all.items()) {
    out += between + "    " + json(key).dump() + ": " + value.dump();
    between = ",\n";
  }
  return out + "\n  }\n}\n";
}

// ---- the page ------------------------------------------------------------------------------------------------------

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  std::string cell;
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '`') is_quoted = !is_quoted;
    if (c == '|' && !is_quoted) {
      cells.push_back(cell);
      cell.clear();
    } else {
      cell += c;
    }
  }
  if (!cells.empty()) cells.erase(cells.begin());  // What stands before the first line.
  return cells;
}

bool is_word(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

/// The words inside backticks; with `whole`, only spans that are one word.
std::set<std::string> words_in(std::string_view text, bool whole) {
  std::set<std::string> out;
  for (std::size_t from = text.find('`'); from != std::string_view::npos;) {
    const std::size_t end = text.find('`', from + 1);
    if (end == std::string_view::npos) break;
    const std::string_view span = text.substr(from + 1, end - from - 1);
    if (is_word(span)) out.emplace(span);
    std::string word;
    for (const char c : whole ? std::string() : std::string(span) + " ") {
      if ((c >= 'a' && c <= 'z') || c == '_') {
        word += c;
      } else {
        if (!word.empty()) out.insert(word);
        word.clear();
      }
    }
    from = text.find('`', end + 1);
  }
  return out;
}

class page_check {
 public:
  page_check(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  bool agrees() {
    read_rows();
    for (const op_info& row : all_ops()) check_op(row);
    for (const expectation_info& row : all_expectations()) {
      check_fields("thing of expect", std::string(row.subject.name), row.fields, things_);
    }
    const std::set<std::string> all = words_in(text_, false);
    for (const auto& fields : {fields_of_file(), fields_of_every_step(), runtime_settings()}) {
      for (const field_info& f : fields) {
        if (!all.contains(std::string(f.name)))
          say("'" + std::string(f.name) + "' is nowhere on the page; describe it");
      }
    }
    check_examples();
    return is_right_;
  }

 private:
  void say(const std::string& what) {
    std::printf("%s: %s\n", path_.c_str(), what.c_str());
    is_right_ = false;
  }

  // Rows of tables that begin with `do` or `thing`: the words of the first cell, and the rest of the line.
  void read_rows() {
    enum { none, ops, things } table = none;
    std::size_t from = 0;
    while (from < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', from), text_.size());
      const std::string line = text_.substr(from, end - from);
      from = end + 1;
      if (!line.starts_with('|')) table = none;
      if (line.starts_with("| do |")) table = ops;
      if (line.starts_with("| thing |")) table = things;
      const std::vector<std::string> cells = cells_of(line);
      if (table == none || cells.size() < 2) continue;
      for (const std::string& word : words_in(cells[0], true)) {
        (table == ops ? ops_ : things_)[word] += cells[1];
        if (table == ops && find_op(word) == nullptr)
          say("`" + word + "` is no operation of asx/scenario/word_table.cpp");
        if (table == ops) check_cell(cells);
      }
    }
  }

  // Words of a row's second cell are fields of its operations, or words that a field takes.
  void check_cell(const std::vector<std::string>& cells) {
    std::set<std::string> known;
    for (const std::string& word : words_in(cells[0], true)) {
      const op_info* const row = find_op(word);
      if (row == nullptr) return;
      for (const field_info& f : row->fields) {
        known.emplace(f.name);
        for (const std::string_view w : f.words) known.emplace(w);
      }
    }
    for (const std::string& word : words_in(cells[1], true)) {
      if (!known.contains(word)) say("`" + word + "` is no field of" + cells[0] + "in asx/scenario/word_table.cpp");
    }
  }

  void check_op(const op_info& row) {
    const std::string word(row.word);
    if (row.what == op::expect || row.what == op::stop_waiting) {  // Described in sentences.
      if (text_.find("\"do\": \"" + word + "\"") == std::string::npos)
        say("the operation '" + word + "' is nowhere; describe it");
      return;
    }
    check_fields("operation", word, row.fields, ops_);
  }

  void check_fields(const std::string& what, const std::string& word, std::span<const field_info> fields,
                    const std::map<std::string, std::string>& rows) {
    const auto found = rows.find(word);
    if (found == rows.end()) {
      say("the " + what + " '" + word + "' has no row; describe it");
      return;
    }
    const std::set<std::string> there = words_in(found->second, false);
    for (const field_info& f : fields) {
      if (f.name == "poll_once" || f.name == "wheel") continue;  // Described once for all that take them.
      if (!there.contains(std::string(f.name)))
        say("the row of '" + word + "' lacks its field '" + std::string(f.name) + "'");
    }
  }

  void check_examples() {
    constexpr std::string_view fence = "```json\n";
    for (std::size_t at = text_.find(fence); at != std::string::npos; at = text_.find(fence, at + 1)) {
      const std::size_t from = at + fence.size(), end = text_.find("\n```", from);
      std::vector<complaint> wrong;
      (void)read(std::string_view(text_).substr(from, end - from), "", wrong);
      const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(from), '\n');
      for (const complaint& c : wrong) {
        say("line " + std::to_string(line + c.at.line) + ", " + c.field + ": " + c.text);
      }
    }
  }

  std::string path_, text_;
  std::map<std::string, std::string> ops_{}, things_{};
  bool is_right_ = true;
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 3 || (arguments[0] != "--out" && arguments[0] != "--check")) {
    std::fputs("usage: scenario_schema --out|--check SCHEMA PAGE\n", stderr);
    return 2;
  }
  const std::string text = schema();
  bool is_right = page_check(arguments[2], contents(arguments[2])).agrees();
  if (arguments[0] == "--check") {
    if (contents(arguments[1]) != text) {
      std::printf("%s: stale: it differs from asx/scenario/word_table.cpp; run ./x docs and commit the schema\n",
                  arguments[1].c_str());
      is_right = false;
    }
    return is_right ? 0 : 1;
  }
  std::ofstream file(arguments[1], std::ios::binary);
  file << text;
  if (!file.flush()) {
    std::fprintf(stderr, "scenario_schema: cannot write %s; does the folder exist?\n", arguments[1].c_str());
    return 1;
  }
  return is_right ? 0 : 1;
}
