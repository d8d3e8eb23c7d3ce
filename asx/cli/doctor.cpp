// asx doctor, asx version - what this build is, what the machine gives it, and whether asx can work here.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "asx/base/config.hpp"
#include "asx/cli/journal_file.hpp"
#include "asx/cli/scenario_file.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/runtime/port_clock.hpp"
#include "asx/runtime/port_park.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::cli {
namespace {

using json = nlohmann::ordered_json;

std::string version_text() {
  return fmt::format("{}.{}.{}", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string_view build_kind() {
#ifdef NDEBUG
  return "release: ghost monitors are off unless a runtime asks for them";
#else
  return "debug: ghost monitors watch";
#endif
}

class findings {
 public:
  void fact(const std::string& what, const std::string& value) { facts_.emplace_back(what, value); }
  void check(const std::string& what, bool holds, const std::string& how, const std::string& advice) {
    checks_.push_back({{"what", what}, {"ok", holds}, {"found", how}});
    if (!holds) checks_.back()["do"] = advice;
    is_well_ = is_well_ && holds;
  }
  [[nodiscard]] bool is_well() const noexcept { return is_well_; }

  void print(bool as_json) const {
    if (as_json) {
      json facts = json::object();
      for (const auto& [what, value] : facts_) facts[what] = value;
      return put_json({{"ok", is_well_}, {"facts", facts}, {"checks", checks_}});
    }
    for (const auto& [what, value] : facts_) fmt::print("{:<10} {}\n", what, value);
    fmt::print("\n");
    for (const json& c : checks_) {
      fmt::print("{:<6} {}: {}\n", c["ok"] ? "ok" : "WRONG", c["what"].get<std::string>(),
                 c["found"].get<std::string>());
      if (!c["ok"]) fmt::print("       {}\n", c["do"].get<std::string>());
    }
    fmt::print("\n{}\n", is_well_ ? "asx can work here." : "asx cannot work well here; see above.");
  }

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
  json checks_ = json::array();
  bool is_well_ = true;
};

void look_at_the_clock(findings& out) {
  const steady_clock clock;
  instant last = clock.now();
  bool goes_back = false, moves = false;
  for (int i = 0; i < 100'000; ++i) {
    const instant now = clock.now();
    goes_back = goes_back || now < last;
    moves = moves || last < now;
    last = now;
  }
  out.check("the clock", moves && !goes_back,
            goes_back ? "it went back"
            : moves   ? "it moves, and never back"
                      : "it stands still",
            "asx reads CLOCK_MONOTONIC; the machine's clock source is broken");

  const instant before = clock.now();
  thread_parker parker;
  parker.park(duration::milliseconds(2));
  const duration slept = clock.now() - before;
  out.check("parking", slept >= duration::milliseconds(2) && slept < duration::seconds(1),
            fmt::format("2 ms took {:.1f} ms", static_cast<double>(slept.ns) / 1e6),
            "a worker that has nothing to do cannot wait well; is the machine overloaded?");
}

void look_at_memory(findings& out) {
  struct profile_row {
    std::string_view name;
    resource_contract contract;
  };
  for (const profile_row& row : {profile_row{"tiny", resource_contract::tiny()},
                                 {"core", resource_contract::core()},
                                 {"server", resource_contract::server()}}) {
    runtime_config config;
    config.contract = row.contract;
    const auto rt = std::make_unique<runtime>(config);
    out.check(fmt::format("profile {}", row.name), rt->start_status() == status::ok,
              fmt::format("{} tasks, {} regions, {} timers, {} channels", row.contract.max_tasks,
                          row.contract.max_regions, row.contract.max_timers, row.contract.max_channels),
              fmt::format("a runtime cannot start with it: {}; raise the limit of memory (ulimit -v)",
                          sentence(rt->start_status())));
  }
}

// The same small program everywhere: its digest is the one of every machine that asx is tested on.
void look_at_a_run(findings& out) {
  constexpr std::string_view program = R"({"scenario_dsl_version": 1, "id": "doctor",
    "tasks": {"nap": [{"do": "sleep", "for": "2ms"}, {"do": "send", "permit": "p", "value": 7}, {"do": "return"}],
              "take": [{"do": "recv", "rx": "rx", "value": 7}, {"do": "return", "value": 7}]},
    "steps": [{"do": "channel", "capacity": 1, "tx": "tx", "rx": "rx"}, {"do": "try_reserve", "tx": "tx", "as": "p"},
              {"do": "spawn", "task": "nap", "as": "a"}, {"do": "spawn", "task": "take", "as": "b"},
              {"do": "run_until_quiescent"}, {"do": "expect", "task": "b", "outcome": {"ok": 7}}]})";
  std::vector<scenario::complaint> wrong;
  const auto s = scenario::read(program, "", wrong);
  if (s == nullptr) return out.check("a run", false, wrong.front().text, "this build of asx is broken: build it again");
  const scenario::verdict v = scenario::play(*s, {});
  const scenario::verdict again = scenario::play(*s, {});
  out.check("a run", v.passed() && v.digest == again.digest, fmt::format("twice the digest {}", show(v.digest)),
            v.passed() ? "two plays of one scenario differ: this build of asx is broken" : v.failures.front().text);
}

std::string limit_text(int which) {
  struct rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(which), &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

void look(session& s) {
  findings out;
  out.fact("asx", version_text());
  out.fact("built by", fmt::format("{}, {}", compiler(), build_kind()));
  out.fact("machine", fmt::format("{}-bit, {}-endian, {} processors", 8 * sizeof(void*),
                                  std::endian::native == std::endian::little ? "little" : "big",
                                  std::thread::hardware_concurrency()));
  out.fact("memory", limit_text(RLIMIT_AS));
  out.fact("stack", limit_text(RLIMIT_STACK));
  out.fact("formats", fmt::format("scenarios {}, journals {} (binary) and {} (JSON Lines)", scenario::dsl_version,
                                  bin_format_version, json_format_version));
  look_at_the_clock(out);
  look_at_memory(out);
  look_at_a_run(out);
  out.print(s.json);
  s.exit_code = out.is_well() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, session& s) {
  app.add_subcommand("doctor", "What this build and this machine are, and whether asx can work here")->callback([&s] {
    look(s);
  });
}

void add_version(CLI::App& app, session& s) {
  app.add_subcommand("version", "The version, and the versions of the formats")->callback([&s] {
    if (!s.json) return fmt::print("asx {}\n", version_text());
    put_json({{"asx", version_text()},
              {"scenario_dsl_version", scenario::dsl_version},
              {"journal_binary", bin_format_version},
              {"journal_json", json_format_version},
              {"event_schema", event_schema}});
  });
}

}  // namespace asx::cli
