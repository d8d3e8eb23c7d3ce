// Regions: creation, close from the first request to closed, finalizers, the fold of outcomes.
#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::finalizer_node;
using detail::region_record;
using detail::task_record;

// ---- creation -----------------------------------------------------------------------------------------------------

status kernel::create_region(region_handle parent, const region_spec& spec, region_handle& out,
                             std::source_location site) noexcept {
  const inside here(gate_);
  constexpr auto kind = event_kind::refused_region;
  region_record* const p = find(parent);
  if (p == nullptr) return refuse(kind, 0, {status::stale_handle});
  if (const refusal shut = gate(*p); shut.code != status::ok) return refuse(kind, p->id.value, shut);
  task_record* const owner = find(spec.owner);
  if (!spec.owner.is_null() &&
      (owner == nullptr || owner->state == task_state::completed || owner->is_ending || owner->is_leaving)) {
    return refuse(kind, p->id.value, {status::stale_handle});  // Nobody would let go of the region any more.
  }
  const region_record* above = owner == nullptr ? nullptr : p;
  while (above != nullptr && above != owner->region) above = above->parent;
  if (owner != nullptr && above == nullptr) return refuse(kind, p->id.value, {status::invalid_argument});
  constexpr status full = status::resource_exhausted;
  if (is_full(regions_.live(), contract_.max_regions)) {
    return refuse(kind, p->id.value, {full, limit_code::regions, contract_.max_regions});
  }
  if (!has_bytes(nominal_bytes::region))
    return refuse(kind, p->id.value, {full, limit_code::memory, contract_.max_bytes});
  if (!has_trace(3)) return refuse(kind, p->id.value, no_trace());
  const slab_entry<region_record> made = regions_.allocate();
  if (!made) return refuse(kind, p->id.value, {full, limit_code::memory, 0});

  region_record& r = *made.record;
  r.key = made.key;
  r.id = region_id{++next_region_};
  r.owner_kernel = this;
  r.parent = p;
  r.parent_number = p->id;
  r.limits = meet(p->limits, spec.limits);
  r.max_tasks = spec.max_tasks;
  r.name = detail::short_name(spec.name);
  r.site = site;
  r.holds = spec.is_held ? 1 : 0;
  r.child_seq = ++p->next_child;
  r.created_at = now();
  r.context = spec.context;
  r.closed = spec.closed;
  r.ends_when_empty = spec.ends_when_empty;
  r.fails_fast = spec.fails_fast;
  r.is_judged_by_owner = spec.is_judged_by_owner && owner != nullptr;
  r.is_judged_by_body = r.is_judged_by_owner && spec.is_judged_by_body;
  if (owner != nullptr) {
    r.owner = owner;
    owner->owned_regions.push_back(r);
  }
  p->had_child = true;
  p->children.push_back(r);
  ++p->live_regions;
  ++live_regions_;
  bytes_ += nominal_bytes::region;
  note(event_kind::region_created, r.id.value, p->id.value, caller(), r.limits.priority);
  if (!spec.name.empty() && log_.mode() == journal_mode::full) {
    log_.append_text(text_code::name, type_tag::region, r.id.value, r.name.view(), now().ns);
  }
  out = handle_of(r);
  return status::ok;
}

status kernel::add_finalizer(region_handle region, finalizer_function run, void* context, bool in_turn) noexcept {
  const inside here(gate_);
  constexpr auto kind = event_kind::refused_finalizer;
  region_record* const r = find(region);
  if (r == nullptr) return refuse(kind, 0, {status::stale_handle});
  if (run == nullptr) return refuse(kind, r->id.value, {status::invalid_argument});
  if (const refusal shut = gate(*r); shut.code != status::ok) return refuse(kind, r->id.value, shut);
  constexpr status full = status::resource_exhausted;
  if (r->finalizer_depth >= contract_.max_finalizers_per_region) {
    return refuse(kind, r->id.value, {full, limit_code::finalizers, contract_.max_finalizers_per_region});
  }
  if (is_full(finalizers_.live(), contract_.max_finalizers)) {
    return refuse(kind, r->id.value, {full, limit_code::finalizers, contract_.max_finalizers});
  }
  if (!has_bytes(nominal_bytes::finalizer))
    return refuse(kind, r->id.value, {full, limit_code::memory, contract_.max_bytes});
  if (!has_trace(1)) return refuse(kind, r->id.value, no_trace());
  const slab_entry<finalizer_node> made = finalizers_.allocate(run, context, r->next_finalizer + 1, in_turn);
  if (!made) return refuse(kind, r->id.value, {full, limit_code::memory, 0});
  ++r->next_finalizer;
  made.record->key = made.key;
  r->finalizers.push_front(*made.record);
  ++r->finalizer_depth;
  bytes_ += nominal_bytes::finalizer;
  note(event_kind::finalizer_registered, r->id.value, caller(), r->next_finalizer);
  return status::ok;
}

status kernel::adopt(region_handle region, owned& thing) noexcept {
  const inside here(gate_);
  constexpr auto kind = event_kind::refused_other;
  region_record* const r = find(region);
  if (r == nullptr) return refuse(kind, 0, {status::stale_handle});
  if (const refusal shut = gate(*r); shut.code != status::ok) return refuse(kind, r->id.value, shut);
  r->things.push_back(thing);
  return status::ok;
}

// ---- the request to close -----------------------------------------------------------------------------------------

// The region after `r` in the pre-order of `root`'s subtree; null behind the last. No recursion: a tree may be as deep
// as memory allows (U-12).
region_record* kernel::next_in_tree(const region_record& root, const region_record& r) noexcept {
  if (region_record* const child = r.children.front(); child != nullptr) return child;
  for (const region_record* at = &r; at != &root; at = at->parent) {
    if (region_record* const sibling = at->parent->children.after(*at); sibling != nullptr) return sibling;
  }
  return nullptr;
}

std::uint64_t kernel::uncancelled_below(const region_record& from) const noexcept {
  std::uint64_t count = 0;
  for (const region_record* r = &from; r != nullptr; r = next_in_tree(from, *r)) {
    for (const task_record* t = r->tasks.front(); t != nullptr; t = r->tasks.after(*t))
      count += t->is_asked() ? 0U : 1U;
    if (r->state == region_state::open) count += r->reserved_slots;  // Later they have their places already.
  }
  return count;
}

void kernel::set_reason(region_record& r, const cancel_reason& reason) noexcept {
  note_text(type_tag::region, r.id.value, reason.message);
  r.reason.hold(causes_, reason);
  r.has_reason = true;
  causes_.release(r.kept);
  r.kept = causes_.keep(r.reason.get());
}

// Closing, or strengthened where it is.
void kernel::mark(region_record& r, const cancel_reason& reason, region_trigger on, bool is_driven,
                  std::uint64_t cause) noexcept {
  r.is_driven = r.is_driven || is_driven;
  const std::uint64_t parent = r.parent_number.value;
  if (r.state == region_state::open) {
    set_reason(r, reason);
    ++closing_regions_;
    reserved_cancels_ += r.reserved_slots;  // A slot that is committed now is born cancelled.
    r.state = region_state::closing;
    event_kind kind = event_kind::region_closing;
    if (on == region_trigger::parent_closing) kind = event_kind::region_closing_by_parent;
    if (on == region_trigger::parent_cancel) kind = event_kind::region_closing_by_cancel;
    r.closing_event =
        note(kind, r.id.value, parent, caller(),
             pack(static_cast<std::uint64_t>(reason.kind), std::uint64_t{r.live_tasks} + r.live_regions), cause);
  } else if (!r.has_reason || compare_strength(reason, r.reason.get()) > 0) {
    const cancel_kind before = r.reason.get().kind;
    set_reason(r, reason);
    r.closing_event = note(event_kind::region_reason_strengthened, r.id.value, parent,
                           pack(static_cast<std::uint64_t>(reason.kind), static_cast<std::uint64_t>(before)), 0, cause);
  }
}

// pre-order, tasks of a region before its sub-regions, all in order of creation. Runs no user code.
void kernel::propagate(region_record& from, const cancel_reason& reason, region_trigger on, bool is_driven,
                       std::uint64_t cause) noexcept {
  if (from.state == region_state::closed) return;  // Its owner is told as soon as its last call is over.
  mark(from, reason, on, is_driven, cause);
  for (region_record* r = &from; r != nullptr; r = next_in_tree(from, *r)) {
    if (r != &from) {
      const region_record& parent = *r->parent;
      mark(*r, hop(parent.reason.get(), parent.kept, causes_, parent.id, now()), region_trigger::parent_closing,
           is_driven, parent.closing_event);
    }
    const cancel_reason passed_on = hop(r->reason.get(), r->kept, causes_, r->id, now());
    detail::reason_slot* shared = nullptr;
    for (task_record* t = r->tasks.front(); t != nullptr; t = r->tasks.after(*t)) {
      if (const task_record* const next = r->tasks.after(*t); next != nullptr) {
        if (const task_record* const second = r->tasks.after(*next); second != nullptr) second->fetch();
      }
      deliver(*t, passed_on, event_flags::passed_on, r->closing_event, &shared);
    }
  }
  if (!is_driven) return;
  // Innermost first: children before parents, elder before younger.
  region_record* r = &from;
  while (region_record* const child = r->children.front()) r = child;
  for (;;) {
    look_at(*r);
    if (r == &from) break;
    region_record* const sibling = r->parent->children.after(*r);
    if (sibling == nullptr) {
      r = r->parent;
      continue;
    }
    r = sibling;
    while (region_record* const child = r->children.front()) r = child;
  }
}

status kernel::close_with(region_handle region, const cancel_request& why, bool is_driven) noexcept {
  constexpr auto kind = event_kind::refused_close;
  region_record* const r = find(region);
  if (r == nullptr) return refuse(kind, 0, {status::stale_handle});
  if (r == root_) return refuse_move(*r, region_state::closing);  // Only by shutdown (U-40).
  if (r->state != region_state::open) return refuse_move(*r, region_state::closing);
  // When there is room for everybody, nobody has to be counted.
  const bool has_room = has_entries(tasks_.live()) || has_entries(uncancelled_below(*r));
  const bool may_lack_it = faults_.strikes != nullptr && uncancelled_below(*r) != 0;  // None needs no room.
  if (!has_room || (may_lack_it && is_struck(fault_point::admission))) {
    return refuse(kind, r->id.value,
                  {status::resource_exhausted, limit_code::cancel_queue, contract_.max_cancel_queue});
  }
  if (rejects() && !has_trace(events_below(*r))) return refuse(kind, r->id.value, no_trace());
  const std::uint64_t asked = note_input(event_kind::input_close, r->id.value, 0, static_cast<std::uint64_t>(why.kind));
  propagate(*r, reason_of_close(why, *r), region_trigger::begin_close, is_driven, asked);
  settle();
  return status::ok;
}

status kernel::close(region_handle region, const cancel_request& why) noexcept {
  const inside here(gate_);
  return close_with(region, why, true);
}
status kernel::begin_close(region_handle region, const cancel_request& why) noexcept {
  const inside here(gate_);
  return close_with(region, why, false);
}

status kernel::begin_drain(region_handle region) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return refuse(event_kind::refused_close, 0, {status::stale_handle});
  if (r->state != region_state::closing) return refuse_move(*r, region_state::draining);
  if (!has_trace(1)) return refuse(event_kind::refused_close, r->id.value, no_trace());
  move(*r, region_trigger::begin_drain, pack(r->live_tasks, r->live_regions));
  return status::ok;
}

status kernel::begin_finalize(region_handle region) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return refuse(event_kind::refused_close, 0, {status::stale_handle});
  if (r->state != region_state::closing && r->state != region_state::draining) {
    return refuse_move(*r, region_state::finalizing);
  }
  if (r->live_tasks != 0 || r->live_regions != 0) {
    return refuse(event_kind::refused_close, r->id.value, {status::incomplete_children});
  }
  if (rejects() && !has_trace(events_above(*r))) return refuse(event_kind::refused_close, r->id.value, no_trace());
  move(*r, r->state == region_state::closing ? region_trigger::begin_finalize : region_trigger::children_complete,
       r->finalizer_depth);
  look_at(*r);
  settle();
  return status::ok;
}

status kernel::finish_close(region_handle region) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return refuse(event_kind::refused_close, 0, {status::stale_handle});
  if (r->state != region_state::finalizing) return refuse_move(*r, region_state::closed);
  if (r->is_busy) return refuse(event_kind::refused_close, r->id.value, {status::reentrant});
  if (r->live_tasks != 0 || !r->finalizers.empty()) {
    return refuse(event_kind::refused_close, r->id.value, {status::incomplete_children});
  }
  if (rejects() && !has_trace(events_above(*r))) return refuse(event_kind::refused_close, r->id.value, no_trace());
  const bool before = std::exchange(is_ending_, true);
  const status s = try_close(*r);
  is_ending_ = before;
  settle();
  return s;
}

// ---- from closing to closed ---------------------------------------------------------------------------------------

void kernel::move(region_record& r, region_trigger on, std::uint64_t a, std::uint64_t b, std::uint64_t cause) noexcept {
  const auto* const row = region_lifecycle.find(r.state, on);
  ASX_ASSERT(row != nullptr, "a region moves along a row of its table (R-01)");
  const auto number = static_cast<std::uint16_t>(row - &region_lifecycle.rows()[0]);
  r.state = row->to;
  note(static_cast<event_kind>(static_cast<std::uint16_t>(event_kind::region_closing) + number), r.id.value,
       r.parent_number.value, a, b, cause != 0 || cause_ != 0 ? cause : r.closing_event);
}

void kernel::look_closer(region_record& r) noexcept {
  auto& hook = static_cast<list_hook<detail::pending_tag>&>(r);
  if (hook.linked() || r.state == region_state::closed) return;
  if (r.state != region_state::open || (r.ends_when_empty && r.had_child && r.live_tasks == 0 && r.live_regions == 0)) {
    pending_.push_back(r);
  }
}

namespace {
bool is_waiting_for_children(const region_record& r) noexcept {
  return r.state == region_state::draining && (r.live_tasks != 0 || r.live_regions != 0);
}
}  // namespace

// Regions are looked at one after the other, never inside each other: a finalizer that closes a region only adds it.
void kernel::settle_pending() noexcept {
  if (is_settling_) return;
  while (region_record* const r = pending_.front()) {
    if (!is_waiting_for_children(*r)) return evaluate_pending();
    static_cast<list_hook<detail::pending_tag>&>(*r).unlink();  // Most ends.
  }
}

void kernel::evaluate_pending() noexcept {
  is_settling_ = settles_ = true;
  while (region_record* const r = pending_.pop_front()) {
    if (!is_waiting_for_children(*r)) evaluate(*r);
  }
  is_settling_ = settles_ = false;
}

void kernel::evaluate(region_record& r) noexcept {
  const auto has_children = [&r] { return r.live_tasks != 0 || r.live_regions != 0; };
  if (r.state == region_state::open) {  // the last child has ended.
    if (has_children()) return;         // Or another was spawned since.
    mark(r, reason_of_close({}, r), region_trigger::begin_close, true, 0);
  }
  if (r.is_driven && r.state == region_state::closing) {
    if (has_children()) {
      move(r, region_trigger::begin_drain, pack(r.live_tasks, r.live_regions));
    } else {
      move(r, region_trigger::begin_finalize, r.finalizer_depth);
    }
  }
  if (r.is_driven && r.state == region_state::draining && !has_children()) {
    move(r, region_trigger::children_complete, r.finalizer_depth);
  }
  if (r.state != region_state::finalizing || r.is_busy) return;
  ++r.pins;
  run_finalizers(r);
  const bool is_done = r.live_tasks == 0 && r.finalizers.empty();
  if (r.is_driven && is_done && r.state == region_state::finalizing) static_cast<void>(try_close(r));
  --r.pins;
  release_if_done(r);
}

// R-217, while its finalizer runs.
void kernel::panic(region_record& r, std::string_view text, const std::source_location& site) noexcept {
  if (std::exchange(has_finalizer_panicked_, true)) return;  // The first one tells the story.
  if (text.empty()) text = "a finalizer panicked";
  fold(r, task_outcome::panicked({text, site.file_name(), site.line()}), UINT64_MAX);
  if (log_.mode() != journal_mode::full) return;
  const std::size_t kept = std::min<std::size_t>(text.size(), contract_.cause_message_bytes);
  log_.append_text(text_code::panic, type_tag::region, r.id.value, text.substr(0, kept), now().ns);
}

void kernel::run_finalizers(region_record& r) noexcept {
  r.is_busy = true;
  while (finalizer_node* const f = r.finalizers.front()) {  // asx: bounded by max_finalizers_per_region
    if (f->is_in_turn && r.live_tasks != 0) break;          // The last task of the one before comes by here again.
    static_cast<list_hook<detail::finalizer_tag>&>(*f).unlink();
    const finalizer_node job(f->run, f->context, f->number, f->is_in_turn);
    finalizers_.release(f->key);
    bytes_ -= nominal_bytes::finalizer;
    --r.finalizer_depth;
    const std::uint64_t began = note(event_kind::finalizer_started, r.id.value, 0, job.number);
    const std::uint64_t before = std::exchange(cause_, began);
    in_finalizer_ = &r;
    has_finalizer_panicked_ = false;
    status s = status::ok;
#if defined(__cpp_exceptions)
    try {
      const outside open(gate_);
      s = job.run(job.context, handle_of(r), *this);
    } catch (const std::exception& e) {
      const char* const text = e.what();
      panic(r, text == nullptr ? std::string_view() : std::string_view(text), r.site);
    } catch (...) {
      panic(r, {}, r.site);
    }
#else
    {
      const outside open(gate_);
      s = job.run(job.context, handle_of(r), *this);
    }
#endif
    in_finalizer_ = nullptr;
    if (has_finalizer_panicked_) s = status::invalid_argument;
    if (s == status::ok) {
      note(event_kind::finalizer_done, r.id.value, 0, job.number);
    } else {
      note(event_kind::finalizer_failed, r.id.value, 0, job.number, static_cast<std::uint64_t>(s));
    }
    cause_ = before;
  }
  r.is_busy = false;
}

// owned things, timers, then the obligations. What the policy holds is tried again when one is resolved.
status kernel::try_close(region_record& r) noexcept {
  r.is_busy = true;
  while (owned* const thing = r.things.pop_front()) thing->ops->finalize(*thing, *this);
  r.is_busy = false;
  cancel_timers(r.timers);
  if (r.reserved != 0 && options_.leaks == leak_policy::hold) {
    if (!r.is_close_held) {
      note(event_kind::region_close_held, r.id.value, r.parent_number.value, r.reserved,
           static_cast<std::uint64_t>(status::unresolved_obligations));
    }
    r.is_close_held = true;
    return status::unresolved_obligations;
  }
  while (obligation_record* const o = r.ledger.front()) {  // In order of creation.
    resolve(*o, obligation_state::leaked, event_kind::obligation_leaked);
    note_site(*o);
    ghosts_.leaked(*o);
    ++r.leaked;
  }
  if (r.leaked != 0) {
    note(event_kind::region_leaked, r.id.value, r.parent_number.value, r.leaked,
         static_cast<std::uint64_t>(status::unresolved_obligations));
  }
  const task_outcome& out = r.fold.best;
  const bool overran = out.is_cancelled() && out.cancelled_by().cleanup_budget_exceeded;
  move(r, region_trigger::finalization_complete, pack(static_cast<std::uint64_t>(out.kind()), overran ? 1 : 0),
       r.leaked);
  if (r.parent != nullptr) static_cast<list_hook<detail::sibling_tag>&>(r).unlink();
  ++r.pins;
  const auto tell = [&] {
    if (r.closed == nullptr) return;
    const region_handle self = handle_of(r);
    const outside open(gate_);
    r.closed(r.context, self);
  };
  if (is_shared()) [[unlikely]]
    tell();  // First, as at the end of a task.
  --closing_regions_;
  --live_regions_;
  free_arena(r);
  if (auto& hook = static_cast<list_hook<detail::pending_tag>&>(r); hook.linked()) hook.unlink();

  if (r.owner != nullptr) {
    task_record& owner = *r.owner;
    static_cast<list_hook<detail::owner_tag>&>(r).unlink();
    r.owner = nullptr;
    if (owner.is_leaving && owner.owned_regions.empty()) wake(owner, wake_code::closed);
  }
  if (region_record* const parent = r.parent; parent != nullptr) {
    --parent->live_regions;
    if (!r.is_judged_by_owner) fold(*parent, out, r.child_seq);
    look_at(*parent);
    r.parent = nullptr;
  }
  serve(r.closers, wake_code::closed, event_kind::close_waiter_woken, r.id.value);
  if (!is_shared()) tell();
  --r.pins;
  release_if_done(r);
  return status::ok;
}

// what a fold over the children in order of creation would give, whatever the order in which they end.
bool kernel::outweighs_fold(const region_record& r, outcome_kind kind, bool has_value, const cancel_reason* reason,
                            std::uint64_t from) noexcept {
  const detail::outcome_fold& f = r.fold;
  if (kind != f.best.kind()) return kind > f.best.kind();  // The order is that of severity.
  const bool is_elder = from < f.from;
  switch (kind) {
    case outcome_kind::ok: return has_value && (!f.best.has_value() || is_elder);
    case outcome_kind::cancelled: {
      ASX_ASSERT(reason != nullptr, "who was cancelled knows why");
      const auto order = compare_strength(*reason, f.reason.get());
      return order > 0 || (order == 0 && is_elder);
    }
    default: return is_elder;
  }
}

void kernel::fold_heavier(region_record& r, const task_record& t) noexcept {
  const bool wins =
      outweighs_fold(r, t.result.kind, t.result.has_value, t.is_asked() ? &t.reason() : nullptr, t.child_seq);
  if (wins) fold(r, outcome_of(t), t.child_seq);
}

void kernel::fold(region_record& r, const task_outcome& result, std::uint64_t from) noexcept {
  detail::outcome_fold& f = r.fold;
  const cancel_reason* const reason = result.is_cancelled() ? &result.reason() : nullptr;
  if (!outweighs_fold(r, result.kind(), result.has_value(), reason, from)) return;
  f.best = result;
  f.from = from;
  if (result.is_cancelled()) {
    f.reason.hold(causes_, result.reason());
    cancellation how = result.cancelled_by();
    how.reason = f.reason.get();
    f.best = task_outcome::cancelled(how);
  } else {
    f.reason.release(causes_);
    if (result.is_panicked()) {  // The text becomes the region's own.
      const panic_note& said = result.panic();
      const cause_ref before = std::exchange(f.panic_text, causes_.keep({.message = said.text}));
      causes_.release(before);
      const cancel_reason* const kept = causes_.find(f.panic_text);
      f.best = task_outcome::panicked({kept == nullptr ? std::string_view() : kept->message, said.file, said.line});
    }
  }
}

// The first failure is the story; those that it cancels are not. No limit refuses it: nobody is left to be told.
void kernel::fail_fast(region_record& r, const task_record& t, std::uint64_t cause) noexcept {
  const bool is_err = t.result.kind == outcome_kind::err;
  const bool has_failed = is_err || t.result.kind == outcome_kind::panicked;
  if (!r.fails_fast || r.state != region_state::open || !has_failed) return;
  r.failed = t.task();
  if (is_err) r.failure = {t.result.code, t.result.word};
  cancel_reason why = reason_of_close({cancel_kind::fail_fast, {}}, r);
  why.origin_task = t.task();
  propagate(r, why, region_trigger::begin_close, true, cause);
}

void kernel::release_if_done(region_record& r) noexcept {
  if (r.state != region_state::closed || r.holds != 0 || r.pins != 0 || &r == root_) return;
  note(event_kind::region_released, r.id.value, r.parent_number.value);
  r.reason.release(causes_);
  r.fold.reason.release(causes_);
  causes_.release(r.fold.panic_text);
  causes_.release(r.kept);
  bytes_ -= nominal_bytes::region;
  regions_.release(r.key);
}

status kernel::release_region(region_handle region) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return status::stale_handle;
  if (r->holds == 0 || r == root_) return status::invalid_argument;
  --r->holds;
  release_if_done(*r);
  return status::ok;
}

// ---- looking ---------------------------------------------------------------------------------------------

status kernel::inspect(region_handle region, region_report& out) const noexcept {
  const inside here(gate_);
  const region_record* const r = find(region);
  if (r == nullptr) return status::stale_handle;
  out = {r->id,
         r->state,
         r->live_tasks,
         r->live_regions,
         r->reserved,
         r->leaked,
         r->has_reason ? &r->reason.get() : nullptr,
         r->failed,
         r->failure};
  return status::ok;
}

status kernel::result(region_handle region, task_outcome& out) const noexcept {
  const inside here(gate_);
  const region_record* const r = find(region);
  if (r == nullptr) return status::stale_handle;
  if (r->state != region_state::closed) return status::incomplete_children;
  out = r->fold.best;
  return status::ok;
}

}  // namespace asx
