#include "asx/base/block_pool.hpp"

#include <algorithm>

namespace asx {

bool block_pool::fetch_piece(std::size_t at, std::size_t blocks) noexcept {
  const std::size_t size = size_of(at);
  const std::size_t bytes = blocks * size + sizeof(piece);
  const std::size_t alignment = std::has_single_bit(size) ? std::min(size, most_aligned) : step;
  auto* const start = static_cast<std::byte*>(memory_.allocate(memory_.context, bytes, alignment));
  if (start == nullptr) return false;
  pieces_ = new (start + blocks * size) piece{pieces_, start, bytes, alignment};
  for (std::size_t i = blocks; i-- > 0;) put(at, start + i * size);
  return true;
}

void* block_pool::fetch(std::size_t at, std::size_t bytes, std::size_t alignment) noexcept {
  if (at == classes) {
    void* const block = memory_.allocate(memory_.context, bytes, alignment);
    if (block != nullptr) ++live_;
    return block;
  }
  std::size_t blocks = 1;
  if (at < fine) blocks = std::clamp<std::size_t>(fetched_[at], 1, most_in_a_piece);
  if (!fetch_piece(at, blocks)) {
    if (blocks == 1 || !fetch_piece(at, 1)) return nullptr;
    blocks = 1;
  }
  if (at < fine) fetched_[at] += static_cast<std::uint32_t>(blocks);
  return take(at);
}

block_pool::~block_pool() {
  ASX_ASSERT(live_ == 0, "every block is given back before its pool dies");
  while (piece* const last = pieces_) {  // asx: bounded by the pieces that were fetched
    pieces_ = last->next;
    use_again(last->start, last->bytes - sizeof(piece));
    memory_.release(memory_.context, last->start, last->bytes, last->alignment);
  }
}

}  // namespace asx
