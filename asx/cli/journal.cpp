// asx journal VERB - what a run did: to read, to check, to convert, to compare, to question, to judge and to look at.
#include "asx/cli/journal_verbs.hpp"

namespace asx::cli {

void add_journal(CLI::App& app, session& s) {
  CLI::App& journal =
      *app.add_subcommand("journal", "Journals of runs: show, check, convert, compare, question, judge, draw");
  journal.require_subcommand(1);
  journal.footer(
      "A FILE is a journal in either form, binary (.asxj) or JSON Lines (.jsonl); its first bytes tell which.\n"
      "Exit 0: done, or yes. Exit 1: no, or the data is bad. Exit 2: the call is wrong.");
  add_journal_show(journal, s);
  add_journal_info(journal, s);
  add_journal_convert(journal, s);
  add_journal_compare(journal, s);
  add_journal_why(journal, s);
  add_journal_certify(journal, s);
  add_journal_trace(journal, s);
  add_journal_dot(journal, s);
}

}  // namespace asx::cli
