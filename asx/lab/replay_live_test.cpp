// Live runs played again, on a clock that moves by itself and with others who speak while the runtime parks. With real
// threads: tests/stress/replay_live_stress.cpp.
#include "asx/lab/replay_live.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/chan/mpsc.hpp"
#include "asx/coro/blocking.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/journal/file.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;

// Time that is never the same, and others who speak when nobody looks.
struct restless_world {
  explicit restless_world(std::uint64_t seed) : draw(seed, 0, random_stream::faults) {}
  splitmix64 draw;
  std::uint64_t ns = 0;
  bool is_told = false;
  std::function<void(restless_world&)> others;

  [[nodiscard]] runtime_config config() {
    runtime_config c;
    c.contract.max_trace_events = 1U << 16;
    c.clock = {this, [](void* self) noexcept {
                 auto& w = *static_cast<restless_world*>(self);
                 return instant{w.ns += 1 + w.draw.next_below(5'000)};
               }};
    c.park = {this,
              [](void* self, instant, instant until) noexcept {
                auto& w = *static_cast<restless_world*>(self);
                if (w.others) w.others(w);
                if (std::exchange(w.is_told, false)) return;
                if (until.is_none()) {
                  w.ns += 1'000'000;
                } else if (w.ns < until.ns) {
                  w.ns = until.ns + w.draw.next_below(100'000);  // Late, as a thread is.
                }
              },
              [](void* self) noexcept { static_cast<restless_world*>(self)->is_told = true; }};
    return c;
  }
};

task<> waits_long(cx) {
  co_await sleep(duration::milliseconds(50));
}

// A program with a bit of everything. `pace` is what a change of the program looks like.
struct errands {
  blocking_pool pool;
  foreign_handle bell;  // The others ring it.
  int rings = 0;
  std::uint64_t pace = 3;
  std::vector<std::uint64_t> seen;

  task<> produce(cx c, sender<int> tx) {
    for (int i = 0; i < 6; ++i) {
      co_await sleep(duration::milliseconds(pace));
      seen.push_back(c.now().ns);
      co_await send(tx, i);
    }
  }
  task<> consume(cx, receiver<int> rx) {
    int sum = 0;
    while (auto got = co_await recv(rx)) {
      const int v = *got;
      sum += co_await blocking(pool, [v] { return v * v; });
    }
    EXPECT_EQ(sum, 55);
  }
  // Counts how often it is rung; ends with the fifth.
  struct ring_op {
    errands* self;
    int wanted;
    explicit ring_op(errands& e, int n) noexcept : self(&e), wanted(n) {}
    status poll(cx& c) noexcept {
      if (const status s = c.checkpoint(); s != status::ok) return s;
      if (self->has_opened && ++self->rings >= wanted) return status::ok;
      if (!self->has_opened) {
        EXPECT_EQ(open_foreign(c, self->bell), status::ok);
      }
      self->has_opened = true;
      static_cast<void>(c.get_waker());
      return status::would_block;
    }
    void take() const noexcept {}
  };
  bool has_opened = false;
  bool was_done = false;
  task<> listen(cx) {
    co_await ring_op(*this, 5);
    bell.drop();
  }

  void run(runtime& rt) {
    auto main = spawn_in(rt.kernel(), rt.root(), {.name = "main"}, [this](cx c) -> task<> {
      auto made = channel<int>(c, 2);
      EXPECT_EQ(made.code, status::ok);
      auto a =
          co_await start(c, [this](cx in, sender<int> tx) { return produce(in, std::move(tx)); }, std::move(made.tx));
      auto b =
          co_await start(c, [this](cx in, receiver<int> rx) { return consume(in, std::move(rx)); }, std::move(made.rx));
      auto l = co_await start(c, [this](cx in) { return listen(in); });
      co_await join(a);
      co_await join(b);
      co_await join(l);
    });
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    was_done = main.handle.is_done();
    main.handle.drop();
    rt.run_until_idle();
    EXPECT_TRUE(rt.shutdown(duration::milliseconds(1)).is_quiescent());
  }
};

struct lived {
  live_recording recording;
  digest128 digest{};
  std::vector<std::uint64_t> seen;
};

lived live(std::uint64_t seed) {
  restless_world w(seed);
  errands e;
  runtime rt(w.config());
  w.others = [&e](restless_world& at) {
    if (!e.bell.is_null() && at.draw.next_below(3) == 0) e.bell.wake();
  };
  e.run(rt);
  EXPECT_TRUE(e.was_done);
  expect_legal(rt);
  lived out;
  EXPECT_EQ(read_recording(rt.journal(), out.recording), status::ok);
  out.digest = rt.journal().digest();
  out.seen = e.seen;
  return out;
}

TEST(replay_live, gives_the_same_digest_for_a_program_whose_inputs_come_through_asx) {  // laws 1, 2
  std::vector<digest128> all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const lived run = live(seed);
    all.push_back(run.digest);
    errands e;
    const live_replay again = replay_live(run.recording, restless_world(99).config(), [&e](runtime& rt) { e.run(rt); });
    ASSERT_TRUE(again.is_same()) << again.report();
    EXPECT_EQ(again.digest, run.digest);
    EXPECT_EQ(e.seen, run.seen) << "it saw the same times";
    EXPECT_GT(again.inputs_given, 6U) << "a replay that is given nothing proves nothing";
  }
  EXPECT_NE(all.front(), all.back()) << "live runs differ; a replay that ignored its recording would not notice";
}

TEST(replay_live, shows_the_first_event_that_a_changed_program_does_otherwise) {  // law 3
  const lived run = live(7);
  errands changed;
  changed.pace = 4;
  const live_replay again =
      replay_live(run.recording, restless_world(99).config(), [&changed](runtime& rt) { changed.run(rt); });
  ASSERT_FALSE(again.is_same());
  ASSERT_TRUE(again.found.reference && again.found.run);
  EXPECT_EQ(again.found.reference->kind, event_kind::timer_registered);
  EXPECT_EQ(again.found.run->kind, event_kind::timer_registered);
  EXPECT_EQ(again.found.run->a - again.found.reference->a, duration::milliseconds(1).ns);
  EXPECT_NE(again.report().find("timer"), std::string::npos) << again.report();
}

TEST(replay_live, plays_cancels_and_shutdowns_from_outside) {
  restless_world w(3);
  struct patient {
    foreign_handle h;
    int polls = 0;
    void run(runtime& rt) {
      testing::body b{[this](cx& c) {
        ++polls;
        if (h.is_null() && polls == 1) {
          EXPECT_EQ(open_foreign(c, h), status::ok);
        }
        if (c.checkpoint() != status::ok) return poll_result::ready;
        static_cast<void>(c.get_waker());
        return poll_result::pending;
      }};
      testing::body other{[](cx& c) {
        if (c.checkpoint() != status::ok) return poll_result::ready;
        static_cast<void>(c.get_waker());
        return poll_result::pending;
      }};
      testing::must_spawn(rt, rt.root(), b, {}, false);
      testing::must_spawn(rt, rt.root(), other, {}, false);
      EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
      h.drop();
      EXPECT_TRUE(rt.shutdown().is_quiescent());
    }
  };
  live_recording recording;
  {
    patient p;
    runtime rt(w.config());
    int turn = 0;
    w.others = [&](restless_world&) {
      ++turn;
      if (turn == 2) p.h.wake();
      if (turn == 4) p.h.cancel(cancel_kind::timeout);
      if (turn == 6) p.h.shut_down();
    };
    p.run(rt);
    ASSERT_EQ(read_recording(rt.journal(), recording), status::ok);
  }
  patient p;
  const live_replay again = replay_live(recording, w.config(), [&p](runtime& rt) { p.run(rt); });
  EXPECT_TRUE(again.is_same()) << again.report();
  EXPECT_GE(again.inputs_given, 3U);
}

TEST(replay_live, reads_a_file_and_goes_on_by_itself_where_it_is_cut) {  // law 4
  std::vector<std::byte> bytes;
  const write_port to{&bytes, [](void* self, std::span<const std::byte> more) noexcept {
                        auto& all = *static_cast<std::vector<std::byte>*>(self);
                        all.insert(all.end(), more.begin(), more.end());
                        return static_cast<std::int64_t>(more.size());
                      }};
  {
    restless_world w(5);
    errands e;
    bin_writer file;
    ASSERT_EQ(file.open(heap_memory(), to, journal_header::of("core", 0), {.block_events = 32}), status::ok);
    runtime_config config = w.config();
    config.sink = file.sink();
    runtime rt(config);
    w.others = [&e](restless_world& at) {
      if (!e.bell.is_null() && at.draw.next_below(3) == 0) e.bell.wake();
    };
    e.run(rt);
    ASSERT_EQ(file.close(), status::ok);
  }
  std::span<const std::byte> whole(bytes);
  live_recording recording;
  ASSERT_EQ(read_recording(memory_reader(whole), recording).code, status::ok);
  EXPECT_TRUE(recording.is_whole);
  errands e;
  const auto config = restless_world(99).config();
  const live_replay again = replay_live(recording, config, [&e](runtime& rt) { e.run(rt); });
  EXPECT_TRUE(again.is_same()) << again.report();

  std::span<const std::byte> cut(bytes.data(), bytes.size() / 2);
  live_recording half;
  ASSERT_EQ(read_recording(memory_reader(cut), half).code, status::ok);
  EXPECT_FALSE(half.is_whole);
  ASSERT_GT(half.events.size(), 32U);
  errands late;
  const live_replay part = replay_live(half, config, [&late](runtime& rt) { late.run(rt); });
  EXPECT_TRUE(part.is_same()) << part.report();
  EXPECT_EQ(part.found.compared, half.events.size());
  EXPECT_FALSE(late.was_done) << "nobody rings after the end of the recording; shutdown ended it";
  errands changed;
  changed.pace = 4;
  EXPECT_FALSE(replay_live(half, config, [&changed](runtime& rt) { changed.run(rt); }).is_same());
}

// What no two runs measure alike.
struct measured {
  std::uint32_t degrees;
  std::uint32_t place;
};

// Sums up what three sensors say, each in a call; the last one is out of order.
struct weather {
  blocking_pool pool;
  std::uint32_t next = 0;  // What a sensor says; more each time.
  int calls = 0;
  std::uint64_t sum = 0;
  std::uint64_t pace = 1;

  void run(runtime& rt) {
    auto main = spawn_in(rt.kernel(), rt.root(), {.name = "main"}, [this](cx) -> task<> {
      for (std::uint32_t i = 0; i < 3; ++i) {
        const auto got = co_await blocking_kept(pool, [this, i] {
          ++calls;
          return measured{next += 7, i};
        });
        EXPECT_EQ(got.place, i);
        sum += got.degrees;
        // What it heard decides what it does.
        co_await sleep(duration::milliseconds(pace * (1 + got.degrees % 5)));
      }
      const auto exact = co_await blocking_kept(pool, [this] {
        ++calls;
        return std::array<double, 3>{0.5 + next, 1, 2};
      });
      sum += static_cast<std::uint64_t>(exact[0] * 2 + exact[2]);
    });
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    main.handle.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
};

TEST(replay_live, gives_what_a_call_gave_and_does_not_call) {
  std::vector<std::byte> bytes;
  const write_port to{&bytes, [](void* self, std::span<const std::byte> more) noexcept {
                        auto& all = *static_cast<std::vector<std::byte>*>(self);
                        all.insert(all.end(), more.begin(), more.end());
                        return static_cast<std::int64_t>(more.size());
                      }};
  weather there;
  there.next = 101;
  live_recording from_memory;
  {
    restless_world w(8);
    bin_writer file;
    ASSERT_EQ(file.open(heap_memory(), to, journal_header::of("core", 0)), status::ok);
    runtime_config config = w.config();
    config.sink = file.sink();
    runtime rt(config);
    there.run(rt);
    ASSERT_EQ(read_recording(rt.journal(), from_memory), status::ok);
    ASSERT_EQ(file.close(), status::ok);
  }
  EXPECT_EQ(there.calls, 4);
  std::span<const std::byte> whole(bytes);
  live_recording from_file;
  ASSERT_EQ(read_recording(memory_reader(whole), from_file).code, status::ok);
  EXPECT_EQ(from_file.values, from_memory.values);
  for (const live_recording* const recorded : {&from_memory, &from_file}) {
    weather here;  // Its sensors would say something else.
    const live_replay again =
        replay_live(*recorded, restless_world(99).config(), [&here](runtime& rt) { here.run(rt); });
    EXPECT_TRUE(again.is_same()) << again.report();
    EXPECT_EQ(here.sum, there.sum);
    EXPECT_EQ(here.calls, 0);
  }

  // Without the values it is another run: this is what they are for.
  live_recording forgetful = from_file;
  forgetful.values.clear();
  weather here;
  EXPECT_FALSE(replay_live(forgetful, restless_world(99).config(), [&here](runtime& rt) { here.run(rt); }).is_same());
  EXPECT_EQ(here.calls, 4);

  // Where a program parts from its recording it is on its own.
  weather changed;
  changed.pace = 2;
  EXPECT_FALSE(
      replay_live(from_file, restless_world(99).config(), [&changed](runtime& rt) { changed.run(rt); }).is_same());
  EXPECT_EQ(changed.calls, 3);
}

task<int> asks_a_broken_sensor(cx, blocking_pool* pool, int* calls) {
  co_return co_await blocking_kept(*pool, [calls]() -> int {
    ++*calls;
    throw std::runtime_error("no sensor");
  });
}

TEST(replay_live, calls_again_what_gave_no_value) {
  struct refuser {
    blocking_pool pool;
    int calls = 0;
    void run(runtime& rt) {
      auto main = spawn_in(rt.kernel(), rt.root(), {}, [this](cx c) -> task<> {
        const auto how = co_await attempt(asks_a_broken_sensor(c, &pool, &calls));
        EXPECT_TRUE(how.is_panicked());
      });
      EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
      main.handle.drop();
      EXPECT_TRUE(rt.shutdown().is_quiescent());
    }
  };
  restless_world w(9);
  live_recording recorded;
  refuser there;
  {
    runtime rt(w.config());
    there.run(rt);
    ASSERT_EQ(read_recording(rt.journal(), recorded), status::ok);
  }
  EXPECT_TRUE(recorded.values.empty());
  refuser here;
  const live_replay again = replay_live(recorded, w.config(), [&here](runtime& rt) { here.run(rt); });
  EXPECT_TRUE(again.is_same()) << again.report();
  EXPECT_EQ(here.calls, 1);
}

TEST(replay_live, finds_that_an_event_never_comes) {  // law 3
  const auto run = [](runtime& rt, bool has_second) {
    const auto sleeper = [](cx) -> task<> { co_await sleep(duration::milliseconds(1)); };
    auto first = spawn_in(rt.kernel(), rt.root(), {}, sleeper);
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    first.handle.drop();
    if (has_second) {
      auto second = spawn_in(rt.kernel(), rt.root(), {}, sleeper);
      EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
      second.handle.drop();
    }
    auto last = spawn_in(rt.kernel(), rt.root(), {}, waits_long);
    rt.run_until_quiescent();
    last.handle.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  };
  restless_world w(5);
  live_recording recorded;
  {
    runtime rt(w.config());
    run(rt, true);
    ASSERT_EQ(read_recording(rt.journal(), recorded), status::ok);
  }
  const live_replay same = replay_live(recorded, w.config(), [&](runtime& rt) { run(rt, true); });
  EXPECT_TRUE(same.is_same()) << same.report();
  const live_replay other = replay_live(recorded, w.config(), [&](runtime& rt) { run(rt, false); });
  EXPECT_FALSE(other.is_same());
}

TEST(replay_live, gives_what_arrived_in_two_steps_in_two_steps) {
  const auto run = [](runtime& rt, foreign_handle& a, foreign_handle& b) {
    auto sleeper = spawn_in(rt.kernel(), rt.root(), {}, waits_long);
    EXPECT_EQ(rt.foreign(sleeper.handle.task(), a), status::ok);
    EXPECT_EQ(rt.foreign(sleeper.handle.task(), b), status::ok);
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    sleeper.handle.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  };
  restless_world w(6);
  foreign_handle a;
  foreign_handle b;
  w.others = [&](restless_world& at) {  // One after the other, each while the runtime parks.
    at.ns += 1'000'000;
    (a.is_null() ? b : a).drop();
  };
  live_recording recorded;
  {
    runtime rt(w.config());
    run(rt, a, b);
    ASSERT_EQ(read_recording(rt.journal(), recorded), status::ok);
  }
  w.others = nullptr;
  const live_replay again = replay_live(recorded, w.config(), [&](runtime& rt) { run(rt, a, b); });
  EXPECT_TRUE(again.is_same()) << again.report();
}

TEST(replay_live, refuses_a_journal_that_does_not_begin_with_the_run) {
  runtime_config config;
  config.contract.max_trace_events = 8;
  runtime rt(config);
  testing::body b{[n = 0](cx& c) mutable {
    if (++n == 20) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  testing::must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_idle();
  live_recording out;
  EXPECT_EQ(read_recording(rt.journal(), out), status::invalid_argument);
}

}  // namespace
}  // namespace asx
