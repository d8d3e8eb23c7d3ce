#!/usr/bin/env python3
"""Finds loops on a cancel path that may run for long and never look whether they should stop (FB-203).

    tools/cancel_loops.py [--json] [--also NAME,...] PATH ...      files, or folders of *.cpp and *.hpp

A cancel path is the body of a function, a lambda included, that
  - takes a `cx&`: polls, coroutines, and what they call;
  - is a cleanup action, `status f(void* x)`, or a finalizer, `status f(void* x, region_handle r, kernel& k)`;
  - or is named by --also.

A loop there is well when its head or its body
  - passes a checkpoint: `checkpoint(`, `is_cancelled(`, `co_await`;
  - can leave it: `return`, `co_return`, `throw`, `goto`, or a `break` that belongs to it;
  - is counted to a literal of at most 1024, runs over a braced list, or is `do ... while (false)`;
  - or says why it is short: a comment `// asx: bounded ...` on the line of the loop or on the one above it.

One line a finding: where, what, what to do. Exit 0 when all is well, 1 with findings, 2 on a wrong call.
"""

import argparse
import json
import pathlib
import re
import sys

SMALL = 1024
SOURCES = {".cpp", ".hpp", ".cc", ".cxx", ".h", ".hh"}
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
BOUNDED = re.compile(r"//[^\n]*\basx:\s*bounded\b|/\*(?:(?!\*/).)*\basx:\s*bounded\b", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
LOOP = re.compile(r"\b(for|while|do)\b")
LOOKS = re.compile(r"\b(?:checkpoint|is_cancelled)\s*\(|\bco_await\b")
LEAVES = re.compile(r"\b(?:return|co_return|throw|goto)\b")
OPEN, CLOSE = "([{", ")]}"
# Between the parameters of a function and its body: qualifiers, a result type, a constraint.
TAIL = re.compile(r"\s*(?:(?:const|mutable|noexcept|override|final|try|constexpr|->|&|\[\[|requires)(?:[^{};=]|==)*)?")
MEMBER = re.compile(r"\s*[:,]\s*[\w:<>]+\s*(?=[({])")
TAKES_CX = re.compile(r"\b(?:asx\s*::\s*)?cx\s*&(?!&)")
CLEANUP = re.compile(r"^\s*void\s*\*\s*(?:const\s+)?\w*\s*$")
FINALIZER = re.compile(r"^\s*void\s*\*\s*(?:const\s+)?\w*\s*,\s*(?:asx\s*::\s*)?region_handle\b[^,]*,"
                       r"\s*(?:asx\s*::\s*)?kernel\s*&\s*\w*\s*$")


def fail_usage(text):
    print(f"cancel_loops: {text}", file=sys.stderr)
    sys.exit(2)


def blank(text):
    """The same text without comments, strings and directives; every character keeps its place."""
    keep_lines = lambda m: re.sub(r"[^\n]", " ", m.group())
    return DIRECTIVE.sub(keep_lines, COMMENT_OR_STRING.sub(keep_lines, text))


def match_of(code, at):
    """The place of the bracket that closes the one at `at`; the end of the text when none does."""
    depth = 0
    for i in range(at, len(code)):
        if code[i] in OPEN:
            depth += 1
        elif code[i] in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    return len(code) - 1


def skip_space(code, at):
    while at < len(code) and code[at].isspace():
        at += 1
    return at


def statement_end(code, at):
    """The end of the statement that begins at `at`: a block, a loop or an `if` with its parts, or up to `;`."""
    at = skip_space(code, at)
    if at >= len(code):
        return len(code)
    if code[at] == "{":
        return match_of(code, at) + 1
    word = re.compile(r"(for|while|if|switch|do|else|try|catch)\b").match(code, at)
    if word and word.group(1) == "do":
        end = skip_space(code, statement_end(code, word.end()))
        return statement_end_plain(code, end)
    if word and word.group(1) in ("else", "try"):
        return statement_end(code, word.end())
    if word:
        head = code.find("(", word.end())
        if head < 0:
            return len(code)
        end = statement_end(code, match_of(code, head) + 1)
        rest = skip_space(code, end)
        if word.group(1) == "if" and re.compile(r"else\b").match(code, rest):
            return statement_end(code, rest)
        return end
    return statement_end_plain(code, at)


def statement_end_plain(code, at):
    while at < len(code):
        if code[at] in OPEN:
            at = match_of(code, at) + 1
        elif code[at] == ";":
            return at + 1
        elif code[at] in CLOSE:
            return at
        else:
            at += 1
    return len(code)


def functions(code, also):
    """(name, start of body, end of body) of every function on a cancel path."""
    for m in re.finditer(r"\(", code):
        end = match_of(code, m.start())
        before = re.search(r"([\w~:]+)\s*$", code[max(0, m.start() - 200):m.start()])
        is_lambda = code[max(0, m.start() - 200):m.start()].rstrip().endswith("]")
        name = "a lambda" if is_lambda else before.group(1) if before else ""
        if not name or name in ("if", "while", "for", "switch", "catch", "return", "sizeof", "decltype", "noexcept"):
            continue
        parameters = code[m.start() + 1:end]
        short = name.split("::")[-1]
        is_status = is_lambda or re.search(r"\bstatus\s+[\w:]*$", code[max(0, m.start() - 200):m.start()].rstrip())
        counts = (TAKES_CX.search(parameters) or short in also
                  or (is_status and (CLEANUP.match(parameters) or FINALIZER.match(parameters))))
        if not counts:
            continue
        at = TAIL.match(code, end + 1).end()
        while member := MEMBER.match(code, at):  # Of a constructor.
            at = skip_space(code, match_of(code, member.end()) + 1)
        if at < len(code) and code[at] == "{":
            yield name, at, match_of(code, at) + 1


def without(code, start, end, opening):
    """The text of [start, end) with the blocks of nested lambdas (and, for `break`, loops and switches) blanked."""
    out = list(code[start:end])
    for m in re.compile(opening).finditer(code, start, end):
        if m.lastgroup == "lambda":
            body = m.end() - 1
            stop = match_of(code, body) + 1
        else:
            body = m.end()
            if m.group().startswith("do"):
                stop = statement_end(code, body)
            else:
                head = code.find("(", m.start())
                body = head
                stop = statement_end(code, match_of(code, head) + 1)
        for i in range(max(body, start), min(stop, end)):
            if out[i - start] != "\n":
                out[i - start] = " "
    return "".join(out)


LAMBDA = r"(?P<lambda>\]\s*(?:\([^{};]*\))?\s*(?:mutable|noexcept|constexpr|\s)*(?:->[^{;]*)?\{)"
NESTED = LAMBDA + r"|\b(?:for|while|switch|do)\b"


def has_small_bound(kind, head, code, body_end):
    if kind == "do":
        return re.match(r"\s*while\s*\(\s*(false|0)\s*\)", code[body_end:]) is not None
    if kind == "while":
        return re.fullmatch(r"\s*(false|0)\s*", head) is not None
    if re.search(r"(?<!:):(?!:)\s*\{", head):  # A range that is written out.
        return True
    parts = head.split(";")
    if len(parts) < 3 or "||" in parts[1]:
        return False
    limits = re.findall(r"(?:<=?|!=)\s*(?:std::\w+\s*\{\s*)?(\d[\d']*)[uUlLzZ]*\b", parts[1])
    starts = re.findall(r"=\s*(\d[\d']*)[uUlLzZ]*\b", parts[0])
    counts_down = re.search(r">=?\s*\d|!=\s*0\b", parts[1]) and starts
    numbers = [int(n.replace("'", "")) for n in (starts if counts_down else limits)]
    return bool(numbers) and min(numbers) <= SMALL


def loops(code, start, end):
    """(kind, place, head, start and end of the body) of each loop."""
    tails = set()  # The `while` of a `do`.
    for m in LOOP.finditer(code, start, end):
        kind = m.group(1)
        if m.start() in tails:
            continue
        if kind == "do":
            body = skip_space(code, m.end())
            body_end = statement_end(code, body)
            tail = skip_space(code, body_end)
            tails.add(tail)
            opening = code.find("(", tail)
            head = code[opening + 1:match_of(code, opening)] if opening >= 0 else ""
        else:
            opening = code.find("(", m.end())
            if opening < 0:
                continue
            closing = match_of(code, opening)
            head = code[opening + 1:closing]
            body = closing + 1
            body_end = statement_end(code, body)
        yield kind, m.start(), head, body, body_end


def findings_in(path, also):
    text = path.read_text(encoding="utf-8", errors="replace")
    code = blank(text)
    lines = text.splitlines()
    told = {}
    for name, start, end in functions(code, also):
        for kind, at, head, body, body_end in loops(code, start, end):
            line = code.count("\n", 0, at) + 1
            if LOOKS.search(head) or LOOKS.search(code, body, body_end):
                continue
            if LEAVES.search(without(code, body, body_end, LAMBDA)):
                continue
            if re.search(r"\bbreak\b", without(code, body, body_end, NESTED)):
                continue
            if has_small_bound(kind, head, code, body_end):
                continue
            if any(BOUNDED.search(l) for l in lines[max(0, line - 2):line]):
                continue
            told[at] = (line, kind, name)  # The innermost function names it.
    for at in sorted(told):
        line, kind, name = told[at]
        yield {"file": path.as_posix(), "line": line, "function": name, "loop": kind,
               "message": f"`{kind}` in {name} may run for long without looking at a cancel (FB-203); "
                          "call checkpoint() in it, or say what bounds it: // asx: bounded by ..."}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
    parser.add_argument("--also", default="", metavar="NAME,...", help="functions that count as cancel paths by name")
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="PATH")
    args = parser.parse_args()
    files = []
    for path in args.paths:
        if path.is_dir():
            # Models and benchmarks have no cleanup of their own; a test names the file if it wants one judged.
            files += sorted(p for p in path.rglob("*") if p.suffix in SOURCES and p.is_file()
                            and "testing" not in p.parts and not p.stem.endswith("_bench"))
        elif path.is_file():
            files.append(path)
        else:
            fail_usage(f"{path} does not exist; give files or folders of C++ sources")
    also = {name for name in args.also.split(",") if name}
    found = [f for path in files for f in findings_in(path, also)]
    if args.json:
        print(json.dumps({"files": len(files), "findings": found}))
    else:
        for f in found:
            print(f"{f['file']}:{f['line']}: {f['message']}")
        if not found:
            print(f"cancel_loops: {len(files)} files, every loop on a cancel path looks at the cancel or is bounded")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
