#!/usr/bin/env python3
"""What including <asx/asx.hpp> costs a user's compiler, beside <boost/asio.hpp> and an empty program.

    bench/compile_time/run.py [--quick] [--json] [--check]      from the repository root

Repetitions are interleaved between the programs, so that a slow minute of the machine hits all alike. --check
exits 1 when asx takes more than half of Boost.Asio's time.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

PROGRAMS = ["empty", "asx", "asio"]


def measure(compiler, program):
    start = time.perf_counter()
    subprocess.run([compiler, "-std=c++20", "-O0", "-I.", "-c", f"bench/compile_time/{program}.cpp", "-o", os.devnull],
                   check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of eleven")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--check", action="store_true", help="fail above half of Boost.Asio's time")
    args = parser.parse_args()
    compilers = [c for c in ("g++-12", "clang++-19") if shutil.which(c)]
    results, worst = [], 0.0
    for compiler in compilers:
        times = {p: [] for p in PROGRAMS}
        rounds = 3 if args.quick else 11
        for i in range(rounds + 1):
            for p in PROGRAMS:
                if sys.stderr.isatty():
                    print(f"\r{compiler} {p} {i}/{rounds}   ", end="", file=sys.stderr)
                seconds = measure(compiler, p)
                if i:  # The first round warms the disk cache.
                    times[p].append(seconds)
        medians = {p: statistics.median(t) for p, t in times.items()}
        ratio = medians["asx"] / medians["asio"]
        worst = max(worst, ratio)
        results.append({"compiler": compiler, "rounds": rounds,
                        "seconds": {p: round(m, 4) for p, m in medians.items()},
                        "spread": {p: [round(min(t), 4), round(max(t), 4)] for p, t in times.items()},
                        "asx_to_asio": round(ratio, 3)})
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    if args.json:
        print(json.dumps({"benchmark": "compile_time", "machine": machine, "results": results}))
    else:
        print(f"compile time of a ten-line program, seconds, median [least - most]   ({machine})")
        for r in results:
            for p in PROGRAMS:
                low, high = r["spread"][p]
                print(f"  {r['compiler']:<11} {p:<6} {r['seconds'][p]:7.3f}  [{low:.3f} - {high:.3f}]")
            print(f"  {r['compiler']:<11} asx / asio = {r['asx_to_asio']:.2f}")
    if args.check and worst > 0.5:
        print(f"compile_time: asx takes {worst:.2f} of Boost.Asio's time, the limit is 0.50; "
              "look for a heavy include with g++ -H", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
