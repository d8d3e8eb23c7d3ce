#include "asx/kernel/extension.hpp"

namespace asx {

thing_room extension::make_room(kernel& k, region_handle region, const thing_order& order) noexcept {
  const bool is_channel = order.family == thing_family::channel;
  const event_kind kind = is_channel ? event_kind::refused_channel : event_kind::refused_other;
  const auto family = static_cast<std::size_t>(order.family);
  const auto refuse = [&](std::uint64_t object, const kernel::refusal& why) {
    return thing_room{k.refuse(kind, object, why), nullptr, nullptr, {}, nullptr};
  };
  detail::region_record* const r = k.find(region);
  if (r == nullptr) return refuse(0, {status::stale_handle});
  if (const kernel::refusal shut = k.gate(*r); shut.code != status::ok) return refuse(r->id.value, shut);
  constexpr status full = status::resource_exhausted;
  const std::uint32_t limit = is_channel ? k.contract_.max_channels : k.contract_.max_sync;
  if (k.live_things_[family] >= limit)
    return refuse(r->id.value, {full, is_channel ? limit_code::channels : limit_code::sync, limit});
  if (!k.has_bytes(order.nominal)) return refuse(r->id.value, {full, limit_code::memory, k.contract_.max_bytes});
  if (!k.has_trace(2)) return refuse(r->id.value, k.no_trace());
  constexpr std::size_t most = SIZE_MAX / 4;  // More fits into no address space; nobody is asked for it.
  if (order.bytes >= most) return refuse(r->id.value, {full, limit_code::memory, 0});
  thing_room room{status::ok, nullptr, nullptr, {}, r};
  if (order.bytes != 0) {
    room.block = k.blocks_.allocate(order.bytes, order.alignment);
    if (room.block == nullptr) return refuse(r->id.value, {full, limit_code::memory, 0});
  }
  const slab_entry<std::byte> cell = k.cells_.take();
  if (!cell) {
    if (room.block != nullptr) k.blocks_.release(room.block, order.bytes, order.alignment);
    return refuse(r->id.value, {full, limit_code::memory, 0});
  }
  room.cell = cell.record;
  room.key = cell.key;
  return room;
}

void extension::settle_in(thing& made, const thing_room& room, const thing_order& order) noexcept {
  kernel& k = made.home;
  const auto family = static_cast<std::size_t>(order.family);
  made.key = room.key;
  made.region_number = room.region->id.value;
  made.number = ++k.next_thing_[family];
  ++k.live_things_[family];
  k.bytes_ += order.nominal;
  room.region->things.push_back(made);
}

void extension::take_down(kernel& k, slab_key key, const thing_order& order, void* block) noexcept {
  --k.live_things_[static_cast<std::size_t>(order.family)];
  k.bytes_ -= order.nominal;
  if (block != nullptr) k.blocks_.release(block, order.bytes, order.alignment);
  k.cells_.give_back(key);
}

status extension::gate(const kernel& k, region_handle region) noexcept {
  const detail::region_record* const r = k.find(region);
  return r == nullptr ? status::stale_handle : k.gate(*r).code;
}

}  // namespace asx
