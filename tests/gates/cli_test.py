#!/usr/bin/env python3
"""Uses the asx command as a person and as a program would, rightly and wrongly.

    tests/gates/cli_test.py PATH_OF_ASX PATH_OF_JOURNAL_WRITER
"""

import json
import os
import pathlib
import pty
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ASX = sys.argv.pop(1)
WRITER = sys.argv.pop(1)


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

    def test_the_demo_shows_what_it_says(self):
        began = time.monotonic()
        code, out, err = asx("--json", "demo")
        self.assertEqual((code, err), (0, ""))
        self.assertLess(time.monotonic() - began, 60, "a demonstration that takes longer is left before its end")
        parts = {p["part"]: p for p in json.loads(out)["parts"]}
        self.assertEqual(list(parts), ["real_clock", "lab", "bug", "replay", "why", "tree"])
        day = parts["real_clock"]
        self.assertEqual(day["sold"] + day["on_shelf"], day["items"])
        self.assertTrue(any("the operator closes the shop" in line for line in day["lines"]))
        self.assertEqual(*parts["lab"]["digests"])
        bug, again = parts["bug"], parts["replay"]
        self.assertGreater(bug["found_at_seed"], 1, "a bug that the first schedule shows is no demonstration")
        self.assertLessEqual(bug["found_at_seed"], bug["seeds_allowed"])
        self.assertIn("1 obligation leaked", bug["finding"])
        self.assertIn("order_service.hpp:", bug["finding"])
        self.assertTrue(any("neither sold nor put back" in line for line in bug["lines"]))
        self.assertTrue(any("`co_await send(parcels, order)`" in line for line in bug["lines"]))
        self.assertFalse(any("(note)" in line for line in bug["lines"]), "what is only noted is no part of the story")
        self.assertLessEqual(max(len(line) for part in parts.values() for line in part["lines"]), 118)
        self.assertEqual(again["found"], again["replayed"])
        self.assertTrue(bug["token"].endswith(again["found"][:16]))
        self.assertEqual(parts["why"]["kind"], "shutdown")
        self.assertTrue(any('"the operator closes the shop"' in line for line in parts["why"]["lines"]))
        self.assertTrue(parts["tree"]["is_quiescent"])
        self.assertTrue(any("'shop'  draining" in line for line in parts["tree"]["lines"]))

    def test_the_demo_paints_on_a_terminal_only(self):
        def on_terminal(**more):
            ours, theirs = pty.openpty()
            environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | more
            run = subprocess.Popen([ASX, "demo"], stdout=theirs, env=environment)
            os.close(theirs)
            out = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # What Linux says when the last writer is gone.
                    break
                if not piece:
                    break
                out += piece
            os.close(ours)
            self.assertEqual(run.wait(), 0)
            return out.decode()

        self.assertIn("\x1b[", on_terminal())
        self.assertNotIn("\x1b[", on_terminal(NO_COLOR="1"))
        self.assertNotIn("\x1b[", on_terminal(TERM="dumb"))
        self.assertNotIn("\x1b[", asx("demo")[1])

    def test_every_status_explains_itself(self):
        rows = json.loads(asx("--json", "status")[1])
        self.assertEqual([r["number"] for r in rows], [*range(28), *range(100, 108)])
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
        self.refuses(["status", "64"], "0 to 27 and 100 to 107")
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


class asx_journal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.bin, cls.json = cls.path("run.asxj"), cls.path("run.jsonl")
        subprocess.run([WRITER, "bin", cls.bin, "11", "2000"], check=True)
        subprocess.run([WRITER, "json", cls.json, "11", "2000"], check=True)
        cls.lines = pathlib.Path(cls.json).read_text().splitlines()
        cls.events = [json.loads(line) for line in cls.lines[1:-1]]
        cls.digest = json.loads(cls.lines[-1])["digest"]
        cls.semantic = cls.events[-1]["seq"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return str(pathlib.Path(cls.folder.name) / name)

    def made(self, name, content):
        path = pathlib.Path(self.path(name))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def journal(self, *words, code=0):
        """The standard output; what is said on standard error is checked to be one line, or nothing."""
        got, out, err = asx("journal", *words)
        self.assertEqual(got, code, err)
        self.assertLessEqual(err.count("\n"), 1, err)
        self.err = err
        return out

    def refuses(self, words, *parts, code=1):
        out = self.journal(*words, code=code)
        self.assertEqual(out, "")
        self.assertTrue(self.err.startswith("asx: "))
        for part in parts:
            self.assertIn(part, self.err)

    def no_leftovers(self):
        self.assertEqual([p.name for p in pathlib.Path(self.folder.name).iterdir() if "partial" in p.name], [])

    # ---- show

    def test_show_gives_every_event_in_either_form(self):
        for file in (self.bin, self.json):
            self.assertEqual(self.journal("show", file, "--json").splitlines(), self.lines[1:-1])
            shown = self.journal("show", file).splitlines()
            self.assertEqual(len(shown), sum(e["kind"] != "text" for e in self.events))
            self.assertIn("the runtime starts", shown[0])
        subprocess.run([WRITER, "text", self.path("run.txt"), "11", "2000"], check=True)
        self.assertEqual(self.journal("show", self.bin), pathlib.Path(self.path("run.txt")).read_text())

    def test_show_selects(self):
        rows = [json.loads(x) for x in self.journal("show", self.bin, "--from", "10", "--to", "20", "--json").splitlines()]
        self.assertEqual([r["seq"] for r in rows if r["kind"] != "text"], list(range(10, 21)))
        rows = [json.loads(x) for x in
                self.journal("show", self.bin, "--kind", "task_woken", "--kind", "timer_fired", "--json").splitlines()]
        self.assertEqual(len(rows), sum(e["kind"] in ("task_woken", "timer_fired") for e in self.events))
        rows = [json.loads(x) for x in self.journal("show", self.bin, "--task", "3", "--json").splitlines()]
        kinds = {r["kind"] for r in rows}
        self.assertTrue({"task_spawned", "task_dispatched", "poll_ended"} <= kinds, kinds)
        for r in rows:
            self.assertIn(3, (r["subject"], r["object"], r["a"], r["b"]))
        rows = [json.loads(x) for x in self.journal("show", self.bin, "--region", "2", "--json").splitlines()]
        self.assertEqual(rows[0]["kind"], "region_created")
        self.assertEqual(self.journal("show", self.bin, "--from", str(self.semantic + 1)), "")

    def test_show_refuses_a_selection_that_makes_no_sense(self):
        self.refuses(["show", self.bin, "--kind", "task_wokn"], "Did you mean 'task_woken'?", code=2)
        self.refuses(["show", self.bin, "--from", "ten"], "'ten' is no number of an event", code=2)
        self.refuses(["show", self.bin, "--from", "9", "--to", "8"], "smaller number first", code=2)
        self.refuses(["show", self.bin, "--task", "0"], "counted from 1", code=2)
        self.refuses(["show", self.bin, "--tsk", "1"], "Did you mean '--task'?", code=2)
        self.refuses(["show"], "FILE is required", code=2)
        self.refuses(["shwo", self.bin], "Did you mean 'show'?", code=2)
        self.refuses([], "verbs", code=2)

    # ---- info

    def test_info_counts_and_checks(self):
        for file, codec in ((self.bin, "binary"), (self.json, "json")):
            info = json.loads(self.journal("info", file, "--json"))
            self.assertEqual((info["codec"], info["profile"], info["seed"]), (codec, "core", 11))
            self.assertEqual((info["events"], info["semantic_events"]), (len(self.events), self.semantic))
            self.assertEqual((info["digest"], info["end"]), (self.digest, "marked"))
            self.assertEqual((info["first_time"], info["last_time"]),
                             (self.events[0]["time"], self.events[-1]["time"]))
            self.assertIn(self.digest, self.journal("info", file))

    # ---- bad input, the same for every verb

    def test_what_is_no_journal_is_told_by_every_verb(self):
        bad = {
            self.path("nowhere"): "No such file",
            self.folder.name: "is a directory",
            "/dev/null": "no regular file",
            self.made("empty", b""): "is empty",
            self.made("letter.txt", "Dear journal,\n"): "byte 0: this is no journal of asx",
            self.made("other.json", '{"name":1}\n'): "line 1: this is no journal of asx",
            self.made("headless.asxj", pathlib.Path(self.bin).read_bytes()[:40]): "cut inside its header",
            self.made("headless.jsonl", self.lines[0][:30]): "cut inside its header",
            self.made("newer.jsonl", self.lines[0].replace(":1,", ":2,", 1) + "\n"): "another version",
        }
        for file, text in bad.items():
            for words in (["show", file], ["info", file], ["convert", file, self.path("no.jsonl")],
                          ["compare", file, self.bin], ["compare", self.bin, file], ["why", file, "late", "1"],
                          ["trace", file, self.path("no.json")], ["dot", file]):
                self.refuses(words, text)
            self.refuses(["certify", file], text, code=2)
        self.assertFalse(pathlib.Path(self.path("no.jsonl")).exists() or pathlib.Path(self.path("no.json")).exists())
        self.no_leftovers()

    def test_an_unknown_kind_is_told_with_its_line(self):
        lines = list(self.lines)
        lines[7] = lines[7].replace(json.loads(lines[7])["kind"], "task_teleported")
        file = self.made("kind.jsonl", "\n".join(lines) + "\n")
        self.journal("info", file, code=1)
        self.assertIn("line 8: the kind of the event is not known", self.err)
        self.assertIn("newer", self.err)

    def test_a_cut_file_is_read_as_far_as_it_goes(self):
        for name, whole in (("cut.asxj", pathlib.Path(self.bin).read_bytes()),
                            ("cut.jsonl", pathlib.Path(self.json).read_bytes())):
            file = self.made(name, whole[:len(whole) * 2 // 3])
            info = json.loads(self.journal("info", file, "--json"))
            self.assertEqual(info["end"], "cut")
            self.assertRegex(info["place"], "byte [0-9]+|line [0-9]+")
            self.assertLess(info["events"], len(self.events))
            self.assertEqual(self.journal("show", file, "--json").splitlines(), self.lines[1:info["events"] + 1])
            self.assertIn(f"{info['place']}: the file is cut here", self.err)
            self.refuses(["convert", file, self.path("cut_no.jsonl")], "the file is cut here", "--cut")
            back, again = self.path("back_" + name + ".jsonl"), self.path("again_" + name + ".asxj")
            self.journal("convert", file, back, "--cut")
            self.journal("convert", back, again, "--cut")
            for copy in (back, again):
                copied = json.loads(self.journal("info", copy, "--json"))
                self.assertEqual([copied[k] for k in ("end", "events", "digest")],
                                 [info[k] for k in ("end", "events", "digest")])
        self.no_leftovers()

    def test_a_flipped_bit_is_never_a_crash(self):
        dice = random.Random(20261115)
        found = 0
        for name, file in (("flip.asxj", self.bin), ("flip.jsonl", self.json)):
            whole = pathlib.Path(file).read_bytes()
            for i in range(100):
                content = bytearray(whole)
                place = dice.randrange(len(content))
                content[place] ^= 1 << dice.randrange(8)
                flipped = self.made(name, bytes(content))
                verb = [["info", flipped], ["show", flipped], ["compare", self.bin, flipped],
                        ["convert", flipped, self.path("flipped.jsonl"), "--force"], ["why", flipped, "late", "3"],
                        ["dot", flipped]][i % 6]
                code, out, err = asx("journal", *verb)
                self.assertIn(code, (0, 1), (name, place, err))
                self.assertTrue(out or err.startswith("asx: "), (name, place))
                self.assertLessEqual(err.count("\n"), 1, err)
                if verb[0] == "info":
                    self.assertEqual(code, 1, (name, place))
                    found += 1
        self.assertGreater(found, 30)
        self.no_leftovers()

    # ---- convert

    def test_convert_there_and_back_gives_the_same_bytes(self):
        j, b = self.path("c.jsonl"), self.path("c.asxj")
        out = self.journal("convert", self.bin, j)
        self.assertEqual(out.count(self.digest), 2)
        self.assertEqual(pathlib.Path(j).read_bytes(), pathlib.Path(self.json).read_bytes())
        self.journal("convert", j, b, "--block-events", "64")
        self.assertEqual(pathlib.Path(b).read_bytes(), pathlib.Path(self.bin).read_bytes())
        self.journal("convert", j, b, "--force")
        self.journal("convert", b, j, "--force", "--json")
        self.assertEqual(pathlib.Path(j).read_bytes(), pathlib.Path(self.json).read_bytes())
        self.no_leftovers()

    def test_convert_replaces_nothing_unasked_and_leaves_nothing_half_done(self):
        there = self.made("there.jsonl", "precious")
        self.refuses(["convert", self.bin, there], "is there already", "--force")
        self.assertEqual(pathlib.Path(there).read_text(), "precious")
        whole = bytearray(pathlib.Path(self.bin).read_bytes())
        whole[len(whole) // 2] ^= 1
        damaged = self.made("damaged.asxj", bytes(whole))
        self.refuses(["convert", damaged, there, "--force"], "byte ", "intact", "--to")
        self.assertEqual(pathlib.Path(there).read_text(), "precious")
        self.refuses(["convert", self.bin, self.path("no/such/folder.jsonl")], "No such file")
        self.refuses(["convert", self.bin, self.folder.name + "/x.txt"], ".asxj", ".jsonl", code=2)
        self.refuses(["convert", self.bin, self.path("x.asxj"), "--block-events", "5000"], "1 to 4096", code=2)
        self.refuses(["convert", self.bin], "TO is required", code=2)
        self.no_leftovers()

    def test_a_disk_that_is_full_leaves_no_file(self):
        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

        for verb, name in (("convert", "full.jsonl"), ("convert", "full.asxj"), ("trace", "full.json")):
            run = subprocess.run([ASX, "journal", verb, self.bin, self.path(name)], capture_output=True, text=True,
                                 preexec_fn=small_disk)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertIn(f"{name} cannot be written: File too large", run.stderr)
            self.assertFalse(pathlib.Path(self.path(name)).exists())
        self.no_leftovers()

    # ---- compare

    def test_compare_same(self):
        for a in (self.bin, self.json):
            for b in (self.bin, self.json):
                self.assertIn(f"{self.semantic} events are equal", self.journal("compare", a, b))
        everything = json.loads(self.journal("compare", self.bin, self.json, "--everything", "--json"))
        self.assertEqual((everything["match"], everything["compared"]), (True, len(self.events)))

    def test_compare_different(self):
        subprocess.run([WRITER, "bin", self.path("other.asxj"), "12", "2000"], check=True)
        self.assertIn("12 in the run", self.journal("compare", self.bin, self.path("other.asxj"), code=1))
        place = next(i for i in range(500, len(self.lines)) if json.loads(self.lines[i])["kind"] == "task_dispatched")
        seq = json.loads(self.lines[place])["seq"]
        lines = self.lines[:place] + [self.lines[place].replace('"a":', '"a":7', 1)] + self.lines[place + 1:-1]
        changed = self.made("changed.jsonl", "\n".join(lines) + "\n")
        out = json.loads(self.journal("compare", self.json, changed, "--context", "20", "--json", code=1))
        self.assertEqual((out["difference"], out["compared"]), ("an event differs", seq - 1))
        self.assertEqual(out["reference_event"]["seq"], seq)
        self.assertEqual([f["name"] for f in out["fields"]], ["a"])
        self.assertEqual([e["seq"] for e in out["before"]], list(range(seq - 20, seq)))
        text = self.journal("compare", self.json, changed, "--context", "0", code=1)
        self.assertIn(f"  - {seq}  task_dispatched", text)
        self.assertNotIn(f" {seq - 1}  ", text)
        self.refuses(["compare", self.bin, self.bin, "--context", "few"], "'few' is no number", code=2)
        self.refuses(["compare", self.bin], "B is required", code=2)

    def test_compare_with_a_cut_or_damaged_one(self):
        whole = pathlib.Path(self.bin).read_bytes()
        cut = self.made("half.asxj", whole[:len(whole) // 2])
        for file in (self.bin, self.json):
            self.assertIn("the run ended before the reference", self.journal("compare", file, cut, code=1))
            self.assertIn("the file is cut here", self.err)
        self.assertIn("the reference ended before the run", self.journal("compare", cut, self.bin, code=1))
        damaged = self.made("half_damaged.jsonl", "\n".join(self.lines[:90]) + "\n{}\n")
        self.refuses(["compare", self.bin, damaged], "half_damaged.jsonl, line 91", "89 events before it are intact")

    # ---- why

    def test_why_answers_each_question(self):
        asked = next(e for e in self.events if e["kind"] == "cancel_requested")
        task = str(asked["subject"])
        self.assertIn(f"task {task}", self.journal("why", self.bin, "cancelled", task))
        why = json.loads(self.journal("why", self.json, "cancelled", task, "--json"))
        self.assertTrue(why["cancelled"])
        self.assertEqual(why["chain"]["events"][0]["kind"], "cancel_requested")
        self.assertFalse(why["chain"]["beyond"])
        before = str(asked["seq"] - 1)
        self.assertIn("was not cancelled", self.journal("why", self.bin, "cancelled", task, "--at", before, code=1))

        waits = next(e for e in self.events if e["kind"] == "task_waits")
        blocked = json.loads(self.journal("why", self.bin, "blocked", str(waits["subject"]), "--at",
                                          str(waits["seq"] + 1), "--json"))  # Until its poll ends it runs.
        self.assertEqual((blocked["state"], blocked["since_seq"]), ("waiting", waits["seq"]))
        self.journal("why", self.bin, "blocked", str(waits["subject"]), code=1)

        refused = next(e for e in self.events if e["kind"].startswith("refused_"))
        answer = json.loads(self.journal("why", self.bin, "refused", str(refused["subject"]), "--at",
                                         str(refused["seq"]), "--json"))
        self.assertEqual((answer["seq"], answer["call"]), (refused["seq"], refused["kind"]))

        late = json.loads(self.journal("why", self.bin, "late", "1", "--json"))
        self.assertTrue(late["known"] and late["dispatched"])
        self.assertIn("was woken into", self.journal("why", self.bin, "late", "1"))

    def test_why_refuses_what_is_no_question(self):
        self.refuses(["why", self.bin, "canceled", "1"], "Did you mean 'cancelled'?", code=2)
        self.refuses(["why", self.bin, "late", "one"], "'one' is no number of a task", code=2)
        self.refuses(["why", self.bin, "late", "0"], "counted from 1", code=2)
        self.refuses(["why", self.bin, "late"], "ID is required", code=2)
        self.refuses(["why", self.bin, "late", "1", "--at", "999999"], f"ends with event {self.semantic}")
        self.refuses(["why", self.bin, "late", "1", "--at", "0"], "begins with event 1")

    def test_names_that_are_no_text_do_not_break_the_answer(self):
        at = next(i for i, line in enumerate(self.lines) if '"kind":"text"' in line)
        named = json.loads(self.lines[at])
        named["a"], named["b"] = str(0xfffefdfcfbfaf9f8), 0
        lines = self.lines[:at] + [json.dumps(named)] + self.lines[at + 1:-1]
        file = self.made("bytes.jsonl", "\n".join(lines) + "\n")
        self.assertTrue(json.loads(self.journal("why", file, "late", str(named["subject"]), "--json"))["known"])

    # ---- certify

    def schedule(self, name, steps, first=1):
        """Writes a journal of (kind, fields) as JSON Lines, numbered from `first`; without an end mark it is cut."""
        lines = [json.dumps({**json.loads(self.lines[0]), "seq_before": first - 1}, separators=(",", ":"))]
        for seq, (kind, fields) in enumerate(steps, first):
            lines.append(json.dumps({"seq": seq, "time": 0, "kind": kind, "worker": 0, "subject": 0, "object": 0, "a": 0,
                                     "b": 0, "cause": 0, **fields}, separators=(",", ":")))
        return self.made(name, "\n".join(lines) + "\n")

    # A ready task and a cancelled one: lane 2 and lane 0, both of priority 128, on worker 0.
    TWO_TASKS = [("task_woken", {"subject": 1, "a": 2 | 128 << 8, "b": 1}),
                 ("task_woken", {"subject": 2, "a": 0 | 128 << 8, "b": 2})]
    RUN_READY = ("task_dispatched", {"subject": 1, "a": 128 | 2 << 32, "b": 1, "cause": 1})
    RUN_CANCEL = ("task_dispatched", {"subject": 2, "a": 128, "b": 2, "cause": 2})

    def test_certify_accepts_a_legal_schedule(self):
        file = self.schedule("legal.jsonl", [*self.TWO_TASKS, self.RUN_CANCEL, self.RUN_READY])
        text = self.journal("certify", file)
        self.assertIn("accepted: 2 dispatches in 4 events, 1 to 4", text)
        self.assertIn("waits in the ready lane  1 task; longest 2 dispatches (event 4)", text)
        self.assertIn("the file is cut here", self.err)
        out = json.loads(self.journal("certify", file, "--json"))
        self.assertEqual((out["accepted"], out["violations"], out["unknown"]), (True, [], []))
        self.assertEqual((out["dispatches"], out["unchecked"]), (2, 0))
        self.assertEqual([out["certificate"][k] for k in ("cancel_dispatches", "ready_dispatches", "dispatches")], [1, 1, 2])
        self.assertEqual(out["certificate"]["max_effective_limit_observed"], 16)
        self.assertEqual((out["waits"]["ready"]["worst_wait"], out["waits"]["ready"]["worst_bound"]), (2, 65 * 17))
        # The same schedule under its certificate.
        issued = ("certificate_issued", {"a": out["certificate"]["hash"], "b": 2})
        file = self.schedule("issued.jsonl", [*self.TWO_TASKS, self.RUN_CANCEL, self.RUN_READY, issued])
        self.assertEqual(json.loads(self.journal("certify", file, "--json"))["certificates_checked"], 1)

    def test_certify_names_what_was_broken(self):
        file = self.schedule("broken.jsonl", [*self.TWO_TASKS, self.RUN_READY, self.RUN_CANCEL])
        text = self.journal("certify", file, code=1)
        self.assertIn("1 violation: 2 dispatches", text)
        self.assertIn("event 3  INV-SC-01  expected the cancel lane, found the ready lane", text)
        out = json.loads(self.journal("certify", file, "--json", code=1))
        self.assertEqual((out["accepted"], out["violation_count"]), (False, 1))
        self.assertEqual((out["violations"][0]["seq"], out["violations"][0]["rule"]), (3, "INV-SC-01"))
        for made in (self.bin, self.json):  # Made at random, with no regard to lanes: many rules are broken.
            self.assertFalse(json.loads(self.journal("certify", made, "--json", code=1))["accepted"])

    def test_certify_says_what_it_cannot_know(self):
        late = [self.TWO_TASKS[1], ("task_dispatched", {**self.RUN_CANCEL[1], "cause": 11}),
                ("task_dispatched", {"subject": 9, "a": 128 | 2 << 32, "b": 1, "cause": 4})]  # Queued before.
        file = self.schedule("late.jsonl", late, first=11)
        text = self.journal("certify", file)
        self.assertIn("The journal begins at event 11", text)
        self.assertIn("2 dispatches could not be checked fully", text)
        self.assertIn("certificate  not known", text)
        out = json.loads(self.journal("certify", file, "--json"))
        self.assertEqual((out["accepted"], out["unchecked"], out["certificate"]), (True, 2, None))
        self.assertEqual(len(out["unknown"]), 2)

    def test_certify_does_not_take_damage_for_a_verdict(self):
        whole = bytearray(pathlib.Path(self.bin).read_bytes())
        whole[len(whole) // 2] ^= 1
        self.refuses(["certify", self.made("flipped.asxj", bytes(whole))], "intact", code=2)
        self.refuses(["certify"], "FILE is required", code=2)
        self.refuses(["certfy", self.bin], "Did you mean 'certify'?", code=2)

    # ---- trace and dot

    def test_trace_and_dot(self):
        subprocess.run([WRITER, "trace", self.path("by_writer.json"), "11", "2000"], check=True)
        self.journal("trace", self.bin, self.path("trace.json"))
        self.assertEqual(pathlib.Path(self.path("trace.json")).read_bytes(),
                         pathlib.Path(self.path("by_writer.json")).read_bytes())
        self.refuses(["trace", self.bin, self.path("trace.json")], "is there already", "--force")
        self.journal("trace", self.json, self.path("trace.json"), "--force", "--axis", "sequence")
        self.assertTrue(json.loads(pathlib.Path(self.path("trace.json")).read_text())["traceEvents"])
        self.refuses(["trace", self.bin, self.path("t.json"), "--axis", "tme"], "Did you mean 'time'?", code=2)
        dot = self.journal("dot", self.bin, "--at", "100")
        self.assertTrue(dot.startswith("digraph regions {") and dot.endswith("}\n"))
        self.assertIn("after event 100", dot)
        self.assertEqual(json.loads(self.journal("dot", self.json, "--at", "100", "--json"))["dot"], dot)
        self.refuses(["dot", self.bin, "--at", "x"], "'x' is no number of an event", code=2)
        self.no_leftovers()

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([ASX, "journal", "show", self.bin], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot be written", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
