// Messages whose moves throw, between coroutines: told and quiet, nothing is lost and nothing stays reserved.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "asx/chan/testing/bomb.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

using testing::bomb;
using testing::fuse;

class coro_chan_throws : public ::testing::TestWithParam<bool> {
 protected:
  static runtime_config config(bool is_quiet) {
    runtime_config out;
    if (is_quiet) {
      out.journaling = journal_mode::off;
      out.behaviour.ghosts = ghost_mode::off;
    }
    return out;
  }
  /// Runs `body` with both ends of a channel of one slot, and ends everything.
  template <class Body>
  void play(Body body) {
    {
      runtime rt(config(GetParam()));
      auto ends = channel<bomb>(rt.kernel(), rt.root(), 1);
      ASSERT_EQ(ends.code, status::ok);
      auto made = spawn_in(rt.kernel(), rt.root(), {}, body, std::move(ends.tx), std::move(ends.rx), &fuse_);
      rt.run_until_quiescent();
      outcome<unit> out;
      ASSERT_EQ(made.handle.take(out), status::ok);
      EXPECT_TRUE(out.is_ok());
    }
    EXPECT_EQ(fuse_.alive, 0);
  }
  static channel_report look(const sender<bomb>& tx) {
    channel_report out;
    EXPECT_EQ(tx.inspect(out), status::ok);
    return out;
  }
  fuse fuse_;
};

// Goal:   a receive whose move throws leaves the message queued; one move is all that a receive makes.
TEST_P(coro_chan_throws, a_receive_that_throws_has_consumed_nothing) {
  play([](cx, sender<bomb> tx, receiver<bomb> rx, fuse* f) -> task<> {
    EXPECT_EQ(tx.try_send(bomb(7, *f)).code, status::ok);
    int failed = 0;
    int got = 0;
    while (got == 0 && failed < 10) {
      f->left = failed;
      bool has_thrown = false;
      try {
        const auto message = co_await recv(rx);
        got = message->number();
      } catch (const std::runtime_error&) {
        has_thrown = true;
      }
      f->left = fuse::none;
      if (!has_thrown) break;
      ++failed;
      const channel_report r = look(tx);
      EXPECT_EQ(r.queued, 1U);
      EXPECT_EQ(r.counts.received, 0U);
    }
    EXPECT_EQ(got, 7);
    EXPECT_EQ(failed, 1);
  });
}

// Goal:   the same as the answer of an attempt, as what a select has won, and as the answer of an attempt of a select.
TEST_P(coro_chan_throws, neither_an_attempt_nor_a_select_consumes_what_throws) {
  enum class way { attempts, selects, both };
  for (const way how : {way::attempts, way::selects, way::both}) {
    play([how](cx, sender<bomb> tx, receiver<bomb> rx, fuse* f) -> task<> {
      EXPECT_EQ(tx.try_send(bomb(7, *f)).code, status::ok);
      int failed = 0;
      int got = 0;
      for (bool has_thrown = true; has_thrown && failed < 10;) {
        f->left = failed;
        has_thrown = false;
        try {
          if (how == way::selects) {
            const auto won = co_await select(recv(rx), sleep(duration::seconds(1)));
            got = std::get<0>(won)->number();
          } else if (how == way::attempts) {
            const auto told = co_await attempt(recv(rx));
            got = (*told.value)->number();
          } else {
            const auto told = co_await attempt(select(sleep(duration::seconds(1)), recv(rx)));
            got = std::get<1>(*told.value)->number();
          }
        } catch (const std::runtime_error&) {
          has_thrown = true;
        }
        f->left = fuse::none;
        if (!has_thrown) break;
        ++failed;
        EXPECT_EQ(look(tx).queued, 1U) << "way " << static_cast<int>(how);
      }
      EXPECT_EQ(got, 7);
      EXPECT_EQ(failed, 1) << "one move is all that a receive makes";
    });
  }
}

// Goal:   what a rendezvous hands over stays in its offer when its move throws, whichever way it is asked for.
// Method: the sender has offered it and waits; each way fails once, and then succeeds with the one move that it makes.
TEST_P(coro_chan_throws, a_hand_over_that_throws_stays_in_its_offer) {
  enum class way { awaits, attempts, selects, both };
  for (const way how : {way::awaits, way::attempts, way::selects, way::both}) {
    play([how](cx c, sender<bomb>, receiver<bomb>, fuse* f) -> task<> {
      auto [code, tx, rx] = rendezvous<bomb>(c);
      EXPECT_EQ(code, status::ok);
      auto* const from = &rx;
      auto* const to = &tx;
      co_await region(c, [how, f, from, to](cx r) -> task<> {
        auto offered = co_await start(r, [f, to](cx) -> task<> { co_await hand_over(*to, bomb(7, *f)); });
        co_await yield();
        int failed = 0;
        int got = 0;
        for (bool has_thrown = true; has_thrown && failed < 10;) {
          f->left = failed;
          has_thrown = false;
          try {
            if (how == way::awaits) {
              const auto message = co_await recv(*from);
              got = message->number();
            } else if (how == way::attempts) {
              const auto told = co_await attempt(recv(*from));
              got = (*told.value)->number();
            } else if (how == way::selects) {
              const auto won = co_await select(recv(*from), sleep(duration::seconds(1)));
              got = std::get<0>(won)->number();
            } else {
              const auto told = co_await attempt(select(sleep(duration::seconds(1)), recv(*from)));
              got = std::get<1>(*told.value)->number();
            }
          } catch (const std::runtime_error&) {
            has_thrown = true;
          }
          f->left = fuse::none;
          if (!has_thrown) break;
          ++failed;
          rendezvous_report now;
          EXPECT_EQ(from->inspect(now), status::ok);
          EXPECT_EQ(now.ends.waiters, 1U) << "way " << static_cast<int>(how);
          EXPECT_EQ(now.taken, 0U);
        }
        EXPECT_EQ(got, 7);
        EXPECT_EQ(failed, 1) << "way " << static_cast<int>(how);
        const auto handed = co_await join(offered);
        EXPECT_TRUE(handed.is_ok());
      });
    });
  }
}

// A value that can be copied, and whose copies and moves throw when its fuse says so.
class wary {
 public:
  wary(int number, fuse& f) noexcept : number_(number), fuse_(&f) {}
  wary(const wary& from) : number_(from.number_), fuse_(from.fuse_) {
    if (fuse_->left != fuse::none && fuse_->left-- == 0) throw std::runtime_error("the copy fails");
  }
  wary(wary&& from) : wary(static_cast<const wary&>(from)) {}
  wary& operator=(const wary&) = delete;
  wary& operator=(wary&&) = delete;
  ~wary() = default;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
  fuse* fuse_;
};

// Goal:   what a broadcast gives is the next one still when its copy throws, whichever way it is asked for.
// Method: each way fails once, and then succeeds with the one copy that it makes.
TEST_P(coro_chan_throws, a_broadcast_that_throws_gives_the_same_value_again) {
  enum class way { awaits, attempts, selects, both };
  for (const way how : {way::awaits, way::attempts, way::selects, way::both}) {
    SCOPED_TRACE(static_cast<int>(how));
    play([how](cx c, sender<bomb>, receiver<bomb>, fuse* f) -> task<> {
      auto [code, tx, rx] = broadcast<wary>(c, 2);
      EXPECT_EQ(code, status::ok);
      EXPECT_EQ(tx.send(wary(7, *f)).code, status::ok);
      int failed = 0;
      int got = 0;
      for (bool has_thrown = true; has_thrown && failed < 10;) {
        f->left = failed;
        has_thrown = false;
        try {
          if (how == way::awaits) {
            const auto news = co_await recv(rx);
            got = news.value->number();
          } else if (how == way::attempts) {
            const auto told = co_await attempt(recv(rx));
            got = told.value->value->number();
          } else if (how == way::selects) {
            const auto won = co_await select(recv(rx), sleep(duration::seconds(1)));
            got = std::get<0>(won).value->number();
          } else {
            const auto told = co_await attempt(select(sleep(duration::seconds(1)), recv(rx)));
            got = std::get<1>(*told.value).value->number();
          }
        } catch (const std::runtime_error&) {
          has_thrown = true;
        }
        f->left = fuse::none;
        if (!has_thrown) break;
        ++failed;
        EXPECT_EQ(rx.backlog(), 1U) << "it was not received";
      }
      EXPECT_EQ(got, 7);
      EXPECT_EQ(failed, 1) << "one copy is all that a receive makes";
      EXPECT_EQ(rx.backlog(), 0U);
    });
  }
}

// Goal:   a send whose move throws holds no slot afterwards, also while the operation that was awaited has a name.
TEST_P(coro_chan_throws, a_send_that_throws_keeps_no_slot_though_it_has_a_name) {
  play([](cx, sender<bomb> tx, receiver<bomb> rx, fuse* f) -> task<> {
    auto op = send(tx, bomb(1, *f));
    f->left = 0;
    bool has_thrown = false;
    try {
      co_await std::move(op);
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    f->left = fuse::none;
    EXPECT_TRUE(has_thrown);
    const channel_report r = look(tx);
    EXPECT_EQ(r.reserved, 0U) << "the name is still there, and holds nothing";
    EXPECT_EQ(r.queued, 0U);
    co_await send(tx, bomb(2, *f));
    EXPECT_EQ((co_await recv(rx))->number(), 2);
  });
}

INSTANTIATE_TEST_SUITE_P(told_and_quiet, coro_chan_throws, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& param) { return param.param ? "quiet" : "told"; });

}  // namespace
}  // namespace asx
