// asx/chan/mpsc.hpp - a bounded channel: many senders, one receiver, two-phase send.
//
// Sending is two steps, so that giving up between them cannot lose a value:
//
//     reserve --> permit --send(value)--> queued --recv--> delivered
//                   +------abort()-----> slot free again, nothing was queued
//
//     auto [code, tx, rx] = asx::channel<order>(c, 64);                    // in the region of the task
//     ...
//     switch (tx.poll_reserve(c, waiting, permit)) {                       // in a poll
//       case status::ok: permit.send(next_order()); break;                 // never fails for room
//       case status::would_block: return poll_result::pending;             // woken when it is this one's turn
//       ...
//
// INV-CH-01  queued + reserved <= capacity, at all times.
// INV-CH-02  messages leave in the order in which they were sent, across all senders.
// INV-CH-03  waiting senders are served first come, first served; try_ forms never jump the queue (INV-CH-04).
// INV-CH-05  a cancelled reserve holds nothing; INV-CH-06: a cancelled recv has consumed nothing.
// INV-CH-09  a permit that goes away unresolved gives its slot back and wakes the next waiter.
// a value that is not delivered comes back to the caller; refusals come in a fixed order.
// R-121      values are destroyed after the state has changed: their destructors may use the channel.
// R-240      a move that throws leaves channel and permit as they were.
// R-340      a new message that leaves again because the eviction of the oldest threw is in the way while it is
//            destroyed: sends are refused as reentrant, by permits too. All else may be done.
// R-341      the move of a message into or out of a channel must not use that channel; this is asserted.
// R-300      closing is dropping. The last sender's end lets the rest be received, then disconnected; the end of the
//            receiver discards what is queued. A receiver that wants no more and loses nothing has its senders end -
//            cancels their region, tells them by a watch - and receives until disconnected; one that was cancelled
//            itself drains by try_recv.
// R-320      messages that lie ready are queued as many in one turn as there is room for; nobody passes meanwhile.
// R-322      a message that waits with its sender is taken by the channel in its turn: no poll is needed to queue it.
//
// Values may be move-only, over-aligned, and throw when they are moved. Nothing is allocated after `channel` returned.
//
// Cancel points: poll_reserve, poll_send, poll_send_many, poll_recv, poll_recv_many. Nothing else waits: send, abort,
// try_ forms. Threads: the runtime's. A permit is held by the task that reserved it, and aborted when that task ends
// . Lifetime: the channel belongs to its region, which takes it down when it finalizes; ends and permits that
// are left
//           report disconnected then. They are gone before the runtime is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/base/construct.hpp"
#include "asx/chan/channel_core.hpp"

namespace asx {

/// `value` is handed back when the code is not ok.
template <class T>
struct [[nodiscard]] send_result {
  status code = status::ok;
  std::optional<T> value{};
};

/// `value` is there when the code is ok.
template <class T>
struct [[nodiscard]] recv_result {
  status code = status::ok;
  std::optional<T> value{};
};

/// `evicted`: the oldest message, when it had to go. `value` is handed back when the code is not ok.
template <class T>
struct [[nodiscard]] evict_result {
  status code = status::ok;
  std::optional<T> evicted{};
  std::optional<T> value{};
};

namespace detail {

template <class T>
inline constexpr element_type element_of{sizeof(T), alignof(T),
                                         std::is_trivially_destructible_v<T> ? nullptr : +[](void* value) noexcept {
                                           std::destroy_at(static_cast<T*>(value));
                                         }};

/// And moves, for a channel that takes messages by itself.
template <class T>
[[nodiscard]] constexpr element_type message_of() noexcept {
  element_type out = element_of<T>;
  if constexpr (std::is_nothrow_move_constructible_v<T>) {
    out.move = [](void* to, void* from) noexcept { new (to) T(std::move(*static_cast<T*>(from))); };
  }
  return out;
}

template <class End>
[[nodiscard]] std::uint32_t depth_of(const End& end) noexcept {
  channel_report r;
  return end.inspect(r) == status::ok ? r.queued : 0;
}
template <class Core>
[[nodiscard]] std::uint32_t capacity_of(const Core& end) noexcept {
  const inside in(end.gate());
  const channel_core* const core = end.get();
  return core == nullptr ? 0 : core->capacity();
}
template <class End>
[[nodiscard]] channel_state state_of(const End& end) noexcept {
  channel_report r;
  return end.inspect(r) == status::ok ? r.state : channel_state::fully_closed;
}

/// Its moves and its end call nothing: many of them are moved as bytes, and told of at once.
template <class T>
inline constexpr bool is_plain = std::is_trivially_copyable_v<T> && std::is_trivially_move_constructible_v<T>;

/// A value that was not sent after all is still where the next one would be put.
template <class T>
ASX_ALWAYS_INLINE bool is_in_the_way([[maybe_unused]] const channel_core* c) noexcept {
  if constexpr (std::is_nothrow_move_constructible_v<T>) {
    return false;
  } else {
    return c != nullptr && c->has_receiver() && c->is_taking_back();
  }
}

/// How many of those can be taken at once, up to `most`; 0: one by one.
template <class T>
ASX_ALWAYS_INLINE std::uint32_t run_at_head([[maybe_unused]] const channel_core& c,
                                            [[maybe_unused]] std::uint32_t most) noexcept {
  if constexpr (is_plain<T>) {
    const std::uint32_t run = c.run_at_head();
    return run < most ? run : most;
  } else {
    return 0;
  }
}

/// Around a move into or out of a channel, which has not let go of the value or does not know of it yet.
template <class T>
class unused_meanwhile {
 public:
  ASX_ALWAYS_INLINE explicit unused_meanwhile(const channel_core& c) noexcept {
    if constexpr (!is_plain<T>) before_ = c.traffic();
  }
  ASX_ALWAYS_INLINE void check([[maybe_unused]] const channel_core& c) const noexcept {
    if constexpr (!is_plain<T>) ASX_ASSERT(c.traffic() == before_, "the move of a message does not use its channel");
  }

 private:
  std::uint64_t before_ = 0;
};

/// Moves `value` to the tail.
template <class T>
ASX_ALWAYS_INLINE void place(channel_core& c, T& value) {
  const unused_meanwhile<T> here(c);
  new (c.tail_for<T>()) T(std::move(value));
  here.check(c);
  if constexpr (!is_plain<T>) ASX_ASSERT(c.has_receiver(), "the move of a message does not end its channel");
}

/// The slot of a value that was moved out comes back.
template <class T>
ASX_ALWAYS_INLINE void finish(channel_core& c) {
  void* const shell = c.finish_recv<!std::is_trivially_destructible_v<T>>();
  if constexpr (!std::is_trivially_destructible_v<T>) {
    // Inside, as the move was: nobody may come between a look at this channel and what follows from it (select).
    std::destroy_at(static_cast<T*>(shell));
    c.put_down();
  }
}
/// Moves the oldest value out, and gives its slot back.
template <class T>
ASX_ALWAYS_INLINE recv_result<T> take_from(channel_core& c) {
  const unused_meanwhile<T> here(c);
  recv_result<T> out{status::ok, std::optional<T>(std::in_place, std::move(*std::launder(c.head_as<T>())))};
  here.check(c);
  finish<T>(c);
  return out;
}

}  // namespace detail

template <class T>
class [[nodiscard("a permit is sent or aborted")]] send_permit {
 public:
  send_permit() noexcept = default;
  send_permit(send_permit&&) noexcept = default;
  send_permit& operator=(send_permit&&) noexcept = default;  // A permit that is overwritten is aborted.
  ~send_permit() = default;                                  // So is one that goes away unresolved.

  /// ok: queued. disconnected, obligation_already_resolved: `value` is handed back. So it is with
  /// reentrant, and the permit is as it was.
  ASX_ALWAYS_INLINE send_result<T> send(T value) {
    const short_stay here(gate_to(*this));
    return send_now(value);
  }
  send_result<T> try_send(T value) { return send(std::move(value)); }
  void abort() noexcept { core_.abort(); }

  [[nodiscard]] bool is_held() const noexcept { return core_.held_in() != nullptr; }
  /// Of this permit in its channel; 0 once it is resolved.
  [[nodiscard]] std::uint64_t number() const noexcept { return core_.number(); }

 private:
  template <class>
  friend class sender;
  template <class Of>
  friend const gate_port* gate_to(const Of& of) noexcept;
  [[nodiscard]] const gate_port* gate() const noexcept { return core_.any_gate(); }
  ASX_ALWAYS_INLINE send_result<T> send_now(T& value) {
    channel_core* const c = core_.held_in();
    if (c == nullptr) return {core_.refuse_again(), std::optional<T>(std::in_place, std::move(value))};
    if (!c->has_receiver()) return hand_back(*c, value);
    if (detail::is_in_the_way<T>(c)) return {status::reentrant, std::optional<T>(std::in_place, std::move(value))};
    detail::place<T>(*c, value);
    c->commit(core_);
    return {};
  }
  // The value first: a move that throws leaves the permit as it was.
  send_result<T> hand_back(channel_core& c, T& value) {
    send_result<T> out{status::disconnected, std::optional<T>(std::in_place, std::move(value))};
    c.give_up(core_, event_kind::permit_disconnected);
    return out;
  }
  permit_core core_;
};

template <class T>
class sender {
 public:
  sender() noexcept = default;  // Dead, as is one that was dropped or moved from.

  /// stale_handle from a dead one. A copy is the same without the answer: a copy of a dead sender is dead.
  [[nodiscard]] status clone(sender& out) const noexcept { return core_.clone(out.core_); }
  void drop() noexcept { core_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !core_.is_dead(); }

  /// A cancel point. ok: `out` is a permit. would_block: `w` waits, and the task is woken when it may be its turn.
  /// stale_handle, cancelled, disconnected, resource_exhausted (max_channel_waiters): nothing is left in the queue.
  [[nodiscard]] ASX_ALWAYS_INLINE status poll_reserve(cx& c, reserve_wait& w, send_permit<T>& out) noexcept {
    if (may_have_gates()) [[unlikely]]
      return call_inside<&sender::poll_now>(*this, c, w, out);
    return poll_now(c, w, out);
  }
  /// True: poll_reserve would give a permit at once, and nobody would hear of it; and then that permit. For those who
  /// know that there is no gate, or are inside.
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_free_now(const cx& c) const noexcept {
    const channel_core* const core = core_.get();
    return core != nullptr && core->is_free_for(c);
  }
  [[nodiscard]] ASX_ALWAYS_INLINE send_permit<T> reserve_now(cx& c) noexcept {
    send_permit<T> out;
    core_.there().reserve_at_once(c, out.core_);
    return out;
  }
  /// What that permit would send at once. Nobody could see it, not even a move of the value, so there is none.
  ASX_ALWAYS_INLINE void send_at_once(T& value) noexcept {
    static_assert(detail::is_plain<T>, "a move that runs code may throw (R-240), or use the channel");
    channel_core& core = core_.there();
    new (core.tail_for<T>()) T(std::move(value));
    core.commit_run(1);
  }
  /// The same for who waits as `w`, if its turn has come and nobody would hear of it; false, and nothing has happened,
  /// when it has not. For those who know that there is no gate, or are inside.
  [[nodiscard]] ASX_ALWAYS_INLINE bool send_in_turn(const cx& c, reserve_wait& w, T& value) noexcept {
    static_assert(detail::is_plain<T>, "as in send_at_once");
    channel_core* const core = core_.get();
    if (core == nullptr || !core->take_turn(core_, c, w)) return false;
    new (core->tail_for<T>()) T(std::move(value));
    core->commit_turn();
    return true;
  }
  /// For a send by a permit that was told would_block, in the same entry: the message need not wait for the permit.
  void stand_with(reserve_wait& w, T& message) const noexcept {
    if (const channel_core* const core = core_.get(); core != nullptr) core->stand_with(w, &message);
  }
  /// wait_for_turn of who comes anew and is inside: true when it would block, and nobody hears of that; false, and
  /// nothing has happened, otherwise.
  [[nodiscard]] bool waits_now(cx& c, reserve_wait& w) noexcept {
    channel_core* const core = core_.get();
    return core != nullptr && core->wait_plainly(core_, c, w);
  }
  /// poll_reserve, for who has found that it is not free, or has to let others run first.
  [[nodiscard]] status wait_for_turn(cx& c, reserve_wait& w, send_permit<T>& out) noexcept {
    channel_core* const core = core_.get();
    if (core == nullptr) return core_.poll_gone(c, w);
    return core->wait_for_turn(core_, c, w, out.core_);
  }
  /// ok, stale_handle, disconnected, full; resource_exhausted when a trace must not overflow and is full.
  [[nodiscard]] status try_reserve(send_permit<T>& out) noexcept {
    const inside in(core_.gate());
    channel_core* const core = core_.get();
    return core == nullptr ? core_.why_not() : core->try_reserve(out.core_);
  }
  /// A cancel point. Sends `message` in its turn, without a permit. ok: it was queued. would_block: `w` waits with the
  /// message, which stays where it is; as soon as there is room the channel takes it from there and wakes the task, and
  /// then this says ok, once, whatever else has come. Anything else as poll_reserve: `message` is untouched.
  [[nodiscard]] status poll_send(cx& c, reserve_wait& w, T& message) noexcept { return send_turn(c, w, message, true); }
  /// The same for a message that cannot be left where it is: who waits is woken in its turn, and asks again.
  [[nodiscard]] status poll_send_itself(cx& c, reserve_wait& w, T& message) noexcept {
    return send_turn(c, w, message, false);
  }
  send_result<T> try_send(T value) {
    if (may_have_gates()) [[unlikely]]
      return call_inside<&sender::send_now>(*this, value);
    return send_now(value);
  }
  /// A cancel point, for messages that lie ready: queues them from the front of `rest`, which shrinks by what was
  /// queued, as many in one turn as there is room for. ok: all. would_block: `w` waits for the next turn.
  /// Anything else as poll_reserve: what was not queued is in `rest`, untouched.
  [[nodiscard]] status poll_send_many(cx& c, reserve_wait& w, std::span<T>& rest) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "messages that throw when they are moved are sent one by one");
    const inside in(core_.gate());
    channel_core* const core = core_.get();
    if (core == nullptr) return core_.poll_gone(c, w);
    if (const status s = core->begin_turn(core_, c, w, rest.size()); s != status::ok || rest.empty()) return s;
    while (!rest.empty() && core->has_room()) {  // asx: bounded by the capacity
      if constexpr (detail::is_plain<T>) {
        std::uint32_t run = core->run_at_tail();
        if (rest.size() < run) run = static_cast<std::uint32_t>(rest.size());
        if (run != 0) {
          std::memcpy(core->tail_for<T>(), rest.data(), run * sizeof(T));
          core->commit_run(run);
          rest = rest.subspan(run);
          continue;
        }
      }
      detail::place<T>(*core, rest.front());
      core->commit_in_turn();
      rest = rest.subspan(1);
    }
    return core->end_turn(core_, c, w, rest.empty());
  }
  /// Makes room by taking the oldest message out, if it must; full when there is none that is committed.
  evict_result<T> send_evict_oldest(T value) {
    evict_result<T> out;  // Returned on every path, so that nothing is moved once more on the way out.
    const inside in(core_.gate());
    channel_core* const core = core_.get();
    bool evicts = false;
    out.code = core == nullptr ? core_.why_not() : core->admit_evicting(evicts);
    if (detail::is_in_the_way<T>(core)) out.code = status::reentrant;
    if (out.code != status::ok) {
      out.value.emplace(std::move(value));
      return out;
    }
    detail::place<T>(*core, value);
    if (!evicts) {
      core->commit_now();
      return out;
    }
    unplaced guard{core};
    const detail::unused_meanwhile<T> here(*core);
    out.evicted.emplace(std::move(*std::launder(core->head_as<T>())));
    here.check(*core);
    guard.core = nullptr;
    void* const shell = core->commit_evicting();
    if constexpr (!std::is_trivially_destructible_v<T>) {
      std::destroy_at(static_cast<T*>(shell));  // Inside: its place is free before anybody else looks for one.
      core->put_down();
    }
    return out;
  }

  /// ok, stale_handle, or disconnected once its region took the channel down.
  [[nodiscard]] status inspect(channel_report& out) const noexcept {
    const inside in(core_.gate());
    const channel_core* const core = core_.get();
    if (core == nullptr) return core_.why_not();
    core->inspect(out);
    return status::ok;
  }
  /// What inspect says, one at a time: queued messages and slots, both 0 when there is no channel any more; and the
  /// derived state, fully closed then.
  [[nodiscard]] std::uint32_t depth() const noexcept { return detail::depth_of(*this); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return detail::capacity_of(core_); }
  [[nodiscard]] channel_state state() const noexcept { return detail::state_of(*this); }
  /// For faces beside this one.
  [[nodiscard]] sender_core& core() noexcept { return core_; }
  [[nodiscard]] const sender_core& core() const noexcept { return core_; }

  /// To be gone through by whoever uses the forms without a gate, and has asked may_have_gates.
  [[nodiscard]] const gate_port* gate() const noexcept { return core_.any_gate(); }

 private:
  template <class U>
  friend struct channel_ends;
  template <auto Function, class Of, class... Args>
  friend auto call_inside(Of& of, Args&... args);
  explicit sender(channel_core& core) noexcept : core_(core) {}

  status send_turn(cx& c, reserve_wait& w, T& message, bool stands) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "messages that throw when they are moved are sent by a permit");
    const inside in(core_.gate());
    if (w.is_told_taken()) return status::ok;
    channel_core* const core = core_.get();
    if (core == nullptr) return core_.poll_gone(c, w);
    const status s = core->begin_turn(core_, c, w, 1);
    if (s == status::would_block && stands) core->stand_with(w, &message);
    if (s != status::ok) return s;
    detail::place<T>(*core, message);
    core->commit_in_turn();
    return core->end_turn(core_, c, w, true);
  }
  ASX_ALWAYS_INLINE status poll_now(cx& c, reserve_wait& w, send_permit<T>& out) noexcept {
    channel_core* const core = core_.get();
    if (core == nullptr) return core_.poll_gone(c, w);
    return core->poll_reserve(core_, c, w, out.core_);
  }
  ASX_ALWAYS_INLINE send_result<T> send_now(T& value) {
    channel_core* const core = core_.get();
    status s = core == nullptr ? core_.why_not() : core->admit_now();
    if (detail::is_in_the_way<T>(core)) s = status::reentrant;
    if (s != status::ok) return {s, std::optional<T>(std::in_place, std::move(value))};
    detail::place<T>(*core, value);
    core->commit_now();
    return {};
  }

  struct unplaced {  // A move that throws leaves the ring as it was.
    channel_core* core;
    ~unplaced() {
      if (core != nullptr) core->take_back();
    }
  };
  sender_core core_;
};

template <class T>
class receiver {
 public:
  receiver() noexcept = default;  // Dead, as is one that was dropped or moved from.

  void drop() noexcept { core_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !core_.is_dead(); }

  /// A cancel point. ok and the oldest value; stale_handle, cancelled, disconnected; would_block: the task is woken.
  ASX_ALWAYS_INLINE recv_result<T> poll_recv(cx& c) {
    if (may_have_gates()) [[unlikely]]
      return call_inside<&receiver::poll_now>(*this, c);
    return poll_now(c);
  }
  /// The same, made where it is wanted; `out` is empty.
  [[nodiscard]] status poll_into(cx& c, std::optional<T>& out) {
    const inside in(core_.gate());
    const status s = look_now(c);
    if (s == status::ok) take_now(out);
    return s;
  }
  /// As poll_recv, but takes nothing: ok when try_recv will give a value. For those who wait for several things at
  /// once.
  [[nodiscard]] ASX_ALWAYS_INLINE status poll_ready(cx& c) noexcept {
    if (may_have_gates()) [[unlikely]]
      return call_inside<&receiver::look_now>(*this, c);
    return look_now(c);
  }
  /// A cancel point. As poll_recv, but ok gives up to `most` messages, at least one, oldest first: take(T&&) is called
  /// for each, and must neither throw nor use this channel, which has not let go of the message yet. `taken` is
  /// how many; it never waits for the second one.
  template <class Take>
  [[nodiscard]] status poll_recv_many(cx& c, std::uint32_t most, Take&& take, std::uint32_t& taken) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "messages that throw when they are moved are received one by one");
    const inside in(core_.gate());
    taken = 0;
    if (most == 0) most = 1;
    status s = look_now(c);
    const status answer = s;
    while (s == status::ok) {  // asx: bounded by `most`, or what is queued
      channel_core& core = core_.there();
      T* const oldest = core.head_as<T>();
      if (const std::uint32_t run = detail::run_at_head<T>(core, most - taken); run != 0) {
        for (std::uint32_t i = 0; i < run; ++i) take(std::move(*std::launder(oldest + i)));  // asx: bounded by `most`
        ASX_ASSERT(core.head_as<T>() == oldest, "what takes messages from a channel does not receive from it");
        core.finish_run(run);
        taken += run;
      } else {
        take(std::move(*std::launder(oldest)));
        ASX_ASSERT(core.head_as<T>() == oldest, "what takes messages from a channel does not receive from it");
        detail::finish<T>(core);  // The channel, and this end of it, may be gone afterwards.
        ++taken;
      }
      if (taken >= most) break;
      const channel_core* const left = core_.get();
      s = left == nullptr ? status::disconnected : left->try_recv();
    }
    return answer;
  }
  /// Takes back what poll_ready or poll_recv left behind when they said would_block.
  void stop_waiting() noexcept {
    const inside in(core_.gate());
    if (channel_core* const core = core_.get(); core != nullptr) core->stop_waiting();
  }
  /// ok and the oldest value; stale_handle, disconnected, empty.
  recv_result<T> try_recv() {
    if (may_have_gates()) [[unlikely]]
      return call_inside<&receiver::try_now>(*this);
    return try_now();
  }
  /// As sender::inspect.
  [[nodiscard]] status inspect(channel_report& out) const noexcept {
    const inside in(core_.gate());
    const channel_core* const core = core_.get();
    if (core == nullptr) return core_.why_not();
    core->inspect(out);
    return status::ok;
  }
  /// As those of sender.
  [[nodiscard]] std::uint32_t depth() const noexcept { return detail::depth_of(*this); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return detail::capacity_of(core_); }
  [[nodiscard]] channel_state state() const noexcept { return detail::state_of(*this); }
  /// True: poll_recv would give a value at once, and nobody would hear of it; and then that value. For those
  /// who know that there is no gate, or are inside.
  [[nodiscard]] ASX_ALWAYS_INLINE bool has_now(const cx& c) const noexcept {
    const channel_core* const core = core_.get();
    return core != nullptr && core->has_for(c);
  }
  template <class Optional>
  [[nodiscard]] ASX_ALWAYS_INLINE Optional recv_now() {
    channel_core& core = core_.there();
    const detail::unused_meanwhile<T> here(core);
    Optional out(std::in_place, std::move(*std::launder(core.head_as<T>())));
    here.check(core);
    detail::finish<T>(core);
    return out;
  }
  /// poll_ready, and then what try_recv gives, made where it is wanted; `out` is empty. For those who know that there
  /// is no gate, or are inside.
  [[nodiscard]] ASX_ALWAYS_INLINE status look_now(cx& c) noexcept {
    channel_core* const core = core_.get();
    return core == nullptr ? core_.poll_gone(c) : core->poll_recv(c);
  }
  /// look_now, said after has_now by who is inside: true when it would block, and nobody hears of that; false, and
  /// nothing has happened, otherwise.
  [[nodiscard]] bool waits_now(cx& c) noexcept {
    channel_core* const core = core_.get();
    return core != nullptr && core->wait_plainly(c);
  }
  /// look_now, said after has_now.
  [[nodiscard]] status wait_or_look(cx& c) noexcept {
    channel_core* const core = core_.get();
    return core == nullptr ? core_.poll_gone(c) : core->wait_or_recv(c);
  }
  ASX_ALWAYS_INLINE void take_now(std::optional<T>& out) {
    channel_core* const core = core_.get();
    if (core == nullptr || core->try_recv() != status::ok) return;
    const detail::unused_meanwhile<T> here(*core);
    out.emplace(std::move(*std::launder(core->head_as<T>())));
    here.check(*core);
    detail::finish<T>(*core);
  }

  /// To be gone through by whoever uses the forms without a gate, and has asked may_have_gates.
  [[nodiscard]] const gate_port* gate() const noexcept { return core_.any_gate(); }

 private:
  template <class U>
  friend struct channel_ends;
  template <auto Function, class Of, class... Args>
  friend auto call_inside(Of& of, Args&... args);
  explicit receiver(channel_core& core) noexcept : core_(core) {}

  ASX_ALWAYS_INLINE recv_result<T> poll_now(cx& c) {
    const status s = look_now(c);
    if (s != status::ok) return {s, {}};
    return detail::take_from<T>(*core_.get());
  }
  ASX_ALWAYS_INLINE recv_result<T> try_now() {
    channel_core* const core = core_.get();
    const status s = core == nullptr ? core_.why_not() : core->try_recv();
    if (s != status::ok) return {s, {}};
    return detail::take_from<T>(*core);
  }
  receiver_core core_;
};

template <class T>
struct [[nodiscard]] channel_ends {
  status code = status::ok;
  sender<T> tx{};
  receiver<T> rx{};

  static channel_ends of(status code, channel_core* core) noexcept {
    if (code != status::ok) return {code, {}, {}};
    return {code, sender<T>(*core), receiver<T>(*core)};
  }
};

/// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_channels, max_bytes, memory): both ends
/// are dead then. Capacity 0 panics.
template <class T>
channel_ends<T> channel(kernel& k, region_handle region, std::uint32_t capacity, std::string_view name = {}) noexcept {
  static_assert(std::is_nothrow_destructible_v<T>, "a message must be destructible without throwing");
  channel_core* core = nullptr;
  const status s = channel_core::create(k, region, detail::message_of<T>(), capacity, name, core);
  return channel_ends<T>::of(s, core);
}

/// In the region of the task.
template <class T>
channel_ends<T> channel(cx& c, std::uint32_t capacity, std::string_view name = {}) noexcept {
  return channel<T>(c.kernel(), c.region(), capacity, name);
}

}  // namespace asx
