// asx run FILE, asx lint FILE ..., asx replay FILE JOURNAL - scenarios, one at a time.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/scenario_file.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/compare.hpp"

namespace asx::cli {
namespace {

using json = nlohmann::ordered_json;

struct run_words {
  std::string file, profile, seed, out, max_steps;
  bool force = false, all = false;
};

scenario::play_options options_of(const run_words& w, const scenario::scenario& s) {
  scenario::play_options out = usual_options(s);
  if (!w.profile.empty()) out.with = parse_profile(w.profile);
  if (!w.seed.empty()) out.seed = parse_number(w.seed, "seed");
  if (!w.max_steps.empty()) out.max_steps = parse_number(w.max_steps, "number of steps");
  return out;
}

json failures_json(const std::vector<scenario::failure>& failures) {
  json out = json::array();
  for (const scenario::failure& f : failures) {
    out.push_back({{"line", f.at.line}, {"column", f.at.column}, {"step", f.step}, {"text", f.text}});
  }
  return out;
}

// Every profile and seed that the file lists; all profiles must come to one digest where no limit was met.
void run_all(const run_words& w, session& s) {
  if (!w.out.empty() || !w.profile.empty() || !w.seed.empty()) {
    throw bad_word("--all plays every profile and seed: leave out --out, --profile and --seed");
  }
  const loaded_scenario loaded = load_scenario(w.file);
  json plays = json::array();
  bool passed = true;
  for (const std::uint64_t seed : loaded.body->seeds) {
    std::string digest;
    for (const scenario::profile with : loaded.body->profiles) {
      scenario::play_options how = options_of(w, *loaded.body);
      how.with = with;
      how.seed = seed;
      const scenario::verdict v = scenario::play(*loaded.body, how);
      const std::string digits = show(v.digest);
      const bool differs = v.limit_refusals == 0 && !digest.empty() && digest != digits;
      if (digest.empty() && v.limit_refusals == 0) digest = digits;
      const bool holds = v.passed() && !differs;
      passed = passed && holds;
      plays.push_back({{"profile", name(with)},
                       {"seed", json_number(seed)},
                       {"passed", holds},
                       {"digest", digits},
                       {"failures", failures_json(v.failures)}});
      if (s.json) continue;
      fmt::print("{}  seed {:<6} {:<7} {}{}\n", digits, seed, name(with), holds ? "passed" : "failed",
                 differs ? ": another digest than in the profile before" : "");
      std::fflush(stdout);
      fmt::print(stderr, "{}", describe(loaded.body_path, v.failures));
    }
  }
  if (s.json) put_json({{"id", loaded.id}, {"passed", passed}, {"plays", plays}});
  s.exit_code = passed ? 0 : 1;
}

void run_scenario(const run_words& w, session& s) {
  if (w.all) return run_all(w, s);
  const bool is_binary = !w.out.empty() && wants_binary(w.out);
  const loaded_scenario loaded = load_scenario(w.file);
  const scenario::play_options how = options_of(w, *loaded.body);
  std::unique_ptr<output_file> out;
  if (!w.out.empty()) out = std::make_unique<output_file>(w.out, w.force);
  const scenario::verdict v = scenario::play(*loaded.body, how);
  if (out) {
    write_journal(v, how, is_binary, out->bytes());
    out->finish();
    out->publish();
  }
  if (s.json) {
    put_json({{"id", loaded.id},
              {"profile", name(how.with)},
              {"seed", json_number(how.seed)},
              {"passed", v.passed()},
              {"checks", v.checks},
              {"events", v.journal.size()},
              {"digest", show(v.digest)},
              {"said", v.said},
              {"limit_refusals", v.limit_refusals},
              {"ended_at", json_number(v.ended_at.ns)},
              {"failures", failures_json(v.failures)}});
  } else {
    fmt::print("{}{}{}\n", loaded.id, loaded.title.empty() ? "" : ": ", printable(loaded.title));
    for (const std::string& line : v.said) fmt::print("  said: {}\n", printable(line));
    fmt::print("  profile {}, seed {}: {} checks, {} events, {} of virtual time\n", name(how.with), how.seed, v.checks,
               v.journal.size(), show(duration{v.ended_at.ns}));
    fmt::print("  digest {}\n", show(v.digest));
    if (w.seed.empty() && loaded.body->seeds.size() > 1) {
      fmt::print("  the file lists {} seeds; --all plays each of them\n", loaded.body->seeds.size());
    }
    if (out) fmt::print("  journal {}\n", w.out);
    std::fflush(stdout);
    fmt::print(stderr, "{}", describe(loaded.body_path, v.failures));
    fmt::print("{}\n", v.passed() ? "passed" : fmt::format("failed: {} of {} checks", v.failed, v.checks));
  }
  s.exit_code = v.passed() ? 0 : 1;
}

void lint(const std::vector<std::string>& paths, session& s) {
  json out = json::array();
  std::size_t broken = 0;
  for (const std::string& path : paths) {
    std::string text;
    std::vector<scenario::complaint> wrong;
    try {
      text = read_text(path);
      static_cast<void>(scenario::read(text, "", wrong));
    } catch (const bad_data& error) {  // The others are still looked at.
      wrong.push_back({{}, {}, error.what()});
    }
    broken += wrong.empty() ? 0U : 1U;
    if (s.json) {
      json complaints = json::array();
      for (const scenario::complaint& c : wrong) {
        complaints.push_back({{"line", c.at.line}, {"column", c.at.column}, {"field", c.field}, {"text", c.text}});
      }
      out.push_back({{"file", path}, {"complaints", complaints}});
    } else if (wrong.empty()) {
      fmt::print("{}: makes sense\n", path);
    } else {
      std::fflush(stdout);
      fmt::print(stderr, "{}\n", describe(path, text, wrong));
    }
  }
  if (s.json) put_json(out);
  s.exit_code = broken == 0 ? 0 : 1;
}

// The journal says which profile and seed it was; what must be the same is everything else.
void replay(const std::string& file, const std::string& journal, session& s) {
  const loaded_scenario loaded = load_scenario(file);
  journal_input recorded(journal);
  if (recorded.header().seq_before != 0) {
    throw bad_data(fmt::format("{} begins with event {}: a replay needs a journal that is whole from the start",
                               journal, recorded.header().seq_before + 1));
  }
  scenario::play_options how;
  try {
    how.with = parse_profile(std::string(recorded.header().profile_name()));
  } catch (const bad_word& error) {
    throw bad_data(fmt::format("{}: its header names a profile that scenarios do not have: {}", journal, error.what()));
  }
  how.seed = recorded.header().seed;
  const scenario::verdict v = scenario::play(*loaded.body, how);
  span_reader again(v.journal);
  const comparison result = asx::compare(events_of(recorded), source_of(again));
  recorded.refuse_damage();
  // A journal that is cut is a beginning: a replay that goes on behind it is the same run.
  const bool is_cut = recorded.end() == file_end::cut;
  if (result.compared == 0 && !result.reference) throw bad_data(fmt::format("{} has no event to compare", journal));
  const bool same = result.compared != 0 && (result.match() || (is_cut && !result.reference));
  if (s.json) {
    put_json({{"scenario", file},
              {"journal", journal},
              {"profile", name(how.with)},
              {"seed", json_number(how.seed)},
              {"same", same},
              {"cut", is_cut},
              {"compared", result.compared},
              {"digest", show(v.digest)},
              {"recorded_event", result.reference ? to_json(*result.reference) : json()},
              {"replayed_event", result.run ? to_json(*result.run) : json()}});
  } else if (same) {
    fmt::print("the same: {} events, digest {}{}\n", result.compared, show(v.digest),
               is_cut ? " of the whole replay; the journal is cut, and what there is of it agrees" : "");
  } else {
    fmt::print("- recorded  {}\n+ replayed  {} (profile {}, seed {})\n{}", journal, file, name(how.with), how.seed,
               explain(result));
  }
  recorded.tell_cut();
  s.exit_code = same ? 0 : 1;
}

}  // namespace

void add_run(CLI::App& app, session& s) {
  auto* const verb = app.add_subcommand("run", "Play a scenario (docs/scenarios.md); exit 1 when it fails");
  auto w = std::make_shared<run_words>();
  verb->add_option("FILE", w->file, "A scenario: a JSON file")->required();
  verb->add_option("--profile", w->profile, "tiny, core or server; core by default");
  verb->add_option("--seed", w->seed, "Instead of the first one that the file names");
  verb->add_option("--out", w->out, "Write the journal here: .asxj for binary, .jsonl for JSON Lines");
  verb->add_flag("--force", w->force, "Replace the journal if it is there");
  verb->add_flag("--all", w->all, "Play every profile and seed that the file lists");
  verb->add_option("--max-steps", w->max_steps, "Of each run in it; a million by default");
  verb->callback([w, &s] { run_scenario(*w, s); });
}

void add_lint(CLI::App& app, session& s) {
  auto* const verb = app.add_subcommand("lint", "Whether scenarios make sense, without playing them; exit 1 when not");
  auto files = std::make_shared<std::vector<std::string>>();
  verb->add_option("FILE", *files, "Scenarios: JSON files")->required();
  verb->callback([files, &s] { lint(*files, s); });
}

void add_replay(CLI::App& app, session& s) {
  struct words {
    std::string file, journal;
  };
  auto* const verb = app.add_subcommand("replay", "Play a scenario as a journal says it ran; exit 1 where they part");
  auto w = std::make_shared<words>();
  verb->add_option("FILE", w->file, "A scenario: a JSON file")->required();
  verb->add_option("JOURNAL", w->journal, "A journal of it, such as `asx run FILE --out` makes")->required();
  verb->callback([w, &s] { replay(w->file, w->journal, s); });
}

}  // namespace asx::cli
