// asx/wheel/testing.hpp - what the timer wheel must do, as a plain list of live timers.
//
// The model is slow and obvious, and written from the rulings alone, so that it can be the judge: where
// wheel and model differ, the ruling cited here decides. Comparing the two is the business of testing/driver.hpp.
//
// What the rulings leave to the wheel has no answer here: the value of a generation (R-83 lets it carry an
// index), levels, bytes, ghost notes. "None" as the present has none either: it is no moment.
//
// Cancel points: none. Threads: one owner. Lifetime: a plain value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx {

// the last level holds 255 whole slots ahead of the one that the cursor is in.
inline constexpr duration largest_wheel_duration = duration::milliseconds(std::uint64_t{255} << 24);

class wheel_model {
 public:
  struct entry {
    instant deadline;
    std::uint64_t seq = 0;  // Order of insertion; an update is a new insertion.
    timer_handle handle;
    wake_token token;
    bool chosen = false;  // In a batch, or left of one for want of room: it comes out whatever the time.
  };

  static status validate(const wheel_config& config) {
    return config.max_wheel_duration > largest_wheel_duration ? status::invalid_argument : status::ok;
  }

  explicit wheel_model(const wheel_config& config)
      : config_(config), now_(config.start), next_id_(config.first_id), next_generation_(config.first_generation) {}

  status register_timer(instant deadline, wake_token token, timer_handle& out) {
    if (is_too_far(deadline)) return status::timer_duration_exceeded;  // the duration is checked first.
    if (timers_.size() >= config_.capacity) return status::resource_exhausted;
    out = insert(deadline, token);
    return status::ok;
  }

  status try_register(instant deadline, wake_token token, timer_handle& out) {
    return register_timer(deadline, token, out);  // the same function under two names.
  }

  bool cancel(timer_handle handle) {
    return std::erase_if(timers_, [&](const entry& e) { return e.handle == handle; }) != 0;  // INV-TM-01
  }

  status update(timer_handle old_handle, instant deadline, wake_token token, timer_handle& out) {
    if (is_too_far(deadline)) return status::timer_duration_exceeded;  // the old timer lives on.
    cancel(old_handle);  // this makes room and frees the old id; a stale handle makes no room.
    return register_timer(deadline, token, out);
  }

  std::size_t collect_expired(instant now, std::span<expired_timer> out) {
    advance(now);
    if (out.empty()) return 0;  // room for none only advances.
    const instant boundary = batch_boundary();
    std::sort(timers_.begin(), timers_.end(), [](const entry& a, const entry& b) {
      return std::tie(a.deadline, a.seq) < std::tie(b.deadline, b.seq);
    });
    std::size_t count = 0;
    std::vector<entry> kept;
    for (entry& e : timers_) {
      e.chosen = e.chosen || e.deadline <= boundary;
      if (e.chosen && count < out.size()) {
        out[count++] = {e.handle, e.deadline, e.token};
      } else {
        kept.push_back(e);  // what found no room stays live.
      }
    }
    timers_ = kept;
    return count;
  }

  void advance(instant now) { now_ = later(now_, now); }  // time never goes back.

  [[nodiscard]] instant next_deadline() const {  // exact; whatever is live counts.
    instant first = instant::none();
    for (const entry& e : timers_) first = earlier(first, e.deadline);
    return first;
  }

  [[nodiscard]] bool is_live(timer_handle handle) const {
    return std::any_of(timers_.begin(), timers_.end(), [&](const entry& e) { return e.handle == handle; });
  }

  void purge() {}  // INV-TM-05 speaks of storage; nothing that is live goes, and here nothing else is kept.

  [[nodiscard]] std::uint32_t live() const { return static_cast<std::uint32_t>(timers_.size()); }
  [[nodiscard]] std::uint32_t capacity() const { return config_.capacity; }
  [[nodiscard]] instant now() const { return now_; }
  void set_next_id(std::uint64_t id) { next_id_ = id; }

  // For drivers and coverage only.
  [[nodiscard]] std::span<const entry> timers() const { return timers_; }
  [[nodiscard]] std::uint64_t next_id() const { return next_id_; }

 private:
  [[nodiscard]] bool is_too_far(instant deadline) const {
    return deadline.is_none() || deadline - now_ > config_.max_timer_duration;
  }

  timer_handle insert(instant deadline, wake_token token) {
    while (next_id_ == 0 || is_live_id(next_id_)) ++next_id_;  // past 0, past what is live.
    const timer_handle handle{next_id_++, next_generation_++};
    timers_.push_back({deadline, next_seq_++, handle, token, false});
    return handle;
  }

  [[nodiscard]] bool is_live_id(std::uint64_t id) const {
    return std::any_of(timers_.begin(), timers_.end(), [&](const entry& e) { return e.handle.id == id; });
  }

  [[nodiscard]] std::size_t due_by(instant t) const {
    return static_cast<std::size_t>(
        std::count_if(timers_.begin(), timers_.end(), [&](const entry& e) { return e.deadline <= t; }));
  }

  // a due timer takes along what is due by the end of the window, if enough of them are.
  [[nodiscard]] instant batch_boundary() const {
    const std::uint64_t window = config_.coalesce_window.ns;
    if (window == 0 || due_by(now_) == 0) return now_;
    const std::uint64_t into_window = now_.ns % window;
    const instant end = into_window == 0 ? now_ : now_ + duration{window - into_window};
    return due_by(end) >= config_.coalesce_min_group ? end : now_;
  }

  wheel_config config_;
  instant now_;
  std::uint64_t next_id_;
  std::uint64_t next_generation_;
  std::uint64_t next_seq_ = 0;
  std::vector<entry> timers_;
};

}  // namespace asx
