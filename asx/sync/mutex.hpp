// asx/sync/mutex.hpp - a value that one task at a time may touch, across its awaits.
//
//     const status s = accounts.poll_lock(c, waiting, guard);
//     if (s == status::would_block) return poll_result::pending;
//     guard->credit(5);                              // until guard.unlock(), or the end of its scope
//
// 1  At most one guard is held. Waiters are served in order of arrival; try_lock never jumps the queue.
// 2  The value can be reached through a guard only.
// 3  A held guard is an obligation of the holder's region, as semaphore units are: a task that ends with it in hand
//    is reported, and the next waiter is served. What a holder that was cancelled or panicked left behind is
//    the next one's to judge: there is no poisoning.
//
// R-301  no lock is held while the value is made or destroyed. Its constructor may close the region: then create says
//        ok, the value is destroyed, and the handle says disconnected.
//
// A mutex is a semaphore of one unit with a value beside it. Between polls it is not needed for tasks of one worker: it
// is for work that spans awaits.
//
// Cancel points: poll_lock. Nothing else waits.
// Threads: the runtime's.
// Lifetime: it belongs to its region; a guard that is held elsewhere keeps the value until it is unlocked, which
//           must be before the runtime ends. Handles are plain values.
#pragma once

#include <new>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/construct.hpp"
#include "asx/sync/semaphore.hpp"

namespace asx {

template <class T>
class mutex;

/// The right to touch the value. Move-only; unlocks when it goes.
template <class T>
class [[nodiscard("a guard that nobody keeps unlocks at once")]] mutex_guard {
 public:
  mutex_guard() noexcept = default;

  [[nodiscard]] bool is_held() const noexcept { return unit_.is_held(); }
  [[nodiscard]] T& operator*() const noexcept {
    ASX_ASSERT(unit_.is_held(), "the value can be touched while the guard is held");
    return *value_;
  }
  [[nodiscard]] T* operator->() const noexcept { return &**this; }
  void unlock() noexcept { unit_.release(); }

 private:
  friend class mutex<T>;
  semaphore_units unit_;
  T* value_ = nullptr;
};

/// A handle; copies name the same mutex.
template <class T>
class mutex {
 public:
  mutex() noexcept = default;

  /// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_sync, max_bytes, memory).
  template <class... Args>
  [[nodiscard]] static status create(kernel& k, region_handle region, mutex& out, std::string_view name,
                                     Args&&... args) {
    static_assert(std::is_nothrow_destructible_v<T>, "a guarded value must be destructible without throwing");
    semaphore_core* core = nullptr;
    const semaphore_core::value_type kind{sizeof(T), alignof(T),
                                          [](void* value) noexcept { std::destroy_at(static_cast<T*>(value)); }};
    status s = status::ok;
    thing_ref<semaphore_core> made;
    {
      const inside here(k);
      s = semaphore_core::create(k, region, 1, kind, name, core);
      if (s != status::ok) return s;
      made = thing_ref<semaphore_core>(*core);
      core->begin_value();
    }
    unmade guard{k, core};
    new (core->value()) T(std::forward<Args>(args)...);
    guard.core = nullptr;
    const inside here(k);
    core->end_value();  // Its region may have closed meanwhile: then the handle says disconnected.
    out.core_ = made;
    return s;
  }
  template <class... Args>
  [[nodiscard]] static status create(cx& c, mutex& out, std::string_view name, Args&&... args) {
    return create(c.kernel(), c.region(), out, name, std::forward<Args>(args)...);
  }

  /// A cancel point. ok: `out` is held. would_block: `w` waits. stale_handle, cancelled, disconnected,
  /// resource_exhausted (waiters, obligations): nothing is left in the queue.
  [[nodiscard]] status poll_lock(cx& c, semaphore_wait& w, mutex_guard<T>& out,
                                 std::source_location site = std::source_location::current()) noexcept {
    const inside in(core_.gate());
    semaphore_core* const core = core_.get();
    if (core == nullptr) {
      w.leave();
      return extension::poll_gone(c, core_.absence());
    }
    void* const value = core->value();  // What is written over may end this as well.
    const status s = core->poll_acquire(c, w, 1, out.unit_, site);
    if (s == status::ok) out.value_ = std::launder(static_cast<T*>(value));
    return s;
  }
  /// ok, stale_handle, disconnected, full (it is held, or somebody waits), resource_exhausted.
  [[nodiscard]] status try_lock(mutex_guard<T>& out,
                                std::source_location site = std::source_location::current()) noexcept {
    const inside in(core_.gate());
    semaphore_core* const core = core_.get();
    if (core == nullptr) return core_.absence();
    void* const value = core->value();
    const status s = core->try_acquire(1, out.unit_, site);
    if (s == status::ok) out.value_ = std::launder(static_cast<T*>(value));
    return s;
  }
  [[nodiscard]] status inspect(semaphore_report& out) const noexcept {
    const inside in(core_.gate());
    const semaphore_core* const core = core_.get();
    if (core == nullptr) return core_.absence();
    core->inspect(out);
    return status::ok;
  }

 private:
  struct unmade {  // A constructor that throws leaves no mutex.
    kernel& k;
    semaphore_core* core;
    ~unmade() {
      if (core == nullptr) return;
      const inside here(k);
      core->abandon();
    }
  };

  thing_ref<semaphore_core> core_;
};

}  // namespace asx
