// Every number of asx_numbers.h is the model's: one that is changed on either side does not compile.
#include "asx/capi/asx_numbers.h"

#include <cstddef>

#include "asx/base/time.hpp"
#include "asx/capi/asx_types.h"
#include "asx/chan/channel_core.hpp"
#include "asx/journal/event.hpp"
#include "asx/kernel/kernel.hpp"
#include "asx/runtime/worker_step.hpp"

namespace asx {
namespace {

template <class C, class Model>
constexpr bool is_same(C number, Model of_the_model) noexcept {
  return static_cast<long long>(number) == static_cast<long long>(of_the_model);
}

static_assert(is_same(ASX_OK, status::ok));
static_assert(is_same(ASX_E_INVALID_TRANSITION, status::invalid_transition));
static_assert(is_same(ASX_E_REGION_NOT_OPEN, status::region_not_open));
static_assert(is_same(ASX_E_REGION_CLOSED, status::region_closed));
static_assert(is_same(ASX_E_ADMISSION_CLOSED, status::admission_closed));
static_assert(is_same(ASX_E_OBLIGATION_ALREADY_RESOLVED, status::obligation_already_resolved));
static_assert(is_same(ASX_E_OBLIGATION_LEAKED, status::obligation_leaked));
static_assert(is_same(ASX_E_UNRESOLVED_OBLIGATIONS, status::unresolved_obligations));
static_assert(is_same(ASX_E_INCOMPLETE_CHILDREN, status::incomplete_children));
static_assert(is_same(ASX_E_STALE_HANDLE, status::stale_handle));
static_assert(is_same(ASX_E_RESOURCE_EXHAUSTED, status::resource_exhausted));
static_assert(is_same(ASX_E_BUDGET_EXHAUSTED, status::budget_exhausted));
static_assert(is_same(ASX_E_TASKS_STILL_ACTIVE, status::tasks_still_active));
static_assert(is_same(ASX_E_OBLIGATIONS_UNRESOLVED, status::obligations_unresolved));
static_assert(is_same(ASX_E_REGIONS_NOT_CLOSED, status::regions_not_closed));
static_assert(is_same(ASX_E_TIMERS_PENDING, status::timers_pending));
static_assert(is_same(ASX_E_CHANNEL_NOT_DRAINED, status::channel_not_drained));
static_assert(is_same(ASX_E_WITNESS_TASK_MISMATCH, status::witness_task_mismatch));
static_assert(is_same(ASX_E_WITNESS_REGION_MISMATCH, status::witness_region_mismatch));
static_assert(is_same(ASX_E_WITNESS_EPOCH_MISMATCH, status::witness_epoch_mismatch));
static_assert(is_same(ASX_E_WITNESS_PHASE_REGRESSION, status::witness_phase_regression));
static_assert(is_same(ASX_E_WITNESS_REASON_WEAKENED, status::witness_reason_weakened));
static_assert(is_same(ASX_E_DISCONNECTED, status::disconnected));
static_assert(is_same(ASX_E_CANCELLED, status::cancelled));
static_assert(is_same(ASX_E_FULL, status::full));
static_assert(is_same(ASX_E_EMPTY, status::empty));
static_assert(is_same(ASX_E_WOULD_BLOCK, status::would_block));
static_assert(is_same(ASX_E_TIMER_DURATION_EXCEEDED, status::timer_duration_exceeded));
static_assert(is_same(ASX_E_INVALID_ARGUMENT, status::invalid_argument));
static_assert(is_same(ASX_E_WRONG_THREAD, status::wrong_thread));
static_assert(is_same(ASX_E_REENTRANT, status::reentrant));
static_assert(is_same(ASX_E_STEP_LIMIT, status::step_limit));
static_assert(is_same(ASX_E_IO, status::io));
static_assert(is_same(ASX_E_CORRUPT, status::corrupt));
static_assert(is_same(ASX_E_VERSION, status::version));
static_assert(is_same(ASX_E_LAGGED, status::lagged));

static_assert(is_same(ASX_REGION_OPEN, region_state::open));
static_assert(is_same(ASX_REGION_CLOSING, region_state::closing));
static_assert(is_same(ASX_REGION_DRAINING, region_state::draining));
static_assert(is_same(ASX_REGION_FINALIZING, region_state::finalizing));
static_assert(is_same(ASX_REGION_CLOSED, region_state::closed));

static_assert(is_same(ASX_TASK_CREATED, task_state::created));
static_assert(is_same(ASX_TASK_RUNNING, task_state::running));
static_assert(is_same(ASX_TASK_CANCEL_REQUESTED, task_state::cancel_requested));
static_assert(is_same(ASX_TASK_CANCELLING, task_state::cancelling));
static_assert(is_same(ASX_TASK_FINALIZING, task_state::finalizing));
static_assert(is_same(ASX_TASK_COMPLETED, task_state::completed));

static_assert(is_same(ASX_OBLIGATION_RESERVED, obligation_state::reserved));
static_assert(is_same(ASX_OBLIGATION_COMMITTED, obligation_state::committed));
static_assert(is_same(ASX_OBLIGATION_ABORTED, obligation_state::aborted));
static_assert(is_same(ASX_OBLIGATION_LEAKED, obligation_state::leaked));

static_assert(is_same(ASX_CANCEL_REQUESTED, cancel_phase::requested));
static_assert(is_same(ASX_CANCEL_CANCELLING, cancel_phase::cancelling));
static_assert(is_same(ASX_CANCEL_FINALIZING, cancel_phase::finalizing));
static_assert(is_same(ASX_CANCEL_COMPLETED, cancel_phase::completed));

static_assert(is_same(ASX_CANCEL_USER, cancel_kind::user));
static_assert(is_same(ASX_CANCEL_TIMEOUT, cancel_kind::timeout));
static_assert(is_same(ASX_CANCEL_DEADLINE, cancel_kind::deadline));
static_assert(is_same(ASX_CANCEL_POLL_QUOTA, cancel_kind::poll_quota));
static_assert(is_same(ASX_CANCEL_COST_BUDGET, cancel_kind::cost_budget));
static_assert(is_same(ASX_CANCEL_FAIL_FAST, cancel_kind::fail_fast));
static_assert(is_same(ASX_CANCEL_RACE_LOST, cancel_kind::race_lost));
static_assert(is_same(ASX_CANCEL_LINKED_EXIT, cancel_kind::linked_exit));
static_assert(is_same(ASX_CANCEL_PARENT, cancel_kind::parent_cancelled));
static_assert(is_same(ASX_CANCEL_RESOURCE, cancel_kind::resource_unavailable));
static_assert(is_same(ASX_CANCEL_SHUTDOWN, cancel_kind::shutdown));

static_assert(is_same(ASX_OUTCOME_OK, outcome_kind::ok));
static_assert(is_same(ASX_OUTCOME_ERR, outcome_kind::err));
static_assert(is_same(ASX_OUTCOME_CANCELLED, outcome_kind::cancelled));
static_assert(is_same(ASX_OUTCOME_PANICKED, outcome_kind::panicked));

static_assert(is_same(ASX_POLL_PENDING, poll_result::pending));
static_assert(is_same(ASX_POLL_READY, poll_result::ready));
static_assert(is_same(ASX_POLL_ERROR, poll_result::error));

static_assert(is_same(ASX_CHANNEL_OPEN, channel_state::open));
static_assert(is_same(ASX_CHANNEL_SENDER_CLOSED, channel_state::sender_closed));
static_assert(is_same(ASX_CHANNEL_RECEIVER_CLOSED, channel_state::receiver_closed));
static_assert(is_same(ASX_CHANNEL_FULLY_CLOSED, channel_state::fully_closed));

static_assert(is_same(ASX_LANE_CANCEL, lane::cancel));
static_assert(is_same(ASX_LANE_TIMED, lane::timed));
static_assert(is_same(ASX_LANE_READY, lane::ready));

static_assert(is_same(ASX_FROM_CANCEL, dispatch_source::cancel));
static_assert(is_same(ASX_FROM_TIMED, dispatch_source::timed));
static_assert(is_same(ASX_FROM_READY, dispatch_source::ready));
static_assert(is_same(ASX_FROM_FALLBACK, dispatch_source::fallback));
static_assert(is_same(ASX_FROM_STALL, dispatch_source::stall));

static_assert(is_same(ASX_GOVERNOR_NO_PREFERENCE, governor::no_preference));
static_assert(is_same(ASX_GOVERNOR_MEET_DEADLINES, governor::meet_deadlines));
static_assert(is_same(ASX_GOVERNOR_DRAIN_OBLIGATIONS, governor::drain_obligations));
static_assert(is_same(ASX_GOVERNOR_DRAIN_REGIONS, governor::drain_regions));

static_assert(is_same(ASX_BUDGET_NONE, budget_part::none));
static_assert(is_same(ASX_BUDGET_DEADLINE, budget_part::deadline));
static_assert(is_same(ASX_BUDGET_POLLS, budget_part::polls));
static_assert(is_same(ASX_BUDGET_COST, budget_part::cost));

static_assert(is_same(ASX_LEAKS_PROCEED, leak_policy::proceed));
static_assert(is_same(ASX_LEAKS_HOLD, leak_policy::hold));

static_assert(is_same(ASX_ORDER_ROUND_ROBIN, worker_order::kind::round_robin));
static_assert(is_same(ASX_ORDER_DRAWN, worker_order::kind::drawn));

static_assert(is_same(ASX_TIES_FIFO, tie_break::fifo));
static_assert(is_same(ASX_TIES_RNG, tie_break::rng));

static_assert(is_same(ASX_TRACE_RING, trace_overflow::ring));
static_assert(is_same(ASX_TRACE_REJECT, trace_overflow::reject));

static_assert(is_same(ASX_JOURNAL_OFF, journal_mode::off));
static_assert(is_same(ASX_JOURNAL_DIGEST_ONLY, journal_mode::digest_only));
static_assert(is_same(ASX_JOURNAL_FULL, journal_mode::full));

static_assert(is_same(ASX_GHOSTS_AUTOMATIC, ghost_mode::automatic));
static_assert(is_same(ASX_GHOSTS_OFF, ghost_mode::off));
static_assert(is_same(ASX_GHOSTS_ON, ghost_mode::on));

// And no number is left out.
static_assert(status_table.back().code == static_cast<status>(ASX_E_LAGGED) && status_table.size() == 28 + 8);
static_assert(cancel_kind_table.size() == ASX_CANCEL_SHUTDOWN + 1);

// Events are handed over as they lie.
static_assert(sizeof(asx_event) == sizeof(event) && offsetof(asx_event, seq) == offsetof(event, seq) &&
              offsetof(asx_event, time_ns) == offsetof(event, time_ns) &&
              offsetof(asx_event, kind) == offsetof(event, kind) &&
              offsetof(asx_event, worker) == offsetof(event, worker) &&
              offsetof(asx_event, flags) == offsetof(event, flags) &&
              offsetof(asx_event, subject) == offsetof(event, subject) &&
              offsetof(asx_event, object) == offsetof(event, object) && offsetof(asx_event, a) == offsetof(event, a) &&
              offsetof(asx_event, b) == offsetof(event, b) && offsetof(asx_event, cause) == offsetof(event, cause));
static_assert(sizeof(asx_region_handle) == 16 && sizeof(asx_waker) == 16 && sizeof(asx_timer_handle) == 16);
static_assert(is_same(ASX_TIME_NONE, instant::none().ns) && is_same(ASX_UNLIMITED, unlimited));

}  // namespace
}  // namespace asx
