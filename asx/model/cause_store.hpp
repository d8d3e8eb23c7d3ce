// asx/model/cause_store.hpp - a fixed number of cancel reasons that heads can share as their causes.
//
// 1  keep copies the reason and its message; the copy stays until the last release, whatever the caller does.
// 2  A reference from before a slot's last release finds nothing (generation-checked), so it only ends a chain.
//    MessageBytes is a limit of its own, beside R-44's; 4,008 keeps every message whole that R-44 keeps whole.
// 3  When no slot is free keep is refused and nothing has changed.
// 4  The lowest free slot is taken first, so that references repeat on replay (U-19).
// 5  A kept reason holds on to its own cause: releasing the newest level releases the chain, level by level. Levels
//    that a head no longer shows are held as well, because others may still show them; they cost slots, not
//    correctness: a keep that finds no slot cuts the chain there, and the next head says so.
//
// Everything is constexpr and lies in the object itself, so that the laws of chains can be proved at compile
// time.
//
// Cancel points: none. Threads: one owner, or a lock around it. Lifetime: messages and causes live while kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "asx/base/assert.hpp"
#include "asx/model/cancel_reason.hpp"

namespace asx {

template <std::size_t Slots, std::size_t MessageBytes = 128>
class cause_store {
 public:
  constexpr cause_store() = default;
  cause_store(const cause_store&) = delete;
  cause_store& operator=(const cause_store&) = delete;

  /// The null reference when every slot is taken. A message longer than a slot holds is cut, and the copy
  /// says so. The caller owns one count of the reference.
  [[nodiscard]] constexpr cause_ref keep(const cancel_reason& reason) noexcept {
    for (std::size_t i = lowest_free_; i < Slots; ++i) {
      slot& s = slots_[i];
      if (s.count != 0) continue;
      lowest_free_ = i + 1;
      s.count = 1;
      ++s.generation;
      s.reason = reason;
      const std::size_t size = reason.message.size() < MessageBytes ? reason.message.size() : MessageBytes;
      for (std::size_t k = 0; k < size; ++k) s.text[k] = reason.message[k];
      s.reason.message = std::string_view(s.text.data(), size);
      if (size < reason.message.size()) s.reason.truncated = true;
      if (find(reason.cause) != nullptr) retain(reason.cause);
      ++live_;
      return {static_cast<std::uint32_t>(i), s.generation};
    }
    return {};
  }

  [[nodiscard]] constexpr const cancel_reason* find(cause_ref ref) const noexcept {
    if (ref.is_null() || ref.index >= Slots) return nullptr;
    const slot& s = slots_[ref.index];
    return s.count != 0 && s.generation == ref.generation ? &s.reason : nullptr;
  }

  constexpr void retain(cause_ref ref) noexcept {
    ASX_ASSERT(find(ref) != nullptr, "only a kept reason can be retained");
    ++slots_[ref.index].count;
  }

  /// The null reference, which a refused keep gives, is nothing to release.
  constexpr void release(cause_ref ref) noexcept {
    if (ref.is_null()) return;
    ASX_ASSERT(find(ref) != nullptr, "only a kept reason can be released");
    // A loop and not a recursion: a chain may be as long as the region tree is deep (U-12).
    while (find(ref) != nullptr) {
      slot& s = slots_[ref.index];
      if (--s.count != 0) return;
      --live_;
      if (ref.index < lowest_free_) lowest_free_ = ref.index;
      ref = s.reason.cause;
    }
  }

  [[nodiscard]] constexpr std::size_t live() const noexcept { return live_; }

 private:
  struct slot {
    cancel_reason reason{};
    std::uint64_t generation = 0;
    std::uint32_t count = 0;  // 0 while the slot is free.
    std::array<char, MessageBytes> text{};
  };

  std::array<slot, Slots> slots_{};
  std::size_t live_ = 0;
  std::size_t lowest_free_ = 0;  // No slot below it is free.
};

}  // namespace asx
