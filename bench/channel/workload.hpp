// bench/channel/workload.hpp - the one problem that every peer in this folder solves, and how it is timed.
//
//     PxC            P producers send n 64-bit values in all to one receiver through a channel of capacity C, on one
//                    thread: processor time                                                         ns a message
//     PxC threads    the same with two threads under the tasks: wall time                           ns a message
//     ping-pong      two tasks, two channels of capacity 1: a value there, its successor back, n times, on one thread:
//                    processor time                                                                 ns a round trip
//     ping-pong threads    the same with two threads under the tasks: wall time                     ns a round trip
//
// Producer p sends p, p + P, p + 2P and so on below n, so that the sum of what was received is known and is checked in
// every run. A sender that has a two-phase form uses it. A task that finds no room or no message waits and is woken;
// nobody spins for long.
//
// A peer is two classes: `stream(producers, capacity)` and `ping_pong()`. `run(n)` of each starts the tasks, lets them
// end and returns the sum; channels and runtime live as long as the object, so that a first run warms up what later
// ones use. Calls of malloc are counted from then on.
//
// Arguments: stream, threads, ping_pong or ping_pong_threads; n; rounds; and the name of one workload if it shall be
// the only one.
#pragma once

#include <type_traits>

#include "bench/shared/count_allocations.hpp"

namespace bench {

template <class Stream>
void streams(const arguments& given, const char* only, const char* how, std::uint64_t (*clock)()) {
  for (const std::uint32_t producers : {1U, 4U}) {
    for (const std::uint32_t capacity : {64U, 1024U}) {
      char name[32];
      std::snprintf(name, sizeof name, "%ux%u%s", producers, capacity, how);
      if (only != nullptr && std::strcmp(only, name) != 0) continue;
      Stream peer(producers, capacity);
      measure(name, given.number(2), given.rounds(3), clock,
              [&](std::uint64_t n) { return peer.run(n) == n * (n - 1) / 2; });
    }
  }
}

template <class PingPong>
void ping_pongs(const arguments& given, const char* name, std::uint64_t (*clock)()) {
  PingPong peer;
  measure(name, given.number(2), given.rounds(3), clock,
          [&](std::uint64_t n) { return peer.run(n) == n * (n + 1) / 2; });
}

template <class Stream, class PingPong, class Threads = void, class PingPongThreads = void>
int main(int argc, char** argv) {
  const arguments given(argc, argv);
  const char* const only = argc > 4 ? argv[4] : nullptr;
  if (given.is(1, "stream")) {
    streams<Stream>(given, only, "", &processor_ns);
    return 0;
  }
  if (given.is(1, "ping_pong")) {
    ping_pongs<PingPong>(given, "ping-pong", &processor_ns);
    return 0;
  }
  if constexpr (!std::is_void_v<Threads>) {
    if (given.is(1, "threads")) {
      streams<Threads>(given, only, " threads", &wall_ns);
      return 0;
    }
  }
  if constexpr (!std::is_void_v<PingPongThreads>) {
    if (given.is(1, "ping_pong_threads")) {
      ping_pongs<PingPongThreads>(given, "ping-pong threads", &wall_ns);
      return 0;
    }
  }
  require(false, "the first argument is stream or ping_pong, or with threads, where there is such a program");
  return 1;
}

}  // namespace bench
