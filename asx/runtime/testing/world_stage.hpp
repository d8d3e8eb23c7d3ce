// asx/runtime/testing/world_stage.hpp - for tests of rulings: scripts by short names, and a world with expectations.
//
// A test is written once against kernel_world and run with each maker: the naive model, which must say what the
// rulings say, and the kernel.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asx/kernel/testing/naive_kernel.hpp"
#include "asx/kernel/testing/world.hpp"
#ifndef ASX_NAIVE_WORLD_ONLY
#include "asx/runtime/testing/real_world.hpp"
#endif

namespace asx {
// So that a failed expectation speaks in words.
inline void PrintTo(status s, std::ostream* out) {
  *out << name(s);
}
inline void PrintTo(task_state s, std::ostream* out) {
  *out << task_lifecycle.name(s);
}
inline void PrintTo(region_state s, std::ostream* out) {
  *out << region_lifecycle.name(s);
}
inline void PrintTo(obligation_state s, std::ostream* out) {
  *out << obligation_lifecycle.name(s);
}
inline void PrintTo(outcome_kind k, std::ostream* out) {
  *out << name(k);
}
inline void PrintTo(cancel_kind k, std::ostream* out) {
  *out << name(k);
}
}  // namespace asx

namespace asx::testing {

struct world_maker {
  const char* name;
  std::unique_ptr<kernel_world> (*make)(const world_config&, std::span<const script>);

  friend std::ostream& operator<<(std::ostream& out, const world_maker& maker) { return out << maker.name; }
};

inline std::vector<world_maker> world_makers() {
  std::vector<world_maker> makers;
  makers.push_back({"naive", &make_naive_world});
#ifndef ASX_NAIVE_WORLD_ONLY
  makers.push_back({"real", &make_real_world});
#endif
  return makers;
}

// ---- Scripts ----

inline action does(action::kind what, std::uint64_t n = 0, cancel_kind k = cancel_kind::user) {
  action a;
  a.what = what;
  a.n = n;
  a.k = k;
  a.b.priority = 128;
  return a;
}

inline script plays(std::initializer_list<action> actions) {
  script s;
  s.actions = actions;
  return s;
}

/// `first` is played; a cancelled checkpoint jumps to `then`.
inline script plays(std::initializer_list<action> first, std::initializer_list<action> then) {
  script s;
  s.actions = first;
  s.cleanup_at = s.actions.size();
  s.actions.insert(s.actions.end(), then.begin(), then.end());
  return s;
}

inline script repeats(action::kind what, std::size_t times) {
  script s;
  s.actions.assign(times, does(what));
  return s;
}

/// Acknowledges at its first poll after a cancel, then does `what` for a long time.
inline script cleans_slowly(action::kind what, std::size_t times) {
  script s = repeats(what, times);
  s.actions.insert(s.actions.begin(), {does(action::kind::park), does(action::kind::checkpoint)});
  return s;
}

inline budget of_task(std::uint8_t priority = 128) {
  budget b = budget::infinite();
  b.priority = priority;
  return b;
}

// ---- A stage ----

class kernel_stage : public ::testing::TestWithParam<world_maker> {
 protected:
  /// The world of the test. Scripts live as long as it does.
  kernel_world& open(std::vector<script> scripts, const world_config& config = {}) {
    world_.reset();
    scripts_ = std::move(scripts);
    world_ = GetParam().make(config, scripts_);
    return *world_;
  }
  kernel_world& world() { return *world_; }

  std::uint64_t spawn(std::uint64_t region, std::size_t script, budget b = of_task(), bool held = true) {
    EXPECT_EQ(world().spawn(region, script, b, held), status::ok);
    return world().tasks();
  }
  std::uint64_t child(std::uint64_t parent, budget b = {}, bool held = true) {
    EXPECT_EQ(world().create_region(parent, b, held), status::ok);
    return world().regions();
  }
  std::uint64_t reserved(std::uint64_t region) {
    EXPECT_EQ(world().reserve(region), status::ok);
    return world().obligations();
  }
  bool cancel(std::uint64_t task, cancel_kind k) {
    bool newly = false;
    EXPECT_EQ(world().request_cancel(task, k, newly), status::ok);
    return newly;
  }

  /// Steps until nothing is left to do; how many dispatches there were.
  std::uint64_t run(std::uint64_t at_most = 10'000) {
    for (std::uint64_t steps = 0; steps < at_most; ++steps) {
      if (world().step().is_idle) return steps;
    }
    return at_most;
  }
  void step(std::uint64_t task) {
    const step_view v = world().step();
    EXPECT_FALSE(v.is_idle);
    EXPECT_EQ(v.task, task);
  }

  task_state state(std::uint64_t task) { return world().task(task).state; }
  region_state region(std::uint64_t number) { return world().region(number).state; }
  obligation_state obligation(std::uint64_t number) {
    obligation_state s = obligation_state::reserved;
    EXPECT_EQ(world().obligation_state_of(number, s), status::ok);
    return s;
  }
  outcome_kind ended(std::uint64_t task) {
    EXPECT_TRUE(world().task(task).has_ended);
    return world().task(task).ended;
  }
  bool has_logged(const std::string& line) {
    return std::find(world().log().begin(), world().log().end(), line) != world().log().end();
  }

 private:
  std::vector<script> scripts_;
  std::unique_ptr<kernel_world> world_;
};

}  // namespace asx::testing
