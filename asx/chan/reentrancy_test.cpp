// What user code may do to a channel from inside it: destructors of values, cleanup actions, drops, callbacks of
// regions.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/runtime/testing/actor.hpp"

namespace asx {
namespace {

using testing::actor;
using testing::must_open;
using testing::must_spawn;

// Its shell calls back, too: a type whose moves do not disarm it.
struct loud {
  loud(int n, std::function<void()>* call) : on_destroy(call), number(std::make_unique<int>(n)) {}
  loud(loud&& other) noexcept : on_destroy(other.on_destroy), number(std::move(other.number)) {}
  loud& operator=(loud&&) = delete;
  ~loud() {
    if (on_destroy != nullptr) (*on_destroy)();
  }
  std::function<void()>* on_destroy;
  std::unique_ptr<int> number;
};

// the place of the value that is being destroyed is not used again before it is.
TEST(channel_reentrancy, a_destructor_may_receive_and_send_without_touching_the_value_that_dies) {
  for (std::uint32_t capacity = 1; capacity <= 4; ++capacity) {
    runtime rt;
    auto [code, tx, rx] = channel<loud>(rt.kernel(), rt.root(), capacity);
    ASSERT_EQ(code, status::ok);
    bool is_armed = false;
    std::vector<int> sent, got;
    int next = 2;
    std::function<void()> drain_and_fill = [&, &to = tx, &from = rx] {
      if (!std::exchange(is_armed, false)) return;
      for (int round = 0; round < 3; ++round) {
        while (to.try_send(loud(next, nullptr)).code == status::ok) sent.push_back(next++);
        const auto taken = from.try_recv();
        if (taken.code == status::ok) got.push_back(*taken.value->number);
      }
    };
    ASSERT_EQ(tx.try_send(loud(1, &drain_and_fill)).code, status::ok);
    is_armed = true;
    EXPECT_EQ(*rx.try_recv().value->number, 1);
    while (true) {
      const auto taken = rx.try_recv();
      if (taken.code != status::ok) break;
      got.push_back(*taken.value->number);
    }
    EXPECT_EQ(got, sent) << capacity;
    EXPECT_GE(sent.size(), 1U);
    // All room is back.
    for (std::uint32_t i = 0; i < capacity; ++i) EXPECT_EQ(tx.try_send(loud(9, nullptr)).code, status::ok);
    EXPECT_EQ(tx.try_send(loud(9, nullptr)).code, status::full);
  }
}

TEST(channel_reentrancy, a_destructor_may_close_the_region_while_the_receiver_is_dropped) {
  runtime rt;
  const region_handle region = must_open(rt, rt.root());
  auto [code, tx, rx] = channel<loud>(rt.kernel(), region, 4);
  ASSERT_EQ(code, status::ok);
  int calls = 0;
  bool is_armed = false;
  std::function<void()> close = [&] {
    if (is_armed && calls++ == 0) {
      EXPECT_EQ(rt.kernel().close(region), status::ok);
    }
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tx.try_send(loud(i, &close)).code, status::ok);
  is_armed = true;
  rx.drop();
  EXPECT_EQ(calls, 3) << "each value is destroyed once";
  EXPECT_EQ(tx.try_send(loud(1, nullptr)).code, status::disconnected);
}

TEST(channel_reentrancy, a_destructor_may_close_the_region_and_drop_the_sender_while_a_value_is_received) {
  runtime rt;
  const region_handle region = must_open(rt, rt.root());
  const std::uint64_t before = rt.kernel().nominal_used();
  auto [code, tx, rx] = channel<loud>(rt.kernel(), region, 2);
  ASSERT_EQ(code, status::ok);
  bool is_armed = false;
  std::function<void()> end_all = [&, &to = tx, &from = rx] {
    if (!std::exchange(is_armed, false)) return;
    EXPECT_EQ(rt.kernel().close(region), status::ok);
    EXPECT_EQ(from.try_recv().code, status::disconnected);
    to.drop();
  };
  EXPECT_EQ(tx.try_send(loud(1, &end_all)).code, status::ok);
  EXPECT_EQ(tx.try_send(loud(2, nullptr)).code, status::ok);
  is_armed = true;
  EXPECT_EQ(*rx.try_recv().value->number, 1);
  EXPECT_EQ(rx.try_recv().code, status::disconnected);
  EXPECT_LT(rt.kernel().nominal_used(), before) << "channel and region are gone";
}

// what a cleanup action takes is unwound as well.
TEST(channel_reentrancy, a_permit_that_a_cleanup_action_takes_comes_back) {
  runtime rt;  // Ends and permits go before it.
  struct world {
    sender<int> tx;
    receiver<int> rx;
    send_permit<int> permit;
  } w;
  actor a;
  auto ends = channel<int>(rt.kernel(), rt.root(), 1);
  w.tx = std::move(ends.tx);
  w.rx = std::move(ends.rx);
  a.body = [&w](cx& c) {
    const auto take = [](void* p) {
      auto& at = *static_cast<world*>(p);
      return at.tx.try_reserve(at.permit);
    };
    EXPECT_EQ(c.push_cleanup(take, &w), status::ok);
    return poll_result::ready;
  };
  must_spawn(rt, rt.root(), a);
  rt.run_until_idle();
  channel_report r;
  ASSERT_EQ(w.tx.inspect(r), status::ok);
  EXPECT_EQ(r.reserved, 0U);
  EXPECT_FALSE(w.permit.is_held());
}

TEST(channel_reentrancy, what_the_drop_of_a_task_takes_belongs_to_nobody) {
  runtime rt;  // Ends and permits go before it.
  struct world {
    sender<int> tx;
    receiver<int> rx;
    send_permit<int> permit;
  } w;
  auto ends = channel<int>(rt.kernel(), rt.root(), 1);
  w.tx = std::move(ends.tx);
  w.rx = std::move(ends.rx);
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(),
                              {.poll = [](void*, cx&) { return poll_result::ready; },
                               .context = &w,
                               .drop =
                                   [](void* p) noexcept {
                                     auto& at = *static_cast<world*>(p);
                                     EXPECT_EQ(at.tx.try_reserve(at.permit), status::ok);
                                   }},
                              t),
            status::ok);
  rt.run_until_idle();
  EXPECT_TRUE(w.permit.is_held());
  EXPECT_EQ(w.permit.send(5).code, status::ok);
  EXPECT_EQ(*w.rx.try_recv().value, 5);
}

// R-179, wherever the promise was made.
TEST(channel_reentrancy, a_promise_that_a_cleanup_action_makes_and_forgets_panics_its_task) {
  runtime rt;  // Ends and permits go before it.
  struct world {
    tracked_sender<int> tx;
    receiver<int> rx;
    tracked_permit<int> permit;
  } w;
  actor a;
  auto ends = channel<int>(rt.kernel(), rt.root(), 1);
  w.tx = tracked_sender<int>(std::move(ends.tx));
  w.rx = std::move(ends.rx);
  a.body = [&w](cx& c) {
    const auto take = [](void* p) {
      auto& at = *static_cast<world*>(p);
      return at.tx.try_reserve(at.permit);
    };
    EXPECT_EQ(c.push_cleanup(take, &w), status::ok);
    return poll_result::ready;
  };
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &a, .is_held = true}, t), status::ok);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(t, out), status::ok);
  ASSERT_TRUE(out.is_panicked());
  EXPECT_EQ(out.panic().text, tracked_leak_message);
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
}

// Aborting a promise may end the region that it kept open, and with it the channel.
TEST(channel_reentrancy, a_promise_that_is_aborted_may_take_the_channel_down) {
  struct world {
    kernel* k = nullptr;
    region_handle root;
    channel_ends<int> next;  // Made in the cell that the channel left.
  };
  runtime_config config;
  config.behaviour.leaks = leak_policy::hold;
  actor a;
  runtime rt(config);
  world w;
  tracked_sender<int> tx;
  receiver<int> rx;
  tracked_permit<int> permit;
  w.k = &rt.kernel();
  w.root = rt.root();
  region_handle outer;
  region_spec spec;
  spec.context = &w;
  spec.closed = [](void* p, region_handle) noexcept {
    auto& at = *static_cast<world*>(p);
    at.next = channel<int>(*at.k, at.root, 1);
  };
  ASSERT_EQ(rt.kernel().create_region(rt.root(), spec, outer), status::ok);
  const region_handle inner = must_open(rt, outer);
  const region_handle elsewhere = must_open(rt, rt.root());
  auto ends = channel<int>(rt.kernel(), outer, 1);
  tx = tracked_sender<int>(std::move(ends.tx));
  rx = std::move(ends.rx);
  bool is_first = true;
  a.body = [&](cx& c) {
    if (std::exchange(is_first, false)) {
      EXPECT_EQ(tx.try_reserve(inner, permit), status::ok);
    }
    if (c.checkpoint() != status::ok) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  };
  const task_handle t = must_spawn(rt, elsewhere, a);
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().close(outer), status::ok);
  ASSERT_EQ(rt.kernel().request_cancel(t), status::ok);
  rt.run_until_idle();
  EXPECT_FALSE(permit.is_held());
  EXPECT_EQ(w.next.code, status::ok);
  EXPECT_EQ(w.next.tx.try_send(1).code, status::ok);
}

// a task that has said its last word waits for its regions, not for a slot.
TEST(channel_reentrancy, a_task_that_is_leaving_does_not_stand_in_the_way) {
  runtime rt;  // Ends and permits go before it.
  struct world {
    sender<int> first, second;
    receiver<int> rx;
    reserve_wait waits[2];
    send_permit<int> permits[2];
    actor slow, leaving, next;
    task_handle slow_task;
    bool may_end = false;
    status got = status::empty;
  } w;
  auto ends = channel<int>(rt.kernel(), rt.root(), 1);
  w.first = w.second = ends.tx;
  w.rx = std::move(ends.rx);
  EXPECT_EQ(w.first.try_send(1).code, status::ok);
  w.slow.body = [&w](cx& c) {
    static_cast<void>(c.checkpoint());
    static_cast<void>(c.get_waker());
    return w.may_end ? poll_result::ready : poll_result::pending;
  };
  w.leaving.body = [&w](cx& c) {
    EXPECT_EQ(w.first.poll_reserve(c, w.waits[0], w.permits[0]), status::would_block);
    region_handle own;
    region_spec spec;
    spec.owner = c.handle();
    EXPECT_EQ(c.kernel().create_region(c.region(), spec, own), status::ok);
    EXPECT_EQ(c.kernel().spawn(own, {.poll = &actor::poll, .context = &w.slow}, w.slow_task), status::ok);
    return poll_result::ready;
  };
  w.next.body = [&w](cx& c) {
    w.got = w.second.poll_reserve(c, w.waits[1], w.permits[1]);
    return w.got == status::would_block ? poll_result::pending : poll_result::ready;
  };
  must_spawn(rt, rt.root(), w.leaving);
  rt.step();
  must_spawn(rt, rt.root(), w.next);
  for (int i = 0; i < 50; ++i) rt.step();
  EXPECT_EQ(w.rx.try_recv().code, status::ok);
  for (int i = 0; i < 50; ++i) rt.step();
  EXPECT_EQ(w.got, status::ok);
  w.may_end = true;
  rt.kernel().waker_of(w.slow_task).wake();
  rt.run_until_idle();
}

TEST(channel_reentrancy, over_aligned_values_do_not_wear_memory_down) {
  struct alignas(128) wide {  // With a move of its own it is passed by address, on every compiler.
    explicit wide(int n) noexcept : number(n) {}
    wide(wide&& other) noexcept : number(other.number) {}
    wide& operator=(wide&&) = delete;
    ~wide() = default;
    int number;
  };
  std::vector<std::byte> block(1 << 20);
  bump_memory memory(block);
  runtime_config config;
  config.contract = resource_contract::tiny();
  config.memory = memory.port();
  runtime rt(config);
  ASSERT_EQ(rt.start_status(), status::ok);
  for (int round = 0; round < 20'000; ++round) {
    auto ends = channel<wide>(rt.kernel(), rt.root(), 2);
    ASSERT_EQ(ends.code, status::ok) << round;
    ASSERT_EQ(ends.tx.try_send(wide{round}).code, status::ok);
  }
}

TEST(channel_reentrancy, limits_and_capacities_do_not_wrap) {
  resource_contract most;
  most.max_channels = UINT32_MAX;
  most.max_sync = 3;
  EXPECT_EQ(most.max_things(), UINT32_MAX);
  most.max_channels = UINT32_MAX - 4;
  EXPECT_EQ(most.max_things(), UINT32_MAX - 1);
  runtime rt;
  const std::uint64_t before = rt.kernel().state_hash();
  EXPECT_EQ(channel<int>(rt.kernel(), rt.root(), UINT32_MAX).code, status::resource_exhausted);
  EXPECT_EQ(rt.kernel().state_hash(), before);
}

// A message that does something when it is moved.
struct restless {
  explicit restless(std::function<void()>* call) : on_move(call) {}
  restless(restless&& other) noexcept : on_move(other.on_move) {
    if (on_move != nullptr && *on_move) std::exchange(*on_move, nullptr)();
  }
  restless& operator=(restless&&) = delete;
  ~restless() = default;
  std::function<void()>* on_move;
};

// both would have said ok, and one message would have lain on the other.
using channel_reentrancy_death_test = ::testing::Test;
TEST(channel_reentrancy_death_test, a_move_into_or_out_of_a_channel_that_uses_the_channel_is_found) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  runtime rt;
  auto [code, tx, rx] = channel<restless>(rt.kernel(), rt.root(), 4);
  ASSERT_EQ(code, status::ok);
  const char* const found = "the move of a message does not";
  std::function<void()> call;
  const auto sends = [&to = tx] { static_cast<void>(to.try_send(restless(nullptr))); };
  const auto receives = [&from = rx] { static_cast<void>(from.try_recv()); };
  const auto ends = [&from = rx] { from.drop(); };
  for (const std::function<void()>& deed : {std::function<void()>(sends), std::function<void()>(ends)}) {
    EXPECT_DEATH((call = deed, static_cast<void>(tx.try_send(restless(&call)))), found);
    EXPECT_DEATH((call = deed, static_cast<void>(tx.send_evict_oldest(restless(&call)))), found);
    send_permit<restless> permit;
    ASSERT_EQ(tx.try_reserve(permit), status::ok);
    EXPECT_DEATH((call = deed, static_cast<void>(permit.send(restless(&call)))), found);
  }
  ASSERT_EQ(tx.try_send(restless(&call)).code, status::ok);
  ASSERT_EQ(tx.try_send(restless(&call)).code, status::ok);
  EXPECT_DEATH((call = receives, static_cast<void>(rx.try_recv())), found);
}

#if defined(__cpp_exceptions)
// an exception elsewhere is no excuse.
TEST(channel_reentrancy, a_leak_is_a_leak_though_the_host_is_unwinding) {
  struct world {
    tracked_sender<int> tx;
    receiver<int> rx;
    actor a;
    runtime rt;
    task_handle t;
    ~world() {
      rt.run_until_idle();
      task_outcome out;
      EXPECT_EQ(rt.kernel().result(t, out), status::ok);
      EXPECT_TRUE(out.is_panicked());
      EXPECT_EQ(rt.kernel().release_task(t), status::ok);
      tx.drop();
      rx.drop();
    }
  };
  try {
    world w;
    auto ends = channel<int>(w.rt.kernel(), w.rt.root(), 1);
    w.tx = tracked_sender<int>(std::move(ends.tx));
    w.rx = std::move(ends.rx);
    w.a.body = [&w](cx& c) {
      reserve_wait wait;
      tracked_permit<int> permit;
      EXPECT_EQ(w.tx.poll_reserve(c, wait, permit), status::ok);
      return poll_result::ready;
    };
    ASSERT_EQ(w.rt.kernel().spawn(w.rt.root(), {.poll = &actor::poll, .context = &w.a, .is_held = true}, w.t),
              status::ok);
    throw 1;
  } catch (int) {
  }
}
#endif

}  // namespace
}  // namespace asx
