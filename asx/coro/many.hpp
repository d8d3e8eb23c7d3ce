// asx/coro/many.hpp - several messages in one await: send_many, recv_many.
//
//     co_await asx::send_many(tx, lines);                              // all of a list, in order, as there is room
//     while (const auto n = co_await asx::recv_many(rx, lines, 64)) ...  // up to 64, behind what is there; 0: the end
//
// A sender that waits is served in its turn, and a turn of `send` is one message. A turn of send_many is as many
// messages as there is room for, and nobody passes meanwhile.
//
// 1  R-320: messages are sent first to last; those of other senders may come between two turns. When it ends otherwise,
//    the messages that were not sent are in the list, untouched and in order, behind those that were moved from; how
//    many were sent is in the answer of `attempt(send_many(...))`, which says `{code, sent}`, and said by `sent()` of
//    an operation that has a name.
// 2  R-321: recv_many waits for one message and never for a second one. Messages go from the channel into the list at
//    once: when another branch of a select was faster, none was taken. The list has room for them before the channel is
//    asked: when there is no memory for that, it throws, and nothing was taken.
// 3  In a select a list that lost may have been sent in part: what is left of it is sent when it is selected again, by
//    its name. One that was sent is spent; recv_many may be asked again (select.hpp, law 5).
// 4  Messages are moved without throwing; others are sent and received one by one.
//
// Cancel points: send_many, recv_many.
// Threads: the runtime's.
// Lifetime: the ends and the list outlive the operation. As long as that lives nobody else touches the list, its owner
//           neither; what was not sent is looked at when the operation is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "asx/chan/mpsc.hpp"
#include "asx/coro/task.hpp"

namespace asx {

/// `sent` messages were queued; ok: all of them.
struct [[nodiscard]] sent_many {
  status code = status::ok;
  std::size_t sent = 0;
  [[nodiscard]] bool is_ok() const noexcept { return code == status::ok; }
};

namespace detail {

template <class T>
class send_many_op {
 public:
  send_many_op(sender<T>& tx, std::span<T> all) noexcept : tx_(&tx), rest_(all), count_(all.size()) {}
  status poll(cx& c) noexcept { return tx_->poll_send_many(c, wait_, rest_); }
  void take() const noexcept {}
  /// So far; for who has it by its name.
  [[nodiscard]] std::size_t sent() const noexcept { return count_ - rest_.size(); }
  [[nodiscard]] sent_many answer(status code) const noexcept { return {code, sent()}; }
  /// It has nothing to send any more: for those who may ask it again, by its name.
  [[nodiscard]] bool is_spent() const noexcept { return count_ != 0 && rest_.empty(); }
  void end() noexcept { wait_ = reserve_wait(); }

 private:
  sender<T>* tx_;
  std::span<T> rest_;
  std::size_t count_;
  reserve_wait wait_;
};

// In one step as large as a list grows by itself, so that a loop that goes on filling it does not copy it every time.
template <class List>
void make_room(List& list, std::size_t more) {
  const std::size_t wanted = list.size() + more;
  const std::size_t grown = 2 * list.capacity();
  if (list.capacity() < wanted) list.reserve(wanted < grown ? grown : wanted);
}

template <class T, class List>
class recv_many_op {
 public:
  recv_many_op(receiver<T>& rx, List& into, std::size_t most) noexcept
      : rx_(&rx), into_(&into), most_(rx.capacity()) {  // No more than that can lie there.
    if (most < most_) most_ = static_cast<std::uint32_t>(most);
    if (most_ == 0) most_ = 1;
  }
  recv_many_op(recv_many_op&& other) noexcept
      : rx_(other.rx_),
        into_(other.into_),
        most_(other.most_),
        taken_(other.taken_),
        is_waiting_(std::exchange(other.is_waiting_, false)) {}
  recv_many_op& operator=(recv_many_op&&) = delete;
  ~recv_many_op() { end(); }
  void end() noexcept {
    if (std::exchange(is_waiting_, false)) rx_->stop_waiting();
  }

  status poll(cx& c) {
    make_room(*into_, most_);
    const auto keep = [this](T&& message) noexcept { into_->push_back(std::move(message)); };
    const status s = rx_->poll_recv_many(c, most_, keep, taken_);
    is_waiting_ = s == status::would_block;
    return s == status::disconnected ? status::ok : s;
  }
  [[nodiscard]] std::size_t take() const noexcept { return taken_; }

 private:
  receiver<T>* rx_;
  List* into_;
  std::uint32_t most_;
  std::uint32_t taken_ = 0;
  bool is_waiting_ = false;
};

template <class T, class List>
concept list_of = std::is_same_v<typename List::value_type, T> && requires(List& list, T&& value) {
  list.push_back(std::move(value));
  list.reserve(list.capacity() + list.size());
};

}  // namespace detail

/// A cancel point. Sends every element of `list`, which is contiguous and keeps what was not sent.
template <class T, class List>
[[nodiscard("co_await send_many(...)")]] auto send_many(sender<T>& tx, List&& list) noexcept {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "send_many moves messages without throwing: send these one by one");
  static_assert(std::is_lvalue_reference_v<List> || std::ranges::enable_borrowed_range<std::remove_cvref_t<List>>,
                "send_many leaves in the list what was not sent: give it a list with a name, or a span of one");
  static_assert(std::is_constructible_v<std::span<T>, List&>,
                "send_many takes messages out of a list that lies in one piece and is not const: a vector, an array, a "
                "span of the channel's own type");
  return detail::send_many_op<T>(tx, std::span<T>(list));
}

/// A cancel point. Puts up to `most` messages, at least one, at the back of `into` and gives how many; 0 when no sender
/// is left and everything was received.
template <class T, class List>
[[nodiscard("co_await recv_many(...)")]] auto recv_many(receiver<T>& rx, List& into, std::size_t most) noexcept {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "recv_many moves messages without throwing: receive these one by one");
  static_assert(detail::list_of<T, List>,
                "recv_many puts messages into a list of the channel's own type that has reserve and push_back, such as "
                "std::vector");
  return detail::recv_many_op<T, List>(rx, into, most);
}

}  // namespace asx
