// The engine itself: it sees every interleaving and every value that a memory order allows, and nothing else. Programs
// whose possible ends are known by heart.
#include "tests/interleave/engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "asx/base/assert.hpp"
#include "tests/interleave/atomic.hpp"

namespace {

using namespace asx::interleave;
using asx::interleave::atomic;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto total = std::memory_order_seq_cst;

// Two words, two results, a plain variable: enough for the classics.
struct lab_bench {
  atomic<int> x{0};
  atomic<int> y{0};
  plain<int> data{0};
  std::array<int, 4> saw{};  // By result: each is one thread's, and read at the end.
};

struct bench_world : world {
  using step = std::function<void(lab_bench&)>;
  std::array<step, 3> steps;
  std::function<void(const lab_bench&)> done;
  lab_bench bench;

  bench_world(std::array<step, 3> of, std::function<void(const lab_bench&)> at_end)
      : steps(std::move(of)), done(std::move(at_end)) {}
  void run(unsigned thread) override { steps[thread](bench); }
  void end() override {
    if (done) done(bench);
  }
};

verdict try_all(const bench_world::step& a, const bench_world::step& b, const limits& most = {},
                const std::function<void(const lab_bench&)>& done = {}) {
  return explore(
      2, [&] { return std::make_unique<bench_world>(std::array<bench_world::step, 3>{a, b, {}}, done); }, most);
}

// Every pair of results that some execution ends with.
std::set<std::pair<int, int>> ends_of(const bench_world::step& a, const bench_world::step& b, const limits& most = {}) {
  std::set<std::pair<int, int>> out;
  const verdict v = try_all(a, b, most, [&](const lab_bench& l) { out.insert({l.saw[0], l.saw[1]}); });
  EXPECT_TRUE(v.holds) << v.story;
  return out;
}

using pairs = std::set<std::pair<int, int>>;

TEST(interleave_engine, sees_each_order_of_operations_on_one_word_once) {
  std::uint64_t expected = 1;
  for (unsigned n = 1; n <= 5; ++n) {
    expected = expected * (2 * n) * (2 * n - 1) / (n * n);  // Of n and n: 2n over n.
    const auto writes = [n](lab_bench& l) {
      for (unsigned i = 0; i < n; ++i) l.x.fetch_add(1, relaxed);
    };
    const verdict v = try_all(writes, writes);
    EXPECT_TRUE(v.holds) << v.story;
    EXPECT_EQ(v.executions, expected) << n;
  }
}

TEST(interleave_engine, does_not_repeat_what_cannot_differ) {
  const verdict apart = try_all(
      [](lab_bench& l) {
        l.x.fetch_add(1);
        l.x.fetch_add(1);
      },
      [](lab_bench& l) {
        l.y.fetch_add(1);
        l.y.fetch_add(1);
      });
  EXPECT_TRUE(apart.holds);
  EXPECT_EQ(apart.executions, 1U);
  const verdict readers =
      try_all([](lab_bench& l) { static_cast<void>(l.x.load()); }, [](lab_bench& l) { static_cast<void>(l.x.load()); });
  EXPECT_EQ(readers.executions, 1U);
}

TEST(interleave_engine, finds_an_update_that_is_lost_and_none_where_none_can_be) {
  const auto expect_two = [](const lab_bench& l) { check(l.x.load() == 2, "both have counted"); };
  const auto tears = [](lab_bench& l) { l.x.store(l.x.load() + 1); };
  const verdict torn = try_all(tears, tears, {}, expect_two);
  EXPECT_FALSE(torn.holds);
  EXPECT_NE(torn.story.find("both have counted"), std::string::npos) << torn.story;
  const auto counts = [](lab_bench& l) { l.x.fetch_add(1, relaxed); };
  EXPECT_TRUE(try_all(counts, counts, {}, expect_two).holds);
  const auto swaps = [](lab_bench& l) {
    int seen = l.x.load(relaxed);
    while (!l.x.compare_exchange_weak(seen, seen + 1, relaxed)) {
    }
  };
  const verdict swapped = try_all(swaps, swaps, {.spurious = 2}, expect_two);
  EXPECT_TRUE(swapped.holds) << swapped.story;
  EXPECT_GT(swapped.executions, try_all(swaps, swaps, {}, expect_two).executions);
}

TEST(interleave_engine, hands_over_what_was_written_by_release_and_acquire_alone) {
  for (const bool releases : {false, true}) {
    for (const bool acquires : {false, true}) {
      const verdict v = try_all(
          [releases](lab_bench& l) {
            l.data = 7;
            l.x.store(1, releases ? release : relaxed);
          },
          [acquires](lab_bench& l) {
            if (l.x.load(acquires ? acquire : relaxed) == 1) check(l.data == 7, "it is whole");
          });
      EXPECT_EQ(v.holds, releases && acquires) << v.story;
      if (!v.holds) {
        EXPECT_NE(v.story.find("a race"), std::string::npos) << v.story;
      }
    }
  }
}

TEST(interleave_engine, hands_over_through_exchanges_of_others_but_not_through_their_stores) {
  for (const bool is_exchange : {false, true}) {
    const auto make = [is_exchange] {
      return std::make_unique<bench_world>(std::array<bench_world::step, 3>{[](lab_bench& l) {
                                                                              l.data = 7;
                                                                              l.x.store(1, release);
                                                                            },
                                                                            [is_exchange](lab_bench& l) {
                                                                              if (l.x.load(relaxed) != 1) return;
                                                                              if (is_exchange) {
                                                                                l.x.fetch_add(1, relaxed);
                                                                              } else {
                                                                                l.x.store(2, relaxed);
                                                                              }
                                                                            },
                                                                            [](lab_bench& l) {
                                                                              if (l.x.load(acquire) == 2)
                                                                                check(l.data == 7, "it is whole");
                                                                            }},
                                           nullptr);
    };
    const verdict v = explore(3, make);
    EXPECT_EQ(v.holds, is_exchange) << v.story;
  }
}

TEST(interleave_engine, lets_both_miss_the_others_store_unless_there_is_one_order_of_all) {
  const auto program = [](std::memory_order in, std::memory_order out) {
    return ends_of(
        [=](lab_bench& l) {
          l.x.store(1, in);
          l.saw[0] = l.y.load(out);
        },
        [=](lab_bench& l) {
          l.y.store(1, in);
          l.saw[1] = l.x.load(out);
        });
  };
  EXPECT_EQ(program(total, total), (pairs{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(program(release, acquire), (pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(program(relaxed, relaxed), (pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(interleave_engine, a_barrier_of_all_threads_orders_what_one_of_them_did_without_one) {
  const auto program = [](bool has_barrier) {
    return ends_of(
        [=](lab_bench& l) {
          l.x.store(1, relaxed);
          l.saw[0] = l.y.load(relaxed);
        },
        [=](lab_bench& l) {
          l.y.store(1, relaxed);
          if (has_barrier) order_all_threads();
          l.saw[1] = l.x.load(relaxed);
        });
  };
  EXPECT_EQ(program(true), (pairs{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(program(false), (pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(interleave_engine, who_stands_goes_on_when_the_value_is_another_one) {
  const pairs ends = ends_of([](lab_bench& l) { l.x.store(1, relaxed); },
                             [](lab_bench& l) {
                               l.x.stand_while(0);
                               order_all_threads();
                               l.saw[1] = l.x.load(relaxed);
                             });
  EXPECT_EQ(ends, (pairs{{0, 1}}));
  const verdict v = explore(1, [] {
    struct stands : world {
      atomic<int> x{0};
      void run(unsigned) override { x.stand_while(0); }
    };
    return std::make_unique<stands>();
  });
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps or waits"), std::string::npos) << v.story;
}

TEST(interleave_engine, never_reads_backwards) {
  const pairs ends = ends_of(
      [](lab_bench& l) {
        l.x.store(1, relaxed);
        l.x.store(2, relaxed);
      },
      [](lab_bench& l) {
        l.saw[0] = l.x.load(relaxed);
        l.saw[1] = l.x.load(relaxed);
      });
  EXPECT_EQ(ends, (pairs{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(interleave_engine, an_exchange_always_has_the_last_value) {
  const pairs ends = ends_of([](lab_bench& l) { l.saw[0] = l.x.exchange(1, relaxed); },
                             [](lab_bench& l) { l.saw[1] = l.x.exchange(2, relaxed); });
  EXPECT_EQ(ends, (pairs{{0, 1}, {2, 0}}));
}

TEST(interleave_engine, finds_everybody_asleep) {
  const verdict v = try_all(
      [](lab_bench& l) {
        if (l.x.load() == 0) l.y.wait(0);  // Looks at one word and sleeps on another.
      },
      [](lab_bench& l) {
        l.x.store(1);
        l.y.notify_one();
      });
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("everybody sleeps"), std::string::npos) << v.story;
  const verdict well = try_all([](lab_bench& l) { l.x.wait(0); },
                               [](lab_bench& l) {
                                 l.x.store(1);
                                 l.x.notify_one();
                               });
  EXPECT_TRUE(well.holds) << well.story;
  const verdict silent = try_all([](lab_bench& l) { l.x.wait(0); }, [](lab_bench& l) { l.x.store(1); });
  EXPECT_FALSE(silent.holds);
}

TEST(interleave_engine, a_limited_sleep_may_end_at_any_moment) {
  const pairs ends = ends_of(
      [](lab_bench& l) {
        static_cast<void>(l.x.sleep_while(0, true));
        l.saw[0] = l.x.load(relaxed);
      },
      [](lab_bench& l) {
        l.x.exchange(1, relaxed);
        l.x.notify_one();
      },
      {.stale_reads = 0});
  EXPECT_EQ(ends, (pairs{{0, 0}, {1, 0}}));
}

TEST(interleave_engine, finds_what_is_used_after_its_end) {
  struct mortal : world {
    std::unique_ptr<atomic<int>> word = std::make_unique<atomic<int>>(0);
    atomic<int> users{2};
    bool counts = false;
    void run(unsigned) override {
      word->fetch_add(1, relaxed);
      if (!counts || users.fetch_sub(1, std::memory_order_acq_rel) == 1) word.reset();
    }
  };
  for (const bool counts : {false, true}) {
    const verdict v = explore(2, [counts] {
      auto made = std::make_unique<mortal>();
      made->counts = counts;
      return made;
    });
    EXPECT_EQ(v.holds, counts) << v.story;
    if (!counts) {
      EXPECT_NE(v.story.find("after its end"), std::string::npos) << v.story;
    }
  }
}

TEST(interleave_engine, replays_a_failure_by_its_schedule) {
  const auto make = [] {
    const auto tears = [](lab_bench& l) { l.x.store(l.x.load() + 1); };
    return std::make_unique<bench_world>(std::array<bench_world::step, 3>{tears, tears, {}},
                                         [](const lab_bench& l) { check(l.x.load() == 2, "both have counted"); });
  };
  const verdict first = explore(2, make);
  ASSERT_FALSE(first.holds);
  const verdict again = replay(2, make, first.schedule);
  EXPECT_FALSE(again.holds);
  EXPECT_EQ(again.story, first.story);
  EXPECT_EQ(again.executions, 1U);
  EXPECT_TRUE(replay(2, make, "0.0.0.0").holds);  // One after the other.
}

TEST(interleave_engine, an_assertion_of_asx_is_a_failure_like_any_other) {
  const verdict v =
      try_all([](lab_bench& l) { ASX_ASSERT(l.x.load() == 0, "nobody has come"); }, [](lab_bench& l) { l.x.store(1); });
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("nobody has come"), std::string::npos) << v.story;
}

TEST(interleave_engine, says_when_a_world_is_too_large) {
  const auto busy = [](lab_bench& l) {
    for (int i = 0; i < 20; ++i) l.x.fetch_add(1);
  };
  const verdict v = try_all(busy, busy, {.executions = 1'000});
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("not all of it was seen"), std::string::npos) << v.story;
  const verdict endless = try_all(
      [](lab_bench& l) {
        while (l.x.load() == 0) l.y.fetch_add(1);
      },
      [](lab_bench&) {});
  EXPECT_FALSE(endless.holds);
  EXPECT_NE(endless.story.find("does it end"), std::string::npos);
}

TEST(interleave_engine, counts_preemptions_when_they_are_bounded) {
  const auto busy = [](lab_bench& l) {
    for (int i = 0; i < 4; ++i) l.x.fetch_add(1);
  };
  EXPECT_EQ(try_all(busy, busy, {.preemptions = 0}).executions, 2U);  // One after the other.
  EXPECT_EQ(try_all(busy, busy, {.preemptions = 1}).executions, 8U);  // And interrupted once, after 1, 2 or 3.
  EXPECT_EQ(try_all(busy, busy, {.preemptions = 99}).executions, 70U);
}

}  // namespace
