// asx/model/status.hpp - the result of a call: done, or refused, with the reason and what to do about it.
//
// the 28 codes of the specification are numbered 0 to 27 in catalogue order, once and for ever.
// R-141        asx's own codes start at 100.
//
// A status says what became of a call. What becomes of a task is an outcome (outcome.hpp); the two are
// never mixed, and a status that a task receives is data until the task returns it.
//
// Cancel points: none. Threads: plain values. Lifetime: names and sentences are static.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace asx {

enum class [[nodiscard("a refusal must be seen")]] status : std::uint16_t {
  ok = 0,
  invalid_transition = 1,
  region_not_open = 2,
  region_closed = 3,
  admission_closed = 4,
  obligation_already_resolved = 5,
  obligation_leaked = 6,
  unresolved_obligations = 7,
  incomplete_children = 8,
  stale_handle = 9,
  resource_exhausted = 10,
  budget_exhausted = 11,
  tasks_still_active = 12,
  obligations_unresolved = 13,
  regions_not_closed = 14,
  timers_pending = 15,
  channel_not_drained = 16,
  witness_task_mismatch = 17,
  witness_region_mismatch = 18,
  witness_epoch_mismatch = 19,
  witness_phase_regression = 20,
  witness_reason_weakened = 21,
  disconnected = 22,
  cancelled = 23,
  full = 24,
  empty = 25,
  would_block = 26,
  timer_duration_exceeded = 27,

  invalid_argument = 100,
  wrong_thread = 101,
  reentrant = 102,
  step_limit = 103,
  io = 104,
  corrupt = 105,
  version = 106,
  lagged = 107,
};

struct status_info {
  status code;
  std::string_view name;      // The C++ enumerator: "region_not_open".
  std::string_view c_name;    // The C enumerator: "ASX_E_REGION_NOT_OPEN".
  std::string_view group;     // The domain it belongs to.
  std::string_view sentence;  // What happened, and what the caller can do about it.
};

inline constexpr auto status_table = std::to_array<status_info>({
    {status::ok, "ok", "ASX_OK", "success", "The call did what it says."},
    {status::invalid_transition, "invalid_transition", "ASX_E_INVALID_TRANSITION", "transition",
     "The state machine has no such move from its present state; read the state first, nothing was changed."},
    {status::region_not_open, "region_not_open", "ASX_E_REGION_NOT_OPEN", "region",
     "The region is closing or closed and admits nothing new; create the child in a region that is open."},
    {status::region_closed, "region_closed", "ASX_E_REGION_CLOSED", "region",
     "The region has ended and its arena is gone; copy what must outlive a region before it closes."},
    {status::admission_closed, "admission_closed", "ASX_E_ADMISSION_CLOSED", "region",
     "The region is open but its gate is shut, because the runtime or an ancestor is ending; stop creating work."},
    {status::obligation_already_resolved, "obligation_already_resolved", "ASX_E_OBLIGATION_ALREADY_RESOLVED",
     "obligation",
     "The obligation was committed or aborted before; resolve each exactly once, and look for the second owner."},
    {status::obligation_leaked, "obligation_leaked", "ASX_E_OBLIGATION_LEAKED", "obligation",
     "The obligation was still reserved when its region ended and counts as leaked; resolve it before the region "
     "closes."},
    {status::unresolved_obligations, "unresolved_obligations", "ASX_E_UNRESOLVED_OBLIGATIONS", "region",
     "The region met reserved obligations while finalizing; commit or abort them, or let the leak policy proceed."},
    {status::incomplete_children, "incomplete_children", "ASX_E_INCOMPLETE_CHILDREN", "region",
     "The region still has live tasks or sub-regions; wait for them, then take the step again."},
    {status::stale_handle, "stale_handle", "ASX_E_STALE_HANDLE", "handle",
     "The handle names something that has ended, or is of another type; drop it and look the thing up again."},
    {status::resource_exhausted, "resource_exhausted", "ASX_E_RESOURCE_EXHAUSTED", "resource",
     "A limit of the contract or of a region is met, or memory was refused; the journal's event names which. Free "
     "something, wait, or raise the limit."},
    {status::budget_exhausted, "budget_exhausted", "ASX_E_BUDGET_EXHAUSTED", "budget",
     "The task's deadline, polls or cost ran out and its cancellation is requested; go to a checkpoint and clean up."},
    {status::tasks_still_active, "tasks_still_active", "ASX_E_TASKS_STILL_ACTIVE", "quiescence",
     "The runtime is not at rest: tasks are live; run it further, or cancel them."},
    {status::obligations_unresolved, "obligations_unresolved", "ASX_E_OBLIGATIONS_UNRESOLVED", "quiescence",
     "The runtime is not at rest: obligations are reserved; commit or abort them."},
    {status::regions_not_closed, "regions_not_closed", "ASX_E_REGIONS_NOT_CLOSED", "quiescence",
     "The runtime is not at rest: regions are not closed; close them, or shut the runtime down."},
    {status::timers_pending, "timers_pending", "ASX_E_TIMERS_PENDING", "quiescence",
     "The runtime is not at rest: timers are live; let them fire, or cancel them."},
    {status::channel_not_drained, "channel_not_drained", "ASX_E_CHANNEL_NOT_DRAINED", "quiescence",
     "The runtime is not at rest: a channel holds messages or permits; drain it, or drop its receiver."},
    {status::witness_task_mismatch, "witness_task_mismatch", "ASX_E_WITNESS_TASK_MISMATCH", "witness",
     "The two witnesses are of different tasks; compare witnesses of one task only."},
    {status::witness_region_mismatch, "witness_region_mismatch", "ASX_E_WITNESS_REGION_MISMATCH", "witness",
     "The two witnesses name different regions, and a task never changes its region; take both from one task's "
     "record."},
    {status::witness_epoch_mismatch, "witness_epoch_mismatch", "ASX_E_WITNESS_EPOCH_MISMATCH", "witness",
     "The two witnesses are of different cancel epochs; compare with the witness of the first request, which fixed "
     "it."},
    {status::witness_phase_regression, "witness_phase_regression", "ASX_E_WITNESS_PHASE_REGRESSION", "witness",
     "The later witness has an earlier phase, and cancellation only moves forward; give the older witness first."},
    {status::witness_reason_weakened, "witness_reason_weakened", "ASX_E_WITNESS_REASON_WEAKENED", "witness",
     "The later witness has a milder reason; join reasons with strengthen, which never weakens one."},
    {status::disconnected, "disconnected", "ASX_E_DISCONNECTED", "channel",
     "The other side of the channel is gone; nothing more can pass, and an unsent value is still yours."},
    {status::cancelled, "cancelled", "ASX_E_CANCELLED", "channel",
     "The task is cancelled and the operation had no effect; clean up within the cleanup budget and return."},
    {status::full, "full", "ASX_E_FULL", "channel",
     "The channel has no free slot, or others wait for one; use the waiting form, or try later."},
    {status::empty, "empty", "ASX_E_EMPTY", "channel",
     "The channel has no message now; use the waiting form, or try later."},
    {status::would_block, "would_block", "ASX_E_WOULD_BLOCK", "channel",
     "The operation waits and has registered the task's waker; return pending and call it again when woken."},
    {status::timer_duration_exceeded, "timer_duration_exceeded", "ASX_E_TIMER_DURATION_EXCEEDED", "timer",
     "The deadline is further away than a timer may be; wait in several parts, or raise max_timer_duration where the "
     "wheel is your own."},

    {status::invalid_argument, "invalid_argument", "ASX_E_INVALID_ARGUMENT", "call",
     "An argument is null, out of range or contradicts another; the call's documentation says what it takes."},
    {status::wrong_thread, "wrong_thread", "ASX_E_WRONG_THREAD", "call",
     "The object belongs to another thread; call it on the runtime's own, and reach it from others by a foreign "
     "handle."},
    {status::reentrant, "reentrant", "ASX_E_REENTRANT", "call",
     "The call was made from inside itself, such as a run from a poll; return first, then call again."},
    {status::step_limit, "step_limit", "ASX_E_STEP_LIMIT", "call",
     "The run made as many steps as it was allowed and work is left; call it again, or raise max_steps."},
    {status::io, "io", "ASX_E_IO", "file",
     "The operating system refused a read or a write; the detail holds its error number, which says what to free or "
     "allow."},
    {status::corrupt, "corrupt", "ASX_E_CORRUPT", "file",
     "The data does not match its checksum or its format; keep what came before it, which is intact, and discard the "
     "rest."},
    {status::version, "version", "ASX_E_VERSION", "file",
     "The data was written by another version of the format; use the release of asx that wrote it."},
    {status::lagged, "lagged", "ASX_E_LAGGED", "channel",
     "Values were overwritten before this receiver took them; go on with the oldest that is kept, or raise the "
     "capacity."},
});

namespace detail {
constexpr bool status_table_is_in_order() {
  for (std::size_t i = 0; i < status_table.size(); ++i) {
    const std::size_t expected = i < 28 ? i : 100 + (i - 28);
    if (static_cast<std::size_t>(status_table[i].code) != expected) return false;
  }
  return true;
}
}  // namespace detail
static_assert(detail::status_table_is_in_order(), "codes are never renumbered: journals and digests hold them (R-46)");

/// Null for a number that is no status.
[[nodiscard]] constexpr const status_info* find_status(std::uint32_t number) noexcept {
  const std::uint32_t row = number < 28 ? number : number - 100 + 28;
  if (number >= 28 && number < 100) return nullptr;
  return row < status_table.size() ? &status_table[row] : nullptr;
}

/// Takes the C++ or the C name. Null for a name that is no status.
[[nodiscard]] constexpr const status_info* find_status(std::string_view name) noexcept {
  for (const status_info& row : status_table) {
    if (row.name == name || row.c_name == name) return &row;
  }
  return nullptr;
}

[[nodiscard]] constexpr std::string_view name(status code) noexcept {
  const status_info* const row = find_status(static_cast<std::uint32_t>(code));
  return row != nullptr ? row->name : "unknown status";
}
[[nodiscard]] constexpr std::string_view sentence(status code) noexcept {
  const status_info* const row = find_status(static_cast<std::uint32_t>(code));
  return row != nullptr ? row->sentence : "This number is no status of asx.";
}

}  // namespace asx
