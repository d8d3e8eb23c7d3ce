// asx/kernel/testing/kernel_laws.hpp - what must hold of any kernel at any moment, whoever wrote it.
//
// The model and the kernel may agree and both be wrong. These laws are read off the tables of states, not off either.
//
// Cancel points: none. Threads: one owner. Lifetime: plain functions.
#pragma once

#include <cstdint>
#include <string>

#include "asx/kernel/testing/world.hpp"

namespace asx::testing {

/// The law that a task breaks, or nothing.
[[nodiscard]] inline std::string broken_by(const task_view& t) {
  if (t.is_released) return {};
  const bool is_told = t.state >= task_state::cancel_requested && t.state <= task_state::finalizing;
  if (is_told && !t.has_witness) return "a cancelled task has no witness (R-35)";
  if (t.has_witness && t.state < task_state::cancel_requested) return "a witness without a request (R-35)";
  if (t.epoch != (t.has_witness ? 1U : 0U)) return "the epoch is 0 before the first request and 1 after (R-34)";
  if (is_told &&
      static_cast<int>(t.phase) != static_cast<int>(t.state) - static_cast<int>(task_state::cancel_requested)) {
    return "the phase of the witness is not that of the task (R-36)";
  }
  if (t.has_witness && t.state == task_state::completed && t.phase != cancel_phase::completed) {
    return "the witness of a completed task has another phase (R-19)";
  }
  if (t.has_ended != (t.state == task_state::completed)) return "an outcome comes with completion";
  if (t.has_ended && t.ended == outcome_kind::cancelled && !t.has_witness) return "a forged cancel (R-26)";
  if (t.has_ended && t.ended_overrun && t.ended != outcome_kind::cancelled)
    return "an overrun that is no cancel (R-24)";
  if (t.state == task_state::completed && t.lane != 3) return "a completed task is queued";
  if (t.state == task_state::created && t.lane == 3 && t.polls != 0) return "a created task was polled (R-126)";
  if (t.state == task_state::finalizing && t.lane != 0) return "a finalizing task waits in the cancel lane (R-25)";
  if (t.lane != 3 && (t.lane == 0) != t.has_witness) return "the cancel lane is for cancelled tasks (R-105)";
  if (t.state == task_state::cancelling && t.cleanup_polls_left > info(t.reason_kind).cleanup_quota) {
    return "more cleanup polls than the reason grants (R-40)";
  }
  if (t.has_witness && t.chain_levels == 0) return "a reason has at least one level (R-44)";
  return {};
}

/// The law that a region breaks, or nothing.
[[nodiscard]] inline std::string broken_by(const region_view& r) {
  if (r.is_released) return {};
  if (r.has_reason != (r.state != region_state::open)) return "a reason comes with the close (R-06)";
  if (r.state == region_state::finalizing && r.live_regions != 0) return "a finalizing region has sub-regions (R-03)";
  if (r.state == region_state::closed && r.live_tasks + r.live_regions != 0) return "a closed region has children";
  if (r.state == region_state::closed && r.reserved != 0) return "a closed region has reserved obligations (R-10)";
  if (r.state != region_state::closed && r.leaked != 0) return "a leak before the sweep (R-11)";
  if (r.has_ended != (r.state == region_state::closed)) return "an outcome comes with the end";
  return {};
}

/// The first law that anything in the world breaks, or nothing.
[[nodiscard]] inline std::string broken_in(const kernel_world& w) {
  for (std::uint64_t n = 1; n <= w.tasks(); ++n) {
    if (std::string law = broken_by(w.task(n)); !law.empty()) return "task " + std::to_string(n) + ": " + law;
  }
  for (std::uint64_t n = 1; n <= w.regions(); ++n) {
    if (std::string law = broken_by(w.region(n)); !law.empty()) return "region " + std::to_string(n) + ": " + law;
  }
  return {};
}

}  // namespace asx::testing
