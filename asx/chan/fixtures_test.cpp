// asx/chan/fixtures_test.cpp - the catalogue's channel fixtures, each shown on the real channel.
//
// One test for each id. Ids that mean the same run the same scenario, which then holds for the sentence of each of
// them. The expectations are the rulings' and docs/spec/channels.md's. What needs a region or a runtime to end is in
// region_fixtures_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "asx/chan/testing/puppets.hpp"

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
using testing::puppet_stage;
using testing::roll;
using testing::told_wakes;

// ---- two phases ---------------------------------------------------------------------------------------------------

// Goal:   a value is reserved for, committed and received; a slot is taken from the reserve to the receive.
// Method: capacity 2, one permit from a task and one from the host; counts are looked at after every step.
// INV-CH-01, INV-CH-02, R-234.
void two_phases() {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> first;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::ok);
  EXPECT_TRUE(first.permit.is_held());
  EXPECT_FALSE(first.wait.is_waiting());
  send_permit<int> second = must_reserve(ch.tx);
  EXPECT_EQ(look(ch.tx).reserved, 2U);
  EXPECT_EQ(look(ch.tx).queued, 0U);
  EXPECT_EQ(ch.rx.try_recv().code, status::empty);
  EXPECT_EQ(ch.tx.try_send(99).code, status::full) << "reserved slots count";

  const auto sent = first.permit.send(10);
  EXPECT_EQ(sent.code, status::ok);
  EXPECT_FALSE(sent.value.has_value());
  EXPECT_EQ(look(ch.tx).reserved, 1U);
  EXPECT_EQ(look(ch.tx).queued, 1U);
  EXPECT_EQ(second.try_send(20).code, status::ok);
  EXPECT_EQ(look(ch.tx).reserved, 0U);
  EXPECT_EQ(look(ch.tx).queued, 2U);

  std::optional<int> got;
  EXPECT_EQ(poll_recv(s, b, ch.rx, &got), status::ok);
  EXPECT_EQ(got, 10);
  EXPECT_EQ(poll_recv(s, b, ch.rx, &got), status::ok);
  EXPECT_EQ(got, 20);
  EXPECT_EQ(poll_recv(s, b, ch.rx), status::would_block);
  const channel_report end = look(ch.rx);
  EXPECT_EQ(end.queued + end.reserved, 0U);
  EXPECT_EQ(end.counts.reserved, 2U);
  EXPECT_EQ(end.counts.sent, 2U);
  EXPECT_EQ(end.counts.received, 2U);
  EXPECT_EQ(end.counts.aborted, 0U);
}
TEST(fixtures, ch_reserve_001) {
  two_phases();
}
TEST(fixtures, ch_reserve_send_001) {
  two_phases();
}
TEST(fixtures, channel_two_phase_001) {
  two_phases();
}

// Goal:   an abort gives the slot back, queues nothing and wakes the next waiter, as often as it is done.
// Method: capacity 1; three rounds of take, wait behind, abort; the round's end looks like its beginning. R-61.
void abort_gives_back() {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  puppet& a = s.task();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    SCOPED_TRACE(round);
    send_permit<int> permit = must_reserve(ch.tx);
    attempt<> behind;
    EXPECT_EQ(poll_reserve(s, a, ch.tx, behind), status::would_block);
    EXPECT_FALSE(s.is_woken(a));
    const std::uint64_t mark = s.mark();
    permit.abort();
    EXPECT_FALSE(permit.is_held());
    EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::slot}}));
    EXPECT_EQ(look(ch.tx).reserved, 0U);
    EXPECT_EQ(look(ch.tx).queued, 0U);
    EXPECT_EQ(poll_reserve(s, a, ch.tx, behind), status::ok);
    EXPECT_EQ(look(ch.tx).reserved, 1U);
    behind.permit.abort();
    const channel_report end = look(ch.tx);
    EXPECT_EQ(end.reserved + end.queued + end.waiters, 0U);
    EXPECT_EQ(end.counts.aborted, 2 * round);
    EXPECT_EQ(end.counts.sent, 0U);
  }
}
TEST(fixtures, ch_reserve_002) {
  abort_gives_back();
}
TEST(fixtures, ch_reserve_abort_001) {
  abort_gives_back();
}
TEST(fixtures, channel_abort_release_002) {
  abort_gives_back();
}

// Goal:   however a permit goes away unresolved, its slot returns, the next waiter is woken and nothing was queued.
// Method: one message queued, one permit held, one waiter; the permit's task is cancelled and ends, or the permit is
//         dropped, overwritten or aborted. All four leave the same channel behind. INV-CH-09, R-15, R-63.
void holder_goes_away() {
  enum class how : std::uint8_t { cancelled, dropped, overwritten, aborted };
  for (const how way : {how::cancelled, how::dropped, how::overwritten, how::aborted}) {
    SCOPED_TRACE(static_cast<int>(way));
    puppet_stage s;
    auto ch = open_channel(s, 2);
    fill(ch.tx, {7});
    puppet& holder = s.task();
    puppet& next = s.task();
    std::optional<attempt<>> held(std::in_place);
    attempt<> behind;
    EXPECT_EQ(poll_reserve(s, holder, ch.tx, *held), status::ok);
    EXPECT_EQ(poll_reserve(s, next, ch.tx, behind), status::would_block);
    const std::uint64_t mark = s.mark();
    switch (way) {
      case how::cancelled:
        s.cancel(holder);
        EXPECT_TRUE(held->permit.is_held()) << "an acknowledged cancel takes nothing away yet";
        s.finish(holder);
        EXPECT_TRUE(s.result(holder).is_cancelled());
        EXPECT_FALSE(held->permit.is_held());
        break;
      case how::dropped: held.reset(); break;
      case how::overwritten: held->permit = {}; break;
      case how::aborted: held->permit.abort(); break;
    }
    EXPECT_EQ(s.count(event_kind::permit_aborted, mark), 1U);
    const told_wakes woken = s.wakes(mark);
    EXPECT_EQ(std::count(woken.begin(), woken.end(), testing::told_wake{next.number, wake_code::slot}), 1);
    const channel_report after = look(ch.tx);
    EXPECT_EQ(after.queued, 1U);
    EXPECT_EQ(after.reserved, 0U);
    EXPECT_EQ(after.waiters, 1U) << "a wake leaves the waiter in its place";
    EXPECT_EQ(after.counts.aborted, 1U);
    EXPECT_EQ(poll_reserve(s, next, ch.tx, behind), status::ok);
    EXPECT_EQ(behind.permit.send(8).code, status::ok);
    EXPECT_EQ(drain(ch.rx), (std::vector<int>{7, 8}));
  }
}
TEST(fixtures, ch_reserve_003) {
  holder_goes_away();
}
TEST(fixtures, ch_cancel_003) {
  holder_goes_away();
}
TEST(fixtures, channel_drop_permit_abort_003) {
  holder_goes_away();
}

// ---- waiting ------------------------------------------------------------------------------------------------------

// Goal:   senders of a full channel are served in the order of their ids, nobody jumps, each receive serves the head.
// Method: capacity 2 full, four waiters; every receive wakes exactly the head, and neither the host, a newcomer nor a
//         later waiter gets the slot that is free until the head runs. INV-CH-03, INV-CH-04, R-60, R-61.
void back_pressure() {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  fill(ch.tx, {1, 2});
  std::array<puppet*, 4> who{};
  std::array<attempt<>, 4> tries;
  for (std::size_t i = 0; i < who.size(); ++i) {
    who[i] = &s.task();
    EXPECT_EQ(poll_reserve(s, *who[i], ch.tx, tries[i]), status::would_block);
    EXPECT_EQ(tries[i].wait.id(), i + 1);
    EXPECT_EQ(look(ch.tx).waiters, i + 1);
  }
  std::vector<int> out;
  for (std::size_t i = 0; i < who.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(look(ch.tx).first_waiter, i + 1);
    const std::uint64_t mark = s.mark();
    out.push_back(ch.rx.try_recv().value.value_or(-1));
    EXPECT_EQ(s.wakes(mark), (told_wakes{{who[i]->number, wake_code::slot}}));
    send_permit<int> jumper;
    EXPECT_EQ(ch.tx.try_reserve(jumper), status::full) << "the free slot is the head's";
    EXPECT_EQ(ch.tx.try_send(99).code, status::full);
    for (std::size_t j = i + 1; j < who.size(); ++j) {
      EXPECT_EQ(poll_reserve(s, *who[j], ch.tx, tries[j]), status::would_block);
      EXPECT_EQ(tries[j].wait.id(), j + 1) << "asking again keeps the place";
    }
    EXPECT_EQ(poll_reserve(s, *who[i], ch.tx, tries[i]), status::ok);
    EXPECT_EQ(tries[i].permit.send(static_cast<int>(i) + 3).code, status::ok);
  }
  for (const int v : drain(ch.rx)) out.push_back(v);
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}
TEST(fixtures, ch_backpressure_001) {
  back_pressure();
}
TEST(fixtures, ch_backpressure_002) {
  back_pressure();
}

// Goal:   while somebody waits, a reserve that does not wait is refused whatever room is free.
// Method: capacity 3, all taken, one waiter; two slots come free before it runs. INV-CH-04, R-68.
void no_queue_jumping() {
  puppet_stage s;
  auto ch = open_channel(s, 3);
  fill(ch.tx, {1, 2, 3});
  puppet& a = s.task();
  attempt<> waiting;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::would_block);
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_EQ(ch.rx.try_recv().value, 2);
  send_permit<int> jumper;
  EXPECT_EQ(ch.tx.try_reserve(jumper), status::full);
  EXPECT_FALSE(jumper.is_held());
  const auto refused = ch.tx.try_send(9);
  EXPECT_EQ(refused.code, status::full);
  EXPECT_EQ(refused.value, 9);
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, waiting), status::ok);
  EXPECT_EQ(ch.tx.try_reserve(jumper), status::ok) << "nobody waits any more, and one slot is left";
}
TEST(fixtures, ch_fifo_fairness_001) {
  no_queue_jumping();
}
TEST(fixtures, channel_fifo_waiter_004) {
  no_queue_jumping();
}

// Goal:   an abort wakes the next in line, and so on down the line.
// Method: capacity 1, three waiters; each that is served aborts. INV-CH-09, R-61.
TEST(fixtures, ch_cascade_001) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  send_permit<int> permit = must_reserve(ch.tx);
  std::array<puppet*, 3> who{};
  std::array<attempt<>, 3> tries;
  for (std::size_t i = 0; i < who.size(); ++i) {
    who[i] = &s.task();
    EXPECT_EQ(poll_reserve(s, *who[i], ch.tx, tries[i]), status::would_block);
  }
  std::uint64_t mark = s.mark();
  permit.abort();
  for (std::size_t i = 0; i < who.size(); ++i) {
    EXPECT_EQ(s.wakes(mark), (told_wakes{{who[i]->number, wake_code::slot}}));
    EXPECT_EQ(poll_reserve(s, *who[i], ch.tx, tries[i]), status::ok);
    mark = s.mark();
    tries[i].permit.abort();
  }
  EXPECT_EQ(s.wakes(mark), told_wakes{});
  EXPECT_EQ(look(ch.tx).counts.aborted, 4U);
}

// ---- cancelling ---------------------------------------------------------------------------------------------------

// Goal:   a reserve that is cancelled while it waits leaves the queue, holds no slot and delays nobody.
// Method: capacity 1 full; `quitter` and `heir` wait. Queue and reservations are the same before and after, one waiter
//         is gone, and the next slot is the heir's. INV-CH-05, R-63.
void cancelled_reserve() {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  fill(ch.tx, {1});
  puppet& quitter = s.task();
  puppet& heir = s.task();
  attempt<> first, second;
  EXPECT_EQ(poll_reserve(s, quitter, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, heir, ch.tx, second), status::would_block);
  const channel_report before = look(ch.tx);
  EXPECT_EQ(s.k.request_cancel(quitter.handle), status::ok);
  EXPECT_EQ(look(ch.tx).waiters, 2U) << "asking takes nobody out of the queue; the poll does";
  EXPECT_EQ(poll_reserve(s, quitter, ch.tx, first), status::cancelled);
  EXPECT_FALSE(first.wait.is_waiting());
  EXPECT_EQ(first.wait.id(), 0U);
  EXPECT_FALSE(first.permit.is_held());
  const channel_report after = look(ch.tx);
  EXPECT_EQ(after.queued, before.queued);
  EXPECT_EQ(after.reserved, before.reserved);
  EXPECT_EQ(after.waiters, before.waiters - 1);
  EXPECT_EQ(after.first_waiter, second.wait.id());
  EXPECT_FALSE(s.is_woken(heir)) << "there is no room";
  EXPECT_EQ(ch.rx.try_recv().value, 1);
  EXPECT_TRUE(s.is_woken(heir));
  EXPECT_EQ(poll_reserve(s, heir, ch.tx, second), status::ok);
  s.finish(quitter);
  EXPECT_TRUE(s.result(quitter).is_cancelled());
}
TEST(fixtures, ch_cancel_001) {
  cancelled_reserve();
}
TEST(fixtures, ch_cancel_reserve_001) {
  cancelled_reserve();
}
TEST(fixtures, channel_reserve_cancel_005) {
  cancelled_reserve();
}

// Goal:   a cancelled receive takes no message: the error now, the value later.
// Method: a receiver parked in an empty channel, and one that finds a message; both are cancelled before their next
//         poll. INV-CH-06, R-70.
void cancelled_recv() {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  EXPECT_EQ(s.k.request_cancel(a.handle), status::ok);
  fill(ch.tx, {5});
  const channel_report before = look(ch.rx);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::cancelled);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::cancelled) << "until it ends";
  const channel_report after = look(ch.rx);
  EXPECT_EQ(after.queued, 1U);
  EXPECT_EQ(after.counts.received, before.counts.received);
  EXPECT_FALSE(after.is_receiver_waiting);
  s.finish(a);
  puppet& b = s.task();
  std::optional<int> got;
  EXPECT_EQ(poll_recv(s, b, ch.rx, &got), status::ok);
  EXPECT_EQ(got, 5);
}
TEST(fixtures, ch_cancel_002) {
  cancelled_recv();
}
TEST(fixtures, ch_cancel_recv_001) {
  cancelled_recv();
}
TEST(fixtures, channel_recv_cancel_nonconsume_006) {
  cancelled_recv();
}

// ---- the two ends -------------------------------------------------------------------------------------------------

// Goal:   dropping the receiver discards what is queued and tells every waiting sender.
// Method: capacity 2 full, two waiters; all are woken in queue order and leave with disconnected..
void receiver_dropped() {
  roll book;
  puppet_stage s;
  auto ch = open_channel<guest>(s, 2);
  EXPECT_EQ(ch.tx.try_send(guest(1, book)).code, status::ok);
  EXPECT_EQ(ch.tx.try_send(guest(2, book)).code, status::ok);
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<guest> first, second;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  const std::uint64_t mark = s.mark();
  ch.rx.drop();
  EXPECT_EQ(book.died, (std::vector<int>{1, 2}));
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::disconnected}, {b.number, wake_code::disconnected}}));
  const channel_report after = look(ch.tx);
  EXPECT_EQ(after.state, channel_state::receiver_closed);
  EXPECT_FALSE(after.has_receiver);
  EXPECT_EQ(after.queued, 0U);
  EXPECT_EQ(after.counts.discarded, 2U);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::disconnected) << "the head is not waited for";
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::disconnected);
  EXPECT_EQ(look(ch.tx).waiters, 0U);
  send_permit<guest> none;
  EXPECT_EQ(ch.tx.try_reserve(none), status::disconnected);
  auto refused = ch.tx.try_send(guest(3, book));
  EXPECT_EQ(refused.code, status::disconnected);
  ASSERT_TRUE(refused.value.has_value());
  EXPECT_EQ(refused.value->number(), 3);
}
TEST(fixtures, ch_disconnect_001) {
  receiver_dropped();
}
TEST(fixtures, ch_close_wake_001) {
  receiver_dropped();
}

// Goal:   when the last sender is gone the rest is drained, and only then disconnected shows.
// Method: two senders, three messages; a receiver that waits is woken by the second drop, not the first. R-59.
void last_sender_dropped() {
  puppet_stage s;
  auto ch = open_channel(s, 3);
  puppet& a = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  sender<int> other = ch.tx;
  std::uint64_t mark = s.mark();
  ch.tx.drop();
  EXPECT_EQ(s.wakes(mark), told_wakes{});
  other.drop();
  EXPECT_EQ(s.wakes(mark), (told_wakes{{a.number, wake_code::disconnected}}));
  EXPECT_EQ(look(ch.rx).state, channel_state::sender_closed);
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::disconnected);

  auto full = open_channel(s, 3);
  fill(full.tx, {1, 2, 3});
  full.tx.drop();
  EXPECT_EQ(look(full.rx).queued, 3U);
  std::optional<int> got;
  for (const int expected : {1, 2, 3}) {
    EXPECT_EQ(poll_recv(s, a, full.rx, &got), status::ok);
    EXPECT_EQ(got, expected);
  }
  EXPECT_EQ(poll_recv(s, a, full.rx), status::disconnected);
  EXPECT_EQ(full.rx.try_recv().code, status::disconnected);
}
TEST(fixtures, ch_disconnect_002) {
  last_sender_dropped();
}
TEST(fixtures, ch_close_drain_001) {
  last_sender_dropped();
}

// Goal:   the messages of each of several senders keep their order, and the order of all of them repeats.
// Method: three producers of four messages each into two slots; two runs. INV-CH-02, R-69.
void several_senders() {
  struct producer {
    sender<int> tx;
    int next, last;
    reserve_wait wait{};
    send_permit<int> permit{};
    static poll_result poll(void* self, cx& c) {
      auto& p = *static_cast<producer*>(self);
      while (p.next <= p.last) {
        const status got = p.tx.poll_reserve(c, p.wait, p.permit);
        if (got == status::would_block) return poll_result::pending;
        EXPECT_EQ(got, status::ok);
        EXPECT_EQ(p.permit.send(p.next++).code, status::ok);
      }
      p.tx.drop();
      return poll_result::ready;
    }
  };
  struct consumer {
    receiver<int> rx;
    std::vector<int> got{};
    static poll_result poll(void* self, cx& c) {
      auto& p = *static_cast<consumer*>(self);
      for (;;) {
        const recv_result<int> r = p.rx.poll_recv(c);
        if (r.code == status::would_block) return poll_result::pending;
        if (r.code != status::ok) return poll_result::ready;
        p.got.push_back(*r.value);
      }
    }
  };
  const auto play = [] {
    runtime rt;
    auto ch = channel<int>(rt.kernel(), rt.root(), 2);
    std::deque<producer> producers;
    for (const int base : {100, 200, 300}) producers.push_back({ch.tx, base, base + 3});
    ch.tx.drop();
    consumer last{std::move(ch.rx)};
    task_handle t;
    for (producer& p : producers) {
      EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &producer::poll, .context = &p}, t), status::ok);
    }
    EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &consumer::poll, .context = &last}, t), status::ok);
    rt.run_until_idle();
    EXPECT_EQ(rt.kernel().live_tasks(), 0U);
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    return last.got;
  };
  const std::vector<int> order = play();
  EXPECT_EQ(order.size(), 12U);
  for (const int base : {100, 200, 300}) {
    std::vector<int> own;
    std::copy_if(order.begin(), order.end(), std::back_inserter(own), [base](int v) { return v / 100 == base / 100; });
    EXPECT_EQ(own, (std::vector<int>{base, base + 1, base + 2, base + 3}));
  }
  EXPECT_EQ(order, play());
}
TEST(fixtures, ch_multi_sender_001) {
  several_senders();
}
TEST(fixtures, ch_fifo_001) {
  several_senders();
}

// ---- eviction -----------------------------------------------------------------------------------------------------

// Goal:   an evicting send takes the oldest committed message out and returns it; with room it evicts nothing.
// Method: capacity 2 with one message, then two. R-68.
void evicts_the_oldest() {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  fill(ch.tx, {1});
  auto sent = ch.tx.send_evict_oldest(2);
  EXPECT_EQ(sent.code, status::ok);
  EXPECT_FALSE(sent.evicted.has_value());
  EXPECT_FALSE(sent.value.has_value());
  sent = ch.tx.send_evict_oldest(3);
  EXPECT_EQ(sent.code, status::ok);
  EXPECT_EQ(sent.evicted, 1);
  EXPECT_EQ(look(ch.tx).queued, 2U);
  EXPECT_EQ(look(ch.tx).counts.evicted, 1U);
  EXPECT_EQ(drain(ch.rx), (std::vector<int>{2, 3}));
}
TEST(fixtures, ch_evict_001) {
  evicts_the_oldest();
}
TEST(fixtures, channel_evict_committed_008) {
  evicts_the_oldest();
}

// Goal:   reserved slots are never evicted: full when there are no others, and a permit always finds its slot.
// Method: capacity 2, both reserved; then one committed and one reserved. R-68.
void spares_the_reserved() {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  send_permit<int> first = must_reserve(ch.tx);
  send_permit<int> second = must_reserve(ch.tx);
  auto sent = ch.tx.send_evict_oldest(9);
  EXPECT_EQ(sent.code, status::full);
  EXPECT_EQ(sent.value, 9);
  EXPECT_FALSE(sent.evicted.has_value());
  EXPECT_EQ(look(ch.tx).reserved, 2U);
  EXPECT_EQ(first.send(1).code, status::ok);
  sent = ch.tx.send_evict_oldest(2);
  EXPECT_EQ(sent.code, status::ok);
  EXPECT_EQ(sent.evicted, 1);
  EXPECT_EQ(look(ch.tx).reserved, 1U);
  EXPECT_EQ(second.send(3).code, status::ok);
  EXPECT_EQ(drain(ch.rx), (std::vector<int>{2, 3}));
}
TEST(fixtures, ch_evict_reserved_001) {
  spares_the_reserved();
}
TEST(fixtures, channel_evict_reserved_007) {
  spares_the_reserved();
}

}  // namespace
}  // namespace asx
