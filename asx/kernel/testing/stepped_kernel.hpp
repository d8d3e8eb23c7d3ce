// asx/kernel/testing/stepped_kernel.hpp - a kernel without a runtime: a test steps it, and picks the worker that does.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's; bodies outlive the tasks that run them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

#include "asx/kernel/kernel.hpp"

namespace asx::testing {

/// A task of a test: a function that sees its own cx.
struct body {
  std::function<poll_result(cx&)> run;
  static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
};

struct stepped_kernel {
  explicit stepped_kernel(ghost_mode mode = ghost_mode::on, resource_contract limits = resource_contract::tiny(),
                          memory_port memory = heap_memory())
      : sched({.workers = 2, .max_places = limits.max_tasks}, memory),
        wheel({.capacity = limits.max_timers}, memory),
        k(limits, {.ghosts = mode}, sched, wheel, log, memory) {
    EXPECT_EQ(log.open(heap_memory(), {.overflow = limits.overflow, .capacity = limits.max_trace_events}), status::ok);
  }
  ~stepped_kernel() {
    EXPECT_EQ(k.begin_shutdown(), status::ok);
    while (dispatch_one(0)) {
    }
  }

  task_handle spawn(body& b) {
    task_handle out;
    EXPECT_EQ(k.spawn(k.root(), {.poll = &body::poll, .context = &b, .is_held = true}, out), status::ok);
    return out;
  }
  region_handle region() {
    region_handle out;
    EXPECT_EQ(k.create_region(k.root(), {.is_held = true}, out), status::ok);
    return out;
  }
  obligation_handle reserve(region_handle r) {
    obligation_handle out;
    EXPECT_EQ(k.reserve(r, out, std::source_location{}), status::ok);  // No place: reports do not name this file.
    return out;
  }
  bool dispatch_one(std::uint32_t worker) {
    const dispatch d = sched.next(worker);
    place* const who = d.who != nullptr ? d.who : k.take_stalled(worker, k.now());
    if (who == nullptr) return false;
    k.poll(worker, *who, d.from, k.now(), 0);
    return true;
  }
  [[nodiscard]] ghosts& g() { return k.ghosts(); }
  [[nodiscard]] std::vector<event> diagnostics() const {
    std::vector<event> out;
    for (std::uint64_t i = 0; i < log.size(); ++i) {
      const event e = log.at(i);
      if (e.kind == event_kind::ghost_violation || e.kind == event_kind::ghost_note) out.push_back(e);
    }
    return out;
  }

  journal log;
  scheduler sched;
  timer_wheel wheel;
  kernel k;
};

}  // namespace asx::testing
