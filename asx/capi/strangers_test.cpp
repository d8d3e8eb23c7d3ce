// Calls that are right in everything but who makes them: another thread, a hook of the runtime's own, a null runtime.
// Each is refused and changes nothing.
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "asx/capi/detail/state.hpp"
#include "asx/capi/testing/right_calls.hpp"

namespace asx::capi_testing {
namespace {

class capi_strangers : public capi_calls {
 protected:
  /// Makes every call with the state bent by `bend`, in a poll.
  void expect_all(asx_status refused, const std::function<void()>& bend, const std::function<void()>& unbend) {
    in_poll([&](asx_cx* cx) {
      const std::uint64_t before = hash();
      for (const right_call& c : calls()) {
        bend();
        EXPECT_EQ(c.make(rt), refused) << c.name;
        unbend();
        ASSERT_EQ(hash(), before) << c.name;
      }
      for (const right_poll_call& c : poll_calls()) {
        bend();
        EXPECT_EQ(c.make(cx), refused) << c.name;
        unbend();
        ASSERT_EQ(hash(), before) << c.name;
      }
      for (const quiet_call& c : quiet_calls()) {
        bend();
        EXPECT_TRUE(c.is_refused(cx)) << c.name;
        unbend();
        ASSERT_EQ(hash(), before) << c.name;
      }
    });
  }
};

TEST_F(capi_strangers, a_null_runtime_is_refused) {
  for (const right_call& c : calls()) EXPECT_EQ(c.make(nullptr), c.without) << c.name;
  for (const right_poll_call& c : poll_calls()) EXPECT_EQ(c.make(nullptr), ASX_E_INVALID_ARGUMENT) << c.name;
}

// The number of the thread is what the port says; a stranger has another one. tests/stress has real strangers.
TEST_F(capi_strangers, another_thread_is_refused_and_changes_nothing) {
  expect_all(ASX_E_WRONG_THREAD, [this] { rt->thread ^= 64; }, [this] { rt->thread ^= 64; });
}

TEST_F(capi_strangers, a_call_from_inside_a_hook_is_refused_and_changes_nothing) {
  expect_all(ASX_E_REENTRANT, [this] { rt->is_in_hook = true; }, [this] { rt->is_in_hook = false; });
}

/// A runtime whose every hook makes every call.
class capi_hooks : public capi_calls {
 protected:
  void SetUp() override {
    start([this](asx_runtime_config& c) {
      c.memory = {this,
                  [](void* self, std::size_t bytes, std::size_t alignment) {
                    of(self).enter("allocate");
                    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
                  },
                  [](void* self, void* block, std::size_t, std::size_t) {
                    of(self).enter("release");
                    std::free(block);
                  }};
      c.clock_kind = ASX_CLOCK_HOST;
      c.clock = {this, [](void* self) {
                   of(self).enter("clock");
                   return of(self).host_time;
                 }};
      c.park = {this,
                [](void* self, asx_time, asx_time until) {
                  of(self).enter("park");
                  if (until != ASX_TIME_NONE) of(self).host_time = until;
                },
                nullptr};
      c.sink = {this, [](void* self, const asx_event*, std::size_t) { of(self).enter("sink"); }};
      c.log = {this, [](void* self, asx_log_level, const char*) { of(self).enter("log"); }};
      c.panic = {this, [](void* self, const char*) { of(self).enter("panic"); }};
      c.contract.max_tasks = 256;
    });
    fill();
  }
  static capi_hooks& of(void* self) { return *static_cast<capi_hooks*>(self); }

  void enter(const char* hook) {
    if (!is_armed || entered[hook]++ != 0) return;
    for (const right_call& c : calls()) EXPECT_EQ(c.make(rt), ASX_E_REENTRANT) << hook << ": " << c.name;
    if (polled == nullptr) return;
    for (const right_poll_call& c : poll_calls()) EXPECT_EQ(c.make(polled), ASX_E_REENTRANT) << hook << ": " << c.name;
    for (const quiet_call& c : quiet_calls()) EXPECT_TRUE(c.is_refused(polled)) << hook << ": " << c.name;
  }

  bool is_armed = false;
  asx_cx* polled = nullptr;
  asx_time host_time = 0;
  std::map<std::string, int> entered;
};

TEST_F(capi_hooks, no_hook_may_call_back) {
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, nullptr, &region), ASX_OK);
  const asx_task_handle busy = spawn_in(region, [&](asx_cx* cx) {
    polled = cx;
    void* memory = nullptr;
    EXPECT_EQ(asx_region_arena(rt, region, 1 << 16, 8, &memory), ASX_OK);
    polled = nullptr;
    return asx_sleep_for(cx, ASX_MILLISECOND) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
  });
  is_armed = true;
  EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 10000, nullptr), ASX_OK);
  EXPECT_EQ(asx_panic(rt, "nobody to blame"), ASX_OK);
  asx_obligation_handle leaked{};
  EXPECT_EQ(asx_obligation_reserve(rt, region, &leaked), ASX_OK);
  EXPECT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
  EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 10000, nullptr), ASX_OK);
  EXPECT_EQ(asx_journal_settle(rt), ASX_OK);
  for (const char* hook : {"allocate", "release", "clock", "park", "sink", "log", "panic"}) {
    EXPECT_GT(entered[hook], 0) << hook << " was never called";
  }
  is_armed = false;
  EXPECT_EQ(asx_task_release(rt, busy), ASX_OK);
}

}  // namespace
}  // namespace asx::capi_testing
