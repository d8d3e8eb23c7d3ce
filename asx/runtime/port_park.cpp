// A word that says awake, asleep or told, and a futex to sleep on it. The sleeper looks at the word under the kernel's
// own lock, so that an unpark between the look and the sleep is not lost.
#include "asx/runtime/port_park.hpp"

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#else
#include <chrono>
#endif

namespace asx {
namespace {

constexpr int spins = 64;  // About a microsecond: an answer that is already on its way.
constexpr int yields = 2;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

#if defined(__linux__)
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel looks at the plain word");

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, duration longest) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<std::time_t>(longest.ns / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(longest.ns % 1'000'000'000);
  const bool is_limited = longest != duration::max();
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, is_limited ? &limit : nullptr, nullptr, 0);
}
void wake_one(std::atomic<std::uint32_t>& word) noexcept {
  const int before = errno;  // Whoever was interrupted by a signal still wants to see its own.
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = before;
}
#else
// Without a futex: short sleeps, and the word is looked at in between.
void sleep_while(std::atomic<std::uint32_t>&, std::uint32_t, duration longest) noexcept {
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(longest, duration::milliseconds(1)).ns));
}
void wake_one(std::atomic<std::uint32_t>&) noexcept {}
#endif

}  // namespace

// Acquire: pairs with the release in unpark; what was written before it is seen.
bool thread_parker::take_told() noexcept {
  if (state_.load(std::memory_order_relaxed) != told) return false;
  return state_.exchange(awake, std::memory_order_acquire) == told;
}

void thread_parker::park(duration longest) noexcept {
  for (int i = 0; i < spins; ++i) {
    if (take_told()) return;
    relax();
  }
  for (int i = 0; i < yields; ++i) {
    std::this_thread::yield();
    if (take_told()) return;
  }
  std::uint32_t seen = awake;
  // Relaxed: nothing is handed over by going to sleep; told is taken below, with acquire.
  if (state_.compare_exchange_strong(seen, asleep, std::memory_order_relaxed)) sleep_while(state_, asleep, longest);
  state_.exchange(awake, std::memory_order_acquire);
}

void thread_parker::unpark() noexcept {
  // Release: pairs with the acquire of the one who parks.
  if (state_.exchange(told, std::memory_order_release) == asleep) wake_one(state_);
}

}  // namespace asx
