// asx demo - a server is stopped: what the laws of asx say about it, step by step.
#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
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
    tell.end();
  });
}

}  // namespace asx::cli
