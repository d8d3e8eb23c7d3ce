// asx journal trace, asx journal dot - a run on a screen: as a trace for Perfetto, and as a tree for Graphviz.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/export_dot.hpp"
#include "asx/journal/export_trace.hpp"

namespace asx::cli {
namespace {

constexpr std::array<std::string_view, 2> axes{"time", "sequence"};

struct trace_words {
  std::string file, out, axis = "time";
  bool force = false;
};

void trace(const trace_words& w, const session& s) {
  if (w.axis != "time" && w.axis != "sequence") {
    throw bad_word(fmt::format("'{}' is no axis.{} There are time and sequence.", w.axis, suggestion(w.axis, axes)));
  }
  journal_input in(w.file);
  const std::vector<event> events = read_until(in);
  output_file out(w.out, w.force);
  export_trace(out.text(), events, w.axis == "time" ? trace_axis::time : trace_axis::sequence);
  out.finish();
  out.publish();
  if (s.json) {
    put_json({{"file", w.file}, {"out", w.out}, {"events", events.size()}});
  } else {
    fmt::print("{}: {} events; open it at ui.perfetto.dev\n", w.out, events.size());
  }
}

void dot(const std::string& file, const std::string& at_word, const session& s) {
  const std::uint64_t at = parse_seq(at_word, UINT64_MAX);
  journal_input in(file);
  const std::vector<event> events = read_until(in, at);
  std::string text;
  export_dot(string_writer(text), events, at);
  s.json ? put_json({{"file", file}, {"dot", text}}) : fmt::print("{}", text);
}

}  // namespace

void draw_trace(const std::string& file, text_port out) {
  journal_input in(file);
  export_trace(out, read_until(in), trace_axis::time);
}

void draw_tree(const std::string& file, text_port out, const std::string& at_word) {
  std::uint64_t at = parse_seq(at_word, UINT64_MAX);
  journal_input in(file);
  const std::vector<event> events = read_until(in, at);
  if (at == UINT64_MAX) {  // At the very end everything is gone.
    for (const event& e : events) {
      if (e.kind == event_kind::shutdown_begun && e.semantic()) {
        at = e.seq - 1;
        break;
      }
    }
  }
  export_dot(out, events, at);
}

void add_journal_trace(CLI::App& journal, session& s) {
  auto* const verb = journal.add_subcommand("trace", "A trace for ui.perfetto.dev and chrome://tracing");
  auto w = std::make_shared<trace_words>();
  verb->add_option("FILE", w->file, "A journal, binary or JSON Lines")->required();
  verb->add_option("OUT", w->out, "The file to make, such as run.json")->required();
  verb->add_option("--axis", w->axis, "time, or sequence for a run whose clock stands still");
  verb->add_flag("--force", w->force, "Replace OUT if it is there");
  verb->callback([w, &s] { trace(*w, s); });
}

void add_journal_dot(CLI::App& journal, session& s) {
  struct words {
    std::string file, at;
  };
  auto* const verb = journal.add_subcommand("dot", "The regions and tasks at one moment, for Graphviz");
  auto w = std::make_shared<words>();
  verb->add_option("FILE", w->file, "A journal, binary or JSON Lines")->required();
  verb->add_option("--at", w->at, "After this event; at the end of the journal by default");
  verb->callback([w, &s] { dot(w->file, w->at, s); });
}

}  // namespace asx::cli
