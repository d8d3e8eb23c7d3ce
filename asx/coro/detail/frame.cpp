#include "asx/coro/detail/frame.hpp"

#include "asx/kernel/extension.hpp"

namespace asx::detail {

namespace {

// In front of each frame: whose pool it came from. A frame is released without a cx at hand.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) frame_header {
  kernel* home;
};
constexpr std::size_t alignment = alignof(frame_header);

}  // namespace

void* allocate_frame(std::size_t bytes, cx& c) noexcept {
  kernel& k = c.kernel();
  void* const block = extension::take_block(k, nominal_bytes::frame, bytes + sizeof(frame_header), alignment);
  if (block == nullptr) return nullptr;
  return new (block) frame_header{&k} + 1;
}

void release_frame(void* frame, std::size_t bytes) noexcept {
  auto* const header = static_cast<frame_header*>(frame) - 1;
  extension::give_block(*header->home, nominal_bytes::frame, header, bytes + sizeof(frame_header), alignment);
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

}  // namespace asx::detail
