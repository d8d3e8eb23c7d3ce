// asx/capi/detail/state.hpp - what stands behind the opaque types of asx.h.
//
//     asx_runtime = runtime_core + tables of what C cannot keep in a struct of its own:
//                   frames     the poll function of a task, and what it waits for
//                   calls      a cleanup action, a finalizer, a closed function: as C has them
//                   senders    ends of channels, which move in C++ and must not
//                   receivers
//                   waits      places in queues, found by who waits for what
//                   slots      of two-stage spawns
//
// 1  Everything lies in memory of the runtime's port, and is reserved with it when the contract says so.
// 2  `call` guards every function: null, thread, hook. While one is open the runtime is not destroyed.
//
// Cancel points: none. Threads: the runtime's. Lifetime: the runtime's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asx/base/atomic_word.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/slab.hpp"
#include "asx/capi/asx.h"
#include "asx/capi/detail/log.hpp"
#include "asx/chan/channel_core.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/journal/file.hpp"
#include "asx/runtime/port_thread.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::capi {
struct task_frame;
}

struct asx_cx {
  asx_runtime* home = nullptr;
  asx::cx* current = nullptr;  // Null while its task is not polled.
  asx::capi::task_frame* frame = nullptr;
};

namespace asx::capi {

enum class wait_kind : std::uint8_t { reserve, join, closed };

/// A place in a queue, of one task.
struct wait_cell {
  wait_kind kind = wait_kind::reserve;
  std::uint32_t index = 0;  // What it waits for: an end, a task or a region.
  std::uint64_t generation = 0;
  slab_key key{};
  wait_cell* next = nullptr;  // Of the same task.
  reserve_wait place{};
};

/// A task as C has it. Its memory is the table's, and stays readable when the task has ended: a cx that was kept is
/// looked at, and refused.
struct task_frame {
  asx_cx face{};
  asx_poll_fn poll = nullptr;
  void* context = nullptr;
  asx_drop_fn drop = nullptr;
  wait_cell* waits = nullptr;
  slab_key key{};
  slab_key timer{};  // Of its sleep.
  instant wake_at{};
  bool sleeps = false;
};

/// A function that C handed over, to be called once.
struct call_cell {
  asx_runtime* home = nullptr;
  void* context = nullptr;
  union {
    asx_cleanup_fn undo;
    asx_finalizer_fn finalize;
    asx_closed_fn closed;
  };
  slab_key key{};
  cleanup_ref pushed{};
};

struct slot_cell {
  slot_cell() noexcept = default;
  slot_cell(const slot_cell&) = delete;
  slot_cell& operator=(const slot_cell&) = delete;
  ~slot_cell();

  task_slot slot{};
  task_frame* frame = nullptr;  // Of the task to be: a commit asks for nothing.
  bool is_spoken_for = false;   // It is being abandoned, and what that sets off must not do it again.
};

struct sender_cell {
  sender_core end{};
};
struct receiver_cell {
  receiver_core end{};
};

/// What a value is in a ring; without a destroy function only its first word.
struct value_cell {
  void* value;
  asx_destroy_fn destroy;
};

}  // namespace asx::capi

struct asx_journal_writer {
  /// A journal is of one run: a writer goes this way once, and never back. A word, because not every machine compares
  /// and swaps a byte.
  enum class stage : std::uint32_t { fresh, in_use, spent };

  asx_memory hooks{};
  int descriptor = -1;
  asx::atomic_word<stage> now{stage::fresh};  // Two threads may each make a runtime with it.
  asx::bin_writer file;
};

struct asx_runtime {
  /// `outer`: where memory comes from; none of it is asked for when there is `own`.
  asx_runtime(const asx_runtime_config& config, asx::memory_port outer, std::span<std::byte> own,
              std::size_t head_bytes) noexcept;
  asx_runtime(const asx_runtime&) = delete;
  asx_runtime& operator=(const asx_runtime&) = delete;

  [[nodiscard]] asx_status start() noexcept;

  std::uint64_t thread = asx::this_thread_number();
  std::uint32_t depth = 0;  // Calls that are open.
  bool is_in_hook = false;
  std::size_t head = 0;  // Bytes of the caller's memory that this object takes; 0 when the memory is another.
  std::uint64_t holds = 0;
  asx_runtime_config given;
  asx::bump_memory bump;
  asx::memory_port memory;
  asx::machine_clock machine_time;
  asx::thread_parker own_park;  // Of a host that has an unpark and no park.
  bool is_created = false;      // Before that nobody is told of anything: the creation may be refused still.
  asx::capi::log_line line{};

  asx::runtime_core core;
  asx::slab<asx::capi::task_frame> frames;
  asx::slab<asx::capi::call_cell> calls;
  asx::slab<asx::capi::sender_cell> senders;
  asx::slab<asx::capi::receiver_cell> receivers;
  asx::slab<asx::capi::wait_cell> waits;
  asx::slab<asx::capi::slot_cell> slots;

  [[nodiscard]] asx::kernel& kernel() noexcept { return core.kernel(); }
};

namespace asx::capi {

[[nodiscard]] constexpr asx_status out(status s) noexcept {
  return static_cast<asx_status>(s);
}

/// While a hook of the program's runs, every call is refused.
class hook_guard {
 public:
  explicit hook_guard(asx_runtime& rt) noexcept : rt_(rt), before_(rt.is_in_hook) { rt.is_in_hook = true; }
  ~hook_guard() { rt_.is_in_hook = before_; }
  hook_guard(const hook_guard&) = delete;
  hook_guard& operator=(const hook_guard&) = delete;

 private:
  asx_runtime& rt_;
  bool before_;
};

/// Guards a call: `refused` says why it must not go on.
class call {
 public:
  explicit call(asx_runtime* rt) noexcept : rt_(rt) {
    if (rt == nullptr) {
      refused = ASX_E_INVALID_ARGUMENT;
    } else if (rt->thread != this_thread_number()) {
      refused = ASX_E_WRONG_THREAD;
    } else if (rt->is_in_hook) {
      refused = ASX_E_REENTRANT;
    }
    if (refused != ASX_OK) {
      rt_ = nullptr;
    } else {
      ++rt->depth;
    }
  }
  /// Of a poll: invalid_argument outside of one.
  explicit call(const asx_cx* c) noexcept : call(c == nullptr ? nullptr : c->home) {
    if (refused == ASX_OK && c->current == nullptr) refused = ASX_E_INVALID_ARGUMENT;
  }
  ~call() {
    if (rt_ != nullptr) --rt_->depth;
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  asx_status refused = ASX_OK;

 private:
  asx_runtime* rt_;
};

// ---- handles ------------------------------------------------------------------------------------------------------

// Masks of words that are this interface's own; tags are the specification's.
inline constexpr std::uint16_t sender_mask = 0x0100;
inline constexpr std::uint16_t receiver_mask = 0x0200;
inline constexpr std::uint16_t permit_mask = 0x0400;
inline constexpr std::uint16_t slot_mask = 0x0800;
inline constexpr std::uint16_t cleanup_mask = 0x1000;
// Marks the obligation of a tracked permit, beside what the kernel has in the mask.
inline constexpr std::uint64_t permit_bits = std::uint64_t{permit_mask} << 32;

[[nodiscard]] constexpr region_handle in(asx_region_handle h) noexcept {
  return region_handle::from({h.word, h.generation});
}
[[nodiscard]] constexpr task_handle in(asx_task_handle h) noexcept {
  return task_handle::from({h.word, h.generation});
}
[[nodiscard]] constexpr obligation_handle in(asx_obligation_handle h) noexcept {
  return obligation_handle::from({h.word, h.generation});
}
template <class C>
[[nodiscard]] constexpr C out(const handle& h) noexcept {
  return C{h.word, h.generation};
}
[[nodiscard]] constexpr handle word_of(type_tag tag, std::uint16_t mask, slab_key key) noexcept {
  return {tag, mask, key.index, key.generation};
}
/// The null key when the word is of another type.
[[nodiscard]] constexpr slab_key key_of(std::uint64_t word, std::uint64_t generation, type_tag tag,
                                        std::uint16_t mask) noexcept {
  const handle h(word, generation);
  return h.is(tag) && h.mask() == mask ? slab_key{h.index(), generation} : slab_key{};
}

/// Ends a wait of this task.
void end_wait(task_frame& f, wait_cell& w) noexcept;
[[nodiscard]] wait_cell* find_wait(task_frame& f, wait_kind kind, std::uint32_t index,
                                   std::uint64_t generation) noexcept;
/// Null: max_waits.
[[nodiscard]] wait_cell* take_wait(task_frame& f, wait_kind kind, std::uint32_t index,
                                   std::uint64_t generation) noexcept;

}  // namespace asx::capi
