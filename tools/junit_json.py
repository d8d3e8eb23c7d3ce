#!/usr/bin/env python3
"""Prints one JSON object that sums up a JUnit file of ctest: counts, seconds, and each failure with its output.

    tools/junit_json.py FILE
"""

import json
import sys
import xml.etree.ElementTree


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    try:
        suite = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as e:
        print(f"junit_json: {sys.argv[1]}: {e}; run the tests first", file=sys.stderr)
        return 1
    failures, skipped, cases = [], 0, suite.findall("testcase")
    for case in cases:
        if case.find("failure") is not None:
            failures.append({"name": case.get("name"), "output": (case.findtext("system-out") or "")[-4000:]})
        elif case.find("skipped") is not None:
            skipped += 1
    print(json.dumps({"passed": len(cases) - len(failures) - skipped, "failed": len(failures), "skipped": skipped,
                      "seconds": float(suite.get("time") or 0), "failures": failures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
