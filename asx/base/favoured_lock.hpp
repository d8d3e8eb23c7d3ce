// asx/base/favoured_lock.hpp - a lock with a favourite: one thread that goes in and out by a plain store each.
//
//     the favourite:  "I am in" --> still the favourite? --yes--> in --> "I am out"
//                                                        --no---> "I am out" --> as everybody else
//     everybody else: the lock --> nobody is the favourite --> every thread passes a barrier --> it is out? --> in
//
// 1  One thread is inside at a time, and sees what those before it wrote there.
// 2  The favourite's way has no exchange and no barrier: whoever comes between pays for both. Either the favourite sees
//    that it is none any more, or the other one sees that it is in.
// 3  A seat is of one thread: as long as that lives, no other one goes in by it. It may be made inside.
//
// Cancel points: none. Threads: any. Lifetime: seats outlive the lock's use of them, and it is dropped free.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/atomic_word.hpp"
#include "asx/base/conditional_lock.hpp"
#include "asx/base/config.hpp"

namespace asx {

/// Where a thread stands at a lock that it may become the favourite of. Its line is its own.
template <template <class> class Atomic>
struct alignas(64) basic_lock_seat {
  Atomic<const void*> thread{nullptr};  // The mark of that thread.
  Atomic<bool> is_in{false};            // As the favourite.
  std::uint64_t entries = 0;            // How often that thread came in: as the favourite; else its user counts.
};

/// `Atomic` is words::atomic; a test puts one in its place that tries every interleaving (tests/interleave).
template <template <class> class Atomic>
class basic_favoured_lock {
 public:
  using seat = basic_lock_seat<Atomic>;

  /// True: it is in. False: nothing has happened, and `lock` is the way in.
  [[nodiscard]] ASX_ALWAYS_INLINE bool enter_as_favourite(const void* me) noexcept {
    // Acquire: that seat may be another thread's, which it has made just now.
    seat* const mine = favourite_.load(std::memory_order_acquire);
    // Relaxed: it is this thread's mark only if this thread wrote it.
    if (mine == nullptr || mine->thread.load(std::memory_order_relaxed) != me) return false;
    mine->is_in.store(true, std::memory_order_relaxed);   // Relaxed: the other one's barrier orders it.
    std::atomic_signal_fence(std::memory_order_seq_cst);  // For the compiler alone; nothing is executed.
    if (favourite_.load(std::memory_order_relaxed) == mine) [[likely]] {
      ++mine->entries;
      return true;
    }
    mine->is_in.store(false, std::memory_order_release);  // As in leave_as_favourite.
    return false;
  }
  /// For who is inside: it came in as the favourite, or has become it.
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_in_as_favourite() const noexcept { return favoured_ != nullptr; }
  ASX_ALWAYS_INLINE void leave_as_favourite() noexcept {
    seat* const mine = favoured_;
    // Release: pairs with the acquire of who shuts it out. Nothing of the lock is touched behind this.
    mine->is_in.store(false, std::memory_order_release);
  }

  /// `machine` has relax; wait, which passes the time for the nth time while a word has a value; order_all_threads,
  /// which lets every thread pass a full barrier, wherever it is; and says how many `spins` are worth it before a
  /// sleep. True: there was a favourite, who is none any more.
  template <class Machine>
  bool lock(const Machine& machine) noexcept {
    static_assert(Machine::spins > 0);
    for (int i = 0; i < Machine::spins && !lock_.try_lock(); ++i) {  // asx: bounded by spins
      if (i + 1 == Machine::spins) lock_.lock();
      machine.relax();
    }
    seat* const other = favourite_.load(std::memory_order_relaxed);  // Relaxed: written under the lock alone.
    if (other == nullptr) [[likely]]
      return false;
    favourite_.store(nullptr, std::memory_order_relaxed);  // Relaxed: the barrier orders it.
    machine.order_all_threads();
    // Acquire: what it did inside is seen.
    for (int i = 0; other->is_in.load(std::memory_order_acquire); ++i) {  // asx: bounded by its stay
      machine.wait(other->is_in, true, i);
    }
    favoured_ = nullptr;
    return true;
  }
  /// For who came in by `lock`, with its own seat: it stays in, and is the favourite from here on.
  void favour(seat& mine) noexcept {
    mine.is_in.store(true, std::memory_order_relaxed);  // Released by the unlock: nobody looks before its own lock.
    favoured_ = &mine;
    favourite_.store(&mine, std::memory_order_release);  // Release: whoever sees the seat sees it whole.
    lock_.unlock();
  }
  void leave() noexcept {
    if (is_in_as_favourite()) {
      leave_as_favourite();
    } else {
      lock_.unlock();
    }
  }

 private:
  basic_conditional_lock<Atomic> lock_{true};
  Atomic<seat*> favourite_{nullptr};
  seat* favoured_ = nullptr;  // The same, for who is inside: it stays until that one is out.
};

using favoured_lock = basic_favoured_lock<words::atomic>;
using lock_seat = basic_lock_seat<words::atomic>;

}  // namespace asx
