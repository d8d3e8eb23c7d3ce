#!/usr/bin/env python3
"""Compares two results of `asx conform --json`: the same fixtures, all passed, the same digests.

    tools/conform_diff.py [--names A B] FILE_A FILE_B

A result is one JSON object whose "fixtures" are {"id", "profile", "codec", "passed", "digest"}. One line a difference:
which fixture, in which profile and codec, what each says. Exit 0 when there is none, 1 when there is, 2 on a wrong call.
"""

import argparse
import json
import sys


def read(path, name):
    """(id, profile, codec) -> (passed, digest)"""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["fixtures"]
        found = {(r["id"], r["profile"], r["codec"]): (r["passed"], r["digest"]) for r in rows}
    except (OSError, ValueError, KeyError, TypeError) as e:
        print(f"conform_diff: {path} is no result of `asx conform --json` on {name}: {type(e).__name__}: {e}", file=sys.stderr)
        sys.exit(2)
    if len(found) != len(rows):
        print(f"conform_diff: {path}: a fixture has two results for one profile and codec", file=sys.stderr)
        sys.exit(2)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs=2, default=["the first", "the second"], metavar=("A", "B"))
    parser.add_argument("files", nargs=2)
    args = parser.parse_args()
    name_a, name_b = args.names
    a, b = read(args.files[0], name_a), read(args.files[1], name_b)
    different = []
    for key in sorted(a.keys() | b.keys()):
        what = f"{key[0]} ({key[1]}, {key[2]})"
        if key not in a or key not in b:
            different.append(f"{what}: only {name_a if key in a else name_b} has played it")
        elif not (a[key][0] and b[key][0]):
            failed = [n for n, r in ((name_a, a[key]), (name_b, b[key])) if not r[0]]
            different.append(f"{what}: failed on {' and on '.join(failed)}")
        elif a[key][1] != b[key][1]:
            different.append(f"{what}: digest {a[key][1]} on {name_a}, {b[key][1]} on {name_b}")
    for line in different:
        print(f"conform_diff: {line}", file=sys.stderr)
    if not a:
        print("conform_diff: nothing was played; there must be fixtures under conformance/fixtures", file=sys.stderr)
        return 1
    if not different:
        print(f"conform_diff: {len(a)} results are the same on {name_a} and {name_b}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
