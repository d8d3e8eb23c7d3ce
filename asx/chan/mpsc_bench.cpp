// What one message costs, without and with a task around it, beside a bare ring. The journal is off. Loops inside a
// task run in one poll, so that the scheduler is not measured; bench/channel measures it.
#include "asx/chan/mpsc.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "asx/runtime/runtime.hpp"

namespace {

using asx::status;

constexpr std::uint32_t capacity = 64;

asx::runtime_config quiet() {
  asx::runtime_config config;
  config.journaling = asx::journal_mode::off;
  config.behaviour.ghosts = asx::ghost_mode::off;
  return config;
}

// A runtime with one channel. `in_task` calls body(cx) in the only poll of a task.
struct world {
  world() : rt(quiet()), ends(asx::channel<std::uint64_t>(rt.kernel(), rt.root(), capacity)) {}

  template <class Body>
  void in_task(benchmark::State& state, Body body) {
    asx::task_handle task;
    const asx::task_spec spec{.poll =
                                  [](void* self, asx::cx& c) {
                                    (*static_cast<Body*>(self))(c);
                                    return asx::poll_result::ready;
                                  },
                              .context = &body};
    if (ends.code != status::ok || rt.kernel().spawn(rt.root(), spec, task) != status::ok) {
      return state.SkipWithError("no channel or no task");
    }
    rt.run_until_idle();
  }

  asx::runtime rt;
  asx::channel_ends<std::uint64_t> ends;
};

void try_send_try_recv(benchmark::State& state) {
  world w;
  std::uint64_t sum = 0, value = 0;
  for (auto _ : state) {
    if (w.ends.tx.try_send(++value).code != status::ok) return state.SkipWithError("full");
    sum += w.ends.rx.try_recv().value.value_or(0);
  }
  if (sum != value * (value + 1) / 2) state.SkipWithError("a value was lost");
}
BENCHMARK(try_send_try_recv);

void try_reserve_send_try_recv(benchmark::State& state) {
  world w;
  std::uint64_t sum = 0, value = 0;
  for (auto _ : state) {
    asx::send_permit<std::uint64_t> permit;
    if (w.ends.tx.try_reserve(permit) != status::ok) return state.SkipWithError("full");
    if (permit.send(++value).code != status::ok) return state.SkipWithError("refused");
    sum += w.ends.rx.try_recv().value.value_or(0);
  }
  if (sum != value * (value + 1) / 2) state.SkipWithError("a value was lost");
}
BENCHMARK(try_reserve_send_try_recv);

// `range` messages are sent, then received, as a producer and a consumer that take turns do it.
void reserve_send_recv_in_task(benchmark::State& state) {
  world w;
  w.in_task(state, [&](asx::cx& c) {
    asx::reserve_wait wait;
    std::uint64_t sum = 0, value = 0;
    for (auto _ : state) {
      for (std::int64_t i = 0; i < state.range(0); ++i) {
        asx::send_permit<std::uint64_t> permit;
        if (w.ends.tx.poll_reserve(c, wait, permit) != status::ok) return state.SkipWithError("full");
        if (permit.send(++value).code != status::ok) return state.SkipWithError("refused");
      }
      for (std::int64_t i = 0; i < state.range(0); ++i) sum += w.ends.rx.poll_recv(c).value.value_or(0);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(value));
    if (sum != value * (value + 1) / 2) state.SkipWithError("a value was lost");
  });
}
BENCHMARK(reserve_send_recv_in_task)->Arg(1)->Arg(capacity);

void reserve_abort_in_task(benchmark::State& state) {
  world w;
  w.in_task(state, [&](asx::cx& c) {
    asx::reserve_wait wait;
    for (auto _ : state) {
      asx::send_permit<std::uint64_t> permit;
      if (w.ends.tx.poll_reserve(c, wait, permit) != status::ok) return state.SkipWithError("full");
      permit.abort();
    }
  });
}
BENCHMARK(reserve_abort_in_task);

// The answer would_block: a waker is renewed, and nothing else happens.
void recv_when_empty_in_task(benchmark::State& state) {
  world w;
  w.in_task(state, [&](asx::cx& c) {
    for (auto _ : state) {
      if (w.ends.rx.poll_recv(c).code != status::would_block) return state.SkipWithError("not empty");
    }
  });
}
BENCHMARK(recv_when_empty_in_task);

// A full channel, and the newest value is worth more than the oldest.
void send_evict_oldest_when_full(benchmark::State& state) {
  world w;
  for (std::uint64_t i = 0; i < capacity; ++i) {
    if (w.ends.tx.try_send(i).code != status::ok) return state.SkipWithError("full");
  }
  std::uint64_t value = capacity, evicted = 0;
  for (auto _ : state) evicted += w.ends.tx.send_evict_oldest(value++).evicted.has_value();
  if (evicted != value - capacity) state.SkipWithError("nothing was evicted");
}
BENCHMARK(send_evict_oldest_when_full);

void make_and_free(benchmark::State& state) {
  asx::runtime rt(quiet());
  for (auto _ : state) {
    const auto ends = asx::channel<std::uint64_t>(rt.kernel(), rt.root(), static_cast<std::uint32_t>(state.range(0)));
    if (ends.code != status::ok) return state.SkipWithError("no channel");
  }
}
BENCHMARK(make_and_free)->Arg(1)->Arg(capacity)->Arg(1024);

// ---- floor --------------------------------------------------------------------------------------------------------

struct ring {
  std::uint64_t slots[capacity];
  std::uint64_t sent = 0, received = 0;
};

void floor_ring(benchmark::State& state) {
  const auto r = std::make_unique<ring>();
  std::uint64_t sum = 0, value = 0;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      if (r->sent - r->received == capacity) return state.SkipWithError("full");
      r->slots[r->sent++ % capacity] = ++value;
      benchmark::ClobberMemory();
    }
    for (std::int64_t i = 0; i < state.range(0) && r->sent != r->received; ++i) {
      sum += r->slots[r->received++ % capacity];
      benchmark::ClobberMemory();
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(value));
  if (sum != value * (value + 1) / 2) state.SkipWithError("a value was lost");
}
BENCHMARK(floor_ring)->Arg(1)->Arg(capacity);

}  // namespace
