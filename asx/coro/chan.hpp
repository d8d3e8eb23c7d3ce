// asx/coro/chan.hpp - awaiting channels: reserve, send, recv.
//
//     auto permit = co_await asx::reserve(tx);                 // or ends: cancelled, or err disconnected
//     permit.send(value);
//     co_await asx::send(tx, value);                           // both in one
//     while (auto got = co_await asx::recv(rx)) use(*got);     // empty: no sender is left
//
// 1  A value is not lost: `send` keeps it until the slot is there; when it ends otherwise, the value is in the answer
//    of `attempt(send(...))`, or destroyed with the coroutine that asked. What must not be lost is sent in two steps.
// 2  recv gives an empty optional when the other side is gone; that is the end of a loop, not an error.
//
// Cancel points: reserve, send, recv.
// Threads: the runtime's. Lifetime: the ends outlive the operation.
#pragma once

#include <optional>
#include <source_location>
#include <utility>

#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/coro/task.hpp"

namespace asx {

namespace detail {

// A permit to be, and the wait for it. Operations are moved into their awaiters before they are polled: then there is
// nothing to move.
template <class Permit>
struct pending_permit {
  pending_permit() noexcept = default;
  pending_permit(pending_permit&& other) noexcept {
    if (other.wait.is_waiting()) wait = std::move(other.wait);
    if (other.permit.is_held()) permit = std::move(other.permit);
  }
  pending_permit& operator=(pending_permit&&) = delete;
  ~pending_permit() = default;

  reserve_wait wait;
  Permit permit;
};

template <class Sender, class Permit>
class reserve_op {
 public:
  explicit reserve_op(Sender& tx) noexcept : tx_(&tx) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, to_be_.wait, to_be_.permit); }
  Permit take() noexcept { return std::move(to_be_.permit); }

 private:
  Sender* tx_;
  pending_permit<Permit> to_be_;
};

template <class T>
class tracked_reserve_op {
 public:
  tracked_reserve_op(tracked_sender<T>& tx, const std::source_location& site) noexcept : tx_(&tx), site_(site) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, to_be_.wait, to_be_.permit, site_); }
  tracked_permit<T> take() noexcept { return std::move(to_be_.permit); }

 private:
  tracked_sender<T>* tx_;
  std::source_location site_;
  pending_permit<tracked_permit<T>> to_be_;
};

template <class T>
class send_op {
 public:
  send_op(sender<T>& tx, T&& value) : tx_(&tx), value_(std::move(value)) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, to_be_.wait, to_be_.permit); }
  void take() { static_cast<void>(to_be_.permit.send(std::move(value_))); }
  /// What attempt gives: the value comes back when the code is not ok.
  send_result<T> answer(status code) {
    if (code == status::ok) return to_be_.permit.send(std::move(value_));
    return {code, std::optional<T>(std::in_place, std::move(value_))};
  }

 private:
  sender<T>* tx_;
  T value_;
  pending_permit<send_permit<T>> to_be_;
};

template <class T>
class recv_op {
 public:
  explicit recv_op(receiver<T>& rx) noexcept : rx_(&rx) {}
  recv_op(recv_op&& other) noexcept(is_quiet)
      : rx_(other.rx_), is_waiting_(std::exchange(other.is_waiting_, false)), is_over_(other.is_over_) {
    if (may_have_gates() && other.got_) [[unlikely]]
      got_.emplace(std::move(*other.got_));
  }
  recv_op& operator=(recv_op&&) = delete;
  ~recv_op() {
    if (is_waiting_) rx_->stop_waiting();  // It lost, or its coroutine ends.
  }

  ASX_ALWAYS_INLINE status poll(cx& c) noexcept(is_quiet) {
    if (may_have_gates()) [[unlikely]]
      return poll_and_take(c);
    return say(rx_->look_now(c));
  }
  std::optional<T> take() {
    std::optional<T> out;
    take_into(out);
    return out;
  }
  ASX_ALWAYS_INLINE void take_into(std::optional<T>& out) {
    if (may_have_gates() && got_) [[unlikely]] {
      out.emplace(std::move(*got_));
    } else if (!is_over_) {
      rx_->take_now(out);  // Without a gate; among threads what there was is in got_.
    }
  }

 private:
  static constexpr bool is_quiet = std::is_nothrow_move_constructible_v<T>;

  ASX_ALWAYS_INLINE status say(status s) noexcept {
    is_waiting_ = s == status::would_block;
    is_over_ = s == status::disconnected;
    return is_over_ ? status::ok : s;
  }
  // Among threads what is there now may be evicted before it is taken.
  ASX_OUT_OF_THE_WAY status poll_and_take(cx& c) noexcept(is_quiet) { return say(rx_->poll_into(c, got_)); }

  receiver<T>* rx_;
  bool is_waiting_ = false;
  bool is_over_ = false;
  std::optional<T> got_;
};

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
  return detail::send_op<T>(tx, T(std::forward<U>(value)));
}
/// A cancel point. Empty when no sender is left and everything was received.
template <class T>
[[nodiscard("co_await recv(...)")]] auto recv(receiver<T>& rx) noexcept {
  return detail::recv_op<T>(rx);
}

}  // namespace asx
