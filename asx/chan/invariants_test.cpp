// The ten invariants of channels by their ids, each in the smallest world that can break it. The fixtures and the model
// hold them everywhere else.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/runtime/testing/actor.hpp"

namespace asx {
namespace {

using testing::actor;

// A channel of one slot, taken by the host, and senders that wait for it in order.
struct queue_world {
  explicit queue_world(int senders)
      : ends(channel<int>(rt.kernel(), rt.root(), 1)), all(static_cast<std::size_t>(senders)) {
    EXPECT_EQ(ends.tx.try_reserve(taken), status::ok);
    for (std::size_t i = 0; i < all.size(); ++i) {
      one& o = all[i];
      o.tx = ends.tx;
      o.a.body = [this, &o, i](cx& c) {
        o.got = o.tx.poll_reserve(c, o.wait, o.permit);
        if (o.got == status::would_block) return poll_result::pending;
        if (o.got == status::ok) {
          order.push_back(static_cast<int>(i));
          EXPECT_EQ(o.permit.send(static_cast<int>(i)).code, status::ok);
        }
        return poll_result::ready;
      };
      EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &o.a}, o.task), status::ok);
    }
    rt.run_until_idle();
  }
  ~queue_world() { rt.shutdown(); }
  queue_world(const queue_world&) = delete;
  queue_world& operator=(const queue_world&) = delete;

  [[nodiscard]] channel_report look() const {
    channel_report r;
    EXPECT_EQ(ends.tx.inspect(r), status::ok);
    return r;
  }

  struct one {
    sender<int> tx;
    reserve_wait wait;
    send_permit<int> permit;
    actor a;
    task_handle task;
    status got = status::empty;
  };
  runtime rt;
  channel_ends<int> ends;
  send_permit<int> taken;
  std::vector<one> all;
  std::vector<int> order;
};

TEST(invariants, inv_ch_01_queued_and_reserved_together_never_exceed_the_capacity) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 3);
  ASSERT_EQ(code, status::ok);
  send_permit<int> a, b, c;
  EXPECT_EQ(tx.try_reserve(a), status::ok);
  EXPECT_EQ(tx.try_send(1).code, status::ok);
  EXPECT_EQ(tx.try_reserve(b), status::ok);
  EXPECT_EQ(tx.try_reserve(c), status::full);
  EXPECT_EQ(tx.try_send(2).code, status::full);
  channel_report r;
  ASSERT_EQ(rx.inspect(r), status::ok);
  EXPECT_EQ(r.queued + r.reserved, 3U);
}

TEST(invariants, inv_ch_02_messages_leave_in_the_order_of_their_commits) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 3);
  ASSERT_EQ(code, status::ok);
  send_permit<int> first, second;
  EXPECT_EQ(tx.try_reserve(first), status::ok);
  EXPECT_EQ(tx.try_reserve(second), status::ok);
  EXPECT_EQ(second.send(2).code, status::ok);
  EXPECT_EQ(tx.try_send(3).code, status::ok);
  EXPECT_EQ(first.send(1).code, status::ok);
  for (const int expected : {2, 3, 1}) EXPECT_EQ(*rx.try_recv().value, expected);
}

TEST(invariants, inv_ch_03_waiting_senders_are_served_in_the_order_of_their_ids) {
  queue_world w(4);
  EXPECT_EQ(w.look().waiters, 4U);
  w.taken.abort();
  for (int i = 0; i < 4; ++i) {
    w.rt.run_until_idle();
    EXPECT_EQ(*w.ends.rx.try_recv().value, i);
  }
  EXPECT_EQ(w.order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(invariants, inv_ch_04_try_reserve_says_full_while_anybody_waits) {
  queue_world w(1);
  w.taken.abort();  // Room, and the waiter has not been polled yet.
  send_permit<int> jumper;
  EXPECT_EQ(w.ends.tx.try_reserve(jumper), status::full);
  EXPECT_EQ(w.ends.tx.try_send(9).code, status::full);
  w.rt.run_until_idle();
  EXPECT_EQ(*w.ends.rx.try_recv().value, 0);
}

TEST(invariants, inv_ch_05_a_cancelled_reserve_holds_no_capacity) {
  queue_world w(2);
  ASSERT_EQ(w.rt.kernel().request_cancel(w.all[0].task), status::ok);
  w.rt.run_until_idle();
  EXPECT_EQ(w.all[0].got, status::cancelled);
  const channel_report r = w.look();
  EXPECT_EQ(r.queued + r.reserved, 1U) << "the host's";
  EXPECT_EQ(r.waiters, 1U);
  w.taken.abort();
  w.rt.run_until_idle();
  EXPECT_EQ(*w.ends.rx.try_recv().value, 1);
}

TEST(invariants, inv_ch_06_a_cancelled_receive_takes_nothing) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  EXPECT_EQ(tx.try_send(7).code, status::ok);
  status got = status::ok;
  actor a{[&from = rx, &got](cx& c) {
    got = from.poll_recv(c).code;
    return poll_result::ready;
  }};
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &a}, t), status::ok);
  ASSERT_EQ(rt.kernel().request_cancel(t), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(got, status::cancelled);
  EXPECT_EQ(*rx.try_recv().value, 7);
}

TEST(invariants, inv_ch_07_a_receiver_that_is_gone_stays_gone) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  rx.drop();
  sender<int> another = tx;
  receiver<int> none = std::move(rx);
  for (const sender<int>& s : {tx, another}) {
    channel_report r;
    ASSERT_EQ(s.inspect(r), status::ok);
    EXPECT_FALSE(r.has_receiver);
    EXPECT_EQ(r.state, channel_state::receiver_closed);
  }
  EXPECT_EQ(none.try_recv().code, status::stale_handle);
  EXPECT_EQ(another.try_send(1).code, status::disconnected);
}

TEST(invariants, inv_ch_08_a_channel_without_senders_gets_none_again) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  sender<int> second;
  EXPECT_EQ(tx.clone(second), status::ok);
  tx.drop();
  second.drop();
  sender<int> third;
  EXPECT_EQ(second.clone(third), status::stale_handle);
  EXPECT_FALSE(third.is_live());
  third = tx;  // A copy of a dead one is dead.
  channel_report r;
  ASSERT_EQ(rx.inspect(r), status::ok);
  EXPECT_EQ(r.senders, 0U);
  EXPECT_EQ(r.state, channel_state::sender_closed);
}

TEST(invariants, inv_ch_09_a_permit_that_goes_away_gives_its_slot_back_and_wakes_the_next) {
  queue_world w(1);
  {
    const send_permit<int> dying = std::move(w.taken);
  }
  w.rt.run_until_idle();
  EXPECT_EQ(w.all[0].got, status::ok);
}

TEST(invariants, inv_ch_10_a_tracked_permit_that_goes_away_is_a_panic) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  tracked_sender<int> tracked(tx);
  actor a{[&tracked](cx&) {
    tracked_permit<int> forgotten;
    EXPECT_EQ(tracked.try_reserve(forgotten), status::ok);
    return poll_result::ready;
  }};
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &a, .is_held = true}, t), status::ok);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(t, out), status::ok);
  ASSERT_TRUE(out.is_panicked());
  EXPECT_EQ(out.panic().text, tracked_leak_message);
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
}

}  // namespace
}  // namespace asx
