#include "asx/base/block_pool.hpp"

namespace asx {

void* block_pool::fetch(std::size_t at, std::size_t bytes, std::size_t alignment) noexcept {
  void* const block = at < classes ? memory_.allocate(memory_.context, size_of(at), alignment_of(at))
                                   : memory_.allocate(memory_.context, bytes, alignment);
  if (block != nullptr) ++live_;
  return block;
}

block_pool::~block_pool() {
  ASX_ASSERT(live_ == 0, "every block is given back before its pool dies");
  for (std::size_t at = 0; at < classes; ++at) {
    while (free_block* const block = free_[at]) {
      free_[at] = block->next;
      use_again(block, at);
      memory_.release(memory_.context, block, size_of(at), alignment_of(at));
    }
  }
}

}  // namespace asx
