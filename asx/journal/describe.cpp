#include "asx/journal/describe.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "asx/journal/port.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/outcome.hpp"
#include "asx/model/status.hpp"

namespace asx {
namespace {

constexpr std::string_view lanes[] = {"the cancel lane", "the timed lane", "the ready lane", "fallback cancel",
                                      "stall"};
constexpr std::string_view waits[] = {"something",  "a message of", "a slot of", "",
                                      "the end of", "the close of", "a turn of", "an answer from outside"};
constexpr std::string_view wakes[] = {"wake",  "spawn",  "yield",  "a message", "a slot", "disconnected",
                                      "timer", "joined", "closed", "cancel",    "sync",   "from outside"};
constexpr std::string_view polls[] = {"pending", "ready", "error", "panicked"};
constexpr std::string_view limits[] = {
    "no limit",     "tasks",           "regions",          "obligations", "channels", "timers",     "ready_queue",
    "cancel_queue", "channel_waiters", "channel_capacity", "memory",      "trace",    "mask_depth", "cleanup_stack",
    "finalizers",   "causes",          "region_tasks",     "waiters",     "sync",     "senders"};
constexpr std::string_view governors[] = {"no_preference", "meet_deadlines", "drain_obligations", "drain_regions"};
constexpr std::string_view leaves[] = {"served", "cancelled", "dropped", "disconnected"};

template <std::size_t N>
std::string_view pick(const std::string_view (&names)[N], std::uint64_t code) noexcept {
  return code < N ? names[code] : std::string_view();
}

/// What a number of this type is called; empty when the type or the number has no name.
std::string_view code_name(field_type type, std::uint64_t value) noexcept {
  switch (type) {
    case field_type::error:
    case field_type::status: {
      const status_info* const row = value <= UINT16_MAX ? find_status(static_cast<std::uint32_t>(value)) : nullptr;
      return row != nullptr ? row->name : std::string_view();
    }
    case field_type::cancel_kind:
      return value < cancel_kind_table.size() ? cancel_kind_table[static_cast<std::size_t>(value)].name
                                              : std::string_view();
    case field_type::cancel_phase:
      return value < cancel_phase_lifecycle.state_count()
                 ? cancel_phase_lifecycle.name(static_cast<cancel_phase>(value))
                 : std::string_view();
    case field_type::outcome: return value < 4 ? name(static_cast<outcome_kind>(value)) : std::string_view();
    case field_type::lane: return pick(lanes, value);
    case field_type::wait: return pick(waits, value);
    case field_type::wake: return pick(wakes, value);
    case field_type::poll: return pick(polls, value);
    case field_type::limit: return pick(limits, value);
    case field_type::governor: return pick(governors, value);
    case field_type::leave: return pick(leaves, value);
    default: return {};
  }
}

std::string_view noun(field_type type) noexcept {
  switch (type) {
    case field_type::region: return "region ";
    case field_type::task: return "task ";
    case field_type::obligation: return "obligation ";
    case field_type::channel: return "channel ";
    case field_type::permit: return "permit ";
    case field_type::waiter: return "waiter ";
    case field_type::timer: return "timer ";
    case field_type::worker: return "worker ";
    case field_type::sync: return "sync ";
    default: return {};
  }
}

/// Files name things by the tags of the specification: they never change, as the types of this table may.
type_tag tag_of(field_type type) noexcept {
  switch (type) {
    case field_type::region: return type_tag::region;
    case field_type::task: return type_tag::task;
    case field_type::obligation: return type_tag::obligation;
    case field_type::timer: return type_tag::timer;
    case field_type::channel: return type_tag::channel;
    case field_type::sync: return sync_tag;
    default: return type_tag{};
  }
}

/// What a task waits for decides what the object of its wait is.
field_type object_type(const event& e, const event_info& row) noexcept {
  if (e.kind != event_kind::task_waits) return row.object;
  switch (static_cast<wait_code>(low_half(e.a))) {
    case wait_code::recv:
    case wait_code::reserve: return field_type::channel;
    case wait_code::timer: return field_type::timer;
    case wait_code::join: return field_type::task;
    case wait_code::close: return field_type::region;
    case wait_code::sync: return field_type::sync;
    default: return field_type::thing;
  }
}

/// A wait for whoever of several ends next, which no number names.
bool is_of_several_ends(const event& e) noexcept {
  return e.kind == event_kind::task_waits && e.object == 0 &&
         low_half(e.a) == static_cast<std::uint32_t>(wait_code::join);
}

// How many bytes the character at the front of `text` has; 0 when it is no valid UTF-8.
std::size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Too long a form, a surrogate, or beyond the last character: the second byte tells.
  const bool bad = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                   (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return bad ? 0 : length;
}

// Texts go into JSON, dot files and terminals: what could mean something there, and what is no UTF-8, becomes a
// question mark.
std::string harmless(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const char c = text.front();
    const bool plain = bytes > 1 || (bytes == 1 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f);
    out += plain ? text.substr(0, bytes) : std::string_view("?");
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

}  // namespace

std::string_view name(lane_code code) noexcept {
  return pick(lanes, static_cast<std::uint64_t>(code));
}
std::string_view name(wait_code code) noexcept {
  return pick(waits, static_cast<std::uint64_t>(code));
}
std::string_view name(limit_code code) noexcept {
  return pick(limits, static_cast<std::uint64_t>(code));
}

name_book::name_book(std::span<const event> events) {
  for (const event& e : events) learn(e);
}

void name_book::learn(const event& e) {
  if (e.kind != event_kind::text) return;
  const std::uint32_t about = high_half(e.object);
  text& entry = texts_[{static_cast<text_code>(about & 0xff), static_cast<type_tag>((about >> 8) & 0xff), e.subject}];
  if (low_half(e.object) == 0) entry.raw.clear();  // The first piece of a text starts it anew.
  if (entry.raw.size() >= 256) return;
  for (const std::uint64_t half : {e.a, e.b}) {
    for (unsigned i = 0; i < 8; ++i) {
      const auto c = static_cast<char>(half >> (8 * i));
      if (c != 0) entry.raw += c;
    }
  }
  entry.shown = harmless(entry.raw);
}

std::string_view name_book::find(field_type type, std::uint64_t id, text_code what) const {
  const auto found = texts_.find({what, tag_of(type), id});
  return found == texts_.end() ? std::string_view() : std::string_view(found->second.shown);
}

void append_time(std::string& out, std::uint64_t ns) {
  write_time(string_writer(out), ns);
}

void write_time(const text_port& out, std::uint64_t ns) {
  if (ns == UINT64_MAX) return out("never");
  struct scale {
    std::uint64_t ns;
    std::string_view name;
  };
  constexpr scale scales[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}};
  for (const scale& u : scales) {
    if (ns < u.ns) continue;
    out << ns / u.ns;
    if (std::uint64_t rest = ns % u.ns; rest != 0) {
      out << ".";
      for (std::uint64_t unit = u.ns / 10; rest != 0; unit /= 10) {  // asx: bounded by the digits of a scale
        out << rest / unit;
        rest %= unit;
      }
    }
    out << u.name;
    return;
  }
  out << ns;
  if (ns != 0) out << " ns";
}

namespace {

void write_value(const text_port& out, field_type type, std::uint64_t value, const name_port& names) {
  if (type == field_type::time) return write_time(out, value);
  if (type == field_type::task && value == 0) return out("outside");
  if (type == field_type::region && value == 0) return out("no region");
  if (type == field_type::place) {
    const auto place = static_cast<std::uint32_t>(value);
    write_value(out, field_type::lane, static_cast<std::uint64_t>(place_lane(place)), names);
    if (place_worker(place) != 0) out << " of worker " << std::uint64_t{place_worker(place)};
    return;
  }
  if (type == field_type::error && value == 0) return;  // An outcome without an error says enough.
  if (type == field_type::wait && value == static_cast<std::uint64_t>(wait_code::timer)) return;  // "waits for timer 3"
  if (const std::string_view code = code_name(type, value); !code.empty()) return out(code);
  std::string_view called = names.find == nullptr ? std::string_view() : names.find(names.context, type, value);
  std::string_view kind = noun(type);
  if (type == field_type::sync && !called.empty()) {  // "mutex stock": the noun comes before the name.
    const std::size_t end = std::min(called.find(' '), called.size());
    kind = called;
    kind.remove_suffix(called.size() - end);
    called.remove_prefix(std::min(end + 1, called.size()));
  }
  out << kind;
  if (type == field_type::sync && kind.back() != ' ') out << " ";
  out << value;
  if (!called.empty()) out << " '" << called << "'";
}

void write_operand(const text_port& out, const operand_info& info, bool high, std::uint64_t value,
                   const name_port& names) {
  if (high) {
    write_value(out, info.high, high_half(value), names);
  } else {
    write_value(out, info.low, info.high == field_type::none ? value : low_half(value), names);
  }
}

name_port names_in(const name_book* book) noexcept {
  if (book == nullptr) return {};
  return {const_cast<name_book*>(book), [](void* self, field_type type, std::uint64_t id) {
            return static_cast<const name_book*>(self)->find(type, id);
          }};
}

}  // namespace

void append_value(std::string& out, field_type type, std::uint64_t value, const name_book* names) {
  write_value(string_writer(out), type, value, names_in(names));
}

void write_sentence(const text_port& out, const event& e, const name_port& names) {
  const event_info* const row = find_event_kind(static_cast<std::uint64_t>(e.kind));
  if (row == nullptr) {
    out << "an event of the unknown kind " << std::uint64_t{static_cast<std::uint16_t>(e.kind)};
    return;
  }
  // Nobody asked for this one: it came with the close of a region, and a zero in place of a task is not the outside.
  const bool is_passed_on =
      e.kind == event_kind::cancel_requested && (e.flags & event_flags::passed_on) != 0 && e.b == 0;
  const std::string_view text = is_passed_on ? "cancel of {s} passed on by {o}: {a}" : row->sentence;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' || i + 2 >= text.size() || text[i + 2] != '}') {
      out << std::string_view(text.data() + i, 1);  // Not substr: that brings the C++ library along.
      continue;
    }
    switch (text[i + 1]) {
      case 's': write_value(out, row->subject, e.subject, names); break;
      case 'o':
        if (is_of_several_ends(e)) {
          out << "one of several tasks";
          break;
        }
        write_value(out, object_type(e, *row), e.object, names);
        break;
      case 'a': write_operand(out, row->a, false, e.a, names); break;
      case 'A': write_operand(out, row->a, true, e.a, names); break;
      case 'b': write_operand(out, row->b, false, e.b, names); break;
      default: write_operand(out, row->b, true, e.b, names); break;
    }
    i += 2;
  }
}

std::string describe(const event& e, const name_book* names) {
  std::string out;
  write_sentence(string_writer(out), e, names_in(names));
  // A value that needs no word leaves two spaces, or one at the end.
  if (const std::size_t gap = out.find("  "); gap != std::string::npos) out.erase(gap, 1);
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if ((e.flags & event_flags::forced) != 0) out += " (by the kernel)";
  return out;
}

}  // namespace asx
