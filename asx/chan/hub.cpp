#include "asx/chan/hub.hpp"

#include <utility>

#include "asx/base/hash.hpp"

namespace asx {

// ---- creation -----------------------------------------------------------------------------------------------------

thing_order hub::order_of(const element_type& values, std::uint64_t places, std::uint64_t nominal) noexcept {
  constexpr std::uint64_t most = SIZE_MAX / 4;
  if (places != 0 && values.bytes > most / places) return {thing_family::channel, UINT64_MAX / 4, most, 1};
  return {thing_family::channel, nominal, static_cast<std::size_t>(places) * values.bytes, values.alignment};
}

void hub::settle(const thing_room& room, std::uint64_t capacity) noexcept {
  extension::settle_in(*this, room, order_);
  extension::name_queue(waits_, how().has_one_receiver ? wait_code::reserve : wait_code::recv, *this);
  extension::note(home, event_kind::channel_created, number, region_number, capacity, extension::caller(home));
  extension::note_name(*this, type_tag::channel);
}

// ---- waits --------------------------------------------------------------------------------------------------------

end_wait& end_wait::operator=(end_wait&& other) noexcept {
  if (this != &other) {
    leave();
    const inside here(extension::gate_of(other));
    from_ = other.from_;
    waiter::operator=(std::move(other));
  }
  return *this;
}

status hub::wait(hub_end& from, cx& c, end_wait& w, wait_code what, std::uint64_t& told) noexcept {
  const bool is_new = !w.is_waiting();
  told = 0;
  if (is_new) {
    const std::uint32_t most = home.contract().max_channel_waiters;
    if (extension::is_full(home, waits_.size(), most)) {
      return extension::refuse(home, event_kind::refused_slot, number, status::resource_exhausted,
                               limit_code::channel_waiters, most);
    }
    w.from_ = &from;
    ++from.pending_;
    ++last_wait_;
  }
  if (is_new && how().has_one_receiver) {
    told = note(event_kind::send_waiter_added, last_wait_, waits_.size() + std::uint64_t{1});
  } else if (!how().has_one_receiver && (is_new || &extension::waiting_task(w) != &extension::task_of(c))) {
    told = note(event_kind::receiver_waits, 0, 0);
  }
  extension::wait(c, home, waits_, w, what, number, is_new ? last_wait_ : 0);
  return status::would_block;
}

void hub::remove(end_wait& w, leave_code how_it_left) noexcept {
  const std::uint64_t task = extension::number_of(extension::waiting_task(w));
  const std::uint64_t which = w.id();
  --w.from_->pending_;
  if (how_it_left != leave_code::served) ++unserved_;
  extension::remove(waits_, w);
  if (how().has_one_receiver) {
    extension::note(home, event_kind::send_waiter_removed, number, task, which,
                    pack(static_cast<std::uint64_t>(how_it_left), waits_.size()));
  }
}

// It went by itself, or its task ended.
void hub::wait_left(wait_queue& queue, waiter& w, waiter_name who, leave_code how_it_left) noexcept {
  hub& h = static_cast<end_queue&>(queue).of;
  --static_cast<end_wait&>(w).from_->pending_;
  ++h.unserved_;
  if (h.how().has_one_receiver) {
    extension::note(h.home, event_kind::send_waiter_removed, h.number, who.task.value, who.id,
                    pack(static_cast<std::uint64_t>(how_it_left), h.waits_.size()));
  }
}

void hub::wake_all(wake_code why, std::uint64_t cause) noexcept {
  while (waiter* const w = waits_.head()) {
    extension::task_record& t = extension::waiting_task(*w);
    remove(static_cast<end_wait&>(*w), why == wake_code::disconnected ? leave_code::disconnected : leave_code::served);
    extension::wake(home, t, why, cause);
  }
}

void hub::disconnect(std::uint64_t cause) noexcept {
  wake_all(wake_code::disconnected, cause);
  if (how().disconnect != nullptr) how().disconnect(*this, cause);
}

// ---- ends ---------------------------------------------------------------------------------------------------------

void hub::add(hub_side side) noexcept {
  if (side == hub_side::sender) {
    note(event_kind::sender_cloned, ++senders_, 0);
  } else {
    note(event_kind::receiver_cloned, ++receivers_, 0);
  }
}

// Whoever waits now waits for the side that is gone: the waits of its own side have left with their ends.
void hub::drop(hub_side side) noexcept {
  std::uint64_t told = 0;
  if (side == hub_side::sender) {
    note(event_kind::sender_dropped, --senders_, 0);
    if (senders_ == 0) {
      told = receivers_ == 0 ? note(event_kind::channel_fully_closed_by_sender, 0, 0)
                             : note(event_kind::channel_sender_closed, 0, 0);
      disconnect(told);
    }
  } else {
    --receivers_;
    if (!how().has_one_receiver) told = note(event_kind::receiver_dropped, receivers_, 0);
    if (receivers_ == 0) {
      if (senders_ == 0) {
        told = note(event_kind::channel_fully_closed_by_receiver, 0, 0);
      } else if (how().has_one_receiver) {  // Elsewhere a sender may subscribe another (INV-CH-07).
        told = note(event_kind::channel_receiver_closed, pack(senders_, 0), 0);
      }
      disconnect(told);
      if (how().discards_with_receivers) return discard_unseen();
    }
  }
  free_if_done();
}

// What nobody can see any more goes. While user code is at a value of it it goes when that is over, if
// nobody has subscribed by then: whoever has does not see it either, and newer values take its place.
void hub::discard_unseen() noexcept {
  is_discard_owed_ = is_held();
  if (is_discard_owed_ || receivers_ != 0 || is_down_) return free_if_done();
  if (gate_of(home) == nullptr) {
    const hub_hold held(*this);
    how().discard(*this);
  } else {
    const hub_ending held(*this);
    how().discard(*this);
  }  // The hold frees it.
}

hub_end::hub_end(const hub_end& other) noexcept : at_(other.at_), side_(other.side_) {
  const inside in(at_.gate());
  if (hub* const h = get(); h != nullptr) h->add(side_);
}

hub_end& hub_end::operator=(const hub_end& other) noexcept {
  if (this != &other) {
    hub_end copy(other);
    *this = std::move(copy);
  }
  return *this;
}

hub_end& hub_end::operator=(hub_end&& other) noexcept {
  if (this != &other) {
    drop();
    take(other);
  }
  return *this;
}

void hub_end::take(hub_end& other) noexcept {
  const inside in(other.gate());
  at_ = std::exchange(other.at_, {});
  side_ = other.side_;
  pending_ = std::exchange(other.pending_, 0);
  if (pending_ == 0) return;
  const hub& h = *get();  // Who waits keeps it there.
  for (waiter* w = h.waits_.head(); w != nullptr; w = h.waits_.after(*w)) {
    auto& mine = static_cast<end_wait&>(*w);
    if (mine.from_ == &other) mine.from_ = this;
  }
}

void hub_end::drop() noexcept {
  const inside in(at_.gate());
  hub* const h = get();
  at_ = {};
  if (h == nullptr) return;
  for (waiter* w = h->waits_.head(); pending_ != 0 && w != nullptr;) {
    auto& mine = static_cast<end_wait&>(*w);
    w = h->waits_.after(*w);
    if (mine.from_ != this) continue;
    extension::task_record& t = extension::waiting_task(mine);
    h->remove(mine, leave_code::dropped);
    extension::wake(h->home, t, wake_code::disconnected);  // It finds a dead end.
  }
  h->drop(side_);
}

// ---- values that end outside --------------------------------------------------------------------------------------

bool hub::is_ending_here() const noexcept {
  const void* const me = detail::mark_of_this_thread();
  const hub_ending* e = endings_;
  while (e != nullptr && e->thread_ != me) e = e->next_;  // asx: bounded by the threads, and how deep they nest
  return e != nullptr;
}

hub_ending::~hub_ending() {
  const inside in(at_.home);
  hub_ending** at = &at_.endings_;
  while (*at != this) at = &(*at)->next_;  // asx: bounded by the threads, and how deep they nest
  *at = next_;
  at_.is_discard_owed_ ? at_.discard_unseen() : at_.free_if_done();
}

// ---- the end ------------------------------------------------------------------------------------------------------

// R-239 in its order: told, waits woken and out of the queue, values destroyed, storage freed. The region has let go of
// it already. Who holds it frees it.
void hub::take_down(owned& self, kernel& /*k*/) noexcept {
  auto& h = static_cast<hub&>(self);
  h.is_down_ = true;
  std::uint64_t told = 0;
  if (h.receivers_ != 0) {
    told = h.note(h.senders_ == 0 ? event_kind::channel_fully_closed_by_receiver : event_kind::channel_receiver_closed,
                  pack(h.senders_, 0), 0);
  }
  h.disconnect(told);
  h.free_if_done();
}

void hub::free() noexcept {
  ASX_ASSERT(waits_.empty(), "nobody waits at a hub that is freed (R-168)");
  ASX_ASSERT(endings_ == nullptr, "no value of a hub that is freed is being destroyed (R-252)");
  is_down_ = true;  // Destructors of values find it gone.
  holds_ = 1;
  extension::leave_region(*this);
  how().discard(*this);
  extension::note(home, event_kind::channel_freed, number, region_number);
  kernel& k = home;
  const slab_key cell = key;
  const thing_order order = order_;
  void* const block = block_;
  how().end(*this);
  extension::take_down(k, cell, order, block);
}

std::uint64_t hub::events(const owned& self) noexcept {
  return 4 + 2 * std::uint64_t{static_cast<const hub&>(self).waits_.size()};
}

void hub::hash_waits(digest_stream& out) const noexcept {
  out.add(number);
  out.add(pack(holds_, is_down_ ? 1 : 0));
  for (const std::uint64_t n : {senders_, receivers_, last_wait_}) out.add(n);
  for (const waiter* w = waits_.head(); w != nullptr; w = waits_.after(*w)) {
    out.add(pack(w->id(), extension::number_of(extension::waiting_task(*w))));
  }
}

bool hub::is_awaited(const owned& self) noexcept {
  return !static_cast<const hub&>(self).waits_.empty();
}

void hub::describe_ends(const text_port& out, std::string_view what) const {
  out << what << " " << number;
  if (!name.view().empty()) out << " '" << name.view() << "'";
  out << "  " << senders_ << (senders_ == 1 ? " sender, " : " senders, ") << receivers_
      << (receivers_ == 1 ? " receiver, " : " receivers, ") << waits_.size() << " waiting";
}

}  // namespace asx
