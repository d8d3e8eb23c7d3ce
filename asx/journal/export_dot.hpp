// asx/journal/export_dot.hpp - the region tree at one moment, for Graphviz.
//
//     region 1 (open) ---> region 2 (draining) ---> task 5 (waits for a message of channel 3)
//
//     dot -Tsvg tree.dot > tree.svg
//
// Completed tasks and closed regions are left out: the picture shows what there is, not what was.
//
// Cancel points: none. Threads: plain functions. Lifetime: the port is used during the call only.
#pragma once

#include <cstdint>
#include <span>

#include "asx/base/config.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/port.hpp"

namespace asx {

/// After event `seq` and its diagnostics; by default after the last one.
ASX_API void export_dot(text_port out, std::span<const event> events, std::uint64_t seq = UINT64_MAX);

}  // namespace asx
