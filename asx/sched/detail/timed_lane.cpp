#include "asx/sched/detail/timed_lane.hpp"

#include <algorithm>
#include <new>

namespace asx::detail {

timed_pages::~timed_pages() {
  while (chunks_ != nullptr) {
    chunk* const gone = chunks_;
    chunks_ = gone->next;
    memory_.release(memory_.context, gone, chunk_bytes(gone->pages), alignof(timed_page));
  }
}

bool timed_pages::grow_to(std::uint32_t pages) noexcept {
  const lock_guard guard(lock_);
  if (pages <= total_) return true;
  // Half as much again, so that admitting one task after the other asks seldom; what was asked for, if that is refused.
  const std::uint32_t needed = pages - total_;
  std::uint32_t more = std::max(needed, total_ / 2);
  void* block = memory_.allocate(memory_.context, chunk_bytes(more), alignof(timed_page));
  if (block == nullptr && more != needed) {
    more = needed;
    block = memory_.allocate(memory_.context, chunk_bytes(more), alignof(timed_page));
  }
  if (block == nullptr) return false;
  chunks_ = new (block) chunk{chunks_, more};
  auto* const first = reinterpret_cast<timed_page*>(static_cast<std::byte*>(block) + pages_offset);
  for (std::uint32_t i = more; i-- > 0;) {
    auto* const page = new (first + i) timed_page;
    page->next_free = free_;
    free_ = page;
  }
  total_ += more;
  return true;
}

void timed_lane::remove(place& p) noexcept {
  const std::uint32_t hole = p.heap_index_;
  ASX_ASSERT(size_ != 0 && hole < root + size_ && at(hole).who == &p, "a place in the timed lane knows where it lies");
  p.heap_index_ = place::no_index;
  const std::uint32_t end = root + --size_;
  const timed_entry last = at(end);
  at(end) = nobody;
  if (end != hole) {
    if (hole != root && last.goes_before(at(parent_of(hole)))) {
      rise(hole, last);
    } else {
      sink(hole, last);
    }
  }
  if (end == root || end % page_entries == 0) pool_.give_back(table_[end / page_entries]);
}

namespace {

// Which of four siblings goes first. Deadlines are compared in registers and without branches, since which is smaller
// cannot be foretold; equal ones, which can, go by their numbers.
unsigned first_of_four(const timed_entry* child) noexcept {
  const std::uint64_t d0 = child[0].deadline_ns;
  const std::uint64_t d1 = child[1].deadline_ns;
  const std::uint64_t d2 = child[2].deadline_ns;
  const std::uint64_t d3 = child[3].deadline_ns;
  // Sums and masks: a choice would become a branch again.
  const auto second_left = static_cast<unsigned>(d1 < d0);
  const auto second_right = static_cast<unsigned>(d3 < d2);
  const std::uint64_t left = d0 ^ ((d0 ^ d1) & (0 - std::uint64_t{second_left}));
  const std::uint64_t right = d2 ^ ((d2 ^ d3) & (0 - std::uint64_t{second_right}));
  const bool has_equals = ((d0 == d1) | (d2 == d3) | (left == right)) != 0;
  if (!has_equals) [[likely]] {
    const unsigned mask = 0U - static_cast<unsigned>(right < left);
    return second_left ^ ((second_left ^ (2 + second_right)) & mask);
  }
  unsigned best = 0;
  for (unsigned i = 1; i < 4; ++i) {
    if (child[i].goes_before(child[best])) best = i;
  }
  return best;
}

}  // namespace

void timed_lane::sink(std::uint32_t hole, const timed_entry& entry) noexcept {
  const std::uint32_t end = root + size_;
  for (;;) {
    const std::uint64_t first = std::uint64_t{hole} * 4 - 8;
    if (first >= end) break;
    const auto at_first = static_cast<std::uint32_t>(first);
    const timed_entry* const child = &at(at_first);
    const unsigned best = first_of_four(child);
    if (!child[best].goes_before(entry)) break;
    put(hole, child[best]);
    hole = at_first + best;
  }
  put(hole, entry);
}

void timed_lane::check() const noexcept {
  for (std::uint32_t i = root; i < root + size_; ++i) {
    const timed_entry& e = at(i);
    ASX_ASSERT(e.who->heap_index_ == i && !e.who->linked(), "a place in the timed lane knows where it lies");
    ASX_ASSERT(e.who->deadline_.ns == e.deadline_ns && e.who->insertion_seq_ == e.insertion_seq,
               "an entry has the key of its place");
    ASX_ASSERT(i == root || !e.goes_before(at(parent_of(i))), "no entry goes before the one above it (R-96)");
  }
  for (std::uint32_t i = root + size_; size_ > 1 && i % 4 != 0; ++i) {
    ASX_ASSERT(at(i).who == nullptr, "what a group has no entry for goes last");
  }
}

}  // namespace asx::detail
