// asx/wheel/detail/index_pool.hpp - which nodes are free, lowest index first (U-19).
//
//     level 2   1                      one bit a word below that has a free index
//     level 1   1 0 1 ...
//     level 0   0110.. 0000.. 1111..   one bit an index, set while it is free
//                ^ hint: the lowest word with a free index, so that a take looks at one word
//     spare          an index lower than all of these, kept out of the bits: cancel and register in turn touch no bits
//
// 1  take returns the lowest free index, whatever happened before, so that indices repeat on replay.
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
    hint_ = capacity == 0 ? none : 0;
    spare_end_ = 0;
  }

  /// The lowest free index, taken; the caller knows that there is one. When it was the last of its word, end_take must
  /// follow before anything else is taken or given back: in two halves for the same reason as give_back.
  [[nodiscard]] std::uint32_t begin_take(bool& is_used_up) noexcept {
    is_used_up = false;
    if (spare_end_ != 0) return std::exchange(spare_end_, 0) - 1;
    const std::uint32_t at = hint_;
    const std::uint64_t word = bits_[at];
    bits_[at] = word & (word - 1);
    is_used_up = (word & (word - 1)) == 0;
    return at * 64 + static_cast<std::uint32_t>(__builtin_ctzll(word));  // Not 0, which countr_zero would test for.
  }
  [[gnu::noinline]] void end_take() noexcept {
    std::uint32_t at = hint_;
    for (unsigned level = 1; level < levels_; ++level) {
      std::uint64_t& word = bits_[offset_[level] + at / 64];
      word &= ~(std::uint64_t{1} << (at % 64));
      if (word != 0) break;  // The word above still says that there is a free one here.
      at /= 64;
    }
    hint_ = none;
    if (levels_ == 1 || bits_[offset_[levels_ - 1U]] == 0) return;
    std::uint32_t lowest = 0;
    for (unsigned level = levels_; level-- > 1;) {
      lowest = lowest * 64 + static_cast<std::uint32_t>(std::countr_zero(bits_[offset_[level] + lowest]));
    }
    hint_ = lowest;
  }

  void give_back(std::uint32_t index) noexcept {
    if (!begin_give_back(index)) [[unlikely]]
      end_give_back(index);
  }

  /// give_back in two halves, so that a caller can end with its rare part and keep the common one free of calls: when
  /// the first returns false, the second must follow before anything else is taken or given back.
  [[nodiscard]] bool begin_give_back(std::uint32_t index) noexcept {
    const std::uint32_t at = index / 64;
    if (spare_end_ == 0 && at < hint_) {
      spare_end_ = index + 1;
      return true;
    }
    const std::uint64_t before = bits_[at];
    bits_[at] = before | std::uint64_t{1} << (index % 64);
    return (static_cast<unsigned>(before != 0) & static_cast<unsigned>(at >= hint_) &
            static_cast<unsigned>(index >= spare_end_)) != 0;
  }
  [[gnu::noinline]] void end_give_back(std::uint32_t index) noexcept {
    usable_again(index / 64);
    if (index >= spare_end_) return;
    const std::uint32_t spare = std::exchange(spare_end_, 0) - 1;
    bits_[spare / 64] |= std::uint64_t{1} << (spare % 64);  // It is no longer the lowest.
    usable_again(spare / 64);
  }

  [[nodiscard]] bool is_free(std::uint32_t index) const noexcept {
    return index + 1 == spare_end_ || (bits_[index / 64] >> (index % 64) & 1U) != 0;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  void usable_again(std::uint32_t at) noexcept {
    hint_ = at < hint_ ? at : hint_;
    for (unsigned level = 1; level < levels_; ++level) {
      std::uint64_t& word = bits_[offset_[level] + at / 64];
      const std::uint64_t before = word;
      word = before | std::uint64_t{1} << (at % 64);
      if (before != 0) break;
      at /= 64;
    }
  }

  std::uint64_t* bits_ = nullptr;
  std::uint32_t hint_ = none;    // The lowest word of level 0 with a free index; none when there is none.
  std::uint32_t spare_end_ = 0;  // One more than the spare; 0: there is none.
  unsigned levels_ = 0;
  std::array<std::size_t, 6> offset_{};
};

}  // namespace asx::detail
