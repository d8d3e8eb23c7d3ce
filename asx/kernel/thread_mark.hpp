// asx/kernel/thread_mark.hpp - something that tells threads apart, and nothing else.
//
// 1  Threads that live at the same time have different marks. It says nothing of a runtime, and holds no state: two
//    runtimes of one process use the same.
//
// Cancel points: none. Threads: any. Lifetime: the thread's; a later one may have it again.
#pragma once

#include "asx/base/config.hpp"

namespace asx::detail {

#if !defined(ASX_ONE_THREAD)
/// Its address is the mark.
ASX_API inline thread_local constinit const char this_thread = 0;
#endif

}  // namespace asx::detail
