// The C interface used as it is meant to be.

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

class capi : public capi_test {};

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

TEST_F(capi, a_part_of_a_struct_is_refused_and_so_is_a_newer_one_if_it_says_something) {
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
  asx_task_handle t{};
  ASSERT_EQ(asx_task_spawn(rt, root, &spec, &t), ASX_OK);
  for (std::size_t size = 0; size < sizeof spec; ++size) {
    spec.size = size;
    EXPECT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_E_INVALID_ARGUMENT) << size;
  }

  struct newer {
    asx_task_spec known;
    std::uint64_t unknown;
  } future{ASX_TASK_SPEC_INIT, 0};
  future.known.poll = spec.poll;
  future.known.size = sizeof future;
  EXPECT_EQ(asx_task_spawn(rt, root, &future.known, nullptr), ASX_OK);
  future.unknown = 1;
  EXPECT_EQ(asx_task_spawn(rt, root, &future.known, nullptr), ASX_E_VERSION);

  asx_task_report small{};
  small.size = offsetof(asx_task_report, polls);
  small.id = 77;
  EXPECT_EQ(asx_task_inspect(rt, t, &small), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(small.id, 77U) << "nothing is written where there is no room for all";
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
    EXPECT_EQ(asx_channel_stop_receiving(&rx, cx), ASX_OK);
    EXPECT_EQ(asx_channel_stop_receiving(&rx, cx), ASX_E_INVALID_ARGUMENT);
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

}  // namespace
}  // namespace asx::capi_testing
