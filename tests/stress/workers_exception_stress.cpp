// Exceptions that leave polls on several workers at once: each ends its own task, with its own text, and nobody else's.
#include "tests/stress/workers.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "asx/chan/testing/bomb.hpp"

namespace asx::stress {
namespace {

TEST(workers_exception_stress, an_exception_ends_its_own_task_and_says_what_it_said) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    auto* const a = &alive;
    std::vector<join_handle<void>> all;
    auto* const to = &all;
    co_await region(c, {.policy = region_policy::body_decides}, [a, to, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 16; ++i) {
        to->push_back(co_await start(
            r,
            [](cx, counter* of, std::uint64_t n) -> task<> {
              const token here(n, of);
              for (std::uint64_t k = 0; k < n % 4; ++k) co_await yield();
              if (n % 3 == 0) throw std::runtime_error("number " + std::to_string(n));
              co_await yield();
            },
            a, round + i));
      }
    });
    std::uint64_t panicked = 0;
    for (std::uint64_t i = 0; i < 16; ++i) {
      const auto how = co_await join(all[static_cast<std::size_t>(i)]);
      if ((round + i) % 3 != 0) {
        EXPECT_TRUE(how.is_ok());
        continue;
      }
      ++panicked;
      EXPECT_TRUE(how.is_panicked());
      const std::string text(how.panic().text);
      EXPECT_NE(text.find("number " + std::to_string(round + i)), std::string::npos) << text;
    }
    EXPECT_GE(panicked, 5U);
    EXPECT_EQ(alive.load(), 0U);
  });
}

TEST(workers_exception_stress, the_first_that_throws_ends_its_block_and_the_others_are_cancelled) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter alive{0};
    auto* const a = &alive;
    bool is_caught = false;
    const auto got = co_await attempt(region(c, [a](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 8; ++i) {
        auto one = spawn(
            r,
            [](cx, counter* of, std::uint64_t n) -> task<> {
              const token here(n, of);
              for (std::uint64_t k = 0; k < n; ++k) co_await yield();
              if (n >= 4) throw std::runtime_error("late");
              co_await sleep(duration::hours(1));
            },
            a, i);
        if (one.code != status::ok) co_return;
      }
    }));
    is_caught = got.is_panicked();
    EXPECT_TRUE(is_caught);
    EXPECT_EQ(alive.load(), 0U);
  });
}

TEST(workers_exception_stress, what_is_caught_is_over) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter caught{0};
    auto* const seen = &caught;
    co_await region(c, [seen](cx r) -> task<> {
      for (int i = 0; i < 8; ++i) {
        co_await start(
            r,
            [](cx, counter* of) -> task<> {
              for (int k = 0; k < 5; ++k) {
                try {
                  co_await yield();
                  throw std::runtime_error("caught");
                } catch (const std::runtime_error&) {
                  of->fetch_add(1);
                }
                co_await yield();
              }
            },
            seen);
      }
    });
    EXPECT_EQ(caught.load(), 40U);
  });
}

// R-240 among threads: what a receive makes is one move, and when that throws the message is where it was.
TEST(workers_exception_stress, a_message_whose_move_throws_stays_in_its_channel) {
  using testing::bomb;
  using testing::fuse;
  play_rounds(8, [](cx c, std::uint64_t round) -> task<> {
    fuse f;
    {
      auto [code, tx, rx] = channel<bomb>(c, 2);
      EXPECT_EQ(code, status::ok);
      for (int way = 0; way < 4; ++way) {
        EXPECT_EQ(tx.try_send(bomb(7, f)).code, status::ok);
        int failed = 0;
        int got = 0;
        for (bool has_thrown = true; has_thrown && failed < 10;) {
          if (round % 2 == 0) co_await yield();  // Perhaps to another worker.
          f.left = failed;
          has_thrown = false;
          try {
            if (way == 0) {
              const auto message = co_await recv(rx);
              got = message->number();
            } else if (way == 1) {
              const auto told = co_await attempt(recv(rx));
              got = (*told.value)->number();
            } else if (way == 2) {
              const auto won = co_await select(recv(rx), sleep(duration::hours(1)));
              got = std::get<0>(won)->number();
            } else {
              const auto told = co_await attempt(select(recv(rx), sleep(duration::hours(1))));
              got = std::get<0>(*told.value)->number();
            }
          } catch (const std::runtime_error&) {
            has_thrown = true;
          }
          f.left = fuse::none;
          if (!has_thrown) break;
          ++failed;
          channel_report now;
          EXPECT_EQ(tx.inspect(now), status::ok);
          EXPECT_EQ(now.queued, 1U) << "way " << way;
        }
        EXPECT_EQ(got, 7) << "way " << way;
        EXPECT_EQ(failed, 1) << "way " << way;
      }
    }
    EXPECT_EQ(f.alive, 0);
  });
}

}  // namespace
}  // namespace asx::stress
