#include "asx/chan/rendezvous.hpp"

#include <new>

#include "asx/base/hash.hpp"

namespace asx {

status rendezvous_core::create(kernel& k, region_handle region, std::string_view called,
                               rendezvous_core*& out) noexcept {
  const inside in(k);
  const thing_order order{thing_family::channel, nominal_bytes::channel, 0};
  const thing_room room = extension::make_room(k, region, order);
  if (room.code != status::ok) return room.code;
  out = new (room.cell) rendezvous_core(k, called, order);
  out->settle(room, 0);
  extension::name_queue(out->receivers_queue_, wait_code::recv, *out);
  return status::ok;
}

// ---- offers -------------------------------------------------------------------------------------------------------

status rendezvous_core::poll_send(hub_end& from, cx& c, offer_core& offer, bool is_one_of_several) noexcept {
  begin(from, offer);
  offer.is_one_of_several_ = is_one_of_several;
  if (const status s = extension::checkpoint(c); s != status::ok) {
    if (offer.is_waiting()) extension::leave(offer, leave_code::cancelled);
    return s;
  }
  if (!has_receivers()) {  // Who waited was taken out of the queue when the receiver went.
    offer.leave();
    return status::disconnected;
  }
  if (!has_trace()) {
    offer.leave();
    return extension::refuse(home, event_kind::refused_slot, number, status::resource_exhausted, limit_code::trace);
  }
  const bool is_new = !offer.is_waiting();
  std::uint64_t told = 0;
  const status s = wait(from, c, offer, wait_code::reserve, told);
  if (s == status::would_block && is_new) {
    ++offered_;
    wake_receiver(wake_code::message, told);
  }
  return s;
}

void rendezvous_core::finish(offer_core& offer) noexcept {
  ASX_ASSERT(waits_.head() == &offer, "the move of a value that is offered does not use its rendezvous (R-341)");
  stop_waiting();
  extension::task_record& sender = extension::waiting_task(offer);
  offer.is_taken_ = true;
  if (offer.is_one_of_several_) extension::decide(sender);
  ++taken_;
  serve(offer);
  const std::uint64_t told = note(event_kind::message_received, taken_, pack(waits_.size(), 0));
  extension::wake(home, sender, wake_code::slot, told);
  if (home.ghosts().is_on()) [[unlikely]]
    check();
}

// ---- the receiver -------------------------------------------------------------------------------------------------

status rendezvous_core::poll_recv(cx& c) noexcept {
  if (const status s = extension::checkpoint(c); s != status::ok) {
    stop_waiting();
    return s;
  }
  if (const status s = try_recv(); s != status::empty) {
    if (s != status::ok) stop_waiting();
    return s;
  }
  if (!has_trace()) {
    stop_waiting();
    return status::resource_exhausted;
  }
  if (receivers_queue_.empty() || &extension::waiting_task(receiver_wait_) != &extension::task_of(c)) {
    note(event_kind::receiver_waits, 0, 0);
  }
  extension::wait(c, home, receivers_queue_, receiver_wait_, wait_code::recv, number);
  return status::would_block;
}

status rendezvous_core::try_recv() noexcept {
  if (!waits_.empty() && is_held()) return status::reentrant;
  pass_over_decided();
  if (!waits_.empty()) return has_trace() ? status::ok : status::resource_exhausted;
  return has_senders() ? status::empty : status::disconnected;
}

// Their tasks have not been polled since another one's offer was taken: it would withdraw these then.
void rendezvous_core::pass_over_decided() noexcept {
  while (!waits_.empty() && has_trace()) {  // asx: bounded by who waits
    offer_core& first = head();
    if (!first.is_one_of_several_ || !extension::was_decided(extension::waiting_task(first))) return;
    extension::leave(first, leave_code::dropped);
  }
}

void rendezvous_core::wake_receiver(wake_code why, std::uint64_t cause) noexcept {
  if (receivers_queue_.empty()) return;
  extension::task_record& t = extension::waiting_task(receiver_wait_);
  stop_waiting();
  extension::wake(home, t, why, cause);
}

void rendezvous_core::wake_receiver_of(hub& self, std::uint64_t cause) noexcept {
  auto& c = static_cast<rendezvous_core&>(self);
  c.check();
  c.wake_receiver(wake_code::disconnected, cause);
}

// ---- what the region asks -----------------------------------------------------------------------------------------

bool rendezvous_core::is_drained(const owned& self) noexcept {
  const auto& c = static_cast<const rendezvous_core&>(self);
  return !c.has_receivers() || c.waits_.empty();
}

bool rendezvous_core::is_awaited(const owned& self) noexcept {
  return hub::is_awaited(self) || !static_cast<const rendezvous_core&>(self).receivers_queue_.empty();
}

void rendezvous_core::describe(const owned& self, const text_port& out) {
  const auto& c = static_cast<const rendezvous_core&>(self);
  c.describe_ends(out, "rendezvous");
  out << ", " << c.taken_ << " taken";
  if (!c.receivers_queue_.empty()) out << ", the receiver waits";
}

void rendezvous_core::hash(const owned& self, digest_stream& out) noexcept {
  const auto& c = static_cast<const rendezvous_core&>(self);
  c.hash_waits(out);
  out.add(c.offered_);
  out.add(c.taken_);
  out.add(c.receivers_queue_.empty() ? 0 : extension::number_of(extension::waiting_task(c.receiver_wait_)));
}

void rendezvous_core::discard(hub& /*self*/) noexcept {}  // Values lie in their offers.

void rendezvous_core::end(hub& self) noexcept {
  auto& c = static_cast<rendezvous_core&>(self);
  c.check();
  c.~rendezvous_core();
}

const hub_ops rendezvous_core::ops_table{{&hub::take_down, &rendezvous_core::is_drained, &rendezvous_core::describe,
                                          &rendezvous_core::hash, &hub::events, &rendezvous_core::is_awaited},
                                         &rendezvous_core::discard,
                                         &rendezvous_core::end,
                                         &rendezvous_core::wake_receiver_of,
                                         true,
                                         false};

}  // namespace asx
