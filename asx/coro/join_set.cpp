#include "asx/coro/join_set.hpp"

#include <cstddef>
#include <new>

namespace asx::detail {

join_seat::join_seat(join_list& of) noexcept : end_seat(&join_list::hear), list(of) {}

join_list::join_list(order how) noexcept : order_(how) {
  extension::name_queue_of_several(waiting_);
}

status join_list::reserve(kernel& home, join_seat*& out) noexcept {
  if (!seats_.empty() && home_ != &home) return status::invalid_argument;
  void* const block = extension::take_block(home, nominal_bytes::frame, sizeof(join_seat), alignof(join_seat));
  if (block == nullptr) return status::resource_exhausted;
  home_ = &home;
  out = new (block) join_seat(*this);
  return status::ok;
}

void join_list::give_back(join_seat& seat) noexcept {
  seat.~join_seat();
  extension::give_block(*home_, nominal_bytes::frame, &seat, sizeof(join_seat), alignof(join_seat));
}

void join_list::put_in(join_seat& seat) noexcept {
  seat.index = next_index_++;
  seats_.push_back(seat);
  ++size_;
}

void join_list::fill(join_seat& seat, const task_handle& task, coro_root& body) noexcept {
  const inside here(*home_);
  put_in(seat);
  seat.task = task;
  seat.body = &body;
  if (extension::has_ended(record_of(body))) return note_end(seat);
  seat.enter(body);
  running_.push_back(seat);
}

void join_list::fill_refused(join_seat& seat, status why) noexcept {
  const inside here(*home_);
  put_in(seat);
  seat.code = why;
  note_end(seat);
}

// From the back: who ends in the order of adding, as most do that end at once, is put there.
void join_list::note_end(join_seat& seat) noexcept {
  if (order_ == order::of_ends || ended_.empty()) return ended_.push_back(seat);
  join_seat* before = nullptr;
  for (join_seat* other = ended_.back(); other != nullptr && other->index > seat.index; other = ended_.before(*other)) {
    before = other;
  }
  if (before == nullptr) {
    ended_.push_back(seat);
  } else {
    ended_.insert_before(*before, seat);
  }
}

void join_list::hear(end_seat& base, kernel& k, coro_root& ended) noexcept {
  auto& seat = static_cast<join_seat&>(base);
  join_list& list = seat.list;
  static_cast<list_hook<join_stand_tag>&>(seat).unlink();
  list.note_end(seat);
  extension::serve_next(k, list.waiting_, record_of(ended));
}

// Where threads share the kernel its end may still be under way when it is heard of: then the wait is for that, which
// is over in a moment.
status join_list::poll(cx& c, waiter& w) noexcept {
  const inside here(c.kernel());
  status s = c.checkpoint();
  if (s == status::ok && !seats_.empty()) {
    if (const join_seat* const next = ended_.front(); next != nullptr) {
      if (next->body != nullptr) s = home_->await_completed(next->task, c, w);
    } else {
      extension::wait(c, *home_, waiting_, w, wait_code::join, 0);  // For any of them: no number names it.
      s = status::would_block;
    }
  }
  if (s != status::would_block) w.leave();
  return s;
}

// In the order of adding one may have come to the front since the poll that said ok, whose end is still under way: then
// it is not that one.
join_seat* join_list::next_ended() noexcept {
  if (home_ == nullptr) return nullptr;
  const inside here(*home_);
  join_seat* next = ended_.front();
  const auto is_over = [this](const join_seat& one) { return one.body == nullptr || home_->has_ended(one.task); };
  while (next != nullptr && !is_over(*next)) {  // asx: bounded by who is in it
    next = order_ == order::of_adding ? ended_.after(*next) : nullptr;
  }
  return next;
}

void join_list::forget_order() noexcept {
  if (home_ == nullptr) return;
  const inside here(*home_);
  order_ = order::of_ends;
}

void join_list::pass(join_seat& seat) noexcept {
  const inside here(*home_);
  static_cast<list_hook<join_stand_tag>&>(seat).unlink();
}

void join_list::leave(join_seat& seat) noexcept {
  {
    const inside here(*home_);
    if (seat.who != nullptr) seat.end_seat::leave();
    if (static_cast<list_hook<join_stand_tag>&>(seat).linked()) static_cast<list_hook<join_stand_tag>&>(seat).unlink();
    static_cast<list_hook<join_order_tag>&>(seat).unlink();
    --size_;
  }
  give_back(seat);
}

// To one that has ended it is nothing. One that never ran ends in here, and its neighbours stay where they are.
status join_list::cancel(const cancel_request& why) noexcept {
  status out = status::ok;
  for (join_seat* seat = front(); seat != nullptr; seat = after(*seat)) {
    if (seat->body == nullptr) continue;
    if (home_->request_cancel(seat->task, why) == status::resource_exhausted) out = status::resource_exhausted;
  }
  return out;
}

}  // namespace asx::detail
