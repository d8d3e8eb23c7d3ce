// asx/capi/testing/fixture.hpp - a runtime in C's clothes for tests, and tasks that are lambdas.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "asx/capi/asx.h"

namespace asx::capi_testing {

using body = std::function<asx_poll_result(asx_cx*)>;

inline asx_poll_result poll_body(void* context, asx_cx* cx) {
  return (*static_cast<body*>(context))(cx);
}

/// Handles of nothing, of another type, of an earlier life, and of the future.
template <class Handle>
std::vector<Handle> forged(Handle live) {
  return {{0, 0},
          {live.word, live.generation + 2},
          {live.word, 0},
          {live.word, live.generation + 1},
          {live.word ^ (std::uint64_t{7} << 48), live.generation},
          {(live.word & ~std::uint64_t{0xffffffff}) | 0xfffffff0U, live.generation},
          {UINT64_MAX, UINT64_MAX}};
}

class capi_test : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override {
    if (rt != nullptr) {
      EXPECT_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
  }

  void start(const std::function<void(asx_runtime_config&)>& change = {}) {
    if (rt != nullptr) {
      ASSERT_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
    rt = nullptr;
    asx_runtime_config config;
    ASSERT_EQ(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE), ASX_OK);
    config.contract.max_tasks = 64;
    config.contract.max_timers = 64;
    config.panic = {this, [](void* self, const char* text) { static_cast<capi_test*>(self)->panics.push_back(text); }};
    if (change) change(config);
    ASSERT_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    ASSERT_EQ(asx_region_root(rt, &root), ASX_OK);
  }

  asx_task_handle spawn(body b, bool is_held = true) { return spawn_in(root, std::move(b), is_held); }
  asx_task_handle spawn_in(asx_region_handle region, body b, bool is_held = true) {
    bodies.push_back(std::make_unique<body>(std::move(b)));
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = &poll_body;
    spec.context = bodies.back().get();
    spec.is_held = is_held;
    asx_task_handle out{};
    EXPECT_EQ(asx_task_spawn(rt, region, &spec, &out), ASX_OK);
    return out;
  }
  void run() { EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 100000, nullptr), ASX_OK); }
  /// Runs `b` in a poll, once.
  void in_poll(const std::function<void(asx_cx*)>& b) {
    const asx_task_handle t = spawn([&b](asx_cx* cx) {
      b(cx);
      return ASX_POLL_READY;
    });
    run();
    EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
  }
  std::uint64_t hash() {
    std::uint64_t out = 0;
    EXPECT_EQ(asx_runtime_state_hash(rt, &out), ASX_OK);
    return out;
  }
  asx_outcome outcome(asx_task_handle t) {
    asx_outcome out{};
    EXPECT_EQ(asx_task_outcome(rt, t, &out), ASX_OK);
    return out;
  }

  asx_runtime* rt = nullptr;
  asx_region_handle root{};
  std::vector<std::string> panics;
  std::vector<std::unique_ptr<body>> bodies;
};

}  // namespace asx::capi_testing
