// asx/base/time.hpp - logical time in unsigned 64-bit nanoseconds that never wraps.
//
//     instant   a moment, counted from 0 where the run began
//     duration  a distance between two moments
//
// 1  The largest instant means "none": no deadline, no timer. It is later than every moment.
// 2  A sum that does not fit is none; a difference below zero is zero; none minus a moment is the largest duration.
// 3  Nothing here reads a clock.
// 4  What <chrono> calls a duration is one here as well, without a word: sleep(5ms). Below zero it is zero, beyond the
//    largest the largest, and what is less than a nanosecond is cut off. A number alone is none: it has no unit.
//
// <chrono> is not included: whoever has durations of it has included it, and it takes longer to compile than all that
// is here.
//
// The moment is called instant and not time, because ::time of the C library makes the shorter name ambiguous
// in the first program that says `using namespace asx`.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace asx {

namespace detail {

/// Of a period of num / den seconds, `count` times, in nanoseconds.
template <std::intmax_t Num, std::intmax_t Den>
struct period_in_ns {
  static constexpr std::uint64_t second = 1'000'000'000;
  static constexpr std::uint64_t common(std::uint64_t a, std::uint64_t b) noexcept {
    return b == 0 ? a : common(b, a % b);
  }
  static constexpr std::uint64_t shared = common(second, Den);
  static constexpr std::uint64_t above = second / shared;
  // Num and Den have nothing in common in a ratio that was reduced, and neither have these.
  static constexpr std::uint64_t ns = Num > UINT64_MAX / above ? UINT64_MAX : Num* above;
  static constexpr std::uint64_t per = Den / shared;
  static constexpr bool fits = per <= UINT32_MAX;

  static constexpr std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
  }
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
  }
  template <class Rep>
  static constexpr std::uint64_t of(Rep count) noexcept {
    if (!(count > Rep{})) return 0;  // Nor what is no number.
    if constexpr (std::is_floating_point_v<Rep>) {
      const double all = static_cast<double>(count) * static_cast<double>(ns) / static_cast<double>(per);
      return all >= 0x1p64 ? UINT64_MAX : static_cast<std::uint64_t>(all);
    } else {
      const auto n = static_cast<std::uint64_t>(count);
      const std::uint64_t rest = n % per;  // Below 2^32, as all of its factors are.
      return sum(sum(times(n / per, ns), times(rest, ns / per)), rest * (ns % per) / per);
    }
  }
};

}  // namespace detail

/// What is counted in periods of so many seconds, as std::chrono::duration is.
template <class D>
concept counted_in_seconds = requires(const D& d) {
  typename D::rep;
  typename D::period;
  { d.count() } -> std::same_as<typename D::rep>;
  requires std::is_arithmetic_v<typename D::rep>;
  requires detail::period_in_ns<D::period::num, D::period::den>::fits;
};

struct duration {
  std::uint64_t ns = 0;

  constexpr duration() noexcept = default;
  constexpr explicit duration(std::uint64_t n) noexcept : ns(n) {}
  template <counted_in_seconds D>
  constexpr duration(const D& d) noexcept : ns(detail::period_in_ns<D::period::num, D::period::den>::of(d.count())) {}

  [[nodiscard]] static constexpr duration max() noexcept { return duration(UINT64_MAX); }
  [[nodiscard]] static constexpr duration nanoseconds(std::uint64_t n) noexcept { return duration(n); }
  [[nodiscard]] static constexpr duration microseconds(std::uint64_t n) noexcept { return of(n, 1'000); }
  [[nodiscard]] static constexpr duration milliseconds(std::uint64_t n) noexcept { return of(n, 1'000'000); }
  [[nodiscard]] static constexpr duration seconds(std::uint64_t n) noexcept { return of(n, 1'000'000'000); }
  [[nodiscard]] static constexpr duration minutes(std::uint64_t n) noexcept { return of(n, 60'000'000'000); }
  [[nodiscard]] static constexpr duration hours(std::uint64_t n) noexcept { return of(n, 3'600'000'000'000); }
  [[nodiscard]] static constexpr duration days(std::uint64_t n) noexcept { return of(n, 86'400'000'000'000); }

  friend constexpr auto operator<=>(duration, duration) noexcept = default;

  friend constexpr duration operator+(duration a, duration b) noexcept {
    return duration(a.ns > UINT64_MAX - b.ns ? UINT64_MAX : a.ns + b.ns);
  }
  friend constexpr duration operator-(duration a, duration b) noexcept {
    return duration(a.ns > b.ns ? a.ns - b.ns : 0);
  }

 private:
  static constexpr duration of(std::uint64_t n, std::uint64_t unit) noexcept {
    return duration(n > UINT64_MAX / unit ? UINT64_MAX : n * unit);
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
    return duration(a.ns > b.ns ? a.ns - b.ns : 0);
  }
};

[[nodiscard]] constexpr instant earlier(instant a, instant b) noexcept {
  return a < b ? a : b;
}
[[nodiscard]] constexpr instant later(instant a, instant b) noexcept {
  return a < b ? b : a;
}

}  // namespace asx
