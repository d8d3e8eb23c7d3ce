// asx/kernel/owned.hpp - how channels, finalizers and waiting operations hang on regions and tasks that know none of
// them.
//
// 1  An owned thing is finalized by its region, after finalizers and their tasks, in order of creation.
// 2  A waiter lies in the operation that waits, so that waiting allocates nothing; waiters are served first come, first
//    served (U-17, U-18), and one that dies leaves its queue.
//
// Cancel points: none. Threads: the runtime's. Lifetime: an owned thing leaves its region before it dies.
#pragma once

#include <cstdint>
#include <string>

#include "asx/base/intrusive_list.hpp"
#include "asx/kernel/cx.hpp"

namespace asx {

class kernel;
struct owned;

struct owned_ops {
  /// The region is finalizing: let go of everything, wake who waits.
  void (*finalize)(owned& self, kernel& k) noexcept;
  /// True when nothing is left in it that a run could still deliver.
  bool (*is_drained)(const owned& self) noexcept;
  /// One line for reports.
  void (*describe)(const owned& self, std::string& out);
};

struct owned : list_hook<struct owned_tag> {
  explicit owned(const owned_ops& table) noexcept : ops(&table) {}
  const owned_ops* ops;
};

/// Runs when the region finalizes, last registered first. It may spawn finalizer tasks into the region.
using finalizer_function = status (*)(void* context, region_handle region, kernel& k);

class waiter : public list_hook<struct waiter_tag> {
 public:
  waiter() noexcept = default;
  ~waiter() { leave(); }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  [[nodiscard]] bool is_waiting() const noexcept { return linked(); }
  ASX_API void leave() noexcept;

 private:
  friend class kernel;
  [[nodiscard]] bool waits_in(const void* queue_of, slab_key task) const noexcept {
    return linked() && on_ == queue_of && wake_.key_ == task;
  }

  waker wake_;
  const void* on_ = nullptr;  // The record whose queue it stands in.
};

}  // namespace asx
