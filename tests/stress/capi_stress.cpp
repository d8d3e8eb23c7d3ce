// Real strangers at the door of a C runtime: refused where they may not speak, heard where they may.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

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

class capi_crowd : public ::testing::Test {
 protected:
  void SetUp() override {
    asx_runtime_config config;
    ASSERT_EQ(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE), ASX_OK);
    config.clock_kind = ASX_CLOCK_MACHINE;
    config.foreign_grace_ns = 10 * ASX_MILLISECOND;
    ASSERT_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    asx_region_handle root;
    ASSERT_EQ(asx_region_root(rt, &root), ASX_OK);
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = &wait_for_end;
    spec.context = &polls;
    spec.is_held = true;
    ASSERT_EQ(asx_task_spawn(rt, root, &spec, &task), ASX_OK);
  }

  asx_runtime* rt = nullptr;
  asx_task_handle task{};
  int polls = 0;

  void must_end_cancelled() {
    asx_outcome outcome;
    ASSERT_EQ(asx_task_outcome(rt, task, &outcome), ASX_OK);
    EXPECT_EQ(outcome.kind, ASX_OUTCOME_CANCELLED);
    EXPECT_EQ(asx_runtime_destroy(rt), ASX_OK);
  }
};

TEST_F(capi_crowd, a_shutdown_from_outside_ends_a_run) {
  asx_foreign_handle foreign;
  ASSERT_EQ(asx_foreign_open(rt, task, &foreign), ASX_OK);
  std::thread speaker([&foreign] {
    asx_foreign_shut_down(&foreign);
    asx_foreign_shut_down(&foreign);  // Once more: its grace is over.
    asx_foreign_drop(&foreign);
  });
  EXPECT_EQ(asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, nullptr), ASX_OK);
  speaker.join();
  must_end_cancelled();
}

TEST_F(capi_crowd, two_threads_speak_at_once_by_one_handle_and_by_their_own) {
  asx_foreign_handle shared;
  asx_foreign_handle own[2];
  ASSERT_EQ(asx_foreign_open(rt, task, &shared), ASX_OK);
  for (asx_foreign_handle& h : own) ASSERT_EQ(asx_foreign_open(rt, task, &h), ASX_OK);
  std::vector<std::thread> speakers;
  std::atomic<int> left{2};
  for (asx_foreign_handle& mine : own) {
    speakers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        asx_foreign_wake(&shared);
        asx_foreign_wake(&mine);
        if (i % 500 == 0) {
          EXPECT_EQ(asx_task_wake(rt, task), ASX_E_WRONG_THREAD);
        }
      }
      asx_foreign_drop(&mine);
      if (left.fetch_sub(1) != 1) return;
      asx_foreign_cancel(&shared, ASX_CANCEL_USER);  // The last one ends it.
      asx_foreign_drop(&shared);
    });
  }
  EXPECT_EQ(asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, nullptr), ASX_OK);
  for (std::thread& t : speakers) t.join();
  must_end_cancelled();
}

TEST_F(capi_crowd, a_runtime_is_destroyed_while_somebody_speaks) {
  asx_foreign_handle foreign;
  ASSERT_EQ(asx_foreign_open(rt, task, &foreign), ASX_OK);
  std::atomic<bool> is_speaking{false};
  std::atomic<bool> is_over{false};
  std::thread speaker([&] {
    while (!is_over.load()) {
      asx_foreign_wake(&foreign);
      is_speaking.store(true);
    }
    asx_foreign_cancel(&foreign, ASX_CANCEL_USER);  // Nobody hears it any more.
    asx_foreign_shut_down(&foreign);
    asx_foreign_drop(&foreign);
  });
  while (!is_speaking.load()) std::this_thread::yield();
  EXPECT_EQ(asx_runtime_destroy(rt), ASX_OK);
  is_over.store(true);
  speaker.join();
}

}  // namespace
