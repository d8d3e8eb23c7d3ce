#!/usr/bin/env python3
"""Compares conformance/catalog.json with the tables that asx was compiled with, both ways.

    tools/catalog_check.py PATH_OF_ASX

The catalogue is the specification's data, the tables are what runs; each must name exactly what the other does:
status codes with numbers, cancel kinds with severities and cleanup budgets, states, moves and refusals.
"""

import json
import pathlib
import re
import subprocess
import sys

problems = []


def same(what, catalogue, compiled):
    """Records what one side has and the other has not. Both are sets of tuples."""
    for row in sorted(catalogue - compiled, key=str):
        problems.append(f"{what}: conformance/catalog.json has {row}, asx/model does not; mend the table, or rule on it")
    for row in sorted(compiled - catalogue, key=str):
        problems.append(f"{what}: asx/model has {row}, conformance/catalog.json does not; mend the table, or rule on it")


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    catalog = json.loads(pathlib.Path("conformance/catalog.json").read_text())

    def asx(*words):
        return json.loads(subprocess.run([sys.argv[1], "--json", *words], check=True, capture_output=True).stdout)

    same("status", {(c["code"], c["numeric_value"]) for c in catalog["error_codes"]},
         {(s["c_name"], s["number"]) for s in asx("status") if s["number"] < 100})

    enums = {e["name"]: e["members"] for e in catalog["enums"]}
    same("cancel kind",
         {(i, m["c_name"], snake(m["name"]), m["severity"], m["cleanup_quota"], m["cleanup_priority"])
          for i, m in enumerate(enums["cancel_kind"])},
         {(k["ordinal"], k["c_name"], k["name"], k["severity"], k["cleanup_quota"], k["cleanup_priority"])
          for k in asx("kinds")})

    machines = {m["machine"]: m for m in asx("lifecycle")}
    for name, machine in machines.items():
        members = enums["cancel_phase" if name == "cancel_phase" else f"{name}_state"]
        same(f"{name} state", {(i, snake(m["name"]), m["c_name"]) for i, m in enumerate(members)},
             {(i, s["name"], s["c_name"]) for i, s in enumerate(machine["states"])})
        table = catalog["transitions"][name]
        same(f"{name} move", {(snake(t["from"]), snake(t["to"])) for t in table["legal"] if t["from"]},
             {(m["from"], m["to"]) for m in machine["moves"]})
        if name in ("region", "task", "obligation", "channel"):
            same(f"{name} move id", {(t["id"], snake(t["from"]), snake(t["to"])) for t in table["legal"]},
                 {(m["id"], m["from"], m["to"]) for m in machine["moves"]})
        refused = {(r["from"], r["to"], r["status"]) for r in machine["refused"]}
        if name == "channel":  # The state is derived: a forbidden move has no code, and staying is no move.
            refused = {(a, b, None) for a, b, _ in refused if a != b}
        same(f"{name} refusal", {(snake(t["from"]), snake(t["to"]), t["error"]) for t in table["forbidden"]}, refused)

    for p in problems:
        print(p)
    if problems:
        return 1
    moves = sum(len(m["moves"]) for m in machines.values())
    print(f"catalogue: 28 codes, 11 kinds, {moves} moves and every refusal of {len(machines)} machines agree with asx/model")
    return 0


if __name__ == "__main__":
    sys.exit(main())
