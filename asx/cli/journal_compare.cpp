// asx journal compare A B - are two runs the same run? Exit 0 when they are, 1 when they part, with the place.
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/compare.hpp"

namespace asx::cli {
namespace {

struct compare_words {
  std::string a, b, context;
  bool everything = false;
};

// The library keeps the last few equal events; who wants more of them has A read again up to there.
std::vector<event> events_before(const compare_words& w, std::uint64_t compared, std::uint64_t wanted) {
  journal_input in(w.a);
  std::deque<event> last;
  event e;
  for (std::uint64_t n = 0; n < compared && in.next(e);) {
    if (!w.everything && !e.semantic()) continue;
    ++n;
    last.push_back(e);
    if (last.size() > wanted) last.pop_front();
  }
  return {last.begin(), last.end()};
}

void print_json(const compare_words& w, const comparison& result) {
  nlohmann::ordered_json out{{"reference", w.a},
                             {"run", w.b},
                             {"match", result.match()},
                             {"difference", name(result.what)},
                             {"compared", result.compared}};
  if (!result.match()) {
    out["reference_event"] = result.reference ? to_json(*result.reference) : nullptr;
    out["run_event"] = result.run ? to_json(*result.run) : nullptr;
    out["fields"] = nlohmann::ordered_json::array();
    for (const field_difference& f : result.fields) {
      out["fields"].push_back({{"name", f.name}, {"reference", json_number(f.reference)}, {"run", json_number(f.run)}});
    }
    out["before"] = nlohmann::ordered_json::array();
    for (const event& e : result.before) out["before"].push_back(to_json(e));
  }
  put_json(out);
}

void compare_files(const compare_words& w, session& s) {
  const std::uint64_t context =
      w.context.empty() ? follower::context_events : parse_number(w.context, "number of events to show");
  journal_input a(w.a), b(w.b);
  const compare_scope scope = w.everything ? compare_scope::everything : compare_scope::semantic;
  // Two binary files are compared by the digests of their blocks, which do not tell how many diagnostics were skipped.
  const bool by_digests = a.is_binary() && b.is_binary() && !w.everything;
  comparison result =
      by_digests ? asx::compare(a.binary(), b.binary(), scope) : asx::compare(events_of(a), events_of(b), scope);
  if (result.code != status::ok) {
    // Read from the start, a file says how much of it is intact.
    for (const std::string& path : {w.a, w.b}) {
      journal_input in(path);
      for (event e; in.next(e);) continue;
      in.refuse_damage();
    }
    throw bad_data(fmt::format("{} and {} could not be compared: {}", w.a, w.b, sentence(result.code)));
  }
  if (context < result.before.size()) {
    result.before.erase(result.before.begin(), result.before.end() - static_cast<std::ptrdiff_t>(context));
  } else if (context > result.before.size() && !result.match()) {
    result.before = events_before(w, result.compared, context);
  }
  if (s.json) {
    print_json(w, result);
  } else {
    if (!result.match()) fmt::print("- reference  {}\n+ run        {}\n", w.a, w.b);
    fmt::print("{}", explain(result));
  }
  a.tell_cut();
  b.tell_cut();
  s.exit_code = result.match() ? 0 : 1;
}

}  // namespace

void add_journal_compare(CLI::App& journal, session& s, const char* called) {
  auto* const verb = journal.add_subcommand(called, "Whether two runs are the same; if not, where they part");
  auto w = std::make_shared<compare_words>();
  verb->add_option("A", w->a, "The reference: a journal, binary or JSON Lines")->required();
  verb->add_option("B", w->b, "The run that should be the same")->required();
  verb->add_option("--context", w->context, "How many of the last equal events to show; 8 by default");
  verb->add_flag("--everything", w->everything,
                 "Compare diagnostics too; without it a debug run matches a release run");
  verb->footer(
      "Two binary files are compared by the digests of their blocks; only the block where they part is read.\n"
      "`asx journal info` reads a whole file and tells whether it is damaged.");
  verb->callback([w, &s] { compare_files(*w, s); });
}

}  // namespace asx::cli
