#include "asx/chan/broadcast.hpp"

#include <new>
#include <utility>

#include "asx/base/hash.hpp"

namespace asx {

status broadcast_core::create(kernel& k, region_handle region, const leaving_type& values, std::uint32_t capacity,
                              std::string_view called, broadcast_core*& out) noexcept {
  const inside in(k);
  if (capacity == 0) {
    k.panic("a broadcast needs a capacity above 0");
    return status::invalid_argument;
  }
  const thing_order order =
      order_of(values, std::uint64_t{capacity} + 1, nominal_bytes::channel + capacity * nominal_bytes::channel_slot);
  const thing_room room = extension::make_room(k, region, order);
  if (room.code != status::ok) return room.code;
  out = new (room.cell) broadcast_core(k, called, values, capacity, order, room.block);
  out->settle(room, capacity);
  return status::ok;
}

// ---- values -------------------------------------------------------------------------------------------------------

void* broadcast_core::publish() noexcept {
  const std::uint64_t asked = extension::note_input(home, event_kind::input_send, number);
  void* leaves = nullptr;
  if (kept_ == capacity_) {
    leaves = place_of(oldest());
    note(event_kind::message_evicted, oldest() + 1, pack(capacity_ - 1, 0));
    ++counts_.overwritten;
    --kept_;
  }
  ++next_;
  ++kept_;
  ++counts_.sent;
  owed_ += receivers_;
  const std::uint64_t told = extension::note(home, event_kind::value_published, number, extension::caller(home), next_,
                                             pack(receivers_, kept_), 0, asked);
  wake_all(wake_code::message, told);
  if (home.ghosts().is_on()) [[unlikely]]
    check();
  return leaves;
}

void broadcast_core::check() const noexcept {
  ASX_ASSERT(kept_ <= capacity_ && std::uint64_t{kept_} + doomed_ <= slots_, "a broadcast keeps what it has room for");
  ASX_ASSERT(counts_.sent == counts_.overwritten + counts_.discarded + kept_, "every value is accounted for (R-259)");
}

status broadcast_core::try_recv(std::uint64_t& cursor, std::uint64_t& skipped) noexcept {
  if (cursor != next_ && !has_trace()) return status::resource_exhausted;
  if (cursor < oldest()) {
    skipped = oldest() - cursor;
    cursor = oldest();
    owed_ -= skipped;
    ++counts_.lagged;
    counts_.skipped += skipped;
    note(event_kind::receiver_lagged, skipped, cursor + 1);
    return status::lagged;
  }
  if (cursor != next_) return status::ok;
  return has_senders() ? status::empty : status::disconnected;
}

status broadcast_core::poll_recv(hub_end& from, std::uint64_t& cursor, std::uint64_t& skipped, cx& c,
                                 end_wait& w) noexcept {
  begin(from, w);
  status s = extension::checkpoint(c);
  if (s == status::ok) s = try_recv(cursor, skipped);
  if (s == status::empty && !has_trace()) s = status::resource_exhausted;
  if (s == status::empty) {
    std::uint64_t told = 0;
    return wait(from, c, w, wait_code::recv, told);
  }
  w.leave();
  return s;
}

void broadcast_core::deliver(std::uint64_t& cursor) noexcept {
  ++cursor;
  --owed_;
  ++counts_.delivered;
  note(event_kind::message_received, cursor, pack(next_ - cursor, 0));
}

// ---- receivers ----------------------------------------------------------------------------------------------------

cursor_end::cursor_end(const cursor_end& other) noexcept : end_(other.end_), cursor_(other.cursor_) {
  const inside in(end_.gate());
  if (broadcast_core* const core = get(); core != nullptr) core->owe(cursor_);
}

cursor_end& cursor_end::operator=(const cursor_end& other) noexcept {
  if (this != &other) {
    cursor_end copy(other);
    *this = std::move(copy);
  }
  return *this;
}

cursor_end& cursor_end::operator=(cursor_end&& other) noexcept {
  if (this != &other) {
    drop();
    end_ = std::move(other.end_);
    cursor_ = other.cursor_;
  }
  return *this;
}

void cursor_end::drop() noexcept {
  const inside in(end_.gate());
  if (broadcast_core* const core = get(); core != nullptr) core->forgive(cursor_);
  end_.drop();
}

// ---- what the region asks -----------------------------------------------------------------------------------------

bool broadcast_core::is_drained(const owned& self) noexcept {
  return static_cast<const broadcast_core&>(self).owed_ == 0;
}

void broadcast_core::describe(const owned& self, const text_port& out) {
  const auto& c = static_cast<const broadcast_core&>(self);
  c.describe_ends(out, "broadcast");
  out << ", " << c.kept_ << " kept of " << c.capacity_ << ", " << c.owed_ << " to be received";
}

void broadcast_core::hash(const owned& self, digest_stream& out) noexcept {
  const auto& c = static_cast<const broadcast_core&>(self);
  c.hash_waits(out);
  out.add(pack(c.capacity_, c.kept_));
  for (const std::uint64_t n : {c.next_, c.owed_, c.counts_.sent, c.counts_.delivered, c.counts_.overwritten,
                                c.counts_.discarded, c.counts_.lagged, c.counts_.skipped}) {
    out.add(n);
  }
}

void broadcast_core::discard(hub& self) noexcept {
  auto& c = static_cast<broadcast_core&>(self);
  const std::uint64_t first = c.oldest();
  const std::uint32_t count = std::exchange(c.kept_, 0);
  c.counts_.discarded += count;
  c.check();
  if (count != 0) c.note(event_kind::messages_discarded, count, 0);
  if (c.destroy_ == nullptr) return;
  if (gate_of(c.home) == nullptr || c.is_down()) {  // Nobody takes a place of it meanwhile.
    const outside open(c.home.gate_in_use());
    for (std::uint32_t i = 0; i < count; ++i) c.destroy_(c.place_of(first + i));  // asx: bounded by the capacity
  } else if (c.end_outside_ == nullptr) {
    for (std::uint32_t i = 0; i < count; ++i) c.destroy_(c.place_of(first + i));  // asx: bounded by the capacity
  } else {  // A sender that comes in between and needs the place of one of them takes that one.
    c.doomed_ += count;
    while (c.doomed_ != 0) c.end_outside_(c, c.take_discarded());  // asx: bounded by the capacity
  }
}

void broadcast_core::end(hub& self) noexcept {
  static_cast<broadcast_core&>(self).~broadcast_core();
}

const hub_ops broadcast_core::ops_table{{&hub::take_down, &broadcast_core::is_drained, &broadcast_core::describe,
                                         &broadcast_core::hash, &hub::events, &hub::is_awaited},
                                        &broadcast_core::discard,
                                        &broadcast_core::end,
                                        nullptr,
                                        false,
                                        true};

}  // namespace asx
