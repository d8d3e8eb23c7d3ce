// asx/base/fork_deque.hpp - what one thread has put aside for itself, and others may take from the other end.
//
//     its owner:  push --> | newest ... oldest | --> steal: anybody
//                 pop  <-- |                   |
//
// 1  Each item that was pushed is given out once: by a pop or by a steal.
// 2  pop gives the newest of those that are left, steal the oldest. A steal may give nothing although there is
//    something, when somebody else was faster; a pop gives nothing only when nothing is left.
// 3  What the owner wrote before its push is seen by whoever steals the item.
// 4  It has room for Capacity items and asks for no memory: a push that finds none is refused, and changes nothing.
//
// It is the deque of Chase and Lev (2005) over a ring of fixed size, with the orders that Lê, Pop, Cohen and Zappa
// Nardelli proved (2013), but for their two fences: operations that are sequentially consistent stand in their place,
// which the thread sanitizer understands.
//
// Cancel points: none. Threads: push and pop are its owner's, the rest anybody's. Lifetime: items outlive their stay.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"

namespace asx {

/// `Atomic` is words::atomic; a test puts one in its place that tries interleavings (tests/interleave).
template <class T, std::size_t Capacity, template <class> class Atomic>
class basic_fork_deque {
  static_assert(Capacity != 0 && (Capacity & (Capacity - 1)) == 0, "places are found by the low bits");

 public:
  basic_fork_deque() noexcept = default;
  basic_fork_deque(const basic_fork_deque&) = delete;
  basic_fork_deque& operator=(const basic_fork_deque&) = delete;

  /// False: there is no room.
  [[nodiscard]] ASX_ALWAYS_INLINE bool push(T* item) noexcept {
    const std::size_t newest = newest_.load(std::memory_order_relaxed);  // Relaxed: its own.
    // Acquire: pairs with the exchange in steal; whoever took what lay in that place has read it.
    if (newest - oldest_.load(std::memory_order_acquire) >= Capacity) return false;
    items_[newest % Capacity].store(item, std::memory_order_relaxed);  // Relaxed: the next line publishes it.
    // Release: pairs with the load in steal; the item is whole for whoever takes it.
    newest_.store(newest + 1, std::memory_order_release);
    return true;
  }

  /// Null: nothing is left.
  [[nodiscard]] ASX_ALWAYS_INLINE T* pop() noexcept {
    const std::size_t newest = newest_.load(std::memory_order_relaxed) - 1;  // Relaxed: its own.
    // Sequentially consistent, both: a thief that has seen the old end has moved the other one before it is looked at
    // here, or sees the new end.
    newest_.store(newest, std::memory_order_seq_cst);
    const std::size_t oldest = oldest_.load(std::memory_order_seq_cst);
    if (static_cast<std::ptrdiff_t>(newest - oldest) > 0) [[likely]]
      return items_[newest % Capacity].load(std::memory_order_relaxed);  // Relaxed: its own.
    return pop_last(newest, oldest);
  }

  /// Null: there is nothing, or somebody else was faster.
  [[nodiscard]] T* steal() noexcept {
    std::size_t oldest = oldest_.load(std::memory_order_seq_cst);  // As in pop.
    // As in pop; and an acquire for what was pushed.
    const std::size_t newest = newest_.load(std::memory_order_seq_cst);
    if (static_cast<std::ptrdiff_t>(newest - oldest) <= 0) return nullptr;
    // Relaxed: it may be another one's already; then the exchange fails.
    T* const item = items_[oldest % Capacity].load(std::memory_order_relaxed);
    return oldest_.compare_exchange_strong(oldest, oldest + 1, std::memory_order_seq_cst, std::memory_order_relaxed)
               ? item
               : nullptr;
  }

  /// Without a promise: a moment later it may be otherwise.
  [[nodiscard]] bool seems_empty() const noexcept {
    const std::size_t oldest = oldest_.load(std::memory_order_relaxed);
    return static_cast<std::ptrdiff_t>(newest_.load(std::memory_order_relaxed) - oldest) <= 0;
  }

 private:
  // The last one, which a thief may be after, or none.
  ASX_OUT_OF_THE_WAY T* pop_last(std::size_t newest, std::size_t oldest) noexcept {
    T* item = nullptr;
    if (newest == oldest) {
      item = items_[newest % Capacity].load(std::memory_order_relaxed);
      // Sequentially consistent: of the two that want it one gets it, and the other one sees that it is gone.
      if (!oldest_.compare_exchange_strong(oldest, oldest + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        item = nullptr;
      }
    }
    newest_.store(newest + 1, std::memory_order_relaxed);  // Relaxed: nothing is published; it is empty either way.
    return item;
  }

  // The two ends on lines of their own: the owner writes one all the time, thieves the other.
  alignas(64) Atomic<std::size_t> newest_{0};
  alignas(64) Atomic<std::size_t> oldest_{0};
  alignas(64) std::array<Atomic<T*>, Capacity> items_{};
};

}  // namespace asx
