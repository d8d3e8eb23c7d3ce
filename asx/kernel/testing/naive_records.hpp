// asx/kernel/testing/naive_records.hpp - what the naive kernel keeps: plain structs, never freed, and a list of rules
// met.
//
// Records stay for the whole life of a world; "released" is a flag, so that every number can always be asked about.
//
// Cancel points: none. Threads: plain values. Lifetime: as the naive kernel's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/kernel/testing/world.hpp"
#include "asx/model/cancel_reason.hpp"

namespace asx::testing {

using naive_outcome = outcome<std::uint64_t, error>;

/// Causes that are kept for ever: chains are cut by R-44 alone, never by a full store.
class naive_causes {
 public:
  cause_ref keep(const cancel_reason& reason) {
    kept_.push_back(reason);
    return {static_cast<std::uint32_t>(kept_.size() - 1), 1};
  }
  [[nodiscard]] const cancel_reason* find(cause_ref ref) const {
    return ref.is_null() || ref.index >= kept_.size() ? nullptr : &kept_[ref.index];
  }

 private:
  std::deque<cancel_reason> kept_;
};

struct naive_task {
  std::uint64_t number = 0;
  std::uint64_t region = 0;
  std::size_t script = 0;
  budget left;  // The ordinary budget, as it is spent.
  bool is_finalizer = false;
  bool is_held = false;
  bool is_released = false;
  bool is_indexed = false;  // In the deadline index.

  task_state state = task_state::created;
  std::uint64_t polls = 0;
  bool is_polled = false;         // Right now.
  bool was_woken = false;         // During this poll.
  bool waits_for_cancel = false;  // Out of polls, and the cancel was refused.

  std::optional<cancel_reason> reason;  // The strongest; the witness exists exactly when it does.
  cancel_phase phase = cancel_phase::requested;
  std::uint64_t unobserved = 0;  // Polls dispatched in cancel_requested.
  std::uint64_t cleanup_left = 0;
  std::uint8_t cleanup_priority = 0;
  std::uint32_t mask = 0;

  std::size_t next_action = 0;
  bool has_jumped = false;
  std::vector<std::uint64_t> reserved;  // Obligations, in order.
  std::vector<std::uint64_t> cleanup;
  std::optional<naive_outcome> ended;
};

struct naive_child {
  bool is_region = false;
  std::uint64_t number = 0;
};

struct naive_region {
  std::uint64_t number = 0;
  std::uint64_t parent = 0;
  budget own;
  bool is_held = false;
  bool is_released = false;
  bool is_driven = false;

  region_state state = region_state::open;
  std::optional<cancel_reason> reason;
  std::vector<naive_child> children;  // In creation order, interleaved.
  std::vector<finalizer_script> finalizers;
  bool runs_finalizers = false;  // Right now.
  bool finalizer_panicked = false;
  std::vector<std::uint64_t> obligations;  // In creation order.
  std::uint64_t leaked = 0;
  std::optional<naive_outcome> ended;
};

struct naive_obligation {
  std::uint64_t region = 0;
  std::size_t slot = 0;
  obligation_state state = obligation_state::reserved;
};

struct naive_timer {
  std::uint64_t task = 0;
  instant deadline;
  std::uint64_t seq = 0;
};

/// A cancel that the kernel raised and the full queue refused.
struct naive_refusal {
  std::uint64_t task = 0;
  cancel_kind kind = cancel_kind::user;
};

/// What a run must have met to prove anything.
enum class kernel_rule : std::uint8_t {
  cancelled_unstarted,
  completed_unobserved,
  acknowledged,
  acknowledged_by_kernel,
  cleaned_up,
  error_in_cleanup,
  panic_in_cleanup,
  force_completed,
  strengthened_requested,
  strengthened_cancelling,
  strengthened_finalizing,
  quota_shrunk,
  priority_raised_in_lane,
  cancel_of_completed,
  cancel_queue_refuses_request,
  cancel_queue_refuses_close,
  cancel_deferred,
  cancel_deferred_delivered,
  out_of_polls_waits,
  deadline_passed,
  deadline_at_dispatch,
  polls_spent,
  cost_spent_at_dispatch,
  cost_refused,
  masked_checkpoint,
  mask_full,
  woken_in_poll,
  own_region_closed,
  timer_fired,
  timer_refused_by_region,
  timer_in_cleanup,
  stall_poll,
  stall_poll_of_finalizer_task,
  stall_poll_despite_timer,
  cascade_meets_closing,
  region_finalizes_at_once,
  region_finalizes_after_drain,
  single_step,
  step_incomplete,
  step_invalid,
  finalizer_ran,
  finalizer_panicked,
  finalizer_committed,
  finalizer_task,
  finalizer_task_of_task,
  leaked,
  leak_held,
  held_close_ends,
  outcome_of_subregion,
  tasks_full,
  regions_full,
  obligations_full,
  timers_full,
  cleanup_full,
  finalizers_full,
  not_open,
  stale_task,
  stale_region,
  stale_obligation,
  resolved_twice,
  resolved_leaked,
  released_late,
  shutdown,
  quiescent,
};

inline constexpr auto kernel_rule_names =
    std::to_array<std::string_view>({"T2",
                                     "T8",
                                     "T7 by the task",
                                     "T7 by the kernel (R-22)",
                                     "T10",
                                     "error in cleanup (R-20)",
                                     "panic in cleanup (R-20)",
                                     "force-completion (R-24)",
                                     "T6",
                                     "T9",
                                     "T12",
                                     "quota shrinks (R-40)",
                                     "priority rises in the lane (R-27)",
                                     "cancel of a completed task (R-18)",
                                     "full cancel queue refuses a request",
                                     "full cancel queue refuses a close",
                                     "kernel cancel deferred (R-14)",
                                     "deferred cancel delivered",
                                     "out of polls and waits (R-219)",
                                     "deadline in phase 0 (R-54)",
                                     "deadline at dispatch",
                                     "poll quota (R-52)",
                                     "cost at dispatch (R-53)",
                                     "cost refused (R-53)",
                                     "masked checkpoint (R-134)",
                                     "mask too deep (R-159)",
                                     "wake during the poll",
                                     "own region closed in a poll (R-161)",
                                     "timer fired",
                                     "timer refused by region (R-88)",
                                     "timer in cleanup (R-88)",
                                     "stall poll (R-132)",
                                     "stall poll of a finalizer task (R-215)",
                                     "stall poll despite a timer (R-214)",
                                     "cascade meets a closing region (R-02)",
                                     "R3",
                                     "R4",
                                     "single step",
                                     "step refused with incomplete_children (R-03)",
                                     "step refused with invalid_transition (R-01)",
                                     "finalizer",
                                     "finalizer panics (R-217)",
                                     "finalizer commits (R-31)",
                                     "finalizer task (R-08)",
                                     "finalizer task of a finalizer task (R-08)",
                                     "leak",
                                     "close held (R-10)",
                                     "held close ends (R-155)",
                                     "sub-region folded (R-13)",
                                     "tasks full",
                                     "regions full",
                                     "obligations full",
                                     "timers full",
                                     "cleanup stack full",
                                     "finalizer stack full",
                                     "region not open",
                                     "stale task",
                                     "stale region",
                                     "stale obligation",
                                     "resolved twice",
                                     "leaked one resolved",
                                     "record released late (R-133)",
                                     "shutdown",
                                     "quiescent"});
static_assert(kernel_rule_names.size() == static_cast<std::size_t>(kernel_rule::quiescent) + 1);

using kernel_coverage = std::array<std::uint64_t, kernel_rule_names.size()>;

}  // namespace asx::testing
