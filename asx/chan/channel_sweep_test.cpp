// A pipeline of two channels under a cancel at every poll, every limit at every value, and every allocation refused.
//
// Nothing is lost and nothing comes twice: each parcel dies once, is received at most once, and the journal accounts
// for all of them; all slots come back, and the runtime comes to rest (asx/chan/testing/pipeline.hpp). Here the moments
// are enumerated and counted, because a sweep that hits nothing proves nothing. With ASX_MODEL_OPS below a million, as
// on emulated machines, one moment in nine is struck.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "asx/base/testing.hpp"
#include "asx/chan/testing/pipeline.hpp"

namespace asx {
namespace {

using testing::counting_memory;
using testing::expect_accounted;
using testing::message_kit;
using testing::parcel_book;
using testing::pipeline;
using testing::plain_kit;
using testing::stage;
using testing::stage_config;
using testing::tracked_kit;

std::uint64_t stride() {
  return testing::effort() < 1'000'000 ? 9 : 1;
}

enum class kit : std::uint8_t { plain, tracked, message };
constexpr std::string_view kit_names[] = {"plain", "tracked", "message"};

struct setting {
  kit by;
  std::uint32_t capacity;
  bool is_deaf = false;
};
constexpr setting settings[] = {{kit::plain, 1},   {kit::plain, 2},   {kit::tracked, 1},
                                {kit::tracked, 2}, {kit::message, 1}, {kit::message, 2}};

std::string text(const setting& how) {
  return std::string(kit_names[static_cast<int>(how.by)]) + (how.is_deaf ? ", deaf" : "") + ", capacity " +
         std::to_string(how.capacity);
}

/// Plays the pipeline to the end of its runtime.
void run(stage& s, parcel_book& book, const setting& how) {
  switch (how.by) {
    case kit::plain: pipeline<plain_kit>::open(s, book, how.capacity, how.is_deaf); break;
    case kit::tracked: pipeline<tracked_kit>::open(s, book, how.capacity, how.is_deaf); break;
    case kit::message: pipeline<message_kit>::open(s, book, how.capacity, how.is_deaf); break;
  }
  s.run();
  s.end();
  s.actors.clear();  // Frames of tasks that were forced to end still have what they had in hand.
}

TEST(channel_sweep, undisturbed_every_parcel_arrives) {
  for (const setting& how : settings) {
    SCOPED_TRACE(text(how));
    parcel_book book;
    stage s(stage_config());
    run(s, book, how);
    EXPECT_EQ(book.order.size(), 9U);
    EXPECT_EQ(s.count(event_kind::permit_sent), 18U);
    EXPECT_EQ(s.count(event_kind::permit_aborted), 0U);
    expect_accounted(s, book, how.by != kit::message);
  }
}

// ---- cancels ------------------------------------------------------------------------------------------------------

enum class target : std::uint8_t { task, region, runtime };
constexpr std::string_view target_names[] = {"task", "region", "runtime"};

struct moment {
  target what;
  cancel_kind kind;
  bool is_inside;  // From inside the poll, by the task itself; else from outside, after it.
  std::uint64_t k;
};

/// True when there was somebody to strike.
bool strike(stage& s, const moment& m, task_handle task, region_handle region) {
  const cancel_request why{m.kind, "struck by a sweep"};
  if (m.what == target::task) {
    task_report r;
    if (s.k().inspect(task, r) != status::ok) return false;  // It has ended, and nobody holds it.
    EXPECT_EQ(s.k().request_cancel(task, why), status::ok);
    return true;
  }
  if (m.what == target::region) {
    region_report r;
    if (s.k().inspect(region, r) != status::ok || r.state != region_state::open) return false;
    EXPECT_EQ(s.k().close(region, why), status::ok);
    return true;
  }
  EXPECT_EQ(s.k().begin_shutdown(why), status::ok);
  return true;
}

/// False when the run had no k-th poll.
bool play(const setting& how, const moment& m, std::uint64_t& strikes) {
  parcel_book book;
  stage s(stage_config());
  s.compares = false;  // A refusal is compared in the other sweeps.
  bool is_hit = false, was_struck = false;
  task_handle task;
  region_handle region;
  s.on_poll = [&](stage& on, cx& c, stage::actor&) {
    if (on.polls != m.k) return;
    task = c.handle();
    region = c.region();
    is_hit = true;
    if (m.is_inside) strikes += strike(on, m, task, region) ? 1U : 0U;
  };
  if (!m.is_inside) {
    s.after_step = [&](stage& on) {
      if (is_hit && !std::exchange(was_struck, true)) strikes += strike(on, m, task, region) ? 1U : 0U;
    };
  }
  run(s, book, how);
  expect_accounted(s, book, how.by != kit::message);
  return is_hit;
}

class channel_cancel_sweep : public ::testing::TestWithParam<target> {
 protected:
  void sweep(const setting& how, cancel_kind kind) {
    std::uint64_t strikes = 0;
    for (const bool is_inside : {true, false}) {
      bool is_hit = true;
      for (std::uint64_t k = 1; is_hit; k += stride()) {
        SCOPED_TRACE(text(how) + ": " + std::string(target_names[static_cast<int>(GetParam())]) + " cancelled as " +
                     std::string(name(kind)) + (is_inside ? " in" : " after") + " poll " + std::to_string(k));
        is_hit = play(how, {GetParam(), kind, is_inside, k}, strikes);
        if (HasFailure()) return;
      }
    }
    const std::uint64_t least = how.by == kit::message ? 20 : 40;  // A message that was taken needs no poll.
    EXPECT_GE(strikes, stride() == 1 ? least : least / 10) << text(how) << ": a sweep that hits nothing proves nothing";
  }
};

TEST_P(channel_cancel_sweep, nothing_is_lost_and_nothing_comes_twice_whatever_the_moment) {
  for (const setting& how : settings) {
    for (const cancel_kind_info& kind : cancel_kind_table) {
      sweep(how, kind.kind);
      if (HasFailure()) return;
    }
  }
}

TEST_P(channel_cancel_sweep, a_producer_that_never_looks_is_forced_and_its_slot_comes_back) {
  for (setting how : settings) {
    how.is_deaf = true;
    sweep(how, cancel_kind::shutdown);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(of, channel_cancel_sweep, ::testing::Values(target::task, target::region, target::runtime),
                         [](const auto& of) { return std::string(target_names[static_cast<int>(of.param)]); });

// ---- limits and memory --------------------------------------------------------------------------------------------

struct swept_limit {
  std::string_view name;
  limit_code code;
  void (*set)(resource_contract& c, std::uint32_t k);
  std::uint32_t step = 1;
};
constexpr swept_limit limits[] = {
    {"max_channels", limit_code::channels, [](resource_contract& c, std::uint32_t k) { c.max_channels = k; }},
    {"max_channel_waiters", limit_code::channel_waiters,
     [](resource_contract& c, std::uint32_t k) { c.max_channel_waiters = k; }},
    {"max_obligations", limit_code::obligations, [](resource_contract& c, std::uint32_t k) { c.max_obligations = k; }},
    {"max_bytes", limit_code::memory, [](resource_contract& c, std::uint32_t k) { c.max_bytes = k; }, 32},
};

/// How many calls met a limit, each of which must be this one.
std::uint64_t count_refusals(stage& s, limit_code code) {
  s.rt.journal().settle();
  std::uint64_t out = 0;
  for (const event& e : s.events) {
    if (!is_refusal(e.kind) || low_half(e.a) != static_cast<std::uint32_t>(status::resource_exhausted)) continue;
    EXPECT_EQ(high_half(e.a), static_cast<std::uint32_t>(code)) << "another limit: " << name(e.kind);
    ++out;
  }
  return out;
}

TEST(channel_sweep, a_limit_of_any_value_refuses_whole_and_the_pipeline_ends_well) {  // FB-103, R-140, R-174
  for (const swept_limit& limit : limits) {
    std::uint64_t hits = 0;
    for (const setting& how : settings) {
      std::uint64_t hits_here = 1;
      std::uint32_t k = limit.code == limit_code::memory ? limit.step : 0;  // 0 bytes means no ceiling.
      for (; hits_here != 0 && k < 20'000; k += limit.step * static_cast<std::uint32_t>(stride())) {
        SCOPED_TRACE(std::string(limit.name) + " = " + std::to_string(k) + ", " + text(how));
        runtime_config config = stage_config();
        limit.set(config.contract, k);
        parcel_book book;
        stage s(config);
        if (s.started != status::ok) continue;
        run(s, book, how);
        hits_here = count_refusals(s, limit.code);
        hits += hits_here;
        expect_accounted(s, book, how.by != kit::message);
        if (HasFailure()) return;
        if (hits_here != 0) continue;
        EXPECT_EQ(book.order.size(), 9U);
      }
      EXPECT_EQ(hits_here, 0U) << "the sweep ends with a run that is not refused";
    }
    EXPECT_GT(hits, 0U) << limit.name << ": a sweep that hits nothing proves nothing";
    RecordProperty(std::string(limit.name), std::to_string(hits) + " refusals");
  }
}

TEST(channel_sweep, a_refused_allocation_refuses_one_call_and_the_pipeline_ends_well) {  // U-36
  for (const bool is_final : {false, true}) {  // One request fails, or all from there on.
    std::uint64_t hits = 0, of_channels = 0;
    for (const setting& how : settings) {
      bool was_hit = true;
      for (std::size_t k = 0; was_hit; ++k) {
        SCOPED_TRACE("request " + std::to_string(k) + (is_final ? " and all after it" : "") + " refused, " + text(how));
        counting_memory memory;
        memory.refuse_from = k;
        memory.refuse_to = is_final ? counting_memory::never : k + 1;
        runtime_config config = stage_config();
        config.memory = memory.port();
        parcel_book book;
        {
          stage s(config);
          if (s.started == status::ok) {
            run(s, book, how);
            hits += count_refusals(s, limit_code::memory);
            of_channels += s.count(event_kind::refused_channel);
            expect_accounted(s, book, how.by != kit::message);
          }
        }
        was_hit = memory.requests() > k;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(hits, 0U) << "a sweep that hits nothing proves nothing";
    EXPECT_GT(of_channels, 0U);
  }
}

}  // namespace
}  // namespace asx
