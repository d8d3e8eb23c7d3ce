// asx/coro/region.hpp - region blocks: children that cannot outlive the line that started them.
//
//     const int total = co_await asx::region(c, [&](asx::cx r) -> asx::task<int> {
//       asx::spawn(r, worker, 1);                    // children of the block
//       asx::spawn(r, worker, 2);
//       co_return 5;                                 // the block's value, once all of them have ended
//     });
//
// 1  The body runs as the first child of a new region; `r` is its cx, and what it spawns through r are its siblings.
// 2  The await is over when the region is closed: everything in it has ended, its finalizers have run. There is no
//    way to leave with a child alive: when the awaiting task is cancelled, the region is closed with it, and the
//    await goes on until it is.
// 3  A child that fails (err or panicked) closes the region with kind fail_fast, and the block answers with that
//    failure; under `supervise` the others go on, and the block answers with the worst outcome at the end.
//    Under `body_decides` only the body's own end counts; a panic of another child, when nobody looked at it, is the
//    run's (run.hpp, law 3).
// 4  So the body may refer to locals of the coroutine that awaits it: they are there until the region is closed
//
// 5  with_timeout closes the region with kind timeout when the time is over, counted from the await, and gives an
//    empty optional then, whatever cleanup makes of it: an err that comes out of the body, or of a child, after
//    the close is the end of one that was cancelled, and not told. Cleanup whose failure matters tells it by a channel
//    or a variable, or panics. A limit that no timer can be set for is refused, and nothing was started. A close that
//    the cancel queue has no room for is tried again each millisecond.
// 6  A panic is hidden by nothing that came before or after it, neither a timeout nor a cancel, and its text is told
//    to whoever awaits.
// 7  The cx is that of the task that awaits. With another one's the block would hear of the wrong cancel: it starts
//    nothing, and panics with the place where it was written.
//
// Cancel points: the await, in the manner of law 2; a task that is cancelled already starts nothing. In a mask blocks
//                and their limits work as ever, as long as the region of the task is open. In one that closes,
//                at a shutdown, too, a block is refused, and cleanup that opens one ends there with
//                region_not_open. `within` (cleanup.hpp) opens none, and works there.
// Threads: the runtime's.
// Lifetime: the region, and everything in it, ends within the await.
#pragma once

#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"

namespace asx {

enum class region_policy : std::uint8_t { fail_fast, supervise, body_decides };

struct region_options {
  std::string_view name{};  // Its first 23 bytes are kept, from the call on: the block may be awaited later.
  budget limits{};
  std::uint32_t max_tasks = UINT32_MAX;
  region_policy policy = region_policy::fail_fast;
};

namespace detail {

/// A region of the task that awaits it, from its making to its end.
class ASX_API region_block {
 public:
  region_block() noexcept = default;
  region_block(const region_block&) = delete;
  region_block& operator=(const region_block&) = delete;
  ~region_block() { release(); }

  [[nodiscard]] status open(cx& c, const region_options& how, const std::source_location& site) noexcept;
  [[nodiscard]] region_handle handle() const noexcept { return region_; }
  [[nodiscard]] kernel& home() const noexcept { return *kernel_; }
  /// Closes it now, because its body could not be spawned.
  void give_up() noexcept;

  /// Ready when it is closed; cancelling the task that waits closes it, and the wait goes on.
  class closed_op {
   public:
    closed_op(region_block& of, instant until) noexcept : of_(&of), sleep_(until), has_limit_(!until.is_none()) {}
    /// Takes the timer for the limit, before anything is started that it is to end.
    [[nodiscard]] status arm(cx& c) noexcept;
    status poll(cx& c) noexcept;
    void take() const noexcept {}
    /// A limit around the block is over: it cannot be left, so it is closed.
    void hurry(cx&) noexcept { is_hurried_ = true; }

   private:
    void end_in_time(cx& c) noexcept;

    region_block* of_;
    waiter wait_;
    sleep_op sleep_;
    bool has_limit_;
    bool is_hurried_ = false;
  };
  [[nodiscard]] closed_op closed(instant until = instant::none()) noexcept { return {*this, until}; }

  [[nodiscard]] bool has_timed_out() const noexcept { return has_timed_out_; }
  /// How it went, once it is closed.
  [[nodiscard]] const ending& end() const noexcept { return end_; }
  /// What was said, when it ended with a panic; the text is the region's.
  [[nodiscard]] const panic_note& panic() const noexcept { return said_; }

 private:
  void judge(bool is_cancelled) noexcept;
  void release() noexcept;

  kernel* kernel_ = nullptr;
  region_handle region_{};
  region_policy policy_ = region_policy::fail_fast;
  bool has_timed_out_ = false;
  ending end_{};
  panic_note said_{};
};

/// The options of a block that may be awaited when the text of its name is gone: what is kept of a name is here.
struct kept_options {
  kept_options() noexcept = default;
  explicit kept_options(const region_options& how) noexcept
      : name(how.name), limits(how.limits), max_tasks(how.max_tasks), policy(how.policy) {}
  [[nodiscard]] region_options shown() const noexcept { return {name.view(), limits, max_tasks, policy}; }

  short_name name;
  budget limits{};
  std::uint32_t max_tasks = UINT32_MAX;
  region_policy policy = region_policy::fail_fast;
};

/// What a block panics with that was given the cx of another task.
[[nodiscard]] inline panic_note not_its_own(const std::source_location& site) noexcept {
  return {"a block was given the cx of another task: pass that of the coroutine that awaits it", site.file_name(),
          site.line()};
}

// Gives an empty optional when `limit` is over, counted from here: it is lazy like every coroutine.
template <class T, class F, class... Args>
task<std::optional<typename spawned<T>::stored>> run_block(cx c, kept_options how, duration limit,
                                                           std::source_location site, F f, Args... args) {
  co_await unlisted{};
  const coro_root& awaits = co_await own_root{};
  if (!awaits.is_of(c)) co_await end_as_panic(not_its_own(site));
  co_await checkpoint();  // A task that is cancelled starts nothing that its cancel would not reach.
  region_block block;
  auto closed = block.closed(c.now() + limit);
  if (const status s = closed.arm(c); s != status::ok) co_await fail(s);
  if (const status s = block.open(c, how.shown(), site); s != status::ok) co_await fail(s);
  auto body =
      spawn_in(block.home(), block.handle(), {.name = how.name.view(), .site = site}, std::move(f), std::move(args)...);
  if (body.code != status::ok) block.give_up();
  co_await std::move(closed);
  if (body.code == status::region_not_open) co_await checkpoint();  // A cancel on another thread closed it before.
  if (body.code != status::ok) co_await fail(body.code);
  if (block.has_timed_out()) co_return std::nullopt;
  if (block.end().is_panic) co_await end_as_panic(block.panic());
  outcome<typename spawned<T>::stored> out;
  static_cast<void>(body.handle.take(out));
  if (out.is_panicked()) co_await end_as_panic(out.panic());  // Whatever else: also under body_decides.
  if (block.end().code != status::ok) co_await end_as(block.end());
  if (out.is_err()) co_await fail(out.error().code, out.error().detail);
  if (out.is_cancelled()) co_await fail(status::cancelled);
  if constexpr (!std::is_void_v<T>) {
    if (!out.has_value()) co_await fail(status::empty);  // Somebody completed the body from outside.
  }
  co_return value_in(std::move(out));
}

template <class T>
task<T> without_limit(cx, task<std::optional<T>> block) {
  co_await unlisted{};
  co_return std::move(*co_await std::move(block));
}
inline task<void> without_value(cx, task<std::optional<unit>> block) {
  co_await unlisted{};
  co_await std::move(block);
}

}  // namespace detail

/// Runs `f(cx, args...)` in a region of its own and gives its value; see the laws above.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto region(cx_here at, const region_options& how, F&& f, Args&&... args)
    -> task<typename detail::task_of<F, Args...>::value_type> {
  detail::check_function<F>();
  (detail::check_value<Args>(), ...);
  using value = typename detail::task_of<F, Args...>::value_type;
  auto block = detail::run_block<value, std::decay_t<F>, std::decay_t<Args>...>(
      at.c, detail::kept_options(how), duration::max(), at.site, std::forward<F>(f), std::forward<Args>(args)...);
  if constexpr (std::is_void_v<value>) {
    return detail::without_value(at.c, std::move(block));
  } else {
    return detail::without_limit<value>(at.c, std::move(block));
  }
}
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto region(cx_here at, F&& f, Args&&... args) {
  return region(at, region_options{}, std::forward<F>(f), std::forward<Args>(args)...);
}

template <class F, class... Args>
  requires(!coroutine_function<F, Args...> && !std::is_same_v<std::remove_cvref_t<F>, region_options>)
auto region(cx_here, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return yield();
}
template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
auto region(cx_here, const region_options&, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return yield();
}

template <class First, class... Rest>
  requires detail::is_no_cx<First>
auto region(First&&, Rest&&...) {
  detail::explain_missing_cx<First>();
  return yield();
}

/// The same with a limit of time: empty when it was over. A task<void> gives a unit.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto with_timeout(cx_here at, duration limit, F&& f, Args&&... args) {
  detail::check_function<F>();
  (detail::check_value<Args>(), ...);
  using value = typename detail::task_of<F, Args...>::value_type;
  return detail::run_block<value, std::decay_t<F>, std::decay_t<Args>...>(
      at.c, detail::kept_options(), limit, at.site, std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
auto with_timeout(cx_here, duration, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return yield();
}
template <class Limit, class... Rest>
  requires(!std::is_convertible_v<Limit, duration>)
auto with_timeout(cx_here, Limit&&, Rest&&...) {
  static_assert(detail::always_false<Limit>,
                "asx: the limit comes before the function, and is an asx::duration: "
                "with_timeout(c, asx::duration::seconds(1), f, args...)");
  return yield();
}
template <class First, class... Rest>
  requires detail::is_no_cx<First>
auto with_timeout(First&&, Rest&&...) {
  detail::explain_missing_cx<First>();
  return yield();
}

}  // namespace asx
