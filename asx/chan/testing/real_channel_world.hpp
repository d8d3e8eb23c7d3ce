// asx/chan/testing/real_channel_world.hpp - real channels in a real runtime, behind the face that the model has too.
//
// Scripts become polls, slots become senders, receivers, permits and waiting operations, and what happened is read from
// the journal: wakes, ends of tasks, obligations, freed channels. Answers and deaths of messages are told by the calls
// themselves; each is stamped with the number of the newest event, so that all of it can be put in one order. Nothing
// is decided here: every answer is the channel's.
//
// Without a journal nobody listens at all, ghosts neither: the channels take their short ways, and every second plain
// reserve and receive is done as a coroutine does them. Where messages are plain those ways move bytes.
//
// A foreign hold keeps stall polls away, so that a cancelled puppet lives on until a script ends it.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/chan/testing/channel_script.hpp"
#include "asx/chan/testing/counted_message.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::testing {

/// A world that has something to say about its end.
class ending_channel_world : public channel_world {
 public:
  /// Ends everything, with the ends of channels still in their slots. What is not as it should be then, or "".
  [[nodiscard]] virtual std::string finish() = 0;
};

template <class Message>
class real_channel_world final : public ending_channel_world {
 public:
  explicit real_channel_world(channel_plan plan)
      : plan_(std::move(plan)),
        rt_(config()),
        senders_(plan_.tracked.size()),
        receivers_(2),
        letters_(plan_.waits),
        waits_(plan_.waits) {
    book_.log = &rt_.journal();
    k().take_foreign_hold();
    regions_.push_back(rt_.root());
    for (std::size_t r = 1; r < plan_.parents.size(); ++r) {
      region_spec spec;
      spec.is_held = true;
      region_handle made;
      expect(k().create_region(regions_[plan_.parents[r]], spec, made));
      regions_.push_back(made);
    }
    for (std::uint32_t p = 0; p < plan_.puppets.size(); ++p) {
      puppets_.push_back({this, p, {}, {}, {}, 0, false});
      if (p != 0) spawn(puppets_.back());
    }
    for (std::uint32_t c = 0; c < plan_.channels.size(); ++c) {
      channel_operation op;
      op.call = channel_call::create;
      op.region = plan_.channels[c].region;
      op.message = plan_.channels[c].capacity;
      op.receiver = op.other = c;
      expect(act(op, nullptr).code);
    }
    run();
    record_.clear();
  }
  ~real_channel_world() override { static_cast<void>(real_channel_world::finish()); }

  const channel_record& apply(const channel_operation& op) override {
    record_.clear();
    repolls_ = op.repolls;
    for (puppet& p : puppets_) p.mind.patience = puppet_mind::most_repolls;
    if (is_of_host_only(op.call)) {
      do_to_puppets(op);
    } else if (op.actor == 0) {
      say(act(op, nullptr));
    } else {
      puppets_[op.actor].mind.script = op;
      k().waker_of(puppets_[op.actor].handle).wake();
    }
    run();
    return record_;
  }

  [[nodiscard]] std::string finish() override {
    if (std::exchange(is_finished_, true)) return "";
    record_.clear();
    k().release_foreign_hold();
    const shutdown_result ended = rt_.shutdown();
    std::string out = ended.survivors;
    for (std::uint32_t slot = 0; slot < permits_.size(); ++slot) {
      if (permit_number(slot) != 0) out += "permit " + std::to_string(slot) + " is held after all regions closed\n";
    }
    for (puppet& p : puppets_) p.rest.clear();
    waits_.clear();
    for (std::unique_ptr<message>& l : letters_) take_away(l);
    permits_.clear();
    senders_.clear();
    receivers_.clear();
    if (book_.live != 0) out += std::to_string(book_.live) + " messages were not destroyed\n";
    if (!plan_.is_journalled && rt_.kernel().ghosts().is_on()) out += "somebody listened\n";
    for (puppet& p : puppets_) static_cast<void>(k().release_task(p.handle));
    for (std::size_t r = 1; r < regions_.size(); ++r) static_cast<void>(k().release_region(regions_[r]));
    if (record_.fatals != 0) out += "the fatal hook was called\n";
    return out;
  }

  // ---- what both worlds show
  [[nodiscard]] channel_view view_by_sender(std::uint32_t slot) const override {
    channel_report r;
    return view_of(base(slot).inspect(r), r);
  }
  [[nodiscard]] channel_view view_by_receiver(std::uint32_t slot) const override {
    channel_report r;
    return view_of(receivers_[slot].inspect(r), r);
  }
  [[nodiscard]] bool is_sender_live(std::uint32_t slot) const override {
    return plan_.tracked[slot] ? senders_[slot].tracked.is_live() : senders_[slot].plain.is_live();
  }
  [[nodiscard]] bool is_receiver_live(std::uint32_t slot) const override { return receivers_[slot].is_live(); }
  [[nodiscard]] std::uint64_t wait_id(std::uint32_t slot) const override {
    const bool agrees = waits_[slot].is_waiting() == (waits_[slot].id() != 0);
    return agrees ? waits_[slot].id() : UINT64_MAX;
  }
  [[nodiscard]] std::uint64_t permit_number(std::uint32_t slot) const override {
    const permit_slot& p = permits_[slot];
    const std::uint64_t number = p.is_tracked ? p.tracked.number() : p.plain.number();
    const bool agrees = (p.is_tracked ? p.tracked.is_held() : p.plain.is_held()) == (number != 0);
    return agrees ? number : UINT64_MAX;
  }
  [[nodiscard]] std::size_t permit_slots() const override { return permits_.size(); }
  [[nodiscard]] bool owes_obligations() const override { return (quiescence() & 2U) != 0; }
  [[nodiscard]] bool is_drained() const override { return (quiescence() & 16U) == 0; }
  [[nodiscard]] std::uint64_t live_messages() const override { return book_.live; }

 private:
  using message = Message;

  struct puppet {
    real_channel_world* world;
    std::uint32_t number;
    task_handle handle;
    puppet_mind mind;
    message_list<message> rest;  // Of the list that it sends.
    std::uint64_t task;
    bool has_ended;  // And that was said.
  };
  struct sender_slot {  // One of them, as the plan says.
    sender<message> plain;
    tracked_sender<message> tracked;
  };
  struct permit_slot {
    bool is_tracked = false;
    send_permit<message> plain;
    tracked_permit<message> tracked;
  };
  struct own_action {
    real_channel_world* world;
    std::uint64_t task;
    std::uint64_t number;
  };
  struct stamped {
    std::uint64_t seq;
    channel_note note;
  };

  runtime_config config() {
    runtime_config out;
    out.contract.max_channel_waiters = plan_.max_waiters < 65'536 ? plan_.max_waiters : 65'536;
    out.contract.max_channels = plan_.max_channels;
    out.journaling = plan_.is_journalled ? journal_mode::full : journal_mode::off;
    if (!plan_.is_journalled) out.behaviour.ghosts = ghost_mode::off;
    out.contract.max_timers = 1;         // A wheel for many would cost more than all the rest of a small world.
    out.contract.max_trace_events = 64;  // The sink sees every event.
    out.behaviour.fatal = [](void* self, std::string_view) noexcept {
      ++static_cast<real_channel_world*>(self)->record_.fatals;
    };
    out.behaviour.fatal_context = this;
    out.cancel_streak_limit = 1'000'000;  // The lanes are not what is tested here.
    out.sink = {this, [](void* self, std::span<const event> batch) noexcept {
                  for (const event& e : batch) static_cast<real_channel_world*>(self)->see(e);
                }};
    return out;
  }
  [[nodiscard]] asx::kernel& k() { return rt_.kernel(); }
  [[nodiscard]] std::uint32_t quiescence() const {
    return const_cast<runtime&>(rt_).kernel().check_quiescence().failed;  // Looking changes nothing.
  }
  static void expect(status code) { ASX_ASSERT(code == status::ok, "a world is made of what it has room for"); }

  // ---- the journal

  void see(const event& e) {
    switch (e.kind) {
      case event_kind::task_woken: {
        channel_note n;
        n.what = channel_note::kind::wake;
        n.task = e.subject;
        n.why = static_cast<wake_code>(high_half(e.a));
        if (n.why != wake_code::input) woken_.push_back({e.seq, n});  // The world's own wakes are no news.
        break;
      }
      case event_kind::task_failed_at_spawn:
      case event_kind::task_completed:
      case event_kind::task_completed_unobserved:
      case event_kind::task_completed_in_cleanup:
      case event_kind::task_finalized:
        record_.ends.push_back({e.subject, static_cast<outcome_kind>(low_half(e.a)), false});
        break;
      case event_kind::obligation_reserved: owe(e, obligation_state::reserved); break;
      case event_kind::obligation_committed: owe(e, obligation_state::committed); break;
      case event_kind::obligation_aborted: owe(e, obligation_state::aborted); break;
      case event_kind::obligation_leaked: owe(e, obligation_state::leaked); break;
      case event_kind::channel_created:
      case event_kind::channel_receiver_closed:
      case event_kind::channel_fully_closed_by_receiver:
      case event_kind::sender_cloned:
      case event_kind::sender_dropped:
      case event_kind::send_waiter_removed: record_.tell({e.subject, e.kind, e.a, 0}); break;
      case event_kind::message_received:
      case event_kind::message_evicted: record_.tell({e.subject, e.kind, 0, e.b}); break;
      case event_kind::channel_sender_closed:
      case event_kind::channel_fully_closed_by_sender:
      case event_kind::permit_reserved:
      case event_kind::permit_sent:
      case event_kind::permit_aborted:
      case event_kind::permit_dropped:
      case event_kind::permit_disconnected:
      case event_kind::send_waiter_added:
      case event_kind::channel_freed: record_.tell({e.subject, e.kind, e.a, e.b}); break;
      default:
        if (is_refusal(e.kind) && !is_about_a_lost_promise(e)) record_.tell({0, e.kind, low_half(e.a), 0});
        break;
    }
  }
  /// A second end of an obligation that its region has leaked: whether it is refused aloud, nobody says.
  [[nodiscard]] static bool is_about_a_lost_promise(const event& e) {
    const auto code = static_cast<status>(low_half(e.a));
    return e.kind == event_kind::refused_obligation &&
           (code == status::obligation_leaked || code == status::stale_handle);
  }
  void owe(const event& e, obligation_state s) { record_.obligations.push_back({e.subject, s}); }
  void say(const channel_note& n) { said_.push_back({rt_.journal().seq(), n}); }

  /// Runs until nothing moves, and puts what was said and what was journalled in one order.
  void run() {
    const run_result ran = rt_.run_until_idle(100'000);
    rt_.journal().settle();
    if (ran.ended != status::ok) {  // Somebody yields for ever; the model has no such note.
      channel_note n;
      n.code = ran.ended;
      say(n);
    }
    std::size_t woken = 0;
    std::size_t died = 0;
    std::size_t said = 0;
    for (;;) {  // An event comes before what was said after it; a message that dies in a call, before its answer.
      const std::uint64_t next_said = said < said_.size() ? said_[said].seq : UINT64_MAX;
      const std::uint64_t next_death = died < book_.deaths.size() ? book_.deaths[died].seq : UINT64_MAX;
      if (woken < woken_.size() && woken_[woken].seq <= next_said && woken_[woken].seq <= next_death) {
        record_.notes.push_back(woken_[woken++].note);
      } else if (died < book_.deaths.size() && next_death <= next_said) {
        channel_note n;
        n.what = channel_note::kind::destroyed;
        n.message = book_.deaths[died++].number;
        record_.notes.push_back(n);
      } else if (said < said_.size()) {
        record_.notes.push_back(said_[said++].note);
      } else {
        break;
      }
    }
    woken_.clear();
    said_.clear();
    book_.deaths.clear();
    if (!plan_.is_journalled) {
      for (puppet& p : puppets_) look_for_end(p);
      record_.forget_journal();
    }
    for (end_note& e : record_.ends) e.has_leaked = has_leaked(e);
  }
  void look_for_end(puppet& p) {
    task_outcome out = task_outcome::ok();
    if (p.has_ended || p.number == 0 || k().result(p.handle, out) != status::ok) return;
    p.has_ended = true;
    record_.ends.push_back({p.task, out.kind(), false});
  }
  [[nodiscard]] bool has_leaked(const end_note& e) {
    if (e.how != outcome_kind::panicked) return false;
    for (const puppet& p : puppets_) {
      task_outcome out = task_outcome::ok();
      if (p.task == e.task && k().result(p.handle, out) == status::ok && out.is_panicked()) {
        return out.panic().text == tracked_leak_message;
      }
    }
    return false;
  }

  // ---- puppets

  void spawn(puppet& p) {
    static_cast<void>(k().release_task(p.handle));
    task_spec spec;
    spec.poll = [](void* context, cx& c) {
      auto& self = *static_cast<puppet*>(context);
      return self.world->poll(self, c);
    };
    spec.context = &p;
    spec.is_held = true;
    p.mind = {};
    p.rest.clear();
    p.task = ++last_task_;
    p.has_ended = false;
    expect(k().spawn(regions_[plan_.puppets[p.number]], spec, p.handle));
  }

  poll_result poll(puppet& p, cx& c) {
    if (is_finished_) {  // Whoever is polled now is told to go; it does, and the world ends within a few polls.
      static_cast<void>(c.checkpoint());
      return poll_result::ready;
    }
    const channel_operation op = p.mind.next(p.number, repolls_);
    const channel_note answer = act(op, &c);
    say(answer);
    p.mind.learn(op, answer.code);
    switch (op.call) {
      case channel_call::end_ok: return poll_result::ready;
      case channel_call::end_err: c.set_error(status::empty); return poll_result::error;
      case channel_call::yield: c.yield(); return poll_result::pending;
      case channel_call::bare: return poll_result::pending;
      default: break;
    }
    // A waiting operation has registered the task itself; nothing else may be needed to park it.
    if (answer.code != status::would_block) static_cast<void>(c.get_waker());
    return poll_result::pending;
  }

  void do_to_puppets(const channel_operation& op) {
    puppet& p = puppets_[op.actor];
    switch (op.call) {
      case channel_call::wake: k().waker_of(p.handle).wake(); break;
      case channel_call::cancel: expect(k().request_cancel(p.handle, {op.kind, {}})); break;
      case channel_call::complete:
        expect(k().complete(p.handle, op.variant != 0 ? task_outcome::panicked({"from outside", "", 0})
                                                      : task_outcome::err({status::empty, 0})));
        break;
      case channel_call::respawn: spawn(p); break;
      case channel_call::stall:
        for (puppet& other : puppets_) {
          task_report r;
          const bool is_live = k().inspect(other.handle, r) == status::ok && r.state != task_state::completed;
          if (is_live && r.epoch != 0) expect(k().request_cancel(other.handle, {cancel_kind::shutdown, {}}));
        }
        k().release_foreign_hold();
        static_cast<void>(rt_.run_until_idle(100'000));
        k().take_foreign_hold();
        break;
      default: break;
    }
  }

  // ---- one operation; `c` is null outside of polls

  channel_note act(const channel_operation& op, cx* c) {
    using call = channel_call;
    channel_note out;
    out.task = c == nullptr ? 0 : c->task().value;
    out.call = op.call;
    switch (op.call) {
      case call::poll_reserve:
      case call::try_reserve: reserve(op, c, out); break;
      case call::poll_send_many: send_many(op, *c, puppets_[op.actor].rest, out); break;
      case call::poll_send: send_one(op, *c, letters_[op.other], out); break;
      case call::poll_recv_many: recv_many(op, *c, out); break;
      case call::try_send: {
        send_result<message> r = mutable_base(op.sender).try_send(message(op.message, book_));
        out.code = r.code;
        out.back = take(r.value);
        break;
      }
      case call::send_evict_oldest: {
        evict_result<message> r = mutable_base(op.sender).send_evict_oldest(message(op.message, book_));
        out.code = r.code;
        out.message = take(r.evicted);
        out.back = take(r.value);
        break;
      }
      case call::send: send(op, permits_[op.permit], out); break;
      case call::abort: abort(permits_[op.permit], out); break;
      case call::panic_and_drop:
        c->panic("a puppet panics");
        drop_permit(permits_[op.permit], op.variant);
        break;
      case call::drop_permit: drop_permit(permits_[op.permit], op.variant); break;
      case call::move_permit: there_and_back(permits_[op.permit]); break;
      case call::clone_sender: out.code = clone(op.sender, op.other); break;
      case call::drop_sender: drop_sender(op.sender, op.variant); break;
      case call::move_sender: there_and_back(senders_[op.sender]); break;
      case call::poll_recv:
      case call::try_recv: {
        receiver<message>& rx = receivers_[op.receiver];
        recv_result<message> r = op.call == call::try_recv ? rx.try_recv()
                                 : is_prompt()             ? recv_promptly(rx, *c)
                                                           : rx.poll_recv(*c);
        out.code = r.code;
        out.message = take(r.value);
        break;
      }
      case call::drop_receiver:
        if (op.variant == 0) {
          receivers_[op.receiver].drop();
        } else {
          receivers_[op.receiver] = {};
        }
        break;
      case call::move_receiver: there_and_back(receivers_[op.receiver]); break;
      case call::leave:
        waits_[op.other].leave();
        take_away(letters_[op.other]);
        break;
      case call::drop_wait:
        waits_[op.other] = {};
        take_away(letters_[op.other]);
        break;
      case call::move_wait: there_and_back(waits_[op.other]); break;
      case call::create: out.code = create(op, c); break;
      case call::close: out.code = k().close(regions_[op.region], {op.kind, {}}); break;
      case call::checkpoint: out.code = c->checkpoint(); break;
      case call::mask: expect(c->mask_enter()); break;
      case call::unmask: c->mask_leave(); break;
      case call::push_cleanup:
        actions_.push_back({this, out.task, actions_.size() + 1});
        expect(c->push_cleanup(&real_channel_world::run_own_action, &actions_.back()));
        break;
      case call::panic: c->panic("a puppet panics"); break;
      default: break;
    }
    return out;
  }

  void reserve(const channel_operation& op, cx* c, channel_note& out) {
    permit_slot got;
    got.is_tracked = plan_.tracked[op.sender];
    sender_slot& s = senders_[op.sender];
    const bool is_over = op.is_over && !got.is_tracked && op.permit < permits_.size() &&
                         !permits_[op.permit].is_tracked && permit_number(op.permit) != 0;
    send_permit<message>& plain = is_over ? permits_[op.permit].plain : got.plain;
    if (op.call == channel_call::poll_reserve) {
      reserve_wait& w = waits_[op.other];
      if (got.is_tracked) {
        out.code = s.tracked.poll_reserve(*c, w, got.tracked);
      } else if (letters_[op.other] == nullptr && is_prompt()) {  // The short way does not look at the wait.
        out.code = reserve_promptly(s.plain, *c, w, plain);
      } else {
        out.code = s.plain.poll_reserve(*c, w, plain);
      }
      if (out.code == status::would_block) out.number = w.id();
      take_away(letters_[op.other]);
    } else if (!got.is_tracked) {
      out.code = s.plain.try_reserve(plain);
    } else if (c != nullptr || op.variant == 1) {
      out.code = s.tracked.try_reserve(got.tracked);
    } else {
      out.code = s.tracked.try_reserve(regions_[op.region], got.tracked);
    }
    if (out.code != status::ok) return;
    out.number = got.is_tracked ? got.tracked.number() : plain.number();
    if (is_over) return;
    std::uint32_t slot = 0;
    while (slot < permits_.size() && permit_number(slot) != 0) ++slot;
    if (slot == permits_.size()) permits_.emplace_back();
    permits_[slot] = std::move(got);
  }

  // What awaiting does (coro/chan.hpp): one question before, and then what answers it.
  [[nodiscard]] bool is_prompt() { return !plan_.is_journalled && (++prompt_draws_ & 1U) != 0; }
  [[nodiscard]] static status reserve_promptly(sender<message>& tx, cx& c, reserve_wait& w, send_permit<message>& out) {
    if (w.is_waiting() || !tx.is_free_now(c)) return tx.wait_for_turn(c, w, out);
    out = tx.reserve_now(c);
    return status::ok;
  }
  [[nodiscard]] static recv_result<message> recv_promptly(receiver<message>& rx, cx& c) {
    recv_result<message> out;
    if (rx.has_now(c)) {
      out.value = rx.template recv_now<std::optional<message>>();
      return out;
    }
    out.code = rx.wait_or_look(c);
    if (out.code == status::ok) rx.take_now(out.value);
    return out;
  }

  void send_many(const channel_operation& op, cx& c, message_list<message>& list, channel_note& out) {
    if (op.variant == 1) list.clear();
    list.add(op.message, op.count, book_);
    std::span<message> rest = list.all();
    out.code = senders_[op.sender].plain.poll_send_many(c, waits_[op.other], rest);
    if (out.code == status::would_block) out.number = waits_[op.other].id();
    out.count = list.keep(rest);
    out.list = list.numbers();
    if (out.code != status::would_block) list.clear();
    take_away(letters_[op.other]);
  }

  void send_one(const channel_operation& op, cx& c, std::unique_ptr<message>& letter, channel_note& out) {
    reserve_wait& w = waits_[op.other];
    sender<message>& tx = senders_[op.sender].plain;
    const bool is_new = letter == nullptr && !w.is_waiting();
    if (letter == nullptr || op.variant == 1) {  // Elsewhere than the one before.
      auto next = std::make_unique<message>(op.message, book_);
      take_away(letter);
      letter = std::move(next);
    }
    out.code = is_new && is_prompt() ? send_promptly(tx, c, w, *letter) : tx.poll_send(c, w, *letter);
    if (out.code == status::would_block) {
      out.number = w.id();
      return;
    }
    const bool is_seen = !std::is_trivially_copyable_v<message> || out.code != status::ok;
    out.back = is_seen ? letter->take() : 0;
    take_away(letter);
  }
  // As an awaited send begins: as a reserve.
  [[nodiscard]] static status send_promptly(sender<message>& tx, cx& c, reserve_wait& w, message& m) {
    send_permit<message> permit;
    const status code = reserve_promptly(tx, c, w, permit);
    if (code == status::ok) return permit.send(std::move(m)).code;
    if (code == status::would_block) tx.stand_with(w, m);
    return code;
  }
  /// That is no news.
  static void take_away(std::unique_ptr<message>& letter) {
    if (letter != nullptr) static_cast<void>(letter->take());
    letter.reset();
  }

  /// Taken where they lie, or moved away.
  void recv_many(const channel_operation& op, cx& c, channel_note& out) {
    const auto take_one = [&](message&& m) {
      if (op.variant == 0) return out.list.push_back(m.take());
      message moved(std::move(m));
      out.list.push_back(moved.take());
    };
    std::uint32_t taken = UINT32_MAX;
    out.code = receivers_[op.receiver].poll_recv_many(c, op.count, take_one, taken);
    out.count = taken;
  }

  void send(const channel_operation& op, permit_slot& p, channel_note& out) {
    message value(op.message, book_);
    if (!p.is_tracked) {
      send_result<message> r = op.variant == 0 ? p.plain.send(std::move(value)) : p.plain.try_send(std::move(value));
      out.code = r.code;
      out.back = take(r.value);
      return;
    }
    tracked_result<message> r = p.tracked.send(std::move(value));
    out.code = r.code;
    out.back = take(r.value);
    if (r.proof) out.number = r.proof->permit();
  }

  static void abort(permit_slot& p, channel_note& out) {
    if (!p.is_tracked) return p.plain.abort();
    const std::optional<aborted_proof> proof = p.tracked.abort();
    if (proof) out.number = proof->permit();
  }

  /// By assignment, or by the end of a scope.
  static void drop_permit(permit_slot& p, std::uint32_t variant) {
    if (variant == 0) {
      p.tracked = {};
      p.plain = {};
    } else {
      const permit_slot dying = std::move(p);
    }
  }

  status clone(std::uint32_t from, std::uint32_t to) {
    if (!plan_.tracked[to] && !plan_.tracked[from]) return senders_[from].plain.clone(senders_[to].plain);
    if (plan_.tracked[to] && plan_.tracked[from]) {
      senders_[to].tracked = senders_[from].tracked;
    } else if (plan_.tracked[to]) {
      senders_[to].tracked = tracked_sender<message>(senders_[from].plain);
    } else {
      senders_[to].plain = senders_[from].tracked.base();
    }
    return is_sender_live(to) ? status::ok : status::stale_handle;
  }

  void drop_sender(std::uint32_t slot, std::uint32_t variant) {
    if (variant != 0) {
      senders_[slot] = {};
    } else if (plan_.tracked[slot]) {
      senders_[slot].tracked.drop();
    } else {
      senders_[slot].plain.drop();
    }
  }

  status create(const channel_operation& op, cx* c) {
    const auto capacity = static_cast<std::uint32_t>(op.message);
    channel_ends<message> made =
        c != nullptr ? channel<message>(*c, capacity) : channel<message>(k(), regions_[op.region], capacity);
    if (made.code != status::ok) return made.code;
    if (plan_.tracked[op.other]) {
      senders_[op.other].tracked = tracked_sender<message>(std::move(made.tx));
    } else {
      senders_[op.other].plain = std::move(made.tx);
    }
    receivers_[op.receiver] = std::move(made.rx);
    return status::ok;
  }

  /// Moved away and back, by construction and by assignment: nothing may come of it.
  template <class Thing>
  static void there_and_back(Thing& thing) {
    const auto away = std::make_unique<Thing>(std::move(thing));
    thing = std::move(*away);
  }

  [[nodiscard]] static std::uint64_t take(std::optional<message>& value) { return value ? value->take() : 0; }

  static status run_own_action(void* context) {
    const own_action& self = *static_cast<own_action*>(context);
    channel_note n;
    n.what = channel_note::kind::cleanup;
    n.task = self.task;
    n.number = self.number;
    std::map<std::uint64_t, std::uint32_t> reserved;
    const auto look = [&reserved](const auto& end) {
      channel_report r;
      if (end.inspect(r) == status::ok) reserved[r.id.value] = r.reserved;
    };
    for (std::uint32_t s = 0; s < self.world->senders_.size(); ++s) look(self.world->base(s));
    for (const receiver<message>& rx : self.world->receivers_) look(rx);
    for (const auto& [channel, count] : reserved) n.message += count;
    self.world->say(n);
    return status::ok;
  }

  [[nodiscard]] const sender<message>& base(std::uint32_t slot) const {
    return plan_.tracked[slot] ? senders_[slot].tracked.base() : senders_[slot].plain;
  }
  /// A tracked sender sends through the sender that it is made of.
  [[nodiscard]] sender<message>& mutable_base(std::uint32_t slot) { return const_cast<sender<message>&>(base(slot)); }

  [[nodiscard]] static channel_view view_of(status code, const channel_report& r) {
    channel_view out;
    out.code = code;
    if (code != status::ok) return out;
    out.id = r.id.value;
    out.state = r.state;
    out.capacity = r.capacity;
    out.queued = r.queued;
    out.reserved = r.reserved;
    out.waiters = r.waiters;
    out.first_waiter = r.first_waiter;
    out.senders = r.senders;
    out.has_receiver = r.has_receiver;
    out.is_receiver_waiting = r.is_receiver_waiting;
    out.total_reserved = r.counts.reserved;
    out.total_sent = r.counts.sent;
    out.total_aborted = r.counts.aborted;
    out.total_received = r.counts.received;
    out.total_evicted = r.counts.evicted;
    out.total_discarded = r.counts.discarded;
    return out;
  }

  channel_plan plan_;
  channel_record record_;
  std::vector<stamped> woken_;
  std::vector<stamped> said_;
  message_ledger book_;
  std::deque<own_action> actions_;
  runtime rt_;
  std::vector<region_handle> regions_;
  std::deque<puppet> puppets_;
  std::vector<sender_slot> senders_;
  std::vector<receiver<message>> receivers_;
  std::vector<std::unique_ptr<message>> letters_;  // What waits with each of those; they outlive them.
  std::vector<reserve_wait> waits_;
  std::vector<permit_slot> permits_;
  std::uint64_t last_task_ = 0;
  std::uint32_t repolls_ = 0;
  std::uint64_t prompt_draws_ = 0;
  bool is_finished_ = false;
};

[[nodiscard]] inline std::unique_ptr<ending_channel_world> make_real_channel_world(const channel_plan& plan) {
  if (plan.is_plain) return std::make_unique<real_channel_world<plain_message>>(plan);
  return std::make_unique<real_channel_world<counted_message>>(plan);
}

}  // namespace asx::testing
