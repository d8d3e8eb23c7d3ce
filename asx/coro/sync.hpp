// asx/coro/sync.hpp - awaiting semaphores, mutexes and notifies.
//
//     auto units = co_await asx::acquire(slots, 2);           // given back when `units` goes
//     auto guard = co_await asx::lock(accounts);              // unlocked when `guard` goes
//     co_await asx::wait(stop);                               // until it is notified
//
// Laws: as asx/sync.
// Cancel points: acquire, lock, wait.
// Threads: the runtime's. Lifetime: as asx/sync; a handle outlives the operation.
#pragma once

#include <source_location>
#include <utility>

#include "asx/coro/task.hpp"
#include "asx/sync/mutex.hpp"
#include "asx/sync/notify.hpp"
#include "asx/sync/semaphore.hpp"

namespace asx {

namespace detail {

class acquire_op {
 public:
  acquire_op(semaphore of, std::uint64_t units, const std::source_location& site) noexcept
      : of_(of), units_(units), site_(site) {}
  status poll(cx& c) noexcept { return of_.poll_acquire(c, wait_, units_, held_, site_); }
  semaphore_units take() noexcept { return std::move(held_); }
  /// It lost, and waits no more.
  void leave() noexcept { wait_.leave(); }

 private:
  semaphore of_;
  std::uint64_t units_;
  std::source_location site_;
  semaphore_wait wait_;
  semaphore_units held_;
};

template <class T>
class lock_op {
 public:
  lock_op(mutex<T> of, const std::source_location& site) noexcept : of_(of), site_(site) {}
  status poll(cx& c) noexcept { return of_.poll_lock(c, wait_, held_, site_); }
  mutex_guard<T> take() noexcept { return std::move(held_); }
  /// It lost, and waits no more.
  void leave() noexcept { wait_.leave(); }

 private:
  mutex<T> of_;
  std::source_location site_;
  semaphore_wait wait_;
  mutex_guard<T> held_;
};

class notified_op {
 public:
  explicit notified_op(notify of) noexcept : of_(of) {}
  status poll(cx& c) noexcept { return of_.poll_wait(c, wait_); }
  void take() const noexcept {}
  /// It lost, and waits no more.
  void leave() noexcept { wait_.leave(); }

 private:
  notify of_;
  notify_wait wait_;
};

}  // namespace detail

/// A cancel point. Gives the units.
[[nodiscard("co_await acquire(...)")]] inline auto acquire(
    semaphore of, std::uint64_t units = 1, std::source_location site = std::source_location::current()) noexcept {
  return detail::acquire_op(of, units, site);
}
/// A cancel point. Gives the guard.
template <class T>
[[nodiscard("co_await lock(...)")]] auto lock(mutex<T> of,
                                              std::source_location site = std::source_location::current()) noexcept {
  return detail::lock_op<T>(of, site);
}
/// A cancel point.
[[nodiscard("co_await wait(...)")]] inline auto wait(notify of) noexcept {
  return detail::notified_op(of);
}

template <class... Args>
auto acquire(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<>();
}
template <class... Args>
auto lock(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<>();
}
template <class... Args>
auto wait(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<void>();
}

}  // namespace asx
