// asx/journal/event_kind.hpp - the numbers of everything that can happen in a run, given once.
//
//     100 regions   200 tasks     300 obligations   400 cancellation   500 channels
//     600 timers    700 scheduler 800 runtime       900 inputs         950 diagnostics
//
// U-32   one kind for each transition of the lifecycle tables, each wake, dispatch, cancel, leak, force-completion
//        and refusal. The order of the rows of a lifecycle is the order of its kinds.
// R-46   numbers and names are never changed and never given twice: journals and digests hold them.
// R-139  kinds from 950 on are diagnostics: they enter no digest and take no sequence number, so that a run with
//        ghosts, names or samples has the same digest as one without (U-35, R-115).
//
// The meaning of subject, object and operands is in event_table.hpp; docs/spec/events.md is printed from it.
//
// Cancel points: none. Threads: constants. Lifetime: static.
#pragma once

#include <cstdint>

#include "asx/model/handle.hpp"

namespace asx {

enum class event_kind : std::uint16_t {
  // ---- regions; 101 to 107 are the rows R1, R1a, R1b, R2 to R5 of region_lifecycle
  region_created = 100,
  region_closing = 101,
  region_closing_by_parent = 102,
  region_closing_by_cancel = 103,
  region_draining = 104,
  region_finalizing_at_once = 105,
  region_finalizing = 106,
  region_closed = 107,
  region_reason_strengthened = 110,
  region_gate_shut = 111,
  finalizer_registered = 112,
  finalizer_started = 113,
  finalizer_done = 114,
  finalizer_failed = 115,
  region_leaked = 116,
  region_close_held = 117,
  close_waiter_added = 118,
  close_waiter_woken = 119,
  region_released = 120,

  // ---- tasks; 201 to 213 are the rows T1 to T13 of task_lifecycle
  task_spawned = 200,
  task_started = 201,
  task_cancel_requested_unstarted = 202,
  task_failed_at_spawn = 203,
  task_cancel_requested = 204,
  task_completed = 205,
  task_restrengthened_requested = 206,
  task_acknowledged = 207,
  task_completed_unobserved = 208,
  task_restrengthened_cancelling = 209,
  task_cleaned_up = 210,
  task_completed_in_cleanup = 211,
  task_restrengthened_finalizing = 212,
  task_finalized = 213,
  poll_ended = 220,
  task_waits = 221,
  task_yielded = 222,
  task_coop_yielded = 223,
  task_panicked = 224,
  join_waiter_added = 225,
  task_joined = 226,
  task_released = 227,
  cleanup_pushed = 228,
  cleanup_ran = 229,
  cleanup_failed = 230,
  foreign_hold_taken = 231,
  foreign_hold_released = 232,

  // ---- obligations; 301 to 303 are the rows O1 to O3 of obligation_lifecycle
  obligation_reserved = 300,
  obligation_committed = 301,
  obligation_aborted = 302,
  obligation_leaked = 303,

  // ---- cancellation
  cancel_requested = 401,
  cancel_strengthened = 402,
  cancel_phase_moved = 403,
  cancel_acknowledged_for = 404,
  task_force_completed = 405,
  cleanup_overrun = 406,
  stall_poll = 407,
  mask_entered = 408,
  mask_left = 409,
  cancel_deferred = 410,
  deadline_passed = 411,
  budget_spent = 412,
  chain_truncated = 413,
  deadline_indexed = 414,
  deadline_dropped = 415,

  // ---- channels; 501 to 504 are the rows C1 to C4 of channel_lifecycle
  channel_created = 500,
  channel_sender_closed = 501,
  channel_receiver_closed = 502,
  channel_fully_closed_by_receiver = 503,
  channel_fully_closed_by_sender = 504,
  permit_reserved = 510,
  permit_sent = 511,
  permit_aborted = 512,
  permit_dropped = 513,
  permit_disconnected = 514,
  message_received = 515,
  message_evicted = 516,
  messages_discarded = 517,
  send_waiter_added = 518,
  send_waiter_removed = 519,
  receiver_waits = 520,
  sender_cloned = 521,
  sender_dropped = 522,
  channel_freed = 523,
  // ---- semaphores, mutexes and notifies
  sync_created = 530,
  sync_acquired = 531,
  sync_released = 532,
  sync_waiter_added = 533,
  sync_waiter_removed = 534,
  sync_notified = 535,
  sync_closed = 536,
  sync_freed = 537,
  sync_added = 538,
  sync_notice_taken = 539,
  // ---- watches, broadcasts and rendezvous
  value_published = 540,
  receiver_lagged = 541,
  receiver_cloned = 542,
  receiver_dropped = 543,

  // ---- timers
  timer_registered = 600,
  timer_fired = 601,
  timer_cancelled = 602,
  timer_updated = 603,
  timers_coalesced = 604,

  // ---- scheduler
  task_woken = 700,
  task_dispatched = 701,
  task_requeued = 702,
  task_stolen = 703,
  governor_changed = 704,
  streak_limited = 705,
  tie_broken = 706,
  worker_chosen = 707,
  certificate_issued = 708,
  certificate_reset = 709,
  scheduler_configured = 710,
  worker_idled = 711,
  task_dequeued = 712,

  // ---- runtime and its limits
  runtime_started = 800,
  shutdown_begun = 802,
  shutdown_strengthened = 803,
  quiescence_checked = 804,
  step_limit_reached = 805,
  run_idle = 806,
  runtime_ended = 807,
  law_checked = 808,  // Of a scenario: what the model answered, without a runtime's doing.
  // 810 to 829: who asked, where, the status, and the limit that was met with its value
  refused_other = 810,
  refused_spawn = 811,
  refused_region = 812,
  refused_obligation = 813,
  refused_channel = 814,
  refused_slot = 815,
  refused_timer = 816,
  refused_cancel = 817,
  refused_close = 818,
  refused_mask = 819,
  refused_cleanup = 820,
  refused_finalizer = 821,
  refused_memory = 822,
  refused_join = 823,

  // ---- inputs from outside the run (U-01): a replay must be given these again
  input_wake = 900,
  input_cancel = 901,
  input_spawn = 902,
  input_close = 903,
  input_time = 904,
  input_send = 905,
  input_io = 906,
  input_fault = 907,
  input_release = 908,

  // ---- diagnostics: never in the digest
  ghost_violation = 950,
  ghost_note = 951,
  journal_overwritten = 960,
  journal_lost = 961,
  worker_parked = 970,
  worker_unparked = 971,
  steal_missed = 972,
  queue_depths = 980,
  text = 990,
};

inline constexpr std::uint16_t first_diagnostic_kind = 950;

/// True of the events that the digest covers and that take a sequence number.
[[nodiscard]] constexpr bool is_semantic(event_kind kind) noexcept {
  return static_cast<std::uint16_t>(kind) < first_diagnostic_kind;
}

// ---- codes that operands hold; numbered once, like the kinds ------------------------------------------------------

/// The queue that a task was taken from, or enters (the first three). fallback is step 5 of the worker, stall a round
/// of R-132.
enum class lane_code : std::uint8_t { cancel, timed, ready, fallback, stall };

/// The lane that a task enters, as an operand holds it: lane, priority and worker in 32 bits.
[[nodiscard]] constexpr std::uint32_t place_code(lane_code lane, std::uint8_t priority, std::uint32_t worker) noexcept {
  return static_cast<std::uint32_t>(lane) | static_cast<std::uint32_t>(priority) << 8 | (worker & 0xffffU) << 16;
}
[[nodiscard]] constexpr lane_code place_lane(std::uint32_t place) noexcept {
  return static_cast<lane_code>(place & 0xffU);
}
[[nodiscard]] constexpr std::uint8_t place_priority(std::uint32_t place) noexcept {
  return static_cast<std::uint8_t>(place >> 8);
}
[[nodiscard]] constexpr std::uint16_t place_worker(std::uint32_t place) noexcept {
  return static_cast<std::uint16_t>(place >> 16);
}

/// What a task waits for. `object` of task_waits is then a channel, a timer, a task, a region or a private number.
enum class wait_code : std::uint8_t { other, recv, reserve, timer, join, close, sync, foreign };

/// Why a task was woken.
enum class wake_code : std::uint8_t {
  other,
  spawn,
  yield,
  message,
  slot,
  disconnected,
  timer,
  joined,
  closed,
  cancel,
  sync,
  input
};

/// What a poll said.
enum class poll_code : std::uint8_t { pending, ready, error, panicked };

/// The limit of the resource contract that a refusal met; none when a state or a gate refused.
enum class limit_code : std::uint8_t {
  none,
  tasks,
  regions,
  obligations,
  channels,
  timers,
  ready_queue,
  cancel_queue,
  channel_waiters,
  channel_capacity,
  memory,
  trace,
  mask_depth,
  cleanup_stack,
  finalizers,
  causes,
  region_tasks,
  waiters,
  sync,
  senders,  // Of the C interface, where ends lie in a table.
};

/// Suggestions of the governor, in the order of the specification.
enum class governor_code : std::uint8_t { no_preference, meet_deadlines, drain_obligations, drain_regions };

/// How a waiting sender left the queue of a channel.
enum class leave_code : std::uint8_t { served, cancelled, dropped, disconnected };

/// What the bytes of a text event are about. A value is that of a call from outside, by the number of its handle.
enum class text_code : std::uint8_t { name, message, panic, site, note, value };
/// What the name of a semaphore, a mutex or a notify is filed under: its noun, then its own, as in "mutex stock".
/// Handles have no such tag: those of the specification are below.
inline constexpr type_tag sync_tag{0x80};

}  // namespace asx
