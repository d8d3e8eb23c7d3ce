// asx/model/cause_store_test.cpp - where reasons are kept: counted, bounded, never confused with one another.
//
// The oracle is a plain list of slots with counts, walked by hand.
#include "asx/model/cause_store.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/cancel_reason.hpp"
#include "asx/model/ids.hpp"

namespace {

using asx::cancel_kind;
using asx::cancel_reason;
using asx::cause_ref;
using asx::cause_store;
using asx::instant;
using asx::region_id;
using asx::task_id;

constexpr cancel_reason make(std::uint64_t at, std::string_view message = {}) {
  cancel_reason reason;
  reason.kind = cancel_kind::timeout;
  reason.origin_region = region_id(1);
  reason.origin_task = task_id(2);
  reason.timestamp = instant{at};
  reason.message = message;
  return reason;
}

static_assert(!std::is_copy_constructible_v<cause_store<4>> && !std::is_copy_assignable_v<cause_store<4>>);
static_assert(cause_ref{}.is_null());

constexpr bool counts_at_compile_time() {
  cause_store<2, 8> store;
  const cause_ref first = store.keep(make(1, "first"));
  store.retain(first);
  store.release(first);
  const bool still_there = store.find(first) != nullptr && store.find(first)->message == "first";
  store.release(first);
  return still_there && store.find(first) == nullptr && store.live() == 0;
}
static_assert(counts_at_compile_time());

TEST(cause_store_laws, a_kept_reason_is_found_unchanged_until_its_last_release) {
  cause_store<4> store;
  EXPECT_EQ(store.live(), 0U);
  const cause_ref ref = store.keep(make(5, "why"));
  ASSERT_FALSE(ref.is_null());
  ASSERT_NE(store.find(ref), nullptr);
  EXPECT_EQ(*store.find(ref), make(5, "why"));
  store.retain(ref);
  store.retain(ref);
  EXPECT_EQ(store.live(), 1U) << "a count is not a slot";
  store.release(ref);
  store.release(ref);
  EXPECT_NE(store.find(ref), nullptr);
  store.release(ref);
  EXPECT_EQ(store.find(ref), nullptr);
  EXPECT_EQ(store.live(), 0U);
}

TEST(cause_store_laws, the_message_is_a_copy) {  // U-16
  cause_store<2> store;
  std::string message = "short lived";
  const cause_ref ref = store.keep(make(1, message));
  message.assign(message.size(), '#');
  EXPECT_EQ(store.find(ref)->message, "short lived");
  const cause_ref binary = store.keep(make(2, std::string_view("a\0\xff", 3)));
  EXPECT_EQ(store.find(binary)->message, std::string_view("a\0\xff", 3)) << "bytes, not a C string";
}

TEST(cause_store_laws, a_message_longer_than_its_room_is_cut_and_the_reason_says_so) {
  cause_store<8, 16> store;
  for (const std::size_t length : {0U, 1U, 15U, 16U, 17U, 5000U}) {
    const std::string message(length, 'm');
    const cause_ref ref = store.keep(make(1, message));
    SCOPED_TRACE(length);
    EXPECT_EQ(store.find(ref)->message, std::string_view(message).substr(0, 16));
    EXPECT_EQ(store.find(ref)->truncated, length > 16);
    EXPECT_EQ(store.find(ref)->truncated_at(), length > 16 ? 1 : 0);
  }
  cancel_reason already = make(1, "fits");
  already.truncated = true;
  EXPECT_TRUE(store.find(store.keep(already))->truncated) << "truncation is never forgotten";
}

TEST(cause_store_laws, slots_are_given_out_lowest_free_first) {  // U-19
  cause_store<5> store;
  std::vector<cause_ref> refs;
  for (std::uint32_t i = 0; i < 5; ++i) {
    refs.push_back(store.keep(make(i)));
    EXPECT_EQ(refs[i].index, i);
  }
  store.release(refs[3]);
  store.release(refs[1]);
  store.release(refs[4]);
  EXPECT_EQ(store.keep(make(10)).index, 1U);
  EXPECT_EQ(store.keep(make(11)).index, 3U);
  EXPECT_EQ(store.keep(make(12)).index, 4U);
}

TEST(cause_store_laws, a_full_store_refuses_and_changes_nothing) {
  cause_store<3> store;
  std::vector<cause_ref> refs;
  for (std::uint64_t i = 0; i < 3; ++i) refs.push_back(store.keep(make(i, "kept")));
  const cancel_reason child = asx::with_cause(make(9, "refused"), refs[2], store);
  EXPECT_TRUE(store.keep(child).is_null());
  EXPECT_TRUE(store.keep(make(9)).is_null());
  EXPECT_EQ(store.live(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(*store.find(refs[i]), make(i, "kept"));
  // The refused child took no count of its cause: one release still frees it.
  store.release(refs[2]);
  EXPECT_EQ(store.find(refs[2]), nullptr);
  EXPECT_EQ(store.live(), 2U);
  EXPECT_FALSE(store.keep(make(9)).is_null()) << "and there is room again";
}

TEST(cause_store_laws, a_stale_reference_finds_nothing_not_even_after_its_slot_is_reused) {
  cause_store<1> store;
  std::vector<cause_ref> old;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const cause_ref ref = store.keep(make(i));
    ASSERT_FALSE(ref.is_null());
    ASSERT_NE(store.find(ref), nullptr);
    for (const cause_ref& stale : old) ASSERT_EQ(store.find(stale), nullptr) << i;
    store.release(ref);
    ASSERT_EQ(store.find(ref), nullptr);
    old.push_back(ref);
  }
}

TEST(cause_store_laws, a_reference_that_was_never_given_out_finds_nothing) {
  cause_store<2> store;
  const cause_ref ref = store.keep(make(1));
  EXPECT_EQ(store.find(cause_ref{}), nullptr);
  EXPECT_EQ(store.find({ref.index, ref.generation + 1}), nullptr);
  EXPECT_EQ(store.find({ref.index + 1, ref.generation}), nullptr);
  EXPECT_EQ(store.find({2, ref.generation}), nullptr);
  EXPECT_EQ(store.find({UINT32_MAX, ref.generation}), nullptr);
}

TEST(cause_store_laws, a_kept_reason_keeps_its_cause_alive) {
  cause_store<4> store;
  const cause_ref root = store.keep(make(1, "root"));
  const cause_ref left = store.keep(asx::hop(root, store, region_id(2), instant{2}));
  const cause_ref right = store.keep(asx::hop(root, store, region_id(3), instant{3}));
  store.release(root);
  ASSERT_NE(store.find(root), nullptr) << "two kept reasons still hold it";
  EXPECT_EQ(asx::root_cause(*store.find(left), store).message, "root");
  store.release(left);
  EXPECT_EQ(store.find(left), nullptr);
  ASSERT_NE(store.find(root), nullptr);
  EXPECT_EQ(asx::root_cause(*store.find(right), store).message, "root");
  store.release(right);
  EXPECT_EQ(store.find(root), nullptr) << "the last one took its cause along";
  EXPECT_EQ(store.live(), 0U);
}

template <std::size_t Length>
constexpr bool releases_a_chain_of(cause_store<Length, 1>& store) {
  cause_ref head = store.keep(make(0));
  for (std::size_t i = 1; i < Length; ++i) {
    const cause_ref next = store.keep(asx::hop(head, store, region_id(i), instant{i}));
    if (next.is_null()) return false;
    store.release(head);
    head = next;
  }
  if (store.live() != Length) return false;
  store.release(head);
  return store.live() == 0;
}

// The limit of 512 nested calls in a constant expression shows that a release does not recurse along the chain.
// Clang counts steps too, and finding a free slot in a store that fills up takes more of them than it allows.
#ifndef __clang__
static_assert([] {
  cause_store<530, 1> store;
  return releases_a_chain_of(store);
}());
#endif

TEST(cause_store_laws, releasing_the_head_of_a_very_long_chain_frees_all_of_it) {  // U-12
  const auto store = std::make_unique<cause_store<8'000, 1>>();
  EXPECT_TRUE(releases_a_chain_of(*store));
}

// Goal:   the store agrees with a list of counted slots whatever is asked of it.
// Method: random keeps (with and without a cause), retains and releases; after each, every reference ever given
//         out is looked up.
RC_GTEST_PROP(cause_store_laws, random_use_agrees_with_a_list_of_counted_slots, ()) {
  constexpr std::size_t slots = 6;
  struct entry {
    cause_ref ref;
    std::uint64_t at;
    std::string message;
    int owned;     // Counts that this test holds.
    int children;  // Counts that kept reasons hold.
    std::optional<std::size_t> cause;
  };
  cause_store<slots, 8> store;
  std::vector<entry> all;                                 // Every reason ever kept, in order.
  std::array<std::optional<std::size_t>, slots> where{};  // Which entry a slot holds.
  std::set<std::pair<std::uint32_t, std::uint64_t>> given;

  const auto alive = [&](std::size_t i) { return all[i].owned + all[i].children > 0; };
  const auto owned = [&] {
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].owned > 0) some.push_back(i);
    }
    return some;
  };

  const int steps = *rc::gen::inRange(0, 60);
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::size_t> mine = owned();
    const int what = mine.empty() ? 0 : *rc::gen::inRange(0, 5);
    if (what <= 1) {
      const std::string message(*rc::gen::inRange<std::size_t>(0, 12), static_cast<char>('a' + step % 26));
      cancel_reason reason = make(static_cast<std::uint64_t>(step), message);
      std::optional<std::size_t> cause;
      if (what == 1) {
        cause = *rc::gen::elementOf(mine);
        reason = asx::with_cause(reason, all[*cause].ref, store);
      }
      std::optional<std::uint32_t> lowest;
      for (std::uint32_t s = slots; s-- > 0;) {
        if (!where[s]) lowest = s;
      }
      const cause_ref ref = store.keep(reason);
      RC_ASSERT(ref.is_null() == !lowest.has_value());
      if (lowest) {
        RC_ASSERT(ref.index == *lowest);
        RC_ASSERT(given.insert({ref.index, ref.generation}).second);
        where[*lowest] = all.size();
        all.push_back({ref, static_cast<std::uint64_t>(step), message.substr(0, 8), 1, 0, cause});
        if (cause) ++all[*cause].children;
      }
    } else if (what == 2) {
      const std::size_t i = *rc::gen::elementOf(mine);
      store.retain(all[i].ref);
      ++all[i].owned;
    } else {
      const std::size_t i = *rc::gen::elementOf(mine);
      store.release(all[i].ref);
      --all[i].owned;
      for (std::optional<std::size_t> dead = i; dead && !alive(*dead);) {
        where[all[*dead].ref.index].reset();
        dead = all[*dead].cause;
        if (dead) --all[*dead].children;
      }
    }
    std::size_t live = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const cancel_reason* found = store.find(all[i].ref);
      RC_ASSERT((found != nullptr) == alive(i));
      if (found == nullptr) continue;
      ++live;
      RC_ASSERT(found->timestamp.ns == all[i].at);
      RC_ASSERT(found->message == all[i].message);
      RC_ASSERT(found->cause == (all[i].cause ? all[*all[i].cause].ref : cause_ref{}));
    }
    RC_ASSERT(store.live() == live);
  }
  for (const std::size_t i : owned()) {
    for (; all[i].owned > 0; --all[i].owned) store.release(all[i].ref);
  }
  RC_ASSERT(store.live() == 0U);
}

TEST(cause_store_laws, releasing_what_a_refused_keep_gave_is_nothing) {
  cause_store<1> store;
  const cause_ref kept = store.keep({});
  const cause_ref refused = store.keep({});
  store.release(refused);
  EXPECT_EQ(store.live(), 1U);
  store.release(kept);
  EXPECT_EQ(store.live(), 0U);
}

}  // namespace
