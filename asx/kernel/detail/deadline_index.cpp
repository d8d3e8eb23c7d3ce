#include "asx/kernel/detail/deadline_index.hpp"

#include <algorithm>
#include <cstring>

#include "asx/kernel/detail/records.hpp"

namespace asx::detail {

deadline_index::~deadline_index() {
  if (heap_ != nullptr) memory_.release(memory_.context, heap_, room_ * sizeof(entry), alignof(entry));
}

bool deadline_index::admit(std::uint32_t count) noexcept {
  if (count <= room_) return true;
  const std::uint32_t more = std::max({count, room_ + room_ / 2, 16U});
  auto* const larger = static_cast<entry*>(memory_.allocate(memory_.context, more * sizeof(entry), alignof(entry)));
  if (larger == nullptr) return false;
  if (size_ != 0) std::memcpy(larger, heap_, size_ * sizeof(entry));
  if (heap_ != nullptr) memory_.release(memory_.context, heap_, room_ * sizeof(entry), alignof(entry));
  heap_ = larger;
  room_ = more;
  return true;
}

void deadline_index::put(std::uint32_t i, const entry& e) noexcept {
  heap_[i] = e;
  e.who->index_place = i;
}

// Moves `e` from the hole up or down to where it belongs.
void deadline_index::settle(std::uint32_t hole, const entry& e) noexcept {
  while (hole != 0 && e.goes_before(heap_[(hole - 1) / 2])) {
    put(hole, heap_[(hole - 1) / 2]);
    hole = (hole - 1) / 2;
  }
  for (;;) {
    std::uint32_t child = 2 * hole + 1;
    if (child >= size_) break;
    if (child + 1 < size_ && heap_[child + 1].goes_before(heap_[child])) ++child;
    if (!heap_[child].goes_before(e)) break;
    put(hole, heap_[child]);
    hole = child;
  }
  put(hole, e);
}

void deadline_index::enter(task_record& t, instant deadline, std::uint64_t creation) noexcept {
  ASX_ASSERT(size_ < room_ && t.index_place == nowhere, "room was made when the task was admitted (R-109)");
  settle(size_++, {deadline.ns, creation, &t});
}

void deadline_index::leave(task_record& t) noexcept {
  const std::uint32_t hole = t.index_place;
  if (hole == nowhere) return;
  ASX_ASSERT(hole < size_ && heap_[hole].who == &t, "a task in the index knows where it lies");
  t.index_place = nowhere;
  const entry last = heap_[--size_];
  if (hole != size_) settle(hole, last);
}

}  // namespace asx::detail
