"""Runs the programs: every library once, then every library again, so that a slow minute of the machine hits all alike.

Programs of one thread are pinned to one processor and tell their processor time; others run free and tell wall time.
Medians over the repetitions are what counts; half the way from the lowest to the highest is told beside them.
"""

import dataclasses
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

from harness import compiling

TIMEOUT_SECONDS = 120


class Progress:
    """One line on a terminal's standard error, and nothing anywhere else."""

    def __init__(self, stream=sys.stderr):
        self.stream, self.is_shown = stream, stream.isatty()

    def say(self, text):
        if self.is_shown:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{text[:width]}", end="", file=self.stream, flush=True)

    def bar(self, done, total, text):
        filled = 30 * done // max(total, 1)
        self.say(f"[{'#' * filled}{'.' * (30 - filled)}] {100 * done // max(total, 1):3d} %  {text}")

    def clear(self):
        self.say("")


@dataclasses.dataclass
class Result:
    """What was seen of one problem."""
    problem: object
    reps: int = 0
    seconds: float = 0.0
    samples: dict = dataclasses.field(default_factory=dict)      # (workload, library): values
    counted: dict = dataclasses.field(default_factory=dict)      # (workload, library): [allocations, operations]
    skipped: dict = dataclasses.field(default_factory=dict)      # library: why
    workloads: list = dataclasses.field(default_factory=list)    # In the order in which they came.

    def add(self, library, row):
        workload = row["workload"] + (f" {row['n']:,}" if self.problem.by_size else "")
        if workload not in self.workloads:
            self.workloads.append(workload)
        self.samples.setdefault((workload, library), []).append(row[self.problem.value])
        if "allocations" in row:
            sums = self.counted.setdefault((workload, library), [0, 0])
            sums[0] += row["allocations"]
            sums[1] += row["operations"]

    def libraries(self):
        return [n for n in self.problem.libraries if any(l == n for _, l in self.samples)]

    def median(self, workload, library):
        """None when the library did not do it."""
        found = self.samples.get((workload, library))
        return statistics.median(found) if found else None

    def ratio(self, workload, library, of="asx"):
        """Of asx to the library; None when one of them did not do it, or took no time that can be told."""
        own, other = self.median(workload, of), self.median(workload, library)
        return own / other if own is not None and other else None

    def base(self, workload):
        """Without the number of things."""
        return re.sub(r" [\d,]+$", "", workload) if self.problem.by_size else workload

    def verdicts(self, aims):
        """One for each aim and workload: the ratio, to whom, and whether it is met (None: nobody to compare with)."""
        out = []
        for aim in aims:
            for workload in self.workloads:
                if self.median(workload, aim.of) is None or (aim.workloads and self.base(workload) not in aim.workloads):
                    continue
                middles = {n: self.median(workload, n) for n in aim.candidates()}
                present = [(v, n) for n, v in middles.items() if v]
                best = min(present)[1] if present else None
                ratio = self.ratio(workload, best, aim.of) if best else None
                out.append({"problem": self.problem.name, "workload": workload, "of": aim.of, "says": aim.says(),
                            "at_most": aim.at_most, "against": aim.against, "library": best, "ratio": ratio,
                            "is_met": None if ratio is None else ratio <= aim.at_most})
        return out

    def greedy(self):
        """Libraries and workloads that asked for memory where they must not."""
        return [(n, w) for (w, n), (allocated, _) in self.counted.items()
                if n in self.problem.without_allocations and allocated]


def rows_of(command, cpu):
    """What the program printed; cpu None: not pinned. Raises RuntimeError with a sentence."""
    pin = ["taskset", "-c", str(cpu)] if cpu is not None and shutil.which("taskset") else []
    try:
        ran = subprocess.run([*pin, *map(str, command)], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"did not end within {TIMEOUT_SECONDS} seconds") from None
    if ran.returncode != 0:
        raise RuntimeError(f"failed with {ran.returncode}: {ran.stderr.strip()[-200:]}")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def steps_of(problem, names, programs, options):
    """(library, what to do) in the order of one repetition; what to do gives rows."""
    if problem.kind == "compile":
        return compiling.steps(problem, names, programs, options)
    out = []
    for run in problem.runs:
        arguments = {n: run.arguments_of(n, options.quick) for n in names}
        for name in names:
            if not arguments[name] or (run.libraries and name not in run.libraries):
                continue
            command = [programs[problem.place(), name]]
            if run.through:
                command = [programs[problem.place(), run.through], *arguments[name], command[0], "once"]
            else:
                command += arguments[name]
            cpu = options.cpu if run.threads == 1 else None
            out.append((name, lambda command=command, cpu=cpu: rows_of(command, cpu)))
    return out


def measure(problem, names, programs, options, progress):
    """All repetitions of one problem by the libraries named; their programs are there."""
    result = Result(problem, options.reps or (problem.quick_reps if options.quick else problem.reps))
    steps = steps_of(problem, names, programs, options)
    began = time.monotonic()
    for rep in range(result.reps):
        for done, (name, run) in enumerate(steps):
            progress.bar(rep * len(steps) + done, result.reps * len(steps),
                         f"{problem.name}: {name}, repetition {rep + 1} of {result.reps}")
            if name in result.skipped:
                continue
            try:
                for row in run():
                    result.add(name, row)
            except RuntimeError as e:
                result.skipped[name] = str(e)
    progress.clear()
    result.seconds = time.monotonic() - began
    for name in result.skipped:  # What it did before it failed would be compared with more of the others.
        for key in [k for k in result.samples if k[1] == name]:
            del result.samples[key]
    return result


def machine():
    try:
        with open("/proc/cpuinfo") as file:
            model = next((l.split(":", 1)[1].strip() for l in file if l.startswith("model name")), platform.machine())
    except OSError:
        model = platform.machine()
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(), "load": round(os.getloadavg()[0], 2),
            "date": datetime.date.today().isoformat()}
