// asx/capi/detail/log.hpp - lines for a program's log, made of events.
//
//     task_panicked  text "my own "  text "words"  <anything else>
//     ------------- the line begins -------------  it is whole, and goes out
//
// 1  What a task said in its panic follows the event of it; what a finalizer said comes before the event that it
// failed. 2  A text may be split over batches: what has come of it stays here. 3  No memory is asked for. A line has
// one line, and is cut at its end.
//
// Cancel points: none. Threads: the runtime's. Lifetime: the runtime's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asx/capi/asx.h"
#include "asx/journal/event.hpp"
#include "asx/model/handle.hpp"

namespace asx::capi {

struct log_line {
  event about{};
  bool is_begun = false;
  // What somebody said in a panic, and who:
  type_tag teller{};
  std::uint64_t told_by = 0;
  std::size_t size = 0;
  std::array<char, 256> said{};
  std::array<char, 32> name{};  // That was looked for last.
};

void log_events(asx_runtime& rt, std::span<const event> batch) noexcept;
/// The line that is begun goes out.
void end_line(asx_runtime& rt) noexcept;
/// Everything that has happened is told, when there is a log to tell.
void deliver_log(asx_runtime& rt) noexcept;

}  // namespace asx::capi
