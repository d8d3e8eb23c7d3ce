#include "asx/cli/journal_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "asx/cli/scenario_file.hpp"
#include "asx/cli/words.hpp"

namespace asx::cli {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

// ---- reading -------------------------------------------------------------------------------------------------------

journal_input::journal_input(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // Opening a pipe must not wait for its writer.
  struct stat about{};
  if (file_ < 0 || ::fstat(file_, &about) != 0) {
    const std::string why = reason(errno);
    if (file_ >= 0) ::close(file_);
    throw bad_data(fmt::format("{} cannot be read: {}", path_, why));
  }
  try {
    if (!S_ISREG(about.st_mode)) {
      throw bad_data(fmt::format("{} is {}; a journal is read from a file: save it to one first", path_,
                                 S_ISDIR(about.st_mode) ? "a directory" : "no regular file"));
    }
    size_ = static_cast<std::uint64_t>(about.st_size);
    if (size_ == 0) {
      throw bad_data(fmt::format("{} is empty: not even a header was written; run its program again", path_));
    }
    std::array<std::byte, 16> first{};
    const read_port in = descriptor_reader(file_);
    const std::int64_t n = in.read_at(in.context, 0, first);
    if (n < 0) throw bad_data(fmt::format("{} cannot be read: {}", path_, reason(static_cast<int>(-n))));
    is_binary_ = bin::begins_like_file_header(std::span(first).first(static_cast<std::size_t>(n)));
    if (!is_binary_) play_if_scenario();
    if (!is_binary_ && first[0] != std::byte{'{'}) {
      throw bad_data(
          fmt::format("{}, byte 0: this is no journal of asx: it begins neither with the mark of the binary form nor "
                      "with {{\"asx_journal\":, and no scenario; give a file that asx wrote",
                      path_));
    }
    const read_port whole = descriptor_reader(file_);
    const status opened = is_binary_ ? bin_.open(whole) : json_.open(whole);
    last_seq_ = header().seq_before;
    if (opened != status::ok) throw bad_data(damage());
    if (end() == file_end::cut) {
      throw bad_data(
          fmt::format("{}, {}: the file is cut inside its header, after {} bytes: no event was written; run its "
                      "program again",
                      path_, is_binary_ ? "byte 0" : "line 1", size_));
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

// A scenario takes the place of its journal: it is played into memory, and read from there.
void journal_input::play_if_scenario() {
  constexpr std::string_view mark = R"({"asx_journal")";
  std::array<std::byte, mark.size()> first{};
  const read_port in = descriptor_reader(file_);
  const std::int64_t n = in.read_at(in.context, 0, first);
  if (n == static_cast<std::int64_t>(mark.size()) && std::memcmp(first.data(), mark.data(), mark.size()) == 0) return;
  constexpr std::uint64_t longest_scenario = 16U << 20;
  if (size_ > longest_scenario || !is_scenario_text(read_text(path_))) return;
  const loaded_scenario played = load_scenario(path_);
  const scenario::play_options how = usual_options(*played.body);
  const int memory = ::memfd_create("journal of a scenario", MFD_CLOEXEC);
  if (memory < 0) throw bad_data(fmt::format("{} cannot be played: {}", path_, reason(errno)));
  ::close(std::exchange(file_, memory));
  write_journal(scenario::play(*played.body, how), how, true, descriptor_writer(file_));
  struct stat about{};
  if (::fstat(file_, &about) != 0) throw bad_data(fmt::format("{} cannot be played: {}", path_, reason(errno)));
  size_ = static_cast<std::uint64_t>(about.st_size);
  is_binary_ = true;
}

journal_input::~journal_input() {
  ::close(file_);
}

status journal_input::next_status(event& out) {
  const status got = is_binary_ ? bin_.next(out) : json_.next(out);
  if (got == status::ok) last_seq_ = out.seq;
  return got;
}

bool journal_input::next(event& out) {
  return next_status(out) == status::ok;
}

std::string journal_input::digest() const {
  return show(is_binary_ ? bin_.digest() : json_.digest());
}

std::string journal_input::damage() const {
  const std::string what = fmt::format("{}, {}", path_, fault().sentence);
  switch (fault().code) {
    case status::version: return what + ". Read it with the release of asx that wrote it, or a newer one";
    case status::io: return what + ". Check the disk, or read a copy";
    default: break;
  }
  if (events_read() == 0) return what + ". Take another copy of the file";
  return fmt::format("{}. `asx journal show {} --to {}` shows those; take the rest from another copy", what, path_,
                     last_seq_);
}

void journal_input::refuse_damage() const {
  if (end() == file_end::damaged) throw bad_data(damage());
}

std::string journal_input::cut_place() const {
  if (!is_binary_) return fmt::format("line {}", events_read() + 2);  // The header, and a line an event.
  bin_reader probe;
  std::uint64_t at = bin_reader::first_block_offset();
  block_info block;
  if (probe.open(descriptor_reader(file_)) == status::ok) {
    while (probe.read_block_header(at, block) == status::ok && !block.is_end) {
      const std::uint64_t after = at + bin::header_bytes + block.payload_bytes;
      if (after > size_) break;
      at = after;
    }
  }
  return fmt::format("byte {}", at);
}

void journal_input::tell_cut() const {
  if (end() != file_end::cut) return;
  std::fflush(stdout);
  fmt::print(stderr,
             "asx: {}, {}: the file is cut here: its writer died or its disk was full; what came before is intact\n",
             path_, cut_place());
}

event_source events_of(journal_input& in) noexcept {
  return {&in, [](void* self, event& out) { return static_cast<journal_input*>(self)->next_status(out); }};
}

std::vector<event> read_until(journal_input& from, std::uint64_t at) {
  if (at <= from.header().seq_before) {
    throw bad_data(fmt::format("{} has no event {}: it begins with event {}; ask for that one or a later one",
                               from.path(), at, from.header().seq_before + 1));
  }
  std::vector<event> out;
  for (event e; from.next(e);) {
    if (e.seq > at) return out;
    out.push_back(e);
  }
  from.refuse_damage();
  from.tell_cut();
  if (at != UINT64_MAX && at > from.last_seq()) {
    throw bad_data(fmt::format("{} has no event {}: it ends with event {}; ask for that one or an earlier one",
                               from.path(), at, from.last_seq()));
  }
  return out;
}

// ---- writing -------------------------------------------------------------------------------------------------------

bool wants_binary(const std::string& to) {
  if (to.ends_with(".asxj")) return true;
  if (to.ends_with(".jsonl")) return false;
  throw bad_word(
      fmt::format("'{}' does not say which form is wanted: a name that ends in .asxj is binary, one in "
                  ".jsonl is JSON Lines",
                  to));
}

output_file::output_file(std::string path, bool replace) : path_(std::move(path)), replace_(replace) {
  struct stat about{};
  if (::stat(path_.c_str(), &about) == 0) {
    if (!S_ISREG(about.st_mode)) {
      throw bad_data(fmt::format("{} is {}; give the name of a file", path_,
                                 S_ISDIR(about.st_mode) ? "a directory" : "no regular file"));
    }
    if (!replace_) throw bad_data(fmt::format("{} is there already; --force replaces it", path_));
  }
  partial_ = fmt::format("{}.partial-{}", path_, ::getpid());
  file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) refuse("cannot be made", errno);
}

output_file::~output_file() {
  if (file_ >= 0) ::close(file_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void output_file::refuse(std::string_view what, int error) const {
  throw bad_data(fmt::format("{} {}: {}; nothing was changed", path_, what, reason(error)));
}

std::int64_t output_file::write(std::span<const std::byte> bytes) noexcept {
  const write_port out = descriptor_writer(file_);
  std::size_t done = 0;
  while (done < bytes.size() && error_ == 0) {
    const std::int64_t n = out.write(out.context, bytes.subspan(done));
    if (n < 0) error_ = static_cast<int>(-n);
    if (n == 0) error_ = EIO;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return error_ == 0 ? static_cast<std::int64_t>(done) : -error_;
}

write_port output_file::bytes() noexcept {
  return {this, [](void* self, std::span<const std::byte> bytes) noexcept {
            return static_cast<output_file*>(self)->write(bytes);
          }};
}

text_port output_file::text() noexcept {
  return {this, [](void* self, std::string_view text) {  // finish() reports what failed here.
            static_cast<void>(static_cast<output_file*>(self)->write(std::as_bytes(std::span(text))));
          }};
}

void output_file::finish() {
  if (error_ == 0 && ::fsync(file_) != 0 && errno != EINVAL) error_ = errno;
  if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) refuse("cannot be written", error_);
}

void output_file::publish() {
  // A link refuses to replace, also what came to be since the first look; not every file system has links.
  if (!replace_) {
    if (::link(partial_.c_str(), path_.c_str()) == 0) return;  // The destructor takes the other name away.
    if (errno == EEXIST) throw bad_data(fmt::format("{} is there already; --force replaces it", path_));
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) refuse("cannot be named", errno);
  partial_.clear();
}

// ---- words ---------------------------------------------------------------------------------------------------------

void put_json(const nlohmann::ordered_json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

nlohmann::ordered_json json_number(std::uint64_t value) {
  constexpr std::uint64_t exact_in_double = (std::uint64_t{1} << 53) - 1;
  if (value > exact_in_double) return std::to_string(value);
  return value;
}

nlohmann::ordered_json to_json(const event& e) {
  std::string line;
  append_json(line, e);
  return nlohmann::ordered_json::parse(line);
}

std::uint64_t parse_seq(const std::string& word, std::uint64_t when_empty) {
  return word.empty() ? when_empty : parse_number(word, "number of an event");
}

}  // namespace asx::cli
