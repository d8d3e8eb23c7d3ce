#!/usr/bin/env python3
"""Uses the asx command as a person and as a program would, rightly and wrongly.

    tests/gates/cli_test.py PATH_OF_ASX
"""

import json
import subprocess
import sys
import unittest

ASX = sys.argv.pop(1)


def asx(*words):
    run = subprocess.run([ASX, *words], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


class asx_command(unittest.TestCase):
    def answers(self, words, text):
        code, out, err = asx(*words)
        self.assertEqual((code, err), (0, ""))
        self.assertIn(text, out)

    def refuses(self, words, *parts):
        code, out, err = asx(*words)
        self.assertEqual((code, out), (2, ""), err)
        for part in parts:
            self.assertIn(part, err)

    def test_the_demo_has_a_digest_that_is_the_same_everywhere(self):
        code, out, _ = asx("demo")
        self.assertEqual(code, 0)
        self.assertIn("digest aa27cac07e75689d0ce4427d0d44a521", out)
        self.assertEqual(json.loads(asx("demo", "--json")[1])["digest"], "aa27cac07e75689d0ce4427d0d44a521")

    def test_every_status_explains_itself(self):
        rows = json.loads(asx("--json", "status")[1])
        self.assertEqual([r["number"] for r in rows], [*range(28), *range(100, 107)])
        for row in rows:
            self.answers(["status", str(row["number"])], row["sentence"])
            self.answers(["status", row["c_name"]], row["sentence"])

    def test_a_move_is_answered_by_the_exit_code_too(self):
        self.answers(["lifecycle", "task", "running", "completed"], "T5")
        code, out, _ = asx("lifecycle", "task", "running", "cancelling")
        self.assertEqual(code, 1)
        self.assertIn("ASX_E_INVALID_TRANSITION", out)
        self.assertFalse(json.loads(asx("lifecycle", "obligation", "leaked", "committed", "--json")[1])["legal"])

    def test_the_algebra_folds_from_the_left(self):
        self.answers(["join"], "ok")
        self.answers(["join", "ok:1", "err:full", "cancelled:user", "cancelled:shutdown", "ok:2"], "cancelled: shutdown")
        self.answers(["meet", "deadline=5ms,priority=7", "polls=3,cost=9"], "deadline 5ms, polls 3, cost 9, priority 7")
        self.answers(["strengthen", "user@1s", "shutdown@9s", "deadline"], "shutdown at 9s")
        self.assertEqual(json.loads(asx("meet", "zero", "infinite", "--json")[1])["result"],
                         "deadline 0, polls 0, cost 0, priority 255")

    def test_a_wrong_word_is_told_with_the_nearest_right_one(self):
        self.refuses(["staus"], "Did you mean 'status'?")
        self.refuses(["status", "ful"], "'ful' is no status", "Did you mean 'full'?")
        self.refuses(["status", "64"], "0 to 27 and 100 to 106")
        self.refuses(["status", "--jsno"], "--jsno", "Did you mean '--json'?")
        self.refuses(["lifecycle", "tsak"], "Did you mean 'task'?")
        self.refuses(["lifecycle", "task", "runing", "completed"], "Did you mean 'running'?")
        self.refuses(["lifecycle", "task", "running"], "a move needs two states")
        self.refuses(["join", "oops"], "'oops' is no outcome")
        self.refuses(["join", "ok:x"], "'x' is no payload of ok")
        self.refuses(["join", "err:nope"], "'nope' is no error")
        self.refuses(["join", "cancelled:shutdwn"], "Did you mean 'shutdown'?")
        self.refuses(["meet", "pols=3"], "Did you mean 'polls'?")
        self.refuses(["meet", "priority=256"], "0 to 255")
        self.refuses(["meet", "deadline=5parsec"], "use ns, us, ms, s, m, h or d")
        self.refuses(["meet", "deadline=99999999999999d"], "longer than")
        self.refuses(["strengthen"], "value")
        self.refuses([], "verb")

    def test_help_and_version_are_no_errors(self):
        self.assertEqual(asx("--help")[0], 0)
        self.assertEqual(asx("--version")[:2], (0, "asx 0.1.0\n"))

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([ASX, "status"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot be written", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
