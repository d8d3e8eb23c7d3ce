// bench/yield/workload.hpp - the one problem that every peer in this folder solves: tasks that give way.
//
//     1 task        it yields n times, with nobody to yield to: the way through the scheduler and back     ns a yield
//     1,000 tasks   each yields n / 1000 times, and the others run in between                              ns a yield
//
// One thread. A task does nothing but yield; spawning is counted in, and is a thousandth of it.
//
// A peer is a class with `run(tasks, each)`: starts so many tasks that yield so many times, lets them end, and returns
// how many yields there were. Arguments: yields rounds.
#pragma once

#include "bench/shared/measure.hpp"

namespace bench {

template <class Peer>
int main(int argc, char** argv) {
  const arguments given(argc, argv);
  for (const std::uint64_t tasks : {std::uint64_t{1}, std::uint64_t{1000}}) {
    Peer peer;
    measure(tasks == 1 ? "1 task" : "1,000 tasks", given.number(1), given.rounds(2), &processor_ns,
            [&](std::uint64_t n) { return peer.run(tasks, n / tasks) == n / tasks * tasks; });
  }
  return 0;
}

}  // namespace bench
