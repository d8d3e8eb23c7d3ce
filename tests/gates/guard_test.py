#!/usr/bin/env python3
"""The guard of the instruction counts notices a slowdown, names it, and raises no false alarm.

    guard_test.py <libasx.a> <compiler>       needs valgrind, which `./x test --slow` installs

The slowdown is planted where it would really happen: in a copy of the kernel's source, in the function that wakes a
task. Two programs are built that differ in this loop alone, and linked with the library that was built before.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "bench/guard/run.py"
SOURCE = ROOT / "asx/kernel/kernel_dispatch.cpp"
WAKE = re.compile(r"^void kernel::wake\(task_record& [^{;]*\{\n", re.M)
LOOP = '  for (int i = 0; i < 50; ++i) asm volatile("");\n'
LIBRARY, COMPILER = "", ""


def build(folder):
    """The program as it is, and the one with the loop."""
    def compile_to(name, source):
        subprocess.run([COMPILER, "-std=c++20", "-O1", "-c", "-I", str(ROOT), str(source), "-o", str(folder / name)], check=True)

    text = SOURCE.read_text(encoding="utf-8")
    slow, planted = WAKE.subn(lambda found: found[0] + LOOP, text)
    if planted != 1:
        raise AssertionError(f"{SOURCE.name} has no single kernel::wake(task_record&, ...) to plant a loop in: choose another place")
    (folder / "slow.cpp").write_text(slow, encoding="utf-8")
    compile_to("guard.o", ROOT / "bench/guard/guard.cpp")
    compile_to("plain.o", SOURCE)
    compile_to("slow.o", folder / "slow.cpp")
    for name in ("plain", "slow"):
        subprocess.run([COMPILER, "guard.o", f"{name}.o", LIBRARY, "-o", name], cwd=folder, check=True)


class guard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("valgrind") is None:
            raise AssertionError("valgrind is not installed; ./x test --slow installs it, and so does apt-get install valgrind")
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.folder = pathlib.Path(cls.place.name)
        build(cls.folder)
        cls.budget = cls.folder / "budget.json"
        for name in ("ping_pong", "obligation"):
            code, _, err = cls.run_guard("plain", "--only", name, "--update", "--why", "as it was")
            assert code == 0, err

    @classmethod
    def run_guard(cls, program, *words, budget=None, **more):
        done = subprocess.run([sys.executable, str(RUN), "--program", str(cls.folder / program), "--budget",
                               str(budget or cls.budget), *words], capture_output=True, text=True, check=False, **more)
        return done.returncode, done.stdout, done.stderr

    def changed(self, change):
        """A copy of the budget with something changed."""
        budget = json.loads(self.budget.read_text(encoding="utf-8"))
        change(budget)
        path = self.folder / "changed.json"
        path.write_text(json.dumps(budget), encoding="utf-8")
        return path

    def scaled(self, by):
        def scale(budget):
            budget["problems"]["ping_pong"]["instructions"] *= by
        return self.changed(scale)

    def test_a_planted_slowdown_fails_and_is_named(self):
        code, out, err = self.run_guard("slow", "--only", "ping_pong")
        self.assertEqual(code, 1, out + err)
        self.assertRegex(err, r"guard: ping_pong \(.*\) grew from [\d.]+ to [\d.]+ instructions, \+\d[\d.]* %; 5 % is allowed")
        self.assertIn("callgrind_annotate", err)
        self.assertIn("./x guard --update --why", err)

    def test_what_does_not_go_that_way_is_not_blamed(self):
        code, out, err = self.run_guard("slow", "--only", "obligation")
        self.assertEqual((code, err), (0, ""), out)

    def test_the_same_program_counts_the_same_wherever_it_runs(self):
        seen = set()
        for words in ({}, {"cwd": "/"}, {"env": {**os.environ, "PADDING": "x" * 5000}}):
            code, out, err = self.run_guard("plain", "--only", "ping_pong", "--json", **words)
            self.assertEqual(code, 0, err)
            seen.add(json.loads(out)["problems"][0]["instructions"])
        self.assertEqual(len(seen), 1, seen)

    def test_five_percent_is_the_limit(self):
        code, _, err = self.run_guard("plain", "--only", "ping_pong", budget=self.scaled(0.92))
        self.assertEqual(code, 1)
        self.assertIn("+8.7 %", err)
        code, out, err = self.run_guard("plain", "--only", "ping_pong", budget=self.scaled(0.96))
        self.assertEqual((code, err), (0, ""), out)

    def test_what_fell_is_told_and_does_not_fail(self):
        code, _, err = self.run_guard("plain", "--only", "ping_pong", budget=self.scaled(1.08))
        self.assertEqual(code, 0)
        self.assertIn("ping_pong fell from", err)
        self.assertIn("lower its budget", err)

    def test_another_compiler_is_not_compared(self):
        other = self.changed(lambda budget: budget.update(compiler="GCC 99.1.0"))
        code, out, err = self.run_guard("slow", budget=other)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("not comparable: the budget is for GCC 99.1.0", out)
        code, out, _ = self.run_guard("slow", "--json", budget=other)
        self.assertEqual((code, json.loads(out)["comparable"]), (0, False))
        code, _, err = self.run_guard("slow", "--only", "ping_pong", "--update", "--why", "a new compiler", budget=other)
        self.assertEqual(code, 2)
        self.assertIn("can only be rewritten as a whole", err)

    def test_what_has_no_budget_is_told(self):
        code, _, err = self.run_guard("plain", "--only", "journal_full")
        self.assertEqual(code, 1)
        self.assertIn("journal_full has no budget", err)

    def test_an_update_gives_its_reason_to_what_changed(self):
        path = self.scaled(1.08)
        for name in ("ping_pong", "obligation"):
            code, _, err = self.run_guard("plain", "--only", name, "--update", "--why", "because", budget=path)
            self.assertEqual(code, 0, err)
        written = json.loads(path.read_text(encoding="utf-8"))["problems"]
        self.assertEqual(written["ping_pong"]["why"], "because")
        self.assertEqual(written["obligation"]["why"], "as it was")

    def test_a_wrong_call_is_told(self):
        for words, said in ((["--only", "ping_png"], "Did you mean 'ping_pong'?"), (["--update"], "--why TEXT"),
                            (["--why", "because"], "--update and --why"), (["--update", "--why", " "], "--why TEXT")):
            code, out, err = self.run_guard("plain", *words)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(said, err)

    def test_the_committed_budget_has_every_problem_with_its_reason(self):
        budget = json.loads((ROOT / "bench/budget.json").read_text(encoding="utf-8"))
        told = json.loads(subprocess.run([str(self.folder / "plain")], capture_output=True, text=True, check=True).stdout)
        self.assertEqual(list(budget["problems"]), [p["name"] for p in told["problems"]])
        names = subprocess.run([sys.executable, str(RUN), "--names"], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(names, list(budget["problems"]), "./x guard --only knows the names from the source")
        for name, entry in budget["problems"].items():
            self.assertTrue(entry["instructions"] > 0 and entry["date"] and entry["why"], name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    LIBRARY, COMPILER = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    unittest.main(argv=sys.argv[:1], verbosity=1)
