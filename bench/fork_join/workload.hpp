// bench/fork_join/workload.hpp - the one problem that every peer in this folder solves: fib(n), naively.
//
// A call with n of 2 or more forks fib(n - 1), does fib(n - 2) itself, and joins: 1,346,268 forks for
// fib(30). Reported is the time of a fork: all of the time over their number.
//
//     1 thread     processor time
//     2 threads    wall time
//
// A peer is a function `fib(n)` in a main of its own, since each starts its threads in its own way. Arguments: n rounds
// threads.
#pragma once

#include "bench/shared/measure.hpp"

namespace bench {

constexpr std::uint64_t plain_fib(std::uint64_t n) {
  return n < 2 ? n : plain_fib(n - 1) + plain_fib(n - 2);
}

/// `fib(n)` gives the number; a smaller one warms up.
template <class Fib>
int fork_join(int argc, char** argv, Fib fib) {
  const arguments given(argc, argv);
  const std::uint64_t n = given.number(1), threads = given.number(3);
  require(n >= 12, "there is something to fork");
  const std::uint64_t forks = plain_fib(n + 1) - 1;
  measure(
      threads == 1 ? "1 thread" : "2 threads", forks, given.rounds(2), threads == 1 ? &processor_ns : &wall_ns,
      [&](std::uint64_t asked) { return asked == forks ? fib(n) == plain_fib(n) : fib(n - 8) == plain_fib(n - 8); });
  return 0;
}

}  // namespace bench
