// Programs that are drawn, run by several workers: the journal is one legal order of what happened, and a run that was
// recorded is played again event by event. ASX_STRESS_ROUNDS makes it longer.
#include "tests/stress/workers_drawn.hpp"

#include <sched.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "asx/journal/compare.hpp"
#include "asx/journal/schedule_check.hpp"
#include "asx/kernel/thread_mark.hpp"
#include "asx/runtime/entry_order.hpp"

namespace asx::stress {
namespace {

// The same on one thread, which has no gate at all.
played play_alone(std::uint64_t what, std::uint64_t seed) {
  played out;
  runtime_config config = config_of(journal_mode::full, seed);
  config.sink = {&out, &played::take};
  config.contract.max_trace_events = 256;
  runtime rt(config);
  auto first = spawn_in(rt.kernel(), rt.root(), {.name = "first"}, program, what);
  EXPECT_EQ(first.code, status::ok);
  EXPECT_EQ(rt.run_until_quiescent(UINT64_MAX).ended, status::ok);
  EXPECT_TRUE(first.handle.is_done());
  first.handle.drop();
  EXPECT_TRUE(rt.shutdown({}, UINT64_MAX).is_quiescent());
  rt.journal().settle();
  out.digest = rt.journal().digest();
  return out;
}

TEST(workers_replay_stress, one_worker_in_virtual_time_does_what_one_thread_does) {
  const std::uint64_t most = rounds(40);
  for (std::uint64_t i = 1; i <= most && !HasFailure(); ++i) {
    const played alone = play_alone(i, i);
    const played threaded = play({.workers = 1, .is_virtual = true}, i, i);
    const comparison same = compare_runs(alone, threaded);
    EXPECT_TRUE(same.match()) << "program " << i << "\n" << explain(same);
    EXPECT_EQ(alone.digest, threaded.digest) << "program " << i;
  }
}

// ---- who is in an order ---------------------------------------------------------------------------------------------

// Goal:   a thread that was no worker is not taken for one that has ended, whose place in memory it has.
// Method: a thread makes what is recorded, comes to its end with it, and is gone. Others call in, until one has that
//         place; then the order must not say that it knows of everybody.
TEST(workers_replay_stress, an_order_does_not_take_a_later_thread_for_its_maker) {
  const deadline late;
  bool has_come_again = false;
  while (!has_come_again && !late.is_over() && !HasFailure()) {
    for (const bool calls_in : {false, true}) {
      entry_order order;
      std::optional<threaded_runtime> rt;
      const void* maker = nullptr;
      std::thread([&] {
        maker = detail::mark_of_this_thread();
        rt.emplace(threads_config{.workers = 2, .record = &order}, config_of(journal_mode::off));
        ASSERT_EQ(rt->start_status(), status::ok);
        expect_end(*rt, "recorded");
      }).join();
      bool is_same = false;
      std::thread([&] {
        is_same = detail::mark_of_this_thread() == maker;
        if (!calls_in) return;
        const inside here((*rt)->kernel());
        EXPECT_EQ((*rt)->kernel().live_tasks(), 0U);
      }).join();
      rt.reset();
      EXPECT_EQ(order.is_complete(), !calls_in);
      has_come_again = has_come_again || (calls_in && is_same);
    }
  }
  if (!has_come_again) GTEST_SKIP() << "no thread has come to the place of an earlier one";
}

// ---- a recorded run is played again ---------------------------------------------------------------------------------

TEST(workers_replay_stress, a_recorded_run_is_played_again_event_by_event) {
  const std::uint64_t most = rounds(40);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t i = 1; i <= most && !HasFailure(); ++i) {
      entry_order order;
      threads_config how = crew_of(workers, i);
      how.is_virtual = i % 3 == 0;
      how.record = &order;
      const played first = play(how, i, i);
      ASSERT_TRUE(order.is_complete());
      ASSERT_EQ(order.workers(), workers);
      entry_order kept;  // As from a file.
      ASSERT_EQ(entry_order::load(order.save(), kept), status::ok);
      how.record = nullptr;
      how.replay = &kept;
      how.disturbance = i % 2 == 0 ? i : 0;
      const played again = play(how, i, i);
      const comparison same = compare_runs(first, again);
      EXPECT_TRUE(same.match()) << workers << " workers, program " << i << ", " << first.events.size() << " events\n"
                                << explain(same);
      EXPECT_EQ(first.digest, again.digest) << workers << " workers, program " << i;
    }
  }
}

TEST(workers_replay_stress, another_program_is_noticed_and_comes_to_its_end) {
  const std::uint64_t most = rounds(10);
  for (const std::uint32_t workers : {2U, 4U}) {
    for (std::uint64_t i = 1; i <= most && !HasFailure(); ++i) {
      entry_order order;
      threads_config how = crew_of(workers, i);
      how.record = &order;
      const played first = play(how, i, i);
      how.record = nullptr;
      how.replay = &order;
      const played other = play(how, i + 1'000, i);
      EXPECT_NE(first.digest, other.digest) << workers << " workers, program " << i;
    }
  }
}

TEST(workers_replay_stress, an_order_that_does_not_fit_is_refused) {
  entry_order order;
  {
    const played first = play({.workers = 2, .record = &order}, 1, 1);
    EXPECT_FALSE(first.events.empty());
  }
  const auto answer = [](const threads_config& how) {
    threaded_runtime rt(how, config_of(journal_mode::off));
    const status s = rt.start_status();
    EXPECT_TRUE(s == status::ok || rt->run_until_quiescent().ended == s) << "nothing runs then";
    return s;
  };
  EXPECT_EQ(answer({.workers = 2, .replay = &order}), status::ok);
  EXPECT_EQ(answer({.workers = 3, .replay = &order}), status::invalid_argument);
  EXPECT_EQ(answer({.workers = 1, .replay = &order}), status::invalid_argument);
  entry_order other;
  EXPECT_EQ(answer({.workers = 2, .record = &other, .replay = &order}), status::invalid_argument);
  order.spoil();
  EXPECT_EQ(answer({.workers = 2, .replay = &order}), status::invalid_argument);
}

// What an order cannot know, it says.
TEST(workers_replay_stress, an_order_with_others_in_it_is_not_complete) {
  const auto record = [](auto act) {
    entry_order order;
    {
      threaded_runtime rt({.workers = 2, .record = &order}, config_of(journal_mode::off));
      const hang_guard guard(rt);
      act(rt);
      EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      expect_end(rt, "not complete");
    }
    return order.is_complete();
  };
  EXPECT_TRUE(record([](threaded_runtime& rt) {
    EXPECT_EQ(spawn_in(rt->kernel(), rt->root(), {}, [](cx) -> task<> { co_await yield(); }).code, status::ok);
  }));
  EXPECT_FALSE(record([](threaded_runtime& rt) {
    std::thread([&rt] {
      EXPECT_EQ(spawn_in(rt->kernel(), rt->root(), {}, [](cx) -> task<> { co_await yield(); }).code, status::ok);
    }).join();
  }));
  EXPECT_FALSE(record([](threaded_runtime& rt) {
    auto made = spawn_in(rt->kernel(), rt->root(), {}, [](cx) -> task<> { co_await yield(); });
    foreign_handle h;
    EXPECT_EQ(rt->foreign(made.handle.task(), h), status::ok);
    h.wake();
  }));
  blocking_pool pool({.threads = 1});
  EXPECT_FALSE(record([&pool](threaded_runtime& rt) {
    EXPECT_EQ(
        spawn_in(rt->kernel(), rt->root(), {}, [&pool](cx) -> task<> { co_await blocking(pool, [] { return 1; }); })
            .code,
        status::ok);
  }));
}

// A word is taken in by a worker that looks for itself before its speaker comes to ring for it; the run may be over by
// then. The speaker goes one instruction at a time and stands still as soon as its word is there; till then the worker
// is out in a poll. A thread sanitizer has locks of its own on the way.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ASX_SPEAKER_IS_WATCHED
#endif
#endif
#if !defined(ASX_SPEAKER_IS_WATCHED)
struct slow_speaker {
  static inline std::atomic<kernel*> home{nullptr};
  static inline std::atomic<bool> stands{false};
  static inline std::atomic<bool> may_go{false};
  static void trap(int, siginfo_t*, void* context) {
    constexpr greg_t single_step = 0x100;
    greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
    flags |= single_step;
    if (!home.load()->has_calls()) return;
    stands.store(true);
    while (!may_go.load()) sched_yield();
    flags &= ~single_step;
  }
};

TEST(workers_replay_stress, an_order_in_which_a_word_was_taken_in_is_not_complete_though_nobody_rang) {
  struct sigaction stops{};
  struct sigaction before{};
  stops.sa_sigaction = &slow_speaker::trap;
  stops.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &stops, &before), 0);
  entry_order order;
  {
    threaded_runtime rt({.workers = 1, .record = &order}, config_of(journal_mode::off));
    const hang_guard guard(rt);
    slow_speaker::home.store(&rt->kernel());
    slow_speaker::stands.store(false);
    slow_speaker::may_go.store(false);
    std::atomic<bool> is_busy{false};
    auto busy = spawn_in(rt->kernel(), rt->root(), {}, [&is_busy](cx) -> task<> {
      is_busy.store(true);
      const deadline late;
      while (!slow_speaker::stands.load() && !late.is_over()) std::this_thread::yield();  // asx: bounded by 30 s
      while (true) co_await yield();
    });
    ASSERT_EQ(busy.code, status::ok);
    foreign_handle h;
    ASSERT_EQ(rt->foreign(busy.handle.task(), h), status::ok);
    std::thread speaker([&] {
      while (!is_busy.load()) std::this_thread::yield();
      raise(SIGTRAP);
      h.cancel();
    });
    EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_TRUE(slow_speaker::stands.load()) << "its word is there, and it has not rung";
    EXPECT_FALSE(order.is_complete());
    slow_speaker::may_go.store(true);
    speaker.join();
    h.drop();
    busy.handle.drop();
    expect_end(rt, "a word");
  }
  EXPECT_FALSE(order.is_complete());
  EXPECT_EQ(sigaction(SIGTRAP, &before, nullptr), 0);
}
#endif
#endif

// ---- the journal is one legal order ---------------------------------------------------------------------------------

// Channels, semaphores, mutexes and notifies, told a second time from what the journal says of them.
class things_of_a_journal {
 public:
  explicit things_of_a_journal(std::string where) : where_(std::move(where)) {}

  void take(const event& e) {
    switch (e.kind) {
      case event_kind::channel_created: channels_[e.subject] = {.capacity = e.a}; break;
      case event_kind::permit_reserved:
        ++at(channels_, e).reserved;
        at(channels_, e).last = e.a;
        break;
      case event_kind::permit_sent:
        ++at(channels_, e).queued;
        if (e.a <= at(channels_, e).last) {
          --at(channels_, e).reserved;
        } else {  // Without a permit: a new number.
          EXPECT_EQ(e.a, ++at(channels_, e).last) << told(e);
        }
        break;
      case event_kind::permit_aborted:
      case event_kind::permit_dropped:
      case event_kind::permit_disconnected: --at(channels_, e).reserved; break;
      case event_kind::message_received:
        --at(channels_, e).queued;
        EXPECT_EQ(e.a, ++at(channels_, e).received) << told(e) << "messages leave in the order in which they came";
        break;
      case event_kind::send_waiter_added: at(channels_, e).waiters.push_back(e.a); break;
      case event_kind::send_waiter_removed: leaves(at(channels_, e), e); break;
      case event_kind::sync_created: syncs_[e.subject] = {.capacity = e.a}; break;
      case event_kind::sync_acquired: at(syncs_, e).reserved += e.a; break;
      case event_kind::sync_released: at(syncs_, e).reserved -= e.a; break;
      case event_kind::sync_waiter_added: at(syncs_, e).waiters.push_back(e.a); break;
      case event_kind::sync_waiter_removed: leaves(at(syncs_, e), e); break;
      default: return;
    }
    for (const auto* const of : {&channels_, &syncs_}) {
      const auto found = of->find(e.subject);
      if (found == of->end()) continue;
      EXPECT_LE(found->second.queued + found->second.reserved, found->second.capacity) << told(e);
    }
  }
  void finish() const {
    for (const auto* const of : {&channels_, &syncs_}) {
      for (const auto& [number, t] : *of) {
        EXPECT_EQ(t.queued + t.reserved, 0U) << where_ << ": " << number;
        EXPECT_TRUE(t.waiters.empty()) << where_ << ": " << number;
      }
    }
    EXPECT_EQ(channels_.size(), 2U);
  }

 private:
  struct thing {
    std::uint64_t capacity = 0;
    std::uint64_t queued = 0;
    std::uint64_t reserved = 0;
    std::uint64_t received = 0;
    std::uint64_t last = 0;  // Number of a permit.
    std::deque<std::uint64_t> waiters{};
  };
  thing& at(std::map<std::uint64_t, thing>& of, const event& e) const {
    EXPECT_TRUE(of.contains(e.subject)) << told(e);
    return of[e.subject];
  }
  // First come, first served; who gives up may stand anywhere. Those whom a notify told leave when they are polled.
  void leaves(thing& of, const event& e) const {
    std::deque<std::uint64_t>& queue = of.waiters;
    const auto how = static_cast<leave_code>(static_cast<std::uint32_t>(e.b));
    const auto found = std::find(queue.begin(), queue.end(), e.a);
    ASSERT_NE(found, queue.end()) << told(e);
    const bool is_notify = of.capacity == 0;
    EXPECT_TRUE(how != leave_code::served || is_notify || found == queue.begin())
        << told(e) << "served before its turn";
    queue.erase(found);
  }
  [[nodiscard]] std::string told(const event& e) const {
    return where_ + ": event " + std::to_string(e.seq) + " kind " + std::to_string(static_cast<int>(e.kind)) + "; ";
  }

  std::string where_;
  std::map<std::uint64_t, thing> channels_;
  std::map<std::uint64_t, thing> syncs_;
};

// Everything that began has ended, once, and never before it began.
void expect_laws(const std::vector<event>& events, const std::string& where) {
  enum : std::uint8_t { unborn, alive, over };
  std::map<std::uint64_t, int> tasks;
  std::map<std::uint64_t, int> regions{{1, alive}};  // The root is there from the beginning.
  std::map<std::uint64_t, int> promises;
  std::map<std::uint64_t, std::uint64_t> inside_of;  // The live tasks of a region.
  std::map<std::uint64_t, std::uint64_t> home;
  std::uint64_t timers = 0;
  std::uint64_t gone = 0;
  std::uint64_t seq = 0;
  std::uint64_t time = 0;
  things_of_a_journal things(where);
  const auto moves = [&](std::map<std::uint64_t, int>& of, std::uint64_t who, int from, int to, const event& e) {
    int& now = of[who];
    EXPECT_EQ(now, from) << where << ": event " << e.seq << " kind " << static_cast<int>(e.kind) << " of " << who;
    now = to;
  };
  for (const event& e : events) {
    if (is_semantic(e.kind)) {
      EXPECT_EQ(e.seq, seq + 1) << where;
      seq = e.seq;
    }
    EXPECT_GE(e.time_ns, time) << where << ": event " << e.seq;
    time = e.time_ns;
    EXPECT_LE(e.cause, e.seq) << where;
    things.take(e);
    switch (e.kind) {
      case event_kind::region_created: moves(regions, e.subject, unborn, alive, e); break;
      case event_kind::region_closed:
        moves(regions, e.subject, alive, over, e);
        EXPECT_EQ(inside_of[e.subject], 0U) << where << ": region " << e.subject << " closed around a task";
        break;
      case event_kind::task_spawned:
        moves(tasks, e.subject, unborn, alive, e);
        home[e.subject] = e.object;
        ++inside_of[e.object];
        break;
      case event_kind::task_dispatched:
        EXPECT_EQ(tasks[e.subject], alive) << where << ": event " << e.seq << " dispatches one that is over";
        break;
      case event_kind::task_failed_at_spawn:
      case event_kind::task_completed:
      case event_kind::task_completed_unobserved:
      case event_kind::task_completed_in_cleanup:
      case event_kind::task_finalized:
        moves(tasks, e.subject, alive, over, e);
        --inside_of[home[e.subject]];
        break;
      case event_kind::obligation_reserved: moves(promises, e.subject, unborn, alive, e); break;
      case event_kind::obligation_committed:
      case event_kind::obligation_aborted:
      case event_kind::obligation_leaked: moves(promises, e.subject, alive, over, e); break;
      case event_kind::timer_registered: ++timers; break;
      case event_kind::timer_fired:
      case event_kind::timer_cancelled: ++gone; break;
      default: break;
    }
  }
  for (const auto& [task, state] : tasks) EXPECT_EQ(state, over) << where << ": task " << task;
  for (const auto& [region, state] : regions) EXPECT_EQ(state, over) << where << ": region " << region;
  for (const auto& [promise, state] : promises) EXPECT_EQ(state, over) << where << ": obligation " << promise;
  EXPECT_EQ(timers, gone) << where;
  things.finish();
  EXPECT_FALSE(tasks.empty());
}

TEST(workers_replay_stress, the_journal_of_several_workers_is_one_legal_order) {
  const std::uint64_t most = rounds(40);
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t i = 1; i <= most && !HasFailure(); ++i) {
      threads_config how = crew_of(workers, i);
      how.is_virtual = i % 4 == 0;
      const played run = play(how, i, i);
      const std::string where = std::to_string(workers) + " workers, program " + std::to_string(i);
      expect_laws(run.events, where);
      const schedule_verdict verdict = check_schedule(run.events);
      EXPECT_TRUE(verdict.accepted()) << where << "\n" << explain(verdict);
      EXPECT_EQ(verdict.unchecked, 0U) << where;
      EXPECT_GT(verdict.dispatches, 5U);
    }
  }
}

}  // namespace
}  // namespace asx::stress
