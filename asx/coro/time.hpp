// asx/coro/time.hpp - awaiting time: sleep, sleep_until, yield, interval.
//
//     co_await asx::sleep(asx::duration::milliseconds(10));
//
//     asx::interval every(c, asx::duration::seconds(1));
//     for (;;) { co_await every.tick(); beat(); }
//
// 1  A sleep that is not long enough to pass, or lies in the past, is ready at once.
// 2  An interval keeps its grid: a tick that is late does not move those after it. What becomes of ticks that were
//    missed is its policy: `burst` gives them one after the other, `skip` drops them and waits for the next on the
//    grid, `delay` starts a new grid at the late one.
// 3  A sleep past the task's own deadline ends at that deadline: the task is cancelled, or the sleep says
//    budget_exhausted.
// 4  A sleep further ahead than the wheel takes, seven days or for ever, is refused as timers are.
//
// Cancel points: sleep, sleep_until, tick, checkpoint. yield is none.
// Threads: the runtime's. Lifetime: an operation is awaited where it is made.
#pragma once

#include <utility>

#include "asx/coro/task.hpp"
#include "asx/kernel/kernel.hpp"

namespace asx {

/// As an operation: ready at `deadline`.
class ASX_API sleep_op {
 public:
  explicit sleep_op(instant deadline) noexcept : deadline_(deadline) {}
  explicit sleep_op(duration d) noexcept : deadline_{d.ns}, is_relative_(true) {}
  sleep_op(sleep_op&& other) noexcept
      : deadline_(other.deadline_),
        home_(other.home_),
        timer_(std::exchange(other.timer_, {})),
        is_relative_(other.is_relative_) {}
  sleep_op& operator=(sleep_op&&) = delete;
  ~sleep_op() { end(); }

  status poll(cx& c) noexcept;
  void take() const noexcept {}
  /// Anew, until `deadline`.
  void restart(instant deadline) noexcept {
    end();
    deadline_ = deadline;
    is_relative_ = false;
  }
  /// It waits no more, and its timer is gone.
  void end() noexcept;

 private:
  instant deadline_{};  // From the first poll on; before it a length, when it is relative.
  kernel* home_ = nullptr;
  slab_key timer_{};
  bool is_relative_ = false;
};

/// A cancel point.
[[nodiscard("co_await sleep(...)")]] inline sleep_op sleep(duration d) noexcept {
  return sleep_op(d);
}
template <class... Args>
auto sleep(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<void>();
}
// Else, where all of asx is named, `sleep(1)` would be the one of the C library: it stops the thread.
template <class Number>
  requires std::is_arithmetic_v<Number>
auto sleep(Number) {
  static_assert(detail::always_false<Number>,
                "asx: say how long, co_await sleep(asx::duration::seconds(1)): a number alone is for the sleep of the "
                "C library, and ::sleep(1) stops the whole thread");
  return detail::mistaken_op<void>();
}
/// A cancel point.
[[nodiscard("co_await sleep_until(...)")]] inline sleep_op sleep_until(instant deadline) noexcept {
  return sleep_op(deadline);
}

class yield_op {
 public:
  status poll(cx& c) noexcept {
    if (has_yielded_) return status::ok;
    has_yielded_ = true;
    c.yield();
    return status::would_block;
  }
  void take() const noexcept {}

 private:
  bool has_yielded_ = false;
};
/// Lets the others run; no cancel point.
[[nodiscard("co_await yield()")]] inline yield_op yield() noexcept {
  return {};
}

class checkpoint_op {
 public:
  static status poll(cx& c) noexcept { return c.checkpoint(); }
  static void take() noexcept {}
};
/// A cancel point that waits for nothing.
[[nodiscard("co_await checkpoint()")]] inline checkpoint_op checkpoint() noexcept {
  return {};
}

enum class missed_ticks : std::uint8_t { burst, skip, delay };

class ASX_API interval {
 public:
  /// The first tick is one period from now. A period of 0 is one nanosecond.
  interval(const cx& c, duration period, missed_ticks policy = missed_ticks::skip) noexcept
      : period_(period.ns == 0 ? duration{1} : period), next_(c.now() + period_), policy_(policy) {}

  class tick_op {
   public:
    explicit tick_op(interval& of) noexcept : of_(of), sleep_(of.next_) {}
    status poll(cx& c) noexcept {
      const status s = sleep_.poll(c);
      if (s == status::ok) missed_ = of_.advance(c.now());
      return s;
    }
    /// How many ticks were missed before this one.
    std::uint64_t take() const noexcept { return missed_; }
    /// It lost, and its timer is gone.
    void leave() noexcept { sleep_.end(); }

   private:
    interval& of_;
    sleep_op sleep_;
    std::uint64_t missed_ = 0;
  };
  /// A cancel point.
  [[nodiscard("co_await every.tick()")]] tick_op tick() noexcept { return tick_op(*this); }
  [[nodiscard]] instant next() const noexcept { return next_; }

 private:
  std::uint64_t advance(instant now) noexcept;

  duration period_;
  instant next_;
  missed_ticks policy_;
};

}  // namespace asx
