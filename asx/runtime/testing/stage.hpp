// asx/runtime/testing/stage.hpp - a runtime on which a scenario is played while every call is watched.
//
//     scenario --> stage.spawn, reserve, push, ... --> kernel
//                        |                               |
//                        +-- state_hash before == after a refusal, one event in the journal, the limit counted
//
// 1  A refused call changed nothing: the state hash is what it was, and the journal has one event more (R-139, U-36).
// 2  Whoever is refused goes on: a helper that finds no room says so, and the scenario does without.
// 3  At the end everything has ended: tasks are dropped once, stacks unwound last in first out, finalizers run
//    once, no obligation is reserved, bytes are back, and the schedule is legal (schedule_check.hpp).
// 4  Polls after a cancel are counted against the quotas of its kind.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asx/journal/event_table.hpp"
#include "asx/journal/schedule_check.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::testing {

/// How much may be tried, in operations: a million unless ASX_MODEL_OPS says otherwise. Emulated machines have less.
[[nodiscard]] inline std::uint64_t effort() {
  const char* const told = std::getenv("ASX_MODEL_OPS");
  return told == nullptr ? 1'000'000 : std::strtoull(told, nullptr, 10);
}

/// A contract with room for every scenario, and small enough to be made a thousand times.
[[nodiscard]] inline runtime_config stage_config() {
  runtime_config out;
  out.contract.max_tasks = out.contract.max_ready_queue = out.contract.max_cancel_queue = 256;
  out.contract.max_regions = 64;
  out.contract.max_obligations = out.contract.max_timers = out.contract.max_cleanup_entries = 256;
  out.contract.max_cleanup_per_task = 16;
  out.contract.max_finalizers = 64;
  out.contract.max_causes = 64;
  out.contract.max_trace_events = 64;  // The sink has them all.
  return out;
}

class stage {
 public:
  struct actor;
  using body = std::function<poll_result(stage&, cx&, actor&)>;

  struct actor {
    stage* on = nullptr;
    body run;
    task_handle handle{};
    std::uint32_t at = 0;  // Polls so far: what a body switches over.
    int dropped = 0;
    std::vector<std::uint64_t> undo;  // Cleanup actions that have not run yet, the newest last.
    slab_key timer{};
    waiter wait;
    // Polls since the reason was last strengthened, by the state in which the poll began.
    bool has_reason = false;
    cancel_kind why = cancel_kind::user;
    std::uint64_t unobserved = 0;
    std::uint64_t cleaning = 0;
  };

  explicit stage(const runtime_config& config)
      : rt(with_sink(config)),
        started(rt.start_status()),
        bytes_at_start(started == status::ok ? k().nominal_used() : 0) {}
  ~stage() {
    on_poll = nullptr;
    if (started == status::ok) static_cast<void>(rt.shutdown());  // While everything that tasks point to is there.
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  [[nodiscard]] kernel& k() { return rt.kernel(); }
  [[nodiscard]] region_handle root() const { return rt.root(); }

  // ---- every call, watched

  template <class Call>
  status watch(Call call) {
    const std::uint64_t hash = compares ? k().state_hash() : 0;
    const std::uint64_t seq = rt.journal().seq();
    const status s = call();
    if (s == status::ok || s == status::would_block || s == status::cancelled || s == status::budget_exhausted)
      return s;
    EXPECT_EQ(compares ? k().state_hash() : 0, hash) << "a refusal changed something: " << name_of(s);
    const std::uint64_t told = rt.journal().seq() - seq;
    const bool is_due =
        s == status::resource_exhausted || s == status::region_not_open || s == status::admission_closed;
    EXPECT_LE(told, 1U) << "a refusal says one thing: " << name_of(s);
    if (is_due) {
      EXPECT_EQ(told, 1U) << "a refusal is journalled: " << name_of(s);
    }
    if (told == 1) {
      const event e = newest();
      EXPECT_TRUE(is_refusal(e.kind)) << name(e.kind);
      EXPECT_EQ(low_half(e.a), static_cast<std::uint32_t>(s));
      if (s == status::resource_exhausted) {
        EXPECT_NE(high_half(e.a), static_cast<std::uint32_t>(limit_code::none)) << "which limit? " << name(e.kind);
        exhausted.push_back(e);
      }
    }
    ++refusals;
    return s;
  }

  /// The parent itself when it is refused: the scenario goes on with fewer regions.
  region_handle region(region_handle parent, region_spec spec = {}) {
    region_handle out;
    if (watch([&] { return k().create_region(parent, spec, out); }) != status::ok) return parent;
    if (spec.is_held) held_regions.push_back(out);
    return out;
  }
  actor* spawn(region_handle region, body run, task_spec spec = {}) {
    actor& a = add(std::move(run));
    if (watch([&] { return k().spawn(region, filled(spec, a), a.handle); }) != status::ok) {
      actors.pop_back();
      return nullptr;
    }
    if (spec.is_held) held_tasks.push_back(a.handle);
    return &a;
  }
  bool reserve(region_handle region, task_slot& slot) {
    return watch([&] { return k().reserve_task(region, slot); }) == status::ok;
  }
  actor& commit(task_slot& slot, body run, task_spec spec = {}) {
    actor& a = add(std::move(run));
    a.handle = k().commit(slot, filled(spec, a));
    if (spec.is_held) held_tasks.push_back(a.handle);
    return a;
  }
  /// A null handle when it is refused.
  obligation_handle promise(region_handle region) {
    obligation_handle out;
    if (watch([&] { return k().reserve(region, out); }) != status::ok) return {};
    promises.push_back(out);
    return out;
  }
  bool push(cx& c, actor& a) {
    undo_entry& e = undos_.emplace_back(undo_entry{&a, undos_.size()});
    if (watch([&] { return c.push_cleanup(&stage::undo, &e, &e.ref); }) != status::ok) return false;
    a.undo.push_back(e.number);
    return true;
  }
  /// Takes the newest action back without running it.
  void pop(cx& c, actor& a) {
    if (a.undo.empty()) return;
    EXPECT_EQ(c.pop_cleanup(undos_[static_cast<std::size_t>(a.undo.back())].ref), status::ok);
    a.undo.pop_back();
  }
  bool mask(cx& c) {
    return watch([&] { return c.mask_enter(); }) == status::ok;
  }
  /// True when something will wake the task at that moment.
  bool sleep(cx& c, actor& a, duration d) {
    return watch([&] { return k().register_timer(c, c.now() + d, a.timer); }) == status::ok;
  }
  void finalizer(region_handle region, std::function<void(stage&, region_handle)> run) {
    final_entry& e = finals_.emplace_back(final_entry{this, std::move(run), 0});
    if (watch([&] { return k().add_finalizer(region, &stage::finalize, &e); }) != status::ok) finals_.pop_back();
  }
  void* arena(region_handle region, std::size_t bytes, std::size_t alignment = 8) {
    void* out = nullptr;
    if (watch([&] { return k().arena_allocate(region, bytes, alignment, out); }) != status::ok) return nullptr;
    std::fill_n(static_cast<unsigned char*>(out), bytes, static_cast<unsigned char>(0xa5));
    return out;
  }
  bool cancel(const actor* a, const cancel_request& why = {}) {
    if (a == nullptr || a->dropped != 0) return true;
    return watch([&] { return k().request_cancel(a->handle, why); }) == status::ok;
  }
  bool close(region_handle region, const cancel_request& why = {}) {
    if (region == root()) return true;  // It stands for one that was refused.
    return watch([&] { return k().close(region, why); }) == status::ok;
  }
  /// True when the task waits now; false when what it would wait for has happened, or cannot be waited for.
  bool join(cx& c, actor& a, task_handle other) {
    return watch([&] { return k().await_completed(other, c, a.wait); }) == status::would_block;
  }
  bool await_closed(cx& c, actor& a, region_handle region) {
    return watch([&] { return k().await_closed(region, c, a.wait); }) == status::would_block;
  }
  void wake(const actor* a) {
    if (a != nullptr && a->dropped == 0) k().waker_of(a->handle).wake();
  }

  // ---- running

  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      rt.step();
      if (after_step) after_step(*this);
    }
  }
  void run() {
    drive([this](std::uint64_t most) { return rt.run_until_idle(most).ended; });
  }
  /// Time may jump.
  void run_on() {
    drive([this](std::uint64_t most) { return rt.run_until_quiescent(most).ended; });
  }

  // ---- the end

  /// Shuts down and holds the run to what every run must end with.
  void end() {
    const shutdown_result out = rt.shutdown();
    EXPECT_TRUE(out.is_quiescent()) << out.survivors;
    for (const actor& a : actors) {
      EXPECT_EQ(a.dropped, 1);
      EXPECT_TRUE(a.undo.empty()) << a.undo.size() << " cleanup actions did not run";
    }
    for (const final_entry& f : finals_) EXPECT_EQ(f.ran, 1);
    for (const obligation_handle o : promises) {
      obligation_state state{};
      if (k().inspect(o, state) == status::ok) {
        EXPECT_NE(state, obligation_state::reserved);
      }
    }
    for (const task_handle t : held_tasks) EXPECT_EQ(k().release_task(t), status::ok);
    for (const region_handle r : held_regions) EXPECT_EQ(k().release_region(r), status::ok);
    held_tasks.clear();
    held_regions.clear();
    EXPECT_EQ(k().live_tasks(), 0U);
    EXPECT_LE(k().nominal_used(), bytes_at_start);
    rt.journal().settle();
    const schedule_verdict verdict = check_schedule(events);
    EXPECT_TRUE(verdict.accepted()) << explain(verdict);
  }

  [[nodiscard]] event newest() { return rt.journal().at(rt.journal().size() - 1); }
  [[nodiscard]] std::size_t count(event_kind kind) {
    rt.journal().settle();
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [kind](const event& e) { return e.kind == kind; }));
  }
  [[nodiscard]] static std::string name_of(status s) {
    return std::string(find_status(static_cast<std::uint32_t>(s))->name);
  }

  std::vector<event> events;
  runtime rt;
  status started;
  std::uint64_t bytes_at_start;
  std::deque<actor> actors;
  std::vector<obligation_handle> promises;
  std::vector<task_handle> held_tasks;
  std::vector<region_handle> held_regions;
  bool compares = true;          // State hashes; they cost most of the time of a large scenario.
  std::vector<event> exhausted;  // The refusals that met a limit.
  std::uint64_t refusals = 0;
  std::uint64_t polls = 0;
  std::function<void(stage&, cx&, actor&)> on_poll;  // Before each poll, when `polls` counts it already.
  std::function<void(stage&)> after_step;            // From outside, before the end.

 private:
  struct undo_entry {
    actor* of;
    std::uint64_t number;
    cleanup_ref ref{};
  };
  struct final_entry {
    stage* on;
    std::function<void(stage&, region_handle)> run;
    int ran;
  };

  runtime_config with_sink(runtime_config c) {
    c.sink = {this, [](void* self, std::span<const event> batch) noexcept {
                auto& to = static_cast<stage*>(self)->events;
                to.insert(to.end(), batch.begin(), batch.end());
              }};
    return c;
  }
  template <class Run>
  void drive(Run go) {
    constexpr std::uint64_t most = 100'000;
    if (!after_step) {
      EXPECT_EQ(go(most), status::ok);
      return;
    }
    for (std::uint64_t i = 0; i < most; ++i) {
      const bool is_over = go(1) == status::ok;
      after_step(*this);
      if (is_over) return;
    }
    ADD_FAILURE() << "the scenario does not come to rest";
  }
  actor& add(body run) {
    actor& a = actors.emplace_back();
    a.on = this;
    a.run = std::move(run);
    return a;
  }
  static task_spec filled(task_spec spec, actor& a) {
    spec.poll = &stage::poll;
    spec.context = &a;
    spec.drop = &stage::drop;
    return spec;
  }

  static poll_result poll(void* self, cx& c) {
    auto& a = *static_cast<actor*>(self);
    stage& s = *a.on;
    ++s.polls;
    count_poll(a, c);
    if (s.on_poll) s.on_poll(s, c, a);
    const poll_result said = a.run(s, c, a);
    ++a.at;
    return said;
  }
  /// no more than a quota without observing, no more than a quota of cleanup.
  static void count_poll(actor& a, cx& c) {
    task_report r;
    ASSERT_EQ(a.on->k().inspect(c.handle(), r), status::ok);
    if (r.reason == nullptr) return;
    if (!std::exchange(a.has_reason, true) || a.why != r.reason->kind) {
      a.why = r.reason->kind;
      a.unobserved = a.cleaning = 0;
    }
    const std::uint64_t quota = info(a.why).cleanup_quota;
    if (r.state == task_state::cancel_requested) {
      EXPECT_LE(++a.unobserved, quota) << name(a.why);
    } else {
      EXPECT_EQ(r.state, task_state::cancelling);
      EXPECT_LE(++a.cleaning, quota) << name(a.why);
    }
  }
  static void drop(void* self) noexcept { ++static_cast<actor*>(self)->dropped; }
  static status undo(void* self) {
    auto& e = *static_cast<undo_entry*>(self);
    EXPECT_FALSE(e.of->undo.empty());
    if (e.of->undo.empty()) return status::corrupt;
    EXPECT_EQ(e.of->undo.back(), e.number) << "last in, first out (R-15)";
    e.of->undo.pop_back();
    return status::ok;
  }
  static status finalize(void* self, region_handle region, kernel&) {
    auto& f = *static_cast<final_entry*>(self);
    ++f.ran;
    if (f.run) f.run(*f.on, region);
    return status::ok;
  }

  std::deque<undo_entry> undos_;
  std::deque<final_entry> finals_;
};

}  // namespace asx::testing
