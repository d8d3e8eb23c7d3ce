// asx/base/atomic_word.hpp - what threads share word by word: std::atomic; in a build for stress, one that dawdles.
//
// 1  As built for users, a word is a std::atomic, and disturb is nothing.
// 2  Under ASX_DISTURBED every operation of every word lets other threads go ahead now and then, before it and behind
//    it, and so does disturb, which stands before every other lock. What they return is the same. Such a build is for
//    its own tests: it is not installed, and no part of another project.
//
// Cancel points: none. Threads: any. Lifetime: plain value.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/config.hpp"

namespace asx {

#if !defined(ASX_DISTURBED)

namespace words {
using std::atomic;  // The very template, for whoever takes one: an alias of it would be another one to Clang.
}

inline void disturb() noexcept {}

#else

/// Once in a while it waits for a moment, or gives its core away.
ASX_API void disturb() noexcept;
/// How often this thread was asked to.
ASX_API std::uint64_t disturbances() noexcept;

namespace words {

template <class T>
class atomic : private std::atomic<T> {  // What is not here does not compile, rather than not dawdle.
  using base = std::atomic<T>;
  using order = std::memory_order;
  struct dawdle {
    dawdle() noexcept { disturb(); }
    ~dawdle() { disturb(); }
  };

 public:
  using base::is_always_lock_free;

  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : base(value) {}

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
  void wait(T old, order o = order::seq_cst) const noexcept { dawdle(), base::wait(old, o); }
  void notify_one() noexcept { dawdle(), base::notify_one(); }
  void notify_all() noexcept { dawdle(), base::notify_all(); }
};

}  // namespace words

#endif

template <class T>
using atomic_word = words::atomic<T>;

}  // namespace asx
