// tests/interleave/faults.hpp - atomics that do not do as they are told, to show that a check notices.
//
// The code under test stays as it is: what is wrong is the ground that it stands on.
//
// Cancel points: none. Threads: the engine's. Lifetime: a world's.
#pragma once

#include "tests/interleave/atomic.hpp"

namespace asx::interleave {

/// Exchanges hand nothing over.
template <class T>
class forgetful_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  T exchange(T value, std::memory_order) noexcept { return atomic<T>::exchange(value, std::memory_order_relaxed); }
};

/// Stores hand nothing over.
template <class T>
class silent_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  void store(T value, std::memory_order) noexcept { atomic<T>::store(value, std::memory_order_relaxed); }
};

/// Nobody is woken.
template <class T>
class mute_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  void notify_one() noexcept {}
};

/// A lock that had to be waited for is taken as one that nobody else waits for.
template <class T>
class careless_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  T exchange(T value, std::memory_order order) noexcept {
    constexpr T unlocked = 0;
    constexpr T held = 1;
    constexpr T contended = 2;
    return this->change(order, "exchange",
                        [value](T before) { return value == contended && before == unlocked ? held : value; });
  }
};

/// An exchange in two steps.
template <class T>
class torn_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  T exchange(T value, std::memory_order order) noexcept {
    const T before = this->load(std::memory_order_acquire);
    this->store(value, order == std::memory_order_acquire ? std::memory_order_relaxed : order);
    return before;
  }
};

struct forgetful_threads : threads {
  template <class T>
  using atomic = forgetful_atomic<T>;
};

struct mute_threads : threads {
  static void wake_one(threads::atomic<std::uint32_t>&) noexcept {}
};

struct torn_threads : threads {
  template <class T>
  using atomic = torn_atomic<T>;
};

/// Sleeps without a look at the word.
struct blind_threads : threads {
  static void sleep_while(threads::atomic<std::uint32_t>& word, std::uint32_t, duration longest) noexcept {
    word.sleep_while(word.load(std::memory_order_relaxed), longest != duration::max());
  }
};

}  // namespace asx::interleave
