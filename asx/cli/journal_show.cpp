// asx journal show FILE - events in words, or as JSON Lines; all of them, or those about something.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/journal/export_text.hpp"

namespace asx::cli {
namespace {

struct show_words {
  std::string file, from, to, task, region;
  std::vector<std::string> kinds;
};

struct selection {
  std::uint64_t from = 0, to = UINT64_MAX;
  std::uint64_t task = 0, region = 0;  // 0 for any.
  std::vector<event_kind> kinds;
};

event_kind parse_event_kind(const std::string& word) {
  if (const event_info* const row = find_event_kind(std::string_view(word))) return row->kind;
  std::vector<std::string_view> names;
  for (const event_info& row : event_table) names.push_back(row.name);
  throw bad_word(
      fmt::format("'{}' is no kind of event.{} docs/spec/events.md lists them.", word, suggestion(word, names)));
}

std::uint64_t parse_id(const std::string& word, std::string_view what) {
  if (word.empty()) return 0;
  const std::uint64_t id = parse_number(word, what);
  if (id == 0) throw bad_word(fmt::format("'{}' is no {}: they are counted from 1", word, what));
  return id;
}

selection parse_selection(const show_words& w) {
  selection out{parse_seq(w.from, 0),
                parse_seq(w.to, UINT64_MAX),
                parse_id(w.task, "number of a task"),
                parse_id(w.region, "number of a region"),
                {}};
  if (out.from > out.to) {
    throw bad_word(
        fmt::format("--from {} --to {} is no stretch of events: give the smaller number first", w.from, w.to));
  }
  for (const std::string& word : w.kinds) out.kinds.push_back(parse_event_kind(word));
  return out;
}

// What a field of type `thing` is, where the event says so.
field_type resolve_object(const event& e, field_type type) {
  if (e.kind != event_kind::task_waits) return type;
  const auto what = static_cast<wait_code>(low_half(e.a));
  return what == wait_code::join ? field_type::task : what == wait_code::close ? field_type::region : type;
}

bool names(const event& e, field_type type, std::uint64_t id) {
  const event_info& row = *find_event_kind(static_cast<std::uint64_t>(e.kind));  // Readers give known kinds only.
  if (e.kind == event_kind::text) {
    const auto tag = type == field_type::task ? type_tag::task : type_tag::region;
    return e.subject == id && (high_half(e.object) >> 8) == static_cast<std::uint32_t>(tag);
  }
  const auto holds = [&](const operand_info& operand, std::uint64_t value) {
    if (operand.high == field_type::none) return operand.low == type && value == id;
    return (operand.low == type && low_half(value) == id) || (operand.high == type && high_half(value) == id);
  };
  return (row.subject == type && e.subject == id) || (resolve_object(e, row.object) == type && e.object == id) ||
         holds(row.a, e.a) || holds(row.b, e.b);
}

bool is_wanted(const event& e, const selection& want) {
  if (e.seq < want.from) return false;
  if (want.task != 0 && !names(e, field_type::task, want.task)) return false;
  if (want.region != 0 && !names(e, field_type::region, want.region)) return false;
  return want.kinds.empty() || std::find(want.kinds.begin(), want.kinds.end(), e.kind) != want.kinds.end();
}

// A name may stand after the events that it is used in, so names are gathered before anything is shown. That is
// reading twice, but only names are kept: the file may be larger than the memory.
name_book learn_names(const std::string& path, std::uint64_t to) {
  journal_input in(path);
  name_book out;
  for (event e; in.next(e) && e.seq <= to;) out.learn(e);
  return out;
}

void show(const show_words& w, const session& s) {
  const selection want = parse_selection(w);
  journal_input in(w.file);
  const name_book book = s.json ? name_book() : learn_names(w.file, want.to);
  std::string lines;
  if (!s.json && in.header().seq_before > 0 && want.from <= in.header().seq_before) {
    lines = fmt::format("         ... the events before {} are not here\n", in.header().seq_before + 1);
  }
  bool stopped = false;
  for (event e; !stopped && in.next(e);) {
    stopped = e.seq > want.to;
    if (stopped || !is_wanted(e, want)) continue;
    if (s.json) {
      append_json(lines, e);
    } else if (e.kind != event_kind::text || !want.kinds.empty()) {
      append_text_line(lines, e, &book);
    }
    if (lines.size() < 32'768) continue;
    fmt::print("{}", lines);
    lines.clear();
  }
  fmt::print("{}", lines);
  if (stopped) return;
  in.tell_cut();
  std::fflush(stdout);  // What is intact comes first, then what is wrong.
  in.refuse_damage();
}

}  // namespace

void print_events(const std::string& file, bool as_json) {
  session how;
  how.json = as_json;
  show({.file = file, .from = {}, .to = {}, .task = {}, .region = {}, .kinds = {}}, how);
}

void add_journal_show(CLI::App& journal, session& s) {
  auto* const verb = journal.add_subcommand("show", "The events in words; with --json as JSON Lines");
  auto w = std::make_shared<show_words>();
  verb->add_option("FILE", w->file, "A journal, binary or JSON Lines")->required();
  verb->add_option("--from", w->from, "The number of the first event to show");
  verb->add_option("--to", w->to, "The number of the last one; nothing after it is read");
  verb->add_option("--task", w->task, "Only events that name this task");
  verb->add_option("--region", w->region, "Only events that name this region");
  verb->add_option("--kind", w->kinds, "Only events of this kind, such as task_woken; may be given again")
      ->allow_extra_args(false);
  verb->callback([w, &s] { show(*w, s); });
}

}  // namespace asx::cli
