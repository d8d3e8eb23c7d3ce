// What asks the heap for memory: a runtime that was given none, and reports as text.
#include <memory>
#include <string>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/create.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/kernel/report.hpp"

using namespace asx;
using namespace asx::capi;

extern "C" {

asx_status asx_runtime_create(const asx_runtime_config* config, asx_runtime** out) {
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  asx_runtime_config c;
  if (const asx_status s = read_config(config, c); s != ASX_OK) return s;
  const memory_port heap = heap_memory();
  constexpr std::size_t size = sizeof(asx_runtime);
  constexpr std::size_t alignment = alignof(asx_runtime);
  const bool has_hooks = c.memory.allocate != nullptr;
  void* const at =
      has_hooks ? c.memory.allocate(c.memory.context, size, alignment) : heap.allocate(heap.context, size, alignment);
  if (at == nullptr) return ASX_E_RESOURCE_EXHAUSTED;
  const asx_status s = make_runtime(at, c, heap, {}, 0, out);
  if (s == ASX_OK) return s;
  if (has_hooks) {
    c.memory.release(c.memory.context, at, size, alignment);
  } else {
    heap.release(heap.context, at, size, alignment);
  }
  return s;
}

asx_status asx_runtime_describe(asx_runtime* runtime, asx_text_fn put, void* context) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (put == nullptr) return ASX_E_INVALID_ARGUMENT;
  const std::string text = describe_tree(runtime->kernel());
  const hook_guard hook(*runtime);
  put(context, text.data(), text.size());
  return ASX_OK;
}

asx_status asx_runtime_describe_json(asx_runtime* runtime, asx_text_fn put, void* context) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (put == nullptr) return ASX_E_INVALID_ARGUMENT;
  const std::string text = describe_tree_json(runtime->kernel());
  const hook_guard hook(*runtime);
  put(context, text.data(), text.size());
  return ASX_OK;
}

}  // extern "C"
