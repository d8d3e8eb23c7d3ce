// asx/chan/oneshot_test.cpp - one value, once: each test is a promise.
#include "asx/chan/oneshot.hpp"

#include <gtest/gtest.h>

#include <cstdint>
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
using testing::told_wake;
using testing::told_wakes;
using testing::wide_value;

static_assert(!std::is_copy_constructible_v<oneshot_sender<int>> && !std::is_copy_assignable_v<oneshot_sender<int>>);
static_assert(!std::is_copy_constructible_v<oneshot_receiver<int>> &&
              !std::is_copy_assignable_v<oneshot_receiver<int>>);

template <class T = int>
oneshot_ends<T> open_oneshot(puppet_stage& s, region_handle in) {
  auto out = oneshot<T>(s.k, in);
  EXPECT_EQ(out.code, status::ok);
  return out;
}
template <class T = int>
oneshot_ends<T> open_oneshot(puppet_stage& s) {
  return open_oneshot<T>(s, s.rt.root());
}

status poll(puppet_stage& s, puppet& p, oneshot_receiver<int>& rx, std::optional<int>* got = nullptr) {
  status code = status::ok;
  s.act(p, [&](cx& c) {
    const recv_result<int> r = rx.poll_recv(c);
    code = r.code;
    EXPECT_EQ(r.value.has_value(), r.code == status::ok);
    if (got != nullptr) *got = r.value;
  });
  return code;
}

TEST(oneshot, carries_one_value_and_is_then_disconnected) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(tx.send(7).code, status::ok);
  const auto r = rx.try_recv();
  EXPECT_EQ(r.code, status::ok);
  EXPECT_EQ(r.value, 7);
  EXPECT_EQ(rx.try_recv().code, status::disconnected);
}

TEST(oneshot, r250_a_send_uses_the_sender_up) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  EXPECT_TRUE(tx.is_live());
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_FALSE(tx.is_live());
  const auto again = tx.send(2);
  EXPECT_EQ(again.code, status::stale_handle);
  EXPECT_EQ(again.value, 2);
  auto [code2, tx2, rx2] = open_oneshot(s);
  rx2.drop();
  EXPECT_EQ(tx2.send(3).code, status::disconnected);
  EXPECT_FALSE(tx2.is_live()) << "not delivered, and used up all the same";
  EXPECT_EQ(tx2.send(4).code, status::stale_handle);
}

TEST(oneshot, wakes_the_receiver_that_waits) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  puppet& p = s.task();
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  const std::uint64_t before = s.mark();
  EXPECT_EQ(tx.send(5).code, status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::message}})) << "once, and not again for the sender";
  std::optional<int> got;
  EXPECT_EQ(poll(s, p, rx, &got), status::ok);
  EXPECT_EQ(got, 5);
}

TEST(oneshot, a_sender_that_goes_without_a_word_disconnects_whoever_waits) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  puppet& p = s.task();
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  const std::uint64_t before = s.mark();
  tx.drop();
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::disconnected}}));
  EXPECT_EQ(poll(s, p, rx), status::disconnected);
  EXPECT_EQ(tx.send(1).code, status::stale_handle);
}

TEST(oneshot, a_value_for_nobody_comes_back) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot<std::unique_ptr<int>>(s);
  EXPECT_TRUE(tx.has_receiver());
  rx.drop();
  EXPECT_FALSE(tx.has_receiver());
  auto r = tx.send(std::make_unique<int>(9));
  EXPECT_EQ(r.code, status::disconnected);
  ASSERT_TRUE(r.value.has_value());
  EXPECT_EQ(**r.value, 9);
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
}

TEST(oneshot, a_cancelled_receive_has_consumed_nothing) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  puppet& p = s.task();
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  EXPECT_EQ(tx.send(6).code, status::ok);
  s.cancel(p);
  EXPECT_EQ(poll(s, p, rx), status::cancelled);
  EXPECT_EQ(poll(s, p, rx), status::cancelled) << "and stays so (R-70)";
  EXPECT_EQ(rx.try_recv().value, 6) << "cleanup drains without a cancel point";
}

TEST(oneshot, a_cancelled_receive_leaves_no_waiter) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  puppet& p = s.task();
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  s.cancel(p);
  EXPECT_EQ(poll(s, p, rx), status::cancelled);
  channel_report r;
  EXPECT_EQ(rx.inspect(r), status::ok);
  EXPECT_FALSE(r.is_receiver_waiting);
}

TEST(oneshot, the_wait_of_a_task_that_ends_goes_with_it) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  puppet& p = s.task();
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  s.finish(p);
  channel_report r;
  EXPECT_EQ(rx.inspect(r), status::ok);
  EXPECT_FALSE(r.is_receiver_waiting);
  EXPECT_EQ(tx.send(3).code, status::ok);
  EXPECT_EQ(rx.try_recv().value, 3) << "the receiver was not the task's: it goes on elsewhere";
}

TEST(oneshot, ends_may_go_in_every_order) {
  for (int order = 0; order < 8; ++order) {
    roll book;
    {
      puppet_stage s;
      auto [code, tx, rx] = open_oneshot<guest>(s);
      const bool sends = (order & 1) != 0;
      const bool receives = (order & 2) != 0;
      if (sends) {
        EXPECT_EQ(tx.send(guest(order, book)).code, status::ok);
      }
      if (receives) {
        EXPECT_EQ(rx.try_recv().code, sends ? status::ok : status::empty);
      }
      if ((order & 4) != 0) {
        tx.drop();
        rx.drop();
      } else {
        rx.drop();
        tx.drop();
      }
      EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
      EXPECT_EQ(book.alive, 0U);
    }
    EXPECT_EQ(book.died.size(), (order & 1) != 0 ? 1U : 0U);
  }
}

TEST(oneshot, its_region_takes_it_down_and_wakes_whoever_waits) {
  puppet_stage s;
  const region_handle in = s.region();
  auto [code, tx, rx] = open_oneshot(s, in);
  puppet& p = s.task();
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  const std::uint64_t before = s.mark();
  EXPECT_EQ(s.k.close(in), status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::disconnected}}));
  EXPECT_EQ(poll(s, p, rx), status::disconnected);
  EXPECT_TRUE(tx.is_live());
  EXPECT_FALSE(tx.has_receiver());
  const auto back = tx.send(1);
  EXPECT_EQ(back.code, status::disconnected);
  EXPECT_EQ(back.value, 1);
  EXPECT_FALSE(tx.is_live());
}

TEST(oneshot, a_value_that_nobody_took_dies_with_its_region) {
  roll book;
  puppet_stage s;
  const region_handle in = s.region();
  auto [code, tx, rx] = open_oneshot<guest>(s, in);
  EXPECT_EQ(tx.send(guest(4, book)).code, status::ok);
  EXPECT_EQ(book.alive, 1U);
  EXPECT_EQ(s.k.close(in), status::ok);
  EXPECT_EQ(book.died, std::vector<int>{4});
  EXPECT_EQ(rx.try_recv().code, status::disconnected);
}

TEST(oneshot, the_destructor_of_a_value_may_use_the_ends) {
  puppet_stage s;
  oneshot_ends<last_words> ends = oneshot<last_words>(s.k, s.rt.root());
  ASSERT_EQ(ends.code, status::ok);
  status seen = status::ok;
  EXPECT_EQ(ends.tx.send(last_words(1, [&] { seen = ends.rx.try_recv().code; })).code, status::ok);
  ends.rx.drop();
  EXPECT_EQ(seen, status::stale_handle);
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
}

TEST(oneshot, carries_values_that_are_over_aligned) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot<wide_value>(s);
  EXPECT_EQ(tx.send(wide_value(8)).code, status::ok);
  const auto r = rx.try_recv();
  ASSERT_TRUE(r.value.has_value());
  EXPECT_TRUE(r.value->is_aligned());
  EXPECT_EQ(r.value->number, 8);
}

TEST(oneshot, is_refused_beyond_the_limit_of_channels_and_nothing_changes) {
  auto config = puppet_config();
  config.contract.max_channels = 1;
  puppet_stage s(config);
  auto first = open_oneshot(s);
  expect_refused(s, status::resource_exhausted, limit_code::channels, [&] {
    auto r = oneshot<int>(s.k, s.rt.root());
    EXPECT_FALSE(r.tx.is_live() || r.rx.is_live());
    return r.code;
  });
  const region_handle in = s.region();
  EXPECT_EQ(s.k.close(in), status::ok);
  expect_refused(s, status::region_not_open, limit_code::none, [&] { return oneshot<int>(s.k, in).code; });
}

TEST(oneshot, a_refused_try_says_and_changes_nothing) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  expect_silent(s, status::empty, [&] { return rx.try_recv().code; });
  tx.drop();
  expect_silent(s, status::disconnected, [&] { return rx.try_recv().code; });
  expect_silent(s, status::stale_handle, [&] { return tx.send(1).code; });
}

TEST(oneshot, fails_quiescence_only_while_a_value_waits_in_it) {
  puppet_stage s;
  auto [code, tx, rx] = open_oneshot(s);
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 0U);
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 16U);
  EXPECT_EQ(rx.try_recv().code, status::ok);
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 0U);
}

TEST(oneshot, asks_for_no_memory_once_it_is_made) {
  counted_memory memory;
  auto config = puppet_config();
  config.memory = memory.port();
  puppet_stage s(config);
  puppet& p = s.task();
  auto [code, tx, rx] = open_oneshot(s);
  const std::uint64_t before = memory.calls;
  EXPECT_EQ(poll(s, p, rx), status::would_block);
  EXPECT_EQ(tx.send(1).code, status::ok);
  EXPECT_EQ(poll(s, p, rx), status::ok);
  rx.drop();
  EXPECT_EQ(memory.calls, before);
}

TEST(oneshot, a_run_repeats_event_for_event) {
  expect_same_digest_twice([](puppet_stage& s) {
    auto [code, tx, rx] = open_oneshot(s);
    puppet& p = s.task();
    EXPECT_EQ(poll(s, p, rx), status::would_block);
    EXPECT_EQ(tx.send(1).code, status::ok);
    EXPECT_EQ(poll(s, p, rx), status::ok);
  });
}

}  // namespace
}  // namespace asx
