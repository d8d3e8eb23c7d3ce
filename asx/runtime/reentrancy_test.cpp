// User code that calls back at the awkward moments: in drops, cleanup actions, finalizers and notifications. Whatever
// it does, records outlive those who use them, and the answer is a status.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asx/journal/schedule_check.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

// A task of a test, with what it does when it is polled, dropped and unwound.
struct actor {
  std::function<poll_result(cx&)> run = [](cx&) { return poll_result::ready; };
  std::function<void()> dropped = [] {};

  static poll_result poll(void* self, cx& c) { return static_cast<actor*>(self)->run(c); }
  static void drop(void* self) noexcept { static_cast<actor*>(self)->dropped(); }
  [[nodiscard]] task_spec spec(bool is_held = false) {
    task_spec s{.poll = &actor::poll, .context = this, .drop = &actor::drop};
    s.is_held = is_held;
    return s;
  }
};

struct callback {
  std::function<void()> run;
  static status undo(void* self) { return static_cast<callback*>(self)->run(), status::ok; }
  static status finalize(void* self, region_handle, kernel&) { return static_cast<callback*>(self)->run(), status::ok; }
  static void closed(void* self, region_handle) noexcept { static_cast<callback*>(self)->run(); }
};

class reentrancy : public ::testing::Test {
 protected:
  region_handle region(bool is_held = false, callback* closed = nullptr) {
    region_handle out;
    region_spec spec;
    spec.is_held = is_held;
    spec.context = closed;
    spec.closed = closed == nullptr ? nullptr : &callback::closed;
    EXPECT_EQ(k.create_region(rt.root(), spec, out), status::ok);
    return out;
  }
  task_handle spawn(region_handle in, actor& a, bool is_held = false) {
    task_handle out;
    EXPECT_EQ(k.spawn(in, a.spec(is_held), out), status::ok);
    return out;
  }
  void rests() {
    const shutdown_result out = rt.shutdown();
    EXPECT_TRUE(out.is_quiescent()) << out.survivors;
    std::vector<event> events(static_cast<std::size_t>(rt.journal().size()));
    events.resize(rt.journal().copy_tail(events));
    const schedule_verdict verdict = check_schedule(events);
    EXPECT_TRUE(verdict.accepted()) << explain(verdict);
  }

  runtime rt;
  kernel& k = rt.kernel();
};

TEST_F(reentrancy, a_drop_may_close_the_region_of_its_task_and_open_another_in_its_place) {
  const region_handle home = region();
  actor a;
  std::uint64_t origin = 0;
  actor other{[](cx& c) {
    static_cast<void>(c.get_waker());
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  const task_handle victim = spawn(rt.root(), other, true);
  a.dropped = [&] {
    EXPECT_EQ(k.close(home), status::ok);
    region_handle next;
    EXPECT_EQ(k.create_region(rt.root(), {}, next), status::ok);
    EXPECT_EQ(k.request_cancel(victim), status::ok);
    task_report r;
    EXPECT_EQ(k.inspect(victim, r), status::ok);
    origin = r.reason->origin_region.value;
  };
  spawn(home, a);
  rt.run_until_idle();
  EXPECT_EQ(origin, 2U) << "the region of the task that asked, not the one that took its slot";
  EXPECT_EQ(k.release_task(victim), status::ok);
  rests();
}

TEST_F(reentrancy, a_finalizer_cannot_finish_the_close_that_it_is_part_of) {
  const region_handle home = region(true);
  status inner = status::ok;
  callback last{[&] { inner = k.finish_close(home); }};
  EXPECT_EQ(k.add_finalizer(home, &callback::finalize, &last), status::ok);
  EXPECT_EQ(k.close(home), status::ok);
  EXPECT_EQ(inner, status::reentrant);
  region_report r;
  EXPECT_EQ(k.inspect(home, r), status::ok);
  EXPECT_EQ(r.state, region_state::closed);
  EXPECT_EQ(k.release_region(home), status::ok);
  rests();
}

TEST_F(reentrancy, nobody_can_release_a_record_that_he_does_not_hold) {
  actor a;
  task_handle t;
  status in_cleanup = status::ok;
  status in_drop = status::ok;
  callback undo{[&] { in_cleanup = k.release_task(t); }};
  a.run = [&](cx& c) {
    EXPECT_EQ(c.push_cleanup(&callback::undo, &undo), status::ok);
    return poll_result::ready;
  };
  a.dropped = [&] { in_drop = k.release_task(t); };
  const std::uint64_t before = k.nominal_used();
  t = spawn(rt.root(), a);
  rt.run_until_idle();
  EXPECT_EQ(in_cleanup, status::invalid_argument);
  EXPECT_EQ(in_drop, status::invalid_argument);
  EXPECT_EQ(k.release_task(t), status::stale_handle);

  region_handle home;
  status in_closed = status::ok;
  callback closed{[&] { in_closed = k.release_region(home); }};
  home = region(false, &closed);
  EXPECT_EQ(k.close(home), status::ok);
  EXPECT_EQ(in_closed, status::invalid_argument);
  EXPECT_EQ(k.release_region(home), status::stale_handle);
  EXPECT_EQ(k.nominal_used(), before);
  rests();
}

TEST_F(reentrancy, the_reason_of_an_outcome_is_the_one_that_cleanup_left) {
  actor a;
  task_handle t;
  callback undo{[&] { EXPECT_EQ(k.request_cancel(t, {cancel_kind::shutdown, "second"}), status::ok); }};
  a.run = [&](cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::error;
    EXPECT_EQ(c.push_cleanup(&callback::undo, &undo), status::ok);
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  };
  t = spawn(rt.root(), a, true);
  rt.run_until_idle();
  EXPECT_EQ(k.request_cancel(t, {cancel_kind::user, "first"}), status::ok);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(k.result(t, out), status::ok);
  EXPECT_EQ(out.reason().kind, cancel_kind::shutdown);
  EXPECT_EQ(out.reason().message, "second");
  EXPECT_EQ(k.release_task(t), status::ok);
  rests();
}

TEST_F(reentrancy, of_two_panics_in_a_poll_the_first_tells_the_story) {
  actor a{[](cx& c) {
    c.panic("the cause");
    c.panic("what came of it");
    return poll_result::ready;
  }};
  const task_handle t = spawn(rt.root(), a, true);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(k.result(t, out), status::ok);
  ASSERT_EQ(out.kind(), outcome_kind::panicked);
  EXPECT_EQ(out.panic().text, "the cause");
  EXPECT_EQ(k.release_task(t), status::ok);
  rests();
}

TEST_F(reentrancy, a_region_weighs_on_the_governor_from_its_close_to_its_end) {
  actor a{[](cx& c) {
    static_cast<void>(c.get_waker());
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  const region_handle home = region();
  spawn(home, a);
  rt.run_until_idle();
  EXPECT_EQ(k.weigh().closing_regions, 0U);
  EXPECT_EQ(k.close(home), status::ok);
  EXPECT_EQ(k.weigh().closing_regions, 1U);
  rt.run_until_idle();
  EXPECT_EQ(k.weigh().closing_regions, 0U);
  rests();
}

TEST_F(reentrancy, a_panic_from_outside_keeps_its_own_copy_of_the_text) {
  actor a{[](cx& c) {
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  const task_handle t = spawn(rt.root(), a, true);
  rt.run_until_idle();
  {
    auto text = std::make_unique<std::string>("the disk is gone, and so is this text");
    EXPECT_EQ(k.complete(t, task_outcome::panicked({*text, {}, 0})), status::ok);
  }
  task_outcome out;
  ASSERT_EQ(k.result(t, out), status::ok);
  EXPECT_EQ(out.panic().text, "the disk is gone, and so is this text");
  EXPECT_EQ(k.release_task(t), status::ok);
  rests();
}

// children may borrow from the frame of the task that owns their region, however it ends.
TEST_F(reentrancy, an_owner_ends_after_its_region_however_it_ends) {
  for (const std::string how : {"ready", "error", "panic", "complete"}) {
    bool is_dropped = false;
    int polled_after_drop = 0;
    actor child{[&](cx& c) {
      polled_after_drop += is_dropped ? 1 : 0;
      if (c.checkpoint() != status::ok) return poll_result::ready;
      c.yield();
      return poll_result::pending;
    }};
    actor owner;
    owner.dropped = [&] { is_dropped = true; };
    bool is_set_up = false;
    owner.run = [&](cx& c) {
      if (!std::exchange(is_set_up, true)) {
        region_handle block;
        region_spec spec;
        spec.owner = c.handle();
        EXPECT_EQ(k.create_region(c.region(), spec, block), status::ok);
        task_handle t;
        EXPECT_EQ(k.spawn(block, child.spec(), t), status::ok);
        c.yield();
        return poll_result::pending;
      }
      if (how == "complete") {
        static_cast<void>(c.get_waker());
        return poll_result::pending;
      }
      if (how == "panic") c.panic("x");
      return how == "error" ? poll_result::error : poll_result::ready;
    };
    const task_handle t = spawn(rt.root(), owner, true);
    for (int i = 0; i < 4; ++i) rt.step();
    if (how == "complete") {
      EXPECT_EQ(k.complete(t, task_outcome::ok(1)), status::ok);
    }
    rt.run_until_idle();
    EXPECT_TRUE(is_dropped) << how;
    EXPECT_EQ(polled_after_drop, 0) << how;
    task_outcome out;
    ASSERT_EQ(k.result(t, out), status::ok) << how;
    EXPECT_EQ(out.kind(), how == "error"   ? outcome_kind::err
                          : how == "panic" ? outcome_kind::panicked
                                           : outcome_kind::ok);
    EXPECT_EQ(k.release_task(t), status::ok);
  }
  rests();
}

TEST_F(reentrancy, asking_again_keeps_the_place_in_the_queue) {  // U-17
  bool go = false;
  actor slow{[&](cx& c) {
    static_cast<void>(c.get_waker());
    return go ? poll_result::ready : poll_result::pending;
  }};
  const task_handle t = spawn(rt.root(), slow, true);
  waiter waiters[2];
  std::vector<int> order;
  std::deque<actor> joiners;
  std::vector<task_handle> handles;
  for (int i = 0; i < 2; ++i) {
    actor& a = joiners.emplace_back();
    a.run = [&, i](cx& c) {
      if (k.await_completed(t, c, waiters[i]) == status::would_block) return poll_result::pending;
      order.push_back(i);
      return poll_result::ready;
    };
    handles.push_back(spawn(rt.root(), a));
  }
  rt.run_until_idle();
  k.waker_of(handles[0]).wake();  // Spurious: it asks again.
  rt.run_until_idle();
  go = true;
  k.waker_of(t).wake();
  rt.run_until_idle();
  EXPECT_EQ(order, (std::vector{0, 1}));
  EXPECT_EQ(k.release_task(t), status::ok);
  rests();
}

TEST_F(reentrancy, a_slot_of_a_closing_region_has_its_place_in_the_cancel_queue) {
  runtime_config config;
  config.contract.max_cancel_queue = 1;
  runtime small(config);
  region_handle home;
  ASSERT_EQ(small.kernel().create_region(small.root(), {}, home), status::ok);
  task_slot slot;
  ASSERT_EQ(small.kernel().reserve_task(home, slot), status::ok);
  actor waits{[](cx& c) {
    static_cast<void>(c.get_waker());
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  task_handle other;
  ASSERT_EQ(small.kernel().spawn(small.root(), waits.spec(), other), status::ok);
  ASSERT_EQ(small.kernel().close(home), status::ok);
  EXPECT_EQ(small.kernel().request_cancel(other), status::resource_exhausted) << "the slot's entry is taken";
  actor late{[](cx& c) { return c.checkpoint() == status::ok ? poll_result::error : poll_result::ready; }};
  small.kernel().commit(slot, late.spec());
  small.run_until_idle();
  EXPECT_EQ(small.kernel().request_cancel(other), status::ok);
  EXPECT_TRUE(small.shutdown().is_quiescent());
}

TEST_F(reentrancy, a_run_of_drawn_workers_says_step_limit_while_work_is_queued) {
  for (std::uint64_t steps = 1; steps < 40; ++steps) {
    runtime_config config;
    config.workers = 2;
    config.order = worker_order::kind::drawn;
    config.seed = steps;
    runtime two(config);
    actor a{[](cx& c) {
      static_cast<void>(c.get_waker());
      return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
    }};
    task_handle t;
    ASSERT_EQ(two.kernel().spawn(two.root(), a.spec(), t), status::ok);
    two.run_until_idle();
    ASSERT_EQ(two.kernel().request_cancel(t), status::ok);
    const run_result ran = two.run_until_idle(1 + steps % 3);
    EXPECT_TRUE(ran.ended == status::step_limit || two.sched().empty()) << steps;
    EXPECT_TRUE(two.shutdown().is_quiescent());
  }
}

TEST_F(reentrancy, a_panic_outside_of_every_task_calls_the_fatal_hook) {
  static std::string told;
  told.clear();
  runtime_config config;
  config.behaviour.fatal = [](void*, std::string_view text) noexcept { told = text; };
  runtime hooked(config);
  hooked.kernel().panic("nobody is running");
  EXPECT_EQ(told, "nobody is running");
}

}  // namespace
}  // namespace asx
