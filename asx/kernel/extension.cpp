#include "asx/kernel/extension.hpp"

#include <array>
#include <cstddef>

namespace asx {

thing_room extension::make_room(kernel& k, region_handle region, const thing_order& order) noexcept {
  const inside here(k);
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
  if (k.is_full(k.live_things_[family], limit))
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

void extension::name_queue(wait_queue& queue, wait_code what, const thing& of) noexcept {
  constexpr std::uint32_t most = (1U << 28) - 1;
  const std::uint32_t cell = of.key.index < most ? of.key.index + 1 : 0;
  queue.whose_ = cell << 4 | static_cast<std::uint32_t>(what);
}

void extension::note_name(const thing& made, type_tag tag, std::string_view noun) noexcept {
  kernel& k = made.home;
  if (k.log_.mode() != journal_mode::full) return;
  std::array<char, 48> text{};
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    for (const char c : part) {
      if (size < text.size()) text[size++] = c;
    }
  };
  add(noun);
  if (!noun.empty() && !made.name.view().empty()) add(" ");
  add(made.name.view());
  if (size == 0 || !has_trace(k, size / 16 + 1)) return;
  k.log_.append_text(text_code::name, tag, made.number, {text.data(), size}, k.now().ns);
}

// No cell is of a join: what stands there says that it is no record's.
void extension::name_queue_of_several(wait_queue& queue) noexcept {
  queue.whose_ = std::uint32_t{1} << 4 | static_cast<std::uint32_t>(wait_code::join);
}

void extension::serve_next(kernel& k, wait_queue& waiting, const task_record& ended) noexcept {
  waiter* const w = waiting.head();
  if (w == nullptr) return;
  task_record& t = waiting_task(*w);
  waiting.remove(*w);
  const std::uint64_t number = ended.task().value;
  const std::uint64_t joined = k.note(event_kind::task_joined, number, t.task().value, 0, 0, ended.queued_by);
  k.wake(t, wake_code::joined, joined);
}

namespace {

// A queue that lies in a record, at the same place in each of its kind.
template <class Record>
const Record& holder_of(const wait_queue& queue, const Record& any, const wait_queue& in_any) noexcept {
  const auto offset = reinterpret_cast<const std::byte*>(&in_any) - reinterpret_cast<const std::byte*>(&any);
  return *reinterpret_cast<const Record*>(reinterpret_cast<const std::byte*>(&queue) - offset);
}

}  // namespace

extension::told_wait extension::told(const kernel& k, const waiter& w) noexcept {
  const wait_queue* const queue = w.queue();
  if (queue == nullptr || w.task_ == nullptr) return {};
  const task_record& t = *w.task_;
  const auto what = static_cast<wait_code>(queue->whose_ & 15U);
  if (what == wait_code::join && queue->whose_ >> 4 != 0) return {what};
  if (what == wait_code::join) return {what, holder_of(*queue, t, t.joiners).task().value};
  if (what == wait_code::close) return {what, holder_of(*queue, *t.region, t.region->closers).id.value};
  const std::uint32_t cell = queue->whose_ >> 4;
  return {what, 0, cell == 0 ? nullptr : static_cast<const thing*>(cell_at(k, cell - 1))};
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

void extension::wait_for_foreign(cx& c, std::uint64_t handle) noexcept {
  const inside here(c.kernel());
  task_record& t = *c.task_;
  t.took_waker = true;
  t.waits_for = static_cast<std::uint8_t>(wait_code::foreign);
  t.waits_on = handle;
  t.region->owner_kernel->note(event_kind::task_waits, t.task().value, handle,
                               static_cast<std::uint64_t>(wait_code::foreign));
}

void extension::arrive_wake(kernel& k, task_handle task, std::uint64_t handle) noexcept {
  task_record* const t = live_task(k, task);
  if (t == nullptr || t->is_queued() || t->is_held_back || (t->is_leaving && !t->owned_regions.empty())) return;
  const std::uint64_t asked = note_arrival(k, event_kind::input_wake, t->task().value, handle, next_input(k));
  k.wake(*t, wake_code::input, asked);
}

bool extension::arrive_cancel(kernel& k, task_handle task, std::uint64_t handle, cancel_kind kind) noexcept {
  task_record* const t = live_task(k, task);
  if (t == nullptr) return true;
  // Asked for before request_cancel is, which would tell of its refusal at every step.
  if (k.rejects() && !k.has_trace(k.events_of_cancel(*t) + 1)) return false;
  if (!k.admits_cancel(*t)) return false;
  static_cast<void>(next_input(k));
  const std::uint64_t asked = note_arrival(k, event_kind::input_cancel, t->task().value, t->region->id.value,
                                           static_cast<std::uint64_t>(kind), handle);
  following(k, asked, [&] { k.request_admitted(*t, {kind, {}}); });
  return true;
}

void extension::exit_linked(kernel& k, task_record& who, const task_record& ended, std::string_view text) noexcept {
  if (has_ended(who)) return;
  cancel_reason why;
  why.kind = cancel_kind::linked_exit;
  why.message = text;
  why.timestamp = k.now();
  why.origin_region = ended.region_number;
  why.origin_task = ended.task();
  cause_ref kept;
  if (ended.result.kind == outcome_kind::cancelled) {
    kept = k.causes_.keep(ended.reason());
    why = with_cause(why, kept, k.causes_);
    why.truncated = why.truncated || kept.is_null();
  }
  k.deliver(who, why, 0, ended.queued_by);
  k.cancel_owned_regions(who, who.asked_by);
  k.causes_.release(kept);
}

std::string_view extension::name_of(const kernel& k, task_id task) noexcept {
  std::string_view found;
  k.tasks_.for_each([&](const task_record& t, slab_key) {
    if (t.task() == task) found = t.name.view();
  });
  return found;
}

}  // namespace asx
