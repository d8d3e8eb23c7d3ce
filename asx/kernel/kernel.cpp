#include "asx/kernel/kernel.hpp"

#include "asx/base/hash.hpp"

namespace asx {

using detail::region_record;
using detail::task_record;

kernel::kernel(const resource_contract& contract, const kernel_options& options, scheduler& sched, timer_wheel& wheel,
               journal& log, memory_port memory) noexcept
    : contract_(contract),
      options_(options),
      sched_(sched),
      wheel_(wheel),
      log_(log),
      memory_(memory),
      tasks_(contract.max_tasks, memory, 64),
      regions_(contract.max_regions, memory),
      timers_(contract.max_timers, memory),
      cleanups_(contract.max_cleanup_entries, memory),
      finalizers_(contract.max_finalizers, memory),
      obligations_(contract.max_obligations, memory),
      cells_(*this, contract.max_things(), memory),
      blocks_(memory),
      causes_(contract.max_causes, contract.cause_message_bytes, memory),
      reasons_(memory, contract.max_tasks),
      index_(memory),
      ghosts_(*this, log, contract, options.ghosts, memory) {
  if (contract.reserve_all) {
    const bool has_all = tasks_.reserve(contract.max_tasks) && regions_.reserve(contract.max_regions) &&
                         timers_.reserve(contract.max_timers) && cleanups_.reserve(contract.max_cleanup_entries) &&
                         finalizers_.reserve(contract.max_finalizers) && obligations_.reserve_all() &&
                         cells_.reserve_all() && causes_.reserve(contract.max_causes) &&
                         index_.admit(contract.max_tasks) && reasons_.admit(contract.max_tasks) &&
                         sched.admit(contract.max_tasks) == status::ok;
    if (!has_all) return;
  }
  const bool has_tables = tasks_.ready() && regions_.ready() && timers_.ready() && cleanups_.ready() &&
                          finalizers_.ready() && obligations_.ready() && cells_.ready() && causes_.ready();
  if (!has_tables || !sched.ready() || !wheel.ready()) return;
  const slab_entry<region_record> made = regions_.allocate();
  if (!made) return;
  root_ = made.record;
  root_->id = region_id{++next_region_};
  root_->key = made.key;
  root_->owner_kernel = this;
  root_->holds = 1;
  ++live_regions_;
  bytes_ += nominal_bytes::region;
  ghosts_.start();
}

kernel::~kernel() {
  if (root_ == nullptr) return;
  ASX_ASSERT(live_tasks_ == 0, "every task has ended before its kernel dies: shut the runtime down first");
  // The root may still be open when it never had a child, or closed and held by the kernel itself.
  while (owned* const thing = root_->things.pop_front()) thing->ops->finalize(*thing, *this);
  free_arena(*root_);
  while (!root_->finalizers.empty()) {
    detail::finalizer_node* const f = root_->finalizers.pop_front();
    finalizers_.release(f->key);
  }
  cancel_timers(root_->timers);
}

// ---- finding and refusing -----------------------------------------------------------------------------------------

region_handle kernel::root() const noexcept {
  const inside here(*this);
  return root_ == nullptr ? region_handle{} : handle_of(*root_);
}

status kernel::refuse(event_kind kind, std::uint64_t object, const refusal& why) noexcept {
  if (why.code == status::resource_exhausted) last_met_ = {why.limit, why.value, current_task()};
  if (log_.reserve(1) == status::ok) {
    note(kind, caller(), object, pack(static_cast<std::uint64_t>(why.code), static_cast<std::uint64_t>(why.limit)),
         why.value);
  }
  return why.code;
}

std::nullptr_t kernel::refuse_block(std::uint64_t nominal) noexcept {
  last_met_ = {limit_code::memory, has_bytes(nominal) ? 0 : contract_.max_bytes, current_task()};
  return nullptr;
}

std::uint64_t kernel::note_down(event_kind kind, std::uint64_t subject, std::uint64_t object, std::uint64_t a,
                                std::uint64_t b, std::uint64_t cause, std::uint32_t flags) noexcept {
  return log_.append(kind, {.time_ns = now().ns,
                            .subject = subject,
                            .object = object,
                            .a = a,
                            .b = b,
                            .cause = cause != 0 ? cause : cause_,
                            .worker = static_cast<std::uint16_t>(worker_),
                            .flags = flags});
}

std::uint64_t kernel::note_outside(event_kind kind, std::uint64_t subject, std::uint64_t object,
                                   std::uint64_t a) noexcept {
  ++inputs_;
  return note(kind, subject, object, a, kind == event_kind::input_wake || kind == event_kind::input_send ? 0 : inputs_);
}

void kernel::note_text(type_tag of, std::uint64_t subject, std::string_view text) noexcept {
  if (!text.empty() && log_.mode() == journal_mode::full) {
    log_.append_text(text_code::message, of, subject, text, now().ns);
  }
}

status kernel::refuse_move(const region_record& r, region_state to) noexcept {
  ghosts_.refused_move(r.id, r.state, to);
  return refuse(event_kind::refused_close, r.id.value, {status::invalid_transition});
}

// ---- room in the trace (R-113) ------------------------------------------------------------------------------------

// From its last child's end to closed and released.
std::uint64_t kernel::events_of_end(const region_record& r) noexcept {
  std::uint64_t count = 8 + 2 * std::uint64_t{r.finalizer_depth} + r.reserved;
  for (const detail::timer_record* t = r.timers.front(); t != nullptr; t = r.timers.after(*t)) ++count;
  for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
    count += o->ops->events == nullptr ? 1 : o->ops->events(*o);
  }
  count += 2 * std::uint64_t{r.closers.size()};
  return count;
}

// Of those that may end when `r` does, itself included.
std::uint64_t kernel::events_above(const region_record& r) noexcept {
  std::uint64_t count = 0;
  for (const region_record* at = &r; at != nullptr && at->state != region_state::open; at = at->parent) {
    count += events_of_end(*at);
  }
  return count;
}

std::uint64_t kernel::events_below(const region_record& from) const noexcept {
  std::uint64_t count = 0;
  for (const region_record* r = &from; r != nullptr; r = next_in_tree(from, *r)) {
    count += events_of_end(*r) + events_of_delivery * r->live_tasks;
  }
  return count;
}

std::uint64_t kernel::events_of_cancel(const task_record& t) const noexcept {
  std::uint64_t count = events_of_delivery;
  for (const region_record* r = t.owned_regions.front(); r != nullptr; r = t.owned_regions.after(*r)) {
    count += events_below(*r);
  }
  return count;
}

// ---- quiescence ---------------------------------------------------------------------------------------------------

quiescence_result kernel::check_quiescence() const noexcept {
  const inside here(gate_);
  quiescence_result out;
  const auto fail = [&out](std::uint32_t bit, status code) {
    if (out.failed == 0) out.first = code;
    out.failed |= 1U << bit;
  };
  if (live_tasks_ != 0) fail(0, status::tasks_still_active);
  if (reserved_obligations_ != 0) fail(1, status::obligations_unresolved);
  const bool root_counts = root_ != nullptr && root_->had_child && root_->state != region_state::closed;
  const bool root_is_live = root_ != nullptr && root_->state != region_state::closed;
  if (root_counts || live_regions_ > (root_is_live ? 1U : 0U)) fail(2, status::regions_not_closed);
  if (wheel_.live() != 0) fail(3, status::timers_pending);
  bool is_drained = true;
  for_each_region([&is_drained](const region_record& r) {
    for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
      is_drained = is_drained && o->ops->is_drained(*o);
    }
  });
  if (!is_drained) fail(4, status::channel_not_drained);
  return out;
}

status kernel::begin_shutdown(const cancel_request& why) noexcept {
  const inside here(gate_);
  if (root_ == nullptr) return status::stale_handle;
  is_shutting_down_ = true;
  const cancel_reason reason = reason_of_close(why, *root_);
  if (reason.severity() >= severity(cancel_kind::shutdown)) ignores_timers_ = true;
  if (root_->state != region_state::closed) {
    propagate(*root_, reason, region_trigger::begin_close, true, 0);
    settle();
  }
  return status::ok;
}

void kernel::take_foreign_hold() noexcept {
  const inside here(gate_);
  ++foreign_holds_;
  note(event_kind::foreign_hold_taken, caller(), 0, foreign_holds_);
}
void kernel::release_foreign_hold() noexcept {
  const inside here(gate_);
  ASX_ASSERT(foreign_holds_ != 0, "a hold is released once");
  --foreign_holds_;
  note(event_kind::foreign_hold_released, caller(), 0, foreign_holds_);
}

pressure kernel::weigh() noexcept {
  const pressure now{missed_deadlines_, reserved_obligations_, closing_regions_};
  missed_deadlines_ = 0;
  return now;
}

// ---- the state hash -----------------------------------------------------------------------------------------------

namespace {

void add(digest_stream& out, const budget& b) {
  out.add(b.deadline.ns);
  out.add(b.poll_quota);
  out.add(b.cost_quota);
  out.add(b.priority);
}

void add(digest_stream& out, const cancel_reason& r) {
  out.add(pack(static_cast<std::uint64_t>(r.kind), r.levels));
  out.add(r.origin_region.value);
  out.add(r.origin_task.value);
  out.add(r.timestamp.ns);
}

void add(digest_stream& out, const task_record& t) {
  out.add(t.task().value);
  out.add(pack(static_cast<std::uint64_t>(t.state), t.is_queued() ? 1 + static_cast<std::uint64_t>(t.queued_in()) : 0));
  out.add(t.is_queued() ? t.insertion_seq() : 0);
  out.add(t.is_queued() ? pack(t.priority(), t.worker()) : 0);
  add(out, t.left);
  out.add(t.epoch());
  if (t.is_asked()) {
    out.add(static_cast<std::uint64_t>(t.phase));
    add(out, t.reason());
    add(out, t.cleanup());
    out.add(t.unobserved);
  }
  out.add(pack(t.mask_depth, t.cleanup_depth));
  out.add(std::uint64_t{t.held} + (t.in_hand == nullptr ? 0 : 1));
  out.add((t.is_held_back ? 1U : 0U) | (t.has_overrun ? 2U : 0U) | (t.is_leaving ? 4U : 0U));
  out.add(t.joiners.size());
  out.add(pack(t.registrations, t.is_held ? 1 : 0));
  out.add(t.polls);
  for (const detail::timer_record* timer = t.timers.front(); timer != nullptr; timer = t.timers.after(*timer)) {
    out.add(timer->seq);
    out.add(timer->deadline.ns);
  }
}

}  // namespace

std::uint64_t kernel::state_hash() const noexcept {
  const inside here(gate_);
  digest_stream out;
  for_each_region([&out](const region_record& r) {
    out.add(r.id.value);
    out.add(pack(static_cast<std::uint64_t>(r.state), (r.is_driven ? 1U : 0U) | (r.had_child ? 2U : 0U)));
    out.add(pack(r.live_tasks, r.live_regions));
    out.add(pack(r.reserved, r.finalizer_depth));
    out.add(r.leaked);
    out.add(pack(r.reserved_slots, r.holds));
    out.add(r.arena_bytes);
    add(out, r.limits);
    if (r.has_reason) add(out, r.reason.get());
    out.add(static_cast<std::uint64_t>(r.fold.best.kind()));
    out.add(r.fold.from);
    for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) add(out, *t);
    for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
      out.add(o->id.value);
      out.add(o->owner.value);
    }
    for (const detail::timer_record* t = r.timers.front(); t != nullptr; t = r.timers.after(*t)) {
      out.add(t->seq);
      out.add(t->deadline.ns);
    }
    for (const detail::finalizer_node* f = r.finalizers.front(); f != nullptr; f = r.finalizers.after(*f))
      out.add(f->number);
    out.add(r.closers.size());
    for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
      out.add(2);
      if (o->ops->hash != nullptr) o->ops->hash(*o, out);
    }
    out.add(r.owner == nullptr ? 0 : r.owner->task().value);
  });
  for (const std::uint64_t count :
       {next_task_, next_region_, next_obligation_, next_timer_seq_, next_thing_[0], next_thing_[1], live_things_[0],
        live_things_[1], live_tasks_, live_regions_, cancel_entries_, reserved_obligations_, foreign_holds_, bytes_}) {
    out.add(count);
  }
  out.add(pack(tasks_.live(), regions_.live()));
  for (const task_record* t = retries_.front(); t != nullptr; t = retries_.after(*t)) out.add(t->task().value);
  for_each_held_task([&out](const task_record& t) {
    out.add(t.task().value);
    out.add(pack(static_cast<std::uint64_t>(t.result.kind), t.is_held ? 1 : 0));
  });
  out.add(static_cast<std::uint64_t>(sched_.suggestion()));
  for (std::uint32_t w = 0; w < sched_.workers(); ++w) {
    out.add(sched_.cancel_streak(w));
    out.add(sched_.timed_streak(w));
  }
  out.add(pack(wheel_.live(), cleanups_.live()));
  out.add(now().ns);
  return out.value().low;
}

}  // namespace asx
