// asx/journal/export_text.hpp - a journal for people: one line an event, in words.
//
//          12       1.5 ms  w0  task 3 woken by task 2 (a message) into the ready lane   <- 11
//           -       1.5 ms  w0  worker 0: 0 in cancel, 0 in timed, 1 in ready, 4 parked
//
// Lines are number, time, worker, words, and the number of the cause. A diagnostic has no number.
//
// Cancel points: none. Threads: plain functions. Lifetime: the port is used during the call only.
#pragma once

#include <span>

#include "asx/base/config.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/port.hpp"

namespace asx {

ASX_API void append_text_line(std::string& out, const event& e, const name_book* names = nullptr);

/// Text events are not shown: their names appear where the things do.
ASX_API void export_text(text_port out, std::span<const event> events);

}  // namespace asx
