#include "asx/kernel/detail/reasons.hpp"

#include <algorithm>
#include <new>

namespace asx::detail {

reason_pool::~reason_pool() {
  while (chunk* const c = chunks_) {  // asx: bounded by the chunks, which grow by half
    chunks_ = c->before;
    memory_.release(memory_.context, c, bytes_of(c->slots), alignof(std::max_align_t));
  }
}

bool reason_pool::grow(std::uint32_t count) noexcept {
  const std::uint32_t least = count - room_;
  // By half, and never beyond the contract.
  const std::uint32_t more = std::max(least, std::min(std::max(room_ / 2, 16U), most_ > room_ ? most_ - room_ : 0));
  void* const block = memory_.allocate(memory_.context, bytes_of(more), alignof(std::max_align_t));
  if (block == nullptr) return false;
  chunks_ = new (block) chunk{chunks_, more};
  ++made_;
  room_ += more;
  return true;
}

reason_slot& reason_pool::take() noexcept {
  reason_slot* slot = free_;
  if (slot != nullptr) {
    free_ = slot->next_free;
  } else {
    if (fresh_left_ == 0) {
      ASX_ASSERT(opened_ < made_, "room was made when the task was admitted (R-14)");
      chunk* c = chunks_;
      for (std::uint32_t i = made_ - ++opened_; i != 0; --i) c = c->before;
      fresh_ = reinterpret_cast<std::byte*>(c) + header;
      fresh_left_ = c->slots;
    }
    slot = new (fresh_) reason_slot;
    fresh_ += sizeof(reason_slot);
    --fresh_left_;
  }
  slot->count = 1;
  return *slot;
}

reason_slot& reason_pool::own(reason_slot& slot, causes& store) noexcept {
  if (slot.count == 1) return slot;
  reason_slot& copy = take();
  copy.reason.hold(store, slot.reason.get());
  release(slot, store);
  return copy;
}

}  // namespace asx::detail
