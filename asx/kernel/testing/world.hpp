// asx/kernel/testing/world.hpp - what a test can do to a kernel and see of it, by creation numbers.
//
// Two things have this face: the naive model (naive_kernel.hpp), written from the rulings, and the kernel itself behind
// an adapter (real_world.hpp). A driver does the same to both and compares what can be seen (kernel_driver.hpp).
//
//     scripts --> world <-- operations of a driver or a test
//                   |
//                   +--> views of tasks, regions, obligations; the dispatch of each step; a log of words
//
// Numbers count creations from 1, each kind apart; region 1 is the root. A call names a number that exists or existed.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's; scripts outlive the worlds that run them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "asx/kernel/contract.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/outcome.hpp"
#include "asx/model/status.hpp"

namespace asx::testing {

/// One thing a scripted task does. A poll runs actions in order until one ends the poll; the next poll goes on behind
/// it. A script that has run out returns ok.
struct action {
  enum class kind : std::uint8_t {
    // These end the poll.
    yield,         // Explicit yield: pending, queued again behind its equals.
    park,          // Takes a waker and returns pending: waits until woken.
    sleep,         // Registers a timer for now + n ns and returns pending; if that is refused, the next action follows.
    pend,          // Returns pending with no waker taken: counts as a yield.
    return_ok,     // Ready; with payload n when n != 0, bare ok when n == 0.
    return_error,  // Error with status stale_handle and detail n.
    panic,
    // These go on.
    checkpoint,     // If it returns cancelled, the script jumps to `cleanup_at`, once; after that it goes on.
    is_cancelled,   // A pure query.
    spawn,          // Into its own region: script number n, with budget `b`.
    spawn_held,     // The same, keeping a join handle: the record stays until it is released.
    create_region,  // A child region of its own region, budget `b`; it belongs to that region only.
    reserve,        // An obligation in its own region, owned by this task.
    commit,         // The n-th obligation that this task has reserved, from 0; nothing when there is none.
    abort,          // Likewise.
    push_cleanup,   // A cleanup action that is recorded as (task, n) when it runs.
    consume_cost,   // n.
    cancel_task,    // request_cancel of task n with kind k; nothing when there was never such a task.
    close_region,  // close of region n with kind k (its own region: R-161); nothing when there was never such a region.
    wake_task,     // Wakes task n; nothing when there was never such a task.
    mask_enter,
    mask_leave,  // Nothing when no mask is open.
  };
  kind what = kind::yield;
  std::uint64_t n = 0;
  cancel_kind k = cancel_kind::user;
  budget b = {};  // Of spawn and create_region. A task's priority is b.priority, literally.
};

/// The word of an action in the log.
[[nodiscard]] constexpr std::string_view name(action::kind what) noexcept {
  constexpr std::string_view names[] = {"yield",        "park",          "sleep",       "pend",         "return_ok",
                                        "return_error", "panic",         "checkpoint",  "is_cancelled", "spawn",
                                        "spawn_held",   "create_region", "reserve",     "commit",       "abort",
                                        "push_cleanup", "consume_cost",  "cancel_task", "close_region", "wake_task",
                                        "mask_enter",   "mask_leave"};
  return names[static_cast<std::size_t>(what)];
}

/// At the start of each poll a script cancels the timer of its last sleep if that is still live: something else woke
/// it. The kernel also cancels a task's timers at T7 and at completion. A wake by itself cancels nothing.
struct script {
  std::vector<action> actions;
  std::size_t cleanup_at = SIZE_MAX;  // Where a cancelled checkpoint jumps to; SIZE_MAX: it goes on.
};

struct world_config {
  std::uint64_t seed = 0;
  std::uint32_t max_tasks = 64;        // Records: live tasks, and completed ones that a handle holds.
  std::uint32_t max_regions = 32;      // Likewise, the root included.
  std::uint32_t max_obligations = 32;  // Reserved ones.
  std::uint32_t max_timers = 32;       // Live ones.
  std::uint32_t cancel_queue = 64;
  std::uint32_t max_cleanup = 8;       // Entries of a task's cleanup stack.
  std::uint32_t max_finalizers = 8;    // Entries of a region's finalizer stack.
  std::uint32_t mask_depth = 8;
  std::uint32_t max_unobserved_cancel_polls = UINT32_MAX;
  std::uint32_t cancel_streak_limit = 16;
  std::uint32_t timed_streak_limit = 64;
  bool hold_leaks = false;  // leak_policy hold instead of proceed.
  ghost_mode ghosts = ghost_mode::automatic;
};

/// Runs when the region finalizes: it is recorded, commits, spawns, and then perhaps panics.
struct finalizer_script {
  std::uint64_t number = 0;  // Recorded as ("finalizer", region, number) when it runs.
  bool panics = false;
  std::int32_t spawns = -1;   // Script number of a finalizer task, -1: none. It asks for no budget but priority 128.
  std::int32_t commits = -1;  // Which obligation of the region it commits, from 0 in creation order; -1: none.
};

struct task_view {
  task_state state = task_state::created;
  std::uint8_t lane = 3;  // 0 cancel, 1 timed, 2 ready, 3 not queued.
  std::uint64_t epoch = 0;
  bool has_witness = false;
  cancel_phase phase = cancel_phase::requested;
  cancel_kind reason_kind = cancel_kind::user;  // Of the strongest reason, when has_witness.
  std::uint16_t chain_levels = 0;
  std::uint64_t polls = 0;               // Polled so far.
  std::uint64_t cleanup_polls_left = 0;  // Of the armed cleanup quota; has a meaning in cancelling only.
  bool has_ended = false;
  outcome_kind ended = outcome_kind::ok;
  cancel_kind ended_kind = cancel_kind::user;
  bool ended_overrun = false;
  std::uint64_t ended_value = 0;  // The payload of ok or the detail of an error.
  bool is_released = false;       // The record is gone: nothing counts then but the outcome as last seen.

  friend bool operator==(const task_view&, const task_view&) = default;
};

struct region_view {
  region_state state = region_state::open;
  std::uint32_t live_tasks = 0;
  std::uint32_t live_regions = 0;
  std::uint32_t reserved = 0;
  std::uint64_t leaked = 0;
  bool has_reason = false;
  cancel_kind reason_kind = cancel_kind::user;
  bool has_ended = false;
  outcome_kind ended = outcome_kind::ok;
  cancel_kind ended_kind = cancel_kind::user;
  std::uint64_t ended_value = 0;
  bool is_released = false;

  friend bool operator==(const region_view&, const region_view&) = default;
};

struct step_view {
  bool is_idle = false;
  std::uint64_t task = 0;
  std::uint8_t source = 0;   // 0 cancel, 1 timed, 2 ready, 3 fallback, 4 stall.
  std::uint32_t passed = 0;  // Timers fired and deadlines passed in phase 0.

  friend bool operator==(const step_view&, const step_view&) = default;
};

/// Scripts are given once, when the world is made; numbers of scripts index them.
class kernel_world {
 public:
  kernel_world() = default;
  virtual ~kernel_world() = default;
  kernel_world(const kernel_world&) = delete;
  kernel_world& operator=(const kernel_world&) = delete;

  /// held: a close handle keeps the record.
  virtual status create_region(std::uint64_t parent, const budget& b, bool held) = 0;
  /// held: a join handle keeps the record.
  virtual status spawn(std::uint64_t region, std::size_t script, const budget& b, bool held) = 0;
  virtual status request_cancel(std::uint64_t task, cancel_kind k, bool& newly) = 0;
  /// Driven by the kernel.
  virtual status close(std::uint64_t region, cancel_kind k) = 0;
  /// Single steps: the region is not driven.
  virtual status begin_close(std::uint64_t region, cancel_kind k) = 0;
  virtual status begin_drain(std::uint64_t region) = 0;
  /// From closing (R3) or from draining (R4).
  virtual status begin_finalize(std::uint64_t region) = 0;
  /// From finalizing to closed (R5).
  virtual status finish_close(std::uint64_t region) = 0;
  /// By the host: there is no owning task.
  virtual status reserve(std::uint64_t region) = 0;
  virtual status commit(std::uint64_t obligation) = 0;
  virtual status abort(std::uint64_t obligation) = 0;
  virtual status add_finalizer(std::uint64_t region, const finalizer_script& f) = 0;
  virtual void wake(std::uint64_t task) = 0;
  /// Drops the join handle; nothing when there is none.
  virtual void release_task(std::uint64_t task) = 0;
  /// Drops the close handle; nothing when there is none.
  virtual void release_region(std::uint64_t region) = 0;
  virtual void set_governor(std::uint8_t g) = 0;
  /// Logical time moves; nothing else happens until a step.
  virtual void advance(std::uint64_t ns) = 0;
  /// One worker, one dispatch at most.
  virtual step_view step() = 0;
  /// No grace: closes the root with kind shutdown and shuts the gates.
  virtual status shutdown_begin() = 0;
  /// The first failing code; bit i of mask: check i failed, in the order tasks, obligations, regions, timers, channels.
  virtual status quiescence(std::uint32_t& mask) = 0;

  /// Created so far.
  [[nodiscard]] virtual std::uint64_t tasks() const = 0;
  [[nodiscard]] virtual std::uint64_t regions() const = 0;
  [[nodiscard]] virtual std::uint64_t obligations() const = 0;
  [[nodiscard]] virtual task_view task(std::uint64_t number) const = 0;
  [[nodiscard]] virtual region_view region(std::uint64_t number) const = 0;
  /// stale_handle once its slot is used again.
  virtual status obligation_state_of(std::uint64_t number, obligation_state& state) const = 0;
  /// "cleanup T N", "finalizer R N", and "op T ACTION RESULT" for each action of a script that returns a status (by its
  /// name) or a bool (true, false): all that go on but wake_task and mask_leave, and sleep. In order of their ends.
  [[nodiscard]] virtual const std::vector<std::string>& log() const = 0;
};

}  // namespace asx::testing
