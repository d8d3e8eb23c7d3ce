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

template <class Sender, class Permit>
class reserve_op {
 public:
  explicit reserve_op(Sender& tx) noexcept : tx_(&tx) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, wait_, permit_); }
  Permit take() noexcept { return std::move(permit_); }

 private:
  Sender* tx_;
  reserve_wait wait_;
  Permit permit_;
};

template <class T>
class tracked_reserve_op {
 public:
  tracked_reserve_op(tracked_sender<T>& tx, const std::source_location& site) noexcept : tx_(&tx), site_(site) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, wait_, permit_, site_); }
  tracked_permit<T> take() noexcept { return std::move(permit_); }

 private:
  tracked_sender<T>* tx_;
  std::source_location site_;
  reserve_wait wait_;
  tracked_permit<T> permit_;
};

template <class T>
class send_op {
 public:
  send_op(sender<T>& tx, T&& value) : tx_(&tx), value_(std::move(value)) {}
  status poll(cx& c) noexcept { return tx_->poll_reserve(c, wait_, permit_); }
  void take() { static_cast<void>(permit_.send(std::move(value_))); }
  /// What attempt gives: the value comes back when the code is not ok.
  send_result<T> answer(status code) {
    if (code == status::ok) return permit_.send(std::move(value_));
    return {code, std::optional<T>(std::in_place, std::move(value_))};
  }

 private:
  sender<T>* tx_;
  T value_;
  reserve_wait wait_;
  send_permit<T> permit_;
};

template <class T>
class recv_op {
 public:
  explicit recv_op(receiver<T>& rx) noexcept : rx_(&rx) {}
  recv_op(recv_op&& other) noexcept
      : rx_(other.rx_), is_waiting_(std::exchange(other.is_waiting_, false)), is_over_(other.is_over_) {}
  recv_op& operator=(recv_op&&) = delete;
  ~recv_op() {
    if (is_waiting_) rx_->stop_waiting();  // It lost, or its coroutine ends.
  }

  status poll(cx& c) noexcept {
    const status s = rx_->poll_ready(c);
    is_waiting_ = s == status::would_block;
    is_over_ = s == status::disconnected;
    return is_over_ ? status::ok : s;
  }
  std::optional<T> take() {
    if (is_over_) return std::nullopt;
    return std::move(rx_->try_recv().value);
  }

 private:
  receiver<T>* rx_;
  bool is_waiting_ = false;
  bool is_over_ = false;
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
