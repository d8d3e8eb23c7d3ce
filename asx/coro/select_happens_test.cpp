// What somebody else completes while it waits - a message that the channel takes, an offer, a value
// from outside: one select goes on with one of them, whoever limits it hears of it, and the
// order stays.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/foreign.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/port_clock.hpp"

namespace asx {
namespace {

constexpr duration ms = duration::milliseconds(1);

// A value that runs code when it is moved.
struct owner {
  explicit owner(int n) : number(n), owned(std::make_unique<int>(n)) {}
  int number;
  std::unique_ptr<int> owned;
};
int number_of(int n) {
  return n;
}
int number_of(const owner& w) {
  return *w.owned;
}

// ---- the order of those who wait
// -------------------------------------------------------------------------------------

// Goal:   whoever looks for itself, because it was woken for something else, is not overtaken by the one behind it.
// Method: two wait at a full channel; the first is woken, and then two slots come free.
template <class T>
void brings_both_in_order(journal_mode mode) {
  runtime rt(runtime_config{.journaling = mode});
  std::vector<int> got;
  auto first = spawn_in(rt.kernel(), rt.root(), {}, [&got](cx c) -> task<> {
    auto ends = channel<T>(c, 2);
    EXPECT_EQ(ends.code, status::ok);
    for (int i = 1; i <= 2; ++i) EXPECT_EQ(ends.tx.try_send(T(i)).code, status::ok);
    co_await region(c, [&ends, &got](cx r) -> task<> {
      const auto sends = [](cx, sender<T> to, int number) -> task<> { co_await send(to, T(number)); };
      auto one = co_await start(r, sends, ends.tx, 10);
      co_await yield();
      auto two = co_await start(r, sends, ends.tx, 20);
      co_await sleep(ms);
      r.kernel().waker_of(one.task()).wake();
      for (int i = 1; i <= 2; ++i) EXPECT_EQ(number_of(*ends.rx.try_recv().value), i);
      for (int i = 0; i < 2; ++i) {
        const auto next = co_await recv(ends.rx);
        got.push_back(number_of(*next));
      }
    });
  });
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(first.handle.is_done());
  EXPECT_EQ(got, (std::vector<int>{10, 20})) << "INV-CH-03";
}

TEST(coro_happens, r322_a_sender_that_looks_for_itself_is_not_overtaken) {
  brings_both_in_order<int>(journal_mode::full);
  brings_both_in_order<int>(journal_mode::off);
  brings_both_in_order<owner>(journal_mode::full);
  brings_both_in_order<owner>(journal_mode::off);
}

// Two sends in one select wait for a permit each, and are no less in order.
LAB_TEST(coro_happens, r322_a_select_of_two_sends_is_not_overtaken) {
  auto wide = channel<int>(c, 2);
  auto other = channel<int>(c, 1);
  for (int i = 1; i <= 2; ++i) EXPECT_EQ(wide.tx.try_send(i).code, status::ok);
  EXPECT_EQ(other.tx.try_send(3).code, status::ok);
  co_await region(c, [&wide, &other](cx r) -> task<> {
    const auto either = [](cx, sender<int> a, sender<int> b) -> task<> {
      const auto won = co_await select(send(a, 10), send(b, 11));
      EXPECT_EQ(won.index(), 0U);
    };
    const auto sends = [](cx, sender<int> to) -> task<> { co_await send(to, 20); };
    co_await start(r, either, wide.tx, other.tx);
    co_await sleep(ms);
    co_await start(r, sends, wide.tx);
    co_await sleep(ms);
    for (int i = 1; i <= 2; ++i) EXPECT_EQ(*wide.rx.try_recv().value, i);
    EXPECT_EQ(*co_await recv(wide.rx), 10);
    EXPECT_EQ(*co_await recv(wide.rx), 20);
  });
  EXPECT_EQ(*other.rx.try_recv().value, 3);
  EXPECT_EQ(other.rx.try_recv().code, status::empty);
}

// ---- one of several
// --------------------------------------------------------------------------------------------------

// Goal:   of a message that could be taken and an offer that could be, one goes, and it is the one that the select
// names. Method: both could be completed before the task is polled again; in each form of a select within a select.
template <class Select>
task<> completes_one(cx c, Select either) {
  auto ends = channel<int>(c, 1);
  auto met = rendezvous<int>(c);
  EXPECT_EQ(ends.tx.try_send(1).code, status::ok);
  co_await region(c, [&ends, &met, &either](cx r) -> task<> {
    auto one = co_await start(r, either, &ends.tx, &met.tx);
    co_await sleep(ms);
    EXPECT_EQ(*ends.rx.try_recv().value, 1);
    const auto offered = met.rx.try_recv().value;
    co_await sleep(ms);
    const auto sent = ends.rx.try_recv().value;
    const outcome<int> ended = co_await join(one);
    const int won = ended.value();
    EXPECT_EQ(sent.has_value(), won == 10);
    EXPECT_EQ(offered.has_value(), won == 20);
  });
}

LAB_TEST(coro_happens, r323_a_select_in_a_select_completes_one) {
  co_await completes_one(c, [](cx, sender<int>* to, rendezvous_sender<int>* with) -> task<int> {
    const auto won = co_await select(select(send(*to, 10), sleep(duration::seconds(5))), hand_over(*with, 20));
    co_return won.index() == 0 ? 10 : 20;
  });
  co_await completes_one(c, [](cx, sender<int>* to, rendezvous_sender<int>* with) -> task<int> {
    const auto won = co_await select(hand_over(*with, 20), select_fair(sleep(duration::seconds(5)), send(*to, 10)));
    co_return won.index() == 1 ? 10 : 20;
  });
  co_await completes_one(c, [](cx, sender<int>* to, rendezvous_sender<int>* with) -> task<int> {
    auto named = send(*to, 10);
    const auto won = co_await select(select(std::ref(named), sleep(duration::seconds(5))), hand_over(*with, 20));
    co_return won.index() == 0 ? 10 : 20;
  });
  co_await completes_one(c, [](cx, sender<int>* to, rendezvous_sender<int>* with) -> task<int> {
    const auto won = co_await select(send(*to, 10), hand_over(*with, 20));
    co_return won.index() == 0 ? 10 : 20;
  });
}

// A receiver comes to each of two offers of one select, in both orders, and while others stand behind one of them.
LAB_TEST(coro_happens, r323_of_two_offers_one_is_taken) {
  for (const bool is_nested : {false, true}) {
    for (const bool second_first : {false, true}) {
      auto a = rendezvous<int>(c);
      auto b = rendezvous<int>(c);
      co_await region(c, [&a, &b, is_nested, second_first](cx r) -> task<> {
        auto won = co_await start(
            r,
            [is_nested](cx, rendezvous_sender<int>* one, rendezvous_sender<int>* two) -> task<std::size_t> {
              if (!is_nested) co_return (co_await select(hand_over(*one, 1), hand_over(*two, 2))).index();
              co_return (co_await select(select(hand_over(*one, 1), sleep(duration::seconds(5))), hand_over(*two, 2)))
                  .index();
            },
            &a.tx, &b.tx);
        co_await sleep(ms);
        const auto behind = [](cx, rendezvous_sender<int>* to) -> task<> { co_await hand_over(*to, 3); };
        co_await start(r, behind, second_first ? &a.tx : &b.tx);
        co_await sleep(ms);
        auto& early = second_first ? b.rx : a.rx;
        auto& late = second_first ? a.rx : b.rx;
        EXPECT_EQ(*early.try_recv().value, second_first ? 2 : 1);
        EXPECT_EQ(*late.try_recv().value, 3) << "the other offer of the same select is none any more";
        EXPECT_EQ(late.try_recv().code, status::empty);
        EXPECT_EQ((co_await join(won)).value(), second_first ? 1U : 0U);
      });
      rendezvous_report seen;
      EXPECT_EQ(a.rx.inspect(seen), status::ok);
      EXPECT_EQ(seen.offered, seen.taken + seen.withdrawn);
    }
  }
}

// Receivers that wait get each value once, however often a select offers two.
LAB_TEST(coro_happens, r323_two_receivers_that_wait_get_what_was_handed_over_and_no_more) {
  auto a = rendezvous<int>(c);
  auto b = rendezvous<int>(c);
  int won = 0;
  int got = 0;
  co_await region(c, [&a, &b, &won, &got](cx r) -> task<> {
    const auto receives = [](cx, rendezvous_receiver<int>* from, int* count) -> task<> {
      while (co_await recv(*from)) ++*count;
    };
    co_await start(r, receives, &a.rx, &got);
    co_await start(r, receives, &b.rx, &got);
    for (int i = 0; i < 10; ++i) {
      co_await select(hand_over(a.tx, i), hand_over(b.tx, i));
      ++won;
    }
    a.tx.drop();
    b.tx.drop();
  });
  EXPECT_EQ(got, won);
}

// What came from outside can be kept, what was given away cannot be taken back.
TEST(coro_happens, r351_a_value_that_came_loses_to_a_message_that_went_and_is_kept) {
  runtime rt;
  auto life = std::make_shared<int>(7);
  auto first = spawn_in(rt.kernel(), rt.root(), {}, [&life](cx c) -> task<> {
    auto met = rendezvous<int>(c);
    auto ours = foreign_value<std::shared_ptr<int>>(c);
    co_await region(c, [&met, &ours, &life](cx r) -> task<> {
      auto won = co_await start(r, [&met, &ours](cx) -> task<std::size_t> {
        co_return (co_await select(std::ref(ours.future), hand_over(met.tx, 20))).index();
      });
      co_await sleep(ms);
      EXPECT_EQ(*met.rx.try_recv().value, 20);
      ours.promise.set(life);
      EXPECT_EQ((co_await join(won)).value(), 1U);
      co_await sleep(ms);
    });
    EXPECT_EQ(*co_await std::move(ours.future), 7);
  });
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  EXPECT_TRUE(first.handle.is_done());
  EXPECT_EQ(life.use_count(), 1);
}

// ---- limits and ends
// -------------------------------------------------------------------------------------------------

// Goal:   what has happened before its limit was looked at is not told to be late.
// Method: whoever takes the message stays in its poll until the limit is over.
TEST(coro_happens, r324_a_send_that_has_happened_is_not_too_late) {
  virtual_clock clock;
  runtime rt(runtime_config{.clock = clock.port()});
  std::optional<bool> in_time;
  std::optional<int> got;
  auto first = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
    auto ends = channel<int>(c, 1);
    EXPECT_EQ(ends.tx.try_send(1).code, status::ok);
    co_await region(c, [&](cx r) -> task<> {
      const auto puts = [](cx, sender<int>* to) -> task<> { co_await send(*to, 10); };
      co_await start(r, [&ends, &in_time, puts](cx in) -> task<> {
        in_time = (co_await within(in, duration::milliseconds(20), puts, &ends.tx)).has_value();
      });
      co_await sleep(duration::milliseconds(5));
      EXPECT_EQ(*ends.rx.try_recv().value, 1);
      clock.advance_to(clock.now() + duration::milliseconds(30));
      co_await sleep(duration::milliseconds(5));
      got = ends.rx.try_recv().value;
    });
  });
  for (int i = 0; i < 100 && !first.handle.is_done(); ++i) {
    EXPECT_EQ(rt.run_until_idle().ended, status::ok);
    clock.advance_by(ms);
  }
  EXPECT_TRUE(first.handle.is_done());
  EXPECT_EQ(got, 10);
  EXPECT_EQ(in_time, true);
}

// A task that is ended from outside sends nothing any more, though what it gives back would make room for that.
TEST(coro_happens, r322_a_task_whose_end_has_begun_sends_nothing) {
  for (const journal_mode mode : {journal_mode::off, journal_mode::full}) {
    runtime rt(runtime_config{.journaling = mode});
    auto ends = channel<int>(rt.kernel(), rt.root(), 1);
    auto made = spawn_in(rt.kernel(), rt.root(), {}, [&ends](cx) -> task<> {
      const auto permit = co_await reserve(ends.tx);
      co_await send(ends.tx, 10);
    });
    EXPECT_EQ(rt.run_until_idle().ended, status::ok);
    EXPECT_EQ(rt.kernel().complete(made.handle.task(), task_outcome::err({status::invalid_argument, 0})), status::ok);
    EXPECT_EQ(ends.rx.try_recv().code, status::empty);
    made.handle.drop();
    ends.tx.drop();
    ends.rx.drop();
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  }
}

}  // namespace
}  // namespace asx
