// asx/sched/testing/driver.hpp - gives a scheduler and its model the same operations and says where they differ.
//
//     sched_scenarios        the configurations that the random tests run under
//     sched_operation_source the next operation, from any source of draws
//     sched_pair             a scheduler and a model; apply() compares them after each operation
//
// Compared: every result; every dispatch with all its fields and its entry's key; depths, streaks, suggestion, limit
// and certificate after each operation; the witness hash where it is asked for and at the end. Not compared: what
// a dispatch names that found nothing (its source), or that was not limited (the lane).
//
// Cancel points: none. Threads: one owner. Lifetime: a pair owns its scheduler and its places, and empties the lanes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/sched/scheduler.hpp"
#include "asx/sched/testing.hpp"

namespace asx::testing {

// A configuration, how many tasks there are, and how many different priorities and deadlines they have: 0 for any,
// the boundaries among them.
struct sched_scenario {
  std::string_view name;
  sched_config config;
  std::uint32_t population = 0;
  std::uint32_t priorities = 0;
  std::uint32_t deadlines = 0;
  std::uint64_t episode = 4000;
};

inline std::vector<sched_scenario> sched_scenarios() {
  constexpr tie_break fifo = tie_break::fifo;
  constexpr tie_break rng = tie_break::rng;
  // name, {seed, workers, max places, cancel limit, timed limit, tie-break, threads}, tasks, priorities, deadlines
  return {
      {"defaults", {0, 1, 65536, 16, 64, fifo, false}, 120, 3, 3},
      {"drawn", {1, 1, 65536, 16, 64, rng, false}, 120, 2, 0},
      {"one by one", {2, 1, 64, 1, 1, fifo, false}, 12, 2, 2},
      {"two by one", {3, 1, 64, 2, 1, rng, false}, 16, 1, 1},
      {"one by two", {4, 1, 64, 1, 2, fifo, false}, 16, 0, 0},
      {"one by three", {5, 1, 64, 1, 3, fifo, false}, 24, 2, 2},
      {"three by three", {6, 1, 64, 3, 3, fifo, false}, 24, 3, 4},
      {"no timed limit", {7, 1, 300, 3, 0, fifo, false}, 40, 0, 2},
      {"couple", {UINT64_MAX, 2, 64, 2, 2, fifo, false}, 20, 2, 2},
      {"couple drawn", {9, 2, 64, 1, 3, rng, false}, 24, 1, 0},
      {"trio", {10, 3, 256, 3, 16, fifo, false}, 60, 2, 3},
      {"trio drawn", {std::uint64_t{1} << 32, 3, 65536, 2, 64, rng, false}, 80, 2, 2},
      {"four without limit", {12, 4, 300, 16, 0, fifo, false}, 60, 0, 0},
      {"five", {13, 5, 80, 1, 1, rng, false}, 30, 1, 1},
      {"six", {14, 6, 300, 64, 16, fifo, false}, 200, 4, 4},
      {"eight", {15, 8, 200, 3, 2, rng, false}, 64, 2, 2},
      {"eight deep", {0x0123'4567'89ab'cdefU, 8, 65536, 16, 3, fifo, false}, 300, 0, 0},
      {"crowd", {17, 1, 65536, 64, 64, rng, false}, 400, 0, 0},
  };
}

enum class sched_call : std::uint8_t {
  push,
  remove,
  push_cancel,
  next,
  count_stall,
  suggest,
  witness,
  reset_certificate,
  check
};

struct sched_operation {
  sched_call call = sched_call::check;
  std::uint32_t worker = 0;
  std::uint64_t task = 1;
  lane into = lane::ready;
  std::uint8_t priority = 0;
  instant deadline = instant::none();
  governor suggestion = governor::no_preference;
};

// What a run has met. A driver that never meets one of these proves less than it says.
enum class sched_event : std::uint8_t {
  cancel,
  timed,
  ready,
  stolen,
  fallback,
  went_idle,
  idle_again,
  limited_cancel,
  limited_timed,
  limited_to_theft,
  cancel_turn,
  cancel_turn_again,
  timed_beyond_limit,
  base_exceedance,
  limit_lowered_below_streak,
  tie_drawn,
  scan_in_vain,
  long_scan,
  push_refused,
  remove_refused,
  cancel_moved,
  cancel_parked,
  cancel_strengthened,
  cancel_refused,
  stall,
  reset,
  count
};

inline constexpr auto sched_event_names = std::to_array<std::string_view>({"cancel",
                                                                           "timed",
                                                                           "ready",
                                                                           "stolen",
                                                                           "fallback",
                                                                           "went_idle",
                                                                           "idle_again",
                                                                           "limited_cancel",
                                                                           "limited_timed",
                                                                           "limited_to_theft",
                                                                           "cancel_turn",
                                                                           "cancel_turn_again",
                                                                           "timed_beyond_limit",
                                                                           "base_exceedance",
                                                                           "limit_lowered_below_streak",
                                                                           "tie_drawn",
                                                                           "scan_in_vain",
                                                                           "long_scan",
                                                                           "push_refused",
                                                                           "remove_refused",
                                                                           "cancel_moved",
                                                                           "cancel_parked",
                                                                           "cancel_strengthened",
                                                                           "cancel_refused",
                                                                           "stall",
                                                                           "reset"});
static_assert(sched_event_names.size() == static_cast<std::size_t>(sched_event::count));

using sched_coverage = std::array<std::uint64_t, static_cast<std::size_t>(sched_event::count)>;

inline constexpr auto sched_lane_names = std::to_array<std::string_view>({"cancel", "timed", "ready"});
inline constexpr auto sched_governor_names =
    std::to_array<std::string_view>({"no_preference", "meet_deadlines", "drain_obligations", "drain_regions"});

/// One line: the call and what it was given.
inline std::string describe(const sched_operation& op) {
  static constexpr auto calls = std::to_array<std::string_view>(
      {"push", "remove", "push_cancel", "next", "count_stall", "suggest", "witness", "reset_certificate", "check"});
  std::string line(calls[static_cast<std::size_t>(op.call)]);
  const bool has_task =
      op.call == sched_call::push || op.call == sched_call::push_cancel || op.call == sched_call::remove;
  const bool has_worker = op.call <= sched_call::count_stall && op.call != sched_call::remove;
  if (has_worker) line += " worker " + std::to_string(op.worker);
  if (has_task) line += " task " + std::to_string(op.task);
  if (op.call == sched_call::push) line += " " + std::string(sched_lane_names[static_cast<std::size_t>(op.into)]);
  if (has_task && op.call != sched_call::remove) line += " priority " + std::to_string(op.priority);
  if (op.call == sched_call::push && op.into == lane::timed) line += " deadline " + std::to_string(op.deadline.ns);
  if (op.call == sched_call::suggest) {
    line += " " + std::string(sched_governor_names[static_cast<std::size_t>(op.suggestion)]);
  }
  return line;
}

class sched_pair {
 public:
  sched_pair(const sched_config& config, std::uint32_t population)
      : config_(config), scheduler_(config), model_(config) {
    is_admitted_ = scheduler_.ready() && scheduler_.admit(population) == status::ok;
    for (std::uint64_t number = 1; number <= population; ++number) places_.emplace_back(task_id{number});
  }
  ~sched_pair() {
    for (place& p : places_) scheduler_.remove(p);
  }
  sched_pair(const sched_pair&) = delete;
  sched_pair& operator=(const sched_pair&) = delete;

  /// Empty when scheduler and model agree; otherwise what differs and the last operations.
  [[nodiscard]] std::string apply(const sched_operation& op) {
    if (!is_admitted_) return "the scheduler is not ready, or refuses room for the tasks";
    history_[applied_ % history_.size()] = op;
    ++applied_;
    std::string difference = perform(op);
    if (difference.empty()) difference = compare_state();
    return difference.empty() ? difference : difference + "\n" + recent_operations();
  }

  /// Every worker in turn until nobody finds anything, and the certificate's hash at the end.
  [[nodiscard]] std::string drain() {
    std::string difference;
    for (bool found = true; found && difference.empty();) {
      found = false;
      for (std::uint32_t w = 0; w < config_.workers && difference.empty(); ++w) {
        difference = apply({.call = sched_call::next, .worker = w});
        found = found || last_.task != 0;
      }
    }
    if (difference.empty()) difference = apply({.call = sched_call::witness});
    if (difference.empty()) difference = apply({.call = sched_call::check});
    if (difference.empty() && !model_.empty()) difference = "something was left behind";
    return difference;
  }

  [[nodiscard]] std::uint64_t population() const { return places_.size(); }
  [[nodiscard]] const naive_scheduler& model() const { return model_; }
  [[nodiscard]] const naive_dispatch& last() const { return last_; }
  [[nodiscard]] const sched_coverage& coverage() const { return coverage_; }
  [[nodiscard]] std::uint64_t applied() const { return applied_; }
  [[nodiscard]] std::string recent_operations() const {
    std::string lines;
    const std::uint64_t first = applied_ > history_.size() ? applied_ - history_.size() : 0;
    for (std::uint64_t i = first; i < applied_; ++i) {
      lines += "  operation " + std::to_string(i) + ": " + describe(history_[i % history_.size()]) + "\n";
    }
    return lines;
  }

 private:
  std::string perform(const sched_operation& op) {
    switch (op.call) {
      case sched_call::push: {
        const bool want = model_.push(op.worker, op.task, op.into, op.priority, op.deadline);
        if (!want) saw(sched_event::push_refused);
        const bool got = scheduler_.push(op.worker, at(op.task), op.into, op.priority, op.deadline);
        return differ("push", got, want) + compare_place(op.task);
      }
      case sched_call::remove: {
        const bool want = model_.remove(op.task);
        if (!want) saw(sched_event::remove_refused);
        const bool got = scheduler_.remove(at(op.task));
        return differ("remove", got, want) + compare_place(op.task);
      }
      case sched_call::push_cancel: {
        const auto old = model_.find(op.task);
        const bool want = model_.push_cancel(op.worker, op.task, op.priority);
        const bool was_cancel = old && old->where == lane::cancel;
        saw(!want        ? sched_event::cancel_refused
            : was_cancel ? sched_event::cancel_strengthened
            : old        ? sched_event::cancel_moved
                         : sched_event::cancel_parked);
        const bool got = scheduler_.push_cancel(op.worker, at(op.task), op.priority);
        return differ("push_cancel", got, want) + compare_place(op.task);
      }
      case sched_call::next: return dispatch_next(op.worker);
      case sched_call::count_stall:
        saw(sched_event::stall);
        model_.count_stall(op.worker);
        scheduler_.count_stall(op.worker);
        return {};
      case sched_call::suggest: {
        model_.suggest(op.suggestion);
        scheduler_.suggest(op.suggestion);
        for (std::uint32_t w = 0; w < config_.workers; ++w) {
          if (model_.cancel_streak(w) > model_.effective_limit()) saw(sched_event::limit_lowered_below_streak);
        }
        return {};
      }
      case sched_call::witness:
        return differ("witness_hash", scheduler_.certificate().witness_hash(), witness_of(model_.certificate()));
      case sched_call::reset_certificate:
        saw(sched_event::reset);
        model_.reset_certificate();
        scheduler_.reset_certificate();
        return {};
      case sched_call::check:
        scheduler_.check();
        for (std::uint64_t task = 1; task <= places_.size(); ++task) {
          std::string difference = compare_place(task);
          if (!difference.empty()) return difference;
        }
        return {};
    }
    return "no such call";
  }

  std::string dispatch_next(std::uint32_t worker) {
    const bool timed_was_full = model_.timed_is_full(worker);
    const std::uint64_t timed_before = model_.timed_streak(worker);
    const std::uint64_t exceeded_before = model_.certificate().base_limit_exceedances;
    last_ = model_.next(worker);
    const naive_dispatch& want = last_;
    cover(want, timed_was_full, timed_before, exceeded_before);

    const dispatch got = scheduler_.next(worker);
    const std::uint64_t got_task = got.who == nullptr ? 0 : got.who->task().value;
    std::string all = differ("task", got_task, want.task);
    if (want.task != 0 && all.empty()) {
      all += differ("from", number(got.from), number(want.from));
      all += differ("queued_in", number(got.who->queued_in()), number(want.entry.where));
      all += differ("worker", got.who->worker(), want.entry.worker);
      all += differ("priority", got.who->priority(), want.entry.priority);
      all += differ("deadline", got.who->deadline().ns, want.entry.deadline.ns);
      all += differ("insertion_seq", got.who->insertion_seq(), want.entry.insertion_seq);
      all += differ("is_queued", got.who->is_queued(), false);
    }
    all += differ("victim", got.victim, want.victim);
    all += differ("scan_start", got.scan_start, want.scan_start);
    all += differ("scanned", got.scanned, want.scanned);
    all += differ("candidates", got.candidates, want.candidates);
    all += differ("chosen", got.chosen, want.chosen);
    all += differ("is_limited", got.is_limited, want.is_limited);
    if (want.is_limited) all += differ("limited", number(got.limited), number(want.limited));
    all += differ("went_idle", got.went_idle, want.went_idle);
    return all.empty() ? all : "a dispatch of worker " + std::to_string(worker) + ": " + all;
  }

  void cover(const naive_dispatch& d, bool timed_was_full, std::uint64_t timed_before, std::uint64_t exceeded_before) {
    const bool is_theft = d.victim != no_worker;
    if (d.scanned != 0 && !is_theft) saw(sched_event::scan_in_vain);
    if (is_theft && d.scanned > 1) saw(sched_event::long_scan);
    if (d.task == 0) {
      saw(d.went_idle ? sched_event::went_idle : sched_event::idle_again);
      return;
    }
    switch (d.from) {
      case dispatch_source::cancel: saw(sched_event::cancel); break;
      case dispatch_source::timed: saw(sched_event::timed); break;
      case dispatch_source::ready: saw(is_theft ? sched_event::stolen : sched_event::ready); break;
      case dispatch_source::fallback:
      case dispatch_source::stall: saw(sched_event::fallback); break;
    }
    if (d.is_limited) saw(d.limited == lane::cancel ? sched_event::limited_cancel : sched_event::limited_timed);
    if (d.is_limited && is_theft) saw(sched_event::limited_to_theft);
    if (d.from == dispatch_source::cancel && d.is_limited) {
      const bool is_first = timed_before < 2 * std::uint64_t{config_.timed_streak_limit};
      saw(is_first ? sched_event::cancel_turn : sched_event::cancel_turn_again);
    }
    if (d.from == dispatch_source::timed && timed_was_full) saw(sched_event::timed_beyond_limit);
    if (d.candidates != 0) saw(sched_event::tie_drawn);
    if (model_.certificate().base_limit_exceedances > exceeded_before) saw(sched_event::base_exceedance);
  }

  std::string compare_place(std::uint64_t task) {
    const place& p = at(task);
    const auto want = model_.find(task);
    std::string all = differ("is_queued", p.is_queued(), want.has_value());
    if (want && all.empty()) {
      all += differ("queued_in", number(p.queued_in()), number(want->where));
      all += differ("worker", p.worker(), want->worker);
      all += differ("priority", p.priority(), want->priority);
      all += differ("deadline", p.deadline().ns, want->deadline.ns);
      all += differ("insertion_seq", p.insertion_seq(), want->insertion_seq);
    }
    return all.empty() ? all : "task " + std::to_string(task) + ": " + all;
  }

  std::string compare_state() const {
    std::string all;
    for (std::uint32_t w = 0; w < config_.workers; ++w) {
      for (const lane l : {lane::cancel, lane::timed, lane::ready}) {
        if (scheduler_.depth(w, l) == model_.depth(w, l)) continue;
        all += "worker " + std::to_string(w) + ", lane " + std::string(sched_lane_names[static_cast<std::size_t>(l)]);
        all += differ(", depth", scheduler_.depth(w, l), model_.depth(w, l));
      }
      all += differ("cancel_streak", scheduler_.cancel_streak(w), model_.cancel_streak(w));
      all += differ("timed_streak", scheduler_.timed_streak(w), model_.timed_streak(w));
    }
    all += differ("empty", scheduler_.empty(), model_.empty());
    all += differ("suggestion", number(scheduler_.suggestion()), number(model_.suggestion()));
    all += differ("effective_limit", scheduler_.effective_limit(), model_.effective_limit());
    return all + compare_certificate(scheduler_.certificate(), model_.certificate());
  }

  static std::string compare_certificate(const fairness_certificate& got, const fairness_certificate& want) {
    if (got == want) return {};
    return differ("cancel_dispatches", got.cancel_dispatches, want.cancel_dispatches) +
           differ("timed_dispatches", got.timed_dispatches, want.timed_dispatches) +
           differ("ready_dispatches", got.ready_dispatches, want.ready_dispatches) +
           differ("fallback_cancel_dispatches", got.fallback_cancel_dispatches, want.fallback_cancel_dispatches) +
           differ("base_limit_exceedances", got.base_limit_exceedances, want.base_limit_exceedances) +
           differ("effective_limit_exceedances", got.effective_limit_exceedances, want.effective_limit_exceedances) +
           differ("max_effective_limit_observed", got.max_effective_limit_observed, want.max_effective_limit_observed);
  }

  // "name is 3, the model says 4; ", or nothing.
  static std::string differ(std::string_view name, std::uint64_t got, std::uint64_t want) {
    if (got == want) return {};
    return std::string(name) + " is " + std::to_string(got) + ", the model says " + std::to_string(want) + "; ";
  }
  template <class Enum>
  static std::uint64_t number(Enum value) {
    return static_cast<std::uint64_t>(value);
  }

  place& at(std::uint64_t task) { return places_[static_cast<std::size_t>(task - 1)]; }
  void saw(sched_event event) { ++coverage_[static_cast<std::size_t>(event)]; }

  sched_config config_;
  std::deque<place> places_;
  scheduler scheduler_;
  naive_scheduler model_;
  bool is_admitted_ = false;
  naive_dispatch last_;
  std::array<sched_operation, 16> history_{};
  std::uint64_t applied_ = 0;
  sched_coverage coverage_{};
};

/// Draws the next operation for a pair. `Draws` has next_below(bound); everything else comes from the model, so
/// that a scheduler that errs does not change what it is asked.
///
/// Streaks need patience, so the source has moods: for a while it prefers some lanes, one worker, to push or to
/// dispatch, and to let what was dispatched yield.
template <class Draws>
class sched_operation_source {
 public:
  sched_operation_source(Draws& draws, const sched_scenario& scenario) : draws_(draws), scenario_(scenario) {}

  sched_operation draw(const sched_pair& pair) {
    if (mood_left_ == 0) change_mood();
    --mood_left_;
    sched_operation op;
    op.worker = some_worker();
    op.task = 1 + draws_.next_below(pair.population());
    op.priority = priority();
    if (may_yield_ && pair.last().task != 0 && draws_.next_below(4) != 0) {
      may_yield_ = false;
      op.call = sched_call::push;
      op.worker = pair.last().entry.worker;
      op.task = pair.last().task;
      op.into = pair.last().entry.where;
      op.deadline = deadline();
      return op;
    }
    const std::uint64_t dice = draws_.next_below(64);
    if (dice < pushes_) {
      op.call = sched_call::push;
      op.into = some_lane();
      op.deadline = deadline();
    } else if (dice < 56) {
      op.call = sched_call::next;
      may_yield_ = mood_yields_;
    } else if (dice < 60) {
      op.call = sched_call::push_cancel;
      if (cancel_weight_ == 0) op.call = sched_call::witness;
    } else {
      rare(op, pair.model());
    }
    return op;
  }

 private:
  void change_mood() {
    constexpr auto weights = std::to_array<std::array<std::uint64_t, 3>>({
        {1, 1, 1},
        {8, 1, 1},
        {1, 0, 0},
        {0, 1, 0},
        {0, 40, 1},
        {1, 6, 0},
        {1, 12, 1},
        {0, 0, 1},
        {6, 1, 0},
    });
    const auto& chosen = weights[draws_.next_below(weights.size())];
    cancel_weight_ = chosen[0];
    timed_weight_ = chosen[1];
    ready_weight_ = chosen[2];
    constexpr auto push_shares = std::to_array<std::uint64_t>({0, 8, 20, 28, 29, 36, 48});
    pushes_ = push_shares[draws_.next_below(push_shares.size())];
    mood_yields_ = draws_.next_below(2) == 0;
    focus_ = static_cast<std::uint32_t>(draws_.next_below(scenario_.config.workers));
    mood_left_ = 20 + draws_.next_below(300);
  }

  std::uint32_t some_worker() {
    if (draws_.next_below(8) != 0) return focus_;
    return static_cast<std::uint32_t>(draws_.next_below(scenario_.config.workers));
  }

  lane some_lane() {
    const std::uint64_t dice = draws_.next_below(cancel_weight_ + timed_weight_ + ready_weight_);
    if (dice < cancel_weight_) return lane::cancel;
    return dice < cancel_weight_ + timed_weight_ ? lane::timed : lane::ready;
  }

  std::uint8_t priority() {
    constexpr auto few = std::to_array<std::uint8_t>({128, 0, 255, 200, 127});
    if (scenario_.priorities == 0) return static_cast<std::uint8_t>(draws_.next_below(256));
    return few[draws_.next_below(std::min<std::uint64_t>(scenario_.priorities, few.size()))];
  }

  instant deadline() {
    constexpr auto few = std::to_array<std::uint64_t>({1000, UINT64_MAX, 0, UINT64_MAX - 1, 1});
    if (scenario_.deadlines != 0) {
      return {few[draws_.next_below(std::min<std::uint64_t>(scenario_.deadlines, few.size()))]};
    }
    const std::uint64_t dice = draws_.next_below(16);
    if (dice < few.size()) return {few[dice]};
    return {draws_.next_below(dice < 10 ? 50 : UINT64_MAX)};
  }

  void rare(sched_operation& op, const naive_scheduler& model) {
    switch (draws_.next_below(8)) {
      case 0:
      case 1:
      case 2: op.call = sched_call::remove; break;
      case 3:
      case 4:
        op.call = sched_call::suggest;
        op.suggestion = static_cast<governor>(draws_.next_below(4));
        break;
      case 5: op.call = sched_call::witness; break;
      case 6: op.call = draws_.next_below(4) == 0 ? sched_call::reset_certificate : sched_call::check; break;
      default:
        op.call = sched_call::next;
        // only a worker that is idle makes one, and only when nothing is runnable anywhere.
        if (model.empty() && model.is_idle(op.worker)) op.call = sched_call::count_stall;
        break;
    }
  }

  Draws& draws_;
  const sched_scenario& scenario_;
  std::uint64_t mood_left_ = 0;
  std::uint64_t cancel_weight_ = 1;
  std::uint64_t timed_weight_ = 1;
  std::uint64_t ready_weight_ = 1;
  std::uint64_t pushes_ = 0;
  std::uint32_t focus_ = 0;
  bool mood_yields_ = false;
  bool may_yield_ = false;
};

}  // namespace asx::testing
