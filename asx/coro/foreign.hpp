// asx/coro/foreign.hpp - a value that comes from another thread, once: what callbacks of other libraries become.
//
//     auto made = asx::foreign_value<int>(c);                                   // code, promise, future
//     library.start([p = std::move(made.promise)](int v) mutable { p.set(v); });   // on whatever thread it likes
//     const int v = co_await std::move(made.future);
//
// 1  The promise is kept once: set gives the value, and the task that made the pair is woken by an input (inbox.hpp).
// 2  A promise that is dropped without a value ends the await with disconnected.
// 3  A cancelled await ends at once, but for a value that is there: that is given, and the next cancel point sees the
//    cancel. In a select it goes before what is only ready. What comes later is destroyed by whoever brings it.
//    So the other side must not refer to the coroutine: what it needs, it owns. Where it must, use blocking.
// 4  While both are there, and nothing has come, it is a foreign hold.
// 5  In virtual time nobody parks for a hold: a run ends with the task still waiting, and the next run takes in
//    what came meanwhile. In a test, and in the lab, let a task play the other side: what a task of the same run sets
//    is there at the next step, before time moves.
// 6  A future that has a name may lose a select and be awaited again: select(std::ref(future), ...). One that has given
//    its value says disconnected.
// 7  A replay waits for the other side to bring its value again, at the step where it came (replay_live.hpp).
//
// Cancel points: awaiting the future.
// Threads: the promise is anybody's, one thread at a time; not a signal handler's. The future belongs to its task.
// Lifetime: each side may go first, and the runtime, too. What both share comes from the heap.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/coro/task.hpp"
#include "asx/kernel/extension.hpp"
#include "asx/runtime/inbox.hpp"

namespace asx {

namespace detail {

// What the two sides share.
template <class T>
struct foreign_state {
  std::optional<T> value;               // Written before `is_settled`, read after.
  atomic_word<bool> is_settled{false};  // Kept or dropped.
  atomic_word<std::uint32_t> owners{2};
  foreign_handle handle;     // The promise's.
  bool has_arrived = false;  // The runtime's thread's own.

  void release() noexcept {
    // Acquire and release: the last one sees what the other did before it frees.
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  static void arrived(void* self) noexcept {
    auto& s = *static_cast<foreign_state*>(self);
    s.is_settled.wait(false, std::memory_order_acquire);  // Only in a replay is it not there yet.
    s.has_arrived = true;
  }
};

}  // namespace detail

template <class T>
class [[nodiscard("a promise is kept, or its drop is")]] foreign_promise {
 public:
  foreign_promise() noexcept = default;
  foreign_promise(foreign_promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  foreign_promise& operator=(foreign_promise&& other) noexcept {
    if (this != &other) {
      settle();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~foreign_promise() { settle(); }

  [[nodiscard]] bool is_null() const noexcept { return state_ == nullptr; }
  /// The first value counts; a promise that was kept or moved from does nothing.
  template <class U = T>
  void set(U&& value) {
    if (state_ == nullptr) return;
    state_->value.emplace(std::forward<U>(value));
    settle();
  }

  // For foreign_value.
  explicit foreign_promise(detail::foreign_state<T>& state) noexcept : state_(&state) {}

 private:
  void settle() noexcept {
    if (state_ == nullptr) return;
    detail::foreign_state<T>& s = *std::exchange(state_, nullptr);
    foreign_handle h = std::move(s.handle);
    s.is_settled.store(true, std::memory_order_release);  // Pairs with the wait in arrived.
    s.is_settled.notify_one();
    h.say(detail::foreign_word::result);
    h.drop();
    s.release();
  }

  detail::foreign_state<T>* state_ = nullptr;
};

/// An operation: awaited once, by the task that made it.
template <class T>
class foreign_future {
 public:
  foreign_future() noexcept = default;
  foreign_future(foreign_future&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), home_(other.home_), slot_(other.slot_), number_(other.number_) {}
  foreign_future& operator=(foreign_future&& other) noexcept {
    if (this != &other) {
      drop();
      state_ = std::exchange(other.state_, nullptr);
      home_ = other.home_;
      slot_ = other.slot_;
      number_ = other.number_;
    }
    return *this;
  }
  ~foreign_future() { drop(); }

  [[nodiscard]] bool is_null() const noexcept { return state_ == nullptr; }

  status poll(cx& c) noexcept {
    if (state_ == nullptr) return status::stale_handle;
    const inside here(c.kernel());          // It may arrive on another worker.
    if (has_happened()) return status::ok;  // Also to who is cancelled: nobody else could give it back.
    if (const status s = c.checkpoint(); s != status::ok) return s;
    if (state_->has_arrived) return status::disconnected;
    extension::wait_for_foreign(c, number_);
    return status::would_block;
  }
  T take() { return *std::exchange(state_->value, std::nullopt); }
  /// A value is there, whatever else is ready.
  [[nodiscard]] bool has_happened() const noexcept {
    return state_ != nullptr && state_->has_arrived && state_->value.has_value();
  }
  /// It lost a select, and waits no more: it stands in no queue.
  void withdraw() noexcept {}

  // For foreign_value.
  foreign_future(detail::foreign_state<T>& state, kernel& home) noexcept
      : state_(&state), home_(&home), slot_(state.handle.slot()), number_(slot_->number) {}

 private:
  void drop() noexcept {
    if (state_ == nullptr) return;
    {
      const inside here(*home_);
      if (!state_->has_arrived) inbox::of(*home_).forget(*slot_);  // Its slot is there until the result was taken in.
    }
    std::exchange(state_, nullptr)->release();
  }

  detail::foreign_state<T>* state_ = nullptr;
  kernel* home_ = nullptr;
  detail::foreign_slot* slot_ = nullptr;
  std::uint64_t number_ = 0;
};

template <class T>
struct [[nodiscard("a refusal must be seen")]] foreign_pair {
  status code = status::ok;
  foreign_promise<T> promise{};
  foreign_future<T> future{};
};

/// Both sides of a value for the task of `c`. Refused as inbox::open is, or for want of memory.
template <class T>
foreign_pair<T> foreign_value(cx c) {
  auto* const state = new (std::nothrow) detail::foreign_state<T>;
  if (state == nullptr) return {status::resource_exhausted, {}, {}};
  const inbox::order what{.task = c.handle(), .context = state, .arrived = &detail::foreign_state<T>::arrived};
  if (const status s = inbox::of(c.kernel()).open(what, state->handle); s != status::ok) {
    delete state;
    return {s, {}, {}};
  }
  foreign_future<T> future(*state, c.kernel());
  return {status::ok, foreign_promise<T>(*state), std::move(future)};
}

}  // namespace asx
