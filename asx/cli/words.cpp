#include "asx/cli/words.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "asx/scenario/words.hpp"

namespace asx::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> units{{{"ns", 1},
                                                                           {"us", 1'000},
                                                                           {"ms", 1'000'000},
                                                                           {"s", 1'000'000'000},
                                                                           {"m", 60'000'000'000},
                                                                           {"h", 3'600'000'000'000},
                                                                           {"d", 86'400'000'000'000}}};

cancel_kind parse_kind(std::string_view word) {
  std::vector<std::string_view> names;
  for (const cancel_kind_info& row : cancel_kind_table) {
    if (row.name == word || row.c_name == word) return row.kind;
    names.push_back(row.name);
  }
  throw bad_word(fmt::format("'{}' is no cancel kind.{} `asx kinds` lists them.", word, suggestion(word, names)));
}

// Splits at the first `mark`; the second part is empty when there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view word, char mark) {
  const std::size_t at = word.find(mark);
  if (at == std::string_view::npos) return {word, {}};
  return {word.substr(0, at), word.substr(at + 1)};
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  return std::string(scenario::nearest(word, candidates));
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format(" Did you mean '{}'?", near);
}

std::uint64_t parse_number(std::string_view word, std::string_view what) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc{} || end != word.data() + word.size()) {
    throw bad_word(fmt::format("'{}' is no {}: a whole number from 0 to 2^64-1 is wanted", word, what));
  }
  return value;
}

duration parse_duration(std::string_view word) {
  duration out;
  std::string why;
  if (!scenario::parse_duration(word, out, why)) throw bad_word(why);
  return out;
}

budget parse_budget(std::string_view word) {
  static constexpr std::array<std::string_view, 4> parts{"deadline", "polls", "cost", "priority"};
  budget b = budget::infinite();
  if (word == "infinite") return b;
  if (word == "zero") return budget::zero();
  for (std::string_view rest = word; !rest.empty();) {
    std::string_view part;
    std::tie(part, rest) = cut(rest, ',');
    const auto [key, value] = cut(part, '=');
    if (key == "deadline") {
      b.deadline = instant{} + parse_duration(value);
    } else if (key == "polls") {
      b.poll_quota = parse_number(value, "number of polls");
    } else if (key == "cost") {
      b.cost_quota = parse_number(value, "cost");
    } else if (key == "priority") {
      const std::uint64_t priority = parse_number(value, "priority");
      if (priority > 255) throw bad_word(fmt::format("'{}' is no priority: 0 to 255, higher is more urgent", value));
      b.priority = static_cast<std::uint8_t>(priority);
    } else {
      throw bad_word(
          fmt::format("'{}' is no part of a budget.{} A budget is written deadline=5ms,polls=10,cost=3,priority=200.",
                      key, suggestion(key, parts)));
    }
  }
  return b;
}

cancel_reason parse_reason(std::string_view word) {
  cancel_reason reason;
  std::string_view head;
  std::tie(head, reason.message) = cut(word, ':');
  const auto [kind, moment] = cut(head, '@');
  reason.kind = parse_kind(kind);
  if (!moment.empty()) reason.timestamp = instant{} + parse_duration(moment);
  return reason;
}

outcome<std::uint64_t> parse_outcome(std::string_view word) {
  using result = outcome<std::uint64_t>;
  static constexpr std::array<std::string_view, 4> kinds{"ok", "err", "cancelled", "panicked"};
  const auto [kind, payload] = cut(word, ':');
  if (kind == "ok") return payload.empty() ? result::ok() : result::ok(parse_number(payload, "payload of ok"));
  if (kind == "err") {
    const auto [code, detail] = cut(payload, ':');
    const status_info* const row = find_status(code);
    if (row == nullptr || row->code == status::ok) {
      std::vector<std::string_view> names;
      for (const status_info& s : status_table) names.push_back(s.name);
      throw bad_word(fmt::format("'{}' is no error that a task can end with.{} `asx status` lists them.", code,
                                 suggestion(code, names)));
    }
    return result::err({row->code, detail.empty() ? 0 : parse_number(detail, "detail of an error")});
  }
  if (kind == "cancelled") return result::cancelled(parse_reason(payload.empty() ? "user" : payload));
  if (kind == "panicked") return result::panicked({payload, {}, 0});
  throw bad_word(
      fmt::format("'{}' is no outcome.{} An outcome is ok, ok:7, err:full, cancelled:shutdown or panicked:text.", word,
                  suggestion(kind, kinds)));
}

std::string show(const digest128& d) {
  const auto digits = d.hex();
  return {digits.data(), digits.size()};
}

std::string show(duration d) {
  if (d == duration::max()) return "unlimited";
  for (std::size_t i = units.size(); i-- > 0;) {
    if (d.ns != 0 && d.ns % units[i].second == 0) return fmt::format("{}{}", d.ns / units[i].second, units[i].first);
  }
  return "0";
}

std::string show(instant t) {
  return t.is_none() ? "none" : show(duration{t.ns});
}

std::string show(const budget& b) {
  const auto number = [](std::uint64_t n) { return n == unlimited ? std::string("unlimited") : std::to_string(n); };
  return fmt::format("deadline {}, polls {}, cost {}, priority {}", show(b.deadline), number(b.poll_quota),
                     number(b.cost_quota), b.priority);
}

std::string show(const cancel_reason& r) {
  std::string out = fmt::format("{} at {}", name(r.kind), show(r.timestamp));
  if (!r.origin_region.absent()) out += fmt::format(" from region {}", r.origin_region.value);
  if (!r.origin_task.absent()) out += fmt::format(" by task {}", r.origin_task.value);
  if (!r.message.empty()) out += fmt::format(" \"{}\"", r.message);
  return out;
}

std::string show(const outcome<std::uint64_t>& o) {
  switch (o.kind()) {
    case outcome_kind::ok: return o.has_value() ? fmt::format("ok {}", o.value()) : "ok";
    case outcome_kind::err:
      return o.error().detail == 0 ? fmt::format("err {}", name(o.error().code))
                                   : fmt::format("err {} ({})", name(o.error().code), o.error().detail);
    case outcome_kind::cancelled: return fmt::format("cancelled: {}", show(o.reason()));
    case outcome_kind::panicked:
      return o.panic().text.empty() ? "panicked" : fmt::format("panicked \"{}\"", o.panic().text);
  }
  return "unknown";
}

}  // namespace asx::cli
