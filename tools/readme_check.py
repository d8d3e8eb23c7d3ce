#!/usr/bin/env python3
"""Checks that the pages show only code that is compiled and output that was printed.

    tools/readme_check.py FOLDER_OF_EXAMPLES [--fix] [--root DIR]

A fenced block that follows one of these lines must equal what the line names:

    <!-- file: PATH -->           the whole file
    <!-- cut: PATH NAME -->       its lines between `// cut: NAME` and `// end: NAME`, moved to the left
    <!-- output: NAME -->         what the example NAME prints; of PATH.py, with the library that was built
    <!-- command: asx WORDS -->   what the command prints, errors too, in the folder of the project

The marks of cuts are shown in no page. In docs/guide every fenced block needs such a line, and every link to a file
of the tree must lead to one; each example is shown or named in some page. --fix writes the true text into the page.

What is shown is copied. So no page, example or header of asx, comments included, awaits in the condition of an `if`, a
`while` or a `switch` without giving the answer a name; docs/guide/what_asx_does_not_do.md says why. An example has at
most 60 lines.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

MARK = re.compile(r"<!-- (file|cut|output|command): (\S+)(?: ([^>\n]+?))? -->\n+```\w*\n(.*?)```\n", re.S)
FENCE = re.compile(r"^[ \t]*```", re.M)
CUT = re.compile(r"^[ \t]*// (?:cut|end): \S+\n", re.M)
NAMELESS = re.compile(r"\b(if|while|switch) \(!?co_await\b")
MOST_LINES = 60  # Of an example: what is longer is read by nobody.
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


class wrong(Exception):
    """A mark that names what is not there."""


class pages:
    def __init__(self, root, examples):
        self.root, self.examples, self.printed = root, examples, {}

    def source(self, path):
        # An example is part of the build, and so are tests; anything else that is quoted might not compile.
        if not path.startswith(("examples/", "asx/", "bindings/")):
            raise wrong(f"'{path}' is no file of examples/, asx/ or bindings/, which are compiled or run")
        try:
            return (self.root / path).read_text()
        except OSError as e:
            raise wrong(f"cannot read '{path}': {e.strerror}") from None

    def cut(self, path, name):
        text = self.source(path)
        found = re.findall(rf"^[ \t]*// cut: {re.escape(name or '')}\n(.*?)^[ \t]*// end: {re.escape(name or '')}\n", text,
                           re.S | re.M)
        if len(found) != 1:
            known = ", ".join(re.findall(r"// cut: (\S+)", text)) or "none"
            raise wrong(f"{path} has {len(found)} cuts called '{name}'; it has: {known}")
        return textwrap.dedent(CUT.sub("", found[0]))

    def output(self, name):
        if name not in self.printed:
            try:
                words, library = [self.examples / name], self.examples.parent / "libasx_c.so"
                if name.endswith(".py"):
                    words = [sys.executable, self.root / name]
                run = subprocess.run(words, capture_output=True, text=True, timeout=60,
                                     env={**os.environ, "ASX_LIBRARY": str(library), "PYTHONDONTWRITEBYTECODE": "1"})
            except OSError as e:
                raise wrong(f"the example '{name}' cannot be run: {e.strerror}") from None
            if run.returncode != 0:
                raise wrong(f"the example '{name}' ends with {run.returncode}: {run.stderr.strip()}")
            self.printed[name] = run.stdout
        return self.printed[name]

    def command(self, name, rest):
        program = self.examples.parent / "asx" / "cli" / name
        if name != "asx" or not program.exists():
            raise wrong(f"the command '{name}' is not beside the examples; build asx_cli")
        run = subprocess.run([program, *shlex.split(rest or "")], cwd=self.root, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=60)
        return run.stdout

    def truth(self, kind, name, part):
        if kind == "command":
            return self.command(name, part)
        if kind == "cut":
            return self.cut(name, part)
        return CUT.sub("", self.source(name)) if kind == "file" else self.output(name)


def check_guide(root, page, text):
    """What holds in docs/guide besides: no block without a mark, no link into nothing."""
    marked = {i for m in MARK.finditer(text) for i in range(m.start(), m.end())}
    opening = True
    for m in FENCE.finditer(text):
        if opening and m.start() not in marked:
            line = text.count("\n", 0, m.start()) + 1
            yield f"{line}: a block that nothing checks; mark it with <!-- cut: PATH NAME --> or <!-- output: NAME -->"
        opening = not opening
    prose = re.sub(r"```.*?```|`[^`\n]*`", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    for m in LINK.finditer(prose):
        if not (page.parent / m.group(1)).exists():
            line = text.count("\n", 0, m.start()) + 1
            yield f"{line}: the link '{m.group(1)}' leads nowhere"


def check_shown(where, text):
    """What is wrong with any text that people copy from."""
    for m in NAMELESS.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        yield (f"{where}:{line}: `{m.group()}` is what GCC 12 miscompiles in a coroutine without locals; name the answer: "
               "while (const auto m = co_await recv(from))")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", type=pathlib.Path)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
    words = parser.parse_args()
    known = pages(words.root, words.examples.resolve())
    problems, differing, seen = [], 0, 0
    guide = words.root / "docs" / "guide"
    all_text = ""
    for page in [words.root / "README.md", *sorted((words.root / "docs").rglob("*.md"))]:
        text = page.read_text()
        all_text += text
        where = page.relative_to(words.root)

        def check(m):
            nonlocal seen, differing
            seen += 1
            kind, name, part, shown = m.groups()
            line = text.count("\n", 0, m.start()) + 1
            try:
                true = known.truth(kind, name, part)
            except wrong as e:
                problems.append(f"{where}:{line}: {e}")
                return m.group()
            if shown != true:
                differing += 1
                if not words.fix:
                    problems.append(f"{where}:{line}: differs from the {kind} {name}{' ' + part if part else ''}; "
                                    f"run tools/readme_check.py {words.examples} --fix")
            start, end = m.span(4)
            return m.group()[: start - m.start()] + true + m.group()[end - m.start():]

        fixed = MARK.sub(check, text)
        problems += check_shown(where, fixed)
        if page.parent == guide:
            problems += [f"{where}:{p}" for p in check_guide(words.root, page, fixed)]
        if words.fix and fixed != text:
            page.write_text(fixed)
    if seen < 2:
        problems.append("README.md shows no checked program and output; mark them with <!-- file: --> and <!-- output: -->")
    if guide.is_dir():
        examples = words.root / "examples"
        for example in [*sorted(examples.glob("*.cpp")), *sorted(examples.glob("c/*.c"))]:
            name = example.relative_to(words.root).as_posix()
            if name not in all_text:
                problems.append(f"{name}: no page shows or names it")
        for example in sorted(examples.glob("*.cpp")):
            lines = example.read_text().count("\n")
            if lines > MOST_LINES:
                problems.append(f"{example.relative_to(words.root)}: {lines} lines; an example has at most {MOST_LINES}")
        for shown in [*sorted(examples.glob("*.[ch]pp")), *sorted((words.root / "asx").rglob("*.hpp"))]:
            problems += check_shown(shown.relative_to(words.root), shown.read_text())
    for problem in problems:
        print(problem)
    if problems:
        return 1
    print(f"pages: {seen} blocks of code and output are what is compiled and printed"
          + (f"; {differing} were mended" if words.fix else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
