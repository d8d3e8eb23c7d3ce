#!/usr/bin/env python3
"""Calls the benchmarks rightly and wrongly, and judges their harness on programs whose times are known.

    tests/gates/bench_test.py LIBASX COMPILER       from the repository root; nothing is downloaded
"""

import contextlib
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from harness import building, libraries, measuring, picture, report, scaling, table  # noqa: E402

LIBRARY, COMPILER = sys.argv[1:3] if len(sys.argv) > 2 else ("", "g++-12")


def call(*words, program=("./x", "bench")):
    run = subprocess.run([*program, *words], capture_output=True, text=True, cwd=ROOT)
    return run.returncode, run.stdout, run.stderr


class command_line(unittest.TestCase):
    def assert_refused(self, words, *parts):
        code, out, err = call(*words)
        self.assertEqual((code, out), (2, ""), err)
        for part in parts:
            self.assertIn(part, err)

    def test_list_names_every_problem_with_its_libraries_and_aims(self):
        code, out, _ = call("--list")
        self.assertEqual(code, 0)
        for problem in table.PROBLEMS:
            self.assertRegex(out, rf"(?m)^{problem.name} +{re.escape(problem.what)}")
            self.assertIn(", ".join(problem.libraries), out)
        self.assertIn("aim: at most 0.25 x best peer", out)
        self.assertRegex(out, r"(?m)^micro ")

    def test_wrong_words_get_a_suggestion_and_start_nothing(self):
        self.assert_refused(["chanel"], "unknown problem 'chanel'. Did you mean 'channel'?")
        self.assert_refused(["xylophone"], "unknown problem 'xylophone'. './x bench --list'")
        self.assert_refused(["yield", "--only", "asx,tokoi"], "unknown library 'tokoi'. Did you mean 'tokio'?")
        self.assert_refused(["yield", "--only", "libuv"], "libuv takes no part in yield; there are asx, floor, asio")
        self.assert_refused(["yield", "--quik"], "unknown option '--quik'. Did you mean '--quick'?")
        self.assert_refused(["yield", "--reps", "0"], "--reps wants a whole number from 1 on")
        self.assert_refused(["yield", "--reps", "many"], "--reps")
        self.assert_refused(["yield", "--cpu", "4096"], "there is no processor 4096")
        self.assert_refused(["yield", "micro"], "./x bench micro")
        self.assert_refused(["micro", "--qick"], "Did you mean '--quick'?")

    def test_every_problem_has_a_source_for_each_of_its_libraries(self):
        bins = (ROOT / "bench/Cargo.toml").read_text()
        for problem in table.PROBLEMS:
            for name in problem.libraries:
                library = libraries.LIBRARIES[name]
                ending = {"cxx": ".cpp", "rust": ".rs", "go": ".go"}[library.language]
                source = ROOT / "bench" / problem.place() / ((library.stem or name) + ending)
                self.assertTrue(source.exists(), source)
                if library.language == "rust":
                    self.assertIn(f'path = "{problem.place()}/tokio.rs"', bins)

    def test_packages_are_those_of_the_libraries_that_take_part(self):
        program = (sys.executable, "bench/run.py")
        self.assertEqual(call("timers", "--packages", program=program)[1].split(),
                         ["libasio-dev", "libev-dev", "libuv1-dev"])
        self.assertEqual(call("timers", "--only", "asx,go", "--packages", program=program)[1].split(), [])

    def test_a_real_run_gives_json_alone_and_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = call("yield", "--quick", "--reps", "2", "--only", "asx,floor", "--json", "--svg",
                                  f"{folder}/picture.svg", "--build", folder, "--cxx", COMPILER, "--library", LIBRARY,
                                  program=(sys.executable, "bench/run.py"))
            self.assertEqual((code, err), (0, ""))
            said = json.loads(out)
            self.assertEqual(set(said), {"machine", "versions", "quick", "cpu", "seconds", "problems"})
            self.assertEqual(set(said["machine"]), {"cpu", "cores", "kernel", "load", "date"})
            self.assertLessEqual({"compiler", "asx"}, set(said["versions"]))
            (problem,) = said["problems"]
            self.assertEqual((problem["name"], problem["unit"], problem["reps"]), ("yield", "ns a yield", 2))
            self.assertEqual([(r["workload"], r["library"]) for r in problem["results"]],
                             [(w, n) for w in ("1 task", "1,000 tasks") for n in ("asx", "floor")])
            for row in problem["results"]:
                self.assertEqual(len(row["samples"]), 2)
                self.assertTrue(0 < row["low"] <= row["median"] <= row["high"], row)
            self.assertEqual([a["is_met"] for a in problem["aims"]], [None, None])  # No peer took part.
            xml.etree.ElementTree.parse(f"{folder}/picture.svg")


class harness(unittest.TestCase):
    """Programs of a few lines, which note when they were started and say what they are told to."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.started = self.folder / "started"
        self.started.write_text("")
        self.programs = {}
        self.options = types.SimpleNamespace(quick=False, reps=None, cpu=None, build=self.folder, cxx=COMPILER)

    def program(self, name, times, end=0, more=""):
        """Its k-th start says times[k]."""
        path = self.folder / name
        path.write_text(f"""#!{sys.executable}
import sys
with open({str(self.started)!r}, "r+") as file:
    k = file.read().split().count({name!r})
    file.write({name + chr(10)!r})
print('{{"workload": "w", "n": ' + sys.argv[1] + ', "ns": %g{more}}}' % {times!r}[k])
sys.exit({end})
""")
        path.chmod(0o755)
        self.programs["fake", name] = path

    def measure(self, **more):
        problem = table.Problem("fake", "nothing", "ns each", tuple(n for _, n in self.programs),
                                (table.Run((1000,), (10,)),), reps=3, quick_reps=2, **more)
        names = [n for _, n in self.programs]
        return measuring.measure(problem, names, self.programs, self.options, measuring.Progress(io.StringIO()))

    def test_repetitions_are_interleaved_and_medians_are_compared(self):
        self.program("asx", [10, 90, 20])
        self.program("floor", [4, 5, 6])
        self.program("tokio", [100, 50, 80])
        self.program("go", [60, 70, 900])
        self.program("asx_worker", [50, 30, 20])
        result = self.measure(aims=(table.Aim(0.3, "best peer"), table.Aim(0.2, "tokio"), table.Aim(9, "tbb"),
                                    table.Aim(2.5, "floor"), table.Aim(1.3, "asx", of="asx_worker")))
        self.assertEqual(self.started.read_text().split(), ["asx", "floor", "tokio", "go", "asx_worker"] * 3)
        self.assertEqual([result.median("w", n) for n in ("asx", "floor", "tokio", "go")], [20, 5, 80, 70])
        best, tokio, absent, floor, worker = result.verdicts(result.problem.aims)
        self.assertEqual((best["library"], best["is_met"]), ("go", True))      # The floor is no peer.
        self.assertAlmostEqual(best["ratio"], 20 / 70)
        self.assertEqual((tokio["library"], tokio["ratio"], tokio["is_met"]), ("tokio", 0.25, False))
        self.assertEqual((absent["library"], absent["is_met"]), (None, None))
        self.assertEqual((floor["library"], floor["ratio"], floor["is_met"]), ("floor", 4.0, False))
        self.assertEqual((worker["library"], worker["ratio"], worker["is_met"]), ("asx", 1.5, False))
        text = report.text_of(result)
        self.assertIn("aim: w at most 0.3 x best peer: 0.29 x go, met", text)
        self.assertIn("aim: w at most 0.2 x tokio: 0.25, MISSED", text)
        self.assertIn("aim: w at most 9 x tbb: nobody to compare with", text)
        self.assertIn("aim: w asx_worker at most 1.3 x asx: 1.50, MISSED", text)
        self.assertIn("20.0 ±200%", text)  # Half the way from 10 to 90 is twice the median.
        self.assertEqual(report.broken(result), [])
        said = report.json_of(result)
        self.assertEqual([r["samples"] for r in said["results"] if r["library"] == "asx"], [[10, 90, 20]])
        self.assertEqual([r.get("asx_over_it") for r in said["results"]], [None, 4.0, 0.25, 20 / 70, 20 / 30])
        self.assertIn("1 of 4 met, 1 with nobody to compare with", report.summary([result], 61))

    def test_quick_and_reps_say_how_often_and_with_what(self):
        self.program("asx", [1, 1])
        self.options.quick = True
        result = self.measure(by_size=True)
        self.assertEqual((result.reps, result.workloads), (2, ["w 10"]))
        self.options.reps = 1
        self.started.write_text("")
        self.assertEqual(self.measure().reps, 1)

    def test_a_program_that_fails_is_skipped_with_its_reason_and_asx_must_not(self):
        self.program("asx", [1, 2, 3])
        self.program("go", [1, 2, 3], end=3)
        result = self.measure()
        self.assertEqual(self.started.read_text().split(), ["asx", "go", "asx", "asx"])  # It is not tried again.
        self.assertIn("skip go: failed with 3", report.text_of(result))
        self.assertNotIn("skip go", report.text_of(result, told={"go": "it was told before"}))
        self.assertEqual(result.libraries(), ["asx"])
        self.assertEqual(report.broken(result), [])
        self.program("asx", [1, 2, 3], end=1)
        self.started.write_text("")
        self.assertIn("BROKEN: asx failed with 1", report.text_of(self.measure()))

    def test_a_library_that_is_absent_is_skipped_with_what_to_install(self):
        absent = libraries.Library("absent", header="no/such/header.hpp", package="libnone-dev")
        self.assertEqual(libraries.why_absent(absent, COMPILER),
                         "no/such/header.hpp is not there; apt-get install libnone-dev")
        absent = libraries.Library("absent", language="rust", tool="no-such-tool")
        self.assertEqual(libraries.why_absent(absent, COMPILER), "no-such-tool is not there")

    def test_a_source_that_does_not_compile_is_told_in_a_line(self):
        source = self.folder / "bad.cpp"
        source.write_text("int main() { return nothing; }\n")
        builder = building.Builder(self.folder, COMPILER, 1, measuring.Progress(io.StringIO()))
        target = self.folder / "bad"
        failed = builder.run_jobs("one", [("bad", target, 0.0, [COMPILER, str(source), "-o", str(target)])])
        self.assertRegex(building.first_error(failed["bad"]), "^does not build: .*nothing")

    def test_asking_for_memory_in_a_steady_state_breaks_a_guard(self):
        self.program("asx", [1, 1, 1], more=', "allocations": 2, "operations": 1000')
        self.program("asio", [1, 1, 1], more=', "allocations": 2, "operations": 1000')
        result = self.measure(without_allocations=("asx",))
        self.assertEqual(report.broken(result), ["  BROKEN: asx asks for memory in the steady state of w"])
        self.assertEqual(report.broken(self.again()), [])

    def again(self):
        self.started.write_text("")
        return self.measure()

    def test_what_something_adds_to_asx_is_told_as_a_difference(self):
        self.program("asx", [10, 10, 10])
        self.program("asx_full", [52.5, 52.5, 52.5])
        self.assertRegex(report.text_of(self.measure(is_added=True)), r"adds to asx:\n +asx_full\n +w +42.5")

    def test_a_guard_that_is_met_is_silent_and_one_that_is_not_breaks(self):
        self.program("asx", [6, 6, 6])
        self.program("asio", [10, 10, 10])
        self.assertEqual(report.broken(self.measure(guards=(table.Aim(0.6, "asio"),))), [])
        self.started.write_text("")
        (line,) = report.broken(self.measure(guards=(table.Aim(0.59, "asio"),)))
        self.assertIn("BROKEN: w at most 0.59 x asio: 0.60", line)

    def test_the_picture_has_a_dot_for_each_ratio_and_escapes_names(self):
        self.program("asx", [10, 10, 10])
        self.program("tokio", [40, 40, 40])
        self.program("<&>", [5, 5, 5])
        document = picture.document([self.measure(aims=(table.Aim(0.3, "tokio"),))])
        tree = xml.etree.ElementTree.fromstring(document)
        titles = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sorted(titles), ["<&>: 5.0 ns each", "tokio: 40.0 ns each"])
        self.assertIn("0.25 × tokio (≤ 0.3)", [t.text for t in tree.iter("{http://www.w3.org/2000/svg}text")])

    def test_nothing_to_compare_is_a_picture_as_well(self):
        self.program("asx", [10, 10, 10])
        xml.etree.ElementTree.fromstring(picture.document([self.measure()]))

    def test_the_bar_is_drawn_on_a_terminal_and_nowhere_else(self):
        pipe, terminal = io.StringIO(), io.StringIO()
        terminal.isatty = lambda: True
        for stream in (pipe, terminal):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                measuring.Progress(stream).bar(1, 2, "half")
            self.assertEqual(out.getvalue(), "")
        self.assertEqual(pipe.getvalue(), "")
        self.assertIn("[" + 15 * "#" + 15 * "." + "]  50 %  half", terminal.getvalue())


class growth(unittest.TestCase):
    SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)

    def judged(self, cost, sizes=SIZES):
        result = measuring.Result(next(p for p in table.PROBLEMS if p.kind == "scaling"), 1)
        for n in sizes:
            result.add("asx", {"workload": "tasks: look", "n": n, "ns": cost(n)})
            result.add("asx", {"workload": scaling.YARDSTICK, "n": n, "ns": 2.0 if n <= 10_000 else 90.0})
        found, yardstick = scaling.growth(result)
        self.assertIsNone(yardstick["is_met"])
        xml.etree.ElementTree.fromstring(picture.document([result]))
        self.assertEqual(bool(report.broken(result)), found["is_met"] is False)
        return found["is_met"]

    def test_constant_and_logarithmic_costs_pass_with_misses_of_the_cache(self):
        self.assertTrue(self.judged(lambda n: 30.0))
        self.assertTrue(self.judged(lambda n: 10.0 * len(str(n))))
        self.assertTrue(self.judged(lambda n: 30.0 if n <= 10_000 else 30.0 + 10 * 90.0))

    def test_a_search_is_refused(self):
        self.assertFalse(self.judged(lambda n: 5.0 + n / 10))
        self.assertFalse(self.judged(lambda n: 5.0 + n / 10, (10, 1_000, 100_000)))  # As --quick has it.
        self.assertFalse(self.judged(lambda n: 30.0 if n <= 1_000 else 30.0 + 90.0 * n**0.5))
        self.assertFalse(self.judged(lambda n: 30.0 if n != 10_000 else 400.0))  # In the middle, too.

    def test_a_cost_below_what_a_clock_can_tell_is_not_judged_by_its_noise(self):
        self.assertTrue(self.judged(lambda n: 0.01 if n < 10_000 else 3.0))

    def test_medians_are_those_of_the_samples(self):
        result = measuring.Result(table.PROBLEMS[0], 1)
        values = [3.0, 1.0, 2.0, 10.0]
        for value in values:
            result.add("asx", {"workload": "1 task", "n": 1, "ns": value})
        self.assertEqual(result.median("1 task", "asx"), statistics.median(values))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
