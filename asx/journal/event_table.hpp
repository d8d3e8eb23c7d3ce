// asx/journal/event_table.hpp - what the subject, object and operands of each kind of event mean.
//
//     {kind, name, component, subject, object, a, b, "sentence with {s} {o} {a} {A} {b} {B}"}
//
// 1  Rows are in ascending order of their numbers; every enumerator of event_kind has exactly one.
// 2  A kind says enough to explain itself: with `cause`, the rows answer why a task was cancelled, why it waits, why
//    a call was refused and why a task was late (why.hpp), with nothing but the journal at hand.
// 3  An operand may hold two numbers (pack in event.hpp): {a} is then its low half and {A} its high half.
//
// Text for people, docs/spec/events.md, and the checks of the readers all come from this table.
//
// Cancel points: none. Threads: immutable. Lifetime: static.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "asx/journal/event.hpp"
#include "asx/journal/event_kind.hpp"

namespace asx {

/// How a number is read and shown.
enum class field_type : std::uint8_t {
  none,
  number,
  region,
  task,
  obligation,
  channel,
  permit,
  waiter,
  timer,
  worker,
  time,
  status,
  error,
  cancel_kind,
  cancel_phase,
  outcome,
  lane,
  place,
  wait,
  wake,
  poll,

  limit,
  governor,
  leave,
  hash,
  text,
  thing,
  sync,
};

struct operand_info {
  field_type low = field_type::none;  // The whole number when `high` is none.
  field_type high = field_type::none;
  std::string_view meaning{};
};

struct event_info {
  event_kind kind;
  std::string_view name;
  std::string_view component;
  field_type subject;
  field_type object;
  operand_info a;
  operand_info b;
  std::string_view sentence;
};

namespace detail {
inline constexpr auto make_event_table = [] {
  using enum event_kind;
  using f = field_type;
  constexpr operand_info nothing{};
  constexpr operand_info live{f::number, f::number, "live tasks; live sub-regions"};
  constexpr operand_info closer{f::task, f::none, "closing task"};
  constexpr operand_info why{f::cancel_kind, f::number, "kind of the reason; live children"};
  constexpr operand_info refusal{f::status, f::limit, "status; limit that was met"};
  constexpr operand_info value{f::number, f::none, "value of the limit"};
  constexpr operand_info reason{f::cancel_kind, f::none, "kind of the reason"};
  constexpr operand_info ended{f::outcome, f::number, "outcome; 1 if the cleanup budget was exceeded"};
  constexpr operand_info result{f::error, f::number, "status of an err; its detail, low 32 bits"};
  constexpr operand_info room{f::number, f::number, "queued messages; reserved slots, both after the move"};
  constexpr operand_info permit{f::permit, f::none, "permit number in the channel"};
  constexpr operand_info waiter{f::waiter, f::none, "waiter number in the queue"};
  constexpr operand_info units{f::number, f::number, "units left; waiters"};
  constexpr operand_info state{f::number, f::number, "senders left; messages discarded"};
  // clang-format off: a table is read by its rows
  return std::to_array<event_info>({
      // ---- regions
      {region_created, "region_created", "kernel", f::region, f::region, {f::task, f::none, "creating task"},
       {f::number, f::none, "priority"}, "{s} created in {o} by {a}"},
      {region_closing, "region_closing", "kernel", f::region, f::region, closer, why,
       "{s} starts to close ({b}, asked by {a}): {B} live children"},
      {region_closing_by_parent, "region_closing_by_parent", "kernel", f::region, f::region, closer, why,
       "{s} starts to close because {o} does ({b}): {B} live children"},
      {region_closing_by_cancel, "region_closing_by_cancel", "kernel", f::region, f::region, closer, why,
       "{s} starts to close because its owner is cancelled ({b}, asked by {a}): {B} live children"},
      {region_draining, "region_draining", "kernel", f::region, f::region, live, nothing,
       "{s} drains: {a} live tasks, {A} sub-regions"},
      {region_finalizing_at_once, "region_finalizing_at_once", "kernel", f::region, f::region,
       {f::number, f::none, "finalizers registered"}, nothing, "{s} finalizes without draining: {a} finalizers"},
      {region_finalizing, "region_finalizing", "kernel", f::region, f::region,
       {f::number, f::none, "finalizers registered"}, nothing, "{s} finalizes: {a} finalizers"},
      {region_closed, "region_closed", "kernel", f::region, f::region, ended,
       {f::number, f::none, "leaked obligations"}, "{s} closed: {a}, {b} leaked"},
      {region_reason_strengthened, "region_reason_strengthened", "kernel", f::region, f::region,
       {f::cancel_kind, f::cancel_kind, "kind now; kind before"}, nothing,
       "the reason of {s} is strengthened from {A} to {a}"},
      {region_gate_shut, "region_gate_shut", "kernel", f::region, f::region, nothing, nothing,
       "{s} admits nothing more"},
      {finalizer_registered, "finalizer_registered", "kernel", f::region, f::task,
       {f::number, f::none, "number of the finalizer"}, nothing, "{o} registered finalizer {a} of {s}"},
      {finalizer_started, "finalizer_started", "kernel", f::region, f::task,
       {f::number, f::none, "number of the finalizer"}, nothing, "finalizer {a} of {s} starts"},
      {finalizer_done, "finalizer_done", "kernel", f::region, f::task,
       {f::number, f::none, "number of the finalizer"}, nothing, "finalizer {a} of {s} is done"},
      {finalizer_failed, "finalizer_failed", "kernel", f::region, f::task,
       {f::number, f::none, "number of the finalizer"}, {f::status, f::none, "status"},
       "finalizer {a} of {s} failed: {b}"},
      {region_leaked, "region_leaked", "kernel", f::region, f::region, {f::number, f::none, "leaked obligations"},
       {f::status, f::none, "unresolved_obligations"}, "{s} ends with {a} leaked obligations"},
      {region_close_held, "region_close_held", "kernel", f::region, f::region,
       {f::number, f::none, "reserved obligations"}, {f::status, f::none, "unresolved_obligations"},
       "{s} stays finalizing: {a} obligations are reserved"},
      {close_waiter_added, "close_waiter_added", "kernel", f::region, f::task, {f::waiter, f::none, "waiter number"},
       nothing, "{o} waits for {s} to close"},
      {close_waiter_woken, "close_waiter_woken", "kernel", f::region, f::task, {f::waiter, f::none, "waiter number"},
       nothing, "{o} is told that {s} closed"},
      {region_released, "region_released", "kernel", f::region, f::region, nothing, nothing,
       "the record of {s} is free"},

      // ---- tasks
      {task_spawned, "task_spawned", "kernel", f::task, f::region, {f::task, f::none, "spawning task"},
       {f::number, f::number, "priority; 1 if it has a deadline"}, "{s} spawned in {o} by {a}, priority {b}"},
      {task_started, "task_started", "kernel", f::task, f::region, nothing, nothing, "{s} starts to run"},
      {task_cancel_requested_unstarted, "task_cancel_requested_unstarted", "kernel", f::task, f::region, reason,
       nothing, "{s} has its cancel requested before its first poll ({a})"},
      {task_failed_at_spawn, "task_failed_at_spawn", "kernel", f::task, f::region, ended, result,
       "{s} ended at spawn: {a} {b}"},
      {task_cancel_requested, "task_cancel_requested", "kernel", f::task, f::region, reason, nothing,
       "{s} has its cancel requested ({a})"},
      {task_completed, "task_completed", "kernel", f::task, f::region, ended, result, "{s} completed: {a} {b}"},
      {task_restrengthened_requested, "task_restrengthened_requested", "kernel", f::task, f::region, reason, nothing,
       "{s} is asked again before it observed ({a})"},
      {task_acknowledged, "task_acknowledged", "kernel", f::task, f::region, reason,
       {f::number, f::none, "cleanup polls granted"}, "{s} acknowledges its cancel ({a}): {b} polls to clean up"},
      {task_completed_unobserved, "task_completed_unobserved", "kernel", f::task, f::region, ended, result,
       "{s} completed before it observed its cancel: {a} {b}"},
      {task_restrengthened_cancelling, "task_restrengthened_cancelling", "kernel", f::task, f::region, reason,
       {f::number, f::none, "cleanup polls left"}, "{s} is asked again while it cleans up ({a}): {b} polls left"},
      {task_cleaned_up, "task_cleaned_up", "kernel", f::task, f::region, reason,
       {f::number, f::none, "cleanup polls left"}, "{s} has cleaned up, {b} polls left"},
      {task_completed_in_cleanup, "task_completed_in_cleanup", "kernel", f::task, f::region, ended, result,
       "{s} completed in cleanup: {a} {b}"},
      {task_restrengthened_finalizing, "task_restrengthened_finalizing", "kernel", f::task, f::region, reason,
       nothing, "{s} is asked again while it finalizes ({a})"},
      {task_finalized, "task_finalized", "kernel", f::task, f::region, ended, result, "{s} finalized: {a}"},
      {poll_ended, "poll_ended", "runtime", f::task, f::region, {f::poll, f::none, "what the poll said"},
       {f::number, f::none, "polls left in the budget in force, 0 when unlimited"}, "{s} polled: {a}"},
      {task_waits, "task_waits", "kernel", f::task, f::thing, {f::wait, f::waiter, "what for; waiter number"},
       {f::time, f::none, "until when, 0 for no limit"}, "{s} waits for {a} {o}"},
      {task_yielded, "task_yielded", "kernel", f::task, f::region, nothing, nothing, "{s} yields"},
      {task_coop_yielded, "task_coop_yielded", "kernel", f::task, f::region, {f::number, f::none, "coop_limit"},
       nothing, "{s} is made to yield after {a} ready operations"},
      {task_panicked, "task_panicked", "kernel", f::task, f::region, nothing, nothing, "{s} panicked"},
      {join_waiter_added, "join_waiter_added", "kernel", f::task, f::task, {f::waiter, f::none, "waiter number"},
       nothing, "{o} waits for {s} to complete"},
      {task_joined, "task_joined", "kernel", f::task, f::task, {f::outcome, f::none, "outcome"}, nothing,
       "{o} took the outcome of {s}: {a}"},
      {task_released, "task_released", "kernel", f::task, f::region, nothing, nothing, "the record of {s} is free"},
      {cleanup_pushed, "cleanup_pushed", "kernel", f::task, f::thing,
       {f::number, f::none, "depth of the stack after"}, nothing, "{s} has cleanup action {a}"},
      {cleanup_ran, "cleanup_ran", "kernel", f::task, f::thing, {f::number, f::none, "depth of the stack before"},
       nothing, "cleanup action {a} of {s} ran"},
      {cleanup_failed, "cleanup_failed", "kernel", f::task, f::thing,
       {f::number, f::none, "depth of the stack before"}, {f::status, f::none, "status"},
       "cleanup action {a} of {s} failed: {b}"},
      {foreign_hold_taken, "foreign_hold_taken", "kernel", f::task, f::thing,
       {f::number, f::none, "holds open after"}, nothing, "{s} may be woken from outside: {a} holds"},
      {foreign_hold_released, "foreign_hold_released", "kernel", f::task, f::thing,
       {f::number, f::none, "holds open after"}, nothing, "a hold of {s} from outside ended: {a} left"},

      // ---- obligations
      {obligation_reserved, "obligation_reserved", "kernel", f::obligation, f::region,
       {f::task, f::none, "owning task"}, {f::number, f::none, "bit in the ledger"}, "{s} reserved in {o} by {a}"},
      {obligation_committed, "obligation_committed", "kernel", f::obligation, f::region,
       {f::task, f::none, "resolving task"}, nothing, "{s} committed by {a}"},
      {obligation_aborted, "obligation_aborted", "kernel", f::obligation, f::region,
       {f::task, f::none, "resolving task"}, nothing, "{s} aborted by {a}"},
      {obligation_leaked, "obligation_leaked", "kernel", f::obligation, f::region, {f::task, f::none, "owning task"},
       nothing, "{s} of {a} leaked in {o}"},

      // ---- cancellation
      {cancel_requested, "cancel_requested", "kernel", f::task, f::region,
       {f::cancel_kind, f::number, "kind; levels of the chain"}, {f::task, f::none, "origin task"},
       "cancel of {s} asked for: {a}, from {o}, by {b}"},
      {cancel_strengthened, "cancel_strengthened", "kernel", f::task, f::region,
       {f::cancel_kind, f::cancel_kind, "kind now; kind before"}, {f::number, f::none, "cleanup polls left"},
       "cancel of {s} strengthened from {A} to {a}, from {o}: {b} polls left"},
      {cancel_phase_moved, "cancel_phase_moved", "kernel", f::task, f::region,
       {f::cancel_phase, f::cancel_phase, "phase now; phase before"},
       {f::cancel_kind, f::number, "kind; cleanup polls left"}, "cancellation of {s} moves from {A} to {a} ({b})"},
      {cancel_acknowledged_for, "cancel_acknowledged_for", "kernel", f::task, f::region,
       {f::number, f::none, "polls without observing"}, nothing, "the kernel acknowledges for {s} after {a} polls"},
      {task_force_completed, "task_force_completed", "kernel", f::task, f::region,
       {f::cancel_kind, f::none, "kind of the reason"}, {f::number, f::none, "cleanup polls used"},
       "{s} is force-completed after {b} cleanup polls ({a})"},
      {cleanup_overrun, "cleanup_overrun", "kernel", f::task, f::region,
       {f::number, f::none, "1 while a blocking call is in flight"}, nothing, "{s} has overrun and waits for {o}"},
      {stall_poll, "stall_poll", "kernel", f::task, f::region, {f::number, f::none, "cleanup polls left"}, nothing,
       "nothing can wake {s}: stall poll, {a} left"},
      {mask_entered, "mask_entered", "kernel", f::task, f::region, {f::number, f::none, "depth after"}, nothing,
       "{s} masks cancellation, depth {a}"},
      {mask_left, "mask_left", "kernel", f::task, f::region, {f::number, f::none, "depth after"},
       {f::number, f::none, "1 if the quota ended it"}, "{s} leaves a mask, depth {a}"},
      {cancel_deferred, "cancel_deferred", "kernel", f::task, f::region, {f::cancel_kind, f::none, "kind"},
       {f::number, f::none, "limit of the cancel queue"},
       "cancel of {s} ({a}) waits: the cancel queue of {b} is full"},
      {deadline_passed, "deadline_passed", "kernel", f::task, f::region, {f::time, f::none, "the deadline"}, nothing,
       "the deadline of {s} passed ({a})"},
      {budget_spent, "budget_spent", "kernel", f::task, f::region,
       {f::cancel_kind, f::none, "poll_quota or cost_budget"}, {f::number, f::none, "the budget at spawn"},
       "{s} has spent its {a} of {b}"},
      {chain_truncated, "chain_truncated", "kernel", f::task, f::region, {f::number, f::none, "levels kept"}, nothing,
       "the chain of causes of {s} is cut to {a} levels"},
      {deadline_indexed, "deadline_indexed", "kernel", f::task, f::region, {f::time, f::none, "the deadline"}, nothing,
       "{s} has until {a}"},
      {deadline_dropped, "deadline_dropped", "kernel", f::task, f::region, {f::time, f::none, "the deadline"}, nothing,
       "the deadline of {s} no longer counts (it was {a})"},

      // ---- channels
      {channel_created, "channel_created", "chan", f::channel, f::region, {f::number, f::none, "capacity"},
       {f::task, f::none, "creating task"}, "{s} of {a} slots created in {o} by {b}"},
      {channel_sender_closed, "channel_sender_closed", "chan", f::channel, f::task, nothing, room,
       "the last sender of {s} is gone, {b} messages are queued"},
      {channel_receiver_closed, "channel_receiver_closed", "chan", f::channel, f::task, state, nothing,
       "the receiver of {s} is gone: {A} messages discarded"},
      {channel_fully_closed_by_receiver, "channel_fully_closed_by_receiver", "chan", f::channel, f::task, state,
       nothing, "{s} is fully closed by its receiver: {A} messages discarded"},
      {channel_fully_closed_by_sender, "channel_fully_closed_by_sender", "chan", f::channel, f::task, nothing,
       nothing, "{s} is fully closed by its last sender"},
      {permit_reserved, "permit_reserved", "chan", f::channel, f::task, permit, room, "{o} reserved {a} of {s}: {b} queued, {B} reserved"},
      {permit_sent, "permit_sent", "chan", f::channel, f::task, permit, room,
       "{o} sent with {a} into {s}: {b} queued, {B} reserved"},
      {permit_aborted, "permit_aborted", "chan", f::channel, f::task, permit, room, "{o} aborted {a} of {s}"},
      {permit_dropped, "permit_dropped", "chan", f::channel, f::task, permit, room,
       "{o} dropped the tracked {a} of {s} unresolved"},
      {permit_disconnected, "permit_disconnected", "chan", f::channel, f::task, permit, room,
       "{o} sent with {a} into {s}, whose receiver is gone"},
      {message_received, "message_received", "chan", f::channel, f::task,
       {f::number, f::none, "number of the message"}, room, "{o} received message {a} from {s}: {b} queued"},
      {message_evicted, "message_evicted", "chan", f::channel, f::task, {f::number, f::none, "number of the message"},
       room, "{o} evicted message {a} from {s}"},
      {messages_discarded, "messages_discarded", "chan", f::channel, f::task, {f::number, f::none, "messages"},
       nothing, "{a} messages of {s} are discarded"},
      {send_waiter_added, "send_waiter_added", "chan", f::channel, f::task, waiter,
       {f::number, f::none, "waiters after"}, "{o} waits for a slot of {s} as {a}, {b} in the queue"},
      {send_waiter_removed, "send_waiter_removed", "chan", f::channel, f::task, waiter,
       {f::leave, f::number, "how; waiters after"}, "{o} no longer waits for a slot of {s}: {b}"},
      {receiver_waits, "receiver_waits", "chan", f::channel, f::task, nothing, nothing,
       "{o} waits for a message of {s}"},
      {sender_cloned, "sender_cloned", "chan", f::channel, f::task, {f::number, f::none, "senders after"}, nothing,
       "{o} cloned a sender of {s}: {a} senders"},
      {sender_dropped, "sender_dropped", "chan", f::channel, f::task, {f::number, f::none, "senders after"}, nothing,
       "{o} dropped a sender of {s}: {a} left"},
      {channel_freed, "channel_freed", "chan", f::channel, f::region, nothing, nothing, "the storage of {s} is free"},

      // ---- semaphores, mutexes and notifies
      {sync_created, "sync_created", "sync", f::sync, f::region, {f::number, f::none, "units"},
       {f::task, f::none, "creating task"}, "{s} of {a} units created in {o} by {b}"},
      {sync_acquired, "sync_acquired", "sync", f::sync, f::task, {f::number, f::none, "units"}, units,
       "{o} took {a} of {s}: {b} left"},
      {sync_released, "sync_released", "sync", f::sync, f::task, {f::number, f::none, "units"}, units,
       "{o} gave {a} of {s} back: {b} left"},
      {sync_waiter_added, "sync_waiter_added", "sync", f::sync, f::task, waiter,
       {f::number, f::none, "waiters after"}, "{o} waits for {s} as {a}, {b} in the queue"},
      {sync_waiter_removed, "sync_waiter_removed", "sync", f::sync, f::task, waiter,
       {f::leave, f::number, "how; waiters after"}, "{o} no longer waits for {s}: {b}"},
      {sync_notified, "sync_notified", "sync", f::sync, f::task, {f::number, f::none, "waiters told"},
       {f::number, f::none, "1 if one is kept for the next who asks"}, "{o} notified {a} waiters of {s}"},
      {sync_closed, "sync_closed", "sync", f::sync, f::task, {f::number, f::none, "waiters told"}, nothing,
       "{s} is closed: {a} waiters see disconnected"},
      {sync_freed, "sync_freed", "sync", f::sync, f::region, nothing, nothing, "the storage of {s} is free"},
      {sync_added, "sync_added", "sync", f::sync, f::task, {f::number, f::none, "units"}, units,
       "{o} added {a} to {s}: {b} left"},
      {sync_notice_taken, "sync_notice_taken", "sync", f::sync, f::task, nothing, nothing,
       "{o} took the notification that {s} had kept"},

      // ---- watches, broadcasts and rendezvous
      {value_published, "value_published", "chan", f::channel, f::task, {f::number, f::none, "number of the value"},
       {f::number, f::number, "receivers; values kept"}, "{o} published value {a} in {s} for {b} receivers"},
      {receiver_lagged, "receiver_lagged", "chan", f::channel, f::task, {f::number, f::none, "values skipped"},
       {f::number, f::none, "number of the oldest value kept"}, "{o} was too slow for {s}: {a} values skipped, {b} is next"},
      {receiver_cloned, "receiver_cloned", "chan", f::channel, f::task, {f::number, f::none, "receivers after"},
       nothing, "{o} made another receiver of {s}: {a} receivers"},
      {receiver_dropped, "receiver_dropped", "chan", f::channel, f::task, {f::number, f::none, "receivers after"},
       nothing, "{o} dropped a receiver of {s}: {a} left"},

      // ---- timers
      {timer_registered, "timer_registered", "wheel", f::timer, f::task, {f::time, f::none, "deadline"},
       {f::number, f::none, "insertion_seq"}, "{s} of {o} registered for {a}"},
      {timer_fired, "timer_fired", "wheel", f::timer, f::task, {f::time, f::none, "deadline"},
       {f::number, f::none, "insertion_seq"}, "{s} of {o} fired, due {a}"},
      {timer_cancelled, "timer_cancelled", "wheel", f::timer, f::task, {f::time, f::none, "deadline"},
       {f::number, f::none, "insertion_seq"}, "{s} of {o} cancelled, was due {a}"},
      {timer_updated, "timer_updated", "wheel", f::timer, f::task, {f::time, f::none, "new deadline"},
       {f::timer, f::none, "the timer it replaces"}, "{s} of {o} replaces {b}, due {a}"},
      {timers_coalesced, "timers_coalesced", "wheel", f::none, f::none, {f::number, f::none, "timers promoted"},
       {f::time, f::none, "boundary"}, "{a} timers are promoted to {b}"},

      // ---- scheduler
      {task_woken, "task_woken", "sched", f::task, f::task, {f::place, f::wake, "lane, priority, worker; why"},
       {f::number, f::none, "insertion_seq"}, "{s} woken by {o} ({A}) into {a}"},
      {task_dispatched, "task_dispatched", "sched", f::task, f::time, {f::number, f::lane, "priority; lane"},
       {f::number, f::none, "insertion_seq"}, "{s} dispatched from {A}, priority {a}"},
      {task_requeued, "task_requeued", "sched", f::task, f::region, {f::place, f::none, "lane, priority, worker"},
       {f::number, f::none, "insertion_seq"}, "{s} moved to {a}"},
      {task_stolen, "task_stolen", "sched", f::task, f::worker,
       {f::number, f::number, "victims scanned; start of the scan"}, {f::number, f::none, "insertion_seq"},
       "{s} stolen from {o}"},
      {governor_changed, "governor_changed", "sched", f::none, f::task, {f::governor, f::governor, "now; before"},
       nothing, "the governor suggests {a} instead of {A}"},
      {streak_limited, "streak_limited", "sched", f::none, f::none, {f::lane, f::none, "lane whose streak is full"},
       {f::number, f::none, "limit in force"}, "{a} steps back after {b} dispatches"},
      {tie_broken, "tie_broken", "sched", f::none, f::none, {f::number, f::number, "candidates; chosen"}, nothing,
       "candidate {A} of {a} chosen"},
      {worker_chosen, "worker_chosen", "lab", f::worker, f::none, {f::number, f::none, "workers to choose from"},
       nothing, "{s} of {a} steps next"},
      {certificate_issued, "certificate_issued", "sched", f::none, f::task, {f::hash, f::none, "witness hash"},
       {f::number, f::none, "dispatches"}, "certificate of {b} dispatches: {a}"},
      {certificate_reset, "certificate_reset", "sched", f::none, f::task, nothing, nothing,
       "the certificate starts anew"},
      {scheduler_configured, "scheduler_configured", "sched", f::none, f::none,
       {f::number, f::number, "cancel_streak_limit; timed_streak_limit"},
       {f::number, f::none, "ready_tiebreak: 0 fifo, 1 rng"}, "streak limits: cancel {a}, timed {A}"},
      {worker_idled, "worker_idled", "sched", f::worker, f::none, nothing, nothing, "{s} has nothing to do"},
      {task_dequeued, "task_dequeued", "sched", f::task, f::region, nothing, {f::number, f::none, "insertion_seq"},
       "{s} leaves its lane without being dispatched"},

      // ---- runtime and its limits
      {runtime_started, "runtime_started", "runtime", f::region, f::none, {f::hash, f::none, "seed"},
       {f::number, f::none, "workers"}, "the runtime starts: root {s}, seed {a}, {b} workers"},
      {shutdown_begun, "shutdown_begun", "runtime", f::region, f::task, {f::time, f::none, "grace"}, nothing,
       "shutdown begins with a grace of {a}"},
      {shutdown_strengthened, "shutdown_strengthened", "runtime", f::region, f::none,
       {f::number, f::none, "live tasks"}, nothing, "the grace is over: {a} tasks are told to shut down"},
      {quiescence_checked, "quiescence_checked", "runtime", f::region, f::none,
       {f::status, f::number, "result; mask of all failed checks"}, nothing, "quiescence: {a}"},
      {step_limit_reached, "step_limit_reached", "runtime", f::none, f::none, {f::number, f::none, "max_steps"},
       nothing, "the run stops after {a} steps"},
      {run_idle, "run_idle", "runtime", f::none, f::task, {f::number, f::none, "parked tasks"},
       {f::time, f::none, "next deadline, 0 for none"}, "idle: {a} tasks wait"},
      {runtime_ended, "runtime_ended", "runtime", f::region, f::none, {f::status, f::none, "quiescence result"},
       nothing, "the runtime ends: {a}"},
      {law_checked, "law_checked", "runtime", f::number, f::none, {f::status, f::none, "what it answered"},
       {f::hash, f::none, "hash of what came out"}, "law {s} checked: {a}, {b}"},
      {refused_other, "refused_other", "kernel", f::task, f::thing, refusal, value,
       "a call by {s} refused at {o}: {a}, {A} {b}"},
      {refused_spawn, "refused_spawn", "kernel", f::task, f::region, refusal, value,
       "spawn by {s} refused at {o}: {a}, {A} {b}"},
      {refused_region, "refused_region", "kernel", f::task, f::region, refusal, value,
       "creating a region by {s} refused at {o}: {a}, {A} {b}"},
      {refused_obligation, "refused_obligation", "kernel", f::task, f::region, refusal, value,
       "reserving an obligation by {s} refused at {o}: {a}, {A} {b}"},
      {refused_channel, "refused_channel", "kernel", f::task, f::region, refusal, value,
       "creating a channel by {s} refused at {o}: {a}, {A} {b}"},
      {refused_slot, "refused_slot", "kernel", f::task, f::channel, refusal, value,
       "reserving a slot by {s} refused at {o}: {a}, {A} {b}"},
      {refused_timer, "refused_timer", "kernel", f::task, f::region, refusal, value,
       "registering a timer by {s} refused at {o}: {a}, {A} {b}"},
      {refused_cancel, "refused_cancel", "kernel", f::task, f::task, refusal, value,
       "request_cancel by {s} refused at {o}: {a}, {A} {b}"},
      {refused_close, "refused_close", "kernel", f::task, f::region, refusal, value,
       "closing a region by {s} refused at {o}: {a}, {A} {b}"},
      {refused_mask, "refused_mask", "kernel", f::task, f::region, refusal, value,
       "entering a mask by {s} refused at {o}: {a}, {A} {b}"},
      {refused_cleanup, "refused_cleanup", "kernel", f::task, f::region, refusal, value,
       "pushing a cleanup action by {s} refused at {o}: {a}, {A} {b}"},
      {refused_finalizer, "refused_finalizer", "kernel", f::task, f::region, refusal, value,
       "registering a finalizer by {s} refused at {o}: {a}, {A} {b}"},
      {refused_memory, "refused_memory", "kernel", f::task, f::region, refusal, value,
       "allocating by {s} refused at {o}: {a}, {A} {b}"},
      {refused_join, "refused_join", "kernel", f::task, f::task, refusal, value,
       "join by {s} refused at {o}: {a}, {A} {b}"},

      // ---- inputs
      {input_wake, "input_wake", "runtime", f::task, f::thing, {f::number, f::none, "place in the inbox"}, nothing,
       "from outside: wake {s}"},
      {input_cancel, "input_cancel", "runtime", f::task, f::region, reason,
       {f::number, f::none, "place in the inbox; of an arrival, its handle"}, "from outside: cancel {s} ({a})"},
      {input_spawn, "input_spawn", "runtime", f::task, f::region, nothing, {f::number, f::none, "place in the inbox"},
       "from outside: spawn into {o}"},
      {input_close, "input_close", "runtime", f::region, f::none, reason,
       {f::number, f::none, "place in the inbox; of an arrival, its handle"}, "from outside: close {s} ({a})"},
      {input_time, "input_time", "runtime", f::none, f::none, {f::time, f::none, "now"},
       {f::time, f::none, "before"}, "the clock moves from {b} to {a}"},
      {input_send, "input_send", "runtime", f::channel, f::none, {f::number, f::none, "place in the inbox"}, nothing,
       "from outside: send into {s}"},
      {input_io, "input_io", "runtime", f::task, f::thing, {f::number, f::none, "result"},
       {f::number, f::none, "place in the inbox"}, "from outside: operation {o} of {s} gave {a}"},
      {input_fault, "input_fault", "lab", f::task, f::thing, {f::number, f::none, "number of the injector"},
       {f::number, f::none, "its hits so far"}, "fault {a} is injected into {s}, hit {b}"},
      {input_release, "input_release", "runtime", f::task, f::thing, {f::number, f::none, "place in the inbox"},
       nothing, "from outside: handle {o} of {s} is gone"},

      // ---- diagnostics
      {ghost_violation, "ghost_violation", "kernel", f::thing, f::thing,
       {f::number, f::none, "number of the FB rule"}, {f::status, f::none, "status returned"},
       "ghost: FB-{a} violated by {s} on {o}: {b}"},
      {ghost_note, "ghost_note", "kernel", f::thing, f::thing,
       {f::number, f::none, "number of the FB rule or ruling"}, {f::status, f::none, "status returned"},
       "ghost: note on rule {a}, {s}, {o}"},
      {journal_overwritten, "journal_overwritten", "journal", f::none, f::none,
       {f::number, f::none, "events overwritten"}, nothing, "{a} events before this one were overwritten"},
      {journal_lost, "journal_lost", "journal", f::none, f::none, {f::number, f::none, "events lost"},
       {f::number, f::none, "error number of the system"}, "{a} events could not be written (error {b})"},
      {worker_parked, "worker_parked", "runtime", f::worker, f::none, {f::time, f::none, "until, 0 for no limit"},
       nothing, "{s} parks"},
      {worker_unparked, "worker_unparked", "runtime", f::worker, f::none, nothing, nothing, "{s} is unparked"},
      {steal_missed, "steal_missed", "sched", f::worker, f::none, {f::number, f::none, "victims scanned"}, nothing,
       "{s} found nothing to steal"},
      {queue_depths, "queue_depths", "sched", f::worker, f::none, {f::number, f::number, "cancel lane; timed lane"},
       {f::number, f::number, "ready lane; parked tasks"},
       "{s}: {a} in cancel, {A} in timed, {b} in ready, {B} parked"},
      {text, "text", "journal", f::thing, f::text, {f::text, f::none, "bytes 0 to 7, little-endian"},
       {f::text, f::none, "bytes 8 to 15"}, "text about {s}"},
  });
  // clang-format on
};
}  // namespace detail

inline constexpr auto event_table = detail::make_event_table();

namespace detail {
constexpr bool event_kinds_ascend() {
  for (std::size_t i = 1; i < event_table.size(); ++i) {
    if (event_table[i - 1].kind >= event_table[i].kind) return false;
  }
  return static_cast<std::uint16_t>(event_table.back().kind) < 1000;
}
constexpr auto index_event_kinds() {
  std::array<std::uint8_t, 1000> rows{};
  rows.fill(255);
  for (std::size_t i = 0; i < event_table.size(); ++i) {
    rows[static_cast<std::size_t>(event_table[i].kind)] = static_cast<std::uint8_t>(i);
  }
  return rows;
}
static_assert(event_table.size() < 255);
inline constexpr auto event_rows = index_event_kinds();
}  // namespace detail
static_assert(detail::event_kinds_ascend(), "kinds are listed once, in the order of their numbers");

/// True of the kinds 810 to 829: somebody asked for something and was refused.
[[nodiscard]] constexpr bool is_refusal(event_kind kind) noexcept {
  return kind >= event_kind::refused_other && static_cast<std::uint16_t>(kind) < 830;
}

/// Null for a number that is no kind of this version.
[[nodiscard]] constexpr const event_info* find_event_kind(std::uint64_t number) noexcept {
  if (number >= detail::event_rows.size()) return nullptr;
  const std::uint8_t row = detail::event_rows[static_cast<std::size_t>(number)];
  return row == 255 ? nullptr : &event_table[row];
}
[[nodiscard]] constexpr const event_info* find_event_kind(std::string_view name) noexcept {
  for (const event_info& row : event_table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}
[[nodiscard]] constexpr std::string_view name(event_kind kind) noexcept {
  const event_info* const row = find_event_kind(static_cast<std::uint64_t>(kind));
  return row != nullptr ? row->name : "unknown kind";
}

/// True of an event that a journal could hold: a known kind, known flags, and the semantic mark where it belongs.
[[nodiscard]] constexpr bool is_well_formed(const event& e) noexcept {
  return find_event_kind(static_cast<std::uint64_t>(e.kind)) != nullptr && (e.flags & ~event_flags::known) == 0 &&
         e.semantic() == is_semantic(e.kind);
}

}  // namespace asx
