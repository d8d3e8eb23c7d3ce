// asx/wheel/detail/index_heap.hpp - a 4-ary heap of node indices that tells each node where it lies.
//
//     items   [ 7 | 3 9 1 4 | ... ]      children of i are 4i+1 .. 4i+4, none before its parent
//
// 1  The first item goes before all others in the given order; with a total order the sequence of pops is the same
//    whatever the pushes were.
// 2  After every move the order's `placed(index, at)` was called, so that erase needs no search: O(log n).
//
// Step -1 lets a heap grow downward from the end of an array that something else fills from the front.
//
// Four children and not two: a sift goes half as deep, and its four candidates lie in one cache line.
//
// Cancel points: none. Threads: one owner. Lifetime: the items lie in memory that the owner hands over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asx/base/assert.hpp"

namespace asx::detail {

template <std::ptrdiff_t Step>
class index_heap {
 public:
  /// The first item; the others follow it, or go before it when Step is -1.
  void attach(std::uint32_t* first) noexcept {
    first_ = first;
    size_ = 0;
  }
  void clear() noexcept { size_ = 0; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t front() const noexcept { return item(0); }
  [[nodiscard]] std::uint32_t at(std::uint32_t i) const noexcept { return item(i); }

  template <class Order>
  void push(std::uint32_t index, const Order& order) noexcept {
    up(size_++, index, order);
  }

  template <class Order>
  void erase(std::uint32_t at, const Order& order) noexcept {
    ASX_ASSERT(at < size_, "a node is erased from where it lies");
    const std::uint32_t last = item(--size_);
    if (at == size_) return;
    if (at != 0 && order.before(last, item((at - 1) / 4))) {
      up(at, last, order);
    } else {
      down(at, last, order);
    }
  }

  /// Calls `visit(index)` for items that `within(index)` holds for, parents before children, until visit returns false.
  /// `within` must hold for a parent whenever it holds for a child: items that do not qualify hide what is below them.
  template <class Within, class Visit>
  bool for_each_within(std::uint32_t at, const Within& within, const Visit& visit) const noexcept {
    if (at >= size_ || !within(item(at))) return true;
    if (!visit(item(at))) return false;
    for (std::uint32_t child = 4 * at + 1; child < 4 * at + 5; ++child) {
      if (!for_each_within(child, within, visit)) return false;  // As deep as the heap: 14 levels for 2^28 items.
    }
    return true;
  }

  template <class Order>
  void check(const Order& order) const noexcept {
    for (std::uint32_t i = 1; i < size_; ++i) {
      ASX_ASSERT(!order.before(item(i), item((i - 1) / 4)), "no item goes before its parent");
    }
  }

 private:
  [[nodiscard]] std::uint32_t& item(std::uint32_t i) const noexcept {
    return first_[static_cast<std::ptrdiff_t>(i) * Step];
  }

  template <class Order>
  void up(std::uint32_t at, std::uint32_t index, const Order& order) noexcept {
    while (at != 0) {
      const std::uint32_t parent = (at - 1) / 4;
      if (!order.before(index, item(parent))) break;
      put(at, item(parent), order);
      at = parent;
    }
    put(at, index, order);
  }

  template <class Order>
  void down(std::uint32_t at, std::uint32_t index, const Order& order) noexcept {
    for (;;) {
      const std::uint32_t first = 4 * at + 1;
      if (first >= size_) break;
      std::uint32_t least = first;
      const std::uint32_t end = size_ - first < 4 ? size_ : first + 4;
      for (std::uint32_t child = first + 1; child < end; ++child) {
        if (order.before(item(child), item(least))) least = child;
      }
      if (!order.before(item(least), index)) break;
      put(at, item(least), order);
      at = least;
    }
    put(at, index, order);
  }

  template <class Order>
  void put(std::uint32_t at, std::uint32_t index, const Order& order) noexcept {
    item(at) = index;
    order.placed(index, at);
  }

  std::uint32_t* first_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace asx::detail
