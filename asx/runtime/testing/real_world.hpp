// asx/runtime/testing/real_world.hpp - the kernel behind the face that models and tests know (world.hpp).
//
// Scripts become poll functions, numbers become handles. Nothing is decided here: every answer is the kernel's.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's; scripts outlive the world.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "asx/kernel/testing/world.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::testing {

class real_world : public kernel_world {
 public:
  real_world(const world_config& c, std::span<const script> scripts) : rt(config_of(c)), scripts_(scripts) {
    regions_.push_back({rt.root(), {}, false, this, 1});
  }
  ~real_world() override {
    // Everything must end before the runtime does: masks, sleeps and holds are no reason to stay.
    static_cast<void>(rt.kernel().begin_shutdown());
    for (obligation_handle o : obligations_) static_cast<void>(rt.kernel().abort(o));
    for (int round = 0; round < 100 && k().check_quiescence().failed != 0; ++round) {
      rt.run_until_idle();
      const error gone{status::cancelled, 0};
      for (std::size_t i = 0; i < tasks_.size(); ++i) {  // A finalizer that this lets run may add some.
        static_cast<void>(k().complete(tasks_[i].handle, task_outcome::err(gone)));
      }
    }
    for (std::size_t i = 1; i <= tasks_.size(); ++i) release_task(i);
    for (std::size_t i = 2; i <= regions_.size(); ++i) release_region(i);
  }

  status create_region(std::uint64_t parent, const budget& b, bool held) override {
    region_entry& entry = regions_.emplace_back(region_entry{{}, {}, held, this, regions_.size() + 1});
    region_spec spec{.limits = b};
    spec.is_held = held;
    spec.context = &entry;
    spec.closed = &real_world::region_closed;
    const status s = k().create_region(regions_[parent - 1].handle, spec, entry.handle);
    if (s != status::ok) regions_.pop_back();
    return s;
  }
  status spawn(std::uint64_t region, std::size_t which, const budget& b, bool held) override {
    return spawn_into(regions_[region - 1].handle, which, b, held);
  }
  status request_cancel(std::uint64_t task, cancel_kind kind, bool& newly) override {
    return k().request_cancel(tasks_[task - 1].handle, {kind, {}}, &newly);
  }
  status close(std::uint64_t region, cancel_kind kind) override { return k().close(handle(region), {kind, {}}); }
  status begin_close(std::uint64_t region, cancel_kind kind) override {
    return k().begin_close(handle(region), {kind, {}});
  }
  status begin_drain(std::uint64_t region) override { return k().begin_drain(handle(region)); }
  status begin_finalize(std::uint64_t region) override { return k().begin_finalize(handle(region)); }
  status finish_close(std::uint64_t region) override { return k().finish_close(handle(region)); }
  status reserve(std::uint64_t region) override {
    const status s = reserve_in(handle(region));
    if (s == status::ok) obligation_regions_.push_back(region);
    return s;
  }
  status commit(std::uint64_t obligation) override { return k().commit(obligations_[obligation - 1]); }
  status abort(std::uint64_t obligation) override { return k().abort(obligations_[obligation - 1]); }
  status add_finalizer(std::uint64_t region, const finalizer_script& f) override {
    finalizers_.push_back({f, region, this});
    const status s = k().add_finalizer(handle(region), &real_world::finalize, &finalizers_.back());
    if (s != status::ok) finalizers_.pop_back();
    return s;
  }
  void wake(std::uint64_t task) override { k().waker_of(tasks_[task - 1].handle).wake(); }
  void release_task(std::uint64_t task) override {
    task_entry& t = tasks_[task - 1];
    if (std::exchange(t.is_held, false)) static_cast<void>(k().release_task(t.handle));
  }
  void release_region(std::uint64_t region) override {
    region_entry& r = regions_[region - 1];
    if (std::exchange(r.is_held, false)) static_cast<void>(k().release_region(r.handle));
  }
  void set_governor(std::uint8_t g) override { rt.set_governor(static_cast<governor>(g)); }
  void advance(std::uint64_t ns) override { static_cast<void>(rt.advance(duration{ns})); }
  step_view step() override {
    const step_report r = rt.step();
    return {r.is_idle, r.is_idle ? 0 : r.task.value, r.is_idle ? std::uint8_t{0} : static_cast<std::uint8_t>(r.from),
            r.passed};
  }
  status shutdown_begin() override { return k().begin_shutdown(); }
  status quiescence(std::uint32_t& mask) override {
    const quiescence_result q = k().check_quiescence();
    mask = q.failed;
    return q.first;
  }

  [[nodiscard]] std::uint64_t tasks() const override { return tasks_.size(); }
  [[nodiscard]] std::uint64_t regions() const override { return regions_.size(); }
  [[nodiscard]] std::uint64_t obligations() const override { return obligations_.size(); }
  [[nodiscard]] task_view task(std::uint64_t number) const override {
    const task_entry& e = tasks_[number - 1];
    task_view v;
    task_report r;
    v.is_released = k().inspect(e.handle, r) != status::ok;
    v.has_ended = e.has_ended;
    if (e.has_ended) put(e.ended, v.ended, v.ended_kind, v.ended_value, &v.ended_overrun);
    if (v.is_released) return v;
    v.state = r.state;
    v.lane = r.is_queued ? static_cast<std::uint8_t>(r.queued_in) : std::uint8_t{3};
    v.epoch = r.epoch;
    v.polls = r.polls;
    v.has_witness = r.reason != nullptr;
    if (v.has_witness) {
      v.phase = r.phase;
      v.reason_kind = r.reason->kind;
      v.chain_levels = r.reason->levels;
    }
    if (r.state == task_state::cancelling) v.cleanup_polls_left = r.cleanup_polls_left;
    return v;
  }
  [[nodiscard]] region_view region(std::uint64_t number) const override {
    const region_entry& e = regions_[number - 1];
    region_view v;
    region_report r;
    v.is_released = k().inspect(e.handle, r) != status::ok;
    task_outcome out;
    if (!v.is_released && k().result(e.handle, out) == status::ok) {
      v.has_ended = true;
      put(out, v.ended, v.ended_kind, v.ended_value, nullptr);
    } else if (e.has_ended) {
      v.has_ended = true;
      put(e.ended, v.ended, v.ended_kind, v.ended_value, nullptr);
    }
    if (v.is_released) return v;
    v.state = r.state;
    v.live_tasks = r.live_tasks;
    v.live_regions = r.live_regions;
    v.reserved = r.reserved;
    v.leaked = r.leaked;
    v.has_reason = r.reason != nullptr;
    if (v.has_reason) v.reason_kind = r.reason->kind;
    return v;
  }
  status obligation_state_of(std::uint64_t number, obligation_state& state) const override {
    return k().inspect(obligations_[number - 1], state);
  }
  [[nodiscard]] const std::vector<std::string>& log() const override { return log_; }

  runtime rt;

 private:
  struct task_entry {
    task_handle handle;
    std::uint64_t number = 0;
    const script* plan = nullptr;
    real_world* world = nullptr;
    std::size_t at = 0;
    bool is_cleaning = false;
    bool is_held = false;
    slab_key timer{};
    std::vector<std::uint64_t> reserved;
    bool has_ended = false;
    task_outcome ended;
  };
  struct region_entry {
    region_handle handle;
    task_outcome ended;
    bool is_held = false;
    real_world* world = nullptr;
    std::uint64_t number = 0;
    bool has_ended = false;
  };
  struct finalizer_entry {
    finalizer_script plan;
    std::uint64_t region;
    real_world* world;
  };
  struct cleanup_entry {
    std::uint64_t task;
    std::uint64_t number;
    real_world* world;
  };

  static runtime_config config_of(const world_config& c) {
    runtime_config out;
    out.contract.max_tasks = out.contract.max_ready_queue = c.max_tasks;
    out.contract.max_regions = c.max_regions;
    out.contract.max_obligations = c.max_obligations;
    out.contract.max_timers = c.max_timers;
    out.contract.max_cancel_queue = c.cancel_queue;
    out.contract.max_cleanup_per_task = c.max_cleanup;
    out.contract.max_finalizers_per_region = c.max_finalizers;
    out.contract.max_mask_depth = c.mask_depth;
    out.journaling = journal_mode::digest_only;  // A ring for each of a million worlds would be most of the work.
    out.behaviour.leaks = c.hold_leaks ? leak_policy::hold : leak_policy::proceed;
    out.behaviour.max_unobserved_cancel_polls = c.max_unobserved_cancel_polls;
    out.behaviour.ghosts = c.ghosts;
    out.seed = c.seed;
    out.cancel_streak_limit = c.cancel_streak_limit;
    out.timed_streak_limit = c.timed_streak_limit;
    return out;
  }

  [[nodiscard]] kernel& k() const { return const_cast<runtime&>(rt).kernel(); }
  [[nodiscard]] region_handle handle(std::uint64_t region) const { return regions_[region - 1].handle; }

  static void put(const task_outcome& o, outcome_kind& kind, cancel_kind& why, std::uint64_t& value, bool* overrun) {
    kind = o.kind();
    if (o.is_cancelled()) {
      why = o.reason().kind;
      if (overrun != nullptr) *overrun = o.cancelled_by().cleanup_budget_exceeded;
    }
    if (o.is_err()) value = o.error().detail;
    if (o.has_value()) value = o.value();
  }

  status spawn_into(region_handle region, std::size_t which, const budget& b, bool held) {
    task_entry& t = tasks_.emplace_back();
    t.number = tasks_.size();
    t.plan = &scripts_[which];
    t.world = this;
    t.is_held = held;
    task_spec spec{.poll = &real_world::poll, .context = &t, .drop = &real_world::drop};
    spec.limits = b;
    spec.priority = 0;  // Literally as the world says.
    spec.is_held = held;
    const status s = k().spawn(region, spec, t.handle);
    if (s != status::ok) tasks_.pop_back();
    return s;
  }
  status reserve_in(region_handle region) {
    obligation_handle o;
    const status s = k().reserve(region, o);
    if (s == status::ok) obligations_.push_back(o);
    return s;
  }

  void say(std::uint64_t task, action::kind what, std::string_view result) {
    log_.push_back("op " + std::to_string(task) + " " + std::string(name(what)) + " " + std::string(result));
  }
  status say(std::uint64_t task, action::kind what, status s) {
    say(task, what, find_status(static_cast<std::uint32_t>(s))->name);
    return s;
  }

  static void drop(void* context) noexcept {
    auto& t = *static_cast<task_entry*>(context);
    t.has_ended = t.world->k().result(t.handle, t.ended) == status::ok;
  }
  static void region_closed(void* context, region_handle region) noexcept {
    auto& r = *static_cast<region_entry*>(context);
    r.has_ended = r.world->k().result(region, r.ended) == status::ok;
  }

  static status finalize(void* context, region_handle region, kernel& k) {
    const finalizer_entry f = *static_cast<finalizer_entry*>(context);
    real_world& w = *f.world;
    w.log_.push_back("finalizer " + std::to_string(f.region) + " " + std::to_string(f.plan.number));
    if (f.plan.commits >= 0) static_cast<void>(k.commit(w.obligation_of(f.region, f.plan.commits)));
    if (f.plan.spawns >= 0) {
      static_cast<void>(w.spawn_into(region, static_cast<std::size_t>(f.plan.spawns), budget{.priority = 128}, false));
    }
    if (f.plan.panics) k.panic("a finalizer of a test");
    return status::ok;
  }
  /// The n-th obligation of a region, in order of creation.
  [[nodiscard]] obligation_handle obligation_of(std::uint64_t region, std::int32_t n) const {
    for (std::size_t i = 0; i < obligations_.size(); ++i) {
      if (obligation_regions_[i] == region && n-- == 0) return obligations_[i];
    }
    return {};
  }

  static status run_cleanup(void* context) {
    const cleanup_entry& c = *static_cast<cleanup_entry*>(context);
    c.world->log_.push_back("cleanup " + std::to_string(c.task) + " " + std::to_string(c.number));
    return status::ok;
  }

  static poll_result poll(void* context, cx& c) {
    auto& t = *static_cast<task_entry*>(context);
    return t.world->run_script(t, c);
  }
  poll_result run_script(task_entry& t, cx& c);

  std::span<const script> scripts_;
  std::deque<task_entry> tasks_;
  std::deque<region_entry> regions_;
  std::deque<finalizer_entry> finalizers_;
  std::deque<cleanup_entry> cleanups_;
  std::vector<obligation_handle> obligations_;
  std::vector<std::uint64_t> obligation_regions_;
  std::vector<std::string> log_;
};

inline poll_result real_world::run_script(task_entry& t, cx& c) {
  using kind = action::kind;
  if (t.timer != slab_key{}) k().cancel_timer(std::exchange(t.timer, slab_key{}));
  const std::uint64_t me = t.number;
  const auto own_region = [&c] { return c.region(); };
  while (t.at < t.plan->actions.size()) {
    const action& a = t.plan->actions[t.at++];
    switch (a.what) {
      case kind::yield: c.yield(); return poll_result::pending;
      case kind::park: static_cast<void>(c.get_waker()); return poll_result::pending;
      case kind::pend: return poll_result::pending;
      case kind::sleep:
        if (say(me, a.what, k().register_timer(c, c.now() + duration{a.n}, t.timer)) == status::ok) {
          return poll_result::pending;
        }
        break;
      case kind::return_ok:
        if (a.n != 0) c.set_value(a.n);
        return poll_result::ready;
      case kind::return_error: c.set_error(status::stale_handle, a.n); return poll_result::error;
      case kind::panic: c.panic("a task of a test"); return poll_result::ready;
      case kind::checkpoint:
        if (say(me, a.what, c.checkpoint()) == status::cancelled && !t.is_cleaning) {
          t.is_cleaning = true;
          if (t.plan->cleanup_at != SIZE_MAX) t.at = t.plan->cleanup_at;
        }
        break;
      case kind::is_cancelled: say(me, a.what, c.is_cancelled() ? "true" : "false"); break;
      case kind::spawn:
      case kind::spawn_held:
        static_cast<void>(
            say(me, a.what, spawn_into(own_region(), static_cast<std::size_t>(a.n), a.b, a.what == kind::spawn_held)));
        break;
      case kind::create_region: {
        region_report r;
        static_cast<void>(k().inspect(own_region(), r));
        static_cast<void>(say(me, a.what, create_region(r.id.value, a.b, false)));
        break;
      }
      case kind::reserve: {
        region_report r;
        static_cast<void>(k().inspect(own_region(), r));
        const status s = reserve_in(own_region());
        if (s == status::ok) {
          obligation_regions_.push_back(r.id.value);
          t.reserved.push_back(obligations_.size());
        }
        static_cast<void>(say(me, a.what, s));
        break;
      }
      case kind::commit:
      case kind::abort: {
        if (a.n >= t.reserved.size()) break;
        const obligation_handle o = obligations_[t.reserved[static_cast<std::size_t>(a.n)] - 1];
        static_cast<void>(say(me, a.what, a.what == kind::commit ? k().commit(o) : k().abort(o)));
        break;
      }
      case kind::push_cleanup: {
        cleanup_entry& e = cleanups_.emplace_back(cleanup_entry{me, a.n, this});
        static_cast<void>(say(me, a.what, c.push_cleanup(&real_world::run_cleanup, &e)));
        break;
      }
      case kind::consume_cost: static_cast<void>(say(me, a.what, c.consume_cost(a.n))); break;
      case kind::cancel_task: {
        if (a.n == 0 || a.n > tasks_.size()) break;
        bool newly = false;
        static_cast<void>(say(me, a.what, request_cancel(a.n, a.k, newly)));
        break;
      }
      case kind::close_region:
        if (a.n == 0 || a.n > regions_.size()) break;
        static_cast<void>(say(me, a.what, close(a.n, a.k)));
        break;
      case kind::wake_task:
        if (a.n != 0 && a.n <= tasks_.size()) wake(a.n);
        break;
      case kind::mask_enter: static_cast<void>(say(me, a.what, c.mask_enter())); break;
      case kind::mask_leave: c.mask_leave(); break;
    }
  }
  return poll_result::ready;
}

inline std::unique_ptr<kernel_world> make_real_world(const world_config& config, std::span<const script> scripts) {
  return std::make_unique<real_world>(config, scripts);
}

}  // namespace asx::testing
