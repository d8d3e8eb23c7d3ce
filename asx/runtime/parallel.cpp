// Where the pieces of a poll find who helps, and which of two goes first in the lab.
#include "asx/runtime/parallel.hpp"

#include "asx/kernel/extension.hpp"

namespace asx {

// A call inside a piece is of the same task, on whatever thread: it only looks.
pieces::pieces(cx& c) noexcept : is_outermost_(!extension::is_computing(extension::task_of(c))) {
  call_.task = &extension::task_of(c);
  if (is_outermost_) extension::note_computing(*call_.task, true);
  if (const gate_port& gate = c.kernel().gate_in_use(); gate.deck != nullptr) {
    deck_ = gate.deck(gate.context, !is_outermost_);
  } else {
    call_.is_drawn = extension::has_virtual_workers(c);
  }
}

void pieces::end_call() noexcept {
  extension::note_computing(*call_.task, false);
}

bool pieces::draw_a_turn() noexcept {
  return (extension::draw_turn(*call_.task) >> 63) != 0;
}

bool pieces::is_stopped() const noexcept {
  return extension::seems_asked(*call_.task);
}

}  // namespace asx
