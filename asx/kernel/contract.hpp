// asx/kernel/contract.hpp - every limit of a runtime, in one place, agreed on before it starts.
//
// 1  A limit that is met is a refusal that changed nothing: resource_exhausted, journalled with limit and value.
// 2  Counts bind. Bytes are counted at the nominal costs below, not as measured, so that a refusal happens at the
//    same call on every compiler and architecture.
// 3  Pools grow in chunks up to their limits; with `reserve_all` they are taken whole at the start and ask for nothing
//    afterwards, so that a runtime can live in memory that the caller hands it. Arenas ask when they are used: memory
//    that cannot be given back, such as a bump_memory, is worn down by regions that come and go with arenas.
//
// Profiles (R-120, U-04 to U-09):  tiny for embedded use and static memory, core by default, server for a million.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "asx/base/time.hpp"
#include "asx/journal/journal.hpp"

namespace asx {

/// What a region that is closing does about obligations that are still reserved.
enum class leak_policy : std::uint8_t {
  proceed,  // They become leaked, it is reported, and the region closes.
  hold,     // The region stays finalizing until they are resolved.
};

/// Whether the ghost monitors watch (asx/kernel/ghost.hpp). They change no result and no digest.
enum class ghost_mode : std::uint8_t {
  automatic,  // On when the library was built without NDEBUG.
  off,
  on,
};

struct resource_contract {
  std::uint32_t version = 1;
  std::uint32_t max_tasks = 65'536;
  std::uint32_t max_regions = 4'096;
  std::uint32_t max_obligations = 65'536;  // Reserved at once.
  std::uint32_t max_timers = 65'536;
  std::uint32_t max_channels = 4'096;          // Of every kind, until their storage is free.
  std::uint32_t max_channel_waiters = 65'536;  // Of one channel.
  std::uint32_t max_sync = 4'096;              // Semaphores, mutexes and notifies.
  std::uint32_t max_ready_queue = 65'536;      // A live task owns its place from spawn, so this refuses spawns.
  std::uint32_t max_cancel_queue = 65'536;     // Cancelled tasks that have not completed.
  std::uint32_t max_cleanup_entries = 65'536;
  std::uint32_t max_cleanup_per_task = 64;
  std::uint32_t max_finalizers = 16'384;
  std::uint32_t max_finalizers_per_region = 64;
  std::uint32_t max_tasks_per_region = UINT32_MAX;  // A region may ask for less.
  std::uint32_t max_causes = 16'384;                // Reasons that are kept to be shared; a chain is cut beyond.
  std::uint32_t cause_message_bytes = 120;          // Of one reason or panic; more is cut, and says so. At most 4008.
  std::uint32_t max_mask_depth = 8;
  std::uint32_t coop_limit = 128;
  std::uint32_t max_ghost_entries = 256;  // Violations, borrows, objects and checkpoints that monitors remember, each.
  std::uint64_t max_bytes = 0;            // At nominal costs; 0: no ceiling (U-07).
  std::uint64_t max_trace_events = 65'536;
  trace_overflow overflow = trace_overflow::ring;
  bool reserve_all = false;

  /// Cells for what regions own; the sum does not wrap.
  [[nodiscard]] constexpr std::uint32_t max_things() const noexcept {
    return max_channels < UINT32_MAX - max_sync ? max_channels + max_sync : UINT32_MAX;
  }

  [[nodiscard]] static constexpr resource_contract core() noexcept { return {}; }
  [[nodiscard]] static constexpr resource_contract tiny() noexcept {
    resource_contract c;
    c.max_tasks = c.max_obligations = c.max_timers = c.max_channel_waiters = 64;
    c.max_ready_queue = c.max_cancel_queue = 64;
    c.max_regions = c.max_channels = c.max_sync = 16;
    c.max_cleanup_entries = 128;
    c.max_cleanup_per_task = 8;
    c.max_finalizers = 32;
    c.max_finalizers_per_region = 8;
    c.max_causes = 32;
    c.cause_message_bytes = 48;
    c.max_trace_events = 256;
    c.max_ghost_entries = 16;
    c.reserve_all = true;
    return c;
  }
  [[nodiscard]] static constexpr resource_contract server() noexcept {
    resource_contract c;
    c.max_tasks = c.max_obligations = c.max_timers = c.max_channel_waiters = 1U << 21;
    c.max_ready_queue = c.max_cancel_queue = 1U << 21;
    c.max_regions = c.max_channels = c.max_sync = 1U << 18;
    c.max_cleanup_entries = 1U << 22;
    c.max_finalizers = 1U << 19;
    c.max_causes = 1U << 18;
    c.max_trace_events = 1'048'576;
    return c;
  }
};

/// What each kind of object counts as, in bytes. Published once: changing a figure moves refusals.
struct nominal_bytes {
  static constexpr std::uint64_t region = 512;
  static constexpr std::uint64_t task = 512;
  static constexpr std::uint64_t obligation = 64;
  static constexpr std::uint64_t timer = 64;
  static constexpr std::uint64_t cleanup = 32;
  static constexpr std::uint64_t finalizer = 32;
  static constexpr std::uint64_t channel = 256;  // And for each slot of its capacity:
  static constexpr std::uint64_t channel_slot = 128;
  static constexpr std::uint64_t sync = 256;
  static constexpr std::uint64_t frame = 256;  // Of a coroutine, whatever a compiler makes of it.
};

/// How a kernel behaves, as opposed to how much it may hold.
struct kernel_options {
  leak_policy leaks = leak_policy::proceed;
  /// Polls in cancel_requested before the kernel acknowledges for the task; the largest number stands for the reason's
  /// cleanup quota, 0 for never.
  std::uint32_t max_unobserved_cancel_polls = UINT32_MAX;
  /// Called with a text that is not terminated when there is no task to blame: a panic outside of every task, a
  /// runtime that is destroyed and does not come to rest. Null: print to standard error and abort. A hook that
  /// returns lets the program go on, at its own risk.
  void (*fatal)(void* context, std::string_view text) noexcept = nullptr;
  void* fatal_context = nullptr;
  ghost_mode ghosts = ghost_mode::automatic;
};

}  // namespace asx
