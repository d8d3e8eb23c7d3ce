// asx/kernel/testing/kernel_plans.hpp - random worlds for the kernel: limits, scripts, and the operations done to them.
//
//     kernel_operation   one call of kernel_world, as data
//     kernel_plan        a world drawn from (seed, number): configuration, scripts, what is there before the first step
//     operation_source   the next operation, from the plan's draws
//
// Scripts name tasks and regions that exist before the first step, so that no number is ever ahead of its creation. The
// root is closed by shutdown only (U-40), and shutdown begins once.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/time.hpp"
#include "asx/kernel/testing/world.hpp"

namespace asx::testing {

enum class kernel_call : std::uint8_t {
  create_region,
  spawn,
  request_cancel,
  close,
  begin_close,
  begin_drain,
  begin_finalize,
  finish_close,
  reserve,
  commit,
  abort,
  add_finalizer,
  wake,
  release_task,
  release_region,
  set_governor,
  advance,
  step,
  shutdown_begin,
  quiescence,
};

inline constexpr auto kernel_call_names = std::to_array<std::string_view>(
    {"create_region",  "spawn",        "request_cancel", "close", "begin_close",    "begin_drain", "begin_finalize",
     "finish_close",   "reserve",      "commit",         "abort", "add_finalizer",  "wake",        "release_task",
     "release_region", "set_governor", "advance",        "step",  "shutdown_begin", "quiescence"});

struct kernel_operation {
  kernel_call call = kernel_call::step;
  std::uint64_t n = 0;  // The number that is meant, or ns, or the governor.
  std::size_t script = 0;
  cancel_kind k = cancel_kind::user;
  budget b = {};
  bool held = false;
  finalizer_script f = {};
};

[[nodiscard]] inline std::string text(const budget& b) {
  const auto part = [](std::uint64_t value) { return value == UINT64_MAX ? std::string("-") : std::to_string(value); };
  return "(" + part(b.deadline.ns) + " " + part(b.poll_quota) + " " + part(b.cost_quota) + " " +
         std::to_string(b.priority) + ")";
}

[[nodiscard]] inline std::string text(const kernel_operation& op) {
  std::string out = std::string(kernel_call_names[static_cast<std::size_t>(op.call)]);
  switch (op.call) {
    case kernel_call::step:
    case kernel_call::shutdown_begin:
    case kernel_call::quiescence: return out;
    case kernel_call::create_region:
      return out + " in " + std::to_string(op.n) + " " + text(op.b) + (op.held ? " held" : "");
    case kernel_call::spawn:
      return out + " in " + std::to_string(op.n) + " script " + std::to_string(op.script) + " " + text(op.b) +
             (op.held ? " held" : "");
    case kernel_call::request_cancel:
    case kernel_call::close:
    case kernel_call::begin_close: return out + " " + std::to_string(op.n) + " " + std::string(asx::name(op.k));
    case kernel_call::add_finalizer:
      return out + " " + std::to_string(op.n) + " number " + std::to_string(op.f.number) + " spawns " +
             std::to_string(op.f.spawns) + " commits " + std::to_string(op.f.commits) + (op.f.panics ? " panics" : "");
    default: return out + " " + std::to_string(op.n);
  }
}

[[nodiscard]] inline std::string text(const script& s) {
  std::string out;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < s.actions.size(); ++i) {
    const action& a = s.actions[i];
    const bool repeats = i + 1 < s.actions.size() && i + 1 != s.cleanup_at && s.actions[i + 1].what == a.what &&
                         s.actions[i + 1].n == a.n;
    if (i == s.cleanup_at) out += " cleanup:";
    if (repeats) {
      ++equal;
      continue;
    }
    out += " " + std::string(name(a.what));
    if (a.n != 0) out += " " + std::to_string(a.n);
    if (a.what == action::kind::cancel_task || a.what == action::kind::close_region)
      out += " " + std::string(name(a.k));
    if (a.what == action::kind::spawn || a.what == action::kind::spawn_held) out += " " + text(a.b);
    if (equal != 0) out += " x" + std::to_string(equal + 1);
    out += ";";
    equal = 0;
  }
  return out;
}

/// The draws that worlds are made of.
class plan_draws {
 public:
  explicit plan_draws(std::uint64_t seed) : stream_(seed) {}

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return stream_.next_below(bound); }
  [[nodiscard]] bool chance(std::uint64_t percent) { return below(100) < percent; }
  template <class T, std::size_t N>
  [[nodiscard]] T one_of(const std::array<T, N>& values) {
    return values[static_cast<std::size_t>(below(N))];
  }
  [[nodiscard]] cancel_kind kind() {
    if (chance(30)) return cancel_kind::shutdown;  // Its quota of 50 can run out.
    return static_cast<cancel_kind>(below(cancel_kind_table.size()));
  }
  /// `now`: deadlines lie around it.
  [[nodiscard]] budget limits(std::uint64_t now, bool of_task) {
    budget b = budget::infinite();
    if (chance(25)) b.deadline = instant{now + below(400)};
    if (chance(25)) b.poll_quota = below(6);
    if (chance(25)) b.cost_quota = below(12);
    if (of_task || chance(20)) b.priority = one_of(std::to_array<std::uint8_t>({0, 100, 128, 128, 128, 210, 255}));
    return b;
  }

 private:
  splitmix64 stream_;
};

struct kernel_plan {
  world_config config;
  std::vector<script> scripts;
  std::vector<kernel_operation> before;  // Done before anything is drawn; scripts rely on it.
  std::uint64_t length = 0;              // Operations to draw.
  std::uint64_t single_steps = 0;        // Weight of begin_close and the steps after it.
};

namespace detail {

class script_maker {
 public:
  script_maker(plan_draws& draws, std::uint64_t tasks, std::uint64_t regions, std::size_t scripts)
      : draws_(draws), tasks_(tasks), regions_(regions), scripts_(scripts) {}

  script make(std::size_t index) {
    script s;
    switch (index + 5 >= scripts_ ? index + 5 - scripts_ : 5 + draws_.below(3)) {
      case 0: repeat(s, action::kind::yield, 110 + draws_.below(40)); break;  // Stubborn: never looks.
      case 1: repeat(s, action::kind::park, 110 + draws_.below(40)); break;   // The same, and waits each time.
      case 2: slow_cleaner(s, action::kind::yield); break;
      case 3: slow_cleaner(s, action::kind::park); break;
      case 4: push(s, action::kind::return_ok, draws_.below(3)); break;
      default: mixed(s, index); break;
    }
    return s;
  }

 private:
  static void push(script& s, action::kind what, std::uint64_t n = 0) {
    action a;
    a.what = what;
    a.n = n;
    s.actions.push_back(a);
  }
  static void repeat(script& s, action::kind what, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) push(s, what);
  }

  void slow_cleaner(script& s, action::kind waits) {
    if (draws_.chance(50)) push(s, action::kind::push_cleanup, 1);
    for (std::uint64_t i = 0; i < 6; ++i) {
      push(s, draws_.chance(50) ? waits : action::kind::sleep, draws_.below(100));
      push(s, action::kind::checkpoint);
    }
    push(s, action::kind::return_ok);
    s.cleanup_at = s.actions.size();
    if (draws_.chance(40)) push(s, action::kind::mask_enter);
    for (std::uint64_t i = draws_.below(3); i != 0; --i) {
      push(s, action::kind::sleep, draws_.below(200));
      push(s, action::kind::checkpoint);
    }
    repeat(s, waits, draws_.chance(50) ? draws_.below(4) : 50 + draws_.below(60));
    end(s);
  }

  void mixed(script& s, std::size_t index) {
    for (std::uint64_t i = 1 + draws_.below(12); i != 0; --i) some(s, index);
    end(s);
    s.cleanup_at = s.actions.size();
    for (std::uint64_t i = draws_.below(6); i != 0; --i) some(s, index);
    end(s);
  }

  void end(script& s) {
    using kind = action::kind;
    push(s, draws_.one_of(std::to_array<kind>({kind::return_ok, kind::return_ok, kind::return_error, kind::panic})),
         draws_.below(4));
  }

  void some(script& s, std::size_t index) {
    using kind = action::kind;
    action a;
    a.what = draws_.one_of(std::to_array<kind>(
        {kind::yield,        kind::yield,        kind::yield,        kind::park,          kind::park,
         kind::sleep,        kind::sleep,        kind::pend,         kind::checkpoint,    kind::checkpoint,
         kind::checkpoint,   kind::checkpoint,   kind::is_cancelled, kind::spawn,         kind::spawn_held,
         kind::reserve,      kind::reserve,      kind::commit,       kind::abort,         kind::push_cleanup,
         kind::push_cleanup, kind::wake_task,    kind::cancel_task,  kind::mask_enter,    kind::mask_leave,
         kind::consume_cost, kind::consume_cost, kind::mask_enter,   kind::create_region, kind::close_region}));
    switch (a.what) {
      case kind::sleep: a.n = draws_.below(150); break;
      case kind::spawn:
      case kind::spawn_held:  // Only scripts behind this one, so that a family ends.
        a.n = index + 1 + draws_.below(scripts_ - index - 1);
        a.b = draws_.limits(0, true);
        break;
      case kind::create_region: a.b = draws_.limits(0, false); break;
      case kind::commit:
      case kind::abort: a.n = draws_.below(3); break;
      case kind::push_cleanup:
      case kind::consume_cost: a.n = draws_.below(9); break;
      case kind::wake_task:
      case kind::cancel_task: a.n = 1 + draws_.below(tasks_); break;
      case kind::close_region:
        if (regions_ < 2) return;
        a.n = 2 + draws_.below(regions_ - 1);
        break;
      default: break;
    }
    a.k = draws_.kind();
    s.actions.push_back(a);
  }

  plan_draws& draws_;
  std::uint64_t tasks_;
  std::uint64_t regions_;
  std::size_t scripts_;
};

}  // namespace detail

/// World `number` of a seed.
[[nodiscard]] inline kernel_plan make_plan(std::uint64_t seed, std::uint64_t number, plan_draws& draws) {
  kernel_plan plan;
  world_config& c = plan.config;
  c.seed = seed;
  const bool is_tight = number % 3 == 1;
  if (is_tight) {
    c.max_tasks = static_cast<std::uint32_t>(6 + draws.below(8));
    c.max_regions = static_cast<std::uint32_t>(4 + draws.below(4));
    c.max_obligations = static_cast<std::uint32_t>(1 + draws.below(4));
    c.max_timers = static_cast<std::uint32_t>(1 + draws.below(3));
    c.max_cleanup = static_cast<std::uint32_t>(1 + draws.below(2));
    c.max_finalizers = static_cast<std::uint32_t>(1 + draws.below(2));
    c.mask_depth = 1;
  }
  if (number % 4 == 2 || (is_tight && draws.chance(50)))
    c.cancel_queue = static_cast<std::uint32_t>(1 + draws.below(6));
  if (draws.chance(40)) c.max_unobserved_cancel_polls = static_cast<std::uint32_t>(draws.below(4));
  if (draws.chance(40)) c.cancel_streak_limit = static_cast<std::uint32_t>(1 + draws.below(3));
  if (draws.chance(40)) c.timed_streak_limit = static_cast<std::uint32_t>(draws.below(4));
  c.hold_leaks = draws.chance(40);
  plan.length = 100 + draws.below(500);
  plan.single_steps = draws.chance(50) ? 12 : 2;

  const std::uint64_t tasks = 3 + draws.below(4);
  const std::uint64_t regions = 3 + draws.below(c.max_regions < 6 ? 1 : 3);  // The root included.
  const std::size_t scripts = 9;
  detail::script_maker maker(draws, tasks, regions, scripts);
  for (std::size_t i = 0; i < scripts; ++i) plan.scripts.push_back(maker.make(i));
  for (std::uint64_t r = 2; r <= regions; ++r) {
    kernel_operation op;
    op.call = kernel_call::create_region;
    op.n = 1 + draws.below(r - 1);
    op.b = draws.chance(80) ? budget::infinite() : draws.limits(0, false);
    op.held = draws.chance(50);
    plan.before.push_back(op);
  }
  for (std::uint64_t t = 0; t < tasks; ++t) {
    kernel_operation op;
    op.call = kernel_call::spawn;
    op.n = 1 + draws.below(regions);
    op.script = static_cast<std::size_t>(draws.below(scripts));
    op.b = draws.limits(0, true);
    op.held = draws.chance(50);
    plan.before.push_back(op);
  }
  return plan;
}

/// Draws operations; asks the world only how many of each kind there are.
class operation_source {
 public:
  operation_source(plan_draws& draws, const kernel_plan& plan) : draws_(draws), plan_(plan) {}

  kernel_operation next(const kernel_world& world) {
    kernel_operation op;
    if (steps_ahead_ != 0) {
      --steps_ahead_;
      return op;
    }
    op.call = draw_call();
    op.k = draws_.kind();
    op.held = draws_.chance(50);
    switch (op.call) {
      case kernel_call::create_region:
      case kernel_call::reserve:
      case kernel_call::spawn:
        op.n = some(world.regions(), 1);
        op.b = draws_.limits(now_, op.call == kernel_call::spawn);
        op.script = static_cast<std::size_t>(draws_.below(plan_.scripts.size()));
        break;
      case kernel_call::add_finalizer:
        op.n = some(world.regions(), 1);
        op.f.number = ++finalizers_;
        op.f.panics = draws_.chance(15);
        if (draws_.chance(50)) op.f.spawns = static_cast<std::int32_t>(draws_.below(plan_.scripts.size()));
        if (draws_.chance(40)) op.f.commits = static_cast<std::int32_t>(draws_.below(3));
        break;
      case kernel_call::close:
      case kernel_call::begin_close:
      case kernel_call::begin_drain:
      case kernel_call::begin_finalize:
      case kernel_call::finish_close:
      case kernel_call::release_region:
        if (world.regions() < 2) return {};
        op.n = some(world.regions(), 2);
        break;
      case kernel_call::commit:
      case kernel_call::abort:
        if (world.obligations() == 0) return {};
        op.n = some(world.obligations(), 1);
        break;
      case kernel_call::request_cancel:
      case kernel_call::wake:
      case kernel_call::release_task:
        if (world.tasks() == 0) return {};
        op.n = some(world.tasks(), 1);
        break;
      case kernel_call::set_governor: op.n = draws_.below(4); break;
      case kernel_call::advance:
        op.n = draws_.below(120);
        now_ += op.n;
        break;
      case kernel_call::step:
        if (draws_.chance(3)) steps_ahead_ = draws_.below(160);
        break;
      case kernel_call::shutdown_begin:
      case kernel_call::quiescence: break;
    }
    return op;
  }

 private:
  // The newest are the liveliest; an old one is often gone, which must be told too.
  std::uint64_t some(std::uint64_t count, std::uint64_t first) {
    const std::uint64_t lowest = draws_.chance(70) && count > first + 8 ? count - 7 : first;
    return lowest + draws_.below(count - lowest + 1);
  }

  kernel_call draw_call() {
    struct weight {
      kernel_call call;
      std::uint64_t share;
    };
    const std::uint64_t steps = plan_.single_steps;
    const auto weights = std::to_array<weight>({{kernel_call::step, 130},
                                                {kernel_call::spawn, 28},
                                                {kernel_call::create_region, 12},
                                                {kernel_call::request_cancel, 18},
                                                {kernel_call::close, 5},
                                                {kernel_call::begin_close, steps / 2 + 1},
                                                {kernel_call::begin_drain, steps},
                                                {kernel_call::begin_finalize, steps},
                                                {kernel_call::finish_close, steps},
                                                {kernel_call::reserve, 16},
                                                {kernel_call::commit, 14},
                                                {kernel_call::abort, 8},
                                                {kernel_call::add_finalizer, 12},
                                                {kernel_call::wake, 20},
                                                {kernel_call::release_task, 10},
                                                {kernel_call::release_region, 6},
                                                {kernel_call::set_governor, 3},
                                                {kernel_call::advance, 18},
                                                {kernel_call::quiescence, 5}});
    std::uint64_t sum = 0;
    for (const weight& w : weights) sum += w.share;
    std::uint64_t at = draws_.below(sum);
    for (const weight& w : weights) {
      if (at < w.share) return w.call;
      at -= w.share;
    }
    return kernel_call::step;
  }

  plan_draws& draws_;
  const kernel_plan& plan_;
  std::uint64_t now_ = 0;
  std::uint64_t finalizers_ = 0;
  std::uint64_t steps_ahead_ = 0;
};

}  // namespace asx::testing
