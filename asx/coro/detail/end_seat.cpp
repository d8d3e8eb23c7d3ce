#include "asx/coro/detail/end_seat.hpp"

namespace asx::detail {

void end_seat::enter(coro_root& of) noexcept {
  // Relaxed, here and below: whoever changes it is inside.
  who = &of;
  newer = nullptr;
  older = of.listeners_.load(std::memory_order_relaxed);
  if (older != nullptr) older->newer = this;
  of.listeners_.store(this, std::memory_order_relaxed);
}

void end_seat::leave() noexcept {
  if (older != nullptr) older->newer = newer;
  if (newer != nullptr) {
    newer->older = older;
  } else {
    who->listeners_.store(older, std::memory_order_relaxed);
  }
  who = nullptr;
}

void coro_root::tell_listeners() noexcept {
  kernel& k = context.kernel();
  const inside here(k);
  while (end_seat* const seat = listeners_.load(std::memory_order_relaxed)) {  // asx: bounded by who listens
    seat->leave();
    seat->told(*seat, k, *this);
  }
}

}  // namespace asx::detail
