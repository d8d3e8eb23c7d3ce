// asx/journal/compare.hpp - are two runs the same run? If not: where do they part, and how.
//
//     reference   1 2 3 4 5 6 ...        a file, another file, a vector
//     run         1 2 3 4 x               the same, or a run that is still going
//                         ^ first difference: both versions, the events before it, the fields that differ
//
// 1  match is a proof up to the last event compared: every field of every event was equal, or stood under equal
//    digests of 128 bits.
// 2  Diagnostics are left out unless everything is asked for: a debug run matches a release run (U-35).
// 3  Two binary files are compared by the digests at their block ends, found by bisection; only what lies between the
//    last equal digest and the first different one is decoded. What is skipped is not checked for damage: reading a
//    file to its end does that.
// 4  A difference is named: fields, an event missing on one side, two events swapped, or one side ended first. For
//    that the eight events after it are looked at.
//
// Cancel points: none. Threads: one owner. Lifetime: sources outlive what follows them; results own their data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/journal/file.hpp"
#include "asx/journal/journal.hpp"
#include "asx/journal/port.hpp"

namespace asx {

/// Gives events one by one: ok, empty at the end, or another status when it cannot go on.
struct event_source {
  void* context = nullptr;
  status (*next)(void* context, event& out) = nullptr;
};

/// A bin_reader, a json_reader, or anything else with `status next(event&)`.
template <class Reader>
[[nodiscard]] event_source source_of(Reader& reader) noexcept {
  return {&reader, [](void* self, event& out) { return static_cast<Reader*>(self)->next(out); }};
}

/// Events that lie in memory.
class span_reader {
 public:
  explicit span_reader(std::span<const event> events) noexcept : rest_(events) {}
  [[nodiscard]] status next(event& out) noexcept {
    if (rest_.empty()) return status::empty;
    out = rest_.front();
    rest_ = rest_.subspan(1);
    return status::ok;
  }

 private:
  std::span<const event> rest_;
};

enum class compare_scope : std::uint8_t { semantic, everything };

enum class difference : std::uint8_t {
  none,
  fields,          // The same place, another event.
  missing_in_run,  // The reference has an event that the run lacks.
  missing_in_reference,
  swapped,    // Two neighbours changed places.
  run_ended,  // The run is a prefix of the reference.
  reference_ended,
};

struct field_difference {
  std::string_view name;
  std::uint64_t reference;
  std::uint64_t run;
};

struct comparison {
  status code = status::ok;  // Why a source could not be read to the end, if so; the difference is then not decided.
  difference what = difference::none;
  std::uint64_t compared = 0;      // Events that were equal, or stood under equal digests.
  std::optional<event> reference;  // The first event that differs, as each side has it.
  std::optional<event> run;
  std::vector<event> before;  // The last equal events, oldest first.
  std::vector<field_difference> fields;
  std::uint64_t blocks_decoded = 0;  // By compare of two files.

  [[nodiscard]] bool match() const noexcept { return code == status::ok && what == difference::none; }
};

[[nodiscard]] ASX_API std::string_view name(difference what) noexcept;
/// Several lines for people: what differs, both versions, and what came before.
[[nodiscard]] ASX_API std::string explain(const comparison& result);
/// Which fields of two events differ, in canonical order.
[[nodiscard]] ASX_API std::vector<field_difference> different_fields(const event& reference, const event& run);

/// Compares a run, while it goes on, with a reference.
class ASX_API follower {
 public:
  static constexpr std::size_t context_events = 8;

  explicit follower(event_source reference, compare_scope scope = compare_scope::semantic) noexcept
      : reference_(reference), scope_(scope) {}

  /// False from the first difference on. Further events sharpen what the difference is called.
  bool feed(const event& e);
  /// Lets a journal feed this follower as it goes.
  [[nodiscard]] event_sink sink() noexcept;
  /// The run is over: so must be the reference.
  void finish();

  [[nodiscard]] const comparison& result() const noexcept { return result_; }

 private:
  status pull(event& out);
  void part(const event* reference, const event* run);
  void name_difference();

  event_source reference_;
  compare_scope scope_;
  comparison result_;
  std::vector<event> reference_ahead_, run_ahead_;
};

[[nodiscard]] ASX_API comparison compare(event_source reference, event_source run,
                                         compare_scope scope = compare_scope::semantic);
[[nodiscard]] ASX_API comparison compare(bin_reader& reference, bin_reader& run,
                                         compare_scope scope = compare_scope::semantic);

}  // namespace asx
