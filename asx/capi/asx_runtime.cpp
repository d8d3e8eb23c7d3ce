// A runtime's beginning and end, in whichever memory; the heap's own part is in asx_heap.cpp, so that a program which
// hands over its memory holds nothing of it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/create.hpp"
#include "asx/capi/detail/memory.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

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
void park_own(void* context, instant now, instant until) noexcept {
  self(context).own_park.park(until - now);
}
void unpark(void* context) noexcept {  // By any thread: only the runtime's own writes anything of it.
  asx_runtime& rt = self(context);
  if (rt.given.park.park == nullptr) rt.own_park.unpark();
  if (rt.thread != this_thread_number()) return rt.given.park.unpark(rt.given.park.context);
  const hook_guard guard(rt);
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

void take(void* context, std::span<const event> batch) noexcept {
  asx_runtime& rt = self(context);
  if (!rt.is_created) return;
  const hook_guard guard(rt);
  if (rt.given.writer != nullptr) append_to(*rt.given.writer, batch);
  if (rt.given.sink.take != nullptr) {
    rt.given.sink.take(rt.given.sink.context, reinterpret_cast<const asx_event*>(batch.data()), batch.size());
  }
  if (rt.given.log.log != nullptr) log_events(rt, batch);
}

bool is_told(const asx_runtime_config& c) noexcept {
  return c.sink.take != nullptr || c.writer != nullptr || c.log.log != nullptr;
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
  if (g.park.unpark != nullptr) {
    waits = {&rt, g.park.park == nullptr ? &park_own : &park, &unpark};
  } else if (g.park.park != nullptr) {
    waits = {&rt, &park, nullptr};
  }
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
          .sink = is_told(g) ? event_sink{&rt, &take} : event_sink{},
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
  const bool has_hooks = (c.clock_kind != ASX_CLOCK_HOST || c.clock.now != nullptr) && is_whole(c.memory);
  const bool is_kept = c.journaling == ASX_JOURNAL_FULL;
  const bool has_journal = (is_kept || !is_told(c)) && (!is_kept || c.contract.overflow != ASX_TRACE_REJECT ||
                                                        c.contract.max_trace_events >= ASX_MIN_REJECTING_TRACE);
  return has_enums && has_hooks && has_journal;
}

bool is_zero(std::span<const std::uint32_t> words) noexcept {
  return std::all_of(words.begin(), words.end(), [](std::uint32_t word) { return word == 0; });
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
  // The first words of the journal are staged still, and go out with the next that fill the stage.
  ASX_ASSERT(core.journal().size() < journal::stage_size, "nobody was told of what may still be refused");
  is_created = has_all;
  if (has_all) return ASX_OK;
  static_cast<void>(core.come_to_rest());
  return ASX_E_RESOURCE_EXHAUSTED;
}

namespace asx::capi {

asx_status read_config(const asx_runtime_config* given, asx_runtime_config& out) noexcept {
  if (const asx_status s = asx_runtime_config_init(&out, sizeof out, ASX_PROFILE_CORE); s != ASX_OK) return s;
  if (given != nullptr) {
    if (const asx_status s = take_struct(given, out); s != ASX_OK) return s;
    if (!is_zero(out.contract.reserved)) return ASX_E_VERSION;
  }
  return makes_sense(out) ? ASX_OK : ASX_E_INVALID_ARGUMENT;
}

asx_status make_runtime(void* at, const asx_runtime_config& config, memory_port outer, std::span<std::byte> own,
                        std::size_t head, asx_runtime** made) noexcept {
  using stage = asx_journal_writer::stage;
  stage was = stage::fresh;
  // Acquire: what the thread that opened it has written is seen.
  if (config.writer != nullptr &&
      !config.writer->now.compare_exchange_strong(was, stage::in_use, std::memory_order_acquire)) {
    return ASX_E_INVALID_ARGUMENT;
  }
  auto* const rt = new (at) asx_runtime(config, outer, own, head);
  const asx_status s = rt->start();
  if (s == ASX_OK) {
    *made = rt;
  } else {
    std::destroy_at(rt);
    // Release: pairs with the acquire above; nothing was written to it.
    if (config.writer != nullptr) config.writer->now.store(stage::fresh, std::memory_order_release);
  }
  return s;
}

}  // namespace asx::capi

extern "C" {

asx_status asx_runtime_config_init(asx_runtime_config* config, size_t size, asx_profile profile) {
  if (config == nullptr || size < sizeof *config || size > largest_struct) return ASX_E_INVALID_ARGUMENT;
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
  std::memcpy(static_cast<void*>(config), &c, sizeof c);
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
  asx_journal_writer* writer = nullptr;
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
      deliver_log(*runtime);
      if (!rest.is_quiescent()) return out(rest.quiescence.first);
    }
    runtime->core.journal().settle();
    deliver_log(*runtime);
    writer = runtime->given.writer;
    memory = runtime->memory;
    is_own = runtime->head != 0;
    hooks = runtime->given.memory;
  }
  std::destroy_at(runtime);
  // Release: pairs with the acquire of the close; everything of this run is written.
  if (writer != nullptr) writer->now.store(asx_journal_writer::stage::spent, std::memory_order_release);
  if (!is_own) give_place<asx_runtime>(choose(hooks, memory), runtime);
  return ASX_OK;
}

}  // extern "C"
