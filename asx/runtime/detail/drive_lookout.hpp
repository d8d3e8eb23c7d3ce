// asx/runtime/detail/drive_lookout.hpp - a thread that looks whether a number still changes, and says when it does not.
//
// 1  `tell` is called once for each number that has stayed for as long as was asked for. Only time counts in which it
//    could look: not that in a debugger, which stops this thread, too, and not that of a machine that sleeps.
//
// Cancel points: none. Threads: both functions are called by its own. Lifetime: it is gone before its context is.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/base/time.hpp"

namespace asx::detail {

class lookout {
 public:
  using pulse = std::uint32_t (*)(void* context) noexcept;
  using alarm = void (*)(void* context) noexcept;

  lookout(duration after, void* context, pulse look, alarm tell)
      : pause_(std::chrono::nanoseconds(std::clamp(after, duration::milliseconds(8), duration::seconds(2)).ns / 8)),
        looks_(std::max<std::uint64_t>(8, after.ns / static_cast<std::uint64_t>(pause_.count()))),
        context_(context),
        look_(look),
        tell_(tell),
        thread_([this] { watch(); }) {}
  ~lookout() {
    {
      disturb();
      const std::lock_guard lock(door_);
      is_over_ = true;
    }
    leave_.notify_all();
    thread_.join();
  }
  lookout(const lookout&) = delete;
  lookout& operator=(const lookout&) = delete;

 private:
  void watch() {
    disturb();
    std::unique_lock lock(door_);
    std::uint32_t seen = look_(context_);
    std::uint64_t still = 0;
    auto due = std::chrono::steady_clock::now() + pause_;
    while (!leave_.wait_until(lock, due, [this] { return is_over_; })) {  // asx: bounded by its life
      const auto at = std::chrono::steady_clock::now();
      const bool is_late = at > due + pause_;  // It was stopped, and so was everybody else.
      due = at + pause_;
      const std::uint32_t now = look_(context_);
      if (now != std::exchange(seen, now)) {
        still = 0;
        continue;
      }
      if (is_late || ++still != looks_) continue;
      lock.unlock();  // Whoever ends it need not wait for what is told.
      tell_(context_);
      lock.lock();
    }
  }

  std::chrono::nanoseconds pause_;
  std::uint64_t looks_;
  void* context_;
  pulse look_;
  alarm tell_;
  std::mutex door_;
  std::condition_variable leave_;
  bool is_over_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace asx::detail
