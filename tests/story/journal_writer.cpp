// Writes a generated run, in the form that a story test asks for. Meant to be killed at any moment.
//
//     journal_writer bin FILE SEED EVENTS [KILL_AT]     streams through the journal's sink, as a program would
//     journal_writer json|text|trace|sequence FILE SEED EVENTS
//     journal_writer read FILE                          reads a binary file and says what it has, and how it ends
//
// With KILL_AT the process kills itself, with SIGKILL, when it has written so many bytes: in the middle of a block,
// of a header, wherever that falls. FILE may be - for standard output.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "asx/journal/codec_json.hpp"
#include "asx/journal/export_text.hpp"
#include "asx/journal/export_trace.hpp"
#include "asx/journal/file.hpp"
#include "asx/journal/testing.hpp"

namespace {

int usage() {
  std::fputs(
      "usage: journal_writer bin|json|text|trace|sequence FILE SEED EVENTS [KILL_AT]\n       journal_writer read "
      "FILE\n",
      stderr);
  return 2;
}

struct mortal {
  int file;
  std::uint64_t bytes_left;

  asx::write_port port() {
    return {this, [](void* context, std::span<const std::byte> bytes) noexcept -> std::int64_t {
              auto& self = *static_cast<mortal*>(context);
              const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), self.bytes_left));
              const ssize_t n = ::write(self.file, bytes.data(), taken);
              self.bytes_left -= n > 0 ? static_cast<std::uint64_t>(n) : 0;
              if (self.bytes_left == 0) ::raise(SIGKILL);
              return n;
            }};
  }
};

int read_binary(int file) {
  asx::bin_reader reader;
  asx::event e;
  asx::status got = reader.open(asx::descriptor_reader(file));
  while (got == asx::status::ok) got = reader.next(e);
  constexpr const char* ends[] = {"unknown", "marked", "cut", "damaged"};
  const auto digest = reader.digest().hex();
  std::printf("events %llu end %s digest %.32s\n", static_cast<unsigned long long>(reader.events_read()),
              ends[static_cast<int>(reader.end())], digest.data());
  if (!reader.fault().sentence.empty()) std::printf("%s\n", reader.fault().sentence.c_str());
  return reader.end() == asx::file_end::damaged ? 1 : 0;
}

int write_binary(int file, std::uint64_t seed, std::uint64_t events, std::uint64_t kill_at) {
  mortal disk{file, kill_at};
  asx::bin_writer writer;
  if (writer.open(asx::heap_memory(), disk.port(), asx::journal_header::of("core", seed), {.block_events = 64}) !=
      asx::status::ok) {
    return 1;
  }
  asx::journal journal;
  asx::testing::open_or_abort(journal, {.capacity = 256}, writer.sink());
  asx::testing::stream_maker(journal, seed, {.events = events}).run();
  return writer.close() == asx::status::ok && writer.digest() == journal.digest() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "read") {
    const int file = ::open(argv[2], O_RDONLY);
    if (file >= 0) return read_binary(file);
    std::perror(argv[2]);
    return 1;
  }
  if (argc != 5 && argc != 6) return usage();
  const std::string_view form = argv[1], path = argv[2];
  const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10), events = std::strtoull(argv[4], nullptr, 10);
  const int file = path == "-" ? STDOUT_FILENO : ::open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0) {
    std::perror(argv[2]);
    return 1;
  }
  if (form == "bin")
    return write_binary(file, seed, events, argc == 6 ? std::strtoull(argv[5], nullptr, 10) : UINT64_MAX);
  const asx::testing::made_stream run = asx::testing::make_stream(seed, {.events = events});
  std::string text;
  if (form == "json") {
    asx::json_writer writer(asx::string_writer(text), asx::journal_header::of("core", seed));
    writer.append(run.events);
    writer.close();
  } else if (form == "text") {
    asx::export_text(asx::string_writer(text), run.events);
  } else if (form == "trace" || form == "sequence") {
    asx::export_trace(asx::string_writer(text), run.events,
                      form == "trace" ? asx::trace_axis::time : asx::trace_axis::sequence);
  } else {
    return usage();
  }
  const asx::write_port out = asx::descriptor_writer(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::int64_t n = out.write(out.context, std::as_bytes(std::span(text).subspan(at)));
    if (n <= 0) return 1;
    at += static_cast<std::size_t>(n);
  }
  return 0;
}
