// asx/wheel/detail/wheel_geometry.hpp - the arithmetic of ticks, levels and slots, as constant expressions.
//
//     level   resolution       range
//     L0      1 ms             256 ms
//     L1      256 ms           65.536 s
//     L2      65.536 s         16,777.216 s
//     L3      16,777.216 s     4,294,967.296 s
//
// R-77  level k: resolution 256^k ms, range 256^(k+1) ms.
// R-78  a timer goes to the finest level whose ticks, not durations, differ by less than 256.
// R-79  its slot is floor(deadline / resolution) mod 256.
//
// Cancel points: none. Threads: constants only. Lifetime: none.
#pragma once

#include <cstdint>

#include "asx/base/time.hpp"

namespace asx::detail {

inline constexpr std::uint64_t tick_ns = 1'000'000;
inline constexpr std::uint32_t level_count = 4;

[[nodiscard]] constexpr std::uint64_t resolution_ticks(std::uint32_t level) noexcept {
  return std::uint64_t{1} << (8 * level);
}
[[nodiscard]] constexpr duration resolution(std::uint32_t level) noexcept {
  return duration{resolution_ticks(level) * tick_ns};
}
[[nodiscard]] constexpr duration range(std::uint32_t level) noexcept {
  return duration{resolution_ticks(level + 1) * tick_ns};
}

// A timer of max_wheel_duration may begin anywhere in a tick of L3, so one of the 256 slots is not to be counted on.
inline constexpr duration max_wheel_range{255 * resolution_ticks(3) * tick_ns};

[[nodiscard]] constexpr std::uint64_t tick_of(std::uint64_t ns) noexcept {
  return ns / tick_ns;
}

/// The finest level that holds `tick` as seen from `cursor`; level_count or more when none does. The size of the
/// distance names the level but for a carry: 255.9 ms can be 256 ticks away. Comparisons are summed up instead of
/// branching: which level it is is the caller's data, and a processor cannot guess it.
[[nodiscard]] constexpr std::uint32_t level_of(std::uint64_t tick, std::uint64_t cursor) noexcept {
  const std::uint64_t away = tick - cursor;
  const std::uint32_t by_size =
      static_cast<std::uint32_t>(away >> 8 != 0) + static_cast<std::uint32_t>(away >> 16 != 0) +
      static_cast<std::uint32_t>(away >> 24 != 0) + static_cast<std::uint32_t>(away >> 32 != 0);
  const std::uint64_t ticks_away = (tick >> 8 * by_size) - (cursor >> 8 * by_size);
  return by_size + static_cast<std::uint32_t>(ticks_away >= 256);
}
/// Slots are numbered through: level * 256 + place in the level.
[[nodiscard]] constexpr std::uint32_t slot_of(std::uint64_t tick, std::uint32_t level) noexcept {
  return level * 256 + static_cast<std::uint32_t>(tick >> (8 * level) & 255U);
}

static_assert(resolution(0) == duration::milliseconds(1) && range(0) == duration::milliseconds(256));
static_assert(resolution(1) == duration::milliseconds(256) && range(1) == duration::milliseconds(65'536));
static_assert(resolution(2) == duration::milliseconds(65'536) && range(2) == duration::milliseconds(16'777'216));
static_assert(resolution(3) == duration::milliseconds(16'777'216) && range(3) == duration::milliseconds(4'294'967'296));

}  // namespace asx::detail
