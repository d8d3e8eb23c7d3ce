// asx/lab/gtest.hpp - LAB_TEST and LAB_SWEEP: GoogleTests whose body is a coroutine that runs under many schedules, or
// with a fault at every point of one.
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
// With ASX_LAB_JOURNAL=FILE the whole journal of a run that was found is written there, and a replay that comes out
// otherwise, because the program is another by now, shows the first event that differs from it.
//
// ASX_LAB_TEST_WITH(suite, name, .seeds = 200, .may_block = true) takes the fields of lab_options.
//
//     LAB_SWEEP(orders, survive_whatever_is_refused_or_cancelled, admission, cancel) { ... }
//
// does the sweeps of lab.hpp, named by a word each; the test fails when one of them finds something, or strikes
// nowhere. What the body EXPECTs it expects of runs that were struck, too. A token names fault and point, and is
// replayed as above. ASX_LAB_SWEEP_WITH(suite, name, admission, .first_seed = 7) does one sweep with the fields of
// lab_options.
//
// Cancel points: none. Threads: one. Lifetime: the body is called for each run.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "asx/lab/lab.hpp"

namespace asx::detail {

/// One run when the environment names it, else `all`.
template <class All>
void test_in_lab(lab_options how, const lab_body& body, All all, const char* file, int line) {
  how.has_failed = [] { return ::testing::Test::HasFailure(); };
  const char* const token = std::getenv("ASX_LAB_REPLAY");
  if (const char* const to = std::getenv("ASX_LAB_JOURNAL"); to != nullptr) how.journal = to;
  const lab_result found = token == nullptr ? all(how, body) : replay(how, token, body);
  if (!found.is_ok) ADD_FAILURE_AT(file, line) << found.report();
}

/// Stops at the first finding.
template <std::size_t N>
lab_result sweep_each(const lab_options& how, const std::array<lab_fault, N>& faults, const lab_body& body) {
  lab_result out;
  for (const lab_fault fault : faults) {
    out = sweep(how, fault, body);
    if (!out.is_ok) break;
  }
  return out;
}

}  // namespace asx::detail

#define ASX_LAB_BODY_(suite, name, all, ...)                                                                 \
  static ::asx::task<void> suite##_##name##_body(::asx::cx c);                                               \
  TEST(suite, name) {                                                                                        \
    ::asx::detail::test_in_lab(::asx::lab_options{__VA_ARGS__}, &suite##_##name##_body,                      \
                               [](const ::asx::lab_options& how, const ::asx::lab_body& body) all, __FILE__, \
                               __LINE__);                                                                    \
  }                                                                                                          \
  static ::asx::task<void> suite##_##name##_body([[maybe_unused]] ::asx::cx c)

#define ASX_LAB_TEST_WITH(suite, name, ...) \
  ASX_LAB_BODY_(suite, name, { return ::asx::explore(how, body); }, __VA_ARGS__)
#define LAB_TEST(suite, name) ASX_LAB_TEST_WITH(suite, name, )

#define ASX_LAB_SWEEP_WITH(suite, name, fault, ...) \
  ASX_LAB_BODY_(suite, name, { return ::asx::sweep(how, ::asx::lab_fault::fault, body); }, __VA_ARGS__)

#define LAB_SWEEP(suite, name, ...)                                                  \
  static ::asx::task<void> suite##_##name##_body(::asx::cx c);                       \
  TEST(suite, name) {                                                                \
    ::asx::detail::test_in_lab(                                                      \
        {}, &suite##_##name##_body,                                                  \
        [](const ::asx::lab_options& how, const ::asx::lab_body& body) {             \
          using enum ::asx::lab_fault;                                               \
          return ::asx::detail::sweep_each(how, std::to_array({__VA_ARGS__}), body); \
        },                                                                           \
        __FILE__, __LINE__);                                                         \
  }                                                                                  \
  static ::asx::task<void> suite##_##name##_body([[maybe_unused]] ::asx::cx c)
