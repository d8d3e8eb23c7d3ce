// asx/coro/blocking.hpp - calls that block, on threads that may.
//
//     asx::blocking_pool pool({.threads = 4});             // before the runtime: it outlives it
//     ...
//     const std::string text = co_await asx::blocking(pool, [&] { return read_file(path); });
//
// 1  The function runs on a thread of the pool; the others go on meanwhile. It gets no cx: it is no task.
// 2  The task ends only after the function has returned. A cancel that comes before it was submitted is seen, and
//    nothing is called; one that comes later waits: the value is given, and the next cancel point sees it. So the
//    function may refer to what lives in the coroutine.
// 3  An operation that is dropped while its function runs - it lost a select, or its task was ended by force - makes
//    the whole runtime wait for it, for the same reason. One that has not begun is not called. Do not select over
//    calls. A limit (`within`) does not drop it: it is waited for, and the limit is over when it has returned.
// 4  A full queue refuses: the coroutine ends with resource_exhausted (attempt sees it). To wait instead, take a
//    unit of a semaphore first.
// 5  An exception of the function goes to whoever awaits, and panics the task if nobody catches it there.
// 6  In virtual time and in a replay the function runs on the runtime's own thread: the same run each time, if the
//    function gives the same value.
// 7  `blocking_kept` has the value kept in the journal of a live run, and a replay on one thread (replay_live.hpp) is
//    given that one and does not call the function: it may read a clock, a sensor, a random device. So the function
//    must do nothing but give its value: what it writes elsewhere is not kept, nor is an exception, after which the
//    replay calls it. A value is a number, an enumeration, a struct of integers and enumerations without gaps, or an
//    array of these, at most 256 bytes; it holds no pointer. Whoever reads the journal reads it.
//
// GCC 12 destroys a lambda that owns something twice when it is written inside a co_await expression: it is refused
// there, in a sentence; name it first, and hand in asx::moved(name).
//
// Cancel points: blocking, before the function was submitted.
// Threads: the runtime's; the function runs on another, and what it touches is not the runtime's then.
// Lifetime: the pool outlives the runtime.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "asx/coro/task.hpp"
#include "asx/kernel/extension.hpp"
#include "asx/model/outcome.hpp"
#include "asx/runtime/drive_pool.hpp"

namespace asx {

namespace detail {

// Every byte of it means something, and means the same in another process. A long double has gaps, as a struct may.
template <class T>
inline constexpr bool is_gapless = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                                   !std::is_member_pointer_v<T> && std::has_unique_object_representations_v<T>;
template <>
inline constexpr bool is_gapless<float> = true;
template <>
inline constexpr bool is_gapless<double> = true;
template <class T, std::size_t N>
inline constexpr bool is_gapless<std::array<T, N>> = is_gapless<T> && N != 0;

template <class T>
inline constexpr bool is_plain_value = is_gapless<T> && std::is_default_constructible_v<T> && sizeof(T) <= 256;

template <class F, bool IsKept>
class blocking_call final : public blocking_job {
 public:
  using value = std::invoke_result_t<F&>;
  using stored = std::conditional_t<std::is_void_v<value>, unit, value>;
  static_assert(!std::is_reference_v<value>, "give a pointer: a reference would have to outlive the thread's call");

  explicit blocking_call(F&& f) : blocking_job(&blocking_call::run, where()), function_(std::move(f)) {}

  value take() {
#if defined(__cpp_exceptions)
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
#endif
    if constexpr (!std::is_void_v<value>) return std::move(*result_);
  }

 private:
  static void run(blocking_job& base) noexcept {
    auto& self = static_cast<blocking_call&>(base);
#if defined(__cpp_exceptions)
    try {
      self.call();
    } catch (...) {
      self.thrown_ = std::current_exception();
      self.result_.reset();  // There is none to keep.
    }
#else
    self.call();
#endif
  }
  static constexpr value_function where() noexcept {
    if constexpr (IsKept) {
      return [](blocking_job& base, bool is_made) noexcept -> std::span<std::byte> {
        auto& self = static_cast<blocking_call&>(base);
        if (is_made) self.result_.emplace();
        if (!self.result_) return {};
        return std::as_writable_bytes(std::span(&*self.result_, 1));
      };
    } else {
      return nullptr;
    }
  }
  void call() {
    if constexpr (std::is_void_v<value>) {
      function_();
    } else {
      result_.emplace(function_());
    }
  }

  F function_;
  std::optional<stored> result_;
#if defined(__cpp_exceptions)
  std::exception_ptr thrown_;
#endif
};

template <class F, bool IsKept = false>
class blocking_op {
 public:
  blocking_op(blocking_pool& pool, F&& f, const std::source_location& site)
      : pool_(&pool), function_(std::move(f)), site_(site) {}
  blocking_op(blocking_op&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
      : pool_(other.pool_),
        function_(std::move(other.function_)),
        site_(other.site_),
        home_(other.home_),
        call_(std::exchange(other.call_, nullptr)) {}
  blocking_op& operator=(blocking_op&&) = delete;
  // Not `leave`, which a select would say inside: it waits for a thread, and that one may be on its way in (law 3).
  ~blocking_op() {
    if (call_ != nullptr) wait_for_return();
  }

  status poll(cx& c) {
    if (call_ == nullptr) {
      if (const status s = c.checkpoint(); s != status::ok) return s;
      if (const status s = begin(c); s != status::ok) return s;
    }
    const inside here(c.kernel());  // It may arrive on another worker.
    if (call_->has_arrived()) return status::ok;
    extension::wait_for_foreign(c, call_->number());
    return status::would_block;
  }
  auto take() { return call_->take(); }
  /// A limit is over: nobody can end the call, so it is waited for as before.
  void hurry(cx&) noexcept {}

 private:
  using call = blocking_call<F, IsKept>;

  void wait_for_return() noexcept {
    pool_->withdraw(*call_);
    call_->~blocking_call();
    extension::give_block(*home_, nominal_bytes::frame, std::exchange(call_, nullptr), sizeof(call), alignof(call));
  }

  // The call gets a place of its own: the operation may still be moved, and the pool must find it.
  status begin(cx& c) {
    home_ = &c.kernel();
    void* const block = extension::take_block(*home_, nominal_bytes::frame, sizeof(call), alignof(call));
    if (block == nullptr) return status::resource_exhausted;
#if defined(__cpp_exceptions)
    try {
      call_ = new (block) call(std::move(function_));
    } catch (...) {
      extension::give_block(*home_, nominal_bytes::frame, block, sizeof(call), alignof(call));
      throw;
    }
#else
    call_ = new (block) call(std::move(function_));
#endif
    const status s = pool_->submit(c, *call_, site_);
    if (s != status::ok) wait_for_return();
    return s;
  }

  blocking_pool* pool_;
  F function_;
  std::source_location site_;
  kernel* home_ = nullptr;
  call* call_ = nullptr;
};

}  // namespace detail

/// A cancel point until the function was submitted. Gives what the function returns.
template <class F>
  requires std::is_invocable_v<std::decay_t<F>&>
[[nodiscard("co_await blocking(...)")]] auto blocking(blocking_pool& pool, F&& f,
                                                      std::source_location site = std::source_location::current()) {
  detail::check_function<F>();
  return detail::blocking_op<std::decay_t<F>>(pool, std::decay_t<F>(std::forward<F>(f)), site);
}

/// The same; the value is kept in the journal, and a replay gives it without a call (law 7).
template <class F>
  requires std::is_invocable_v<std::decay_t<F>&>
[[nodiscard("co_await blocking_kept(...)")]] auto blocking_kept(
    blocking_pool& pool, F&& f, std::source_location site = std::source_location::current()) {
  detail::check_function<F>();
  using value = std::invoke_result_t<std::decay_t<F>&>;
  static_assert(detail::is_plain_value<value>,
                "asx: a value that is kept is a number, an enumeration, a struct of integers and enumerations without "
                "gaps, or an array of these, of at most 256 bytes: its bytes go into the journal and come back");
  return detail::blocking_op<std::decay_t<F>, true>(pool, std::decay_t<F>(std::forward<F>(f)), site);
}

}  // namespace asx
