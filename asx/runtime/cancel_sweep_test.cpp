// A cancel of every kind at every poll of every scenario: of the task, of its region, of the whole runtime.
//
// Whatever the moment, everything ends: quiescence, no obligation reserved, stacks unwound, polls after the cancel
// within the quotas of its kind, and a schedule that its journal proves legal. All of that is held by the stage
// (asx/runtime/testing/stage.hpp); here the moments are enumerated. With ASX_MODEL_OPS below a million, as on emulated
// machines, one poll in nine is struck.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "asx/runtime/testing/scenarios.hpp"

namespace asx {
namespace {

using testing::scenario;
using testing::scenarios;
using testing::stage;
using testing::stage_config;

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
    return r.state != task_state::completed;
  }
  if (m.what == target::region) {
    region_report r;
    if (s.k().inspect(region, r) != status::ok || r.state != region_state::open || region == s.root()) return false;
    EXPECT_EQ(s.k().close(region, why), status::ok);
    return true;
  }
  EXPECT_EQ(s.k().begin_shutdown(why), status::ok);
  return true;
}

/// False when the run had no k-th poll.
bool play(const scenario& what, const moment& m, std::uint64_t& strikes) {
  stage s(stage_config());
  EXPECT_EQ(s.started, status::ok);
  s.compares = !what.is_long;
  bool is_hit = false;
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
    s.after_step = [&, was_struck = false](stage& on) mutable {
      if (is_hit && !std::exchange(was_struck, true)) strikes += strike(on, m, task, region) ? 1U : 0U;
    };
  }
  what.play(s);
  s.end();
  return is_hit;
}

class cancel_sweep : public ::testing::TestWithParam<target> {};

TEST_P(cancel_sweep, everything_ends_well_whatever_the_moment_and_the_kind) {
  const std::uint64_t stride = testing::effort() < 1'000'000 ? 9 : 1;
  std::uint64_t runs = 0, all = 0;
  for (const scenario& what : scenarios()) {
    std::uint64_t strikes = 0;
    for (const cancel_kind_info& kind : cancel_kind_table) {
      for (const bool is_inside : {true, false}) {
        bool is_hit = true;
        for (std::uint64_t k = 1; is_hit; k += stride) {
          SCOPED_TRACE(std::string(what.name) + ": " + std::string(target_names[static_cast<int>(GetParam())]) +
                       " cancelled as " + std::string(kind.name) + (is_inside ? " in" : " after") + " poll " +
                       std::to_string(k));
          is_hit = play(what, {GetParam(), kind.kind, is_inside, k}, strikes);
          ++runs;
          if (HasFailure()) return;
        }
      }
    }
    EXPECT_GE(strikes, 11U) << what.name << ": a sweep that hits nothing proves nothing";
    all += strikes;
  }
  RecordProperty("strikes", std::to_string(all) + " in " + std::to_string(runs) + " runs");
}

INSTANTIATE_TEST_SUITE_P(of, cancel_sweep, ::testing::Values(target::task, target::region, target::runtime),
                         [](const auto& of) { return std::string(target_names[static_cast<int>(of.param)]); });

}  // namespace
}  // namespace asx
