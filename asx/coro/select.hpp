// asx/coro/select.hpp - waiting for the first of several operations, without a task for each.
//
//     auto got = co_await asx::select(asx::recv(rx), asx::sleep(asx::duration::seconds(1)), asx::wait(stop));
//     if (auto* message = std::get_if<0>(&got)) ...                     // a variant: which one, and what it gave
//
//     const auto how = co_await asx::attempt(asx::select(asx::recv(rx), asx::reserve(tx)));
//     if (!how.is_ok()) ... how.branch, how.code                       // which one failed, and with what
//
// 1  Operations are polled in the order given; the first that is ready wins, so equals are decided by their order.
//    `select_fair` begins at one that is drawn, and goes round: nobody is starved by one that is always ready. The
//    draw comes from the runtime's seed, the task and how many it has drawn: the same run draws the same.
// 2  The winner takes effect when the select is over, and no other does: what is not ready has taken nothing, and
//    what comes after the winner is not even asked. Losers leave their queues, give permits back, stop their timers,
//    all before the coroutine goes on.
//    Only a send_many may have sent a part of its list before it lost (many.hpp). What somebody else may complete while
//    it waits - a send, a hand_over, a foreign value - is completed for one branch at most; it goes
//    before all that is only ready, and what was given away before what came.
// 3  One that ends otherwise than ok wins as well. It ends the coroutine, as it would alone; an attempt of the select
//    says which one it was and with what status, and the coroutine goes on. When the task was cancelled that is
//    whoever was asked first, with status cancelled.
// 4  `cancel_requested()` is ready when the task was asked to cancel, and gives the kind: the coroutine goes on, with
//    the cleanup that is left to it. In a select it is asked before all others that have not happened yet, wherever it
//    stands, because they would say cancelled. In a mask it is not ready.
// 5  What an operation was given and did not hand on goes with it. `std::ref(op)` selects one that has a name and
//    stays: when it has lost, or the select was dropped, it has left its queue, has its value, may be selected again,
//    and `op.take_back()` gives the value of a send or a hand_over. When it has won, recv, recv_many, reserve
//    and join_next may be asked again, a sleep stays over, a foreign future has given its value, and a send, a
//    send_many or a hand_over has nothing left and says invalid_argument. A sleep keeps its deadline. It is not for
//    operations whose end is to leave: acquire, lock, wait, changed, join.
//
//     auto offer = asx::hand_over(tx, std::move(job));
//     const auto got = co_await asx::select(asx::recv(stop), std::ref(offer));
//     if (got.index() == 0) keep(*offer.take_back());
//
// Cancel points: as its operations; cancel_requested.
// Threads: the runtime's. Lifetime: as its operations; what std::ref names outlives the await.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "asx/coro/task.hpp"
#include "asx/coro/time.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

/// What an attempted select gives.
template <class... Ts>
struct [[nodiscard]] selected {
  status code = status::ok;
  std::size_t branch = 0;  // The operation that this is of, counted from 0 in the order given.
  std::optional<std::variant<Ts...>> value{};
  [[nodiscard]] bool is_ok() const noexcept { return code == status::ok; }
};

namespace detail {

class cancel_requested_op {
 public:
  static constexpr bool answers_cancel = true;
  status poll(cx& c) noexcept {
    const inside here(c.kernel());
    if (c.checkpoint() == status::ok) {
      static_cast<void>(c.get_waker());  // A cancel wakes whom it reaches; this says that it is waited for.
      return status::would_block;
    }
    kind_ = c.reason()->kind;
    return status::ok;
  }
  cancel_kind take() const noexcept { return kind_; }

 private:
  cancel_kind kind_ = cancel_kind::user;
};

/// Can be given up, and asked again afterwards.
template <class Op>
concept returns = operation<Op> && (requires(Op& op) { op.withdraw(); } || requires(Op& op) { op.end(); });

/// One that has a name, and outlives the select.
template <class Op>
class named_op {
 public:
  explicit named_op(Op& op) noexcept : op_(&op) {}
  named_op(named_op&& other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
  named_op& operator=(named_op&&) = delete;
  ~named_op() {  // Also when the select was dropped where it stood, or another operation threw.
    if (op_ != nullptr) withdraw();
  }
  status poll(cx& c) noexcept(noexcept(std::declval<Op&>().poll(c))) {
    if constexpr (requires { op_->is_spent(); }) {  // An operation that is awaited once is not asked for this.
      if (op_->is_spent()) return status::invalid_argument;
    }
    return op_->poll(c);
  }
  decltype(auto) take() { return op_->take(); }
  void withdraw() noexcept { give_up(*op_); }
  status poll_alone(cx& c)
    requires requires(Op& op) { op.poll_alone(c); }
  {
    if constexpr (requires { op_->is_spent(); }) {
      if (op_->is_spent()) return status::invalid_argument;
    }
    return op_->poll_alone(c);
  }
  [[nodiscard]] bool has_happened() const noexcept
    requires requires(const Op& op) { op.has_happened(); }
  {
    return op_->has_happened();
  }
  [[nodiscard]] bool is_given_away() const noexcept
    requires requires(const Op& op) { op.is_given_away(); }
  {
    return op_->is_given_away();
  }
  template <class Place>
  void take_into(Place& place)
    requires requires(Op& op) { op.take_into(place); }
  {
    op_->take_into(place);
  }

 private:
  Op* op_;
};

/// What a select keeps of an argument.
template <class Arg>
struct selectable {
  using type = Arg;
};
template <class Op>
struct selectable<std::reference_wrapper<Op>> {
  using type = named_op<Op>;
};
template <class Arg>
using selectable_t = typename selectable<std::remove_cvref_t<Arg>>::type;

template <class>
inline constexpr bool is_named = false;
template <class Op>
inline constexpr bool is_named<std::reference_wrapper<Op>> = true;
template <class Arg>
struct named_in {
  using type = void;
};
template <class Op>
struct named_in<std::reference_wrapper<Op>> {
  using type = Op;
};
template <class Arg>
inline constexpr bool returns_by_name = returns<typename named_in<std::remove_cvref_t<Arg>>::type>;
template <class Arg>
inline constexpr bool is_given_away = !std::is_lvalue_reference_v<Arg> && operation<std::remove_cvref_t<Arg>>;

/// An operation that is made here or moved, or the name of one that returns.
template <class... Args>
concept selectables = sizeof...(Args) > 0 && ((is_given_away<Args> || returns_by_name<Args>) && ...);

template <class Arg>
consteval bool explain_selected() noexcept {
  using plain = std::remove_cvref_t<Arg>;
  if constexpr (selectables<Arg>) return true;
  constexpr bool is_operation = operation<plain> && !selectables<Arg>;
  static_assert(!is_operation,
                "asx: an operation is selected where it is made, or moved: select(std::move(op), ...), or by its name "
                "if it is to stay: select(std::ref(op), ...)");
  static_assert(!is_named<plain> || selectables<Arg>,
                "asx: std::ref in a select is for an operation that can be given up and asked again: recv, recv_many, "
                "reserve, send, send_many, hand_over, sleep, join_next, a foreign future; make any other one anew");
  constexpr bool runs =
      requires(plain& p) { typename plain::promise_type; } || std::is_invocable_v<std::decay_t<Arg>&, cx>;
  static_assert(is_operation || is_named<plain> || !runs,
                "asx: select waits for operations, and a coroutine runs as a task: race(c, f, g), or start it and "
                "select(join(h), ...)");
  static_assert(is_operation || is_named<plain> || runs || selectables<Arg>,
                "asx: select takes operations: recv(rx), reserve(tx), sleep(d), wait(n), acquire(s), lock(m), join(h), "
                "cancel_requested()");
  return true;
}

template <class Op>
using select_value = std::conditional_t<std::is_void_v<value_of<Op>>, unit, value_of<Op>>;

template <class Op>
inline constexpr bool answers = false;
template <class Op>
  requires requires { requires Op::answers_cancel; }
inline constexpr bool answers<Op> = true;

/// It may be completed by somebody else while it waits.
template <class Op>
concept happens = requires(const Op& op) { op.has_happened(); };
/// When it has happened, somebody else has what was this one's.
template <class Op>
concept gives_away = happens<Op> && requires(const Op& op) { op.is_given_away(); };

template <bool IsDrawn, class... Ops>
class select_op {
 public:
  using value = std::variant<select_value<Ops>...>;
  using whole = selected<select_value<Ops>...>;
  static constexpr bool answers_cancel = (answers<Ops> || ...);

  template <class... Args>
  explicit select_op(std::in_place_t, Args&&... ops) : ops_(std::forward<Args>(ops)...) {}

  /// Beside others that somebody else may complete, outside of this select.
  status poll(cx& c) { return poll_as<false>(c); }
  status poll_alone(cx& c) { return poll_as<true>(c); }
  value take() { return take_from<0>(); }
  /// What attempt gives; the value is made where it goes, as by take.
  whole answer(status code) {
    whole out{code, winner_, std::nullopt};
    if (code == status::ok) put_from<0>(out.value);
    return out;
  }
  /// Of one select in another.
  void withdraw() noexcept {
    std::apply([](Ops&... ops) { (give_up(ops), ...); }, ops_);
  }

  [[nodiscard]] bool has_happened() const noexcept
    requires(happens<Ops> || ...)
  {
    return std::apply([](const Ops&... ops) { return (happened<false>(ops) || ...); }, ops_);
  }
  [[nodiscard]] bool is_given_away() const noexcept
    requires(gives_away<Ops> || ...)
  {
    return std::apply([](const Ops&... ops) { return (happened<true>(ops) || ...); }, ops_);
  }

 private:
  template <bool IsAlone>
  status poll_as(cx& c) {
    const inside here(c.kernel());  // Nobody comes between the look at one and the look at the next.
    const status s = decide<IsAlone>(c);
    if (s != status::would_block) withdraw_others(std::index_sequence_for<Ops...>{});
    return s;
  }
  template <bool IsAlone>
  status decide(cx& c) {
    if constexpr ((gives_away<Ops> || ...)) {
      if (status s = status::ok; poll_happened<true, 0>(c, s)) return s;
    }
    if (status s = status::ok; poll_happened<false, 0>(c, s)) return s;
    if constexpr (answers_cancel) {
      if (c.checkpoint() != status::ok) return poll_answering<0>(c);
    }
    const status s = poll_all<IsAlone>(c);
    if constexpr (answers_cancel) {  // It came between two looks: a deadline, or a strike of the lab.
      if (s == status::cancelled && c.checkpoint() == status::cancelled) return poll_answering<0>(c);
    }
    return s;
  }
  template <bool IsAlone>
  status poll_all(cx& c) {
    if constexpr (IsDrawn) {
      return poll_round<IsAlone>(c, static_cast<std::size_t>(extension::draw(c) % sizeof...(Ops)),
                                 std::index_sequence_for<Ops...>{});
    } else {
      return poll_from<IsAlone, 0>(c);
    }
  }
  template <std::size_t... I>
  void withdraw_others(std::index_sequence<I...>) noexcept {
    (withdraw_if_lost<I>(), ...);
  }
  template <std::size_t I>
  void withdraw_if_lost() noexcept {
    if (winner_ != I) give_up(std::get<I>(ops_));
  }
  // What somebody else has completed cannot be withdrawn: it goes before everything that is only ready. What somebody
  // else has by now goes before what came: that one can be kept.
  template <bool GivenAway, class Op>
  static bool happened(const Op& op) noexcept {
    if constexpr (GivenAway && gives_away<Op>) {
      return op.is_given_away();
    } else if constexpr (!GivenAway && happens<Op>) {
      return op.has_happened();
    } else {
      return false;
    }
  }
  template <bool GivenAway, std::size_t I>
  bool poll_happened(cx& c, status& out) {
    if constexpr (I == sizeof...(Ops)) {
      return false;
    } else {
      auto& op = std::get<I>(ops_);
      if (!happened<GivenAway>(op)) return poll_happened<GivenAway, I + 1>(c, out);
      winner_ = I;
      out = op.poll(c);
      return true;
    }
  }
  // Two of them could be completed before anybody looks; so could one of them, and one of another select around this.
  template <bool IsAlone, class Op>
  static status ask(Op& op, cx& c) {
    constexpr bool is_only_one = (std::size_t{0} + ... + std::size_t{happens<Ops>}) == 1;
    if constexpr (IsAlone && is_only_one && requires { op.poll_alone(c); }) {
      return op.poll_alone(c);
    } else {
      return op.poll(c);
    }
  }
  template <std::size_t I>
  status poll_answering(cx& c) {
    if constexpr (answers<std::tuple_element_t<I, std::tuple<Ops...>>>) {
      winner_ = I;
      return std::get<I>(ops_).poll(c);
    } else {
      return poll_answering<I + 1>(c);
    }
  }
  template <bool IsAlone, std::size_t I>
  status poll_from(cx& c) {
    if constexpr (I == sizeof...(Ops)) {
      return status::would_block;
    } else {
      const status s = ask<IsAlone>(std::get<I>(ops_), c);
      if (s == status::would_block) return poll_from<IsAlone, I + 1>(c);
      winner_ = I;
      return s;
    }
  }
  template <bool IsAlone, std::size_t... I>
  status poll_round(cx& c, std::size_t first, std::index_sequence<I...>) {
    status s = status::would_block;
    const auto poll_one = [&](std::size_t which) {
      static_cast<void>(((which == I && (s = ask<IsAlone>(std::get<I>(ops_), c), true)) || ...));
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

  template <std::size_t I>
  void put_from(std::optional<value>& out) {
    if constexpr (I + 1 < sizeof...(Ops)) {
      if (winner_ != I) return put_from<I + 1>(out);
    }
    auto& op = std::get<I>(ops_);
    if constexpr (std::is_void_v<decltype(op.take())>) {
      op.take();
      out.emplace(std::in_place_index<I>);
    } else if constexpr (requires(value& place) { op.take_into(std::get<I>(place)); }) {
      op.take_into(std::get<I>(out.emplace(std::in_place_index<I>)));
    } else {
      out.emplace(std::in_place_index<I>, op.take());
    }
  }

  std::tuple<Ops...> ops_;
  std::size_t winner_ = 0;
};

}  // namespace detail

/// A cancel point that answers: ready when the task was asked to cancel, and gives the kind. Every other cancel point
/// says cancelled from then on.
[[nodiscard("co_await cancel_requested()")]] inline auto cancel_requested() noexcept {
  return detail::cancel_requested_op();
}

/// As an operation: the first that is ready, as a variant.
template <class... Ops>
  requires detail::selectables<Ops...>
[[nodiscard("co_await select(...)")]] auto select(Ops&&... ops) {
  return detail::select_op<false, detail::selectable_t<Ops>...>(std::in_place, std::forward<Ops>(ops)...);
}
/// The same, and equals are decided by a draw.
template <class... Ops>
  requires detail::selectables<Ops...>
[[nodiscard("co_await select_fair(...)")]] auto select_fair(Ops&&... ops) {
  return detail::select_op<true, detail::selectable_t<Ops>...>(std::in_place, std::forward<Ops>(ops)...);
}

// What cannot be selected is told in a sentence. Not numbers and pointers: those are for the ::select of the system.
template <class... Args>
  requires(!detail::selectables<Args...> && !(std::is_scalar_v<std::remove_cvref_t<Args>> && ...))
auto select(Args&&...) {
  static_assert((detail::explain_selected<Args>() && ...));
  return checkpoint();
}
template <class... Args>
  requires(!detail::selectables<Args...> && !(std::is_scalar_v<std::remove_cvref_t<Args>> && ...))
auto select_fair(Args&&...) {
  static_assert((detail::explain_selected<Args>() && ...));
  return checkpoint();
}

}  // namespace asx
