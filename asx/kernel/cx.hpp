// asx/kernel/cx.hpp - what a task can do while it is polled: one pointer, handed to every poll.
//
//     poll_result serve(void* self, cx& c) {
//       if (c.checkpoint() != status::ok) return poll_result::ready;   // cancelled: clean up, then say ready
//       ...
//       c.yield();
//       return poll_result::pending;
//     }
//
// R-23   pending parks the task if it took a waker in this poll, or something that it registered may still wake it;
//        otherwise it is a yield. An explicit yield always queues it again, and so does a wake during the poll.
// R-21   checkpoint acknowledges a cancel and returns cancelled from then on; is_cancelled only looks.
// R-134  inside a mask checkpoint returns ok; polls there spend the cleanup quota like any other.
// R-138  panic marks the task and returns: it ends panicked when the poll does, whatever the poll says.
//
// Cancel points: checkpoint. Nothing else here waits or acknowledges.
// Threads: the thread that polls, during the poll. A waker may be kept while the runtime lives; it is of the
//          runtime's thread, or of any where there is a gate.
// Lifetime: a cx is valid during the poll that it was handed to, or for a coroutine while its task lives.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>

#include "asx/base/config.hpp"
#include "asx/base/slab.hpp"
#include "asx/base/time.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/handle.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/status.hpp"

namespace asx {

class cx;
class kernel;
struct cancel_reason;
struct task_spec;

namespace detail {
struct task_record;
}

enum class poll_result : std::uint8_t { pending, ready, error };

using poll_function = poll_result (*)(void* context, cx& c);
/// Undoes something; a status other than ok is journalled, and unwinding goes on.
using cleanup_function = status (*)(void* context);

/// Wakes one life of one task. Waking a task that has ended, or twice before it runs, does nothing (U-21).
class waker {
 public:
  waker() noexcept = default;
  ASX_API void wake() const noexcept;
  [[nodiscard]] bool is_null() const noexcept { return kernel_ == nullptr; }
  friend bool operator==(waker, waker) noexcept = default;

 private:
  friend class kernel;
  friend class cx;
  waker(kernel& k, slab_key key) noexcept : kernel_(&k), key_(key) {}

  kernel* kernel_ = nullptr;
  slab_key key_{};
};

/// Names a pushed cleanup action, to take it back once it is not needed.
struct cleanup_ref {
  slab_key key{};
};

class ASX_API cx {
 public:
  [[nodiscard]] task_id task() const noexcept;
  /// What it was called when it was spawned, up to 23 bytes of it; empty when it was not. As long as the task is there.
  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] task_handle handle() const noexcept;
  [[nodiscard]] region_handle region() const noexcept;
  [[nodiscard]] asx::kernel& kernel() const noexcept;
  [[nodiscard]] instant now() const noexcept;
  /// What is left of the budget in force: the ordinary one, or the cleanup budget once a cancel was acknowledged.
  [[nodiscard]] budget budget_left() const noexcept;

  /// cancelled: the cancel is acknowledged (T7), now or before. ok: not cancelled, or inside a mask.
  [[nodiscard]] status checkpoint() noexcept;
  [[nodiscard]] bool is_cancelled() const noexcept;
  /// Why; null while nobody asked for a cancel. On many workers another one may ask for more at any moment, and what
  /// this points to changes then: hold `const inside here(c.kernel())` while you look at it (asx/kernel/gate.hpp).
  [[nodiscard]] const cancel_reason* reason() const noexcept;

  void yield() noexcept;
  /// Counts as a registration in this poll.
  [[nodiscard]] waker get_waker() noexcept;

  /// budget_exhausted: nothing was taken, and the cancel of this task is requested.
  [[nodiscard]] status consume_cost(std::uint64_t amount) noexcept;
  /// resource_exhausted beyond the contract's depth.
  [[nodiscard]] status mask_enter() noexcept;
  void mask_leave() noexcept;

  /// resource_exhausted: the stack of this task, or all of them together, are full.
  [[nodiscard]] status push_cleanup(cleanup_function undo, void* context, cleanup_ref* out = nullptr) noexcept;
  /// Takes an action back without running it. stale_handle when it ran already, or is another task's.
  status pop_cleanup(cleanup_ref ref) noexcept;

  /// The number that a poll which says ready hands over as its value.
  void set_value(std::uint64_t value) noexcept;
  /// What a poll which says error means by it (U-15).
  void set_error(status code, std::uint64_t detail = 0) noexcept;
  void panic(std::string_view text, std::source_location site = std::source_location::current()) noexcept;

 private:
  friend class asx::kernel;
  friend class ghosts;
  friend class extension;
  explicit cx(detail::task_record& task) noexcept : task_(&task) {}
  detail::task_record* task_;
};

static_assert(sizeof(cx) == sizeof(void*), "a cx is one pointer, so that it can be the first parameter of everything");

}  // namespace asx
