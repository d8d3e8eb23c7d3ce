// asx/sched/testing.hpp - what the scheduler must decide, as plain lists that are searched at every pick.
//
// The model is slow and obvious, and written from the rulings alone, so that it can be the judge: where scheduler
// and model differ, the ruling cited here decides. Comparing the two is the business of testing/driver.hpp.
//
// A dispatch, in the order of the eight steps that a scheduler has a part in:
//
//     lanes of this worker, in the governor's order, less those that a full streak holds back
//     --> theft from another worker's ready lane --> fallback: cancel, though its streak is full --> idle
//
// A task is a number here. What the rulings leave to the scheduler has no answer: memory, locks, and which
// source or lane a dispatch names when it found nothing or was not limited.
//
// Cancel points: none. Threads: one owner. Lifetime: a plain value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/random.hpp"
#include "asx/base/time.hpp"
#include "asx/sched/scheduler.hpp"

namespace asx::testing {

/// XXH3-64 over the seven fields in their order, computed apart from the certificate's own function.
[[nodiscard]] inline std::uint64_t witness_of(const fairness_certificate& c) {
  const std::array<std::uint64_t, 7> fields = {
      c.cancel_dispatches,           c.timed_dispatches,       c.ready_dispatches,
      c.fallback_cancel_dispatches,  c.base_limit_exceedances, c.effective_limit_exceedances,
      c.max_effective_limit_observed};
  return hash_fields(fields);
}

/// A queued task with every part of its key.
struct naive_entry {
  std::uint64_t task = 0;
  lane where = lane::ready;
  std::uint32_t worker = 0;  // Whose lane.
  std::uint8_t priority = 0;
  instant deadline = instant::none();
  std::uint64_t insertion_seq = 0;
};

/// asx::dispatch with a number in place of the pointer, and the entry as it was when it was picked.
struct naive_dispatch {
  std::uint64_t task = 0;  // 0: nothing to dispatch.
  dispatch_source from = dispatch_source::ready;
  std::uint32_t victim = no_worker;
  std::uint32_t scan_start = 0;
  std::uint32_t scanned = 0;
  std::uint32_t candidates = 0;
  std::uint32_t chosen = 0;
  bool is_limited = false;
  lane limited = lane::cancel;
  bool went_idle = false;
  naive_entry entry;
};

class naive_scheduler {
 public:
  explicit naive_scheduler(const sched_config& config) : config_(config) {
    for (std::uint32_t w = 0; w < config.workers; ++w) {
      workers_.push_back({.tie_break_draws = splitmix64(config.seed, w, random_stream::tie_break),
                          .steal_draws = splitmix64(config.seed, w, random_stream::steal)});
    }
    reset_certificate();
  }

  bool push(std::uint32_t worker, std::uint64_t task, lane into, std::uint8_t priority,
            instant deadline = instant::none()) {
    if (find(task)) return false;
    insert(worker, task, into, priority, into == lane::timed ? deadline : instant::none());
    return true;
  }

  bool remove(std::uint64_t task) {
    for (worker_state& w : workers_) {
      for (auto& entries : w.lanes) {
        if (std::erase_if(entries, [&](const naive_entry& e) { return e.task == task; }) != 0) return true;
      }
    }
    return false;
  }

  bool push_cancel(std::uint32_t worker, std::uint64_t task, std::uint8_t priority) {
    const std::optional<naive_entry> old = find(task);
    if (old && old->where == lane::cancel) {
      if (priority <= old->priority) return false;  // otherwise it stays where it is.
      worker = old->worker;                         // to the tail of the new priority, with a new number.
    }
    remove(task);
    insert(worker, task, lane::cancel, priority, instant::none());  // U-13: the cleanup priority replaces its own.
    return true;
  }

  naive_dispatch next(std::uint32_t worker) {
    worker_state& w = workers_[worker];
    naive_dispatch d;
    const std::optional<lane> unlimited = first_waiting(w, lane_order());
    if (const std::optional<lane> chosen = choose(w)) {
      d.from = source_of(*chosen);
      d.entry = pick(w, *chosen, d);
    } else if (steal(worker, d)) {  // before the fallback.
      d.from = dispatch_source::ready;
    } else if (!w.in(lane::cancel).empty()) {  // nothing else is runnable.
      d.from = dispatch_source::fallback;
      d.entry = pick(w, lane::cancel, d);
    } else {
      idle(w, d);
      return d;
    }
    d.task = d.entry.task;
    d.is_limited = d.from != dispatch_source::fallback && unlimited && *unlimited != d.entry.where;
    if (d.is_limited) d.limited = *unlimited;
    remove(d.task);
    count(w, d.from);
    return d;
  }

  // a fallback cancel dispatch of a worker that is idle and stays it; never an exceedance.
  void count_stall(std::uint32_t) {
    observe_limit();
    ++certificate_.fallback_cancel_dispatches;
  }

  void suggest(governor suggestion) { suggestion_ = suggestion; }  // R-107, U-30
  void reset_certificate() {
    certificate_ = {};
    certificate_.max_effective_limit_observed = config_.cancel_streak_limit;
  }

  [[nodiscard]] governor suggestion() const { return suggestion_; }
  [[nodiscard]] fairness_certificate certificate() const { return certificate_; }
  [[nodiscard]] std::uint32_t effective_limit() const {  // 002 3.7
    const bool drains = suggestion_ == governor::drain_obligations || suggestion_ == governor::drain_regions;
    return drains ? 2 * config_.cancel_streak_limit : config_.cancel_streak_limit;
  }
  [[nodiscard]] std::uint32_t workers() const { return config_.workers; }
  [[nodiscard]] std::size_t depth(std::uint32_t worker, lane l) const { return workers_[worker].in(l).size(); }
  [[nodiscard]] bool empty() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const worker_state& w) {
      return std::all_of(w.lanes.begin(), w.lanes.end(), [](const auto& entries) { return entries.empty(); });
    });
  }
  [[nodiscard]] std::uint64_t cancel_streak(std::uint32_t worker) const { return workers_[worker].cancel_streak; }
  [[nodiscard]] std::uint64_t timed_streak(std::uint32_t worker) const { return workers_[worker].timed_streak; }

  /// None when it is not queued.
  [[nodiscard]] std::optional<naive_entry> find(std::uint64_t task) const {
    for (const worker_state& w : workers_) {
      for (const auto& entries : w.lanes) {
        for (const naive_entry& e : entries) {
          if (e.task == task) return e;
        }
      }
    }
    return std::nullopt;
  }

  // For drivers and coverage only.
  [[nodiscard]] bool timed_is_full(std::uint32_t worker) const { return timed_is_full(workers_[worker]); }
  [[nodiscard]] bool is_idle(std::uint32_t worker) const { return !workers_[worker].has_dispatched; }

 private:
  struct worker_state {
    std::array<std::vector<naive_entry>, 3> lanes = {};  // R-100, in order of insertion; R-163: streaks are per worker.
    std::uint64_t next_seq = 1;                          // from 1, over the three lanes.
    std::uint64_t cancel_streak = 0;
    std::uint64_t timed_streak = 0;
    bool has_cancel_turn = true;         // cancel may go once while the timed streak is full.
    std::uint64_t timed_since_turn = 0;  // Timed dispatches since that turn was taken.
    bool has_dispatched = false;         // Since it was last idle.
    splitmix64 tie_break_draws;
    splitmix64 steal_draws;

    [[nodiscard]] std::vector<naive_entry>& in(lane l) { return lanes[static_cast<std::size_t>(l)]; }
    [[nodiscard]] const std::vector<naive_entry>& in(lane l) const { return lanes[static_cast<std::size_t>(l)]; }
  };

  using order = std::array<lane, 3>;

  void insert(std::uint32_t worker, std::uint64_t task, lane into, std::uint8_t priority, instant deadline) {
    worker_state& w = workers_[worker];
    w.in(into).push_back({task, into, worker, priority, deadline, w.next_seq++});
  }

  // deadline ascending in timed, priority descending elsewhere; then the order of insertion.
  static bool comes_before(const naive_entry& a, const naive_entry& b) {
    if (a.where == lane::timed && a.deadline != b.deadline) return a.deadline < b.deadline;
    if (a.where != lane::timed && a.priority != b.priority) return a.priority > b.priority;
    if (a.insertion_seq != b.insertion_seq) return a.insertion_seq < b.insertion_seq;
    return a.task < b.task;
  }

  static dispatch_source source_of(lane l) {
    if (l == lane::cancel) return dispatch_source::cancel;
    return l == lane::timed ? dispatch_source::timed : dispatch_source::ready;
  }

  [[nodiscard]] bool cancel_is_full(const worker_state& w) const {
    return w.cancel_streak >= effective_limit();  // R-102; R-107: a new limit meets the running streak.
  }
  [[nodiscard]] bool timed_is_full(const worker_state& w) const {
    return config_.timed_streak_limit != 0 && w.timed_streak >= config_.timed_streak_limit;
  }

  // 002 3.1
  [[nodiscard]] order lane_order() const {
    if (suggestion_ == governor::meet_deadlines) return {lane::timed, lane::cancel, lane::ready};
    return {lane::cancel, lane::timed, lane::ready};
  }

  // A full timed streak changes the order; timed still goes when nobody whose turn it is waits.
  [[nodiscard]] order limited_order(const worker_state& w) const {
    if (!timed_is_full(w)) return lane_order();
    if (suggestion_ != governor::meet_deadlines) return {lane::cancel, lane::ready, lane::timed};
    if (w.has_cancel_turn) return {lane::cancel, lane::ready, lane::timed};                        // one cancel,
    return {lane::ready, lane::timed, lane::cancel};                                               // then one ready.
  }

  static std::optional<lane> first_waiting(const worker_state& w, const order& lanes) {
    for (const lane l : lanes) {
      if (!w.in(l).empty()) return l;
    }
    return std::nullopt;
  }

  // None: this worker has nothing but, perhaps, cancels behind a full streak.
  [[nodiscard]] std::optional<lane> choose(const worker_state& w) const {
    for (const lane l : limited_order(w)) {
      const bool is_held_back = l == lane::cancel && cancel_is_full(w);
      if (!w.in(l).empty() && !is_held_back) return l;
    }
    return std::nullopt;
  }

  // The first by key; in the ready lane perhaps another one of the same priority.
  naive_entry pick(worker_state& w, lane from, naive_dispatch& d) const {
    const std::vector<naive_entry>& entries = w.in(from);
    const naive_entry first = *std::min_element(entries.begin(), entries.end(), comes_before);
    if (from != lane::ready || config_.ready_tiebreak == tie_break::fifo) return first;
    std::vector<naive_entry> equals;  // in order of insertion.
    for (const naive_entry& e : entries) {
      if (e.priority == first.priority) equals.push_back(e);
    }
    if (equals.size() == 1) return first;  // no draw.
    d.candidates = static_cast<std::uint32_t>(equals.size());
    d.chosen = static_cast<std::uint32_t>(w.tie_break_draws.next_below(equals.size()));
    return equals[d.chosen];
  }

  // the others in ascending id, from a seeded start; the last-ranked ready entry of the first
  // that has one. The draw is made whether or not anybody has.
  bool steal(std::uint32_t thief, naive_dispatch& d) {
    std::vector<std::uint32_t> victims;
    for (std::uint32_t w = 0; w < config_.workers; ++w) {
      if (w != thief) victims.push_back(w);
    }
    if (victims.empty()) return false;
    d.scan_start = static_cast<std::uint32_t>(workers_[thief].steal_draws.next_below(victims.size()));
    for (std::size_t i = 0; i < victims.size(); ++i) {
      const std::uint32_t victim = victims[(d.scan_start + i) % victims.size()];
      const std::vector<naive_entry>& loot = workers_[victim].in(lane::ready);
      ++d.scanned;
      if (loot.empty()) continue;
      d.victim = victim;
      d.entry = *std::max_element(loot.begin(), loot.end(), comes_before);
      return true;
    }
    return false;
  }

  // the park of.
  static void idle(worker_state& w, naive_dispatch& d) {
    w.cancel_streak = 0;
    restart_timed_streak(w);
    d.went_idle = w.has_dispatched;
    w.has_dispatched = false;
  }

  static void restart_timed_streak(worker_state& w) {
    w.timed_streak = 0;
    w.has_cancel_turn = true;
    w.timed_since_turn = 0;
  }

  void observe_limit() {
    certificate_.max_effective_limit_observed =
        std::max<std::uint64_t>(certificate_.max_effective_limit_observed, effective_limit());
  }

  // Streaks and certificate after a dispatch.
  void count(worker_state& w, dispatch_source from) {
    w.has_dispatched = true;
    observe_limit();
    switch (from) {
      case dispatch_source::cancel: ++certificate_.cancel_dispatches; break;
      case dispatch_source::timed: ++certificate_.timed_dispatches; break;
      case dispatch_source::ready: ++certificate_.ready_dispatches; break;  // a theft too.
      case dispatch_source::fallback:
      case dispatch_source::stall: ++certificate_.fallback_cancel_dispatches; break;
    }
    if (from == dispatch_source::ready) {
      w.cancel_streak = 0;
      restart_timed_streak(w);
    } else if (from == dispatch_source::timed) {
      w.cancel_streak = 0;
      ++w.timed_streak;     // it counts on beyond the limit.
      if (!w.has_cancel_turn && ++w.timed_since_turn >= config_.timed_streak_limit) w.has_cancel_turn = true;
    } else {
      ++w.cancel_streak;  // in a fallback too.
      if (w.cancel_streak > config_.cancel_streak_limit) ++certificate_.base_limit_exceedances;
      if (w.cancel_streak > effective_limit()) ++certificate_.effective_limit_exceedances;
      if (timed_is_full(w)) {  // whatever the suggestion; the timed streak stays.
        w.has_cancel_turn = false;
        w.timed_since_turn = 0;
      }
    }
  }

  sched_config config_;
  governor suggestion_ = governor::no_preference;
  fairness_certificate certificate_;
  std::vector<worker_state> workers_;
};

}  // namespace asx::testing
