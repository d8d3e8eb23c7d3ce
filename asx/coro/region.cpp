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
  spec.is_judged_by_owner = true;
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

status region_block::closed_op::arm(cx& c) noexcept {
  const status s = has_limit_ ? sleep_.poll(c) : status::ok;
  return s == status::would_block ? status::ok : s;
}

status region_block::closed_op::poll(cx& c) noexcept {
  kernel& k = *of_->kernel_;
  // A cancel has closed the region already; answering it is all that is left. In a mask there is none.
  const bool is_cancelled = c.checkpoint() != status::ok;
  if (has_limit_ && !of_->has_timed_out_ && sleep_.poll(c) == status::ok) {
    region_report r;
    if (k.inspect(of_->region_, r) == status::ok && r.state == region_state::open &&
        k.close(of_->region_, {cancel_kind::timeout, "the time is over"}) == status::ok) {
      of_->has_timed_out_ = true;
    }
  }
  const status s = k.await_closed(of_->region_, c, wait_);
  if (s == status::ok) of_->judge(is_cancelled);
  return s;
}

// The first failure tells the story, not those that it cancelled.
void region_block::judge(bool is_cancelled) noexcept {
  region_report r;
  task_outcome out;
  static_cast<void>(kernel_->inspect(region_, r));
  static_cast<void>(kernel_->result(region_, out));
  if (is_cancelled) {
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
