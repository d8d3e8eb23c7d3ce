// asx/chan/many_rulings_test.cpp - several messages in one turn of a sender, and in one receive.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "asx/chan/testing/near.hpp"
#include "asx/chan/testing/puppets.hpp"

namespace asx {
namespace {

using testing::attempt;
using testing::batch;
using testing::channel_scene;
using testing::drain;
using testing::fill;
using testing::last_words;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::poll_recv;
using testing::poll_recv_many;
using testing::poll_send_many;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::told_wakes;
using kinds = std::vector<event_kind>;
using ints = std::vector<int>;

runtime_config with_waiters(std::uint32_t most) {
  runtime_config out = puppet_config();
  out.contract.max_channel_waiters = most;
  return out;
}

// ---- a turn -------------------------------------------------------------------------------------------------------

TEST(channel_many, r320_a_list_is_queued_first_to_last) {
  channel_scene x(6);
  fill(x.ch.tx, {1});
  batch<> list({2, 3, 4, 5});
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_TRUE(list.rest.empty());
  EXPECT_EQ(look(x.ch.tx).waiters, 0U);
  fill(x.ch.tx, {6});
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2, 3, 4, 5, 6}));
}

TEST(channel_many, r320_it_is_polled_until_the_list_is_empty) {
  for (std::uint32_t capacity = 1; capacity <= 5; ++capacity) {
    channel_scene x(capacity);
    ints all, got;
    for (int i = 0; i < 17; ++i) all.push_back(i);
    batch<> list(all);
    std::size_t polls = 1;
    for (; x.send(x.a, list) == status::would_block && polls < 100; ++polls) {
      EXPECT_EQ(list.wait.id(), polls) << "a new id for each turn";
      EXPECT_EQ(look(x.ch.tx).queued, capacity) << "a turn uses all the room that is there";
      for (const int v : drain(x.ch.rx)) got.push_back(v);
      EXPECT_TRUE(x.s.is_woken(x.a));
    }
    EXPECT_EQ(list.code, status::ok);
    EXPECT_EQ(polls, (17 + capacity - 1) / capacity);
    for (const int v : drain(x.ch.rx)) got.push_back(v);
    EXPECT_EQ(got, all);
  }
}

TEST(channel_many, r320_a_turn_queues_as_many_as_there_are_free_slots) {
  channel_scene x(4);
  fill(x.ch.tx, {1});
  send_permit<int> held = must_reserve(x.ch.tx);
  batch<> list({2, 3, 4, 5});
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(list.left(), (ints{4, 5})) << "a reserved slot is not free";
  EXPECT_EQ(look(x.ch.tx).queued, 3U);
  EXPECT_EQ(look(x.ch.tx).reserved, 1U);
  held.abort();
  EXPECT_TRUE(x.s.is_woken(x.a));
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(list.left(), (ints{5}));
  EXPECT_EQ(x.send(x.a, list), status::would_block) << "asked again without room it keeps its place";
  EXPECT_EQ(list.wait.id(), 2U);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2, 3, 4}));
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{5}));
}

TEST(channel_many, r320_the_last_slot_is_enough_for_a_list_of_one) {
  channel_scene x(1);
  batch<> one({1}), two({2, 3});
  EXPECT_EQ(x.send(x.a, one), status::ok);
  EXPECT_EQ(look(x.ch.tx).waiters, 0U);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(x.send(x.a, two), status::would_block);
  EXPECT_EQ(two.left(), (ints{3}));
  EXPECT_EQ(x.ch.rx.try_recv().value, 2);
}

TEST(channel_many, r320_messages_may_be_such_that_can_only_be_moved) {
  using value = std::unique_ptr<int>;
  puppet_stage s;
  auto ch = open_channel<value>(s, 2);
  puppet& a = s.task();
  std::vector<value> values, got;
  for (int i = 1; i <= 3; ++i) values.push_back(std::make_unique<int>(i));
  const int* const third = values[2].get();
  batch<value> list(std::move(values));
  EXPECT_EQ(poll_send_many(s, a, ch.tx, list), status::would_block);
  EXPECT_TRUE(list.all[0] == nullptr && list.all[1] == nullptr);
  EXPECT_EQ(list.all[2].get(), third) << "what was not queued was not touched";
  EXPECT_EQ(poll_recv_many(s, a, ch.rx, 5, got), status::ok);
  EXPECT_EQ(poll_send_many(s, a, ch.tx, list), status::ok);
  EXPECT_EQ(poll_recv_many(s, a, ch.rx, 5, got), status::ok);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(*got[0] == 1 && *got[1] == 2 && got[2].get() == third);
}

// ---- nobody passes, and nobody is passed --------------------------------------------------------------------------

TEST(channel_many, r320_a_list_that_comes_later_waits_behind_those_who_wait) {
  channel_scene x(3);
  fill(x.ch.tx, {1, 2, 3});
  attempt<> first;
  batch<> list({4, 5});
  EXPECT_EQ(x.reserve(x.a, first), status::would_block);
  EXPECT_EQ(drain(x.ch.rx).size(), 3U);
  EXPECT_EQ(x.send(x.b, list), status::would_block) << "three slots are free, and a is the head";
  EXPECT_EQ(list.sent(), 0U);
  EXPECT_EQ(list.wait.id(), 2U);
  EXPECT_EQ(look(x.ch.tx).queued, 0U);
  x.mark();
  EXPECT_EQ(x.reserve(x.a, first), status::ok);
  EXPECT_EQ(x.woken(), (told_wakes{{x.b.number, wake_code::slot}}));
  EXPECT_EQ(x.send(x.b, list), status::ok);
}

TEST(channel_many, r320_while_a_list_waits_free_room_is_its_own) {
  channel_scene x(2);
  batch<> list({1, 2, 3});
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2}));
  send_permit<int> permit;
  attempt<> late;
  EXPECT_EQ(x.ch.tx.try_reserve(permit), status::full);
  EXPECT_EQ(x.ch.tx.try_send(9).code, status::full);
  EXPECT_EQ(x.ch.tx.send_evict_oldest(9).code, status::full);
  EXPECT_EQ(x.reserve(x.b, late), status::would_block);
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(x.ch.tx.try_reserve(permit), status::full) << "now it is b's";
  EXPECT_EQ(x.reserve(x.b, late), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{3}));
}

TEST(channel_many, r320_what_is_left_waits_with_a_new_id_at_the_back) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  batch<> list({2, 3});
  attempt<> second, third;
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.reserve(x.b, second), status::would_block);
  EXPECT_EQ(x.reserve(x.d, third), status::would_block);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(list.left(), (ints{3}));
  EXPECT_EQ(list.wait.id(), 4U);
  EXPECT_EQ(look(x.ch.tx).first_waiter, 2U);
  EXPECT_EQ(look(x.ch.tx).waiters, 3U);
  EXPECT_EQ(x.woken(), told_wakes{}) << "no slot is left to be told of";
  EXPECT_EQ(x.ch.rx.try_recv().value, 2);
  EXPECT_EQ(x.woken(), (told_wakes{{x.b.number, wake_code::slot}}));
  EXPECT_EQ(x.reserve(x.b, second), status::ok);
  second.permit.abort();
  EXPECT_EQ(x.send(x.a, list), status::would_block) << "the free slot is the third one's";
  EXPECT_EQ(x.reserve(x.d, third), status::ok);
  third.permit.abort();
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{3}));
}

TEST(channel_many, r320_the_wake_is_handed_on_once_after_the_last_message_if_a_slot_is_left) {
  for (const std::size_t length : {1U, 2U, 3U}) {
    channel_scene x(3);
    fill(x.ch.tx, {1, 2, 3});
    batch<> list(ints(length, 7));
    attempt<> second, third;
    EXPECT_EQ(x.send(x.a, list), status::would_block);
    EXPECT_EQ(x.reserve(x.b, second), status::would_block);
    EXPECT_EQ(x.reserve(x.d, third), status::would_block);
    x.mark();
    EXPECT_EQ(drain(x.ch.rx).size(), 3U);
    EXPECT_EQ(x.woken(), (told_wakes{{x.a.number, wake_code::slot}})) << "only the head";
    x.mark();
    EXPECT_EQ(x.send(x.a, list), status::ok);
    if (length == 3) {
      EXPECT_EQ(x.woken(), told_wakes{});
      continue;
    }
    EXPECT_EQ(x.woken(), (told_wakes{{x.b.number, wake_code::slot}})) << length;
    EXPECT_GT(x.told(event_kind::task_woken).back().seq, x.told(event_kind::permit_sent).back().seq);
    EXPECT_EQ(x.reserve(x.b, second), status::ok);
    EXPECT_EQ(x.s.is_woken(x.d), length == 1) << "who is served next hands it on (R-61)";
  }
}

TEST(channel_many, r320_it_is_the_same_wait_as_that_for_a_slot) {
  channel_scene x(1);
  sender<int> clone = x.ch.tx;
  fill(x.ch.tx, {1});
  batch<> list({2});
  attempt<> behind;
  send_permit<int> permit;
  status code = status::ok;
  const auto reserve = [&](sender<int>& tx) {
    x.s.act(x.a, [&](cx& c) { code = tx.poll_reserve(c, list.wait, permit); });
    return code;
  };
  EXPECT_EQ(reserve(x.ch.tx), status::would_block);
  EXPECT_EQ(x.reserve(x.b, behind), status::would_block);
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(list.wait.id(), 1U) << "it keeps its place (R-60)";
  EXPECT_EQ(reserve(x.ch.tx), status::would_block);
  EXPECT_EQ(list.wait.id(), 1U);
  EXPECT_EQ(x.send(x.b, list), status::would_block);
  EXPECT_EQ(list.wait.id(), 1U) << "whoever polls it (R-238)";
  EXPECT_EQ(look(x.ch.tx).waiters, 2U);
  EXPECT_EQ(poll_send_many(x.s, x.a, clone, list), status::would_block);
  EXPECT_EQ(list.wait.id(), 3U) << "another sender begins anew, at the back (R-238)";
  EXPECT_EQ(look(x.ch.tx).first_waiter, 2U);
  behind.wait.leave();
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(reserve(clone), status::ok);
  EXPECT_FALSE(list.wait.is_waiting());
  EXPECT_EQ(list.left(), (ints{2}));
}

// ---- what it says -------------------------------------------------------------------------------------------------

TEST(channel_many, r320_each_message_takes_the_next_permit_number_and_is_told_by_permit_sent) {
  channel_scene x(5);
  send_permit<int> held = must_reserve(x.ch.tx);
  fill(x.ch.tx, {1});
  batch<> list({2, 3, 4});
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(x.told(), kinds(3, event_kind::permit_sent));
  const std::vector<event> sent = x.told(event_kind::permit_sent);
  for (std::uint64_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].subject, look(x.ch.tx).id.value);
    EXPECT_EQ(sent[i].object, x.a.number);
    EXPECT_EQ(sent[i].a, 3 + i);
    EXPECT_EQ(sent[i].b, pack(2 + i, 1)) << "queued and reserved after each (R-235)";
  }
  EXPECT_EQ(held.send(5).code, status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2, 3, 4, 5}));
  EXPECT_EQ(must_reserve(x.ch.tx).number(), 6U);
}

TEST(channel_many, r320_who_waited_is_told_to_be_served_before_the_first) {
  using enum event_kind;
  channel_scene x(2);
  batch<> list({1, 2, 3, 4, 5});
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.told(), (kinds{permit_sent, permit_sent, send_waiter_added}));
  EXPECT_EQ(drain(x.ch.rx).size(), 2U);
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.told(), (kinds{send_waiter_removed, permit_sent, permit_sent, send_waiter_added}));
  EXPECT_EQ(x.how_it_left(), leave_code::served);
  EXPECT_EQ(x.told(send_waiter_removed)[0].a, 1U);
  EXPECT_EQ(x.told(send_waiter_added)[0].a, 2U);
  EXPECT_EQ(x.told(send_waiter_added)[0].b, 1U);
  EXPECT_EQ(drain(x.ch.rx).size(), 2U);
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(x.told(), (kinds{send_waiter_removed, permit_sent}));
}

TEST(channel_many, r320_the_receiver_is_woken_by_the_first) {
  channel_scene x(3);
  EXPECT_EQ(poll_recv(x.s, x.d, x.ch.rx), status::would_block);
  batch<> list({1, 2, 3});
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(x.woken(), (told_wakes{{x.d.number, wake_code::message}}));
  EXPECT_FALSE(look(x.ch.rx).is_receiver_waiting);
  const std::uint64_t woken = x.told(event_kind::task_woken).back().seq;
  EXPECT_GT(woken, x.told(event_kind::permit_sent)[0].seq);
  EXPECT_LT(woken, x.told(event_kind::permit_sent)[1].seq);
}

TEST(channel_many, r320_what_was_queued_adds_up) {
  channel_scene x(2);
  batch<> list({1, 2, 3, 4, 5});
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(look(x.ch.tx).counts.reserved, 2U) << "a poll that queues nothing counts nothing (R-234)";
  ints got;
  EXPECT_EQ(x.recv(x.b, 2, got), status::ok);
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.ch.tx.send_evict_oldest(9).evicted, 3);
  x.ch.rx.drop();
  EXPECT_EQ(x.send(x.a, list), status::disconnected);
  const channel_counts now = look(x.ch.tx).counts;
  EXPECT_EQ(now.reserved, 5U);
  EXPECT_TRUE(now.sent == 5 && now.aborted == 0);
  EXPECT_TRUE(now.received == 2 && now.evicted == 1 && now.discarded == 2);
}

// ---- other answers ------------------------------------------------------------------------------------------------

TEST(channel_many, r320_it_answers_in_the_order_of_poll_reserve) {
  channel_scene x(1, with_waiters(0));
  fill(x.ch.tx, {1});
  sender<int> dead;
  batch<> list({2, 3});
  EXPECT_EQ(x.send(x.a, list), status::resource_exhausted);
  x.ch.rx.drop();
  EXPECT_EQ(x.send(x.a, list), status::disconnected);
  EXPECT_EQ(x.s.k.request_cancel(x.a.handle), status::ok);
  EXPECT_EQ(poll_send_many(x.s, x.a, dead, list), status::stale_handle);
  EXPECT_EQ(x.s.report(x.a).state, task_state::cancel_requested) << "a dead sender asks no checkpoint";
  EXPECT_EQ(x.send(x.a, list), status::cancelled);
  EXPECT_EQ(x.s.report(x.a).state, task_state::cancelling) << "a cancel point";
  EXPECT_EQ(list.left(), (ints{2, 3}));
}

TEST(channel_many, r320_a_list_cancelled_in_the_middle_leaves_the_rest_in_order) {
  channel_scene x(2);
  batch<> list({1, 2, 3, 4});
  attempt<> behind;
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.reserve(x.b, behind), status::would_block);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_TRUE(x.s.is_woken(x.a)) << "the slot is a's, and the cancel comes before the poll that would take it";
  EXPECT_EQ(x.s.k.request_cancel(x.a.handle), status::ok);
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::cancelled);
  EXPECT_EQ(x.how_it_left(), leave_code::cancelled);
  EXPECT_EQ(list.left(), (ints{3, 4}));
  EXPECT_EQ(x.woken(), (told_wakes{{x.b.number, wake_code::slot}})) << "the slot is passed on";
  EXPECT_EQ(drain(x.ch.rx), (ints{2})) << "what was queued stays";
}

TEST(channel_many, r320_a_receiver_that_goes_in_the_middle_leaves_the_rest_in_order) {
  channel_scene x(2);
  batch<> list({1, 2, 3, 4});
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  x.ch.rx.drop();
  EXPECT_TRUE(x.s.is_woken(x.a));
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::disconnected);
  EXPECT_EQ(x.how_it_left(), leave_code::disconnected);
  EXPECT_EQ(list.left(), (ints{3, 4}));
  EXPECT_EQ(look(x.ch.tx).counts.discarded, 2U);
}

TEST(channel_many, r320_a_channel_sender_or_task_that_goes_in_the_middle_leaves_the_rest_in_order) {
  channel_scene x(1);
  const region_handle r = x.s.region();
  auto taken_down = open_channel(x.s, r, 1);
  sender<int> dropped = x.ch.tx;
  batch<> first({1, 2}), second({3, 4}), third({5, 6});
  EXPECT_EQ(poll_send_many(x.s, x.a, taken_down.tx, first), status::would_block);
  EXPECT_EQ(x.s.k.close(r), status::ok);
  EXPECT_EQ(poll_send_many(x.s, x.a, taken_down.tx, first), status::disconnected);
  EXPECT_EQ(first.left(), (ints{2}));
  EXPECT_EQ(poll_send_many(x.s, x.a, dropped, second), status::would_block);
  dropped.drop();
  EXPECT_TRUE(x.s.is_woken(x.a));
  EXPECT_EQ(poll_send_many(x.s, x.a, dropped, second), status::stale_handle);
  EXPECT_EQ(second.left(), (ints{4}));
  EXPECT_EQ(x.send(x.b, third), status::would_block);
  x.s.finish(x.b);
  EXPECT_FALSE(third.wait.is_waiting()) << "R-237";
  EXPECT_EQ(third.left(), (ints{5, 6}));
  EXPECT_EQ(drain(x.ch.rx), (ints{3}));
}

TEST(channel_many, r320_an_empty_list_asks_the_checkpoint_and_for_the_receiver) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  sender<int> dead;
  attempt<> waits;
  batch<> nothing({});
  EXPECT_EQ(x.reserve(x.b, waits), status::would_block);
  x.mark();
  EXPECT_EQ(x.send(x.a, nothing), status::ok) << "it has no turn to wait for";
  EXPECT_EQ(poll_send_many(x.s, x.a, dead, nothing), status::stale_handle);
  EXPECT_EQ(x.told(), kinds{});
  EXPECT_EQ(x.woken(), told_wakes{});
  EXPECT_EQ(look(x.ch.tx).counts.reserved, 1U);
  x.ch.rx.drop();
  EXPECT_EQ(x.send(x.a, nothing), status::disconnected);
  EXPECT_EQ(x.s.k.request_cancel(x.a.handle), status::ok);
  EXPECT_EQ(x.send(x.a, nothing), status::cancelled);
}

TEST(channel_many, r320_the_wait_of_a_list_that_became_empty_leaves_as_one_that_is_dropped) {
  channel_scene x(1);
  batch<> list({1, 2});
  attempt<> behind;
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(x.reserve(x.b, behind), status::would_block);
  EXPECT_EQ(drain(x.ch.rx), (ints{1}));
  list.rest = list.rest.subspan(1);
  x.mark();
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(x.told(), (kinds{event_kind::send_waiter_removed}));
  EXPECT_EQ(x.how_it_left(), leave_code::dropped);
  EXPECT_EQ(x.woken(), (told_wakes{{x.b.number, wake_code::slot}}));
}

TEST(channel_many, r320_a_list_that_does_not_fit_the_limit_of_waiters_is_refused_after_its_turn) {
  channel_scene x(2, with_waiters(0));
  batch<> list({1, 2, 3});
  EXPECT_EQ(x.send(x.a, list), status::resource_exhausted);
  EXPECT_EQ(list.left(), (ints{3}));
  const std::vector<event> refused = x.told(event_kind::refused_slot);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(low_half(refused[0].a), static_cast<std::uint32_t>(status::resource_exhausted));
  EXPECT_EQ(high_half(refused[0].a), static_cast<std::uint32_t>(limit_code::channel_waiters));
  EXPECT_GT(refused[0].seq, x.told(event_kind::permit_sent).back().seq);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2}));
  EXPECT_EQ(x.send(x.a, list), status::ok) << "what fits needs no place to wait";
}

TEST(channel_many, r320_a_list_that_waited_keeps_a_place_within_the_limit) {
  channel_scene x(1, with_waiters(1));
  batch<> list({1, 2, 3}), other({9});
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(drain(x.ch.rx), (ints{1}));
  EXPECT_EQ(x.send(x.b, other), status::resource_exhausted) << "a slot is free, but not b's turn";
  EXPECT_EQ(other.sent(), 0U);
  EXPECT_EQ(x.send(x.a, list), status::would_block) << "it left the place that it takes";
  EXPECT_EQ(list.left(), (ints{3}));
  EXPECT_EQ(x.told(event_kind::refused_slot).size(), 1U);
}

// ---- a trace that rejects -----------------------------------------------------------------------------------------

/// Does the deed in a poll while the trace has room for `room` events, for more and more room.
void with_every_room(std::uint32_t capacity, const std::function<void(channel_scene&)>& before,
                     const std::function<void(channel_scene&, cx&)>& deed) {
  for (std::uint64_t room = 0; room < 16; ++room) {
    SCOPED_TRACE(room);
    runtime_config config = puppet_config();
    config.contract.overflow = trace_overflow::reject;
    config.contract.max_trace_events = 1024;
    channel_scene x(capacity, config);
    before(x);
    x.s.act(x.a, [&](cx& c) {
      journal& log = x.s.rt.journal();
      while (log.reserve(room + 1) == status::ok) {  // asx: bounded by the room of the trace
        log.append_text(text_code::note, type_tag::task, 1, "x");
      }
      EXPECT_EQ(log.reserve(room), status::ok);
      x.mark();
      deed(x, c);
      log.discard_oldest(log.size());
    });
  }
}

TEST(channel_many, r320_a_trace_that_rejects_needs_room_for_all_that_a_turn_says) {
  std::array<int, 2> met{};
  batch<> list({});
  attempt<> behind;
  const auto wait = [&](channel_scene& x) {
    list = batch<>({1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(x.send(x.a, list), status::would_block);
    EXPECT_EQ(x.reserve(x.b, behind), status::would_block);
    EXPECT_EQ(drain(x.ch.rx), (ints{1, 2, 3}));
  };
  with_every_room(3, wait, [&](channel_scene& x, cx& c) {
    list.code = x.ch.tx.poll_send_many(c, list.wait, list.rest);
    const bool has_turn = list.code == status::would_block;
    EXPECT_TRUE(has_turn || list.code == status::resource_exhausted);
    EXPECT_EQ(list.left(), (has_turn ? ints{7} : ints{4, 5, 6, 7})) << "all that there is room for, or nothing";
    EXPECT_EQ(look(x.ch.tx).queued, has_turn ? 3U : 0U);
    EXPECT_EQ(look(x.ch.tx).waiters, has_turn ? 2U : 1U);
    EXPECT_EQ(list.wait.is_waiting(), has_turn);
    EXPECT_EQ(x.told(event_kind::permit_sent).size(), look(x.ch.tx).queued) << "and all of it is told";
    EXPECT_TRUE(!has_turn || x.s.rt.journal().overwritten() == 0);
    EXPECT_TRUE(has_turn || x.told().empty() || x.how_it_left() == leave_code::dropped);
    EXPECT_TRUE(has_turn || x.s.is_woken(x.b)) << "a waiter that leaves hands the slot on";
    ++met[has_turn ? 1 : 0];
  });
  EXPECT_GE(met[0], 5) << "one that leaves, three that are sent, one that waits";
  EXPECT_GE(met[1], 1);
}

TEST(channel_many, r321_a_trace_that_is_full_after_some_messages_ends_it_there) {
  std::array<int, 4> met{};
  const auto queue = [](channel_scene& x) { fill(x.ch.tx, {1, 2, 3}); };
  with_every_room(3, queue, [&](channel_scene& x, cx& c) {
    ints got;
    std::uint32_t taken = UINT32_MAX;
    const status code = x.ch.rx.poll_recv_many(c, 9, [&](int&& value) { got.push_back(value); }, taken);
    EXPECT_EQ(code, got.empty() ? status::resource_exhausted : status::ok);
    EXPECT_EQ(taken, got.size());
    EXPECT_EQ(x.told(event_kind::message_received).size(), got.size()) << "each is told";
    EXPECT_EQ(x.s.rt.journal().overwritten(), 0U);
    EXPECT_EQ(look(x.ch.tx).queued, 3 - got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {  // asx: bounded by what was received
      EXPECT_EQ(got[i], static_cast<int>(i) + 1);
    }
    ++met[got.size()];
  });
  for (const int times : met) EXPECT_GT(times, 0);
}

// ---- a receive of several -----------------------------------------------------------------------------------------

TEST(channel_many, r321_it_takes_the_oldest_up_to_the_number) {
  channel_scene x(6);
  fill(x.ch.tx, {1, 2, 3, 4, 5});
  ints got;
  EXPECT_EQ(x.recv(x.a, 3, got), status::ok);
  EXPECT_EQ(got, (ints{1, 2, 3}));
  fill(x.ch.tx, {6});
  EXPECT_EQ(x.recv(x.a, 1, got), status::ok);
  EXPECT_EQ(x.recv(x.a, UINT32_MAX, got), status::ok);
  EXPECT_EQ(got, (ints{1, 2, 3, 4, 5, 6}));
}

TEST(channel_many, r321_it_takes_at_least_one_and_never_waits_for_the_second) {
  channel_scene x(2);
  ints got;
  EXPECT_EQ(x.recv(x.a, 5, got), status::would_block);
  EXPECT_TRUE(look(x.ch.rx).is_receiver_waiting);
  fill(x.ch.tx, {1});
  EXPECT_TRUE(x.s.is_woken(x.a));
  EXPECT_EQ(x.recv(x.a, 5, got), status::ok);
  EXPECT_EQ(got, (ints{1}));
  EXPECT_FALSE(look(x.ch.rx).is_receiver_waiting) << "only would_block leaves a waker (R-168)";
}

TEST(channel_many, r321_a_number_of_0_counts_as_1) {
  channel_scene x(2);
  fill(x.ch.tx, {1, 2});
  ints got;
  EXPECT_EQ(x.recv(x.a, 0, got), status::ok);
  EXPECT_EQ(got, (ints{1}));
}

TEST(channel_many, r321_it_answers_as_poll_recv) {
  channel_scene x(3);
  receiver<int> dead;
  ints got;
  send_permit<int> held = must_reserve(x.ch.tx);
  fill(x.ch.tx, {1, 2});
  x.ch.tx.drop();
  EXPECT_EQ(x.s.k.request_cancel(x.b.handle), status::ok);
  EXPECT_EQ(poll_recv_many(x.s, x.b, dead, 2, got), status::stale_handle);
  EXPECT_EQ(x.s.report(x.b).state, task_state::cancel_requested);
  EXPECT_EQ(x.recv(x.b, 2, got), status::cancelled);
  EXPECT_EQ(x.s.report(x.b).state, task_state::cancelling) << "a cancel point";
  EXPECT_EQ(look(x.ch.rx).queued, 2U) << "a cancelled receive has consumed nothing (INV-CH-06)";
  EXPECT_EQ(x.recv(x.a, 5, got), status::ok);
  EXPECT_EQ(x.recv(x.a, 5, got), status::would_block) << "a permit counts as a sender (R-59)";
  EXPECT_EQ(held.send(3).code, status::ok);
  EXPECT_EQ(x.recv(x.a, 5, got), status::ok);
  EXPECT_EQ(x.recv(x.a, 5, got), status::disconnected);
  EXPECT_EQ(got, (ints{1, 2, 3}));
}

TEST(channel_many, r321_each_is_told_and_the_waiting_head_is_woken) {
  channel_scene x(3);
  fill(x.ch.tx, {1, 2, 3});
  attempt<> first;
  batch<> second({8, 9});
  EXPECT_EQ(x.reserve(x.a, first), status::would_block);
  EXPECT_EQ(x.send(x.b, second), status::would_block);
  ints got;
  x.mark();
  EXPECT_EQ(x.recv(x.d, 3, got), status::ok);
  EXPECT_EQ(x.told(), kinds(3, event_kind::message_received));
  const std::vector<event> received = x.told(event_kind::message_received);
  for (std::uint64_t i = 0; i < received.size(); ++i) {
    EXPECT_EQ(received[i].a, i + 1);
    EXPECT_EQ(received[i].b, pack(2 - i, 0)) << "its slot came back";
    EXPECT_EQ(received[i].object, x.d.number);
  }
  EXPECT_EQ(x.woken(), (told_wakes{{x.a.number, wake_code::slot}})) << "the head, and once (R-173)";
  EXPECT_LT(x.told(event_kind::task_woken).back().seq, received[1].seq) << "as for any receive (R-61)";
  EXPECT_EQ(look(x.ch.rx).counts.received, 3U);
  EXPECT_EQ(x.reserve(x.a, first), status::ok);
  EXPECT_EQ(x.send(x.b, second), status::ok) << "two slots are left for it";
}

// a message that is not moved away dies in the receive, when the channel is whole.
TEST(channel_many, r321_a_message_that_dies_may_use_the_channel_or_take_it_away) {
  enum class deed : std::uint8_t { sends, receives, drops, closes };
  for (const deed what : {deed::sends, deed::receives, deed::drops, deed::closes}) {
    puppet_stage s;
    const region_handle r = s.region();
    auto ch = open_channel<last_words>(s, r, 4);
    puppet& a = s.task();
    ints seen, inner;
    const auto act = [&] {
      if (what == deed::sends) inner.push_back(ch.tx.try_send(last_words(5, {})).code == status::ok ? 5 : 0);
      if (what == deed::receives) inner.push_back(ch.rx.try_recv().value->number);
      if (what == deed::drops) ch.rx.drop();
      if (what == deed::closes) static_cast<void>(s.k.close(r));
    };
    for (int i = 1; i <= 4; ++i) {
      EXPECT_EQ(ch.tx.try_send(last_words(i, i == 2 ? std::function<void()>(act) : nullptr)).code, status::ok);
    }
    s.act(a, [&](cx& c) {
      std::uint32_t taken = 0;
      EXPECT_EQ(ch.rx.poll_recv_many(c, 5, [&](last_words&& m) { seen.push_back(m.number); }, taken), status::ok);
      EXPECT_EQ(taken, seen.size());
    });
    const std::array<ints, 4> outer{ints{1, 2, 3, 4, 5}, ints{1, 2, 4}, ints{1, 2}, ints{1, 2}};
    EXPECT_EQ(seen, outer[static_cast<std::size_t>(what)]) << "what is there when it is the next one's turn";
    EXPECT_EQ(inner, (what == deed::sends ? ints{5} : what == deed::receives ? ints{3} : ints{}));
  }
}

}  // namespace
}  // namespace asx
