// Tests of asx/base/time.hpp; "law n" is the n-th of its banner.
#include "asx/base/time.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace {

using asx::duration;
using asx::instant;

// Wide enough that nothing in here can wrap: the model to compare with.
__extension__ typedef unsigned __int128 wide;
constexpr std::uint64_t largest = UINT64_MAX;
constexpr std::uint64_t capped(wide value) {
  return value > largest ? largest : static_cast<std::uint64_t>(value);
}

// Every boundary that a sum, a difference or a multiplication can fall off.
constexpr std::array<std::uint64_t, 15> edges{0,
                                              1,
                                              2,
                                              999,
                                              1'000,
                                              UINT32_MAX,
                                              std::uint64_t{1} << 32,
                                              1'000'000'000,
                                              largest / 1'000'000'000,
                                              largest / 1'000'000'000 + 1,
                                              largest / 2,
                                              largest / 2 + 1,
                                              largest - 2,
                                              largest - 1,
                                              largest};

TEST(time, the_largest_instant_means_none_and_is_later_than_every_moment) {  // law 1
  static_assert(instant::none().is_none());
  static_assert(instant::none().ns == largest);
  for (const std::uint64_t ns : edges) {
    const instant t{ns};
    EXPECT_EQ(t.is_none(), ns == largest);
    EXPECT_EQ(t < instant::none(), ns != largest);
    EXPECT_EQ(earlier(t, instant::none()), t);
    EXPECT_EQ(earlier(instant::none(), t), t);
    EXPECT_TRUE(later(t, instant::none()).is_none());
    EXPECT_TRUE(later(instant::none(), t).is_none());
  }
}

TEST(time, a_run_begins_at_zero_which_is_a_moment_like_any_other) {
  static_assert(instant{}.ns == 0);
  static_assert(!instant{}.is_none());
  static_assert(duration{}.ns == 0);
}

TEST(time, a_sum_that_does_not_fit_is_none) {  // law 2, every pair of edges
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) {
      const std::uint64_t sum = capped(wide{a} + b);
      EXPECT_EQ((instant{a} + duration{b}).ns, sum) << a << " + " << b;
      EXPECT_EQ((duration{a} + duration{b}).ns, sum) << a << " + " << b;
    }
  }
}

TEST(time, none_plus_anything_is_none) {  // law 2
  for (const std::uint64_t d : edges) EXPECT_TRUE((instant::none() + duration{d}).is_none()) << d;
  for (const std::uint64_t t : edges) EXPECT_TRUE((instant{t} + duration::max()).is_none()) << t;
}

TEST(time, a_difference_below_zero_is_zero) {  // law 2, every pair of edges
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) {
      const std::uint64_t difference = a > b ? a - b : 0;
      EXPECT_EQ((duration{a} - duration{b}).ns, difference) << a << " - " << b;
      if (a != largest) {
        EXPECT_EQ((instant{a} - instant{b}).ns, difference) << a << " - " << b;
      }
    }
  }
}

TEST(time, none_minus_a_moment_is_the_largest_duration) {  // law 2
  for (const std::uint64_t ns : edges) {
    const instant t{ns};
    if (t.is_none()) continue;
    EXPECT_EQ(instant::none() - t, duration::max()) << ns;
    EXPECT_EQ(t - instant::none(), duration{}) << ns;
  }
  EXPECT_EQ(instant::none() - instant::none(), duration{});
}

TEST(time, a_deadline_in_the_past_is_due_at_once) {
  static_assert(instant{5} - instant{9} == duration{});
  static_assert(instant{5} + (instant{5} - instant{9}) == instant{5});
}

TEST(time, each_unit_is_so_many_nanoseconds_and_saturates) {
  struct unit {
    duration (*make)(std::uint64_t) noexcept;
    std::uint64_t ns;
  };
  constexpr std::array<unit, 7> units{{{&duration::nanoseconds, 1},
                                       {&duration::microseconds, 1'000},
                                       {&duration::milliseconds, 1'000'000},
                                       {&duration::seconds, 1'000'000'000},
                                       {&duration::minutes, 60'000'000'000},
                                       {&duration::hours, 3'600'000'000'000},
                                       {&duration::days, 86'400'000'000'000}}};
  for (const unit& u : units) {
    EXPECT_EQ(u.make(1).ns, u.ns);
    for (const std::uint64_t n : edges) EXPECT_EQ(u.make(n).ns, capped(wide{n} * u.ns)) << n << " of " << u.ns;
    // The last number of units that fits, and the first that does not.
    const std::uint64_t last = largest / u.ns;
    EXPECT_EQ(u.make(last).ns, last * u.ns);
    if (last != largest) {
      EXPECT_EQ(u.make(last + 1), duration::max());
    }
  }
  static_assert(duration::days(1) == duration::hours(24));
  static_assert(duration::hours(1) == duration::minutes(60));
}

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };

TEST(time, moments_and_durations_are_different_types_and_neither_is_a_number) {
  static_assert(!std::is_convertible_v<instant, duration> && !std::is_convertible_v<duration, instant>);
  static_assert(!std::is_convertible_v<std::uint64_t, instant> && !std::is_convertible_v<std::uint64_t, duration>);
  static_assert(!std::is_convertible_v<instant, std::uint64_t> && !std::is_convertible_v<duration, std::uint64_t>);
  static_assert(!addable<instant, instant>, "two moments have no sum");
  static_assert(addable<instant, duration> && addable<duration, duration>);
  static_assert(sizeof(instant) == 8 && sizeof(duration) == 8);
  static_assert(std::regular<instant> && std::totally_ordered<instant>);
  static_assert(std::regular<duration> && std::totally_ordered<duration>);
}

TEST(time, nothing_reads_a_clock) {  // law 3: what is known at compile time cannot depend on when it runs
  static_assert(instant{40} + duration{2} == instant{42});
  static_assert(instant{42} - instant{40} == duration{2});
  static_assert(duration{1} + duration{2} - duration{2} == duration{1});
  static_assert(earlier(instant{1}, instant{2}) == instant{1} && later(instant{1}, instant{2}) == instant{2});
  static_assert(duration::seconds(1) < duration::max());
  SUCCEED();
}

TEST(time, earlier_and_later_pick_from_every_pair) {
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) {
      EXPECT_EQ(earlier(instant{a}, instant{b}).ns, a < b ? a : b);
      EXPECT_EQ(later(instant{a}, instant{b}).ns, a < b ? b : a);
    }
  }
}

// ---- durations of <chrono>: law 4
constexpr duration limit_of(duration d) {  // As a function of asx takes one.
  return d;
}

TEST(time, a_duration_of_chrono_is_one_without_a_word) {
  using namespace std::chrono_literals;
  static_assert(limit_of(5ms) == duration::milliseconds(5));
  static_assert(limit_of(1s) == duration::seconds(1) && limit_of(2min) == duration::minutes(2));
  static_assert(limit_of(24h) == duration::days(1) && limit_of(7ns) == duration{7});
  static_assert(limit_of(1.5s) == duration::milliseconds(1500) && limit_of(0.3s) == duration::milliseconds(300));
  static_assert(instant{1} + 1us == instant{1001});
  static_assert(duration::seconds(2) > 1s && duration::seconds(60) == 1min);
  static_assert(!std::is_convertible_v<duration, std::chrono::nanoseconds>, "which might be negative, or too small");
  static_assert(!std::is_convertible_v<std::chrono::sys_seconds, duration>);
  static_assert(!std::is_convertible_v<int, duration> && !std::is_convertible_v<double, duration>);
  SUCCEED();
}

TEST(time, a_duration_of_chrono_below_zero_is_zero_and_beyond_the_largest_the_largest) {
  static_assert(limit_of(std::chrono::nanoseconds::min()) == duration{});
  static_assert(limit_of(std::chrono::milliseconds(-1)) == duration{});
  static_assert(limit_of(std::chrono::hours::max()) == duration::max());
  static_assert(limit_of(std::chrono::nanoseconds::max()) == duration{INT64_MAX});
  static_assert(limit_of(std::chrono::duration<double>(-0.5)) == duration{});
  static_assert(limit_of(std::chrono::duration<double>(1e30)) == duration::max());
  static_assert(limit_of(std::chrono::duration<double>(std::numeric_limits<double>::infinity())) == duration::max());
  static_assert(limit_of(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())) == duration{});
  static_assert(limit_of(std::chrono::duration<std::int64_t, std::exa>(1)) == duration::max());
  SUCCEED();
}

// Periods that are no whole number of nanoseconds, at every edge and around it, against a model that cannot wrap.
template <class Period>
void expect_cut_off() {
  for (const std::uint64_t edge : edges) {
    for (const std::uint64_t near : {edge - 1, edge, edge + 1}) {
      const duration got = std::chrono::duration<std::uint64_t, Period>(near);
      const wide exact = wide{near} * static_cast<std::uint64_t>(Period::num);
      const wide den = static_cast<std::uint64_t>(Period::den);
      const wide ns = exact / den * 1'000'000'000 + exact % den * 1'000'000'000 / den;
      EXPECT_EQ(got.ns, capped(ns)) << near << " of " << Period::num << '/' << Period::den;
    }
  }
}

TEST(time, a_duration_of_chrono_is_cut_off_below_a_nanosecond) {
  expect_cut_off<std::ratio<1, 60>>();  // Frames,
  expect_cut_off<std::ratio<1001, 30000>>();
  expect_cut_off<std::ratio<1, 44100>>();  // samples,
  expect_cut_off<std::ratio<1, 90000>>();
  expect_cut_off<std::ratio<100, 1'000'000'000>>();  // ticks of others,
  expect_cut_off<std::pico>();
  expect_cut_off<std::atto>();
  expect_cut_off<std::milli>();
  expect_cut_off<std::ratio<1>>();
  expect_cut_off<std::ratio<86400>>();
}

RC_GTEST_PROP(time, what_was_added_can_be_taken_away_unless_it_saturated, (std::uint64_t t, std::uint64_t d)) {
  const instant sum = instant{t} + duration{d};
  RC_ASSERT(sum >= instant{t});
  if (wide{t} + d < largest) {
    RC_ASSERT(sum - instant{t} == duration{d});
  } else {
    RC_ASSERT(sum.is_none());
  }
}

RC_GTEST_PROP(time, adding_durations_in_any_order_reaches_the_same_moment,
              (std::uint64_t t, std::uint64_t a, std::uint64_t b)) {
  RC_ASSERT(instant{t} + duration{a} + duration{b} == instant{t} + duration{b} + duration{a});
  RC_ASSERT(instant{t} + duration{a} + duration{b} == instant{t} + (duration{a} + duration{b}));
}

}  // namespace
