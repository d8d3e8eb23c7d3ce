// asx/model/cancel_reason_test.cpp - which of two reasons is stronger, and what a chain of causes shows.
//
// Strength is held against R-39's six keys compared one by one. Chains are held against a model that physically
// copies every level into a vector and cuts it, so that a chain which shares its tail must look as if it did not.
#include "asx/model/cancel_reason.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/cause_store.hpp"
#include "asx/model/ids.hpp"

namespace {

using asx::cancel_kind;
using asx::cancel_reason;
using asx::cause_ref;
using asx::cause_store;
using asx::chain_limits;
using asx::compare_strength;
using asx::instant;
using asx::region_id;
using asx::strengthen;
using asx::task_id;
using namespace std::string_view_literals;

constexpr cancel_reason make(cancel_kind kind, std::uint64_t at, std::string_view message = {},
                             std::uint64_t region = 0, std::uint64_t task = 0) {
  cancel_reason reason;
  reason.kind = kind;
  reason.timestamp = instant{at};
  reason.message = message;
  reason.origin_region = region_id(region);
  reason.origin_task = task_id(task);
  return reason;
}

std::string describe(const cancel_reason& r) {
  return std::string(asx::name(r.kind)) + " at " + std::to_string(r.timestamp.ns) + " \"" + std::string(r.message) +
         "\" region " + std::to_string(r.origin_region.value) + " task " + std::to_string(r.origin_task.value);
}

// --------------------------------------------------------------------------------------------------- strength

constexpr std::array<int, 11> severities{0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5};

int three_way(std::uint64_t a, std::uint64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare_bytes(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int order = three_way(static_cast<unsigned char>(a[i]), static_cast<unsigned char>(b[i]));
    if (order != 0) return order;
  }
  return three_way(a.size(), b.size());
}

// +1 if a is stronger, -1 if b is, 0 if all six keys are equal.
int naive_strength(const cancel_reason& a, const cancel_reason& b) {
  const auto ka = static_cast<std::size_t>(a.kind);
  const auto kb = static_cast<std::size_t>(b.kind);
  if (severities[ka] != severities[kb]) return severities[ka] > severities[kb] ? 1 : -1;
  if (const int c = three_way(a.timestamp.ns, b.timestamp.ns); c != 0) return -c;
  if (const int c = compare_bytes(a.message, b.message); c != 0) return -c;
  if (const int c = three_way(ka, kb); c != 0) return -c;
  if (const int c = three_way(a.origin_region.value, b.origin_region.value); c != 0) return -c;
  return -three_way(a.origin_task.value, b.origin_task.value);
}

int sign(std::weak_ordering order) {
  return order > 0 ? 1 : order < 0 ? -1 : 0;
}

std::vector<cancel_reason> small_world(std::initializer_list<cancel_kind> kinds,
                                       std::initializer_list<std::uint64_t> times,
                                       std::initializer_list<std::string_view> messages) {
  std::vector<cancel_reason> all;
  for (const cancel_kind kind : kinds) {
    for (const std::uint64_t at : times) {
      for (const std::string_view message : messages) {
        for (const std::uint64_t region : {0U, 1U}) {
          for (const std::uint64_t task : {0U, 1U}) all.push_back(make(kind, at, message, region, task));
        }
      }
    }
  }
  return all;
}

static_assert(compare_strength(make(cancel_kind::shutdown, 9), make(cancel_kind::user, 0)) > 0);
static_assert(compare_strength(make(cancel_kind::user, 3), make(cancel_kind::user, 5)) > 0);
static_assert(compare_strength(make(cancel_kind::user, 3, "b"), make(cancel_kind::user, 3, "a")) < 0);
static_assert(make(cancel_kind::parent_cancelled, 0).severity() == 4);

TEST(reason_strength, every_small_pair_compares_by_the_six_keys_in_order) {
  const std::vector<cancel_reason> world =
      small_world({cancel_kind::user, cancel_kind::timeout, cancel_kind::deadline, cancel_kind::fail_fast,
                   cancel_kind::race_lost, cancel_kind::linked_exit, cancel_kind::shutdown},
                  {0, 1, UINT64_MAX}, {""sv, "a"sv, "a\0"sv, "\xff"sv});
  for (const cancel_reason& a : world) {
    for (const cancel_reason& b : world) {
      const int want = naive_strength(a, b);
      if (sign(compare_strength(a, b)) != want) FAIL() << describe(a) << " against " << describe(b);
      const cancel_reason& winner = strengthen(a, b);
      if (&winner != (want >= 0 ? &a : &b)) FAIL() << describe(a) << " strengthened by " << describe(b);
      if (sign(compare_strength(winner, strengthen(b, a))) != 0) FAIL() << "not commutative on the keys";
    }
  }
}

TEST(reason_strength, every_small_triple_is_associative) {
  const std::vector<cancel_reason> world =
      small_world({cancel_kind::user, cancel_kind::timeout, cancel_kind::deadline, cancel_kind::shutdown}, {0, 1},
                  {""sv, "a"sv, "\xff"sv});
  for (const cancel_reason& a : world) {
    for (const cancel_reason& b : world) {
      for (const cancel_reason& c : world) {
        if (!(strengthen(strengthen(a, b), c) == strengthen(a, strengthen(b, c)))) {
          FAIL() << describe(a) << ", " << describe(b) << ", " << describe(c);
        }
      }
    }
  }
}

TEST(reason_strength, messages_compare_as_unsigned_bytes_and_an_absent_one_comes_first) {
  // Ascending. A locale would put "a" before "Z"; a signed char would put "\x80" before "\x7f".
  constexpr auto ascending =
      std::to_array<std::string_view>({""sv, "\0"sv, "\0\0"sv, "\0a"sv, " "sv, "A"sv, "Z"sv, "Zz"sv, "a"sv, "a\0"sv,
                                       "a b"sv, "aa"sv, "b"sv, "\x7f"sv, "\x80"sv, "\xc3\xa4"sv, "\xff"sv});
  for (std::size_t a = 0; a < ascending.size(); ++a) {
    for (std::size_t b = 0; b < ascending.size(); ++b) {
      const cancel_reason left = make(cancel_kind::user, 0, ascending[a]);
      const cancel_reason right = make(cancel_kind::user, 0, ascending[b]);
      EXPECT_EQ(sign(compare_strength(left, right)), a < b ? 1 : a > b ? -1 : 0) << a << ' ' << b;
    }
  }
}

TEST(reason_strength, an_empty_message_is_an_absent_one) {
  const cancel_reason empty = make(cancel_kind::user, 0, "");
  const cancel_reason absent = make(cancel_kind::user, 0, std::string_view{});
  EXPECT_EQ(sign(compare_strength(empty, absent)), 0);
  EXPECT_EQ(empty, absent);
}

TEST(reason_strength, equivalent_reasons_keep_the_incumbent_with_its_own_chain) {
  const cancel_reason incumbent = make(cancel_kind::timeout, 4, "m", 1, 2);
  cancel_reason other = incumbent;
  other.cause = {7, 7};
  other.levels = 5;
  other.truncated = true;
  EXPECT_EQ(sign(compare_strength(incumbent, other)), 0) << "the chain is no key";
  EXPECT_EQ(&strengthen(incumbent, other), &incumbent);
  EXPECT_EQ(&strengthen(other, incumbent), &other);
  EXPECT_EQ(&strengthen(incumbent, incumbent), &incumbent);
}

TEST(reason_strength, the_winner_is_taken_whole_with_its_cause) {
  const cancel_reason weak = make(cancel_kind::user, 0, "weak", 1, 1);
  cancel_reason strong = make(cancel_kind::shutdown, 99, "strong", 2, 2);
  strong.cause = {3, 4};
  strong.levels = 2;
  EXPECT_EQ(&strengthen(weak, strong), &strong);
  EXPECT_EQ(&strengthen(strong, weak), &strong);
}

TEST(reason_strength, severity_is_the_kinds) {
  for (std::size_t k = 0; k < 11; ++k) EXPECT_EQ(make(static_cast<cancel_kind>(k), 0).severity(), severities[k]);
}

struct any_reason {
  std::string message = *rc::gen::oneOf(rc::gen::just(std::string()), rc::gen::string<std::string>(),
                                        rc::gen::element<std::string>("a", "b", "ab", std::string("a\0", 2)));
  std::uint64_t at = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 3), rc::gen::arbitrary<std::uint64_t>(),
                                     rc::gen::just(UINT64_MAX));
  cancel_reason value = make(static_cast<cancel_kind>(*rc::gen::inRange(0, 11)), at, message,
                             *rc::gen::inRange<std::uint64_t>(0, 3), *rc::gen::inRange<std::uint64_t>(0, 3));
};

RC_GTEST_PROP(reason_strength, strengthen_is_a_total_order_maximum, ()) {
  const any_reason a, b, c;
  RC_ASSERT(sign(compare_strength(a.value, b.value)) == naive_strength(a.value, b.value));
  RC_ASSERT(sign(compare_strength(b.value, a.value)) == -naive_strength(a.value, b.value));
  RC_ASSERT(sign(compare_strength(strengthen(a.value, b.value), strengthen(b.value, a.value))) == 0);
  RC_ASSERT(strengthen(strengthen(a.value, b.value), c.value) == strengthen(a.value, strengthen(b.value, c.value)));
  RC_ASSERT(&strengthen(a.value, a.value) == &a.value);
  RC_ASSERT(strengthen(a.value, b.value).severity() >= a.value.severity());
}

// ------------------------------------------------------------------------------------------- the model of chains

struct level {
  cancel_kind kind;
  std::uint64_t at;
  std::uint64_t region;
  std::uint64_t task;
  std::string message;

  bool operator==(const level&) const = default;
};

struct chain {
  std::vector<level> levels;  // Newest first.
  bool truncated = false;

  bool operator==(const chain&) const = default;
};

std::ostream& operator<<(std::ostream& out, const chain& c) {
  out << (c.truncated ? "truncated" : "whole") << " [";
  for (const level& l : c.levels) {
    out << ' ' << asx::name(l.kind) << '@' << l.at << " r" << l.region << " t" << l.task << " +" << l.message.size();
  }
  return out << " ]";
}

level level_of(const cancel_reason& r) {
  return {r.kind, r.timestamp.ns, r.origin_region.value, r.origin_task.value, std::string(r.message)};
}

// a level costs 88 plus its message; keep the head and what follows within both limits; one level is
// always kept, its message cut to fit; truncation is inherited.
chain naive_extend(level head, const chain& cause, chain_limits limits) {
  chain result{{}, cause.truncated};
  const std::size_t room = limits.bytes_max > 88 ? limits.bytes_max - 88 : 0;
  if (head.message.size() > room) {
    head.message.resize(room);
    result.truncated = true;
  }
  std::size_t bytes = 88 + head.message.size();
  result.levels.push_back(head);
  for (const level& l : cause.levels) {
    bytes += 88 + l.message.size();
    if (result.levels.size() >= limits.depth_max || bytes > limits.bytes_max) {
      result.truncated = true;
      break;
    }
    result.levels.push_back(l);
  }
  return result;
}

// A store keeps no more than MessageBytes of a message, and says so.
chain naive_kept(chain c, std::size_t message_bytes) {
  if (c.levels.front().message.size() > message_bytes) {
    c.levels.front().message.resize(message_bytes);
    c.truncated = true;
  }
  return c;
}

// What a head shows; on the way its own account of itself is checked.
template <class Store>
chain seen(const cancel_reason& head, const Store& store) {
  chain c{{}, head.truncated};
  asx::for_each_level(head, store, [&](const cancel_reason& r) { c.levels.push_back(level_of(r)); });
  EXPECT_EQ(head.levels, c.levels.size());
  EXPECT_EQ(head.truncated_at(), head.truncated ? c.levels.size() : 0U);
  if (!c.levels.empty()) {
    EXPECT_EQ(level_of(asx::root_cause(head, store)), c.levels.back());
  }
  return c;
}

template <class Store>
cause_ref keep(Store& store, const cancel_reason& reason) {
  const cause_ref ref = store.keep(reason);
  EXPECT_FALSE(ref.is_null());
  return ref;
}

std::string text(std::size_t length, char c = 'm') {
  std::string all;
  all.assign(length, c);
  return all;
}

// -------------------------------------------------------------------------------------------------- chains, by hand

TEST(reason_chain, twenty_hops_show_sixteen_levels_and_say_that_they_were_cut) {
  cause_store<32> store;
  cause_ref ref = keep(store, make(cancel_kind::user, 0, "root"));
  for (std::uint64_t n = 1; n <= 20; ++n) {
    const cancel_reason head = asx::hop(ref, store, region_id(n), instant{n});
    ref = keep(store, head);
    SCOPED_TRACE(n);
    const chain c = seen(head, store);
    EXPECT_EQ(c.levels.size(), std::min<std::size_t>(n + 1, 16));
    EXPECT_EQ(c.truncated, n + 1 > 16);
    EXPECT_EQ(head.truncated_at(), n + 1 > 16 ? 16 : 0);
    EXPECT_EQ(c.levels.front().region, n) << "the newest level is kept, the far end is dropped";
    EXPECT_EQ(c.levels.back().region, n + 1 > 16 ? n - 15 : 0);
  }
}

TEST(reason_chain, thousand_byte_messages_leave_room_for_three_levels) {
  cause_store<8, 1024> store;
  const std::string message = text(1000);
  cause_ref ref = keep(store, make(cancel_kind::user, 0, message));
  for (std::uint64_t n = 1; n <= 5; ++n) {
    const cancel_reason head = asx::with_cause(make(cancel_kind::timeout, n, message), ref, store);
    ref = keep(store, head);
    SCOPED_TRACE(n);
    EXPECT_EQ(seen(head, store).levels.size(), std::min<std::size_t>(n + 1, 3));
    EXPECT_EQ(head.truncated, n + 1 > 3);
    EXPECT_EQ(head.truncated_at(), n + 1 > 3 ? 3 : 0);
    EXPECT_EQ(head.message.size(), 1000U) << "only a level that stands alone is cut";
  }
}

TEST(reason_chain, a_level_costs_exactly_88_bytes_and_its_message) {
  static_assert(chain_limits::level_bytes == 88);
  static_assert(chain_limits{}.depth_max == 16 && chain_limits{}.bytes_max == 4096);
  cause_store<4> store;
  const cause_ref ref = keep(store, make(cancel_kind::user, 0, "sixsix"));
  for (const std::uint32_t spare : {0U, 1U}) {
    const chain_limits limits{16, 2 * 88 + 10 - spare};
    const cancel_reason head = asx::with_cause(make(cancel_kind::user, 1, "four"), ref, store, limits);
    EXPECT_EQ(head.levels, 2 - spare);
    EXPECT_EQ(head.truncated, spare == 1);
    EXPECT_EQ(head.message, "four");
    EXPECT_EQ(asx::root_cause(head, store).message, spare == 0 ? "sixsix" : "four");
  }
}

TEST(reason_chain, one_level_is_always_kept_and_its_message_is_cut_to_fit) {
  const std::string message = text(5000);
  struct expected {
    std::uint32_t bytes_max;
    std::size_t kept;
  };
  for (const expected want : {expected{4096, 4008}, expected{5088, 5000}, expected{5087, 4999}, expected{89, 1},
                              expected{88, 0}, expected{87, 0}, expected{1, 0}, expected{0, 0}}) {
    for (const std::uint16_t depth : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{16}}) {
      const cancel_reason head = asx::fit_head(make(cancel_kind::user, 0, message), {depth, want.bytes_max});
      EXPECT_EQ(head.message.size(), want.kept) << want.bytes_max;
      EXPECT_EQ(head.truncated, want.kept < 5000);
      EXPECT_EQ(head.levels, 1);
      EXPECT_EQ(head.truncated_at(), want.kept < 5000 ? 1 : 0);
    }
  }
  const cancel_reason bare = asx::fit_head(make(cancel_kind::user, 0), {0, 0});
  EXPECT_FALSE(bare.truncated) << "nothing was cut, nothing was dropped";
  static_assert(asx::fit_head(make(cancel_kind::user, 3, "abcdef"), {16, 88 + 3}).message == "abc");
}

TEST(reason_chain, truncation_is_inherited_and_counted_in_the_levels_of_now) {
  cause_store<8, 16> store;
  const cause_ref cut = keep(store, make(cancel_kind::user, 0, text(17)));
  ASSERT_NE(store.find(cut), nullptr);
  EXPECT_TRUE(store.find(cut)->truncated);
  EXPECT_EQ(store.find(cut)->truncated_at(), 1);
  const cancel_reason second = asx::hop(cut, store, region_id(1), instant{1});
  EXPECT_TRUE(second.truncated);
  EXPECT_EQ(second.truncated_at(), 2);
  const cancel_reason third = asx::hop(keep(store, second), store, region_id(2), instant{2});
  EXPECT_EQ(third.truncated_at(), 3);
  const cancel_reason short_one = asx::hop(keep(store, third), store, region_id(3), instant{3}, {2, 4096});
  EXPECT_EQ(short_one.truncated_at(), 2);
}

TEST(reason_chain, a_hop_tells_of_the_parent_unless_the_cause_is_more_severe_than_that) {
  for (std::size_t k = 0; k < 11; ++k) {
    cause_store<4> store;
    const auto kind = static_cast<cancel_kind>(k);
    const cause_ref ref = keep(store, make(kind, 5, "why", 8, 9));
    const cancel_reason head = asx::hop(ref, store, region_id(77), instant{100});
    SCOPED_TRACE(std::string(asx::name(kind)));
    EXPECT_EQ(head.kind, kind == cancel_kind::shutdown ? cancel_kind::shutdown : cancel_kind::parent_cancelled);
    EXPECT_GE(head.severity(), severities[k]) << "a hop never weakens";
    EXPECT_EQ(asx::cleanup_budget(head.kind).poll_quota, kind == cancel_kind::shutdown ? 50U : 200U);
    EXPECT_EQ(head.origin_region, region_id(77));
    EXPECT_TRUE(head.origin_task.absent());
    EXPECT_EQ(head.timestamp, instant{100});
    EXPECT_TRUE(head.message.empty());
    EXPECT_EQ(head.cause, ref);
    EXPECT_EQ(level_of(asx::root_cause(head, store)), (level{kind, 5, 8, 9, "why"}));
    const cancel_reason again = asx::hop(keep(store, head), store, region_id(78), instant{101});
    EXPECT_EQ(again.kind, head.kind) << "and the next hop neither weakens nor strengthens";
  }
}

TEST(reason_chain, a_reason_without_a_cause_is_its_own_root) {
  const cause_store<1> store;
  const cancel_reason alone = make(cancel_kind::deadline, 5, "alone", 1, 2);
  EXPECT_EQ(asx::root_cause(alone, store), alone);
  EXPECT_EQ(seen(alone, store), (chain{{level_of(alone)}, false}));
  EXPECT_EQ(asx::with_cause(alone, cause_ref{}, store), asx::fit_head(alone));
}

TEST(reason_chain, heads_that_share_a_tail_do_not_see_each_other) {
  cause_store<16> store;
  const cause_ref root = keep(store, make(cancel_kind::user, 0, "root"));
  const cause_ref middle = keep(store, asx::hop(root, store, region_id(1), instant{1}));
  const cancel_reason left = asx::hop(middle, store, region_id(2), instant{2});
  const chain left_before = seen(left, store);
  const chain middle_before = seen(*store.find(middle), store);
  // Extend the same tail under tighter limits, then extend that, and keep all of it.
  const cause_ref right = keep(store, asx::hop(middle, store, region_id(3), instant{3}, {2, 4096}));
  const cancel_reason right_child = asx::hop(right, store, region_id(4), instant{4});
  keep(store, right_child);
  EXPECT_EQ(seen(left, store), left_before);
  EXPECT_EQ(seen(*store.find(middle), store), middle_before);
  EXPECT_EQ(seen(*store.find(right), store).levels.size(), 2U);
  // What right dropped stays dropped for its children, although the shared tail still has it.
  EXPECT_EQ(seen(right_child, store).levels.size(), 3U);
  EXPECT_TRUE(right_child.truncated);
}

constexpr bool chains_work_at_compile_time() {
  cause_store<4, 16> store;
  const cause_ref root = store.keep(make(cancel_kind::shutdown, 1, "stop"));
  const cancel_reason head = asx::hop(root, store, region_id(2), instant{3});
  return head.kind == cancel_kind::shutdown && head.levels == 2 && asx::root_cause(head, store).message == "stop";
}
static_assert(chains_work_at_compile_time());

// --------------------------------------------------------------------------------------------- chains, at random

// A gentle case grows long chains that the ordinary limits cut now and then; a wild one is at the edges all the time.
std::size_t any_length(bool gentle) {
  if (gentle) return *rc::gen::weightedElement<std::size_t>({{6, 0}, {4, 20}, {2, 170}, {1, 1000}});
  return *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 5001), rc::gen::inRange<std::size_t>(0, 40),
                         rc::gen::element<std::size_t>(0, 128, 129, 4007, 4008, 4009, 5000));
}

chain_limits any_limits(bool gentle) {
  if (*rc::gen::inRange(0, gentle ? 12 : 3) != 0) return {};
  return {*rc::gen::inRange<std::uint16_t>(0, 20),
          *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 6000), rc::gen::inRange<std::uint32_t>(80, 300),
                          rc::gen::element<std::uint32_t>(0, 87, 88, 89, 176, 1408, UINT32_MAX))};
}

// Goal:   a chain with a shared tail looks exactly like one that was copied and cut.
// Method: up to 40 random roots, extensions and hops, each kept; after each step every kept chain is looked at.
template <std::size_t MessageBytes>
void walk() {
  struct kept_chain {
    cause_ref ref;
    chain want;
  };
  const auto store = std::make_unique<cause_store<40, MessageBytes>>();
  std::vector<kept_chain> kept;
  const bool gentle = *rc::gen::arbitrary<bool>();
  const int steps = *rc::gen::element(3, 10, 40);
  for (int step = 0; step < steps; ++step) {
    const chain_limits limits = any_limits(gentle);
    const std::string message = text(any_length(gentle), static_cast<char>('a' + step % 26));
    const auto at = static_cast<std::uint64_t>(step);
    cancel_reason head = make(static_cast<cancel_kind>(*rc::gen::inRange(0, 11)), at, message, at % 3, at % 2);
    chain want;
    const int what = kept.empty() ? 0 : *rc::gen::inRange(0, 12);
    if (what == 0) {
      want = naive_extend(level_of(head), {}, limits);
      head = asx::fit_head(head, limits);
    } else {
      const auto from = *rc::gen::inRange<std::size_t>(what < 10 ? kept.size() - 1 : 0, kept.size());
      const kept_chain& cause = kept[from];
      if (what % 2 == 0) {
        want = naive_extend(level_of(head), cause.want, limits);
        head = asx::with_cause(head, cause.ref, *store, limits);
      } else {
        const bool down = cause.want.levels.front().kind == cancel_kind::shutdown;
        const level one{down ? cancel_kind::shutdown : cancel_kind::parent_cancelled, at, at % 5, 0, ""};
        want = naive_extend(one, cause.want, limits);
        head = asx::hop(cause.ref, *store, region_id(at % 5), instant{at}, limits);
      }
    }
    RC_ASSERT(seen(head, *store) == want);
    kept.push_back({store->keep(head), naive_kept(want, MessageBytes)});
    RC_ASSERT(!kept.back().ref.is_null());
    for (const kept_chain& k : kept) RC_ASSERT(seen(*store->find(k.ref), *store) == k.want);
  }
  for (const kept_chain& k : kept) store->release(k.ref);
  RC_ASSERT(store->live() == 0U);
}

// The strongest reason there can be ties with itself only. The weakest is the mildest kind at no moment at all: it
// gives way to every reason that was made at one.
RC_GTEST_PROP(reason_strength, the_strongest_reason_absorbs_and_the_weakest_gives_way, ()) {
  const cancel_reason strongest = make(cancel_kind::shutdown, 0);
  const cancel_reason weakest = make(cancel_kind::user, UINT64_MAX);
  const any_reason any;
  RC_ASSERT(naive_strength(strengthen(strongest, any.value), strongest) == 0);
  RC_ASSERT(naive_strength(strengthen(any.value, strongest), strongest) == 0);
  RC_PRE(any.value.timestamp.ns != UINT64_MAX);
  RC_ASSERT(&strengthen(weakest, any.value) == &any.value);
  RC_ASSERT(&strengthen(any.value, weakest) == &any.value);
}

RC_GTEST_PROP(reason_chain, a_shared_chain_looks_like_one_that_was_copied_and_cut, ()) {
  walk<5000>();
}

RC_GTEST_PROP(reason_chain, so_does_one_whose_messages_the_store_cuts, ()) {
  walk<128>();
}

TEST(cancel_reason_laws, a_cause_that_found_no_slot_still_decides_the_kind) {
  const cause_store<1> store;
  cancel_reason shutdown;
  shutdown.kind = cancel_kind::shutdown;
  const cancel_reason told = asx::hop(shutdown, cause_ref{}, store, region_id(3), instant{9});
  EXPECT_EQ(told.kind, cancel_kind::shutdown);
  EXPECT_EQ(told.levels, 1);
  EXPECT_TRUE(told.truncated);
  EXPECT_EQ(told.truncated_at(), 1);
}

}  // namespace
