// asx/base/bitmap256.hpp - 256 bits, and the highest, lowest or next one that is set.
//
// 1  highest, lowest and next answer with the index of a set bit, or none.
// 2  next(from) is the lowest set bit that is not below `from`.
//
// Both the priority lanes (256 priorities) and the timer wheel (256 slots a level) ask these questions on
// every dispatch, so each answer looks at no more than four words.
//
// Cancel points: none. Threads: one owner. Lifetime: plain value.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "asx/base/assert.hpp"

namespace asx {

class bitmap256 {
 public:
  static constexpr int none = -1;

  constexpr void set(std::uint8_t i) noexcept { words_[i >> 6] |= mask(i); }
  constexpr void clear(std::uint8_t i) noexcept { words_[i >> 6] &= ~mask(i); }
  [[nodiscard]] constexpr bool test(std::uint8_t i) const noexcept { return (words_[i >> 6] & mask(i)) != 0; }

  [[nodiscard]] constexpr bool any() const noexcept { return (words_[0] | words_[1] | words_[2] | words_[3]) != 0; }
  [[nodiscard]] constexpr int count() const noexcept {
    return std::popcount(words_[0]) + std::popcount(words_[1]) + std::popcount(words_[2]) + std::popcount(words_[3]);
  }

  [[nodiscard]] constexpr int highest() const noexcept {
    if (words_[3] != 0) return 255 - std::countl_zero(words_[3]);  // No loop: GCC 12 does not unroll it.
    if (words_[2] != 0) return 191 - std::countl_zero(words_[2]);
    if (words_[1] != 0) return 127 - std::countl_zero(words_[1]);
    if (words_[0] != 0) return 63 - std::countl_zero(words_[0]);
    return none;
  }
  [[nodiscard]] constexpr int lowest() const noexcept { return next(0); }

  /// The lowest set bit that is at least `from`; `from` may be 256, which finds nothing.
  [[nodiscard]] constexpr int next(int from) const noexcept {
    if (from >= 256) return none;
    ASX_ASSERT(from >= 0, "none is no place to look from");
    unsigned w = static_cast<unsigned>(from) >> 6;
    std::uint64_t word = words_[w] & (~std::uint64_t{0} << (static_cast<unsigned>(from) & 63U));
    while (word == 0) {
      if (++w == 4) return none;
      word = words_[w];
    }
    return static_cast<int>(w * 64) + std::countr_zero(word);
  }

  friend constexpr bool operator==(const bitmap256&, const bitmap256&) noexcept = default;

 private:
  static constexpr std::uint64_t mask(std::uint8_t i) noexcept { return std::uint64_t{1} << (i & 63U); }

  std::array<std::uint64_t, 4> words_{};
};

}  // namespace asx
