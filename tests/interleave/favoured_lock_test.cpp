// Laws 1 to 4 of asx/base/favoured_lock.hpp. In every interleaving, with three stale reads of each thread: two threads
// of one round, a favourite that goes deeper, a seat that is made inside. Two threads of two rounds, three threads, and
// those that give way are tried with few preemptions - two to four, more under ASX_INTERLEAVE_LONG - and one stale
// read of each thread: what needs more of either is not found here, and tests/stress draws it.
#include "asx/base/favoured_lock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "tests/interleave/atomic.hpp"
#include "tests/interleave/faults.hpp"

namespace {

using namespace asx::interleave;

struct machine {
  static constexpr int spins = 1;
  static constexpr unsigned passings = 0;
  static void relax() noexcept {}
  template <class Word, class Value>
  static void wait(const Word& word, Value value, int) noexcept {
    word.stand_while(value);
  }
  static void order_all_threads() noexcept { asx::interleave::order_all_threads(); }
};
struct without_barrier : machine {
  static void order_all_threads() noexcept {}
};

// Everybody goes in and counts in a plain variable, which races if two are inside, or if one does not see what the last
// one wrote. Thread 0 becomes the favourite when it comes in by the lock; so does everybody else, if `AllFavoured`.
template <template <class> class Atomic, class Machine, unsigned Threads, unsigned Rounds, bool AllFavoured = false>
struct counters : world {
  using lock_type = asx::basic_favoured_lock<Atomic>;
  lock_type lock;
  std::array<typename lock_type::seat, Threads> seats;
  plain<unsigned> count{0};

  void run(unsigned thread) override {
    typename lock_type::seat& mine = seats[thread];
    mine.thread.store(&mine, std::memory_order_relaxed);
    for (unsigned i = 0; i < Rounds; ++i) {
      if (!lock.enter_as_favourite(&mine)) {
        lock.lock(Machine{});
        if (thread == 0 || AllFavoured) lock.favour(mine);
      }
      count = count + 1;
      lock.leave();
    }
  }
  void end() override { check(count == Threads * Rounds, "law 1: every round has counted"); }
};

// Two rounds in every order would be too many: those with few changes are seen, with one stale read each.
limits few(unsigned preemptions) {
  return {.executions = 20'000'000, .preemptions = preemptions, .stale_reads = 1};
}

TEST(interleave_favour, the_favourite_and_another_one_take_turns_and_see_what_the_other_wrote) {  // laws 1 and 2
  const verdict once = explore<counters<atomic, machine, 2, 1>>(2);
  EXPECT_TRUE(once.holds) << once.story;
  const verdict v = explore<counters<atomic, machine, 2, 2>>(2, few(is_long() ? 6 : 4));
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 1'000U);
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_favour, two_that_take_the_favour_from_each_other_take_turns) {  // laws 1 and 2
  const verdict once = explore<counters<atomic, machine, 2, 1, true>>(2);
  EXPECT_TRUE(once.holds) << once.story;
  const verdict v = explore<counters<atomic, machine, 2, 2, true>>(2, few(is_long() ? 5 : 4));
  EXPECT_TRUE(v.holds) << v.story;
  RecordProperty("executions", std::to_string(v.executions));
}

TEST(interleave_favour, three_take_turns_and_none_waits_for_ever) {  // laws 1 and 2
  const verdict v = explore<counters<atomic, machine, 3, 1, true>>(
      3, {.executions = 20'000'000, .preemptions = is_long() ? 4U : 2U, .stale_reads = 1});
  EXPECT_TRUE(v.holds) << v.story;
  RecordProperty("executions", std::to_string(v.executions));
}

// The favourite goes in while it is in, as calls do, and comes out as often; whoever takes the favour away between the
// two waits for the last of them.
TEST(interleave_favour, a_favourite_that_goes_deeper_stays_in_until_it_has_left) {  // laws 1 and 2
  struct deep : world {
    using lock_type = asx::basic_favoured_lock<atomic>;
    lock_type lock;
    lock_type::seat seat;
    plain<unsigned> count{0};

    void run(unsigned thread) override {
      if (thread == 1) {
        lock.lock(machine{});
        count = count + 1;
        lock.leave();
        return;
      }
      seat.thread.store(&seat, std::memory_order_relaxed);
      lock.lock(machine{});
      lock.favour(seat);
      count = count + 1;
      check(seat.enter(), "law 2: who is in goes deeper");
      count = count + 1;
      seat.in.store(1, std::memory_order_relaxed);
      count = count + 1;
      lock.leave();
    }
    void end() override { check(count == 4, "law 1: everybody has counted"); }
  };
  const verdict v = explore<deep>(2);
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 100U);
}

// Thread 0 waits for the lock; the others come again and again, and give way. What goes in while it waits is counted
// where everybody can see it: one may have looked just before thread 0 began to wait.
template <class Machine, unsigned Outsiders, unsigned Rounds>
struct crowd : world {
  asx::basic_favoured_lock<atomic> lock;
  plain<unsigned> passed{0};

  void run(unsigned thread) override {
    if (thread == 0) {
      lock.lock(Machine{});
      passed = 0;
      lock.leave();
      return;
    }
    for (unsigned i = 0; i < Rounds; ++i) {
      lock.lock_giving_way(Machine{});
      if (lock.is_waited_for()) {
        passed = passed + 1;
        check(passed <= Outsiders, "law 4: who waits is not passed by again and again");
      }
      lock.leave();
    }
  }
};
struct without_manners : machine {
  static constexpr unsigned passings = 100;
};

TEST(interleave_favour, who_waits_is_passed_by_a_bounded_number_of_those_who_give_way) {  // law 4
  const limits most{.executions = 20'000'000, .preemptions = is_long() ? 5U : 3U, .stale_reads = 1};
  const verdict v = explore<crowd<machine, 1, 2>>(2, most);
  EXPECT_TRUE(v.holds) << v.story;
  const verdict often = explore<crowd<machine, 1, 3>>(2, most);
  EXPECT_TRUE(often.holds) << often.story;
  const verdict two = explore<crowd<machine, 2, 2>>(
      3, {.executions = 20'000'000, .preemptions = is_long() ? 4U : 2U, .stale_reads = 1});
  EXPECT_TRUE(two.holds) << two.story;
  RecordProperty("executions", std::to_string(often.executions));
}

// An atomic whose making is a plain write, as that of std::atomic is.
template <class T>
class made_atomic : public atomic<T> {
 public:
  made_atomic(T value) noexcept : atomic<T>(value) {}
  [[nodiscard]] T load(std::memory_order order) const noexcept {
    [[maybe_unused]] const bool is_seen = is_made_;
    return atomic<T>::load(order);
  }

 private:
  plain<bool> is_made_{true};
};

TEST(interleave_favour, a_seat_made_inside_is_whole_for_whoever_sees_it) {  // law 3
  struct newcomers : world {
    using lock_type = asx::basic_favoured_lock<made_atomic>;
    lock_type lock;
    std::array<std::optional<lock_type::seat>, 2> seats;
    plain<unsigned> count{0};

    void run(unsigned thread) override {
      if (lock.enter_as_favourite(this)) check(false, "law 3: nobody sits there");
      lock.lock(machine{});
      lock_type::seat& mine = seats[thread].emplace();
      mine.thread.store(&mine, std::memory_order_relaxed);
      lock.favour(mine);
      count = count + 1;
      lock.leave();
    }
    void end() override { check(count == 2, "law 1: every round has counted"); }
  };
  const verdict v = explore<newcomers>(2);
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 100U);
}

// ---- the checks can fail

TEST(interleave_favour_faults, a_barrier_that_is_none_is_noticed) {
  const verdict v = explore<counters<atomic, without_barrier, 2, 2>>(2, {.executions = 20'000'000});
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("a race"), std::string::npos) << v.story;
}

TEST(interleave_favour_faults, a_leave_that_releases_nothing_is_noticed) {
  const verdict by_the_lock = explore<counters<forgetful_atomic, machine, 2, 2>>(2, {.executions = 20'000'000});
  EXPECT_FALSE(by_the_lock.holds);
  EXPECT_NE(by_the_lock.story.find("a race"), std::string::npos) << by_the_lock.story;
  const verdict as_favourite = explore<counters<silent_atomic, machine, 2, 2>>(2, {.executions = 20'000'000});
  EXPECT_FALSE(as_favourite.holds);
  EXPECT_NE(as_favourite.story.find("a race"), std::string::npos) << as_favourite.story;
}

TEST(interleave_favour_faults, a_crowd_that_does_not_give_way_is_noticed) {
  const verdict v = explore<crowd<without_manners, 1, 2>>(2);
  EXPECT_FALSE(v.holds);
  EXPECT_NE(v.story.find("law 4"), std::string::npos) << v.story;
}

// Law 3: a second thread that takes a seat over is let in beside the first, or ends its stay.
TEST(interleave_favour_faults, a_seat_of_two_threads_is_noticed) {
  struct shared_seat : world {
    using lock_type = asx::basic_favoured_lock<atomic>;
    lock_type lock;
    lock_type::seat seat;
    plain<unsigned> count{0};

    void run(unsigned) override {
      seat.thread.store(&seat, std::memory_order_relaxed);
      for (unsigned i = 0; i < 2; ++i) {
        if (!lock.enter_as_favourite(&seat)) {
          lock.lock(machine{});
          lock.favour(seat);
        }
        count = count + 1;
        lock.leave();
      }
    }
  };
  EXPECT_FALSE(explore<shared_seat>(2, {.executions = 20'000'000}).holds);
}

}  // namespace
