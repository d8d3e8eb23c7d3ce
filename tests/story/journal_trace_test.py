#!/usr/bin/env python3
"""The traces of generated runs, and the golden ones, are what Chrome and Perfetto read.

    journal_trace_test.py WRITER ROOT
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    writer, root = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted((root / "conformance/golden/journal").glob("*.trace.json"))
    if len(files) < 2:
        print("the golden traces are missing")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(5):
            for form in ("trace", "sequence"):
                path = pathlib.Path(folder) / f"{form}{seed}.json"
                subprocess.run([writer, form, path, str(seed), "3000"], check=True)
                files.append(path)
        check = root / "tools/check_trace.py"
        if subprocess.run([sys.executable, check, *files]).returncode != 0:
            return 1
        # A checker that finds nothing proves nothing: break one trace in each way that it promises to see.
        good = json.loads(files[-1].read_text())
        breaks = {
            "negative duration": lambda e: e.__setitem__("dur", -1) if e["ph"] == "X" else None,
            "unknown phase": lambda e: e.__setitem__("ph", "Z") if e["ph"] == "X" else None,
            "overlap": lambda e: e.__setitem__("dur", e["dur"] + 0.5) if e["ph"] == "X" and e["dur"] > 0 else None,
            "flow without a start": lambda e: e.__setitem__("id", "nowhere") if e["ph"] == "f" else None,
            "text in a counter": lambda e: e.__setitem__("args", {"ready": "many"}) if e["ph"] == "C" else None,
            "no time": lambda e: e.pop("ts") if e["ph"] == "X" else None,
            "a name that is a number": lambda e: e.__setitem__("name", 7),
        }
        for what, change in breaks.items():
            bad = json.loads(json.dumps(good))
            for e in bad["traceEvents"]:
                before = dict(e)
                change(e)
                if e != before:
                    break
            path = pathlib.Path(folder) / "bad.json"
            path.write_text(json.dumps(bad))
            if subprocess.run([sys.executable, check, path], capture_output=True).returncode != 1:
                print(f"the checker does not see: {what}")
                return 1
    print("journal_trace: every trace is well formed, and the checker sees all it promises")
    return 0


if __name__ == "__main__":
    sys.exit(main())
