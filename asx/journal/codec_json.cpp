// Both directions are written by hand: the form is fixed, so emitting is a dozen appends and reading a dozen
// expectations. A general JSON parser would accept more than the format allows and allocate for each line.
#include "asx/journal/codec_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "asx/journal/digest.hpp"
#include "asx/journal/event_table.hpp"

namespace asx {
namespace {

constexpr std::uint64_t exact_in_double = (std::uint64_t{1} << 53) - 1;

void append_number(std::string& out, std::uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const bool quoted = value > exact_in_double;
  if (quoted) out += '"';
  out.append(digits, end);
  if (quoted) out += '"';
}

void append_field(std::string& out, std::string_view key, std::uint64_t value) {
  out += key;
  append_number(out, value);
}

/// The content digest covers what the digest of the run leaves out: header and diagnostics.
void add_header(digest_stream& content, const journal_header& header) noexcept {
  content.add(std::as_bytes(std::span(header.profile)));
  content.add(header.seed);
  content.add(header.seq_before);
}

bool equals_hex(std::string_view text, digest128 digest) noexcept {
  const auto digits = digest.hex();
  return text == std::string_view(digits.data(), digits.size());
}

/// Takes tokens off the front of a line; after the first that is not there, nothing matches any more.
class line_cursor {
 public:
  explicit line_cursor(std::string_view line) noexcept : rest_(line) {}

  bool take(std::string_view token) noexcept {
    skip_spaces();
    if (!good_ || rest_.substr(0, token.size()) != token) return good_ = false;
    rest_.remove_prefix(token.size());
    return true;
  }
  /// True and taken when it is there; no harm when not.
  bool take_if(std::string_view token) noexcept {
    skip_spaces();
    if (!good_ || rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool key(std::string_view name) noexcept { return take("\"") && take_raw(name) && take_raw("\"") && take(":"); }

  /// The characters up to the closing quote; no escapes, which no value of ours needs.
  std::string_view text() noexcept {
    if (!take("\"")) return {};
    const std::size_t n = rest_.find('"');
    if (n == std::string_view::npos || rest_.substr(0, n).find('\\') != std::string_view::npos) {
      good_ = false;
      return {};
    }
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n + 1);
    return out;
  }

  std::uint64_t number() noexcept {
    const bool quoted = take_if("\"");
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    const bool padded = length > 1 && rest_[0] == '0';
    if (error != std::errc() || length == 0 || padded || quoted != (value > exact_in_double)) {
      good_ = false;
      return 0;
    }
    rest_.remove_prefix(length);
    if (quoted) take_raw("\"");
    return value;
  }

  bool at_end() noexcept {
    skip_spaces();
    return good_ && rest_.empty();
  }
  [[nodiscard]] bool good() const noexcept { return good_; }

 private:
  void skip_spaces() noexcept {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
  }
  bool take_raw(std::string_view token) noexcept {
    if (!good_ || rest_.substr(0, token.size()) != token) return good_ = false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

// ---- writing -------------------------------------------------------------------------------------------------------

void append_json(std::string& out, const event& e) {
  append_field(out, "{\"seq\":", e.seq);
  append_field(out, ",\"time\":", e.time_ns);
  out += ",\"kind\":\"";
  out += name(e.kind);
  append_field(out, "\",\"worker\":", e.worker);
  append_field(out, ",\"subject\":", e.subject);
  append_field(out, ",\"object\":", e.object);
  append_field(out, ",\"a\":", e.a);
  append_field(out, ",\"b\":", e.b);
  append_field(out, ",\"cause\":", e.cause);
  if (const std::uint32_t flags = e.flags & ~event_flags::semantic; flags != 0) append_field(out, ",\"flags\":", flags);
  out += "}\n";
}

json_writer::json_writer(text_port out, const journal_header& header) : out_(out) {
  append_field(line_, "{\"asx_journal\":", json_format_version);
  append_field(line_, ",\"schema\":", event_schema);
  line_ += ",\"profile\":\"";
  line_ += header.profile_name();
  append_field(line_, "\",\"seed\":", header.seed);
  append_field(line_, ",\"seq_before\":", header.seq_before);
  line_ += "}\n";
  out_(line_);
  add_header(content_, header);
}

void json_writer::append(std::span<const event> events) {
  add_events(digest_, events);
  for (const event& e : events) content_.add(canonical_bytes(e));
  events_ += events.size();
  line_.clear();
  for (const event& e : events) {
    append_json(line_, e);
    if (line_.size() < 16'384) continue;
    out_(line_);
    line_.clear();
  }
  out_(line_);
}

event_sink json_writer::sink() noexcept {
  return {this,
          [](void* self, std::span<const event> batch) noexcept { static_cast<json_writer*>(self)->append(batch); }};
}

void json_writer::close() {
  const auto digits = digest_.value().hex();
  line_.clear();
  append_field(line_, "{\"end\":true,\"events\":", events_);
  line_ += ",\"digest\":\"";
  line_.append(digits.data(), digits.size());
  line_ += "\",\"content\":\"";
  const auto content = content_.value().hex();
  line_.append(content.data(), content.size());
  line_ += "\"}\n";
  out_(line_);
}

// ---- reading -------------------------------------------------------------------------------------------------------

status json_reader::fail(status code, std::string_view sentence) {
  fault_ = {code, line_number_, true, "line " + std::to_string(line_number_) + ": "};
  fault_.sentence += sentence;
  fault_.sentence += "; the " + std::to_string(events_read_) + " events before it are intact";
  end_ = file_end::damaged;
  return code;
}

json_reader::line_kind json_reader::read_line(std::string_view& line) {
  for (;;) {
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(from_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(to_);
    const auto newline = std::find(first, last, '\n');
    const auto length = static_cast<std::size_t>(newline - first);
    if (newline != last || length > json_line_max) {
      ++line_number_;
      line = {buffer_.data() + from_, length};
      from_ += length + 1;
      if (length <= json_line_max) return line_kind::whole;
      static_cast<void>(fail(status::corrupt, "the line is longer than any event"));
      return line_kind::refused;
    }
    if (from_ > 0) std::memmove(buffer_.data(), buffer_.data() + from_, to_ - from_);
    to_ -= from_;
    from_ = 0;
    const std::int64_t n = in_.read_at(in_.context, offset_, std::as_writable_bytes(std::span(buffer_).subspan(to_)));
    if (n < 0) {
      ++line_number_;
      static_cast<void>(fail(status::io, "the system refused to read (error " + std::to_string(-n) + ")"));
      return line_kind::refused;
    }
    if (n == 0) {
      if (to_ == 0) return line_kind::none;
      ++line_number_;
      line = {buffer_.data(), to_};
      from_ = to_;
      return line_kind::unfinished;
    }
    offset_ += static_cast<std::uint64_t>(n);
    to_ += static_cast<std::size_t>(n);
  }
}

status json_reader::open(read_port in) {
  *this = json_reader();
  in_ = in;
  buffer_.resize(65'536);
  std::string_view line;
  const line_kind got = read_line(line);
  if (got == line_kind::refused) return fault_.code;
  if (got == line_kind::none) {
    end_ = file_end::cut;
    return status::ok;
  }
  line_cursor at(line);
  if (!at.take("{") || !at.key("asx_journal")) {
    if (got == line_kind::unfinished && line.size() < 16) {
      end_ = file_end::cut;
      return status::ok;
    }
    return fail(status::corrupt, "this is no journal of asx: its first line does not begin with {\"asx_journal\":");
  }
  const std::uint64_t version = at.number();
  if (at.good() && version != json_format_version) {
    return fail(status::version, "the journal is of another version of the format");
  }
  const bool has_schema = at.take(",") && at.key("schema");
  const std::uint64_t schema = at.number();
  if (has_schema && at.good() && schema != event_schema) {
    return fail(status::version, "the events of the journal are of another schema");
  }
  std::string_view profile;
  if (at.take(",") && at.key("profile")) profile = at.text();
  std::uint64_t seed = 0, seq_before = 0;
  if (at.take(",") && at.key("seed")) seed = at.number();
  if (at.take(",") && at.key("seq_before")) seq_before = at.number();
  const bool whole = at.take("}") && at.at_end();
  if (!whole && got == line_kind::unfinished) {
    end_ = file_end::cut;
    return status::ok;
  }
  if (!whole || profile.size() > header_.profile.size()) return fail(status::corrupt, "the header is not complete");
  header_ = journal_header::of(profile, seed);
  header_.seq_before = seq_ = seq_before;
  if (!header_.is_well_formed() || header_.profile_name() != profile) {
    return fail(status::corrupt, "the profile has a name that no profile can have");
  }
  add_header(content_, header_);
  return status::ok;
}

status json_reader::next(event& out) {
  if (end_ != file_end::unknown) return fault_.code != status::ok ? fault_.code : status::empty;
  std::string_view line;
  const line_kind got = read_line(line);
  if (got == line_kind::refused) return fault_.code;
  if (got == line_kind::none) {
    end_ = file_end::cut;
    return status::empty;
  }
  line_cursor at(line);
  at.take("{");
  if (line_cursor mark = at; mark.key("end")) {
    mark.take("true");
    std::uint64_t events = 0;
    std::string_view digest, content;
    if (mark.take(",") && mark.key("events")) events = mark.number();
    if (mark.take(",") && mark.key("digest")) digest = mark.text();
    if (mark.take(",") && mark.key("content")) content = mark.text();
    if (mark.take("}") && mark.at_end()) {
      if (events != events_read_) return fail(status::corrupt, "the last line counts other events than there are");
      if (!equals_hex(digest, digest_.value()) || !equals_hex(content, content_.value())) {
        return fail(status::corrupt, "the last line has other digests: a line before it was changed");
      }
      if (read_line(line) != line_kind::none) {
        return fault_.code != status::ok ? fault_.code : fail(status::corrupt, "lines follow the last one");
      }
      end_ = file_end::marked;
      return status::empty;
    }
  }
  event e;
  const bool has_seq = at.key("seq");
  e.seq = at.number();
  if (at.take(",") && at.key("time")) e.time_ns = at.number();
  std::string_view kind;
  if (at.take(",") && at.key("kind")) kind = at.text();
  const event_info* const row = at.good() ? find_event_kind(kind) : nullptr;
  if (has_seq && at.good() && row == nullptr) {
    return fail(status::version, "the kind of the event is not known to this version of asx");
  }
  std::uint64_t worker = 0, flags = 0;
  if (at.take(",") && at.key("worker")) worker = at.number();
  if (at.take(",") && at.key("subject")) e.subject = at.number();
  if (at.take(",") && at.key("object")) e.object = at.number();
  if (at.take(",") && at.key("a")) e.a = at.number();
  if (at.take(",") && at.key("b")) e.b = at.number();
  if (at.take(",") && at.key("cause")) e.cause = at.number();
  const bool has_flags = at.take_if(",");
  if (has_flags) {
    at.key("flags");
    flags = at.number();
  }
  if (!at.take("}") || !at.at_end()) {
    if (got == line_kind::unfinished) {
      end_ = file_end::cut;
      return status::empty;
    }
    return fail(status::corrupt, "this is no event: a key is missing, out of order, or has a value of another type");
  }
  if ((flags & ~std::uint64_t{event_flags::known}) != 0) {
    return fail(status::version, "a flag of the event is not known to this version of asx");
  }
  if (has_flags && (flags == 0 || (flags & event_flags::semantic) != 0)) {
    return fail(status::corrupt, "the flags are not in their form");
  }
  e.kind = row->kind;
  e.flags = static_cast<std::uint32_t>(flags) | (is_semantic(e.kind) ? event_flags::semantic : 0U);
  if (worker > UINT16_MAX) return fail(status::corrupt, "the worker has a number that no worker can have");
  e.worker = static_cast<std::uint16_t>(worker);
  if (e.seq != seq_ + (e.semantic() ? 1U : 0U)) {
    return fail(status::corrupt, "event " + std::to_string(e.seq) + " follows event " + std::to_string(seq_) +
                                     ": one is missing or out of its place");
  }
  if (e.cause > e.seq || (e.semantic() && e.cause == e.seq)) {
    return fail(status::corrupt, "the event names a cause that does not come before it");
  }
  seq_ = e.seq;
  ++events_read_;
  add_events(digest_, {&e, 1});
  content_.add(canonical_bytes(e));
  out = e;
  return status::ok;
}

}  // namespace asx
