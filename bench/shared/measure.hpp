// bench/shared/measure.hpp - how every C++ program of this folder keeps time and says what it saw.
//
// A program prints one line of JSON a workload: its name, how many operations, nanoseconds for one. The harness starts
// programs in turn and takes medians over the starts; a program takes the median over rounds within itself.
//
// Programs of one thread report the thread's processor time, so that others on the machine are not measured with it
// (their use of the shared cache still is); programs of many threads report wall time, since waiting is what they cost.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace bench {

// Straight to the kernel: programs that move the time of an event loop replace the C library's function.
inline std::uint64_t read_clock(clockid_t clock) {
  timespec t{};
  syscall(SYS_clock_gettime, clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}
inline std::uint64_t processor_ns() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
inline std::uint64_t wall_ns() {
  return read_clock(CLOCK_MONOTONIC);
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Set by count_allocations.hpp in programs that include it.
inline std::uint64_t (*allocations_so_far)() = nullptr;

/// Runs `body(n)` once with less, to warm up what later runs use, then `rounds` times; it says whether all was right.
template <class Body>
void measure(const char* workload, std::uint64_t n, int rounds, std::uint64_t (*clock)(), Body body) {
  require(rounds > 0 && n > 0, "there is something to measure");
  require(body(n < 8 ? n : n / 8), "the work was done");
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(rounds));
  std::uint64_t allocated = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t allocated_before = allocations_so_far == nullptr ? 0 : allocations_so_far();
    const std::uint64_t begin = clock();
    const bool is_right = body(n);
    const std::uint64_t end = clock();
    allocated += allocations_so_far == nullptr ? 0 : allocations_so_far() - allocated_before;
    require(is_right, "the work was done");
    times.push_back(static_cast<double>(end - begin) / static_cast<double>(n));
  }
  std::printf("{\"workload\": \"%s\", \"n\": %llu, \"ns\": %.3f", workload, static_cast<unsigned long long>(n),
              median(times));
  if (allocations_so_far != nullptr) {
    std::printf(", \"allocations\": %llu, \"operations\": %llu", static_cast<unsigned long long>(allocated),
                static_cast<unsigned long long>(n) * static_cast<unsigned long long>(rounds));
  }
  std::printf("}\n");
  std::fflush(stdout);
}

/// What a program was called with.
class arguments {
 public:
  arguments(int count, char** all) : count_(count), all_(all) {}
  [[nodiscard]] const char* word(int i) const {
    require(i < count_, "the program has all of its arguments; bench/harness/table.py has them");
    return all_[i];
  }
  [[nodiscard]] std::uint64_t number(int i) const {
    const std::uint64_t n = std::strtoull(word(i), nullptr, 10);
    require(n > 0, "an argument is a number from 1 on");
    return n;
  }
  [[nodiscard]] int rounds(int i) const { return static_cast<int>(number(i)); }
  [[nodiscard]] bool is(int i, const char* what) const { return std::strcmp(word(i), what) == 0; }

 private:
  int count_;
  char** all_;
};

}  // namespace bench
