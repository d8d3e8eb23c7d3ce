// A slab and a std::map agree on every operation; refusals change nothing; addresses stay.
#include <cstdlib>
#include <map>
#include <vector>

#include "asx/base/slab.hpp"
#include "tests/fuzz/input.hpp"

namespace {

// Memory that is refused when the fuzzer says so.
struct moody_memory {
  std::uint32_t served = 0;
  std::uint32_t refuse_after = UINT32_MAX;

  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) noexcept {
    auto& self = *static_cast<moody_memory*>(context);
    if (self.served++ >= self.refuse_after) return nullptr;
    const asx::memory_port heap = asx::heap_memory();
    return heap.allocate(heap.context, bytes, alignment);
  }
  static void release(void*, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    const asx::memory_port heap = asx::heap_memory();
    heap.release(heap.context, block, bytes, alignment);
  }
};

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input in(data, size);
  const auto limit = static_cast<std::uint32_t>(in.number(2) % 300);
  moody_memory memory;
  if (const std::uint8_t mood = in.byte(); mood < 16) memory.refuse_after = mood;
  asx::slab<std::uint64_t> slab(limit, {&memory, &moody_memory::allocate, &moody_memory::release});

  struct entry {
    asx::slab_key key;
    std::uint64_t value;
    std::uint64_t* address;
  };
  std::map<std::uint32_t, entry> live;
  std::vector<asx::slab_key> stale;
  while (!in.empty()) {
    const std::uint8_t op = in.byte();
    if (op % 4 < 2) {
      const std::uint64_t value = in.number(1);
      std::uint32_t lowest = 0;
      while (live.contains(lowest)) ++lowest;
      const auto made = slab.allocate(value);
      if (!made) {
        require(lowest == limit || memory.refuse_after != UINT32_MAX);
      } else {
        require(made.key.index == lowest && lowest < limit && *made.record == value);
        live[lowest] = {made.key, value, made.record};
      }
    } else if (op % 4 == 2 && !live.empty()) {
      auto victim = live.lower_bound(static_cast<std::uint32_t>(in.number(2) % 300));
      if (victim == live.end()) victim = live.begin();
      slab.release(victim->second.key);
      stale.push_back(victim->second.key);
      live.erase(victim);
    } else if (!stale.empty()) {
      require(slab.find(stale[in.byte() % stale.size()]) == nullptr);
    }
    require(slab.live() == live.size());
  }
  for (const auto& [index, e] : live) require(slab.find(e.key) == e.address && *e.address == e.value);
  slab.check();
  return 0;
}
