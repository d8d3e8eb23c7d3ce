// asx/base/testing/replay_on_assert.hpp - a model test that dies of an assertion says how to replay it.
//
// The assertions of what is tested abort before a test could speak, so a handler does: while one of these lives, it
// adds what `tell` says to the words of the assertion.
//
// Cancel points: none. Threads: one owner, one at a time. Lifetime: a scope of a test.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "asx/base/assert.hpp"

namespace asx::testing {

class replay_on_assert {
 public:
  explicit replay_on_assert(std::function<std::string()> tell)
      : tell_(std::move(tell)), former_(set_assert_handler(&explain)) {
    running_ = this;
  }
  ~replay_on_assert() {
    running_ = nullptr;
    set_assert_handler(former_);
  }
  replay_on_assert(const replay_on_assert&) = delete;
  replay_on_assert& operator=(const replay_on_assert&) = delete;

 private:
  static void explain(const assert_site& site) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n  %s\n", site.file, site.line, site.expression, site.why);
    if (running_ != nullptr) std::fprintf(stderr, "%s", running_->tell_().c_str());
  }

  static inline const replay_on_assert* running_ = nullptr;

  std::function<std::string()> tell_;
  assert_handler former_;
};

/// Where a run of scenarios is: the line that replays it up to here, and how far it came.
struct replay_line {
  std::string_view scenario;
  std::string replay;  // Empty: the run is no random one, and its place says enough.

  [[nodiscard]] std::string text(std::uint64_t operations) const {
    return (replay.empty() ? "" : "replay: " + replay + " ASX_MODEL_OPS=" + std::to_string(operations) + "\n") +
           "scenario '" + std::string(scenario) + "', after " + std::to_string(operations) + " operations: ";
  }
};

}  // namespace asx::testing
