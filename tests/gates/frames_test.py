#!/usr/bin/env python3
"""What compilers make of coroutines: destructors of a coroutine that is ended where it stands run once and in
order, optimised or not, and the stack stays flat.

    frames_test.py <libasx.a> <compiler> [<compiler> ...]     a compiler that is absent is named and left out

Builds frames.cpp at -O0 and -O2 with the address and undefined sanitizers and runs it: locals of a cancelled coroutine
are destroyed once, the youngest first. Builds awaits.cpp at -O0 and -O1, where nobody promises tail calls, and runs it on
a stack of 256 KiB: ten million awaits. The library itself is the one that was built before: what compilers make of the
coroutines of a program lies in the program.
"""
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SANITIZED = ["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STACK_BYTES = 256 * 1024
CASES = [("frames.cpp", "-O0", SANITIZED, None), ("frames.cpp", "-O2", SANITIZED, None),
         ("awaits.cpp", "-O0", [], STACK_BYTES), ("awaits.cpp", "-O1", [], STACK_BYTES)]


def judge(compiler, library, directory, source, level, flags, stack):
    """What is wrong, or nothing; what went well is printed."""
    what = f"{compiler} {level} {source}"
    program = str(pathlib.Path(directory) / "program")
    built = subprocess.run([compiler, "-std=c++20", level, *flags, "-I", str(ROOT), str(HERE / source), library, "-o", program],
                           capture_output=True, text=True, check=False)
    if built.returncode != 0:
        return f"{what}: does not build:\n{built.stderr[:800]}"
    narrow = None if stack is None else lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
    done = subprocess.run([program], capture_output=True, text=True, check=False, preexec_fn=narrow)
    if done.returncode != 0:
        return f"{what}: ended with {done.returncode}: {done.stdout.strip()}\n{done.stderr[:1500]}"
    print(f"frames: {what}: {done.stdout.strip()}")
    return None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    library, compilers = sys.argv[1], sys.argv[2:]
    wrong, ran = [], 0
    with tempfile.TemporaryDirectory() as directory:
        for compiler in compilers:
            if shutil.which(compiler) is None:
                print(f"frames: {compiler} is not installed: left out")
                continue
            for case in CASES:
                ran += 1
                wrong.append(judge(compiler, library, directory, *case))
    wrong = [line for line in wrong if line is not None]
    for line in wrong:
        print(line)
    if ran == 0:
        print("frames: nothing was run")
    sys.exit(1 if wrong or ran == 0 else 0)


if __name__ == "__main__":
    main()
