// bench/cancel/workload.hpp - the one problem that every peer in this folder solves: n tasks wait, and all are
// cancelled.
//
//     channel   each waits for a slot of one channel that is full, with a sender of its own
//     timer     each sleeps for an hour
//
// cancel_ns: processor time from the request to the moment when every task has ended and what it held is free, for one
// task. park_ns: from the first spawn until all wait. bytes: what the process grew by while they were made, for one
// task, as the system counts resident memory. The tasks do nothing else; a frame holds a number.
//
// A peer is a function `round(is_timer, n)` that parks, calls `parked()`, cancels, and calls `over()`. bench/parked
// reads the bytes of the same programs.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {

// Not clock_gettime: one peer in another folder replaces it, and all are timed the same way.
inline std::uint64_t machine_ns() {
  timespec t{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long all = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &all, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

/// Times one round.
class stopwatch {
 public:
  void begin() {
    bytes_before_ = resident_bytes();
    at_ = machine_ns();
  }
  void parked() {
    park_ns_ = machine_ns() - at_;
    bytes_ = resident_bytes() - bytes_before_;
    at_ = machine_ns();
  }
  void over() { cancel_ns_ = machine_ns() - at_; }
  void report(const char* library, const char* workload, std::uint64_t n, int round) const {
    const auto each = [n](std::uint64_t x) { return static_cast<double>(x) / static_cast<double>(n); };
    std::printf(
        "{\"library\": \"%s\", \"workload\": \"%s\", \"n\": %llu, \"round\": %d, \"park_ns\": %.1f, "
        "\"cancel_ns\": %.1f, \"bytes\": %.1f}\n",
        library, workload, static_cast<unsigned long long>(n), round, each(park_ns_), each(cancel_ns_), each(bytes_));
  }

 private:
  std::uint64_t at_ = 0, bytes_before_ = 0, bytes_ = 0, park_ns_ = 0, cancel_ns_ = 0;
};

/// Arguments: tasks, rounds, workload. Memory counts in the first round only: later ones use what that one left.
template <class Round>
int main(const char* library, Round round, int argc, char** argv) {
  const std::uint64_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  require(argc > 3 && n != 0 && rounds > 0, "arguments: tasks rounds channel|timer");
  for (int i = 0; i < rounds; ++i) {
    stopwatch watch;
    round(std::strcmp(argv[3], "timer") == 0, n, watch);
    watch.report(library, argv[3], n, i);
  }
  return 0;
}

}  // namespace bench
