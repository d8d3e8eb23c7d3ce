// asx join, asx meet, asx strengthen - the three ways in which ends, limits and reasons combine.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"

namespace asx::cli {
namespace {

// Adds a verb that folds its words, left to right, into one value, and shows each step.
template <class Value>
void add_fold(CLI::App& app, session& s, const char* verb_name, const char* summary, const char* form, Value identity,
              bool has_identity, Value (*parse)(std::string_view), Value (*combine)(const Value&, const Value&)) {
  auto* const verb = app.add_subcommand(verb_name, summary);
  auto words = std::make_shared<std::vector<std::string>>();
  verb->add_option("value", *words, form)->required(!has_identity);
  verb->callback([=, &s] {
    Value total = identity;
    std::vector<std::string> steps;
    bool first = !has_identity;
    for (const std::string& word : *words) {
      const Value value = parse(word);
      total = first ? value : combine(total, value);
      first = false;
      steps.push_back(show(total));
    }
    if (s.json) {
      fmt::print("{}\n",
                 nlohmann::ordered_json{{"verb", verb_name}, {"of", *words}, {"steps", steps}, {"result", show(total)}}
                     .dump());
      return;
    }
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) fmt::print("  after {:<28} {}\n", (*words)[i], steps[i]);
    fmt::print("{}\n", show(total));
  });
}

}  // namespace

void add_join(CLI::App& app, session& s) {
  using result = outcome<std::uint64_t>;
  add_fold<result>(app, s, "join", "The outcome of a region whose children ended like this",
                   "Outcomes: ok, ok:7, err:full, cancelled:shutdown, panicked:text", result::ok(), true,
                   &parse_outcome, [](const result& a, const result& b) { return asx::join(a, b); });
}

void add_meet(CLI::App& app, session& s) {
  add_fold<budget>(app, s, "meet", "The budget of a child under these limits",
                   "Budgets: deadline=5ms,polls=10,cost=3,priority=200; infinite; zero", budget::infinite(), true,
                   &parse_budget, [](const budget& a, const budget& b) { return asx::meet(a, b); });
}

void add_strengthen(CLI::App& app, session& s) {
  add_fold<cancel_reason>(app, s, "strengthen", "The reason that holds when a task is cancelled like this, in turn",
                          "Reasons: KIND[@MOMENT][:MESSAGE], such as timeout@5s:\"no answer\"", cancel_reason{}, false,
                          &parse_reason,
                          [](const cancel_reason& a, const cancel_reason& b) { return asx::strengthen(a, b); });
}

}  // namespace asx::cli
