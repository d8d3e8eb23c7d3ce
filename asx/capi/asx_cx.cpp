// What a task can do while it is polled.
#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/kernel/extension.hpp"

using namespace asx;
using namespace asx::capi;

namespace {

status undo(void* cell) {
  auto& c = *static_cast<call_cell*>(cell);
  const asx_cleanup_fn user = c.undo;
  void* const context = c.context;
  c.home->calls.release(c.key);
  const asx_status s = user(context);
  return is_status(s) ? static_cast<status>(s) : status::invalid_argument;
}

template <class Ask>
asx_status in_poll(asx_cx* c, Ask ask) noexcept {
  const call guard(c);
  if (guard.refused != ASX_OK) return guard.refused;
  return out(ask(*c->current));
}

void stop_sleep(task_frame& f) noexcept {
  f.sleeps = false;
  if (f.timer.generation == 0) return;
  f.face.home->kernel().cancel_timer(f.timer);
  f.timer = {};
}

// As sleep_op of the coroutines, which the specification's rulings on waits describe.
status sleep(asx_cx& face, instant deadline) noexcept {
  cx& c = *face.current;
  task_frame& f = *face.frame;
  if (f.sleeps && f.wake_at != deadline) stop_sleep(f);
  if (const status s = c.checkpoint(); s != status::ok) {
    stop_sleep(f);
    return s;
  }
  if (c.now() >= deadline) {
    stop_sleep(f);
    return status::ok;
  }
  f.sleeps = true;
  f.wake_at = deadline;
  if (f.timer.generation != 0) {
    if (extension::has_timer(c.kernel(), f.timer)) return status::would_block;
    f.timer = {};
    if (!c.is_cancelled()) {  // It fired a little early, together with others, and was consumed.
      f.sleeps = false;
      return status::ok;
    }
  }
  const status s = c.kernel().register_timer(c, deadline, f.timer);
  if (s == status::ok) return status::would_block;
  f.sleeps = false;
  f.timer = {};
  return s;
}

/// Waits for the end of a task or a region: one that is not there is stale, then comes the cancel, then whether
/// it has ended; only who must wait takes a place.
template <class Report, class Handle, class Waits, class Await>
asx_status await_end(asx_cx* face, wait_kind kind, Handle of, Waits must_wait, Await await) noexcept {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  kernel& k = face->home->kernel();
  task_frame& f = *face->frame;
  Report there;
  const bool is_there = k.inspect(of, there) == status::ok;
  status s = is_there ? face->current->checkpoint() : status::ok;
  wait_cell* w = find_wait(f, kind, of.index(), of.generation);
  if (s == status::ok) {
    waiter nowhere;
    if (w == nullptr && is_there && must_wait(there)) {
      w = take_wait(f, kind, of.index(), of.generation);
      if (w == nullptr) {
        return out(extension::refuse(k, event_kind::refused_join, there.id.value, status::resource_exhausted,
                                     limit_code::waiters, face->home->waits.limit()));
      }
    }
    s = await(k, w == nullptr ? nowhere : w->place);
  }
  if (s != status::would_block && w != nullptr) end_wait(f, *w);
  return out(s);
}

asx_status stop(asx_cx* face, wait_kind kind, const handle& of) noexcept {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  wait_cell* const w = find_wait(*face->frame, kind, of.index(), of.generation);
  if (w == nullptr) return ASX_E_INVALID_ARGUMENT;
  end_wait(*face->frame, *w);
  return ASX_OK;
}

}  // namespace

extern "C" {

asx_status asx_checkpoint(asx_cx* face) {
  return in_poll(face, [](cx& c) { return c.checkpoint(); });
}

bool asx_is_cancelled(const asx_cx* face) {
  const call guard(face);
  return guard.refused == ASX_OK && face->current->is_cancelled();
}

asx_status asx_cx_reason(asx_cx* face, asx_cancel_reason* out) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  const cancel_reason* const why = face->current->reason();
  if (why == nullptr) return ASX_E_EMPTY;
  *out = capi::out(*why);
  return ASX_OK;
}

asx_status asx_cx_self(asx_cx* face, asx_task_handle* task, asx_region_handle* region) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (task != nullptr) *task = out<asx_task_handle>(face->current->handle());
  if (region != nullptr) *region = out<asx_region_handle>(face->current->region());
  return ASX_OK;
}

asx_runtime* asx_cx_runtime(asx_cx* face) {
  const call guard(face);
  return guard.refused == ASX_OK ? face->home : nullptr;
}

asx_time asx_cx_now(const asx_cx* face) {
  const call guard(face);
  return guard.refused == ASX_OK ? face->current->now().ns : ASX_TIME_NONE;
}

asx_status asx_cx_budget_left(asx_cx* face, asx_budget* out) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = capi::out(face->current->budget_left());
  return ASX_OK;
}

asx_status asx_cx_yield(asx_cx* face) {
  return in_poll(face, [](cx& c) { return c.yield(), status::ok; });
}

asx_status asx_cx_waker(asx_cx* face, asx_waker* out) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  static_cast<void>(face->current->get_waker());
  if (out != nullptr) *out = capi::out<asx_waker>(face->current->handle());
  return ASX_OK;
}

asx_status asx_cx_consume(asx_cx* face, uint64_t cost) {
  return in_poll(face, [cost](cx& c) { return c.consume_cost(cost); });
}

asx_status asx_cx_mask(asx_cx* face) {
  return in_poll(face, [](cx& c) { return c.mask_enter(); });
}

asx_status asx_cx_unmask(asx_cx* face) {
  return in_poll(face, [](cx& c) { return c.mask_leave(), status::ok; });
}

asx_status asx_cx_push_cleanup(asx_cx* face, asx_cleanup_fn user, void* context, asx_cleanup_handle* out) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (user == nullptr) return ASX_E_INVALID_ARGUMENT;
  asx_runtime& rt = *face->home;
  const slab_entry<call_cell> made = rt.calls.allocate();
  if (!made) return ASX_E_RESOURCE_EXHAUSTED;
  made.record->home = &rt;
  made.record->context = context;
  made.record->undo = user;
  made.record->key = made.key;
  const status s = face->current->push_cleanup(&undo, made.record, &made.record->pushed);
  if (s != status::ok) {
    rt.calls.release(made.key);
  } else if (out != nullptr) {
    *out = capi::out<asx_cleanup_handle>(word_of(type_tag::task, cleanup_mask, made.key));
  }
  return capi::out(s);
}

asx_status asx_cx_pop_cleanup(asx_cx* face, asx_cleanup_handle cleanup) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  const slab_key key = key_of(cleanup.word, cleanup.generation, type_tag::task, cleanup_mask);
  const call_cell* const cell = face->home->calls.find(key);
  if (cell == nullptr) return ASX_E_STALE_HANDLE;
  const status s = face->current->pop_cleanup(cell->pushed);
  if (s == status::ok) face->home->calls.release(key);
  return out(s);
}

asx_status asx_cx_set_value(asx_cx* face, uint64_t value) {
  return in_poll(face, [value](cx& c) { return c.set_value(value), status::ok; });
}

asx_status asx_cx_set_error(asx_cx* face, asx_status code, uint64_t detail) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!is_status(code)) return ASX_E_INVALID_ARGUMENT;
  face->current->set_error(static_cast<status>(code), detail);
  return ASX_OK;
}

asx_status asx_cx_panic(asx_cx* face, const char* why) {
  return in_poll(face, [why](cx& c) { return c.panic(text(why)), status::ok; });
}

// ---- waits --------------------------------------------------------------------------------------------------------

asx_status asx_sleep_until(asx_cx* face, asx_time deadline) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  return out(sleep(*face, {deadline}));
}

asx_status asx_sleep_for(asx_cx* face, uint64_t ns) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  const task_frame& f = *face->frame;
  return out(sleep(*face, f.sleeps ? f.wake_at : face->current->now() + duration{ns}));
}

asx_status asx_sleep_stop(asx_cx* face) {
  const call guard(face);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!face->frame->sleeps) return ASX_E_INVALID_ARGUMENT;
  stop_sleep(*face->frame);
  return ASX_OK;
}

asx_status asx_task_join(asx_cx* face, asx_task_handle task, asx_outcome* out) {
  const task_handle of = in(task);
  const asx_status s = await_end<task_report>(
      face, wait_kind::join, of,
      [&](const task_report& t) { return t.state != task_state::completed && t.id != face->current->task(); },
      [&](kernel& k, waiter& w) { return k.await_completed(of, *face->current, w); });
  task_outcome result;
  if (s == ASX_OK && out != nullptr && face->home->kernel().result(of, result) == status::ok) *out = capi::out(result);
  return s;
}

asx_status asx_task_stop_joining(asx_cx* face, asx_task_handle task) {
  return stop(face, wait_kind::join, in(task));
}

asx_status asx_region_await_closed(asx_cx* face, asx_region_handle region) {
  const region_handle of = in(region);
  return await_end<region_report>(
      face, wait_kind::closed, of, [](const region_report& r) { return r.state != region_state::closed; },
      [&](kernel& k, waiter& w) { return k.await_closed(of, *face->current, w); });
}

asx_status asx_region_stop_awaiting(asx_cx* face, asx_region_handle region) {
  return stop(face, wait_kind::closed, in(region));
}

}  // extern "C"
