#!/usr/bin/env python3
"""Calls ./x wrongly: it must say what was wrong and what was meant, exit 2, and start nothing.

    tests/gates/x_test.py       from the repository root
"""

import os
import pathlib
import subprocess
import tempfile
import unittest


def x(*words, **more):
    run = subprocess.run(["./x", *words], capture_output=True, text=True, **more)
    return run.returncode, run.stdout, run.stderr


class x_script(unittest.TestCase):
    def assert_usage(self, words, *parts):
        code, out, err = x(*words)
        self.assertEqual(code, 2, err)
        self.assertEqual(out, "")
        for part in parts:
            self.assertIn(part, err)

    def test_help_names_every_verb(self):
        code, out, _ = x("help")
        self.assertEqual(code, 0)
        for verb in "demo test soak lab fuzz bench guard conform mutate consumer fmt tidy docs ci help".split():
            self.assertIn(f"\n  {verb} ", out)

    def test_an_unknown_verb_gets_a_suggestion(self):
        self.assert_usage(["tset"], "unknown verb 'tset'", "Did you mean 'test'?")
        self.assert_usage(["becnh"], "Did you mean 'bench'?")

    def test_a_word_that_is_near_nothing_gets_none(self):
        self.assert_usage(["xylophone"], "unknown verb 'xylophone'. './x help'")

    def test_an_unknown_option_gets_a_suggestion(self):
        self.assert_usage(["test", "--prset", "dev"], "unknown option of test '--prset'", "Did you mean '--preset'?")
        self.assert_usage(["docs", "chek"], "unknown option of docs 'chek'")

    def test_an_option_without_its_value_is_told(self):
        self.assert_usage(["test", "--preset"], "'--preset' needs a value")
        self.assert_usage(["fmt", "--check=yes"], "'--check' takes no value")

    def test_an_unknown_preset_gets_a_suggestion(self):
        self.assert_usage(["test", "--preset", "relase"], "unknown preset 'relase'", "Did you mean 'release'?")

    def test_an_unknown_machine_gets_a_suggestion(self):
        self.assert_usage(["conform", "--arch", "aarch64,powerp"], "unknown machine 'powerp'", "Did you mean 'powerpc'?")

    def test_an_unknown_part_of_soak_gets_a_suggestion(self):
        self.assert_usage(["soak", "--only", "models,mutte"], "unknown part of soak 'mutte'", "Did you mean 'mutate'?")

    def test_soak_names_its_parts(self):
        code, out, err = x("soak", "--list")
        self.assertEqual(code, 0, err)
        self.assertLessEqual({"release", "s390x", "models", "interleave", "stress", "stress-tsan", "stress-asan", "mutate"}, set(out.split()))

    def test_an_unknown_fault_or_component_is_told(self):
        self.assert_usage(["mutate", "--list", "--only", "whel"], "unknown component 'whel'", "wheel")
        self.assert_usage(["mutate", "--list", "--id", "W999"], "no fault has the id 'W999'")

    def test_an_unknown_problem_of_the_guard_gets_a_suggestion(self):
        self.assert_usage(["guard", "--only", "yeild"], "unknown problem 'yeild'", "Did you mean 'yield'?")

    def test_a_budget_is_not_changed_without_a_reason(self):
        self.assert_usage(["guard", "--update"], "--update and --why TEXT go together")
        self.assert_usage(["guard", "--why", "because"], "--update and --why TEXT go together")

    def test_two_words_in_one_are_no_verb(self):
        self.assert_usage(["demo test"], "unknown verb 'demo test'")

    def test_a_number_must_be_one(self):
        self.assert_usage(["fuzz", "--seconds", "ten"], "--seconds wants a whole number from 1 on, not 'ten'")
        self.assert_usage(["fuzz", "--seconds", "0"], "whole number from 1 on")
        self.assert_usage(["lab", "--from", "08"], "whole number from 1 on")
        self.assert_usage(["lab", "--seeds", "99999999999999999999"], "whole number")

    def test_tidy_reads_the_sources_of_every_component_whose_headers_changed(self):
        # Everything since the empty tree has changed; asx.hpp, which has no sources beside it, comes first.
        code, out, err = x("tidy", "--since", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "--list")
        if "git knows no revision" in err:
            self.skipTest("not a git checkout")
        self.assertEqual(code, 0, err)
        for source in ("asx/base/slab.cpp", "asx/kernel/kernel.cpp", "asx/sched/scheduler.cpp", "tools/event_tables.cpp"):
            self.assertIn(source, out.split())

    def test_without_root_and_sudo_it_prints_the_command_and_installs_nothing(self):
        # A PATH with stand-ins: nothing is installed, and there is no sudo.
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = pathlib.Path(folder)
            for tool in ("bash", "dirname", "env", "git", "mktemp", "rm", "cat", "awk"):
                found = subprocess.run(["bash", "-c", f"command -v {tool}"], capture_output=True, text=True).stdout.strip()
                if found:  # A fresh machine may lack git, and needs none to be told what is missing.
                    (bin_folder / tool).symlink_to(found)
            (bin_folder / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
            (bin_folder / "dpkg-query").chmod(0o755)
            user = {"preexec_fn": lambda: os.setuid(65534)} if os.geteuid() == 0 else {}
            if user:
                os.chmod(folder, 0o755)
            code, _, err = x("fmt", "--check", env={"PATH": folder}, **user)
            self.assertEqual(code, 1, err)
            self.assertIn("neither root nor sudo", err)
            self.assertIn("apt-get install -y --no-install-recommends clang-format-19", err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
