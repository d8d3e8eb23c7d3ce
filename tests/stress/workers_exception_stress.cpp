// Exceptions that leave polls on several workers at once: each ends its own task, with its own text, and nobody else's.
#include "tests/stress/workers.hpp"

#include <stdexcept>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace asx::stress
