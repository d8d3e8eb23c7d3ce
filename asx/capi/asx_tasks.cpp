// Regions, tasks, obligations and timers of regions, from outside of polls and from inside.
#include <source_location>
#include <utility>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/kernel/extension.hpp"

using namespace asx;
using namespace asx::capi;

namespace asx::capi {

slot_cell::~slot_cell() {
  if (frame != nullptr) frame->face.home->frames.release(frame->key);
}

void end_wait(task_frame& f, wait_cell& w) noexcept {
  for (wait_cell** at = &f.waits; *at != nullptr; at = &(*at)->next) {  // asx: bounded by what one task waits for
    if (*at != &w) continue;
    *at = w.next;
    break;
  }
  f.face.home->waits.release(w.key);
}

wait_cell* find_wait(task_frame& f, wait_kind kind, std::uint32_t index, std::uint64_t generation) noexcept {
  for (wait_cell* w = f.waits; w != nullptr; w = w->next) {  // asx: bounded by what one task waits for
    if (w->kind == kind && w->index == index && w->generation == generation) return w;
  }
  return nullptr;
}

wait_cell* take_wait(task_frame& f, wait_kind kind, std::uint32_t index, std::uint64_t generation) noexcept {
  if (wait_cell* const there = find_wait(f, kind, index, generation); there != nullptr) return there;
  const slab_entry<wait_cell> made = f.face.home->waits.allocate();
  if (!made) return nullptr;
  made.record->kind = kind;
  made.record->index = index;
  made.record->generation = generation;
  made.record->key = made.key;
  made.record->next = f.waits;
  return f.waits = made.record;
}

}  // namespace asx::capi

namespace {

// A line of this file says nothing about the program.
constexpr std::source_location no_site{};

// ---- what the kernel calls ----------------------------------------------------------------------------------------

poll_result poll(void* frame, cx& c) {
  auto& f = *static_cast<task_frame*>(frame);
  f.face.current = &c;
  const asx_poll_result said = f.poll(f.context, &f.face);
  f.face.current = nullptr;
  switch (said) {
    case ASX_POLL_PENDING: return poll_result::pending;
    case ASX_POLL_READY: return poll_result::ready;
    case ASX_POLL_ERROR: return poll_result::error;
  }
  c.panic("a poll function returned a number that is no asx_poll_result");
  return poll_result::ready;
}

void drop(void* frame) noexcept {
  auto& f = *static_cast<task_frame*>(frame);
  asx_runtime& rt = *f.face.home;
  while (f.waits != nullptr) end_wait(f, *f.waits);  // asx: bounded by what one task waits for
  const asx_drop_fn user = f.drop;
  void* const context = f.context;
  rt.frames.release(f.key);
  if (user != nullptr) user(context);
}

status finalize(void* cell, region_handle region, kernel&) {
  auto& f = *static_cast<call_cell*>(cell);
  asx_runtime& rt = *f.home;
  const asx_finalizer_fn run = f.finalize;
  void* const context = f.context;
  rt.calls.release(f.key);
  const asx_status s = run(context, &rt, out<asx_region_handle>(region));
  return is_status(s) ? static_cast<status>(s) : status::invalid_argument;
}

void closed(void* cell, region_handle region) noexcept {
  auto& f = *static_cast<call_cell*>(cell);
  const asx_closed_fn told = f.closed;
  void* const context = f.context;
  f.home->calls.release(f.key);
  told(context, out<asx_region_handle>(region));
}

// ---- what C asks for ----------------------------------------------------------------------------------------------

asx_status read_spec(const asx_task_spec* given, asx_task_spec& spec) noexcept {
  spec = ASX_TASK_SPEC_INIT;
  if (given == nullptr) return ASX_E_INVALID_ARGUMENT;
  if (const asx_status s = take_struct(given, spec); s != ASX_OK) return s;
  return spec.poll == nullptr ? ASX_E_INVALID_ARGUMENT : ASX_OK;
}

/// Null: no memory.
task_frame* take_frame(asx_runtime& rt) noexcept {
  const slab_entry<task_frame> made = rt.frames.allocate();
  if (!made) return nullptr;
  made.record->face.home = &rt;
  made.record->face.frame = made.record;
  made.record->key = made.key;
  return made.record;
}

/// The tables of this interface have no place left for a task: then the kernel is full as well, and says so with its
/// own reasons in its own order; or there is no memory.
status refuse_task(kernel& k, region_handle region) noexcept {
  task_slot slot;
  if (const status s = k.reserve_task(region, slot); s != status::ok) return s;
  k.abandon(slot);
  region_report r;
  static_cast<void>(k.inspect(region, r));
  return extension::refuse(k, event_kind::refused_spawn, r.id.value, status::resource_exhausted, limit_code::memory);
}

task_spec spec_of(task_frame& f, const asx_task_spec& spec) noexcept {
  f.poll = spec.poll;
  f.context = spec.context;
  f.drop = spec.drop;
  return {.poll = &poll,
          .context = &f,
          .drop = &drop,
          .limits = in(spec.budget),
          .priority = spec.priority,
          .name = text(spec.name),
          .is_held = is_set(spec.is_held)};
}

template <class Ask>
asx_status with_reason(asx_runtime* runtime, asx_cancel_kind kind, const char* message, Ask ask) noexcept {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!is_kind(kind)) return ASX_E_INVALID_ARGUMENT;
  return out(ask(runtime->kernel(), cancel_request{in(kind), text(message)}));
}

template <class Ask>
asx_status with_kernel(asx_runtime* runtime, Ask ask) noexcept {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  return out(ask(runtime->kernel()));
}

/// Resolves an obligation, unless it is a permit's.
template <class Resolve>
asx_status with_promise(asx_runtime* runtime, asx_obligation_handle obligation, Resolve resolve) noexcept {
  return with_kernel(runtime, [&](kernel& k) {
    const obligation_handle h = in(obligation);
    obligation_state state{};
    const bool is_permits = (h.word & permit_bits) != 0 && k.inspect(h, state) == status::ok;
    return is_permits ? status::invalid_argument : resolve(k, h);
  });
}

}  // namespace

extern "C" {

// ---- regions ------------------------------------------------------------------------------------------------------

asx_status asx_region_root(asx_runtime* runtime, asx_region_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = capi::out<asx_region_handle>(runtime->core.root());
  return ASX_OK;
}

asx_status asx_region_create(asx_runtime* runtime, asx_region_handle parent, const asx_region_spec* given,
                             asx_region_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  asx_region_spec spec = ASX_REGION_SPEC_INIT;
  if (given != nullptr) {
    if (const asx_status s = take_struct(given, spec); s != ASX_OK) return s;
  }
  region_spec r{.limits = in(spec.budget),
                .max_tasks = spec.max_tasks,
                .name = text(spec.name),
                .is_held = is_set(spec.is_held),
                .owner = in(spec.owner),
                .ends_when_empty = is_set(spec.ends_when_empty),
                .fails_fast = is_set(spec.fails_fast)};
  if (spec.owner.word != 0 && r.owner.is_null()) return ASX_E_STALE_HANDLE;
  slab_key cell{};
  if (spec.closed != nullptr) {
    const slab_entry<call_cell> made = runtime->calls.allocate();
    if (!made) return ASX_E_RESOURCE_EXHAUSTED;
    made.record->home = runtime;
    made.record->context = spec.context;
    made.record->closed = spec.closed;
    made.record->key = cell = made.key;
    r.context = made.record;
    r.closed = &closed;
  }
  region_handle made;
  const status s = runtime->kernel().create_region(in(parent), r, made, no_site);
  if (s == status::ok) {
    *out = capi::out<asx_region_handle>(made);
  } else if (cell.generation != 0) {
    runtime->calls.release(cell);
  }
  return capi::out(s);
}

asx_status asx_region_close(asx_runtime* runtime, asx_region_handle region, asx_cancel_kind kind, const char* message) {
  return with_reason(runtime, kind, message,
                     [&](kernel& k, const cancel_request& why) { return k.close(in(region), why); });
}
asx_status asx_region_begin_close(asx_runtime* runtime, asx_region_handle region, asx_cancel_kind kind,
                                  const char* message) {
  return with_reason(runtime, kind, message,
                     [&](kernel& k, const cancel_request& why) { return k.begin_close(in(region), why); });
}
asx_status asx_region_begin_drain(asx_runtime* runtime, asx_region_handle region) {
  return with_kernel(runtime, [&](kernel& k) { return k.begin_drain(in(region)); });
}
asx_status asx_region_begin_finalize(asx_runtime* runtime, asx_region_handle region) {
  return with_kernel(runtime, [&](kernel& k) { return k.begin_finalize(in(region)); });
}
asx_status asx_region_finish_close(asx_runtime* runtime, asx_region_handle region) {
  return with_kernel(runtime, [&](kernel& k) { return k.finish_close(in(region)); });
}

asx_status asx_region_add_finalizer(asx_runtime* runtime, asx_region_handle region, asx_finalizer_fn run, void* context,
                                    bool in_turn) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (run == nullptr) return ASX_E_INVALID_ARGUMENT;
  const slab_entry<call_cell> made = runtime->calls.allocate();
  if (!made) return ASX_E_RESOURCE_EXHAUSTED;
  made.record->home = runtime;
  made.record->context = context;
  made.record->finalize = run;
  made.record->key = made.key;
  const status s = runtime->kernel().add_finalizer(in(region), &finalize, made.record, in_turn);
  if (s != status::ok) runtime->calls.release(made.key);
  return out(s);
}

asx_status asx_region_arena(asx_runtime* runtime, asx_region_handle region, size_t bytes, size_t alignment,
                            void** out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  void* memory = nullptr;
  const status s = runtime->kernel().arena_allocate(in(region), bytes, alignment, memory);
  if (s == status::ok) *out = memory;
  return capi::out(s);
}

asx_status asx_region_inspect(asx_runtime* runtime, asx_region_handle region, asx_region_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (report == nullptr) return ASX_E_INVALID_ARGUMENT;
  region_report r;
  if (const status s = runtime->kernel().inspect(in(region), r); s != status::ok) return out(s);
  asx_region_report to{};
  to.id = r.id.value;
  to.state = static_cast<asx_region_state>(r.state);
  to.live_tasks = r.live_tasks;
  to.live_regions = r.live_regions;
  to.reserved = r.reserved;
  to.leaked = r.leaked;
  to.has_reason = r.reason != nullptr;
  if (r.reason != nullptr) to.reason = out(*r.reason);
  to.failed = r.failed.value;
  to.error = static_cast<asx_status>(r.failure.code);
  to.detail = r.failure.detail;
  return give_struct(to, report);
}

asx_status asx_region_outcome(asx_runtime* runtime, asx_region_handle region, asx_outcome* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  task_outcome result;
  const status s = runtime->kernel().result(in(region), result);
  if (s == status::ok) *out = capi::out(result);
  return capi::out(s);
}

asx_status asx_region_release(asx_runtime* runtime, asx_region_handle region) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  const region_handle r = in(region);
  const region_handle root = runtime->core.root();
  // The root is the runtime's own.
  if (r.index() == root.index() && r.generation == root.generation && !r.is_null()) return ASX_E_INVALID_ARGUMENT;
  return out(runtime->kernel().release_region(r));
}

// ---- tasks --------------------------------------------------------------------------------------------------------

asx_status asx_task_spawn(asx_runtime* runtime, asx_region_handle region, const asx_task_spec* given,
                          asx_task_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  asx_task_spec spec;
  if (const asx_status s = read_spec(given, spec); s != ASX_OK) return s;
  task_frame* const f = take_frame(*runtime);
  if (f == nullptr) return capi::out(refuse_task(runtime->kernel(), in(region)));
  task_handle made;
  const slab_key key = f->key;
  const status s = runtime->kernel().spawn(in(region), spec_of(*f, spec), made, no_site);
  if (s != status::ok) {
    runtime->frames.release(key);
  } else if (out != nullptr) {
    *out = capi::out<asx_task_handle>(made);
  }
  return capi::out(s);
}

asx_status asx_task_reserve(asx_runtime* runtime, asx_region_handle region, asx_task_slot* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  const slab_entry<slot_cell> made = runtime->slots.allocate();
  if (!made) return capi::out(refuse_task(runtime->kernel(), in(region)));
  made.record->frame = take_frame(*runtime);
  const status s = made.record->frame == nullptr ? refuse_task(runtime->kernel(), in(region))
                                                 : runtime->kernel().reserve_task(in(region), made.record->slot);
  if (s == status::ok) {
    *out = capi::out<asx_task_slot>(word_of(type_tag::task, slot_mask, made.key));
  } else {
    runtime->slots.release(made.key);
  }
  return capi::out(s);
}

asx_status asx_task_commit(asx_runtime* runtime, asx_task_slot slot, const asx_task_spec* given, asx_task_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  const slab_key key = key_of(slot.word, slot.generation, type_tag::task, slot_mask);
  slot_cell* const cell = runtime->slots.find(key);
  if (cell == nullptr || cell->is_spoken_for) return ASX_E_STALE_HANDLE;
  asx_task_spec spec;
  if (const asx_status s = read_spec(given, spec); s != ASX_OK) return s;
  task_frame& f = *std::exchange(cell->frame, nullptr);
  const task_handle made = runtime->kernel().commit(cell->slot, spec_of(f, spec), no_site);
  runtime->slots.release(key);
  if (out != nullptr) *out = capi::out<asx_task_handle>(made);
  return ASX_OK;
}

asx_status asx_task_abandon(asx_runtime* runtime, asx_task_slot slot) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  const slab_key key = key_of(slot.word, slot.generation, type_tag::task, slot_mask);
  slot_cell* const cell = runtime->slots.find(key);
  if (cell == nullptr || cell->is_spoken_for) return ASX_E_STALE_HANDLE;
  cell->is_spoken_for = true;
  runtime->kernel().abandon(cell->slot);
  runtime->slots.release(key);
  return ASX_OK;
}

asx_status asx_task_request_cancel(asx_runtime* runtime, asx_task_handle task, asx_cancel_kind kind,
                                   const char* message, bool* newly) {
  return with_reason(runtime, kind, message,
                     [&](kernel& k, const cancel_request& why) { return k.request_cancel(in(task), why, newly); });
}

asx_status asx_task_complete(asx_runtime* runtime, asx_task_handle task, const asx_outcome* outcome) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  task_outcome result;
  if (outcome == nullptr || !in(*outcome, result)) return ASX_E_INVALID_ARGUMENT;
  return out(runtime->kernel().complete(in(task), result));
}

asx_status asx_task_wake(asx_runtime* runtime, asx_task_handle task) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  const waker w = runtime->kernel().waker_of(in(task));
  if (w.is_null()) return ASX_E_STALE_HANDLE;
  w.wake();
  return ASX_OK;
}

asx_status asx_waker_wake(asx_runtime* runtime, asx_waker waker) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  runtime->kernel().waker_of(in(asx_task_handle{waker.word, waker.generation})).wake();
  return ASX_OK;
}

asx_status asx_task_inspect(asx_runtime* runtime, asx_task_handle task, asx_task_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (report == nullptr) return ASX_E_INVALID_ARGUMENT;
  task_report r;
  if (const status s = runtime->kernel().inspect(in(task), r); s != status::ok) return out(s);
  asx_task_report to{};
  to.id = r.id.value;
  to.state = static_cast<asx_task_state>(r.state);
  to.lane = r.is_queued ? static_cast<asx_lane>(r.queued_in) : ASX_LANE_NONE;
  to.polls = r.polls;
  to.epoch = r.epoch;
  to.phase = static_cast<asx_cancel_phase>(r.phase);
  if (r.reason != nullptr) to.reason = out(*r.reason);
  to.cleanup_polls_left = r.cleanup_polls_left;
  to.mask_depth = r.mask_depth;
  to.left = out(r.left);
  return give_struct(to, report);
}

asx_status asx_task_outcome(asx_runtime* runtime, asx_task_handle task, asx_outcome* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  task_outcome result;
  const status s = runtime->kernel().result(in(task), result);
  if (s == status::ok) *out = capi::out(result);
  return capi::out(s);
}

asx_status asx_task_witness(asx_runtime* runtime, asx_task_handle task, asx_cancel_witness* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  cancel_witness w;
  const status s = runtime->kernel().witness(in(task), w);
  if (s == status::ok) {
    *out = {w.task.value, w.region.value, w.epoch, static_cast<asx_cancel_phase>(w.phase), capi::out(w.reason)};
  }
  return capi::out(s);
}

asx_status asx_task_release(asx_runtime* runtime, asx_task_handle task) {
  return with_kernel(runtime, [&](kernel& k) { return k.release_task(in(task)); });
}

asx_status asx_cancel_reason_level(asx_runtime* runtime, const asx_cancel_reason* head, uint32_t level,
                                   asx_cancel_reason* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (head == nullptr || out == nullptr) return ASX_E_INVALID_ARGUMENT;
  if (level >= head->levels && level != 0) return ASX_E_STALE_HANDLE;
  asx_cancel_reason at = *head;
  for (uint32_t i = 0; i < level; ++i) {  // asx: bounded by the levels of a chain
    const cancel_reason* const behind = runtime->kernel().reasons().find(cause_of(at));
    if (behind == nullptr) return ASX_E_STALE_HANDLE;
    at = capi::out(*behind);
  }
  *out = at;
  return ASX_OK;
}

// ---- obligations and timers of regions ----------------------------------------------------------------------------

asx_status asx_obligation_reserve(asx_runtime* runtime, asx_region_handle region, asx_obligation_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  obligation_handle made;
  const status s = runtime->kernel().reserve(in(region), made, no_site);
  if (s == status::ok) *out = capi::out<asx_obligation_handle>(made);
  return capi::out(s);
}
asx_status asx_obligation_commit(asx_runtime* runtime, asx_obligation_handle obligation) {
  return with_promise(runtime, obligation, [](kernel& k, obligation_handle h) { return k.commit(h); });
}
asx_status asx_obligation_abort(asx_runtime* runtime, asx_obligation_handle obligation) {
  return with_promise(runtime, obligation, [](kernel& k, obligation_handle h) { return k.abort(h); });
}
asx_status asx_obligation_inspect(asx_runtime* runtime, asx_obligation_handle obligation, asx_obligation_state* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  obligation_state state{};
  const status s = runtime->kernel().inspect(in(obligation), state);
  if (s == status::ok) *out = static_cast<asx_obligation_state>(state);
  return capi::out(s);
}

asx_status asx_region_add_timer(asx_runtime* runtime, asx_region_handle region, asx_time deadline,
                                asx_timer_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  slab_key made;
  const status s = runtime->kernel().register_timer(in(region), {deadline}, made);
  if (s == status::ok) *out = {std::uint64_t{made.index} + 1, made.generation};
  return capi::out(s);
}

asx_status asx_region_cancel_timer(asx_runtime* runtime, asx_timer_handle timer, bool* was_live) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  const bool is_possible = timer.id != 0 && timer.id <= UINT32_MAX;
  const bool was =
      is_possible && runtime->kernel().cancel_timer({static_cast<std::uint32_t>(timer.id - 1), timer.generation});
  if (was_live != nullptr) *was_live = was;
  return ASX_OK;
}

}  // extern "C"
