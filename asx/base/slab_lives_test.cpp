// Tests of asx/base/slab.hpp: constructors, destructors and visitors that use the slab themselves, and its end.
#include "asx/base/slab.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing.hpp"

namespace {

using asx::memory_port;
using asx::slab;
using asx::slab_entry;
using asx::slab_key;
using namespace asx::testing;

// ---- Constructors and destructors that do things ------------------------------------------------------------------

struct thrower {
  explicit thrower(bool throws) {
    if (throws) throw std::runtime_error("not born");
  }
};

TEST(slab, a_constructor_that_throws_leaves_the_slab_as_it_was) {
  for (std::uint32_t before = 0; before < 130; ++before) {
    slab<thrower> s(130);
    for (std::uint32_t i = 0; i < before; ++i) ASSERT_TRUE(s.allocate(false));
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_THROW(static_cast<void>(s.allocate(true)), std::runtime_error);
      EXPECT_EQ(s.live(), before);
      EXPECT_EQ(s.find({before, 1}), nullptr);
    }
    s.check();
    std::uint32_t visited = 0;
    s.for_each([&](thrower&, slab_key) { ++visited; });
    EXPECT_EQ(visited, before);
    EXPECT_EQ(s.allocate(false).key, (slab_key{before, 1})) << "not even a generation was spent";
  }
}

TEST(slab, a_constructor_that_throws_in_a_hole_leaves_the_hole) {
  slab<thrower> s(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(s.allocate(false));
  s.release({1, 1});
  EXPECT_THROW(static_cast<void>(s.allocate(true)), std::runtime_error);
  EXPECT_EQ(s.find({1, 1}), nullptr);
  s.check();
  EXPECT_EQ(s.allocate(false).key, (slab_key{1, 3}));
  EXPECT_FALSE(s.allocate(false));
}

// A tree that makes and ends its children through the slab that it lives in.
struct node {
  node(slab<node>& home, int depth, bool throws = false) : home_(home) {
    visited_while_unborn = 0;
    home.for_each([&](node&, slab_key) { ++visited_while_unborn; });
    if (depth > 0) child = home.allocate(home, depth - 1).key;
    if (throws) throw std::runtime_error("not born");
  }
  ~node() {
    if (child != slab_key{} && home_.find(child) != nullptr) home_.release(child);
  }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  slab_key child;
  int visited_while_unborn;

 private:
  slab<node>& home_;
};

TEST(slab, a_constructor_may_allocate_from_the_same_slab) {
  for (const int depth : {0, 1, 5, 63, 64, 100}) {
    slab<node> s(200);
    const auto root = s.allocate(s, depth);
    ASSERT_EQ(root.key, (slab_key{0, 1})) << "the outer record took its index first";
    EXPECT_EQ(s.live(), static_cast<std::uint32_t>(depth) + 1);
    s.check();
    std::uint32_t at = 0;
    for (const node* n = root.record; n->child != slab_key{}; n = s.find(n->child)) {
      ++at;
      ASSERT_EQ(n->child, (slab_key{at, 1}));
      ASSERT_NE(s.find(n->child), nullptr);
    }
    EXPECT_EQ(at, static_cast<std::uint32_t>(depth));
    s.release(root.key);
    EXPECT_EQ(s.live(), 0U) << "each destructor released the next";
    s.check();
  }
}

TEST(slab, an_inner_allocation_is_refused_when_the_outer_one_took_the_last_index) {
  slab<node> s(2);
  const auto root = s.allocate(s, 5);
  ASSERT_TRUE(root);
  EXPECT_EQ(s.live(), 2U);
  EXPECT_EQ(s.find(root.record->child)->child, slab_key{});
  s.check();
}

TEST(slab, a_constructor_that_throws_after_it_allocated_keeps_only_the_inner_record) {
  slab<node> s(10);
  EXPECT_THROW(static_cast<void>(s.allocate(s, 1, true)), std::runtime_error);
  EXPECT_EQ(s.live(), 1U);
  EXPECT_EQ(s.find({0, 1}), nullptr);
  EXPECT_NE(s.find({1, 1}), nullptr);
  s.check();
  EXPECT_EQ(s.allocate(s, 0).key, (slab_key{0, 1}));
}

TEST(slab, a_record_is_not_found_and_not_visited_before_it_is_born) {
  slab<node> s(10);
  const auto first = s.allocate(s, 2);
  for (const node* n = first.record; n != nullptr; n = s.find(n->child)) {
    EXPECT_EQ(n->visited_while_unborn, 0) << "the outer records are under construction too";
  }
  EXPECT_EQ(s.allocate(s, 0).record->visited_while_unborn, 3);
}

TEST(slab, a_record_is_not_found_and_not_visited_while_it_dies) {
  struct looker {
    looker(slab<looker>& home, int& visited, bool& found) : home_(home), visited_(visited), found_(found) {}
    ~looker() {
      visited_ = 0;
      home_.for_each([this](looker&, slab_key) { ++visited_; });
      found_ = home_.find(self) != nullptr;
    }
    looker(const looker&) = delete;
    looker& operator=(const looker&) = delete;
    slab_key self;

   private:
    slab<looker>& home_;
    int& visited_;
    bool& found_;
  };
  int visited = -1;
  bool found = true;
  slab<looker> s(3);
  std::vector<slab_key> keys;
  for (int i = 0; i < 3; ++i) {
    const auto entry = s.allocate(s, visited, found);
    entry.record->self = entry.key;
    keys.push_back(entry.key);
  }
  for (int left = 2; left >= 0; --left) {
    s.release(keys[static_cast<std::size_t>(left)]);
    EXPECT_EQ(visited, left);
    EXPECT_FALSE(found);
  }
}

TEST(slab, a_destructor_cannot_release_its_own_record_again) {
  struct fool {
    explicit fool(slab<fool>& home) : home_(home) {}
    ~fool() {
      if (self != slab_key{}) home_.release(self);
    }
    fool(const fool&) = delete;
    fool& operator=(const fool&) = delete;
    slab_key self;

   private:
    slab<fool>& home_;
  };
  slab<fool> s(1);
  const auto entry = s.allocate(s);
  EXPECT_DEATH(
      {
        entry.record->self = entry.key;
        s.release(entry.key);
      },
      "only a live record can be released, and only once");
}

TEST(slab, a_destructor_may_allocate_and_does_not_get_its_own_slot) {
  struct phoenix {
    phoenix(slab<phoenix>& home, int lives) : home_(home), lives_(lives) {}
    ~phoenix() {
      if (lives_ > 0) *heir = home_.allocate(home_, 0).key;
    }
    phoenix(const phoenix&) = delete;
    phoenix& operator=(const phoenix&) = delete;
    slab_key* heir = nullptr;

   private:
    slab<phoenix>& home_;
    int lives_;
  };
  slab_key heir;
  slab<phoenix> s(2);
  const auto entry = s.allocate(s, 1);
  entry.record->heir = &heir;
  s.release(entry.key);
  EXPECT_EQ(heir, (slab_key{1, 1}));
  EXPECT_EQ(s.live(), 1U);
  s.check();
  EXPECT_EQ(s.allocate(s, 0).key, (slab_key{0, 3}));
}

// ---- The end of a slab --------------------------------------------------------------------------------------------

TEST(slab, a_dying_slab_destroys_each_live_record_exactly_once_in_the_order_of_indices) {
  for (const std::uint32_t limit : {1U, 5U, 64U, 65U, 300U}) {
    ledger book;
    {
      slab<record> s(limit);
      std::vector<slab_key> keys;
      for (std::uint32_t i = 0; i < limit; ++i) keys.push_back(s.allocate(static_cast<int>(i), book).key);
      for (std::uint32_t i = 0; i < limit; i += 3) s.release(keys[i]);
      EXPECT_EQ(book.died, static_cast<int>((limit + 2) / 3));
    }
    EXPECT_EQ(book.born, book.died);
    EXPECT_EQ(book.deaths_of.size(), limit);
    for (const auto& [value, deaths] : book.deaths_of) EXPECT_EQ(deaths, 1) << value;
  }
}

// Goal:   a destructor may release another record while the whole slab dies, whichever of the two comes first.
// Method: every function from three records to "whom I release" (or nobody); each dies once, none is met dead.
TEST(slab, records_that_release_each_other_while_the_slab_dies_still_die_once) {
  struct killer {
    killer(slab<killer>& home, std::vector<int>& deaths, int number) : home_(home), deaths_(deaths), number_(number) {}
    ~killer() {
      ++deaths_[static_cast<std::size_t>(number_)];
      if (home_.find(victim) != nullptr) home_.release(victim);
    }
    killer(const killer&) = delete;
    killer& operator=(const killer&) = delete;
    slab_key victim;

   private:
    slab<killer>& home_;
    std::vector<int>& deaths_;
    int number_;
  };
  for (unsigned plan = 0; plan < 4 * 4 * 4; ++plan) {
    std::vector<int> deaths(3, 0);
    {
      slab<killer> s(3);
      std::array<slab_entry<killer>, 3> entries{s.allocate(s, deaths, 0), s.allocate(s, deaths, 1),
                                                s.allocate(s, deaths, 2)};
      unsigned left = plan;
      for (auto& entry : entries) {
        if (left % 4 < 3) entry.record->victim = entries[left % 4].key;
        left /= 4;
      }
    }
    EXPECT_EQ(deaths, (std::vector<int>{1, 1, 1})) << "plan " << plan;
  }
}

TEST(slab, a_chain_whose_head_has_any_index_dies_whole_with_the_slab) {
  slab<node> rising(100);
  ASSERT_TRUE(rising.allocate(rising, 70));  // Each child has a higher index than its parent.

  slab<node> falling(100);
  slab_key child;
  for (int i = 0; i < 70; ++i) {  // Each child has a lower index than its parent.
    const auto parent = falling.allocate(falling, 0);
    parent.record->child = child;
    child = parent.key;
  }
}

TEST(slab, a_destructor_that_allocates_from_a_dying_slab_is_an_assertion) {
  struct heir_maker {
    heir_maker(slab<heir_maker>& home, bool makes) : home_(home), makes_(makes) {}
    ~heir_maker() {
      if (makes_) static_cast<void>(home_.allocate(home_, false));
    }
    heir_maker(const heir_maker&) = delete;
    heir_maker& operator=(const heir_maker&) = delete;

   private:
    slab<heir_maker>& home_;
    bool makes_;
  };
  EXPECT_DEATH(
      {
        slab<heir_maker> s(4);
        static_cast<void>(s.allocate(s, false));
        static_cast<void>(s.allocate(s, true));
      },
      "a dying slab takes no new records");
}

// ---- Visiting -----------------------------------------------------------------------------------------------------

TEST(slab, for_each_visits_the_live_records_in_the_order_of_indices) {
  for (const std::uint32_t limit : {1U, 64U, 65U, 200U}) {
    slab<std::uint32_t> s(limit);
    for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(i));
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < limit; ++i) {
      if (i % 5 == 2) {
        s.release({i, 1});
      } else {
        expected.push_back(i);
      }
    }
    std::vector<std::uint32_t> visited;
    s.for_each([&](std::uint32_t& value, slab_key key) {
      EXPECT_EQ(key, (slab_key{value, 1}));
      visited.push_back(value);
    });
    EXPECT_EQ(visited, expected);
  }
}

TEST(slab, a_visitor_may_release_the_record_it_is_given) {
  for (const std::uint32_t limit : {1U, 2U, 7U, 64U, 65U, 130U}) {
    ledger book;
    slab<record> s(limit);
    for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(static_cast<int>(i), book));
    s.for_each([&](record& r, slab_key key) {
      if (r.value % 2 == 0) s.release(key);
    });
    EXPECT_EQ(s.live(), limit / 2) << "all even ones are gone";
    s.for_each([&](record&, slab_key key) { s.release(key); });
    EXPECT_EQ(s.live(), 0U);
    EXPECT_EQ(book.died, static_cast<int>(limit));
    s.check();
  }
}

TEST(slab, a_visitor_that_releases_others_sees_the_rest_and_not_those) {
  for (std::uint32_t visited_at = 0; visited_at < 6; ++visited_at) {
    for (std::uint32_t released = 0; released < 6; ++released) {
      slab<std::uint32_t> s(6);
      for (std::uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(s.allocate(i));
      std::vector<std::uint32_t> visited;
      s.for_each([&](std::uint32_t& value, slab_key) {
        visited.push_back(value);
        if (value == visited_at) s.release({released, 1});
      });
      std::vector<std::uint32_t> expected;
      for (std::uint32_t i = 0; i < 6; ++i) {
        if (i != released || released <= visited_at) expected.push_back(i);
      }
      ASSERT_EQ(visited, expected) << "at " << visited_at << " released " << released;
    }
  }
}

TEST(slab, a_visitor_that_allocates_visits_what_it_put_behind_itself_and_ends) {
  slab<int> s(10);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(s.allocate(i));
  s.release({1, 1});
  std::vector<std::uint32_t> visited;
  s.for_each([&](int&, slab_key key) {
    visited.push_back(key.index);
    if (key.index == 2) {
      EXPECT_EQ(s.allocate(1).key.index, 1U);  // Before the place where the visit is: not visited.
      EXPECT_EQ(s.allocate(4).key.index, 4U);  // Behind it: visited.
    }
  });
  EXPECT_EQ(visited, (std::vector<std::uint32_t>{0, 2, 3, 4}));
}

TEST(slab, visiting_few_records_in_a_large_reserved_slab_finds_them_all) {
  slab<std::uint32_t> s(10'000);
  ASSERT_TRUE(s.reserve(10'000));
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_TRUE(s.allocate(i));
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    if (i % 997 == 0 || i == 9'999) {
      expected.push_back(i);
    } else {
      s.release({i, 1});
    }
  }
  std::vector<std::uint32_t> visited;
  s.for_each([&](std::uint32_t& value, slab_key) { visited.push_back(value); });
  EXPECT_EQ(visited, expected);
}

}  // namespace
