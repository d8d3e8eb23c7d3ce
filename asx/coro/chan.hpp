// asx/coro/chan.hpp - awaiting channels: reserve, send, recv.
//
//     auto permit = co_await asx::reserve(tx);                 // or ends: cancelled, or err disconnected
//     permit.send(value);
//     co_await asx::send(tx, value);                           // both in one
//     while (auto got = co_await asx::recv(rx)) use(*got);     // empty: no sender is left
//
// 1  A value is not lost: `send` keeps it until the slot is there; when it ends otherwise, the value is in the answer
//    of `attempt(send(...))`, or destroyed with the coroutine that asked. What must not be lost is sent in two steps.
//    A `send` that waits is done by the channel as soon as it is its turn: by then it is sent, also when its task is
//    cancelled before it goes on, which the next cancel point says.
// 2  recv gives an empty optional when the other side is gone; that is the end of a loop, not an error.
// 3  A message whose move throws stays in its channel: what a task, an attempt or a select gets is moved once,
//    to where it goes, among threads, too. With such messages and threads, a send to a receiver that goes at that
//    moment is not told of it, and what a receive has found may be gone with the region before it is taken: then it is
//    over.
//
// Cancel points: reserve, send, recv.
// Threads: the runtime's. Lifetime: the ends outlive the operation.
#pragma once

#include <concepts>
#include <new>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "asx/base/construct.hpp"
#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/coro/task.hpp"

namespace asx {

/// What `co_await recv(...)` gives: a std::optional that is made where it is wanted. A plain one of a small value comes
/// in two registers, is put together in memory and copied from there, and the copy waits longer than the message took.
/// It is copied, moved, tested and compared for equality as an optional, and becomes one; for an order, make it one.
template <class T>
class received : public std::optional<T> {
 public:
  received() noexcept = default;
  received(std::nullopt_t) noexcept {}
  received(std::optional<T>&& other) : std::optional<T>(std::move(other)) {}
  received(const std::optional<T>& other)
    requires std::copy_constructible<T>
      : std::optional<T>(other) {}
  explicit received(std::in_place_t, T&& value) : std::optional<T>(std::in_place, std::move(value)) {}
  received(const received&) = default;
  received(received&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {  // By its parts.
    if (other) this->emplace(std::move(*other));
  }
  received& operator=(const received&) = default;
  received& operator=(received&&) = default;
  ~received() = default;

  // As the optional that it is: those of the standard library would compare it with what lies in the other one.
  friend bool operator==(const received& a, const received& b) { return a.plain() == b.plain(); }
  friend bool operator==(const received& a, const std::optional<T>& b) { return a.plain() == b; }
  friend bool operator==(const std::optional<T>& a, const received& b) { return a == b.plain(); }
  template <class U>
    requires(!std::is_base_of_v<std::optional<T>, U>)
  friend bool operator==(const received& a, const U& b) {
    return a.plain() == b;
  }

 private:
  [[nodiscard]] const std::optional<T>& plain() const noexcept { return *this; }
};

namespace detail {

// A bool would be made from it by its condition, and not by its value.
template <class T>
using received_of = std::conditional_t<std::is_constructible_v<T, received<T>>, std::optional<T>, received<T>>;

// A permit to be, and the wait for it: made when they are needed. Most operations are ready at once.
template <class Permit>
class pending_permit {
 public:
  pending_permit() noexcept {}
  pending_permit(pending_permit&& other) noexcept : was_sent_(other.was_sent_) {
    if (other.is_begun_) begin().take(other.both_);
  }
  pending_permit& operator=(pending_permit&&) = delete;
  ~pending_permit() { end(); }
  void end() noexcept {
    if (!is_begun_) return;
    is_begun_ = false;
    both_.~pair();
  }
  /// The channel has sent what stood in the queue. Asked inside.
  [[nodiscard]] bool was_taken() const noexcept { return is_begun_ && both_.wait.was_taken(); }

  [[nodiscard]] reserve_wait& wait() noexcept { return begin().wait; }
  [[nodiscard]] Permit& permit() noexcept { return begin().permit; }
  [[nodiscard]] bool is_begun() const noexcept { return is_begun_; }
  /// What it was for has been done. It is said here, where there is room for it.
  void note_sent() noexcept { was_sent_ = true; }
  [[nodiscard]] bool was_sent() const noexcept { return was_sent_; }

 private:
  struct pair {
    void take(pair& other) noexcept {
      if (other.wait.is_waiting() || other.wait.was_taken()) wait = std::move(other.wait);
      if (other.permit.is_held()) permit = std::move(other.permit);
    }
    reserve_wait wait;
    Permit permit;
  };
  pair& begin() noexcept {
    if (!is_begun_) {
      new (&both_) pair;
      is_begun_ = true;
    }
    return both_;
  }

  bool is_begun_ = false;
  bool was_sent_ = false;
  union {
    pair both_;
  };
};

template <class Sender, class Permit>
class reserve_op {
 public:
  explicit reserve_op(Sender& tx) noexcept : tx_(&tx) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, to_be_.wait(), to_be_.permit()); }
  Permit take() noexcept { return std::move(to_be_.permit()); }
  [[nodiscard]] const gate_port* gate() const noexcept { return tx_->gate(); }
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_ready_now(cx& c) const noexcept {
    return !to_be_.is_begun() && tx_->is_free_now(c);
  }
  [[nodiscard]] ASX_ALWAYS_INLINE Permit take_now(cx& c) noexcept { return tx_->reserve_now(c); }
  void end() noexcept { to_be_.end(); }

 private:
  Sender* tx_;
  pending_permit<Permit> to_be_;
};

template <class T>
class tracked_reserve_op {
 public:
  tracked_reserve_op(tracked_sender<T>& tx, const std::source_location& site) noexcept : tx_(&tx), site_(site) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, to_be_.wait(), to_be_.permit(), site_); }
  tracked_permit<T> take() noexcept { return std::move(to_be_.permit()); }
  void end() noexcept { to_be_.end(); }

 private:
  tracked_sender<T>* tx_;
  std::source_location site_;
  pending_permit<tracked_permit<T>> to_be_;
};

template <class T>
class send_op {
 public:
  send_op(sender<T>& tx, T&& value) : tx_(&tx), value_(std::move(value)) {}
  send_op(send_op&& other) noexcept(is_quiet) : send_op(std::move(other), inside(other.gate_if_any())) {}
  send_op& operator=(send_op&&) = delete;
  ~send_op() = default;

  status poll(cx& c) noexcept {
    const inside here(gate_if_any());
    if (is_sent()) return status::ok;
    if (is_in_line()) return poll_in_line(c, false);
    const status s = tx_->poll_reserve(c, to_be_.wait(), to_be_.permit());
    if constexpr (is_quiet) {
      if (s == status::ok && may_have_gates()) [[unlikely]]
        return send_now();
    }
    return s;
  }
  /// Nothing else is waited for that could be decided for by then: the message waits in the queue, and is taken there.
  status poll_alone(cx& c) noexcept {
    const inside here(gate_if_any());
    const status s = poll(c);
    if constexpr (is_quiet) {
      if (s == status::would_block) tx_->stand_with(to_be_.wait(), value_);
    }
    return s;
  }
  /// It was sent from where it waits: there is no way back.
  [[nodiscard]] bool has_happened() const noexcept { return to_be_.was_taken(); }
  [[nodiscard]] bool is_given_away() const noexcept { return has_happened(); }
  void take() {
    if (to_be_.was_sent()) return;
    static_cast<void>(to_be_.permit().send(std::move(value_)));
    to_be_.note_sent();
  }
  [[nodiscard]] const gate_port* gate() const noexcept { return tx_->gate(); }
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_ready_now(cx& c) const noexcept {
    return !to_be_.is_begun() && tx_->is_free_now(c);
  }
  /// It has nothing to send any more: for those who may ask it again, by its name.
  [[nodiscard]] bool is_spent() const noexcept { return to_be_.was_sent(); }
  ASX_ALWAYS_INLINE void take_now(cx& c) {
    if constexpr (is_plain<T>) {
      tx_->send_at_once(value_);
    } else {
      static_cast<void>(tx_->reserve_now(c).send(std::move(value_)));
    }
  }
  [[nodiscard]] status poll_unready(cx& c) noexcept {
    if (is_sent()) return status::ok;
    if (is_in_line()) return poll_in_line(c, true);
    const status s = tx_->wait_for_turn(c, to_be_.wait(), to_be_.permit());
    if constexpr (is_quiet) {
      if (s == status::would_block) tx_->stand_with(to_be_.wait(), value_);
    }
    return s;
  }
  [[nodiscard]] ASX_ALWAYS_INLINE bool waits_now(cx& c) noexcept {
    if constexpr (is_quiet) {
      if (to_be_.is_begun() || !tx_->waits_now(c, to_be_.wait())) return false;
      tx_->stand_with(to_be_.wait(), value_);
      return true;
    } else {
      return false;
    }
  }
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_done_again(cx& c) noexcept {
    if (is_sent()) return true;
    if constexpr (is_plain<T>) {
      if (!tx_->send_in_turn(c, to_be_.wait(), value_)) return false;
      to_be_.note_sent();
      return true;
    } else {
      return false;
    }
  }
  /// What attempt gives: the value comes back when the code is not ok.
  send_result<T> answer(status code) {
    if (to_be_.was_sent()) return {};
    if (code == status::ok) return to_be_.permit().send(std::move(value_));
    return {code, std::optional<T>(std::in_place, std::move(value_))};
  }
  void end() noexcept {
    if (!to_be_.is_begun()) return;
    const inside here(gate_if_any());
    static_cast<void>(is_sent());
    to_be_.end();
  }
  /// The value, when it was not sent; it is spent then.
  [[nodiscard]] std::optional<T> take_back() {
    std::optional<T> out;
    const inside here(gate_if_any());
    if (is_sent()) return out;
    out.emplace(std::move(value_));
    to_be_.end();
    to_be_.note_sent();
    return out;
  }

 private:
  static constexpr bool is_quiet = std::is_nothrow_move_constructible_v<T>;

  [[nodiscard]] const gate_port* gate_if_any() const noexcept { return may_have_gates() ? tx_->gate() : nullptr; }
  // Inside: nobody takes a message that moves.
  send_op(send_op&& other, const inside&) noexcept(is_quiet)
      : tx_(other.tx_), value_(std::move(other.value_)), to_be_(std::move(other.to_be_)) {}
  // By a permit, or from where it waited.
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_sent() noexcept {
    if (to_be_.was_taken()) {
      static_cast<void>(to_be_.wait().is_told_taken());
      to_be_.note_sent();
    }
    return to_be_.was_sent();
  }
  // What waited has its turn with the message, and not with a permit: behind a permit that was claimed, the message of
  // the next one in the queue would be taken before this one is sent (INV-CH-03).
  [[nodiscard]] bool is_in_line() noexcept { return is_quiet && to_be_.is_begun() && to_be_.wait().is_waiting(); }
  ASX_OUT_OF_THE_WAY status poll_in_line(cx& c, bool stands) noexcept {
    if constexpr (is_quiet) {
      reserve_wait& w = to_be_.wait();
      const status s = stands ? tx_->poll_send(c, w, value_) : tx_->poll_send_itself(c, w, value_);
      if (s == status::ok) to_be_.note_sent();
      return s;
    } else {
      return status::would_block;
    }
  }
  // Among threads the receiver may go while there is a permit and no message yet: that is told, and the value is here
  // again.
  ASX_OUT_OF_THE_WAY status send_now() noexcept {
    send_result<T> told = to_be_.permit().send(std::move(value_));
    if (told.code == status::ok) {
      to_be_.note_sent();
    } else if (told.value) {
      std::destroy_at(std::addressof(value_));
      std::construct_at(std::addressof(value_), std::move(*told.value));
    }
    return told.code;
  }

  sender<T>* tx_;
  T value_;
  pending_permit<send_permit<T>> to_be_;
};

template <class T>
class recv_op {
 public:
  explicit recv_op(receiver<T>& rx) noexcept : rx_(&rx) {}
  recv_op(recv_op&& other) noexcept
      : rx_(other.rx_), is_waiting_(std::exchange(other.is_waiting_, false)), is_over_(other.is_over_) {
    if constexpr (is_quiet) {
      if (may_have_gates() && other.got_) [[unlikely]]
        got_.emplace(std::move(*other.got_));
    }
  }
  recv_op& operator=(recv_op&&) = delete;
  ~recv_op() { leave(); }
  void end() noexcept {
    leave();
    if (may_have_gates()) [[unlikely]]
      got_.reset();
  }

  ASX_ALWAYS_INLINE status poll(cx& c) noexcept {
    if (may_have_gates()) [[unlikely]]
      return poll_among_threads(c);
    return say(rx_->look_now(c));
  }
  [[nodiscard]] const gate_port* gate() const noexcept { return rx_->gate(); }
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_ready_now(cx& c) const noexcept { return !is_waiting_ && rx_->has_now(c); }
  [[nodiscard]] status poll_unready(cx& c) noexcept { return say(rx_->wait_or_look(c)); }
  [[nodiscard]] ASX_ALWAYS_INLINE bool waits_now(cx& c) noexcept { return is_waiting_ = rx_->waits_now(c); }
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_ready_again(cx& c) noexcept {
    if (!rx_->has_now(c)) return false;
    is_waiting_ = false;
    return true;
  }
  [[nodiscard]] ASX_ALWAYS_INLINE received_of<T> take_now(cx&) { return rx_->template recv_now<received_of<T>>(); }
  std::optional<T> take() { return take_as<std::optional<T>>(); }
  /// Made as what it is wanted for: once it is moved out of the channel, nothing may throw.
  template <class Optional>
  [[nodiscard]] Optional take_as() {
    Optional out;
    fill(out);
    return out;
  }
  /// The same where there is an empty one, for what must not be moved again.
  template <class Optional>
    requires(!std::is_nothrow_move_constructible_v<T>)
  ASX_OUT_OF_THE_WAY void take_into(Optional& out) {
    fill(out);
  }

 private:
  static constexpr bool is_quiet = std::is_nothrow_move_constructible_v<T>;

  // It lost, or its coroutine ends.
  void leave() noexcept {
    if (!is_waiting_) return;
    is_waiting_ = false;
    rx_->stop_waiting();
  }
  template <class Optional>
  ASX_ALWAYS_INLINE void fill(Optional& out) {
    if (may_have_gates() && got_) [[unlikely]] {
      out.emplace(std::move(*got_));
      got_.reset();  // It may be asked again, by its name.
    } else if (!is_over_) {
      if constexpr (is_quiet) {
        rx_->take_now(out);  // Without a gate; among threads what there was is in got_.
      } else {
        const inside in(rx_->gate());
        rx_->take_now(out);
      }
    }
  }
  ASX_ALWAYS_INLINE status say(status s) noexcept {
    is_waiting_ = s == status::would_block;
    if (is_waiting_) return s;
    is_over_ = s == status::disconnected;
    return is_over_ ? status::ok : s;
  }
  // Among threads what is there now may be gone before it is taken. What must not be moved twice is only looked at:
  // there is one receiver, and who evicts puts another one there.
  ASX_OUT_OF_THE_WAY status poll_among_threads(cx& c) noexcept {
    if constexpr (is_quiet) {
      return say(rx_->poll_into(c, got_));
    } else {
      return say(rx_->poll_ready(c));
    }
  }

  receiver<T>* rx_;
  bool is_waiting_ = false;
  bool is_over_ = false;
  std::optional<T> got_;
};

}  // namespace detail

namespace detail {

/// What becomes a message by itself, or by a constructor. A cast would take a text for a number, and a base for what
/// was derived from it.
template <class T, class U>
inline constexpr bool becomes =
    std::is_class_v<T> || std::is_union_v<T>
        ? std::is_constructible_v<T, U>
        : std::is_convertible_v<U, T> && !(std::is_integral_v<T> && std::is_floating_point_v<std::remove_cvref_t<U>>);

template <class T, class U>
consteval void check_message() noexcept {
  static_assert(becomes<T, U>,
                "asx: this does not become a message of that channel by itself: send what the channel "
                "carries, or write the cast");
}
template <class T, class U>
[[nodiscard]] T message_from(U&& value) {
  if constexpr (becomes<T, U>) {
    return static_cast<T>(std::forward<U>(value));
  } else {
    return message_from<T>(std::forward<U>(value));  // Of what was told.
  }
}

}  // namespace detail

/// A cancel point. Gives a permit.
template <class T>
[[nodiscard("co_await reserve(...)")]] auto reserve(sender<T>& tx) noexcept {
  return detail::reserve_op<sender<T>, send_permit<T>>(tx);
}
/// A cancel point. Gives a tracked permit: an obligation of the region of the task that awaits.
template <class T>
[[nodiscard("co_await reserve(...)")]] auto reserve(
    tracked_sender<T>& tx, std::source_location site = std::source_location::current()) noexcept {
  return detail::tracked_reserve_op<T>(tx, site);
}
/// A cancel point.
template <class T, class U = T>
[[nodiscard("co_await send(...)")]] auto send(sender<T>& tx, U&& value) {
  detail::check_value<U>();
  static_assert(!std::is_same_v<T, std::remove_cvref_t<U>> || !detail::is_not_moved<U>,
                "asx: a message is copied into the channel, and this one can only be moved: send(tx, std::move(m))");
  detail::check_message<T, U>();
  return detail::send_op<T>(tx, detail::message_from<T>(std::forward<U>(value)));
}
/// A cancel point. Empty when no sender is left and everything was received.
template <class T>
[[nodiscard("co_await recv(...)")]] auto recv(receiver<T>& rx) noexcept {
  return detail::recv_op<T>(rx);
}

template <class... Args>
auto reserve(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<>();
}
template <class... Args>
auto send(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<void>();
}
template <class... Args>
auto recv(const cx&, Args&&...) {
  detail::explain_needless_cx<Args...>();
  return detail::mistaken_op<>();
}

}  // namespace asx
