#!/usr/bin/env python3
"""Times one task of asx's kernel as the number of tasks grows (asx.cpp says which steps of its life).

    bench/kernel_scale/run.py [--quick] [--reps N] [--json FILE] [--build DIR] [--cpu N] [--check]

Repetitions are interleaved over the sizes, so that a slow minute of the machine hits all of them; medians of processor
time are reported, with the spread (lowest to highest) of the largest size. The last column is the cost at the largest
size over the cost at the smallest: a kernel that looks at every task for one of them would show it. What is left of
growth is the cache: a task's record is several lines of it.

--check fails when a step costs more than eight times as much a task at a hundred times as many.
A full run takes about a minute on an idle machine, --quick ten seconds (10,000 and 100,000 tasks).
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMPONENTS = ["base", "model", "journal", "wheel", "sched", "kernel", "runtime"]
WORKLOADS = ["spawn", "spawn_warm", "run", "churn", "cancel", "end", "bytes"]
GROWTH_MAX = 8.0


def build(directory, compiler):
    """Objects of the library and the program; only what is older than its source is compiled again."""
    directory.mkdir(parents=True, exist_ok=True)
    newest_header = max(p.stat().st_mtime for p in (ROOT / "asx").rglob("*.hpp"))
    sources = [HERE / "asx.cpp"]
    for component in COMPONENTS:
        sources += [p for p in sorted((ROOT / "asx" / component).rglob("*.cpp"))
                    if not p.name.endswith(("_test.cpp", "_bench.cpp"))]
    jobs = []
    for source in sources:
        target = directory / ("_".join(source.relative_to(ROOT).parts) + ".o")
        if not target.exists() or target.stat().st_mtime < max(source.stat().st_mtime, newest_header):
            jobs.append((source, target))

    def compile_one(job):
        source, target = job
        return source, subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", "-I", str(ROOT), "-c", str(source),
                                       "-o", str(target)], capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, ran in pool.map(compile_one, jobs):
            if ran.returncode != 0:
                sys.exit(f"{source.relative_to(ROOT)} does not build:\n{ran.stderr.strip()[-2000:]}")
    program = directory / "kernel_scale"
    objects = [str(directory / ("_".join(s.relative_to(ROOT).parts) + ".o")) for s in sources]
    linked = subprocess.run([compiler, *objects, "-o", str(program)], capture_output=True, text=True)
    if linked.returncode != 0:
        sys.exit(f"the program does not link:\n{linked.stderr.strip()[-2000:]}")
    return program


def run_once(program, size, cpu):
    pin = ["taskset", "-c", str(cpu)] if shutil.which("taskset") else []
    ran = subprocess.run([*pin, str(program), str(size)], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{program.name} failed: {ran.stderr.strip()[-200:]}")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0],
            "date": datetime.date.today().isoformat()}


def version(compiler):
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    return {"compiler": said(compiler, "--version").splitlines()[0],
            "asx": said("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 and 100,000 tasks, two repetitions")
    parser.add_argument("--reps", type=int, help="repetitions (default 5, quick 2)")
    parser.add_argument("--json", type=pathlib.Path, help="write everything that was measured to this file")
    parser.add_argument("--check", action="store_true", help="fail when the cost of a task grows with their number")
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "asx-bench-kernel-scale",
                        help="where to build (default: a folder in the system's temporary one)")
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="the processor to pin to")
    parser.add_argument("--cxx", default=os.environ.get("CXX", "g++"), help="the compiler (default: $CXX, then g++)")
    args = parser.parse_args()

    program = build(args.build, args.cxx)
    sizes = [10_000, 100_000] if args.quick else [10_000, 100_000, 1_000_000]
    reps = args.reps or (2 if args.quick else 5)
    about, used = machine(), version(args.cxx)
    print(f"machine: {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, load {about['load']:.1f}, "
          f"pinned to cpu {args.cpu}, {about['date']}")
    print("versions: " + ", ".join(f"{k} {v}" for k, v in used.items()))

    samples = {}
    for _ in range(reps):
        for size in sizes:
            for row in run_once(program, size, args.cpu):
                samples.setdefault((row["workload"], row["journal"], row["n"]), []).append(row["ns_per_op"])
    middle = {key: statistics.median(values) for key, values in samples.items()}

    print(f"\nns a task, median of {reps} runs; bytes a task in the last rows")
    print(f"{'step':<12}{'journal':<9}" + "".join(f"{n:>11,}" for n in sizes) + f"{'spread':>18}{'growth':>8}")
    results, worst = [], ("", 0.0)
    for workload in WORKLOADS:
        for journal in ("off", "digest"):
            cells = "".join(f"{middle[workload, journal, n]:>11.1f}" for n in sizes)
            values = samples[workload, journal, sizes[-1]]
            growth = middle[workload, journal, sizes[-1]] / middle[workload, journal, sizes[0]]
            print(f"{workload:<12}{journal:<9}{cells}{f'{min(values):.1f} - {max(values):.1f}':>18}{growth:>8.2f}")
            worst = max(worst, (f"{workload}, journal {journal}", growth), key=lambda w: w[1])
            results += [{"workload": workload, "journal": journal, "n": n, "value": middle[workload, journal, n],
                         "samples": samples[workload, journal, n]} for n in sizes]
    if args.json:
        args.json.write_text(json.dumps({"machine": about, "versions": used, "reps": reps, "results": results},
                                        indent=1))
    if args.check and worst[1] > GROWTH_MAX:
        print(f"\n{worst[0]} costs {worst[1]:.1f} times as much a task at {sizes[-1]:,} as at {sizes[0]:,}; "
              f"{GROWTH_MAX:.0f} is allowed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
