#!/usr/bin/env python3
"""Lets Clang 19 read sources that CI builds with GCC alone, with the same flags: neither may have anything to say.

    tools/second_compiler.py COMPILE_COMMANDS GLOB ...      from the repository root; paths as git names them

COMPILE_COMMANDS is what CMake writes beside a GCC build. Nothing is generated: -fsyntax-only, and warnings are errors.
Exit 0: not a word. 1: what was said, and of which file. 2: the call makes no sense, or a GLOB means nothing.
"""

import concurrent.futures
import fnmatch
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

COMPILERS = {".c": "clang-19", ".cpp": "clang++-19"}


def reading(command):
    """The command, for Clang, without what it would write and where GCC's own things lie."""
    words = iter(shlex.split(command)[1:])
    out = []
    for word in words:
        if word in ("-o", "-MF", "-MT"):
            next(words)
        elif word not in ("-c", "-MD", "-Winvalid-pch"):
            out.append(word)
    return [*out, "-fsyntax-only", "-Werror", "-Wno-ignored-gch"]


def read_one(entry):
    compiler = COMPILERS[pathlib.Path(entry["file"]).suffix]
    done = subprocess.run([compiler, *reading(entry["command"])], cwd=entry["directory"], capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    missing = [c for c in COMPILERS.values() if shutil.which(c) is None]
    if missing:
        print(f"second_compiler: {missing[0]} is not here; apt install clang-19", file=sys.stderr)
        return 2
    try:
        entries = json.loads(pathlib.Path(sys.argv[1]).read_text())
    except (OSError, ValueError) as e:
        print(f"second_compiler: {sys.argv[1]}: {e}; configure a build with CMAKE_EXPORT_COMPILE_COMMANDS first", file=sys.stderr)
        return 2
    root = pathlib.Path.cwd()
    files = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if path.suffix in COMPILERS and path.is_relative_to(root):
            files.setdefault(str(path.relative_to(root)), entry)
    wanted = {}
    for glob in sys.argv[2:]:
        found = fnmatch.filter(files, glob)
        if not found:
            print(f"second_compiler: no source of this build is meant by '{glob}'", file=sys.stderr)
            return 2
        wanted.update((name, files[name]) for name in found)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (is_well, said) in zip(wanted, pool.map(read_one, wanted.values())):
            if is_well:
                continue
            bad += 1
            print(f"second_compiler: {name}: Clang has something to say where GCC had not")
            print(said)
    if bad == 0:
        print(f"second_compiler: not a word of {len(wanted)} sources")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
