// bench/timers/fake_clock.hpp - moves the time of an event loop that reads the C library's clock.
//
// libuv and libev have no clock of their own to set. Their shared libraries call clock_gettime, and a definition in
// the program comes before the C library's. The real function would cost them about 20 ns a turn of the loop, which is
// nothing beside the timers of a turn.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <cstdint>

namespace bench {
inline std::uint64_t fake_now_ns = 1'000'000'000'000'000;
}

extern "C" int clock_gettime(clockid_t, struct timespec* t) noexcept {
  t->tv_sec = static_cast<time_t>(bench::fake_now_ns / 1'000'000'000);
  t->tv_nsec = static_cast<long>(bench::fake_now_ns % 1'000'000'000);
  return 0;
}

extern "C" int gettimeofday(struct timeval* t, void*) noexcept {
  t->tv_sec = static_cast<time_t>(bench::fake_now_ns / 1'000'000'000);
  t->tv_usec = static_cast<suseconds_t>(bench::fake_now_ns % 1'000'000'000 / 1000);
  return 0;
}
