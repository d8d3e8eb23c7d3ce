#!/usr/bin/env python3
"""Says which fixture and which test shows each law: prints docs/spec/coverage.md, or checks it.

    tools/coverage_table.py [--root DIR]              writes docs/spec/coverage.md
    tools/coverage_table.py --check [--root DIR]      only says what is missing or stale

A fixture shows the ids in its `id` and `pins` (conformance/fixtures/**.json); an alias, which is `same_as` another,
shows its own. A test shows the ids that it names, in its body or between it and the test before it; an id above the
first test, or in a file without tests, is the file's. A ruling is also shown by what stands behind its `Test:` in
docs/spec/rulings.md: `file`, or `name` in `file`, or `r300_…` for all whose names begin so.

What is checked:
  - each of the 147 fixtures of the catalogue has one file, named after it, in the folder of its domain;
  - each of the 26 invariants and 29 forbidden behaviours is shown by a fixture or a test;
  - every id that a fixture or a row of conformance/invariants names exists, and so does what an alias is the same as;
  - every file and every test that a ruling names exists;
  - docs/spec/coverage.md is what this would write.

One line a problem: where, what, what to do. Exit status: 0 all well, 1 problems, 2 wrong usage.
"""

import argparse
import json
import re
import sys
from pathlib import Path

CATALOG = Path("conformance/catalog.json")
FIXTURES = Path("conformance/fixtures")
INVARIANTS = Path("conformance/invariants")
RULINGS = Path("docs/spec/rulings.md")
PAGE = Path("docs/spec/coverage.md")
SHOWN = 3  # Names in a cell; the rest is counted.

LAW_WORD = re.compile(r"(?<![\w-])(INV-[A-Z]+-\d+|FB-\d+|[RU]-\d+)(?![\w-])")
RULING_DEFINITION = re.compile(r"^(?:###\s+|\|\s*)([RU]-\d+)\b(.*)", re.MULTILINE)
LAW_RANGE = re.compile(r"(?<![\w-])(INV-[A-Z]+|FB|[RU])-(\d+) to \1-(\d+)(?![\w-])")
# In the name of a test: fb_007_008, fb_003_to_006, inv_ch_07.
LAW_IN_NAME = re.compile(r"(?<![a-z0-9])(fb|inv_[a-z]+)((?:_(?:to_)?\d{2,3}(?!\d))+)")
RULING = re.compile(r"^### (R-\d+)\b(.*?)(?=^###? |\Z)", re.MULTILINE | re.DOTALL)
TESTS_OF_RULING = re.compile(r"^Test: (.*?)(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)
A_FILE = re.compile(r"(?:asx|tests|tools|examples|bindings)/[\w./-]+\.\w+")
A_TEST = re.compile(r"[a-z]\w*[a-z0-9_](?:…)?")
CPP_TEST = re.compile(r"^(?:TEST(?:_F|_P)?|(?:ASX_)?LAB_(?:TEST|SWEEP)(?:_WITH)?|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)?", re.MULTILINE)
CPP_FUNCTION = re.compile(r"^(?!TEST|(?:ASX_)?LAB_|RC_GTEST)[A-Za-z][\w:<>,&* ]*?\b(\w+)\([^;]*?\) (?:const )?(?:noexcept )?\{$", re.MULTILINE)
PYTHON_TEST = re.compile(r"^    def (test_\w+)\(", re.MULTILINE)


class Laws:
    """The ids that there are, in the order of the page."""

    def __init__(self, root: Path) -> None:
        catalog = json.loads((root / CATALOG).read_text(encoding="utf-8"))
        self.fixtures = {row["id"]: row for row in catalog["fixtures"]}
        self.invariants = {row["id"]: row["statement"] for row in catalog["invariants"]}
        self.forbidden = {row["id"]: row["behaviour"] for row in catalog["forbidden_behaviours"]}
        found = RULING_DEFINITION.findall((root / RULINGS).read_text(encoding="utf-8"))
        self.rulings = {name: rest.strip() for name, rest in found}
        self.all = {*self.fixtures, *self.invariants, *self.forbidden, *self.rulings}
        # A test may be called after its fixture: ch_reserve_001.
        names = sorted(self.fixtures, key=len, reverse=True)
        self.fixture_word = re.compile(r"(?<![a-z0-9])(" + "|".join(n.replace("-", "[-_]") for n in names) + r")(?!\d)")

    def between(self, head: str, first: str, last: str):
        numbers = range(int(first), int(last) + 1)
        return [name for n in numbers if (name := f"{head}-{n:0{len(first)}}") in self.all]

    def named_in(self, text: str):
        """(place, id) of every id that the text names; the whole range of "R-34 to R-38"."""
        for match in LAW_WORD.finditer(text):
            yield match.start(), match.group(1)
        for match in LAW_RANGE.finditer(text):
            yield from ((match.start(), name) for name in self.between(*match.groups()))
        for match in LAW_IN_NAME.finditer(text):
            head, before = match.group(1).upper().replace("_", "-"), ""
            for to, number in re.findall(r"_(to_)?(\d+)", match.group(2)):
                yield from ((match.start(), name) for name in self.between(head, before if to and before else number, number))
                before = number
        for match in self.fixture_word.finditer(text):
            yield match.start(), match.group(1).replace("_", "-")


def blocks_of(path: Path, text: str):
    """(begin, end, name, is it a test) of the tests, and in C++ of the other functions that stand in column 0."""
    if path.suffix == ".py":
        found = [(m.start(), m.group(1), True) for m in PYTHON_TEST.finditer(text)]
        end_of = re.compile(r"^ {0,4}\S", re.MULTILINE)
    else:
        found = [(m.start(), f"{m.group(1)}.{m.group(2)}" if m.group(2) else m.group(1), True) for m in CPP_TEST.finditer(text)]
        tests = {at for at, _, _ in found}
        found += [(m.start(), m.group(1), False) for m in CPP_FUNCTION.finditer(text) if m.start() not in tests]
        end_of = re.compile(r"^\}", re.MULTILINE)
    for at, name, is_test in sorted(found):
        end = end_of.search(text, text.index("\n", at))
        yield at, end.start() if end else len(text), name, is_test


def tests_of_file(path: Path, name: str, laws: Laws):
    """(id, the test that shows it)"""
    text = path.read_text(encoding="utf-8")
    blocks = list(blocks_of(path, text))
    banner = text.find("\n\n")  # What stands above the first empty line speaks of the file as a whole.
    says = text
    if path.suffix == ".py":  # A script names ids as words that it looks for; what it shows is said in a comment.
        says = re.sub(r"^(?:[^#\n]|#(?! ))*", lambda m: " " * len(m.group()), text, flags=re.MULTILINE)
    for at, law in laws.named_in(says):
        if law not in laws.all:
            continue
        # The block that it is in, or that follows it.
        block = next((b for b in blocks if at <= b[1]), None) if at > banner else None
        shown_by = []
        if block and block[3]:
            shown_by = [block[2]]
        elif block:  # A helper: whoever calls it shows what it shows.
            calls = re.compile(rf"\b{block[2]}\b")
            shown_by = [b[2] for b in blocks if b[3] and calls.search(text, b[0], b[1])]
        yield from ((law, f"{name}: {test}") for test in shown_by)
        if not shown_by:
            yield law, name


def find_tests(root: Path, laws: Laws, problems: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    files = sorted((root / "asx").glob("**/*_test.cpp"))
    files += sorted(p for p in (root / "tests").glob("**/*") if p.suffix in (".cpp", ".py") and "fuzz" not in p.parts)
    for path in files:
        for law, test in tests_of_file(path, path.relative_to(root).as_posix(), laws):
            tests = found.setdefault(law, [])
            if test not in tests:
                tests.append(test)
    for law, test in tests_of_rulings(root, problems):
        tests = found.setdefault(law, [])
        if test not in tests:
            tests.append(test)
    for law, tests in found.items():  # A test says more than its file.
        files_with_tests = {t.split(":")[0] for t in tests if ":" in t}
        found[law] = [t for t in tests if ":" in t or t not in files_with_tests]
    return found


def tests_of_rulings(root: Path, problems: list[str]):
    """(ruling, the test that it says shows it)"""
    tests_in: dict[str, list[str]] = {}

    def tests_of(file: str) -> list[str]:
        if file not in tests_in:
            path = root / file
            text = path.read_text(encoding="utf-8")
            tests_in[file] = [name for _, _, name, is_test in blocks_of(path, text) if is_test]
        return tests_in[file]

    def matching(file: str, name: str) -> list[str]:
        def is_meant(test: str) -> bool:
            suite, _, plain = test.rpartition(".")
            return plain.startswith(name[:-1]) if name.endswith("…") else name in (suite, plain)

        return [f"{file}: {test}" for test in tests_of(file) if is_meant(test)]

    text = (root / RULINGS).read_text(encoding="utf-8")
    for ruling, body in RULING.findall(text):
        for said in TESTS_OF_RULING.findall(body):
            # What is separated by a semicolon speaks for itself: names, and the files that they are in.
            for part in said.split(";"):
                words = re.findall(r"`([^`]+)`", part)
                files = [w for w in words if A_FILE.fullmatch(w)]
                names = [w for w in words if w not in files and A_TEST.fullmatch(w)]
                for gone in [f for f in files if not (root / f).is_file()]:
                    problems.append(f"{RULINGS.as_posix()}: {ruling} is shown by {gone}, which does not exist; name the file")
                    files.remove(gone)
                if not names:
                    yield from ((ruling, file) for file in files)
                for name in names if files else []:
                    found = [test for file in files for test in matching(file, name)]
                    if not found:
                        problems.append(f"{RULINGS.as_posix()}: {ruling} is shown by {name}, which is no test of {' or '.join(files)}; name the test")
                    yield from ((ruling, test) for test in found)


def find_fixtures(root: Path, laws: Laws, problems: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """(the file of each id, the fixtures that pin each law)"""
    file_of: dict[str, str] = {}
    pinned_by: dict[str, list[str]] = {}
    same_as: dict[str, str] = {}
    for path in sorted((root / FIXTURES).glob("**/*.json")):
        name = path.relative_to(root).as_posix()
        try:
            fixture = json.loads(path.read_text(encoding="utf-8"))
            known, pins = fixture["id"], fixture["pins"]
        except (ValueError, KeyError, TypeError) as e:
            problems.append(f"{name}: no id and pins can be read ({type(e).__name__}: {e}); `asx lint` says more")
            continue
        if known in file_of:
            problems.append(f"{name}: {known} has a file already, {file_of[known]}; keep one")
            continue
        file_of[known] = name
        if known not in laws.fixtures:
            problems.append(f"{name}: {known} is no fixture of the catalogue; correct the id, or move the file elsewhere")
            continue
        domain = laws.fixtures[known]["domain"]
        wanted = (FIXTURES / domain / f"{known}.json").as_posix()
        if name != wanted:
            problems.append(f"{name}: {known} belongs to {wanted}; move the file")
        if fixture.get("domain", domain) != domain:
            problems.append(f"{name}: domain '{fixture['domain']}', the catalogue says '{domain}'; correct it")
        if "same_as" in fixture:
            same_as[known] = fixture["same_as"]
        for pin in pins:
            if LAW_WORD.fullmatch(str(pin)):
                if pin not in laws.all:
                    problems.append(f"{name}: it pins {pin}, which does not exist; correct the id")
                elif known not in pinned_by.setdefault(pin, []):
                    pinned_by[pin].append(known)
    for known, other in same_as.items():
        if other not in file_of or other in same_as:
            problems.append(f"{file_of[known]}: same_as {other}, which is {'an alias itself' if other in same_as else 'no file'}; name the one with steps")
    return file_of, pinned_by


def check_invariants(root: Path, laws: Laws, problems: list[str]) -> None:
    for path in sorted((root / INVARIANTS).glob("*.json")):
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            for name in [*row["rulings"], *row["fixture_ids"], *row["invariant_ids"], *row["forbidden_ids"]]:
                if name not in laws.all:
                    problems.append(f"{path.relative_to(root).as_posix()}: {row['id']} names {name}, which does not exist; correct the id")


def cell(names: list[str], mark: str = "`") -> str:
    shown = "<br>".join(f"{mark}{n}{mark}" for n in names[:SHOWN])
    return shown + (f"<br>and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def link(file: str) -> str:
    return f"[{Path(file).name}](../../{file})"


def write_page(laws: Laws, file_of: dict[str, str], pinned_by: dict[str, list[str]], tests: dict[str, list[str]]) -> str:
    def count(ids, found):
        return sum(bool(found.get(i)) for i in ids)

    out = [
        "# Coverage", "",
        "Which fixture and which test shows each law. Printed by `./x docs` from the files under `conformance/fixtures`",
        "and the tests under `asx` and `tests`; a row of this page is never written by hand. Where many show a law, the",
        f"first {SHOWN} are named.", "",
        "| what | how many | pinned by a fixture | named by a test |",
        "|---|---|---|---|",
        f"| fixtures | {len(laws.fixtures)} | {count(laws.fixtures, file_of)} | {count(laws.fixtures, tests)} |",
    ]
    for what, ids in (("invariants", laws.invariants), ("forbidden behaviours", laws.forbidden), ("rulings", laws.rulings)):
        out.append(f"| {what} | {len(ids)} | {count(ids, pinned_by)} | {count(ids, tests)} |")
    out += ["", "## Fixtures", ""]
    for domain in dict.fromkeys(row["domain"] for row in laws.fixtures.values()):
        out += [f"### {domain.capitalize()}", "", "| fixture | file | tests |", "|---|---|---|"]
        for name, row in laws.fixtures.items():
            if row["domain"] == domain:
                out.append(f"| `{name}` | {link(file_of[name]) if name in file_of else ''} | {cell(tests.get(name, []))} |")
        out.append("")
    for title, ids in (("Invariants", laws.invariants), ("Forbidden behaviours", laws.forbidden), ("Rulings", laws.rulings)):
        out += [f"## {title}", "", "| id | fixtures | tests |", "|---|---|---|"]
        out += [f"| {name} | {cell(pinned_by.get(name, []))} | {cell(tests.get(name, []))} |" for name in ids]
        out.append("")
    return "\n".join(out)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="coverage_table.py", description="Which fixture and which test shows each law.")
    parser.add_argument("--root", type=Path, default=Path("."), metavar="DIR", help="repository root (default: here)")
    parser.add_argument("--check", action="store_true", help="only say what is missing or stale")
    options = parser.parse_args(arguments)
    root = options.root
    try:
        laws = Laws(root)
    except (OSError, ValueError, KeyError) as e:
        parser.error(f"cannot read the laws ({type(e).__name__}: {e}); run from the repository root")
    problems: list[str] = []
    file_of, pinned_by = find_fixtures(root, laws, problems)
    check_invariants(root, laws, problems)
    tests = find_tests(root, laws, problems)
    page = write_page(laws, file_of, pinned_by, tests)
    if not options.check:
        (root / PAGE).write_text(page, encoding="utf-8")
        return 0
    for name, row in laws.fixtures.items():
        if name not in file_of:
            problems.append(f"{(FIXTURES / row['domain']).as_posix()}: {name} has no file; write {name}.json (docs/scenarios.md says how)")
    for name in [*laws.invariants, *laws.forbidden]:
        if not pinned_by.get(name) and not any(":" in test for test in tests.get(name, [])):  # A file's banner shows nothing.
            problems.append(f"{CATALOG.as_posix()}: no fixture pins {name} and no test names it; write one")
    try:
        is_fresh = (root / PAGE).read_text(encoding="utf-8") == page
    except OSError:
        is_fresh = False
    if not is_fresh:
        problems.append(f"{PAGE.as_posix()}: stale; run ./x docs")
    for problem in problems:
        print(problem)
    if problems:
        return 1
    print(f"coverage: {len(file_of)} of {len(laws.fixtures)} fixtures have a file; each of {len(laws.invariants)} invariants "
          f"and {len(laws.forbidden)} forbidden behaviours is shown")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
