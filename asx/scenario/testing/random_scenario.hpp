// asx/scenario/testing/random_scenario.hpp - a valid scenario from a seed: any operation, in any order, on anything.
//
// Nothing is known of its answers, so every step takes any status, and nothing is expected. What it is good for: it
// is read without a complaint, it ends, and it comes out the same again and again.
#pragma once

#include <string>
#include <string_view>

#include "asx/base/random.hpp"
#include "asx/model/status.hpp"

namespace asx::scenario::testing {

class random_scenario {
 public:
  explicit random_scenario(std::uint64_t seed) : draw_(seed) {}

  [[nodiscard]] std::string json() {
    std::string out = R"({"scenario_dsl_version": 1, "id": "random", "runtime": {"workers": )" + number(1, 3);
    out += R"(, "order": ")" + std::string(one_in(2) ? "seeded" : "round_robin");
    out += R"(", "ready_tiebreak": ")" + std::string(one_in(2) ? "rng" : "fifo");
    out += R"(", "leaks": ")" + std::string(one_in(4) ? "hold" : "proceed");
    out += R"(", "cancel_streak_limit": )" + number(1, 4) + R"(, "timed_streak_limit": )" + number(0, 3);
    out += R"(}, "tasks": {)";
    for (unsigned i = 1; i <= scripts; ++i) {
      if (i != 1) out += ", ";
      out +=
          "\"s" + std::to_string(i) + "\": {\"steps\": [" + script(i) + "], \"when_cancelled\": [" + cleanup(i) + "]}";
    }
    return out + R"(}, "steps": [)" + driver() + "]}";
  }

 private:
  static constexpr unsigned scripts = 4, regions = 3, channels = 2, obligations = 3, timers = 2, tasks = 6;

  std::uint64_t below(std::uint64_t n) { return draw_.next_below(n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::string number(std::uint64_t least, std::uint64_t most) {
    return std::to_string(least + below(most - least + 1));
  }
  std::string name(std::string_view stem, unsigned count) { return std::string(stem) + number(1, count); }
  static std::string quoted(std::string_view key, std::string_view value) {
    return ", \"" + std::string(key) + "\": \"" + std::string(value) + "\"";
  }
  std::string plain(std::string_view key, std::uint64_t most) {
    return ", \"" + std::string(key) + "\": " + number(0, most);
  }
  static std::string act(std::string_view word, const std::string& fields = {}) {
    return "{\"do\": \"" + std::string(word) + "\"" + fields + "}";
  }
  /// Whatever it answers is right.
  static std::string any(std::string_view word, const std::string& fields = {}) {
    std::string all;
    for (const status_info& row : status_table) all += (all.empty() ? "\"" : ", \"") + std::string(row.name) + "\"";
    return act(word, fields + ", \"status\": [" + all + "]");
  }
  std::string kind() {
    constexpr std::string_view kinds[] = {"user", "timeout", "fail_fast", "resource_unavailable", "shutdown"};
    return quoted("kind", kinds[below(std::size(kinds))]) + (one_in(4) ? quoted("message", "why") : std::string());
  }
  std::string time() { return number(0, 9) + (one_in(3) ? "ms" : "us"); }
  std::string outcome() {
    constexpr std::string_view ends[] = {R"("ok")", R"({"ok": 3})", R"({"err": "io", "detail": 1})",
                                         R"({"panicked": "made so"})", R"({"cancelled": {"kind": "user"}})"};
    return ", \"outcome\": " + std::string(ends[below(std::size(ends))]);
  }
  std::string budget() {
    if (!one_in(3)) return {};
    return ", \"budget\": {\"polls\": " + number(0, 9) +
           (one_in(2) ? ", \"deadline\": \"" + time() + "\"" : std::string()) + ", \"cost\": " + number(0, 9) + "}";
  }

  /// What driver, tasks and synchronous steps may all do.
  std::string common(unsigned above) {
    switch (below(20)) {
      case 0: return any("close", quoted("region", name("r", regions)) + kind());
      case 1: return any("begin_close", quoted("region", name("r", regions)));
      case 2: return any("begin_drain", quoted("region", name("r", regions)));
      case 3: return any("finish_close", quoted("region", name("r", regions)));
      case 4: return any("arena", quoted("region", name("r", regions)) + plain("bytes", 64));
      case 5:
        if (above >= scripts) break;
        return any("spawn", quoted("task", "s" + number(above + 1, scripts)) + quoted("region", name("r", regions)) +
                                quoted("as", name("t", tasks)) + plain("priority", 255) + budget());
      case 6: return any("cancel", quoted("task", name("t", tasks)) + kind());
      case 7: return any("complete", quoted("task", name("t", tasks)) + outcome());
      case 8: return any("wake", quoted("task", name("t", tasks)));
      case 9:
        return any("reserve_obligation", quoted("as", name("o", obligations)) + quoted("region", name("r", regions)));
      case 10: return any("commit", quoted("what", name("o", obligations)));
      case 11: return any("abort", quoted("what", name("o", obligations)));
      case 12: return any("add_timer", quoted("for", time()) + quoted("as", name("m", timers)));
      case 13: return any("cancel_timer", quoted("timer", name("m", timers)));
      case 14: return any("try_send", quoted("tx", name("tx", channels)) + plain("value", 99));
      case 15: return any("send_evicting", quoted("tx", name("tx", channels)) + plain("value", 99));
      case 16: return any("try_recv", quoted("rx", name("rx", channels)));
      case 17:
        if (one_in(3)) return any("drop", quoted("what", name(one_in(2) ? "tx" : "rx", channels)));
        return any("clone", quoted("tx", name("tx", channels)) + quoted("as", name("tx", channels)));
      case 18: return any("release", quoted("what", one_in(2) ? name("t", tasks) : name("r", regions)));
      default: break;
    }
    return act("say", quoted("text", number(0, 99)));
  }
  std::string synchronous() {
    std::string out = common(scripts);
    while (one_in(2)) out += ", " + common(scripts);
    return out;
  }

  std::string one_of_a_task(unsigned self) {
    switch (below(16)) {
      case 0: return act("yield");
      case 1: return one_in(3) ? act("park") : act("yield");
      case 2: return waits("sleep", quoted("for", time()));
      case 3: return waits("recv", quoted("rx", name("rx", channels)));
      case 4: {
        const std::string taken = waits("reserve", quoted("tx", name("tx", channels)) + quoted("as", "$p")) + ", ";
        if (one_in(3)) return taken + any("abort_permit", quoted("permit", "$p"));
        if (one_in(3)) return taken + any("drop", quoted("what", "$p"));
        return taken + any("send", quoted("permit", "$p") + plain("value", 99));
      }
      case 5: return waits("join", quoted("task", name("t", tasks)));
      case 6: return waits("await_closed", quoted("region", name("r", regions)));
      case 7: return waits("checkpoint", {});
      case 8: return any("consume", plain("cost", 4));
      case 9: return any("mask") + ", " + one_of_a_task(self) + ", " + any("unmask");
      case 10: return any("push_cleanup", ", \"steps\": [" + synchronous() + "]");
      case 11: return act("repeat", ", \"times\": " + number(0, 3) + ", \"steps\": [" + one_of_a_task(self) + "]");
      case 12:
        return any("recv", quoted("rx", name("rx", channels)) + ", \"poll_once\": true") + ", " + act("stop_waiting");
      default: return common(self);
    }
  }
  std::string waits(std::string_view word, const std::string& fields) {
    return one_in(2) ? any(word, fields) : act(word, fields + R"(, "on": {"disconnected": [], "stale_handle": [],
      "region_not_open": [], "invalid_argument": [], "budget_exhausted": [], "resource_exhausted": []})");
  }
  std::string script(unsigned self) {
    std::string out;
    for (std::uint64_t i = 0, n = 1 + below(8); i < n; ++i) out += one_of_a_task(self) + ", ";
    if (one_in(5)) return out + act("fail", quoted("error", "io"));
    if (one_in(7)) return out + act("panic", quoted("text", "by chance"));
    if (one_in(5)) return out + act("repeat", ", \"steps\": [" + act("yield") + ", " + waits("checkpoint", {}) + "]");
    return out + act("return", plain("value", 9));
  }
  std::string cleanup(unsigned self) {
    std::string out = act("say", quoted("text", "cleaning"));
    while (one_in(2)) out += ", " + one_of_a_task(self);
    return out;
  }

  std::string one_of_the_driver() {
    switch (below(12)) {
      case 0: return any("run_until_idle", ", \"max_steps\": " + number(1, 300));
      case 1: return any("run_until_quiescent", ", \"max_steps\": " + number(1, 300));
      case 2: return any("step", ", \"times\": " + number(1, 9));
      case 3: return act("advance", quoted("by", time()));
      case 4: return act("certificate");
      case 5: {
        constexpr std::string_view words[] = {"no_preference", "meet_deadlines", "drain_obligations", "drain_regions"};
        return act("set_governor", quoted("to", words[below(std::size(words))]));
      }
      case 6: return one_in(6) ? any("begin_shutdown") : act("hold") + ", " + any("unhold");
      case 7:
        return any("add_finalizer", quoted("region", name("r", regions)) + ", \"steps\": [" + synchronous() + "]");
      default: return common(0);
    }
  }
  std::string driver() {
    std::string out;
    for (unsigned i = 1; i <= regions; ++i) {
      const std::string in = i == 1 || one_in(2) ? "root" : "r" + std::to_string(i - 1);
      out += any("open_region", quoted("in", in) + quoted("as", "r" + std::to_string(i)) + budget() +
                                    (one_in(3) ? ", \"fails_fast\": true" : "")) +
             ", ";
    }
    for (unsigned i = 1; i <= channels; ++i) {
      const std::string n = std::to_string(i);
      out += any("channel", quoted("region", name("r", regions)) + ", \"capacity\": " + number(1, 3) +
                                quoted("tx", "tx" + n) + quoted("rx", "rx" + n)) +
             ", ";
    }
    if (one_in(3)) out += any("track", quoted("tx", "tx1") + quoted("as", "tx1")) + ", ";
    for (unsigned i = 1; i <= obligations; ++i) {
      out += any("reserve_obligation", quoted("region", name("r", regions)) + quoted("as", "o" + std::to_string(i))) +
             ", ";
    }
    for (unsigned i = 1; i <= timers; ++i) {
      out += any("add_timer", quoted("for", time()) + quoted("as", "m" + std::to_string(i))) + ", ";
    }
    for (unsigned i = 1; i <= tasks; ++i) {
      out += any("spawn", quoted("task", name("s", scripts)) + quoted("region", name("r", regions)) +
                              quoted("as", "t" + std::to_string(i)) + plain("priority", 255) + budget()) +
             ", ";
    }
    for (std::uint64_t i = 0, n = 4 + below(20); i < n; ++i) out += one_of_the_driver() + ", ";
    return out + any("run_until_quiescent", ", \"max_steps\": 2000");
  }

  splitmix64 draw_;
};

}  // namespace asx::scenario::testing
