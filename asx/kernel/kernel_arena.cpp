// Arenas: memory that goes with its region.
#include <cstddef>
#include <new>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::region_record;

namespace detail {
struct arena_chunk {
  arena_chunk* next;
  std::size_t bytes;  // With this header.
  std::size_t used;
};
}  // namespace detail

using detail::arena_chunk;

// The same on every machine, so that a call is refused on all of them or on none: some know no larger alignment than 8.
static constexpr std::size_t arena_alignment = 16;

status kernel::arena_allocate(region_handle region, std::size_t bytes, std::size_t alignment, void*& out) noexcept {
  const inside here(gate_);
  constexpr auto kind = event_kind::refused_memory;
  constexpr std::size_t most = arena_alignment;
  region_record* const r = find(region);
  if (r == nullptr) return refuse(kind, 0, {status::stale_handle});
  if (r->state == region_state::closed) return refuse(kind, r->id.value, {status::region_closed});
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > most || bytes > SIZE_MAX / 2) {
    return refuse(kind, r->id.value, {status::invalid_argument});
  }
  if (!has_bytes(bytes) || is_struck(fault_point::admission))
    return refuse(kind, r->id.value, {status::resource_exhausted, limit_code::memory, contract_.max_bytes});
  constexpr std::size_t header = (sizeof(arena_chunk) + most - 1) / most * most;
  arena_chunk* chunk = r->arena;
  const auto place_in = [&](const arena_chunk& c) { return (c.used + alignment - 1) / alignment * alignment; };
  if (chunk == nullptr || place_in(*chunk) + bytes > chunk->bytes) {
    const std::size_t wanted = header + bytes > 4096 ? header + bytes : 4096;
    void* const block = memory_.allocate(memory_.context, wanted, most);
    if (block == nullptr) return refuse(kind, r->id.value, {status::resource_exhausted, limit_code::memory, 0});
    chunk = r->arena = new (block) arena_chunk{r->arena, wanted, header};
  }
  const std::size_t at = place_in(*chunk);
  chunk->used = at + bytes;
  r->arena_bytes += bytes;
  bytes_ += bytes;
  out = reinterpret_cast<std::byte*>(chunk) + at;
  return status::ok;
}

void kernel::free_arena(region_record& r) noexcept {
  while (arena_chunk* const chunk = r.arena) {
    r.arena = chunk->next;
    memory_.release(memory_.context, chunk, chunk->bytes, arena_alignment);
  }
  bytes_ -= r.arena_bytes;
  r.arena_bytes = 0;
}

}  // namespace asx
