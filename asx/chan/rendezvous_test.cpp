// asx/chan/rendezvous_test.cpp - a channel without slots: each test is a promise. Long random lives are in
// rendezvous_model_test.cpp.
#include "asx/chan/rendezvous.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/chan/testing/near.hpp"

namespace asx {
namespace {

using testing::counted_memory;
using testing::expect_refused;
using testing::expect_same_digest_twice;
using testing::expect_silent;
using testing::guest;
using testing::last_words;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::roll;
using testing::told_wakes;
using testing::wide_value;

using offer = rendezvous_offer<int>;

static_assert(!std::is_copy_constructible_v<offer> && !std::is_copy_constructible_v<rendezvous_receiver<int>>);
static_assert(std::is_nothrow_move_constructible_v<offer>);

template <class T>
status send(puppet_stage& s, puppet& p, rendezvous_sender<T>& tx, rendezvous_offer<T>& o) {
  status code = status::ok;
  s.act(p, [&](cx& c) { code = tx.poll_send(c, o); });
  return code;
}
template <class T>
recv_result<T> recv(puppet_stage& s, puppet& p, rendezvous_receiver<T>& rx) {
  recv_result<T> out;
  s.act(p, [&](cx& c) { out = rx.poll_recv(c); });
  EXPECT_EQ(out.value.has_value(), out.code == status::ok);
  return out;
}
template <class End>
rendezvous_report look(const End& end) {
  rendezvous_report out;
  EXPECT_EQ(end.inspect(out), status::ok);
  EXPECT_EQ(out.offered, out.taken + out.withdrawn + out.ends.waiters);
  return out;
}

TEST(rendezvous, a_send_is_over_when_the_receiver_has_the_value) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  ASSERT_EQ(code, status::ok);
  puppet& a = s.task();
  offer o(7);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(send(s, a, tx, o), status::would_block) << "asked again, it keeps its place";
  EXPECT_TRUE(o.is_waiting() && o.has_value());
  const std::uint64_t before = s.mark();
  EXPECT_EQ(rx.try_recv().value, 7);
  EXPECT_EQ(s.wakes(before), (told_wakes{{a.number, wake_code::slot}}));
  EXPECT_TRUE(o.is_taken() && !o.has_value() && !o.is_waiting());
  EXPECT_EQ(send(s, a, tx, o), status::ok);
  EXPECT_EQ(send(s, a, tx, o), status::invalid_argument) << "it says so once; then there is nothing to send";
}

TEST(rendezvous, an_offer_wakes_the_receiver_and_stays_until_it_comes) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  EXPECT_EQ(recv(s, b, rx).code, status::would_block);
  EXPECT_TRUE(look(rx).is_receiver_waiting);
  offer o(1);
  const std::uint64_t before = s.mark();
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  ASSERT_EQ(s.events(event_kind::task_woken, before).back().subject, b.number);
  EXPECT_FALSE(look(rx).is_receiver_waiting) << "the wake took it out";
  EXPECT_TRUE(o.has_value());
  EXPECT_EQ(recv(s, b, rx).value, 1);
}

TEST(rendezvous, r256_offers_are_taken_in_the_order_in_which_they_came) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  rendezvous_sender<int> tx2 = tx;
  puppet& a = s.task();
  puppet& b = s.task();
  offer o1(1);
  offer o2(2);
  offer o3(3);
  EXPECT_EQ(send(s, b, tx2, o1), status::would_block);
  EXPECT_EQ(send(s, a, tx, o2), status::would_block);
  EXPECT_EQ(send(s, b, tx2, o3), status::would_block);
  EXPECT_EQ(send(s, b, tx2, o1), status::would_block);
  std::vector<int> got;
  for (auto r = rx.try_recv(); r.code == status::ok; r = rx.try_recv()) got.push_back(*r.value);
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3}));
}

TEST(rendezvous, a_cancelled_send_keeps_its_value_and_the_next_offer_moves_up) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& quitter = s.task();
  puppet& heir = s.task();
  offer o1(1);
  offer o2(2);
  EXPECT_EQ(send(s, quitter, tx, o1), status::would_block);
  EXPECT_EQ(send(s, heir, tx, o2), status::would_block);
  s.cancel(quitter);
  EXPECT_EQ(send(s, quitter, tx, o1), status::cancelled);
  EXPECT_FALSE(o1.is_waiting());
  EXPECT_EQ(*o1.value(), 1);
  EXPECT_EQ(rx.try_recv().value, 2);
  EXPECT_EQ(look(rx).withdrawn, 1U);
}

TEST(rendezvous, r255_a_value_that_was_taken_is_ok_even_to_a_cancelled_sender) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  offer o(1);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(rx.try_recv().value, 1);
  s.cancel(a);
  rx.drop();
  tx.drop();
  EXPECT_EQ(send(s, a, tx, o), status::ok) << "the receiver has it: anything else would be a lie";
  o.put(2);
  EXPECT_EQ(send(s, a, tx, o), status::stale_handle);
}

TEST(rendezvous, a_cancelled_receive_has_taken_nothing) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  EXPECT_EQ(recv(s, b, rx).code, status::would_block);
  s.cancel(b);
  EXPECT_TRUE(look(rx).is_receiver_waiting);
  offer o(4);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(recv(s, b, rx).code, status::cancelled);
  EXPECT_FALSE(look(rx).is_receiver_waiting);
  EXPECT_TRUE(o.has_value());
  EXPECT_EQ(rx.try_recv().value, 4) << "cleanup drains without a cancel point";
}

// Goal:   no value is lost or doubled, whoever is cancelled, and when.
// Method: one task sends 1 to 4, another receives; one of the two is cancelled before step k, for every k.
TEST(rendezvous, a_cancel_at_any_moment_on_either_side_loses_nothing) {
  struct world {
    rendezvous_sender<int> tx;
    rendezvous_receiver<int> rx;
    offer out;
    int next = 1;
    int done = 0;
    std::vector<int> got;
  };
  const auto produce = [](void* p, cx& c) {
    auto& w = *static_cast<world*>(p);
    while (w.done < 4) {
      if (!w.out.has_value() && !w.out.is_taken()) w.out.put(w.next++);
      const status s = w.tx.poll_send(c, w.out);
      if (s == status::would_block) return poll_result::pending;
      if (s != status::ok) break;
      ++w.done;
    }
    w.tx.drop();
    return poll_result::ready;
  };
  const auto consume = [](void* p, cx& c) {
    auto& w = *static_cast<world*>(p);
    for (;;) {
      const recv_result<int> r = w.rx.poll_recv(c);
      if (r.code == status::would_block) return poll_result::pending;
      if (r.code != status::ok) break;
      w.got.push_back(*r.value);
    }
    w.rx.drop();
    return poll_result::ready;
  };
  for (int victim = 0; victim < 2; ++victim) {
    for (int k = 0; k < 16; ++k) {
      world w;
      runtime rt;
      auto ends = rendezvous<int>(rt.kernel(), rt.root());
      w.tx = std::move(ends.tx);
      w.rx = std::move(ends.rx);
      task_handle t[2];
      ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = produce, .context = &w}, t[0]), status::ok);
      ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = consume, .context = &w}, t[1]), status::ok);
      for (int i = 0; i < k; ++i) rt.step();
      static_cast<void>(rt.kernel().request_cancel(t[victim]));  // It may have ended.
      rt.run_until_idle();
      EXPECT_FALSE(w.tx.is_live() || w.rx.is_live());
      std::vector<int> all = w.got;
      EXPECT_EQ(static_cast<int>(all.size()), w.done) << "ok was said of what was taken, and of nothing else";
      if (w.out.has_value()) all.push_back(*w.out.take());
      std::vector<int> put;
      for (int i = 1; i < w.next; ++i) put.push_back(i);
      EXPECT_EQ(all, put) << "victim " << victim << ", step " << k;
    }
  }
}

TEST(rendezvous, an_offer_leaves_with_its_task_its_object_and_its_sender) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  rendezvous_sender<int> tx2 = tx;
  puppet& a = s.task();
  puppet& b = s.task();
  offer o(1);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  s.finish(a);
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(*o.value(), 1);
  {
    offer scoped(2);
    EXPECT_EQ(send(s, b, tx, scoped), status::would_block);
  }
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(send(s, b, tx2, o), status::would_block);
  tx2.drop();
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(*o.value(), 1);
  EXPECT_EQ(send(s, b, tx2, o), status::stale_handle);
  EXPECT_EQ(look(rx).withdrawn, 3U);
}

// R-256, by counts that are kept apart: each way in which an offer leaves is counted once, and none of them twice.
TEST(rendezvous, r256_every_offer_was_taken_or_withdrawn_or_waits) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  const auto counts = [&from = rx](std::uint64_t offered, std::uint64_t taken, std::uint64_t withdrawn) {
    const rendezvous_report r = look(from);
    EXPECT_EQ(r.offered, offered);
    EXPECT_EQ(r.taken, taken);
    EXPECT_EQ(r.withdrawn, withdrawn);
  };
  offer o(1);
  offer moved;
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(send(s, a, tx, o), status::would_block) << "polled again, it is the same offer";
  counts(1, 0, 0);
  moved = std::move(o);
  counts(1, 0, 0);
  rendezvous_sender<int> other = tx;
  EXPECT_EQ(send(s, a, other, moved), status::would_block);
  counts(2, 0, 1);  // With another sender it begins anew.
  EXPECT_EQ(rx.try_recv().value, 1);
  EXPECT_EQ(send(s, a, other, moved), status::ok);
  counts(2, 1, 1);
  offer last(2);
  EXPECT_EQ(send(s, b, tx, last), status::would_block);
  s.cancel(b);
  EXPECT_EQ(send(s, b, tx, last), status::cancelled);
  counts(3, 1, 2);
}

TEST(rendezvous, an_offer_keeps_its_place_when_it_or_its_sender_is_moved) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<std::unique_ptr<int>>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  rendezvous_offer<std::unique_ptr<int>> first(std::make_unique<int>(1));
  rendezvous_offer<std::unique_ptr<int>> second(std::make_unique<int>(2));
  EXPECT_EQ(send(s, a, tx, first), status::would_block);
  EXPECT_EQ(send(s, b, tx, second), status::would_block);
  auto moved = std::move(first);
  auto tx2 = std::move(tx);
  EXPECT_TRUE(moved.is_waiting());
  EXPECT_EQ(**rx.try_recv().value, 1);
  EXPECT_EQ(send(s, a, tx2, moved), status::ok);
  moved = std::move(second);
  EXPECT_EQ(**rx.try_recv().value, 2);
  EXPECT_TRUE(moved.is_taken());
}

TEST(rendezvous, taking_an_offer_back_or_putting_another_withdraws_it) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  offer o(1);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(o.take(), 1);
  EXPECT_EQ(o.take(), std::nullopt);
  EXPECT_EQ(rx.try_recv().code, status::empty);
  o.put(2);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  o.put(3);
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(rx.try_recv().value, 3);
}

TEST(rendezvous, a_receiver_that_goes_disconnects_every_offer_and_no_value_is_lost) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  offer o1(1);
  offer o2(2);
  EXPECT_EQ(send(s, a, tx, o1), status::would_block);
  EXPECT_EQ(send(s, b, tx, o2), status::would_block);
  const std::uint64_t before = s.mark();
  rx.drop();
  EXPECT_EQ(s.wakes(before), (told_wakes{{a.number, wake_code::disconnected}, {b.number, wake_code::disconnected}}));
  EXPECT_EQ(send(s, a, tx, o1), status::disconnected);
  EXPECT_EQ(send(s, b, tx, o2), status::disconnected);
  EXPECT_EQ(o1.take(), 1);
  EXPECT_EQ(o2.take(), 2);
}

TEST(rendezvous, the_last_sender_disconnects_the_receiver) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  rendezvous_sender<int> tx2;
  EXPECT_EQ(tx.clone(tx2), status::ok);
  puppet& b = s.task();
  EXPECT_EQ(recv(s, b, rx).code, status::would_block);
  tx.drop();
  EXPECT_EQ(rx.try_recv().code, status::empty);
  const std::uint64_t before = s.mark();
  tx2.drop();
  EXPECT_EQ(s.wakes(before), (told_wakes{{b.number, wake_code::disconnected}}));
  EXPECT_EQ(recv(s, b, rx).code, status::disconnected);
  EXPECT_EQ(rx.try_recv().code, status::disconnected);
}

TEST(rendezvous, ends_may_go_in_every_order) {
  for (int order = 0; order < 6; ++order) {
    puppet_stage s;
    auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
    auto tx2 = tx;
    puppet& a = s.task();
    offer o(1);
    EXPECT_EQ(send(s, a, tx2, o), status::would_block);
    const auto drop = [&, &t = tx, &r = rx](int which) {
      if (which == 0) t.drop();
      if (which == 1) tx2.drop();
      if (which == 2) r.drop();
    };
    const int first = order % 3;
    const int second = (first + 1 + order / 3) % 3;
    drop(first);
    drop(second);
    EXPECT_EQ(s.count(event_kind::channel_freed), 0U);
    drop(3 - first - second);
    EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
    EXPECT_FALSE(o.is_waiting());
    EXPECT_EQ(o.take(), 1);
  }
}

TEST(rendezvous, its_region_takes_it_down_and_wakes_both_sides) {
  puppet_stage s;
  const region_handle in = s.region();
  auto [code, tx, rx] = rendezvous<int>(s.k, in);
  puppet& a = s.task();
  offer o(1);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  std::uint64_t before = s.mark();
  EXPECT_EQ(s.k.close(in), status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{a.number, wake_code::disconnected}}));
  EXPECT_EQ(send(s, a, tx, o), status::disconnected);
  EXPECT_EQ(o.take(), 1);
  EXPECT_EQ(rx.try_recv().code, status::disconnected);

  const region_handle in2 = s.region();
  auto [code2, tx2, rx2] = rendezvous<int>(s.k, in2);
  EXPECT_EQ(recv(s, a, rx2).code, status::would_block);
  before = s.mark();
  EXPECT_EQ(s.k.close(in2), status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{a.number, wake_code::disconnected}}));
  EXPECT_EQ(recv(s, a, rx2).code, status::disconnected);
}

TEST(rendezvous, the_wait_of_a_receiver_goes_with_its_task) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  EXPECT_EQ(recv(s, a, rx).code, status::would_block);
  EXPECT_EQ(recv(s, b, rx).code, status::would_block) << "a later poll replaces the waker (R-75)";
  s.finish(a);
  EXPECT_TRUE(look(rx).is_receiver_waiting);
  s.finish(b);
  EXPECT_FALSE(look(rx).is_receiver_waiting);
}

TEST(rendezvous, an_offer_polled_with_another_sender_begins_anew) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  auto tx2 = tx;
  puppet& a = s.task();
  offer o1(1);
  offer o2(2);
  EXPECT_EQ(send(s, a, tx, o1), status::would_block);
  EXPECT_EQ(send(s, a, tx, o2), status::would_block);
  EXPECT_EQ(send(s, a, tx2, o1), status::would_block);
  EXPECT_EQ(rx.try_recv().value, 2);
  EXPECT_EQ(rx.try_recv().value, 1);
}

TEST(rendezvous, the_destructor_of_an_offered_value_may_receive) {
  puppet_stage s;
  auto ends = rendezvous<last_words>(s.k, s.rt.root());
  puppet& a = s.task();
  std::optional<status> seen;
  {
    rendezvous_offer<last_words> o(last_words(1, [&] { seen = ends.rx.try_recv().code; }));
    EXPECT_EQ(send(s, a, ends.tx, o), status::would_block);
  }
  EXPECT_EQ(seen, status::empty) << "it left the queue before its value went";
}

TEST(rendezvous, values_are_alive_in_exactly_one_place) {
  roll book;
  {
    puppet_stage s;
    auto [code, tx, rx] = rendezvous<guest>(s.k, s.rt.root());
    puppet& a = s.task();
    rendezvous_offer<guest> o(guest(1, book));
    rendezvous_offer<guest> o2(guest(2, book));
    EXPECT_EQ(send(s, a, tx, o), status::would_block);
    EXPECT_EQ(send(s, a, tx, o2), status::would_block);
    EXPECT_EQ(book.alive, 2U);
    {
      auto r = rx.try_recv();
      EXPECT_EQ(r.value->number(), 1);
      EXPECT_EQ(book.alive, 2U);
    }
    EXPECT_EQ(book.died, std::vector<int>{1});
    rx.drop();
    EXPECT_EQ(book.alive, 1U) << "what was not taken is its sender's";
  }
  EXPECT_EQ(book.died, (std::vector<int>{1, 2}));
}

TEST(rendezvous, carries_values_that_are_over_aligned) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<wide_value>(s.k, s.rt.root());
  puppet& a = s.task();
  rendezvous_offer<wide_value> o(wide_value(5));
  EXPECT_TRUE(o.value()->is_aligned());
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(rx.try_recv().value->number, 5);
}

TEST(rendezvous, limits_are_refusals_that_change_nothing) {
  auto config = puppet_config();
  config.contract.max_channels = 1;
  config.contract.max_channel_waiters = 1;
  puppet_stage s(config);
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  puppet& b = s.task();
  offer o1(1);
  offer o2(2);
  expect_refused(s, status::resource_exhausted, limit_code::channels,
                 [&] { return rendezvous<int>(s.k, s.rt.root()).code; });
  EXPECT_EQ(send(s, a, tx, o1), status::would_block);
  s.act(b, [&, &t = tx](cx& c) {
    expect_refused(s, status::resource_exhausted, limit_code::channel_waiters, [&] { return t.poll_send(c, o2); });
    offer none;
    expect_silent(s, status::invalid_argument, [&] { return t.poll_send(c, none); });
  });
  EXPECT_TRUE(o2.has_value());
  EXPECT_EQ(rx.try_recv().value, 1);
  expect_silent(s, status::empty, [&, &r = rx] { return r.try_recv().code; });
  EXPECT_EQ(send(s, b, tx, o2), status::would_block);
  const region_handle in = s.region();
  EXPECT_EQ(s.k.close(in), status::ok);
  expect_refused(s, status::region_not_open, limit_code::none, [&] { return rendezvous<int>(s.k, in).code; });
}

TEST(rendezvous, is_drained_when_nobody_offers) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  puppet& a = s.task();
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 0U);
  offer o(1);
  EXPECT_EQ(send(s, a, tx, o), status::would_block);
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 16U);
  EXPECT_EQ(rx.try_recv().value, 1);
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 0U);
}

TEST(rendezvous, asks_for_no_memory_once_it_is_made) {
  counted_memory memory;
  auto config = puppet_config();
  config.memory = memory.port();
  puppet_stage s(config);
  puppet& a = s.task();
  puppet& b = s.task();
  auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
  const std::uint64_t before = memory.calls;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(recv(s, b, rx).code, status::would_block);
    offer o(i);
    EXPECT_EQ(send(s, a, tx, o), status::would_block);
    EXPECT_EQ(recv(s, b, rx).value, i);
    EXPECT_EQ(send(s, a, tx, o), status::ok);
  }
  EXPECT_EQ(memory.calls, before);
}

TEST(rendezvous, a_run_repeats_event_for_event) {
  expect_same_digest_twice([](puppet_stage& s) {
    auto [code, tx, rx] = rendezvous<int>(s.k, s.rt.root());
    puppet& a = s.task();
    puppet& b = s.task();
    EXPECT_EQ(recv(s, b, rx).code, status::would_block);
    offer o(1);
    EXPECT_EQ(send(s, a, tx, o), status::would_block);
    EXPECT_EQ(recv(s, b, rx).value, 1);
    EXPECT_EQ(send(s, a, tx, o), status::ok);
  });
}

// the receiver would have the value, and the sender be told that nobody took it.
TEST(rendezvous_death_test, a_move_out_of_an_offer_that_withdraws_it_is_found) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct restless {
    explicit restless(std::function<void()>* at_move) noexcept : moves(at_move) {}
    restless(restless&& other) noexcept : moves(other.moves) {
      if (moves != nullptr && *moves) (*moves)();
    }
    restless& operator=(restless&&) = delete;
    std::function<void()>* moves;
  };
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<restless>(s.k, s.rt.root());
  ASSERT_EQ(code, status::ok);
  puppet& a = s.task();
  std::function<void()> deed;
  rendezvous_offer<restless> offered;
  offered.put(restless(&deed));
  s.act(a, [&to = tx, &offered](cx& c) { EXPECT_EQ(to.poll_send(c, offered), status::would_block); });
  const std::function<void()> withdraws = [&offered] { offered.leave(); };
  const std::function<void()> ends = [&to = tx] { to.drop(); };
  for (const std::function<void()>& each : {withdraws, ends}) {
    EXPECT_DEATH((deed = each, static_cast<void>(rx.try_recv())), "does not use its rendezvous");
  }
  EXPECT_EQ(rx.try_recv().code, status::ok);
}

}  // namespace
}  // namespace asx
