// What the kernel costs under the step: a yield, a spawn with its end, a cancel, with the journal off, digesting and
// full.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "asx/runtime/runtime.hpp"

namespace {

using asx::cx;
using asx::poll_result;

asx::runtime_config config_with(asx::journal_mode mode) {
  asx::runtime_config config;
  config.contract = asx::resource_contract::server();
  config.contract.max_trace_events = 65'536;
  config.journaling = mode;
  return config;
}

poll_result yield_for_ever(void*, cx& c) {
  if (c.is_cancelled()) return poll_result::ready;
  c.yield();
  return poll_result::pending;
}
poll_result end_at_once(void*, cx&) {
  return poll_result::ready;
}
poll_result wait_for_cancel(void*, cx& c) {
  if (c.checkpoint() != asx::status::ok) return poll_result::ready;
  static_cast<void>(c.get_waker());
  return poll_result::pending;
}

void yield(benchmark::State& state) {
  asx::runtime rt(config_with(static_cast<asx::journal_mode>(state.range(0))));
  asx::task_handle t;
  for (std::int64_t i = 0; i < state.range(1); ++i) {
    if (rt.kernel().spawn(rt.root(), {.poll = yield_for_ever}, t) != asx::status::ok)
      return state.SkipWithError("spawn");
  }
  for (auto _ : state) benchmark::DoNotOptimize(rt.step(0));
}
BENCHMARK(yield)->ArgsProduct({{0, 1, 2}, {1, 1000}})->ArgNames({"journal", "tasks"});

void spawn_and_finish(benchmark::State& state) {
  asx::runtime rt(config_with(static_cast<asx::journal_mode>(state.range(0))));
  asx::task_handle t;
  for (auto _ : state) {
    for (int i = 0; i < 1'000; ++i) {
      if (rt.kernel().spawn(rt.root(), {.poll = end_at_once}, t) != asx::status::ok)
        return state.SkipWithError("spawn");
    }
    for (int i = 0; i < 1'000; ++i) rt.step(0);
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(spawn_and_finish)->Arg(0)->Arg(1)->Arg(2)->ArgName("journal");

void cancel_parked(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  for (auto _ : state) {
    state.PauseTiming();
    {
      asx::runtime rt(config_with(asx::journal_mode::off));
      asx::region_handle region;
      if (rt.kernel().create_region(rt.root(), {}, region) != asx::status::ok) return state.SkipWithError("region");
      asx::task_handle t;
      for (std::int64_t i = 0; i < count; ++i) {
        if (rt.kernel().spawn(region, {.poll = wait_for_cancel}, t) != asx::status::ok)
          return state.SkipWithError("spawn");
      }
      rt.run_until_idle();
      state.ResumeTiming();
      if (rt.kernel().close(region) != asx::status::ok) return state.SkipWithError("close");
      rt.run_until_idle();
      state.PauseTiming();
    }
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(cancel_parked)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
