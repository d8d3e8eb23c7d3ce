// asx/wheel/detail/slot_store.hpp - the 4 x 256 slots of the wheel, each a bag of (node, tick) in chunks of 128 bytes.
//
//     bitmap L0   0 1 0 0 1 ...            one bit a slot that has entries
//                   |     |
//     top           [p|n n . . . ... .]    the newest chunk of a slot, the only one that may have room
//                    |
//                   [p|n n n n n ... n]    p: the chunk before it; fifteen entries
//
// 1  A slot of n entries has exactly ceil(n / 15) chunks: a removed entry's place is taken by the slot's last one.
// 2  So chunks for a fifteenth of the capacity, and one more a slot, always suffice (`cells(capacity)`).
// 3  Entries of a slot have no order; who fires sorts by (deadline, seq).
//
// A doubly linked list through the nodes needs no chunks, but draining a slot of it is one cache miss after the
// other, each waiting for the last. Here fifteen entries come with two lines, and the next two are known at once.
//
// A slot is one number, the place of its last entry; a place divided by 16 is a chunk, and cell 0 of a chunk says which
// chunk came before. Chunk 0 is in no slot and counts as full, so that "empty slot" and "full chunk" are one test.
//
// Cancel points: none. Threads: one owner. Lifetime: cells and tops lie in memory that the owner hands over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/base/bitmap256.hpp"

namespace asx::detail {

struct slot_entry {
  std::uint32_t node;  // In cell 0 of a chunk: the chunk before it.
  std::uint32_t tick;  // The lowest 32 bits: the wheel spans less than 2^32 ticks from its cursor.
};

class slot_store {
 public:
  static constexpr std::uint32_t slots = 4 * 256;
  static constexpr std::uint32_t chunk_cells = 16;
  static constexpr std::uint32_t chunk_room = chunk_cells - 1;
  static constexpr std::uint32_t nil = chunk_cells - 1;  // The top of an empty slot: the last cell of chunk 0.

  [[nodiscard]] static constexpr std::uint32_t cells(std::uint32_t capacity) noexcept {
    return (1 + capacity / chunk_room + (capacity < slots ? capacity : slots)) * chunk_cells;
  }

  void attach(slot_entry* cells, std::uint32_t count, std::uint32_t* tops) noexcept {
    cells_ = cells;
    chunks_ = count / chunk_cells;
    tops_ = tops;
    clear();
  }

  [[nodiscard]] bool empty() const noexcept {
    for (const bitmap256& level : occupied_) {
      if (level.any()) return false;
    }
    return true;
  }

  void clear() noexcept {
    for (std::uint32_t s = 0; s < slots; ++s) tops_[s] = nil;
    for (std::uint32_t c = 0; c < chunks_; ++c) cells_[c * chunk_cells].node = (c + 1) % chunks_;
    free_ = 1 % chunks_;
    occupied_ = {};
  }

  /// Returns the entry's place: valid until another entry of its slot is removed, of which the caller is then told.
  std::uint32_t push(std::uint32_t slot, slot_entry e) noexcept {
    std::uint32_t top = tops_[slot];
    if (top % chunk_cells == chunk_room) top = add_chunk(slot, top);
    cells_[++top] = e;
    tops_[slot] = top;
    return top;
  }

  /// Returns the node that lies at `place` from now on; the removed one itself when it was the slot's last. When
  /// `is_unsettled` holds afterwards, `settle` must follow before the slot is used again.
  std::uint32_t remove(std::uint32_t slot, std::uint32_t place) noexcept {
    const std::uint32_t top = tops_[slot];
    const slot_entry moved = cells_[top];
    cells_[place] = moved;
    tops_[slot] = top - 1;
    return moved.node;
  }
  [[nodiscard]] bool is_unsettled(std::uint32_t slot) const noexcept { return tops_[slot] % chunk_cells == 0; }
  /// Gives back a slot's newest chunk, which is empty.
  void settle(std::uint32_t slot) noexcept {
    const std::uint32_t chunk = tops_[slot] / chunk_cells;
    tops_[slot] = before(chunk * chunk_cells);
    if (tops_[slot] == nil) occupied_[slot / 256].clear(static_cast<std::uint8_t>(slot % 256));
    free_chunk(chunk);
  }

  /// Empties a slot and calls `visit(entry)` for each entry. Each chunk is free before its entries are visited, so that
  /// they can be pushed elsewhere, or back. `prepare(entry)` is called two chunks ahead of it, to prefetch; the chunk
  /// beyond is on its way meanwhile.
  template <class Prepare, class Visit>
  void take_all(std::uint32_t slot, const Prepare& prepare, const Visit& visit) noexcept {
    const auto prepare_chunk = [&](std::uint32_t top) {
      for (std::uint32_t i = top - top % chunk_cells + 1; i <= top && top != nil; ++i) prepare(cells_[i]);
    };
    std::uint32_t top = tops_[slot];
    tops_[slot] = nil;
    occupied_[slot / 256].clear(static_cast<std::uint8_t>(slot % 256));
    std::uint32_t next = top != nil ? before(top) : nil;
    prepare_chunk(top);
    prepare_chunk(next);
    while (top != nil) {
      const std::uint32_t after_next = next != nil ? before(next) : nil;
      prepare_chunk(after_next);
      if (after_next != nil) {
        const std::uint32_t beyond = before(after_next);
        __builtin_prefetch(&cells_[beyond]);
        __builtin_prefetch(&cells_[beyond - chunk_room]);
      }
      const std::uint32_t chunk = top / chunk_cells;
      const std::uint32_t fill = top % chunk_cells;
      std::array<slot_entry, chunk_cells> copy;
      for (std::uint32_t i = 1; i <= fill; ++i) copy[i] = cells_[chunk * chunk_cells + i];
      free_chunk(chunk);
      for (std::uint32_t i = 1; i <= fill; ++i) visit(copy[i]);
      top = std::exchange(next, after_next);
    }
  }

  /// Calls `visit(entry, place)` for each entry of a slot until it returns false.
  template <class Visit>
  bool for_each(std::uint32_t slot, const Visit& visit) const noexcept {
    for (std::uint32_t top = tops_[slot]; top != nil; top = before(top)) {
      for (std::uint32_t i = top - top % chunk_cells + 1; i <= top; ++i) {
        if (!visit(cells_[i], i)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] const bitmap256& occupied(std::uint32_t level) const noexcept { return occupied_[level]; }
  [[nodiscard]] bool empty(std::uint32_t slot) const noexcept { return tops_[slot] == nil; }

  /// The entries of a slot, or `limit` when there are at least so many.
  [[nodiscard]] std::uint32_t size(std::uint32_t slot, std::uint32_t limit) const noexcept {
    std::uint32_t n = 0;
    for (std::uint32_t top = tops_[slot]; top != nil && n < limit; top = before(top)) n += top % chunk_cells;
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
      ASX_ASSERT(occupied_[s / 256].test(static_cast<std::uint8_t>(s % 256)) == (tops_[s] != nil),
                 "a bit is set exactly while its slot has entries");
      for (std::uint32_t top = tops_[s]; top != nil; top = before(top)) {
        ASX_ASSERT(top % chunk_cells != 0, "no chunk of a slot is empty");
        ++used;
      }
    }
    for (std::uint32_t c = free_; c != 0; c = cells_[c * chunk_cells].node) ++used;
    ASX_ASSERT(used == chunks_, "every chunk is in one slot or free");
  }

 private:
  [[nodiscard]] std::uint32_t before(std::uint32_t top) const noexcept {
    return cells_[top - top % chunk_cells].node * chunk_cells + chunk_room;
  }

  std::uint32_t add_chunk(std::uint32_t slot, std::uint32_t top) noexcept {
    const std::uint32_t chunk = free_;
    ASX_ASSERT(chunk != 0, "a fifteenth of the capacity and one chunk a slot suffice");
    slot_entry& head = cells_[chunk * chunk_cells];
    free_ = head.node;
    head.node = top / chunk_cells;
    occupied_[slot / 256].set(static_cast<std::uint8_t>(slot % 256));
    return chunk * chunk_cells;
  }

  void free_chunk(std::uint32_t chunk) noexcept {
    cells_[chunk * chunk_cells].node = free_;
    free_ = chunk;
  }

  slot_entry* cells_ = nullptr;
  std::uint32_t* tops_ = nullptr;
  std::uint32_t chunks_ = 0;
  std::uint32_t free_ = 0;  // The first free chunk; 0 ends the chain.
  std::array<bitmap256, 4> occupied_{};
};

}  // namespace asx::detail
