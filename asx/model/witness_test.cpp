// asx/model/witness_test.cpp - the five rules between a witness and the next, and which one answers.
#include "asx/model/witness.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "asx/base/time.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/status.hpp"

namespace {

using asx::cancel_kind;
using asx::cancel_phase;
using asx::cancel_reason;
using asx::cancel_witness;
using asx::instant;
using asx::region_id;
using asx::status;
using asx::task_id;
using asx::validate;

constexpr cancel_reason reason_of(cancel_kind kind) {
  cancel_reason reason;
  reason.kind = kind;
  reason.origin_region = region_id(1);
  reason.timestamp = instant{100};
  return reason;
}

constexpr cancel_witness in_cleanup() {
  return {task_id(7), region_id(3), 1, cancel_phase::cancelling, reason_of(cancel_kind::deadline)};
}

// In table order. Bit k of a set stands for rule k.
constexpr std::array<status, 5> rule_codes{status::witness_task_mismatch, status::witness_region_mismatch,
                                           status::witness_epoch_mismatch, status::witness_phase_regression,
                                           status::witness_reason_weakened};

constexpr cancel_witness broken(cancel_witness w, unsigned rules) {
  if ((rules & 1U) != 0) w.task = task_id(8);
  if ((rules & 2U) != 0) w.region = region_id(4);
  if ((rules & 4U) != 0) w.epoch = 2;
  if ((rules & 8U) != 0) w.phase = cancel_phase::requested;
  if ((rules & 16U) != 0) w.reason.kind = cancel_kind::user;
  return w;
}

static_assert(validate(in_cleanup(), in_cleanup()) == status::ok);
static_assert(validate(in_cleanup(), broken(in_cleanup(), 8)) == status::witness_phase_regression);

TEST(witness_laws, each_rule_broken_alone_answers_with_its_own_code) {
  for (unsigned rule = 0; rule < 5; ++rule) {
    EXPECT_EQ(validate(in_cleanup(), broken(in_cleanup(), 1U << rule)), rule_codes[rule]) << "rule " << rule + 1;
  }
}

TEST(witness_laws, of_every_set_of_broken_rules_the_first_answers) {
  for (unsigned rules = 0; rules < 32; ++rules) {
    status want = status::ok;
    for (std::size_t rule = 5; rule-- > 0;) {
      if ((rules >> rule & 1U) != 0) want = rule_codes[rule];
    }
    EXPECT_EQ(validate(in_cleanup(), broken(in_cleanup(), rules)), want) << "rules " << rules;
  }
}

TEST(witness_laws, the_ids_must_be_equal_in_both_directions) {
  // A larger id or epoch is as wrong as a smaller one, and so is one that is absent.
  const cancel_witness previous = in_cleanup();
  for (const std::uint64_t other : {UINT64_C(0), UINT64_C(2), UINT64_MAX}) {
    cancel_witness next = previous;
    next.epoch = other;
    EXPECT_EQ(validate(previous, next), status::witness_epoch_mismatch) << other;
    EXPECT_EQ(validate(next, previous), status::witness_epoch_mismatch) << other;
    next = previous;
    next.task = task_id(other);
    EXPECT_EQ(validate(previous, next), status::witness_task_mismatch) << other;
    next = previous;
    next.region = region_id(other);
    EXPECT_EQ(validate(previous, next), status::witness_region_mismatch) << other;
  }
}

TEST(witness_laws, a_phase_may_stay_or_skip_ahead_but_never_fall_back) {
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      cancel_witness previous = in_cleanup();
      cancel_witness next = in_cleanup();
      previous.phase = static_cast<cancel_phase>(from);
      next.phase = static_cast<cancel_phase>(to);
      EXPECT_EQ(validate(previous, next), to >= from ? status::ok : status::witness_phase_regression)
          << from << " -> " << to;
      EXPECT_EQ(validate(previous, next), asx::cancel_phase_lifecycle.check(previous.phase, next.phase))
          << "the validator and the table of phases say the same";
    }
  }
}

TEST(witness_laws, a_reason_may_change_as_long_as_its_severity_does_not_fall) {
  constexpr std::array<int, 11> severity{0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5};
  for (std::size_t from = 0; from < 11; ++from) {
    for (std::size_t to = 0; to < 11; ++to) {
      cancel_witness previous = in_cleanup();
      cancel_witness next = in_cleanup();
      previous.reason = reason_of(static_cast<cancel_kind>(from));
      next.reason = reason_of(static_cast<cancel_kind>(to));
      EXPECT_EQ(validate(previous, next), severity[to] >= severity[from] ? status::ok : status::witness_reason_weakened)
          << from << " -> " << to;
    }
  }
}

TEST(witness_laws, only_the_severity_of_a_reason_is_compared) {
  // Weaker by R-39's tie-break, yet of the same severity: the rule names severity alone.
  const cancel_witness previous = in_cleanup();
  cancel_witness next = previous;
  next.reason.timestamp = instant{500};
  next.reason.message = "later and longer";
  next.reason.kind = cancel_kind::timeout;
  next.reason.origin_region = region_id(99);
  next.reason.origin_task = task_id(99);
  EXPECT_EQ(validate(previous, next), status::ok);
  EXPECT_EQ(validate(next, previous), status::ok);
}

TEST(witness_laws, a_validated_run_from_request_to_completion_may_strengthen_on_the_way) {
  cancel_witness last{task_id(7), region_id(3), 1, cancel_phase::requested, reason_of(cancel_kind::user)};
  for (const auto& [phase, kind] : {std::pair{cancel_phase::requested, cancel_kind::timeout},
                                    std::pair{cancel_phase::cancelling, cancel_kind::timeout},
                                    std::pair{cancel_phase::cancelling, cancel_kind::shutdown},
                                    std::pair{cancel_phase::finalizing, cancel_kind::shutdown},
                                    std::pair{cancel_phase::completed, cancel_kind::shutdown}}) {
    cancel_witness next = last;
    next.phase = phase;
    next.reason = reason_of(kind);
    ASSERT_EQ(validate(last, next), status::ok) << asx::name(kind);
    last = next;
  }
  EXPECT_EQ(validate(last, last), status::ok) << "Completed to Completed is a no-op";
}

}  // namespace
