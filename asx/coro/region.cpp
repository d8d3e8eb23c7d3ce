#include "asx/coro/region.hpp"

namespace asx::detail {

status region_block::open(cx& c, const region_options& how, const std::source_location& site) noexcept {
  const inside here(c.kernel());
  // Another thread may have cancelled the task since it looked: that cancel closed what there was, and not this.
  if (gate_of(c.kernel()) != nullptr && c.checkpoint() != status::ok) return status::cancelled;
  kernel_ = &c.kernel();
  region_spec spec;
  spec.limits = how.limits;
  spec.max_tasks = how.max_tasks;
  spec.name = how.name;
  spec.is_held = true;
  spec.owner = c.handle();
  spec.ends_when_empty = true;
  spec.is_judged_by_owner = true;
  spec.is_judged_by_body = how.policy == region_policy::body_decides;
  spec.fails_fast = how.policy == region_policy::fail_fast;
  policy_ = how.policy;
  const status s = kernel_->create_region(c.region(), spec, region_, site);
  if (s != status::ok) kernel_ = nullptr;
  return s;
}

// What refused its body may have been a cancel of another thread, which has closed it: to ask once more would be a move
// that no state has.
void region_block::give_up() noexcept {
  const inside here(*kernel_);
  region_report r;
  if (kernel_->inspect(region_, r) == status::ok && r.state == region_state::open) {
    static_cast<void>(kernel_->close(region_));
  }
}

void region_block::release() noexcept {
  if (kernel_ == nullptr) return;
  give_up();  // Open still: its function threw before there was a coroutine to run in it.
  static_cast<void>(std::exchange(kernel_, nullptr)->release_region(region_));
}

status region_block::closed_op::arm(cx& c) noexcept {
  const status s = has_limit_ ? sleep_.poll(c) : status::ok;
  return s == status::would_block ? status::ok : s;
}

status region_block::closed_op::poll(cx& c) noexcept {
  kernel& k = *of_->kernel_;
  const inside here(k);  // No cancel comes between the look at it and the look at what it did.
  // A cancel has closed the region already; answering it is all that is left. In a mask there is none.
  const bool is_cancelled = c.checkpoint() != status::ok;
  if (is_hurried_ || has_limit_) end_in_time(c);
  const status s = k.await_closed(of_->region_, c, wait_);
  if (s == status::ok) of_->judge(is_cancelled);
  return s;
}

// A full cancel queue refuses the close. Those in it end by and by, so it is asked again, and not in a spin.
void region_block::closed_op::end_in_time(cx& c) noexcept {
  kernel& k = *of_->kernel_;
  region_report r;
  if (k.inspect(of_->region_, r) != status::ok || r.state != region_state::open) return;
  if (!is_hurried_ && sleep_.poll(c) != status::ok) return;
  if (k.close(of_->region_, {cancel_kind::timeout, "the time is over"}) == status::ok) {
    of_->has_timed_out_ = !is_hurried_;
    return;
  }
  sleep_.restart(c.now() + duration::milliseconds(1));
  if (sleep_.poll(c) != status::would_block) c.yield();
}

// The first failure tells the story, not those that it cancelled.
void region_block::judge(bool is_cancelled) noexcept {
  region_report r;
  task_outcome out;
  static_cast<void>(kernel_->inspect(region_, r));
  static_cast<void>(kernel_->result(region_, out));
  const bool is_panic = out.is_panicked() && policy_ != region_policy::body_decides;
  if (is_panic) {
    has_timed_out_ = false;
    end_ = {status::ok, 0, true};
    said_ = out.panic();
  } else if (is_cancelled) {
    has_timed_out_ = false;
    end_ = {status::cancelled};
  } else if (policy_ == region_policy::body_decides) {
    end_ = {};  // Who asked looks at the body.
  } else if (r.failure.code != status::ok) {
    end_ = {r.failure.code, r.failure.detail};
  } else if (out.is_err()) {
    end_ = {out.error().code, out.error().detail};
  } else if (out.is_cancelled()) {
    end_ = {status::cancelled};
  }
}

}  // namespace asx::detail
