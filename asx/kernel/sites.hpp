// asx/kernel/sites.hpp - where a task stands in its program: the places of its awaits, the innermost first.
//
//     shop.cpp:41  <  shop.cpp:77  <  no more          the co_await that waits, then that of who awaits it, and so on
//
// The kernel knows poll functions and contexts, and nothing of what is behind them. A spec that brings a next_site has
// a context that can say where it stands; lists ask it. Coroutines do.
//
// 1  It is asked only while nobody polls the task, on whichever thread, and not after the task has ended: it reads what
//    the last poll left behind.
// 2  Asking changes nothing and takes no memory. Places are for lists alone: no event and no digest knows them.
// 3  A kernel keeps one next_site, and of each task only that it has one: all that tell are of one kind. So a record
//    does not grow, and a task pays nothing for what lists may ask.
//
// Cancel points: none. Threads: inside the gate, where there is one. Lifetime: a walk ends before its task is polled.
#pragma once

#include <source_location>

#include "asx/base/config.hpp"

namespace asx {

class kernel;

namespace detail {
struct task_record;
}

/// Gives the next place outwards. `at` is null before the first one, and the function's own from then on. False: there
/// is none.
using next_site = bool (*)(const void* context, const void*& at, std::source_location& out) noexcept;

/// From await to await of one task. There is none while it is polled, before it has begun, after it has ended, and when
/// it is a plain poll function.
class ASX_API site_walk {
 public:
  site_walk(const kernel& k, const detail::task_record& t) noexcept;
  [[nodiscard]] bool next(std::source_location& out) noexcept { return next_ != nullptr && next_(context_, at_, out); }

 private:
  next_site next_ = nullptr;
  const void* context_ = nullptr;
  const void* at_ = nullptr;
};

}  // namespace asx
