// asx/sched/detail/worker_lanes.hpp - the three lanes of one worker, its streaks, counters and draws.
//
// Here and not in the .cpp, so that the common case of push and next can be compiled into the step.
#pragma once

#include <cstdint>

#include "asx/base/bitmap_queue.hpp"
#include "asx/base/conditional_lock.hpp"
#include "asx/base/random.hpp"
#include "asx/sched/certificate.hpp"
#include "asx/sched/detail/timed_lane.hpp"
#include "asx/sched/governor.hpp"
#include "asx/sched/place.hpp"

namespace asx::detail {

using priority_lane = bitmap_queue<place, lane_hook_tag>;

// Aligned, so that two workers never write to one cache line. What every dispatch touches comes first.
struct alignas(64) worker_lanes {
  worker_lanes(bool has_threads, std::uint64_t seed, std::uint32_t id, std::uint32_t timed_limit, timed_page** table,
               timed_pages& pages) noexcept
      : lock(has_threads),
        streaks(timed_limit),
        timed(table, pages),
        tie_stream(seed, id, random_stream::tie_break),
        steal_stream(seed, id, random_stream::steal) {}

  [[nodiscard]] waiting_lanes waiting() const noexcept { return {!cancel.empty(), timed.size() != 0, !ready.empty()}; }
  [[nodiscard]] bool has_none_but_ready() const noexcept { return (cancel.size() | timed.size()) == 0; }
  [[nodiscard]] bool has_only_cancel() const noexcept { return !cancel.empty() && ready.empty() && timed.size() == 0; }

  mutable conditional_lock lock;
  bool is_idle = true;  // Nothing was dispatched since next found nothing.
  std::uint64_t last_insertion = 0;
  lane_streaks streaks;
  fairness_certificate counted;
  timed_lane timed;
  splitmix64 tie_stream;
  splitmix64 steal_stream;
  priority_lane ready;
  priority_lane cancel;
};

}  // namespace asx::detail
