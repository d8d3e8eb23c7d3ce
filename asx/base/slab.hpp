// asx/base/slab.hpp - records at stable addresses, found by index and generation, up to a limit.
//
//     free bits   level 2      1                     one word: which words below have a free slot
//                 level 1      1 0 1 ...
//                 level 0      0110.. 0000.. 1111..  one bit a slot, set while the slot is free
//     chunks      [g r][g r][g r] ...                generation and record, never moved once there
//
// 1  A record keeps its address from allocate to release; a chunk is given back only with the slab.
// 2  The lowest free index is always the next one taken (U-19), so that indices repeat on replay.
// 3  A slot's generation is odd while it is live and grows by one at each allocate and release, so that a
//    key of an earlier life never finds a later one. 64 bits never wrap in practice (U-37).
// 4  At the limit, or when memory is refused, allocate returns null and nothing has changed (U-36).
// 5  After `reserve(limit)` nothing is ever allocated again.
//
// Finding the lowest free slot takes one word a level: three for 262,144 slots. A free list would be a
// little faster, but its order depends on history, and replay would see other indices.
//
// Cancel points: none. Threads: one owner, or a lock around it. Lifetime: records die with the slab at the latest.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/base/construct.hpp"
#include "asx/base/memory.hpp"

namespace asx {

/// Names one life of one slot. The null key finds nothing.
struct slab_key {
  std::uint32_t index = 0;
  std::uint64_t generation = 0;

  friend constexpr bool operator==(slab_key, slab_key) noexcept = default;
};

/// A record and the key that finds it again; empty when allocate was refused.
template <class T>
struct slab_entry {
  T* record = nullptr;
  slab_key key{};

  explicit operator bool() const noexcept { return record != nullptr; }
};

namespace detail {

// What does not depend on the record's type. All sizes are fixed at construction.
class ASX_API slab_core {
 public:
  slab_core(std::size_t record_size, std::size_t record_alignment, std::uint32_t limit, memory_port memory,
            std::size_t slot_alignment = 1) noexcept;
  ~slab_core();
  slab_core(const slab_core&) = delete;
  slab_core& operator=(const slab_core&) = delete;

  static constexpr std::uint32_t npos = UINT32_MAX;

  /// The lowest free index, with its chunk in place; npos when refused. Not yet taken.
  std::uint32_t lowest_free() noexcept {
    if (levels_ == 0 || bits_[top_offset()] == 0) return npos;
    std::uint32_t at = 0;
    for (unsigned level = levels_; level-- > 0;) {
      at = at * 64 + static_cast<std::uint32_t>(std::countr_zero(bits_[offset_[level] + at]));
    }
    return chunk_of(at) != nullptr || grow(at) ? at : npos;
  }

  void take(std::uint32_t index) noexcept {
    std::uint32_t at = index;
    for (unsigned level = 0; level < levels_; ++level) {
      std::uint64_t& word = bits_[offset_[level] + at / 64];
      word &= ~(std::uint64_t{1} << (at % 64));
      if (word != 0) break;  // The word above still says "there is a free one here".
      at /= 64;
    }
    ++live_;
  }

  void give_back(std::uint32_t index) noexcept {
    std::uint32_t at = index;
    for (unsigned level = 0; level < levels_; ++level) {
      std::uint64_t& word = bits_[offset_[level] + at / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << (at % 64);
      if (!was_empty) break;
      at /= 64;
    }
    --live_;
  }

  [[nodiscard]] std::uint64_t& generation(std::uint32_t index) const noexcept {
    return *reinterpret_cast<std::uint64_t*>(slot(index));
  }
  [[nodiscard]] std::byte* record(std::uint32_t index) const noexcept { return slot(index) + record_offset_; }

  /// Whether the slot has memory behind it; one that never had is in no life at all.
  [[nodiscard]] bool present(std::uint32_t index) const noexcept {
    return index < limit_ && chunks_ != nullptr && chunk_of(index) != nullptr;
  }

  /// The lowest index from `from` on that is taken: live, being born or dying; npos when there is none. Chunks are
  /// put in from the front, so the first slot without one ends the search.
  [[nodiscard]] std::uint32_t next_taken(std::uint32_t from) const noexcept {
    while (present(from)) {
      const std::uint64_t taken = ~bits_[from / 64] >> (from % 64);
      if (taken != 0) {
        from += static_cast<std::uint32_t>(std::countr_zero(taken));
        return from < limit_ ? from : npos;  // Bits past the limit are clear and look taken.
      }
      from = (from / 64 + 1) * 64;  // Cannot wrap: the last word of the largest limit has a clear bit past it.
    }
    return npos;
  }

  /// Puts chunks behind the first `count` slots now. False when memory was refused; what is there stays.
  [[nodiscard]] bool reserve(std::uint32_t count) noexcept;
  [[nodiscard]] bool ready() const noexcept { return levels_ != 0 || limit_ == 0; }
  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void check() const noexcept;

 private:
  static constexpr std::uint32_t chunk_slots = 64;

  [[nodiscard]] std::size_t top_offset() const noexcept { return offset_[levels_ - 1U]; }
  /// The last chunk is no larger than the limit asks for: a pool of 16 does not pay for 64.
  [[nodiscard]] std::size_t slots_in(std::size_t chunk) const noexcept {
    const std::size_t left = std::size_t{limit_} - chunk * chunk_slots;
    return left < chunk_slots ? left : chunk_slots;
  }
  [[nodiscard]] std::byte* chunk_of(std::uint32_t index) const noexcept { return chunks_[index / chunk_slots]; }
  [[nodiscard]] std::byte* slot(std::uint32_t index) const noexcept {
    return chunk_of(index) + (index % chunk_slots) * slot_size_;
  }
  bool grow(std::uint32_t index) noexcept;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
  void release(void* block, std::size_t bytes, std::size_t alignment) noexcept;  // Null is nothing to release.

  memory_port memory_;
  std::size_t record_offset_;
  std::size_t slot_size_;
  std::size_t slot_alignment_;
  std::byte** chunks_ = nullptr;   // One pointer a chunk, null until it is first needed.
  std::uint64_t* bits_ = nullptr;  // All levels in one block, the lowest first.
  std::array<std::size_t, 6> offset_{};
  unsigned levels_ = 0;  // 0: the tables themselves were refused, every allocate is.
  std::uint32_t limit_;
  std::uint32_t live_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace detail

template <class T>
class slab {
 public:
  /// `slot_alignment`: of the number and the record together, when that is more than the record needs.
  explicit slab(std::uint32_t limit, memory_port memory = heap_memory(), std::size_t slot_alignment = 1) noexcept
      : core_(sizeof(T), alignof(T), limit, memory, slot_alignment) {}
  ~slab() {
    for_each([this](T&, slab_key key) { release(key); });  // A destructor may release others, too.
    ASX_ASSERT(core_.live() == 0, "a dying slab takes no new records");
  }
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;

  /// An empty entry when the limit is reached or memory is refused: nothing has changed then.
  template <class... Args>
  [[nodiscard]] slab_entry<T> allocate(Args&&... args) {
    const std::uint32_t index = core_.lowest_free();
    if (index == detail::slab_core::npos) return {};
    core_.take(index);  // Before the constructor, which may itself allocate from this slab.
    give_back_on_throw guard{&core_, index};
    T* const record = std::construct_at(reinterpret_cast<T*>(core_.record(index)), std::forward<Args>(args)...);
    guard.core = nullptr;
    return {record, {index, ++core_.generation(index)}};
  }

  /// Ends the record's life; its key is stale from here on.
  void release(slab_key key) noexcept {
    T* const record = find(key);
    ASX_ASSERT(record != nullptr, "only a live record can be released, and only once (R-110)");
    end_life(*record, key.index, core_.generation(key.index));
  }
  /// The same for who has the record itself, and knows its index.
  void release(T& record, std::uint32_t index) noexcept {
    std::uint64_t& generation = *number_of(record);
    ASX_ASSERT((generation & 1U) != 0, "only a live record can be released, and only once (R-110)");
    end_life(record, index, generation);
  }

  /// Null when the key is null, stale or was never given out.
  [[nodiscard]] T* find(slab_key key) const noexcept {
    if (!core_.present(key.index) || core_.generation(key.index) != key.generation) return nullptr;
    if ((key.generation & 1U) == 0) return nullptr;  // Free slots have even generations.
    return at(key.index);
  }

  /// Of a record that lives in a slab: the number of its life lies in front of it.
  [[nodiscard]] static std::uint64_t generation_of(const T& record) noexcept {
    return *number_of(const_cast<T&>(record));
  }

  /// Calls `visit(record, key)` for each live record in the order of indices. `visit` may allocate and release: what
  /// is released before its turn is not visited; what is allocated is visited if its index is still to come.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = core_.next_taken(0); i != detail::slab_core::npos; i = core_.next_taken(i + 1)) {
      const std::uint64_t generation = core_.generation(i);
      if ((generation & 1U) != 0) visit(*at(i), slab_key{i, generation});
    }
  }

  [[nodiscard]] bool reserve(std::uint32_t count) noexcept { return core_.reserve(count); }
  /// False when memory for its tables was refused: every allocate is refused, too.
  [[nodiscard]] bool ready() const noexcept { return core_.ready(); }
  [[nodiscard]] std::uint32_t live() const noexcept { return core_.live(); }
  [[nodiscard]] std::uint32_t limit() const noexcept { return core_.limit(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return core_.bytes(); }

  /// Asserts laws 2 and 3 over the whole structure. O(limit), for tests.
  void check() const noexcept { core_.check(); }

 private:
  struct give_back_on_throw {
    detail::slab_core* core;
    std::uint32_t index;
    ~give_back_on_throw() {
      if (core != nullptr) core->give_back(index);
    }
  };

  [[nodiscard]] static std::uint64_t* number_of(T& record) noexcept {
    constexpr std::size_t before = sizeof(std::uint64_t) > alignof(T) ? sizeof(std::uint64_t) : alignof(T);
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(std::addressof(record)) - before);
  }
  void end_life(T& record, std::uint32_t index, std::uint64_t& generation) noexcept {
    ++generation;
    std::destroy_at(std::addressof(record));
    core_.give_back(index);
  }
  [[nodiscard]] T* at(std::uint32_t index) const noexcept {
    return std::launder(reinterpret_cast<T*>(core_.record(index)));
  }

  detail::slab_core core_;
};

}  // namespace asx
