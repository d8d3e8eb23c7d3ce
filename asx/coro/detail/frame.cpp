#include "asx/coro/detail/frame.hpp"

#include <new>

#include "asx/kernel/extension.hpp"

namespace asx::detail {

namespace {

// Behind each frame: whose pool it came from. A frame is released without a cx at hand. In front of it the word would
// spoil the alignment of the block: compilers lay a frame out for its most demanding local, and ask for no alignment.
struct frame_footer {
  kernel* home;
};

std::size_t footer_at(std::size_t bytes) noexcept {
  return (bytes + alignof(frame_footer) - 1) / alignof(frame_footer) * alignof(frame_footer);
}

}  // namespace

void* allocate_frame(std::size_t bytes, cx& c) noexcept {
  kernel& k = c.kernel();
  const std::size_t at = footer_at(bytes);
  void* const block = extension::take_block(k, nominal_bytes::frame, at + sizeof(frame_footer), frame_alignment);
  if (block != nullptr) new (static_cast<std::byte*>(block) + at) frame_footer{&k};
  return block;
}

void release_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t at = footer_at(bytes);
  kernel& k = *reinterpret_cast<frame_footer*>(static_cast<std::byte*>(frame) + at)->home;
  extension::give_block(k, nominal_bytes::frame, frame, at + sizeof(frame_footer), frame_alignment);
}

coro_root::coro_root(cx c) noexcept : context(c), coop_limit_(extension::coop_limit(c)) {}

bool coro_root::yield_now() noexcept {
  extension::note_coop_yield(context);
  return true;
}

bool coro_root::run() {
  ready_ops_ = 0;
  if (waiting_ != nullptr) {
    waiting_op& op = *waiting_;
    if (!op.again_(op)) return false;
    waiting_ = nullptr;
    ++ready_ops_;
  }
  for (;;) {
    if (next_) {
      std::exchange(next_, {}).resume();
    } else if (finished_ != nullptr) {
      promise_base& p = *std::exchange(finished_, nullptr);
      if (p.parent == nullptr) return true;
      p.parent->done_(*p.parent);
    } else {
      return false;
    }
  }
}

void coro_root::unwind() noexcept {
  if (waiting_ == nullptr) return;
  promise_base* p = &std::exchange(waiting_, nullptr)->promise_;
  while (p->parent != nullptr) p = &p->parent->drop_(*p->parent);  // asx: bounded by the awaits that nest
}

}  // namespace asx::detail
