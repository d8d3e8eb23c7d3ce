// Signals belong to the process, so this is the one table that is not in a runtime.
#include "asx/runtime/drive_signal.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "asx/base/atomic_word.hpp"
#include "asx/kernel/report.hpp"

namespace asx {
namespace {

struct watched_signal {
  atomic_word<const foreign_handle*> speaks{nullptr};
  atomic_word<std::uint32_t> what{0};
  atomic_word<std::uint32_t> inside{0};  // Handlers that may hold `speaks`.
  // Of whoever makes and drops the watch:
  atomic_word<std::uint32_t> is_taken{0};  // Or 1. Not every machine swaps a byte.
  foreign_handle handle;
  struct sigaction before{};
};

constexpr int signal_limit = 65;
std::array<watched_signal, signal_limit> table;
static_assert(atomic_word<const foreign_handle*>::is_always_lock_free, "a handler may not wait for a lock");

void on_signal(int number) {
  const int before = errno;
  watched_signal& s = table[static_cast<std::size_t>(number)];
  // Sequentially consistent, as in drop: either this is counted before drop looks, or it finds null.
  s.inside.fetch_add(1);
  if (const foreign_handle* const h = s.speaks.load(); h != nullptr) h->say(s.what.load(std::memory_order_relaxed));
  s.inside.fetch_sub(1);
  errno = before;
}

void print_tasks(void* k) noexcept {
  const std::string text = describe_tasks(*static_cast<kernel*>(k));
  std::fprintf(stderr, "asx: %s", text.c_str());
  std::fflush(stderr);
}

}  // namespace

signal_watch::signal_watch(runtime& rt, std::initializer_list<int> signals, std::uint32_t what) noexcept
    : code_(signals.size() > most ? status::invalid_argument : status::ok) {
  for (const int number : signals) {  // asx: bounded by most
    if (code_ == status::ok) code_ = watch(rt, number, what);
  }
  if (code_ != status::ok) drop();
}

status signal_watch::watch(runtime& rt, int number, std::uint32_t what) noexcept {
  if (number <= 0 || number >= signal_limit) return status::invalid_argument;
  watched_signal& s = table[static_cast<std::size_t>(number)];
  if (s.is_taken.exchange(1) != 0) return status::invalid_argument;
  status made = rt.inbox().open({.context = &rt.kernel(), .arrived = print_tasks}, s.handle);
  if (made == status::ok) {
    s.what.store(what, std::memory_order_relaxed);
    s.speaks.store(&s.handle);
    struct sigaction ours{};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    if (sigaction(number, &ours, &s.before) == 0) {
      signals_[count_++] = number;
      return status::ok;
    }
    s.speaks.store(nullptr);
    s.handle.drop();
    made = status::invalid_argument;
  }
  s.is_taken.store(0);
  return made;
}

signal_watch::signal_watch(signal_watch&& other) noexcept
    : code_(other.code_), count_(std::exchange(other.count_, 0)), signals_(other.signals_) {}

signal_watch& signal_watch::operator=(signal_watch&& other) noexcept {
  if (this != &other) {
    drop();
    code_ = other.code_;
    count_ = std::exchange(other.count_, 0);
    signals_ = other.signals_;
  }
  return *this;
}

void signal_watch::drop() noexcept {
  while (count_ != 0) {  // asx: bounded by most
    const int number = signals_[--count_];
    watched_signal& s = table[static_cast<std::size_t>(number)];
    sigaction(number, &s.before, nullptr);
    s.speaks.store(nullptr);
    while (s.inside.load() != 0) {  // asx: bounded by a handler that runs in another thread at this moment
    }
    s.handle.drop();
    s.is_taken.store(0);
  }
}

signal_watch cancel_on_signal(runtime& rt, std::initializer_list<int> signals) noexcept {
  return {rt, signals, detail::foreign_word::close};
}
signal_watch list_tasks_on_signal(runtime& rt, std::initializer_list<int> signals) noexcept {
  return {rt, signals, detail::foreign_word::look};
}

}  // namespace asx
