// asx/scenario/world_kernel.hpp - scenarios over the C++ kernel, in virtual time.
//
// 1  Every call is one call of the kernel, of a channel or of the runtime; tables turn refs into handles and ends.
// 2  Records that a scenario holds stay until it releases them, or until the world goes.
//
// Cancel points: as world.hpp. Threads: one. Lifetime: as world.hpp.
#pragma once

#include <memory>

#include "asx/scenario/world.hpp"

namespace asx::scenario {

[[nodiscard]] std::unique_ptr<world> make_kernel_world();

}  // namespace asx::scenario
