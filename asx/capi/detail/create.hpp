// asx/capi/detail/create.hpp - the parts of a creation that both memories share.
//
// Cancel points: none. Threads: one. Lifetime: see asx_runtime_create.
#pragma once

#include <cstddef>
#include <span>

#include "asx/base/memory.hpp"
#include "asx/capi/asx.h"
#include "asx/journal/event.hpp"

namespace asx::capi {

[[nodiscard]] asx_status read_config(const asx_runtime_config* given, asx_runtime_config& out) noexcept;
/// Constructs a runtime at `at`, and takes it down again when it does not start.
[[nodiscard]] asx_status make_runtime(void* at, const asx_runtime_config& config, memory_port outer,
                                      std::span<std::byte> own, std::size_t head, asx_runtime** made) noexcept;
/// Into a file, when there is one.
void append_to(asx_journal_writer& writer, std::span<const event> batch) noexcept;

}  // namespace asx::capi
