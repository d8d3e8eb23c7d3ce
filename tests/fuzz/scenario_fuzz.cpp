// Any text is given to the reader of scenarios: no crash, no hang; every complaint stands inside the file and says
// something; what was read without complaint is the same scenario when it is printed and read again.
//
// The first byte chooses: 0 reads the rest as it is; 1 reads it as the driver's steps; otherwise the bytes choose
// operations, fields and values from the table of words, right and wrong ones.
//
// By hand: as journal_bin_fuzz.cpp.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "asx/scenario/scenario.hpp"
#include "asx/scenario/words.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace asx::scenario;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string quote(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || c == '"' || c == '\\') {
      out += std::string("\\u00") + hex[byte >> 4] + hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string print(const node& n) {
  std::string out;
  switch (n.kind) {
    case node_kind::null: return "null";
    case node_kind::boolean: return n.flag ? "true" : "false";
    case node_kind::number: return std::to_string(n.number);
    case node_kind::text: return quote(n.text);
    case node_kind::list:
      for (const node& each : n.items) out += (out.empty() ? "" : ",") + print(each);
      return "[" + out + "]";
    case node_kind::object:
      for (std::size_t i = 0; i < n.items.size(); ++i) {
        out += (i == 0 ? "" : ",\n") + quote(n.keys[i]) + ":" + print(n.items[i]);
      }
      return "{" + out + "}";
  }
  std::abort();
}

std::string shape(const steps& all) {
  std::string out;
  for (const step& s : all) {
    out += std::string(name(s.what)) + (s.says_status ? "!" : "");
    for (const asx::status e : s.expected) out += " " + std::string(asx::name(e));
    for (const auto& [on, branch] : s.on) out += " on " + std::string(asx::name(on)) + "(" + shape(branch) + ")";
    out += "{" + shape(s.inner) + "}" + print(*s.fields) + "\n";
  }
  return out;
}
std::string shape(const scenario& s) {
  std::string out = s.id + "\n" + s.title + "\n" + s.same_as + "\n" + shape(s.driver);
  for (const auto& [key, script] : s.tasks) out += key + ":" + shape(script.body) + "/" + shape(script.when_cancelled);
  for (const std::uint64_t seed : s.seeds) out += std::to_string(seed) + " ";
  for (const contract_change& c : s.limits) out += std::string(c.limit) + "=" + std::to_string(c.value) + " ";
  return out;
}

void require_places(std::string_view text, const std::vector<complaint>& wrong) {
  std::vector<std::size_t> lengths{0};
  for (const char c : text) {
    if (c == '\n') {
      lengths.push_back(0);
    } else {
      ++lengths.back();
    }
  }
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const position at = wrong[i].at;
    require(at.line >= 1 && at.line <= lengths.size());
    require(at.column >= 1 && at.column <= lengths[at.line - 1] + 1);
    require(wrong[i].text.size() > 1 && (wrong[i].text.ends_with('.') || wrong[i].text.ends_with('?')));
    if (i == 0) continue;
    const position before = wrong[i - 1].at;
    require(before.line < at.line || (before.line == at.line && before.column <= at.column));
  }
}

// ---- steps out of the table ----------------------------------------------------------------------------------------

std::string some_value(fuzz_input& in, const field_info& field) {
  static constexpr std::string_view values[] = {"0",
                                                "1",
                                                "256",
                                                "\"max\"",
                                                "\"5ms\"",
                                                "\"none\"",
                                                "true",
                                                "false",
                                                "null",
                                                "[]",
                                                "{}",
                                                "\"ok\"",
                                                "\"full\"",
                                                "\"user\"",
                                                "\"root\"",
                                                "\"a\"",
                                                "\"a1\"",
                                                "\"$a\"",
                                                "\"t\"",
                                                "[\"a\"]",
                                                "[1]",
                                                "[\"ok\"]",
                                                "\"infinite\"",
                                                "{\"ok\": 1}",
                                                "{\"cancelled\": {\"kind\": \"user\"}}",
                                                "{\"kind\": \"user\"}",
                                                "[\"region_closed root\"]",
                                                "{\"task_spawned\": 1}",
                                                "[{\"do\": \"yield\"}]",
                                                "[{\"do\": \"hold\"}]",
                                                "\"open\"",
                                                "{\"polls\": 3}"};
  if (!field.words.empty() && in.byte() % 4 != 0) return quote(field.words[in.byte() % field.words.size()]);
  return std::string(values[in.byte() % std::size(values)]);
}

std::string some_steps(fuzz_input& in) {
  std::string out;
  for (int i = 0; i < 12 && !in.empty(); ++i) {
    const op_info& row = all_ops()[in.byte() % op_count];
    std::string made = "{\"do\": " + quote(row.word);
    const auto add = [&](const field_info& field) {
      const std::uint8_t choice = in.byte();
      if (choice % 3 == 0 && !(field.is_required && choice % 8 != 0)) return;
      made += ", " + quote(field.name) + ": " + (field.name == "do" ? "1" : some_value(in, field));
    };
    for (const field_info& field : row.fields) add(field);
    if (row.what == op::expect) {
      const expectation_info& thing = all_expectations()[in.byte() % all_expectations().size()];
      made += ", " + quote(thing.subject.name) + ": " + some_value(in, thing.subject);
      for (const field_info& field : thing.fields) add(field);
    }
    if (in.byte() % 4 == 0) made += ", \"status\": [\"full\", \"ok\"]";
    out += (out.empty() ? "" : ",\n ") + made + "}";
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string text = rest;
  const std::string head = "{\"scenario_dsl_version\": 1, \"id\": \"x\",\n";
  if (data[0] == 1) text = head + "\"tasks\": {\"t\": []}, \"steps\": [" + rest + "]}";
  if (data[0] > 1) {
    fuzz_input in(data + 1, size - 1);
    const std::string own = some_steps(in);
    text = head + "\"tasks\": {\"t\": [" + own + "]}, \"steps\": [" + (data[0] % 2 == 0 ? own : some_steps(in)) + "]}";
  }
  std::vector<complaint> wrong;
  const auto first = read(text, data[0] == 3 ? "x.json" : "", wrong);
  require((first == nullptr) == !wrong.empty());
  require_places(text, wrong);
  if (first == nullptr) return 0;
  std::vector<complaint> again;
  const auto second = read(print(first->tree), "", again);
  require(second != nullptr && again.empty());
  require(shape(*first) == shape(*second));
  return 0;
}
