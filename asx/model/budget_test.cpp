// asx/model/budget_test.cpp - the laws of meet, of spending, and of what is left.
//
// A small world first: every budget over a few values of each part, all pairs and all triples; then RapidCheck
// over the whole range. The oracle for meet is its definition in; the one for what_is_left works in
// 128 bits.
#include "asx/model/budget.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"

namespace asx {

void PrintTo(const budget& b, std::ostream* out) {
  *out << "{deadline " << b.deadline.ns << ", polls " << b.poll_quota << ", cost " << b.cost_quota << ", priority "
       << int{b.priority} << '}';
}

}  // namespace asx

namespace {

using asx::budget;
using asx::budget_part;
using asx::duration;
using asx::instant;
using asx::meet;
using asx::meet_side;
using asx::status;
using asx::unlimited;

__extension__ using wide = unsigned __int128;

constexpr std::uint64_t no_deadline = UINT64_MAX;  // the largest value means none.

budget make(std::uint64_t deadline, std::uint64_t polls, std::uint64_t cost, std::uint8_t priority) {
  return {instant{deadline}, polls, cost, priority};
}

std::vector<budget> small_world(std::initializer_list<std::uint64_t> values,
                                std::initializer_list<std::uint8_t> priorities) {
  std::vector<budget> all;
  for (const std::uint64_t d : values) {
    for (const std::uint64_t p : values) {
      for (const std::uint64_t c : values) {
        for (const std::uint8_t priority : priorities) all.push_back(make(d, p, c, priority));
      }
    }
  }
  return all;
}

// componentwise; the largest value of a limited part stands for unlimited, so min reads "min of the finite".
budget naive_meet(const budget& a, const budget& b) {
  return make(std::min(a.deadline.ns, b.deadline.ns), std::min(a.poll_quota, b.poll_quota),
              std::min(a.cost_quota, b.cost_quota), std::max(a.priority, b.priority));
}

bool no_wider(const budget& narrow, const budget& wide_one) {
  return narrow.deadline <= wide_one.deadline && narrow.poll_quota <= wide_one.poll_quota &&
         narrow.cost_quota <= wide_one.cost_quota && narrow.priority >= wide_one.priority;
}

template <class T>
meet_side naive_side(T left, T right, T result) {
  if (left == right) return meet_side::both;
  return result == left ? meet_side::left : meet_side::right;
}

asx::meet_origin naive_origin(const budget& a, const budget& b) {
  const budget m = naive_meet(a, b);
  return {naive_side(a.deadline.ns, b.deadline.ns, m.deadline.ns), naive_side(a.poll_quota, b.poll_quota, m.poll_quota),
          naive_side(a.cost_quota, b.cost_quota, m.cost_quota), naive_side(a.priority, b.priority, m.priority)};
}

// Edges and ordinary values in equal measure.
rc::Gen<std::uint64_t> any_amount() {
  return rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange<std::uint64_t>(0, 4),
                        rc::gen::element<std::uint64_t>(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2, UINT64_C(1) << 63,
                                                        UINT64_C(1) << 32));
}

budget any_budget() {
  return make(*any_amount(), *any_amount(), *any_amount(), *rc::gen::arbitrary<std::uint8_t>());
}

// ------------------------------------------------------------------------------------------------------- meet

static_assert(budget::infinite().deadline.is_none() && budget::infinite().poll_quota == unlimited &&
              budget::infinite().cost_quota == unlimited && budget::infinite().priority == 0);
static_assert(budget::zero().deadline == instant{0} && budget::zero().poll_quota == 0 &&
              budget::zero().cost_quota == 0 && budget::zero().priority == 255);
static_assert(unlimited == UINT64_MAX && instant::none().ns == UINT64_MAX);
static_assert(meet(budget::infinite(), budget::zero()) == budget::zero());
static_assert(meet(budget{instant{5}, 9, unlimited, 7}, budget{instant::none(), 3, 4, 9}) ==
              budget{instant{5}, 3, 4, 9});

TEST(budget_laws, meet_of_every_small_pair_takes_the_tighter_of_each_part) {
  const std::vector<budget> world = small_world({0, 1, 2, unlimited}, {0, 1, 255});
  ASSERT_EQ(world.size(), 192U);
  for (const budget& a : world) {
    ASSERT_EQ(meet(a, a), a);
    ASSERT_EQ(meet(a, budget::infinite()), a);
    ASSERT_EQ(meet(budget::infinite(), a), a);
    ASSERT_EQ(meet(a, budget::zero()), budget::zero());
    ASSERT_EQ(meet(budget::zero(), a), budget::zero());
    for (const budget& b : world) {
      const budget m = meet(a, b);
      ASSERT_EQ(m, naive_meet(a, b));
      ASSERT_EQ(m, meet(b, a));
      ASSERT_TRUE(no_wider(m, a) && no_wider(m, b));
      ASSERT_EQ(asx::origin_of_meet(a, b), naive_origin(a, b))
          << testing::PrintToString(a) << testing::PrintToString(b);
    }
  }
}

TEST(budget_laws, meet_of_every_small_triple_is_associative) {
  const std::vector<budget> world = small_world({0, 1, unlimited}, {0, 1, 255});
  for (const budget& a : world) {
    for (const budget& b : world) {
      const budget ab = meet(a, b);
      for (const budget& c : world) {
        if (meet(ab, c) == meet(a, meet(b, c))) continue;
        FAIL() << testing::PrintToString(a) << testing::PrintToString(b) << testing::PrintToString(c);
      }
    }
  }
}

RC_GTEST_PROP(budget_laws, meet_is_a_lattice_meet_over_the_whole_range, ()) {
  const budget a = any_budget();
  const budget b = any_budget();
  const budget c = any_budget();
  RC_ASSERT(meet(a, b) == naive_meet(a, b));
  RC_ASSERT(meet(a, b) == meet(b, a));
  RC_ASSERT(meet(meet(a, b), c) == meet(a, meet(b, c)));
  RC_ASSERT(meet(a, a) == a);
  RC_ASSERT(meet(a, budget::infinite()) == a);
  RC_ASSERT(meet(a, budget::zero()) == budget::zero());
  RC_ASSERT(no_wider(meet(a, b), a));
  RC_ASSERT(no_wider(meet(a, b), b));
}

RC_GTEST_PROP(budget_laws, the_origin_of_each_part_of_a_meet_is_a_side_that_has_it, ()) {
  const budget a = any_budget();
  const budget b = *rc::gen::weightedElement<int>({{4, 0}, {1, 1}}) == 0 ? any_budget() : a;
  const budget m = meet(a, b);
  const asx::meet_origin origin = asx::origin_of_meet(a, b);
  RC_ASSERT(origin == naive_origin(a, b));
  const auto holds = [](meet_side side, auto left, auto right, auto result) {
    return (side == meet_side::right || result == left) && (side == meet_side::left || result == right);
  };
  RC_ASSERT(holds(origin.deadline, a.deadline, b.deadline, m.deadline));
  RC_ASSERT(holds(origin.poll_quota, a.poll_quota, b.poll_quota, m.poll_quota));
  RC_ASSERT(holds(origin.cost_quota, a.cost_quota, b.cost_quota, m.cost_quota));
  RC_ASSERT(holds(origin.priority, a.priority, b.priority, m.priority));
}

// --------------------------------------------------------------------------------------------------- spending

static_assert([] {
  budget b{instant::none(), 3, unlimited, 0};
  for (int i = 0; i < 3; ++i) {
    if (b.consume_poll() != status::ok) return false;
  }
  return b.consume_poll() == status::budget_exhausted && b.poll_quota == 0;
}());

TEST(budget_laws, a_quota_of_three_buys_three_polls_and_not_a_fourth) {
  budget b = make(no_deadline, 3, unlimited, 128);
  for (std::uint64_t left = 3; left > 0; --left) {
    EXPECT_EQ(b.exhausted(instant{0}), budget_part::none);
    EXPECT_EQ(b.consume_poll(), status::ok);
    EXPECT_EQ(b, make(no_deadline, left - 1, unlimited, 128));
  }
  EXPECT_EQ(b.exhausted(instant{0}), budget_part::polls);
  EXPECT_EQ(b.consume_poll(), status::budget_exhausted);
  EXPECT_EQ(b, make(no_deadline, 0, unlimited, 128));
}

TEST(budget_laws, a_cost_that_does_not_fit_is_refused_and_takes_nothing) {
  budget b = make(no_deadline, unlimited, 5, 128);
  EXPECT_EQ(b.consume_cost(7), status::budget_exhausted);
  EXPECT_EQ(b, make(no_deadline, unlimited, 5, 128));
  EXPECT_EQ(b.consume_cost(6), status::budget_exhausted);
  EXPECT_EQ(b.consume_cost(UINT64_MAX), status::budget_exhausted);
  EXPECT_EQ(b.consume_cost(0), status::ok);
  EXPECT_EQ(b.cost_quota, 5U);
  EXPECT_EQ(b.consume_cost(5), status::ok);
  EXPECT_EQ(b.cost_quota, 0U);
  EXPECT_EQ(b.exhausted(instant{0}), budget_part::cost);
  EXPECT_EQ(b.consume_cost(1), status::budget_exhausted);
  EXPECT_EQ(b.consume_cost(0), status::ok) << "nothing always fits";
  EXPECT_EQ(b, make(no_deadline, unlimited, 0, 128));
}

TEST(budget_laws, a_million_polls_on_infinite_leave_it_infinite) {
  budget b = budget::infinite();
  for (int i = 0; i < 1'000'000; ++i) {
    if (b.consume_poll() != status::ok) FAIL() << "poll " << i;
  }
  EXPECT_EQ(b, budget::infinite());
  for (const std::uint64_t n : {UINT64_C(0), UINT64_C(1), UINT64_MAX - 1, UINT64_MAX}) {
    EXPECT_EQ(b.consume_cost(n), status::ok) << n;
    EXPECT_EQ(b, budget::infinite());
  }
}

TEST(budget_laws, the_largest_limited_amount_is_limited) {
  budget b = make(no_deadline, unlimited - 1, unlimited - 1, 0);
  EXPECT_EQ(b.consume_poll(), status::ok);
  EXPECT_EQ(b.consume_cost(1), status::ok);
  EXPECT_EQ(b, make(no_deadline, unlimited - 2, unlimited - 2, 0));
  EXPECT_EQ(b.consume_cost(unlimited - 1), status::budget_exhausted);
  EXPECT_EQ(b.consume_cost(unlimited - 2), status::ok);
  EXPECT_EQ(b.cost_quota, 0U);
}

RC_GTEST_PROP(budget_laws, spending_never_underflows_and_a_refusal_changes_nothing, ()) {
  budget b = any_budget();
  const int steps = *rc::gen::inRange(0, 40);
  for (int i = 0; i < steps; ++i) {
    const budget before = b;
    budget want = b;
    if (*rc::gen::arbitrary<bool>()) {
      const bool fits = before.poll_quota != 0;
      if (fits && before.poll_quota != UINT64_MAX) want.poll_quota = before.poll_quota - 1;
      RC_ASSERT(b.consume_poll() == (fits ? status::ok : status::budget_exhausted));
    } else {
      const std::uint64_t n = *rc::gen::oneOf(any_amount(), rc::gen::just(before.cost_quota));
      const bool fits = before.cost_quota == UINT64_MAX || n <= before.cost_quota;
      if (fits && before.cost_quota != UINT64_MAX) want.cost_quota = before.cost_quota - n;
      RC_ASSERT(b.consume_cost(n) == (fits ? status::ok : status::budget_exhausted));
    }
    RC_ASSERT(b == want);
    RC_ASSERT(no_wider(b, before));
  }
}

// ------------------------------------------------------------------------------------------------- exhaustion

TEST(budget_laws, a_deadline_has_passed_from_its_own_instant_on) {
  const budget b = make(10, 1, 1, 0);
  EXPECT_FALSE(b.deadline_passed(instant{0}));
  EXPECT_FALSE(b.deadline_passed(instant{9}));
  EXPECT_TRUE(b.deadline_passed(instant{10}));
  EXPECT_TRUE(b.deadline_passed(instant{11}));
  EXPECT_TRUE(b.deadline_passed(instant{UINT64_MAX - 1}));
  EXPECT_TRUE(make(0, 1, 1, 0).deadline_passed(instant{0}));
  EXPECT_FALSE(budget::infinite().deadline_passed(instant{UINT64_MAX - 1}));
}

TEST(budget_laws, what_is_exhausted_first_is_the_deadline_then_the_polls_then_the_cost) {
  for (const budget& b : small_world({0, 1, 2, unlimited}, {0, 255})) {
    for (const std::uint64_t now : {UINT64_C(0), UINT64_C(1), UINT64_C(2), UINT64_C(3)}) {
      budget_part want = budget_part::none;
      if (b.cost_quota == 0) want = budget_part::cost;
      if (b.poll_quota == 0) want = budget_part::polls;
      if (b.deadline.ns != no_deadline && now >= b.deadline.ns) want = budget_part::deadline;
      ASSERT_EQ(b.exhausted(instant{now}), want) << testing::PrintToString(b) << " at " << now;
      ASSERT_EQ(b.deadline_passed(instant{now}), want == budget_part::deadline);
    }
  }
  EXPECT_EQ(budget::infinite().exhausted(instant{UINT64_MAX - 1}), budget_part::none);
  EXPECT_EQ(budget::zero().exhausted(instant{0}), budget_part::deadline);
}

// ------------------------------------------------------------------------------------------------ what is left

struct share {
  budget_part part;
  std::uint64_t left;
  std::uint64_t granted;
};

// The smallest left/granted by cross-multiplication in 128 bits; the first part wins a tie.
asx::budget_left naive_left(const budget& granted, instant granted_at, const budget& left, instant now) {
  const auto span = [](std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; };
  const bool timed = granted.deadline.ns != no_deadline;
  std::vector<share> shares;
  if (timed) {
    shares.push_back({budget_part::deadline, span(now.ns, left.deadline.ns), span(granted_at.ns, granted.deadline.ns)});
  }
  if (granted.poll_quota != UINT64_MAX) shares.push_back({budget_part::polls, left.poll_quota, granted.poll_quota});
  if (granted.cost_quota != UINT64_MAX) shares.push_back({budget_part::cost, left.cost_quota, granted.cost_quota});
  asx::budget_left result{timed ? duration{span(now.ns, left.deadline.ns)} : duration::max(), left.poll_quota,
                          left.cost_quota, budget_part::none};
  const share* least = nullptr;
  for (share& s : shares) {
    if (s.granted == 0) s = {s.part, 0, 1};
    if (least == nullptr || wide{s.left} * least->granted < wide{least->left} * s.granted) least = &s;
  }
  if (least != nullptr) result.binds = least->part;
  return result;
}

static_assert(asx::what_is_left(budget{instant{100}, 10, 10, 0}, instant{0}, budget{instant{100}, 4, 6, 0},
                                instant{50}) == asx::budget_left{duration{50}, 4, 6, budget_part::polls});

TEST(budget_laws, what_binds_is_the_limited_part_with_the_smallest_share_left) {
  const auto left = [](budget granted, budget now_left, std::uint64_t now) {
    return asx::what_is_left(granted, instant{0}, now_left, instant{now});
  };
  const budget granted = make(100, 10, 10, 0);
  EXPECT_EQ(left(granted, make(100, 9, 9, 0), 50), (asx::budget_left{duration{50}, 9, 9, budget_part::deadline}));
  EXPECT_EQ(left(granted, make(100, 4, 9, 0), 50), (asx::budget_left{duration{50}, 4, 9, budget_part::polls}));
  EXPECT_EQ(left(granted, make(100, 9, 4, 0), 50), (asx::budget_left{duration{50}, 9, 4, budget_part::cost}));
  // Ties go by the order deadline, polls, cost.
  EXPECT_EQ(left(granted, make(100, 5, 5, 0), 50).binds, budget_part::deadline);
  EXPECT_EQ(left(granted, make(100, 4, 4, 0), 50).binds, budget_part::polls);
  // Past its deadline a budget has no time left, and it does not wrap round.
  EXPECT_EQ(left(granted, make(100, 5, 5, 0), 400), (asx::budget_left{duration{0}, 5, 5, budget_part::deadline}));
  // An unlimited part never binds; with nothing limited, nothing does.
  EXPECT_EQ(left(make(no_deadline, 10, unlimited, 0), make(no_deadline, 10, unlimited, 0), 7),
            (asx::budget_left{duration::max(), 10, unlimited, budget_part::polls}));
  EXPECT_EQ(left(budget::infinite(), budget::infinite(), 7),
            (asx::budget_left{duration::max(), unlimited, unlimited, budget_part::none}));
  // A grant of nothing is a share of nothing.
  EXPECT_EQ(left(make(100, 10, 0, 0), make(100, 1, 0, 0), 99).binds, budget_part::cost);
  EXPECT_EQ(left(budget::zero(), budget::zero(), 0), (asx::budget_left{duration{0}, 0, 0, budget_part::deadline}));
}

TEST(budget_laws, shares_that_differ_in_the_last_bit_are_told_apart) {
  // (2^63 - 1) / 2^63 against (2^63 - 2) / (2^63 - 1): equal as doubles, the second is smaller.
  constexpr std::uint64_t big = UINT64_C(1) << 63;
  const budget granted = make(no_deadline, big, big - 1, 0);
  EXPECT_EQ(asx::what_is_left(granted, instant{0}, make(no_deadline, big - 1, big - 2, 0), instant{0}).binds,
            budget_part::cost);
  const budget swapped = make(no_deadline, big - 1, big, 0);
  EXPECT_EQ(asx::what_is_left(swapped, instant{0}, make(no_deadline, big - 2, big - 1, 0), instant{0}).binds,
            budget_part::polls);
}

TEST(budget_laws, what_is_left_of_every_small_budget_agrees_with_the_naive_sum) {
  for (const budget& granted : small_world({0, 1, 2, 3, 4, unlimited}, {0})) {
    for (std::uint64_t polls = 0; polls <= 4; ++polls) {
      if (granted.poll_quota != unlimited && polls > granted.poll_quota) break;
      for (std::uint64_t cost = 0; cost <= 4; ++cost) {
        if (granted.cost_quota != unlimited && cost > granted.cost_quota) break;
        for (std::uint64_t at = 0; at <= 2; ++at) {
          for (std::uint64_t now = at; now <= 5; ++now) {
            const budget left = make(granted.deadline.ns, granted.poll_quota == unlimited ? unlimited : polls,
                                     granted.cost_quota == unlimited ? unlimited : cost, 0);
            ASSERT_EQ(asx::what_is_left(granted, instant{at}, left, instant{now}),
                      naive_left(granted, instant{at}, left, instant{now}))
                << testing::PrintToString(granted) << testing::PrintToString(left) << at << ' ' << now;
          }
        }
      }
    }
  }
}

RC_GTEST_PROP(budget_laws, what_is_left_agrees_with_the_naive_sum_over_the_whole_range, ()) {
  const budget granted = any_budget();
  const auto part_of = [](std::uint64_t amount) {
    if (amount == UINT64_MAX || amount == 0) return amount;
    return *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, amount), rc::gen::just(amount),
                           rc::gen::just(amount - 1));
  };
  budget left = granted;
  left.poll_quota = part_of(granted.poll_quota);
  left.cost_quota = part_of(granted.cost_quota);
  const std::uint64_t at = part_of(std::min<std::uint64_t>(*any_amount(), UINT64_MAX - 1));
  const std::uint64_t now = at + part_of(UINT64_MAX - 1 - at);
  RC_ASSERT(asx::what_is_left(granted, instant{at}, left, instant{now}) ==
            naive_left(granted, instant{at}, left, instant{now}));
}

}  // namespace
