#!/usr/bin/env python3
"""Checks that the specification and its catalogue agree.

What is checked:
  - conformance/catalog.json: counts, unique ids, codes numbered 0..27, aliases that point both ways;
  - docs/spec/*.md: every invariant, forbidden behaviour, fixture and ruling is named, every ruling is defined once
    in rulings.md, every fixture has one row in one page, and every word that looks like an id exists;
  - docs/**/*.md and *.md: every relative link leads to a file, every #fragment to a heading.

One line a problem: where (file:line), what, what to do. Silent but for one summary line when all is well.
Exit status: 0 all well, 1 problems, 2 wrong usage.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

FIXTURE_COUNT = 147
INVARIANT_COUNT = 26
FORBIDDEN_COUNT = 29
CODE_COUNT = 28
LAST_RULING = 182
LAST_CHOICE = 40
FIRST_NEW_RULING = 200  # Rulings from here on exist when rulings.md has a heading or a row for them.

CATALOG = Path("conformance/catalog.json")
SPEC_DIR = Path("docs/spec")
RULINGS = SPEC_DIR / "rulings.md"
COVERAGE = SPEC_DIR / "coverage.md"  # Names every law, and settles none; coverage_table.py checks it.

LAW_WORD = re.compile(r"(?<![\w-])(INV-[A-Z]+-\d+|FB-\d+|[RU]-\d+)(?![\w-])")
RULING_DEFINITION = re.compile(r"^(?:###\s+|\|\s*)([RU]-\d+)\b")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


class Report:
    """Collects problems; each is one line that says where, what, and what to do."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, where: str, what: str, todo: str) -> None:
        self.lines.append(f"{where}: {what}; {todo}")


class Page:
    """A Markdown file: its text, and the same text with code blocks blanked out, line for line."""

    def __init__(self, root: Path, path: Path) -> None:
        self.name = path.relative_to(root).as_posix()
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        prose, fence = [], ""
        for line in self.lines:
            mark = re.match(r"^\s*(```+|~~~+)", line)
            if fence:
                prose.append("")
                if mark and line.strip() == mark.group(1) and mark.group(1).startswith(fence):
                    fence = ""
            elif mark:
                prose.append("")
                fence = mark.group(1)
            else:
                prose.append(line)
        self.prose = prose

    def where(self, line: int) -> str:
        return f"{self.name}:{line}"

    def anchors(self) -> set[str]:
        """The fragments of its headings, made the way that code hosts make them."""
        found: set[str] = set()
        used: Counter[str] = Counter()
        for line in self.prose:
            heading = HEADING.match(line)
            if not heading:
                continue
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            found.add(slug if not used[slug] else f"{slug}-{used[slug]}")
            used[slug] += 1
        return found


def markdown_files(root: Path) -> list[Path]:
    found = {p for p in root.glob("*.md")} | {p for p in (root / "docs").rglob("*.md")}
    return sorted(p for p in found if p.is_file())


def load_catalog(root: Path, report: Report) -> dict | None:
    try:
        return json.loads((root / CATALOG).read_text(encoding="utf-8"))
    except OSError as error:
        report.add(f"{CATALOG}:1", f"cannot be read ({error.strerror})", "add the catalogue")
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        report.add(f"{CATALOG}:{line}", f"is not JSON ({error})", "correct the syntax")
    return None


def check_catalog(root: Path, catalog: dict, report: Report) -> None:
    lines = (root / CATALOG).read_text(encoding="utf-8").splitlines()

    def where(word: str) -> str:
        quoted = json.dumps(word)
        for number, line in enumerate(lines, 1):
            if quoted in line:
                return f"{CATALOG}:{number}"
        return f"{CATALOG}:1"

    expected = [
        ("fixtures", "id", FIXTURE_COUNT),
        ("invariants", "id", INVARIANT_COUNT),
        ("forbidden_behaviours", "id", FORBIDDEN_COUNT),
        ("error_codes", "code", CODE_COUNT),
    ]
    for section, key, count in expected:
        rows = catalog.get(section, [])
        if len(rows) != count:
            report.add(where(section), f"{section} has {len(rows)} entries, not {count}", "restore or remove entries")
        for name, times in Counter(row.get(key) for row in rows).items():
            if times > 1:
                report.add(where(str(name)), f"{section} lists {name} {times} times", "keep one entry")

    for number, row in enumerate(catalog.get("error_codes", [])):
        if row.get("numeric_value") != number:
            report.add(where(row["code"]), f"{row['code']} has number {row.get('numeric_value')}, not {number}",
                       "numbers follow catalogue order and never change")

    fixtures = {row["id"]: row for row in catalog.get("fixtures", [])}
    groups = {name: set(group) for group in catalog.get("fixture_alias_groups", []) for name in group}
    for name in sorted(set(groups) - set(fixtures)):
        report.add(where(name), f"alias group names {name}, which is no fixture", "correct the group")
    for name, row in fixtures.items():
        if set(row.get("aliases", [])) != groups.get(name, {name}) - {name}:
            report.add(where(name), f"aliases of {name} differ from its alias group", "make both lists agree")
    for row in catalog.get("forbidden_behaviours", []):
        for name in row.get("fixtures", []):
            if name not in fixtures:
                report.add(where(row["id"]), f"{row['id']} names {name}, which is no fixture", "correct the id")


def ruling_names() -> list[str]:
    return [f"R-{n:02d}" for n in range(1, LAST_RULING + 1)] + [f"U-{n:02d}" for n in range(1, LAST_CHOICE + 1)]


def check_spec(pages: list[Page], catalog: dict, report: Report) -> None:
    fixtures = {row["id"]: row for row in catalog.get("fixtures", [])}
    laws = {row["id"] for row in catalog.get("invariants", [])}
    laws |= {row["id"] for row in catalog.get("forbidden_behaviours", [])}

    # Which rulings are defined, and where. New ones count from FIRST_NEW_RULING on.
    defined: dict[str, list[str]] = {}
    for page in pages:
        if page.name != RULINGS.as_posix():
            continue
        for number, line in enumerate(page.prose, 1):
            match = RULING_DEFINITION.match(line)
            if match:
                defined.setdefault(match.group(1), []).append(page.where(number))
    for name in ruling_names():
        if name not in defined:
            report.add(f"{RULINGS.as_posix()}:1", f"{name} is not defined", "add it as a heading or a table row")
    for name, places in defined.items():
        if len(places) > 1:
            report.add(places[1], f"{name} is defined again", f"keep the one at {places[0]} or take a new number")
    rulings = set(ruling_names()) | {f"R-{FIRST_NEW_RULING}"}
    for name, places in defined.items():
        letter, _, digits = name.partition("-")
        if letter == "R" and int(digits) >= FIRST_NEW_RULING:
            rulings.add(name)
        elif name not in rulings:
            report.add(places[0], f"{name} is not a number for a ruling", f"new rulings start at R-{FIRST_NEW_RULING}")

    heads = sorted({name.split("-")[0] for name in fixtures})
    fixture_word = re.compile(r"(?<![\w/.-])(?:%s)-[a-z0-9-]*\d{3}(?![\w-])" % "|".join(map(re.escape, heads)))
    fixture_row = re.compile(r"^\|\s*`?([a-z0-9-]+)`?\s*\|\s*(.*?)\s*\|$")

    named: set[str] = set()
    rows: dict[str, list[str]] = {}
    for page in pages:
        for number, line in enumerate(page.lines, 1):
            for word in LAW_WORD.findall(line):
                named.add(word)
                if word not in laws and word not in rulings:
                    report.add(page.where(number), f"{word} does not exist", "correct the id, or define it first")
            for word in fixture_word.findall(line):
                named.add(word)
                if word not in fixtures:
                    report.add(page.where(number), f"{word} is no fixture of the catalogue", "correct the id")
            row = fixture_row.match(line)
            if row and row.group(1) in fixtures:
                name, text = row.groups()
                rows.setdefault(name, []).append(page.where(number))
                alias = re.match(r"same as `?([a-z0-9-]+)`?", text)
                if alias and alias.group(1) not in fixtures[name].get("aliases", []):
                    report.add(page.where(number), f"{name} is no alias of {alias.group(1)}", "correct the row")

    place = f"{SPEC_DIR.as_posix()}/README.md:1"
    for name in sorted(laws) + sorted(fixtures) + ruling_names():
        if name not in named:
            report.add(place, f"{name} is named on no page", "name it on the page of its domain")
    for name in sorted(fixtures):
        places = rows.get(name, [])
        if not places:
            report.add(place, f"{name} has no row in a fixture table", "add a row on the page of its domain")
        elif len(places) > 1:
            report.add(places[1], f"{name} has a second row", f"keep the one at {places[0]}")


def check_links(root: Path, pages: list[Page], report: Report) -> int:
    anchors = {page.path.resolve(): page.anchors() for page in pages}
    count = 0
    for page in pages:
        # Inline code may show a link without being one.
        prose = re.sub(r"`[^`\n]*`", lambda m: re.sub(r"[\[\]]", " ", m.group(0)), "\n".join(page.prose))
        for match in list(LINK.finditer(prose)) + list(REFERENCE.finditer(prose)):
            target = match.group(1)
            if SCHEME.match(target) or target.startswith("//"):
                continue
            count += 1
            where = page.where(prose.count("\n", 0, match.start(1)) + 1)
            name, _, fragment = target.partition("#")
            if name.startswith("/"):
                report.add(where, f"link {target} is absolute", "make it relative")
                continue
            path = (page.path.parent / unquote(name)).resolve() if name else page.path.resolve()
            if not path.exists():
                report.add(where, f"link {target} leads to no file", "correct the link, or add the file")
            elif not path.is_relative_to(root.resolve()):
                report.add(where, f"link {target} leaves the repository", "link to a file inside it")
            elif fragment and path.suffix == ".md":
                known = anchors.get(path)
                if known is None:
                    known = anchors[path] = Page(root.resolve(), path).anchors()
                if unquote(fragment) not in known:
                    report.add(where, f"link {target} leads to no heading", "correct the fragment")
    return count


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="spec_check.py", description="Checks that specification and catalogue agree.")
    parser.add_argument("--root", type=Path, default=Path("."), metavar="DIR", help="repository root (default: here)")
    options = parser.parse_args(arguments)  # Exits with 2 on an unknown argument.
    root = options.root
    if not root.is_dir():
        parser.error(f"{root} is no directory")

    report = Report()
    pages = [Page(root, path) for path in markdown_files(root)]
    spec_pages = [page for page in pages if Path(page.name).parent == SPEC_DIR and Path(page.name) != COVERAGE]
    catalog = load_catalog(root, report)
    if catalog is not None:
        check_catalog(root, catalog, report)
        check_spec(spec_pages, catalog, report)
    links = check_links(root, pages, report)

    for line in report.lines:
        print(line)
    if report.lines:
        return 1
    print(f"spec: {len(spec_pages)} pages, {FIXTURE_COUNT} fixtures, {INVARIANT_COUNT} invariants, "
          f"{FORBIDDEN_COUNT} forbidden behaviours, {CODE_COUNT} codes, {LAST_RULING + LAST_CHOICE} rulings, "
          f"{links} links: all agree")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
