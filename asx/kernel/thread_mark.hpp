// asx/kernel/thread_mark.hpp - something that tells threads apart, and nothing else.
//
// 1  Threads that live at the same time have different marks. It says nothing of a runtime, and holds no state: two
//    runtimes of one process use the same. A thread that several workers take turns on has one mark for all of them,
//    and one for each.
//
// Cancel points: none. Threads: any. Lifetime: the thread's; a later one may have it again.
#pragma once

#include "asx/base/config.hpp"

namespace asx::detail {

#if !defined(ASX_ONE_THREAD)
#if defined(__linux__) && defined(__x86_64__) && defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define ASX_HAS_THREAD_POINTER
#endif
#endif

#if defined(ASX_HAS_THREAD_POINTER)
/// What a register holds anyway: without a call also where the library is a shared one.
[[nodiscard]] ASX_ALWAYS_INLINE const void* thread_mark() noexcept {
  return __builtin_thread_pointer();
}
#undef ASX_HAS_THREAD_POINTER
#else
/// Its address is the mark.
ASX_API inline thread_local constinit const char this_thread = 0;
[[nodiscard]] ASX_ALWAYS_INLINE const void* thread_mark() noexcept {
  return &this_thread;
}
#endif
#endif

#if !defined(ASX_ONE_THREAD)
/// Whose stack this thread is on, of several that take turns on it (asx/runtime/detail/drive_fibers.hpp); null on its
/// own. Written when one lets another go on, and nowhere else.
ASX_API inline thread_local constinit const void* stack_mark = nullptr;
#endif

/// For those who ask seldom. Workers that take turns on one thread have different ones, too; null where there is but
/// one thread.
[[nodiscard]] inline const void* mark_of_this_thread() noexcept {
#if !defined(ASX_ONE_THREAD)
  const void* const own = stack_mark;
  return own != nullptr ? own : thread_mark();
#else
  return nullptr;
#endif
}

}  // namespace asx::detail
