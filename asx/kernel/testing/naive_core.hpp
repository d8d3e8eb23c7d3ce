// asx/kernel/testing/naive_core.hpp - the naive kernel's records, admission, obligations, and what can be seen of it.
//
// Part of naive_kernel.hpp; what is declared and not defined here is in naive_close.hpp and naive_poll.hpp.
//
// Cancel points: none. Threads: one owner. Lifetime: as the naive kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/kernel/testing/naive_records.hpp"
#include "asx/kernel/testing/world.hpp"
#include "asx/sched/testing.hpp"

namespace asx::testing {

class naive_kernel final : public kernel_world {
 public:
  naive_kernel(const world_config& config, std::span<const script> scripts)
      : config_(config), scripts_(scripts), sched_(lanes_of(config)) {
    naive_region& root = regions_.emplace_back();  // U-40, R-158
    root.number = 1;
    root.is_held = true;  // By the runtime, for good.
  }

  // ---- Admission: stale, not open, gate shut, then the limit. A refusal changes nothing.

  status create_region(std::uint64_t parent, const budget& b, bool held) override {
    naive_region& p = region_at(parent);
    if (const status s = admit(p); s != status::ok) return s;
    if (region_records() >= config_.max_regions) return met(kernel_rule::regions_full), status::resource_exhausted;
    naive_region& r = regions_.emplace_back();
    r.number = regions_.size();
    r.parent = parent;
    r.own = meet(p.own, b);
    r.is_held = held;
    p.children.push_back({true, r.number});
    return status::ok;
  }

  status spawn(std::uint64_t region, std::size_t script, const budget& b, bool held) override {
    return spawn_into(region_at(region), script, b, held, false);
  }

  status reserve(std::uint64_t region) override {
    std::uint64_t unused = 0;
    return reserve_in(region_at(region), unused);
  }

  // Not in the table of admission; read as creation: an open region only, then the limit.
  status add_finalizer(std::uint64_t region, const finalizer_script& f) override {
    naive_region& r = region_at(region);
    if (const status s = admit(r); s != status::ok) return s;
    if (r.finalizers.size() >= config_.max_finalizers) {
      return met(kernel_rule::finalizers_full), status::resource_exhausted;
    }
    r.finalizers.push_back(f);
    return status::ok;
  }

  // ---- Obligations

  status commit(std::uint64_t obligation) override { return resolve(obligation, obligation_state::committed); }
  status abort(std::uint64_t obligation) override { return resolve(obligation, obligation_state::aborted); }

  // ---- Cancel and close: naive_close.hpp

  status request_cancel(std::uint64_t task, cancel_kind k, bool& newly) override {
    return cancel_by(task, k, 0, newly);
  }
  status close(std::uint64_t region, cancel_kind k) override { return close_by(region, k, 0); }
  status begin_close(std::uint64_t region, cancel_kind k) override {
    naive_region& r = region_at(region);
    const status s = start_close(r, reason_of_close(r, k, 0), false, false);
    if (s == status::ok) met(kernel_rule::single_step);
    return s;
  }
  status begin_drain(std::uint64_t region) override;
  status begin_finalize(std::uint64_t region) override;
  status finish_close(std::uint64_t region) override;

  // no grace, so kind shutdown at once; R-14: it has its own entries in the cancel queue.
  status shutdown_begin() override {
    naive_region& root = region_at(1);
    if (root.state != region_state::open) return status::invalid_transition;
    is_shut_ = true;
    met(kernel_rule::shutdown);
    const status s = start_close(root, reason_of_close(root, cancel_kind::shutdown, 0), true, true);
    settle_subtree(root);
    return s;
  }

  // ---- Handles and wakes

  void wake(std::uint64_t task) override { wake_up(task_at(task)); }

  void release_task(std::uint64_t task) override {
    naive_task& t = task_at(task);
    if (!t.is_held) return;
    t.is_held = false;
    if (t.state == task_state::completed) {
      t.is_released = true;
      met(kernel_rule::released_late);
    }
  }
  void release_region(std::uint64_t region) override {
    naive_region& r = region_at(region);
    if (!r.is_held || region == 1) return;
    r.is_held = false;
    if (r.state == region_state::closed) {
      r.is_released = true;
      met(kernel_rule::released_late);
    }
  }

  void set_governor(std::uint8_t g) override { sched_.suggest(static_cast<governor>(g)); }
  void advance(std::uint64_t ns) override { now_ = now_ + duration{ns}; }
  step_view step() override;

  // all five run; R-112: created tasks are live, leaked is terminal; R-146: a root that never had a child.
  status quiescence(std::uint32_t& mask) override {
    mask = 0;
    for (const naive_task& t : tasks_) {
      if (t.state != task_state::completed) mask |= 1U;
    }
    if (reserved_count() != 0) mask |= 2U;
    for (const naive_region& r : regions_) {
      const bool counts = r.number != 1 || !r.children.empty();
      if (counts && r.state != region_state::closed) mask |= 4U;
    }
    if (!timers_.empty()) mask |= 8U;
    if ((mask & 1U) != 0) return status::tasks_still_active;
    if ((mask & 2U) != 0) return status::obligations_unresolved;
    if ((mask & 4U) != 0) return status::regions_not_closed;
    if ((mask & 8U) != 0) return status::timers_pending;
    return met(kernel_rule::quiescent), status::ok;
  }

  // ---- What can be seen

  [[nodiscard]] std::uint64_t tasks() const override { return tasks_.size(); }
  [[nodiscard]] std::uint64_t regions() const override { return regions_.size(); }
  [[nodiscard]] std::uint64_t obligations() const override { return obligations_.size(); }

  [[nodiscard]] task_view task(std::uint64_t number) const override {
    const naive_task& t = tasks_[index_of(number)];
    task_view v;
    v.state = t.state;
    if (const std::optional<naive_entry> entry = sched_.find(number)) v.lane = static_cast<std::uint8_t>(entry->where);
    v.polls = t.polls;
    if (t.reason) {
      v.epoch = 1;
      v.has_witness = true;
      v.phase = t.phase;
      v.reason_kind = t.reason->kind;
      v.chain_levels = t.reason->levels;
    }
    if (t.state == task_state::cancelling) v.cleanup_polls_left = t.cleanup_left;
    if (t.ended) {
      v.has_ended = true;
      v.ended = t.ended->kind();
      v.ended_value = value_of(*t.ended);
      if (t.ended->is_cancelled()) {
        v.ended_kind = t.ended->reason().kind;
        v.ended_overrun = t.ended->cancelled_by().cleanup_budget_exceeded;
      }
    }
    v.is_released = t.is_released;
    return v;
  }

  [[nodiscard]] region_view region(std::uint64_t number) const override {
    const naive_region& r = regions_[index_of(number)];
    region_view v;
    v.state = r.state;
    v.live_tasks = live_tasks(r);
    v.live_regions = live_regions(r);
    v.reserved = reserved_in(r);
    v.leaked = r.leaked;
    if (r.reason) {
      v.has_reason = true;
      v.reason_kind = r.reason->kind;
    }
    if (r.ended) {
      v.has_ended = true;
      v.ended = r.ended->kind();
      v.ended_value = value_of(*r.ended);
      if (r.ended->is_cancelled()) v.ended_kind = r.ended->reason().kind;
    }
    v.is_released = r.is_released;
    return v;
  }

  status obligation_state_of(std::uint64_t number, obligation_state& state) const override {
    const naive_obligation& o = obligations_[index_of(number)];
    if (slots_[o.slot] != number) return status::stale_handle;
    state = o.state;
    return status::ok;
  }

  [[nodiscard]] const std::vector<std::string>& log() const override { return log_; }

  // For drivers only.
  [[nodiscard]] const kernel_coverage& coverage() const { return coverage_; }

 private:
  // What a poll came to.
  struct poll_end {
    enum class how : std::uint8_t { yields, parks, ready, error, panics };
    how said = how::yields;
    std::uint64_t value = 0;
  };

  static sched_config lanes_of(const world_config& config) {
    sched_config c;
    c.seed = config.seed;
    c.workers = 1;
    c.cancel_streak_limit = config.cancel_streak_limit;
    c.timed_streak_limit = config.timed_streak_limit;
    return c;
  }
  static std::size_t index_of(std::uint64_t number) { return static_cast<std::size_t>(number - 1); }
  static std::uint64_t value_of(const naive_outcome& o) {
    if (o.has_value()) return o.value();
    return o.is_err() ? o.error().detail : 0;
  }

  naive_task& task_at(std::uint64_t number) { return tasks_[index_of(number)]; }
  naive_region& region_at(std::uint64_t number) { return regions_[index_of(number)]; }
  void met(kernel_rule rule) { ++coverage_[static_cast<std::size_t>(rule)]; }

  // The gate of an open region is shut by shutdown or by an ancestor that closes.
  status admit(const naive_region& r) {
    if (r.is_released) return met(kernel_rule::stale_region), status::stale_handle;
    if (r.state != region_state::open) return met(kernel_rule::not_open), status::region_not_open;
    if (is_shut_) return status::admission_closed;
    for (std::uint64_t up = r.parent; up != 0; up = region_at(up).parent) {
      if (region_at(up).state != region_state::open) return status::admission_closed;
    }
    return status::ok;
  }

  // `by_finalizer`: asked by a running finalizer of the region, or by a finalizer task of it.
  status spawn_into(naive_region& r, std::size_t script, const budget& b, bool held, bool by_finalizer) {
    const bool is_finalizer = by_finalizer && r.state == region_state::finalizing;
    if (!is_finalizer) {
      if (const status s = admit(r); s != status::ok) return s;
    }
    if (task_records() >= config_.max_tasks) return met(kernel_rule::tasks_full), status::resource_exhausted;
    naive_task& t = tasks_.emplace_back();
    t.number = tasks_.size();
    t.region = r.number;
    t.script = script;
    t.left = meet(is_finalizer ? cleanup_budget(r.reason->kind) : r.own, b);
    t.is_finalizer = is_finalizer;
    t.is_held = held;
    t.is_indexed = !t.left.deadline.is_none();
    r.children.push_back({false, t.number});
    if (is_finalizer) met(kernel_rule::finalizer_task);
    queue(t);  // U-22: behind what is there.
    return status::ok;
  }

  status reserve_in(naive_region& r, std::uint64_t& number) {
    if (const status s = admit(r); s != status::ok) return s;  // FB-002
    if (reserved_count() >= config_.max_obligations) {
      return met(kernel_rule::obligations_full), status::resource_exhausted;
    }
    std::size_t slot = 0;  // U-19, R-218: the lowest that holds no reserved one.
    while (slot < slots_.size() && obligations_[index_of(slots_[slot])].state == obligation_state::reserved) ++slot;
    obligations_.push_back({r.number, slot, obligation_state::reserved});
    number = obligations_.size();
    if (slot == slots_.size()) slots_.push_back(number);
    slots_[slot] = number;
    r.obligations.push_back(number);
    return status::ok;
  }

  // stale first, then by the state alone; R-31: a region that is not closed has no other say.
  status resolve(std::uint64_t number, obligation_state to) {
    naive_obligation& o = obligations_[index_of(number)];
    if (slots_[o.slot] != number) return met(kernel_rule::stale_obligation), status::stale_handle;
    const status s = obligation_lifecycle.check(o.state, to);
    if (s == status::obligation_leaked) met(kernel_rule::resolved_leaked);
    if (s == status::obligation_already_resolved) met(kernel_rule::resolved_twice);
    if (s != status::ok) return s;
    o.state = to;
    naive_region& r = region_at(o.region);
    const bool was_held = r.is_driven && r.state == region_state::finalizing && !r.runs_finalizers;
    settle(r.number);  // resolving an obligation tries a held close again.
    if (was_held && r.state == region_state::closed) met(kernel_rule::held_close_ends);
    return status::ok;
  }

  // ---- Counts

  [[nodiscard]] std::size_t task_records() const {
    return static_cast<std::size_t>(
        std::count_if(tasks_.begin(), tasks_.end(), [](const naive_task& t) { return !t.is_released; }));
  }
  [[nodiscard]] std::size_t region_records() const {
    return static_cast<std::size_t>(
        std::count_if(regions_.begin(), regions_.end(), [](const naive_region& r) { return !r.is_released; }));
  }
  [[nodiscard]] std::size_t reserved_count() const {
    return static_cast<std::size_t>(std::count_if(obligations_.begin(), obligations_.end(),
                                                  [](const auto& o) { return o.state == obligation_state::reserved; }));
  }
  [[nodiscard]] std::uint32_t reserved_in(const naive_region& r) const {
    return static_cast<std::uint32_t>(std::count_if(
        r.obligations.begin(), r.obligations.end(),
        [this](std::uint64_t number) { return obligations_[index_of(number)].state == obligation_state::reserved; }));
  }
  // live means a task that is not completed, a region that is not closed.
  [[nodiscard]] std::uint32_t live_tasks(const naive_region& r) const {
    return static_cast<std::uint32_t>(std::count_if(r.children.begin(), r.children.end(), [this](const naive_child& c) {
      return !c.is_region && tasks_[index_of(c.number)].state != task_state::completed;
    }));
  }
  [[nodiscard]] std::uint32_t live_regions(const naive_region& r) const {
    return static_cast<std::uint32_t>(std::count_if(r.children.begin(), r.children.end(), [this](const naive_child& c) {
      return c.is_region && regions_[index_of(c.number)].state != region_state::closed;
    }));
  }
  [[nodiscard]] bool has_live_children(const naive_region& r) const { return live_tasks(r) + live_regions(r) != 0; }
  // an entry is held from delivery until the task is completed.
  [[nodiscard]] std::size_t entries_held() const {
    return static_cast<std::size_t>(std::count_if(tasks_.begin(), tasks_.end(), [](const naive_task& t) {
      return t.reason && t.state != task_state::completed;
    }));
  }
  [[nodiscard]] bool is_refused(const naive_task& t) const {
    return std::any_of(refused_.begin(), refused_.end(), [&](const naive_refusal& r) { return r.task == t.number; });
  }

  // ---- naive_close.hpp
  status cancel_by(std::uint64_t task, cancel_kind k, std::uint64_t by, bool& newly);
  status deliver(naive_task& t, const cancel_reason& why, bool has_entry, bool& newly);
  void strengthen_task(naive_task& t, const cancel_reason& why);
  bool kernel_cancel(naive_task& t, cancel_kind k);
  [[nodiscard]] cancel_reason reason_of_close(const naive_region& r, cancel_kind k, std::uint64_t by) const;
  status close_by(std::uint64_t region, cancel_kind k, std::uint64_t by);
  status start_close(naive_region& r, const cancel_reason& why, bool driven, bool has_entries);
  [[nodiscard]] std::size_t entries_needed(const naive_region& r) const;
  void propagate(naive_region& r, const cancel_reason& why, bool driven);
  void settle_subtree(naive_region& top);
  void settle_below(naive_region& r);
  void settle(std::uint64_t region);
  void progress(naive_region& r);
  void enter_finalizing(naive_region& r);
  status try_close(naive_region& r);
  [[nodiscard]] naive_outcome fold(const naive_region& r);
  void acknowledge(naive_task& t);
  void complete(naive_task& t, const naive_outcome& how);
  void unwind(naive_task& t);
  void cancel_timers(const naive_task& t);

  // ---- naive_poll.hpp
  void queue(naive_task& t);
  void wake_up(naive_task& t);
  std::uint32_t phase_zero();
  naive_task* next_stalled();
  void dispatch(naive_task& t);
  bool charge(naive_task& t);
  void poll(naive_task& t);
  poll_end run_script(naive_task& t);
  void act(naive_task& t, const action& a);
  status checkpoint(naive_task& t);
  status consume_cost(naive_task& t, std::uint64_t n);
  status register_timer(naive_task& t, std::uint64_t ns);
  void say(const naive_task& t, action::kind what, std::string_view result);

  world_config config_;
  std::span<const script> scripts_;
  naive_scheduler sched_;
  instant now_{0};
  bool is_shut_ = false;          // everything was told to shut down.
  std::deque<naive_task> tasks_;  // By number. A deque, so that references survive a spawn.
  std::deque<naive_region> regions_;
  std::deque<naive_obligation> obligations_;
  std::vector<std::uint64_t> slots_;  // Which obligation holds each slot.
  std::vector<naive_timer> timers_;   // Live ones.
  std::uint64_t next_timer_ = 1;
  std::vector<naive_refusal> refused_;  // In order of refusal.
  std::uint64_t last_stalled_ = 0;      // Where the round of stall polls stopped.
  naive_causes causes_;
  std::vector<std::string> log_;
  kernel_coverage coverage_{};
};

}  // namespace asx::testing
