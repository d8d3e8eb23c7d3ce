// asx demo - a server is stopped: what the laws of asx say about it, step by step.
#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/memory.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/journal.hpp"
#include "asx/journal/schedule_check.hpp"
#include "asx/journal/why.hpp"
#include "asx/model/cause_store.hpp"
#include "asx/model/handle.hpp"
#include "asx/model/witness.hpp"

namespace asx::cli {
namespace {

// What the demo said, for people or as JSON, and a digest over it: the same on every machine.
class story {
 public:
  explicit story(bool json) : json_(json) {}

  void chapter(std::string_view title) {
    record(title);
    if (json_) {
      chapters_.push_back({{"title", title}, {"lines", nlohmann::ordered_json::array()}});
    } else {
      fmt::print("\n{}\n", title);
    }
  }
  void line(const std::string& text) {
    record(text);
    if (json_) {
      chapters_.back()["lines"].push_back(text);
    } else {
      fmt::print("  {}\n", text);
    }
  }
  void end() const {
    const auto hex = digest_.value().hex();
    const std::string_view digest(hex.data(), hex.size());
    if (json_) {
      fmt::print("{}\n", nlohmann::ordered_json{{"chapters", chapters_}, {"digest", digest}}.dump());
    } else {
      fmt::print("\ndigest {}  (the same on every compiler and machine)\n", digest);
    }
  }

 private:
  void record(std::string_view text) { digest_.add(std::as_bytes(std::span(text))); }

  bool json_;
  nlohmann::ordered_json chapters_ = nlohmann::ordered_json::array();
  digest_stream digest_;
};

void budgets_are_inherited(story& tell) {
  tell.chapter("1. A request inherits the tighter part of every limit (R-50, R-56)");
  const budget server = parse_budget("deadline=10s,polls=100000,priority=64");
  const budget asked = parse_budget("deadline=30s,cost=500,priority=128");
  const budget request = meet(server, asked);
  const meet_origin origin = origin_of_meet(server, asked);
  tell.line("server   " + show(server));
  tell.line("asked    " + show(asked));
  tell.line("request  " + show(request));
  tell.line(fmt::format("the deadline is the {}'s, the cost limit the {}'s",
                        origin.deadline == meet_side::left ? "server" : "request",
                        origin.cost_quota == meet_side::left ? "server" : "request"));
  budget left = request;
  const status taken = left.consume_cost(450), refused = left.consume_cost(100);
  tell.line(fmt::format("consume_cost(450): {}; consume_cost(100): {}, and {} are still left", name(taken),
                        name(refused), left.cost_quota));
}

void a_cancel_has_a_chain_of_causes(story& tell) {
  tell.chapter("2. The operator stops the server; every task knows why (R-41, R-44)");
  cause_store<8> causes;
  cancel_reason stop;
  stop.kind = cancel_kind::user;
  stop.origin_region = region_id(1);
  stop.timestamp = instant{} + duration::seconds(5);
  stop.message = "operator pressed stop";
  cause_ref ref = causes.keep(stop);
  for (const std::uint64_t region : {1U, 2U}) {  // server -> connection -> request
    const cause_ref next = causes.keep(hop(ref, causes, region_id(region), stop.timestamp));
    causes.release(ref);
    ref = next;
  }
  const cancel_reason told = *causes.find(ref);
  std::string indent;
  for_each_level(told, causes, [&](const cancel_reason& level) {
    tell.line(indent + (indent.empty() ? "the request's task is told: " : "because: ") + show(level));
    indent += "  ";
  });
  tell.line(fmt::format("its cleanup may take {} polls at priority {}", cleanup_budget(told.kind).poll_quota,
                        cleanup_budget(told.kind).priority));
  causes.release(ref);
}

void a_stronger_reason_only_tightens(story& tell) {
  tell.chapter("3. The grace ends: shutdown strengthens the reason and cuts what is left (R-39, R-40)");
  cancel_reason told;
  told.kind = cancel_kind::parent_cancelled;
  told.timestamp = instant{} + duration::seconds(5);
  cancel_reason shutdown;
  shutdown.kind = cancel_kind::shutdown;
  shutdown.timestamp = instant{} + duration::seconds(8);
  budget cleanup = cleanup_budget(told.kind);
  for (int poll = 0; poll < 30; ++poll) (void)cleanup.consume_poll();
  tell.line(fmt::format("after 30 cleanup polls {} are left", cleanup.poll_quota));
  cleanup = meet(cleanup, cleanup_budget(shutdown.kind));
  tell.line(fmt::format("{} now: {} left, priority {}", show(strengthen(told, shutdown)), cleanup.poll_quota,
                        cleanup.priority));

  const cancel_witness before{task_id(7), region_id(3), 1, cancel_phase::cancelling, strengthen(told, shutdown)};
  cancel_witness after = before;
  after.phase = cancel_phase::requested;
  tell.line(fmt::format("a witness that went back to '{}' would be refused: {}",
                        cancel_phase_lifecycle.name(after.phase), name(validate(before, after))));
}

void a_region_ends_as_its_worst_child(story& tell) {
  tell.chapter("4. The region's outcome is the join of its children, in the order they were made (R-13, R-48)");
  outcome<std::uint64_t> region;
  for (const char* child :
       {"ok:1", "err:disconnected", "cancelled:parent_cancelled@5s", "cancelled:shutdown@8s", "ok:2"}) {
    region = join(region, parse_outcome(child));
    tell.line(fmt::format("{:<32} the region so far: {}", child, show(region)));
  }
}

void what_is_illegal_is_refused(story& tell) {
  tell.chapter("5. What is illegal is refused, and nothing has changed (R-01, R-16, R-29)");
  const auto refuse = [&tell](const auto& table, auto from, auto to) {
    const status answer = table.check(from, to);
    tell.line(fmt::format("{} {} -> {}: {} - {}", table.machine(), table.name(from), table.name(to), name(answer),
                          sentence(answer)));
  };
  refuse(task_lifecycle, task_state::running, task_state::cancelling);
  refuse(region_lifecycle, region_state::draining, region_state::open);
  refuse(obligation_lifecycle, obligation_state::committed, obligation_state::aborted);
  const region_handle stale(region_state::open, 4, 1);
  tell.line(fmt::format("a handle is 16 bytes: word 0x{:016x}, generation {}", stale.word, stale.generation));
}

template <class Code>
constexpr std::uint64_t number(Code code) noexcept {
  return static_cast<std::uint64_t>(code);
}

constexpr std::uint64_t server = 1, connection = 2, channel = 1, reader = 1, writer = 2;

// Tasks of the connection as the scheduler and the kernel journal them. Each call says what led to it.
struct connection_log {
  /// A task in its lane: what its dispatch must say about it.
  struct queued {
    std::uint64_t event, insertion;
    lane_code lane;
    std::uint8_t priority;
  };

  journal& out;
  std::uint64_t now_ns = 0;
  std::uint64_t insertions = 0;

  std::uint64_t put(event_kind kind, event_fields fields) const {
    fields.time_ns = now_ns;
    return out.append(kind, fields);
  }
  [[nodiscard]] queued wake(std::uint64_t task, std::uint64_t by, lane_code lane, std::uint8_t priority, wake_code why,
                            std::uint64_t cause) {
    const std::uint64_t woken = put(event_kind::task_woken, {.subject = task,
                                                             .object = by,
                                                             .a = pack(place_code(lane, priority, 0), number(why)),
                                                             .b = ++insertions,
                                                             .cause = cause});
    return {woken, insertions, lane, priority};
  }
  [[nodiscard]] queued spawn(std::uint64_t task, std::string_view name, std::uint64_t cause) {
    const std::uint64_t spawned =
        put(event_kind::task_spawned, {.subject = task, .object = connection, .b = 128, .cause = cause});
    out.append_text(text_code::name, type_tag::task, task, name, now_ns);
    return wake(task, 0, lane_code::ready, 128, wake_code::spawn, spawned);
  }
  [[nodiscard]] std::uint64_t dispatch(std::uint64_t task, const queued& as) const {
    return put(event_kind::task_dispatched,
               {.subject = task, .a = pack(as.priority, number(as.lane)), .b = as.insertion, .cause = as.event});
  }
  void end_poll(std::uint64_t task, poll_code said, std::uint64_t began) const {
    put(event_kind::poll_ended, {.subject = task, .object = connection, .a = number(said), .cause = began});
  }
  void wait_for_message(std::uint64_t began) const {
    put(event_kind::receiver_waits, {.subject = channel, .object = reader, .cause = began});
    put(event_kind::task_waits, {.subject = reader, .object = channel, .a = number(wait_code::recv), .cause = began});
    end_poll(reader, poll_code::pending, began);
  }
  void end_region(std::uint64_t region, std::uint64_t parent, std::uint64_t cause) const {
    put(event_kind::region_finalizing, {.subject = region, .object = parent, .cause = cause});
    put(event_kind::region_closed,
        {.subject = region, .object = parent, .a = number(outcome_kind::cancelled), .cause = cause});
  }
};

// A writer sends one message to a reader; the reader waits for the next one when the server is stopped.
void stop_a_connection(journal& out) {
  using enum event_kind;
  connection_log log{.out = out};
  log.put(runtime_started, {.subject = server, .a = 7, .b = 1});
  const std::uint64_t root = log.put(region_created, {.subject = server});
  const std::uint64_t opened = log.put(region_created, {.subject = connection, .object = server, .cause = root});
  log.put(channel_created, {.subject = channel, .object = connection, .a = 1, .cause = opened});
  const connection_log::queued reader_woken = log.spawn(reader, "reader", opened);
  const connection_log::queued writer_woken = log.spawn(writer, "writer", opened);

  log.now_ns = duration::milliseconds(1).ns;
  std::uint64_t began = log.dispatch(reader, reader_woken);
  log.put(task_started, {.subject = reader, .object = connection, .cause = began});
  log.wait_for_message(began);
  began = log.dispatch(writer, writer_woken);
  log.put(task_started, {.subject = writer, .object = connection, .cause = began});
  log.put(permit_reserved, {.subject = channel, .object = writer, .a = 1, .b = pack(0, 1), .cause = began});
  const std::uint64_t sent =
      log.put(permit_sent, {.subject = channel, .object = writer, .a = 1, .b = pack(1, 0), .cause = began});
  const connection_log::queued told = log.wake(reader, writer, lane_code::ready, 128, wake_code::message, sent);
  log.end_poll(writer, poll_code::ready, began);
  log.put(task_completed, {.subject = writer, .object = connection, .cause = began});
  began = log.dispatch(reader, told);
  log.put(message_received, {.subject = channel, .object = reader, .a = 1, .cause = began});
  log.wait_for_message(began);

  log.now_ns = duration::seconds(5).ns;
  const std::uint64_t user = number(cancel_kind::user), passed = number(cancel_kind::parent_cancelled);
  const std::uint64_t asked = log.put(input_close, {.subject = server, .a = user, .b = 1});
  out.append_text(text_code::message, type_tag::region, server, "operator pressed stop", log.now_ns);
  const std::uint64_t closing = log.put(region_closing, {.subject = server, .b = pack(user, 1), .cause = asked});
  const std::uint64_t child = log.put(region_closing_by_parent, {.subject = connection,
                                                                 .object = server,
                                                                 .b = pack(passed, 1),
                                                                 .cause = closing,
                                                                 .flags = event_flags::passed_on});
  const std::uint64_t request = log.put(
      cancel_requested,
      {.subject = reader, .object = connection, .a = pack(passed, 3), .cause = child, .flags = event_flags::passed_on});
  log.put(task_cancel_requested, {.subject = reader, .object = connection, .a = passed, .cause = request});
  const connection_log::queued cancelled = log.wake(
      reader, 0, lane_code::cancel, cleanup_budget(cancel_kind::parent_cancelled).priority, wake_code::cancel, request);
  log.put(region_draining, {.subject = server, .a = pack(0, 1), .cause = closing});
  log.put(region_draining, {.subject = connection, .object = server, .a = pack(1, 0), .cause = child});
  began = log.dispatch(reader, cancelled);
  const std::uint64_t polls = info(cancel_kind::parent_cancelled).cleanup_quota;
  log.put(task_acknowledged, {.subject = reader, .object = connection, .a = passed, .b = polls, .cause = request});
  log.put(task_cleaned_up, {.subject = reader, .object = connection, .a = passed, .b = polls - 1, .cause = began});
  log.end_poll(reader, poll_code::ready, began);
  const std::uint64_t ended = log.put(
      task_finalized, {.subject = reader, .object = connection, .a = number(outcome_kind::cancelled), .cause = began});
  log.end_region(connection, server, ended);
  log.end_region(server, 0, ended);
  log.put(runtime_ended, {.subject = server});
}

void a_run_leaves_a_journal(story& tell) {
  tell.chapter(
      "6. A run leaves a journal: one digest, the answer to why, and a judge of the schedule (R-103, R-113, R-114, "
      "R-120)");
  std::vector<event> kept;
  for (const std::uint64_t capacity : {16U, 65'536U}) {
    journal run;
    if (run.open(heap_memory(), {.capacity = capacity}) != status::ok) throw std::bad_alloc();
    stop_a_connection(run);
    const auto hex = run.digest().hex();
    tell.line(fmt::format("a ring of {:>5}: {} events, {} more overwritten, digest {}", capacity, run.size(),
                          run.overwritten(), std::string_view(hex.data(), hex.size())));
    kept.resize(static_cast<std::size_t>(run.size()));
    kept.resize(run.copy_tail(kept));
    const std::string why = why_cancelled(kept, reader).text;
    for (std::size_t from = 0; from < why.size();) {
      const std::size_t to = why.find('\n', from);
      tell.line("  " + why.substr(from, to - from));
      from = to == std::string::npos ? why.size() : to + 1;
    }
    const schedule_verdict judged = check_schedule(kept);
    tell.line(fmt::format("  judged from its events alone: {} violations, {} of {} dispatches checked, certificate {}",
                          judged.violation_count, judged.dispatches - judged.unchecked, judged.dispatches,
                          judged.certificate_known ? std::to_string(judged.certificate.hash()) : "unknown"));
  }
}

}  // namespace

void add_demo(CLI::App& app, session& s) {
  app.add_subcommand("demo", "A server is stopped: the laws of asx at work")->callback([&s] {
    story tell(s.json);
    if (!s.json)
      fmt::print("asx {}.{}.{}: the laws at work\n", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH);
    budgets_are_inherited(tell);
    a_cancel_has_a_chain_of_causes(tell);
    a_stronger_reason_only_tightens(tell);
    a_region_ends_as_its_worst_child(tell);
    what_is_illegal_is_refused(tell);
    a_run_leaves_a_journal(tell);
    tell.end();
  });
}

}  // namespace asx::cli
