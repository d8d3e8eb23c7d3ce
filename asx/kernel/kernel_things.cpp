// Obligations and timers, and what a task does through its cx.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::obligation_record;
using detail::region_record;
using detail::task_record;
using detail::timer_record;

// ---- obligations --------------------------------------------------------------------------------------------------

status kernel::reserve(region_handle region, obligation_handle& out, std::source_location site) noexcept {
  const inside here(gate_);
  const refusal why = try_reserve(region, out, site);
  if (why.code == status::ok) return status::ok;
  const region_record* const r = find(region);
  return refuse(event_kind::refused_obligation, r == nullptr ? 0 : r->id.value, why);
}

kernel::refusal kernel::try_reserve(region_handle region, obligation_handle& out,
                                    const std::source_location& site) noexcept {
  region_record* const r = find(region);
  if (r == nullptr) return {status::stale_handle};
  if (const refusal shut = gate(*r); shut.code != status::ok) return shut;
  constexpr status full = status::resource_exhausted;
  if (is_full(reserved_obligations_, contract_.max_obligations)) {
    return {full, limit_code::obligations, contract_.max_obligations};
  }
  if (!has_bytes(nominal_bytes::obligation)) return {full, limit_code::memory, contract_.max_bytes};
  if (!has_trace(1)) return no_trace();
  const slab_entry<obligation_record> made = obligations_.reserve();
  if (!made) return {full, limit_code::memory, 0};
  obligation_record& o = *made.record;
  o.id = obligation_id{++next_obligation_};
  o.region = r;
  o.region_number = r->id;
  o.owner = task_id{caller()};
  o.site = site;
  r->ledger.push_back(o);
  ++r->reserved;
  ++reserved_obligations_;
  bytes_ += nominal_bytes::obligation;
  note(event_kind::obligation_reserved, o.id.value, r->id.value, o.owner.value, made.key.index);
  out = {obligation_state::reserved, made.key.index, made.key.generation};
  return {};
}

void kernel::resolve(obligation_record& o, obligation_state to, event_kind kind) noexcept {
  ASX_ASSERT(obligation_lifecycle.check(o.state, to) == status::ok, "an obligation is resolved exactly once");
  region_record& r = *o.region;
  static_cast<list_hook<detail::ledger_tag>&>(o).unlink();
  o.state = to;
  o.region = nullptr;
  --r.reserved;
  --reserved_obligations_;
  bytes_ -= nominal_bytes::obligation;
  obligations_.resolve(o);
  note(kind, o.id.value, r.id.value, to == obligation_state::leaked ? o.owner.value : caller());
}

// Where a broken promise was made, as a diagnostic beside the event that tells of it.
void kernel::note_site(const obligation_record& o) noexcept {
  if (log_.mode() != journal_mode::full || o.site.line() == 0) return;  // In C nobody knows the place.
  std::string_view file = o.site.file_name();
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  std::array<char, 96> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.*s:%u", static_cast<int>(file.size()), file.data(),
                                 static_cast<unsigned>(o.site.line()));
  if (size <= 0) return;
  const std::size_t kept =
      static_cast<std::size_t>(size) < text.size() ? static_cast<std::size_t>(size) : text.size() - 1;
  log_.append_text(text_code::site, type_tag::obligation, o.id.value, {text.data(), kept}, now().ns);
}

status kernel::settle_obligation(obligation_handle h, obligation_state to) noexcept {
  obligation_record* const o = obligations_.find(h);
  if (o == nullptr) return refuse(event_kind::refused_obligation, 0, {status::stale_handle});
  if (const status s = obligation_lifecycle.check(o->state, to); s != status::ok) {
    ghosts_.refused_resolve(*o, to, s);
    return refuse(event_kind::refused_obligation, o->region_number.value, {s});
  }
  region_record& r = *o->region;
  if (rejects() && !has_trace(1 + (r.is_close_held ? events_above(r) : 0))) {
    return refuse(event_kind::refused_obligation, r.id.value, no_trace());
  }
  resolve(*o, to,
          to == obligation_state::committed ? event_kind::obligation_committed : event_kind::obligation_aborted);
  if (r.is_close_held) look_at(r);  // a held close is tried again.
  settle();
  return status::ok;
}

status kernel::commit(obligation_handle obligation) noexcept {
  const inside here(gate_);
  return settle_obligation(obligation, obligation_state::committed);
}
status kernel::abort(obligation_handle obligation) noexcept {
  const inside here(gate_);
  return settle_obligation(obligation, obligation_state::aborted);
}
status kernel::inspect(obligation_handle obligation, obligation_state& out) const noexcept {
  const inside here(gate_);
  const obligation_record* const o = obligations_.find(obligation);
  if (o == nullptr) return status::stale_handle;
  out = o->state;
  return status::ok;
}

// ---- timers -------------------------------------------------------------------------------------------------------

status kernel::add_timer(task_record* t, region_record& r, instant deadline, slab_key& out) noexcept {
  constexpr auto kind = event_kind::refused_timer;
  // a closing region takes timers only from those who clean up, or are masked and have not seen it; also
  // one that wakes nobody, when a task of the region asks for it.
  bool is_admitted = r.state == region_state::open;
  const task_record* const asks = t != nullptr ? t : current_;
  if (r.state == region_state::draining && asks != nullptr && asks->region == &r) {
    is_admitted =
        asks->state == task_state::cancelling || (asks->state == task_state::cancel_requested && asks->mask_depth != 0);
  }
  if (r.state == region_state::finalizing) is_admitted = is_finalizer_call(r);
  if (!is_admitted) return refuse(kind, r.id.value, {status::region_not_open});
  if (t != nullptr && !t->is_asked() && t->left.deadline_passed(now_)) {  // R-55; once cancelled it counts no more.
    static_cast<void>(raise(*t, cancel_kind::deadline));
    return refuse(kind, r.id.value, {status::budget_exhausted});
  }
  constexpr status full = status::resource_exhausted;
  if (is_full(timers_.live(), contract_.max_timers))
    return refuse(kind, r.id.value, {full, limit_code::timers, contract_.max_timers});
  if (!has_bytes(nominal_bytes::timer))
    return refuse(kind, r.id.value, {full, limit_code::memory, contract_.max_bytes});
  if (!has_trace(2)) return refuse(kind, r.id.value, no_trace());
  const slab_entry<timer_record> made = timers_.allocate();
  if (!made) return refuse(kind, r.id.value, {full, limit_code::memory, 0});
  timer_record& timer = *made.record;
  const status s = wheel_.register_timer(deadline, {made.key.index, made.key.generation}, timer.wheel);
  if (s != status::ok) {
    timers_.release(made.key);
    if (s == full) return refuse(kind, r.id.value, {s, limit_code::timers, wheel_.capacity()});
    return refuse(kind, r.id.value, {s});  // No limit was met, and none is named: profiles must agree.
  }
  timer.key = made.key;
  timer.task = t;
  timer.region = &r;
  timer.deadline = deadline;
  timer.seq = ++next_timer_seq_;
  bytes_ += nominal_bytes::timer;
  if (t != nullptr) {
    t->timers.push_back(timer);
    ++t->registrations;
    t->waits_for = static_cast<std::uint8_t>(wait_code::timer);
    t->waits_on = timer.wheel.id;
  } else {
    r.timers.push_back(timer);
  }
  note(event_kind::timer_registered, timer.wheel.id, t == nullptr ? 0 : t->task().value, deadline.ns, timer.seq);
  out = made.key;
  return status::ok;
}

status kernel::register_timer(cx& c, instant deadline, slab_key& out) noexcept {
  const inside here(gate_);
  const status s = add_timer(c.task_, *c.task_->region, deadline, out);
  if (s == status::ok) {
    note(event_kind::task_waits, c.task_->task().value, c.task_->waits_on, static_cast<std::uint64_t>(wait_code::timer),
         deadline.ns);
  }
  return s;
}

status kernel::register_timer(region_handle region, instant deadline, slab_key& out) noexcept {
  const inside here(gate_);
  region_record* const r = find(region);
  if (r == nullptr) return refuse(event_kind::refused_timer, 0, {status::stale_handle});
  return add_timer(nullptr, *r, deadline, out);
}

// Out of its list, the wheel has let go of it already.
void kernel::remove_timer(timer_record& timer) noexcept {
  static_cast<list_hook<detail::timer_owner_tag>&>(timer).unlink();
  if (timer.task != nullptr) --timer.task->registrations;
  bytes_ -= nominal_bytes::timer;
  timers_.release(timer.key);
}

bool kernel::cancel_timer(slab_key key) noexcept {
  const inside here(gate_);
  timer_record* const timer = timers_.find(key);
  if (timer == nullptr) return ghosts_.timer_missed(key);
  ghosts_.timer_cancelled(key);
  wheel_.cancel(timer->wheel);
  note(event_kind::timer_cancelled, timer->wheel.id, timer->task == nullptr ? 0 : timer->task->task().value,
       timer->deadline.ns, timer->seq);
  remove_timer(*timer);
  return true;
}

void kernel::cancel_timers(intrusive_list<timer_record, detail::timer_owner_tag>& timers) noexcept {
  while (timer_record* const timer = timers.front()) cancel_timer(timer->key);
}

// ---- cx -----------------------------------------------------------------------------------------------------------

task_id cx::task() const noexcept {
  return task_->place::task();
}
std::string_view cx::name() const noexcept {
  return task_->name.view();
}
task_handle cx::handle() const noexcept {
  const inside here(kernel());
  return asx::kernel::handle_of(*task_);
}
region_handle cx::region() const noexcept {
  const inside here(kernel());
  return asx::kernel::handle_of(*task_->region);
}
kernel& cx::kernel() const noexcept {
  return *task_->region->owner_kernel;
}
instant cx::now() const noexcept {
  const inside here(kernel());
  return kernel().now();
}
budget cx::budget_left() const noexcept {
  const inside here(kernel());
  return task_->state == task_state::cancelling ? task_->cleanup() : task_->left;
}
status cx::checkpoint() noexcept {
  const inside here(kernel());
  return kernel().checkpoint(*task_);
}
bool cx::is_cancelled() const noexcept {
  const inside here(kernel());
  return task_->is_asked();
}
const cancel_reason* cx::reason() const noexcept {
  const inside here(kernel());
  return kernel().own_reason(*task_);
}
void cx::yield() noexcept {
  task_->wants_yield = true;
}
waker cx::get_waker() noexcept {
  task_->took_waker = true;
  return {kernel(), task_->key()};
}

status cx::consume_cost(std::uint64_t amount) noexcept {
  const inside here(kernel());
  if (task_->is_asked()) return status::ok;  // cleanup is bounded in polls.
  if (amount != 0 && kernel().is_struck(fault_point::cost, task_->polls)) {
    task_->granted_cost = task_->left.cost_quota == unlimited ? 0 : task_->granted_cost - task_->left.cost_quota;
    task_->left.cost_quota = 0;
  }
  const status s = task_->left.consume_cost(amount);
  if (s != status::ok) static_cast<void>(kernel().raise(*task_, cancel_kind::cost_budget));
  return s;
}

status cx::mask_enter() noexcept {
  const inside here(kernel());
  asx::kernel& k = kernel();
  const std::uint64_t most = std::min<std::uint64_t>(k.contract_.max_mask_depth, UINT16_MAX);
  if (k.is_full(task_->mask_depth, most)) {
    return k.refuse(event_kind::refused_mask, task_->region->id.value,
                    {status::resource_exhausted, limit_code::mask_depth, most});
  }
  if (!k.has_trace(2)) return k.refuse(event_kind::refused_mask, task_->region->id.value, k.no_trace());
  ++task_->mask_depth;
  k.note(event_kind::mask_entered, task().value, task_->region->id.value, task_->mask_depth);
  return status::ok;
}
void cx::mask_leave() noexcept {
  const inside here(kernel());
  if (task_->mask_depth == 0) return;  // The quota may have ended it.
  --task_->mask_depth;
  kernel().note(event_kind::mask_left, task().value, task_->region->id.value, task_->mask_depth);
}

status cx::push_cleanup(cleanup_function undo, void* context, cleanup_ref* out) noexcept {
  const inside here(kernel());
  asx::kernel& k = kernel();
  constexpr auto kind = event_kind::refused_cleanup;
  const std::uint64_t region = task_->region->id.value;
  constexpr status full = status::resource_exhausted;
  if (undo == nullptr) return k.refuse(kind, region, {status::invalid_argument});
  if (task_->is_ending) return k.refuse(kind, region, {status::invalid_transition});  // It is being unwound.
  if (task_->cleanup_depth >= k.contract_.max_cleanup_per_task) {
    return k.refuse(kind, region, {full, limit_code::cleanup_stack, k.contract_.max_cleanup_per_task});
  }
  if (k.is_full(k.cleanups_.live(), k.contract_.max_cleanup_entries)) {
    return k.refuse(kind, region, {full, limit_code::cleanup_stack, k.contract_.max_cleanup_entries});
  }
  if (!k.has_bytes(nominal_bytes::cleanup))
    return k.refuse(kind, region, {full, limit_code::memory, k.contract_.max_bytes});
  if (!k.has_trace(1)) return k.refuse(kind, region, k.no_trace());
  const slab_entry<detail::cleanup_node> made = k.cleanups_.allocate(undo, context, *task_);
  if (!made) return k.refuse(kind, region, {full, limit_code::memory, 0});
  made.record->key = made.key;
  k.stack_in_hand(*task_);
  task_->cleanups.push_front(*made.record);
  ++task_->cleanup_depth;
  k.bytes_ += nominal_bytes::cleanup;
  k.note(event_kind::cleanup_pushed, task().value, 0, task_->cleanup_depth);
  if (out != nullptr) out->key = made.key;
  return status::ok;
}

status cx::pop_cleanup(cleanup_ref ref) noexcept {
  const inside here(kernel());
  asx::kernel& k = kernel();
  detail::cleanup_node* const node = k.cleanups_.find(ref.key);
  if (node == nullptr || node->task != task_) return status::stale_handle;
  static_cast<list_hook<cleanup_tag>&>(*node).unlink();
  k.cleanups_.release(ref.key);
  --task_->cleanup_depth;
  k.bytes_ -= nominal_bytes::cleanup;
  return status::ok;
}

void cx::set_value(std::uint64_t value) noexcept {
  task_->value = value;
  task_->has_value = true;
}
void cx::set_error(status code, std::uint64_t detail) noexcept {
  task_->failure_code = code;
  task_->failure_detail = detail;
}
void cx::panic(std::string_view text, std::source_location site) noexcept {
  const inside here(kernel());
  kernel().panic(*task_, text, site);
}

}  // namespace asx
