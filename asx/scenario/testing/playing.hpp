// asx/scenario/testing/playing.hpp - scenarios as text in a test, and what came out as lines to compare.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/scenario/player.hpp"

namespace asx::scenario::testing {

using lines = std::vector<std::string>;

/// A whole file from its parts; `settings` are those of the runtime, `more` stands beside them.
inline std::string file_of(std::string_view tasks, std::string_view steps, std::string_view settings = {},
                           std::string_view more = {}) {
  std::string out = R"({"scenario_dsl_version": 1, "id": "test", "runtime": {)";
  out += settings;
  out += R"(}, "tasks": {)";
  out += tasks;
  out += R"(}, )";
  out += more;
  out += R"("steps": [)";
  out += steps;
  return out + "]}";
}

/// One behind the other.
inline std::string both(std::string_view first, std::string_view second) {
  std::string out;
  out.append(first).append(second);
  return out;
}

inline std::unique_ptr<scenario> read_or_complain(const std::string& json) {
  std::vector<complaint> wrong;
  std::unique_ptr<scenario> out = read(json, {}, wrong);
  for (const complaint& c : wrong) {
    ADD_FAILURE() << c.at.line << ':' << c.at.column << ' ' << c.field << ": " << c.text << "\n" << json;
  }
  return out;
}

inline lines failures_of(const verdict& v) {
  lines out;
  for (const failure& f : v.failures) out.push_back(f.step + ": " + f.text);
  return out;
}

inline verdict play_json(const std::string& json, const play_options& options = {}) {
  const std::unique_ptr<scenario> s = read_or_complain(json);
  return s == nullptr ? verdict{} : play(*s, options);
}

/// What was wrong, as "step: text".
inline lines failures(std::string_view tasks, std::string_view steps, std::string_view settings = {},
                      std::string_view more = {}) {
  const std::unique_ptr<scenario> s = read_or_complain(file_of(tasks, steps, settings, more));
  return s == nullptr ? lines{"not read"} : failures_of(play(*s, {}));
}

/// One thing that can be right or wrong: `@` in tasks or steps stands for the one or the other.
struct claim {
  std::string_view title;
  std::string_view tasks;
  std::string_view steps;
  std::string_view right;
  std::string_view wrong;
  std::string_view failure;  // What is said of the wrong one, with its step.
  std::string_view settings = {};
};

inline std::string with(std::string_view text, std::string_view value) {
  std::string out;
  for (const char c : text) {
    if (c == '@') {
      out += value;
    } else {
      out += c;
    }
  }
  return out;
}

inline void check(const claim& c) {
  SCOPED_TRACE(c.title);
  EXPECT_EQ(failures(with(c.tasks, c.right), with(c.steps, c.right), c.settings), lines{});
  EXPECT_EQ(failures(with(c.tasks, c.wrong), with(c.steps, c.wrong), c.settings), lines{std::string(c.failure)});
}

}  // namespace asx::scenario::testing
