// Pieces of polls on several threads: computed once, to the same result, beside tasks that talk, by
// whoever has nothing else to do. Run it under the thread and the address sanitizer as well. ASX_STRESS_ROUNDS makes it
// longer.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/lab/replay_workers.hpp"
#include "tests/stress/workers.hpp"

namespace asx::stress {
namespace {

/// Until that is so; false: it never was.
template <class Is>
[[nodiscard]] bool wait_until(Is is_so) {
  const deadline late;
  while (!late.is_over()) {  // asx: bounded by 30 s, where a moment should do
    if (is_so()) return true;
    std::this_thread::yield();
  }
  return is_so();
}

/// So long that another worker comes to help.
void toil(std::uint64_t turns) {
  static counter sink{0};
  for (std::uint64_t i = 0; i < turns; ++i) sink.fetch_add(i, std::memory_order_relaxed);  // asx: bounded by `turns`
}

std::uint64_t plain_fib(unsigned n) {
  return n < 2 ? n : plain_fib(n - 1) + plain_fib(n - 2);
}
std::uint64_t fib(pieces& p, unsigned n) {
  if (n < 2) return n;
  const auto [a, b] = p.both([n](pieces& in) { return fib(in, n - 1); }, [n](pieces& in) { return fib(in, n - 2); });
  return a + b;
}

/// `f(cx)` as the only task, run to its end; how many pieces another worker has called.
template <class F>
std::uint64_t helped_in(const threads_config& how, F f, std::uint64_t seed = 1) {
  threaded_runtime rt(how, config_of(journal_mode::off, seed));
  EXPECT_EQ(rt.start_status(), status::ok);
  const hang_guard guard(rt);
  auto first = spawn_in(rt->kernel(), rt->root(), {.name = "first"}, f);
  EXPECT_EQ(first.code, status::ok);
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  outcome<unit> out;
  EXPECT_EQ(first.handle.take(out), status::ok);
  EXPECT_TRUE(out.is_ok()) << (out.is_panicked() ? std::string(out.panic().text) : "it did not end well");
  first.handle.drop();
  expect_end(rt, "helped");
  return rt.pieces_helped();
}

// ---- the same results -----------------------------------------------------------------------------------------------

TEST(workers_parallel_stress, a_tree_of_pieces_computes_what_plain_calls_do) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    const auto n = static_cast<unsigned>(10 + round % 7);
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t got = parallel(c, [n](pieces& p) { return fib(p, n); });
      EXPECT_EQ(got, plain_fib(n));
      if (i % 2 == 0) co_await yield();  // Perhaps to another worker.
    }
  });
}

double odd_number(std::size_t i) {
  return (i % 7 == 0 ? 1e16 : 1.0) / static_cast<double>(i + 1);
}
std::string joined(const std::string& a, const std::string& b) {
  return "(" + a + b + ")";
}

struct results {
  double sum = 0;
  std::string tree;
  friend bool operator==(const results&, const results&) = default;
};
results reduced(pieces& p, std::size_t n, std::size_t grain) {
  const auto [sum, tree] = p.both(
      [=](pieces& in) { return in.reduce(n, grain, 0.0, odd_number, std::plus<>()); },
      [=](pieces& in) {
        return in.reduce(n / 8, grain, std::string("z"), [](std::size_t i) { return std::to_string(i); }, joined);
      });
  return {sum, tree};
}

TEST(workers_parallel_stress, a_sum_is_to_the_last_bit_what_one_thread_computes) {
  std::array<results, 8> expected;
  {
    runtime rt;
    auto first = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, std::array<results, 8>* out) -> task<> {
          for (std::size_t i = 0; i < out->size(); ++i) {
            (*out)[i] = parallel(c, [i](pieces& p) { return reduced(p, 400 + 37 * i, i); });
          }
          co_return;
        },
        &expected);
    ASSERT_EQ(first.code, status::ok);
    rt.run_until_idle();
    first.handle.drop();
  }
  play_rounds(12, [all = &expected](cx c, std::uint64_t round) -> task<> {
    const auto i = static_cast<std::size_t>(round % all->size());
    const results got = parallel(c, [i](pieces& p) { return reduced(p, 400 + 37 * i, i); });
    EXPECT_EQ(got, (*all)[i]) << "round " << round;
    co_return;
  });
}

// Each index is written by whoever calls it, and read by the task behind it: nothing else hands it over.
TEST(workers_parallel_stress, what_pieces_write_is_seen_when_they_are_over) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    std::vector<std::uint64_t> words(700, 1);
    for (std::uint64_t pass = 2; pass < 6; ++pass) {
      parallel(c, [&words, pass, round](pieces& p) {
        p.each(words.size(), static_cast<std::size_t>(1 + round % 9), [&words, pass](std::size_t i) {
          words[i] = words[i] * pass + i;  // Its own, and what the pass before this one wrote.
        });
      });
      co_await yield();
    }
    for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], 120 + i * (1 + 5 + 20 + 60)) << i;
  });
}

// ---- whoever has nothing to do helps --------------------------------------------------------------------------------

// Each piece says that it has begun, and waits until as many have: nobody gets further alone.
struct meeting {
  explicit meeting(std::size_t n) noexcept : expected(n) {}
  std::size_t expected;
  counter here{0};
  bool has_met = true;  // Of the one that looks at the end, and of each that gave up.
  std::mutex door{};
  std::set<std::thread::id> who{};

  void attend() {
    {
      const std::lock_guard lock(door);
      who.insert(std::this_thread::get_id());
    }
    here.fetch_add(1);
    if (wait_until([this] { return here.load() >= expected; })) return;
    const std::lock_guard lock(door);
    has_met = false;
  }
};

TEST(workers_parallel_stress, another_worker_calls_g_while_f_waits_for_it) {
  for (const std::uint32_t workers : {2U, 4U}) {
    const std::uint64_t most = rounds(8);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      meeting two(2);
      const std::uint64_t helped = helped_in(crew_of(workers, round), [m = &two](cx c) -> task<> {
        parallel(c, [m](pieces& p) { p.both([m] { m->attend(); }, [m] { m->attend(); }); });
        co_return;
      });
      EXPECT_TRUE(two.has_met) << "nobody came to help, round " << round;
      EXPECT_EQ(two.who.size(), 2U);
      EXPECT_EQ(helped, 1U);
    }
  }
}

TEST(workers_parallel_stress, as_many_compute_as_there_are_workers) {
  for (const std::uint32_t workers : {2U, 3U, 4U}) {
    const std::uint64_t most = rounds(8);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      meeting all(workers);
      const std::uint64_t helped = helped_in(crew_of(workers, round), [m = &all, round](cx c) -> task<> {
        if (round % 3 != 0) co_await sleep(duration::milliseconds(2));  // Now everybody sleeps.
        parallel(c, [m](pieces& p) { p.each(m->expected, 1, [m](std::size_t) { m->attend(); }); });
      });
      EXPECT_TRUE(all.has_met) << all.here.load() << " of " << workers << " came, round " << round;
      EXPECT_EQ(all.who.size(), workers);
      EXPECT_GE(helped, workers - 1);
    }
  }
}

// f is over, and g is another worker's; what g forks is the business of the one that waits for g.
TEST(workers_parallel_stress, who_waits_for_a_piece_calls_others_meanwhile) {
  const std::uint64_t most = rounds(8);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    meeting above(2);
    meeting below(2);
    const std::uint64_t helped = helped_in(crew_of(2, round), [a = &above, b = &below](cx c) -> task<> {
      parallel(c, [a, b](pieces& p) {
        p.both([a] { a->attend(); },
               [a, b](pieces& g) {
                 a->attend();
                 g.both([b] { b->attend(); }, [b] { b->attend(); });
               });
      });
      co_return;
    });
    EXPECT_TRUE(above.has_met) << "nobody came to help, round " << round;
    EXPECT_TRUE(below.has_met) << "who waits did nothing meanwhile, round " << round;
    EXPECT_EQ(helped, 2U);
  }
}

// f holds a lock over a fork of its own; its sibling, which another worker has, forks pieces that want that
// lock. On one thread they follow each other, and so nobody may come to call one while it holds the lock.
TEST(workers_parallel_stress, who_waits_calls_nothing_that_it_would_not_have_called_alone) {
  const std::uint64_t most = rounds(20);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    std::mutex guards;
    meeting both_go(2);
    std::uint64_t sum = 0;
    static_cast<void>(helped_in(crew_of(3, round), [&](cx c) -> task<> {
      parallel(c, [&](pieces& p) {
        p.both(
            [&](pieces& f) {
              both_go.attend();
              const std::scoped_lock mine(guards);
              f.each(8, 1, [](std::size_t) {
                for (volatile int i = 0; i < 2'000;) i = i + 1;
              });
              ++sum;
            },
            [&](pieces& g) {
              both_go.attend();
              g.each(64, 1, [&](std::size_t) {
                const std::scoped_lock mine(guards);
                ++sum;
              });
            });
      });
      co_return;
    }));
    EXPECT_EQ(sum, 65U) << "round " << round;
  }
}

// a worker that waits in the middle of f does not begin with the g of the same both. What a thread must not do
// inside itself, such as to lock what it holds, it does not come to do because somebody helps.
TEST(workers_parallel_stress, g_is_called_behind_f_unless_another_worker_calls_it) {
  const std::uint64_t most = rounds(8);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    meeting two(2);
    struct scene {
      counter g_begun{0};
      bool was_in_the_middle = false;  // Of whoever calls g.
      bool was_elsewhere = false;
    } all;
    const std::uint64_t helped = helped_in(crew_of(2, round), [m = &two, s = &all](cx c) -> task<> {
      const std::thread::id here = std::this_thread::get_id();
      counter f_is_over{0};
      parallel(c, [=, &f_is_over](pieces& p) {
        p.both(
            [=, &f_is_over](pieces& f) {
              f.both([m] { m->attend(); },
                     [m, s] {
                       m->attend();
                       for (int i = 0; i < 3'000 && s->g_begun.load() == 0; ++i) std::this_thread::yield();
                     });
              f_is_over.store(1);
            },
            [=, &f_is_over] {
              s->was_elsewhere = std::this_thread::get_id() != here;
              s->was_in_the_middle = f_is_over.load() == 0;
              s->g_begun.store(1);
            });
      });
      co_return;
    });
    EXPECT_TRUE(two.has_met) << "nobody came to help, round " << round;
    EXPECT_TRUE(all.was_elsewhere || !all.was_in_the_middle)
        << "one thread calls g in the middle of f, round " << round;
    EXPECT_EQ(helped, all.was_elsewhere ? 2U : 1U) << "whoever forked it did not help another one";
  }
}

struct who_called {
  counter in_all{0};
  counter elsewhere{0};    // By another thread than forked it.
  counter f_elsewhere{0};  // That must not be.
};
std::uint64_t watched_fib(pieces& p, unsigned n, who_called* seen) {
  if (n < 2) return n;
  const std::thread::id here = std::this_thread::get_id();
  const auto [a, b] = p.both(
      [=](pieces& in) {
        if (std::this_thread::get_id() != here) seen->f_elsewhere.fetch_add(1, std::memory_order_relaxed);
        return watched_fib(in, n - 1, seen);
      },
      [=](pieces& in) {
        if (std::this_thread::get_id() != here) seen->elsewhere.fetch_add(1, std::memory_order_relaxed);
        seen->in_all.fetch_add(1, std::memory_order_relaxed);
        return watched_fib(in, n - 2, seen);
      });
  return a + b;
}

TEST(workers_parallel_stress, pieces_helped_counts_those_that_another_worker_called) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    const std::uint64_t most = rounds(6);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      who_called seen;
      meeting two(workers == 1 ? 1 : 2);
      const std::uint64_t helped = helped_in(crew_of(workers, round), [s = &seen, m = &two](cx c) -> task<> {
        const std::thread::id here = std::this_thread::get_id();
        parallel(c, [s, m, here](pieces& p) {
          p.both([m] { m->attend(); },
                 [s, m, here] {
                   if (std::this_thread::get_id() != here) s->elsewhere.fetch_add(1, std::memory_order_relaxed);
                   m->attend();
                 });
        });
        for (int i = 0; i < 3; ++i) {
          const std::uint64_t got = parallel(c, [s](pieces& p) { return watched_fib(p, 13, s); });
          EXPECT_EQ(got, 233U);
          co_await yield();
        }
      });
      EXPECT_EQ(helped, seen.elsewhere.load()) << workers << " workers, round " << round;
      EXPECT_EQ(seen.in_all.load(), 3U * 376U) << "each once";
      EXPECT_EQ(seen.f_elsewhere.load(), 0U) << "f is called by whoever calls both";
      EXPECT_TRUE(workers == 1 ? helped == 0 : helped != 0) << workers << " workers";
    }
  }
}

TEST(workers_parallel_stress, a_single_worker_calls_f_before_g) {
  const std::uint64_t helped = helped_in({.workers = 1}, [](cx c) -> task<> {
    std::string order;
    parallel(c, [&order](pieces& p) {
      for (int i = 0; i < 100; ++i) p.both([&order] { order += 'f'; }, [&order] { order += 'g'; });
    });
    std::string expected;
    for (int i = 0; i < 100; ++i) expected += "fg";
    EXPECT_EQ(order, expected);
    co_return;
  });
  EXPECT_EQ(helped, 0U);
}

// It may be asked by anybody, at any moment, and only rises.
TEST(workers_parallel_stress, pieces_helped_is_read_by_any_thread_while_it_runs) {
  threaded_runtime rt({.workers = 4}, config_of(journal_mode::off));
  const hang_guard guard(rt);
  std::atomic<bool> is_over{false};
  std::thread reader([&] {
    std::uint64_t last = 0;
    while (!is_over.load()) {  // asx: bounded by the run
      const std::uint64_t now = rt.pieces_helped();
      EXPECT_GE(now, last);
      last = now;
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {},
                       [](cx c) -> task<> {
                         for (int k = 0; k < 10; ++k) {
                           EXPECT_EQ(parallel(c, [](pieces& p) { return fib(p, 12); }), 144U);
                           co_await yield();
                         }
                       })
                  .code,
              status::ok);
  }
  EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  is_over = true;
  reader.join();
  expect_end(rt, "read");
}

// ---- more pieces than a worker puts aside ---------------------------------------------------------------------------

/// f goes deeper, g is the rest: `called(level)` by each g, `at_the_bottom()` by the last f.
template <class Called, class Bottom>
void leans_left(pieces& p, std::size_t level, std::size_t depth, Called& called, Bottom& at_the_bottom) {
  if (level == depth) return at_the_bottom();
  p.both([&, level](pieces& in) { leans_left(in, level + 1, depth, called, at_the_bottom); },
         [&, level] { called(level); });
}

TEST(workers_parallel_stress, a_chain_deeper_than_what_is_put_aside_is_called_once) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    std::vector<counter> calls(300 + 100 * static_cast<std::size_t>(round % 8));
    const auto called = [&calls, round](std::size_t level) {
      toil((level + round) % 64);
      calls[level].fetch_add(1, std::memory_order_relaxed);
    };
    const auto nothing = [] {};
    parallel(c, [&](pieces& p) { leans_left(p, 0, calls.size(), called, nothing); });
    for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i].load(), 1U) << "level " << i;
    co_return;
  });
}

// The other worker is kept away until the chain is at its bottom: what found no room is not there for it.
TEST(workers_parallel_stress, of_a_thousand_pieces_256_are_put_aside_and_the_oldest_goes_first) {
  const std::uint64_t most = rounds(4);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    constexpr std::size_t depth = 1'000;
    std::vector<std::thread::id> by(depth);
    std::thread::id forker;
    counter is_kept{0};
    counter may_go{0};
    counter helped_below{0};
    helped_in(crew_of(2, round), [&](cx c) -> task<> {
      struct scene {
        std::vector<std::thread::id>* by;
        counter *is_kept, *may_go, *helped_below;
      } s{&by, &is_kept, &may_go, &helped_below};
      auto keeper = co_await start(
          c,
          [](cx, scene* at) -> task<> {
            at->is_kept->store(1);
            EXPECT_TRUE(wait_until([at] { return at->may_go->load() != 0; }));
            co_return;
          },
          &s);
      bool is_kept_away = false;
      const deadline late;
      while (!is_kept_away && !late.is_over()) {  // asx: bounded by 30 s
        is_kept_away = s.is_kept->load() != 0;
        if (!is_kept_away) co_await yield();
      }
      EXPECT_TRUE(is_kept_away);
      forker = std::this_thread::get_id();
      const auto called = [&s, here = forker](std::size_t level) {
        (*s.by)[level] = std::this_thread::get_id();
        if (std::this_thread::get_id() != here) s.helped_below->fetch_add(1);
      };
      const auto waits_for_help = [&s] {
        s.may_go->store(1);
        EXPECT_TRUE(wait_until([&s] { return s.helped_below->load() != 0; })) << "nobody came to help";
      };
      parallel(c, [&](pieces& p) { leans_left(p, 0, depth, called, waits_for_help); });
      co_await join(keeper);
    });
    EXPECT_NE(by[0], forker) << "the oldest of them is taken first";
    for (std::size_t i = 256; i < depth; ++i) EXPECT_EQ(by[i], forker) << "level " << i << " found no room";
    for (std::size_t i = 1; i < 256; ++i) {
      EXPECT_TRUE(by[i] == forker || by[i - 1] != forker) << "level " << i << " was taken before an older one";
    }
  }
}

// ---- beside tasks ---------------------------------------------------------------------------------------------------

TEST(workers_parallel_stress, tasks_that_compute_and_tasks_that_talk_end_and_lose_nothing) {
  play_rounds(10, [](cx c, std::uint64_t round) -> task<> {
    auto ends = channel<std::uint64_t>(c, 3);
    EXPECT_EQ(ends.code, status::ok);
    auto sum = co_await start(
        c,
        [](cx, receiver<std::uint64_t> from) -> task<std::uint64_t> {
          std::uint64_t all = 0;
          while (const auto m = co_await recv(from)) all += *m;
          co_return all;
        },
        moved(ends.rx));
    co_await region(c, [tx = &ends.tx, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 4; ++i) {  // They compute, and send what they have.
        co_await start(
            r,
            [](cx in, sender<std::uint64_t> to, std::uint64_t n) -> task<> {
              for (std::uint64_t k = 0; k < 4; ++k) {
                const std::uint64_t got =
                    parallel(in, [n, k](pieces& p) { return fib(p, static_cast<unsigned>(6 + (n + k) % 6)); });
                EXPECT_EQ(got, plain_fib(static_cast<unsigned>(6 + (n + k) % 6)));
                co_await send(to, got);
              }
            },
            *tx, round + i);
      }
      for (std::uint64_t i = 0; i < 6; ++i) {  // They only talk.
        co_await start(
            r,
            [](cx, sender<std::uint64_t> to, std::uint64_t n) -> task<> {
              for (std::uint64_t k = 0; k < 10; ++k) {
                co_await send(to, k + n);
                if (k % 4 == 3) co_await sleep(duration::microseconds(20));
              }
            },
            *tx, i);
      }
    });
    ends.tx.drop();
    std::uint64_t expected = 6 * 45 + 10 * 15;
    for (std::uint64_t i = 0; i < 4; ++i) {
      for (std::uint64_t k = 0; k < 4; ++k) expected += plain_fib(static_cast<unsigned>(6 + (round + i + k) % 6));
    }
    const auto got = co_await join(sum);
    EXPECT_TRUE(got.is_ok() && got.value() == expected) << "what was sent has come";
  });
}

// Computes, without an end of its own, until the others are over.
struct overtime {
  counter over{0};
  std::uint64_t others = 0;

  [[nodiscard]] bool are_over() const { return over.load() >= others; }
  void compute(cx c) {
    parallel(c, [this](pieces& p) {
      const deadline late;
      while (!are_over() && !late.is_over()) {  // asx: bounded by 30 s
        p.each(16, 1, [](std::size_t) { toil(200); });
      }
    });
    EXPECT_TRUE(are_over()) << over.load() << " of " << others << " tasks ended while others helped";
  }
};

// they stand behind the task that computes, and whoever helps it goes back to them.
TEST(workers_parallel_stress, tasks_that_are_queued_while_others_help_are_polled) {
  play_rounds(8,
              [](cx c, std::uint64_t round) -> task<> {
                overtime all;
                all.others = 8;
                co_await region(c, [o = &all, round](cx r) -> task<> {
                  for (std::uint64_t i = 0; i < o->others; ++i) {
                    co_await start(
                        r,
                        [](cx, overtime* of, std::uint64_t n) -> task<> {
                          for (std::uint64_t k = 0; k < 5; ++k) {
                            if ((k + n) % 3 == 0) co_await sleep(duration::microseconds(50 * n));
                            co_await yield();
                          }
                          of->over.fetch_add(1);
                        },
                        o, i + round);
                  }
                  o->compute(r);
                  co_return;
                });
              },
              journal_mode::off, {2, 4});
}

// there are pieces for fifty milliseconds, all the time, and whoever calls them is back after one or two.
TEST(workers_parallel_stress, who_helps_goes_back_to_tasks_though_pieces_are_left) {
  const std::uint64_t most = rounds(4);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    constexpr std::size_t pieces_in_all = 250;
    struct scene {
      counter called{0};
      counter is_over{0};
      std::uint64_t called_before = 0;
    } all;
    helped_in(crew_of(2, round), [s = &all](cx c) -> task<> {
      auto child = co_await start(
          c,
          [](cx, scene* at) -> task<> {
            for (int i = 0; i < 5; ++i) co_await yield();
            at->called_before = at->called.load();
            at->is_over.store(1);
          },
          s);
      const auto called = [s](std::size_t) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
        while (s->is_over.load() == 0 && std::chrono::steady_clock::now() < until) {  // asx: bounded by 200 us
        }
        s->called.fetch_add(1);
      };
      const auto waits = [s] { EXPECT_TRUE(wait_until([s] { return s->is_over.load() != 0; })) << "nobody polls"; };
      parallel(c, [&](pieces& p) { leans_left(p, 0, pieces_in_all, called, waits); });
      co_await join(child);
    });
    EXPECT_LT(all.called_before, pieces_in_all)
        << "round " << round << ": as long as there were pieces, no task was polled";
    EXPECT_EQ(all.called.load(), pieces_in_all);
  }
}

// while it helps, what stands behind a worker is another one's.
TEST(workers_parallel_stress, tasks_of_workers_that_are_held_by_pieces_are_polled_by_others) {
  play_rounds(6,
              [](cx c, std::uint64_t) -> task<> {
                struct scene {
                  counter ticks{0};
                  counter is_begun{0};
                  counter is_over{0};
                  meeting both{2};
                } all;
                constexpr std::uint64_t tickers = 8;
                co_await region(c, [s = &all](cx r) -> task<> {
                  for (std::uint64_t i = 0; i < tickers; ++i) {
                    co_await start(
                        r,
                        [](cx, scene* at, std::uint64_t n) -> task<> {
                          for (std::uint64_t k = 0; k < 12; ++k) {  // Here and there, before the pieces begin.
                            toil(300);
                            co_await yield();
                          }
                          at->is_begun.fetch_add(1);
                          while (at->is_over.load() == 0) {
                            co_await sleep(duration::microseconds(100 + 30 * n));
                            at->ticks.fetch_add(1);
                          }
                        },
                        s, i);
                  }
                  while (s->is_begun.load() < tickers) co_await yield();
                  parallel(r, [s](pieces& p) {
                    const auto holds = [s] {
                      s->both.attend();
                      const std::uint64_t enough = s->ticks.load() + 5 * tickers;
                      EXPECT_TRUE(wait_until([s, enough] { return s->ticks.load() >= enough; }))
                          << enough - s->ticks.load() << " ticks are missing while two workers are held";
                    };
                    p.both(holds, holds);
                  });
                  s->is_over.store(1);
                });
                EXPECT_TRUE(all.both.has_met) << "nobody came to help";
              },
              journal_mode::off, {3, 4});
}

// what comes from outside is heard while workers compute.
TEST(workers_parallel_stress, values_from_other_threads_come_while_workers_help) {
  play_rounds(6,
              [](cx c, std::uint64_t) -> task<> {
                overtime all;
                all.others = 2;
                std::array<std::vector<std::thread>, 2> threads;
                co_await region(c, [o = &all, t = &threads](cx r) -> task<> {
                  for (auto& mine : *t) {
                    co_await start(
                        r,
                        [](cx in, overtime* of, std::vector<std::thread>* from) -> task<> {
                          for (int k = 0; k < 5; ++k) {
                            auto made = foreign_value<int>(in);
                            EXPECT_EQ(made.code, status::ok);
                            from->emplace_back([p = std::move(made.promise), k]() mutable { p.set(k); });
                            const int got = co_await std::move(made.future);
                            EXPECT_EQ(got, k);
                          }
                          of->over.fetch_add(1);
                        },
                        o, &mine);
                  }
                  o->compute(r);
                  co_return;
                });
                for (auto& mine : threads) {
                  for (std::thread& one : mine) one.join();
                }
              },
              journal_mode::off, {2, 4});
}

TEST(workers_parallel_stress, many_short_calls_of_many_tasks_are_each_over_when_they_return) {
  play_rounds(3, [](cx c, std::uint64_t) -> task<> {
    co_await region(c, [](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 4; ++i) {
        co_await start(
            r,
            [](cx in, std::uint64_t n) -> task<> {
              for (std::uint64_t k = 0; k < 500; ++k) {
                const auto two = parallel(in, [&](pieces& p) {
                  return p.both([&] { return n + k; }, [&](pieces&) { return std::vector<std::uint64_t>{n, k}; });
                });
                EXPECT_EQ(two.first, n + k);
                EXPECT_EQ(two.second, (std::vector<std::uint64_t>{n, k}));
                if (k % 16 == n) co_await yield();
              }
            },
            i);
      }
    });
  });
}

// In virtual time it stands while somebody computes, however many help.
TEST(workers_parallel_stress, virtual_time_stands_while_pieces_are_computed) {  // U-02, R-334
  const std::uint64_t most = rounds(6);
  for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
    threads_config how = crew_of(4, round);
    how.is_virtual = true;
    meeting two(2);
    helped_in(how, [m = &two](cx c) -> task<> {
      co_await region(c, [m](cx r) -> task<> {
        for (std::uint64_t i = 0; i < 4; ++i) {
          co_await start(
              r,
              [](cx in, std::uint64_t n) -> task<> {
                const instant begun = in.now();
                co_await sleep(duration::microseconds(10 + n));
                EXPECT_EQ(in.now(), begun + duration::microseconds(10 + n));
              },
              i);
        }
        const instant before = r.now();
        parallel(r, [m](pieces& p) {
          p.both([m] { m->attend(); }, [m] { m->attend(); });
          p.each(200, 1, [](std::size_t) { toil(50); });
        });
        EXPECT_EQ(r.now(), before);
        co_return;
      });
    });
    EXPECT_TRUE(two.has_met) << "nobody came to help";
  }
}

// ---- exceptions -----------------------------------------------------------------------------------------------------

struct of_leaf : std::runtime_error {
  of_leaf(std::size_t leaf, counter* of)
      : std::runtime_error("leaf " + std::to_string(leaf)), number(leaf), here(leaf, of) {}
  of_leaf(const of_leaf& other) : std::runtime_error(other), number(other.number), here(0, nullptr) {}
  of_leaf& operator=(const of_leaf&) = delete;
  std::size_t number;
  token here;  // The one that was made counts, and copies do not.
};

// both are under way at once, on two workers.
TEST(workers_parallel_stress, what_a_stolen_piece_throws_comes_out_of_its_both) {
  for (const std::uint32_t workers : {2U, 4U}) {
    const std::uint64_t most = rounds(8);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      for (unsigned who = 0; who < 4; ++who) {
        meeting two(2);
        counter alive{0};
        helped_in(crew_of(workers, round), [m = &two, a = &alive, who](cx c) -> task<> {
          std::string out = "nothing";
          try {
            const auto got = parallel(c, [m, a, who](pieces& p) {
              const auto piece = [m, a, who](unsigned number) {
                return [m, a, throws = (who >> number & 1U) != 0, number] {
                  const token in_the_frame(number, a);
                  m->attend();
                  if (throws) throw of_leaf(number, a);
                  return token(number, a);
                };
              };
              return p.both(piece(0), piece(1));
            });
            EXPECT_EQ(got.first.number(), 0U);
            EXPECT_EQ(got.second.number(), 1U);
            EXPECT_EQ(a->load(), 2U);
          } catch (const of_leaf& e) {
            out = e.what();
            EXPECT_EQ(a->load(), 1U) << "the exception itself; what the other one returned or threw is gone";
          }
          EXPECT_EQ(out, who == 0 ? "nothing" : who == 2 ? "leaf 1" : "leaf 0");
          co_return;
        });
        EXPECT_TRUE(two.has_met) << "nobody came to help";
        EXPECT_EQ(alive.load(), 0U);
      }
    }
  }
}

struct leaves {
  std::vector<counter> calls;
  std::vector<bool> throws;
  counter alive{0};
  leaves(std::size_t n, std::uint64_t seed, std::uint64_t one_of) : calls(n), throws(n) {
    splitmix64 draws(seed);
    for (std::size_t i = 0; i < n; ++i) throws[i] = draws.next() % one_of == 0;
  }
  token call(pieces& p, std::size_t first, std::size_t last) {
    const token in_the_frame(first, &alive);
    if (last - first == 1) {
      toil(first % 32);
      calls[first].fetch_add(1, std::memory_order_relaxed);
      if (throws[first]) throw of_leaf(first, &alive);
      return {first, &alive};
    }
    const std::size_t middle = first + (last - first) / 2;
    const auto two = p.both([this, first, middle](pieces& in) { return call(in, first, middle); },
                            [this, middle, last](pieces& in) { return call(in, middle, last); });
    return {two.first.number() + two.second.number(), &alive};
  }
};

TEST(workers_parallel_stress, of_a_tree_that_throws_here_and_there_the_leftmost_comes_out) {
  play_rounds(16, [](cx c, std::uint64_t round) -> task<> {
    for (std::uint64_t i = 0; i < 3; ++i) {
      leaves all(40 + static_cast<std::size_t>(round), round * 3 + i, 4 + 40 * i);
      const std::size_t n = all.calls.size();
      std::size_t leftmost = 0;
      while (leftmost < n && !all.throws[leftmost]) ++leftmost;  // asx: bounded by n
      std::size_t out = n;
      try {
        const token sum = parallel(c, [&all, n](pieces& p) { return all.call(p, 0, n); });
        EXPECT_EQ(sum.number(), n * (n - 1) / 2);
      } catch (const of_leaf& e) {
        out = e.number;
      }
      EXPECT_EQ(out, leftmost);
      EXPECT_EQ(all.alive.load(), 0U);
      for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(all.calls[k].load(), 1U) << "leaf " << k;
      co_await yield();
    }
  });
}

TEST(workers_parallel_stress, what_leaves_the_poll_is_the_panic_of_its_task_and_of_no_other) {  // R-331, U-14
  play_rounds(8, [](cx c, std::uint64_t round) -> task<> {
    std::vector<join_handle<void>> all;
    co_await region(c, {.policy = region_policy::body_decides}, [to = &all, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 6; ++i) {
        to->push_back(co_await start(
            r,
            [](cx in, std::uint64_t n) -> task<> {
              parallel(in, [n](pieces& p) {
                p.each(24, 1, [n](std::size_t k) {
                  toil(100);
                  if (n % 2 == 0 && k % 7 == 5)
                    throw std::runtime_error(std::to_string(n) + " at " + std::to_string(k));
                });
              });
              co_return;
            },
            round + i));
      }
    });
    for (std::uint64_t i = 0; i < 6; ++i) {
      const auto how = co_await join(all[static_cast<std::size_t>(i)]);
      EXPECT_EQ(how.is_panicked(), (round + i) % 2 == 0);
      const std::string text = how.is_panicked() ? std::string(how.panic().text) : std::string();
      EXPECT_NE(text.find((round + i) % 2 == 0 ? std::to_string(round + i) + " at 5" : ""), std::string::npos) << text;
    }
  });
}

// ---- cancel ---------------------------------------------------------------------------------------------------------

// another task, on another worker, asks; every piece hears it, that of f and that of g. Of two workers one must
// be left to poll whoever asks.
TEST(workers_parallel_stress, a_piece_hears_that_another_task_has_asked_to_cancel) {
  for (const std::uint32_t workers : {2U, 4U}) {
    play_rounds(6,
                [workers](cx c, std::uint64_t round) -> task<> {
                  struct scene {
                    std::uint64_t expected;
                    bool is_masked;
                    counter begun{0};
                    counter heard{0};
                  } all{.expected = workers == 2 ? 1U : 2U, .is_masked = round % 2 == 1};
                  auto victim = co_await start(
                      c,
                      [](cx in, scene* s) -> task<> {
                        EXPECT_TRUE(!s->is_masked || in.mask_enter() == status::ok);
                        parallel(in, [s](pieces& p) {
                          EXPECT_FALSE(p.is_stopped()) << "nobody has asked yet";
                          const auto waits = [s](pieces& mine) {
                            s->begun.fetch_add(1);
                            if (wait_until([&mine] { return mine.is_stopped(); })) s->heard.fetch_add(1);
                          };
                          const auto nothing = [](pieces&) {};
                          s->expected == 1 ? p.both(waits, nothing) : p.both(waits, waits);
                          EXPECT_TRUE(p.is_stopped());
                        });
                        if (s->is_masked) in.mask_leave();
                        EXPECT_EQ(in.checkpoint(), status::cancelled) << "the next cancel point sees it";
                        co_return;
                      },
                      &all);
                  while (all.begun.load() == 0) co_await yield();
                  EXPECT_EQ(victim.cancel(), status::ok);
                  const auto how = co_await join(victim);
                  EXPECT_TRUE(how.is_cancelled()) << static_cast<int>(how.kind());
                  EXPECT_EQ(all.heard.load(), all.expected);
                },
                journal_mode::digest_only, {workers});
  }
}

// the same from a thread that is no worker. Pieces that begin after that hear it at once.
TEST(workers_parallel_stress, a_piece_hears_that_another_thread_has_asked_to_cancel) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    const std::uint64_t most = rounds(6);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::off));
      const hang_guard guard(rt);
      counter begun{0};
      counter heard{0};
      auto victim = spawn_in(
          rt->kernel(), rt->root(), {},
          [](cx in, counter* b, counter* h, std::uint32_t n) -> task<> {
            parallel(in, [b, h, n](pieces& p) {
              const auto waits = [b, h](pieces& mine) {
                b->fetch_add(1);
                if (wait_until([&mine] { return mine.is_stopped(); })) h->fetch_add(1);
              };
              const std::function<void(pieces&, std::uint32_t)> spread = [&](pieces& mine, std::uint32_t left) {
                if (left == 1) return waits(mine);
                mine.both([&](pieces& f) { spread(f, left / 2); }, [&](pieces& g) { spread(g, left - left / 2); });
              };
              spread(p, n);
            });
            co_return;
          },
          &begun, &heard, workers);
      ASSERT_EQ(victim.code, status::ok);
      std::thread other([&] {
        EXPECT_TRUE(wait_until([&] { return begun.load() >= std::min(workers, 2U); })) << begun.load() << " begun";
        EXPECT_EQ(victim.handle.cancel(), status::ok);
      });
      EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      other.join();
      EXPECT_EQ(heard.load(), workers);
      victim.handle.drop();
      expect_end(rt, std::to_string(workers) + " workers, round " + std::to_string(round));
    }
  }
}

// ---- ends -----------------------------------------------------------------------------------------------------------

task<> computes_until_stopped(cx c, counter* wrong) {
  while (c.checkpoint() == status::ok) {
    const std::uint64_t got = parallel(c, [](pieces& p) { return fib(p, 9); });
    if (got != 34) wrong->fetch_add(1);
    co_await yield();
  }
}

TEST(workers_parallel_stress, a_shutdown_while_tasks_compute_ends_them_and_leaves_nobody) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    const std::uint64_t most = rounds(6);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter wrong{0};
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::digest_only, round));
      const hang_guard guard(rt);
      for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {}, computes_until_stopped, &wrong).code, status::ok);
      }
      if (round % 3 != 0) {
        EXPECT_EQ(rt->run_until_quiescent(40).ended, status::step_limit);
      }
      expect_end(rt, std::to_string(workers) + " workers, round " + std::to_string(round),
                 round % 2 == 0 ? duration{} : duration::milliseconds(2));
      EXPECT_EQ(wrong.load(), 0U);
    }
  }
}

TEST(workers_parallel_stress, a_runtime_goes_right_after_its_last_piece) {
  for (const std::uint32_t workers : {2U, 4U}) {
    const std::uint64_t most = rounds(12);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter calls{0};
      {
        threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::off));
        const auto computes = [](cx c, counter* of) -> task<> {
          parallel(c, [of](pieces& p) { p.each(40, 1, [of](std::size_t) { of->fetch_add(1); }); });
          co_return;
        };
        ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {}, computes, &calls).code, status::ok);
        if (round % 2 == 0) {
          EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
        }
      }  // Its destructor shuts down.
      EXPECT_TRUE(calls.load() == 40 || (round % 2 == 1 && calls.load() == 0)) << calls.load();
    }
  }
}

// A piece calls nothing of its runtime; another one is no concern of it.
TEST(workers_parallel_stress, a_piece_runs_a_runtime_of_its_own) {
  play_rounds(2, [](cx c, std::uint64_t round) -> task<> {
    const auto alone = [](std::uint64_t workers) {
      std::uint64_t got = 0;
      const auto computes = [](cx in, std::uint64_t* out) -> task<> {
        co_await yield();
        *out = parallel(in, [](pieces& p) { return fib(p, 8); });
      };
      if (workers == 0) {
        runtime rt;
        EXPECT_EQ(spawn_in(rt.kernel(), rt.root(), {}, computes, &got).code, status::ok);
        EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
      } else {
        threaded_runtime rt({.workers = static_cast<std::uint32_t>(workers)}, config_of(journal_mode::off));
        EXPECT_EQ(spawn_in(rt->kernel(), rt->root(), {}, computes, &got).code, status::ok);
        EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      }
      return got;
    };
    const std::uint64_t sum = parallel(c, [&alone, round](pieces& p) {
      return p.reduce(6, 1, std::uint64_t{0}, [&](std::size_t i) { return alone((i + round) % 3); }, std::plus<>());
    });
    EXPECT_EQ(sum, 6U * 21U);
    co_return;
  });
}

// ---- recorded runs --------------------------------------------------------------------------------------------------

// What is looked at past asx, and decides nothing.
struct onlookers {
  meeting* both = nullptr;  // While it is recorded: somebody helps.
  counter turned{0};        // How often g was called before f was over.
};

task<> computes_and_talks(cx c, sender<std::uint64_t> to, std::uint64_t number, onlookers* seen) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t got = parallel(c, [=](pieces& p) {
      counter f_is_over{0};
      p.both([&] { f_is_over.store(1); },
             [&] { seen->turned.fetch_add(f_is_over.load() == 0 ? 1 : 0, std::memory_order_relaxed); });
      if (seen->both != nullptr && number == 0 && i == 1) {
        p.both([=] { seen->both->attend(); }, [=] { seen->both->attend(); });
      }
      return p.reduce(
          30, 2, number, [](std::size_t k) { return toil(60), static_cast<std::uint64_t>(k); },
          [](std::uint64_t a, std::uint64_t b) { return a * 31 + b; });
    });
    co_await send(to, got);
    if (c.now().ns / 1'000 % 2 == 0) co_await yield();  // An input: a replay is told the same.
    if ((number + i) % 3 == 0) co_await sleep(duration::microseconds(20 * number));
  }
}

std::function<void(runtime&)> recorded_program(std::uint64_t round, onlookers* seen) {
  return [round, seen](runtime& rt) {
    auto first = spawn_in(
        rt.kernel(), rt.root(), {.name = "first"},
        [](cx c, std::uint64_t n, onlookers* of) -> task<std::uint64_t> {
          auto ends = channel<std::uint64_t>(c, 2);
          EXPECT_EQ(ends.code, status::ok);
          auto sum = co_await start(
              c,
              [](cx, receiver<std::uint64_t> from) -> task<std::uint64_t> {
                std::uint64_t all = 0;
                while (const auto m = co_await recv(from)) all = all * 7 + *m;  // The order counts.
                co_return all;
              },
              moved(ends.rx));
          static_cast<void>(co_await attempt(
              with_timeout(c, duration::milliseconds(n % 4 == 3 ? 2 : 60'000), [tx = &ends.tx, of](cx in) -> task<> {
                co_await region(in, [tx, of](cx r) -> task<> {
                  for (std::uint64_t i = 0; i < 5; ++i) co_await start(r, computes_and_talks, *tx, i, of);
                });
              })));
          ends.tx.drop();
          const auto got = co_await join(sum);
          co_return got.is_ok() ? got.value() : 0;
        },
        round, seen);
    EXPECT_EQ(first.code, status::ok);
    EXPECT_EQ(rt.run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_TRUE(first.handle.is_done());
    first.handle.drop();
    EXPECT_TRUE(rt.shutdown({}, UINT64_MAX).is_quiescent());
  };
}

runtime_config config_for(std::uint64_t seed) {
  runtime_config config = config_of(journal_mode::full, seed);
  config.contract.max_trace_events = 256;  // What is compared goes to a list.
  return config;
}

TEST(workers_parallel_stress, a_recorded_run_with_pieces_is_played_again_by_threads_and_by_one) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    const std::uint64_t most = rounds(8);
    for (std::uint64_t round = 1; round <= most && !HasFailure(); ++round) {
      const std::string where = std::to_string(workers) + " workers, round " + std::to_string(round);
      entry_order order;
      live_recording journal;
      digest128 digest{};
      threads_config how = crew_of(workers, round);
      how.is_virtual = round % 3 == 0;
      how.record = &order;
      {
        meeting two(2);
        onlookers there{.both = workers == 1 || round % 4 == 3 ? nullptr : &two};
        runtime_config config = config_for(round);
        config.sink = {&journal, [](void* self, std::span<const event> batch) noexcept {
                         for (const event& e : batch) {
                           if (e.semantic()) static_cast<live_recording*>(self)->events.push_back(e);
                         }
                       }};
        threaded_runtime rt(how, config);
        ASSERT_EQ(rt.start_status(), status::ok);
        const hang_guard guard(rt);
        recorded_program(round, &there)(*rt);
        digest = rt->journal().digest();
        if (there.both != nullptr) {
          EXPECT_TRUE(two.has_met) << where << ": nobody has found the pieces";
          EXPECT_GE(rt.pieces_helped(), 1U) << where;
        }
      }
      ASSERT_TRUE(order.is_complete()) << where;
      entry_order kept;  // As from a file.
      ASSERT_EQ(entry_order::load(order.save(), kept), status::ok);
      how.record = nullptr;
      how.replay = &kept;
      for (const bool is_on_one_thread : {false, true}) {
        how.is_on_one_thread = is_on_one_thread;
        how.stack_bytes = is_on_one_thread ? std::size_t{512} << 10 : 0;
        onlookers here{};
        threaded_runtime rt(how, config_for(round));
        ASSERT_EQ(rt.start_status(), status::ok);
        const hang_guard guard(rt);
        recorded_program(round, &here)(*rt);
        EXPECT_EQ(rt->journal().digest(), digest) << where << (is_on_one_thread ? ", on one thread" : ", on threads");
        if (is_on_one_thread) {
          EXPECT_EQ(rt.pieces_helped(), 0U) << where << ": workers take turns";
          EXPECT_EQ(here.turned.load(), 0U) << where << ": f goes first";
        }
      }
      onlookers here{};
      const workers_replay again = replay_workers(kept, config_for(round), recorded_program(round, &here),
                                                  {.journal = &journal, .stack_bytes = std::size_t{512} << 10});
      EXPECT_TRUE(again.is_same()) << where << "\n" << again.report();
      EXPECT_EQ(again.digest, digest) << where;
    }
  }
}

// nobody is woken for them, and one of those who sleep looks around.
TEST(workers_parallel_stress, in_a_recorded_run_who_sleeps_finds_pieces_when_it_looks_around) {
  for (const std::uint32_t workers : {2U, 4U}) {
    const std::uint64_t most = rounds(6);
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      entry_order order;
      threads_config how = crew_of(workers, round);
      how.record = &order;
      meeting two(2);
      const std::uint64_t helped = helped_in(how, [m = &two, round](cx c) -> task<> {
        if (round % 3 != 0) co_await sleep(duration::milliseconds(2));  // Now everybody sleeps.
        parallel(c, [m](pieces& p) { p.both([m] { m->attend(); }, [m] { m->attend(); }); });
      });
      EXPECT_TRUE(two.has_met) << "nobody has looked around, " << workers << " workers, round " << round;
      EXPECT_EQ(helped, 1U);
      EXPECT_TRUE(order.is_complete());
    }
  }
}

// the same program without its pieces has the same journal, in virtual time on one worker that threads drive.
TEST(workers_parallel_stress, pieces_are_told_to_nobody) {
  const auto digest_of = [](bool by_pieces, std::uint64_t round) {
    threaded_runtime rt({.workers = 1, .is_virtual = true}, config_of(journal_mode::digest_only, round));
    const auto computes = [](cx c, bool in_pieces, std::uint64_t n) -> task<> {
      for (unsigned i = 0; i < 6; ++i) {
        const auto k = static_cast<unsigned>(i + n % 3);
        const std::uint64_t got = in_pieces ? parallel(c, [k](pieces& p) { return fib(p, k); }) : plain_fib(k);
        co_await sleep(duration::microseconds(got * 5 + n));
      }
    };
    for (std::uint64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(spawn_in(rt->kernel(), rt->root(), {}, computes, by_pieces, i + round).code, status::ok);
    }
    const std::uint64_t steps = rt->run_until_quiescent(UINT64_MAX).steps;
    expect_end(rt, "told");
    return std::pair(rt->journal().digest(), steps);
  };
  for (std::uint64_t round = 0; round < rounds(10); ++round) {
    EXPECT_EQ(digest_of(true, round), digest_of(false, round)) << "round " << round;
  }
}

}  // namespace
}  // namespace asx::stress
