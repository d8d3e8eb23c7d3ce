// The wheel by its laws: where a timer waits, when it fires, in which order, and what a refusal leaves behind.
//
// Moments are written as in the rulings: whole and broken milliseconds. Every test ends with check(), which asserts the
// laws over the whole structure.
#include "asx/wheel/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/wheel/detail/timer_wheel_probe.hpp"

namespace asx {
namespace {

using probe = detail::timer_wheel_probe;
using spot = probe::spot;

constexpr instant at_us(std::uint64_t us) {
  return {us * 1'000};
}
constexpr instant at_ms(std::uint64_t ms) {
  return {ms * 1'000'000};
}
constexpr instant after(duration d) {
  return instant{} + d;
}

timer_handle must_register(timer_wheel& wheel, instant deadline, std::uint64_t name = 0) {
  timer_handle handle;
  EXPECT_EQ(wheel.register_timer(deadline, {name, 7}, handle), status::ok);
  EXPECT_TRUE(wheel.is_live(handle));
  return handle;
}

// The names of what fires, in order.
std::vector<std::uint64_t> collect(timer_wheel& wheel, instant now, std::size_t room = 64) {
  std::vector<expired_timer> out(room);
  out.resize(wheel.collect_expired(now, out));
  wheel.check();
  std::vector<std::uint64_t> names;
  for (const expired_timer& e : out) {
    EXPECT_FALSE(wheel.is_live(e.handle));
    EXPECT_EQ(e.token.generation, 7U);
    names.push_back(e.token.record);
  }
  return names;
}

using names = std::vector<std::uint64_t>;

// ---- Where a timer waits ------------------------------------------------------------------------------------------

TEST(timer_wheel, puts_a_timer_on_the_finest_level_whose_ticks_differ_by_less_than_256) {
  struct row {
    std::uint64_t tick;
    spot where;
  };
  const std::uint64_t l1 = 256, l2 = 256 * 256, l3 = 256 * 256 * 256;
  const row table[] = {
      {0, {0, 0}},          {1, {0, 1}},
      {l1 - 1, {0, 255}},   {l1, {1, 1}},
      {l1 + 1, {1, 1}},     {l2 - 1, {1, 255}},
      {l2, {2, 1}},         {l2 + 1, {2, 1}},
      {l3 - 1, {2, 255}},   {l3, {3, 1}},
      {l3 + 1, {3, 1}},     {2 * l3, {3, 2}},
      {2 * l3 - 1, {3, 1}}, {255 * l3 - 1, {3, 254}},
  };
  for (const row& r : table) {
    timer_wheel wheel(
        {.capacity = 4, .max_wheel_duration = detail::max_wheel_range, .max_timer_duration = duration::days(60)});
    const timer_handle h = must_register(wheel, at_ms(r.tick), r.tick);
    EXPECT_EQ(probe::where(wheel, h), r.where) << "tick " << r.tick;
    wheel.check();
    if (r.tick > 0) {
      EXPECT_EQ(collect(wheel, {at_ms(r.tick).ns - 1}), names{}) << "tick " << r.tick;
    }
    EXPECT_EQ(collect(wheel, at_ms(r.tick)), names{r.tick}) << "tick " << r.tick;
  }
}

TEST(timer_wheel, compares_ticks_and_not_durations_when_it_chooses_a_level) {  // R-78's example
  timer_wheel wheel({.capacity = 4, .start = at_us(5'900)});
  const timer_handle h = must_register(wheel, at_us(261'800), 1);  // 255.9 ms away, 256 ticks away
  EXPECT_EQ(probe::where(wheel, h).level, 1U);
  EXPECT_EQ(collect(wheel, at_ms(6)), names{});
  EXPECT_EQ(collect(wheel, {at_us(261'800).ns - 1}), names{});
  EXPECT_EQ(collect(wheel, at_us(261'800)), names{1});
}

TEST(timer_wheel, places_by_ticks_from_any_moment_of_a_turn) {  // over starts and distances
  for (const std::uint64_t start : {0ULL, 1ULL, 255ULL, 256ULL, 65'535ULL, 65'536ULL, 16'777'215ULL, 123'456'789ULL}) {
    for (const std::uint64_t base : {256ULL, 65'536ULL, 16'777'216ULL}) {
      for (std::uint64_t off = 0; off < 3; ++off) {
        const std::uint64_t tick = start + base - 1 + off;
        timer_wheel wheel({.capacity = 2, .start = at_ms(start)});
        const timer_handle h = must_register(wheel, at_ms(tick), 9);
        std::uint32_t finest = 0;
        while ((tick >> 8 * finest) - (start >> 8 * finest) >= 256) ++finest;
        EXPECT_EQ(probe::where(wheel, h), (spot{finest, static_cast<std::uint32_t>(tick >> 8 * finest & 255U)}));
        EXPECT_EQ(collect(wheel, {at_ms(tick).ns - 1}), names{});
        EXPECT_EQ(collect(wheel, at_ms(tick)), names{9});
      }
    }
  }
}

TEST(timer_wheel, moves_a_timer_down_level_by_level_and_fires_it_on_time) {  // 70 s passes L2, L1, L0
  timer_wheel wheel({.capacity = 4});
  const timer_handle h = must_register(wheel, at_ms(70'000), 1);
  EXPECT_EQ(probe::where(wheel, h).level, 2U);
  EXPECT_EQ(collect(wheel, at_ms(65'535)), names{});
  EXPECT_EQ(probe::where(wheel, h).level, 2U);
  EXPECT_EQ(collect(wheel, at_ms(65'536)), names{});
  EXPECT_EQ(probe::where(wheel, h).level, 1U);
  EXPECT_EQ(collect(wheel, at_ms(69'887)), names{});
  EXPECT_EQ(probe::where(wheel, h).level, 1U);
  EXPECT_EQ(collect(wheel, at_ms(69'888)), names{});  // 273 x 256
  EXPECT_EQ(probe::where(wheel, h).level, 0U);
  EXPECT_EQ(collect(wheel, at_ms(69'999)), names{});
  EXPECT_EQ(collect(wheel, at_ms(70'000)), names{1});
}

TEST(timer_wheel, sends_a_day_and_more_to_the_overflow_heap_and_refuses_more_than_a_week) {  // R-82, INV-TM-04
  timer_wheel wheel({.capacity = 8});
  const instant day = after(duration::hours(24));
  const instant week = after(duration::days(7));
  EXPECT_EQ(probe::where(wheel, must_register(wheel, {day.ns - 1}, 1)).level, 3U);
  EXPECT_EQ(probe::where(wheel, must_register(wheel, day, 2)).level, probe::in_overflow);
  EXPECT_EQ(probe::where(wheel, must_register(wheel, week, 3)).level, probe::in_overflow);
  timer_handle untouched{11, 22};
  EXPECT_EQ(wheel.register_timer({week.ns + 1}, {}, untouched), status::timer_duration_exceeded);
  EXPECT_EQ(wheel.try_register({week.ns + 1}, {}, untouched), status::timer_duration_exceeded);
  EXPECT_EQ(untouched, (timer_handle{11, 22}));
  EXPECT_EQ(wheel.live(), 3U);
  EXPECT_EQ(collect(wheel, {day.ns - 1}), names{1});
  EXPECT_EQ(collect(wheel, day), names{2});
  EXPECT_EQ(collect(wheel, {week.ns - 1}), names{});
  EXPECT_EQ(collect(wheel, week), names{3});
}

TEST(timer_wheel, refuses_a_deadline_of_none_whatever_is_configured) {
  for (const duration longest : {duration::days(7), duration::max()}) {
    timer_wheel wheel({.capacity = 2, .max_timer_duration = longest});
    timer_handle h;
    EXPECT_EQ(wheel.register_timer(instant::none(), {}, h), status::timer_duration_exceeded);
    EXPECT_EQ(wheel.live(), 0U);
  }
}

TEST(timer_wheel, pulls_an_overflow_timer_in_once_it_is_less_than_a_day_away) {  // tm-overflow-001, R-82
  timer_wheel wheel({.capacity = 4});
  const timer_handle h = must_register(wheel, after(duration::hours(30)), 1);
  wheel.advance(after(duration::hours(6)));
  EXPECT_EQ(probe::where(wheel, h).level, probe::in_overflow);  // Exactly 24 h away.
  wheel.advance({after(duration::hours(6)).ns + 1});
  EXPECT_LE(probe::where(wheel, h).level, 3U);
  EXPECT_EQ(collect(wheel, after(duration::hours(30))), names{1});
}

TEST(timer_wheel, refuses_a_wheel_that_four_levels_cannot_hold) {
  wheel_config config;
  EXPECT_EQ(timer_wheel::validate(config), status::ok);
  config.max_wheel_duration = duration::milliseconds(255ULL * 256 * 256 * 256);
  EXPECT_EQ(timer_wheel::validate(config), status::ok);
  config.max_wheel_duration.ns += 1;
  EXPECT_EQ(timer_wheel::validate(config), status::invalid_argument);
  config.max_wheel_duration = duration::milliseconds((1ULL << 32) + 1);
  EXPECT_EQ(timer_wheel::validate(config), status::invalid_argument);
  timer_wheel wheel(config);
  EXPECT_FALSE(wheel.ready());
}

TEST(timer_wheel, works_without_any_levels_when_the_wheel_has_no_length) {  // the heap holds what no level can
  timer_wheel wheel({.capacity = 4, .max_wheel_duration = {}});
  must_register(wheel, at_us(5'300), 1);
  must_register(wheel, at_us(5'200), 2);
  must_register(wheel, {}, 3);
  EXPECT_EQ(collect(wheel, at_ms(5)), names{3});
  EXPECT_EQ(collect(wheel, at_ms(6)), (names{2, 1}));
}

// ---- When it fires, and in which order ----------------------------------------------------------------------------

TEST(timer_wheel, fires_at_the_deadline_to_the_nanosecond) {  // INV-TM-08, tm-insert-fire-001
  timer_wheel wheel({.capacity = 4});
  must_register(wheel, {5'300'001}, 1);
  EXPECT_EQ(collect(wheel, {5'300'000}), names{});
  EXPECT_EQ(collect(wheel, {5'300'001}), names{1});
  EXPECT_EQ(collect(wheel, at_ms(9)), names{});
}

TEST(timer_wheel, has_a_past_deadline_ready_at_the_next_collect) {  // tm-immediate-001, R-93
  timer_wheel wheel({.capacity = 4, .start = at_ms(100)});
  must_register(wheel, at_ms(100), 1);
  must_register(wheel, at_ms(3), 2);
  must_register(wheel, {}, 3);
  EXPECT_EQ(wheel.next_deadline(), instant{});
  EXPECT_EQ(collect(wheel, at_ms(100)), (names{3, 2, 1}));
}

TEST(timer_wheel, orders_by_exact_deadline_within_a_tick) {
  timer_wheel wheel({.capacity = 4});
  must_register(wheel, at_us(5'900), 1);
  must_register(wheel, at_us(5'100), 2);
  EXPECT_EQ(collect(wheel, at_ms(7)), (names{2, 1}));
}

TEST(timer_wheel, keeps_registration_order_of_equal_deadlines_across_every_path) {  // INV-TM-03, R-81
  // The same moment, reached from overflow, from each level, and directly: the older one is always first.
  const instant deadline = after(duration::hours(48));
  timer_wheel wheel({.capacity = 16});
  std::uint64_t name = 0;
  const auto add_at = [&](duration before) {
    wheel.advance({deadline.ns - before.ns});
    return probe::where(wheel, must_register(wheel, deadline, name++)).level;
  };
  EXPECT_EQ(add_at(duration::hours(48)), probe::in_overflow);
  EXPECT_EQ(add_at(duration::hours(23)), 3U);
  EXPECT_EQ(add_at(duration::hours(1)), 2U);
  EXPECT_EQ(add_at(duration::seconds(30)), 1U);
  EXPECT_EQ(add_at(duration::milliseconds(100)), 0U);
  EXPECT_EQ(add_at(duration{}), 0U);
  EXPECT_EQ(collect(wheel, deadline, 2), (names{0, 1}));
  must_register(wheel, deadline, name++);  // Behind those that found no room.
  EXPECT_EQ(collect(wheel, deadline, 2), (names{2, 3}));
  EXPECT_EQ(collect(wheel, deadline), (names{4, 5, 6}));
}

TEST(timer_wheel, puts_an_older_overflow_timer_before_a_younger_one_of_the_wheel) {  // R-81's first example
  timer_wheel wheel({.capacity = 4});
  const instant deadline = after(duration::hours(25));
  must_register(wheel, deadline, 1);
  wheel.advance(after(duration::hours(2)));
  must_register(wheel, deadline, 2);
  EXPECT_EQ(collect(wheel, deadline), (names{1, 2}));
}

TEST(timer_wheel, sorts_thousands_of_one_tick) {  // R-81, beyond what the small sort holds
  for (const std::uint32_t count : {2U, 511U, 512U, 513U, 5'000U}) {
    timer_wheel wheel({.capacity = count});
    splitmix64 random(count);
    for (std::uint32_t i = 0; i < count; ++i) must_register(wheel, {7'000'000 + random.next_below(2'000)}, i);
    wheel.advance(at_ms(8));
    std::vector<expired_timer> out(count);
    std::size_t got = 0;
    while (got < count) {
      const std::size_t more =
          wheel.collect_expired(at_ms(8), std::span(out).subspan(got, std::min<std::size_t>(100, count - got)));
      ASSERT_GT(more, 0U);
      got += more;
      wheel.check();
    }
    for (std::uint32_t i = 1; i < count; ++i) {
      const auto key = [&](std::uint32_t k) { return std::pair(out[k].deadline, out[k].token.record); };
      EXPECT_LT(key(i - 1), key(i));
    }
  }
}

TEST(timer_wheel, hands_out_the_rest_at_the_next_call_without_what_was_cancelled_meanwhile) {
  timer_wheel wheel({.capacity = 8});
  std::vector<timer_handle> h;
  for (std::uint64_t i = 0; i < 5; ++i) h.push_back(must_register(wheel, at_us(5'000 + i), i));
  EXPECT_EQ(collect(wheel, at_ms(10), 2), (names{0, 1}));
  EXPECT_EQ(wheel.live(), 3U);
  EXPECT_TRUE(wheel.is_live(h[2]));
  EXPECT_EQ(collect(wheel, at_ms(10), 2), (names{2, 3}));
  EXPECT_EQ(collect(wheel, at_ms(10), 2), names{4});

  for (std::uint64_t i = 0; i < 5; ++i) h[i] = must_register(wheel, at_us(15'000 + i), i);
  EXPECT_EQ(collect(wheel, at_ms(20), 2), (names{0, 1}));
  EXPECT_TRUE(wheel.cancel(h[3]));
  EXPECT_EQ(collect(wheel, at_ms(20), 2), (names{2, 4}));
}

TEST(timer_wheel, merges_late_timers_with_those_that_wait_for_room) {  // the rest is merged by R-81's key
  timer_wheel wheel({.capacity = 16});
  for (std::uint64_t i = 0; i < 4; ++i) must_register(wheel, at_us(5'000 + 10 * i), i);
  must_register(wheel, at_ms(9), 9);
  EXPECT_EQ(collect(wheel, at_ms(10), 1), names{0});
  must_register(wheel, at_us(5'015), 100);
  must_register(wheel, at_ms(1), 101);
  must_register(wheel, at_ms(7), 102);
  EXPECT_EQ(wheel.next_deadline(), at_ms(1));
  EXPECT_EQ(collect(wheel, at_ms(10), 3), (names{101, 1, 100}));
  EXPECT_EQ(collect(wheel, at_ms(10)), (names{2, 3, 102, 9}));
}

TEST(timer_wheel, counts_an_earlier_moment_as_the_present_one) {  // time never goes back
  timer_wheel wheel({.capacity = 4});
  must_register(wheel, at_ms(50), 1);
  EXPECT_EQ(collect(wheel, at_ms(40)), names{});
  EXPECT_EQ(collect(wheel, at_ms(30)), names{});
  EXPECT_EQ(wheel.now(), at_ms(40));
  must_register(wheel, at_ms(35), 2);
  EXPECT_EQ(collect(wheel, {}), names{2});
  EXPECT_EQ(collect(wheel, at_ms(50)), names{1});
}

TEST(timer_wheel, moves_only_the_time_when_there_is_no_room) {  // max_wakers 0
  timer_wheel wheel({.capacity = 4});
  must_register(wheel, at_ms(5), 1);
  EXPECT_EQ(wheel.collect_expired(at_ms(9), {}), 0U);
  EXPECT_EQ(wheel.now(), at_ms(9));
  EXPECT_EQ(wheel.live(), 1U);
  EXPECT_EQ(collect(wheel, at_ms(9)), names{1});
}

TEST(timer_wheel, fires_everything_that_a_jump_passed) {  // tm-skip-001
  timer_wheel wheel({.capacity = 16});
  names expected;
  for (std::uint64_t i = 0; i < 9; ++i) {
    must_register(wheel, at_ms(std::uint64_t{3} << 3 * i), i);
    expected.push_back(i);
  }
  EXPECT_EQ(collect(wheel, after(duration::days(365))), expected);
}

TEST(timer_wheel, walks_over_a_year_of_empty_time_in_no_steps_and_over_a_sparse_one_in_few) {
  timer_wheel empty({.capacity = 4});
  empty.advance(after(duration::days(365)));
  EXPECT_EQ(probe::slot_visits(empty), 0U);

  timer_wheel sparse({.capacity = 4, .max_timer_duration = duration::days(400)});
  must_register(sparse, after(duration::days(365)), 1);
  must_register(sparse, after(duration::days(100)), 2);
  must_register(sparse, at_ms(5), 3);
  EXPECT_EQ(collect(sparse, after(duration::days(366))), (names{3, 2, 1}));
  EXPECT_LE(probe::slot_visits(sparse), 4U * 3U);  // A timer is looked at once a level at most.
}

TEST(timer_wheel, never_walks_past_a_timer_that_waits_far_behind_the_present) {
  // The cursor stays at the first uncollected timer while the time goes on for longer than the wheel spans.
  timer_wheel wheel({.capacity = 4, .max_timer_duration = duration::days(400)});
  must_register(wheel, at_ms(5), 1);
  wheel.advance(after(duration::days(300)));
  must_register(wheel, after(duration::days(300)) + duration::seconds(1), 3);
  must_register(wheel, after(duration::days(200)), 2);
  wheel.check();
  EXPECT_EQ(wheel.next_deadline(), at_ms(5));
  EXPECT_EQ(collect(wheel, after(duration::days(300)), 1), names{1});
  EXPECT_EQ(collect(wheel, after(duration::days(300))), names{2});
  EXPECT_EQ(wheel.next_deadline(), after(duration::days(300)) + duration::seconds(1));
  EXPECT_EQ(collect(wheel, after(duration::days(301))), names{3});
}

TEST(timer_wheel, tells_the_exact_next_deadline) {  // R-91, timer-next-deadline-same-tick-012
  timer_wheel wheel({.capacity = 8, .start = at_ms(5)});
  EXPECT_TRUE(wheel.next_deadline().is_none());
  const timer_handle far = must_register(wheel, after(duration::days(2)), 1);
  EXPECT_EQ(wheel.next_deadline(), after(duration::days(2)));
  must_register(wheel, at_us(5'700), 2);
  const timer_handle first = must_register(wheel, at_us(5'300), 3);
  EXPECT_EQ(wheel.next_deadline(), at_us(5'300));
  EXPECT_TRUE(wheel.cancel(first));
  EXPECT_EQ(wheel.next_deadline(), at_us(5'700));
  EXPECT_EQ(collect(wheel, at_us(5'700)), names{2});
  EXPECT_EQ(wheel.next_deadline(), after(duration::days(2)));
  EXPECT_TRUE(wheel.cancel(far));
  EXPECT_TRUE(wheel.next_deadline().is_none());
}

TEST(timer_wheel, counts_what_waits_for_room_in_the_next_deadline) {  // ready included
  timer_wheel wheel({.capacity = 8});
  const timer_handle a = must_register(wheel, at_us(5'100), 1);
  const timer_handle b = must_register(wheel, at_us(5'200), 2);
  must_register(wheel, at_us(5'300), 3);
  EXPECT_EQ(collect(wheel, at_ms(9), 1), names{1});
  EXPECT_FALSE(wheel.is_live(a));
  EXPECT_EQ(wheel.next_deadline(), at_us(5'200));
  EXPECT_TRUE(wheel.cancel(b));
  EXPECT_EQ(wheel.next_deadline(), at_us(5'300));
}

// ---- Coalescing ---------------------------------------------------------------------------------------------------

names coalesced(std::uint32_t min_group, instant now) {
  timer_wheel wheel({.capacity = 8, .coalesce_window = duration::milliseconds(10), .coalesce_min_group = min_group});
  for (const std::uint64_t ms : {11ULL, 14ULL, 19ULL, 21ULL}) must_register(wheel, at_ms(ms), ms);
  return collect(wheel, now);
}

TEST(timer_wheel, fires_a_group_together_at_the_end_of_its_window) {  // R-90, tm-coalesce-001
  EXPECT_EQ(coalesced(3, at_ms(11)), (names{11, 14, 19}));
  EXPECT_EQ(coalesced(4, at_ms(11)), names{11});
  EXPECT_EQ(coalesced(3, at_ms(10)), names{});
  EXPECT_EQ(coalesced(4, at_ms(21)), (names{11ULL, 14ULL, 19ULL, 21ULL}));
}

TEST(timer_wheel, coalesces_nothing_unless_told_to) {  // U-29, INV-TM-08
  timer_wheel wheel({.capacity = 8});
  for (const std::uint64_t ms : {11ULL, 14ULL, 19ULL, 21ULL}) must_register(wheel, at_ms(ms), ms);
  EXPECT_EQ(collect(wheel, at_ms(11)), names{11});
}

TEST(timer_wheel, hands_out_the_rest_of_a_group_before_its_time) {
  timer_wheel wheel({.capacity = 8, .coalesce_window = duration::milliseconds(10), .coalesce_min_group = 3});
  std::vector<timer_handle> h;
  for (const std::uint64_t ms : {11ULL, 14ULL, 19ULL, 21ULL}) h.push_back(must_register(wheel, at_ms(ms), ms));
  EXPECT_EQ(collect(wheel, at_ms(11), 1), names{11});
  EXPECT_EQ(wheel.next_deadline(), at_ms(14));  // Promoted timers count.
  must_register(wheel, at_ms(13), 13);          // Not of the group: it came later, and alone is no group.
  EXPECT_EQ(wheel.next_deadline(), at_ms(13));
  EXPECT_TRUE(wheel.cancel(h[1]));
  EXPECT_EQ(collect(wheel, at_ms(12)), names{19});
  EXPECT_EQ(collect(wheel, at_ms(13)), names{13});
  EXPECT_EQ(collect(wheel, at_ms(21)), names{21});
}

TEST(timer_wheel, forms_no_group_when_only_the_time_is_moved) {  // max_wakers 0 advances only
  timer_wheel wheel({.capacity = 8, .coalesce_window = duration::milliseconds(10), .coalesce_min_group = 2});
  const timer_handle h = must_register(wheel, at_ms(11), 11);
  must_register(wheel, at_ms(14), 14);
  wheel.advance(at_ms(11));
  EXPECT_TRUE(wheel.cancel(h));
  EXPECT_EQ(collect(wheel, at_ms(11)), names{});
  EXPECT_EQ(collect(wheel, at_ms(14)), names{14});
}

TEST(timer_wheel, gathers_a_group_from_every_level_and_the_overflow) {  // R-90 with a window of two days
  timer_wheel wheel({.capacity = 8, .coalesce_window = duration::hours(48), .coalesce_min_group = 5});
  names expected;
  for (const std::uint64_t ms : {1ULL, 1'000ULL, 100'000ULL, 50'000'000ULL, 90'000'000ULL}) {
    must_register(wheel, at_ms(ms), ms);
    expected.push_back(ms);
  }
  EXPECT_EQ(collect(wheel, at_ms(1)), expected);
  must_register(wheel, at_ms(5), 5);
  must_register(wheel, after(duration::hours(1)), 6);
  EXPECT_EQ(collect(wheel, at_ms(4)), names{});
  EXPECT_EQ(collect(wheel, at_ms(5)), names{5});
  EXPECT_EQ(collect(wheel, after(duration::hours(1))), names{6});
}

}  // namespace
}  // namespace asx
