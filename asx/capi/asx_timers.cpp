// A timer wheel by itself.
#include <memory>
#include <new>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/memory.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

struct asx_timer_wheel {
  asx_timer_wheel(const wheel_config& config, const asx_memory& memory) noexcept
      : hooks(memory), wheel(config, choose(hooks, heap_memory())) {}

  asx_memory hooks;
  timer_wheel wheel;
};

namespace {

void release(asx_timer_wheel* wheel) noexcept {
  asx_memory hooks = wheel->hooks;
  std::destroy_at(wheel);
  give_place<asx_timer_wheel>(choose(hooks, heap_memory()), wheel);
}

timer_handle in(const asx_timer_handle& h) noexcept {
  return {h.id, h.generation};
}

asx_status register_timer(asx_timer_wheel* wheel, asx_time deadline, asx_waker waker, asx_timer_handle* out_handle) {
  if (wheel == nullptr || out_handle == nullptr) return ASX_E_INVALID_ARGUMENT;
  timer_handle made;
  const status s = wheel->wheel.register_timer({deadline}, {waker.word, waker.generation}, made);
  if (s == status::ok) *out_handle = {made.id, made.generation};
  return out(s);
}

}  // namespace

extern "C" {

asx_status asx_timer_wheel_create(const asx_wheel_config* config, asx_timer_wheel** out) {
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  asx_wheel_config c = ASX_WHEEL_CONFIG_INIT;
  if (config != nullptr) {
    if (const asx_status s = take_struct(config, c); s != ASX_OK) return s;
  }
  if (!is_whole(c.memory)) return ASX_E_INVALID_ARGUMENT;
  const wheel_config w{.capacity = c.capacity,
                       .max_wheel_duration = asx::duration{c.max_wheel_ns},
                       .max_timer_duration = asx::duration{c.max_timer_ns},
                       .coalesce_window = asx::duration{c.coalesce_window_ns},
                       .coalesce_min_group = c.coalesce_min_group,
                       .start = {c.start},
                       .first_id = c.first_id,
                       .first_generation = c.first_generation};
  if (const status s = timer_wheel::validate(w); s != status::ok) return capi::out(s);
  if (c.start == ASX_TIME_NONE) return ASX_E_INVALID_ARGUMENT;
  void* const at = take_place<asx_timer_wheel>(choose(c.memory, heap_memory()));
  if (at == nullptr) return ASX_E_RESOURCE_EXHAUSTED;
  auto* const made = new (at) asx_timer_wheel(w, c.memory);
  if (!made->wheel.ready()) {
    release(made);
    return ASX_E_RESOURCE_EXHAUSTED;
  }
  *out = made;
  return ASX_OK;
}

asx_status asx_timer_wheel_destroy(asx_timer_wheel* wheel) {
  if (wheel == nullptr) return ASX_E_INVALID_ARGUMENT;
  release(wheel);
  return ASX_OK;
}

asx_status asx_timer_register(asx_timer_wheel* wheel, asx_time deadline, asx_waker waker,
                              asx_timer_handle* out_handle) {
  return register_timer(wheel, deadline, waker, out_handle);
}

asx_status asx_timer_try_register(asx_timer_wheel* wheel, asx_time deadline, asx_waker waker,
                                  asx_timer_handle* out_handle) {
  return register_timer(wheel, deadline, waker, out_handle);
}

size_t asx_timer_collect_expired(asx_timer_wheel* wheel, asx_time now, asx_waker* out_wakers, size_t max_wakers) {
  if (wheel == nullptr || (out_wakers == nullptr && max_wakers != 0)) return 0;
  if (now == ASX_TIME_NONE) --now;
  if (max_wakers == 0) {
    wheel->wheel.advance({now});
    return 0;
  }
  size_t written = 0;
  expired_timer some[32];
  while (written < max_wakers) {  // asx: bounded by max_wakers
    const size_t room = max_wakers - written < 32 ? max_wakers - written : 32;
    const size_t came = wheel->wheel.collect_expired({now}, {some, room});
    for (size_t i = 0; i < came; ++i) out_wakers[written++] = {some[i].token.record, some[i].token.generation};
    if (came < room) break;
  }
  return written;
}

bool asx_timer_cancel(asx_timer_wheel* wheel, const asx_timer_handle* handle) {
  return wheel != nullptr && handle != nullptr && wheel->wheel.cancel(in(*handle));
}

asx_timer_handle asx_timer_update(asx_timer_wheel* wheel, const asx_timer_handle* old_handle, asx_time new_deadline,
                                  asx_waker waker) {
  if (wheel == nullptr || old_handle == nullptr) return {0, 0};
  timer_handle made;
  const status s = wheel->wheel.update(in(*old_handle), {new_deadline}, {waker.word, waker.generation}, made);
  return s == status::ok ? asx_timer_handle{made.id, made.generation} : asx_timer_handle{0, 0};
}

bool asx_timer_is_live(const asx_timer_wheel* wheel, const asx_timer_handle* handle) {
  return wheel != nullptr && handle != nullptr && wheel->wheel.is_live(in(*handle));
}

asx_time asx_timer_next_deadline(const asx_timer_wheel* wheel) {
  return wheel == nullptr ? ASX_TIME_NONE : wheel->wheel.next_deadline().ns;
}

size_t asx_timer_live(const asx_timer_wheel* wheel) {
  return wheel == nullptr ? 0 : wheel->wheel.live();
}

asx_status asx_timer_purge(asx_timer_wheel* wheel) {
  if (wheel == nullptr) return ASX_E_INVALID_ARGUMENT;
  wheel->wheel.purge();
  return ASX_OK;
}

}  // extern "C"
