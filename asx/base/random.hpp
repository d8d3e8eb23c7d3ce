// asx/base/random.hpp - the seeded generator: splitmix64, in streams that do not disturb each other.
//
// R-99   state = splitmix64(seed xor worker); next_below(n) = next() mod n.
// R-164  the constant is added before mixing; a stream is seeded with seed xor worker xor (stream << 32).
//
// The modulo is slightly biased for large n. That is the specification's choice: one draw, one number,
// on every machine; rejection would make the number of draws depend on the values drawn.
//
// Cancel points: none. Threads: one owner. Lifetime: plain value.
#pragma once

#include <cstdint>

#include "asx/base/assert.hpp"

namespace asx {

/// The streams are numbered once: a draw added to one never moves another.
enum class random_stream : std::uint32_t {
  tie_break = 0,
  steal = 1,
  worker_order = 2,
  faults = 3,
  select = 4,
  pieces = 5,
  retry = 6
};

class splitmix64 {
 public:
  constexpr explicit splitmix64(std::uint64_t state) noexcept : state_(state) {}

  constexpr splitmix64(std::uint64_t seed, std::uint32_t worker, random_stream stream) noexcept
      : state_(splitmix64(seed ^ worker ^ (static_cast<std::uint64_t>(stream) << 32)).next()) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  constexpr std::uint64_t next_below(std::uint64_t bound) noexcept {
    ASX_ASSERT(bound != 0, "a choice among nothing has no answer; callers return early without a draw (R-101)");
    return next() % bound;
  }

  [[nodiscard]] constexpr std::uint64_t state() const noexcept { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace asx
