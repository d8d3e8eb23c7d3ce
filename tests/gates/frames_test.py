#!/usr/bin/env python3
"""Destructors of a cancelled coroutine run once and in order, with each compiler, optimised or not.

    frames_test.py <libasx.a> <compiler> [<compiler> ...]     a compiler that is absent is named and left out

Builds frames.cpp at -O0 and -O2 with the address and undefined sanitizers and runs it. The library itself is the one
that was built before: what compilers make of the coroutines of a program lies in the program.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


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
            for level in ("-O0", "-O2"):
                program = str(pathlib.Path(directory) / f"frames{level}")
                built = subprocess.run([compiler, "-std=c++20", level, "-g1", "-fsanitize=address,undefined",
                                        "-fno-sanitize-recover=all", "-I", str(ROOT), str(HERE / "frames.cpp"), library,
                                        "-o", program], capture_output=True, text=True, check=False)
                if built.returncode != 0:
                    wrong.append(f"{compiler} {level}: does not build:\n{built.stderr[:800]}")
                    continue
                done = subprocess.run([program], capture_output=True, text=True, check=False)
                ran += 1
                if done.returncode != 0:
                    wrong.append(f"{compiler} {level}: {done.stdout.strip()}\n{done.stderr[:1500]}")
                else:
                    print(f"frames: {compiler} {level}: {done.stdout.strip()}")
    for line in wrong:
        print(line)
    if ran == 0:
        print("frames: nothing was run")
    sys.exit(1 if wrong or ran == 0 else 0)


if __name__ == "__main__":
    main()
