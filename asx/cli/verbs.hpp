// asx/cli/verbs.hpp - the verbs of the asx command; each file holds one, or a family, and adds it to the parser.
//
// A verb prints for people, or with --json one JSON value on standard output. It returns 0 when it did what
// was asked, 1 when the answer is no (a refused move), and reports words that make no sense as bad_word, which
// main turns into a message and exit 2.
//
// Cancel points: none. Threads: one. Lifetime: the parser outlives the verbs.
#pragma once

#include <CLI/CLI.hpp>

namespace asx::cli {

struct session {
  bool json = false;
  int exit_code = 0;
};

void add_run(CLI::App& app, session& s);
void add_lint(CLI::App& app, session& s);
void add_conform(CLI::App& app, session& s);
void add_replay(CLI::App& app, session& s);
void add_diff(CLI::App& app, session& s);
void add_why(CLI::App& app, session& s);
void add_trace(CLI::App& app, session& s);
void add_digest(CLI::App& app, session& s);
void add_doctor(CLI::App& app, session& s);
void add_version(CLI::App& app, session& s);
void add_completion(CLI::App& app, session& s);
void add_manual(CLI::App& app, session& s);
void add_demo(CLI::App& app, session& s);
void add_status(CLI::App& app, session& s);
void add_kinds(CLI::App& app, session& s);
void add_lifecycle(CLI::App& app, session& s);
void add_join(CLI::App& app, session& s);
void add_meet(CLI::App& app, session& s);
void add_strengthen(CLI::App& app, session& s);
void add_journal(CLI::App& app, session& s);

}  // namespace asx::cli
