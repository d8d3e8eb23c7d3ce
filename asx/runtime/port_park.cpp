#include "asx/runtime/port_park.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace asx {

park_port thread_park() noexcept {
  return {nullptr, [](void*, instant now, instant until) noexcept {
            const duration longest = duration::milliseconds(10);
            const duration wait = std::min(until - now, longest);
            std::this_thread::sleep_for(std::chrono::nanoseconds(wait.ns));
          }};
}

}  // namespace asx
