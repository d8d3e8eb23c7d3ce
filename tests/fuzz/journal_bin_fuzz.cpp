// Any bytes are given to the binary reader: no crash, no hang, bounded memory; what was accepted survives both codecs.
//
// The first byte chooses: 0 reads the bytes as they are; otherwise they are taken as the payload of a block with right
// checksums, because no fuzzer guesses a hash and everything behind it would stay untouched.
//
// By hand: clang++-19 -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/journal_bin_fuzz.cpp
//          asx/journal/{codec_bin,codec_json,digest,file,port}.cpp asx/base/{assert,hash,memory}.cpp -o
//          journal_bin_fuzz
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "asx/journal/codec_json.hpp"
#include "asx/journal/digest.hpp"
#include "asx/journal/file.hpp"

namespace {

using bytes = std::vector<std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

asx::write_port into(bytes& out) {
  return {&out, [](void* self, std::span<const std::byte> piece) noexcept -> std::int64_t {
            auto& all = *static_cast<bytes*>(self);
            all.insert(all.end(), piece.begin(), piece.end());
            return static_cast<std::int64_t>(piece.size());
          }};
}

/// A file whose only block has this payload and every checksum right, if the payload is one at all.
bytes framed(std::span<const std::byte> payload, std::uint32_t events, std::uint64_t seq_before) {
  asx::journal_header header = asx::journal_header::of("core", 1);
  header.seq_before = seq_before;
  asx::block_info block{.payload_bytes = static_cast<std::uint32_t>(payload.size()),
                        .events = events,
                        .seq_before = seq_before,
                        .payload_hash = asx::hash_bytes(payload)};
  block.chain = asx::bin::extend_chain(0, block.payload_hash);
  asx::digest_stream digest;
  asx::bin::codec_state state{.seq = seq_before};
  for (auto rest = payload; !rest.empty();) {
    asx::event e;
    if (asx::bin::decode_event(rest, state, e) != asx::bin::decode_error::none) break;
    asx::add_events(digest, {&e, 1});
  }
  block.digest = digest.value();
  const auto first = asx::bin::encode_file_header(header), second = asx::bin::encode_block_header(block);
  bytes out(first.begin(), first.end());
  out.insert(out.end(), second.begin(), second.end());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

void check(std::span<const std::byte> file) {
  asx::bin_reader reader;
  std::vector<asx::event> events;
  asx::event e;
  asx::status got = reader.open(asx::memory_reader(file));
  while (got == asx::status::ok && (got = reader.next(e)) == asx::status::ok) events.push_back(e);
  require(got == asx::status::ok || got == asx::status::empty || !reader.fault().sentence.empty());
  require(events.size() <= file.size());
  if (events.empty()) return;
  bytes again;
  asx::bin_writer writer;
  require(writer.open(asx::heap_memory(), into(again), reader.header()) == asx::status::ok);
  writer.append(events);
  require(writer.close() == asx::status::ok);
  std::string text;
  asx::json_writer json(asx::string_writer(text), reader.header());
  json.append(events);
  json.close();
  std::span<const std::byte> binary(again), lines = std::as_bytes(std::span(text));
  asx::bin_reader from_binary;
  asx::json_reader from_json;
  require(from_binary.open(asx::memory_reader(binary)) == asx::status::ok);
  require(from_json.open(asx::memory_reader(lines)) == asx::status::ok);
  for (const asx::event& expected : events) {
    require(from_binary.next(e) == asx::status::ok && e == expected);
    require(from_json.next(e) == asx::status::ok && e == expected);
  }
  require(from_binary.next(e) == asx::status::empty && from_binary.end() == asx::file_end::marked);
  require(from_json.next(e) == asx::status::empty && from_json.end() == asx::file_end::marked);
  require(from_binary.digest() == from_json.digest());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] == 0) {
    check(rest);
  } else {
    // How many events the payload claims to have is a guess that is often right: as many as can be decoded.
    asx::bin::codec_state state{.seq = data[0] == 1 ? 0U : std::uint64_t{data[0]} << 50};
    const std::uint64_t seq_before = state.seq;
    std::uint32_t events = 0;
    asx::event e;
    for (auto left = rest; !left.empty() && asx::bin::decode_event(left, state, e) == asx::bin::decode_error::none;)
      ++events;
    check(framed(rest, std::max(events, 1U), seq_before));
  }
  return 0;
}
