// Where the pieces of a poll find who helps, and which of two goes first in the lab.
#include "asx/runtime/parallel.hpp"

#include "asx/kernel/extension.hpp"

namespace asx {

pieces::pieces(cx& c) noexcept {
  call_.task = &extension::task_of(c);
  if (const gate_port& gate = c.kernel().gate_in_use(); gate.deck != nullptr) {
    deck_ = gate.deck(gate.context);
  } else {
    call_.is_drawn = extension::has_virtual_workers(c);
  }
}

bool pieces::draw_a_turn() noexcept {
  return (extension::draw_turn(*call_.task) >> 63) != 0;
}

bool pieces::is_stopped() const noexcept {
  return extension::seems_asked(*call_.task);
}

}  // namespace asx
