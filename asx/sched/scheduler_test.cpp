// The scheduler's edges: configurations, memory, pages, names. What it chooses is judged by fixtures and the model.
#include "asx/sched/scheduler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asx/base/testing.hpp"

namespace asx {
namespace {

using testing::counting_memory;

struct tasks {
  explicit tasks(std::size_t count) : all(std::make_unique<place[]>(count)) {
    for (std::size_t i = 0; i < count; ++i) all[i].rename(task_id{i + 1});
  }
  place& operator[](std::size_t i) const { return all[i]; }
  std::unique_ptr<place[]> all;
};

TEST(scheduler, refuses_a_configuration_outside_its_ranges_and_admits_nothing_then) {
  const sched_config bad[] = {{.workers = 0},
                              {.workers = 65'536},
                              {.cancel_streak_limit = 0},
                              {.cancel_streak_limit = 1U << 31},
                              {.max_places = (1U << 28) + 1}};
  for (const sched_config& config : bad) {
    EXPECT_EQ(scheduler::validate(config), status::invalid_argument);
    scheduler s(config, testing::no_memory);
    EXPECT_FALSE(s.ready());
    EXPECT_EQ(s.admit(1), status::resource_exhausted);
    EXPECT_TRUE(s.empty());
    EXPECT_EQ(s.certificate(), fairness_certificate{});
  }
  EXPECT_EQ(scheduler::validate({}), status::ok);
  EXPECT_EQ(scheduler::validate({.timed_streak_limit = 0}), status::ok);
}

// every refusal leaves it as it was, and what was admitted can always be queued.
TEST(scheduler, that_is_refused_memory_at_any_request_works_on_with_what_it_has) {
  for (std::size_t refused = 0; refused < 6; ++refused) {
    counting_memory memory;
    memory.refuse_from = refused;
    scheduler s({.workers = 2, .max_places = 100'000}, memory.port());
    if (refused == 0) {
      EXPECT_FALSE(s.ready());
      continue;
    }
    std::uint32_t admitted = 0;
    for (const std::uint32_t wish : {1U, 200U, 1'000U, 5'000U, 40'000U}) {
      if (s.admit(wish) == status::ok) admitted = wish;
    }
    tasks all(admitted);
    for (std::uint32_t i = 0; i < admitted; ++i) EXPECT_TRUE(s.push(i % 2, all[i], lane::timed, 0, {i % 17}));
    s.check();
    std::uint32_t seen = 0;
    while (s.next(seen % 2).who != nullptr) ++seen;
    while (s.next(0).who != nullptr || s.next(1).who != nullptr) ++seen;
    EXPECT_EQ(seen, admitted);
  }
}

TEST(scheduler, admits_up_to_max_places_and_not_one_more) {
  scheduler s({.max_places = 100});
  EXPECT_EQ(s.admit(100), status::ok);
  EXPECT_EQ(s.admit(101), status::resource_exhausted);
  EXPECT_EQ(s.admit(0), status::ok);
}

// The pages are few enough to be shared and many enough for every way to spread the places over the workers.
TEST(scheduler, has_pages_for_every_spread_of_its_places_and_asks_for_no_memory_when_they_move) {
  constexpr std::uint32_t workers = 5;
  constexpr std::uint32_t places = 131;
  counting_memory memory;
  scheduler s({.workers = workers, .max_places = places}, memory.port());
  ASSERT_EQ(s.admit(places), status::ok);
  const std::size_t requests = memory.requests();
  tasks all(places);
  splitmix64 random(7);
  for (int round = 0; round < 300; ++round) {
    for (std::uint32_t i = 0; i < places; ++i) {
      // All on one worker, all spread evenly, and everything between.
      const auto worker =
          static_cast<std::uint32_t>(random.next_below(1 + static_cast<std::uint64_t>(round) % workers));
      ASSERT_TRUE(s.push(worker, all[i], lane::timed, 0, {random.next_below(9)}));
    }
    s.check();
    for (std::uint32_t i = 0; i < places; ++i) ASSERT_TRUE(s.remove(all[(i * 37) % places]));
    ASSERT_TRUE(s.empty());
  }
  EXPECT_EQ(memory.requests(), requests);
}

TEST(scheduler, keeps_a_queued_place_where_it_is_when_it_is_pushed_again) {
  scheduler s({.workers = 2});
  ASSERT_EQ(s.admit(1), status::ok);
  tasks all(1);
  EXPECT_TRUE(s.push(1, all[0], lane::ready, 5));
  EXPECT_FALSE(s.push(0, all[0], lane::cancel, 200));
  EXPECT_EQ(all[0].queued_in(), lane::ready);
  EXPECT_EQ(all[0].worker(), 1U);
  EXPECT_EQ(all[0].priority(), 5);
  EXPECT_EQ(all[0].insertion_seq(), 1U);
  EXPECT_TRUE(s.remove(all[0]));
  EXPECT_FALSE(s.remove(all[0]));
}

TEST(scheduler, cancels_without_moving_what_would_not_rise) {
  scheduler s({.workers = 2});
  ASSERT_EQ(s.admit(2), status::ok);
  tasks all(2);
  s.push(0, all[0], lane::timed, 9, {5});
  EXPECT_TRUE(s.push_cancel(1, all[0], 100));
  EXPECT_EQ(all[0].worker(), 1U);
  EXPECT_TRUE(all[0].deadline().is_none());
  EXPECT_FALSE(s.push_cancel(0, all[0], 100));
  EXPECT_FALSE(s.push_cancel(0, all[0], 99));
  EXPECT_EQ(all[0].insertion_seq(), 1U);
  EXPECT_TRUE(s.push_cancel(0, all[0], 101));
  EXPECT_EQ(all[0].worker(), 1U) << "it rises where it is";
  EXPECT_EQ(all[0].insertion_seq(), 2U);
  s.check();
  s.remove(all[0]);
}

TEST(scheduler, lives_in_the_memory_that_it_is_handed) {
  alignas(64) static std::array<std::byte, 64 * 1024> block;
  bump_memory memory(block);
  scheduler s({.max_places = 256}, memory.port());
  ASSERT_TRUE(s.ready());
  ASSERT_EQ(s.admit(256), status::ok);
  tasks all(256);
  for (std::size_t i = 0; i < 256; ++i) s.push(0, all[i], lane::timed, 0, {1000 - i});
  for (std::size_t i = 256; i-- > 0;) ASSERT_EQ(s.next(0).who, &all[i]);
}

TEST(scheduler_death, a_place_that_is_queued_must_not_die_and_a_worker_must_exist) {
  EXPECT_DEATH(
      {
        scheduler s(sched_config{});
        place p;
        s.push(1, p, lane::ready, 0);
      },
      "a worker of this scheduler is meant");
}

}  // namespace
}  // namespace asx
