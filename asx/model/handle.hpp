// asx/model/handle.hpp - sixteen bytes that reach a record, or tell that it is gone.
//
//     word        [ type tag : 16 | state mask : 16 | arena index : 32 ]     most significant bits first
//     generation  64 bits, odd while the record lives
//
// R-110  the word is exactly as drawn; the generation beside it detects reuse. Word 0 is the null handle, and
//        a wrong type tag is stale_handle.
// R-111  the mask is the state when the handle was issued: a hint. The record's own state decides.
// R-95   timers and permits are no such handles; the tag of timers names them in journals only.
//
// Cancel points: none. Threads: plain values. Lifetime: a handle may outlive its record; it then reports stale_handle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asx/model/lifecycle.hpp"

namespace asx {

enum class type_tag : std::uint16_t {
  region = 0x0001,
  task = 0x0002,
  obligation = 0x0003,
  cancel_witness = 0x0004,
  timer = 0x0005,
  channel = 0x0006,
};

/// The bit of one state in a mask: 1 << ordinal.
template <class State>
[[nodiscard]] constexpr std::uint16_t mask_of(State state) noexcept {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(state));
}

static_assert(mask_of(region_state::open) == 0x0001 && mask_of(region_state::closing) == 0x0002 &&
              mask_of(region_state::draining) == 0x0004 && mask_of(region_state::finalizing) == 0x0008 &&
              mask_of(region_state::closed) == 0x0010);

/// A handle of any type: what journals and the C interface carry.
struct handle {
  std::uint64_t word = 0;
  std::uint64_t generation = 0;

  constexpr handle() = default;
  constexpr handle(std::uint64_t word_bits, std::uint64_t record_generation) noexcept
      : word(word_bits), generation(record_generation) {}
  constexpr handle(type_tag tag, std::uint16_t mask, std::uint32_t index, std::uint64_t record_generation) noexcept
      : word((static_cast<std::uint64_t>(tag) << 48) | (static_cast<std::uint64_t>(mask) << 32) | index),
        generation(record_generation) {}

  [[nodiscard]] constexpr bool is_null() const noexcept { return word == 0; }
  [[nodiscard]] constexpr std::uint16_t tag_bits() const noexcept { return static_cast<std::uint16_t>(word >> 48); }
  [[nodiscard]] constexpr std::uint16_t mask() const noexcept { return static_cast<std::uint16_t>(word >> 32); }
  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(word); }
  [[nodiscard]] constexpr bool is(type_tag tag) const noexcept { return tag_bits() == static_cast<std::uint16_t>(tag); }

  friend constexpr bool operator==(handle, handle) noexcept = default;
};

/// A handle whose type the compiler knows.
template <type_tag Tag, class State>
struct typed_handle : handle {
  constexpr typed_handle() = default;
  constexpr typed_handle(State issued_in, std::uint32_t index, std::uint64_t record_generation) noexcept
      : handle(Tag, mask_of(issued_in), index, record_generation) {}

  /// The null handle when `any` is of another type: using it then reports stale_handle.
  [[nodiscard]] static constexpr typed_handle from(handle any) noexcept {
    typed_handle out;
    if (any.is(Tag)) static_cast<handle&>(out) = any;
    return out;
  }

  friend constexpr bool operator==(typed_handle, typed_handle) noexcept = default;
};

using region_handle = typed_handle<type_tag::region, region_state>;
using task_handle = typed_handle<type_tag::task, task_state>;
using obligation_handle = typed_handle<type_tag::obligation, obligation_state>;
using channel_handle = typed_handle<type_tag::channel, channel_state>;

static_assert(sizeof(handle) == 16 && sizeof(region_handle) == 16, "a handle travels in two registers (R-110)");
static_assert(handle(type_tag::task, 0x0008, 0x01020304, 1).word == 0x0002'0008'0102'0304U);

}  // namespace asx
