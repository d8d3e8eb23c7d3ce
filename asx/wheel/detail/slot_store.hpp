// asx/wheel/detail/slot_store.hpp - the 4 x 256 slots of the wheel, each a bag of (node, tick) in chunks of a cache
// line.
//
//     bitmap L0   0 1 0 0 1 ...          one bit a slot that has entries
//                   |     |
//     tail          [h|n n . . . . .]    the newest chunk of a slot, the only one that may have room
//                     |
//     previous      [h|n n n n n n n]    h: previous chunk, slot, fill
//
// 1  A slot of n entries has exactly ceil(n / 7) chunks: a removed entry's place is taken by the slot's last one.
// 2  So chunks for a seventh of the capacity, and one more a slot, always suffice (`chunks(capacity)`).
// 3  Entries of a slot have no order; who fires sorts by (deadline, seq).
//
// A doubly linked list through the nodes needs no chunks, but draining a slot of it is one cache miss after the
// other, each waiting for the last. Here seven entries come with one line, and the next line is known at once.
//
// Cancel points: none. Threads: one owner. Lifetime: chunks and tails lie in memory that the owner hands over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/base/bitmap256.hpp"

namespace asx::detail {

struct slot_entry {
  std::uint32_t node;
  std::uint32_t tick;  // The lowest 32 bits: the wheel spans less than 2^32 ticks from its cursor.
};

struct alignas(64) slot_chunk {
  static constexpr std::uint32_t room = 7;

  std::uint32_t previous;  // 0 ends the chain.
  std::uint16_t slot;
  std::uint16_t fill;
  std::array<slot_entry, room> entry;
};
static_assert(sizeof(slot_chunk) == 64, "a chunk is one cache line");

class slot_store {
 public:
  static constexpr std::uint32_t levels = 4;
  static constexpr std::uint32_t slots = levels * 256;
  static constexpr std::uint32_t nil = 0;  // Chunk 0 is always full and in no slot: "empty" and "full" are one test.

  [[nodiscard]] static constexpr std::uint32_t chunks(std::uint32_t capacity) noexcept {
    return 1 + capacity / slot_chunk::room + (capacity < slots ? capacity : slots);
  }

  void attach(slot_chunk* chunks, std::uint32_t count, std::uint32_t* tails) noexcept {
    chunks_ = chunks;
    count_ = count;
    tails_ = tails;
    clear();
  }

  void clear() noexcept {
    chunks_[nil] = {0, UINT16_MAX, slot_chunk::room, {}};
    for (std::uint32_t s = 0; s < slots; ++s) tails_[s] = nil;
    for (std::uint32_t c = 1; c < count_; ++c) chunks_[c] = {c + 1 < count_ ? c + 1 : nil, UINT16_MAX, 0, {}};
    free_ = count_ > 1 ? 1 : nil;
    occupied_ = {};
  }

  /// Where the entry lies now: valid until another entry of its slot is removed, which the caller is then told.
  std::uint32_t push(std::uint32_t slot, slot_entry e) noexcept {
    std::uint32_t at = tails_[slot];
    if (chunks_[at].fill == slot_chunk::room) at = add_chunk(slot);
    slot_chunk& chunk = chunks_[at];
    const std::uint32_t i = chunk.fill++;
    chunk.entry[i] = e;
    return at * 8 + i;
  }

  /// Returns the node that lies at `place` from now on; the removed one itself when it was the slot's last.
  std::uint32_t remove(std::uint32_t place) noexcept {
    slot_chunk& from = chunks_[place / 8];
    const std::uint32_t slot = from.slot;
    const std::uint32_t tail = tails_[slot];
    slot_chunk& last = chunks_[tail];
    const std::uint32_t i = --last.fill;
    const slot_entry moved = last.entry[i];
    from.entry[place % 8] = moved;
    if (i == 0) [[unlikely]] {
      tails_[slot] = last.previous;
      if (last.previous == nil) occupied_[slot / 256].clear(static_cast<std::uint8_t>(slot % 256));
      free_chunk(tail);
    }
    return moved.node;
  }

  /// Empties a slot and returns its chain, which the caller reads with `chunk` and gives back chunk by chunk.
  [[nodiscard]] std::uint32_t detach(std::uint32_t slot) noexcept {
    const std::uint32_t chain = tails_[slot];
    tails_[slot] = nil;
    occupied_[slot / 256].clear(static_cast<std::uint8_t>(slot % 256));
    return chain;
  }
  void free_chunk(std::uint32_t at) noexcept {
    chunks_[at].previous = free_;
    chunks_[at].fill = 0;
    free_ = at;
  }

  [[nodiscard]] std::uint32_t tail(std::uint32_t slot) const noexcept { return tails_[slot]; }
  [[nodiscard]] const slot_chunk& chunk(std::uint32_t at) const noexcept { return chunks_[at]; }
  [[nodiscard]] const bitmap256& occupied(std::uint32_t level) const noexcept { return occupied_[level]; }
  [[nodiscard]] bool empty(std::uint32_t slot) const noexcept { return tails_[slot] == nil; }

  /// The entries of a slot, or `limit` when there are at least so many.
  [[nodiscard]] std::uint32_t size(std::uint32_t slot, std::uint32_t limit) const noexcept {
    std::uint32_t n = 0;
    for (std::uint32_t at = tails_[slot]; at != nil && n < limit; at = chunks_[at].previous) n += chunks_[at].fill;
    return n < limit ? n : limit;
  }

  /// Distance from `from` to the first occupied slot of a level, going round; 256 when the level is empty.
  [[nodiscard]] std::uint32_t distance(std::uint32_t level, std::uint32_t from) const noexcept {
    const bitmap256& bits = occupied_[level];
    int next = bits.next(static_cast<int>(from));
    if (next == bitmap256::none) next = bits.lowest();
    return next == bitmap256::none ? 256 : (static_cast<std::uint32_t>(next) - from) & 255U;
  }

  /// Asserts laws 1 and 2, and that the bitmaps tell which slots have entries. O(chunks).
  void check() const noexcept {
    std::uint32_t used = 1;
    for (std::uint32_t s = 0; s < slots; ++s) {
      ASX_ASSERT(occupied_[s / 256].test(static_cast<std::uint8_t>(s % 256)) == (tails_[s] != nil),
                 "a bit is set exactly while its slot has entries");
      for (std::uint32_t at = tails_[s]; at != nil; at = chunks_[at].previous) {
        const slot_chunk& c = chunks_[at];
        ASX_ASSERT(c.slot == s, "a chunk knows its slot");
        ASX_ASSERT(at == tails_[s] ? c.fill > 0 && c.fill <= slot_chunk::room : c.fill == slot_chunk::room,
                   "only a slot's newest chunk has room, and none is empty");
        ++used;
      }
    }
    for (std::uint32_t at = free_; at != nil; at = chunks_[at].previous) ++used;
    ASX_ASSERT(used == count_, "every chunk is in one slot or free");
  }

 private:
  std::uint32_t add_chunk(std::uint32_t slot) noexcept {
    const std::uint32_t at = free_;
    ASX_ASSERT(at != nil, "a seventh of the capacity and one chunk a slot suffice");
    slot_chunk& chunk = chunks_[at];
    free_ = chunk.previous;
    chunk.previous = tails_[slot];
    chunk.slot = static_cast<std::uint16_t>(slot);
    tails_[slot] = at;
    occupied_[slot / 256].set(static_cast<std::uint8_t>(slot % 256));
    return at;
  }

  slot_chunk* chunks_ = nullptr;
  std::uint32_t* tails_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t free_ = nil;
  std::array<bitmap256, levels> occupied_{};
};

}  // namespace asx::detail
