// asx/coro/spawn.hpp - coroutines as tasks of a region, and their results.
//
//     auto [code, h] = asx::spawn(c, worker, std::move(rx), 3);      // into the region of c; it runs beside this one
//     auto other = co_await asx::start(c, worker, std::move(rx), 4); // the same; a refusal ends this coroutine
//     co_await asx::start(c, {.name = "clock"}, tick);               // both take options before the function
//     ...
//     const auto& how = co_await asx::join(h);                       // outcome<T>: ok, err, cancelled or panicked
//
// 1  The function and its arguments are moved into the task and live until it has ended: captures of a lambda do not
//    dangle, and a reference parameter refers to the task's own copy. An argument is not converted for one, and none is
//    left to its default.
// 2  A refusal (region not open, limits, memory) has started nothing; function and arguments are destroyed.
// 3  Dropping a handle forgets the result, not the task: the region still owns it, and ends only after it. A failure
//    that is forgotten so in the region of the program is the program's (run.hpp).
// 4  Frame and arguments are destroyed when the task ends; the result stays for the handle.
//
// Cancel points: join. spawn is none.
// Threads: the runtime's.
// Lifetime: a handle keeps the task's record; it is gone before the runtime is.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/base/refer.hpp"
#include "asx/coro/task.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

namespace detail {

struct slot_guard {
  slot_guard(kernel& of, task_slot& slot) noexcept : home(of), reserved(slot) {}
  slot_guard(const slot_guard&) = delete;
  slot_guard& operator=(const slot_guard&) = delete;
  ~slot_guard() {
    if (!reserved.is_empty()) [[unlikely]]
      home.abandon(reserved);
  }
  kernel& home;
  task_slot& reserved;
};
struct block_guard {
  kernel& home;
  void* block;
  std::size_t bytes;
  std::size_t alignment;
  ~block_guard() {
    if (block != nullptr) extension::give_block(home, nominal_bytes::frame, block, bytes, alignment);
  }
};
template <class Body>
struct owner_guard {
  Body* body;
  ~owner_guard() {
    if (body != nullptr) body->release();
  }
};

}  // namespace detail

/// How a task is spawned, besides what it runs.
struct spawn_options {
  std::string_view name{};
  std::uint8_t priority = 128;
  budget limits{};
  std::source_location site = std::source_location::current();  // Where the options were written.
};

/// A cx, and the place in the program where it was passed: reports name that place.
struct cx_here {
  cx_here(cx at, std::source_location where = std::source_location::current()) noexcept : c(at), site(where) {}
  cx c;
  std::source_location site;
};

namespace detail {

/// Type and text of the exception that is being handled, terminated, as far as there is room.
ASX_API void tell_exception(std::span<char> out) noexcept;
/// The task that is polled panics with the type and text of the exception that is being handled.
ASX_API void panic_with_exception(cx& c) noexcept;

/// What a handle sees of a spawned task: its result, and the coroutines while it runs.
template <class T>
class spawned : public coro_root {
 public:
  using stored = std::conditional_t<std::is_void_v<T>, unit, T>;

  void hold() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: who holds it is an owner.
  void release() noexcept {
    if (is_last()) functions_.free(*this);
  }
  std::optional<stored> value;

 protected:
  spawned(cx c, const functions& table) noexcept : coro_root(c, table), home_(extension::kernel_of(c)) {}
  ~spawned() = default;
  [[nodiscard]] kernel& home() const noexcept { return home_; }

  /// False when there is no memory for the frame.
  bool start(task<T>&& first) noexcept {
    first_ = std::move(first);
    if (!first_) return false;
    promise<T>& p = first_.handle_.promise();
    p.root = this;
    resume_next(first_.handle_);
    return true;
  }
  void forget_frame() noexcept {
    unwind();
    first_ = task<T>(nullptr);
  }

  // As a root, which is how lists find it.
  static spawned& at(void* context) noexcept { return static_cast<spawned&>(*static_cast<coro_root*>(context)); }
  static poll_result say_end(coro_root& root, cx& c) { return static_cast<spawned&>(root).end_poll(c); }
  static void drop(void* context) noexcept {
    auto& self = at(context);
    self.functions_.end_body(self);  // One that was ended by force, or from outside, still has its frame.
    self.tell_end();
    self.release();
  }

 private:
  [[nodiscard]] bool is_last() noexcept {
    // Acquire and release: the last one sees what the others did before it frees.
    const auto leave = [this] { return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1; };
    if (!may_have_orders()) [[likely]]
      return leave();
    const inside here(home_);  // Who is the last is a part of the order.
    return leave();
  }
  poll_result end_poll(cx& c) {
    promise<T>& p = first_.handle_.promise();
    const ending ended = p.is_ended ? p.ended_with() : ending{};
    if (!p.is_ended) keep(p, c);
    if (ended.is_panic) extension::panic(c, kept_panic().text);
    functions_.end_body(*this);  // Destructors run now, while this still is the polled task.
    if (ended.code == status::ok) return poll_result::ready;
    // Cancelled is who was asked to be; who was not, and waited for somebody that was, has failed.
    if (ended.code == status::cancelled && c.checkpoint() == status::cancelled) return poll_result::ready;
    c.set_error(ended.code, ended.detail);
    return poll_result::error;
  }
  void keep(promise<T>& p, cx& c) {
#if defined(__cpp_exceptions)
    try {
      take_value(p);
    } catch (...) {
      panic_with_exception(c);
    }
#else
    static_cast<void>(c);
    take_value(p);
#endif
  }
  void take_value(promise<T>& p) {
    if constexpr (std::is_void_v<T>) {
      p.take();
      value.emplace();
    } else {
      value.emplace(p.take());
    }
  }

  kernel& home_;
  task<T> first_{nullptr};
  atomic_word<std::uint32_t> owners_{1};  // The task; a handle is one more.
};

// A reference parameter lives on in the frame. It must refer to the task's own copy of the argument, and not to
// something that the argument was converted to for the call: that is gone before the task runs.
template <class Param, class Arg>
inline constexpr bool refers_to_copy =
    !std::is_reference_v<Param> || std::is_convertible_v<Arg*, std::remove_reference_t<Param>*>;
template <class Param, class Arg>
inline constexpr bool refers_to_copy<Param, std::reference_wrapper<Arg>> =
    !std::is_reference_v<Param> || std::is_convertible_v<Arg*, std::remove_reference_t<Param>*>;

template <class F, class... Args>
struct call_of {  // Called with what it likes: nobody can tell.
  static constexpr bool is_safe = true;
  static constexpr bool takes_values = false;
};
template <class R, class... Params, class... Args>
struct call_of<R (*)(cx, Params...), Args...> {
  // Those that an argument was given for, and then those that are left to their defaults: what a default makes is gone
  // after the call as well, and nobody can tell it from one that stays.
  template <std::size_t... Given, std::size_t... Left>
  static consteval bool judge(std::index_sequence<Given...>, std::index_sequence<Left...>) {
    using params = std::tuple<std::type_identity<Params>...>;
    // NOLINTNEXTLINE(modernize-type-traits): it is type_identity's, and not tuple_element's.
    return (refers_to_copy<typename std::tuple_element_t<Given, params>::type, Args> && ...) &&
           !(std::is_reference_v<typename std::tuple_element_t<sizeof...(Given) + Left, params>::type> || ...);
  }
  static consteval bool judge() {
    if constexpr (sizeof...(Params) < sizeof...(Args)) {
      return true;  // It cannot be called like this, and that is told elsewhere.
    } else {
      return judge(std::index_sequence_for<Args...>{}, std::make_index_sequence<sizeof...(Params) - sizeof...(Args)>{});
    }
  }
  static constexpr bool is_safe = judge();
  static consteval bool judge_values() {
    if constexpr (sizeof...(Params) == sizeof...(Args)) {
      return (std::is_same_v<std::remove_cv_t<Params>, Args> && ...);
    } else {
      return false;
    }
  }
  /// What it is called with lies in its own frame, and nowhere else. A parameter that is made from its argument may
  /// refer to it, as a view does to a string: that is kept.
  static constexpr bool takes_values = judge_values();
};
// Whatever else is said of a function, and whatever it is wrapped in, does not change what it is called with.
template <class R, class... Params, class... Args>
struct call_of<R (*)(cx, Params...) noexcept, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...), Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...) noexcept, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...)&, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...) & noexcept, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...) const, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...) const noexcept, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...) const&, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class R, class C, class... Params, class... Args>
struct call_of<R (C::*)(cx, Params...) const & noexcept, Args...> : call_of<R (*)(cx, Params...), Args...> {};
template <class F, class... Args>
  requires requires { &F::operator(); }
struct call_of<F, Args...> : call_of<decltype(&F::operator()), Args...> {};
template <class F, class... Args>
struct call_of<moved_value<F>, Args...> : call_of<F, Args...> {};
template <class F, class... Args>
struct call_of<std::reference_wrapper<F>, Args...> : call_of<std::decay_t<F>, Args...> {};

/// With the function, whose captures the coroutine may use, and with the arguments if it may refer to them.
template <class T, class F, class... Args>
class spawned_body final : public spawned<T> {
  static_assert(
      call_of<F, Args...>::is_safe,
      "asx: an argument would be converted for a reference parameter, or one is left to its default, and what "
      "it refers to would be gone: give an argument of the parameter's own type, or take it by value");
  static constexpr bool keeps_arguments = !call_of<F, Args...>::takes_values;
  using kept = std::conditional_t<keeps_arguments, std::tuple<F, Args...>, std::tuple<F>>;

 public:
  explicit spawned_body(cx c) noexcept : spawned<T>(c, table) {}

  template <class G, class... More>
  bool start(G&& f, More&&... args) {
    if constexpr (keeps_arguments) {
      body_.emplace(std::forward<G>(f), std::forward<More>(args)...);
      return spawned<T>::start(std::apply(
          [this](F& function, Args&... own) { return function(cx(this->context), std::move(own)...); }, *body_));
    } else {
      body_.emplace(std::forward<G>(f));
      return spawned<T>::start(std::get<0>(*body_)(cx(this->context), static_cast<Args>(std::forward<More>(args))...));
    }
  }
  [[nodiscard]] task_spec spec(const spawn_options& how, bool is_held) noexcept {
    return {.poll = &coro_root::poll,
            .context = static_cast<coro_root*>(this),
            .drop = &spawned<T>::drop,
            .limits = how.limits,
            .priority = how.priority,
            .name = how.name,
            .is_held = is_held,
            .sites = &coro_root::next_site};
  }

 private:
  static void end_body(coro_root& base) noexcept {
    auto& self = static_cast<spawned_body&>(base);
    self.forget_frame();
    self.body_.reset();
  }
  static void free(coro_root& base) noexcept {
    auto& self = static_cast<spawned_body&>(base);
    kernel& k = self.home();
    self.forget_panics(k);
    self.~spawned_body();
    extension::give_block(k, nominal_bytes::frame, &self, sizeof(spawned_body), alignof(spawned_body));
  }
  static constexpr coro_root::functions table{&spawned<T>::say_end, &spawned_body::end_body, &spawned_body::free};

  std::optional<kept> body_;
};

/// The value of an ok outcome; a unit says nothing and is none.
template <class T>
T value_in(outcome<T>&& how) {
  if constexpr (std::is_same_v<T, unit>) {
    return {};
  } else {
    return std::move(how).value();
  }
}

template <class F, class... Args>
using task_of = std::invoke_result_t<std::decay_t<F>&, cx, std::decay_t<Args>...>;

template <class>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

template <class T>
inline constexpr bool is_kept =
    std::is_move_constructible_v<std::decay_t<T>> && std::is_constructible_v<std::decay_t<T>, T>;

}  // namespace detail

/// What can be spawned: called with a cx and the arguments, moved, it gives a task<T>; and the arguments are there to
/// be moved, or can be copied.
template <class F, class... Args>
concept coroutine_function = std::is_invocable_v<std::decay_t<F>&, cx, std::decay_t<Args>...> &&
                             detail::is_task<detail::task_of<F, Args...>> && (detail::is_kept<Args> && ...);

namespace detail {

// A string literal lives for ever; any other array decays to a pointer to something that does not.
template <class T>
inline constexpr bool is_buffer =
    std::is_array_v<std::remove_reference_t<T>> && !std::is_const_v<std::remove_extent_t<std::remove_reference_t<T>>>;

template <class... Args>
consteval bool explain_arguments() noexcept {
  static_assert((!is_not_moved<Args> && ...),
                "asx: arguments are copied into the task, and one of these can only be moved: std::move(rx)");
  static_assert(((is_kept<Args> || is_not_moved<Args>) && ...),
                "asx: arguments are moved into the task, and one of these cannot be: pass a pointer, or what "
                "owns it");
  return true;
}
template <class First>
inline constexpr bool is_no_cx = !std::is_convertible_v<First, cx_here>;
template <class First>
consteval void explain_missing_cx() noexcept {
  static_assert(always_false<First>,
                "asx: the first argument is the cx of the coroutine that calls this: start(c, f, args...), "
                "region(c, f, args...)");
}

/// Why F and Args are no coroutine_function, in a sentence.
template <class F, class... Args>
consteval bool explain() noexcept {
  constexpr bool is_given_task = is_task<std::remove_cvref_t<F>>;
  constexpr bool is_given_operation = !is_given_task && operation<std::remove_cvref_t<F>>;
  static_assert(!is_given_operation,
                "asx: this takes a function that runs as a task, and not an operation: an operation is awaited as it "
                "is, co_await recv(rx), or with others by select(...)");
  if constexpr (is_given_operation) return true;
  constexpr bool are_kept = is_given_task || (is_kept<Args> && ...);
  static_assert(!is_given_task,
                "asx: pass the function and its arguments, not the task that it returned: spawn(c, f, x), and not "
                "spawn(c, f(c, x))");
  if constexpr (!is_given_task) static_assert(explain_arguments<Args...>());
  if constexpr (!is_given_task && are_kept) {
    constexpr bool is_called = std::is_invocable_v<std::decay_t<F>&, cx, std::decay_t<Args>...>;
    static_assert(is_called,
                  "asx: it cannot be called with a cx and these arguments: its first parameter is asx::cx, and the "
                  "others are given as rvalues, so take them by value, or pass a pointer to what is shared");
    if constexpr (is_called) static_assert(is_task<task_of<F, Args...>>, "asx: it must return an asx::task<T>");
  }
  return true;
}

}  // namespace detail

/// Who a spawned task is, and its result once it has ended. Move-only; dropping it forgets the result.
template <class T = void>
class join_handle {
 public:
  join_handle() noexcept = default;
  join_handle(join_handle&& other) noexcept
      : kernel_(std::exchange(other.kernel_, nullptr)), task_(other.task_), body_(other.body_) {}
  join_handle& operator=(join_handle&& other) noexcept {
    if (this != &other) {
      drop();
      kernel_ = std::exchange(other.kernel_, nullptr);
      task_ = other.task_;
      body_ = other.body_;
    }
    return *this;
  }
  ~join_handle() { drop(); }

  [[nodiscard]] bool is_null() const noexcept { return kernel_ == nullptr; }
  [[nodiscard]] task_handle task() const noexcept { return task_; }
  [[nodiscard]] bool is_done() const noexcept { return kernel_ != nullptr && kernel_->has_ended(task_); }
  /// ok when it has ended already, and nothing happens; stale_handle when this handle names none.
  status cancel(const cancel_request& why = {}) noexcept {
    return kernel_ == nullptr ? status::stale_handle : kernel_->request_cancel(task_, why);
  }
  /// How it ended: tasks_still_active while it has not. The value is moved out once; then it is a bare ok. Texts live
  /// as long as this handle.
  [[nodiscard]] status take(outcome<typename detail::spawned<T>::stored>& out) {
    using answer = outcome<typename detail::spawned<T>::stored>;
    if (kernel_ == nullptr) return status::stale_handle;
    task_outcome how;
    if (const status s = kernel_->result(task_, how); s != status::ok) return s;
    switch (how.kind()) {
      case outcome_kind::ok:
        out = answer::ok();
        if (!body_->value) break;
        out.put_value(std::move(*body_->value));  // When that throws, the value is where it was.
        body_->value.reset();
        break;
      case outcome_kind::err: out = answer::err(how.error()); break;
      case outcome_kind::cancelled: out = answer::cancelled(how.cancelled_by()); break;
      case outcome_kind::panicked: out = answer::panicked(how.panic()); break;
    }
    return status::ok;
  }
  void drop() noexcept {
    if (kernel_ == nullptr) return;
    kernel& k = *std::exchange(kernel_, nullptr);
    body_->release();
    static_cast<void>(k.release_task(task_));
  }

  // For spawn, join, link and sets.
  join_handle(kernel& k, task_handle t, detail::spawned<T>& body) noexcept : kernel_(&k), task_(t), body_(&body) {}
  [[nodiscard]] kernel* home() const noexcept { return kernel_; }
  [[nodiscard]] detail::coro_root* root() const noexcept { return kernel_ == nullptr ? nullptr : body_; }
  /// Somebody else holds from here on what it held.
  void pass_on() noexcept { kernel_ = nullptr; }

 private:
  kernel* kernel_ = nullptr;
  task_handle task_{};
  detail::spawned<T>* body_ = nullptr;
};

template <class T>
struct [[nodiscard("a refused spawn must be seen")]] spawn_result {
  status code = status::ok;
  join_handle<T> handle{};
};

namespace detail {

/// Into a slot for which `reserved` is ok.
template <class F, class... Args>
auto spawn_into(kernel& k, task_slot& slot, status reserved, const spawn_options& how, F&& f, Args&&... args) {
  static_assert(detail::is_kept<F>,
                "asx: a function is copied or moved into its task, and this one cannot be copied: pass std::move(f) or "
                "asx::moved(f)");
  static_assert(!(detail::is_buffer<Args> || ...),
                "asx: an array is not copied into the task, a pointer to it would be: pass a std::array or a "
                "std::string");
  using body =
      detail::spawned_body<typename detail::task_of<F, Args...>::value_type, std::decay_t<F>, std::decay_t<Args>...>;
  using result = spawn_result<typename detail::task_of<F, Args...>::value_type>;
  if (reserved != status::ok) return result{reserved, {}};
  detail::slot_guard unspawned(k, slot);
  void* const block = extension::take_block(k, nominal_bytes::frame, sizeof(body), alignof(body));
  if (block == nullptr) return result{status::resource_exhausted, {}};
  auto* const made = new (block) body(extension::cx_of(slot));
  detail::owner_guard<body> unowned{made};
  if (!made->start(std::forward<F>(f), std::forward<Args>(args)...)) return result{status::resource_exhausted, {}};
  unowned.body = nullptr;
  made->hold();
  const task_handle t = k.commit(slot, made->spec(how, true), how.site);
  return result{status::ok, {k, t, *made}};
}

template <class F, class... Args>
auto spawn_beside(cx& c, const spawn_options& how, F&& f, Args&&... args) {
  kernel& k = extension::kernel_of(c);
  task_slot slot;
  return spawn_into(k, slot, k.reserve_task(c, slot), how, std::forward<F>(f), std::forward<Args>(args)...);
}

}  // namespace detail

/// Runs `f(cx, args...)` as a task of `region`.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto spawn_in(kernel& k, region_handle region, const spawn_options& how, F&& f, Args&&... args) {
  task_slot slot;
  const status reserved = k.reserve_task(region, slot);
  return detail::spawn_into(k, slot, reserved, how, std::forward<F>(f), std::forward<Args>(args)...);
}

/// Into the region of the task.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto spawn(cx_here at, F&& f, Args&&... args) {
  return detail::spawn_beside(at.c, {.site = at.site}, std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto spawn(cx c, const spawn_options& how, F&& f, Args&&... args) {
  return detail::spawn_beside(c, how, std::forward<F>(f), std::forward<Args>(args)...);
}

template <class F, class... Args>
  requires(!coroutine_function<F, Args...> && !std::is_same_v<std::remove_cvref_t<F>, spawn_options>)
[[nodiscard]] auto spawn(cx_here, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return spawn_result<void>{};
}
template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
[[nodiscard]] auto spawn(cx, const spawn_options&, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return spawn_result<void>{};
}
template <class First, class... Rest>
  requires detail::is_no_cx<First>
auto spawn(First&&, Rest&&...) {
  detail::explain_missing_cx<First>();
  return spawn_result<void>{};
}

namespace detail {

template <class T>
class started_op {
 public:
  explicit started_op(spawn_result<T>&& spawned) noexcept : spawned_(std::move(spawned)) {}
  status poll(cx&) const noexcept { return spawned_.code; }
  join_handle<T> take() noexcept { return std::move(spawned_.handle); }

 private:
  spawn_result<T> spawned_;
};

template <class T>
class join_op {
 public:
  explicit join_op(join_handle<T>& h) noexcept : handle_(&h) {}
  join_op(join_op&&) noexcept = default;

  status poll(cx& c) noexcept {
    if (handle_->is_null()) return status::stale_handle;
    if (const status s = c.checkpoint(); s != status::ok) {
      wait_.leave();
      return s;
    }
    return handle_->home()->await_completed(handle_->task(), c, wait_);
  }
  outcome<typename spawned<T>::stored> take() {
    outcome<typename spawned<T>::stored> out;
    static_cast<void>(handle_->take(out));
    return out;
  }
  /// It lost, and waits no more.
  void leave() noexcept { wait_.leave(); }

 private:
  join_handle<T>* handle_;
  waiter wait_;
};

}  // namespace detail

/// `co_await start(c, f, args...)`: spawns now and gives the handle; a refusal ends the coroutine with its status.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
[[nodiscard("co_await start(...)")]] auto start(cx_here at, F&& f, Args&&... args) {
  detail::check_function<F>();
  (detail::check_value<Args>(), ...);
  return detail::started_op<typename detail::task_of<F, Args...>::value_type>(
      spawn(at, std::forward<F>(f), std::forward<Args>(args)...));
}
template <class F, class... Args>
  requires coroutine_function<F, Args...>
[[nodiscard("co_await start(...)")]] auto start(cx c, const spawn_options& how, F&& f, Args&&... args) {
  detail::check_function<F>();
  (detail::check_value<Args>(), ...);
  return detail::started_op<typename detail::task_of<F, Args...>::value_type>(
      spawn(c, how, std::forward<F>(f), std::forward<Args>(args)...));
}

template <class F, class... Args>
  requires(!coroutine_function<F, Args...> && !std::is_same_v<std::remove_cvref_t<F>, spawn_options>)
auto start(cx_here, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return detail::started_op<void>({});
}
template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
auto start(cx, const spawn_options&, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return detail::started_op<void>({});
}
template <class First, class... Rest>
  requires detail::is_no_cx<First>
auto start(First&&, Rest&&...) {
  detail::explain_missing_cx<First>();
  return detail::started_op<void>({});
}

/// A cancel point: waits until it has ended, and gives its outcome.
template <class T>
[[nodiscard("co_await join(...)")]] auto join(join_handle<T>& h) noexcept {
  return detail::join_op<T>(h);
}
template <class T>
auto join(const join_handle<T>&) {
  static_assert(detail::always_false<T>,
                "asx: a handle that is joined has a name, and is not const: auto h = co_await start(c, f); "
                "co_await join(h)");
  return detail::started_op<void>({});
}
template <class T>
auto join(const spawn_result<T>&) {
  static_assert(detail::always_false<T>, "asx: join takes the handle of what spawn gave: co_await join(s.handle)");
  return detail::started_op<void>({});
}
template <class... Args>
auto join(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<>();
}

}  // namespace asx
