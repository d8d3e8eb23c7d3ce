// What asks the heap for memory: a runtime that was given none.
#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/create.hpp"
#include "asx/capi/detail/memory.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

extern "C" {

asx_status asx_runtime_create(const asx_runtime_config* config, asx_runtime** out) {
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  asx_runtime_config c;
  if (const asx_status s = read_config(config, c); s != ASX_OK) return s;
  const memory_port heap = heap_memory();
  const memory_port from = choose(c.memory, heap);
  void* const at = take_place<asx_runtime>(from);
  if (at == nullptr) return ASX_E_RESOURCE_EXHAUSTED;
  const asx_status s = make_runtime(at, c, heap, {}, 0, out);
  if (s != ASX_OK) give_place<asx_runtime>(from, at);
  return s;
}

}  // extern "C"
