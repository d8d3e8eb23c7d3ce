// asx/wheel/detail/ready_queue.hpp - timers that are due and were not collected for want of room.
//
//     run    [ . . 4 9 x 2 ]     sorted once, read from the front; x was cancelled
//     heap   [ 4 | 2 9 ]         once something is pushed behind a run, until the queue is empty again
//
// 1  Pops come in the given order; an erased timer is passed over and its node is free at once (INV-TM-02).
// 2  A run never grows: its gaps are bounded by what was in it, and go when the run is read or turned into a heap.
//
// A batch of a hundred thousand timers of one tick is sorted once and then read like an array; a heap alone would pay
// a sift for each. A run alone could not take in a late timer without moving half of itself.
//
// Cancel points: none. Threads: one owner. Lifetime: the items lie in memory that the owner hands over.
#pragma once

#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/wheel/detail/index_heap.hpp"

namespace asx::detail {

class ready_queue {
 public:
  void attach(std::uint32_t* items) noexcept {
    items_ = items;
    heap_.attach(items);
    clear();
  }
  void clear() noexcept {
    heap_.clear();
    head_ = end_ = live_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return live_ == 0 && heap_.empty(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return live_ != 0 ? live_ : heap_.size(); }
  /// How many items from the first on are in use, gaps included.
  [[nodiscard]] std::uint32_t extent() const noexcept { return live_ != 0 ? end_ : heap_.size(); }
  [[nodiscard]] std::uint32_t front() const noexcept { return live_ != 0 ? items_[head_] : heap_.front(); }

  /// Room for a run that the caller fills and sorts; only while the queue is empty.
  [[nodiscard]] std::uint32_t* run_storage() noexcept {
    ASX_ASSERT(empty(), "a run begins in an empty queue");
    return items_;
  }
  template <class Order>
  void start_run(std::uint32_t count, const Order& order) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) order.placed(items_[i], i);
    head_ = 0;
    end_ = live_ = count;
  }

  template <class Order>
  void push(std::uint32_t index, const Order& order) noexcept {
    if (live_ != 0) turn_into_heap(order);
    heap_.push(index, order);
  }

  /// Makes the extent the size, for whoever needs the room behind it.
  template <class Order>
  void close_gaps(const Order& order) noexcept {
    if (live_ != 0) turn_into_heap(order);
  }

  template <class Order>
  void erase(std::uint32_t at, const Order& order) noexcept {
    if (live_ == 0) {
      heap_.erase(at, order);
      return;
    }
    ASX_ASSERT(at >= head_ && at < end_ && items_[at] != gone, "a timer is erased from where it waits, once");
    items_[at] = gone;
    --live_;
    while (head_ < end_ && items_[head_] == gone) ++head_;  // Each gap is stepped over once: O(1) over all erases.
  }

  template <class Order>
  std::uint32_t pop(const Order& order) noexcept {
    const std::uint32_t index = front();
    erase(live_ != 0 ? head_ : 0, order);
    return index;
  }

  /// The item that will be popped `ahead` pops from now, if nothing is erased; any item, or none: a hint for
  /// prefetches.
  [[nodiscard]] std::uint32_t peek(std::uint32_t ahead) const noexcept {
    return live_ != 0 && ahead < end_ - head_ ? items_[head_ + ahead] : gone;
  }

  /// Calls `visit(index)` for every item, in no order, until it returns false.
  template <class Visit>
  void for_each(const Visit& visit) const noexcept {
    if (live_ == 0) {
      heap_.for_each_within(0, [](std::uint32_t) { return true; }, visit);
      return;
    }
    for (std::uint32_t i = head_; i < end_; ++i) {
      if (items_[i] != gone && !visit(items_[i])) return;
    }
  }

  template <class Order>
  void check(const Order& order) const noexcept {
    heap_.check(order);
    ASX_ASSERT(live_ == 0 || heap_.empty(), "the queue is a run or a heap, not both");
    std::uint32_t last = gone;
    std::uint32_t seen = 0;
    for (std::uint32_t i = head_; i < end_; ++i) {
      if (items_[i] == gone) continue;
      ASX_ASSERT(last == gone || order.before(last, items_[i]), "a run is sorted (R-81)");
      last = items_[i];
      ++seen;
    }
    ASX_ASSERT(live_ == seen, "a run knows how many of its timers are live");
  }

  static constexpr std::uint32_t gone = UINT32_MAX;

 private:
  // A sorted array is a heap already, once its gaps are closed.
  template <class Order>
  void turn_into_heap(const Order& order) noexcept {
    std::uint32_t kept = 0;
    for (std::uint32_t i = head_; i < end_; ++i) {
      if (items_[i] == gone) continue;
      heap_.push(items_[i], order);
      ++kept;
    }
    ASX_ASSERT(kept == live_, "closing the gaps keeps every live timer");
    head_ = end_ = live_ = 0;
  }

  std::uint32_t* items_ = nullptr;
  index_heap<1> heap_;      // Empty while there is a run; both use the same items.
  std::uint32_t head_ = 0;  // The run is [head_, end_), its first item live.
  std::uint32_t end_ = 0;
  std::uint32_t live_ = 0;  // Items of the run that are not gone.
};

}  // namespace asx::detail
