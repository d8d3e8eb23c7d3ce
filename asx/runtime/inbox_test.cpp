// The inbox in virtual time, on one thread: what handles say, in which order it is taken in, and what it leaves alone.
// Threads and signals are in tests/stress/inbox_stress.cpp.
#include "asx/runtime/inbox.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::events_of;
using testing::expect_legal;
using testing::must_spawn;

// Waits to be woken, and ends when it is cancelled.
struct sleeper : body {
  explicit sleeper(std::vector<int>& log, int number)
      : body{[this, &log, number](cx& c) {
          ++polls;
          if (c.checkpoint() != status::ok) return poll_result::ready;
          if (polls > 1) log.push_back(number);
          static_cast<void>(c.get_waker());
          return poll_result::pending;
        }} {}
  int polls = 0;
};

foreign_handle must_open(runtime& rt, task_handle t) {
  foreign_handle out;
  EXPECT_EQ(rt.foreign(t, out), status::ok);
  return out;
}

std::uint64_t count(runtime& rt, event_kind kind) {
  std::uint64_t n = 0;
  for (const event& e : events_of(rt)) n += e.kind == kind ? 1U : 0U;
  return n;
}

TEST(inbox, takes_in_what_was_said_in_the_order_of_the_first_word) {  // law 3, U-01
  runtime rt;
  std::vector<int> log;
  std::deque<sleeper> tasks;
  std::vector<foreign_handle> handles;
  for (int i = 0; i < 4; ++i) {
    handles.push_back(must_open(rt, must_spawn(rt, rt.root(), tasks.emplace_back(log, i), {}, false)));
  }
  rt.run_until_idle();
  for (const int i : {2, 0, 3, 2, 1, 2}) handles[static_cast<std::size_t>(i)].wake();
  rt.run_until_idle();
  EXPECT_EQ(log, (std::vector<int>{2, 0, 3, 1}));
  EXPECT_EQ(count(rt, event_kind::input_wake), 4U) << "a word said twice is one (law 2)";
  for (const event& e : events_of(rt)) {
    if (e.kind == event_kind::input_wake) {
      EXPECT_NE(e.flags & event_flags::arrived, 0U);
    }
  }
  handles.clear();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(inbox, wakes_again_after_each_time_it_was_taken_in) {
  runtime rt;
  std::vector<int> log;
  sleeper s(log, 1);
  const foreign_handle h = must_open(rt, must_spawn(rt, rt.root(), s, {}, false));
  rt.run_until_idle();
  for (int i = 0; i < 5; ++i) {
    h.wake();
    rt.run_until_idle();
  }
  EXPECT_EQ(log.size(), 5U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(inbox, cancels_with_the_strongest_kind_that_was_said) {  // law 2
  runtime rt;
  std::vector<int> log;
  sleeper s(log, 1);
  const task_handle t = must_spawn(rt, rt.root(), s);
  {
    const foreign_handle h = must_open(rt, t);
    rt.run_until_idle();
    h.cancel(cancel_kind::user);
    h.cancel(cancel_kind::resource_unavailable);
    h.cancel(cancel_kind::timeout);
  }
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(t, out), status::ok);
  ASSERT_TRUE(out.is_cancelled());
  EXPECT_EQ(out.reason().kind, cancel_kind::resource_unavailable);
  EXPECT_EQ(count(rt, event_kind::input_cancel), 1U);
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  expect_legal(rt);
}

TEST(inbox, leaves_a_task_alone_that_has_ended) {
  runtime rt;
  body b{[](cx&) { return poll_result::ready; }};
  const task_handle t = must_spawn(rt, rt.root(), b, {}, false);
  foreign_handle h = must_open(rt, t);
  rt.run_until_idle();
  body other{[](cx& c) {  // Likely in the same slot.
    static_cast<void>(c.get_waker());
    return c.is_cancelled() ? poll_result::ready : poll_result::pending;
  }};
  must_spawn(rt, rt.root(), other, {}, false);
  rt.run_until_idle();
  const std::uint64_t before = count(rt, event_kind::task_dispatched);
  h.wake();
  h.cancel();
  rt.run_until_idle();
  EXPECT_EQ(count(rt, event_kind::task_dispatched), before);
  EXPECT_EQ(count(rt, event_kind::input_wake) + count(rt, event_kind::input_cancel), 0U);
  foreign_handle again;
  EXPECT_EQ(rt.foreign(t, again), status::stale_handle);
  EXPECT_TRUE(again.is_null());
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(inbox, refuses_one_handle_too_many_and_takes_another_when_one_is_gone) {  // law 1
  runtime_config config;
  config.max_foreign = 2;
  runtime rt(config);
  std::vector<int> log;
  sleeper s(log, 1);
  const task_handle t = must_spawn(rt, rt.root(), s, {}, false);
  foreign_handle a = must_open(rt, t);
  const foreign_handle b = must_open(rt, t);
  foreign_handle c;
  const std::uint64_t before = rt.kernel().state_hash();
  EXPECT_EQ(rt.foreign(t, c), status::resource_exhausted);
  EXPECT_EQ(rt.kernel().state_hash(), before) << "a refusal changes nothing (U-36)";
  EXPECT_EQ(rt.inbox().open_handles(), 2U);
  a.drop();
  rt.run_until_idle();
  EXPECT_EQ(rt.inbox().open_handles(), 1U);
  EXPECT_EQ(rt.foreign(t, c), status::ok);
  EXPECT_TRUE(b.slot() != c.slot());
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(inbox, refuses_handles_that_no_memory_could_hold) {  // law 1
  if (sizeof(void*) > 4) GTEST_SKIP() << "sizes of 64 bits have room for all of them";
  runtime_config config;
  config.max_foreign = UINT32_MAX;
  runtime rt(config);
  std::vector<int> log;
  sleeper s(log, 1);
  const task_handle t = must_spawn(rt, rt.root(), s, {}, false);
  foreign_handle out;
  EXPECT_EQ(rt.foreign(t, out), status::resource_exhausted);
  EXPECT_TRUE(out.is_null());
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(inbox, holds_stall_polls_back_while_a_handle_lives) {  // R-132, law 4
  runtime rt;
  int polls = 0;
  body b{[&](cx& c) {
    ++polls;
    static_cast<void>(c.checkpoint());
    static_cast<void>(c.get_waker());
    return poll_result::pending;  // Cancelled, it waits for ever: only stall polls end it.
  }};
  const task_handle t = must_spawn(rt, rt.root(), b, {}, false);
  foreign_handle h = must_open(rt, t);
  EXPECT_EQ(rt.kernel().foreign_holds(), 1U);
  ASSERT_EQ(rt.kernel().request_cancel(t, {}), status::ok);
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok) << "in virtual time nobody parks";
  EXPECT_EQ(rt.kernel().live_tasks(), 1U);
  EXPECT_EQ(polls, 1);
  h.drop();
  rt.run_until_quiescent();
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  EXPECT_EQ(rt.kernel().foreign_holds(), 0U);
  expect_legal(rt);
}

TEST(inbox, keeps_a_cancel_that_finds_the_queue_full_until_there_is_room) {
  runtime_config config;
  config.contract.max_cancel_queue = 1;
  runtime rt(config);
  std::vector<int> log;
  sleeper second(log, 2);
  bool may_end = false;
  body first{[&](cx& c) {
    static_cast<void>(c.checkpoint());
    static_cast<void>(c.get_waker());
    return may_end ? poll_result::ready : poll_result::pending;
  }};
  const foreign_handle h1 = must_open(rt, must_spawn(rt, rt.root(), first, {}, false));
  const foreign_handle h2 = must_open(rt, must_spawn(rt, rt.root(), second, {}, false));
  rt.run_until_idle();
  h1.cancel();
  h2.cancel();
  rt.run_until_idle();
  rt.run_until_idle();
  EXPECT_EQ(count(rt, event_kind::input_cancel), 1U);
  EXPECT_EQ(count(rt, event_kind::refused_cancel), 0U) << "waiting is not told at every step";
  EXPECT_EQ(rt.kernel().live_tasks(), 2U);
  may_end = true;
  h1.wake();
  rt.run_until_idle();
  rt.run_until_idle();
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  EXPECT_EQ(count(rt, event_kind::input_cancel), 2U);
}

TEST(inbox, shuts_down_in_order_and_at_once_when_it_is_said_again) {  // law 5, R-213
  runtime rt;
  std::vector<cancel_kind> seen;
  body b{[&](cx& c) {
    if (c.checkpoint() != status::ok) seen.push_back(c.reason()->kind);
    static_cast<void>(c.get_waker());
    return seen.size() == 2 ? poll_result::ready : poll_result::pending;
  }};
  const task_handle t = must_spawn(rt, rt.root(), b, {}, false);
  const foreign_handle h = must_open(rt, t);
  rt.run_until_idle();
  h.shut_down();
  rt.run_until_idle();
  EXPECT_TRUE(rt.kernel().is_shutting_down());
  EXPECT_EQ(seen, (std::vector<cancel_kind>{cancel_kind::parent_cancelled}));
  h.shut_down();
  h.wake();
  rt.run_until_idle();
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(count(rt, event_kind::shutdown_begun), 1U);
  EXPECT_EQ(count(rt, event_kind::shutdown_strengthened), 1U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(inbox, says_nothing_to_a_runtime_that_is_gone) {
  foreign_handle h;
  {
    runtime rt;
    std::vector<int> log;
    sleeper s(log, 1);
    h = must_open(rt, must_spawn(rt, rt.root(), s, {}, false));
    rt.run_until_idle();
    EXPECT_TRUE(rt.shutdown().is_quiescent()) << "a handle holds no runtime up";
  }
  h.wake();
  h.cancel();
  h.shut_down();
  foreign_handle moved = std::move(h);
  moved.wake();
  moved.drop();
  EXPECT_TRUE(moved.is_null());
}

TEST(inbox, is_the_same_run_with_the_same_words) {
  const auto digest = [] {
    runtime rt;
    std::vector<int> log;
    std::deque<sleeper> tasks;
    std::vector<foreign_handle> handles;
    for (int i = 0; i < 8; ++i)
      handles.push_back(must_open(rt, must_spawn(rt, rt.root(), tasks.emplace_back(log, i), {}, false)));
    rt.run_until_idle();
    for (std::size_t i = 0; i < 40; ++i) {
      handles[i * 5 % 8].wake();
      if (i % 3 == 0) rt.step();
      if (i == 20) handles[3].cancel();
    }
    handles.clear();
    rt.run_until_quiescent();
    rt.shutdown();
    return rt.journal().digest();
  };
  EXPECT_EQ(digest(), digest());
}

// A clock that moves by itself, without a machine's clock: parking is where the others get their turn.
struct other_world {
  std::uint64_t ns = 0;
  std::vector<std::uint64_t> parked_until;
  void (*meanwhile)(other_world&) = nullptr;
  void* with = nullptr;
  bool is_told = false;

  [[nodiscard]] runtime_config config() {
    runtime_config c;
    c.clock = {this, [](void* self) noexcept { return instant{static_cast<other_world*>(self)->ns += 10}; }};
    c.park = {this,
              [](void* self, instant, instant until) noexcept {
                auto& at = *static_cast<other_world*>(self);
                at.parked_until.push_back(until.ns);
                if (at.meanwhile != nullptr) at.meanwhile(at);
                if (!std::exchange(at.is_told, false)) at.ns = until.ns;
              },
              [](void* self) noexcept { static_cast<other_world*>(self)->is_told = true; }};
    return c;
  }
};

TEST(live_run, parks_for_a_foreign_hold_with_nothing_due_and_goes_on_when_it_is_unparked) {  // law 4
  other_world w;
  runtime rt(w.config());
  std::vector<int> log;
  sleeper s(log, 1);
  foreign_handle h = must_open(rt, must_spawn(rt, rt.root(), s, {}, false));
  w.with = &h;
  w.meanwhile = [](other_world& at) {
    auto& handle = *static_cast<foreign_handle*>(at.with);
    if (at.parked_until.size() < 4) return handle.wake();
    handle.cancel();
  };
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_EQ(log.size(), 3U);
  EXPECT_EQ(w.parked_until, (std::vector<std::uint64_t>(4, UINT64_MAX))) << "no polling: it sleeps until it is told";
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  h.drop();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(live_run, ends_when_nobody_is_left_to_wake_though_a_handle_lives) {
  other_world w;
  runtime rt(w.config());
  body b{[](cx&) { return poll_result::ready; }};
  const foreign_handle h = must_open(rt, must_spawn(rt, rt.root(), b, {}, false));
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(w.parked_until.empty());
}

TEST(live_run, parks_exactly_until_the_next_timer) {
  other_world w;
  runtime rt(w.config());
  slab_key timer;
  instant due;
  body b{[&](cx& c) {
    if (timer != slab_key{}) return poll_result::ready;
    due = c.now() + duration::seconds(3);
    EXPECT_EQ(c.kernel().register_timer(c, due, timer), status::ok);
    return poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_quiescent();
  EXPECT_EQ(w.parked_until, (std::vector<std::uint64_t>{due.ns}));
}

// Cancelled, it sleeps on in a mask.
body cleans_up_for_an_hour() {
  return {[timer = slab_key{}](cx& c) mutable {
    if (c.checkpoint() != status::ok && timer == slab_key{}) {
      EXPECT_EQ(c.mask_enter(), status::ok);
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::hours(1), timer), status::ok);
    }
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
}

TEST(live_run, gives_a_shutdown_from_outside_its_grace_and_no_more) {  // law 5
  other_world w;
  runtime_config config = w.config();
  config.grace = duration::seconds(2);
  runtime rt(config);
  body b = cleans_up_for_an_hour();
  foreign_handle h = must_open(rt, must_spawn(rt, rt.root(), b, {}, false));
  rt.run_until_idle();
  h.shut_down();
  h.drop();
  const instant begun = rt.kernel().now();
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  ASSERT_FALSE(w.parked_until.empty());
  EXPECT_GE(w.parked_until.front(), begun.ns + config.grace.ns);
  EXPECT_LT(w.parked_until.front(), begun.ns + config.grace.ns + 1'000'000);
  EXPECT_LT(rt.kernel().now(), begun + duration::seconds(3));
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(live_run, ends_a_grace_in_virtual_time_as_well) {  // law 5: the lab sees what the live drive does
  runtime_config config;
  config.grace = duration::seconds(2);
  runtime rt(config);
  body b = cleans_up_for_an_hour();
  foreign_handle h = must_open(rt, must_spawn(rt, rt.root(), b, {}, false));
  rt.run_until_idle();
  h.shut_down();
  h.drop();
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  EXPECT_LE(rt.now(), instant{duration::seconds(3).ns});
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(live_run, ends_a_grace_while_somebody_is_always_busy) {  // law 5
  other_world w;
  runtime_config config = w.config();
  config.grace = duration::milliseconds(1);
  runtime rt(config);
  std::vector<cancel_kind> seen;
  body b{[&](cx& c) {
    if (c.reason() != nullptr && (seen.empty() || seen.back() != c.reason()->kind)) seen.push_back(c.reason()->kind);
    if (!seen.empty() && seen.back() == cancel_kind::shutdown) return poll_result::ready;
    if (!seen.empty() && c.checkpoint() != status::ok) w.ns += 100'000;
    c.yield();
    return poll_result::pending;
  }};
  foreign_handle h = must_open(rt, must_spawn(rt, rt.root(), b, {}, false));
  rt.run_until_idle(10);
  h.shut_down();
  h.drop();
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  ASSERT_EQ(seen.size(), 2U);  // Asked, and told once more when the grace was over.
  EXPECT_EQ(seen.back(), cancel_kind::shutdown);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(live_run, never_tells_of_an_earlier_time_after_a_later_one) {
  other_world w;
  runtime rt(w.config());
  body b{[](cx&) { return poll_result::ready; }};
  for (int i = 0; i < 3; ++i) {
    must_spawn(rt, rt.root(), b, {}, false);  // From outside, between two runs.
    rt.set_governor(i % 2 == 0 ? governor::drain_regions : governor::no_preference);
    must_spawn(rt, rt.root(), b, {}, false);
    rt.run_until_idle();
  }
  EXPECT_TRUE(rt.shutdown(duration::milliseconds(1)).is_quiescent());
  expect_legal(rt);
}

TEST(inbox, makes_no_handle_for_a_drive_that_cannot_be_unparked) {
  other_world w;
  runtime_config config = w.config();
  config.park.unpark = nullptr;
  runtime rt(config);
  std::vector<int> log;
  sleeper s(log, 1);
  foreign_handle h;
  EXPECT_EQ(rt.foreign(must_spawn(rt, rt.root(), s, {}, false), h), status::invalid_argument);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

}  // namespace
}  // namespace asx
