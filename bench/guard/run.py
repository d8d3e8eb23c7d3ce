#!/usr/bin/env python3
"""Says whether a core operation grew dearer: counts its instructions and compares with bench/budget.json.

    bench/guard/run.py [--only NAME] [--json] [--update --why TEXT]      from the repository root; `./x guard` builds first

Times vary with the machine and with who else is on it, a count does not: a change of a few percent is seen at once and
is never an accident. More than 5 % above the budget fails; more than 5 % below is told, so that the budget follows. A
count depends on compiler, machine and C library. The budget names its own; with others nothing is compared.

--update writes what was counted, with date and reason beside each figure that has changed.
Exit 0: nothing grew, or nothing to compare. 1: something grew, or was not counted. 2: the call makes no sense.
"""

import argparse
import concurrent.futures
import datetime
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_PERCENT = 5.0
MAKERS = ("compiler", "machine", "c_library", "build")
# The C library chooses its memcpy by the processor: here it takes the one that all of them have.
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-RTM,-SSSE3,-SSE4_1,-SSE4_2,-BMI2",
}
# Where the function begins and ends that this names, counting does.
CALLGRIND = ["valgrind", "--tool=callgrind", "--toggle-collect=guard_counted"]


class cannot_count(Exception):
    pass


def names_in_source():
    text = (HERE / "guard.cpp").read_text(encoding="utf-8")
    return re.findall(r"^ +\{\"(\w+)\", [\d']+, \"", text, re.M)


def ask(program):
    """What the program says of itself: who built it, and its problems."""
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def count(program, problem):
    """Instructions an operation."""
    done = subprocess.run([*CALLGRIND, "--callgrind-out-file=/dev/null", program, problem["name"], str(problem["operations"])],
                          capture_output=True, text=True, env=ENVIRONMENT, check=False)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or total is None or int(total[1]) == 0:
        raise cannot_count(f"{problem['name']} was not counted; it said:\n{done.stderr[-1500:]}")
    return round(int(total[1]) / problem["operations"], 1)


def count_all(program, problems):
    """By name. Two at a time disturb each other's clock, and not each other's count."""
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for problem, counted in zip(problems, pool.map(lambda p: count(program, p), problems)):
            counts[problem["name"]] = counted
            if sys.stderr.isatty():
                print(f"\r{len(counts)} of {len(problems)} counted ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r" + " " * 30 + "\r", end="", file=sys.stderr)
    return counts


def compare(problems, counts, budget, is_whole):
    """One row a problem: same, dearer, cheaper, new (no budget) or gone (only a budget)."""
    rows = []
    for problem in problems:
        name, now = problem["name"], counts[problem["name"]]
        allowed = budget.get(name, {}).get("instructions")
        change = None if allowed is None else round(100.0 * (now - allowed) / allowed, 1)
        if allowed is None:
            verdict = "new"
        elif now > allowed * (1 + LIMIT_PERCENT / 100):
            verdict = "dearer"
        else:
            verdict = "cheaper" if now < allowed * (1 - LIMIT_PERCENT / 100) else "same"
        rows.append({"name": name, "operation": problem["operation"], "budget": allowed, "instructions": now,
                     "change_percent": change, "verdict": verdict})
    for name in budget if is_whole else ():
        if name not in counts:
            rows.append({"name": name, "operation": None, "budget": budget[name]["instructions"], "instructions": None,
                         "change_percent": None, "verdict": "gone"})
    return rows


def table(rows):
    print(f"  {'problem':<18}{'budget':>9}{'now':>9}{'change':>9}")
    for r in rows:
        cells = ["-" if r[k] is None else f"{r[k]:.1f}" for k in ("budget", "instructions")]
        change = "-" if r["change_percent"] is None else f"{r['change_percent']:+.1f} %"
        print(f"  {r['name']:<18}{cells[0]:>9}{cells[1]:>9}{change:>9}  {'' if r['verdict'] == 'same' else r['verdict']}".rstrip())


def judge(rows, program, out):
    """Says what is wrong and what to do; whether all is well."""
    well = True
    for r in rows:
        figures = ""
        if r["change_percent"] is not None:
            figures = f"from {r['budget']} to {r['instructions']} instructions, {r['change_percent']:+.1f} %"
        if r["verdict"] == "dearer":
            print(f"guard: {r['name']} ({r['operation']}) grew {figures}; {LIMIT_PERCENT:.0f} % is allowed", file=out)
            print(f"       where they go: {' '.join(CALLGRIND)} --callgrind-out-file=guard.out {program} {r['name']}"
                  " && callgrind_annotate guard.out; the same on the commit before shows what is new", file=out)
        elif r["verdict"] == "cheaper":
            print(f"guard: {r['name']} fell {figures}; lower its budget, so that it stays there: "
                  f"./x guard --update --why TEXT", file=out)
        elif r["verdict"] == "new":
            print(f"guard: {r['name']} has no budget; give it one: ./x guard --update --why TEXT", file=out)
        elif r["verdict"] == "gone":
            print(f"guard: the budget has {r['name']}, and the program does not; ./x guard --update --why TEXT takes it out", file=out)
        well = well and r["verdict"] in ("same", "cheaper")
    if any(r["verdict"] == "dearer" for r in rows):
        print('guard: mend it; or, if it buys something: ./x guard --update --why "what it buys", and commit '
              "bench/budget.json with the change", file=out)
    return well


def write(path, about, counts, old, why, is_whole):
    """The budget with one line a problem, so that a change of one is a change of one line."""
    today = datetime.date.today().isoformat()
    entries = {} if is_whole else dict(old)
    for name, now in counts.items():
        kept = old.get(name)
        entries[name] = kept if kept and kept["instructions"] == now else {"instructions": now, "date": today, "why": why}
    order = [p["name"] for p in about["problems"]]
    lines = [f"    {json.dumps(n)}: {json.dumps(entries[n])}" for n in order if n in entries]
    head = {"what": "instructions an operation, under callgrind; ./x guard compares, ./x guard --update --why TEXT rewrites"}
    head.update((k, about[k]) for k in MAKERS)
    text = "".join(f"  {json.dumps(k)}: {json.dumps(v)},\n" for k, v in head.items())
    path.write_text("{\n" + text + '  "problems": {\n' + ",\n".join(lines) + "\n  }\n}\n", encoding="utf-8")
    return [n for n in counts if old.get(n, {}).get("instructions") != counts[n]]


def maker(of):
    return ", ".join(str(of.get(k, "unknown")) for k in MAKERS)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release-tests/bench/guard/guard", help="guard.cpp, built")
    parser.add_argument("--budget", type=pathlib.Path, default=HERE.parent / "budget.json", help="another budget")
    parser.add_argument("--only", metavar="NAME", help="one problem")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--update", action="store_true", help="write what was counted")
    parser.add_argument("--why", metavar="TEXT", help="the reason, for --update")
    parser.add_argument("--names", action="store_true", help="only list the problems")
    args = parser.parse_args()
    if args.update != bool(args.why and args.why.strip()):
        parser.error("--update and --why TEXT go together: a budget that changes says what was bought with it")
    if args.only is not None and args.only not in names_in_source():
        near = difflib.get_close_matches(args.only, names_in_source(), 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        parser.error(f"unknown problem '{args.only}'.{hint} There are: {' '.join(names_in_source())}")
    return parser, args


def main():
    parser, args = arguments()
    if args.names:
        print("\n".join(names_in_source()))
        return 0
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed; ./x guard installs it")
    if not os.access(args.program, os.X_OK):
        parser.error(f"there is no program {args.program}; ./x guard builds it")
    about = ask(args.program)
    budget = json.loads(args.budget.read_text(encoding="utf-8")) if args.budget.exists() else {}
    is_ours = not budget or all(about[k] == budget.get(k) for k in MAKERS)
    if not is_ours and not args.update:
        why = f"the budget is for {maker(budget)}; this program is {maker(about)}"
        print(json.dumps({"comparable": False, "why": why}) if args.json else f"guard: not comparable: {why}. Nothing was compared.")
        return 0
    if not is_ours and args.only:
        parser.error(f"the budget is for {maker(budget)}, this program is {maker(about)}: it can only be rewritten as a whole")
    problems = [p for p in about["problems"] if args.only in (None, p["name"])]
    old = budget.get("problems", {})
    try:
        counts = count_all(args.program, problems)
    except cannot_count as e:
        print(f"guard: {e}", file=sys.stderr)
        return 1
    rows = compare(problems, counts, old, args.only is None)
    well = True
    if args.json:
        print(json.dumps({"comparable": True, **{k: about[k] for k in MAKERS}, "limit_percent": LIMIT_PERCENT, "problems": rows}))
    else:
        print(f"instructions an operation ({maker(about)})")
        table(rows)
    if args.update:
        changed = write(args.budget, about, counts, old if is_ours else {}, args.why.strip(), args.only is None)
        print(f"guard: {len(changed)} figures of {args.budget} are new{': ' if changed else ''}{', '.join(changed)}", file=sys.stderr)
    else:
        well = judge(rows, args.program, sys.stderr)
        if well and not args.json:
            print(f"guard: none of {len(rows)} grew by more than {LIMIT_PERCENT:.0f} %")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
