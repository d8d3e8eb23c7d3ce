#!/usr/bin/env python3
"""Breaks asx/base and asx/model one small step at a time, at random, and sees whether their tests notice.

    tools/mutate_laws.py [--minutes N] [--seed N] [--component NAME ...] [--count N] [--json]

Each mutant is one changed operator, constant or call in a header or source of asx/base or asx/model, compiled with
that component's tests in a folder of its own; the tree is not touched. A mutant that does not compile says nothing
and is not counted: much of the model is proved by static_assert, and a failing proof is a noticed mutant, so those
are told apart by the compiler's message. Survivors are printed with file and line. Exit 1 when more than a tenth
survive.
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

RULES = [
    (r"(?<![<>=!-])<=(?!>)", "<"), (r"(?<![<>=!-])>=", ">"), (r"(?<=\w )<(?= \w)", "<="), (r"(?<=\w )>(?= \w)", ">="),
    (r"==", "!="), (r"!=", "=="), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<= )\+ 1\b", "+ 2"), (r"(?<= )- 1\b", "- 0"),
    (r"(?<= )\+(?= \w)", "-"), (r"\+\+(?=\w)", "--"), (r"--(?=\w)", "++"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\b0\b(?=[;,)])", "1"), (r"\b64\b", "63"), (r"% 64", "% 32"), (r"\breturn \w+;", "return {};"),
    (r"countr_zero", "popcount"), (r"\bUINT64_MAX\b", "(UINT64_MAX - 1)"), (r" \? (\w+) : (\w+)", r" ? \2 : \1"),
]


def candidates(root, component):
    for path in sorted((root / "asx" / component).glob("*.[hc]pp")):
        if re.search(r"_(test|bench)\.cpp$|/testing\.hpp$", path.as_posix()):
            continue
        for number, line in enumerate(path.read_text().splitlines()):
            bare = re.sub(r'//.*|"(?:\\.|[^"\\])*"', lambda m: " " * len(m.group()), line)
            if bare.lstrip().startswith(("#", "static_assert", "template", "ASX_ASSERT")) or "static_assert" in bare:
                continue
            for pattern, replacement in RULES:
                for m in re.finditer(pattern, bare):
                    mutated = line[: m.start()] + m.expand(replacement) + line[m.end():]
                    if mutated != line:
                        yield component, path.relative_to(root), number, mutated


def compile_tests(tree, component, out):
    sources = [p for c in ("base", "model") for p in (tree / "asx" / c).glob("*.cpp")
               if not re.search(r"_(test|bench)\.cpp$", p.name)]
    tests = sorted((tree / "asx" / component).glob("*_test.cpp"))
    objects = []
    for source in [*sources, *tests]:
        objects.append(out / f"{source.parent.name}_{source.stem}.o")
        run = subprocess.run(["g++-12", "-std=c++20", "-O0", "-w", "-I", str(tree), "-c", str(source), "-o", str(objects[-1])],
                             capture_output=True, text=True)
        if run.returncode:
            return "proved" if "static assertion" in run.stderr or "assert_failed" in run.stderr else "no C++"
    run = subprocess.run(["g++-12", *map(str, objects), "-o", str(out / "tests"), "-lrapidcheck", "-lgtest", "-lgtest_main"],
                         capture_output=True, text=True)
    return "linked" if run.returncode == 0 else "no C++"


def judge(root, mutant, folder):
    component, path, number, mutated = mutant
    tree, out = folder / "tree", folder / "out"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "asx", tree / "asx")
    out.mkdir(parents=True)
    lines = (tree / path).read_text().splitlines()
    lines[number] = mutated
    (tree / path).write_text("\n".join(lines) + "\n")
    built = compile_tests(tree, component, out)
    if built != "linked":
        return built
    try:
        run = subprocess.run([str(out / "tests"), "--gtest_brief=1"], capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "noticed"
    return "noticed" if run.returncode else "SURVIVED"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20, help="stop after this long (default 20)")
    parser.add_argument("--count", type=int, default=200, help="at most this many mutants (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn (default 1)")
    parser.add_argument("--component", nargs="+", default=["base", "model"], choices=["base", "model"])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    root = pathlib.Path.cwd()
    pool = [m for c in args.component for m in candidates(root, c)]
    random.Random(args.seed).shuffle(pool)
    verdicts, survivors, end = {}, [], time.monotonic() + args.minutes * 60
    with tempfile.TemporaryDirectory() as scratch:
        for component in args.component:  # On a red tree every mutant would look noticed.
            first = next((root / "asx" / component).glob("*.hpp")).relative_to(root)
            untouched = (component, first, 0, (root / first).read_text().splitlines()[0])
            if judge(root, untouched, pathlib.Path(scratch) / "mutant") != "SURVIVED":
                print(f"mutation: the tests of asx/{component} fail without a mutation; mend them first", file=sys.stderr)
                return 1
        for i, mutant in enumerate(pool[: args.count]):
            if time.monotonic() > end:
                break
            verdict = judge(root, mutant, pathlib.Path(scratch) / "mutant")
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
            if verdict == "SURVIVED":
                survivors.append({"file": str(mutant[1]), "line": mutant[2] + 1, "became": mutant[3].strip()})
                print(f"survived: {mutant[1]}:{mutant[2] + 1}: {mutant[3].strip()}", file=sys.stderr)
            if sys.stderr.isatty():
                print(f"\r{i + 1}/{min(len(pool), args.count)} {verdicts}   ", end="", file=sys.stderr)
    judged = verdicts.get("noticed", 0) + verdicts.get("proved", 0) + len(survivors)
    if args.json:
        print(json.dumps({"of": len(pool), "verdicts": verdicts, "survivors": survivors}))
    else:
        print(f"mutation: {judged} mutants of {len(pool)}: {verdicts.get('noticed', 0)} noticed by a test, "
              f"{verdicts.get('proved', 0)} refused by a proof, {len(survivors)} survived")
    if judged == 0:
        print("mutation: nothing was judged; give it more minutes", file=sys.stderr)
        return 1
    return 1 if len(survivors) * 10 > judged else 0


if __name__ == "__main__":
    sys.exit(main())
