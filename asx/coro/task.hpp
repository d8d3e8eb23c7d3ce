// asx/coro/task.hpp - coroutines: what users write.
//
//     asx::task<int> fetch(asx::cx c, asx::sender<order> tx) {
//       co_await asx::sleep(asx::duration::seconds(1));  // a cancel point: cancelled, it ends here, destructors run
//       const auto got = co_await asx::attempt(asx::reserve(tx));     // the whole answer as a value; never ends here
//       ...
//       co_return co_await parse(c, text);                // a child coroutine, in the same task
//     }
//
// 1  A task<T> is lazy: it runs when it is awaited or spawned. It is move-only and dies with its frame. It is awaited
//    once: whoever awaits it again, or one that was moved from, panics.
// 2  The first parameter of a coroutine is `asx::cx`, by value: frames come from the runtime's pool through it.
// 3  `co_await op` gives the value, or ends the coroutine with what came instead: cancelled, or err with its status.
//    The coroutines that await it end likewise, innermost first, each one's destructors in order; nothing is thrown.
//    `co_await attempt(op)` gives everything as a value and ends nothing. A task that ends cancelled, and was not
//    asked to, ends with err cancelled.
// 4  An operation that is ready does not suspend; after coop_limit ready operations in one poll the next one yields
//
// 5  An exception goes to whoever awaits. One that leaves a spawned task panics it, with type and text; it leaves no
//    run. One that flows off its end without the value that it promised panics whoever awaits.
// 6  Awaiting does not grow the stack, with any compiler and any flags, nor does the end of many that await each
//    other: a coroutine that suspends returns to the loop of its task, which resumes the next one. Symmetric transfer
//    would save a return, and is no tail call in a -O0 build of GCC 12.
// 7  A frame that memory was refused for is an empty task, too: awaiting it ends with err resource_exhausted.
//
// Cancel points: every operation says so itself; awaiting a child is none.
// Threads: the runtime's.
// Lifetime: a frame lives until its task<T> does, or until the spawned task has ended. Arguments are copied into the
//           frame: a reference parameter must outlive the task, so spawn takes none. An operation that has a name
//           outlives the await that it was moved into, and is spent by it.
#pragma once

#include <bit>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "asx/coro/detail/frame.hpp"
#include "asx/coro/moved.hpp"
#include "asx/kernel/cx.hpp"
#include "asx/kernel/gate.hpp"
#include "asx/model/outcome.hpp"

namespace asx {

template <class T = void>
class task;
template <class T>
class join_handle;
template <class T>
class join_set;
template <class T>
class receiver;

/// What an awaited operation is: poll says would_block, ok or why not; take gives the value after ok. One that has
/// something to give back when it is not ok says it by `answer(code)`, which attempt gives then in place of
/// `attempted`. One that may be ready without a poll says so by is_ready_now, and does by take_now what poll and take
/// would; both are asked in one entry of `gate`, if there is one. Where it is not ready it may further say, where there
/// is no gate, by poll_unready what poll would say, and where there is one, by waits_now that it would block, and
/// waits; and, polled again, by is_ready_again that take_now follows in the same entry, or by is_done_again that all is
/// done. One that lets go of everything by `end` is awaited where it lies, and not moved. One that somebody else may
/// complete while it waits says so by has_happened; if it must not be where another operation could be decided for as
/// well, it waits so only by poll_alone, which is asked in place of poll by who awaits it alone, or selects between it
/// and such as cannot be completed.
template <class Op>
concept operation = requires(Op& op, cx& c) {
  { op.poll(c) } -> std::same_as<status>;
  op.take();
};

/// The answer of an operation that was attempted: a code, and the value when that is ok.
template <class T>
struct [[nodiscard]] attempted {
  status code = status::ok;
  std::optional<T> value{};
  [[nodiscard]] bool is_ok() const noexcept { return code == status::ok; }
};
template <>
struct [[nodiscard]] attempted<void> {
  status code = status::ok;
  [[nodiscard]] bool is_ok() const noexcept { return code == status::ok; }
};

/// `co_await attempt(op)`: the whole answer, and the coroutine goes on.
template <class What>
class [[nodiscard("co_await what was attempted")]] attempt {
 public:
  explicit attempt(What&& what) : what_(std::move(what)) {}
  What what_;
};
template <class What>
attempt(What) -> attempt<What>;

/// `co_await fail(code)` ends the coroutine with err.
struct [[nodiscard("co_await fail(...)")]] fail {
  explicit fail(status why, std::uint64_t more = 0) noexcept : code(why), detail(more) {}
  status code;
  std::uint64_t detail;
};

namespace detail {

/// Now, and not when it dies: it may stand there for the rest of the expression, and another thread could still
/// complete it. What can be asked again says so by `withdraw` or `end`; of all others that wait, `leave` is the end.
template <class Op>
void give_up(Op& op) noexcept {
  if constexpr (requires { op.withdraw(); }) {
    op.withdraw();
  } else if constexpr (requires { op.end(); }) {
    op.end();
  } else if constexpr (requires { op.leave(); }) {
    op.leave();
  }
}

template <class Op>
using value_of = decltype(std::declval<Op&>().take());

// Awaits one operation. `Whole`: gives an `attempted`, and never ends the coroutine. The operation that the await was
// given lies in the frame already, and one that can be ended is left there; all others are moved. Neither lives on
// after the await, also when it has a name.
template <class Op, bool Whole>
class op_awaiter final : public waiting_op {
 public:
  // What is not there yet is there when it waits.
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject)
  op_awaiter(Op&& op, promise_base& promise) : waiting_op(promise), op_(static_cast<held>(op)) {}
  op_awaiter(const op_awaiter&) = delete;
  op_awaiter& operator=(const op_awaiter&) = delete;
  ~op_awaiter() {
    if constexpr (refers) {
      if (!is_prompt_) op_.end();  // What was ready holds nothing.
    }
  }

  ASX_ALWAYS_INLINE bool await_ready() {
    if (promise_.root->must_yield()) return false;
    if constexpr (can_be_prompt) {
      // Among threads what is ready is taken in the entry that finds it: it stays inside until then.
      // What it needs there is at hand before: nothing is remembered over the way in.
      auto& op = op_;
      coro_root& root = *promise_.root;
      const gate_port* const gate = gate_to(op);
      if (gate != nullptr && !gate->come_in_shortly()) [[unlikely]]
        return poll_inside(*gate);
      if (op.is_ready_now(root.context)) [[likely]]
        return say_prompt(root, gate);
      if (gate != nullptr) {
        if constexpr (requires { op.waits_now(root.context); }) {
          if (op.waits_now(root.context)) [[likely]] {
            gate->go_out();
            return false;
          }
        }
        return poll_and_leave(*gate);
      }
      if constexpr (requires { op.poll_unready(root.context); }) return judge(op.poll_unready(root.context));
    }
    return poll_first();
  }
  void await_suspend(std::coroutine_handle<> h, site_word where = __builtin_source_location()) noexcept {
    self_ = h;
    if (!is_answered_) {
      promise_.site = where;
      promise_.root->wait(*this, table);
    } else {
      promise_.end({code_});
    }
  }
  ASX_ALWAYS_INLINE auto await_resume() {
    if constexpr (can_be_prompt) {
      using value = decltype(op_.take_now(promise_.root->context));
      if (is_prompt_) [[likely]] {
        const short_stay here(gate_, short_stay::is_in);
        return op_.take_now(promise_.root->context);
      }
      if constexpr (requires { op_.template take_as<value>(); }) {
        rethrow();
        if constexpr (std::is_trivially_copyable_v<value> && std::is_copy_constructible_v<value>) {
          // Named, for GCC 12 on s390x and PowerPC, which breaks down where it should inline the call in a return.
          const value taken = op_.template take_as<value>();
          return taken;
        } else {
          return op_.template take_as<value>();
        }
      } else {
        return take();
      }
    } else {
      return take();
    }
  }

 private:
  static constexpr bool is_quiet = noexcept(std::declval<Op&>().poll(std::declval<cx&>()));
  static constexpr bool can_be_prompt = !Whole && requires(Op& op, cx& c) { op.is_ready_now(c); };
  static constexpr bool can_be_prompt_again =
      can_be_prompt &&
      (requires(Op& op, cx& c) { op.is_done_again(c); } || requires(Op& op, cx& c) { op.is_ready_again(c); });

  ASX_ALWAYS_INLINE bool say_prompt(coro_root& root, const gate_port* gate) noexcept {
    root.count_ready();
    gate_ = gate;
    return is_prompt_ = true;
  }
  ASX_ALWAYS_INLINE bool poll_first() { return judge(ask(promise_.root->context)); }
  ASX_ALWAYS_INLINE status ask(cx& c) {
    if constexpr (requires { op_.poll_alone(c); }) {
      return op_.poll_alone(c);
    } else {
      return op_.poll(c);
    }
  }
  // Of the first poll: true when the coroutine goes on with what it said.
  ASX_ALWAYS_INLINE bool judge(status said) {
    if (said == status::would_block) return false;
    code_ = said;
    is_answered_ = true;
    promise_.root->count_ready();
    return Whole || code_ == status::ok;
  }
  ASX_OUT_OF_THE_WAY bool poll_inside(const gate_port& gate) {
    short_stay here(&gate);
    if (!op_.is_ready_now(promise_.root->context)) return poll_first();
    here.go_on();
    return say_prompt(*promise_.root, &gate);
  }
  ASX_OUT_OF_THE_WAY bool poll_and_leave(const gate_port& gate) {
    const short_stay here(&gate, short_stay::is_in);
    return poll_first();
  }

  void rethrow() {
    if constexpr (!is_quiet) promise_.rethrow_kept();
  }
  auto take() {
    rethrow();
    if constexpr (Whole && requires { op_.answer(code_); }) {
      return op_.answer(code_);
    } else if constexpr (Whole) {
      using value = value_of<Op>;
      if constexpr (std::is_void_v<value>) {
        if (code_ == status::ok) op_.take();
        return attempted<void>{code_};
      } else {
        return take_whole<value>();
      }
    } else {
      return op_.take();
    }
  }

  // Its answer stands in no block of it: else GCC 12 would move it once more, and that might throw.
  template <class Value>
  attempted<Value> take_whole() {
    attempted<Value> out{code_, std::nullopt};
    if (code_ == status::ok) {
      if constexpr (requires(Value& place) { op_.take_into(place); }) {
        op_.take_into(out.value.emplace());
      } else {
        out.value.emplace(op_.take());
      }
    }
    return out;
  }

  static constexpr hurry_function hurry_of() noexcept {
    if constexpr (requires(Op& op, cx& c) { op.hurry(c); }) {
      return [](waiting_op& base) noexcept {
        auto& self = static_cast<op_awaiter&>(base);
        self.op_.hurry(self.promise_.root->context);
      };
    } else {
      return nullptr;
    }
  }

  // Polled again: false while it still waits.
  static bool again(waiting_op& base) {
    auto& self = static_cast<op_awaiter&>(base);
    if constexpr (can_be_prompt_again) {
      if (self.is_prompt_again()) [[likely]]
        return true;
    }
    const bool has_thrown = self.poll_again();
    if (self.code_ == status::would_block && !has_thrown) return false;
    if (Whole || has_thrown || self.code_ == status::ok) {
      self.promise_.root->resume_next(self.self_);
    } else {
      self.promise_.end({self.code_});
    }
    return true;
  }
  // What is ready now is taken by the coroutine, which stays inside until then, or done already.
  ASX_ALWAYS_INLINE bool is_prompt_again() {
    coro_root& root = *promise_.root;
    const std::coroutine_handle<> waits = self_;
    const gate_port* const gate = gate_to(op_);
    if (gate != nullptr && !gate->come_in_shortly()) [[unlikely]]
      return false;
    if constexpr (requires { op_.is_done_again(root.context); }) {
      const bool is_done = op_.is_done_again(root.context);
      if (gate != nullptr) gate->go_out();
      if (!is_done) return false;
      code_ = status::ok;
    } else {
      if (!op_.is_ready_again(root.context)) {
        if (gate != nullptr) gate->go_out();
        return false;
      }
      gate_ = gate;
      is_prompt_ = true;
    }
    root.resume_next(waits);
    return true;
  }
  // True when it threw: the coroutine is resumed to see it, as it would have at the first poll.
  bool poll_again() noexcept {
    if constexpr (can_be_prompt && requires { op_.poll_unready(promise_.root->context); }) {
      if (!may_have_gates()) [[likely]] {
        code_ = op_.poll_unready(promise_.root->context);
        return false;
      }
    }
#if defined(__cpp_exceptions)
    if constexpr (!is_quiet) {
      try {
        code_ = ask(promise_.root->context);
        return false;
      } catch (...) {
        promise_.unhandled_exception();
        return true;
      }
    }
#endif
    code_ = ask(promise_.root->context);
    return false;
  }

  static constexpr settle_function settle_of() noexcept {
    if constexpr (requires(const Op& op) { op.has_happened(); }) {
      return [](waiting_op& base) noexcept {
        auto& self = static_cast<op_awaiter&>(base);
        const inside here(self.promise_.root->context.kernel());
        if (self.op_.has_happened()) return true;
        give_up(self.op_);
        return false;
      };
    } else {
      return nullptr;
    }
  }

  static constexpr functions table{&op_awaiter::again, hurry_of(), settle_of()};
  static constexpr bool refers = requires(Op& op) { op.end(); };
  using held = std::conditional_t<refers, Op&, Op&&>;

  std::conditional_t<refers, Op&, Op> op_;
  union {
    std::coroutine_handle<> self_;  // While it waits;
    const gate_port* gate_;         // while it is prompt, whose gate it stays behind, if there is one.
  };
  status code_ = status::would_block;
  bool is_answered_ = false;
  bool is_prompt_ = false;
};

struct end_as {
  explicit end_as(const ending& what) noexcept : how(what) {}
  ending how;
};

/// Panicked, with what somebody else said.
struct end_as_panic {
  explicit end_as_panic(const panic_note& what) noexcept : said(what) {}
  panic_note said;
};

/// From here on lists name the place where this coroutine is awaited, and not where it stands: it is asx's own.
struct unlisted {};

/// Gives the root of the task: what is kept there lives until nobody can read the task's value any more.
struct own_root {};

class root_awaiter {
 public:
  explicit root_awaiter(coro_root& root) noexcept : root_(root) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  coro_root& await_resume() const noexcept { return root_; }

 private:
  coro_root& root_;
};

class end_awaiter {
 public:
  end_awaiter(const ending& how, promise_base& promise) noexcept : how_(how), promise_(promise) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept { promise_.end(how_); }
  void await_resume() const noexcept {}

 private:
  ending how_;
  promise_base& promise_;
};

template <class T>
class promise;

// Awaits a child coroutine. `Whole`: gives its outcome.
template <class T, bool Whole>
class child_awaiter final : public awaiting_parent {
 public:
  child_awaiter(task<T>&& child, promise_base& parent) noexcept
      : awaiting_parent(parent, &child_awaiter::done, &child_awaiter::drop), child_(std::move(child)) {}
  child_awaiter(const child_awaiter&) = delete;
  child_awaiter& operator=(const child_awaiter&) = delete;

  bool await_ready() const noexcept { return Whole && child_.is_refused(); }
  void await_suspend(std::coroutine_handle<> h, site_word where = __builtin_source_location()) noexcept {
    self_ = h;
    parent_.site = where;
    if (!child_) [[unlikely]]
      return miss_child();
    promise<T>& p = child_.handle_.promise();
    p.root = parent_.root;
    p.parent = this;
    parent_.root->resume_next(child_.handle_);
  }
  auto await_resume() {
    if constexpr (Whole) {
      using whole = outcome<typename promise<T>::stored>;
      if (child_) [[likely]]
        return child_.handle_.promise().take_outcome();
      return child_.is_refused() ? whole::err({status::resource_exhausted, 0})
                                 : whole::panicked(parent_.root->kept_panic());
    } else {
      return child_.handle_.promise().take();
    }
  }

 private:
  static void done(awaiting_parent& base) noexcept {
    auto& self = static_cast<child_awaiter&>(base);
    const promise_base& p = self.child_.handle_.promise();
    if (Whole || !p.is_ended) {
      self.parent_.root->resume_next(self.self_);
    } else {
      const ending how = p.ended_with();
      self.child_ = task<T>(nullptr);  // Now, and not with the parent: frames in frames would nest on the stack.
      self.parent_.end(how);
    }
  }
  static void drop(awaiting_parent& base) noexcept { static_cast<child_awaiter&>(base).child_ = task<T>(nullptr); }
  void miss_child() noexcept {
    if (!Whole) return parent_.end_without_child(child_.is_refused());
    parent_.say_spent();
    parent_.root->resume_next(self_);
  }

  task<T> child_;
  std::coroutine_handle<> self_;
};

/// A child that ends when its time is over: `within` in asx/coro/cleanup.hpp.
template <class T>
class limited {
 public:
  limited(task<T>&& of, duration most) noexcept : child(std::move(of)), limit(most) {}
  task<T> child;
  duration limit;
};

// Gives an empty optional when the time was over, and the child is gone then.
template <class T>
class limited_awaiter final : public alarm {
 public:
  using stored = typename promise<T>::stored;

  limited_awaiter(limited<T>&& what, promise_base& parent) noexcept
      : alarm(parent, what.limit, &limited_awaiter::done, &limited_awaiter::drop), child_(std::move(what.child)) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h, site_word where = __builtin_source_location()) noexcept {
    self_ = h;
    parent_.site = where;
    if (!child_) return parent_.end_without_child(child_.is_refused());
    if (const status s = start(); s != status::ok) return parent_.end({s});
    promise<T>& p = child_.handle_.promise();
    p.root = parent_.root;
    p.parent = this;
    parent_.root->resume_next(child_.handle_);
  }
  std::optional<stored> await_resume() {
    stop();
    if (has_rung_) {
      child_ = task<T>(nullptr);
      return std::nullopt;
    }
    if constexpr (std::is_void_v<T>) {
      child_.handle_.promise().take();
      return stored{};
    } else {
      return child_.handle_.promise().take();
    }
  }

 private:
  static void done(awaiting_parent& base) noexcept {
    auto& self = static_cast<limited_awaiter&>(base);
    const promise_base& p = self.child_.handle_.promise();
    // A block in it that had to hurry ends as cancelled, and nobody cancelled the task: that is the limit's doing.
    cx& c = self.parent_.root->context;
    if (p.is_ended && p.ended_code == status::cancelled && self.is_over(c) && c.checkpoint() == status::ok) {
      self.has_rung_ = true;
    }
    if (self.has_rung_ || !p.is_ended) {
      self.parent_.root->resume_next(self.self_);
    } else {
      const ending how = p.ended_with();
      self.stop();
      self.child_ = task<T>(nullptr);
      self.parent_.end(how);
    }
  }
  static void drop(awaiting_parent& base) noexcept {
    auto& self = static_cast<limited_awaiter&>(base);
    self.stop();
    self.child_ = task<T>(nullptr);
  }

  task<T> child_;
};

struct final_awaiter {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) const noexcept {
    Promise& p = h.promise();
    if (p.is_kept()) [[likely]]
      return p.root->finish(p);
    p.end_without_value();
  }
  void await_resume() const noexcept {}
};

template <class...>
inline constexpr bool always_false = false;

// What a mistake gives, once it has been told in a sentence: a value of the type that would be right, so that what is
// done with it is no second mistake, and none that is told before the first.
struct anything {
  template <class T>
  operator T() const noexcept;
};
template <class T>
class mistaken final : public std::suspend_always {
 public:
  T await_resume() const noexcept;
};
/// In the place of an operation.
template <class T = anything>
class mistaken_op final {
 public:
  static status poll(cx&) noexcept;
  T take() noexcept;
};

template <class>
inline constexpr bool is_handle_of_task = false;
template <class T>
inline constexpr bool is_handle_of_task<join_handle<T>> = true;
template <class>
inline constexpr bool is_set_of_tasks = false;
template <class T>
inline constexpr bool is_set_of_tasks<join_set<T>> = true;
template <class>
inline constexpr bool is_receiver = false;
template <class T>
inline constexpr bool is_receiver<receiver<T>> = true;

// A constant function is evaluated at once, and what is called by one says its sentence before anything else is said.
template <class... Args>
consteval void explain_needless_cx() noexcept {
  static_assert(always_false<Args...>,
                "asx: an operation takes no cx, it has that of the task that awaits it: co_await recv(rx), co_await "
                "sleep(d)");
}

/// Why `co_await` of a What is refused, in a sentence.
template <class What>
consteval void explain_await() noexcept {
  static_assert(!operation<What>, "asx: an operation is awaited where it is made, or moved: co_await std::move(op)");
  static_assert(!is_handle_of_task<What>, "asx: a handle is not awaited itself, but joined: co_await join(h)");
  static_assert(!is_set_of_tasks<What>, "asx: a set is not awaited itself, but one by one: co_await join_next(set)");
  static_assert(!is_receiver<What>, "asx: a receiver is not awaited itself, but received from: co_await recv(rx)");
  static_assert(!std::is_arithmetic_v<What>,
                "asx: a number cannot be awaited: to sleep say how long, co_await sleep(asx::duration::seconds(1)); "
                "the sleep that takes a number is the C library's, and stops the whole thread");
  static_assert(operation<What> || is_handle_of_task<What> || is_set_of_tasks<What> || is_receiver<What> ||
                    std::is_arithmetic_v<What>,
                "asx: this cannot be awaited in an asx::task: co_await takes a task, attempt(...), or an operation "
                "with poll(cx&) and take()");
}

// A cx is the first parameter, or stands behind the object of a member function or lambda.
template <class... Args>
inline constexpr bool has_cx_in_front = false;
template <class A, class... Rest>
inline constexpr bool has_cx_in_front<A, Rest...> = std::same_as<std::remove_cv_t<A>, cx>;
template <class A, class B, class... Rest>
inline constexpr bool has_cx_in_front<A, B, Rest...> =
    std::same_as<std::remove_cv_t<A>, cx> || std::same_as<std::remove_cv_t<B>, cx>;

template <class T>
class promise_of : public promise_base {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }

  template <class U>
  auto await_transform(task<U>&& child) noexcept {
    return child_awaiter<U, false>(std::move(child), *this);
  }
  template <class U>
  auto await_transform(attempt<task<U>>&& child) noexcept {
    return child_awaiter<U, true>(std::move(child.what_), *this);
  }
  template <operation Op>
    requires(!std::is_lvalue_reference_v<Op>)
  auto await_transform(Op&& op) {
    return op_awaiter<Op, false>(std::forward<Op>(op), *this);
  }
  template <operation Op>
  auto await_transform(attempt<Op>&& op) {
    return op_awaiter<Op, true>(std::move(op.what_), *this);
  }
  auto await_transform(fail what) noexcept { return end_awaiter({what.code, what.detail}, *this); }
  auto await_transform(end_as what) noexcept { return end_awaiter(what.how, *this); }
  auto await_transform(own_root) noexcept { return root_awaiter(*root); }
  auto await_transform(end_as_panic what) noexcept {
    root->keep_panic(what.said);
    return end_awaiter({status::ok, 0, true}, *this);
  }
  auto await_transform(unlisted) noexcept {
    is_unlisted = true;
    return std::suspend_never{};
  }
  template <class U>
  auto await_transform(limited<U>&& child) noexcept {
    return limited_awaiter<U>(std::move(child), *this);
  }

  // What cannot be awaited is told in a sentence, and before what follows from it: the types are deduced.
  template <class U>
  auto await_transform(task<U>&) noexcept {
    static_assert(always_false<U>,
                  "asx: a task that has a name is awaited once, and moved for it: co_await std::move(t)");
    return mistaken<U>();
  }
  template <class Other>
  auto await_transform(Other&&) noexcept {
    explain_await<std::remove_cvref_t<Other>>();
    if constexpr (operation<std::remove_reference_t<Other>>) {
      return mistaken<value_of<std::remove_reference_t<Other>>>();
    } else {
      return mistaken<anything>();
    }
  }
  template <class Other>
  auto await_transform(attempt<Other>&&) noexcept {
    explain_await<Other>();
    return mistaken<anything>();
  }

  // Frames come from the pool of the runtime that the first parameter names: a cx, or behind the object of a member
  // function or lambda. Inlined always: GCC 12 takes new with a cx for placement new, and would warn of every frame.
  template <class... Args>
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, cx& c, Args&...) noexcept {
    return allocate_frame(bytes, c);
  }
  template <class Self, class... Args>
    requires(!std::same_as<std::remove_cv_t<Self>, cx>)
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, Self&, cx& c, Args&...) noexcept {
    return allocate_frame(bytes, c);
  }
  template <class... Args>
    requires(!has_cx_in_front<Args...>)
  static void* operator new(std::size_t, Args&...) noexcept {
    static_assert(
        always_false<Args...>,
        "asx: the first parameter of a coroutine that returns asx::task is asx::cx, by value: its frame comes "
        "from there");
    return nullptr;
  }
  [[gnu::always_inline]] static void operator delete(void* frame, std::size_t bytes) noexcept {
    release_frame(frame, bytes);
  }
  static task<T> get_return_object_on_allocation_failure() noexcept { return task<T>::refused(); }
};

template <class T>
class promise final : public promise_of<T> {
  static_assert(alignof(T) <= frame_alignment, "a frame is aligned to 64 bytes: hand over what needs more by pointer");

 public:
  using stored = T;
  task<T> get_return_object() noexcept { return task<T>(std::coroutine_handle<promise>::from_promise(*this)); }
  template <class U = T>
    requires std::constructible_from<T, U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  /// It has its value, or an exception in its place.
  [[nodiscard]] bool is_kept() const noexcept { return value_.has_value() || this->has_thrown(); }
  T take() {
    this->rethrow();
    return std::move(*value_);
  }
  outcome<T> take_outcome() {
    if (!this->is_ok()) return this->template bad_outcome<T>();
    return outcome<T>::ok(std::move(*value_));
  }

 private:
  std::optional<T> value_;
};

template <>
class promise<void> final : public promise_of<void> {
 public:
  using stored = unit;
  inline task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  [[nodiscard]] static bool is_kept() noexcept { return true; }
  void take() { rethrow(); }
  outcome<unit> take_outcome() {
    if (!is_ok()) return bad_outcome<unit>();
    return outcome<unit>::ok(unit{});
  }
};

}  // namespace detail

template <class T>
class [[nodiscard("a task runs when it is awaited or spawned")]] task {
  static_assert(std::is_void_v<T> || (std::is_object_v<T> && !std::is_array_v<T>),
                "asx: a task gives a value, or nothing: where a reference is meant let it give a pointer, task<T*>, to "
                "what outlives it");

 public:
  using promise_type = detail::promise<T>;
  using value_type = T;

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      if (*this) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~task() {
    if (*this) handle_.destroy();
  }

  /// False: there was no memory for its frame, or it was awaited or moved from.
  [[nodiscard]] explicit operator bool() const noexcept { return address() > no_memory; }

 private:
  template <class>
  friend class detail::promise;
  template <class>
  friend class detail::promise_of;
  template <class, bool>
  friend class detail::child_awaiter;
  template <class>
  friend class detail::limited_awaiter;
  template <class>
  friend class detail::spawned;
  explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
  explicit task(std::nullptr_t) noexcept {}

  // Where no frame can lie; null says that it has gone elsewhere.
  static constexpr std::uintptr_t no_memory = 1;
  [[nodiscard]] static task refused() noexcept {
    return task(std::coroutine_handle<promise_type>::from_address(std::bit_cast<void*>(no_memory)));
  }
  [[nodiscard]] bool is_refused() const noexcept { return address() == no_memory; }
  [[nodiscard]] std::uintptr_t address() const noexcept { return std::bit_cast<std::uintptr_t>(handle_.address()); }

  std::coroutine_handle<promise_type> handle_;
};

inline task<void> detail::promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<promise>::from_promise(*this));
}

}  // namespace asx
