// asx/base/atomic_word.hpp - what threads share word by word: std::atomic; in a build for stress, one that dawdles.
//
// 1  As built for users, an atomic_word is std::atomic, and disturb is nothing.
// 2  Under ASX_DISTURBED every operation of every atomic_word lets other threads go ahead now and then, before it and
//    behind it, and so does disturb, which stands at every other lock. What they return is the same.
//
// Cancel points: none. Threads: any. Lifetime: plain value.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/config.hpp"

namespace asx {

#if !defined(ASX_DISTURBED)

template <class T>
using atomic_word = std::atomic<T>;

inline void disturb() noexcept {}

#else

/// Once in a while it waits for a moment, or gives its core away.
ASX_API void disturb() noexcept;
/// How often this thread was asked to.
ASX_API std::uint64_t disturbances() noexcept;

template <class T>
class atomic_word : public std::atomic<T> {
  using base = std::atomic<T>;
  using order = std::memory_order;
  struct dawdle {
    dawdle() noexcept { disturb(); }
    ~dawdle() { disturb(); }
  };

 public:
  constexpr atomic_word() noexcept = default;
  constexpr atomic_word(T value) noexcept : base(value) {}

  [[nodiscard]] T load(order o = order::seq_cst) const noexcept { return dawdle(), base::load(o); }
  void store(T value, order o = order::seq_cst) noexcept { dawdle(), base::store(value, o); }
  T exchange(T value, order o = order::seq_cst) noexcept { return dawdle(), base::exchange(value, o); }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
    return dawdle(), base::compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, order o = order::seq_cst) noexcept {
    return dawdle(), base::compare_exchange_strong(expected, desired, o);
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
    return dawdle(), base::compare_exchange_weak(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, order o = order::seq_cst) noexcept {
    return dawdle(), base::compare_exchange_weak(expected, desired, o);
  }
  T fetch_add(T by, order o = order::seq_cst) noexcept { return dawdle(), base::fetch_add(by, o); }
  T fetch_sub(T by, order o = order::seq_cst) noexcept { return dawdle(), base::fetch_sub(by, o); }
  T fetch_or(T bits, order o = order::seq_cst) noexcept { return dawdle(), base::fetch_or(bits, o); }
  T fetch_and(T bits, order o = order::seq_cst) noexcept { return dawdle(), base::fetch_and(bits, o); }
};

#endif

}  // namespace asx
