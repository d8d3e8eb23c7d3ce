// asx/sched/certificate.hpp - seven counters that say how fair a run was, and the hash that witnesses them.
//
// R-103  cancel, timed, ready and fallback are disjoint and add up to all dispatches. Exceedances count the cancel
//        dispatches, fallback included, that bring a streak above the base limit, and above the limit in force.
// R-176  the largest limit in force starts at the base limit; a stall poll counts as fallback.
// R-99   the hash is XXH3-64 over the seven fields, little-endian, in this order.
// INV-SC-06  equal dispatch sequences give equal hashes. The reverse is not claimed.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <array>
#include <cstdint>

#include "asx/base/hash.hpp"

namespace asx {

struct fairness_certificate {
  std::uint64_t cancel_dispatches = 0;
  std::uint64_t timed_dispatches = 0;
  std::uint64_t ready_dispatches = 0;
  std::uint64_t fallback_cancel_dispatches = 0;
  std::uint64_t base_limit_exceedances = 0;
  std::uint64_t effective_limit_exceedances = 0;
  std::uint64_t max_effective_limit_observed = 0;

  [[nodiscard]] constexpr std::uint64_t dispatches() const noexcept {
    return cancel_dispatches + timed_dispatches + ready_dispatches + fallback_cancel_dispatches;
  }

  [[nodiscard]] std::uint64_t witness_hash() const noexcept {
    const std::array<std::uint64_t, 7> fields{
        cancel_dispatches,           timed_dispatches,       ready_dispatches,
        fallback_cancel_dispatches,  base_limit_exceedances, effective_limit_exceedances,
        max_effective_limit_observed};
    return hash_fields(fields);
  }

  /// One certificate for all workers of a runtime.
  constexpr void add(const fairness_certificate& other) noexcept {
    cancel_dispatches += other.cancel_dispatches;
    timed_dispatches += other.timed_dispatches;
    ready_dispatches += other.ready_dispatches;
    fallback_cancel_dispatches += other.fallback_cancel_dispatches;
    base_limit_exceedances += other.base_limit_exceedances;
    effective_limit_exceedances += other.effective_limit_exceedances;
    if (other.max_effective_limit_observed > max_effective_limit_observed) {
      max_effective_limit_observed = other.max_effective_limit_observed;
    }
  }

  friend constexpr bool operator==(const fairness_certificate&, const fairness_certificate&) noexcept = default;
};

}  // namespace asx
