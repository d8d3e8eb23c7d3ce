// asx/model/witness.hpp - the proof of how far a cancellation has come, and the rules by which it may advance.
//
// R-34  the epoch is per task: 0 before any request, 1 from the first on, constant.
// R-35  a witness exists from the first request; each phase replaces it through validate.
// R-36  the validator accepts any phase that does not fall; the kernel itself never skips but to completed.
// R-37  a falling phase is witness_phase_regression here, and invalid_transition on tasks and regions.
// R-38  rules are checked in table order - task, region, epoch, phase, severity - and the first broken one answers.
//
// Cancel points: none. Threads: plain values. Lifetime: as its reason.
#pragma once

#include <cstdint>

#include "asx/model/cancel_reason.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/status.hpp"

namespace asx {

struct cancel_witness {
  task_id task{};
  region_id region{};
  std::uint64_t epoch = 0;
  cancel_phase phase = cancel_phase::requested;
  cancel_reason reason{};

  friend constexpr bool operator==(const cancel_witness&, const cancel_witness&) noexcept = default;
};

/// ok when `next` may replace `previous`, else the first rule it breaks.
[[nodiscard]] constexpr status validate(const cancel_witness& previous, const cancel_witness& next) noexcept {
  if (next.task != previous.task) return status::witness_task_mismatch;
  if (next.region != previous.region) return status::witness_region_mismatch;
  if (next.epoch != previous.epoch) return status::witness_epoch_mismatch;
  if (const status moved = cancel_phase_lifecycle.check(previous.phase, next.phase); moved != status::ok) return moved;
  if (next.reason.severity() < previous.reason.severity()) return status::witness_reason_weakened;
  return status::ok;
}

}  // namespace asx
