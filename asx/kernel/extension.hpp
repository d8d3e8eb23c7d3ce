// asx/kernel/extension.hpp - what channels and other primitives may ask of the kernel: records, limits, waits, wakes,
// places on cleanup stacks, events. Users have no need of it.
//
//     mpsc, oneshot, mutex ... --> extension --> kernel
//
// 1  A thing's record lies in one table of cells, counted against the contract by family; its other memory comes from a
//    pool. It keeps its address; a reference to an earlier life of its cell never finds a later one.
// 2  A thing is made in a region that is open, or refused in the order of R-09 with nothing changed; it is told.
// 3  The kernel finalizes what is in a region that closes; a thing that is done before leaves by itself.
//
// It is a class of static functions, so that the kernel has one friend and not one for each primitive.
//
// Cancel points: checkpoint. Threads: the runtime's. Lifetime: a thing dies with its region at the latest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "asx/base/random.hpp"
#include "asx/kernel/kernel.hpp"

namespace asx {

/// What a primitive's record begins with.
struct thing : owned {
  thing(const owned_ops& table, kernel& k, std::string_view called) noexcept : owned(table), home(k), name(called) {}
  kernel& home;
  slab_key key{};
  std::uint64_t number = 0;         // Creation number in its family,
  std::uint64_t region_number = 0;  // and that of its region, which it may outlive.
  detail::short_name name;
};

/// Which life of which cell; a plain value that an endpoint keeps.
template <class Thing>
class thing_ref {
 public:
  constexpr thing_ref() noexcept = default;
  explicit thing_ref(Thing& at) noexcept : at_(&at), life_(at.key.generation) {}
  /// A life that is told by its number; null when there can be none.
  thing_ref(Thing* at, std::uint64_t life) noexcept : at_((life & 1U) != 0 ? at : nullptr), life_(life) {}

  [[nodiscard]] bool is_null() const noexcept { return at_ == nullptr; }
  /// Null when there is none any more.
  [[nodiscard]] Thing* get() const noexcept { return is_there() ? at_ : nullptr; }
  [[nodiscard]] bool is_there() const noexcept { return at_ != nullptr && detail::thing_table::life_of(at_) == life_; }
  /// For who knows that it is there.
  [[nodiscard]] Thing& there() const noexcept { return *at_; }
  /// Why there is none: disconnected while the cell is free, stale_handle once it is somebody else's.
  [[nodiscard]] status absence() const noexcept {
    if (at_ == nullptr) return status::stale_handle;
    return detail::thing_table::life_of(at_) == life_ + 1 ? status::disconnected : status::stale_handle;
  }
  /// The runtime's, whether it is there or not; null for none at all.
  [[nodiscard]] kernel* home() const noexcept { return at_ == nullptr ? nullptr : detail::thing_table::home_of(at_); }
  /// Of a runtime that several threads share; null or open for all others, and null for none at all.
  [[nodiscard]] const gate_port* gate() const noexcept {
    if (!may_have_gates()) [[likely]]
      return nullptr;
    return any_gate();
  }
  /// The same for who has asked may_have_gates; it may be one that stands open.
  [[nodiscard]] const gate_port* any_gate() const noexcept {
    return at_ == nullptr ? nullptr : &detail::thing_table::home_of(at_)->gate_in_use();
  }
  [[nodiscard]] std::uint64_t life() const noexcept { return life_; }
  /// A copy, word by word: one of both words at once would wait for two stores that were just made.
  [[nodiscard]] thing_ref by_words() const noexcept {
    thing_ref out;
    out.at_ = at_;
    ASX_ONE_WORD(out.at_);
    out.life_ = life_;
    return out;
  }
  friend bool operator==(const thing_ref&, const thing_ref&) noexcept = default;

 private:
  Thing* at_ = nullptr;
  std::uint64_t life_ = 0;
};

/// What a thing is made from.
struct thing_order {
  thing_family family = thing_family::channel;
  std::uint64_t nominal = 0;  // Bytes at nominal cost.
  std::size_t bytes = 0;      // Besides the cell; 0: none.
  std::size_t alignment = alignof(std::max_align_t);
};
struct thing_room {
  status code = status::ok;
  void* cell = nullptr;
  void* block = nullptr;
  slab_key key{};
  detail::region_record* region = nullptr;
};

class ASX_API extension {
 public:
  using task_record = detail::task_record;

  // ---- records
  [[nodiscard]] static thing_room make_room(kernel& k, region_handle region, const thing_order& order) noexcept;
  /// After the record was constructed in `room.cell`: gives it its number and puts it into the region.
  static void settle_in(thing& made, const thing_room& room, const thing_order& order) noexcept;
  /// Once it is settled: what those wait for who stand in that queue of it.
  static void name_queue(wait_queue& queue, wait_code what, const thing& of) noexcept;
  /// Once its making is told: its name goes into the journal, behind a noun where its number alone does not say what it
  /// is.
  static void note_name(const thing& made, type_tag tag, std::string_view noun = {}) noexcept;
  /// While there are faults and a strike is asked for: whom it is about; null where that is nobody.
  [[nodiscard]] static task_handle struck_task(const kernel& k) noexcept {
    return k.current_ != nullptr ? kernel::handle_of(*k.current_) : k.polled_last_;
  }
  /// Its waiters wait for the end of one of several tasks, and it lies in none of their records.
  static void name_queue_of_several(wait_queue& queue) noexcept;
  /// The first of them goes on because `ended` has.
  static void serve_next(kernel& k, wait_queue& waiting, const task_record& ended) noexcept;
  /// What a waiter waits for, for lists.
  struct told_wait {
    wait_code what = wait_code::other;
    std::uint64_t object = 0;  // The number of the task or region; of others, of several, and while it is not known, 0.
    const owned* thing = nullptr;  // Or the thing.
  };
  [[nodiscard]] static told_wait told(const kernel& k, const waiter& w) noexcept;
  /// Cell and block back, after the caller has destroyed the record and taken it out of its region.
  static void take_down(kernel& k, slab_key key, const thing_order& order, void* block) noexcept;
  /// References find nothing from now on; the record is still there.
  static void retire(kernel& k, slab_key key) noexcept { k.cells_.retire(key); }
  /// The cell of that number, for references that are told by numbers; null when there never was one.
  [[nodiscard]] static void* cell_at(const kernel& k, std::uint32_t index) noexcept { return k.cells_.at(index); }
  static void leave_region(thing& t) noexcept {
    if (static_cast<list_hook<owned_tag>&>(t).linked()) static_cast<list_hook<owned_tag>&>(t).unlink();
  }

  // ---- who
  [[nodiscard]] static task_record& task_of(cx& c) noexcept { return *c.task_; }
  [[nodiscard]] static bool is_same_task(const cx& a, const cx& b) noexcept { return a.task_ == b.task_; }
  [[nodiscard]] static kernel& kernel_of(const cx& c) noexcept { return *c.task_->region->owner_kernel; }
  /// Null outside of polls, and once the task has ended: what is taken in its drop is nobody's.
  [[nodiscard]] static task_record* polled(const kernel& k) noexcept {
    return k.current_ != nullptr && k.current_->state != task_state::completed ? k.current_ : nullptr;
  }
  [[nodiscard]] static std::uint64_t caller(const kernel& k) noexcept { return k.caller(); }
  [[nodiscard]] static region_handle region_of(const task_record& t) noexcept { return kernel::handle_of(*t.region); }
  /// Acknowledged a cancel, or panicked: what it drops now it does not forget.
  [[nodiscard]] static bool is_giving_up(const task_record& t) noexcept {
    return t.state == task_state::cancelling || t.state == task_state::finalizing || t.has_panicked;
  }

  // ---- cancel points
  [[nodiscard]] static status checkpoint(cx& c) noexcept {
    kernel& k = *c.task_->region->owner_kernel;
    if (is_untroubled(c) && !k.ghosts_.is_on()) [[likely]]
      return status::ok;
    return k.checkpoint(*c.task_);
  }
  /// A checkpoint would say ok and change nothing; a monitor may still want to see it.
  [[nodiscard]] static bool is_untroubled(const cx& c) noexcept {
    return c.task_->state == task_state::running && c.task_->left.deadline.is_none();
  }

  /// What a cancel point says of a thing that is not there: cancelled comes before disconnected.
  [[nodiscard]] static status poll_gone(cx& c, status absence) noexcept {
    if (absence == status::stale_handle) return absence;
    const status s = checkpoint(c);
    return s == status::ok ? absence : s;
  }

  // ---- events and refusals
  /// Nobody listens: no journal, no monitors, no trace that could be full. It stays so.
  [[nodiscard]] static bool is_quiet(const kernel& k) noexcept {
    return !is_told(k) && !k.ghosts_.is_on() && !k.rejects();
  }
  [[nodiscard]] static bool is_told(const kernel& k) noexcept { return k.log_.mode() != journal_mode::off; }
  /// What came from outside, for a replay: where the journal keeps events, and has room.
  static void keep_value(kernel& k, std::uint64_t number, std::string_view bytes) noexcept {
    if (k.log_.mode() != journal_mode::full || !k.has_trace(bytes.size() / 16 + 1)) return;
    k.log_.append_text(text_code::value, type_tag{}, number, bytes, k.now().ns);
  }
  static std::uint64_t note(kernel& k, event_kind kind, std::uint64_t subject, std::uint64_t object = 0,
                            std::uint64_t a = 0, std::uint64_t b = 0, std::uint32_t flags = 0,
                            std::uint64_t cause = 0) noexcept {
    return k.note(kind, subject, object, a, b, cause, flags);
  }
  static status refuse(kernel& k, event_kind kind, std::uint64_t object, status code,
                       limit_code limit = limit_code::none, std::uint64_t value = 0) noexcept {
    return k.refuse(kind, object, {code, limit, value});
  }
  /// One more than `live` is too many: every count that is bounded asks here, once for each admission (fault.hpp).
  [[nodiscard]] static bool is_full(kernel& k, std::uint64_t live, std::uint64_t most) noexcept {
    return k.is_full(live, most);
  }
  /// Only trace_overflow::reject ever lacks room.
  [[nodiscard]] static bool has_trace(const kernel& k, std::uint64_t events) noexcept {
    return !k.rejects() || k.has_trace(events);
  }
  /// A call from outside every poll: a replay must be given it again (U-01). 0 for all others.
  static std::uint64_t note_input(kernel& k, event_kind kind, std::uint64_t subject) noexcept {
    if (k.log_.mode() == journal_mode::off) return 0;
    return k.note_input(kind, subject, 0, k.inputs_ + 1);
  }

  // ---- waits and wakes
  /// The task of `c` waits in `queue`, of a thing of `home`, as `w`. True when it entered anew.
  static bool wait(cx& c, kernel& home, wait_queue& queue, waiter& w, wait_code what, std::uint64_t object,
                   std::uint64_t id = 0) noexcept {
    return home.wait_in(queue, w, *c.task_, what, object, id);
  }
  /// The same where it is known that nobody listens.
  ASX_ALWAYS_INLINE static void wait_unheard(cx& c, kernel& home, wait_queue& queue, waiter& w, wait_code what,
                                             std::uint64_t object, std::uint64_t id = 0) noexcept {
    static_cast<void>(home.stand_in(queue, w, *c.task_, what, object, id));
  }
  static void remove(wait_queue& queue, waiter& w) noexcept { queue.remove(w); }
  static void leave(waiter& w, leave_code how) noexcept { w.leave(how); }
  /// To the back of another queue, under its number and its task.
  static void move_to(wait_queue& from, wait_queue& to, waiter& w) noexcept { from.hand_on(to, w); }
  [[nodiscard]] static bool is_queued(const waiter& w) noexcept { return w.task_->is_queued(); }
  /// Its next poll is on its way, or under way, or it has a cancel to answer, or its end has begun: nothing is done for
  /// it from outside.
  [[nodiscard]] static bool looks_for_itself(const kernel& k, const task_record& t) noexcept {
    return t.is_queued() || t.is_asked() || t.is_polled || t.is_unwinding || t.is_leaving || k.current_ == &t;
  }
  /// Of several waits of a task, one of which is all that it will go on with: somebody has completed one since it was
  /// polled last; and that somebody does.
  [[nodiscard]] static bool was_decided(const task_record& t) noexcept { return t.was_decided; }
  static void decide(task_record& t) noexcept { t.was_decided = true; }
  [[nodiscard]] static task_record& waiting_task(const waiter& w) noexcept {
    ASX_ASSERT(w.task_ != nullptr, "who stands in a queue is a task's");
    return *w.task_;
  }
  /// Of the kernel where it stood last; null where one thread has that for itself, and when it never stood anywhere.
  [[nodiscard]] static const gate_port* gate_of(const waiter& w) noexcept {
    return w.home_ == nullptr ? nullptr : asx::gate_of(*w.home_);
  }
  [[nodiscard]] static std::uint64_t number_of(const task_record& t) noexcept { return t.task().value; }
  static void wake(kernel& k, task_record& t, wake_code why, std::uint64_t cause = 0) noexcept {
    if (!t.is_queued()) k.wake(t, why, cause);
  }

  // ---- who looks on
  [[nodiscard]] static const task_record& task_at(const place& p) noexcept {
    return static_cast<const task_record&>(p);
  }

  // ---- what arrives from outside (asx/runtime/inbox.hpp)
  /// The task of `c` waits for the foreign handle of that number, or for whatever else wakes it.
  static void wait_for_foreign(cx& c, std::uint64_t handle) noexcept;
  /// Of a task that has a record still, whatever its state; empty for one without. Walks all records, in any state of
  /// the kernel: for the lines of a log.
  [[nodiscard]] static std::string_view name_of(const kernel& k, task_id task) noexcept;
  /// Null when it has ended.
  [[nodiscard]] static task_record* live_task(const kernel& k, task_handle task) noexcept {
    task_record* const t = k.find(task);
    return t == nullptr || t->state == task_state::completed ? nullptr : t;
  }
  /// A handle said so. A task that has ended, or is queued already, is left alone, and nothing is told.
  static void arrive_wake(kernel& k, task_handle task, std::uint64_t handle) noexcept;
  /// False: the cancel queue or the trace has no room now, and nothing has changed.
  [[nodiscard]] static bool arrive_cancel(kernel& k, task_handle task, std::uint64_t handle, cancel_kind kind) noexcept;
  static std::uint64_t note_arrival(kernel& k, event_kind kind, std::uint64_t subject, std::uint64_t object,
                                    std::uint64_t a, std::uint64_t b = 0) noexcept {
    return k.note(kind, subject, object, a, b, 0, event_flags::arrived);
  }
  [[nodiscard]] static std::uint64_t next_input(kernel& k) noexcept { return ++k.inputs_; }
  /// What `act` does follows from the event `cause`, and is no input of its own.
  template <class Act>
  static void following(kernel& k, std::uint64_t cause, Act act) noexcept {
    const std::uint64_t before = std::exchange(k.cause_, cause);
    act();
    k.cause_ = before;
  }

  // ---- cleanup stacks
  static void hold(task_record& t, cleanup_hook& hook) noexcept { kernel::push_hook(t, hook); }
  /// Of a hook without a promise, which is likely let go of before anything else is held: the newest lies in one word.
  static void take_in_hand(task_record& t, cleanup_hook& hook) noexcept {
    if (t.in_hand != nullptr) [[unlikely]]
      kernel::stack_in_hand(t);
    hook.task = &t;
    t.in_hand = &hook;
  }
  static void let_go(cleanup_hook& hook) noexcept {
    if (hook.task == nullptr) return;
    if (hook.task->in_hand == &hook) [[likely]] {
      hook.task->in_hand = nullptr;
      hook.task = nullptr;
    } else {
      kernel::release_hook(hook);
    }
  }

  /// `to` takes the place of `from` on its stack.
  static void replace(cleanup_hook& from, cleanup_hook& to) noexcept {
    from.task->cleanups.insert_before(from, to);
    static_cast<list_hook<cleanup_tag>&>(from).unlink();
    to.task = std::exchange(from.task, nullptr);
  }

  // ---- coroutines
  /// How those tasks are asked that can tell where they stand (asx/kernel/sites.hpp).
  [[nodiscard]] static next_site sites_of(const kernel& k) noexcept { return k.sites_; }
  /// False once it has fired or was cancelled.
  [[nodiscard]] static bool has_timer(const kernel& k, slab_key timer) noexcept {
    const inside here(k);
    return k.timers_.find(timer) != nullptr;
  }
  /// For an exception: the place is where the task was spawned.
  static void panic(cx& c, std::string_view text) noexcept {
    const inside here(c.kernel());
    c.task_->region->owner_kernel->panic(*c.task_, text, c.task_->site);
  }
  /// A block that counts as `nominal` bytes; null when the contract or the memory refuses.
  [[nodiscard]] static void* take_block(kernel& k, std::uint64_t nominal, std::size_t bytes,
                                        std::size_t alignment) noexcept {
    const inside here(k);
    if (!k.has_bytes(nominal) || k.is_struck(fault_point::admission)) [[unlikely]]
      return k.refuse_block(nominal);
    void* const block = k.blocks_.allocate(bytes, alignment);
    if (block == nullptr) [[unlikely]]
      return k.refuse_block(nominal);
    k.bytes_ += nominal;
    return block;
  }
  static void give_block(kernel& k, std::uint64_t nominal, void* block, std::size_t bytes,
                         std::size_t alignment) noexcept {
    const inside here(k);
    k.bytes_ -= nominal;
    k.blocks_.release(block, bytes, alignment);
  }
  /// A number of this task's own stream: of the runtime's seed, the task, and how many it has drawn.
  [[nodiscard]] static std::uint64_t draw(cx& c) noexcept {
    return drawn(*c.task_, ++c.task_->draws, random_stream::select);
  }
  /// The same of another stream, for pieces.
  [[nodiscard]] static std::uint64_t draw_turn(task_record& t) noexcept {
    return drawn(t, splitmix64(++t.turns).next(), random_stream::pieces);
  }
  /// For the wait of a retry: by the task's poll, as a task waits once in a poll.
  [[nodiscard]] static std::uint64_t draw_wait(const cx& c) noexcept {
    return drawn(*c.task_, splitmix64(c.task_->polls).next(), random_stream::retry);
  }
  [[nodiscard]] static std::string_view name_of(const cx& c) noexcept { return c.task_->name.view(); }
  /// Several workers take turns on one thread: a lab that draws what threads would do.
  [[nodiscard]] static bool has_virtual_workers(const cx& c) noexcept {
    const kernel& k = c.kernel();
    return k.gate_in_use().enter == nullptr && k.sched_.config().workers > 1;
  }
  /// In a call of parallel from here on, or no more. By the thread that polls it.
  static void note_computing(task_record& t, bool is) noexcept { t.is_computing = is; }
  [[nodiscard]] static bool is_computing(const task_record& t) noexcept { return t.is_computing; }
  /// Somebody has asked it to cancel. Outside, too, while it is polled.
  [[nodiscard]] static bool seems_asked(const task_record& t) noexcept {
    return t.seems_asked.load(std::memory_order_relaxed);  // Relaxed: it is only looked at.
  }
  [[nodiscard]] static bool has_ended(const cx& c) noexcept {
    const inside here(c.kernel());
    return c.task_->state == task_state::completed;
  }
  /// Asks `who` to cancel with kind linked_exit because `ended` has: its cause is why that was cancelled, if it was
  /// . No limit of the cancel queue refuses it, as none refuses a region that fails fast. No user code runs in
  /// it: outside of ends whoever asked settles afterwards.
  static void exit_linked(kernel& k, task_record& who, const task_record& ended, std::string_view text) noexcept;
  static void settle(kernel& k) noexcept { k.settle(); }
  [[nodiscard]] static bool has_ended(const task_record& t) noexcept { return t.state == task_state::completed; }
  [[nodiscard]] static outcome_kind end_of(const task_record& t) noexcept { return t.result.kind; }
  [[nodiscard]] static status failure_of(const task_record& t) noexcept { return t.result.code; }
  [[nodiscard]] static std::string_view name_of(const task_record& t) noexcept { return t.name.view(); }
  /// Of the task that a reserved slot is for.
  [[nodiscard]] static cx cx_of(const task_slot& slot) noexcept { return cx(*slot.task_); }
  [[nodiscard]] static std::uint32_t coop_limit(const cx& c) noexcept {
    return c.task_->region->owner_kernel->contract_.coop_limit;
  }
  /// it has done enough in this poll; the task is queued again.
  static void note_coop_yield(cx& c) noexcept {
    kernel& k = *c.task_->region->owner_kernel;
    const inside here(k);
    k.note(event_kind::task_coop_yielded, c.task_->task().value, c.task_->region->id.value, k.contract_.coop_limit);
    c.yield();
  }

  // ---- obligations
  [[nodiscard]] static bool takes_obligations(const kernel& k, const task_record& t) noexcept {
    return k.gate(*t.region).code == status::ok;
  }
  /// ok, stale_handle, region_not_open or admission_closed: whether a region takes obligations now.
  [[nodiscard]] static status gate(const kernel& k, region_handle region) noexcept;
  /// As kernel::reserve, and what refused it is left to the caller to tell.
  struct refused_promise {
    status code = status::ok;
    limit_code limit = limit_code::none;
    std::uint64_t value = 0;
  };
  [[nodiscard]] static refused_promise promise(kernel& k, region_handle region, obligation_handle& out,
                                               const std::source_location& site) noexcept {
    const kernel::refusal why = k.try_reserve(region, out, site);
    return {why.code, why.limit, why.value};
  }

 private:
  [[nodiscard]] static std::uint64_t drawn(const task_record& t, std::uint64_t count, random_stream stream) noexcept {
    const std::uint64_t seed = t.region->owner_kernel->sched_.config().seed;
    return splitmix64(seed ^ splitmix64(t.task().value).next() ^ count, 0, stream).next();
  }
};

}  // namespace asx
