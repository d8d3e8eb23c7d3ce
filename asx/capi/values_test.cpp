// Timers, laws, journals, reports and foreign handles through the C interface.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

class capi_values : public capi_test {};

TEST_F(capi_values, timers_of_regions) {
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

TEST_F(capi_values, a_wheel_of_its_own) {
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

TEST_F(capi_values, the_laws) {
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

TEST_F(capi_values, a_journal_is_read_sunk_and_written) {
  std::vector<asx_event> sunk;
  std::string path = testing::TempDir() + "asx_capi_XXXXXX";
  const int file = mkstemp(path.data());
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
  unlink(path.c_str());
}

TEST_F(capi_values, a_report_names_who_is_alive) {
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

TEST_F(capi_values, a_foreign_handle_wakes_and_outlives_its_runtime) {
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

// A program in C may write any byte into a bool.
TEST_F(capi_values, any_byte_but_zero_is_true) {
  const auto odd = [](bool& b) { std::memset(&b, 2, 1); };
  const auto byte_of = [](const bool& b) {
    unsigned char out = 0;
    std::memcpy(&out, &b, 1);
    return out;
  };
  asx_cancel_reason why{};
  why.levels = 1;
  odd(why.truncated);
  asx_cancel_reason weak{};
  weak.levels = 1;
  asx_cancel_reason stronger{};
  ASSERT_EQ(asx_cancel_reason_strengthen(&why, &weak, &stronger), ASX_OK);
  EXPECT_EQ(byte_of(stronger.truncated), 1);
  asx_outcome cancelled{};
  cancelled.kind = ASX_OUTCOME_CANCELLED;
  cancelled.reason.levels = 1;
  odd(cancelled.overran);
  asx_outcome joined{};
  ASSERT_EQ(asx_outcome_join(&cancelled, &cancelled, &joined), ASX_OK);
  EXPECT_EQ(byte_of(joined.overran), 1);
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
  odd(spec.is_held);
  asx_task_handle t{};
  ASSERT_EQ(asx_task_spawn(rt, root, &spec, &t), ASX_OK);
  run();
  EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
}

TEST_F(capi_values, a_cause_above_32_bits_is_no_cause) {
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, nullptr, &region), ASX_OK);
  asx_region_handle inner{};
  ASSERT_EQ(asx_region_create(rt, region, nullptr, &inner), ASX_OK);
  const asx_task_handle t = spawn_in(inner, [](asx_cx* cx) {
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
    return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
  });
  run();
  ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, "stop"), ASX_OK);
  asx_task_report report{};
  report.size = sizeof report;
  ASSERT_EQ(asx_task_inspect(rt, t, &report), ASX_OK);
  ASSERT_GE(report.reason.levels, 2);
  asx_cancel_reason behind{};
  EXPECT_EQ(asx_cancel_reason_level(rt, &report.reason, 1, &behind), ASX_OK);
  for (unsigned bit = 32; bit < 64; ++bit) {
    asx_cancel_reason bent = report.reason;
    bent.cause ^= std::uint64_t{1} << bit;
    EXPECT_EQ(asx_cancel_reason_level(rt, &bent, 1, &behind), ASX_E_STALE_HANDLE);
  }
  run();
}

}  // namespace
}  // namespace asx::capi_testing
