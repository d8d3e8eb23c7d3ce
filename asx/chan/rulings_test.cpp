// asx/chan/rulings_test.cpp - the rulings' own tests on channels, and what
// add to them.
//
// Regions, limits and obligations are in tracked_rulings_test.cpp, R-233 to R-243 in permit_rulings_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "asx/chan/testing/puppets.hpp"
#include "asx/model/lifecycle.hpp"

namespace asx {
namespace {

using testing::attempt;
using testing::drain;
using testing::fill;
using testing::guest;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::poll_recv;
using testing::poll_reserve;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::roll;
using testing::told_wakes;

// ---- states and counts --------------------------------------------------------------------------------------------

TEST(channel_rulings, r57_two_conditions_give_four_states_and_four_moves) {
  EXPECT_EQ(derive_channel_state(1, false), channel_state::open);
  EXPECT_EQ(derive_channel_state(0, false), channel_state::sender_closed);
  EXPECT_EQ(derive_channel_state(1, true), channel_state::receiver_closed);
  EXPECT_EQ(derive_channel_state(0, true), channel_state::fully_closed);

  puppet_stage s;
  auto first = open_channel(s, 1);
  EXPECT_EQ(look(first.tx).state, channel_state::open);
  first.tx.drop();
  EXPECT_EQ(look(first.rx).state, channel_state::sender_closed);
  first.rx.drop();
  auto second = open_channel(s, 1);
  second.rx.drop();
  EXPECT_EQ(look(second.tx).state, channel_state::receiver_closed);
  second.tx.drop();
  EXPECT_EQ(s.count(event_kind::channel_sender_closed), 1U);
  EXPECT_EQ(s.count(event_kind::channel_fully_closed_by_receiver), 1U);
  EXPECT_EQ(s.count(event_kind::channel_receiver_closed), 1U);
  EXPECT_EQ(s.count(event_kind::channel_fully_closed_by_sender), 1U);
}

TEST(channel_rulings, r58_senders_are_cloned_from_live_ones_and_none_comes_back) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  sender<int> second, third;
  EXPECT_EQ(ch.tx.clone(second), status::ok);
  EXPECT_EQ(look(ch.rx).senders, 2U);
  ch.tx.drop();
  ch.tx.drop();
  EXPECT_EQ(look(ch.rx).senders, 1U) << "dropped twice is dropped once";
  EXPECT_EQ(ch.tx.clone(third), status::stale_handle);
  EXPECT_FALSE(third.is_live());
  second.drop();
  EXPECT_EQ(look(ch.rx).senders, 0U);
  EXPECT_EQ(second.clone(third), status::stale_handle);
  const sender<int> copy = second;
  EXPECT_FALSE(copy.is_live());
  EXPECT_EQ(look(ch.rx).senders, 0U);
  EXPECT_EQ(look(ch.rx).state, channel_state::sender_closed);

  auto other = open_channel(s, 1);
  other.rx.drop();
  EXPECT_EQ(other.tx.clone(third), status::ok) << "the receiver has no say in it";
  EXPECT_EQ(look(other.tx).senders, 2U);
  EXPECT_EQ(look(other.tx).state, channel_state::receiver_closed);
}

TEST(channel_rulings, r59_a_permit_counts_as_a_sender_for_the_receiver) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  send_permit<int> permit = must_reserve(ch.tx);
  ch.tx.drop();
  EXPECT_EQ(look(ch.rx).state, channel_state::sender_closed);
  EXPECT_EQ(ch.rx.try_recv().code, status::empty);
  EXPECT_EQ(permit.send(4).code, status::ok);
  EXPECT_EQ(ch.rx.try_recv().value, 4);
  EXPECT_EQ(ch.rx.try_recv().code, status::disconnected);
}

TEST(channel_rulings, r59_r167_the_last_sender_and_the_last_permit_each_wake_the_receiver) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  send_permit<int> first = must_reserve(ch.tx);
  send_permit<int> second = must_reserve(ch.tx);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  std::uint64_t mark = s.mark();
  ch.tx.drop();
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::disconnected}})) << "R-167: permits or not";
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  mark = s.mark();
  first.abort();
  EXPECT_EQ(s.wakes(mark), told_wakes{});
  second.abort();
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::disconnected}}));
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::disconnected);
}

// ---- the queue of waiters -----------------------------------------------------------------------------------------

TEST(channel_rulings, r60_whoever_would_block_is_in_the_queue_once) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  send_permit<int> permit = must_reserve(ch.tx);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first, second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(first.wait.id(), 1U);
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  permit.abort();
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block) << "a free slot, and somebody before it";
  EXPECT_EQ(look(ch.tx).waiters, 2U);
  EXPECT_EQ(look(ch.tx).first_waiter, first.wait.id());
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::ok);
  EXPECT_EQ(first.permit.send(1).code, status::ok);
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_TRUE(s.is_woken(b));
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::ok);
  EXPECT_EQ(s.count(event_kind::send_waiter_added), 2U);
}

TEST(channel_rulings, r61_a_claim_wakes_the_next_while_room_remains) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  fill(ch.tx, {1, 2});
  puppet& a = s.task();
  puppet& b = s.task();
  puppet& c = s.task();
  attempt<> first, second, third;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  EXPECT_EQ(poll_reserve(s, c, ch.tx, third), status::would_block);
  std::uint64_t mark = s.mark();
  EXPECT_EQ(drain(ch.rx).size(), 2U);
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::slot}})) << "both wake the head, which is woken once";
  EXPECT_EQ(look(ch.tx).waiters, 3U);
  mark = s.mark();
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::ok);
  EXPECT_EQ(s.wakes(mark), (told_wakes{{b.number, wake_code::slot}}));
  mark = s.mark();
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::ok);
  EXPECT_EQ(s.wakes(mark), told_wakes{});
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  EXPECT_TRUE(third.wait.is_waiting());
}

TEST(channel_rulings, r62_a_destroyed_operation_leaves_and_the_next_advances) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  std::optional<attempt<>> first(std::in_place);
  attempt<> second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, *first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  EXPECT_EQ(first->wait.id(), 1U);
  EXPECT_EQ(second.wait.id(), 2U);
  first.reset();
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  EXPECT_EQ(look(ch.tx).first_waiter, 2U);
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_TRUE(s.is_woken(b));
  EXPECT_FALSE(s.is_woken(a));
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::ok);
}

TEST(channel_rulings, r62_r168_a_moved_operation_keeps_its_place) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first, second, heir;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  heir.wait = std::move(first.wait);
  EXPECT_FALSE(first.wait.is_waiting());
  EXPECT_EQ(first.wait.id(), 0U);
  EXPECT_EQ(heir.wait.id(), 1U);
  reserve_wait last(std::move(heir.wait));
  EXPECT_EQ(last.id(), 1U);
  EXPECT_EQ(look(ch.tx).waiters, 2U);
  heir.wait = std::move(last);
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_TRUE(s.is_woken(a));
  EXPECT_EQ(poll_reserve(s, a, ch.tx, heir), status::ok);
  second.wait = reserve_wait();
  EXPECT_EQ(look(ch.tx).waiters, 0U) << "assigning leaves the queue that was stood in";
}

TEST(channel_rulings, r63_a_cancelled_reserve_changes_neither_queue_nor_reservations) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  fill(ch.tx, {1});
  send_permit<int> permit = must_reserve(ch.tx);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> waiting, fresh;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  const channel_report before = look(ch.tx);
  for (puppet* p : {&a, &b}) EXPECT_EQ(s.k.request_cancel(p->handle), status::ok);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, fresh), status::cancelled);
  EXPECT_EQ(look(ch.tx).waiters, before.waiters) << "a newcomer was never in";
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::cancelled);
  const channel_report after = look(ch.tx);
  EXPECT_EQ(after.queued, before.queued);
  EXPECT_EQ(after.reserved, before.reserved);
  EXPECT_EQ(after.counts.reserved, before.counts.reserved);
  EXPECT_EQ(after.waiters, before.waiters - 1);
  const auto left = s.events(event_kind::send_waiter_removed);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(low_half(left[0].b), static_cast<std::uint32_t>(leave_code::cancelled));
}

TEST(channel_rulings, r168_a_waiter_leaves_with_its_dropped_sender) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  sender<int> other = ch.tx;
  fill(ch.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first, second;
  EXPECT_EQ(poll_reserve(s, a, other, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  other.drop();
  EXPECT_FALSE(first.wait.is_waiting());
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  EXPECT_EQ(look(ch.tx).first_waiter, second.wait.id());
  EXPECT_EQ(poll_reserve(s, a, other, first), status::stale_handle);
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_TRUE(s.is_woken(b));
}

// Without a journal and monitors a channel has short ways, which are shut while somebody waits. The channel itself sees
// to it, when its last sender goes, that they are open again.
TEST(channel_rulings, r168_a_waiter_that_left_with_its_sender_bars_nobody) {
  runtime_config config = puppet_config();
  config.journaling = journal_mode::off;
  config.behaviour.ghosts = ghost_mode::off;
  puppet_stage s(config);
  auto ch = open_channel(s, 1);
  sender<int> other = ch.tx;
  fill(ch.tx, {1});
  attempt<> first;
  EXPECT_EQ(poll_reserve(s, s.task(), other, first), status::would_block);
  other.drop();
  EXPECT_EQ(look(ch.tx).waiters, 0U);
  ch.tx.drop();
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_EQ(ch.rx.try_recv().code, status::disconnected);
}

TEST(channel_rulings, r168_only_would_block_leaves_a_waker) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::ok);
  EXPECT_FALSE(mine.wait.is_waiting());
  EXPECT_EQ(mine.permit.send(1).code, status::ok);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::ok);
  EXPECT_FALSE(look(ch.rx).is_receiver_waiting);
  ch.rx.drop();
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::disconnected);
  EXPECT_FALSE(mine.wait.is_waiting());
  EXPECT_EQ(look(ch.tx).waiters, 0U);

  auto gone = open_channel(s, 1);
  gone.tx.drop();
  EXPECT_EQ(poll_recv(s, a, gone.rx), status::disconnected);
  EXPECT_FALSE(look(gone.rx).is_receiver_waiting);
}

TEST(channel_rulings, r173_a_task_woken_twice_before_it_runs_is_woken_once) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  const std::uint64_t polls = s.report(a).polls;
  const std::uint64_t mark = s.mark();
  fill(ch.tx, {1, 2});
  ch.tx.drop();
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::message}}));
  s.rt.run_until_idle();
  EXPECT_EQ(s.report(a).polls, polls + 1);
}

TEST(channel_rulings, r174_the_waiter_limit_is_checked_last) {
  runtime_config config = puppet_config();
  config.contract.max_channel_waiters = 0;
  puppet_stage s(config);
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::ok) << "with room nobody waits";
  attempt<> late;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, late), status::resource_exhausted);
  ch.rx.drop();
  EXPECT_EQ(poll_reserve(s, a, ch.tx, late), status::disconnected);
  s.cancel(a);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, late), status::cancelled);
  ch.tx.drop();
  EXPECT_EQ(poll_reserve(s, a, ch.tx, late), status::stale_handle);
}

// ---- sending ------------------------------------------------------------------------------------------------------

TEST(channel_rulings, r64_a_send_to_a_dropped_receiver_hands_the_value_back) {
  roll book;
  for (const bool tries : {false, true}) {
    puppet_stage s;
    auto ch = open_channel<guest>(s, 1);
    send_permit<guest> permit = must_reserve(ch.tx);
    ch.rx.drop();
    const std::uint64_t mark = s.mark();
    {
      auto sent = tries ? permit.try_send(guest(1, book)) : permit.send(guest(1, book));
      EXPECT_EQ(sent.code, status::disconnected);
      ASSERT_TRUE(sent.value.has_value());
      EXPECT_EQ(sent.value->number(), 1);
      EXPECT_EQ(book.alive, 1U);
    }
    EXPECT_EQ(s.count(event_kind::permit_disconnected, mark), 1U);
    EXPECT_FALSE(permit.is_held()) << "the permit is used up";
    EXPECT_EQ(look(ch.tx).reserved, 0U);
    EXPECT_EQ(look(ch.tx).counts.aborted, 1U);
    EXPECT_EQ(permit.send(guest(2, book)).code, status::obligation_already_resolved);
  }
  EXPECT_EQ(book.died, (std::vector<int>{1, 2, 1, 2}));
}

TEST(channel_rulings, r65_a_send_to_a_dropped_receiver_wakes_all_who_wait_in_order) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  send_permit<int> permit = must_reserve(ch.tx);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first, second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  const told_wakes both{{a.number, wake_code::disconnected}, {b.number, wake_code::disconnected}};
  std::uint64_t mark = s.mark();
  ch.rx.drop();
  EXPECT_EQ(s.wakes(mark), both);
  s.rt.run_until_idle();  // Both run, and do not ask again yet.
  mark = s.mark();
  EXPECT_EQ(permit.send(1).code, status::disconnected);
  EXPECT_EQ(s.wakes(mark), both);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::disconnected);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::disconnected);
  EXPECT_EQ(look(ch.tx).waiters, 0U);
  const std::uint64_t polls = s.report(a).polls + s.report(b).polls;
  s.rt.run_until_idle();
  EXPECT_EQ(s.report(a).polls + s.report(b).polls, polls) << "nobody is polled again";
}

TEST(channel_rulings, r66_a_moved_from_permit_is_a_resolved_one) {
  runtime_config config = puppet_config();
  config.behaviour.ghosts = ghost_mode::on;
  puppet_stage s(config);
  auto ch = open_channel(s, 1);
  send_permit<int> from = must_reserve(ch.tx);
  send_permit<int> to = std::move(from);
  EXPECT_FALSE(from.is_held());
  EXPECT_EQ(from.number(), 0U);
  EXPECT_TRUE(to.is_held());
  EXPECT_EQ(to.number(), 1U);
  const std::uint64_t seen = s.k.ghosts().count(ghost_kind::use_after_resolve);
  const auto refused = from.send(3);
  EXPECT_EQ(refused.code, status::obligation_already_resolved);
  EXPECT_EQ(refused.value, 3);
  from.abort();
  EXPECT_EQ(s.k.ghosts().count(ghost_kind::use_after_resolve), seen + 2);
  EXPECT_EQ(look(ch.tx).reserved, 1U) << "the slot went with the move";
  EXPECT_EQ(to.send(4).code, status::ok);
  send_permit<int> never;
  EXPECT_FALSE(never.is_held());
  EXPECT_EQ(never.send(5).code, status::obligation_already_resolved);
  never.abort();
}

TEST(channel_rulings, r67_refusals_without_waiting_come_in_order_and_know_no_cancel) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  send_permit<int> permit = must_reserve(ch.tx);
  send_permit<int> none;
  EXPECT_EQ(ch.tx.try_reserve(none), status::full);
  EXPECT_EQ(ch.tx.send_evict_oldest(1).code, status::full);
  sender<int> dead = ch.tx;
  dead.drop();
  ch.rx.drop();
  EXPECT_EQ(ch.tx.try_reserve(none), status::disconnected) << "also while it is full";
  EXPECT_EQ(ch.tx.try_send(1).code, status::disconnected);
  EXPECT_EQ(ch.tx.send_evict_oldest(1).code, status::disconnected);
  EXPECT_EQ(dead.try_reserve(none), status::stale_handle);
  EXPECT_EQ(dead.try_send(2).code, status::stale_handle);
  EXPECT_EQ(dead.try_send(2).value, 2);
  EXPECT_EQ(dead.send_evict_oldest(3).code, status::stale_handle);
  EXPECT_EQ(dead.send_evict_oldest(3).value, 3);
  EXPECT_EQ(ch.rx.try_recv().code, status::stale_handle);
  permit.abort();

  auto other = open_channel(s, 2);
  fill(other.tx, {1});
  s.cancel(a);
  s.act(a, [&](cx& c) {
    EXPECT_EQ(c.checkpoint(), status::cancelled);
    EXPECT_EQ(other.rx.try_recv().value, 1);
    EXPECT_EQ(other.tx.try_send(2).code, status::ok);
    EXPECT_EQ(other.tx.send_evict_oldest(3).code, status::ok);
    EXPECT_EQ(other.rx.try_recv().value, 2);
    EXPECT_EQ(other.tx.try_reserve(none), status::ok);
    none.abort();
  });
}

TEST(channel_rulings, r68_free_room_belongs_to_those_who_wait) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  fill(ch.tx, {1});
  send_permit<int> permit = must_reserve(ch.tx);
  puppet& a = s.task();
  attempt<> waiting;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  permit.abort();
  EXPECT_EQ(ch.tx.send_evict_oldest(2).evicted, 1) << "one slot is free, and it is not ours";
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::ok);
  EXPECT_EQ(look(ch.tx).queued, 1U);

  auto bare = open_channel(s, 1);
  permit = must_reserve(bare.tx);
  attempt<> second;
  EXPECT_EQ(poll_reserve(s, a, bare.tx, second), status::would_block);
  permit.abort();
  const auto refused = bare.tx.send_evict_oldest(5);
  EXPECT_EQ(refused.code, status::full) << "nothing is queued that could give way";
  EXPECT_EQ(refused.value, 5);
  EXPECT_EQ(poll_reserve(s, a, bare.tx, second), status::ok);
}

TEST(channel_rulings, r69_messages_leave_in_the_order_of_their_commits) {
  puppet_stage s;
  auto ch = open_channel(s, 4);
  sender<int> other = ch.tx;
  send_permit<int> first = must_reserve(ch.tx);
  send_permit<int> second = must_reserve(ch.tx);
  send_permit<int> third = must_reserve(other);
  EXPECT_EQ(second.send(2).code, status::ok);
  EXPECT_EQ(third.send(3).code, status::ok);
  EXPECT_EQ(first.send(1).code, status::ok);
  EXPECT_EQ(other.try_send(4).code, status::ok);
  EXPECT_EQ(drain(ch.rx), (std::vector<int>{2, 3, 1, 4}));
}

// ---- receiving, and the two ends ----------------------------------------------------------------------------------

TEST(channel_rulings, r70_a_cancelled_receiver_drains_by_try_recv) {
  puppet_stage s;
  auto ch = open_channel(s, 3);
  fill(ch.tx, {1, 2, 3});
  puppet& a = s.task();
  s.cancel(a);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::cancelled);
  std::vector<int> got;
  s.finish(a, poll_result::ready, [&](cx&) { got = drain(ch.rx); });
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(s.result(a).is_cancelled());
}

TEST(channel_rulings, r75_a_later_receive_replaces_the_waker) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  puppet& b = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  receiver<int> moved = std::move(ch.rx);
  EXPECT_FALSE(ch.rx.is_live());
  EXPECT_EQ(ch.rx.try_recv().code, status::stale_handle);
  EXPECT_EQ(poll_recv(s, b, moved), status::would_block);
  const std::uint64_t mark = s.mark();
  fill(ch.tx, {1});
  EXPECT_EQ(s.wakes(mark), (told_wakes{{b.number, wake_code::message}}));
}

TEST(channel_rulings, r76_storage_stays_until_the_last_permit_is_resolved) {
  puppet_stage s;
  const std::uint64_t bytes = s.k.nominal_used();
  auto ch = open_channel(s, 2);
  send_permit<int> permit = must_reserve(ch.tx);
  ch.tx.drop();
  ch.rx.drop();
  EXPECT_FALSE(ch.tx.is_live());
  EXPECT_EQ(ch.tx.try_send(1).code, status::stale_handle);
  EXPECT_EQ(ch.rx.try_recv().code, status::stale_handle);
  EXPECT_TRUE(permit.is_held());
  EXPECT_GT(s.k.nominal_used(), bytes);
  EXPECT_EQ(s.count(event_kind::channel_freed), 0U);
  permit.abort();
  EXPECT_EQ(s.k.nominal_used(), bytes);
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
}

/// A value that does something when it dies.
struct talker {
  explicit talker(std::function<void()> words) : at_end(std::move(words)) {}
  talker(talker&& from) noexcept : at_end(std::exchange(from.at_end, nullptr)) {}
  talker& operator=(talker&&) = delete;
  ~talker() {
    if (at_end) at_end();
  }
  std::function<void()> at_end;
};

TEST(channel_rulings, r121_a_destructor_finds_the_channel_whole) {
  puppet_stage s;
  auto ch = open_channel<talker>(s, 2);
  std::vector<status> seen;
  const auto speak = [&] {
    seen.push_back(look(ch.tx).queued == 0 ? status::empty : status::full);
    seen.push_back(ch.tx.try_send(talker([] {})).code);
    send_permit<talker> none;
    seen.push_back(ch.tx.try_reserve(none));
  };
  EXPECT_EQ(ch.tx.try_send(talker(speak)).code, status::ok);
  EXPECT_EQ(ch.tx.try_send(talker(speak)).code, status::ok);
  ch.rx.drop();
  const std::vector<status> once{status::empty, status::disconnected, status::disconnected};
  std::vector<status> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(seen, twice);
}

TEST(channel_rulings, r127_values_are_destroyed_oldest_first_after_the_senders_were_woken) {
  puppet_stage s;
  auto ch = open_channel<talker>(s, 2);
  std::vector<std::pair<int, std::uint64_t>> died;
  for (const int i : {1, 2}) {
    EXPECT_EQ(ch.tx.try_send(talker([&, i] { died.emplace_back(i, s.mark()); })).code, status::ok);
  }
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<talker> first, second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  const std::uint64_t mark = s.mark();
  ch.rx.drop();
  const auto closed = s.events(event_kind::channel_receiver_closed, mark);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(low_half(closed[0].a), 1U) << "one sender is left";
  EXPECT_EQ(high_half(closed[0].a), 2U) << "two messages are discarded";
  EXPECT_EQ(s.wakes(closed[0].seq), (told_wakes{{a.number, wake_code::disconnected},  //
                                                {b.number, wake_code::disconnected}}));
  ASSERT_EQ(died.size(), 2U);
  EXPECT_EQ(died[0].first, 1);
  EXPECT_EQ(died[1].first, 2);
  EXPECT_GE(died[0].second, s.events(event_kind::task_woken, mark).back().seq);
}

TEST(channel_rulings, r166_a_dead_end_is_told_before_a_cancel) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  s.act(a, [](cx&) {});
  EXPECT_EQ(s.k.request_cancel(a.handle), status::ok);
  ch.tx.drop();
  ch.rx.drop();
  attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::stale_handle);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::stale_handle);
  EXPECT_EQ(s.report(a).state, task_state::cancel_requested) << "the checkpoint was not reached";
}

}  // namespace
}  // namespace asx
