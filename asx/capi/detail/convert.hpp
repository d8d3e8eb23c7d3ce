// asx/capi/detail/convert.hpp - values from C to C++ and back, and structs that may be older or newer than this
// library.
//
// Cancel points: none. Threads: plain functions. Lifetime: what comes out refers to the texts that went in.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "asx/capi/asx.h"
#include "asx/kernel/kernel.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/outcome.hpp"
#include "asx/model/witness.hpp"

namespace asx::capi {

// A struct that grows keeps its older sizes here. All of them are of the first release now: a smaller one never was.
inline constexpr std::size_t largest_struct = 65536;

/// Whether a report has a size that give_struct can fill; null is no report, and fine.
template <class T>
[[nodiscard]] bool has_size(const T* report) noexcept {
  return report == nullptr || (report->size >= sizeof(T) && report->size <= largest_struct);
}

/// Takes a struct that begins with its size: of a larger one the unknown part must be zero.
template <class T>
[[nodiscard]] asx_status take_struct(const T* from, T& to) noexcept {
  std::size_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (size < sizeof(T)) return ASX_E_INVALID_ARGUMENT;
  if (size > largest_struct) return ASX_E_VERSION;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) return ASX_E_VERSION;
  }
  std::memcpy(static_cast<void*>(&to), bytes, sizeof(T));
  to.size = sizeof(T);
  return ASX_OK;
}

/// Gives a struct that begins with its size; what this library does not know of a larger one becomes zero.
template <class T>
[[nodiscard]] asx_status give_struct(T value, T* to) noexcept {
  if (!has_size(to)) return ASX_E_INVALID_ARGUMENT;
  value.size = to->size;
  auto* const bytes = reinterpret_cast<unsigned char*>(to);
  std::memset(bytes + sizeof(T), 0, value.size - sizeof(T));
  std::memcpy(bytes, &value, sizeof(T));
  return ASX_OK;
}

/// A bool of C's: a program that writes another byte than 0 or 1 means true, and C++ must not load it as a bool.
[[nodiscard]] inline bool is_set(const bool& given) noexcept {
  unsigned char byte = 0;
  std::memcpy(&byte, &given, sizeof byte);
  return byte != 0;
}

/// All limits that both forms of a contract have, either way.
template <class From, class To>
void copy_limits(const From& from, To& to) noexcept {
  to.version = from.version;
  to.max_tasks = from.max_tasks;
  to.max_regions = from.max_regions;
  to.max_obligations = from.max_obligations;
  to.max_timers = from.max_timers;
  to.max_channels = from.max_channels;
  to.max_channel_waiters = from.max_channel_waiters;
  to.max_sync = from.max_sync;
  to.max_ready_queue = from.max_ready_queue;
  to.max_cancel_queue = from.max_cancel_queue;
  to.max_cleanup_entries = from.max_cleanup_entries;
  to.max_cleanup_per_task = from.max_cleanup_per_task;
  to.max_finalizers = from.max_finalizers;
  to.max_finalizers_per_region = from.max_finalizers_per_region;
  to.max_tasks_per_region = from.max_tasks_per_region;
  to.max_causes = from.max_causes;
  to.cause_message_bytes = from.cause_message_bytes;
  to.max_mask_depth = from.max_mask_depth;
  to.coop_limit = from.coop_limit;
  to.max_ghost_entries = from.max_ghost_entries;
  to.max_bytes = from.max_bytes;
  to.max_trace_events = from.max_trace_events;
  to.reserve_all = is_set(from.reserve_all);
  to.overflow = static_cast<decltype(to.overflow)>(from.overflow);
}

[[nodiscard]] inline std::string_view text(const char* terminated) noexcept {
  return terminated == nullptr ? std::string_view() : std::string_view(terminated);
}
[[nodiscard]] inline std::string_view text(asx_text t) noexcept {
  return t.data == nullptr ? std::string_view() : std::string_view(t.data, t.size);
}
[[nodiscard]] inline asx_text out(std::string_view t) noexcept {
  return {t.data(), t.size()};
}

[[nodiscard]] constexpr bool is_kind(asx_cancel_kind kind) noexcept {
  return static_cast<std::uint32_t>(kind) < cancel_kind_table.size();
}
[[nodiscard]] constexpr bool is_status(asx_status code) noexcept {
  return find_status(static_cast<std::uint32_t>(code)) != nullptr;
}
[[nodiscard]] constexpr cancel_kind in(asx_cancel_kind kind) noexcept {
  return static_cast<cancel_kind>(kind);
}

[[nodiscard]] constexpr budget in(const asx_budget& b) noexcept {
  return {{b.deadline}, b.poll_quota, b.cost_quota, b.priority};
}
[[nodiscard]] constexpr asx_budget out(const budget& b) noexcept {
  return {b.deadline.ns, b.poll_quota, b.cost_quota, b.priority};
}

[[nodiscard]] inline asx_cancel_reason out(const cancel_reason& r) noexcept {
  return {static_cast<asx_cancel_kind>(r.kind),
          r.levels,
          r.truncated,
          r.origin_region.value,
          r.origin_task.value,
          r.timestamp.ns,
          out(r.message),
          r.cause.index,
          r.cause.generation};
}
/// None when the number names no level of any chain.
[[nodiscard]] inline cause_ref cause_of(const asx_cancel_reason& r) noexcept {
  return r.cause <= UINT32_MAX ? cause_ref{static_cast<std::uint32_t>(r.cause), r.cause_life} : cause_ref{};
}
[[nodiscard]] inline cancel_reason in(const asx_cancel_reason& r) noexcept {
  cancel_reason to;
  to.kind = in(r.kind);
  to.truncated = is_set(r.truncated);
  to.levels = r.levels;
  to.origin_region = region_id{r.origin_region};
  to.origin_task = task_id{r.origin_task};
  to.timestamp = instant{r.timestamp};
  to.message = text(r.message);
  to.cause = cause_of(r);
  return to;
}

[[nodiscard]] inline asx_outcome out(const task_outcome& o) noexcept {
  asx_outcome to{};
  to.kind = static_cast<asx_outcome_kind>(o.kind());
  to.has_value = o.has_value();
  if (o.has_value()) to.value = o.value();
  if (o.is_err()) {
    to.error = static_cast<asx_status>(o.error().code);
    to.detail = o.error().detail;
  }
  if (o.is_cancelled()) {
    const cancellation& how = o.cancelled_by();
    to.overran = how.cleanup_budget_exceeded;
    to.error = static_cast<asx_status>(how.cleanup_error);
    to.detail = how.cleanup_detail;
    to.reason = out(how.reason);
  }
  if (o.is_panicked()) to.panic = out(o.panic().text);
  return to;
}
/// False: a number in it is none.
[[nodiscard]] inline bool in(const asx_outcome& o, task_outcome& to) noexcept {
  switch (o.kind) {
    case ASX_OUTCOME_OK: to = is_set(o.has_value) ? task_outcome::ok(o.value) : task_outcome::ok(); return true;
    case ASX_OUTCOME_ERR:
      if (!is_status(o.error)) return false;
      to = task_outcome::err({static_cast<status>(o.error), o.detail});
      return true;
    case ASX_OUTCOME_CANCELLED:
      if (!is_status(o.error) || !is_kind(o.reason.kind)) return false;
      to = task_outcome::cancelled({in(o.reason), is_set(o.overran), static_cast<status>(o.error), o.detail});
      return true;
    case ASX_OUTCOME_PANICKED: to = task_outcome::panicked({.text = text(o.panic)}); return true;
  }
  return false;
}

}  // namespace asx::capi
