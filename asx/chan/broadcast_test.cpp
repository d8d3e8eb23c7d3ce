// asx/chan/broadcast_test.cpp - every receiver sees every value, up to a bound: each test is a promise. Long random
// lives are in broadcast_model_test.cpp.
#include "asx/chan/broadcast.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/testing/near.hpp"

namespace asx {
namespace {

using testing::counted_memory;
using testing::expect_refused;
using testing::expect_same_digest_twice;
using testing::expect_silent;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::told_wakes;
using testing::wide_value;

broadcast_result<int> poll(puppet_stage& s, puppet& p, broadcast_receiver<int>& rx, broadcast_wait& w) {
  broadcast_result<int> out;
  s.act(p, [&](cx& c) { out = rx.poll_recv(c, w); });
  EXPECT_EQ(out.value.has_value(), out.code == status::ok);
  EXPECT_EQ(out.skipped != 0, out.code == status::lagged);
  return out;
}
std::vector<int> drain(broadcast_receiver<int>& rx) {
  std::vector<int> out;
  for (auto r = rx.try_recv(); r.code == status::ok || r.code == status::lagged; r = rx.try_recv()) {
    out.push_back(r.code == status::ok ? *r.value : -static_cast<int>(r.skipped));
  }
  return out;
}
template <class End>
broadcast_report look(const End& end) {
  broadcast_report out;
  EXPECT_EQ(end.inspect(out), status::ok);
  EXPECT_EQ(out.counts.sent, out.counts.overwritten + out.counts.discarded + out.kept) << "R-259";
  return out;
}
void fill(broadcast_sender<int>& tx, int from, int to) {
  for (int i = from; i <= to; ++i) EXPECT_EQ(tx.send(i).code, status::ok);
}

TEST(broadcast, r257_every_receiver_sees_every_value_in_order) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 4);
  ASSERT_EQ(code, status::ok);
  broadcast_receiver<int> rx2 = rx;
  fill(tx, 1, 3);
  EXPECT_EQ(drain(rx), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(rx2.backlog(), 3U);
  EXPECT_EQ(drain(rx2), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(look(tx).counts.delivered, 6U);
  EXPECT_EQ(look(tx).owed, 0U);
}

TEST(broadcast, r257_who_is_too_slow_is_told_how_much_was_missed_and_goes_on_with_the_oldest) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 3);
  fill(tx, 1, 5);
  const auto r = rx.try_recv();
  EXPECT_EQ(r.code, status::lagged);
  EXPECT_EQ(r.skipped, 2U);
  EXPECT_FALSE(r.value.has_value());
  EXPECT_EQ(drain(rx), (std::vector<int>{3, 4, 5}));
  const broadcast_report now = look(tx);
  EXPECT_EQ(now.counts.sent, 5U);
  EXPECT_EQ(now.counts.overwritten, 2U);
  EXPECT_EQ(now.counts.lagged, 1U);
  EXPECT_EQ(now.counts.skipped, 2U);
  const auto told = s.events(event_kind::receiver_lagged);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].a, 2U);
  EXPECT_EQ(told[0].b, 3U);
}

TEST(broadcast, lagging_is_told_again_only_when_more_was_missed) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  fill(tx, 1, 4);
  EXPECT_EQ(rx.try_recv().skipped, 2U);
  fill(tx, 5, 5);
  EXPECT_EQ(rx.try_recv().skipped, 1U);
  EXPECT_EQ(drain(rx), (std::vector<int>{4, 5}));
}

TEST(broadcast, a_copy_begins_where_the_original_stands) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 4);
  fill(tx, 1, 3);
  EXPECT_EQ(rx.try_recv().value, 1);
  broadcast_receiver<int> copy;
  EXPECT_EQ(rx.clone(copy), status::ok);
  EXPECT_EQ(look(tx).owed, 4U);
  EXPECT_EQ(drain(copy), (std::vector<int>{2, 3}));
  EXPECT_EQ(drain(rx), (std::vector<int>{2, 3}));
}

TEST(broadcast, a_subscriber_begins_with_what_is_sent_next) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 4);
  fill(tx, 1, 2);
  broadcast_receiver<int> late;
  EXPECT_EQ(tx.subscribe(late), status::ok);
  EXPECT_EQ(late.try_recv().code, status::empty);
  fill(tx, 3, 3);
  EXPECT_EQ(drain(late), (std::vector<int>{3}));
}

TEST(broadcast, r258_a_send_without_receivers_comes_back) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 4);
  fill(tx, 1, 2);
  rx.drop();
  EXPECT_EQ(look(tx).kept, 0U) << "what nobody can see any more is gone";
  EXPECT_EQ(look(tx).counts.discarded, 2U);
  const auto back = tx.send(3);
  EXPECT_EQ(back.code, status::disconnected);
  EXPECT_EQ(back.value, 3);
  EXPECT_EQ(tx.subscribe(rx), status::ok);
  EXPECT_EQ(tx.send(4).code, status::ok);
  EXPECT_EQ(drain(rx), (std::vector<int>{4}));
}

TEST(broadcast, a_send_wakes_all_who_wait) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 4);
  broadcast_receiver<int> rx2 = rx;
  puppet& a = s.task();
  puppet& b = s.task();
  broadcast_wait wa;
  broadcast_wait wb;
  EXPECT_EQ(poll(s, b, rx2, wb).code, status::would_block);
  EXPECT_EQ(poll(s, a, rx, wa).code, status::would_block);
  const std::uint64_t before = s.mark();
  fill(tx, 1, 1);
  EXPECT_EQ(s.wakes(before), (told_wakes{{b.number, wake_code::message}, {a.number, wake_code::message}}));
  EXPECT_EQ(poll(s, a, rx, wa).value, 1);
  EXPECT_EQ(poll(s, b, rx2, wb).value, 1);
  EXPECT_EQ(poll(s, b, rx2, wb).code, status::would_block);
}

TEST(broadcast, disconnects_when_all_senders_are_gone_and_nothing_is_left) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  broadcast_receiver<int> rx2 = rx;
  broadcast_sender<int> tx2 = tx;
  puppet& p = s.task();
  broadcast_wait w;
  EXPECT_EQ(poll(s, p, rx, w).code, status::would_block);
  fill(tx, 1, 3);
  tx.drop();
  EXPECT_EQ(drain(rx), (std::vector<int>{-1, 2, 3}));
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(poll(s, p, rx, w).code, status::would_block);
  const std::uint64_t before = s.mark();
  tx2.drop();
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::disconnected}}));
  EXPECT_EQ(poll(s, p, rx, w).code, status::disconnected);
  EXPECT_EQ(poll(s, p, rx2, w).skipped, 1U) << "the other one has something left";
  EXPECT_EQ(poll(s, p, rx2, w).value, 2);
  EXPECT_EQ(drain(rx2), (std::vector<int>{3}));
  EXPECT_EQ(rx2.try_recv().code, status::disconnected);
}

TEST(broadcast, a_cancelled_poll_has_consumed_nothing_and_leaves_no_waiter) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  puppet& p = s.task();
  broadcast_wait w;
  EXPECT_EQ(poll(s, p, rx, w).code, status::would_block);
  s.cancel(p);
  EXPECT_EQ(poll(s, p, rx, w).code, status::cancelled);
  EXPECT_EQ(look(rx).ends.waiters, 0U);
  fill(tx, 1, 3);
  EXPECT_EQ(poll(s, p, rx, w).code, status::cancelled) << "neither a value nor a lag is told";
  EXPECT_EQ(drain(rx), (std::vector<int>{-1, 2, 3}));
}

TEST(broadcast, a_wait_goes_with_its_task_its_object_and_its_receiver) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  broadcast_receiver<int> rx2 = rx;
  puppet& a = s.task();
  puppet& b = s.task();
  broadcast_wait w;
  EXPECT_EQ(poll(s, a, rx, w).code, status::would_block);
  s.finish(a);
  EXPECT_EQ(look(rx).ends.waiters, 0U);
  EXPECT_EQ(poll(s, b, rx2, w).code, status::would_block);
  broadcast_receiver<int> moved = std::move(rx2);
  broadcast_wait w2 = std::move(w);
  EXPECT_EQ(poll(s, b, moved, w2).code, status::would_block);
  EXPECT_EQ(look(rx).ends.waiters, 1U);
  moved.drop();
  EXPECT_FALSE(w2.is_waiting());
  EXPECT_EQ(poll(s, b, moved, w2).code, status::stale_handle);
}

TEST(broadcast, its_region_takes_it_down_and_wakes_all_who_wait) {
  const auto alive = std::make_shared<int>(0);
  puppet_stage s;
  const region_handle in = s.region();
  auto [code, tx, rx] = broadcast<std::shared_ptr<int>>(s.k, in, 4);
  auto rx2 = rx;
  puppet& p = s.task();
  broadcast_wait w;
  EXPECT_EQ(tx.send(alive).code, status::ok);
  EXPECT_EQ(rx2.try_recv().code, status::ok);
  s.act(p, [&](cx& c) { EXPECT_EQ(rx2.poll_recv(c, w).code, status::would_block); });
  EXPECT_EQ(alive.use_count(), 2);
  const std::uint64_t before = s.mark();
  EXPECT_EQ(s.k.close(in), status::ok);
  EXPECT_EQ(s.wakes(before), (told_wakes{{p.number, wake_code::disconnected}}));
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(rx.try_recv().code, status::disconnected) << "what was not received is gone";
  EXPECT_EQ(tx.send(alive).code, status::disconnected);
}

TEST(broadcast, ends_may_go_in_every_order) {
  for (int order = 0; order < 24; ++order) {
    const auto alive = std::make_shared<int>(0);
    puppet_stage s;
    auto [code, tx, rx] = broadcast<std::shared_ptr<int>>(s.k, s.rt.root(), 2);
    auto tx2 = tx;
    auto rx2 = rx;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tx.send(alive).code, status::ok);
    EXPECT_EQ(alive.use_count(), 3);
    std::vector<std::function<void()>> drops{[&t = tx] { t.drop(); }, [&t = rx] { t.drop(); }, [&] { tx2.drop(); },
                                             [&] { rx2.drop(); }};
    int left = order;
    for (std::size_t n = 4; n > 0; --n) {
      const auto pick = static_cast<std::size_t>(left) % n;
      left /= static_cast<int>(n);
      drops[pick]();
      drops.erase(drops.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
  }
}

// Copies are plain; the original does something when it goes, or when it is copied.
struct noisy {
  noisy(int n, std::function<void()> at_end, std::function<void()> at_copy = {})
      : number(n), ends(std::move(at_end)), copies(std::move(at_copy)) {}
  noisy(const noisy& other) : number(other.number) {
    if (other.copies) other.copies();
  }
  noisy(noisy&& other) noexcept
      : number(other.number), ends(std::exchange(other.ends, nullptr)), copies(std::exchange(other.copies, nullptr)) {}
  noisy& operator=(const noisy&) = delete;
  noisy& operator=(noisy&&) = delete;
  ~noisy() {
    if (ends) ends();
  }
  int number;
  std::function<void()> ends;
  std::function<void()> copies;
};

TEST(broadcast, r252_a_send_from_the_destructor_of_the_value_that_is_overwritten_is_refused) {
  puppet_stage s;
  auto ends = broadcast<noisy>(s.k, s.rt.root(), 1);
  std::optional<status> inner;
  int seen = 0;
  EXPECT_EQ(ends.tx
                .send(noisy(1,
                            [&] {
                              inner = ends.tx.send(noisy(9, {})).code;
                              EXPECT_EQ(ends.rx.try_recv().code, status::lagged);
                              seen = ends.rx.try_recv().value->number;
                            }))
                .code,
            status::ok);
  EXPECT_EQ(ends.tx.send(noisy(2, {})).code, status::ok);
  EXPECT_EQ(inner, status::reentrant);
  EXPECT_EQ(seen, 2) << "the state was whole: a destructor may receive";
  EXPECT_EQ(ends.tx.send(noisy(3, {})).code, status::ok);
}

TEST(broadcast, r252_a_send_from_inside_a_copy_is_refused) {
  puppet_stage s;
  auto ends = broadcast<noisy>(s.k, s.rt.root(), 1);
  std::optional<status> inner;
  EXPECT_EQ(ends.tx.send(noisy(1, {}, [&] { inner = ends.tx.send(noisy(9, {})).code; })).code, status::ok);
  EXPECT_EQ(ends.rx.try_recv().value->number, 1);
  EXPECT_EQ(inner, status::reentrant);
}

TEST(broadcast, a_copy_may_receive_drop_and_close) {
  puppet_stage s;
  const region_handle in = s.region();
  auto ends = broadcast<noisy>(s.k, in, 2);
  int depth = 0;
  const auto again = [&] {
    if (depth++ == 0) {
      EXPECT_EQ(ends.rx.try_recv().value->number, 1);
    }
  };
  EXPECT_EQ(ends.tx.send(noisy(1, {}, again)).code, status::ok);
  EXPECT_EQ(ends.rx.try_recv().value->number, 1);
  EXPECT_EQ(ends.rx.try_recv().code, status::empty) << "the value counts once for this receiver";
  EXPECT_EQ(look(ends.tx).owed, 0U);
  int gone = 0;
  const auto end_all = [&] {
    EXPECT_EQ(s.k.close(in), status::ok);
    ends.rx.drop();
    EXPECT_EQ(gone, 0) << "what is copied stays";
  };
  EXPECT_EQ(ends.tx.send(noisy(2, [&] { ++gone; }, end_all)).code, status::ok);
  EXPECT_EQ(ends.rx.try_recv().value->number, 2);
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
  EXPECT_EQ(ends.tx.send(noisy(3, {})).code, status::disconnected);
}

// What is kept is nobody's once the last receiver has gone, whenever that was; it may be what somebody waits for.
TEST(broadcast, r258_what_is_kept_goes_with_a_last_receiver_that_a_value_drops_by_its_end_or_its_copy) {
  {
    puppet_stage s;
    auto ends = broadcast<noisy>(s.k, s.rt.root(), 2);
    int gone = 0;
    const auto counts = [&gone] { ++gone; };
    EXPECT_EQ(ends.tx.send(noisy(1, [&] { ends.rx.drop(); })).code, status::ok);
    EXPECT_EQ(ends.tx.send(noisy(2, counts)).code, status::ok);
    EXPECT_EQ(ends.tx.send(noisy(3, counts)).code, status::ok) << "its send overwrites the first, which drops";
    EXPECT_EQ(gone, 2);
    EXPECT_EQ(look(ends.tx).kept, 0U);
    EXPECT_EQ(look(ends.tx).counts.discarded, 2U);
    EXPECT_EQ(s.count(event_kind::messages_discarded), 1U);
  }
  {
    puppet_stage s;
    auto ends = broadcast<noisy>(s.k, s.rt.root(), 2);
    int gone = 0;
    EXPECT_EQ(ends.tx
                  .send(noisy(
                      1, [&] { ++gone; },
                      [&] {
                        ends.rx.drop();
                        EXPECT_EQ(gone, 0) << "what is copied stays";
                      }))
                  .code,
              status::ok);
    EXPECT_EQ(ends.rx.try_recv().value->number, 1);
    EXPECT_EQ(gone, 1);
    EXPECT_EQ(look(ends.tx).counts.discarded, 1U);
  }
  {  // Who subscribes meanwhile sees nothing of it, and what was kept makes room.
    puppet_stage s;
    auto ends = broadcast<noisy>(s.k, s.rt.root(), 1);
    broadcast_receiver<noisy> late;
    const auto changes = [&] {
      ends.rx.drop();
      EXPECT_EQ(ends.tx.subscribe(late), status::ok);
    };
    EXPECT_EQ(ends.tx.send(noisy(1, changes)).code, status::ok);
    EXPECT_EQ(ends.tx.send(noisy(2, {})).code, status::ok);
    EXPECT_EQ(look(ends.tx).kept, 1U);
    EXPECT_EQ(late.try_recv().code, status::empty);
    EXPECT_EQ(ends.tx.send(noisy(3, {})).code, status::ok);
    EXPECT_EQ(late.try_recv().value->number, 3);
  }
}

TEST(broadcast, a_destructor_may_subscribe_while_the_last_receiver_goes) {
  puppet_stage s;
  auto ends = broadcast<noisy>(s.k, s.rt.root(), 2);
  broadcast_receiver<noisy> late;
  status inner = status::ok;
  EXPECT_EQ(ends.tx
                .send(noisy(1,
                            [&] {
                              EXPECT_EQ(ends.tx.subscribe(late), status::ok);
                              inner = ends.tx.send(noisy(2, {})).code;
                            }))
                .code,
            status::ok);
  ends.rx.drop();
  EXPECT_EQ(inner, status::reentrant);
  EXPECT_EQ(ends.tx.send(noisy(3, {})).code, status::ok);
  EXPECT_EQ(late.try_recv().value->number, 3);
}

TEST(broadcast, carries_values_that_are_over_aligned) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<wide_value>(s.k, s.rt.root(), 3);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(tx.send(wide_value(i)).code, status::ok);
    const auto r = rx.try_recv();
    EXPECT_TRUE(r.value->is_aligned());
    EXPECT_EQ(r.value->number, i);
  }
}

TEST(broadcast, limits_are_refusals_that_change_nothing) {
  auto config = puppet_config();
  config.contract.max_channels = 1;
  config.contract.max_channel_waiters = 1;
  config.contract.max_bytes = 1 << 20;
  puppet_stage s(config);
  expect_refused(s, status::resource_exhausted, limit_code::memory,
                 [&] { return broadcast<int>(s.k, s.rt.root(), UINT32_MAX).code; });
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  puppet& a = s.task();
  puppet& b = s.task();
  broadcast_wait wa;
  broadcast_wait wb;
  expect_refused(s, status::resource_exhausted, limit_code::channels,
                 [&] { return broadcast<int>(s.k, s.rt.root(), 1).code; });
  EXPECT_EQ(poll(s, a, rx, wa).code, status::would_block);
  s.act(b, [&, &r = rx](cx& c) {
    expect_refused(s, status::resource_exhausted, limit_code::channel_waiters, [&] { return r.poll_recv(c, wb).code; });
  });
  expect_silent(s, status::empty, [&, &r = rx] { return r.try_recv().code; });
  const region_handle in = s.region();
  EXPECT_EQ(s.k.close(in), status::ok);
  expect_refused(s, status::region_not_open, limit_code::none, [&] { return broadcast<int>(s.k, in, 1).code; });
}

TEST(broadcast, capacity_0_is_a_panic) {
  puppet_stage s;
  puppet& p = s.task();
  s.act(p, [&](cx& c) { EXPECT_EQ(broadcast<int>(c, 0).code, status::invalid_argument); });
  s.rt.run_until_idle();
  EXPECT_EQ(s.result(p).kind(), outcome_kind::panicked);
  EXPECT_EQ(s.count(event_kind::channel_created), 0U);
}

TEST(broadcast, r259_is_drained_when_nothing_is_owed_to_anybody) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  broadcast_receiver<int> slow = rx;
  fill(tx, 1, 3);
  EXPECT_EQ(drain(rx), (std::vector<int>{-1, 2, 3}));
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 16U);
  slow.drop();
  EXPECT_EQ(s.k.check_quiescence().failed & 16U, 0U);
  EXPECT_EQ(look(tx).kept, 2U) << "kept, and nobody's";
}

TEST(broadcast, asks_for_no_memory_once_it_is_made) {
  counted_memory memory;
  auto config = puppet_config();
  config.memory = memory.port();
  puppet_stage s(config);
  puppet& p = s.task();
  auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
  broadcast_wait w;
  const std::uint64_t before = memory.calls;
  for (int i = 0; i < 10; ++i) {
    broadcast_receiver<int> copy = rx;
    EXPECT_EQ(poll(s, p, rx, w).code, status::would_block);
    fill(tx, 1, 3);
    EXPECT_EQ(drain(rx), (std::vector<int>{-1, 2, 3}));
  }
  EXPECT_EQ(memory.calls, before);
}

TEST(broadcast, a_run_repeats_event_for_event) {
  expect_same_digest_twice([](puppet_stage& s) {
    auto [code, tx, rx] = broadcast<int>(s.k, s.rt.root(), 2);
    puppet& p = s.task();
    broadcast_wait w;
    broadcast_receiver<int> copy = rx;
    EXPECT_EQ(poll(s, p, rx, w).code, status::would_block);
    fill(tx, 1, 3);
    EXPECT_EQ(drain(copy), (std::vector<int>{-1, 2, 3}));
  });
}

}  // namespace
}  // namespace asx
