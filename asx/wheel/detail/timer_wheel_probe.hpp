// asx/wheel/detail/timer_wheel_probe.hpp - where a timer waits and how far the wheel walked, for tests of placement.
//
// Laws: are about places that no caller sees; this is how a test sees them.
// Cancel points: none. Threads: as the wheel. Lifetime: nothing is kept.
#pragma once

#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx::detail {

struct timer_wheel_probe {
  static constexpr std::uint32_t in_overflow = 4;
  static constexpr std::uint32_t in_ready = 5;

  struct spot {
    std::uint32_t level;  // 0 to 3, or one of the two above.
    std::uint32_t slot;   // Within the level.
    friend constexpr bool operator==(spot, spot) noexcept = default;
  };

  [[nodiscard]] static spot where(const timer_wheel& wheel, timer_handle handle) noexcept {
    const std::uint32_t node = wheel.find(handle);
    ASX_ASSERT(node != timer_wheel::npos, "only a live timer waits somewhere");
    const std::uint32_t place = wheel.identities_[node].place;
    if (place >= place_ready) return {in_ready, 0};
    if (place >= place_overflow) return {in_overflow, 0};
    const std::uint32_t slot = wheel.slots_.slot_at(place);
    return {slot / 256, slot % 256};
  }

  /// Slots that were looked into, cascaded or fired, since construction.
  [[nodiscard]] static std::uint64_t slot_visits(const timer_wheel& wheel) noexcept { return wheel.slot_visits_; }
};

}  // namespace asx::detail
