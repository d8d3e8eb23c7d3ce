// asx/runtime/inbox.hpp - how other threads and signal handlers reach a runtime: handles to its tasks, and one inbox.
//
//     asx::foreign_handle h;
//     if (rt.foreign(task, h) != asx::status::ok) ...      // on the runtime's thread
//     std::thread([h = std::move(h)] { h.wake(); });       // on any: wake, cancel, shut_down
//
//     wake() --> its bit in the handle's slot --> the slot into the stack, once --> unpark
//     phase 0 of the next step takes the stack, oldest first, and does what each slot says (R-211, U-01)
//
// 1  Nothing that a handle says is lost or refused: its slot is its place in the inbox. What is bounded is the number
//    of handles (runtime_config::max_foreign): one more is refused, and nothing has changed.
// 2  What is said twice before it is taken in is one; of several cancels the strongest counts.
// 3  Slots are taken in by the order in which they spoke first; what one slot says is done in the order wake, result,
//    cancel, shutdown, gone. Each that has an effect is an input in the journal, marked `arrived`; a task that has
//    ended is left alone.
// 4  A handle to a task is a foreign hold while it lives: run_until_quiescent parks for it while tasks are
//    alive, instead of ending, and stall polls wait. In virtual time nobody parks, and the run ends.
// 5  shut_down begins an orderly shutdown with runtime_config::grace; said again, the grace is over.
//
// Cancel points: none.
// Threads: handles are made on the runtime's thread. A handle may be moved to any thread; wake, cancel and shut_down
//          may be called by several at once, and by signal handlers. It is dropped anywhere but in a signal handler.
// Lifetime: a handle may outlive its runtime, and does nothing then. Slots come from the heap, for that reason.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/kernel/kernel.hpp"
#include "asx/runtime/port_park.hpp"

namespace asx {

namespace detail {

/// What a slot says, a bit each. Cancels have one bit for each kind, from first_cancel on.
struct foreign_word {
  static constexpr std::uint32_t wake = 1U << 0;
  static constexpr std::uint32_t result = 1U << 1;
  static constexpr std::uint32_t close = 1U << 2;
  static constexpr std::uint32_t look = 1U << 3;
  static constexpr std::uint32_t gone = 1U << 4;
  static constexpr std::uint32_t in_stack = 1U << 5;
  static constexpr unsigned first_cancel = 8;
  static constexpr std::uint32_t cancels = ((1U << 11) - 1) << first_cancel;
};

/// What a slot shares with other threads.
template <class Threads>
struct basic_foreign_line {
  typename Threads::template atomic<std::uint32_t> said{0};
  typename Threads::template plain<basic_foreign_line*> next{nullptr};  // The one before it in the stack.
};

struct foreign_slot : basic_foreign_line<system_threads> {
  // Of the runtime's thread alone:
  std::uint64_t number = 0;  // Of the handle, from 1; 0 while it is free.
  task_handle task{};
  bool is_hold = false;
  bool is_call = false;
  void* context = nullptr;
  void (*arrived)(void* context) noexcept = nullptr;  // A result was taken in, or a look was asked for.
  foreign_slot* next_free = nullptr;                  // A replay frees slots that still lie in the stack, unheard.
};

struct inbox_core;

}  // namespace detail

class ASX_API foreign_handle {
 public:
  foreign_handle() noexcept = default;
  foreign_handle(foreign_handle&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
  foreign_handle& operator=(foreign_handle&& other) noexcept {
    if (this != &other) {
      drop();
      core_ = std::exchange(other.core_, nullptr);
      slot_ = std::exchange(other.slot_, nullptr);
    }
    return *this;
  }
  ~foreign_handle() { drop(); }

  [[nodiscard]] bool is_null() const noexcept { return core_ == nullptr; }
  void wake() const noexcept { say(detail::foreign_word::wake); }
  void cancel(cancel_kind kind = cancel_kind::user) const noexcept {
    say(1U << (detail::foreign_word::first_cancel + static_cast<unsigned>(kind)));
  }
  /// Of the whole runtime.
  void shut_down() const noexcept { say(detail::foreign_word::close); }
  void drop() noexcept;

  // For those who build on handles: a call that has a result, a signal that asks for a look.
  void say(std::uint32_t what) const noexcept;
  [[nodiscard]] detail::foreign_slot* slot() const noexcept { return slot_; }

 private:
  friend class inbox;
  foreign_handle(detail::inbox_core& core, detail::foreign_slot& slot) noexcept : core_(&core), slot_(&slot) {}

  detail::inbox_core* core_ = nullptr;
  detail::foreign_slot* slot_ = nullptr;
};

/// An input of a run that is played again: which handle said what.
struct foreign_arrival {
  std::uint64_t handle = 0;
  std::uint32_t said = 0;
};
/// Where a replay's inputs come from, in place of the handles.
struct arrival_feed {
  void* context = nullptr;
  /// False: nothing more arrives at this step.
  bool (*next)(void* context, foreign_arrival& out) noexcept = nullptr;
  /// True: nothing will arrive from here any more, and the handles are heard again.
  bool (*is_over)(void* context) noexcept = nullptr;
  /// Whether the call that this task makes now was refused because every thread was busy.
  bool (*is_refused)(void* context, task_id by) noexcept = nullptr;
  /// True: what the call with that handle gave was kept, has that size, and is there now.
  bool (*value)(void* context, std::uint64_t handle, std::span<std::byte> out) noexcept = nullptr;
};
/// What the inbox asks of the drive: begin to shut down, because of an event.
struct close_port {
  void* context = nullptr;
  void (*close)(void* context, std::uint64_t handle) noexcept = nullptr;
};

/// One for each runtime, which owns it.
class ASX_API inbox {
 public:
  /// `is_live`: the clock moves by itself; threads may have a part in the run.
  inbox(kernel& home, park_port park, std::uint32_t max_handles, close_port closing, arrival_feed feed,
        bool is_live) noexcept;
  ~inbox();
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  [[nodiscard]] static inbox& of(const kernel& k) noexcept { return *static_cast<inbox*>(k.input_context()); }

  struct order {
    task_handle task{};    // Null: of the runtime as a whole; only shut_down does something.
    bool is_hold = true;   // Counts as a foreign hold; a handle of no task never does.
    bool is_call = false;  // It will give a result, whatever happens: shutdown waits for it.
    void* context = nullptr;
    void (*arrived)(void* context) noexcept = nullptr;
  };
  /// stale_handle: the task has ended. invalid_argument: the drive cannot be unparked. resource_exhausted: too many
  /// handles, or no memory.
  [[nodiscard]] status open(const order& what, foreign_handle& out) noexcept;

  /// Nobody waits for its result any more: its hold ends, and nobody is told of what still comes. The handle lives on.
  void forget(detail::foreign_slot& slot) noexcept {
    slot.arrived = nullptr;
    release_hold(slot);
  }

  /// True when inputs come from a feed: what handles say themselves is not heard.
  [[nodiscard]] bool is_fed() const noexcept { return feed_.next != nullptr; }
  /// False in virtual time, and when inputs come from a feed: then nothing may depend on threads.
  [[nodiscard]] bool is_live() const noexcept { return is_live_; }
  /// Whether somebody outside may still say something: not once a feed is over.
  [[nodiscard]] bool may_hear() const noexcept { return !is_fed() || !feed_.is_over(feed_.context); }
  /// A call of this task was refused for want of threads where the run was recorded.
  [[nodiscard]] bool was_refused(task_id by) const noexcept {
    return is_fed() && feed_.is_refused != nullptr && feed_.is_refused(feed_.context, by);
  }
  /// What a call gave where the run was recorded, if that was kept.
  [[nodiscard]] bool gives_value(std::uint64_t handle, std::span<std::byte> out) const noexcept {
    return is_fed() && feed_.value != nullptr && feed_.value(feed_.context, handle, out);
  }
  /// Calls in flight: their results have not arrived.
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::uint32_t open_handles() const noexcept { return open_; }
  /// Whether handles have said anything that was taken in.
  [[nodiscard]] bool has_heard() const noexcept { return has_heard_; }

 private:
  static void take_in(void* self) noexcept { static_cast<inbox*>(self)->take(); }
  void take() noexcept;
  void take_fed() noexcept;
  void put_back(detail::foreign_slot* oldest) noexcept;
  [[nodiscard]] bool is_led() const noexcept { return is_fed() && !feed_.is_over(feed_.context); }
  void do_as_said(detail::foreign_slot& slot, std::uint32_t said) noexcept;
  void release_hold(detail::foreign_slot& slot) noexcept;
  [[nodiscard]] bool make_core() noexcept;

  kernel& home_;
  park_port park_;
  close_port closing_;
  arrival_feed feed_;
  std::uint32_t max_handles_;
  bool is_live_;
  bool has_heard_ = false;
  std::uint32_t open_ = 0;
  std::uint32_t calls_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_loose_ = 0;           // Handles of no task are numbered apart: a replay may not have them.
  const atomic_word<void*> always_{this};  // A feed is asked at every step.
  detail::inbox_core* core_ = nullptr;     // Made with the first handle.
  detail::foreign_slot* free_ = nullptr;
};

/// A handle to the task that is polled: `open` of its runtime's inbox.
[[nodiscard]] ASX_API status open_foreign(cx& c, foreign_handle& out) noexcept;

}  // namespace asx
