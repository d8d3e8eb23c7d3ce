// asx/runtime/detail/inbox_core.hpp - what threads share of an inbox: a stack of lines, and the gate at its end.
//
// A stack that anybody pushes to and the runtime takes as a whole: no line is taken out by itself, so none can come
// back while somebody still compares with it, and a push is one exchange that may be repeated.
//
// 1  What is said is heard once, and what the speaker wrote before is seen then.
// 2  A line lies in the stack once, from its first word until it is heard.
// 3  After close nobody is inside, and nothing of the runtime is touched any more.
// 4  The last owner frees it.
//
// `Threads` is asx::system_threads; a test puts one in its place that tries interleavings (tests/interleave).
//
// Cancel points: none. Threads: say and release: any; the rest is the runtime's. Lifetime: its owners'.
#pragma once

#include <cstdint>
#include <utility>

#include "asx/runtime/inbox.hpp"

namespace asx::detail {

template <class Threads>
struct basic_inbox_core {
  using line = basic_foreign_line<Threads>;
  template <class T>
  using atomic = typename Threads::template atomic<T>;
  static constexpr std::uint32_t closed = 1U << 31;

  atomic<void*> newest{nullptr};    // The stack.
  atomic<std::uint32_t> gate{0};    // How many are inside; and `closed`, once the runtime goes.
  atomic<std::uint32_t> owners{1};  // The runtime, and every handle.
  park_port park{};

  void push(line& l) noexcept {
    void* before = newest.load(std::memory_order_relaxed);
    do {  // asx: bounded by how often others push at the same moment
      l.next = static_cast<line*>(before);
      // Release: pairs with the acquire in take_all; next and what it leads to are seen.
    } while (!newest.compare_exchange_weak(before, &l, std::memory_order_release, std::memory_order_relaxed));
  }

  void say(line& l, std::uint32_t what) noexcept {
    // Relaxed: a first look, so that those who still speak to a runtime that goes do not hold up its end.
    if ((gate.load(std::memory_order_relaxed) & closed) != 0) return;
    // Acquire: whoever finds it open comes before the close, which waits for it below.
    if ((gate.fetch_add(1, std::memory_order_acquire) & closed) == 0) {
      // Release: pairs with the acquire in hear; what the caller wrote before is seen by the runtime. Acquire: pairs
      // with the release there; the runtime has read `next` before it is written anew.
      const std::uint32_t before = l.said.fetch_or(what | foreign_word::in_stack, std::memory_order_acq_rel);
      if ((before & foreign_word::in_stack) == 0) push(l);
      if ((before & what) != what) park.unpark(park.context);
    }
    // Release: pairs with the acquire in close; nothing of the runtime is touched after this.
    if (gate.fetch_sub(1, std::memory_order_release) == (closed | 1)) gate.notify_all();
  }

  /// The oldest, which leads to the others; the stack is empty.
  [[nodiscard]] line* take_all() noexcept {
    // Acquire: pairs with the release in push.
    auto* l = static_cast<line*>(newest.exchange(nullptr, std::memory_order_acquire));
    line* oldest = nullptr;
    while (l != nullptr) {  // asx: bounded by max_foreign
      line* const older = l->next;
      l->next = oldest;
      oldest = std::exchange(l, older);
    }
    return oldest;
  }
  /// After it was taken out: it may be pushed again from here on.
  [[nodiscard]] static std::uint32_t hear(line& l) noexcept {
    // Acquire: what the speaker wrote before is seen. Release: pairs with the fetch_or of the next who speaks.
    return l.said.exchange(0, std::memory_order_acq_rel);
  }
  /// Something was not done now: it stays in the stack, with what was said since.
  void keep(line& l, std::uint32_t rest) noexcept {
    // Acquire and release, as in say: a word that is kept is one that is said. Who puts the line into the stack is
    // whichever of the two came first, and hear sees what either wrote before.
    if ((l.said.fetch_or(rest | foreign_word::in_stack, std::memory_order_acq_rel) & foreign_word::in_stack) == 0)
      push(l);
  }

  void close() noexcept {
    // Acquire, all three: pairs with the release at the end of say; whatever those did who were in is over, and the
    // lines may go. Nothing is to be released: who finds it closed looks at nothing else.
    std::uint32_t inside = gate.fetch_or(closed, std::memory_order_acquire) | closed;
    while (inside != closed) {  // asx: bounded by the few steps of say, in each thread that is in it
      gate.wait(inside, std::memory_order_acquire);
      inside = gate.load(std::memory_order_acquire);
    }
  }

  /// True: this was the last owner, who frees it.
  [[nodiscard]] bool release() noexcept {
    // Acquire and release: the last one sees what all others did before it frees.
    return owners.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
};

}  // namespace asx::detail
