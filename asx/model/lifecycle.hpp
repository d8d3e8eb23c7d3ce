// asx/model/lifecycle.hpp - the five state machines of asx: region, task, obligation, cancel phase, channel.
//
// R-01  region: 25 pairs, 5 legal, 20 refused with invalid_transition.
// R-16  task: 36 pairs, 13 legal (three of them only strengthen a reason), 23 refused with invalid_transition.
// R-29  obligation: 16 pairs, 3 legal, 13 refused with a code that depends on the state it is in.
// R-36  cancel phase: 16 pairs, the 10 that do not fall are legal, 6 refused with witness_phase_regression.
// R-57  channel: a derived state of four; it can only lose a side.
// R-46  ordinals are by declaration order and never change.
//
// docs/spec/lifecycles.md is printed from these tables.
//
// Cancel points: none. Threads: immutable. Lifetime: static.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "asx/model/transition_table.hpp"

namespace asx {

// ---- region ------------------------------------------------------------------------------------------------

enum class region_state : std::uint8_t { open, closing, draining, finalizing, closed };

enum class region_trigger : std::uint8_t {
  begin_close,
  parent_closing,
  parent_cancel,
  begin_drain,
  begin_finalize,
  children_complete,
  finalization_complete,
};

inline constexpr auto region_lifecycle = [] {
  using enum region_state;
  using on = region_trigger;
  constexpr auto refused = status::invalid_transition;
  return transition_table<region_state, region_trigger, 5, 7, 7>(
      "region",
      {{{"open", "ASX_REGION_OPEN", "Tasks, sub-regions, obligations, channels and timers may be created in it."},
        {"closing", "ASX_REGION_CLOSING",
         "Nothing new is admitted; every live child has been asked to cancel and goes on until it answers."},
        {"draining", "ASX_REGION_DRAINING", "Live tasks or sub-regions remain, and the region waits for them."},
        {"finalizing", "ASX_REGION_FINALIZING",
         "All children have ended; finalizers run last in, first out, and obligations are settled."},
        {"closed", "ASX_REGION_CLOSED", "The end: arena, timers and channels are gone, the outcome is known."}}},
      {"begin_close", "parent closing", "parent cancel", "begin_drain", "begin_finalize", "children complete",
       "finalization complete"},
      {{{"R1", open, on::begin_close, closing, "the gate shuts and every child is asked to cancel"},
        {"R1a", open, on::parent_closing, closing, "the close cascades from the parent"},
        {"R1b", open, on::parent_cancel, closing, "the parent's cancellation is passed on to the children"},
        {"R2", closing, on::begin_drain, draining, "waits for children; the cancels went out with R1"},
        {"R3", closing, on::begin_finalize, finalizing, "only without live children: draining is skipped"},
        {"R4", draining, on::children_complete, finalizing, "finalizers start, last in, first out"},
        {"R5", finalizing, on::finalization_complete, closed, "arena reclaimed, close waiters woken in order"}}},
      {refused, refused, refused, refused, refused});
}();

static_assert(region_lifecycle.legal_pair_count() == 5 && region_lifecycle.forbidden_pair_count() == 20);
static_assert(region_lifecycle.is_terminal(region_state::closed));
static_assert(region_lifecycle.every_state_reaches(region_state::closed));
static_assert(region_lifecycle.never_goes_back());

// ---- task --------------------------------------------------------------------------------------------------

enum class task_state : std::uint8_t { created, running, cancel_requested, cancelling, finalizing, completed };

enum class task_trigger : std::uint8_t {
  start_running,
  request_cancel,
  acknowledge_cancel,
  cleanup_done,
  finalize_done,
  complete,
};

inline constexpr auto task_lifecycle = [] {
  using enum task_state;
  using on = task_trigger;
  constexpr auto refused = status::invalid_transition;
  return transition_table<task_state, task_trigger, 6, 6, 13>(
      "task",
      {{{"created", "ASX_TASK_CREATED", "Spawned and queued; it has not been polled yet."},
        {"running", "ASX_TASK_RUNNING", "It has been polled: queued, parked and being polled are all running."},
        {"cancel_requested", "ASX_TASK_CANCEL_REQUESTED",
         "A cancel was delivered and the task has not observed it; it goes on as before."},
        {"cancelling", "ASX_TASK_CANCELLING",
         "The task observed the cancel at a checkpoint and cleans up within its cleanup budget."},
        {"finalizing", "ASX_TASK_FINALIZING", "Cleanup is done; the next dispatch ends the task without polling it."},
        {"completed", "ASX_TASK_COMPLETED", "The end: the outcome is fixed."}}},
      {"start_running", "request_cancel", "acknowledge_cancel", "cleanup_done", "finalize_done", "complete"},
      {{{"T1", created, on::start_running, running, "just before the first poll"},
        {"T2", created, on::request_cancel, cancel_requested, "cancelled before its first poll; epoch 1"},
        {"T3", created, on::complete, completed, "failed at spawn: err or panicked only"},
        {"T4", running, on::request_cancel, cancel_requested, "cancel delivered; epoch 1"},
        {"T5", running, on::complete, completed, "its own ok, err or panic"},
        {"T6", cancel_requested, on::request_cancel, cancel_requested, "only strengthens the reason"},
        {"T7", cancel_requested, on::acknowledge_cancel, cancelling, "cleanup budget armed"},
        {"T8", cancel_requested, on::complete, completed, "ended before observing: its own outcome is kept"},
        {"T9", cancelling, on::request_cancel, cancelling, "only strengthens the reason and tightens the budget"},
        {"T10", cancelling, on::cleanup_done, finalizing, "cleanup stack unwound"},
        {"T11", cancelling, on::complete, completed, "error or panic in cleanup, or force-completion"},
        {"T12", finalizing, on::request_cancel, finalizing, "only strengthens the reason"},
        {"T13", finalizing, on::finalize_done, completed, "the witness is handed out; the outcome is cancelled"}}},
      {refused, refused, refused, refused, refused, refused});
}();

static_assert(task_lifecycle.legal_pair_count() == 13 && task_lifecycle.forbidden_pair_count() == 23);
static_assert(task_lifecycle.is_terminal(task_state::completed));
static_assert(task_lifecycle.every_state_reaches(task_state::completed));  // No task can be stuck by design.
static_assert(task_lifecycle.never_goes_back());
static_assert(!task_lifecycle.legal(task_state::running, task_state::running));  // R-16's missing pair.

// ---- obligation --------------------------------------------------------------------------------------------

enum class obligation_state : std::uint8_t { reserved, committed, aborted, leaked };

enum class obligation_trigger : std::uint8_t { commit, abort, region_finalization };

inline constexpr auto obligation_lifecycle = [] {
  using enum obligation_state;
  using on = obligation_trigger;
  return transition_table<obligation_state, obligation_trigger, 4, 3, 3>(
      "obligation",
      {{{"reserved", "ASX_OBLIGATION_RESERVED", "Promised and not yet settled; its bit in the ledger is set."},
        {"committed", "ASX_OBLIGATION_COMMITTED", "Kept."},
        {"aborted", "ASX_OBLIGATION_ABORTED", "Given back."},
        {"leaked", "ASX_OBLIGATION_LEAKED", "Still reserved when its region ended: a broken promise, reported."}}},
      {"commit", "abort", "region finalization"},
      {{{"O1", reserved, on::commit, committed, "kept; ledger bit cleared"},
        {"O2", reserved, on::abort, aborted, "given back; ledger bit cleared"},
        {"O3", reserved, on::region_finalization, leaked,
         "swept when the region closes; reported with owner and site"}}},
      {status::invalid_transition, status::obligation_already_resolved, status::obligation_already_resolved,
       status::obligation_leaked});
}();

static_assert(obligation_lifecycle.legal_pair_count() == 3 && obligation_lifecycle.forbidden_pair_count() == 13);
static_assert(obligation_lifecycle.is_terminal(obligation_state::committed) &&
              obligation_lifecycle.is_terminal(obligation_state::aborted) &&
              obligation_lifecycle.is_terminal(obligation_state::leaked));
static_assert(!obligation_lifecycle.is_terminal(obligation_state::reserved));  // A promise can always be settled.
static_assert(obligation_lifecycle.never_goes_back());

// ---- cancel phase ------------------------------------------------------------------------------------------

/// The ordinal is the rank: it never falls. There is no phase "none": no witness means no cancellation.
enum class cancel_phase : std::uint8_t { requested, cancelling, finalizing, completed };

enum class cancel_phase_trigger : std::uint8_t {
  strengthen,
  acknowledge_cancel,
  short_cleanup,
  complete,
  cleanup_done,
  finalize_done,
};

inline constexpr auto cancel_phase_lifecycle = [] {
  using enum cancel_phase;
  using on = cancel_phase_trigger;
  constexpr auto refused = status::witness_phase_regression;
  return transition_table<cancel_phase, cancel_phase_trigger, 4, 6, 10>(
      "cancel_phase",
      {{{"requested", "ASX_CANCEL_REQUESTED", "Asked for and not yet observed."},
        {"cancelling", "ASX_CANCEL_CANCELLING", "Observed; cleanup is under way."},
        {"finalizing", "ASX_CANCEL_FINALIZING", "Cleanup is done; the outcome is being fixed."},
        {"completed", "ASX_CANCEL_COMPLETED", "The protocol has ended; the phase says nothing about the outcome."}}},
      {"strengthen", "acknowledge_cancel", "short cleanup", "complete", "cleanup_done", "finalize_done"},
      {{{"P1", requested, on::strengthen, requested, "the same phase with a reason that is no weaker"},
        {"P2", requested, on::acknowledge_cancel, cancelling, "the task reached a checkpoint"},
        {"P3", requested, on::short_cleanup, finalizing, "the validator allows it; the kernel never does it"},
        {"P4", requested, on::complete, completed, "the task ended before observing"},
        {"P5", cancelling, on::strengthen, cancelling, "the same phase with a reason that is no weaker"},
        {"P6", cancelling, on::cleanup_done, finalizing, "cleanup stack unwound"},
        {"P7", cancelling, on::complete, completed, "error or panic in cleanup, or force-completion"},
        {"P8", finalizing, on::strengthen, finalizing, "the same phase with a reason that is no weaker"},
        {"P9", finalizing, on::finalize_done, completed, "the last witness is handed out"},
        {"P10", completed, on::strengthen, completed, "the same phase again"}}},
      {refused, refused, refused, refused});
}();

static_assert(cancel_phase_lifecycle.legal_pair_count() == 10 && cancel_phase_lifecycle.forbidden_pair_count() == 6);
static_assert(cancel_phase_lifecycle.is_terminal(cancel_phase::completed));
static_assert(cancel_phase_lifecycle.every_state_reaches(cancel_phase::completed));
static_assert(cancel_phase_lifecycle.never_goes_back());

// ---- channel -----------------------------------------------------------------------------------------------

enum class channel_state : std::uint8_t { open, sender_closed, receiver_closed, fully_closed };

enum class channel_trigger : std::uint8_t { last_sender_drops, receiver_drops };

inline constexpr auto channel_lifecycle = [] {
  using enum channel_state;
  using on = channel_trigger;
  constexpr auto refused = status::invalid_transition;  // Unreachable in a channel: its state is derived.
  return transition_table<channel_state, channel_trigger, 4, 2, 4>(
      "channel",
      {{{"open", "ASX_CHANNEL_OPEN", "At least one sender and the receiver are there."},
        {"sender_closed", "ASX_CHANNEL_SENDER_CLOSED", "No sender is left; the receiver drains what is queued."},
        {"receiver_closed", "ASX_CHANNEL_RECEIVER_CLOSED", "The receiver is gone; senders are told disconnected."},
        {"fully_closed", "ASX_CHANNEL_FULLY_CLOSED",
         "Both sides are gone; storage goes when the last permit is resolved."}}},
      {"last sender drops", "receiver drops"},
      {{{"C1", open, on::last_sender_drops, sender_closed, "the receiver is woken"},
        {"C2", open, on::receiver_drops, receiver_closed,
         "queued values are discarded, waiting senders woken in order"},
        {"C3", sender_closed, on::receiver_drops, fully_closed, "queued values are discarded"},
        {"C4", receiver_closed, on::last_sender_drops, fully_closed, "nothing is left to wake"}}},
      {refused, refused, refused, refused});
}();

static_assert(channel_lifecycle.legal_pair_count() == 4 && channel_lifecycle.forbidden_pair_count() == 12);
static_assert(channel_lifecycle.is_terminal(channel_state::fully_closed));
static_assert(channel_lifecycle.every_state_reaches(channel_state::fully_closed));
static_assert(channel_lifecycle.never_goes_back());

/// The state is a function of what is left of the two sides, tested with fully_closed first.
[[nodiscard]] constexpr channel_state derive_channel_state(std::uint64_t sender_count, bool receiver_dropped) noexcept {
  if (receiver_dropped) return sender_count == 0 ? channel_state::fully_closed : channel_state::receiver_closed;
  return sender_count == 0 ? channel_state::sender_closed : channel_state::open;
}

}  // namespace asx
