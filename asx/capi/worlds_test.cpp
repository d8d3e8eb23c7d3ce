// The conformance suite over two back ends: what the kernel answers in C++, it answers through asx.h, event by event.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "asx/base/testing.hpp"
#include "asx/capi/testing/world_c.hpp"
#include "asx/journal/describe.hpp"
#include "asx/scenario/testing/playing.hpp"
#include "asx/scenario/testing/random_scenario.hpp"

namespace asx::scenario::testing {
namespace {

std::vector<event> semantic(const std::vector<event>& from) {
  std::vector<event> out;
  std::copy_if(from.begin(), from.end(), std::back_inserter(out), [](const event& e) { return e.semantic(); });
  return out;
}

void plays_alike(const scenario& s, const play_options& over_kernel, const std::string& json) {
  play_options over_c = over_kernel;
  over_c.make_world = &make_c_world;
  const verdict a = play(s, over_kernel);
  const verdict b = play(s, over_c);
  ASSERT_EQ(failures_of(a), failures_of(b)) << json;
  ASSERT_EQ(a.said, b.said) << json;
  // Diagnostics name sites, which differ; what counts must not.
  const std::vector<event> told_a = semantic(a.journal), told_b = semantic(b.journal);
  for (std::size_t i = 0; i < told_a.size() && i < told_b.size(); ++i) {
    ASSERT_TRUE(told_a[i] == told_b[i]) << describe(told_a[i]) << "\nover C: " << describe(told_b[i]) << '\n' << json;
  }
  ASSERT_EQ(a.digest, b.digest) << json;
}

TEST(capi_worlds, random_scenarios_have_the_same_digest_over_c_and_over_cpp) {
  const char* const asked = std::getenv("ASX_RANDOM_SCENARIOS");
  const std::uint64_t count = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 24;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string json = random_scenario(seed).json();
    const std::unique_ptr<scenario> s = read_or_complain(json);
    ASSERT_NE(s, nullptr);
    for (const profile p : {profile::core, profile::tiny}) {
      play_options options{.seed = seed, .max_steps = 20'000};
      options.with = p;
      plays_alike(*s, options, json);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(capi_worlds, every_fixture_has_the_same_digest_over_c_and_over_cpp) {
  const std::filesystem::path folder = asx::testing::project_folder() / "conformance/fixtures";
  std::uint64_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    SCOPED_TRACE(entry.path().string());
    std::vector<complaint> wrong;
    const std::unique_ptr<scenario> s = read(text.str(), entry.path().filename().string(), wrong);
    ASSERT_NE(s, nullptr) << wrong.front().text;
    ++files;
    if (!s->same_as.empty()) continue;
    for (const profile p : s->profiles) {
      for (const std::uint64_t seed : s->seeds) {
        play_options options{.seed = seed};
        options.with = p;
        plays_alike(*s, options, {});
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_EQ(files, 147U);
}

}  // namespace
}  // namespace asx::scenario::testing
