#include "asx/chan/watch.hpp"

#include <new>

#include "asx/base/hash.hpp"

namespace asx {

status watch_core::create(kernel& k, region_handle region, const element_type& values, std::string_view called,
                          watch_core*& out) noexcept {
  const inside in(k);
  const thing_order order = order_of(values, 2, nominal_bytes::channel + nominal_bytes::channel_slot);
  const thing_room room = extension::make_room(k, region, order);
  if (room.code != status::ok) return room.code;
  out = new (room.cell) watch_core(k, called, values, order, room.block);
  out->settle(room, 1);
  out->hold();
  return status::ok;
}

void* watch_core::publish() noexcept {
  const std::uint64_t asked = extension::note_input(home, event_kind::input_send, number);
  void* const leaves = current();
  current_ = 1 - current_;
  ++version_;
  const std::uint64_t told = extension::note(home, event_kind::value_published, number, extension::caller(home),
                                             version_, pack(receivers_, 1), 0, asked);
  wake_all(wake_code::message, told);
  return leaves;
}

status watch_core::poll_changed(hub_end& from, std::uint64_t& seen, cx& c, end_wait& w) noexcept {
  begin(from, w);
  status s = extension::checkpoint(c);
  if (s == status::ok && version_ == seen) s = has_senders() ? status::would_block : status::disconnected;
  if (s == status::would_block && !has_trace()) s = status::resource_exhausted;
  if (s == status::would_block) {
    std::uint64_t told = 0;
    return wait(from, c, w, wait_code::recv, told);
  }
  w.leave();
  if (s == status::ok) seen = version_;
  return s;
}

bool watch_core::is_drained(const owned& /*self*/) noexcept {  // a state is nobody's message.
  return true;
}

void watch_core::describe(const owned& self, const text_port& out) {
  const auto& c = static_cast<const watch_core&>(self);
  c.describe_ends(out, "watch");
  out << ", version " << c.version_;
}

void watch_core::hash(const owned& self, digest_stream& out) noexcept {
  const auto& c = static_cast<const watch_core&>(self);
  c.hash_waits(out);
  out.add(c.version_);
}

void watch_core::discard(hub& self) noexcept {
  auto& c = static_cast<watch_core&>(self);
  if (!c.has_value_) return;
  c.has_value_ = false;
  if (c.destroy_ == nullptr) return;
  const outside open(c.home.gate_in_use());  // Nobody finds it any more.
  c.destroy_(c.current());
}

void watch_core::end(hub& self) noexcept {
  static_cast<watch_core&>(self).~watch_core();
}

const hub_ops watch_core::ops_table{{&hub::take_down, &watch_core::is_drained, &watch_core::describe, &watch_core::hash,
                                     &hub::events, &hub::is_awaited},
                                    &watch_core::discard,
                                    &watch_core::end,
                                    nullptr,
                                    false,
                                    false};

}  // namespace asx
