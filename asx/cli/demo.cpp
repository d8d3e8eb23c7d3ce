// asx demo - a small shop (examples/order_service.hpp) runs, is tested, breaks, and is asked what happened.
#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/config.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"
#include "asx/coro/run.hpp"
#include "asx/journal/why.hpp"
#include "asx/lab/lab.hpp"
#include "examples/order_service.hpp"

namespace asx::cli {
namespace {

using order_service::day;

constexpr std::uint32_t seeds_allowed = 200;
constexpr std::uint64_t seed_shown = 7;

// The environment is read before anything runs, by the one thread that there is.
std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string_view() : value;
}

bool wants_colour() {
  const std::string_view terminal = environment("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
}

// What the demo says: for people as it goes, for programs as one value at the end. A chapter is one plain sentence,
// lines for people, and facts for programs.
class story {
 public:
  explicit story(bool json) : json_(json), colour_(!json && wants_colour()) {}

  void chapter(std::string_view key, std::string_view sentence) {
    parts_.push_back({{"part", key}, {"says", sentence}, {"lines", nlohmann::ordered_json::array()}});
    if (!json_) fmt::print("\n{}\n", painted(sentence, fmt::emphasis::bold));
  }
  void line(const std::string& text, fmt::text_style style = {}) {
    parts_.back()["lines"].push_back(text);
    if (!json_) fmt::print("  {}\n", painted(text, style));
  }
  void good(const std::string& text) { line(text, fmt::fg(fmt::terminal_color::green)); }
  void bad(const std::string& text) { line(text, fmt::fg(fmt::terminal_color::red)); }
  void lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      folded(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }
  // As it stands, but no line wider than a terminal; what is left of one goes on deeper.
  void folded(std::string_view text) {
    constexpr std::size_t widest = 118;
    const std::string deeper(std::min(text.find_first_not_of(' '), widest / 2) + 4, ' ');
    std::string rest(text);
    while (rest.size() > widest) {
      const std::size_t blank = rest.rfind(' ', widest);
      if (blank == std::string::npos || blank <= deeper.size()) break;  // A single word that is wider.
      line(rest.substr(0, rest.find_last_not_of(' ', blank) + 1));
      rest = deeper + rest.substr(blank + 1);
    }
    line(rest);
  }
  template <class Value>
  void fact(const char* key, const Value& value) {
    parts_.back()[key] = value;
  }
  void end() const {
    if (json_) fmt::print("{}\n", nlohmann::ordered_json{{"demo", "order_service"}, {"parts", parts_}}.dump());
  }

 private:
  [[nodiscard]] std::string painted(std::string_view text, fmt::text_style style) const {
    return colour_ ? fmt::format(style, "{}", text) : std::string(text);
  }

  bool json_;
  bool colour_;
  nlohmann::ordered_json parts_ = nlohmann::ordered_json::array();
};

// What the demo promises and does not find is an error of asx, and of this build.
void must(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(fmt::format("the demo did not go as it should: {}", what));
}

// The program that the lab runs: a day of its own each time.
lab_body a_day(bool is_careless) {
  return [is_careless](cx c) -> task<> {
    day d;
    d.is_careless = is_careless;
    co_await order_service::whole_day(c, d);
  };
}

void runs_on_the_real_clock(story& tell) {
  tell.chapter("real_clock",
               "1. A shop takes orders on the machine's own clock; in the middle of its work the operator closes it.");
  day today;
  const int items = today.stock;
  const auto how = run(order_service::whole_day, std::ref(today));
  must(how.is_ok(), how.text.c_str());
  for (const std::string& line : today.log) tell.line(line);
  must(today.sold + today.stock == items, "every item is sold or on the shelf");
  tell.good(fmt::format("{} items in the morning, {} sold + {} on the shelf at the end: none is lost.", items,
                        today.sold, today.stock));
  tell.fact("items", items);
  tell.fact("sold", today.sold);
  tell.fact("on_shelf", today.stock);
}

void runs_the_same_in_the_lab(story& tell) {
  tell.chapter(
      "lab",
      "2. The same program in the lab, where time is virtual and a seed draws who runs next: same seed, same run.");
  std::vector<std::string> digests;
  for (int time = 1; time <= 2; ++time) {
    const lab_result ran = explore({.first_seed = seed_shown, .seeds = 1}, a_day(false));
    must(ran.is_ok, ran.finding.c_str());
    digests.push_back(show(ran.digest));
    tell.line(fmt::format("seed {}, run {}: digest of everything that happened {}", seed_shown, time, digests.back()));
  }
  must(digests[0] == digests[1], "one seed, one digest");
  tell.good("They are equal.");
  tell.fact("seed", seed_shown);
  tell.fact("digests", digests);
}

// Of a finding, the line that names the rule; what was only noted besides is no part of this story.
std::string_view rule_broken(std::string_view finding) {
  const std::size_t at = finding.find("FB-");
  must(at != std::string_view::npos, "the finding names a rule");
  finding.remove_prefix(at);
  return finding.substr(0, finding.find('\n'));
}

lab_result finds_a_planted_bug(story& tell) {
  tell.chapter(
      "bug",
      fmt::format("3. A careless change can lose an item when the shop closes late; the lab has {} seeds to find it.",
                  seeds_allowed));
  const lab_result right = explore({.seeds = seeds_allowed}, a_day(false));
  must(right.is_ok, right.finding.c_str());
  tell.good(fmt::format("the right one:    {} seeds, each run twice, nothing found", seeds_allowed));
  lab_result wrong = explore({.seeds = seeds_allowed}, a_day(true));
  must(!wrong.is_ok, "the planted bug is found");
  tell.bad(fmt::format("the careless one: seed {} loses an item that was reserved, and neither sold nor put back:",
                       wrong.seed));
  tell.lines(rule_broken(wrong.finding));
  tell.line(
      "The careless line is in handle_order_carelessly of order_service.hpp: `co_await send(parcels, order)` stands");
  tell.line("between the payment and the sale. When the shop closes there, the order ends, and nobody has its item.");
  tell.line("token: " + wrong.token);
  tell.fact("seeds_allowed", seeds_allowed);
  tell.fact("found_at_seed", wrong.seed);
  tell.fact("finding", wrong.finding);
  tell.fact("token", wrong.token);
  return wrong;
}

void replays_it(story& tell, const lab_result& found) {
  tell.chapter("replay", "4. The token alone brings that run back, as often as one likes.");
  const lab_result again = replay({}, found.token, a_day(true));
  must(again.finding == found.finding && again.digest == found.digest, "a token replays its run");
  tell.line("found    " + show(found.digest));
  tell.line("replayed " + show(again.digest));
  tell.good("The same digest, the same finding.");
  tell.fact("found", show(found.digest));
  tell.fact("replayed", show(again.digest));
}

void tells_why_and_who(story& tell) {
  tell.chapter("why", "5. Why did an order end? The journal of the run knows every cause, back to the first.");
  day today;
  runtime rt;
  must(run_in(rt, order_service::whole_day, std::ref(today)).is_ok(), "a day on virtual time");
  std::vector<event> events(static_cast<std::size_t>(rt.journal().size()));
  events.resize(rt.journal().copy_tail(events));
  const cancelled_answer why = why_cancelled(events, today.cancelled_order);
  must(why.cancelled && !why.chain.beyond, "the chain of causes is whole");
  tell.lines(why.text);
  tell.fact("task", today.cancelled_order);
  tell.fact("kind", std::string(name(why.kind)));

  tell.chapter("tree", "6. And who was there when the shop was told to close? A runtime can always be looked at.");
  tell.lines(today.tree_at_closing);
  const shutdown_result ended = rt.shutdown();
  must(ended.is_quiescent(), ended.survivors.c_str());
  tell.good("Afterwards nobody is left: no task, no timer, no promise.");
  tell.fact("is_quiescent", ended.is_quiescent());
}

}  // namespace

void add_demo(CLI::App& app, session& s) {
  app.add_subcommand("demo", "A small shop runs, is tested, breaks, and is asked what happened")->callback([&s] {
    story tell(s.json);
    if (!s.json) {
      fmt::print("asx {}.{}.{}: a shop in six steps. Its code is examples/order_service.hpp.\n", ASX_VERSION_MAJOR,
                 ASX_VERSION_MINOR, ASX_VERSION_PATCH);
    }
    runs_on_the_real_clock(tell);
    runs_the_same_in_the_lab(tell);
    const lab_result found = finds_a_planted_bug(tell);
    replays_it(tell, found);
    tells_why_and_who(tell);
    tell.end();
  });
}

}  // namespace asx::cli
