// asx/model/cancel_reason.hpp - why a task is cancelled, and the chain of causes behind it.
//
//     head (inline)  parent_cancelled from region 7
//       cause -----> parent_cancelled from region 3     shared: every child of region 7 points here
//         cause ---> user "operator pressed stop"       the root cause
//
// R-39   strengthen: higher severity, then earlier timestamp, then smaller message bytes, then kind, origin
//        region, origin task; if all six agree the incumbent stays. The winner is taken whole.
// R-41   a hop to a child has kind parent_cancelled, unless the cause is more severe: then its kind is kept.
// R-44   a level costs 88 bytes plus its message. A chain keeps its newest levels within 16 levels and 4,096
//        bytes; the far end is dropped, and the head says so.
// R-170  an empty message is an absent one.
// R-171  truncated_at is the number of levels the chain has now; cutting a message counts as truncation.
//
// The chain is shared and not copied: a head knows how many levels it may show (`levels`), so dropping the
// far end for one head leaves it in place for the others.
//
// Cancel points: none. Threads: plain values.
// Lifetime: causes are found through generation-checked references, so one that is gone simply ends the chain. The
//           message is a plain view: of the caller's text in a reason that was just made, of the store's copy in
//           one that is kept. Who holds on to a copy of a kept reason retains its reference for as long.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "asx/base/assert.hpp"
#include "asx/base/time.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/ids.hpp"

namespace asx {

/// Names a reason kept in a cause store. The null reference (generation 0) ends a chain.
struct cause_ref {
  std::uint32_t index = 0;
  std::uint64_t generation = 0;

  [[nodiscard]] constexpr bool is_null() const noexcept { return generation == 0; }
  friend constexpr bool operator==(cause_ref, cause_ref) noexcept = default;
};

struct chain_limits {
  std::uint16_t depth_max = 16;    // The specification's max_chain_depth.
  std::uint32_t bytes_max = 4096;  // The specification's max_chain_memory.

  static constexpr std::uint32_t level_bytes = 88;
};

struct cancel_reason {
  cancel_kind kind = cancel_kind::user;
  bool truncated = false;    // Levels, or bytes of a message, were dropped somewhere behind this head.
  std::uint16_t levels = 1;  // How many levels the chain shows from here, this one included.
  region_id origin_region{};
  task_id origin_task{};  // Absent when no task asked.
  instant timestamp{};
  std::string_view message{};  // Empty means absent.
  cause_ref cause{};

  [[nodiscard]] constexpr std::uint8_t severity() const noexcept { return asx::severity(kind); }
  /// How many levels a truncated chain has now; 0 while nothing was dropped.
  [[nodiscard]] constexpr std::uint16_t truncated_at() const noexcept { return truncated ? levels : std::uint16_t{0}; }

  friend constexpr bool operator==(const cancel_reason&, const cancel_reason&) noexcept = default;
};

namespace detail {
constexpr int compare_bytes(std::string_view a, std::string_view b) noexcept {
  const std::size_t shorter = a.size() < b.size() ? a.size() : b.size();
  if (!std::is_constant_evaluated() && a.data() == b.data() && a.size() == b.size()) return 0;  // Shared, as most are.
  for (std::size_t i = 0; i < shorter; ++i) {
    const auto x = static_cast<unsigned char>(a[i]), y = static_cast<unsigned char>(b[i]);
    if (x != y) return x < y ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}
}  // namespace detail

/// The order of R-39: greater is stronger. Reasons that agree on all six keys are equivalent, whatever
/// their chains.
[[nodiscard]] constexpr std::weak_ordering compare_strength(const cancel_reason& a, const cancel_reason& b) noexcept {
  if (a.kind != b.kind && a.severity() != b.severity()) return a.severity() <=> b.severity();
  if (a.timestamp != b.timestamp) return b.timestamp <=> a.timestamp;
  if (const int order = detail::compare_bytes(a.message, b.message); order != 0) {
    return order < 0 ? std::weak_ordering::greater : std::weak_ordering::less;
  }
  if (a.kind != b.kind) return b.kind <=> a.kind;
  if (a.origin_region != b.origin_region) return b.origin_region <=> a.origin_region;
  return b.origin_task <=> a.origin_task;
}

/// The stronger of the two, taken whole; the incumbent when neither is stronger. Refers to one of its arguments.
[[nodiscard]] constexpr const cancel_reason& strengthen(const cancel_reason& incumbent,
                                                        const cancel_reason& other) noexcept {
  return compare_strength(other, incumbent) > 0 ? other : incumbent;
}

/// Cuts a reason's own level to what a chain of one level may cost (R-44: one level is always kept).
[[nodiscard]] constexpr cancel_reason fit_head(cancel_reason reason, chain_limits limits = {}) noexcept {
  const std::size_t room =
      limits.bytes_max > chain_limits::level_bytes ? limits.bytes_max - chain_limits::level_bytes : 0;
  if (reason.message.size() > room) {
    reason.message = reason.message.substr(0, room);
    reason.truncated = true;
  }
  return reason;
}

/// `reason` with `cause` behind it, which `store` has kept under `ref`. As many levels of the cause's chain stay
/// visible as both limits allow; the rest is dropped from view and the head says so.
///
/// Store: `const cancel_reason* find(cause_ref) const`, null when the reference is stale.
template <class Store>
[[nodiscard]] constexpr cancel_reason with_cause(cancel_reason reason, cause_ref ref, const Store& store,
                                                 chain_limits limits = {}) noexcept {
  reason = fit_head(reason, limits);
  reason.cause = ref;
  reason.levels = 1;
  std::size_t bytes = chain_limits::level_bytes + reason.message.size();
  const cancel_reason* level = store.find(ref);
  if (level == nullptr) {
    reason.truncated = reason.truncated || !ref.is_null();  // The cause is gone already: its levels are dropped.
    return reason;
  }
  const std::uint16_t behind = level->levels;
  reason.truncated = reason.truncated || level->truncated;
  for (std::uint16_t seen = 0; seen < behind; ++seen) {
    bytes += level == nullptr ? 0 : chain_limits::level_bytes + level->message.size();
    if (level == nullptr || reason.levels >= limits.depth_max || bytes > limits.bytes_max) {
      reason.truncated = true;
      break;
    }
    ++reason.levels;
    level = store.find(level->cause);
  }
  return reason;
}

/// What a child of `closing` is told when the region passes `cause` on: no message, no origin
/// task, the time of the propagation. `kept` is where `store` keeps `cause`. A cause that the store had no room for
/// still decides the kind - a shutdown stays one - and the head says that its chain is cut.
template <class Store>
[[nodiscard]] constexpr cancel_reason hop(const cancel_reason& cause, cause_ref kept, const Store& store,
                                          region_id closing, instant now, chain_limits limits = {}) noexcept {
  cancel_reason out;
  const bool keeps_kind = cause.severity() > severity(cancel_kind::parent_cancelled);
  out.kind = keeps_kind ? cause.kind : cancel_kind::parent_cancelled;
  out.origin_region = closing;
  out.timestamp = now;
  out = with_cause(out, kept, store, limits);
  if (store.find(kept) == nullptr) out.truncated = true;
  return out;
}

/// The same for a cause that is known to be kept.
template <class Store>
[[nodiscard]] constexpr cancel_reason hop(cause_ref kept, const Store& store, region_id closing, instant now,
                                          chain_limits limits = {}) noexcept {
  const cancel_reason* const cause = store.find(kept);
  ASX_ASSERT(cause != nullptr, "a cause that is not kept must be handed over itself, or its kind would be lost");
  return hop(*cause, kept, store, closing, now, limits);
}

/// Calls `visit(level)` for the head and each visible cause, newest first.
template <class Store, class Visit>
constexpr void for_each_level(const cancel_reason& head, const Store& store, Visit visit) {
  visit(head);
  const cancel_reason* level = &head;
  for (std::uint16_t seen = 1; seen < head.levels; ++seen) {
    level = store.find(level->cause);
    if (level == nullptr) return;
    visit(*level);
  }
}

/// The last level that can still be seen: the root cause, unless the head is truncated.
template <class Store>
[[nodiscard]] constexpr cancel_reason root_cause(const cancel_reason& head, const Store& store) noexcept {
  cancel_reason last = head;
  for_each_level(head, store, [&last](const cancel_reason& level) { last = level; });
  return last;
}

}  // namespace asx
