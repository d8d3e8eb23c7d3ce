// asx/lab/gtest.hpp - LAB_TEST: a GoogleTest whose body is a coroutine that runs under many schedules.
//
//     LAB_TEST(orders, are_not_lost_when_the_sender_is_cancelled) {
//       auto [code, tx, rx] = asx::channel<int>(c, 1);          // `c` is the cx of the body
//       ...
//       EXPECT_EQ(...);                                         // as ever; ASSERT_ needs a return and does not work
//       here
//     }
//
// Laws: as lab.hpp: 32 seeds, each twice, all oracles. A finding prints the seed, a token that replays it, and the
// journal's tail. Failures of EXPECT_ are the test's, whatever the lab finds.
//
// Cancel points: none. Threads: one. Lifetime: the body is called for each run.
#pragma once

#include <gtest/gtest.h>

#include "asx/lab/lab.hpp"

#define ASX_LAB_TEST_WITH(suite, name, ...)                                                                  \
  static ::asx::task<void> suite##_##name##_body(::asx::cx c);                                               \
  TEST(suite, name) {                                                                                        \
    const ::asx::lab_result found = ::asx::explore(::asx::lab_options{__VA_ARGS__}, &suite##_##name##_body); \
    EXPECT_TRUE(found.is_ok) << found.report();                                                              \
  }                                                                                                          \
  static ::asx::task<void> suite##_##name##_body([[maybe_unused]] ::asx::cx c)

#define LAB_TEST(suite, name) ASX_LAB_TEST_WITH(suite, name, )
