// How long tests of threads go on, at most, for what they want to see. A machine that has other things to do lets a
// thread stand for as long as it likes, and no law says how long that may be: what must come is waited for until it
// has, and a bound is there so that a test ends that would wait in vain.
#pragma once

#include <chrono>

namespace asx::stress {

/// A build that looks at each access takes several times as long for everything.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int slowness = 4;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr int slowness = 4;
#else
inline constexpr int slowness = 1;
#endif
#else
inline constexpr int slowness = 1;
#endif

/// Asked by any thread.
class deadline {
 public:
  explicit deadline(std::chrono::seconds longest = std::chrono::seconds(30)) noexcept
      : at_(std::chrono::steady_clock::now() + longest) {}
  [[nodiscard]] bool is_over() const noexcept { return std::chrono::steady_clock::now() >= at_; }

 private:
  std::chrono::steady_clock::time_point at_;
};

}  // namespace asx::stress
