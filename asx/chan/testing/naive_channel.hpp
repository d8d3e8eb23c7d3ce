// asx/chan/testing/naive_channel.hpp - the channel as the specification tells it: a deque, two lists and some counts.
//
//     queue      numbers of the messages that were committed and not received, oldest first
//     permits    reserved and neither sent nor aborted: number, holder, obligation
//     waiters    pending reserves, lists and messages in the order of their ids: id, task, sender, the message
//
// Nothing here is quick or clever; every function is a paragraph of docs/spec/channels.md, and names the ruling that it
// was written from. The model knows no tasks and no regions: it is told who asks, and what it wants done to others -
// who is woken and why, which values die, that its storage is free - it appends to `effects`, in the order in which
// that must happen. testing/naive_channel_world.hpp carries it out.
//
// R-121  the state is whole before anything is appended, so one call never wakes somebody because of a state in
// between.
// R-322  whether a task looks for itself is the one thing that the model asks back.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/event_kind.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/status.hpp"

namespace asx::testing {

/// All that a channel shows of itself, by name the fields of its report.
struct channel_view {
  status code = status::ok;  // Of the inspection; nothing else counts unless it is ok.
  std::uint64_t id = 0;
  channel_state state = channel_state::open;
  std::uint32_t capacity = 0;
  std::uint32_t queued = 0;
  std::uint32_t reserved = 0;
  std::uint32_t waiters = 0;
  std::uint64_t first_waiter = 0;
  std::uint64_t senders = 0;
  bool has_receiver = true;
  bool is_receiver_waiting = false;
  std::uint64_t total_reserved = 0;
  std::uint64_t total_sent = 0;
  std::uint64_t total_aborted = 0;
  std::uint64_t total_received = 0;
  std::uint64_t total_evicted = 0;
  std::uint64_t total_discarded = 0;

  friend bool operator==(const channel_view&, const channel_view&) = default;
};

/// What a call on a channel does to the rest of the world.
struct channel_effect {
  enum class kind : std::uint8_t { wake, destroy, tell, taken };

  kind what = kind::wake;
  std::uint64_t subject = 0;  // The task that is woken, the message that dies, the waiter whose message was taken.
  wake_code why = wake_code::other;
  event_kind event = event_kind::text;  // With its operands.
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

class naive_channel {
 public:
  struct permit {
    std::uint64_t holder = 0;      // Task; 0 is the host.
    std::uint64_t obligation = 0;  // 0 unless it is tracked.
  };
  struct waiter {
    std::uint64_t id = 0;
    std::uint64_t task = 0;
    std::uint64_t sender = 0;
    std::uint64_t registered = 0;  // When this task began to wait in it, counted over all channels.
    std::uint64_t message = 0;     // That waits with it; 0: it waits for a permit, or for a turn.
  };
  struct reserve_answer {
    status code = status::ok;
    std::uint64_t permit = 0;
    std::uint64_t waiter = 0;
  };
  struct evict_answer {
    status code = status::ok;
    std::uint64_t evicted = 0;
  };
  struct recv_answer {
    status code = status::ok;
    std::uint64_t message = 0;
  };
  struct recv_many_answer {
    status code = status::ok;
    std::vector<std::uint64_t> messages;  // Oldest first.
  };

  naive_channel(std::uint64_t id, std::uint32_t capacity, std::uint32_t waiter_limit)
      : id_(id), capacity_(capacity), waiter_limit_(waiter_limit) {
    tell(event_kind::channel_created, capacity);
  }

  // ---- senders

  void clone_sender() {
    ASX_ASSERT(senders_ != 0, "0 senders stay 0 (INV-CH-08)");
    ++senders_;
    tell(event_kind::sender_cloned, senders_);
  }

  /// Its waiters leave with it and are told so; the last one wakes the receiver, permits or not.
  void drop_sender(std::uint64_t sender) {
    std::vector<waiter> leaving;
    for (const waiter& w : waiters_) {
      if (w.sender == sender) leaving.push_back(w);
    }
    for (const waiter& w : leaving) remove(w.id);
    --senders_;
    tell(event_kind::sender_dropped, senders_);
    if (senders_ == 0 && has_receiver_) tell(event_kind::channel_sender_closed, 0, counts());
    if (senders_ == 0 && !has_receiver_) tell(event_kind::channel_fully_closed_by_sender);
    for (const waiter& w : leaving) wake(w.task, wake_code::disconnected);
    if (!leaving.empty()) wake_head_if_room();
    if (senders_ == 0) wake_receiver(wake_code::disconnected);
    free_if_deserted();
  }

  // ---- reserve

  /// Checks 4 to 7 of "Reserve". `waiting` is the id of the place that the operation has in this queue, 0 for none.
  reserve_answer poll_reserve(std::uint64_t task, std::uint64_t sender, std::uint64_t waiting, std::uint64_t obligation,
                              std::uint64_t now) {
    if (!has_receiver()) {
      leave(waiting);
      return {status::disconnected};
    }
    if (has_turn(waiting)) {
      remove(waiting);
      const std::uint64_t number = grant(task, obligation);
      wake_head_if_room();  // a claim passes the turn on.
      return {status::ok, number};
    }
    return stand_in_line(task, sender, waiting, now);
  }

  /// What is queued leaves `list`, which is in order.
  reserve_answer poll_send_many(std::uint64_t task, std::uint64_t sender, std::uint64_t waiting,
                                std::vector<std::uint64_t>& list, std::uint64_t now) {
    if (!has_receiver() || list.empty()) {  // Nothing to send is nothing to wait for.
      leave(waiting);
      return {has_receiver() ? status::ok : status::disconnected};
    }
    if (!has_turn(waiting)) return stand_in_line(task, sender, waiting, now);
    remove(waiting);
    while (has_room() && !list.empty()) {
      commit_at_once(list.front());
      list.erase(list.begin());
    }
    if (!list.empty()) return stand_in_line(task, sender, 0, now);  // A turn is one turn: the rest begins anew.
    wake_head_if_room();
    return {status::ok};
  }

  /// R-322, of a wait of which nothing was taken. ok: `message` is queued; would_block: it waits.
  reserve_answer poll_send(std::uint64_t task, std::uint64_t sender, std::uint64_t waiting, std::uint64_t message,
                           std::uint64_t now) {
    if (!has_receiver()) {
      leave(waiting);
      return {status::disconnected};
    }
    if (!has_turn(waiting)) {
      const reserve_answer out = stand_in_line(task, sender, waiting, now);
      for (waiter& w : waiters_) {
        if (w.id == out.waiter) w.message = message;
      }
      return out;
    }
    remove(waiting);
    commit_at_once(message);
    wake_head_if_room();
    return {status::ok};
  }

  /// The wait was moved: it keeps its place without its message.
  void forget_message(std::uint64_t waiting) {
    for (waiter& w : waiters_) {
      if (w.id == waiting) w.message = 0;
    }
  }

  reserve_answer try_reserve(std::uint64_t task, std::uint64_t obligation) {
    if (!has_receiver()) return {status::disconnected};
    if (!has_room() || !waiters_.empty()) return {status::full};  // INV-CH-04
    return {status::ok, grant(task, obligation)};
  }

  /// A waiter goes away unserved; nothing happens when it does not wait here (any more).
  void leave(std::uint64_t waiting) {
    if (remove(waiting)) wake_head_if_room();
  }

  // ---- permits

  status send(std::uint64_t number, std::uint64_t message) {
    permits_.erase(number);
    if (!has_receiver()) {
      ++aborted_;
      tell(event_kind::permit_disconnected, number, counts());
      for (const waiter& w : waiters_) wake(w.task, wake_code::disconnected);
      free_if_deserted();
      return status::disconnected;
    }
    enqueue(number, message);
    return status::ok;
  }

  /// Aborted, dropped, unwound or leaked: the slot returns in any case (INV-CH-09).
  void abort(std::uint64_t number, bool is_leak = false) {
    permits_.erase(number);
    ++aborted_;
    tell(is_leak ? event_kind::permit_dropped : event_kind::permit_aborted, number, counts());
    wake_head_if_room();
    if (senders_ == 0 && permits_.empty()) wake_receiver(wake_code::disconnected);
    free_if_deserted();
  }

  // ---- sending without a permit object; each takes a number when it commits

  status try_send(std::uint64_t message) {
    if (!has_receiver()) return status::disconnected;
    if (!has_room() || !waiters_.empty()) return status::full;
    commit_at_once(message);
    return status::ok;
  }

  evict_answer send_evict_oldest(std::uint64_t message) {
    if (!has_receiver()) return {status::disconnected};
    if (has_room() && waiters_.empty()) {
      commit_at_once(message);
      return {};
    }
    if (queue_.empty()) return {status::full};  // reserved slots are never evicted.
    const std::uint64_t oldest = queue_.front();
    queue_.pop_front();
    ++evicted_;
    tell(event_kind::message_evicted, 0, counts());
    commit_at_once(message);
    return {status::ok, oldest};
  }

  // ---- receive

  recv_answer poll_recv(std::uint64_t task) {
    const recv_answer out = try_recv();
    if (out.code != status::empty) {
      waker_.reset();  // Only would_block leaves a waker behind.
      return out;
    }
    waker_ = task;  // the later poll replaces the waker.
    return {status::would_block};
  }

  /// the first as any receive, then what is there, and nobody waits for more. 0 counts as 1.
  recv_many_answer poll_recv_many(std::uint64_t task, std::uint64_t most) {
    recv_answer got = poll_recv(task);
    recv_many_answer out{got.code, {}};
    while (got.code == status::ok) {
      out.messages.push_back(got.message);
      if (out.messages.size() >= most) break;
      got = try_recv();
    }
    return out;
  }

  /// The receive was cancelled: nothing is consumed (INV-CH-06), and no waker stays.
  void cancel_recv() { waker_.reset(); }

  recv_answer try_recv() {
    if (!queue_.empty()) {
      const std::uint64_t oldest = queue_.front();
      queue_.pop_front();
      ++received_;
      tell(event_kind::message_received, 0, counts());
      wake_head_if_room();
      return {status::ok, oldest};
    }
    const bool is_over = is_gone_ || (senders_ == 0 && permits_.empty());
    return {is_over ? status::disconnected : status::empty};
  }

  /// the flag, the queue, the waker, the senders, the values.
  void drop_receiver() {
    has_receiver_ = false;
    const std::deque<std::uint64_t> detached = std::exchange(queue_, {});
    discarded_ += detached.size();
    tell_receiver_gone(detached.size());
    waker_.reset();
    for (const waiter& w : waiters_) wake(w.task, wake_code::disconnected);
    for (const std::uint64_t message : detached) effects.push_back({channel_effect::kind::destroy, message});
    free_if_deserted();
  }

  // ---- ends of others

  /// The task is gone: what it waits in has left already, a waker of its goes too.
  void forget_waker_of(std::uint64_t task) {
    if (waker_ == task) waker_.reset();
  }

  /// What becomes of the obligations is the caller's business; he asks for `permits` before.
  void take_down() {
    ASX_ASSERT(!is_freed_, "a channel that is free has left its region");
    while (!permits_.empty()) {
      const std::uint64_t lowest = permits_.begin()->first;
      permits_.erase(lowest);
      ++aborted_;
      tell(event_kind::permit_aborted, lowest, counts());
    }
    const bool had_receiver = std::exchange(has_receiver_, false);
    is_gone_ = true;
    const std::deque<std::uint64_t> detached = std::exchange(queue_, {});
    discarded_ += detached.size();
    if (had_receiver) tell_receiver_gone(detached.size());
    const std::deque<waiter> senders = waiters_;
    for (const waiter& w : senders) remove(w.id);
    for (const waiter& w : senders) wake(w.task, wake_code::disconnected);
    wake_receiver(wake_code::disconnected);
    for (const std::uint64_t message : detached) effects.push_back({channel_effect::kind::destroy, message});
    is_freed_ = true;
    tell(event_kind::channel_freed);
  }

  // ---- looking

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] bool has_receiver() const { return has_receiver_; }
  [[nodiscard]] bool has_room() const { return queue_.size() + permits_.size() < capacity_; }
  [[nodiscard]] bool is_gone() const { return is_gone_; }    // Its region took it down.
  [[nodiscard]] bool is_freed() const { return is_freed_; }  // Its slot may be used again.
  [[nodiscard]] bool is_drained() const { return (!has_receiver_ || queue_.empty()) && permits_.empty(); }
  [[nodiscard]] const std::map<std::uint64_t, permit>& permits() const { return permits_; }
  [[nodiscard]] const std::deque<waiter>& waiters() const { return waiters_; }
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  [[nodiscard]] bool is_held(std::uint64_t number) const { return permits_.contains(number); }
  [[nodiscard]] bool is_waiting(std::uint64_t waiting) const {
    return std::any_of(waiters_.begin(), waiters_.end(), [waiting](const waiter& w) { return w.id == waiting; });
  }
  /// The task is registered here: a pending poll of it parks.
  [[nodiscard]] bool may_wake(std::uint64_t task) const {
    return waker_ == task ||
           std::any_of(waiters_.begin(), waiters_.end(), [task](const waiter& w) { return w.task == task; });
  }

  [[nodiscard]] channel_view view() const {
    channel_view out;
    out.id = id_;
    out.state = derive_channel_state(senders_, !has_receiver_);
    out.capacity = capacity_;
    out.queued = static_cast<std::uint32_t>(queue_.size());
    out.reserved = static_cast<std::uint32_t>(permits_.size());
    out.waiters = static_cast<std::uint32_t>(waiters_.size());
    out.first_waiter = waiters_.empty() ? 0 : waiters_.front().id;
    out.senders = senders_;
    out.has_receiver = has_receiver_;
    out.is_receiver_waiting = waker_.has_value();
    out.total_reserved = last_permit_;
    out.total_sent = sent_;
    out.total_aborted = aborted_;
    out.total_received = received_;
    out.total_evicted = evicted_;
    out.total_discarded = discarded_;
    return out;
  }

  std::vector<channel_effect> effects;
  /// its task is queued, being polled or asked to cancel, or its end has begun. What is in `effects` counts as
  /// done.
  std::function<bool(std::uint64_t task)> looks_for_itself;

 private:
  void wake(std::uint64_t task, wake_code why) { effects.push_back({channel_effect::kind::wake, task, why}); }

  /// Operands as docs/spec/events.md has them; how a message is numbered it does not say, so that operand is left out.
  void tell(event_kind event, std::uint64_t a = 0, std::uint64_t b = 0) {
    effects.push_back({channel_effect::kind::tell, id_, wake_code::other, event, a, b});
  }
  void tell_receiver_gone(std::uint64_t discarded) {
    tell(senders_ == 0 ? event_kind::channel_fully_closed_by_receiver : event_kind::channel_receiver_closed,
         pack(senders_, discarded));
  }
  [[nodiscard]] std::uint64_t counts() const { return pack(queue_.size(), permits_.size()); }

  /// a slot is free, and nobody stands before the one who asks.
  [[nodiscard]] bool has_turn(std::uint64_t waiting) const {
    return has_room() && (waiters_.empty() || waiters_.front().id == waiting);
  }

  reserve_answer stand_in_line(std::uint64_t task, std::uint64_t sender, std::uint64_t waiting, std::uint64_t now) {
    for (waiter& w : waiters_) {
      if (w.id != waiting) continue;
      if (w.task != task) w.registered = now;
      w.task = task;  // the place stays, whoever polled last is woken.
      w.message = 0;  // unless it is said again.
      return {status::would_block, 0, w.id};
    }
    if (waiters_.size() >= waiter_limit_) return {status::resource_exhausted};
    waiters_.push_back({++last_waiter_, task, sender, now, 0});
    tell(event_kind::send_waiter_added, last_waiter_, waiters_.size());
    return {status::would_block, 0, last_waiter_};
  }

  bool remove(std::uint64_t waiting) {
    if (std::erase_if(waiters_, [waiting](const waiter& w) { return w.id == waiting; }) == 0) return false;
    tell(event_kind::send_waiter_removed, waiting);
    return true;
  }

  /// on every event that may have made room or a new head, also when the head was woken before. Without a
  /// receiver there is no room to be had: who waits was told when it went, and is told again only by a send.
  /// the message of a head that has one is taken in place of that, and so on with the next.
  void wake_head_if_room() {
    while (!waiters_.empty() && has_room() && has_receiver_) {
      const waiter head = waiters_.front();
      if (head.message == 0 || looks_for_itself(head.task)) return wake(head.task, wake_code::slot);
      effects.push_back({channel_effect::kind::taken, head.id});
      remove(head.id);
      commit_at_once(head.message);
      wake(head.task, wake_code::slot);
    }
  }

  /// The waker is taken out by the wake.
  void wake_receiver(wake_code why) {
    if (const std::optional<std::uint64_t> task = std::exchange(waker_, std::nullopt)) wake(*task, why);
  }

  std::uint64_t grant(std::uint64_t task, std::uint64_t obligation) {
    permits_[++last_permit_] = {task, obligation};
    tell(event_kind::permit_reserved, last_permit_, counts());
    return last_permit_;
  }

  void commit_at_once(std::uint64_t message) {
    ++last_permit_;
    enqueue(last_permit_, message);
  }

  void enqueue(std::uint64_t number, std::uint64_t message) {
    queue_.push_back(message);
    ++sent_;
    tell(event_kind::permit_sent, number, counts());
    wake_receiver(wake_code::message);
  }

  /// nobody on either side, and no permit.
  void free_if_deserted() {
    if (is_freed_ || has_receiver_ || senders_ != 0 || !permits_.empty()) return;
    is_freed_ = true;
    tell(event_kind::channel_freed);
  }

  std::uint64_t id_;
  std::uint32_t capacity_;
  std::uint32_t waiter_limit_;
  std::deque<std::uint64_t> queue_;
  std::map<std::uint64_t, permit> permits_;
  std::deque<waiter> waiters_;
  std::optional<std::uint64_t> waker_;  // The task that the receiver's waker wakes.
  std::uint64_t senders_ = 1;
  bool has_receiver_ = true;
  bool is_gone_ = false;
  bool is_freed_ = false;
  std::uint64_t last_permit_ = 0;  // Also how many were reserved: each takes the next number.
  std::uint64_t last_waiter_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t aborted_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t evicted_ = 0;
  std::uint64_t discarded_ = 0;
};

}  // namespace asx::testing
