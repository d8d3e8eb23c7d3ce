// asx/wheel/timer_handle.hpp - what a caller keeps of a timer, and what a timer keeps of its caller.
//
// INV-TM-01  a handle finds its timer only while both numbers match; after the timer fired or was cancelled it is
//            stale for ever, even if its id is given out again.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values; the null handle is all zero and finds nothing.
#pragma once

#include <cstdint>

namespace asx {

struct timer_handle {
  std::uint64_t id = 0;
  std::uint64_t generation = 0;

  [[nodiscard]] constexpr bool is_null() const noexcept { return id == 0; }
  friend constexpr bool operator==(timer_handle, timer_handle) noexcept = default;
};
static_assert(sizeof(timer_handle) == 16, "a timer is named by the pair and nothing else (R-95)");

/// What to wake. The wheel hands it back as it came and never looks inside.
struct wake_token {
  std::uint64_t record = 0;
  std::uint64_t generation = 0;

  friend constexpr bool operator==(wake_token, wake_token) noexcept = default;
};

}  // namespace asx
