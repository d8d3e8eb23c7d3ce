// asx/chan/broadcast.hpp - every receiver sees every value, up to a bound: who is too slow is told how much was missed.
//
//     sender --send--> [ 4 | 5 | 6 | 7 ]          a ring: the oldest is overwritten when it is full
//                        ^           ^
//          receiver: 4 --+           +-- receiver: nothing new, waits
//          receiver: 2 -- lagged, skipped 2; then 4
//
//     auto [code, tx, rx] = asx::broadcast<quote>(c, 64);
//     ...
//     auto r = rx.poll_recv(c, waiting);                             // in a poll
//     switch (r.code) {
//       case status::ok: use(*r.value); break;                       // a copy
//       case status::lagged: missed += r.skipped; break;             // go on: the oldest that is kept is next
//       case status::would_block: return poll_result::pending;       // woken by the next send
//       ...
//
// R-257  each receiver sees the values in the order in which they were sent, each once, but for those that it is told
//        it has missed. A copy begins where the original stands, a subscriber at what is sent next.
// R-258  a send never waits. Without receivers it is disconnected, and the value comes back.
// R-252  a send while user code runs on a value of it is refused with reentrant. Among threads values are destroyed
//        outside, and only sends of the thread that does so are refused meanwhile.
// R-259  sent = overwritten + discarded + kept.
// R-240  a move or a copy that throws leaves the broadcast and the receiver as they were.
//
// Nothing is allocated after `broadcast` returned. T is copied to each receiver.
//
// Cancel points: poll_recv. Threads: the runtime's.
// Lifetime: the broadcast belongs to its region, which takes it down when it finalizes; ends that are left report
//           disconnected then. With all senders gone what is kept can still be received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/construct.hpp"
#include "asx/chan/hub.hpp"
#include "asx/chan/mpsc.hpp"

namespace asx {

/// Of one poll_recv that waits. Move-only; destroying it leaves the queue.
using broadcast_wait = end_wait;

/// `value` is there when the code is ok, `skipped` when it is lagged.
template <class T>
struct [[nodiscard]] broadcast_result {
  status code = status::ok;
  std::optional<T> value{};
  std::uint64_t skipped = 0;
};

/// What went through since it was made. A value that three receivers took was delivered three times.
struct broadcast_counts {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t overwritten = 0;
  std::uint64_t discarded = 0;  // Kept when the last receiver went.
  std::uint64_t lagged = 0;     // How often a receiver was told so,
  std::uint64_t skipped = 0;    // and of how many values.
};

struct broadcast_report {
  hub_counts ends{};
  std::uint32_t capacity = 0;
  std::uint32_t kept = 0;
  std::uint64_t owed = 0;  // What is still to be delivered or skipped, over all receivers.
  broadcast_counts counts{};
};

/// Values that can be destroyed outside, one after the other, while places are taken again.
struct leaving_type : element_type {
  /// Takes the value out, and destroys it outside; null: the type's cannot be.
  void (*end_outside)(hub& of, void* value) noexcept = nullptr;
};

class ASX_API broadcast_core final : public hub {
 public:
  static status create(kernel& k, region_handle region, const leaving_type& values, std::uint32_t capacity,
                       std::string_view called, broadcast_core*& out) noexcept;

  /// ok: a value may be constructed at `spare` and published. disconnected, reentrant, resource_exhausted.
  [[nodiscard]] status admit() const noexcept {
    if (!has_receivers()) return status::disconnected;
    if (is_held()) return status::reentrant;
    return has_trace() ? status::ok : status::resource_exhausted;
  }
  [[nodiscard]] void* spare() const noexcept { return place_of(next_); }
  /// The value at `spare` is the newest; the caller destroys the one at the place that this returns, if there is one.
  [[nodiscard]] void* publish() noexcept;
  /// Among threads a value that was discarded, and not destroyed yet, may lie at `spare`: then it is the caller's.
  [[nodiscard]] void* take_discarded_at_spare() noexcept {
    return kept_ + doomed_ == slots_ ? take_discarded() : nullptr;
  }

  /// ok: the value at `place_of(cursor)` is this receiver's next. lagged: `cursor` and `skipped` are set. disconnected,
  /// empty.
  [[nodiscard]] status try_recv(std::uint64_t& cursor, std::uint64_t& skipped) noexcept;
  /// cancelled, or as try_recv with would_block or resource_exhausted for empty.
  [[nodiscard]] status poll_recv(hub_end& from, std::uint64_t& cursor, std::uint64_t& skipped, cx& c,
                                 end_wait& w) noexcept;
  [[nodiscard]] void* place_of(std::uint64_t n) const noexcept {
    return at(static_cast<std::size_t>(n % slots_), stride_);
  }
  /// The value at `cursor` was copied.
  void deliver(std::uint64_t& cursor) noexcept;
  [[nodiscard]] std::uint64_t newest() const noexcept { return next_; }
  /// A receiver that stands at `cursor` came or goes.
  void owe(std::uint64_t cursor) noexcept { owed_ += next_ - cursor; }
  void forgive(std::uint64_t cursor) noexcept { owed_ -= next_ - cursor; }
  [[nodiscard]] broadcast_report report() const noexcept { return {count(), capacity_, kept_, owed_, counts_}; }
  /// Asserts R-259. Called when values are discarded, and by every send while a monitor is on.
  void check() const noexcept;

 private:
  broadcast_core(kernel& k, std::string_view called, const leaving_type& values, std::uint32_t capacity,
                 const thing_order& order, void* block) noexcept
      : hub(ops_table, k, called, order, block),
        stride_(values.bytes),
        slots_(std::uint64_t{capacity} + 1),
        capacity_(capacity),
        destroy_(values.destroy),
        end_outside_(values.end_outside) {}
  ~broadcast_core() = default;

  [[nodiscard]] std::uint64_t oldest() const noexcept { return next_ - kept_; }
  /// The oldest that was discarded. There is one: they lie right before what is kept.
  [[nodiscard]] void* take_discarded() noexcept { return place_of(oldest() - doomed_--); }
  static bool is_drained(const owned& self) noexcept;
  static void describe(const owned& self, const text_port& out);
  static void hash(const owned& self, digest_stream& out) noexcept;
  static void discard(hub& self) noexcept;
  static void end(hub& self) noexcept;
  static const hub_ops ops_table;

  std::size_t stride_;
  std::uint64_t slots_;  // One more than the capacity: where a value is made while the oldest is still there.
  std::uint64_t next_ = 0;
  std::uint32_t capacity_;
  std::uint32_t kept_ = 0;
  std::uint32_t doomed_ = 0;  // Discarded, and not destroyed yet.
  std::uint64_t owed_ = 0;
  broadcast_counts counts_;
  void (*destroy_)(void*) noexcept;
  void (*end_outside_)(hub&, void*) noexcept;
};

static_assert(sizeof(broadcast_core) <= detail::thing_table::cell_bytes);

/// A receiver without its value type: an end, and where it stands.
class ASX_API cursor_end {
 public:
  cursor_end() noexcept = default;
  cursor_end(broadcast_core& core, std::uint64_t cursor) noexcept : end_(core, hub_side::receiver), cursor_(cursor) {}
  cursor_end(const cursor_end& other) noexcept;
  cursor_end& operator=(const cursor_end& other) noexcept;
  cursor_end(cursor_end&& other) noexcept = default;
  cursor_end& operator=(cursor_end&& other) noexcept;
  ~cursor_end() { drop(); }

  [[nodiscard]] broadcast_core* get() const noexcept { return static_cast<broadcast_core*>(end_.get()); }
  [[nodiscard]] status why_not() const noexcept { return end_.why_not(); }
  [[nodiscard]] status poll_gone(cx& c) const noexcept { return end_.poll_gone(c); }
  [[nodiscard]] bool is_dead() const noexcept { return end_.is_dead(); }
  [[nodiscard]] const gate_port* gate() const noexcept { return end_.gate(); }
  [[nodiscard]] std::uint64_t cursor() const noexcept { return cursor_; }
  void drop() noexcept;

  [[nodiscard]] status poll_recv(broadcast_core& core, std::uint64_t& skipped, cx& c, end_wait& w) noexcept {
    return core.poll_recv(end_, cursor_, skipped, c, w);
  }
  [[nodiscard]] status try_recv(broadcast_core& core, std::uint64_t& skipped) noexcept {
    return core.try_recv(cursor_, skipped);
  }
  /// The value at `at` was copied. The copy may have received it with this end already, or dropped this end.
  void deliver(const broadcast_core& core, std::uint64_t at) noexcept {
    if (broadcast_core* const here = get(); here == &core && cursor_ == at) here->deliver(cursor_);
  }

 private:
  hub_end end_;
  std::uint64_t cursor_ = 0;
};

template <class T>
class broadcast_receiver {
 public:
  broadcast_receiver() noexcept = default;  // Dead, as is one that was dropped or moved from.

  /// stale_handle from a dead one. A copy is the same without the answer; it begins where this one stands.
  [[nodiscard]] status clone(broadcast_receiver& out) const noexcept {
    const inside in(at_.gate());
    if (at_.get() == nullptr) return at_.why_not();
    out = *this;
    return status::ok;
  }
  void drop() noexcept { at_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !at_.is_dead(); }

  /// A cancel point. ok and a copy of the next value; lagged and how many were skipped; stale_handle, cancelled;
  /// disconnected: all senders are gone and nothing is left for this one; resource_exhausted (max_channel_waiters):
  /// nothing is left in the queue. would_block: `w` waits, and the task is woken.
  broadcast_result<T> poll_recv(cx& c, broadcast_wait& w) {
    const inside in(at_.gate());
    broadcast_core* const core = at_.get();
    if (core == nullptr) {
      w.leave();
      return {at_.poll_gone(c), {}, 0};
    }
    std::uint64_t skipped = 0;
    const status s = at_.poll_recv(*core, skipped, c, w);
    if (s != status::ok) return {s, {}, skipped};
    broadcast_result<T> out;
    copy(*core, out);
    return out;
  }
  /// As poll_recv, but copies nothing: ok when try_into would give a value now.
  [[nodiscard]] status poll_ready(cx& c, broadcast_wait& w, std::uint64_t& skipped) noexcept {
    const inside in(at_.gate());
    skipped = 0;
    if (broadcast_core* const core = at_.get(); core != nullptr) return at_.poll_recv(*core, skipped, c, w);
    w.leave();
    return at_.poll_gone(c);
  }
  /// ok, lagged, stale_handle, disconnected, empty.
  broadcast_result<T> try_recv() {
    broadcast_result<T> out;
    try_into(out);
    return out;
  }
  /// The same, made where it is wanted; `out` is empty.
  void try_into(broadcast_result<T>& out) {
    const inside in(at_.gate());
    broadcast_core* const core = at_.get();
    out.code = core == nullptr ? at_.why_not() : at_.try_recv(*core, out.skipped);
    if (out.code == status::ok) copy(*core, out);
  }
  /// What waits for this one, missed values included.
  [[nodiscard]] std::uint64_t backlog() const noexcept {
    const inside in(at_.gate());
    const broadcast_core* const core = at_.get();
    return core == nullptr ? 0 : core->newest() - at_.cursor();
  }
  [[nodiscard]] status inspect(broadcast_report& out) const noexcept {
    const inside in(at_.gate());
    const broadcast_core* const core = at_.get();
    if (core == nullptr) return at_.why_not();
    out = core->report();
    return status::ok;
  }

 private:
  template <class>
  friend class broadcast_sender;
  template <class>
  friend struct broadcast_ends;
  broadcast_receiver(broadcast_core& core, std::uint64_t cursor) noexcept : at_(core, cursor) {}

  void copy(broadcast_core& core, broadcast_result<T>& out) {
    const hub_hold held(core);
    const std::uint64_t at = at_.cursor();
    out.value.emplace(*std::launder(static_cast<const T*>(core.place_of(at))));
    at_.deliver(core, at);
  }

  cursor_end at_;
};

template <class T>
class broadcast_sender {
 public:
  broadcast_sender() noexcept = default;  // Dead, as is one that was dropped or moved from.

  /// stale_handle from a dead one. A copy is the same without the answer.
  [[nodiscard]] status clone(broadcast_sender& out) const noexcept {
    const inside in(end_.gate());
    if (end_.get() == nullptr) return end_.why_not();
    out = *this;
    return status::ok;
  }
  void drop() noexcept { end_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !end_.is_dead(); }

  /// Never waits. ok: all receivers will see it, or be told that they missed it. stale_handle; disconnected: there is
  /// no receiver, or its region took the broadcast down; reentrant, resource_exhausted (a trace that rejects):
  /// `value` is handed back.
  send_result<T> send(T value) {
    if constexpr (ends_outside<T>) {
      if (end_.gate() != nullptr) [[unlikely]]
        return send_among_threads(value);
    }
    const inside in(end_.gate());
    broadcast_core* const core = get();
    const status s = core == nullptr ? end_.why_not() : core->admit();
    if (s != status::ok) return {s, std::optional<T>(std::in_place, std::move(value))};
    const hub_hold held(*core);
    new (core->spare()) T(std::move(value));
    if (void* const leaves = core->publish(); leaves != nullptr) std::destroy_at(std::launder(static_cast<T*>(leaves)));
    return {};
  }
  /// A receiver of what is sent from now on. ok, stale_handle, disconnected.
  [[nodiscard]] status subscribe(broadcast_receiver<T>& out) const noexcept {
    const inside in(end_.gate());
    broadcast_core* const core = get();
    if (core == nullptr) return end_.why_not();
    core->add(hub_side::receiver);
    out = broadcast_receiver<T>(*core, core->newest());
    return status::ok;
  }
  [[nodiscard]] status inspect(broadcast_report& out) const noexcept {
    const inside in(end_.gate());
    const broadcast_core* const core = get();
    if (core == nullptr) return end_.why_not();
    out = core->report();
    return status::ok;
  }

 private:
  template <class>
  friend struct broadcast_ends;
  explicit broadcast_sender(broadcast_core& core) noexcept : end_(core, hub_side::sender) {}
  [[nodiscard]] broadcast_core* get() const noexcept { return static_cast<broadcast_core*>(end_.get()); }

  // what leaves is taken out, and destroyed when this thread is out. Its destructor may drop this end.
  ASX_OUT_OF_THE_WAY send_result<T> send_among_threads(T& value) {
    std::optional<hub_ending> held_too;
    std::optional<T> discarded;
    std::optional<hub_ending> held;
    std::optional<T> left;
    {
      const inside in(end_.gate());
      broadcast_core* const core = get();
      const status s = core == nullptr ? end_.why_not() : core->admit();
      if (s != status::ok) return {s, std::optional<T>(std::in_place, std::move(value))};
      const hub_hold until_out(*core);
      if (void* const leaves = core->take_discarded_at_spare(); leaves != nullptr) {
        hub_ending::take_out(held_too, discarded, *core, leaves);
      }
      new (core->spare()) T(std::move(value));
      if (void* const leaves = core->publish(); leaves != nullptr) hub_ending::take_out(held, left, *core, leaves);
    }
    return {};
  }

  hub_end end_;
};

template <class T>
struct [[nodiscard]] broadcast_ends {
  status code = status::ok;
  broadcast_sender<T> tx{};
  broadcast_receiver<T> rx{};

  static broadcast_ends of(status code, broadcast_core* core) noexcept {
    if (code != status::ok) return {code, {}, {}};
    return {code, broadcast_sender<T>(*core), broadcast_receiver<T>(*core, 0)};
  }
};

namespace detail {

template <class T>
void end_outside(hub& of, void* value) noexcept {
  std::optional<hub_ending> held;
  std::optional<T> left;
  {
    const hub_hold until_out(of);
    hub_ending::take_out(held, left, of, value);
  }
  const outside open(of.home.gate_in_use());
  left.reset();
}
template <class T>
constexpr leaving_type leaving_of() noexcept {
  leaving_type out{element_of<T>};
  if constexpr (ends_outside<T>) out.end_outside = &end_outside<T>;
  return out;
}

}  // namespace detail

/// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_channels, max_bytes, memory): both ends
/// are dead then. Capacity 0 panics.
template <class T>
broadcast_ends<T> broadcast(kernel& k, region_handle region, std::uint32_t capacity,
                            std::string_view name = {}) noexcept {
  static_assert(std::is_copy_constructible_v<T>, "each receiver gets a copy");
  static_assert(std::is_nothrow_destructible_v<T>, "a value must be destructible without throwing");
  broadcast_core* core = nullptr;
  const status s = broadcast_core::create(k, region, detail::leaving_of<T>(), capacity, name, core);
  return broadcast_ends<T>::of(s, core);
}

/// In the region of the task.
template <class T>
broadcast_ends<T> broadcast(cx& c, std::uint32_t capacity, std::string_view name = {}) noexcept {
  return broadcast<T>(c.kernel(), c.region(), capacity, name);
}

}  // namespace asx
