// asx/sched/detail/timed_lane.hpp - earliest deadline first, then first in first out: a 4-ary heap on shared pages.
//
//     worker 0   [page][page][page]          A page holds 64 entries. All workers draw from one pool that has as many
//     worker 1   [page]                 <--  pages as all places together can fill, so a push never asks for memory,
//     pool       (free)(free)...             and 64 workers do not cost 64 heaps of the largest size.
//
// 1  The root goes before every other entry by (deadline, insertion_seq); the order is total.
// 2  A place knows where it lies, so that it can be taken out from the middle: O(log n), as push and pop.
//
// The root lies at index 3, so that the four children of an entry are a group of four at a multiple of four: within a
// page, and one look at the table away. What a group has no entry for holds a key that goes last.
//
// A pairing heap needs no array at all, but one pop in n costs n steps; a robot cannot have that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asx/base/conditional_lock.hpp"
#include "asx/base/memory.hpp"
#include "asx/sched/place.hpp"

namespace asx::detail {

struct timed_entry {
  std::uint64_t deadline_ns;
  std::uint64_t insertion_seq;
  place* who;

  [[nodiscard]] bool goes_before(const timed_entry& other) const noexcept {
    return deadline_ns != other.deadline_ns ? deadline_ns < other.deadline_ns : insertion_seq < other.insertion_seq;
  }
};

inline constexpr std::uint32_t page_entries = 64;

/// Pages that one lane's table must have room for, and that all lanes together can use: each begins with three places
/// that stay empty, and may leave its last page unfilled.
[[nodiscard]] constexpr std::uint32_t pages_of_one_lane(std::uint32_t places) noexcept {
  return places == 0 ? 0 : (places + 3 + page_entries - 1) / page_entries;
}
[[nodiscard]] constexpr std::uint32_t pages_of_all_lanes(std::uint32_t places, std::uint32_t lanes) noexcept {
  return places == 0 ? 0
                     : static_cast<std::uint32_t>((places + std::uint64_t{page_entries + 2} * lanes) / page_entries);
}

union timed_page {
  std::array<timed_entry, page_entries> entries;
  timed_page* next_free;
};

/// The pages that no worker uses. Grows in chunks when told to, never by itself.
class timed_pages {
 public:
  timed_pages(memory_port memory, bool has_threads) noexcept : memory_(memory), lock_(has_threads) {}
  ~timed_pages();
  timed_pages(const timed_pages&) = delete;
  timed_pages& operator=(const timed_pages&) = delete;

  /// False when the port has no room: nothing changed.
  [[nodiscard]] bool grow_to(std::uint32_t pages) noexcept;
  [[nodiscard]] timed_page* take() noexcept {
    const lock_guard guard(lock_);
    timed_page* const page = free_;
    ASX_ASSERT(page != nullptr, "the pages admitted are enough for all places");
    free_ = page->next_free;
    return page;
  }
  void give_back(timed_page* page) noexcept {
    const lock_guard guard(lock_);
    page->next_free = free_;
    free_ = page;
  }

 private:
  struct chunk {
    chunk* next;
    std::uint32_t pages;
  };
  static constexpr std::size_t pages_offset =
      (sizeof(chunk) + alignof(timed_page) - 1) / alignof(timed_page) * alignof(timed_page);
  [[nodiscard]] static std::size_t chunk_bytes(std::uint32_t pages) noexcept {
    return pages_offset + std::size_t{pages} * sizeof(timed_page);
  }

  memory_port memory_;
  conditional_lock lock_;
  timed_page* free_ = nullptr;
  chunk* chunks_ = nullptr;
  std::uint32_t total_ = 0;
};

class timed_lane {
 public:
  /// `table` has room for as many pages as all places can fill; it outlives the lane.
  timed_lane(timed_page** table, timed_pages& pool) noexcept : table_(table), pool_(pool) {}
  timed_lane(const timed_lane&) = delete;
  timed_lane& operator=(const timed_lane&) = delete;
  ~timed_lane() { ASX_ASSERT(size_ == 0, "tasks leave their lanes before the lanes go"); }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] place* front() const noexcept { return size_ == 0 ? nullptr : at(root).who; }

  void push(place& p) noexcept {
    const std::uint32_t hole = root + size_++;
    if (hole == root || hole % page_entries == 0) table_[hole / page_entries] = pool_.take();
    if (hole % 4 == 0) at(hole + 1) = at(hole + 2) = at(hole + 3) = nobody;
    rise(hole, {p.deadline_.ns, p.insertion_seq_, &p});
  }
  void remove(place& p) noexcept;
  place* pop() noexcept {
    place* const first = front();
    if (first != nullptr) remove(*first);
    return first;
  }

  /// Asserts the order, and that every place knows where it lies. O(n), for tests.
  void check() const noexcept;

 private:
  static constexpr std::uint32_t root = 3;
  static constexpr timed_entry nobody{UINT64_MAX, UINT64_MAX, nullptr};

  [[nodiscard]] timed_entry& at(std::uint32_t i) const noexcept {
    return table_[i / page_entries]->entries[i % page_entries];
  }
  void put(std::uint32_t i, const timed_entry& entry) noexcept {
    at(i) = entry;
    entry.who->heap_index_ = i;
  }
  [[nodiscard]] static std::uint32_t parent_of(std::uint32_t i) noexcept { return i / 4 + 2; }
  void rise(std::uint32_t hole, const timed_entry& entry) noexcept {
    while (hole != root) {
      const std::uint32_t parent = parent_of(hole);
      if (!entry.goes_before(at(parent))) break;
      put(hole, at(parent));
      hole = parent;
    }
    put(hole, entry);
  }
  void sink(std::uint32_t hole, const timed_entry& entry) noexcept;

  timed_page** table_;
  timed_pages& pool_;
  std::uint32_t size_ = 0;
};

}  // namespace asx::detail
