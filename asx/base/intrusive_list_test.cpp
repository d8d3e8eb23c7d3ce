// Tests of asx/base/intrusive_list.hpp; "law n" is the n-th of its banner.
//
// A list of n elements has so few states (every order of every subset) that each operation is tried in each of
// them; random histories come after that.
#include "asx/base/intrusive_list.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "asx/base/random.hpp"

namespace {

struct lane_tag;
struct region_tag;

struct element : asx::list_hook<lane_tag>, asx::list_hook<region_tag> {
  int number = 0;
};
using lane_hook = asx::list_hook<lane_tag>;
using region_hook = asx::list_hook<region_tag>;
using lane = asx::intrusive_list<element, lane_tag>;
using region = asx::intrusive_list<element, region_tag>;

constexpr void leave(element& e) {
  static_cast<lane_hook&>(e).unlink();
}
constexpr bool queued(const element& e) {
  return static_cast<const lane_hook&>(e).linked();
}

template <class List>
void empty_out(List& list) {
  while (list.pop_front() != nullptr) {
  }
}

// A handful of elements and one list over them. Empties the list at the end, as law 3 demands.
struct world {
  explicit world(int count) : elements(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) elements[static_cast<std::size_t>(i)].number = i;
  }
  ~world() { empty_out(list); }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  element& operator[](int i) { return elements[static_cast<std::size_t>(i)]; }

  std::vector<element> elements;
  lane list;
};

// The numbers from the front to the back.
template <class List>
std::vector<int> forwards(const List& list) {
  std::vector<int> out;
  for (const element* e = list.front(); e != nullptr; e = list.after(*e)) out.push_back(e->number);
  return out;
}

// Walked from the back, but written front to back, so that it must equal forwards().
template <class List>
std::vector<int> backwards(const List& list) {
  std::vector<int> out;
  for (const element* e = list.back(); e != nullptr; e = list.before(*e)) out.push_back(e->number);
  std::reverse(out.begin(), out.end());
  return out;
}

// Every link in both directions, both ends, and who believes to be in the list.
void expect_order(world& w, const std::vector<int>& order) {
  ASSERT_EQ(forwards(w.list), order);
  ASSERT_EQ(backwards(w.list), order);
  ASSERT_EQ(w.list.empty(), order.empty());
  ASSERT_EQ(w.list.front(), order.empty() ? nullptr : &w[order.front()]);
  ASSERT_EQ(w.list.back(), order.empty() ? nullptr : &w[order.back()]);
  for (const element& e : w.elements) {
    ASSERT_EQ(queued(e), std::find(order.begin(), order.end(), e.number) != order.end()) << e.number;
  }
}

// Every order of every subset of 0 .. count-1.
std::vector<std::vector<int>> all_states(int count) {
  std::vector<std::vector<int>> states{{}};
  for (std::size_t at = 0; at < states.size(); ++at) {
    for (int i = 0; i < count; ++i) {
      if (std::find(states[at].begin(), states[at].end(), i) != states[at].end()) continue;
      states.push_back(states[at]);
      states.back().push_back(i);
    }
  }
  return states;
}

bool contains(const std::vector<int>& order, int i) {
  return std::find(order.begin(), order.end(), i) != order.end();
}

// Goal:   each operation does in each small state what the vector does (law 2).
// Method: five elements give 326 states; each is built anew, one operation is done, all links are compared.
class every_small_state : public testing::Test {
 protected:
  static constexpr int count = 5;

  template <class Operation>
  static void in_each(Operation operation) {
    const auto states = all_states(count);
    ASSERT_EQ(states.size(), 326U);
    for (const auto& state : states) {
      operation(state);
      if (HasFatalFailure()) {
        std::string text = "state";
        for (const int i : state) text += ' ' + std::to_string(i);
        FAIL() << text;
      }
    }
  }

  static void build(world& w, const std::vector<int>& state) {
    for (const int i : state) w.list.push_back(w[i]);
  }
};

TEST_F(every_small_state, push_back_adds_behind_the_last) {
  in_each([](const std::vector<int>& state) {
    for (int i = 0; i < count; ++i) {
      if (contains(state, i)) continue;
      world w(count);
      build(w, state);
      w.list.push_back(w[i]);
      auto expected = state;
      expected.push_back(i);
      expect_order(w, expected);
    }
  });
}

TEST_F(every_small_state, push_front_adds_before_the_first) {
  in_each([](const std::vector<int>& state) {
    for (int i = 0; i < count; ++i) {
      if (contains(state, i)) continue;
      world w(count);
      build(w, state);
      w.list.push_front(w[i]);
      auto expected = state;
      expected.insert(expected.begin(), i);
      expect_order(w, expected);
    }
  });
}

TEST_F(every_small_state, insert_before_adds_just_before_the_position) {
  in_each([](const std::vector<int>& state) {
    for (int i = 0; i < count; ++i) {
      if (contains(state, i)) continue;
      for (std::size_t at = 0; at < state.size(); ++at) {
        world w(count);
        build(w, state);
        w.list.insert_before(w[state[at]], w[i]);
        auto expected = state;
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), i);
        expect_order(w, expected);
      }
    }
  });
}

TEST_F(every_small_state, pop_front_returns_the_first_and_null_when_there_is_none) {
  in_each([](const std::vector<int>& state) {
    world w(count);
    build(w, state);
    const element* const popped = w.list.pop_front();
    auto expected = state;
    if (state.empty()) {
      ASSERT_EQ(popped, nullptr);
    } else {
      ASSERT_EQ(popped, &w[state.front()]);
      expected.erase(expected.begin());
    }
    expect_order(w, expected);
  });
}

TEST_F(every_small_state, unlink_takes_out_only_the_element_and_needs_no_list) {
  in_each([](const std::vector<int>& state) {
    for (std::size_t at = 0; at < state.size(); ++at) {
      world w(count);
      build(w, state);
      leave(w[state[at]]);
      auto expected = state;
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
      expect_order(w, expected);
    }
  });
}

TEST_F(every_small_state, splice_back_cuts_the_other_list_and_keeps_both_orders) {
  in_each([](const std::vector<int>& state) {
    for (std::size_t mine = 0; mine <= state.size(); ++mine) {
      const auto middle = state.begin() + static_cast<std::ptrdiff_t>(mine);
      world w(count);
      lane other;
      build(w, {state.begin(), middle});
      for (auto at = middle; at != state.end(); ++at) other.push_back(w[*at]);
      w.list.splice_back(other);
      ASSERT_TRUE(other.empty());
      ASSERT_EQ(other.front(), nullptr);
      ASSERT_EQ(other.back(), nullptr);
      expect_order(w, state);
      // Both lists still work.
      if (!state.empty()) {
        element* const moved = w.list.pop_front();
        other.push_back(*moved);
        ASSERT_EQ(forwards(other), std::vector<int>{moved->number});
        leave(*moved);
      }
    }
  });
}

TEST(intrusive_list, elements_may_leave_in_every_order) {  // law 2, all permutations of up to five
  for (int count = 0; count <= 5; ++count) {
    std::vector<int> leaving(static_cast<std::size_t>(count));
    std::iota(leaving.begin(), leaving.end(), 0);
    do {
      world w(count);
      std::vector<int> left(static_cast<std::size_t>(count));
      std::iota(left.begin(), left.end(), 0);
      for (const int i : left) w.list.push_back(w[i]);
      for (const int i : leaving) {
        leave(w[i]);
        left.erase(std::find(left.begin(), left.end(), i));
        expect_order(w, left);
        if (HasFatalFailure()) return;
      }
    } while (std::next_permutation(leaving.begin(), leaving.end()));
  }
}

TEST(intrusive_list, first_in_is_first_out) {
  world w(100);
  for (int i = 0; i < 100; ++i) w.list.push_back(w[i]);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(w.list.pop_front(), &w[i]);
  EXPECT_EQ(w.list.pop_front(), nullptr);
}

TEST(intrusive_list, an_element_is_in_one_list_per_tag_and_the_tags_do_not_disturb_each_other) {  // law 1
  world w(3);
  region members;
  for (int i = 0; i < 3; ++i) w.list.push_back(w[i]);
  for (int i = 2; i >= 0; --i) members.push_back(w[i]);
  EXPECT_EQ(forwards(w.list), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(forwards(members), (std::vector<int>{2, 1, 0}));
  leave(w[1]);
  EXPECT_EQ(forwards(w.list), (std::vector<int>{0, 2}));
  EXPECT_EQ(forwards(members), (std::vector<int>{2, 1, 0}));
  EXPECT_TRUE(static_cast<region_hook&>(w[1]).linked());
  empty_out(members);
  EXPECT_EQ(forwards(w.list), (std::vector<int>{0, 2}));
}

TEST(intrusive_list, an_element_that_left_may_join_again_anywhere) {  // law 1
  world w(1);
  lane other;
  for (int round = 0; round < 3; ++round) {
    w.list.push_back(w[0]);
    leave(w[0]);
    EXPECT_FALSE(queued(w[0]));
    other.push_front(w[0]);
    EXPECT_EQ(other.pop_front(), &w[0]);
    EXPECT_FALSE(queued(w[0]));
  }
  EXPECT_TRUE(w.list.empty());
  EXPECT_TRUE(other.empty());
}

TEST(intrusive_list, an_element_in_no_list_has_no_neighbours) {
  world w(2);
  w.list.push_back(w[1]);
  EXPECT_EQ(w.list.after(w[0]), nullptr);
  EXPECT_EQ(w.list.before(w[0]), nullptr);
}

TEST(intrusive_list, putting_an_element_in_twice_is_an_assertion) {  // law 1
  world w(2);
  lane other;
  w.list.push_back(w[0]);
  w.list.push_back(w[1]);
  constexpr auto broken = "an element is in at most one list per tag";
  EXPECT_DEATH(w.list.push_back(w[0]), broken);
  EXPECT_DEATH(w.list.push_front(w[0]), broken);
  EXPECT_DEATH(other.push_back(w[0]), broken);
  EXPECT_DEATH(other.push_front(w[1]), broken);
  EXPECT_DEATH(w.list.insert_before(w[1], w[0]), broken);
  EXPECT_DEATH(w.list.insert_before(w[1], w[1]), broken);
}

TEST(intrusive_list, an_only_element_knows_that_it_is_in_a_list) {  // law 1: both its links are the sentinel
  world w(1);
  w.list.push_back(w[0]);
  EXPECT_TRUE(queued(w[0]));
  EXPECT_DEATH(w.list.push_back(w[0]), "an element is in at most one list per tag");
}

TEST(intrusive_list, leaving_without_being_in_a_list_is_an_assertion) {
  world w(2);
  EXPECT_DEATH(leave(w[0]), "only an element that is in a list can leave one");
  w.list.push_back(w[0]);
  leave(w[0]);
  EXPECT_DEATH(leave(w[0]), "only an element that is in a list can leave one");
  EXPECT_DEATH(w.list.insert_before(w[0], w[1]), "the position must be in a list");
}

TEST(intrusive_list, a_list_cannot_be_spliced_onto_itself) {
  world w(1);
  w.list.push_back(w[0]);
  EXPECT_DEATH(w.list.splice_back(w.list), "a list cannot be spliced onto itself");
}

TEST(intrusive_list, an_element_must_leave_before_it_dies) {  // law 3
  lane list;
  EXPECT_DEATH(
      {
        element dying;
        list.push_back(dying);
      },
      "an element must leave its list before it dies");
}

TEST(intrusive_list, a_list_must_be_empty_when_it_dies) {  // law 3
  element outliving;
  EXPECT_DEATH(
      {
        lane dying;
        dying.push_back(outliving);
      },
      "a list must be empty when it dies");
}

TEST(intrusive_list, an_empty_list_and_free_elements_die_in_peace) {  // law 3
  auto* const list = new lane;
  auto* const e = new element;
  list->push_back(*e);
  leave(*e);
  delete e;
  EXPECT_TRUE(list->empty());
  delete list;
}

TEST(intrusive_list, neither_lists_nor_hooks_can_be_copied_or_moved) {
  static_assert(!std::is_copy_constructible_v<lane> && !std::is_move_constructible_v<lane>);
  static_assert(!std::is_copy_assignable_v<lane> && !std::is_move_assignable_v<lane>);
  static_assert(!std::is_copy_constructible_v<element> && !std::is_move_constructible_v<element>);
  static_assert(!std::is_copy_assignable_v<element> && !std::is_move_assignable_v<element>);
}

TEST(intrusive_list, the_links_lie_in_the_elements_and_a_list_is_only_its_sentinel) {
  static_assert(sizeof(lane_hook) == 2 * sizeof(void*));
  static_assert(sizeof(lane) == sizeof(lane_hook));
}

TEST(intrusive_list, a_whole_life_fits_in_a_constant_expression) {
  static_assert([] {
    element a;
    element b;
    element c;
    a.number = 1;
    b.number = 2;
    c.number = 3;
    lane list;
    lane other;
    list.push_back(b);
    list.push_front(a);
    other.push_back(c);
    list.splice_back(other);
    bool right = list.front() == &a && list.after(a) == &b && list.after(b) == &c && list.back() == &c;
    leave(b);
    list.insert_before(c, b);
    right = right && list.before(c) == &b && list.pop_front() == &a && list.pop_front() == &b;
    leave(c);
    return right && list.empty();
  }());
  SUCCEED();
}

// One step of a random history over two lists, mirrored in two vectors. `a` and `b` choose among what is legal.
struct two_lists {
  static constexpr int count = 12;

  void step(unsigned operation, unsigned a, unsigned b) {
    auto& order = orders[a % 2];
    lane& list = a % 2 == 0 ? w.list : other;
    const int i = static_cast<int>(b % count);
    const bool free = !queued(w[i]);
    switch (operation % 6) {
      case 0:
        if (!free) break;
        list.push_back(w[i]);
        order.push_back(i);
        break;
      case 1:
        if (!free) break;
        list.push_front(w[i]);
        order.insert(order.begin(), i);
        break;
      case 2:
        if (!free || order.empty()) break;
        {
          const std::size_t at = (a / 2) % order.size();
          list.insert_before(w[order[at]], w[i]);
          order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), i);
        }
        break;
      case 3:
        if (free) break;
        leave(w[i]);
        for (auto& o : orders) o.erase(std::remove(o.begin(), o.end(), i), o.end());
        break;
      case 4:
        list.pop_front();
        if (!order.empty()) order.erase(order.begin());
        break;
      default: {
        if (a % 16 > 1) break;  // Rarely, or one list is always empty.
        auto& from = orders[1 - a % 2];
        list.splice_back(a % 2 == 0 ? other : w.list);
        order.insert(order.end(), from.begin(), from.end());
        from.clear();
      }
    }
  }
  [[nodiscard]] bool agrees() const {
    return forwards(w.list) == orders[0] && backwards(w.list) == orders[0] && forwards(other) == orders[1] &&
           backwards(other) == orders[1];
  }
  ~two_lists() { empty_out(other); }

  world w{count};
  lane other;
  std::array<std::vector<int>, 2> orders;
};

TEST(intrusive_list, a_long_life_agrees_with_a_vector) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    asx::splitmix64 random(seed);
    two_lists lists;
    for (int step = 0; step < 5'000; ++step) {
      const std::uint64_t draw = random.next();
      lists.step(static_cast<unsigned>(draw % 6), static_cast<unsigned>(draw >> 8 & 0xffffU),
                 static_cast<unsigned>(draw >> 32));
      ASSERT_TRUE(lists.agrees()) << "seed " << seed << " step " << step;
    }
  }
}

RC_GTEST_PROP(intrusive_list, any_history_agrees_with_a_vector,
              (const std::vector<std::array<std::uint8_t, 3>>& history)) {
  two_lists lists;
  for (const auto& [operation, a, b] : history) {
    lists.step(operation, a, b);
    RC_ASSERT(lists.agrees());
  }
}

}  // namespace
