// asx/scenario/words.hpp - the vocabulary of scenarios as data: operations, things to expect, settings, limits.
//
//     {"do": "sleep", "for": "5ms"}        row of op::sleep: in tasks only, a cancel point
//                      |                        +-- field "for": a duration, optional
//                      +------ checked by -----------+
//
// 1  One row for each word. The reader checks a file against these rows, the schema is printed from them, and a test
//    holds docs/scenarios.md to them: a word that is not here does not exist.
// 2  Values have one reading each: the parse_ functions below. What the reader has accepted, the functions that end in
//    _of turn into values of the model without asking again.
//
// Cancel points: none. Threads: immutable. Lifetime: static; values may point into the nodes they were read from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "asx/journal/event_table.hpp"
#include "asx/kernel/contract.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/cancel_reason.hpp"
#include "asx/model/outcome.hpp"
#include "asx/scenario/scenario.hpp"

namespace asx::scenario {

enum class op : std::uint16_t {
  // Tasks and driver alike.
  open_region,
  close,
  begin_close,
  begin_drain,
  begin_finalize,
  finish_close,
  add_finalizer,
  arena,
  release,
  spawn,
  reserve_task,
  commit_task,
  abandon_task,
  cancel,
  complete,
  wake,
  reserve_obligation,
  commit,
  abort,
  add_timer,
  cancel_timer,
  channel,
  clone,
  track,
  drop,
  try_reserve,
  send,
  abort_permit,
  try_send,
  send_evicting,
  try_recv,
  say,
  hold,
  unhold,
  begin_shutdown,
  mark,
  expect,
  // The driver's own.
  set_governor,
  advance,
  step,
  run_until_idle,
  run_until_quiescent,
  shutdown,
  certificate,
  reset_certificate,
  // A task's own.
  reserve,
  recv,
  sleep,
  join,
  await_closed,
  checkpoint,
  is_cancelled,
  yield,
  park,
  consume,
  mask,
  unmask,
  push_cleanup,
  pop_cleanup,
  repeat,
  return_,
  fail,
  panic,
  stop_waiting,
  // The laws: they need no runtime.
  check_transition,
  check_witness,
  check_kind,
  join_outcomes,
  meet_budgets,
  consume_polls,
  consume_cost,
  exhausted,
  strengthen,
  wheel,
  register_,
  update,
  unregister,
  collect,
  wheel_advance,
  cancel_all,
  purge,
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(op::purge) + 1;

/// What a name can stand for. A set of them is a sum of bits.
namespace thing {
inline constexpr std::uint32_t region = 1U << 0;
inline constexpr std::uint32_t task = 1U << 1;
inline constexpr std::uint32_t slot = 1U << 2;
inline constexpr std::uint32_t obligation = 1U << 3;
inline constexpr std::uint32_t timer = 1U << 4;
inline constexpr std::uint32_t sender = 1U << 5;
inline constexpr std::uint32_t receiver = 1U << 6;
inline constexpr std::uint32_t permit = 1U << 7;
inline constexpr std::uint32_t cleanup = 1U << 8;
inline constexpr std::uint32_t mark = 1U << 9;
inline constexpr std::uint32_t certificate = 1U << 10;
inline constexpr std::uint32_t wheel = 1U << 11;
inline constexpr std::uint32_t wheel_timer = 1U << 12;
inline constexpr std::uint32_t any_subject = region | task | obligation | timer | sender | receiver | permit;
}  // namespace thing

/// What has a number in journals, and how that is told.
struct numbered_thing {
  char letter;           // In verdicts.
  field_type type;       // In the rows of events.
  std::uint32_t things;  // What a name of it stands for: the ends and permits of a channel have its number.
  std::string_view noun;
};
inline constexpr numbered_thing numbered_things[] = {
    {'r', field_type::region, thing::region, "region"},
    {'t', field_type::task, thing::task, "task"},
    {'o', field_type::obligation, thing::obligation, "obligation"},
    {'c', field_type::channel, thing::sender | thing::receiver | thing::permit, "channel"},
    {'m', field_type::timer, thing::timer, "timer"},
};
/// Null: what has no number.
[[nodiscard]] constexpr const numbered_thing* find_numbered(field_type type) noexcept {
  for (const numbered_thing& row : numbered_things) {
    if (row.type == type) return &row;
  }
  return nullptr;
}
[[nodiscard]] constexpr const numbered_thing* find_numbered_thing(std::uint32_t what) noexcept {
  for (const numbered_thing& row : numbered_things) {
    if ((row.things & what) != 0) return &row;
  }
  return nullptr;
}
/// What a name at such a place of an event can stand for; 0: nothing there has a name.
[[nodiscard]] constexpr std::uint32_t things_of(field_type type) noexcept {
  if (type == field_type::thing) return thing::any_subject;
  const numbered_thing* const row = find_numbered(type);
  return row != nullptr ? row->things : 0;
}

/// Where a step may stand.
namespace place_of {
inline constexpr std::uint8_t driver = 1;
inline constexpr std::uint8_t task = 2;
inline constexpr std::uint8_t synchronous = 4;  // Steps of cleanup actions and finalizers.
inline constexpr std::uint8_t anywhere = driver | task | synchronous;
}  // namespace place_of

/// Who performs a step.
enum class op_group : std::uint8_t {
  region,
  task,
  channel,
  thing,  // Obligations, timers, holds, the transcript.
  expect,
  driver,
  poll,     // Only a task that is polled.
  control,  // Where a script goes on: gives no answer.
  law,
};

/// What kind of value a field takes.
enum class takes : std::uint8_t {
  number,          // Whole, within least and most; "max" is the largest.
  number_or_null,  // Of what may have been nothing.
  flag,
  only_true,
  text,
  duration,
  moment,
  budget,
  reason,          // Given: kind, at, message.
  wanted_reason,   // Expected: any part of it.
  outcome,         // Given.
  wanted_outcome,  // Expected: a kind alone, or any part of it.
  cancel_kind,
  status,
  error,  // A status that is not ok.
  word,   // One of `words`.
  state,  // One of the states of the machine that the step names.
  name,   // Of one of `things`.
  name_or_true,
  name_or_null,  // null: of none.
  new_name,      // Which this step gives to one of `things`.
  script,        // One of `tasks`.
  same_steps,    // Of the same place as the step itself.
  synchronous_steps,
  outcomes,
  budgets,
  reasons,
  statuses,
  numbers,
  texts,
  names,           // Of `things`.
  words,           // Each one of `words`.
  witness,         // With numbers for task and region.
  wanted_witness,  // With names for them; null: there is none.
  counts,          // Of a channel: a number for any of `words`.
  events,
  event_kinds,
  event_counts,
  // Of the file, its settings and every step.
  version,
  id,
  settings,
  limits,
  polls_or_quota,
  scripts,
  operation,
  status_or_statuses,
  branches,
  wanted_cause,  // A reason again, or null for none.
};

struct field_info {
  std::string_view name;
  takes type = takes::number;
  std::string_view says{};  // A phrase for people.
  bool is_required = false;
  std::string_view standard{};  // What holds when it is left out, as written in a file; empty: nothing.
  std::uint32_t things = 0;
  std::span<const std::string_view> words{};
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
  bool comes_with_ok = false;  // Expected, and looked at when the answer is ok only.
};

struct op_info {
  op what;
  std::string_view word;
  op_group group;
  std::uint8_t stands = place_of::anywhere;
  bool is_cancel_point = false;
  std::string_view says;
  std::span<const field_info> fields;
  std::span<const std::string_view> one_of{};  // Exactly one of these fields must be there.

  /// Whether status, unchanged and on can stand there.
  [[nodiscard]] constexpr bool gives_an_answer() const noexcept {
    return group != op_group::control && group != op_group::expect;
  }
};

/// One thing that `expect` can look at: the field that names it, and the fields beside that.
struct expectation_info {
  field_info subject;
  std::span<const field_info> fields;
};

/// A limit of the resource contract.
struct limit_info {
  std::string_view name;
  std::uint32_t resource_contract::* narrow = nullptr;
  std::uint64_t resource_contract::* wide = nullptr;
  std::uint64_t most = UINT32_MAX;
  std::uint64_t least = 0;
};

/// In the order of the enumeration.
[[nodiscard]] std::span<const op_info> all_ops() noexcept;
[[nodiscard]] const op_info& info(op what) noexcept;
[[nodiscard]] const op_info* find_op(std::string_view word) noexcept;
[[nodiscard]] const field_info* find_field(std::span<const field_info> fields, std::string_view name) noexcept;
[[nodiscard]] inline std::string_view name(op what) noexcept {
  return info(what).word;
}

/// do, status, unchanged, on, note.
[[nodiscard]] std::span<const field_info> fields_of_every_step() noexcept;
[[nodiscard]] std::span<const field_info> fields_of_file() noexcept;
[[nodiscard]] std::span<const field_info> runtime_settings() noexcept;
[[nodiscard]] std::span<const expectation_info> all_expectations() noexcept;
/// The thing that an `expect` step looks at: the first of its keys that names one. Null: none.
[[nodiscard]] const expectation_info* find_expectation(const node& step) noexcept;
[[nodiscard]] std::span<const limit_info> all_limits() noexcept;

// ---- words -------------------------------------------------------------------------------------------------------

/// The candidate that needs the fewest edits to become `word`; empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
/// "; did you mean 'x'?", or "." when nothing is near: the end of a sentence.
[[nodiscard]] std::string or_meant(std::string_view word, std::span<const std::string_view> candidates);

/// region_not_open, REGION_NOT_OPEN and ASX_E_REGION_NOT_OPEN are the same status.
[[nodiscard]] std::optional<status> parse_status(std::string_view word) noexcept;
[[nodiscard]] std::optional<cancel_kind> parse_cancel_kind(std::string_view word) noexcept;
/// "7ns", "5ms", "1s+5ns"; digits alone are nanoseconds. False: `why` says what is wrong with it.
[[nodiscard]] bool parse_duration(std::string_view word, duration& out, std::string& why);
/// The place of `word` in `words`.
[[nodiscard]] std::optional<std::size_t> index_in(std::string_view word,
                                                  std::span<const std::string_view> words) noexcept;

[[nodiscard]] std::span<const std::string_view> lane_words() noexcept;      // none, ready, timed, cancel.
[[nodiscard]] std::span<const std::string_view> dispatch_words() noexcept;  // In the order of dispatch_source.
[[nodiscard]] std::span<const std::string_view> governor_words() noexcept;  // In the order of governor.
[[nodiscard]] std::span<const std::string_view> budget_part_words() noexcept;
[[nodiscard]] std::span<const std::string_view> profile_words() noexcept;  // In the order of profile.
[[nodiscard]] std::span<const std::string_view> machine_words() noexcept;  // region, task, obligation, cancel_phase.
/// The names of the states of one of them, and of "channel"; empty for another word.
[[nodiscard]] std::span<const std::string_view> state_words(std::string_view machine) noexcept;

// ---- values of nodes that the reader has accepted ------------------------------------------------------------------

[[nodiscard]] std::uint64_t number_of(const node& value) noexcept;  // "max" is 2^64 - 1.
[[nodiscard]] duration duration_of(const node& value);
[[nodiscard]] instant moment_of(const node& value);  // "none" is instant::none().
[[nodiscard]] budget budget_of(const node& value);
/// As given: kind, at and message. The message points into the node.
[[nodiscard]] cancel_reason reason_of(const node& value);
/// As given. Texts point into the node.
[[nodiscard]] outcome<std::uint64_t> outcome_of(const node& value);
[[nodiscard]] status status_of(const node& value) noexcept;
[[nodiscard]] cancel_kind cancel_kind_of(const node& value) noexcept;

/// The same for a field of a step; `otherwise` when it is left out.
[[nodiscard]] std::uint64_t number_in(const node& step, std::string_view key, std::uint64_t otherwise = 0) noexcept;
[[nodiscard]] bool flag_in(const node& step, std::string_view key, bool otherwise = false) noexcept;
[[nodiscard]] std::string_view text_in(const node& step, std::string_view key,
                                       std::string_view otherwise = {}) noexcept;
[[nodiscard]] duration duration_in(const node& step, std::string_view key, duration otherwise = {});
[[nodiscard]] instant moment_in(const node& step, std::string_view key, instant otherwise = {});
[[nodiscard]] budget budget_in(const node& step, std::string_view key, budget otherwise = budget::infinite());
[[nodiscard]] status status_in(const node& step, std::string_view key, status otherwise = status::ok) noexcept;
[[nodiscard]] cancel_kind cancel_kind_in(const node& step, std::string_view key,
                                         cancel_kind otherwise = cancel_kind::user) noexcept;

}  // namespace asx::scenario
