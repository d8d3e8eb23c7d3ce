// asx/scenario/player.hpp - plays a scenario over a runtime, and says what came out.
//
// 1  Same scenario, profile and seed: same journal, same digest, same verdict, over every back end. (Of a drive other
//    than drive::kind::as_said: same verdict, unless the scenario depends on an order.)
// 2  A step that answers something else than expected is a failure with its line; the play goes on to its end.
// 3  A play that does not end within its limit of steps is a failure, not a hang: one poll, one run and the shutdown
//    have max_steps each, and all steps of scripts together have ten times as many.
// 4  The first hundred failures are kept; the rest is counted.
//
// Cancel points: none. Threads: one calls play; a drive may have its own. Lifetime: the verdict owns what it says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/memory.hpp"
#include "asx/journal/event.hpp"
#include "asx/scenario/scenario.hpp"

namespace asx::scenario {

class world;  // A back end: world.hpp.

/// Who steps the workers, and how many there are. But for the first, a `step` that names no worker is one dispatch by
/// whoever gets there first; what a scenario says about who that is may fail, and digests differ.
struct drive {
  enum class kind : std::uint8_t {
    as_said,    // What the scenario says: the same play each time.
    any_order,  // One thread, in an order drawn from `seed`.
    threads,    // A thread for each worker, in virtual time; `seed`: they are disturbed (threads_config).
  };
  kind by = kind::as_said;
  std::uint32_t workers = 0;
  std::uint64_t seed = 0;
};

struct play_options {
  profile with = profile::core;
  std::uint64_t seed = 0;
  std::uint64_t max_steps = 1'000'000;               // Of one run_..., and of the shutdown at the end.
  std::unique_ptr<world> (*make_world)() = nullptr;  // Null: the C++ kernel.
  drive by{};                                        // Of that kernel.
  /// False: what was said, destroyed, dispatched and journalled counts, and not in which order; whom a `step`
  /// dispatched does not count. Everything else does.
  bool checks_order = true;
  memory_port memory = heap_memory();  // For the runtime.
};

struct failure {
  position at{};
  std::string step{};  // "steps[3] close", "task worker[2] recv".
  std::string text{};  // What was expected, and what came.
};

inline constexpr std::size_t most_failures = 100;

struct name_of_id {
  char type;  // 'r'egion, 't'ask, 'o'bligation, 'c'hannel, 'm' for timer.
  std::uint64_t id;
  std::string name;
};

struct verdict {
  std::vector<failure> failures{};  // At most `most_failures`, and one line about the rest.
  digest128 digest{};
  std::vector<event> journal{};  // Everything, diagnostics included.
  std::vector<std::string> said{};
  std::vector<name_of_id> names{};
  std::uint64_t checks = 0;  // Answers and expectations that were compared, or could not be.
  std::uint64_t failed = 0;  // Of these.
  std::uint64_t limit_refusals = 0;
  instant ended_at{};

  [[nodiscard]] bool passed() const noexcept { return failures.empty(); }
};

[[nodiscard]] verdict play(const scenario& s, const play_options& options);
/// One digest for the plays of a scenario under its seeds: that of the only one, or a digest of all.
[[nodiscard]] digest128 digest_of(std::span<const digest128> plays);

}  // namespace asx::scenario
