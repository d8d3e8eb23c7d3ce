// asx/coro/detail/end_seat.hpp - who hears of the end of a task of coroutines: links, join sets.
//
//     coro_root --listeners--> seat of a link <--> seat of a join set <--> ...
//
// A waiter of the kernel belongs to the task that waits, and only while it does. A seat belongs to whoever keeps it: it
// stands there whether somebody waits or not, and costs the task nothing but the word where the list begins.
//
// Cancel points: none. Threads: everything inside. Lifetime: a seat stands while its task has not ended, and its keeper
// holds that task's record and root.
#pragma once

#include "asx/coro/detail/frame.hpp"
#include "asx/kernel/extension.hpp"

namespace asx::detail {

struct end_seat {
  /// The task has ended; the seat has left it.
  using told_function = void (*)(end_seat& self, kernel& k, coro_root& ended) noexcept;
  explicit end_seat(told_function tells) noexcept : told(tells) {}

  /// Of a task that has not ended.
  ASX_API void enter(coro_root& of) noexcept;
  ASX_API void leave() noexcept;

  told_function told;
  coro_root* who = nullptr;  // Null once it has left.
  end_seat* newer = nullptr;
  end_seat* older = nullptr;
};

[[nodiscard]] inline const extension::task_record& record_of(const coro_root& root) noexcept {
  cx c = root.context;
  return extension::task_of(c);
}

}  // namespace asx::detail
