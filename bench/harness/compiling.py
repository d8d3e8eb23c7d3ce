"""Measures compilers: what hello-region takes them beside Asio's coroutine hello, and how large the programs are.

Those of COMPILERS that are there take part; none is installed for this.
"""

import os
import resource
import shutil
import subprocess

from harness.libraries import BENCH, LIBRARIES, ROOT

COMPILERS = {"g++": ("g++-12", "g++"), "clang++": ("clang++-19", "clang++")}
STYLES = {"": [], " single": ["-DBENCH_SINGLE_HEADERS"]}


def steps(problem, names, programs, options):
    """As measuring.steps_of. The archive of asx is programs['libasx']; sizes are told when it is there: not --quick."""
    out, folder, sizes = [], BENCH / problem.place(), {}
    for label, candidates in COMPILERS.items():
        compiler = next((c for c in candidates if shutil.which(c)), None)
        if compiler is None:
            continue
        pin = ["taskset", "-c", str(options.cpu)] if options.cpu is not None and shutil.which("taskset") else []
        for style, flags in STYLES.items():
            for name in names:
                command = [*pin, compiler, "-std=c++20", "-O0", *flags, "-I", str(ROOT), "-c",
                           str(folder / f"{name}.cpp"), "-o", os.devnull]
                out.append((name, lambda command=command, workload=label + style: compile_time(command, workload)))
    for name in names if programs["libasx"] else ():
        library = LIBRARIES[name]
        objects = [str(programs["libasx"])] if library.uses_asx() else []
        target = options.build / problem.place() / name
        command = [options.cxx, "-std=c++20", "-O2", "-DNDEBUG", "-s", "-I", str(ROOT), str(folder / f"{name}.cpp"),
                   *objects, "-o", str(target), *library.link]
        out.append((name, lambda command=command, target=target: program_size(command, target, sizes)))
    return out


def run(command):
    """Processor seconds of the command and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode != 0:
        raise RuntimeError(f"does not compile: {ran.stderr.strip()[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compile_time(command, workload):
    return [{"workload": workload, "ns": run(command)}]


def program_size(command, target, sizes):
    """Of the stripped program; it is linked once."""
    if target not in sizes:
        target.parent.mkdir(parents=True, exist_ok=True)
        run(command)
        sizes[target] = target.stat().st_size
    return [{"workload": "program", "ns": sizes[target]}]
