// The journal as C reads it, and journals on disk.
#include <memory>
#include <new>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/create.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

namespace asx::capi {

void append_to(asx_journal_writer& writer, std::span<const event> batch) noexcept {
  writer.file.append(batch);
}

}  // namespace asx::capi

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
  const memory_port heap = heap_memory();
  constexpr std::size_t size = sizeof(asx_journal_writer);
  constexpr std::size_t alignment = alignof(asx_journal_writer);
  void* const at = memory != nullptr ? memory->allocate(memory->context, size, alignment)
                                     : heap.allocate(heap.context, size, alignment);
  if (at == nullptr) return ASX_E_RESOURCE_EXHAUSTED;
  auto* const w = new (at) asx_journal_writer;
  w->descriptor = descriptor;
  w->memory = heap;
  if (memory != nullptr) {
    w->hooks = *memory;
    w->memory = {&w->hooks,
                 [](void* hooks, std::size_t bytes, std::size_t align) noexcept {
                   const auto& m = *static_cast<const asx_memory*>(hooks);
                   return m.allocate(m.context, bytes, align);
                 },
                 [](void* hooks, void* block, std::size_t bytes, std::size_t align) noexcept {
                   const auto& m = *static_cast<const asx_memory*>(hooks);
                   m.release(m.context, block, bytes, align);
                 }};
  }
  const status s = w->file.open(w->memory, descriptor_writer(w->descriptor),
                                journal_header::of(profiles[static_cast<std::size_t>(profile)], seed));
  if (s == status::ok) {
    *out = w;
    return ASX_OK;
  }
  const asx_memory hooks = w->hooks;
  std::destroy_at(w);
  if (hooks.release != nullptr) {
    hooks.release(hooks.context, at, size, alignment);
  } else {
    heap.release(heap.context, at, size, alignment);
  }
  return capi::out(s);
}

asx_status asx_journal_writer_close(asx_journal_writer* writer) {
  if (writer == nullptr) return ASX_E_INVALID_ARGUMENT;
  if (writer->users != 0) return ASX_E_REENTRANT;
  const asx_status s = out(writer->file.close());
  const asx_memory hooks = writer->hooks;
  const memory_port heap = heap_memory();
  std::destroy_at(writer);
  if (hooks.release != nullptr) {
    hooks.release(hooks.context, writer, sizeof(asx_journal_writer), alignof(asx_journal_writer));
  } else {
    heap.release(heap.context, writer, sizeof(asx_journal_writer), alignof(asx_journal_writer));
  }
  return s;
}

}  // extern "C"
