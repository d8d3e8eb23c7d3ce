// asx/scenario/fixtures_test.cpp - every fixture of the specification, on every build and machine that runs tests.
//
// `asx conform` does the same with codecs and reports; this one needs no command, so that sanitizers, foreign
// architectures and other compilers hold the kernel to the same digests.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "asx/scenario/recycled_memory.hpp"
#include "asx/scenario/testing/fixtures.hpp"

namespace asx::scenario {
namespace {

std::string show(const digest128& d) {
  const auto digits = d.hex();
  return {digits.data(), digits.size()};
}

std::string play_all_seeds(const std::string& id, const scenario& s, profile with, const memory_port& memory) {
  std::vector<digest128> plays;
  for (const std::uint64_t seed : s.seeds) {
    play_options how;
    how.with = with;
    how.seed = seed;
    how.memory = memory;
    const verdict v = play(s, how);
    EXPECT_GT(v.checks, 0U) << id << " checks nothing";
    for (const failure& f : v.failures) {
      ADD_FAILURE() << id << " line " << f.at.line << ", " << name(with) << ", seed " << seed << ": " << f.step << ": "
                    << f.text;
    }
    plays.push_back(v.digest);
  }
  return show(digest_of(plays));
}

void hold_to_digests(profile with) {
  const auto fixtures = testing::all_fixtures();
  const auto kept = testing::texts_in(testing::read_json("digests.json"));
  recycled_memory memory;
  EXPECT_EQ(fixtures.size(), 147U);
  EXPECT_EQ(kept.size(), fixtures.size());
  for (const auto& [id, own] : fixtures) {
    const auto at = own->same_as.empty() ? fixtures.find(id) : fixtures.find(own->same_as);
    ASSERT_NE(at, fixtures.end()) << id << " is the same as " << own->same_as << ", which is not there";
    const auto& listed = at->second->profiles;
    if (std::find(listed.begin(), listed.end(), with) == listed.end()) continue;
    const auto digest = kept.find(id);
    ASSERT_NE(digest, kept.end()) << id << " has no digest in digests.json";
    EXPECT_EQ(play_all_seeds(id, *at->second, with, memory.port()), digest->second) << id;
  }
}

TEST(fixtures, hold_in_the_tiny_profile_and_come_to_their_digests) {
  hold_to_digests(profile::tiny);
}

TEST(fixtures, hold_in_the_core_profile_and_come_to_their_digests) {
  hold_to_digests(profile::core);
}

TEST(fixtures, hold_in_the_server_profile_and_come_to_their_digests) {
  hold_to_digests(profile::server);
}

}  // namespace
}  // namespace asx::scenario
