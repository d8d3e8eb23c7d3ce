// A program that a seed draws, run by several workers: what recorded runs and their replays are tried on.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asx/journal/compare.hpp"
#include "asx/runtime/entry_order.hpp"
#include "tests/stress/workers.hpp"

namespace asx::stress {

// ---- a program that a seed draws ------------------------------------------------------------------------------------

struct shared_things {
  std::array<sender<std::uint64_t>, 2> channels;
  mutex<std::uint64_t> count;
  semaphore units;
  notify bell;
};

class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : draws_(seed) {}
  std::uint64_t below(std::uint64_t n) noexcept { return draws_.next() % n; }
  std::uint64_t seed() noexcept { return draws_.next(); }

 private:
  splitmix64 draws_;
};

// What it does depends on its seed and on what asx tells it, the time among that, and on nothing else.
inline task<> acts(cx c, shared_things* all, std::uint64_t seed, std::uint32_t depth);

// Children that are waited for in the order of their ends, until it has had enough of them or of waiting.
inline task<> joins(cx c, shared_things* all, std::uint64_t seed, std::uint32_t depth) {
  dice d(seed);
  join_set<> set;
  for (std::uint64_t left = 1 + d.below(4); left != 0; --left) co_await set.start(c, acts, all, d.seed(), depth);
  static_cast<void>(co_await select(join_next(set), sleep(duration::microseconds(d.below(60)))));
  if (d.below(4) == 0) static_cast<void>(set.cancel());
  while (d.below(5) != 0) {
    const auto one = co_await join_next(set);
    if (!one) break;
  }
}

inline task<> acts(cx c, shared_things* all, std::uint64_t seed, std::uint32_t depth) {
  dice d(seed);
  for (std::uint64_t left = 2 + d.below(5); left != 0; --left) {
    switch (d.below(depth == 0 ? 9 : 14)) {
      case 0: co_await yield(); break;
      case 1: co_await sleep(duration::microseconds(d.below(40))); break;
      case 2: {
        auto& to = all->channels[static_cast<std::size_t>(d.below(2))];
        co_await send(to, d.below(100));
        break;
      }
      case 3: {
        auto held = co_await lock(all->count);
        ++*held;
        if (*held % 3 == 0) co_await yield();
        break;
      }
      case 4: {
        const auto held = co_await acquire(all->units, 1 + d.below(2));
        co_await yield();
        break;
      }
      case 5: {
        obligation_handle promised;
        if (c.kernel().reserve(c.region(), promised) != status::ok) break;
        if (d.below(2) == 0) co_await yield();
        if (d.below(4) == 0) break;  // Leaked.
        static_cast<void>(d.below(2) == 0 ? c.kernel().commit(promised) : c.kernel().abort(promised));
        break;
      }
      case 6: {
        const std::uint64_t now = c.now().ns;  // An input: a replay is told the same.
        for (std::uint64_t i = now / 1'000 % 3; i != 0; --i) co_await yield();
        break;
      }
      case 7: {
        const auto got = co_await select(wait(all->bell), sleep(duration::microseconds(d.below(20))));
        if (got.index() == 1) static_cast<void>(all->bell.notify_one());
        break;
      }
      case 8: static_cast<void>(all->bell.notify_all()); break;
      case 9: {  // A block, whose children are judged or not.
        const auto policy = static_cast<region_policy>(d.below(3));
        const std::uint64_t sown = d.seed();
        const std::uint64_t children = 1 + d.below(3);
        static_cast<void>(co_await attempt(region(c, {.policy = policy}, [all, sown, children, depth](cx r) -> task<> {
          for (std::uint64_t i = 0; i < children; ++i) {
            const auto one = spawn(r, acts, all, sown + i, depth - 1);
            if (one.code != status::ok) co_return;
          }
        })));
        break;
      }
      case 10: {  // A child that is cancelled a moment later, and joined.
        auto child = spawn(c, acts, all, d.seed(), depth - 1);
        if (child.code != status::ok) break;
        for (std::uint64_t i = d.below(4); i != 0; --i) co_await yield();
        if (d.below(2) == 0) static_cast<void>(child.handle.cancel());
        static_cast<void>(co_await join(child.handle));
        break;
      }
      case 11: {
        static_cast<void>(
            co_await attempt(region(c, {.policy = region_policy::body_decides}, joins, all, d.seed(), depth - 1)));
        break;
      }
      case 12: {
        std::array<std::uint64_t, 3> seeds{d.seed(), d.seed(), d.seed()};
        static_cast<void>(co_await attempt(first_ok(
            c, seeds, [all, depth](cx own, const std::uint64_t& one) { return acts(own, all, one, depth - 1); })));
        break;
      }
      default: {
        const duration limit = duration::microseconds(10 + d.below(100));
        static_cast<void>(co_await with_timeout(c, limit, acts, all, d.seed(), depth - 1));
        break;
      }
    }
    if (d.below(40) == 0) co_await fail(status::invalid_argument);
  }
}

inline task<> program(cx c, std::uint64_t seed) {
  shared_things all;
  EXPECT_EQ(mutex<std::uint64_t>::create(c, all.count, "count", std::uint64_t{0}), status::ok);
  EXPECT_EQ(semaphore::create(c, 3, all.units), status::ok);
  EXPECT_EQ(notify::create(c, all.bell), status::ok);
  auto* const shared = &all;
  co_await region(c, {.policy = region_policy::body_decides}, [shared, seed](cx r) -> task<> {
    for (auto& to : shared->channels) {
      auto ends = channel<std::uint64_t>(r, 2);
      EXPECT_EQ(ends.code, status::ok);
      to = std::move(ends.tx);
      co_await start(
          r,
          [](cx, receiver<std::uint64_t> from) -> task<> {
            while (const auto m = co_await recv(from)) {
              for (std::uint64_t i = *m % 3; i != 0; --i) co_await yield();
            }
          },
          moved(ends.rx));
    }
    static_cast<void>(co_await attempt(region(r, {.policy = region_policy::supervise}, [shared, seed](cx in) -> task<> {
      for (std::uint64_t i = 0; i < 4; ++i) co_await start(in, acts, shared, seed * 1'000 + i, 2U);
    })));
    for (auto& to : shared->channels) to.drop();
  });
}

struct played {
  std::vector<event> events;
  digest128 digest{};
  std::uint64_t steps = 0;
  static void take(void* self, std::span<const event> batch) noexcept {
    auto& to = static_cast<played*>(self)->events;
    to.insert(to.end(), batch.begin(), batch.end());
  }
};

// `what` is the seed of the program; the run's own seed, its workers and its threads are `how`'s.
inline played play(const threads_config& how, std::uint64_t what, std::uint64_t seed) {
  played out;
  runtime_config config = config_of(journal_mode::full, seed);
  config.sink = {&out, &played::take};
  config.contract.max_trace_events = 256;
  threaded_runtime rt(how, config);
  EXPECT_EQ(rt.start_status(), status::ok);
  {
    const hang_guard guard(rt, std::chrono::seconds(60));
    auto first = spawn_in(rt->kernel(), rt->root(), {.name = "first"}, program, what);
    EXPECT_EQ(first.code, status::ok);
    EXPECT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_TRUE(first.handle.is_done());
    first.handle.drop();
    expect_end(rt, "program " + std::to_string(what));
    rt->journal().settle();
    out.digest = rt->journal().digest();
  }
  return out;
}

inline comparison compare_runs(const played& reference, const played& run) {
  span_reader a(reference.events);
  span_reader b(run.events);
  return compare(source_of(a), source_of(b));
}

}  // namespace asx::stress
