// Real strangers at the door of a C runtime: refused where they may not speak, heard where they may.
#include <gtest/gtest.h>

#include <thread>

#include "asx/capi/asx.h"

namespace {

asx_poll_result wait_for_end(void* context, asx_cx* cx) {
  ++*static_cast<int*>(context);
  if (asx_cx_waker(cx, nullptr) != ASX_OK) return ASX_POLL_ERROR;
  return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

TEST(capi_stress, a_stranger_is_refused_and_a_foreign_handle_is_heard) {
  asx_runtime_config config;
  ASSERT_EQ(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE), ASX_OK);
  config.clock_kind = ASX_CLOCK_MACHINE;
  asx_runtime* rt = nullptr;
  ASSERT_EQ(asx_runtime_create(&config, &rt), ASX_OK);
  asx_region_handle root;
  ASSERT_EQ(asx_region_root(rt, &root), ASX_OK);
  int polls = 0;
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = &wait_for_end;
  spec.context = &polls;
  spec.is_held = true;
  asx_task_handle task;
  ASSERT_EQ(asx_task_spawn(rt, root, &spec, &task), ASX_OK);
  asx_foreign_handle foreign;
  ASSERT_EQ(asx_foreign_open(rt, task, &foreign), ASX_OK);
  asx_status seen = ASX_OK;
  asx_status destroyed = ASX_OK;
  std::thread stranger([&] {
    seen = asx_task_wake(rt, task);
    destroyed = asx_runtime_destroy(rt);
    for (int i = 0; i < 100; ++i) asx_foreign_wake(&foreign);
    asx_foreign_cancel(&foreign, ASX_CANCEL_USER);
    asx_foreign_drop(&foreign);
  });
  EXPECT_EQ(asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, nullptr), ASX_OK);
  stranger.join();
  EXPECT_EQ(seen, ASX_E_WRONG_THREAD);
  EXPECT_EQ(destroyed, ASX_E_WRONG_THREAD);
  EXPECT_GT(polls, 0);
  asx_outcome outcome;
  ASSERT_EQ(asx_task_outcome(rt, task, &outcome), ASX_OK);
  EXPECT_EQ(outcome.kind, ASX_OUTCOME_CANCELLED);
  EXPECT_EQ(asx_task_release(rt, task), ASX_OK);
  EXPECT_EQ(asx_runtime_destroy(rt), ASX_OK);
}

}  // namespace
