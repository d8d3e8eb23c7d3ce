// Channels of pointers. Ends lie in tables of the runtime; permits are numbers, and lie in C's own structs.
#include <cstring>
#include <optional>
#include <source_location>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

namespace {

void destroy(void* cell) noexcept {
  const auto& v = *static_cast<const value_cell*>(cell);
  v.destroy(v.value);
}

slab_key key_of(const asx_channel_sender& tx) noexcept {
  return capi::key_of(tx.word, tx.generation, type_tag::channel, sender_mask);
}
slab_key key_of(const asx_channel_receiver& rx) noexcept {
  return capi::key_of(rx.word, rx.generation, type_tag::channel, receiver_mask);
}
sender_cell* cell_of(const asx_channel_sender& tx) noexcept {
  return tx.runtime->senders.find(key_of(tx));
}
receiver_cell* cell_of(const asx_channel_receiver& rx) noexcept {
  return rx.runtime->receivers.find(key_of(rx));
}

permit_name name_of(const asx_send_permit& p) noexcept {
  const slab_key key = capi::key_of(p.word, p.generation, type_tag::channel, permit_mask);
  if (key.generation == 0) return {};
  return {key, p.slot > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(p.slot), p.number};
}
asx_send_permit permit_of(asx_runtime* rt, const permit_name& name) noexcept {
  const handle h = word_of(type_tag::channel, permit_mask, name.channel);
  return {rt, h.word, h.generation, name.slot, name.number};
}

asx_status refusal_of(const asx_send_permit* p) noexcept {
  if (p == nullptr) return ASX_E_INVALID_ARGUMENT;
  return p->runtime == nullptr ? ASX_E_OBLIGATION_ALREADY_RESOLVED : ASX_OK;
}

/// A call about a permit: there is one, the call is allowed, and the words are those of such a permit; in this order.
/// What is left of the permit is left to its name again, and the caller's struct is written only when it was resolved.
class permit_call {
 public:
  explicit permit_call(asx_send_permit* p) noexcept
      : refused(refusal_of(p)), p_(p), guard_(refused == ASX_OK ? p->runtime : nullptr) {
    if (refused == ASX_OK) refused = guard_.refused;
    if (refused != ASX_OK) return;
    core = permit_core::of(p->runtime->kernel(), name_of(*p));
    was_there_ = core.held_in() != nullptr || core.refusal() == status::disconnected;
    if (core.is_tracked()) refused = ASX_E_INVALID_ARGUMENT;
  }
  ~permit_call() {
    if (core.leave_to_name().number == 0 && was_there_) p_->number = 0;
  }
  permit_call(const permit_call&) = delete;
  permit_call& operator=(const permit_call&) = delete;

  asx_status refused;
  permit_core core;

 private:
  asx_send_permit* p_;
  call guard_;
  bool was_there_ = false;
};

// Its word says whose it is, so that asx_obligation_commit and _abort leave it to its permit.
asx_obligation_handle promise_of(const obligation_handle& h) noexcept {
  return {h.word | permit_bits, h.generation};
}
obligation_handle promise_in(const asx_obligation_handle& h) noexcept {
  if ((h.word & permit_bits) == 0) return {};
  return in(asx_obligation_handle{h.word & ~permit_bits, h.generation});
}

/// The same for a tracked one.
class tracked_call {
 public:
  explicit tracked_call(asx_tracked_permit* p) noexcept
      : refused(refusal_of(p == nullptr ? nullptr : &p->permit)),
        p_(p),
        guard_(refused == ASX_OK ? p->permit.runtime : nullptr) {
    if (refused == ASX_OK) refused = guard_.refused;
    if (refused != ASX_OK) return;
    refused = out(tracked_core::of(p->permit.runtime->kernel(), name_of(p->permit), promise_in(p->obligation), core));
    was_there_ = core.held_in() != nullptr || core.admit_send() == status::disconnected;
  }
  ~tracked_call() {
    if (core.leave_to_name().number == 0 && was_there_) p_->permit.number = 0;
  }
  tracked_call(const tracked_call&) = delete;
  tracked_call& operator=(const tracked_call&) = delete;

  asx_status refused;
  tracked_core core;

 private:
  asx_tracked_permit* p_;
  call guard_;
  bool was_there_ = false;
};

// A value in the ring: one word, and the way it goes when the channel has one.
void put(channel_core& c, void* value) noexcept {
  std::memcpy(c.tail(), &value, sizeof value);
}
void* take(channel_core& c) noexcept {
  void* value = nullptr;
  std::memcpy(&value, c.head(), sizeof value);
  static_cast<void>(c.finish_recv());
  c.put_down();
  return value;
}

/// Checks an end and a runtime; a null end is an argument that makes no sense, an empty one is stale.
template <class End>
asx_status refusal_of(const End* end) noexcept {
  if (end == nullptr) return ASX_E_INVALID_ARGUMENT;
  return end->runtime == nullptr ? ASX_E_STALE_HANDLE : ASX_OK;
}

/// A call about an end of a channel: the end is one, the call is allowed, its other arguments make sense, and the end
/// has not been dropped; in this order.
template <class End>
class end_call {
 public:
  explicit end_call(const End* end, bool makes_sense = true) noexcept
      : refused(refusal_of(end)), guard_(refused == ASX_OK ? end->runtime : nullptr) {
    if (refused == ASX_OK) refused = guard_.refused;
    if (refused == ASX_OK && !makes_sense) refused = ASX_E_INVALID_ARGUMENT;
    if (refused != ASX_OK) return;
    cell = cell_of(*end);
    if (cell == nullptr) refused = ASX_E_STALE_HANDLE;
  }
  /// The channel; null, and refused, when it is gone.
  [[nodiscard]] channel_core* core() noexcept {
    channel_core* const c = cell->end.get();
    if (c == nullptr) refused = out(cell->end.why_not());
    return c;
  }

  asx_status refused;
  decltype(cell_of(std::declval<const End&>())) cell = nullptr;

 private:
  call guard_;
};

asx_status give(const channel_core& c, asx_channel_report* report) noexcept {
  channel_report r;
  c.inspect(r);
  asx_channel_report to{};
  to.id = r.id.value;
  to.state = static_cast<asx_channel_state>(r.state);
  to.capacity = r.capacity;
  to.queued = r.queued;
  to.reserved = r.reserved;
  to.waiters = r.waiters;
  to.first_waiter = r.first_waiter;
  to.senders = r.senders;
  to.has_receiver = r.has_receiver;
  to.is_receiver_waiting = r.is_receiver_waiting;
  to.count_reserved = r.counts.reserved;
  to.count_sent = r.counts.sent;
  to.count_aborted = r.counts.aborted;
  to.count_received = r.counts.received;
  to.count_evicted = r.counts.evicted;
  to.count_discarded = r.counts.discarded;
  return give_struct(to, report);
}

template <class End>
asx_status inspect(const End* end, asx_channel_report* report) noexcept {
  end_call at(end, report != nullptr);
  if (at.refused != ASX_OK) return at.refused;
  const channel_core* const c = at.core();
  return c == nullptr ? at.refused : give(*c, report);
}

bool is_awaited_by_another(const channel_core& c, const asx_cx& face) noexcept {
  const extension::task_record* const who = c.receiving();
  return who != nullptr && who != &extension::task_of(*face.current);
}

/// No room for one more end: as the kernel tells of its own limits.
asx_status refuse_end(asx_runtime& rt, std::uint64_t region) noexcept {
  const bool is_full = rt.senders.live() >= rt.senders.limit();
  return out(extension::refuse(rt.kernel(), event_kind::refused_channel, region, status::resource_exhausted,
                               is_full ? limit_code::senders : limit_code::memory, is_full ? rt.senders.limit() : 0));
}

/// Both forms of a waiting reserve: the place is found by sender and task. A place is asked for only by who must
/// wait: `ask_now` is the question without one, and refuses what would.
template <class Ask, class AskNow>
status wait_for_slot(const asx_channel_sender& tx, asx_cx& face, Ask ask, AskNow ask_now) noexcept {
  task_frame& f = *face.frame;
  const slab_key key = key_of(tx);
  sender_cell* const from = tx.runtime == face.home ? cell_of(tx) : nullptr;
  if (from == nullptr) {
    wait_cell* const left = find_wait(f, wait_kind::reserve, key.index, key.generation);
    if (left != nullptr && tx.runtime == face.home) end_wait(f, *left);
    return status::stale_handle;
  }
  wait_cell* const w = take_wait(f, wait_kind::reserve, key.index, key.generation);
  if (w == nullptr) return ask_now(from->end, face.home->waits.limit());
  const slab_key place = w->key;
  const status s = ask(from->end, w->place);
  if (s != status::would_block && face.home->waits.find(place) == w) end_wait(f, *w);
  return s;
}

}  // namespace

extern "C" {

// ---- ends ---------------------------------------------------------------------------------------------------------

asx_status asx_channel_create(asx_runtime* runtime, asx_region_handle region, uint32_t capacity,
                              asx_destroy_fn destroy_value, asx_channel_sender* out_tx, asx_channel_receiver* out_rx) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out_tx == nullptr || out_rx == nullptr) return ASX_E_INVALID_ARGUMENT;
  const slab_entry<sender_cell> tx = runtime->senders.allocate();
  const slab_entry<receiver_cell> rx = runtime->receivers.allocate();
  const auto give_back = [&] {
    if (tx) runtime->senders.release(tx.key);
    if (rx) runtime->receivers.release(rx.key);
  };
  // No room for the ends: capacity and region come first, and the kernel speaks of them.
  if ((!tx || !rx) && capacity != 0 && extension::gate(runtime->kernel(), in(region)) == status::ok) {
    give_back();
    region_report r;
    static_cast<void>(runtime->kernel().inspect(in(region), r));
    return refuse_end(*runtime, r.id.value);
  }
  const element_type values{destroy_value == nullptr ? sizeof(void*) : sizeof(value_cell), alignof(value_cell),
                            destroy_value == nullptr ? nullptr : &destroy};
  channel_core* core = nullptr;
  const status s = channel_core::create(runtime->kernel(), in(region), values, capacity, {}, core);
  if (s != status::ok) {
    give_back();
    return out(s);
  }
  ASX_ASSERT(tx.record != nullptr && rx.record != nullptr, "a channel is made when there is room for its ends");
  if (destroy_value != nullptr) {  // Once for each place: a value is only its first word from then on.
    core->for_each_place([destroy_value](void* place) {
      const value_cell empty{nullptr, destroy_value};
      std::memcpy(place, &empty, sizeof empty);
    });
  }
  tx.record->end = sender_core(*core);
  rx.record->end = receiver_core(*core);
  const handle sends = word_of(type_tag::channel, sender_mask, tx.key);
  const handle receives = word_of(type_tag::channel, receiver_mask, rx.key);
  *out_tx = {runtime, sends.word, sends.generation};
  *out_rx = {runtime, receives.word, receives.generation};
  return ASX_OK;
}

asx_status asx_channel_clone(asx_channel_sender* tx, asx_channel_sender* out) {
  end_call at(tx, out != nullptr);
  if (at.refused != ASX_OK) return at.refused;
  if (at.core() == nullptr) return at.refused;
  const slab_entry<sender_cell> made = tx->runtime->senders.allocate();
  if (!made) return refuse_end(*tx->runtime, at.core()->region_number);
  if (const status s = at.cell->end.clone(made.record->end); s != status::ok) {
    tx->runtime->senders.release(made.key);
    return capi::out(s);
  }
  const handle h = word_of(type_tag::channel, sender_mask, made.key);
  *out = {tx->runtime, h.word, h.generation};
  return ASX_OK;
}

asx_status asx_channel_drop_sender(asx_channel_sender* tx) {
  const end_call at(tx);
  if (at.refused == ASX_OK) tx->runtime->senders.release(key_of(*tx));
  return at.refused;
}

asx_status asx_channel_drop_receiver(asx_channel_receiver* rx) {
  const end_call at(rx);
  if (at.refused == ASX_OK) rx->runtime->receivers.release(key_of(*rx));
  return at.refused;
}

asx_status asx_channel_inspect_sender(asx_channel_sender* tx, asx_channel_report* report) {
  return inspect(tx, report);
}

asx_status asx_channel_inspect_receiver(asx_channel_receiver* rx, asx_channel_report* report) {
  return inspect(rx, report);
}

// ---- sending ------------------------------------------------------------------------------------------------------

asx_status asx_channel_of(asx_channel_sender* tx, asx_channel_handle* out) {
  end_call at(tx, out != nullptr);
  if (at.refused != ASX_OK) return at.refused;
  const channel_core* const c = at.core();
  if (c == nullptr) return at.refused;
  *out = capi::out<asx_channel_handle>(word_of(type_tag::channel, 0, c->key));
  return ASX_OK;
}

asx_status asx_channel_inspect(asx_runtime* runtime, asx_channel_handle channel, asx_channel_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (report == nullptr) return ASX_E_INVALID_ARGUMENT;
  const thing_ref<channel_core> at =
      channel_core::named(runtime->kernel(), capi::key_of(channel.word, channel.generation, type_tag::channel, 0));
  const channel_core* const c = at.get();
  return c == nullptr ? out(at.absence()) : give(*c, report);
}

asx_status asx_channel_reserve(asx_channel_sender* tx, asx_cx* face, asx_send_permit* out_permit) {
  if (const asx_status s = refusal_of(tx); s != ASX_OK) return s;
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out_permit == nullptr) return ASX_E_INVALID_ARGUMENT;
  permit_core made;
  cx& c = *face->current;
  const status s = wait_for_slot(
      *tx, *face,
      [&](sender_core& from, reserve_wait& place) {
        channel_core* const to = from.get();
        return to == nullptr ? from.poll_gone(c, place) : to->poll_reserve(from, c, place, made);
      },
      [&](sender_core& from, std::uint32_t limit) {
        channel_core* const to = from.get();
        reserve_wait nowhere;
        return to == nullptr ? from.poll_gone(c, nowhere) : to->poll_reserve_now(from, c, made, limit);
      });
  if (s == status::ok) *out_permit = permit_of(face->home, made.leave_to_name());
  return out(s);
}

asx_status asx_channel_stop_reserving(asx_channel_sender* tx, asx_cx* cx) {
  if (const asx_status s = refusal_of(tx); s != ASX_OK) return s;
  const call guard(cx);
  if (guard.refused != ASX_OK) return guard.refused;
  const slab_key key = key_of(*tx);
  wait_cell* const w = find_wait(*cx->frame, wait_kind::reserve, key.index, key.generation);
  if (w == nullptr || tx->runtime != cx->home) return ASX_E_INVALID_ARGUMENT;
  end_wait(*cx->frame, *w);
  return ASX_OK;
}

asx_status asx_channel_try_reserve(asx_channel_sender* tx, asx_send_permit* out_permit) {
  end_call at(tx, out_permit != nullptr);
  if (at.refused != ASX_OK) return at.refused;
  channel_core* const c = at.core();
  if (c == nullptr) return at.refused;
  permit_core made;
  const status s = c->try_reserve(made);
  if (s == status::ok) *out_permit = permit_of(tx->runtime, made.leave_to_name());
  return out(s);
}

asx_status asx_send_permit_send(asx_send_permit* permit, void* value) {
  permit_call at(permit);
  if (at.refused != ASX_OK) return at.refused;
  channel_core* const c = at.core.held_in();
  if (c == nullptr) return out(at.core.refuse_again());
  if (!c->has_receiver()) {
    c->give_up(at.core, event_kind::permit_disconnected);
    return ASX_E_DISCONNECTED;
  }
  put(*c, value);
  c->commit(at.core);
  return ASX_OK;
}

void asx_send_permit_abort(asx_send_permit* permit) {
  permit_call at(permit);
  if (at.refused == ASX_OK) at.core.abort();
}

bool asx_send_permit_is_held(const asx_send_permit* permit) {
  if (permit == nullptr || permit->runtime == nullptr) return false;
  const call guard(permit->runtime);
  if (guard.refused != ASX_OK) return false;
  permit_core named = permit_core::of(permit->runtime->kernel(), name_of(*permit));
  return named.leave_to_name().number != 0;
}

asx_status asx_channel_try_send(asx_channel_sender* tx, void* value) {
  end_call at(tx);
  if (at.refused != ASX_OK) return at.refused;
  channel_core* const c = at.core();
  if (c == nullptr) return at.refused;
  if (const status s = c->admit_now(); s != status::ok) return out(s);
  put(*c, value);
  c->commit_now();
  return ASX_OK;
}

asx_status asx_channel_send_evicting(asx_channel_sender* tx, void* value, bool* evicts, void** evicted) {
  end_call at(tx);
  if (at.refused != ASX_OK) return at.refused;
  channel_core* const c = at.core();
  if (c == nullptr) return at.refused;
  bool must = false;
  if (const status s = c->admit_evicting(must); s != status::ok) return out(s);
  if (evicts != nullptr) *evicts = must;
  put(*c, value);
  if (!must) {
    if (evicted != nullptr) *evicted = nullptr;
    c->commit_now();
    return ASX_OK;
  }
  value_cell oldest{};
  const bool has_destroy = c->has_destroy();
  std::memcpy(&oldest, c->head(), has_destroy ? sizeof oldest : sizeof(void*));
  static_cast<void>(c->commit_evicting());
  c->put_down();
  if (evicted != nullptr) {
    *evicted = oldest.value;
  } else if (has_destroy) {
    oldest.destroy(oldest.value);
  }
  return ASX_OK;
}

// ---- receiving ----------------------------------------------------------------------------------------------------

asx_status asx_channel_recv(asx_channel_receiver* rx, asx_cx* face, void* out_value) {
  if (const asx_status s = refusal_of(rx); s != ASX_OK) return s;
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out_value == nullptr) return ASX_E_INVALID_ARGUMENT;
  const receiver_cell* const at = rx->runtime == face->home ? cell_of(*rx) : nullptr;
  if (at == nullptr) return ASX_E_STALE_HANDLE;
  channel_core* const c = at->end.get();
  if (c != nullptr && is_awaited_by_another(*c, *face)) {  // Nothing is there to be received, then.
    const status s = face->current->checkpoint();
    return s == status::ok ? ASX_E_INVALID_ARGUMENT : out(s);
  }
  const status s = c == nullptr ? at->end.poll_gone(*face->current) : c->poll_recv(*face->current);
  if (s != status::ok) return out(s);
  void* const value = take(*c);
  std::memcpy(out_value, &value, sizeof value);
  return ASX_OK;
}

asx_status asx_channel_try_recv(asx_channel_receiver* rx, void* out_value) {
  end_call at(rx, out_value != nullptr);
  if (at.refused != ASX_OK) return at.refused;
  channel_core* const c = at.core();
  if (c == nullptr) return at.refused;
  if (const status s = c->try_recv(); s != status::ok) return out(s);
  void* const value = take(*c);
  std::memcpy(out_value, &value, sizeof value);
  return ASX_OK;
}

asx_status asx_channel_stop_receiving(asx_channel_receiver* rx, asx_cx* face) {
  if (const asx_status s = refusal_of(rx); s != ASX_OK) return s;
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  const receiver_cell* const at = rx->runtime == face->home ? cell_of(*rx) : nullptr;
  if (at == nullptr) return ASX_E_STALE_HANDLE;
  channel_core* const c = at->end.get();
  if (c == nullptr || c->receiving() == nullptr || is_awaited_by_another(*c, *face)) return ASX_E_INVALID_ARGUMENT;
  c->stop_waiting();
  return ASX_OK;
}

// ---- tracked permits ----------------------------------------------------------------------------------------------

asx_status asx_tracked_reserve(asx_channel_sender* tx, asx_cx* face, asx_tracked_permit* out_permit) {
  if (const asx_status s = refusal_of(tx); s != ASX_OK) return s;
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out_permit == nullptr) return ASX_E_INVALID_ARGUMENT;
  tracked_core made;
  cx& c = *face->current;
  const status s = wait_for_slot(
      *tx, *face,
      [&](sender_core& from, reserve_wait& place) {
        return tracked_core::poll_reserve(from, c, place, made, std::source_location{});
      },
      [&](sender_core& from, std::uint32_t limit) {
        return tracked_core::poll_reserve_now(from, c, limit, made, std::source_location{});
      });
  if (s == status::ok) {
    out_permit->obligation = promise_of(made.obligation());
    out_permit->permit = permit_of(face->home, made.leave_to_name());
  }
  return out(s);
}

asx_status asx_tracked_try_reserve(asx_channel_sender* tx, const asx_region_handle* region,
                                   asx_tracked_permit* out_permit) {
  const end_call at(tx, out_permit != nullptr);
  if (at.refused != ASX_OK) return at.refused;
  sender_core& from = at.cell->end;
  region_handle of;
  if (region != nullptr) {
    of = in(*region);
  } else {
    const std::optional<region_handle> own = tracked_core::region_of_caller(from);
    if (!own) return from.is_stale() ? ASX_E_STALE_HANDLE : ASX_E_INVALID_ARGUMENT;
    of = *own;
  }
  tracked_core made;
  const status s = tracked_core::try_reserve(from, of, made, std::source_location{});
  if (s == status::ok) {
    out_permit->obligation = promise_of(made.obligation());
    out_permit->permit = permit_of(tx->runtime, made.leave_to_name());
  }
  return out(s);
}

asx_status asx_tracked_send(asx_tracked_permit* permit, void* value, asx_permit_proof* proof) {
  tracked_call at(permit);
  if (at.refused != ASX_OK) return at.refused;
  if (const status s = at.core.admit_send(); s != status::ok) {
    at.core.give_up(s);
    return out(s);
  }
  put(*at.core.held_in(), value);
  const committed_proof kept = at.core.commit();
  if (proof != nullptr) *proof = {kept.channel().value, kept.permit()};
  return ASX_OK;
}

asx_status asx_tracked_abort(asx_tracked_permit* permit, asx_permit_proof* proof) {
  tracked_call at(permit);
  if (at.refused != ASX_OK) return at.refused;
  const status refused = at.core.held_in() != nullptr ? status::obligation_leaked : at.core.admit_send();
  const std::optional<aborted_proof> given = at.core.abort();
  if (!given) return out(refused);
  if (proof != nullptr) *proof = {given->channel().value, given->permit()};
  return ASX_OK;
}

asx_status asx_tracked_drop(asx_tracked_permit* permit) {
  tracked_call at(permit);
  if (at.refused != ASX_OK) return at.refused;
  if (at.core.held_in() == nullptr) return out(at.core.admit_send());
  at.core.forget();
  return ASX_OK;
}

bool asx_tracked_is_held(const asx_tracked_permit* permit) {
  if (permit == nullptr) return false;
  asx_tracked_permit copy = *permit;
  const tracked_call at(&copy);
  return at.refused == ASX_OK && at.core.held_in() != nullptr;
}

}  // extern "C"
