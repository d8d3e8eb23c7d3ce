// asx status [CODE ...] - what a status code says; all of them without an argument.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/model/status.hpp"

namespace asx::cli {
namespace {

const status_info& look_up(const std::string& word) {
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = failure == std::errc{} && end == word.data() + word.size();
  const status_info* const row = is_number ? find_status(number) : find_status(std::string_view(word));
  if (row != nullptr) return *row;
  std::vector<std::string_view> names;
  for (const status_info& s : status_table) names.push_back(word.starts_with("ASX") ? s.c_name : s.name);
  throw bad_word(fmt::format("'{}' is no status: numbers are 0 to 27 and 100 to {}.{}", word,
                             static_cast<unsigned>(status_table.back().code), suggestion(word, names)));
}

}  // namespace

void add_status(CLI::App& app, session& s) {
  auto* const verb = app.add_subcommand("status", "What status codes mean and what to do about them");
  auto codes = std::make_shared<std::vector<std::string>>();
  verb->add_option("code", *codes, "Numbers or names, C++ or C; all when left out");
  verb->callback([codes, &s] {
    std::vector<const status_info*> rows;
    for (const std::string& word : *codes) rows.push_back(&look_up(word));
    if (rows.empty()) {
      for (const status_info& row : status_table) rows.push_back(&row);
    }
    auto out = nlohmann::ordered_json::array();
    for (const status_info* row : rows) {
      const auto number = static_cast<unsigned>(row->code);
      if (s.json) {
        out.push_back({{"number", number},
                       {"name", row->name},
                       {"c_name", row->c_name},
                       {"group", row->group},
                       {"sentence", row->sentence}});
      } else {
        fmt::print("{:>3}  {}\n     {}\n", number, row->c_name, row->sentence);
      }
    }
    if (s.json) fmt::print("{}\n", out.dump());
  });
}

}  // namespace asx::cli
