// What the headers say of lifetimes and statuses, each said once and held here.
#include <utility>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

class capi_promises : public capi_test {};

TEST_F(capi_promises, a_wait_for_what_nobody_holds_ends_stale_with_nothing_written) {
  for (const bool is_held : {true, false}) {
    asx_region_spec spec = ASX_REGION_SPEC_INIT;
    spec.is_held = is_held;
    asx_region_handle region{};
    ASSERT_EQ(asx_region_create(rt, root, &spec, &region), ASX_OK);
    const asx_task_handle short_lived =
        spawn([](asx_cx* cx) { return asx_sleep_for(cx, 10) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY; },
              is_held);
    asx_status joined = ASX_OK;
    asx_status awaited = ASX_OK;
    asx_outcome end{};
    end.value = 77;
    spawn([&](asx_cx* cx) {
      joined = asx_task_join(cx, short_lived, &end);
      return joined == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
    });
    spawn([&](asx_cx* cx) {
      awaited = asx_region_await_closed(cx, region);
      return awaited == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
    });
    ASSERT_EQ(asx_runtime_run_until_idle(rt, 100, nullptr), ASX_OK);
    EXPECT_EQ(joined, ASX_E_WOULD_BLOCK);
    EXPECT_EQ(awaited, ASX_E_WOULD_BLOCK);
    ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
    run();
    EXPECT_EQ(joined, is_held ? ASX_OK : ASX_E_STALE_HANDLE);
    EXPECT_EQ(awaited, is_held ? ASX_OK : ASX_E_STALE_HANDLE);
    EXPECT_EQ(end.value, is_held ? 0U : 77U);
    EXPECT_EQ(asx_task_request_cancel(rt, short_lived, ASX_CANCEL_USER, nullptr, nullptr),
              is_held ? ASX_OK : ASX_E_STALE_HANDLE);
  }
}

TEST_F(capi_promises, a_region_is_closed_once) {
  for (const bool is_held : {true, false}) {
    asx_region_spec spec = ASX_REGION_SPEC_INIT;
    spec.is_held = is_held;
    asx_region_handle region{};
    ASSERT_EQ(asx_region_create(rt, root, &spec, &region), ASX_OK);
    const asx_task_handle slow = spawn_in(region, [](asx_cx* cx) {
      EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
      return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
    });
    run();
    ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
    EXPECT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_E_INVALID_TRANSITION);
    run();
    EXPECT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr),
              is_held ? ASX_E_INVALID_TRANSITION : ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_release(rt, slow), ASX_OK);
  }
}

TEST_F(capi_promises, the_outcome_of_a_task_can_be_read_in_its_drop) {
  struct seen {
    asx_runtime* rt;
    asx_task_handle task{};
    asx_status said = ASX_E_EMPTY;
    asx_outcome end{};
  };
  for (const bool is_held : {true, false}) {
    seen s{rt};
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.context = &s;
    spec.is_held = is_held;
    spec.poll = [](void*, asx_cx* cx) { return asx_cx_set_value(cx, 9) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR; };
    spec.drop = [](void* self) {
      auto& at = *static_cast<seen*>(self);
      at.said = asx_task_outcome(at.rt, at.task, &at.end);
    };
    ASSERT_EQ(asx_task_spawn(rt, root, &spec, &s.task), ASX_OK);
    run();
    EXPECT_EQ(s.said, ASX_OK);
    EXPECT_EQ(s.end.value, 9U);
  }
}

TEST_F(capi_promises, sleeps_and_timers_reach_seven_days) {
  constexpr std::uint64_t week = 7 * 24 * 3600 * ASX_SECOND;
  asx_timer_handle timer{};
  EXPECT_EQ(asx_region_add_timer(rt, root, week + 1, &timer), ASX_E_TIMER_DURATION_EXCEEDED);
  EXPECT_EQ(asx_region_add_timer(rt, root, week, &timer), ASX_OK);
  EXPECT_EQ(asx_region_cancel_timer(rt, timer, nullptr), ASX_OK);
  in_poll([](asx_cx* cx) {
    EXPECT_EQ(asx_sleep_for(cx, week + 1), ASX_E_TIMER_DURATION_EXCEEDED);
    EXPECT_EQ(asx_sleep_until(cx, week + 1), ASX_E_TIMER_DURATION_EXCEEDED);
    EXPECT_EQ(asx_sleep_until(cx, week), ASX_E_WOULD_BLOCK);
    EXPECT_EQ(asx_sleep_stop(cx), ASX_OK);
  });
}

}  // namespace
}  // namespace asx::capi_testing
