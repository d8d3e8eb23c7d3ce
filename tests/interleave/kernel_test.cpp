// Two threads in one kernel, in every order in which they can enter it: wake against park, steal against pop, close
// against spawn, cancel against completion, and their like. The laws are those of docs/spec/rulings.md.
#include <gtest/gtest.h>

#include <array>

#include "tests/interleave/expect.hpp"
#include "tests/interleave/kernel_world.hpp"

namespace {

using namespace asx;
using namespace asx::interleave;
using asx::interleave::atomic;

// ---- wake against park

// A task looks for a word and parks; somebody else says the word and wakes it. `IsLate`: wakes first, and speaks then.
template <bool IsLate>
struct wakes : kernel_world {
  atomic<int> word{0};
  script sleeper{*this, [this](cx& c) {
                   static_cast<void>(c.get_waker());
                   return word.load(std::memory_order_acquire) != 0 ? poll_result::ready : poll_result::pending;
                 }};
  waker wake;

  wakes() {
    check(sleeper.spawn(rt.root()) == status::ok, "spawned");
    wake = k().waker_of(sleeper.handle);
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (IsLate) wake.wake();
    word.store(1, std::memory_order_release);
    if (!IsLate) wake.wake();
  }
  void judge() override {
    check(sleeper.has_ended(), "R-23: a wake during the poll queues it again, and one after the poll does");
    check(sleeper.polls() <= 2, "one wake is one more poll at the most");
  }
};

TEST(interleave_kernel, a_wake_finds_the_task_whether_it_polls_or_parks) {
  expect_all_hold<wakes<false>>();
}
TEST(interleave_kernel_faults, a_wake_that_comes_before_its_reason_is_noticed) {
  expect_noticed<wakes<true>>("R-23");
}

// ---- steal against pop

template <unsigned Tasks, unsigned Yields>
struct steals : kernel_world {
  static poll_result go_on(const script& s, cx& c) {
    if (s.polls() > Yields) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }
  script a{*this, [this](cx& c) { return go_on(a, c); }};
  script b{*this, [this](cx& c) { return go_on(b, c); }};
  script d{*this, [this](cx& c) { return go_on(d, c); }};
  std::array<script*, 3> all{&a, &b, &d};

  explicit steals(gate_fault fault = gate_fault::none) : kernel_world(fault) {
    for (unsigned i = 0; i < Tasks; ++i) check(all[i]->spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override { work(thread); }
  void judge() override {
    for (unsigned i = 0; i < Tasks; ++i) {
      check(all[i]->has_ended(), "nobody is lost between two workers");
      check(all[i]->polls() == Yields + 1, "each poll is made once");
      check(all[i]->outcome().is_ok(), "it has ended as it said");
    }
  }
};

TEST(interleave_kernel, two_workers_share_what_lies_in_one_lane) {
  expect_all_hold<steals<2, 1>>();
}
TEST(interleave_kernel, two_workers_share_three_tasks) {
  expect_all_hold<steals<3, 1>>();
}

// ---- wake and join from one task to another, on two workers

struct tells : kernel_world {
  atomic<int> word{0};
  waker wake;
  script sleeper{*this, [this](cx& c) {
                   static_cast<void>(c.get_waker());
                   return word.load(std::memory_order_acquire) != 0 ? poll_result::ready : poll_result::pending;
                 }};
  script speaker{*this, [this](cx&) {
                   word.store(1, std::memory_order_release);
                   wake.wake();
                   return poll_result::ready;
                 }};
  tells() {
    check(sleeper.spawn(rt.root()) == status::ok && speaker.spawn(rt.root()) == status::ok, "spawned");
    wake = k().waker_of(sleeper.handle);
  }
  void run(unsigned thread) override { work(thread); }
  void judge() override { check(sleeper.has_ended() && speaker.has_ended(), "R-23: nobody sleeps on"); }
};

TEST(interleave_kernel, a_task_wakes_another_on_the_other_worker) {
  expect_all_hold<tells>();
}

// ---- close against spawn

// Waits until it is cancelled.
poll_result wait_for_cancel(cx& c) {
  static_cast<void>(c.get_waker());
  return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
}

struct closes : kernel_world {
  region_handle room = open(rt.root());
  script first{*this, wait_for_cancel};
  script second{*this, wait_for_cancel};
  status first_said = status::ok;
  status second_said = status::ok;
  status close_said = status::ok;

  void run(unsigned thread) override {
    if (thread == 0) {
      first_said = first.spawn(room);
      second_said = second.spawn(room);
    } else {
      close_said = k().close(room);
    }
    work(thread);
  }
  void judge() override {
    const auto is_legal = [](status s) { return s == status::ok || s == status::region_not_open; };
    check(close_said == status::ok, "an open region can be closed");
    check(is_legal(first_said) && is_legal(second_said), "R-09: admitted, or the region is not open");
    check(first_said == status::ok || second_said != status::ok, "a region does not open again");
    check(state_of(room) == region_state::closed, "R-07: a close is driven to its end");
    for (script* s : {&first, &second}) {
      const bool was_admitted = (s == &first ? first_said : second_said) == status::ok;
      check(s->has_ended() == was_admitted, "whoever was admitted has ended, and nobody else was polled");
      if (was_admitted) check(s->outcome().is_cancelled(), "R-05: a close reaches everybody who was admitted before");
    }
    task_outcome out = task_outcome::ok();
    check(k().result(room, out) == status::ok, "a closed region has a result");
    check(out.is_cancelled() == (first_said == status::ok), "R-13: the fold of those who were in it");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_kernel, a_close_reaches_everybody_who_was_admitted) {
  expect_all_hold<closes>();
}

// The spawns are those of a task that lives in the region itself.
struct closes_around_a_spawner : kernel_world {
  region_handle room = open(rt.root());
  script child{*this, wait_for_cancel};
  status child_said = status::ok;
  script parent{*this, [this](cx& c) {
                  if (parent.polls() == 1) child_said = child.spawn(c.region());
                  return wait_for_cancel(c);
                }};
  closes_around_a_spawner() { check(parent.spawn(room) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 1) check(k().close(room) == status::ok, "an open region can be closed");
    work(thread);
  }
  void judge() override {
    check(child_said == status::ok || child_said == status::region_not_open, "R-09");
    check(child.has_ended() == (child_said == status::ok), "nobody is lost");
    check(parent.outcome().is_cancelled(), "R-05, R-19: it has seen its cancel");
    check(state_of(room) == region_state::closed, "R-07");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_kernel, a_close_meets_a_task_that_spawns_in_its_own_region) {
  expect_all_hold<closes_around_a_spawner>();
}

struct closes_a_tree : kernel_world {
  region_handle room = open(rt.root());
  region_handle inner;
  script child{*this, wait_for_cancel};
  status inner_said = status::ok;
  status child_said = status::region_not_open;

  void run(unsigned thread) override {
    if (thread == 1) {
      check(k().close(room) == status::ok, "an open region can be closed");
    } else {
      region_spec spec;
      spec.is_held = true;
      inner_said = k().create_region(room, spec, inner);
      if (inner_said == status::ok) child_said = child.spawn(inner);
    }
    work(thread);
  }
  void judge() override {
    check(inner_said == status::ok || inner_said == status::region_not_open, "R-09");
    check(child_said == status::ok || child_said == status::region_not_open, "R-09");
    check(state_of(room) == region_state::closed, "R-07");
    check(child.has_ended() == (child_said == status::ok), "nobody is lost");
    if (child_said == status::ok) check(child.outcome().is_cancelled(), "R-42: a close goes down the tree");
    if (inner_said == status::ok) {
      check(state_of(inner) == region_state::closed, "R-07: innermost first");
      static_cast<void>(k().release_region(inner));
    }
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_kernel, a_close_meets_a_region_that_is_being_opened_below) {
  expect_all_hold<closes_a_tree>();
}

struct shuts_down : kernel_world {
  script child{*this, wait_for_cancel};
  status said = status::ok;
  void run(unsigned thread) override {
    if (thread == 0) {
      said = child.spawn(rt.root());
    } else {
      check(k().begin_shutdown() == status::ok, "a shutdown can begin");
    }
    work(thread);
  }
  void judge() override {
    check(said == status::ok || said == status::region_not_open || said == status::admission_closed, "R-09");
    check(child.has_ended() == (said == status::ok), "nobody is lost");
    check(k().check_quiescence().failed == 0, "R-108: a shutdown runs to the end");
  }
};

TEST(interleave_kernel, a_shutdown_meets_a_spawn) {
  expect_all_hold<shuts_down>();
}

// ---- the checks can fail

struct steals_with_shared_standings : steals<2, 1> {
  steals_with_shared_standings() : steals(gate_fault::shares_standings) {}
};
TEST(interleave_kernel_faults, threads_that_share_a_standing_are_noticed) {
  expect_noticed<steals_with_shared_standings>("may step");
}
struct steals_without_an_entry : steals<2, 1> {
  steals_without_an_entry() : steals(gate_fault::is_skipped) {}
};
TEST(interleave_kernel_faults, a_worker_that_does_not_enter_is_noticed) {
  expect_noticed<steals_without_an_entry>("who is not inside");
}

}  // namespace
