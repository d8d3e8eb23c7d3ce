#include "asx/coro/time.hpp"

#include "asx/kernel/extension.hpp"

namespace asx {

status sleep_op::poll(cx& c) noexcept {
  if (is_relative_) {
    deadline_ = c.now() + duration{deadline_.ns};
    is_relative_ = false;
  }
  if (const status s = c.checkpoint(); s != status::ok) {
    end();
    return s;
  }
  if (c.now() >= deadline_) {
    end();
    return status::ok;
  }
  if (timer_.generation != 0) {
    if (extension::has_timer(*home_, timer_)) return status::would_block;
    timer_ = {};
    // It fired a little early, together with others, and was consumed; or, in a mask, it went when the cancel
    // was acknowledged for the task, and the wait goes on.
    if (!c.is_cancelled()) return status::ok;
  }
  home_ = &c.kernel();
  const status s = home_->register_timer(c, deadline_, timer_);
  return s == status::ok ? status::would_block : s;
}

void sleep_op::end() noexcept {
  if (timer_.generation == 0) return;
  home_->cancel_timer(std::exchange(timer_, {}));
}

std::uint64_t interval::advance(instant now) noexcept {
  const std::uint64_t late = now.ns > next_.ns ? (now.ns - next_.ns) / period_.ns : 0;
  switch (policy_) {
    case missed_ticks::burst: next_ = next_ + period_; break;
    case missed_ticks::skip: next_ = next_ + duration{late * period_.ns} + period_; break;
    case missed_ticks::delay: next_ = now + period_; break;
  }
  return late;
}

}  // namespace asx
