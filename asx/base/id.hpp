// asx/base/id.hpp - distinct id types: a task id is not a region id, and neither is a number.
//
// 1  Ids of different tags do not convert into each other.
// 2  0 is the absent id; counters start at 1 (U-20, R-113).
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <compare>
#include <cstdint>

namespace asx {

template <class Tag>
struct id {
  std::uint64_t value = 0;

  constexpr id() = default;
  constexpr explicit id(std::uint64_t number) noexcept : value(number) {}

  [[nodiscard]] constexpr bool absent() const noexcept { return value == 0; }
  friend constexpr auto operator<=>(id, id) noexcept = default;
};

}  // namespace asx
