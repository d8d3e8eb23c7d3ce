// What users of the neighbours suffer from, part one: values, permits and memory. Each test bears the name of the
// complaint, and shows under many schedules that asx does not have it. Part two is complaints_cleanup_test.cpp. What
// their users say of template errors is held by tests/gates/errors_test.py.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/asx.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

constexpr duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}

// ---- "tokio select! loses messages": the branch that loses has taken a value, and drops it.

// A consumer that selects between messages and a tick is cancelled after `turns` turns; its heir takes over.
task<> select_relay(cx c, int turns) {
  constexpr int count = 20;
  std::vector<int> got;
  co_await region(c, [&got, turns](cx r) -> task<> {
    auto [code, tx, rx] = channel<int>(r, 3);
    if (code != status::ok) co_await fail(code);
    auto& end = rx;
    const auto produce = [](cx, sender<int> to) -> task<> {
      for (int i = 0; i < count; ++i) {
        co_await send(to, i);
        if (i % 4 == 0) co_await sleep(ms(1));
      }
    };
    const auto consume = [&got, &end](cx) -> task<> {
      for (;;) {
        auto either = co_await select(sleep(ms(1)), recv(end));
        if (auto* const message = std::get_if<1>(&either)) {
          if (!*message) co_return;
          got.push_back(**message);
        }
      }
    };
    auto producer = co_await start(r, produce, std::move(tx));
    auto first = co_await start(r, consume);
    for (int i = 0; i < turns; ++i) co_await yield();
    static_cast<void>(first.cancel());
    static_cast<void>(co_await join(first));
    auto heir = co_await start(r, consume);
    static_cast<void>(co_await join(heir));
  });
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  EXPECT_EQ(got, all) << "cancelled after " << turns;
}

TEST(complaints, tokio_select_loses_what_the_losing_branch_received) {
  for (int turns = 0; turns < 24; ++turns) {
    const auto body = [turns](cx c) -> task<> { co_await attempt(select_relay(c, turns)); };
    // The block is cancelled by the child that was, and drained all the same.
    const lab_result r = explore({.seeds = 8}, body);
    ASSERT_TRUE(r.is_ok) << r.report();
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

// The value of a send that was cancelled while it waited is still somebody's.
LAB_TEST(complaints, tokio_select_loses_what_a_cancelled_send_held) {
  auto [code, tx, rx] = channel<std::unique_ptr<int>>(c, 1);
  EXPECT_EQ(code, status::ok);
  auto& to = tx;
  auto& from = rx;
  co_await send(to, std::make_unique<int>(1));
  std::unique_ptr<int> kept;
  co_await region(c, region_options{.policy = region_policy::body_decides}, [&](cx r) -> task<> {
    const auto sends = [&to, &kept](cx) -> task<> {
      auto how = co_await attempt(send(to, std::make_unique<int>(2)));
      EXPECT_EQ(how.code, status::cancelled);
      if (how.value) kept = std::move(*how.value);
    };
    auto quitter = co_await start(r, sends);
    co_await sleep(ms(1));
    EXPECT_EQ(quitter.cancel(), status::ok);
  });
  EXPECT_TRUE(kept != nullptr && *kept == 2);
  const auto first = co_await recv(from);
  EXPECT_EQ(**first, 1);
  EXPECT_EQ(from.try_recv().code, status::empty) << "and it was not sent as well";
}

// ---- "a permit comes back and nobody is woken": three separate fixes in tokio.

enum class way_back : std::uint8_t { abort, drop, coroutine_ends, cancelled, panicked, forced, failed, lost_a_race };

// Somebody holds the only slot and gives it back in one of these ways, while another waits for it.
task<> gives_back(cx c, way_back how) {
  auto [code, tx, rx] = channel<int>(c, 1);
  EXPECT_EQ(code, status::ok);
  auto& to = tx;
  bool was_served = false;
  const auto supervised = region_options{.policy = region_policy::body_decides};
  co_await region(c, supervised, [&to, &was_served, how](cx r) -> task<> {
    const auto holds = [&to, how](cx own) -> task<> {
      auto permit = co_await reserve(to);
      co_await sleep(ms(1));
      switch (how) {
        case way_back::abort: std::move(permit).abort(); break;
        case way_back::drop: permit = {}; break;
        case way_back::coroutine_ends: co_return;
        case way_back::failed: co_await fail(status::corrupt); break;
        case way_back::panicked: own.panic("as planned"); co_return;
        case way_back::forced:
          static_cast<void>(co_await attempt(sleep(duration::hours(1))));
          for (;;) {
            static_cast<void>(own.checkpoint());
            co_await yield();
          }
        default: co_await sleep(duration::hours(1));
      }
      co_await sleep(ms(5));
    };
    const auto waits = [&to, &was_served](cx) -> task<> {
      auto permit = co_await reserve(to);
      was_served = true;
    };
    const auto races = [holds](cx own) -> task<> {
      const auto quick = [](cx) -> task<> { co_await sleep(ms(3)); };
      static_cast<void>(co_await race(own, holds, quick));
    };
    auto [refused, holder] = how == way_back::lost_a_race ? spawn(r, races) : spawn(r, holds);
    EXPECT_EQ(refused, status::ok);
    co_await sleep(duration{1});
    auto waiter = co_await start(r, waits);
    co_await sleep(ms(2));
    if (how == way_back::cancelled || how == way_back::forced) static_cast<void>(holder.cancel());
    static_cast<void>(co_await join(waiter));
    if (how == way_back::panicked) static_cast<void>(co_await join(holder));
  });
  EXPECT_TRUE(was_served);
}

TEST(complaints, tokio_a_returned_permit_wakes_nobody) {
  for (int way = 0; way <= static_cast<int>(way_back::lost_a_race); ++way) {
    const auto how = static_cast<way_back>(way);
    const lab_options allowed{
        .seeds = 16, .may_overrun = how == way_back::forced, .may_panic = how == way_back::panicked};
    const lab_result r = explore(allowed, [how](cx c) -> task<> { co_await gives_back(c, how); });
    EXPECT_TRUE(r.is_ok) << "way " << way << ": " << r.report();
  }
}

// The last permit that goes back is the end of a channel whose senders are gone, and the receiver must hear of it.
LAB_TEST(complaints, tokio_a_closed_receiver_is_not_woken_by_the_last_permit) {
  auto [code, tx, rx] = channel<int>(c, 2);
  EXPECT_EQ(code, status::ok);
  auto& from = rx;
  co_await region(c, [&from, &tx](cx r) -> task<> {
    const auto holds = [](cx, sender<int> to) -> task<> {
      auto permit = co_await reserve(to);
      to.drop();
      co_await sleep(ms(2));
    };
    const auto reads = [&from](cx) -> task<> {
      const auto got = co_await recv(from);
      EXPECT_FALSE(got.has_value());
    };
    co_await start(r, reads);
    co_await start(r, holds, std::move(tx));
  });
  auto [code2, tx2, rx2] = channel<int>(c, 1);
  EXPECT_EQ(code2, status::ok);
  auto& to = tx2;
  co_await send(to, 1);
  co_await region(c, [&to, &rx2](cx r) -> task<> {  // And senders hear of a receiver that goes.
    const auto writes = [&to](cx) -> task<> {
      const auto how = co_await attempt(send(to, 2));
      EXPECT_EQ(how.code, status::disconnected);
    };
    const auto leaves = [](cx, receiver<int> gone) -> task<> {
      co_await sleep(ms(1));
      gone.drop();
    };
    co_await start(r, writes);
    co_await start(r, writes);
    co_await start(r, leaves, std::move(rx2));
  });
}

// ---- "use after free on cancel" (Asio 1332, Cobalt 194): something still writes where a cancelled frame was.

// Memory that knows whether it is there, so that the test fails without a sanitizer, too.
std::set<const void*>& living() {
  static std::set<const void*> all;
  return all;
}
struct buffer {
  buffer() { living().insert(this); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { living().erase(this); }
  void write(std::size_t i) {
    EXPECT_TRUE(living().contains(this)) << "written to when it was gone";
    bytes[i % bytes.size()] = 1;
  }
  std::array<char, 256> bytes{};
};

TEST(complaints, asio_and_cobalt_use_a_frame_after_its_cancel) {
  const auto body = [](cx c) -> task<> {
    buffer outer;
    const auto fill = [](cx own, buffer* to, std::size_t from) -> task<> {
      for (std::size_t i = 0; i < 3; ++i) {
        co_await sleep(ms(1));
        to->write(from + i);
      }
      // Cleanup borrows as well.
      const auto how = co_await attempt(sleep(ms(2)));
      const auto quiet = co_await mask();
      if (how.code == status::cancelled) static_cast<void>(co_await attempt(sleep(ms(2))));
      to->write(0);
      static_cast<void>(own.checkpoint());
    };
    co_await region(c, [&outer, fill](cx r) -> task<> {
      buffer inner;
      co_await start(r, fill, &outer, 0U);
      static_cast<void>(co_await within(r, ms(2), [&inner, fill](cx own) -> task<> {
        co_await region(own, [&inner, fill](cx rr) -> task<> {
          co_await start(rr, fill, &inner, 10U);
          co_await start(rr, fill, &inner, 20U);
        });
      }));
      static_cast<void>(co_await with_timeout(r, ms(2), fill, &inner, 30U));
    });
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({.may_overrun = fault == lab_fault::polls}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
  }
  EXPECT_TRUE(living().empty());
}

// ---- "captures of a coroutine lambda dangle": the lambda is a temporary, and its captures with it.

LAB_TEST(complaints, a_lambda_that_is_a_coroutine_outlives_its_captures) {
  int sum = 0;
  const auto word = [](int n) { return std::string(40, static_cast<char>('a' + n)); };
  const auto expect = [word, &sum](const std::string& text, int n) {
    EXPECT_EQ(text, word(n));
    ++sum;
  };
  // Every way that takes a lambda; each lambda is gone when its coroutine runs on.
  const auto say = [expect, word](int n) {
    return [text = word(n), expect, n](cx) -> task<> {
      co_await yield();
      expect(text, n);
    };
  };
  {
    auto body = [say](cx r) -> task<> {
      auto child = say(1);
      co_await start(r, moved(child));
      auto last = say(2);
      co_await finally(r, moved(last));
      auto spawned = spawn(r, say(3));  // No co_await in it: here every compiler keeps a temporary.
    };
    auto block = region(c, std::as_const(body));
    {
      static_cast<void>(moved(body));
    }
    co_await std::move(block);
  }
  auto tasks =
      std::make_unique<std::array<decltype(say(0)), 6>>(std::array{say(4), say(5), say(6), say(7), say(8), say(9)});
  auto& f = *tasks;
  auto timed = with_timeout(c, ms(5), f[0]);
  auto limited = within(c, ms(5), f[1]);
  auto joined = join_all(c, f[2], f[3]);
  auto raced = race(c, f[4], f[4]);
  auto retried = retry(c, {}, f[5]);
  tasks.reset();
  static_cast<void>(co_await std::move(timed));
  static_cast<void>(co_await std::move(limited));
  static_cast<void>(co_await std::move(joined));
  static_cast<void>(co_await std::move(raced));
  co_await std::move(retried);
  EXPECT_GE(sum, 3 + 2 + 2 + 1 + 1);
}

// ---- "fault injection that injects nothing": every sweep counts its hits, and none at all is a finding.

TEST(complaints, a_fault_that_was_never_injected_counts_as_passed) {
  const auto over_at_once = [](cx) -> task<> { co_return; };
  for (const lab_fault fault :
       {lab_fault::cancel_body, lab_fault::admission, lab_fault::region_polls, lab_fault::cost}) {
    const lab_result r = sweep({}, fault, over_at_once);
    EXPECT_FALSE(r.is_ok) << static_cast<int>(fault);
    EXPECT_EQ(r.faults, 0U) << "nobody could have been hit";
    EXPECT_NE(r.finding.find("hit nothing"), std::string::npos) << r.finding;
  }
  const auto longer = [](cx c) -> task<> {
    for (int i = 0; i < 5; ++i) co_await yield();
    co_await sleep(ms(1));
    static_cast<void>(c.checkpoint());
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({}, fault, longer);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, 0U);
  }
}

}  // namespace
}  // namespace asx
