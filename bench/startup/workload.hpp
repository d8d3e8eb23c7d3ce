// bench/startup/workload.hpp - the one problem that every peer in this folder solves: a runtime is made, runs one task,
// and is gone.
//
//     in a process    n times, one after the other                                             ns each
//     a process       the same once; from its start to its end, as process.cpp sees it         ns each
//
// A peer is a function `once()` that returns what the task saw: 1. Arguments: n rounds, or the word `once`.
#pragma once

#include "bench/shared/measure.hpp"

namespace bench {

template <class Once>
int startup(int argc, char** argv, Once once) {
  const arguments given(argc, argv);
  if (given.is(1, "once")) return once() == 1 ? 0 : 1;
  measure("in a process", given.number(1), given.rounds(2), &processor_ns, [&](std::uint64_t n) {
    std::uint64_t seen = 0;
    for (std::uint64_t i = 0; i < n; ++i) seen += once();
    return seen == n;
  });
  return 0;
}

}  // namespace bench
