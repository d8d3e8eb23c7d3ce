// asx/journal/export_trace.hpp - a run on a screen: JSON for ui.perfetto.dev and chrome://tracing.
//
//     region 2   |  open                               |  closing  | finalizing |
//     task 5     | queued | running |  waits for a message of channel 3 | queued | running |
//     task 6     | running |-------------- wake ---------------------^
//     lanes      cancel, timed, ready as counters; a channel's queue and reserved slots as counters
//
// 1  Regions are processes, tasks are their threads; a region's own states are its first thread.
// 2  What a task does is a chain of spans without gaps: queued, running, waits for ...
// 3  Wakes and cancellations are arrows, from the span that caused them to the span that they changed.
// 4  On the axis `time` a span is as long as logical time says. In a run whose clock stands still everything would
//    fall on one point: the axis `sequence` gives each event one microsecond instead.
//
// tools/check_trace.py checks the result against the trace-event format.
//
// Cancel points: none. Threads: plain functions. Lifetime: the port is used during the call only.
#pragma once

#include <cstdint>
#include <span>

#include "asx/base/config.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/port.hpp"

namespace asx {

enum class trace_axis : std::uint8_t { time, sequence };

ASX_API void export_trace(text_port out, std::span<const event> events, trace_axis axis = trace_axis::time);

}  // namespace asx
