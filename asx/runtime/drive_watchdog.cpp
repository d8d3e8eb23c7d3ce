#include "asx/runtime/drive_watchdog.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "asx/base/atomic_word.hpp"

namespace asx {

namespace {
// Between two looks: not so often that it costs a core, and in numbers that a clock can hold.
constexpr duration shortest = duration::milliseconds(2);
constexpr duration longest = duration::hours(1);
}  // namespace

struct watchdog::guard {
  guard(runtime& rt, const watchdog_options& o) noexcept
      : home(rt),
        is_same_clock(rt.clock_in_use().may_be_late),
        clock(is_same_clock ? rt.clock_in_use() : own.port()),
        options(o),
        workers(rt.sched().workers()) {
    watched.reset(new (std::nothrow) watched_worker[workers]);
    probes.reset(new (std::nothrow) poll_probe[workers]);
  }
  [[nodiscard]] bool is_ready() const noexcept { return watched != nullptr && probes != nullptr; }

  void watch() {
    disturb();
    std::unique_lock lock(door);
    const auto pause = std::chrono::nanoseconds(std::clamp(options.limit, shortest, longest).ns / 2);
    while (!is_over) {
      leave.wait_for(lock, pause);
      for (std::uint32_t w = 0; w < workers && !is_over; ++w) look_at(w);
    }
  }
  void look_at(std::uint32_t worker) noexcept {
    running_poll seen;
    watched_worker& of = watched[worker];
    if (!probes[worker].read(seen) || seen.turn == of.told) return;
    const instant now = clock.now();
    if (!is_same_clock && seen.turn != of.seen) {
      of.seen = seen.turn;
      of.seen_at = now;
    }
    const duration so_far = now - (is_same_clock ? seen.began : of.seen_at);
    if (so_far < options.limit) return;
    of.told = seen.turn;
    seen.is_alone = workers == 1;
    options.report(options.context, seen, so_far);
  }

  struct watched_worker {
    std::uint32_t told = 0;  // No poll has an even turn.
    std::uint32_t seen = 0;
    instant seen_at{};  // By `own`.
  };

  runtime& home;
  steady_clock own;
  bool is_same_clock;  // The runtime's is the machine's: when a poll began is told in it.
  clock_port clock;
  watchdog_options options;
  std::uint32_t workers;
  std::unique_ptr<watched_worker[]> watched;
  std::unique_ptr<poll_probe[]> probes;
  std::mutex door;
  std::condition_variable leave;
  bool is_over = false;
  std::thread thread;
};

namespace {

void print(void*, const running_poll& p, duration so_far) noexcept {
  const char* const slash = std::strrchr(p.file, '/');
  std::array<char, 128> spawned{};
  if (p.line != 0) {  // The first task of a program has no such place.
    std::snprintf(spawned.data(), spawned.size(), " (spawned at %s:%u)", slash == nullptr ? p.file : slash + 1, p.line);
  }
  std::fprintf(stderr, "asx: task %llu '%s' is being polled for %llu ms%s; %s\n",
               static_cast<unsigned long long>(p.task.value), p.name.data(),
               static_cast<unsigned long long>(so_far.ns / 1'000'000), spawned.data(),
               p.is_alone ? "nobody else runs meanwhile" : "its worker runs nobody else meanwhile");
}

}  // namespace

watchdog::watchdog(runtime& rt, const watchdog_options& options) noexcept
    : guard_(new(std::nothrow) guard(rt, options)) {
  if (guard_ != nullptr && !guard_->is_ready()) {
    delete guard_;
    guard_ = nullptr;
  }
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
  rt.attach(guard_->probes.get());
}

watchdog::~watchdog() {
  if (guard_ == nullptr) return;
  guard_->home.attach(nullptr);
  {
    disturb();
    const std::lock_guard lock(guard_->door);
    guard_->is_over = true;
  }
  guard_->leave.notify_all();
  guard_->thread.join();
  delete guard_;
}

}  // namespace asx
