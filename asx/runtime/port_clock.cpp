// The only place that reads the machine's clock.
#include "asx/runtime/port_clock.hpp"

#if defined(__linux__)
#include <ctime>
#else
#include <chrono>
#endif

namespace asx {
namespace {

#if defined(__linux__)
// The clock that std::chrono::steady_clock reads, without the standard library's part: a C program needs none of it.
std::uint64_t machine_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}
#else
std::uint64_t machine_ns() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}
#endif

}  // namespace

steady_clock::steady_clock() noexcept : origin_ns_(machine_ns()) {}

instant steady_clock::now() const noexcept {
  return {machine_ns() - origin_ns_};
}

}  // namespace asx
