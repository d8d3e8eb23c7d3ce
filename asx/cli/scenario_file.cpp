#include "asx/cli/scenario_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "asx/base/memory.hpp"
#include "asx/cli/journal_file.hpp"
#include "asx/cli/words.hpp"
#include "asx/journal/codec_json.hpp"
#include "asx/journal/file.hpp"
#include "asx/scenario/words.hpp"

namespace asx::cli {
namespace {

namespace files = std::filesystem;

constexpr std::size_t most_bytes = 16U << 20;

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (std::uint32_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// Beside it, or in a folder beside its own: fixtures lie in a folder for each domain.
std::string find_beside(const std::string& path, const std::string& id) {
  const files::path here = files::absolute(path).parent_path();
  const std::string name = id + ".json";
  std::error_code ignored;
  if (files::exists(here / name, ignored)) return (files::path(path).parent_path() / name).string();
  std::vector<files::path> folders;
  for (const auto& entry : files::directory_iterator(here.parent_path(), ignored)) {
    if (entry.is_directory(ignored)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const files::path& folder : folders) {
    if (files::exists(folder / name, ignored)) {
      return (files::path(path).parent_path() / ".." / folder.filename() / name).lexically_normal().string();
    }
  }
  throw bad_data(fmt::format(
      "{}: it is the same as '{}', and there is no file {} beside it or in a folder beside its own", path, id, name));
}

}  // namespace

std::string printable(std::string_view line) {
  std::string out(line);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = c == '\t' ? ' ' : '?';
  }
  return out;
}

std::string read_text(const std::string& path) {
  std::error_code error;
  const files::file_status about = files::status(path, error);
  if (!files::exists(about)) throw bad_data(fmt::format("'{}' cannot be read: there is no such file", path));
  if (files::is_directory(about)) throw bad_data(fmt::format("{} is a directory; give the name of a file", path));
  std::ifstream in(path, std::ios::binary);  // A pipe will do.
  std::string text;
  std::vector<char> piece(1U << 16);
  while (in && text.size() <= most_bytes) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    throw bad_data(fmt::format("{} cannot be read: {}", path, std::generic_category().message(errno)));
  }
  if (text.size() > most_bytes) throw bad_data(fmt::format("{} is no scenario: it has more than 16 MiB", path));
  return text;
}

bool is_scenario_text(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"scenario_dsl_version\"") != std::string_view::npos;
}

std::string describe(const std::string& path, std::string_view text, const std::vector<scenario::complaint>& wrong) {
  std::string out;
  for (const scenario::complaint& c : wrong) {
    if (!out.empty()) out += '\n';
    out += fmt::format("{}:{}:{}: {}{}{}", path, c.at.line, c.at.column, c.field, c.field.empty() ? "" : ": ", c.text);
    std::string_view line = line_of(text, c.at.line);
    if (c.at.line == 0 || line.empty()) continue;
    // A long line is shown around its place.
    constexpr std::size_t width = 100;
    std::size_t column = c.at.column == 0 ? 0 : c.at.column - 1;
    if (column > width / 2 && line.size() > width) {
      const std::size_t cut = std::min(column - width / 2, line.size() - width);
      line.remove_prefix(cut);
      column -= cut;
    }
    line = line.substr(0, width);
    if (column > line.size()) column = line.size();
    out += fmt::format("\n  {:>5} | {}\n        | {:>{}}", c.at.line, printable(line), "^", column + 1);
  }
  return out;
}

std::unique_ptr<scenario::scenario> parse_scenario(const std::string& path, bool is_fixture) {
  const std::string text = read_text(path);
  std::vector<scenario::complaint> wrong;
  auto out = scenario::read(text, is_fixture ? files::path(path).filename().string() : "", wrong);
  if (!wrong.empty()) throw bad_data(describe(path, text, wrong));
  return out;
}

loaded_scenario load_scenario(const std::string& path, bool is_fixture) {
  loaded_scenario out{
      .path = path, .id = {}, .title = {}, .domain = {}, .body_path = path, .body = parse_scenario(path, is_fixture)};
  out.id = out.body->id;
  out.title = out.body->title;
  out.domain = out.body->domain;
  if (out.body->same_as.empty()) return out;
  const std::string wanted = out.body->same_as;
  out.body_path = find_beside(path, wanted);
  out.body = parse_scenario(out.body_path, is_fixture);
  if (!out.body->same_as.empty()) {
    throw bad_data(fmt::format("{}: it is the same as '{}', which is itself the same as '{}'; name that one", path,
                               wanted, out.body->same_as));
  }
  return out;
}

scenario::profile parse_profile(const std::string& word) {
  const auto profiles = scenario::profile_words();
  const auto found = std::find(profiles.begin(), profiles.end(), word);
  if (found != profiles.end()) return static_cast<scenario::profile>(found - profiles.begin());
  throw bad_word(
      fmt::format("'{}' is no profile.{} There are tiny, core and server.", word, suggestion(word, profiles)));
}

scenario::play_options usual_options(const scenario::scenario& s) {
  scenario::play_options out;
  const bool has_core = std::find(s.profiles.begin(), s.profiles.end(), scenario::profile::core) != s.profiles.end();
  if (!has_core && !s.profiles.empty()) out.with = s.profiles.front();
  if (!s.seeds.empty()) out.seed = s.seeds.front();
  return out;
}

journal_header header_of(const scenario::play_options& how) {
  return journal_header::of(name(how.with), how.seed);
}

void write_journal(const scenario::verdict& v, const scenario::play_options& how, bool is_binary, write_port out) {
  if (is_binary) {
    bin_writer writer;
    if (writer.open(heap_memory(), out, header_of(how)) != status::ok) {
      throw bad_data("the journal cannot be written: its header was refused");
    }
    writer.append(v.journal);
    if (writer.close() != status::ok) throw bad_data("the journal cannot be written whole");
    return;
  }
  text_port text{&out, [](void* to, std::string_view piece) {
                   const write_port& port = *static_cast<write_port*>(to);
                   const auto bytes = std::as_bytes(std::span(piece));
                   for (std::size_t done = 0; done < bytes.size();) {
                     const std::int64_t n = port.write(port.context, bytes.subspan(done));
                     if (n <= 0) throw bad_data("the journal cannot be written whole");
                     done += static_cast<std::size_t>(n);
                   }
                 }};
  json_writer writer(text, header_of(how));
  writer.append(v.journal);
  writer.close();
}

std::string describe(const std::string& path, const std::vector<scenario::failure>& failures) {
  std::string out;
  for (const scenario::failure& f : failures) {
    out += fmt::format("{}:{}:{}: {}{}{}\n", path, f.at.line, f.at.column, f.step, f.step.empty() ? "" : ": ", f.text);
  }
  return out;
}

}  // namespace asx::cli
