// asx/scenario/scenario.hpp - a scenario that has been read and found to make sense: what a player plays.
//
//     file --parse--> node --read--> scenario --play--> verdict          docs/scenarios.md is the language
//                              +---> complaints, each with line and column, field and the nearest valid word
//
// 1  Everything that can be known without playing is checked: words, fields, types, ranges, names that nobody makes,
//    operations where they cannot stand. A scenario that was read can be played.
// 2  Reading finds as many complaints as there are, not the first only, in the order of the file.
//
// Cancel points: none. Threads: plain values. Lifetime: steps point into `tree`, which must not move: pass it by
// reference or by unique_ptr.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "asx/runtime/runtime.hpp"
#include "asx/scenario/node.hpp"

namespace asx::scenario {

inline constexpr std::uint64_t dsl_version = 1;

/// The words of `do`; words.hpp has a row for each.
enum class op : std::uint16_t;

struct step;
using steps = std::vector<step>;

/// One operation. Its fields are looked up in `fields`, where the reader has made sure of their types.
struct step {
  op what{};
  const node* fields = nullptr;
  std::vector<status> expected{};              // What `status` says; ok when it says nothing.
  bool says_status = false;                    // Whether it says something.
  std::vector<std::pair<status, steps>> on{};  // Branches.
  steps inner{};                               // Of repeat, push_cleanup, add_finalizer.
};

struct script {
  steps body{};
  steps when_cancelled{};
};

enum class profile : std::uint8_t { tiny, core, server };
[[nodiscard]] constexpr std::string_view name(profile p) noexcept {
  constexpr std::string_view names[] = {"tiny", "core", "server"};
  return names[static_cast<std::size_t>(p)];
}

/// A limit of the contract that the file sets, whatever the profile says.
struct contract_change {
  std::string_view limit;  // The name of the field.
  std::uint64_t value;
};

struct scenario {
  node tree{};
  std::string id{}, title{}, domain{}, same_as{};
  std::string digest{};  // What every play comes to; empty: not said.
  std::vector<std::string> pins{};
  bool must_fail = false;
  bool shuts_down = true;
  std::vector<profile> profiles{profile::tiny, profile::core, profile::server};
  std::vector<std::uint64_t> seeds{0};
  runtime_config settings{};  // All but contract, seed, sink and memory.
  std::vector<contract_change> limits{};
  std::map<std::string, script, std::less<>> tasks{};
  steps driver{};

  scenario() = default;
  scenario(const scenario&) = delete;
  scenario& operator=(const scenario&) = delete;

  /// The contract of a profile with this scenario's changes.
  [[nodiscard]] resource_contract contract_for(profile p) const noexcept;
};

/// Null when there are complaints. `file_name`: for fixtures, whose id must match it; empty when there is none.
[[nodiscard]] std::unique_ptr<scenario> read(std::string_view json, std::string_view file_name,
                                             std::vector<complaint>& wrong);

}  // namespace asx::scenario
