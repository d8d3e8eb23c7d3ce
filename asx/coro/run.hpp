// asx/coro/run.hpp - a whole program: a runtime, a first coroutine, and its outcome.
//
//     asx::task<int> program(asx::cx c) { ... }
//     int main() { return asx::run(program).is_ok() ? 0 : 1; }
//
// 1  run makes a runtime on a clock that moves by itself, runs the coroutine and everything it started, however long
//    it takes, shuts down, and gives the outcome. No exception leaves it. When the coroutine ends otherwise than ok,
//    what it started is told to end, as at the end of a region block.
// 2  run_in does the same in a runtime of yours, which may have virtual time. It does not shut down, so what was
//    started goes on when the coroutine fails, unless that is a region block. With virtual time it stops after
//    runtime::default_max_steps.
// 3  A failure is not lost. It is heard when somebody joins the task, or takes its outcome; one that was started in the
//    region of the coroutine after it, and failed, and was let go of unheard, is told here. So is a panic in a block
//    that its body decides. The worse of the two is the outcome, the coroutine's own when neither is, and the text
//    tells both. Of several it is the first panic, else the first err. Who holds a handle still when the run is over
//    may hear of it yet.
// 4  What an outcome refers to - the message of a reason, the text of a panic - is kept in the answer.
//
// Cancel points: none: whoever calls run is no task.
// Threads: one. Lifetime: the runtime lives within run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "asx/coro/spawn.hpp"
#include "asx/runtime/drive_live.hpp"

namespace asx {

/// The outcome of a program, and what it says in words.
template <class T>
struct [[nodiscard]] run_outcome {
  outcome<typename detail::spawned<T>::stored> result;
  /// Empty when ok; else the status, with the limit that was met last where it is one of a limit, the reason with its
  /// message, or the panic's text (law 3).
  std::string text;

  [[nodiscard]] bool is_ok() const noexcept { return result.is_ok(); }
};

namespace detail {
/// In words; the views in `how` are looked at now.
[[nodiscard]] ASX_API std::string words_of(outcome_kind kind, const error* failed, const cancellation* stopped,
                                           const panic_note* panicked);
/// Of the exception that is being handled.
[[nodiscard]] ASX_API std::string words_of_exception();
/// Which limit was met, behind what ended with `code`; empty where that says nothing of limits.
[[nodiscard]] ASX_API std::string words_of_limit(const kernel& k, status code);
/// Of a failure that nobody heard of; empty when there is none.
[[nodiscard]] ASX_API std::string words_of_unheard(const kernel& k);

template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto run_to_end(runtime& rt, std::uint64_t max_steps, bool ends_all, F&& f, Args&&... args) {
  using value = typename task_of<F, Args...>::value_type;
  using stored = typename spawned<value>::stored;
  run_outcome<value> out;
  spawn_result<value> first;
  constexpr std::source_location nowhere{};  // A place in here would tell nobody anything.
#if defined(__cpp_exceptions)
  try {
    first = spawn_in(rt.kernel(), rt.root(), {.name = "main", .site = nowhere}, std::forward<F>(f),
                     std::forward<Args>(args)...);
  } catch (...) {  // An argument that could not be moved, a function that is no coroutine.
    out.text = words_of_exception();
    out.result = outcome<stored>::panicked({"see text", {}, 0});
    return out;
  }
#else
  first = spawn_in(rt.kernel(), rt.root(), {.name = "main", .site = nowhere}, std::forward<F>(f),
                   std::forward<Args>(args)...);
#endif
  if (first.code != status::ok) {
    out.result = outcome<stored>::err({first.code, 0});
  } else {
    rt.kernel().forget_unheard(first.handle.task());
    if (ends_all) rt.kernel().end_all_with(first.handle.task());
    const run_result ran = rt.run_until_quiescent(max_steps);
    const status s = first.handle.take(out.result);
    if (s != status::ok) out.result = outcome<stored>::err({ran.ended == status::ok ? s : ran.ended, 0});
  }
  const inside here(rt.kernel());
  const kernel::unheard_end& lost = rt.kernel().unheard();
  const auto& r = out.result;
  out.text = words_of(r.kind(), r.is_err() ? &r.error() : nullptr, r.is_cancelled() ? &r.cancelled_by() : nullptr,
                      r.is_panicked() ? &r.panic() : nullptr);
  if (r.is_err()) out.text += words_of_limit(rt.kernel(), r.error().code);
  if (lost.kind > r.kind()) {  // a panic outweighs a cancel, and that an err.
    out.text = words_of_unheard(rt.kernel()) + (r.is_ok() ? "" : "; the program itself ended " + out.text);
    if (lost.kind == outcome_kind::err) {
      out.result = outcome<stored>::err(lost.failure);
    } else {
      out.result = outcome<stored>::panicked({"see text", {}, 0});
    }
    return out;
  }
  if (lost.kind != outcome_kind::ok) out.text += "; and " + words_of_unheard(rt.kernel());
  if (r.is_panicked()) out.result = outcome<stored>::panicked({"see text", r.panic().file, r.panic().line});
  if (r.is_cancelled()) {
    cancellation how = r.cancelled_by();
    how.reason.message = {};
    out.result = outcome<stored>::cancelled(how);
  }
  return out;
}

}  // namespace detail

template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto run_in(runtime& rt, F&& f, Args&&... args) {
  const std::uint64_t most = rt.is_virtual() ? runtime::default_max_steps : UINT64_MAX;
  return detail::run_to_end(rt, most, false, std::forward<F>(f), std::forward<Args>(args)...);
}

template <class F, class... Args>
  requires coroutine_function<F, Args...>
auto run(F&& f, Args&&... args) {
  live_runtime rt;
  auto out = detail::run_to_end(*rt, UINT64_MAX, true, std::forward<F>(f), std::forward<Args>(args)...);
  rt->shutdown();
  return out;
}

template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
run_outcome<void> run_in(runtime&, F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return {};
}
template <class F, class... Args>
  requires(!coroutine_function<F, Args...>)
run_outcome<void> run(F&&, Args&&...) {
  static_assert(detail::explain<F, Args...>());
  return {};
}

}  // namespace asx
