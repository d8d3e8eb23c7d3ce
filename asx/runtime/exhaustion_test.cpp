// Every limit of the contract at every value, and every allocation refused, while scenarios are played.
//
// A refusal changes nothing and says which limit it met; the program goes on and still shuts down to quiescence. That
// is checked at every call (asx/runtime/testing/stage.hpp); here the injectors are counted, because a sweep that hits
// nothing proves nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "asx/base/testing.hpp"
#include "asx/runtime/testing/scenarios.hpp"

namespace asx {
namespace {

using testing::counting_memory;
using testing::scenario;
using testing::scenarios;
using testing::stage;
using testing::stage_config;

struct swept_limit {
  std::string_view name;
  limit_code code;
  void (*set)(resource_contract& c, std::uint32_t k);
  std::uint32_t stride = 1;
};

constexpr swept_limit limits[] = {
    {"max_tasks", limit_code::tasks, [](resource_contract& c, std::uint32_t k) { c.max_tasks = k; }},
    {"max_ready_queue", limit_code::ready_queue, [](resource_contract& c, std::uint32_t k) { c.max_ready_queue = k; }},
    {"max_regions", limit_code::regions, [](resource_contract& c, std::uint32_t k) { c.max_regions = k; }},
    {"max_obligations", limit_code::obligations, [](resource_contract& c, std::uint32_t k) { c.max_obligations = k; }},
    {"max_timers", limit_code::timers, [](resource_contract& c, std::uint32_t k) { c.max_timers = k; }},
    {"max_cancel_queue", limit_code::cancel_queue,
     [](resource_contract& c, std::uint32_t k) { c.max_cancel_queue = k; }},
    {"max_cleanup_entries", limit_code::cleanup_stack,
     [](resource_contract& c, std::uint32_t k) { c.max_cleanup_entries = k; }},
    {"max_cleanup_per_task", limit_code::cleanup_stack,
     [](resource_contract& c, std::uint32_t k) { c.max_cleanup_per_task = k; }},
    {"max_finalizers", limit_code::finalizers, [](resource_contract& c, std::uint32_t k) { c.max_finalizers = k; }},
    {"max_finalizers_per_region", limit_code::finalizers,
     [](resource_contract& c, std::uint32_t k) { c.max_finalizers_per_region = k; }},
    {"max_tasks_per_region", limit_code::region_tasks,
     [](resource_contract& c, std::uint32_t k) { c.max_tasks_per_region = k; }},
    {"max_mask_depth", limit_code::mask_depth, [](resource_contract& c, std::uint32_t k) { c.max_mask_depth = k; }},
    {"max_bytes", limit_code::memory, [](resource_contract& c, std::uint32_t k) { c.max_bytes = k; }, 32},
};

struct tally {
  std::uint64_t runs = 0;
  std::uint64_t hits = 0;    // Calls that were refused.
  std::uint64_t starts = 0;  // Runtimes that could not start.
};

/// Plays once; how often the limit was met.
std::uint64_t play(const scenario& what, const runtime_config& config, const swept_limit& limit, std::uint32_t k) {
  stage s(config);
  if (s.started != status::ok) return 1;
  what.play(s);
  for (const event& e : s.exhausted) {
    EXPECT_EQ(high_half(e.a), static_cast<std::uint32_t>(limit.code)) << "another limit: " << name(e.kind);
    EXPECT_EQ(e.b, k) << "the value of the limit, " << name(e.kind);
  }
  s.end();
  return s.exhausted.size();
}

TEST(exhaustion, a_limit_of_any_value_refuses_whole_and_the_program_ends_well) {  // FB-100 to FB-103, R-140
  const std::uint32_t hurry = testing::effort() < 1'000'000 ? 9 : 1;  // Emulated machines take fewer values.
  for (const swept_limit& limit : limits) {
    tally all;
    for (const scenario& what : scenarios()) {
      // In steps of one; bytes, which have many values, in steps of 32, and of five times that in the crowd.
      const std::uint32_t stride =
          limit.stride * (what.name == "crowd" && limit.code == limit_code::memory ? 5 : 1) * hurry;
      std::uint64_t hits = 1;
      std::uint32_t k = limit.code == limit_code::memory ? limit.stride : 0;  // 0 bytes means no ceiling.
      for (; hits != 0 && k < 100'000; k += stride) {
        SCOPED_TRACE(std::string(limit.name) + " = " + std::to_string(k) + ", scenario " + std::string(what.name));
        runtime_config config = stage_config();
        limit.set(config.contract, k);
        hits = play(what, config, limit, k);
        all.hits += hits;
        ++all.runs;
        if (HasFailure()) return;
      }
      EXPECT_EQ(hits, 0U) << "the sweep ends with a run that is not refused";
    }
    EXPECT_GT(all.hits, all.runs / 4) << limit.name << ": a sweep that hits nothing proves nothing";
    RecordProperty(std::string(limit.name), std::to_string(all.hits) + " refusals in " + std::to_string(all.runs));
  }
}

TEST(exhaustion, a_store_of_causes_of_any_size_cuts_chains_and_refuses_nobody) {
  std::uint64_t cut = 0;
  for (const scenario& what : scenarios()) {
    std::uint64_t cut_here = 1;
    std::uint32_t k = 0;
    for (; cut_here != 0 && k < 100; ++k) {
      SCOPED_TRACE("max_causes = " + std::to_string(k) + ", scenario " + std::string(what.name));
      runtime_config config = stage_config();
      config.contract.max_causes = k;
      stage s(config);
      ASSERT_EQ(s.started, status::ok);
      s.compares = false;
      what.play(s);
      EXPECT_TRUE(s.exhausted.empty());
      s.end();
      cut_here = s.count(event_kind::chain_truncated);
      cut += cut_here;
      if (HasFailure()) return;
    }
    EXPECT_EQ(cut_here, 0U) << "the sweep ends with a run that keeps every chain";
  }
  EXPECT_GT(cut, 0U) << "a sweep that hits nothing proves nothing";
  RecordProperty("max_causes", std::to_string(cut) + " chains cut");
}

TEST(exhaustion, a_refused_allocation_refuses_one_call_and_the_program_ends_well) {  // U-36
  for (const bool is_final : {false, true}) {  // One request fails, or all from there on.
    tally all;
    for (const scenario& what : scenarios()) {
      bool was_hit = true;
      for (std::size_t k = 0; was_hit; ++k) {
        SCOPED_TRACE("request " + std::to_string(k) + (is_final ? " and all after it" : "") + " refused, scenario " +
                     std::string(what.name));
        counting_memory memory;
        memory.refuse_from = k;
        memory.refuse_to = is_final ? counting_memory::never : k + 1;
        runtime_config config = stage_config();
        config.memory = memory.port();
        {
          stage s(config);
          if (s.started == status::ok) {
            what.play(s);
            for (const event& e : s.exhausted) {
              EXPECT_EQ(high_half(e.a), static_cast<std::uint32_t>(limit_code::memory)) << name(e.kind);
            }
            if (!is_final) {
              EXPECT_LE(s.exhausted.size(), 1U) << "one refused request refuses one call";
            }
            s.end();
            all.hits += s.exhausted.size();
          } else {
            EXPECT_EQ(s.started, status::resource_exhausted);
            ++all.starts;
          }
        }
        was_hit = memory.requests() > k;
        ++all.runs;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(all.hits, 0U);
    EXPECT_GT(all.starts, 0U);
    RecordProperty(is_final ? "all_from_k" : "only_k", std::to_string(all.hits) + " refusals and " +
                                                           std::to_string(all.starts) + " starts in " +
                                                           std::to_string(all.runs));
  }
}

// ---- faults on purpose (asx/kernel/fault.hpp) ---------------------------------------------------------------------

/// Strikes at the k-th point of a kind.
struct one_strike {
  fault_point what;
  std::uint64_t at;
  std::uint64_t seen = 0;

  [[nodiscard]] bool has_struck() const { return seen >= at; }
  [[nodiscard]] fault_port port() {
    return {.context = this,
            .strikes =
                [](void* self, fault_point p, std::uint64_t) noexcept {
                  auto& s = *static_cast<one_strike*>(self);
                  return p == s.what && ++s.seen == s.at;
                },
            .message = "struck"};
  }
};

/// What the contract says of the limit that a refusal names.
std::uint64_t value_of(const resource_contract& c, limit_code code) {
  switch (code) {
    case limit_code::tasks: return c.max_tasks;
    case limit_code::regions: return c.max_regions;
    case limit_code::obligations: return c.max_obligations;
    case limit_code::timers: return c.max_timers;
    case limit_code::cancel_queue: return c.max_cancel_queue;
    case limit_code::cleanup_stack: return c.max_cleanup_entries;
    case limit_code::finalizers: return c.max_finalizers;
    case limit_code::mask_depth: return c.max_mask_depth;
    case limit_code::memory: return c.max_bytes;
    default: return UINT64_MAX;
  }
}

/// In the crowd many points are alike; emulated machines take fewer of all.
std::uint64_t stride_of(const scenario& what) {
  return (what.name == "crowd" ? 7U : 1U) * (testing::effort() < 1'000'000 ? 9U : 1U);
}

TEST(exhaustion, an_admission_that_is_struck_is_refused_as_by_its_limit_and_changes_nothing) {
  std::array<std::uint64_t, 64> by_limit{};
  std::uint64_t deferred = 0;
  for (const scenario& what : scenarios()) {
    bool was_struck = true;
    for (std::uint64_t k = 1; was_struck; k += stride_of(what)) {
      SCOPED_TRACE("admission " + std::to_string(k) + " refused, scenario " + std::string(what.name));
      one_strike strike{fault_point::admission, k};
      stage s(stage_config());
      ASSERT_EQ(s.started, status::ok);
      s.k().set_faults(strike.port());
      what.play(s);
      EXPECT_LE(s.exhausted.size(), 1U) << "one strike refuses one call";
      for (const event& e : s.exhausted) {
        EXPECT_EQ(e.b, value_of(s.k().contract(), static_cast<limit_code>(high_half(e.a)))) << name(e.kind);
        ++by_limit.at(high_half(e.a));
      }
      s.end();
      deferred += s.count(event_kind::cancel_deferred);
      was_struck = strike.has_struck();
      s.k().set_faults({});
      if (HasFailure()) return;
    }
  }
  for (const limit_code code :
       {limit_code::tasks, limit_code::regions, limit_code::obligations, limit_code::timers, limit_code::cancel_queue,
        limit_code::cleanup_stack, limit_code::finalizers, limit_code::mask_depth, limit_code::memory}) {
    EXPECT_GT(by_limit.at(static_cast<std::size_t>(code)), 0U) << static_cast<int>(code) << " was never struck";
  }
  EXPECT_GT(deferred, 0U) << "cancels of the kernel's own wait for room (R-14)";
}

TEST(exhaustion, a_task_that_is_struck_anywhere_answers_and_the_program_ends_well) {
  for (const fault_point what : {fault_point::cancel, fault_point::poll, fault_point::cost}) {
    std::uint64_t struck = 0;
    for (const scenario& which : scenarios()) {
      bool was_struck = true;
      for (std::uint64_t k = 1; was_struck; k += stride_of(which)) {
        SCOPED_TRACE("point " + std::to_string(k) + ", kind " + std::to_string(static_cast<int>(what)) + ", scenario " +
                     std::string(which.name));
        one_strike strike{what, k};
        runtime_config config = stage_config();
        config.behaviour.ghosts = ghost_mode::on;
        stage s(config);
        ASSERT_EQ(s.started, status::ok);
        s.k().set_faults(strike.port());
        which.play(s);
        EXPECT_TRUE(s.exhausted.empty());
        s.end();
        was_struck = strike.has_struck();
        struck += was_struck ? 1U : 0U;
        s.k().set_faults({});
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(struck, 0U) << "a sweep that hits nothing proves nothing";
    RecordProperty("points_" + std::to_string(static_cast<int>(what)), std::to_string(struck));
  }
}

}  // namespace
}  // namespace asx
