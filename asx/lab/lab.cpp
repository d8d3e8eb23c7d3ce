#include "asx/lab/lab.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/coro/run.hpp"
#include "asx/journal/compare.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/digest.hpp"
#include "asx/journal/file.hpp"
#include "asx/journal/why.hpp"
#include "asx/kernel/extension.hpp"
#include "asx/kernel/report.hpp"
#include "asx/lab/detail/channel_accounts.hpp"
#include "asx/lab/replay_live.hpp"

namespace asx {

namespace {

// One run, named: what a token says.
struct plan {
  std::uint64_t seed = 1;
  std::uint32_t workers = 1;
  lab_fault fault = lab_fault::none;
  std::uint64_t at = 0;
};

constexpr std::uint32_t most_workers = 64;
constexpr std::array<std::string_view, 8> fault_names{"none",        "cancel",    "polls",        "memory",
                                                      "cancel_body", "admission", "region_polls", "cost"};

std::string_view name_of(lab_fault fault) {
  return fault_names[static_cast<std::size_t>(fault)];
}

std::string hex(const digest128& d) {
  const auto digits = d.hex();
  return {digits.data(), digits.size()};
}

std::string token_of(const plan& p, const digest128& digest) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "lab1.%" PRIx64 ".%" PRIu32 ".%s.%" PRIu64 ".%s", p.seed, p.workers,
                std::string(name_of(p.fault)).c_str(), p.at, hex(digest).substr(0, 16).c_str());
  return text.data();
}

// The part before the next point, which goes with it.
std::string_view cut_part(std::string_view& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view part = text.substr(0, point);
  text.remove_prefix(std::min(point + 1, text.size()));
  return part;
}

template <class Number>
bool read_number(std::string_view text, int base, Number& out) {
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return code == std::errc{} && rest == text.data() + text.size();
}

bool read_token(std::string_view text, plan& out, std::string& digest) {
  if (cut_part(text) != "lab1") return false;
  if (!read_number(cut_part(text), 16, out.seed) || !read_number(cut_part(text), 10, out.workers)) return false;
  const auto* const at = std::find(fault_names.begin(), fault_names.end(), cut_part(text));
  if (!read_number(cut_part(text), 10, out.at)) return false;
  digest = text;
  if (digest.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  if (at == fault_names.end() || out.workers == 0 || out.workers > most_workers || digest.size() != 16) return false;
  out.fault = static_cast<lab_fault>(at - fault_names.begin());
  return true;
}

// Memory that refuses once, at the n-th request.
struct refusing_memory {
  memory_port under = heap_memory();
  std::uint64_t requests = 0;
  std::uint64_t refuse_at = 0;
  bool has_refused = false;

  [[nodiscard]] memory_port port() noexcept {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto& m = *static_cast<refusing_memory*>(self);
              if (++m.requests == m.refuse_at) {
                m.has_refused = true;
                return nullptr;
              }
              return m.under.allocate(m.under.context, bytes, alignment);
            },
            [](void* self, void* block, std::size_t bytes, std::size_t alignment) noexcept {
              auto& m = *static_cast<refusing_memory*>(self);
              m.under.release(m.under.context, block, bytes, alignment);
            }};
  }
};

// What was struck fails with the fault itself; who lost a peer by it is told so.
bool is_of_fault(lab_fault fault, outcome_kind how, status code) noexcept {
  if (how != outcome_kind::err) return false;
  switch (fault) {
    case lab_fault::none: return false;
    case lab_fault::admission:
    case lab_fault::memory: return code == status::resource_exhausted || code == status::disconnected;
    case lab_fault::cancel:
    case lab_fault::cancel_body: return code == status::cancelled || code == status::disconnected;
    default: return code == status::budget_exhausted || code == status::cancelled || code == status::disconnected;
  }
}

std::string file_and_line(const std::source_location& site) {
  std::string_view file = site.file_name();
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ':' + std::to_string(site.line());
}

// Who it is, and where it stands; while it is polled it stands nowhere.
std::string words_of_struck(const kernel& k, task_handle task) {
  task_report now;
  if (k.inspect(task, now) != status::ok) return {};
  std::string out = "task " + std::to_string(now.id.value);
  if (const std::string_view called = extension::name_of(k, now.id); !called.empty()) {
    out.append(" '").append(called).append("'");
  }
  if (k.current_task() == now.id) return out + ", in a poll";
  std::array<std::source_location, 1> at;
  if (await_sites(k, task, at) != 0) return out + ", where it waits at " + file_and_line(at.front());
  return out + (now.polls == 0 ? ", before it began" : ", behind its poll " + std::to_string(now.polls));
}

std::string words_of_failed_cleanup(task_id who, std::string_view called, const error& why) {
  std::string out = "task " + std::to_string(who.value);
  if (!called.empty()) out.append(" '").append(called).append("'");
  out.append(" was cancelled, and its cleanup ended with ").append(name(why.code));
  if (why.detail != 0) out.append(" (").append(std::to_string(why.detail)).append(")");
  if (why.code == status::region_not_open) {
    out += ": no block is opened in a region that closes; `within` limits a wait there, without one";
  }
  return out;
}

// Counts the points of a run, and strikes at one of them.
struct injector {
  explicit injector(const plan& p) : what(p.fault), at(p.at) {}
  lab_fault what;
  std::uint64_t at;
  std::uint64_t hits = 0;
  const kernel* of = nullptr;  // While it runs: whom a strike is about.
  std::string struck;          // The first of them, in words.
  bool has_cancelled_body = false;
  const refusing_memory* memory = nullptr;
  std::string failed_cleanup;             // The first that no strike explains, in words,
  std::uint64_t failed_at = 0;            // and the event of its end.
  std::array<std::uint64_t, 4> points{};  // By fault_point.
  std::uint64_t most_polls = 0;           // That anybody had had when it was polled once more.

  [[nodiscard]] std::uint64_t count(fault_point p) const { return points[static_cast<std::size_t>(p)]; }
  [[nodiscard]] fault_port port() noexcept {
    return {.context = this,
            .strikes = &injector::strikes,
            .explains = &injector::explains,
            .hears_failed_cleanup = &injector::hears_failed_cleanup,
            .message = "the lab cancels here"};
  }
  [[nodiscard]] bool has_hit() const noexcept {
    return hits != 0 || has_cancelled_body || (memory != nullptr && memory->has_refused);
  }
  static bool explains(void* self, outcome_kind how, status code) noexcept {
    const auto& i = *static_cast<const injector*>(self);
    return i.has_hit() && is_of_fault(i.what, how, code);
  }
  static void hears_failed_cleanup(void* self, task_id who, std::string_view called, const error& why,
                                   std::uint64_t ended) noexcept {
    auto& i = *static_cast<injector*>(self);
    if (i.failed_at != 0 || explains(self, outcome_kind::err, why.code)) return;
    i.failed_at = ended;
    i.failed_cleanup = words_of_failed_cleanup(who, called, why);
  }
  static bool strikes(void* self, fault_point p, std::uint64_t polls) noexcept {
    auto& i = *static_cast<injector*>(self);
    const std::uint64_t number = ++i.points[static_cast<std::size_t>(p)];
    if (p == fault_point::poll) i.most_polls = std::max(i.most_polls, polls);
    const bool is_struck = i.is_for(p) && (i.what == lab_fault::region_polls ? polls : number) == i.at;
    i.hits += is_struck ? 1 : 0;
    if (is_struck && i.of != nullptr && i.struck.empty())
      i.struck = words_of_struck(*i.of, extension::struck_task(*i.of));
    return is_struck;
  }
  [[nodiscard]] bool is_for(fault_point p) const noexcept {
    switch (what) {
      case lab_fault::cancel: return p == fault_point::cancel;
      case lab_fault::admission: return p == fault_point::admission;
      case lab_fault::polls:
      case lab_fault::region_polls: return p == fault_point::poll;
      case lab_fault::cost: return p == fault_point::cost;
      default: return false;
    }
  }
};

struct run_record {
  std::string finding;
  std::uint64_t found_at = 0;  // The last event before the finding, or the one that is it; 0: the run's last.
  bool was_cut_off = false;    // The ring has lost what the finding would have needed.
  digest128 digest{};
  std::vector<event> events;  // Those that the ring kept; all, when there is a file for them.
  std::uint64_t steps = 0;
  std::uint64_t requests = 0;  // For memory, from the body's start.
  injector points{plan{}};
  bool was_hit = false;

  [[nodiscard]] std::uint64_t points_for(lab_fault fault) const {
    switch (fault) {
      case lab_fault::cancel: return points.count(fault_point::cancel);
      case lab_fault::cancel_body: return steps;
      case lab_fault::admission: return points.count(fault_point::admission);
      case lab_fault::polls: return points.count(fault_point::poll);
      case lab_fault::region_polls: return points.most_polls;
      case lab_fault::cost: return points.count(fault_point::cost);
      case lab_fault::memory: return requests;
      case lab_fault::none: break;
    }
    return 0;
  }
};

std::vector<event> events_of(journal& log) {
  std::vector<event> out;
  for (std::uint64_t i = 0; i < log.size(); ++i) out.push_back(log.at(i));
  return out;
}

// Who waits for what, and who could wake them.
std::string knot(runtime& rt, const blocked_view& view) {
  std::string out = "blocked for ever:\n" + describe_survivors(rt.kernel());
  if (rt.kernel().foreign_holds() != 0) {
    out += "somebody outside still holds a promise; virtual time waits for no thread (R-281): let a task keep it\n";
  }
  rt.kernel().for_each_region([&](const auto& r) {
    for (auto* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
      out += view.why_blocked(t->task().value).text;
    }
  });
  return out;
}

std::string so_many(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + ' ' + std::string(what) + (count == 1 ? "" : "s");
}

/// Events of one kind: how many, and which was the first.
struct tally {
  std::uint64_t count = 0;
  std::uint64_t first = 0;     // Its subject,
  std::uint64_t first_at = 0;  // and its number.
  void take(const event& e) {
    if (++count != 1) return;
    first = e.subject;
    first_at = e.seq;
  }
};

// Of the whole run: the journal's ring forgets.
struct counts {
  tally leaks;
  tally forced;
  tally panics;
  std::uint64_t unbalanced_at = 0;
  name_book of_first;  // What the first to panic said.
  detail::channel_accounts channels;
  bool keeps_all = false;
  std::vector<event> all;
  std::optional<blocked_view> view;  // Of a run whose knot is to be told from its beginning.

  [[nodiscard]] event_sink sink() noexcept {
    return {this, [](void* self, std::span<const event> batch) noexcept {
              for (const event& e : batch) static_cast<counts*>(self)->take(e);
            }};
  }
  void take(const event& e) {
    if (e.kind == event_kind::obligation_leaked) leaks.take(e);
    if (e.kind == event_kind::task_force_completed) forced.take(e);
    if (e.kind == event_kind::task_panicked) panics.take(e);
    if (e.kind == event_kind::text && panics.count != 0 && e.subject == panics.first) of_first.learn(e);
    channels.take(e);
    if (unbalanced_at == 0 && !channels.finding().empty()) unbalanced_at = e.seq;
    if (keeps_all) all.push_back(e);
    if (view) view->take(e);
  }
  [[nodiscard]] std::string words_of_panics(journal& log) const {
    const name_book names(events_of(log));
    const std::string_view said = of_first.find(field_type::task, panics.first, text_code::panic);
    std::string out;
    append_value(out, field_type::task, panics.first, &names);
    out += " panicked";
    if (!said.empty()) out.append(": ").append(said);
    return panics.count == 1 ? out : out + ", and " + std::to_string(panics.count - 1) + " more panicked";
  }
  [[nodiscard]] std::string words_of_forced(journal& log) const {
    const name_book names(events_of(log));
    std::string out;
    append_value(out, field_type::task, forced.first, &names);
    out += " overran its cleanup budget and was completed by force";
    return forced.count == 1 ? out : out + ", and so did " + so_many(forced.count - 1, "more task");
  }
};

void judge(runtime& rt, const lab_options& options, const counts& seen, std::uint64_t unheard_at, run_record& out) {
  rt.journal().settle();
  const auto find = [&out](std::string finding, std::uint64_t at) {
    out.finding = std::move(finding);
    out.found_at = at;
  };
  const std::uint64_t leaks = seen.leaks.count;
  if (out.finding.empty() && rt.kernel().unheard().kind != outcome_kind::ok && !options.may_fail) {
    find(detail::words_of_unheard(rt.kernel()), unheard_at);
  }
  if (out.finding.empty() && seen.panics.count != 0 && !options.may_panic) {
    find(seen.words_of_panics(rt.journal()), seen.panics.first_at);
  }
  if (out.finding.empty() && out.points.failed_at != 0 && !options.may_fail_cleanup) {
    find(out.points.failed_cleanup, out.points.failed_at);
  }
  if (out.finding.empty()) find(seen.channels.finding(), seen.unbalanced_at);
  if (out.finding.empty() && leaks != 0 && !options.may_leak) {
    find(so_many(leaks, "obligation") + " leaked\n" + rt.kernel().ghosts().report(), seen.leaks.first_at);
  }
  if (out.finding.empty() && rt.kernel().ghosts().violations() != leaks && !options.may_leak) {
    out.finding = "ghosts were violated\n" + rt.kernel().ghosts().report();
  }
  if (out.finding.empty() && seen.forced.count != 0 && !options.may_overrun) {
    find(seen.words_of_forced(rt.journal()), seen.forced.first_at);
  }
}

// Whose turn it is, and what they found nowhere, is most of a journal, and tells of no program.
bool is_of_program(const event& e) {
  using enum event_kind;
  switch (e.kind) {
    case worker_chosen:
    case worker_idled:
    case worker_parked:
    case worker_unparked:
    case steal_missed:
    case queue_depths:
    case text: return false;
    default: return true;
  }
}

// The last events before something was found: afterwards the run was shut down.
std::string tail_of(std::span<const event> events, std::uint64_t found_at) {
  const name_book names(events);
  std::vector<const event*> last;
  for (std::size_t i = events.size(); i-- > 0 && last.size() < 24;) {
    if ((found_at == 0 || events[i].seq <= found_at) && is_of_program(events[i])) last.push_back(&events[i]);
  }
  std::string out;
  for (std::size_t i = last.size(); i-- > 0;)
    out += "  " + std::to_string(last[i]->seq) + "  " + describe(*last[i], &names) + '\n';
  return out;
}
std::string tail_of(const run_record& r) {
  const std::string out = tail_of(r.events, r.found_at);
  return out.empty() ? tail_of(r.events, 0) : out;  // It was found long ago, and the ring has lost that.
}

run_record run_once(const lab_options& options, const plan& p, const lab_body& body, bool is_followed) {
  run_record out;
  out.points = injector(p);
  refusing_memory memory;
  runtime_config config;
  config.contract = options.contract;
  config.behaviour = options.behaviour;
  config.behaviour.ghosts = ghost_mode::on;
  config.seed = p.seed;
  config.workers = p.workers;
  config.order = worker_order::kind::drawn;
  config.ready_tiebreak = tie_break::rng;
  config.memory = memory.port();
  counts seen_events;
  seen_events.keeps_all = !options.journal.empty();
  if (is_followed) seen_events.view.emplace();
  config.sink = seen_events.sink();
  runtime rt(config);
  if (rt.start_status() != status::ok) {
    out.finding = "the runtime did not start: " + std::string(sentence(rt.start_status()));
    return out;
  }
  const std::uint64_t before = memory.requests;
  if (p.fault == lab_fault::memory) memory.refuse_at = before + p.at;
  auto first = spawn_in(rt.kernel(), rt.root(), {.name = "body", .site = std::source_location{}}, body);
  out.points.memory = &memory;
  out.points.of = &rt.kernel();
  rt.kernel().set_faults(out.points.port());
  if (first.code == status::ok && p.fault == lab_fault::cancel_body) {
    const run_result ran = rt.run_until_quiescent(p.at);
    out.steps += ran.steps;
    out.points.has_cancelled_body = !first.handle.is_done();
    if (out.points.has_cancelled_body) {
      out.points.struck = words_of_struck(rt.kernel(), first.handle.task());
      static_cast<void>(first.handle.cancel({cancel_kind::user, "the lab cancels here"}));
    }
  }
  const run_result ran = rt.run_until_quiescent(options.max_steps);
  out.steps += ran.steps;
  memory.refuse_at = 0;
  out.was_hit = out.points.has_hit();
  out.requests = memory.requests - before;
  if (ran.ended != status::ok) {
    out.finding = "after " + std::to_string(out.steps) + " steps there is still work: " + std::string(name(ran.ended)) +
                  '\n' + describe_survivors(rt.kernel());
  } else if (rt.kernel().live_tasks() != 0 && !options.may_block) {
    rt.journal().settle();
    if (!seen_events.view) {
      out.was_cut_off = !seen_events.keeps_all && rt.journal().seq_before() != 0;
      seen_events.view.emplace(seen_events.keeps_all ? seen_events.all : events_of(rt.journal()));
    }
    out.finding = knot(rt, *seen_events.view);
    seen_events.view.reset();
  }
  const std::uint64_t before_shutdown = rt.journal().seq();
  const std::uint64_t unheard_at = rt.kernel().unheard().kind == outcome_kind::ok ? 0 : before_shutdown;
  const bool may_fail = options.may_fail || out.was_hit;
  if (first.code != status::ok) {
    if (!may_fail) out.finding = "the body was not spawned: " + std::string(sentence(first.code));
  } else if (out.finding.empty() && first.handle.is_done()) {
    outcome<unit> how_it_went;
    static_cast<void>(first.handle.take(how_it_went));
    if (!how_it_went.is_ok() && (!may_fail || (how_it_went.is_panicked() && !options.may_panic))) {
      const auto& o = how_it_went;
      out.finding = "the body ended " + detail::words_of(o.kind(), o.is_err() ? &o.error() : nullptr,
                                                         o.is_cancelled() ? &o.cancelled_by() : nullptr,
                                                         o.is_panicked() ? &o.panic() : nullptr);
    }
  }
  first.handle.drop();
  const shutdown_result end = rt.shutdown({}, options.max_steps);
  if (!out.finding.empty()) out.found_at = before_shutdown;
  if (out.finding.empty() && !end.is_quiescent()) out.finding = "not at rest after shutdown:\n" + end.survivors;
  rt.kernel().set_faults({});
  out.was_hit = out.points.has_hit();  // What is cleaned up in a shutdown may be refused, too.
  out.points.memory = nullptr;
  judge(rt, options, seen_events, unheard_at, out);
  if (out.finding.empty() && options.has_failed != nullptr && options.has_failed()) {
    out.finding = "an expectation did not hold";
    out.found_at = before_shutdown;
  }
  out.points.of = nullptr;
  out.digest = rt.journal().digest();
  out.events = seen_events.keeps_all ? std::move(seen_events.all) : events_of(rt.journal());
  return out;
}

// A knot is tied long before it is pulled: where the ring has lost who took what, the run is made again and watched.
run_record run_once(const lab_options& options, const plan& p, const lab_body& body) {
  run_record r = run_once(options, p, body, false);
  if (!r.was_cut_off) return r;
  run_record again = run_once(options, p, body, true);
  return again.digest == r.digest ? std::move(again) : std::move(r);
}

// A stream as the ports of journals.
struct file_port {
  explicit file_port(const std::string& path, const char* how) : stream(std::fopen(path.c_str(), how)) {}
  ~file_port() {
    if (stream != nullptr) std::fclose(stream);
  }
  file_port(const file_port&) = delete;
  file_port& operator=(const file_port&) = delete;

  [[nodiscard]] write_port writer() noexcept {
    return {this, [](void* self, std::span<const std::byte> bytes) noexcept -> std::int64_t {
              errno = 0;
              std::FILE* const to = static_cast<file_port*>(self)->stream;
              const std::size_t written = std::fwrite(bytes.data(), 1, bytes.size(), to);
              const bool has_failed = written != bytes.size() || std::fflush(to) != 0;
              return has_failed ? -std::int64_t{errno == 0 ? EIO : errno} : static_cast<std::int64_t>(written);
            }};
  }
  [[nodiscard]] read_port reader() noexcept {
    return {this, [](void* self, std::uint64_t offset, std::span<std::byte> into) noexcept -> std::int64_t {
              std::FILE* const from = static_cast<file_port*>(self)->stream;
              if (std::fseek(from, static_cast<long>(offset), SEEK_SET) != 0) return -std::int64_t{errno};
              const std::size_t got = std::fread(into.data(), 1, into.size(), from);
              return std::ferror(from) != 0 ? -std::int64_t{EIO} : static_cast<std::int64_t>(got);
            }};
  }

  std::FILE* stream;
};

// The run that was found, for a replay and for the asx command.
void keep(lab_result& result, const lab_options& options, const run_record& r) {
  if (options.journal.empty()) return;
  file_port file(options.journal, "wb");
  bin_writer out;
  const bool is_kept = file.stream != nullptr &&
                       out.open(heap_memory(), file.writer(), journal_header::of("lab", result.seed)) == status::ok &&
                       (out.append(r.events), out.close()) == status::ok;
  result.journal = is_kept ? options.journal : std::string();
  if (!is_kept) result.finding += "\nits journal cannot be written to '" + options.journal + "'";
}

void tell(lab_result& result, const plan& p, const run_record& r) {
  result.seed = p.seed;
  result.at = p.at;
  result.fault = p.fault;
  result.digest = r.digest;
  result.token = token_of(p, r.digest);
  result.faults += r.was_hit ? 1 : 0;
  if (r.finding.empty() || !result.is_ok) return;
  result.is_ok = false;
  result.finding = r.finding;
  result.struck = r.points.struck;
  result.tail = tail_of(r);
}

// Where two runs of one seed part; nothing when the ring has lost how they began.
std::string parting(const std::vector<event>& first, const std::vector<event>& second) {
  if (first.empty() || second.empty() || first.front().seq != 1 || second.front().seq != 1) return {};
  span_reader a(first);
  span_reader b(second);
  return explain(compare(source_of(a), source_of(b)));
}

// Where a run parts from the one that a file keeps, whose digest begins so; or why nobody can say.
std::string parting_from(const std::string& path, const std::string& digest, const std::vector<event>& now) {
  file_port file(path, "rb");
  if (file.stream == nullptr) return "the journal '" + path + "' cannot be read\n";
  live_recording recorded;
  const journal_fault fault = read_recording(file.reader(), recorded);
  if (fault.code != status::ok) return "the journal '" + path + "': " + fault.sentence + '\n';
  digest_stream all;
  add_events(all, recorded.events);
  if (hex(all.value()).substr(0, 16) != digest) return "the journal '" + path + "' is of another run\n";
  return parting(recorded.events, now);
}

bool is_asked_well(const lab_options& options, lab_result& out) {
  if (options.seeds == 0U) out.finding = "no seed is asked for, so nothing is shown";
  if (options.workers > most_workers) {
    out.finding = "at most " + std::to_string(most_workers) + " virtual workers can be asked for";
  }
  out.is_ok = out.finding.empty();
  return out.is_ok;
}

plan plan_of(const lab_options& options, std::uint64_t seed) {
  return {seed, 1 + static_cast<std::uint32_t>(seed % (options.workers == 0 ? 1 : options.workers)), lab_fault::none,
          0};
}

}  // namespace

std::string lab_result::report() const {
  std::string out;
  if (is_ok) {
    return std::to_string(runs) + " runs, " + std::to_string(faults) + " faults, nothing found; digest " + hex(digest) +
           '\n';
  }
  out = "seed " + std::to_string(seed) + ", run " + std::to_string(runs);
  if (fault != lab_fault::none) out += ", " + std::string(name_of(fault)) + " at point " + std::to_string(at);
  out += ": " + finding;
  if (out.back() != '\n') out += '\n';
  if (!struck.empty()) out += "struck: " + struck + '\n';
  out += "replay: " + token + '\n';
  if (!journal.empty()) out += "its journal: " + journal + '\n';
  out += "the last events:\n" + tail;
  return out;
}

lab_result explore(const lab_options& options, const lab_body& body) {
  lab_result result;
  if (!is_asked_well(options, result)) return result;
  for (std::uint64_t i = 0; i < options.seeds.value_or(32) && result.is_ok; ++i) {
    const plan p = plan_of(options, options.first_seed + i);
    const run_record first = run_once(options, p, body);
    ++result.runs;
    tell(result, p, first);
    if (!result.is_ok) {
      keep(result, options, first);
      break;
    }
    const run_record second = run_once(options, p, body);
    ++result.runs;
    tell(result, p, second);
    if (!result.is_ok) keep(result, options, second);
    if (!result.is_ok || second.digest == first.digest) continue;
    result.is_ok = false;
    result.tail = tail_of(second.events, 0);
    result.finding = "the same seed gave two digests, " + hex(first.digest) + " and " + hex(second.digest) +
                     ": the program depends on something that the lab does not hold\n" +
                     parting(first.events, second.events);
    keep(result, options, second);
  }
  return result;
}

lab_result sweep(const lab_options& options, lab_fault fault, const lab_body& body) {
  lab_result result;
  if (!is_asked_well(options, result)) return result;
  for (std::uint64_t i = 0; i < options.seeds.value_or(1) && result.is_ok; ++i) {
    plan p = plan_of(options, options.first_seed + i);
    std::uint64_t points = 0;
    for (; p.at <= points && result.is_ok; ++p.at) {  // At point 0 nothing strikes, and the others are counted.
      const run_record r = run_once(options, p, body);
      ++result.runs;
      tell(result, p, r);
      if (!result.is_ok) keep(result, options, r);
      if (p.at == 0) points = r.points_for(fault);
      p.fault = fault;
    }
  }
  if (result.is_ok && result.faults == 0) {
    result.is_ok = false;
    result.finding = "the sweep hit nothing: the run has no point where " + std::string(name_of(fault)) + " can strike";
  }
  return result;
}

lab_result replay(const lab_options& options, const std::string& token, const lab_body& body) {
  lab_result result;
  plan p;
  std::string digest;
  if (!read_token(token, p, digest)) {
    result.is_ok = false;
    result.token = token;
    result.finding = "this is no token: '" + token + "'; one looks like lab1.1.2.none.0.0123456789abcdef";
    return result;
  }
  const run_record r = run_once(options, p, body);
  result.runs = 1;
  tell(result, p, r);
  if (hex(r.digest).substr(0, 16) != digest) {
    result.is_ok = false;
    result.finding = "the run of this token had the digest " + digest + ", and is now " + hex(r.digest).substr(0, 16) +
                     ": the program is another" + (result.finding.empty() ? "" : "; it ends with: " + result.finding);
    if (!options.journal.empty()) result.finding += '\n' + parting_from(options.journal, digest, r.events);
    result.tail = tail_of(r);
  }
  return result;
}

}  // namespace asx
