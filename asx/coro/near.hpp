// asx/coro/near.hpp - awaiting the neighbours of channels: oneshot, watch, broadcast, rendezvous.
//
//     const auto answer = co_await asx::recv(reply);                  // oneshot: the value, or empty: it never comes
//     while (const bool is_new = co_await asx::changed(settings)) ... // watch: false when all senders are gone
//     const auto news = co_await asx::recv(feed);                     // broadcast: code ok, lagged or disconnected
//     co_await asx::hand_over(tx, value);                             // rendezvous: over when the receiver has it
//
// Laws: as asx/chan. That the other side is gone is an answer here, not an error; hand_over ends with disconnected.
// What a broadcast gives is copied once, to where it goes, and is the next one still when that throws.
// What a rendezvous hands over is moved once, from its offer to where it goes, and stays there when that throws
// . Among threads it is moved twice, because the sender may go in between: it is lost when the second one
// throws.
//
// Cancel points: all of them. Threads: the runtime's. Lifetime: the ends outlive the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "asx/chan/broadcast.hpp"
#include "asx/chan/oneshot.hpp"
#include "asx/chan/rendezvous.hpp"
#include "asx/chan/watch.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/task.hpp"

namespace asx {

namespace detail {

// Of a rendezvous; a oneshot is awaited as the channel that it is.
template <class T>
class take_op {
 public:
  explicit take_op(rendezvous_receiver<T>& rx) noexcept : rx_(&rx) {}
  take_op(take_op&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : rx_(other.rx_),
        is_waiting_(std::exchange(other.is_waiting_, false)),
        is_over_(other.is_over_),
        value_(std::move(other.value_)) {}
  take_op& operator=(take_op&&) = delete;
  ~take_op() { withdraw(); }
  /// It lost, or its coroutine ends.
  void withdraw() noexcept {
    if (std::exchange(is_waiting_, false)) rx_->stop_waiting();
  }

  status poll(cx& c) noexcept(is_quiet) {
    const status s = is_taken_by_poll() ? rx_->poll_into(c, value_) : rx_->poll_ready(c);
    is_waiting_ = s == status::would_block;
    is_over_ = s == status::disconnected;
    return is_over_ ? status::ok : s;
  }
  std::optional<T> take() {
    std::optional<T> out;
    fill(out);
    return out;
  }
  /// The same where there is an empty one, for what must not be moved again.
  void take_into(std::optional<T>& out)
    requires(!std::is_nothrow_move_constructible_v<T>)
  {
    fill(out);
  }

 private:
  static constexpr bool is_quiet = std::is_nothrow_move_constructible_v<T>;
  // Where nobody can come between, what must not be moved twice is left in its offer until it is taken.
  [[nodiscard]] bool is_taken_by_poll() const noexcept { return is_quiet || rx_->gate() != nullptr; }
  void fill(std::optional<T>& out) {
    if (value_) {
      out.emplace(std::move(*value_));
      value_.reset();
    } else if (!is_over_) {
      static_cast<void>(rx_->try_into(out));
    }
  }

  rendezvous_receiver<T>* rx_;
  bool is_waiting_ = false;
  bool is_over_ = false;
  std::optional<T> value_;
};

template <class T>
class changed_op {
 public:
  explicit changed_op(watch_receiver<T>& rx) noexcept : rx_(&rx) {}
  status poll(cx& c) noexcept {
    const status s = rx_->poll_changed(c, wait_);
    has_changed_ = s == status::ok;
    return s == status::disconnected ? status::ok : s;
  }
  bool take() const noexcept { return has_changed_; }
  /// It lost, and waits no more.
  void leave() noexcept { wait_.leave(); }

 private:
  watch_receiver<T>* rx_;
  watch_wait wait_;
  bool has_changed_ = false;
};

template <class T>
class listen_op {
 public:
  explicit listen_op(broadcast_receiver<T>& rx) noexcept : rx_(&rx) {}
  // Nobody else receives with this end: what it found is there when it is taken, or was overwritten, which is told.
  status poll(cx& c) noexcept {
    std::uint64_t skipped = 0;
    const status s = rx_->poll_ready(c, wait_, skipped);
    if (s != status::lagged && s != status::disconnected) return s;
    found_ = {s, skipped};
    return status::ok;
  }
  broadcast_result<T> take() {
    broadcast_result<T> out;
    fill(out);
    return out;
  }
  /// The same where there is an empty one, for what must not be moved again.
  void take_into(broadcast_result<T>& out)
    requires(!std::is_nothrow_move_constructible_v<T>)
  {
    fill(out);
  }
  /// It lost, and waits no more.
  void leave() noexcept { wait_.leave(); }

 private:
  void fill(broadcast_result<T>& out) {
    if (found_.code == status::ok) return rx_->try_into(out);
    out.code = std::exchange(found_.code, status::ok);
    out.skipped = found_.skipped;
  }

  struct finding {
    status code = status::ok;
    std::uint64_t skipped = 0;
  };
  broadcast_receiver<T>* rx_;
  broadcast_wait wait_;
  finding found_;  // ok: a value, which is still where it was.
};

template <class T>
class hand_over_op {
 public:
  hand_over_op(rendezvous_sender<T>& tx, T&& value) : tx_(&tx) { offer_.put(std::move(value)); }
  status poll(cx& c) noexcept { return tx_->poll_send(c, offer_, true); }
  status poll_alone(cx& c) noexcept { return tx_->poll_send(c, offer_); }
  void take() const noexcept {}
  /// What attempt gives: the value comes back when the code is not ok.
  send_result<T> answer(status code) {
    if (code == status::ok) return {};
    return {code, offer_.take()};
  }
  /// A receiver has it: there is no way back, whatever else is ready.
  [[nodiscard]] bool has_happened() const noexcept { return offer_.is_taken(); }
  [[nodiscard]] bool is_given_away() const noexcept { return has_happened(); }
  /// Something else was decided for: nobody may take it from now on.
  void withdraw() noexcept { offer_.leave(); }
  /// The value, when nobody has taken it; it is spent then.
  [[nodiscard]] std::optional<T> take_back() { return offer_.take(); }

 private:
  rendezvous_sender<T>* tx_;
  rendezvous_offer<T> offer_;
};

}  // namespace detail

/// A cancel point. Empty when it was received before, or will never come.
template <class T>
[[nodiscard("co_await recv(...)")]] auto recv(oneshot_receiver<T>& rx) noexcept {
  return detail::recv_op<T>(rx.as_receiver());
}
/// A cancel point. Empty when no sender is left.
template <class T>
[[nodiscard("co_await recv(...)")]] auto recv(rendezvous_receiver<T>& rx) noexcept {
  return detail::take_op<T>(rx);
}
/// A cancel point. ok and a value, lagged and how many were skipped, or disconnected.
template <class T>
[[nodiscard("co_await recv(...)")]] auto recv(broadcast_receiver<T>& rx) noexcept {
  return detail::listen_op<T>(rx);
}
/// A cancel point. True: there is a newer value than this receiver has seen; false: there will be none.
template <class T>
[[nodiscard("co_await changed(...)")]] auto changed(watch_receiver<T>& rx) noexcept {
  return detail::changed_op<T>(rx);
}
/// A cancel point. Over when the receiver has the value. When it ends otherwise attempt gives the value back; without
/// attempt it goes with the operation.
template <class T, class U = T>
[[nodiscard("co_await hand_over(...)")]] auto hand_over(rendezvous_sender<T>& tx, U&& value) {
  detail::check_value<U>();
  detail::check_message<T, U>();
  return detail::hand_over_op<T>(tx, detail::message_from<T>(std::forward<U>(value)));
}

}  // namespace asx
