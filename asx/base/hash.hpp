// asx/base/hash.hpp - the two hashes of asx: XXH3-64 over fields, and a running XXH3-128 digest.
//
// R-99   hash_fields is XXH3-64, seed 0, over the fields as little-endian 64-bit words in declared order.
// R-120  digest_stream is XXH3-128, seed 0, over the bytes so far; it can be read after any byte.
//
// 1  The same bytes give the same value on every compiler, word size and byte order.
// 2  Reading a digest does not disturb the stream; bytes may arrive in pieces of any size.
//
// The work is done by xxHash, compiled into the library: nothing of it is needed at run time.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asx/base/config.hpp"

namespace asx {

struct digest128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(digest128, digest128) noexcept = default;

  /// 32 lower-case hexadecimal digits, the most significant first; not terminated.
  [[nodiscard]] constexpr std::array<char, 32> hex() const noexcept {
    std::array<char, 32> out{};
    for (unsigned i = 0; i < 32; ++i) {
      const std::uint64_t half = i < 16 ? high : low;
      out[i] = "0123456789abcdef"[(half >> (60 - 4 * (i % 16))) & 15U];
    }
    return out;
  }
};

[[nodiscard]] ASX_API std::uint64_t hash_bytes(std::span<const std::byte> bytes) noexcept;
[[nodiscard]] ASX_API std::uint64_t hash_fields(std::span<const std::uint64_t> fields) noexcept;

class ASX_API digest_stream {
 public:
  digest_stream() noexcept;

  void add(std::span<const std::byte> bytes) noexcept;
  /// Adds one field as eight little-endian bytes.
  void add(std::uint64_t field) noexcept;
  [[nodiscard]] digest128 value() const noexcept;
  void reset() noexcept;

 private:
  // xxHash's state, opaque here so that its header stays out of ours. hash.cpp checks size and alignment.
  alignas(64) std::array<std::byte, 576> state_;
};

}  // namespace asx
