// Runs of several threads, recorded, and played again on one: the same events, to the same digest, whatever they did.
// ASX_STRESS_ROUNDS makes it longer.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "asx/lab/replay_workers.hpp"
#include "tests/stress/workers_drawn.hpp"

namespace asx::stress {
namespace {

using whole_program = std::function<void(runtime&)>;

struct recorded_run {
  entry_order order;
  live_recording journal;
  digest128 digest{};
};

runtime_config config_for(std::uint64_t seed) {
  runtime_config config = config_of(journal_mode::full, seed);
  config.contract.max_trace_events = 256;  // What is compared goes to a list.
  return config;
}

// A thread sanitizer looks at all of a stack when it is made and when it goes.
workers_replay_options small_stacks(const live_recording* journal = nullptr) {
  return {.journal = journal, .stack_bytes = std::size_t{512} << 10};
}

recorded_run record(const threads_config& on, std::uint64_t seed, const whole_program& all) {
  recorded_run out;
  threads_config how = on;
  how.record = &out.order;
  runtime_config config = config_for(seed);
  config.sink = {&out.journal, [](void* self, std::span<const event> batch) noexcept {
                   for (const event& e : batch) {
                     if (e.semantic()) static_cast<live_recording*>(self)->events.push_back(e);
                   }
                 }};
  threaded_runtime rt(how, config);
  EXPECT_EQ(rt.start_status(), status::ok);
  {
    const hang_guard guard(rt);
    all(*rt);
  }
  EXPECT_TRUE(rt->has_ended());
  out.digest = rt->journal().digest();
  return out;
}

/// `f(cx, args...)` as the first task.
template <class F, class... Args>
whole_program first_task(F f, Args... args) {
  return [f, args...](runtime& rt) {
    auto first = spawn_in(rt.kernel(), rt.root(), {.name = "first"}, f, args...);
    EXPECT_EQ(first.code, status::ok);
    EXPECT_EQ(rt.run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_TRUE(first.handle.is_done());
    first.handle.drop();
    EXPECT_TRUE(rt.shutdown({}, UINT64_MAX).is_quiescent());
  };
}

/// Recorded by 1 to 4 threads and played again on one, with a journal to compare with.
void play_all(std::uint64_t usual, const std::function<whole_program(std::uint64_t round)>& make) {
  const std::uint64_t most = rounds(usual);
  for (const std::uint32_t workers : {1U, 2U, 3U, 4U}) {
    for (std::uint64_t i = 1; i <= most && !::testing::Test::HasFailure(); ++i) {
      threads_config how = crew_of(workers, i);
      how.is_virtual = i % 3 == 0;
      const whole_program all = make(i);
      const recorded_run there = record(how, i, all);
      ASSERT_TRUE(there.order.is_complete());
      entry_order kept;  // As from a file.
      ASSERT_EQ(entry_order::load(there.order.save(), kept), status::ok);
      const workers_replay again = replay_workers(kept, config_for(i), all, small_stacks(&there.journal));
      const std::string where = std::to_string(workers) + " workers, round " + std::to_string(i);
      EXPECT_TRUE(again.is_same()) << where << "\n" << again.report();
      EXPECT_EQ(again.digest, there.digest) << where;
      EXPECT_EQ(again.found.compared, there.journal.events.size()) << where;
    }
  }
}

TEST(workers_one_thread_stress, a_recorded_run_of_threads_is_played_again_on_one) {
  play_all(16, [](std::uint64_t round) { return first_task(program, round); });
}

// ---- a value that ends outside, while others go on ------------------------------------------------------------------

// Its end calls, and whoever calls lets others go on: another one sends to the same watch in the middle of it.
class calls_at_its_end {
 public:
  calls_at_its_end() noexcept = default;
  calls_at_its_end(const sender<std::uint64_t>& to, std::uint64_t number) noexcept : to_(to), number_(number) {}
  calls_at_its_end(calls_at_its_end&&) noexcept = default;
  calls_at_its_end& operator=(calls_at_its_end&&) = delete;
  ~calls_at_its_end() {
    for (int i = 0; to_.is_live() && i < 4; ++i) static_cast<void>(to_.try_send(number_));
  }

 private:
  sender<std::uint64_t> to_;  // Dead in what was moved from.
  std::uint64_t number_ = 0;
};
static_assert(ends_outside<calls_at_its_end>);

task<> replaces(cx, watch_sender<calls_at_its_end> tx, sender<std::uint64_t> to, std::uint64_t number) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(tx.send(calls_at_its_end(to, number * 100 + i)).code, status::ok) << "nobody else's end is in its way";
    if (i % 3 == 0) co_await yield();
  }
}

task<> many_who_replace(cx c) {
  auto [code, to, from] = channel<std::uint64_t>(c, 3);
  auto [watched, tx, rx] = watch<calls_at_its_end>(c, calls_at_its_end());
  EXPECT_EQ(code, status::ok);
  EXPECT_EQ(watched, status::ok);
  co_await region(c, [watched_by = &tx, numbers = &to](cx r) -> task<> {
    for (std::uint64_t i = 0; i < 4; ++i) co_await start(r, replaces, *watched_by, *numbers, i);
  });
}

// a hub is held for who destroys what left it, and not for others who take turns with it on one thread.
TEST(workers_one_thread_stress, whoever_ends_a_value_holds_up_nobody_else) {
  play_all(6, [](std::uint64_t) { return first_task(many_who_replace); });
}

// ---- a poll is stopped in its middle --------------------------------------------------------------------------------

// How many polls are between their first call and their last one. It is only counted: nothing depends on it.
struct middles {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  void begin() {
    const int in = now.fetch_add(1) + 1;
    int seen = most.load();
    while (seen < in && !most.compare_exchange_weak(seen, in)) {
    }
  }
  void end() { now.fetch_sub(1); }
};

task<> calls_all_the_time(cx c, middles* seen, sender<std::uint64_t> to, std::uint64_t number) {
  for (std::uint64_t i = 0; i < 6; ++i) {
    seen->begin();
    for (std::uint64_t k = 0; k < 20; ++k) static_cast<void>(to.try_send(number * 1'000 + k));
    static_cast<void>(c.now());
    seen->end();
    co_await yield();
  }
}

task<> many_who_call(cx c, middles* seen) {
  auto ends = channel<std::uint64_t>(c, 3);
  EXPECT_EQ(ends.code, status::ok);
  auto sum = co_await start(
      c,
      [](cx, receiver<std::uint64_t> from) -> task<std::uint64_t> {
        std::uint64_t all = 0;
        while (const auto m = co_await recv(from)) all = all * 31 + *m;
        co_return all;
      },
      moved(ends.rx));
  co_await region(c, [seen, tx = &ends.tx](cx r) -> task<> {
    for (std::uint64_t i = 0; i < 6; ++i) co_await start(r, calls_all_the_time, seen, *tx, i);
  });
  ends.tx.drop();
  static_cast<void>(co_await join(sum));
}

TEST(workers_one_thread_stress, a_poll_is_stopped_in_its_middle_and_others_go_on) {
  int most = 0;
  // On until one was: how far threads get into each other's polls is the machine's to say.
  const deadline late;
  for (std::uint64_t i = 1; (i <= rounds(20) || (most < 2 && !late.is_over())) && !HasFailure(); ++i) {
    middles there;
    const recorded_run run = record(crew_of(4, 4 * i + 1), i, first_task(many_who_call, &there));
    middles here;
    const workers_replay again =
        replay_workers(run.order, config_for(i), first_task(many_who_call, &here), small_stacks(&run.journal));
    EXPECT_TRUE(again.is_same()) << again.report();
    most = std::max(most, here.most.load());
  }
  EXPECT_GE(most, 2) << "no poll was ever stopped: nothing is shown";
}

// ---- cancels, trees, exceptions -------------------------------------------------------------------------------------

task<> says_goodbye(cx, sender<std::uint64_t> to) {
  static_cast<void>(to.try_send(7));
  co_await yield();
}

task<> waits_or_works(cx c, sender<std::uint64_t> to, std::uint64_t number) {
  co_await finally(c, says_goodbye, to);
  if (number % 3 == 0) co_await sleep(duration::hours(1));
  for (std::uint64_t i = 0; i < number % 5; ++i) co_await send(to, i);
  co_await sleep(duration::microseconds(number * 10));
}

// Branches that cancel each other while everybody waits, sends and cleans up.
task<> storm(cx c, std::uint64_t round) {
  auto ends = channel<std::uint64_t>(c, 2);
  EXPECT_EQ(ends.code, status::ok);
  co_await start(
      c,
      [](cx, receiver<std::uint64_t> from) -> task<> {
        while (co_await recv(from)) co_await yield();
      },
      moved(ends.rx));
  for (std::uint64_t i = 0; i < 4; ++i) {
    static_cast<void>(
        co_await attempt(with_timeout(c, duration::microseconds(50 + 10 * i), [tx = &ends.tx, round](cx in) -> task<> {
          co_await region(in, {.policy = region_policy::body_decides}, [tx, round](cx r) -> task<> {
            std::vector<join_handle<void>> all;
            for (std::uint64_t k = 0; k < 6; ++k) all.push_back(co_await start(r, waits_or_works, *tx, round + k));
            for (auto& one : all) {
              co_await yield();
              static_cast<void>(one.cancel());
            }
          });
        })));
  }
  ends.tx.drop();
}

TEST(workers_one_thread_stress, a_storm_of_cancels_is_played_again) {
  play_all(12, [](std::uint64_t round) { return first_task(storm, round); });
}

// Everything that a handler and a way out can do with asx: each of these calls may be where another worker goes on.
struct sends_when_it_goes {
  sender<std::uint64_t>* to;
  std::uint64_t number;
  ~sends_when_it_goes() {
    const int before = std::uncaught_exceptions();
    static_cast<void>(to->try_send(number));
    EXPECT_EQ(std::uncaught_exceptions(), before);
  }
};

task<> throws_and_catches(cx c, sender<std::uint64_t> to, std::uint64_t number) {
  const std::string mine = "of " + std::to_string(number);
  for (std::uint64_t i = 0; i < 4; ++i) {
    bool is_caught = false;
    try {
      try {
        const sends_when_it_goes last{&to, number};
        static_cast<void>(to.try_send(i));
        throw std::runtime_error(mine);
      } catch (const std::exception& e) {
        for (int k = 0; k < 3; ++k) static_cast<void>(to.try_send(number));
        try {
          throw std::logic_error(mine + " again");
        } catch (const std::exception& inner) {
          static_cast<void>(c.now());
          static_cast<void>(to.try_send(number));
          EXPECT_EQ(inner.what(), mine + " again");
        }
        EXPECT_EQ(e.what(), mine);
        throw;
      }
    } catch (const std::exception& e) {
      static_cast<void>(to.try_send(number));
      EXPECT_EQ(e.what(), mine);
      is_caught = true;
    }
    EXPECT_TRUE(is_caught);
    EXPECT_EQ(std::current_exception(), nullptr);
    co_await yield();
  }
  if (number % 4 == 0) throw std::runtime_error(mine);
}

TEST(workers_one_thread_stress, exceptions_stay_with_their_worker_while_others_go_on) {
  play_all(12, [](std::uint64_t round) {
    return first_task(
        [](cx c, std::uint64_t n) -> task<> {
          auto ends = channel<std::uint64_t>(c, 3);
          EXPECT_EQ(ends.code, status::ok);
          co_await start(
              c,
              [](cx, receiver<std::uint64_t> from) -> task<> {
                while (co_await recv(from)) {
                }
              },
              moved(ends.rx));
          static_cast<void>(
              co_await attempt(region(c, {.policy = region_policy::body_decides}, [tx = &ends.tx, n](cx r) -> task<> {
                for (std::uint64_t i = 0; i < 6; ++i) co_await start(r, throws_and_catches, *tx, n + i);
              })));
          ends.tx.drop();
        },
        round);
  });
}

// A poll that has been in another runtime's gate in the meantime is still the same worker in this one.
TEST(workers_one_thread_stress, a_poll_runs_a_runtime_of_its_own) {
  play_all(2, [](std::uint64_t) {
    return first_task([](cx c) -> task<> {
      auto ends = channel<std::uint64_t>(c, 64);
      EXPECT_EQ(ends.code, status::ok);
      co_await region(c, [tx = &ends.tx](cx r) -> task<> {
        for (std::uint64_t i = 0; i < 6; ++i) {
          co_await start(
              r,
              [](cx, sender<std::uint64_t> to, std::uint64_t number) -> task<> {
                static_cast<void>(to.try_send(number));
                {
                  threaded_runtime inner({.workers = 1, .is_virtual = true}, config_of(journal_mode::off));
                  static_cast<void>(to.try_send(number));
                  EXPECT_EQ(spawn_in(inner->kernel(), inner->root(), {}, says_goodbye, to).code, status::ok);
                  EXPECT_EQ(inner->run_until_quiescent().ended, status::ok);
                }
                static_cast<void>(to.try_send(number));
                co_await yield();
              },
              *tx, i);
        }
      });
    });
  });
}

// What a poll plays has stacks of its own, which stop in the middle of calls of the runtime around it.
TEST(workers_one_thread_stress, a_poll_plays_a_recorded_run_of_another_runtime) {
  using hook = std::function<void()>;
  const auto inner = [](const hook* call) {
    return first_task(
        [](cx c, const hook* each) -> task<> {
          for (int i = 0; i < 4; ++i) {
            co_await start(
                c,
                [](cx in, const hook* one) -> task<> {
                  for (int k = 0; k < 3; ++k) {
                    (*one)();
                    static_cast<void>(in.now());
                    (*one)();
                    co_await yield();
                  }
                },
                each);
          }
        },
        call);
  };
  const hook nothing = [] {};
  const recorded_run played = record(crew_of(3, 1), 1, inner(&nothing));
  const auto plays = [&inner, &played](cx, sender<std::uint64_t> to, std::uint64_t number) -> task<> {
    const hook call = [&to, number] { static_cast<void>(to.try_send(number)); };
    const workers_replay again =
        replay_workers(played.order, config_for(1), inner(&call), small_stacks(&played.journal));
    EXPECT_TRUE(again.is_same()) << again.report();
    co_await yield();
  };
  const auto* const body = &plays;
  play_all(1, [body](std::uint64_t) {
    return first_task(
        [](cx c, decltype(body) f) -> task<> {
          auto ends = channel<std::uint64_t>(c, 8);
          EXPECT_EQ(ends.code, status::ok);
          co_await region(c, [tx = &ends.tx, f](cx r) -> task<> {
            for (std::uint64_t i = 0; i < 4; ++i) co_await start(r, *f, *tx, i);
          });
        },
        body);
  });
}

// ---- another program, and what cannot be played ---------------------------------------------------------------------

TEST(workers_one_thread_stress, another_program_is_told_and_comes_to_its_end) {
  const std::uint64_t most = rounds(10);
  for (const std::uint32_t workers : {2U, 4U}) {
    for (std::uint64_t i = 1; i <= most && !HasFailure(); ++i) {
      threads_config how = crew_of(workers, i);
      how.is_virtual = i % 3 == 0;
      const recorded_run there = record(how, i, first_task(program, i));
      const whole_program other = first_task(program, i + 1'000);
      const std::string where = std::to_string(workers) + " workers, program " + std::to_string(i);
      const workers_replay by_event = replay_workers(there.order, config_for(i), other, small_stacks(&there.journal));
      EXPECT_FALSE(by_event.is_same()) << where;
      EXPECT_NE(by_event.found.what, difference::none) << where;
      EXPECT_NE(by_event.report().find("event"), std::string::npos) << by_event.report();
      const workers_replay by_digest = replay_workers(there.order, config_for(i), other, small_stacks());
      EXPECT_NE(by_digest.report().find("the program is another"), std::string::npos) << by_digest.report();
      EXPECT_EQ(by_event.digest, by_digest.digest) << where << ": past the order, too, nothing is left to chance";
    }
  }
}

// How often somebody goes in does not tell: who waits in a replay for others to leave a run goes in until they do.
TEST(workers_one_thread_stress, a_program_that_does_more_or_less_is_told) {
  const auto times = [](std::uint64_t n) {
    return first_task(
        [](cx c, std::uint64_t most) -> task<> {
          for (std::uint64_t i = 0; i < most; ++i) {
            co_await start(c, [](cx) -> task<> { co_await yield(); });
            co_await yield();
          }
        },
        n);
  };
  for (std::uint64_t i = 1; i <= rounds(10) && !HasFailure(); ++i) {
    const recorded_run there = record(crew_of(3, i), i, times(20));
    EXPECT_TRUE(replay_workers(there.order, config_for(i), times(20), small_stacks()).is_same());
    const workers_replay more = replay_workers(there.order, config_for(i), times(60), small_stacks());
    EXPECT_NE(more.report().find("the program is another"), std::string::npos) << more.report();
    EXPECT_NE(more.report().find("does more now"), std::string::npos) << more.report();
    EXPECT_EQ(more.entries, there.order.entries());
    const workers_replay less = replay_workers(there.order, config_for(i), times(2), small_stacks());
    EXPECT_NE(less.report().find("the program is another"), std::string::npos) << less.report();
  }
}

TEST(workers_one_thread_stress, a_program_that_waits_longer_now_is_not_waited_for) {
  const auto sleeps = [](duration how_long) {
    return first_task(
        [](cx c, duration each) -> task<> {
          for (int i = 0; i < 3; ++i) co_await start(c, [](cx, duration d) -> task<> { co_await sleep(d); }, each);
          co_await sleep(each);
        },
        how_long);
  };
  const recorded_run there = record({.workers = 3}, 1, sleeps(duration::microseconds(100)));
  EXPECT_TRUE(
      replay_workers(there.order, config_for(1), sleeps(duration::microseconds(100)), small_stacks(&there.journal))
          .is_same());
  const workers_replay longer =
      replay_workers(there.order, config_for(1), sleeps(duration::hours(10)), small_stacks(&there.journal));
  EXPECT_FALSE(longer.is_same());
  ASSERT_TRUE(longer.found.run);
  EXPECT_EQ(longer.found.run->kind, event_kind::timer_registered) << longer.report();
}

TEST(workers_one_thread_stress, an_order_that_does_not_fit_is_refused) {
  const whole_program all = first_task(program, std::uint64_t{1});
  recorded_run there = record({.workers = 2}, 1, all);
  const auto answer = [](const threads_config& how) {
    threaded_runtime rt(how, config_of(journal_mode::off));
    const status s = rt.start_status();
    EXPECT_TRUE(s == status::ok || rt->run_until_quiescent().ended == s) << "nothing runs then";
    return s;
  };
  const entry_order* const order = &there.order;
  EXPECT_EQ(answer({.workers = 2, .replay = order, .is_on_one_thread = true}), status::ok);
  EXPECT_EQ(answer({.workers = 3, .replay = order, .is_on_one_thread = true}), status::invalid_argument);
  EXPECT_EQ(answer({.workers = 2, .is_virtual = true, .replay = order, .is_on_one_thread = true}),
            status::invalid_argument)
      << "it was recorded on the machine's clock";
  EXPECT_EQ(answer({.workers = 2, .is_on_one_thread = true}), status::invalid_argument) << "there is nothing to play";
  EXPECT_EQ(answer({.workers = 2, .replay = order, .is_on_one_thread = true, .stack_bytes = SIZE_MAX / 4}),
            status::resource_exhausted);
  there.order.spoil();
  const workers_replay none = replay_workers(there.order, config_for(1), [](runtime&) { ADD_FAILURE(); });
  EXPECT_EQ(none.code, status::invalid_argument);
  EXPECT_FALSE(none.is_same());
  EXPECT_EQ(replay_workers(entry_order(), {}, [](runtime&) { ADD_FAILURE(); }).code, status::invalid_argument);
}

// The stacks are of the thread that made them: another one does not go on with them.
TEST(workers_one_thread_stress, another_thread_does_not_run_it) {
  const recorded_run there = record({.workers = 2}, 1, first_task(program, std::uint64_t{1}));
  threaded_runtime rt({.workers = 2, .replay = &there.order, .is_on_one_thread = true}, config_for(1));
  ASSERT_EQ(rt.start_status(), status::ok);
  std::thread([&rt] { EXPECT_EQ(rt->run_until_quiescent().ended, status::wrong_thread); }).join();
}

// A run that is recorded keeps a digest, also where no journal is asked for: it is played, and its journal is seen for
// the first time.
TEST(workers_one_thread_stress, a_run_without_a_journal_gets_one_when_it_is_played) {
  for (std::uint64_t i = 1; i <= rounds(10) && !HasFailure(); ++i) {
    entry_order order;
    threads_config how = crew_of(3, i);
    how.record = &order;
    {
      threaded_runtime rt(how, config_of(journal_mode::off, i));
      first_task(program, i)(*rt);
    }
    const workers_replay once = replay_workers(order, config_of(journal_mode::off), first_task(program, i));
    const workers_replay twice = replay_workers(order, config_of(journal_mode::off), first_task(program, i));
    EXPECT_TRUE(once.is_same()) << i << ": " << once.report();
    EXPECT_EQ(once.entries, twice.entries);
    EXPECT_EQ(once.digest, twice.digest);
  }
}

// Longer than a machine lets anybody stand: whoever is told of is one who never comes back.
constexpr duration stuck_after = duration::seconds(2);

// Two who wait for each other past asx, until somebody is told of it.
struct meeting {
  std::atomic<int> here{0};
  std::atomic<bool> is_let_go{false};
  std::atomic<int> found{0};
  std::string text;  // Written once, before `is_let_go`.
  static void fatal(void* self, std::string_view said) noexcept {
    auto& m = *static_cast<meeting*>(self);
    if (m.found.fetch_add(1) == 0) m.text = said;
    m.is_let_go.store(true);
  }
};

task<> meets(cx, meeting* at) {
  at->here.fetch_add(1);
  while (at->here.load() < 2 && !at->is_let_go.load()) std::this_thread::yield();
  co_return;
}

// Two polls that meet past asx: with threads they do, and on one thread the first waits for ever.
TEST(workers_one_thread_stress, a_poll_that_waits_for_another_past_asx_is_found) {
  const auto meet = [](meeting* m) {
    return first_task(
        [](cx c, meeting* at) -> task<> {
          for (int i = 0; i < 2; ++i) {
            const auto one = spawn(c, {.name = "one of two"}, meets, at);
            EXPECT_EQ(one.code, status::ok);
          }
          co_return;
        },
        m);
  };
  meeting there;
  const recorded_run run = record({.workers = 2}, 1, meet(&there));
  EXPECT_EQ(there.here.load(), 2);
  EXPECT_FALSE(there.is_let_go.load());
  meeting here;
  runtime_config config = config_for(1);
  config.behaviour.fatal = &meeting::fatal;
  config.behaviour.fatal_context = &here;
  static_cast<void>(replay_workers(run.order, config, meet(&here), {.stuck_after = stuck_after}));
  EXPECT_EQ(here.found.load(), 1);
  EXPECT_NE(here.text.find("does not come back from task"), std::string::npos) << here.text;
  EXPECT_NE(here.text.find("one of two"), std::string::npos) << here.text;
}

// A finalizer is no poll, and waits past asx all the same.
TEST(workers_one_thread_stress, a_finalizer_that_waits_for_another_past_asx_is_found) {
  const auto meet = [](meeting* at) -> whole_program {
    return [at](runtime& rt) {
      region_handle closing;
      EXPECT_EQ(rt.kernel().create_region(rt.root(), {.name = "closing"}, closing), status::ok);
      EXPECT_EQ(rt.kernel().add_finalizer(
                    closing,
                    [](void* self, region_handle, kernel&) {
                      auto& m = *static_cast<meeting*>(self);
                      m.here.fetch_add(1);
                      while (m.here.load() < 2 && !m.is_let_go.load()) std::this_thread::yield();
                      return status::ok;
                    },
                    at),
                status::ok);
      const auto comes_too = spawn_in(
          rt.kernel(), rt.root(), {.name = "comes too"},
          [](cx c, meeting* where, region_handle r) -> task<> {
            const auto other = spawn(c, {.name = "other"}, meets, where);
            EXPECT_EQ(other.code, status::ok);
            EXPECT_EQ(c.kernel().close(r, {cancel_kind::user, "over"}), status::ok);
            co_return;
          },
          at, closing);
      EXPECT_EQ(comes_too.code, status::ok);
      static_cast<void>(rt.run_until_quiescent(UINT64_MAX));
      static_cast<void>(rt.shutdown({}, UINT64_MAX));
    };
  };
  meeting there;
  const recorded_run run = record({.workers = 2}, 1, meet(&there));
  meeting here;
  runtime_config config = config_for(1);
  config.behaviour.fatal = &meeting::fatal;
  config.behaviour.fatal_context = &here;
  static_cast<void>(replay_workers(run.order, config, meet(&here), {.stuck_after = stuck_after}));
  EXPECT_EQ(here.found.load(), 1);
  EXPECT_NE(here.text.find("does not come back from"), std::string::npos) << here.text;
  // Whichever comes first in the order waits for the other one.
  EXPECT_TRUE(here.text.find("a finalizer of region") != std::string::npos ||
              here.text.find("'other'") != std::string::npos)
      << here.text;
}

// on one thread nobody is moved anywhere.
#if defined(__linux__)
TEST(workers_one_thread_stress, who_plays_what_was_pinned_may_run_where_it_might) {
  const auto mine = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    return set;
  };
  const cpu_set_t before = mine();
  const whole_program all = first_task(program, std::uint64_t{3});
  entry_order order;
  {
    threaded_runtime rt({.workers = 2, .is_pinned = true, .record = &order}, config_for(3));
    all(*rt);
  }
  {
    threaded_runtime rt({.workers = 2, .is_pinned = true, .replay = &order, .is_on_one_thread = true}, config_for(3));
    ASSERT_EQ(rt.start_status(), status::ok);
    all(*rt);
  }
  const cpu_set_t after = mine();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}
#endif

// Goal:   a replay whose runtime goes while something is left says so, as any runtime does.
// Method: an obligation that is held for ever.
TEST(workers_one_thread_stress, a_replay_that_does_not_come_to_rest_tells_what_is_left) {
  const whole_program all = first_task(program, std::uint64_t{5});
  entry_order order;
  {
    threaded_runtime rt({.workers = 3, .disturbance = 7, .record = &order}, config_for(5));
    all(*rt);
  }
  const auto goes_too_early = [&] {
    runtime_config config = config_for(5);
    config.behaviour.leaks = leak_policy::hold;
    threaded_runtime rt({.workers = 3, .replay = &order, .is_on_one_thread = true}, config);
    auto first = spawn_in(rt->kernel(), rt->root(), {}, program, std::uint64_t{5});
    static_cast<void>(rt->run_until_quiescent(UINT64_MAX));
    first.handle.drop();
    obligation_handle held;
    EXPECT_EQ(rt->kernel().reserve(rt->root(), held), status::ok);
  };
  EXPECT_DEATH(goes_too_early(), "did not come to rest");
}

}  // namespace
}  // namespace asx::stress
