"""Tells what was seen: as text for people, as one JSON object for programs."""

from harness import scaling

CLOCKS = {"programs": "processor time on one thread, wall time on several", "compile": "the compiler's processor time",
          "scaling": "processor time from 1,000 on, wall time below"}


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values):
    """Half the way from the lowest to the highest, in parts of the middle."""
    middle = sorted(values)[len(values) // 2]
    return 50 * (max(values) - min(values)) / middle if middle else 0.0


def grid(head, rows):
    """Columns as wide as they must be: the first to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    return ["  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))).rstrip()
            for r in [head, *rows]]


def verdict_line(v, word="aim"):
    head = f"  {word}: {v['workload']} {v['says']}"
    if v["is_met"] is None:
        return f"{head}: nobody to compare with"
    to = "" if v["against"] == v["library"] else f" x {v['library']}"
    return f"{head}: {v['ratio']:.2f}{to}, {'met' if v['is_met'] else 'MISSED'}"


def text_of(result, told=()):
    """Libraries in `told` are known to be absent."""
    problem = result.problem
    lines = ["", f"{problem.name}: {problem.what}",
             f"  {problem.unit}; {CLOCKS[problem.kind] if problem.value == 'ns' else 'resident memory'}; "
             f"median of {result.reps}, ± half the spread; took {result.seconds:.0f} s"]
    lines += [f"  {note}" for note in problem.notes]
    lines += [f"  skip {name}: {why}" for name, why in result.skipped.items() if name not in told]
    names = result.libraries()
    if not names:
        return "\n".join([*lines, "  nothing was measured", *broken(result)])
    if problem.kind == "scaling":
        return "\n".join([*lines, *scaling_lines(result)])

    def cell(workload, name):
        values = result.samples.get((workload, name))
        return f"{number(result.median(workload, name))} ±{spread(values):.0f}%" if values else "-"

    lines += grid(["", *names], [[w, *(cell(w, n) for n in names)] for w in result.workloads])
    others = [n for n in names if n != "asx"]
    if "asx" in names and others:
        lines.append("  asx over each of the others:")
        lines += grid(["", *others], [[w, *(number(result.ratio(w, n)) for n in others)] for w in result.workloads
                                      if result.median(w, "asx") is not None])
    if problem.is_added and "asx" in names:
        lines.append("  what each adds to asx:")
        lines += grid(["", *others], [[w, *(number(result.median(w, n) - result.median(w, "asx")) for n in others)]
                                      for w in result.workloads if all(result.median(w, n) for n in ("asx", *others))])
    guarded = [w for w in result.workloads if any((w, n) in result.counted for n in problem.without_allocations)]
    if guarded:
        counted = [n for n in names if any((w, n) in result.counted for w in guarded)]
        lines.append("  allocations a thousand operations, in the steady state:")
        lines += grid(["", *counted], [[w, *(per_thousand(result.counted.get((w, n))) for n in counted)]
                                       for w in guarded])
    lines += [verdict_line(v) for v in result.verdicts(problem.aims)]
    lines += broken(result)
    return "\n".join(lines)


def per_thousand(counted):
    return f"{1000 * counted[0] / counted[1]:.3g}" if counted else "-"


def scaling_lines(result):
    sizes = scaling.sizes_of(result)
    grown = scaling.growth(result)
    rows = [[g["operation"], *(number(g["costs"].get(n)) for n in sizes), number(g["growth"]), number(g["allowed"]),
             "" if g["is_met"] is None else "ok" if g["is_met"] else "TOO MUCH"] for g in grown]
    lines = grid(["", *(f"{n:,}" for n in sizes), "growth", "allowed", ""], rows)
    lines.append(f"  growth: from {scaling.FROM:,} to {sizes[-1]:,}. allowed: {scaling.NOISE:g} x the growth of log n, "
                 f"and {scaling.READS} reads of memory")
    return [*lines, *broken(result)]


def broken(result):
    """Guards that do not hold, a line each."""
    out = [verdict_line(v, "BROKEN") for v in result.verdicts(result.problem.guards) if v["is_met"] is False]
    out += [f"  BROKEN: {name} asks for memory in the steady state of {workload}" for name, workload in result.greedy()]
    if result.problem.kind == "scaling":
        out += [f"  BROKEN: {g['operation']} costs {g['growth']:.1f} times as much with {max(g['costs']):,} as with "
                f"{scaling.FROM:,}" for g in scaling.growth(result) if g["is_met"] is False]
    if "asx" in result.skipped:
        out.append(f"  BROKEN: asx {result.skipped['asx']}")
    return out


def machine_lines(machine, versions, cpu):
    return (f"machine: {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, "
            f"load {machine['load']:.1f}, one-thread programs on cpu {cpu}, {machine['date']}\n"
            "versions: " + ", ".join(f"{k} {v}" for k, v in versions.items()))


def summary(results, seconds):
    verdicts = [v for r in results for v in r.verdicts(r.problem.aims)]
    judged = [v for v in verdicts if v["is_met"] is not None]
    lines = [""]
    if judged:
        alone = len(verdicts) - len(judged)
        lines.append(f"aims: {sum(v['is_met'] for v in judged)} of {len(judged)} met"
                     + (f", {alone} with nobody to compare with" if alone else ""))
        lines += [f"  {v['problem']}, {v['workload']}: {'' if v['of'] == 'asx' else v['of'] + ' '}{v['ratio']:.2f} x "
                  f"{v['library']}, at most {v['at_most']:g}" for v in judged if not v["is_met"]]
    lines.append(f"took {seconds // 60:.0f} min {seconds % 60:.0f} s")
    return "\n".join(lines)


def json_of(result):
    problem = result.problem
    out = {"name": problem.name, "what": problem.what, "unit": problem.unit, "reps": result.reps,
           "seconds": round(result.seconds, 1),
           "notes": list(problem.notes), "skipped": [{"library": n, "why": w} for n, w in result.skipped.items()],
           "results": [], "aims": result.verdicts(problem.aims), "guards": result.verdicts(problem.guards),
           "broken": [line.strip() for line in broken(result)]}
    for workload in result.workloads:
        for name in result.libraries():
            values = result.samples.get((workload, name))
            if not values:
                continue
            row = {"workload": workload, "library": name, "median": result.median(workload, name), "low": min(values),
                   "high": max(values), "samples": values}
            if name != "asx" and result.ratio(workload, name) is not None:
                row["asx_over_it"] = result.ratio(workload, name)
            if (workload, name) in result.counted:
                row["allocations"], row["operations"] = result.counted[workload, name]
            out["results"].append(row)
    if problem.kind == "scaling":
        out["growth"] = scaling.growth(result)
    return out
