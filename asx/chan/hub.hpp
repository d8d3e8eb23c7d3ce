// asx/chan/hub.hpp - what watch, broadcast and rendezvous have in common: counted ends on both sides, waits that go
// with their end, and one end of all. No value type, no rule about values.
//
//     sender  sender ...                    ends: counted, each may be moved; all but one kind may be copied
//         \     |
//          hub ---- waits: head -> ... -> tail
//         /     |
//     receiver receiver ...
//
// 1  The state is whole before anybody is woken or any value is destroyed, so that both may call back.
// 2  While user code runs on a value that lies in a hub - a copy, a visit, the destructor of a value that leaves - the
//    hub is held: it is not freed, and takes no new value. Among threads the value that leaves is taken out and
//    destroyed outside: the hub is held for the thread that does so, and nobody else notices.
// 3  A wait leaves with the end that it was polled with, whose task is woken, and with its task.
// 4  Who is woken is out of the queue: only would_block leaves a waiter behind.
//
// A channel (channel_core.hpp) is not one of these: it has permits, and one receiver that owns what is queued.
//
// Cancel points: none here. Threads: the runtime's.
// Lifetime: freed when both sides are gone and it is not held, or when its region takes it down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/construct.hpp"
#include "asx/chan/channel_core.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

class hub;
class hub_end;
class hub_ending;

/// Whether a value of the type can be taken out of a hub and destroyed outside, among threads.
template <class T>
inline constexpr bool ends_outside = !std::is_trivially_destructible_v<T> && std::is_nothrow_move_constructible_v<T>;

enum class hub_side : std::uint8_t { sender, receiver };

/// The place in the queue of one pending operation. Move-only: a moved one keeps its place; destroying it leaves.
class ASX_API end_wait : public waiter {
 public:
  end_wait() noexcept = default;
  end_wait(end_wait&& other) noexcept : end_wait(static_cast<end_wait&&>(other), inside(extension::gate_of(other))) {}
  end_wait& operator=(end_wait&& other) noexcept;
  ~end_wait() { leave(); }

 private:
  friend class hub;
  friend class hub_end;
  // Inside until it is whole: whoever serves it asks whose it is.
  end_wait(end_wait&& other, const inside& /*here*/) noexcept
      : waiter(static_cast<waiter&&>(other)), from_(other.from_) {}
  hub_end* from_ = nullptr;  // Meaningful while it waits.
};

struct hub_ops : owned_ops {
  /// Destroys the values that are left, oldest first. May be called again.
  void (*discard)(hub& self) noexcept;
  /// Runs the destructor of the whole record.
  void (*end)(hub& self) noexcept;
  /// Wakes who waits in no queue of the hub's; null: nobody does.
  void (*disconnect)(hub& self, std::uint64_t cause) noexcept;
  /// One receiver that does not come back; its waiters are senders, and are told of as such.
  bool has_one_receiver;
  /// What nobody can see any more goes with the last receiver, and not with the hub.
  bool discards_with_receivers;
};

/// Enough for a report of any of them.
struct hub_counts {
  channel_id id{};
  std::uint64_t senders = 0;
  std::uint64_t receivers = 0;
  std::uint32_t waiters = 0;
};

class ASX_API hub : public thing {
 public:
  [[nodiscard]] bool has_senders() const noexcept { return senders_ != 0; }
  [[nodiscard]] bool has_receivers() const noexcept { return receivers_ != 0; }
  [[nodiscard]] channel_id id() const noexcept { return channel_id{number}; }
  [[nodiscard]] hub_counts count() const noexcept { return {id(), senders_, receivers_, waits_.size()}; }

  // ---- user code on values
  [[nodiscard]] bool is_held() const noexcept { return holds_ != 0 || (endings_ != nullptr && is_ending_here()); }
  void hold() noexcept { ++holds_; }
  /// The hub may be gone afterwards.
  void release() noexcept {
    if (--holds_ == 0) is_discard_owed_ ? discard_unseen() : free_if_done();
  }
  /// Nobody got an end of it: what is made is given up. It must be held.
  void abandon() noexcept { senders_ = receivers_ = 0; }
  /// Its region took it down, but somebody holds it.
  [[nodiscard]] bool is_down() const noexcept { return is_down_; }

  void add(hub_side side) noexcept;
  void drop(hub_side side) noexcept;

 protected:
  hub(const hub_ops& table, kernel& k, std::string_view called, const thing_order& order, void* block) noexcept
      : thing(table, k, called), waits_(*this), order_(order), block_(block) {}
  ~hub() = default;

  /// Refused when no address space holds it.
  [[nodiscard]] static thing_order order_of(const element_type& values, std::uint64_t places,
                                            std::uint64_t nominal) noexcept;
  void settle(const thing_room& room, std::uint64_t capacity) noexcept;

  std::uint64_t note(event_kind kind, std::uint64_t a, std::uint64_t b) noexcept {
    return extension::note(home, kind, number, extension::caller(home), a, b);
  }
  /// A wait that was polled with another end, or elsewhere, begins anew.
  void begin(const hub_end& from, end_wait& w) noexcept {
    if (w.is_waiting() && (!waits_.holds(w) || w.from_ != &from)) w.leave();
  }
  /// would_block: it stands in the queue; `told` is the event of that, 0 if it stood there. Or resource_exhausted.
  [[nodiscard]] status wait(hub_end& from, cx& c, end_wait& w, wait_code what, std::uint64_t& told) noexcept;
  /// Takes it out of the queue, as served; its task is not woken.
  void serve(end_wait& w) noexcept { remove(w, leave_code::served); }
  /// What is told of a value, and a wake for each who waits; only trace_overflow::reject ever lacks room.
  [[nodiscard]] bool has_trace() const noexcept {
    return extension::has_trace(home, 4 + 2 * std::uint64_t{waits_.size()});
  }
  void wake_all(wake_code why, std::uint64_t cause) noexcept;
  void hash_waits(digest_stream& out) const noexcept;
  static bool is_awaited(const owned& self) noexcept;
  void describe_ends(const text_port& out, std::string_view what) const;

  static void take_down(owned& self, kernel& k) noexcept;
  static std::uint64_t events(const owned& self) noexcept;

  struct end_queue : wait_queue {
    explicit end_queue(hub& h) noexcept : wait_queue(&wait_left), of(h) {}
    hub& of;
  };
  std::byte* at(std::size_t place, std::size_t stride) const noexcept {
    return static_cast<std::byte*>(block_) + place * stride;
  }

  std::uint64_t senders_ = 1;
  std::uint64_t receivers_ = 1;
  end_queue waits_;
  std::uint64_t unserved_ = 0;  // Waits that left otherwise.

 private:
  friend class hub_end;
  friend class hub_ending;
  [[nodiscard]] bool is_ending_here() const noexcept;
  [[nodiscard]] const hub_ops& how() const noexcept { return static_cast<const hub_ops&>(*ops); }
  static void wait_left(wait_queue& queue, waiter& w, waiter_name who, leave_code how) noexcept;
  void remove(end_wait& w, leave_code how) noexcept;
  void disconnect(std::uint64_t cause) noexcept;
  void discard_unseen() noexcept;
  void free_if_done() noexcept {
    if (holds_ == 0 && endings_ == nullptr && (is_down_ || (senders_ == 0 && receivers_ == 0))) free();
  }
  void free() noexcept;

  std::uint32_t holds_ = 0;
  bool is_down_ = false;
  bool is_discard_owed_ = false;  // The last receiver went while it was held.
  hub_ending* endings_ = nullptr;
  std::uint64_t last_wait_ = 0;
  thing_order order_;
  void* block_;
};

/// Keeps a hub while user code runs on a value in it.
class hub_hold {
 public:
  explicit hub_hold(hub& at) noexcept : at_(at) { at.hold(); }
  ~hub_hold() { at_.release(); }
  hub_hold(const hub_hold&) = delete;
  hub_hold& operator=(const hub_hold&) = delete;

 private:
  hub& at_;
};

/// The same for a value that left the hub and is destroyed by this thread, outside. Made inside; its end goes in again.
class ASX_API hub_ending {
 public:
  explicit hub_ending(hub& at) noexcept
      : at_(at), thread_(detail::mark_of_this_thread()), next_(std::exchange(at.endings_, this)) {}
  ~hub_ending();
  /// The value at `place` goes to `left`, which is destroyed before `held` is, and both outside. The hub is held.
  template <class T>
  static void take_out(std::optional<hub_ending>& held, std::optional<T>& left, hub& at, void* place) noexcept {
    held.emplace(at);
    T* const value = std::launder(static_cast<T*>(place));
    left.emplace(std::move(*value));
    std::destroy_at(value);
  }
  hub_ending(const hub_ending&) = delete;
  hub_ending& operator=(const hub_ending&) = delete;

 private:
  friend class hub;
  hub& at_;
  const void* thread_;
  hub_ending* next_;
};

/// One end, without its value type. It moves with its waits.
class ASX_API hub_end {
 public:
  hub_end() noexcept = default;
  hub_end(hub& at, hub_side side) noexcept : at_(at), side_(side) {}  // Takes over one that was counted.
  hub_end(const hub_end& other) noexcept;
  hub_end& operator=(const hub_end& other) noexcept;
  hub_end(hub_end&& other) noexcept { take(other); }
  hub_end& operator=(hub_end&& other) noexcept;
  ~hub_end() { drop(); }

  /// Null when it is dead, or the hub is gone; why_not says which.
  [[nodiscard]] hub* get() const noexcept {
    hub* const h = at_.get();
    return h != nullptr && !h->is_down() ? h : nullptr;
  }
  [[nodiscard]] status why_not() const noexcept { return at_.is_there() ? status::disconnected : at_.absence(); }
  /// What a cancel point says then: cancelled comes before disconnected.
  [[nodiscard]] status poll_gone(cx& c) const noexcept { return extension::poll_gone(c, why_not()); }
  [[nodiscard]] bool is_dead() const noexcept { return at_.is_null(); }
  [[nodiscard]] const gate_port* gate() const noexcept { return at_.gate(); }
  void drop() noexcept;

 private:
  friend class hub;
  void take(hub_end& other) noexcept;

  thing_ref<hub> at_;
  std::uint32_t pending_ = 0;  // Its waits.
  hub_side side_ = hub_side::sender;
};

}  // namespace asx
