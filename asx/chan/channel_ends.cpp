// The two ends of a channel, and the end of all: drops, and what its region does to it.
#include <utility>

#include "asx/base/hash.hpp"
#include "asx/chan/channel_core.hpp"

namespace asx {

// ---- senders ------------------------------------------------------------------------------------------------------

// Once no sender counts, none ever does. Senders that are left when the region took the channel down count no
// more; they still find it while a value of it is being destroyed.
void channel_core::add_sender() noexcept {
  if (senders_ == 0) return;
  ++senders_;
  note(event_kind::sender_cloned, senders_, 0);
}

void channel_core::drop_sender(sender_core& from) noexcept {
  if (from.pending_ != 0) drop_waiters(from);
  --senders_;
  note(event_kind::sender_dropped, senders_, 0);
  if (senders_ == 0) check();
  if (senders_ == 0 && is_receiver_dropped_) {
    note(event_kind::channel_fully_closed_by_sender, 0, 0);
  } else if (senders_ == 0) {
    const std::uint64_t told = note(event_kind::channel_sender_closed, 0, room());
    wake_receiver(wake_code::disconnected, told);  // with permits outstanding, too.
  }
  free_if_done();
}

// they leave with their sender, and are told; then it is the turn of whoever is first now.
void channel_core::drop_waiters(sender_core& from) noexcept {
  wait_queue leaving;
  for (waiter* w = waiters_.head(); w != nullptr;) {
    auto& mine = static_cast<reserve_wait&>(*w);
    w = waiters_.after(*w);
    if (mine.from_ != &from) continue;
    extension::move_to(waiters_, leaving, mine);
    note_left(extension::number_of(extension::waiting_task(mine)), mine.id(), leave_code::dropped);
  }
  from.pending_ = 0;
  renew_ways();
  while (waiter* const w = leaving.head()) {
    extension::task_record& t = extension::waiting_task(*w);
    extension::remove(leaving, *w);
    extension::wake(home, t, wake_code::disconnected);
  }
  return_slot(0);
}

sender_core::sender_core(const sender_core& other) noexcept : channel_(other.channel_) {
  const inside in(channel_.gate());
  if (channel_core* const c = get(); c != nullptr) c->add_sender();
}

sender_core& sender_core::operator=(const sender_core& other) noexcept {
  if (this != &other) {
    sender_core copy(other);
    *this = std::move(copy);
  }
  return *this;
}

sender_core& sender_core::operator=(sender_core&& other) noexcept {
  if (this != &other) {
    drop();
    take(other);
  }
  return *this;
}

void sender_core::take(sender_core& other) noexcept {
  const inside in(other.gate());
  channel_ = std::exchange(other.channel_, {});
  pending_ = std::exchange(other.pending_, 0);
  if (pending_ == 0) return;
  const channel_core& c = *get();  // Who waits keeps it there.
  for (waiter* w = c.waiters_.head(); w != nullptr; w = c.waiters_.after(*w)) {
    auto& r = static_cast<reserve_wait&>(*w);
    if (r.from_ == &other) r.from_ = this;
  }
}

status sender_core::clone(sender_core& out) const noexcept {
  const inside in(channel_.gate());
  if (get() == nullptr) return why_not();
  out = *this;
  return status::ok;
}

void sender_core::drop() noexcept {
  const inside in(channel_.gate());
  channel_core* const c = get();
  if (c != nullptr) c->drop_sender(*this);
  channel_ = {};
}

// The order of refusals does not depend on whether the channel is still there.
status sender_core::poll_gone(cx& c, reserve_wait& w, const region_handle* region) const noexcept {
  w.leave();
  const status gone = why_not();
  if (gone == status::stale_handle) return gone;
  if (region != nullptr) {
    if (const status s = extension::gate(*home(), *region); s != status::ok) {
      return extension::refuse(*home(), event_kind::refused_slot, 0, s);
    }
  }
  return extension::poll_gone(c, gone);
}

status sender_core::try_gone(region_handle region) const noexcept {
  const status gone = why_not();
  if (gone == status::stale_handle) return gone;
  const status s = extension::gate(*home(), region);
  return s == status::ok ? gone : s;
}

// ---- the receiver -------------------------------------------------------------------------------------------------

// flag, queue, waker, senders, values.
void channel_core::drop_receiver() noexcept {
  if (is_receiver_dropped_) return;
  is_receiver_dropped_ = true;
  renew_ways();
  const detached values = detach_queue();
  stop_waiting();
  wake_senders(note_receiver_gone(values.count));
  check();
  discard(values);
  free_if_done();
}

// The values are nobody's from here on; they lie where they lay until discard.
channel_core::detached channel_core::detach_queue() noexcept {
  const detached values{head_, std::exchange(queued_, 0)};
  free_ += values.count;
  discarded_ += values.count;
  return values;
}

std::uint64_t channel_core::note_receiver_gone(std::uint32_t discarded) noexcept {
  return note(senders_ == 0 ? event_kind::channel_fully_closed_by_receiver : event_kind::channel_receiver_closed,
              pack(senders_, discarded), 0);
}

// Oldest first. Nothing is put into a ring without a receiver.
void channel_core::discard(const detached& values) noexcept {
  if (destroy_ == nullptr) return;
  const bool before = std::exchange(is_busy_, true);
  for (std::uint32_t i = 0; i < values.count; ++i) {  // asx: bounded by the capacity
    const std::uint32_t at = values.first + i;
    const outside open(home.gate_in_use());
    destroy_(ring_ + std::size_t{at >= slots_ ? at - slots_ : at} * stride_);
  }
  is_busy_ = before;
}

receiver_core& receiver_core::operator=(receiver_core&& other) noexcept {
  if (this != &other) {
    drop();
    channel_ = std::exchange(other.channel_, {});
  }
  return *this;
}

void receiver_core::drop() noexcept {
  const inside in(channel_.gate());
  channel_core* const c = get();
  channel_ = {};
  if (c != nullptr) c->drop_receiver();
}

status receiver_core::poll_gone(cx& c) const noexcept {
  return extension::poll_gone(c, why_not());
}

// ---- the end ------------------------------------------------------------------------------------------------------

// storage is kept while a permit is held, or a value of it is being destroyed.
void channel_core::free_if_done() noexcept {
  if (is_receiver_dropped_ && is_dead_end() && !is_busy_ && in_hand_ == 0) free();
}

void channel_core::free() noexcept {
  check();
  ASX_ASSERT(queued_ == 0 && reserved() == 0, "nothing is lost when a channel is freed (R-234)");
  extension::note(home, event_kind::channel_freed, number, region_number);
  extension::leave_region(*this);
  kernel& k = home;
  const slab_key cell = key;
  const thing_order order = order_;
  void* const block = block_;
  for (std::uint32_t i = 0; i < capacity_; ++i) std::destroy_at(permits_ + i);
  this->~channel_core();
  extension::take_down(k, cell, order, block);
}

// The permits that are held, linked through next_free, lowest number first: a merge sort, so that a channel full of
// permits is taken down in n log n without a byte of memory.
permit_slot* channel_core::held_in_order() noexcept {
  permit_slot* runs[32] = {};
  const auto merge = [](permit_slot* a, permit_slot* b) {
    permit_slot* first = nullptr;
    permit_slot** end = &first;
    while (a != nullptr && b != nullptr) {
      permit_slot*& less = a->number < b->number ? a : b;
      *end = less;
      end = &less->next_free;
      less = *end;
    }
    *end = a != nullptr ? a : b;
    return first;
  };
  for (std::uint32_t i = 0; i < capacity_; ++i) {
    if (permits_[i].number == 0) continue;
    permit_slot* run = permits_ + i;
    run->next_free = nullptr;
    std::size_t at = 0;
    for (; at < 31 && runs[at] != nullptr; ++at) run = merge(std::exchange(runs[at], nullptr), run);
    runs[at] = merge(runs[at], run);
  }
  permit_slot* all = nullptr;
  for (permit_slot*& run : runs) all = merge(all, run);
  return all;
}

// The region has let go of it already.
void channel_core::take_down(owned& self, kernel& k) noexcept {
  auto& c = static_cast<channel_core&>(self);
  const bool was_busy = std::exchange(c.is_busy_, true);  // Nobody frees it meanwhile.
  extension::retire(k, c.key);                            // Endpoints find nothing from here on.
  for (permit_slot* p = c.held_in_order(); p != nullptr;) {
    permit_slot& permit = *p;
    p = permit.next_free;
    const bool is_tracked = permit.ops == &tracked_permit;
    const obligation_handle promise = permit.obligation;
    static_cast<void>(c.end_permit(permit, event_kind::permit_aborted));
    if (is_tracked) static_cast<void>(k.abort(promise));
  }
  const bool had_receiver = !std::exchange(c.is_receiver_dropped_, true);
  c.renew_ways();
  const detached values = c.detach_queue();
  const std::uint64_t told = had_receiver ? c.note_receiver_gone(values.count) : 0;
  while (waiter* const w = c.waiters_.head()) {
    extension::task_record& t = extension::waiting_task(*w);
    --static_cast<reserve_wait&>(*w).from_->pending_;
    const std::uint64_t which = w->id();
    extension::remove(c.waiters_, *w);
    c.note_left(extension::number_of(t), which, leave_code::disconnected);
    extension::wake(k, t, wake_code::disconnected, told);
  }
  c.wake_receiver(wake_code::disconnected, told);
  c.senders_ = 0;  // Those that are left find nothing.
  c.discard(values);
  c.is_busy_ = was_busy;
  c.free_if_done();  // Or whoever is destroying values of it right now does.
}

bool channel_core::is_drained(const owned& self) noexcept {
  const auto& c = static_cast<const channel_core&>(self);
  return (c.is_receiver_dropped_ || c.queued_ == 0) && c.reserved() == 0;
}

bool channel_core::is_awaited(const owned& self) noexcept {
  const auto& c = static_cast<const channel_core&>(self);
  return !c.waiters_.empty() || !c.receivers_.empty();
}

void channel_core::describe(const owned& self, const text_port& out) {
  const auto& c = static_cast<const channel_core&>(self);
  out << "channel " << c.number;
  if (!c.name.view().empty()) out << " '" << c.name.view() << "'";
  channel_report r;
  c.inspect(r);
  out << "  " << channel_lifecycle.name(r.state) << "  " << c.queued_ << " queued, " << c.reserved() << " reserved of "
      << c.capacity_ << ", " << c.senders_ << (c.senders_ == 1 ? " sender, " : " senders, ") << c.waiters_.size()
      << " waiting";
  if (!c.receivers_.empty()) out << ", the receiver waits";
}

void channel_core::hash(const owned& self, digest_stream& out) noexcept {
  const auto& c = static_cast<const channel_core&>(self);
  out.add(c.number);
  out.add(pack(c.queued_, c.reserved()));
  out.add(pack(c.capacity_, c.is_receiver_dropped_ ? 1 : 0));
  for (const std::uint64_t n :
       {c.senders_, c.last_permit_, c.last_waiter_, c.sent_, c.aborted_, c.received_, c.evicted_, c.discarded_}) {
    out.add(n);
  }
  for (const waiter* w = c.waiters_.head(); w != nullptr; w = c.waiters_.after(*w)) {
    out.add(pack(w->id(), extension::number_of(extension::waiting_task(*w))));
  }
  out.add(c.receivers_.empty() ? 0 : extension::number_of(extension::waiting_task(c.receiver_wait_)));
}

std::uint64_t channel_core::events(const owned& self) noexcept {
  const auto& c = static_cast<const channel_core&>(self);
  return 4 + 2 * std::uint64_t{c.reserved()} + 2 * std::uint64_t{c.waiters_.size()};
}

const owned_ops channel_core::ops_table{&channel_core::take_down, &channel_core::is_drained, &channel_core::describe,
                                        &channel_core::hash,      &channel_core::events,     &channel_core::is_awaited};

void channel_core::inspect(channel_report& out) const noexcept {
  out = {id(),
         derive_channel_state(senders_, is_receiver_dropped_),
         capacity_,
         queued_,
         reserved(),
         waiters_.size(),
         waiters_.empty() ? 0 : waiters_.head()->id(),
         senders_,
         !is_receiver_dropped_,
         !receivers_.empty(),
         {last_permit_, sent_, aborted_, received_, evicted_, discarded_}};
}

void channel_core::check() const noexcept {
  ASX_ASSERT(std::uint64_t{free_} + queued_ + shells_ <= capacity_, "queued + reserved <= capacity (INV-CH-01)");
  ASX_ASSERT(is_open_ == (is_quiet_ && !is_receiver_dropped_ && waiters_.empty()), "nobody is passed by (INV-CH-03)");
  ASX_ASSERT(last_permit_ == sent_ + aborted_ + reserved(), "every permit is accounted for (R-234)");
  ASX_ASSERT(sent_ == received_ + evicted_ + discarded_ + queued_, "every message is accounted for (R-234)");
}

}  // namespace asx
