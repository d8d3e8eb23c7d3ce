// What a whole step costs with one task that yields for ever, beside the least code that could do it: a bitmap queue
// and a call through a pointer. The step looks at the time, asks the scheduler and leaves the certificate's counters.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <memory>

#include "asx/base/bitmap_queue.hpp"
#include "asx/runtime/worker_step.hpp"

namespace {

using asx::instant;

// The least that a host can be: every task yields, as a task's record would have it, through a function pointer.
struct yielding_host {
  struct record : asx::place {
    using place::place;
    void (*body)(void*) noexcept = nullptr;
    std::uint64_t polls = 0;
  };

  asx::scheduler& sched;

  instant next_due() noexcept { return instant::none(); }
  bool may_be_due(instant) noexcept { return false; }
  std::uint32_t pass_time(std::uint32_t, instant) noexcept { return 0; }
  void take_inputs(std::uint32_t, instant) noexcept {}
  std::uint64_t queued_by(asx::place&) noexcept { return 0; }
  void poll(std::uint32_t worker, asx::place& p, asx::dispatch_source, instant, std::uint64_t) noexcept {
    auto& r = static_cast<record&>(p);
    r.body(&r);
    sched.push(worker, p, asx::lane::ready, 128);
  }
  asx::place* take_stalled(std::uint32_t, instant) noexcept { return nullptr; }
  asx::pressure weigh() noexcept { return {}; }
};

void step(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  asx::scheduler sched(asx::sched_config{.max_places = static_cast<std::uint32_t>(count)});
  asx::journal log;
  asx::step_context context{sched, log};
  yielding_host host{sched};
  const auto all = std::make_unique<yielding_host::record[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].body = [](void* self) noexcept { ++static_cast<yielding_host::record*>(self)->polls; };
    sched.push(0, all[i], asx::lane::ready, 128);
  }
  for (auto _ : state) benchmark::DoNotOptimize(asx::worker_step(context, 0, host, instant{1}));
  while (sched.next(0).who != nullptr) {
  }
}
BENCHMARK(step)->Arg(1)->Arg(1'000);

struct bare : asx::list_hook<struct bare_tag> {
  void (*body)(void*) noexcept = nullptr;
  std::uint64_t polls = 0;
  std::uint8_t priority = 128;
};

void floor_queue_and_call(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto all = std::make_unique<bare[]>(count);
  asx::bitmap_queue<bare, bare_tag> queue;
  for (std::size_t i = 0; i < count; ++i) {
    all[i].body = [](void* self) noexcept { ++static_cast<bare*>(self)->polls; };
    queue.push(all[i], all[i].priority);
  }
  for (auto _ : state) {
    bare* const b = queue.pop();
    b->body(b);
    queue.push(*b, b->priority);
    benchmark::ClobberMemory();
  }
  while (queue.pop() != nullptr) {
  }
}
BENCHMARK(floor_queue_and_call)->Arg(1)->Arg(1'000);

}  // namespace
