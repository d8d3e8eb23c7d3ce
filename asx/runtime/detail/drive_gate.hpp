// asx/runtime/detail/drive_gate.hpp - the gate of the many-worker drive: who is in the kernel, and in which order.
//
//     go_in:   the favourite? --yes--> in
//                             --no---> its turn (replay) --> the lock --> nobody is the favourite any more --> in
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
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/base/conditional_lock.hpp"
#include "asx/base/random.hpp"
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
inline constexpr std::uint32_t sampled = 16;  // One poll of so many is measured.
inline constexpr int spins = 100;             // Somebody inside is out again soon.
// Entries in a row, before a worker need not take the lock any more: at first, and at most.
inline constexpr std::uint32_t first_patience = 64;
inline constexpr std::uint32_t last_patience = 1U << 16;

// Its address is the thread's, as long as that lives.
inline thread_local const char this_thread = 0;
// The seat that this thread found last, and in which crew: their numbers never come again, as addresses do.
struct last_seat {
  std::uint32_t crew = 0;
  void* seat = nullptr;
};
inline thread_local last_seat last{};
// Where this thread, which is no worker, runs what is the user's: what that calls is in the same finalizer, or end.
inline thread_local standing* innermost = nullptr;
inline std::atomic<std::uint32_t> last_crew{0};

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

// Lets threads go on one at a time, in the order that was recorded: whoever comes to the gate stands still until it is
// its turn. When the order is over, so is this.
class turns {
 public:
  explicit turns(const entry_order& order) noexcept : rest_(order) { is_over_ = !rest_.next(); }

  void wait(std::uint32_t who) noexcept {
    if (who == nobody) return;  // No worker: it has no place in an order.
    std::unique_lock lock(door_);
    if (running_ == who) running_ = nobody;
    changed_.notify_all();
    // The last one is through when somebody comes after it: till then nobody overtakes it.
    changed_.wait(lock, [&] { return is_over_ || (running_ == nobody && (!rest_.next() || rest_.next() == who)); });
    if (is_over_) return;
    if (!rest_.next()) return end(lock);
    running_ = who;
    rest_.advance();
  }
  void end() noexcept {
    std::unique_lock lock(door_);
    end(lock);
  }
  [[nodiscard]] bool is_over() noexcept {
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

  std::mutex door_;
  std::condition_variable changed_;
  entry_order::reader rest_;
  std::uint32_t running_ = 0;  // The one that is between two entries: whoever made the runtime comes first.
  bool is_over_ = false;
};

class worker_gate {
 public:
  worker_gate(const worker_gate&) = delete;
  worker_gate& operator=(const worker_gate&) = delete;

 protected:
  struct alignas(64) seat {  // Of one thread: not on a line with another's.
    std::uint32_t number = 0;
    std::atomic<const void*> thread{nullptr};  // Whose it is; null before it has come.
    std::atomic<bool> is_in{false};            // As the favourite.
    standing own;
    thread_parker parker;
    // What it is out for is measured by itself alone.
    std::uint64_t entries = 0;       // How often it came in,
    std::uint64_t entries_then = 0;  // and had when it left
    instant left_at = instant::none();
    // What follows is written inside.
    bool is_idle = false;
    std::uint32_t out = 0;        // How deep in what is the user's.
    std::uint64_t times_out = 0;  // How often it went there,
    std::uint64_t seen_out = 0;   // and had when somebody looked around last.
  };

  worker_gate(const threads_config& how, std::uint32_t workers) : how_to_(how), count_(workers), seats_(workers) {
    if (is_ordered()) orders.fetch_add(1, std::memory_order_relaxed);  // Relaxed: as where it is asked.
    if (how.replay != nullptr) turns_.emplace(*how.replay);
    for (std::uint32_t w = 0; w < count_; ++w) seats_[w].number = w;
  }
  ~worker_gate() {
    if (is_ordered()) orders.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Those among the idle for whom there is something; they count as awake from here on. Asked by whoever goes out.
  virtual std::uint64_t who_is_wanted() noexcept = 0;
  virtual void wake(std::uint64_t wanted) noexcept = 0;

  void shut(runtime& rt) noexcept {
    core_ = &rt;
    is_fast_ = !is_ordered() && can_order_all_threads();
    rt.kernel().set_gate(
        {this, [](void* self) noexcept { static_cast<worker_gate*>(self)->enter(); },
         [](void* self) noexcept { static_cast<worker_gate*>(self)->leave(); },
         [](void* self, standing& keep) noexcept { return static_cast<worker_gate*>(self)->step_out(keep); },
         [](void* self, std::uint32_t depth, standing& kept) noexcept {
           static_cast<worker_gate*>(self)->step_in(depth, kept);
         }});
  }

  // ---- in and out
  [[nodiscard]] bool is_mine() const noexcept {
    // Relaxed: it is this thread's own mark only if this thread wrote it.
    return owner_.load(std::memory_order_relaxed) == &this_thread;
  }
  void sit(seat& at) noexcept {
    at.thread.store(&this_thread, std::memory_order_relaxed);  // Relaxed: only this thread looks for it.
    last = {number_, &at};
  }
  /// Null for a thread that is no worker.
  [[nodiscard]] seat* own_seat() noexcept {
    // Relaxed: a seat has this thread's mark only if this thread put it there.
    const auto has_my_mark = [](const seat& s) { return s.thread.load(std::memory_order_relaxed) == &this_thread; };
    if (last.crew == number_) [[likely]] {
      seat* const found = static_cast<seat*>(last.seat);
      if (found == nullptr || has_my_mark(*found)) return found;
    }
    const auto found = std::find_if(seats_.begin(), seats_.end(), has_my_mark);
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
    if (is_mine()) {
      ++depth_;
      return;
    }
    go_in(own_seat());
    depth_ = 1;
  }
  void leave() noexcept {
    if (--depth_ == 0) go_out();
  }
  std::uint32_t step_out(standing& keep) noexcept {
    const std::uint32_t depth = depth_;
    seat* const mine = own_seat();
    if (mine == nullptr) {
      if (own_standing(nullptr) == nullptr) {
        core_->kernel().exchange(keep);
        keep.out_of = this;
        keep.around = std::exchange(innermost, &keep);
      }
    } else {
      ++mine->out;
      const bool is_counted = ++mine->times_out % sampled == 0 && count_ > 1;
      if (is_counted && core_->kernel().is_polling()) {
        mine->left_at = machine_.now();
        mine->entries_then = mine->entries;
      }
    }
    go_out();
    return depth;
  }
  void step_in(std::uint32_t depth, standing& kept) noexcept {
    seat* const mine = own_seat();
    const bool is_measured = mine != nullptr && !mine->left_at.is_none();
    const instant back_at = is_measured ? machine_.now() : instant::none();
    go_in(mine);
    depth_ = depth;
    if (kept.out_of == this) {
      innermost = kept.around;
      if (mine == nullptr) resident_ = nullptr;  // It is in the kernel, and nowhere else.
    }
    if (mine == nullptr) return;
    --mine->out;
    if (!is_measured) return;
    // Between two entries: a poll that comes back all the time cannot be done beside another one, however long it is.
    std::uint64_t took = (back_at - std::exchange(mine->left_at, instant::none())).ns;
    took /= mine->entries - mine->entries_then;
    if (turns_) took = turns_->number().value_or(took);
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.measure(took); });
    typical_ns_ = (3 * typical_ns_ + took) / 4;
  }

  // ---- what is recorded, and played again
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
      now = played_ + (now - played_at_);  // The order is over: time goes on from where it was.
    }
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.read_clock(now); });
    return now;
  }

  // ---- for whoever derives from it; from `depth_` on, of the thread that is inside
  threads_config how_to_;
  const std::uint32_t count_;
  std::optional<turns> turns_;
  runtime* core_ = nullptr;
  std::uint32_t depth_ = 0;
  std::vector<seat> seats_;
  standing* resident_ = nullptr;  // Whose is in the kernel. Null: a thread's that is no worker.
  std::uint64_t typical_ns_ = 0;  // How long a worker is out between two entries, of late.
  std::uint32_t idle_ = 0;

 private:
  [[nodiscard]] bool is_ordered() const noexcept { return how_to_.replay != nullptr || has_record_; }
  void record_entry(const seat* mine) noexcept {
    if (mine == nullptr) {
      how_to_.record->spoil();
    } else {
      record([&](entry_order& to) { to.enter(mine->number); });
    }
  }
  void go_in(seat* mine) noexcept {
    if (mine != nullptr) ++mine->entries;
    if (how_to_.disturbance != 0) [[unlikely]]
      pause();
    if (mine != nullptr && favourite_.load(std::memory_order_relaxed) == mine && go_in_as_favourite(*mine)) return;
    if (turns_) [[unlikely]]
      turns_->wait(mine == nullptr ? nobody : mine->number);
    for (int i = 0; i < spins && !lock_.try_lock(); ++i) {  // asx: bounded by spins
      if (i + 1 == spins) lock_.lock();
      relax();
    }
    seat* const before = favourite_.load(std::memory_order_relaxed);  // Relaxed: written under the lock alone.
    if (before != nullptr) [[unlikely]]
      shut_out(*before);
    owner_.store(&this_thread, std::memory_order_relaxed);  // Relaxed: only its writer asks for it.
    if (how_to_.record != nullptr) [[unlikely]]
      record_entry(mine);
    install(own_standing(mine));
    if (mine == nullptr || mine != std::exchange(last_in_, mine)) {
      in_a_row_ = 0;
    } else if (++in_a_row_ >= patience_ && idle_ + 1 >= count_ && is_fast_) {
      favour(*mine);
    }
  }
  void go_out() noexcept {
    const std::uint64_t wanted = idle_ == 0 ? 0 : who_is_wanted();
    owner_.store(nullptr, std::memory_order_relaxed);
    if (is_in_as_favourite_) {
      // Release: pairs with the acquire of who shuts it out. Nothing of it is touched behind this.
      last_in_->is_in.store(false, std::memory_order_release);
    } else {
      lock_.unlock();
    }
    if (wanted != 0) [[unlikely]]
      wake(wanted);
    if (how_to_.disturbance != 0) [[unlikely]]
      pause();
  }

  // ---- the favourite: a worker that has been in and out alone for a while does so without the lock. It says that it
  // is in and then looks whether it is still the favourite; whoever else comes takes the lock, takes the favour away,
  // lets every thread pass a barrier, and then waits until the favourite is out. Either the favourite sees that it is
  // none any more, or the other one sees that it is in.
  [[nodiscard]] bool go_in_as_favourite(seat& mine) noexcept {
    mine.is_in.store(true, std::memory_order_relaxed);    // Relaxed: the other one's barrier orders it.
    std::atomic_signal_fence(std::memory_order_seq_cst);  // For the compiler alone; nothing is executed.
    if (favourite_.load(std::memory_order_relaxed) != &mine) [[unlikely]] {
      mine.is_in.store(false, std::memory_order_release);  // As in go_out.
      return false;
    }
    owner_.store(&this_thread, std::memory_order_relaxed);
    is_in_as_favourite_ = true;
    ++favoured_;
    return true;
  }
  void favour(seat& mine) noexcept {
    mine.is_in.store(true, std::memory_order_relaxed);  // Release by the lock: nobody looks before having taken it.
    favourite_.store(&mine, std::memory_order_relaxed);
    is_in_as_favourite_ = true;
    favoured_ = 0;
    lock_.unlock();
  }
  // Without it two would be inside. It was there at the start; it may be out of memory for a moment.
  static void wait_for_barrier() noexcept {
    for (int i = 0; !order_all_threads(); ++i) {  // asx: bounded by its tries
      ASX_ASSERT(i < 10'000, "the system refuses membarrier, which it had; do not forbid it to a running program");
      std::this_thread::yield();
    }
  }
  // Under the lock.
  void shut_out(seat& other) noexcept {
    favourite_.store(nullptr, std::memory_order_relaxed);
    wait_for_barrier();
    // Acquire: what it did inside is seen.
    for (int i = 0; other.is_in.load(std::memory_order_acquire); ++i) {  // asx: bounded by its stay
      i < spins ? relax() : std::this_thread::yield();
    }
    is_in_as_favourite_ = false;
    in_a_row_ = 0;
    patience_ = favoured_ > patience_ ? first_patience : std::min(2 * patience_, last_patience);
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
      draws = splitmix64(how_to_.disturbance ^ reinterpret_cast<std::uintptr_t>(&this_thread));
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
  conditional_lock lock_{true};
  std::atomic<seat*> favourite_{nullptr};
  std::atomic<const void*> owner_{nullptr};  // The thread that is inside.
  // What follows is of that thread.
  seat* last_in_ = nullptr;
  std::uint32_t in_a_row_ = 0;  // Entries of that one.
  std::uint32_t patience_ = first_patience;
  bool is_in_as_favourite_ = false;
  std::uint64_t favoured_ = 0;  // Entries of the favourite.
  instant played_{};            // The last time from the order,
  instant played_at_{};         // and the machine's at that moment.
};

}  // namespace asx::detail
