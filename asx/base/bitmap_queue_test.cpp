// Tests of asx/base/bitmap_queue.hpp; "law n" is the n-th of its banner.
#include "asx/base/bitmap_queue.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "asx/base/random.hpp"

namespace {

struct ready_tag;

struct element : asx::list_hook<ready_tag> {
  int number = 0;
  std::uint8_t priority = 0;
};
using queue = asx::bitmap_queue<element, ready_tag>;

// Bytes that the C library has handed out, or always 0 where it cannot be asked.
std::size_t heap_in_use() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

// A queue beside the naive one: a vector that is kept sorted by priority, first come first served.
struct world {
  explicit world(int count) : elements(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) elements[static_cast<std::size_t>(i)].number = i;
  }
  ~world() {
    while (q.pop() != nullptr) {
    }
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  element& operator[](int i) { return elements[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool queued(int i) { return std::find(model.begin(), model.end(), i) != model.end(); }

  void push(int i, std::uint8_t priority) {
    (*this)[i].priority = priority;
    q.push((*this)[i], priority);
    const auto goes_first = [this](int a, int b) { return (*this)[a].priority > (*this)[b].priority; };
    model.insert(std::upper_bound(model.begin(), model.end(), i, goes_first), i);  // Behind those of its priority.
  }
  // True when both queues gave up the same element.
  bool pop() {
    element* const popped = q.pop();
    if (model.empty()) return popped == nullptr;
    element* const expected = &(*this)[model.front()];
    model.erase(model.begin());
    return popped == expected && !popped->linked();
  }
  void remove(int i) {
    q.remove((*this)[i], (*this)[i].priority);
    model.erase(std::find(model.begin(), model.end(), i));
  }

  // Ends, size and top; then the whole order, priority by priority.
  [[nodiscard]] bool agrees() {
    q.check();
    if (q.size() != model.size() || q.empty() != model.empty()) return false;
    if (model.empty()) return q.front() == nullptr && q.last_ranked() == nullptr && q.top() == asx::bitmap256::none;
    if (q.front() != &(*this)[model.front()] || q.last_ranked() != &(*this)[model.back()]) return false;
    if (q.top() != (*this)[model.front()].priority) return false;
    std::vector<int> order;
    for (int p = 255; p >= 0; --p) {
      const auto& list = q.at(static_cast<std::uint8_t>(p));
      for (const element* e = list.front(); e != nullptr; e = list.after(*e)) order.push_back(e->number);
    }
    return order == model;
  }

  std::vector<element> elements;
  queue q;
  std::vector<int> model;
};

TEST(bitmap_queue, an_empty_queue_has_nothing_to_give) {
  queue q;
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.size(), 0U);
  EXPECT_EQ(q.front(), nullptr);
  EXPECT_EQ(q.pop(), nullptr);
  EXPECT_EQ(q.last_ranked(), nullptr);
  EXPECT_EQ(q.top(), asx::bitmap256::none);
  for (unsigned p = 0; p < 256; ++p) EXPECT_TRUE(q.at(static_cast<std::uint8_t>(p)).empty());
  q.check();
}

TEST(bitmap_queue, higher_numbers_come_first) {  // law 1, every pair of priorities
  std::array<element, 2> two;
  queue q;
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      q.push(two[0], static_cast<std::uint8_t>(a));
      q.push(two[1], static_cast<std::uint8_t>(b));
      const bool second_first = b > a;
      ASSERT_EQ(q.last_ranked(), &two[second_first ? 0 : 1]) << a << ' ' << b;
      ASSERT_EQ(q.pop(), &two[second_first ? 1 : 0]) << a << ' ' << b;
      ASSERT_EQ(q.pop(), &two[second_first ? 0 : 1]) << a << ' ' << b;
    }
  }
  q.check();
}

TEST(bitmap_queue, within_one_priority_first_in_is_first_out) {  // law 1
  for (const std::uint8_t priority : std::initializer_list<std::uint8_t>{0, 63, 64, 128, 255}) {
    world w(50);
    for (int i = 0; i < 50; ++i) w.push(i, priority);
    ASSERT_TRUE(w.agrees());
    for (int i = 0; i < 50; ++i) EXPECT_EQ(w.q.pop(), &w[i]) << "priority " << int{priority};
  }
}

TEST(bitmap_queue, one_element_of_each_priority_comes_out_from_255_down_to_0) {  // law 1
  world w(256);
  for (int i = 0; i < 256; ++i) w.push(i, static_cast<std::uint8_t>((i * 167) % 256));
  ASSERT_TRUE(w.agrees());
  for (int p = 255; p >= 0; --p) {
    ASSERT_EQ(w.q.top(), p);
    ASSERT_EQ(w.q.pop()->priority, p);
  }
  EXPECT_TRUE(w.q.empty());
}

// Goal:   every short history of push, pop and remove agrees with the naive queue (law 1).
// Method: all of them, up to `length` operations over three elements and three priorities, replayed from the start;
//         the priorities lie in the lowest word, across a word's edge, and at the very top.
struct history {
  static constexpr int count = 3;
  static constexpr std::array<std::uint8_t, 3> priorities{0, 64, 255};

  // An operation is a number: 0 pops, 1 .. 3 remove an element, 4 .. 12 push an element with a priority.
  static bool legal(world& w, int operation) {
    if (operation == 0) return true;
    if (operation <= count) return w.queued(operation - 1);
    return !w.queued((operation - count - 1) / 3);
  }
  static bool apply(world& w, int operation) {
    if (operation == 0) return w.pop();
    if (operation <= count) {
      w.remove(operation - 1);
    } else {
      w.push((operation - count - 1) / 3, priorities[static_cast<std::size_t>((operation - count - 1) % 3)]);
    }
    return true;
  }

  void extend(int length) {
    for (int operation = 0; operation < 1 + count + 3 * count; ++operation) {
      world w(count);
      for (const int done : operations) apply(w, done);
      if (!legal(w, operation)) continue;
      operations.push_back(operation);
      ++tried;
      const bool right = apply(w, operation) && w.agrees();
      if (!right && failed.empty()) {
        for (const int done : operations) failed += std::to_string(done) + ' ';
      }
      if (length > 1) extend(length - 1);
      operations.pop_back();
    }
  }

  std::vector<int> operations;
  std::string failed;
  long tried = 0;
};

TEST(bitmap_queue, every_short_history_agrees_with_a_sorted_vector) {
  history all;
  all.extend(5);
  EXPECT_EQ(all.failed, "") << "the operations of the first history that differs";
  EXPECT_GT(all.tried, 10'000);
}

TEST(bitmap_queue, any_element_can_be_removed_from_anywhere) {
  for (int removed = 0; removed < 9; ++removed) {
    world w(9);
    for (int i = 0; i < 9; ++i) w.push(i, static_cast<std::uint8_t>(100 + i % 3));
    w.remove(removed);
    ASSERT_TRUE(w.agrees()) << removed;
    EXPECT_FALSE(w[removed].linked());
    w.push(removed, 7);
    ASSERT_TRUE(w.agrees()) << removed;
    while (!w.model.empty()) ASSERT_TRUE(w.pop());
  }
}

TEST(bitmap_queue, the_last_ranked_is_the_one_that_pop_returns_last) {
  asx::splitmix64 random(11);
  for (int round = 0; round < 50; ++round) {
    world w(20);
    for (int i = 0; i < 20; ++i) w.push(i, static_cast<std::uint8_t>(random.next_below(5)));
    const element* const last = w.q.last_ranked();
    const element* popped = nullptr;
    while (element* const e = w.q.pop()) popped = e;
    EXPECT_EQ(popped, last);
  }
}

TEST(bitmap_queue, an_element_may_come_back_with_another_priority) {
  world w(2);
  w.push(0, 1);
  w.push(1, 2);
  ASSERT_TRUE(w.pop());
  w.push(1, 0);
  ASSERT_TRUE(w.agrees());
  ASSERT_TRUE(w.pop());
  ASSERT_TRUE(w.pop());
  EXPECT_TRUE(w.q.empty());
}

TEST(bitmap_queue, a_long_life_agrees_with_a_sorted_vector) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    asx::splitmix64 random(seed);
    world w(200);
    const std::uint64_t spread = seed % 2 == 0 ? 256 : 4;  // Thin lists over all priorities, or a few thick ones.
    for (int step = 0; step < 6'000; ++step) {
      const int i = static_cast<int>(random.next_below(200));
      const std::uint64_t choice = random.next_below(8);
      if (!w.queued(i) && choice < 5) {
        w.push(i, static_cast<std::uint8_t>(random.next_below(spread) * (256 / spread)));
      } else if (w.queued(i) && choice < 3) {
        w.remove(i);
      } else {
        ASSERT_TRUE(w.pop()) << "seed " << seed << " step " << step;
      }
      if (step % 13 == 0) {
        ASSERT_TRUE(w.agrees()) << "seed " << seed << " step " << step;
      }
    }
  }
}

RC_GTEST_PROP(bitmap_queue, any_history_agrees_with_a_sorted_vector,
              (const std::vector<std::array<std::uint8_t, 3>>& steps)) {
  world w(16);
  for (const auto& [choice, which, priority] : steps) {
    const int i = which % 16;
    if (choice % 4 == 0) {
      RC_ASSERT(w.pop());
    } else if (w.queued(i)) {
      w.remove(i);
    } else {
      w.push(i, priority);
    }
    RC_ASSERT(w.agrees());
  }
}

TEST(bitmap_queue, nothing_allocates) {  // law 2; so many elements that an allocation each could not hide
  world w(10'000);
  const std::size_t before = heap_in_use();
  for (int i = 0; i < 10'000; ++i) w.q.push(w[i], static_cast<std::uint8_t>(i % 256));
  EXPECT_EQ(heap_in_use(), before);
  for (int i = 0; i < 5'000; ++i) w.q.remove(w[i], static_cast<std::uint8_t>(i % 256));
  while (w.q.pop() != nullptr) {
  }
  EXPECT_EQ(heap_in_use(), before);
  element e;
  static_assert(noexcept(w.q.push(e, 0)) && noexcept(w.q.pop()) && noexcept(w.q.remove(e, 0)));
}

TEST(bitmap_queue, pushing_an_element_twice_is_an_assertion) {
  world w(1);
  w.push(0, 5);
  EXPECT_DEATH(w.q.push(w[0], 5), "an element is in at most one list per tag");
  EXPECT_DEATH(w.q.push(w[0], 6), "an element is in at most one list per tag");
}

TEST(bitmap_queue, removing_what_is_not_queued_is_an_assertion) {
  world w(2);
  w.push(0, 5);
  w.push(1, 5);
  ASSERT_TRUE(w.pop());
  EXPECT_DEATH(w.q.remove(w[0], 5), "only an element that is in a list can leave one");
  ASSERT_TRUE(w.pop());  // Now nobody has that priority, which is noticed first.
  EXPECT_DEATH(w.q.remove(w[0], 5), "an element must be removed with the priority it was pushed with");
}

TEST(bitmap_queue, removing_with_a_priority_that_has_no_elements_is_an_assertion) {
  world w(1);
  w.push(0, 5);
  EXPECT_DEATH(w.q.remove(w[0], 6), "an element must be removed with the priority it was pushed with");
}

TEST(bitmap_queue, check_finds_a_removal_with_the_priority_of_others) {
  world w(2);
  w.push(0, 5);
  w.push(1, 6);
  EXPECT_DEATH(
      {
        w.q.remove(w[0], 6);
        w.q.check();
      },
      "a bit below the top is set exactly while its priority has elements");
}

TEST(bitmap_queue, pop_finds_a_removal_with_the_priority_of_others_too) {
  world w(3);
  w.push(0, 6);
  w.push(1, 5);
  w.push(2, 4);
  EXPECT_DEATH(
      {
        w.q.remove(w[1], 4);  // The bit of priority 5 stays, with nobody behind it.
        w.q.pop();
        w.q.pop();
      },
      "a bit below the top is set exactly while its priority has elements");
}

// The top has no bit of its own: it may be empty, and what comes above or below it is found all the same.
TEST(bitmap_queue, an_empty_top_hides_nobody) {
  for (const int next : {3, 200}) {
    world w(2);
    w.push(0, 100);
    w.remove(0);
    ASSERT_TRUE(w.agrees());
    w.push(1, static_cast<std::uint8_t>(next));
    ASSERT_TRUE(w.agrees());
    w.push(0, 100);
    ASSERT_TRUE(w.agrees());
    ASSERT_TRUE(w.pop());
    ASSERT_TRUE(w.agrees());
    ASSERT_TRUE(w.pop());
    ASSERT_TRUE(w.agrees());
  }
}

TEST(bitmap_queue, check_finds_an_element_that_left_behind_the_back_of_the_queue) {
  world w(2);
  w.push(0, 5);
  w.push(1, 5);
  EXPECT_DEATH(
      {
        w[0].unlink();
        w.q.check();
      },
      "the size is the number of elements in all lists");
}

TEST(bitmap_queue, a_queue_must_be_empty_when_it_dies) {
  element e;
  EXPECT_DEATH(
      {
        const auto dying = std::make_unique<queue>();
        dying->push(e, 9);
      },
      "a list must be empty when it dies");
}

TEST(bitmap_queue, a_whole_life_fits_in_a_constant_expression) {
  static_assert([] {
    element a;
    element b;
    element c;
    queue q;
    q.push(a, 1);
    q.push(b, 200);
    q.push(c, 1);
    bool right = q.front() == &b && q.last_ranked() == &c && q.top() == 200 && q.size() == 3;
    q.check();
    right = right && q.pop() == &b;
    q.remove(a, 1);
    return right && q.pop() == &c && q.pop() == nullptr && q.empty();
  }());
  static_assert(!std::is_move_constructible_v<queue>);
  SUCCEED();
}

}  // namespace
