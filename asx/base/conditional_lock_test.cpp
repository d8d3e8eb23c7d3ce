// Tests of asx/base/conditional_lock.hpp; "law n" is the n-th of its banner. What needs more than one thread is in
// tests/stress/conditional_lock_stress.cpp.
#include "asx/base/conditional_lock.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace {

using asx::conditional_lock;

TEST(conditional_lock, off_or_on_is_decided_at_construction_and_never_changes) {  // law 1
  for (const bool on : {false, true}) {
    conditional_lock lock(on);
    EXPECT_EQ(lock.is_on(), on);
    lock.lock();
    EXPECT_EQ(lock.is_on(), on);
    lock.unlock();
    EXPECT_EQ(lock.try_lock(), true);
    EXPECT_EQ(lock.is_on(), on);
    lock.unlock();
    EXPECT_EQ(lock.is_on(), on);
  }
  static_assert(!std::is_copy_assignable_v<conditional_lock> && !std::is_move_assignable_v<conditional_lock>);
  static_assert(!std::is_copy_constructible_v<conditional_lock> && !std::is_move_constructible_v<conditional_lock>);
  static_assert(!std::is_convertible_v<bool, conditional_lock>);
}

TEST(conditional_lock, a_lock_that_is_off_keeps_nobody_out) {
  conditional_lock lock(false);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_TRUE(lock.try_lock());
  lock.lock();  // Would never return if the lock were on.
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(conditional_lock, a_lock_that_is_off_keeps_no_count_of_its_holders) {
  conditional_lock lock(false);
  lock.unlock();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(conditional_lock, a_lock_that_is_on_and_held_cannot_be_taken) {  // law 2
  conditional_lock lock(true);
  ASSERT_TRUE(lock.try_lock());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  lock.lock();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(conditional_lock, unlocking_what_is_not_held_is_an_assertion) {
  conditional_lock lock(true);
  EXPECT_DEATH(lock.unlock(), "only a lock that is held can be unlocked");
  lock.lock();
  lock.unlock();
  EXPECT_DEATH(lock.unlock(), "only a lock that is held can be unlocked");
}

TEST(conditional_lock, a_guard_holds_the_lock_for_its_scope) {
  conditional_lock lock(true);
  for (int i = 0; i < 3; ++i) {
    const asx::lock_guard guard(lock);
    EXPECT_FALSE(lock.try_lock());
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(conditional_lock, a_guard_gives_the_lock_back_when_an_exception_passes) {
  conditional_lock lock(true);
  EXPECT_THROW(
      {
        const asx::lock_guard guard(lock);
        throw 1;
      },
      int);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(conditional_lock, guards_of_a_lock_that_is_off_may_nest) {
  conditional_lock lock(false);
  const asx::lock_guard outer(lock);
  const asx::lock_guard inner(lock);
  EXPECT_TRUE(lock.try_lock());
}

TEST(conditional_lock, two_locks_do_not_know_of_each_other) {
  conditional_lock one(true);
  conditional_lock two(true);
  const asx::lock_guard guard(one);
  EXPECT_TRUE(two.try_lock());
  two.unlock();
}

TEST(conditional_lock, locking_never_throws_and_a_lock_is_small) {
  conditional_lock lock(false);
  static_assert(noexcept(lock.lock()) && noexcept(lock.try_lock()) && noexcept(lock.unlock()));
  static_assert(sizeof(conditional_lock) == 8);
}

}  // namespace
