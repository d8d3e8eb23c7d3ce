// The same calls give the same run: every scenario twice, and one against a digest that is written down here.
#include <gtest/gtest.h>

#include <string>

#include "asx/runtime/testing/scenarios.hpp"

namespace asx {
namespace {

using testing::scenario;
using testing::scenarios;
using testing::stage;
using testing::stage_config;

struct trace {
  digest128 digest;
  std::uint64_t events = 0;
  std::uint64_t polls = 0;
  std::uint64_t state = 0;

  friend bool operator==(const trace&, const trace&) = default;
};

trace play(const scenario& what, const runtime_config& config) {
  stage s(config);
  EXPECT_EQ(s.started, status::ok);
  what.play(s);
  trace out;
  out.state = s.k().state_hash();
  s.end();
  out.digest = s.rt.journal().digest();
  out.events = s.rt.journal().seq();
  out.polls = s.polls;
  return out;
}

std::string text(const digest128& d) {
  const auto hex = d.hex();
  return {hex.begin(), hex.end()};
}

TEST(determinism, a_scenario_that_is_played_twice_leaves_the_same_journal) {  // R-120, FB-015
  for (const scenario& what : scenarios()) {
    SCOPED_TRACE(what.name);
    for (const std::uint64_t seed : {0U, 7U}) {
      runtime_config config = stage_config();
      config.seed = seed;
      config.workers = seed == 0 ? 1 : 3;
      config.order = seed == 0 ? worker_order::kind::round_robin : worker_order::kind::drawn;
      config.ready_tiebreak = seed == 0 ? tie_break::fifo : tie_break::rng;
      EXPECT_EQ(play(what, config), play(what, config));
    }
  }
}

TEST(determinism, a_scenario_does_not_depend_on_the_size_of_pools_and_rings) {
  for (const scenario& what : scenarios()) {
    SCOPED_TRACE(what.name);
    runtime_config large = stage_config();
    large.contract = resource_contract::core();
    runtime_config all_at_once = stage_config();
    all_at_once.contract.reserve_all = true;
    const trace first = play(what, stage_config());
    EXPECT_EQ(first.digest, play(what, large).digest);
    EXPECT_EQ(first.digest, play(what, all_at_once).digest);
  }
}

// A change of these digests is a change of what asx does: every compiler, word size and byte order must give the same.
TEST(determinism, a_scenario_has_the_digest_that_it_has_on_every_machine) {
  const struct {
    std::string_view name;
    std::string_view digest;
  } golden[] = {
      {"family", "147b040e3aa1e01679aaf955377dfdc6"},
      {"sleepers", "a66afaca378cacf9c3ee47a4fa564e8b"},
      {"farewells", "d94d9c4e25f15b0d3a93fe868015c4c7"},
  };
  for (const auto& g : golden) {
    for (const scenario& what : scenarios()) {
      if (what.name != g.name) continue;
      EXPECT_EQ(text(play(what, stage_config()).digest), g.digest) << what.name;
    }
  }
}

}  // namespace
}  // namespace asx
