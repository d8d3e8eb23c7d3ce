// tests/interleave/expect.hpp - the two things that a test says of a world: it holds, or it is broken and noticed.
//
// Cancel points: none. Threads: one. Lifetime: none.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tests/interleave/engine.hpp"

namespace asx::interleave {

/// In every interleaving that `most` allows; how many there were is in the test's report.
inline void expect_all_hold(unsigned threads, const std::function<std::unique_ptr<world>()>& make,
                            const limits& most = {}) {
  const verdict v = explore(threads, make, most);
  EXPECT_TRUE(v.holds) << v.story;
  EXPECT_GT(v.executions, 1U) << "there is nothing to interleave";
  ::testing::Test::RecordProperty("executions", std::to_string(v.executions));
}
template <class World>
void expect_all_hold(unsigned threads = 2, const limits& most = {}) {
  expect_all_hold(threads, [] { return std::make_unique<World>(); }, most);
}

/// A fault was planted: the story of the failure says `what`.
template <class World>
void expect_noticed(std::string_view what, unsigned threads = 2, const limits& most = {}) {
  const verdict v = explore<World>(threads, most);
  EXPECT_FALSE(v.holds) << "nobody has noticed in " << v.executions << " executions";
  EXPECT_NE(v.story.find(what), std::string::npos) << v.story;
}

}  // namespace asx::interleave
