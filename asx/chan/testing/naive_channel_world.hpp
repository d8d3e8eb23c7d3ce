// asx/chan/testing/naive_channel_world.hpp - the model's world: senders, permits and waits in slots, obligations, and
// naive_channel behind them.
//
// What an operation answers before it reaches the channel is decided here: dead and left-over endpoints, admission of
// tracked permits, cancels. What it does to a channel is in naive_channel.hpp, what that does to tasks in
// naive_puppets.hpp.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/chan/testing/channel_script.hpp"
#include "asx/chan/testing/naive_channel.hpp"
#include "asx/chan/testing/naive_puppets.hpp"

namespace asx::testing {

class naive_channel_world final : public channel_world, public naive_puppets {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  struct sender_slot {
    bool is_live = false;
    std::size_t channel = none;
    std::uint64_t identity = 0;  // Moves with the sender; a clone has its own.
  };
  struct receiver_slot {
    bool is_live = false;
    std::size_t channel = none;
  };
  struct wait_place {
    std::size_t channel = none;
    std::uint64_t id = 0;
    std::uint64_t sender = 0;
  };
  struct wait_slot : wait_place {
    std::optional<std::uint64_t> message{};  // That lies with it. 0: its shell, it was taken from there,
    bool is_taken = false;                   // and nobody was told.
  };
  /// How often something happened that only R-322 knows.
  struct taken_counts {
    std::uint64_t taken = 0;
    std::uint64_t in_one_go = 0;  // Behind another one, by the same event.
    std::uint64_t not_taken = 0;  // A head with a message that looks for itself.
    std::uint64_t told = 0;
    std::uint64_t told_to_cancelled = 0;
    std::uint64_t told_of_dead = 0;
    std::uint64_t told_of_gone = 0;
    std::uint64_t untold = 0;  // The wait went, or was asked for something else.
    std::uint64_t moved = 0;   // A wait that stood with its message.
    std::uint64_t over = 0;    // A permit that was written over where somebody waits.
  };
  struct permit_slot {
    bool is_resolved = true;  // As far as the object knows.
    std::size_t channel = none;
    std::uint64_t number = 0;
    std::uint64_t obligation = 0;
  };

  explicit naive_channel_world(const channel_plan& plan)
      : naive_puppets(plan), senders_(plan.tracked.size()), receivers_(2), waits_(plan.waits) {
    for (std::uint32_t c = 0; c < plan.channels.size(); ++c) {
      static_cast<void>(create(plan.channels[c].region, plan.channels[c].capacity, c, c));
    }
    run();
    record_.clear();
  }

  /// It cannot be done, or the specification does not say what would come of it.
  [[nodiscard]] bool is_void(const channel_operation& op) const {
    using call = channel_call;
    const auto puppets = static_cast<std::uint32_t>(plan().puppets.size());
    const auto regions = static_cast<std::uint32_t>(plan().parents.size());
    if (op.actor >= puppets || op.region >= regions || op.sender >= senders_.size() ||
        op.receiver >= receivers_.size()) {
      return true;
    }
    const bool lives = op.actor != 0 && is_alive(op.actor);
    if (is_of_host_only(op.call)) {
      switch (op.call) {
        case call::wake:
        case call::cancel: return !lives;
        case call::complete: return !lives || (op.variant == 0 && !may_err(actor(op.actor)));
        case call::respawn: return lives || op.actor == 0 || !is_open(plan().puppets[op.actor]);
        default: return op.actor != 0;
      }
    }
    if (op.actor == 0 ? is_of_puppet_only(op.call) : !lives) return true;
    switch (op.call) {
      case call::poll_send_many:  // plain ones.
      case call::poll_send: return op.other >= waits_.size() || plan().tracked[op.sender];
      case call::poll_reserve:
      case call::leave:
      case call::drop_wait:
      case call::move_wait: return op.other >= waits_.size();
      case call::clone_sender:
        // What a copy of a sender that outlived its channel is, nobody says; clone() has a status.
        return op.other >= senders_.size() || is_in_use(senders_[op.other]) ||
               (senders_[op.sender].is_live && !is_in_use(senders_[op.sender]) &&
                (plan().tracked[op.sender] || plan().tracked[op.other]));
      case call::create:
        return op.other >= senders_.size() || is_in_use(senders_[op.other]) || is_in_use(receivers_[op.receiver]) ||
               op.message == 0;
      case call::panic_and_drop:
      case call::drop_permit:  // Whether what was lost can leak once more, nobody says,
        return op.permit >= permits_.size() || (permit_number(op.permit) != 0 && has_lost(permits_[op.permit]));
      case call::send:  // ... nor whether a lost receiver or a lost obligation is told first.
        return op.permit >= permits_.size() || (permit_number(op.permit) != 0 && has_lost(permits_[op.permit]) &&
                                                !channels_[permits_[op.permit].channel].has_receiver());
      case call::abort:
      case call::move_permit: return op.permit >= permits_.size();
      case call::close: return op.region == 0 || !is_open(op.region);
      case call::mask: return actor(op.actor).masks != 0;
      case call::unmask: return actor(op.actor).masks == 0;
      case call::push_cleanup: return actor(op.actor).cleanup.size() >= 8;
      default: return false;
    }
  }

  const channel_record& apply(const channel_operation& op) override {
    ASX_ASSERT(!is_void(op), "the caller asks first");
    begin(op);
    if (is_of_host_only(op.call)) {
      do_to_puppets(op);
    } else if (op.actor == 0) {
      note(act(op, nullptr));
    } else {
      script(op);
    }
    run();
    return record_;
  }

  // ---- what both worlds show
  [[nodiscard]] channel_view view_by_sender(std::uint32_t slot) const override {
    return view_of(senders_[slot].is_live, senders_[slot].channel);
  }
  [[nodiscard]] channel_view view_by_receiver(std::uint32_t slot) const override {
    return view_of(receivers_[slot].is_live, receivers_[slot].channel);
  }
  [[nodiscard]] bool is_sender_live(std::uint32_t slot) const override { return senders_[slot].is_live; }
  [[nodiscard]] bool is_receiver_live(std::uint32_t slot) const override { return receivers_[slot].is_live; }
  [[nodiscard]] std::uint64_t wait_id(std::uint32_t slot) const override {
    const wait_slot& w = waits_[slot];
    return w.channel != none && channels_[w.channel].is_waiting(w.id) ? w.id : 0;
  }
  [[nodiscard]] std::uint64_t permit_number(std::uint32_t slot) const override {
    const permit_slot& p = permits_[slot];
    return !p.is_resolved && channels_[p.channel].is_held(p.number) ? p.number : 0;
  }
  [[nodiscard]] std::size_t permit_slots() const override { return permits_.size(); }
  [[nodiscard]] bool owes_obligations() const override {
    return std::any_of(obligations_.begin(), obligations_.end(), [](const auto& o) { return o.second.is_reserved; });
  }
  [[nodiscard]] bool owes_in(std::uint32_t region) const {
    return std::any_of(obligations_.begin(), obligations_.end(),
                       [region](const auto& o) { return o.second.is_reserved && o.second.region == region; });
  }
  [[nodiscard]] bool is_drained() const override {
    return std::all_of(channels_.begin(), channels_.end(), [](const naive_channel& c) { return c.is_drained(); });
  }
  [[nodiscard]] std::uint64_t live_messages() const override {
    std::uint64_t out = 0;
    for (const naive_channel& c : channels_) out += c.queued();
    for (std::uint32_t p = 1; p < plan().puppets.size(); ++p) out += actor(p).rest.size();
    for (const wait_slot& w : waits_) out += w.message.value_or(0) != 0 ? 1U : 0U;
    return out;
  }

  [[nodiscard]] const taken_counts& counts() const { return counts_; }

  // ---- what a drawer of operations asks
  [[nodiscard]] const std::vector<sender_slot>& senders() const { return senders_; }
  [[nodiscard]] const std::vector<receiver_slot>& receivers() const { return receivers_; }
  /// Live, and its channel is where it was.
  [[nodiscard]] bool is_in_use(const sender_slot& s) const { return s.is_live && !channels_[s.channel].is_gone(); }
  [[nodiscard]] bool is_in_use(const receiver_slot& r) const { return r.is_live && !channels_[r.channel].is_gone(); }
  /// Its message was taken, and nobody was told.
  [[nodiscard]] bool is_untold(std::uint32_t wait) const { return waits_[wait].is_taken; }
  /// The slot of the sender that a wait was polled with last, or `otherwise`.
  [[nodiscard]] std::uint32_t sender_of(std::uint32_t wait, std::uint32_t otherwise) const {
    for (std::uint32_t s = 0; s < senders_.size(); ++s) {
      if (wait_id(wait) != 0 && senders_[s].is_live && senders_[s].identity == waits_[wait].sender) return s;
    }
    return otherwise;
  }

 private:
  struct promise {
    std::uint32_t region = 0;
    bool is_reserved = true;
  };

  // ---- one operation; `t` is who is polled, null outside of polls

  channel_note act(const channel_operation& op, naive_task* t) override {
    using call = channel_call;
    channel_note out;
    out.task = t == nullptr ? 0 : t->id;
    out.call = op.call;
    switch (op.call) {
      case call::poll_reserve:
        poll_to_send(op, *t, out);
        forget_message(waits_[op.other]);
        break;
      case call::poll_send: poll_send(op, *t, out); break;
      case call::poll_send_many: poll_send_many(op, *t, out); break;
      case call::try_reserve: try_reserve(op, t, out); break;
      case call::try_send:
      case call::send_evict_oldest: send_at_once(op, out); break;
      case call::send: send(op, out); break;
      case call::abort: abort(permits_[op.permit], out); break;
      case call::panic_and_drop:
        panic(false);
        drop_permit(permits_[op.permit], t);
        break;
      case call::drop_permit: drop_permit(permits_[op.permit], t); break;
      case call::clone_sender: clone_sender(op, out); break;
      case call::drop_sender: drop_sender(senders_[op.sender]); break;
      case call::poll_recv:
      case call::poll_recv_many:
      case call::try_recv: receive(op, t, out); break;
      case call::drop_receiver: drop_receiver(receivers_[op.receiver]); break;
      case call::leave:
      case call::drop_wait:
        leave(waits_[op.other]);
        forget_message(waits_[op.other]);
        break;
      case call::move_wait: move_wait(waits_[op.other]); break;
      case call::create:
        out.code =
            create(t == nullptr ? op.region : t->region, static_cast<std::uint32_t>(op.message), op.receiver, op.other);
        if (out.code != status::ok) tell_refusal(event_kind::refused_channel, out.code);
        break;
      case call::close:
        close(op.region, op.kind);
        evaluate_regions();
        break;
      case call::checkpoint: out.code = is_cancelled(*t) ? status::cancelled : status::ok; break;
      case call::mask: ++t->masks; break;
      case call::unmask: --t->masks; break;
      case call::push_cleanup: t->cleanup.push_back({naive_task::own_action, ++last_cleanup_}); break;
      case call::panic: panic(false); break;
      default: break;  // Moves leave everything as it is.
    }
    return out;
  }

  /// The task keeps what is left for as long as it waits; else it is handed back.
  void poll_send_many(const channel_operation& op, naive_task& t, channel_note& out) {
    if (op.variant == 1) t.rest.clear();
    for (std::uint32_t i = 0; i < op.count; ++i) t.rest.push_back(op.message + i);
    const std::size_t before = t.rest.size();
    poll_to_send(op, t, out);
    out.count = before - t.rest.size();
    out.list = t.rest;
    if (out.code != status::would_block) t.rest.clear();
    forget_message(waits_[op.other]);
  }

  /// The message lies with its wait for as long as that waits; else it is queued, or handed back.
  void poll_send(const channel_operation& op, naive_task& t, channel_note& out) {
    wait_slot& w = waits_[op.other];
    if (!w.message || op.variant == 1) w.message = op.message;
    if (std::exchange(w.is_taken, false)) {  // Once, and before every other answer.
      const sender_slot& s = senders_[op.sender];
      ++counts_.told;
      if (t.is_answering()) ++counts_.told_to_cancelled;
      if (!s.is_live) ++counts_.told_of_dead;
      if (s.is_live && !channels_[s.channel].has_receiver()) ++counts_.told_of_gone;
      out.code = status::ok;
    } else {
      poll_to_send(op, t, out);
      if (out.code == status::ok) w.message = 0;
    }
    if (out.code == status::would_block) return;
    const bool is_seen = !plan().is_plain || out.code != status::ok;  // Bytes do not tell whether they were moved.
    out.back = is_seen ? *w.message : 0;
    w.message.reset();
  }

  /// The owner takes it away: the wait went, or is for something else now.
  void forget_message(wait_slot& w) {
    if (std::exchange(w.is_taken, false)) ++counts_.untold;
    w.message.reset();
  }

  /// its place stays, and its message stays where it is, with nobody to take it.
  void move_wait(const wait_slot& w) {
    if (w.id == 0) return;
    for (const naive_channel::waiter& other : channels_[w.channel].waiters()) {
      if (other.id == w.id && other.message != 0) ++counts_.moved;
    }
    channels_[w.channel].forget_message(w.id);
  }

  /// For a slot, a message or a list of them: it is the same wait, with the same place.
  void poll_to_send(const channel_operation& op, naive_task& t, channel_note& out) {
    sender_slot& s = senders_[op.sender];
    wait_slot& w = waits_[op.other];
    if (w.sender != s.identity) leave(w);  // another sender, a new operation.
    const bool is_tracked = plan().tracked[op.sender];
    const auto refuse = [&](status code) {  // Only would_block leaves somebody in the queue.
      leave(w);
      out.code = code;
      if (code == status::region_not_open) tell_refusal(event_kind::refused_slot, code);
    };
    if (!s.is_live || is_reused(s.channel)) return refuse(status::stale_handle);
    if (is_tracked && !is_open(t.region)) return refuse(status::region_not_open);
    if (is_cancelled(t)) return refuse(status::cancelled);
    if (channels_[s.channel].is_gone()) return refuse(status::disconnected);
    const std::uint64_t obligation = is_tracked ? last_obligation_ + 1 : 0;
    naive_channel& c = channels_[s.channel];
    naive_channel::reserve_answer got;
    ++registrations_;
    if (op.call == channel_call::poll_send_many) {
      got = c.poll_send_many(t.id, s.identity, w.id, t.rest, registrations_);
    } else if (op.call == channel_call::poll_send) {
      got = c.poll_send(t.id, s.identity, w.id, *w.message, registrations_);
    } else {
      got = c.poll_reserve(t.id, s.identity, w.id, obligation, registrations_);
    }
    out.code = got.code;
    out.number = got.permit + got.waiter;
    if (got.code == status::resource_exhausted) tell_refusal(event_kind::refused_slot, got.code);
    static_cast<wait_place&>(w) =
        got.code == status::would_block ? wait_place{s.channel, got.waiter, s.identity} : wait_place{};
    permit_slot* const over = over_of(op);
    permit_slot before;
    if (got.permit != 0) before = take_permit(s.channel, got.permit, obligation, &t, t.region, over);
    carry_out(s.channel);
    write_over(before);
  }

  /// What a reserve is asked to write over: a plain permit that is held.
  permit_slot* over_of(const channel_operation& op) {
    const bool reserves = op.call == channel_call::poll_reserve || op.call == channel_call::try_reserve;
    if (!reserves || !op.is_over || plan().tracked[op.sender] || op.permit >= permits_.size()) return nullptr;
    const bool is_plain = permits_[op.permit].obligation == 0 && permit_number(op.permit) != 0;
    return is_plain ? &permits_[op.permit] : nullptr;
  }
  /// It is aborted as soon as there is another one in its place.
  void write_over(permit_slot& before) {
    if (before.is_resolved) return;
    if (!channels_[before.channel].waiters().empty()) ++counts_.over;
    channel_note unused;
    abort(before, unused);
  }

  void try_reserve(const channel_operation& op, naive_task* t, channel_note& out) {
    const sender_slot& s = senders_[op.sender];
    const bool is_tracked = plan().tracked[op.sender];
    const std::uint32_t region = t == nullptr ? op.region : t->region;
    out.code = status::stale_handle;
    if (!s.is_live || is_reused(s.channel)) return;
    out.code = status::invalid_argument;
    if (is_tracked && t == nullptr && op.variant == 1) return;  // A host names a region.
    out.code = status::region_not_open;
    if (is_tracked && !is_open(region)) return;
    out.code = status::disconnected;
    if (channels_[s.channel].is_gone()) return;
    const std::uint64_t obligation = is_tracked ? last_obligation_ + 1 : 0;
    const naive_channel::reserve_answer got = channels_[s.channel].try_reserve(out.task, obligation);
    out.code = got.code;
    out.number = got.permit;
    permit_slot* const over = over_of(op);
    permit_slot before;
    if (got.code == status::ok) before = take_permit(s.channel, got.permit, obligation, t, region, over);
    carry_out(s.channel);
    write_over(before);
  }

  /// Into `over`, whose permit is given back; null: into a place that is free.
  permit_slot take_permit(std::size_t channel, std::uint64_t number, std::uint64_t obligation, naive_task* holder,
                          std::uint32_t region, permit_slot* over) {
    if (obligation != 0) {
      last_obligation_ = obligation;
      obligations_[obligation] = {region, true};
      record_.obligations.push_back({obligation, obligation_state::reserved});
    }
    if (holder != nullptr) holder->cleanup.push_back({channel, number});
    if (over != nullptr) return std::exchange(*over, {false, channel, number, obligation});
    std::uint32_t slot = 0;
    while (slot < permits_.size() && permit_number(slot) != 0) ++slot;
    if (slot == permits_.size()) permits_.emplace_back();
    permits_[slot] = {false, channel, number, obligation};
    return {};
  }

  void send_at_once(const channel_operation& op, channel_note& out) {
    const sender_slot& s = senders_[op.sender];
    out.back = op.message;
    out.code = status::stale_handle;
    if (!s.is_live || is_reused(s.channel)) return;
    out.code = status::disconnected;
    if (channels_[s.channel].is_gone()) return;
    if (op.call == channel_call::try_send) {
      out.code = channels_[s.channel].try_send(op.message);
    } else {
      const naive_channel::evict_answer got = channels_[s.channel].send_evict_oldest(op.message);
      out.code = got.code;
      out.message = got.evicted;
    }
    if (out.code == status::ok) out.back = 0;
    carry_out(s.channel);
  }

  void send(const channel_operation& op, channel_note& out) {
    permit_slot& p = permits_[op.permit];
    out.back = op.message;
    out.code = status::obligation_already_resolved;
    if (p.is_resolved) return;
    naive_channel& c = channels_[p.channel];
    const bool is_held = c.is_held(p.number);
    p.is_resolved = true;
    if (!is_held && !c.is_freed()) return;  // Unwound with its task.
    out.code = status::disconnected;
    if (!is_held) return;  // Left over from a channel that is free; a permit is no endpoint, and never stale.
    leave_stack(p);
    if (has_lost(p)) {  // its region has swept the obligation.
      out.code = status::obligation_leaked;
      c.abort(p.number);
      return carry_out(p.channel);
    }
    out.code = c.send(p.number, op.message);
    if (out.code == status::ok) out.back = 0;
    if (p.obligation != 0) {
      if (out.code == status::ok) out.number = p.number;  // The proof.
      resolve(p.obligation, out.code == status::ok ? obligation_state::committed : obligation_state::aborted);
    }
    carry_out(p.channel);
  }

  void abort(permit_slot& p, channel_note& out) {
    if (p.is_resolved) return;
    p.is_resolved = true;
    if (!channels_[p.channel].is_held(p.number)) return;
    if (p.obligation != 0 && !has_lost(p)) {
      out.number = p.number;  // The proof.
      resolve(p.obligation, obligation_state::aborted);
    }
    leave_stack(p);
    channels_[p.channel].abort(p.number);
    carry_out(p.channel);
  }

  /// a tracked one is aborted by whoever is on the way out, and leaked by anybody else.
  void drop_permit(permit_slot& p, const naive_task* t) {
    channel_note unused;
    const bool is_held = !p.is_resolved && channels_[p.channel].is_held(p.number);
    const bool is_leaving = t != nullptr && (t->state == task_state::cancelling || has_panicked());
    if (!is_held || p.obligation == 0 || is_leaving) return abort(p, unused);
    p.is_resolved = true;
    leave_stack(p);
    channels_[p.channel].abort(p.number, true);  // The slot returns; the obligation stays reserved.
    if (t == nullptr) {
      ++record_.fatals;
    } else {
      panic(true);
    }
    carry_out(p.channel);
  }

  void clone_sender(const channel_operation& op, channel_note& out) {
    const sender_slot& from = senders_[op.sender];
    if (!from.is_live) {
      // A refused clone() changes nothing (U-36); the other ways are copies, and a copy of a dead one is dead.
      if (plan().tracked[op.sender] || plan().tracked[op.other]) senders_[op.other] = {};
      out.code = status::stale_handle;
      return;
    }
    if (channels_[from.channel].is_gone()) {
      out.code = is_reused(from.channel) ? status::stale_handle : status::disconnected;
      return;
    }
    channels_[from.channel].clone_sender();
    carry_out(from.channel);
    senders_[op.other] = {true, from.channel, ++last_identity_};
  }

  void drop_sender(sender_slot& s) {
    if (!s.is_live) return;
    s.is_live = false;
    if (channels_[s.channel].is_gone()) return;
    channels_[s.channel].drop_sender(s.identity);
    carry_out(s.channel);
  }

  void receive(const channel_operation& op, naive_task* t, channel_note& out) {
    const receiver_slot& r = receivers_[op.receiver];
    out.code = status::stale_handle;
    if (!r.is_live || is_reused(r.channel)) return;
    if (op.call != channel_call::try_recv && is_cancelled(*t)) {
      out.code = status::cancelled;
      channels_[r.channel].cancel_recv();
      return;
    }
    naive_channel& c = channels_[r.channel];
    if (op.call == channel_call::poll_recv_many) {
      naive_channel::recv_many_answer got = c.poll_recv_many(t->id, op.count);
      out.code = got.code;
      out.count = got.messages.size();
      out.list = std::move(got.messages);
    } else {
      const naive_channel::recv_answer got = op.call == channel_call::poll_recv ? c.poll_recv(t->id) : c.try_recv();
      out.code = got.code;
      out.message = got.message;
    }
    carry_out(r.channel);
  }

  void drop_receiver(receiver_slot& r) {
    if (!r.is_live) return;
    r.is_live = false;
    if (channels_[r.channel].is_gone()) return;
    channels_[r.channel].drop_receiver();
    carry_out(r.channel);
  }

  void leave(wait_slot& w) {
    const wait_place was = std::exchange(static_cast<wait_place&>(w), {});
    if (was.id == 0) return;
    channels_[was.channel].leave(was.id);
    carry_out(was.channel);
  }

  /// The ends go where dead ones, or such that outlived their channel, were before.
  status create(std::uint32_t region, std::uint32_t capacity, std::uint32_t receiver, std::uint32_t sender) {
    if (!is_open(region)) return status::region_not_open;
    std::vector<bool> used(channels_.size() + 1, false);
    std::uint32_t live = 0;
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      if (channels_[c].is_freed()) continue;
      used[place_of_[c]] = true;
      ++live;
    }
    if (live >= plan().max_channels) return status::resource_exhausted;
    std::size_t lowest = 0;
    while (used[lowest]) ++lowest;  // U-19
    channels_.emplace_back(channels_.size() + 1, capacity, plan().max_waiters);
    channels_.back().looks_for_itself = [this, c = channels_.size() - 1](std::uint64_t task) {
      return is_busy(c, task);
    };
    carry_out(channels_.size() - 1);
    place_of_.push_back(lowest);
    region_of_.push_back(region);
    senders_[sender] = {true, channels_.size() - 1, ++last_identity_};
    receivers_[receiver] = {true, channels_.size() - 1};
    return status::ok;
  }

  // ---- what a channel wants done

  void carry_out(std::size_t channel) {
    const std::vector<channel_effect> effects = std::exchange(channels_[channel].effects, {});
    bool was_taken = false;
    for (const channel_effect& e : effects) {
      switch (e.what) {
        case channel_effect::kind::taken:
          take_message(channel, e.subject);
          ++counts_.taken;
          if (std::exchange(was_taken, true)) ++counts_.in_one_go;
          break;
        case channel_effect::kind::wake: wake(e.subject, e.why); break;
        case channel_effect::kind::tell: record_.tell({e.subject, e.event, e.a, e.b}); break;
        case channel_effect::kind::destroy: {
          channel_note n;
          n.what = channel_note::kind::destroyed;
          n.message = e.subject;
          note(n);
          break;
        }
      }
    }
  }

  /// It was moved out from where it lies.
  void take_message(std::size_t channel, std::uint64_t waiter) {
    for (wait_slot& w : waits_) {
      if (w.channel != channel || w.id != waiter) continue;
      w = {};
      w.message = 0;
      w.is_taken = true;
    }
  }

  /// Who is woken by what this channel did just now is queued.
  [[nodiscard]] bool is_busy(std::size_t channel, std::uint64_t task) {
    const std::vector<channel_effect>& effects = channels_[channel].effects;
    const bool is_woken = std::any_of(effects.begin(), effects.end(), [task](const channel_effect& e) {
      return e.what == channel_effect::kind::wake && e.subject == task;
    });
    const bool out = is_woken || looks_for_itself(task);
    if (out) ++counts_.not_taken;
    return out;
  }

  void tell_refusal(event_kind event, status code) { record_.tell({0, event, static_cast<std::uint64_t>(code), 0}); }

  void resolve(std::uint64_t obligation, obligation_state state) {
    obligations_[obligation].is_reserved = false;
    record_.obligations.push_back({obligation, state});
  }

  /// It is resolved, so it no longer lies on the cleanup stack of its holder.
  void leave_stack(std::uint64_t holder, std::size_t channel, std::uint64_t number) {
    std::erase_if(task_by(holder).cleanup,
                  [channel, number](const naive_task::undo& u) { return u.channel == channel && u.number == number; });
  }
  void leave_stack(const permit_slot& p) {
    const std::uint64_t holder = channels_[p.channel].permits().at(p.number).holder;
    if (holder != 0) leave_stack(holder, p.channel, p.number);
  }

  /// Tracked, and its obligation was leaked under it.
  [[nodiscard]] bool has_lost(const permit_slot& p) const {
    return p.obligation != 0 && !obligations_.at(p.obligation).is_reserved;
  }

  /// The slot of this channel belongs to another one now: what is left of this one is stale.
  [[nodiscard]] bool is_reused(std::size_t channel) const {
    if (!channels_[channel].is_freed()) return false;
    for (std::size_t c = channel + 1; c < channels_.size(); ++c) {
      if (place_of_[c] == place_of_[channel]) return true;
    }
    return false;
  }

  [[nodiscard]] channel_view view_of(bool is_live, std::size_t channel) const {
    channel_view out;
    if (!is_live || is_reused(channel)) {
      out.code = status::stale_handle;
    } else if (channels_[channel].is_gone()) {
      out.code = status::disconnected;
    } else {
      out = channels_[channel].view();
    }
    return out;
  }

  // ---- what the puppets ask

  /// what unwinding does to a tracked permit depends on how its task ends. The slot returns in any case.
  bool unwind_permit(const naive_task::undo& permit, outcome_kind how) override {
    const std::uint64_t obligation = channels_[permit.channel].permits().at(permit.number).obligation;
    const bool leaks = obligation != 0 && (how == outcome_kind::ok || how == outcome_kind::err);
    if (obligation != 0 && !leaks) resolve(obligation, obligation_state::aborted);
    channels_[permit.channel].abort(permit.number, leaks);
    carry_out(permit.channel);
    return leaks;
  }

  void run_own_action(naive_task& t, std::uint64_t number) override {
    channel_note n;
    n.what = channel_note::kind::cleanup;
    n.task = t.id;
    n.number = number;
    for (std::size_t c = 0; c < channels_.size(); ++c) {  // All that somebody could still look at.
      const auto leads_here = [c](const auto& end) { return end.is_live && end.channel == c; };
      const bool is_seen = std::any_of(senders_.begin(), senders_.end(), leads_here) ||
                           std::any_of(receivers_.begin(), receivers_.end(), leads_here);
      if (is_seen && !channels_[c].is_gone()) n.message += channels_[c].permits().size();
    }
    note(n);
  }

  void leave_waits(std::uint64_t task) override {
    for (;;) {  // In the order in which it began to wait.
      std::size_t channel = none;
      naive_channel::waiter first;
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        for (const naive_channel::waiter& w : channels_[c].waiters()) {
          if (w.task != task || (channel != none && w.registered > first.registered)) continue;
          channel = c;
          first = w;
        }
      }
      if (channel == none) break;
      channels_[channel].leave(first.id);
      carry_out(channel);
    }
    for (naive_channel& c : channels_) c.forget_waker_of(task);
  }

  [[nodiscard]] bool may_wake(std::uint64_t task) const override {
    return std::any_of(channels_.begin(), channels_.end(), [task](const naive_channel& c) { return c.may_wake(task); });
  }

  /// the permits and channels of the region, then whatever obligations it still has.
  void take_down(std::uint32_t region) override {
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      if (region_of_[c] != region || channels_[c].is_freed()) continue;
      for (const auto& [number, permit] : channels_[c].permits()) {
        if (permit.holder != 0) leave_stack(permit.holder, c, number);
        if (permit.obligation != 0 && obligations_[permit.obligation].is_reserved) {
          resolve(permit.obligation, obligation_state::aborted);
        }
      }
      channels_[c].take_down();
      carry_out(c);
    }
    for (auto& [number, owed] : obligations_) {
      if (owed.region == region && owed.is_reserved) resolve(number, obligation_state::leaked);
    }
  }

  /// Without a tracked permit in hand: whether an end from outside leaks it, nobody says.
  [[nodiscard]] bool may_err(const naive_task& t) const {
    return std::none_of(t.cleanup.begin(), t.cleanup.end(), [this](const naive_task::undo& u) {
      return u.channel != naive_task::own_action && channels_[u.channel].permits().at(u.number).obligation != 0;
    });
  }

  std::vector<naive_channel> channels_;  // By number, from 1.
  std::vector<std::size_t> place_of_;    // The slot of each in the kernel's table.
  std::vector<std::uint32_t> region_of_;
  std::vector<sender_slot> senders_;
  std::vector<receiver_slot> receivers_;
  std::vector<wait_slot> waits_;
  std::vector<permit_slot> permits_;
  std::map<std::uint64_t, promise> obligations_;
  std::uint64_t last_obligation_ = 0;
  std::uint64_t last_identity_ = 0;
  std::uint64_t last_cleanup_ = 0;
  std::uint64_t registrations_ = 0;
  taken_counts counts_;
};

}  // namespace asx::testing
