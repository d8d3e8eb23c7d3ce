// asx/runtime/port_clock.hpp - where a drive reads the time: virtual in the lab, steady on a live machine.
//
//     drive --now--> clock_port --+--> virtual_clock   stands still until it is moved
//                                 +--> steady_clock    the machine's, counted from when it was made
//
// 1  A port never goes back: each now() is at least the one before it. It calls nothing of the runtime.
// 2  Both clocks begin at instant 0, so that a program sees the same times in the lab and live (R-93, U-02).
// 3  Below the drives nobody reads a clock of its own: the drive hands down the time, or the port to read it when
//    somebody asks, and a run depends on no other.
//
// Cancel points: none.
// Threads: a virtual clock has one owner; a steady clock may be read by any thread.
// Lifetime: a clock outlives the ports that were taken from it.
#pragma once

#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/base/time.hpp"

namespace asx {

struct clock_port {
  void* context = nullptr;
  instant (*read)(void* context) noexcept = nullptr;
  /// The machine's: what it says moves by itself, so nobody can tell that a step where nobody asked has not read it.
  bool may_be_late = false;

  [[nodiscard]] instant now() const noexcept { return read(context); }
};

/// Time that moves only when it is told to: tests run at once, and every run reads the same times.
class virtual_clock {
 public:
  constexpr virtual_clock() noexcept = default;
  virtual_clock(const virtual_clock&) = delete;
  virtual_clock& operator=(const virtual_clock&) = delete;

  [[nodiscard]] constexpr instant now() const noexcept { return now_; }

  /// A moment that lies behind changes nothing (law 1).
  constexpr void advance_to(instant moment) noexcept {
    ASX_ASSERT(!moment.is_none(), "there is no moment to jump to when nothing is due");
    now_ = later(now_, moment);
  }
  constexpr void advance_by(duration d) noexcept { advance_to(now_ + d); }

  [[nodiscard]] clock_port port() noexcept {
    return {this, [](void* self) noexcept { return static_cast<const virtual_clock*>(self)->now(); }};
  }

 private:
  instant now_{};
};

/// The machine's monotonic clock.
class ASX_API steady_clock {
 public:
  steady_clock() noexcept;
  steady_clock(const steady_clock&) = delete;
  steady_clock& operator=(const steady_clock&) = delete;

  [[nodiscard]] instant now() const noexcept;

  [[nodiscard]] clock_port port() noexcept {
    return {this, [](void* self) noexcept { return static_cast<const steady_clock*>(self)->now(); }, true};
  }

 private:
  std::uint64_t origin_ns_;  // What the machine's clock said when this one began.
};

/// For those above the drives who hand a runtime the machine's time and read none themselves.
using machine_clock = steady_clock;

}  // namespace asx
