// asx/base/assert.hpp - assertions that stay on in release builds and say where and why.
//
// An assertion guards asx itself: a count that went negative, a record in two lists. It is not for a
// call that is refused (that is a status) and not for the fate of a task (that is an outcome).
//
// 1  The condition is evaluated exactly once, in every build.
// 2  A failure calls the assert handler, then aborts: it never returns, whatever the handler does.
// 3  In a constant expression a failed assertion does not compile.
//
// Cancel points: none.
// Threads: any. The handler is the one process-wide setting of asx, because a failed assertion may have
//          no runtime to ask; it is read and written atomically.
// Lifetime: the handler must outlive every use of asx.
#pragma once

#include "asx/base/config.hpp"

namespace asx {

struct assert_site {
  const char* expression;
  const char* file;
  int line;
  const char* function;
  const char* why;  // A whole sentence: which law is broken.
};

using assert_handler = void (*)(const assert_site&) noexcept;

/// Replaces what is called before the process aborts and returns the handler that was there. Null puts
/// the default back, which prints the site on standard error.
ASX_API assert_handler set_assert_handler(assert_handler handler) noexcept;

namespace detail {
[[noreturn]] ASX_API void assert_failed(const char* expression, const char* file, int line, const char* function,
                                        const char* why) noexcept;
}  // namespace detail

}  // namespace asx

#define ASX_ASSERT(condition, why)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::asx::detail::assert_failed(#condition, __FILE__, __LINE__, __func__, why))

#define ASX_UNREACHABLE(why) ::asx::detail::assert_failed("unreachable", __FILE__, __LINE__, __func__, why)
