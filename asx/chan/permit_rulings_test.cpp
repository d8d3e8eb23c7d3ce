// asx/chan/permit_rulings_test.cpp - the rulings' own tests on permits, events, waits and wakes
// to. R-236 is in tracked_rulings_test.cpp, R-240 in corners_exception_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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
using kinds = std::vector<event_kind>;

status undo_nothing(void*) {
  return status::ok;
}

// ---- permits ------------------------------------------------------------------------------------------------------

TEST(channel_rulings, r233_every_permit_takes_the_next_number_of_its_channel) {
  puppet_stage s;
  auto ch = open_channel(s, 4);
  auto other = open_channel(s, 1);
  send_permit<int> first = must_reserve(ch.tx);
  EXPECT_EQ(first.number(), 1U);
  fill(ch.tx, {1});
  EXPECT_EQ(s.events(event_kind::permit_sent).back().a, 2U);
  EXPECT_EQ(ch.tx.send_evict_oldest(2).code, status::ok);
  EXPECT_EQ(s.events(event_kind::permit_sent).back().a, 3U);
  send_permit<int> fourth = must_reserve(ch.tx);
  EXPECT_EQ(fourth.number(), 4U);
  EXPECT_EQ(must_reserve(other.tx).number(), 1U) << "each channel counts its own";
  send_permit<int> none;
  EXPECT_EQ(ch.tx.try_reserve(none), status::full);
  EXPECT_EQ(ch.tx.try_send(9).code, status::full);
  fourth.abort();
  EXPECT_EQ(fourth.number(), 0U);
  EXPECT_EQ(must_reserve(ch.tx).number(), 5U) << "a refusal takes no number";
}

TEST(channel_rulings, r233_a_permit_is_held_by_the_task_in_whose_poll_it_was_reserved) {
  puppet_stage s;
  auto ch = open_channel(s, 3);
  puppet& a = s.task();
  puppet& b = s.task();
  send_permit<int> hosts = must_reserve(ch.tx);
  send_permit<int> tried, moved;
  attempt<> waited;
  s.act(a, [&](cx&) { EXPECT_EQ(ch.tx.try_reserve(tried), status::ok); });
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waited), status::ok);
  s.act(b, [&](cx&) { moved = std::move(tried); });
  s.finish(b);
  EXPECT_TRUE(moved.is_held()) << "having the object is not holding the permit";
  EXPECT_EQ(look(ch.tx).reserved, 3U);
  s.finish(a);
  EXPECT_FALSE(moved.is_held());
  EXPECT_FALSE(waited.permit.is_held());
  EXPECT_TRUE(hosts.is_held()) << "the host's permit is no task's";
  EXPECT_EQ(look(ch.tx).reserved, 1U);
  EXPECT_EQ(moved.send(1).code, status::obligation_already_resolved);
  EXPECT_EQ(hosts.send(2).code, status::ok);
}

TEST(channel_rulings, r233_a_permit_is_unwound_in_its_place_among_cleanup_actions) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  send_permit<int> first, second;
  s.act(a, [&](cx& c) {
    EXPECT_EQ(c.push_cleanup(&undo_nothing, nullptr), status::ok);
    EXPECT_EQ(ch.tx.try_reserve(first), status::ok);
    EXPECT_EQ(ch.tx.try_reserve(second), status::ok);
    EXPECT_EQ(c.push_cleanup(&undo_nothing, nullptr), status::ok);
  });
  EXPECT_EQ(s.count(event_kind::cleanup_pushed), 2U) << "a permit's place is told by its own events alone";
  const std::uint64_t mark = s.mark();
  s.finish(a);
  kinds order;
  std::vector<std::uint64_t> numbers;
  for (const event& e : s.events(mark)) {
    if (e.kind == event_kind::cleanup_ran || e.kind == event_kind::permit_aborted) order.push_back(e.kind);
    if (e.kind == event_kind::permit_aborted) numbers.push_back(e.a);
  }
  EXPECT_EQ(order, (kinds{event_kind::cleanup_ran, event_kind::permit_aborted, event_kind::permit_aborted,
                          event_kind::cleanup_ran}));
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{2, 1})) << "last in, first out";
}

TEST(channel_rulings, r233_no_cleanup_limit_refuses_a_permit) {
  runtime_config config = puppet_config();
  config.contract.max_cleanup_entries = config.contract.max_cleanup_per_task = 0;
  puppet_stage s(config);
  auto ch = open_channel(s, 8);
  puppet& a = s.task();
  std::array<attempt<>, 8> tries;
  for (attempt<>& t : tries) EXPECT_EQ(poll_reserve(s, a, ch.tx, t), status::ok);
  s.finish(a);
  EXPECT_EQ(look(ch.tx).reserved, 0U);
  EXPECT_EQ(look(ch.tx).counts.aborted, 8U);
}

TEST(channel_rulings, r234_what_was_reserved_and_what_was_sent_add_up) {
  puppet_stage s;
  auto ch = open_channel(s, 3);
  puppet& a = s.task();
  attempt<> unwound;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, unwound), status::ok);
  s.finish(a);
  must_reserve(ch.tx).abort();
  {
    send_permit<int> dropped = must_reserve(ch.tx);
  }
  EXPECT_EQ(must_reserve(ch.tx).send(1).code, status::ok);
  fill(ch.tx, {2, 3});
  EXPECT_EQ(ch.tx.try_send(4).code, status::full);
  EXPECT_EQ(ch.tx.send_evict_oldest(5).evicted, 1);
  EXPECT_EQ(ch.rx.try_recv().value, 2);
  send_permit<int> late = must_reserve(ch.tx);
  channel_counts now = look(ch.tx).counts;
  EXPECT_EQ(now.reserved, 8U);  // Unwound, aborted, dropped, four sent, one held.
  EXPECT_EQ(now.sent, 4U);
  EXPECT_EQ(now.aborted, 3U);
  EXPECT_EQ(now.received, 1U);
  EXPECT_EQ(now.evicted, 1U);
  EXPECT_EQ(now.discarded, 0U);
  ch.rx.drop();
  EXPECT_EQ(late.send(6).code, status::disconnected);
  EXPECT_EQ(ch.tx.try_send(7).code, status::disconnected);
  now = look(ch.tx).counts;
  EXPECT_EQ(now.reserved, 8U) << "a refused call counts nothing";
  EXPECT_EQ(now.aborted, 4U) << "a permit that queued nothing";
  EXPECT_EQ(now.sent, 4U);
  EXPECT_EQ(now.discarded, 2U);
}

TEST(channel_rulings, r235_sends_without_a_permit_are_told_in_one_word_or_two) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  const std::uint64_t id = look(ch.tx).id.value;
  std::uint64_t mark = s.mark();
  s.act(a, [&](cx&) { EXPECT_EQ(ch.tx.try_send(1).code, status::ok); });
  EXPECT_EQ(s.channel_kinds(mark), (kinds{event_kind::permit_sent}));
  const event sent = s.events(event_kind::permit_sent, mark).back();
  EXPECT_EQ(sent.subject, id);
  EXPECT_EQ(sent.object, a.number);
  EXPECT_EQ(sent.b, pack(1, 0));

  mark = s.mark();
  EXPECT_EQ(ch.tx.send_evict_oldest(2).code, status::ok);
  EXPECT_EQ(s.channel_kinds(mark), (kinds{event_kind::permit_sent})) << "with room nothing is evicted";
  EXPECT_EQ(s.events(mark).back().object, 0U) << "by the host";
  mark = s.mark();
  EXPECT_EQ(ch.tx.send_evict_oldest(3).evicted, 1);
  ASSERT_EQ(s.channel_kinds(mark), (kinds{event_kind::message_evicted, event_kind::permit_sent}));
  EXPECT_EQ(s.events(event_kind::message_evicted, mark)[0].b, pack(1, 0));
  EXPECT_EQ(s.events(event_kind::permit_sent, mark)[0].b, pack(2, 0));

  mark = s.mark();
  send_permit<int> none;
  EXPECT_EQ(ch.tx.try_reserve(none), status::full);
  EXPECT_EQ(ch.tx.try_send(4).code, status::full);
  EXPECT_EQ(drain(ch.rx).size(), 2U);
  EXPECT_EQ(s.count(event_kind::message_received, mark), 2U);
  mark = s.mark();
  EXPECT_EQ(ch.rx.try_recv().code, status::empty);
  ch.rx.drop();
  const std::uint64_t closed = s.mark();
  EXPECT_EQ(ch.tx.try_reserve(none), status::disconnected);
  EXPECT_EQ(ch.tx.try_send(4).code, status::disconnected);
  EXPECT_EQ(ch.tx.send_evict_oldest(5).code, status::disconnected);
  EXPECT_EQ(s.mark(), closed) << "who only tries is answered by the status alone";
}

TEST(channel_rulings, r235_events_of_a_permit_tell_queued_and_reserved_after_the_move) {
  puppet_stage s;
  auto ch = open_channel(s, 3);
  fill(ch.tx, {1});
  std::uint64_t mark = s.mark();
  send_permit<int> first = must_reserve(ch.tx);
  send_permit<int> second = must_reserve(ch.tx);
  EXPECT_EQ(first.send(2).code, status::ok);
  second.abort();
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  std::vector<event> told = s.events(mark);
  std::erase_if(told, [](const event& e) { return e.kind == event_kind::input_send; });  // That the host sends.
  ASSERT_EQ(told.size(), 5U);
  const kinds order{event_kind::permit_reserved, event_kind::permit_reserved, event_kind::permit_sent,
                    event_kind::permit_aborted, event_kind::message_received};
  const std::array<std::uint64_t, 5> after{pack(1, 1), pack(1, 2), pack(2, 1), pack(2, 0), pack(1, 0)};
  const std::array<std::uint64_t, 5> numbers{2, 3, 2, 3, 1};
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].kind, order[i]) << i;
    EXPECT_EQ(told[i].b, after[i]) << i;
    EXPECT_EQ(told[i].a, numbers[i]) << i;
  }
}

// ---- waits --------------------------------------------------------------------------------------------------------

TEST(channel_rulings, r237_a_task_that_ends_leaves_its_queues_last) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  auto full = open_channel(s, 1);
  fill(full.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  send_permit<int> held;
  attempt<> mine, behind;
  slab_key timer;
  s.act(a, [&](cx& c) {
    EXPECT_EQ(c.push_cleanup(&undo_nothing, nullptr), status::ok);
    EXPECT_EQ(ch.tx.try_reserve(held), status::ok);
    EXPECT_EQ(s.k.register_timer(c, instant{1'000'000}, timer), status::ok);
    EXPECT_EQ(full.tx.poll_reserve(c, mine.wait, mine.permit), status::would_block);
  });
  EXPECT_EQ(poll_reserve(s, b, full.tx, behind), status::would_block);
  const std::uint64_t mark = s.mark();
  s.finish(a);
  EXPECT_FALSE(mine.wait.is_waiting());
  EXPECT_EQ(look(full.tx).waiters, 1U);
  kinds order;
  for (const event& e : s.events(mark)) {
    for (const event_kind kind : {event_kind::permit_aborted, event_kind::cleanup_ran, event_kind::timer_cancelled,
                                  event_kind::send_waiter_removed}) {
      if (e.kind == kind) order.push_back(kind);
    }
  }
  EXPECT_EQ(order, (kinds{event_kind::permit_aborted, event_kind::cleanup_ran, event_kind::timer_cancelled,
                          event_kind::send_waiter_removed}));
  EXPECT_EQ(low_half(s.events(event_kind::send_waiter_removed, mark)[0].b),
            static_cast<std::uint32_t>(leave_code::dropped));
  EXPECT_EQ(full.rx.try_recv().value, 1);
  EXPECT_TRUE(s.is_woken(b));
}

TEST(channel_rulings, r237_a_receiver_that_ends_while_it_waits_is_woken_no_more) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  EXPECT_TRUE(look(ch.rx).is_receiver_waiting);
  s.finish(a);
  EXPECT_FALSE(look(ch.rx).is_receiver_waiting);
  const std::uint64_t mark = s.mark();
  fill(ch.tx, {1});
  EXPECT_EQ(s.wakes(mark), told_wakes{});
  puppet& b = s.task();
  EXPECT_EQ(poll_recv(s, b, ch.rx), status::ok);
}

TEST(channel_rulings, r238_another_sender_begins_anew_at_the_back) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  auto far = open_channel(s, 1);
  fill(ch.tx, {1});
  fill(far.tx, {1});
  sender<int> clone = ch.tx;
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first, second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  EXPECT_EQ(first.wait.id(), 1U);
  EXPECT_EQ(poll_reserve(s, a, clone, first), status::would_block);
  EXPECT_EQ(first.wait.id(), 3U);
  EXPECT_EQ(look(ch.tx).waiters, 2U);
  EXPECT_EQ(look(ch.tx).first_waiter, 2U);
  EXPECT_EQ(poll_reserve(s, b, far.tx, second), status::would_block);
  EXPECT_EQ(second.wait.id(), 1U) << "each channel counts its own";
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  EXPECT_EQ(look(far.tx).waiters, 1U);
}

TEST(channel_rulings, r238_the_same_sender_polled_by_another_task_keeps_the_place) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, mine), status::would_block);
  EXPECT_EQ(mine.wait.id(), 1U);
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  const std::uint64_t mark = s.mark();
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_EQ(s.wakes(mark), (told_wakes{{b.number, wake_code::slot}}));
  EXPECT_EQ(poll_reserve(s, b, ch.tx, mine), status::ok);
}

TEST(channel_rulings, r238_a_moved_sender_keeps_its_waiters) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  puppet& a = s.task();
  attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::would_block);
  sender<int> moved = std::move(ch.tx);
  EXPECT_FALSE(ch.tx.is_live());
  EXPECT_EQ(look(moved).senders, 1U);
  EXPECT_EQ(look(moved).waiters, 1U);
  EXPECT_EQ(poll_reserve(s, a, moved, mine), status::would_block);
  EXPECT_EQ(mine.wait.id(), 1U);
  sender<int> assigned;
  assigned = std::move(moved);
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_EQ(poll_reserve(s, a, assigned, mine), status::ok);
}

// ---- the end of a channel -----------------------------------------------------------------------------------------

/// Tells the stage's mark when it dies.
struct witness_value {
  explicit witness_value(std::function<void()> words) : at_end(std::move(words)) {}
  witness_value(witness_value&& from) noexcept : at_end(std::exchange(from.at_end, nullptr)) {}
  witness_value& operator=(witness_value&&) = delete;
  ~witness_value() {
    if (at_end) at_end();
  }
  std::function<void()> at_end;
};

TEST(channel_rulings, r239_a_region_takes_its_channel_down_in_order) {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel<witness_value>(s, r, 4);
  puppet& a = s.task();
  attempt<witness_value> waiting;
  std::vector<std::pair<int, std::uint64_t>> died;
  send_permit<witness_value> first = must_reserve(ch.tx);
  send_permit<witness_value> second = must_reserve(ch.tx);
  for (const int i : {1, 2}) {
    EXPECT_EQ(ch.tx.try_send(witness_value([&, i] { died.emplace_back(i, s.mark()); })).code, status::ok);
  }
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  const std::uint64_t mark = s.mark();
  EXPECT_EQ(s.k.close(r), status::ok);

  const auto aborted = s.events(event_kind::permit_aborted, mark);
  const auto closed = s.events(event_kind::channel_receiver_closed, mark);
  const auto woken = s.events(event_kind::task_woken, mark);
  const auto freed = s.events(event_kind::channel_freed, mark);
  ASSERT_TRUE(aborted.size() == 2 && closed.size() == 1 && woken.size() == 1 && freed.size() == 1);
  EXPECT_EQ(aborted[0].a, 1U);
  EXPECT_EQ(aborted[1].a, 2U);
  EXPECT_LT(aborted[1].seq, closed[0].seq);
  EXPECT_LT(closed[0].seq, woken[0].seq);
  EXPECT_EQ(woken[0].subject, a.number);
  EXPECT_FALSE(waiting.wait.is_waiting()) << "taken out of the queue";
  ASSERT_EQ(died.size(), 2U);
  EXPECT_EQ(died[0].first, 1);
  EXPECT_EQ(died[1].first, 2);
  EXPECT_GE(died[0].second, woken[0].seq);
  EXPECT_LT(died[1].second, freed[0].seq);
  EXPECT_EQ(freed[0].object, s.report(r).id.value);
}

TEST(channel_rulings, r239_a_channel_with_nobody_left_is_freed_at_once) {
  puppet_stage s;
  const region_handle r = s.region();
  const std::uint64_t bytes = s.k.nominal_used();
  auto ch = open_channel(s, r, 2);
  fill(ch.tx, {1});
  ch.tx.drop();
  EXPECT_EQ(s.count(event_kind::channel_freed), 0U) << "its receiver can still drain it";
  ch.rx.drop();
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
  EXPECT_EQ(s.k.nominal_used(), bytes);
  EXPECT_EQ(s.k.close(r), status::ok);
  EXPECT_EQ(s.report(r).state, region_state::closed);
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U) << "the region had none left to free";
}

TEST(channel_rulings, r241_a_channel_counts_at_nominal_bytes_until_it_is_freed) {
  struct large {
    std::array<std::uint64_t, 64> bytes{};
  };
  runtime_config config = puppet_config();
  config.contract.max_channels = 1;
  puppet_stage s(config);
  const std::uint64_t bytes = s.k.nominal_used();
  for (const std::uint32_t capacity : {1U, 2U, 7U}) {
    {
      const auto small = channel<char>(s.k, s.rt.root(), capacity);
      EXPECT_EQ(s.k.nominal_used(), bytes + 256 + 128 * capacity);
    }
    const auto wide = channel<large>(s.k, s.rt.root(), capacity);
    EXPECT_EQ(s.k.nominal_used(), bytes + 256 + 128 * capacity) << "whatever the value's size";
  }
  EXPECT_EQ(s.k.nominal_used(), bytes);

  auto ch = open_channel(s, 1);
  send_permit<int> permit = must_reserve(ch.tx);
  ch.tx.drop();
  ch.rx.drop();
  EXPECT_EQ(channel<int>(s.k, s.rt.root(), 1).code, status::resource_exhausted) << "its storage is not freed";
  permit.abort();
  EXPECT_EQ(channel<int>(s.k, s.rt.root(), 1).code, status::ok);
}

TEST(channel_rulings, r242_a_channel_that_the_host_made_in_the_root_can_fail_the_check_alone) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  const quiescence_result q = s.k.check_quiescence();
  EXPECT_EQ(q.first, status::channel_not_drained);
  EXPECT_EQ(q.failed, 1U << 4);
  s.end();
  EXPECT_EQ(ch.tx.try_send(1).code, status::disconnected) << "shutdown took it down";
}

// ---- wakes --------------------------------------------------------------------------------------------------------

TEST(channel_rulings, r243_each_wake_tells_why) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& reader = s.task();
  puppet& writer = s.task();
  EXPECT_EQ(poll_recv(s, reader, ch.rx), status::would_block);
  EXPECT_TRUE(look(ch.rx).is_receiver_waiting);
  std::uint64_t mark = s.mark();
  fill(ch.tx, {1});
  EXPECT_EQ(s.wakes(mark), (told_wakes{{reader.number, wake_code::message}}));
  EXPECT_FALSE(look(ch.rx).is_receiver_waiting) << "the wake takes the receiver's waker out";

  attempt<> waiting;
  EXPECT_EQ(poll_reserve(s, writer, ch.tx, waiting), status::would_block);
  mark = s.mark();
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_EQ(s.wakes(mark), (told_wakes{{writer.number, wake_code::slot}}));
  EXPECT_TRUE(waiting.wait.is_waiting()) << "a waiter stays until it is polled";
  EXPECT_EQ(look(ch.tx).waiters, 1U);

  EXPECT_EQ(poll_recv(s, reader, ch.rx), status::would_block);
  mark = s.mark();
  ch.tx.drop();  // The waiter leaves with its sender.
  EXPECT_EQ(s.wakes(mark).back(), (testing::told_wake{reader.number, wake_code::disconnected}));
  EXPECT_FALSE(look(ch.rx).is_receiver_waiting);
}

TEST(channel_rulings, r243_the_head_is_woken_for_every_slot_that_it_has_not_taken) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  send_permit<int> first = must_reserve(ch.tx);
  send_permit<int> second = must_reserve(ch.tx);
  puppet& a = s.task();
  attempt<> waiting;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  first.abort();
  EXPECT_TRUE(s.is_woken(a));
  s.rt.run_until_idle();  // It runs, and does not ask.
  EXPECT_FALSE(s.is_woken(a));
  const std::uint64_t mark = s.mark();
  second.abort();
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::slot}}));
}

}  // namespace
}  // namespace asx
