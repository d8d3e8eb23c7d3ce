// asx demo - a server is stopped: what the laws of asx say about it, step by step.
#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/journal.hpp"
#include "asx/journal/schedule_check.hpp"
#include "asx/journal/why.hpp"
#include "asx/kernel/report.hpp"
#include "asx/model/cause_store.hpp"
#include "asx/model/handle.hpp"
#include "asx/model/witness.hpp"
#include "asx/runtime/runtime.hpp"

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

// A connection: a reader that waits for its writer, and a writer that beats once a second. Both are poll functions, as
// C would write them; the runtime under them is the real one.
struct connection {
  bool has_message = false;
  std::uint64_t received = 0;
  waker reader;
  slab_key beat{};

  static poll_result read(void* self, cx& c) {
    auto& me = *static_cast<connection*>(self);
    if (c.checkpoint() == status::cancelled) return poll_result::ready;  // Nothing to clean up but the wait itself.
    if (std::exchange(me.has_message, false)) ++me.received;
    me.reader = c.get_waker();
    return poll_result::pending;
  }
  static poll_result write(void* self, cx& c) {
    auto& me = *static_cast<connection*>(self);
    if (c.checkpoint() == status::cancelled) {
      c.set_value(me.received);
      return poll_result::ready;
    }
    me.has_message = true;
    me.reader.wake();
    const status s = c.kernel().register_timer(c, c.now() + duration::seconds(1), me.beat);
    return s == status::ok ? poll_result::pending : poll_result::error;
  }
};

// The operator stops the server after five seconds of virtual time.
void serve_and_stop(runtime& rt, connection& link, story* tell) {
  kernel& k = rt.kernel();
  region_handle server;
  region_handle session;
  task_handle task;
  const auto must = [](status s) {
    if (s != status::ok) throw std::runtime_error(std::string(name(s)));
  };
  must(k.create_region(rt.root(), {.name = "server"}, server));
  must(k.create_region(server, {.name = "connection"}, session));
  must(k.spawn(session, {.poll = &connection::read, .context = &link, .name = "reader"}, task));
  must(k.spawn(session, {.poll = &connection::write, .context = &link, .name = "writer"}, task));
  rt.run_until_idle();
  for (int second = 1; second < 5; ++second) {
    must(rt.advance(duration::seconds(1)));
    rt.run_until_idle();
  }
  const auto draw = [&](std::string_view when) {
    if (tell == nullptr) return;
    tell->line(std::string(when));
    const std::string tree = describe_tree(k);
    for (std::size_t from = 0; from < tree.size();) {
      const std::size_t to = tree.find('\n', from);
      tell->line("  " + tree.substr(from, tree.find("  demo.cpp:", from) < to ? tree.find("  demo.cpp:", from) - from
                                                                              : to - from));
      from = to + 1;
    }
  };
  draw("after four seconds:");
  must(rt.advance(duration::seconds(1)));
  must(k.close(server, {cancel_kind::user, "operator pressed stop"}));
  draw("the operator stops the server, and everybody below is told before the call returns:");
  rt.run_until_idle();
  const shutdown_result ended = rt.shutdown();
  if (tell != nullptr) {
    tell->line(
        fmt::format("{} messages arrived; at rest: {}", link.received, ended.is_quiescent() ? "yes" : ended.survivors));
  }
}

void a_server_is_stopped(story& tell) {
  tell.chapter("6. A server runs and is stopped: regions, tasks and cancellation (R-05, R-07, R-24)");
  runtime rt;
  connection link;
  serve_and_stop(rt, link, &tell);
}

void a_run_leaves_a_journal(story& tell) {
  tell.chapter(
      "7. It leaves a journal: one digest, the answer to why, and a judge of the schedule (R-103, R-113, R-114, "
      "R-120)");
  std::vector<event> kept;
  for (const std::uint64_t capacity : {64U, 65'536U}) {
    runtime_config config;
    config.contract.max_trace_events = capacity;
    runtime rt(config);
    connection link;
    serve_and_stop(rt, link, nullptr);
    journal& run = rt.journal();
    const auto hex = run.digest().hex();
    tell.line(fmt::format("a ring of {:>5}: {} events, {} more overwritten, digest {}", capacity, run.size(),
                          run.overwritten(), std::string_view(hex.data(), hex.size())));
    kept.resize(static_cast<std::size_t>(run.size()));
    kept.resize(run.copy_tail(kept));
    const std::string why = why_cancelled(kept, 1).text;
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
    a_server_is_stopped(tell);
    a_run_leaves_a_journal(tell);
    tell.end();
  });
}

}  // namespace asx::cli
