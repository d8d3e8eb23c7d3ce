// bench/kernel_scale/asx.cpp - what one task costs as their number grows: a kernel must not care how many there are.
//
//     spawn       n tasks into n / 1000 regions, pools empty                                  ns a task
//     spawn_warm  the same when the pools have their chunks                                   ns a task
//     run         the first poll of each, which parks                                         ns a task
//     cancel      every region is closed: propagation alone                                   ns a task
//     end         the poll that cleans up, the dispatch that ends, the end of the regions     ns a task
//     churn       with n parked: spawn one, run it, let it end                                ns a round
//
// Processor time of the thread. Memory is what the runtime asked its port for. run.py interleaves processes and takes
// medians.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "asx/runtime/runtime.hpp"

namespace {

std::uint64_t machine_ns() {
  timespec t{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

// The heap, with a count of what is out.
struct counted_heap {
  std::size_t bytes = 0;
  [[nodiscard]] asx::memory_port port() {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              static_cast<counted_heap*>(self)->bytes += bytes;
              const asx::memory_port heap = asx::heap_memory();
              return heap.allocate(heap.context, bytes, alignment);
            },
            [](void* self, void* block, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<counted_heap*>(self)->bytes -= bytes;
              const asx::memory_port heap = asx::heap_memory();
              heap.release(heap.context, block, bytes, alignment);
            }};
  }
};

asx::poll_result waits(void*, asx::cx& c) {
  if (c.checkpoint() != asx::status::ok) return asx::poll_result::ready;
  static_cast<void>(c.get_waker());
  return asx::poll_result::pending;
}
asx::poll_result ends(void*, asx::cx&) {
  return asx::poll_result::ready;
}

void run(std::uint32_t n, asx::journal_mode mode) {
  counted_heap heap;
  asx::runtime_config config;
  config.contract = asx::resource_contract::server();
  config.journaling = mode;
  config.memory = heap.port();
  asx::runtime rt(config);
  require(rt.start_status() == asx::status::ok, "the runtime starts");
  asx::kernel& k = rt.kernel();
  const std::size_t at_start = heap.bytes;
  const std::uint32_t regions = n < 1000 ? 1 : n / 1000;
  std::vector<asx::region_handle> all(regions);

  const auto report = [&](const char* workload, std::uint64_t begin, std::uint64_t operations) {
    const double ns = static_cast<double>(machine_ns() - begin) / static_cast<double>(operations);
    std::printf("{\"workload\": \"%s\", \"n\": %u, \"journal\": \"%s\", \"ns_per_op\": %.2f}\n", workload, n,
                mode == asx::journal_mode::off ? "off" : "digest", ns);
  };
  for (int round = 0; round < 2; ++round) {
    std::uint64_t begin = machine_ns();
    for (std::uint32_t i = 0; i < regions; ++i) {
      require(k.create_region(rt.root(), {}, all[i]) == asx::status::ok, "a region is made");
      for (std::uint32_t j = 0; j < n / regions; ++j) {
        asx::task_handle t;
        require(k.spawn(all[i], {.poll = &waits}, t) == asx::status::ok, "a task is spawned");
      }
    }
    report(round == 0 ? "spawn" : "spawn_warm", begin, n);
    if (round == 0) {
      std::printf("{\"workload\": \"bytes\", \"n\": %u, \"journal\": \"%s\", \"ns_per_op\": %.2f}\n", n,
                  mode == asx::journal_mode::off ? "off" : "digest",
                  static_cast<double>(heap.bytes - at_start) / static_cast<double>(n));
    }
    begin = machine_ns();
    require(rt.run_until_idle(UINT64_MAX).ended == asx::status::ok, "every task is polled");
    if (round == 1) report("run", begin, n);
    if (round == 1) {
      constexpr std::uint32_t rounds = 100'000;
      begin = machine_ns();
      for (std::uint32_t i = 0; i < rounds; ++i) {
        asx::task_handle t;
        require(k.spawn(all[i % regions], {.poll = &ends}, t) == asx::status::ok, "a task is spawned");
        rt.step();
      }
      report("churn", begin, rounds);
      require(k.live_tasks() == n, "and has ended");
    }
    begin = machine_ns();
    for (const asx::region_handle r : all) require(k.close(r) == asx::status::ok, "a region closes");
    if (round == 1) report("cancel", begin, n);
    begin = machine_ns();
    require(rt.run_until_idle(UINT64_MAX).ended == asx::status::ok, "every task ends");
    if (round == 1) report("end", begin, n);
    require(k.live_tasks() == 0 && k.live_regions() == 1, "everything has ended");
  }
  require(rt.shutdown().is_quiescent(), "and is at rest");
}

}  // namespace

// Arguments: numbers of tasks; 10,000, 100,000 and a million by default.
int main(int argc, char** argv) {
  std::vector<std::uint32_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(static_cast<std::uint32_t>(std::atoi(argv[i])));
  if (sizes.empty()) sizes = {10'000, 100'000, 1'000'000};
  for (const std::uint32_t n : sizes) {
    run(n, asx::journal_mode::off);
    run(n, asx::journal_mode::digest_only);
  }
  return 0;
}
