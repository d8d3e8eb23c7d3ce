// asx/scenario/world.hpp - a back end of the player: everything that a scenario can ask of a runtime.
//
//     player --ref--> world --+-- world_kernel   the C++ kernel
//                             +-- (C interface)  the same over asx.h
//
// 1  The player names things by refs: numbers into tables of the back end, one table for each kind of thing. A ref
//    is never used again; of a thing that is gone it gives what the interface gives for a stale handle.
// 2  A back end translates and decides nothing: same calls, same events, over every back end.
// 3  A script is called back through plain functions with a context; while it is polled it speaks through a
//    poll_face.
// 4  A value is a number. One that is destroyed, and that neither a receiver nor a caller got, is noted in
//    `destroyed`.
// 5  Waits (of reserve, sleep, join, await_closed) lie in the back end too. A wait that answered something else than
//    would_block is over, and its ref is no_ref again.
//
// Cancel points: poll_face::checkpoint, reserve, recv, sleep, join, await_closed.
// Threads: one at a time.
// Lifetime: what is left is taken down with the world; no function is called any more after take_down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/time.hpp"
#include "asx/journal/journal.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/outcome.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/sched/certificate.hpp"
#include "asx/sched/governor.hpp"
#include "asx/sched/scheduler.hpp"

namespace asx::scenario {

using ref = std::uint32_t;
inline constexpr ref no_ref = UINT32_MAX;
inline constexpr ref root_ref = 0;  // Of the table of regions.

// ---- values that own their texts ---------------------------------------------------------------------------------

struct reason_level {
  cancel_kind kind = cancel_kind::user;
  std::string message{};
  instant at{};
  region_id origin_region{};
  task_id origin_task{};
  std::uint16_t levels = 1;
  bool truncated = false;
};
/// The head and each cause that can be seen, newest first; empty: nobody asked.
using full_reason = std::vector<reason_level>;

struct full_outcome {
  outcome_kind kind = outcome_kind::ok;
  std::optional<std::uint64_t> value{};
  error failure{status::ok, 0};
  full_reason reason{};
  bool overran = false;
  status cleanup_error = status::ok;
  std::string panic{};
};

struct full_witness {
  task_id task{};
  region_id region{};
  std::uint64_t epoch = 0;
  cancel_phase phase = cancel_phase::requested;
  cancel_kind kind = cancel_kind::user;
};

struct request {
  cancel_kind kind = cancel_kind::user;
  std::string_view message{};
};

// ---- what is looked at -------------------------------------------------------------------------------------------

struct task_look {
  task_state state = task_state::created;
  std::optional<lane> queued_in{};
  std::uint64_t polls = 0;
  std::uint64_t epoch = 0;
  cancel_phase phase = cancel_phase::requested;  // Of a task with a reason.
  full_reason reason{};
  std::uint64_t cleanup_polls_left = 0;
  std::uint32_t mask_depth = 0;
  budget left{};
};

struct region_look {
  region_state state = region_state::open;
  std::uint64_t live_tasks = 0;
  std::uint64_t live_regions = 0;
  std::uint64_t reserved = 0;
  std::uint64_t leaked = 0;
  full_reason reason{};
};

struct channel_look {
  channel_state state = channel_state::open;
  std::uint64_t capacity = 0;
  std::uint64_t queued = 0;
  std::uint64_t reserved = 0;
  std::uint64_t waiters = 0;
  std::uint64_t senders = 0;
  bool is_receiver_waiting = false;
  struct {
    std::uint64_t reserved = 0, sent = 0, aborted = 0, received = 0, evicted = 0, discarded = 0;
  } counts{};
};

struct runtime_look {
  instant now{};
  std::uint64_t live_tasks = 0;
  std::uint64_t live_regions = 0;
  std::uint64_t live_timers = 0;
  std::uint64_t fatal_calls = 0;              // Of the fatal hook.
  std::optional<std::uint64_t> violations{};  // That ghost monitors saw; none when they are off.
  governor suggestion = governor::no_preference;
};

struct quiescence_look {
  status first = status::ok;
  std::vector<status> failed{};  // All of them, in the order of the checks.
};

// ---- what comes back from a script -------------------------------------------------------------------------------

enum class poll_answer : std::uint8_t { pending, ready, error };

/// What a poll may do.
class poll_face {
 public:
  [[nodiscard]] virtual status checkpoint() = 0;
  [[nodiscard]] virtual bool is_cancelled() = 0;
  virtual void yield() = 0;
  virtual void take_waker() = 0;
  [[nodiscard]] virtual status consume(std::uint64_t cost) = 0;
  [[nodiscard]] virtual status mask() = 0;
  virtual void unmask() = 0;
  virtual void set_value(std::uint64_t value) = 0;
  virtual void set_error(status code, std::uint64_t detail) = 0;
  virtual void panic(std::string_view text) = 0;
  /// `out`: of the table of cleanup actions.
  [[nodiscard]] virtual status push_cleanup(status (*undo)(void* context), void* context, ref& out) = 0;
  [[nodiscard]] virtual status pop_cleanup(ref cleanup) = 0;

  // would_block: `wait` keeps the place; call again with it, or give it up.
  [[nodiscard]] virtual status reserve(ref sender, ref& wait, ref& permit) = 0;
  [[nodiscard]] virtual status recv(ref receiver, std::uint64_t& value) = 0;
  [[nodiscard]] virtual status sleep(instant until, ref& wait) = 0;
  [[nodiscard]] virtual status join(ref task, ref& wait) = 0;
  [[nodiscard]] virtual status await_closed(ref region, ref& wait) = 0;

 protected:
  ~poll_face() = default;
};

struct task_order {
  poll_answer (*poll)(void* script, poll_face& face) = nullptr;
  void (*drop)(void* script) noexcept = nullptr;  // Once, after the task has ended; not when it was refused.
  void* script = nullptr;
  budget limits{};
  std::uint8_t priority = 128;
  bool is_held = true;
  std::string_view name{};  // For journals and reports; good for the call only.
};

struct region_order {
  budget limits{};
  std::uint32_t max_tasks = UINT32_MAX;
  ref owner = no_ref;
  bool ends_when_empty = false;
  bool fails_fast = false;
  bool is_held = true;
  std::string_view name{};
};

/// What a thing that was made is called in journals; 0 when it has no number there.
struct made {
  ref at = no_ref;
  std::uint64_t id = 0;
};

struct step_look {
  status refused = status::ok;
  bool is_idle = false;
  dispatch_source from = dispatch_source::ready;
  task_id task{};
};

struct run_look {
  status ended = status::ok;
  std::uint64_t steps = 0;
};

class world {
 public:
  world() = default;
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  virtual ~world() = default;

  /// Once, before everything else. Of `settings` all numbers count; memory, clock and hooks are the back end's own.
  [[nodiscard]] virtual status start(const runtime_config& settings, event_sink sink) = 0;
  /// Ends what is left, by force where it must; nothing of it is looked at any more.
  virtual void take_down() = 0;

  // ---- regions
  [[nodiscard]] virtual status open_region(ref in, const region_order& order, made& out) = 0;
  [[nodiscard]] virtual status close(ref region, const request& why) = 0;
  [[nodiscard]] virtual status begin_close(ref region, const request& why) = 0;
  [[nodiscard]] virtual status begin_drain(ref region) = 0;
  [[nodiscard]] virtual status begin_finalize(ref region) = 0;
  [[nodiscard]] virtual status finish_close(ref region) = 0;
  [[nodiscard]] virtual status add_finalizer(ref region, status (*run)(void* context), void* context, bool in_turn) = 0;
  [[nodiscard]] virtual status arena(ref region, std::uint64_t bytes, std::uint64_t alignment) = 0;
  [[nodiscard]] virtual status release_region(ref region) = 0;
  [[nodiscard]] virtual status look_at_region(ref region, region_look& out) = 0;
  [[nodiscard]] virtual status region_outcome(ref region, full_outcome& out) = 0;

  // ---- tasks
  [[nodiscard]] virtual status spawn(ref region, const task_order& order, made& out) = 0;
  [[nodiscard]] virtual status reserve_task(ref region, ref& slot) = 0;
  /// invalid_argument: the slot was committed or abandoned before.
  [[nodiscard]] virtual status commit_task(ref slot, const task_order& order, made& out) = 0;
  [[nodiscard]] virtual status abandon_task(ref slot) = 0;
  [[nodiscard]] virtual status cancel(ref task, const request& why, bool& newly) = 0;
  [[nodiscard]] virtual status complete(ref task, const full_outcome& result) = 0;
  [[nodiscard]] virtual status wake(ref task) = 0;
  [[nodiscard]] virtual status release_task(ref task) = 0;
  [[nodiscard]] virtual status look_at_task(ref task, task_look& out) = 0;
  [[nodiscard]] virtual status task_outcome(ref task, full_outcome& out) = 0;
  [[nodiscard]] virtual status witness(ref task, full_witness& out) = 0;

  // ---- obligations and timers
  [[nodiscard]] virtual status reserve_obligation(ref region, made& out) = 0;
  [[nodiscard]] virtual status commit(ref obligation) = 0;
  [[nodiscard]] virtual status abort(ref obligation) = 0;
  [[nodiscard]] virtual status look_at_obligation(ref obligation, obligation_state& out) = 0;
  [[nodiscard]] virtual status add_timer(ref region, instant at, made& out) = 0;
  [[nodiscard]] virtual bool cancel_timer(ref timer) = 0;

  // ---- channels; a sender is plain or tracked, and so are its permits
  [[nodiscard]] virtual status channel(ref region, std::uint64_t capacity, made& channel, ref& sender,
                                       ref& receiver) = 0;
  [[nodiscard]] virtual status clone(ref sender, ref& out) = 0;
  /// The old one is dead afterwards.
  [[nodiscard]] virtual status track(ref sender, ref& out) = 0;
  virtual void drop_sender(ref sender) = 0;
  virtual void drop_receiver(ref receiver) = 0;
  virtual void drop_permit(ref permit) = 0;
  /// `region`: where the obligation of a tracked permit is made; no_ref in polls.
  [[nodiscard]] virtual status try_reserve(ref sender, ref region, ref& permit) = 0;
  /// `proved`: a proof came out, as it does of tracked permits.
  [[nodiscard]] virtual status send(ref permit, std::uint64_t value, bool& proved) = 0;
  virtual void abort_permit(ref permit, bool& proved) = 0;
  [[nodiscard]] virtual status try_send(ref sender, std::uint64_t value) = 0;
  [[nodiscard]] virtual status send_evicting(ref sender, std::uint64_t value,
                                             std::optional<std::uint64_t>& evicted) = 0;
  [[nodiscard]] virtual status try_recv(ref receiver, std::uint64_t& value) = 0;
  /// Takes back what a poll of recv left behind when it said would_block.
  virtual void stop_recv(ref receiver) = 0;
  [[nodiscard]] virtual bool is_held(ref permit) = 0;
  /// Whatever ends are left; disconnected or stale_handle once its storage is free.
  [[nodiscard]] virtual status look_at_channel(ref channel, channel_look& out) = 0;
  /// In the order in which they went.
  [[nodiscard]] virtual const std::vector<std::uint64_t>& destroyed() const = 0;

  /// Gives up a wait that said would_block; nothing for no_ref.
  virtual void give_up(ref wait) = 0;

  // ---- the whole
  virtual void hold() = 0;
  /// invalid_argument: nobody holds.
  [[nodiscard]] virtual status unhold() = 0;
  [[nodiscard]] virtual status begin_shutdown(const request& why) = 0;
  virtual void set_governor(governor to) = 0;
  [[nodiscard]] virtual status advance(duration by) = 0;
  /// `worker`: empty for the next in turn. invalid_argument when there is no such worker.
  [[nodiscard]] virtual step_look step(std::optional<std::uint32_t> worker) = 0;
  [[nodiscard]] virtual run_look run_until_idle(std::uint64_t max_steps) = 0;
  [[nodiscard]] virtual run_look run_until_quiescent(std::uint64_t max_steps) = 0;
  [[nodiscard]] virtual quiescence_look shutdown(duration grace, std::uint64_t max_steps) = 0;
  [[nodiscard]] virtual quiescence_look quiescence() = 0;
  [[nodiscard]] virtual fairness_certificate certificate() = 0;
  virtual void reset_certificate() = 0;
  [[nodiscard]] virtual runtime_look look() = 0;
  /// Over the canonical state.
  [[nodiscard]] virtual std::uint64_t state_hash() = 0;

  // ---- the journal
  /// Everything that was told is with the sink when this returns.
  virtual void settle_journal() = 0;
  [[nodiscard]] virtual digest128 digest() = 0;
  /// Journals law_checked.
  virtual void note_law(std::uint64_t number, status answer, std::uint64_t hash) = 0;
};

}  // namespace asx::scenario
