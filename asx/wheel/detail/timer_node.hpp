// asx/wheel/detail/timer_node.hpp - one timer in memory: 48 bytes in two halves, because two paths read them.
//
//     identity   id | generation | place       cancel and cascade touch only this: 16 bytes, four in a cache line
//     body       deadline | seq | token        written once, read when the timer is sorted and fired: 32 bytes
//
// A million identities are 16 MB and stay in a server's last-level cache; as one record of 48 bytes they do not,
// and a cancel in random order then costs a trip to memory.
//
// Laws: a free node's id is 0, which no handle of a live timer has.
// Cancel points: none. Threads: one owner. Lifetime: all nodes live as long as their wheel.
#pragma once

#include <cstdint>

#include "asx/wheel/timer_handle.hpp"

namespace asx::detail {

struct timer_identity {
  std::uint64_t id;          // 0 while the node is free.
  std::uint32_t generation;  // Drawn anew for each life.
  std::uint32_t place;       // Where the timer waits: a slot's cell, or one of the two below.
};

// The two highest bits of `place` say which structure the rest of it points into; none of them: a slot's cell.
inline constexpr std::uint32_t place_in_overflow = 0x8000'0000U;
inline constexpr std::uint32_t place_in_ready = 0x4000'0000U;
inline constexpr std::uint32_t place_mask = 0x3fff'ffffU;

struct timer_body {
  std::uint64_t deadline_ns;
  std::uint64_t seq;
  wake_token token;
};

static_assert(sizeof(timer_identity) == 16 && sizeof(timer_body) == 32);
static_assert(sizeof(timer_identity) + sizeof(timer_body) <= 64, "a timer is at most 64 bytes");

/// The order of every batch, and the way a heap tells a node where it lies.
struct timer_order {
  const timer_body* bodies;
  timer_identity* identities;
  std::uint32_t structure;  // place_in_overflow or place_in_ready

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    const timer_body& x = bodies[a];
    const timer_body& y = bodies[b];
    return x.deadline_ns != y.deadline_ns ? x.deadline_ns < y.deadline_ns : x.seq < y.seq;
  }
  void placed(std::uint32_t index, std::uint32_t at) const noexcept { identities[index].place = structure | at; }
};

}  // namespace asx::detail
