"""Builds the programs: asx as a static library at -O2, as the release preset does, and one program a problem and
library.

What is older than its sources, or was built by another command, is built again. Everything lies in one folder.
"""

import concurrent.futures
import os
import subprocess
import sys

from harness.libraries import BENCH, LIBRARIES, ROOT, why_absent

COMPONENTS = ["base", "model", "journal", "wheel", "sched", "kernel", "runtime", "chan", "sync", "coro"]
FLAGS = ["-std=c++20", "-O2", "-DNDEBUG"]


def newest(paths):
    return max((p.stat().st_mtime for p in paths), default=0.0)


class Builder:
    """`absent` says which libraries are not there and why, `skipped` what is not built for that or another reason:
    {(folder, library): why}."""

    def __init__(self, directory, compiler, jobs, progress, library=None):
        self.directory, self.compiler, self.jobs, self.progress = directory, compiler, jobs, progress
        self.library = library          # A libasx.a that is there already.
        self.programs, self.absent, self.skipped = {}, {}, {}
        self.env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "CCACHE_SLOPPINESS": "time_macros"}

    def build(self, problems, names, is_quick=False):
        """Programs of the problems by the libraries named: {(folder, library): path}."""
        self.directory.mkdir(parents=True, exist_ok=True)
        wanted = []
        whys = {n: why_absent(LIBRARIES[n], self.compiler) for p in problems for n in p.libraries if n in names}
        self.absent = {n: why for n, why in whys.items() if why}
        for problem in problems:
            for name in (n for n in problem.libraries if n in names):
                if name in self.absent:
                    self.skipped[problem.place(), name] = self.absent[name]
                elif problem.kind != "compile" and (problem.place(), name) not in wanted:
                    wanted.append((problem.place(), name))
            for through in sorted({r.through for r in problem.runs if r.through}):
                if (problem.place(), through) not in wanted:
                    wanted.append((problem.place(), through))
        uses_asx = any(LIBRARIES[n].uses_asx() for _, n in wanted if n in LIBRARIES)
        if uses_asx or (not is_quick and "asx" in names and any(p.kind == "compile" for p in problems)):
            self.build_library()
        self.build_cxx([w for w in wanted if self.language(w) == "cxx"])
        self.build_rust([w for w in wanted if self.language(w) == "rust"])
        self.build_go([w for w in wanted if self.language(w) == "go"])
        return self.programs

    @staticmethod
    def language(what):
        return LIBRARIES[what[1]].language if what[1] in LIBRARIES else "cxx"

    def build_library(self):
        if self.library is not None:
            return
        folder = self.directory / "asx"
        folder.mkdir(exist_ok=True)
        headers = newest((ROOT / "asx").rglob("*.hpp"))
        jobs, objects = [], []
        for component in COMPONENTS:
            for source in sorted((ROOT / "asx" / component).rglob("*.cpp")):
                if source.name.endswith(("_test.cpp", "_bench.cpp")) or "testing" in source.parts:
                    continue
                target = folder / ("_".join(source.relative_to(ROOT).parts) + ".o")
                objects.append(str(target))
                jobs.append((str(source.relative_to(ROOT)), target, max(headers, source.stat().st_mtime),
                             [self.compiler, *FLAGS, "-I", str(ROOT), "-c", str(source), "-o", str(target)]))
        failed = self.run_jobs("the library", jobs)
        for name, text in failed.items():
            sys.exit(f"{name} does not build:\n{text[-2000:]}")
        self.library = self.directory / "libasx.a"
        self.library.unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", str(self.library), *objects], check=True)

    def build_cxx(self, wanted):
        shared = newest((BENCH / "shared").glob("*.hpp"))
        headers = newest((ROOT / "asx").rglob("*.hpp"))
        jobs = []
        for folder, name in wanted:
            library = LIBRARIES.get(name)
            flags, link = (library.flags, library.link) if library else ((), ())
            source = BENCH / folder / f"{(library.stem if library else '') or name}.cpp"
            target = self.directory / folder / name
            target.parent.mkdir(exist_ok=True)
            newer = max(shared, source.stat().st_mtime, newest((BENCH / folder).glob("*.hpp")))
            objects = []
            if library is not None and library.uses_asx():
                objects = [str(self.library)]
                newer = max(newer, headers, newest(self.library_sources()))
            jobs.append(((folder, name), target, newer,
                         [self.compiler, *FLAGS, "-I", str(ROOT), *flags, str(source), *objects, "-o", str(target),
                          *link]))
        failed = self.run_jobs("C++ programs", jobs)
        for what, target, _, _ in jobs:
            if what in failed:
                self.skipped[what] = first_error(failed[what])
            else:
                self.programs[what] = target

    def library_sources(self):
        if self.library != self.directory / "libasx.a":
            return [self.library]
        return (self.directory / "asx").glob("*.o")  # The archive itself is made anew each time.

    def build_rust(self, wanted):
        if not wanted:
            return
        self.progress.say("tokio: cargo build")
        bins = [word for folder, _ in wanted for word in ("--bin", folder)]
        ran = subprocess.run(["cargo", "build", "--release", "--locked", "--jobs", str(self.jobs), "--target-dir",
                              str(self.directory / "cargo"), *bins], cwd=BENCH, capture_output=True, text=True)
        for what in wanted:
            if ran.returncode == 0:
                self.programs[what] = self.directory / "cargo" / "release" / what[0]
            else:
                self.skipped[what] = first_error(ran.stderr)

    def build_go(self, wanted):
        for done, what in enumerate(wanted):
            self.progress.say(f"go build: {done + 1} of {len(wanted)}")
            target = self.directory / what[0] / "go"
            target.parent.mkdir(exist_ok=True)
            # By its file: a package may not have C++ beside it.
            ran = subprocess.run(["go", "build", "-p", str(self.jobs), "-o", str(target), f"./{what[0]}/go.go"],
                                 cwd=BENCH, capture_output=True, text=True, env=self.env)
            if ran.returncode == 0:
                self.programs[what] = target
            else:
                self.skipped[what] = first_error(ran.stderr)

    def run_jobs(self, what, jobs):
        """Jobs are (name, target, time of the newest source, command). Returns {name: error} of those that failed."""
        stale = []
        for name, target, newer, command in jobs:
            note = target.with_name(target.name + ".command")
            if not target.exists() or target.stat().st_mtime < newer or not note.exists() \
                    or note.read_text() != " ".join(command):
                stale.append((name, target, note, command))

        def run(job):
            name, target, note, command = job
            note.unlink(missing_ok=True)
            ran = subprocess.run(command, capture_output=True, text=True, env=self.env)
            if ran.returncode == 0:
                note.write_text(" ".join(command))
            return name, ran

        failed = {}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done, (name, ran) in enumerate(pool.map(run, stale), 1):
                if ran.returncode != 0:
                    failed[name] = ran.stderr.strip()
                self.progress.bar(done, len(stale), f"building {what}")
        return failed


def first_error(text):
    line = next((l for l in text.splitlines() if "error" in l), text.strip()[-200:])
    return f"does not build: {line.strip()}"
