// asx/kernel/testing/kernel_driver.hpp - does the same to two kernels and says where they differ.
//
//     kernel_pair    two worlds; apply() does one operation to both and compares its result, compare() all they show
//     run_plan       a drawn world: what is there first, the operations, and then a shutdown that is run to its end
//     shorten        the fewest operations that still show a difference
//
// Compared after each operation: status, newly, the dispatch of a step, how many of each kind there are, the log. Every
// few operations also all views, all obligations, quiescence, and the laws of kernel_laws.hpp. Not compared: what a
// view names that has no meaning in its state, and, of a record that is gone, anything but an outcome that both have
// seen.
//
// Cancel points: none. Threads: one owner. Lifetime: a pair owns its worlds; the plan outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/kernel/testing/kernel_laws.hpp"
#include "asx/kernel/testing/kernel_plans.hpp"
#include "asx/kernel/testing/naive_kernel.hpp"
#include "asx/kernel/testing/world.hpp"

namespace asx::testing {

using world_factory = std::function<std::unique_ptr<kernel_world>(const world_config&, std::span<const script>)>;

// ---- Views as words ----

[[nodiscard]] inline std::string text(const task_view& v) {
  constexpr std::string_view lanes[] = {"cancel", "timed", "ready", "not queued"};
  std::string out = v.is_released ? "released" : std::string(task_lifecycle.name(v.state));
  if (!v.is_released) out += ", " + std::string(lanes[v.lane]) + ", " + std::to_string(v.polls) + " polls";
  if (v.has_witness) {
    out += ", witness epoch " + std::to_string(v.epoch) + " phase " +
           std::string(cancel_phase_lifecycle.name(v.phase)) + " " + std::string(name(v.reason_kind)) + " of " +
           std::to_string(v.chain_levels) + " levels";
  }
  if (v.state == task_state::cancelling) out += ", " + std::to_string(v.cleanup_polls_left) + " left";
  if (v.has_ended) {
    out += ", ended " + std::string(name(v.ended)) + " " + std::string(name(v.ended_kind)) + " " +
           std::to_string(v.ended_value) + (v.ended_overrun ? " overrun" : "");
  }
  return out;
}

[[nodiscard]] inline std::string text(const region_view& v) {
  std::string out = v.is_released ? "released" : std::string(region_lifecycle.name(v.state));
  if (!v.is_released) {
    out += ", " + std::to_string(v.live_tasks) + " tasks, " + std::to_string(v.live_regions) + " regions, " +
           std::to_string(v.reserved) + " reserved, " + std::to_string(v.leaked) + " leaked";
  }
  if (v.has_reason) out += ", reason " + std::string(name(v.reason_kind));
  if (v.has_ended) {
    out += ", ended " + std::string(name(v.ended)) + " " + std::string(name(v.ended_kind)) + " " +
           std::to_string(v.ended_value);
  }
  return out;
}

/// What one call came to.
struct kernel_answer {
  status code = status::ok;
  bool newly = false;
  std::uint32_t mask = 0;
  step_view step;

  friend bool operator==(const kernel_answer&, const kernel_answer&) = default;
};

[[nodiscard]] inline std::string text(const kernel_answer& a) {
  std::string out = std::string(name(a.code)) + (a.newly ? " newly" : "");
  if (a.mask != 0) out += " mask " + std::to_string(a.mask);
  if (a.step.is_idle) out += " idle";
  if (a.step.task != 0) {
    constexpr std::string_view sources[] = {"cancel", "timed", "ready", "fallback", "stall"};
    out += " task " + std::to_string(a.step.task) + " from " + std::string(sources[a.step.source]);
  }
  if (a.step.passed != 0) out += " passed " + std::to_string(a.step.passed);
  return out;
}

// ---- What counts of a view ----

[[nodiscard]] inline task_view what_counts(task_view v, bool with_outcome) {
  if (v.is_released) {
    task_view out;
    out.is_released = true;
    out.has_ended = v.has_ended;
    out.ended = v.ended;
    out.ended_kind = v.ended_kind;
    out.ended_overrun = v.ended_overrun;
    out.ended_value = v.ended_value;
    v = out;
  }
  if (!v.has_witness) {
    v.phase = cancel_phase::requested;
    v.reason_kind = cancel_kind::user;
    v.chain_levels = 0;
  }
  if (v.state != task_state::cancelling) v.cleanup_polls_left = 0;
  v.has_ended = v.has_ended && (with_outcome || !v.is_released);
  if (!v.has_ended) v.ended = outcome_kind::ok;
  if (!v.has_ended || v.ended != outcome_kind::cancelled) {
    v.ended_kind = cancel_kind::user;
    v.ended_overrun = false;
  }
  if (!v.has_ended || v.ended > outcome_kind::err) v.ended_value = 0;
  return v;
}

[[nodiscard]] inline region_view what_counts(region_view v, bool with_outcome) {
  if (v.is_released) {
    region_view out;
    out.is_released = true;
    out.has_ended = v.has_ended;
    out.ended = v.ended;
    out.ended_kind = v.ended_kind;
    out.ended_value = v.ended_value;
    v = out;
  }
  if (!v.has_reason) v.reason_kind = cancel_kind::user;
  v.has_ended = v.has_ended && (with_outcome || !v.is_released);
  if (!v.has_ended) v.ended = outcome_kind::ok;
  if (!v.has_ended || v.ended != outcome_kind::cancelled) v.ended_kind = cancel_kind::user;
  if (!v.has_ended || v.ended > outcome_kind::err) v.ended_value = 0;
  return v;
}

// ---- Two worlds ----

class kernel_pair {
 public:
  kernel_pair(const kernel_plan& plan, const world_factory& model, const world_factory& other)
      : model_(model(plan.config, plan.scripts)), other_(other(plan.config, plan.scripts)) {}

  [[nodiscard]] const kernel_world& model() const { return *model_; }

  /// True when the operation names something that never existed: a shortened run may, a drawn one does not.
  [[nodiscard]] bool is_void(const kernel_operation& op) const {
    switch (op.call) {
      case kernel_call::create_region:
      case kernel_call::spawn:
      case kernel_call::close:
      case kernel_call::begin_close:
      case kernel_call::begin_drain:
      case kernel_call::begin_finalize:
      case kernel_call::finish_close:
      case kernel_call::reserve:
      case kernel_call::add_finalizer:
      case kernel_call::release_region: return op.n > model_->regions();
      case kernel_call::commit:
      case kernel_call::abort: return op.n > model_->obligations();
      case kernel_call::request_cancel:
      case kernel_call::wake:
      case kernel_call::release_task: return op.n > model_->tasks();
      default: return false;
    }
  }

  /// The difference, or nothing.
  std::string apply(const kernel_operation& op) {
    const kernel_answer expected = ask(*model_, op), seen = ask(*other_, op);
    was_idle_ = op.call == kernel_call::step && expected.step.is_idle;
    if (expected != seen) return "answers " + text(seen) + ", the model " + text(expected);
    const auto count = [](const char* what, std::uint64_t real, std::uint64_t model) {
      return real == model ? std::string()
                           : std::string(what) + ": " + std::to_string(real) + ", the model " + std::to_string(model);
    };
    std::string difference = count("tasks created", other_->tasks(), model_->tasks());
    if (difference.empty()) difference = count("regions created", other_->regions(), model_->regions());
    if (difference.empty()) difference = count("obligations made", other_->obligations(), model_->obligations());
    return difference.empty() ? compare_log() : difference;
  }

  /// Everything that can be seen.
  std::string compare() {
    for (std::uint64_t n = 1; n <= model_->tasks(); ++n) {
      const task_view a = model_->task(n), b = other_->task(n);
      const bool both = a.has_ended && b.has_ended;
      if (what_counts(a, both) != what_counts(b, both)) {
        return "task " + std::to_string(n) + " is " + text(b) + "; in the model " + text(a);
      }
    }
    for (std::uint64_t n = 1; n <= model_->regions(); ++n) {
      const region_view a = model_->region(n), b = other_->region(n);
      const bool both = a.has_ended && b.has_ended;
      if (what_counts(a, both) != what_counts(b, both)) {
        return "region " + std::to_string(n) + " is " + text(b) + "; in the model " + text(a);
      }
    }
    for (std::uint64_t n = 1; n <= model_->obligations(); ++n) {
      obligation_state a = obligation_state::reserved, b = obligation_state::reserved;
      const status sa = model_->obligation_state_of(n, a), sb = other_->obligation_state_of(n, b);
      if (sa != sb || (sa == status::ok && a != b)) {
        return "obligation " + std::to_string(n) + " is " + std::string(name(sb)) + " " +
               std::string(obligation_lifecycle.name(b)) + "; in the model " + std::string(name(sa)) + " " +
               std::string(obligation_lifecycle.name(a));
      }
    }
    kernel_operation ask_rest;
    ask_rest.call = kernel_call::quiescence;
    const kernel_answer a = ask(*model_, ask_rest), b = ask(*other_, ask_rest);
    if (a != b) return "quiescence is " + text(b) + "; in the model " + text(a);
    if (std::string law = broken_in(*model_); !law.empty()) return "the model breaks a law: " + law;
    if (std::string law = broken_in(*other_); !law.empty()) return "a law is broken: " + law;
    return {};
  }

  /// Whether a shutdown that was run to its end has left something that it may not leave.
  std::string compare_end(const world_config& config) {
    if (!was_idle_) return "the shutdown does not come to an end";
    std::uint32_t mask = 0;
    const bool may_leave = config.hold_leaks || config.max_unobserved_cancel_polls == 0;
    if (model_->quiescence(mask) == status::ok || may_leave) return {};
    return "the shutdown ends and leaves mask " + std::to_string(mask);
  }

  [[nodiscard]] bool was_idle() const { return was_idle_; }

  void add_coverage(kernel_coverage& sum) const {
    const auto& naive = static_cast<const naive_kernel&>(*model_);  // What a pair calls its model is one.
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += naive.coverage()[i];
  }

 private:
  static kernel_answer ask(kernel_world& w, const kernel_operation& op) {
    kernel_answer a;
    switch (op.call) {
      case kernel_call::create_region: a.code = w.create_region(op.n, op.b, op.held); break;
      case kernel_call::spawn: a.code = w.spawn(op.n, op.script, op.b, op.held); break;
      case kernel_call::request_cancel: a.code = w.request_cancel(op.n, op.k, a.newly); break;
      case kernel_call::close: a.code = w.close(op.n, op.k); break;
      case kernel_call::begin_close: a.code = w.begin_close(op.n, op.k); break;
      case kernel_call::begin_drain: a.code = w.begin_drain(op.n); break;
      case kernel_call::begin_finalize: a.code = w.begin_finalize(op.n); break;
      case kernel_call::finish_close: a.code = w.finish_close(op.n); break;
      case kernel_call::reserve: a.code = w.reserve(op.n); break;
      case kernel_call::commit: a.code = w.commit(op.n); break;
      case kernel_call::abort: a.code = w.abort(op.n); break;
      case kernel_call::add_finalizer: a.code = w.add_finalizer(op.n, op.f); break;
      case kernel_call::wake: w.wake(op.n); break;
      case kernel_call::release_task: w.release_task(op.n); break;
      case kernel_call::release_region: w.release_region(op.n); break;
      case kernel_call::set_governor: w.set_governor(static_cast<std::uint8_t>(op.n)); break;
      case kernel_call::advance: w.advance(op.n); break;
      case kernel_call::step:
        a.step = w.step();
        if (a.step.is_idle) a.step.task = a.step.source = 0;  // Names nothing.
        break;
      case kernel_call::shutdown_begin: a.code = w.shutdown_begin(); break;
      case kernel_call::quiescence: a.code = w.quiescence(a.mask); break;
    }
    return a;
  }

  std::string compare_log() {
    const std::vector<std::string>&a = model_->log(), &b = other_->log();
    for (; logged_ < a.size() && logged_ < b.size(); ++logged_) {
      if (a[logged_] != b[logged_]) return "logs '" + b[logged_] + "', the model '" + a[logged_] + "'";
    }
    if (a.size() == b.size()) return {};
    return a.size() < b.size() ? "logs '" + b[logged_] + "', the model nothing"
                               : "logs nothing, the model '" + a[logged_] + "'";
  }

  std::unique_ptr<kernel_world> model_;
  std::unique_ptr<kernel_world> other_;
  std::size_t logged_ = 0;
  bool was_idle_ = false;
};

// ---- Runs ----

struct kernel_run {
  std::string difference;  // Empty: none.
  std::vector<kernel_operation> done;
};

struct run_limits {
  std::uint64_t operations = UINT64_MAX;  // Stop after so many.
  std::uint64_t look_every = 4;           // Compare everything after each so many.
  std::uint64_t last_steps = 100'000;     // Steps at most after the shutdown.
};

namespace detail {
inline bool go(kernel_pair& pair, kernel_run& run, const kernel_operation& op, std::uint64_t look_every) {
  run.done.push_back(op);
  run.difference = pair.apply(op);
  if (run.difference.empty() && run.done.size() % look_every == 0) run.difference = pair.compare();
  return run.difference.empty();
}
}  // namespace detail

/// `watch` is told of the pair before it is used; an assertion that fails in it can then say where.
inline kernel_run run_plan(const kernel_plan& plan, plan_draws& draws, const world_factory& model,
                           const world_factory& other, const run_limits& limits, kernel_coverage& coverage,
                           const std::function<void(std::uint64_t)>& watch = {}) {
  kernel_run run;
  kernel_pair pair(plan, model, other);
  operation_source source(draws, plan);
  const auto next = [&](const kernel_operation& op) {
    if (run.done.size() >= limits.operations) return false;
    if (watch) watch(run.done.size() + 1);
    return detail::go(pair, run, op, limits.look_every);
  };
  bool goes_on = true;
  for (std::size_t i = 0; goes_on && i < plan.before.size(); ++i) goes_on = next(plan.before[i]);
  for (std::uint64_t i = 0; goes_on && i < plan.length; ++i) goes_on = next(source.next(pair.model()));
  kernel_operation op;
  op.call = kernel_call::shutdown_begin;
  goes_on = goes_on && next(op);
  op.call = kernel_call::step;
  for (std::uint64_t i = 0; goes_on && i < limits.last_steps; ++i) goes_on = next(op) && !pair.was_idle();
  if (run.difference.empty()) run.difference = pair.compare();
  if (run.difference.empty() && run.done.size() < limits.operations) run.difference = pair.compare_end(plan.config);
  pair.add_coverage(coverage);
  return run;
}

/// The same operations once more, everything compared after each; those that name nothing are left out.
inline kernel_run replay(const kernel_plan& plan, std::span<const kernel_operation> operations,
                         const world_factory& model, const world_factory& other) {
  kernel_run run;
  kernel_pair pair(plan, model, other);
  for (const kernel_operation& op : operations) {
    if (pair.is_void(op)) continue;
    if (!detail::go(pair, run, op, 1)) break;
  }
  return run;
}

/// Cut behind the first difference, then without each operation that it does not need. What scripts rely on stays.
inline kernel_run shorten(const kernel_plan& plan, const kernel_run& failed, const world_factory& model,
                          const world_factory& other) {
  kernel_run best = replay(plan, failed.done, model, other);
  if (best.difference.empty()) return failed;
  for (std::size_t chunk = 64; chunk != 0; chunk /= 2) {
    for (std::size_t end = best.done.size(); end > plan.before.size();) {
      const std::size_t begin = end - plan.before.size() > chunk ? end - chunk : plan.before.size();
      std::vector<kernel_operation> fewer(best.done.begin(), best.done.begin() + static_cast<std::ptrdiff_t>(begin));
      fewer.insert(fewer.end(), best.done.begin() + static_cast<std::ptrdiff_t>(end), best.done.end());
      kernel_run shorter = replay(plan, fewer, model, other);
      if (!shorter.difference.empty()) best = std::move(shorter);
      end = begin < best.done.size() ? begin : best.done.size();
    }
  }
  return best;
}

/// A failed run in words: scripts, and the operations that lead to the difference.
[[nodiscard]] inline std::string describe(const kernel_plan& plan, const kernel_run& run) {
  std::string out = run.difference + "\n";
  for (std::size_t i = 0; i < plan.scripts.size(); ++i) {
    out += "  script " + std::to_string(i) + ":" + text(plan.scripts[i]) + "\n";
  }
  for (std::size_t i = 0; i < run.done.size(); ++i) {
    out += "  " + std::to_string(i + 1) + " " + text(run.done[i]) + "\n";
  }
  return out;
}

}  // namespace asx::testing
