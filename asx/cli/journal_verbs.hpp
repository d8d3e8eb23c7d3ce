// asx/cli/journal_verbs.hpp - the verbs under `asx journal`; each adds itself, as those of verbs.hpp do.
//
// Exit 0: done, or yes. Exit 1: no (different, not cancelled), or the data is bad. Exit 2: the call is wrong. Only
// certify exits 2 for bad data too, since its 1 is a verdict.
//
// Cancel points: none. Threads: one. Lifetime: the parser outlives the verbs.
#pragma once

#include <string>

#include "asx/cli/verbs.hpp"
#include "asx/journal/port.hpp"

namespace asx::cli {

void add_journal_show(CLI::App& journal, session& s);
void add_journal_info(CLI::App& journal, session& s);
void add_journal_convert(CLI::App& journal, session& s);
void add_journal_compare(CLI::App& journal, session& s, const char* called = "compare");
void add_journal_why(CLI::App& journal, session& s);
void add_journal_certify(CLI::App& journal, session& s);
void add_journal_trace(CLI::App& journal, session& s);
void add_journal_dot(CLI::App& journal, session& s);

/// All events of a journal in words, or as JSON Lines.
void print_events(const std::string& file, bool as_json);
/// As a trace for Perfetto; as a tree for Graphviz after event `at`, or by default when the shutdown began, or the end.
void draw_trace(const std::string& file, text_port out);
void draw_tree(const std::string& file, text_port out, const std::string& at);

}  // namespace asx::cli
