// Tests of asx/base/assert.hpp; "law n" is the n-th of its banner.
//
// Law 1 says "in every build", so this file is compiled as a release build is, whatever the flags are.
#ifndef NDEBUG
#define NDEBUG
#endif
#include "asx/base/assert.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace {

using testing::KilledBySignal;

// Puts the handler that was there before the test back, whatever the test did.
class handler_scope {
 public:
  explicit handler_scope(asx::assert_handler handler) : before_(asx::set_assert_handler(handler)) {}
  ~handler_scope() { asx::set_assert_handler(before_); }
  handler_scope(const handler_scope&) = delete;
  handler_scope& operator=(const handler_scope&) = delete;

  [[nodiscard]] asx::assert_handler before() const { return before_; }

 private:
  asx::assert_handler before_;
};

void tell(const asx::assert_site& site) noexcept {
  std::fprintf(stderr, "handler told [%s] [%s] [%d] [%s] [%s]\n", site.expression, site.file, site.line, site.function,
               site.why);
}
void tell_other(const asx::assert_site&) noexcept {
  std::fputs("the other handler told\n", stderr);
}

int evaluations = 0;
bool count_and_return(bool value) {
  ++evaluations;
  return value;
}
void tell_evaluations(const asx::assert_site&) noexcept {
  std::fprintf(stderr, "evaluated %d times\n", evaluations);
}

constexpr int failing_line = __LINE__ + 2;
void fail_in_this_function(int one) {
  ASX_ASSERT(one == 2, "one of the laws is broken");
}

constexpr int unreachable_line = __LINE__ + 2;
void reach_the_unreachable() {
  ASX_UNREACHABLE("nobody may come here");
}

TEST(assert, a_condition_that_holds_is_evaluated_exactly_once) {  // law 1
  evaluations = 0;
  ASX_ASSERT(count_and_return(true), "holds");
  EXPECT_EQ(evaluations, 1);
}

TEST(assert, a_condition_that_fails_is_evaluated_exactly_once) {  // law 1
  const handler_scope scope(&tell_evaluations);
  evaluations = 0;
  EXPECT_DEATH(ASX_ASSERT(count_and_return(false), "does not hold"), "^evaluated 1 times\n");
}

TEST(assert, a_condition_that_holds_calls_no_handler_and_goes_on) {
  const handler_scope scope([](const asx::assert_site&) noexcept { std::_Exit(3); });
  int steps = 0;
  ASX_ASSERT(steps == 0, "holds");
  ++steps;
  ASX_ASSERT(steps == 1, "holds");
  EXPECT_EQ(steps, 1);
}

TEST(assert, a_condition_may_be_anything_that_is_explicitly_a_bool) {
  struct answer {
    explicit operator bool() const { return yes; }
    bool yes;
  };
  const int number = 0;
  ASX_ASSERT(answer{true}, "explicit conversions count");
  ASX_ASSERT(&number, "pointers count");
  EXPECT_DEATH(ASX_ASSERT(answer{false}, "explicit conversions count"), "answer");
}

TEST(assert, an_assertion_is_one_expression_of_type_void) {
  static_assert(std::is_void_v<decltype(ASX_ASSERT(true, ""))>);
  static_assert(std::is_void_v<decltype(ASX_UNREACHABLE(""))>);
  // It must not capture the else of an if without braces, and must stand in a comma expression.
  bool otherwise = false;
  if (evaluations < 0)
    ASX_ASSERT(false, "not reached");
  else
    otherwise = true;
  EXPECT_TRUE(otherwise);
  EXPECT_EQ((ASX_ASSERT(true, "holds"), 7), 7);
}

TEST(assert, a_failure_prints_expression_file_line_function_and_why) {
  const std::string site =
      "^asx: assertion failed: one == 2\n"
      "  at  [^\n]*assert_test\\.cpp:" +
      std::to_string(failing_line) +
      " in fail_in_this_function\n"
      "  why one of the laws is broken\n$";
  EXPECT_EXIT(fail_in_this_function(1), KilledBySignal(SIGABRT), site);
}

TEST(assert, reaching_the_unreachable_prints_where_and_why_and_aborts) {  // law 2
  const std::string site = "unreachable\n  at  [^\n]*assert_test\\.cpp:" + std::to_string(unreachable_line) +
                           " in reach_the_unreachable\n  why nobody may come here\n$";
  EXPECT_EXIT(reach_the_unreachable(), KilledBySignal(SIGABRT), site);
}

TEST(assert, percent_signs_are_printed_as_they_are) {
  const int five = 5;
  EXPECT_DEATH(ASX_ASSERT(five % 2 == 0, "100%s even, %n odd"), "five % 2 == 0\n.*100%s even, %n odd\n");
}

TEST(assert, a_replaced_handler_gets_the_whole_site_and_the_process_still_aborts) {  // law 2
  const handler_scope scope(&tell);
  const std::string told = "^handler told \\[one == 2\\] \\[[^]]*assert_test\\.cpp\\] \\[" +
                           std::to_string(failing_line) +
                           "\\] \\[fail_in_this_function\\] \\[one of the laws is broken\\]\n$";
  EXPECT_EXIT(fail_in_this_function(1), KilledBySignal(SIGABRT), told);  // Nothing else: the default is silent.
}

TEST(assert, a_handler_that_fails_an_assertion_itself_still_leads_to_abort) {  // law 2
  // A handler that prints what it finds in a broken structure may well meet the next failure there.
  const handler_scope scope([](const asx::assert_site& site) noexcept {
    std::fprintf(stderr, "first %s\n", site.expression);
    fail_in_this_function(3);
  });
  EXPECT_EXIT(ASX_ASSERT(evaluations < 0, "first"), KilledBySignal(SIGABRT),
              "^first evaluations < 0\nasx: assertion failed: one == 2\n");
}

TEST(assert, a_handler_may_end_the_process_itself) {
  const handler_scope scope([](const asx::assert_site&) noexcept { std::_Exit(42); });
  EXPECT_EXIT(fail_in_this_function(1), testing::ExitedWithCode(42), "^$");
}

TEST(assert, setting_a_handler_returns_the_one_before) {
  const handler_scope scope(&tell);
  EXPECT_NE(scope.before(), nullptr) << "the default is a handler like any other";
  EXPECT_EQ(asx::set_assert_handler(&tell_other), &tell);
  EXPECT_EQ(asx::set_assert_handler(&tell), &tell_other);
}

TEST(assert, the_last_handler_set_is_the_one_called) {
  const handler_scope scope(&tell);
  const handler_scope inner(&tell_other);
  EXPECT_DEATH(fail_in_this_function(1), "^the other handler told\n$");
}

TEST(assert, null_puts_the_default_handler_back) {
  const handler_scope scope(&tell);
  EXPECT_EQ(asx::set_assert_handler(nullptr), &tell);
  EXPECT_DEATH(fail_in_this_function(1), "^asx: assertion failed: one == 2\n");
  EXPECT_EQ(asx::set_assert_handler(nullptr), scope.before());
}

TEST(assert, the_default_that_was_returned_can_be_put_back_by_its_address) {
  const handler_scope scope(&tell);
  asx::set_assert_handler(scope.before());
  EXPECT_DEATH(fail_in_this_function(1), "^asx: assertion failed: one == 2\n");
}

// Law 3: whether this is a constant expression depends on the assertion alone.
constexpr int halve(int even) {
  ASX_ASSERT(even % 2 == 0, "only even numbers have a half");
  return even / 2;
}
template <int Number>
concept halves_in_a_constant = requires { typename std::integral_constant<int, halve(Number)>; };

TEST(assert, in_a_constant_expression_a_failed_assertion_does_not_compile) {  // law 3
  static_assert(halve(8) == 4);
  static_assert(halves_in_a_constant<8>);
  static_assert(!halves_in_a_constant<7>);
  EXPECT_DEATH(static_cast<void>(halve(7)), "only even numbers have a half");
}

}  // namespace
