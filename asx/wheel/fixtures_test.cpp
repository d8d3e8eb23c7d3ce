// asx/wheel/fixtures_test.cpp - the catalogue's timer fixtures, each shown on the wheel alone.
//
// One test for each id; ids that the catalogue calls aliases run the same scenario. The expectations are the
// rulings'. tm-budget-001 is not here: it needs a task whose budget runs out, and the wheel knows no task.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace {

using asx::duration;
using asx::expired_timer;
using asx::instant;
using asx::status;
using asx::timer_handle;
using asx::timer_wheel;
using asx::wheel_config;

using records = std::vector<std::uint64_t>;

constexpr std::uint64_t last_number = UINT64_MAX;

constexpr duration us(std::uint64_t n) {
  return duration::microseconds(n);
}
constexpr duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}
constexpr instant at(duration since_start) {
  return {since_start.ns};
}
constexpr instant just_before(instant t) {
  return {t.ns - 1};
}
constexpr instant just_after(instant t) {
  return {t.ns + 1};
}

timer_handle add(timer_wheel& wheel, instant deadline, std::uint64_t record) {
  timer_handle handle;
  EXPECT_EQ(wheel.register_timer(deadline, {record, ~record}, handle), status::ok) << "timer " << record;
  EXPECT_TRUE(wheel.is_live(handle));
  EXPECT_FALSE(handle.is_null());
  return handle;
}

std::vector<expired_timer> collect_all(timer_wheel& wheel, instant now, std::size_t room) {
  std::vector<expired_timer> batch(room);
  batch.resize(wheel.collect_expired(now, batch));
  wheel.check();
  return batch;
}

// The records of what fires, in order.
records collect(timer_wheel& wheel, instant now, std::size_t room = 1024) {
  records fired;
  for (const expired_timer& timer : collect_all(wheel, now, room)) {
    EXPECT_EQ(timer.token.generation, ~timer.token.record) << "a token comes back as it was given";
    EXPECT_FALSE(wheel.is_live(timer.handle)) << "a timer that fired is over";
    fired.push_back(timer.token.record);
  }
  return fired;
}

wheel_config with_capacity(std::uint32_t capacity) {
  wheel_config config;
  config.capacity = capacity;
  return config;
}

wheel_config with_window(duration window, std::uint32_t group) {
  wheel_config config;
  config.coalesce_window = window;
  config.coalesce_min_group = group;
  return config;
}

wheel_config starting(instant start) {
  wheel_config config;
  config.start = start;
  return config;
}

// ---- Scenarios that several ids share ----

// INV-TM-01: both numbers must match. The old handle is tried while its id is unused, and while it is used again.
void stale_cancel_harms_nobody() {
  timer_wheel wheel{wheel_config{}};
  const timer_handle old = add(wheel, at(ms(5)), 1);
  ASSERT_TRUE(wheel.cancel(old));
  EXPECT_FALSE(wheel.cancel(old));

  const timer_handle fresh = add(wheel, at(ms(5)), 2);
  EXPECT_FALSE(wheel.cancel(old));
  EXPECT_FALSE(wheel.cancel({fresh.id, old.generation}));
  EXPECT_FALSE(wheel.cancel({fresh.id, fresh.generation + 1}));
  EXPECT_FALSE(wheel.cancel({fresh.id, fresh.generation - 1}));
  EXPECT_FALSE(wheel.cancel({fresh.id + 1, fresh.generation}));
  EXPECT_FALSE(wheel.cancel({}));

  wheel.set_next_id(old.id);
  const timer_handle heir = add(wheel, at(ms(6)), 3);
  ASSERT_EQ(heir.id, old.id);
  EXPECT_FALSE(wheel.cancel(old));
  EXPECT_FALSE(wheel.is_live(old));
  EXPECT_EQ(wheel.live(), 2U);
  EXPECT_TRUE(wheel.is_live(fresh));
  EXPECT_TRUE(wheel.cancel(heir));
  EXPECT_EQ(collect(wheel, at(ms(10))), (records{2}));
}

// R-81, INV-TM-03: by deadline in nanoseconds, then by insertion, whatever road an entry took to its slot.
void equal_deadlines_fire_in_order_of_insertion() {
  timer_wheel wheel{wheel_config{}};
  const instant far = at(duration::hours(30));
  add(wheel, far, 1);  // Waits in the overflow heap,
  EXPECT_EQ(collect(wheel, at(duration::hours(29))), records{});
  add(wheel, far, 2);  // high up in the wheel,
  EXPECT_EQ(collect(wheel, just_before(far)), records{});
  add(wheel, far, 3);  // and low.
  EXPECT_EQ(collect(wheel, far), (records{1, 2, 3}));

  const instant base = far + duration::hours(1);
  for (std::uint64_t i = 0; i < 100; ++i) add(wheel, base, i);
  records expected;
  for (std::uint64_t i = 0; i < 100; ++i) expected.push_back(i);
  EXPECT_EQ(collect(wheel, base + ms(1)), expected);

  const instant later_base = base + ms(10);
  add(wheel, later_base + us(5900), 1);  // One tick, two deadlines: the exact one decides.
  add(wheel, later_base + us(5100), 2);
  add(wheel, base, 3);  // Already past: its own deadline decides, not the time it was registered at.
  EXPECT_EQ(collect(wheel, later_base + ms(7)), (records{3, 2, 1}));
}

// the heap holds what is 24 h ahead and more; nothing about it shows but that it fires on time.
void overflow_comes_back_in_time() {
  timer_wheel wheel{wheel_config{}};
  const std::array<instant, 4> deadlines = {at(duration{duration::hours(24).ns - 1}), at(duration::hours(24)),
                                            at(duration::hours(100)), at(duration::days(7))};
  for (std::size_t i = 0; i < deadlines.size(); ++i) add(wheel, deadlines[i], i);
  const timer_handle dead = add(wheel, at(duration::hours(99)), 99);
  timer_handle none;
  EXPECT_EQ(wheel.register_timer(just_after(at(duration::days(7))), {}, none), status::timer_duration_exceeded);
  EXPECT_TRUE(wheel.cancel(dead));  // INV-TM-07: a dead one goes no further.

  for (std::size_t i = 0; i < deadlines.size(); ++i) {
    EXPECT_EQ(wheel.next_deadline(), deadlines[i]);
    for (instant t = wheel.now() + duration::hours(7); t < deadlines[i]; t = t + duration::hours(7)) {
      EXPECT_EQ(collect(wheel, t), records{});
    }
    EXPECT_EQ(collect(wheel, just_before(deadlines[i])), records{});
    EXPECT_EQ(collect(wheel, deadlines[i]), (records{i}));
  }
  EXPECT_EQ(wheel.live(), 0U);
}

// ids wrap past 0 and past what is live, generations wrap too, and every timer stays its own.
void counters_wrap_without_collision() {
  wheel_config config;
  config.first_generation = last_number - 1;
  timer_wheel wheel(config);
  const timer_handle first = add(wheel, at(ms(1)), 1);
  EXPECT_EQ(first.id, 1U);
  wheel.set_next_id(last_number);
  const timer_handle second = add(wheel, at(ms(2)), 2);
  const timer_handle third = add(wheel, at(ms(3)), 3);
  const timer_handle fourth = add(wheel, at(ms(4)), 4);
  EXPECT_EQ(second.id, last_number);
  EXPECT_EQ(third.id, 2U);
  EXPECT_EQ(fourth.id, 3U);
  EXPECT_TRUE(wheel.cancel(first));
  EXPECT_TRUE(wheel.is_live(second));
  EXPECT_TRUE(wheel.cancel(third));
  EXPECT_TRUE(wheel.is_live(fourth));
  EXPECT_TRUE(wheel.cancel(second));
  EXPECT_EQ(collect(wheel, at(ms(5))), (records{4}));

  config.first_id = last_number;
  config.first_generation = last_number;
  timer_wheel wrapping(config);
  std::array<timer_handle, 4> handles;
  for (std::uint64_t i = 0; i < 4; ++i) handles[i] = add(wrapping, at(ms(1)), i);
  EXPECT_EQ(handles[0].id, last_number);
  for (std::uint64_t i = 1; i < 4; ++i) EXPECT_EQ(handles[i].id, i);
  EXPECT_EQ(collect(wrapping, at(ms(1))), (records{0, 1, 2, 3}));
}

// R-90 with its numbers: window 10 ms, deadlines at 11, 14, 19 and 21 ms.
void window_of_four(std::uint32_t group, const records& at_eleven, const records& at_twenty_five) {
  timer_wheel wheel(with_window(ms(10), group));
  for (const std::uint64_t d : {11U, 14U, 19U, 21U}) add(wheel, at(ms(d)), d);
  EXPECT_EQ(collect(wheel, at(ms(10))), records{});
  EXPECT_EQ(collect(wheel, at(ms(11))), at_eleven);
  EXPECT_EQ(collect(wheel, at(ms(25))), at_twenty_five);
}

void coalescing_fires_a_window_together() {
  window_of_four(3, {11, 14, 19}, {21});
  window_of_four(4, {11}, {14, 19, 21});

  timer_wheel on_boundary(with_window(ms(10), 2));  // A boundary is the end of its own window: nobody is taken along.
  add(on_boundary, at(ms(20)), 1);
  add(on_boundary, at(ms(20) + duration{1}), 2);
  EXPECT_EQ(collect(on_boundary, at(ms(20))), (records{1}));

  timer_wheel inclusive(with_window(ms(10), 2));
  add(inclusive, at(ms(15)), 1);
  add(inclusive, at(ms(20)), 2);
  add(inclusive, at(ms(20) + duration{1}), 3);
  EXPECT_EQ(collect(inclusive, at(ms(14))), records{}) << "a window opens with a timer that is due";
  EXPECT_EQ(collect(inclusive, at(ms(15))), (records{1, 2}));

  // what is left of a group comes out at the next call, counts in next_deadline, and can be cancelled.
  timer_wheel narrow(with_window(ms(10), 3));
  add(narrow, at(ms(11)), 11);
  add(narrow, at(ms(12)), 12);
  const timer_handle quitter = add(narrow, at(ms(17)), 17);
  add(narrow, at(ms(19)), 19);
  EXPECT_EQ(collect(narrow, at(ms(11)), 1), (records{11}));
  EXPECT_EQ(narrow.live(), 3U);
  EXPECT_EQ(narrow.next_deadline(), at(ms(12)));
  EXPECT_TRUE(narrow.cancel(quitter));
  EXPECT_EQ(collect(narrow, at(ms(11)), 1), (records{12}));
  EXPECT_EQ(narrow.next_deadline(), at(ms(19)));
  EXPECT_EQ(collect(narrow, at(ms(11)), 1), (records{19}));
  EXPECT_EQ(narrow.next_deadline(), instant::none());

  timer_wheel no_room(with_window(ms(10), 3));  // room for none only advances; it promises nobody a place.
  add(no_room, at(ms(11)), 11);
  const timer_handle third = add(no_room, at(ms(14)), 14);
  add(no_room, at(ms(19)), 19);
  EXPECT_EQ(collect(no_room, at(ms(11)), 0), records{});
  EXPECT_TRUE(no_room.cancel(third));
  EXPECT_EQ(collect(no_room, at(ms(11))), (records{11}));
}

// ---- The fixtures ----

// tm-insert-fire-001. INV-TM-08: due at the deadline itself, not a nanosecond before, and once.
TEST(timer_fixtures, tm_insert_fire_001) {
  RecordProperty("fixture", "tm-insert-fire-001");
  timer_wheel wheel{wheel_config{}};
  ASSERT_TRUE(wheel.ready());
  const timer_handle handle = add(wheel, at(ms(10)), 7);
  EXPECT_EQ(wheel.live(), 1U);
  EXPECT_EQ(collect(wheel, just_before(at(ms(10)))), records{});
  const std::vector<expired_timer> batch = collect_all(wheel, at(ms(10)), 8);
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].handle, handle);
  EXPECT_EQ(batch[0].deadline, at(ms(10)));
  EXPECT_EQ(batch[0].token.record, 7U);
  EXPECT_EQ(wheel.live(), 0U);
  EXPECT_EQ(collect(wheel, at(ms(20))), records{});
}

// tm-cancel-001. R-92: the second cancel is false.
TEST(timer_fixtures, tm_cancel_001) {
  RecordProperty("fixture", "tm-cancel-001");
  timer_wheel wheel{wheel_config{}};
  const timer_handle handle = add(wheel, at(ms(10)), 1);
  add(wheel, at(ms(10)), 2);
  EXPECT_TRUE(wheel.cancel(handle));
  EXPECT_FALSE(wheel.cancel(handle));
  EXPECT_FALSE(wheel.is_live(handle));
  EXPECT_EQ(wheel.live(), 1U);
  EXPECT_EQ(collect(wheel, at(ms(20))), (records{2}));
}

// tm-cancel-002
TEST(timer_fixtures, tm_cancel_002) {
  RecordProperty("fixture", "tm-cancel-002");
  stale_cancel_harms_nobody();
}

// tm-cancel-003
TEST(timer_fixtures, tm_cancel_003) {
  RecordProperty("fixture", "tm-cancel-003");
  timer_wheel wheel{wheel_config{}};
  const timer_handle handle = add(wheel, at(ms(1)), 1);
  EXPECT_EQ(collect(wheel, at(ms(1))), (records{1}));
  EXPECT_FALSE(wheel.cancel(handle));
  EXPECT_FALSE(wheel.is_live(handle));
  EXPECT_EQ(wheel.live(), 0U);
}

// tm-tiebreak-001
TEST(timer_fixtures, tm_tiebreak_001) {
  RecordProperty("fixture", "tm-tiebreak-001");
  equal_deadlines_fire_in_order_of_insertion();
}

// tm-cascade-001.: at every edge of a level a timer fires at its deadline and not before.
TEST(timer_fixtures, tm_cascade_001) {
  RecordProperty("fixture", "tm-cascade-001");
  for (const instant start : {at({}), at(us(5900)), at(ms(255)), at(ms(65'535) + us(999)), at(ms(16'777'215))}) {
    for (unsigned level = 0; level < 4; ++level) {
      const instant edge = start + ms(std::uint64_t{1} << (8 * level + 8));
      for (const instant deadline :
           {instant{edge.ns - ms(1).ns}, just_before(edge), edge, just_after(edge), edge + ms(1)}) {
        wheel_config config = starting(start);
        config.max_timer_duration = duration::days(60);
        config.max_wheel_duration = ms(std::uint64_t{255} << 24);
        timer_wheel wheel(config);
        add(wheel, deadline, 1);
        EXPECT_EQ(collect(wheel, start + duration{(deadline - start).ns / 2}), records{});
        EXPECT_EQ(collect(wheel, just_before(deadline)), records{}) << "start " << start.ns << " level " << level;
        EXPECT_EQ(collect(wheel, deadline), (records{1})) << "start " << start.ns << " level " << level;
      }
    }
  }

  timer_wheel ticks_not_durations(starting(at(us(5900))));  // 255.9 ms ahead, but 256 ticks.
  add(ticks_not_durations, at(us(261'800)), 1);
  EXPECT_EQ(collect(ticks_not_durations, at(ms(6))), records{});
  EXPECT_EQ(collect(ticks_not_durations, at(us(261'799))), records{});
  EXPECT_EQ(collect(ticks_not_durations, at(us(261'800))), (records{1}));

  timer_wheel step_by_step{wheel_config{}};  // 70 s, down through every level, one tick at a time.
  add(step_by_step, at(ms(70'000)), 1);
  std::array<expired_timer, 4> batch{};
  for (std::uint64_t t = 1; t < 70'000; ++t) ASSERT_EQ(step_by_step.collect_expired(at(ms(t)), batch), 0U) << t;
  EXPECT_EQ(collect(step_by_step, at(ms(70'000))), (records{1}));
}

// tm-overflow-001
TEST(timer_fixtures, tm_overflow_001) {
  RecordProperty("fixture", "tm-overflow-001");
  overflow_comes_back_in_time();
}

// tm-skip-001. One jump over everything; a jump over nothing; a jump back, which counts as none.
TEST(timer_fixtures, tm_skip_001) {
  RecordProperty("fixture", "tm-skip-001");
  timer_wheel wheel{wheel_config{}};
  const std::array<duration, 9> far = {
      duration{1},      ms(1), ms(255), ms(256), ms(65'536), duration::hours(4), duration::hours(24), duration::days(3),
      duration::days(7)};
  for (std::size_t i = far.size(); i-- > 0;) add(wheel, at(far[i]), i);
  EXPECT_EQ(collect(wheel, at(duration::days(100))), (records{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(collect(wheel, at(duration::days(10'000))), records{});
  EXPECT_EQ(wheel.now(), at(duration::days(10'000)));
  add(wheel, wheel.now() + ms(3), 1);
  EXPECT_EQ(collect(wheel, at({})), records{});
  EXPECT_EQ(wheel.now(), at(duration::days(10'000)));
  EXPECT_EQ(collect(wheel, wheel.now() + ms(3)), (records{1}));
}

// tm-update-001..
TEST(timer_fixtures, tm_update_001) {
  RecordProperty("fixture", "tm-update-001");
  timer_wheel wheel(with_capacity(2));
  const timer_handle old = add(wheel, at(ms(10)), 1);
  add(wheel, at(ms(20)), 2);
  timer_handle fresh;
  ASSERT_EQ(wheel.update(old, at(ms(20)), {3, ~std::uint64_t{3}}, fresh), status::ok)
      << "a live timer makes its own room";
  EXPECT_FALSE(wheel.is_live(old));
  EXPECT_TRUE(wheel.is_live(fresh));
  EXPECT_NE(fresh, old);
  EXPECT_EQ(fresh.id, 3U);
  EXPECT_EQ(wheel.live(), 2U);
  EXPECT_FALSE(wheel.cancel(old));

  timer_handle refused;
  EXPECT_EQ(wheel.update(fresh, just_after(at(duration::days(7))), {9, 9}, refused), status::timer_duration_exceeded);
  EXPECT_TRUE(wheel.is_live(fresh)) << "a refused update leaves the old timer alone";
  EXPECT_TRUE(refused.is_null());
  EXPECT_EQ(wheel.update(old, at(ms(30)), {9, 9}, refused), status::resource_exhausted)
      << "a stale handle makes no room";
  EXPECT_EQ(collect(wheel, at(ms(10))), records{}) << "the old deadline is gone";
  EXPECT_EQ(collect(wheel, at(ms(20))), (records{2, 3})) << "an update is a new insertion, behind its equals";

  // A stale handle counts as a new registration; the duration is measured from the wheel's time.
  timer_handle again;
  ASSERT_EQ(wheel.update(old, at(ms(20) + duration::days(7)), {4, ~std::uint64_t{4}}, again), status::ok);
  EXPECT_EQ(again.id, 4U) << "refusals use up no id";
  wheel.set_next_id(again.id);  // The old id is free by the time that the new one is taken.
  timer_handle same_id;
  ASSERT_EQ(wheel.update(again, at(ms(40)), {5, ~std::uint64_t{5}}, same_id), status::ok);
  EXPECT_EQ(same_id.id, again.id);
  EXPECT_NE(same_id.generation, again.generation);
  EXPECT_FALSE(wheel.is_live(again));
  EXPECT_EQ(collect(wheel, at(duration::days(8))), (records{5}));
}

// tm-exhaustion-001. R-86: live timers count, dead ones do not; a refusal changes nothing and uses up no id.
TEST(timer_fixtures, tm_exhaustion_001) {
  RecordProperty("fixture", "tm-exhaustion-001");
  timer_wheel wheel(with_capacity(4));
  std::vector<timer_handle> live;
  for (std::uint64_t i = 1; i <= 4; ++i) live.push_back(add(wheel, at(ms(i)), i));
  timer_handle refused;
  EXPECT_EQ(wheel.register_timer(at(ms(1)), {}, refused), status::resource_exhausted);
  EXPECT_EQ(wheel.try_register(at(ms(1)), {}, refused), status::resource_exhausted);
  EXPECT_EQ(wheel.register_timer(at(duration::days(8)), {}, refused), status::timer_duration_exceeded)
      << "the duration is checked first";
  EXPECT_TRUE(refused.is_null());
  EXPECT_EQ(wheel.live(), 4U);
  EXPECT_EQ(wheel.next_deadline(), at(ms(1)));
  for (std::uint64_t round = 0; round < 40; ++round) {
    timer_handle& victim = live[round % live.size()];
    ASSERT_TRUE(wheel.cancel(victim));
    victim = add(wheel, at(duration::hours(round)), 100 + round);
    EXPECT_EQ(victim.id, 5 + round);
    EXPECT_EQ(wheel.register_timer(at(ms(1)), {}, refused), status::resource_exhausted);
    wheel.check();
  }
  EXPECT_EQ(collect(wheel, at(duration::hours(40))), (records{136, 137, 138, 139}));
}

// tm-duration-exceeded-001.: 7 d is accepted, a nanosecond more is not, and none never is.
TEST(timer_fixtures, tm_duration_exceeded_001) {
  RecordProperty("fixture", "tm-duration-exceeded-001");
  for (const instant start : {at({}), at(us(1234)), instant{last_number - duration::days(8).ns}}) {
    timer_wheel wheel(starting(start));
    const instant limit = start + duration::days(7);
    timer_handle refused;
    for (const instant too_far : {just_after(limit), limit + ms(1), instant::none()}) {
      EXPECT_EQ(wheel.register_timer(too_far, {}, refused), status::timer_duration_exceeded);
      EXPECT_EQ(wheel.try_register(too_far, {}, refused), status::timer_duration_exceeded);
    }
    EXPECT_TRUE(refused.is_null());
    EXPECT_EQ(wheel.live(), 0U);
    EXPECT_EQ(wheel.next_deadline(), instant::none());
    EXPECT_EQ(add(wheel, limit, 1).id, 1U);
    EXPECT_EQ(collect(wheel, just_before(limit)), records{});
    EXPECT_EQ(collect(wheel, limit), (records{1}));
  }

  wheel_config config;
  config.max_timer_duration = duration::max();
  timer_wheel endless(config);
  timer_handle refused;
  EXPECT_EQ(endless.register_timer(instant::none(), {}, refused), status::timer_duration_exceeded);
  add(endless, just_before(instant::none()), 1);
  EXPECT_EQ(collect(endless, just_before(instant::none())), (records{1}));
}

// tm-generation-wrap-001
TEST(timer_fixtures, tm_generation_wrap_001) {
  RecordProperty("fixture", "tm-generation-wrap-001");
  counters_wrap_without_collision();
}

// tm-same-deadline-001
TEST(timer_fixtures, tm_same_deadline_001) {
  RecordProperty("fixture", "tm-same-deadline-001");
  equal_deadlines_fire_in_order_of_insertion();
}

// tm-cancel-stale-001
TEST(timer_fixtures, tm_cancel_stale_001) {
  RecordProperty("fixture", "tm-cancel-stale-001");
  stale_cancel_harms_nobody();
}

// tm-cancel-reuse-001. R-83: the hook gives one id to many timers, one after another.
TEST(timer_fixtures, tm_cancel_reuse_001) {
  RecordProperty("fixture", "tm-cancel-reuse-001");
  timer_wheel wheel{wheel_config{}};
  std::vector<timer_handle> former;
  for (std::uint64_t round = 0; round < 300; ++round) {
    wheel.set_next_id(42);
    const timer_handle handle = add(wheel, at(ms(10)), round);
    ASSERT_EQ(handle.id, 42U);
    for (const timer_handle old : former) {
      ASSERT_NE(handle, old);
      ASSERT_FALSE(wheel.cancel(old));
    }
    ASSERT_TRUE(wheel.is_live(handle));
    ASSERT_TRUE(wheel.cancel(handle));
    former.push_back(handle);
  }
  wheel.set_next_id(42);
  add(wheel, at(ms(10)), 1);
  wheel.set_next_id(42);
  EXPECT_EQ(add(wheel, at(ms(10)), 2).id, 43U) << "a live id is skipped";
  EXPECT_EQ(collect(wheel, at(ms(10))), (records{1, 2}));
}

// tm-coalesce-001
TEST(timer_fixtures, tm_coalesce_001) {
  RecordProperty("fixture", "tm-coalesce-001");
  coalescing_fires_a_window_together();
}

// tm-wrap-001
TEST(timer_fixtures, tm_wrap_001) {
  RecordProperty("fixture", "tm-wrap-001");
  counters_wrap_without_collision();
}

// tm-purge-001. INV-TM-05: seen from outside, a wheel whose last timer is cancelled is as good as new.
TEST(timer_fixtures, tm_purge_001) {
  RecordProperty("fixture", "tm-purge-001");
  constexpr std::uint32_t capacity = 32;
  timer_wheel wheel(with_capacity(capacity));
  std::size_t bytes_when_full = 0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    std::array<timer_handle, capacity> handles;
    for (std::uint64_t i = 0; i < capacity; ++i) {
      handles[i] = add(wheel, wheel.now() + duration::hours(i * 5) + ms(i * i), i);
    }
    if (round == 0) bytes_when_full = wheel.bytes();
    EXPECT_EQ(wheel.bytes(), bytes_when_full) << "nothing is kept of the dead";
    for (const timer_handle handle : handles) EXPECT_TRUE(wheel.cancel(handle));
    if (round % 2 == 0) wheel.purge();
    wheel.check();
    EXPECT_EQ(wheel.live(), 0U);
    EXPECT_EQ(wheel.next_deadline(), instant::none());
    EXPECT_EQ(collect(wheel, wheel.now() + duration::hours(20)), records{});
  }
  add(wheel, wheel.now() + ms(1), 1);
  wheel.purge();  // What lives is not storage to be purged.
  EXPECT_EQ(collect(wheel, wheel.now() + ms(1)), (records{1}));
}

// tm-immediate-001. R-93: a deadline below the present is due, and nothing underflows.
TEST(timer_fixtures, tm_immediate_001) {
  RecordProperty("fixture", "tm-immediate-001");
  timer_wheel wheel(starting(at(us(5900))));
  add(wheel, at(us(5900)), 1);
  add(wheel, at({}), 2);
  add(wheel, at(us(5899)), 3);
  EXPECT_EQ(wheel.live(), 3U);
  EXPECT_EQ(wheel.next_deadline(), at({}));
  EXPECT_EQ(collect(wheel, at(us(5900))), (records{2, 3, 1})) << "the time need not move";
}

// timer-equal-deadline-order-010
TEST(timer_fixtures, timer_equal_deadline_order_010) {
  RecordProperty("fixture", "timer-equal-deadline-order-010");
  equal_deadlines_fire_in_order_of_insertion();
}

// timer-cancel-generation-011
TEST(timer_fixtures, timer_cancel_generation_011) {
  RecordProperty("fixture", "timer-cancel-generation-011");
  stale_cancel_harms_nobody();
}

// timer-next-deadline-same-tick-012. R-91: exact, over everything that is live: ready, wheel and overflow.
TEST(timer_fixtures, timer_next_deadline_same_tick_012) {
  RecordProperty("fixture", "timer-next-deadline-same-tick-012");
  timer_wheel wheel(starting(at(ms(5))));
  EXPECT_EQ(wheel.next_deadline(), instant::none());
  add(wheel, at(duration::days(6)), 1);
  EXPECT_EQ(wheel.next_deadline(), at(duration::days(6)));
  add(wheel, at(us(5700)), 2);
  const timer_handle first = add(wheel, at(us(5300)), 3);
  EXPECT_EQ(wheel.next_deadline(), at(us(5300)));
  EXPECT_TRUE(wheel.cancel(first));
  EXPECT_EQ(wheel.next_deadline(), at(us(5700)));
  const timer_handle past = add(wheel, at(ms(4)), 4);
  EXPECT_EQ(wheel.next_deadline(), at(ms(4)));
  EXPECT_TRUE(wheel.cancel(past));
  wheel.advance(at(ms(6)));
  EXPECT_EQ(wheel.next_deadline(), at(us(5700))) << "due and not collected is still live";
  EXPECT_EQ(collect(wheel, at(ms(6))), (records{2}));
  EXPECT_EQ(wheel.next_deadline(), at(duration::days(6)));
}

// timer-overflow-promotion-013
TEST(timer_fixtures, timer_overflow_promotion_013) {
  RecordProperty("fixture", "timer-overflow-promotion-013");
  overflow_comes_back_in_time();
}

// timer-coalescing-threshold-014
TEST(timer_fixtures, timer_coalescing_threshold_014) {
  RecordProperty("fixture", "timer-coalescing-threshold-014");
  coalescing_fires_a_window_together();
}

}  // namespace
