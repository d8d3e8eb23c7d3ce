#include "asx/sync/notify.hpp"

#include <new>

#include "asx/base/hash.hpp"

namespace asx {

status notify_core::create(kernel& k, region_handle region, std::string_view called, notify_core*& out) noexcept {
  const inside in(k);
  const thing_order order{thing_family::sync, nominal_bytes::sync, 0, 1};
  const thing_room room = extension::make_room(k, region, order);
  if (room.code != status::ok) return room.code;
  out = new (room.cell) notify_core(k, called, order);
  extension::settle_in(*out, room, order);
  extension::name_queue(out->waiting_, wait_code::sync, *out);
  extension::name_queue(out->told_, wait_code::sync, *out);
  extension::note(k, event_kind::sync_created, out->number, out->region_number, 0, extension::caller(k));
  extension::note_name(*out, sync_tag, "notify");
  return status::ok;
}

notify_core::notify_core(kernel& k, std::string_view called, const thing_order& order) noexcept
    : thing(ops_table, k, called), waiting_(*this), told_(*this), order_(order) {}

// ---- telling ------------------------------------------------------------------------------------------------------

// It stands in the other queue until it is polled, so that its going away is seen (law 2).
void notify_core::tell(notify_wait& w, notify_wait::told how, std::uint64_t cause) noexcept {
  extension::task_record& t = extension::waiting_task(w);
  extension::move_to(waiting_, told_, w);
  w.told_ = how;
  extension::wake(home, t, wake_code::sync, cause);
}

void notify_core::pass_on() noexcept {
  const bool has_waiter = !waiting_.empty();
  const std::uint64_t told = extension::note(home, event_kind::sync_notified, number, extension::caller(home),
                                             has_waiter ? 1 : 0, has_waiter ? 0 : 1);
  if (has_waiter) {
    tell(static_cast<notify_wait&>(*waiting_.head()), notify_wait::told::alone, told);
  } else {
    is_kept_ = true;
  }
}

void notify_core::notify_one() noexcept {
  pass_on();
}

void notify_core::notify_all() noexcept {
  const std::uint64_t told = extension::note(home, event_kind::sync_notified, number, extension::caller(home),
                                             waiting_.size(), is_kept_ ? 1 : 0);
  while (waiter* const w = waiting_.head()) tell(static_cast<notify_wait&>(*w), notify_wait::told::with_all, told);
}

// ---- waiting ------------------------------------------------------------------------------------------------------

void notify_core::note_removed(std::uint64_t task, std::uint64_t id, leave_code how) noexcept {
  extension::note(home, event_kind::sync_waiter_removed, number, task, id,
                  pack(static_cast<std::uint64_t>(how), waiting_.size()));
}

status notify_core::poll_wait(cx& c, notify_wait& w) noexcept {
  if (w.is_waiting() && !waiting_.holds(w) && !told_.holds(w)) w.leave();
  if (const status s = extension::checkpoint(c); s != status::ok) {
    if (w.is_waiting()) extension::leave(w, leave_code::cancelled);
    return s;
  }
  if (told_.holds(w)) {
    const std::uint64_t id = w.id();
    extension::remove(told_, w);
    w.told_ = notify_wait::told::no;
    note_removed(extension::caller(home), id, leave_code::served);
    return status::ok;
  }
  if (!extension::has_trace(home, 4)) {
    w.leave();
    return status::resource_exhausted;
  }
  if (is_kept_) {  // Nobody waits then.
    is_kept_ = false;
    extension::note(home, event_kind::sync_notice_taken, number, extension::caller(home));
    return status::ok;
  }
  const bool is_new = !w.is_waiting();
  if (is_new) {
    const std::uint32_t most = home.contract().max_channel_waiters;
    if (extension::is_full(home, waiting_.size(), most)) {
      return extension::refuse(home, event_kind::refused_other, number, status::resource_exhausted, limit_code::waiters,
                               most);
    }
    extension::note(home, event_kind::sync_waiter_added, number, extension::caller(home), ++last_waiter_,
                    waiting_.size() + std::uint64_t{1});
  }
  extension::wait(c, home, waiting_, w, wait_code::sync, number, is_new ? last_waiter_ : 0);
  return status::would_block;
}

void notify_core::waiter_left(wait_queue& queue_left, waiter& w, waiter_name who, leave_code how) noexcept {
  notify_core& n = static_cast<queue&>(queue_left).core;
  auto& wait = static_cast<notify_wait&>(w);
  n.note_removed(who.task.value, who.id, how);
  if (std::exchange(wait.told_, notify_wait::told::no) == notify_wait::told::alone) n.pass_on();
}

// ---- the end, and looking -----------------------------------------------------------------------------------------

void notify_core::take_down(owned& self, kernel& k) noexcept {
  auto& n = static_cast<notify_core&>(self);
  const std::uint64_t told =
      extension::note(k, event_kind::sync_closed, n.number, extension::caller(k), n.waiting_.size());
  for (queue* const q : {&n.told_, &n.waiting_}) {
    while (waiter* const w = q->head()) {
      extension::task_record& t = extension::waiting_task(*w);
      const std::uint64_t id = w->id();
      static_cast<notify_wait&>(*w).told_ = notify_wait::told::no;  // First: whoever stands nowhere may be freed.
      extension::remove(*q, *w);
      n.note_removed(extension::number_of(t), id, leave_code::disconnected);
      extension::wake(k, t, wake_code::disconnected, told);
    }
  }
  extension::note(k, event_kind::sync_freed, n.number, n.region_number);
  const slab_key cell = n.key;
  const thing_order order = n.order_;
  n.~notify_core();
  extension::take_down(k, cell, order, nullptr);
}

bool notify_core::is_drained(const owned&) noexcept {
  return true;
}

bool notify_core::is_awaited(const owned& self) noexcept {
  return !static_cast<const notify_core&>(self).waiting_.empty();
}

void notify_core::describe(const owned& self, const text_port& out) {
  const auto& n = static_cast<const notify_core&>(self);
  out << "notify " << n.number;
  if (!n.name.view().empty()) out << " '" << n.name.view() << "'";
  out << "  " << n.waiting_.size() << " waiting";
  if (n.is_kept_) out << ", one notification kept";
}

void notify_core::hash(const owned& self, digest_stream& out) noexcept {
  const auto& n = static_cast<const notify_core&>(self);
  out.add(n.number);
  out.add(pack(n.is_kept_ ? 1 : 0, n.told_.size()));
  out.add(n.last_waiter_);
  for (const waiter* w = n.waiting_.head(); w != nullptr; w = n.waiting_.after(*w)) {
    out.add(pack(w->id(), extension::number_of(extension::waiting_task(*w))));
  }
}

std::uint64_t notify_core::events(const owned& self) noexcept {
  const auto& n = static_cast<const notify_core&>(self);
  return 2 + 2 * (std::uint64_t{n.waiting_.size()} + n.told_.size());
}

const owned_ops notify_core::ops_table{&notify_core::take_down, &notify_core::is_drained, &notify_core::describe,
                                       &notify_core::hash,      &notify_core::events,     &notify_core::is_awaited};

status notify::create(kernel& k, region_handle region, notify& out, std::string_view name) noexcept {
  notify_core* core = nullptr;
  const status s = notify_core::create(k, region, name, core);
  if (s == status::ok) out.core_ = thing_ref<notify_core>(*core);
  return s;
}

status notify::poll_wait(cx& c, notify_wait& w) noexcept {
  const inside in(core_.gate());
  notify_core* const core = core_.get();
  if (core == nullptr) {
    w.leave();
    return extension::poll_gone(c, core_.absence());
  }
  return core->poll_wait(c, w);
}

status notify::notify_one() noexcept {
  const inside in(core_.gate());
  notify_core* const core = core_.get();
  if (core == nullptr) return core_.absence();
  if (!extension::has_trace(core->home, 4)) return status::resource_exhausted;
  core->notify_one();
  return status::ok;
}

status notify::notify_all() noexcept {
  const inside in(core_.gate());
  notify_core* const core = core_.get();
  if (core == nullptr) return core_.absence();
  if (!extension::has_trace(core->home, 2 + 2 * std::uint64_t{core->waiters()})) return status::resource_exhausted;
  core->notify_all();
  return status::ok;
}

status notify::inspect(std::uint32_t& waiters, bool& is_kept) const noexcept {
  const inside in(core_.gate());
  const notify_core* const core = core_.get();
  if (core == nullptr) return core_.absence();
  waiters = core->waiters();
  is_kept = core->is_kept();
  return status::ok;
}

}  // namespace asx
