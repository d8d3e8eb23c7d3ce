// asx conform [ID ...] - the specification, played: every fixture in every profile by both codecs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/cli/conformance.hpp"
#include "asx/cli/journal_file.hpp"
#include "asx/cli/scenario_file.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"

namespace asx::cli {
namespace {

struct conform_words {
  std::vector<std::string> ids, profiles, codecs;
  std::string folder = "conformance", report;
  bool keep = false, force = false;
};

constexpr std::array<std::string_view, 2> codecs{"bin", "json"};

conform_order order_of(const conform_words& w) {
  conform_order out{.folder = w.folder, .only = w.ids, .profiles = {}, .codecs = w.codecs, .progress = {}};
  for (const std::string& word : w.profiles) out.profiles.push_back(parse_profile(word));
  for (const std::string& word : w.codecs) {
    if (std::find(codecs.begin(), codecs.end(), word) == codecs.end()) {
      throw bad_word(fmt::format("'{}' is no codec.{} There are bin and json.", word, suggestion(word, codecs)));
    }
  }
  return out;
}

void draw_bar(std::size_t done, std::size_t all, const std::string& id) {
  constexpr std::size_t width = 30;
  const std::size_t filled = all == 0 ? width : width * done / all;
  fmt::print(stderr, "\r[{}{}] {}/{} {:<40.40}", std::string(filled, '#'), std::string(width - filled, '.'), done, all,
             id);
  if (done == all) fmt::print(stderr, "\r{:<85}\r", "");
  std::fflush(stderr);
}

void print_json(const conformance& done) {
  nlohmann::ordered_json fixtures = nlohmann::ordered_json::array();
  for (const conform_record& r : done.records) {
    fixtures.push_back({{"id", r.id},
                        {"domain", r.domain},
                        {"profile", r.profile},
                        {"codec", r.codec},
                        {"passed", r.passed()},
                        {"digest", r.digest},
                        {"failures", r.failures}});
  }
  put_json({{"passed", done.passed()},
            {"fixtures_passed", done.fixtures_passed},
            {"fixtures_wanted", done.wanted},
            {"complaints", done.complaints},
            {"micros", done.micros},
            {"fixtures", fixtures}});
}

void print_text(const conformance& done) {
  fmt::print("{}", summary(done));
  std::fflush(stdout);
  for (const std::string& line : done.complaints) fmt::print(stderr, "asx: {}\n", line);
  for (const conform_record& r : done.records) {
    for (const std::string& line : r.failures) {
      fmt::print(stderr, "{} ({} {}): {}\n", r.id, r.profile.empty() ? "not played" : r.profile, r.codec, line);
    }
  }
  fmt::print("{} of {} fixtures passed, {} plays in {:.1f} s\n", done.fixtures_passed, done.wanted, done.records.size(),
             static_cast<double>(done.micros) / 1e6);
}

void run_conform(const conform_words& w, session& s) {
  conform_order order = order_of(w);
  if (::isatty(STDERR_FILENO) == 1 && !s.json) order.progress = draw_bar;
  std::unique_ptr<output_file> report;
  if (!w.report.empty()) report = std::make_unique<output_file>(w.report, w.force);
  const conformance done = conform(order);
  if (report) {
    report->text()(report_lines(done));
    report->finish();
    report->publish();
  }
  if (w.keep) keep_digests(order, done);
  s.json ? print_json(done) : print_text(done);
  s.exit_code = done.passed() ? 0 : 1;
}

}  // namespace

void add_conform(CLI::App& app, session& s) {
  auto* const verb = app.add_subcommand("conform", "Play the fixtures of the specification; exit 1 when one fails");
  auto w = std::make_shared<conform_words>();
  verb->add_option("ID", w->ids, "Fixtures by their ids, or by how these begin; all when left out");
  verb->add_option("--fixtures", w->folder, "The folder with catalog.json and fixtures/; `conformance` by default");
  verb->add_option("--profile", w->profiles, "tiny, core or server; may be given again; all when left out")
      ->allow_extra_args(false);
  verb->add_option("--codec", w->codecs, "bin or json; both when left out")->allow_extra_args(false);
  verb->add_option("--report", w->report, "Write one JSON record for each fixture, profile and codec, a line each");
  verb->add_flag("--force", w->force, "Replace the report if it is there");
  verb->add_flag("--keep", w->keep, "Write the digests of this run into digests.json, to be kept to from now on");
  verb->callback([w, &s] { run_conform(*w, s); });
}

}  // namespace asx::cli
