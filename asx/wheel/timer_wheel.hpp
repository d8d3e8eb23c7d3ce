// asx/wheel/timer_wheel.hpp - who is due: time in, expired timers out; no clock of its own.
//
//     register --> overflow heap   max_wheel_duration or further away
//          |            | refill
//          |       L3   256 slots of 256^3 ms     coarse
//          |       L2   256 slots of 256^2 ms       |  cascade, when the cursor enters a slot
//          |       L1   256 slots of 256 ms         v
//          +-----> L0   256 slots of 1 ms         fine
//                   | the cursor's slot, sorted by (deadline, seq)
//                  out  --> what found no room stays ready, live and cancellable
//
// INV-TM-01  cancel, update and is_live need both numbers of a handle to match.
// INV-TM-02  a cancelled timer never fires; its node is free at once, and nothing of it stays behind.
// INV-TM-03  a batch is ordered by (deadline in ns, order of registration), whichever path a timer took.
// INV-TM-04  a deadline more than max_timer_duration ahead of now() is refused, and so is none.
// INV-TM-05  a wheel without live timers holds no entry anywhere.
// INV-TM-06  ids and generations wrap past 0; an id that is live is skipped.
// INV-TM-07  only live timers cascade: there are no others.
// INV-TM-08  a timer is due when deadline <= now, exactly, on no tick boundary; only coalescing, which is off by
//            default, fires earlier.
// R-87       time never goes back: a smaller now counts as now().
// U-36       a refusal changes nothing: no id is used up, no other timer is touched.
//
// Cost: register and cancel O(1) in the wheel, O(log n) in the overflow heap; a jump over empty time is a look at four
// bitmaps; next_deadline is kept, and found again by a look at one slot a level after its timer is gone. A cancel
// writes its own node and one bit of its slot, and touches no other timer. Memory: one block at construction, 63 bytes
// a timer at a million; nothing is asked for afterwards.
//
// Cancel points: none: nothing waits here.
// Threads: one owner, or a lock around it.
// Lifetime: handles are plain values and may outlive the wheel; they find nothing in another one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asx/base/config.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/wheel/detail/index_heap.hpp"
#include "asx/wheel/detail/index_pool.hpp"
#include "asx/wheel/detail/ready_queue.hpp"
#include "asx/wheel/detail/slot_store.hpp"
#include "asx/wheel/detail/timer_node.hpp"
#include "asx/wheel/detail/wheel_geometry.hpp"
#include "asx/wheel/timer_handle.hpp"

namespace asx {

namespace detail {
struct timer_wheel_probe;  // Lets tests see where a timer waits.
}

struct wheel_config {
  std::uint32_t capacity = 65536;                     // Live timers, at most 2^28 (max_timer_nodes).
  duration max_wheel_duration = duration::hours(24);  // From here on a timer waits in the overflow heap.
  duration max_timer_duration = duration::days(7);    // The longest that is accepted.
  duration coalesce_window{};                         // 0: off.
  std::uint32_t coalesce_min_group = 2;               // Fewer than this are not fired early.
  instant start{};                                    // now() at construction.
  std::uint64_t first_id = 1;                         // 0 counts as 1, as in every wrap.
  std::uint64_t first_generation = 1;                 // Of the first timer; an even one counts as the odd one after it.
};

struct expired_timer {
  timer_handle handle;
  instant deadline;
  wake_token token;
};

class ASX_API timer_wheel {
 public:
  /// invalid_argument: max_wheel_duration is more than four levels can hold, 255 x 256^3 ms, or the
  /// capacity is above 2^28.
  [[nodiscard]] static status validate(const wheel_config& config) noexcept;

  /// A config that `validate` refuses, or refused memory, makes a wheel that is not ready and admits no timer.
  explicit timer_wheel(const wheel_config& config, memory_port memory = heap_memory()) noexcept;
  ~timer_wheel();
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  [[nodiscard]] bool ready() const noexcept { return block_ != nullptr; }

  /// timer_duration_exceeded, then resource_exhausted; `out` is then as it was. A deadline that has passed is accepted
  /// and comes out at the next collect.
  [[nodiscard]] status register_timer(instant deadline, wake_token token, timer_handle& out) noexcept;
  /// The same function under the specification's other name.
  [[nodiscard]] status try_register(instant deadline, wake_token token, timer_handle& out) noexcept {
    return register_timer(deadline, token, out);
  }

  /// False when the timer fired or was cancelled before; that is no error.
  bool cancel(timer_handle handle) noexcept;

  /// Cancels and registers anew, with a new id and a new place in the order; refused as register_timer is, and then the
  /// old timer lives on. Works in a full wheel when the old handle is live; a stale one is a plain registration.
  [[nodiscard]] status update(timer_handle old_handle, instant deadline, wake_token token, timer_handle& out) noexcept;

  /// Moves the time to `now` and writes the due timers, at most out.size(), in order. The rest comes with the next
  /// call.
  std::size_t collect_expired(instant now, std::span<expired_timer> out) noexcept;

  /// Moves the time only: as collect_expired with no room. Forms no coalesced group.
  void advance(instant now) noexcept;

  /// The smallest deadline of all live timers, to the nanosecond; none when there are none.
  [[nodiscard]] instant next_deadline() const noexcept {
    if (!knows_next()) find_next();
    return {next_deadline_ns_};
  }
  /// No timer is due before it; it may be earlier than the first one. One word, for who asks at every step.
  [[nodiscard]] instant quiet_until() const noexcept { return {next_deadline_ns_}; }

  [[nodiscard]] bool is_live(timer_handle handle) const noexcept { return find(handle) != npos; }
  /// Cancels every live timer. O(capacity).
  void cancel_all() noexcept;
  /// Gives up what cancelled timers left behind; live timers stay. Cancel frees its node at once, so there is
  /// nothing to give up, and this only asserts that it is so (INV-TM-05).
  void purge() const noexcept;

  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// For tests of the wrap: the id that the next registration tries first.
  void set_next_id(std::uint64_t id) noexcept;

  /// Asserts every law above over the whole structure. O(capacity), for tests.
  void check() const noexcept;

 private:
  friend struct detail::timer_wheel_probe;
  static constexpr std::uint32_t npos = UINT32_MAX;
  static constexpr std::uint32_t scratch_room = 512;
  struct due_item {
    std::uint64_t deadline_ns;
    std::uint32_t node;
  };
  struct event;
  class emitter;

  [[nodiscard]] std::uint32_t find(timer_handle handle) const noexcept;
  [[nodiscard]] bool admits(instant deadline) const noexcept;
  void draw_lines() noexcept;
  [[nodiscard]] std::uint32_t begin_timer(instant deadline, wake_token token, timer_handle& out) noexcept;
  [[gnu::noinline]] status register_far(instant deadline, wake_token token, timer_handle& out) noexcept;
  [[gnu::noinline]] status end_register(std::uint32_t slot, detail::slot_entry entry) noexcept;
  [[gnu::noinline]] status register_looking(instant deadline, wake_token token, timer_handle& out) noexcept;
  void look_ahead() noexcept;
  [[nodiscard]] timer_handle handle_of(std::uint32_t node) const noexcept;
  void pass_taken_ids() noexcept;
  void place(std::uint32_t node, std::uint64_t tick) noexcept {
    const std::uint32_t slot = detail::slot_of(tick, detail::level_of(tick, cursor_));
    identities_[node].place = slots_.push(slot, {node, static_cast<std::uint32_t>(tick)});
  }
  [[gnu::noinline]] bool cancel_elsewhere(std::uint32_t node) noexcept;
  [[gnu::noinline]] bool end_cancel(std::uint32_t node, std::uint32_t place) noexcept;
  [[gnu::noinline]] bool end_give_back(std::uint32_t spare) noexcept;
  void release(std::uint32_t node) noexcept {
    identities_[node].place = detail::place_free;
    free_.give_back(node);
    --live_;
  }

  void push_overflow(std::uint32_t node) noexcept;

  [[nodiscard]] event next_event() const noexcept;
  void drain(emitter& out) noexcept;
  void move_on(const event& next, emitter& out) noexcept;
  void fire_current(emitter& out) noexcept;
  [[nodiscard]] bool fire_slot(std::uint32_t level, std::uint32_t slot, emitter& out) noexcept;
  void cascade(std::uint32_t slot) noexcept;
  void refill() noexcept;
  void fire_scratch(std::uint32_t count, emitter& out) noexcept;
  void sort_scratch(std::uint32_t count) noexcept;
  [[nodiscard]] bool goes_before(const due_item& a, const due_item& b) const noexcept;

  [[nodiscard]] std::uint32_t count_until(instant horizon, std::uint32_t limit) const noexcept;
  void promote_until(instant horizon) noexcept;
  void find_next() const noexcept;
  // A cancel does not look whether its timer was the next one; who asks does.
  [[nodiscard]] bool knows_next() const noexcept {
    if (live_ == 0) return next_deadline_ns_ == UINT64_MAX;
    return next_node_ != npos && identities_[next_node_].place != detail::place_free &&
           bodies_[next_node_].deadline_ns == next_deadline_ns_;
  }
  void look_for_next(std::uint32_t slot) const noexcept;

  [[nodiscard]] detail::timer_order in_ready() const noexcept;
  [[nodiscard]] detail::timer_order in_overflow() const noexcept;
  [[nodiscard]] std::uint64_t full_tick(std::uint32_t low) const noexcept;

  // What register and cancel touch comes first.
  detail::timer_identity* identities_ = nullptr;
  detail::timer_body* bodies_ = nullptr;
  std::uint32_t live_ = 0;
  std::uint32_t limit_ = 0;  // The capacity, or 0 when memory was refused.
  instant now_;
  std::uint64_t cursor_ = 0;  // A tick. Behind now() while due timers wait for room, ahead after a coalesced group.
  std::uint64_t seq_ = 0;
  std::uint64_t id_ahead_ = 1;     // The next id is seq_ + id_ahead_; it and those after it are free until
  std::uint64_t seq_stop_ = 0;     // seq_ comes here, where the ids have to be looked at again.
  std::uint64_t near_end_ns_ = 0;  // Before this a deadline is admitted and within the wheel.
  std::array<std::uint64_t, 3> level_end_ns_{};  // Before this it is on this level or a finer one.
  std::uint32_t first_generation_;
  std::uint64_t generation_mix_;  // Mixed into the upper half, so that the first generation is the configured one.
  duration max_wheel_duration_;
  duration max_timer_duration_;

  // Mutable: looking for the next deadline changes nothing that a caller can see. No live timer is earlier than this;
  // it is the next deadline as long as its node is live and has it.
  mutable std::uint64_t next_deadline_ns_ = UINT64_MAX;
  mutable std::uint32_t next_node_ = npos;

  detail::index_pool free_;
  detail::slot_store slots_;
  detail::ready_queue ready_;        // Due, sorted, and left over for want of room; or promoted.
  detail::index_heap<-1> overflow_;  // Shares its array with ready_: no timer is in both.

  due_item* scratch_ = nullptr;  // Two halves of scratch_room each.
  std::uint64_t slot_visits_ = 0;
  std::uint32_t capacity_;
  std::uint32_t coalesce_min_group_;
  duration coalesce_window_;
  memory_port memory_;
  void* block_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace asx
