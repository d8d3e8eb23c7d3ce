// An awaited send: its message waits in the queue and is taken from there, and is lost or doubled nowhere.
//
// All of it with messages that are moved without throwing, which the channel takes, and with such that may throw,
// which wait for a permit: what a program sees of both is the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;
using ints = std::vector<int>;

duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}

/// Who lives, and who has died; each number dies once.
struct registry {
  int alive = 0;
  ints died;

  [[nodiscard]] bool has_each_died_once(ints born) const {
    ints dead = died;
    std::sort(dead.begin(), dead.end());
    std::sort(born.begin(), born.end());
    return alive == 0 && dead == born;
  }
};

template <bool IsQuiet>
class parcel {
 public:
  parcel(int number, registry& book) noexcept : number_(number), book_(&book) { ++book.alive; }
  parcel(parcel&& from) noexcept(IsQuiet) : number_(from.number_), book_(std::exchange(from.book_, nullptr)) {}
  parcel& operator=(parcel&&) = delete;
  ~parcel() {
    if (book_ == nullptr) return;
    --book_->alive;
    book_->died.push_back(number_);
  }
  [[nodiscard]] int number() const noexcept { return book_ == nullptr ? -1 : number_; }  // -1: it was moved from.

 private:
  int number_;
  registry* book_;
};
using taken_parcel = parcel<true>;    // Its channel takes it from where it waits.
using permit_parcel = parcel<false>;  // It waits for a permit.
static_assert(std::is_nothrow_move_constructible_v<taken_parcel>);
static_assert(!std::is_nothrow_move_constructible_v<permit_parcel>);

template <class T>
class coro_send : public ::testing::Test {};
using both_kinds = ::testing::Types<taken_parcel, permit_parcel>;
TYPED_TEST_SUITE(coro_send, both_kinds);

template <class T>
std::optional<int> number_in(const std::optional<T>& value) {
  return value ? std::optional<int>(value->number()) : std::nullopt;
}
template <class T>
channel_report look(const sender<T>& tx) {
  channel_report out;
  EXPECT_EQ(tx.inspect(out), status::ok);
  return out;
}
template <class T>
ints drain(receiver<T>& rx) {
  ints out;
  for (;;) {
    const auto r = rx.try_recv();
    if (r.code != status::ok) return out;
    out.push_back(r.value->number());
  }
}

// ---- what is told of it -------------------------------------------------------------------------------------------

std::vector<event_kind> told_of_channels(runtime& rt, std::uint64_t after) {
  std::vector<event_kind> out;
  for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
    const event e = rt.journal().at(i);
    const bool is_one = e.kind >= event_kind::permit_reserved && e.kind <= event_kind::send_waiter_removed;
    if (is_one && e.seq > after) out.push_back(e.kind);
  }
  return out;
}

// it begins as a reserve, and a message that did not wait goes by its permit.
TYPED_TEST(coro_send, r322_a_message_that_does_not_wait_goes_by_its_permit) {
  runtime rt;
  registry book;
  auto ends = channel<TypeParam>(rt.kernel(), rt.root(), 1);
  const std::uint64_t before = rt.journal().seq();
  const auto sends = [](cx, sender<TypeParam>* to, registry* b) -> task<> { co_await send(*to, TypeParam(1, *b)); };
  auto made = spawn_in(rt.kernel(), rt.root(), {}, sends, &ends.tx, &book);
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  EXPECT_EQ(told_of_channels(rt, before),
            (std::vector<event_kind>{event_kind::permit_reserved, event_kind::permit_sent}));
  EXPECT_EQ(drain(ends.rx), ints{1});
}

TYPED_TEST(coro_send, r322_a_message_that_waits_is_taken_unless_its_move_may_throw) {
  using enum event_kind;
  constexpr bool is_taken = std::is_same_v<TypeParam, taken_parcel>;
  runtime rt;
  registry book;
  auto ends = channel<TypeParam>(rt.kernel(), rt.root(), 1);
  EXPECT_EQ(ends.tx.try_send(TypeParam(1, book)).code, status::ok);
  const auto sends = [](cx, sender<TypeParam>* to, registry* b) -> task<> { co_await send(*to, TypeParam(2, *b)); };
  auto made = spawn_in(rt.kernel(), rt.root(), {}, sends, &ends.tx, &book);
  rt.run_until_idle();
  EXPECT_EQ(look(ends.tx).waiters, 1U);
  const std::uint64_t before = rt.journal().seq();
  EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
  EXPECT_EQ(look(ends.tx).queued, is_taken ? 1U : 0U) << "nobody was polled";
  EXPECT_EQ(look(ends.tx).waiters, is_taken ? 0U : 1U);
  if (is_taken) {
    EXPECT_EQ(told_of_channels(rt, before),
              (std::vector<event_kind>{message_received, send_waiter_removed, permit_sent}));
  }
  rt.run_until_idle();
  EXPECT_TRUE(made.handle.is_done());
  if (!is_taken) {
    EXPECT_EQ(told_of_channels(rt, before),
              (std::vector<event_kind>{message_received, send_waiter_removed, permit_reserved, permit_sent}));
  }
  EXPECT_EQ(drain(ends.rx), ints{2});
}

// ---- first come, first served ---------------------------------------------------------------------------------------

TYPED_TEST(coro_send, r322_four_senders_are_served_in_turn) {
  for (const std::uint32_t capacity : {1U, 2U, 3U}) {
    runtime rt;
    const nothing_left before(rt);
    registry book;
    ints got;
    const auto out = outcome_of(
        rt,
        [capacity](cx c, registry* b, ints* into) -> task<int> {
          auto ends = channel<TypeParam>(c, capacity);
          const auto sends = [](cx, sender<TypeParam> to, registry* r, int base) -> task<> {
            for (int i = 0; i < 6; ++i) co_await send(to, TypeParam(base + i, *r));
          };
          for (int s = 1; s <= 4; ++s) co_await start(c, sends, ends.tx, b, s * 100);
          ends.tx.drop();
          co_await sleep(ms(1));  // All of them stand.
          while (auto m = co_await recv(ends.rx)) {
            into->push_back(m->number());
            co_await sleep(ms(1));
          }
          co_return 1;
        },
        &book, &got);
    EXPECT_EQ(out.value(), 1);
    ASSERT_EQ(got.size(), 24U);
    std::array<int, 4> next{};
    for (const int number : got) {
      int& n = next[static_cast<std::size_t>(number / 100 - 1)];
      EXPECT_EQ(number % 100, n) << "each sender's in its order";
      ++n;
      const auto [least, most] = std::minmax_element(next.begin(), next.end());
      EXPECT_LE(*most - *least, static_cast<int>(capacity) + 1)
          << "nobody is passed by more than what was queued first";
    }
    EXPECT_TRUE(book.has_each_died_once(got));
    before.check();
    expect_legal(rt);
  }
}

// ---- cancelled ------------------------------------------------------------------------------------------------------

TYPED_TEST(coro_send, r322_a_cancel_before_its_turn_gives_the_message_back) {
  runtime rt;
  registry book;
  auto ends = channel<TypeParam>(rt.kernel(), rt.root(), 1);
  EXPECT_EQ(ends.tx.try_send(TypeParam(1, book)).code, status::ok);
  std::optional<int> back;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, sender<TypeParam>* to, registry* b, std::optional<int>* kept) -> task<> {
        const auto how = co_await attempt(send(*to, TypeParam(2, *b)));
        EXPECT_EQ(how.code, status::cancelled);
        *kept = number_in(how.value);
      },
      &ends.tx, &book, &back);
  rt.run_until_idle();
  EXPECT_EQ(made.handle.cancel(), status::ok);
  EXPECT_EQ(number_in(ends.rx.try_recv().value), 1) << "room that comes with the cancel";
  EXPECT_EQ(look(ends.tx).queued, 0U) << "is not for who is asked to cancel";
  rt.run_until_idle();
  EXPECT_EQ(back, 2);
  EXPECT_TRUE(drain(ends.rx).empty());
}

TEST(coro_send_taken, r322_is_sent_though_its_task_is_cancelled_before_it_goes_on) {
  runtime rt;
  registry book;
  auto ends = channel<taken_parcel>(rt.kernel(), rt.root(), 1);
  EXPECT_EQ(ends.tx.try_send(taken_parcel(1, book)).code, status::ok);
  status said = status::empty;
  status then = status::empty;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, sender<taken_parcel>* to, registry* b, status* first, status* second) -> task<> {
        const auto how = co_await attempt(send(*to, taken_parcel(2, *b)));
        *first = how.code;
        EXPECT_FALSE(how.value.has_value());
        const auto next = co_await attempt(send(*to, taken_parcel(3, *b)));
        *second = next.code;
        EXPECT_EQ(number_in(next.value), 3);
      },
      &ends.tx, &book, &said, &then);
  rt.run_until_idle();
  EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
  EXPECT_EQ(made.handle.cancel(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(said, status::ok);
  EXPECT_EQ(then, status::cancelled) << "the next cancel point says so";
  EXPECT_EQ(drain(ends.rx), ints{2});
}

TEST(coro_send_taken, r322_is_sent_though_sender_receiver_or_channel_went_meanwhile) {
  enum class way : std::uint8_t { sender, receiver, region };
  for (const way how : {way::sender, way::receiver, way::region}) {
    runtime rt;
    registry book;
    region_handle home = testing::must_create(rt, rt.root());
    auto ends = channel<taken_parcel>(rt.kernel(), home, 1);
    sender<taken_parcel> other = ends.tx;
    EXPECT_EQ(ends.tx.try_send(taken_parcel(1, book)).code, status::ok);
    status said = status::empty;
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, sender<taken_parcel>* to, registry* b, status* code) -> task<> {
          *code = (co_await attempt(send(*to, taken_parcel(2, *b)))).code;
        },
        &ends.tx, &book, &said);
    rt.run_until_idle();
    EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
    if (how == way::sender) ends.tx.drop();
    if (how == way::receiver) ends.rx.drop();
    if (how == way::region) {
      EXPECT_EQ(rt.kernel().close(home), status::ok);
    }
    rt.run_until_idle();
    EXPECT_TRUE(made.handle.is_done());
    EXPECT_EQ(said, status::ok) << static_cast<int>(how);
    EXPECT_EQ(drain(ends.rx), (how == way::sender ? ints{2} : ints{}));
    EXPECT_TRUE(book.has_each_died_once({1, 2}));
  }
}

struct ledger {
  ints made;
  ints sent;
  ints kept;
  ints received;
};

// Four senders, a receiver that is slow, one of them cancelled after `steps` steps. True when all had ended before.
template <class T>
bool ends_before(std::uint64_t steps, std::size_t victim, std::uint32_t capacity) {
  registry book;
  ledger l;
  bool was_over = false;
  {
    runtime rt;
    auto [code, tx, rx] = channel<T>(rt.kernel(), rt.root(), capacity);
    EXPECT_EQ(code, status::ok);
    receiver<T> from = std::move(rx);
    std::vector<join_handle<void>> parts;
    const auto sends = [](cx, sender<T> to, registry* b, ledger* of, int base) -> task<> {
      for (int i = 0; i < 4; ++i) {
        of->made.push_back(base + i);
        auto how = co_await attempt(send(to, T(base + i, *b)));
        if (how.code != status::ok) {
          of->kept.push_back(number_in(how.value).value_or(-1));
          co_return;
        }
        EXPECT_FALSE(how.value.has_value());
        of->sent.push_back(base + i);
      }
    };
    const auto receives = [](cx, receiver<T>* of, ledger* into) -> task<> {
      while (auto m = co_await recv(*of)) {
        into->received.push_back(m->number());
        co_await sleep(ms(1));
      }
    };
    for (int s = 1; s <= 4; ++s) {
      auto made = spawn_in(rt.kernel(), rt.root(), {}, sends, tx, &book, &l, s * 100);
      EXPECT_EQ(made.code, status::ok);
      parts.push_back(std::move(made.handle));
    }
    tx.drop();
    auto made = spawn_in(rt.kernel(), rt.root(), {}, receives, &from, &l);
    EXPECT_EQ(made.code, status::ok);
    parts.push_back(std::move(made.handle));
    rt.run_until_quiescent(steps);
    was_over = std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.is_done(); });
    if (!parts[victim].is_done()) {
      EXPECT_EQ(parts[victim].cancel(), status::ok);
    }
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    for (ints left = drain(from); !left.empty(); left = drain(from)) {
      l.received.insert(l.received.end(), left.begin(), left.end());
      rt.run_until_quiescent();
    }
    for (const auto& p : parts) EXPECT_TRUE(p.is_done());
    from.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    expect_legal(rt);
  }
  ints received = l.received;
  ints sent = l.sent;
  std::sort(received.begin(), received.end());
  std::sort(sent.begin(), sent.end());
  EXPECT_EQ(received, sent) << "what was said to be sent was received, once";
  for (int s = 1; s <= 4; ++s) {
    ints of;
    std::copy_if(l.received.begin(), l.received.end(), std::back_inserter(of), [s](int v) { return v / 100 == s; });
    EXPECT_TRUE(std::is_sorted(of.begin(), of.end()));
  }
  EXPECT_EQ(l.made.size(), l.sent.size() + l.kept.size()) << "what was not sent came back";
  EXPECT_EQ(std::count(l.kept.begin(), l.kept.end(), -1), 0);
  EXPECT_TRUE(book.has_each_died_once(l.made));
  return was_over;
}

TYPED_TEST(coro_send, r322_nothing_is_lost_or_doubled_wherever_somebody_is_cancelled) {
  for (const std::uint32_t capacity : {1U, 2U}) {
    for (std::size_t victim = 0; victim < 5; ++victim) {
      std::uint64_t steps = 0;
      while (!ends_before<TypeParam>(steps, victim, capacity)) {
        ASSERT_FALSE(::testing::Test::HasFailure())
            << "part " << victim << " was cancelled after " << steps << " steps, capacity " << capacity;
        ASSERT_LT(++steps, 2000U);
      }
      EXPECT_GT(steps, 20U);
    }
  }
}

// ---- frames that go -------------------------------------------------------------------------------------------------

// Goal:   a message that stands, was taken or has been told dies once, whoever destroys the frame that it lies in.
// Method: the run stops after every number of steps; then the runtime goes, or the region of the senders, or that of
//         the channel, or its receiver.
TYPED_TEST(coro_send, r322_each_message_dies_once_wherever_the_frames_of_its_senders_are_destroyed) {
  enum class end : std::uint8_t { runtime, senders, channel, receiver };
  for (const end how : {end::runtime, end::senders, end::channel, end::receiver}) {
    bool is_over = false;
    for (std::uint64_t steps = 0; !is_over; ++steps) {
      registry book;
      ints made;
      receiver<TypeParam>* from = nullptr;  // In the frame of who receives, which goes with the runtime.
      {
        runtime rt;
        const region_handle home = testing::must_create(rt, rt.root());
        const region_handle theirs = testing::must_create(rt, rt.root());
        auto [code, tx, rx] = channel<TypeParam>(rt.kernel(), home, 1);
        const auto sends = [](cx, sender<TypeParam> to, registry* b, ints* all, int base) -> task<> {
          for (int i = 0; i < 3; ++i) {
            all->push_back(base + i);
            co_await send(to, TypeParam(base + i, *b));
          }
        };
        const auto receives = [](cx, receiver<TypeParam> of, receiver<TypeParam>** at) -> task<> {
          *at = &of;
          while (auto m = co_await recv(of)) co_await sleep(ms(1));
        };
        std::vector<join_handle<void>> parts;
        for (int s = 1; s <= 3; ++s) {
          parts.push_back(spawn_in(rt.kernel(), theirs, {}, sends, tx, &book, &made, s * 100).handle);
        }
        tx.drop();
        parts.push_back(spawn_in(rt.kernel(), rt.root(), {}, receives, std::move(rx), &from).handle);
        rt.run_until_quiescent(steps);
        is_over = std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.is_done(); });
        if (how == end::senders) {
          EXPECT_EQ(rt.kernel().close(theirs), status::ok);
        }
        if (how == end::channel) {
          EXPECT_EQ(rt.kernel().close(home), status::ok);
        }
        if (how == end::receiver && from != nullptr && !parts.back().is_done()) from->drop();
        if (how != end::runtime) rt.run_until_quiescent();
        parts.clear();
      }
      ASSERT_TRUE(book.has_each_died_once(made)) << "end " << static_cast<int>(how) << " after " << steps << " steps";
      ASSERT_LT(steps, 2000U);
    }
  }
}

// ---- with a limit of time -------------------------------------------------------------------------------------------

// The room comes before the limit, at the same moment, and behind it: what has come is what was said to be sent.
TYPED_TEST(coro_send, r322_within_a_limit_of_time_it_is_sent_or_comes_back) {
  for (const bool keeps : {false, true}) {
    for (std::uint64_t when = 8; when <= 12; ++when) {
      runtime rt;
      const nothing_left before(rt);
      registry book;
      const auto out = outcome_of(
          rt,
          [when, keeps](cx c, registry* b) -> task<int> {
            auto ends = channel<TypeParam>(c, 1);
            EXPECT_EQ(ends.tx.try_send(TypeParam(1, *b)).code, status::ok);
            auto* const from = &ends.rx;
            const auto makes_room = [from, when](cx) -> task<> {
              co_await sleep(ms(when));
              EXPECT_EQ(number_in(from->try_recv().value), 1);
            };
            auto other = co_await start(c, makes_room);
            std::optional<int> back;
            bool is_sent = false;
            auto* const kept = &back;
            auto* const sent = &is_sent;
            auto* const to = &ends.tx;
            const auto sends = [to, b, kept, sent, keeps](cx) -> task<> {
              if (keeps) {
                const auto how = co_await attempt(send(*to, TypeParam(2, *b)));
                *kept = number_in(how.value);
                *sent = how.code == status::ok;
              } else {
                co_await send(*to, TypeParam(2, *b));
                *sent = true;
              }
            };
            const auto got = co_await with_timeout(c, ms(10), sends);
            static_cast<void>(co_await join(other));
            EXPECT_EQ(drain(*from), (is_sent ? ints{2} : ints{}));
            EXPECT_TRUE(!keeps || back.has_value() != is_sent);
            EXPECT_TRUE(when >= 10 || is_sent) << "there was room in time";
            EXPECT_TRUE(when <= 10 || !is_sent);
            EXPECT_TRUE(!got.has_value() || is_sent);
            EXPECT_EQ(look(*to).waiters + look(*to).reserved, 0U);
            co_return 1;
          },
          &book);
      EXPECT_EQ(out.value(), 1);
      EXPECT_TRUE(book.has_each_died_once({1, 2}));
      before.check();
      expect_legal(rt);
    }
  }
}

// ---- in a select ----------------------------------------------------------------------------------------------------

// Goal:   in a select of a send with another one it is sent, or it has its message: never both, and never neither.
// Method: `rival` becomes ready, and the send has room, in one poll of another task in either order, or in two polls
//         one behind the other; the send stands first or second. `calm` takes back what made the rival ready.
template <class T, class Make, class Ready, class Calm>
task<> is_sent_or_kept(cx c, registry* b, Make rival, Ready ready, Calm calm) {
  for (int order = 0; order < 5; ++order) {
    for (const bool is_first : {false, true}) {
      auto ends = channel<T>(c, 1);
      EXPECT_EQ(ends.tx.try_send(T(1, *b)).code, status::ok);
      auto op = send(ends.tx, T(2, *b));
      const auto acts = [&ends, &ready, order](cx) -> task<> {
        co_await yield();  // The select waits by now.
        if (order == 0 || order == 3) ready();
        if (order == 3) co_await sleep(ms(1));
        if (order != 4) {
          EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
        }
        if (order == 2) co_await sleep(ms(1));
        if (order == 1 || order == 2 || order == 4) ready();
      };
      auto actor = co_await start(c, acts);
      bool has_won = false;
      if (is_first) {
        const auto won = co_await select(std::ref(op), rival());
        has_won = won.index() == 0;
      } else {
        const auto won = co_await select(rival(), std::ref(op));
        has_won = won.index() == 1;
      }
      EXPECT_EQ(look(ends.tx).waiters + look(ends.tx).reserved, 0U) << "who lost has left";
      const auto kept = op.take_back();
      EXPECT_EQ(kept.has_value(), !has_won) << "order " << order << ", the send is first: " << is_first;
      static_cast<void>(co_await join(actor));
      calm();
      const ints left = drain(ends.rx);
      EXPECT_EQ(left, (has_won      ? ints{2}
                       : order == 4 ? ints{1}
                                    : ints{}))
          << "order " << order << ", the send is first: " << is_first;
      EXPECT_TRUE(has_won || number_in(kept) == 2);
      EXPECT_TRUE(order != 2 || has_won) << "it was sent, or had its turn, before the other one was ready";
      EXPECT_TRUE((order != 3 && order != 4) || !has_won);
    }
  }
}

template <class T>
class coro_send_select : public ::testing::Test {};
TYPED_TEST_SUITE(coro_send_select, both_kinds);

template <class Body>
void in_the_lab(Body body) {
  lab_options how;
  how.has_failed = [] { return ::testing::Test::HasFailure(); };
  const lab_result r = explore(how, body);
  EXPECT_TRUE(r.is_ok) << r.report();
}

TYPED_TEST(coro_send_select, r322_with_a_recv_one_of_both_wins) {
  in_the_lab([](cx c) -> task<> {
    registry book;
    auto in = channel<int>(c, 8);
    co_await is_sent_or_kept<TypeParam>(
        c, &book, [&] { return recv(in.rx); }, [&] { EXPECT_EQ(in.tx.try_send(5).code, status::ok); },
        [&] { static_cast<void>(in.rx.try_recv()); });
    EXPECT_EQ(book.alive, 0);
  });
}

TYPED_TEST(coro_send_select, r322_with_a_wait_one_of_both_wins) {
  in_the_lab([](cx c) -> task<> {
    registry book;
    notify stop;
    EXPECT_EQ(notify::create(c, stop), status::ok);
    co_await is_sent_or_kept<TypeParam>(
        c, &book, [&] { return wait(stop); }, [&] { EXPECT_EQ(stop.notify_all(), status::ok); }, [] {});
    EXPECT_EQ(book.alive, 0);
  });
}

// Both can be done by somebody else: two that were taken at once could not both have won.
TYPED_TEST(coro_send_select, r322_of_two_sends_one_wins_and_the_other_keeps_its_message) {
  in_the_lab([](cx c) -> task<> {
    registry book;
    int number = 100;
    std::vector<int> won_by_rival;
    for (int order = 0; order < 4; ++order) {
      auto x = channel<TypeParam>(c, 1);
      auto y = channel<TypeParam>(c, 1);
      EXPECT_EQ(x.tx.try_send(TypeParam(1, book)).code, status::ok);
      EXPECT_EQ(y.tx.try_send(TypeParam(2, book)).code, status::ok);
      auto a = send(x.tx, TypeParam(++number, book));
      auto b = send(y.tx, TypeParam(++number, book));
      const auto acts = [&x, &y, order](cx) -> task<> {
        co_await yield();
        if (order != 1) {
          EXPECT_EQ(number_in(x.rx.try_recv().value), 1);
        }
        if (order == 2) co_await yield();
        if (order != 0) {
          EXPECT_EQ(number_in(y.rx.try_recv().value), 2);
        }
      };
      auto actor = co_await start(c, acts);
      const auto won = co_await select(std::ref(a), std::ref(b));
      static_cast<void>(co_await join(actor));
      const auto from_a = a.take_back();
      const auto from_b = b.take_back();
      EXPECT_EQ(from_a.has_value(), won.index() != 0) << order;
      EXPECT_EQ(from_b.has_value(), won.index() != 1) << order;
      const ints in_x = drain(x.rx);
      const ints in_y = drain(y.rx);
      EXPECT_EQ(in_x, (won.index() == 0 ? ints{number - 1} : order == 1 ? ints{1} : ints{}));
      EXPECT_EQ(in_y, (won.index() == 1 ? ints{number} : order == 0 ? ints{2} : ints{}));
      EXPECT_TRUE(order != 0 || won.index() == 0);
      EXPECT_TRUE(order != 1 || won.index() == 1);
      EXPECT_EQ(look(x.tx).waiters + look(y.tx).waiters + look(x.tx).reserved + look(y.tx).reserved, 0U);
    }
    EXPECT_EQ(book.alive, 0);
  });
}

TYPED_TEST(coro_send_select, r322_with_what_is_handed_over_one_of_both_wins) {
  in_the_lab([](cx c) -> task<> {
    co_await region(c, [](cx r) -> task<> {
      registry book;
      for (int order = 0; order < 2; ++order) {
        auto x = channel<TypeParam>(r, 1);
        auto hands = rendezvous<TypeParam>(r);
        EXPECT_EQ(x.tx.try_send(TypeParam(1, book)).code, status::ok);
        auto a = send(x.tx, TypeParam(3, book));
        auto b = hand_over(hands.tx, TypeParam(4, book));
        std::optional<int> handed;
        const auto acts = [&x, &hands, &handed, order](cx) -> task<> {
          co_await yield();
          if (order == 0) {
            EXPECT_EQ(number_in(x.rx.try_recv().value), 1);
          }
          auto got = hands.rx.try_recv();
          if (got.code == status::ok) handed = got.value->number();
          if (order == 1) {
            EXPECT_EQ(number_in(x.rx.try_recv().value), 1);
          }
        };
        auto actor = co_await start(r, acts);
        const auto won = co_await select(std::ref(a), std::ref(b));
        static_cast<void>(co_await join(actor));
        EXPECT_EQ(number_in(a.take_back()), (won.index() == 0 ? std::nullopt : std::optional<int>(3)));
        EXPECT_EQ(number_in(b.take_back()), (won.index() == 1 ? std::nullopt : std::optional<int>(4)));
        EXPECT_EQ(handed, (won.index() == 1 ? std::optional<int>(4) : std::nullopt));
        EXPECT_EQ(drain(x.rx), (won.index() == 0 ? ints{3} : ints{}));
      }
      EXPECT_EQ(book.alive, 0);
    });
  });
}

// Room comes before the sleep is over, at the same moment, and behind it.
TYPED_TEST(coro_send_select, r322_with_a_sleep_it_is_sent_or_kept) {
  in_the_lab([](cx c) -> task<> {
    registry book;
    for (std::uint64_t when = 8; when <= 12; ++when) {
      for (const bool is_fair : {false, true}) {
        auto ends = channel<TypeParam>(c, 1);
        EXPECT_EQ(ends.tx.try_send(TypeParam(1, book)).code, status::ok);
        const auto acts = [&ends, when](cx) -> task<> {
          co_await sleep(ms(when));
          EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
        };
        auto actor = co_await start(c, acts);
        auto op = send(ends.tx, TypeParam(2, book));
        bool has_won = false;
        if (is_fair) {
          const auto won = co_await select_fair(std::ref(op), sleep(ms(10)));
          has_won = won.index() == 0;
        } else {
          const auto won = co_await select(std::ref(op), sleep(ms(10)));
          has_won = won.index() == 0;
        }
        const auto back = op.take_back();
        EXPECT_EQ(back.has_value(), !has_won);
        static_cast<void>(co_await join(actor));
        EXPECT_EQ(drain(ends.rx), (has_won ? ints{2} : ints{}));
        EXPECT_TRUE(when == 10 || has_won == (when < 10)) << when;
        EXPECT_EQ(look(ends.tx).waiters, 0U);
      }
    }
    EXPECT_EQ(book.alive, 0);
  });
}

// A select in a select: the message stands in the inner one, and a rival of the outer one may win.
TYPED_TEST(coro_send_select, r322_in_a_select_of_a_select_it_is_sent_or_kept) {
  in_the_lab([](cx c) -> task<> {
    registry book;
    for (std::uint64_t when = 9; when <= 11; ++when) {
      auto ends = channel<TypeParam>(c, 1);
      auto in = channel<int>(c, 1);
      EXPECT_EQ(ends.tx.try_send(TypeParam(1, book)).code, status::ok);
      const auto acts = [&ends, when](cx) -> task<> {
        co_await sleep(ms(when));
        EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
      };
      auto actor = co_await start(c, acts);
      auto op = send(ends.tx, TypeParam(2, book));
      const auto won = co_await select(sleep(ms(10)), select(recv(in.rx), std::ref(op)));
      const bool has_won = won.index() == 1;
      EXPECT_EQ(op.take_back().has_value(), !has_won);
      static_cast<void>(co_await join(actor));
      EXPECT_EQ(drain(ends.rx), (has_won ? ints{2} : ints{}));
    }
    EXPECT_EQ(book.alive, 0);
  });
}

// One that lost may be selected again, and waits at the back then.
TYPED_TEST(coro_send_select, r322_one_that_lost_keeps_its_message_and_may_be_selected_again) {
  in_the_lab([](cx c) -> task<> {
    registry book;
    auto ends = channel<TypeParam>(c, 1);
    EXPECT_EQ(ends.tx.try_send(TypeParam(1, book)).code, status::ok);
    auto op = send(ends.tx, TypeParam(2, book));
    for (int i = 0; i < 3; ++i) {
      const auto late = co_await select(std::ref(op), sleep(ms(1)));
      EXPECT_EQ(late.index(), 1U);
      EXPECT_EQ(look(ends.tx).waiters, 0U);
    }
    const auto acts = [&ends](cx) -> task<> {
      co_await yield();
      EXPECT_EQ(number_in(ends.rx.try_recv().value), 1);
    };
    auto actor = co_await start(c, acts);
    const auto won = co_await select(std::ref(op), sleep(ms(10)));
    EXPECT_EQ(won.index(), 0U);
    EXPECT_FALSE(op.take_back().has_value());
    static_cast<void>(co_await join(actor));
    EXPECT_EQ(drain(ends.rx), ints{2});
    EXPECT_EQ(book.alive, 0);
  });
}

// Goal:   a select that is cancelled has sent its message, or has it.
// Method: the lab strikes at every point; the receiver outlives both tasks, and what was sent and not received is in
// it.
template <class T>
task<> receives_slowly(cx, receiver<T>* from, int* balance) {
  for (;;) {
    const auto m = co_await attempt(recv(*from));
    if (m.code != status::ok || !*m.value) co_return;
    --*balance;
    static_cast<void>(co_await attempt(sleep(ms(2))));
  }
}
template <class T>
task<> selects_a_few(cx c, registry* book, sender<T>* to, receiver<T>* from, int* balance) {
  static_cast<void>(co_await attempt(start(c, receives_slowly<T>, from, balance)));
  for (int i = 0; i < 4; ++i) {
    auto op = send(*to, T(i, *book));
    const auto how = co_await attempt(select(std::ref(op), sleep(ms(1)), cancel_requested()));
    const auto back = op.take_back();
    if (!back) ++*balance;
    EXPECT_EQ(back.has_value(), !(how.is_ok() && how.value->index() == 0));
  }
  to->drop();
}
TYPED_TEST(coro_send_select, r322_one_that_is_cancelled_has_sent_its_message_or_has_it) {
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::cancel_body, lab_fault::polls}) {
    registry book;
    lab_options how;
    how.may_fail = how.may_overrun = true;
    how.has_failed = [] { return ::testing::Test::HasFailure(); };
    const lab_result r = sweep(how, fault, [&](cx c) -> task<> {
      int balance = 0;
      auto ends = channel<TypeParam>(c, 1);
      auto* const sum = &balance;
      auto* const to = &ends.tx;
      auto* const from = &ends.rx;
      auto* const b = &book;
      co_await attempt(region(c, [b, to, from, sum](cx in) -> task<> {
        static_cast<void>(co_await attempt(start(in, selects_a_few<TypeParam>, b, to, from, sum)));
      }));
      EXPECT_EQ(balance, static_cast<int>(drain(ends.rx).size())) << "what was sent is there, or was received";
    });
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_EQ(book.alive, 0);
  }
}

}  // namespace
}  // namespace asx
