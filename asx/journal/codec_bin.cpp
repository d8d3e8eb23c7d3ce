#include "asx/journal/codec_bin.hpp"

#include <algorithm>

#include "asx/base/assert.hpp"
#include "asx/journal/event_table.hpp"

namespace asx {

bool journal_header::is_well_formed() const noexcept {
  const std::string_view text = profile_name();
  for (const char c : text) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    if (!fine) return false;
  }
  return std::all_of(profile.begin() + static_cast<std::ptrdiff_t>(text.size()), profile.end(),
                     [](char c) { return c == 0; });
}

namespace bin {
namespace {

// The first byte is no ASCII, and the line ends show a file that was moved as text.
constexpr std::array<unsigned char, 8> file_magic = {0x89, 'A', 'S', 'X', 'J', '\r', '\n', 0x1a};
constexpr std::uint32_t block_magic = 0x314b4c42;  // "BLK1"
constexpr std::uint32_t end_magic = 0x31444e45;    // "END1"

enum field_mask : unsigned {
  has_time = 1U << 0,
  has_worker = 1U << 1,
  has_subject = 1U << 2,
  has_object = 1U << 3,
  has_a = 1U << 4,
  has_b = 1U << 5,
  has_cause = 1U << 6,
  has_flags = 1U << 7,
};

constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) noexcept {
  return (value >> 1) ^ (0 - (value & 1));
}

std::byte* put_varint(std::byte* out, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *out++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::byte>(value);
  return out;
}

decode_error take_varint(std::span<const std::byte>& bytes, std::uint64_t& value) noexcept {
  value = 0;
  for (unsigned i = 0; i < 10; ++i) {
    if (i == bytes.size()) return decode_error::short_of_bytes;
    const auto byte = static_cast<std::uint64_t>(bytes[i]);
    if (i == 9 && byte > 1) return decode_error::not_canonical;  // More than 64 bits.
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return decode_error::not_canonical;  // A shorter form exists.
      bytes = bytes.subspan(i + 1);
      return decode_error::none;
    }
  }
  return decode_error::not_canonical;
}

template <class T>
void put(header_block& out, std::size_t& at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out[at++] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}
template <class T>
T take(const header_block& in, std::size_t& at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(in[at++]) << (8 * i);
  return static_cast<T>(value);
}

constexpr std::size_t sealed_bytes = header_bytes - 8;

void seal(header_block& block) noexcept {
  std::size_t at = sealed_bytes;
  put(block, at, hash_bytes(std::span(block).first(sealed_bytes)));
}
bool is_sealed(const header_block& block) noexcept {
  std::size_t at = sealed_bytes;
  return take<std::uint64_t>(block, at) == hash_bytes(std::span(block).first(sealed_bytes));
}

}  // namespace

std::size_t encode_event(const event& e, codec_state& state, std::byte* out) noexcept {
  ASX_ASSERT(is_well_formed(e), "only events that a reader would accept are written");
  ASX_ASSERT(e.seq == state.seq + (e.semantic() ? 1U : 0U), "events are written in order and without a gap (R-113)");
  const std::uint32_t flags = e.flags & ~event_flags::semantic;  // The mark belongs to the kind.
  unsigned mask = 0;
  std::byte* at = put_varint(out + 1, static_cast<std::uint16_t>(e.kind));
  if (e.time_ns != state.time_ns) mask |= has_time, at = put_varint(at, zigzag(e.time_ns - state.time_ns));
  if (e.worker != state.worker) mask |= has_worker, at = put_varint(at, e.worker);
  if (e.subject != state.subject) mask |= has_subject, at = put_varint(at, zigzag(e.subject - state.subject));
  if (e.object != 0) mask |= has_object, at = put_varint(at, e.object);
  if (e.a != 0) mask |= has_a, at = put_varint(at, e.a);
  if (e.b != 0) mask |= has_b, at = put_varint(at, e.b);
  if (e.cause != 0) mask |= has_cause, at = put_varint(at, e.seq - e.cause);
  if (flags != 0) mask |= has_flags, at = put_varint(at, flags);
  *out = static_cast<std::byte>(mask);
  state = {e.seq, e.time_ns, e.subject, e.worker};
  return static_cast<std::size_t>(at - out);
}

decode_error decode_event(std::span<const std::byte>& bytes, codec_state& state, event& out) noexcept {
  if (bytes.empty()) return decode_error::short_of_bytes;
  const auto mask = static_cast<unsigned>(bytes[0]);
  bytes = bytes.subspan(1);
  std::uint64_t kind = 0;
  if (const auto error = take_varint(bytes, kind); error != decode_error::none) return error;
  if (find_event_kind(kind) == nullptr) return decode_error::unknown_kind;
  out = {};
  out.kind = static_cast<event_kind>(kind);
  out.seq = state.seq + (is_semantic(out.kind) ? 1U : 0U);
  out.flags = is_semantic(out.kind) ? event_flags::semantic : 0U;
  out.time_ns = state.time_ns;
  out.worker = state.worker;
  out.subject = state.subject;
  std::uint64_t number = 0;
  decode_error error = decode_error::none;
  // An announced field that equals its default has a shorter form, so it is refused.
  const auto announced = [&](unsigned bit, std::uint64_t boring) {
    if ((mask & bit) == 0 || error != decode_error::none) return false;
    error = take_varint(bytes, number);
    if (error == decode_error::none && number == boring) error = decode_error::not_canonical;
    return error == decode_error::none;
  };
  if (announced(has_time, 0)) out.time_ns += unzigzag(number);
  if (announced(has_worker, state.worker)) {
    if (number > UINT16_MAX) return decode_error::not_canonical;
    out.worker = static_cast<std::uint16_t>(number);
  }
  if (announced(has_subject, 0)) out.subject += unzigzag(number);
  if (announced(has_object, 0)) out.object = number;
  if (announced(has_a, 0)) out.a = number;
  if (announced(has_b, 0)) out.b = number;
  if (announced(has_cause, out.seq)) {
    if (number > out.seq || (number == 0 && out.semantic())) return decode_error::bad_cause;
    out.cause = out.seq - number;
  }
  if (announced(has_flags, 0)) {
    if ((number & ~std::uint64_t{event_flags::known}) != 0) return decode_error::unknown_flags;
    if ((number & event_flags::semantic) != 0) return decode_error::not_canonical;
    out.flags |= static_cast<std::uint32_t>(number);
  }
  if (error != decode_error::none) return error;
  state = {out.seq, out.time_ns, out.subject, out.worker};
  return decode_error::none;
}

std::string_view sentence(decode_error error) noexcept {
  switch (error) {
    case decode_error::none: return "the event is whole";
    case decode_error::short_of_bytes: return "the block ends inside an event";
    case decode_error::not_canonical: return "a number is not in its shortest form, or out of range";
    case decode_error::unknown_kind: return "the kind of an event is not known to this version of asx";
    case decode_error::unknown_flags: return "a flag of an event is not known to this version of asx";
    case decode_error::bad_cause: return "an event names a cause that does not come before it";
  }
  ASX_UNREACHABLE("a decode error has a sentence");
}

header_block encode_file_header(const journal_header& header) noexcept {
  ASX_ASSERT(header.is_well_formed(), "a profile is named by letters, digits, '_', '-' and '.'");
  header_block out{};
  std::size_t at = 0;
  for (const unsigned char c : file_magic) put(out, at, c);
  put(out, at, bin_format_version);
  put(out, at, static_cast<std::uint16_t>(header_bytes));
  put(out, at, event_schema);
  put(out, at, header.seed);
  for (const char c : header.profile) put(out, at, static_cast<unsigned char>(c));
  put(out, at, header.seq_before);
  put(out, at, std::uint64_t{0});
  ASX_ASSERT(at == sealed_bytes, "the fields fill the header up to its checksum");
  seal(out);
  return out;
}

status decode_file_header(const header_block& bytes, journal_header& out) noexcept {
  if (!begins_like_file_header(bytes)) return status::corrupt;
  std::size_t at = file_magic.size();
  const auto version = take<std::uint16_t>(bytes, at);
  const auto size = take<std::uint16_t>(bytes, at);
  const auto schema = take<std::uint32_t>(bytes, at);
  // A header that is sealed and strange comes from another version; one that is not sealed is damaged.
  if (!is_sealed(bytes)) return status::corrupt;
  if (version != bin_format_version || size != header_bytes || schema != event_schema) return status::version;
  out.seed = take<std::uint64_t>(bytes, at);
  for (char& c : out.profile) c = static_cast<char>(take<unsigned char>(bytes, at));
  out.seq_before = take<std::uint64_t>(bytes, at);
  if (take<std::uint64_t>(bytes, at) != 0) return status::version;
  return out.is_well_formed() ? status::ok : status::corrupt;
}

bool begins_like_file_header(std::span<const std::byte> bytes) noexcept {
  for (std::size_t i = 0; i < std::min(bytes.size(), file_magic.size()); ++i) {
    if (bytes[i] != static_cast<std::byte>(file_magic[i])) return false;
  }
  return true;
}

header_block encode_block_header(const block_info& block) noexcept {
  header_block out{};
  std::size_t at = 0;
  put(out, at, block.is_end ? end_magic : block_magic);
  put(out, at, block.payload_bytes);
  put(out, at, block.events);
  put(out, at, block.index);
  put(out, at, block.seq_before);
  put(out, at, block.digest.high);
  put(out, at, block.digest.low);
  put(out, at, block.chain);
  put(out, at, block.payload_hash);
  ASX_ASSERT(at == sealed_bytes, "the fields fill the header up to its checksum");
  seal(out);
  return out;
}

status decode_block_header(const header_block& bytes, block_info& out) noexcept {
  if (!is_sealed(bytes)) return status::corrupt;
  std::size_t at = 0;
  const auto magic = take<std::uint32_t>(bytes, at);
  if (magic != block_magic && magic != end_magic) return status::version;
  out.is_end = magic == end_magic;
  out.payload_bytes = take<std::uint32_t>(bytes, at);
  out.events = take<std::uint32_t>(bytes, at);
  out.index = take<std::uint32_t>(bytes, at);
  out.seq_before = take<std::uint64_t>(bytes, at);
  out.digest.high = take<std::uint64_t>(bytes, at);
  out.digest.low = take<std::uint64_t>(bytes, at);
  out.chain = take<std::uint64_t>(bytes, at);
  out.payload_hash = take<std::uint64_t>(bytes, at);
  const bool empty = out.payload_bytes == 0 && out.events == 0;
  // An event takes at least two bytes, so a header cannot promise more than its payload can hold.
  const bool fits = out.payload_bytes <= payload_bytes_max && out.events <= block_events_max &&
                    out.events <= out.payload_bytes / 2 && out.events > 0;
  return (out.is_end ? empty : fits) ? status::ok : status::corrupt;
}

std::uint64_t extend_chain(std::uint64_t chain, std::uint64_t payload_hash) noexcept {
  const std::array<std::uint64_t, 2> fields = {chain, payload_hash};
  return hash_fields(fields);
}

}  // namespace bin
}  // namespace asx
