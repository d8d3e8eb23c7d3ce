// asx/model/outcome_test.cpp - the lattice of outcomes with its payloads, and the lifetime of those payloads.
//
// The oracle is a join written from over a plain record; every pair and every triple of a
// set of outcomes that differ in kind, in payload, or in nothing but a reason's chain is enumerated.
#include "asx/model/outcome.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/cancel_reason.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/status.hpp"

namespace {

using asx::cancel_kind;
using asx::cancel_reason;
using asx::cancellation;
using asx::instant;
using asx::join;
using asx::outcome_kind;
using asx::panic_note;
using asx::status;

using result = asx::outcome<int>;

constexpr cancel_reason reason_of(cancel_kind kind, std::uint64_t at, std::string_view message = {}) {
  cancel_reason reason;
  reason.kind = kind;
  reason.timestamp = instant{at};
  reason.message = message;
  return reason;
}

// Equal to reason_of(user, 5) on all six keys of R-39, and yet another reason: it has a longer chain.
constexpr cancel_reason user_with_chain() {
  cancel_reason reason = reason_of(cancel_kind::user, 5);
  reason.levels = 2;
  reason.cause = {3, 4};
  return reason;
}

constexpr auto pool = std::to_array<result>({
    result::ok(),  // The bare ok, R-125.
    result::ok(1),
    result::ok(2),
    result::err({status::io, 1}),
    result::err({status::io, 2}),
    result::err({status::disconnected, 0}),
    result::cancelled(reason_of(cancel_kind::user, 5)),
    result::cancelled(user_with_chain()),
    result::cancelled(cancellation{reason_of(cancel_kind::user, 5), true}),
    result::cancelled(reason_of(cancel_kind::user, 3)),
    result::cancelled(reason_of(cancel_kind::timeout, 9)),
    result::cancelled(cancellation{reason_of(cancel_kind::deadline, 9), true}),
    result::cancelled(reason_of(cancel_kind::fail_fast, 7, "a")),
    result::cancelled(reason_of(cancel_kind::race_lost, 7, "a")),
    result::cancelled(reason_of(cancel_kind::linked_exit, 7, "A")),
    result::cancelled(reason_of(cancel_kind::shutdown, 50, "late")),
    result::panicked({"one", "a.cpp", 1}),
    result::panicked({"two", "b.cpp", 2}),
});

// ------------------------------------------------------------------------------------------------- the oracle

// The flag of an overrun is left out here: it has a test of its own.
struct naive {
  int severity = 0;  // Ok 0 < Err 1 < Cancelled 2 < Panicked 3.
  std::optional<int> value{};
  std::optional<asx::error> error{};
  std::optional<cancel_reason> reason{};
  std::optional<panic_note> panic{};

  bool operator==(const naive&) const = default;
};

naive read(const result& r) {
  naive n;
  switch (r.kind()) {
    case outcome_kind::ok:
      if (r.has_value()) n.value = r.value();
      break;
    case outcome_kind::err:
      n.severity = 1;
      n.error = r.error();
      break;
    case outcome_kind::cancelled:
      n.severity = 2;
      n.reason = r.reason();
      break;
    case outcome_kind::panicked:
      n.severity = 3;
      n.panic = r.panic();
      break;
  }
  return n;
}

// R-39 as a key that is smaller for the stronger reason. All messages here are ASCII.
auto weakness(const cancel_reason& r) {
  constexpr std::array<int, 11> severity{0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5};
  const auto kind = static_cast<std::size_t>(r.kind);
  return std::tuple(-severity[kind], r.timestamp.ns, r.message, kind, r.origin_region.value, r.origin_task.value);
}

naive naive_join(const naive& left, const naive& right) {
  if (left.severity != right.severity) return left.severity > right.severity ? left : right;
  if (left.severity == 0) return left.value.has_value() ? left : right;
  if (left.severity == 2) {
    return weakness(*right.reason) < weakness(*left.reason) ? right : left;
  }
  return left;
}

// ---------------------------------------------------------------------------------------------- at compile time

static_assert(static_cast<int>(outcome_kind::ok) == 0 && static_cast<int>(outcome_kind::err) == 1 &&
              static_cast<int>(outcome_kind::cancelled) == 2 && static_cast<int>(outcome_kind::panicked) == 3);
static_assert(asx::name(outcome_kind::ok) == "ok" && asx::name(outcome_kind::err) == "err" &&
              asx::name(outcome_kind::cancelled) == "cancelled" && asx::name(outcome_kind::panicked) == "panicked");
static_assert(join(pool[0], pool[1]) == pool[1] && join(pool[1], pool[0]) == pool[1]);
static_assert(join(pool[1], pool[2]) == pool[1] && join(pool[2], pool[1]) == pool[2]);
static_assert(join(pool[6], pool[15]) == pool[15] && join(pool[15], pool[6]) == pool[15]);
static_assert(join(pool[15], pool[16]).is_panicked() && join(pool[3], pool[6]).is_cancelled());
static_assert(result{} == result::ok() && !result{}.has_value() && result{}.is_ok());
static_assert(std::is_trivially_copyable_v<result> && std::is_trivially_copyable_v<asx::outcome<>>);
static_assert(!std::is_trivially_copyable_v<asx::outcome<std::vector<int>>>);
static_assert(!std::is_copy_constructible_v<asx::outcome<std::unique_ptr<int>>> &&
              std::is_nothrow_move_constructible_v<asx::outcome<std::unique_ptr<int>>>);

// ----------------------------------------------------------------------------------------------------- the laws

TEST(outcome_laws, each_kind_says_what_it_is_and_hands_out_its_own_payload) {
  struct expected {
    result made;
    outcome_kind kind;
    bool has_value;
  };
  for (const expected& want :
       {expected{result::ok(), outcome_kind::ok, false}, expected{result::ok(1), outcome_kind::ok, true},
        expected{result::err({status::io, 7}), outcome_kind::err, false},
        expected{pool[6], outcome_kind::cancelled, false},
        expected{result::panicked({"p", "f", 1}), outcome_kind::panicked, false}}) {
    EXPECT_EQ(want.made.kind(), want.kind);
    EXPECT_EQ(static_cast<int>(want.made.severity()), static_cast<int>(want.kind));
    EXPECT_EQ(want.made.is_ok(), want.kind == outcome_kind::ok);
    EXPECT_EQ(want.made.is_err(), want.kind == outcome_kind::err);
    EXPECT_EQ(want.made.is_cancelled(), want.kind == outcome_kind::cancelled);
    EXPECT_EQ(want.made.is_panicked(), want.kind == outcome_kind::panicked);
    EXPECT_EQ(want.made.has_value(), want.has_value);
  }
  EXPECT_EQ(result::ok(41).value(), 41);
  EXPECT_EQ(result::err({status::io, 7}).error(), (asx::error{status::io, 7}));
  EXPECT_EQ(result::panicked({"p", "f", 9}).panic(), (panic_note{"p", "f", 9}));
  const result forced = result::cancelled(cancellation{reason_of(cancel_kind::user, 5), true});
  EXPECT_EQ(forced.reason(), reason_of(cancel_kind::user, 5));
  EXPECT_EQ(forced.cancelled_by(), (cancellation{reason_of(cancel_kind::user, 5), true}));
  EXPECT_FALSE(result::cancelled(reason_of(cancel_kind::user, 5)).cancelled_by().cleanup_budget_exceeded);
}

TEST(outcome_laws, outcomes_are_equal_only_if_kind_and_payload_are) {
  for (std::size_t a = 0; a < pool.size(); ++a) {
    for (std::size_t b = 0; b < pool.size(); ++b) EXPECT_EQ(pool[a] == pool[b], a == b) << a << ' ' << b;
  }
  using same = asx::outcome<int, int>;
  EXPECT_NE(same::ok(1), same::err(1)) << "an equal payload of another kind";
}

TEST(outcome_laws, the_kind_of_a_join_is_the_catalogues_for_all_16_pairs) {
  constexpr std::array<std::array<outcome_kind, 4>, 4> want{{
      {outcome_kind::ok, outcome_kind::err, outcome_kind::cancelled, outcome_kind::panicked},
      {outcome_kind::err, outcome_kind::err, outcome_kind::cancelled, outcome_kind::panicked},
      {outcome_kind::cancelled, outcome_kind::cancelled, outcome_kind::cancelled, outcome_kind::panicked},
      {outcome_kind::panicked, outcome_kind::panicked, outcome_kind::panicked, outcome_kind::panicked},
  }};
  for (const result& a : pool) {
    for (const result& b : pool) {
      EXPECT_EQ(join(a, b).kind(), want[static_cast<std::size_t>(a.kind())][static_cast<std::size_t>(b.kind())]);
    }
  }
}

TEST(outcome_laws, every_pair_joins_as_the_naive_join_says) {
  for (std::size_t a = 0; a < pool.size(); ++a) {
    for (std::size_t b = 0; b < pool.size(); ++b) {
      SCOPED_TRACE(testing::Message() << "join of " << a << " and " << b);
      const result joined = join(pool[a], pool[b]);
      EXPECT_TRUE(read(joined) == naive_join(read(pool[a]), read(pool[b])));
      EXPECT_TRUE(read(joined) == read(pool[a]) || read(joined) == read(pool[b])) << "a join invents nothing";
      EXPECT_EQ(joined.kind(), join(pool[b], pool[a]).kind()) << "commutative in severity";
    }
  }
}

TEST(outcome_laws, every_triple_is_associative_with_its_payload) {
  for (std::size_t a = 0; a < pool.size(); ++a) {
    for (std::size_t b = 0; b < pool.size(); ++b) {
      for (std::size_t c = 0; c < pool.size(); ++c) {
        ASSERT_EQ(join(join(pool[a], pool[b]), pool[c]), join(pool[a], join(pool[b], pool[c])))
            << a << ' ' << b << ' ' << c;
      }
    }
  }
}

TEST(outcome_laws, join_is_idempotent_has_the_bare_ok_as_identity_and_panicked_as_absorbing) {
  for (std::size_t a = 0; a < pool.size(); ++a) {
    SCOPED_TRACE(a);
    EXPECT_EQ(join(pool[a], pool[a]), pool[a]);
    EXPECT_EQ(join(result::ok(), pool[a]), pool[a]);
    EXPECT_EQ(join(pool[a], result::ok()), pool[a]);
    EXPECT_EQ(join(pool[16], pool[a]), pool[16]);
    EXPECT_EQ(join(pool[a], pool[16]), pool[a].is_panicked() ? pool[a] : pool[16]);
  }
}

TEST(outcome_laws, a_stronger_reason_wins_in_both_orders) {
  const result user = result::cancelled(reason_of(cancel_kind::user, 0));
  const result shutdown = result::cancelled(reason_of(cancel_kind::shutdown, 9));
  EXPECT_EQ(join(user, shutdown).reason().kind, cancel_kind::shutdown);
  EXPECT_EQ(join(shutdown, user).reason().kind, cancel_kind::shutdown);
}

TEST(outcome_laws, reasons_that_tie_keep_the_left_payload_whole) {
  EXPECT_EQ(join(pool[6], pool[7]).reason().levels, 1);
  EXPECT_EQ(join(pool[7], pool[6]).reason().levels, 2);
}

// The catalogue has the flag among the fields of the reason, so it is part of the payload that R-49 chooses.
TEST(outcome_laws, the_flag_of_an_overrun_goes_with_the_reason_that_wins) {
  const auto overrun = [](cancel_kind left, bool left_flag, cancel_kind right, bool right_flag) {
    return join(result::cancelled(cancellation{reason_of(left, 5), left_flag}),
                result::cancelled(cancellation{reason_of(right, 5), right_flag}))
        .cancelled_by()
        .cleanup_budget_exceeded;
  };
  for (const bool stronger : {false, true}) {
    for (const bool weaker : {false, true}) {
      SCOPED_TRACE(testing::Message() << "stronger " << stronger << ", weaker " << weaker);
      EXPECT_EQ(overrun(cancel_kind::shutdown, stronger, cancel_kind::user, weaker), stronger);
      EXPECT_EQ(overrun(cancel_kind::user, weaker, cancel_kind::shutdown, stronger), stronger);
      EXPECT_EQ(overrun(cancel_kind::user, weaker, cancel_kind::user, stronger), weaker) << "a tie keeps the left";
    }
  }
}

TEST(outcome_laws, a_fold_over_nothing_is_the_bare_ok_and_over_values_keeps_the_first) {
  const auto fold = [](std::initializer_list<result> children) {
    result all;
    for (const result& child : children) all = join(all, child);
    return all;
  };
  EXPECT_EQ(fold({}), result::ok());
  EXPECT_EQ(fold({result::ok(1), result::ok(2)}), result::ok(1));
  EXPECT_EQ(fold({result::ok(), result::ok(2)}), result::ok(2));
  EXPECT_EQ(fold({result::ok(1), pool[4], pool[3]}), pool[4]);
}

RC_GTEST_PROP(outcome_laws, a_fold_can_be_kept_incrementally_by_severity_and_creation_order, ()) {
  const auto picks = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, pool.size()));
  result fold;
  std::optional<std::size_t> first;  // Of those of the highest severity, the first with a payload; or the strongest.
  for (const std::size_t pick : picks) {
    fold = join(fold, pool[pick]);
    if (pool[pick] == result::ok()) continue;
    if (!first || pool[pick].severity() > pool[*first].severity() ||
        (pool[pick].is_cancelled() && pool[*first].is_cancelled() &&
         weakness(pool[pick].reason()) < weakness(pool[*first].reason()))) {
      first = pick;
    }
  }
  RC_ASSERT(read(fold) == read(first ? pool[*first] : result::ok()));
}

// ------------------------------------------------------------------------------------------- lifetime of payloads

// From here on payloads throw when they are moved and are looked at after a move: that is what is tested.
// NOLINTBEGIN(bugprone-exception-escape, performance-noexcept-move-constructor, bugprone-unhandled-self-assignment)
// NOLINTBEGIN(bugprone-use-after-move, clang-analyzer-cplusplus.Move)

// Counts itself, knows whether it is alive, and can be made to throw at the n-th copy or move.
template <int Tag>
struct counted {
  static inline int live = 0;
  static inline int fuse = -1;  // Throws once, when it reaches 0; -1 is never.

  int value;
  const counted* self = this;

  explicit counted(int v) : value(v) { ++live; }
  counted(const counted& other) : value(burn(other.value)) { ++live; }
  counted(counted&& other) : value(burn(std::exchange(other.value, -1))) { ++live; }
  counted& operator=(const counted& other) {
    value = burn(other.value);
    return *this;
  }
  counted& operator=(counted&& other) {
    value = burn(std::exchange(other.value, -1));
    return *this;
  }
  ~counted() {
    EXPECT_EQ(self, this) << "destroyed twice, or never constructed";
    self = nullptr;
    --live;
  }
  bool operator==(const counted& other) const { return value == other.value; }

  static int burn(int v) {
    if (fuse > 0) --fuse;
    if (fuse != 0) return v;
    fuse = -1;
    throw std::runtime_error("burnt");
  }
};

using good = counted<0>;
using bad = counted<1>;
using tracked = asx::outcome<good, bad>;

tracked make_tracked(int which) {
  switch (which) {
    case 0: return tracked::ok();
    case 1: return tracked::ok(good(10));
    case 2: return tracked::err(bad(20));
    case 3: return tracked::cancelled(reason_of(cancel_kind::user, 5));
    default: return tracked::panicked({"p", "f", 1});
  }
}

// What the outcomes say they hold is what is alive, no more and no less.
template <class... Outcomes>
void expect_alive(const Outcomes&... outcomes) {
  EXPECT_EQ(good::live, (0 + ... + (outcomes.has_value() ? 1 : 0)));
  EXPECT_EQ(bad::live, (0 + ... + (outcomes.is_err() ? 1 : 0)));
}

TEST(outcome_lifetime, every_assignment_between_kinds_destroys_what_it_replaces_exactly_once) {
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      SCOPED_TRACE(testing::Message() << a << " := " << b);
      {
        tracked target = make_tracked(a);
        const tracked source = make_tracked(b);
        target = source;
        EXPECT_TRUE(target == source && source == make_tracked(b));
        expect_alive(target, source);

        tracked moved_to = make_tracked(a);
        moved_to = make_tracked(b);
        EXPECT_TRUE(moved_to == source);
        tracked copy(source);
        tracked moved(std::move(copy));
        EXPECT_TRUE(moved == source);
        expect_alive(target, source, moved_to, copy, moved);

        tracked& alias = target;
        target = alias;
        EXPECT_TRUE(target == source) << "self-assignment";
        using std::swap;
        tracked other = make_tracked(a);
        swap(target, other);
        EXPECT_TRUE(target == make_tracked(a) && other == source);
      }
      EXPECT_EQ(good::live, 0);
      EXPECT_EQ(bad::live, 0);
    }
  }
}

TEST(outcome_lifetime, a_join_leaves_its_arguments_alone_and_leaks_nothing) {
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      SCOPED_TRACE(testing::Message() << a << " join " << b);
      {
        const tracked left = make_tracked(a);
        const tracked right = make_tracked(b);
        const tracked joined = join(left, right);
        EXPECT_TRUE(left == make_tracked(a) && right == make_tracked(b));
        expect_alive(left, right, joined);
        EXPECT_TRUE(join(make_tracked(a), make_tracked(b)) == joined);
      }
      EXPECT_EQ(good::live, 0);
      EXPECT_EQ(bad::live, 0);
    }
  }
}

TEST(outcome_lifetime, a_payload_that_throws_at_any_copy_or_move_neither_leaks_nor_dies_twice) {
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      bool threw = true;
      for (int k = 1; threw && k < 50; ++k) {  // Fail the k-th copy or move, for every k there is.
        SCOPED_TRACE(testing::Message() << a << " and " << b << ", the copy or move that throws is " << k);
        threw = false;
        {
          tracked left = make_tracked(a);
          tracked right = make_tracked(b);
          tracked target = make_tracked(a);
          good::fuse = bad::fuse = k;
          try {
            target = right;
            target = join(left, right);
            target = std::move(left);
            tracked last(join(std::move(target), std::move(right)));
          } catch (const std::runtime_error&) {
            threw = true;
          }
          good::fuse = bad::fuse = -1;
          expect_alive(left, right, target);
          target = make_tracked(b);
          EXPECT_TRUE(target == make_tracked(b)) << "still assignable after a throw";
        }
        EXPECT_EQ(good::live, 0);
        EXPECT_EQ(bad::live, 0);
      }
      EXPECT_FALSE(threw) << "the scenario never got through";
    }
  }
}

// NOLINTEND(bugprone-use-after-move, clang-analyzer-cplusplus.Move)
// NOLINTEND(bugprone-exception-escape, performance-noexcept-move-constructor, bugprone-unhandled-self-assignment)

TEST(outcome_lifetime, a_move_only_payload_goes_in_through_a_join_and_comes_out) {
  using owner = asx::outcome<std::unique_ptr<int>>;
  owner joined = join(owner::ok(), join(owner::ok(std::make_unique<int>(3)), owner::ok(std::make_unique<int>(4))));
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(*joined.value(), 3);
  const std::unique_ptr<int> out = std::move(joined).value();
  EXPECT_EQ(*out, 3);
  EXPECT_TRUE(join(owner::ok(std::make_unique<int>(5)), owner::err({status::io, 0})).is_err());
}

TEST(outcome_lifetime, an_over_aligned_payload_is_aligned_and_needs_no_default_constructor) {
  struct alignas(64) wide {
    explicit wide(int v) : value(v) {}
    wide(const wide&) = default;
    wide& operator=(const wide&) = default;
    ~wide() { EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 64, 0U); }
    int value;
  };
  using result64 = asx::outcome<wide>;
  static_assert(alignof(result64) >= 64);
  std::array<result64, 3> some{result64::ok(wide(1)), result64::ok(), result64::ok(wide(3))};
  for (const result64& r : some) {
    if (r.has_value()) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&r.value()) % 64, 0U);
    }
  }
  EXPECT_EQ(join(some[1], some[2]).value().value, 3);
}

TEST(outcome_lifetime, value_and_error_may_be_the_same_type) {
  using same = asx::outcome<std::vector<int>, std::vector<int>>;
  same r = same::ok({1, 2});
  r = same::err({3});
  EXPECT_EQ(r.error(), std::vector<int>{3});
  r = join(same::ok({4}), r);
  EXPECT_TRUE(r.is_err());
}

TEST(outcome_laws, an_outcome_with_nothing_to_say_is_bare_ok) {
  static_assert(asx::outcome<>::ok(asx::unit{}) == asx::outcome<>::ok());
  EXPECT_FALSE(asx::outcome<>::ok(asx::unit{}).has_value());
}

}  // namespace
