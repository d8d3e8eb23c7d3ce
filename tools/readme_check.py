#!/usr/bin/env python3
"""Checks that the pages show only code that is compiled and output that was printed.

    tools/readme_check.py FOLDER_OF_EXAMPLES [--fix]

A fenced block that follows a line `<!-- file: PATH -->` must equal that file; one that follows
`<!-- output: NAME -->` must equal what the example NAME prints. --fix writes the true text into the page.
"""

import pathlib
import re
import subprocess
import sys

MARK = re.compile(r"<!-- (file|output): (\S+) -->\n+```\w*\n(.*?)```\n", re.S)


def main():
    words = [w for w in sys.argv[1:] if w != "--fix"]
    if len(words) != 1 or words[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if words in (["-h"], ["--help"]) else 2
    examples = pathlib.Path(words[0])
    bad, seen = 0, 0
    for page in [pathlib.Path("README.md"), *sorted(pathlib.Path("docs").rglob("*.md"))]:
        text = page.read_text()

        def check(m):
            nonlocal bad, seen
            seen += 1
            kind, name, shown = m.groups()
            if kind == "file":
                true = pathlib.Path(name).read_text()
            else:
                true = subprocess.run([examples / name], capture_output=True, text=True, check=True).stdout
            if shown != true:
                bad += 1
                line = text.count("\n", 0, m.start()) + 1
                print(f"{page}:{line}: differs from the {kind} {name}; run tools/readme_check.py {words[0]} --fix")
            start, end = m.span(3)
            return m.group()[: start - m.start()] + true + m.group()[end - m.start():]

        fixed = MARK.sub(check, text)
        if "--fix" in sys.argv and fixed != text:
            page.write_text(fixed)
    if seen < 2:
        print("README.md shows no checked program and output; mark them with <!-- file: --> and <!-- output: -->")
        return 1
    if bad and "--fix" not in sys.argv:
        return 1
    print(f"pages: {seen} blocks of code and output are what is compiled and printed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
