#!/usr/bin/env python3
"""Plants single faults in the library, component by component, and sees whether anybody notices.

    tools/mutate.py [--only COMPONENT ...] [--id ID ...] [--jobs N] [--minutes N] [--fixtures-only] [--tests-only] [--json]
    tools/mutate.py --check       only whether every fault can be planted (a gate; takes no time)
    tools/mutate.py --list        the faults, one line each

tools/mutants.json is the table: component, file, a text that occurs once in it, what stands there instead, and a
sentence that says what is wrong then. One fault at a time is written into a copy of the tree (build/mutants/N/tree);
what it touches is built again there, and the fixtures (`asx conform`) judge first: one profile and codec, then all. A
fixture notices by an expectation that does not hold, by a play that dies or does not end, or only by a digest that is
not the kept one; the table tells these apart. What no fixture notices, the component's tests judge after that. The
drive of many workers is judged by its stress tests alone: `asx conform` has one thread. A fault that nobody notices has
survived: either a test is missing, or nothing can be seen of it, and then the table of faults says why in the field
"equivalent". The first run builds everything, later ones only what changed.

Exit 0: every fault that is not equivalent was noticed. 1: a survivor, a text that is not found any more, a fault that
does not compile, an equivalent one that was noticed after all. 2: the call makes no sense.
"""

import argparse
import collections
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

TABLE = pathlib.Path("tools/mutants.json")
FIXTURES = "fixtures"
# The tests that judge what the fixtures let pass, the likeliest first. The kernel's own promises are tested through
# the runtime.
TESTS = {
    "kernel": ["test_runtime", "test_kernel", "test_chan", "test_coro"],
    "chan": ["test_chan", "test_coro"],
    "sched": ["test_sched", "test_runtime"],
    "wheel": ["test_wheel", "test_runtime"],
    "drive": ["workers_waking_stress", "workers_drive_stress", "workers_outside_stress", "workers_stress"],
}
WITHOUT_FIXTURES = {"drive"}
PATIENCE = 30  # Seconds; who takes longer, and longer than usual, does not end.
LEAST_EACH, LEAST_ALL = collections.defaultdict(lambda: 15, drive=8), 60
MEMORY = 6 << 30  # A fault may ask for memory without end.


def fail(text, code=1):
    print(f"mutate: {text}", file=sys.stderr)
    sys.exit(code)


def read_table(root):
    try:
        rows = json.loads((root / TABLE).read_text())
    except (OSError, ValueError) as e:
        fail(f"cannot read {TABLE}: {e}")
    problems, ids = [], set()
    for row in rows:
        name = row.get("id", "a row without id")
        missing = {"id", "component", "file", "old", "new", "says"} - row.keys()
        unknown = row.keys() - {"id", "component", "file", "old", "new", "says", "equivalent"}
        if missing or unknown:
            problems.append(f"{name}: fields {sorted(missing | unknown)} are missing or unknown")
            continue
        if name in ids:
            problems.append(f"{name}: the id is there twice; give the later row another")
        ids.add(name)
        if row["component"] not in TESTS:
            problems.append(f"{name}: nobody judges '{row['component']}'; known are {', '.join(TESTS)}")
        if row["old"] == row["new"]:
            problems.append(f"{name}: old and new are the same text; that is no fault")
        path = root / row["file"]
        found = path.read_text().count(row["old"]) if path.is_file() else 0
        if found != 1:
            why = "there is no such file" if not path.is_file() else f"its text occurs {found} times, not once"
            problems.append(f"{name}: {row['file']}: {why}; adapt the row to the source: {row['old'].strip().splitlines()[0]}")
    for component, count in collections.Counter({c: 0 for c in TESTS} | collections.Counter(
            r.get("component") for r in rows)).items():
        if count < LEAST_EACH[component]:
            problems.append(f"{component}: {count} faults; at least {LEAST_EACH[component]} are wanted")
    if len(rows) < LEAST_ALL:
        problems.append(f"{len(rows)} faults; at least {LEAST_ALL} are wanted")
    return rows, problems


class Place:
    """A copy of the tree and a build of it, which only one worker uses."""

    def __init__(self, root, number):
        self.root = root
        self.tree = root / "build" / "mutants" / str(number) / "tree"
        self.build = root / "build" / "mutants" / str(number) / "build"
        self.log = self.build.parent / "log.txt"
        self.environment = {**os.environ, "RC_PARAMS": "seed=20261115", "ASX_MODEL_OPS": "50000",
                            "ASX_ROOT": str(self.tree), "CCACHE_SLOPPINESS": "pch_defines,time_macros",
                            "CCACHE_BASEDIR": str(self.build.parent)}  # What one copy compiled, the next need not.

    def sync(self):
        """The copy becomes the tree as it is; what is the same keeps its time, so that it is not built again."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                                capture_output=True, text=True)
        if listed.returncode:
            fail(f"git does not list the sources: {listed.stderr.strip()}")
        wanted = {f for f in listed.stdout.split("\0") if f and (self.root / f).is_file()}
        for old in [p for p in self.tree.rglob("*") if p.is_file()] if self.tree.is_dir() else []:
            if old.relative_to(self.tree).as_posix() not in wanted:
                old.unlink()
        for name in wanted:
            source, copy = self.root / name, self.tree / name
            if copy.is_file() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
            os.utime(copy)  # Newer than what was built from the file that stood there.

    def run(self, command, timeout=None):
        """(exit status, or None after the timeout; output)"""
        limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))) if timeout else None
        with open(self.log, "wb") as log:
            process = subprocess.Popen(command, cwd=self.tree, env=self.environment, stdout=log, stderr=log,
                                       preexec_fn=limit, start_new_session=True)
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                code = None
        return code, self.log.read_text(errors="replace")

    def configure(self):
        self.sync()
        if (self.build / "build.ninja").is_file():
            return
        self.build.mkdir(parents=True, exist_ok=True)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        code, said = self.run(["cmake", "-S", str(self.tree), "-B", str(self.build), "-G", "Ninja", *launcher,
                               "-DCMAKE_CXX_COMPILER=g++-12", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -w",
                               "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST",
                               "-DASX_INSTALL=OFF"])
        if code:
            fail(f"configuring the copy failed:\n{said}")

    def make(self, target):
        return self.run(["nice", "cmake", "--build", str(self.build), "-j1", "--target", target])

    def asks(self, judge):
        """The commands by which it judges, the quickest first."""
        if judge == FIXTURES:
            conform = [str(self.build / "asx/cli/asx"), "conform"]
            return [[*conform, "--profile", "core", "--codec", "bin"], conform]
        return [[str(self.build / "tests" / judge), "--gtest_brief=1", "--gtest_fail_fast"]]


def target_of(judge):
    return "asx_cli" if judge == FIXTURES else judge


def baseline(place, judge, seconds):
    """Lets this one judge the tree as it is, and notes the seconds of each command: who fails here may not judge."""
    print(f"mutate: building {target_of(judge)}", file=sys.stderr, flush=True)
    code, said = place.make(target_of(judge))
    if code:
        fail(f"{target_of(judge)} does not build without a fault; mend the tree first:\n{said[-3000:]}")
    seconds[judge] = []
    for command in place.asks(judge):
        started = time.monotonic()
        code, said = place.run(command, 1800)
        if code != 0:
            fail(f"{judge} fails without a fault; mend the tree first:\n{said[-3000:]}")
        seconds[judge].append(time.monotonic() - started)


def how_noticed(judge, code, said):
    """(kind, words): by expectation, by digest alone, or by a test."""
    if judge != FIXTURES:
        first = re.search(r"\[  FAILED  \] ([\w./]+)", said)
        return "test", judge + (": " + first.group(1) if first else " (no end)" if code is None else " (died)")
    failures = re.findall(r"^([\w.-]+) \((?:tiny|core|server|not played) \w*\): (.*)$", said, re.M)
    real = list(dict.fromkeys(name for name, why in failures if not why.startswith("its digest is")))
    names = list(dict.fromkeys(name for name, _ in failures))
    if code is None or not failures:
        return "expectation", "fixtures (no end)" if code is None else "fixtures (died)"
    return ("expectation" if real else "digest"), f"{(real or names)[0]} and {len(real or names) - 1} more fixtures"


def judge_mutant(place, row, judges, seconds):
    """(verdict, by whom): expectation, digest, test, proved, survived, or 'no C++'."""
    path = place.tree / row["file"]

    def restore():
        if path.read_text() != (place.root / row["file"]).read_text():
            shutil.copy(place.root / row["file"], path)
            os.utime(path)

    try:
        for judge in judges:
            if judge not in seconds:  # Who is seldom asked is built when first needed.
                restore()
                baseline(place, judge, seconds)
            mutated = (place.root / row["file"]).read_text().replace(row["old"], row["new"])
            if path.read_text() != mutated:
                path.write_text(mutated)
            code, said = place.make(target_of(judge))
            if code:
                is_proof = re.search(r"static assertion failed|assert_failed|not a constant expression", said)
                return ("proved", "the compiler") if is_proof else ("no C++", said[-1500:])
            for command, usual in zip(place.asks(judge), seconds[judge]):
                code, said = place.run(command, max(PATIENCE, 4 * usual))
                if code != 0:
                    return how_noticed(judge, code, said)
        return "survived", ""
    finally:
        restore()


def judge_round(places, times, rows, judges_of, end):
    """One verdict for each fault that was begun before the end."""
    waiting, done, lock = queue.Queue(), [], threading.Lock()
    for row in rows:
        waiting.put(row)

    def work(place, seconds):
        while time.monotonic() < end:
            try:
                row = waiting.get_nowait()
            except queue.Empty:
                return
            started = time.monotonic()
            verdict, by = judge_mutant(place, row, judges_of(row), seconds)
            with lock:
                done.append({**{k: row[k] for k in ("id", "component", "file", "says")}, "verdict": verdict, "by": by,
                             "equivalent": row.get("equivalent"), "seconds": round(time.monotonic() - started, 1)})
                told = {"expectation": f"noticed by {by}", "digest": f"noticed by the digests alone: {by}",
                        "test": f"noticed by {by}", "proved": "refused by a proof", "survived": "passed",
                        "no C++": "DOES NOT COMPILE"}[verdict]
                print(f"[{len(done):3}/{len(rows)}] {row['id']} {told}, {done[-1]['seconds']:.0f} s: {row['says']}",
                      file=sys.stderr, flush=True)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(places, times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def judge_all(root, rows, args):
    end = time.monotonic() + args.minutes * 60 if args.minutes else float("inf")
    order = list(TESTS)
    rows = sorted(rows, key=lambda r: order.index(r["component"]))
    places = [Place(root, n) for n in range(min(args.jobs, len(rows)))]
    times = [{} for _ in places]
    for place in places:
        place.configure()
    verdicts = {}
    to_fixtures = [] if args.tests_only else [r for r in rows if r["component"] not in WITHOUT_FIXTURES]
    if to_fixtures:
        for place, seconds in zip(places, times):
            baseline(place, FIXTURES, seconds)
        print("mutate: the fixtures judge", file=sys.stderr, flush=True)
        verdicts = {d["id"]: d for d in judge_round(places, times, to_fixtures, lambda r: [FIXTURES], end)}
    left = [r for r in rows if r not in to_fixtures or verdicts.get(r["id"], {}).get("verdict") == "survived"]
    if left and not args.fixtures_only:
        print(f"mutate: the tests judge {len(left)} more", file=sys.stderr, flush=True)
        for row in left:
            verdicts.pop(row["id"], None)  # Who was not begun has no verdict.
        verdicts |= {d["id"]: d for d in judge_round(places, times, left, lambda r: TESTS[r["component"]], end)}
    return [verdicts[r["id"]] for r in rows if r["id"] in verdicts]


def score_of(done):
    """By component: how many were planted, who noticed, and what is left."""
    score = {}
    for component in TESTS:
        of = [d for d in done if d["component"] == component]
        if of:
            count = collections.Counter(d["verdict"] for d in of)
            score[component] = {
                "planted": len(of), "expectation": count["expectation"], "digest": count["digest"],
                "test": count["test"] + count["proved"],
                "equivalent": sum(d["verdict"] == "survived" and bool(d["equivalent"]) for d in of),
                "survived": sum(d["verdict"] == "survived" and not d["equivalent"] for d in of)}
    return score


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="COMPONENT", default=[], help=", ".join(TESTS))
    parser.add_argument("--id", nargs="+", metavar="ID", default=[], help="only these faults")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree that work at once (default 1)")
    parser.add_argument("--minutes", type=float, default=0, help="begin no fault after this long (default: all)")
    parser.add_argument("--fixtures-only", action="store_true", help="only `asx conform` judges")
    parser.add_argument("--tests-only", action="store_true", help="only the component's tests judge")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    args = parser.parse_args()
    root = pathlib.Path.cwd()
    rows, problems = read_table(root)
    for problem in problems:
        print(f"mutate: {TABLE}: {problem}", file=sys.stderr)
    if problems:
        return 1
    if args.check:
        counts = collections.Counter(r["component"] for r in rows)
        print(f"mutate: {len(rows)} faults can be planted: " + ", ".join(f"{counts[c]} in {c}" for c in TESTS))
        return 0
    for word in args.only:
        if word not in TESTS:
            fail(f"unknown component '{word}'; known are {', '.join(TESTS)}", 2)
    for word in args.id:
        if word not in {r["id"] for r in rows}:
            fail(f"no fault has the id '{word}'; --list shows them", 2)
    if args.jobs < 1:
        fail("--jobs wants a number from 1 on", 2)
    rows = [r for r in rows if (not args.only or r["component"] in args.only) and (not args.id or r["id"] in args.id)]
    if args.list:
        for r in rows:
            print(f"{r['id']}  {r['file']}: {r['says']}" + (f" [equivalent: {r['equivalent']}]" if "equivalent" in r else ""))
        return 0

    done = judge_all(root, rows, args)
    bad = [d for d in done if d["verdict"] == "no C++" or (d["verdict"] == "survived") != bool(d["equivalent"])]
    score = score_of(done)
    if args.json:
        print(json.dumps({"score": score, "not_begun": len(rows) - len(done), "mutants": done}))
    else:
        print("| component | planted | by a fixture's expectation | by a kept digest alone | by a test | equivalent | survived |")
        print("|---|---|---|---|---|---|---|")
        for component, s in score.items():
            print(f"| {component} | " + " | ".join(str(v) for v in s.values()) + " |")
        for d in done:
            if d["verdict"] == "survived":
                print(f"mutate: {d['id']} survived: {d['file']}: {d['says']}" +
                      (f" - equivalent: {d['equivalent']}" if d["equivalent"] else ""))
        if len(done) < len(rows):
            print(f"mutate: the time is up; {len(rows) - len(done)} faults were not begun")
    for d in bad:
        if d["verdict"] == "no C++":
            print(f"mutate: {d['id']} does not compile, so nothing was shown; mend its row:\n{d['by']}", file=sys.stderr)
        elif d["equivalent"]:
            print(f"mutate: {d['id']} was noticed by {d['by']}; take its \"equivalent\" away", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
