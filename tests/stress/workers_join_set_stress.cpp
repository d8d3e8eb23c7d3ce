// Join sets among threads: tasks end on all workers while they are added, waited for and dropped on one. Whoever would
// be lost is waited for in vain, and the round hangs; whoever came twice would be missed in the sums.
#include "tests/stress/workers.hpp"

#include <cstddef>
#include <vector>

namespace asx::stress {
namespace {

task<std::uint64_t> ends_soon(cx, std::uint64_t yields, std::uint64_t value) {
  for (std::uint64_t i = 0; i < yields; ++i) co_await yield();
  co_return value;
}
task<std::uint64_t> waits(cx c) {
  auto made = channel<int>(c, 1);
  static_cast<void>(co_await recv(made.rx));
  co_return 0;
}

TEST(workers_join_set_stress, everybody_comes_out_once_however_they_end) {
  play_rounds(40, [](cx c, std::uint64_t round) -> task<> {
    co_await region(c, [round](cx r) -> task<> {
      join_set<std::uint64_t> set;
      std::uint64_t sum = 0, count = 0;
      std::vector<bool> came(64);
      const auto note = [&](const std::optional<joined<std::uint64_t>>& one) {
        EXPECT_FALSE(came[one->index]);
        came[one->index] = true;
        sum += one->how.value();
        ++count;
      };
      for (std::uint64_t i = 0; i < 64; ++i) {
        if (i % 3 == 0) {
          auto h = co_await start(r, ends_soon, (round + i) % 5, i);
          if (i % 2 == 0) co_await yield();  // It may end before it is added, while, and after.
          EXPECT_EQ(set.add(std::move(h)), status::ok);
        } else {
          static_cast<void>(co_await set.start(r, ends_soon, (round * 3 + i) % 7, i));
        }
        if (i % 5 != 0) continue;
        if (auto one = set.try_next()) note(one);
      }
      while (const auto one = co_await join_next(set)) note(one);
      EXPECT_EQ(count, 64U);
      EXPECT_EQ(sum, 64U * 63U / 2);
    });
  });
}

// Of two that are ready in a select one is taken, and the other is still there.
TEST(workers_join_set_stress, a_wait_that_lost_has_taken_nobody) {
  play_rounds(40, [](cx c, std::uint64_t round) -> task<> {
    co_await region(c, [round](cx r) -> task<> {
      join_set<std::uint64_t> left, right;
      for (std::uint64_t i = 0; i < 24; ++i) {
        static_cast<void>(co_await (i % 2 == 0 ? left : right).start(r, ends_soon, (round + i) % 4, i));
      }
      std::uint64_t count = 0;
      while (!left.is_empty() && !right.is_empty()) {
        static_cast<void>(co_await select_fair(join_next(left), join_next(right)));
        ++count;
      }
      while (const auto one = co_await join_next(left)) count += one->index < 24 ? 1U : 0U;
      while (const auto one = co_await join_next(right)) count += one->index < 24 ? 1U : 0U;
      EXPECT_EQ(count, 24U);
    });
  });
}

TEST(workers_join_set_stress, a_set_that_is_dropped_or_cancelled_while_they_end_leaves_nothing_behind) {
  play_rounds(40, [](cx c, std::uint64_t round) -> task<> {
    co_await region(c, {.policy = region_policy::body_decides}, [round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 8; ++i) {
        join_set<std::uint64_t> set;
        for (std::uint64_t j = 0; j < 8; ++j) static_cast<void>(co_await set.start(r, ends_soon, (round + j) % 4, j));
        static_cast<void>(co_await set.start(r, waits));
        for (std::uint64_t j = 0; j < i; ++j) static_cast<void>(co_await join_next(set));
        while (set.cancel() == status::resource_exhausted) co_await yield();
        if (i % 2 == 0) continue;
        while (const auto one = co_await join_next(set)) EXPECT_LT(one->index, 9U);
      }
    });
  });
}

TEST(workers_join_set_stress, those_who_compete_in_a_range_are_drained) {
  play_rounds(30, [](cx c, std::uint64_t round) -> task<> {
    std::vector<std::uint64_t> yields;
    for (std::uint64_t i = 0; i < 40; ++i) yields.push_back((round * 5 + i * 3) % 11);
    const auto play = [](cx own, const std::uint64_t& n) { return ends_soon(own, n, n); };
    std::uint64_t sum = 0, wanted = 0;
    for (const auto& one : co_await join_all(c, yields, play)) sum += one.value();
    for (const std::uint64_t n : yields) wanted += n;
    EXPECT_EQ(sum, wanted);
    const auto first = co_await race(c, yields, play);
    EXPECT_EQ(first.how.value(), yields[first.index]);
    const auto most = co_await quorum(c, 20, yields, play);
    EXPECT_TRUE(most.is_reached);
    std::size_t counted = 0;
    for (std::size_t i = 0; i < yields.size(); ++i) {
      if (!most.values[i]) continue;
      EXPECT_EQ(*most.values[i], yields[i]);
      ++counted;
    }
    EXPECT_EQ(counted, 20U);
  });
}

}  // namespace
}  // namespace asx::stress
