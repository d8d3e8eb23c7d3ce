// asx/chan/channel_core.hpp - the bounded channel without its value type: slots, permits, waiters, both ends.
//
//     permits   [id][id][free]...      one place a slot; a held one lies on its task's cleanup stack too
//     ring      [v][v][ ]...[ ]        capacity + 1 values: the one more is where a value lies while another leaves
//     waiters   head -> ... -> tail    pending reserves, first come, first served
//
// INV-CH-01  queued + reserved <= capacity, at all times.
// R-61       a wake leaves the waiter; the claim takes it out and passes the wake on while there is room.
// R-322      who waits with its message is not woken to send it: the channel takes it in its turn, and wakes then.
// R-234      reserved = sent + aborted + held, and sent = received + evicted + discarded + queued.
// 1  Every slot that becomes free again comes back through return_slot, which does the waking: abort, drop,
//    unwinding, a send to nobody, a receive, an eviction, a waiter that left, a claim that failed.
// 2  The state is whole before anybody is woken or any value is destroyed, so that both may call back.
//
// The typed faces (mpsc.hpp, tracked.hpp) construct and destroy values in the ring; everything else is compiled once.
//
// Cancel points: poll_reserve, begin_turn, poll_recv. Threads: the runtime's.
// Lifetime: freed when both sides are gone and no permit is held, or when its region takes it down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "asx/kernel/extension.hpp"
#include "asx/model/lifecycle.hpp"

namespace asx {

class channel_core;
class sender_core;

/// What went through a channel since it was made.
struct channel_counts {
  std::uint64_t reserved = 0;
  std::uint64_t sent = 0;
  std::uint64_t aborted = 0;
  std::uint64_t received = 0;
  std::uint64_t evicted = 0;
  std::uint64_t discarded = 0;
};

struct channel_report {
  channel_id id{};
  channel_state state = channel_state::open;
  std::uint32_t capacity = 0;
  std::uint32_t queued = 0;        // Committed and not received.
  std::uint32_t reserved = 0;      // Permits that are held.
  std::uint32_t waiters = 0;       // Pending reserves.
  std::uint64_t first_waiter = 0;  // Id of the head; 0 when nobody waits.
  std::uint64_t senders = 0;
  bool has_receiver = true;
  bool is_receiver_waiting = false;
  channel_counts counts{};
};

/// The place in the queue of one pending reserve. Move-only: a moved one keeps its place; destroying it leaves.
class ASX_API reserve_wait : public waiter {
 public:
  reserve_wait() noexcept = default;
  reserve_wait(reserve_wait&& other) noexcept;
  reserve_wait& operator=(reserve_wait&& other) noexcept;
  ~reserve_wait() { leave(); }

  /// As a drop: whoever asks again begins anew, and is not told of what was taken before.
  void leave() noexcept {
    waiter::leave();
    message_ = nullptr;
  }
  /// The channel has sent the message that stood here, and nobody was told. Asked inside.
  [[nodiscard]] bool was_taken() const noexcept { return message_ == this; }
  /// The same, said once.
  [[nodiscard]] bool is_told_taken() noexcept {
    const bool was = was_taken();
    if (was) message_ = nullptr;
    return was;
  }

 private:
  friend class channel_core;
  friend class sender_core;
  reserve_wait(reserve_wait&& other, const inside& here) noexcept;
  sender_core* from_ = nullptr;  // Meaningful while it waits,
  // as is this: what waits with it. Null: it waits for a permit. Itself, which is nobody's message: that was taken.
  void* message_ = nullptr;
};

inline constexpr char tracked_leak_text[] = "OBLIGATION TOKEN LEAKED: SendPermit";
inline constexpr std::string_view tracked_leak_message = tracked_leak_text;

/// Where the obligation of a tracked permit is made.
struct tracked_order {
  region_handle region;
  std::source_location site;
};

/// How values lie in memory, and how they go.
struct element_type {
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  void (*destroy)(void* value) noexcept = nullptr;        // Null: nothing to do.
  void (*move)(void* to, void* from) noexcept = nullptr;  // Null: it may throw.
};

/// One permit's place. It is used again when it is resolved; the number tells whose it is.
struct permit_slot : cleanup_hook {
  explicit permit_slot(channel_core& c) noexcept;
  channel_core* core;
  std::uint64_t number = 0;  // 0 while nobody has it.
  obligation_handle obligation{};
  permit_slot* next_free = nullptr;
};

/// A permit as numbers: what a language without destructors keeps of it. Plain; copies name one permit.
struct permit_name {
  slab_key channel{};  // The cell, and which life of it.
  std::uint32_t slot = 0;
  std::uint64_t number = 0;  // 0: resolved, or none.
};

/// A permit without its value type.
class ASX_API permit_core {
 public:
  permit_core() noexcept = default;
  permit_core(permit_core&& other) noexcept
      : channel_(other.channel_.by_words()), slot_(other.slot_), number_(other.number_) {
    other.number_ = 0;
  }
  permit_core& operator=(permit_core&& other) noexcept;
  ~permit_core() {
    if (number_ != 0) drop();
  }

  /// The channel, when this permit is unresolved there.
  [[nodiscard]] channel_core* held_in() const noexcept;
  [[nodiscard]] std::uint64_t number() const noexcept { return held_in() == nullptr ? 0 : number_; }
  /// What a second resolution is told; disconnected when the channel was taken down.
  [[nodiscard]] status refusal() const noexcept {
    return number_ != 0 && !channel_.is_there() ? status::disconnected : status::obligation_already_resolved;
  }
  [[nodiscard]] const gate_port* gate() const noexcept { return channel_.gate(); }
  [[nodiscard]] const gate_port* any_gate() const noexcept { return channel_.any_gate(); }
  /// The same, and a monitor is told.
  [[nodiscard]] status refuse_again() noexcept;
  void abort() noexcept;

  /// Whether it is held and an obligation as well (tracked.hpp).
  [[nodiscard]] bool is_tracked() const noexcept;
  /// As numbers, and this one is empty: nobody aborts the permit now but its task's end.
  [[nodiscard]] permit_name leave_to_name() noexcept;
  /// The permit of that name, held or not; numbers that never named one are as a permit that was resolved.
  [[nodiscard]] static permit_core of(kernel& k, const permit_name& name) noexcept;

 private:
  friend class channel_core;
  friend class tracked_core;
  void drop() noexcept;

  thing_ref<channel_core> channel_;
  permit_slot* slot_ = nullptr;
  std::uint64_t number_ = 0;  // 0: resolved, as far as this object knows.
};

class ASX_API channel_core final : public thing {
 public:
  /// As channel<T> in mpsc.hpp, which is a face of this.
  static status create(kernel& k, region_handle region, const element_type& values, std::uint32_t capacity,
                       std::string_view called, channel_core*& out) noexcept;

  // ---- the sending side; the caller has looked at its endpoint
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool has_receiver() const noexcept { return !is_receiver_dropped_; }
  [[nodiscard]] bool has_room() const noexcept { return free_ != 0; }
  /// A reserve without a promise would give a permit at once, and nobody would hear of it.
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_free_for(const cx& c) const noexcept {
    return is_open_ && has_room() && extension::is_untroubled(c);
  }
  /// Then it does; `out` is empty.
  ASX_ALWAYS_INLINE void reserve_at_once(cx& c, permit_core& out) noexcept {
    permit_slot& p = *free_permits_;
    free_permits_ = p.next_free;
    p.number = ++last_permit_;
    --free_;
    extension::take_in_hand(extension::task_of(c), p);
    out.channel_ = thing_ref<channel_core>(*this);
    out.slot_ = &p;
    out.number_ = p.number;
  }
  /// `promise`: the permit is tracked, and this is where its obligation is made.
  [[nodiscard]] ASX_ALWAYS_INLINE status poll_reserve(sender_core& from, cx& c, reserve_wait& w, permit_core& out,
                                                      const tracked_order* promise = nullptr) noexcept {
    if (promise == nullptr && is_free_for(c) && !w.is_waiting() && out.number_ == 0) [[likely]] {
      w.message_ = nullptr;  // It asks for something else: what was taken is not told of a later message.
      reserve_at_once(c, out);
      return status::ok;
    }
    return wait_or_reserve(from, c, w, out, promise);
  }
  /// The same without a promise, for who has found that it is not free, or has to let others run first.
  [[nodiscard]] status wait_for_turn(sender_core& from, cx& c, reserve_wait& w, permit_core& out) noexcept;
  /// For who waits as `w` and has its value at hand: true when its turn has come and nobody would hear of it. It waits
  /// no more, constructs the value at `tail`, and says commit_turn. False, and nothing changed, otherwise.
  [[nodiscard]] bool take_turn(sender_core& from, const cx& c, reserve_wait& w) noexcept;
  /// Of who was told would_block: `message` lies there until `w` is told otherwise or leaves, and the channel may take
  /// it in its turn. Whose moves may throw is woken instead.
  void stand_with(reserve_wait& w, void* message) const noexcept {
    ASX_ASSERT(message != &w, "a message does not begin with its wait, whose address says that it was taken");
    if (move_ != nullptr) w.message_ = message;
  }
  ASX_ALWAYS_INLINE void commit_turn() noexcept {
    commit_run(1);
    if (!waiters_.empty()) return_slot(0);  // the wake is passed on, behind what is queued now.
  }
  /// The same for who has no place to wait in: `limit` places are all taken, and it is refused in place of would_block.
  [[nodiscard]] status poll_reserve_now(sender_core& from, cx& c, permit_core& out, std::uint32_t limit,
                                        const tracked_order* promise = nullptr) noexcept {
    reserve_wait nowhere;
    return wait_or_reserve(from, c, nowhere, out, promise, &limit);
  }
  /// The same for several values that lie ready. ok: it has its turn. While there are values and room, each is
  /// constructed at `tail`, and then commit_in_turn is called; end_turn gives the answer. Anything else is the answer
  /// already. `wanted` of 0: ok, and there is no turn.
  [[nodiscard]] status begin_turn(sender_core& from, cx& c, reserve_wait& w, std::size_t wanted) noexcept;
  ASX_ALWAYS_INLINE void commit_in_turn() noexcept {
    if (!is_quiet_) [[unlikely]]
      return commit_in_turn_and_tell();
    commit_run(1);
  }
  /// The same for plain bytes of which nobody hears: how many fit from `tail` on in one piece, 0 when they are said one
  /// by one; and that so many were put there.
  [[nodiscard]] ASX_ALWAYS_INLINE std::uint32_t run_at_tail() const noexcept {
    const std::uint32_t piece = slots_ - tail_index();
    return !is_quiet_ ? 0 : free_ < piece ? free_ : piece;
  }
  ASX_ALWAYS_INLINE void commit_run(std::uint32_t count) noexcept {
    last_permit_ += count;
    free_ -= count;
    queued_ += count;
    sent_ += count;
    wake_receiver(wake_code::message, 0);
  }
  [[nodiscard]] status end_turn(sender_core& from, cx& c, reserve_wait& w, bool is_all_queued) noexcept;
  [[nodiscard]] status try_reserve(permit_core& out, const tracked_order* promise = nullptr) noexcept;
  /// ok when a value may be constructed at `tail` and committed without a permit; else disconnected or full.
  [[nodiscard]] status admit_now() const noexcept {
    if (is_receiver_dropped_) return status::disconnected;
    if (!waiters_.empty() || !has_room()) return status::full;
    return is_quiet_ || extension::has_trace(home, 4) ? status::ok : status::resource_exhausted;
  }
  /// The value at `tail` is queued.
  void commit_now() noexcept;
  /// The value at `tail` is queued, with the permit's slot.
  ASX_ALWAYS_INLINE void commit(permit_core& p) noexcept {
    if (!is_quiet_) [[unlikely]]
      return commit_and_tell(p);
    free_permit(*p.slot_);
    --free_;  // The value has its slot.
    ++queued_;
    ++sent_;
    p.number_ = 0;
    wake_receiver(wake_code::message, 0);
  }
  /// The permit's slot comes back, with no value: aborted, dropped, or sent to nobody.
  void give_up(permit_core& p, event_kind how) noexcept;
  /// disconnected, full, or ok; `evicts`: the value at `head` goes first, by take_evicted.
  [[nodiscard]] status admit_evicting(bool& evicts) const noexcept;
  /// The value at `tail` is queued, and the one at `head` was moved out: the caller destroys it at the place that this
  /// returns, and then says put_down.
  [[nodiscard]] void* commit_evicting() noexcept;
  /// The value at `tail` is not sent after all: it ends there, and nothing is put into the ring meanwhile. The
  /// channel may be gone afterwards.
  void take_back() noexcept;
  [[nodiscard]] bool is_taking_back() const noexcept { return is_taking_back_; }
  void add_sender() noexcept;
  void drop_sender(sender_core& from) noexcept;

  // ---- the receiving side
  /// A value lies at `head`, and nobody would hear of its receipt.
  [[nodiscard]] ASX_ALWAYS_INLINE bool has_for(const cx& c) const noexcept {
    return is_quiet_ && queued_ != 0 && extension::is_untroubled(c);
  }
  /// ok: a value lies at `head`; take it, then `finish_recv`. cancelled, disconnected, would_block.
  [[nodiscard]] ASX_ALWAYS_INLINE status poll_recv(cx& c) noexcept {
    if (has_for(c)) [[likely]]
      return status::ok;
    return wait_or_recv(c);
  }
  /// The same, said after has_for.
  [[nodiscard]] status wait_or_recv(cx& c) noexcept;
  /// True: it waits, and nobody hears of it. False, and nothing has happened, when there is more to say.
  [[nodiscard]] bool wait_plainly(cx& c) noexcept;
  /// The same of a sender that comes anew.
  [[nodiscard]] bool wait_plainly(sender_core& from, cx& c, reserve_wait& w) noexcept;
  /// ok, disconnected, empty.
  [[nodiscard]] status try_recv() const noexcept;
  /// The value at `head` was moved out: the caller destroys it at the place that this returns, and says put_down.
  /// `HasDestroy`: values may be such that their ends call something.
  template <bool HasDestroy = true>
  [[nodiscard]] ASX_ALWAYS_INLINE void* finish_recv() noexcept {
    // A head that is queued already is not woken again. Who receives does not wait: a waker is there only while
    // nothing is queued.
    if ((!HasDestroy || destroy_ == nullptr) &&
        (is_open_ || (is_quiet_ && !waiters_.empty() && extension::is_queued(*waiters_.head())))) [[likely]] {
      ++received_;
      return take_head<HasDestroy>();
    }
    return recv_and_tell();
  }
  /// As run_at_tail, from `head` on; and so many were taken from there.
  [[nodiscard]] ASX_ALWAYS_INLINE std::uint32_t run_at_head() const noexcept {
    const std::uint32_t piece = slots_ - head_;
    return !is_quiet_ ? 0 : queued_ < piece ? queued_ : piece;
  }
  ASX_ALWAYS_INLINE void finish_run(std::uint32_t count) noexcept {
    received_ += count;
    head_ += count;
    if (head_ == slots_) head_ = 0;
    queued_ -= count;
    free_ += count;
    if (!waiters_.empty()) return_slot(0);
  }
  /// What was taken from the ring is destroyed. The channel may be gone afterwards.
  void put_down() noexcept {
    if (destroy_ != nullptr) drop_shell();
  }
  void drop_receiver() noexcept;
  void stop_waiting() noexcept;
  /// The task that waits for a message; null when nobody does.
  [[nodiscard]] const extension::task_record* receiving() const noexcept {
    return receivers_.empty() ? nullptr : &extension::waiting_task(receiver_wait_);
  }

  // ---- places in the ring
  [[nodiscard]] void* head() const noexcept { return ring_ + std::size_t{head_} * stride_; }
  [[nodiscard]] void* tail() const noexcept { return ring_ + std::size_t{tail_index()} * stride_; }
  /// The same for who knows the type: its size is the stride, and no multiplication is needed.
  template <class T>
  [[nodiscard]] T* head_as() const noexcept {
    return reinterpret_cast<T*>(ring_) + head_;
  }
  template <class T>
  [[nodiscard]] void* tail_for() const noexcept {
    return reinterpret_cast<T*>(ring_) + tail_index();
  }

  /// The channel of that cell and life, there or not; null when the numbers never named one.
  [[nodiscard]] static thing_ref<channel_core> named(kernel& k, slab_key key) noexcept;
  /// Calls visit(place) for every place of the ring; for who puts the same behind every value, before the first one.
  template <class Visit>
  void for_each_place(Visit visit) noexcept {
    for (std::uint32_t i = 0; i < slots_; ++i) visit(static_cast<void*>(ring_ + std::size_t{i} * stride_));
  }
  [[nodiscard]] bool has_destroy() const noexcept { return destroy_ != nullptr; }
  /// Grows with every permit, message and receipt: for who has to know that there was none while user code ran.
  [[nodiscard]] std::uint64_t traffic() const noexcept { return last_permit_ + sent_ + aborted_ + received_; }

  void inspect(channel_report& out) const noexcept;
  [[nodiscard]] channel_id id() const noexcept { return channel_id{number}; }
  /// Asserts INV-CH-01 and R-234.
  void check() const noexcept;

 private:
  friend class permit_core;
  friend class reserve_wait;
  friend class sender_core;
  friend class tracked_core;
  friend struct permit_slot;

  channel_core(kernel& k, std::string_view called, const element_type& values, std::uint32_t capacity,
               const thing_order& order, void* block) noexcept;
  ~channel_core() = default;

  static thing_order order_of(const element_type& values, std::uint32_t capacity) noexcept;
  static void take_down(owned& self, kernel& k) noexcept;
  static bool is_drained(const owned& self) noexcept;
  static bool is_awaited(const owned& self) noexcept;
  static void describe(const owned& self, const text_port& out);
  static void hash(const owned& self, digest_stream& out) noexcept;
  static std::uint64_t events(const owned& self) noexcept;
  static void waiter_left(wait_queue& queue, waiter& w, waiter_name who, leave_code how) noexcept;
  static void unwind(cleanup_hook& hook, kernel& k, bool is_leak) noexcept;
  static const owned_ops ops_table;
  static const cleanup_ops plain_permit;
  static const cleanup_ops tracked_permit;

  std::uint64_t note(event_kind kind, std::uint64_t a, std::uint64_t b, std::uint32_t flags = 0,
                     std::uint64_t cause = 0) noexcept {
    if (!extension::is_told(home)) return 0;
    return extension::note(home, kind, number, extension::caller(home), a, b, flags, cause);
  }
  [[nodiscard]] std::uint32_t reserved() const noexcept { return capacity_ - free_ - queued_ - shells_; }
  [[nodiscard]] std::uint64_t room() const noexcept { return pack(queued_, reserved()); }
  // Whether the short ways may be taken: whenever the receiver or the waiters may have changed.
  void renew_ways() noexcept { is_open_ = is_quiet_ && !is_receiver_dropped_ && waiters_.empty(); }
  [[nodiscard]] std::uint32_t tail_index() const noexcept {
    const std::uint32_t at = head_ + queued_;
    return at >= slots_ ? at - slots_ : at;
  }
  [[nodiscard]] status wait_or_reserve(sender_core& from, cx& c, reserve_wait& w, permit_core& out,
                                       const tracked_order* promise, const std::uint32_t* places = nullptr) noexcept;
  [[nodiscard]] status look_and_recv(cx& c) noexcept;
  void commit_and_tell(permit_core& p) noexcept;
  [[nodiscard]] void* recv_and_tell() noexcept;
  void note_creation() noexcept;
  /// `waited_as`: the number of the waiter that has come to its turn; 0 for who did not wait.
  [[nodiscard]] status claim(permit_core& out, const tracked_order* promise, bool is_told,
                             std::uint64_t waited_as = 0) noexcept;
  std::uint64_t queue_now(std::uint64_t asked) noexcept;
  void commit_in_turn_and_tell() noexcept;
  void come_back(const sender_core& from, reserve_wait& w) const noexcept;
  [[nodiscard]] status ask_first(cx& c, reserve_wait& w) noexcept;
  [[nodiscard]] bool is_turn_of(const reserve_wait& w) const noexcept;
  [[nodiscard]] std::uint64_t step_forward(sender_core& from, reserve_wait& w) noexcept;
  [[nodiscard]] status line_up(sender_core& from, cx& c, reserve_wait& w, const std::uint32_t* places) noexcept;
  [[nodiscard]] status refuse_trace(reserve_wait& w) noexcept;
  void free_permit(permit_slot& p) noexcept {
    extension::let_go(p);
    p.ops = &plain_permit;
    p.number = 0;
    p.next_free = free_permits_;
    free_permits_ = &p;
    ++free_;
  }
  [[nodiscard]] std::uint64_t end_permit(permit_slot& p, event_kind how) noexcept;
  // The head leaves the ring; its memory is not used again before put_down. One such place is spare, further ones take
  // up room: a destructor may receive again.
  template <bool HasDestroy = true>
  void* take_head() noexcept {
    void* const shell = head();
    head_ = head_ + 1 == slots_ ? 0 : head_ + 1;
    --queued_;
    ++free_;
    // Behind an outer one: its place is not free before that is.
    if (HasDestroy && destroy_ != nullptr && in_hand_++ != 0) {
      ++shells_;
      --free_;
    }
    return shell;
  }
  void drop_shell() noexcept;
  void return_slot(std::uint64_t cause) noexcept;
  bool wait_now(cx& c) noexcept;
  bool wait_now(sender_core& from, cx& c, reserve_wait& w) noexcept;
  void serve(std::uint64_t cause) noexcept;
  void take_message(reserve_wait& w, extension::task_record& t, std::uint64_t cause) noexcept;
  void drop_waiters(sender_core& from) noexcept;
  std::uint64_t note_left(std::uint64_t task, std::uint64_t waiter_id, leave_code how) noexcept;
  void wake_senders(std::uint64_t cause) noexcept;
  void wake_receiver(wake_code why, std::uint64_t cause) noexcept {
    if (!receivers_.empty()) wake_who_receives(why, cause);
  }
  void wake_who_receives(wake_code why, std::uint64_t cause) noexcept;
  [[nodiscard]] permit_slot* held_in_order() noexcept;
  struct detached {
    std::uint32_t first;
    std::uint32_t count;
  };
  [[nodiscard]] detached detach_queue() noexcept;
  std::uint64_t note_receiver_gone(std::uint32_t discarded) noexcept;
  void discard(const detached& values) noexcept;
  void free_if_done() noexcept;
  void free() noexcept;
  [[nodiscard]] bool is_dead_end() const noexcept { return senders_ == 0 && reserved() == 0; }

  // What a message touches.
  std::byte* ring_;
  std::size_t stride_;
  std::uint32_t slots_;
  std::uint32_t capacity_;
  std::uint32_t head_ = 0;
  std::uint32_t queued_ = 0;
  std::uint32_t free_;  // Slots that are neither queued nor reserved; the reserved ones are what is left.
  bool is_open_;        // Quiet, with a receiver, and nobody waits.
  bool is_receiver_dropped_ = false;
  const bool is_quiet_;          // Nobody listens: the ways through the header are taken.
  bool is_busy_ = false;         // Values are being destroyed: it is not freed before the end of that.
  bool is_taking_back_ = false;  // One of them lies at `tail`.
  std::uint32_t in_hand_ = 0;    // Values that left the ring and are not destroyed yet,
  std::uint32_t shells_ = 0;     // and the places left since the first of them was, which take up room.
  permit_slot* free_permits_ = nullptr;
  std::uint64_t last_permit_ = 0;  // As many were reserved.
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t senders_ = 1;
  std::uint64_t aborted_ = 0;
  std::uint64_t evicted_ = 0;
  std::uint64_t discarded_ = 0;
  struct send_queue : wait_queue {
    explicit send_queue(channel_core& c) noexcept : wait_queue(&waiter_left), core(c) {}
    channel_core& core;
  };
  send_queue waiters_;
  wait_queue receivers_;  // One at most.
  waiter receiver_wait_;
  std::uint64_t last_waiter_ = 0;
  std::uint64_t turn_told_ = 0;  // The event of the last message of the turn that is under way.

  permit_slot* permits_;
  void (*destroy_)(void*) noexcept;
  void (*move_)(void*, void*) noexcept;
  thing_order order_;
  void* block_;
};

static_assert(sizeof(channel_core) <= detail::thing_table::cell_bytes);

/// A sender without its value type. It moves with its waiters.
class ASX_API sender_core {
 public:
  sender_core() noexcept = default;
  explicit sender_core(channel_core& c) noexcept : channel_(c) {}  // Takes over one that was counted.
  sender_core(const sender_core& other) noexcept;
  sender_core& operator=(const sender_core& other) noexcept;
  sender_core(sender_core&& other) noexcept { take(other); }
  sender_core& operator=(sender_core&& other) noexcept;
  ~sender_core() { drop(); }

  /// Null when it is dead, or the channel is gone; why_not says which.
  [[nodiscard]] channel_core* get() const noexcept { return channel_.get(); }
  [[nodiscard]] channel_core& there() const noexcept { return channel_.there(); }
  [[nodiscard]] status why_not() const noexcept { return channel_.absence(); }
  [[nodiscard]] bool is_dead() const noexcept { return channel_.is_null(); }
  [[nodiscard]] bool is_stale() const noexcept { return get() == nullptr && why_not() == status::stale_handle; }
  [[nodiscard]] status clone(sender_core& out) const noexcept;
  void drop() noexcept;
  /// What a cancel point says when there is no channel: stale_handle, what `region` says, cancelled, disconnected.
  [[nodiscard]] status poll_gone(cx& c, reserve_wait& w, const region_handle* region = nullptr) const noexcept;
  /// And a try_ form of a tracked sender.
  [[nodiscard]] status try_gone(region_handle region) const noexcept;
  /// The runtime's, also of a channel that is gone; null when it is dead.
  [[nodiscard]] kernel* home() const noexcept { return channel_.home(); }
  [[nodiscard]] const gate_port* gate() const noexcept { return channel_.gate(); }
  [[nodiscard]] const gate_port* any_gate() const noexcept { return channel_.any_gate(); }

 private:
  friend class channel_core;
  friend class reserve_wait;
  void take(sender_core& other) noexcept;

  thing_ref<channel_core> channel_;
  std::uint32_t pending_ = 0;  // Its reserves that wait.
};

/// A receiver without its value type.
class ASX_API receiver_core {
 public:
  receiver_core() noexcept = default;
  explicit receiver_core(channel_core& c) noexcept : channel_(c) {}
  receiver_core(receiver_core&& other) noexcept : channel_(other.channel_) { other.channel_ = {}; }
  receiver_core& operator=(receiver_core&& other) noexcept;
  ~receiver_core() { drop(); }

  [[nodiscard]] channel_core* get() const noexcept { return channel_.get(); }
  [[nodiscard]] channel_core& there() const noexcept { return channel_.there(); }
  [[nodiscard]] status why_not() const noexcept { return channel_.absence(); }
  [[nodiscard]] bool is_dead() const noexcept { return channel_.is_null(); }
  [[nodiscard]] const gate_port* gate() const noexcept { return channel_.gate(); }
  [[nodiscard]] const gate_port* any_gate() const noexcept { return channel_.any_gate(); }
  void drop() noexcept;
  /// What a cancel point says when there is no channel: stale_handle, cancelled, disconnected.
  [[nodiscard]] status poll_gone(cx& c) const noexcept;

 private:
  thing_ref<channel_core> channel_;
};

inline channel_core* permit_core::held_in() const noexcept {
  channel_core* const c = number_ == 0 ? nullptr : channel_.get();
  return c != nullptr && slot_->number == number_ ? c : nullptr;
}

}  // namespace asx
