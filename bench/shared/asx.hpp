// bench/shared/asx.hpp - how the programs of asx set up their runtime: as a program that was built to be fast. Journal
// and ghost monitors are off; assertions are on, as always.
#pragma once

#include <utility>

#include "asx/coro/spawn.hpp"
#include "asx/runtime/drive_workers.hpp"
#include "asx/runtime/runtime.hpp"
#include "bench/shared/measure.hpp"

namespace bench {

inline asx::runtime_config quiet(asx::journal_mode journaling = asx::journal_mode::off) {
  asx::runtime_config config;
  config.contract = asx::resource_contract::server();
  config.contract.max_trace_events = asx::resource_contract::core().max_trace_events;
  config.journaling = journaling;
  config.behaviour.ghosts = asx::ghost_mode::off;
  return config;
}

/// Where tasks run: on this thread alone, or on so many workers.
struct on_this_thread {
  asx::runtime rt{quiet()};
  asx::runtime& operator*() noexcept { return rt; }
};
template <std::uint32_t Workers>
struct on_workers {
  asx::threaded_runtime rt{{.workers = Workers}, quiet()};
  asx::runtime& operator*() noexcept { return *rt; }
};

/// Spawns `f(cx, args...)` as a task of the root region.
template <class F, class... Args>
void spawn(asx::runtime& rt, F&& f, Args&&... args) {
  const auto spawned = asx::spawn_in(rt.kernel(), rt.root(), {}, std::forward<F>(f), std::forward<Args>(args)...);
  require(spawned.code == asx::status::ok, "a task is spawned");
}

/// Until every task has ended.
inline void run_all(asx::runtime& rt) {
  require(rt.run_until_idle(UINT64_MAX).ended == asx::status::ok && rt.kernel().live_tasks() == 0, "every task ends");
}

}  // namespace bench
