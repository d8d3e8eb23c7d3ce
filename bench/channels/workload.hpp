// bench/channels/workload.hpp - the one problem that every peer in this folder solves, and how it is timed.
//
//     stream_PxC   P producers send n 64-bit values in all to one receiver through a channel of capacity C   ns a
//     message ping_pong    two tasks, two channels of capacity 1: a value there, its successor back, n times      ns a
//     round trip
//
// One thread. Producer p sends p, p + P, p + 2P and so on below n, so that the sum of what was received is known and is
// checked in every run. A sender that has a two-phase form uses it. A task that finds no room or no message waits and
// is woken; nobody spins.
//
// A peer is two classes: `stream(producers, capacity)` and `ping_pong()`. `run(n)` of each starts the tasks, lets them
// end and returns the sum; channels and runtime live as long as the object, so that a first run warms up what later
// ones use. Calls of malloc are counted from then on.
//
// Reported is the median of some rounds within the process; run.py interleaves processes and takes medians again.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

// Everything that asks the C library for memory comes through here, operator new too. The program is one thread.
namespace bench {
inline volatile std::uint64_t allocations = 0;  // Compilers think that malloc changes nothing that they can see.
}
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_realloc(block, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  bench::allocations = bench::allocations + 1;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 : 0;  // ENOMEM
}
}

namespace bench {

// The thread's own processor time, so that others on the machine are not measured with it (their use of the shared
// cache still is).
inline std::uint64_t machine_ns() {
  timespec t{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct sizes {
  std::uint64_t messages = 1'000'000;
  std::uint64_t round_trips = 250'000;
  int rounds = 3;
  const char* only = nullptr;  // The name of one workload, for profilers.
};

template <class Peer>
void measure(const char* library, const char* workload, Peer& peer, std::uint64_t n, std::uint64_t sum, int rounds) {
  peer.run(n / 8);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(rounds));
  std::uint64_t allocated = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t allocated_before = allocations;
    const std::uint64_t begin = machine_ns();
    const std::uint64_t got = peer.run(n);
    const std::uint64_t end = machine_ns();
    allocated += allocations - allocated_before;
    require(got == sum, "the values that were received add up to something else than those that were sent");
    times.push_back(static_cast<double>(end - begin) / static_cast<double>(n));
  }
  std::printf(
      "{\"library\": \"%s\", \"workload\": \"%s\", \"n\": %llu, \"ns_per_op\": %.3f, \"allocations\": %llu, "
      "\"operations\": %llu}\n",
      library, workload, static_cast<unsigned long long>(n), median(times), static_cast<unsigned long long>(allocated),
      static_cast<unsigned long long>(n) * static_cast<unsigned long long>(rounds));
  std::fflush(stdout);
}

// Arguments: messages, round trips, rounds, and the name of a workload if it shall be the only one.
template <class Stream, class PingPong>
int main(const char* library, int argc, char** argv) {
  sizes s;
  if (argc > 1) s.messages = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) s.round_trips = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3) s.rounds = std::atoi(argv[3]);
  if (argc > 4) s.only = argv[4];
  require(s.messages > 0 && s.round_trips > 0 && s.rounds > 0, "arguments: messages round_trips rounds [workload]");
  const auto is_wanted = [&s](const char* name) { return s.only == nullptr || std::strcmp(s.only, name) == 0; };
  for (const std::uint32_t producers : {1U, 4U}) {
    for (const std::uint32_t capacity : {64U, 1024U}) {
      char name[32];
      std::snprintf(name, sizeof name, "stream_%ux%u", producers, capacity);
      if (!is_wanted(name)) continue;
      Stream peer(producers, capacity);
      measure(library, name, peer, s.messages, s.messages * (s.messages - 1) / 2, s.rounds);
    }
  }
  if (is_wanted("ping_pong")) {
    PingPong peer;
    measure(library, "ping_pong", peer, s.round_trips, s.round_trips * (s.round_trips + 1) / 2, s.rounds);
  }
  return 0;
}

}  // namespace bench
