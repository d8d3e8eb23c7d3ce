// asx/runtime/testing/actor.hpp - a task whose poll is whatever the test says.
//
//     actor a{[&](cx& c) { ...; return poll_result::ready; }};
//     must_spawn(rt, rt.root(), a);
//
// Cancel points: as the body. Threads: one. Lifetime: an actor outlives its task.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#include "asx/runtime/runtime.hpp"

namespace asx::testing {

struct actor {
  std::function<poll_result(cx&)> body;
  static poll_result poll(void* self, cx& c) { return static_cast<actor*>(self)->body(c); }
};

inline task_handle must_spawn(runtime& rt, region_handle region, actor& a, bool is_held = false) {
  task_handle t;
  EXPECT_EQ(rt.kernel().spawn(region, {.poll = &actor::poll, .context = &a, .is_held = is_held}, t), status::ok);
  return t;
}

inline region_handle must_open(runtime& rt, region_handle parent) {
  region_handle r;
  EXPECT_EQ(rt.kernel().create_region(parent, {}, r), status::ok);
  return r;
}

}  // namespace asx::testing
