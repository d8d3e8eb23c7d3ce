// Starts a program again and again and says how long one lives, from posix_spawn to its end: wall time, median.
//
// Arguments: times program argument.
#include <spawn.h>
#include <sys/wait.h>

#include "bench/shared/measure.hpp"

extern char** environ;

int main(int argc, char** argv) {
  const bench::arguments given(argc, argv);
  bench::require(argc > 2, "arguments: times program argument...");
  std::vector<double> times;
  for (std::uint64_t i = 0; i < given.number(1); ++i) {
    const std::uint64_t begin = bench::wall_ns();
    pid_t child = 0;
    bench::require(posix_spawn(&child, argv[2], nullptr, nullptr, argv + 2, environ) == 0, "the program starts");
    int how = 0;
    bench::require(waitpid(child, &how, 0) == child && how == 0, "it ends well");
    times.push_back(static_cast<double>(bench::wall_ns() - begin));
  }
  std::printf("{\"workload\": \"a process\", \"n\": %llu, \"ns\": %.0f}\n",
              static_cast<unsigned long long>(given.number(1)), bench::median(times));
  return 0;
}
