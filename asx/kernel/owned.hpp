// asx/kernel/owned.hpp - how channels, finalizers and waiting operations hang on regions and tasks that know none of
// them.
//
//     task --waits--> waiter <--queue-- wait_queue of a channel, a region, another task
//     task --cleanup stack--> cleanup_hook of a permit, a guard
//
// 1  An owned thing is finalized by its region, after finalizers and their tasks, in order of creation.
// 2  A waiter lies in the operation that waits, so that waiting allocates nothing; waiters are served first come, first
//    served (U-17, U-18), and one that dies leaves its queue.
// 3  A waiter leaves with its task: no queue holds a place for somebody who will not come.
// 4  A hook on a task's cleanup stack lies in what it undoes, so that holding a permit allocates nothing.
//
// Cancel points: none. Threads: the runtime's. Lifetime: an owned thing leaves its region before it dies; a queue is
// empty when it dies.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "asx/base/atomic_word.hpp"
#include "asx/base/intrusive_list.hpp"
#include "asx/base/text.hpp"
#include "asx/journal/event_kind.hpp"
#include "asx/kernel/cx.hpp"
#include "asx/kernel/gate.hpp"

namespace asx {

class digest_stream;
class extension;
class kernel;
class wait_queue;
struct owned;

struct owned_ops {
  /// The region is finalizing: let go of everything, wake who waits.
  void (*finalize)(owned& self, kernel& k) noexcept;
  /// True when nothing is left in it that a run could still deliver.
  bool (*is_drained)(const owned& self) noexcept;
  /// One line for reports: what it is called, then, from a piece that begins with two blanks, how it is.
  void (*describe)(const owned& self, const text_port& out);
  /// What a refusal must not change; null: nothing that can be seen.
  void (*hash)(const owned& self, digest_stream& out) noexcept = nullptr;
  /// How many events finalize may say at most; null: one.
  std::uint64_t (*events)(const owned& self) noexcept = nullptr;
  /// True while somebody stands in a queue of it; null: nobody ever does.
  bool (*is_awaited)(const owned& self) noexcept = nullptr;
};

struct owned : list_hook<struct owned_tag> {
  explicit owned(const owned_ops& table) noexcept : ops(&table) {}
  const owned_ops* ops;
};

/// Runs when the region finalizes, last registered first. It may spawn finalizer tasks into the region.
using finalizer_function = status (*)(void* context, region_handle region, kernel& k);

/// A place in a queue. Asked again while it stands there, it keeps the place, and the task that asked last is woken.
class ASX_API waiter : public list_hook<struct waiter_tag>, public list_hook<struct task_waits_tag> {
 public:
  waiter() noexcept = default;
  /// A moved waiter keeps its place.
  waiter(waiter&& other) noexcept {
    if (other.queue() != nullptr) take_place_of(other);
  }
  waiter& operator=(waiter&& other) noexcept {
    if (this != &other) {
      leave();
      take_place_of(other);
    }
    return *this;
  }
  ~waiter() { leave(); }

  [[nodiscard]] bool is_waiting() const noexcept { return queue() != nullptr; }
  /// Its number in a queue that numbers its waiters; 0 while it stands in none.
  [[nodiscard]] std::uint64_t id() const noexcept { return queue() == nullptr ? 0 : id_; }
  void leave() noexcept {
    if (queue() != nullptr || (may_have_orders() && home_ != nullptr)) leave_now();
  }

 private:
  friend class extension;
  friend class kernel;
  friend class wait_queue;
  // Acquire, release: where threads share the kernel, who finds that it stands nowhere sees it as it was left.
  [[nodiscard]] wait_queue* queue() const noexcept { return queue_.load(std::memory_order_acquire); }
  void stand_in(wait_queue* queue) noexcept { queue_.store(queue, std::memory_order_release); }
  void leave_now() noexcept;
  void leave(leave_code how) noexcept;
  void take_place_of(waiter& other) noexcept;

  atomic_word<wait_queue*> queue_{nullptr};
  kernel* home_ = nullptr;               // Since it first waited.
  detail::task_record* task_ = nullptr;  // Live: it takes its waiters along when it ends.
  std::uint64_t id_ = 0;
};

/// Who stood in a queue, once it has left.
struct waiter_name {
  task_id task{};
  std::uint64_t id = 0;
};

/// First come, first served.
class ASX_API wait_queue {
 public:
  /// Called after a waiter has left by itself or with its task: not when it was served or removed by the owner.
  using left_function = void (*)(wait_queue& self, waiter& w, waiter_name who, leave_code how) noexcept;

  explicit wait_queue(left_function left = nullptr, wait_code what = wait_code::other) noexcept
      : left_(left), whose_(static_cast<std::uint32_t>(what)) {}
  wait_queue(const wait_queue&) = delete;
  wait_queue& operator=(const wait_queue&) = delete;

  [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] waiter* head() const noexcept { return list_.front(); }
  [[nodiscard]] waiter* after(const waiter& w) const noexcept { return list_.after(w); }
  [[nodiscard]] bool holds(const waiter& w) const noexcept { return w.queue() == this; }

 private:
  friend class extension;
  friend class kernel;
  friend class waiter;
  /// It stands in no queue.
  void enter_anew(waiter& w, detail::task_record& t, kernel& home, std::uint64_t id) noexcept;
  /// True when it entered anew; false when it stood here, and only its task may have changed.
  bool enter(waiter& w, detail::task_record& t, kernel& home, std::uint64_t id) noexcept;
  void remove(waiter& w) noexcept;
  /// From this one to the back of another. It stands in one of them at any moment: whoever holds it may free it once it
  /// stands in none.
  void hand_on(wait_queue& to, waiter& w) noexcept;

  intrusive_list<waiter, waiter_tag> list_;
  left_function left_;
  std::uint32_t size_ = 0;
  // For lists: what somebody waits for who stands here, a wait_code in four bits; above them the cell of the thing
  // whose queue it is, counted from 1.
  std::uint32_t whose_;
};

struct cleanup_hook;

struct cleanup_ops {
  /// The task ends: let go. `is_leak`: it ends ok or err, so nothing but itself made it forget this. The hook is off
  /// the stack already.
  void (*undo)(cleanup_hook& self, kernel& k, bool is_leak) noexcept;
  /// What a task panics with that ends ok or err with this in hand; null: it may.
  const char* leak_panic;
};

/// A place on a task's cleanup stack that lies in what is to be undone.
struct cleanup_hook : list_hook<struct cleanup_tag> {
  explicit cleanup_hook(const cleanup_ops* table) noexcept : ops(table) {}
  const cleanup_ops* ops;  // Null for actions that users push.
  detail::task_record* task = nullptr;
};

}  // namespace asx
