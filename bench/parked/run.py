#!/usr/bin/env python3
"""Measures the memory of waiting tasks, asx beside its peers: record, frame and all, as the system counts it.

    bench/parked/run.py [--quick] [--reps N] [--tasks N] [--only NAME,...] [--json FILE] [--build DIR] [--cpu N]
                        [--jobs N]

The programs are those of bench/cancel: each task waits for a slot of a full channel, or for an hour, and its frame holds
a number and what it waits with. Each process is used once, so that nothing is left from before. A ratio below 1 means
that asx needs less.
"""
import importlib.util
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("bench_cancel", HERE.parent / "cancel" / "run.py")
cancel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cancel)


def main():
    args = cancel.options(__doc__, 1_000_000, 3)
    names, rows, about = cancel.measure(args, 1)
    bytes_of = {(w, n): [r["bytes"] for r in rows if r["workload"] == w and r["library"] == n]
                for w in cancel.WORKLOADS for n in names}
    cancel.table(f"bytes for one of {args.tasks:,} waiting tasks; median (lowest - highest)", names, bytes_of)
    if "asx" in names and len(names) > 1:
        print("\nmemory of asx over that of the peer")
        for w in cancel.WORKLOADS:
            own = statistics.median(bytes_of[w, "asx"])
            print(f"{w:<13}" + "".join(f"{n} {own / statistics.median(bytes_of[w, n]):.2f}   "
                                       for n in names if n != "asx"))
    if args.json:
        args.json.write_text(json.dumps({**about, "results": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
