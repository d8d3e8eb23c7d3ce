// asx/chan/channel_model_test.cpp - channels against plain lists: small worlds whole, large ones at random.
//
// Every answer, wake, report and end must be the model's (testing/naive_channel.hpp, written from docs/spec alone).
//
// The random run is steered by three variables of the environment. A failure prints the line that replays it.
//
//     ASX_MODEL_OPS    operations in all, a million unless told otherwise; of one world, when that is named
//     ASX_MODEL_SEED   the seed of the run
//     ASX_MODEL_WORLD  run only this world, by its number
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing/replay_on_assert.hpp"
#include "asx/chan/testing/channel_driver.hpp"
#include "asx/chan/testing/channel_plans.hpp"

namespace {

using asx::cancel_kind;
using asx::testing::channel_call;
using asx::testing::channel_coverage;
using asx::testing::channel_draws;
using asx::testing::channel_operation;
using asx::testing::channel_pair;
using asx::testing::channel_plan;
using asx::testing::channel_run;
using asx::testing::replay_on_assert;

// ---- Small worlds ----

constexpr std::uint32_t everybody = UINT32_MAX;

channel_operation does(channel_call call, std::uint32_t actor, std::uint32_t slot = 0, std::uint32_t other = 0,
                       std::uint32_t repolls = everybody) {
  channel_operation op;
  op.call = call;
  op.actor = actor;
  op.sender = op.permit = slot;
  op.other = other;
  op.repolls = repolls;
  if (call == channel_call::leave || call == channel_call::drop_wait) op.other = slot;
  if (call == channel_call::close) op.region = slot;
  return op;
}

// `count` messages are sent by one call, or as many are received.
channel_operation does_many(channel_call call, std::uint32_t actor, std::uint32_t slot, std::uint32_t count,
                            std::uint32_t repolls = everybody) {
  channel_operation op = does(call, actor, slot, slot, repolls);
  op.count = count;
  return op;
}

// Two senders with a puppet each, a receiver with a third; the first two lie in the region of the channel.
channel_plan small_plan(std::uint32_t capacity, bool tracked) {
  channel_plan plan;
  plan.channels = {{capacity, 1}};
  plan.parents = {0, 0, 0};
  plan.puppets = {0, 1, 2, 2};
  plan.tracked = {tracked, false};
  plan.waits = 2;
  return plan;
}

void run_all_words(const channel_plan& plan, const std::vector<channel_operation>& before,
                   const std::vector<channel_operation>& letters, std::size_t length) {
  std::vector<std::size_t> word(length, 0);
  for (bool is_done = false; !is_done;) {
    std::vector<channel_operation> all = before;
    std::uint64_t message = 0;
    for (const std::size_t letter : word) all.push_back(letters[letter]);
    for (channel_operation& op : all) op.message = message += 8;  // The first of a list, perhaps.
    const replay_on_assert running([&] { return describe(plan, {all, ""}); });
    const channel_run run = run_operations(plan, all);
    if (!run.difference.empty()) FAIL() << describe(plan, shorten(plan, run));
    std::size_t place = 0;
    while (place < length && ++word[place] == letters.size()) word[place++] = 0;
    is_done = place == length;
  }
}

// Capacity 1 and 2; shorter words also without a journal, with messages that are counted and such that are bytes: a
// channel that nobody listens to takes other ways to the same answers.
void run_small_worlds(bool tracked, const std::vector<channel_operation>& before,
                      const std::vector<channel_operation>& letters) {
  for (const std::uint32_t capacity : {1U, 2U}) {
    channel_plan plan = small_plan(capacity, tracked);
    ASSERT_NO_FATAL_FAILURE(run_all_words(plan, before, letters, 5));
    plan.is_journalled = false;
    for (const bool is_plain : {false, true}) {
      plan.is_plain = is_plain;
      ASSERT_NO_FATAL_FAILURE(run_all_words(plan, before, letters, 4));
    }
  }
}

// Goal:   no short sequence of operations tells a channel from the model.
// Method: all words of a length over a few operations; shorter ones are their beginnings. Each ends with a shutdown
//         that takes down what is left, so that something lost shows.
TEST(channel_small_worlds, every_short_life_of_senders_and_a_receiver_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does(call::poll_reserve, 1, 0, 0),
      does(call::poll_reserve, 2, 1, 1),
      does(call::send, 1, 0),
      does(call::abort, 2, 1),
      does(call::poll_recv, 3),
      does(call::drop_sender, 2, 1),
      does(call::drop_receiver, 3),
      does(call::cancel, 1),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1)}, letters);
}

TEST(channel_small_worlds, every_short_struggle_for_a_slot_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does(call::poll_reserve, 1, 0, 0), does(call::poll_reserve, 2, 1, 1, 0), does(call::poll_reserve, 2, 1, 0),
      does(call::try_reserve, 3, 0),     does(call::send_evict_oldest, 3, 1),  does(call::leave, 2, 0),
      does(call::try_recv, 3, 0, 0, 0),  does(call::drop_permit, 2, 0),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1), does(call::try_send, 0, 0)}, letters);
}

TEST(channel_small_worlds, every_short_life_of_tracked_permits_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does(call::poll_reserve, 1, 0, 0),
      does(call::try_reserve, 2, 0),
      does(call::send, 1, 0),
      does(call::drop_permit, 2, 0),
      does(call::end_ok, 1),
      does(call::checkpoint, 1),
      does(call::cancel, 1),
      does(call::close, 0, 1),
  };
  run_small_worlds(true, {}, letters);
}

// Nobody polls again here, so that whoever was woken still waits when the next thing goes away.
TEST(channel_small_worlds, every_short_way_in_which_sides_go_away_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does(call::poll_reserve, 2, 1, 1, 0), does(call::poll_recv, 3, 0, 0, 0),
      does(call::send, 1, 0, 0, 0),         does(call::abort, 3, 0, 0, 0),
      does(call::drop_sender, 3, 0),        does(call::cancel, 2, 0, 0, 0),
      does(call::close, 3, 1, 0, 0),        does(call::end_ok, 1),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1), does(call::try_reserve, 1, 0)}, letters);
}

TEST(channel_small_worlds, every_short_life_of_lists_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does_many(call::poll_send_many, 1, 0, 3),
      does_many(call::poll_send_many, 2, 1, 2),
      does_many(call::poll_send_many, 1, 0, 0, 0),
      does(call::poll_reserve, 2, 1, 1),
      does_many(call::poll_recv_many, 3, 0, 2),
      does(call::poll_recv, 3),
      does(call::drop_receiver, 3),
      does(call::cancel, 1),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1)}, letters);
}

// Few poll again by themselves: turns are offered and not taken, by those who came for a slot and those with a list.
TEST(channel_small_worlds, every_short_struggle_of_lists_for_slots_agrees_with_the_model) {
  using call = channel_call;
  channel_operation gives_up = does_many(call::poll_send_many, 2, 1, 0, 0);
  gives_up.variant = 1;
  const std::vector<channel_operation> letters = {
      does_many(call::poll_send_many, 1, 0, 1, 0),
      does_many(call::poll_send_many, 2, 1, 3, 0),
      gives_up,
      does(call::poll_reserve, 2, 1, 1, 0),
      does(call::poll_reserve, 3, 0, 0),
      does(call::try_recv, 3, 0, 0, 0),
      does_many(call::poll_recv_many, 3, 0, 0, 0),
      does(call::drop_sender, 3, 0, 0, 0),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1), does(call::try_send, 0, 0)}, letters);
}

// R-322, where all come back at once: what was taken is told, and what was not is asked for anew.
TEST(channel_small_worlds, every_short_life_of_messages_that_wait_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does(call::poll_send, 1, 0, 0),      does(call::poll_send, 2, 1, 1), does(call::poll_reserve, 2, 1, 1),
      does(call::send_evict_oldest, 3, 1), does(call::poll_recv, 3),       does(call::drop_sender, 2, 1),
      does(call::drop_receiver, 3),        does(call::cancel, 1),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1)}, letters);
}

// Nobody comes back by itself, so that what was taken is not told before something else has happened to its wait.
TEST(channel_small_worlds, every_short_struggle_of_messages_that_wait_agrees_with_the_model) {
  using call = channel_call;
  const std::vector<channel_operation> letters = {
      does(call::poll_send, 1, 0, 0, 0), does(call::poll_send, 2, 1, 1, 0), does(call::poll_send, 1, 0, 1, 0),
      does(call::try_recv, 0),           does(call::move_wait, 0, 0, 0),    does(call::leave, 0, 0),
      does(call::cancel, 1, 0, 0, 0),    does(call::drop_sender, 0, 0),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1), does(call::try_send, 0, 0)}, letters);
}

// Between those who wait for a permit or with a list; a task that is woken and has not run, one that is polled.
TEST(channel_small_worlds, every_short_queue_of_messages_permits_and_lists_agrees_with_the_model) {
  using call = channel_call;
  channel_operation anew = does(call::poll_send, 1, 0, 0, 0);
  anew.variant = 1;
  const std::vector<channel_operation> letters = {
      does(call::poll_send, 1, 0, 0, 0),
      anew,
      does(call::poll_send, 2, 1, 1),
      does(call::poll_reserve, 2, 1, 0, 0),
      does_many(call::poll_send_many, 1, 0, 2, 0),
      does(call::try_recv, 1, 0),
      does_many(call::poll_recv_many, 3, 0, 3, 0),
      does(call::drop_permit, 3, 0),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1), does(call::try_reserve, 3, 0)}, letters);
}

// A permit is written over by the next one, while others wait for either slot: with a message, or for a permit.
TEST(channel_small_worlds, every_short_way_to_write_over_a_permit_agrees_with_the_model) {
  using call = channel_call;
  channel_operation over = does(call::poll_reserve, 1, 0, 0, 0);
  over.is_over = true;
  channel_operation at_once = does(call::try_reserve, 3, 0);
  at_once.is_over = true;
  const std::vector<channel_operation> letters = {
      over,
      at_once,
      does(call::poll_send, 2, 1, 1, 0),
      does(call::poll_send, 1, 0, 0, 0),
      does(call::poll_reserve, 2, 1, 1),
      does(call::try_recv, 0),
      does(call::try_send, 0, 1),
      does(call::drop_receiver, 3),
  };
  run_small_worlds(false, {does(call::clone_sender, 0, 0, 1), does(call::try_reserve, 1, 0)}, letters);
}

// ---- Random worlds ----

std::optional<std::uint64_t> from_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing writes it.
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::strtoull(value, nullptr, 0);
}

// World `number` of `seed`, up to `operations`. How many were done; a difference is reported.
std::uint64_t run_world(std::uint64_t seed, std::uint64_t number, std::uint64_t operations,
                        channel_coverage& coverage) {
  channel_draws draws(asx::splitmix64(seed ^ (number << 32)).next());
  const channel_plan plan = draws.plan();
  const std::uint64_t length = draws.length();
  channel_run run;
  const auto line = [&] {
    return "replay: ASX_MODEL_SEED=" + std::to_string(seed) + " ASX_MODEL_WORLD=" + std::to_string(number) +
           " ASX_MODEL_OPS=" + std::to_string(run.done.size()) + "\n";
  };
  const replay_on_assert running([&] { return line() + describe(plan, run); });
  channel_pair pair(plan);
  while (run.done.size() < length && run.done.size() < operations && run.difference.empty()) {
    run.done.push_back(draws.operation(pair.model()));
    run.difference = pair.apply(run.done.back(), &coverage);
  }
  coverage.add(pair.model().counts());
  const std::uint64_t done = run.done.size();
  if (run.difference.empty()) run.difference = pair.finish();
  if (!run.difference.empty()) {
    ADD_FAILURE() << line() << "after " << done << " operations, in\n"
                  << describe(plan, run) << "\nshortened:\n"
                  << describe(plan, shorten(plan, run));
  }
  return done;
}

// Goal:   long lives of channels agree with the model, whoever ends, is cancelled or closes when.
// Method: seeded worlds of a few hundred operations; see channel_plans.hpp.
TEST(channel_random_worlds, a_million_operations_agree_with_the_model) {
  const std::optional<std::uint64_t> only = from_environment("ASX_MODEL_WORLD");
  const std::optional<std::uint64_t> wanted = from_environment("ASX_MODEL_OPS");
  const std::uint64_t seed = from_environment("ASX_MODEL_SEED").value_or(20'260'501);

  channel_coverage coverage;
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
  EXPECT_EQ(coverage.rare(operations / 200'000), "") << "the run hardly ever met these; it proves too little";
}

}  // namespace
