// asx/wheel/timer_wheel_model_test.cpp - the wheel against a sorted list: small worlds whole, large ones at random.
//
// R-94 asks for it: every status, id, batch, next deadline, count and time of the wheel must be the model's.
//
// The random run is steered by three variables of the environment. A failure prints the line that replays it.
//
//     ASX_MODEL_OPS     operations in all, a million unless told otherwise
//     ASX_MODEL_CONFIG  run only this scenario, by its place in wheel_scenarios()
//     ASX_MODEL_SEED    the seed of the first episode
#include "asx/wheel/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/random.hpp"
#include "asx/base/testing/replay_on_assert.hpp"
#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/wheel/testing.hpp"
#include "asx/wheel/testing/driver.hpp"

namespace {

using asx::duration;
using asx::instant;
using asx::status;
using asx::timer_handle;
using asx::timer_wheel;
using asx::wheel_call;
using asx::wheel_config;
using asx::wheel_operation;
using asx::wheel_pair;
using asx::wheel_scenario;
using asx::wheel_target;

constexpr duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}

using asx::testing::replay_line;
using asx::testing::replay_on_assert;

// What an assertion that fails in this pair adds to its words.
replay_on_assert watch(const wheel_pair& pair, const replay_line& line) {
  return replay_on_assert([&pair, line] { return line.text(pair.applied()) + "\n" + pair.recent_operations(); });
}

// Everything that is left comes out, in the model's order, however far the clock must jump.
std::string drain(wheel_pair& pair) {
  const instant end{UINT64_MAX - 1};
  std::string difference;
  while (difference.empty() && pair.model().live() != 0) {
    difference = pair.apply({wheel_call::collect, end, 1000, wheel_target::live, 0});
  }
  return difference.empty() ? pair.apply({wheel_call::check, {}, 0, wheel_target::live, 0}) : difference;
}

// ---- Small worlds ----

struct small_step {
  std::string_view name;
  wheel_call call;
  duration after;    // From the present to the deadline, or to the new present.
  std::size_t room;  // collect only.
  bool is_last;      // cancel: the newest live timer, not the oldest.
};

constexpr auto small_alphabet = std::to_array<small_step>({
    {"register +0", wheel_call::register_timer, {}, 0, false},
    {"register +1ns", wheel_call::register_timer, duration{1}, 0, false},
    {"register +1ms", wheel_call::register_timer, ms(1), 0, false},
    {"register +256ms", wheel_call::register_timer, ms(256), 0, false},
    {"cancel first", wheel_call::cancel, {}, 0, false},
    {"cancel last", wheel_call::cancel, {}, 0, true},
    {"update first +2ms", wheel_call::update, ms(2), 0, false},
    {"collect +0 room 1", wheel_call::collect, {}, 1, false},
    {"collect +1ms room 1", wheel_call::collect, ms(1), 1, false},
    {"collect +300ms room 8", wheel_call::collect, ms(300), 8, false},
});

constexpr std::size_t small_length = 5;

wheel_operation at(const small_step& step, const asx::wheel_model& model) {
  const std::uint64_t last = model.live() == 0 ? 0 : model.live() - 1;
  return {step.call, model.now() + step.after, step.room, wheel_target::live, step.is_last ? last : 0};
}

std::string run_small(const wheel_scenario& world, std::span<const std::size_t> word) {
  wheel_pair pair(world.config);
  const replay_on_assert running = watch(pair, {world.name, {}});
  for (const std::size_t letter : word) {
    std::string difference = pair.apply(at(small_alphabet[letter], pair.model()));
    if (!difference.empty()) return difference;
  }
  return drain(pair);
}

// Goal:   no short sequence of operations tells the wheel from the model.
// Method: all words of five letters over ten operations; shorter ones are their beginnings. Each is followed
//         by a drain, so that a lost timer shows. The worlds differ in what is near: a slot's edge, the wrap of
//         level 0, the overflow heap, a full pool, a coalescing window, the end of the ids.
TEST(timer_wheel_small_worlds, every_short_sequence_agrees_with_the_model) {
  const instant odd{5'900'000};
  const instant wrap{ms(65'536).ns - 900'000};
  const std::array<wheel_scenario, 7> worlds = {{
      {"plain", {8, duration::hours(24), duration::days(7), {}, 2, {}, 1, 1}, 0, {}},
      {"sub-tick start", {8, duration::hours(24), duration::days(7), {}, 2, odd, 1, 1}, 0, {}},
      {"level wrap", {8, duration::hours(24), duration::days(7), {}, 2, wrap, 1, 1}, 0, {}},
      {"overflow", {8, ms(1), ms(256), {}, 2, odd, UINT64_MAX, UINT64_MAX}, 0, {}},
      {"two nodes", {2, ms(256), ms(256), {}, 2, {}, UINT64_MAX - 1, 1}, 0, {}},
      {"window", {8, duration::hours(24), duration::days(7), ms(5), 2, odd, 1, 1}, 0, {}},
      {"edge of a window", {8, duration::hours(24), duration::days(7), ms(5), 2, instant{ms(9).ns}, 1, 1}, 0, {}},
  }};
  for (const wheel_scenario& world : worlds) {
    std::array<std::size_t, small_length> word{};
    for (bool is_done = false; !is_done;) {
      const std::string difference = run_small(world, word);
      if (!difference.empty()) {
        std::string letters;
        for (const std::size_t letter : word) letters += "\n  " + std::string(small_alphabet[letter].name);
        FAIL() << "world '" << world.name << "', word:" << letters << "\n" << difference;
      }
      std::size_t place = 0;
      while (place < small_length && ++word[place] == small_alphabet.size()) word[place++] = 0;
      is_done = place == small_length;
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
std::string run_scenario(const wheel_scenario& scenario, std::size_t place, std::uint64_t seed,
                         std::uint64_t operations, asx::wheel_coverage& coverage) {
  asx::splitmix64 seeds(seed);
  std::uint64_t episode_seed = seed;
  for (std::uint64_t done = 0; done < operations; episode_seed = seeds.next()) {
    asx::splitmix64 draws(episode_seed);
    asx::operation_source source(draws, scenario);
    wheel_pair pair(scenario.config);
    const replay_line line{
        scenario.name, "ASX_MODEL_SEED=" + std::to_string(episode_seed) + " ASX_MODEL_CONFIG=" + std::to_string(place)};
    const replay_on_assert running = watch(pair, line);
    const std::uint64_t length = std::min(scenario.episode, operations - done);
    std::string difference;
    while (difference.empty() && pair.applied() < length) difference = pair.apply(source.draw(pair.model()));
    const std::uint64_t applied = pair.applied();
    if (difference.empty()) difference = drain(pair);
    if (!difference.empty()) return line.text(applied) + difference;
    for (std::size_t e = 0; e < coverage.size(); ++e) coverage[e] += pair.coverage()[e];
    done += length;
  }
  return {};
}

// Goal:   long lives of the wheel agree with the model, in every configuration.
// Method: seeded operations, compared one by one; see wheel_scenarios() and operation_source.
TEST(timer_wheel_random_worlds, a_million_operations_agree_with_the_model) {
  const std::vector<wheel_scenario> scenarios = asx::wheel_scenarios();
  const std::optional<std::uint64_t> only = from_environment("ASX_MODEL_CONFIG");
  const std::uint64_t operations = from_environment("ASX_MODEL_OPS").value_or(1'000'000);
  const std::uint64_t seed = from_environment("ASX_MODEL_SEED").value_or(20'240'229);
  const std::uint64_t share = only ? operations : (operations + scenarios.size() - 1) / scenarios.size();
  ASSERT_LT(only.value_or(0), scenarios.size()) << "ASX_MODEL_CONFIG names no scenario";

  asx::wheel_coverage coverage{};
  for (std::size_t place = 0; place < scenarios.size(); ++place) {
    if (only && *only != place) continue;
    ASSERT_EQ(timer_wheel::validate(scenarios[place].config), status::ok) << scenarios[place].name;
    const std::string failure = run_scenario(scenarios[place], place, seed, share, coverage);
    ASSERT_TRUE(failure.empty()) << failure;
  }
  if (only || operations < 100'000) return;
  for (std::size_t e = 0; e < coverage.size(); ++e) {
    EXPECT_GE(coverage[e], 20U) << "the run hardly ever met '" << asx::wheel_event_names[e]
                                << "'; it proves too little";
    RecordProperty(std::string(asx::wheel_event_names[e]), std::to_string(coverage[e]));
  }
}

// Goal:   a crowd that falls due at one moment comes out whole and in the order of the key.
// Method: thousands of timers with few distinct deadlines, from every level and the overflow heap, then one jump.
TEST(timer_wheel_random_worlds, a_flood_comes_out_in_order) {
  constexpr auto spans =
      std::to_array<duration>({ms(1), ms(200), ms(60'000), duration::hours(4), duration::hours(23), duration::days(7)});
  wheel_pair pair(wheel_config{});
  const replay_on_assert running = watch(pair, {"flood", {}});
  asx::splitmix64 draws(94);
  for (int i = 0; i < 6000; ++i) {
    const duration span = spans[draws.next_below(spans.size())];
    const duration step{1 + span.ns / 400};  // At most 400 deadlines a span: ties are common.
    const instant deadline{draws.next_below(span.ns / step.ns) * step.ns};
    const std::string difference = pair.apply({wheel_call::register_timer, deadline, 0, wheel_target::live, 0});
    ASSERT_TRUE(difference.empty()) << difference;
  }
  const std::string difference =
      pair.apply({wheel_call::collect, instant{duration::days(8).ns}, 5000, wheel_target::live, 0});
  ASSERT_TRUE(difference.empty()) << difference;
  EXPECT_EQ(pair.model().live(), 1000U);
  EXPECT_EQ(drain(pair), "");
}

// ---- Rulings that no fixture shows ----

// five due, room for two: two, two, one in the order of the key; one cancelled in between is passed over
// (INV-TM-02), one registered in between is merged.
TEST(timer_wheel_rooms, what_finds_no_room_comes_out_at_the_next_call) {
  timer_wheel wheel{wheel_config{}};
  std::array<timer_handle, 6> handles;
  for (std::uint64_t i = 0; i < handles.size(); ++i) {
    ASSERT_EQ(wheel.register_timer(instant{ms(i + 1).ns}, {i + 1, 0}, handles[i]), status::ok);
  }
  const auto collect = [&](duration now, std::size_t room) {
    std::vector<asx::expired_timer> batch(room);
    batch.resize(wheel.collect_expired(instant{now.ns}, batch));
    std::vector<std::uint64_t> ids;
    std::transform(batch.begin(), batch.end(), std::back_inserter(ids),
                   [](const auto& timer) { return timer.token.record; });
    return ids;
  };
  using fired = std::vector<std::uint64_t>;
  EXPECT_EQ(collect(ms(9), 0), fired{});
  EXPECT_EQ(wheel.now(), instant{ms(9).ns}) << "room for none still advances";
  EXPECT_EQ(collect(ms(9), 2), (fired{1, 2}));
  EXPECT_TRUE(wheel.cancel(handles[3]));
  timer_handle late;
  ASSERT_EQ(wheel.register_timer(instant{ms(3).ns + 1}, {7, 0}, late), status::ok);
  EXPECT_EQ(collect(ms(9), 2), (fired{3, 7}));
  EXPECT_EQ(wheel.live(), 2U);
  EXPECT_EQ(collect(ms(2), 2), (fired{5, 6})) << "time never goes back";
}

// a timer's handle is the pair of numbers and nothing else.
TEST(timer_wheel_handles, a_handle_is_a_pair_of_numbers) {
  static_assert(sizeof(timer_handle) == 16);
  static_assert(std::is_trivially_copyable_v<timer_handle>);
  EXPECT_TRUE(timer_handle{}.is_null());
  EXPECT_FALSE((timer_handle{1, 1}.is_null()));
}

// 255 slots of the last level are the most that the wheel promises; R-82 names the same refusal.
TEST(timer_wheel_limits, a_wheel_wider_than_its_last_level_is_refused) {
  wheel_config config;
  EXPECT_EQ(timer_wheel::validate(config), status::ok);
  for (const duration accepted : {ms(1), ms(256), duration::hours(24), asx::largest_wheel_duration}) {
    config.max_wheel_duration = accepted;
    EXPECT_EQ(timer_wheel::validate(config), status::ok) << accepted.ns;
    EXPECT_EQ(asx::wheel_model::validate(config), status::ok) << accepted.ns;
  }
  const duration too_wide[] = {asx::largest_wheel_duration + duration{1}, ms(std::uint64_t{1} << 32),
                               ms(std::uint64_t{1} << 32) + duration{1}, duration::max()};
  for (const duration refused : too_wide) {
    config.max_wheel_duration = refused;
    EXPECT_EQ(timer_wheel::validate(config), status::invalid_argument) << refused.ns;
    EXPECT_EQ(asx::wheel_model::validate(config), status::invalid_argument) << refused.ns;
  }
}

// U-05, U-29: what a wheel is when nobody says otherwise.
TEST(timer_wheel_limits, the_defaults_are_the_specifications) {
  const wheel_config config;
  EXPECT_EQ(config.capacity, 65536U);
  EXPECT_EQ(config.max_wheel_duration, duration::hours(24));
  EXPECT_EQ(config.max_timer_duration, duration::days(7));
  EXPECT_EQ(config.coalesce_window, duration{});
  EXPECT_EQ(config.coalesce_min_group, 2U);
  EXPECT_EQ(config.start, instant{});
  EXPECT_EQ(config.first_id, 1U);
  EXPECT_EQ(config.first_generation, 1U);
}

// A heap that refuses from the k-th request on, until it is mended.
struct failing_heap {
  std::uint64_t served = 0;
  std::uint64_t refused = 0;
  std::uint64_t limit = UINT64_MAX;
  asx::memory_port heap = asx::heap_memory();

  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) noexcept {
    auto& self = *static_cast<failing_heap*>(context);
    if (self.served >= self.limit) {
      ++self.refused;
      return nullptr;
    }
    ++self.served;
    return self.heap.allocate(self.heap.context, bytes, alignment);
  }
  static void release(void* context, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    auto& self = *static_cast<failing_heap*>(context);
    self.heap.release(self.heap.context, block, bytes, alignment);
  }
  asx::memory_port port() { return {this, &allocate, &release}; }
};

// Registers `count` timers; where memory is refused the call must be too, with nothing changed (U-36).
void fill_with_failing_memory(timer_wheel& wheel, failing_heap& memory, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const instant deadline{ms(1 + i * 37).ns};
    const std::uint32_t live_before = wheel.live();
    const instant next_before = wheel.next_deadline();
    timer_handle handle;
    status result = wheel.register_timer(deadline, {i, i}, handle);
    if (result != status::ok) {
      ASSERT_EQ(result, status::resource_exhausted);
      ASSERT_NE(memory.refused, 0U) << "a refusal below the capacity needs a reason";
      EXPECT_EQ(wheel.live(), live_before);
      EXPECT_EQ(wheel.next_deadline(), next_before);
      EXPECT_TRUE(handle.is_null());
      wheel.check();
      memory.limit = UINT64_MAX;
      result = wheel.register_timer(deadline, {i, i}, handle);
      ASSERT_EQ(result, status::ok);
    }
    EXPECT_EQ(handle.id, i + 1) << "a refusal uses up no id (R-86)";
  }
}

// Goal:   memory that runs out is a refusal at whichever request it happens, and the wheel works on afterwards.
// Method: fail the k-th request for every k until one run meets no failure.
TEST(timer_wheel_memory, the_kth_failed_allocation_is_a_refusal_that_changed_nothing) {
  constexpr std::uint32_t count = 3000;
  std::uint64_t hits = 0;
  for (std::uint64_t k = 0;; ++k) {
    ASSERT_LT(k, 10'000U) << "a wheel of " << count << " timers asks for memory that often";
    SCOPED_TRACE("failing from request " + std::to_string(k) + " on");
    failing_heap memory;
    memory.limit = k;
    wheel_config config;
    config.capacity = count;
    timer_wheel wheel(config, memory.port());
    if (wheel.ready()) {
      ASSERT_NO_FATAL_FAILURE(fill_with_failing_memory(wheel, memory, count));
      std::vector<asx::expired_timer> batch(count);
      ASSERT_EQ(wheel.collect_expired(instant{duration::hours(1).ns}, batch), count);
      for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(batch[i].token.record, i);
      EXPECT_EQ(wheel.live(), 0U);
      wheel.check();
    } else {
      EXPECT_NE(memory.refused, 0U) << "a wheel is ready when it was given its memory";
    }
    if (memory.refused == 0) break;
    ++hits;
  }
  EXPECT_NE(hits, 0U) << "no failure was injected: the wheel does not take its memory from the port";
}

}  // namespace
