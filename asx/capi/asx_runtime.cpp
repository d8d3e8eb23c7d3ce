// A runtime's beginning and end, in whichever memory; the heap's own part is in asx_heap.cpp, so that a program which
// hands over its memory holds nothing of it.
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/create.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/journal/event_table.hpp"

using namespace asx;
using namespace asx::capi;

// ---- numbers are the model's (R-46, R-141) --------------------------------------------------------------------------

static_assert(ASX_E_TIMER_DURATION_EXCEEDED == static_cast<int>(status::timer_duration_exceeded) &&
              ASX_E_INVALID_ARGUMENT == static_cast<int>(status::invalid_argument) &&
              ASX_E_LAGGED == static_cast<int>(status::lagged));
static_assert(ASX_REGION_CLOSED == static_cast<int>(region_state::closed) &&
              ASX_TASK_COMPLETED == static_cast<int>(task_state::completed) &&
              ASX_OBLIGATION_LEAKED == static_cast<int>(obligation_state::leaked) &&
              ASX_CANCEL_COMPLETED == static_cast<int>(cancel_phase::completed) &&
              ASX_CANCEL_SHUTDOWN == static_cast<int>(cancel_kind::shutdown) &&
              ASX_OUTCOME_PANICKED == static_cast<int>(outcome_kind::panicked) &&
              ASX_CHANNEL_FULLY_CLOSED == static_cast<int>(channel_state::fully_closed));
static_assert(ASX_POLL_ERROR == static_cast<int>(poll_result::error) &&
              ASX_LANE_READY == static_cast<int>(lane::ready) &&
              ASX_FROM_STALL == static_cast<int>(dispatch_source::stall) &&
              ASX_GOVERNOR_DRAIN_REGIONS == static_cast<int>(governor::drain_regions) &&
              ASX_BUDGET_COST == static_cast<int>(budget_part::cost));
static_assert(ASX_LEAKS_HOLD == static_cast<int>(leak_policy::hold) &&
              ASX_ORDER_DRAWN == static_cast<int>(worker_order::kind::drawn) &&
              ASX_TIES_RNG == static_cast<int>(tie_break::rng) &&
              ASX_TRACE_REJECT == static_cast<int>(trace_overflow::reject) &&
              ASX_JOURNAL_FULL == static_cast<int>(journal_mode::full) &&
              ASX_GHOSTS_ON == static_cast<int>(ghost_mode::on));
static_assert(sizeof(asx_event) == sizeof(event) && offsetof(asx_event, cause) == offsetof(event, cause) &&
              offsetof(asx_event, flags) == offsetof(event, flags));
static_assert(sizeof(asx_region_handle) == 16 && sizeof(asx_waker) == 16 && sizeof(asx_timer_handle) == 16);

// ---- hooks --------------------------------------------------------------------------------------------------------

namespace {

asx_runtime& self(void* context) noexcept {
  return *static_cast<asx_runtime*>(context);
}

void* allocate(void* context, std::size_t bytes, std::size_t alignment) noexcept {
  asx_runtime& rt = self(context);
  const hook_guard guard(rt);
  return rt.given.memory.allocate(rt.given.memory.context, bytes, alignment);
}
void release(void* context, void* block, std::size_t bytes, std::size_t alignment) noexcept {
  asx_runtime& rt = self(context);
  const hook_guard guard(rt);
  rt.given.memory.release(rt.given.memory.context, block, bytes, alignment);
}

instant read_machine(void* context) noexcept {
  return self(context).machine_time.now();
}
instant read_host(void* context) noexcept {
  asx_runtime& rt = self(context);
  const hook_guard guard(rt);
  const asx_time now = rt.given.clock.now(rt.given.clock.context);
  return {now == ASX_TIME_NONE ? now - 1 : now};
}

void park(void* context, instant now, instant until) noexcept {
  asx_runtime& rt = self(context);
  const hook_guard guard(rt);
  rt.given.park.park(rt.given.park.context, now.ns, until.ns);
}
void unpark(void* context) noexcept {  // By any thread: nothing of the runtime is written.
  const asx_runtime& rt = self(context);
  rt.given.park.unpark(rt.given.park.context);
}

void panic(void* context, std::string_view text) noexcept {
  asx_runtime& rt = self(context);
  char line[512];
  const std::size_t size = text.size() < sizeof line - 1 ? text.size() : sizeof line - 1;
  std::memcpy(line, text.data(), size);
  line[size] = 0;
  const hook_guard guard(rt);
  if (rt.given.log.log != nullptr) rt.given.log.log(rt.given.log.context, ASX_LOG_FATAL, line);
  if (rt.given.panic.panic != nullptr) {
    rt.given.panic.panic(rt.given.panic.context, line);
  } else {
    std::fprintf(stderr, "asx: %s\n", line);
  }
}

bool is_worth_a_line(const event& e) noexcept {
  switch (e.kind) {
    case event_kind::finalizer_failed:
    case event_kind::region_leaked:
    case event_kind::task_panicked:
    case event_kind::cleanup_failed:
    case event_kind::obligation_leaked:
    case event_kind::task_force_completed:
    case event_kind::cleanup_overrun: return true;
    default: return is_refusal(e.kind) && high_half(e.a) != static_cast<std::uint32_t>(limit_code::none);
  }
}

void log_event(asx_runtime& rt, const event& e) noexcept {
  const std::string_view kind = name(e.kind);
  char line[160];
  std::snprintf(line, sizeof line, "%.*s: subject %llu, object %llu, %llu, %llu; event %llu at %llu ns",
                static_cast<int>(kind.size()), kind.data(), static_cast<unsigned long long>(e.subject),
                static_cast<unsigned long long>(e.object), static_cast<unsigned long long>(e.a),
                static_cast<unsigned long long>(e.b), static_cast<unsigned long long>(e.seq),
                static_cast<unsigned long long>(e.time_ns));
  rt.given.log.log(rt.given.log.context, is_refusal(e.kind) ? ASX_LOG_NOTE : ASX_LOG_WARNING, line);
}

void take(void* context, std::span<const event> batch) noexcept {
  asx_runtime& rt = self(context);
  const hook_guard guard(rt);
  if (rt.given.writer != nullptr) append_to(*rt.given.writer, batch);
  if (rt.given.sink.take != nullptr) {
    rt.given.sink.take(rt.given.sink.context, reinterpret_cast<const asx_event*>(batch.data()), batch.size());
  }
  if (rt.given.log.log == nullptr) return;
  for (const event& e : batch) {
    if (is_worth_a_line(e)) log_event(rt, e);
  }
}

std::uint32_t sum(std::uint32_t a, std::uint32_t b) noexcept {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

resource_contract contract_of(const asx_resource_contract& c) noexcept {
  resource_contract to;
  copy_limits(c, to);
  return to;
}

asx_resource_contract contract_to(const resource_contract& c) noexcept {
  asx_resource_contract to{};
  copy_limits(c, to);
  to.max_senders = c.max_channels > UINT32_MAX / 4 ? UINT32_MAX : 4 * c.max_channels;
  to.max_waits = c.max_tasks;
  return to;
}

// Written in one list, so that the default of `memory`, which is the heap, is not asked for.
runtime_config config_of(asx_runtime& rt) noexcept {
  const asx_runtime_config& g = rt.given;
  clock_port clock{};
  if (g.clock_kind == ASX_CLOCK_MACHINE) clock = {&rt, &read_machine};
  if (g.clock_kind == ASX_CLOCK_HOST) clock = {&rt, &read_host};
  park_port waits{};
  if (g.park.park != nullptr) waits = {&rt, &park, g.park.unpark == nullptr ? nullptr : &unpark};
  const bool is_told = g.sink.take != nullptr || g.writer != nullptr || g.log.log != nullptr;
  kernel_options behaviour;
  behaviour.leaks = static_cast<leak_policy>(g.leaks);
  behaviour.max_unobserved_cancel_polls = g.max_unobserved_cancel_polls;
  behaviour.fatal = &panic;
  behaviour.fatal_context = &rt;
  behaviour.ghosts = static_cast<ghost_mode>(g.ghosts);
  return {.contract = contract_of(g.contract),
          .behaviour = behaviour,
          .seed = g.seed,
          .workers = g.workers,
          .order = static_cast<worker_order::kind>(g.order),
          .cancel_streak_limit = g.cancel_streak_limit,
          .timed_streak_limit = g.timed_streak_limit,
          .ready_tiebreak = static_cast<tie_break>(g.ready_tiebreak),
          .coalesce_window = duration{g.coalesce_window_ns},
          .policy = {},
          .journaling = static_cast<journal_mode>(g.journaling),
          .sink = is_told ? event_sink{&rt, &take} : event_sink{},
          .clock = clock,
          .park = waits,
          .max_foreign = g.max_foreign,
          .grace = duration{g.foreign_grace_ns},
          .measure = nullptr,
          .arrivals = {},
          .memory = rt.memory};
}

template <class Enum>
bool is_up_to(Enum value, Enum last) noexcept {
  return static_cast<std::uint32_t>(value) <= static_cast<std::uint32_t>(last);
}

bool makes_sense(const asx_runtime_config& c) noexcept {
  const bool has_enums = is_up_to(c.order, ASX_ORDER_DRAWN) && is_up_to(c.ready_tiebreak, ASX_TIES_RNG) &&
                         is_up_to(c.leaks, ASX_LEAKS_HOLD) && is_up_to(c.ghosts, ASX_GHOSTS_ON) &&
                         is_up_to(c.journaling, ASX_JOURNAL_FULL) && is_up_to(c.clock_kind, ASX_CLOCK_HOST) &&
                         is_up_to(c.contract.overflow, ASX_TRACE_REJECT);
  const bool has_hooks = (c.clock_kind != ASX_CLOCK_HOST || c.clock.now != nullptr) &&
                         (c.memory.allocate == nullptr) == (c.memory.release == nullptr);
  return has_enums && has_hooks;
}

}  // namespace

// ---- beginning ----------------------------------------------------------------------------------------------------

asx_runtime::asx_runtime(const asx_runtime_config& config, memory_port outer, std::span<std::byte> own,
                         std::size_t head_bytes) noexcept
    : head(head_bytes),
      given(config),
      bump(own),
      memory(!own.empty()                        ? bump.port()
             : config.memory.allocate != nullptr ? memory_port{this, &allocate, &release}
                                                 : outer),
      core(config_of(*this)),
      frames(config.contract.max_tasks, memory),
      calls(sum(sum(config.contract.max_cleanup_entries, config.contract.max_finalizers), config.contract.max_regions),
            memory),
      senders(config.contract.max_senders, memory),
      receivers(sum(config.contract.max_channels, 1), memory),  // One more: it is the kernel that refuses, and tells.
      waits(config.contract.max_waits, memory),
      slots(config.contract.max_tasks, memory) {}

asx_status asx_runtime::start() noexcept {
  if (core.start_status() != status::ok) return out(core.start_status());
  bool has_all =
      frames.ready() && calls.ready() && senders.ready() && receivers.ready() && waits.ready() && slots.ready();
  if (has_all && given.contract.reserve_all) {
    has_all = frames.reserve(frames.limit()) && calls.reserve(calls.limit()) && senders.reserve(senders.limit()) &&
              receivers.reserve(receivers.limit()) && waits.reserve(waits.limit()) && slots.reserve(slots.limit());
  }
  if (has_all) return ASX_OK;
  static_cast<void>(core.come_to_rest());
  return ASX_E_RESOURCE_EXHAUSTED;
}

namespace asx::capi {

asx_status read_config(const asx_runtime_config* given, asx_runtime_config& out) noexcept {
  if (const asx_status s = asx_runtime_config_init(&out, sizeof out, ASX_PROFILE_CORE); s != ASX_OK) return s;
  if (given != nullptr) {
    if (const asx_status s = take_struct(given, out); s != ASX_OK) return s;
  }
  return makes_sense(out) ? ASX_OK : ASX_E_INVALID_ARGUMENT;
}

asx_status make_runtime(void* at, const asx_runtime_config& config, memory_port outer, std::span<std::byte> own,
                        std::size_t head, asx_runtime** made) noexcept {
  auto* const rt = new (at) asx_runtime(config, outer, own, head);
  if (const asx_status s = rt->start(); s != ASX_OK) {
    std::destroy_at(rt);
    return s;
  }
  if (config.writer != nullptr) ++config.writer->users;
  *made = rt;
  return ASX_OK;
}

}  // namespace asx::capi

extern "C" {

asx_status asx_runtime_config_init(asx_runtime_config* config, size_t size, asx_profile profile) {
  if (config == nullptr || size < sizeof config->size) return ASX_E_INVALID_ARGUMENT;
  asx_runtime_config c{};
  switch (profile) {
    case ASX_PROFILE_CORE: c.contract = contract_to(resource_contract::core()); break;
    case ASX_PROFILE_TINY: c.contract = contract_to(resource_contract::tiny()); break;
    case ASX_PROFILE_SERVER: c.contract = contract_to(resource_contract::server()); break;
    default: return ASX_E_INVALID_ARGUMENT;
  }
  c.workers = 1;
  c.cancel_streak_limit = 16;
  c.timed_streak_limit = 64;
  c.max_unobserved_cancel_polls = UINT32_MAX;
  c.journaling = ASX_JOURNAL_FULL;
  c.max_foreign = 256;
  c.foreign_grace_ns = 10 * ASX_SECOND;
  c.size = size;
  std::memset(static_cast<void*>(config), 0, size);
  std::memcpy(static_cast<void*>(config), &c, size < sizeof c ? size : sizeof c);
  return ASX_OK;
}

asx_status asx_runtime_create_in(void* memory, size_t bytes, const asx_runtime_config* config, asx_runtime** out) {
  if (memory == nullptr || out == nullptr) return ASX_E_INVALID_ARGUMENT;
  asx_runtime_config c;
  if (const asx_status s = read_config(config, c); s != ASX_OK) return s;
  void* at = memory;
  std::size_t room = bytes;
  if (std::align(alignof(asx_runtime), sizeof(asx_runtime), at, room) == nullptr) return ASX_E_RESOURCE_EXHAUSTED;
  auto* const rest = static_cast<std::byte*>(at) + sizeof(asx_runtime);
  room -= sizeof(asx_runtime);
  if (room == 0) return ASX_E_RESOURCE_EXHAUSTED;
  c.memory = {};
  return make_runtime(at, c, {}, {rest, room}, bytes - room, out);
}

asx_status asx_runtime_destroy(asx_runtime* runtime) {
  memory_port memory{};
  bool is_own = false;
  asx_memory hooks{};
  {
    const call guard(runtime);
    if (guard.refused != ASX_OK) return guard.refused;
    if (runtime->depth != 1 || runtime->kernel().is_inside()) return ASX_E_REENTRANT;
    runtime->slots.for_each([runtime](slot_cell& s, slab_key key) {
      if (s.is_spoken_for) return;
      s.is_spoken_for = true;
      runtime->kernel().abandon(s.slot);
      runtime->slots.release(key);
    });
    for (; runtime->holds != 0; --runtime->holds) runtime->kernel().release_foreign_hold();
    if (!runtime->core.has_ended()) {
      const rest_result rest = runtime->core.come_to_rest();
      if (!rest.is_quiescent()) return out(rest.quiescence.first);
    }
    runtime->core.journal().settle();
    if (runtime->given.writer != nullptr) --runtime->given.writer->users;
    memory = runtime->memory;
    is_own = runtime->head != 0;
    hooks = runtime->given.memory;
  }
  std::destroy_at(runtime);
  if (is_own) return ASX_OK;
  if (hooks.allocate != nullptr) {
    hooks.release(hooks.context, runtime, sizeof(asx_runtime), alignof(asx_runtime));
  } else {
    memory.release(memory.context, runtime, sizeof(asx_runtime), alignof(asx_runtime));
  }
  return ASX_OK;
}

}  // extern "C"
