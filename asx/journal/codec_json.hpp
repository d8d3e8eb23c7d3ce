// asx/journal/codec_json.hpp - a journal as JSON Lines: one object an event, for eyes, diffs and other people's tools.
//
//     {"asx_journal":1,"schema":1,"profile":"core","seed":42,"seq_before":0}
//     {"seq":1,"time":0,"kind":"runtime_started","worker":0,"subject":1,"object":0,"a":42,"b":1,"cause":0}
//     ...
//     {"end":true,"events":17,"digest":"0123456789abcdef0123456789abcdef","content":"..."}
//
// 1  Lossless both ways, and the digest is that of the binary codec.
// 2  Keys are always there and always in this order, but for "flags", which follows "cause" when it is not 0. A number
//    above 2^53 - 1 is written as a string, because most readers of JSON would round it.
// 3  The reader takes this form only (spaces between tokens are allowed): anything else is corrupt with its line
//    number; a version, schema or kind that it does not know is status::version. A file without its last lines is cut.
// 4  The last line holds the digest of the run and a second one over everything, header and diagnostics included.
// 5  A line has at most json_line_max bytes, so the reader's memory is bounded.
//
// Cancel points: none. Threads: one owner each. Lifetime: ports outlive writer and reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/journal/codec_bin.hpp"
#include "asx/journal/file.hpp"
#include "asx/journal/journal.hpp"
#include "asx/journal/port.hpp"

namespace asx {

inline constexpr std::uint64_t json_format_version = 1;
inline constexpr std::size_t json_line_max = 1'024;

/// One event as one line, newline included.
ASX_API void append_json(std::string& out, const event& e);

class ASX_API json_writer {
 public:
  json_writer(text_port out, const journal_header& header);

  void append(std::span<const event> events);
  [[nodiscard]] event_sink sink() noexcept;
  /// Writes the last line, which says how many events there were and what their digest is.
  void close();

 private:
  text_port out_;
  digest_stream digest_, content_;
  std::uint64_t events_ = 0;
  std::string line_;
};

class ASX_API json_reader {
 public:
  /// ok, also for a file that is cut in its first line; corrupt, version or io, with fault().
  [[nodiscard]] status open(read_port in);
  /// As bin_reader::next.
  [[nodiscard]] status next(event& out);

  [[nodiscard]] const journal_header& header() const noexcept { return header_; }
  [[nodiscard]] const journal_fault& fault() const noexcept { return fault_; }
  [[nodiscard]] file_end end() const noexcept { return end_; }
  [[nodiscard]] std::uint64_t events_read() const noexcept { return events_read_; }
  /// Of the events that next() has given.
  [[nodiscard]] digest128 digest() const noexcept { return digest_.value(); }

 private:
  enum class line_kind : std::uint8_t { whole, unfinished, none, refused };
  line_kind read_line(std::string_view& line);
  status fail(status code, std::string_view sentence);

  read_port in_{};
  journal_header header_{};
  journal_fault fault_{};
  file_end end_ = file_end::unknown;
  std::uint64_t offset_ = 0, line_number_ = 0, events_read_ = 0, seq_ = 0;
  digest_stream digest_, content_;
  std::vector<char> buffer_;
  std::size_t from_ = 0, to_ = 0;
};

}  // namespace asx
