// asx/cli/journal_file.hpp - journals as files: told apart by their first bytes, read by either codec, written whole.
//
//     journal_input   89 41 53 58 ...  --> bin_reader  --+--> events, how the file ends, and a line that says so
//                     {"asx_journal":  --> json_reader --+
//                     a scenario       --> played        --+
//     output_file     TO.partial-PID --write, sync, name--> TO          an error on the way leaves no file at all
//
// 1  A file that cannot be read, or holds something that does not hold, is a bad_data: what, where, what to do.
// 2  A journal that is cut is the beginning of a run, and is read as that: its writer died. Every verb says so.
// 3  TO has its old content, or all of the new one, at every moment; it is replaced only when that was asked for.
//
// Cancel points: none. Threads: one. Lifetime: ports refer to the object that they came from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "asx/journal/codec_json.hpp"
#include "asx/journal/compare.hpp"
#include "asx/journal/file.hpp"
#include "asx/journal/port.hpp"

namespace asx::cli {

/// What was given makes sense and what lies there does not: main prints it and exits 1.
class bad_data : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class journal_input {
 public:
  /// bad_data when it is no file, or no journal, or when its header does not hold.
  explicit journal_input(std::string path);
  ~journal_input();
  journal_input(const journal_input&) = delete;
  journal_input& operator=(const journal_input&) = delete;

  /// False at the end, and where damage begins.
  bool next(event& out);
  /// The same with the reason: ok, or why not.
  [[nodiscard]] status next_status(event& out);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_binary() const noexcept { return is_binary_; }
  [[nodiscard]] bin_reader& binary() noexcept { return bin_; }
  [[nodiscard]] const journal_header& header() const noexcept { return is_binary_ ? bin_.header() : json_.header(); }
  [[nodiscard]] const journal_fault& fault() const noexcept { return is_binary_ ? bin_.fault() : json_.fault(); }
  [[nodiscard]] file_end end() const noexcept { return is_binary_ ? bin_.end() : json_.end(); }
  [[nodiscard]] std::uint64_t events_read() const noexcept {
    return is_binary_ ? bin_.events_read() : json_.events_read();
  }
  [[nodiscard]] std::uint64_t last_seq() const noexcept { return last_seq_; }
  [[nodiscard]] std::string digest() const;

  /// Throws what is wrong when the end was reached because of damage.
  void refuse_damage() const;
  [[nodiscard]] std::string damage() const;
  /// Where a cut file stops: "byte 4711", "line 12".
  [[nodiscard]] std::string cut_place() const;
  /// Says on standard error that the file is cut, if it is.
  void tell_cut() const;

 private:
  void play_if_scenario();

  int file_ = -1;
  bool is_binary_ = false;
  std::string path_;
  std::uint64_t size_ = 0, last_seq_ = 0;
  bin_reader bin_;
  json_reader json_;
};

/// For compare.hpp.
[[nodiscard]] event_source events_of(journal_input& in) noexcept;

/// The events of a journal up to number `at`, diagnostics included; bad_data when there is no such event, or damage
/// before it.
[[nodiscard]] std::vector<event> read_until(journal_input& from, std::uint64_t at = UINT64_MAX);

/// Which form a journal gets by its name: .asxj is binary, .jsonl is JSON Lines; bad_word for others.
[[nodiscard]] bool wants_binary(const std::string& to);

class output_file {
 public:
  /// bad_data when `path` is there and may not be replaced, or nothing can be made beside it.
  output_file(std::string path, bool replace);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  [[nodiscard]] write_port bytes() noexcept;
  [[nodiscard]] text_port text() noexcept;
  [[nodiscard]] const std::string& partial_path() const noexcept { return partial_; }

  /// Throws when a write failed; after it everything is in the partial file.
  void finish();
  /// Gives the partial file its name.
  void publish();

 private:
  std::int64_t write(std::span<const std::byte> bytes) noexcept;
  [[noreturn]] void refuse(std::string_view what, int error) const;

  std::string path_, partial_;
  bool replace_;
  int file_ = -1;
  int error_ = 0;
};

/// One JSON value on standard output. Names in journals and of files may be any bytes: what is no UTF-8 is replaced.
void put_json(const nlohmann::ordered_json& value);
/// A number as codec_json.hpp writes it: as a string when a reader of JSON would round it.
[[nodiscard]] nlohmann::ordered_json json_number(std::uint64_t value);
[[nodiscard]] nlohmann::ordered_json to_json(const event& e);

/// "an event number": the word must be a whole number, or bad_word says what was wanted.
[[nodiscard]] std::uint64_t parse_seq(const std::string& word, std::uint64_t when_empty);

}  // namespace asx::cli
