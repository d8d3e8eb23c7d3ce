// asx/sync/sync_model_test.cpp - semaphores, mutexes and notifies against deques and counters, at random.
//
// The run is steered by three variables of the environment. A failure prints the line that replays it.
//
//     ASX_MODEL_OPS    operations in all, 200,000 unless told otherwise; of one world, when that is named
//     ASX_MODEL_SEED   the seed of the run
//     ASX_MODEL_WORLD  run only this world, by its number
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "asx/base/random.hpp"
#include "asx/base/testing/replay_on_assert.hpp"
#include "asx/sync/testing/sync_world.hpp"

namespace asx::testing {
namespace {

std::optional<std::uint64_t> from_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing writes it.
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::strtoull(value, nullptr, 0);
}

constexpr std::uint64_t default_seed = 20'260'517;
constexpr std::uint64_t operations_of_a_world = 500;

// World `number` of `seed`. The digest of its journal; a difference is reported.
digest128 run_world(std::uint64_t seed, std::uint64_t number, std::uint64_t operations, sync_coverage& met) {
  std::uint64_t done = 0;
  sync_world world(splitmix64(seed ^ (number << 32)).next(), met);
  const auto line = [&] {
    return "replay: ASX_MODEL_SEED=" + std::to_string(seed) + " ASX_MODEL_WORLD=" + std::to_string(number) +
           " ASX_MODEL_OPS=" + std::to_string(done) + "\n" + world.last_operations();
  };
  const replay_on_assert running(line);
  std::string difference;
  while (done < operations && difference.empty()) {
    ++done;
    difference = world.apply();
  }
  if (difference.empty()) difference = world.finish();
  EXPECT_EQ(difference, "") << line();
  return world.digest();
}

// Every answer, wake and end that the laws speak of must have been met, or the run proves too little.
constexpr std::array wanted = {
    "acquire ok",
    "acquire would_block",
    "acquire cancelled",
    "acquire disconnected",
    "acquire invalid_argument",
    "acquire resource_exhausted",
    "masked_acquire ok",
    "masked_acquire would_block",
    "try_acquire ok",
    "try_acquire full",
    "try_acquire disconnected",
    "try_acquire invalid_argument",
    "try_acquire resource_exhausted",
    "add ok",
    "close ok",
    "move_hand ok",
    "move of a wait that waits",
    "poll_wait ok",
    "poll_wait would_block",
    "poll_wait cancelled",
    "poll_wait disconnected",
    "poll_wait resource_exhausted",
    "notify_one ok",
    "notify_one disconnected",
    "notify_all ok",
    "notify_all disconnected",
    "told and cancelled",
    "told and left",
    "wake sync",
    "wake disconnected",
    "holder ends ok",
    "holder ends err",
    "holder ends cancelled",
    "holder ends panicked",
    "holder ends from outside err",
    "holder ends from outside panicked",
    "waiter ends ok",
    "waiter ends err",
    "waiter ends cancelled",
    "waiter ends panicked",
    "obligation committed",
    "obligation aborted",
    "obligation leaked",
    "release to what is gone",
    "release of what another took",
    "taken in a region that closes",
};

// Goal:   no life of units, guards and notifications differs from the model's, whoever ends, is cancelled or closes.
// Method: seeded worlds; see sync_world.hpp.
TEST(sync_model, two_hundred_thousand_operations_agree_with_the_model) {
  const std::optional<std::uint64_t> only = from_environment("ASX_MODEL_WORLD");
  const std::optional<std::uint64_t> asked = from_environment("ASX_MODEL_OPS");
  const std::uint64_t seed = from_environment("ASX_MODEL_SEED").value_or(default_seed);
  sync_coverage met;
  if (only) {
    run_world(seed, *only, asked.value_or(operations_of_a_world), met);
    return;
  }
  const std::uint64_t operations = asked.value_or(200'000);
  for (std::uint64_t world = 0; world * operations_of_a_world < operations && !HasFailure(); ++world) {
    run_world(seed, world, operations_of_a_world, met);
  }
  if (operations < 200'000 || HasFailure()) return;
  for (const char* const what : wanted) {
    EXPECT_GE(met[what], operations / 20'000) << what << ": hardly ever met; the run proves too little";
  }
}

TEST(sync_model, the_same_seed_tells_the_same_journal) {
  for (std::uint64_t world = 0; world < 10; ++world) {
    sync_coverage met;
    const digest128 first = run_world(default_seed, world, operations_of_a_world, met);
    EXPECT_EQ(run_world(default_seed, world, operations_of_a_world, met), first) << "world " << world;
    EXPECT_NE(run_world(default_seed + 1, world, operations_of_a_world, met), first) << "world " << world;
  }
}

// ---- Limits

// A task whose polls are whatever the test says.
struct actor {
  std::function<void(cx&)> deed;
  static poll_result poll(void* self, cx& c) {
    auto& a = *static_cast<actor*>(self);
    if (a.deed) std::exchange(a.deed, nullptr)(c);
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }
};

TEST(sync_limits, one_thing_too_many_is_refused_and_changes_nothing) {
  runtime_config config;
  config.contract.max_sync = 2;
  runtime rt(config);
  semaphore s;
  notify n;
  mutex<int> m;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, s), status::ok);
  ASSERT_EQ(notify::create(rt.kernel(), rt.root(), n), status::ok);
  const std::uint64_t before = rt.kernel().state_hash();
  semaphore s2;
  notify n2;
  EXPECT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, s2), status::resource_exhausted);
  EXPECT_EQ(notify::create(rt.kernel(), rt.root(), n2), status::resource_exhausted);
  EXPECT_EQ((mutex<int>::create(rt.kernel(), rt.root(), m, "m", 7)), status::resource_exhausted);
  EXPECT_EQ(semaphore::create(rt.kernel(), rt.root(), 0, s2), status::invalid_argument);
  EXPECT_EQ(rt.kernel().state_hash(), before);
  EXPECT_EQ(s2.add(1), status::stale_handle) << "a refusal hands nothing out";
}

TEST(sync_limits, one_waiter_too_many_is_refused_and_changes_nothing) {
  runtime_config config;
  config.contract.max_channel_waiters = 1;
  std::array<actor, 2> actors;
  runtime rt(config);
  std::array<semaphore_wait, 2> waits;
  std::array<notify_wait, 2> news;
  std::array<semaphore_units, 3> units;
  semaphore s;
  notify n;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, s), status::ok);
  ASSERT_EQ(notify::create(rt.kernel(), rt.root(), n), status::ok);
  ASSERT_EQ(s.try_acquire(1, units[2]), status::ok);
  for (std::size_t i = 0; i < 2; ++i) {
    const status expected = i == 0 ? status::would_block : status::resource_exhausted;
    actors[i].deed = [&, i, expected](cx& c) {
      const std::uint64_t before = rt.kernel().state_hash();
      EXPECT_EQ(s.poll_acquire(c, waits[i], 1, units[i]), expected);
      EXPECT_EQ(n.poll_wait(c, news[i]), expected);
      EXPECT_EQ(rt.kernel().state_hash() == before, i == 1);
      EXPECT_EQ(waits[i].is_waiting(), i == 0);
      EXPECT_EQ(news[i].is_waiting(), i == 0);
    };
    task_handle t;
    ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &actors[i]}, t), status::ok);
    rt.run_until_idle();
    EXPECT_FALSE(actors[i].deed);
  }
}

TEST(sync_limits, one_obligation_too_many_is_refused_and_changes_nothing) {
  runtime_config config;
  config.contract.max_obligations = 1;
  actor a;
  runtime rt(config);
  semaphore_wait wait;
  std::array<semaphore_units, 2> units;
  semaphore s;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 3, s), status::ok);
  a.deed = [&](cx& c) {
    EXPECT_EQ(s.try_acquire(1, units[0]), status::ok);
    const std::uint64_t before = rt.kernel().state_hash();
    EXPECT_EQ(s.try_acquire(1, units[1]), status::resource_exhausted);
    EXPECT_EQ(s.poll_acquire(c, wait, 1, units[1]), status::resource_exhausted);
    EXPECT_EQ(rt.kernel().state_hash(), before);
    EXPECT_FALSE(wait.is_waiting());
  };
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &a}, t), status::ok);
  rt.run_until_idle();
  EXPECT_FALSE(a.deed);
  units[0].release();
}

// Worlds hardly ever come here: units are left, and whoever is first may not owe any more.
TEST(sync_limits, a_head_that_is_refused_an_obligation_makes_way_for_the_next) {
  runtime_config config;
  config.contract.max_obligations = 1;
  std::array<actor, 2> actors;
  std::array<task_handle, 2> tasks;
  runtime rt(config);
  std::array<semaphore_wait, 2> waits;
  std::array<semaphore_units, 3> units;
  semaphore s;
  obligation_handle other;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, s), status::ok);
  ASSERT_EQ(s.try_acquire(1, units[2]), status::ok);
  const auto asks = [&](std::size_t i, status expected) {
    actors[i].deed = [&, i, expected](cx& c) { EXPECT_EQ(s.poll_acquire(c, waits[i], 1, units[i]), expected); };
  };
  for (std::size_t i = 0; i < 2; ++i) {
    asks(i, status::would_block);
    ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &actors[i]}, tasks[i]), status::ok);
  }
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().reserve(rt.root(), other), status::ok);
  units[2].release();
  asks(0, status::resource_exhausted);
  rt.step();
  EXPECT_FALSE(waits[0].is_waiting());
  task_report second;
  ASSERT_EQ(rt.kernel().inspect(tasks[1], second), status::ok);
  EXPECT_TRUE(second.is_queued) << "it could be served, and nobody would wake it any more";
  ASSERT_EQ(rt.kernel().abort(other), status::ok);
  asks(1, status::ok);
  rt.run_until_idle();
  EXPECT_EQ(units[1].count(), 1U);
  units[1].release();
}

}  // namespace
}  // namespace asx::testing
