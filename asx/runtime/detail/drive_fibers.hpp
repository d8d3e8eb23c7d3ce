// asx/runtime/detail/drive_fibers.hpp - several workers on one thread: each has a stack of its own, and one goes on at
// a time until it lets another one.
//
//     0: the thread itself --switch_to(2)--> 2: live(2) ... --switch_to(0)--> 0: goes on where it was
//
// 1  A switch is a call that returns when somebody switches back. Nobody is stopped anywhere else.
// 2  What the language and the machine keep for each thread and need for each stack goes with it: exceptions that are
//    being handled or on their way, errno, signal mask, rounding. Other words of a thread are one for all.
// 3  Who runs over the end of a stack meets a page that is nobody's.
// 4  Sanitizers are told of each switch, so that they know whose stack is whose.
//
// ucontext, and neither a library nor assembly: glibc has it for every machine, and a switch need not be fast. It goes
// by getcontext and setcontext: an address sanitizer takes swapcontext for its own and warns of itself.
//
// Cancel points: none. Threads: the one that made it. Lifetime: whoever is left in the middle at its end stays there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace asx::detail {

class fibers {
 public:
  /// What fiber `who`, 1 and up, does; it ends by returning, and fiber 0 goes on then. Fiber 0 is whoever makes this.
  using body = void (*)(void* context, std::uint32_t who) noexcept;

  /// `stack_bytes` 0: as much as a thread has.
  fibers(std::uint32_t count, std::size_t stack_bytes, void* context, body run) noexcept;
  ~fibers();
  fibers(const fibers&) = delete;
  fibers& operator=(const fibers&) = delete;

  /// False: there was no memory for the stacks, or this system has nothing to switch them by.
  [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }
  [[nodiscard]] std::uint32_t current() const noexcept { return current_; }
  [[nodiscard]] bool has_begun(std::uint32_t who) const noexcept;
  [[nodiscard]] bool has_ended(std::uint32_t who) const noexcept;
  /// `who` has not ended; it begins if it has not begun.
  void switch_to(std::uint32_t who) noexcept;
  /// To the next one that has not ended, by number.
  void give_way() noexcept;

 private:
  struct fiber;
  static void begin(unsigned high, unsigned low) noexcept;
  void arrive(fiber& at) noexcept;

  std::unique_ptr<fiber[]> all_;
  std::uint32_t count_;
  void* context_;
  body run_;
  bool is_ready_ = false;
  std::uint32_t current_ = 0;
  std::uint32_t came_from_ = 0;  // Who switched last.
};

}  // namespace asx::detail
