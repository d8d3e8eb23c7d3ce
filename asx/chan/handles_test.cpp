// asx/chan/handles_test.cpp - what copying, moving, overwriting and outliving do to endpoints, permits and waits, and
// how a task that waits in a channel parks.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "asx/chan/testing/puppets.hpp"

namespace asx {
namespace {

using testing::attempt;
using testing::drain;
using testing::fill;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::poll_recv;
using testing::poll_reserve;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::told_wakes;

// ---- endpoints ----------------------------------------------------------------------------------------------------

TEST(channel_handles, ends_that_were_never_made_are_dead) {
  sender<int> tx;
  receiver<int> rx;
  tracked_sender<int> tracked;
  channel_report r;
  send_permit<int> permit;
  EXPECT_FALSE(tx.is_live() || rx.is_live() || tracked.is_live());
  EXPECT_EQ(tx.inspect(r), status::stale_handle);
  EXPECT_EQ(rx.inspect(r), status::stale_handle);
  EXPECT_EQ(tx.try_reserve(permit), status::stale_handle);
  EXPECT_EQ(rx.try_recv().code, status::stale_handle);
  tx.drop();
  rx.drop();
  tracked.drop();
}

TEST(channel_handles, assigning_a_sender_drops_what_was_there_and_clones_what_comes) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  auto other = open_channel(s, 1);
  sender<int> copy = ch.tx;
  EXPECT_EQ(look(ch.rx).senders, 2U);
  copy = other.tx;
  EXPECT_EQ(look(ch.rx).senders, 1U);
  EXPECT_EQ(look(other.rx).senders, 2U);
  EXPECT_EQ(ch.tx.clone(copy), status::ok);
  EXPECT_EQ(look(ch.rx).senders, 2U);
  EXPECT_EQ(look(other.rx).senders, 1U);
  copy = sender<int>();
  EXPECT_EQ(look(ch.rx).senders, 1U);
}

TEST(channel_handles, assigning_something_to_itself_changes_nothing) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  fill(ch.tx, {1});
  send_permit<int> permit = must_reserve(ch.tx);
  attempt<> waiting;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  const std::uint64_t mark = s.mark();
  sender<int>& same_tx = ch.tx;
  ch.tx = same_tx;
  ch.tx = std::move(same_tx);
  receiver<int>& same_rx = ch.rx;
  ch.rx = std::move(same_rx);
  send_permit<int>& same_permit = permit;
  permit = std::move(same_permit);
  reserve_wait& same_wait = waiting.wait;
  waiting.wait = std::move(same_wait);
  EXPECT_TRUE(ch.tx.is_live() && ch.rx.is_live() && permit.is_held() && waiting.wait.is_waiting());
  EXPECT_EQ(look(ch.tx).senders, 1U);
  EXPECT_EQ(look(ch.tx).queued, 1U);
  EXPECT_EQ(s.wakes(mark), told_wakes{});
  permit.abort();
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::ok);
}

TEST(channel_handles, a_tracked_sender_counts_as_one_and_copies_like_one) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  tracked_sender<int> first(ch.tx);
  EXPECT_EQ(look(ch.rx).senders, 2U);
  tracked_sender<int> second = first;
  EXPECT_EQ(look(ch.rx).senders, 3U);
  EXPECT_EQ(look(second.base()).id, look(ch.rx).id);
  ch.tx.drop();
  first.drop();
  EXPECT_FALSE(first.is_live());
  second = tracked_sender<int>();
  EXPECT_EQ(look(ch.rx).state, channel_state::sender_closed);
}

TEST(channel_handles, channels_are_numbered_from_one_and_no_number_comes_back) {
  puppet_stage s;
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    const auto ch = open_channel(s, 1);
    numbers.push_back(look(ch.tx).id.value);
  }
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 2, 3}));
}

// ---- permits that are written over --------------------------------------------------------------------------------

TEST(channel_handles, a_reserve_into_a_held_permit_aborts_that_one_when_it_succeeds) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  send_permit<int> permit = must_reserve(ch.tx);
  EXPECT_EQ(ch.tx.try_reserve(permit), status::ok);
  EXPECT_EQ(permit.number(), 2U);
  EXPECT_EQ(look(ch.tx).reserved, 1U);
  EXPECT_EQ(look(ch.tx).counts.aborted, 1U);
  fill(ch.tx, {1});
  EXPECT_EQ(ch.tx.try_reserve(permit), status::full);
  EXPECT_TRUE(permit.is_held()) << "a refusal takes nothing away";
  EXPECT_EQ(permit.number(), 2U);
  puppet& a = s.task();
  reserve_wait wait;
  s.act(a, [&](cx& c) { EXPECT_EQ(ch.tx.poll_reserve(c, wait, permit), status::would_block); });
  EXPECT_TRUE(permit.is_held());
  EXPECT_EQ(permit.send(2).code, status::ok);
  EXPECT_EQ(drain(ch.rx), (std::vector<int>{1, 2}));
}

// Goal:   the slot of a turn is its own, though the permit that it is written over gives one back as well (INV-CH-01).
// Method: `a` waits to reserve into the permit that it holds; messages wait behind it, and are taken by whoever frees a
//         slot.
TEST(channel_handles, a_permit_that_is_written_over_leaves_one_slot_to_those_behind_and_not_two) {
  for (const journal_mode journaling : {journal_mode::full, journal_mode::off}) {
    runtime_config config = puppet_config();
    config.journaling = journaling;
    puppet_stage s(config);
    auto ch = open_channel(s, 2);
    sender<int> other = ch.tx;
    puppet& a = s.task();
    puppet& b = s.task();
    puppet& c = s.task();
    reserve_wait of_a, of_b, of_c;
    send_permit<int> permit;
    int first = 1, second = 2;
    s.act(a, [&](cx& x) { EXPECT_EQ(ch.tx.poll_reserve(x, of_a, permit), status::ok); });
    fill(ch.tx, {7});
    s.act(a, [&](cx& x) { EXPECT_EQ(ch.tx.poll_reserve(x, of_a, permit), status::would_block); });
    s.act(b, [&](cx& x) { EXPECT_EQ(other.poll_send(x, of_b, first), status::would_block); });
    s.act(c, [&](cx& x) { EXPECT_EQ(other.poll_send(x, of_c, second), status::would_block); });
    EXPECT_EQ(ch.rx.try_recv().value, 7);
    s.act(a, [&](cx& x) { EXPECT_EQ(ch.tx.poll_reserve(x, of_a, permit), status::ok); });
    const channel_report now = look(ch.tx);
    EXPECT_EQ(now.queued, 1U) << "b's, by the slot of the permit that was written over";
    EXPECT_EQ(now.reserved, 1U);
    EXPECT_EQ(now.waiters, 1U) << "and c waits for the next one";
    EXPECT_EQ(permit.send(9).code, status::ok);
    EXPECT_EQ(drain(ch.rx), (std::vector<int>{1, 9, 2}));
  }
}

TEST(channel_handles, a_task_may_take_down_the_channel_whose_permit_it_holds) {
  puppet_stage s;
  const region_handle owner = s.region();
  auto ch = open_channel(s, owner, 2);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> held;
  EXPECT_EQ(poll_recv(s, b, ch.rx), status::would_block);
  s.act(a, [&](cx& c) {
    EXPECT_EQ(ch.tx.poll_reserve(c, held.wait, held.permit), status::ok);
    EXPECT_EQ(s.k.close(owner), status::ok);
    EXPECT_FALSE(held.permit.is_held());
    EXPECT_EQ(held.permit.send(1).code, status::disconnected);
    EXPECT_EQ(ch.tx.poll_reserve(c, held.wait, held.permit), status::disconnected);
  });
  EXPECT_EQ(poll_recv(s, b, ch.rx), status::disconnected);
  s.finish(a);
  EXPECT_EQ(s.count(event_kind::permit_aborted), 1U);
}

TEST(channel_handles, shutdown_takes_down_what_tasks_wait_in) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> waiting;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  auto other = open_channel(s, 1);
  EXPECT_EQ(poll_recv(s, b, other.rx), status::would_block);
  send_permit<int> permit = must_reserve(other.tx);
  s.end();  // Everybody ends, and the runtime is at rest.
  EXPECT_FALSE(waiting.wait.is_waiting());
  EXPECT_FALSE(permit.is_held());
  EXPECT_EQ(ch.rx.try_recv().code, status::disconnected);
  EXPECT_EQ(permit.send(1).code, status::disconnected);
  EXPECT_EQ(s.count(event_kind::channel_freed), 2U);
}

// ---- how a waiting task parks -------------------------------------------------------------------------------------

/// A task that asks once a poll and says pending, without taking a waker of its own.
struct patient {
  std::function<status(cx&)> ask;
  int polls = 0;
  static poll_result poll(void* self, cx& c) {
    auto& p = *static_cast<patient*>(self);
    if (c.checkpoint() != status::ok) return poll_result::ready;
    ++p.polls;
    if (p.ask) return p.ask(c) == status::would_block ? poll_result::pending : poll_result::ready;
    return poll_result::pending;
  }
};

TEST(channel_handles, r23_a_task_that_would_block_parks_until_it_is_woken) {
  patient writes, reads;
  puppet_stage s;
  auto ch = open_channel(s, 1);
  auto empty = open_channel(s, 1);
  fill(ch.tx, {1});
  attempt<> mine;
  writes.ask = [&](cx& c) { return ch.tx.poll_reserve(c, mine.wait, mine.permit); };
  reads.ask = [&](cx& c) { return empty.rx.poll_recv(c).code; };
  task_handle writer, reader;
  EXPECT_EQ(s.k.spawn(s.rt.root(), {.poll = &patient::poll, .context = &writes}, writer), status::ok);
  EXPECT_EQ(s.k.spawn(s.rt.root(), {.poll = &patient::poll, .context = &reads}, reader), status::ok);
  EXPECT_EQ(s.rt.run_until_idle(1000).ended, status::ok);
  EXPECT_EQ(writes.polls, 1);
  EXPECT_EQ(reads.polls, 1);
  const std::function<status(cx&)> ask = std::exchange(writes.ask, nullptr);
  s.k.waker_of(writer).wake();
  EXPECT_EQ(s.rt.run_until_idle(1000).ended, status::ok);
  EXPECT_EQ(writes.polls, 2) << "it did not ask, but what it stands in may still wake it";
  writes.ask = ask;
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_EQ(empty.tx.try_send(1).code, status::ok);
  EXPECT_EQ(s.rt.run_until_idle(1000).ended, status::ok);
  EXPECT_EQ(writes.polls, 3);
  EXPECT_EQ(reads.polls, 2);
  EXPECT_EQ(s.k.live_tasks(), 0U);
}

TEST(channel_handles, r134_inside_a_mask_a_cancelled_task_waits_as_usual) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  s.cancel(a);
  attempt<> first, second;
  s.act(a, [&](cx& c) {
    EXPECT_EQ(ch.tx.poll_reserve(c, first.wait, first.permit), status::cancelled);
    EXPECT_EQ(c.mask_enter(), status::ok);
    EXPECT_EQ(ch.rx.poll_recv(c).code, status::would_block);
    EXPECT_EQ(ch.tx.poll_reserve(c, first.wait, first.permit), status::ok);
    EXPECT_EQ(ch.tx.poll_reserve(c, second.wait, second.permit), status::would_block);
    EXPECT_EQ(first.permit.send(1).code, status::ok) << "a goodbye";
    EXPECT_EQ(ch.rx.poll_recv(c).code, status::ok);
    EXPECT_EQ(ch.tx.poll_reserve(c, second.wait, second.permit), status::ok);
    c.mask_leave();
    EXPECT_EQ(ch.rx.poll_recv(c).code, status::cancelled);
  });
  s.finish(a);
  EXPECT_EQ(look(ch.tx).reserved, 0U);
}

TEST(channel_handles, r168_a_cancelled_receive_takes_its_waker_out) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  EXPECT_TRUE(look(ch.rx).is_receiver_waiting);
  EXPECT_EQ(s.k.request_cancel(a.handle), status::ok);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::cancelled);
  EXPECT_FALSE(look(ch.rx).is_receiver_waiting);
}

TEST(channel_handles, r61_a_waiter_that_leaves_from_the_middle_wakes_the_head_again) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  send_permit<int> permit = must_reserve(ch.tx);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first, second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  permit.abort();
  s.rt.run_until_idle();  // The head runs, and does not ask.
  const std::uint64_t mark = s.mark();
  second.wait.leave();
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::slot}})) << "removal wakes the head if there is room";
}

// ---- obligations of a host ----------------------------------------------------------------------------------------

TEST(channel_handles, r128_a_host_is_admitted_by_the_region_that_it_names) {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, 2);
  tracked_sender<int> tx(ch.tx);
  tracked_permit<int> permit;
  EXPECT_EQ(tx.try_reserve(r, permit), status::ok);
  EXPECT_EQ(s.report(r).reserved, 1U);
  const auto sent = permit.send(1);
  EXPECT_EQ(sent.code, status::ok);
  EXPECT_TRUE(sent.proof.has_value());
  EXPECT_EQ(s.k.close(r), status::ok);
  EXPECT_EQ(s.report(r).leaked, 0U);
  EXPECT_EQ(tx.try_reserve(r, permit), status::region_not_open);
  EXPECT_EQ(look(ch.tx).reserved, 0U);
}

}  // namespace
}  // namespace asx
