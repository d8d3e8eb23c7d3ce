// The channel's face, seen by somebody who uses it: one sentence a test. The laws are in fixtures_test, rulings_test
// and channel_model_test.
#include "asx/chan/mpsc.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

TEST(mpsc, carries_values_from_one_task_to_another_in_order) {
  struct world {
    sender<int> tx;
    receiver<int> rx;
    reserve_wait waiting;
    int next = 1;
    std::vector<int> got;
  } w;
  runtime rt;
  auto ends = channel<int>(rt.kernel(), rt.root(), 2, "numbers");
  ASSERT_EQ(ends.code, status::ok);
  w.tx = std::move(ends.tx);
  w.rx = std::move(ends.rx);
  task_handle t;
  const auto produce = [](void* p, cx& c) {
    auto& at = *static_cast<world*>(p);
    while (at.next <= 10) {
      send_permit<int> permit;
      const status s = at.tx.poll_reserve(c, at.waiting, permit);
      if (s == status::would_block) return poll_result::pending;
      if (s != status::ok || permit.send(at.next).code != status::ok) return poll_result::error;
      ++at.next;
    }
    at.tx.drop();
    return poll_result::ready;
  };
  const auto consume = [](void* p, cx& c) {
    auto& at = *static_cast<world*>(p);
    for (;;) {
      const recv_result<int> r = at.rx.poll_recv(c);
      if (r.code == status::would_block) return poll_result::pending;
      if (r.code == status::disconnected) return poll_result::ready;
      at.got.push_back(*r.value);
    }
  };
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = produce, .context = &w, .name = "producer"}, t), status::ok);
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = consume, .context = &w, .name = "consumer"}, t), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.got, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  w.rx.drop();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

// Speaks when it is destroyed, moved from or not.
struct echo {
  explicit echo(std::function<void()>& what) noexcept : say(&what) {}
  echo(echo&& other) noexcept : say(other.say) {}
  echo& operator=(echo&&) = delete;
  ~echo() {
    if (*say) std::exchange(*say, nullptr)();
  }
  std::function<void()>* say;
};

TEST(mpsc, a_value_that_goes_may_close_the_region_and_drop_or_copy_a_sender) {
  for (const bool copies : {false, true}) {
    std::function<void()> last;
    runtime rt;
    region_handle in;
    ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, in), status::ok);
    auto ends = channel<echo>(rt.kernel(), in, 2);
    ASSERT_EQ(ends.code, status::ok);
    EXPECT_EQ(ends.tx.try_send(echo(last)).code, status::ok);
    const std::uint64_t bytes = rt.kernel().nominal_used();
    last = [&] {
      EXPECT_EQ(rt.kernel().close(in), status::ok);
      if (copies) {
        sender<echo> copy = ends.tx;
      } else {
        ends.tx.drop();
      }
    };
    EXPECT_EQ(ends.rx.try_recv().code, status::ok);
    EXPECT_LT(rt.kernel().nominal_used(), bytes) << "its storage is free";
    EXPECT_EQ(ends.tx.try_send(echo(last)).code, copies ? status::disconnected : status::stale_handle);
  }
}

TEST(mpsc, hands_back_what_it_cannot_deliver) {
  runtime rt;
  auto [code, tx, rx] = channel<std::unique_ptr<int>>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  EXPECT_EQ(tx.try_send(std::make_unique<int>(1)).code, status::ok);
  auto full = tx.try_send(std::make_unique<int>(2));
  EXPECT_EQ(full.code, status::full);
  ASSERT_TRUE(full.value.has_value());
  EXPECT_EQ(**full.value, 2);
  auto evicted = tx.send_evict_oldest(std::move(*full.value));
  EXPECT_EQ(evicted.code, status::ok);
  EXPECT_EQ(**evicted.evicted, 1);
  rx.drop();
  auto gone = tx.try_send(std::make_unique<int>(3));
  EXPECT_EQ(gone.code, status::disconnected);
  EXPECT_EQ(**gone.value, 3);
}

TEST(mpsc, tells_depth_capacity_and_the_derived_state_from_both_ends) {
  runtime rt;
  const auto expect = [](const auto& end, std::uint32_t depth, std::uint32_t capacity, channel_state state) {
    EXPECT_EQ(end.depth(), depth);
    EXPECT_EQ(end.capacity(), capacity);
    EXPECT_EQ(end.state(), state);
  };
  {
    auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 3);
    ASSERT_EQ(code, status::ok);
    send_permit<int> permit;
    EXPECT_EQ(tx.try_send(1).code, status::ok);
    EXPECT_EQ(tx.try_reserve(permit), status::ok);
    expect(tx, 1, 3, channel_state::open);
    expect(rx, 1, 3, channel_state::open);
    tx.drop();
    expect(rx, 1, 3, channel_state::sender_closed);
    expect(tx, 0, 0, channel_state::fully_closed);
    EXPECT_EQ(permit.send(2).code, status::ok);
    expect(rx, 2, 3, channel_state::sender_closed);
  }
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 3);
  ASSERT_EQ(code, status::ok);
  EXPECT_EQ(tx.try_send(1).code, status::ok);
  rx.drop();
  expect(tx, 0, 3, channel_state::receiver_closed);
}

}  // namespace
}  // namespace asx
