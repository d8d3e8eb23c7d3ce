// asx/kernel/gate.hpp - how several threads share one kernel: one is inside at a time, and user code runs outside.
//
//     user code --call--> inside --+-- what the call does --+--> user code
//     kernel ----------> outside --+-- poll, drop, action --+--> kernel
//
// 1  With one thread there is no gate, and a call costs one predicted branch. As long as no runtime of the process was
//    ever given a gate, that branch asks one word of the process, and no kernel at all.
// 2  Who is inside may go in again: calls nest.
// 3  The kernel runs polls, actions, finalizers and drops outside: it steps out, and finds on its return what a call of
//    that code could have left behind, no more. So do the ends of values. Inside are only values on their way:
//    drive_workers.hpp lists them.
// 4  Each thread has a standing of its own - who is polled, which event what happens now follows from - and finds it
//    as it was whenever it comes back.
// 5  The favourite of the lock behind the gate goes in and out without a call, and to the user's code and back; out
//    only as long as nothing has happened inside that another thread might have to be woken for.
//
// Cancel points: none. Threads: any. Lifetime: the port outlives the kernel.
#pragma once

#include <atomic>
#include <cstdint>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/base/favoured_lock.hpp"
#include "asx/kernel/thread_mark.hpp"

namespace asx {

class kernel;

namespace detail {
class piece_deck;
struct region_record;
struct task_record;

/// Some runtime of this process has a gate, or had one. Never taken back.
ASX_API inline constinit atomic_word<bool> has_gates{false};
/// How many runtimes of this process write an order of entries, or play one (asx/runtime/entry_order.hpp).
ASX_API inline constinit atomic_word<std::uint32_t> orders{0};

/// Of a thread that is, or was, a worker. What is here beside the lock's is written inside.
struct alignas(64) gate_seat : lock_seat {
  std::uint32_t out = 0;             // How deep in what is the user's.
  std::uint32_t until_measured = 1;  // Times out, from the next on, of which the last is measured.
  std::uint64_t times_out = 0;       // How often it went there.
};

/// What the short way in and out needs. All but the lock and the owner is of the thread that is inside.
struct gate_front {
  favoured_lock lock;                       // Its seats are gate_seats.
  atomic_word<const void*> owner{nullptr};  // The mark of the thread that is inside, unless it is the favourite.
  std::uint32_t depth = 0;                  // Of that one.
};
}  // namespace detail

/// False: there is no gate to look for. Relaxed: it is set before the gate's kernel is told to any other thread, so
/// that who can call such a kernel sees it.
[[nodiscard]] ASX_ALWAYS_INLINE bool may_have_gates() noexcept {
  return detail::has_gates.load(std::memory_order_relaxed);
}

/// True: whoever looks at what others change while they are inside goes in, too. An order knows when somebody came in,
/// and not when somebody looked. Relaxed: as may_have_gates.
[[nodiscard]] ASX_ALWAYS_INLINE bool may_have_orders() noexcept {
  return may_have_gates() && detail::orders.load(std::memory_order_relaxed) != 0;
}

/// What a thread is about in the kernel; its own, whoever comes in between.
struct standing {
  detail::task_record* current = nullptr;  // Being polled.
  std::uint64_t cause = 0;                 // The event that what happens now follows from.
  std::uint32_t worker = 0;                // Who steps; 0 between steps.
  detail::region_record* in_finalizer = nullptr;
  bool has_finalizer_panicked = false;
  bool settles = false;    // It is the one that looks at regions.
  bool is_ending = false;  // A call from outside ends something, and runs what that set off.
  // Of a thread that has no other place, while it is out: whose gate that is of, and where it is out of besides.
  const void* out_of = nullptr;
  standing* around = nullptr;
  bool is_seated = false;    // Of a worker, while it is out: it has said so at its seat,
  bool is_measured = false;  // and how long it is out is measured.
};

/// Null functions: there is one thread.
struct gate_functions {
  void* context = nullptr;
  void (*enter)(void* context) noexcept = nullptr;
  void (*leave)(void* context) noexcept = nullptr;
  /// Out at once, however often it went in; and back in as often. `keep` is what the way back must know, and where the
  /// standing lies of a thread that has no other place.
  std::uint32_t (*step_out)(void* context, standing& keep) noexcept = nullptr;
  void (*step_in)(void* context, std::uint32_t depth, standing& kept) noexcept = nullptr;
  /// Where this thread puts aside what others may compute (asx/runtime/parallel.hpp); null: nobody would. `is_nested`:
  /// the task computes already, on this thread or another one.
  detail::piece_deck* (*deck)(void* context, bool is_nested) noexcept = nullptr;
};

/// A kernel's own. It stands open where its functions are null.
struct gate_port : gate_functions {
  /// The short way; nobody is ever its favourite where there is none.
  mutable detail::gate_front front;
  /// How many are out with what is the user's: more may come of it. The kernel's own; written inside.
  std::uint32_t* away = nullptr;
  /// How often a task was queued with another worker than the one that polls, or by nobody's poll, since somebody
  /// looked whom to wake; not 0 also when it is to be looked for at every way out. Written inside.
  std::uint64_t news = 0;
  static constexpr std::uint64_t always_news = std::uint64_t{1} << 63;

  /// True: it is in, or there is nothing to enter. False: nothing has happened, and the long way is left.
  [[nodiscard]] ASX_ALWAYS_INLINE bool come_in_shortly() const noexcept {
#if !defined(ASX_ONE_THREAD)
    if (front.lock.enter_as_favourite(detail::thread_mark())) [[likely]]
      return true;
#endif
    return enter == nullptr;
  }
  ASX_ALWAYS_INLINE void come_in() const noexcept {
    if (!come_in_shortly()) [[unlikely]]
      come_in_the_long_way();
  }
  ASX_ALWAYS_INLINE void go_out() const noexcept {
#if !defined(ASX_ONE_THREAD)
    lock_seat& mine = front.lock.seat_inside();
    // Relaxed: its own; 0 where it is in by the lock.
    if (mine.in.load(std::memory_order_relaxed) == 1 && news == 0) [[likely]]
      return mine.leave();
#endif
    go_out_the_long_way();
  }
  /// Its seat, when it went out as the favourite and nobody has to be woken for it, and how deep it was; else null.
  [[nodiscard]] ASX_ALWAYS_INLINE detail::gate_seat* step_out_shortly(
      [[maybe_unused]] std::uint32_t& depth) const noexcept {
#if !defined(ASX_ONE_THREAD)
    if (news != 0 || !front.lock.is_in_as_favourite()) return nullptr;
    auto& mine = static_cast<detail::gate_seat&>(front.lock.seat_inside());
    if (mine.until_measured <= 1) return nullptr;
    --mine.until_measured;
    ++mine.times_out;
    ++mine.out;
    depth = mine.in.load(std::memory_order_relaxed);  // Relaxed: its own.
    mine.leave();
    return &mine;
#else
    return nullptr;
#endif
  }

 private:
  ASX_OUT_OF_THE_WAY void come_in_the_long_way() const noexcept {
#if !defined(ASX_ONE_THREAD)
    // Relaxed: it is this thread's own mark only if this thread wrote it.
    if (front.owner.load(std::memory_order_relaxed) == detail::thread_mark()) {
      ++front.depth;
      return;
    }
#endif
    enter(context);
  }
  ASX_OUT_OF_THE_WAY void go_out_the_long_way() const noexcept {
#if !defined(ASX_ONE_THREAD)
    lock_seat& mine = front.lock.seat_inside();
    const std::uint32_t deep = mine.in.load(std::memory_order_relaxed);
    if (deep > 1) return mine.in.store(deep - 1, std::memory_order_relaxed);
    if (deep == 0 && front.depth > 1) {
      --front.depth;
      return;
    }
#endif
    if (leave != nullptr) leave(context);
  }
};

/// While it lives, this thread alone is in the kernel.
class inside {
 public:
  /// Null: there is nothing to enter.
  explicit inside(const gate_port* gate) noexcept : gate_(gate) {
    if (gate_ != nullptr) [[unlikely]]
      come_in();
  }
  explicit inside(const gate_port& gate) noexcept : inside(!may_have_gates() ? nullptr : &gate) {}
  inline explicit inside(const kernel& k) noexcept;
  ~inside() {
    if (gate_ != nullptr) [[unlikely]]
      go_out();
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  ASX_OUT_OF_THE_WAY void come_in() const noexcept { gate_->come_in(); }
  ASX_OUT_OF_THE_WAY void go_out() const noexcept { gate_->go_out(); }

  const gate_port* gate_;
};

/// The same for short calls that are made often, and for stays that begin in one function and end in another.
class short_stay {
 public:
  enum came { is_in };
  ASX_ALWAYS_INLINE explicit short_stay(const gate_port* gate) noexcept : gate_(gate) {
    if (gate_ != nullptr) gate_->come_in();
  }
  ASX_ALWAYS_INLINE short_stay(const gate_port* gate, came) noexcept : gate_(gate) {}
  ASX_ALWAYS_INLINE ~short_stay() {
    if (gate_ != nullptr) gate_->go_out();
  }
  short_stay(const short_stay&) = delete;
  short_stay& operator=(const short_stay&) = delete;
  /// It does not end here: another one ends it.
  ASX_ALWAYS_INLINE void go_on() noexcept { gate_ = nullptr; }

 private:
  const gate_port* gate_;
};

/// Of `of`, which says by `gate` which one, unless there is no gate at all: then nothing of it is in the way.
template <class Of>
[[nodiscard]] ASX_ALWAYS_INLINE const gate_port* gate_to(const Of& of) noexcept {
  return may_have_gates() ? of.gate() : nullptr;
}

/// What a function of `of` gives, inside. For short calls that are not made often enough to stand where they are made.
template <auto Function, class Of, class... Args>
ASX_OUT_OF_THE_WAY auto call_inside(Of& of, Args&... args) {
  const short_stay here(of.gate());
  return (of.*Function)(args...);
}

/// While it lives, this thread runs what is the user's.
class outside {
 public:
  explicit outside(const gate_port& gate) noexcept  // NOLINT(cppcoreguidelines-pro-type-member-init)
      : gate_(!may_have_gates() || gate.enter == nullptr ? nullptr : &gate) {
    if (gate_ != nullptr) [[unlikely]]
      step_out();
  }
  ~outside() {
    if (gate_ != nullptr) [[unlikely]]
      step_in();
  }
  outside(const outside&) = delete;
  outside& operator=(const outside&) = delete;

 private:
  ASX_OUT_OF_THE_WAY void step_out() noexcept {
    ++*gate_->away;
    seat_ = gate_->step_out_shortly(depth_);
    if (seat_ != nullptr) [[likely]]
      return;
    kept_ = standing{};
    depth_ = gate_->step_out(gate_->context, kept_);
  }
  ASX_OUT_OF_THE_WAY void step_in() noexcept {
    if (seat_ != nullptr && seat_->enter(depth_)) [[likely]] {
      --seat_->out;
    } else {
      if (seat_ != nullptr) {
        kept_ = standing{};
        kept_.is_seated = true;
      }
      gate_->step_in(gate_->context, depth_, kept_);
    }
    --*gate_->away;
  }

  const gate_port* gate_;
  // What follows is not used where there is no gate.
  detail::gate_seat* seat_ = nullptr;  // It went by the short way.
  std::uint32_t depth_ = 0;
  union {
    standing kept_;
  };
};

}  // namespace asx
