// Each operation as a branch of a select, in the lab: one that loses has lost nothing, one that fails is named,
// a cancel can be a branch, and one that has a name comes back.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/sync.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

constexpr duration ms = duration::milliseconds(1);

duration many(std::uint64_t n) {
  return duration::milliseconds(n);
}

// Goal:   whatever `op` makes loses nothing: not while it is not ready, and not when it becomes so together with the
//         winner.
// Method: it loses to a sleep; then `ready` makes it ready in the same poll as a winner in front of it, in a fair
// select
//         as well, where either may win; then it wins, unless it has, and `use` is given what it gave.
template <class Op, class Ready, class Use>
task<> loses_nothing(cx c, Op op, Ready ready, Use use) {
  for (int i = 0; i < 3; ++i) {
    const auto none = co_await select(op(), sleep(ms));
    EXPECT_EQ(none.index(), 1U);
    const auto none_by_draw = co_await select_fair(op(), sleep(ms));
    EXPECT_EQ(none_by_draw.index(), 1U);
  }
  notify first;
  EXPECT_EQ(notify::create(c, first), status::ok);
  const auto tell = [&first, &ready](cx) -> task<> {
    EXPECT_EQ(first.notify_one(), status::ok);
    ready();
    co_return;
  };
  auto teller = co_await start(c, tell);
  const auto beaten = co_await select(wait(first), op());
  EXPECT_EQ(beaten.index(), 0U);
  static_cast<void>(co_await join(teller));
  auto won = co_await select(op(), sleep(many(10)));
  EXPECT_EQ(won.index(), 0U);
  if (won.index() == 0) use(std::move(std::get<0>(won)));
  EXPECT_EQ(c.kernel().live_timers(), 0U);
}

LAB_TEST(select_branch, a_recv_loses_nothing) {
  auto ends = channel<int>(c, 1);
  int got = 0;
  co_await loses_nothing(
      c, [&] { return recv(ends.rx); }, [&] { EXPECT_EQ(ends.tx.try_send(5).code, status::ok); },
      [&](auto&& value) { got = *value; });
  EXPECT_EQ(got, 5);
  channel_report r;
  EXPECT_EQ(ends.rx.inspect(r), status::ok);
  EXPECT_TRUE(r.queued == 0 && !r.is_receiver_waiting);
}

LAB_TEST(select_branch, a_reserve_loses_nothing) {
  auto ends = channel<int>(c, 1);
  EXPECT_EQ(ends.tx.try_send(1).code, status::ok);
  co_await loses_nothing(
      c, [&] { return reserve(ends.tx); }, [&] { EXPECT_EQ(*ends.rx.try_recv().value, 1); },
      [](auto&& permit) { EXPECT_EQ(std::move(permit).send(2).code, status::ok); });
  EXPECT_EQ(*co_await recv(ends.rx), 2);
  channel_report r;
  EXPECT_EQ(ends.tx.inspect(r), status::ok);
  EXPECT_EQ(r.reserved + r.waiters, 0U);
}

LAB_TEST(select_branch, a_tracked_reserve_loses_nothing) {
  auto ends = channel<int>(c, 1);
  EXPECT_EQ(ends.tx.try_send(1).code, status::ok);
  tracked_sender<int> tx(std::move(ends.tx));
  co_await loses_nothing(
      c, [&] { return reserve(tx); }, [&] { EXPECT_EQ(*ends.rx.try_recv().value, 1); },
      [](auto&& permit) { EXPECT_EQ(std::move(permit).send(2).code, status::ok); });
  EXPECT_EQ(*co_await recv(ends.rx), 2);
  EXPECT_EQ(c.kernel().check_quiescence().failed & 0b10U, 0U) << "no obligation is left";
}

LAB_TEST(select_branch, a_oneshot_loses_nothing) {
  auto ends = oneshot<int>(c);
  int got = 0;
  co_await loses_nothing(
      c, [&] { return recv(ends.rx); }, [&] { EXPECT_EQ(ends.tx.send(5).code, status::ok); },
      [&](auto&& value) { got = *value; });
  EXPECT_EQ(got, 5);
}

LAB_TEST(select_branch, a_watch_loses_nothing) {
  auto ends = watch<int>(c, 0);
  bool has_changed = false;
  co_await loses_nothing(
      c, [&] { return changed(ends.rx); }, [&] { EXPECT_EQ(ends.tx.send(5).code, status::ok); },
      [&](auto&& is_new) { has_changed = is_new; });
  EXPECT_TRUE(has_changed);
}

LAB_TEST(select_branch, a_broadcast_loses_nothing) {
  auto ends = broadcast<int>(c, 2);
  int got = 0;
  co_await loses_nothing(
      c, [&] { return recv(ends.rx); }, [&] { EXPECT_EQ(ends.tx.send(5).code, status::ok); },
      [&](auto&& news) { got = news.value.value_or(0); });
  EXPECT_EQ(got, 5);
}

LAB_TEST(select_branch, a_rendezvous_loses_nothing) {
  co_await region(c, [](cx r) -> task<> {
    auto ends = rendezvous<int>(r);
    int got = 0;
    const auto offers = [&ends](cx) -> task<> { co_await hand_over(ends.tx, 5); };
    co_await loses_nothing(
        r, [&] { return recv(ends.rx); }, [&] { EXPECT_EQ(spawn(r, offers).code, status::ok); },
        [&](auto&& value) { got = *value; });
    EXPECT_EQ(got, 5);
    co_await yield();
  });
}

LAB_TEST(select_branch, an_acquire_loses_nothing) {
  semaphore s;
  EXPECT_EQ(semaphore::create(c, 2, s), status::ok);
  std::optional<semaphore_units> held(co_await acquire(s, 2));
  co_await loses_nothing(
      c, [&] { return acquire(s, 2); }, [&] { held.reset(); }, [](auto&& units) { std::move(units).release(); });
  semaphore_units all;
  EXPECT_EQ(s.try_acquire(2, all), status::ok) << "all of them are back";
}

LAB_TEST(select_branch, a_lock_loses_nothing) {
  mutex<int> m;
  EXPECT_EQ((mutex<int>::create(c, m, "m", 7)), status::ok);
  std::optional<mutex_guard<int>> held(co_await lock(m));
  int got = 0;
  co_await loses_nothing(c, [&] { return lock(m); }, [&] { held.reset(); }, [&](auto&& guard) { got = *guard; });
  EXPECT_EQ(got, 7);
  static_cast<void>(co_await lock(m));
}

LAB_TEST(select_branch, a_wait_loses_nothing) {
  notify n;
  EXPECT_EQ(notify::create(c, n), status::ok);
  co_await loses_nothing(c, [&] { return wait(n); }, [&] { EXPECT_EQ(n.notify_one(), status::ok); }, [](auto&&) {});
}

LAB_TEST(select_branch, a_sleep_loses_nothing) {
  const instant late = c.now() + many(8);
  co_await loses_nothing(c, [&] { return sleep_until(late); }, [] {}, [](auto&&) {});
  EXPECT_EQ(c.now(), late);
}

LAB_TEST(select_branch, a_join_loses_nothing) {
  notify go;
  EXPECT_EQ(notify::create(c, go), status::ok);
  const auto child = [&go](cx) -> task<std::unique_ptr<int>> {
    co_await wait(go);
    co_return std::make_unique<int>(5);
  };
  auto h = co_await start(c, child);
  int got = 0;
  co_await loses_nothing(
      c, [&] { return join(h); }, [&] { EXPECT_EQ(go.notify_one(), status::ok); },
      [&](auto&& how) { got = *how.value(); });
  EXPECT_EQ(got, 5);
}

// Goal:   who lost waits no more when the coroutine goes on, though it stands there until its expression is over (law
// 2). Method: the select is an argument, and so lives while the call looks; each look would find a waiter, a timer or a
//         call otherwise.
template <class Won, class Look>
void while_it_stands(const Won& won, Look look) {
  EXPECT_EQ(won.index(), 1U) << "the sleep was over first";
  look();
}
LAB_TEST(select_branch, that_loses_has_left_before_its_expression_is_over) {
  semaphore s;
  EXPECT_EQ(semaphore::create(c, 1, s), status::ok);
  auto units = co_await acquire(s, 1);
  while_it_stands(co_await select(acquire(s, 1), sleep(ms)), [&] {
    semaphore_report r;
    EXPECT_EQ(s.inspect(r), status::ok);
    EXPECT_EQ(r.waiters, 0U);
  });
  mutex<int> m;
  EXPECT_EQ((mutex<int>::create(c, m, "m", 7)), status::ok);
  auto guard = co_await lock(m);
  while_it_stands(co_await select(lock(m), sleep(ms)), [&] {
    semaphore_report r;
    EXPECT_EQ(m.inspect(r), status::ok);
    EXPECT_EQ(r.waiters, 0U);
  });
  notify n;
  EXPECT_EQ(notify::create(c, n), status::ok);
  while_it_stands(co_await select(wait(n), sleep(ms)), [&] {
    std::uint32_t waiters = 1;
    bool is_kept = false;
    EXPECT_EQ(n.inspect(waiters, is_kept), status::ok);
    EXPECT_EQ(waiters, 0U);
  });
  auto latest = watch<int>(c, 0);
  while_it_stands(co_await select(changed(latest.rx), sleep(ms)), [&] {
    watch_report r;
    EXPECT_EQ(latest.rx.inspect(r), status::ok);
    EXPECT_EQ(r.ends.waiters, 0U);
  });
  auto feed = broadcast<int>(c, 2);
  while_it_stands(co_await select(recv(feed.rx), sleep(ms)), [&] {
    broadcast_report r;
    EXPECT_EQ(feed.rx.inspect(r), status::ok);
    EXPECT_EQ(r.ends.waiters, 0U);
  });
  interval every(c, duration::hours(1));
  while_it_stands(co_await select(every.tick(), sleep(ms)), [&] { EXPECT_EQ(c.kernel().live_timers(), 0U); });
}

// ---- which one it was -----------------------------------------------------------------------------------------------

LAB_TEST(select_branch, that_fails_is_named_with_its_status_and_the_coroutine_goes_on) {
  auto gone = channel<int>(c, 1);
  auto here = channel<int>(c, 1);
  gone.rx.drop();
  auto failed = co_await attempt(select(recv(here.rx), sleep(ms), reserve(gone.tx)));
  EXPECT_FALSE(failed.is_ok());
  EXPECT_EQ(failed.code, status::disconnected);
  EXPECT_EQ(failed.branch, 2U);
  EXPECT_FALSE(failed.value.has_value());
  EXPECT_EQ(c.kernel().live_timers(), 0U) << "the others have left";

  join_handle<> none;
  const auto stale = co_await attempt(select(join(none), sleep(ms)));
  EXPECT_TRUE(stale.code == status::stale_handle && stale.branch == 0);
  const auto far = co_await attempt(select(recv(here.rx), sleep(duration::max())));
  EXPECT_FALSE(far.is_ok()) << "no timer can be set for it (R-82)";
  EXPECT_EQ(far.branch, 1U);

  // It fails only while it waits: nobody was ready before.
  EXPECT_EQ(here.tx.try_send(4).code, status::ok);
  auto full = channel<int>(c, 1);
  EXPECT_EQ(full.tx.try_send(1).code, status::ok);
  const auto leaves = [&full](cx) -> task<> {
    full.rx.drop();
    co_return;
  };
  auto other = co_await start(c, leaves);
  const auto later = co_await attempt(select(sleep(ms), reserve(full.tx)));
  EXPECT_TRUE(later.code == status::disconnected && later.branch == 1) << name(later.code);
  static_cast<void>(co_await join(other));

  const auto won = co_await attempt(select(sleep(ms), recv(here.rx)));
  EXPECT_TRUE(won.is_ok() && won.branch == 1);
  EXPECT_EQ(std::get<1>(*won.value), 4);
}

TEST(select_branch, that_the_contract_refuses_is_named_and_the_others_have_left) {
  runtime_config config;
  config.contract.max_channel_waiters = 1;
  runtime rt(config);
  const auto out = run_in(rt, [](cx c) -> task<> {
    auto full = channel<int>(c, 1);
    EXPECT_EQ(full.tx.try_send(1).code, status::ok);
    const auto waits = [](cx, sender<int> to) -> task<> { co_await send(to, 2); };
    auto first = co_await start(c, waits, full.tx);
    co_await yield();
    notify stop;
    EXPECT_EQ(notify::create(c, stop), status::ok);
    const auto refused = co_await attempt(select(wait(stop), sleep(ms), reserve(full.tx)));
    EXPECT_TRUE(refused.code == status::resource_exhausted && refused.branch == 2) << name(refused.code);
    EXPECT_EQ(c.kernel().live_timers(), 0U);
    EXPECT_EQ(stop.notify_one(), status::ok);
    const auto got = co_await attempt(select(sleep(ms), wait(stop)));
    EXPECT_TRUE(got.is_ok() && got.branch == 1) << "nobody stands there in its place";
    EXPECT_EQ(*co_await recv(full.rx), 1);
    static_cast<void>(co_await join(first));
  });
  EXPECT_TRUE(out.is_ok()) << out.text;
}

LAB_TEST(select_branch, of_a_cancelled_task_says_cancelled) {
  const auto body = [](cx own) -> task<int> {
    auto ends = channel<int>(own, 1);
    const auto how = co_await attempt(select(recv(ends.rx), sleep(duration::hours(1))));
    EXPECT_EQ(how.code, status::cancelled);
    co_return 1;
  };
  auto h = co_await start(c, body);
  co_await sleep(ms);
  EXPECT_EQ(h.cancel(), status::ok);
  EXPECT_TRUE((co_await join(h)).is_cancelled());
}

// ---- a cancel as a branch -------------------------------------------------------------------------------------------

LAB_TEST(select_branch, a_cancel_is_one_wherever_it_stands_and_the_others_lose_nothing) {
  for (const bool is_fair : {false, true}) {
    auto ends = channel<int>(c, 4);
    int left = 0;
    const auto serves = [&ends, &left, is_fair](cx own) -> task<> {
      for (;;) {
        std::size_t which = 0;
        std::optional<cancel_kind> kind;
        if (is_fair) {
          auto got = co_await select_fair(recv(ends.rx), sleep(duration::hours(1)), cancel_requested());
          which = got.index();
          if (which == 2) kind = std::get<2>(got);
        } else {
          auto got = co_await select(recv(ends.rx), sleep(duration::hours(1)), cancel_requested());
          which = got.index();
          if (which == 2) kind = std::get<2>(got);
        }
        if (which == 0) continue;
        EXPECT_EQ(kind, cancel_kind::timeout);
        EXPECT_TRUE(own.is_cancelled());
        while (ends.rx.try_recv().value) ++left;  // What came before the cancel is still there.
        co_return;
      }
    };
    auto h = co_await start(c, serves);
    co_await send(ends.tx, 1);
    co_await sleep(ms);
    EXPECT_EQ(h.cancel({cancel_kind::timeout, "enough"}), status::ok);
    EXPECT_EQ(ends.tx.try_send(2).code, status::ok);
    const auto how = co_await join(h);
    EXPECT_TRUE(how.is_cancelled());
    EXPECT_EQ(left, 1);
  }
}

LAB_TEST(select_branch, a_cancel_can_be_awaited_alone_and_in_a_select_of_a_select) {
  const auto alone = [](cx) -> task<> { EXPECT_EQ(co_await cancel_requested(), cancel_kind::user); };
  const auto nested = [](cx) -> task<> {
    const auto got = co_await select(sleep(duration::hours(1)), select(sleep(duration::hours(2)), cancel_requested()));
    EXPECT_EQ(got.index(), 1U);
    EXPECT_EQ(std::get<1>(std::get<1>(got)), cancel_kind::user);
  };
  auto a = co_await start(c, alone);
  auto b = co_await start(c, nested);
  co_await sleep(ms);
  EXPECT_FALSE(a.is_done() || b.is_done());
  EXPECT_EQ(a.cancel(), status::ok);
  EXPECT_EQ(b.cancel(), status::ok);
  EXPECT_TRUE((co_await join(a)).is_cancelled());
  EXPECT_TRUE((co_await join(b)).is_cancelled());
}

LAB_TEST(select_branch, a_cancel_is_not_ready_in_a_mask) {
  const auto body = [](cx) -> task<> {
    {
      const auto quiet = co_await mask();
      const auto got = co_await select(cancel_requested(), sleep(many(5)));
      EXPECT_EQ(got.index(), 1U);
    }
    const auto after = co_await select(sleep(ms), cancel_requested());
    EXPECT_EQ(after.index(), 1U);
  };
  auto h = co_await start(c, body);
  co_await sleep(ms);
  EXPECT_EQ(h.cancel(), status::ok);
  EXPECT_TRUE((co_await join(h)).is_cancelled());
}

// ---- one that has a name --------------------------------------------------------------------------------------------

LAB_TEST(select_branch, that_has_a_name_keeps_its_value_when_it_loses_and_may_be_selected_again) {
  co_await region(c, [](cx r) -> task<> {
    auto ends = rendezvous<std::unique_ptr<int>>(r);
    auto offer = hand_over(ends.tx, std::make_unique<int>(7));
    for (int i = 0; i < 3; ++i) {
      const auto late = co_await select(std::ref(offer), sleep(ms));
      EXPECT_EQ(late.index(), 1U);
      rendezvous_report report;
      EXPECT_EQ(ends.rx.inspect(report), status::ok);
      EXPECT_EQ(report.offered, report.withdrawn) << "it has left its queue";
    }
    int got = 0;
    const auto takes = [&](cx) -> task<> { got = **co_await recv(ends.rx); };
    auto taker = co_await start(r, takes);
    const auto done = co_await select(sleep(duration::seconds(1)), std::ref(offer));
    EXPECT_EQ(done.index(), 1U);
    static_cast<void>(co_await join(taker));
    EXPECT_EQ(got, 7);
    EXPECT_FALSE(offer.take_back().has_value()) << "somebody has it";
  });
}

LAB_TEST(select_branch, that_sends_and_loses_gives_its_value_back) {
  auto ends = channel<std::unique_ptr<int>>(c, 1);
  EXPECT_EQ(ends.tx.try_send(std::make_unique<int>(1)).code, status::ok);
  auto op = send(ends.tx, std::make_unique<int>(2));
  const auto late = co_await select(std::ref(op), sleep(ms));
  EXPECT_EQ(late.index(), 1U);
  channel_report r;
  EXPECT_EQ(ends.tx.inspect(r), status::ok);
  EXPECT_EQ(r.waiters, 0U);
  EXPECT_EQ(**co_await recv(ends.rx), 1);
  const auto sent = co_await select(std::ref(op), sleep(ms));
  EXPECT_EQ(sent.index(), 0U);
  EXPECT_FALSE(op.take_back().has_value()) << "it was sent";
  EXPECT_EQ(**co_await recv(ends.rx), 2);
  auto other = send(ends.tx, std::make_unique<int>(3));
  ends.rx.drop();
  const auto failed = co_await attempt(select(std::ref(other), sleep(ms)));
  EXPECT_TRUE(failed.code == status::disconnected && failed.branch == 0);
  const auto back = other.take_back();
  EXPECT_TRUE(back && **back == 3);
}

LAB_TEST(select_branch, that_is_a_named_sleep_is_one_deadline_for_many_rounds) {
  auto ends = channel<int>(c, 1);
  auto deadline = sleep(many(10));
  int rounds = 0;
  for (;;) {
    const auto got = co_await select(std::ref(deadline), recv(ends.rx), sleep(many(3)));
    if (got.index() == 0) break;
    ++rounds;
  }
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(c.kernel().live_timers(), 0U);
}

// Goal:   what has won and is selected again gives what comes next, and nothing twice.
LAB_TEST(select_branch, that_has_a_name_gives_nothing_twice) {
  co_await region(c, [](cx r) -> task<> {
    auto ends = channel<int>(r, 4);
    auto hands = rendezvous<int>(r);
    EXPECT_TRUE(ends.tx.try_send(7).code == status::ok && ends.tx.try_send(8).code == status::ok);
    ends.tx.drop();
    const auto gives = [tx = &hands.tx](cx) -> task<> {
      co_await hand_over(*tx, 7);
      co_await hand_over(*tx, 8);
      tx->drop();
    };
    co_await start(r, gives);
    auto next = recv(ends.rx);
    auto taken = recv(hands.rx);
    for (const int wanted : {7, 8, 0, 0}) {
      const auto got = co_await select(std::ref(next), sleep(duration::seconds(1)));
      EXPECT_TRUE(got.index() == 0 && std::get<0>(got).value_or(0) == wanted) << wanted;
      const auto handed = co_await select(std::ref(taken), sleep(duration::seconds(1)));
      EXPECT_TRUE(handed.index() == 0 && std::get<0>(handed).value_or(0) == wanted) << wanted;
    }
  });
}

LAB_TEST(select_branch, that_was_sent_is_refused_when_it_is_selected_again) {
  auto ends = channel<std::unique_ptr<int>>(c, 4);
  auto op = send(ends.tx, std::make_unique<int>(5));
  const auto sent = co_await select(std::ref(op), sleep(ms));
  EXPECT_EQ(sent.index(), 0U);
  const auto again = co_await attempt(select(std::ref(op), sleep(ms)));
  EXPECT_TRUE(again.code == status::invalid_argument && again.branch == 0);
  channel_report r;
  EXPECT_EQ(ends.tx.inspect(r), status::ok);
  EXPECT_TRUE(r.queued == 1 && r.reserved == 0) << r.queued << " queued, " << r.reserved << " reserved";
}

// Goal:   a select that is dropped where it stands takes its named operations out of their queues.
LAB_TEST(select_branch, that_has_a_name_has_left_when_its_select_is_dropped) {
  co_await region(c, [](cx r) -> task<> {
    auto ends = rendezvous<std::unique_ptr<int>>(r);
    auto offer = hand_over(ends.tx, std::make_unique<int>(7));
    auto* const named = &offer;
    const auto waits = [named](cx) -> task<> { co_await select(std::ref(*named), sleep(duration::seconds(10))); };
    const auto got = co_await within(r, duration::seconds(1), waits);
    EXPECT_FALSE(got.has_value());
    rendezvous_report report;
    EXPECT_EQ(ends.rx.inspect(report), status::ok);
    EXPECT_EQ(report.offered, report.withdrawn);
    const auto back = offer.take_back();
    EXPECT_TRUE(back && **back == 7);
  });
}

// Goal:   a cancel that comes between the looks at two branches is the cancel's all the same.
// Method: the lab cancels at every cancel point, and so at that of each branch in turn.
task<> beats_until_cancelled(cx c, int* cancelled, int* answered) {
  auto ends = channel<int>(c, 1);
  for (int i = 0; i < 3; ++i) {
    const auto got = co_await attempt(select(recv(ends.rx), sleep(ms), cancel_requested()));
    if (got.code == status::cancelled) ++*cancelled;
    if (got.is_ok() && got.value->index() == 2) {
      ++*answered;
      co_return;
    }
  }
}
TEST(select_branch, that_is_a_cancel_wins_wherever_it_is_raised) {
  int cancelled = 0;
  int answered = 0;
  const lab_result r = sweep({.may_fail = true}, lab_fault::cancel,
                             [&](cx c) -> task<> { co_await beats_until_cancelled(c, &cancelled, &answered); });
  EXPECT_TRUE(r.is_ok) << r.report();
  EXPECT_GT(answered, 3);
  EXPECT_EQ(cancelled, 0) << "another branch answered in its place";
}

}  // namespace
}  // namespace asx
