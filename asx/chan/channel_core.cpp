// Slots, permits and waiters; the two ends and the end of all are in channel_ends.cpp.
#include "asx/chan/channel_core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "asx/base/hash.hpp"

namespace asx {

// ---- creation -----------------------------------------------------------------------------------------------------

permit_slot::permit_slot(channel_core& c) noexcept : cleanup_hook(&channel_core::plain_permit), core(&c) {}

namespace {

std::size_t round_up(std::size_t bytes, std::size_t alignment) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

// Permits first, then the ring at the values' alignment, in one block.
thing_order channel_core::order_of(const element_type& values, std::uint32_t capacity) noexcept {
  const std::size_t alignment = values.alignment > alignof(permit_slot) ? values.alignment : alignof(permit_slot);
  const std::size_t permits = round_up(std::size_t{capacity} * sizeof(permit_slot), alignment);
  return {thing_family::channel, nominal_bytes::channel + capacity * nominal_bytes::channel_slot,
          permits + (std::size_t{capacity} + 1) * values.bytes, alignment};
}

status channel_core::create(kernel& k, region_handle region, const element_type& values, std::uint32_t capacity,
                            std::string_view called, channel_core*& out) noexcept {
  const inside in(k);
  if (capacity == 0) {
    k.panic("a channel needs a capacity above 0");
    return status::invalid_argument;
  }
  // What no address space holds is refused before it is computed with.
  constexpr std::uint64_t most = SIZE_MAX / 4;
  const bool is_possible =
      capacity <= INT32_MAX && (std::uint64_t{capacity} + 1) <= most / (sizeof(permit_slot) + values.bytes);
  thing_order order{thing_family::channel, UINT64_MAX / 4, most, values.alignment};
  if (is_possible) order = order_of(values, capacity);
  const thing_room room = extension::make_room(k, region, order);
  if (room.code != status::ok) return room.code;
  out = new (room.cell) channel_core(k, called, values, capacity, order, room.block);
  extension::settle_in(*out, room, order);
  out->note_creation();
  return status::ok;
}

channel_core::channel_core(kernel& k, std::string_view called, const element_type& values, std::uint32_t capacity,
                           const thing_order& order, void* block) noexcept
    : thing(ops_table, k, called),
      ring_(static_cast<std::byte*>(block) + order.bytes - (std::size_t{capacity} + 1) * values.bytes),
      stride_(values.bytes),
      slots_(capacity + 1),
      capacity_(capacity),
      free_(capacity),
      is_open_(extension::is_quiet(k)),
      is_quiet_(extension::is_quiet(k)),
      waiters_(*this),
      permits_(static_cast<permit_slot*>(block)),
      destroy_(values.destroy),
      move_(values.move),
      order_(order),
      block_(block) {
  for (std::uint32_t i = capacity; i-- > 0;) {
    auto* const p = new (permits_ + i) permit_slot(*this);
    p->next_free = std::exchange(free_permits_, p);
  }
}

void channel_core::note_creation() noexcept {
  extension::name_queue(waiters_, wait_code::reserve, *this);
  extension::name_queue(receivers_, wait_code::recv, *this);
  extension::note(home, event_kind::channel_created, number, region_number, capacity_, extension::caller(home));
  extension::note_name(*this, type_tag::channel);
}

// ---- one function returns every slot ------------------------------------------------------------------------------

// Something about slots, senders or waiters has changed for the better: who can go on now is woken. The channel may be
// gone afterwards.
void channel_core::return_slot(std::uint64_t cause) noexcept {
  if (home.ghosts().is_on()) [[unlikely]]
    check();
  if (!is_receiver_dropped_) {
    if (is_dead_end()) wake_receiver(wake_code::disconnected, cause);
    if (!waiters_.empty() && has_room()) serve(cause);
  }
  if (is_dead_end()) [[unlikely]]
    free_if_done();
}

// A dispatch of each that waits, only to have it put one message here, would be most of what a message
// costs. Who is on its way to a poll looks for itself: it may have a cancel to answer, or something else in hand.
void channel_core::serve(std::uint64_t cause) noexcept {
  while (!waiters_.empty() && has_room()) {  // asx: bounded by the room
    auto& w = static_cast<reserve_wait&>(*waiters_.head());
    extension::task_record& t = extension::waiting_task(w);
    if (w.message_ == nullptr || extension::looks_for_itself(home, t) || !extension::has_trace(home, 8)) {
      return extension::wake(home, t, wake_code::slot, cause);
    }
    take_message(w, t, cause);
  }
}

void channel_core::take_message(reserve_wait& w, extension::task_record& t, std::uint64_t cause) noexcept {
  const std::uint64_t before = traffic();
  move_(tail(), w.message_);
  ASX_ASSERT(traffic() == before && !is_receiver_dropped_ && waiters_.head() == &w,
             "the move of a message does not use its channel (R-341)");
  const std::uint64_t which = w.id();
  w.message_ = &w;
  --w.from_->pending_;
  extension::remove(waiters_, w);
  renew_ways();
  note_left(extension::number_of(t), which, leave_code::served);
  ++last_permit_;
  --free_;
  ++queued_;
  ++sent_;
  const std::uint64_t told =
      extension::note(home, event_kind::permit_sent, number, extension::number_of(t), last_permit_, room(), 0, cause);
  wake_receiver(wake_code::message, told);
  extension::wake(home, t, wake_code::slot, told);
}

void channel_core::wake_senders(std::uint64_t cause) noexcept {
  for (waiter* w = waiters_.head(); w != nullptr; w = waiters_.after(*w)) {
    extension::wake(home, extension::waiting_task(*w), wake_code::disconnected, cause);
  }
}

void channel_core::wake_who_receives(wake_code why, std::uint64_t cause) noexcept {
  extension::task_record& t = extension::waiting_task(receiver_wait_);
  extension::remove(receivers_, receiver_wait_);
  extension::wake(home, t, why, cause);
}

// Only would_block leaves a waker.
void channel_core::stop_waiting() noexcept {
  if (!receivers_.empty()) extension::remove(receivers_, receiver_wait_);
}

// ---- permits ------------------------------------------------------------------------------------------------------

// A slot becomes a permit: of the task that is polled, if any. A promise that the contract refuses leaves the
// slot where it is.
status channel_core::claim(permit_core& out, const tracked_order* promise, bool is_told,
                           std::uint64_t waited_as) noexcept {
  obligation_handle made{};
  if (promise != nullptr) {
    const auto refused = extension::promise(home, promise->region, made, promise->site);
    if (refused.code != status::ok) {
      if (waited_as != 0) note_left(extension::caller(home), waited_as, leave_code::dropped);
      if (is_told) {
        static_cast<void>(
            extension::refuse(home, event_kind::refused_slot, number, refused.code, refused.limit, refused.value));
      }
      return_slot(0);  // Whoever waits behind may take it.
      return refused.code;
    }
  }
  if (waited_as != 0) note_left(extension::caller(home), waited_as, leave_code::served);
  permit_core before;  // What is written over is aborted last: its slot may be the next one's, and this one is taken.
  if (out.number_ != 0) [[unlikely]]
    before = static_cast<permit_core&&>(out);
  permit_slot& p = *free_permits_;
  free_permits_ = p.next_free;
  p.number = ++last_permit_;
  if (promise != nullptr) p.ops = &tracked_permit;  // Until it is free again.
  p.obligation = made;
  --free_;
  if (auto* const t = extension::polled(home); t != nullptr) {
    promise == nullptr ? extension::take_in_hand(*t, p) : extension::hold(*t, p);
  }
  out.channel_ = thing_ref<channel_core>(*this);
  out.slot_ = &p;
  out.number_ = p.number;
  const std::uint64_t told =
      note(event_kind::permit_reserved, p.number, room(), promise == nullptr ? 0 : event_flags::tracked);
  if (!waiters_.empty()) return_slot(told);  // the wake is passed on while there is room.
  return status::ok;
}

std::uint64_t channel_core::end_permit(permit_slot& p, event_kind how) noexcept {
  const std::uint64_t which = p.number;
  const std::uint32_t flags = p.ops == &tracked_permit ? event_flags::tracked : 0;
  free_permit(p);
  ++aborted_;
  return note(how, which, room(), flags);
}

void channel_core::give_up(permit_core& p, event_kind how) noexcept {
  permit_slot& slot = *p.slot_;
  p.number_ = 0;
  const std::uint64_t told = end_permit(slot, how);
  if (how == event_kind::permit_disconnected) wake_senders(told);
  return_slot(told);
}

void channel_core::commit_and_tell(permit_core& p) noexcept {
  permit_slot& slot = *p.slot_;
  const std::uint64_t asked = extension::note_input(home, event_kind::input_send, number);
  const std::uint32_t flags = slot.ops == &tracked_permit ? event_flags::tracked : 0;
  free_permit(slot);
  --free_;
  ++queued_;
  ++sent_;
  const std::uint64_t told = note(event_kind::permit_sent, p.number_, room(), flags, asked);
  p.number_ = 0;
  wake_receiver(wake_code::message, told);
  if (home.ghosts().is_on()) [[unlikely]]
    check();
}

void channel_core::commit_now() noexcept {
  static_cast<void>(queue_now(extension::note_input(home, event_kind::input_send, number)));
}

void channel_core::commit_in_turn_and_tell() noexcept {
  turn_told_ = queue_now(0);
}

std::uint64_t channel_core::queue_now(std::uint64_t asked) noexcept {
  ++last_permit_;
  --free_;
  ++queued_;
  ++sent_;
  const std::uint64_t told = note(event_kind::permit_sent, last_permit_, room(), 0, asked);
  wake_receiver(wake_code::message, told);
  return told;
}

const cleanup_ops channel_core::plain_permit{&channel_core::unwind, nullptr};
const cleanup_ops channel_core::tracked_permit{&channel_core::unwind, tracked_leak_text};

// The holder ends. A promise that it forgot stays reserved until its region sweeps; otherwise it is aborted.
void channel_core::unwind(cleanup_hook& hook, kernel& k, bool is_leak) noexcept {
  auto& p = static_cast<permit_slot&>(hook);
  channel_core& c = *p.core;
  const bool is_tracked = p.ops == &tracked_permit;
  const obligation_handle promise = p.obligation;
  const bool is_forgotten = is_tracked && is_leak;
  c.return_slot(c.end_permit(p, is_forgotten ? event_kind::permit_dropped : event_kind::permit_aborted));
  if (is_tracked && !is_leak) static_cast<void>(k.abort(promise));  // Last: it may end regions, and the channel.
}

permit_core& permit_core::operator=(permit_core&& other) noexcept {
  if (this != &other) {
    if (number_ != 0) drop();
    channel_ = other.channel_;
    slot_ = other.slot_;
    number_ = std::exchange(other.number_, 0);
  }
  return *this;
}

void permit_core::drop() noexcept {
  const inside in(channel_.gate());
  if (channel_core* const c = held_in(); c != nullptr) c->give_up(*this, event_kind::permit_aborted);
  number_ = 0;
}

thing_ref<channel_core> channel_core::named(kernel& k, slab_key key) noexcept {
  void* const cell = extension::cell_at(k, key.index);
  const thing_ref<thing> lives(static_cast<thing*>(cell), key.generation);
  const thing* const there = lives.get();
  if (there != nullptr && there->ops != &ops_table) return {};  // Another kind of thing.
  return {static_cast<channel_core*>(cell), key.generation};
}

bool permit_core::is_tracked() const noexcept {
  const inside in(channel_.gate());
  return held_in() != nullptr && slot_->ops == &channel_core::tracked_permit;
}

permit_name permit_core::leave_to_name() noexcept {
  permit_name out;
  const inside in(channel_.gate());
  if (channel_core* const c = held_in(); c != nullptr) {
    out = {c->key, static_cast<std::uint32_t>(slot_ - c->permits_), number_};
  }
  number_ = 0;
  return out;
}

permit_core permit_core::of(kernel& k, const permit_name& name) noexcept {
  permit_core out;
  if (name.number == 0) return out;
  out.channel_ = channel_core::named(k, name.channel);
  if (out.channel_.is_null()) return out;
  if (const channel_core* const c = out.channel_.get(); c != nullptr) {
    if (name.slot >= c->capacity_) return out;
    out.slot_ = c->permits_ + name.slot;
  }
  out.number_ = name.number;
  return out;
}

void permit_core::abort() noexcept {
  const inside in(channel_.gate());
  if (held_in() == nullptr) {
    static_cast<void>(refuse_again());
  } else {
    drop();
  }
}

status permit_core::refuse_again() noexcept {
  const status told = refusal();
  number_ = 0;
  const inside in(channel_.gate());
  if (channel_core* const c = channel_.get(); c != nullptr) {
    c->home.ghosts().record({.kind = ghost_kind::use_after_resolve,
                             .on = ghost_noun::object,
                             .returned = told,
                             .rule = {66, "R-66"},
                             .by = task_id{extension::caller(c->home)},
                             .object = c->number,
                             .text = "a permit was resolved twice"});
  }
  return told;
}

// ---- reserve ------------------------------------------------------------------------------------------------------

// A pending reserve that is polled with another sender begins anew. What was taken and not asked for is not
// told of a later message.
ASX_ALWAYS_INLINE void channel_core::come_back(const sender_core& from, reserve_wait& w) const noexcept {
  w.message_ = nullptr;  // Who has one says so behind this.
  if (w.is_waiting() && (!waiters_.holds(w) || w.from_ != &from)) w.leave();
}

// What a cancel point of a sender asks before it looks for room; who is refused leaves the queue.
ASX_ALWAYS_INLINE status channel_core::ask_first(cx& c, reserve_wait& w) noexcept {
  if (const status s = extension::checkpoint(c); s != status::ok) {
    if (w.is_waiting()) extension::leave(w, leave_code::cancelled);
    return s;
  }
  if (is_receiver_dropped_) {
    if (w.is_waiting()) extension::leave(w, leave_code::disconnected);
    return status::disconnected;
  }
  return status::ok;
}

ASX_ALWAYS_INLINE bool channel_core::is_turn_of(const reserve_wait& w) const noexcept {
  return has_room() && (waiters_.empty() || waiters_.head() == &w);
}

// Its turn has come: it waits no more. 0: it did not.
ASX_ALWAYS_INLINE std::uint64_t channel_core::step_forward(sender_core& from, reserve_wait& w) noexcept {
  const std::uint64_t which = w.id();
  if (which != 0) {
    extension::remove(waiters_, w);
    renew_ways();
    --from.pending_;
  }
  return which;
}

// `places`: all of them are taken, so that it cannot wait.
ASX_ALWAYS_INLINE status channel_core::line_up(sender_core& from, cx& c, reserve_wait& w,
                                               const std::uint32_t* places) noexcept {
  const bool is_new = !w.is_waiting();
  if (is_new) {
    const std::uint32_t most = home.contract().max_channel_waiters;
    if (extension::is_full(home, waiters_.size(), most)) {
      return extension::refuse(home, event_kind::refused_slot, number, status::resource_exhausted,
                               limit_code::channel_waiters, most);
    }
    if (places != nullptr) {
      return extension::refuse(home, event_kind::refused_slot, number, status::resource_exhausted, limit_code::waiters,
                               *places);
    }
    w.from_ = &from;
    ++from.pending_;
    note(event_kind::send_waiter_added, ++last_waiter_, waiters_.size() + std::uint64_t{1});
  }
  extension::wait(c, home, waiters_, w, wait_code::reserve, number, is_new ? last_waiter_ : 0);
  renew_ways();
  return status::would_block;
}

status channel_core::wait_or_reserve(sender_core& from, cx& c, reserve_wait& w, permit_core& out,
                                     const tracked_order* promise, const std::uint32_t* places) noexcept {
  come_back(from, w);
  if (promise != nullptr) {
    if (const status s = extension::gate(home, promise->region); s != status::ok) {
      w.leave();
      return extension::refuse(home, event_kind::refused_slot, number, s);
    }
  }
  if (const status s = ask_first(c, w); s != status::ok) return s;
  if (!extension::has_trace(home, 8)) return refuse_trace(w);
  if (is_turn_of(w)) return claim(out, promise, true, step_forward(from, w));
  return line_up(from, c, w, places);
}

// Who comes anew, and nobody hears of it: what wait_or_reserve would do, without its questions.
ASX_ALWAYS_INLINE bool channel_core::wait_now(sender_core& from, cx& c, reserve_wait& w) noexcept {
  const bool waits_plainly = is_quiet_ && !w.is_waiting() && extension::is_untroubled(c) && !is_receiver_dropped_ &&
                             !is_turn_of(w) && waiters_.size() < home.contract().max_channel_waiters;
  if (!waits_plainly) return false;
  w.from_ = &from;
  w.message_ = nullptr;
  ++from.pending_;
  extension::wait_unheard(c, home, waiters_, w, wait_code::reserve, number, ++last_waiter_);
  is_open_ = false;
  return true;
}

bool channel_core::wait_plainly(sender_core& from, cx& c, reserve_wait& w) noexcept {
  return wait_now(from, c, w);
}

status channel_core::wait_for_turn(sender_core& from, cx& c, reserve_wait& w, permit_core& out) noexcept {
  return wait_now(from, c, w) ? status::would_block : wait_or_reserve(from, c, w, out, nullptr);
}

// What begin_turn would do.
bool channel_core::take_turn(sender_core& from, const cx& c, reserve_wait& w) noexcept {
  if (!is_quiet_ || waiters_.head() != &w || w.from_ != &from || !has_room() || is_receiver_dropped_ ||
      !extension::is_untroubled(c)) {
    return false;
  }
  static_cast<void>(step_forward(from, w));
  return true;
}

status channel_core::refuse_trace(reserve_wait& w) noexcept {
  w.leave();
  return extension::refuse(home, event_kind::refused_slot, number, status::resource_exhausted, limit_code::trace);
}

// ---- several messages in one turn (R-320) ---------------------------------------------------------------------------

status channel_core::begin_turn(sender_core& from, cx& c, reserve_wait& w, std::size_t wanted) noexcept {
  come_back(from, w);
  if (const status s = ask_first(c, w); s != status::ok) return s;
  if (wanted == 0) {  // There is no turn to wait for.
    w.leave();
    return status::ok;
  }
  const bool is_turn = is_turn_of(w);
  // What a reserve may say, and a word for each further message.
  const std::uint64_t further = is_turn ? std::min<std::uint64_t>(wanted, free_) - 1 : 0;
  if (!extension::has_trace(home, 8 + further)) return refuse_trace(w);
  if (!is_turn) return line_up(from, c, w, nullptr);
  if (const std::uint64_t which = step_forward(from, w); which != 0) {
    note_left(extension::caller(home), which, leave_code::served);
  }
  return status::ok;
}

// the wake is passed on while there is room, and behind all that was queued in this turn.
status channel_core::end_turn(sender_core& from, cx& c, reserve_wait& w, bool is_all_queued) noexcept {
  if (!waiters_.empty() || home.ghosts().is_on()) return_slot(turn_told_);
  return is_all_queued ? status::ok : line_up(from, c, w, nullptr);
}

status channel_core::try_reserve(permit_core& out, const tracked_order* promise) noexcept {
  if (promise != nullptr) {
    const status s = extension::gate(home, promise->region);
    if (s != status::ok) return s;
  }
  if (const status s = admit_now(); s != status::ok) return s;
  return claim(out, promise, false);
}

status channel_core::admit_evicting(bool& evicts) const noexcept {
  if (is_receiver_dropped_) return status::disconnected;
  evicts = !(waiters_.empty() && has_room());
  if (!evicts) return extension::has_trace(home, 6) ? status::ok : status::resource_exhausted;
  // Inside the destructor of a value that just left, the spare place may be taken.
  const bool has_spare = in_hand_ == 0 || has_room();
  if (queued_ == 0 || !has_spare) return status::full;
  return extension::has_trace(home, 6) ? status::ok : status::resource_exhausted;
}

std::uint64_t channel_core::note_left(std::uint64_t task, std::uint64_t waiter_id, leave_code how) noexcept {
  return extension::note(home, event_kind::send_waiter_removed, number, task, waiter_id,
                         pack(static_cast<std::uint64_t>(how), waiters_.size()));
}

// A waiter went by itself, was cancelled or disconnected, or its task ended: its place is the next one's.
void channel_core::waiter_left(wait_queue& queue, waiter& w, waiter_name who, leave_code how) noexcept {
  channel_core& c = static_cast<send_queue&>(queue).core;
  --static_cast<reserve_wait&>(w).from_->pending_;
  c.renew_ways();
  const std::uint64_t told = c.note_left(who.task.value, who.id, how);
  c.return_slot(told);
}

// A message does not move with its wait: it is asked for anew. Inside: whoever frees a slot looks at both.
reserve_wait::reserve_wait(reserve_wait&& other) noexcept
    : reserve_wait(static_cast<reserve_wait&&>(other), inside(extension::gate_of(other))) {}

reserve_wait::reserve_wait(reserve_wait&& other, const inside& /*here*/) noexcept
    : waiter(static_cast<waiter&&>(other)), from_(other.from_), message_(other.is_told_taken() ? this : nullptr) {}

reserve_wait& reserve_wait::operator=(reserve_wait&& other) noexcept {
  if (this != &other) {
    leave();
    const inside here(extension::gate_of(other));
    from_ = other.from_;
    message_ = other.is_told_taken() ? this : nullptr;
    waiter::operator=(static_cast<waiter&&>(other));
  }
  return *this;
}

// ---- receive ------------------------------------------------------------------------------------------------------

ASX_ALWAYS_INLINE bool channel_core::wait_now(cx& c) noexcept {
  if (!is_quiet_ || !extension::is_untroubled(c) || queued_ != 0 || is_dead_end()) return false;
  extension::wait_unheard(c, home, receivers_, receiver_wait_, wait_code::recv, number);
  return true;
}

bool channel_core::wait_plainly(cx& c) noexcept {
  return wait_now(c);
}

status channel_core::wait_or_recv(cx& c) noexcept {
  if (wait_now(c)) [[likely]]
    return status::would_block;
  return look_and_recv(c);
}

status channel_core::look_and_recv(cx& c) noexcept {
  if (const status s = extension::checkpoint(c); s != status::ok) {
    stop_waiting();
    return s;
  }
  if (queued_ != 0) return extension::has_trace(home, 4) ? status::ok : status::resource_exhausted;
  if (is_dead_end()) {
    stop_waiting();
    return status::disconnected;
  }
  if (!extension::has_trace(home, 4)) {
    stop_waiting();
    return status::resource_exhausted;
  }
  if (receivers_.empty() || &extension::waiting_task(receiver_wait_) != &extension::task_of(c)) {
    note(event_kind::receiver_waits, 0, 0);
  }
  extension::wait(c, home, receivers_, receiver_wait_, wait_code::recv, number);
  return status::would_block;
}

status channel_core::try_recv() const noexcept {
  if (queued_ != 0) return extension::has_trace(home, 4) ? status::ok : status::resource_exhausted;
  return is_dead_end() ? status::disconnected : status::empty;
}

void channel_core::drop_shell() noexcept {
  if (--in_hand_ != 0) return;
  if (shells_ != 0) {
    free_ += std::exchange(shells_, 0);
    return_slot(0);
  } else if (is_dead_end()) {
    free_if_done();
  }
}

void* channel_core::recv_and_tell() noexcept {
  stop_waiting();
  void* const shell = take_head();
  ++received_;
  const std::uint64_t told = note(event_kind::message_received, received_ + evicted_ + discarded_, room());
  if (!waiters_.empty() || home.ghosts().is_on()) return_slot(told);
  return shell;
}

void* channel_core::commit_evicting() noexcept {
  const std::uint64_t asked = extension::note_input(home, event_kind::input_send, number);
  void* const shell = take_head();
  ++evicted_;
  note(event_kind::message_evicted, received_ + evicted_ + discarded_, room(), 0, asked);
  static_cast<void>(queue_now(asked));
  return shell;
}

// It is no place of the ring yet that the next value would not be put on.
void channel_core::take_back() noexcept {
  if (destroy_ == nullptr) return;
  const bool before = std::exchange(is_busy_, true);
  is_taking_back_ = true;
  destroy_(tail());
  is_taking_back_ = false;
  is_busy_ = before;
  free_if_done();
}

}  // namespace asx
