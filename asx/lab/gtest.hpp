// asx/lab/gtest.hpp - LAB_TEST: a GoogleTest whose body is a coroutine that runs under many schedules.
//
//     LAB_TEST(orders, are_not_lost_when_the_sender_is_cancelled) {
//       auto [code, tx, rx] = asx::channel<int>(c, 1);          // `c` is the cx of the body
//       ...
//       EXPECT_EQ(...);                                         // ASSERT_ needs a return, and does not work here
//     }
//
// Laws: as lab.hpp: 32 seeds, each twice, all oracles, and EXPECT_ in the body: what does not hold ends the test after
// that run. A finding prints the seed, a token that replays it, and the journal's tail. That run alone:
//
//     ASX_LAB_REPLAY=lab1.7.2.none.0.0123456789abcdef ./my_tests --gtest_filter=orders.are_not_lost_when...
//
// ASX_LAB_TEST_WITH(suite, name, .seeds = 200, .may_block = true) takes the fields of lab_options.
//
// Cancel points: none. Threads: one. Lifetime: the body is called for each run.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "asx/lab/lab.hpp"

#define ASX_LAB_TEST_WITH(suite, name, ...)                                                               \
  static ::asx::task<void> suite##_##name##_body(::asx::cx c);                                            \
  TEST(suite, name) {                                                                                     \
    ::asx::lab_options how{__VA_ARGS__};                                                                  \
    how.has_failed = [] { return ::testing::Test::HasFailure(); };                                        \
    const char* const token = std::getenv("ASX_LAB_REPLAY");                                              \
    const ::asx::lab_result found = token == nullptr ? ::asx::explore(how, &suite##_##name##_body)        \
                                                     : ::asx::replay(how, token, &suite##_##name##_body); \
    EXPECT_TRUE(found.is_ok) << found.report();                                                           \
  }                                                                                                       \
  static ::asx::task<void> suite##_##name##_body([[maybe_unused]] ::asx::cx c)

#define LAB_TEST(suite, name) ASX_LAB_TEST_WITH(suite, name, )
