// Prints docs/spec/events.md from the table of event kinds, so that the two cannot disagree.
//
//     event_tables                  to standard output
//     event_tables --out FILE       into FILE
//     event_tables --check FILE     exit 1 with "stale: run ./x docs" when FILE is not what would be printed
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "asx/journal/describe.hpp"
#include "asx/journal/event_table.hpp"

namespace {

using asx::field_type;

std::string_view type_name(field_type type) {
  constexpr std::string_view names[] = {
      "",     "number", "region",   "task",        "obligation",   "channel", "permit", "waiter", "timer", "worker",
      "time", "status", "status",   "cancel kind", "cancel phase", "outcome", "lane",   "place",  "wait",  "wake",
      "poll", "limit",  "governor", "leave",       "hash",         "text",    "thing",  "sync"};
  static_assert(std::size(names) == static_cast<std::size_t>(field_type::sync) + 1);
  return names[static_cast<std::size_t>(type)];
}

std::string operand(const asx::operand_info& info) {
  if (info.low == field_type::none) return "-";
  std::string out(type_name(info.low));
  if (info.high != field_type::none) out += "; " + std::string(type_name(info.high));
  return out + ": " + std::string(info.meaning);
}

std::string identity(field_type type) {
  return type == field_type::none ? "-" : std::string(type_name(type));
}

struct group {
  unsigned first;
  std::string_view title;
};
constexpr group groups[] = {
    {100, "Regions"},  {200, "Tasks"},      {300, "Obligations"}, {400, "Cancellation"},
    {500, "Channels"}, {600, "Timers"},     {700, "Scheduler"},   {800, "Runtime and its limits"},
    {900, "Inputs"},   {950, "Diagnostics"}};

void print_codes(std::ostream& out, std::string_view title, field_type type) {
  out << "- " << title << ": ";
  for (std::uint64_t code = 0; code < 64; ++code) {
    std::string text;
    asx::append_value(text, type, code);
    if (code > 0 && text == std::to_string(code)) break;
    out << (code == 0 ? "" : ", ") << code << " " << (text.empty() ? "a timer" : text);
  }
  out << ".\n";
}

std::string page() {
  std::ostringstream out;
  out << "# Events\n\n"
         "<!-- Printed by tools/event_tables from asx/journal/event_table.hpp. Do not edit: run ./x docs. -->\n\n"
         "Every kind of event that a journal can hold. Numbers and names are given once and never changed; a kind "
         "that\n"
         "is no longer used keeps its number. Kinds below 950 are semantic: they take a sequence number and enter the\n"
         "digest. Kinds from 950 on are diagnostics: they carry the number of the semantic event before them and "
         "enter\n"
         "no digest.\n\n"
         "An operand may hold two numbers, written `low; high`: the low 32 bits and the high 32 bits. An id is a\n"
         "creation number, never a slot or an address; 0 means absent. Times are nanoseconds of the run's own time.\n"
         "`cause` is the number of the event that led to this one, 0 when there is none.\n";
  const group* at = groups;
  for (const asx::event_info& row : asx::event_table) {
    const auto number = static_cast<unsigned>(row.kind);
    if (at != std::end(groups) && number >= at->first) {
      out << "\n## " << at->title
          << "\n\n| number | name | component | subject | object | a | b | in words |\n"
             "|---|---|---|---|---|---|---|---|\n";
      ++at;
    }
    out << "| " << number << " | `" << row.name << "` | " << row.component << " | " << identity(row.subject) << " | "
        << identity(row.object) << " | " << operand(row.a) << " | " << operand(row.b) << " | " << row.sentence
        << " |\n";
  }
  out << "\n## Codes\n\n";
  print_codes(out, "lane", field_type::lane);
  print_codes(out, "wait", field_type::wait);
  print_codes(out, "wake", field_type::wake);
  print_codes(out, "poll", field_type::poll);
  print_codes(out, "limit", field_type::limit);
  print_codes(out, "governor", field_type::governor);
  print_codes(out, "leave", field_type::leave);
  print_codes(out, "outcome", field_type::outcome);
  print_codes(out, "cancel kind", field_type::cancel_kind);
  print_codes(out, "cancel phase", field_type::cancel_phase);
  out << "- status: the numbers of asx/model/status.hpp.\n"
         "- flags: 1 semantic, 2 forced (the kernel did it in the task's stead), 4 passed on (a parent's close or "
         "cancel\n"
         "  led to it), 8 finalizer, 16 tracked permit.\n";
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = page();
  if (argc == 1) {
    std::cout << text;
    return 0;
  }
  const std::string_view option = argc == 3 ? argv[1] : "";
  if (option == "--out") {
    std::ofstream file(argv[2], std::ios::binary);
    file << text;
    if (file.flush()) return 0;
    std::perror(argv[2]);
    return 1;
  }
  if (option == "--check") {
    std::ifstream file(argv[2], std::ios::binary);
    std::ostringstream held;
    held << file.rdbuf();
    if (file && held.str() == text) return 0;
    std::cerr << argv[2] << ": stale: run ./x docs\n";
    return 1;
  }
  std::cerr << "usage: event_tables [--out FILE | --check FILE]\n";
  return 2;
}
