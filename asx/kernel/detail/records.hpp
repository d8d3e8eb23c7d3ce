// asx/kernel/detail/records.hpp - what the kernel knows of a task, a region, an obligation and a timer.
//
// Records lie in slabs: they keep their addresses, and handles find them by index and generation. Only the kernel
// writes a state, and only through the tables of asx/model/lifecycle.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/base/intrusive_list.hpp"
#include "asx/base/slab.hpp"
#include "asx/kernel/cx.hpp"
#include "asx/kernel/detail/causes.hpp"
#include "asx/kernel/detail/deadline_index.hpp"
#include "asx/kernel/detail/reasons.hpp"
#include "asx/kernel/owned.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/outcome.hpp"
#include "asx/sched/place.hpp"
#include "asx/wheel/timer_handle.hpp"

namespace asx {
/// What a thing counts as against the contract.
enum class thing_family : std::uint8_t { channel, sync };

/// What a task of poll functions ends with: a number, an error, a reason or a panic.
using task_outcome = outcome<std::uint64_t, error>;
}  // namespace asx

namespace asx::detail {

struct region_record;

/// The first bytes of a name, kept in the record: nobody has to keep the text alive.
class short_name {
 public:
  short_name() noexcept = default;
  explicit short_name(std::string_view text) noexcept
      : size_(static_cast<std::uint8_t>(text.size() < 23 ? text.size() : 23)) {
    for (std::size_t i = 0; i < size_; ++i) bytes_[i] = text[i];
  }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, 23> bytes_{};
  std::uint8_t size_ = 0;
};

struct cleanup_node : cleanup_hook {
  cleanup_node(cleanup_function f, void* c, task_record& t) noexcept : cleanup_hook(nullptr), undo(f), context(c) {
    task = &t;
  }
  cleanup_function undo;
  void* context;
  slab_key key{};
};

struct finalizer_node : list_hook<struct finalizer_tag> {
  finalizer_node(finalizer_function f, void* c, std::uint64_t n, bool in_turn) noexcept
      : run(f), context(c), number(n), is_in_turn(in_turn) {}
  finalizer_function run;
  void* context;
  std::uint64_t number;
  bool is_in_turn;  // Not before the tasks of the one before it have ended.
  slab_key key{};
};

/// A timer of a task, or of a region when no task asked for it.
struct timer_record : list_hook<struct timer_owner_tag> {
  timer_handle wheel;
  task_record* task = nullptr;
  region_record* region = nullptr;
  instant deadline;
  std::uint64_t seq = 0;
  slab_key key{};
};

/// How a task ended, without what its record knows besides: the reason of a cancel, the text of a panic.
struct task_end {
  std::uint64_t word = 0;  // The value of ok; the detail of err, or of a cleanup that failed.
  outcome_kind kind = outcome_kind::ok;
  bool has_value = false;
  bool has_overrun = false;  // Its cleanup was cut off.
  status code = status::ok;  // Of err, or of the cleanup.

  [[nodiscard]] static task_end ok() noexcept { return {}; }
  [[nodiscard]] static task_end ok(std::uint64_t value) noexcept { return {value, outcome_kind::ok, true}; }
  [[nodiscard]] static task_end err(const error& e) noexcept {
    return {e.detail, outcome_kind::err, false, false, e.code};
  }
  [[nodiscard]] static task_end cancelled(bool overran = false, const error& e = {status::ok, 0}) noexcept {
    return {e.detail, outcome_kind::cancelled, false, overran, e.code};
  }
  [[nodiscard]] static task_end panicked() noexcept { return {0, outcome_kind::panicked}; }
};

// The order is that of use. A slot is the number of its life and the record, eight cache lines in all: the first three
// are what a dispatch touches, the next three what a wait, a cancel and an end do, the last two what most tasks write
// once. static_asserts below hold the lines.
struct task_lines : place, list_hook<struct region_tasks_tag>, list_hook<struct stall_tag> {
  poll_function poll = nullptr;
  void* context = nullptr;
  region_record* region = nullptr;  // While it lives: a held record may outlive its region's.
  task_state state = task_state::created;
  std::uint8_t waits_for = 0;  // wait_code, for reports; meaningful while parked.
  cancel_phase phase = cancel_phase::requested;
  // Somebody asked for a cancel; for what is computed outside the gate, which looks while others ask.
  atomic_word<bool> seems_asked{false};
  // Written inside the gate, all of these. Bits of a number: of these GCC 12 asks for several at once, and for what
  // stands around them in the same eight bytes, of bools one by one.
  std::uint16_t was_woken : 1 = false;
  std::uint16_t was_cancelled_in_poll : 1 = false;
  std::uint16_t has_panicked : 1 = false;
  std::uint16_t was_decided : 1 = false;  // Somebody has completed one of several that it may go on with.
  std::uint16_t is_finalizer : 1 = false;
  std::uint16_t has_overrun : 1 = false;   // Its cleanup quota is spent.
  std::uint16_t is_held_back : 1 = false;  // Out of polls while the cancel queue is full.
  std::uint16_t is_unwinding : 1 = false;  // Its end has begun, and what it holds is given back.
  std::uint16_t is_ending : 1 = false;
  std::uint16_t is_leaving : 1 = false;  // It has said its last word, and waits for the regions it owns.
  std::uint16_t has_panic_text : 1 = false;  // Since its life began.
  std::uint16_t is_held : 1 = false;         // By a join handle.
  std::uint16_t is_polled : 1 = false;       // By any thread, from its dispatch until it is parked, queued or ended.
  std::uint16_t tells_sites : 1 = false;     // Where it stands: kernel::sites_.
  std::uint16_t is_unheard : 1 = false;      // It failed, and whoever holds it has not asked how it ended.
  cancel_kind deferred_kind = cancel_kind::user;  // While it is in the retry list.
  std::uint8_t pins = 0;  // The kernel itself, while user code runs that might let go of the last handle.

  budget left;                      // The ordinary budget.
  std::uint32_t registrations = 0;  // Timers and waiters that may still wake it.
  std::uint16_t home = 0;           // The worker that dispatched it last.
  // Of one poll, and written by its own thread alone, wherever that is: nothing that others look at together is near.
  bool took_waker : 1 = false;
  bool wants_yield : 1 = false;
  bool has_value : 1 = false;
  bool is_computing : 1 = false;  // In a call of parallel.
  reason_slot* why = nullptr;     // Null while nobody asked for a cancel: then its epoch is 0, and 1 afterwards.
  std::uint64_t polls = 0;
  std::uint32_t cleanup_depth = 0;  // Of the actions that users pushed,
  std::uint32_t held = 0;           // and of permits and guards.

  intrusive_list<waiter, task_waits_tag> waits;
  intrusive_list<timer_record, timer_owner_tag> timers;
  std::uint64_t waits_on = 0;
  cleanup_hook* in_hand = nullptr;    // The top of the stack, when it is a permit that was just taken.
  instant asked_at;                   // When a cancel was first asked for.
  std::uint32_t cleanup_polls = 0;    // The cleanup's quota: granted at T7, then left,
  std::uint8_t cleanup_priority = 0;  // and its priority.
  status failure_code = status::ok;   // What the poll that says error means by it.

  intrusive_list<cleanup_hook, cleanup_tag> cleanups;
  wait_queue joiners{nullptr, wait_code::join};
  intrusive_list<region_record, struct owner_tag> owned_regions;
};

struct task_record : task_lines, list_hook<struct retry_tag> {
  void (*drop)(void* context) noexcept = nullptr;
  std::uint64_t child_seq = 0;
  task_end result;
  std::uint32_t index = 0;  // Its slot.
  std::uint32_t index_place = deadline_index::nowhere;
  std::uint32_t unobserved = 0;  // Polls in cancel_requested.
  std::uint16_t cleanup_used = 0;
  task_trigger last_trigger = task_trigger::complete;  // How it ends, once it has left.
  std::uint8_t last_flags = 0;

  std::uint64_t value = 0;
  std::uint64_t failure_detail = 0;
  region_id region_number{};
  cause_ref panic_text{};
  std::source_location panic_site;
  std::uint64_t granted_polls = unlimited;
  std::uint64_t granted_cost = unlimited;

  std::uint64_t queued_by = 0;  // The event that queued it last; of its end, once it has ended.
  std::uint64_t asked_by =
      0;  // The event that asked it to cancel, in force now; before it, the one that deferred that.
  short_name name;
  std::source_location site;
  instant spawned_at;
  std::uint32_t draws = 0;  // Of its own random numbers,
  std::uint16_t turns = 0;  // and of which of two pieces goes first.
  std::uint16_t mask_depth = 0;

  // By hand: what the compiler makes is cleared as a whole before it is written, half a kilobyte for each spawn.
  task_record() noexcept {}  // NOLINT(modernize-use-equals-default)

  [[nodiscard]] bool is_asked() const noexcept { return why != nullptr; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return is_asked() ? 1 : 0; }
  [[nodiscard]] const cancel_reason& reason() const noexcept { return why->reason.get(); }
  /// Of the budget in force; unlimited when there is no limit.
  [[nodiscard]] std::uint64_t polls_left() const noexcept {
    return state == task_state::cancelling ? cleanup_polls : left.poll_quota;
  }
  [[nodiscard]] budget cleanup() const noexcept {
    budget b = budget::infinite();
    b.poll_quota = cleanup_polls;
    b.priority = cleanup_priority;
    return b;
  }
  void set_cleanup(const budget& b) noexcept {
    cleanup_polls = static_cast<std::uint32_t>(b.poll_quota);
    cleanup_priority = b.priority;
  }
  /// What a cancel and an end touch is on its way.
  void fetch() const noexcept {
    const auto* const at = reinterpret_cast<const std::byte*>(this);
    for (std::size_t line = 0; line < 6; ++line) ASX_FETCH(at + line * 64);  // asx: bounded by the lines of a record
  }
  [[nodiscard]] slab_key key() const noexcept { return {index, slab<task_record>::generation_of(*this)}; }
};

static_assert(sizeof(void*) != 8 || sizeof(task_record) == 512 - sizeof(std::uint64_t), "a slot is eight cache lines");
static_assert(sizeof(void*) != 8 || sizeof(task_lines) == 320 - sizeof(std::uint64_t),
              "and what a cancel needs lies in five");

/// The fold of R-142: keeps what a fold in creation order would give, whatever the order in which children end.
struct outcome_fold {
  task_outcome best;
  held_reason reason;      // Of `best`, when it is cancelled,
  cause_ref panic_text{};  // and what was said, when it panicked.
  std::uint64_t from = 0;  // Creation number of the child it came from.
};

struct region_record : list_hook<struct sibling_tag>, list_hook<owner_tag>, list_hook<struct pending_tag> {
  region_id id{};
  asx::kernel* owner_kernel = nullptr;
  region_record* parent = nullptr;  // Until it is closed: a held record may outlive its parent's.
  region_id parent_number{};
  task_record* owner = nullptr;  // The task whose block this is; null for most.
  region_state state = region_state::open;
  bool is_driven = false;
  bool had_child = false;
  bool is_close_held = false;
  bool has_reason = false;
  bool ends_when_empty = false;
  bool fails_fast = false;
  bool is_judged_by_owner = false;
  task_id failed{};  // Who made it fail fast, and with what.
  error failure{status::ok, 0};
  std::uint64_t closing_event = 0;  // What its children's cancels follow from.
  budget limits;
  intrusive_list<region_record, sibling_tag> children;  // Not closed, in creation order.
  intrusive_list<task_record, region_tasks_tag> tasks;  // Live, in creation order.
  std::uint32_t live_tasks = 0;
  std::uint32_t live_regions = 0;
  std::uint32_t reserved_slots = 0;  // Two-stage spawns that are not committed yet.
  std::uint64_t next_child = 0;
  std::uint64_t child_seq = 0;
  std::uint32_t max_tasks = UINT32_MAX;
  held_reason reason;
  cause_ref kept{};  // The reason as its children's cause.
  intrusive_list<finalizer_node, finalizer_tag> finalizers;
  std::uint32_t finalizer_depth = 0;
  std::uint64_t next_finalizer = 0;
  intrusive_list<struct obligation_record, struct ledger_tag> ledger;  // Reserved, in creation order.
  std::uint32_t reserved = 0;
  std::uint64_t leaked = 0;
  intrusive_list<owned, owned_tag> things;
  intrusive_list<timer_record, timer_owner_tag> timers;
  wait_queue closers{nullptr, wait_code::close};
  outcome_fold fold;
  struct arena_chunk* arena = nullptr;
  std::uint64_t arena_bytes = 0;
  std::uint32_t holds = 0;
  std::uint32_t pins = 0;  // As of a task.
  bool is_busy = false;    // Its finalizers run, or it is just being closed: neither nests.
  bool is_judged_by_body = false;
  void* context = nullptr;
  void (*closed)(void* context, region_handle region) noexcept = nullptr;
  slab_key key{};
  instant created_at;
  short_name name;
  std::source_location site;
};

struct obligation_record : list_hook<ledger_tag> {
  obligation_id id{};
  obligation_state state = obligation_state::reserved;
  region_record* region = nullptr;  // While it is reserved.
  region_id region_number{};
  task_id owner{};
  std::source_location site;
  std::uint32_t slot = 0;
};

/// Obligations whose records stay readable until their slots are used again.
class obligation_table {
 public:
  obligation_table(std::uint32_t limit, memory_port memory) noexcept
      : core_(sizeof(obligation_record), alignof(obligation_record), limit, memory) {}
  ~obligation_table() {
    for (std::uint32_t i = 0; core_.present(i); ++i) {
      if (core_.generation(i) != 0) std::destroy_at(at(i));
    }
  }
  obligation_table(const obligation_table&) = delete;
  obligation_table& operator=(const obligation_table&) = delete;

  [[nodiscard]] slab_entry<obligation_record> reserve() noexcept {
    const std::uint32_t index = core_.lowest_free();
    if (index == slab_core::npos) return {};
    if (core_.generation(index) != 0) std::destroy_at(at(index));
    core_.take(index);
    auto* const o = new (core_.record(index)) obligation_record;
    o->slot = index;
    return {o, {index, ++core_.generation(index)}};
  }
  void resolve(const obligation_record& o) noexcept { core_.give_back(o.slot); }
  [[nodiscard]] obligation_record* find(obligation_handle h) const noexcept {
    const std::uint32_t i = h.index();
    if (!h.is(type_tag::obligation) || h.generation == 0 || !core_.present(i)) return nullptr;
    return core_.generation(i) == h.generation ? at(i) : nullptr;
  }
  [[nodiscard]] std::uint32_t live() const noexcept { return core_.live(); }
  [[nodiscard]] bool reserve_all() noexcept { return core_.reserve(core_.limit()); }
  [[nodiscard]] bool ready() const noexcept { return core_.ready(); }

 private:
  [[nodiscard]] obligation_record* at(std::uint32_t i) const noexcept {
    return std::launder(reinterpret_cast<obligation_record*>(core_.record(i)));
  }
  slab_core core_;
};

/// Cells for the records of channels and other primitives, which the kernel does not know.
class thing_table {
 public:
  static constexpr std::size_t cell_bytes = 448;
  static constexpr std::size_t cell_alignment = 16;

  thing_table(asx::kernel& home, std::uint32_t limit, memory_port memory) noexcept
      : home_(&home), core_(cell_bytes, cell_alignment, limit, memory) {}

  [[nodiscard]] slab_entry<std::byte> take() noexcept {
    const std::uint32_t index = core_.lowest_free();
    if (index == slab_core::npos) return {};
    core_.take(index);
    std::byte* const cell = core_.record(index);
    const std::uint64_t life = ++core_.generation(index);
    ASX_ASSERT(life_of(cell) == life, "the number of a life lies in front of its cell");
    // Behind it there is room for a pointer, which is never written again: who holds a handle reads it at any time.
    if (life == 1) *reinterpret_cast<asx::kernel**>(cell - sizeof(void*)) = home_;
    return {cell, {index, life}};
  }
  /// The cell of that number, whoever lives there; null when there never was one.
  [[nodiscard]] std::byte* at(std::uint32_t index) const noexcept {
    return core_.present(index) ? core_.record(index) : nullptr;
  }
  /// Nobody finds it any more; its memory is still in use.
  void retire(slab_key key) noexcept {
    if (core_.generation(key.index) == key.generation) ++core_.generation(key.index);
  }
  void give_back(slab_key key) noexcept {
    retire(key);
    ASX_ASSERT(core_.generation(key.index) == key.generation + 1, "a cell is given back once");
    core_.give_back(key.index);
  }
  /// Odd while somebody lives there; readable as long as the kernel lives.
  [[nodiscard]] static std::uint64_t life_of(const void* cell) noexcept {
    return *reinterpret_cast<const std::uint64_t*>(static_cast<const std::byte*>(cell) - cell_alignment);
  }
  /// Whose table it is of, whoever lives there now.
  [[nodiscard]] static asx::kernel* home_of(const void* cell) noexcept {
    return *reinterpret_cast<asx::kernel* const*>(static_cast<const std::byte*>(cell) - sizeof(void*));
  }
  [[nodiscard]] bool reserve_all() noexcept { return core_.reserve(core_.limit()); }
  [[nodiscard]] bool ready() const noexcept { return core_.ready(); }

 private:
  asx::kernel* home_;
  slab_core core_;
};

}  // namespace asx::detail

namespace asx {

ASX_ALWAYS_INLINE void wait_queue::enter_anew(waiter& w, detail::task_record& t, kernel& home,
                                              std::uint64_t id) noexcept {
  list_.push_back(w);
  ++size_;
  w.stand_in(this);
  w.id_ = id;
  w.task_ = &t;
  w.home_ = &home;
  t.waits.push_back(w);
  ++t.registrations;
}

inline void wait_queue::remove(waiter& w) noexcept {
  static_cast<list_hook<waiter_tag>&>(w).unlink();
  static_cast<list_hook<task_waits_tag>&>(w).unlink();
  --w.task_->registrations;
  w.task_ = nullptr;
  --size_;
  w.stand_in(nullptr);  // Last: whoever sees it may free the waiter.
}

inline void wait_queue::hand_on(wait_queue& to, waiter& w) noexcept {
  static_cast<list_hook<waiter_tag>&>(w).unlink();
  static_cast<list_hook<task_waits_tag>&>(w).unlink();
  --size_;
  to.list_.push_back(w);
  ++to.size_;
  w.task_->waits.push_back(w);
  w.stand_in(&to);
}

}  // namespace asx
