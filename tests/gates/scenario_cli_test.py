#!/usr/bin/env python3
"""Plays scenarios with the asx command as a person and as a program would, rightly and wrongly.

    tests/gates/scenario_cli_test.py PATH_OF_ASX

Works in the folder of the project: it plays examples/scenarios and conformance.
"""

import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

ASX = sys.argv.pop(1)
SCENARIOS = pathlib.Path("examples/scenarios")
SLEEPERS = str(SCENARIOS / "two-sleepers.json")
CANCEL = str(SCENARIOS / "late-cancel.json")
REPORT_FIELDS = [
    "rust_baseline_commit", "rust_toolchain_commit_hash", "rust_toolchain_release", "rust_toolchain_host",
    "cargo_lock_sha256", "cargo_lock_bytes", "cargo_lock_tracked_by_git", "fixture_schema_version",
    "scenario_dsl_version", "scenario_id", "codec", "profile", "parity", "semantic_digest", "delta_classification"]


def asx(*words, cwd=None):
    run = subprocess.run([ASX, *words], capture_output=True, text=True, cwd=cwd)
    return run.returncode, run.stdout, run.stderr


class scenarios(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return str(pathlib.Path(self.folder.name) / name)

    def made(self, name, content):
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path = pathlib.Path(self.path(name))
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def answer(self, *words, code=0):
        got, out, err = asx("--json", *words)
        self.assertEqual(got, code, out + err)
        return json.loads(out)

    def refuses(self, words, *parts, code=1):
        got, out, err = asx(*words)
        self.assertEqual((got, out), (code, ""), err)
        for part in parts:
            self.assertIn(part, err)

    # ---- run

    def test_run_passes_and_fails_by_exit_code(self):
        code, out, err = asx("run", SLEEPERS)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("said: two\n  said: five", out)
        self.assertTrue(out.endswith("passed\n"))
        wrong = json.loads(pathlib.Path(SLEEPERS).read_text())
        wrong["steps"][3]["said"] = ["five", "two"]
        code, out, err = asx("run", self.made("two-sleepers.json", json.dumps(wrong, indent=1)))
        self.assertEqual(code, 1)
        self.assertIn("failed: 1 of", out)
        self.assertRegex(err, r"two-sleepers\.json:\d+:\d+: steps\[3\] expect: ")
        self.assertIn("expected five, got two", err)

    def test_one_scenario_one_digest_whatever_the_profile(self):
        digests = {self.answer("run", CANCEL, "--profile", p)["digest"] for p in ("tiny", "core", "server")}
        self.assertEqual(len(digests), 1)
        self.assertEqual(self.answer("digest", CANCEL)[0]["digest"], digests.pop())

    def test_a_seed_changes_what_it_draws(self):
        race = {"scenario_dsl_version": 1, "id": "race", "runtime": {"ready_tiebreak": "rng"},
                "tasks": {"t": [{"do": "yield"}, {"do": "yield"}]},
                "steps": [{"do": "spawn", "task": "t", "as": "t", "count": 6}, {"do": "run_until_idle"},
                          {"do": "expect", "task": "t1", "state": "completed"}]}
        path = self.made("race.json", race)
        digests = [self.answer("run", path, "--seed", str(s))["digest"] for s in range(4)]
        self.assertGreater(len(set(digests)), 1)
        self.assertEqual(digests[2], self.answer("run", path, "--seed", "2")["digest"])

    def test_run_refuses_well(self):
        self.refuses(["run", self.path("none.json")], "cannot be read", "no such file")
        self.refuses(["run", self.folder.name], "is a directory")
        self.refuses(["run", SLEEPERS, "--profile", "cor"], "Did you mean 'core'?", code=2)
        self.refuses(["run", SLEEPERS, "--seed", "x"], "'x' is no seed", code=2)
        self.refuses(["run", SLEEPERS, "--out", self.path("run.txt")], ".asxj", ".jsonl", code=2)
        self.refuses(["run"], "FILE is required", code=2)
        self.refuses(["run", self.made("empty.json", "")], "empty.json:1:1")
        self.refuses(["run", self.made("cut.json", '{"scenario_dsl_version": 1,\n "id": ')], "cut.json:2:")
        self.refuses(["run", self.made("newer.json", '{"scenario_dsl_version": 2, "id": "n", "steps": []}')],
                     "newer.json:1:", "scenario_dsl_version", "1")
        self.refuses(["run", self.made("bytes.json", b"\xff\xfe\x00")], "bytes.json:1:")

    def test_a_play_that_never_ends_is_a_failure_and_not_a_hang(self):
        stubborn = {"scenario_dsl_version": 1, "id": "stubborn", "tasks": {"t": [{"do": "repeat", "steps": [{"do": "yield"}]}]},
                    "steps": [{"do": "spawn", "task": "t", "as": "t"}, {"do": "run_until_idle"}]}
        got = self.answer("run", self.made("stubborn.json", stubborn), "--max-steps", "1000", code=1)
        self.assertFalse(got["passed"])
        self.assertTrue(any("step_limit" in f["text"] for f in got["failures"]), got["failures"])

    def test_it_is_quick(self):
        # Processor time: the 50 ms are of a machine that does nothing else, and this one may be busy.
        self.assertLess(min(self.seconds("run", SLEEPERS) for _ in range(5)), 0.05)

    def seconds(self, *words):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(asx(*words)[0], 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_all_profiles_and_seeds(self):
        race = {"scenario_dsl_version": 1, "id": "race", "runtime": {"ready_tiebreak": "rng", "seeds": [1, 2, 3]},
                "tasks": {"t": [{"do": "yield"}]},
                "steps": [{"do": "spawn", "task": "t", "as": "t", "count": 6}, {"do": "run_until_idle"}]}
        path = self.made("race.json", race)
        got = self.answer("run", path, "--all")
        self.assertEqual(len(got["plays"]), 9)
        self.assertEqual(len({p["digest"] for p in got["plays"]}), 3)
        self.assertIn("lists 3 seeds", asx("run", path)[1])
        self.refuses(["run", path, "--all", "--seed", "1"], "leave out", code=2)

    # ---- lint

    def test_ten_broken_files_get_helpful_errors(self):
        base = json.loads(pathlib.Path(SLEEPERS).read_text())

        def broken(change):
            out = json.loads(json.dumps(base))
            change(out)
            return out

        def put(path, value):
            def change(tree):
                *way, last = path
                for key in way:
                    tree = tree[key]
                tree[last] = value
            return change

        cases = [
            (put(["steps", 0, "do"], "spwan"), ["steps[0]", "'spwan'", "'spawn'"]),
            (put(["steps", 0, "taks"], "sleeper"), ["steps[0]", "'taks'", "'task'"]),
            (put(["steps", 0, "task"], "sleepr"), ["steps[0].task", "'sleepr'", "'sleeper'"]),
            (put(["steps", 4, "task"], "c"), ["steps[4].task", "'c'"]),
            (put(["steps", 4, "state"], "complete"), ["steps[4].state", "'completed'"]),
            (put(["steps", 2, "status"], "okk"), ["steps[2].status", "'okk'"]),
            (put(["tasks", "napper", 0, "for"], "2 parsecs"), ["for", "2 parsecs"]),
            (put(["runtime"], {"workers": 0}), ["runtime.workers"]),
            (put(["runtime"], {"contract": {"max_task": 3}}), ["'max_task'", "'max_tasks'"]),
            (put(["steps", 2], {"do": "recv", "rx": "x"}), ["steps[2]", "recv"]),
            (put(["scenario_dsl_version"], 7), ["scenario_dsl_version", "7", "1"]),
            (put(["step"], []), ["'step'", "'steps'"]),
        ]
        for n, (change, parts) in enumerate(cases):
            with self.subTest(parts[0]):
                path = self.made(f"broken{n}.json", json.dumps(broken(change), indent=1))
                code, out, err = asx("lint", path)
                self.assertEqual((code, out), (1, ""), err)
                self.assertRegex(err, r"broken\d+\.json:\d+:\d+: ")
                for part in parts:
                    self.assertIn(part, err)
                got = self.answer("lint", path, code=1)
                self.assertGreater(got[0]["complaints"][0]["line"], 0)

    def test_lint_finds_everything_at_once(self):
        code, out, err = asx("lint", str(SCENARIOS / "broken.json"))
        self.assertEqual((code, out), (1, ""))
        self.assertGreaterEqual(err.count("broken.json:"), 6, err)

    def test_lint_of_what_makes_sense(self):
        code, out, err = asx("lint", SLEEPERS, CANCEL)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("makes sense"), 2)

    # ---- journals of scenarios

    def test_run_replay_and_diff(self):
        for form in ("asxj", "jsonl"):
            journal = self.path("run." + form)
            ran = self.answer("run", CANCEL, "--out", journal, "--seed", "5", "--profile", "tiny")
            self.assertEqual(self.answer("digest", journal)[0]["digest"], ran["digest"])
            self.refuses(["run", CANCEL, "--out", journal], "is there already", "--force")
            again = self.answer("replay", CANCEL, journal)
            self.assertTrue(again["same"])
            self.assertEqual((again["digest"], again["seed"], again["profile"]), (ran["digest"], 5, "tiny"))
            other = self.answer("replay", SLEEPERS, journal, code=1)
            self.assertFalse(other["same"])
            self.assertIsNotNone(other["recorded_event"])
        self.assertTrue(self.answer("diff", self.path("run.asxj"), self.path("run.jsonl"))["match"])
        self.assertFalse(self.answer("diff", SLEEPERS, CANCEL, code=1)["match"])
        # A journal that is cut short is a beginning, and is told as that.
        whole = pathlib.Path(self.path("run.jsonl")).read_text().splitlines(keepends=True)
        self.refuses(["replay", CANCEL, self.made("none.jsonl", whole[0])], "no event to compare")
        self.refuses(["replay", CANCEL, self.made("odd.jsonl", whole[0].replace("tiny", "odd") + "".join(whole[1:]))], "odd.jsonl")
        cut = self.made("cut.jsonl", "".join(whole[: len(whole) // 2]))
        code, out, err = asx("replay", CANCEL, cut)
        self.assertEqual(code, 0, err)
        self.assertIn("is cut", err)

    def test_verbs_that_read_journals_take_scenarios(self):
        code, out, err = asx("why", CANCEL, "cancelled", "1")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("closing time", out)
        text = asx("trace", CANCEL)[1]
        self.assertIn("region 2 'kitchen' closed: cancelled", text)
        lines = asx("trace", CANCEL, "--as", "json")[1].splitlines()
        self.assertEqual(len(lines), self.answer("run", CANCEL)["events"])
        self.assertTrue(json.loads(asx("trace", CANCEL, "--as", "perfetto")[1])["traceEvents"])
        tree = asx("trace", CANCEL, "--as", "dot")[1]
        self.assertTrue(tree.startswith("digraph"))
        self.assertIn("waiter", tree)
        self.assertIn("cook", asx("trace", CANCEL, "--as", "dot", "--at", "40")[1])
        self.assertEqual(asx("why", CANCEL, "cancelled", "cook")[1], out)
        self.refuses(["why", CANCEL, "cancelled", "cok"], "Did you mean 'cook'?", code=2)
        self.refuses(["trace", CANCEL, "--as", "perfeto"], "Did you mean 'perfetto'?", code=2)
        self.refuses(["digest", str(SCENARIOS / "broken.json")], "broken.json:")

    # ---- conform

    def test_conform_plays_everything_and_reports(self):
        report = self.path("report.jsonl")
        got = self.answer("conform", "--report", report)
        self.assertEqual((got["fixtures_passed"], got["fixtures_wanted"], got["complaints"]), (147, 147, []))
        records = [json.loads(line) for line in pathlib.Path(report).read_text().splitlines()]
        self.assertEqual(len(records), len(got["fixtures"]))
        schema = json.loads(pathlib.Path("conformance/schema/report.schema.json").read_text())
        for r in records:
            self.assertEqual(sorted(r), sorted(schema["required"]))
            self.assertEqual(sorted(r), sorted(schema["properties"]))
            self.assertEqual(list(r)[: len(REPORT_FIELDS)], REPORT_FIELDS)
            self.assertEqual([r[f] for f in REPORT_FIELDS[:7]], [None] * 7)
            self.assertEqual((r["parity"], r["result"]), ("not_compared", "pass"))
            self.assertRegex(r["semantic_digest"], r"^[0-9a-f]{32}$")
        self.assertEqual({(r["profile"], r["codec"]) for r in records},
                         {(p, c) for p in ("tiny", "core", "server") for c in ("bin", "json")})
        self.assertEqual(len({r["scenario_id"] for r in records}), 147)
        kept = json.loads(pathlib.Path("conformance/digests.json").read_text())
        self.assertEqual(len(kept), 147)

    def test_conform_notices(self):
        folder = pathlib.Path(self.path("conformance"))
        shutil.copytree("conformance", folder)
        some = folder / "fixtures" / "region" / "region-lifecycle-001.json"
        tree = json.loads(some.read_text())
        self.assertEqual(self.answer("conform", "region-lifecycle-001", "--fixtures", str(folder))["fixtures_passed"], 1)
        small = folder / "fixtures" / "region" / "region-lifecycle-003.json"
        small.write_text(json.dumps(json.loads(small.read_text()) | {"runtime": {"profiles": ["core"]}}))
        self.refuses(["conform", "region-lifecycle-003", "--fixtures", str(folder), "--profile", "tiny"],
                     "none of these fixtures is played")
        # Another run than the one that is kept.
        tree["steps"].append({"do": "spawn", "task": next(iter(tree["tasks"])), "as": "one-more", "status": ["ok", "region_not_open"]})
        some.write_text(json.dumps(tree))
        got = self.answer("conform", "region-lifecycle-001", "--fixtures", str(folder), code=1)
        self.assertIn("digests.json keeps", json.dumps(got))
        # What makes no sense, what is missing, what nobody asked for.
        some.write_text("{")
        got = self.answer("conform", "region-lifecycle-001", "--fixtures", str(folder), code=1)
        self.assertIn("region-lifecycle-001.json:1:", json.dumps(got))
        some.rename(some.with_name("region-lifecycle-999.json"))
        got = self.answer("conform", "region-lifecycle", "--fixtures", str(folder), code=1)
        self.assertEqual(len(got["complaints"]), 2)
        self.refuses(["conform", "regoin-lifecycle-001"], "no id of the catalogue")
        self.refuses(["conform", "region-lifecycle-001", "nosuch"], "'nosuch' is no id of the catalogue")
        # A fixture without its digest, and one whose expectations fail, are not taken for right.
        other = folder / "fixtures" / "region" / "region-lifecycle-002.json"
        kept = json.loads((folder / "digests.json").read_text())
        (folder / "digests.json").write_text(json.dumps({k: v for k, v in kept.items() if k != "region-lifecycle-002"}))
        got = self.answer("conform", "region-lifecycle-002", "--fixtures", str(folder), code=1)
        self.assertIn("keeps nothing for it", json.dumps(got))
        tree = json.loads(other.read_text())
        tree["steps"].append({"do": "expect", "said": ["nonsense"]})
        other.write_text(json.dumps(tree))
        self.answer("conform", "region-lifecycle-002", "--fixtures", str(folder), "--keep", code=1)
        self.assertNotIn("region-lifecycle-002", json.loads((folder / "digests.json").read_text()))
        self.refuses(["conform", "--fixtures", self.path("nothing")], "cannot be read")
        self.refuses(["conform", "--codec", "jsn"], "Did you mean 'json'?", code=2)
        self.refuses(["conform", "--report", self.path("no/such/report")], "cannot be made")

    # ---- the rest

    def test_doctor_and_version(self):
        got = self.answer("doctor")
        self.assertTrue(got["ok"], got)
        self.assertEqual(self.answer("version")["scenario_dsl_version"], 1)
        self.assertTrue(asx("version")[1].startswith("asx "))

    def test_shells_and_the_manual_know_every_verb(self):
        help_text = asx("--help")[1]
        verbs = [line.split()[0] for line in help_text.split("Subcommands:")[1].splitlines() if line.startswith("  ")
                 and not line.startswith("   ")]
        self.assertIn("conform", verbs)
        for shell in ("bash", "zsh", "fish"):
            script = asx("completion", shell)[1]
            for verb in verbs:
                self.assertIn(verb, script)
        checked = subprocess.run(["bash", "-c", 'source <("$0" completion bash); COMP_WORDS=(asx journal sh); COMP_CWORD=2; '
                                  '_asx; printf "%s " "${COMPREPLY[@]}"; COMP_WORDS=(asx run --pro); _asx; printf "%s " "${COMPREPLY[@]}"', ASX],
                                 capture_output=True, text=True)
        self.assertEqual(checked.stdout.split(), ["show", "--profile"], checked.stderr)
        self.refuses(["completion", "fsh"], "Did you mean", code=2)
        manual = asx("manual")[1]
        for verb in verbs:
            self.assertIn(f".SS asx {verb}", manual.replace("\\-", "-"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
