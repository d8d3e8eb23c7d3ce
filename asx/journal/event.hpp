// asx/journal/event.hpp - one thing that happened: 64 bytes that mean the same on every machine.
//
//     offset  0 seq   8 time   16 kind  18 worker  20 flags   24 subject  32 object   40 a   48 b   56 cause
//
// R-113  seq counts the semantic events from 1 without a gap. A diagnostic takes no number: it carries the seq of
//        the semantic event before it (0 when there is none), so that numbers do not depend on ghosts or names.
// R-120  the canonical bytes of an event are its fields in this order, little-endian; the digest runs over them.
// R-139  no address, wall time, name or byte count is a field of a semantic event. Absent ids are 0.
//
// `cause` is the seq of the event that led to this one, and always smaller than the next number: following it
// backwards ends. That is what `asx why` walks.
//
// Counting the diagnostics too was tried on paper and dropped: a breakpoint "at event 4711" found in a release
// build would point elsewhere in a debug build, and seq and cause could not be part of the digest.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "asx/journal/event_kind.hpp"

namespace asx {

struct event_flags {
  static constexpr std::uint32_t semantic = 1U << 0;   // Set exactly when is_semantic(kind).
  static constexpr std::uint32_t forced = 1U << 1;     // The kernel did it in the task's stead.
  static constexpr std::uint32_t passed_on = 1U << 2;  // A parent's close or cancel led to it, not a call.
  static constexpr std::uint32_t finalizer = 1U << 3;  // A finalizer, or a finalizer task, is concerned.
  static constexpr std::uint32_t tracked = 1U << 4;    // A tracked permit: object or operand names its obligation.
  static constexpr std::uint32_t arrived = 1U << 5;    // Through the inbox: a foreign handle said it.
  static constexpr std::uint32_t known = (1U << 6) - 1;
};

struct event {
  std::uint64_t seq = 0;
  std::uint64_t time_ns = 0;
  event_kind kind = event_kind::text;
  std::uint16_t worker = 0;
  std::uint32_t flags = 0;
  std::uint64_t subject = 0;
  std::uint64_t object = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t cause = 0;

  [[nodiscard]] constexpr bool semantic() const noexcept { return (flags & event_flags::semantic) != 0; }
  friend constexpr bool operator==(const event&, const event&) noexcept = default;
};

static_assert(sizeof(event) == 64 && std::is_trivially_copyable_v<event> &&
                  std::has_unique_object_representations_v<event>,
              "an event is 64 bytes without padding: no uninitialised byte can reach a digest");
static_assert(offsetof(event, kind) == 16 && offsetof(event, flags) == 20 && offsetof(event, cause) == 56,
              "the order in memory is the canonical order, so little-endian machines hash events where they lie");

/// Two numbers in one operand. The low half holds the one that is usually larger, which keeps files small.
[[nodiscard]] constexpr std::uint64_t pack(std::uint64_t low, std::uint64_t high) noexcept {
  return (low & 0xffff'ffffU) | (high << 32);
}
[[nodiscard]] constexpr std::uint32_t low_half(std::uint64_t packed) noexcept {
  return static_cast<std::uint32_t>(packed);
}
[[nodiscard]] constexpr std::uint32_t high_half(std::uint64_t packed) noexcept {
  return static_cast<std::uint32_t>(packed >> 32);
}

using event_bytes = std::array<std::byte, 64>;

/// The canonical bytes of an event.
[[nodiscard]] constexpr event_bytes canonical_bytes(const event& e) noexcept {
  event_bytes out{};
  std::size_t at = 0;
  const auto put = [&out, &at](std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) out[at++] = static_cast<std::byte>(value >> (8 * i));
  };
  put(e.seq, 8);
  put(e.time_ns, 8);
  put(static_cast<std::uint16_t>(e.kind), 2);
  put(e.worker, 2);
  put(e.flags, 4);
  put(e.subject, 8);
  put(e.object, 8);
  put(e.a, 8);
  put(e.b, 8);
  put(e.cause, 8);
  return out;
}

}  // namespace asx
