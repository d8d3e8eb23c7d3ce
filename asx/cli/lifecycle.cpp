// asx lifecycle [MACHINE [FROM TO]] - the state machines, and whether one move is legal (exit 1 when it is not).
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/model/lifecycle.hpp"

namespace asx::cli {
namespace {

constexpr std::array<std::string_view, 5> machines{"region", "task", "obligation", "cancel_phase", "channel"};

template <class Visit>
void with_machine(std::string_view machine, Visit visit) {
  if (machine == "region") return visit(region_lifecycle);
  if (machine == "task") return visit(task_lifecycle);
  if (machine == "obligation") return visit(obligation_lifecycle);
  if (machine == "cancel_phase") return visit(cancel_phase_lifecycle);
  if (machine == "channel") return visit(channel_lifecycle);
  throw bad_word(
      fmt::format("'{}' is no state machine.{} There are region, task, obligation, cancel_phase and channel.", machine,
                  suggestion(machine, machines)));
}

template <class Table>
auto find_state(const Table& table, std::string_view word) {
  using state = decltype(table.rows()[0].from);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < table.state_count(); ++i) {
    const state_info& info = table.states()[i];
    if (info.name == word || info.c_name == word) return static_cast<state>(i);
    names.push_back(info.name);
  }
  throw bad_word(fmt::format("'{}' is no state of a {}.{} Its states are {}.", word, table.machine(),
                             suggestion(word, names), fmt::join(names, ", ")));
}

template <class Table>
nlohmann::ordered_json to_json(const Table& table) {
  using state = decltype(table.rows()[0].from);
  nlohmann::ordered_json out{{"machine", table.machine()}};
  for (const state_info& s : table.states()) {
    out["states"].push_back({{"name", s.name}, {"c_name", s.c_name}, {"meaning", s.meaning}});
  }
  for (const auto& row : table.rows()) {
    out["moves"].push_back({{"id", row.id},
                            {"from", table.name(row.from)},
                            {"on", table.name(row.on)},
                            {"to", table.name(row.to)},
                            {"effect", row.effect}});
  }
  out["refused"] = nlohmann::ordered_json::array();
  for (std::size_t from = 0; from < table.state_count(); ++from) {
    for (std::size_t to = 0; to < table.state_count(); ++to) {
      const status refusal = table.check(static_cast<state>(from), static_cast<state>(to));
      if (refusal == status::ok) continue;
      out["refused"].push_back({{"from", table.states()[from].name},
                                {"to", table.states()[to].name},
                                {"status", find_status(static_cast<std::uint32_t>(refusal))->c_name}});
    }
  }
  return out;
}

template <class Table>
void print(const Table& table) {
  fmt::print("{}: {} pairs, {} legal, {} refused\n", table.machine(), table.pair_count(), table.legal_pair_count(),
             table.forbidden_pair_count());
  for (const auto& row : table.rows()) {
    fmt::print("  {:<4} {:<17} --{}--> {:<17} {}\n", row.id, table.name(row.from), table.name(row.on),
               table.name(row.to), row.effect);
  }
}

template <class Table>
void try_move(const Table& table, const std::string& from_word, const std::string& to_word, session& s) {
  const auto from = find_state(table, from_word), to = find_state(table, to_word);
  const status answer = table.check(from, to);
  const status_info& info = *find_status(static_cast<std::uint32_t>(answer));
  const auto* const row = table.find(from, to);
  if (answer != status::ok) s.exit_code = 1;
  if (s.json) {
    nlohmann::ordered_json out{{"machine", table.machine()},
                               {"from", table.name(from)},
                               {"to", table.name(to)},
                               {"legal", row != nullptr},
                               {"status", info.c_name}};
    if (row != nullptr) out["move"] = row->id;
    fmt::print("{}\n", out.dump());
  } else if (row != nullptr) {
    fmt::print("{} {} -> {}: {} on {}, {}\n", table.machine(), table.name(from), table.name(to), row->id,
               table.name(row->on), row->effect);
  } else {
    fmt::print("{} {} -> {}: refused with {}\n  {}\n", table.machine(), table.name(from), table.name(to), info.c_name,
               info.sentence);
  }
}

}  // namespace

void add_lifecycle(CLI::App& app, session& s) {
  struct words {
    std::string machine;
    std::string from;
    std::string to;
  };
  auto* const verb =
      app.add_subcommand("lifecycle", "The state machines; with FROM and TO, whether that move is legal");
  auto w = std::make_shared<words>();
  verb->add_option("machine", w->machine, "region, task, obligation, cancel_phase or channel; all when left out");
  verb->add_option("from", w->from, "The state to leave");
  verb->add_option("to", w->to, "The state to reach");
  verb->callback([w, &s] {
    if (!w->from.empty() && w->to.empty()) {
      throw bad_word("a move needs two states: asx lifecycle task running completed");
    }
    if (!w->from.empty()) {
      return with_machine(w->machine, [&](const auto& table) { try_move(table, w->from, w->to, s); });
    }
    auto all = nlohmann::ordered_json::array();
    for (const std::string_view machine : machines) {
      if (!w->machine.empty() && w->machine != machine) continue;
      with_machine(machine, [&](const auto& table) { s.json ? all.push_back(to_json(table)) : print(table); });
    }
    if (!w->machine.empty()) with_machine(w->machine, [](const auto&) {});  // Tells an unknown name.
    if (s.json) fmt::print("{}\n", all.dump());
  });
}

}  // namespace asx::cli
