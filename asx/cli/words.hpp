// asx/cli/words.hpp - turning words of the command line into values of the model, and telling what was wrong.
//
//     outcome   ok  ok:7  err:full  err:full:12  cancelled:shutdown  panicked:text
//     budget    deadline=5ms,polls=10,cost=3,priority=200      parts that are left out are unlimited
//     reason    shutdown  user@5ms  timeout@1s:"no answer"     kind, moment, message
//     moment    12 (nanoseconds)  12ns  5us  5ms  3s  2m  1h  7d
//
// Every failure is a bad_word that says what the word was, what it should have been, and the nearest good one.
//
// Cancel points: none. Threads: one. Lifetime: values may point into the words they were read from.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "asx/base/hash.hpp"
#include "asx/model/budget.hpp"
#include "asx/model/cancel_reason.hpp"
#include "asx/model/outcome.hpp"

namespace asx::cli {

class bad_word : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The candidate that needs the fewest edits to become `word`; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string_view> candidates);
/// " Did you mean 'x'?", or nothing.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

/// `what` names the thing wanted: "'x' is no cost: a whole number ...".
[[nodiscard]] std::uint64_t parse_number(std::string_view word, std::string_view what);
[[nodiscard]] duration parse_duration(std::string_view word);
[[nodiscard]] budget parse_budget(std::string_view word);
[[nodiscard]] cancel_reason parse_reason(std::string_view word);
[[nodiscard]] outcome<std::uint64_t> parse_outcome(std::string_view word);

[[nodiscard]] std::string show(const digest128& d);  // 32 hexadecimal digits.
[[nodiscard]] std::string show(duration d);
[[nodiscard]] std::string show(instant t);
[[nodiscard]] std::string show(const budget& b);
[[nodiscard]] std::string show(const cancel_reason& r);
[[nodiscard]] std::string show(const outcome<std::uint64_t>& o);

}  // namespace asx::cli
