// asx/wheel/detail/timer_node.hpp - one timer in memory: 48 bytes in two halves, because two paths read them.
//
//     identity   id | generation | place       cancel and cascade touch only this: 16 bytes, four in a cache line
//     body       deadline | seq | token        written once, read when the timer is sorted and fired: 32 bytes
//
// A million identities are 16 MB and stay in a server's last-level cache; as one record of 48 bytes they do not,
// and a cancel in random order then costs a trip to memory.
//
// Laws: a node is free while its place is place_free; whoever looks a handle up looks at the place too (INV-TM-01).
// Cancel points: none. Threads: one owner. Lifetime: all nodes live as long as their wheel.
#pragma once

#include <cstdint>

#include "asx/wheel/timer_handle.hpp"

namespace asx::detail {

struct timer_identity {
  std::uint64_t id;          // Stays when the node becomes free, and so does the generation.
  std::uint32_t generation;  // The lower half of its handle's.
  std::uint32_t place;  // The cell in its slot; or a position in the ready queue or the overflow heap, and its mark.
};

// Places of slots are below 2^29, because timers are at most 2^28.
inline constexpr std::uint32_t place_elsewhere = 1U << 30;  // From here on a place is in no slot.
inline constexpr std::uint32_t place_overflow = 1U << 30;
inline constexpr std::uint32_t place_ready = 1U << 31;
inline constexpr std::uint32_t place_free = UINT32_MAX;
inline constexpr std::uint32_t position_mask = place_elsewhere - 1;

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
  std::uint32_t mark;  // place_ready or place_overflow

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    const timer_body& x = bodies[a];
    const timer_body& y = bodies[b];
    return x.deadline_ns != y.deadline_ns ? x.deadline_ns < y.deadline_ns : x.seq < y.seq;
  }
  void placed(std::uint32_t index, std::uint32_t at) const noexcept { identities[index].place = mark | at; }
};

}  // namespace asx::detail
