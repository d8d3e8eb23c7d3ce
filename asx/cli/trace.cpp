// asx trace FILE, asx digest FILE ... - a run in the form that one wants, and in 32 digits. A scenario is a run, too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"

namespace asx::cli {
namespace {

constexpr std::array<std::string_view, 4> forms{"text", "json", "perfetto", "dot"};

text_port standard_output() {
  return {nullptr, [](void*, std::string_view text) { fmt::print("{}", text); }};
}

void trace(const std::string& file, const std::string& form, const std::string& at) {
  if (std::find(forms.begin(), forms.end(), form) == forms.end()) {
    throw bad_word(fmt::format("'{}' is no form of a trace.{} There are text, json, perfetto and dot.", form,
                               suggestion(form, forms)));
  }
  if (form == "perfetto") return draw_trace(file, standard_output());
  if (form == "dot") return draw_tree(file, standard_output(), at);
  if (!at.empty()) throw bad_word("--at is for --as dot, which draws one moment");
  print_events(file, form == "json");
}

void digest(const std::vector<std::string>& names, const session& s) {
  auto out = nlohmann::ordered_json::array();
  for (const std::string& file : names) {
    journal_input in(file);
    for (event e; in.next(e);) continue;
    in.refuse_damage();
    if (s.json) {
      out.push_back(
          {{"file", file}, {"digest", in.digest()}, {"events", in.events_read()}, {"cut", in.end() == file_end::cut}});
    } else {
      fmt::print("{}  {}\n", in.digest(), file);
    }
    in.tell_cut();
  }
  if (s.json) put_json(out);
}

}  // namespace

void add_trace(CLI::App& app, session& s) {
  struct words {
    std::string file, form = "text", at;
  };
  auto* const verb =
      app.add_subcommand("trace", "A run as text, JSON Lines, a trace for ui.perfetto.dev or a Graphviz tree");
  auto w = std::make_shared<words>();
  verb->add_option("FILE", w->file, "A journal, or a scenario, which is played")->required();
  verb->add_option("--as", w->form, "text, json, perfetto or dot");
  verb->add_option("--at", w->at, "Of a dot: after this event; when the shutdown begins, or at the end, by default");
  verb->callback([w, &s] { trace(w->file, s.json && w->form == "text" ? "json" : w->form, w->at); });
}

void add_digest(CLI::App& app, session& s) {
  auto* const verb = app.add_subcommand("digest", "What a run comes to: equal digits, equal runs");
  auto names = std::make_shared<std::vector<std::string>>();
  verb->add_option("FILE", *names, "Journals, or scenarios, which are played")->required();
  verb->callback([names, &s] { digest(*names, s); });
}

void add_why(CLI::App& app, session& s) {
  add_journal_why(app, s);
}

void add_diff(CLI::App& app, session& s) {
  add_journal_compare(app, s, "diff");
}

}  // namespace asx::cli
