// asx/runtime/detail/bell.hpp - how somebody outside wakes one of those who sleep, and no more than one.
//
//     ring --> somebody sleeps: the one who answers is to be woken
//          --> nobody does:     whoever wants to sleep next is told, and looks once more
//
// 1  No ring is lost: one that was woken for it looks what it was for, or one that has not slept since.
// 2  A ring wakes one at most, and none while the one before has not been heard.
// 3  As long as anybody sleeps, somebody who sleeps answers: who is woken for something else hands it on.
//
// `Atomic` is words::atomic; a test puts one in its place that tries interleavings (tests/interleave).
//
// Cancel points: none. Threads: ring and would_wake: any, and signal handlers; the rest by one at a time. Lifetime:
// plain value.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/atomic_word.hpp"

namespace asx::detail {

template <template <class> class Atomic>
class basic_bell {
 public:
  static constexpr std::uint32_t nobody = UINT32_MAX >> 1U;

  /// Who is to be woken; `nobody`.
  [[nodiscard]] std::uint32_t ring() noexcept {
    // Release: pairs with the exchanges below; what it rings for is seen. Acquire: whom it wakes has left what it had.
    const std::uint32_t before = word_.fetch_or(rung, std::memory_order_acq_rel);
    return (before & rung) != 0 ? nobody : before;
  }

  /// Somebody sleeps, and would be woken by a ring; a moment later it may be otherwise. Relaxed: it is only looked at.
  [[nodiscard]] bool would_wake() const noexcept { return word_.load(std::memory_order_relaxed) < nobody; }

  /// It will sleep, and counts as one that does. False: it has rung since somebody slept last, and who asks looks again
  /// instead.
  [[nodiscard]] bool may_sleep(std::uint32_t who) noexcept {
    if (answers_ != nobody) return true;
    answers_ = who;
    if (!hand_to(who)) return true;
    answers_ = nobody;
    static_cast<void>(hand_to(nobody));  // Who rang between the two has woken this one, which looks.
    return false;
  }
  /// Whoever answers: it must be handed on when that one is woken, for whatever it is.
  [[nodiscard]] std::uint32_t answers() const noexcept { return answers_; }
  /// Who answered is awake, and will look; `next` sleeps, or is `nobody`.
  void hand_on(std::uint32_t next) noexcept {
    answers_ = next;
    static_cast<void>(hand_to(next));
  }

 private:
  static constexpr std::uint32_t rung = 1U << 31U;

  // True: it had rung.
  [[nodiscard]] bool hand_to(std::uint32_t who) noexcept {
    return (word_.exchange(who, std::memory_order_acq_rel) & rung) != 0;  // As in ring.
  }

  Atomic<std::uint32_t> word_{nobody};
  std::uint32_t answers_ = nobody;
};

using bell = basic_bell<words::atomic>;

}  // namespace asx::detail
