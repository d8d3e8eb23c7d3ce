// Where the pieces of a poll find who helps, and which of two goes first in the lab.
#include "asx/runtime/parallel.hpp"

#include "asx/base/random.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

pieces::pieces(cx& c) noexcept {
  call_.task = &extension::task_of(c);
  if (const gate_port& gate = c.kernel().gate_in_use(); gate.deck != nullptr) {
    deck_ = gate.deck(gate.context);
  } else if (extension::has_virtual_workers(c)) {
    call_.draws = extension::draw(c) | 1;
  }
}

bool pieces::draw_a_turn() noexcept {
  splitmix64 stream(call_.draws);
  const std::uint64_t drawn = stream.next();
  call_.draws = drawn | 1;
  return (drawn >> 32) % 2 != 0;
}

bool pieces::is_stopped() const noexcept {
  return extension::seems_asked(*call_.task);
}

}  // namespace asx
