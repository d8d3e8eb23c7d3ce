// asx/runtime/detail/drive_gate.hpp - the gate of the many-worker drive: who is in the kernel, and in which order.
//
//     go_in:   the favourite (asx/base/favoured_lock.hpp)? --yes--> in
//                                                          --no---> its turn (replay) --> the lock --> in
//     go_out:  who is wanted? --> out --> they are woken
//
// 1  One thread is inside at a time. It may go in again, and it may step out and come back as deep as it was.
// 2  The kernel has the standing of the thread that was in last; another one that comes in brings its own.
// 3  Whoever goes out wakes those who are wanted afterwards, and not inside.
//
// Cancel points: none. Threads: any. Lifetime: it outlives the runtime that it is the gate of.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/base/atomic_word.hpp"
#include "asx/base/favoured_lock.hpp"
#include "asx/base/random.hpp"
#include "asx/runtime/detail/drive_fibers.hpp"
#include "asx/runtime/drive_workers.hpp"
#include "asx/runtime/entry_order.hpp"
#include "asx/runtime/port_clock.hpp"
#include "asx/runtime/port_park.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace asx::detail {

inline constexpr std::uint32_t nobody = UINT32_MAX;
inline constexpr std::uint32_t sampled = 17;  // One of so many is measured; odd, since polls and drops take turns.
// A poll that takes more than this and twice what is typical counts as one of just that.
inline constexpr std::uint64_t usual_ns = 500;
// Entries in a row, before a worker need not take the lock any more: at first, and at most.
inline constexpr std::uint32_t first_patience = 64;
inline constexpr std::uint32_t last_patience = 1U << 16;

// The seat that this thread found last, and in which crew: their numbers never come again, as addresses do.
struct last_seat {
  std::uint32_t crew = 0;
  void* seat = nullptr;
  bool is_measured = false;  // How long it is out of there.
};
inline thread_local last_seat last{};
// Where this thread, which is no worker, runs what is the user's: what that calls is in the same finalizer, or end.
inline thread_local standing* innermost = nullptr;
inline atomic_word<std::uint32_t> last_crew{0};
// A mark is an address, which a later thread may have. An order tells that one from the thread that was a worker, by a
// number that none has again. 0 until this thread is asked for the first time. As wide as what every machine adds to.
inline atomic_word<std::uintptr_t> last_thread{0};
inline thread_local std::uintptr_t own_number = 0;
[[nodiscard]] inline std::uintptr_t number_of_this_thread() noexcept {
  if (own_number == 0) own_number = last_thread.fetch_add(1, std::memory_order_relaxed) + 1;  // Relaxed: a number.
  return own_number;
}

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Every thread of the process passes a full barrier before this returns, wherever it is. False: the system has none.
#if defined(__linux__)
inline bool order_all_threads() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}
inline bool can_order_all_threads() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 && order_all_threads();
}
#else
inline bool order_all_threads() noexcept {
  return false;
}
inline bool can_order_all_threads() noexcept {
  return false;
}
#endif

// What the lock needs of the machine.
struct lock_machine {
  static constexpr int spins = 100;  // Somebody inside is out again soon.
  static void relax() noexcept { detail::relax(); }
  static constexpr std::uint32_t passings = 64;  // Of other threads, before a worker that waits.
  static void wait(const atomic_word<std::uint32_t>&, std::uint32_t, int times) noexcept {
    times < spins ? relax() : std::this_thread::yield();
  }
  // Without it two would be inside. It was there at the start; it may be out of memory for a moment.
  static void order_all_threads() noexcept {
    for (int i = 0; !detail::order_all_threads(); ++i) {  // asx: bounded by its tries
      ASX_ASSERT(i < 10'000, "the system refuses membarrier, which it had; do not forbid it to a running program");
      std::this_thread::yield();
    }
  }
};

// Lets threads go on one at a time, in the order that was recorded: whoever comes to the gate stands still until it is
// its turn. When the order is over, so is this. On one thread whoever is not next lets the next one go on.
class turns {
 public:
  explicit turns(const entry_order& order) noexcept : rest_(order), runs_there_(order.runs()) {
    is_over_ = !rest_.next();
  }
  void play_on_one_thread(fibers& all) noexcept { fibers_ = &all; }
  /// The stacks go: whoever still comes to the gate is alone.
  void forget_stacks() noexcept { fibers_ = nullptr; }
  /// On one thread: `who` goes on, and this one when it lets it. Its words of the thread are put away here.
  void let_go_on(std::uint32_t who) noexcept {
    const last_seat seat = last;
    standing* const around = innermost;
    fibers_->switch_to(who);
    last = seat;
    innermost = around;
  }

  void wait(std::uint32_t who) noexcept {
    if (who == nobody) return;  // No worker: it has no place in an order.
    if (fibers_ != nullptr) return wait_on_one_thread(who);
    disturb();
    std::unique_lock lock(door_);
    if (running_ == who) running_ = nobody;
    changed_.notify_all();
    // The last one is through when somebody comes after it: till then nobody overtakes it.
    changed_.wait(lock, [&] { return is_over_ || (running_ == nobody && (!rest_.next() || rest_.next() == who)); });
    if (is_over_) return;
    if (!rest_.next()) {
      is_overrun_ = true;
      return end(lock);
    }
    running_ = who;
    rest_.advance();
    ++played_;
  }
  /// On one thread: others go on until it is this one's turn again. Its words of the thread are put away here.
  void give_way() noexcept {
    const last_seat seat = last;
    standing* const around = innermost;
    fibers_->give_way();
    last = seat;
    innermost = around;
  }
  /// On one thread: another number whenever somebody comes to the gate.
  [[nodiscard]] std::uint32_t pulse() const noexcept { return pulse_.load(std::memory_order_relaxed); }
  /// Whoever asks is the only one that goes on.
  [[nodiscard]] replayed_order played() const noexcept { return {played_, is_overrun_, is_left_to(0), runs_, digest_}; }
  /// Inside, at the end of a run.
  void end_run(const digest128& digest) noexcept {
    ++runs_;
    if (runs_ == runs_there_) digest_ = digest;
  }
  void end() noexcept {
    disturb();
    std::unique_lock lock(door_);
    end(lock);
  }
  [[nodiscard]] bool is_over() noexcept {
    disturb();
    const std::unique_lock lock(door_);
    return is_over_;
  }
  // Inside: one at a time.
  [[nodiscard]] std::optional<instant> time() noexcept { return rest_.next_time(); }
  [[nodiscard]] std::optional<std::uint64_t> number() noexcept { return rest_.next_number(); }

 private:
  void end(const std::unique_lock<std::mutex>&) noexcept {
    is_over_ = true;
    changed_.notify_all();
  }
  // Whoever is next stands in here, too, or has not begun: nobody waits in vain. Past the order nobody has a turn, and
  // each lets the others go on now and then: what they do together may need all of them.
  void wait_on_one_thread(std::uint32_t who) noexcept {
    ASX_ASSERT(who == fibers_->current(), "each comes to the gate on its own stack");
    pulse_.store(pulse_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);  // Relaxed: it is only counted.
    while (!is_over_) {  // asx: bounded by the entries of the order: each switch is followed by one
      const std::optional<std::uint32_t> next = rest_.next();
      if (!next) {
        is_overrun_ = is_over_ = true;
      } else if (*next == who) {
        rest_.advance();
        ++played_;
        return;
      } else {
        let_go_on(*next);
      }
    }
    if (++free_entries_ % a_stay == 0) give_way();
  }
  [[nodiscard]] bool is_left_to(std::uint32_t who) const noexcept {
    entry_order::reader rest = rest_;
    while (rest.next() && rest.next() != who) rest.advance();  // asx: bounded by the entries of the order
    return rest.next().has_value();
  }

  static constexpr std::uint32_t a_stay = 64;
  std::mutex door_;
  std::condition_variable changed_;
  entry_order::reader rest_;
  std::uint32_t running_ = 0;  // The one that is between two entries: whoever made the runtime comes first.
  bool is_over_ = false;
  bool is_overrun_ = false;  // Somebody came who is not in the order any more.
  std::uint64_t played_ = 0;
  const std::uint64_t runs_there_;  // In the recorded run.
  std::uint64_t runs_ = 0;
  digest128 digest_{};        // At the end of the last of those.
  fibers* fibers_ = nullptr;  // Null: each has a thread.
  std::uint32_t free_entries_ = 0;
  atomic_word<std::uint32_t> pulse_{0};
};

class worker_gate {
 public:
  worker_gate(const worker_gate&) = delete;
  worker_gate& operator=(const worker_gate&) = delete;

 protected:
  struct alignas(64) seat {  // Of one thread: not on a line with another's.
    std::uint32_t number = 0;
    atomic_word<const void*> thread{nullptr};     // Whose it is now; null before it has come.
    atomic_word<std::uintptr_t> whose_number{0};  // The same, which no later thread has.
    // That thread's; written under the lock. Release and acquire: who had the seat before may look, and finds whole
    // what is another one's now.
    atomic_word<gate_seat*> its_door{nullptr};
    [[nodiscard]] gate_seat* door() const noexcept { return its_door.load(std::memory_order_acquire); }
    standing own;
    thread_parker parker;
    // What it is out for is measured by itself alone.
    std::uint64_t entries_then = 0;  // How often it had come in when it left.
    instant left_at = instant::none();
    std::uint64_t waited_ns = 0;     // Since then, at the gate and for others to be woken.
    std::uint32_t stolen_depth = 0;  // Of pieces that it computes for others.
    // What follows is written inside.
    bool is_idle = false;
    bool is_measured = false;    // What it is out for, or something around that.
    std::uint64_t seen_out = 0;  // How often it had gone to what is the user's when somebody looked around last.
  };

  worker_gate(const threads_config& how, std::uint32_t workers)
      : how_to_(how), count_(workers), seats_(workers), doors_(workers) {
    if (is_ordered()) orders.fetch_add(1, std::memory_order_relaxed);  // Relaxed: as where it is asked.
    if (how.replay != nullptr) turns_.emplace(*how.replay);
    auto door = doors_.begin();
    for (std::uint32_t w = 0; w < count_; ++w, ++door) {
      seats_[w].number = w;
      seats_[w].its_door.store(&*door, std::memory_order_relaxed);  // Relaxed: nobody else is there yet.
      door->until_measured = until_measured(false);
    }
  }
  ~worker_gate() {
    if (is_ordered()) orders.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Those among the idle for whom there is something; they count as awake from here on. Asked by whoever goes out.
  /// `is_elsewhere`: somebody was queued with another worker since it was asked last.
  virtual std::uint64_t who_is_wanted(bool is_elsewhere) noexcept = 0;
  /// Whoever waits where it was queued waits for who looks around: nobody else is woken for it.
  [[nodiscard]] virtual bool is_left_to_the_glance() const noexcept = 0;
  virtual void wake(std::uint64_t wanted) noexcept = 0;
  /// Of this thread, for pieces that others may compute; null: nobody would.
  virtual piece_deck* deck(bool is_nested) noexcept = 0;

  void shut(runtime& rt) noexcept {
    core_ = &rt;
    is_fast_ = !is_ordered() && can_order_all_threads();
    // Who is disturbed goes the long way, always.
    front_ = how_to_.disturbance == 0 ? &rt.kernel().gate_in_use().front : &long_way_;
    rt.kernel().set_gate(
        {this, [](void* self) noexcept { static_cast<worker_gate*>(self)->enter(); },
         [](void* self) noexcept { static_cast<worker_gate*>(self)->leave(); },
         [](void* self, standing& keep) noexcept { return static_cast<worker_gate*>(self)->step_out(keep); },
         [](void* self, std::uint32_t depth, standing& kept) noexcept {
           static_cast<worker_gate*>(self)->step_in(depth, kept);
         },
         [](void* self, bool is_nested) noexcept { return static_cast<worker_gate*>(self)->deck(is_nested); }});
  }

  // ---- in and out
  [[nodiscard]] bool is_mine() noexcept {
    // Relaxed: it is this thread's own mark only if this thread wrote it.
    return front_->owner.load(std::memory_order_relaxed) == thread_mark() || is_in_by(own_seat());
  }
  /// As the favourite, though it may be none any more: whoever took that away waits until it is out.
  [[nodiscard]] static bool is_in_by(const seat* mine) noexcept {
    if (mine == nullptr) return false;
    // Who is in has its seat: nobody else sits down meanwhile. Who is not may see that another one has. Relaxed: as
    // has_my_mark, and its own.
    const gate_seat& door = *mine->door();
    return door.thread.load(std::memory_order_relaxed) == thread_mark() && door.in.load(std::memory_order_relaxed) != 0;
  }
  /// For who is inside.
  std::uint32_t exchange_depth(std::uint32_t depth) noexcept {
    if (!front_->lock.is_in_as_favourite()) return std::exchange(front_->depth, depth);
    atomic_word<std::uint32_t>& in = front_->lock.seat_inside().in;
    const std::uint32_t before = in.load(std::memory_order_relaxed);  // Relaxed: its own, and stays above 0.
    in.store(depth, std::memory_order_relaxed);
    return before;
  }
  /// It is worker `at` from here on; false: there is no memory for that. Another thread that was it may be on its way
  /// in: it sees behind the lock that the seat is not its own any more. One that is out waits to come back first.
  bool sit(seat& at) noexcept {
    lock_for_once();
    while (at.door()->out != 0) {  // asx: bounded by what is the user's in a call of the thread that was it
      front_->lock.leave();
      std::this_thread::yield();
      lock_for_once();
    }
    gate_seat* const door = door_for(at);
    if (door != nullptr) {
      door->thread.store(thread_mark(), std::memory_order_relaxed);  // Relaxed: only this thread looks for it.
      at.its_door.store(door, std::memory_order_release);
      at.thread.store(thread_mark(), std::memory_order_relaxed);                  // As above,
      at.whose_number.store(number_of_this_thread(), std::memory_order_relaxed);  // and this.
      last = {number_, &at};
    }
    front_->lock.leave();
    return door != nullptr;
  }
  // Relaxed: a seat has this thread's mark only if this thread put it there, or one that is no more.
  [[nodiscard]] static bool has_my_mark(const seat& s) noexcept {
    return s.thread.load(std::memory_order_relaxed) == thread_mark();
  }
  // The same, and not that of an earlier thread with the same mark. Relaxed: as above.
  [[nodiscard]] static bool has_my_number(const seat& s) noexcept {
    return s.whose_number.load(std::memory_order_relaxed) == number_of_this_thread();
  }
  /// Null for a thread that is no worker.
  [[nodiscard]] seat* own_seat() noexcept {
    if (last.crew == number_) [[likely]] {
      seat* const found = static_cast<seat*>(last.seat);
      if (found == nullptr || has_my_mark(*found)) return found;
    }
    // Who was a worker may have ended, and this thread have its mark. An order must know it for a stranger. Elsewhere
    // it is taken for that worker until another one is, as it is where it comes in by that mark as the favourite: who
    // ends is out of everything, so that nothing follows from it.
    auto found = std::find_if(seats_.begin(), seats_.end(), is_ordered() ? &has_my_number : &has_my_mark);
    // On one thread all of them are its own.
    if (fibers_ && found != seats_.end()) found = seats_.begin() + static_cast<std::ptrdiff_t>(fibers_->current());
    last = {number_, found == seats_.end() ? nullptr : &*found};
    return static_cast<seat*>(last.seat);
  }
  /// Null for a thread that is no worker, and out of nothing.
  [[nodiscard]] standing* own_standing(seat* mine) const noexcept {
    if (mine != nullptr) return &mine->own;
    standing* own = innermost;
    while (own != nullptr && own->out_of != this) own = own->around;  // asx: bounded by the calls inside each other
    return own;
  }
  void enter() noexcept {
    if (front_->owner.load(std::memory_order_relaxed) == thread_mark()) {  // Relaxed: as in is_mine.
      ++front_->depth;
      return;
    }
    seat* const mine = own_seat();
    if (is_in_by(mine)) {
      static_cast<void>(mine->door()->enter());
    } else {
      go_in(mine);
    }
  }
  void leave() noexcept {
    if (front_->lock.is_in_as_favourite()) {
      atomic_word<std::uint32_t>& in = front_->lock.seat_inside().in;
      const std::uint32_t deep = in.load(std::memory_order_relaxed);  // Relaxed: its own.
      if (deep > 1) return in.store(deep - 1, std::memory_order_relaxed);
    } else if (--front_->depth != 0) {
      return;
    }
    go_out();
  }
  std::uint32_t step_out(standing& keep) noexcept {
    const std::uint32_t depth = exchange_depth(1);
    seat* const mine = own_seat();
    if (mine == nullptr) {
      if (own_standing(nullptr) == nullptr) {
        core_->kernel().exchange(keep);
        keep.out_of = this;
        keep.around = std::exchange(innermost, &keep);
      }
    } else {
      gate_seat& door = *mine->door();
      ++door.out;
      ++door.times_out;
      keep.is_seated = true;
      const bool is_counted = --door.until_measured == 0;
      if (is_counted) door.until_measured = until_measured(false);
      // Kept with what the way back knows: a poll may go to another gate, and this thread's last seat is there then.
      keep.is_measured = is_counted && !mine->is_measured && core_->kernel().is_polling();
      if (keep.is_measured) {
        mine->is_measured = true;
        mine->waited_ns = 0;
        mine->entries_then = mine->door()->entries;
      }
    }
    go_out();
    if (keep.is_measured) {  // Behind what it takes to wake others: that is no work that they could share.
      last.is_measured = true;
      mine->left_at = machine_.now();
    }
    return depth;
  }
  void step_in(std::uint32_t depth, standing& kept) noexcept {
    seat* const mine = own_seat();
    const bool is_measured = kept.is_measured;
    if (is_measured) last.is_measured = false;
    const instant back_at = is_measured ? machine_.now() : instant::none();
    const std::uint64_t waited_ns = is_measured ? mine->waited_ns : 0;  // Without what it waits now.
    go_in(mine);
    exchange_depth(depth);
    if (kept.out_of == this) {
      innermost = kept.around;
      if (mine == nullptr) resident_ = nullptr;  // It is in the kernel, and nowhere else.
    }
    if (!kept.is_seated) return;  // It may have sat down meanwhile: whoever runs it does.
    --mine->door()->out;
    if (!is_measured) return;
    mine->is_measured = false;
    // Between two entries, and not at the gate: a poll that comes back all the time cannot be done beside another one,
    // however long it is, and one that only waits for the others is no reason to call more of them.
    std::uint64_t took = (back_at - mine->left_at).ns;
    took = (took - std::min(took, waited_ns)) / (mine->door()->entries - mine->entries_then);
    if (turns_) took = turns_->number().value_or(fibers_ ? 0 : took);
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.measure(took); });
    const std::uint64_t most = 2 * typical_ns_ + usual_ns;  // The machine was elsewhere, once: no reason, either.
    mine->door()->until_measured = until_measured(took > most);
    typical_ns_ = (3 * typical_ns_ + std::min(took, most)) / 4;
  }

  // As long as it takes, it is not what this thread is out for.
  void wake_unmeasured(std::uint64_t wanted) noexcept {
    seat* const mine = last.crew == number_ && last.is_measured ? own_seat() : nullptr;
    if (mine == nullptr) return wake(wanted);
    const instant before = machine_.now();
    wake(wanted);
    mine->waited_ns += (machine_.now() - before).ns;
  }
  /// For one that is no worker, and looks: nobody is woken for it, and the kernel has afterwards whose standing it had.
  [[nodiscard]] standing* look_in() noexcept {
    lock_for_once();
    front_->owner.store(thread_mark(), std::memory_order_relaxed);  // Relaxed: as in go_in.
    front_->depth = 1;
    standing* const was = resident_;
    install(nullptr);
    return was;
  }
  void stop_looking(standing* was) noexcept {
    install(was);
    front_->owner.store(nullptr, std::memory_order_relaxed);
    front_->depth = 0;
    front_->lock.leave();
  }

  /// One of so many is measured, and the next one if the last was longer than usual: was that the machine? One worker
  /// has nobody to call.
  [[nodiscard]] std::uint32_t until_measured(bool is_next) const noexcept {
    if (count_ == 1) return UINT32_MAX;
    return is_next ? 1 : sampled;
  }
  /// The worker that was in last; inside.
  [[nodiscard]] const seat* last_in() const noexcept { return last_in_; }

  // ---- what is recorded, and played again
  [[nodiscard]] bool is_ordered() const noexcept { return how_to_.replay != nullptr || has_record_; }
  template <class Write>
  void record(Write write) noexcept {
#if defined(__cpp_exceptions)
    try {
      write(*how_to_.record);
    } catch (...) {  // No memory for it.
      how_to_.record->spoil();
      how_to_.record = nullptr;
    }
#else
    write(*how_to_.record);
#endif
  }
  void let_time_pass(duration by) noexcept { played_ = played_ + by; }
  instant read_clock() noexcept {
    if (how_to_.record == nullptr && !turns_) [[likely]]
      return machine_.now();
    if (core_ != nullptr && !is_mine()) return machine_.now();  // A watchdog, say.
    instant now = machine_.now();
    if (turns_) {
      if (const std::optional<instant> then = turns_->time(); then) {
        played_at_ = now;
        played_ = *then;
        return *then;
      }
      // The order is over: time goes on from where it was. On one thread it stands, and jumps when nobody can go on.
      now = fibers_ ? played_ : played_ + (now - played_at_);
    }
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.read_clock(now); });
    return now;
  }

  // ---- for whoever derives from it; from the front on, of the thread that is inside
  threads_config how_to_;
  const std::uint32_t count_;
  std::optional<turns> turns_;
  std::optional<fibers> fibers_;  // Of a replay on one thread.
  runtime* core_ = nullptr;
  gate_front* front_ = nullptr;  // The kernel's, or the one below.
  gate_front long_way_;
  std::vector<seat> seats_;
  standing* resident_ = nullptr;  // Whose is in the kernel. Null: a thread's that is no worker.
  std::uint64_t typical_ns_ = 0;  // How long a worker is out between two entries, of late.
  std::uint32_t idle_ = 0;

 private:
  void lock_for_once() noexcept {
    if (front_->lock.lock(lock_machine{})) forget_favourite();
  }
  /// Who sits there first has the seat's own. Another one has the one it had before, or a new one: no other thread that
  /// lives has had it.
  [[nodiscard]] gate_seat* door_for(const seat& at) noexcept {
    const auto mark_of = [](const gate_seat& d) { return d.thread.load(std::memory_order_relaxed); };
    if (mark_of(*at.door()) == nullptr) return at.door();
    const auto is_mine = [&](const gate_seat& d) { return mark_of(d) == thread_mark(); };
    if (const auto mine = std::find_if(doors_.begin(), doors_.end(), is_mine); mine != doors_.end()) return &*mine;
#if defined(__cpp_exceptions)
    try {
#endif
      gate_seat& fresh = doors_.emplace_back();
      fresh.until_measured = until_measured(false);
      return &fresh;
#if defined(__cpp_exceptions)
    } catch (...) {
      return nullptr;
    }
#endif
  }
  void record_entry(const seat* mine) noexcept {
    if (mine == nullptr) {
      how_to_.record->spoil();
    } else {
      record([&](entry_order& to) { to.enter(mine->number); });
    }
  }
  void go_in(seat* mine) noexcept {
    if (how_to_.disturbance != 0) [[unlikely]]
      pause();
    if (mine != nullptr && front_->lock.enter_as_favourite(thread_mark())) return;
    ASX_ASSERT(mine == nullptr || mine->stolen_depth == 0,
               "a piece of parallel calls nothing of its runtime (R-335): do it before the call, or after it");
    if (turns_) [[unlikely]]
      turns_->wait(mine == nullptr ? nobody : mine->number);
    const bool is_measured = mine != nullptr && last.is_measured;
    const instant came_at = is_measured ? machine_.now() : instant::none();
    if (mine != nullptr ? front_->lock.lock(lock_machine{}) : front_->lock.lock_giving_way(lock_machine{})) [[unlikely]]
      forget_favourite();
    if (mine != nullptr && !has_my_mark(*mine)) mine = nullptr;  // Somebody else has become that worker.
    if (is_measured && mine != nullptr) mine->waited_ns += (machine_.now() - came_at).ns;
    front_->owner.store(thread_mark(), std::memory_order_relaxed);  // Relaxed: only its writer asks for it.
    front_->depth = 1;
    if (mine != nullptr) ++mine->door()->entries;
    if (how_to_.record != nullptr) [[unlikely]]
      record_entry(mine);
    install(own_standing(mine));
    if (mine == nullptr || mine != std::exchange(last_in_, mine)) {
      in_a_row_ = 0;
    } else if (++in_a_row_ >= patience_ && idle_ + 1 >= count_ && is_fast_) {
      favoured_since_ = mine->door()->entries;
      front_->owner.store(nullptr, std::memory_order_relaxed);
      front_->depth = 0;
      front_->lock.favour(*mine->door());
    }
  }
  void go_out() noexcept {
    std::uint64_t& news = core_->kernel().news();
    const bool is_elsewhere = (news & ~gate_port::always_news) != 0;
    const std::uint64_t wanted = idle_ == 0 ? 0 : who_is_wanted(is_elsewhere);
    news = idle_ == 0 || is_left_to_the_glance() ? 0 : gate_port::always_news;
    front_->owner.store(nullptr, std::memory_order_relaxed);
    front_->depth = 0;
    front_->lock.leave();
    if (wanted != 0) [[unlikely]]
      wake_unmeasured(wanted);
    if (how_to_.disturbance != 0) [[unlikely]]
      pause();
  }
  // Who was the favourite for a while may be it again soon; who was not, later and later.
  void forget_favourite() noexcept {
    const std::uint64_t times = last_in_->door()->entries - favoured_since_;
    in_a_row_ = 0;
    patience_ = times > patience_ ? first_patience : std::min(2 * patience_, last_patience);
  }
  // Whose standing the kernel has now; it stays there until another thread comes.
  void install(standing* own) noexcept {
    if (own != nullptr && own == resident_) return;
    kernel& k = core_->kernel();
    if (resident_ != nullptr) k.exchange(*resident_);
    standing fresh;
    k.exchange(own == nullptr ? fresh : *own);
    resident_ = own;
  }
  void pause() noexcept {
    thread_local std::uint32_t drawn_for = 0;
    thread_local splitmix64 draws(0);
    if (std::exchange(drawn_for, number_) != number_) {
      draws = splitmix64(how_to_.disturbance ^ reinterpret_cast<std::uintptr_t>(thread_mark()));
    }
    const std::uint64_t drawn = draws.next();
    if (drawn % 64 == 0) {
      std::this_thread::yield();
    } else if (drawn % 4 == 0) {
      for (std::uint64_t i = 0; i < drawn / 64 % 128; ++i) relax();  // asx: bounded by 128
    }
  }

  const std::uint32_t number_ = last_crew.fetch_add(1, std::memory_order_relaxed) + 1;  // Relaxed: a number.
  const bool has_record_ = how_to_.record != nullptr;  // There was one: what cannot be written is given up.
  bool is_fast_ = false;                               // There may be a favourite.
  steady_clock machine_;
  std::list<gate_seat> doors_;  // Of every thread that was ever a worker.
  // What follows is of the thread that is inside.
  seat* last_in_ = nullptr;
  std::uint32_t in_a_row_ = 0;  // Entries of that one.
  std::uint32_t patience_ = first_patience;
  std::uint64_t favoured_since_ = 0;  // How often the favourite had come in before it was that.
  instant played_{};                  // The last time from the order,
  instant played_at_{};               // and the machine's at that moment.
};

}  // namespace asx::detail
