// asx/kernel/testing/naive_close.hpp - the naive kernel's cancels, the phases of a region, and how things end.
//
// Part of naive_kernel.hpp; each function cites the rulings that it says again.
//
// Cancel points: none. Threads: one owner. Lifetime: as the naive kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "asx/kernel/testing/naive_core.hpp"

namespace asx::testing {

// ---- Cancels ----

// The origin is the region of whoever asks: of the calling task, or of the task itself when the host asks.
inline status naive_kernel::cancel_by(std::uint64_t task, cancel_kind k, std::uint64_t by, bool& newly) {
  newly = false;
  naive_task& t = task_at(task);
  if (t.is_released) return met(kernel_rule::stale_task), status::stale_handle;
  cancel_reason why;
  why.kind = k;
  why.origin_region = region_id{by == 0 ? t.region : task_at(by).region};
  why.origin_task = task_id{by};
  why.timestamp = now_;
  const status s = deliver(t, why, false, newly);
  if (s != status::ok) met(kernel_rule::cancel_queue_refuses_request);
  return s;
}

// `has_entry`: its place in the cancel queue is certain (a close that was counted, or shutdown).
inline status naive_kernel::deliver(naive_task& t, const cancel_reason& why, bool has_entry, bool& newly) {
  newly = false;
  if (t.state == task_state::completed) return met(kernel_rule::cancel_of_completed), status::ok;
  if (t.reason) return strengthen_task(t, why), status::ok;
  if (!has_entry && entries_held() >= config_.cancel_queue) return status::resource_exhausted;
  newly = true;                                                                                    // T2, T4
  if (t.state == task_state::created) met(kernel_rule::cancelled_unstarted);
  t.state = task_state::cancel_requested;
  t.reason = why;
  t.phase = cancel_phase::requested;
  t.cleanup_priority = info(why.kind).cleanup_priority;  // U-13
  t.is_indexed = false;
  t.waits_for_cancel = false;
  std::erase_if(refused_, [&](const naive_refusal& r) { return r.task == t.number; });
  if (t.is_polled) {
    t.was_woken = true;  // it is queued again after the poll.
  } else {
    sched_.push_cancel(0, t.number, t.cleanup_priority);  // out of ready or timed; a parked one wakes.
  }
  return status::ok;
}

// T6, T9, T12.
inline void naive_kernel::strengthen_task(naive_task& t, const cancel_reason& why) {
  if (t.state == task_state::cancel_requested) met(kernel_rule::strengthened_requested);
  if (t.state == task_state::cancelling) met(kernel_rule::strengthened_cancelling);
  if (t.state == task_state::finalizing) met(kernel_rule::strengthened_finalizing);
  const cancel_reason stronger = strengthen(*t.reason, why);
  t.reason = stronger;
  const std::uint64_t quota = info(why.kind).cleanup_quota;
  if (t.state == task_state::cancelling && quota < t.cleanup_left) {
    t.cleanup_left = quota;
    met(kernel_rule::quota_shrunk);
  }
  t.cleanup_priority = std::max(t.cleanup_priority, info(why.kind).cleanup_priority);
  // to the tail of a higher priority; R-157: a parked one is not woken.
  if (sched_.find(t.number) && sched_.push_cancel(0, t.number, t.cleanup_priority)) {
    met(kernel_rule::priority_raised_in_lane);
  }
}

// A cancel for a spent budget. False: the queue is full, and it is tried again in each phase 0.
inline bool naive_kernel::kernel_cancel(naive_task& t, cancel_kind k) {
  cancel_reason why;
  why.kind = k;
  why.origin_region = region_id{t.region};
  why.timestamp = now_;
  bool newly = false;
  if (deliver(t, why, false, newly) == status::ok) return true;
  if (!is_refused(t)) refused_.push_back({t.number, k});
  met(kernel_rule::cancel_deferred);
  return false;
}

// ---- Close ----

// R-06, with a kind that the caller gives.
inline cancel_reason naive_kernel::reason_of_close(const naive_region& r, cancel_kind k, std::uint64_t by) const {
  cancel_reason why;
  why.kind = k;
  why.origin_region = region_id{r.number};
  why.origin_task = task_id{by};
  why.timestamp = now_;
  return why;
}

inline status naive_kernel::close_by(std::uint64_t region, cancel_kind k, std::uint64_t by) {
  naive_region& r = region_at(region);
  const status s = start_close(r, reason_of_close(r, k, by), true, false);
  if (s != status::ok) return s;
  if (by != 0 && task_at(by).region == region) met(kernel_rule::own_region_closed);
  settle_subtree(r);
  return status::ok;  // R-12; R-10: a held close has begun too.
}

// R1: refused whole, or every cancel of the subtree is delivered.
inline status naive_kernel::start_close(naive_region& r, const cancel_reason& why, bool driven, bool has_entries) {
  if (r.is_released) return met(kernel_rule::stale_region), status::stale_handle;
  if (r.state != region_state::open) return met(kernel_rule::step_invalid), status::invalid_transition;
  if (!has_entries && entries_needed(r) != 0 && entries_held() + entries_needed(r) > config_.cancel_queue) {
    return met(kernel_rule::cancel_queue_refuses_close), status::resource_exhausted;
  }
  propagate(r, why, driven);
  return status::ok;
}

inline std::size_t naive_kernel::entries_needed(const naive_region& r) const {
  std::size_t needed = 0;
  for (const naive_child& c : r.children) {
    if (c.is_region) {
      needed += entries_needed(regions_[index_of(c.number)]);
    } else if (const naive_task& t = tasks_[index_of(c.number)]; t.state != task_state::completed && !t.reason) {
      ++needed;
    }
  }
  return needed;
}

// pre-order; the region, its tasks in creation order, its sub-regions in creation order.
inline void naive_kernel::propagate(naive_region& r, const cancel_reason& why, bool driven) {
  if (r.state == region_state::closed) return;
  if (r.state == region_state::open) {
    r.state = region_state::closing;
    r.reason = why;
  } else {  // the state stays, the reason is strengthened, the cascade goes on.
    met(kernel_rule::cascade_meets_closing);
    const cancel_reason stronger = strengthen(*r.reason, why);
    r.reason = stronger;
  }
  r.is_driven = r.is_driven || driven;
  const cause_ref kept = causes_.keep(*r.reason);                                       // the cause is
  const cancel_reason told = hop(*r.reason, kept, causes_, region_id{r.number}, now_);  // the region's own reason.
  for (const naive_child& c : r.children) {
    bool newly = false;
    if (c.is_region || task_at(c.number).state == task_state::completed) continue;
    static_cast<void>(deliver(task_at(c.number), told, true, newly));
  }
  for (const naive_child& c : r.children) {
    if (c.is_region) propagate(region_at(c.number), told, driven);
  }
}

// ---- The phases of a region ----

// after propagation, innermost first; sub-regions in creation order. Then what is above.
inline void naive_kernel::settle_subtree(naive_region& top) {
  settle_below(top);
  settle(top.number);
}

// Not upwards from here: a parent's turn comes after all its children, so that it can take R3.
inline void naive_kernel::settle_below(naive_region& r) {
  for (const naive_child& c : r.children) {
    if (!c.is_region) continue;
    settle_below(region_at(c.number));
    progress(region_at(c.number));
  }
}

// one region as far as it goes; when it has closed, its parent.
inline void naive_kernel::settle(std::uint64_t region) {
  while (region != 0) {
    naive_region& r = region_at(region);
    progress(r);
    if (r.state != region_state::closed) return;
    region = r.parent;
  }
}

inline void naive_kernel::progress(naive_region& r) {
  if (!r.is_driven) return;
  if (r.state == region_state::closing) {
    if (has_live_children(r)) {
      r.state = region_state::draining;  // R2
    } else {
      met(kernel_rule::region_finalizes_at_once);
      enter_finalizing(r);  // R3, R-04
    }
  }
  if (r.state == region_state::draining && !has_live_children(r)) {
    met(kernel_rule::region_finalizes_after_drain);
    enter_finalizing(r);  // R4
  }
  if (r.state == region_state::finalizing && !r.runs_finalizers) static_cast<void>(try_close(r));
}

// the finalizers run at once, last in, first out; their tasks run later.
inline void naive_kernel::enter_finalizing(naive_region& r) {
  r.state = region_state::finalizing;
  r.runs_finalizers = true;
  while (!r.finalizers.empty()) {
    const finalizer_script f = r.finalizers.back();
    r.finalizers.pop_back();
    met(kernel_rule::finalizer_ran);
    log_.push_back("finalizer " + std::to_string(r.number) + " " + std::to_string(f.number));
    if (f.commits >= 0 && static_cast<std::size_t>(f.commits) < r.obligations.size()) {
      const std::uint64_t chosen = r.obligations[static_cast<std::size_t>(f.commits)];
      if (resolve(chosen, obligation_state::committed) == status::ok) met(kernel_rule::finalizer_committed);
    }
    if (f.spawns >= 0) {
      budget asked = budget::infinite();
      asked.priority = 128;
      static_cast<void>(spawn_into(r, static_cast<std::size_t>(f.spawns), asked, false, true));
    }
    if (f.panics) {  // the unwinding goes on; R-217
      r.finalizer_panicked = true;
      met(kernel_rule::finalizer_panicked);
    }
  }
  r.runs_finalizers = false;
}

// R5.
inline status naive_kernel::try_close(naive_region& r) {
  if (has_live_children(r)) return status::incomplete_children;  // a finalizer task is live.
  if (config_.hold_leaks && reserved_in(r) != 0) {
    met(kernel_rule::leak_held);
    return status::unresolved_obligations;
  }
  for (const std::uint64_t number : r.obligations) {  // in creation order.
    naive_obligation& o = obligations_[index_of(number)];
    if (o.state != obligation_state::reserved) continue;
    o.state = obligation_state::leaked;
    ++r.leaked;
    met(kernel_rule::leaked);
  }
  r.ended = fold(r);
  r.state = region_state::closed;
  if (!r.is_held) r.is_released = true;
  return status::ok;
}

// all children in creation order, from bare ok; R-217: a finalizer that panicked comes last.
inline naive_outcome naive_kernel::fold(const naive_region& r) {
  naive_outcome sum;
  for (const naive_child& c : r.children) {
    sum = join(sum, c.is_region ? *region_at(c.number).ended : *task_at(c.number).ended);
    if (c.is_region) met(kernel_rule::outcome_of_subregion);
  }
  if (r.finalizer_panicked) sum = join(sum, naive_outcome::panicked({}));
  return sum;
}

// ---- Single steps (R-01, R-03) ----

inline status naive_kernel::begin_drain(std::uint64_t region) {
  naive_region& r = region_at(region);
  if (r.is_released) return met(kernel_rule::stale_region), status::stale_handle;
  if (r.state != region_state::closing) return met(kernel_rule::step_invalid), status::invalid_transition;
  r.state = region_state::draining;  // with or without children.
  met(kernel_rule::single_step);
  return status::ok;
}

inline status naive_kernel::begin_finalize(std::uint64_t region) {
  naive_region& r = region_at(region);
  if (r.is_released) return met(kernel_rule::stale_region), status::stale_handle;
  if (r.state != region_state::closing && r.state != region_state::draining) {
    return met(kernel_rule::step_invalid), status::invalid_transition;
  }
  if (has_live_children(r)) return met(kernel_rule::step_incomplete), status::incomplete_children;
  enter_finalizing(r);
  met(kernel_rule::single_step);
  return status::ok;
}

inline status naive_kernel::finish_close(std::uint64_t region) {
  naive_region& r = region_at(region);
  if (r.is_released) return met(kernel_rule::stale_region), status::stale_handle;
  if (r.state != region_state::finalizing) return met(kernel_rule::step_invalid), status::invalid_transition;
  const status s = try_close(r);
  if (s == status::incomplete_children) met(kernel_rule::step_incomplete);
  if (s != status::ok) return s;
  met(kernel_rule::single_step);
  settle(r.parent);  // the parent is told, and moves if it is driven.
  return status::ok;
}

// ---- Ends of tasks ----

// T7: R-21 by the task, R-22 by the kernel.
inline void naive_kernel::acknowledge(naive_task& t) {
  t.state = task_state::cancelling;
  t.phase = cancel_phase::cancelling;
  t.cleanup_left = info(t.reason->kind).cleanup_quota;  // R-130; R-40: of the strongest reason so far.
  cancel_timers(t);
}

// T3, T5, T8, T11, T13.
inline void naive_kernel::complete(naive_task& t, const naive_outcome& how) {
  unwind(t);         // by whatever path.
  cancel_timers(t);
  t.state = task_state::completed;
  t.phase = cancel_phase::completed;  // says nothing about the outcome.
  t.ended = how;
  t.is_indexed = false;
  std::erase_if(refused_, [&](const naive_refusal& r) { return r.task == t.number; });
  sched_.remove(t.number);
  if (!t.is_held) t.is_released = true;
  settle(t.region);
}

inline void naive_kernel::unwind(naive_task& t) {
  while (!t.cleanup.empty()) {  // asx: bounded by the length of the stack
    log_.push_back("cleanup " + std::to_string(t.number) + " " + std::to_string(t.cleanup.back()));
    t.cleanup.pop_back();
  }
}

inline void naive_kernel::cancel_timers(const naive_task& t) {
  std::erase_if(timers_, [&](const naive_timer& timer) { return timer.task == t.number; });
}

}  // namespace asx::testing
