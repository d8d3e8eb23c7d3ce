#include "asx/coro/region.hpp"

namespace asx::detail {

status region_block::open(cx& c, const region_options& how, const std::source_location& site) noexcept {
  kernel_ = &c.kernel();
  region_spec spec;
  spec.limits = how.limits;
  spec.max_tasks = how.max_tasks;
  spec.name = how.name;
  spec.is_held = true;
  spec.owner = c.handle();
  spec.ends_when_empty = true;
  spec.fails_fast = how.policy == region_policy::fail_fast;
  policy_ = how.policy;
  const status s = kernel_->create_region(c.region(), spec, region_, site);
  if (s != status::ok) kernel_ = nullptr;
  return s;
}

void region_block::give_up() noexcept {
  static_cast<void>(kernel_->close(region_));
}

void region_block::release() noexcept {
  if (kernel_ != nullptr) static_cast<void>(std::exchange(kernel_, nullptr)->release_region(region_));
}

status region_block::closed_op::poll(cx& c) noexcept {
  kernel& k = *of_->kernel_;
  static_cast<void>(c.checkpoint());  // A cancel has closed the region already; answering it is all that is left.
  if (has_limit_ && !of_->has_timed_out_ && c.now() >= sleep_.deadline()) {
    region_report r;
    if (k.inspect(of_->region_, r) == status::ok && r.state == region_state::open &&
        k.close(of_->region_, {cancel_kind::timeout, "the time is over"}) == status::ok) {
      of_->has_timed_out_ = true;
    }
  }
  const status s = k.await_closed(of_->region_, c, wait_);
  if (s == status::ok) {
    of_->judge(c);
    return s;
  }
  if (has_limit_ && !of_->has_timed_out_ && !c.is_cancelled()) {
    const status t = sleep_.poll(c);
    if (t != status::would_block && t != status::ok) has_limit_ = false;  // No timer: the region's own end must do.
  }
  return s;
}

// The first failure tells the story, not those that it cancelled.
void region_block::judge(cx& c) noexcept {
  region_report r;
  task_outcome out;
  static_cast<void>(kernel_->inspect(region_, r));
  static_cast<void>(kernel_->result(region_, out));
  if (c.is_cancelled()) {
    has_timed_out_ = false;
    end_ = {status::cancelled};
  } else if (policy_ == region_policy::body_decides) {
    end_ = {};  // Who asked looks at the body.
  } else if (out.is_panicked()) {
    end_ = {status::ok, 0, true};
  } else if (r.failure.code != status::ok) {
    end_ = {r.failure.code, r.failure.detail};
  } else if (out.is_err()) {
    end_ = {out.error().code, out.error().detail};
  } else if (out.is_cancelled()) {
    end_ = {status::cancelled};
  }
}

}  // namespace asx::detail
