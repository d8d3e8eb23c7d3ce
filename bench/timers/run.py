#!/usr/bin/env python3
"""Times asx's timer wheel against its peers on one problem (workload.hpp says which).

    bench/timers/run.py [--quick] [--reps N] [--only NAME,...] [--json FILE] [--build DIR] [--cpu N]

Builds what is present and skips with a line what is not. Repetitions are interleaved - every peer once, then every
peer again - so that a slow minute of the machine hits all of them; medians of processor time are reported, with the
spread (lowest to highest) beside them. A ratio below 1 means that asx is faster than the best event loop.

Packages: apt-get install g++ libboost-dev libuv1-dev libev-dev; cargo and go for the last two.
A full run takes three to four minutes on an idle machine, --quick half a minute (two sizes, no cargo, no go).
"""

import argparse
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
ASX_SOURCES = ["asx/wheel/timer_wheel.cpp", "asx/wheel/timer_wheel_expiry.cpp", "asx/base/assert.cpp",
               "asx/base/memory.cpp"]
WORKLOADS = ["register", "cancel", "churn", "expire_all", "expire_steps"]
LOOPS = ["asio", "libuv", "libev"]  # The peers that the aims name; the others are for orientation.
# name: (header that must be there, its package, libraries)
CXX_PEERS = {
    "asx": (None, None, []),
    "asio": ("boost/asio.hpp", "libboost-dev", ["-lpthread"]),
    "libuv": ("uv.h", "libuv1-dev", ["-luv"]),
    "libev": ("ev.h", "libev-dev", ["-lev"]),
    "multimap": (None, None, []),
    "priority_queue": (None, None, []),
}


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def has_header(compiler, header):
    run = subprocess.run([compiler, "-E", "-x", "c++", "-", "-o", os.devnull], input=f"#include <{header}>\n", text=True,
                         capture_output=True)
    return run.returncode == 0


def build(command, name, cwd=None):
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if run.returncode != 0:
        first = next((l for l in run.stderr.splitlines() if "error" in l), run.stderr.strip()[-200:])
        print(f"skip {name}: does not build: {first}")
    return run.returncode == 0


def build_all(directory, compiler, wanted, with_foreign):
    directory.mkdir(parents=True, exist_ok=True)
    programs, missing = {}, []
    for name, (header, package, libraries) in CXX_PEERS.items():
        if name not in wanted:
            continue
        if header and not has_header(compiler, header):
            print(f"skip {name}: {header} is not there")
            missing.append(package)
            continue
        sources = [str(HERE / f"{name}.cpp")] + ([str(ROOT / s) for s in ASX_SOURCES] if name == "asx" else [])
        program = directory / name
        if build([compiler, "-std=c++20", "-O2", "-DNDEBUG", "-I", str(ROOT), *sources, "-o", str(program), *libraries],
                 name):
            programs[name] = program
    if "tokio" in wanted and with_foreign:
        if shutil.which("cargo") is None:
            print("skip tokio: cargo is not there")
        elif build(["cargo", "build", "--release", "--locked", "--target-dir", str(directory / "cargo")], "tokio",
                   HERE / "tokio"):
            programs["tokio"] = directory / "cargo/release/timers"
    if "go" in wanted and with_foreign:
        if shutil.which("go") is None:
            print("skip go: go is not there")
        elif build(["go", "build", "-o", str(directory / "go_timers"), "."], "go", HERE / "go"):
            programs["go"] = directory / "go_timers"
    if missing:
        print(f"to have all: apt-get install {' '.join(missing)}")
    return programs


def run_once(program, arguments, cpu):
    pin = ["taskset", "-c", str(cpu)] if shutil.which("taskset") else []
    run = subprocess.run([*pin, str(program), *map(str, arguments)], capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{program.name} failed: {run.stderr.strip()[-200:]}", file=sys.stderr)
        sys.exit(1)
    return [json.loads(line) for line in run.stdout.splitlines()]


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "load": os.getloadavg()[0], "date": datetime.date.today().isoformat()}


def versions(compiler, programs):
    def macro(header, *names):
        text = f"#include <{header}>\n" + " ".join(names)
        out = subprocess.run([compiler, "-E", "-P", "-x", "c++", "-"], input=text, capture_output=True, text=True).stdout
        return out.strip().splitlines()[-1].replace(" ", ".").replace('"', "") if out.strip() else "?"

    found = {"compiler": output_of([compiler, "--version"]).splitlines()[0],
             "asx": output_of(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"])}
    if "asio" in programs:
        found["boost"] = macro("boost/version.hpp", "BOOST_LIB_VERSION").replace("_", ".")
    if "libuv" in programs:
        found["libuv"] = macro("uv/version.h", "UV_VERSION_MAJOR", "UV_VERSION_MINOR", "UV_VERSION_PATCH")
    if "libev" in programs:
        found["libev"] = macro("ev.h", "EV_VERSION_MAJOR", "EV_VERSION_MINOR")
    if "tokio" in programs:
        lock = (HERE / "tokio/Cargo.lock").read_text().split("[[package]]")
        for package in lock:
            for name in ("tokio", "tokio-util"):
                if f'name = "{name}"\n' in package:
                    found[name] = package.split('version = "')[1].split('"')[0]
    if "go" in programs:
        found["go"] = output_of(["go", "version"]).removeprefix("go version ")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 and 100,000 timers, two repetitions, C++ peers only")
    parser.add_argument("--reps", type=int, help="repetitions (default 4, quick 2)")
    parser.add_argument("--only", help="names of peers, comma-separated")
    parser.add_argument("--json", type=pathlib.Path, help="write everything that was measured to this file")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "asx-bench-timers",
                        help="where to build (default: a folder in the system's temporary one)")
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="the processor to pin to")
    parser.add_argument("--cxx", default=os.environ.get("CXX", "g++"), help="the compiler (default: $CXX, then g++)")
    args = parser.parse_args()

    every = [*CXX_PEERS, "tokio", "go"]
    wanted = args.only.split(",") if args.only else every
    unknown = set(wanted) - set(every)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    programs = build_all(args.build, args.cxx, wanted, not args.quick)
    sizes = [(10_000, 5), (100_000, 1)] if args.quick else [(10_000, 9), (1_000_000, 1)]
    reps = args.reps or (2 if args.quick else 4)

    about, used = machine(), versions(args.cxx, programs)
    print(f"machine: {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, load {about['load']:.1f}, "
          f"pinned to cpu {args.cpu}, {about['date']}")
    print("versions: " + ", ".join(f"{k} {v}" for k, v in used.items()))

    samples = {}
    for _ in range(reps):
        for name, program in programs.items():
            for size in sizes:
                for row in run_once(program, size, args.cpu):
                    samples.setdefault((row["workload"], row["n"], name), []).append(row["ns_per_op"])

    middle = {key: statistics.median(values) for key, values in samples.items()}
    names = [n for n in every if n in programs]
    print(f"\nns per operation, median of {reps} runs; spread of asx; ratio of asx to the best of {', '.join(LOOPS)}")
    print(f"{'workload':<13}{'n':>9}" + "".join(f"{n:>15}" for n in names) + f"{'asx spread':>18}{'ratio':>8}  best")
    results = []
    for workload in WORKLOADS:
        for n, _ in sizes:
            cells = "".join(f"{middle[workload, n, p]:>15.1f}" if (workload, n, p) in middle else f"{'-':>15}"
                            for p in names)
            spread, ratio, best = "", "", ""
            if (workload, n, "asx") in samples:
                values = samples[workload, n, "asx"]
                spread = f"{min(values):.1f} - {max(values):.1f}"
                peers = [(middle[workload, n, p], p) for p in LOOPS if (workload, n, p) in middle]
                if peers:
                    least, best = min(peers)
                    ratio = f"{middle[workload, n, 'asx'] / least:.2f}"
            print(f"{workload:<13}{n:>9}{cells}{spread:>18}{ratio:>8}  {best}")
            results += [{"library": p, "workload": workload, "n": n, "ns_per_op": middle[workload, n, p],
                         "samples": samples[workload, n, p]} for p in names if (workload, n, p) in middle]
    small, large = sizes[0][0], sizes[1][0]
    if "asx" in programs:
        print(f"\nasx, cost at {large:,} over cost at {small:,}: " + ", ".join(
            f"{w} {middle[w, large, 'asx'] / middle[w, small, 'asx']:.1f}" for w in WORKLOADS))
    if args.json:
        args.json.write_text(json.dumps({"machine": about, "versions": used, "reps": reps, "results": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
