// Every function of the C interface with arguments that make no sense: a status, and nothing has changed.
#include <cstdint>

#include "asx/capi/testing/right_calls.hpp"

namespace asx::capi_testing {
namespace {

class capi_arguments : public capi_calls {};

TEST_F(capi_arguments, a_run_from_a_poll_is_refused) {
  in_poll([this](asx_cx* cx) {
    EXPECT_EQ(asx_runtime_step(rt, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_step_worker(rt, 0, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_run_until_idle(rt, 9, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 9, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_shutdown(rt, 0, 9, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_destroy(rt), ASX_E_REENTRANT);
    asx_task_handle self{};
    EXPECT_EQ(asx_cx_self(cx, &self, nullptr), ASX_OK);
    const asx_outcome ok{};
    EXPECT_EQ(asx_task_complete(rt, self, &ok), ASX_E_REENTRANT);
  });
}

TEST_F(capi_arguments, null_pointers_are_refused_and_change_nothing) {
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_runtime_next_deadline(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_now(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_inspect(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_state_hash(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_describe(rt, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_describe_json(rt, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_certificate(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_digest(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_size(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_read(rt, 0, nullptr, 0, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_writer_open(1, ASX_PROFILE_CORE, 0, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_writer_close(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_foreign_open(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_root(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_create(rt, root, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_add_finalizer(rt, root, nullptr, nullptr, false), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_arena(rt, root, 1, 1, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_inspect(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_outcome(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_spawn(rt, root, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  const asx_task_spec nothing_to_poll = ASX_TASK_SPEC_INIT;
  EXPECT_EQ(asx_task_spawn(rt, root, &nothing_to_poll, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_reserve(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_complete(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_inspect(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_outcome(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_witness(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_cancel_reason_level(rt, nullptr, 0, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_obligation_reserve(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_obligation_inspect(rt, {0, 0}, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_add_timer(rt, root, 1, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_create(rt, root, 1, nullptr, nullptr, &rx2), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_create(rt, root, 1, nullptr, &tx2, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_of(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect(rt, {0, 0}, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect(nullptr, {0, 0}, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_clone(nullptr, &tx2), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_clone(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_drop_sender(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_drop_receiver(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect_sender(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect_receiver(&rx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_try_reserve(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_try_send(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_send_evicting(nullptr, nullptr, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_try_recv(&rx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_stop_receiving(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_send_permit_send(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  asx_send_permit_abort(nullptr);
  EXPECT_FALSE(asx_send_permit_is_held(nullptr));
  EXPECT_EQ(asx_tracked_try_reserve(&tx, &root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_tracked_send(nullptr, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_tracked_abort(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_tracked_drop(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_FALSE(asx_tracked_is_held(nullptr));
  EXPECT_EQ(hash(), before);
}

TEST_F(capi_arguments, the_context_of_a_poll_is_refused_outside_of_it) {
  asx_cx* kept = nullptr;
  in_poll([&kept](asx_cx* cx) { kept = cx; });
  for (asx_cx* cx : {kept, static_cast<asx_cx*>(nullptr)}) {
    const std::uint64_t before = hash();
    for (const right_poll_call& c : poll_calls()) EXPECT_EQ(c.make(cx), ASX_E_INVALID_ARGUMENT) << c.name;
    EXPECT_FALSE(asx_is_cancelled(cx));
    EXPECT_EQ(asx_cx_runtime(cx), nullptr);
    EXPECT_EQ(asx_cx_now(cx), ASX_TIME_NONE);
    EXPECT_EQ(hash(), before);
  }
}

TEST_F(capi_arguments, handles_of_nothing_and_of_other_types_are_stale_and_change_nothing) {
  asx_obligation_handle promise{};
  ASSERT_EQ(asx_obligation_reserve(rt, root, &promise), ASX_OK);
  const std::uint64_t before = hash();
  for (const asx_region_handle h : forged(root)) {
    asx_region_report report{};
    report.size = sizeof report;
    void* memory = nullptr;
    EXPECT_EQ(asx_region_create(rt, h, nullptr, &region_out), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_close(rt, h, ASX_CANCEL_USER, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_begin_drain(rt, h), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_arena(rt, h, 1, 1, &memory), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_inspect(rt, h, &report), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_add_finalizer(rt, h, &finalizer, nullptr, false), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_reserve(rt, h, &slot), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_obligation_reserve(rt, h, &obligation), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_add_timer(rt, h, 5, &timer), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_channel_create(rt, h, 1, nullptr, &tx2, &rx2), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_release(rt, h), ASX_E_STALE_HANDLE);
  }
  for (const asx_task_handle h : forged(task)) {
    asx_task_report report{};
    report.size = sizeof report;
    EXPECT_EQ(asx_task_request_cancel(rt, h, ASX_CANCEL_USER, nullptr, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_wake(rt, h), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_waker_wake(rt, {h.word, h.generation}), ASX_OK);  // A wake too many does no harm.
    EXPECT_EQ(asx_task_inspect(rt, h, &report), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_release(rt, h), ASX_E_STALE_HANDLE);
    asx_foreign_handle f;
    EXPECT_EQ(asx_foreign_open(rt, h, &f), ASX_E_STALE_HANDLE);
  }
  for (const asx_obligation_handle h : forged(promise)) EXPECT_EQ(asx_obligation_commit(rt, h), ASX_E_STALE_HANDLE);
  // A task is no region, a region no task.
  EXPECT_EQ(asx_task_wake(rt, {root.word, root.generation}), ASX_E_STALE_HANDLE);
  EXPECT_EQ(asx_region_begin_drain(rt, {task.word, task.generation}), ASX_E_STALE_HANDLE);
  for (std::size_t i = 0; i < 5; ++i) {
    const asx_waker ends = forged(asx_waker{tx.word, tx.generation})[i];
    asx_channel_sender bad{rt, ends.word, ends.generation};
    EXPECT_EQ(asx_channel_try_send(&bad, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_channel_drop_sender(&bad), ASX_E_STALE_HANDLE);
    asx_channel_receiver crossed{rt, tx.word, tx.generation};
    EXPECT_EQ(asx_channel_drop_receiver(&crossed), ASX_E_STALE_HANDLE);
  }
  EXPECT_EQ(hash(), before);
  EXPECT_EQ(asx_obligation_abort(rt, promise), ASX_OK);
}

TEST_F(capi_arguments, a_forged_handle_finds_no_slot_that_is_only_reserved) {
  asx_task_slot reserved{};
  ASSERT_EQ(asx_task_reserve(rt, root, &reserved), ASX_OK);
  for (std::uint64_t index = 0; index < 4; ++index) {
    for (std::uint64_t generation = 0; generation < 6; ++generation) {
      const asx_task_handle h{(std::uint64_t{2} << 48) | index, generation};
      if (index == (task.word & 0xffffffffU) && generation == task.generation) continue;
      EXPECT_EQ(asx_task_request_cancel(rt, h, ASX_CANCEL_USER, nullptr, nullptr), ASX_E_STALE_HANDLE);
      EXPECT_EQ(asx_task_wake(rt, h), ASX_E_STALE_HANDLE);
    }
  }
  EXPECT_EQ(asx_task_abandon(rt, reserved), ASX_OK);
  EXPECT_EQ(asx_task_abandon(rt, reserved), ASX_E_STALE_HANDLE);
}

TEST_F(capi_arguments, numbers_that_are_none_are_refused) {
  const std::uint64_t before = hash();
  const auto kind = static_cast<asx_cancel_kind>(11);
  EXPECT_EQ(asx_region_close(rt, root, kind, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_request_cancel(rt, task, kind, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_begin_shutdown(rt, kind, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_set_governor(rt, static_cast<asx_governor>(4)), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_step_worker(rt, 1, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_advance(rt, UINT64_MAX), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_unhold(rt), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_note_law(rt, 1, static_cast<asx_status>(50), 0), ASX_E_INVALID_ARGUMENT);
  asx_outcome bad{};
  bad.kind = static_cast<asx_outcome_kind>(4);
  EXPECT_EQ(asx_task_complete(rt, task, &bad), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(hash(), before);
  EXPECT_EQ(asx_region_release(rt, root), ASX_E_INVALID_ARGUMENT);  // The root is the runtime's own.
  asx_runtime_config config;
  EXPECT_EQ(asx_runtime_config_init(&config, sizeof config, static_cast<asx_profile>(3)), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_config_init(nullptr, 0, ASX_PROFILE_CORE), ASX_E_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace asx::capi_testing
