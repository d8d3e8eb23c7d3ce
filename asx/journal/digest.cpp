#include "asx/journal/digest.hpp"

#include <bit>

namespace asx {

void add_events(digest_stream& digest, std::span<const event> events) noexcept {
  std::size_t from = 0;
  while (from < events.size()) {
    std::size_t to = from;
    while (to < events.size() && events[to].semantic()) ++to;
    const auto run = events.subspan(from, to - from);
    if constexpr (std::endian::native == std::endian::little) {
      if (!run.empty()) digest.add(std::as_bytes(run));  // The order in memory is the canonical one.
    } else {
      for (const event& e : run) digest.add(canonical_bytes(e));
    }
    from = to + 1;
  }
}

}  // namespace asx
