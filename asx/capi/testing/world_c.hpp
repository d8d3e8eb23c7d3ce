// asx/capi/testing/world_c.hpp - a back end of the player over asx.h: what the C interface answers, the kernel answers.
//
// Cancel points: as world.hpp. Threads: one. Lifetime: the caller's.
#pragma once

#include <memory>

#include "asx/scenario/world.hpp"

namespace asx::scenario {

[[nodiscard]] std::unique_ptr<world> make_c_world();

}  // namespace asx::scenario
