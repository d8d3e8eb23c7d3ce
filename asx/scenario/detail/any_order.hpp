// asx/scenario/detail/any_order.hpp - what threads may do, without threads: many workers on one, in a drawn order.
//
//     worker 0:  in --> dispatches a --> out . . . . . . . . . . . . . . . . . . . . --> a's poll --> in -->
//     worker 1:                              in --> dispatches b --> out --> b's poll --> in
//
// 1  The same workers, the same lanes, the same stealing as with threads; who comes next is drawn from a seed.
// 2  Whenever a worker steps out of the kernel, or is about to come back, another one may make a whole step first,
//    and so on: a task that was dispatched later may be polled earlier.
// 3  What a scenario expects under every such order does not depend on who comes first.
//
// Cancel points: none. Threads: one. Lifetime: outlives the runtime that it leads.
#pragma once

#include <cstdint>
#include <optional>

#include "asx/base/random.hpp"
#include "asx/kernel/gate.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::scenario::detail {

class any_order {
 public:
  explicit any_order(std::uint64_t seed) noexcept : draws_(seed) {}

  void lead(runtime& rt) noexcept {
    rt_ = &rt;
    rt.kernel().set_gate(
        {this, [](void* self) noexcept { ++static_cast<any_order*>(self)->depth_; },
         [](void* self) noexcept { --static_cast<any_order*>(self)->depth_; },
         [](void* self, standing&) noexcept { return static_cast<any_order*>(self)->step_out(); },
         [](void* self, std::uint32_t depth, standing&) noexcept { static_cast<any_order*>(self)->step_in(depth); }});
    rt.hire({this, [](void* self, std::uint64_t most, const patience& how) noexcept {
               return static_cast<any_order*>(self)->run(most, how);
             }});
  }

 private:
  run_result run(std::uint64_t most, const patience& how) noexcept {
    run_result out;
    left_ = most;
    while (left_ != 0) {  // asx: bounded by the steps that were asked for
      out.ended = rt_->before_step();
      if (out.ended != status::ok || how.limit <= rt_->kernel().now()) break;
      if (is_somebody_dispatched()) continue;
      const std::optional<instant> until = rt_->worth_waiting(how);
      if (!until) break;
      static_cast<void>(rt_->advance(*until - rt_->now()));
    }
    out.steps = most - left_;
    left_ = 0;
    return out;
  }
  // Everybody has a turn, beginning with whoever is drawn; the first that finds all lanes empty ends it.
  bool is_somebody_dispatched() noexcept {
    const std::uint32_t workers = rt_->sched().workers();
    const auto first = static_cast<std::uint32_t>(draws_.next() % workers);
    for (std::uint32_t i = 0; i < workers; ++i) {  // asx: bounded by the workers
      if (takes_step((first + i) % workers)) return true;
      if (rt_->sched().empty()) return false;
    }
    return false;
  }
  bool takes_step(std::uint32_t worker) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << worker;
    busy_ |= bit;
    --left_;
    const bool is_idle = rt_->step(worker).is_idle;
    if (is_idle) ++left_;
    busy_ &= ~bit;
    return !is_idle;
  }

  std::uint32_t step_out() noexcept {
    const std::uint32_t depth = depth_;
    depth_ = 0;
    let_others();
    return depth;
  }
  void step_in(std::uint32_t depth) noexcept {
    let_others();
    depth_ = depth;
  }
  void let_others() noexcept {
    if (left_ == 0 || draws_.next() % 2 != 0) return;
    const auto worker = static_cast<std::uint32_t>(draws_.next() % rt_->sched().workers());
    if ((busy_ >> worker & 1U) != 0) return;
    standing theirs;
    rt_->kernel().exchange(theirs);
    static_cast<void>(takes_step(worker));
    rt_->kernel().exchange(theirs);
  }

  splitmix64 draws_;
  runtime* rt_ = nullptr;
  std::uint32_t depth_ = 0;  // How often whoever acts now has gone in.
  std::uint64_t busy_ = 0;   // Workers in a step, a bit each.
  std::uint64_t left_ = 0;   // Steps of the run; 0 between runs.
};

}  // namespace asx::scenario::detail
