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

void system_threads::relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}
void system_threads::yield() noexcept {
  std::this_thread::yield();
}

#if defined(__linux__)
static_assert(sizeof(atomic_word<std::uint32_t>) == sizeof(std::uint32_t), "the kernel looks at the plain word");

void system_threads::sleep_while(atomic_word<std::uint32_t>& word, std::uint32_t value, duration longest) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<std::time_t>(longest.ns / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(longest.ns % 1'000'000'000);
  const bool is_limited = longest != duration::max();
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, is_limited ? &limit : nullptr, nullptr, 0);
}
void system_threads::wake_one(atomic_word<std::uint32_t>& word) noexcept {
  const int before = errno;  // Whoever was interrupted by a signal still wants to see its own.
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = before;
}
#else
// Without a futex: short sleeps, and the word is looked at in between.
void system_threads::sleep_while(atomic_word<std::uint32_t>&, std::uint32_t, duration longest) noexcept {
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(longest, duration::milliseconds(1)).ns));
}
void system_threads::wake_one(atomic_word<std::uint32_t>&) noexcept {}
#endif

template bool basic_thread_parker<system_threads>::take_told() noexcept;
template void basic_thread_parker<system_threads>::park(duration longest) noexcept;
template void basic_thread_parker<system_threads>::unpark() noexcept;

}  // namespace asx
