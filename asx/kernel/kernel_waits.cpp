// Waiting: places in queues, which hang on the task that waits, and waiting for the end of tasks and regions.
#include <utility>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::region_record;
using detail::task_record;

// ---- queues -------------------------------------------------------------------------------------------------------

// When another task asks, the place stays, and that one is woken from now on.
bool wait_queue::enter(waiter& w, task_record& t, kernel& home, std::uint64_t id) noexcept {
  if (w.queue() != this) {
    w.leave();
    enter_anew(w, t, home, id);
    return true;
  }
  if (w.task_ == &t) return false;
  static_cast<list_hook<task_waits_tag>&>(w).unlink();
  --w.task_->registrations;
  w.task_ = &t;
  t.waits.push_back(w);
  ++t.registrations;
  return false;
}

void waiter::leave_now() noexcept {
  const inside here(*home_);
  if (queue() != nullptr) leave(leave_code::dropped);  // Or somebody served it a moment ago.
}

void waiter::leave(leave_code how) noexcept {
  wait_queue& from = *queue();
  const waiter_name who{task_->task(), id_};
  from.remove(*this);
  if (from.left_ != nullptr) from.left_(from, *this, who, how);
}

void waiter::take_place_of(waiter& other) noexcept {
  if (other.queue() == nullptr) return;
  const inside here(*other.home_);
  wait_queue* const queue = other.queue();
  if (queue == nullptr) return;
  queue->list_.insert_before(other, *this);
  other.task_->waits.insert_before(other, *this);
  static_cast<list_hook<waiter_tag>&>(other).unlink();
  static_cast<list_hook<task_waits_tag>&>(other).unlink();
  home_ = other.home_;
  task_ = std::exchange(other.task_, nullptr);
  id_ = other.id_;
  stand_in(queue);
  other.stand_in(nullptr);
}

// ---- who waits for what -------------------------------------------------------------------------------------------

// Asked again, it keeps its place (U-17, U-18).
void kernel::serve(wait_queue& waiting, wake_code why, event_kind told, std::uint64_t subject) noexcept {
  while (waiter* const w = waiting.head()) {
    ASX_ASSERT(w->task_ != nullptr, "who stands in a queue is a task's");
    task_record& t = *w->task_;
    waiting.remove(*w);
    const std::uint64_t cause = note(told, subject, t.task().value);
    wake(t, why, cause);
  }
}

status kernel::await_completed(task_handle task, cx& c, waiter& w) noexcept {
  const inside here(gate_);
  task_record* const t = find(task);
  if (t == nullptr) return refuse(event_kind::refused_join, 0, {status::stale_handle});
  if (t == c.task_) return refuse(event_kind::refused_join, t->task().value, {status::invalid_argument});
  if (t->state == task_state::completed && !is_going(*t)) return status::ok;
  wait_in(t->joiners, w, *c.task_, wait_code::join, t->task().value, 0);
  return status::would_block;
}

status kernel::await_closed(region_handle region, cx& c, waiter& w) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return refuse(event_kind::refused_join, 0, {status::stale_handle});
  if (r->state == region_state::closed && !is_going(*r)) return status::ok;
  wait_in(r->closers, w, *c.task_, wait_code::close, r->id.value, 0);
  return status::would_block;
}

}  // namespace asx
