// Scenarios that nobody wrote: each plays to the same end again, and in every profile.
#include <algorithm>
#include <cstdlib>

#include "asx/scenario/testing/playing.hpp"
#include "asx/scenario/testing/random_scenario.hpp"

namespace asx::scenario::testing {
namespace {

// Goal:   a play depends on the file, the seed and nothing else; a profile shows only where a limit is met.
// Method: whatever a seed makes, played twice in core and once each in tiny and server.
TEST(scenario_random, plays_to_the_same_digest_again_and_in_every_profile) {
  const char* const asked = std::getenv("ASX_RANDOM_SCENARIOS");
  const std::uint64_t count = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 24;
  std::uint64_t compared = 0, events = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string json = random_scenario(seed).json();
    const std::unique_ptr<scenario> s = read_or_complain(json);
    ASSERT_NE(s, nullptr);
    const play_options core{.seed = seed, .max_steps = 20'000};
    const verdict first = play(*s, core);
    const verdict again = play(*s, core);
    ASSERT_EQ(first.digest, again.digest) << json;
    ASSERT_EQ(failures_of(first), failures_of(again)) << json;
    ASSERT_EQ(first.said, again.said) << json;
    events += first.journal.size();
    for (const profile p : {profile::tiny, profile::server}) {
      play_options other = core;
      other.with = p;
      const verdict v = play(*s, other);
      const bool met_a_limit = v.limit_refusals != 0 || first.limit_refusals != 0 ||
                               std::any_of(v.journal.begin(), v.journal.end(),
                                           [](const event& e) { return e.kind == event_kind::chain_truncated; });
      if (met_a_limit) continue;
      ASSERT_EQ(first.digest, v.digest) << name(p) << '\n' << json;
      ++compared;
    }
  }
  EXPECT_GT(compared, count) << "most seeds meet no limit, or this shows nothing";
  EXPECT_GT(events, 50 * count) << "something happens in them";
}

}  // namespace
}  // namespace asx::scenario::testing
