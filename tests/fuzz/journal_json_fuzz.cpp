// Any text is given to the JSON Lines reader: no crash, no hang, bounded memory; what was accepted survives both
// codecs.
//
// The first byte chooses: 0 reads the text as it is; otherwise a right header line is put before it.
//
// By hand: as journal_bin_fuzz.cpp.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "asx/journal/codec_json.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

struct reading {
  std::vector<asx::event> events;
  asx::journal_header header;
  asx::file_end end = asx::file_end::unknown;
  asx::digest128 digest;
};

reading read(const std::string& text) {
  std::span<const std::byte> lines = std::as_bytes(std::span(text));
  reading out;
  asx::json_reader reader;
  asx::event e;
  asx::status got = reader.open(asx::memory_reader(lines));
  while (got == asx::status::ok && (got = reader.next(e)) == asx::status::ok) out.events.push_back(e);
  require(got == asx::status::ok || got == asx::status::empty || !reader.fault().sentence.empty());
  out.header = reader.header();
  out.end = reader.end();
  out.digest = reader.digest();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text;
  if (data[0] != 0) {
    asx::json_writer header(asx::string_writer(text), asx::journal_header::of("core", data[0]));
  }
  text.append(reinterpret_cast<const char*>(data + 1), size - 1);
  const reading first = read(text);
  require(first.events.size() <= text.size() / 32);  // No event is shorter than its keys.
  if (first.events.empty()) return 0;
  std::string again;
  asx::json_writer writer(asx::string_writer(again), first.header);
  writer.append(first.events);
  writer.close();
  const reading second = read(again);
  require(second.events == first.events && second.digest == first.digest && second.end == asx::file_end::marked);
  asx::bin::codec_state state{.seq = first.header.seq_before}, back{.seq = first.header.seq_before};
  for (const asx::event& e : first.events) {
    std::byte room[asx::bin::event_bytes_max];
    std::span<const std::byte> bytes(room, asx::bin::encode_event(e, state, room));
    asx::event decoded;
    require(asx::bin::decode_event(bytes, back, decoded) == asx::bin::decode_error::none && decoded == e &&
            bytes.empty());
  }
  return 0;
}
