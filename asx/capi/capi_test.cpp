// The C interface used as it is meant to be.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

class capi : public capi_test {};

void* number(std::uintptr_t n) {
  return reinterpret_cast<void*>(n);  // NOLINT: a value of a channel is a word.
}
std::string_view view(asx_text t) {
  return {t.data, t.size};
}

// ---- the whole ----------------------------------------------------------------------------------------------------

TEST_F(capi, a_version_is_served_or_refused) {
  EXPECT_EQ(asx_version(), ASX_VERSION_NUMBER);
  EXPECT_EQ(asx_version_check(ASX_VERSION_NUMBER), ASX_OK);
  EXPECT_EQ(asx_version_check(ASX_VERSION_NUMBER + 1), ASX_E_VERSION);
  EXPECT_EQ(asx_version_check(ASX_VERSION_NUMBER + 1000), ASX_E_VERSION);
}

TEST_F(capi, every_number_has_its_name) {
  EXPECT_STREQ(asx_status_name(ASX_OK), "ASX_OK");
  EXPECT_STREQ(asx_status_name(ASX_E_WITNESS_REASON_WEAKENED), "ASX_E_WITNESS_REASON_WEAKENED");
  EXPECT_STREQ(asx_status_name(ASX_E_LAGGED), "ASX_E_LAGGED");
  EXPECT_STREQ(asx_status_name(static_cast<asx_status>(28)), "unknown status");
  EXPECT_NE(std::string(asx_status_sentence(ASX_E_STALE_HANDLE)).find("handle"), std::string::npos);
  EXPECT_STREQ(asx_region_state_name(ASX_REGION_DRAINING), "draining");
  EXPECT_STREQ(asx_task_state_name(ASX_TASK_CANCEL_REQUESTED), "cancel_requested");
  EXPECT_STREQ(asx_obligation_state_name(ASX_OBLIGATION_LEAKED), "leaked");
  EXPECT_STREQ(asx_channel_state_name(ASX_CHANNEL_SENDER_CLOSED), "sender_closed");
  EXPECT_STREQ(asx_cancel_phase_name(ASX_CANCEL_FINALIZING), "finalizing");
  EXPECT_STREQ(asx_cancel_kind_name(ASX_CANCEL_PARENT), "parent_cancelled");
  EXPECT_STREQ(asx_outcome_kind_name(ASX_OUTCOME_PANICKED), "panicked");
  EXPECT_STREQ(asx_event_kind_name(200), "task_spawned");
  EXPECT_EQ(asx_task_state_name(static_cast<asx_task_state>(6)), nullptr);
  EXPECT_EQ(asx_cancel_kind_name(static_cast<asx_cancel_kind>(-1)), nullptr);
  EXPECT_EQ(asx_event_kind_name(1), nullptr);
}

TEST_F(capi, an_older_struct_is_completed_and_a_newer_one_is_refused_if_it_says_something) {
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
  spec.priority = 3;
  spec.size = offsetof(asx_task_spec, priority);  // From before there were priorities.
  asx_task_handle t{};
  ASSERT_EQ(asx_task_spawn(rt, root, &spec, &t), ASX_OK);
  asx_task_report report{};
  report.size = sizeof report;
  ASSERT_EQ(asx_task_inspect(rt, t, &report), ASX_OK);
  EXPECT_EQ(report.left.priority, 128);

  struct newer {
    asx_task_spec known;
    std::uint64_t unknown;
  } future{ASX_TASK_SPEC_INIT, 0};
  future.known.poll = spec.poll;
  future.known.size = sizeof future;
  EXPECT_EQ(asx_task_spawn(rt, root, &future.known, nullptr), ASX_OK);
  future.unknown = 1;
  EXPECT_EQ(asx_task_spawn(rt, root, &future.known, nullptr), ASX_E_VERSION);
  future.known.size = 1;
  EXPECT_EQ(asx_task_spawn(rt, root, &future.known, nullptr), ASX_E_INVALID_ARGUMENT);

  asx_task_report small{};
  small.size = offsetof(asx_task_report, polls);
  small.polls = 77;
  ASSERT_EQ(asx_task_inspect(rt, t, &small), ASX_OK);
  EXPECT_EQ(small.id, report.id);
  EXPECT_EQ(small.polls, 77U) << "what the caller has no room for is not written";
  run();
}

TEST_F(capi, the_same_program_has_the_same_digest_in_every_memory) {
  static std::byte memory[1 << 20];
  std::vector<asx_digest> digests;
  for (int i = 0; i < 3; ++i) {
    asx_runtime_config config;
    ASSERT_EQ(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_TINY), ASX_OK);
    static std::size_t asked = 0;
    if (i == 1) {
      config.memory = {nullptr,
                       [](void*, std::size_t bytes, std::size_t alignment) {
                         ++asked;
                         return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
                       },
                       [](void*, void* block, std::size_t, std::size_t) { std::free(block); }};
    }
    asx_runtime* other = nullptr;
    ASSERT_EQ(
        i == 2 ? asx_runtime_create_in(memory, sizeof memory, &config, &other) : asx_runtime_create(&config, &other),
        ASX_OK);
    asx_region_handle top;
    ASSERT_EQ(asx_region_root(other, &top), ASX_OK);
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = [](void*, asx_cx* cx) {
      return asx_sleep_for(cx, 5) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
    };
    for (int k = 0; k < 3; ++k) ASSERT_EQ(asx_task_spawn(other, top, &spec, nullptr), ASX_OK);
    ASSERT_EQ(asx_runtime_run_until_quiescent(other, 1000, nullptr), ASX_OK);
    asx_digest d;
    ASSERT_EQ(asx_journal_digest(other, &d), ASX_OK);
    digests.push_back(d);
    ASSERT_EQ(asx_runtime_destroy(other), ASX_OK);
    EXPECT_TRUE(i != 1 || asked > 10);
  }
  EXPECT_TRUE(digests[0].low == digests[1].low && digests[0].high == digests[1].high);
  EXPECT_TRUE(digests[0].low == digests[2].low && digests[0].high == digests[2].high);
}

TEST_F(capi, memory_that_is_too_small_is_refused_at_every_size) {
  asx_runtime_config config;
  ASSERT_EQ(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_TINY), ASX_OK);
  std::vector<std::byte> memory(256 * 1024);
  std::size_t fits = 0;
  for (std::size_t bytes = 0; bytes < memory.size() && fits == 0; bytes += 997) {
    asx_runtime* made = nullptr;
    const asx_status s = asx_runtime_create_in(memory.data(), bytes, &config, &made);
    if (s == ASX_OK) {
      fits = bytes;
      EXPECT_EQ(asx_runtime_destroy(made), ASX_OK);
    } else {
      EXPECT_EQ(s, ASX_E_RESOURCE_EXHAUSTED);
      EXPECT_EQ(made, nullptr);
    }
  }
  EXPECT_GT(fits, 64U * 1024);
}

TEST_F(capi, a_runtime_that_does_not_come_to_rest_is_not_destroyed) {
  start([](asx_runtime_config& c) { c.leaks = ASX_LEAKS_HOLD; });
  asx_obligation_handle promise{};
  ASSERT_EQ(asx_obligation_reserve(rt, root, &promise), ASX_OK);
  EXPECT_EQ(asx_runtime_destroy(rt), ASX_E_OBLIGATIONS_UNRESOLVED);
  asx_quiescence_report report{};
  report.size = sizeof report;
  EXPECT_EQ(asx_runtime_check_quiescence(rt, &report), ASX_E_OBLIGATIONS_UNRESOLVED);
  EXPECT_EQ(report.failed & 2U, 2U);
  EXPECT_EQ(asx_obligation_commit(rt, promise), ASX_OK);
  EXPECT_EQ(asx_runtime_shutdown(rt, 0, 1000, &report), ASX_OK);
  EXPECT_EQ(report.failed, 0U);
}

TEST_F(capi, holds_and_slots_that_are_left_open_do_not_keep_a_runtime_alive) {
  asx_task_slot slot{};
  ASSERT_EQ(asx_task_reserve(rt, root, &slot), ASX_OK);
  ASSERT_EQ(asx_runtime_hold(rt), ASX_OK);
  ASSERT_EQ(asx_runtime_destroy(rt), ASX_OK);
  rt = nullptr;
}

// ---- tasks and regions --------------------------------------------------------------------------------------------

TEST_F(capi, a_task_hands_over_a_value_an_error_or_a_panic) {
  const asx_task_handle ok = spawn([](asx_cx* cx) {
    EXPECT_EQ(asx_cx_set_value(cx, 42), ASX_OK);
    return ASX_POLL_READY;
  });
  const asx_task_handle err = spawn([](asx_cx* cx) {
    EXPECT_EQ(asx_cx_set_error(cx, ASX_E_IO, 7), ASX_OK);
    return ASX_POLL_ERROR;
  });
  const asx_task_handle panic = spawn([](asx_cx* cx) {
    EXPECT_EQ(asx_cx_panic(cx, "out of tea"), ASX_OK);
    return ASX_POLL_READY;
  });
  const asx_task_handle odd = spawn([](asx_cx*) { return static_cast<asx_poll_result>(9); });
  run();
  EXPECT_TRUE(outcome(ok).kind == ASX_OUTCOME_OK && outcome(ok).has_value && outcome(ok).value == 42);
  EXPECT_TRUE(outcome(err).kind == ASX_OUTCOME_ERR && outcome(err).error == ASX_E_IO && outcome(err).detail == 7);
  EXPECT_EQ(view(outcome(panic).panic), "out of tea");
  EXPECT_EQ(outcome(odd).kind, ASX_OUTCOME_PANICKED);
  EXPECT_EQ(asx_task_release(rt, ok), ASX_OK);
  EXPECT_EQ(asx_task_release(rt, ok), ASX_E_STALE_HANDLE);
}

TEST_F(capi, drop_is_called_once_when_a_task_ends_and_not_when_it_is_refused) {
  static int drops = 0;
  drops = 0;
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
  spec.drop = [](void*) { ++drops; };
  ASSERT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_OK);
  EXPECT_EQ(asx_task_spawn(rt, {0, 0}, &spec, nullptr), ASX_E_STALE_HANDLE);
  EXPECT_EQ(drops, 0);
  run();
  EXPECT_EQ(drops, 1);
  asx_task_slot slot{};
  ASSERT_EQ(asx_task_reserve(rt, root, &slot), ASX_OK);
  ASSERT_EQ(asx_task_commit(rt, slot, &spec, nullptr), ASX_OK);
  EXPECT_EQ(asx_task_commit(rt, slot, &spec, nullptr), ASX_E_STALE_HANDLE);
  run();
  EXPECT_EQ(drops, 2);
}

TEST_F(capi, a_million_tasks_pass_through_the_tables_of_sixty_four) {
  static std::uint64_t polls = 0;
  polls = 0;
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) {
    ++polls;
    return ASX_POLL_READY;
  };
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 64; ++k) ASSERT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_OK);
    ASSERT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_E_RESOURCE_EXHAUSTED);
    ASSERT_EQ(asx_runtime_run_until_idle(rt, ASX_MAX_STEPS, nullptr), ASX_OK);
  }
  EXPECT_EQ(polls, 64000U);
}

TEST_F(capi, a_cancel_is_seen_acknowledged_and_told_with_its_chain) {
  asx_region_handle outer{};
  asx_region_handle inner{};
  ASSERT_EQ(asx_region_create(rt, root, nullptr, &outer), ASX_OK);
  ASSERT_EQ(asx_region_create(rt, outer, nullptr, &inner), ASX_OK);
  const asx_task_handle t = spawn_in(inner, [](asx_cx* cx) {
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
    if (!asx_is_cancelled(cx)) return ASX_POLL_PENDING;
    asx_cancel_reason why{};
    EXPECT_EQ(asx_cx_reason(cx, &why), ASX_OK);
    EXPECT_EQ(why.kind, ASX_CANCEL_PARENT);
    EXPECT_EQ(asx_checkpoint(cx), ASX_E_CANCELLED);
    return ASX_POLL_READY;
  });
  run();
  ASSERT_EQ(asx_region_close(rt, outer, ASX_CANCEL_USER, "stop"), ASX_OK);
  asx_task_report report{};
  report.size = sizeof report;
  ASSERT_EQ(asx_task_inspect(rt, t, &report), ASX_OK);
  EXPECT_EQ(report.state, ASX_TASK_CANCEL_REQUESTED);
  EXPECT_EQ(report.epoch, 1U);
  EXPECT_EQ(report.lane, ASX_LANE_CANCEL);
  asx_cancel_witness witness{};
  ASSERT_EQ(asx_task_witness(rt, t, &witness), ASX_OK);
  EXPECT_EQ(witness.phase, ASX_CANCEL_REQUESTED);
  ASSERT_GE(report.reason.levels, 2);
  asx_cancel_reason oldest{};
  ASSERT_EQ(asx_cancel_reason_level(rt, &report.reason, report.reason.levels - 1U, &oldest), ASX_OK);
  EXPECT_EQ(oldest.kind, ASX_CANCEL_USER);
  EXPECT_EQ(view(oldest.message), "stop");
  EXPECT_EQ(asx_cancel_reason_level(rt, &report.reason, report.reason.levels, &oldest), ASX_E_STALE_HANDLE);
  run();
  EXPECT_EQ(outcome(t).kind, ASX_OUTCOME_CANCELLED);
  bool newly = true;
  EXPECT_EQ(asx_task_request_cancel(rt, t, ASX_CANCEL_USER, nullptr, &newly), ASX_OK);
  EXPECT_FALSE(newly) << "R-18";
  EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
}

TEST_F(capi, cleanups_run_last_first_and_can_be_taken_back) {
  static std::string order;
  order.clear();
  in_poll([](asx_cx* cx) {
    asx_cleanup_handle second{};
    EXPECT_EQ(
        asx_cx_push_cleanup(
            cx, [](void* c) { return order += static_cast<const char*>(c), ASX_OK; }, const_cast<char*>("a"), nullptr),
        ASX_OK);
    EXPECT_EQ(asx_cx_push_cleanup(cx, [](void*) { return order += "b", ASX_E_IO; }, nullptr, &second), ASX_OK);
    EXPECT_EQ(asx_cx_push_cleanup(cx, [](void*) { return order += "c", ASX_OK; }, nullptr, nullptr), ASX_OK);
    EXPECT_EQ(asx_cx_pop_cleanup(cx, second), ASX_OK);
    EXPECT_EQ(asx_cx_pop_cleanup(cx, second), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_cx_push_cleanup(cx, nullptr, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  });
  EXPECT_EQ(order, "ca");
}

TEST_F(capi, finalizers_and_the_closed_function_are_called_once) {
  static std::string order;
  order.clear();
  asx_region_spec spec = ASX_REGION_SPEC_INIT;
  spec.is_held = true;
  spec.closed = [](void* c, asx_region_handle) { order += static_cast<const char*>(c); };
  spec.context = const_cast<char*>(".");
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, &spec, &region), ASX_OK);
  for (const char* text : {"f", "g"}) {
    ASSERT_EQ(asx_region_add_finalizer(
                  rt, region,
                  [](void* c, asx_runtime* r, asx_region_handle in) {
                    order += static_cast<const char*>(c);
                    asx_task_spec task = ASX_TASK_SPEC_INIT;  // a finalizer may spawn.
                    task.poll = [](void*, asx_cx*) { return order += "t", ASX_POLL_READY; };
                    return asx_task_spawn(r, in, &task, nullptr);
                  },
                  const_cast<char*>(text), false),
              ASX_OK);
  }
  ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
  run();
  EXPECT_EQ(order, "gftt.");
  asx_outcome end{};
  EXPECT_EQ(asx_region_outcome(rt, region, &end), ASX_OK);
  EXPECT_EQ(end.kind, ASX_OUTCOME_OK);
  EXPECT_EQ(asx_region_release(rt, region), ASX_OK);
  EXPECT_EQ(asx_region_outcome(rt, region, &end), ASX_E_STALE_HANDLE);
}

// Found by the fuzzer: the finalizer that an abandoned slot sets off abandoned it once more.
TEST_F(capi, a_slot_is_abandoned_once_whatever_that_sets_off) {
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, nullptr, &region), ASX_OK);
  static asx_task_slot slot{};
  static asx_status again = ASX_OK;
  ASSERT_EQ(asx_task_reserve(rt, region, &slot), ASX_OK);
  ASSERT_EQ(asx_region_add_finalizer(
                rt, region,
                [](void*, asx_runtime* r, asx_region_handle) {
                  again = asx_task_abandon(r, slot);
                  return ASX_OK;
                },
                nullptr, false),
            ASX_OK);
  ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
  EXPECT_EQ(asx_task_abandon(rt, slot), ASX_OK);
  EXPECT_EQ(again, ASX_E_STALE_HANDLE);
}

TEST_F(capi, single_steps_close_a_region_too) {
  asx_region_spec spec = ASX_REGION_SPEC_INIT;
  spec.is_held = true;
  asx_region_handle r{};
  ASSERT_EQ(asx_region_create(rt, root, &spec, &r), ASX_OK);
  EXPECT_EQ(asx_region_begin_drain(rt, r), ASX_E_INVALID_TRANSITION);
  EXPECT_EQ(asx_region_begin_close(rt, r, ASX_CANCEL_USER, nullptr), ASX_OK);
  EXPECT_EQ(asx_region_begin_drain(rt, r), ASX_OK);
  EXPECT_EQ(asx_region_begin_finalize(rt, r), ASX_OK);
  EXPECT_EQ(asx_region_finish_close(rt, r), ASX_OK);
  asx_region_report report{};
  report.size = sizeof report;
  ASSERT_EQ(asx_region_inspect(rt, r, &report), ASX_OK);
  EXPECT_EQ(report.state, ASX_REGION_CLOSED);
  void* memory = nullptr;
  EXPECT_EQ(asx_region_arena(rt, r, 8, 8, &memory), ASX_E_REGION_CLOSED);
  EXPECT_EQ(asx_region_arena(rt, root, 8, 3, &memory), ASX_E_INVALID_ARGUMENT);
  ASSERT_EQ(asx_region_arena(rt, root, 8, 8, &memory), ASX_OK);
  std::memset(memory, 1, 8);
  EXPECT_EQ(asx_region_release(rt, r), ASX_OK);
}

// ---- waits --------------------------------------------------------------------------------------------------------

TEST_F(capi, a_join_waits_and_gives_the_outcome) {
  const asx_task_handle slow = spawn([](asx_cx* cx) {
    if (asx_sleep_for(cx, 100) == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    EXPECT_EQ(asx_cx_set_value(cx, 5), ASX_OK);
    return ASX_POLL_READY;
  });
  int polls = 0;
  in_poll([&](asx_cx* cx) { EXPECT_EQ(asx_task_stop_joining(cx, slow), ASX_E_INVALID_ARGUMENT); });
  const asx_task_handle joiner = spawn([&, slow](asx_cx* cx) {
    ++polls;
    asx_outcome end{};
    const asx_status s = asx_task_join(cx, slow, &end);
    if (s == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    EXPECT_EQ(s, ASX_OK);
    EXPECT_EQ(asx_cx_set_value(cx, end.value), ASX_OK);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_LE(polls, 2);
  EXPECT_EQ(outcome(joiner).value, outcome(slow).value);
}

TEST_F(capi, a_wait_that_is_given_up_leaves_nothing_behind) {
  start([](asx_runtime_config& c) { c.contract.max_waits = 2; });
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, nullptr, &region), ASX_OK);
  asx_channel_sender tx{};
  asx_channel_receiver rx{};
  ASSERT_EQ(asx_channel_create(rt, root, 1, nullptr, &tx, &rx), ASX_OK);
  ASSERT_EQ(asx_channel_try_send(&tx, nullptr), ASX_OK);
  const asx_task_handle other = spawn([](asx_cx* cx) {
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
    return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
  });
  in_poll([&](asx_cx* cx) {
    asx_send_permit p{};
    for (int i = 0; i < 3; ++i) {  // Asked again, each keeps its place, and its cell.
      EXPECT_EQ(asx_channel_reserve(&tx, cx, &p), ASX_E_WOULD_BLOCK);
      EXPECT_EQ(asx_region_await_closed(cx, region), ASX_E_WOULD_BLOCK);
    }
    EXPECT_EQ(asx_task_join(cx, other, nullptr), ASX_E_RESOURCE_EXHAUSTED) << "max_waits";
    EXPECT_EQ(asx_channel_stop_reserving(&tx, cx), ASX_OK);
    EXPECT_EQ(asx_channel_stop_reserving(&tx, cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_task_join(cx, other, nullptr), ASX_E_WOULD_BLOCK);
    EXPECT_EQ(asx_task_stop_joining(cx, other), ASX_OK);
    EXPECT_EQ(asx_region_stop_awaiting(cx, region), ASX_OK);
    EXPECT_EQ(asx_sleep_for(cx, 50), ASX_E_WOULD_BLOCK);
    EXPECT_EQ(asx_sleep_stop(cx), ASX_OK);
    EXPECT_EQ(asx_sleep_stop(cx), ASX_E_INVALID_ARGUMENT);
    void* value = nullptr;
    EXPECT_EQ(asx_channel_recv(&rx, cx, &value), ASX_OK);
    EXPECT_EQ(asx_channel_recv(&rx, cx, &value), ASX_E_WOULD_BLOCK);
    EXPECT_EQ(asx_channel_stop_receiving(&rx), ASX_OK);
  });
  asx_channel_report report{};
  report.size = sizeof report;
  ASSERT_EQ(asx_channel_inspect_sender(&tx, &report), ASX_OK);
  EXPECT_EQ(report.waiters, 0U);
  EXPECT_FALSE(report.is_receiver_waiting);
  asx_runtime_report whole{};
  whole.size = sizeof whole;
  ASSERT_EQ(asx_runtime_inspect(rt, &whole), ASX_OK);
  EXPECT_EQ(whole.live_timers, 0U);
}

TEST_F(capi, a_sleep_ends_on_time_and_another_deadline_begins_it_anew) {
  asx_time woke = 0;
  spawn([&woke, first = true](asx_cx* cx) mutable {
    if (std::exchange(first, false)) {
      EXPECT_EQ(asx_sleep_until(cx, 1000), ASX_E_WOULD_BLOCK);
    }
    if (asx_sleep_until(cx, 300) == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    woke = asx_cx_now(cx);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(woke, 300U);
}

TEST_F(capi, a_mask_lets_cleanup_wait) {
  int phase = 0;
  const asx_task_handle t = spawn([&phase](asx_cx* cx) {
    if (phase == 0 && asx_checkpoint(cx) == ASX_OK) {
      EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
      return ASX_POLL_PENDING;
    }
    phase = 1;
    EXPECT_EQ(asx_cx_mask(cx), ASX_OK);
    const asx_status s = asx_sleep_for(cx, 10);
    EXPECT_EQ(asx_cx_unmask(cx), ASX_OK);
    if (s == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    EXPECT_EQ(s, ASX_OK);
    phase = 2;
    return ASX_POLL_READY;
  });
  run();
  ASSERT_EQ(asx_task_request_cancel(rt, t, ASX_CANCEL_USER, nullptr, nullptr), ASX_OK);
  run();
  EXPECT_EQ(phase, 2);
}

// ---- channels -----------------------------------------------------------------------------------------------------

class capi_channels : public capi_test {
 protected:
  void SetUp() override {
    capi_test::SetUp();
    destroyed.clear();
    ASSERT_EQ(asx_channel_create(
                  rt, root, 2, [](void* v) { destroyed.push_back(reinterpret_cast<std::uintptr_t>(v)); }, &tx, &rx),
              ASX_OK);
  }
  asx_channel_report look() {
    asx_channel_report out{};
    out.size = sizeof out;
    EXPECT_EQ(asx_channel_inspect_receiver(&rx, &out), ASX_OK);
    return out;
  }
  static inline std::vector<std::uintptr_t> destroyed;
  asx_channel_sender tx{};
  asx_channel_receiver rx{};
};

TEST_F(capi_channels, a_value_is_sent_once_and_a_permit_resolved_once) {
  asx_send_permit p{};
  ASSERT_EQ(asx_channel_try_reserve(&tx, &p), ASX_OK);
  asx_send_permit copy = p;
  EXPECT_TRUE(asx_send_permit_is_held(&copy));
  EXPECT_EQ(asx_send_permit_send(&p, number(1)), ASX_OK);
  EXPECT_FALSE(asx_send_permit_is_held(&copy)) << "copies name one permit";
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_send_permit_send(&p, number(2)), ASX_E_OBLIGATION_ALREADY_RESOLVED);
  EXPECT_EQ(asx_send_permit_send(&copy, number(2)), ASX_E_OBLIGATION_ALREADY_RESOLVED);
  asx_send_permit_abort(&copy);
  for (std::uint64_t slot = 0; slot < 4; ++slot) {
    asx_send_permit forged{rt, copy.word, copy.generation, slot, 99};
    EXPECT_EQ(asx_send_permit_send(&forged, nullptr), ASX_E_OBLIGATION_ALREADY_RESOLVED);
  }
  asx_send_permit wild{rt, copy.word + 5, 3, UINT64_MAX, 1};
  EXPECT_EQ(asx_send_permit_send(&wild, nullptr), ASX_E_DISCONNECTED) << "of a channel that is not there";
  EXPECT_EQ(hash(), before);
  void* value = nullptr;
  EXPECT_EQ(asx_channel_try_recv(&rx, &value), ASX_OK);
  EXPECT_EQ(value, number(1));
  EXPECT_EQ(asx_channel_try_recv(&rx, &value), ASX_E_EMPTY);
  EXPECT_TRUE(destroyed.empty());
}

TEST_F(capi_channels, a_channel_can_be_looked_at_while_a_permit_alone_keeps_it) {
  asx_channel_handle channel{};
  ASSERT_EQ(asx_channel_of(&tx, &channel), ASX_OK);
  asx_send_permit p{};
  ASSERT_EQ(asx_channel_try_reserve(&tx, &p), ASX_OK);
  ASSERT_EQ(asx_channel_drop_sender(&tx), ASX_OK);
  ASSERT_EQ(asx_channel_drop_receiver(&rx), ASX_OK);
  EXPECT_EQ(asx_channel_of(&tx, &channel), ASX_E_STALE_HANDLE);
  asx_channel_report report{};
  report.size = sizeof report;
  ASSERT_EQ(asx_channel_inspect(rt, channel, &report), ASX_OK);
  EXPECT_EQ(report.reserved, 1U);
  asx_send_permit_abort(&p);
  EXPECT_EQ(asx_channel_inspect(rt, channel, &report), ASX_E_DISCONNECTED);
  for (const asx_channel_handle bent : forged(channel)) {
    EXPECT_NE(asx_channel_inspect(rt, bent, &report), ASX_OK);
  }
}

TEST_F(capi_channels, full_and_evicting) {
  ASSERT_EQ(asx_channel_try_send(&tx, number(1)), ASX_OK);
  ASSERT_EQ(asx_channel_try_send(&tx, number(2)), ASX_OK);
  EXPECT_EQ(asx_channel_try_send(&tx, number(3)), ASX_E_FULL);
  bool evicts = false;
  void* oldest = nullptr;
  EXPECT_EQ(asx_channel_send_evicting(&tx, number(4), &evicts, &oldest), ASX_OK);
  EXPECT_TRUE(evicts);
  EXPECT_EQ(oldest, number(1));
  EXPECT_EQ(asx_channel_send_evicting(&tx, number(5), nullptr, nullptr), ASX_OK);
  EXPECT_EQ(destroyed, (std::vector<std::uintptr_t>{2})) << "nobody wanted it back";
  EXPECT_EQ(look().count_evicted, 2U);
}

TEST_F(capi_channels, what_nobody_received_is_destroyed_oldest_first) {
  ASSERT_EQ(asx_channel_try_send(&tx, number(1)), ASX_OK);
  ASSERT_EQ(asx_channel_try_send(&tx, number(2)), ASX_OK);
  ASSERT_EQ(asx_channel_drop_receiver(&rx), ASX_OK);
  EXPECT_EQ(destroyed, (std::vector<std::uintptr_t>{1, 2}));
  EXPECT_EQ(asx_channel_drop_receiver(&rx), ASX_E_STALE_HANDLE);
  EXPECT_EQ(asx_channel_try_send(&tx, number(3)), ASX_E_DISCONNECTED);
}

TEST_F(capi_channels, an_end_that_is_dropped_is_stale_in_every_copy) {
  asx_channel_sender clone{};
  ASSERT_EQ(asx_channel_clone(&tx, &clone), ASX_OK);
  asx_channel_sender copy = tx;
  EXPECT_EQ(asx_channel_drop_sender(&tx), ASX_OK);
  EXPECT_EQ(asx_channel_try_send(&copy, nullptr), ASX_E_STALE_HANDLE);
  EXPECT_EQ(asx_channel_clone(&copy, &tx), ASX_E_STALE_HANDLE);
  EXPECT_EQ(look().state, ASX_CHANNEL_OPEN);
  EXPECT_EQ(asx_channel_drop_sender(&clone), ASX_OK);
  EXPECT_EQ(look().state, ASX_CHANNEL_SENDER_CLOSED);
  void* value = nullptr;
  EXPECT_EQ(asx_channel_try_recv(&rx, &value), ASX_E_DISCONNECTED);
}

TEST_F(capi_channels, a_channel_of_a_closed_region_is_disconnected) {
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, nullptr, &region), ASX_OK);
  asx_channel_sender a{};
  asx_channel_receiver b{};
  ASSERT_EQ(asx_channel_create(rt, region, 1, nullptr, &a, &b), ASX_OK);
  asx_send_permit p{};
  ASSERT_EQ(asx_channel_try_reserve(&a, &p), ASX_OK);
  ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
  run();
  EXPECT_EQ(asx_channel_try_send(&a, nullptr), ASX_E_DISCONNECTED);
  void* value = nullptr;
  EXPECT_EQ(asx_channel_try_recv(&b, &value), ASX_E_DISCONNECTED);
  EXPECT_EQ(asx_send_permit_send(&p, nullptr), ASX_E_DISCONNECTED);
  EXPECT_EQ(asx_channel_drop_sender(&a), ASX_OK);
  EXPECT_EQ(asx_channel_drop_receiver(&b), ASX_OK);
}

TEST_F(capi_channels, capacity_zero_panics_whoever_asks) {
  asx_channel_sender a{};
  asx_channel_receiver b{};
  EXPECT_EQ(asx_channel_create(rt, root, 0, nullptr, &a, &b), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(panics.size(), 1U);
  const asx_task_handle t = spawn([&](asx_cx*) {
    EXPECT_EQ(asx_channel_create(rt, root, 0, nullptr, &a, &b), ASX_E_INVALID_ARGUMENT);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(outcome(t).kind, ASX_OUTCOME_PANICKED);
  EXPECT_EQ(panics.size(), 1U);
}

TEST_F(capi_channels, senders_wait_first_come_first_served) {
  std::string order;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    spawn([this, name, &order](asx_cx* cx) {
      asx_send_permit p{};
      const asx_status s = asx_channel_reserve(&tx, cx, &p);
      if (s == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
      EXPECT_EQ(s, ASX_OK);
      order += name;
      EXPECT_EQ(asx_send_permit_send(&p, number(1)), ASX_OK);
      return ASX_POLL_READY;
    });
  }
  run();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(look().waiters, 2U);
  void* value = nullptr;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(asx_channel_try_recv(&rx, &value), ASX_OK);
  run();
  EXPECT_EQ(order, "abcd");
}

TEST_F(capi_channels, a_tracked_permit_is_kept_given_back_or_missed) {
  asx_tracked_permit p{};
  asx_permit_proof proof{};
  EXPECT_EQ(asx_tracked_try_reserve(&tx, nullptr, &p), ASX_E_INVALID_ARGUMENT) << "outside of polls a region is named";
  ASSERT_EQ(asx_tracked_try_reserve(&tx, &root, &p), ASX_OK);
  EXPECT_EQ(asx_send_permit_send(&p.permit, nullptr), ASX_E_INVALID_ARGUMENT) << "not past its obligation";
  EXPECT_TRUE(asx_tracked_is_held(&p));
  asx_tracked_permit forged = p;
  forged.obligation.generation += 2;
  EXPECT_EQ(asx_tracked_send(&forged, nullptr, &proof), ASX_E_OBLIGATION_ALREADY_RESOLVED);
  EXPECT_EQ(asx_tracked_send(&p, number(7), &proof), ASX_OK);
  EXPECT_EQ(proof.permit, 1U);
  EXPECT_EQ(asx_tracked_abort(&p, nullptr), ASX_E_OBLIGATION_ALREADY_RESOLVED);
  asx_obligation_state state{};
  EXPECT_EQ(asx_obligation_inspect(rt, p.obligation, &state), ASX_OK);
  EXPECT_EQ(state, ASX_OBLIGATION_COMMITTED);

  const asx_task_handle t = spawn([&](asx_cx* cx) {
    asx_tracked_permit q{};
    EXPECT_EQ(asx_tracked_reserve(&tx, cx, &q), ASX_OK);
    EXPECT_EQ(asx_tracked_abort(&q, &proof), ASX_OK);
    EXPECT_EQ(asx_tracked_try_reserve(&tx, nullptr, &q), ASX_OK);
    EXPECT_EQ(asx_tracked_drop(&q), ASX_OK);
    EXPECT_EQ(asx_tracked_drop(&q), ASX_E_OBLIGATION_ALREADY_RESOLVED);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(outcome(t).kind, ASX_OUTCOME_PANICKED);
  const asx_task_handle forgetful = spawn([&](asx_cx* cx) {
    asx_tracked_permit q{};
    EXPECT_EQ(asx_tracked_reserve(&tx, cx, &q), ASX_OK);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(outcome(forgetful).kind, ASX_OUTCOME_PANICKED);
  EXPECT_EQ(look().reserved, 0U);
}

// ---- timers, laws, journal ----------------------------------------------------------------------------------------

TEST_F(capi, timers_of_regions) {
  asx_timer_handle timer{};
  ASSERT_EQ(asx_region_add_timer(rt, root, 500, &timer), ASX_OK);
  asx_time next = 0;
  ASSERT_EQ(asx_runtime_next_deadline(rt, &next), ASX_OK);
  EXPECT_EQ(next, 500U);
  bool was_live = false;
  EXPECT_EQ(asx_region_cancel_timer(rt, timer, &was_live), ASX_OK);
  EXPECT_TRUE(was_live);
  EXPECT_EQ(asx_region_cancel_timer(rt, timer, &was_live), ASX_OK);
  EXPECT_FALSE(was_live);
  for (const asx_timer_handle forged : {asx_timer_handle{0, 1}, {UINT64_MAX, 1}, {1, 1}, {5, 5}}) {
    EXPECT_EQ(asx_region_cancel_timer(rt, forged, &was_live), ASX_OK);
    EXPECT_FALSE(was_live);
  }
}

TEST_F(capi, a_wheel_of_its_own) {
  asx_timer_wheel* wheel = nullptr;
  asx_wheel_config config = ASX_WHEEL_CONFIG_INIT;
  config.max_wheel_ns = UINT64_MAX;
  EXPECT_EQ(asx_timer_wheel_create(&config, &wheel), ASX_E_INVALID_ARGUMENT);
  config = ASX_WHEEL_CONFIG_INIT;
  config.capacity = 40;
  ASSERT_EQ(asx_timer_wheel_create(&config, &wheel), ASX_OK);
  asx_timer_handle h{};
  for (std::uint64_t i = 40; i > 0; --i) ASSERT_EQ(asx_timer_register(wheel, i * 10, {i, 0}, &h), ASX_OK);
  EXPECT_EQ(asx_timer_try_register(wheel, 5, {0, 0}, &h), ASX_E_RESOURCE_EXHAUSTED);
  EXPECT_EQ(asx_timer_register(wheel, ASX_TIME_NONE, {0, 0}, &h), ASX_E_TIMER_DURATION_EXCEEDED);
  EXPECT_EQ(asx_timer_live(wheel), 40U);
  EXPECT_TRUE(asx_timer_is_live(wheel, &h));
  const asx_timer_handle moved = asx_timer_update(wheel, &h, 405, {41, 0});
  EXPECT_FALSE(asx_timer_is_live(wheel, &h));
  EXPECT_EQ(asx_timer_update(wheel, &moved, ASX_TIME_NONE, {0, 0}).id, 0U);
  EXPECT_TRUE(asx_timer_is_live(wheel, &moved));
  EXPECT_EQ(asx_timer_next_deadline(wheel), 20U);
  std::vector<asx_waker> out(64);
  EXPECT_EQ(asx_timer_collect_expired(wheel, 100, out.data(), 3), 3U);
  EXPECT_EQ(out[2].word, 4U);
  EXPECT_EQ(asx_timer_collect_expired(wheel, ASX_TIME_NONE, out.data(), 64), 37U);
  EXPECT_EQ(out[36].word, 41U);
  EXPECT_FALSE(asx_timer_cancel(wheel, &moved));
  EXPECT_EQ(asx_timer_purge(wheel), ASX_OK);
  EXPECT_EQ(asx_timer_wheel_destroy(wheel), ASX_OK);
  EXPECT_EQ(asx_timer_wheel_destroy(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_timer_wheel_create(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_timer_collect_expired(nullptr, 0, nullptr, 0), 0U);
  EXPECT_FALSE(asx_timer_cancel(nullptr, nullptr));
  EXPECT_EQ(asx_timer_update(nullptr, nullptr, 0, {0, 0}).id, 0U);
  EXPECT_FALSE(asx_timer_is_live(nullptr, nullptr));
  EXPECT_EQ(asx_timer_next_deadline(nullptr), ASX_TIME_NONE);
  EXPECT_EQ(asx_timer_live(nullptr), 0U);
  EXPECT_EQ(asx_timer_purge(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_timer_register(nullptr, 0, {0, 0}, &h), ASX_E_INVALID_ARGUMENT);
}

TEST_F(capi, the_laws) {
  asx_outcome ok{}, err{}, out{};
  err.kind = ASX_OUTCOME_ERR;
  err.error = ASX_E_IO;
  EXPECT_EQ(asx_outcome_join(&ok, &err, &out), ASX_OK);
  EXPECT_EQ(out.error, ASX_E_IO);
  EXPECT_EQ(asx_outcome_join(&ok, nullptr, &out), ASX_E_INVALID_ARGUMENT);
  err.error = static_cast<asx_status>(99);
  EXPECT_EQ(asx_outcome_join(&ok, &err, &out), ASX_E_INVALID_ARGUMENT);
  asx_budget a{10, 3, 5, 1};
  const asx_budget b = ASX_BUDGET_INFINITE;
  asx_budget met{};
  EXPECT_EQ(asx_budget_meet(&a, &b, &met), ASX_OK);
  EXPECT_TRUE(met.deadline == 10 && met.poll_quota == 3 && met.cost_quota == 5 && met.priority == 1);
  EXPECT_EQ(asx_budget_consume_poll(&a), ASX_OK);
  EXPECT_EQ(a.poll_quota, 2U);
  EXPECT_EQ(asx_budget_consume_cost(&a, 6), ASX_E_BUDGET_EXHAUSTED);
  asx_budget_part part{};
  EXPECT_EQ(asx_budget_exhausted(&a, 10, &part), ASX_OK);
  EXPECT_EQ(part, ASX_BUDGET_DEADLINE);
  asx_cancel_reason user{}, shutdown{}, strong{};
  shutdown.kind = ASX_CANCEL_SHUTDOWN;
  EXPECT_EQ(asx_cancel_reason_strengthen(&user, &shutdown, &strong), ASX_OK);
  EXPECT_EQ(strong.kind, ASX_CANCEL_SHUTDOWN);
  asx_cancel_witness w{1, 1, 1, ASX_CANCEL_CANCELLING, user};
  asx_cancel_witness earlier = w;
  earlier.phase = ASX_CANCEL_REQUESTED;
  EXPECT_EQ(asx_witness_validate(&earlier, &w), ASX_OK);
  EXPECT_EQ(asx_witness_validate(&w, &earlier), ASX_E_WITNESS_PHASE_REGRESSION);
  int legal = 0;
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      legal += asx_task_transition_check(static_cast<asx_task_state>(from), static_cast<asx_task_state>(to)) == ASX_OK;
    }
  }
  EXPECT_EQ(legal, 13);
  EXPECT_EQ(asx_region_transition_check(ASX_REGION_OPEN, ASX_REGION_CLOSED), ASX_E_INVALID_TRANSITION);
  EXPECT_EQ(asx_region_transition_check(ASX_REGION_OPEN, static_cast<asx_region_state>(5)), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_obligation_transition_check(ASX_OBLIGATION_RESERVED, ASX_OBLIGATION_ABORTED), ASX_OK);
  EXPECT_EQ(asx_cancel_phase_check(ASX_CANCEL_REQUESTED, ASX_CANCEL_COMPLETED), ASX_OK);
  std::uint8_t severity = 0;
  std::uint32_t quota = 0;
  EXPECT_EQ(asx_cancel_kind_info(ASX_CANCEL_SHUTDOWN, &severity, &quota, nullptr), ASX_OK);
  EXPECT_TRUE(severity == 5 && quota == 50);
}

TEST_F(capi, a_journal_is_read_sunk_and_written) {
  std::vector<asx_event> sunk;
  char path[] = "/tmp/asx_capi_XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  asx_journal_writer* writer = nullptr;
  ASSERT_EQ(asx_journal_writer_open(file, ASX_PROFILE_CORE, 9, nullptr, &writer), ASX_OK);
  start([&](asx_runtime_config& c) {
    c.seed = 9;
    c.writer = writer;
    c.sink = {&sunk, [](void* to, const asx_event* events, std::size_t count) {
                auto& all = *static_cast<std::vector<asx_event>*>(to);
                all.insert(all.end(), events, events + count);
              }};
  });
  EXPECT_EQ(asx_journal_writer_close(writer), ASX_E_REENTRANT) << "a runtime uses it";
  in_poll([](asx_cx* cx) { EXPECT_EQ(asx_cx_yield(cx), ASX_OK); });
  ASSERT_EQ(asx_journal_settle(rt), ASX_OK);
  std::uint64_t size = 0;
  ASSERT_EQ(asx_journal_size(rt, &size), ASX_OK);
  EXPECT_EQ(size, sunk.size());
  std::vector<asx_event> read(size);
  std::size_t count = 0;
  ASSERT_EQ(asx_journal_read(rt, 0, read.data(), read.size(), &count), ASX_OK);
  ASSERT_EQ(count, size);
  EXPECT_EQ(std::memcmp(read.data(), sunk.data(), size * sizeof(asx_event)), 0);
  ASSERT_EQ(asx_runtime_destroy(rt), ASX_OK);
  rt = nullptr;
  EXPECT_EQ(asx_journal_writer_close(writer), ASX_OK);
  EXPECT_GT(lseek(file, 0, SEEK_END), 64);
  close(file);
  unlink(path);
}

TEST_F(capi, a_report_names_who_is_alive) {
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx* cx) {
    return asx_sleep_for(cx, 10) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
  };
  spec.name = "sleeper";
  ASSERT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_OK);
  std::string text;
  const asx_text_fn put = [](void* to, const char* piece, std::size_t size) {
    static_cast<std::string*>(to)->append(piece, size);
  };
  EXPECT_EQ(asx_runtime_describe(rt, put, &text), ASX_OK);
  EXPECT_NE(text.find("'sleeper'"), std::string::npos) << text;
  text.clear();
  EXPECT_EQ(asx_runtime_describe_json(rt, put, &text), ASX_OK);
  EXPECT_EQ(text.front(), '{');
}

TEST_F(capi, a_foreign_handle_wakes_and_outlives_its_runtime) {
  start([](asx_runtime_config& c) { c.clock_kind = ASX_CLOCK_MACHINE; });
  int polls = 0;
  const asx_task_handle t = spawn([&polls](asx_cx* cx) {
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
    return ++polls == 2 ? ASX_POLL_READY : ASX_POLL_PENDING;
  });
  EXPECT_EQ(asx_runtime_advance(rt, 1), ASX_E_INVALID_ARGUMENT) << "the clock moves by itself";
  ASSERT_EQ(asx_runtime_run_until_idle(rt, 100, nullptr), ASX_OK);
  asx_foreign_handle f{};
  ASSERT_EQ(asx_foreign_open(rt, t, &f), ASX_OK);
  asx_foreign_wake(&f);
  ASSERT_EQ(asx_runtime_run_until_idle(rt, 100, nullptr), ASX_OK);
  EXPECT_EQ(polls, 2);
  ASSERT_EQ(asx_runtime_destroy(rt), ASX_OK);
  rt = nullptr;
  asx_foreign_cancel(&f, ASX_CANCEL_USER);
  asx_foreign_shut_down(&f);
  asx_foreign_drop(&f);
  asx_foreign_drop(&f);
  asx_foreign_wake(&f);
  asx_foreign_wake(nullptr);
}

}  // namespace
}  // namespace asx::capi_testing
