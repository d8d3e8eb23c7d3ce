// asx/chan/watch_test.cpp - the latest value: each test is a promise. Long random lives are in watch_model_test.cpp.
#include "asx/chan/watch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/testing/near.hpp"
#include "asx/kernel/report.hpp"

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

status poll(puppet_stage& s, puppet& p, watch_receiver<int>& rx, watch_wait& w) {
  status code = status::ok;
  s.act(p, [&](cx& c) { code = rx.poll_changed(c, w); });
  return code;
}
int now(const watch_receiver<int>& rx) {
  int out = -1;
  EXPECT_EQ(rx.latest(out), status::ok);
  return out;
}
watch_report look(const watch_receiver<int>& rx) {
  watch_report out;
  EXPECT_EQ(rx.inspect(out), status::ok);
  return out;
}

TEST(watch, shows_the_first_value_and_then_the_newest) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  EXPECT_EQ(now(rx), 1);
  EXPECT_EQ(tx.send(2).code, status::ok);
  EXPECT_EQ(tx.send(3).code, status::ok);
  EXPECT_EQ(now(rx), 3);
}

TEST(watch, r251_the_first_value_is_version_0_and_counts_as_seen) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 1);
  puppet& p = s.task();
  watch_wait w;
  EXPECT_EQ(rx.version(), 0U);
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(poll(s, p, rx, w), status::would_block);
  EXPECT_EQ(tx.send(2).code, status::ok);
  EXPECT_EQ(tx.version(), 1U);
  EXPECT_TRUE(rx.has_changed());
}

TEST(watch, a_receiver_is_told_once_of_everything_that_came_in_between) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(tx.send(i).code, status::ok);
  EXPECT_EQ(poll(s, p, rx, w), status::ok);
  EXPECT_EQ(rx.seen(), 3U);
  EXPECT_EQ(now(rx), 3);
  EXPECT_EQ(poll(s, p, rx, w), status::would_block);
}

TEST(watch, looking_marks_nothing) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_EQ(now(rx), 1);
  EXPECT_EQ(rx.visit([](const int& v) { EXPECT_EQ(v, 1); }), status::ok);
  EXPECT_TRUE(rx.has_changed());
  EXPECT_EQ(poll(s, p, rx, w), status::ok);
}

TEST(watch, a_send_wakes_all_who_wait_in_the_order_in_which_they_came) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& a = s.task();
  puppet& b = s.task();
  puppet& late = s.task();
  watch_receiver<int> rx2 = rx;
  watch_wait wa;
  watch_wait wb;
  watch_wait wl;
  EXPECT_EQ(poll(s, b, rx2, wb), status::would_block);
  EXPECT_EQ(poll(s, a, rx, wa), status::would_block);
  const std::uint64_t before = s.mark();
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{b.number, wake_code::message}, {a.number, wake_code::message}}));
  EXPECT_FALSE(wa.is_waiting() || wb.is_waiting()) << "whoever is woken is out of the queue";
  EXPECT_EQ(poll(s, a, rx, wa), status::ok);
  EXPECT_EQ(poll(s, late, rx, wl), status::would_block);
}

TEST(watch, a_copy_has_seen_the_same_and_goes_its_own_way) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  EXPECT_EQ(tx.send(1).code, status::ok);
  watch_receiver<int> copy = rx;
  EXPECT_EQ(poll(s, p, rx, w), status::ok);
  EXPECT_TRUE(copy.has_changed());
  watch_receiver<int> later;
  EXPECT_EQ(rx.clone(later), status::ok);
  EXPECT_FALSE(later.has_changed());
  EXPECT_EQ(look(rx).ends.receivers, 3U);
  watch_receiver<int> dead;
  EXPECT_EQ(dead.clone(later), status::stale_handle);
}

TEST(watch, r253_without_receivers_it_takes_values_and_a_subscriber_sees_them) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  rx.drop();
  EXPECT_EQ(tx.send(5).code, status::ok);
  EXPECT_EQ(s.count(event_kind::channel_receiver_closed), 0U) << "a receiver may come back";
  EXPECT_EQ(tx.subscribe(rx), status::ok);
  EXPECT_EQ(now(rx), 5);
  EXPECT_FALSE(rx.has_changed()) << "a subscriber has seen what there is";
}

TEST(watch, disconnects_when_all_senders_are_gone_and_the_last_version_was_seen) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  watch_sender<int> tx2 = tx;
  EXPECT_EQ(tx.send(1).code, status::ok);
  tx.drop();
  EXPECT_EQ(tx2.send(2).code, status::ok);
  tx2.drop();
  EXPECT_EQ(poll(s, p, rx, w), status::ok) << "what was sent is told first";
  EXPECT_EQ(poll(s, p, rx, w), status::disconnected);
  EXPECT_EQ(now(rx), 2) << "the last value can still be read";
  EXPECT_EQ(tx.send(3).code, status::stale_handle);
}

TEST(watch, the_last_sender_wakes_all_who_wait) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  EXPECT_EQ(poll(s, p, rx, w), status::would_block);
  const std::uint64_t before = s.mark();
  tx.drop();
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::disconnected}}));
  EXPECT_EQ(poll(s, p, rx, w), status::disconnected);
}

TEST(watch, a_cancelled_poll_has_seen_nothing_and_leaves_no_waiter) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  EXPECT_EQ(poll(s, p, rx, w), status::would_block);
  s.cancel(p);
  EXPECT_EQ(look(rx).ends.waiters, 1U);
  EXPECT_EQ(poll(s, p, rx, w), status::cancelled);
  EXPECT_EQ(look(rx).ends.waiters, 0U);
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_EQ(poll(s, p, rx, w), status::cancelled) << "a newer version changes nothing about that";
  EXPECT_TRUE(rx.has_changed());
}

TEST(watch, a_wait_goes_with_its_task_its_object_and_its_receiver) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& a = s.task();
  puppet& b = s.task();
  watch_receiver<int> rx2 = rx;
  watch_wait w;
  EXPECT_EQ(poll(s, a, rx, w), status::would_block);
  s.finish(a);
  EXPECT_EQ(look(rx).ends.waiters, 0U);
  {
    watch_wait scoped;
    EXPECT_EQ(poll(s, b, rx, scoped), status::would_block);
    EXPECT_EQ(look(rx).ends.waiters, 1U);
  }
  EXPECT_EQ(look(rx).ends.waiters, 0U);
  EXPECT_EQ(poll(s, b, rx2, w), status::would_block);
  rx2.drop();
  EXPECT_FALSE(w.is_waiting());
  EXPECT_EQ(poll(s, b, rx2, w), status::stale_handle);
}

TEST(watch, a_wait_moves_with_its_object_and_with_its_receiver) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& p = s.task();
  watch_wait w;
  EXPECT_EQ(poll(s, p, rx, w), status::would_block);
  watch_receiver<int> moved = std::move(rx);
  watch_wait w2 = std::move(w);
  EXPECT_TRUE(w2.is_waiting());
  EXPECT_EQ(poll(s, p, moved, w2), status::would_block);
  EXPECT_EQ(s.count(event_kind::receiver_waits), 1U) << "it kept its place";
  moved.drop();
  EXPECT_FALSE(w2.is_waiting());
}

TEST(watch, its_region_takes_it_down_and_wakes_all_who_wait) {
  roll book;
  puppet_stage s;
  const region_handle in = s.region();
  auto [code, tx, rx] = watch<guest>(s.k, in, guest(1, book));
  ASSERT_EQ(code, status::ok);
  puppet& p = s.task();
  watch_wait w;
  s.act(p, [&](cx& c) { EXPECT_EQ(rx.poll_changed(c, w), status::would_block); });
  const std::uint64_t before = s.mark();
  EXPECT_EQ(s.k.close(in), status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::disconnected}}));
  EXPECT_EQ(book.died, std::vector<int>{1});
  s.act(p, [&](cx& c) { EXPECT_EQ(rx.poll_changed(c, w), status::disconnected); });
  auto back = tx.send(guest(2, book));
  EXPECT_EQ(back.code, status::disconnected);
  ASSERT_TRUE(back.value.has_value());
  EXPECT_EQ(back.value->number(), 2);
  EXPECT_EQ(rx.visit([](const guest&) { FAIL(); }), status::disconnected);
  watch_sender<guest> copy = tx;
  EXPECT_EQ(copy.send(guest(3, book)).code, status::disconnected);
}

TEST(watch, ends_may_go_in_every_order) {
  for (int order = 0; order < 24; ++order) {
    roll book;
    puppet_stage s;
    auto [code, tx, rx] = watch<guest>(s.k, s.rt.root(), guest(1, book));
    auto tx2 = tx;
    auto rx2 = rx;
    std::vector<std::function<void()>> drops{[&, &t = tx] { t.drop(); }, [&, &t = rx] { t.drop(); },
                                             [&] { tx2.drop(); }, [&] { rx2.drop(); }};
    int left = order;
    for (std::size_t n = 4; n > 0; --n) {
      EXPECT_EQ(book.alive, 1U);
      const auto pick = static_cast<std::size_t>(left) % n;
      left /= static_cast<int>(n);
      drops[pick]();
      drops.erase(drops.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    EXPECT_EQ(book.alive, 0U);
    EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
  }
}

TEST(watch, r252_a_send_from_the_destructor_of_the_value_that_leaves_is_refused) {
  puppet_stage s;
  auto ends = watch<last_words>(s.k, s.rt.root(), last_words(0, {}));
  ASSERT_EQ(ends.code, status::ok);
  std::optional<status> inner;
  int seen = -1;
  EXPECT_EQ(ends.tx
                .send(last_words(1,
                                 [&] {
                                   auto r = ends.tx.send(last_words(9, {}));
                                   inner = r.code;
                                   EXPECT_TRUE(r.value.has_value());
                                   EXPECT_EQ(r.value->number, 9);
                                   static_cast<void>(ends.rx.visit([&](const last_words& v) { seen = v.number; }));
                                 }))
                .code,
            status::ok);
  EXPECT_EQ(ends.tx.send(last_words(2, {})).code, status::ok);
  EXPECT_EQ(inner, status::reentrant);
  EXPECT_EQ(seen, 2) << "the new value is there before the old one goes";
  EXPECT_EQ(ends.tx.version(), 2U);
  EXPECT_EQ(ends.tx.send(last_words(3, {})).code, status::ok) << "afterwards all is as before";
}

TEST(watch, r252_a_send_during_a_visit_is_refused) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 1);
  const std::uint64_t before = s.mark();
  status inner = status::ok;
  EXPECT_EQ(rx.visit([&, &t = tx](const int&) { inner = t.send(2).code; }), status::ok);
  EXPECT_EQ(inner, status::reentrant);
  EXPECT_EQ(s.mark(), before);
  EXPECT_EQ(now(rx), 1);
}

TEST(watch, a_destructor_may_drop_every_end) {
  puppet_stage s;
  auto ends = watch<last_words>(s.k, s.rt.root(), last_words(0, {}));
  EXPECT_EQ(ends.tx
                .send(last_words(1,
                                 [&] {
                                   ends.rx.drop();
                                   ends.tx.drop();
                                 }))
                .code,
            status::ok);
  EXPECT_EQ(ends.tx.send(last_words(2, {})).code, status::ok);
  EXPECT_FALSE(ends.tx.is_live());
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
}

TEST(watch, a_visit_may_close_the_region_of_the_watch) {
  roll book;
  puppet_stage s;
  const region_handle in = s.region();
  auto [code, tx, rx] = watch<guest>(s.k, in, guest(1, book));
  EXPECT_EQ(rx.visit([&, &t = tx, &r = rx](const guest& v) {
    EXPECT_EQ(s.k.close(in), status::ok);
    EXPECT_EQ(v.number(), 1);
    EXPECT_EQ(book.alive, 1U) << "what is looked at stays";
    EXPECT_EQ(t.send(guest(2, book)).code, status::disconnected);
    EXPECT_EQ(r.visit([](const guest&) { FAIL(); }), status::disconnected);
    watch_receiver<guest> copy = r;
    copy.drop();
    t.drop();
  }),
            status::ok);
  EXPECT_EQ(book.alive, 0U);
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
  EXPECT_EQ(rx.visit([](const guest&) { FAIL(); }), status::disconnected);
}

TEST(watch, carries_values_that_are_move_only_or_over_aligned) {
  puppet_stage s;
  auto sole = watch<std::unique_ptr<int>>(s.k, s.rt.root(), std::make_unique<int>(1));
  EXPECT_EQ(sole.tx.send(std::make_unique<int>(2)).code, status::ok);
  EXPECT_EQ(sole.rx.visit([](const std::unique_ptr<int>& v) { EXPECT_EQ(*v, 2); }), status::ok);
  auto wide = watch<wide_value>(s.k, s.rt.root(), wide_value(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(wide.rx.visit([](const wide_value& v) { EXPECT_TRUE(v.is_aligned()); }), status::ok);
    EXPECT_EQ(wide.tx.send(wide_value(i)).code, status::ok);
  }
}

TEST(watch, limits_are_refusals_that_change_nothing) {
  auto config = puppet_config();
  config.contract.max_channels = 1;
  config.contract.max_channel_waiters = 1;
  puppet_stage s(config);
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  puppet& a = s.task();
  puppet& b = s.task();
  watch_wait wa;
  watch_wait wb;
  expect_refused(s, status::resource_exhausted, limit_code::channels,
                 [&] { return watch<int>(s.k, s.rt.root(), 0).code; });
  EXPECT_EQ(poll(s, a, rx, wa), status::would_block);
  EXPECT_EQ(poll(s, a, rx, wa), status::would_block) << "asked again, it keeps its place";
  s.act(b, [&, &r = rx](cx& c) {
    expect_refused(s, status::resource_exhausted, limit_code::channel_waiters, [&] { return r.poll_changed(c, wb); });
  });
  EXPECT_FALSE(wb.is_waiting());
  const region_handle in = s.region();
  EXPECT_EQ(s.k.close(in), status::ok);
  expect_refused(s, status::region_not_open, limit_code::none, [&] { return watch<int>(s.k, in, 0).code; });
}

TEST(watch, r254_a_trace_without_room_refuses_sends_and_waits) {
  auto config = puppet_config();
  config.contract.overflow = trace_overflow::reject;
  config.contract.max_trace_events = 64;
  puppet_stage s(config);
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  send_result<int> r;
  std::uint64_t sent = 0;
  while ((r = tx.send(static_cast<int>(sent) + 1)).code == status::ok) ++sent;
  EXPECT_EQ(r.code, status::resource_exhausted);
  EXPECT_EQ(r.value, static_cast<int>(sent) + 1);
  EXPECT_EQ(tx.version(), sent);
  EXPECT_EQ(now(rx), static_cast<int>(sent));
}

TEST(watch, dead_ends_answer_without_a_word) {
  puppet_stage s;
  watch_sender<int> tx;
  watch_receiver<int> rx;
  int out = 0;
  expect_silent(s, status::stale_handle, [&] { return tx.send(1).code; });
  expect_silent(s, status::stale_handle, [&] { return rx.latest(out); });
  expect_silent(s, status::stale_handle, [&] { return tx.subscribe(rx); });
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(rx.version(), 0U);
}

TEST(watch, never_stands_in_the_way_of_quiescence) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0, "setting");
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 0U);
}

TEST(watch, asks_for_no_memory_once_it_is_made) {
  counted_memory memory;
  auto config = puppet_config();
  config.memory = memory.port();
  puppet_stage s(config);
  puppet& p = s.task();
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
  watch_wait w;
  const std::uint64_t before = memory.calls;
  for (int i = 0; i < 10; ++i) {
    watch_receiver<int> copy = rx;
    EXPECT_EQ(poll(s, p, copy, w), status::would_block);
    EXPECT_EQ(tx.send(i).code, status::ok);
    EXPECT_EQ(poll(s, p, rx, w), status::ok);
  }
  EXPECT_EQ(memory.calls, before);
}

TEST(watch, a_run_repeats_event_for_event) {
  expect_same_digest_twice([](puppet_stage& s) {
    auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 0);
    puppet& p = s.task();
    watch_wait w;
    EXPECT_EQ(poll(s, p, rx, w), status::would_block);
    watch_receiver<int> copy = rx;
    EXPECT_EQ(tx.send(1).code, status::ok);
    EXPECT_EQ(poll(s, p, rx, w), status::ok);
  });
}

}  // namespace
}  // namespace asx
