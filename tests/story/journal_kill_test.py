#!/usr/bin/env python3
"""kill -9 during writing, at a hundred random moments: what is left is always a true prefix of the run.

    journal_kill_test.py WRITER [KILLS]

The reference is the file of a run that nobody killed. A killed run's bytes must be the first bytes of that file (the
run is deterministic); the reader must give every event of every complete block, and say that the tail is cut.

Half of the kills come from outside, at a moment drawn by the bytes seen so far and not by a clock, so that they fall
into the writing whatever the machine's speed. The others strike from inside a write, at an exact byte.
"""

import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile

HEADER = 64


def blocks(data):
    """(offset, size, events, is_end) of each block that is there completely."""
    at = HEADER
    while at + HEADER <= len(data):
        magic, payload, events = struct.unpack_from("<4sII", data, at)
        if magic not in (b"BLK1", b"END1") or at + HEADER + payload > len(data):
            return
        yield at, HEADER + payload, events, magic == b"END1"
        at += HEADER + payload


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    writer, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 100
    draw = random.Random(20261115)
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "whole.asxj"
        subprocess.run([writer, "bin", whole, "7", "200000"], check=True)
        reference = whole.read_bytes()
        ends = list(blocks(reference))
        if not ends or not ends[-1][3] or ends[-1][0] + ends[-1][1] != len(reference):
            print("the reference is not closed by an end mark")
            return 1
        recovered, inside = [], 0
        for k in range(kills):
            path = pathlib.Path(folder) / f"killed{k}.asxj"
            goal = draw.randrange(1, len(reference)) if k >= 8 else 1 + 16 * k  # The first ones strike the header.
            command = [writer, "bin", path, "7", "200000"]
            from_inside = k % 2 == 0
            process = subprocess.Popen(command + [str(goal)] if from_inside else command)
            while not from_inside and process.poll() is None and (not path.exists() or os.stat(path).st_size < goal):
                pass
            if not from_inside:
                process.send_signal(signal.SIGKILL)
            inside += process.wait() == -signal.SIGKILL
            left = path.read_bytes() if path.exists() else b""
            if left != reference[:len(left)] or (from_inside and len(left) != goal):
                print(f"kill {k}: the file is no prefix of the run")
                return 1
            events = sum(b[2] for b in ends if b[0] + b[1] <= len(left))
            end = "marked" if len(left) == len(reference) else "cut"
            if path.exists():
                told = subprocess.run([writer, "read", path], capture_output=True, text=True).stdout
                if not told.startswith(f"events {events} end {end} "):
                    print(f"kill {k}: {events} events in complete blocks, tail {end}; the reader says: {told}")
                    return 1
                path.unlink()
            recovered.append(events)
    print(f"journal_kill: {inside} of {kills} kills fell into the writing; "
          f"{min(recovered)} to {max(recovered)} events were recovered, each time a true prefix")
    return 0 if inside >= kills // 2 else 1


if __name__ == "__main__":
    sys.exit(main())
