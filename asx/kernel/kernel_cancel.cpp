// Cancellation: requests, delivery, strengthening, acknowledgement, and the tasks that never answer.
#include <array>
#include <utility>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::region_record;
using detail::task_record;

cancel_reason kernel::reason_from(const cancel_request& why, const region_record& origin) const noexcept {
  cancel_reason out;
  out.kind = why.kind;
  out.message = why.message;
  out.timestamp = now();
  out.origin_region = current_ == nullptr ? origin.id : current_->region->id;
  if (current_ != nullptr) out.origin_task = current_->task();
  return out;
}

// a close has the region for its origin, whoever asked.
cancel_reason kernel::reason_of_close(const cancel_request& why, const region_record& closing) const noexcept {
  cancel_reason out = reason_from(why, closing);
  out.origin_region = closing.id;
  return out;
}

status kernel::request_cancel(task_handle task, const cancel_request& why, bool* newly) noexcept {
  const inside here(gate_);
  if (newly != nullptr) *newly = false;
  task_record* const t = find(task);
  if (t == nullptr) return refuse(event_kind::refused_cancel, 0, {status::stale_handle});
  if (t->state == task_state::completed) return status::ok;
  const bool is_first = !t->is_asked();
  if (!admits_cancel(*t)) {
    return refuse(event_kind::refused_cancel, t->task().value,
                  {status::resource_exhausted, limit_code::cancel_queue, contract_.max_cancel_queue});
  }
  if (rejects() && !has_trace(events_of_cancel(*t))) {
    return refuse(event_kind::refused_cancel, t->task().value, no_trace());
  }
  request_admitted(*t, why);
  if (newly != nullptr) *newly = is_first;
  return status::ok;
}

// There is room for it.
void kernel::request_admitted(task_record& t, const cancel_request& why) noexcept {
  if (t.is_asked()) ghosts_.cancelled_again(t.task());
  const std::uint64_t asked =
      note_input(event_kind::input_cancel, t.task().value, t.region->id.value, static_cast<std::uint64_t>(why.kind));
  deliver(t, reason_from(why, *t.region), 0, asked);
  cancel_owned_regions(t, t.asked_by);
  settle();
}

// What the cancel of a task takes: an entry for itself, and for everybody in the regions that close with it.
std::uint64_t kernel::entries_for(const task_record& t) const noexcept {
  std::uint64_t count = t.is_asked() ? 0 : 1;
  for (const region_record* r = t.owned_regions.front(); r != nullptr; r = t.owned_regions.after(*r)) {
    count += uncancelled_below(*r);
  }
  return count;
}

// When there is room for everybody, nobody has to be counted.
bool kernel::has_entries_for(const task_record& t) const noexcept {
  return has_entries(tasks_.live()) || has_entries(entries_for(t));
}

// The blocks of a cancelled task close with it (R1b).
void kernel::cancel_owned_regions(task_record& t, std::uint64_t cause) noexcept {
  for (region_record* r = t.owned_regions.front(); r != nullptr; r = t.owned_regions.after(*r)) {
    const cancel_reason& head = t.reason();
    const cause_ref kept = causes_.keep(head);
    propagate(*r, hop(head, kept, causes_, t.region->id, now()), region_trigger::parent_cancel, true, cause);
    causes_.release(kept);
  }
}

const cancel_reason* kernel::own_reason(task_record& t) const noexcept {
  if (!t.is_asked()) return nullptr;
  t.why = &reasons_.own(*t.why, causes_);
  return &t.reason();
}

void kernel::deliver(task_record& t, const cancel_reason& reason, std::uint32_t flags, std::uint64_t cause,
                     detail::reason_slot** shared) noexcept {
  if (t.state == task_state::completed) return;
  if (t.is_asked()) return strengthen_task(t, reason, flags, cause);
  const auto* const row = task_lifecycle.find(t.state, task_trigger::request_cancel);
  ASX_ASSERT(row != nullptr, "a live task can always be asked to cancel");

  drop_deadline(t, event_kind::deadline_dropped);  // The ordinary budget is suspended from here on.
  t.asked_at = now();
  t.phase = cancel_phase::requested;
  t.seems_asked.store(true, std::memory_order_relaxed);  // Relaxed: it is only looked at.
  if (shared != nullptr && *shared != nullptr) {
    t.why = &detail::reason_pool::share(**shared);
  } else {
    t.why = &reasons_.take();
    t.why->reason.hold(causes_, reason);
    if (shared != nullptr) *shared = t.why;
  }
  t.set_cleanup(cleanup_budget(reason.kind));
  ++cancel_entries_;
  const std::uint64_t asked = log_.mode() == journal_mode::off ? 0 : tell_delivery(t, flags, cause);
  t.state = row->to;
  start_answering(t);
  if (auto& retry = static_cast<list_hook<detail::retry_tag>&>(t); retry.linked()) retry.unlink();
  t.is_held_back = false;

  if (&t == current_ || t.is_polled) {
    t.was_cancelled_in_poll = true;  // Queued again when its poll ends.
  } else if (t.is_queued()) {
    sched_.push_cancel(t.home, t, t.cleanup_priority);
    tell_of(t.home);
    t.queued_by = note(event_kind::task_requeued, t.task().value, t.region->id.value,
                       place_code(lane_code::cancel, t.priority(), t.worker()), t.insertion_seq(), asked);
  } else if (!t.is_leaving) {
    enqueue(t, wake_code::cancel, asked, caller());
  }
}

std::uint64_t kernel::tell_delivery(task_record& t, std::uint32_t flags, std::uint64_t cause) noexcept {
  const cancel_reason& kept = t.reason();
  const std::uint64_t asked =
      note(event_kind::cancel_requested, t.task().value, kept.origin_region.value,
           pack(static_cast<std::uint64_t>(kept.kind), kept.levels), kept.origin_task.value, cause, flags);
  t.asked_by = asked;
  note_text(type_tag::task, t.task().value, kept.message);
  if (kept.truncated) note(event_kind::chain_truncated, t.task().value, t.region->id.value, kept.levels, 0, asked);
  note(t.state == task_state::created ? event_kind::task_cancel_requested_unstarted  // T2
                                      : event_kind::task_cancel_requested,
       t.task().value, t.region->id.value, static_cast<std::uint64_t>(kept.kind), 0, asked, flags);
  return asked;
}

// no new epoch, no second wake; a stronger reason, a smaller quota, a higher priority.
void kernel::strengthen_task(task_record& t, const cancel_reason& reason, std::uint32_t flags,
                             std::uint64_t cause) noexcept {
  const budget before_it = t.cleanup();
  const budget narrower = meet(before_it, cleanup_budget(reason.kind));
  const bool is_stronger = compare_strength(reason, t.reason()) > 0;
  if (!is_stronger && narrower == before_it) return;
  t.set_cleanup(narrower);
  if (is_stronger) {
    const cancel_kind before = t.reason().kind;
    t.why = &reasons_.own(*t.why, causes_);
    t.why->reason.hold(causes_, reason);
    const cancel_reason& kept = t.reason();
    const std::uint64_t asked = note(event_kind::cancel_strengthened, t.task().value, kept.origin_region.value,
                                     pack(static_cast<std::uint64_t>(kept.kind), static_cast<std::uint64_t>(before)),
                                     t.cleanup_polls, cause, flags);
    t.asked_by = asked;
    note_text(type_tag::task, t.task().value, kept.message);
    event_kind kind = event_kind::task_restrengthened_requested;
    if (t.state == task_state::cancelling) kind = event_kind::task_restrengthened_cancelling;
    if (t.state == task_state::finalizing) kind = event_kind::task_restrengthened_finalizing;
    note(kind, t.task().value, t.region->id.value, static_cast<std::uint64_t>(kept.kind),
         t.state == task_state::cancelling ? t.cleanup_polls : 0, asked, flags);
  }
  if (t.is_queued() && sched_.push_cancel(t.home, t, t.cleanup_priority)) {
    tell_of(t.home);
    t.queued_by = note(event_kind::task_requeued, t.task().value, t.region->id.value,
                       place_code(lane_code::cancel, t.priority(), t.worker()), t.insertion_seq(), cause);
  }
}

// A cancel of the kernel's own. False: the cancel queue is full; it is tried again in phase 0.
bool kernel::raise(task_record& t, cancel_kind kind, bool is_retry) noexcept {
  std::uint64_t cause = 0;
  if (is_retry ? !has_entries_for(t) : !admits_cancel(t)) {
    auto& retry = static_cast<list_hook<detail::retry_tag>&>(t);
    if (!retry.linked()) {
      retries_.push_back(t);
      t.deferred_kind = kind;  // The first one is what is tried again.
      t.asked_by = note(event_kind::cancel_deferred, t.task().value, t.region->id.value,
                        static_cast<std::uint64_t>(kind), contract_.max_cancel_queue);
    }
    if (kind == cancel_kind::deadline) drop_deadline(t, event_kind::deadline_passed);
    return false;
  }
  if (kind == cancel_kind::deadline) {
    ++missed_deadlines_;
    cause = drop_deadline(t, event_kind::deadline_passed);
    if (cause == 0) cause = t.asked_by;  // It passed before, and the cancel had to wait.
  } else {
    cause = note(event_kind::budget_spent, t.task().value, t.region->id.value, static_cast<std::uint64_t>(kind),
                 kind == cancel_kind::poll_quota ? t.granted_polls : t.granted_cost);
  }
  cancel_reason reason;
  reason.kind = kind;
  reason.timestamp = now();
  reason.origin_region = t.region->id;
  reason.origin_task = t.task();
  deliver(t, reason, event_flags::forced, cause);
  cancel_owned_regions(t, cause);
  return true;
}

void kernel::retry_cancels() noexcept {
  while (!retries_.empty() && has_entries_for(*retries_.front())) {
    task_record& t = *retries_.front();
    static_cast<list_hook<detail::retry_tag>&>(t).unlink();
    static_cast<void>(raise(t, t.deferred_kind, true));
  }
  settle();
}

std::uint64_t kernel::unobserved_limit(const task_record& t) const noexcept {
  return options_.max_unobserved_cancel_polls == UINT32_MAX ? t.cleanup_polls : options_.max_unobserved_cancel_polls;
}

// T7: the cleanup budget is armed, and timers from before are gone.
void kernel::acknowledge(task_record& t, bool is_forced) noexcept {
  const std::uint32_t flags = is_forced ? event_flags::forced : 0;
  if (is_forced) {
    note(event_kind::cancel_acknowledged_for, t.task().value, t.region->id.value, t.unobserved, 0, t.asked_by, flags);
  }
  t.state = task_state::cancelling;
  t.phase = cancel_phase::cancelling;
  note(event_kind::task_acknowledged, t.task().value, t.region->id.value, static_cast<std::uint64_t>(t.reason().kind),
       t.cleanup_polls, t.asked_by, flags);
  if (!t.timers.empty()) cancel_timers(t.timers);
  if (cancel_watch_.acknowledged != nullptr) cancel_watch_.acknowledged(cancel_watch_.context, now() - t.asked_at);
}

status kernel::checkpoint(task_record& t) noexcept {
  ghosts_.touched(t);
  if ((t.state == task_state::running || t.state == task_state::created) && t.left.deadline_passed(now_)) {
    static_cast<void>(raise(t, cancel_kind::deadline));  // the index is looked at here, too.
  }
  if (faults_.strikes != nullptr) [[unlikely]]
    strike_in_poll(t);
  if (t.mask_depth != 0) return status::ok;
  if (t.state == task_state::cancel_requested) acknowledge(t, false);
  return t.state == task_state::cancelling ? status::cancelled : status::ok;
}

// ---- faults on purpose (fault.hpp) --------------------------------------------------------------------------------

bool kernel::strike(fault_point what, std::uint64_t polls) noexcept {
  return faults_.strikes(faults_.context, what, polls);
}

// As raise does: nothing is settled before the poll is over, because a primitive may be in the middle of its work.
void kernel::strike_in_poll(task_record& t) noexcept {
  if (!may_be_struck(t) || !has_entries_for(t) || !strike(fault_point::cancel, t.polls)) return;
  deliver(t, reason_from({faults_.kind, faults_.message}, *t.region), 0, 0);
  cancel_owned_regions(t, t.asked_by);
}

void kernel::strike_before_poll(task_record& t) noexcept {
  if (!may_be_struck(t)) return;
  polled_last_ = handle_of(t);
  if (t.state == task_state::created) strike_in_poll(t);
  if (t.is_asked() || !strike(fault_point::poll, t.polls)) return;
  t.granted_polls = t.polls;
  t.left.poll_quota = 0;
}

void kernel::strike_behind_poll() noexcept {
  task_record* const t = find(polled_last_);
  const bool is_met = t != nullptr && may_be_struck(*t) && has_entries_for(*t) && strike(fault_point::cancel, t->polls);
  polled_last_ = {};
  if (is_met) request_admitted(*t, {faults_.kind, faults_.message});
}

// ---- time ---------------------------------------------------------------------------------------------------------

std::uint32_t kernel::pass_time(std::uint32_t worker, instant now) noexcept {
  set_time(now);
  worker_ = worker;
  std::uint32_t passed = 0;
  std::array<expired_timer, 16> due;
  for (std::size_t count = 0; (count = wheel_.collect_expired(now_, due)) != 0;) {
    std::uint64_t early = 0;
    for (std::size_t i = 0; i < count; ++i) early += due[i].deadline > now_ ? 1U : 0U;
    if (early != 0) note(event_kind::timers_coalesced, 0, 0, early, now_.ns);
    for (std::size_t i = 0; i < count; ++i) {
      timer_record* const timer =
          timers_.find({static_cast<std::uint32_t>(due[i].token.record), due[i].token.generation});
      if (timer == nullptr) continue;
      ++passed;
      task_record* const t = timer->task;
      const std::uint64_t fired = note(event_kind::timer_fired, timer->wheel.id, t == nullptr ? 0 : t->task().value,
                                       timer->deadline.ns, timer->seq);
      remove_timer(*timer);
      if (t != nullptr) wake(*t, wake_code::timer, fired);
    }
  }
  while (!index_.empty() && index_.next() <= now_) {
    ++passed;
    static_cast<void>(raise(index_.front(), cancel_kind::deadline));
  }
  settle();
  return passed;
}

// ---- those who owe an answer --------------------------------------------------------------------------------------

using answering_list = intrusive_list<task_record, detail::stall_tag>;

namespace {

void move_front(answering_list& from, answering_list& to) noexcept {
  to.push_back(*from.pop_front());
}

// Merges `more` into `into`; both are sorted by creation.
void merge(answering_list& into, answering_list& more) noexcept {
  answering_list out;
  while (!into.empty() && !more.empty()) {
    move_front(more.front()->task() < into.front()->task() ? more : into, out);
  }
  out.splice_back(into);
  out.splice_back(more);
  into.splice_back(out);
}

// By creation, in place: bin k holds 2^k tasks, sorted, or none.
void sort_by_creation(answering_list& tasks) noexcept {
  std::array<answering_list, 32> bins;
  while (!tasks.empty()) {
    answering_list carried;
    move_front(tasks, carried);
    std::size_t k = 0;
    for (; !bins[k].empty(); ++k) merge(carried, bins[k]);
    bins[k].splice_back(carried);
  }
  for (answering_list& bin : bins) merge(tasks, bin);
}

}  // namespace

void kernel::start_answering(task_record& t) noexcept {
  if (static_cast<list_hook<detail::stall_tag>&>(t).linked()) return;
  const task_record* const last = answering_.back();
  if (last != nullptr && t.task() < last->task()) is_answering_sorted_ = false;
  answering_.push_back(t);
}

void kernel::stop_answering(task_record& t) noexcept {
  auto& hook = static_cast<list_hook<detail::stall_tag>&>(t);
  if (!hook.linked()) return;
  if (stall_cursor_ == &t) stall_cursor_ = answering_.after(t);
  hook.unlink();
}

// nothing can happen by itself any more, so those who owe an answer are asked once each, in order of creation. A
// round that was interrupted goes on behind the last one asked.
place* kernel::take_stalled(std::uint32_t worker, instant now) noexcept {
  worker_ = 0;  // An idle step ends here; what comes after it is from outside.
  if (foreign_holds_ != 0 || away_ != 0 || !sched_.empty()) return nullptr;
  if (!ignores_timers_ && (wheel_.live() != 0 || !index_.empty())) return nullptr;
  set_time(now);
  if (!is_answering_sorted_) {
    sort_by_creation(answering_);
    is_answering_sorted_ = true;
    stall_cursor_ = nullptr;
  }
  const auto is_eligible = [this](const task_record& t) {
    if (t.is_queued() || t.is_held_back || (t.is_leaving && !t.owned_regions.empty())) return false;
    if (t.is_polled) return false;  // Somebody ends it from outside, and its actions run.
    return t.state != task_state::cancel_requested || options_.max_unobserved_cancel_polls != 0;
  };
  for (int round = 0; round < 2; ++round) {
    task_record* t = stall_cursor_ != nullptr ? stall_cursor_ : answering_.front();
    while (t != nullptr && (t->task().value <= last_stalled_ || !is_eligible(*t))) t = answering_.after(*t);
    if (t != nullptr) {
      last_stalled_ = t->task().value;
      stall_cursor_ = t;
      const std::uint64_t left = t->polls_left();
      worker_ = worker;
      note(event_kind::stall_poll, t->task().value, t->region->id.value, left == unlimited ? 0 : left);
      return t;
    }
    last_stalled_ = 0;  // The round is over; another one begins if somebody is left.
    stall_cursor_ = nullptr;
  }
  return nullptr;
}

}  // namespace asx
