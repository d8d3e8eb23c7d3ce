// asx/cli/scenario_file.hpp - scenarios as files: read whole, checked, and played into journals.
//
// 1  A file that cannot be read, or makes no sense, is a bad_data with every complaint: file, line, column, field, what
//    would be right, and the line itself.
// 2  A scenario that is `same_as` another is read from where that one lies: beside it, or in a folder beside its own.
// 3  Where a journal is wanted, a scenario will do: it is played, and its journal taken.
//
// Cancel points: none. Threads: one. Lifetime: what is loaded owns its text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asx/journal/codec_bin.hpp"
#include "asx/journal/port.hpp"
#include "asx/scenario/player.hpp"
#include "asx/scenario/scenario.hpp"

namespace asx::cli {

struct loaded_scenario {
  std::string path;       // Of the file that was asked for,
  std::string id, title;  // and what it says of itself.
  std::string domain;
  std::string body_path;  // Of the file that is played: the same, but for a `same_as`.
  std::unique_ptr<scenario::scenario> body;
};

/// The whole file; bad_data when that is not possible. Files above 16 MiB are refused: no scenario is that long.
[[nodiscard]] std::string read_text(const std::string& path);
/// By its first words, before it is read: a journal never has them.
[[nodiscard]] bool is_scenario_text(std::string_view text) noexcept;
/// One line for each complaint, each with the line of the file that it is about.
[[nodiscard]] std::string describe(const std::string& path, std::string_view text,
                                   const std::vector<scenario::complaint>& wrong);
/// As read by asx/scenario, without following `same_as`; bad_data with the complaints. A fixture is held to more: its
/// name, its domain, what it pins.
[[nodiscard]] std::unique_ptr<scenario::scenario> parse_scenario(const std::string& path, bool is_fixture = false);
[[nodiscard]] loaded_scenario load_scenario(const std::string& path, bool is_fixture = false);
/// What a terminal cannot show, or would obey, is a question mark.
[[nodiscard]] std::string printable(std::string_view line);

/// The profile of a word; bad_word with the nearest one.
[[nodiscard]] scenario::profile parse_profile(const std::string& word);
/// What a scenario is played with when nobody says: core, if it lists that, and its first seed.
[[nodiscard]] scenario::play_options usual_options(const scenario::scenario& s);
[[nodiscard]] journal_header header_of(const scenario::play_options& how);

/// The journal of a verdict, written by either codec.
void write_journal(const scenario::verdict& v, const scenario::play_options& how, bool is_binary, write_port out);
/// "FILE:12:5: steps[3] close: expected ok, got region_not_open", one line for each.
[[nodiscard]] std::string describe(const std::string& path, const std::vector<scenario::failure>& failures);

}  // namespace asx::cli
