#include "asx/runtime/drive_watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

namespace asx {

namespace {
// Between two looks: not so often that it costs a core, and in numbers that a clock can hold.
constexpr duration shortest = duration::milliseconds(2);
constexpr duration longest = duration::hours(1);
}  // namespace

struct watchdog::guard {
  guard(runtime& rt, const watchdog_options& o) noexcept : home(rt), clock(rt.clock_in_use()), options(o) {}

  void watch() {
    std::unique_lock lock(door);
    const auto pause = std::chrono::nanoseconds(std::clamp(options.limit, shortest, longest).ns / 2);
    std::uint32_t told = 0;  // No poll has an even turn.
    while (!is_over) {
      leave.wait_for(lock, pause);
      running_poll seen;
      if (is_over || !probe.read(seen) || seen.turn == told) continue;
      const duration so_far = clock.now() - seen.began;
      if (so_far < options.limit) continue;
      told = seen.turn;
      options.report(options.context, seen, so_far);
    }
  }

  runtime& home;
  clock_port clock;
  watchdog_options options;
  poll_probe probe;
  std::mutex door;
  std::condition_variable leave;
  bool is_over = false;
  std::thread thread;
};

namespace {

void print(void*, const running_poll& p, duration so_far) noexcept {
  const char* const slash = std::strrchr(p.file, '/');
  std::fprintf(stderr,
               "asx: task %llu '%s' is being polled for %llu ms (spawned at %s:%u); nobody else runs meanwhile\n",
               static_cast<unsigned long long>(p.task.value), p.name.data(),
               static_cast<unsigned long long>(so_far.ns / 1'000'000), slash == nullptr ? p.file : slash + 1, p.line);
}

}  // namespace

watchdog::watchdog(runtime& rt, const watchdog_options& options) noexcept
    : guard_(new(std::nothrow) guard(rt, options)) {
  if (guard_ == nullptr) return;
  if (guard_->options.report == nullptr) guard_->options.report = print;
#if defined(__cpp_exceptions)
  try {
    guard_->thread = std::thread([g = guard_] { g->watch(); });
  } catch (...) {  // No thread, or no memory for one.
    delete guard_;
    guard_ = nullptr;
    return;
  }
#else
  guard_->thread = std::thread([g = guard_] { g->watch(); });
#endif
  rt.attach(&guard_->probe);
}

watchdog::~watchdog() {
  if (guard_ == nullptr) return;
  guard_->home.attach(nullptr);
  {
    const std::lock_guard lock(guard_->door);
    guard_->is_over = true;
  }
  guard_->leave.notify_all();
  guard_->thread.join();
  delete guard_;
}

}  // namespace asx
