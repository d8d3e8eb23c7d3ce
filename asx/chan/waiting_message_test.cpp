// asx/chan/waiting_message_test.cpp - a message that waits is taken by its channel in its turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
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
using testing::guest;
using testing::last_words;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::poll_recv;
using testing::poll_recv_many;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::roll;
using testing::told_wake;
using testing::told_wakes;
using enum event_kind;
using kinds = std::vector<event_kind>;
using ints = std::vector<int>;

/// One message in the hands of whoever sends it.
template <class T = int>
struct letter {
  explicit letter(T m) : message(std::move(m)) {}
  T message;
  reserve_wait wait;
  status code = status::ok;
};
/// The puppet polls its send once.
template <class T>
status poll_send(puppet_stage& s, puppet& p, sender<T>& tx, letter<T>& l) {
  s.act(p, [&](cx& c) {
    l.code = tx.poll_send(c, l.wait, l.message);
    EXPECT_EQ(l.wait.is_waiting(), l.code == status::would_block) << "only would_block waits (R-168)";
  });
  return l.code;
}
status send(channel_scene& x, puppet& p, letter<>& l) {
  return poll_send(x.s, p, x.ch.tx, l);
}
told_wake for_slot(const puppet& p) {
  return {p.number, wake_code::slot};
}

runtime_config with_waiters(std::uint32_t most) {
  runtime_config out = puppet_config();
  out.contract.max_channel_waiters = most;
  return out;
}

// ---- in its own poll ----------------------------------------------------------------------------------------------

TEST(channel_waiting_message, r322_a_message_in_its_turn_is_queued_without_a_permit_object) {
  channel_scene x(3);
  send_permit<int> held = must_reserve(x.ch.tx);
  letter<> first(1), second(2);
  x.mark();
  EXPECT_EQ(send(x, x.a, first), status::ok);
  EXPECT_EQ(x.told(), kinds{permit_sent});
  const event sent = x.told(permit_sent).at(0);
  EXPECT_EQ(sent.subject, look(x.ch.tx).id.value);
  EXPECT_EQ(sent.object, x.a.number);
  EXPECT_EQ(sent.a, 2U) << "the next permit number (R-233)";
  EXPECT_EQ(sent.b, pack(1, 1));
  EXPECT_EQ(send(x, x.b, second), status::ok);
  EXPECT_EQ(look(x.ch.tx).counts.reserved, 3U);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2}));
}

TEST(channel_waiting_message, r322_a_message_in_its_turn_wakes_the_receiver_and_hands_the_wake_on) {
  channel_scene x(3);
  attempt<> head, behind;
  letter<> one(1);
  send_permit<int> p1 = must_reserve(x.ch.tx), p2 = must_reserve(x.ch.tx), p3 = must_reserve(x.ch.tx);
  EXPECT_EQ(poll_recv(x.s, x.d, x.ch.rx), status::would_block);
  EXPECT_EQ(send(x, x.a, one), status::would_block);
  EXPECT_EQ(x.reserve(x.b, behind), status::would_block);
  x.s.k.waker_of(x.a.handle).wake();  // It looks for itself.
  p1.abort();
  p2.abort();
  x.mark();
  EXPECT_EQ(send(x, x.a, one), status::ok);
  EXPECT_EQ(x.told(), (kinds{send_waiter_removed, permit_sent}));
  EXPECT_EQ(x.how_it_left(), leave_code::served);
  EXPECT_EQ(x.woken(), (told_wakes{{x.d.number, wake_code::message}, for_slot(x.b)}));
}

TEST(channel_waiting_message, r322_it_answers_in_the_order_of_poll_reserve) {
  channel_scene x(1, with_waiters(0));
  fill(x.ch.tx, {1});
  sender<int> dead;
  letter<> l(2);
  EXPECT_EQ(send(x, x.a, l), status::resource_exhausted);
  x.ch.rx.drop();
  EXPECT_EQ(send(x, x.a, l), status::disconnected);
  EXPECT_EQ(x.s.k.request_cancel(x.a.handle), status::ok);
  EXPECT_EQ(poll_send(x.s, x.a, dead, l), status::stale_handle);
  EXPECT_EQ(x.s.report(x.a).state, task_state::cancel_requested) << "a dead sender asks no checkpoint";
  EXPECT_EQ(send(x, x.a, l), status::cancelled);
  EXPECT_EQ(x.s.report(x.a).state, task_state::cancelling) << "a cancel point";
  EXPECT_EQ(l.message, 2);
}

TEST(channel_waiting_message, r322_one_that_does_not_fit_the_limit_of_waiters_is_refused_by_one_refused_slot) {
  channel_scene x(1, with_waiters(1));
  fill(x.ch.tx, {1});
  letter<> first(2), second(3);
  EXPECT_EQ(send(x, x.a, first), status::would_block);
  x.mark();
  EXPECT_EQ(send(x, x.b, second), status::resource_exhausted);
  const std::vector<event> refused = x.told(refused_slot);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(low_half(refused[0].a), static_cast<std::uint32_t>(status::resource_exhausted));
  EXPECT_EQ(high_half(refused[0].a), static_cast<std::uint32_t>(limit_code::channel_waiters));
  EXPECT_EQ(second.message, 3);
  EXPECT_EQ(send(x, x.a, first), status::would_block) << "who waits keeps its place";
}

TEST(channel_waiting_message, r322_it_has_its_turn_as_a_reserve_has) {
  channel_scene x(2);
  fill(x.ch.tx, {1, 2});
  attempt<> first;
  letter<> second(3);
  EXPECT_EQ(x.reserve(x.a, first), status::would_block);
  EXPECT_EQ(drain(x.ch.rx).size(), 2U);
  EXPECT_EQ(send(x, x.b, second), status::would_block) << "two slots are free, and a is the head";
  EXPECT_EQ(second.wait.id(), 2U);
  EXPECT_EQ(look(x.ch.tx).queued, 0U);
}

TEST(channel_waiting_message, r322_on_would_block_it_stands_in_the_queue_and_the_message_is_untouched) {
  puppet_stage s;
  auto ch = open_channel<std::unique_ptr<int>>(s, 1);
  puppet& a = s.task();
  EXPECT_EQ(ch.tx.try_send(std::make_unique<int>(1)).code, status::ok);
  letter<std::unique_ptr<int>> l(std::make_unique<int>(2));
  const int* const where = l.message.get();
  const std::uint64_t before = s.mark();
  for (int poll = 0; poll < 3; ++poll) {
    EXPECT_EQ(poll_send(s, a, ch.tx, l), status::would_block);
    EXPECT_EQ(l.wait.id(), 1U) << "asked again it keeps its place (R-60)";
    EXPECT_EQ(look(ch.tx).waiters, 1U);
    EXPECT_EQ(l.message.get(), where);
  }
  EXPECT_EQ(s.channel_kinds(before), kinds{send_waiter_added});
  EXPECT_EQ(*l.message, 2);
}

TEST(channel_waiting_message, r322_a_wait_that_ends_otherwise_leaves_the_message_with_its_owner) {
  enum class way : std::uint8_t { cancel, receiver, sender, region, task, drop };
  for (const way how : {way::cancel, way::receiver, way::sender, way::region, way::task, way::drop}) {
    SCOPED_TRACE(static_cast<int>(how));
    puppet_stage s;
    const region_handle r = s.region();
    auto ch = open_channel<std::unique_ptr<int>>(s, r, 1);
    sender<std::unique_ptr<int>> mine = ch.tx;
    puppet& a = s.task();
    EXPECT_EQ(ch.tx.try_send(std::make_unique<int>(1)).code, status::ok);
    letter<std::unique_ptr<int>> l(std::make_unique<int>(2));
    EXPECT_EQ(poll_send(s, a, mine, l), status::would_block);
    std::optional<status> wanted;
    switch (how) {
      case way::cancel:
        EXPECT_EQ(s.k.request_cancel(a.handle), status::ok);
        wanted = status::cancelled;
        break;
      case way::receiver:
        ch.rx.drop();
        wanted = status::disconnected;
        break;
      case way::sender:
        mine.drop();
        wanted = status::stale_handle;
        break;
      case way::region:
        EXPECT_EQ(s.k.close(r), status::ok);
        wanted = status::disconnected;
        break;
      case way::task: s.finish(a); break;
      case way::drop: l.wait = {}; break;
    }
    if (wanted) {
      EXPECT_TRUE(s.is_woken(a));
      EXPECT_EQ(poll_send(s, a, mine, l), *wanted);
    }
    EXPECT_FALSE(l.wait.is_waiting());
    ASSERT_NE(l.message, nullptr);
    EXPECT_EQ(*l.message, 2);
    if (how == way::receiver || how == way::region) continue;
    EXPECT_EQ(**ch.rx.try_recv().value, 1);
    EXPECT_EQ(ch.rx.try_recv().code, status::empty) << "nobody sent what was given up";
    EXPECT_EQ(look(ch.tx).waiters, 0U);
  }
}

// ---- taken --------------------------------------------------------------------------------------------------------

TEST(channel_waiting_message, r322_a_receive_takes_the_message_of_the_head_without_a_poll) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(look(x.ch.tx).queued, 1U);
  EXPECT_EQ(look(x.ch.tx).waiters, 0U);
  EXPECT_FALSE(l.wait.is_waiting());
  EXPECT_EQ(x.ch.rx.try_recv().value, 2) << "its task was not polled";
  EXPECT_EQ(x.ch.rx.try_recv().code, status::empty);
  EXPECT_TRUE(x.s.is_woken(x.a));
  EXPECT_EQ(send(x, x.a, l), status::ok);
  EXPECT_EQ(look(x.ch.tx).queued, 0U) << "and not sent once more";
}

TEST(channel_waiting_message, r322_what_was_taken_is_told_by_the_removal_and_the_send_and_names_who_waited) {
  channel_scene x(2);
  send_permit<int> held = must_reserve(x.ch.tx);
  fill(x.ch.tx, {1});
  letter<> l(2);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(send(x, x.a, l), status::ok);
  EXPECT_EQ(send(x, x.b, l), status::would_block);
  x.mark();
  std::optional<int> got;
  EXPECT_EQ(poll_recv(x.s, x.d, x.ch.rx, &got), status::ok);
  EXPECT_EQ(x.told(), (kinds{message_received, send_waiter_removed, permit_sent}));
  EXPECT_EQ(x.told(message_received)[0].object, x.d.number);
  const event left = x.told(send_waiter_removed)[0];
  EXPECT_EQ(left.subject, look(x.ch.tx).id.value);
  EXPECT_EQ(left.object, x.b.number) << "who waited, and not who received";
  EXPECT_EQ(left.a, 2U);
  EXPECT_EQ(low_half(left.b), static_cast<std::uint32_t>(leave_code::served));
  EXPECT_EQ(high_half(left.b), 0U);
  const event sent = x.told(permit_sent)[0];
  EXPECT_EQ(sent.subject, look(x.ch.tx).id.value);
  EXPECT_EQ(sent.object, x.b.number);
  EXPECT_EQ(sent.a, 4U) << "after the permit, the message before and the one that was taken first";
  EXPECT_EQ(sent.b, pack(1, 1)) << "queued and reserved after it (R-235)";
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.b)}));
  EXPECT_GT(x.told(task_woken).back().seq, sent.seq);
  held.abort();
}

TEST(channel_waiting_message, r322_the_receiver_is_woken_first_and_then_who_waited) {
  channel_scene x(1);
  send_permit<int> held = must_reserve(x.ch.tx);
  letter<> l(7);
  EXPECT_EQ(poll_recv(x.s, x.d, x.ch.rx), status::would_block);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  x.mark();
  held.abort();
  EXPECT_EQ(x.told(), (kinds{permit_aborted, send_waiter_removed, permit_sent}));
  EXPECT_EQ(x.woken(), (told_wakes{{x.d.number, wake_code::message}, for_slot(x.a)}));
  EXPECT_FALSE(look(x.ch.rx).is_receiver_waiting);
  std::optional<int> got;
  EXPECT_EQ(poll_recv(x.s, x.d, x.ch.rx, &got), status::ok);
  EXPECT_EQ(got, 7);
}

// abort, drop, recv, a claim that leaves room, and the removal of a waiter.
TEST(channel_waiting_message, r322_wherever_the_head_would_be_woken_its_message_is_taken) {
  enum class way : std::uint8_t { recv, recv_many, abort, drop, unwind, claim, list, leaves, cancels, ends, dies };
  for (const way how : {way::recv, way::recv_many, way::abort, way::drop, way::unwind, way::claim, way::list,
                        way::leaves, way::cancels, way::ends, way::dies}) {
    SCOPED_TRACE(static_cast<int>(how));
    channel_scene x(2);
    puppet& holder = x.s.task();
    std::array<send_permit<int>, 2> held;
    x.s.act(holder, [&](cx&) {
      for (send_permit<int>& p : held) p = must_reserve(x.ch.tx);  // asx: bounded by both
    });
    sender<int> others = x.ch.tx;
    attempt<> before;  // A head that was woken and did nothing yet.
    batch<> list({1});
    const bool has_head = how >= way::claim;
    if (has_head) {
      if (how == way::list) {
        EXPECT_EQ(x.send(x.b, list), status::would_block);
      } else {
        EXPECT_EQ(testing::poll_reserve(x.s, x.b, others, before), status::would_block);
      }
    }
    letter<> l(7);
    EXPECT_EQ(send(x, x.a, l), status::would_block);
    if (has_head) {
      held[0].abort();
      held[1].abort();
      EXPECT_TRUE(x.s.is_woken(x.b));
      EXPECT_EQ(look(x.ch.tx).queued, 0U);
    }
    ints got;
    switch (how) {
      case way::recv:
        EXPECT_EQ(held[0].send(1).code, status::ok);
        EXPECT_EQ(x.ch.rx.try_recv().value, 1);
        break;
      case way::recv_many:
        EXPECT_EQ(held[0].send(1).code, status::ok);
        EXPECT_EQ(x.recv(x.d, 1, got), status::ok);
        break;
      case way::abort: held[0].abort(); break;
      case way::drop: held[0] = {}; break;
      case way::unwind: x.s.finish(holder); break;
      case way::claim: EXPECT_EQ(testing::poll_reserve(x.s, x.b, others, before), status::ok); break;
      case way::list: EXPECT_EQ(x.send(x.b, list), status::ok); break;
      case way::leaves: before.wait.leave(); break;
      case way::cancels:
        EXPECT_EQ(x.s.k.request_cancel(x.b.handle), status::ok);
        EXPECT_EQ(testing::poll_reserve(x.s, x.b, others, before), status::cancelled);
        break;
      case way::ends: x.s.finish(x.b); break;
      case way::dies: others.drop(); break;
    }
    EXPECT_EQ(look(x.ch.tx).waiters, 0U);
    EXPECT_EQ(look(x.ch.tx).queued, how == way::list ? 2U : 1U);
    EXPECT_TRUE(x.s.is_woken(x.a));
    EXPECT_EQ(drain(x.ch.rx).back(), 7);
    EXPECT_EQ(send(x, x.a, l), status::ok);
  }
}

TEST(channel_waiting_message, r322_it_goes_on_with_the_next_head_while_there_is_room) {
  channel_scene x(3);
  fill(x.ch.tx, {1, 2, 3});
  attempt<> head;
  puppet& e = x.s.task();
  puppet& f = x.s.task();
  letter<> b(4), d(5), last(6), none(7);
  EXPECT_EQ(x.reserve(x.a, head), status::would_block);
  EXPECT_EQ(send(x, x.b, b), status::would_block);
  EXPECT_EQ(send(x, x.d, d), status::would_block);
  EXPECT_EQ(send(x, e, last), status::would_block);
  EXPECT_EQ(send(x, f, none), status::would_block);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2, 3}));
  x.mark();
  head.wait.leave();
  EXPECT_EQ(x.told(), (kinds{send_waiter_removed, send_waiter_removed, permit_sent, send_waiter_removed, permit_sent,
                             send_waiter_removed, permit_sent}));
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.b), for_slot(x.d), for_slot(e)}));
  const std::vector<event> sent = x.told(permit_sent);
  EXPECT_TRUE(sent[0].a == 4 && sent[1].a == 5 && sent[2].a == 6) << "the order of the queue is that of the numbers";
  EXPECT_EQ(look(x.ch.tx).waiters, 1U) << "there was room for three";
  EXPECT_EQ(drain(x.ch.rx), (ints{4, 5, 6, 7}));
}

TEST(channel_waiting_message, r322_a_receive_of_several_has_those_that_were_taken_meanwhile) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> first(2), second(3);
  EXPECT_EQ(send(x, x.a, first), status::would_block);
  EXPECT_EQ(send(x, x.b, second), status::would_block);
  ints got;
  x.mark();
  EXPECT_EQ(x.recv(x.d, 9, got), status::ok);
  EXPECT_EQ(got, (ints{1, 2, 3})) << "each is a receive: its slot comes back at once (R-321)";
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.a), for_slot(x.b)}));
}

TEST(channel_waiting_message, r322_values_that_can_only_be_moved_and_lie_on_wide_borders_are_taken_whole) {
  struct alignas(64) wide {
    explicit wide(int n) : number(std::make_unique<int>(n)) {}
    wide(wide&& other) noexcept : number(std::move(other.number)) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 64, 0U);
    }
    wide& operator=(wide&&) = delete;
    ~wide() = default;
    std::unique_ptr<int> number;
    std::array<std::byte, 100> filler{};
  };
  puppet_stage s;
  auto ch = open_channel<wide>(s, 2);
  std::vector<puppet*> tasks;
  std::vector<std::unique_ptr<letter<wide>>> letters;
  for (int i = 0; i < 6; ++i) {
    tasks.push_back(&s.task());
    letters.push_back(std::make_unique<letter<wide>>(wide(i)));
    EXPECT_EQ(poll_send(s, *tasks.back(), ch.tx, *letters.back()), i < 2 ? status::ok : status::would_block);
  }
  for (int i = 0; i < 6; ++i) {
    const recv_result<wide> got = ch.rx.try_recv();
    ASSERT_TRUE(got.value.has_value());
    EXPECT_EQ(*got.value->number, i);
    EXPECT_EQ(letters[static_cast<std::size_t>(i)]->message.number, nullptr);
  }
}

TEST(channel_waiting_message, r322_each_message_lives_once_and_dies_once) {
  roll book;
  {
    puppet_stage s;
    auto ch = open_channel<guest>(s, 1);
    puppet& a = s.task();
    puppet& b = s.task();
    EXPECT_EQ(ch.tx.try_send(guest(1, book)).code, status::ok);
    letter<guest> first(guest(2, book)), second(guest(3, book));
    EXPECT_EQ(poll_send(s, a, ch.tx, first), status::would_block);
    EXPECT_EQ(poll_send(s, b, ch.tx, second), status::would_block);
    EXPECT_EQ(ch.rx.try_recv().value->number(), 1);
    EXPECT_EQ(book.alive, 2U);
    ch.rx.drop();
    EXPECT_EQ(book.died, (ints{1, 2})) << "what was taken goes with the receiver, what waits stays";
    EXPECT_EQ(poll_send(s, a, ch.tx, first), status::ok);
    EXPECT_EQ(poll_send(s, b, ch.tx, second), status::disconnected);
    EXPECT_EQ(second.message.number(), 3);
  }
  EXPECT_EQ(book.died, (ints{1, 2, 3}));
  EXPECT_EQ(book.alive, 0U);
}

// ---- nobody passes ------------------------------------------------------------------------------------------------

TEST(channel_waiting_message, r322_a_head_that_waits_for_a_permit_is_woken_instead_and_not_passed) {
  channel_scene x(2);
  send_permit<int> p1 = must_reserve(x.ch.tx), p2 = must_reserve(x.ch.tx);
  letter<> a(1), d(3);
  attempt<> b;
  EXPECT_EQ(send(x, x.a, a), status::would_block);
  EXPECT_EQ(x.reserve(x.b, b), status::would_block);
  EXPECT_EQ(send(x, x.d, d), status::would_block);
  x.mark();
  p1.abort();
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.a)})) << "there was room for one";
  EXPECT_EQ(look(x.ch.tx).first_waiter, 2U);
  x.mark();
  p2.abort();
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.b)}));
  EXPECT_EQ(look(x.ch.tx).waiters, 2U) << "the message behind it does not pass";
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(look(x.ch.tx).waiters, 2U) << "nor now, with two slots free and b on its way";
  send_permit<int> late;
  EXPECT_EQ(x.ch.tx.try_reserve(late), status::full);
  EXPECT_EQ(x.ch.tx.try_send(9).code, status::full);
  x.mark();
  EXPECT_EQ(x.reserve(x.b, b), status::ok);
  EXPECT_EQ(x.told(), (kinds{send_waiter_removed, permit_reserved, send_waiter_removed, permit_sent}));
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.d)}));
  EXPECT_EQ(b.permit.send(2).code, status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{3, 2})) << "in the order of their commits (INV-CH-02)";
}

TEST(channel_waiting_message, r322_a_head_that_waits_with_a_list_is_woken_instead) {
  channel_scene x(2);
  fill(x.ch.tx, {1, 2});
  batch<> list({3, 4});
  letter<> l(5);
  EXPECT_EQ(x.send(x.a, list), status::would_block);
  EXPECT_EQ(send(x, x.b, l), status::would_block);
  x.mark();
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2}));
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.a)}));
  EXPECT_EQ(x.send(x.a, list), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{3, 4, 5}));
}

TEST(channel_waiting_message, r322_messages_come_in_the_order_of_their_waits_whoever_is_polled_when) {
  for (std::uint32_t capacity = 1; capacity <= 3; ++capacity) {
    channel_scene x(capacity);
    for (std::uint32_t i = 0; i < capacity; ++i) fill(x.ch.tx, {0});
    std::array<puppet*, 3> who{&x.a, &x.b, &x.d};
    std::vector<std::unique_ptr<letter<>>> all;
    for (int i = 0; i < 9; ++i) {  // Three of each task: only one of them can be taken before it runs.
      all.push_back(std::make_unique<letter<>>(i + 1));
      EXPECT_EQ(send(x, *who[static_cast<std::size_t>(i) % 3], *all.back()), status::would_block);
    }
    ints got;
    for (int round = 0; round < 20; ++round) {
      for (const int v : drain(x.ch.rx)) got.push_back(v);
      for (int i = 8; i >= 0; --i) {  // The newest first: it must not matter.
        letter<>& l = *all[static_cast<std::size_t>(i)];
        if (l.code == status::would_block) static_cast<void>(send(x, *who[static_cast<std::size_t>(i) % 3], l));
      }
    }
    std::erase(got, 0);
    EXPECT_EQ(got, (ints{1, 2, 3, 4, 5, 6, 7, 8, 9})) << capacity;
  }
}

// ---- who looks for itself -----------------------------------------------------------------------------------------

TEST(channel_waiting_message, r322_a_head_whose_task_is_queued_looks_for_itself) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2), behind(3);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  EXPECT_EQ(send(x, x.b, behind), status::would_block);
  x.s.k.waker_of(x.a.handle).wake();
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(look(x.ch.tx).queued, 0U);
  EXPECT_EQ(look(x.ch.tx).waiters, 2U) << "who stands behind it does not pass";
  EXPECT_TRUE(l.wait.is_waiting());
  EXPECT_EQ(send(x, x.a, l), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{2, 3}));
}

TEST(channel_waiting_message, r322_a_task_with_two_messages_has_one_taken_and_looks_for_the_other) {
  channel_scene x(2);
  send_permit<int> p1 = must_reserve(x.ch.tx), p2 = must_reserve(x.ch.tx);
  letter<> first(1), second(2);
  EXPECT_EQ(send(x, x.a, first), status::would_block);
  EXPECT_EQ(send(x, x.a, second), status::would_block);
  x.mark();
  p1.abort();
  p2.abort();
  EXPECT_EQ(look(x.ch.tx).queued, 1U);
  EXPECT_EQ(look(x.ch.tx).waiters, 1U) << "the task is queued since the first was taken";
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.a)})) << "once (R-173)";
  EXPECT_EQ(send(x, x.a, second), status::ok);
  EXPECT_EQ(send(x, x.a, first), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2}));
}

TEST(channel_waiting_message, r322_a_head_whose_task_is_being_polled_looks_for_itself) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  x.s.act(x.a, [&](cx& c) {
    EXPECT_EQ(x.ch.tx.poll_send(c, l.wait, l.message), status::would_block);
    EXPECT_EQ(x.ch.rx.try_recv().value, 1);
    EXPECT_EQ(look(x.ch.tx).queued, 0U) << "it is in the middle of something";
    EXPECT_TRUE(l.wait.is_waiting());
  });
  EXPECT_TRUE(x.s.is_woken(x.a)) << "and comes back (R-23)";
  EXPECT_EQ(send(x, x.a, l), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{2}));
}

TEST(channel_waiting_message, r322_a_head_whose_task_is_asked_to_cancel_looks_for_itself) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2), behind(3);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  EXPECT_EQ(send(x, x.b, behind), status::would_block);
  EXPECT_EQ(x.s.k.request_cancel(x.a.handle), status::ok);
  x.s.act(x.a, [](cx&) {});  // Polled, and the cancel not looked at.
  EXPECT_FALSE(x.s.is_woken(x.a));
  EXPECT_EQ(x.s.report(x.a).state, task_state::cancel_requested);
  x.mark();
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(x.told(), kinds{message_received});
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.a)}));
  EXPECT_EQ(send(x, x.a, l), status::cancelled);
  EXPECT_EQ(l.message, 2) << "not sent: it came back";
  EXPECT_EQ(drain(x.ch.rx), (ints{3})) << "the slot went to the next one";
}

TEST(channel_waiting_message, r322_a_head_that_has_acknowledged_and_waits_in_a_mask_looks_for_itself) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  x.s.cancel(x.a);
  x.s.act(x.a, [&](cx& c) {
    EXPECT_EQ(c.mask_enter(), status::ok);
    EXPECT_EQ(x.ch.tx.poll_send(c, l.wait, l.message), status::would_block);
  });
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(look(x.ch.tx).queued, 0U);
  EXPECT_TRUE(x.s.is_woken(x.a));
  EXPECT_EQ(send(x, x.a, l), status::ok) << "in a mask it is sent all the same";
  EXPECT_EQ(drain(x.ch.rx), (ints{2}));
}

// ---- a trace that rejects -----------------------------------------------------------------------------------------

/// Fills the trace until there is room for `room` events.
void leave_room(channel_scene& x, std::uint64_t room) {
  journal& log = x.s.rt.journal();
  while (log.reserve(room + 1) == status::ok) log.append_text(text_code::note, type_tag::task, 1, "x");
  EXPECT_EQ(log.reserve(room), status::ok);
  x.mark();
}
runtime_config with_a_trace_that_rejects() {
  runtime_config out = puppet_config();
  out.contract.overflow = trace_overflow::reject;
  out.contract.max_trace_events = 1024;
  return out;
}

TEST(channel_waiting_message, r322_a_head_is_woken_instead_when_a_trace_that_rejects_has_no_room) {
  std::array<int, 2> met{};
  for (std::uint64_t room = 0; room < 24; ++room) {
    SCOPED_TRACE(room);
    channel_scene x(1, with_a_trace_that_rejects());
    send_permit<int> held = must_reserve(x.ch.tx);
    letter<> l(2);
    EXPECT_EQ(poll_recv(x.s, x.d, x.ch.rx), status::would_block);
    EXPECT_EQ(send(x, x.a, l), status::would_block);
    x.s.act(x.b, [&](cx&) {
      leave_room(x, room);
      held.abort();
      const bool is_taken = look(x.ch.tx).queued == 1;
      ++met[is_taken ? 1 : 0];
      EXPECT_EQ(l.wait.is_waiting(), !is_taken);
      EXPECT_EQ(x.told(permit_sent).size(), is_taken ? 1U : 0U) << "what was taken is told";
      EXPECT_EQ(x.told(send_waiter_removed).size(), is_taken ? 1U : 0U);
      EXPECT_TRUE(!is_taken || x.s.rt.journal().overwritten() == 0);
      EXPECT_TRUE(x.s.is_woken(x.a));
      x.s.rt.journal().discard_oldest(x.s.rt.journal().size());
    });
    EXPECT_EQ(send(x, x.a, l), status::ok);
    EXPECT_EQ(drain(x.ch.rx), (ints{2}));
  }
  EXPECT_GE(met[0], 3) << "a removal, a send and the wakes need room";
  EXPECT_GE(met[1], 1);
}

TEST(channel_waiting_message, r322_a_trace_that_rejects_and_is_full_refuses_a_message) {
  std::array<int, 2> met{};
  for (std::uint64_t room = 0; room < 24; ++room) {
    SCOPED_TRACE(room);
    channel_scene x(1, with_a_trace_that_rejects());
    letter<> l(2);
    x.s.act(x.a, [&](cx& c) {
      leave_room(x, room);
      const status code = x.ch.tx.poll_send(c, l.wait, l.message);
      const bool is_sent = code == status::ok;
      EXPECT_TRUE(is_sent || code == status::resource_exhausted);
      EXPECT_EQ(look(x.ch.tx).queued, is_sent ? 1U : 0U);
      EXPECT_EQ(x.told(permit_sent).size(), look(x.ch.tx).queued);
      EXPECT_FALSE(l.wait.is_waiting());
      ++met[is_sent ? 1 : 0];
      x.s.rt.journal().discard_oldest(x.s.rt.journal().size());
    });
  }
  EXPECT_GE(met[0], 1);
  EXPECT_GE(met[1], 1);
}

// ---- what was taken is sent ---------------------------------------------------------------------------------------

/// A channel of one slot with a message of `a`, whose task was not polled since it was taken.
struct taken_scene : channel_scene {
  explicit taken_scene(region_handle (*make)(puppet_stage&) = nullptr) : channel_scene(1) {
    if (make != nullptr) home = make(s);
    if (make != nullptr) ch = open_channel(s, home, 1);
    mine = ch.tx;
    fill(ch.tx, {1});
    EXPECT_EQ(poll_send(s, a, mine, l), status::would_block);
    EXPECT_EQ(ch.rx.try_recv().value, 1);
    EXPECT_EQ(look(ch.tx).queued, 1U);
    EXPECT_FALSE(l.wait.is_waiting());
    mark();
  }
  region_handle home{};
  sender<int> mine;
  letter<> l{2};
};

TEST(channel_waiting_message, r322_what_was_taken_is_told_once) {
  taken_scene x;
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::ok);
  EXPECT_EQ(x.told(), kinds{}) << "all of it was told when it was sent";
  letter<> next(3);
  next.wait = std::move(x.l.wait);
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, next), status::would_block) << "the next message is another one";
  EXPECT_EQ(drain(x.ch.rx), (ints{2, 3}));
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, next), status::ok);
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, next), status::ok) << "sent in its turn";
  EXPECT_EQ(drain(x.ch.rx), (ints{3}));
}

TEST(channel_waiting_message, r322_what_was_taken_is_told_to_a_task_that_is_cancelled_by_then) {
  for (const bool has_acknowledged : {false, true}) {
    taken_scene x;
    EXPECT_EQ(x.s.k.request_cancel(x.a.handle), status::ok);
    if (has_acknowledged) x.s.act(x.a, [](cx& c) { EXPECT_EQ(c.checkpoint(), status::cancelled); });
    const task_state before = x.s.report(x.a).state;
    EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::ok);
    EXPECT_EQ(x.s.report(x.a).state, before) << "the next cancel point says it";
    EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::cancelled);
    EXPECT_EQ(drain(x.ch.rx), (ints{2}));
  }
}

TEST(channel_waiting_message, r322_what_was_taken_is_told_of_a_dead_sender) {
  taken_scene x;
  x.mine.drop();
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::ok);
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::stale_handle);
  EXPECT_EQ(drain(x.ch.rx), (ints{2})) << "the message does not leave with its sender";
}

TEST(channel_waiting_message, r322_what_was_taken_is_told_when_the_receiver_or_the_channel_is_gone) {
  enum class way : std::uint8_t { receiver, region, both_ends };
  for (const way how : {way::receiver, way::region, way::both_ends}) {
    SCOPED_TRACE(static_cast<int>(how));
    taken_scene x([](puppet_stage& s) { return s.region(); });
    if (how != way::region) x.ch.rx.drop();
    if (how == way::region) {
      EXPECT_EQ(x.s.k.close(x.home), status::ok);
    }
    if (how == way::both_ends) {
      x.ch.tx.drop();
      x.mine.drop();
    }
    EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::ok);
    EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), how == way::both_ends ? status::stale_handle : status::disconnected);
  }
}

TEST(channel_waiting_message, r322_what_was_taken_is_told_when_it_was_evicted_meanwhile) {
  taken_scene x;
  EXPECT_EQ(x.ch.tx.send_evict_oldest(9).evicted, 2);
  EXPECT_EQ(poll_send(x.s, x.a, x.mine, x.l), status::ok);
  EXPECT_EQ(drain(x.ch.rx), (ints{9}));
}

TEST(channel_waiting_message, r322_a_wait_that_is_dropped_after_that_has_nothing_to_give_back) {
  enum class way : std::uint8_t { assign, leave, end_of_task };
  for (const way how : {way::assign, way::leave, way::end_of_task}) {
    SCOPED_TRACE(static_cast<int>(how));
    taken_scene x;
    letter<> behind(3);
    EXPECT_EQ(send(x, x.b, behind), status::would_block);
    x.mark();
    if (how == way::assign) x.l.wait = {};
    if (how == way::leave) x.l.wait.leave();
    if (how == way::end_of_task) x.s.finish(x.a);
    EXPECT_EQ(x.told(), kinds{});
    EXPECT_EQ(x.woken(), told_wakes{});
    EXPECT_EQ(look(x.ch.tx).queued, 1U);
    EXPECT_EQ(look(x.ch.tx).waiters, 1U);
    EXPECT_EQ(drain(x.ch.rx), (ints{2, 3}));
  }
}

// Whoever gives a wait up asks with it for something else next, and must not be told of what was before.
TEST(channel_waiting_message, r322_a_wait_that_was_dropped_after_that_begins_anew) {
  for (const bool leaves : {false, true}) {
    SCOPED_TRACE(leaves);
    taken_scene x;
    if (leaves) {
      x.l.wait.leave();
    } else {
      x.l.wait = {};
    }
    x.l.message = 3;
    EXPECT_EQ(poll_send(x.s, x.b, x.mine, x.l), status::would_block) << "another message, another turn";
    EXPECT_EQ(drain(x.ch.rx), (ints{2, 3}));
  }
}

TEST(channel_waiting_message, r322_a_wait_that_is_moved_after_that_takes_along_that_it_was_sent) {
  for (const bool by_assignment : {false, true}) {
    SCOPED_TRACE(by_assignment);
    taken_scene x;
    letter<> other(3);
    if (by_assignment) {
      other.wait = std::move(x.l.wait);
      EXPECT_EQ(poll_send(x.s, x.a, x.mine, other), status::ok);
    } else {
      reserve_wait moved(std::move(x.l.wait));
      x.s.act(x.a, [&](cx& c) { EXPECT_EQ(x.mine.poll_send(c, moved, other.message), status::ok); });
    }
    EXPECT_EQ(poll_send(x.s, x.b, x.mine, x.l), status::would_block) << "it is told once, of the wait that it is now";
    x.l.wait.leave();
    EXPECT_EQ(drain(x.ch.rx), ints{2});
  }
}

// ---- without its message ------------------------------------------------------------------------------------------

TEST(channel_waiting_message, r322_a_wait_that_is_moved_keeps_its_place_without_its_message) {
  for (const bool by_assignment : {false, true}) {
    channel_scene x(1);
    fill(x.ch.tx, {1});
    letter<> l(2), behind(3);
    EXPECT_EQ(send(x, x.a, l), status::would_block);
    EXPECT_EQ(send(x, x.b, behind), status::would_block);
    x.mark();
    letter<> other(4);
    if (by_assignment) {
      other.wait = std::move(l.wait);
    } else {
      std::optional<reserve_wait> there(std::move(l.wait));
      other.wait = std::move(*there);
    }
    EXPECT_EQ(x.told(), kinds{});
    EXPECT_EQ(other.wait.id(), 1U);
    EXPECT_FALSE(l.wait.is_waiting());
    EXPECT_EQ(x.ch.rx.try_recv().value, 1);
    EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.a)})) << "woken, and nothing taken";
    EXPECT_EQ(look(x.ch.tx).queued, 0U);
    EXPECT_EQ(look(x.ch.tx).waiters, 2U);
    EXPECT_EQ(l.message, 2);
    EXPECT_EQ(send(x, x.a, other), status::ok) << "it asks in its old place, with the message that it has now";
    EXPECT_EQ(drain(x.ch.rx), (ints{4, 3}));
  }
}

TEST(channel_waiting_message, r322_a_wait_that_was_moved_stands_with_its_message_when_it_is_polled_again) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  letter<> other(4);
  other.wait = std::move(l.wait);
  EXPECT_EQ(send(x, x.a, other), status::would_block);
  EXPECT_EQ(other.wait.id(), 1U);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 4})) << "taken from where it is now";
  EXPECT_EQ(send(x, x.a, other), status::ok);
}

TEST(channel_waiting_message, r322_a_wait_that_is_asked_for_a_permit_keeps_its_place_without_its_message) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  send_permit<int> permit;
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  x.s.act(x.a, [&](cx& c) { EXPECT_EQ(x.ch.tx.poll_reserve(c, l.wait, permit), status::would_block); });
  EXPECT_EQ(l.wait.id(), 1U);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(look(x.ch.tx).queued, 0U);
  EXPECT_TRUE(x.s.is_woken(x.a));
  x.s.act(x.a, [&](cx& c) { EXPECT_EQ(x.ch.tx.poll_reserve(c, l.wait, permit), status::ok); });
  EXPECT_EQ(permit.send(5).code, status::ok);
  EXPECT_EQ(l.message, 2);
  EXPECT_EQ(send(x, x.a, l), status::would_block) << "a new wait, with the message";
  EXPECT_EQ(drain(x.ch.rx), (ints{5, 2}));
}

TEST(channel_waiting_message, r322_a_wait_for_a_permit_that_comes_with_a_message_stands_with_it) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  send_permit<int> permit;
  x.s.act(x.a, [&](cx& c) { EXPECT_EQ(x.ch.tx.poll_reserve(c, l.wait, permit), status::would_block); });
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  EXPECT_EQ(l.wait.id(), 1U);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2}));
}

TEST(channel_waiting_message, r322_a_wait_that_is_asked_to_send_a_list_keeps_its_place_without_its_message) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  batch<> list({5});
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  x.s.act(x.a, [&](cx& c) { EXPECT_EQ(x.ch.tx.poll_send_many(c, l.wait, list.rest), status::would_block); });
  EXPECT_EQ(l.wait.id(), 1U);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(look(x.ch.tx).queued, 0U) << "the list is what is sent now";
  x.s.act(x.a, [&](cx& c) { EXPECT_EQ(x.ch.tx.poll_send_many(c, l.wait, list.rest), status::ok); });
  EXPECT_EQ(l.message, 2);
  EXPECT_EQ(drain(x.ch.rx), (ints{5}));
}

TEST(channel_waiting_message, r322_a_wait_that_another_task_polls_keeps_its_place_and_is_of_that_task) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  int other = 3;
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  x.s.act(x.b, [&](cx& c) { EXPECT_EQ(x.ch.tx.poll_send(c, l.wait, other), status::would_block); });
  EXPECT_EQ(l.wait.id(), 1U);
  x.mark();
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(x.woken(), (told_wakes{for_slot(x.b)})) << "R-238";
  EXPECT_EQ(x.told(permit_sent)[0].object, x.b.number);
  EXPECT_EQ(l.message, 2);
  EXPECT_EQ(drain(x.ch.rx), (ints{3})) << "what it was polled with last";
}

TEST(channel_waiting_message, r322_a_wait_that_another_sender_polls_begins_anew_with_its_message) {
  channel_scene x(1);
  sender<int> clone = x.ch.tx;
  fill(x.ch.tx, {1});
  letter<> l(2), other(3);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  EXPECT_EQ(send(x, x.b, other), status::would_block);
  EXPECT_EQ(poll_send(x.s, x.a, clone, l), status::would_block);
  EXPECT_EQ(l.wait.id(), 3U) << "R-238";
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 3, 2}));
}

TEST(channel_waiting_message, r322_a_sender_that_is_moved_keeps_the_message_that_waits) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> l(2);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  sender<int> moved = std::move(x.ch.tx);
  EXPECT_EQ(drain(x.ch.rx), (ints{1, 2})) << "R-238";
  EXPECT_EQ(poll_send(x.s, x.a, moved, l), status::ok);
}

// ---- what adds up -------------------------------------------------------------------------------------------------

TEST(channel_waiting_message, r322_a_message_that_waits_holds_no_slot) {
  channel_scene x(2);
  send_permit<int> held = must_reserve(x.ch.tx);
  fill(x.ch.tx, {1});
  const channel_report before = look(x.ch.tx);
  letter<> l(2);
  EXPECT_EQ(send(x, x.a, l), status::would_block);
  const channel_report after = look(x.ch.tx);
  EXPECT_TRUE(after.queued == before.queued && after.reserved == before.reserved);
  EXPECT_EQ(after.counts.reserved, before.counts.reserved) << "a number is taken when it is sent";
  l.wait = {};
  const channel_report end = look(x.ch.tx);
  EXPECT_TRUE(end.queued == before.queued && end.reserved == before.reserved && end.waiters == 0) << "R-63";
  held.abort();
}

TEST(channel_waiting_message, r322_what_was_taken_is_counted_as_reserved_and_sent) {
  channel_scene x(1);
  fill(x.ch.tx, {1});
  letter<> first(2), second(3), third(4);
  EXPECT_EQ(send(x, x.a, first), status::would_block);
  EXPECT_EQ(send(x, x.b, second), status::would_block);
  EXPECT_EQ(send(x, x.d, third), status::would_block);
  EXPECT_EQ(x.ch.rx.try_recv().value, 1);
  EXPECT_EQ(x.ch.tx.send_evict_oldest(9).evicted, 2);
  EXPECT_EQ(x.ch.rx.try_recv().value, 9);
  x.ch.rx.drop();
  EXPECT_EQ(send(x, x.d, third), status::disconnected);
  const channel_counts now = look(x.ch.tx).counts;
  EXPECT_EQ(now.reserved, 4U);
  EXPECT_TRUE(now.sent == 4 && now.aborted == 0);
  EXPECT_TRUE(now.received == 2 && now.evicted == 1 && now.discarded == 1);
}

// its shell calls back wherever it dies, in the ring as well.
struct shell {
  shell(int n, std::function<void()>* call) : number(n), on_death(call) {}
  shell(shell&& other) noexcept : number(other.number), on_death(other.on_death) {}
  shell& operator=(shell&&) = delete;
  ~shell() {
    if (on_death != nullptr) (*on_death)();
  }
  int number;
  std::function<void()>* on_death;
};

TEST(channel_waiting_message, r322_destructors_may_send_and_receive_while_messages_wait) {
  for (std::uint32_t capacity = 1; capacity <= 3; ++capacity) {
    SCOPED_TRACE(capacity);
    puppet_stage s;
    auto ch = open_channel<shell>(s, capacity);
    ints sent, got;
    int depth = 0;
    int next = 100;
    std::function<void()> lives = [&] {
      if (depth != 0 || next >= 120) return;
      ++depth;
      if (ch.tx.try_send(shell(next, nullptr)).code == status::ok) sent.push_back(next);
      ++next;
      if (next % 3 == 0) {
        const recv_result<shell> inner = ch.rx.try_recv();
        if (inner.code == status::ok) got.push_back(inner.value->number);
      }
      --depth;
    };
    std::vector<std::unique_ptr<letter<shell>>> all;
    std::vector<puppet*> who;
    depth = 1;  // Quiet until everybody stands.
    for (int i = 0; i < 8; ++i) {
      who.push_back(&s.task());
      all.push_back(std::make_unique<letter<shell>>(shell(i, &lives)));
      EXPECT_EQ(poll_send(s, *who.back(), ch.tx, *all.back()),
                i < static_cast<int>(capacity) ? status::ok : status::would_block);
      sent.push_back(i);
    }
    depth = 0;
    for (int round = 0; round < 40; ++round) {
      const recv_result<shell> r = ch.rx.try_recv();
      if (r.code == status::ok) got.push_back(r.value->number);
    }
    depth = 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->code != status::would_block) continue;
      EXPECT_EQ(poll_send(s, *who[i], ch.tx, *all[i]), status::ok);
    }
    std::sort(sent.begin(), sent.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, sent) << "each once";
    EXPECT_EQ(look(ch.tx).waiters, 0U);
    all.clear();
  }
}

// A message that dies in a receive sends into the room that it made, or not: the waiting one is never passed.
TEST(channel_waiting_message, r322_a_message_that_dies_does_not_pass_one_that_waits) {
  puppet_stage s;
  auto ch = open_channel<last_words>(s, 1);
  puppet& a = s.task();
  puppet& d = s.task();
  status said = status::ok;
  const auto speaks = [&] { said = ch.tx.try_send(last_words(9, nullptr)).code; };
  EXPECT_EQ(ch.tx.try_send(last_words(1, speaks)).code, status::ok);
  letter<last_words> l(last_words(2, nullptr));
  EXPECT_EQ(poll_send(s, a, ch.tx, l), status::would_block);
  ints seen;
  s.act(d, [&](cx& c) {
    std::uint32_t taken = 0;
    EXPECT_EQ(ch.rx.poll_recv_many(c, 5, [&](last_words&& m) { seen.push_back(m.number); }, taken), status::ok);
  });
  EXPECT_EQ(said, status::full);
  EXPECT_EQ(seen, (ints{1, 2}));
}

//
struct restless {
  explicit restless(std::function<void()>* call) : on_move(call) {}
  restless(restless&& other) noexcept : on_move(other.on_move) {
    if (on_move != nullptr && *on_move) std::exchange(*on_move, nullptr)();
  }
  restless& operator=(restless&&) = delete;
  ~restless() = default;
  std::function<void()>* on_move;
};

TEST(channel_waiting_message_death_test, r322_the_move_of_a_message_that_waits_does_not_use_its_channel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  enum class deed : std::uint8_t { evicts, receives, ends };
  const auto uses = [](deed what) {
    puppet_stage s;
    auto ch = open_channel<restless>(s, 2);
    puppet& a = s.task();
    send_permit<restless> held;
    std::function<void()> call;
    EXPECT_EQ(ch.tx.try_reserve(held), status::ok);
    EXPECT_EQ(ch.tx.try_send(restless(nullptr)).code, status::ok);
    letter<restless> l{restless(&call)};
    EXPECT_EQ(poll_send(s, a, ch.tx, l), status::would_block);
    call = [&ch, what] {
      if (what == deed::evicts) static_cast<void>(ch.tx.send_evict_oldest(restless(nullptr)));
      if (what == deed::receives) static_cast<void>(ch.rx.try_recv());
      if (what == deed::ends) ch.rx.drop();
    };
    held.abort();
  };
  for (const deed what : {deed::evicts, deed::receives, deed::ends}) {
    EXPECT_DEATH(uses(what), "the move of a message does not");
  }
}

}  // namespace
}  // namespace asx
