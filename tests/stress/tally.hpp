// How many rounds of several workers a program of stress tests has played: who runs them for hours wants to know what
// that came to. Added as a line to the file that ASX_STRESS_TALLY names, when the program ends; nowhere without it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace asx::stress {

class tally {
 public:
  static tally& of_this_program() {
    static tally all;
    return all;
  }
  /// Something was played from its start to its end by so many workers; or one life of a runtime was, however often it
  /// ran. One worker alone shows nothing of what they do to each other, and is not counted.
  void add_round(std::uint32_t workers) noexcept {
    if (workers > 1) rounds_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

  tally(const tally&) = delete;
  tally& operator=(const tally&) = delete;

 private:
  tally() = default;
  ~tally() {
    const char* const path = std::getenv("ASX_STRESS_TALLY");
    std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
    if (file == nullptr) return;
    std::fprintf(file, "%llu\n", static_cast<unsigned long long>(rounds_.load(std::memory_order_relaxed)));
    std::fclose(file);
  }

  std::atomic<std::uint64_t> rounds_{0};
};

}  // namespace asx::stress
