// How long a task can wait, found by playing every game: docs/spec/scheduler.md states the bounds and derives them,
// here an adversary looks for a longer wait in small worlds, and for one that reaches the bound.
//
// Before each dispatch the adversary says which other lanes have work, whether others have something to steal, and what
// the governor suggests. Streaks are cut off where the rules no longer tell them apart, so that the worlds are finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "asx/journal/detail/schedule_rules.hpp"

namespace asx::detail {
namespace {

struct position {
  std::uint64_t cancel_streak = 0, timed_streak = 0;
  bool cancel_had_turn = false;
  friend auto operator<=>(const position&, const position&) = default;
};

struct game {
  schedule_setup setup;
  std::vector<governor_code> governors;
  bool timed_work = true;
  std::map<std::pair<position, std::uint64_t>, std::uint64_t> known;
  std::set<std::pair<position, std::uint64_t>> open;
  bool endless = false;

  schedule_worker at(const position& p) const {
    schedule_worker w;
    w.cancel_streak = p.cancel_streak;
    w.timed_streak = p.timed_streak;
    w.cancel_had_turn = p.cancel_had_turn;
    w.cancel_turn_at = setup.timed_limit;
    return w;
  }

  position cut(const schedule_worker& w) const {
    const std::uint64_t limit = setup.timed_limit;
    position p{std::min(w.cancel_streak, 2 * setup.cancel_limit), 0, false};
    if (!w.cancel_had_turn || w.cancel_may_have_turn(setup)) {
      p.timed_streak = std::min(w.timed_streak, limit);
    } else {
      p.timed_streak = limit + w.timed_streak - w.cancel_turn_at;
      p.cancel_had_turn = true;
    }
    return p;
  }

  /// Every step that the adversary can bring about; `own` is the lane in which somebody waits all the time.
  template <class Then>
  void each_step(const position& p, int own, Then then) const {
    for (unsigned mask = 0; mask < 16; ++mask) {
      schedule_worker w = at(p);
      for (int lane = 0; lane < 3; ++lane) {
        if (lane == own || (mask >> lane & 1U) != 0) w.lanes[static_cast<std::size_t>(lane)].insert(lane_key{});
      }
      if (!timed_work && own != 1 && w.has(lane_code::timed)) continue;
      for (const governor_code g : governors) {
        const step_choice done = prescribed(w, (mask & 8U) != 0, setup, g);
        schedule_worker after = w;
        if (done == step_choice::nothing) {
          after.park();
        } else {
          after.run(done == step_choice::theft ? lane_code::ready : static_cast<lane_code>(done), setup);
        }
        then(done, cut(after));
      }
    }
  }

  std::set<position> reachable() const {
    std::set<position> seen{{}};
    std::vector<position> todo{{}};
    while (!todo.empty()) {
      const position p = todo.back();
      todo.pop_back();
      each_step(p, -1, [&](step_choice, const position& next) {
        if (seen.insert(next).second) todo.push_back(next);
      });
    }
    return seen;
  }

  /// The longest wait of a task with `ahead` others before it in its lane.
  std::uint64_t longest(const position& p, lane_code own, std::uint64_t ahead) {
    const std::pair key(p, ahead);
    if (const auto at = known.find(key); at != known.end()) return at->second;
    if (!open.insert(key).second) {
      endless = true;
      return 0;
    }
    std::uint64_t most = 0;
    each_step(p, static_cast<int>(own), [&](step_choice done, const position& next) {
      const bool mine =
          done == static_cast<step_choice>(own) || (own == lane_code::cancel && done == step_choice::fallback);
      const std::uint64_t rest = mine && ahead == 0 ? 0 : longest(next, own, mine ? ahead - 1 : ahead);
      most = std::max(most, rest + 1);
    });
    open.erase(key);
    return known[key] = most;
  }

  std::uint64_t longest(lane_code own, std::uint64_t ahead) {
    known.clear();
    std::uint64_t most = 0;
    for (const position& p : reachable()) most = std::max(most, longest(p, own, ahead));
    return most;
  }
};

using enum governor_code;

struct world {
  const char* name;
  std::vector<governor_code> governors;
  bool some_drain, all_drain, some_meet;
};

const std::vector<world> worlds{
    {"no_preference", {no_preference}, false, false, false},
    {"drain", {drain_regions}, true, true, false},
    {"no_preference or drain", {no_preference, drain_obligations}, true, false, false},
    {"meet", {meet_deadlines}, false, false, true},
    {"any", {no_preference, meet_deadlines, drain_regions}, true, false, true},
};

class schedule_wait : public ::testing::TestWithParam<lane_code> {};

TEST_P(schedule_wait, never_exceeds_its_bound_and_can_reach_it) {
  for (const world& in : worlds) {
    for (std::uint64_t cancel_limit = 0; cancel_limit <= 3; ++cancel_limit) {
      for (std::uint64_t timed_limit = 0; timed_limit <= 3; ++timed_limit) {
        for (std::uint64_t ahead = 0; ahead <= 4; ++ahead) {
          SCOPED_TRACE(::testing::Message() << in.name << ", cancel limit " << cancel_limit << ", timed limit "
                                            << timed_limit << ", ahead " << ahead);
          // Without a limit for timed work nothing is promised but against the timed dispatches that were made.
          game g{.setup = {.cancel_limit = cancel_limit, .timed_limit = timed_limit},
                 .governors = in.governors,
                 .timed_work = timed_limit != 0,
                 .known = {},
                 .open = {}};
          const std::uint64_t found = g.longest(GetParam(), ahead);
          const std::uint64_t bound = wait_bound({.lane = GetParam(),
                                                  .same_lane = ahead,
                                                  .timed = GetParam() == lane_code::timed ? ahead : 0,
                                                  .limit_min = in.all_drain ? 2 * cancel_limit : cancel_limit,
                                                  .limit_max = in.some_drain ? 2 * cancel_limit : cancel_limit,
                                                  .met_deadlines = in.some_meet,
                                                  .only_deadlines = in.governors == std::vector{meet_deadlines}},
                                                 timed_limit);
          if (bound == no_bound) {  // Without a cancel streak cancels run when nothing else can.
            EXPECT_TRUE(g.endless);
            continue;
          }
          EXPECT_FALSE(g.endless);
          EXPECT_EQ(found, bound);
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(lanes, schedule_wait,
                         ::testing::Values(lane_code::cancel, lane_code::timed, lane_code::ready));

TEST(schedule_wait_without_a_limit, timed_work_can_starve_ready_for_ever) {
  game g{.setup = {.cancel_limit = 2, .timed_limit = 0}, .governors = {no_preference}, .known = {}, .open = {}};
  (void)g.longest(lane_code::ready, 0);
  EXPECT_TRUE(g.endless);
}

}  // namespace
}  // namespace asx::detail
