#!/usr/bin/env python3
"""Measures asx beside its peers on the same problems.

    ./x bench [PROBLEM ...] [OPTION ...]     installs what is missing and calls this
    ./x bench --list                         names the problems and the libraries

A number is the cost of one operation, so less is better. Libraries that are not there are skipped with a line. floor is
the least code that does the work: a ratio to it says what lifecycle, cancellation and limits cost. Repetitions are
interleaved between the libraries; medians count.

Exit codes: 0 measured, 1 a guard is broken (asx allocates in a steady state, compiles slowly, grows with numbers,
fails), or, with --check, an aim is missed; 2 the call makes no sense.
"""

import argparse
import difflib
import json
import os
import pathlib
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from harness import building, libraries, measuring, picture, report, table  # noqa: E402


def refuse(text):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(2)


def unknown(what, word, known):
    near = difflib.get_close_matches(word, known, 1, 0.5)
    refuse(f"unknown {what} '{word}'." + (f" Did you mean '{near[0]}'?" if near else "")
           + " './x bench --list' lists what there is.")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        refuse(message)


def parse(words):
    parser = Parser(prog="./x bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                    allow_abbrev=False)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="which; all when none is named")
    parser.add_argument("--quick", action="store_true", help="less of everything: to see that it works, not to compare")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else on standard output")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE", help="draw ratios, and what grows, into this file")
    parser.add_argument("--reps", type=int, metavar="N", help="repetitions (default: 3 to 5, the problem says)")
    parser.add_argument("--only", metavar="LIBRARY,...", help="only these libraries")
    parser.add_argument("--check", action="store_true", help="fail when an aim is missed, too")
    parser.add_argument("--cpu", type=int, metavar="N", help="where programs of one thread run (default: the last)")
    parser.add_argument("--list", action="store_true", help="name problems and libraries")
    parser.add_argument("--build", type=pathlib.Path, default=BENCH.parent / "build" / "bench", metavar="DIR",
                        help="where to build (default: build/bench)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="compilers at once")
    parser.add_argument("--cxx", default=libraries.default_compiler(), help="the compiler (default: $CXX, g++-12, g++)")
    parser.add_argument("--library", type=pathlib.Path, metavar="FILE", help="a libasx.a that is there already")
    parser.add_argument("--packages", action="store_true", help="only say which packages of Debian this call can use")
    options, rest = parser.parse_known_intermixed_args(words)
    for word in rest:
        unknown("option", word.split("=")[0],
                [a for action in parser._actions for a in action.option_strings if a.startswith("--")])
    for name in options.problems:
        if name == "micro":
            refuse("the micro-benchmarks are programs of their own: './x bench micro', with nothing beside it")
        if name not in table.NAMES:
            unknown("problem", name, [*table.NAMES, "micro"])
    options.problems = [p for p in table.PROBLEMS if not options.problems or p.name in options.problems]
    taking_part = list(dict.fromkeys(n for p in options.problems for n in p.libraries))
    options.names = options.only.split(",") if options.only else taking_part
    for name in options.names:
        if name not in libraries.LIBRARIES:
            unknown("library", name, taking_part)
        if name not in taking_part:
            refuse(f"{name} takes no part in {', '.join(p.name for p in options.problems)}; "
                   f"there are {', '.join(taking_part)}")
    for name in ("reps", "jobs"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            refuse(f"--{name} wants a whole number from 1 on")
    allowed = sorted(os.sched_getaffinity(0))
    if options.cpu is None:
        options.cpu = allowed[-1]
    elif options.cpu not in allowed:
        refuse(f"there is no processor {options.cpu}; there are {', '.join(map(str, allowed))}")
    return options


def list_problems(problems):
    for problem in problems:
        print(f"{problem.name:<13} {problem.what} ({problem.unit})")
        print(f"{'':<13} {', '.join(problem.libraries)}")
        for aim in problem.aims:
            where = f" ({', '.join(aim.workloads)})" if aim.workloads else ""
            print(f"{'':<13} aim: {aim.says()}{where}")
    print(f"{'micro':<13} Google Benchmark on single parts of asx; alone, and --only takes a regular expression")


def packages_of(options):
    found = {libraries.LIBRARIES[n].package for p in options.problems for n in p.libraries if n in options.names}
    return sorted(found - {""})


def main(words):
    options = parse(words)
    if options.list:
        if not options.packages:
            list_problems(options.problems)
        return 0
    if options.packages:
        print(" ".join(packages_of(options)))
        return 0
    began = time.monotonic()
    say = (lambda text: None) if options.json else (lambda text: print(text, flush=True))
    progress = measuring.Progress()
    builder = building.Builder(options.build, options.cxx, options.jobs, progress, options.library)
    builder.build(options.problems, options.names, options.quick)
    progress.clear()
    builder.programs["libasx"] = builder.library
    machine = measuring.machine()
    there = [n for n in options.names if any((p.place(), n) in builder.programs
                                             or (p.kind == "compile" and n in p.libraries) for p in options.problems)]
    versions = libraries.versions(there, options.cxx)
    say(report.machine_lines(machine, versions, options.cpu))
    for name, why in builder.absent.items():
        say(f"skip {name}: {why}")
    say(f"built in {time.monotonic() - began:.0f} s")
    results = []
    for problem in options.problems:
        names = [n for n in problem.libraries if n in options.names and (problem.place(), n) not in builder.skipped]
        result = measuring.measure(problem, names, builder.programs, options, progress)
        result.skipped.update({n: why for (place, n), why in builder.skipped.items()
                               if place == problem.place() and n in problem.libraries})
        results.append(result)
        say(report.text_of(result, builder.absent))
    seconds = time.monotonic() - began
    if options.svg:
        options.svg.write_text(picture.document(results))
    if options.json:
        print(json.dumps({"machine": machine, "versions": versions, "quick": options.quick, "cpu": options.cpu,
                          "seconds": round(seconds, 1), "problems": [report.json_of(r) for r in results]}, indent=1))
    say(report.summary(results, seconds))
    is_broken = any(report.broken(r) for r in results)
    is_missed = any(v["is_met"] is False for r in results for v in r.verdicts(r.problem.aims))
    return 1 if is_broken or (options.check and is_missed) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
