// asx journal why FILE QUESTION ID - why a task was cancelled, is blocked, was refused, was late (exit 1: it was not).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/why.hpp"

namespace asx::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> questions{"cancelled", "blocked", "refused", "late"};

struct why_words {
  std::string file, question, id, at;
};

struct answer {
  bool yes = false;  // What was asked about did happen.
  std::string text;
  json fields;
};

std::string_view type_name(field_type type) {
  switch (type) {
    case field_type::region: return "region";
    case field_type::task: return "task";
    case field_type::channel: return "channel";
    case field_type::timer: return "timer";
    case field_type::sync: return "sync";
    default: return "outside";
  }
}

json chain_to_json(const cause_chain& chain) {
  json events = json::array();
  for (const event& e : chain.events) events.push_back(to_json(e));
  return {{"events", events}, {"beyond", chain.beyond}};
}

answer explain_cancelled(std::span<const event> events, std::uint64_t task) {
  const cancelled_answer why = why_cancelled(events, task);
  json fields{{"cancelled", why.cancelled}};
  if (why.cancelled) fields.update(json{{"kind", name(why.kind)}, {"chain", chain_to_json(why.chain)}});
  return {why.cancelled, why.text, fields};
}

answer explain_blocked(std::span<const event> events, std::uint64_t task) {
  static constexpr std::array<std::string_view, 5> states{"unknown", "queued", "running", "waiting", "completed"};
  static constexpr std::array<std::string_view, 8> waits{"other", "recv",  "reserve", "timer",
                                                         "join",  "close", "sync",    "foreign"};
  const blocked_answer why = why_blocked(events, task);
  const bool waiting = why.doing == blocked_answer::state::waiting;
  json fields{{"state", states[static_cast<std::size_t>(why.doing)]},
              {"since_seq", json_number(why.since_seq)},
              {"since_time", json_number(why.since_ns)}};
  if (waiting) {
    const auto what = static_cast<std::size_t>(why.waits_for);
    json wakers = json::array();
    for (const waker_candidate& w : why.wakers) {
      wakers.push_back(
          {{"type", type_name(w.type)}, {"id", json_number(w.id)}, {"role", w.role}, {"can_run", w.can_run}});
    }
    json all = json::array();
    for (const told_wait& wait : why.waits) {
      const auto which = static_cast<std::size_t>(wait.what);
      all.push_back(
          {{"waits_for", which < waits.size() ? waits[which] : "other"}, {"object", json_number(wait.object)}});
    }
    fields.update(json{{"waits", all},
                       {"waits_for", what < waits.size() ? waits[what] : "other"},
                       {"object", json_number(why.object)},
                       {"stuck", why.stuck},
                       {"wakers", wakers}});
  }
  return {waiting, why.text, fields};
}

answer explain_refused(std::span<const event> events, std::uint64_t task) {
  const auto seq = last_refusal_of(events, task);
  if (!seq) {
    std::string who = task == 0 ? "the outside" : fmt::format("task {}", task);
    return {false, fmt::format("nothing was refused to {}, as far as the journal goes\n", who), {{"refused", false}}};
  }
  const refused_answer why = why_refused(events, *seq);
  const status_info* const code = find_status(static_cast<std::uint32_t>(why.code));
  json holders = json::array();
  for (const limit_holder& h : why.holders) {
    holders.push_back({{"type", type_name(h.type)}, {"id", json_number(h.id)}, {"count", h.count}});
  }
  json fields{{"refused", why.refused},           {"seq", json_number(*seq)},
              {"call", name(why.call)},           {"status", code != nullptr ? code->name : "unknown"},
              {"limit", name(why.limit)},         {"value", json_number(why.value)},
              {"at", json_number(why.at)},        {"holders", holders},
              {"chain", chain_to_json(why.chain)}};
  return {why.refused, why.text, fields};
}

answer explain_late(std::span<const event> events, std::uint64_t task) {
  const late_answer why = why_late(events, task);
  json fields{{"known", why.known}};
  if (why.known) {
    json before = json::array();
    for (const ran_before& b : why.before) {
      before.push_back({{"task", json_number(b.task)},
                        {"lane", name(b.lane)},
                        {"seq", json_number(b.seq)},
                        {"took", json_number(b.took_ns)}});
    }
    fields.update(json{{"dispatched", why.dispatched},
                       {"woken_seq", json_number(why.woken_seq)},
                       {"dispatched_seq", json_number(why.dispatched_seq)},
                       {"waited", json_number(why.waited_ns)},
                       {"lane", name(why.lane)},
                       {"worker", why.worker},
                       {"before", before}});
  }
  return {why.known, why.text, fields};
}

// By its number, or by the name that it was given; of several with one name the last.
std::uint64_t find_task(const std::string& word, std::span<const event> events) {
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
    return parse_number(word, "number of a task");
  }
  const name_book book(events);
  std::uint64_t found = 0;
  std::vector<std::string> names;
  for (const event& e : events) {
    if (e.kind != event_kind::task_spawned) continue;
    names.emplace_back(book.find(field_type::task, e.subject));
    if (names.back() == word) found = e.subject;
  }
  if (found != 0) return found;
  throw bad_word(fmt::format("'{}' is no number of a task, and no task of this run has that name.{}", word,
                             suggestion(word, std::vector<std::string_view>(names.begin(), names.end()))));
}

void why(const why_words& w, session& s) {
  if (std::find(questions.begin(), questions.end(), w.question) == questions.end()) {
    throw bad_word(fmt::format("'{}' is no question.{} There are cancelled, blocked, refused and late.", w.question,
                               suggestion(w.question, questions)));
  }
  const std::uint64_t at = parse_seq(w.at, UINT64_MAX);
  if (w.id == "0" && w.question != "refused") {
    throw bad_word("'0' is no number of a task: they are counted from 1; only refusals can be met from outside");
  }
  journal_input in(w.file);
  const std::vector<event> events = read_until(in, at);
  const std::uint64_t task = find_task(w.id, events);
  const answer found = w.question == "cancelled" ? explain_cancelled(events, task)
                       : w.question == "blocked" ? explain_blocked(events, task)
                       : w.question == "refused" ? explain_refused(events, task)
                                                 : explain_late(events, task);
  if (s.json) {
    json out{{"question", w.question}, {"task", json_number(task)}};
    out.update(found.fields);
    out["text"] = found.text;
    put_json(out);
  } else {
    fmt::print("{}", found.text);
  }
  s.exit_code = found.yes ? 0 : 1;
}

}  // namespace

void add_journal_why(CLI::App& journal, session& s) {
  auto* const verb = journal.add_subcommand("why", "Why a task was cancelled, is blocked, was refused, was late");
  auto w = std::make_shared<why_words>();
  verb->add_option("FILE", w->file, "A journal, or a scenario, which is played")->required();
  verb->add_option("QUESTION", w->question, "cancelled, blocked, refused or late")->required();
  verb->add_option("ID", w->id, "The number of the task, or its name; refused 0 asks about calls from outside")
      ->required();
  verb->add_option("--at", w->at, "As it was after this event; at the end of the journal by default");
  verb->footer("Exit 1 when it was not cancelled, is not blocked, was not refused, or never had to wait.");
  verb->callback([w, &s] { why(*w, s); });
}

}  // namespace asx::cli
