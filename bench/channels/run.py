#!/usr/bin/env python3
"""Times asx's channel against its peers on one problem (workload.hpp says which).

    bench/channels/run.py [--quick] [--reps N] [--messages N] [--only NAME,...] [--json FILE] [--build DIR] [--cpu N]
                          [--jobs N] [--check]

Builds what is present and skips with a line what is not. Repetitions are interleaved - every peer once, then every
peer again - so that a slow minute of the machine hits all of them; medians of processor time are reported, with the
spread (lowest to highest) beside them. A ratio below 1 means that asx is faster; floor is the least code that does the
work, so that a ratio to it says what lifecycle, cancellation and permits cost.

--check fails when asx asks for memory in the steady state: it must not, for any number of messages.
Packages: apt-get install g++ libasio-dev; cargo and go for the last two.
A full run takes about two minutes on an idle machine, --quick fifteen seconds (no cargo, no go).
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
COMPONENTS = ["base", "model", "journal", "wheel", "sched", "kernel", "runtime", "chan"]
WORKLOADS = ["stream_1x64", "stream_1x1024", "stream_4x64", "stream_4x1024", "ping_pong"]
EVERY = ["asx", "floor", "tokio", "go", "asio", "asio_try"]
PEERS = EVERY[2:]
FLAGS = ["-std=c++20", "-O2", "-DNDEBUG"]


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def preprocessed(compiler, text):
    return subprocess.run([compiler, "-E", "-P", "-x", "c++", "-"], input=text, text=True, capture_output=True)


def build(command, name, cwd=None):
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if run.returncode != 0:
        first = next((l for l in run.stderr.splitlines() if "error" in l), run.stderr.strip()[-200:])
        print(f"skip {name}: does not build: {first}")
    return run.returncode == 0


def library_objects(directory, compiler, jobs):
    """Objects of asx; only what is older than its source is compiled again."""
    newest_header = max(p.stat().st_mtime for p in (ROOT / "asx").rglob("*.hpp"))
    stale, objects = [], []
    for component in COMPONENTS:
        for source in sorted((ROOT / "asx" / component).rglob("*.cpp")):
            if source.name.endswith(("_test.cpp", "_bench.cpp")):
                continue
            target = directory / ("_".join(source.relative_to(ROOT).parts) + ".o")
            objects.append(str(target))
            if not target.exists() or target.stat().st_mtime < max(source.stat().st_mtime, newest_header):
                stale.append((source, target))

    def compile_one(job):
        source, target = job
        return source, subprocess.run([compiler, *FLAGS, "-I", str(ROOT), "-c", str(source), "-o", str(target)],
                                      capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (source, ran) in enumerate(pool.map(compile_one, stale), 1):
            if ran.returncode != 0:
                sys.exit(f"{source.relative_to(ROOT)} does not build:\n{ran.stderr.strip()[-2000:]}")
            progress(f"compiled {done} of {len(stale)}")
    progress("")
    return objects


def build_all(directory, compiler, wanted, with_foreign, jobs):
    directory.mkdir(parents=True, exist_ok=True)
    programs = {}
    has_asio = preprocessed(compiler, "#include <asio/experimental/channel.hpp>\n").returncode == 0
    for name in ("asx", "floor", "asio", "asio_try"):
        if name not in wanted:
            continue
        if name.startswith("asio") and not has_asio:
            print(f"skip {name}: asio/experimental/channel.hpp is not there; apt-get install libasio-dev")
            continue
        source = HERE / f"{name.removesuffix('_try')}.cpp"
        extra = library_objects(directory, compiler, jobs) if name == "asx" else []
        extra += ["-DBENCH_TRY"] if name == "asio_try" else []
        if build([compiler, *FLAGS, "-I", str(ROOT), str(source), *extra, "-o", str(directory / name), "-lpthread"],
                 name):
            programs[name] = directory / name
    if "tokio" in wanted and with_foreign:
        if shutil.which("cargo") is None:
            print("skip tokio: cargo is not there")
        elif build(["cargo", "build", "--release", "--locked", "--jobs", str(jobs), "--target-dir",
                    str(directory / "cargo")], "tokio", HERE / "tokio"):
            programs["tokio"] = directory / "cargo/release/channels"
    if "go" in wanted and with_foreign:
        if shutil.which("go") is None:
            print("skip go: go is not there")
        elif build(["go", "build", "-p", str(jobs), "-o", str(directory / "go_channels"), "."], "go", HERE / "go"):
            programs["go"] = directory / "go_channels"
    return {name: programs[name] for name in EVERY if name in programs}


def run_once(program, arguments, cpu):
    pin = ["taskset", "-c", str(cpu)] if shutil.which("taskset") else []
    run = subprocess.run([*pin, str(program), *map(str, arguments)], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{program.name} failed: {run.stderr.strip()[-200:]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "load": os.getloadavg()[0], "date": datetime.date.today().isoformat()}


def versions(compiler, programs):
    found = {"compiler": output_of([compiler, "--version"]).splitlines()[0],
             "asx": output_of(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"])}
    if "asio" in programs or "asio_try" in programs:
        number = int(preprocessed(compiler, "#include <asio/version.hpp>\nASIO_VERSION\n").stdout.split()[-1])
        found["asio"] = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"
    if "tokio" in programs:
        for package in (HERE / "tokio/Cargo.lock").read_text().split("[[package]]"):
            if 'name = "tokio"\n' in package:
                found["tokio"] = package.split('version = "')[1].split('"')[0]
    if "go" in programs:
        found["go"] = output_of(["go", "version"]).removeprefix("go version ")
    return found


def ratio(middle, workload, name):
    if (workload, "asx") not in middle or (workload, name) not in middle:
        return "-"
    return f"{middle[workload, 'asx'] / middle[workload, name]:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer messages, three repetitions, C++ peers only")
    parser.add_argument("--reps", type=int, help="repetitions (default 9, quick 3)")
    parser.add_argument("--messages", type=int, help="messages a run, a quarter as many round trips "
                        "(default a million, quick 400,000)")
    parser.add_argument("--only", help="names of peers, comma-separated")
    parser.add_argument("--json", type=pathlib.Path, help="write everything that was measured to this file")
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "asx-bench-channels", help="where to build (default: a folder in the system's temporary one)")
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="the processor to pin to")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at once")
    parser.add_argument("--cxx", default=os.environ.get("CXX") or shutil.which("g++") or "g++-12",
                        help="the compiler (default: $CXX, then g++, then g++-12)")
    parser.add_argument("--check", action="store_true", help="fail when asx allocates in the steady state")
    args = parser.parse_args()

    wanted = args.only.split(",") if args.only else EVERY
    unknown = set(wanted) - set(EVERY)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(EVERY)}")
    reps = args.reps or (3 if args.quick else 9)
    messages = args.messages or (400_000 if args.quick else 1_000_000)
    if reps < 1 or messages < 8 or args.jobs < 1:
        parser.error("--reps and --jobs are at least 1, --messages at least 8")
    programs = build_all(args.build, args.cxx, wanted, not args.quick, args.jobs)
    if not programs:
        sys.exit("nothing to measure")

    about, used = machine(), versions(args.cxx, programs)
    print(f"machine: {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, load {about['load']:.1f}, "
          f"pinned to cpu {args.cpu}, {about['date']}")
    print("versions: " + ", ".join(f"{k} {v}" for k, v in used.items()))

    samples, allocated, operations = {}, {}, {}
    for rep in range(reps):
        for name, program in programs.items():
            progress(f"repetition {rep + 1} of {reps}: {name}")
            for row in run_once(program, (messages, messages // 4, 3), args.cpu):
                key = row["workload"], name
                samples.setdefault(key, []).append(row["ns_per_op"])
                if "allocations" in row:
                    allocated[key] = allocated.get(key, 0) + row["allocations"]
                    operations[key] = operations.get(key, 0) + row["operations"]
    progress("")

    middle = {key: statistics.median(values) for key, values in samples.items()}
    print(f"\nns a message, or a round trip; median of {reps} runs (lowest - highest); producers x capacity")
    print(f"{'workload':<15}" + "".join(f"{n:>23}" for n in programs))
    for workload in WORKLOADS:
        print(f"{workload:<15}" + "".join(
            f"{f'{middle[workload, n]:.1f} ({min(samples[workload, n]):.1f} - {max(samples[workload, n]):.1f})':>23}"
            for n in programs))
    if "asx" in programs and len(programs) > 1:
        others = [n for n in programs if n != "asx"]
        print("\ncost of asx over cost of the peer")
        print(f"{'workload':<15}" + "".join(f"{n:>10}" for n in others) + f"{'best':>10}")
        for workload in WORKLOADS:
            peers = [(middle[workload, n], n) for n in PEERS if n in programs]
            best = ratio(middle, workload, min(peers)[1]) if peers else "-"
            print(f"{workload:<15}" + "".join(f"{ratio(middle, workload, n):>10}" for n in others) + f"{best:>10}")
    counted = [n for n in programs if (WORKLOADS[0], n) in allocated]
    if counted:
        print("\nallocations a thousand messages, or round trips, in the steady state")
        print(f"{'workload':<15}" + "".join(f"{n:>10}" for n in counted))
        for workload in WORKLOADS:
            print(f"{workload:<15}" + "".join(
                f"{1000 * allocated[workload, n] / operations[workload, n]:>10.3g}" for n in counted))
    if args.json:
        results = [{"library": n, "workload": w, "ns_per_op": middle[w, n], "samples": samples[w, n],
                    "allocations": allocated.get((w, n)), "operations": operations.get((w, n))}
                   for n in programs for w in WORKLOADS]
        args.json.write_text(json.dumps({"machine": about, "versions": used, "reps": reps, "messages": messages,
                                         "results": results}, indent=1) + "\n")
    greedy = [w for w in WORKLOADS if allocated.get((w, "asx"))]
    if args.check and greedy:
        print(f"\nasx allocates in the steady state: {', '.join(greedy)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
