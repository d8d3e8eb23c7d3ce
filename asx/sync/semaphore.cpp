#include "asx/sync/semaphore.hpp"

#include <new>

#include "asx/base/hash.hpp"

namespace asx {

// ---- creation and end ---------------------------------------------------------------------------------------------

status semaphore_core::create(kernel& k, region_handle region, std::uint64_t units, const value_type& value,
                              std::string_view called, semaphore_core*& out) noexcept {
  const inside in(k);
  if (units == 0) return extension::refuse(k, event_kind::refused_other, 0, status::invalid_argument);
  const thing_order order{thing_family::sync, nominal_bytes::sync, value.bytes, value.alignment};
  const thing_room room = extension::make_room(k, region, order);
  if (room.code != status::ok) return room.code;
  out = new (room.cell) semaphore_core(k, called, units, value, order, room.block);
  extension::settle_in(*out, room, order);
  extension::name_queue(out->waiters_, wait_code::sync, *out);
  extension::note(k, event_kind::sync_created, out->number, out->region_number, units, extension::caller(k));
  extension::note_name(*out, sync_tag, out->noun());
  return status::ok;
}

semaphore_core::semaphore_core(kernel& k, std::string_view called, std::uint64_t units, const value_type& value,
                               const thing_order& order, void* block) noexcept
    : thing(ops_table, k, called),
      left_(units),
      total_(units),
      waiters_(*this),
      destroy_(value.destroy),
      order_(order),
      block_(block) {}

void semaphore_core::begin_value() noexcept {
  left_ = 0;
  held_ = total_;
}

void semaphore_core::end_value() noexcept {
  left_ = total_;
  held_ = 0;
  if (is_orphan_) free();
}

void semaphore_core::abandon() noexcept {
  destroy_ = nullptr;
  left_ = total_;
  held_ = 0;
  free();
}

void semaphore_core::free() noexcept {
  check();
  if (destroy_ != nullptr) {  // It may call back, and others may call: the mutex is closed, and says so.
    const outside open(home.gate_in_use());
    destroy_(block_);
  }
  extension::note(home, event_kind::sync_freed, number, region_number);
  extension::leave_region(*this);
  kernel& k = home;
  const slab_key cell = key;
  const thing_order order = order_;
  void* const block = block_;
  this->~semaphore_core();
  extension::take_down(k, cell, order, block);
}

// The region has let go of it already. What is held elsewhere may be looked at until it is given back.
void semaphore_core::take_down(owned& self, kernel&) noexcept {
  auto& s = static_cast<semaphore_core&>(self);
  s.close();
  s.is_orphan_ = true;
  if (s.held_ == 0) s.free();
}

void semaphore_core::close() noexcept {
  if (is_closed_) return;
  check();
  is_closed_ = true;
  wake_all(extension::note(home, event_kind::sync_closed, number, extension::caller(home), waiters_.size()));
}

void semaphore_core::wake_all(std::uint64_t cause) noexcept {
  while (waiter* const w = waiters_.head()) {
    extension::task_record& t = extension::waiting_task(*w);
    const std::uint64_t which = w->id();
    extension::remove(waiters_, *w);
    note_left(extension::number_of(t), which, leave_code::disconnected);
    extension::wake(home, t, wake_code::disconnected, cause);
  }
}

// ---- taking -------------------------------------------------------------------------------------------------------

// Units become the polled task's, if there is one, and a promise where its region takes one.
status semaphore_core::claim(std::uint64_t units, semaphore_units& out, const std::source_location& site,
                             std::uint64_t waited_as) noexcept {
  auto* const t = extension::polled(home);
  obligation_handle promise{};
  if (t != nullptr && extension::takes_obligations(home, *t)) {
    const status s = home.reserve(extension::region_of(*t), promise, site);
    if (s != status::ok) {
      if (waited_as != 0) note_left(extension::caller(home), waited_as, leave_code::dropped);
      serve(0);  // Whoever waits behind may take them.
      return s;
    }
  }
  if (waited_as != 0) note_left(extension::caller(home), waited_as, leave_code::served);
  semaphore_units before;  // What is written over is given back last: a value that ends with it may ask for these.
  if (out.core_ != nullptr) [[unlikely]]
    before.take(out);
  left_ -= units;
  held_ += units;
  out.core_ = this;
  out.count_ = units;
  out.promise_ = promise;
  if (t != nullptr) extension::hold(*t, out);
  const std::uint64_t told =
      extension::note(home, event_kind::sync_acquired, number, extension::caller(home), units, room());
  if (!waiters_.empty()) serve(told);
  return status::ok;
}

std::uint64_t semaphore_core::note_left(std::uint64_t task, std::uint64_t waiter_id, leave_code how) noexcept {
  return extension::note(home, event_kind::sync_waiter_removed, number, task, waiter_id,
                         pack(static_cast<std::uint64_t>(how), waiters_.size()));
}

// The head is woken when it can be served; it stays until it is polled, so that nobody comes in between.
void semaphore_core::serve(std::uint64_t cause) noexcept {
  if (home.ghosts().is_on()) [[unlikely]]
    check();
  waiter* const head = waiters_.head();
  if (head == nullptr || !can_take(static_cast<semaphore_wait&>(*head).wants_)) return;
  extension::wake(home, extension::waiting_task(*head), wake_code::sync, cause);
}

status semaphore_core::poll_acquire(cx& c, semaphore_wait& w, std::uint64_t units, semaphore_units& out,
                                    const std::source_location& site) noexcept {
  if (w.is_waiting() && (!waiters_.holds(w) || w.wants_ != units)) w.leave();
  if (const status s = extension::checkpoint(c); s != status::ok) {
    if (w.is_waiting()) extension::leave(w, leave_code::cancelled);
    return s;
  }
  if (is_closed_) return status::disconnected;
  if (units == 0 || units > total_) {
    w.leave();
    return extension::refuse(home, event_kind::refused_other, number, status::invalid_argument);
  }
  if (!extension::has_trace(home, 6)) {
    w.leave();
    return status::resource_exhausted;
  }
  if (can_take(units) && (waiters_.empty() || waiters_.head() == &w)) {
    const std::uint64_t which = w.id();
    if (which != 0) extension::remove(waiters_, w);
    return claim(units, out, site, which);
  }
  const bool is_new = !w.is_waiting();
  if (is_new) {
    const std::uint32_t most = home.contract().max_channel_waiters;
    if (extension::is_full(home, waiters_.size(), most)) {
      return extension::refuse(home, event_kind::refused_other, number, status::resource_exhausted, limit_code::waiters,
                               most);
    }
    w.wants_ = units;
    extension::note(home, event_kind::sync_waiter_added, number, extension::caller(home), ++last_waiter_,
                    waiters_.size() + std::uint64_t{1});
  }
  extension::wait(c, home, waiters_, w, wait_code::sync, number, is_new ? last_waiter_ : 0);
  return status::would_block;
}

status semaphore_core::try_acquire(std::uint64_t units, semaphore_units& out,
                                   const std::source_location& site) noexcept {
  if (is_closed_) return status::disconnected;
  if (units == 0 || units > total_) return status::invalid_argument;
  if (!waiters_.empty() || !can_take(units)) return status::full;
  if (!extension::has_trace(home, 6)) return status::resource_exhausted;
  return claim(units, out, site);
}

void semaphore_core::waiter_left(wait_queue& queue_left, waiter&, waiter_name who, leave_code how) noexcept {
  semaphore_core& s = static_cast<queue&>(queue_left).core;
  s.serve(s.note_left(who.task.value, who.id, how));
}

// ---- giving back --------------------------------------------------------------------------------------------------

// Every way that units come back. The semaphore may be gone afterwards.
void semaphore_core::give_back(std::uint64_t units, std::uint32_t flags) noexcept {
  left_ += units;
  held_ -= units;
  const std::uint64_t told =
      extension::note(home, event_kind::sync_released, number, extension::caller(home), units, room(), flags);
  serve(told);
  if (is_orphan_ && held_ == 0) free();
}

void semaphore_core::add(std::uint64_t units) noexcept {
  left_ += units;
  total_ += units;
  serve(extension::note(home, event_kind::sync_added, number, extension::caller(home), units, room()));
}

const cleanup_ops semaphore_units::ops_table{&semaphore_units::unwind, nullptr};

semaphore_units::semaphore_units() noexcept : cleanup_hook(&ops_table) {}

semaphore_units::semaphore_units(semaphore_units&& other) noexcept : cleanup_hook(&ops_table) {
  take(other);
}

semaphore_units& semaphore_units::operator=(semaphore_units&& other) noexcept {
  if (this != &other) {
    release();
    take(other);
  }
  return *this;
}

void semaphore_units::take(semaphore_units& other) noexcept {
  const inside in(other.core_ == nullptr ? nullptr : gate_of(other.core_->home));
  core_ = std::exchange(other.core_, nullptr);
  count_ = other.count_;
  promise_ = other.promise_;
  if (other.task != nullptr) extension::replace(other, *this);
}

void semaphore_units::release() noexcept {
  const inside in(core_ == nullptr ? nullptr : gate_of(core_->home));
  if (core_ == nullptr) return;
  semaphore_core& s = *std::exchange(core_, nullptr);
  extension::let_go(*this);
  kernel& k = s.home;
  const obligation_handle promise = promise_;
  s.give_back(count_, 0);  // A mutex may end its value, whose destructor may end this.
  if (promise.generation != 0) static_cast<void>(k.commit(promise));
}

// The holder ends. What it forgot stays a promise until its region sweeps, and is reported there.
void semaphore_units::unwind(cleanup_hook& hook, kernel& k, bool is_leak) noexcept {
  auto& units = static_cast<semaphore_units&>(hook);
  semaphore_core& s = *std::exchange(units.core_, nullptr);
  const obligation_handle promise = units.promise_;
  s.give_back(units.count_, event_flags::forced);
  if (!is_leak && promise.generation != 0) static_cast<void>(k.abort(promise));
}

// ---- looking ------------------------------------------------------------------------------------------------------

bool semaphore_core::is_drained(const owned&) noexcept {
  return true;  // What is held is an obligation, and told as one.
}

bool semaphore_core::is_awaited(const owned& self) noexcept {
  return !static_cast<const semaphore_core&>(self).waiters_.empty();
}

void semaphore_core::describe(const owned& self, const text_port& out) {
  const auto& s = static_cast<const semaphore_core&>(self);
  out << s.noun() << " " << s.number;
  if (!s.name.view().empty()) out << " '" << s.name.view() << "'";
  out << "  " << s.left_ << " of " << s.total_ << " left, " << s.waiters_.size() << " waiting";
  if (s.is_closed_) out << ", closed";
}

void semaphore_core::hash(const owned& self, digest_stream& out) noexcept {
  const auto& s = static_cast<const semaphore_core&>(self);
  for (const std::uint64_t n : {s.number, s.left_, s.held_, s.total_, s.last_waiter_}) out.add(n);
  out.add(s.is_closed_ ? 1 : 0);
  for (const waiter* w = s.waiters_.head(); w != nullptr; w = s.waiters_.after(*w)) {
    out.add(pack(w->id(), extension::number_of(extension::waiting_task(*w))));
    out.add(static_cast<const semaphore_wait&>(*w).wants_);
  }
}

std::uint64_t semaphore_core::events(const owned& self) noexcept {
  return 2 + 2 * std::uint64_t{static_cast<const semaphore_core&>(self).waiters_.size()};
}

const owned_ops semaphore_core::ops_table{&semaphore_core::take_down, &semaphore_core::is_drained,
                                          &semaphore_core::describe,  &semaphore_core::hash,
                                          &semaphore_core::events,    &semaphore_core::is_awaited};

void semaphore_core::inspect(semaphore_report& out) const noexcept {
  out = {total_, left_, waiters_.size(), is_closed_};
}

void semaphore_core::check() const noexcept {
  ASX_ASSERT(left_ + held_ == total_, "every unit is left or held");
}

// ---- the handle ---------------------------------------------------------------------------------------------------

status semaphore::create(kernel& k, region_handle region, std::uint64_t units, semaphore& out,
                         std::string_view name) noexcept {
  semaphore_core* core = nullptr;
  const status s = semaphore_core::create(k, region, units, {}, name, core);
  if (core != nullptr) out.core_ = thing_ref<semaphore_core>(*core);
  return s;
}

status semaphore::poll_acquire(cx& c, semaphore_wait& w, std::uint64_t units, semaphore_units& out,
                               std::source_location site) noexcept {
  const inside in(core_.gate());
  semaphore_core* const core = core_.get();
  if (core == nullptr) {
    w.leave();
    return extension::poll_gone(c, core_.absence());
  }
  return core->poll_acquire(c, w, units, out, site);
}

status semaphore::try_acquire(std::uint64_t units, semaphore_units& out, std::source_location site) noexcept {
  const inside in(core_.gate());
  semaphore_core* const core = core_.get();
  return core == nullptr ? core_.absence() : core->try_acquire(units, out, site);
}

status semaphore::add(std::uint64_t units) noexcept {
  const inside in(core_.gate());
  semaphore_core* const core = core_.get();
  if (core == nullptr) return core_.absence();
  semaphore_report now;
  core->inspect(now);
  if (now.is_closed) return status::disconnected;
  if (units == 0 || units > UINT64_MAX - now.total) return status::invalid_argument;
  if (!extension::has_trace(core->home, 4)) return status::resource_exhausted;
  core->add(units);
  return status::ok;
}

status semaphore::close() noexcept {
  const inside in(core_.gate());
  semaphore_core* const core = core_.get();
  if (core == nullptr) return core_.absence();
  core->close();
  return status::ok;
}

status semaphore::inspect(semaphore_report& out) const noexcept {
  const inside in(core_.gate());
  const semaphore_core* const core = core_.get();
  if (core == nullptr) return core_.absence();
  core->inspect(out);
  return status::ok;
}

}  // namespace asx
