// Laws 1 to 4 of asx/base/fork_deque.hpp: the owner, thread 0, and one or two thieves. The smallest worlds - those that
// say nothing of limits, and two items before one try of one thief - are seen in every interleaving, with three stale
// reads of each thread. The larger ones are tried with as many preemptions as is said there, six to two, one more under
// ASX_INTERLEAVE_LONG, and two stale reads: what needs more of either is not found here.
#include "asx/base/fork_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/interleave/atomic.hpp"
#include "tests/interleave/expect.hpp"

namespace {

using namespace asx::interleave;

// What is pushed: its word is written before that, and read by whoever it is given to.
struct item {
  unsigned number = 0;
  plain<unsigned> word{0};
};

// Items are numbered as they are pushed. What a thread was given is its own until the world ends.
template <template <class> class Atomic, std::size_t Capacity, unsigned Items>
struct deck : world {
  asx::basic_fork_deque<item, Capacity, Atomic> deque;
  std::array<item, Items> items;
  std::array<std::vector<unsigned>, most_threads> given;

  deck() {
    for (unsigned i = 0; i < Items; ++i) items[i].number = i;
  }
  bool push(unsigned number) {
    items[number].word = 100 + number;
    return deque.push(&items[number]);
  }
  bool take(unsigned thread, item* one) {
    if (one == nullptr) return false;
    check(one->word == 100 + one->number, "law 3: what was written before the push is seen");
    given[thread].push_back(one->number);
    return true;
  }
  bool pop() { return take(0, deque.pop()); }
  bool steal(unsigned thread) { return take(thread, deque.steal()); }

  /// Those numbered below `pushed` were pushed, and everything has been asked for.
  void expect_each_once(unsigned pushed) {
    std::array<unsigned, Items> times{};
    for (const std::vector<unsigned>& mine : given) {
      for (const unsigned number : mine) ++times[number];
    }
    for (unsigned i = 0; i < Items; ++i) {
      check(times[i] <= (i < pushed ? 1U : 0U), "law 1: an item is given out once");
      check(times[i] >= (i < pushed ? 1U : 0U), "law 1: an item that was pushed is given out");
    }
    check(deque.pop() == nullptr && deque.steal() == nullptr && deque.seems_empty(), "law 2: nothing is left");
  }
  /// The oldest for thieves: each of them goes up.
  void expect_thieves_go_up() {
    for (unsigned t = 1; t < most_threads; ++t) {
      for (std::size_t i = 1; i < given[t].size(); ++i) {
        check(given[t][i - 1] < given[t][i], "law 2: a steal gives the oldest");
      }
    }
  }
};

limits few(unsigned preemptions) {
  return {.executions = 20'000'000, .preemptions = is_long() ? preemptions + 1 : preemptions, .stale_reads = 2};
}

// The owner pushes all, and pops until nothing is left; each thief tries a few times.
template <template <class> class Atomic, unsigned Items, unsigned Thieves, unsigned Tries>
struct all_in_all_out : deck<Atomic, 4, Items> {
  void run(unsigned thread) override {
    if (thread == 0) {
      for (unsigned i = 0; i < Items; ++i) check(this->push(i), "law 4: there is room");
      while (this->pop()) {
      }
      return;
    }
    for (unsigned i = 0; i < Tries; ++i) this->steal(thread);
  }
  void end() override {
    this->expect_each_once(Items);
    this->expect_thieves_go_up();
    const std::vector<unsigned>& popped = this->given[0];
    for (std::size_t i = 0; i < popped.size(); ++i) {
      check(popped[i] == Items - 1 - i, "law 2: a pop gives the newest; thieves have what is older than all of them");
    }
  }
};

TEST(interleave_fork_deque, one_item_is_the_owners_or_the_thiefs) {  // laws 1 to 3
  expect_all_hold<all_in_all_out<atomic, 1, 1, 1>>();
  expect_all_hold<all_in_all_out<atomic, 1, 1, 2>>();
}

TEST(interleave_fork_deque, two_and_three_items_go_to_one_thief_from_the_oldest_and_to_their_owner_from_the_newest) {
  expect_all_hold<all_in_all_out<atomic, 2, 1, 1>>(2, {.executions = 20'000'000});  // laws 1 to 3
  expect_all_hold<all_in_all_out<atomic, 2, 1, 2>>(2, few(6));
  expect_all_hold<all_in_all_out<atomic, 3, 1, 3>>(2, few(4));
}

TEST(interleave_fork_deque, two_thieves_and_the_owner_get_what_is_left_and_never_the_same) {  // laws 1 to 3
  expect_all_hold<all_in_all_out<atomic, 1, 2, 1>>(3, few(4));
  expect_all_hold<all_in_all_out<atomic, 2, 2, 1>>(3, few(3));
  expect_all_hold<all_in_all_out<atomic, 3, 2, 2>>(3, few(2));
}

// What lies there lies there before anybody begins: a steal that gives nothing has lost against somebody.
template <template <class> class Atomic, unsigned Items>
struct nobody_pops : deck<Atomic, 4, Items> {
  unsigned failed = 0;
  nobody_pops() {
    for (unsigned i = 0; i < Items; ++i) check(this->push(i), "law 4: there is room");
  }
  void run(unsigned thread) override {
    if (!this->steal(thread + 1)) ++failed;
  }
  void end() override {
    check(failed <= 1, "law 2: of two that steal the faster one is given something");
    while (this->pop()) {
    }
    this->expect_each_once(Items);
  }
};

TEST(interleave_fork_deque, of_two_thieves_one_is_given_something) {  // law 2
  expect_all_hold<nobody_pops<atomic, 1>>();
  expect_all_hold<nobody_pops<atomic, 3>>();
}

// While the owner only pushes, nobody is faster than the one thief.
TEST(interleave_fork_deque, a_thief_without_a_rival_is_given_the_oldest_while_others_are_pushed) {  // laws 2 and 3
  struct growing : deck<atomic, 4, 3> {
    growing() { check(push(0), "law 4: there is room"); }
    void run(unsigned thread) override {
      if (thread == 0) {
        check(push(1) && push(2), "law 4: there is room");
        return;
      }
      check(steal(1) && given[1].front() == 0, "law 2: there is something, and nobody is faster");
      steal(1);
    }
    void end() override {
      expect_thieves_go_up();
      while (pop()) {
      }
      expect_each_once(3);
    }
  };
  expect_all_hold<growing>();
}

// The owner takes back what it has pushed, and pushes the next one into the same place.
template <template <class> class Atomic>
struct same_place : deck<Atomic, 4, 4> {
  void run(unsigned thread) override {
    if (thread != 0) {
      this->steal(thread);
      this->steal(thread);
      return;
    }
    check(this->push(0) && this->push(1), "law 4: there is room");
    this->pop();
    check(this->push(2), "law 4: there is room");
    this->pop();
    check(this->push(3), "law 4: there is room");
    while (this->pop()) {
    }
  }
  void end() override {
    this->expect_each_once(4);
    this->expect_thieves_go_up();
  }
};

TEST(interleave_fork_deque, a_place_that_is_filled_again_holds_nothing_of_what_was_there) {  // laws 1 to 3
  expect_all_hold<same_place<atomic>>(2, few(4));
}

// The same item again, as frames of calls that lie where the last one lay.
TEST(interleave_fork_deque, an_item_that_comes_back_is_another_one) {  // laws 1 and 3
  struct comes_back : world {
    asx::basic_fork_deque<plain<unsigned>, 2, atomic> deque;
    plain<unsigned> word{0};
    atomic<unsigned> is_given_back{0};  // Of the thief.
    unsigned popped = 0;
    unsigned stolen = 0;
    void run(unsigned thread) override {
      if (thread == 1) {
        plain<unsigned>* const one = deque.steal();
        if (one == nullptr) return;
        check(*one == 1 || *one == 2, "law 3: what was written before the push is seen");
        ++stolen;
        is_given_back.store(1, std::memory_order_release);
        return;
      }
      for (unsigned round = 1; round <= 2; ++round) {
        word = round;
        check(deque.push(&word), "law 4: there is room");
        if (deque.pop() != nullptr) {
          check(word == round, "law 1: nobody else has it");
          ++popped;
        } else {
          is_given_back.stand_while(0);
          if (is_given_back.load(std::memory_order_acquire) == 0) return;  // It was stolen; its thief is not done.
        }
      }
    }
    void end() override { check(popped + stolen == 2 || (popped == 0 && stolen == 1), "law 1: each is given once"); }
  };
  expect_all_hold<comes_back>();
}

// Two places for four items: a push that finds none is refused, and is tried again after the owner has taken one back.
template <template <class> class Atomic, unsigned Thieves>
struct narrow : deck<Atomic, 2, 4> {
  bool was_refused = false;
  void run(unsigned thread) override {
    if (thread != 0) {
      this->steal(thread);
      if (Thieves == 1) this->steal(thread);
      return;
    }
    for (unsigned i = 0; i < 4; ++i) {
      if (this->push(i)) continue;
      was_refused = true;
      check(i >= 2, "law 4: there is room for as many as its capacity");
      this->pop();  // Or everything was stolen meanwhile: there is room either way.
      check(this->push(i), "law 4: the place of what was given out is free");
    }
    while (this->pop()) {
    }
  }
  void end() override {
    this->expect_each_once(4);
    this->expect_thieves_go_up();
    const std::size_t stolen = this->given[1].size() + this->given[2].size();
    check(was_refused || stolen >= 2, "law 4: more than its capacity is never in it");
  }
};

TEST(interleave_fork_deque, what_is_full_refuses_and_places_of_stolen_items_are_used_again) {  // laws 1 to 4
  expect_all_hold<narrow<atomic, 1>>(2, few(4));
  expect_all_hold<narrow<atomic, 2>>(3, few(2));
}

TEST(interleave_fork_deque, a_refused_push_changes_nothing) {  // law 4
  struct full : deck<atomic, 2, 3> {
    unsigned pushed = 2;
    full() { check(push(0) && push(1), "law 4: there is room"); }
    void run(unsigned thread) override {
      if (thread == 1) {
        steal(1);
        return;
      }
      if (push(2)) pushed = 3;
      check(pop() && given[0].back() == pushed - 1, "law 2: the newest, which nobody else is after");
    }
    void end() override {
      check(given[1].size() == 1 && given[1].front() == 0, "law 2: the oldest, which nobody else is after");
      while (pop()) {
      }
      expect_each_once(pushed);
    }
  };
  expect_all_hold<full>();
}

// ---- the checks can fail

// No operation orders anything.
template <class T>
class relaxed_atomic : public atomic<T> {
  static constexpr auto none = std::memory_order_relaxed;

 public:
  using atomic<T>::atomic;
  [[nodiscard]] T load(std::memory_order) const noexcept { return atomic<T>::load(none); }
  void store(T value, std::memory_order) noexcept { atomic<T>::store(value, none); }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order) noexcept {
    return atomic<T>::compare_exchange_strong(expected, desired, none, none);
  }
};

// Acquire and release, and no order in which everybody sees everything.
template <class T>
class pairwise_atomic : public atomic<T> {
  static constexpr std::memory_order weaker(std::memory_order order, std::memory_order than_total) noexcept {
    return order == std::memory_order_seq_cst ? than_total : order;
  }

 public:
  using atomic<T>::atomic;
  [[nodiscard]] T load(std::memory_order order) const noexcept {
    return atomic<T>::load(weaker(order, std::memory_order_acquire));
  }
  void store(T value, std::memory_order order) noexcept {
    atomic<T>::store(value, weaker(order, std::memory_order_release));
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return atomic<T>::compare_exchange_strong(expected, desired, weaker(success, std::memory_order_acq_rel), failure);
  }
};

// As pairwise_atomic, but for one kind of operation alone.
template <class T>
class late_store_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  void store(T value, std::memory_order order) noexcept {
    atomic<T>::store(value, order == std::memory_order_seq_cst ? std::memory_order_release : order);
  }
};
template <class T>
class late_exchange_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order) noexcept {
    return atomic<T>::compare_exchange_strong(expected, desired, std::memory_order_relaxed, std::memory_order_relaxed);
  }
};

// Stores of the release order hand nothing over.
template <class T>
class unreleased_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  void store(T value, std::memory_order order) noexcept {
    atomic<T>::store(value, order == std::memory_order_release ? std::memory_order_relaxed : order);
  }
};

// Looks, and then stores.
template <class T>
class torn_exchange_atomic : public atomic<T> {
 public:
  using atomic<T>::atomic;
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order) noexcept {
    const T seen = this->load(std::memory_order_seq_cst);
    if (seen != expected) {
      expected = seen;
      return false;
    }
    this->store(desired, success);
    return true;
  }
};

TEST(interleave_fork_deque_faults, orders_that_order_nothing_are_noticed) {
  expect_noticed<all_in_all_out<relaxed_atomic, 1, 1, 1>>("a race", 2, few(6));
  expect_noticed<all_in_all_out<unreleased_atomic, 1, 1, 1>>("a race", 2, few(6));
  expect_noticed<narrow<relaxed_atomic, 1>>("a race", 2, few(6));
}

TEST(interleave_fork_deque_faults, a_store_and_a_load_that_pass_each_other_are_noticed) {
  expect_noticed<all_in_all_out<pairwise_atomic, 2, 1, 2>>("law 1: an item is given out once", 2, few(6));
  expect_noticed<all_in_all_out<late_store_atomic, 2, 1, 2>>("law 1: an item is given out once", 2, few(6));
  expect_noticed<all_in_all_out<late_exchange_atomic, 2, 1, 2>>("law 1: an item is given out once", 2, few(6));
}

TEST(interleave_fork_deque_faults, an_exchange_in_two_steps_is_noticed) {
  expect_noticed<all_in_all_out<torn_exchange_atomic, 1, 1, 1>>("law 1: an item is given out once");
  expect_noticed<nobody_pops<torn_exchange_atomic, 1>>("law 1: an item is given out once");
}

}  // namespace
