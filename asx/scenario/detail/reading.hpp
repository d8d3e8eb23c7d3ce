// asx/scenario/detail/reading.hpp - one reading of one file: the complaints so far, and the names that were seen.
//
//     read_values.cpp    a value of a type: 5ms, {"kind": "user"}, ["a", "b"]
//     read_steps.cpp     a step by its row: words, fields, where it may stand, branches
//     read_names.cpp     who makes which name, and who uses it: judged when the whole file has been seen
//     reader.cpp         the file: identity, settings, scripts, the driver's steps
//
// Cancel points: none. Threads: one. Lifetime: for as long as the tree that is read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "asx/scenario/scenario.hpp"
#include "asx/scenario/words.hpp"

namespace asx::scenario {

/// Lengthens the path of complaints for as long as it lives.
class path_scope {
 public:
  path_scope(std::string& path, std::string_view key) : path_(path), before_(path.size()) {
    if (!path.empty()) path += '.';
    path += key;
  }
  path_scope(std::string& path, std::size_t index) : path_(path), before_(path.size()) {
    path += '[' + std::to_string(index) + ']';
  }
  ~path_scope() { path_.resize(before_); }
  path_scope(const path_scope&) = delete;
  path_scope& operator=(const path_scope&) = delete;

 private:
  std::string& path_;
  std::size_t before_;
};

/// Whose steps are being read.
struct surroundings {
  std::uint8_t place = place_of::driver;
  std::string_view script{};  // The task's; empty for the driver. Names with a $ belong to it.
};

class reading {
 public:
  reading(const node& tree, std::vector<complaint>& wrong) : tree_(tree), wrong_(wrong) {}

  /// Everything, into `out`; what could not be read is left as it was.
  void file(scenario& out, std::string_view file_name);

 private:
  struct name_use {
    std::string name;
    std::uint32_t things;
    std::string field;
    std::string_view script;
    position at;
    std::string path;
  };
  struct maker {
    std::uint32_t things = 0;          // What steps make under this name.
    std::uint32_t counted_things = 0;  // What steps make under this name and a number,
    std::uint64_t count = 0;           // from 1 to this.
  };

  void say(position at, std::string text) { wrong_.push_back({at, path_, std::move(text)}); }

  // ---- reader.cpp
  void identity(scenario& out, std::string_view file_name);
  void digest(const node& v, scenario& out);
  void settings(const node& object, scenario& out);
  void contract(const node& object, scenario& out);
  void scripts(const node& object, scenario& out);

  // ---- read_values.cpp: false after a complaint
  bool value(const field_info& field, const node& v, const surroundings& around, const node& step);
  bool simple_value(const field_info& field, const node& v, const node& step);
  bool list_value(const field_info& field, const node& v, const surroundings& around, const node& step);
  bool wants(const field_info& field, const node& v, node_kind kind);
  bool wrong_type(const field_info& field, const node& v);
  bool number(const field_info& field, const node& v);
  bool time(const field_info& field, const node& v);
  bool one_of(const node& v, std::span<const std::string_view> words, std::string_view verdict);
  bool a_status(const node& v, std::string_view word);
  bool an_outcome(const field_info& field, const node& v, const surroundings& around);
  bool an_event(const node& v, const surroundings& around);
  bool an_event_kind(position at, std::string_view word);
  /// `part`: "of" or "with".
  bool name_in_event(position at, std::string_view name, std::string_view kind, std::string_view part,
                     const surroundings& around);
  bool says_something(const field_info& field, const node& v);
  /// Complains about keys that no row names and about rows that are needed and missing; checks the others.
  bool fields(const node& object, std::string_view of, std::span<const field_info> rows,
              std::span<const field_info> more, const surroundings& around);

  // ---- read_steps.cpp
  void steps_of(const node& list, const surroundings& around, steps& out);
  void one_step(const node& v, const surroundings& around, step& out);
  bool may_stand(const op_info& row, const node& word, const surroundings& around);
  void expectation(const node& v, const surroundings& around);
  void statuses(const node& v, step& out);
  void branches(const node& v, const op_info& row, const surroundings& around, step& out);
  void exactly_one(const node& v, const op_info& row);
  void own_rules(const node& v, const op_info& row, const surroundings& around, const step& out);
  void no_answer(const node& v, std::string_view word);
  void parts_of_ok(const node& v, const op_info& row, const step& out);
  void says_nothing(const node& v);

  // ---- read_names.cpp
  bool make_name(const node& v, const field_info& field, const surroundings& around, const node& step);
  bool use_name(position at, std::string_view name, std::uint32_t things, std::string_view field,
                const surroundings& around);
  bool a_script(const node& v);
  [[nodiscard]] std::uint32_t what_is(std::string_view key) const;
  void judge_names();
  void judge(const name_use& use);
  void leave_wheel_out(position at, const surroundings& around);
  void judge_wheels();

  const node& tree_;
  std::vector<complaint>& wrong_;
  std::string path_{};
  std::map<std::string, maker, std::less<>> made_{};  // A name with a $ is kept behind the name of its script.
  std::vector<name_use> uses_{};
  std::set<std::string, std::less<>> wheels_{};  // Names of the wheels so far; of one without, a number.
  struct wheel_left_out {
    std::size_t wheels;  // How many there were by then.
    bool is_scripted;    // It may run whenever: all of the file are there by then.
    position at;
    std::string path;
  };
  std::vector<wheel_left_out> wheels_left_out_{};  // By steps of a wheel that do not say which.
  bool refuses_unchanged_ = false;                 // Some step expects a refusal that changes nothing.
};

/// "a region", "a task or a region".
[[nodiscard]] std::string phrase_of_things(std::uint32_t things);
/// "'x'", cut where it is long.
[[nodiscard]] std::string quoted(std::string_view word);

}  // namespace asx::scenario
