// asx/model/ids.hpp - the ids of the specification: creation counters from 1, never reused (U-20).
//
// An id names a thing in journals, reports and reasons; a handle (handle.hpp) reaches its record.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values; an id outlives what it names.
#pragma once

#include "asx/base/id.hpp"

namespace asx {

using region_id = id<struct region_tag>;
using task_id = id<struct task_tag>;
using obligation_id = id<struct obligation_tag>;
using timer_id = id<struct timer_tag>;
using channel_id = id<struct channel_tag>;

}  // namespace asx
