// bench/batch/workload.hpp - the channel's problem (bench/channel/workload.hpp), with messages that lie ready in lists.
//
// A producer fills a list of `batch` values and hands over all of it, as many in one turn as there is room for; the
// receiver takes up to `batch` at a time. Sums are checked in every run. Arguments: stream or threads; n; rounds; and
// the name of one workload if it shall be the only one.
#pragma once

#include "bench/channel/workload.hpp"

namespace bench {
inline constexpr std::uint64_t batch = 32;
}
