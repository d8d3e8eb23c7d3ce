// asx/kernel/ghost.hpp - ghost monitors: watchers of misuse that no status can report, or that a caller may overlook.
//
//     the kernel, at its refusals and polls --+--> counters, one a kind
//     user code: borrow, touch, transfer   ---+--> the last violations --> report()
//     an earlier run's checkpoints         ---+--> ghost_violation, ghost_note in the journal, as diagnostics
//
// R-115   they record and report; they change no result, no state hash, no number and no digest. Under
//         trace_overflow::reject they stay out of the journal: a diagnostic there would take the room of an event.
// R-17    an illegal move is refused with the same code in every build, and counted here (FB-007 to FB-009).
// FB-003 to FB-006, FB-011   an obligation is resolved once: a second resolution, one after a leak, and a leak.
// FB-200  a poll says pending while its task holds an uncopied borrow that is tied to a reserved obligation.
// FB-201  an object is borrowed mutably while it is borrowed, or borrowed while it is borrowed mutably.
// FB-202  an object, or the cx of a task, is used by a worker that does not own it. The scheduler's dispatch is the
//         certificate of a task; an object needs transfer().
// FB-015  a run differs from an earlier one at a checkpoint of its digest.
// a second cancel of a task or a timer is legal, so it is a note: counted and journalled, no violation.
//
// A borrow epoch of an object begins with the first borrow and ends with the last release. What is not declared is not
// seen: the monitors know the objects that user code names, by numbers of its choosing, not memory.
//
// The ledgers are short arrays that are searched from the front: a monitor that is right matters more than a fast one,
// and while they are off each hook is one branch. A hash table was not worth its bookkeeping at 256 entries.
//
// Cancel points: none. Threads: the kernel's.
// Lifetime: a part of its kernel. One block is taken at the start, after everything else the kernel reserves; when it
//           is refused the monitors count and remember nothing. Checkpoints to compare with are the caller's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "asx/base/config.hpp"
#include "asx/base/hash.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/slab.hpp"
#include "asx/journal/journal.hpp"
#include "asx/kernel/contract.hpp"
#include "asx/model/handle.hpp"
#include "asx/model/ids.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/status.hpp"

namespace asx {

class cx;
class kernel;

namespace detail {
struct task_record;
struct obligation_record;
}  // namespace detail

enum class ghost_kind : std::uint8_t {
  illegal_transition,
  use_after_resolve,
  leak,
  borrow_across_pending,
  borrow_conflict,
  foreign_use,
  nondeterminism,
  // Notes from here on: legal, and worth a look.
  double_cancel,
  double_timer_cancel,
  stray_release,  // Of a borrow that was released before, or whose task has ended.
  ledger_full,    // Something was not watched: the contract's max_ghost_entries.
};
inline constexpr std::size_t ghost_kinds = 11;

[[nodiscard]] constexpr bool is_note(ghost_kind kind) noexcept {
  return kind >= ghost_kind::double_cancel;
}
[[nodiscard]] constexpr std::string_view name(ghost_kind kind) noexcept {
  constexpr std::string_view names[ghost_kinds] = {"illegal_transition",    "use_after_resolve", "leak",
                                                   "borrow_across_pending", "borrow_conflict",   "foreign_use",
                                                   "nondeterminism",        "double_cancel",     "double_timer_cancel",
                                                   "stray_release",         "ledger_full"};
  return names[static_cast<std::size_t>(kind)];
}

/// What the number of a violation's object counts.
enum class ghost_noun : std::uint8_t { region, task, obligation, object, event };

/// A law by its number, which is what a journal holds, and by its name. Both are static.
struct ghost_rule {
  std::uint16_t number = 0;
  const char* id = "";
};

struct ghost_violation {
  ghost_kind kind = ghost_kind::illegal_transition;
  ghost_noun on = ghost_noun::object;
  status returned = status::ok;  // What the call returned that broke the rule; ok when it returned no status.
  ghost_rule rule{};
  task_id by{};              // Absent: the host, or the kernel itself.
  std::uint64_t object = 0;  // By its creation number; an event by its seq; an object by the caller's number.
  std::uint64_t detail = 0;  // State, epoch, obligation, worker or seq, as the kind says.
  std::uint32_t worker = 0;
  std::uint32_t line = 0;  // Where the obligation was reserved that leaked; 0 when there is no place to name.
  std::uint64_t seq = 0;   // The newest semantic event by then.
  const char* text = "";
  const char* file = "";
};

/// A thing that user code declares to the monitors, by a number that the same run gives it again.
using ghost_object = id<struct ghost_object_tag>;

/// One borrow, to be released. Null while the monitors are off; a null one may be copied and released, too.
struct ghost_borrow {
  std::uint32_t place = 0;
  std::uint64_t serial = 0;

  [[nodiscard]] constexpr bool is_null() const noexcept { return serial == 0; }
  friend constexpr bool operator==(ghost_borrow, ghost_borrow) noexcept = default;
};

/// The digest of a run as it was after its event `seq`.
struct digest_checkpoint {
  std::uint64_t seq = 0;
  digest128 digest{};

  friend constexpr bool operator==(const digest_checkpoint&, const digest_checkpoint&) noexcept = default;
};

/// Where two runs were seen to differ first. Between this checkpoint and the one before it the journals tell more.
struct digest_difference {
  digest_checkpoint expected;
  digest_checkpoint found;
};

class ASX_API ghosts {
 public:
  /// A checkpoint is taken at the end of the first dispatch behind each multiple of this many events. When there is no
  /// room for more, every second one is dropped and the distance doubles.
  static constexpr std::uint64_t first_stride = 1024;

  ghosts(const kernel& watched, journal& log, const resource_contract& contract, ghost_mode mode,
         memory_port memory) noexcept;
  ~ghosts();
  ghosts(const ghosts&) = delete;
  ghosts& operator=(const ghosts&) = delete;

  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  [[nodiscard]] std::uint64_t count(ghost_kind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint64_t violations() const noexcept { return violations_; }
  [[nodiscard]] std::uint64_t notes() const noexcept { return notes_; }
  /// How many violations are remembered; at(0) is the oldest of them.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] const ghost_violation& at(std::size_t place) const noexcept;
  /// The counts that are not 0, then the remembered violations, one a line. Empty text never: it says that all is well.
  [[nodiscard]] std::string report() const;

  // ---- the borrow ledger (FB-200, FB-201)
  ghost_borrow borrow(cx& c, ghost_object object, obligation_handle tie = {}) noexcept {
    return is_on_ ? enter(c, object, tie, false) : ghost_borrow{};
  }
  ghost_borrow borrow_mut(cx& c, ghost_object object, obligation_handle tie = {}) noexcept {
    return is_on_ ? enter(c, object, tie, true) : ghost_borrow{};
  }
  /// For code that has no cx. An absent task is the host.
  ghost_borrow borrow(task_id by, ghost_object object, obligation_handle tie = {}) noexcept {
    return is_on_ ? enter(by, object, tie, false) : ghost_borrow{};
  }
  ghost_borrow borrow_mut(task_id by, ghost_object object, obligation_handle tie = {}) noexcept {
    return is_on_ ? enter(by, object, tie, true) : ghost_borrow{};
  }
  /// The borrower has a copy of its own, and may say pending. The borrow lasts until it is released.
  void copy(ghost_borrow b) noexcept;
  void release(ghost_borrow b) noexcept;
  /// Of the current or the next borrow epoch, from 1; 0 for an object that is not known.
  [[nodiscard]] std::uint64_t epoch(ghost_object object) const noexcept;

  // ---- affinity (FB-202)
  /// The first worker that touches an object owns it.
  void touch(std::uint32_t worker, ghost_object object) noexcept {
    if (is_on_) [[unlikely]]
      touch_object(worker, object);
  }
  /// By the worker that polls this task, after the task itself was looked at.
  void touch(cx& c, ghost_object object) noexcept {
    if (is_on_) [[unlikely]]
      touch_by(c, object);
  }
  /// The certificate: from now on `to` owns it. One from a worker that does not own it is FB-202, and moves nothing.
  void transfer(ghost_object object, std::uint32_t from, std::uint32_t to) noexcept;
  /// The object is gone: its owner and its borrows are dropped.
  void forget(ghost_object object) noexcept;

  // ---- determinism (FB-015)
  /// What this run was at its checkpoints so far, for a later one.
  [[nodiscard]] std::span<const digest_checkpoint> digests() const noexcept { return {digests_, digest_count_}; }
  /// Compares with an earlier run's checkpoints as this one comes to them. Those behind it are not judged.
  void expect_digests(std::span<const digest_checkpoint> earlier) noexcept;
  /// Compares now: this run's newest event is `seq`, and its digest is this one. False when not, or when off.
  bool expect_digest(std::uint64_t seq, const digest128& digest) noexcept;
  /// Null while no difference was seen. Nothing is compared after the first.
  [[nodiscard]] const digest_difference* difference() const noexcept {
    return has_difference_ ? &difference_ : nullptr;
  }

  // ---- for the components above: a permit used after it was sent, a channel used after it was closed
  void record(const ghost_violation& what) noexcept {
    if (is_on_) [[unlikely]]
      violate(what);
  }

  // ---- what the kernel tells
  void refused_move(region_id region, region_state from, region_state to) noexcept {
    if (is_on_) [[unlikely]]
      illegal_region(region, from, to);
  }
  [[nodiscard]] status refused_end(const detail::task_record& t) noexcept {
    if (is_on_) [[unlikely]]
      illegal_end(t);
    return status::invalid_transition;
  }
  void refused_resolve(const detail::obligation_record& o, obligation_state to, status returned) noexcept {
    if (is_on_) [[unlikely]]
      resolved_again(o, to, returned);
  }
  void leaked(const detail::obligation_record& o) noexcept {
    if (is_on_) [[unlikely]]
      leak(o);
  }
  void cancelled_again(task_id task) noexcept {
    if (is_on_) [[unlikely]]
      note(ghost_kind::double_cancel, {28, "R-28"}, caller(), task.value);
  }
  void timer_cancelled(slab_key timer) noexcept {
    if (is_on_) [[unlikely]]
      remember_timer(timer);
  }
  [[nodiscard]] bool timer_missed(slab_key timer) noexcept {
    if (is_on_) [[unlikely]]
      look_for_timer(timer);
    return false;
  }
  void touched(const detail::task_record& t) noexcept {
    if (is_on_) [[unlikely]]
      touch_task(t);
  }
  void pending(const detail::task_record& t) noexcept {
    if (is_on_ && tied_borrows_ != 0) [[unlikely]]
      look_at_borrows(t);
  }
  void ended(const detail::task_record& t) noexcept {
    if (is_on_ && live_borrows_ != 0) [[unlikely]]
      drop_borrows(t);
  }
  void dispatched() noexcept {
    if (is_on_ && log_.seq() >= next_look_) [[unlikely]]
      look_at_digest();
  }
  /// Takes the block; once, when the kernel has what it needs.
  void start() noexcept;

 private:
  struct borrow_entry {
    std::uint64_t serial = 0;  // 0: free.
    std::uint64_t object = 0;
    task_id by{};
    obligation_handle tie{};
    bool is_mutable = false;
    bool is_copied = false;
    bool is_told = false;
  };
  struct object_entry {
    std::uint64_t object = 0;
    std::uint64_t epoch = 1;
    std::uint32_t owner = 0;
    std::uint32_t shared = 0;
    std::uint32_t exclusive = 0;
    bool is_owned = false;
  };
  /// Of one entry in each of the five arrays.
  static constexpr std::size_t entry_bytes() noexcept {
    return sizeof(ghost_violation) + sizeof(borrow_entry) + sizeof(object_entry) + sizeof(slab_key) +
           sizeof(digest_checkpoint);
  }

  [[nodiscard]] std::uint64_t caller() const noexcept;
  void violate(ghost_violation what) noexcept;
  void note(ghost_kind kind, ghost_rule rule, std::uint64_t by, std::uint64_t object) noexcept;
  void append(event_kind kind, ghost_rule rule, std::uint64_t by, std::uint64_t object, status returned) noexcept;

  void illegal_region(region_id region, region_state from, region_state to) noexcept;
  void illegal_end(const detail::task_record& t) noexcept;
  void resolved_again(const detail::obligation_record& o, obligation_state to, status returned) noexcept;
  void leak(const detail::obligation_record& o) noexcept;
  void remember_timer(slab_key timer) noexcept;
  void look_for_timer(slab_key timer) noexcept;

  [[nodiscard]] object_entry* find(std::uint64_t object) const noexcept;
  [[nodiscard]] object_entry* find_or_add(std::uint64_t object) noexcept;
  [[nodiscard]] borrow_entry* find(ghost_borrow b) const noexcept;
  ghost_borrow enter(cx& c, ghost_object object, obligation_handle tie, bool is_mutable) noexcept;
  ghost_borrow enter(task_id by, ghost_object object, obligation_handle tie, bool is_mutable) noexcept;
  void leave(borrow_entry& b) noexcept;
  void look_at_borrows(const detail::task_record& t) noexcept;
  void drop_borrows(const detail::task_record& t) noexcept;
  void touch_object(std::uint32_t worker, ghost_object object) noexcept;
  void touch_by(cx& c, ghost_object object) noexcept;
  void touch_task(const detail::task_record& t) noexcept;

  void look_at_digest() noexcept;
  void keep_digest(std::uint64_t seq) noexcept;
  [[nodiscard]] bool compare(const digest_checkpoint& expected) noexcept;
  void plan_look() noexcept;

  bool is_on_;
  bool is_journalled_;
  const kernel& kernel_;
  journal& log_;
  memory_port memory_;
  std::uint32_t entries_;

  std::array<std::uint64_t, ghost_kinds> counts_{};
  std::uint64_t violations_ = 0;
  std::uint64_t notes_ = 0;

  // The block; `entries_` of each.
  void* block_ = nullptr;
  ghost_violation* ring_ = nullptr;
  borrow_entry* borrows_ = nullptr;
  object_entry* objects_ = nullptr;
  slab_key* timers_ = nullptr;  // Cancelled ones, by index modulo the size.
  digest_checkpoint* digests_ = nullptr;

  std::uint64_t remembered_ = 0;  // Violations that went into the ring.
  std::uint64_t serials_ = 0;
  std::uint32_t live_borrows_ = 0;
  std::uint32_t tied_borrows_ = 0;
  std::uint32_t object_count_ = 0;

  std::size_t digest_count_ = 0;
  std::uint64_t stride_ = first_stride;
  std::uint64_t next_own_ = first_stride;
  std::uint64_t next_look_ = first_stride;
  std::span<const digest_checkpoint> expected_{};
  bool has_difference_ = false;
  digest_difference difference_{};
};

}  // namespace asx
