// asx/runtime/kernel_model_test.cpp - the kernel against plain records: small worlds whole, large ones at random.
//
// Every status, dispatch, view and logged word of the kernel must be the model's (testing/naive_kernel.hpp).
//
// The random run is steered by three variables of the environment. A failure prints the line that replays it.
//
//     ASX_MODEL_OPS    operations in all, a million unless told otherwise; of one world, when that is named
//     ASX_MODEL_SEED   the seed of the run
//     ASX_MODEL_WORLD  run only this world, by its number
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing/replay_on_assert.hpp"
#include "asx/base/time.hpp"
#include "asx/kernel/testing/kernel_driver.hpp"
#include "asx/kernel/testing/kernel_plans.hpp"
#include "asx/kernel/testing/naive_kernel.hpp"
#include "asx/kernel/testing/world.hpp"
#include "asx/runtime/testing/real_world.hpp"

namespace {

using asx::cancel_kind;
using asx::testing::action;
using asx::testing::kernel_call;
using asx::testing::kernel_coverage;
using asx::testing::kernel_operation;
using asx::testing::kernel_pair;
using asx::testing::kernel_plan;
using asx::testing::kernel_run;
using asx::testing::make_naive_world;
using asx::testing::make_real_world;
using asx::testing::plan_draws;
using asx::testing::script;
using do_ = action::kind;

// ---- Small worlds ----

struct letter {
  std::string_view name;
  kernel_operation op;
};

action does(do_ what, std::uint64_t n = 0, cancel_kind k = cancel_kind::user) {
  action a;
  a.what = what;
  a.n = n;
  a.k = k;
  a.b.priority = 128;
  return a;
}

letter calls(std::string_view name, kernel_call call, std::uint64_t n = 0, cancel_kind k = cancel_kind::user) {
  letter l{name, {}};
  l.op.call = call;
  l.op.n = n;
  l.op.k = k;
  return l;
}

letter spawns(std::string_view name, std::uint64_t region, std::size_t script, bool held = true) {
  letter l = calls(name, kernel_call::spawn, region);
  l.op.script = script;
  l.op.b.priority = 128;
  l.op.held = held;
  return l;
}

letter makes(std::string_view name, std::uint64_t parent, bool held) {
  letter l = calls(name, kernel_call::create_region, parent);
  l.op.held = held;
  return l;
}

letter finalizes(std::string_view name, std::uint64_t region, std::int32_t spawns, std::int32_t commits) {
  letter l = calls(name, kernel_call::add_finalizer, region);
  l.op.f.number = 1;
  l.op.f.spawns = spawns;
  l.op.f.commits = commits;
  return l;
}

// Does one word to a fresh pair, then shuts it down and runs it to its end.
std::string run_word(const kernel_plan& plan, const std::vector<letter>& letters,
                     const std::vector<std::size_t>& word) {
  kernel_pair pair(plan, make_naive_world, make_real_world);
  std::string difference;
  const auto go = [&](const kernel_operation& op) {
    if (difference.empty() && !pair.is_void(op)) difference = pair.apply(op);
  };
  for (const kernel_operation& op : plan.before) go(op);
  for (const std::size_t l : word) {
    go(letters[l].op);
    if (difference.empty()) difference = pair.compare();
  }
  go(calls("shutdown", kernel_call::shutdown_begin).op);
  const kernel_operation step = calls("step", kernel_call::step).op;
  for (int i = 0; difference.empty() && i < 3000; ++i) {
    go(step);
    if (pair.was_idle()) break;
  }
  return difference.empty() ? pair.compare() : difference;
}

void run_all_words(const kernel_plan& plan, const std::vector<letter>& letters, std::size_t length) {
  std::vector<std::size_t> word(length, 0);
  for (bool is_done = false; !is_done;) {
    const std::string difference = run_word(plan, letters, word);
    if (!difference.empty()) {
      std::string spelled;
      for (const std::size_t l : word) spelled += "\n  " + std::string(letters[l].name);
      FAIL() << "word:" << spelled << "\n" << difference;
    }
    std::size_t place = 0;
    while (place < length && ++word[place] == letters.size()) word[place++] = 0;
    is_done = place == length;
  }
}

// One that yields and never looks, one that cleans up in two polls, one that waits in its cleanup.
std::vector<script> three_scripts() {
  script stubborn, tidy, waits;
  stubborn.actions = {does(do_::yield), does(do_::yield), does(do_::yield), does(do_::return_ok, 1)};
  tidy.actions = {does(do_::reserve),         does(do_::push_cleanup, 1), does(do_::park),  does(do_::checkpoint),
                  does(do_::return_error, 2), does(do_::commit, 0),       does(do_::yield), does(do_::return_ok)};
  tidy.cleanup_at = 5;
  waits.actions = {does(do_::sleep, 10), does(do_::checkpoint), does(do_::spawn, 0), does(do_::panic),
                   does(do_::park),      does(do_::park),       does(do_::return_ok)};
  waits.cleanup_at = 4;
  return {stubborn, tidy, waits};
}

// Goal:   no short sequence of operations tells the kernel from the model.
// Method: all words of a length over a few operations; shorter ones are their beginnings. Each ends with a shutdown
//         that is run to its end, so that something lost shows.
TEST(kernel_small_worlds, every_short_life_of_a_task_agrees_with_the_model) {
  for (const std::uint32_t unobserved : {UINT32_MAX, 1U}) {
    kernel_plan plan;
    plan.scripts = three_scripts();
    plan.config.max_unobserved_cancel_polls = unobserved;
    plan.before = {makes("region", 1, true).op, spawns("one", 2, 1).op};
    const std::vector<letter> letters = {
        calls("step", kernel_call::step),
        spawns("spawn a stubborn one", 2, 0),
        spawns("spawn one that waits", 1, 2),
        calls("cancel 1, user", kernel_call::request_cancel, 1),
        calls("cancel 1, shutdown", kernel_call::request_cancel, 1, cancel_kind::shutdown),
        calls("wake 1", kernel_call::wake, 1),
        calls("advance 10", kernel_call::advance, 10),
        calls("close 2", kernel_call::close, 2)};
    ASSERT_NO_FATAL_FAILURE(run_all_words(plan, letters, 5));
  }
}

TEST(kernel_small_worlds, every_short_life_of_a_region_agrees_with_the_model) {
  for (const bool holds : {false, true}) {
    kernel_plan plan;
    plan.scripts = three_scripts();
    plan.config.hold_leaks = holds;
    plan.config.cancel_queue = 2;
    plan.before = {makes("region", 1, true).op, makes("inner region", 2, false).op, spawns("one", 3, 1, false).op};
    const std::vector<letter> letters = {calls("step", kernel_call::step),
                                         calls("reserve in 2", kernel_call::reserve, 2),
                                         finalizes("finalizer of 2", 2, 0, 0),
                                         calls("begin_close 2", kernel_call::begin_close, 2),
                                         calls("begin_drain 2", kernel_call::begin_drain, 2),
                                         calls("begin_finalize 3", kernel_call::begin_finalize, 3),
                                         calls("finish_close 3", kernel_call::finish_close, 3),
                                         calls("close 3", kernel_call::close, 3),
                                         calls("close 2, shutdown", kernel_call::close, 2, cancel_kind::shutdown),
                                         calls("commit 1", kernel_call::commit, 1)};
    ASSERT_NO_FATAL_FAILURE(run_all_words(plan, letters, 5));
  }
}

TEST(kernel_small_worlds, every_short_life_within_tight_limits_agrees_with_the_model) {
  kernel_plan plan;
  plan.scripts = three_scripts();
  script spends;
  spends.actions = {does(do_::consume_cost, 1), does(do_::yield),    does(do_::consume_cost, 2), does(do_::park),
                    does(do_::checkpoint),      does(do_::return_ok)};
  plan.scripts.push_back(spends);
  plan.config.cancel_queue = 1;
  plan.config.max_tasks = 3;
  plan.before = {spawns("one", 1, 0).op};
  letter polls = spawns("spawn with one poll", 1, 0, false);
  polls.op.b.poll_quota = 1;
  letter until = spawns("spawn with a deadline", 1, 1, false);
  until.op.b.deadline = asx::instant{5};
  letter costs = spawns("spawn with a cost of 2", 1, 3, false);
  costs.op.b.cost_quota = 2;
  const std::vector<letter> letters = {calls("step", kernel_call::step),
                                       polls,
                                       until,
                                       costs,
                                       calls("cancel 1", kernel_call::request_cancel, 1),
                                       calls("advance 5", kernel_call::advance, 5),
                                       calls("wake 2", kernel_call::wake, 2),
                                       calls("release 1", kernel_call::release_task, 1)};
  ASSERT_NO_FATAL_FAILURE(run_all_words(plan, letters, 6));
}

// ---- Random worlds ----

std::optional<std::uint64_t> from_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing writes it.
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::strtoull(value, nullptr, 0);
}

// World `number` of `seed`, up to `operations`. How many were done; a difference is reported.
std::uint64_t run_world(std::uint64_t seed, std::uint64_t number, std::uint64_t operations, kernel_coverage& coverage) {
  plan_draws draws(asx::splitmix64(seed ^ (number << 32)).next());
  const kernel_plan plan = asx::testing::make_plan(seed, number, draws);
  const std::string place = "ASX_MODEL_SEED=" + std::to_string(seed) + " ASX_MODEL_WORLD=" + std::to_string(number);
  std::uint64_t reached = 0;
  const auto line = [&place](std::uint64_t operation) {
    return "replay: " + place + " ASX_MODEL_OPS=" + std::to_string(operation) + "\n";
  };
  const asx::testing::replay_on_assert running([&] { return line(reached); });
  asx::testing::run_limits limits;
  limits.operations = operations;
  const kernel_run run = asx::testing::run_plan(plan, draws, make_naive_world, make_real_world, limits, coverage,
                                                [&](std::uint64_t operation) { reached = operation; });
  if (!run.difference.empty()) {
    const kernel_run shortest = asx::testing::shorten(plan, run, make_naive_world, make_real_world);
    ADD_FAILURE() << line(run.done.size()) << "after " << run.done.size() << " operations: " << run.difference
                  << "\nshortened to " << shortest.done.size() << ": " << asx::testing::describe(plan, shortest);
  }
  return run.done.size();
}

// Goal:   long lives of the kernel agree with the model, under every kind of limit.
// Method: seeded worlds, each with its own limits, scripts and operations; see kernel_plans.hpp.
TEST(kernel_random_worlds, a_million_operations_agree_with_the_model) {
  const std::optional<std::uint64_t> only = from_environment("ASX_MODEL_WORLD");
  const std::optional<std::uint64_t> wanted = from_environment("ASX_MODEL_OPS");
  const std::uint64_t seed = from_environment("ASX_MODEL_SEED").value_or(20'260'401);

  kernel_coverage coverage{};
  if (only) {
    run_world(seed, *only, wanted.value_or(UINT64_MAX), coverage);
    return;
  }
  const std::uint64_t operations = wanted.value_or(1'000'000);
  std::uint64_t done = 0;
  for (std::uint64_t world = 0; done < operations && !HasFailure(); ++world) {
    done += run_world(seed, world, UINT64_MAX, coverage);
  }
  if (operations < 200'000 || HasFailure()) return;
  for (std::size_t e = 0; e < coverage.size(); ++e) {
    EXPECT_GE(coverage[e], operations / 50'000)
        << "the run hardly ever met '" << asx::testing::kernel_rule_names[e] << "'; it proves too little";
    RecordProperty("rule_" + std::to_string(e), std::to_string(coverage[e]));
  }
}

}  // namespace
