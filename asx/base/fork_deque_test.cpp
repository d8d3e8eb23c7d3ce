// Tests of asx/base/fork_deque.hpp on one thread, against a std::deque; "law n" is the n-th of its banner. Threads that
// meet in it: tests/interleave/fork_deque_test.cpp.
#include "asx/base/fork_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <type_traits>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/base/random.hpp"

namespace {

template <std::size_t Capacity>
using deck = asx::basic_fork_deque<int, Capacity, asx::words::atomic>;

static_assert(!std::is_copy_constructible_v<deck<2>> && !std::is_move_constructible_v<deck<2>>,
              "thieves know where it is");
static_assert(noexcept(std::declval<deck<2>&>().push(nullptr)) && noexcept(std::declval<deck<2>&>().pop()) &&
                  noexcept(std::declval<deck<2>&>().steal()),
              "law 4: it asks for no memory");

constexpr int none = -1;

// Both of them, told the same; each operation must answer the same.
template <std::size_t Capacity>
class pair_of_decks {
 public:
  bool push() {
    int& item = items_.emplace_back(static_cast<int>(items_.size()));
    told_ += 'p';
    const bool has_room = model_.size() < Capacity;
    if (has_room) model_.push_back(item);
    return deck_.push(&item) == has_room ? is_the_same_size() : differs("a push");
  }
  bool pop() {
    told_ += 'o';
    int newest = none;
    if (!model_.empty()) {
      newest = model_.back();
      model_.pop_back();
    }
    return value_of(deck_.pop()) == newest ? is_the_same_size() : differs("a pop");
  }
  bool steal() {
    told_ += 's';
    int oldest = none;
    if (!model_.empty()) {
      oldest = model_.front();
      model_.pop_front();
    }
    return value_of(deck_.steal()) == oldest ? is_the_same_size() : differs("a steal");
  }
  bool act(std::uint64_t what) { return what == 0 ? push() : what == 1 ? pop() : steal(); }
  [[nodiscard]] const std::string& told() const { return told_; }

 private:
  static int value_of(const int* item) { return item == nullptr ? none : *item; }
  bool is_the_same_size() { return deck_.seems_empty() == model_.empty() ? true : differs("seems_empty after it"); }
  bool differs(const char* what) {
    told_ += std::string(": ") + what + " of capacity " + std::to_string(Capacity) + " answers otherwise";
    return false;
  }

  deck<Capacity> deck_;
  std::deque<int> model_;
  std::deque<int> items_;  // All that were pushed or refused: each has a place of its own.
  std::string told_;
};

TEST(fork_deque, an_empty_one_gives_nothing_however_often_it_is_asked) {  // law 2
  deck<4> d;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(d.pop(), nullptr);
    EXPECT_EQ(d.steal(), nullptr);
    EXPECT_TRUE(d.seems_empty());
  }
  int one = 1;
  ASSERT_TRUE(d.push(&one)) << "asking has taken no room";
  EXPECT_FALSE(d.seems_empty());
  EXPECT_EQ(d.pop(), &one);
}

TEST(fork_deque, its_owner_has_the_newest_and_thieves_have_the_oldest) {  // laws 1 and 2
  std::array<int, 5> items{};
  deck<8> d;
  for (int& i : items) ASSERT_TRUE(d.push(&i));
  EXPECT_EQ(d.steal(), &items[0]);
  EXPECT_EQ(d.pop(), &items[4]);
  EXPECT_EQ(d.steal(), &items[1]);
  EXPECT_EQ(d.steal(), &items[2]);
  EXPECT_EQ(d.pop(), &items[3]);
  EXPECT_EQ(d.pop(), nullptr);
  EXPECT_EQ(d.steal(), nullptr);
}

// Every sequence up to that length: every shorter one is the beginning of one of these.
template <std::size_t Capacity>
void expect_every_sequence_as_the_model(unsigned length) {
  std::uint64_t sequences = 1;
  for (unsigned i = 0; i < length; ++i) sequences *= 3;
  for (std::uint64_t s = 0; s < sequences; ++s) {
    pair_of_decks<Capacity> both;
    std::uint64_t left = s;
    for (unsigned i = 0; i < length; ++i, left /= 3) ASSERT_TRUE(both.act(left % 3)) << both.told();
  }
}

TEST(fork_deque, every_short_sequence_does_what_a_list_does) {  // laws 1, 2 and 4
  expect_every_sequence_as_the_model<1>(8);
  expect_every_sequence_as_the_model<2>(10);
  expect_every_sequence_as_the_model<4>(9);
}

// Runs that lean to one side, so that it is full and empty now and then, and its ring is passed many times.
template <std::size_t Capacity>
void expect_long_sequences_as_the_model(std::uint64_t seed) {
  asx::splitmix64 draws(seed);
  pair_of_decks<Capacity> both;
  for (int run = 0; run < 200; ++run) {
    const std::uint64_t leaning = draws.next_below(5);
    for (std::uint64_t left = draws.next_below(3 * Capacity + 2); left != 0; --left) {
      const std::uint64_t what = draws.next_below(3);
      ASSERT_TRUE(both.act(draws.next_below(3) == 0 || leaning > 2 ? what : leaning))
          << both.told().substr(both.told().size() > 200 ? both.told().size() - 200 : 0) << ", seed " << seed;
    }
  }
}

TEST(fork_deque, long_drawn_sequences_do_what_a_list_does) {  // laws 1, 2 and 4
  for (std::uint64_t seed = 1; seed <= 20 && !HasFatalFailure(); ++seed) {
    expect_long_sequences_as_the_model<1>(seed);
    expect_long_sequences_as_the_model<2>(seed);
    expect_long_sequences_as_the_model<8>(seed);
    expect_long_sequences_as_the_model<256>(seed);
  }
}

template <std::size_t Capacity>
void expect_room_for_its_capacity() {
  std::array<int, Capacity> items{};
  int one_more = 0;
  deck<Capacity> d;
  for (std::size_t shift = 0; shift < 2 * Capacity + 1; ++shift) {  // From every place of its ring.
    SCOPED_TRACE("capacity " + std::to_string(Capacity) + ", " + std::to_string(shift) + " passed before");
    for (int& i : items) ASSERT_TRUE(d.push(&i));
    for (int i = 0; i < 3; ++i) ASSERT_FALSE(d.push(&one_more)) << "there is no room";
    ASSERT_EQ(d.pop(), &items.back()) << "what was refused is not there";
    ASSERT_TRUE(d.push(&items.back())) << "a pop makes room";
    ASSERT_FALSE(d.push(&one_more));
    ASSERT_EQ(d.steal(), &items.front());
    ASSERT_TRUE(d.push(&items.front())) << "a steal makes room";
    ASSERT_FALSE(d.push(&one_more));
    for (std::size_t i = 1; i < Capacity; ++i) ASSERT_EQ(d.steal(), &items[i]);
    ASSERT_EQ(d.steal(), &items.front());
    ASSERT_EQ(d.steal(), nullptr);
    ASSERT_TRUE(d.push(&one_more));  // One place further than the last time.
    ASSERT_EQ(d.steal(), &one_more);
  }
}

TEST(fork_deque, has_room_for_as_many_as_its_capacity_wherever_its_ring_stands) {  // law 4
  expect_room_for_its_capacity<1>();
  expect_room_for_its_capacity<2>();
  expect_room_for_its_capacity<4>();
  expect_room_for_its_capacity<64>();
}

TEST(fork_deque, the_same_item_comes_and_goes_as_often_as_it_is_pushed) {  // law 1
  int item = 7;
  deck<4> d;
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(d.push(&item));
    ASSERT_EQ(i % 2 == 0 ? d.pop() : d.steal(), &item);
    ASSERT_EQ(i % 3 == 0 ? d.pop() : d.steal(), nullptr);
  }
}

}  // namespace
