// asx/sched/place.hpp - a task's place in the lanes: what a queue needs to know of it, and nothing else.
//
// A record has its place from the day it is made, so that queueing it allocates nothing and cannot fail.
//
// 1  A place is in at most one lane of one worker.
// 2  What it was queued with - worker, lane, priority, deadline, number - stays readable until it is queued again.
//
// Cancel points: none.
// Threads: while queued it belongs to its worker's lanes, and so under their lock; else to the task's owner. Whether
//          and where it is queued is one atomic word, which is written under that lock: whoever wants to take it out
//          reads the word, takes the lock and reads again.
// Lifetime: it must have left its lane before it dies.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/base/atomic_word.hpp"
#include "asx/base/intrusive_list.hpp"
#include "asx/base/time.hpp"
#include "asx/model/ids.hpp"

namespace asx {

namespace detail {
class timed_lane;
}

/// The lanes in the order of INV-SC-01.
enum class lane : std::uint8_t { cancel, timed, ready };

inline constexpr std::uint32_t no_worker = UINT32_MAX;

class place : public list_hook<struct lane_hook_tag> {
 public:
  explicit place(task_id task = {}) noexcept : task_(task) {}
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() { ASX_ASSERT(!is_queued(), "a task must leave its lane before its record dies"); }

  [[nodiscard]] task_id task() const noexcept { return task_; }
  [[nodiscard]] bool is_queued() const noexcept { return (where() & queued_bit) != 0; }

  [[nodiscard]] lane queued_in() const noexcept { return lane_; }
  [[nodiscard]] std::uint32_t worker() const noexcept { return where() & ~queued_bit; }
  [[nodiscard]] std::uint8_t priority() const noexcept { return priority_; }
  /// none, unless it was queued in the timed lane.
  [[nodiscard]] instant deadline() const noexcept { return deadline_; }
  [[nodiscard]] std::uint64_t insertion_seq() const noexcept { return insertion_seq_; }

  /// The record is given to another task. It must not be queued.
  void rename(task_id task) noexcept {
    ASX_ASSERT(!is_queued(), "a record that is queued belongs to the task that is queued");
    task_ = task;
  }

 private:
  friend class scheduler;
  friend class detail::timed_lane;
  static constexpr std::uint32_t no_index = UINT32_MAX;
  static constexpr std::uint32_t queued_bit = 1U << 31;

  // Relaxed: the word decides only which lock to take; what it guards is ordered by that lock.
  [[nodiscard]] std::uint32_t where() const noexcept { return where_.load(std::memory_order_relaxed); }
  void put_at(std::uint32_t worker) noexcept { where_.store(worker | queued_bit, std::memory_order_relaxed); }
  void take_from() noexcept { where_.store(where() & ~queued_bit, std::memory_order_relaxed); }
  void take_from(std::uint32_t worker) noexcept { where_.store(worker, std::memory_order_relaxed); }

  std::uint64_t insertion_seq_ = 0;
  instant deadline_ = instant::none();
  task_id task_;
  std::uint32_t heap_index_ = no_index;  // In the timed lane's heap; no_index while it is not there.
  atomic_word<std::uint32_t> where_{0};  // The worker, and queued_bit while it is in one of its lanes.
  std::uint8_t priority_ = 0;
  lane lane_ = lane::ready;
};

static_assert(sizeof(void*) != 8 || sizeof(place) <= 56, "a place shares a cache line with what a dispatch needs next");

}  // namespace asx
