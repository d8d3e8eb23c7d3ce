// asx/base/time.hpp - logical time in unsigned 64-bit nanoseconds that never wraps.
//
//     instant   a moment, counted from 0 where the run began
//     duration  a distance between two moments
//
// 1  The largest instant means "none": no deadline, no timer. It is later than every moment.
// 2  A sum that does not fit is none; a difference below zero is zero; none minus a moment is the largest duration.
// 3  Nothing here reads a clock.
//
// The moment is called instant and not time, because ::time of the C library makes the shorter name ambiguous
// in the first program that says `using namespace asx`.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <compare>
#include <cstdint>

namespace asx {

struct duration {
  std::uint64_t ns = 0;

  [[nodiscard]] static constexpr duration max() noexcept { return {UINT64_MAX}; }
  [[nodiscard]] static constexpr duration nanoseconds(std::uint64_t n) noexcept { return {n}; }
  [[nodiscard]] static constexpr duration microseconds(std::uint64_t n) noexcept { return of(n, 1'000); }
  [[nodiscard]] static constexpr duration milliseconds(std::uint64_t n) noexcept { return of(n, 1'000'000); }
  [[nodiscard]] static constexpr duration seconds(std::uint64_t n) noexcept { return of(n, 1'000'000'000); }
  [[nodiscard]] static constexpr duration minutes(std::uint64_t n) noexcept { return of(n, 60'000'000'000); }
  [[nodiscard]] static constexpr duration hours(std::uint64_t n) noexcept { return of(n, 3'600'000'000'000); }
  [[nodiscard]] static constexpr duration days(std::uint64_t n) noexcept { return of(n, 86'400'000'000'000); }

  friend constexpr auto operator<=>(duration, duration) noexcept = default;

  friend constexpr duration operator+(duration a, duration b) noexcept {
    return {a.ns > UINT64_MAX - b.ns ? UINT64_MAX : a.ns + b.ns};
  }
  friend constexpr duration operator-(duration a, duration b) noexcept { return {a.ns > b.ns ? a.ns - b.ns : 0}; }

 private:
  static constexpr duration of(std::uint64_t n, std::uint64_t unit) noexcept {
    return {n > UINT64_MAX / unit ? UINT64_MAX : n * unit};
  }
};

struct instant {
  std::uint64_t ns = 0;

  [[nodiscard]] static constexpr instant none() noexcept { return {UINT64_MAX}; }
  [[nodiscard]] constexpr bool is_none() const noexcept { return ns == UINT64_MAX; }

  friend constexpr auto operator<=>(instant, instant) noexcept = default;

  friend constexpr instant operator+(instant t, duration d) noexcept {
    return {t.ns > UINT64_MAX - d.ns ? UINT64_MAX : t.ns + d.ns};
  }
  friend constexpr duration operator-(instant a, instant b) noexcept {
    if (a.is_none()) return b.is_none() ? duration{} : duration::max();
    return {a.ns > b.ns ? a.ns - b.ns : 0};
  }
};

[[nodiscard]] constexpr instant earlier(instant a, instant b) noexcept {
  return a < b ? a : b;
}
[[nodiscard]] constexpr instant later(instant a, instant b) noexcept {
  return a < b ? b : a;
}

}  // namespace asx
