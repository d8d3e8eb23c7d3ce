#!/usr/bin/env python3
"""Times the cancel of many waiting tasks, asx against its peers (workload.hpp says what is done).

    bench/cancel/run.py [--quick] [--reps N] [--tasks N] [--only NAME,...] [--json FILE] [--build DIR] [--cpu N]
                        [--jobs N] [--check]

Builds what is present and skips with a line what is not. Repetitions are interleaved; medians of processor time are
reported, with the spread beside them. A ratio below 1 means that asx is faster. Asio waits for channels with a tenth of
the tasks, because the time of its cancel grows with the square of their number.

--check fails when asx costs more than 0.3 of the best peer that ran.
Packages: apt-get install g++ libasio-dev; cargo and go for the last two.
bench/parked/run.py measures the memory of the same programs.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("bench_channels", HERE.parent / "channels" / "run.py")
common = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(common)

EVERY = ["asx", "tokio", "go", "asio"]
WORKLOADS = ["channel", "timer"]


def build_all(directory, compiler, wanted, with_foreign, jobs):
    directory.mkdir(parents=True, exist_ok=True)
    common.COMPONENTS = ["base", "model", "journal", "wheel", "sched", "kernel", "runtime", "chan", "sync", "coro"]
    programs = {}
    has_asio = common.preprocessed(compiler, "#include <asio/experimental/channel.hpp>\n").returncode == 0
    for name in ("asx", "asio"):
        if name not in wanted:
            continue
        if name == "asio" and not has_asio:
            print("skip asio: asio/experimental/channel.hpp is not there; apt-get install libasio-dev")
            continue
        extra = common.library_objects(directory, compiler, jobs) if name == "asx" else []
        if common.build([compiler, *common.FLAGS, "-I", str(common.ROOT), str(HERE / f"{name}.cpp"), *extra, "-o",
                         str(directory / name), "-lpthread"], name):
            programs[name] = directory / name
    if "tokio" in wanted and with_foreign:
        if shutil.which("cargo") is None:
            print("skip tokio: cargo is not there")
        elif common.build(["cargo", "build", "--release", "--locked", "--jobs", str(jobs), "--target-dir",
                           str(directory / "cargo")], "tokio", HERE / "tokio"):
            programs["tokio"] = directory / "cargo/release/cancel"
    if "go" in wanted and with_foreign:
        if shutil.which("go") is None:
            print("skip go: go is not there")
        elif common.build(["go", "build", "-p", str(jobs), "-o", str(directory / "go_cancel"), "."], "go", HERE / "go"):
            programs["go"] = directory / "go_cancel"
    return {name: programs[name] for name in EVERY if name in programs}


def options(about, tasks, reps):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tasks, three repetitions, C++ peers only")
    parser.add_argument("--reps", type=int, help=f"repetitions (default {reps}, quick 3)")
    parser.add_argument("--tasks", type=int, help=f"how many (default {tasks})")
    parser.add_argument("--only", help="names of peers, comma-separated")
    parser.add_argument("--json", type=pathlib.Path, help="write everything that was measured to this file")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "asx-bench-cancel",
                        help="where to build (default: a folder in the system's temporary one)")
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="the processor to pin to")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at once")
    parser.add_argument("--cxx", default=os.environ.get("CXX") or shutil.which("g++") or "g++-12",
                        help="the compiler (default: $CXX, then g++, then g++-12)")
    parser.add_argument("--check", action="store_true", help="fail when the aim is missed")
    args = parser.parse_args()
    args.wanted = args.only.split(",") if args.only else EVERY
    if unknown := set(args.wanted) - set(EVERY):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(EVERY)}")
    args.reps = args.reps or (3 if args.quick else reps)
    args.tasks = args.tasks or (tasks // 10 if args.quick else tasks)
    if args.reps < 1 or args.tasks < 1 or args.jobs < 1:
        parser.error("--reps, --tasks and --jobs are at least 1")
    return args


def measure(args, rounds):
    """Every program by every workload; rows of all rounds, and what the machine is."""
    programs = build_all(args.build, args.cxx, args.wanted, not args.quick, args.jobs)
    if not programs:
        sys.exit("nothing to measure")
    about, used = common.machine(), common.versions(args.cxx, {n: p for n, p in programs.items() if n == "asio"})
    if "tokio" in programs:
        for package in (HERE / "tokio/Cargo.lock").read_text().split("[[package]]"):
            if 'name = "tokio"\n' in package:
                used["tokio"] = package.split('version = "')[1].split('"')[0]
    if "go" in programs:
        used["go"] = common.output_of(["go", "version"]).removeprefix("go version ")
    print(f"machine: {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, load {about['load']:.1f}, "
          f"pinned to cpu {args.cpu}, {about['date']}")
    print("versions: " + ", ".join(f"{k} {v}" for k, v in used.items()))
    rows = []
    for rep in range(args.reps):
        for name, program in programs.items():
            for workload in WORKLOADS:
                common.progress(f"repetition {rep + 1} of {args.reps}: {name}")
                # Asio's channel searches its queue for each cancel: all of them would take the square of their number.
                tasks = args.tasks // 10 if (name, workload) == ("asio", "channel") else args.tasks
                rows += common.run_once(program, (max(tasks, 1), rounds, workload), args.cpu)
    common.progress("")
    return list(programs), rows, {"machine": about, "versions": used, "reps": args.reps, "tasks": args.tasks}


def table(title, names, samples):
    print(f"\n{title}")
    print(f"{'waiting for':<13}" + "".join(f"{n:>24}" for n in names))
    for w in WORKLOADS:
        cells = []
        for n in names:
            found = samples[w, n]
            cells.append(f"{f'{statistics.median(found):.0f} ({min(found):.0f} - {max(found):.0f})':>24}")
        print(f"{w:<13}" + "".join(cells))


def main():
    args = options(__doc__, 100_000, 7)
    names, rows, about = measure(args, 3)
    of = {kind: {(w, n): [r[kind] for r in rows if r["workload"] == w and r["library"] == n]
                 for w in WORKLOADS for n in names} for kind in ("cancel_ns", "park_ns")}
    table(f"ns to cancel one of {args.tasks:,} waiting tasks, until all have ended; median (lowest - highest)", names,
          of["cancel_ns"])
    table("ns to spawn one and let it wait", names, of["park_ns"])
    missed = []
    if "asx" in names and len(names) > 1:
        print("\ncost of asx's cancel over that of the peer")
        for w in WORKLOADS:
            middle = {n: statistics.median(of["cancel_ns"][w, n]) for n in names}
            best = min(v for n, v in middle.items() if n != "asx")
            print(f"{w:<13}" + "".join(f"{n} {middle['asx'] / middle[n]:.2f}   " for n in names if n != "asx") +
                  f"best {middle['asx'] / best:.2f}")
            if middle["asx"] > 0.3 * best:
                missed.append(w)
    if args.json:
        args.json.write_text(json.dumps({**about, "results": rows}, indent=1) + "\n")
    if args.check and missed:
        print(f"\nasx costs more than 0.3 of the best peer: {', '.join(missed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
