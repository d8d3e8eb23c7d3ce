// asx/model/cancel_kind.hpp - the eleven reasons to cancel, how severe each is, and what cleanup it grants.
//
// R-45  Deadline is a budget's deadline that passed, Timeout a requested wait that timed out. There are 11 kinds.
// R-46  ordinals are by declaration order and never change.
// R-130 the cleanup budget bounds polls, not time: (no deadline, quota, no cost limit, priority).
//
// Cancel points: none. Threads: plain values. Lifetime: static.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "asx/base/assert.hpp"
#include "asx/model/budget.hpp"

namespace asx {

enum class cancel_kind : std::uint8_t {
  user,
  timeout,
  deadline,
  poll_quota,
  cost_budget,
  fail_fast,
  race_lost,
  linked_exit,
  parent_cancelled,
  resource_unavailable,
  shutdown,
};

struct cancel_kind_info {
  cancel_kind kind;
  std::string_view name;
  std::string_view c_name;
  std::uint8_t severity;          // Higher wins when reasons meet.
  std::uint32_t cleanup_quota;    // Polls granted from acknowledgement to force-completion.
  std::uint8_t cleanup_priority;  // Replaces the task's own priority (U-13).
  std::string_view category;
};

inline constexpr auto cancel_kind_table = std::to_array<cancel_kind_info>({
    {cancel_kind::user, "user", "ASX_CANCEL_USER", 0, 1000, 200, "explicit/gentle"},
    {cancel_kind::timeout, "timeout", "ASX_CANCEL_TIMEOUT", 1, 500, 210, "time-based"},
    {cancel_kind::deadline, "deadline", "ASX_CANCEL_DEADLINE", 1, 500, 210, "time-based"},
    {cancel_kind::poll_quota, "poll_quota", "ASX_CANCEL_POLL_QUOTA", 2, 300, 215, "resource budget"},
    {cancel_kind::cost_budget, "cost_budget", "ASX_CANCEL_COST_BUDGET", 2, 300, 215, "resource budget"},
    {cancel_kind::fail_fast, "fail_fast", "ASX_CANCEL_FAIL_FAST", 3, 200, 220, "sibling/peer"},
    {cancel_kind::race_lost, "race_lost", "ASX_CANCEL_RACE_LOST", 3, 200, 220, "sibling/peer"},
    {cancel_kind::linked_exit, "linked_exit", "ASX_CANCEL_LINKED_EXIT", 3, 200, 220, "sibling/peer"},
    {cancel_kind::parent_cancelled, "parent_cancelled", "ASX_CANCEL_PARENT", 4, 200, 220, "structural"},
    {cancel_kind::resource_unavailable, "resource_unavailable", "ASX_CANCEL_RESOURCE", 4, 200, 220, "structural"},
    {cancel_kind::shutdown, "shutdown", "ASX_CANCEL_SHUTDOWN", 5, 50, 255, "system-level"},
});

[[nodiscard]] constexpr const cancel_kind_info& info(cancel_kind kind) noexcept {
  const auto ordinal = static_cast<std::size_t>(kind);
  ASX_ASSERT(ordinal < cancel_kind_table.size(), "a number that is no cancel kind was cast to one");
  return cancel_kind_table[ordinal];
}
[[nodiscard]] constexpr std::string_view name(cancel_kind kind) noexcept {
  return info(kind).name;
}
[[nodiscard]] constexpr std::uint8_t severity(cancel_kind kind) noexcept {
  return info(kind).severity;
}

/// What a task may spend on cleaning up after it has acknowledged a cancel of this kind. Two such
/// budgets combine by meet: the smaller quota and the higher priority, so that strengthening never widens.
[[nodiscard]] constexpr budget cleanup_budget(cancel_kind kind) noexcept {
  budget b = budget::infinite();
  b.poll_quota = info(kind).cleanup_quota;
  b.priority = info(kind).cleanup_priority;
  return b;
}

namespace detail {
constexpr bool cancel_kinds_are_in_order() {
  for (std::size_t i = 0; i < cancel_kind_table.size(); ++i) {
    if (static_cast<std::size_t>(cancel_kind_table[i].kind) != i) return false;
    if (i == 0) continue;
    const cancel_kind_info& milder = cancel_kind_table[i - 1];
    const cancel_kind_info& here = cancel_kind_table[i];
    if (here.severity < milder.severity || here.cleanup_quota > milder.cleanup_quota ||
        here.cleanup_priority < milder.cleanup_priority) {
      return false;
    }
  }
  return cancel_kind_table.size() == 11;
}
}  // namespace detail
static_assert(detail::cancel_kinds_are_in_order(),
              "a more severe kind never grants more polls or less urgency, so strengthening only tightens (R-40)");

}  // namespace asx
