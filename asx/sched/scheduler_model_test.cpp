// asx/sched/scheduler_model_test.cpp - the scheduler against plain lists: small worlds whole, large ones at random.
//
// Every result, dispatch, depth, streak and certificate of the scheduler must be the model's (testing.hpp).
//
// The random run is steered by three variables of the environment. A failure prints the line that replays it.
//
//     ASX_MODEL_OPS     operations in all, a million unless told otherwise
//     ASX_MODEL_CONFIG  run only this scenario, by its place in sched_scenarios()
//     ASX_MODEL_SEED    the seed of the first episode
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/base/random.hpp"
#include "asx/base/testing/replay_on_assert.hpp"
#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/sched/scheduler.hpp"
#include "asx/sched/testing.hpp"
#include "asx/sched/testing/driver.hpp"

namespace {

using asx::governor;
using asx::instant;
using asx::lane;
using asx::sched_config;
using asx::testing::naive_scheduler;
using asx::testing::sched_call;
using asx::testing::sched_operation;
using asx::testing::sched_pair;
using asx::testing::sched_scenario;

using asx::testing::replay_line;
using asx::testing::replay_on_assert;

// What an assertion that fails in this pair adds to its words.
replay_on_assert watch(const sched_pair& pair, const replay_line& line) {
  return replay_on_assert([&pair, line] { return line.text(pair.applied()) + "\n" + pair.recent_operations(); });
}

// ---- Small worlds ----

// Tasks are not named: a push takes the first that is not queued, a cancel the first that is.
constexpr std::uint64_t first_free = 0;
constexpr std::uint64_t first_queued = UINT64_MAX;
constexpr std::uint32_t small_population = 16;

struct small_step {
  std::string_view name;
  sched_operation op;
};

constexpr small_step next_of(std::string_view name, std::uint32_t worker) {
  return {name, {.call = sched_call::next, .worker = worker}};
}
constexpr small_step push_of(std::string_view name, std::uint32_t worker, lane into, std::uint8_t priority,
                             std::uint64_t deadline = 5) {
  return {name,
          {.call = sched_call::push,
           .worker = worker,
           .task = first_free,
           .into = into,
           .priority = priority,
           .deadline = instant{deadline}}};
}
constexpr small_step cancel_of(std::string_view name, std::uint32_t worker, std::uint8_t priority) {
  return {name, {.call = sched_call::push_cancel, .worker = worker, .task = first_queued, .priority = priority}};
}
constexpr small_step suggest_of(std::string_view name, governor suggestion) {
  return {name, {.call = sched_call::suggest, .suggestion = suggestion}};
}

// Who is next among lanes that fill and empty while the governor changes its mind.
constexpr auto streak_letters = std::to_array<small_step>({
    next_of("next 0", 0),
    next_of("next 1", 1),
    push_of("push cancel 0", 0, lane::cancel, 5),
    push_of("push timed 0", 0, lane::timed, 5),
    push_of("push ready 0", 0, lane::ready, 5),
    suggest_of("meet deadlines", governor::meet_deadlines),
    suggest_of("no preference", governor::no_preference),
});

// Where an entry is in its lane, and on which worker.
constexpr auto move_letters = std::to_array<small_step>({
    next_of("next 0", 0),
    next_of("next 1", 1),
    push_of("push ready 0", 0, lane::ready, 5),
    push_of("push urgent ready 0", 0, lane::ready, 6),
    push_of("push timed 1", 1, lane::timed, 5, 4),
    cancel_of("cancel to 0 at 100", 0, 100),
    cancel_of("cancel to 1 at 200", 1, 200),
    suggest_of("drain", governor::drain_regions),
});

struct small_world {
  std::string_view name;
  sched_config config;
  std::span<const small_step> letters;
  std::size_t length;
  bool starts_full;  // Two in each lane of worker 0, one ready on worker 1.
};

sched_operation named(const small_step& step, const naive_scheduler& model) {
  sched_operation op = step.op;
  if (op.task != first_free && op.task != first_queued) return op;
  const bool wanted = op.task == first_queued;
  op.task = 1;
  while (op.task < small_population && model.find(op.task).has_value() != wanted) ++op.task;
  return op;
}

std::string run_small(const small_world& world, std::span<const std::size_t> word) {
  sched_pair pair(world.config, small_population);
  const replay_on_assert running = watch(pair, {world.name, {}});
  std::string difference;
  std::uint64_t task = small_population;
  for (const lane l : {lane::cancel, lane::cancel, lane::timed, lane::timed, lane::ready, lane::ready}) {
    if (!world.starts_full) break;
    difference += pair.apply({.call = sched_call::push, .task = task--, .into = l, .priority = 5, .deadline = {5}});
  }
  if (world.starts_full) difference += pair.apply({.call = sched_call::push, .worker = 1, .task = task, .priority = 5});
  for (const std::size_t letter : word) {
    if (!difference.empty()) return difference;
    difference = pair.apply(named(world.letters[letter], pair.model()));
  }
  return difference.empty() ? pair.drain() : difference;
}

void run_all_words(const small_world& world) {
  std::vector<std::size_t> word(world.length, 0);
  for (bool is_done = false; !is_done;) {
    const std::string difference = run_small(world, word);
    if (!difference.empty()) {
      std::string letters;
      for (const std::size_t letter : word) letters += "\n  " + std::string(world.letters[letter].name);
      FAIL() << "world '" << world.name << "', word:" << letters << "\n" << difference;
    }
    std::size_t place = 0;
    while (place < world.length && ++word[place] == world.letters.size()) word[place++] = 0;
    is_done = place == world.length;
  }
}

sched_config two_workers(std::uint32_t cancel_limit, std::uint32_t timed_limit,
                         asx::tie_break ties = asx::tie_break::fifo) {
  sched_config config;
  config.workers = 2;
  config.cancel_streak_limit = cancel_limit;
  config.timed_streak_limit = timed_limit;
  config.ready_tiebreak = ties;
  return config;
}

// Goal:   no short sequence of operations tells the scheduler from the model.
// Method: all words of a length over a few operations; shorter ones are their beginnings. Each is followed by a
//         drain, so that a lost task shows. Limits of 1 and 2 bring full streaks within reach of six letters.
TEST(scheduler_small_worlds, every_short_sequence_of_lanes_and_suggestions_agrees_with_the_model) {
  for (const std::uint32_t cancel_limit : {1U, 2U}) {
    for (const std::uint32_t timed_limit : {1U, 2U}) {
      const bool starts_full = cancel_limit == timed_limit;
      const std::string name = "limits " + std::to_string(cancel_limit) + " and " + std::to_string(timed_limit);
      ASSERT_NO_FATAL_FAILURE(run_all_words(
          {name, two_workers(cancel_limit, timed_limit), streak_letters, starts_full ? 5U : 6U, starts_full}));
    }
  }
}

TEST(scheduler_small_worlds, every_short_sequence_of_moves_agrees_with_the_model) {
  for (const asx::tie_break ties : {asx::tie_break::fifo, asx::tie_break::rng}) {
    for (const bool starts_full : {false, true}) {
      const std::string name = std::string(ties == asx::tie_break::rng ? "drawn" : "in order") +
                               (starts_full ? ", from full lanes" : ", from empty lanes");
      ASSERT_NO_FATAL_FAILURE(
          run_all_words({name, two_workers(1, 2, ties), move_letters, starts_full ? 4U : 5U, starts_full}));
    }
  }
}

// ---- Random worlds ----

std::optional<std::uint64_t> from_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing writes it.
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::strtoull(value, nullptr, 0);
}

// Runs episodes, each with a fresh pair and a seed of its own, until `operations` are done. Failing text, or empty.
std::string run_scenario(const sched_scenario& scenario, std::size_t place, std::uint64_t seed,
                         std::uint64_t operations, asx::testing::sched_coverage& coverage) {
  asx::splitmix64 seeds(seed);
  std::uint64_t episode_seed = seed;
  for (std::uint64_t done = 0; done < operations; episode_seed = seeds.next()) {
    asx::splitmix64 draws(episode_seed);
    asx::testing::sched_operation_source source(draws, scenario);
    sched_pair pair(scenario.config, scenario.population);
    const replay_line line{
        scenario.name, "ASX_MODEL_SEED=" + std::to_string(episode_seed) + " ASX_MODEL_CONFIG=" + std::to_string(place)};
    const replay_on_assert running = watch(pair, line);
    const std::uint64_t length = std::min(scenario.episode, operations - done);
    std::string difference;
    while (difference.empty() && pair.applied() < length) difference = pair.apply(source.draw(pair));
    const std::uint64_t applied = pair.applied();
    if (difference.empty()) difference = pair.drain();
    if (!difference.empty()) return line.text(applied) + difference;
    for (std::size_t e = 0; e < coverage.size(); ++e) coverage[e] += pair.coverage()[e];
    done += length;
  }
  return {};
}

// Goal:   long lives of the scheduler agree with the model, in every configuration.
// Method: seeded operations, compared one by one; see sched_scenarios() and sched_operation_source.
TEST(scheduler_random_worlds, a_million_operations_agree_with_the_model) {
  const std::vector<sched_scenario> scenarios = asx::testing::sched_scenarios();
  const std::optional<std::uint64_t> only = from_environment("ASX_MODEL_CONFIG");
  const std::uint64_t operations = from_environment("ASX_MODEL_OPS").value_or(1'000'000);
  const std::uint64_t seed = from_environment("ASX_MODEL_SEED").value_or(20'260'301);
  const std::uint64_t share = only ? operations : (operations + scenarios.size() - 1) / scenarios.size();
  ASSERT_LT(only.value_or(0), scenarios.size()) << "ASX_MODEL_CONFIG names no scenario";

  asx::testing::sched_coverage coverage{};
  for (std::size_t place = 0; place < scenarios.size(); ++place) {
    if (only && *only != place) continue;
    ASSERT_EQ(asx::scheduler::validate(scenarios[place].config), asx::status::ok) << scenarios[place].name;
    const std::string failure = run_scenario(scenarios[place], place, seed, share, coverage);
    ASSERT_TRUE(failure.empty()) << failure;
  }
  if (only || operations < 100'000) return;
  for (std::size_t e = 0; e < coverage.size(); ++e) {
    EXPECT_GE(coverage[e], 20U) << "the run hardly ever met '" << asx::testing::sched_event_names[e]
                                << "'; it proves too little";
    RecordProperty(std::string(asx::testing::sched_event_names[e]), std::to_string(coverage[e]));
  }
}

}  // namespace
