#!/usr/bin/env python3
"""Checks the architecture that LAYERS writes down.

    tools/layers.py [--root DIR]                      includes and forbidden words
    tools/layers.py --headers CXX [FLAG ...]          every header compiles alone

1  A file includes its own component and public headers of components above it in LAYERS, no others.
2  Clocks, threads, entropy and hash tables stay out of everything but the paths on LAYERS' `machine:` line.
3  What threads share word by word is an atomic_word, so that a build for stress disturbs it.
4  Every header compiles alone, twice in one translation unit.

One line a problem: where, what, what to do. Exit 0 when all is well, 1 on a problem, 2 on a wrong call.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

# What a run could depend on besides its program, its seed and its profile. Tests are held to it as well: one that
# reads a clock or starts a thread cannot be replayed. Benches measure, and may compare with any peer.
# What, why it is refused, what to do instead, and for those that take long to look for: words of which one must be there.
FORBIDDEN = [
    (r"\b(steady|system|high_resolution|utc|tai|gps|file)_clock\b|(?<!\bcx)(?<!\bruntime)(?<!\bruntime_core)::now\s*\(", "reads a clock",
     "take the time from the clock port", ("_clock", "::now")),
    (r"\bclock_gettime\b|\bgettimeofday\b|(?<![\w.>])time\s*\(\s*(nullptr|NULL|0|&\w+)\s*\)|(?<![\w.>])clock\s*\(\s*\)"
     r"|#\s*include\s*<(ctime|time\.h|sys/time\.h)>", "reads a clock", "take the time from the clock port"),
    (r"\bsleep_for\b|\bsleep_until\s*\(\s*std::|(?<![\w.>])(u?sleep|nanosleep)\s*\(\s*[\d&]", "sleeps",
     "park through the port", ("sleep",)),
    (r"#\s*include\s*<(thread|mutex|shared_mutex|condition_variable|future|stop_token|semaphore|latch|barrier)>",
     "includes a threading header", "use asx/base/conditional_lock.hpp, or move the code to a drive"),
    (r"\bstd::(jthread|thread|mutex|condition_variable|this_thread|async)\b|\bpthread_\w+", "uses threads",
     "use asx/base/conditional_lock.hpp, or move the code to a drive"),
    (r"\bthread_local\b", "keeps state in a thread", "keep it in the runtime or the worker: two may live in one process"),
    (r"#\s*include\s*<random>|\brandom_device\b|\bgetrandom\b|\bgetentropy\b|\bmt19937\w*\b|\bminstd_rand0?\b"
     r"|\bdefault_random_engine\b|(?<![\w.>])(s?rand|random)\s*\(\s*\)|\bsrand\s*\(",
     "draws entropy", "draw from asx/base/random.hpp with a stream of its own", ("rand", "getentropy", "mt19937")),
    (r"#\s*include\s*<unordered_(map|set)>|\bunordered_(multi)?(map|set)\b", "uses a hash table",
     "its order is not ours: use an index, an array or an intrusive list"),
    (r"\b(multi)?(set|map)\s*<\s*[\w:]+(\s+const)?\s*\*", "orders by address", "order by an id or a sequence number"),
    (r"\bstd::hash\s*<", "hashes by the standard library", "use asx/base/hash.hpp, which is the same everywhere"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*["<](asx/[^">]+)[">]', re.M)
OTHER_QUOTED = re.compile(r'^\s*#\s*include\s*"((?!asx/)[^"]+)"', re.M)


def fail_usage(text):
    print(f"layers: {text}", file=sys.stderr)
    sys.exit(2)


def read_layers(root):
    path = root / "LAYERS"
    try:
        text = path.read_text()
    except OSError as e:
        fail_usage(f"cannot read {path}: {e.strerror}; run from the repository root or give --root")
    rank, machine = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if line.startswith("machine:"):
            machine += line.removeprefix("machine:").split()
        else:
            for name in line.split():
                if name in rank:
                    fail_usage(f"LAYERS:{number}: component '{name}' is listed twice; keep one line for it")
                rank[name] = number
    if not rank:
        fail_usage("LAYERS names no component; list them bottom to top, one line a layer")
    return rank, machine


def blank_comments_and_strings(text):
    """The same text with comments and string contents replaced by spaces, so that line numbers stay."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def sources(root):
    for path in sorted((root / "asx").rglob("*")):
        if path.suffix in {".hpp", ".cpp", ".h", ".c"} and path.is_file():
            yield path


def check_file(root, path, rank, machine):
    relative = path.relative_to(root).as_posix()
    parts = relative.split("/")
    text = path.read_text()
    if len(parts) == 2:  # asx/asx.hpp: the table of contents may include every public header.
        component = None
    else:
        component = parts[1]
        if component not in rank:
            yield f"{relative}: component '{component}' is not in LAYERS; give it a line there, bottom to top"
            return
    is_test = re.search(r"_(test|bench)\.cpp$", relative) or relative.endswith("/testing.hpp")

    for m in OTHER_QUOTED.finditer(text):
        if component == "cli" and m.group(1).startswith("examples/"):
            continue  # The demo runs what the examples show.
        line = text.count("\n", 0, m.start()) + 1
        yield f"{relative}:{line}: includes \"{m.group(1)}\"; quoted includes start at the include root: \"asx/...\""

    for m in INCLUDE.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        target = m.group(1).split("/")
        where = f"{relative}:{line}"
        if not (root / m.group(1)).exists():
            yield f"{where}: includes {m.group(1)}, which does not exist"
            continue
        if len(target) < 3 or component is None:
            if component is not None and not is_test:
                yield f"{where}: includes {m.group(1)}, the table of contents; include the headers that are used"
            continue
        other = target[1]
        if other == component:
            continue
        if "detail" in target[2:-1]:
            yield (f"{where}: includes {m.group(1)}, which is private to {other}; "
                   f"use a public header of {other}, or make this one public")
        if is_test and other == "lab":
            continue
        if other not in rank:
            yield f"{where}: includes component '{other}', which is not in LAYERS; give it a line there"
        elif rank[other] == rank[component]:
            yield (f"{where}: sideways include: {component} and {other} are siblings in LAYERS; "
                   f"move what both need to a layer below them")
        elif rank[other] > rank[component]:
            yield (f"{where}: upward include: {component} is below {other} in LAYERS; turn the dependency round "
                   f"(a callback, a port, an intrusive `owned`), or move this file up to {other}")

    if "std::atomic" in text and not is_test and "testing" not in parts and not relative.startswith("asx/base/atomic_word."):
        bare = blank_comments_and_strings(text)
        for m in re.finditer(r"\bstd::atomic(?!_signal_fence|_thread_fence)\w*", bare):
            line = bare.count("\n", 0, m.start()) + 1
            yield f"{relative}:{line}: {m.group()} never dawdles; use atomic_word of asx/base/atomic_word.hpp, so that stress disturbs it"
    if component is None or any(fnmatch.fnmatch("/".join(parts[1:]), glob) for glob in machine):
        return
    if relative.endswith("_bench.cpp"):
        return
    bare = blank_comments_and_strings(text)
    for pattern, what, instead, *hint in FORBIDDEN:
        if hint and not any(word in bare for word in hint[0]):
            continue
        if is_test and what == "orders by address":  # A test may keep what it saw in any order; it asserts none.
            continue
        for m in re.finditer(pattern, bare):
            line = bare.count("\n", 0, m.start()) + 1
            yield f"{relative}:{line}: `{m.group().strip()}` {what}, and {component} is below the drives; {instead}"


def check_headers(root, compiler, flags):
    headers = [p for p in sources(root) if p.suffix in {".hpp", ".h"}]

    def compile_alone(path):
        relative = path.relative_to(root).as_posix()
        unit = f'#include "{relative}"\n#include "{relative}"\n'
        run = subprocess.run([compiler, *flags, "-I", str(root), "-fsyntax-only", "-x", "c++", "-"],
                             input=unit, capture_output=True, text=True)
        if run.returncode == 0:
            return None
        first = next((l for l in run.stderr.splitlines() if "error" in l), run.stderr.strip())
        return f"{relative}: does not compile alone; include what it uses: {first}"

    if shutil.which(compiler) is None:
        fail_usage(f"cannot run {compiler}; give a compiler that is there, such as g++-12")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problems = [p for p in pool.map(compile_alone, headers) if p]
    return problems, len(headers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."), help="the repository (default: here)")
    parser.add_argument("--headers", nargs=argparse.REMAINDER, metavar="CXX",
                        help="compile every header alone with this compiler and these flags")
    args = parser.parse_args()
    root = args.root.resolve()
    rank, machine = read_layers(root)

    if args.headers is not None:
        if not args.headers:
            fail_usage("--headers needs a compiler, such as: --headers g++ -std=c++20")
        problems, count = check_headers(root, args.headers[0], args.headers[1:])
        good = f"layers: {count} headers compile alone"
    else:
        files = list(sources(root))
        problems = [p for path in files for p in check_file(root, path, rank, machine)]
        good = f"layers: {len(files)} files in {len(rank)} components keep to LAYERS"
    for p in problems:
        print(p)
    if problems:
        print(f"layers: {len(problems)} problem{'s' if len(problems) > 1 else ''}; LAYERS says what may include what")
        return 1
    print(good)
    return 0


if __name__ == "__main__":
    sys.exit(main())
