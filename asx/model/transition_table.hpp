// asx/model/transition_table.hpp - a state machine as data: its moves, its refusals, and proofs about both.
//
// One table drives the code that moves a state, the tests that try every pair, the compile-time proofs and the
// documentation's diagrams; so they cannot disagree.
//
// 1  A move is legal exactly when a row names its pair (from, to). Every other pair has one refusal code,
//    which depends on the state it leaves.
// 2  Looking a pair or a trigger up is O(1) and works in constant expressions.
// 3  A table that names a pair or a (from, trigger) twice in contradiction does not compile.
//
// Cancel points: none. Threads: immutable. Lifetime: static.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "asx/base/assert.hpp"
#include "asx/model/status.hpp"

namespace asx {

/// What one state is called, and what holds while a thing is in it.
struct state_info {
  std::string_view name;
  std::string_view c_name;
  std::string_view meaning;
};

template <class State, class Trigger>
struct transition {
  std::string_view id;
  State from;
  Trigger on;
  State to;
  std::string_view effect;
};

template <class State, class Trigger, std::size_t States, std::size_t Triggers, std::size_t Rows>
class transition_table {
 public:
  using row = transition<State, Trigger>;

  consteval transition_table(std::string_view machine, std::array<state_info, States> states,
                             std::array<std::string_view, Triggers> triggers, std::array<row, Rows> rows,
                             std::array<status, States> refusals)
      : machine_(machine), states_(states), triggers_(triggers), rows_(rows), refusals_(refusals) {
    for (std::size_t i = 0; i < Rows; ++i) {
      auto& pair = by_pair_[at(rows_[i].from)][at(rows_[i].to)];
      if (pair == no_row) pair = static_cast<std::uint8_t>(i);  // Several triggers may cause one move (R1, R1a, R1b).
      auto& on = by_trigger_[at(rows_[i].from)][static_cast<std::size_t>(rows_[i].on)];
      ASX_ASSERT(on == no_row, "a trigger leads from a state to one place only");
      on = static_cast<std::uint8_t>(i);
    }
  }

  /// ok, or the exact code of the refusal.
  [[nodiscard]] constexpr status check(State from, State to) const noexcept {
    return legal(from, to) ? status::ok : refusals_[at(from)];
  }
  [[nodiscard]] constexpr bool legal(State from, State to) const noexcept {
    return by_pair_[at(from)][at(to)] != no_row;
  }
  /// The row that names the pair; the first of them when several triggers cause the move. Null when illegal.
  [[nodiscard]] constexpr const row* find(State from, State to) const noexcept {
    const std::uint8_t i = by_pair_[at(from)][at(to)];
    return i == no_row ? nullptr : &rows_[i];
  }
  /// The row that `on` takes from this state. Null when it takes none.
  [[nodiscard]] constexpr const row* find(State from, Trigger on) const noexcept {
    const std::uint8_t i = by_trigger_[at(from)][static_cast<std::size_t>(on)];
    return i == no_row ? nullptr : &rows_[i];
  }

  [[nodiscard]] constexpr std::string_view machine() const noexcept { return machine_; }
  [[nodiscard]] constexpr const std::array<state_info, States>& states() const noexcept { return states_; }
  [[nodiscard]] constexpr const std::array<row, Rows>& rows() const noexcept { return rows_; }
  [[nodiscard]] constexpr std::string_view name(State s) const noexcept { return states_[at(s)].name; }
  [[nodiscard]] constexpr std::string_view name(Trigger t) const noexcept {
    return triggers_[static_cast<std::size_t>(t)];
  }
  [[nodiscard]] static constexpr std::size_t state_count() noexcept { return States; }
  [[nodiscard]] static constexpr std::size_t pair_count() noexcept { return States * States; }

  // What the tables promise; each is used in a static_assert beside its table.

  [[nodiscard]] constexpr std::size_t legal_pair_count() const noexcept {
    std::size_t n = 0;
    for (const auto& from : by_pair_) {
      for (const std::uint8_t i : from) n += i != no_row ? 1U : 0U;
    }
    return n;
  }
  [[nodiscard]] constexpr std::size_t forbidden_pair_count() const noexcept {
    return pair_count() - legal_pair_count();
  }
  /// No move leads from `s` to another state.
  [[nodiscard]] constexpr bool is_terminal(State s) const noexcept {
    for (std::size_t to = 0; to < States; ++to) {
      if (to != at(s) && by_pair_[at(s)][to] != no_row) return false;
    }
    return true;
  }
  /// Whatever state a thing is in, some sequence of moves takes it to `end`: none can be stuck by design.
  [[nodiscard]] constexpr bool every_state_reaches(State end) const noexcept {
    std::array<bool, States> reaches{};
    reaches[at(end)] = true;
    for (std::size_t round = 0; round < States; ++round) {
      for (const row& r : rows_) {
        if (reaches[at(r.to)]) reaches[at(r.from)] = true;
      }
    }
    for (const bool yes : reaches) {
      if (!yes) return false;
    }
    return true;
  }
  /// No move leads to an earlier state: ordinals never fall, so a machine cannot go round in circles.
  [[nodiscard]] constexpr bool never_goes_back() const noexcept {
    for (const row& r : rows_) {
      if (at(r.to) < at(r.from)) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint8_t no_row = 255;
  static_assert(Rows < no_row);

  static constexpr std::size_t at(State s) noexcept {
    const auto ordinal = static_cast<std::size_t>(s);
    ASX_ASSERT(ordinal < States, "a number that is no state was cast to one");
    return ordinal;
  }
  template <std::size_t Columns>
  static constexpr std::array<std::array<std::uint8_t, Columns>, States> blank() noexcept {
    std::array<std::array<std::uint8_t, Columns>, States> out{};
    for (auto& line : out) line.fill(no_row);
    return out;
  }

  std::string_view machine_;
  std::array<state_info, States> states_;
  std::array<std::string_view, Triggers> triggers_;
  std::array<row, Rows> rows_;
  std::array<status, States> refusals_;
  std::array<std::array<std::uint8_t, States>, States> by_pair_ = blank<States>();
  std::array<std::array<std::uint8_t, Triggers>, States> by_trigger_ = blank<Triggers>();
};

}  // namespace asx
