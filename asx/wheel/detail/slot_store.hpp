// asx/wheel/detail/slot_store.hpp - the 4 x 256 slots of the wheel, each a bag of (node, tick) in chunks of cells.
//
//     bitmap L0   0 1 0 0 1 ...                one bit a slot that has entries
//                   |     |
//     head          C <-> B <-> A <-> (C)      a ring of chunks; the head is being filled
//                   |
//     word          1 0 1 1 0 ... 1            one bit a cell of the chunk, set while it holds an entry
//     cells         n . n n . ... n            sixteen, in two cache lines
//
// 1  An entry stays in its cell until its timer leaves the slot. So a removal is one bit; 150 kB of words stand for a
//    million timers, and neither the cell nor any other timer is touched.
// 2  A slot has no empty chunk. When the head is filled, the next chunk of the ring that has four holes is filled up,
// or a
//    new one is begun; so holes are used again, but a chunk does not change hands with every timer that comes and goes.
// 3  When no chunk is free, some slot has a whole chunk's worth of holes: there is one chunk more for each slot than
//    dense entries need (`chunks(capacity)`), and a fifth for what law 2 leaves open. The entries of one chunk of that
//    slot are then moved into the holes of others: sixteen at most, for a chunk that is begun.
// 4  Entries of a slot have no order; who fires sorts by (deadline, seq).
//
// A doubly linked list through the nodes needs no chunks, but cancel then writes two neighbours, and draining a slot is
// one cache miss after the other, each waiting for the last. Filling a removed entry's cell with the slot's last entry
// needs no words, but cancel then writes that cell and the other timer's identity.
//
// Chunk 0 is in no slot, so that 0 is no chunk.
//
// Cancel points: none. Threads: one owner. Lifetime: all arrays lie in memory that the owner hands over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/base/bitmap256.hpp"
#include "asx/wheel/detail/timer_node.hpp"

namespace asx::detail {

struct slot_entry {
  std::uint32_t node;
  std::uint32_t tick;  // The lowest 32 bits: the wheel spans less than 2^32 ticks from its cursor.
};

struct slot_chunk {
  std::uint32_t next;  // In its slot's ring, or among the free ones.
  std::uint32_t prev;
  std::uint32_t slot;
};

class slot_store {
 public:
  static constexpr std::uint32_t slots = 4 * 256;
  static constexpr std::uint32_t rings = slots + 1;  // The last is what take_all is taking.

  static constexpr std::uint32_t chunk_room = 16;

  [[nodiscard]] static constexpr std::uint32_t chunks(std::uint32_t capacity) noexcept {
    const std::uint32_t dense = capacity / chunk_room;
    return 1 + dense + dense / 5 + (capacity < rings ? capacity : rings);
  }
  [[nodiscard]] static constexpr std::uint32_t cells(std::uint32_t capacity) noexcept {
    return chunks(capacity) * chunk_room;
  }

  /// Takes over cells(capacity) cells, chunks(capacity) words and links, and `rings` heads and holes. Tells the
  /// identities where their entries are when it moves some.
  void attach(std::uint32_t capacity, slot_entry* cells, std::uint16_t* words, slot_chunk* links, std::uint32_t* heads,
              std::uint16_t* holes, timer_identity* identities) noexcept {
    cells_ = cells;
    words_ = words;
    links_ = links;
    heads_ = heads;
    holes_ = holes;
    identities_ = identities;
    chunks_ = chunks(capacity);
    clear();
  }

  [[nodiscard]] bool empty() const noexcept {
    for (const bitmap256& level : occupied_) {
      if (level.any()) return false;
    }
    return true;
  }

  void clear() noexcept {
    for (std::uint32_t s = 0; s < rings; ++s) {
      heads_[s] = 0;
      holes_[s] = 0;
    }
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      words_[c] = 0;
      links_[c].next = (c + 1) % chunks_;
    }
    free_ = 1 % chunks_;
    links_[0].next = 0;
    occupied_ = {};
  }

  /// False when make_room must come before push_into_room.
  [[nodiscard]] bool has_room(std::uint32_t slot) const noexcept { return holes_[slot] != 0; }
  /// Returns the entry's place, which is its identity's from now on.
  std::uint32_t push_into_room(std::uint32_t slot, slot_entry e) noexcept {
    const std::uint32_t holes = holes_[slot];
    const std::uint32_t chunk = heads_[slot];
    const std::uint32_t place = chunk * chunk_room + lowest(holes);
    holes_[slot] = static_cast<std::uint16_t>(holes & (holes - 1));
    words_[chunk] = static_cast<std::uint16_t>(words_[chunk] | (holes & (0U - holes)));
    cells_[place] = e;
    return place;
  }
  std::uint32_t push(std::uint32_t slot, slot_entry e) noexcept {
    if (!has_room(slot)) [[unlikely]]
      make_room(slot);
    return push_into_room(slot, e);
  }

  /// For a slot whose head is filled, or that has none. The next chunk of the ring is filled up, if it has holes
  /// enough, or else a new one is begun behind it. So every chunk has its turn; and when chunks run out, more are
  /// looked at.
  [[gnu::noinline]] void make_room(std::uint32_t slot) noexcept {
    std::uint32_t looks = free_ != 0 ? 1 : 16;
    std::uint32_t chunk = links_[heads_[slot]].next;
    for (; count(chunk) > open_room && --looks != 0; chunk = links_[chunk].next) {
    }
    if (heads_[slot] == 0 || looks == 0) chunk = begin_chunk(slot, chunk);
    heads_[slot] = chunk;
    holes_[slot] = static_cast<std::uint16_t>(~words_[chunk]);
    prefetch_chunk(chunk);  // Its lines would come one by one otherwise, each when a timer waits for it.
  }

  /// Takes out the entry at a place. When it returns false, settle must follow before the store is used again: in two
  /// halves, so that a caller can end with its rare part and keep the common one free of calls.
  [[nodiscard]] bool begin_remove(std::uint32_t place) noexcept {
    std::uint16_t& word = words_[place / chunk_room];
    const std::uint32_t left = word & ~(1U << place % chunk_room);
    word = static_cast<std::uint16_t>(left);
    return left != 0;
  }
  /// Frees the chunk of a place, which is empty.
  void settle(std::uint32_t place) noexcept {
    const std::uint32_t chunk = place / chunk_room;
    unlink(chunk, links_[chunk].slot);
    free_chunk(chunk);
  }

  /// Empties a slot and calls `visit(entry)` for each entry. Each chunk is free before its entries are visited, so that
  /// they can be pushed elsewhere, or back. `prepare(entry)` is called two chunks ahead of it, to prefetch; the chunk
  /// beyond is on its way meanwhile.
  template <class Prepare, class Visit>
  void take_all(std::uint32_t slot, const Prepare& prepare, const Visit& visit) noexcept {
    // As a slot of its own the rest is found when chunks run out, and moved together like any other.
    ASX_ASSERT(heads_[taking] == 0, "one slot is taken at a time");
    heads_[taking] = heads_[slot];
    heads_[slot] = 0;
    holes_[slot] = 0;
    occupied_[slot / 256].clear(static_cast<std::uint8_t>(slot % 256));
    const auto prepare_chunk = [&](std::uint32_t chunk) {
      for_each_in(chunk, [&](slot_entry e, std::uint32_t) {
        prepare(e);
        return true;
      });
    };
    prepare_chunk(heads_[taking]);
    prepare_chunk(links_[heads_[taking]].next);
    while (const std::uint32_t chunk = heads_[taking]) {
      std::array<slot_entry, chunk_room> copy;
      std::uint32_t count = 0;
      for_each_in(chunk, [&](slot_entry e, std::uint32_t) {
        copy[count++] = e;
        return true;
      });
      const std::uint32_t after_next = links_[links_[chunk].next].next;
      unlink(chunk, taking);
      free_chunk(chunk);
      prepare_chunk(after_next);
      prefetch_chunk(links_[after_next].next);
      for (std::uint32_t i = 0; i < count; ++i) visit(copy[i]);
    }
  }

  /// Calls `visit(entry, place)` for each entry of a slot until it returns false.
  template <class Visit>
  bool for_each(std::uint32_t slot, const Visit& visit) const noexcept {
    return for_each_chunk(slot, [&](std::uint32_t chunk) { return for_each_in(chunk, visit); });
  }

  [[nodiscard]] const bitmap256& occupied(std::uint32_t level) const noexcept { return occupied_[level]; }
  [[nodiscard]] bool empty(std::uint32_t slot) const noexcept { return heads_[slot] == 0; }
  [[nodiscard]] std::uint32_t slot_at(std::uint32_t place) const noexcept { return links_[place / chunk_room].slot; }

  /// The entries of a slot, or `limit` when there are at least so many.
  [[nodiscard]] std::uint32_t size(std::uint32_t slot, std::uint32_t limit) const noexcept {
    std::uint32_t n = 0;
    for_each_chunk(slot, [&](std::uint32_t chunk) {
      n += count(chunk);
      return n < limit;
    });
    return n < limit ? n : limit;
  }

  /// Distance from `from` to the first occupied slot of a level, going round; 256 when the level is empty.
  [[nodiscard]] std::uint32_t distance(std::uint32_t level, std::uint32_t from) const noexcept {
    const bitmap256& bits = occupied_[level];
    int next = bits.next(static_cast<int>(from));
    if (next == bitmap256::none) next = bits.lowest();
    return next == bitmap256::none ? 256 : (static_cast<std::uint32_t>(next) - from) & 255U;
  }

  /// Asserts law 2 and that the bitmaps tell which slots have entries. O(chunks).
  void check() const noexcept {
    std::uint32_t used = 1;
    ASX_ASSERT(heads_[taking] == 0 && words_[0] == 0, "no slot is half taken, and chunk 0 takes nothing");
    for (std::uint32_t s = 0; s < slots; ++s) {
      ASX_ASSERT(occupied_[s / 256].test(static_cast<std::uint8_t>(s % 256)) == (heads_[s] != 0),
                 "a bit is set exactly while its slot has entries");
      ASX_ASSERT(heads_[s] != 0 ? (holes_[s] & words_[heads_[s]]) == 0 : holes_[s] == 0, "a hole holds nothing");
      for_each_chunk(s, [&](std::uint32_t chunk) {
        ASX_ASSERT(words_[chunk] != 0, "no chunk of a slot is empty");
        ASX_ASSERT(links_[chunk].slot == s && links_[links_[chunk].next].prev == chunk, "a ring is linked both ways");
        ++used;
        return true;
      });
    }
    for (std::uint32_t c = free_; c != 0; c = links_[c].next) {
      ASX_ASSERT(words_[c] == 0, "a free chunk holds nothing");
      ++used;
    }
    ASX_ASSERT(used == chunks_, "every chunk is in one slot or free");
  }

 private:
  static constexpr std::uint32_t taking = slots;
  static constexpr std::uint32_t open_room = chunk_room - 4;  // A chunk is filled up when it has no more entries.

  [[nodiscard]] static std::uint32_t lowest(std::uint32_t bits) noexcept {
    return static_cast<std::uint32_t>(__builtin_ctz(bits));  // Not 0, which countr_zero would test for.
  }
  // Not std::popcount, which is a call where there is no instruction for it.
  [[nodiscard]] std::uint32_t count(std::uint32_t chunk) const noexcept {
    std::uint32_t n = words_[chunk];
    n -= n >> 1 & 0x5555U;
    n = (n & 0x3333U) + (n >> 2 & 0x3333U);
    n = (n + (n >> 4)) & 0x0f0fU;
    return (n + (n >> 8)) & 0x1fU;
  }

  template <class Visit>
  bool for_each_in(std::uint32_t chunk, const Visit& visit) const noexcept {
    for (std::uint32_t word = words_[chunk]; word != 0; word &= word - 1) {
      const std::uint32_t place = chunk * chunk_room + lowest(word);
      if (!visit(cells_[place], place)) return false;
    }
    return true;
  }
  template <class Visit>
  bool for_each_chunk(std::uint32_t slot, const Visit& visit) const noexcept {
    std::uint32_t chunk = heads_[slot];
    if (chunk == 0) return true;
    do {
      if (!visit(chunk)) return false;
      chunk = links_[chunk].next;
    } while (chunk != heads_[slot]);
    return true;
  }
  void prefetch_chunk(std::uint32_t chunk) const noexcept {
    __builtin_prefetch(&cells_[std::size_t{chunk} * chunk_room]);
    __builtin_prefetch(&cells_[std::size_t{chunk} * chunk_room + chunk_room / 2]);
  }

  std::uint32_t begin_chunk(std::uint32_t slot, std::uint32_t prev) noexcept {
    heads_[slot] = prev;  // Which stays then, when holes are closed.
    if (free_ == 0) close_holes();
    const std::uint32_t chunk = free_;
    ASX_ASSERT(chunk != 0, "a chunk more for each slot than dense entries need suffices");
    free_ = links_[chunk].next;
    if (prev == 0) {
      links_[chunk] = {chunk, chunk, slot};
      if (slot != taking) occupied_[slot / 256].set(static_cast<std::uint8_t>(slot % 256));
      return chunk;
    }
    const std::uint32_t next = links_[prev].next;
    links_[chunk] = {next, prev, slot};
    links_[next].prev = chunk;
    links_[prev].next = chunk;
    return chunk;
  }

  // Moves the entries of one chunk into the holes of others of its slot. The search for a slot with enough of them goes
  // on where the last one ended: in the worst case it looks at every chunk, for sixteen timers.
  void close_holes() noexcept {
    for (std::uint32_t looked = 0; looked < rings; ++looked, sweep_ = (sweep_ == 0 ? rings : sweep_) - 1) {
      std::uint32_t holes = 0;
      for_each_chunk(sweep_, [&](std::uint32_t chunk) {
        holes += chunk_room - count(chunk);
        return holes < chunk_room;
      });
      if (holes < chunk_room) continue;
      // There are others: one chunk alone does not have a chunk's worth of holes. The head stays: it is being filled.
      const std::uint32_t from = links_[heads_[sweep_]].next;
      unlink(from, sweep_);
      std::uint32_t to = heads_[sweep_];
      for_each_in(from, [&](slot_entry e, std::uint32_t) {
        while (words_[to] == UINT16_MAX) to = links_[to].next;
        const std::uint32_t place = to * chunk_room + lowest(~std::uint32_t{words_[to]});
        words_[to] = static_cast<std::uint16_t>(words_[to] | (words_[to] + 1U));
        if (to == heads_[sweep_]) holes_[sweep_] = static_cast<std::uint16_t>(~words_[to]);
        cells_[place] = e;
        identities_[e.node].place = place;
        return true;
      });
      free_chunk(from);
      return;
    }
  }

  // Not by links_[chunk].slot, which stays as it was while a slot is taken.
  void unlink(std::uint32_t chunk, std::uint32_t slot) noexcept {
    const std::uint32_t next = links_[chunk].next;
    const std::uint32_t prev = links_[chunk].prev;
    if (next == chunk) {
      heads_[slot] = 0;
      holes_[slot] = 0;
      if (slot != taking) occupied_[slot / 256].clear(static_cast<std::uint8_t>(slot % 256));
      return;
    }
    links_[next].prev = prev;
    links_[prev].next = next;
    if (heads_[slot] != chunk) return;
    heads_[slot] = next;
    holes_[slot] = 0;
  }

  void free_chunk(std::uint32_t chunk) noexcept {
    words_[chunk] = 0;
    links_[chunk].next = free_;
    free_ = chunk;
  }

  std::uint16_t* words_ = nullptr;
  std::uint16_t* holes_ = nullptr;  // The cells that are still to be filled of a slot's head.
  std::uint32_t* heads_ = nullptr;
  slot_entry* cells_ = nullptr;
  slot_chunk* links_ = nullptr;
  timer_identity* identities_ = nullptr;
  std::uint32_t chunks_ = 0;
  std::uint32_t free_ = 0;   // The first free chunk; 0 ends the chain.
  std::uint32_t sweep_ = 0;  // Where the search for holes goes on.
  std::array<bitmap256, 4> occupied_{};
};

}  // namespace asx::detail
