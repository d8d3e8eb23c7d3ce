#include "asx/journal/export_text.hpp"

#include <string>

namespace asx {
namespace {

void append_right(std::string& out, std::string_view text, std::size_t width) {
  if (text.size() < width) out.append(width - text.size(), ' ');
  out += text;
}

}  // namespace

void append_text_line(std::string& out, const event& e, const name_book* names) {
  append_right(out, e.semantic() ? std::to_string(e.seq) : "-", 10);
  std::string time;
  append_time(time, e.time_ns);
  append_right(out, time, 16);
  out += "  w" + std::to_string(e.worker) + "  " + describe(e, names);
  if (e.cause != 0) out += "   <- " + std::to_string(e.cause);
  out += "\n";
}

void export_text(text_port out, std::span<const event> events) {
  const name_book names(events);
  std::string lines;
  if (!events.empty() && events.front().seq > 1) {
    lines += "         ... the events before " + std::to_string(events.front().seq) + " are not here\n";
  }
  for (const event& e : events) {
    if (e.kind == event_kind::text) continue;
    append_text_line(lines, e, &names);
    if (lines.size() < 32'768) continue;
    out(lines);
    lines.clear();
  }
  out(lines);
}

}  // namespace asx
