// asx kinds - the eleven reasons to cancel, by severity, and what cleanup each grants.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "asx/cli/verbs.hpp"
#include "asx/model/cancel_kind.hpp"

namespace asx::cli {

void add_kinds(CLI::App& app, session& s) {
  app.add_subcommand("kinds", "The eleven cancel kinds: severity and cleanup budget")->callback([&s] {
    auto out = nlohmann::ordered_json::array();
    if (!s.json)
      fmt::print("{:<22}{:>8}  {:>13}  {:>16}  category\n", "kind", "severity", "cleanup polls", "cleanup priority");
    for (const cancel_kind_info& row : cancel_kind_table) {
      if (s.json) {
        out.push_back({{"ordinal", static_cast<unsigned>(row.kind)},
                       {"name", row.name},
                       {"c_name", row.c_name},
                       {"severity", row.severity},
                       {"cleanup_quota", row.cleanup_quota},
                       {"cleanup_priority", row.cleanup_priority},
                       {"category", row.category}});
      } else {
        fmt::print("{:<22}{:>8}  {:>13}  {:>16}  {}\n", row.name, row.severity, row.cleanup_quota, row.cleanup_priority,
                   row.category);
      }
    }
    if (s.json) fmt::print("{}\n", out.dump());
  });
}

}  // namespace asx::cli
