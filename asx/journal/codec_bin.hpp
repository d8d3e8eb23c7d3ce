// asx/journal/codec_bin.hpp - events as few bytes: varints and differences, in blocks that stand alone.
//
//     header 64 | block header 64 | payload | block header 64 | payload | ... | end block 64
//
//     event   mask, kind, then only the fields that the mask announces:
//             time (difference), worker, subject (difference), object, a, b, cause (distance back), flags
//
// 1  Lossless: decoding gives the event that was encoded, and encoding what was decoded gives the same bytes; a
//    longer form of the same number is refused.
// 2  A block needs no other block: differences start over, and its header names the event before it.
// 3  Every byte is under a checksum: XXH3-64 of the payload in the block's header, XXH3-64 of each header in itself.
// 4  A block's header holds the digest of the run up to its end, and a chain over all payloads, which also
//    sees diagnostics. Two files are compared by these without decoding them.
// 5  A version, schema or kind that this release does not know is status::version; anything else that does not hold
//    is status::corrupt. Neither is ever a crash.
//
// The format is written down in docs/spec/journal_format.md.
//
// Cancel points: none. Threads: plain functions and values. Lifetime: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "asx/base/hash.hpp"
#include "asx/journal/event.hpp"
#include "asx/model/status.hpp"

namespace asx {

/// What a journal says about its run, in every codec. (program, seed, profile, schema) is what fixes a run.
struct journal_header {
  std::array<char, 16> profile{};  // "core", padded with zeroes.
  std::uint64_t seed = 0;
  std::uint64_t seq_before = 0;  // The number of the event before the first; 0 unless a ring was dumped.

  [[nodiscard]] static constexpr journal_header of(std::string_view profile_name, std::uint64_t seed_of_run) noexcept {
    journal_header h;
    for (std::size_t i = 0; i < profile_name.size() && i < h.profile.size(); ++i) h.profile[i] = profile_name[i];
    h.seed = seed_of_run;
    return h;
  }
  [[nodiscard]] constexpr std::string_view profile_name() const noexcept {
    std::size_t n = 0;
    while (n < profile.size() && profile[n] != 0) ++n;
    return {profile.data(), n};
  }
  /// Letters, digits, '_', '-' and '.', then zeroes only: what every codec can hold.
  [[nodiscard]] ASX_API bool is_well_formed() const noexcept;
  friend bool operator==(const journal_header&, const journal_header&) noexcept = default;
};

inline constexpr std::uint16_t bin_format_version = 1;
inline constexpr std::uint32_t event_schema = 1;  // The number of fields of an event and their order.

struct block_info {
  std::uint64_t offset = 0;  // Of the block's header in the file; not stored.
  std::uint32_t payload_bytes = 0;
  std::uint32_t events = 0;
  std::uint32_t index = 0;
  bool is_end = false;
  std::uint64_t seq_before = 0;
  digest128 digest{};       // After the last event of this block.
  std::uint64_t chain = 0;  // After this block.
  std::uint64_t payload_hash = 0;
};

namespace bin {

inline constexpr std::size_t header_bytes = 64;
inline constexpr std::size_t event_bytes_max = 80;
inline constexpr std::uint32_t payload_bytes_max = 1U << 20;  // A reader never needs more memory than this asks for.
inline constexpr std::uint32_t block_events_max = 8'192;      // 512 KiB of decoded events.

using header_block = std::array<std::byte, header_bytes>;

/// What the next event is told apart from. Starts over with each block.
struct codec_state {
  std::uint64_t seq = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t subject = 0;
  std::uint16_t worker = 0;
};

enum class decode_error : std::uint8_t { none, short_of_bytes, not_canonical, unknown_kind, unknown_flags, bad_cause };

/// Appends at `out`, which has event_bytes_max bytes of room; returns how many were used. The event must be the next
/// one after `state` and well formed.
ASX_API std::size_t encode_event(const event& e, codec_state& state, std::byte* out) noexcept;
/// Takes one event off the front of `bytes`.
ASX_API decode_error decode_event(std::span<const std::byte>& bytes, codec_state& state, event& out) noexcept;
[[nodiscard]] ASX_API std::string_view sentence(decode_error error) noexcept;

[[nodiscard]] ASX_API header_block encode_file_header(const journal_header& header) noexcept;
/// ok, corrupt or version.
[[nodiscard]] ASX_API status decode_file_header(const header_block& bytes, journal_header& out) noexcept;
/// True when the bytes could be the beginning of a file header that was cut off.
[[nodiscard]] ASX_API bool begins_like_file_header(std::span<const std::byte> bytes) noexcept;

[[nodiscard]] ASX_API header_block encode_block_header(const block_info& block) noexcept;
[[nodiscard]] ASX_API status decode_block_header(const header_block& bytes, block_info& out) noexcept;

[[nodiscard]] ASX_API std::uint64_t extend_chain(std::uint64_t chain, std::uint64_t payload_hash) noexcept;

}  // namespace bin
}  // namespace asx
