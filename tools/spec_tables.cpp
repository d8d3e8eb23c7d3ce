// spec_tables - prints the pages of docs/spec that are data: lifecycles.md, status.md, cancel_kinds.md.
//
//     spec_tables DIR            writes the pages
//     spec_tables --check DIR    exits 1 when one is stale, and says what to do
//
// The tables in asx/model are the only source: a page that could be edited by hand would one day disagree.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "asx/model/cancel_kind.hpp"
#include "asx/model/lifecycle.hpp"
#include "asx/model/status.hpp"

namespace {

struct page {
  std::string name;
  std::string text;
};

constexpr std::string_view printed_by =
    "<!-- Printed from asx/model by tools/spec_tables.cpp: edit the tables there, then run ./x docs. -->\n\n";

std::string code(std::string_view word) {
  return "`" + std::string(word) + "`";
}

std::string padded(std::string_view word, std::size_t width) {
  std::string out(word);
  if (out.size() < width) out.append(width - out.size(), ' ');
  return out;
}

// Which move each pair is, in the shape of the specification's matrix; a dot is a refusal.
template <class Table>
void print_matrix(std::ostream& out, const Table& table) {
  using state = decltype(table.rows()[0].from);
  std::size_t width = 0;
  for (const auto& s : table.states()) width = std::max(width, s.name.size());
  out << "```\n" << padded("from \\ to", width);
  for (const auto& s : table.states()) out << "  " << s.name;
  out << "\n";
  for (std::size_t from = 0; from < table.state_count(); ++from) {
    out << padded(table.states()[from].name, width);
    std::string line;
    for (std::size_t to = 0; to < table.state_count(); ++to) {
      const auto* row = table.find(static_cast<state>(from), static_cast<state>(to));
      line += "  " + padded(row != nullptr ? row->id : ".", table.states()[to].name.size());
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
  out << "```\n\n";
}

template <class Table>
void print_machine(std::ostream& out, const Table& table, std::string_view title, std::string_view laws) {
  using state = decltype(table.rows()[0].from);
  out << "## " << title << "\n\n"
      << table.pair_count() << " pairs: " << table.legal_pair_count() << " legal, " << table.forbidden_pair_count()
      << " refused. " << laws << "\n\n";

  out << "```mermaid\nstateDiagram-v2\n  [*] --> " << table.states()[0].name << "\n";
  for (const auto& row : table.rows()) {
    out << "  " << table.name(row.from) << " --> " << table.name(row.to) << ": " << row.id << " " << table.name(row.on)
        << "\n";
  }
  for (std::size_t s = 0; s < table.state_count(); ++s) {
    if (table.is_terminal(static_cast<state>(s))) out << "  " << table.states()[s].name << " --> [*]\n";
  }
  out << "```\n\n";
  print_matrix(out, table);

  out << "| state | C name | what holds | a move that is not drawn |\n|---|---|---|---|\n";
  for (std::size_t s = 0; s < table.state_count(); ++s) {
    const auto& info = table.states()[s];
    asx::status refusal = asx::status::ok;
    for (std::size_t to = 0; to < table.state_count() && refusal == asx::status::ok; ++to) {
      refusal = table.check(static_cast<state>(s), static_cast<state>(to));
    }
    out << "| " << code(info.name) << " | " << code(info.c_name) << " | " << info.meaning << " | "
        << (refusal == asx::status::ok ? std::string("-") : code(asx::name(refusal))) << " |\n";
  }
  out << "\n| move | from | on | to | effect |\n|---|---|---|---|---|\n";
  for (const auto& row : table.rows()) {
    out << "| " << row.id << " | " << code(table.name(row.from)) << " | " << code(table.name(row.on)) << " | "
        << code(table.name(row.to)) << " | " << row.effect << " |\n";
  }
  out << "\n";
}

page lifecycles() {
  std::ostringstream out;
  out << printed_by << "# The five state machines\n\n"
      << "Each diagram, matrix and table below is printed from `asx/model/lifecycle.hpp`, the same data that moves\n"
      << "states at run time and that the tests walk pair by pair. A dot in a matrix is a refusal that changes\n"
      << "nothing.\n\n";
  print_machine(out, asx::region_lifecycle, "Region", "R-01, R-03; the laws around it are in [regions](regions.md).");
  print_machine(out, asx::task_lifecycle, "Task",
                "R-16; T6, T9 and T12 strengthen the reason and move nothing. See [tasks](tasks.md).");
  print_machine(out, asx::obligation_lifecycle, "Obligation", "R-29, R-30; see [obligations](obligations.md).");
  print_machine(out, asx::cancel_phase_lifecycle, "Cancel phase",
                "R-36, R-37: a rank that does not fall is accepted. See [cancellation](cancellation.md).");
  print_machine(
      out, asx::channel_lifecycle, "Channel",
      "R-57: the state is derived from the two sides, so what is not drawn cannot happen, and staying where it "
      "is is no move. See [channels](channels.md).");
  return {"lifecycles.md", out.str()};
}

page statuses() {
  std::ostringstream out;
  out << printed_by << "# Status codes\n\n"
      << "What became of a call (R-46, R-116, R-141). 0 to 27 are the specification's, from 100 on are asx's own; a\n"
      << "number is never reused. A refusal leaves the object it refused as it was; where a code also asks for "
         "something\n"
      << "(a waker, a cancellation), its sentence says so.\n\n"
      << "| number | C++ | C | group | what it says |\n|---|---|---|---|---|\n";
  for (const auto& row : asx::status_table) {
    out << "| " << static_cast<unsigned>(row.code) << " | " << code(row.name) << " | " << code(row.c_name) << " | "
        << row.group << " | " << row.sentence << " |\n";
  }
  return {"status.md", out.str()};
}

page cancel_kinds() {
  std::ostringstream out;
  out << printed_by << "# Cancel kinds\n\n"
      << "Why a task is cancelled (R-45, R-46). The higher severity wins when two reasons meet; the cleanup quota is "
         "the\n"
      << "number of polls between acknowledgement and force-completion (R-24), and the cleanup priority replaces the\n"
      << "task's own (U-13). See [cancellation](cancellation.md).\n\n"
      << "| ordinal | C++ | C | severity | cleanup quota | cleanup priority | category "
         "|\n|---|---|---|---|---|---|---|\n";
  for (const auto& row : asx::cancel_kind_table) {
    out << "| " << static_cast<unsigned>(row.kind) << " | " << code(row.name) << " | " << code(row.c_name) << " | "
        << static_cast<unsigned>(row.severity) << " | " << row.cleanup_quota << " | "
        << static_cast<unsigned>(row.cleanup_priority) << " | " << row.category << " |\n";
  }
  return {"cancel_kinds.md", out.str()};
}

int usage() {
  std::fputs("usage: spec_tables [--check] DIR\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool check = !arguments.empty() && arguments.front() == "--check";
  if (arguments.size() != (check ? 2U : 1U) || arguments.back().starts_with('-')) return usage();
  const std::string& folder = arguments.back();

  bool stale = false;
  for (const page& p : {lifecycles(), statuses(), cancel_kinds()}) {
    const std::string path = folder + "/" + p.name;
    if (check) {
      std::ifstream in(path, std::ios::binary);
      const std::string there((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      if (there != p.text) {
        std::printf("%s: stale: it differs from the tables in asx/model; run ./x docs and commit the page\n",
                    path.c_str());
        stale = true;
      }
      continue;
    }
    std::ofstream file(path, std::ios::binary);
    file << p.text;
    if (!file.flush()) {
      std::fprintf(stderr, "spec_tables: cannot write %s; does the folder exist?\n", path.c_str());
      return 1;
    }
  }
  return stale ? 1 : 0;
}
