// asx/kernel/testing/naive_poll.hpp - the naive kernel's step: phase 0, one dispatch, the poll of a script.
//
// Part of naive_kernel.hpp; each function cites the rulings that it says again.
//
// Cancel points: none. Threads: one owner. Lifetime: as the naive kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "asx/kernel/testing/naive_core.hpp"

namespace asx::testing {

// ---- The step ----

inline step_view naive_kernel::step() {
  step_view v;
  v.passed = phase_zero();
  if (const naive_dispatch d = sched_.next(0); d.task != 0) {
    v.task = d.task;
    v.source = static_cast<std::uint8_t>(d.from);
    dispatch(task_at(d.task));
    return v;
  }
  if (naive_task* const stalled = next_stalled(); stalled != nullptr) {
    v.task = stalled->number;
    v.source = static_cast<std::uint8_t>(dispatch_source::stall);
    sched_.count_stall(0);
    met(kernel_rule::stall_poll);
    if (stalled->is_finalizer && !stalled->reason) met(kernel_rule::stall_poll_of_finalizer_task);
    if (!timers_.empty()) met(kernel_rule::stall_poll_despite_timer);
    dispatch(*stalled);
    return v;
  }
  v.is_idle = true;
  return v;
}

// timers in their order, then the deadline index, then (no inbox here) refused cancels once more.
inline std::uint32_t naive_kernel::phase_zero() {
  std::uint32_t passed = 0;
  std::vector<naive_timer> due;
  for (const naive_timer& t : timers_) {
    if (t.deadline <= now_) due.push_back(t);
  }
  std::erase_if(timers_, [this](const naive_timer& t) { return t.deadline <= now_; });
  std::sort(due.begin(), due.end(), [](const naive_timer& a, const naive_timer& b) {
    return std::tie(a.deadline, a.seq) < std::tie(b.deadline, b.seq);
  });
  for (const naive_timer& t : due) {
    ++passed;
    met(kernel_rule::timer_fired);
    wake_up(task_at(t.task));  // between request and T7 it merely wakes.
  }

  std::vector<naive_task*> late;
  for (naive_task& t : tasks_) {
    if (t.is_indexed && t.left.deadline_passed(now_)) late.push_back(&t);
  }
  std::sort(late.begin(), late.end(), [](const naive_task* a, const naive_task* b) {
    return std::tie(a->left.deadline, a->number) < std::tie(b->left.deadline, b->number);
  });
  for (naive_task* const t : late) {
    ++passed;
    met(kernel_rule::deadline_passed);
    t->is_indexed = false;  // It has passed, whether or not its cancel finds room.
    kernel_cancel(*t, cancel_kind::deadline);
  }

  const std::vector<naive_refusal> again = refused_;
  for (const naive_refusal& r : again) {
    if (kernel_cancel(task_at(r.task), r.kind)) met(kernel_rule::cancel_deferred_delivered);
  }
  return passed;
}

// when nothing is runnable, each that was told to go is dispatched once, in creation order; R-182: a round goes
// on where it stopped, and behind its last one a new round begins.
inline naive_task* naive_kernel::next_stalled() {
  const bool waits_for_time =
      !timers_.empty() || std::any_of(tasks_.begin(), tasks_.end(), [](const naive_task& t) { return t.is_indexed; });
  if (waits_for_time && !is_shut_) return nullptr;
  const auto takes_part = [this](const naive_task& t) {
    if (t.state == task_state::completed) return false;
    if (t.state == task_state::cancel_requested && config_.max_unobserved_cancel_polls == 0) return false;
    if (t.waits_for_cancel) return false;           // it could not be polled.
    return t.reason.has_value() || t.is_finalizer;  // a finalizer task in any state.
  };
  for (int round = 0; round < 2; ++round) {
    for (naive_task& t : tasks_) {
      if (t.number > last_stalled_ && takes_part(t)) {
        last_stalled_ = t.number;
        return &t;
      }
    }
    last_stalled_ = 0;
  }
  return nullptr;
}

// ---- Lanes ----

//
inline void naive_kernel::queue(naive_task& t) {
  if (t.reason) {
    sched_.push(0, t.number, lane::cancel, t.cleanup_priority);
  } else if (!t.left.deadline.is_none()) {
    sched_.push(0, t.number, lane::timed, t.left.priority, t.left.deadline);
  } else {
    sched_.push(0, t.number, lane::ready, t.left.priority);
  }
}

// U-21, R-173.
inline void naive_kernel::wake_up(naive_task& t) {
  if (t.state == task_state::completed) return;
  if (t.waits_for_cancel) return;
  if (t.is_polled) {
    t.was_woken = true;
    met(kernel_rule::woken_in_poll);
  } else {
    queue(t);
  }
}

// ---- A dispatch ----

inline void naive_kernel::dispatch(naive_task& t) {
  if (t.state == task_state::finalizing) {  // T13, no poll, no quota.
    complete(t, naive_outcome::cancelled(*t.reason));
    return;
  }
  if (charge(t)) poll(t);
}

// What the poll costs, and whether there is to be one.
inline bool naive_kernel::charge(naive_task& t) {
  if (!t.reason) {
    const budget_part spent = t.left.exhausted(now_);  // deadline, then polls, then cost.
    if (spent != budget_part::none) {
      if (spent == budget_part::deadline) met(kernel_rule::deadline_at_dispatch);
      if (spent == budget_part::polls) met(kernel_rule::polls_spent);
      if (spent == budget_part::cost) met(kernel_rule::cost_spent_at_dispatch);
      t.is_indexed = t.is_indexed && spent != budget_part::deadline;
      const bool is_cancelled = kernel_cancel(t, spent == budget_part::deadline ? cancel_kind::deadline
                                                 : spent == budget_part::polls  ? cancel_kind::poll_quota
                                                                                : cancel_kind::cost_budget);
      if (is_cancelled) {
        sched_.remove(t.number);  // It is being dispatched already: polled in the same dispatch.
      } else if (t.left.poll_quota == 0) {
        met(kernel_rule::out_of_polls_waits);
        t.waits_for_cancel = true;
        return false;
      }
    }
  }
  switch (t.state) {
    case task_state::created:
    case task_state::running:
      t.state = task_state::running;  // T1 just before the first poll.
      return t.left.consume_poll() == status::ok;
    case task_state::cancel_requested: {
      const std::uint32_t limit = config_.max_unobserved_cancel_polls;
      const std::uint64_t most = limit == UINT32_MAX ? info(t.reason->kind).cleanup_quota : limit;
      if (limit == 0 || t.unobserved < most) {
        ++t.unobserved;  // charged to nothing.
        return true;
      }
      met(kernel_rule::acknowledged_by_kernel);
      acknowledge(t);
      [[fallthrough]];  // before this dispatch's poll, which is charged.
    }
    case task_state::cancelling:
      if (t.cleanup_left == 0) {  // in place of poll Q + 1.
        met(kernel_rule::force_completed);
        complete(t, naive_outcome::cancelled(cancellation{*t.reason, true}));
        return false;
      }
      --t.cleanup_left;
      return true;
    case task_state::finalizing:
    case task_state::completed: break;
  }
  return false;
}

inline void naive_kernel::poll(naive_task& t) {
  ++t.polls;
  t.is_polled = true;
  t.was_woken = false;
  cancel_timers(t);  // By the script: something else woke it, or the timer has fired.
  const poll_end end = run_script(t);
  t.is_polled = false;
  naive_outcome own;
  switch (end.said) {
    case poll_end::how::yields: queue(t); return;
    case poll_end::how::parks:
      if (t.was_woken) queue(t);
      return;
    case poll_end::how::ready:
      if (end.value != 0) own = naive_outcome::ok(end.value);
      break;
    case poll_end::how::error: own = naive_outcome::err({status::stale_handle, end.value}); break;
    case poll_end::how::panics: own = naive_outcome::panicked({}); break;
  }
  if (t.state != task_state::cancelling) {  // T5, T8: R-19, its own outcome.
    if (t.state == task_state::cancel_requested) met(kernel_rule::completed_unobserved);
    complete(t, own);
    return;
  }
  if (end.said == poll_end::how::ready) {  // T10.
    met(kernel_rule::cleaned_up);
    unwind(t);
    t.state = task_state::finalizing;
    t.phase = cancel_phase::finalizing;
    queue(t);
    return;
  }
  met(own.is_err() ? kernel_rule::error_in_cleanup : kernel_rule::panic_in_cleanup);
  complete(t, join(own, naive_outcome::cancelled(*t.reason)));  // T11: R-20.
}

// ---- Scripts ----

inline naive_kernel::poll_end naive_kernel::run_script(naive_task& t) {
  using kind = action::kind;
  const script& s = scripts_[t.script];
  while (t.next_action < s.actions.size()) {
    const action& a = s.actions[t.next_action++];
    switch (a.what) {
      case kind::yield:
      case kind::pend: return {poll_end::how::yields};
      case kind::park: return {poll_end::how::parks};
      case kind::return_ok: return {poll_end::how::ready, a.n};
      case kind::return_error: return {poll_end::how::error, a.n};
      case kind::panic: return {poll_end::how::panics};
      case kind::sleep: {
        const status st = register_timer(t, a.n);
        say(t, a.what, asx::name(st));
        if (st == status::ok) return {poll_end::how::parks};
        break;
      }
      case kind::checkpoint: {
        const status st = checkpoint(t);
        say(t, a.what, asx::name(st));
        if (st == status::cancelled && !t.has_jumped && s.cleanup_at != SIZE_MAX) {
          t.has_jumped = true;
          t.next_action = s.cleanup_at;
        }
        break;
      }
      default: act(t, a); break;
    }
  }
  return {poll_end::how::ready, 0};
}

// The actions that go on and jump nowhere.
inline void naive_kernel::act(naive_task& t, const action& a) {
  using kind = action::kind;
  const auto target = [&](const std::vector<std::uint64_t>& list) {
    return a.n < list.size() ? list[static_cast<std::size_t>(a.n)] : 0;
  };
  status st = status::ok;
  switch (a.what) {
    case kind::is_cancelled: say(t, a.what, t.reason ? "true" : "false"); return;  // a mask hides nothing here.
    case kind::spawn:
    case kind::spawn_held:
      st = spawn_into(region_at(t.region), static_cast<std::size_t>(a.n), a.b, a.what == kind::spawn_held,
                      t.is_finalizer);
      if (st == status::ok && t.is_finalizer) met(kernel_rule::finalizer_task_of_task);
      break;
    case kind::create_region: st = create_region(t.region, a.b, false); break;
    case kind::reserve: {
      std::uint64_t number = 0;
      st = reserve_in(region_at(t.region), number);
      if (st == status::ok) t.reserved.push_back(number);
      break;
    }
    case kind::commit:
    case kind::abort:
      if (target(t.reserved) == 0) return;
      st = a.what == kind::commit ? commit(target(t.reserved)) : abort(target(t.reserved));
      break;
    case kind::push_cleanup:
      if (t.cleanup.size() >= config_.max_cleanup) {
        met(kernel_rule::cleanup_full);
        st = status::resource_exhausted;
      } else {
        t.cleanup.push_back(a.n);
      }
      break;
    case kind::consume_cost: st = consume_cost(t, a.n); break;
    case kind::cancel_task: {
      bool newly = false;
      if (a.n == 0 || a.n > tasks_.size()) return;
      st = cancel_by(a.n, a.k, t.number, newly);
      break;
    }
    case kind::close_region:
      if (a.n == 0 || a.n > regions_.size()) return;
      st = close_by(a.n, a.k, t.number);
      break;
    case kind::wake_task:
      if (a.n != 0 && a.n <= tasks_.size()) wake_up(task_at(a.n));
      return;
    case kind::mask_enter:
      if (t.mask >= config_.mask_depth) {
        met(kernel_rule::mask_full);
        st = status::resource_exhausted;
      } else {
        ++t.mask;
      }
      break;
    case kind::mask_leave:
      if (t.mask != 0) --t.mask;
      return;
    default: return;
  }
  say(t, a.what, asx::name(st));
}

// R-21; R-54: the deadline is looked at here too: a mask hides the cancel, acknowledged or not.
inline status naive_kernel::checkpoint(naive_task& t) {
  if (!t.reason && t.left.deadline_passed(now_)) kernel_cancel(t, cancel_kind::deadline);
  if (!t.reason) return status::ok;
  if (t.mask != 0) return met(kernel_rule::masked_checkpoint), status::ok;
  if (t.state == task_state::cancel_requested) {
    met(kernel_rule::acknowledged);
    acknowledge(t);
  }
  return status::cancelled;
}

// refused, and the cancel is asked for in the same step; R-131: after a cancel nothing is bound.
inline status naive_kernel::consume_cost(naive_task& t, std::uint64_t n) {
  if (t.reason) return status::ok;
  const status st = t.left.consume_cost(n);
  if (st != status::ok) {
    met(kernel_rule::cost_refused);
    kernel_cancel(t, cancel_kind::cost_budget);
  }
  return st;
}

// the region first; then R-86: duration, capacity.
inline status naive_kernel::register_timer(naive_task& t, std::uint64_t ns) {
  const region_state state = region_at(t.region).state;
  const bool is_admitted =
      state == region_state::open || (state == region_state::draining && t.state == task_state::cancelling) ||
      (state == region_state::draining && t.state == task_state::cancel_requested && t.mask != 0) ||
      (state == region_state::finalizing && t.is_finalizer);
  if (!is_admitted) return met(kernel_rule::timer_refused_by_region), status::region_not_open;
  if (!t.reason && t.left.deadline_passed(now_)) {
    kernel_cancel(t, cancel_kind::deadline);
    return status::budget_exhausted;
  }
  const instant deadline = now_ + duration{ns};
  if (deadline.is_none() || duration{ns} > duration::days(7)) return status::timer_duration_exceeded;
  if (timers_.size() >= config_.max_timers) return met(kernel_rule::timers_full), status::resource_exhausted;
  if (state == region_state::draining) met(kernel_rule::timer_in_cleanup);
  timers_.push_back({t.number, deadline, next_timer_++});
  return status::ok;
}

inline void naive_kernel::say(const naive_task& t, action::kind what, std::string_view result) {
  log_.push_back("op " + std::to_string(t.number) + " " + std::string(name(what)) + " " + std::string(result));
}

}  // namespace asx::testing
