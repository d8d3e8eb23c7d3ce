// tests/interleave/atomic.hpp - std::atomic, a plain variable and the machine under a parker, as the engine knows them.
//
// 1  Each operation of an atomic is a point at which another thread may go on, and means what its memory order says.
// 2  A plain variable is a point of none; two accesses that nothing orders are a race.
//
// Cancel points: none. Threads: the engine's. Lifetime: a world's.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "asx/base/time.hpp"
#include "tests/interleave/engine.hpp"

namespace asx::interleave {

template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  atomic() noexcept : atomic(T{}) {}
  atomic(T value) noexcept { detail::add_word(this, word_of(value)); }
  ~atomic() { detail::remove_word(this); }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  [[nodiscard]] T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return value_of(detail::load(this, order));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    detail::store(this, word_of(value), order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    const T before = value_of(detail::begin_exchange(this, order, "exchange"));
    detail::end_exchange(this, word_of(value), order);
    return before;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return compare_exchange(expected, desired, success, failure, false);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange(expected, desired, order, without_store(order), false);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return compare_exchange(expected, desired, success, failure, true);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange(expected, desired, order, without_store(order), true);
  }
  T fetch_add(T by, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change(order, "fetch_add", [by](T v) { return static_cast<T>(v + by); });
  }
  T fetch_sub(T by, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change(order, "fetch_sub", [by](T v) { return static_cast<T>(v - by); });
  }
  T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change(order, "fetch_or", [bits](T v) { return static_cast<T>(v | bits); });
  }
  T fetch_and(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change(order, "fetch_and", [bits](T v) { return static_cast<T>(v & bits); });
  }

  void wait(T old, std::memory_order order = std::memory_order_seq_cst) const noexcept {
    while (word_of(load(order)) == word_of(old)) detail::sleep(this, word_of(old), false);
  }
  void notify_one() noexcept { detail::wake(this, false); }
  void notify_all() noexcept { detail::wake(this, true); }

  /// Spins as long as that is the last value, which takes no step.
  void stand_while(T value) const noexcept { detail::stand(this, word_of(value)); }
  /// A futex on this word.
  bool sleep_while(T value, bool is_limited) noexcept { return detail::sleep(this, word_of(value), is_limited); }

 protected:
  template <class Change>
  T change(std::memory_order order, const char* what, Change by) noexcept {
    const T before = value_of(detail::begin_exchange(this, order, what));
    detail::end_exchange(this, word_of(by(before)), order);
    return before;
  }

 private:
  static std::uint64_t word_of(T value) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
  static T value_of(std::uint64_t word) noexcept {
    T value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  static constexpr std::memory_order without_store(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    return order == std::memory_order_release ? std::memory_order_relaxed : order;
  }
  bool compare_exchange(T& expected, T desired, std::memory_order success, std::memory_order failure,
                        bool is_weak) noexcept {
    std::uint64_t seen = word_of(expected);
    const bool is_done = detail::compare_exchange(this, seen, word_of(desired), success, failure, is_weak);
    if (!is_done) expected = value_of(seen);
    return is_done;
  }
};

template <class T>
class plain {
 public:
  plain() noexcept : plain(T{}) {}
  plain(T value) noexcept : value_(value) { detail::access_plain(history_, detail::access::writes); }
  plain(const plain&) = delete;
  plain& operator=(const plain& other) noexcept {
    set(other.get());
    return *this;
  }
  plain& operator=(T value) noexcept {
    set(value);
    return *this;
  }
  operator T() const noexcept { return get(); }

  [[nodiscard]] T get() const noexcept {
    detail::access_plain(history_, detail::access::reads);
    return value_;
  }
  void set(T value) noexcept {
    detail::access_plain(history_, detail::access::writes);
    value_ = value;
  }

 private:
  T value_;
  mutable detail::plain_history history_;
};

/// In place of asx::system_threads.
struct threads {
  template <class T>
  using atomic = interleave::atomic<T>;
  template <class T>
  using plain = interleave::plain<T>;
  static constexpr int spins = 1;
  static constexpr int yields = 1;
  static void relax() noexcept {}
  static void yield() noexcept {}
  static void sleep_while(atomic<std::uint32_t>& word, std::uint32_t value, duration longest) noexcept {
    word.sleep_while(value, longest != duration::max());
  }
  static void wake_one(atomic<std::uint32_t>& word) noexcept { word.notify_one(); }
};

}  // namespace asx::interleave
