// Limits of the C interface that are met: which refusal comes first, who tells of it, and that nothing has changed.
#include <cstdint>
#include <vector>

#include "asx/capi/testing/fixture.hpp"
#include "asx/journal/event_kind.hpp"

namespace asx::capi_testing {
namespace {

class capi_refusals : public capi_test {
 protected:
  std::uint64_t journalled() {
    std::uint64_t size = 0;
    EXPECT_EQ(asx_journal_size(rt, &size), ASX_OK);
    return size;
  }
  /// The one event that a refused call leaves behind: its kind and the limit that was met.
  void expect_told(std::uint64_t before, event_kind kind, limit_code limit) {
    ASSERT_EQ(journalled(), before + 1) << "a refusal is told once";
    asx_event last{};
    std::size_t count = 0;
    ASSERT_EQ(asx_journal_read(rt, before, &last, 1, &count), ASX_OK);
    EXPECT_EQ(last.kind, static_cast<std::uint16_t>(kind));
    EXPECT_EQ(last.a >> 32, static_cast<std::uint64_t>(limit));
  }
  static asx_poll_result wait_for_cancel(asx_cx* cx) {
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
    return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
  }
};

// ---- waits ----------------------------------------------------------------------------------------------------------

class capi_full_of_waits : public capi_refusals {
 protected:
  void SetUp() override {
    start([](asx_runtime_config& c) { c.contract.max_waits = 1; });
    ASSERT_EQ(asx_channel_create(rt, root, 1, nullptr, &full, &full_rx), ASX_OK);
    ASSERT_EQ(asx_channel_create(rt, root, 2, nullptr, &roomy, &roomy_rx), ASX_OK);
    ASSERT_EQ(asx_channel_create(rt, root, 1, nullptr, &deaf, &deaf_rx), ASX_OK);
    ASSERT_EQ(asx_channel_drop_receiver(&deaf_rx), ASX_OK);
    ASSERT_EQ(asx_channel_try_send(&full, nullptr), ASX_OK);
    ended = spawn([](asx_cx*) { return ASX_POLL_READY; });
    alive = spawn(&wait_for_cancel);
    spawn([this](asx_cx* cx) {  // It has the only place.
      asx_send_permit p{};
      return asx_channel_reserve(&full, cx, &p) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
    });
    asx_region_spec spec = ASX_REGION_SPEC_INIT;
    spec.is_held = true;
    ASSERT_EQ(asx_region_create(rt, root, &spec, &closed), ASX_OK);
    ASSERT_EQ(asx_region_close(rt, closed, ASX_CANCEL_USER, nullptr), ASX_OK);
    run();
  }

  asx_channel_sender full{}, roomy{}, deaf{};
  asx_channel_receiver full_rx{}, roomy_rx{}, deaf_rx{};
  asx_task_handle ended{}, alive{};
  asx_region_handle closed{};
};

TEST_F(capi_full_of_waits, who_need_not_wait_is_answered) {
  in_poll([this](asx_cx* cx) {
    asx_send_permit p{};
    asx_tracked_permit q{};
    asx_outcome end{};
    EXPECT_EQ(asx_channel_reserve(&roomy, cx, &p), ASX_OK);
    EXPECT_EQ(asx_send_permit_send(&p, nullptr), ASX_OK);
    EXPECT_EQ(asx_tracked_reserve(&roomy, cx, &q), ASX_OK);
    EXPECT_EQ(asx_tracked_send(&q, nullptr, nullptr), ASX_OK);
    EXPECT_EQ(asx_channel_reserve(&deaf, cx, &p), ASX_E_DISCONNECTED);
    EXPECT_EQ(asx_tracked_reserve(&deaf, cx, &q), ASX_E_DISCONNECTED);
    EXPECT_EQ(asx_task_join(cx, ended, &end), ASX_OK);
    EXPECT_EQ(end.kind, ASX_OUTCOME_OK);
    EXPECT_EQ(asx_task_join(cx, {0, 0}, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_await_closed(cx, closed), ASX_OK);
    EXPECT_EQ(asx_region_await_closed(cx, {0, 0}), ASX_E_STALE_HANDLE);
    asx_task_handle self{};
    EXPECT_EQ(asx_cx_self(cx, &self, nullptr), ASX_OK);
    EXPECT_EQ(asx_task_join(cx, self, nullptr), ASX_E_INVALID_ARGUMENT) << "nobody waits for itself";
  });
}

TEST_F(capi_full_of_waits, who_must_wait_is_refused_last_and_told) {
  in_poll([this](asx_cx* cx) {
    asx_send_permit p{};
    asx_tracked_permit q{};
    const std::uint64_t before = hash();
    std::uint64_t told = journalled();
    EXPECT_EQ(asx_channel_reserve(&full, cx, &p), ASX_E_RESOURCE_EXHAUSTED);
    expect_told(told, event_kind::refused_slot, limit_code::waiters);
    told = journalled();
    EXPECT_EQ(asx_tracked_reserve(&full, cx, &q), ASX_E_RESOURCE_EXHAUSTED);
    expect_told(told, event_kind::refused_slot, limit_code::waiters);
    told = journalled();
    EXPECT_EQ(asx_task_join(cx, alive, nullptr), ASX_E_RESOURCE_EXHAUSTED);
    expect_told(told, event_kind::refused_join, limit_code::waiters);
    told = journalled();
    EXPECT_EQ(asx_region_await_closed(cx, root), ASX_E_RESOURCE_EXHAUSTED);
    expect_told(told, event_kind::refused_join, limit_code::waiters);
    EXPECT_EQ(hash(), before);
  });
}

TEST_F(capi_full_of_waits, a_cancelled_task_is_told_so) {
  std::vector<asx_status> said;
  const asx_task_handle t = spawn([&](asx_cx* cx) {
    if (!asx_is_cancelled(cx)) {
      EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
      return ASX_POLL_PENDING;
    }
    asx_send_permit p{};
    asx_tracked_permit q{};
    said = {asx_channel_reserve(&full, cx, &p), asx_tracked_reserve(&full, cx, &q), asx_task_join(cx, alive, nullptr),
            asx_region_await_closed(cx, root)};
    EXPECT_EQ(asx_task_join(cx, {0, 0}, nullptr), ASX_E_STALE_HANDLE) << "which comes first (R-166)";
    return ASX_POLL_READY;
  });
  run();
  ASSERT_EQ(asx_task_request_cancel(rt, t, ASX_CANCEL_USER, nullptr, nullptr), ASX_OK);
  run();
  EXPECT_EQ(said, std::vector<asx_status>(4, ASX_E_CANCELLED));
}

// ---- tasks and channels ---------------------------------------------------------------------------------------------

TEST_F(capi_refusals, a_full_runtime_refuses_a_slot_as_it_refuses_a_task) {
  start([](asx_runtime_config& c) { c.contract.max_tasks = 1; });
  asx_task_slot first{};
  asx_task_slot second{};
  ASSERT_EQ(asx_task_reserve(rt, root, &first), ASX_OK);
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_task_reserve(rt, {0, 0}, &second), ASX_E_STALE_HANDLE) << "where comes before how many";
  std::uint64_t told = journalled();
  EXPECT_EQ(asx_task_reserve(rt, root, &second), ASX_E_RESOURCE_EXHAUSTED);
  expect_told(told, event_kind::refused_spawn, limit_code::tasks);
  told = journalled();
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
  EXPECT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_E_RESOURCE_EXHAUSTED);
  expect_told(told, event_kind::refused_spawn, limit_code::tasks);
  EXPECT_EQ(hash(), before);
  EXPECT_EQ(asx_task_abandon(rt, first), ASX_OK);
  EXPECT_EQ(asx_task_reserve(rt, root, &second), ASX_OK);
  EXPECT_EQ(asx_task_commit(rt, second, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_commit(rt, second, &spec, nullptr), ASX_OK) << "a commit that was wrong may be put right";
}

TEST_F(capi_refusals, region_and_capacity_come_before_the_number_of_senders) {
  start([](asx_runtime_config& c) { c.contract.max_senders = 1; });
  asx_channel_sender tx{};
  asx_channel_receiver rx{};
  ASSERT_EQ(asx_channel_create(rt, root, 1, nullptr, &tx, &rx), ASX_OK);
  asx_channel_sender more{};
  asx_channel_receiver other{};
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_channel_create(rt, {0, 0}, 1, nullptr, &more, &other), ASX_E_STALE_HANDLE);
  EXPECT_EQ(asx_channel_create(rt, root, 0, nullptr, &more, &other), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(panics.size(), 1U);
  std::uint64_t told = journalled();
  EXPECT_EQ(asx_channel_create(rt, root, 1, nullptr, &more, &other), ASX_E_RESOURCE_EXHAUSTED);
  expect_told(told, event_kind::refused_channel, limit_code::senders);
  told = journalled();
  EXPECT_EQ(asx_channel_clone(&tx, &more), ASX_E_RESOURCE_EXHAUSTED);
  expect_told(told, event_kind::refused_channel, limit_code::senders);
  EXPECT_EQ(hash(), before);
}

// ---- contexts -------------------------------------------------------------------------------------------------------

TEST_F(capi_refusals, a_context_that_was_kept_is_good_for_its_own_task_alone) {
  asx_cx* kept = nullptr;
  asx_channel_sender tx{};
  asx_channel_receiver rx{};
  ASSERT_EQ(asx_channel_create(rt, root, 1, nullptr, &tx, &rx), ASX_OK);
  const asx_task_handle keeper = spawn([&kept](asx_cx* cx) {
    EXPECT_TRUE(kept == nullptr || kept == cx) << "a task has one";
    kept = cx;
    return wait_for_cancel(cx);
  });
  run();
  const asx_task_handle other = spawn([&](asx_cx* cx) {
    EXPECT_NE(cx, kept);
    EXPECT_EQ(asx_cx_set_value(kept, 7), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_panic(kept, "not mine"), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_checkpoint(kept), ASX_E_INVALID_ARGUMENT);
    asx_send_permit p{};
    EXPECT_EQ(asx_channel_reserve(&tx, kept, &p), ASX_E_INVALID_ARGUMENT);
    void* value = nullptr;
    EXPECT_EQ(asx_channel_recv(&rx, kept, &value), ASX_E_INVALID_ARGUMENT);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(outcome(other).kind, ASX_OUTCOME_OK);
  EXPECT_FALSE(outcome(other).has_value);
  EXPECT_EQ(asx_task_wake(rt, keeper), ASX_OK);
  run();
  EXPECT_EQ(asx_checkpoint(kept), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_request_cancel(rt, keeper, ASX_CANCEL_USER, nullptr, nullptr), ASX_OK);
  run();  // It ends before what it refers to.
}

// A line of the interface's own source says nothing about the program.
TEST_F(capi_refusals, a_leak_names_no_line_of_this_library) {
  asx_obligation_handle promise{};
  ASSERT_EQ(asx_obligation_reserve(rt, root, &promise), ASX_OK);
  ASSERT_EQ(asx_runtime_shutdown(rt, 0, 1000, nullptr), ASX_OK);
  std::vector<asx_event> all(journalled());
  std::size_t count = 0;
  ASSERT_EQ(asx_journal_read(rt, 0, all.data(), all.size(), &count), ASX_OK);
  int leaks = 0;
  for (const asx_event& e : all) {
    leaks += e.kind == static_cast<std::uint16_t>(event_kind::obligation_leaked) ? 1 : 0;
    const bool is_site = e.kind == static_cast<std::uint16_t>(event_kind::text) &&
                         (e.object & 0xffU) == static_cast<std::uint64_t>(text_code::site);
    EXPECT_FALSE(is_site);
  }
  EXPECT_EQ(leaks, 1);
}

}  // namespace
}  // namespace asx::capi_testing
