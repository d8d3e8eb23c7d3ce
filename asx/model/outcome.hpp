// asx/model/outcome.hpp - how a task or a region ended: ok, err, cancelled or panicked, and how ends combine.
//
//     ok < err < cancelled < panicked         join takes the worse of two
//
// R-48   join is commutative in severity and left-biased in payload; associative and idempotent with payload.
// R-49   two cancelled join to the stronger reason; a milder one never hides a stronger one.
// R-125  the identity is ok without a payload: join(ok, ok(v)) is ok(v), join(ok(a), ok(b)) is ok(a).
// R-39   the stronger cancelled is taken whole: its chain, and whether its cleanup was cut short.
//
// An outcome is trivially copyable when its payloads are, usable in constant expressions when they are
// literal types, and needs neither exceptions nor allocation.
//
// Cancel points: none. Threads: plain values. Lifetime: as the payloads; a reason as in cancel_reason.hpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/base/construct.hpp"
#include "asx/model/cancel_reason.hpp"
#include "asx/model/status.hpp"

namespace asx {

/// The ordinal is the severity.
enum class outcome_kind : std::uint8_t { ok, err, cancelled, panicked };

[[nodiscard]] constexpr std::string_view name(outcome_kind kind) noexcept {
  constexpr std::string_view names[] = {"ok", "err", "cancelled", "panicked"};
  return names[static_cast<std::size_t>(kind)];
}

/// The payload of tasks that have nothing to say.
struct unit {
  friend constexpr bool operator==(unit, unit) noexcept = default;
};

/// The usual payload of err (U-15).
struct error {
  status code = status::invalid_argument;
  std::uint64_t detail = 0;

  friend constexpr bool operator==(const error&, const error&) noexcept = default;
};

struct cancellation {
  cancel_reason reason{};
  bool cleanup_budget_exceeded = false;  // The task was force-completed.
  status cleanup_error = status::ok;     // What cleanup itself ended with, when that was an error,
  std::uint64_t cleanup_detail = 0;      // and its detail. For people: neither decides a join.

  friend constexpr bool operator==(const cancellation&, const cancellation&) noexcept = default;
};

/// Text and site are for people: they enter no digest and no state hash. Both are views; whoever makes the
/// note keeps the text for as long as outcomes may be read, as the runtime does for exceptions.
struct panic_note {
  std::string_view text{};
  std::string_view file{};
  std::uint32_t line = 0;

  friend constexpr bool operator==(const panic_note&, const panic_note&) noexcept = default;
};

template <class T = unit, class E = error>
class outcome {
  static constexpr bool trivial = std::is_trivially_copyable_v<T> && std::is_trivially_copyable_v<E>;

 public:
  using value_type = T;
  using error_type = E;

  /// Ok without a payload: the identity of join, and the outcome of an empty region.
  constexpr outcome() noexcept : nothing_{} {}

  [[nodiscard]] static constexpr outcome ok() noexcept { return outcome(); }
  [[nodiscard]] static constexpr outcome ok(T value) {
    outcome o;
    if constexpr (std::is_same_v<T, unit>) return o;  // Nothing to say is no payload.
    std::construct_at(std::addressof(o.value_), std::move(value));
    o.has_value_ = true;
    return o;
  }
  /// Of a bare ok: its payload, which is moved once, to where it stays. When that throws it is a bare ok still.
  constexpr void put_value(T&& value) {
    ASX_ASSERT(is_ok() && !has_value(), "a payload is put into a bare ok");
    if constexpr (!std::is_same_v<T, unit>) {
      std::construct_at(std::addressof(value_), std::move(value));
      has_value_ = true;
    }
  }
  [[nodiscard]] static constexpr outcome err(E error) {
    outcome o;
    std::construct_at(std::addressof(o.error_), std::move(error));
    o.kind_ = outcome_kind::err;
    return o;
  }
  [[nodiscard]] static constexpr outcome cancelled(cancellation how) noexcept {
    outcome o;
    std::construct_at(std::addressof(o.cancellation_), how);
    o.kind_ = outcome_kind::cancelled;
    return o;
  }
  [[nodiscard]] static constexpr outcome cancelled(const cancel_reason& reason) noexcept {
    return cancelled(cancellation{reason, false});
  }
  [[nodiscard]] static constexpr outcome panicked(panic_note note) noexcept {
    outcome o;
    std::construct_at(std::addressof(o.panic_), note);
    o.kind_ = outcome_kind::panicked;
    return o;
  }

  constexpr outcome(const outcome&)
    requires trivial
  = default;
  constexpr outcome(outcome&&)
    requires trivial
  = default;
  constexpr outcome& operator=(const outcome&)
    requires trivial
  = default;
  constexpr outcome& operator=(outcome&&)
    requires trivial
  = default;
  constexpr ~outcome()
    requires trivial
  = default;

  constexpr outcome(const outcome& other)
    requires(!trivial && std::is_copy_constructible_v<T> && std::is_copy_constructible_v<E>)
      : nothing_{} {
    take(other);
  }
  constexpr outcome(outcome&& other) noexcept(moves_quietly)
    requires(!trivial)
      : nothing_{} {
    take(std::move(other));
  }
  constexpr outcome& operator=(const outcome& other)
    requires(!trivial && std::is_copy_constructible_v<T> && std::is_copy_constructible_v<E>)
  {
    if (this != &other) *this = outcome(other);  // Copy first: a copy that throws leaves this one as it was.
    return *this;
  }
  constexpr outcome& operator=(outcome&& other) noexcept(moves_quietly)
    requires(!trivial)
  {
    if (this != &other) {
      clear();
      take(std::move(other));
    }
    return *this;
  }
  constexpr ~outcome() { clear(); }

  [[nodiscard]] constexpr outcome_kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr std::uint8_t severity() const noexcept { return static_cast<std::uint8_t>(kind_); }
  [[nodiscard]] constexpr bool is_ok() const noexcept { return kind_ == outcome_kind::ok; }
  [[nodiscard]] constexpr bool is_err() const noexcept { return kind_ == outcome_kind::err; }
  [[nodiscard]] constexpr bool is_cancelled() const noexcept { return kind_ == outcome_kind::cancelled; }
  [[nodiscard]] constexpr bool is_panicked() const noexcept { return kind_ == outcome_kind::panicked; }
  [[nodiscard]] constexpr bool has_value() const noexcept { return is_ok() && has_value_; }

  [[nodiscard]] constexpr T& value() & noexcept { return check_value(), value_; }
  [[nodiscard]] constexpr const T& value() const& noexcept { return check_value(), value_; }
  [[nodiscard]] constexpr T&& value() && noexcept { return check_value(), std::move(value_); }
  [[nodiscard]] constexpr const E& error() const noexcept {
    ASX_ASSERT(is_err(), "only an err outcome has an error");
    return error_;
  }
  [[nodiscard]] constexpr const cancellation& cancelled_by() const noexcept {
    ASX_ASSERT(is_cancelled(), "only a cancelled outcome has a reason");
    return cancellation_;
  }
  [[nodiscard]] constexpr const cancel_reason& reason() const noexcept { return cancelled_by().reason; }
  [[nodiscard]] constexpr const panic_note& panic() const noexcept {
    ASX_ASSERT(is_panicked(), "only a panicked outcome has a panic");
    return panic_;
  }

  friend constexpr bool operator==(const outcome& a, const outcome& b) noexcept
    requires(requires(const T& t, const E& e) {
      t == t;
      e == e;
    })
  {
    if (a.kind_ != b.kind_ || a.has_value() != b.has_value()) return false;
    switch (a.kind_) {
      case outcome_kind::ok: return !a.has_value() || a.value_ == b.value_;
      case outcome_kind::err: return a.error_ == b.error_;
      case outcome_kind::cancelled: return a.cancellation_ == b.cancellation_;
      case outcome_kind::panicked: return a.panic_ == b.panic_;
    }
    return false;
  }

 private:
  static constexpr bool moves_quietly =
      std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_constructible_v<E>;

  constexpr void check_value() const noexcept {
    ASX_ASSERT(has_value(), "only an ok outcome with a payload has a value");
  }

  // Constructs the payload of `other` here; this one is bare ok before.
  template <class Other>
  constexpr void take(Other&& other) {
    const outcome_kind kind = other.kind_;
    const bool is_carried = other.has_value_;
    switch (kind) {
      case outcome_kind::ok:
        if (is_carried) std::construct_at(std::addressof(value_), std::forward<Other>(other).value_);
        break;
      case outcome_kind::err: std::construct_at(std::addressof(error_), std::forward<Other>(other).error_); break;
      case outcome_kind::cancelled: std::construct_at(std::addressof(cancellation_), other.cancellation_); break;
      case outcome_kind::panicked: std::construct_at(std::addressof(panic_), other.panic_); break;
    }
    kind_ = kind;  // Last: a payload that throws leaves a bare ok behind.
    has_value_ = is_carried;
  }
  constexpr void clear() noexcept {
    if (has_value()) std::destroy_at(std::addressof(value_));
    if (is_err()) std::destroy_at(std::addressof(error_));
    kind_ = outcome_kind::ok;
    has_value_ = false;
  }

  outcome_kind kind_ = outcome_kind::ok;
  bool has_value_ = false;  // Of ok: whether it carries a payload.
  union {
    unit nothing_;
    T value_;
    E error_;
    cancellation cancellation_;
    panic_note panic_;
  };
};

/// The worse of the two.
template <class T, class E>
[[nodiscard]] constexpr outcome<T, E> join(outcome<T, E> left, outcome<T, E> right) {
  if (right.severity() > left.severity()) return right;
  if (right.severity() < left.severity()) return left;
  if (left.is_cancelled() && compare_strength(right.reason(), left.reason()) > 0) return right;
  if (left.is_ok() && !left.has_value()) return right;
  return left;
}

}  // namespace asx
