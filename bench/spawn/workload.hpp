// bench/spawn/workload.hpp - the one problem that every peer in this folder solves: tasks that begin and end.
//
//     batches of 1,000     spawn a thousand, wait until all have ended, and again, n tasks in all      ns a task
//     all at once          spawn all n, then wait; all of them are alive before the first has run      ns a task
//     batches, threads     the first with two threads under the tasks: wall time                       ns a task
//
// One thread but for the last. A task adds its number to a sum and ends; whoever started them knows when all have.
//
// A peer is a class with `run(n, batch)`: runs n tasks, `batch` at a time, and returns the sum of their numbers, which
// are 0 to n - 1. Arguments: tasks in batches, tasks at once, rounds; or threads, tasks in batches, rounds.
#pragma once

#include <type_traits>

#include "bench/shared/measure.hpp"

namespace bench {

template <class Peer, class Threads = void>
int main(int argc, char** argv) {
  const arguments given(argc, argv);
  const auto sum = [](std::uint64_t n) { return n * (n - 1) / 2; };
  if constexpr (!std::is_void_v<Threads>) {
    if (given.is(1, "threads")) {
      Threads peer;
      measure("batches, threads", given.number(2), given.rounds(3), &wall_ns,
              [&](std::uint64_t n) { return peer.run(n, 1000) == sum(n); });
      return 0;
    }
  }
  Peer peer;
  measure("batches of 1,000", given.number(1), given.rounds(3), &processor_ns,
          [&](std::uint64_t n) { return peer.run(n, 1000) == sum(n); });
  measure("all at once", given.number(2), given.rounds(3), &processor_ns,
          [&](std::uint64_t n) { return peer.run(n, n) == sum(n); });
  return 0;
}

}  // namespace bench
