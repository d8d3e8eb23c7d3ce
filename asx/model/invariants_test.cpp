// asx/model/invariants_test.cpp - the tables of asx/model/lifecycle.hpp against conformance/invariants, both ways.
//
// The rows were written from the specification before the tables were looked at, one for every pair of states. Here
// each of them must answer as its table does, and no row of a table may be missing there. Counts: R-01 (region),
// R-16 (task), R-29 (obligation), R-36 (cancel phase), R-57 (channel).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/model/lifecycle.hpp"

namespace {

using json = nlohmann::json;

std::filesystem::path invariants_folder() {
  return asx::testing::project_folder() / "conformance/invariants";
}

// CancelRequested is cancel_requested here: the data keeps the specification's spelling.
std::string cpp_name(std::string_view spelled) {
  std::string out;
  for (const char c : spelled) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isupper(u) != 0 && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(u));
  }
  return out;
}

// A trigger that is a call, "begin_close(reason)", is named after its function. Empty for one that is an event.
std::string function_name(std::string_view trigger) {
  const auto open = trigger.find('(');
  if (open == std::string_view::npos || trigger.back() != ')') return {};
  const std::string_view name = trigger.substr(0, open);
  const bool is_word = std::all_of(name.begin(), name.end(), [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
  return is_word ? std::string(name) : std::string();
}

struct counts {
  std::size_t pairs;
  std::size_t legal_rows;  // Rows, of which several may name one pair, and one may have no state before it.
  std::size_t legal_pairs;
  std::size_t refused_pairs;
  std::string_view ruling;
};

template <class Table>
class machine {
 public:
  using state = decltype(Table::row::from);

  machine(const Table& table, std::string_view domain) : table_(table), domain_(domain) {
    const std::filesystem::path path = invariants_folder() / (std::string(domain) + ".json");
    std::ifstream in(path);
    EXPECT_TRUE(in) << "no " << path << "; run in the repository, or set ASX_ROOT";
    data_ = json::parse(in, nullptr, false);
  }

  void expect_equal(const counts& want) {
    ASSERT_FALSE(data_.is_discarded()) << domain_ << ".json is no JSON";
    expect_states();
    ASSERT_FALSE(::testing::Test::HasFailure());
    expect_rows_well_formed();
    ASSERT_FALSE(::testing::Test::HasFailure());
    expect_pairs();
    expect_no_table_row_is_missing();
    expect_counts(want);
  }

 private:
  static state at(std::size_t ordinal) { return static_cast<state>(ordinal); }

  // The ordinal that a state of the data has in the table; state_count() for none.
  std::size_t ordinal(std::string_view spelled) const {
    std::size_t i = 0;
    while (i < Table::state_count() && table_.name(at(i)) != cpp_name(spelled)) ++i;
    return i;
  }

  // the order of the states is their numbering. Terminal there is terminal here, and the reverse.
  void expect_states() const {
    ASSERT_EQ(data_.at("states").size(), Table::state_count());
    std::set<std::string> terminal;
    for (const auto& s : data_.at("terminal_states")) terminal.insert(s.get<std::string>());
    for (std::size_t i = 0; i < Table::state_count(); ++i) {
      const auto spelled = data_["states"][i].get<std::string>();
      EXPECT_EQ(ordinal(spelled), i) << spelled;
      EXPECT_EQ(table_.is_terminal(at(i)), terminal.contains(spelled)) << spelled;
    }
    EXPECT_EQ(ordinal(data_.at("initial_state").get<std::string>()), 0U);
  }

  void expect_rows_well_formed() const {
    const std::set<std::string> fields = {"id",       "domain",   "from_state",    "to_state",       "trigger",
                                          "legal",    "category", "preconditions", "postconditions", "error_code",
                                          "refusals", "rulings",  "invariant_ids", "forbidden_ids",  "fixture_ids"};
    std::set<std::string> ids;
    for (const json& row : data_.at("rows")) {
      SCOPED_TRACE(row.value("id", "a row without id"));
      std::set<std::string> has;
      for (const auto& [name, value] : row.items()) has.insert(name);
      ASSERT_EQ(has, fields);
      EXPECT_TRUE(ids.insert(row["id"].get<std::string>()).second) << "the id is there twice";
      EXPECT_EQ(row["domain"].get<std::string>(), domain_);
      EXPECT_LT(ordinal(row["to_state"].get<std::string>()), Table::state_count());
      if (!row["from_state"].is_null()) {
        EXPECT_LT(ordinal(row["from_state"].get<std::string>()), Table::state_count());
      }
      EXPECT_FALSE(row["preconditions"].empty());
      EXPECT_FALSE(row["postconditions"].empty());
      EXPECT_FALSE(row["rulings"].empty());
      if (row["legal"].get<bool>()) {
        EXPECT_TRUE(row["error_code"].is_null());
      }
      for (const json& refusal : row["refusals"]) {
        EXPECT_NE(asx::find_status(refusal.at("error_code").get<std::string>()), nullptr) << refusal;
      }
    }
  }

  std::vector<const json*> rows_of(std::size_t from, std::size_t to) const {
    std::vector<const json*> out;
    for (const json& row : data_["rows"]) {
      if (row["from_state"].is_null()) continue;
      if (ordinal(row["from_state"].get<std::string>()) == from && ordinal(row["to_state"].get<std::string>()) == to) {
        out.push_back(&row);
      }
    }
    return out;
  }

  // Every pair is in the data, once when it is refused, and answers there as in the table.
  void expect_pairs() const {
    for (std::size_t from = 0; from < Table::state_count(); ++from) {
      for (std::size_t to = 0; to < Table::state_count(); ++to) {
        SCOPED_TRACE(std::string(table_.name(at(from))) + " to " + std::string(table_.name(at(to))));
        const auto rows = rows_of(from, to);
        ASSERT_FALSE(rows.empty()) << "the data is silent";
        for (const json* row : rows) expect_row(*row, from, to);
        if (rows.size() > 1) {
          for (const json* row : rows)
            EXPECT_TRUE((*row)["legal"].get<bool>()) << "refused more than once, or legal and refused";
        }
      }
    }
  }

  void expect_row(const json& row, std::size_t from, std::size_t to) const {
    const bool legal = row["legal"].get<bool>();
    ASSERT_EQ(table_.legal(at(from), at(to)), legal) << row["id"];
    if (!legal) {
      // Without a code the state is derived from facts, and a refused pair is one that cannot come about.
      if (row["error_code"].is_null()) {
        EXPECT_EQ(domain_, "channel");
        return;
      }
      const asx::status_info* code = asx::find_status(row["error_code"].get<std::string>());
      ASSERT_NE(code, nullptr) << row["error_code"];
      EXPECT_EQ(asx::name(table_.check(at(from), at(to))), code->name);
      return;
    }
    EXPECT_EQ(table_.check(at(from), at(to)), asx::status::ok);
    const auto& rows = table_.rows();
    const auto same =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.id == row["id"].get<std::string>(); });
    ASSERT_NE(same, rows.end()) << "the table has no row " << row["id"];
    EXPECT_EQ(same->from, at(from));
    EXPECT_EQ(same->to, at(to));
    if (const std::string call = function_name(row["trigger"].get<std::string>()); !call.empty()) {
      EXPECT_EQ(table_.name(same->on), call);
    }
  }

  void expect_no_table_row_is_missing() const {
    for (const auto& row : table_.rows()) {
      const auto rows = rows_of(static_cast<std::size_t>(row.from), static_cast<std::size_t>(row.to));
      EXPECT_TRUE(
          std::any_of(rows.begin(), rows.end(), [&](const json* r) { return (*r)["id"].get<std::string>() == row.id; }))
          << "the data has no row " << row.id;
    }
  }

  void expect_counts(const counts& want) const {
    std::size_t legal_rows = 0;
    std::set<std::pair<std::string, std::string>> legal;
    std::set<std::pair<std::string, std::string>> refused;
    for (const json& row : data_["rows"]) {
      if (row["legal"].get<bool>()) ++legal_rows;
      if (row["from_state"].is_null()) continue;
      (row["legal"].get<bool>() ? legal : refused)
          .emplace(row["from_state"].get<std::string>(), row["to_state"].get<std::string>());
    }
    EXPECT_EQ(legal_rows, want.legal_rows);
    EXPECT_EQ(legal.size(), want.legal_pairs);
    EXPECT_EQ(refused.size(), want.refused_pairs);
    EXPECT_EQ(legal.size() + refused.size(), want.pairs);
    EXPECT_EQ(table_.legal_pair_count(), want.legal_pairs);
    EXPECT_EQ(table_.forbidden_pair_count(), want.refused_pairs);
    const json& said = data_.at("counts");
    EXPECT_EQ(said.at("pairs"), want.pairs);
    EXPECT_EQ(said.at("legal_rows"), want.legal_rows);
    EXPECT_EQ(said.at("legal_pairs"), want.legal_pairs);
    EXPECT_EQ(said.at("forbidden_pairs").get<std::size_t>() + said.value("stay_pairs", std::size_t{0}),
              want.refused_pairs);
    EXPECT_EQ(said.at("ruling").get<std::string>(), want.ruling);
    for (const char* kind : {"backward", "skip", "self-loop", "from-terminal"}) {
      if (!said.contains(kind)) continue;
      const auto of_kind = [&](const json& row) { return row["category"] == kind; };
      EXPECT_EQ(std::count_if(data_["rows"].begin(), data_["rows"].end(), of_kind), said[kind].get<std::ptrdiff_t>())
          << kind;
    }
  }

  const Table& table_;
  std::string_view domain_;
  json data_;
};

TEST(invariants, region_table_answers_as_the_data) {
  machine(asx::region_lifecycle, "region").expect_equal({25, 7, 5, 20, "R-01"});
}

TEST(invariants, task_table_answers_as_the_data) {
  machine(asx::task_lifecycle, "task").expect_equal({36, 13, 13, 23, "R-16"});
}

TEST(invariants, obligation_table_answers_as_the_data) {
  machine(asx::obligation_lifecycle, "obligation").expect_equal({16, 3, 3, 13, "R-29"});
}

TEST(invariants, cancel_phase_table_answers_as_the_data) {
  machine(asx::cancel_phase_lifecycle, "cancel").expect_equal({16, 11, 10, 6, "R-36"});
}

TEST(invariants, channel_table_answers_as_the_data) {
  machine(asx::channel_lifecycle, "channel").expect_equal({16, 4, 4, 12, "R-57"});
}

// the channel's state is a function of two facts, so its data says which facts hold before each move.
TEST(invariants, channel_states_are_the_four_combinations_of_two_facts) {
  std::ifstream in(invariants_folder() / "channel.json");
  const json data = json::parse(in, nullptr, false);
  ASSERT_FALSE(data.is_discarded());
  for (const json& row : data["rows"]) {
    const bool has_senders = row["preconditions"][0] == "sender_count > 0";
    const bool dropped = row["preconditions"][1] == "receiver_dropped == true";
    ASSERT_TRUE(has_senders || row["preconditions"][0] == "sender_count == 0") << row["id"];
    ASSERT_TRUE(dropped || row["preconditions"][1] == "receiver_dropped == false") << row["id"];
    EXPECT_EQ(asx::channel_lifecycle.name(asx::derive_channel_state(has_senders ? 1 : 0, dropped)),
              cpp_name(row["from_state"].get<std::string>()))
        << row["id"];
  }
}

}  // namespace
