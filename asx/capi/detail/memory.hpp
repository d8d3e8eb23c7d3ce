// asx/capi/detail/memory.hpp - the hooks of a program as a port, and objects that lie where a port says.
//
// Cancel points: none. Threads: plain functions. Lifetime: a port's hooks outlive its users.
#pragma once

#include <cstddef>
#include <memory>

#include "asx/base/memory.hpp"
#include "asx/capi/asx.h"

namespace asx::capi {

[[nodiscard]] inline bool is_whole(const asx_memory& hooks) noexcept {
  return (hooks.allocate == nullptr) == (hooks.release == nullptr);
}

/// `hooks` when there are any.
[[nodiscard]] inline memory_port choose(asx_memory& hooks, memory_port otherwise) noexcept {
  if (hooks.allocate == nullptr) return otherwise;
  return {&hooks,
          [](void* context, std::size_t bytes, std::size_t alignment) noexcept {
            const auto& m = *static_cast<const asx_memory*>(context);
            return m.allocate(m.context, bytes, alignment);
          },
          [](void* context, void* block, std::size_t bytes, std::size_t alignment) noexcept {
            const auto& m = *static_cast<const asx_memory*>(context);
            m.release(m.context, block, bytes, alignment);
          }};
}

/// Null: refused.
template <class T>
[[nodiscard]] void* take_place(memory_port from) noexcept {
  return from.allocate(from.context, sizeof(T), alignof(T));
}
template <class T>
void give_place(memory_port from, void* place) noexcept {
  from.release(from.context, place, sizeof(T), alignof(T));
}

}  // namespace asx::capi
