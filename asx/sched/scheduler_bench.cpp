// What a choice costs: push and pop with many others queued, beside std::priority_queue and the bare bitmap queue.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "asx/base/bitmap_queue.hpp"
#include "asx/base/random.hpp"
#include "asx/sched/scheduler.hpp"

namespace {

using asx::lane;

struct tasks {
  explicit tasks(std::size_t count) : places(std::make_unique<asx::place[]>(count)), size(count) {}
  std::unique_ptr<asx::place[]> places;
  std::size_t size;
};

asx::sched_config config_for(std::size_t tasks, std::uint32_t timed_limit = 64) {
  return {.max_places = static_cast<std::uint32_t>(tasks), .timed_streak_limit = timed_limit};
}

void empty_lanes(asx::scheduler& s) {
  while (s.next(0).who != nullptr) {
  }
}

// One ready task is dispatched and queued again, beside `others`.
void ready_push_pop(benchmark::State& state) {
  tasks all(static_cast<std::size_t>(state.range(0)));
  asx::scheduler s(config_for(all.size));
  if (s.admit(static_cast<std::uint32_t>(all.size)) != asx::status::ok) return state.SkipWithError("no memory");
  for (std::size_t i = 0; i < all.size; ++i)
    s.push(0, all.places[i], lane::ready, static_cast<std::uint8_t>(i % 7 + 100));
  for (auto _ : state) {
    asx::place* const p = s.next(0).who;
    s.push(0, *p, lane::ready, p->priority());
  }
  empty_lanes(s);
}
BENCHMARK(ready_push_pop)->Arg(1)->Arg(1'000)->Arg(100'000);

void timed_push_pop(benchmark::State& state) {
  tasks all(static_cast<std::size_t>(state.range(0)));
  asx::scheduler s(config_for(all.size, 0));
  if (s.admit(static_cast<std::uint32_t>(all.size)) != asx::status::ok) return state.SkipWithError("no memory");
  asx::splitmix64 random(1);
  for (std::size_t i = 0; i < all.size; ++i) s.push(0, all.places[i], lane::timed, 128, {random.next_below(1'000'000)});
  for (auto _ : state) {
    asx::place* const p = s.next(0).who;
    s.push(0, *p, lane::timed, 128, {p->deadline().ns + random.next_below(1'000'000)});
  }
  empty_lanes(s);
}
BENCHMARK(timed_push_pop)->Arg(1)->Arg(1'000)->Arg(100'000);

// ---- floors -------------------------------------------------------------------------------------------------------

struct bare : asx::list_hook<struct bare_tag> {
  std::uint8_t priority = 0;
};

void floor_bitmap_queue(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto all = std::make_unique<bare[]>(count);
  asx::bitmap_queue<bare, bare_tag> queue;
  for (std::size_t i = 0; i < count; ++i) {
    all[i].priority = static_cast<std::uint8_t>(i % 7 + 100);
    queue.push(all[i], all[i].priority);
  }
  for (auto _ : state) {
    bare* const b = queue.pop();
    queue.push(*b, b->priority);
    benchmark::ClobberMemory();
  }
  while (queue.pop() != nullptr) {
  }
}
BENCHMARK(floor_bitmap_queue)->Arg(1)->Arg(1'000)->Arg(100'000);

struct entry {
  std::uint64_t key;
  std::uint64_t seq;
  void* who;
  bool operator<(const entry& o) const { return key != o.key ? key > o.key : seq > o.seq; }
};

void floor_priority_queue_ready(benchmark::State& state) {
  std::priority_queue<entry> queue;
  std::uint64_t seq = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) queue.push({static_cast<std::uint64_t>(i % 7), ++seq, nullptr});
  for (auto _ : state) {
    const entry e = queue.top();
    queue.pop();
    queue.push({e.key, ++seq, e.who});
  }
}
BENCHMARK(floor_priority_queue_ready)->Arg(1)->Arg(1'000)->Arg(100'000);

void floor_priority_queue_timed(benchmark::State& state) {
  std::priority_queue<entry> queue;
  std::uint64_t seq = 0;
  asx::splitmix64 random(1);
  for (std::int64_t i = 0; i < state.range(0); ++i) queue.push({random.next_below(1'000'000), ++seq, nullptr});
  for (auto _ : state) {
    const entry e = queue.top();
    queue.pop();
    queue.push({e.key + random.next_below(1'000'000), ++seq, e.who});
  }
}
BENCHMARK(floor_priority_queue_timed)->Arg(1)->Arg(1'000)->Arg(100'000);

}  // namespace
