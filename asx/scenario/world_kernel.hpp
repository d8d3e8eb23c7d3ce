// asx/scenario/world_kernel.hpp - scenarios over the C++ kernel, in virtual time.
//
// 1  Every call is one call of the kernel, of a channel or of the runtime; tables turn refs into handles and ends.
// 2  Records that a scenario holds stay until it releases them, or until the world goes.
// 3  Whatever comes back to the player - polls, drops, cleanup actions, finalizers, values that end - comes inside
//    the gate (asx/kernel/gate.hpp). With a thread for each worker its tables are one thread's at a time.
//
// Cancel points: as world.hpp. Threads: one calls it; with drive::kind::threads others call back.
// Lifetime: as world.hpp.
#pragma once

#include <memory>

#include "asx/scenario/player.hpp"
#include "asx/scenario/world.hpp"

namespace asx::scenario {

[[nodiscard]] std::unique_ptr<world> make_kernel_world(const drive& how = {});

}  // namespace asx::scenario
