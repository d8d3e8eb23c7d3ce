// Laws of asx/base/atomic_word.hpp.
#include "asx/base/atomic_word.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "asx/base/conditional_lock.hpp"
#include "asx/base/favoured_lock.hpp"

namespace {

using asx::atomic_word;

#if !defined(ASX_DISTURBED)

TEST(atomic_word, is_what_the_language_has_where_nobody_dawdles) {  // law 1
  EXPECT_TRUE((std::is_same_v<atomic_word<int>, std::atomic<int>>));
  EXPECT_TRUE((std::is_same_v<asx::conditional_lock, asx::basic_conditional_lock<std::atomic>>));
  EXPECT_TRUE((std::is_same_v<asx::favoured_lock, asx::basic_favoured_lock<std::atomic>>));
}

#else

TEST(atomic_word, dawdles_before_and_behind_every_operation) {  // law 2
  atomic_word<unsigned> word{5};
  const auto times = [](auto&& operation) {
    const auto before = asx::disturbances();
    operation();
    return asx::disturbances() - before;
  };
  unsigned seen = 0;
  EXPECT_EQ(times([&] { seen = word.load(std::memory_order_relaxed); }), 2U);
  EXPECT_EQ(seen, 5U);
  EXPECT_EQ(times([&] { word.store(6); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_EQ(word.exchange(7), 6U); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_TRUE(word.compare_exchange_strong(seen = 7, 8)); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_FALSE(word.compare_exchange_strong(seen = 7, 9)); }), 2U);
  EXPECT_EQ(seen, 8U);
  constexpr auto relaxed = std::memory_order_relaxed;
  EXPECT_EQ(times([&] { EXPECT_TRUE(word.compare_exchange_strong(seen = 8, 7, relaxed, relaxed)); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_FALSE(word.compare_exchange_weak(seen = 8, 9)); }), 2U);
  EXPECT_EQ(seen, 7U);
  EXPECT_EQ(times([&] { EXPECT_FALSE(word.compare_exchange_weak(seen = 8, 9, relaxed, relaxed)); }), 2U);
  word.store(8);
  EXPECT_EQ(times([&] { word.wait(9); }), 2U);  // It is another one already.
  EXPECT_EQ(times([&] { word.notify_one(); }), 2U);
  EXPECT_EQ(times([&] { word.notify_all(); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_EQ(word.fetch_add(1), 8U); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_EQ(word.fetch_sub(1), 9U); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_EQ(word.fetch_or(3), 8U); }), 2U);
  EXPECT_EQ(times([&] { EXPECT_EQ(word.fetch_and(9), 11U); }), 2U);
  EXPECT_EQ(word.load(), 9U);
}

#endif

}  // namespace
