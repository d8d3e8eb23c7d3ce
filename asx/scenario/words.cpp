#include "asx/scenario/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"

namespace asx::scenario {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row.back();
}

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> units{{{"ns", 1},
                                                                           {"us", 1'000},
                                                                           {"ms", 1'000'000},
                                                                           {"s", 1'000'000'000},
                                                                           {"m", 60'000'000'000},
                                                                           {"h", 3'600'000'000'000},
                                                                           {"d", 86'400'000'000'000}}};

bool parse_one_duration(std::string_view word, std::uint64_t& ns, std::string& why) {
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const std::string quoted = "'" + std::string(word) + "' ";
  if (digits == 0) {
    why = quoted + "is no duration; write a number and a unit, such as 5ms.";
    return false;
  }
  const auto [end, failure] = std::from_chars(word.data(), word.data() + digits, ns);
  const std::string_view unit = word.substr(digits);
  std::uint64_t factor = unit.empty() ? 1 : 0;
  for (const auto& [name, size] : units) {
    if (unit == name) factor = size;
  }
  if (factor == 0) {
    why = quoted + "has no unit that is known; use ns, us, ms, s, m, h or d.";
    return false;
  }
  if (failure != std::errc{} || ns > UINT64_MAX / factor) {
    why = quoted + "is longer than 2^64 - 1 nanoseconds.";
    return false;
  }
  ns *= factor;
  return true;
}

bool same_letters(std::string_view any_case, std::string_view small) noexcept {
  return any_case.size() == small.size() &&
         std::equal(any_case.begin(), any_case.end(), small.begin(),
                    [](char x, char y) { return x == y || (x >= 'A' && x <= 'Z' && x - 'A' + 'a' == y); });
}

}  // namespace

// ---- rows ----------------------------------------------------------------------------------------------------------

const op_info& info(op what) noexcept {
  ASX_ASSERT(static_cast<std::size_t>(what) < op_count, "a number that is no operation was cast to one");
  return all_ops()[static_cast<std::size_t>(what)];
}

const op_info* find_op(std::string_view word) noexcept {
  for (const op_info& row : all_ops()) {
    if (row.word == word) return &row;
  }
  return nullptr;
}

const field_info* find_field(std::span<const field_info> fields, std::string_view name) noexcept {
  for (const field_info& row : fields) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const expectation_info* find_expectation(const node& step) noexcept {
  for (const std::string& key : step.keys) {
    for (const expectation_info& row : all_expectations()) {
      if (row.subject.name == key) return &row;
    }
  }
  return nullptr;
}

// ---- words ---------------------------------------------------------------------------------------------------------

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t longest_word = 64;  // No word is as long; what is longer is no slip.
  std::string_view best;
  if (word.size() > longest_word) return best;
  std::size_t best_distance = word.size() / 2 + 2;  // Further away than this is another word, not a slip.
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest_word) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string or_meant(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string(".") : "; did you mean '" + std::string(near) + "'?";
}

std::optional<status> parse_status(std::string_view word) noexcept {
  for (const status_info& row : status_table) {
    const std::size_t prefix = row.code == status::ok ? 4 : 6;  // ASX_OK, and ASX_E_ before the others.
    if (word == row.name || word == row.c_name || word == row.c_name.substr(prefix)) return row.code;
  }
  return std::nullopt;
}

std::optional<cancel_kind> parse_cancel_kind(std::string_view word) noexcept {
  for (const cancel_kind_info& row : cancel_kind_table) {
    if (word == row.c_name || same_letters(word, row.name)) return row.kind;
  }
  return std::nullopt;
}

bool parse_duration(std::string_view word, duration& out, std::string& why) {
  std::uint64_t sum = 0;
  for (std::size_t from = 0; from <= word.size();) {
    const std::size_t end = std::min(word.find('+', from), word.size());
    std::uint64_t part = 0;
    if (!parse_one_duration(word.substr(from, end - from), part, why)) return false;
    if (part > UINT64_MAX - sum) {
      why = "'" + std::string(word) + "' is longer than 2^64 - 1 nanoseconds.";
      return false;
    }
    sum += part;
    from = end + 1;
  }
  out = duration::nanoseconds(sum);
  return true;
}

std::optional<std::size_t> index_in(std::string_view word, std::span<const std::string_view> words) noexcept {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return i;
  }
  return std::nullopt;
}

// ---- values --------------------------------------------------------------------------------------------------------

std::uint64_t number_of(const node& value) noexcept {
  return value.is(node_kind::number) ? value.number : UINT64_MAX;  // The one text is "max".
}

duration duration_of(const node& value) {
  if (!value.is(node_kind::text)) return duration::nanoseconds(value.number);
  if (value.text == "max") return duration::max();
  duration out;
  std::string why;
  const bool is_read = parse_duration(value.text, out, why);
  ASX_ASSERT(is_read, "the reader has accepted this duration");
  return out;
}

instant moment_of(const node& value) {
  if (value.is(node_kind::text) && value.text == "none") return instant::none();
  return instant{} + duration_of(value);
}

budget budget_of(const node& value) {
  if (value.is(node_kind::text)) return value.text == "zero" ? budget::zero() : budget::infinite();
  budget out = budget::infinite();
  out.deadline = moment_in(value, "deadline", instant::none());
  out.poll_quota = number_in(value, "polls", unlimited);
  out.cost_quota = number_in(value, "cost", unlimited);
  out.priority = static_cast<std::uint8_t>(number_in(value, "priority", 0));
  return out;
}

cancel_reason reason_of(const node& value) {
  cancel_reason out;
  out.kind = cancel_kind_in(value, "kind");
  out.timestamp = moment_in(value, "at");
  out.message = text_in(value, "message");
  return out;
}

outcome<std::uint64_t> outcome_of(const node& value) {
  using result = outcome<std::uint64_t>;
  if (value.is(node_kind::text)) return result::ok();
  if (const node* const ok = value.find("ok"))
    return ok->is(node_kind::null) ? result::ok() : result::ok(number_of(*ok));
  if (const node* const err = value.find("err")) return result::err({status_of(*err), number_in(value, "detail")});
  if (const node* const cancelled = value.find("cancelled")) {
    return result::cancelled(
        cancellation{reason_of(*cancelled), flag_in(value, "overran"), status_in(value, "cleanup_error"), 0});
  }
  return result::panicked({text_in(value, "panicked"), {}, 0});
}

status status_of(const node& value) noexcept {
  const std::optional<status> found = parse_status(value.text);
  ASX_ASSERT(found.has_value(), "the reader has accepted this status");
  return *found;
}

cancel_kind cancel_kind_of(const node& value) noexcept {
  const std::optional<cancel_kind> found = parse_cancel_kind(value.text);
  ASX_ASSERT(found.has_value(), "the reader has accepted this kind");
  return *found;
}

std::uint64_t number_in(const node& step, std::string_view key, std::uint64_t otherwise) noexcept {
  const node* const value = step.find(key);
  return value != nullptr ? number_of(*value) : otherwise;
}
bool flag_in(const node& step, std::string_view key, bool otherwise) noexcept {
  const node* const value = step.find(key);
  return value != nullptr ? value->flag : otherwise;
}
std::string_view text_in(const node& step, std::string_view key, std::string_view otherwise) noexcept {
  const node* const value = step.find(key);
  return value != nullptr ? std::string_view(value->text) : otherwise;
}
duration duration_in(const node& step, std::string_view key, duration otherwise) {
  const node* const value = step.find(key);
  return value != nullptr ? duration_of(*value) : otherwise;
}
instant moment_in(const node& step, std::string_view key, instant otherwise) {
  const node* const value = step.find(key);
  return value != nullptr ? moment_of(*value) : otherwise;
}
budget budget_in(const node& step, std::string_view key, budget otherwise) {
  const node* const value = step.find(key);
  return value != nullptr ? budget_of(*value) : otherwise;
}
status status_in(const node& step, std::string_view key, status otherwise) noexcept {
  const node* const value = step.find(key);
  return value != nullptr ? status_of(*value) : otherwise;
}
cancel_kind cancel_kind_in(const node& step, std::string_view key, cancel_kind otherwise) noexcept {
  const node* const value = step.find(key);
  return value != nullptr ? cancel_kind_of(*value) : otherwise;
}

}  // namespace asx::scenario
