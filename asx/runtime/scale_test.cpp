// Many: a million tasks, propagation and steady state without a request for memory, one runtime in one block.
//
// How long it takes is measured in bench/kernel_scale; a test reads no clock. Here everything is counted.
//
//     ASX_MODEL_OPS   how many tasks the longest runs have: a million unless told otherwise, ten million in ./x soak
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/runtime/testing/stage.hpp"

namespace asx {
namespace {

using testing::counting_memory;
using testing::effort;

void must(status s) {
  EXPECT_EQ(s, status::ok);
}

poll_result ends(void*, cx&) {
  return poll_result::ready;
}
/// Counts its polls in the context and waits until it is cancelled.
poll_result waits(void* polls, cx& c) {
  ++*static_cast<std::uint64_t*>(polls);
  if (c.checkpoint() != status::ok) return poll_result::ready;
  static_cast<void>(c.get_waker());
  return poll_result::pending;
}

runtime_config server(journal_mode mode = journal_mode::off) {
  runtime_config config;
  config.contract = resource_contract::server();
  config.journaling = mode;
  return config;
}

TEST(scale, a_million_tasks_in_a_thousand_regions_run_are_cancelled_and_end) {
  const auto regions = static_cast<std::uint32_t>(std::min<std::uint64_t>(1'000, effort() / 1'000));
  constexpr std::uint32_t tasks = 1'000;
  const std::uint64_t all_tasks = std::uint64_t{regions} * tasks;
  runtime rt(server());
  std::uint64_t polls = 0;
  std::vector<region_handle> all(regions);
  for (region_handle& r : all) {
    ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, r), status::ok);
    for (std::uint32_t i = 0; i < tasks; ++i) {
      task_handle t;
      ASSERT_EQ(rt.kernel().spawn(r, {.poll = &waits, .context = &polls}, t), status::ok);
    }
  }
  EXPECT_EQ(rt.kernel().live_tasks(), all_tasks);
  EXPECT_EQ(rt.run_until_idle().steps, all_tasks + 1) << "one dispatch a task, and one step that finds nothing";
  EXPECT_EQ(polls, all_tasks);
  // Half are closed one by one, the rest by shutdown: each task is dispatched twice more, to clean up and to end.
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < regions / 2; ++i) {
    ASSERT_EQ(rt.kernel().close(all[i]), status::ok);
    steps += rt.run_until_idle().steps - 1;
  }
  EXPECT_EQ(steps, all_tasks);
  EXPECT_EQ(rt.kernel().live_tasks(), all_tasks / 2);
  const shutdown_result out = rt.shutdown();
  EXPECT_TRUE(out.is_quiescent());
  EXPECT_EQ(out.steps, all_tasks + 1);
  EXPECT_EQ(polls, 2 * all_tasks);
  EXPECT_EQ(rt.kernel().nominal_used(), nominal_bytes::region);
}

TEST(scale, a_cancel_that_reaches_a_hundred_thousand_tasks_asks_for_no_memory) {
  counting_memory memory;
  {
    runtime_config config = server(journal_mode::digest_only);
    config.memory = memory.port();
    runtime rt(config);
    std::uint64_t polls = 0;
    region_handle top, at;
    ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, top), status::ok);
    at = top;
    for (int depth = 0; depth < 100; ++depth) {
      region_handle next;
      ASSERT_EQ(rt.kernel().create_region(at, {}, next), status::ok);
      at = next;
      for (int i = 0; i < 1'000; ++i) {
        task_handle t;
        ASSERT_EQ(rt.kernel().spawn(at, {.poll = &waits, .context = &polls}, t), status::ok);
      }
    }
    // One region of the same depth was closed before: the pool of causes has its chunks.
    region_handle warm = rt.root();
    region_handle first;
    for (int depth = 0; depth < 101; ++depth) {
      region_handle next;
      ASSERT_EQ(rt.kernel().create_region(warm, {}, next), status::ok);
      if (depth == 0) first = next;
      warm = next;
    }
    ASSERT_EQ(rt.kernel().close(first, {cancel_kind::user, "warm up"}), status::ok);
    rt.run_until_idle();
    const std::size_t before = memory.requests();
    ASSERT_EQ(rt.kernel().close(top, {cancel_kind::user, "all of them"}), status::ok);
    EXPECT_EQ(memory.requests(), before) << "propagation";
    rt.run_until_idle();
    EXPECT_EQ(memory.requests(), before) << "and what follows";
    EXPECT_EQ(rt.kernel().live_tasks(), 0U);
    EXPECT_EQ(polls, 200'000U);
  }
  EXPECT_EQ(memory.bytes(), 0U);
}

TEST(scale, a_steady_state_asks_for_no_memory) {
  counting_memory memory;
  runtime_config config = server();
  config.memory = memory.port();
  runtime rt(config);
  region_handle region;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, region), status::ok);
  static constexpr auto works = [](void*, cx& c) {  // One of everything a poll can take.
    EXPECT_EQ(c.push_cleanup([](void*) { return status::ok; }, nullptr), status::ok);
    obligation_handle o;
    EXPECT_EQ(c.kernel().reserve(c.region(), o), status::ok);
    EXPECT_EQ(c.kernel().commit(o), status::ok);
    slab_key timer;
    EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::milliseconds(1), timer), status::ok);
    return poll_result::ready;
  };
  const auto round = [&](poll_function run) {
    for (int i = 0; i < 8; ++i) {
      task_handle t;
      ASSERT_EQ(rt.kernel().spawn(region, {.poll = run}, t), status::ok);
    }
    rt.run_until_idle();
  };
  round(works);
  const std::size_t before = memory.requests();
  for (std::uint64_t i = 0; i < effort() / 8; ++i) round(i % 16 == 0 ? static_cast<poll_function>(works) : &ends);
  EXPECT_EQ(memory.requests(), before) << "a million tasks, or what the effort allows, after warm-up";
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(scale, a_region_limited_to_sixteen_tasks_spawns_without_end) {
  counting_memory memory;
  runtime_config config = server();
  config.memory = memory.port();
  runtime rt(config);
  region_spec spec;
  spec.max_tasks = 16;
  spec.is_held = true;
  region_handle region;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), spec, region), status::ok);
  const std::uint64_t wanted = effort();
  std::uint64_t made = 0;
  std::size_t requests = 0;
  while (made < wanted) {
    task_handle t;
    while (rt.kernel().spawn(region, {.poll = &ends}, t) == status::ok) ++made;
    ASSERT_EQ(rt.kernel().live_tasks(), 16U);
    rt.run_until_idle();
    if (requests == 0) requests = memory.requests();
  }
  EXPECT_EQ(memory.requests(), requests) << "sixteen records, used again and again";
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(region, out), status::ok);
  EXPECT_TRUE(out.is_ok() && !out.has_value());
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

// ---- the fold of outcomes ----------------------------------------------------------------------------------------

// What a child ends with; `who` tells children of one kind apart.
enum class fate : std::uint8_t { bare, value, err, weak, strong, panicked };
constexpr std::size_t fates = 6;

struct child {
  fate ends_as = fate::bare;
  std::uint64_t who = 0;
  bool may_end = false;

  static poll_result poll(void* self, cx& c) {
    const auto& me = *static_cast<child*>(self);
    const bool is_cancelled = me.ends_as == fate::weak || me.ends_as == fate::strong;
    if (is_cancelled && c.checkpoint() != status::ok) return poll_result::ready;
    if (!me.may_end || is_cancelled) {
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }
    if (me.ends_as == fate::value) c.set_value(me.who);
    if (me.ends_as == fate::err) c.set_error(status::io, me.who);
    if (me.ends_as == fate::panicked) c.panic("told", std::source_location::current());
    return me.ends_as == fate::err ? poll_result::error : poll_result::ready;
  }
};

TEST(scale, the_outcome_of_a_region_is_the_fold_in_creation_order_whatever_ends_first) {
  constexpr std::size_t children = 3;
  runtime rt(server());
  std::size_t cases = 0;
  for (std::size_t code = 0; code < fates * fates * fates; ++code) {
    const std::array<fate, children> plan{static_cast<fate>(code % fates), static_cast<fate>(code / fates % fates),
                                          static_cast<fate>(code / fates / fates)};
    std::array<std::size_t, children> order{0, 1, 2};
    do {
      region_handle region;
      region_spec held;
      held.is_held = true;
      ASSERT_EQ(rt.kernel().create_region(rt.root(), held, region), status::ok);
      std::array<child, children> all;
      std::array<task_handle, children> tasks;
      for (std::size_t i = 0; i < children; ++i) {
        all[i].ends_as = plan[i];
        all[i].who = i + 1;
        task_spec spec{.poll = &child::poll, .context = &all[i]};
        spec.is_held = true;
        ASSERT_EQ(rt.kernel().spawn(region, spec, tasks[i]), status::ok);
      }
      rt.run_until_idle();
      for (const std::size_t i : order) {
        all[i].may_end = true;
        if (plan[i] == fate::weak) must(rt.kernel().request_cancel(tasks[i], {cancel_kind::user, {}}));
        if (plan[i] == fate::strong) must(rt.kernel().request_cancel(tasks[i], {cancel_kind::fail_fast, {}}));
        rt.kernel().waker_of(tasks[i]).wake();
        rt.run_until_idle();
        must(rt.advance(duration::nanoseconds(1)));  // Later cancels are weaker by time, not by creation.
      }
      task_outcome expected;
      for (const task_handle t : tasks) {
        task_outcome one;
        ASSERT_EQ(rt.kernel().result(t, one), status::ok);
        expected = join(expected, one);
      }
      ASSERT_EQ(rt.kernel().close(region), status::ok);
      task_outcome folded;
      ASSERT_EQ(rt.kernel().result(region, folded), status::ok);
      ASSERT_EQ(folded.kind(), expected.kind());
      ASSERT_EQ(folded.has_value(), expected.has_value());
      ASSERT_TRUE(!expected.has_value() || folded.value() == expected.value());
      ASSERT_TRUE(!expected.is_err() || folded.error() == expected.error());
      ASSERT_TRUE(!expected.is_cancelled() || folded.reason() == expected.reason());
      for (const task_handle t : tasks) EXPECT_EQ(rt.kernel().release_task(t), status::ok);
      EXPECT_EQ(rt.kernel().release_region(region), status::ok);
      ++cases;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_EQ(cases, 216U * 6U);
}

// ---- one block of memory -----------------------------------------------------------------------------------------

/// Passes requests on to a block and counts them.
struct counted_block {
  explicit counted_block(std::size_t bytes) : storage(bytes), block(storage) {}
  std::vector<std::byte> storage;
  bump_memory block;
  std::size_t requests = 0;

  [[nodiscard]] memory_port port() {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto& me = *static_cast<counted_block*>(self);
              ++me.requests;
              const memory_port to = me.block.port();
              return to.allocate(to.context, bytes, alignment);
            },
            [](void* self, void* p, std::size_t bytes, std::size_t alignment) noexcept {
              const memory_port to = static_cast<counted_block*>(self)->block.port();
              to.release(to.context, p, bytes, alignment);
            }};
  }
};

TEST(scale, a_tiny_runtime_lives_in_one_block_and_asks_for_nothing_after_its_start) {
  counted_block memory(256 * 1024);
  runtime_config config;
  config.contract = resource_contract::tiny();
  config.memory = memory.port();
  runtime rt(config);
  ASSERT_EQ(rt.start_status(), status::ok);
  const std::size_t used = memory.block.used(), requests = memory.requests;
  RecordProperty("bytes", std::to_string(used));
  EXPECT_LE(used, 156U * 1024U) << "what tiny needs";

  // Everything that the contract allows, three times over.
  for (int round = 0; round < 3; ++round) {
    std::uint64_t polls = 0;
    std::vector<region_handle> regions;
    for (region_handle r = rt.root(); rt.kernel().create_region(r, {}, r) == status::ok;) regions.push_back(r);
    EXPECT_EQ(regions.size(), 15U);
    task_handle t;
    std::size_t tasks = 0;
    while (rt.kernel().spawn(regions[tasks % 15], {.poll = &waits, .context = &polls}, t) == status::ok) ++tasks;
    EXPECT_EQ(tasks, 64U);
    obligation_handle o;
    std::size_t obligations = 0;
    while (rt.kernel().reserve(regions[obligations % 15], o) == status::ok) ++obligations;
    EXPECT_EQ(obligations, 64U);
    slab_key timer;
    std::size_t timers = 0;
    while (rt.kernel().register_timer(regions[timers % 15], instant{1'000'000'000U * (timers + 1)}, timer) ==
           status::ok) {
      ++timers;
    }
    EXPECT_EQ(timers, 64U);
    rt.run_until_idle();
    ASSERT_EQ(rt.kernel().close(regions[0], {cancel_kind::user, "a message that is longer than what tiny keeps of it"}),
              status::ok);
    rt.run_until_idle();
    EXPECT_EQ(rt.kernel().live_tasks(), 0U);
    EXPECT_EQ(rt.kernel().live_regions(), 1U);
  }
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  EXPECT_EQ(memory.requests, requests);
  EXPECT_EQ(memory.block.used(), used);
}

TEST(scale, a_block_that_is_too_small_is_refused_at_the_start) {  // U-36
  std::size_t least = 0;
  for (std::size_t kilobytes = 4; least == 0 && kilobytes <= 156; kilobytes += 4) {
    counted_block memory(kilobytes * 1024);
    runtime_config config;
    config.contract = resource_contract::tiny();
    config.memory = memory.port();
    runtime rt(config);
    if (rt.start_status() == status::ok) least = kilobytes;
    EXPECT_TRUE(least != 0 || rt.start_status() == status::resource_exhausted);
  }
  EXPECT_GT(least, 0U);
  RecordProperty("kilobytes", std::to_string(least));
}

}  // namespace
}  // namespace asx
