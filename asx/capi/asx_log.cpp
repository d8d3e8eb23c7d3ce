// Lines for a program's log: the sentence that the journal has for an event, with names and what was said.
#include <algorithm>
#include <string_view>

#include "asx/capi/detail/log.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/kernel/extension.hpp"

namespace asx::capi {
namespace {

bool is_worth_a_line(const event& e) noexcept {
  switch (e.kind) {
    case event_kind::finalizer_failed:
    case event_kind::region_leaked:
    case event_kind::task_panicked:
    case event_kind::cleanup_failed:
    case event_kind::obligation_leaked:
    case event_kind::task_force_completed:
    case event_kind::cleanup_overrun: return true;
    default: return is_refusal(e.kind) && high_half(e.a) != static_cast<std::uint32_t>(limit_code::none);
  }
}

struct text_piece {
  text_code what;
  type_tag of;
  std::uint32_t number;
  std::array<char, 16> bytes;
};

text_piece piece_of(const event& e) noexcept {
  const std::uint32_t about = high_half(e.object);
  text_piece out{
      static_cast<text_code>(about & 0xff), static_cast<type_tag>((about >> 8) & 0xff), low_half(e.object), {}};
  for (std::size_t i = 0; i < 16; ++i) out.bytes[i] = static_cast<char>((i < 8 ? e.a : e.b) >> (8 * (i % 8)));
  return out;
}

/// Puts a piece in its place; how long the text is now.
template <std::size_t N>
std::size_t lay(const text_piece& p, std::array<char, N>& into) noexcept {
  std::size_t at = std::min<std::size_t>(std::size_t{p.number} * p.bytes.size(), N);
  for (const char c : p.bytes) {
    if (c == 0 || at == N) break;
    into[at++] = c;
  }
  return at;
}

/// Of a thing that is gone, from when it began; a journal can be read while it tells (journal::settle).
std::string_view name_in_journal(asx_runtime& rt, type_tag type, event_kind begun, std::uint64_t id) noexcept {
  const journal& log = rt.core.journal();
  std::size_t size = 0;
  for (std::uint64_t i = log.size(); i != 0; --i) {  // asx: bounded by what the journal keeps
    const event e = log.at(i - 1);
    if (e.subject != id) continue;
    if (e.kind == begun) break;
    if (e.kind != event_kind::text) continue;
    const text_piece p = piece_of(e);
    if (p.what == text_code::name && p.of == type) size = std::max(size, lay(p, rt.line.name));
  }
  return {rt.line.name.data(), size};
}

std::string_view find_name(void* self, field_type type, std::uint64_t id) {
  asx_runtime& rt = *static_cast<asx_runtime*>(self);
  if (type == field_type::task) {
    const std::string_view found = extension::name_of(rt.kernel(), task_id{id});
    if (!found.empty()) return found;
    // A refusal comes from one that is alive, and there may be many of them.
    if (!is_refusal(rt.line.about.kind)) return name_in_journal(rt, type_tag::task, event_kind::task_spawned, id);
  }
  if (type == field_type::region && !is_refusal(rt.line.about.kind)) {
    return name_in_journal(rt, type_tag::region, event_kind::region_created, id);
  }
  return {};
}

class line_text {
 public:
  [[nodiscard]] text_port port() noexcept {
    return {this, [](void* self, std::string_view text) { static_cast<line_text*>(self)->add(text); }};
  }
  void add(std::string_view text) noexcept {
    const std::size_t room = std::min(text.size(), bytes_.size() - 1 - size_);
    std::copy_n(text.data(), room, bytes_.data() + size_);
    size_ += room;
  }
  /// A value that needs no word leaves two blanks, or one at the end.
  void close_gaps() noexcept {
    const std::string_view all(bytes_.data(), size_);
    if (const std::size_t gap = all.find("  "); gap != std::string_view::npos) {
      std::copy(bytes_.data() + gap + 1, bytes_.data() + size_, bytes_.data() + gap);
      --size_;
    }
    while (size_ != 0 && bytes_[size_ - 1] == ' ') --size_;  // asx: bounded by the length of a line
  }
  /// What a terminal or a file of lines could take for more than a letter becomes a question mark.
  [[nodiscard]] const char* terminated() noexcept {
    std::replace_if(
        bytes_.data(), bytes_.data() + size_, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
        '?');
    bytes_[size_] = 0;
    return bytes_.data();
  }

 private:
  std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace

void end_line(asx_runtime& rt) noexcept {
  log_line& line = rt.line;
  if (!line.is_begun) return;
  line.is_begun = false;
  const event& e = line.about;
  line_text out;
  write_sentence(out.port(), e, {&rt, &find_name});
  out.close_gaps();
  const type_tag teller = e.kind == event_kind::task_panicked      ? type_tag::task
                          : e.kind == event_kind::finalizer_failed ? type_tag::region
                                                                   : type_tag{};
  if (line.size != 0 && line.teller == teller && line.told_by == e.subject) {
    out.add(": ");
    out.add({line.said.data(), line.size});
    line.size = 0;
  }
  const hook_guard guard(rt);
  rt.given.log.log(rt.given.log.context, is_refusal(e.kind) ? ASX_LOG_NOTE : ASX_LOG_WARNING, out.terminated());
}

void log_events(asx_runtime& rt, std::span<const event> batch) noexcept {
  log_line& line = rt.line;
  for (const event& e : batch) {
    if (e.kind == event_kind::text) {
      const text_piece p = piece_of(e);
      if (p.what != text_code::panic) continue;
      if (p.number == 0) {
        line.size = 0;
        line.teller = p.of;
        line.told_by = e.subject;
      }
      if (line.teller == p.of && line.told_by == e.subject) line.size = lay(p, line.said);
      continue;
    }
    end_line(rt);
    if (!is_worth_a_line(e)) continue;
    line.about = e;
    line.is_begun = true;
    if (e.kind == event_kind::task_panicked) line.size = 0;  // What it says is still to come.
  }
}

void deliver_log(asx_runtime& rt) noexcept {
  if (rt.given.log.log == nullptr) return;
  rt.core.journal().settle();
  end_line(rt);
}

}  // namespace asx::capi
