// asx/kernel/kernel.hpp - regions, tasks, obligations, cancellation: the only code that moves a state.
//
//     root --+-- region --+-- region --+-- task        a region ends only when everything in it has ended
//            |            +-- task     +-- obligation
//            +-- task
//
// closing a region asks every task below it to cancel, before the call returns, in order of creation.
// R-07        close is driven by the kernel, innermost first; the single steps are for tests.
// R-09        refusals come in a fixed order: stale_handle, region_closed, region_not_open, admission_closed, limits.
// R-14        a close that the cancel queue has no room for is refused before anybody is asked.
// R-19        a task that ends before it observed its cancel keeps its own outcome.
// R-24        a cleanup that overruns its quota is completed by the kernel.
// R-133       a record that nobody holds is free at once when it has ended.
// U-36        every refusal leaves everything as it was, but for an event in the journal.
//
// The kernel runs on whoever steps it (asx/runtime); it reads no clock and makes no thread. It calls user code - polls,
// cleanup actions, finalizers, drops - only after its own state is in order, and each may call it back.
//
// Cancel points: none here; cx::checkpoint is one.
// Threads: one, the one that steps the runtime; any, once a gate is set (asx/kernel/gate.hpp).
// Lifetime: scheduler, wheel, journal and memory outlive it. Everything must have ended before it dies (shutdown).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "asx/base/atomic_word.hpp"
#include "asx/base/block_pool.hpp"
#include "asx/base/config.hpp"
#include "asx/base/intrusive_list.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/slab.hpp"
#include "asx/journal/journal.hpp"
#include "asx/kernel/contract.hpp"
#include "asx/kernel/cx.hpp"
#include "asx/kernel/detail/records.hpp"
#include "asx/kernel/fault.hpp"
#include "asx/kernel/gate.hpp"
#include "asx/kernel/ghost.hpp"
#include "asx/kernel/owned.hpp"
#include "asx/kernel/sites.hpp"
#include "asx/model/witness.hpp"
#include "asx/sched/scheduler.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx {

struct task_spec {
  poll_function poll = nullptr;
  void* context = nullptr;
  void (*drop)(void* context) noexcept = nullptr;  // Called once, after the task has ended; not when spawn is refused.
  budget limits{};                                 // Met with the region's.
  std::uint8_t priority = 128;                     // As its part of `limits`; the higher of the two counts.
  std::string_view name{};                         // Its first 23 bytes are kept.
  bool is_held = false;                            // The handle owns the result: the record stays until release_task.
  next_site sites = nullptr;                       // Where it stands, for lists; null: nobody can say.
};

struct region_spec {
  budget limits{};
  std::uint32_t max_tasks = UINT32_MAX;
  std::string_view name{};
  bool is_held = false;
  void* context = nullptr;
  void (*closed)(void* context, region_handle region) noexcept = nullptr;  // Called once; its result can be read then.
  /// A task whose cancel or end closes this region (R1b), and which ends after it. The region lies below
  /// the owner's, so that whatever cancels the owner from above reaches both.
  task_handle owner{};
  /// Closes by itself when the last child that it had has ended.
  bool ends_when_empty = false;
  /// A child that ends err or panicked closes it, with kind fail_fast; the first one is kept.
  bool fails_fast = false;
  /// Its outcome is the owner's to judge, and is not folded into the region around it.
  bool is_judged_by_owner = false;
  /// And by how its body ends: a panic of another child that nobody asked for is kept as those of the root are.
  bool is_judged_by_body = false;
};

/// Room for one task, taken; commit cannot fail.
class [[nodiscard("a slot must be committed or abandoned")]] task_slot {
 public:
  task_slot() noexcept = default;
  task_slot(const task_slot&) = delete;
  task_slot& operator=(const task_slot&) = delete;
  ~task_slot() { ASX_ASSERT(task_ == nullptr, "a reserved task slot is committed or abandoned before it dies"); }
  /// Nothing is reserved, or it was committed or abandoned.
  [[nodiscard]] bool is_empty() const noexcept { return task_ == nullptr; }

 private:
  friend class extension;
  friend class kernel;
  detail::task_record* task_ = nullptr;
};

/// What a caller says when it cancels or closes. The kernel adds who and when.
struct cancel_request {
  cancel_kind kind = cancel_kind::user;
  std::string_view message{};
};

struct task_report {
  task_id id{};
  task_state state = task_state::created;
  bool is_queued = false;
  lane queued_in = lane::ready;
  std::uint64_t polls = 0;
  std::uint64_t epoch = 0;
  cancel_phase phase = cancel_phase::requested;
  const cancel_reason* reason = nullptr;  // Null while nobody asked for a cancel.
  std::uint64_t cleanup_polls_left = 0;
  std::uint32_t mask_depth = 0;
  budget left{};
};

struct region_report {
  region_id id{};
  region_state state = region_state::open;
  std::uint32_t live_tasks = 0;
  std::uint32_t live_regions = 0;
  std::uint32_t reserved = 0;
  std::uint64_t leaked = 0;
  const cancel_reason* reason = nullptr;
  task_id failed{};  // Of a region that fails fast: the child that made it close.
  error failure{status::ok, 0};
};

/// The five checks of quiescence: the first that fails, and all of them.
struct quiescence_result {
  status first = status::ok;
  std::uint32_t failed = 0;  // Bits: 0 tasks, 1 obligations, 2 regions, 3 timers, 4 channels.
};

/// Where calls from other threads wait until phase 0 takes them in (asx/runtime/inbox.hpp).
struct input_port {
  const atomic_word<void*>* waiting = nullptr;  // Null in there: nothing waits.
  void* context = nullptr;
  void (*take)(void* context) noexcept = nullptr;
};

/// Who wants to know how long cancels take, each from its first request.
struct cancel_watch {
  void* context = nullptr;
  void (*acknowledged)(void* context, duration after) noexcept = nullptr;
  void (*completed)(void* context, duration after) noexcept = nullptr;
};

/// What time it is at each step; null: it stands where set_time has put it.
struct time_source {
  void* context = nullptr;
  instant (*read)(void* context) noexcept = nullptr;
  bool may_be_late = false;  // It need not be read at a step where nobody asks what time it is, and nothing can be due.
};

class ASX_API kernel {
 public:
  kernel(const resource_contract& contract, const kernel_options& options, scheduler& sched, timer_wheel& wheel,
         journal& log, memory_port memory = heap_memory()) noexcept;
  ~kernel();
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;

  /// False when the contract's memory was refused at the start.
  [[nodiscard]] bool ready() const noexcept { return root_ != nullptr; }

  // ---- regions
  [[nodiscard]] region_handle root() const noexcept;
  [[nodiscard]] status create_region(region_handle parent, const region_spec& spec, region_handle& out,
                                     std::source_location site = std::source_location::current()) noexcept;
  /// Asks everything below to cancel and lets the kernel drive the region to closed.
  [[nodiscard]] status close(region_handle region, const cancel_request& why = {}) noexcept;
  /// The single steps; a region that is only stepped is not driven.
  [[nodiscard]] status begin_close(region_handle region, const cancel_request& why = {}) noexcept;
  [[nodiscard]] status begin_drain(region_handle region) noexcept;
  [[nodiscard]] status begin_finalize(region_handle region) noexcept;
  [[nodiscard]] status finish_close(region_handle region) noexcept;
  /// `in_turn`: it runs when the finalizer tasks of those before it have ended, and not with them.
  [[nodiscard]] status add_finalizer(region_handle region, finalizer_function run, void* context,
                                     bool in_turn = false) noexcept;
  /// Memory that is freed when the region closes. region_closed afterwards.
  [[nodiscard]] status arena_allocate(region_handle region, std::size_t bytes, std::size_t alignment,
                                      void*& out) noexcept;
  [[nodiscard]] status inspect(region_handle region, region_report& out) const noexcept;
  /// incomplete_children while it is not closed. What the outcome refers to lives as long as the record.
  [[nodiscard]] status result(region_handle region, task_outcome& out) const noexcept;
  /// ok: it is closed already, and nobody waits. would_block: `w` waits, and its task is woken then.
  [[nodiscard]] status await_closed(region_handle region, cx& c, waiter& w) noexcept;
  status release_region(region_handle region) noexcept;
  /// Things that lie in a region; it must be open.
  [[nodiscard]] status adopt(region_handle region, owned& thing) noexcept;

  // ---- tasks
  [[nodiscard]] status spawn(region_handle region, const task_spec& spec, task_handle& out,
                             std::source_location site = std::source_location::current()) noexcept;
  [[nodiscard]] status reserve_task(region_handle region, task_slot& out) noexcept;
  /// The same in the region of that task, which is being polled.
  [[nodiscard]] status reserve_task(cx& beside, task_slot& out) noexcept;
  task_handle commit(task_slot& slot, const task_spec& spec,
                     std::source_location site = std::source_location::current()) noexcept;
  void abandon(task_slot& slot) noexcept;
  [[nodiscard]] status request_cancel(task_handle task, const cancel_request& why = {}, bool* newly = nullptr) noexcept;
  /// Ends a task from outside: err or panicked from created; err, ok or panicked later. cancelled needs a witness, and
  /// finalizing only ends by itself: invalid_transition.
  [[nodiscard]] status complete(task_handle task, const task_outcome& result) noexcept;
  [[nodiscard]] status inspect(task_handle task, task_report& out) const noexcept;
  [[nodiscard]] status witness(task_handle task, cancel_witness& out) const noexcept;
  /// tasks_still_active while it is live. What the outcome refers to lives as long as the record. Whoever asks has
  /// heard of a failure (unheard).
  [[nodiscard]] status result(task_handle task, task_outcome& out) const noexcept;
  /// There is a result; nobody has heard it by asking this.
  [[nodiscard]] bool has_ended(task_handle task) const noexcept;
  [[nodiscard]] status await_completed(task_handle task, cx& c, waiter& w) noexcept;
  status release_task(task_handle task) noexcept;
  [[nodiscard]] waker waker_of(task_handle task) noexcept;

  // ---- obligations
  [[nodiscard]] status reserve(region_handle region, obligation_handle& out,
                               std::source_location site = std::source_location::current()) noexcept;
  [[nodiscard]] status commit(obligation_handle obligation) noexcept;
  [[nodiscard]] status abort(obligation_handle obligation) noexcept;
  [[nodiscard]] status inspect(obligation_handle obligation, obligation_state& out) const noexcept;

  // ---- timers
  /// Wakes the calling task at `deadline`. region_not_open by R-88; budget_exhausted past the task's own deadline, and
  /// its cancel is requested; else as timer_wheel::register_timer. No cancel point: a wait that is one looks at
  /// the checkpoint first.
  [[nodiscard]] status register_timer(cx& c, instant deadline, slab_key& out) noexcept;
  /// A timer of the region that wakes nobody.
  [[nodiscard]] status register_timer(region_handle region, instant deadline, slab_key& out) noexcept;
  /// False when it fired or was cancelled before.
  bool cancel_timer(slab_key timer) noexcept;

  // ---- the whole
  /// Shuts every gate and closes the root, whatever the cancel queue's limit. A second call strengthens.
  [[nodiscard]] status begin_shutdown(const cancel_request& why = {cancel_kind::shutdown, {}}) noexcept;
  [[nodiscard]] bool is_shutting_down() const noexcept { return is_shutting_down_; }
  /// Nothing is admitted any more, and `why` is what is said: whoever would have run it did not start.
  void refuse_all(status why) noexcept {
    const inside here(gate_);
    is_shutting_down_ = true;
    refuses_with_ = why;
  }
  /// When this task ends otherwise than ok, whatever the way, the root is closed as by begin_shutdown.
  void end_all_with(task_handle first) noexcept;
  /// The first task of the root that ended with err or panicked while nobody held it, or whose handle was dropped
  /// before anybody asked how it ended, among those that were spawned after the one that forget_unheard named; its
  /// number is 0 when there is none. A panic is kept before an err, and kept also where the body of a region decides;
  /// in every other region a failure is its region's. To be read inside where there are threads.
  struct unheard_end {
    task_id task{};
    detail::short_name name;
    outcome_kind kind = outcome_kind::ok;
    error failure{status::ok, 0};
    cause_ref panic_text{};
    std::source_location panic_site;  // Where it said so; where it was spawned, when it threw.
    bool is_where_spawned = false;
  };
  [[nodiscard]] const unheard_end& unheard() const noexcept { return unheard_; }
  /// The limit that refused something last, how much it is, and who had asked; of none, that nothing was refused for a
  /// limit, or last for none that has a name. Memory of 0 is what the machine would not give. It is kept also where
  /// there is no journal. To be read inside where there are threads.
  struct met_limit {
    limit_code limit = limit_code::none;
    std::uint64_t most = 0;
    task_id asked_by{};
  };
  [[nodiscard]] const met_limit& last_met() const noexcept { return last_met_; }
  void forget_unheard(task_handle after) noexcept;
  /// What it said when it panicked.
  [[nodiscard]] std::string_view unheard_text() const noexcept { return causes_.text_of(unheard_.panic_text); }
  [[nodiscard]] quiescence_result check_quiescence() const noexcept;
  /// Marks the task that is polled, or the finalizer that runs, and returns; outside of both it is fatal. Works
  /// in C, in destructors and without exceptions.
  void panic(std::string_view text, std::source_location site = std::source_location::current()) noexcept;
  /// The fatal hook of kernel_options, or the end of the process.
  void fatal(std::string_view text) const noexcept;
  /// Somebody outside may still wake somebody: stall polls wait.
  void take_foreign_hold() noexcept;
  void release_foreign_hold() noexcept;
  /// Over the canonical state: what a refusal must not change.
  [[nodiscard]] std::uint64_t state_hash() const noexcept;
  /// Logical time for calls that come from outside a step. It never goes back.
  void set_time(instant now) noexcept {
    now_ = later(now_, now);
    is_late_ = false;
  }
  [[nodiscard]] instant now() const noexcept {
    if (is_late_) [[unlikely]]
      read_late();
    return now_;
  }
  [[nodiscard]] std::uint64_t live_tasks() const noexcept { return live_tasks_; }
  [[nodiscard]] std::uint64_t live_regions() const noexcept { return live_regions_; }
  [[nodiscard]] std::uint64_t nominal_used() const noexcept { return bytes_; }
  [[nodiscard]] const resource_contract& contract() const noexcept { return contract_; }
  /// True while user code runs under this kernel: a run must not be entered again.
  [[nodiscard]] bool is_inside() const noexcept { return current_ != nullptr || settles_ || is_ending_; }
  /// The monitors: what they saw, and what user code declares to them.
  [[nodiscard]] asx::ghosts& ghosts() noexcept { return ghosts_; }
  [[nodiscard]] const detail::causes& reasons() const noexcept { return causes_; }

  /// The task that is polled right now; absent outside of polls.
  [[nodiscard]] task_id current_task() const noexcept { return current_ == nullptr ? task_id{} : current_->task(); }
  [[nodiscard]] std::uint64_t foreign_holds() const noexcept { return foreign_holds_; }
  [[nodiscard]] std::uint64_t live_timers() const noexcept { return timers_.live(); }

  // ---- what a step asks (asx/runtime/worker_step.hpp)
  [[nodiscard]] instant next_due() noexcept { return earlier(wheel_.next_deadline(), index_.next()); }
  [[nodiscard]] bool may_be_due(instant now) const noexcept {
    return wheel_.quiet_until() <= now || index_.next() <= now;
  }
  std::uint32_t pass_time(std::uint32_t worker, instant now) noexcept;
  /// What arrived from outside, then cancels that found no room are tried again.
  void take_inputs(std::uint32_t worker, instant now) noexcept {
    set_time(now);
    worker_ = worker;
    if (somebody_called()) [[unlikely]]
      outside_.take(outside_.context);
    if (!retries_.empty()) [[unlikely]]
      retry_cancels();
  }
  [[nodiscard]] bool has_deadlines() const noexcept { return wheel_.live() != 0 || !index_.empty(); }
  /// Whether somebody outside has said something that is not taken in yet.
  [[nodiscard]] bool has_calls() const noexcept { return somebody_called(); }
  /// Whether take_inputs would find something: that, or a cancel that waits for room.
  [[nodiscard]] bool has_inputs() const noexcept { return somebody_called() || !retries_.empty(); }
  [[nodiscard]] std::uint64_t queued_by(place& p) noexcept { return static_cast<detail::task_record&>(p).queued_by; }
  void poll(std::uint32_t worker, place& p, dispatch_source from, instant now, std::uint64_t dispatched) noexcept;
  /// Steps of one worker in a row, as long as they are plain: `most` at most, and none once a dispatch was made at or
  /// after `until`. Each takes one of `left` before it is made: other threads take of them, too, while it is out. How
  /// many were made.
  std::uint64_t run_plain(std::uint32_t worker, const time_source& clock, std::uint64_t& left, std::uint64_t most,
                          instant until) noexcept;
  [[nodiscard]] place* take_stalled(std::uint32_t worker, instant now) noexcept;
  [[nodiscard]] pressure weigh() noexcept;

  // ---- several threads (asx/runtime/drive_workers.hpp)
  /// Before the first call of another thread, or after the last.
  void set_gate(const gate_functions& gate) noexcept {
    ASX_ASSERT(live_things_[0] + live_things_[1] == 0, "a gate is set before there is anything to share");
    static_cast<gate_functions&>(gate_) = gate;
    gate_.away = &away_;
    gate_.news = 0;
    if (gate.enter != nullptr) detail::has_gates.store(true, std::memory_order_relaxed);  // Relaxed: as said there.
  }
  [[nodiscard]] const gate_port& gate_in_use() const noexcept { return gate_; }
  /// gate_port::news, for the gate alone.
  [[nodiscard]] std::uint64_t& news() noexcept { return gate_.news; }
  /// This thread's part in what follows; for the gate alone.
  void exchange(standing& with) noexcept {
    std::swap(current_, with.current);
    std::swap(cause_, with.cause);
    std::swap(worker_, with.worker);
    std::swap(in_finalizer_, with.in_finalizer);
    std::swap(has_finalizer_panicked_, with.has_finalizer_panicked);
    std::swap(settles_, with.settles);
    std::swap(is_ending_, with.is_ending);
  }
  /// This thread polls a task, or ends one.
  [[nodiscard]] bool is_polling() const noexcept { return current_ != nullptr; }
  /// How many threads are out with what is the user's - polls, finalizers, drops; 0 where there is no gate.
  [[nodiscard]] std::uint32_t away() const noexcept { return away_; }

  /// Looks there in phase 0 from now on; a `waiting` of null looks nowhere.
  void listen_to(const input_port& outside) noexcept {
    outside_ = outside;
    if (outside_.waiting == nullptr) outside_.waiting = &nothing_waits_;
  }
  void watch_cancels(const cancel_watch& by) noexcept { cancel_watch_ = by; }
  /// Asks there from now on where something is to go wrong (fault.hpp); an empty one: nowhere. Only where somebody
  /// listens: the loop of plain dispatches (run_plain) has no time to ask.
  void set_faults(const fault_port& by) noexcept {
    ASX_ASSERT(by.strikes == nullptr || !is_quiet(), "faults need a journal or ghosts: else most points are not seen");
    faults_ = by;
  }
  [[nodiscard]] void* input_context() const noexcept {
    const inside here(gate_);  // The first foreign handle makes it.
    return outside_.context;
  }

  /// Calls visit(record) for every region from the root on, parents first; for reports.
  template <class Visit>
  void for_each_region(Visit visit) const {
    for (detail::region_record* r = root_; r != nullptr; r = next_in_tree(*root_, *r)) visit(*r);
  }
  /// How a task has ended; for reports.
  [[nodiscard]] task_outcome outcome_of(const detail::task_record& t) const noexcept;
  /// Calls visit(record) for every task that has ended and is held, by slot; for reports.
  template <class Visit>
  void for_each_held_task(Visit visit) const {
    tasks_.for_each([&visit](const detail::task_record& t, slab_key) {
      if (t.state == task_state::completed) visit(t);
    });
  }

 private:
  friend class cx;
  friend class extension;
  friend class waker;
  friend class asx::ghosts;
  using task_record = detail::task_record;
  using region_record = detail::region_record;
  using timer_record = detail::timer_record;
  using obligation_record = detail::obligation_record;

  struct refusal {
    status code = status::ok;
    limit_code limit = limit_code::none;
    std::uint64_t value = 0;
  };

  // journal
  std::uint64_t note(event_kind kind, std::uint64_t subject, std::uint64_t object = 0, std::uint64_t a = 0,
                     std::uint64_t b = 0, std::uint64_t cause = 0, std::uint32_t flags = 0) noexcept {
    if (log_.mode() == journal_mode::off) [[likely]]
      return 0;
    return note_down(kind, subject, object, a, b, cause, flags);
  }
  // A call, so that where nobody listens an event is one branch, and takes no registers from what goes on.
  ASX_OUT_OF_THE_WAY std::uint64_t note_down(event_kind kind, std::uint64_t subject, std::uint64_t object,
                                             std::uint64_t a, std::uint64_t b, std::uint64_t cause,
                                             std::uint32_t flags) noexcept;
  status refuse(event_kind kind, std::uint64_t object, const refusal& why) noexcept;
  /// For a block of memory, whose refusal is no event of its own: whoever asked for it says what it was for.
  std::nullptr_t refuse_block(std::uint64_t nominal) noexcept;
  /// A call from outside every poll and finalizer: a replay must be given it again (U-01). 0 for all others.
  [[nodiscard]] std::uint64_t note_input(event_kind kind, std::uint64_t subject, std::uint64_t object,
                                         std::uint64_t a) noexcept {
    return is_inside() || cause_ != 0 ? 0 : note_outside(kind, subject, object, a);
  }
  [[nodiscard]] std::uint64_t note_outside(event_kind kind, std::uint64_t subject, std::uint64_t object,
                                           std::uint64_t a) noexcept;
  void note_text(type_tag of, std::uint64_t subject, std::string_view text) noexcept;
  status refuse_move(const region_record& r, region_state to) noexcept;
  // Room for what a call says before anything is changed; only trace_overflow::reject ever lacks it. What the
  // user's own code says in between is not known beforehand.
  [[nodiscard]] bool rejects() const noexcept { return contract_.overflow == trace_overflow::reject; }
  [[nodiscard]] bool has_trace(std::uint64_t events) const noexcept { return log_.reserve(events) == status::ok; }
  [[nodiscard]] refusal no_trace() const noexcept {
    return {status::resource_exhausted, limit_code::trace, contract_.max_trace_events};
  }
  [[nodiscard]] static std::uint64_t events_of_end(const region_record& r) noexcept;
  [[nodiscard]] static std::uint64_t events_above(const region_record& r) noexcept;
  [[nodiscard]] std::uint64_t events_below(const region_record& from) const noexcept;
  [[nodiscard]] std::uint64_t events_of_cancel(const task_record& t) const noexcept;
  static constexpr std::uint64_t events_of_spawn = 12;  // Told, named, indexed, queued; born cancelled.
  static constexpr std::uint64_t events_of_delivery = 6;
  [[nodiscard]] std::uint64_t caller() const noexcept { return current_task().value; }

  // lookup
  // A slot that is reserved and not committed is no task yet: no handle to it was given out, but one may be forged.
  [[nodiscard]] task_record* find(task_handle h) const noexcept {
    task_record* const t = h.is(type_tag::task) ? tasks_.find({h.index(), h.generation}) : nullptr;
    return t == nullptr || t->task().absent() ? nullptr : t;
  }
  [[nodiscard]] region_record* find(region_handle h) const noexcept {
    return h.is(type_tag::region) ? regions_.find({h.index(), h.generation}) : nullptr;
  }
  [[nodiscard]] static task_handle handle_of(const task_record& t) noexcept {
    return {t.state, t.index, slab<task_record>::generation_of(t)};
  }
  [[nodiscard]] static region_handle handle_of(const region_record& r) noexcept {
    return {r.state, r.key.index, r.key.generation};
  }

  void read_late() const noexcept;
  /// A task was queued with that worker. Outside of polls it may be anybody who did so.
  void tell_of(std::uint32_t worker) noexcept {
    if (current_ == nullptr || worker != worker_) ++gate_.news;
  }

  // admission
  /// R-09's order behind stale_handle: a state first, then the gate.
  [[nodiscard]] refusal gate(const region_record& r) const noexcept {
    if (r.state != region_state::open) return {status::region_not_open};
    if (is_shutting_down_) return {refuses_with_};
    return {};
  }
  [[nodiscard]] bool is_finalizer_call(const region_record& r) const noexcept;
  [[nodiscard]] bool has_bytes(std::uint64_t bytes) const noexcept {
    return contract_.max_bytes == 0 || bytes_ + bytes <= contract_.max_bytes;
  }
  /// Whether one more is too many. Every count that the contract bounds is asked for here, once for each admission.
  [[nodiscard]] bool is_full(std::uint64_t live, std::uint64_t most) noexcept {
    if (live >= most) [[unlikely]]
      return true;
    return is_struck(fault_point::admission);
  }
  [[nodiscard]] bool is_struck(fault_point what, std::uint64_t polls = 0) noexcept {
    if (faults_.strikes == nullptr) [[likely]]
      return false;
    return strike(what, polls);
  }
  [[nodiscard]] ASX_OUT_OF_THE_WAY bool strike(fault_point what, std::uint64_t polls) noexcept;
  [[nodiscard]] refusal admit_task(const region_record& r) noexcept;
  [[nodiscard]] status reserve_task(region_record& r, task_slot& out) noexcept;

  // tasks
  // Relaxed: only a hint; who takes it in acquires.
  [[nodiscard]] bool somebody_called() const noexcept {
    return outside_.waiting->load(std::memory_order_relaxed) != nullptr;
  }
  [[nodiscard]] bool is_quiet() const noexcept { return log_.mode() == journal_mode::off && !ghosts_.is_on(); }
  void queue_up(task_record& t) noexcept;
  void enqueue(task_record& t, wake_code why, std::uint64_t cause, std::uint64_t by = 0) noexcept;
  ASX_OUT_OF_THE_WAY void enqueue_and_tell(task_record& t, wake_code why, std::uint64_t cause,
                                           std::uint64_t by) noexcept;
  void wake(task_record& t, wake_code why, std::uint64_t cause = 0) noexcept;
  ASX_OUT_OF_THE_WAY void wake_and_tell(task_record& t, wake_code why, std::uint64_t cause) noexcept;
  void wake(slab_key key) noexcept;
  template <bool IsAlone>
  std::uint64_t run_plain_as(std::uint32_t worker, const time_source& clock, std::uint64_t& left, std::uint64_t most,
                             instant until) noexcept;
  void run_dispatch(task_record& t) noexcept;
  [[nodiscard]] bool prepare_poll(task_record& t) noexcept;
  static void begin_poll(task_record& t) noexcept;
  /// What its poll says; an exception has made it panic. `IsAlone`: there is no gate.
  template <bool IsAlone>
  [[nodiscard]] poll_result say(task_record& t) noexcept;
  ASX_OUT_OF_THE_WAY void panic_with_exception(task_record& t) noexcept;
  void after_poll(task_record& t, poll_result said) noexcept;
  void panic(task_record& t, std::string_view text, const std::source_location& site) noexcept;
  void panic(region_record& r, std::string_view text, const std::source_location& site) noexcept;
  void keep_panic(task_record& t, std::string_view text, const std::source_location& site) noexcept;
  [[nodiscard]] static bool has_cleanups(const task_record& t) noexcept {
    return t.in_hand != nullptr || !t.cleanups.empty();
  }
  [[nodiscard]] const char* unwind(task_record& t, bool is_leak) noexcept;
  static void stack_in_hand(task_record& t) noexcept;
  [[nodiscard]] static cleanup_hook* top_of(task_record& t) noexcept;
  static void push_hook(task_record& t, cleanup_hook& hook) noexcept;
  static void release_hook(cleanup_hook& hook) noexcept;
  void end(task_record& t, task_trigger on, detail::task_end result, std::uint32_t flags = 0) noexcept;
  void leave(task_record& t, task_trigger on, const detail::task_end& result, std::uint32_t flags) noexcept;
  void force_complete(task_record& t) noexcept;
  void release_if_done(task_record& t) noexcept;
  [[nodiscard]] bool is_shared() const noexcept { return may_have_gates() && gate_.enter != nullptr; }
  /// It has ended, and user code of its end still runs on another thread: nobody has been told yet.
  template <class Record>
  [[nodiscard]] bool is_going(const Record& ended) const noexcept {
    return is_shared() && ended.pins != 0;
  }
  /// The number of its event; 0 when it was in the index no more.
  std::uint64_t drop_deadline(task_record& t, event_kind why) noexcept;
  void cancel_timers(intrusive_list<timer_record, detail::timer_owner_tag>& timers) noexcept;

  // cancellation
  [[nodiscard]] cancel_reason reason_from(const cancel_request& why, const region_record& origin) const noexcept;
  [[nodiscard]] cancel_reason reason_of_close(const cancel_request& why, const region_record& closing) const noexcept;
  /// `shared`: who was told the same before, and from now on this one.
  void deliver(task_record& t, const cancel_reason& reason, std::uint32_t flags, std::uint64_t cause,
               detail::reason_slot** shared = nullptr) noexcept;
  /// Its reason at an address that stays, whoever else was told the same.
  [[nodiscard]] const cancel_reason* own_reason(task_record& t) const noexcept;
  ASX_OUT_OF_THE_WAY std::uint64_t tell_delivery(task_record& t, std::uint32_t flags, std::uint64_t cause) noexcept;
  void strengthen_task(task_record& t, const cancel_reason& reason, std::uint32_t flags, std::uint64_t cause) noexcept;
  [[nodiscard]] bool raise(task_record& t, cancel_kind kind, bool is_retry = false) noexcept;
  void request_admitted(task_record& t, const cancel_request& why) noexcept;
  [[nodiscard]] static bool may_be_struck(const task_record& t) noexcept {
    return !t.is_asked() && !t.is_finalizer && !t.is_leaving &&
           (t.state == task_state::created || t.state == task_state::running);
  }
  ASX_OUT_OF_THE_WAY void strike_in_poll(task_record& t) noexcept;
  ASX_OUT_OF_THE_WAY void strike_before_poll(task_record& t) noexcept;
  ASX_OUT_OF_THE_WAY void strike_behind_poll() noexcept;
  [[nodiscard]] std::uint64_t entries_for(const task_record& t) const noexcept;
  [[nodiscard]] bool has_entries(std::uint64_t wanted) const noexcept {  // Who is cancelled already needs none.
    return wanted == 0 || cancel_entries_ + reserved_cancels_ + wanted <= contract_.max_cancel_queue;
  }
  [[nodiscard]] bool has_entries_for(const task_record& t) const noexcept;
  /// The same, as an admission.
  [[nodiscard]] bool admits_cancel(const task_record& t) noexcept {
    return has_entries_for(t) && (t.is_asked() || !is_struck(fault_point::admission));
  }
  void acknowledge(task_record& t, bool is_forced) noexcept;
  [[nodiscard]] status checkpoint(task_record& t) noexcept;
  void keep_unheard(const detail::task_record& t) noexcept;
  void tell_failure(detail::task_record& t, std::uint64_t ended) noexcept;
  void retry_cancels() noexcept;
  [[nodiscard]] std::uint64_t unobserved_limit(const task_record& t) const noexcept;
  void start_answering(task_record& t) noexcept;
  void stop_answering(task_record& t) noexcept;
  void cancel_owned_regions(task_record& t, std::uint64_t cause) noexcept;

  // regions
  [[nodiscard]] status close_with(region_handle region, const cancel_request& why, bool is_driven) noexcept;
  void propagate(region_record& from, const cancel_reason& reason, region_trigger on, bool is_driven,
                 std::uint64_t cause) noexcept;
  void mark(region_record& r, const cancel_reason& reason, region_trigger on, bool is_driven,
            std::uint64_t cause) noexcept;
  void set_reason(region_record& r, const cancel_reason& reason) noexcept;
  [[nodiscard]] std::uint64_t uncancelled_below(const region_record& from) const noexcept;
  [[nodiscard]] static region_record* next_in_tree(const region_record& root, const region_record& r) noexcept;
  void move(region_record& r, region_trigger on, std::uint64_t a, std::uint64_t b = 0,
            std::uint64_t cause = 0) noexcept;
  /// It may have to move on.
  void look_at(region_record& r) noexcept {
    if (r.state != region_state::open || r.ends_when_empty) look_closer(r);
  }
  void look_closer(region_record& r) noexcept;
  void settle() noexcept {
    if (!pending_.empty()) [[unlikely]]
      settle_pending();
  }
  void settle_pending() noexcept;
  void evaluate_pending() noexcept;
  void evaluate(region_record& r) noexcept;
  void run_finalizers(region_record& r) noexcept;
  [[nodiscard]] status try_close(region_record& r) noexcept;
  [[nodiscard]] static bool outweighs_fold(const region_record& r, outcome_kind kind, bool has_value,
                                           const cancel_reason* reason, std::uint64_t from) noexcept;
  void fold(region_record& r, const task_outcome& result, std::uint64_t from) noexcept;
  void fold(region_record& r, const task_record& t) noexcept {
    // An ok that says nothing outweighs nothing.
    if (t.result.kind != outcome_kind::ok || t.result.has_value) fold_heavier(r, t);
  }
  void fold_heavier(region_record& r, const task_record& t) noexcept;
  void fail_fast(region_record& r, const task_record& t, std::uint64_t cause) noexcept;
  void release_if_done(region_record& r) noexcept;
  void free_arena(region_record& r) noexcept;
  void serve(wait_queue& waiting, wake_code why, event_kind told, std::uint64_t subject) noexcept;
  /// True when it entered anew.
  bool wait_in(wait_queue& queue, waiter& w, task_record& t, wait_code what, std::uint64_t object,
               std::uint64_t id) noexcept {
    const bool is_new = stand_in(queue, w, t, what, object, id);
    note(event_kind::task_waits, t.task().value, object, pack(static_cast<std::uint64_t>(what), w.id_));
    return is_new;
  }
  /// The same, and nobody is told.
  ASX_ALWAYS_INLINE bool stand_in(wait_queue& queue, waiter& w, task_record& t, wait_code what, std::uint64_t object,
                                  std::uint64_t id) noexcept {
    ASX_ASSERT(t.region->owner_kernel == this, "a task waits only for what is of its own runtime");
    t.waits_for = static_cast<std::uint8_t>(what);
    t.waits_on = object;
    // An order knows when somebody came in, so that a waiter's own look is an entry there.
    if (w.is_waiting() || may_have_orders()) [[unlikely]]
      return queue.enter(w, t, *this, id);
    queue.enter_anew(w, t, *this, id);
    return true;
  }
  [[nodiscard]] refusal try_reserve(region_handle region, obligation_handle& out,
                                    const std::source_location& site) noexcept;
  void resolve(obligation_record& o, obligation_state to, event_kind kind) noexcept;
  void note_site(const obligation_record& o) noexcept;
  [[nodiscard]] status settle_obligation(obligation_handle h, obligation_state to) noexcept;
  [[nodiscard]] status add_timer(task_record* t, region_record& r, instant deadline, slab_key& out) noexcept;
  void remove_timer(timer_record& timer) noexcept;

  resource_contract contract_;
  kernel_options options_;
  scheduler& sched_;
  timer_wheel& wheel_;
  journal& log_;
  memory_port memory_;

  const atomic_word<void*> nothing_waits_{nullptr};
  input_port outside_{&nothing_waits_, nullptr, nullptr};
  cancel_watch cancel_watch_{};
  fault_port faults_{};
  task_handle polled_last_{};  // While there are faults: who may be struck behind its poll.
  gate_port gate_{};
  std::uint32_t away_ = 0;
  mutable instant now_{};
  // It is later than that: whoever wants to know it reads the clock. No dispatch begins so while anybody has a
  // deadline.
  mutable bool is_late_ = false;
  time_source late_{};
  std::uint32_t worker_ = 0;               // Who steps; 0 between steps.
  std::uint64_t cause_ = 0;                // The event that what happens now follows from.
  task_record* current_ = nullptr;         // Being polled.
  region_record* in_finalizer_ = nullptr;  // Whose finalizer runs.
  bool has_finalizer_panicked_ = false;
  bool is_settling_ = false;  // Somebody looks at regions,
  bool settles_ = false;      // and it is this thread.
  bool is_ending_ = false;    // A call from outside ends something, and runs what that set off.
  bool is_shutting_down_ = false;
  bool ignores_timers_ = false;  // Everything was told to shut down: nobody waits for a timer.
  status refuses_with_ = status::admission_closed;  // When it is shutting down.

  slab<task_record> tasks_;
  slab<region_record> regions_;
  slab<timer_record> timers_;
  slab<detail::cleanup_node> cleanups_;
  slab<detail::finalizer_node> finalizers_;
  detail::obligation_table obligations_;
  detail::thing_table cells_;      // Channels and other primitives,
  block_pool blocks_;              // and what else they need.
  mutable detail::causes causes_;  // Giving a task its own copy of a reason is nothing that can be seen.
  mutable detail::reason_pool reasons_;
  detail::deadline_index index_;
  region_record* root_ = nullptr;

  intrusive_list<region_record, detail::pending_tag> pending_;  // To be looked at, innermost first.
  intrusive_list<task_record, detail::retry_tag> retries_;    // Cancels of the kernel's own that found no room.
  intrusive_list<task_record, detail::stall_tag> answering_;  // Cancelled or finalizer tasks: R-132 polls these.
  std::uint64_t last_stalled_ = 0;                            // Creation number, within a round.
  task_record* stall_cursor_ = nullptr;                       // Where the next search begins; null: at the front.
  bool is_answering_sorted_ = true;

  std::uint64_t next_task_ = 0;
  std::uint64_t next_region_ = 0;
  std::uint64_t next_obligation_ = 0;
  std::uint64_t next_timer_seq_ = 0;
  std::array<std::uint64_t, 2> next_thing_{};  // By family,
  std::array<std::uint64_t, 2> live_things_{};
  std::uint32_t admitted_ = 0;  // Tasks that lanes, index and reasons have room for, as far as it was asked.
  std::uint64_t live_tasks_ = 0;
  std::uint64_t live_regions_ = 0;
  std::uint64_t cancel_entries_ = 0;
  std::uint64_t reserved_cancels_ = 0;  // For slots that were reserved before their region began to close.
  std::uint64_t reserved_obligations_ = 0;
  std::uint64_t closing_regions_ = 0;
  std::uint64_t missed_deadlines_ = 0;
  unheard_end unheard_;
  met_limit last_met_;
  task_id unheard_after_{};
  task_id first_{};            // Whose failure ends all.
  next_site sites_ = nullptr;  // Of every task that can tell where it stands.
  std::uint64_t foreign_holds_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t inputs_ = 0;

  asx::ghosts ghosts_;
};

inline inside::inside(const kernel& k) noexcept : inside(k.gate_in_use()) {}
/// Null when one thread has it for itself.
[[nodiscard]] inline const gate_port* gate_of(const kernel& k) noexcept {
  return !may_have_gates() || k.gate_in_use().enter == nullptr ? nullptr : &k.gate_in_use();
}

}  // namespace asx
