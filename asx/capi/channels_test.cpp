// Channels, permits and tracked permits through the C interface.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

void* number(std::uintptr_t n) {
  return reinterpret_cast<void*>(n);  // NOLINT: a value of a channel is a word.
}

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

TEST_F(capi_channels, what_was_not_evicted_is_null) {
  bool evicts = true;
  void* oldest = number(9);
  EXPECT_EQ(asx_channel_send_evicting(&tx, number(1), &evicts, &oldest), ASX_OK);
  EXPECT_FALSE(evicts);
  EXPECT_EQ(oldest, nullptr);
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
  EXPECT_EQ(asx_tracked_send(&forged, nullptr, &proof), ASX_E_STALE_HANDLE);
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

TEST_F(capi_channels, a_tracked_call_refuses_what_is_no_such_permit_and_leaves_it_as_it_is) {
  asx_tracked_permit p{};
  ASSERT_EQ(asx_tracked_try_reserve(&tx, &root, &p), ASX_OK);
  asx_tracked_permit plain{};
  ASSERT_EQ(asx_channel_try_reserve(&tx, &plain.permit), ASX_OK);
  std::vector<std::pair<asx_tracked_permit, asx_status>> wrong{{plain, ASX_E_INVALID_ARGUMENT}};
  for (unsigned bit = 0; bit < 64; ++bit) {
    asx_tracked_permit bent = p;
    bent.obligation.word ^= std::uint64_t{1} << bit;
    wrong.emplace_back(bent, ASX_E_STALE_HANDLE);
    bent = p;
    bent.obligation.generation ^= std::uint64_t{1} << bit;
    wrong.emplace_back(bent, ASX_E_STALE_HANDLE);
  }
  const asx_task_handle t = spawn([&](asx_cx*) {
    const std::uint64_t before = hash();
    for (const auto& [permit, said] : wrong) {
      asx_tracked_permit w = permit;
      EXPECT_FALSE(asx_tracked_is_held(&w));
      EXPECT_EQ(asx_tracked_send(&w, nullptr, nullptr), said);
      EXPECT_EQ(asx_tracked_abort(&w, nullptr), said);
      EXPECT_EQ(asx_tracked_drop(&w), said);
      EXPECT_EQ(w.permit.number, permit.permit.number) << "the caller's words are its own";
    }
    EXPECT_EQ(hash(), before);
    return ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(outcome(t).kind, ASX_OUTCOME_OK) << "nothing was forgotten";
  EXPECT_EQ(look().reserved, 2U);
  asx_send_permit bent = plain.permit;
  bent.number ^= 4;
  EXPECT_EQ(asx_send_permit_send(&bent, nullptr), ASX_E_OBLIGATION_ALREADY_RESOLVED);
  EXPECT_EQ(bent.number, plain.permit.number ^ 4U);
  EXPECT_EQ(asx_send_permit_send(&plain.permit, number(1)), ASX_OK);
  EXPECT_EQ(plain.permit.number, 0U);
  EXPECT_EQ(asx_tracked_send(&p, number(2), nullptr), ASX_OK);
  EXPECT_EQ(p.permit.number, 0U);
}

TEST_F(capi_channels, the_obligation_of_a_permit_is_resolved_by_its_permit_alone) {
  asx_tracked_permit p{};
  ASSERT_EQ(asx_tracked_try_reserve(&tx, &root, &p), ASX_OK);
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_obligation_abort(rt, p.obligation), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_obligation_commit(rt, p.obligation), ASX_E_INVALID_ARGUMENT);
  asx_obligation_handle none = p.obligation;
  none.generation += 2;
  EXPECT_EQ(asx_obligation_abort(rt, none), ASX_E_STALE_HANDLE);
  EXPECT_EQ(hash(), before);
  asx_obligation_state state{};
  EXPECT_EQ(asx_obligation_inspect(rt, p.obligation, &state), ASX_OK);
  EXPECT_EQ(state, ASX_OBLIGATION_RESERVED);
  EXPECT_EQ(asx_tracked_abort(&p, nullptr), ASX_OK);
  EXPECT_EQ(asx_obligation_inspect(rt, p.obligation, &state), ASX_OK);
  EXPECT_EQ(state, ASX_OBLIGATION_ABORTED);
}

TEST_F(capi_channels, one_task_receives_at_a_time_and_nobody_takes_its_place) {
  void* got = nullptr;
  asx_status said = ASX_OK;
  const asx_task_handle first = spawn([&](asx_cx* cx) {
    said = asx_channel_recv(&rx, cx, &got);
    return said == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
  });
  run();
  EXPECT_EQ(said, ASX_E_WOULD_BLOCK);
  in_poll([&](asx_cx* cx) {
    void* value = nullptr;
    const std::uint64_t before = hash();
    EXPECT_EQ(asx_channel_recv(&rx, cx, &value), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_channel_stop_receiving(&rx, cx), ASX_E_INVALID_ARGUMENT) << "that is another's wait";
    EXPECT_EQ(asx_channel_try_recv(&rx, &value), ASX_E_EMPTY) << "who does not wait is answered";
    EXPECT_EQ(hash(), before);
  });
  const asx_task_handle cancelled = spawn([&](asx_cx* cx) {
    if (!asx_is_cancelled(cx)) return asx_cx_waker(cx, nullptr) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_ERROR;
    void* value = nullptr;
    EXPECT_EQ(asx_channel_recv(&rx, cx, &value), ASX_E_CANCELLED);
    return ASX_POLL_READY;
  });
  run();
  ASSERT_EQ(asx_task_request_cancel(rt, cancelled, ASX_CANCEL_USER, nullptr, nullptr), ASX_OK);
  run();
  EXPECT_TRUE(look().is_receiver_waiting) << "the first one still waits";
  ASSERT_EQ(asx_channel_try_send(&tx, number(5)), ASX_OK);
  run();
  EXPECT_EQ(said, ASX_OK);
  EXPECT_EQ(got, number(5));
  EXPECT_EQ(outcome(first).kind, ASX_OUTCOME_OK);
}

TEST_F(capi_channels, a_wait_to_receive_ends_with_its_task_or_when_it_is_given_up) {
  const asx_task_handle waits = spawn([&](asx_cx* cx) {
    void* value = nullptr;
    return asx_channel_recv(&rx, cx, &value) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
  });
  run();
  EXPECT_TRUE(look().is_receiver_waiting);
  ASSERT_EQ(asx_task_request_cancel(rt, waits, ASX_CANCEL_USER, nullptr, nullptr), ASX_OK);
  run();
  EXPECT_FALSE(look().is_receiver_waiting);
  in_poll([&](asx_cx* cx) {
    void* value = nullptr;
    EXPECT_EQ(asx_channel_stop_receiving(&rx, cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_channel_recv(&rx, cx, &value), ASX_E_WOULD_BLOCK);
    EXPECT_EQ(asx_channel_stop_receiving(&rx, cx), ASX_OK);
  });
  EXPECT_FALSE(look().is_receiver_waiting);
}

}  // namespace
}  // namespace asx::capi_testing
