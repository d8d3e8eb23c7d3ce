// asx/model/budget.hpp - what a task may use: time, polls, cost, and how urgent it is.
//
//     parent's budget --+
//                       +-- meet --> child's budget      the tighter part wins, part by part
//     requested budget -+
//
// R-50  meet takes the earlier deadline, the fewer polls, the lower cost, the higher priority.
//       infinite() is its identity, zero() absorbs; meet is commutative, associative and idempotent.
// R-51  an unlimited part is not used up: infinite() stays infinite() after any number of polls.
// R-52  a quota of n buys n polls; it counts as spent when poll n + 1 is asked for.
// R-53  consuming more than is left is refused and takes nothing; consuming 0 always succeeds.
// R-56  a child gets a copy: spending it does not touch the parent's.
// R-152 if several parts are spent at once the answer is deadline, then polls, then cost.
//
// Cancel points: none. Threads: plain values. Lifetime: plain values.
#pragma once

#include <cstdint>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"

namespace asx {

/// The three parts that can run out, in the order in which they are reported.
enum class budget_part : std::uint8_t { none, deadline, polls, cost };

/// The largest number means "no limit" for polls and cost, as instant::none() does for the deadline.
inline constexpr std::uint64_t unlimited = UINT64_MAX;

struct budget {
  instant deadline = instant::none();
  std::uint64_t poll_quota = unlimited;
  std::uint64_t cost_quota = unlimited;
  std::uint8_t priority = 0;

  [[nodiscard]] static constexpr budget infinite() noexcept { return {}; }
  [[nodiscard]] static constexpr budget zero() noexcept { return {instant{0}, 0, 0, 255}; }

  /// budget_exhausted when no poll is left; nothing is taken then.
  [[nodiscard]] constexpr status consume_poll() noexcept {
    if (poll_quota == 0) return status::budget_exhausted;
    if (poll_quota != unlimited) --poll_quota;
    return status::ok;
  }

  /// budget_exhausted when fewer than `amount` are left; nothing is taken then.
  [[nodiscard]] constexpr status consume_cost(std::uint64_t amount) noexcept {
    if (amount > cost_quota) return status::budget_exhausted;
    if (cost_quota != unlimited) cost_quota -= amount;
    return status::ok;
  }

  [[nodiscard]] constexpr bool deadline_passed(instant now) const noexcept {
    return !deadline.is_none() && now >= deadline;
  }

  /// The first part that is spent at `now`, by R-152's order; none while all have something left.
  [[nodiscard]] constexpr budget_part exhausted(instant now) const noexcept {
    if (deadline_passed(now)) return budget_part::deadline;
    if (poll_quota == 0) return budget_part::polls;
    if (cost_quota == 0) return budget_part::cost;
    return budget_part::none;
  }

  /// Neither time nor polls can run out, and some cost is left: a poll takes nothing.
  [[nodiscard]] constexpr bool is_endless() const noexcept {
    return deadline.is_none() && poll_quota == unlimited && cost_quota != 0;
  }

  friend constexpr bool operator==(const budget&, const budget&) noexcept = default;
};

/// The tighter of the two, part by part.
[[nodiscard]] constexpr budget meet(const budget& a, const budget& b) noexcept {
  return {earlier(a.deadline, b.deadline), a.poll_quota < b.poll_quota ? a.poll_quota : b.poll_quota,
          a.cost_quota < b.cost_quota ? a.cost_quota : b.cost_quota, a.priority > b.priority ? a.priority : b.priority};
}

/// Which of two budgets each part of their meet came from. A part in which they agree comes from both.
enum class meet_side : std::uint8_t { both, left, right };

struct meet_origin {
  meet_side deadline = meet_side::both;
  meet_side poll_quota = meet_side::both;
  meet_side cost_quota = meet_side::both;
  meet_side priority = meet_side::both;

  friend constexpr bool operator==(meet_origin, meet_origin) noexcept = default;
};

/// Answers "whose limit is this?" for a budget that was inherited.
[[nodiscard]] constexpr meet_origin origin_of_meet(const budget& a, const budget& b) noexcept {
  constexpr auto tighter = [](auto left, auto right) {
    return left == right ? meet_side::both : left < right ? meet_side::left : meet_side::right;
  };
  return {tighter(a.deadline, b.deadline), tighter(a.poll_quota, b.poll_quota), tighter(a.cost_quota, b.cost_quota),
          tighter(b.priority, a.priority)};
}

/// What is left of a budget, and the part that is nearest to its end.
struct budget_left {
  duration time_left = duration::max();  // The largest duration while there is no deadline.
  std::uint64_t poll_quota = unlimited;
  std::uint64_t cost_quota = unlimited;
  budget_part binds = budget_part::none;  // None only while every part is unlimited.

  friend constexpr bool operator==(const budget_left&, const budget_left&) noexcept = default;
};

namespace detail {
// Whether a/b < c/d, exactly: cross-multiplied in 128 bits, done by halves so that it stays standard C++.
constexpr bool smaller_share(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) noexcept {
  struct wide {
    std::uint64_t high, low;
  };
  constexpr auto multiply = [](std::uint64_t x, std::uint64_t y) -> wide {
    const std::uint64_t x0 = x & 0xffffffffU, x1 = x >> 32, y0 = y & 0xffffffffU, y1 = y >> 32;
    const std::uint64_t middle = x1 * y0 + ((x0 * y0) >> 32);
    const std::uint64_t carry = (middle & 0xffffffffU) + x0 * y1;
    return {x1 * y1 + (middle >> 32) + (carry >> 32), x * y};
  };
  const wide left = multiply(a, d), right = multiply(c, b);
  return left.high != right.high ? left.high < right.high : left.low < right.low;
}
}  // namespace detail

/// `now_left` is what remains at `now` of `granted`, which was given at `granted_at`. The part that binds
/// is the one with the smallest share of its grant left; a part that is spent has none left, and equal
/// shares are told apart by R-152's order. Unlimited parts never bind.
[[nodiscard]] constexpr budget_left what_is_left(const budget& granted, instant granted_at, const budget& now_left,
                                                 instant now) noexcept {
  budget_left out;
  out.time_left = now_left.deadline - now;
  out.poll_quota = now_left.poll_quota;
  out.cost_quota = now_left.cost_quota;

  std::uint64_t share = 1, whole = 1;  // The smallest share so far; 1/1 is a whole, so the first limited part wins.
  const auto consider = [&](budget_part part, bool limited, std::uint64_t left, std::uint64_t grant) {
    if (!limited) return;
    if (grant == 0) grant = 1;  // Nothing was granted, so nothing is left: a share of zero.
    if (left > grant) left = grant;
    if (out.binds == budget_part::none || detail::smaller_share(left, grant, share, whole)) {
      out.binds = part;
      share = left;
      whole = grant;
    }
  };
  consider(budget_part::deadline, !now_left.deadline.is_none(), out.time_left.ns, (granted.deadline - granted_at).ns);
  consider(budget_part::polls, out.poll_quota != unlimited, out.poll_quota, granted.poll_quota);
  consider(budget_part::cost, out.cost_quota != unlimited, out.cost_quota, granted.cost_quota);
  return out;
}

}  // namespace asx
