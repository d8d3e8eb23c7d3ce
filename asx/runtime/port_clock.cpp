// The only place that reads the machine's clock.
#include "asx/runtime/port_clock.hpp"

#include <chrono>

namespace asx {
namespace {

std::uint64_t machine_ns() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

steady_clock::steady_clock() noexcept : origin_ns_(machine_ns()) {}

instant steady_clock::now() const noexcept {
  return {machine_ns() - origin_ns_};
}

}  // namespace asx
