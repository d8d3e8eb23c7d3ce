#include "asx/base/hash.hpp"

#include <bit>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace asx {
namespace {

std::uint64_t to_little_endian(std::uint64_t value) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    return value;
  } else {
    return __builtin_bswap64(value);
  }
}

XXH3_state_t& state_of(std::array<std::byte, 576>& bytes) noexcept {
  return *std::launder(reinterpret_cast<XXH3_state_t*>(bytes.data()));
}
const XXH3_state_t& state_of(const std::array<std::byte, 576>& bytes) noexcept {
  return *std::launder(reinterpret_cast<const XXH3_state_t*>(bytes.data()));
}

static_assert(sizeof(XXH3_state_t) <= 576, "digest_stream has no room for this version of xxHash");
static_assert(alignof(XXH3_state_t) <= 64);

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t hash_fields(std::span<const std::uint64_t> fields) noexcept {
  if constexpr (std::endian::native == std::endian::little) return hash_bytes(std::as_bytes(fields));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const std::uint64_t field : fields) {
    const std::uint64_t bytes = to_little_endian(field);
    XXH3_64bits_update(&state, &bytes, sizeof bytes);
  }
  return XXH3_64bits_digest(&state);
}

digest_stream::digest_stream() noexcept {
  ::new (state_.data()) XXH3_state_t;
  reset();
}

void digest_stream::reset() noexcept {
  XXH3_128bits_reset(&state_of(state_));
}

void digest_stream::add(std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(&state_of(state_), bytes.data(), bytes.size());
}

void digest_stream::add(std::uint64_t field) noexcept {
  const std::uint64_t bytes = to_little_endian(field);
  XXH3_128bits_update(&state_of(state_), &bytes, sizeof bytes);
}

digest128 digest_stream::value() const noexcept {
  const XXH128_hash_t h = XXH3_128bits_digest(&state_of(state_));
  return {h.high64, h.low64};
}

}  // namespace asx
