// Tasks: admission, ends, and what can be seen of them.
#include <string_view>
#include <utility>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::region_record;
using detail::task_record;

// ---- admission ----------------------------------------------------------------------------------------------------

// A finalizer of the region, or one of its finalizer tasks, is calling.
bool kernel::is_finalizer_call(const region_record& r) const noexcept {
  if (r.state != region_state::finalizing) return false;
  if (in_finalizer_ == &r) return true;
  return current_ != nullptr && current_->is_finalizer && current_->region == &r;
}

kernel::refusal kernel::admit_task(const region_record& r) noexcept {
  if (!is_finalizer_call(r)) {
    if (const refusal shut = gate(r); shut.code != status::ok) return shut;
  }
  constexpr status full = status::resource_exhausted;
  const std::uint32_t region_limit =
      r.max_tasks < contract_.max_tasks_per_region ? r.max_tasks : contract_.max_tasks_per_region;
  if (r.live_tasks >= region_limit) return {full, limit_code::region_tasks, region_limit};
  if (is_full(tasks_.live(), contract_.max_tasks)) return {full, limit_code::tasks, contract_.max_tasks};
  if (live_tasks_ >= contract_.max_ready_queue) return {full, limit_code::ready_queue, contract_.max_ready_queue};
  if (!has_bytes(nominal_bytes::task)) return {full, limit_code::memory, contract_.max_bytes};
  if (!has_trace(events_of_spawn)) return no_trace();
  const std::uint32_t more = tasks_.live() + 1;
  if (more > admitted_) [[unlikely]] {  // None of the three gives room back.
    if (sched_.admit(more) != status::ok || !index_.admit(more) || !reasons_.admit(more)) {
      return {full, limit_code::memory, 0};
    }
    admitted_ = more;
  }
  return {};
}

status kernel::reserve_task(region_handle region, task_slot& out) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return refuse(event_kind::refused_spawn, 0, {status::stale_handle});
  return reserve_task(*r, out);
}
status kernel::reserve_task(cx& beside, task_slot& out) noexcept {
  const inside here(gate_);
  return reserve_task(*beside.task_->region, out);
}

status kernel::reserve_task(region_record& r, task_slot& out) noexcept {
  ASX_ASSERT(out.task_ == nullptr, "a slot holds one task");
  const refusal why = admit_task(r);
  if (why.code != status::ok) return refuse(event_kind::refused_spawn, r.id.value, why);
  const slab_entry<task_record> made = tasks_.allocate();
  if (!made) return refuse(event_kind::refused_spawn, r.id.value, {status::resource_exhausted, limit_code::memory, 0});
  made.record->index = made.key.index;
  made.record->region = &r;
  made.record->region_number = r.id;
  made.record->is_finalizer = r.state == region_state::finalizing;
  ++r.live_tasks;
  ++r.reserved_slots;
  ++live_tasks_;
  bytes_ += nominal_bytes::task;
  out.task_ = made.record;
  return status::ok;
}

task_handle kernel::commit(task_slot& slot, const task_spec& spec, std::source_location site) noexcept {
  const inside here(gate_);
  ASX_ASSERT(slot.task_ != nullptr && spec.poll != nullptr, "a slot is committed once, with something to poll");
  task_record& t = *slot.task_;
  slot.task_ = nullptr;
  region_record& r = *t.region;
  --r.reserved_slots;
  if (r.state != region_state::open && !t.is_finalizer) --reserved_cancels_;
  r.had_child = true;
  t.rename(task_id{++next_task_});
  t.poll = spec.poll;
  t.context = spec.context;
  t.drop = spec.drop;
  budget asked_for = spec.limits;
  if (asked_for.priority < spec.priority) asked_for.priority = spec.priority;
  t.left = t.is_finalizer ? meet(asked_for, cleanup_budget(r.reason.get().kind)) : meet(r.limits, asked_for);
  t.granted_polls = t.left.poll_quota;
  t.granted_cost = t.left.cost_quota;
  if (!spec.name.empty()) t.name = detail::short_name(spec.name);
  t.site = site;
  t.is_held = spec.is_held;
  if (spec.sites != nullptr) {
    t.tells_sites = true;
    sites_ = spec.sites;
  }
  t.child_seq = ++r.next_child;
  t.spawned_at = now();
  t.home = static_cast<std::uint16_t>(worker_);
  r.tasks.push_back(t);
  const bool has_deadline = !t.left.deadline.is_none();
  const std::uint64_t asked = note_input(event_kind::input_spawn, t.task().value, r.id.value, 0);
  const std::uint64_t spawned =
      note(event_kind::task_spawned, t.task().value, r.id.value, caller(), pack(t.left.priority, has_deadline ? 1 : 0),
           asked, t.is_finalizer ? event_flags::finalizer : 0);
  if (!spec.name.empty() && log_.mode() == journal_mode::full) {
    log_.append_text(text_code::name, type_tag::task, t.task().value, t.name.view(), now().ns);
  }
  if (has_deadline) {
    index_.enter(t, t.left.deadline, t.task().value);
    note(event_kind::deadline_indexed, t.task().value, r.id.value, t.left.deadline.ns, 0, spawned);
  }
  if (t.is_finalizer) start_answering(t);
  enqueue(t, wake_code::spawn, spawned);
  const task_handle out = handle_of(t);
  // The region began to close between the two stages: the task is born cancelled, like its siblings.
  if (r.state != region_state::open && !t.is_finalizer) {
    deliver(t, hop(r.reason.get(), r.kept, causes_, r.id, now()), event_flags::passed_on, spawned);
  }
  return out;
}

void kernel::abandon(task_slot& slot) noexcept {
  const inside here(gate_);
  if (slot.task_ == nullptr) return;
  task_record& t = *slot.task_;
  slot.task_ = nullptr;
  region_record& r = *t.region;
  --r.reserved_slots;
  if (r.state != region_state::open && !t.is_finalizer) --reserved_cancels_;
  --r.live_tasks;
  --live_tasks_;
  bytes_ -= nominal_bytes::task;
  tasks_.release(t, t.index);
  look_at(r);
  settle();
}

status kernel::spawn(region_handle region, const task_spec& spec, task_handle& out,
                     std::source_location site) noexcept {
  const inside here(gate_);
  if (spec.poll == nullptr) return refuse(event_kind::refused_spawn, 0, {status::invalid_argument});
  task_slot slot;
  const status s = reserve_task(region, slot);
  if (s == status::ok) out = commit(slot, spec, site);
  return s;
}

// ---- the end ------------------------------------------------------------------------------------------------------

// What an action takes or pushes is unwound as well. Gives the panic of a promise that was forgotten, or null.
const char* kernel::unwind(task_record& t, bool is_leak) noexcept {
  t.is_ending = true;
  const char* forgotten = nullptr;
  while (top_of(t) != nullptr) {  // asx: bounded by max_cleanup_per_task and the capacities of channels
    cleanup_hook& top = *top_of(t);
    if (top.ops != nullptr) {
      if (is_leak && forgotten == nullptr) forgotten = top.ops->leak_panic;
      release_hook(top);
      top.ops->undo(top, *this, is_leak);
      continue;
    }
    auto& node = static_cast<detail::cleanup_node&>(top);
    const cleanup_function undo = node.undo;
    void* const context = node.context;
    static_cast<list_hook<cleanup_tag>&>(node).unlink();
    cleanups_.release(node.key);
    bytes_ -= nominal_bytes::cleanup;
    const std::uint32_t depth = t.cleanup_depth--;
    status s = status::ok;
#if defined(__cpp_exceptions)
    try {
      const outside open(gate_);
      s = undo(context);
    } catch (...) {
      s = status::invalid_argument;
    }
#else
    {
      const outside open(gate_);
      s = undo(context);
    }
#endif
    if (s == status::ok) {
      note(event_kind::cleanup_ran, t.task().value, 0, depth);
    } else {
      note(event_kind::cleanup_failed, t.task().value, 0, depth, static_cast<std::uint64_t>(s));
    }
  }
  t.is_ending = false;
  return forgotten;
}

// What is in hand goes onto the stack proper, because something follows it or the stack is looked at.
void kernel::stack_in_hand(task_record& t) noexcept {
  if (t.in_hand == nullptr) return;
  t.cleanups.push_front(*std::exchange(t.in_hand, nullptr));
  ++t.held;
}

cleanup_hook* kernel::top_of(task_record& t) noexcept {
  stack_in_hand(t);
  return t.cleanups.front();
}

void kernel::push_hook(task_record& t, cleanup_hook& hook) noexcept {
  stack_in_hand(t);
  hook.task = &t;
  t.cleanups.push_front(hook);
  ++t.held;
}

void kernel::release_hook(cleanup_hook& hook) noexcept {
  static_cast<list_hook<cleanup_tag>&>(hook).unlink();
  --hook.task->held;
  hook.task = nullptr;
}

std::uint64_t kernel::drop_deadline(task_record& t, event_kind why) noexcept {
  if (t.left.deadline.is_none() || t.index_place == detail::deadline_index::nowhere) return 0;
  index_.leave(t);
  return note(why, t.task().value, t.region->id.value, t.left.deadline.ns);
}

void kernel::end(task_record& t, task_trigger on, detail::task_end result, std::uint32_t flags) noexcept {
  if (!t.owned_regions.empty()) return leave(t, on, result, flags);
  ++t.pins;
  const auto take_out = [&] {
    if (sched_.remove(t)) note(event_kind::task_dequeued, t.task().value, t.region->id.value, 0, t.insertion_seq());
  };
  if (is_shared()) [[unlikely]] {
    t.is_polled = true;  // Its actions run outside: whoever cancels it meanwhile must not queue it,
    take_out();          // and nobody may dispatch it.
  }
  t.is_unwinding = true;
  // nobody but the task itself made it forget what it promised.
  const char* const forgotten = has_cleanups(t) ? unwind(t, result.kind <= outcome_kind::err) : nullptr;
  t.is_ending = true;
  if (forgotten != nullptr) {
    panic(t, forgotten, t.site);
    result = detail::task_end::panicked();
  }
  if (!t.timers.empty()) cancel_timers(t.timers);
  while (waiter* const w = t.waits.front()) w->leave(leave_code::dropped);
  if (!t.left.deadline.is_none()) drop_deadline(t, event_kind::deadline_dropped);
  take_out();
  if (static_cast<list_hook<detail::retry_tag>&>(t).linked()) static_cast<list_hook<detail::retry_tag>&>(t).unlink();
  stop_answering(t);
  const auto* const row = task_lifecycle.find(t.state, on);
  ASX_ASSERT(row != nullptr && row->to == task_state::completed, "a task ends along a row of its table (R-17)");
  const auto number = static_cast<std::uint16_t>(row - &task_lifecycle.rows()[0]);
  t.state = task_state::completed;
  if (t.is_asked()) {
    t.phase = cancel_phase::completed;
    --cancel_entries_;
    if (cancel_watch_.completed != nullptr) cancel_watch_.completed(cancel_watch_.context, now() - t.asked_at);
  }
  t.result = result;
  region_record& r = *t.region;
  std::uint64_t told = 0;
  if (result.kind == outcome_kind::err) told = pack(static_cast<std::uint64_t>(result.code), result.word);
  const std::uint64_t ended =
      note(static_cast<event_kind>(static_cast<std::uint16_t>(event_kind::task_started) + number), t.task().value,
           r.id.value, pack(static_cast<std::uint64_t>(result.kind), result.has_overrun ? 1 : 0), told, 0,
           flags | (t.is_finalizer ? event_flags::finalizer : 0));
  t.queued_by = ended;  // Nothing queues it any more: what follows from its end is told by this.
  const bool has_failed_cleanup = result.kind == outcome_kind::cancelled && result.code != status::ok;
  if (has_failed_cleanup && faults_.hears_failed_cleanup != nullptr) [[unlikely]] {
    const error why{result.code, result.word};
    faults_.hears_failed_cleanup(faults_.context, t.task(), t.name.view(), why, ended);
  }
  static_cast<list_hook<detail::region_tasks_tag>&>(t).unlink();
  // What is dropped may call back, and even close the region. Where others may come in meanwhile, nobody is told of an
  // end before what ended with it is gone: it may point into the frame of whoever waits. Alone, nobody runs
  // before it is.
  if (is_shared() && t.drop != nullptr) [[unlikely]] {
    ++r.pins;
    {
      const outside open(gate_);
      t.drop(t.context);
    }
    --r.pins;
  }
  --r.live_tasks;
  --live_tasks_;
  fold(r, t);
  ghosts_.ended(t);
  const std::uint64_t before = std::exchange(cause_, ended);
  if (!t.joiners.empty()) serve(t.joiners, wake_code::joined, event_kind::task_joined, t.task().value);
  if (r.fails_fast && (result.kind == outcome_kind::err || result.kind == outcome_kind::panicked)) {
    fail_fast(r, t, ended);
  }
  if (result.kind != outcome_kind::ok && (&r == root_ || r.is_judged_by_body)) tell_failure(t, ended);
  cause_ = before;
  look_at(r);
  if (!is_shared() && t.drop != nullptr) {
    ++r.pins;
    t.drop(t.context);
    --r.pins;
    if (r.state == region_state::closed) release_if_done(r);
  }
  --t.pins;
  release_if_done(t);
}

// A task did not end ok where nobody but the program itself can hear of it, or whoever holds its handle: in the root,
// and where the body decides, to which an err of another is an answer, and a panic is none.
void kernel::tell_failure(task_record& t, std::uint64_t ended) noexcept {
  const bool is_panic = t.result.kind == outcome_kind::panicked;
  const bool has_failed = is_panic || (t.region == root_ && t.result.kind == outcome_kind::err);
  const bool is_explained =
      faults_.explains != nullptr && faults_.explains(faults_.context, t.result.kind, t.result.code);
  if (has_failed && !is_explained && unheard_after_ < t.task()) {
    if (t.is_held) {
      t.is_unheard = true;
    } else {
      keep_unheard(t);
    }
  }
  if (t.task() != first_ || root_->state == region_state::closed) return;
  is_shutting_down_ = true;
  const cancel_request why{cancel_kind::fail_fast, "the first task of the program failed"};
  propagate(*root_, reason_of_close(why, *root_), region_trigger::begin_close, true, ended);
}

// The first one, but a panic before an err.
void kernel::keep_unheard(const task_record& t) noexcept {
  const bool is_panic = t.result.kind == outcome_kind::panicked;
  const bool is_worse = is_panic && unheard_.kind == outcome_kind::err;
  if (unheard_.task.value != 0 && !is_worse) return;
  unheard_ = {t.task(), t.name, t.result.kind, {t.result.code, t.result.word}, {}, {}};
  if (is_panic) {
    unheard_.panic_site = t.panic_site;
    unheard_.is_where_spawned = t.panic_site.line() == t.site.line() && t.panic_site.file_name() == t.site.file_name();
  }
  if (!t.has_panic_text || causes_.find(t.panic_text) == nullptr) return;
  causes_.retain(t.panic_text);
  unheard_.panic_text = t.panic_text;
}

void kernel::forget_unheard(task_handle after) noexcept {
  const inside here(gate_);
  causes_.release(unheard_.panic_text);
  unheard_ = {};
  if (const task_record* const t = find(after); t != nullptr) unheard_after_ = t->task();
}

void kernel::end_all_with(task_handle first) noexcept {
  const inside here(gate_);
  if (const task_record* const t = find(first); t != nullptr) first_ = t->task();
}

// children of the regions that a task owns may point into its frame, so it ends after them. It is asked nothing
// more; the last region that closes queues it.
void kernel::leave(task_record& t, task_trigger on, const detail::task_end& result, std::uint32_t flags) noexcept {
  t.is_leaving = true;
  t.is_polled = false;
  t.result = result;
  t.last_trigger = on;
  t.last_flags = static_cast<std::uint8_t>(flags);
  if (sched_.remove(t)) note(event_kind::task_dequeued, t.task().value, t.region->id.value, 0, t.insertion_seq());
  while (waiter* const w = t.waits.front()) w->leave(leave_code::dropped);  // It comes back to none of them.
  const cancel_kind kind = t.has_overrun ? cancel_kind::shutdown : cancel_kind::parent_cancelled;
  for (region_record* r = t.owned_regions.front(); r != nullptr; r = t.owned_regions.after(*r)) {
    note(event_kind::cleanup_overrun, t.task().value, r->id.value);
    propagate(*r, reason_of_close({kind, {}}, *r), region_trigger::parent_cancel, true, 0);
  }
}

// the quota is spent.
void kernel::force_complete(task_record& t) noexcept {
  t.has_overrun = true;
  if (t.mask_depth != 0) {
    t.mask_depth = 0;
    note(event_kind::mask_left, t.task().value, t.region->id.value, 0, 1);
  }
  const std::uint64_t forced =
      note(event_kind::task_force_completed, t.task().value, t.region->id.value,
           static_cast<std::uint64_t>(t.reason().kind), t.cleanup_used, 0, event_flags::forced);
  const std::uint64_t before = std::exchange(cause_, forced);
  end(t, task_trigger::complete, detail::task_end::cancelled(true), event_flags::forced);
  cause_ = before;
}

void kernel::release_if_done(task_record& t) noexcept {
  if (t.state != task_state::completed || t.is_held || t.pins != 0) return;
  note(event_kind::task_released, t.task().value, t.region_number.value);
  if (t.is_asked()) reasons_.release(*t.why, causes_);
  if (t.has_panic_text) causes_.release(t.panic_text);
  bytes_ -= nominal_bytes::task;
  tasks_.release(t, t.index);
}

status kernel::release_task(task_handle task) noexcept {
  const inside here(gate_);
  task_record* const t = find(task);
  if (t == nullptr) return status::stale_handle;
  if (!t->is_held) return status::invalid_argument;
  t->is_held = false;
  if (t->is_unheard) keep_unheard(*t);
  release_if_done(*t);
  return status::ok;
}

status kernel::complete(task_handle task, const task_outcome& result) noexcept {
  const inside here(gate_);
  constexpr auto kind = event_kind::refused_other;
  task_record* const t = find(task);
  if (t == nullptr) return refuse(kind, 0, {status::stale_handle});
  const bool is_forged = result.is_cancelled() && !t->is_asked();
  const bool is_early_ok = t->state == task_state::created && !result.is_err() && !result.is_panicked();
  if (is_forged || is_early_ok || t->is_ending || t->is_leaving ||
      task_lifecycle.find(t->state, task_trigger::complete) == nullptr) {
    static_cast<void>(ghosts_.refused_end(*t));
    return refuse(kind, t->task().value, {status::invalid_transition});
  }
  if (t == current_ || t->is_polled) return refuse(kind, t->task().value, {status::reentrant});
  if (rejects()) {
    std::uint64_t events = 8 + t->cleanup_depth + t->registrations + events_of_cancel(*t) + events_above(*t->region);
    events += 2 * std::uint64_t{t->joiners.size()} + 2 * std::uint64_t{t->held} + 2;
    if (!has_trace(events)) return refuse(kind, t->task().value, no_trace());
  }
  detail::task_end own;
  switch (result.kind()) {
    case outcome_kind::ok: own = result.has_value() ? detail::task_end::ok(result.value()) : own; break;
    case outcome_kind::err: own = detail::task_end::err(result.error()); break;
    case outcome_kind::cancelled: {
      const cancellation& how = result.cancelled_by();
      own = detail::task_end::cancelled(how.cleanup_budget_exceeded, {how.cleanup_error, how.cleanup_detail});
      break;
    }
    case outcome_kind::panicked:
      own = detail::task_end::panicked();
      keep_panic(*t, result.panic().text, t->site);
      break;
  }
  const bool joins = t->state == task_state::cancelling && !result.is_panicked();
  const bool before = std::exchange(is_ending_, true);
  end(*t, task_trigger::complete, joins ? detail::task_end::cancelled() : own);
  is_ending_ = before;
  settle();
  return status::ok;
}

task_outcome kernel::outcome_of(const task_record& t) const noexcept {
  const inside here(gate_);
  const detail::task_end& e = t.result;
  switch (e.kind) {
    case outcome_kind::ok: return e.has_value ? task_outcome::ok(e.word) : task_outcome::ok();
    case outcome_kind::err: return task_outcome::err({e.code, e.word});
    case outcome_kind::cancelled: return task_outcome::cancelled({t.reason(), e.has_overrun, e.code, e.word});
    case outcome_kind::panicked: break;
  }
  return task_outcome::panicked({causes_.text_of(t.panic_text), t.panic_site.file_name(), t.panic_site.line()});
}

// ---- looking ------------------------------------------------------------------------------------------------------

status kernel::inspect(task_handle task, task_report& out) const noexcept {
  const inside here(gate_);
  task_record* const t = find(task);
  if (t == nullptr) return status::stale_handle;
  out = {t->task(),      t->state,       t->is_queued(),
         t->queued_in(), t->polls,       t->epoch(),
         t->phase,       own_reason(*t), t->is_asked() ? t->cleanup_polls : unlimited,
         t->mask_depth,  t->left};
  return status::ok;
}

status kernel::witness(task_handle task, cancel_witness& out) const noexcept {
  const inside here(gate_);
  const task_record* const t = find(task);
  if (t == nullptr) return status::stale_handle;
  if (!t->is_asked()) return status::empty;  // Nobody asked for a cancel.
  out = {t->task(), t->region_number, t->epoch(), t->phase, t->reason()};
  return status::ok;
}

status kernel::result(task_handle task, task_outcome& out) const noexcept {
  const inside here(gate_);
  task_record* const t = find(task);
  if (t == nullptr) return status::stale_handle;
  if (t->state != task_state::completed || is_going(*t)) return status::tasks_still_active;
  t->is_unheard = false;
  out = outcome_of(*t);
  return status::ok;
}

bool kernel::has_ended(task_handle task) const noexcept {
  const inside here(gate_);
  const task_record* const t = find(task);
  return t != nullptr && t->state == task_state::completed && !is_going(*t);
}

}  // namespace asx
