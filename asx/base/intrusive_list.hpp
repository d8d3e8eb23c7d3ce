// asx/base/intrusive_list.hpp - a FIFO list whose links lie inside its elements, so that queueing allocates nothing.
//
//     struct task : list_hook<struct lane_tag>, list_hook<struct region_tag> { ... };
//     intrusive_list<task, lane_tag> lane;
//
//     sentinel <-> first <-> second <-> ... <-> last <-> (sentinel)
//
// 1  An element is in at most one list per tag; putting it in twice is an assertion, not a corruption.
// 2  push_back, push_front, pop_front, insert_before and unlink are O(1); unlink needs no list, only the element.
// 3  The list owns nothing: an element must be unlinked before it dies, and the list must be empty when it does.
//
// The ring with a sentinel was chosen over head and tail pointers because unlinking then has no branches
// and needs no list; the price is that a list cannot be moved.
//
// Cancel points: none. Threads: one owner, or a lock around it. Lifetime: elements outlive their membership.
#pragma once

#include "asx/base/assert.hpp"

namespace asx {

template <class Tag>
class list_hook {
 public:
  constexpr list_hook() = default;
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;
  constexpr ~list_hook() { ASX_ASSERT(!linked(), "an element must leave its list before it dies"); }

  [[nodiscard]] constexpr bool linked() const noexcept { return next_ != nullptr; }

  constexpr void unlink() noexcept {
    ASX_ASSERT(linked(), "only an element that is in a list can leave one");
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = prev_ = nullptr;
  }

 private:
  template <class, class>
  friend class intrusive_list;

  list_hook* next_ = nullptr;  // Null while the element is in no list.
  list_hook* prev_ = nullptr;
};

template <class T, class Tag>
class intrusive_list {
  using hook = list_hook<Tag>;

 public:
  constexpr intrusive_list() noexcept { ring_.next_ = ring_.prev_ = &ring_; }
  intrusive_list(const intrusive_list&) = delete;
  intrusive_list& operator=(const intrusive_list&) = delete;
  constexpr ~intrusive_list() {
    ASX_ASSERT(empty(), "a list must be empty when it dies: its elements would point at it");
    ring_.next_ = ring_.prev_ = nullptr;
  }

  [[nodiscard]] constexpr bool empty() const noexcept { return ring_.next_ == &ring_; }

  constexpr void push_back(T& element) noexcept { link(ring_.prev_, element, &ring_); }
  constexpr void push_front(T& element) noexcept { link(&ring_, element, ring_.next_); }
  constexpr void insert_before(T& position, T& element) noexcept {
    hook& at = position;
    ASX_ASSERT(at.linked(), "the position must be in a list");
    link(at.prev_, element, &at);
  }

  /// Null when there is none.
  [[nodiscard]] constexpr T* front() const noexcept { return element_of(ring_.next_); }
  [[nodiscard]] constexpr T* back() const noexcept { return element_of(ring_.prev_); }
  [[nodiscard]] constexpr T* after(const T& element) const noexcept {
    return element_of(static_cast<const hook&>(element).next_);
  }
  [[nodiscard]] constexpr T* before(const T& element) const noexcept {
    return element_of(static_cast<const hook&>(element).prev_);
  }

  constexpr T* pop_front() noexcept {
    hook* const first = ring_.next_;
    if (first == &ring_) return nullptr;
    first->next_->prev_ = &ring_;
    ring_.next_ = first->next_;
    first->next_ = first->prev_ = nullptr;
    return static_cast<T*>(first);
  }

  /// Moves every element of `other` behind those of this list, in their order.
  constexpr void splice_back(intrusive_list& other) noexcept {
    ASX_ASSERT(&other != this, "a list cannot be spliced onto itself");
    if (other.empty()) return;
    hook* const first = other.ring_.next_;
    hook* const last = other.ring_.prev_;
    other.ring_.next_ = other.ring_.prev_ = &other.ring_;
    first->prev_ = ring_.prev_;
    ring_.prev_->next_ = first;
    last->next_ = &ring_;
    ring_.prev_ = last;
  }

 private:
  constexpr void link(hook* before, T& element, hook* after) noexcept {
    hook& h = element;
    ASX_ASSERT(!h.linked(), "an element is in at most one list per tag");
#if defined(__clang_analyzer__)  // It loses sight of what the constructors of an array of lists did.
    ASX_ASSERT(before != nullptr && after != nullptr, "a ring is closed");
#endif
    h.prev_ = before;
    h.next_ = after;
    before->next_ = &h;
    after->prev_ = &h;
  }
  constexpr T* element_of(hook* h) const noexcept { return h == &ring_ ? nullptr : static_cast<T*>(h); }

  hook ring_;
};

}  // namespace asx
