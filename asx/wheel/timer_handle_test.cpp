// Handles, ids, limits and memory: what a refusal leaves behind, and that an old handle never reaches a new timer.
#include "asx/wheel/timer_handle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/wheel/detail/timer_wheel_probe.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx {
namespace {

constexpr instant at_ms(std::uint64_t ms) {
  return {ms * 1'000'000};
}
constexpr std::uint64_t last = UINT64_MAX;

timer_handle must_register(timer_wheel& wheel, instant deadline = at_ms(100), std::uint64_t name = 0) {
  timer_handle handle;
  EXPECT_EQ(wheel.register_timer(deadline, {name, 7}, handle), status::ok);
  wheel.check();
  return handle;
}

std::vector<std::uint64_t> collect(timer_wheel& wheel, instant now, std::size_t room = 64) {
  std::vector<expired_timer> out(room);
  out.resize(wheel.collect_expired(now, out));
  wheel.check();
  std::vector<std::uint64_t> names;
  for (const expired_timer& e : out) names.push_back(e.token.record);
  return names;
}

using names = std::vector<std::uint64_t>;

// Counts requests, and refuses the k-th.
struct counting_memory {
  int requests = 0;
  int refuse = 0;  // 0: none.
  std::size_t held = 0;

  memory_port port() {
    return {this,
            [](void* c, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto& self = *static_cast<counting_memory*>(c);
              if (++self.requests == self.refuse) return nullptr;
              self.held += bytes;
              const memory_port heap = heap_memory();
              return heap.allocate(heap.context, bytes, alignment);
            },
            [](void* c, void* block, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<counting_memory*>(c)->held -= bytes;
              const memory_port heap = heap_memory();
              heap.release(heap.context, block, bytes, alignment);
            }};
  }
};

// ---- Handles ------------------------------------------------------------------------------------------------------

TEST(timer_handle, is_a_pair_that_survives_a_round_trip) {
  static_assert(sizeof(timer_handle) == 16);
  EXPECT_TRUE(timer_handle{}.is_null());
  timer_wheel wheel({.capacity = 2});
  const timer_handle h = must_register(wheel);
  EXPECT_FALSE(h.is_null());
  const timer_handle copy{h.id, h.generation};
  EXPECT_EQ(copy, h);
  EXPECT_TRUE(wheel.cancel(copy));
}

TEST(timer_handle, cancels_only_with_both_numbers) {  // INV-TM-01, tm-cancel-001, tm-cancel-stale-001
  timer_wheel wheel({.capacity = 4});
  const timer_handle h = must_register(wheel);
  EXPECT_FALSE(wheel.cancel({}));
  EXPECT_FALSE(wheel.cancel({h.id, 0}));
  EXPECT_FALSE(wheel.cancel({0, h.generation}));
  EXPECT_FALSE(wheel.cancel({h.id + 1, h.generation}));
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_FALSE(wheel.cancel({h.id, h.generation ^ std::uint64_t{1} << bit})) << "generation bit " << bit;
    EXPECT_FALSE(wheel.cancel({h.id ^ std::uint64_t{1} << bit, h.generation})) << "id bit " << bit;
  }
  EXPECT_EQ(wheel.live(), 1U);
  EXPECT_TRUE(wheel.cancel(h));
  EXPECT_FALSE(wheel.cancel(h));
  EXPECT_EQ(collect(wheel, at_ms(200)), names{});
}

TEST(timer_handle, of_nothing_finds_nothing_in_a_fresh_wheel) {
  timer_wheel wheel({.capacity = 4});
  for (const timer_handle h :
       {timer_handle{}, timer_handle{0, 1}, timer_handle{1, 0}, timer_handle{1, 1}, timer_handle{last, last}}) {
    EXPECT_FALSE(wheel.is_live(h));
    EXPECT_FALSE(wheel.cancel(h));
  }
}

TEST(timer_handle, is_stale_once_its_timer_fired) {  // tm-cancel-003
  timer_wheel wheel({.capacity = 4});
  const timer_handle h = must_register(wheel);
  EXPECT_EQ(collect(wheel, at_ms(100)), names{0});
  EXPECT_FALSE(wheel.is_live(h));
  EXPECT_FALSE(wheel.cancel(h));
}

TEST(timer_handle, that_is_stale_never_touches_a_timer_in_the_same_node) {  // tm-cancel-002, INV-TM-01
  timer_wheel wheel({.capacity = 1});
  std::vector<timer_handle> stale;
  for (int round = 0; round < 50; ++round) {
    const timer_handle h = must_register(wheel);
    for (const timer_handle s : stale) {
      EXPECT_FALSE(wheel.cancel(s));
      EXPECT_FALSE(wheel.is_live(s));
    }
    EXPECT_TRUE(wheel.is_live(h));
    EXPECT_TRUE(wheel.cancel(h));
    stale.push_back(h);
  }
}

// ---- Ids ----------------------------------------------------------------------------------------------------------

TEST(timer_handle, ids_and_generations_start_where_they_are_told_to) {
  timer_wheel fresh({.capacity = 4});
  EXPECT_EQ(must_register(fresh), (timer_handle{1, 1}));
  timer_wheel late({.capacity = 4, .first_id = last, .first_generation = last});
  EXPECT_EQ(must_register(late), (timer_handle{last, last}));
}

TEST(timer_handle, ids_wrap_past_zero_and_skip_a_live_one) {  // R-83's test, INV-TM-06, tm-wrap-001
  timer_wheel wheel({.capacity = 8});
  const timer_handle one = must_register(wheel, at_ms(1), 1);
  EXPECT_EQ(one.id, 1U);
  wheel.set_next_id(last);
  const timer_handle a = must_register(wheel, at_ms(2), 2);
  const timer_handle b = must_register(wheel, at_ms(3), 3);
  EXPECT_EQ(a.id, last);
  EXPECT_EQ(b.id, 2U);
  EXPECT_TRUE(wheel.cancel(a));
  EXPECT_TRUE(wheel.is_live(one) && wheel.is_live(b));
  EXPECT_TRUE(wheel.cancel(one));
  EXPECT_TRUE(wheel.is_live(b));
  EXPECT_TRUE(wheel.cancel(b));
}

TEST(timer_handle, generations_wrap_without_confusion) {  // tm-generation-wrap-001, INV-TM-06
  timer_wheel wheel({.capacity = 4, .first_id = last - 2, .first_generation = last - 2});
  std::vector<timer_handle> seen;
  for (int i = 0; i < 20; ++i) {
    const timer_handle h = must_register(wheel);
    EXPECT_NE(h.id, 0U);
    EXPECT_NE(h.generation, 0U);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), h), 0);
    seen.push_back(h);
    EXPECT_TRUE(wheel.cancel(h));
    for (const timer_handle s : seen) EXPECT_FALSE(wheel.is_live(s));
  }
}

TEST(timer_handle, two_timers_that_share_an_id_do_not_affect_each_other) {  // tm-cancel-reuse-001
  timer_wheel wheel({.capacity = 4});
  const timer_handle old = must_register(wheel);
  EXPECT_TRUE(wheel.cancel(old));
  wheel.set_next_id(old.id);
  const timer_handle reused = must_register(wheel);
  EXPECT_EQ(reused.id, old.id);
  EXPECT_NE(reused.generation, old.generation);
  EXPECT_FALSE(wheel.cancel(old));
  EXPECT_TRUE(wheel.cancel(reused));
}

TEST(timer_handle, a_counter_set_back_skips_a_long_run_of_live_ids) {  // R-83, beyond one look's window
  timer_wheel wheel({.capacity = 10'000});
  std::vector<timer_handle> live(9'990);
  for (timer_handle& h : live) ASSERT_EQ(wheel.register_timer(at_ms(5), {}, h), status::ok);
  EXPECT_TRUE(wheel.cancel(live[4'999]));
  wheel.set_next_id(1);
  EXPECT_EQ(must_register(wheel).id, 5'000U);
  EXPECT_EQ(must_register(wheel).id, 9'991U);
  wheel.check();
}

// ---- Update -------------------------------------------------------------------------------------------------------

TEST(timer_update, ends_the_old_handle_and_gives_a_new_one) {  // tm-update-001
  timer_wheel wheel({.capacity = 4});
  const timer_handle old = must_register(wheel, at_ms(10), 1);
  timer_handle fresh;
  EXPECT_EQ(wheel.update(old, at_ms(20), {2, 7}, fresh), status::ok);
  EXPECT_FALSE(wheel.is_live(old));
  EXPECT_TRUE(wheel.is_live(fresh));
  EXPECT_NE(fresh.id, old.id);
  EXPECT_EQ(wheel.live(), 1U);
  EXPECT_EQ(collect(wheel, at_ms(10)), names{});
  EXPECT_EQ(collect(wheel, at_ms(20)), names{2});
}

TEST(timer_update, that_is_refused_leaves_the_old_timer_to_fire) {  // R-85's test
  timer_wheel wheel({.capacity = 4});
  const timer_handle old = must_register(wheel, at_ms(10), 1);
  timer_handle out{5, 6};
  EXPECT_EQ(wheel.update(old, instant{} + duration::days(7) + duration{1}, {2, 7}, out),
            status::timer_duration_exceeded);
  EXPECT_EQ(wheel.update(old, instant::none(), {2, 7}, out), status::timer_duration_exceeded);
  EXPECT_EQ(out, (timer_handle{5, 6}));
  EXPECT_TRUE(wheel.is_live(old));
  EXPECT_EQ(collect(wheel, at_ms(10)), names{1});
}

TEST(timer_update, works_in_a_full_wheel_with_a_live_handle_only) {
  timer_wheel wheel({.capacity = 2});
  const timer_handle a = must_register(wheel, at_ms(10), 1);
  const timer_handle b = must_register(wheel, at_ms(10), 2);
  timer_handle fresh;
  EXPECT_EQ(wheel.update(a, at_ms(30), {3, 7}, fresh), status::ok);
  timer_handle refused{5, 6};
  EXPECT_EQ(wheel.update(a, at_ms(30), {4, 7}, refused), status::resource_exhausted);  // Stale: a plain registration.
  EXPECT_EQ(refused, (timer_handle{5, 6}));
  EXPECT_TRUE(wheel.is_live(b) && wheel.is_live(fresh));
  EXPECT_TRUE(wheel.cancel(b));
  EXPECT_EQ(wheel.update(a, at_ms(30), {4, 7}, refused), status::ok);
  EXPECT_EQ(collect(wheel, at_ms(30)), (names{3, 4}));
}

TEST(timer_update, measures_from_the_present_and_frees_the_old_id) {
  timer_wheel wheel({.capacity = 2});
  timer_handle h = must_register(wheel, at_ms(10), 1);
  wheel.advance(at_ms(5));
  EXPECT_EQ(wheel.update(h, at_ms(5) + duration::days(7), {2, 7}, h), status::ok);
  wheel.set_next_id(h.id);
  timer_handle same_id;
  EXPECT_EQ(wheel.update(h, at_ms(30), {3, 7}, same_id), status::ok);
  EXPECT_EQ(same_id.id, h.id);
  EXPECT_NE(same_id.generation, h.generation);
  EXPECT_FALSE(wheel.is_live(h));
}

TEST(timer_update, puts_the_timer_behind_those_of_the_same_deadline) {  // a new insertion_seq
  timer_wheel wheel({.capacity = 4});
  timer_handle a = must_register(wheel, at_ms(10), 1);
  must_register(wheel, at_ms(10), 2);
  EXPECT_EQ(wheel.update(a, at_ms(10), {1, 7}, a), status::ok);
  EXPECT_EQ(collect(wheel, at_ms(10)), (names{2, 1}));
}

// ---- Limits and memory --------------------------------------------------------------------------------------------

TEST(timer_limits, count_live_timers_only) {  // R-86's test
  timer_wheel wheel({.capacity = 4});
  std::array<timer_handle, 4> h;
  for (timer_handle& t : h) t = must_register(wheel);
  for (int round = 0; round < 40; ++round) {
    timer_handle& t = h[static_cast<std::size_t>(round % 4)];
    EXPECT_TRUE(wheel.cancel(t));
    t = must_register(wheel);
  }
  EXPECT_EQ(h[3].id, 44U);
  timer_handle fifth;
  EXPECT_EQ(wheel.register_timer(at_ms(9), {}, fifth), status::resource_exhausted);
  EXPECT_EQ(wheel.register_timer(instant::none(), {}, fifth),
            status::timer_duration_exceeded);  // Duration comes first.
  EXPECT_TRUE(fifth.is_null());
  EXPECT_TRUE(wheel.cancel(h[0]));
  EXPECT_EQ(must_register(wheel).id, 45U);  // The refusals used up no id.
}

TEST(timer_limits, refuse_cleanly_at_every_capacity) {  // tm-exhaustion-001, FB-101
  for (std::uint32_t capacity = 0; capacity < 200; ++capacity) {
    timer_wheel wheel({.capacity = capacity});
    ASSERT_TRUE(wheel.ready());
    for (std::uint32_t i = 0; i < capacity; ++i) {
      timer_handle h;
      ASSERT_EQ(wheel.register_timer(at_ms((i * 7919ULL) % 300), {i, 7}, h), status::ok);
    }
    timer_handle h;
    EXPECT_EQ(wheel.register_timer(at_ms(1), {}, h), status::resource_exhausted);
    EXPECT_EQ(wheel.live(), capacity);
    wheel.check();
    EXPECT_EQ(collect(wheel, at_ms(300), 256).size(), capacity);
  }
}

TEST(timer_limits, no_spread_of_timers_runs_out_of_slots_chunks) {
  // One timer in each of as many slots as there are, then all in one, then all in the overflow heap, then ready.
  constexpr std::uint32_t capacity = 2'000;
  timer_wheel wheel(
      {.capacity = capacity, .max_wheel_duration = detail::max_wheel_range, .max_timer_duration = duration::days(90)});
  const auto fill = [&](auto&& deadline_of) {
    for (std::uint32_t i = 0; i < capacity; ++i) {
      timer_handle h;
      ASSERT_EQ(wheel.register_timer(deadline_of(i), {i, 7}, h), status::ok);
    }
    wheel.check();
  };
  fill([](std::uint32_t i) { return at_ms(std::uint64_t{i % 254 + 1} << 8 * (i / 254 % 4)); });
  wheel.cancel_all();
  wheel.check();
  fill([](std::uint32_t) { return at_ms(70'000); });
  wheel.advance(at_ms(69'990));
  wheel.check();
  wheel.cancel_all();
  fill([](std::uint32_t i) { return instant{} + duration::days(60) + duration{i % 7}; });
  EXPECT_EQ(collect(wheel, instant{} + duration::days(61), 1), names{0});
  wheel.check();
  wheel.cancel_all();
  wheel.check();
  EXPECT_EQ(wheel.live(), 0U);
  EXPECT_TRUE(wheel.next_deadline().is_none());
}

TEST(timer_limits, refused_memory_makes_a_wheel_that_refuses) {  // U-36, at every request
  counting_memory plain;
  {
    timer_wheel wheel({.capacity = 100}, plain.port());
    EXPECT_TRUE(wheel.ready());
    EXPECT_EQ(plain.held, wheel.bytes());
  }
  EXPECT_EQ(plain.held, 0U);
  for (int k = 1; k <= plain.requests; ++k) {
    counting_memory memory{.refuse = k};
    {
      timer_wheel wheel({.capacity = 100}, memory.port());
      EXPECT_FALSE(wheel.ready());
      EXPECT_EQ(wheel.bytes(), 0U);
      timer_handle h;
      EXPECT_EQ(wheel.register_timer(at_ms(1), {}, h), status::resource_exhausted);
      EXPECT_EQ(wheel.update(h, at_ms(1), {}, h), status::resource_exhausted);
      EXPECT_FALSE(wheel.cancel({1, 1}));
      EXPECT_EQ(collect(wheel, at_ms(5)), names{});
      EXPECT_TRUE(wheel.next_deadline().is_none());
      wheel.cancel_all();
      wheel.check();
    }
    EXPECT_EQ(memory.held, 0U);
  }
}

TEST(timer_limits, nothing_is_allocated_after_construction) {
  counting_memory memory;
  timer_wheel wheel({.capacity = 500}, memory.port());
  const int before = memory.requests;
  splitmix64 random(3);
  std::vector<timer_handle> handles(500);
  for (int step = 0; step < 20'000; ++step) {
    timer_handle& h = handles[random.next_below(handles.size())];
    EXPECT_EQ(wheel.update(h, wheel.now() + duration{random.next_below(1ULL << random.next_below(49))}, {}, h),
              status::ok);
    if (step % 64 == 0) collect(wheel, wheel.now() + duration{random.next_below(1ULL << 44)}, 16);
  }
  EXPECT_EQ(memory.requests, before);
}

TEST(timer_limits, a_wheel_lives_in_memory_that_the_caller_hands_over) {
  alignas(128) static std::array<std::byte, 1U << 20> block;
  bump_memory memory(block);
  {
    timer_wheel wheel({.capacity = 8'192}, memory.port());
    ASSERT_TRUE(wheel.ready());
    EXPECT_EQ(memory.used(), wheel.bytes());
    must_register(wheel, at_ms(5), 1);
    EXPECT_EQ(collect(wheel, at_ms(5)), names{1});
  }
  EXPECT_EQ(memory.used(), 0U);
  timer_wheel too_large({.capacity = 1U << 20}, memory.port());
  EXPECT_FALSE(too_large.ready());
}

TEST(timer_limits, a_timer_takes_at_most_64_bytes_all_in) {
  timer_wheel million({.capacity = 1'000'000});
  EXPECT_LE(million.bytes(), 64'000'000U);
  timer_wheel core({.capacity = 65'536});
  EXPECT_LE(core.bytes() / 65'536, 66U);
}

// Goal:   holes that cancelled timers leave in their slots never cost a registration its room, nor a cascade.
// Method: fill one slot, cancel all but one of each run of sixteen, and fill the next slot, until every chunk of cells
// was
//         begun and the timers that are left lie as far apart as they can; then let time walk over them.
TEST(timer_limits, scattered_timers_are_moved_together_when_room_runs_out) {
  for (const std::uint32_t capacity : {1U, 17U, 64U, 1'000U, 5'000U}) {
    timer_wheel wheel({.capacity = capacity});
    std::vector<std::pair<instant, timer_handle>> kept;
    for (std::uint64_t slot = 1; kept.size() < capacity && slot < 100; ++slot) {
      std::vector<std::pair<instant, timer_handle>> fresh;
      while (wheel.live() < capacity) {
        const instant deadline = at_ms(slot * 65'536 + fresh.size() * 7'919 % 65'536);
        fresh.emplace_back(deadline, timer_handle{});
        ASSERT_EQ(wheel.register_timer(deadline, {}, fresh.back().second), status::ok);
      }
      wheel.check();
      for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (i % (slot == 1 ? 2 : 16) == 0) {
          kept.push_back(fresh[i]);
        } else {
          ASSERT_TRUE(wheel.cancel(fresh[i].second));
        }
      }
      wheel.check();
    }
    std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.id < b.second.id;  // Ids count registrations.
    });
    std::size_t seen = 0;
    std::array<expired_timer, 64> out;
    for (std::uint64_t ms = 0; ms <= std::uint64_t{101} * 65'536; ms += 10'000) {
      for (std::size_t got = out.size(); got == out.size();) {
        got = wheel.collect_expired(at_ms(ms), out);
        for (std::size_t i = 0; i < got; ++i, ++seen) ASSERT_EQ(out[i].handle, kept[seen].second);
      }
      wheel.check();
    }
    EXPECT_EQ(seen, kept.size());
    EXPECT_EQ(wheel.live(), 0U);
  }
}

// Goal:   the ready timers and the far ones share one array, and neither writes over the other.
// Method: a full wheel is left ready for want of room; cancel most of them, which leaves gaps in their run, and fill
// the
//         wheel with far timers; both must come out, whole and in order.
TEST(timer_limits, far_timers_take_the_room_of_cancelled_ready_ones) {
  constexpr std::uint32_t capacity = 1'500;
  timer_wheel wheel({.capacity = capacity});
  std::vector<timer_handle> handles(capacity);
  for (std::uint32_t i = 0; i < capacity; ++i) {
    ASSERT_EQ(wheel.register_timer(at_ms(5), {i, 0}, handles[i]), status::ok);
  }
  EXPECT_EQ(collect(wheel, at_ms(5), 1), names{0});
  names left;
  for (std::uint32_t i = 1; i < capacity; ++i) {
    if (i % 10 != 9) {
      ASSERT_TRUE(wheel.cancel(handles[i]));
    } else {
      left.push_back(i);
    }
  }
  for (std::uint64_t name = capacity; wheel.live() < capacity; ++name) {
    timer_handle h;
    ASSERT_EQ(wheel.register_timer(at_ms(5) + duration::hours(30) + duration{name}, {name, 0}, h), status::ok);
    left.push_back(name);
  }
  wheel.check();
  EXPECT_EQ(collect(wheel, at_ms(6) + duration::hours(31), capacity), left);
  EXPECT_EQ(wheel.live(), 0U);
}

TEST(timer_limits, cancel_all_reaches_everything_everywhere) {  // INV-TM-05
  timer_wheel wheel({.capacity = 16});
  std::vector<timer_handle> h;
  for (const std::uint64_t ms : {1ULL, 2ULL, 300ULL, 70'000ULL, 20'000'000ULL, 90'000'000ULL}) {
    h.push_back(must_register(wheel, at_ms(ms), ms));
  }
  EXPECT_EQ(collect(wheel, at_ms(2), 1), names{1});
  wheel.cancel_all();
  wheel.check();
  EXPECT_EQ(wheel.live(), 0U);
  for (const timer_handle t : h) EXPECT_FALSE(wheel.cancel(t));
  EXPECT_EQ(collect(wheel, instant{} + duration::days(9)), names{});
  must_register(wheel, wheel.now(), 5);
  EXPECT_EQ(collect(wheel, wheel.now()), names{5});
}

// ---- Against a sorted list ----------------------------------------------------------------------------------------

// Goal:   every call answers as a sorted list would (R-94's oracle), whatever came before it.
// Method: seeded scripts over all operations, with capacities, horizons and rooms that meet every limit.
TEST(timer_wheel_model, agrees_with_a_sorted_list) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    splitmix64 random(seed);
    wheel_config config;
    config.capacity = static_cast<std::uint32_t>(1 + random.next_below(seed % 3 == 0 ? 1'000 : 12));
    if (seed % 2 == 0) config.max_wheel_duration = duration{random.next_below(1ULL << random.next_below(46))};
    config.start = instant{random.next_below(1ULL << random.next_below(60))};
    timer_wheel wheel(config);
    std::map<std::pair<instant, std::uint64_t>, timer_handle> model;
    std::uint64_t seq = 0;
    instant now = config.start;
    const std::uint64_t widest = 18 + random.next_below(30);
    std::vector<expired_timer> out(1'000);
    for (int step = 0; step < 400; ++step) {
      const instant deadline = now + duration{random.next_below(1ULL << random.next_below(widest))};
      const auto pick = [&] {
        return std::next(model.begin(), static_cast<std::ptrdiff_t>(random.next_below(model.size())));
      };
      switch (random.next_below(5)) {
        case 0:
        case 1: {
          timer_handle h;
          const status got = wheel.register_timer(deadline, {seq, 7}, h);
          ASSERT_EQ(got, model.size() == config.capacity ? status::resource_exhausted : status::ok);
          if (got == status::ok) model[{deadline, seq++}] = h;
          break;
        }
        case 2:
          if (model.empty()) break;
          {
            const auto victim = pick();
            ASSERT_TRUE(wheel.cancel(victim->second));
            ASSERT_FALSE(wheel.cancel(victim->second));
            model.erase(victim);
          }
          break;
        case 3:
          if (model.empty()) break;
          {
            const auto old = pick();
            timer_handle h;
            ASSERT_EQ(wheel.update(old->second, deadline, {seq, 7}, h), status::ok);
            model.erase(old);
            model[{deadline, seq++}] = h;
          }
          break;
        case 4: {
          const instant to = now + duration{random.next_below(1ULL << random.next_below(widest + 1))};
          now = later(now, to);
          const std::size_t room = random.next_below(2) == 0 ? out.size() : random.next_below(5);
          const std::size_t got = wheel.collect_expired(to, std::span(out).first(room));
          for (std::size_t i = 0; i < got; ++i) {
            ASSERT_FALSE(model.empty());
            ASSERT_EQ(out[i].handle, model.begin()->second);
            ASSERT_EQ(out[i].deadline, model.begin()->first.first);
            ASSERT_LE(out[i].deadline, now);
            model.erase(model.begin());
          }
          ASSERT_TRUE(got == room || model.empty() || model.begin()->first.first > now);
          break;
        }
      }
      ASSERT_EQ(wheel.live(), model.size());
      ASSERT_EQ(wheel.next_deadline(), model.empty() ? instant::none() : model.begin()->first.first);
      wheel.check();
    }
  }
}

}  // namespace
}  // namespace asx
