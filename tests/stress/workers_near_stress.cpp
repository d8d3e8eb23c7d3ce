// What stands beside channels, between workers: oneshots, watches, broadcasts, mutexes, semaphores, notifies. Each
// keeps its laws, and nobody waits for ever. ASX_STRESS_ROUNDS makes it longer.
#include "tests/stress/workers.hpp"

#include <optional>
#include <vector>

namespace asx::stress {
namespace {

// ---- the neighbours -------------------------------------------------------------------------------------------------

TEST(workers_near_stress, a_oneshot_gives_its_value_once_or_says_that_it_will_not_come) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    counter sent{0};
    counter received{0};
    counter never{0};
    auto* const a = &alive;
    auto* const s = &sent;
    auto* const g = &received;
    auto* const n = &never;
    co_await region(c, [a, s, g, n, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 24; ++i) {
        auto [code, tx, rx] = oneshot<token>(r);
        EXPECT_EQ(code, status::ok);
        co_await start(
            r,
            [](cx, oneshot_receiver<token> from, counter* got, counter* none, std::uint64_t at) -> task<> {
              for (std::uint64_t k = 0; k < at % 3; ++k) co_await yield();
              const auto m = co_await recv(from);
              (m ? got : none)->fetch_add(1, std::memory_order_relaxed);
            },
            moved(rx), g, n, round + i);
        co_await start(
            r,
            [](cx, oneshot_sender<token> to, counter* all, counter* ok, std::uint64_t at) -> task<> {
              for (std::uint64_t k = 0; k < at % 4; ++k) co_await yield();
              if (at % 3 == 0) co_return;
              if (to.send(token(at, all)).code == status::ok) ok->fetch_add(1, std::memory_order_relaxed);
            },
            moved(tx), a, s, round + i);
      }
    });
    EXPECT_EQ(received.load() + never.load(), 24U);
    EXPECT_EQ(received.load(), sent.load());
    EXPECT_EQ(never.load(), 8U);
    EXPECT_EQ(alive.load(), 0U);
  });
}

TEST(workers_near_stress, every_watcher_sees_the_last_value_and_never_an_older_one_after_a_newer) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter ended{0};
    auto* const e = &ended;
    co_await region(c, [e](cx r) -> task<> {
      auto [code, tx, rx] = watch<std::uint64_t>(r, 0);
      EXPECT_EQ(code, status::ok);
      for (int i = 0; i < 4; ++i) {
        watch_receiver<std::uint64_t> own;
        EXPECT_EQ(rx.clone(own), status::ok);
        co_await start(
            r,
            [](cx, watch_receiver<std::uint64_t> from, counter* of) -> task<> {
              std::uint64_t last = 0;
              while (co_await changed(from)) {
                std::uint64_t now = 0;
                EXPECT_EQ(from.latest(now), status::ok);
                EXPECT_GE(now, last);
                last = now;
              }
              EXPECT_EQ(last, 60U);
              of->fetch_add(1, std::memory_order_relaxed);
            },
            moved(own), e);
      }
      rx.drop();
      for (std::uint64_t v = 1; v <= 60; ++v) {
        EXPECT_EQ(tx.send(v).code, status::ok);
        if (v % 3 == 0) co_await yield();
      }
      tx.drop();
    });
    EXPECT_EQ(ended.load(), 4U);
  });
}

TEST(workers_near_stress, every_listener_hears_or_is_told_how_much_it_missed) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter ended{0};
    auto* const e = &ended;
    co_await region(c, [e](cx r) -> task<> {
      auto [code, tx, rx] = broadcast<std::uint64_t>(r, 4);
      EXPECT_EQ(code, status::ok);
      for (int i = 0; i < 4; ++i) {
        broadcast_receiver<std::uint64_t> own;
        EXPECT_EQ(rx.clone(own), status::ok);
        co_await start(
            r,
            [](cx, broadcast_receiver<std::uint64_t> from, counter* of) -> task<> {
              std::uint64_t next = 0;
              for (;;) {
                const auto got = co_await recv(from);
                if (got.code == status::disconnected) break;
                if (got.code == status::lagged) {
                  next += got.skipped;
                  continue;
                }
                EXPECT_EQ(*got.value, next) << "heard and missed are all, in order";
                ++next;
              }
              EXPECT_EQ(next, 60U);
              of->fetch_add(1, std::memory_order_relaxed);
            },
            moved(own), e);
      }
      rx.drop();
      for (std::uint64_t v = 0; v < 60; ++v) {
        EXPECT_EQ(tx.send(v).code, status::ok);
        if (v % 3 == 0) co_await yield();
      }
      tx.drop();
    });
    EXPECT_EQ(ended.load(), 4U);
  });
}

// ---- taking turns ---------------------------------------------------------------------------------------------------

TEST(workers_near_stress, a_mutex_lets_one_in_at_a_time) {
  play_rounds(8, [](cx c, std::uint64_t) -> task<> {
    mutex<std::uint64_t> m;  // Plain numbers: a sanitizer sees two that are in.
    EXPECT_EQ(mutex<std::uint64_t>::create(c, m, "count", std::uint64_t{0}), status::ok);
    co_await region(c, {.policy = region_policy::body_decides}, [&m](cx r) -> task<> {
      std::vector<join_handle<void>> some;
      for (int i = 0; i < 8; ++i) {
        some.push_back(co_await start(r, [&m](cx) -> task<> {
          for (std::uint64_t k = 0; k < 25; ++k) {
            auto held = co_await lock(m);
            ++*held;
            if (k % 8 == 0) co_await yield();
            --*held;
            ++*held;
          }
        }));
      }
      auto loser = co_await start(r, [&m](cx) -> task<> {
        for (;;) {
          const auto held = co_await lock(m);
          co_await yield();
        }
      });
      for (auto& h : some) static_cast<void>(co_await join(h));
      static_cast<void>(loser.cancel());
    });
    const auto held = co_await lock(m);
    EXPECT_EQ(*held, 200U);
  });
}

TEST(workers_near_stress, a_semaphore_gives_no_more_than_it_has_and_loses_none) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    semaphore sem;
    EXPECT_EQ(semaphore::create(c, 5, sem), status::ok);
    counter out{0};
    auto* const o = &out;
    co_await region(c, {.policy = region_policy::body_decides}, [sem, o](cx r) -> task<> {
      std::vector<join_handle<void>> all;
      for (std::uint64_t i = 0; i < 8; ++i) {
        all.push_back(co_await start(
            r,
            [](cx, semaphore of, counter* used, std::uint64_t n) -> task<> {
              for (std::uint64_t k = 0; k < 12; ++k) {
                const std::uint64_t units = 1 + (n + k) % 3;
                auto held = co_await acquire(of, units);
                EXPECT_LE(used->fetch_add(units) + units, 5U);
                if (k % 3 == 0) co_await yield();
                used->fetch_sub(units);
              }
            },
            sem, o, i));
      }
      for (std::size_t i = 0; i < all.size(); i += 3) {
        co_await yield();
        static_cast<void>(all[i].cancel());
      }
      for (auto& h : all) static_cast<void>(co_await join(h));
    });
    semaphore_report report;
    EXPECT_EQ(sem.inspect(report), status::ok);
    EXPECT_EQ(report.left, 5U);
    EXPECT_EQ(report.waiters, 0U);
  });
}

TEST(workers_near_stress, no_notification_is_lost) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    notify there;
    notify back;
    EXPECT_EQ(notify::create(c, there), status::ok);
    EXPECT_EQ(notify::create(c, back), status::ok);
    co_await region(c, [there, back](cx r) -> task<> {  // Each waits for the other's word: one that is lost hangs both.
      for (int side = 0; side < 2; ++side) {
        co_await start(
            r,
            [](cx, notify mine, notify others, bool is_first) -> task<> {
              for (int i = 0; i < 60; ++i) {
                EXPECT_TRUE(!is_first || others.notify_one() == status::ok);
                co_await wait(mine);
                EXPECT_TRUE(is_first || others.notify_one() == status::ok);
              }
            },
            side == 0 ? there : back, side == 0 ? back : there, side == 0);
      }
    });
  });
}

}  // namespace
}  // namespace asx::stress
