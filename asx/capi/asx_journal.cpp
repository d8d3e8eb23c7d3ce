// The journal as C reads it, and journals on disk.
#include <memory>
#include <new>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/create.hpp"
#include "asx/capi/detail/memory.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

namespace asx::capi {

void append_to(asx_journal_writer& writer, std::span<const event> batch) noexcept {
  writer.file.append(batch);
}

}  // namespace asx::capi

namespace {

void release(asx_journal_writer* writer) noexcept {
  asx_memory hooks = writer->hooks;
  std::destroy_at(writer);
  give_place<asx_journal_writer>(choose(hooks, heap_memory()), writer);
}

}  // namespace

extern "C" {

asx_status asx_journal_digest(asx_runtime* runtime, asx_digest* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  const digest128 d = runtime->core.journal().digest();
  *out = {d.high, d.low};
  return ASX_OK;
}

asx_status asx_journal_size(asx_runtime* runtime, uint64_t* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = runtime->core.journal().size();
  return ASX_OK;
}

asx_status asx_journal_read(asx_runtime* runtime, uint64_t from, asx_event* out, size_t room, size_t* count) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr || count == nullptr) return ASX_E_INVALID_ARGUMENT;
  const journal& log = runtime->core.journal();
  const std::uint64_t size = log.size();
  std::size_t n = 0;
  for (; n < room && from < size; ++n, ++from) {
    const event e = log.at(from);
    std::memcpy(out + n, &e, sizeof e);
  }
  *count = n;
  return ASX_OK;
}

asx_status asx_journal_settle(asx_runtime* runtime) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  runtime->core.journal().settle();
  deliver_log(*runtime);
  return ASX_OK;
}

asx_status asx_journal_discard(asx_runtime* runtime, uint64_t events) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  runtime->core.journal().discard_oldest(events);
  return ASX_OK;
}

asx_status asx_journal_note_law(asx_runtime* runtime, uint64_t number, asx_status answer, uint64_t hash) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!is_status(answer)) return ASX_E_INVALID_ARGUMENT;
  if (runtime->core.journal().reserve(1) != status::ok) return ASX_E_RESOURCE_EXHAUSTED;
  runtime->core.journal().append(
      event_kind::law_checked,
      {.time_ns = runtime->core.now().ns, .subject = number, .a = static_cast<std::uint64_t>(answer), .b = hash});
  return ASX_OK;
}

asx_status asx_journal_writer_open(int descriptor, asx_profile profile, uint64_t seed, const asx_memory* memory,
                                   asx_journal_writer** out) {
  if (out == nullptr || descriptor < 0 || static_cast<std::uint32_t>(profile) > ASX_PROFILE_SERVER) {
    return ASX_E_INVALID_ARGUMENT;
  }
  if (memory != nullptr && (memory->allocate == nullptr || memory->release == nullptr)) return ASX_E_INVALID_ARGUMENT;
  constexpr std::string_view profiles[] = {"core", "tiny", "server"};
  asx_memory hooks = memory == nullptr ? asx_memory{} : *memory;
  void* const at = take_place<asx_journal_writer>(choose(hooks, heap_memory()));
  if (at == nullptr) return ASX_E_RESOURCE_EXHAUSTED;
  auto* const w = new (at) asx_journal_writer;
  w->hooks = hooks;
  w->descriptor = descriptor;
  const status s = w->file.open(choose(w->hooks, heap_memory()), descriptor_writer(w->descriptor),
                                journal_header::of(profiles[static_cast<std::size_t>(profile)], seed));
  if (s != status::ok) {
    release(w);
    return capi::out(s);
  }
  *out = w;
  return ASX_OK;
}

asx_status asx_journal_writer_close(asx_journal_writer* writer) {
  if (writer == nullptr) return ASX_E_INVALID_ARGUMENT;
  // Acquire: pairs with the release of the runtime that is done with it.
  if (writer->now.load(std::memory_order_acquire) == asx_journal_writer::stage::in_use) return ASX_E_REENTRANT;
  const asx_status s = out(writer->file.close());
  release(writer);
  return s;
}

}  // extern "C"
