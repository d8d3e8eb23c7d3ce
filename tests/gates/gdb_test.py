#!/usr/bin/env python3
"""gdb shows tasks, what they wait for and who awaits whom, in a live process and in a core.

    gdb_test.py <libasx.a> <compiler> [<compiler> ...]     told as skipped where gdb or all of them are not installed
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77  # As ctest is told.


def line_of(text):
    """Where that text stands in the program, as `gdb_program.cpp:8`."""
    lines = (HERE / "gdb_program.cpp").read_text(encoding="utf-8").splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, f"{text}: in lines {found} of gdb_program.cpp"
    return rf"gdb_program\.cpp:{found[0]}"


HERE_SITE = r"gdb_program\.cpp:\d+"
READS, SESSION = line_of("co_await recv(from)"), line_of("co_await reads(c, from)")
SLEEPS, LIMITS = line_of("co_await sleep(duration::hours(3))"), line_of("co_await within(")
SERVES, JOINS = line_of("co_await region("), line_of("co_await join(")

EXPECTED = [
    r"now 0 ns, 4 tasks live",
    r"region 1 root  open",
    rf"task 1 'reader'  running, waits for a message of channel 1 at {READS} < {SESSION}  polls 1  spawned {HERE_SITE}",
    rf"in .*reads.*  {READS}\n\s+in .*session.*  {SESSION}\n",
    rf"task 2 'server'  running, waits for the close of region 2 at {SERVES}  polls 1  spawned {HERE_SITE}",
    r"region 2 'connection'  open",
    rf"waits for the end of task \d at {JOINS}  polls",
    rf"'sleeper'  running, waits for timer \d+ at {SLEEPS} < {LIMITS}  polls 1  spawned {HERE_SITE}",
    rf"in .*(lambda|operator\(\)).*  {SLEEPS}\n(\s+in .*\n)*\s+in limited_session.*  {LIMITS}\n",
]
OTHERS = {  # By the words that ask for them.
    "asx tasks live": rf"task 1 'lives'  running, waits for timer \d+ at {SLEEPS} < {LIMITS}  polls 1",
    "asx tasks *crew": rf"task 1 'toils'  running, waits for timer \d+ at {SLEEPS} < {LIMITS}  polls 1",
    "asx tasks crew": r"task 1 'toils'  running",
    "asx tasks &live": r"task 1 'lives'  running",
    "asx tasks crew->runtime_": r"task 1 'toils'  running",
    "asx tasks when": r"'when' is no runtime of asx",
}
VALUES = [r"= 3.5 s", r"= handle of task #\d+, life 1", r"= ok 7", r"= err corrupt, 9"]


def gdb(*commands, program):
    words = ["gdb", "-nx", "-batch", "-ex", f"source {ROOT / 'tools/gdb/asx_gdb.py'}"]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run(words + program, capture_output=True, text=True, check=False, timeout=300)
    return done.stdout + done.stderr


def has_debug_information(library):
    told = subprocess.run(["readelf", "-S", "--wide", library], capture_output=True, text=True, check=True).stdout
    return ".debug_info" in told


def build(compiler, library, program, *more):
    subprocess.run([compiler, "-std=c++20", "-O0", "-g", *more, "-I", str(ROOT), str(HERE / "gdb_program.cpp"), library, "-o",
                    program], check=True)


def missing(told, patterns):
    return [p for p in patterns if not re.search(p, told)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    library, compilers = sys.argv[1], sys.argv[2:]
    if shutil.which("gdb") is None:
        print("gdb: gdb is not installed: skipped")
        return SKIPPED
    wrong, ran = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        for compiler in compilers:
            if shutil.which(compiler) is None:
                print(f"gdb: {compiler} is not installed: left out")
                continue
            ran += 1
            program, core = str(pathlib.Path(directory) / "program"), str(pathlib.Path(directory) / "core")
            is_clang = "clang" in pathlib.Path(compiler).name
            build(compiler, library, program, *(["-fstandalone-debug"] if is_clang and not has_debug_information(library) else []))
            live = gdb("break stop_here", "run", "print when", "print whom", "print how", "print bad", "asx tasks",
                       "asx tasks rt", "asx nonsense", f"generate-core-file {core}", program=[program])
            dead = gdb("asx tasks", program=[program, core])
            others = [(f"`{asked}` of a core", gdb(asked, program=[program, core]), [pattern])
                      for asked, pattern in OTHERS.items()]
            for what, told, patterns in (("a live process", live, EXPECTED + VALUES + ["there is `asx tasks"]),
                                         ("a core", dead, EXPECTED), *others):
                lost = missing(told, patterns)
                wrong += len(lost)
                if lost:
                    print(f"gdb: {compiler}, {what}: not told: {lost}\n{told[-4000:]}")
                else:
                    print(f"gdb: {compiler}: {what} tells who waits for what")
            if not is_clang:
                continue
            bare = str(pathlib.Path(directory) / "bare.a")  # As a distribution would install it.
            subprocess.run(["strip", "--strip-debug", "-o", bare, library], check=True)
            build(compiler, bare, program)
            told = gdb("break stop_here", "run", "asx tasks", program=[program])
            if missing(told, [r"gdb knows no members of asx::runtime.*-fstandalone-debug"]):
                wrong += 1
                print(f"gdb: {compiler}, no debug information in the library: not told what to do\n{told[-4000:]}")
    return 1 if wrong else 0 if ran else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
