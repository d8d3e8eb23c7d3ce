// asx/runtime/testing/program.hpp - what tests that play small programs on a runtime share.
//
// Cancel points: none. Threads: one owner. Lifetime: a body outlives its task.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "asx/journal/schedule_check.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::testing {

// A task of a test: a function that sees its own cx.
struct body {
  std::function<poll_result(cx&)> run;
  static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
};

inline task_handle must_spawn(runtime& rt, region_handle region, body& b, std::string_view name = {},
                              bool is_held = true) {
  task_handle out;
  task_spec spec{.poll = &body::poll, .context = &b, .name = name};
  spec.is_held = is_held;
  EXPECT_EQ(rt.kernel().spawn(region, spec, out), status::ok);
  return out;
}

inline region_handle must_create(runtime& rt, region_handle parent, std::string_view name = {}) {
  region_handle out;
  region_spec spec{.name = name};
  spec.is_held = true;
  EXPECT_EQ(rt.kernel().create_region(parent, spec, out), status::ok);
  return out;
}

inline std::vector<event> events_of(runtime& rt) {
  std::vector<event> out(static_cast<std::size_t>(rt.journal().size()));
  out.resize(rt.journal().copy_tail(out));
  return out;
}

inline void expect_legal(runtime& rt) {
  const schedule_verdict verdict = check_schedule(events_of(rt));
  EXPECT_TRUE(verdict.accepted()) << explain(verdict);
}

}  // namespace asx::testing
