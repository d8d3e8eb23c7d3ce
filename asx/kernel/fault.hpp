// asx/kernel/fault.hpp - the seam where a run is made to go wrong on purpose: who is asked at every point where it can.
//
//     kernel --"here is an admission"--> port.strikes --true--> refused, as if the limit were met
//
// 1  What a strike does is what the real thing does: the same status, the same events, and a refusal changed nothing.
// 2  The points of a run come in the same order whenever it is run again, so the k-th of them names one place.
// 3  Only what its own limit would have admitted is asked for: one that is met refuses by itself, and is no point. What
//    other limits would refuse afterwards, of bytes and of a trace, may be one.
// 4  Without a port a point costs one predicted branch.
// 5  It takes a journal or ghosts, and cancel points that a task passes are seen where ghosts watch (ghost_mode::on):
//    without them most are never told.
//
// What is an admission: a task, a region, an obligation, a timer, a channel or other primitive, a place in a queue of
// waiters, a cancel or a close, a finalizer, a cleanup action, a mask, a foreign handle, a frame or other block,
// and memory of an arena. What is none: room in a trace, and reasons, which are cut and not refused.
//
// Cancel points: none. Threads: the runtime's. Lifetime: the port's context outlives its use.
#pragma once

#include <cstdint>
#include <string_view>

#include "asx/model/cancel_kind.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/outcome.hpp"
#include "asx/model/status.hpp"

namespace asx {

enum class fault_point : std::uint8_t {
  admission,  // Something is about to be admitted. A strike refuses it.
  cancel,     // A task begins, stands at a cancel point, or waits behind a poll. A strike asks it to cancel.
  poll,       // A task is about to be polled on its own budget. A strike has its polls spent.
  cost,       // A task spends of its cost quota. A strike has it spent before.
};

struct fault_port {
  void* context = nullptr;
  /// `polls`: how many the task in question has had; 0 for an admission.
  bool (*strikes)(void* context, fault_point what, std::uint64_t polls) noexcept = nullptr;
  /// True: a task that ended so, and that nobody joins, failed by a strike, and is not kept as unheard: another one is.
  bool (*explains)(void* context, outcome_kind how, status code) noexcept = nullptr;
  /// A task that was cancelled ended with a failure of its own, which its outcome alone tells of: `ended` is the
  /// event of its end. Whether a strike explains it is for whoever hears of it.
  void (*hears_failed_cleanup)(void* context, task_id who, std::string_view called, const error& why,
                               std::uint64_t ended) noexcept = nullptr;
  cancel_kind kind = cancel_kind::user;  // Of the cancels.
  std::string_view message{};
};

}  // namespace asx
