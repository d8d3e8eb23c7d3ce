// Recorded orders of one worker, which needs no thread: what is compared, judged and told. Several workers, and stacks
// that take turns, are in tests/stress/workers_one_thread_stress.cpp.
#include "asx/lab/replay_workers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"

namespace asx {
namespace {

using whole_program = std::function<void(runtime&)>;

template <class F>
whole_program running(F f) {
  return [f](runtime& rt) {
    static_cast<void>(run_in(rt, f));
    static_cast<void>(rt.shutdown());
  };
}

task<> ticks(cx c, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    co_await start(c, [](cx) -> task<> { co_await yield(); });
    co_await sleep(duration::microseconds(10));
  }
}
whole_program ticking(std::uint64_t times) {
  return running([times](cx c) { return ticks(c, times); });
}

struct recorded_run {
  entry_order order;
  live_recording journal;
  digest128 digest{};
};

recorded_run record(const whole_program& all, bool is_virtual = false) {
  recorded_run out;
  threaded_runtime rt({.workers = 1, .is_virtual = is_virtual, .record = &out.order}, {.seed = 3});
  all(*rt);
  out.digest = rt->journal().digest();
  EXPECT_EQ(read_recording(rt->journal(), out.journal), status::ok);
  return out;
}

TEST(replay_workers, gives_the_same_run_in_virtual_time_and_on_a_clock) {
  for (const bool is_virtual : {false, true}) {
    const recorded_run there = record(ticking(5), is_virtual);
    EXPECT_EQ(there.order.is_virtual(), is_virtual);
    const workers_replay again = replay_workers(there.order, {.seed = 4}, ticking(5), {.journal = &there.journal});
    EXPECT_TRUE(again.is_same()) << again.report() << "the seed is the order's";
    EXPECT_EQ(again.entries, there.order.entries());
    EXPECT_NE(again.report().find("the same run"), std::string::npos);
    EXPECT_EQ(again.finding, "");
  }
}

TEST(replay_workers, tells_the_first_event_that_differs) {
  const recorded_run there = record(ticking(5), true);
  const workers_replay other = replay_workers(there.order, {}, running([](cx c) -> task<> {
                                                co_await start(c, [](cx) -> task<> { co_await yield(); });
                                                co_await sleep(duration::microseconds(11));
                                              }),
                                              {.journal = &there.journal});
  EXPECT_FALSE(other.is_same());
  ASSERT_TRUE(other.found.run);
  EXPECT_EQ(other.found.run->kind, event_kind::timer_registered) << other.report();
}

TEST(replay_workers, tells_another_digest_and_how_many_entries_there_are) {
  const recorded_run there = record(ticking(5), true);
  const workers_replay other = replay_workers(there.order, {}, ticking(6));
  EXPECT_NE(other.report().find("the program is another"), std::string::npos) << other.report();
  EXPECT_NE(other.report().find("does more now"), std::string::npos) << other.report();
  const workers_replay less = replay_workers(there.order, {}, ticking(4));
  EXPECT_FALSE(less.is_same());
  EXPECT_NE(less.report().find("did more when it was recorded"), std::string::npos) << less.report();
}

TEST(replay_workers, follows_a_journal_that_was_cut_as_far_as_it_goes) {
  recorded_run there = record(ticking(5), true);
  there.journal.events.resize(there.journal.events.size() / 2);
  there.journal.is_whole = false;
  const workers_replay again = replay_workers(there.order, {}, ticking(5), {.journal = &there.journal});
  EXPECT_TRUE(again.is_same()) << again.report();
  EXPECT_EQ(again.found.compared, there.journal.events.size());
}

TEST(replay_workers, plays_a_program_that_leaves_the_end_to_its_runtime) {
  const whole_program all = [](runtime& rt) { static_cast<void>(run_in(rt, [](cx c) { return ticks(c, 2); })); };
  entry_order order;
  {
    threaded_runtime rt({.workers = 1, .is_virtual = true, .record = &order});
    all(*rt);
  }
  EXPECT_TRUE(replay_workers(order, {}, all).is_same());
}

// Goal:   what is compared is what was recorded, and not what came after it.
// Method: an order that was taken after the first of two runs.
TEST(replay_workers, compares_as_many_runs_as_were_recorded) {
  const auto run_once = [](runtime& rt, std::uint64_t times) {
    static_cast<void>(run_in(rt, [times](cx c) { return ticks(c, times); }));
  };
  entry_order order;
  std::vector<std::uint8_t> early;
  {
    threaded_runtime rt({.workers = 1, .is_virtual = true, .record = &order});
    run_once(*rt, 2);
    early = order.save();
    run_once(*rt, 3);
  }
  entry_order first;
  ASSERT_EQ(entry_order::load(early, first), status::ok);
  EXPECT_LT(first.runs(), order.runs());
  const auto twice = [&](std::uint64_t then, std::uint64_t last) {
    return [&run_once, then, last](runtime& rt) {
      run_once(rt, then);
      run_once(rt, last);
    };
  };
  EXPECT_TRUE(replay_workers(first, {}, twice(2, 9)).is_same());
  EXPECT_FALSE(replay_workers(first, {}, twice(3, 3)).is_same());
  EXPECT_TRUE(replay_workers(order, {}, twice(2, 3)).is_same());
  EXPECT_FALSE(replay_workers(order, {}, twice(2, 9)).is_same());
  const workers_replay once = replay_workers(order, {}, [&](runtime& rt) { run_once(rt, 2); });
  EXPECT_NE(once.report().find("runs, and this one"), std::string::npos) << once.report();
}

// What is done behind the last run is a part of it, too.
TEST(replay_workers, compares_what_is_done_when_nobody_runs) {
  const auto with = [](bool does_more) -> whole_program {
    return [does_more](runtime& rt) {
      static_cast<void>(run_in(rt, [](cx c) { return ticks(c, 2); }));
      if (does_more) {
        const auto ends = channel<int>(rt.kernel(), rt.root(), 1);
        EXPECT_EQ(ends.code, status::ok);
      }
      static_cast<void>(rt.shutdown(duration::seconds(1)));
    };
  };
  const recorded_run there = record(with(false), true);
  EXPECT_TRUE(there.order.is_ended());
  EXPECT_TRUE(replay_workers(there.order, {}, with(false)).is_same());
  const workers_replay more = replay_workers(there.order, {}, with(true));
  EXPECT_NE(more.report().find("behind its last run"), std::string::npos) << more.report();
}

// Goal:   an order that was kept when its program hung or died is no proof of anything.
// Method: it is saved in the first run, and played by the same program, by another one and by none.
TEST(replay_workers, says_when_there_is_nothing_to_compare) {
  entry_order order;
  std::vector<std::uint8_t> early;
  const auto saving = [&](runtime& rt) {
    static_cast<void>(run_in(rt, [&](cx c) -> task<> {
      co_await ticks(c, 2);
      early = order.save();
    }));
  };
  live_recording journal;
  {
    threaded_runtime rt({.workers = 1, .is_virtual = true, .record = &order});
    saving(*rt);
    EXPECT_EQ(read_recording(rt->journal(), journal), status::ok);
  }
  entry_order kept;
  ASSERT_EQ(entry_order::load(early, kept), status::ok);
  EXPECT_EQ(kept.runs(), 0U);
  for (const whole_program& any : {whole_program(saving), ticking(7), whole_program([](runtime&) {})}) {
    const workers_replay played = replay_workers(kept, {}, any);
    EXPECT_FALSE(played.is_same());
    EXPECT_NE(played.report().find("nothing to compare it with"), std::string::npos) << played.report();
  }
  journal.is_whole = false;  // As far as it goes, it is one.
  EXPECT_TRUE(replay_workers(kept, {}, saving, {.journal = &journal}).is_same());
}

TEST(replay_workers, judges_the_run_that_it_played) {
  const whole_program leaks = running([](cx c) -> task<> {
    obligation_handle promised;
    EXPECT_EQ(c.kernel().reserve(c.region(), promised), status::ok);
    co_await yield();
  });
  const recorded_run there = record(leaks, true);
  const workers_replay again = replay_workers(there.order, {}, leaks);
  EXPECT_TRUE(again.is_same()) << again.report();
  EXPECT_EQ(again.finding, "1 obligation leaked");
  EXPECT_NE(again.report().find("found: 1 obligation leaked"), std::string::npos);

  const whole_program fails = running([](cx c) -> task<> {
    co_await start(c, [](cx) -> task<> {
      co_await yield();
      co_await fail(status::full);
    });
  });
  const recorded_run lost = record(fails, true);
  const workers_replay heard = replay_workers(lost.order, {}, fails);
  EXPECT_TRUE(heard.is_same()) << heard.report();
  EXPECT_NE(heard.finding.find("which nobody joined"), std::string::npos) << heard.finding;
}

TEST(replay_workers, plays_nothing_that_is_not_whole) {
  recorded_run there = record(ticking(1), true);
  there.order.spoil();
  const workers_replay none = replay_workers(there.order, {}, [](runtime&) { ADD_FAILURE(); });
  EXPECT_EQ(none.code, status::invalid_argument);
  EXPECT_FALSE(none.is_same());
  EXPECT_NE(none.report().find("not played"), std::string::npos) << none.report();
}

}  // namespace
}  // namespace asx
