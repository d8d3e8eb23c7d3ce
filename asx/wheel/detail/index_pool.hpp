// asx/wheel/detail/index_pool.hpp - which nodes are free.
//
//     level 2   1                      one bit a word below that has a free index
//     level 1   1 0 1 ...
//     level 0   0110.. 0000.. 1111..   one bit an index, set while it is free
//                ^ hint: the word that is taken from until it is used up; then the lowest one with a free index
//     spare     the index that was given back last, kept out of the bits and taken first
//
// 1  What take returns depends on the takes and gives before it and on nothing else, so that indices repeat on replay,
//    which is what U-19 is for. Strictly the lowest index would ask every cancel whether its node is now the lowest;
//    here it writes one number, and one bit for the cancel before it. A list through the free nodes would write less
//    still, but a burst of registrations after a burst of cancels then waits for one cache miss after the other.
// 2  The words lie in memory that the owner hands over; nothing is allocated here.
//
// The slab of base keeps its bits the same way, but a record with them; here the record is in two halves elsewhere.
//
// Cancel points: none. Threads: one owner. Lifetime: the words outlive the pool.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "asx/base/assert.hpp"

namespace asx::detail {

class index_pool {
 public:
  /// How many words a pool of `capacity` indices needs.
  [[nodiscard]] static constexpr std::size_t words(std::uint32_t capacity) noexcept {
    std::size_t sum = 0;
    std::size_t level = capacity;
    do {
      level = (level + 63) / 64;
      sum += level;
    } while (level > 1);
    return sum;
  }

  /// Takes over `words(capacity)` words and frees every index.
  void attach(std::uint64_t* bits, std::uint32_t capacity) noexcept {
    bits_ = bits;
    levels_ = 0;
    std::size_t at = 0;
    std::size_t count = capacity;
    do {
      ASX_ASSERT(levels_ < offset_.size(), "six levels of 64 hold every 32-bit index");
      offset_[levels_++] = at;
      const std::size_t words_here = (count + 63) / 64;
      for (std::size_t w = 0; w < words_here; ++w) bits_[at + w] = ~std::uint64_t{0};
      if (count % 64 != 0) bits_[at + words_here - 1] = (std::uint64_t{1} << (count % 64)) - 1;
      at += words_here;
      count = words_here;
    } while (count > 1);
    hint_ = 0;
    spare_ = none;
  }

  /// False when look must come before take. The caller knows that some index is free.
  [[nodiscard]] bool is_at_hand() const noexcept { return spare_ != none || bits_[hint_] != 0; }
  /// A free index, taken.
  [[nodiscard]] std::uint32_t take() noexcept {
    if (spare_ != none) return std::exchange(spare_, none);
    const std::uint64_t word = bits_[hint_];
    bits_[hint_] = word & (word - 1);
    return hint_ * 64 + static_cast<std::uint32_t>(__builtin_ctzll(word));  // Not 0, which countr_zero would test for.
  }
  /// Goes to the lowest word with a free index. The summaries learn only here that the last one is used up.
  [[gnu::noinline]] void look() noexcept {
    std::uint32_t at = hint_;
    for (unsigned level = 1; level < levels_; ++level) {
      std::uint64_t& word = bits_[offset_[level] + at / 64];
      word &= ~(std::uint64_t{1} << (at % 64));
      if (word != 0) break;  // The word above still says that there is a free one here.
      at /= 64;
    }
    hint_ = 0;
    for (unsigned level = levels_; level-- > 1;) {
      const std::uint64_t word = bits_[offset_[level] + hint_];
      ASX_ASSERT(word != 0, "who takes knows that some index is free");
      hint_ = hint_ * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
    }
  }

  void give_back(std::uint32_t index) noexcept {
    std::uint32_t before = 0;
    if (!begin_give_back(index, before)) [[unlikely]]
      end_give_back(before);
  }

  /// give_back in two halves, so that a caller can end with its rare part and keep the common one free of calls: when
  /// the first returns false, the second must follow before anything else is taken or given back.
  [[nodiscard]] bool begin_give_back(std::uint32_t index, std::uint32_t& before) noexcept {
    before = std::exchange(spare_, index);
    if (before == none) return true;
    std::uint64_t& word = bits_[before / 64];
    const std::uint64_t others = word;
    word = others | std::uint64_t{1} << (before % 64);
    return others != 0;
  }
  [[gnu::noinline]] void end_give_back(std::uint32_t index) noexcept {
    std::uint32_t at = index / 64;
    for (unsigned level = 1; level < levels_; ++level) {
      std::uint64_t& word = bits_[offset_[level] + at / 64];
      const std::uint64_t before = word;
      word = before | std::uint64_t{1} << (at % 64);
      if (before != 0) break;
      at /= 64;
    }
  }

  [[nodiscard]] bool is_free(std::uint32_t index) const noexcept {
    return index == spare_ || (bits_[index / 64] >> (index % 64) & 1U) != 0;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::uint64_t* bits_ = nullptr;
  std::uint32_t hint_ = 0;      // The word that is taken from.
  std::uint32_t spare_ = none;  // The index that was given back last, unless it was taken since.
  unsigned levels_ = 0;
  std::array<std::size_t, 6> offset_{};
};

}  // namespace asx::detail
