// asx/kernel/testing/naive_kernel.hpp - what the kernel must do, as plain records that are searched at every question.
//
// The model is slow and obvious, and written from the rulings alone, so that it can be the judge: where kernel and
// model differ, the ruling cited here decides. Comparing the two is the business of kernel_driver.hpp.
//
//     naive_records.hpp  what is kept of each thing, and the list of rules that a run should meet
//     naive_core.hpp     admission, obligations, records, what can be seen
//     naive_close.hpp    cancels, propagation, the phases of a region, how things end
//     naive_poll.hpp     the step: phase 0, dispatch, the poll of a script, stall polls
//
// Left out, because nobody can see it through kernel_world: journal, memory, channels, more than one worker, a task
// that owns a region, foreign holds.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's; the scripts outlive it.
#pragma once

#include <memory>
#include <span>

#include "asx/kernel/testing/naive_close.hpp"
#include "asx/kernel/testing/naive_core.hpp"
#include "asx/kernel/testing/naive_poll.hpp"
#include "asx/kernel/testing/world.hpp"

namespace asx::testing {

[[nodiscard]] inline std::unique_ptr<kernel_world> make_naive_world(const world_config& config,
                                                                    std::span<const script> scripts) {
  return std::make_unique<naive_kernel>(config, scripts);
}

}  // namespace asx::testing
