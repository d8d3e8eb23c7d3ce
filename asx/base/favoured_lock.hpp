// asx/base/favoured_lock.hpp - a lock with a favourite: one thread that goes in and out by a plain store each.
//
//     the favourite:  "I am in" --> still the favourite? --yes--> in --> "I am out"
//                                                        --no---> "I am out" --> as everybody else
//     everybody else: the lock --> nobody is the favourite --> every thread passes a barrier --> it is out? --> in
//     who gives way:  as everybody else, unless too many of its kind went before one that waits there: then behind it
//
// 1  One thread is inside at a time, and sees what those before it wrote there.
// 2  The favourite's way has no exchange and no barrier: whoever comes between pays for both. Either the favourite sees
//    that it is none any more, or the other one sees that it is in.
// 3  A seat is of one thread: as long as that lives, no other one goes in by it. It may be made inside.
// 4  Between two entries by `lock` no more than `passings` of those who give way go before one that waits there, as
//    many as they may be. Among those who come by `lock` there is no order.
//
// Cancel points: none. Threads: any. Lifetime: seats outlive the lock's use of them, and it is dropped free.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/atomic_word.hpp"
#include "asx/base/conditional_lock.hpp"
#include "asx/base/config.hpp"

namespace asx {

/// Where a thread stands at a lock that it may become the favourite of. It should not share its line with another one.
template <template <class> class Atomic>
struct basic_lock_seat {
  Atomic<const void*> thread{nullptr};  // The mark of that thread.
  Atomic<std::uint32_t> in{0};          // How deep it is in, as the favourite; else 0. Written by that thread alone.
  Atomic<bool> is_favoured{false};      // Written by who has the lock.
  std::uint64_t entries = 0;            // How often that thread came in: as the favourite; else its user counts.

  /// For that thread alone, which may be in already. True: it is in, by so much deeper. False: nothing has happened,
  /// and `lock` is the way in.
  [[nodiscard]] ASX_ALWAYS_INLINE bool enter(std::uint32_t deeper = 1) noexcept {
    const std::uint32_t before = in.load(std::memory_order_relaxed);  // Relaxed: its own.
    in.store(before + deeper, std::memory_order_relaxed);             // Relaxed: the other one's barrier orders it.
    std::atomic_signal_fence(std::memory_order_seq_cst);              // For the compiler alone; nothing is executed.
    if (is_favoured.load(std::memory_order_relaxed)) [[likely]] {     // Relaxed: as the store.
      ++entries;
      return true;
    }
    if (before != 0) return true;            // Whoever took the favour away waits until it is out.
    in.store(0, std::memory_order_release);  // As in leave.
    return false;
  }
  /// For that thread, when it is in as the favourite: out at once, however deep it was.
  ASX_ALWAYS_INLINE void leave() noexcept {
    // Release: pairs with the acquire of who shuts it out. Nothing of the lock is touched behind this.
    in.store(0, std::memory_order_release);
  }
};

/// `Atomic` is words::atomic; a test puts one in its place that tries interleavings (tests/interleave).
template <template <class> class Atomic>
class basic_favoured_lock {
 public:
  using seat = basic_lock_seat<Atomic>;

  /// True: it is in. False: nothing has happened, and `lock` is the way in.
  [[nodiscard]] ASX_ALWAYS_INLINE bool enter_as_favourite(const void* me) noexcept {
    // Acquire: that seat may be another thread's, which it has made just now.
    seat& mine = *favourite_.load(std::memory_order_acquire);
    // Relaxed: it is this thread's mark only if this thread wrote it.
    return mine.thread.load(std::memory_order_relaxed) == me && mine.enter();
  }
  /// For who is inside: it came in as the favourite, or has become it.
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_in_as_favourite() const noexcept { return favoured_ != &none_; }
  /// The same one's seat; of nobody, and never in, when it did not.
  [[nodiscard]] ASX_ALWAYS_INLINE seat& seat_inside() const noexcept { return *favoured_; }

  /// `machine` has relax; wait, which passes the time for the nth time while a word has a value; order_all_threads,
  /// which lets every thread pass a full barrier, wherever it is; and says how many `spins` are worth it before a
  /// sleep, and how many `passings` are too many. True: there was a favourite, who is none any more.
  template <class Machine>
  bool lock(const Machine& machine) noexcept {
    if (!lock_.try_lock()) {
      waiting_.fetch_add(1, std::memory_order_relaxed);  // Relaxed: a wish. It counts once somebody sees it.
      wait_for_lock(machine);
      waiting_.fetch_sub(1, std::memory_order_relaxed);  // Inside: who finds one here finds it before its turn.
    }
    passed_ = 0;
    if (gave_way_) {
      gave_way_ = false;
      turn_.fetch_add(1, std::memory_order_release);  // Release: who gave way comes after this.
    }
    return shut_out(machine);
  }
  /// The same for one that gives way: no more than `passings` of its kind go in before one that waits in `lock`.
  template <class Machine>
  bool lock_giving_way(const Machine& machine) noexcept {
    while (true) {  // asx: bounded by how often somebody waits in `lock` meanwhile
      if (!lock_.try_lock()) wait_for_lock(machine);
      if (waiting_.load(std::memory_order_relaxed) == 0) break;  // Relaxed: who is through was so before this lock.
      if (passed_ < Machine::passings) {
        ++passed_;
        break;
      }
      gave_way_ = true;
      const std::uint32_t seen = turn_.load(std::memory_order_relaxed);  // Relaxed: written under the lock alone.
      lock_.unlock();
      // Acquire: pairs with the release above. That one is on its way: it has not had the lock since it was seen here.
      for (int i = 0; turn_.load(std::memory_order_acquire) == seen; ++i) {  // asx: bounded by its way in
        machine.wait(turn_, seen, i);
      }
    }
    return shut_out(machine);
  }
  /// For who is inside by either: somebody waits in `lock`.
  [[nodiscard]] bool is_waited_for() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

  /// For who came in by `lock`, with its own seat: it stays in, and is the favourite from here on.
  void favour(seat& mine) noexcept {
    mine.in.store(1, std::memory_order_relaxed);  // Released by the unlock: nobody looks before its own lock.
    mine.is_favoured.store(true, std::memory_order_relaxed);
    favoured_ = &mine;
    favourite_.store(&mine, std::memory_order_release);  // Release: whoever sees the seat sees it whole.
    lock_.unlock();
  }
  void leave() noexcept {
    if (is_in_as_favourite()) {
      favoured_->leave();
    } else {
      lock_.unlock();
    }
  }

 private:
  template <class Machine>
  void wait_for_lock(const Machine& machine) noexcept {
    static_assert(Machine::spins > 0);
    for (int i = 1; i < Machine::spins; ++i) {  // asx: bounded by spins
      machine.relax();
      if (lock_.try_lock()) return;
    }
    lock_.lock();
  }
  template <class Machine>
  bool shut_out(const Machine& machine) noexcept {
    seat* const other = favourite_.load(std::memory_order_relaxed);  // Relaxed: written under the lock alone.
    if (other == &none_) [[likely]]
      return false;
    favourite_.store(&none_, std::memory_order_relaxed);  // Relaxed: the barrier orders both.
    other->is_favoured.store(false, std::memory_order_relaxed);
    machine.order_all_threads();
    // Acquire: what it did inside is seen.
    std::uint32_t in = other->in.load(std::memory_order_acquire);
    for (int i = 0; in != 0; ++i) {  // asx: bounded by its stay
      machine.wait(other->in, in, i);
      in = other->in.load(std::memory_order_acquire);
    }
    favoured_ = &none_;
    return true;
  }

  seat none_;  // Nobody's, so that nobody has to ask whether there is one.
  Atomic<seat*> favourite_{&none_};
  seat* favoured_ = &none_;  // The same, for who is inside: it stays until that one is out.
  basic_conditional_lock<Atomic> lock_{true};
  Atomic<std::uint32_t> waiting_{0};  // How many wait in `lock`.
  Atomic<std::uint32_t> turn_{0};     // Counts those who came in by it when somebody had given way.
  std::uint32_t passed_ = 0;          // How many went in before one that waits. Under the lock, as is what follows.
  bool gave_way_ = false;
};

using favoured_lock = basic_favoured_lock<words::atomic>;
using lock_seat = basic_lock_seat<words::atomic>;

}  // namespace asx
