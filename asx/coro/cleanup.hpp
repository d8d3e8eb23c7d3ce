// asx/coro/cleanup.hpp - what a program does when it is told to stop: masks, limits of time, finalizers that await.
//
//     const auto got = co_await asx::attempt(asx::recv(orders));
//     if (got.code == asx::status::cancelled) {
//       const auto quiet = co_await asx::mask();                              // awaits work again, within the budget
//       co_await asx::within(c, asx::duration::seconds(1), say_goodbye, peer);     // and not for longer than this
//     }
//
//     co_await asx::finally(c, [file](asx::cx f) -> asx::task<> { co_await flush(f, file); });
//
// 1  While a mask lives, cancel points do not answer the cancel. Each poll spends the cleanup budget, and
//    when that is spent the task is ended by force. Masks nest to the contract's depth; one too many is
//    refused.
// 2  `within` runs f(c, args...) in this task, with no region: it works where no region may be opened any more, in a
//    cleanup, in a finalizer, while everything shuts down. When the time is over, the coroutines of f end where they
//    stand, the innermost first, and the answer is an empty optional. A region block among them is closed with kind
//    timeout, and waited for. It is looked at before what f waits for; a value of the same moment is late. What
//    somebody else has completed by then - a message that was taken, an offer, a foreign value - has happened, and the
//    limit is looked at when f waits again.
// 3  A coroutine that was registered with `finally` runs when everything else in the region has ended, as a finalizer
//    task: the last registered first, and each when the one before it is over. It runs in a mask, with the
//    cleanup budget of what closed the region. It may spawn and sleep there, and open no region. What it ends with
//    joins the outcome of the region.
// 4  A finalizer that the limits do not let start when its time has come is told in the journal, and its function and
//    arguments are destroyed. What is registered is counted by the contract; a refusal registers nothing.
//
// Cancel points: none of the three; what f awaits are.
// Threads: the runtime's.
// Lifetime: function and arguments of `finally` are kept until it has run. The frame of the coroutine that registered
//           them may be gone by then; what is around the region's block is there.
#pragma once

#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "asx/coro/spawn.hpp"
#include "asx/coro/task.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

/// A section in which cancel points do not answer; it ends with its scope, at the latest with its task.
class [[nodiscard("a mask lasts as long as its guard")]] mask_guard {
 public:
  explicit mask_guard(cx c) noexcept : c_(c) {}
  mask_guard(mask_guard&& other) noexcept : c_(std::exchange(other.c_, std::nullopt)) {}
  mask_guard& operator=(mask_guard&&) = delete;
  ~mask_guard() { leave(); }
  void leave() noexcept {
    if (c_ && !extension::has_ended(*c_)) c_->mask_leave();
    c_.reset();
  }

 private:
  std::optional<cx> c_;
};

namespace detail {

class mask_op {
 public:
  status poll(cx& c) noexcept {
    const status s = c.mask_enter();
    if (s == status::ok) guard_.emplace(c);
    return s;
  }
  mask_guard take() noexcept { return std::move(*guard_); }

 private:
  std::optional<mask_guard> guard_;
};

template <class T, class F, class... Args>
task<std::optional<typename spawned<T>::stored>> run_within(cx c, duration limit, F f, Args... args) {
  co_await unlisted{};
  co_return co_await limited<T>(f(c, std::move(args)...), limit);
}

template <class F, class... Args>
task<> run_finally(cx c, F f, Args... args) {
  co_await unlisted{};
  std::optional<mask_guard> quiet;
  if (c.mask_enter() == status::ok) quiet.emplace(c);  // A contract without masks has it run as it is.
  co_await f(c, std::move(args)...);
}

/// A function and its arguments, until the region finalizes.
template <class F, class... Args>
class finalizer_body {
 public:
  template <class G, class... More>
  explicit finalizer_body(const std::source_location& site, G&& f, More&&... args)
      : site_(site), body_(std::forward<G>(f), std::forward<More>(args)...) {}

  static status run(void* context, region_handle region, kernel& k) {
    auto& self = *static_cast<finalizer_body*>(context);
    const body_guard gone{k, &self};
    const spawn_options how{.name = "finally", .site = self.site_};
    return std::apply(
        [&](F& f, Args&... args) {
          return spawn_in(k, region, how, run_finally<F, Args...>, std::move(f), std::move(args)...).code;
        },
        self.body_);
  }

 private:
  struct body_guard {
    kernel& home;
    finalizer_body* self;
    ~body_guard() {
      self->~finalizer_body();
      extension::give_block(home, nominal_bytes::frame, self, sizeof(finalizer_body), alignof(finalizer_body));
    }
  };

  std::source_location site_;
  std::tuple<F, Args...> body_;
};

class registered_op {
 public:
  explicit registered_op(status s) noexcept : code_(s) {}
  status poll(cx&) const noexcept { return code_; }
  void take() const noexcept {}

 private:
  status code_;
};

}  // namespace detail

/// `const auto quiet = co_await mask();` A refusal ends the coroutine with its status.
[[nodiscard("co_await mask()")]] inline detail::mask_op mask() noexcept {
  return {};
}

/// `co_await within(c, limit, f, args...)`: the value, or empty when the time was over. A task<void> gives a unit.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto within(cx c, duration limit, F&& f, Args&&... args) {
  detail::check_function<F>();
  (detail::check_value<Args>(), ...);
  using value = typename detail::task_of<F, Args...>::value_type;
  return detail::run_within<value, std::decay_t<F>, std::decay_t<Args>...>(c, limit, std::forward<F>(f),
                                                                           std::forward<Args>(args)...);
}

/// `co_await finally(c, f, args...)`: f(cx, args...) runs when the region of `c` has drained. Registered at once; a
/// refusal ends the coroutine with its status.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
[[nodiscard("co_await finally(...)")]] auto finally(cx_here at, F&& f, Args&&... args) {
  detail::check_function<F>();
  (detail::check_value<Args>(), ...);
  using body = detail::finalizer_body<std::decay_t<F>, std::decay_t<Args>...>;
  kernel& k = at.c.kernel();
  void* const block = extension::take_block(k, nominal_bytes::frame, sizeof(body), alignof(body));
  if (block == nullptr) return detail::registered_op(status::resource_exhausted);
  detail::block_guard unmade{k, block, sizeof(body), alignof(body)};
  auto* const made = new (block) body(at.site, std::forward<F>(f), std::forward<Args>(args)...);
  const status s = k.add_finalizer(at.c.region(), &body::run, made, true);
  if (s == status::ok) {
    unmade.block = nullptr;
  } else {
    made->~body();
  }
  return detail::registered_op(s);
}

template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
auto within(cx, duration, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return detail::registered_op(status::ok);
}
template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
auto finally(cx_here, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return detail::registered_op(status::ok);
}
template <class First, class... Rest>
  requires detail::is_no_cx<First>
auto within(First&&, Rest&&...) {
  detail::explain_missing_cx<First>();
  return detail::registered_op(status::ok);
}
template <class First, class... Rest>
  requires detail::is_no_cx<First>
auto finally(First&&, Rest&&...) {
  detail::explain_missing_cx<First>();
  return detail::registered_op(status::ok);
}
template <class... Args>
auto mask(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<>();
}

}  // namespace asx
