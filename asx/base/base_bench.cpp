// What the lowest layer costs. Each figure stands beside a floor: an empty loop, or what the standard library offers.
//
//     g++ -std=c++20 -O2 -I. asx/base/base_bench.cpp <the sources of asx/base> -lbenchmark_main -lbenchmark -lpthread
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "asx/base/bitmap_queue.hpp"
#include "asx/base/conditional_lock.hpp"
#include "asx/base/hash.hpp"
#include "asx/base/random.hpp"
#include "asx/base/slab.hpp"

namespace {

using asx::slab;
using asx::slab_key;

struct record {
  explicit record(std::uint64_t number) : value(number) {}
  std::uint64_t value;
  std::array<std::uint64_t, 7> rest{};  // About as large as a small record of the kernel.
};

// ---- slab ---------------------------------------------------------------------------------------------------------

// One record comes and goes beside `live` others, always in the same slot.
void slab_allocate_release(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  slab<record> s(live + 1);
  for (std::uint32_t i = 0; i < live; ++i) benchmark::DoNotOptimize(s.allocate(i));
  for (auto _ : state) {
    const auto entry = s.allocate(1U);
    benchmark::DoNotOptimize(entry.record);
    s.release(entry.key);
  }
  state.counters["bytes_per_record"] = static_cast<double>(s.bytes()) / (live + 1.0);
}
BENCHMARK(slab_allocate_release)->Arg(1'000)->Arg(1'000'000);

// Records of random slots go and come, so that at 1M live every step meets cold memory.
void slab_release_random_allocate(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  slab<record> s(live);
  std::vector<slab_key> keys;
  for (std::uint32_t i = 0; i < live; ++i) keys.push_back(s.allocate(i).key);
  asx::splitmix64 random(1);
  for (auto _ : state) {
    slab_key& key = keys[random.next_below(live)];
    s.release(key);
    key = s.allocate(2U).key;
  }
}
BENCHMARK(slab_release_random_allocate)->Arg(1'000)->Arg(1'000'000);

// The floor of both: the general allocator, with as many blocks live.
void new_delete(benchmark::State& state) {
  std::vector<std::unique_ptr<record>> live;
  for (std::int64_t i = 0; i < state.range(0); ++i) live.push_back(std::make_unique<record>(1U));
  for (auto _ : state) {
    auto one = std::make_unique<record>(1U);
    benchmark::DoNotOptimize(one.get());
  }
}
BENCHMARK(new_delete)->Arg(1'000)->Arg(1'000'000);

void slab_find(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  slab<record> s(live);
  for (std::uint32_t i = 0; i < live; ++i) benchmark::DoNotOptimize(s.allocate(i));
  asx::splitmix64 random(1);
  for (auto _ : state) {
    const slab_key key{static_cast<std::uint32_t>(random.next_below(live)), 1};
    benchmark::DoNotOptimize(s.find(key));
  }
}
BENCHMARK(slab_find)->Arg(1'000)->Arg(1'000'000);

// A visit of `live` records in a slab of 262,144 reserved slots: the price of the free bits that are skipped.
void slab_for_each(benchmark::State& state) {
  slab<record> s(262'144);
  if (!s.reserve(262'144)) state.SkipWithError("no memory");
  for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(s.allocate(1U));
  for (auto _ : state) {
    std::uint64_t sum = 0;
    s.for_each([&sum](record& r, slab_key) { sum += r.value; });
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(slab_for_each)->Arg(10)->Arg(1'000)->Arg(100'000);

// ---- bitmap_queue -------------------------------------------------------------------------------------------------

struct queued : asx::list_hook<struct ready_tag> {
  std::uint8_t priority = 0;
};

// One element out, and in again with another priority, while `range` elements are queued.
void bitmap_queue_push_pop(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<queued> elements(count);
  asx::bitmap_queue<queued, struct ready_tag> q;
  asx::splitmix64 random(1);
  for (queued& e : elements) q.push(e, static_cast<std::uint8_t>(random.next()));
  for (auto _ : state) {
    queued* const e = q.pop();
    q.push(*e, static_cast<std::uint8_t>(random.next()));
  }
  while (q.pop() != nullptr) {
  }
}
BENCHMARK(bitmap_queue_push_pop)->Arg(1)->Arg(1'000);

// The same with a heap, which needs a counter to be first in, first out.
void priority_queue_push_pop(benchmark::State& state) {
  struct entry {
    std::uint8_t priority;
    std::uint64_t order;
    queued* element;
  };
  struct goes_later {
    bool operator()(const entry& a, const entry& b) const {
      return a.priority != b.priority ? a.priority < b.priority : a.order > b.order;
    }
  };
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<queued> elements(count);
  std::priority_queue<entry, std::vector<entry>, goes_later> q;
  asx::splitmix64 random(1);
  std::uint64_t order = 0;
  for (queued& e : elements) q.push({static_cast<std::uint8_t>(random.next()), order++, &e});
  for (auto _ : state) {
    const entry e = q.top();
    q.pop();
    q.push({static_cast<std::uint8_t>(random.next()), order++, e.element});
  }
}
BENCHMARK(priority_queue_push_pop)->Arg(1)->Arg(1'000);

// ---- conditional_lock ---------------------------------------------------------------------------------------------

void empty_loop(benchmark::State& state) {
  std::uint64_t counter = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(++counter);
  }
}
BENCHMARK(empty_loop);

// Opaque, so that the compiler cannot know whether the lock is on.
void conditional_lock_uncontended(benchmark::State& state) {
  bool on = state.range(0) != 0;
  benchmark::DoNotOptimize(on);
  asx::conditional_lock lock(on);
  asx::conditional_lock* opaque = &lock;
  benchmark::DoNotOptimize(opaque);
  std::uint64_t counter = 0;
  for (auto _ : state) {
    const asx::lock_guard guard(*opaque);
    benchmark::DoNotOptimize(++counter);
  }
}
BENCHMARK(conditional_lock_uncontended)->ArgName("on")->Arg(0)->Arg(1);

void std_mutex_uncontended(benchmark::State& state) {
  std::mutex lock;
  std::uint64_t counter = 0;
  for (auto _ : state) {
    const std::lock_guard guard(lock);
    benchmark::DoNotOptimize(++counter);
  }
}
BENCHMARK(std_mutex_uncontended);

// ---- random and hash ----------------------------------------------------------------------------------------------

void splitmix64_next(benchmark::State& state) {
  asx::splitmix64 random(1);
  for (auto _ : state) benchmark::DoNotOptimize(random.next());
}
BENCHMARK(splitmix64_next);

void splitmix64_next_below(benchmark::State& state) {
  asx::splitmix64 random(1);
  std::uint64_t bound = 7;
  benchmark::DoNotOptimize(bound);
  for (auto _ : state) benchmark::DoNotOptimize(random.next_below(bound));
}
BENCHMARK(splitmix64_next_below);

// One event of 64 bytes joins the running digest.
void digest_stream_add_64_bytes(benchmark::State& state) {
  std::array<std::byte, 64> event{};
  asx::digest_stream stream;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event.data());
    stream.add(event);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 64);
}
BENCHMARK(digest_stream_add_64_bytes);

// The same event as eight fields, one call each.
void digest_stream_add_8_fields(benchmark::State& state) {
  asx::digest_stream stream;
  std::uint64_t field = 0;
  for (auto _ : state) {
    for (int i = 0; i < 8; ++i) stream.add(++field);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 64);
}
BENCHMARK(digest_stream_add_8_fields);

// As above, and the digest is read after each event, as a step-by-step comparison of two runs does.
void digest_stream_add_64_bytes_and_read(benchmark::State& state) {
  std::array<std::byte, 64> event{};
  asx::digest_stream stream;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event.data());
    stream.add(event);
    benchmark::DoNotOptimize(stream.value());
  }
}
BENCHMARK(digest_stream_add_64_bytes_and_read);

void hash_bytes_64(benchmark::State& state) {
  std::array<std::byte, 64> bytes{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes.data());
    benchmark::DoNotOptimize(asx::hash_bytes(bytes));
  }
  state.SetBytesProcessed(state.iterations() * 64);
}
BENCHMARK(hash_bytes_64);

}  // namespace
