#include "asx/base/slab.hpp"

#include <algorithm>

namespace asx::detail {
namespace {

std::size_t round_up(std::size_t value, std::size_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

// How many of `each` hold so many. Nothing is added first: where a size has 32 bits, that would be 0 for the most.
std::size_t parts(std::size_t count, std::size_t each) noexcept {
  return count / each + (count % each == 0 ? 0 : 1);
}

}  // namespace

slab_core::slab_core(std::size_t record_size, std::size_t record_alignment, std::uint32_t limit, memory_port memory,
                     std::size_t slot_alignment) noexcept
    : memory_(memory),
      record_offset_(round_up(sizeof(std::uint64_t), record_alignment)),
      slot_alignment_(std::max({record_alignment, alignof(std::uint64_t), slot_alignment})),
      limit_(limit) {
  slot_size_ = round_up(record_offset_ + record_size, slot_alignment_);
  if (limit == 0) return;

  std::size_t words = 0;
  unsigned levels = 0;
  for (std::size_t width = limit; levels == 0 || width > 1; ++levels) {
    width = parts(width, 64);
    offset_[levels] = words;
    words += width;
  }
  const std::size_t chunk_count = parts(limit, chunk_slots);
  auto* const bits = static_cast<std::uint64_t*>(allocate(words * sizeof(std::uint64_t), alignof(std::uint64_t)));
  auto* const chunks = static_cast<std::byte**>(allocate(chunk_count * sizeof(std::byte*), alignof(std::byte*)));
  if (bits == nullptr || chunks == nullptr) {
    release(static_cast<void*>(chunks), chunk_count * sizeof(std::byte*), alignof(std::byte*));
    release(bits, words * sizeof(std::uint64_t), alignof(std::uint64_t));
    bytes_ = 0;
    return;
  }
  bits_ = bits;
  chunks_ = chunks;
  std::fill_n(chunks_, chunk_count, nullptr);
  // Every level has one bit per word below it (level 0: per slot); the bits past the last one stay clear.
  std::size_t below = limit;
  for (unsigned level = 0; level < levels; ++level) {
    std::uint64_t* const first = bits_ + offset_[level];
    std::fill_n(first, below / 64, ~std::uint64_t{0});
    if (below % 64 != 0) first[below / 64] = (std::uint64_t{1} << (below % 64)) - 1;
    below = parts(below, 64);
  }
  levels_ = levels;
}

slab_core::~slab_core() {
  if (levels_ == 0) return;
  const std::size_t chunk_count = parts(limit_, chunk_slots);
  for (std::size_t i = chunk_count; i-- > 0;) {
    release(chunks_[i], slots_in(i) * slot_size_, slot_alignment_);
  }
  release(static_cast<void*>(chunks_), chunk_count * sizeof(std::byte*), alignof(std::byte*));
  const std::size_t words = top_offset() + 1;  // The highest level is one word.
  release(bits_, words * sizeof(std::uint64_t), alignof(std::uint64_t));
}

void* slab_core::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  void* const block = memory_.allocate(memory_.context, bytes, alignment);
  if (block != nullptr) bytes_ += bytes;
  return block;
}

void slab_core::release(void* block, std::size_t bytes, std::size_t alignment) noexcept {
  if (block != nullptr) memory_.release(memory_.context, block, bytes, alignment);
}

bool slab_core::grow(std::uint32_t index) noexcept {
  const std::size_t slots = slots_in(index / chunk_slots);
  auto* const chunk = static_cast<std::byte*>(allocate(slots * slot_size_, slot_alignment_));
  if (chunk == nullptr) return false;
  for (std::size_t i = 0; i < slots; ++i) ::new (chunk + i * slot_size_) std::uint64_t{0};
  chunks_[index / chunk_slots] = chunk;
  return true;
}

bool slab_core::reserve(std::uint32_t count) noexcept {
  if (count > limit_ || (levels_ == 0 && count > 0)) return false;
  for (std::uint32_t i = 0; i < count; i += chunk_slots) {
    if (chunk_of(i) == nullptr && !grow(i)) return false;
    if (i > limit_ - chunk_slots && limit_ >= chunk_slots) break;  // The next step would wrap at the largest limit.
  }
  return true;
}

void slab_core::check() const noexcept {
  if (levels_ == 0) return;
  std::uint32_t free_slots = 0;
  for (std::uint32_t i = 0; i < limit_; ++i) {
    const bool is_free = ((bits_[i / 64] >> (i % 64)) & 1U) != 0;
    free_slots += is_free ? 1U : 0U;
    const bool lives = present(i) && (generation(i) & 1U) != 0;
    ASX_ASSERT(is_free != lives, "a slot is either free or live, and its generation says which (R-110)");
  }
  ASX_ASSERT(free_slots + live_ == limit_, "free and live slots are all slots");
  std::size_t below = (std::size_t{limit_} + 63) / 64;
  for (unsigned level = 1; level < levels_; ++level) {
    for (std::size_t i = 0; i < below; ++i) {
      const bool says = ((bits_[offset_[level] + i / 64] >> (i % 64)) & 1U) != 0;
      ASX_ASSERT(says == (bits_[offset_[level - 1] + i] != 0), "a bit above says whether the word below has one");
    }
    below = parts(below, 64);
  }
}

}  // namespace asx::detail
