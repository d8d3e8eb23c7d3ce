// Two threads in one kernel, and something ends: cancel against completion, end from outside against dispatch, join and
// close against what is dropped, timers, obligations, finalizers. The laws are those of docs/spec/rulings.md.
#include <gtest/gtest.h>

#include <optional>

#include "tests/interleave/expect.hpp"
#include "tests/interleave/kernel_world.hpp"

namespace {

using namespace asx;
using namespace asx::interleave;
using asx::interleave::atomic;

constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

poll_result go_on(cx& c) {
  c.yield();
  return poll_result::pending;
}
poll_result wait_for_cancel(cx& c) {
  static_cast<void>(c.get_waker());
  return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
}

// ---- who is told of an end comes after everything that ended with it

struct joins : kernel_world {
  atomic<int> gone{0};
  waiter place;
  script target{*this, [this](cx& c) { return target.polls() > 1 ? poll_result::ready : go_on(c); }};
  script joiner{*this, [this](cx& c) {
                  const status s = c.kernel().await_completed(target.handle, c, place);
                  check(s == status::ok || s == status::would_block, "a target that is held can be waited for");
                  if (s != status::ok) return poll_result::pending;
                  check(gone.load(acquire) == 1, "what the task held is gone before anybody is told of its end");
                  return poll_result::ready;
                }};
  joins() {
    target.at_drop = [this] { gone.store(1, release); };
    check(joiner.spawn(rt.root()) == status::ok && target.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override { work(thread); }
  void judge() override { check(joiner.has_ended(), "who waits for the end of a task is woken by it"); }
};

TEST(interleave_ends, who_waits_for_a_task_is_woken_when_nothing_of_it_is_left) {
  expect_all_hold<joins>();
}

struct block_ends : kernel_world {
  atomic<int> gone{0};
  region_handle room;
  waiter place;
  script child{*this, [](cx&) { return poll_result::ready; }};
  script owner{*this, [this](cx& c) {
                 const status s = c.kernel().await_closed(room, c, place);
                 check(s == status::ok || s == status::would_block, "a region that is held can be waited for");
                 if (s != status::ok) return poll_result::pending;
                 check(gone.load(acquire) == 1, "R-135: nobody who points into a frame is left when its block ends");
                 return poll_result::ready;
               }};
  block_ends() {
    child.at_drop = [this] { gone.store(1, release); };
    region_spec spec;
    spec.is_held = true;
    spec.ends_when_empty = true;
    check(k().create_region(rt.root(), spec, room) == status::ok, "opened");
    check(owner.spawn(rt.root()) == status::ok && child.spawn(room) == status::ok, "spawned");
  }
  void run(unsigned thread) override { work(thread); }
  void judge() override {
    check(owner.has_ended(), "who waits for a region is woken when it has closed");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, a_region_closes_when_nothing_of_its_tasks_is_left) {
  expect_all_hold<block_ends>();
}

// The same for what a region calls when it has closed.
struct block_ends_aloud : kernel_world {
  atomic<int> called{0};
  region_handle room;
  waiter place;
  script child{*this, [](cx&) { return poll_result::ready; }};
  script owner{*this, [this](cx& c) {
                 const status s = c.kernel().await_closed(room, c, place);
                 if (s != status::ok) return poll_result::pending;
                 check(called.load(acquire) == 1, "who is told of a close comes after its last call");
                 return poll_result::ready;
               }};
  block_ends_aloud() {
    region_spec spec;
    spec.is_held = true;
    spec.ends_when_empty = true;
    spec.context = this;
    spec.closed = [](void* self, region_handle region) noexcept {
      auto& w = *static_cast<block_ends_aloud*>(self);
      task_outcome out;
      check(w.k().result(region, out) == status::ok, "its result can be read then");
      w.called.store(1, release);
    };
    check(k().create_region(rt.root(), spec, room) == status::ok, "opened");
    check(owner.spawn(rt.root()) == status::ok && child.spawn(room) == status::ok, "spawned");
  }
  void run(unsigned thread) override { work(thread, true); }
  void judge() override {
    check(owner.has_ended(), "who waits for a region is woken when it has closed");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, a_region_is_closed_when_its_last_call_is_over) {
  expect_all_hold<block_ends_aloud>();
}

struct rests : kernel_world {
  atomic<int> gone{0};
  script child{*this, [](cx&) { return poll_result::ready; }};
  rests() {
    child.at_drop = [this] { gone.store(1, release); };
    check(child.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    static_cast<void>(k().begin_shutdown());
    if (k().check_quiescence().failed == 0) check(gone.load(acquire) == 1, "at rest nothing is left of anybody");
  }
  void judge() override { check(child.has_ended(), "nobody is lost"); }
};

TEST(interleave_ends, a_runtime_is_at_rest_when_nothing_of_its_tasks_is_left) {
  expect_all_hold<rests>();
}

// ---- cancel against completion

struct cancels : kernel_world {
  bool has_seen = false;
  bool was_newly = false;
  bool had_ended = false;
  script victim{*this, [this](cx& c) {
                  if (victim.polls() == 1) return go_on(c);
                  has_seen = c.checkpoint() != status::ok;
                  return poll_result::ready;
                }};
  cancels() { check(victim.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(k().request_cancel(victim.handle, {}, &was_newly) == status::ok, "R-18: whatever its state");
    had_ended = !was_newly;
  }
  void judge() override {
    check(victim.has_ended(), "nobody is lost");
    task_report report;
    check(k().inspect(victim.handle, report) == status::ok, "it is held");
    check(report.epoch == (was_newly ? 1U : 0U), "R-34, R-18: one epoch for a first request, none after the end");
    check(!has_seen || was_newly, "nobody sees a cancel that was not asked for");
    check(victim.outcome().is_cancelled() == has_seen, "R-19: the outcome is decided by observation");
    check(has_seen || victim.outcome().is_ok(), "R-19: it keeps its own outcome");
  }
};

TEST(interleave_ends, a_cancel_that_meets_the_end_is_seen_or_it_is_not) {
  expect_all_hold<cancels>();
}

// Two strengths from two threads, while a worker steps.
struct cancels_twice : kernel_world {
  bool newly[2] = {};
  script victim{*this, wait_for_cancel};
  cancels_twice() { check(victim.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    const cancel_kind kind = thread == 0 ? cancel_kind::user : cancel_kind::shutdown;
    check(k().request_cancel(victim.handle, {kind, {}}, &newly[thread]) == status::ok, "R-18");
    work(thread);
  }
  void judge() override {
    check(victim.outcome().is_cancelled(), "it has seen its cancel");
    check(newly[0] != newly[1] || (newly[0] && newly[1]) == false, "one of them is the first");
    check(newly[0] || newly[1], "one of them is the first");
    task_report report;
    check(k().inspect(victim.handle, report) == status::ok && report.epoch == 1, "R-28: duplicates make no new epoch");
  }
};

TEST(interleave_ends, two_cancels_are_one_and_the_stronger_counts) {
  expect_all_hold<cancels_twice>();
}

// A cleanup action runs once, whoever ends the task, and the task is not polled after it.
struct cleans_up : kernel_world {
  plain<unsigned> cleaned{0};
  atomic<int> broom{0};
  script victim{*this, [this](cx& c) {
                  check(cleaned == 0, "R-15: nobody is polled once its stack is unwound");
                  if (victim.polls() > 1) return c.checkpoint() == status::ok ? go_on_twice(c) : poll_result::ready;
                  check(c.push_cleanup(&clean, this) == status::ok, "pushed");
                  return go_on(c);
                }};
  poll_result go_on_twice(cx& c) { return victim.polls() > 2 ? poll_result::ready : go_on(c); }
  static status clean(void* self) {
    auto& w = *static_cast<cleans_up*>(self);
    w.broom.fetch_add(1, std::memory_order_relaxed);  // It takes its time.
    w.cleaned = w.cleaned + 1;
    return status::ok;
  }
  cleans_up() { check(victim.spawn(rt.root()) == status::ok, "spawned"); }
  void judge() override {
    check(victim.has_ended(), "nobody is lost");
    check(cleaned == (victim.polls() == 0 ? 0U : 1U), "R-15: what was pushed is run, once");
  }
};

struct cleans_up_when_cancelled : cleans_up {
  void run(unsigned thread) override {
    if (thread == 1) check(k().request_cancel(victim.handle) == status::ok, "R-18");
    work(thread);
  }
};

TEST(interleave_ends, a_cancel_meets_the_cleanup) {
  expect_all_hold<cleans_up_when_cancelled>();
}

struct cleans_up_when_completed : cleans_up {
  std::optional<status> said;
  void run(unsigned thread) override {
    if (thread == 1) said = k().complete(victim.handle, task_outcome::err({status::io, 7}));
    work(thread);
  }
  void judge() override {
    cleans_up::judge();
    // ok: it has ended so. Being polled: reentrant. Ended before: invalid_transition.
    check(said == status::ok || said == status::reentrant || said == status::invalid_transition, "a legal answer");
    check(victim.outcome().is_err() == (said == status::ok), "it has ended as was said, and once");
  }
};

TEST(interleave_ends, an_end_from_outside_meets_the_dispatch) {
  expect_all_hold<cleans_up_when_completed>();
}

// As above, while the worker has somebody else to poll: then the victim lies in its lane.
struct cleans_up_in_a_crowd : cleans_up_when_completed {
  script other{*this, [this](cx& c) { return other.polls() > 1 ? poll_result::ready : go_on(c); }};
  cleans_up_in_a_crowd() { check(other.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    said = k().complete(victim.handle, task_outcome::err({status::io, 7}));
  }
};

TEST(interleave_ends, an_end_from_outside_meets_a_task_that_is_queued) {
  expect_all_hold<cleans_up_in_a_crowd>();
}

// It answers a cancel, parks, and is ended from outside: the worker, which has nothing to do, asks those who owe an
// answer, but not one whose actions run.
struct cleans_up_while_idle : cleans_up {
  std::optional<status> said;
  script stubborn{*this, [this](cx& c) {
                    if (stubborn.polls() == 1) check(c.push_cleanup(&clean, this) == status::ok, "pushed");
                    check(cleaned == 0, "R-15: nobody is polled once its stack is unwound");
                    static_cast<void>(c.get_waker());
                    return c.checkpoint() == status::ok || stubborn.polls() < 4 ? poll_result::pending
                                                                                : poll_result::ready;
                  }};
  cleans_up_while_idle() {
    check(k().complete(victim.handle, task_outcome::err({status::io, 7})) == status::ok, "it is not needed here");
    check(stubborn.spawn(rt.root()) == status::ok, "spawned");
    work(0);
    check(k().request_cancel(stubborn.handle) == status::ok, "R-18");
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    said = k().complete(stubborn.handle, task_outcome::err({status::io, 7}));
  }
  void judge() override {
    check(stubborn.has_ended() && stubborn.outcome().is_cancelled() != stubborn.outcome().is_err(), "it has ended");
    check(cleaned == 1, "R-15: what was pushed is run, once");
  }
};

TEST(interleave_ends, an_end_from_outside_meets_a_poll_of_those_who_owe_an_answer) {
  expect_all_hold<cleans_up_while_idle>();
}

// The handle goes while the task ends.
struct lets_go : kernel_world {
  script target{*this, [](cx&) { return poll_result::ready; }};
  atomic<int> gone{0};
  lets_go() {
    target.at_drop = [this] { gone.store(1, release); };
    check(target.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(k().release_task(target.handle) == status::ok, "a handle that is held can be let go");
  }
  void judge() override {
    task_report report;
    check(k().inspect(target.handle, report) == status::stale_handle, "R-133: nobody holds it, and it has ended");
  }
};

TEST(interleave_ends, a_handle_is_let_go_while_its_task_ends) {
  expect_all_hold<lets_go>();
}

// ---- timers

struct times_out : kernel_world {
  slab_key timer{};
  bool was_cancelled = false;
  script sleeper{*this, [this](cx& c) {
                   if (sleeper.polls() > 1) return poll_result::ready;
                   check(c.kernel().register_timer(c, instant{} + duration::milliseconds(10), timer) == status::ok,
                         "registered");
                   return poll_result::pending;
                 }};
  waker wake;
  times_out() {
    check(sleeper.spawn(rt.root()) == status::ok, "spawned");
    work(0);
    wake = k().waker_of(sleeper.handle);
  }
  void run(unsigned thread) override {
    if (thread == 0) {
      {
        const inside here(k());
        check(rt.advance(duration::milliseconds(10)) == status::ok, "time is virtual");
      }
      work(0);
    } else {
      was_cancelled = k().cancel_timer(timer);
      if (was_cancelled) wake.wake();
    }
  }
  void judge() override {
    check(sleeper.has_ended() && sleeper.polls() == 2, "it is woken once, by the one or the other");
    check(count(event_kind::timer_fired) == (was_cancelled ? 0U : 1U), "a timer fires or is cancelled, never both");
    check(k().live_timers() == 0, "none is left");
  }
};

TEST(interleave_ends, a_timer_fires_or_is_cancelled) {
  expect_all_hold<times_out>();
}

// ---- obligations

template <leak_policy Leaks>
struct promises : kernel_world {
  region_handle room;
  obligation_handle promise;
  status said = status::ok;
  promises() : kernel_world(gate_fault::none, {.leaks = Leaks}) {
    room = open(rt.root());
    check(k().reserve(room, promise) == status::ok, "reserved");
  }
  void run(unsigned thread) override {
    if (thread == 0) {
      said = k().commit(promise);
    } else {
      check(k().close(room) == status::ok, "an open region can be closed");
    }
    work(thread);
  }
  void judge() override {
    region_report report;
    check(k().inspect(room, report) == status::ok && report.state == region_state::closed, "R-07");
    check(report.reserved == 0, "nothing is left");
    if (said == status::ok) {
      check(report.leaked == 0, "what was kept is not broken");
    } else {
      check(Leaks == leak_policy::proceed, "R-10: a close that holds waits for the commit");
      check(said == status::obligation_leaked && report.leaked == 1, "R-30: too late, and told so");
    }
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, a_promise_is_kept_or_leaked_when_its_region_closes) {
  expect_all_hold<promises<leak_policy::proceed>>();
  expect_all_hold<promises<leak_policy::hold>>();
}

// Reserved and kept by a task that is cancelled by the close.
struct promises_of_a_task : kernel_world {
  region_handle room = open(rt.root());
  std::optional<status> reserved;
  std::optional<status> kept;
  obligation_handle promise;
  script maker{*this, [this](cx& c) {
                 if (maker.polls() == 1) {
                   reserved = c.kernel().reserve(c.region(), promise);
                   return go_on(c);
                 }
                 if (reserved == status::ok && !kept) kept = c.kernel().commit(promise);
                 return poll_result::ready;
               }};
  promises_of_a_task() { check(maker.spawn(room) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 1) check(k().close(room) == status::ok, "an open region can be closed");
    work(thread);
  }
  void judge() override {
    check(maker.has_ended(), "nobody is lost");
    check(!reserved || reserved == status::ok || reserved == status::region_not_open, "R-09");
    check(!kept || kept == status::ok, "R-31: a region does not close before its tasks have ended");
    region_report report;
    check(k().inspect(room, report) == status::ok && report.state == region_state::closed, "R-07");
    check(report.leaked == 0 && report.reserved == 0, "nothing was promised that was not kept");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, a_task_keeps_its_promise_while_its_region_is_closed) {
  expect_all_hold<promises_of_a_task>();
}

// ---- finalizers

struct finalizes : kernel_world {
  region_handle room = open(rt.root());
  atomic<int> door{0};
  unsigned runs = 0;
  status inner_said = status::ok;
  status outer_said = status::ok;
  script inner{*this, [](cx&) { return poll_result::ready; }};
  script outer{*this, wait_for_cancel};
  explicit finalizes(gate_fault fault = gate_fault::none) : kernel_world(fault) {
    check(k().add_finalizer(room, &run_finalizer, this) == status::ok, "added");
  }
  static status run_finalizer(void* self, region_handle region, kernel&) {
    auto& w = *static_cast<finalizes*>(self);
    ++w.runs;
    w.door.fetch_add(1, std::memory_order_relaxed);
    w.inner_said = w.inner.spawn(region);
    return status::ok;
  }
  void run(unsigned thread) override {
    if (thread == 0) {
      check(k().close(room) == status::ok, "an open region can be closed");
    } else {
      outer_said = outer.spawn(room);
    }
    work(thread);
  }
  void judge() override {
    check(state_of(room) == region_state::closed, "R-07");
    check(runs == 1, "R-15: a finalizer runs once");
    check(inner_said == status::ok && inner.has_ended(), "R-08: a finalizer may spawn");
    check(outer_said == status::ok || outer_said == status::region_not_open,
          "R-08: nobody else may, even while a finalizer runs on another thread");
    check(outer.has_ended() == (outer_said == status::ok), "nobody is lost");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, a_finalizer_may_spawn_and_who_comes_from_outside_meanwhile_may_not) {
  expect_all_hold<finalizes>();
}

struct finalizes_as_nobody : finalizes {
  finalizes_as_nobody() : finalizes(gate_fault::forgets_strangers) {}
};
TEST(interleave_ends_faults, a_stranger_without_a_standing_is_noticed) {
  expect_noticed<finalizes_as_nobody>("R-08: a finalizer may spawn");
}

// A worker that finds that nobody is polled and nothing is queued ends the run: a finalizer must not be under way then.
struct finalizes_in_peace : kernel_world {
  region_handle room;
  atomic<int> door{0};
  bool is_under_way = false;
  script child{*this, [](cx&) { return poll_result::ready; }};
  finalizes_in_peace() {
    region_spec spec;
    spec.is_held = spec.ends_when_empty = true;
    check(k().create_region(rt.root(), spec, room) == status::ok, "opened");
    check(child.spawn(room) == status::ok, "spawned");
    check(k().add_finalizer(room, &run_finalizer, this) == status::ok, "added");
  }
  static status run_finalizer(void* self, region_handle, kernel&) {
    auto& w = *static_cast<finalizes_in_peace*>(self);
    w.is_under_way = true;
    w.door.fetch_add(1, std::memory_order_relaxed);
    w.is_under_way = false;
    return status::ok;
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    const inside here(k());
    const bool is_quiet = k().away() == 0 && rt.sched().empty();
    static_cast<void>(door.load());
    check(!is_quiet || !is_under_way, "a run does not end while a finalizer is under way");
  }
  void judge() override {
    check(state_of(room) == region_state::closed, "R-07");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, it_is_not_quiet_while_a_finalizer_runs) {
  expect_all_hold<finalizes_in_peace>();
}

// ---- panics, and who made them

struct panics : kernel_world {
  script bad{*this, [this](cx&) {
               k().panic("bad");
               return poll_result::ready;
             }};
  script good{*this, [this](cx& c) { return good.polls() > 1 ? poll_result::ready : go_on(c); }};
  panics() { check(bad.spawn(rt.root()) == status::ok && good.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override { work(thread); }
  void judge() override {
    check(bad.outcome().is_panicked(), "R-138: the task that is polled on this thread has panicked");
    check(good.outcome().is_ok(), "and no other");
  }
};

TEST(interleave_ends, a_panic_is_that_of_the_task_on_the_same_thread) {
  expect_all_hold<panics>();
}

// ---- a region that fails fast

struct fails_fast : kernel_world {
  region_handle room;
  script bad{*this, [](cx& c) {
               c.set_error(status::io, 3);
               return poll_result::error;
             }};
  bool has_seen = false;
  script good{*this, [this](cx& c) {
                if (c.checkpoint() != status::ok) {
                  has_seen = true;
                  return poll_result::ready;
                }
                return good.polls() > 1 ? poll_result::ready : go_on(c);
              }};
  fails_fast() {
    region_spec spec;
    spec.is_held = spec.ends_when_empty = spec.fails_fast = true;
    check(k().create_region(rt.root(), spec, room) == status::ok, "opened");
    check(good.spawn(room) == status::ok && bad.spawn(room) == status::ok, "spawned");
  }
  void run(unsigned thread) override { work(thread); }
  void judge() override {
    region_report report;
    check(k().inspect(room, report) == status::ok && report.state == region_state::closed, "R-247: it has ended");
    check(report.failure.code == status::io, "R-247: the first failure is kept");
    check(bad.outcome().is_err(), "it has ended as it said");
    check(good.outcome().is_cancelled() == has_seen, "R-19");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_ends, a_failure_meets_the_end_of_its_sibling) {
  expect_all_hold<fails_fast>();
}

}  // namespace
