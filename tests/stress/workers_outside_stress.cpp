// Many workers and the world outside: values from other threads, calls that block, plain threads that call in, handles
// that are joined elsewhere, a watchdog, children in combinations. ASX_STRESS_ROUNDS makes it longer.
#include "tests/stress/workers.hpp"

#include <array>
#include <map>
#include <optional>
#include <source_location>
#include <variant>
#include <vector>

namespace asx::stress {
namespace {

// Threads that bring what was left with them, a moment later.
class couriers {
 public:
  template <class F>
  void send(F f) {
    const std::lock_guard lock(door_);
    threads_.emplace_back(std::move(f));
  }
  ~couriers() { join(); }
  void join() {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

 private:
  std::mutex door_;
  std::vector<std::thread> threads_;
};

// ---- values from outside --------------------------------------------------------------------------------------------

TEST(workers_outside_stress, a_value_from_outside_comes_once_or_its_drop_does) {
  const std::uint64_t most = rounds(6);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter alive{0};
      counter came{0};
      counter dropped{0};
      counter late{0};
      couriers others;
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::off, round));
      const hang_guard guard(rt);
      const auto asks = [&](cx c, std::uint64_t n) -> task<> {
        for (std::uint64_t i = 0; i < 6; ++i) {
          auto made = foreign_value<token>(c);
          EXPECT_EQ(made.code, status::ok);
          others.send([p = std::move(made.promise), &alive, keeps = (n + i) % 3 != 0, n]() mutable {
            for (std::uint64_t k = 0; k < n % 4; ++k) std::this_thread::yield();
            if (keeps) p.set(token(n, &alive));
          });
          if ((n + i) % 4 == 0) {  // It may lose, and goes while the other side is on its way.
            const auto got = co_await select(sleep(duration::microseconds(5 * n)), std::move(made.future));
            (got.index() == 0 ? late : came).fetch_add(1);
            continue;
          }
          if ((n + i) % 5 == 0) {
            late.fetch_add(1);
            continue;
          }
          const auto got = co_await attempt(std::move(made.future));
          EXPECT_EQ(got.code, (n + i) % 3 == 0 ? status::disconnected : status::ok);
          (got.code == status::ok ? came : dropped).fetch_add(1);
        }
      };
      // One that ends by its own drop in a select ends its coroutine: those are not counted, so it is asked for here.
      for (std::uint64_t n = 0; n < 8; ++n) {
        ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {}, asks, n).code, status::ok);
      }
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      EXPECT_EQ(rt->kernel().live_tasks(), 0U);
      expect_end(rt, "values");
      others.join();
      EXPECT_LE(came.load() + dropped.load() + late.load(), 48U);
      EXPECT_GT(came.load(), 0U);
      EXPECT_EQ(alive.load(), 0U) << "a value that nobody took was not destroyed";
    }
  }
}

TEST(workers_outside_stress, handles_wake_and_cancel_whoever_they_name) {
  const std::uint64_t most = rounds(6);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter cancelled{0};
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::digest_only, round));
      const hang_guard guard(rt);
      std::vector<join_handle<void>> all;
      std::vector<foreign_handle> names;
      for (int i = 0; i < 16; ++i) {
        auto made = spawn_in(rt->kernel(), rt->root(), {}, [&cancelled](cx) -> task<> {
          const auto got = co_await attempt(sleep(duration::hours(1)));
          EXPECT_EQ(got.code, status::cancelled);
          cancelled.fetch_add(1);
        });
        ASSERT_EQ(made.code, status::ok);
        all.push_back(std::move(made.handle));
        foreign_handle h;
        ASSERT_EQ(rt->foreign(all.back().task(), h), status::ok);
        names.push_back(std::move(h));
      }
      std::array<std::thread, 3> others;
      for (std::size_t t = 0; t < others.size(); ++t) {
        others[t] = std::thread([&names, t] {
          for (std::size_t i = 0; i < names.size(); ++i) {
            names[(i + t) % names.size()].wake();
            if (t != 0) names[(i + t) % names.size()].cancel(t == 1 ? cancel_kind::user : cancel_kind::shutdown);
          }
        });
      }
      std::thread last([&] {
        for (std::thread& t : others) t.join();
        names.clear();
      });
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      last.join();
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      EXPECT_EQ(cancelled.load(), 16U);
      all.clear();
      expect_rest(rt, "handles");
      expect_end(rt, "handles");
    }
  }
}

// ---- calls that block -----------------------------------------------------------------------------------------------

TEST(workers_outside_stress, calls_that_block_answer_their_own_task_and_are_waited_for) {
  blocking_pool pool({.threads = 3, .queue = 1'000});
  const std::uint64_t most = rounds(6);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      counter running{0};
      counter answered{0};
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::off, round));
      const hang_guard guard(rt);
      std::vector<join_handle<void>> all;
      for (std::uint64_t n = 0; n < 12; ++n) {
        auto made = spawn_in(rt->kernel(), rt->root(), {}, [&, n](cx) -> task<> {
          for (std::uint64_t k = 0; k < 5; ++k) {
            std::uint64_t local = n;  // The call writes into the frame.
            const std::uint64_t got = co_await blocking(pool, [&local, &running, k] {
              running.fetch_add(1);
              if (k % 2 == 0) std::this_thread::yield();
              local += k;
              running.fetch_sub(1);
              return local;
            });
            EXPECT_EQ(got, n + k);
            EXPECT_EQ(local, n + k);
            answered.fetch_add(1);
          }
        });
        ASSERT_EQ(made.code, status::ok);
        all.push_back(std::move(made.handle));
      }
      if (round % 2 == 1) static_cast<void>(rt->run_until_quiescent(20 + round));
      if (round % 2 == 1) {
        for (std::size_t i = 0; i < all.size(); i += 2) static_cast<void>(all[i].cancel());
      }
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      EXPECT_EQ(running.load(), 0U) << "a task ended before its call";
      EXPECT_TRUE(round % 2 == 1 || answered.load() == 60U);
      EXPECT_GE(answered.load(), 30U);
      all.clear();
      expect_rest(rt, "calls");
      expect_end(rt, "calls");
    }
  }
}

// ---- plain threads --------------------------------------------------------------------------------------------------

// Who is being polled stands nowhere: its coroutines are its worker's alone.
void expect_well_told(const std::string& list) {
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = list.find('\n', begin);
    const std::string line = list.substr(begin, end - begin);
    const bool is_polled = line.find("being polled") != std::string::npos;
    EXPECT_FALSE(is_polled && line.find(" at ") != std::string::npos) << line;
    begin = end + 1;
  }
}

// Its poll does not end before another thread has looked; what it awaited last is still written in its frames.
TEST(workers_outside_stress, a_list_says_who_is_polled_elsewhere_and_no_place_of_it) {
  threaded_runtime rt({.workers = 2}, config_of(journal_mode::off));
  const hang_guard guard(rt);
  kernel& k = rt->kernel();
  std::atomic<bool> is_in{false};
  std::atomic<bool> was_seen{false};
  const auto dwells = [&](cx) -> task<> {
    co_await yield();
    is_in = true;
    while (!was_seen) std::this_thread::yield();
    co_await yield();
  };
  const auto calls = [&dwells](cx c) -> task<> { co_await dwells(c); };
  std::uint32_t line = 0;
  const auto waits = [&line](cx) -> task<> {
    line = std::source_location::current().line() + 1;
    co_await sleep(duration::hours(1));
  };
  auto patient = spawn_in(k, rt->root(), {.name = "patient"}, waits);
  auto busy = spawn_in(k, rt->root(), {.name = "busy"}, calls);
  ASSERT_EQ(busy.code, status::ok);
  k.take_foreign_hold();
  std::thread looks([&] {
    while (!is_in || await_sites(k, patient.handle.task(), {}) == 0) std::this_thread::yield();
    {
      const inside here(k);
      const std::string list = describe_tasks(k);
      expect_well_told(list);
      EXPECT_NE(list.find("task 2 'busy'  running, being polled  polls 2"), std::string::npos) << list;
      EXPECT_NE(list.find(" at workers_outside_stress.cpp:" + std::to_string(line)), std::string::npos) << list;
      EXPECT_EQ(await_sites(k, busy.handle.task(), {}), 0U);
      EXPECT_EQ(await_sites(k, patient.handle.task(), {}), 1U);
    }
    was_seen = true;
    EXPECT_EQ(patient.handle.cancel(), status::ok);
    k.release_foreign_hold();
  });
  ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  looks.join();
  busy.handle.drop();
  patient.handle.drop();
  expect_end(rt, "a list of who is polled");
}

TEST(workers_outside_stress, plain_threads_send_spawn_cancel_and_look_while_it_runs) {
  const std::uint64_t most = rounds(5);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::digest_only, round));
      const hang_guard guard(rt);
      kernel& k = rt->kernel();
      auto [code, tx, rx] = channel<std::uint64_t>(k, rt->root(), 4);
      ASSERT_EQ(code, status::ok);
      counter got{0};
      counter ended{0};
      auto reader = spawn_in(
          k, rt->root(), {},
          [](cx, receiver<std::uint64_t> from, counter* to) -> task<> {
            while (const auto m = co_await recv(from)) to->fetch_add(*m, std::memory_order_relaxed);
          },
          std::move(rx), &got);
      ASSERT_EQ(reader.code, status::ok);
      k.take_foreign_hold();  // It stays until the last of them has gone.
      std::atomic<int> left{4};
      counter spawned{0};
      const auto leaves = [&] {
        if (left.fetch_sub(1) == 1) k.release_foreign_hold();
      };
      std::vector<std::thread> others;
      for (int s = 0; s < 2; ++s) {
        others.emplace_back([&leaves, to = tx]() mutable {
          for (std::uint64_t i = 0; i < 60;) {
            if (to.try_send(1).code == status::ok) {
              ++i;
            } else {
              std::this_thread::yield();
            }
          }
          to.drop();
          leaves();
        });
      }
      tx.drop();
      others.emplace_back([&] {
        for (int i = 0; i < 40; ++i) {
          auto made = spawn_in(k, rt->root(), {}, [&ended](cx) -> task<> {
            static_cast<void>(co_await attempt(sleep(duration::hours(1))));
            ended.fetch_add(1);
          });
          ASSERT_EQ(made.code, status::ok);
          spawned.fetch_add(1);
          if (i % 3 == 0) std::this_thread::yield();
          EXPECT_EQ(made.handle.cancel(), status::ok);
          if (i % 2 == 0) made.handle.drop();
        }
        leaves();
      });
      others.emplace_back([&] {
        for (int i = 0; i < 40; ++i) {
          const inside here(k);
          expect_well_told(describe_tasks(k));
          EXPECT_LE(await_sites(k, reader.handle.task(), {}), 1U);
          EXPECT_FALSE(describe_tree_json(k).empty());
          EXPECT_LE(k.live_tasks(), 41U);
        }
        leaves();
      });
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      for (std::thread& t : others) t.join();
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      EXPECT_EQ(got.load(), 120U);
      EXPECT_EQ(ended.load(), spawned.load());
      reader.handle.drop();
      expect_rest(rt, "plain threads");
      expect_end(rt, "plain threads");
    }
  }
}

// A worker that is alone for a while has the gate to itself; whoever comes then must not meet it inside.
TEST(workers_outside_stress, one_thread_is_inside_at_a_time) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (const std::uint64_t disturbance : {0U, 11U}) {
      threaded_runtime rt({.workers = workers, .disturbance = disturbance}, config_of(journal_mode::off));
      const hang_guard guard(rt);
      kernel& k = rt->kernel();
      std::uint64_t plain = 0;  // No lock of its own.
      const std::uint64_t most = rounds(2'000);
      std::atomic<bool> is_over{false};
      const auto first = spawn_in(k, rt->root(), {}, [&](cx c) -> task<> {
        for (std::uint64_t i = 0; i < most; ++i) {
          {
            const inside here(c.kernel());
            const inside again(c.kernel());  // Law 2 of gate.hpp: calls nest.
            ++plain;
          }
          if (i % 16 == 0) co_await yield();
        }
        is_over = true;
      });
      ASSERT_EQ(first.code, status::ok);
      std::vector<std::thread> others;
      counter theirs{0};
      for (int t = 0; t < 2; ++t) {
        others.emplace_back([&, t] {
          for (std::uint64_t i = 0; !is_over.load(); ++i) {
            {
              const inside here(k);
              ++plain;
            }
            theirs.fetch_add(1);
            for (std::uint64_t n = 0; n < i % 64 * static_cast<std::uint64_t>(t); ++n) std::this_thread::yield();
          }
        });
      }
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      for (std::thread& t : others) t.join();
      EXPECT_EQ(plain, most + theirs.load());
      expect_end(rt, "inside");
    }
  }
}

// A run that nothing keeps open is woken by a spawn that comes while it parks for somebody else.
TEST(workers_outside_stress, what_is_spawned_while_everybody_sleeps_is_run) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    threaded_runtime rt({.workers = workers}, config_of(journal_mode::off));
    const hang_guard guard(rt);
    rt->kernel().take_foreign_hold();
    auto sleeper = spawn_in(rt->kernel(), rt->root(), {}, [](cx) -> task<> { co_await sleep(duration::hours(1)); });
    counter done{0};
    const std::uint64_t most = rounds(100);
    std::thread other([&] {
      for (std::uint64_t i = 0; i < most; ++i) {
        if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        const auto made = spawn_in(rt->kernel(), rt->root(), {}, [&done](cx) -> task<> {
          co_await yield();
          done.fetch_add(1);
        });
        ASSERT_EQ(made.code, status::ok);
        while (done.load() != i + 1) std::this_thread::yield();  // A wake that is lost hangs here.
      }
      EXPECT_EQ(sleeper.handle.cancel(), status::ok);
      rt->kernel().release_foreign_hold();
    });
    ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    other.join();
    ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_EQ(done.load(), most);
    sleeper.handle.drop();
    expect_rest(rt, "spawned meanwhile");
    expect_end(rt, "spawned meanwhile");
  }
}

// ---- handles --------------------------------------------------------------------------------------------------------

TEST(workers_outside_stress, a_result_is_taken_by_whoever_has_the_handle) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    counter taken{0};
    counter lost{0};
    auto* const a = &alive;
    auto* const t = &taken;
    auto* const l = &lost;
    co_await region(c, {.policy = region_policy::body_decides}, [a, t, l, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 12; ++i) {
        auto maker = co_await start(
            r,
            [](cx, counter* all, std::uint64_t n) -> task<token> {
              for (std::uint64_t k = 0; k < n % 4; ++k) co_await yield();
              co_return token(n, all);
            },
            a, i);
        if (i % 4 == 3) static_cast<void>(maker.cancel());
        if (i % 6 == 5) {
          maker.drop();
          l->fetch_add(1);
          continue;
        }
        co_await start(
            r,
            [](cx, join_handle<token> from, counter* got, counter* not_got, std::uint64_t n) -> task<> {
              for (std::uint64_t k = 0; k < n % 3; ++k) co_await yield();
              const auto how = co_await join(from);
              EXPECT_TRUE(how.is_ok() || how.is_cancelled());
              EXPECT_TRUE(!how.is_ok() || how.value().is_there());
              (how.is_ok() ? got : not_got)->fetch_add(1);
            },
            moved(maker), t, l, i + round);
      }
    });
    EXPECT_EQ(taken.load() + lost.load(), 12U);
    EXPECT_GE(taken.load(), 7U);
    EXPECT_EQ(alive.load(), 0U);
  });
}

TEST(workers_outside_stress, combinations_of_children_answer_as_on_one_thread) {
  play_rounds(10, [](cx c, std::uint64_t) -> task<> {
    const auto quick = [](cx) -> task<int> {
      co_await yield();
      co_return 1;
    };
    const auto slow = [](cx) -> task<int> {
      co_await sleep(duration::hours(1));
      co_return 2;
    };
    const auto fails = [](cx) -> task<int> {
      co_await yield();
      co_await fail(status::invalid_argument);
      co_return 3;
    };
    const auto all = co_await join_all(c, quick, fails, quick);
    EXPECT_TRUE(std::get<0>(all).is_ok() && std::get<1>(all).is_err() && std::get<2>(all).is_ok());
    const auto first = co_await race(c, slow, quick);
    EXPECT_TRUE(first.is_ok() && first.value() == 1);
    const auto ok = co_await first_ok(c, fails, slow, quick);
    EXPECT_TRUE(ok.is_ok() && ok.value() == 1);
    const auto enough = co_await quorum(c, 2, quick, slow, quick);
    EXPECT_TRUE(enough.is_reached);
    std::vector<int> items(40, 0);
    counter done{0};
    auto* const d = &done;
    const auto once = [d](cx, int& item) -> task<> {
      ++item;  // Plain: nobody else has this one.
      co_await yield();
      d->fetch_add(1, std::memory_order_relaxed);
    };
    auto& each = items;
    co_await for_each(c, std::ref(each).get(), 4, once);
    EXPECT_EQ(done.load(), 40U);
  });
}

// ---- the watchdog ---------------------------------------------------------------------------------------------------

TEST(workers_outside_stress, each_poll_that_hangs_is_named_once_on_whichever_worker) {
  struct told {
    std::mutex door;
    std::map<std::string, int> times;
    std::atomic<int> stuck{0};
    static void report(void* self, const running_poll& p, duration) noexcept {
      auto& at = *static_cast<told*>(self);
      const std::lock_guard lock(at.door);
      if (++at.times[p.name.data()] == 1 && std::string(p.name.data()).starts_with("stuck")) at.stuck.fetch_add(1);
      EXPECT_FALSE(p.is_alone);
    }
  };
  told t;
  threaded_runtime rt({.workers = 3}, config_of(journal_mode::off));
  const hang_guard guard(rt);
  {
    const watchdog dog(*rt, {.limit = duration::milliseconds(40), .context = &t, .report = told::report});
    ASSERT_TRUE(dog.is_on());
    std::atomic<bool> has_ended{false};
    for (const char* const name : {"stuck 1", "stuck 2"}) {
      ASSERT_EQ(
          spawn_in(rt->kernel(), rt->root(), {.name = name},
                   [&](cx) -> task<> {
                     while (t.stuck.load() < 2) std::this_thread::yield();         // Both at once, or it never ends.
                     std::this_thread::sleep_for(std::chrono::milliseconds(100));  // Long enough for a second word.
                     has_ended = true;
                     co_return;
                   })
              .code,
          status::ok);
    }
    ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {.name = "quick"},
                       [&](cx) -> task<> {
                         while (!has_ended.load()) {
                           co_await yield();
                           std::this_thread::yield();
                         }
                       })
                  .code,
              status::ok);
    ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  }
  EXPECT_EQ(t.times["stuck 1"], 1);
  EXPECT_EQ(t.times["stuck 2"], 1);
  expect_rest(rt, "watchdog");
  expect_end(rt, "watchdog");
}

// ---- numbers --------------------------------------------------------------------------------------------------------

TEST(workers_outside_stress, metrics_can_be_read_while_it_runs) {
  metrics m;
  runtime_config config = config_of(journal_mode::off);
  config.measure = &m;
  threaded_runtime rt({.workers = 4, .disturbance = 7}, config);
  const hang_guard guard(rt);
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    std::uint64_t last = 0;
    while (!is_over.load()) {
      metrics seen;
      {
        const inside here(rt->kernel());
        seen = rt->measured();
      }
      EXPECT_GE(seen.all_polls(), last);
      last = seen.all_polls();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(spawn_in(rt->kernel(), rt->root(), {},
                       [](cx) -> task<> {
                         for (int k = 0; k < 100; ++k) co_await yield();
                       })
                  .code,
              status::ok);
  }
  ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
  is_over = true;
  other.join();
  EXPECT_EQ(rt->measured().all_polls(), 8U * 101U);
  EXPECT_EQ(rt->measured().poll_ns.count(), 8U * 101U);
  EXPECT_EQ(rt->measured().live_tasks, 0U);
  expect_end(rt, "metrics");
}

}  // namespace
}  // namespace asx::stress
