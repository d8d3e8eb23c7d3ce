// asx/coro/detail/frame.hpp - what every coroutine of a task shares: the loop that resumes it, and the memory of
// frames.
//
//     poll --> root.run --> resume the coroutine that can go on --> it suspends: an operation waits, a child starts, it
//     ends
//                ^------------------------------------------------------------------------------------------------|
//
// A coroutine never resumes another: it says which one comes next and returns here, so that the stack stays flat.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/kernel/cx.hpp"
#include "asx/kernel/gate.hpp"
#include "asx/model/outcome.hpp"

namespace asx::detail {

class coro_root;
struct promise_base;
struct end_seat;
template <class T>
class spawned;

/// The place of a co_await: the argument of await_suspend that is left to its default, so that an await which does not
/// suspend pays nothing for it. It is what a source_location holds, and a plain word: what is of a class type GCC 12
/// gives room of its own in the frame, for each await. Of an expression of several lines Clang names the first, where
/// `co_await` stands, and GCC 12 outside of templates the last.
using site_word = const void*;
static_assert(sizeof(std::source_location) == sizeof(site_word) && std::is_trivially_copyable_v<std::source_location>);

/// What a frame is aligned to, and so the most that its locals, its parameters and its value may ask for.
inline constexpr std::size_t frame_alignment = 64;

/// Null when the contract or the memory refuses.
[[nodiscard]] ASX_API void* allocate_frame(std::size_t bytes, cx& c) noexcept;
ASX_API void release_frame(void* frame, std::size_t bytes) noexcept;

/// An operation that said would_block; polled again whenever its task is.
class waiting_op {
 public:
  using again_function = bool (*)(waiting_op& self);
  /// Of an operation that cannot be given up, because others still need it: makes it end soon.
  using hurry_function = void (*)(waiting_op& self) noexcept;
  /// Of an operation that somebody else may complete while it waits: true when that has happened, and it must be asked;
  /// else it has been given up, and nobody can complete it any more.
  using settle_function = bool (*)(waiting_op& self) noexcept;
  struct functions {
    again_function again;
    hurry_function hurry;    // Null for most: they can be dropped where they stand.
    settle_function settle;  // Null for most: nobody else completes them.
  };
  explicit waiting_op(promise_base& promise) noexcept : promise_(promise) {}

 protected:
  ~waiting_op() = default;
  promise_base& promise_;

 private:
  friend class coro_root;
  const functions* table_;  // Since it waits: most operations never do.
};

/// A limit of time on a coroutine of this task (asx/coro/cleanup.hpp). They nest as awaits do.
class alarm;

/// Who awaits a coroutine, and is told when it has ended.
class awaiting_parent {
 public:
  using done_function = void (*)(awaiting_parent& self) noexcept;
  /// Destroys the child where it stands.
  using drop_function = void (*)(awaiting_parent& self) noexcept;
  awaiting_parent(promise_base& parent, done_function done, drop_function drop) noexcept
      : parent_(parent), done_(done), drop_(drop) {}

 protected:
  ~awaiting_parent() = default;
  promise_base& parent_;

 private:
  friend class coro_root;
  done_function done_;
  drop_function drop_;
};

/// The coroutines of one task of the kernel.
class ASX_API coro_root {
 public:
  /// What a root does that knows the type of its value.
  struct functions {
    poll_result (*say_end)(coro_root& self, cx& c);  // Its first coroutine has ended.
    void (*end_body)(coro_root& self) noexcept;
    void (*free)(coro_root& self) noexcept;
  };
  coro_root(cx c, const functions& table) noexcept;
  coro_root(const coro_root&) = delete;
  coro_root& operator=(const coro_root&) = delete;

  void resume_next(std::coroutine_handle<> h) noexcept { next_ = h; }
  void wait(waiting_op& op, const waiting_op::functions& table) noexcept {
    op.table_ = &table;
    waiting_ = &op;
  }
  void finish(promise_base& p) noexcept { finished_ = &p; }
  /// True when an operation must let others run first: it is polled when the task is polled again.
  [[nodiscard]] bool must_yield() noexcept { return ready_ops_ >= coop_limit_ && yield_now(); }
  void count_ready() noexcept { ++ready_ops_; }

  /// True when `c` is that of this task.
  [[nodiscard]] bool is_of(const cx& c) const noexcept;

  /// Of a task whose context is a root.
  static poll_result poll(void* context, cx& c);
  /// Where the coroutines stand, for lists: between two polls each of them but the innermost awaits the next.
  [[nodiscard]] static bool next_site(const void* context, const void*& at, std::source_location& out) noexcept;

  /// Keeps the text of a panic that passes through this task, as long as somebody can read the task's value, and gives
  /// what was kept: a plain sentence when there was no memory for it. Each takes a block of the runtime's.
  panic_note keep_panic(const panic_note& said) noexcept;
  void keep_exception(const std::exception_ptr& thrown) noexcept;
  /// What was kept last; a plain sentence when there was no memory for it.
  [[nodiscard]] panic_note kept_panic() const noexcept;
  /// Why its task is cancelled, made inside: another thread may ask for more at any time.
  [[nodiscard]] cancel_reason copied_reason() const noexcept;

  cx context;

 protected:
  /// Destroys all coroutines but the first, the innermost first and one after the other, so that the stack stays flat.
  void unwind() noexcept {
    if (waiting_ != nullptr) drop_children();
  }
  /// While the task's region is there.
  void forget_panics(kernel& home) noexcept {
    if (panic_ != nullptr) [[unlikely]]
      release_panics(home);
  }
  /// The task has ended: whoever listens hears of it, and stands here no more.
  void tell_end() noexcept {
    // Relaxed: who listens came inside, before the task had ended there; who has left since need not be seen.
    // Where there is an order, who looks at what others change goes in (asx/kernel/gate.hpp).
    if (listeners_.load(std::memory_order_relaxed) != nullptr || may_have_orders()) [[unlikely]]
      tell_listeners();
  }

 private:
  friend class alarm;
  friend struct end_seat;
  void tell_listeners() noexcept;
  /// True when the first coroutine has ended.
  [[nodiscard]] bool run();
  void drop_children() noexcept;
  void release_panics(kernel& home) noexcept;
  /// Destroys the coroutine of `p`, and gives the one that awaited it.
  [[nodiscard]] static promise_base& drop_child(promise_base& p) noexcept;
  [[nodiscard]] bool yield_now() noexcept;
  /// True when a limit was over, and its coroutines are gone.
  [[nodiscard]] bool ring() noexcept;
  [[nodiscard]] bool ring_late();
  [[nodiscard]] bool is_any_over() noexcept;

  std::coroutine_handle<> next_;
  waiting_op* waiting_ = nullptr;
  promise_base* finished_ = nullptr;
  std::uint32_t ready_ops_ = 0;  // In this poll.
  std::uint32_t coop_limit_;
  alarm* alarms_ = nullptr;  // The innermost.
  struct panic_block* panic_ = nullptr;
  atomic_word<end_seat*> listeners_{nullptr};  // Written inside. The newest first.

 protected:
  const functions& functions_;
};

class ASX_API alarm : public awaiting_parent {
 public:
  alarm(promise_base& parent, duration limit, done_function done, drop_function drop) noexcept
      : awaiting_parent(parent, done, drop), limit_(limit) {}
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;

 protected:
  ~alarm() { stop(); }
  /// Refused when no timer can be set for it.
  [[nodiscard]] status start() noexcept;
  void stop() noexcept;
  /// Looks at the clock, and sees to it that the task is woken in time.
  [[nodiscard]] bool is_over(cx& c) noexcept;

  std::coroutine_handle<> self_;
  bool has_rung_ = false;

 private:
  friend class coro_root;
  duration limit_;
  instant deadline_{};
  slab_key timer_{};
  alarm* outer_ = nullptr;
  bool is_set_ = false;
};

/// How a coroutine ended that did not return: with an error, cancelled, or because somebody it waited for panicked.
struct ending {
  status code = status::ok;
  std::uint64_t detail = 0;
  bool is_panic = false;
};

struct ASX_API promise_base {
  /// Ends the coroutine where it stands; its frame goes with whoever awaits it.
  void end(const ending& how) noexcept {
    is_ended = true;
    ended_code = how.code;
    ended_detail = how.detail;
    is_panic = how.is_panic;
    root->finish(*this);
  }
  /// It flowed off its end: that is no value, and nobody may take it for one.
  void end_without_value() noexcept;
  /// It awaits a task without a frame: memory was refused for it, or somebody has awaited it before.
  void end_without_child(bool is_refused) noexcept;
  /// What whoever awaits a task that is spent panics with.
  void say_spent() noexcept;
  /// Meaningful once it has ended.
  [[nodiscard]] ending ended_with() const noexcept { return {ended_code, ended_detail, is_panic}; }
  [[nodiscard]] bool is_ok() const noexcept { return !is_ended && !has_thrown(); }
  [[nodiscard]] bool has_thrown() const noexcept {
#if defined(__cpp_exceptions)
    return thrown != nullptr;
#else
    return false;
#endif
  }
  void unhandled_exception() noexcept {
#if defined(__cpp_exceptions)
    thrown = std::current_exception();
#else
    std::terminate();
#endif
  }
  /// A sentence about this coroutine, with the place of its last co_await.
  [[nodiscard]] panic_note note_here(std::string_view text) const noexcept;
  void rethrow() const {
#if defined(__cpp_exceptions)
    if (thrown != nullptr) std::rethrow_exception(thrown);
#endif
  }
  /// What an operation threw while its coroutine was suspended.
  void rethrow_kept() {
#if defined(__cpp_exceptions)
    if (thrown != nullptr) std::rethrow_exception(std::exchange(thrown, nullptr));
#endif
  }
  /// What `attempt` gives for a coroutine that did not end ok.
  template <class T>
  [[nodiscard]] outcome<T> bad_outcome() const {
    if (!is_ended || is_panic) {
#if defined(__cpp_exceptions)
      if (!is_ended) root->keep_exception(thrown);
#endif
      return outcome<T>::panicked(root->kept_panic());
    }
    if (ended_code == status::cancelled) {
      return outcome<T>::cancelled(root->copied_reason());
    }
    return outcome<T>::err({ended_code, ended_detail});
  }

  coro_root* root = nullptr;
  awaiting_parent* parent = nullptr;
  union {                        // A word of every frame: one that has ended stands nowhere.
    site_word site = nullptr;    // Of its last co_await, for lists; until it has ended,
    std::uint64_t ended_detail;  // and then this. Said one by one: an `ending` would be half padding.
  };
  status ended_code = status::ok;
  bool is_panic = false;
  bool is_ended = false;
  bool is_unlisted = false;  // One of asx's own: lists name the place where it is awaited, and not where it stands.
#if defined(__cpp_exceptions)
  std::exception_ptr thrown;
#endif
};

}  // namespace asx::detail
