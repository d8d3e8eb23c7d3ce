// asx/coro/select.hpp - waiting for the first of several operations, without a task for each.
//
//     auto got = co_await asx::select(asx::recv(rx), asx::sleep(asx::duration::seconds(1)), asx::wait(stop));
//     if (auto* message = std::get_if<0>(&got)) ...                     // a variant: which one, and what it gave
//
// 1  Operations are polled in the order given; the first that is ready wins, so equals are decided by their order.
//    `select_fair` begins at one that is drawn, and goes round: nobody is starved by one that is always ready. The
//    draw comes from the runtime's seed, the task and how many it has drawn: the same run draws the same.
// 2  The winner takes effect when the select is over, and no other does: what is not ready has taken nothing, and
//    what comes after the winner is not even asked. Losers leave their queues, give permits back, stop their timers.
// 3  A winner that is cancelled or failed ends the coroutine, as it would alone.
//
// Cancel points: as its operations.
// Threads: the runtime's. Lifetime: as its operations.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "asx/coro/task.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

namespace detail {

template <class Op>
using select_value = std::conditional_t<std::is_void_v<value_of<Op>>, unit, value_of<Op>>;

template <bool IsDrawn, class... Ops>
class select_op {
 public:
  using value = std::variant<select_value<Ops>...>;

  explicit select_op(Ops&&... ops) : ops_(std::move(ops)...) {}

  status poll(cx& c) {
    const inside here(c.kernel());  // Nobody comes between the look at one and the look at the next.
    const status s = decide(c);
    if (s != status::would_block) withdraw_others(std::index_sequence_for<Ops...>{});
    return s;
  }
  value take() { return take_from<0>(); }
  /// Of one select in another.
  void withdraw() noexcept {
    std::apply([](Ops&... ops) { (withdraw_one(ops), ...); }, ops_);
  }

  [[nodiscard]] bool has_happened() const noexcept {
    return std::apply([](const Ops&... ops) { return (happened(ops) || ...); }, ops_);
  }

 private:
  status decide(cx& c) {
    if (status s = status::ok; poll_happened<0>(c, s)) return s;
    if constexpr (IsDrawn) {
      return poll_round(c, static_cast<std::size_t>(extension::draw(c) % sizeof...(Ops)),
                        std::index_sequence_for<Ops...>{});
    } else {
      return poll_from<0>(c);
    }
  }
  // Now, and not when it dies: another thread could still complete one that has lost.
  template <std::size_t... I>
  void withdraw_others(std::index_sequence<I...>) noexcept {
    (withdraw_if_lost<I>(), ...);
  }
  template <std::size_t I>
  void withdraw_if_lost() noexcept {
    if (winner_ != I) withdraw_one(std::get<I>(ops_));
  }
  template <class Op>
  static void withdraw_one(Op& op) noexcept {
    if constexpr (requires { op.withdraw(); }) op.withdraw();
  }
  // What somebody else has completed cannot be withdrawn: it goes before everything that is only ready.
  template <class Op>
  static bool happened(const Op& op) noexcept {
    if constexpr (requires { op.has_happened(); }) {
      return op.has_happened();
    } else {
      return false;
    }
  }
  template <std::size_t I>
  bool poll_happened(cx& c, status& out) {
    if constexpr (I == sizeof...(Ops)) {
      return false;
    } else {
      auto& op = std::get<I>(ops_);
      if (!happened(op)) return poll_happened<I + 1>(c, out);
      winner_ = I;
      out = op.poll(c);
      return true;
    }
  }
  template <std::size_t I>
  status poll_from(cx& c) {
    if constexpr (I == sizeof...(Ops)) {
      return status::would_block;
    } else {
      const status s = std::get<I>(ops_).poll(c);
      if (s == status::would_block) return poll_from<I + 1>(c);
      winner_ = I;
      return s;
    }
  }
  template <std::size_t... I>
  status poll_round(cx& c, std::size_t first, std::index_sequence<I...>) {
    status s = status::would_block;
    const auto poll_one = [&](std::size_t which) {
      static_cast<void>(((which == I && (s = std::get<I>(ops_).poll(c), true)) || ...));
    };
    for (std::size_t i = 0; i < sizeof...(Ops) && s == status::would_block; ++i) {  // asx: bounded by its operations
      winner_ = (first + i) % sizeof...(Ops);
      poll_one(winner_);
    }
    return s;
  }
  template <std::size_t I>
  value take_from() {
    if constexpr (I + 1 < sizeof...(Ops)) {
      if (winner_ != I) return take_from<I + 1>();
    }
    return taken_from<I>(std::get<I>(ops_));
  }
  template <std::size_t I, class Op>
  static value taken_from(Op& op) {
    if constexpr (std::is_void_v<decltype(op.take())>) {
      op.take();
      return value(std::in_place_index<I>);
    } else if constexpr (requires(value& place) { op.take_into(std::get<I>(place)); }) {
      return put_in_place<I>(op);
    } else {
      return value(std::in_place_index<I>, op.take());
    }
  }
  // A function of its own, whose answer is made where it goes: a move of it might throw.
  template <std::size_t I, class Op>
  static value put_in_place(Op& op) {
    value out(std::in_place_index<I>);
    op.take_into(std::get<I>(out));
    return out;
  }

  std::tuple<Ops...> ops_;
  std::size_t winner_ = 0;
};

}  // namespace detail

/// As an operation: the first that is ready, as a variant.
template <operation... Ops>
  requires(sizeof...(Ops) > 0)
[[nodiscard("co_await select(...)")]] auto select(Ops... ops) {
  return detail::select_op<false, Ops...>(std::move(ops)...);
}
/// The same, and equals are decided by a draw.
template <operation... Ops>
  requires(sizeof...(Ops) > 0)
[[nodiscard("co_await select_fair(...)")]] auto select_fair(Ops... ops) {
  return detail::select_op<true, Ops...>(std::move(ops)...);
}

}  // namespace asx
