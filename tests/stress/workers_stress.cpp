// Many workers on one runtime: regions, cancels, timers, limits and ends mean what they mean on one thread, and nothing
// is lost or left behind. Run it under the thread and the address sanitizer as well. ASX_STRESS_ROUNDS makes it longer.
#include "tests/stress/workers.hpp"

#include <array>
#include <optional>
#include <set>
#include <vector>

namespace asx::stress {
namespace {

// Counts who is alive, in frames that end by every path.
class present {
 public:
  explicit present(counter& of) noexcept : of_(&of) { of.fetch_add(1, std::memory_order_relaxed); }
  present(const present&) = delete;
  present& operator=(const present&) = delete;
  ~present() { of_->fetch_sub(1, std::memory_order_relaxed); }

 private:
  counter* of_;
};

// So long that another worker comes to help.
void toil(std::uint64_t turns) {
  static counter sink{0};
  for (std::uint64_t i = 0; i < turns; ++i) sink.fetch_add(i, std::memory_order_relaxed);
}

task<> counts(cx, counter* sum, std::uint64_t yields) {
  for (std::uint64_t i = 0; i < yields; ++i) {
    toil(50);
    co_await yield();
  }
  sum->fetch_add(1, std::memory_order_relaxed);
}

TEST(workers_stress, work_is_done_by_more_than_one_worker) {
  std::mutex door;
  std::set<std::thread::id> seen;
  std::atomic<bool> is_shared{false};
  const deadline late;
  threaded_runtime rt({.workers = 4}, config_of(journal_mode::off));
  const hang_guard guard(rt);
  // On until a second one has come: a machine that has other things to do lets it come when it likes.
  const auto busy = [&](cx) -> task<> {
    for (int i = 0; i < 200 || (!is_shared.load() && !late.is_over()); ++i) {
      toil(2'000);
      {
        const std::lock_guard lock(door);
        seen.insert(std::this_thread::get_id());
        if (seen.size() >= 2) is_shared = true;
      }
      co_await yield();
    }
  };
  for (int i = 0; i < 8; ++i) ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {}, busy).code, status::ok);
  ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  EXPECT_GE(seen.size(), 2U);
  EXPECT_LE(seen.size(), 4U);
  expect_end(rt, "busy");
}

// ---- regions --------------------------------------------------------------------------------------------------------

TEST(workers_stress, every_task_of_a_region_tree_ends_before_its_block) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter sum{0};
    co_await region(c, [&sum](cx r) -> task<> {
      for (int i = 0; i < 8; ++i) {
        co_await start(
            r,
            [](cx inner, counter* to) -> task<> {
              co_await region(inner, [to](cx leaf) -> task<> {
                for (std::uint64_t k = 0; k < 8; ++k) co_await start(leaf, counts, to, k % 3);
              });
            },
            &sum);
      }
    });
    EXPECT_EQ(sum.load(), 64U);
  });
}

struct forest {
  counter alive{0};
  counter begun{0};
  counter blocks{0};
};

// A tree that is drawn: blocks in blocks, some of whose children fail, some of which are cancelled from beside.
task<> grow(cx c, forest* f, std::uint64_t seed, std::uint32_t depth) {
  const present here(f->alive);
  f->begun.fetch_add(1, std::memory_order_relaxed);
  splitmix64 draws(seed);
  for (std::uint64_t i = draws.next() % 3; i != 0; --i) co_await yield();
  if (depth == 0) {
    if (draws.next() % 4 == 0) co_await fail(status::invalid_argument);
    co_return;
  }
  f->blocks.fetch_add(1, std::memory_order_relaxed);
  const region_policy policy = draws.next() % 2 == 0 ? region_policy::supervise : region_policy::fail_fast;
  const std::uint64_t sown = draws.next();
  counter below{0};  // In this frame: nobody may touch it once the block is over.
  const auto got = co_await attempt(region(c, {.policy = policy}, [f, sown, depth, &below](cx r) -> task<> {
    std::vector<join_handle<void>> all;
    for (std::uint64_t i = 0; i < 3; ++i) {
      auto one = spawn(
          r,
          [](cx in, forest* of, std::uint64_t drawn, std::uint32_t deep, counter* near_by) -> task<> {
            const present counted(*near_by);
            co_await grow(in, of, drawn, deep);
          },
          f, sown*(i + 3), depth - 1, &below);
      if (one.code != status::ok) break;  // A sister has failed, and the block closes.
      all.push_back(std::move(one.handle));
    }
    if (sown % 3 == 0 && !all.empty()) static_cast<void>(all.front().cancel());
    co_return;
  }));
  EXPECT_EQ(below.load(), 0U) << "a block is over, and a child of it is not";
  EXPECT_FALSE(got.is_panicked());
}

TEST(workers_stress, trees_that_fail_and_are_cancelled_leave_nobody_behind) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    forest f;
    static_cast<void>(co_await attempt(region(c, {.policy = region_policy::supervise}, [&f, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 4; ++i) co_await start(r, grow, &f, round * 7 + i, 3U);
    })));
    EXPECT_EQ(f.alive.load(), 0U);
    EXPECT_GE(f.begun.load(), 4U);
  });
}

// Whoever spawns while the region closes is refused, or its task is cancelled and waited for.
TEST(workers_stress, a_spawn_against_a_close_is_refused_or_waited_for) {
  play_rounds(20, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    counter spawned{0};
    counter ended{0};
    auto& a = alive;
    auto& s = spawned;
    auto& e = ended;
    auto block = co_await start(c, [&a, &s, &e](cx outer) -> task<> {
      co_await region(outer, [&a, &s, &e](cx r) -> task<> {
        for (int i = 0; i < 3; ++i) {
          co_await start(r, [&a, &s, &e](cx self) -> task<> {
            for (;;) {
              auto one = spawn(self, [&a, &e](cx) -> task<> {
                const present here(a);
                const auto got = co_await attempt(yield());
                static_cast<void>(got);
                e.fetch_add(1, std::memory_order_relaxed);
              });
              if (one.code == status::region_not_open) co_return;
              EXPECT_EQ(one.code, status::ok);
              s.fetch_add(1, std::memory_order_relaxed);
              co_await yield();
            }
          });
        }
      });
    });
    for (std::uint64_t i = 0; i < 4 + round % 16; ++i) co_await yield();
    EXPECT_EQ(block.cancel(), status::ok);
    const auto how = co_await join(block);
    EXPECT_TRUE(how.is_cancelled()) << static_cast<int>(how.kind()) << " "
                                    << (how.is_err() ? static_cast<int>(how.error().code) : 0);
    EXPECT_EQ(alive.load(), 0U);
    EXPECT_LE(ended.load(), spawned.load()) << "one that was cancelled before its first poll never began";
  });
}

// ---- cancels --------------------------------------------------------------------------------------------------------

TEST(workers_stress, a_storm_of_cancels_leaves_nobody_behind) {
  play_rounds(
      12,
      [](cx c, std::uint64_t round) -> task<> {
        counter alive{0};
        auto [code, tx, rx] = channel<std::uint64_t>(c, 1);
        EXPECT_EQ(code, status::ok);
        auto& to = tx;
        auto& a = alive;
        std::vector<join_handle<void>> victims;
        for (int v = 0; v < 4; ++v) {
          victims.push_back(co_await start(c, [&to, &a](cx self) -> task<> {
            co_await region(self, [&to, &a](cx r) -> task<> {
              for (std::uint64_t i = 0; i < 8; ++i) {
                co_await start(
                    r,
                    [](cx, sender<std::uint64_t> out, counter* of, std::uint64_t n) -> task<> {
                      const present here(*of);
                      if (n % 2 == 0) co_await sleep(duration::hours(1));
                      for (std::uint64_t k = 0;; ++k) co_await send(out, k);
                    },
                    to, &a, i);
              }
              co_await sleep(duration::hours(1));
            });
          }));
        }
        auto* const all = &victims;
        co_await region(c, [all, round](cx r) -> task<> {  // Several cancel the same, at the same time.
          for (std::uint64_t by = 0; by < 3; ++by) {
            co_await start(r, [all, by, round](cx) -> task<> {
              for (std::uint64_t i = 0; i < (round + by) % 5; ++i) co_await yield();
              for (std::size_t v = 0; v < all->size(); ++v) {
                const status s = (*all)[(v + by) % all->size()].cancel(
                    {by == 0 ? cancel_kind::user : cancel_kind::shutdown, "storm"});
                EXPECT_TRUE(s == status::ok || s == status::stale_handle) << static_cast<int>(s);
              }
            });
          }
        });
        for (auto& v : victims) {
          const auto out = co_await join(v);
          EXPECT_TRUE(out.is_cancelled() || (out.is_err() && out.error().code == status::region_not_open));
        }
        EXPECT_EQ(alive.load(), 0U);
        channel_report report;
        EXPECT_EQ(rx.inspect(report), status::ok);
        EXPECT_EQ(report.reserved, 0U);
        EXPECT_EQ(report.waiters, 0U);
      },
      journal_mode::digest_only);
}

TEST(workers_stress, a_cancel_is_seen_once_asked_for_and_by_whoever_is_asked) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter cleaned{0};
    auto& done = cleaned;
    std::vector<join_handle<void>> all;
    for (std::uint64_t i = 0; i < 16; ++i) {
      all.push_back(co_await start(c, [&done](cx self) -> task<> {
        while (self.checkpoint() == status::ok) co_await yield();
        EXPECT_TRUE(self.is_cancelled());
        done.fetch_add(1, std::memory_order_relaxed);
      }));
    }
    co_await yield();
    for (auto& h : all) EXPECT_EQ(h.cancel(), status::ok);
    std::uint64_t cancelled = 0;
    for (auto& h : all) {
      const auto how = co_await join(h);
      EXPECT_TRUE(how.is_cancelled());
      ++cancelled;
    }
    EXPECT_EQ(cancelled, 16U);
    EXPECT_EQ(cleaned.load(), 16U);
  });
}

// ---- timers and limits ----------------------------------------------------------------------------------------------

TEST(workers_stress, timers_fire_and_are_cancelled_across_workers) {
  play_rounds(8, [](cx c, std::uint64_t) -> task<> {
    counter fired{0};
    auto& f = fired;
    co_await region(c, {.policy = region_policy::body_decides}, [&f](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 32; ++i) {
        co_await start(
            r,
            [](cx self, std::uint64_t n, counter* of) -> task<> {
              for (int k = 0; k < 3; ++k) {
                const instant until = self.now() + duration::microseconds(50 * (n % 7));
                co_await sleep_until(until);
                EXPECT_GE(self.now(), until) << "woken before its time";
                of->fetch_add(1, std::memory_order_relaxed);
              }
            },
            i, &f);
      }
      std::vector<join_handle<void>> sleepers;
      for (std::uint64_t i = 0; i < 16; ++i) {
        sleepers.push_back(co_await start(r, [](cx) -> task<> { co_await sleep(duration::hours(1)); }));
      }
      co_await yield();
      for (auto& s : sleepers) EXPECT_EQ(s.cancel(), status::ok);
      for (auto& s : sleepers) {
        const auto how = co_await join(s);
        EXPECT_TRUE(how.is_cancelled());
      }
    });
    EXPECT_EQ(fired.load(), 96U);
  });
}

task<int> answers_after(cx, duration d, int value) {
  co_await sleep(d);
  co_return value;
}

TEST(workers_stress, limits_in_limits_end_what_is_late_and_nothing_else) {
  play_rounds(6, [](cx c, std::uint64_t) -> task<> {
    counter alive{0};
    auto& a = alive;
    counter late{0};
    auto& l = late;
    co_await region(c, [&a, &l](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 8; ++i) {
        co_await start(
            r,
            [](cx self, counter* of, counter* too_late, std::uint64_t n) -> task<> {
              const auto inner = [of, n](cx in) -> task<int> {
                const present here(*of);
                if (n % 2 == 0) co_return co_await answers_after(in, duration::hours(1), 1);
                const auto got =
                    co_await with_timeout(in, duration::microseconds(200), answers_after, duration::hours(1), 2);
                EXPECT_FALSE(got.has_value()) << "an hour does not pass in a moment";
                co_return 3;
              };
              const auto got = n % 4 < 2 ? co_await with_timeout(self, duration::milliseconds(30), inner)
                                         : co_await within(self, duration::milliseconds(30), inner);
              EXPECT_FALSE(n % 2 == 0 && got.has_value());
              if (!got.has_value()) too_late->fetch_add(1, std::memory_order_relaxed);
              const auto quick = co_await within(self, duration::hours(1), answers_after, duration{}, 4);
              EXPECT_TRUE(quick.has_value() && *quick == 4);
            },
            &a, &l, i);
      }
    });
    EXPECT_EQ(alive.load(), 0U);
    EXPECT_GE(late.load(), 4U);
  });
}

// ---- obligations, finalizers, cleanup -------------------------------------------------------------------------------

struct ledger {
  std::array<std::uint64_t, 4> seen{};  // Reserved, committed, aborted, leaked.
  static void take(void* self, std::span<const event> batch) noexcept {
    auto& of = static_cast<ledger*>(self)->seen;
    for (const event& e : batch) {
      of[0] += e.kind == event_kind::obligation_reserved ? 1U : 0U;
      of[1] += e.kind == event_kind::obligation_committed ? 1U : 0U;
      of[2] += e.kind == event_kind::obligation_aborted ? 1U : 0U;
      of[3] += e.kind == event_kind::obligation_leaked ? 1U : 0U;
    }
  }
};

TEST(workers_stress, obligations_are_kept_given_back_or_leaked_and_all_are_accounted_for) {
  const std::uint64_t most = rounds(10);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most; ++round) {
      ledger seen;
      runtime_config config = config_of(journal_mode::full, round);
      config.contract.max_trace_events = 1024;
      config.sink = {&seen, &ledger::take};
      threaded_runtime rt(crew_of(workers, round), config);
      const hang_guard guard(rt);
      std::array<counter, 3> done{};
      auto first = spawn_in(rt->kernel(), rt->root(), {}, [&done](cx c) -> task<> {
        co_await region(c, {.policy = region_policy::supervise}, [&done](cx r) -> task<> {
          std::vector<join_handle<void>> all;
          for (std::uint64_t i = 0; i < 16; ++i) {
            all.push_back(co_await start(
                r,
                [](cx self, std::array<counter, 3>* of, std::uint64_t n) -> task<> {
                  for (std::uint64_t k = 0; k < 8; ++k) {
                    obligation_handle promised;
                    const status s = self.kernel().reserve(self.region(), promised);
                    if (s == status::region_not_open) co_return;
                    EXPECT_EQ(s, status::ok);
                    co_await yield();  // A cancel here leaves it behind.
                    const std::uint64_t what = (n + k) % 5;
                    if (what < 2) {
                      EXPECT_EQ(self.kernel().commit(promised), status::ok);
                      (*of)[1].fetch_add(1);
                    } else if (what < 4) {
                      EXPECT_EQ(self.kernel().abort(promised), status::ok);
                      (*of)[2].fetch_add(1);
                    }
                    co_await checkpoint();
                  }
                },
                &done, i));
          }
          for (std::size_t i = 0; i < all.size(); i += 3) {
            co_await yield();
            static_cast<void>(all[i].cancel());
          }
        });
      });
      ASSERT_EQ(first.code, status::ok);
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      first.handle.drop();
      expect_rest(rt, "obligations", true);
      expect_end(rt, "obligations");
      rt->journal().settle();
      EXPECT_EQ(seen.seen[0], seen.seen[1] + seen.seen[2] + seen.seen[3]);
      EXPECT_EQ(seen.seen[1], done[1].load());
      EXPECT_EQ(seen.seen[2], done[2].load());
      EXPECT_GT(seen.seen[3], 0U);
    }
  }
}

TEST(workers_stress, finalizers_await_one_after_the_other_when_everybody_else_has_ended) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    std::vector<int> order;  // No lock: they take turns, whoever runs them.
    auto& a = alive;
    auto& o = order;
    auto block = co_await start(c, [&a, &o](cx outer) -> task<> {
      co_await region(outer, [&a, &o](cx r) -> task<> {
        for (int i = 0; i < 4; ++i) {
          co_await finally(
              r,
              [](cx f, counter* of, std::vector<int>* to, int n) -> task<> {
                EXPECT_EQ(of->load(), 0U) << "a finalizer runs before the others have ended";
                co_await sleep(duration::microseconds(10));
                co_await yield();
                EXPECT_FALSE(f.checkpoint() == status::cancelled) << "finalizers run in a mask";
                to->push_back(n);
              },
              &a, &o, i);
        }
        for (int i = 0; i < 8; ++i) {
          co_await start(r, [&a](cx) -> task<> {
            const present here(a);
            for (int k = 0; k < 20; ++k) co_await yield();
            co_await sleep(duration::microseconds(20));
            co_await checkpoint();
          });
        }
      });
    });
    for (std::uint64_t i = 0; i < 2 * (round % 8); ++i) co_await yield();
    if (round % 2 == 0) static_cast<void>(block.cancel());
    static_cast<void>(co_await join(block));
    // The cancel may come before all of them were registered; those that were run, the last first.
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(order.size() - 1 - i));
    EXPECT_TRUE(round % 2 == 0 || order.size() == 4);
  });
}

TEST(workers_stress, a_cleanup_in_a_mask_says_goodbye_to_everybody) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    auto [code, tx, rx] = channel<std::uint64_t>(c, 2);
    EXPECT_EQ(code, status::ok);
    std::vector<join_handle<void>> all;
    for (std::uint64_t i = 0; i < 8; ++i) {
      all.push_back(co_await start(
          c,
          [](cx, sender<std::uint64_t> to, std::uint64_t n) -> task<> {
            const auto got = co_await attempt(sleep(duration::hours(1)));
            EXPECT_EQ(got.code, status::cancelled);
            const auto quiet = co_await mask();
            co_await sleep(duration::microseconds(n * 10));
            co_await send(to, n);
          },
          tx, i));
    }
    tx.drop();
    for (std::uint64_t i = 0; i < 8 + round % 5; ++i) co_await yield();
    for (auto& h : all) EXPECT_EQ(h.cancel(), status::ok);
    std::uint64_t sum = 0;
    std::uint64_t got = 0;
    auto& from = rx;
    while (const auto m = co_await recv(from)) {
      sum += *m;
      ++got;
    }
    // One that was cancelled before its first poll is polled once, too: its sleep answers at once.
    EXPECT_EQ(got, 8U);
    EXPECT_EQ(sum, 28U);
    for (auto& h : all) {
      const auto how = co_await join(h);
      EXPECT_TRUE(how.is_cancelled());
    }
  });
}

// ---- ends -----------------------------------------------------------------------------------------------------------

task<> never_rests(cx c, counter* alive) {
  const present here(*alive);
  for (;;) {
    co_await region(c, [alive](cx r) -> task<> {
      co_await start(
          r,
          [](cx, counter* of) -> task<> {
            const present inner(*of);
            co_await yield();
          },
          alive);
      co_await sleep(duration::microseconds(20));
    });
  }
}

TEST(workers_stress, shutdown_under_load_comes_to_rest) {
  const std::uint64_t most = rounds(10);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter alive{0};
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::digest_only, round));
      const hang_guard guard(rt);
      for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {}, never_rests, &alive).code, status::ok);
      }
      static_cast<void>(rt->run_until_quiescent(100 + 50 * (round % 16)));
      if (round % 3 == 0) {  // By another thread: whoever ends it is worker 0 then.
        std::thread([&] { expect_end(rt, "from another thread"); }).join();
      } else {
        expect_end(rt, "under load", duration::milliseconds(round % 3 == 1 ? 5 : 0));
      }
      EXPECT_EQ(alive.load(), 0U);
    }
  }
}

TEST(workers_stress, a_shutdown_that_is_asked_for_from_outside_ends_the_run) {
  const std::uint64_t most = rounds(6);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter alive{0};
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::off, round));
      const hang_guard guard(rt);
      foreign_handle h;
      auto first = spawn_in(rt->kernel(), rt->root(), {}, never_rests, &alive);
      for (int i = 0; i < 7; ++i) {
        ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {}, never_rests, &alive).code, status::ok);
      }
      ASSERT_EQ(rt->foreign(first.handle.task(), h), status::ok);
      std::thread other([end = std::move(h), round]() mutable {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 7)));
        end.shut_down();
        if (round % 2 == 0) end.shut_down();
      });
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      other.join();
      first.handle.drop();
      expect_end(rt, "from outside");
      EXPECT_EQ(alive.load(), 0U);
    }
  }
}

}  // namespace
}  // namespace asx::stress
