// asx/runtime/port_thread.hpp - which thread is calling: for those who must tell the owner from a stranger.
//
// 1  Two threads that live at the same time have different numbers; the number of one that has ended may come again.
// 2  Nothing is kept anywhere for it: no lock, no variable of a thread.
//
// Cancel points: none. Threads: any. Lifetime: a plain number.
#pragma once

#include <cstdint>

#include "asx/base/config.hpp"

namespace asx {

/// Never 0.
[[nodiscard]] ASX_API std::uint64_t this_thread_number() noexcept;

}  // namespace asx
