#!/usr/bin/env python3
"""Checks a file against the trace-event format that chrome://tracing and ui.perfetto.dev read.

    tools/check_trace.py FILE [FILE ...]

1  The file is JSON: an object with the list "traceEvents".
2  Every event has a known phase, a name, a process, a thread and a time, each of the right type.
3  Complete spans have a duration that is not negative; on one thread they nest, they never overlap.
4  Begin and end events are balanced; a flow that finishes has started before; counters hold numbers only.

One line a problem, at most 20 a file. Exit 0 when all is well, 1 on a problem, 2 on a wrong call.
"""

import decimal
import json
import sys

PHASES = {"B", "E", "X", "i", "I", "C", "M", "s", "t", "f", "b", "n", "e"}
METADATA = {"process_name": "name", "thread_name": "name", "process_labels": "labels",
            "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}


def is_number(value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def check_event(number, e, flows, open_spans, spans):
    if not isinstance(e, dict):
        yield f"event {number} is no object"
        return
    phase = e.get("ph")
    if phase not in PHASES:
        yield f"event {number}: phase {phase!r} is not one of {' '.join(sorted(PHASES))}"
        return
    for key in ("pid", "tid"):
        if not isinstance(e.get(key), int) or e[key] < 0:
            yield f"event {number} ({phase}): {key} must be a whole number, it is {e.get(key)!r}"
            return
    if phase != "E" and (not isinstance(e.get("name"), str) or not e["name"]):
        yield f"event {number} ({phase}): it needs a name"
        return
    if phase == "M":
        argument = METADATA.get(e["name"])
        if argument is None or argument not in e.get("args", {}):
            yield f"event {number}: metadata {e['name']!r} is unknown or lacks its argument"
        return
    if not is_number(e.get("ts")) or e["ts"] < 0:
        yield f"event {number} ({phase}): ts must be a number of microseconds, it is {e.get('ts')!r}"
        return
    track = (e["pid"], e["tid"])
    if phase == "X":
        if not is_number(e.get("dur")) or e["dur"] < 0:
            yield f"event {number}: a complete span needs a duration of 0 or more, it has {e.get('dur')!r}"
        else:
            spans.setdefault(track, []).append((e["ts"], e["ts"] + e["dur"], e["name"], number))
    elif phase == "B":
        open_spans.setdefault(track, []).append(number)
    elif phase == "E":
        if not open_spans.get(track):
            yield f"event {number}: a span ends on {track} where none is open"
        else:
            open_spans[track].pop()
    elif phase == "C":
        values = e.get("args")
        if not isinstance(values, dict) or not values or not all(is_number(v) for v in values.values()):
            yield f"event {number}: a counter needs numbers in args"
    elif phase in "stf":
        if "id" not in e or not isinstance(e.get("cat"), str):
            yield f"event {number}: a flow needs an id and a category"
        elif phase == "s":
            flows[(e["cat"], e["id"])] = e["ts"]
        elif (e["cat"], e["id"]) not in flows:
            yield f"event {number}: flow {e['cat']} {e['id']} goes on before it starts"
        elif flows[(e["cat"], e["id"])] > e["ts"]:
            yield f"event {number}: flow {e['cat']} {e['id']} goes back in time"
        elif phase == "f" and e.get("bp", "e") != "e":
            yield f"event {number}: bp can only be \"e\""
    elif phase in "iI" and e.get("s", "t") not in ("g", "p", "t"):
        yield f"event {number}: the scope of an instant is g, p or t"


def check_nesting(spans):
    for track, listed in sorted(spans.items()):
        stack = []
        for start, end, name, number in sorted(listed, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1][0] <= start:
                stack.pop()
            if stack and end > stack[-1][0]:
                yield (f"event {number}: span {name!r} on {track} ends at {end}, after {stack[-1][1]!r}, "
                       f"inside which it began")
            stack.append((end, name))


def check(path):
    try:
        with open(path, encoding="utf-8") as file:
            trace = json.load(file, parse_float=decimal.Decimal)
    except OSError as e:
        print(f"{path}: {e.strerror}", file=sys.stderr)
        sys.exit(2)
    except ValueError as e:
        return [f"it is no JSON: {e}"], {}
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["it is no object with a list \"traceEvents\""], {}
    problems, counts, flows, open_spans, spans = [], {}, {}, {}, {}
    for number, e in enumerate(trace["traceEvents"]):
        problems += check_event(number, e, flows, open_spans, spans)
        if isinstance(e, dict):
            counts[e.get("ph")] = counts.get(e.get("ph"), 0) + 1
    problems += check_nesting(spans)
    problems += [f"event {n}: a span on {t} never ends" for t, left in sorted(open_spans.items()) for n in left]
    return problems, counts


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    bad = False
    for path in sys.argv[1:]:
        problems, counts = check(path)
        for p in problems[:20]:
            print(f"{path}: {p}")
        if problems:
            bad = True
        else:
            told = ", ".join(f"{n} {phase}" for phase, n in sorted(counts.items(), key=lambda c: str(c[0])))
            print(f"{path}: {sum(counts.values())} trace events are well formed ({told})")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
