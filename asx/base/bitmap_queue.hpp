// asx/base/bitmap_queue.hpp - 256 priorities, FIFO within each, push and pop in O(1).
//
//     bitmap   0 0 1 0 ... ?      one bit a priority below the top that has elements
//                  |       |
//     lists        a-b     c      an intrusive FIFO each
//                          top    nothing is above it; what comes and goes there asks no bit
//
// 1  Higher numbers come first; within one priority, first in comes first out.
// 2  Nothing allocates: the links lie in the elements (list_hook<Tag>).
//
// Cancel points: none. Threads: one owner, or a lock around it. Lifetime: as intrusive_list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asx/base/bitmap256.hpp"
#include "asx/base/intrusive_list.hpp"

namespace asx {

template <class T, class Tag>
class bitmap_queue {
 public:
  using list = intrusive_list<T, Tag>;

  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

  constexpr void push(T& element, std::uint8_t priority) noexcept {
    lists_[priority].push_back(element);
    ++size_;
    if (priority != top_) set(priority);
  }

  /// The element that pop would return; null when empty.
  [[nodiscard]] constexpr T* front() const noexcept {
    const int priority = top();
    return priority == bitmap256::none ? nullptr : lists_[static_cast<unsigned>(priority)].front();
  }

  constexpr T* pop() noexcept {
    T* element = lists_[top_].pop_front();
    if (element == nullptr) [[unlikely]] {
      if (size_ == 0) return nullptr;
      occupied_.clear(top_);
      top_ = static_cast<std::uint8_t>(occupied_.highest());
      element = lists_[top_].pop_front();
      ASX_ASSERT(element != nullptr, "a bit below the top is set exactly while its priority has elements");
    }
    --size_;
    return element;
  }

  /// The element that every other one goes before: lowest priority, last in. A thief takes this one.
  [[nodiscard]] constexpr T* last_ranked() const noexcept {
    const int priority = below_top().lowest();
    return lists_[priority == bitmap256::none ? top_ : static_cast<unsigned>(priority)].back();
  }

  /// `priority` must be the one the element was pushed with.
  constexpr void remove(T& element, std::uint8_t priority) noexcept {
    ASX_ASSERT(!lists_[priority].empty(), "an element must be removed with the priority it was pushed with");
    static_cast<list_hook<Tag>&>(element).unlink();
    if (priority != top_ && lists_[priority].empty()) occupied_.clear(priority);
    --size_;
  }

  /// Asserts that every bit below the top says whether its list has elements, that nothing is above it, and that they
  /// are `size` together. O(n), for tests.
  constexpr void check() const noexcept {
    std::size_t seen = 0;
    for (unsigned p = 0; p < 256; ++p) {
      ASX_ASSERT(p == top_ || lists_[p].empty() != occupied_.test(static_cast<std::uint8_t>(p)),
                 "a bit below the top is set exactly while its priority has elements");
      ASX_ASSERT(p <= top_ || lists_[p].empty(), "nothing is above the top");
      for (const T* e = lists_[p].front(); e != nullptr; e = lists_[p].after(*e)) ++seen;
    }
    ASX_ASSERT(seen == size_, "the size is the number of elements in all lists");
  }

  /// The elements of one priority in FIFO order, to look at.
  [[nodiscard]] constexpr const list& at(std::uint8_t priority) const noexcept { return lists_[priority]; }
  /// The highest priority that has elements, or bitmap256::none.
  [[nodiscard]] constexpr int top() const noexcept {
    return lists_[top_].empty() ? below_top().highest() : static_cast<int>(top_);
  }

 private:
  // Another priority than the top's has an element now. Out of the way: most that come are equals.
  ASX_OUT_OF_THE_WAY constexpr void set(std::uint8_t priority) noexcept {
    occupied_.set(priority);
    if (priority < top_) return;
    if (lists_[top_].empty()) {
      occupied_.clear(top_);
    } else {
      occupied_.set(top_);
    }
    top_ = priority;
  }
  [[nodiscard]] constexpr bitmap256 below_top() const noexcept {
    bitmap256 all = occupied_;
    all.clear(top_);
    return all;
  }

  bitmap256 occupied_;    // The top's own bit means nothing.
  std::uint8_t top_ = 0;  // Nothing is above it, and it may have no elements itself.
  std::size_t size_ = 0;
  std::array<list, 256> lists_{};
};

}  // namespace asx
