// asx/base/bitmap_queue.hpp - 256 priorities, FIFO within each, push and pop in O(1).
//
//     bitmap   0 0 1 0 ... 1      one bit a priority that has elements
//                  |       |
//     lists        a-b     c      an intrusive FIFO each
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
    occupied_.set(priority);
    ++size_;
  }

  /// The element that pop would return; null when empty.
  [[nodiscard]] constexpr T* front() const noexcept {
    const int priority = occupied_.highest();
    return priority == bitmap256::none ? nullptr : lists_[static_cast<unsigned>(priority)].front();
  }

  constexpr T* pop() noexcept {
    const int priority = occupied_.highest();
    if (priority == bitmap256::none) return nullptr;
    list& from = lists_[static_cast<unsigned>(priority)];
    T* const element = from.pop_front();
    ASX_ASSERT(element != nullptr, "a bit is set exactly while its priority has elements");
    if (from.empty()) occupied_.clear(static_cast<std::uint8_t>(priority));
    --size_;
    return element;
  }

  /// The element that every other one goes before: lowest priority, last in. A thief takes this one.
  [[nodiscard]] constexpr T* last_ranked() const noexcept {
    const int priority = occupied_.lowest();
    return priority == bitmap256::none ? nullptr : lists_[static_cast<unsigned>(priority)].back();
  }

  /// `priority` must be the one the element was pushed with.
  constexpr void remove(T& element, std::uint8_t priority) noexcept {
    ASX_ASSERT(occupied_.test(priority), "an element must be removed with the priority it was pushed with");
    static_cast<list_hook<Tag>&>(element).unlink();
    if (lists_[priority].empty()) occupied_.clear(priority);
    --size_;
  }

  /// Asserts that every bit says whether its list has elements, and that they are `size` together. O(n), for tests.
  constexpr void check() const noexcept {
    std::size_t seen = 0;
    for (unsigned p = 0; p < 256; ++p) {
      ASX_ASSERT(lists_[p].empty() != occupied_.test(static_cast<std::uint8_t>(p)),
                 "a bit is set exactly while its priority has elements");
      for (const T* e = lists_[p].front(); e != nullptr; e = lists_[p].after(*e)) ++seen;
    }
    ASX_ASSERT(seen == size_, "the size is the number of elements in all lists");
  }

  /// The elements of one priority in FIFO order, to look at.
  [[nodiscard]] constexpr const list& at(std::uint8_t priority) const noexcept { return lists_[priority]; }
  /// The highest priority that has elements, or bitmap256::none.
  [[nodiscard]] constexpr int top() const noexcept { return occupied_.highest(); }

 private:
  bitmap256 occupied_;
  std::size_t size_ = 0;
  std::array<list, 256> lists_{};
};

}  // namespace asx
