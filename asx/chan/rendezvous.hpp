// asx/chan/rendezvous.hpp - a channel without slots: a send is over when the receiver has taken the value.
//
//     offer (value) --poll_send--> queue of offers, first come, first served
//          ^                           |
//          |  cancelled, withdrawn,    +--recv--> the value goes straight from the offer to the receiver,
//          +-- receiver gone: the value is still in the offer      and the sender's next poll says ok
//
//     rendezvous_offer<job> offer(next_job());
//     ...
//     switch (tx.poll_send(c, offer)) {                             // in a poll
//       case status::ok: break;                                     // somebody has it
//       case status::would_block: return poll_result::pending;      // woken when it was taken
//       case status::disconnected: keep(*offer.take()); break;      // nobody will
//       ...
//
// R-255  a value is in its offer or with the receiver, never in between: no cancel, on either side, loses it. A send
//        whose value was taken says ok before all else, once, also to a task that is cancelled by then.
// R-256  offers are taken in the order in which they began to wait, across all senders.
// INV-CH-06  a cancelled recv has consumed nothing.
// R-323  of the offers that one select waits with, one is taken: the others are withdrawn when a receiver comes to
// them. R-240  a move that throws leaves the value in its offer, and the offer where it stands.
//
// Nothing is ever allocated for a value: it waits where its sender put it.
//
// Cancel points: poll_send, poll_recv. Threads: the runtime's.
// Lifetime: the rendezvous belongs to its region, which takes it down when it finalizes; ends that are left report
//           disconnected then. An offer that is destroyed while it waits is withdrawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/chan/hub.hpp"
#include "asx/chan/mpsc.hpp"

namespace asx {

struct rendezvous_report {
  hub_counts ends{};
  std::uint64_t offered = 0;    // Began to wait,
  std::uint64_t taken = 0;      // were taken,
  std::uint64_t withdrawn = 0;  // or left otherwise: offered = taken + withdrawn + waiters.
  bool is_receiver_waiting = false;
};

/// An offer without its value.
class ASX_API offer_core : public end_wait {
 public:
  offer_core() noexcept = default;
  offer_core(offer_core&& other) noexcept
      : end_wait(static_cast<end_wait&&>(other)),
        is_taken_(std::exchange(other.is_taken_, false)),
        is_one_of_several_(other.is_one_of_several_) {}
  offer_core& operator=(offer_core&& other) noexcept {
    if (this != &other) {
      end_wait::operator=(static_cast<end_wait&&>(other));
      is_taken_ = std::exchange(other.is_taken_, false);
      is_one_of_several_ = other.is_one_of_several_;
    }
    return *this;
  }
  ~offer_core() = default;

  /// The receiver has its value, and poll_send has not said so yet.
  [[nodiscard]] bool is_taken() const noexcept { return is_taken_; }

 protected:
  bool is_taken_ = false;

 private:
  friend class rendezvous_core;
  bool is_one_of_several_ = false;  // Its task goes on with one of them. Written inside.
};

class ASX_API rendezvous_core final : public hub {
 public:
  static status create(kernel& k, region_handle region, std::string_view called, rendezvous_core*& out) noexcept;

  /// cancelled, disconnected, would_block, resource_exhausted. The offer has a value that was not taken.
  [[nodiscard]] status poll_send(hub_end& from, cx& c, offer_core& offer, bool is_one_of_several) noexcept;
  /// ok: `head` has a value; take it, then `finish`. cancelled, disconnected, reentrant, would_block.
  [[nodiscard]] status poll_recv(cx& c) noexcept;
  /// ok, disconnected, reentrant, empty.
  [[nodiscard]] status try_recv() noexcept;
  [[nodiscard]] offer_core& head() const noexcept { return static_cast<offer_core&>(*waits_.head()); }
  /// The value of `offer` was moved out.
  void finish(offer_core& offer) noexcept;
  void stop_waiting() noexcept {
    if (!receivers_queue_.empty()) extension::remove(receivers_queue_, receiver_wait_);
  }
  [[nodiscard]] rendezvous_report report() const noexcept {
    return {count(), offered_, taken_, unserved_, !receivers_queue_.empty()};
  }
  /// Asserts R-256. Called when a side goes and at the end, and by every receipt while a monitor is on.
  void check() const noexcept {
    ASX_ASSERT(offered_ == taken_ + unserved_ + waits_.size(), "every offer is accounted for (R-256)");
  }

 private:
  rendezvous_core(kernel& k, std::string_view called, const thing_order& order) noexcept
      : hub(ops_table, k, called, order, nullptr) {}
  ~rendezvous_core() = default;

  static bool is_drained(const owned& self) noexcept;
  static bool is_awaited(const owned& self) noexcept;
  static void describe(const owned& self, const text_port& out);
  static void hash(const owned& self, digest_stream& out) noexcept;
  static void discard(hub& self) noexcept;
  static void end(hub& self) noexcept;
  static void wake_receiver_of(hub& self, std::uint64_t cause) noexcept;
  void wake_receiver(wake_code why, std::uint64_t cause) noexcept;
  void pass_over_decided() noexcept;
  static const hub_ops ops_table;

  wait_queue receivers_queue_;  // One at most.
  waiter receiver_wait_;
  std::uint64_t offered_ = 0;
  std::uint64_t taken_ = 0;
};

static_assert(sizeof(rendezvous_core) <= detail::thing_table::cell_bytes);

/// A value that is offered, and its place in the queue. Move-only: a moved one keeps its place.
template <class T>
class rendezvous_offer : public offer_core {
 public:
  rendezvous_offer() noexcept = default;
  explicit rendezvous_offer(T value) : value_(std::in_place, std::move(value)) {}
  /// The value moves first: if that throws, the offer stays where it is.
  rendezvous_offer(rendezvous_offer&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : rendezvous_offer(std::move(other), inside(extension::gate_of(other))) {}
  /// What this one offered is withdrawn, and its value destroyed.
  rendezvous_offer& operator=(rendezvous_offer&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this != &other) {
      withdraw();
      value_.reset();  // Nobody else can have it any more: it ends outside.
      const inside in(extension::gate_of(other));
      is_taken_ = false;
      if (other.value_.has_value()) value_.emplace(std::move(*other.value_));
      offer_core::operator=(std::move(other));
      other.value_.reset();
    }
    return *this;
  }
  ~rendezvous_offer() { withdraw(); }  // Before its value goes, whose destructor may receive.

  /// What is to be sent next; what was offered before is withdrawn and destroyed.
  void put(T value) {
    withdraw();
    is_taken_ = false;
    value_.emplace(std::move(value));
  }
  /// Withdraws it. Empty when the receiver has it, or none was put.
  [[nodiscard]] std::optional<T> take() {
    withdraw();
    std::optional<T> out;
    if (value_.has_value()) {
      out.emplace(std::move(*value_));
      value_.reset();
    }
    return out;
  }
  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  /// Null when it has none.
  [[nodiscard]] const T* value() const noexcept { return value_.has_value() ? &*value_ : nullptr; }

 private:
  template <class>
  friend class rendezvous_sender;
  template <class>
  friend class rendezvous_receiver;
  [[nodiscard]] bool was_taken() noexcept { return std::exchange(is_taken_, false); }
  rendezvous_offer(rendezvous_offer&& other, const inside&) noexcept(std::is_nothrow_move_constructible_v<T>)
      : offer_core(), value_(std::move(other.value_)) {
    offer_core::operator=(std::move(other));
    other.value_.reset();
  }
  /// Out of the queue; and a receiver on another thread that has just served it is done with it.
  void withdraw() noexcept {
    const inside in(extension::gate_of(*this));
    leave();
  }

  std::optional<T> value_;
};

template <class T>
class rendezvous_sender {
 public:
  rendezvous_sender() noexcept = default;  // Dead, as is one that was dropped or moved from.

  /// stale_handle from a dead one. A copy is the same without the answer.
  [[nodiscard]] status clone(rendezvous_sender& out) const noexcept {
    const inside in(end_.gate());
    if (end_.get() == nullptr) return end_.why_not();
    out = *this;
    return status::ok;
  }
  void drop() noexcept { end_.drop(); }  // Its offers are withdrawn.
  [[nodiscard]] bool is_live() const noexcept { return !end_.is_dead(); }

  /// A cancel point. ok: the receiver has the value. would_block: the offer stands in the queue, and the task
  /// is woken when it was taken. stale_handle, cancelled, disconnected, resource_exhausted (max_channel_waiters): it
  /// stands there no more, and the value is in it. invalid_argument: there is no value in it.
  /// `is_one_of_several`: the task waits with other offers besides, and goes on with the first that is taken.
  [[nodiscard]] status poll_send(cx& c, rendezvous_offer<T>& offer, bool is_one_of_several = false) noexcept {
    const inside in(end_.gate());
    if (offer.was_taken()) return status::ok;
    auto* const core = static_cast<rendezvous_core*>(end_.get());
    if (core == nullptr) {
      offer.leave();
      return end_.poll_gone(c);
    }
    if (!offer.has_value()) return status::invalid_argument;
    return core->poll_send(end_, c, offer, is_one_of_several);
  }
  [[nodiscard]] status inspect(rendezvous_report& out) const noexcept {
    const inside in(end_.gate());
    const auto* const core = static_cast<rendezvous_core*>(end_.get());
    if (core == nullptr) return end_.why_not();
    out = core->report();
    return status::ok;
  }

 private:
  template <class>
  friend struct rendezvous_ends;
  explicit rendezvous_sender(rendezvous_core& core) noexcept : end_(core, hub_side::sender) {}
  hub_end end_;
};

template <class T>
class rendezvous_receiver {
 public:
  rendezvous_receiver() noexcept = default;  // Dead, as is one that was dropped or moved from.
  rendezvous_receiver(rendezvous_receiver&&) noexcept = default;
  rendezvous_receiver& operator=(rendezvous_receiver&& other) noexcept {
    if (this != &other) {
      drop();
      end_ = std::move(other.end_);
    }
    return *this;
  }
  ~rendezvous_receiver() { drop(); }

  void drop() noexcept {
    const inside in(end_.gate());
    if (rendezvous_core* const core = get(); core != nullptr) core->stop_waiting();
    end_.drop();
  }
  [[nodiscard]] bool is_live() const noexcept { return !end_.is_dead(); }

  /// A cancel point. ok and the value that was offered first; stale_handle, cancelled, disconnected; reentrant from
  /// inside the move of a value out of its offer; would_block: the task is woken when there is an offer.
  recv_result<T> poll_recv(cx& c) {
    recv_result<T> out;
    out.code = poll_into(c, out.value);
    return out;
  }
  /// The same, made where it is wanted; `out` is empty.
  [[nodiscard]] status poll_into(cx& c, std::optional<T>& out) {
    const inside in(end_.gate());
    rendezvous_core* const core = get();
    const status s = core == nullptr ? end_.poll_gone(c) : core->poll_recv(c);
    if (s == status::ok) take(*core, out);
    return s;
  }
  /// As poll_recv, but takes nothing: ok when try_recv would give a value now.
  [[nodiscard]] status poll_ready(cx& c) noexcept {
    const inside in(end_.gate());
    rendezvous_core* const core = get();
    return core == nullptr ? end_.poll_gone(c) : core->poll_recv(c);
  }
  /// Takes back what poll_recv or poll_ready left behind when it said would_block.
  void stop_waiting() noexcept {
    const inside in(end_.gate());
    if (rendezvous_core* const core = get(); core != nullptr) core->stop_waiting();
  }
  /// ok and the value that was offered first; stale_handle, disconnected, reentrant, empty.
  recv_result<T> try_recv() {
    recv_result<T> out;
    out.code = try_into(out.value);
    return out;
  }
  /// The same, made where it is wanted; `out` is empty.
  [[nodiscard]] status try_into(std::optional<T>& out) {
    const inside in(end_.gate());
    rendezvous_core* const core = get();
    const status s = core == nullptr ? end_.why_not() : core->try_recv();
    if (s == status::ok) take(*core, out);
    return s;
  }
  [[nodiscard]] const gate_port* gate() const noexcept { return end_.gate(); }
  [[nodiscard]] status inspect(rendezvous_report& out) const noexcept {
    const inside in(end_.gate());
    const rendezvous_core* const core = get();
    if (core == nullptr) return end_.why_not();
    out = core->report();
    return status::ok;
  }

 private:
  template <class>
  friend struct rendezvous_ends;
  explicit rendezvous_receiver(rendezvous_core& core) noexcept : end_(core, hub_side::receiver) {}
  [[nodiscard]] rendezvous_core* get() const noexcept { return static_cast<rendezvous_core*>(end_.get()); }

  void take(rendezvous_core& core, std::optional<T>& out) {
    auto& offer = static_cast<rendezvous_offer<T>&>(core.head());
    {
      const hub_hold held(core);
      out.emplace(std::move(*offer.value_));
      core.finish(offer);
    }
    offer.value_.reset();
  }

  hub_end end_;
};

template <class T>
struct [[nodiscard]] rendezvous_ends {
  status code = status::ok;
  rendezvous_sender<T> tx{};
  rendezvous_receiver<T> rx{};

  static rendezvous_ends of(status code, rendezvous_core* core) noexcept {
    if (code != status::ok) return {code, {}, {}};
    return {code, rendezvous_sender<T>(*core), rendezvous_receiver<T>(*core)};
  }
};

/// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_channels, max_bytes, memory): both ends
/// are dead then.
template <class T>
rendezvous_ends<T> rendezvous(kernel& k, region_handle region, std::string_view name = {}) noexcept {
  static_assert(std::is_nothrow_destructible_v<T>, "a message must be destructible without throwing");
  rendezvous_core* core = nullptr;
  const status s = rendezvous_core::create(k, region, name, core);
  return rendezvous_ends<T>::of(s, core);
}

/// In the region of the task.
template <class T>
rendezvous_ends<T> rendezvous(cx& c, std::string_view name = {}) noexcept {
  return rendezvous<T>(c.kernel(), c.region(), name);
}

}  // namespace asx
