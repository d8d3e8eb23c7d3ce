// How many rounds of several workers a program of stress tests has played, by which test: who runs them for hours wants
// to know what that came to, and a sum hides a test that was hardly played. Added as lines - a number and a name - to
// the file that ASX_STRESS_TALLY names, when the program ends; nowhere without it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace asx::stress {

class tally {
 public:
  static tally& of_this_program() {
    static tally all;
    return all;
  }
  /// Something was played from its start to its end by so many workers; or one life of a runtime was, however often it
  /// ran. One worker alone shows nothing of what they do to each other, and is not counted.
  void add_round(std::uint32_t workers) {
    if (workers < 2) return;
    const ::testing::TestInfo* const now = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::lock_guard lock(door_);
    ++rounds_;
    ++by_test_[now == nullptr ? "none" : std::string(now->test_suite_name()) + "." + now->name()];
  }
  [[nodiscard]] std::uint64_t rounds() {
    const std::lock_guard lock(door_);
    return rounds_;
  }

  tally(const tally&) = delete;
  tally& operator=(const tally&) = delete;

 private:
  tally() = default;
  ~tally() {
    const char* const path = std::getenv("ASX_STRESS_TALLY");
    std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
    if (file == nullptr) return;
    for (const auto& [name, rounds] : by_test_) {
      std::fprintf(file, "%llu %s\n", static_cast<unsigned long long>(rounds), name.c_str());
    }
    std::fclose(file);
  }

  std::mutex door_;
  std::uint64_t rounds_ = 0;
  std::map<std::string, std::uint64_t> by_test_;
};

}  // namespace asx::stress
