// bench/cancel/workload.hpp - the one problem that every peer in this folder solves: n tasks wait, and all are
// cancelled.
//
//     channel   each waits for a slot of one channel that is full, with a sender of its own
//     timer     each sleeps for an hour
//
// ns: processor time from the request to the moment when every task has ended and what it held is free, for one task.
// park_ns: from the first spawn until all wait. bytes: what the process grew by while they were made, for one
// task, as the system counts resident memory. The tasks do nothing else; a frame holds a number.
//
// A peer is a function `round(is_timer, n, watch)` that calls `begin()`, parks, calls `parked()`, cancels, and calls
// `over()`. The problem `parked` reads the bytes of the same programs. Arguments: tasks, rounds, channel or timer.
#pragma once

#include "bench/shared/measure.hpp"

namespace bench {

inline std::uint64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long all = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &all, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Times one round.
class stopwatch {
 public:
  void begin() {
    bytes_before_ = resident_bytes();
    at_ = processor_ns();
  }
  void parked() {
    park_ns_ = processor_ns() - at_;
    bytes_ = resident_bytes() - bytes_before_;
    at_ = processor_ns();
  }
  void over() { cancel_ns_ = processor_ns() - at_; }
  void report(const char* workload, std::uint64_t n) const {
    const auto each = [n](std::uint64_t x) { return static_cast<double>(x) / static_cast<double>(n); };
    std::printf("{\"workload\": \"%s\", \"n\": %llu, \"ns\": %.1f, \"park_ns\": %.1f, \"bytes\": %.1f}\n", workload,
                static_cast<unsigned long long>(n), each(cancel_ns_), each(park_ns_), each(bytes_));
  }

 private:
  std::uint64_t at_ = 0, bytes_before_ = 0, bytes_ = 0, park_ns_ = 0, cancel_ns_ = 0;
};

/// Memory counts in the first round only: later ones use what that one left.
template <class Round>
int main(Round round, int argc, char** argv) {
  const arguments given(argc, argv);
  for (int i = 0; i < given.rounds(2); ++i) {
    stopwatch watch;
    round(given.is(3, "timer"), given.number(1), watch);
    watch.report(given.word(3), given.number(1));
  }
  return 0;
}

}  // namespace bench
