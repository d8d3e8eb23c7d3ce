// asx/journal/describe.hpp - events in words: what the table says, with numbers and names filled in.
//
//     describe({..., task_spawned, subject 3, object 2, ...})  ->  "task 3 spawned in region 2 by task 1, priority 128"
//
// Cancel points: none. Threads: plain functions; a name_book has one owner. Lifetime: results own their text.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "asx/base/config.hpp"
#include "asx/base/text.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/model/handle.hpp"

namespace asx {

/// What a journal's text events say about things: their names, and the messages of their cancellations and panics.
class ASX_API name_book {
 public:
  name_book() = default;
  explicit name_book(std::span<const event> events);

  /// Takes text events; others are ignored.
  void learn(const event& e);
  /// Empty for a thing without a name, or whatever is asked for. Always valid UTF-8 without quotes or controls.
  [[nodiscard]] std::string_view find(field_type type, std::uint64_t id, text_code what = text_code::name) const;

 private:
  struct key {
    text_code what;
    type_tag type;
    std::uint64_t id;
    friend auto operator<=>(const key&, const key&) = default;
  };
  struct text {
    std::string raw;    // The bytes as they came; a character may still be half there.
    std::string shown;  // The same as valid UTF-8 that means nothing to JSON, dot files or terminals.
  };
  std::map<key, text> texts_;
};

/// "region 3", "task 5 'reader'", "1.5 ms", "resource_exhausted"; a number without a name is shown as a number.
ASX_API void append_value(std::string& out, field_type type, std::uint64_t value, const name_book* names = nullptr);
[[nodiscard]] ASX_API std::string describe(const event& e, const name_book* names = nullptr);

/// Who knows names; empty for a thing without.
struct name_port {
  void* context = nullptr;
  std::string_view (*find)(void* context, field_type type, std::uint64_t id) = nullptr;
};
/// What describe says, without asking for memory. A value that needs no word leaves two blanks, or one at the end.
ASX_API void write_sentence(const text_port& out, const event& e, const name_port& names = {});

/// Nanoseconds as people say them: "0", "250 ns", "1.5 ms", "2 s".
ASX_API void append_time(std::string& out, std::uint64_t ns);
ASX_API void write_time(const text_port& out, std::uint64_t ns);

[[nodiscard]] ASX_API std::string_view name(lane_code code) noexcept;
[[nodiscard]] ASX_API std::string_view name(wait_code code) noexcept;
[[nodiscard]] ASX_API std::string_view name(limit_code code) noexcept;

}  // namespace asx
