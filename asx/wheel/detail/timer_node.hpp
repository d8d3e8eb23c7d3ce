// asx/wheel/detail/timer_node.hpp - one timer in memory: 48 bytes in two halves, because two paths read them.
//
//     identity   id | tag | place              cancel and cascade touch only this: 16 bytes, four in a cache line
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
  std::uint64_t id;     // 0 while the node is free.
  std::uint32_t tag;    // Generation and where the timer waits, so that cancel finds the slot without another miss.
  std::uint32_t place;  // The cell in its slot, or the position in the ready queue or the overflow heap.
};

// Where a timer waits: the number of a slot, or one of two more. The generation takes the rest of the tag: 21 bits tell
// four million lives of one id apart, and an id comes again only after 2^64 registrations, or in a test.
inline constexpr std::uint32_t where_bits = 11;
inline constexpr std::uint32_t where_mask = (1U << where_bits) - 1;
inline constexpr std::uint32_t where_ready = 1024;
inline constexpr std::uint32_t where_overflow = 1025;
inline constexpr std::uint32_t generation_mask = UINT32_MAX >> where_bits;

struct timer_body {
  std::uint64_t deadline_ns;
  std::uint64_t seq;
  wake_token token;
};

static_assert(sizeof(timer_identity) == 16 && sizeof(timer_body) == 32);
static_assert(sizeof(timer_identity) + sizeof(timer_body) <= 64, "a timer is at most 64 bytes");

inline void place(timer_identity& i, std::uint32_t where, std::uint32_t at) noexcept {
  i.tag = (i.tag & ~where_mask) | where;
  i.place = at;
}

/// The order of every batch, and the way a heap tells a node where it lies.
struct timer_order {
  const timer_body* bodies;
  timer_identity* identities;
  std::uint32_t where;  // where_ready or where_overflow

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    const timer_body& x = bodies[a];
    const timer_body& y = bodies[b];
    return x.deadline_ns != y.deadline_ns ? x.deadline_ns < y.deadline_ns : x.seq < y.seq;
  }
  void placed(std::uint32_t index, std::uint32_t at) const noexcept { place(identities[index], where, at); }
};

}  // namespace asx::detail
