// asx journal certify FILE - was the schedule legal? Exit 0 when it was, 1 with every violation when it was not.
//
// A file that cannot be judged at all exits 2 here, unlike with the other verbs: a script that asks for a verdict must
// not take a damaged disk for a broken rule.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/journal/schedule_check.hpp"

namespace asx::cli {
namespace {

using json = nlohmann::ordered_json;

json to_json(const recomputed_certificate& c) {
  return {{"hash", json_number(c.hash())},
          {"dispatches", c.dispatches()},
          {"cancel_dispatches", c.cancel_dispatches},
          {"timed_dispatches", c.timed_dispatches},
          {"ready_dispatches", c.ready_dispatches},
          {"fallback_cancel_dispatches", c.fallback_cancel_dispatches},
          {"base_limit_exceedances", c.base_limit_exceedances},
          {"effective_limit_exceedances", c.effective_limit_exceedances},
          {"max_effective_limit_observed", c.max_effective_limit_observed}};
}

json to_json(const lane_waits& w) {
  return {{"entries", w.entries},    {"longest", w.longest},       {"longest_seq", w.longest_seq},
          {"judged", w.judged},      {"worst_wait", w.worst_wait}, {"worst_bound", json_number(w.worst_bound)},
          {"worst_seq", w.worst_seq}};
}

void print_json(const std::string& file, const schedule_verdict& v) {
  json out{{"file", file},
           {"accepted", v.accepted()},
           {"violation_count", v.violation_count},
           {"violations", json::array()},
           {"unknown", v.unknown},
           {"events", v.events},
           {"first_seq", json_number(v.first_seq)},
           {"last_seq", json_number(v.last_seq)},
           {"dispatches", v.dispatches},
           {"unchecked", v.unchecked},
           {"certificate", v.certificate_known ? to_json(v.certificate) : json()},
           {"certificates_checked", v.certificates_checked},
           {"waits",
            {{"cancel", to_json(v.waits_of(lane_code::cancel))},
             {"timed", to_json(v.waits_of(lane_code::timed))},
             {"ready", to_json(v.waits_of(lane_code::ready))}}}};
  for (const schedule_violation& bad : v.violations) {
    out["violations"].push_back({{"seq", json_number(bad.seq)}, {"rule", bad.rule}, {"text", bad.text}});
  }
  put_json(out);
}

void certify(const std::string& file, session& s) {
  journal_input in(file);
  schedule_checker checker;
  for (event e; in.next(e);) checker.take(e);
  in.refuse_damage();
  const schedule_verdict v = checker.finish();
  if (s.json) {
    print_json(in.path(), v);
  } else {
    fmt::print("{}", explain(v));
  }
  in.tell_cut();
  s.exit_code = v.accepted() ? 0 : 1;
}

}  // namespace

void add_journal_certify(CLI::App& journal, session& s) {
  auto* const verb = journal.add_subcommand("certify", "Whether the schedule was legal; its certificate and its waits");
  auto file = std::make_shared<std::string>();
  verb->add_option("FILE", *file, "A journal, binary or JSON Lines")->required();
  verb->footer(
      "Every dispatch is judged from the journal alone: lane, order, streaks, draws, thefts, what was due before it.\n"
      "The certificate is computed anew. What the journal cannot show is said.\n"
      "Exit 0: accepted. Exit 1: a rule was broken. Exit 2: the file cannot be judged, or the call is wrong.");
  verb->callback([file, &s] {
    try {
      certify(*file, s);
    } catch (const bad_data& bad) {
      fmt::print(stderr, "asx: {}\n", bad.what());
      s.exit_code = 2;
    }
  });
}

}  // namespace asx::cli
