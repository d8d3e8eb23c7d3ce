// asx/journal/digest.hpp - the digest of events: XXH3-128 over the canonical bytes of the semantic ones.
//
// Cancel points: none. Threads: one owner of the stream. Lifetime: plain values.
#pragma once

#include <span>

#include "asx/base/hash.hpp"
#include "asx/journal/event.hpp"

namespace asx {

/// Adds the semantic events among these; diagnostics are left out. The longer the stretches, the cheaper.
ASX_API void add_events(digest_stream& digest, std::span<const event> events) noexcept;

}  // namespace asx
