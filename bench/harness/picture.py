"""Draws what was seen, as SVG by hand: what each library costs beside asx, and how costs grow with numbers."""

import html
import math

from harness import scaling
from harness.libraries import LIBRARIES

WIDTH, LEFT, RIGHT, ROW = 1040, 240, 730, 20
WIDEST = 50.0  # Beyond so many times more or less a dot lies on the edge, hollow.
LINES = ["#1b6ca8", "#d1495b", "#2a9d8f", "#e08e2b", "#7b5ea7", "#5f6b76", "#8a5a44", "#c13584"]


def text(x, y, words, size=12, anchor="start", color="#222222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def line(x1, y1, x2, y2, color="#dddddd", width=1.0):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width:g}"/>')


def times(value):
    return f"{value:,.0f}×" if value >= 10 else f"{value:.2g}×"


def steps(low, high):
    """1, 2, 5, 10, ... between the two, thinned when they are many."""
    out = [m * 10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    out = [v for v in out if low <= v <= high]
    return out if len(out) <= 12 else [v for v in out if math.log10(v).is_integer()]


def ratios(results, top):
    """Rows of dots: how often the cost of asx each library costs, on a logarithmic scale. Returns shapes and height."""
    results = [r for r in results if r.problem.kind != "scaling" and any(r.ratio(w, n) for w in r.workloads
                                                                         for n in r.libraries() if n != "asx")]
    values = [1 / r.ratio(w, n) for r in results for w in r.workloads for n in r.libraries()
              if n != "asx" and r.ratio(w, n)]
    if not values:
        return [], 0
    low, high = max(min(0.5, *values), 1 / WIDEST) / 1.15, min(max(2.0, *values), WIDEST) * 1.15

    def at(value):
        value = min(max(value, low), high)
        return LEFT + (RIGHT - LEFT) * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))

    names = [n for n in LIBRARIES if n != "asx" and any(n in r.libraries() for r in results)]
    names += sorted({n for r in results for n in r.libraries()} - {"asx", *LIBRARIES})
    out = [text(LEFT, top + 20, "What others cost, in multiples of what asx costs", 16, weight="bold"),
           text(LEFT, top + 38, "right of the line: asx is cheaper; triangle: where asx aims to have them, green when "
                "met; hollow: further out", 11, color="#555555")]
    x, y = LEFT, top + 60
    for name in names:
        if x + 24 + 7 * len(name) > WIDTH - 20:
            x, y = LEFT, y + 18
        out += [dot(x, y - 4, name), text(x + 9, y, name, 12)]
        x += 28 + 7 * len(name)
    first = y + 26
    y = first
    rows = []
    for result in results:
        rows.append(text(20, y + 14, result.problem.name, 13, weight="bold"))
        rows.append(text(LEFT - 12, y + 14, result.problem.unit, 10, "end", "#888888"))
        y += ROW
        verdicts = result.verdicts(result.problem.aims)
        for workload in result.workloads:
            if result.median(workload, "asx") is None:
                continue
            mid = y + ROW / 2
            rows += [text(LEFT - 12, mid + 4, workload, 12, "end"), line(LEFT, mid, RIGHT, mid, "#eeeeee")]
            judged = [v for v in verdicts if v["workload"] == workload and v["is_met"] is not None]
            for v in (v for v in judged if v["of"] == "asx"):  # The triangles are about the line of asx.
                goal = 1 / v["at_most"]
                if low < goal < high:
                    rows.append(triangle(at(goal), y + 3, "#2e7d32" if v["is_met"] else "#c62828"))
            said = ", ".join(f"{'' if v['of'] == 'asx' else v['of'] + ' '}{v['ratio']:.2f} × {v['library']} (≤ {v['at_most']:g})" for v in judged)
            missed = any(not v["is_met"] for v in judged)
            rows.append(text(RIGHT + 12, mid + 4, said, 11, color="#c62828" if missed else "#2e7d32"))
            for name in reversed(names):
                if result.ratio(workload, name):
                    value = 1 / result.ratio(workload, name)
                    rows.append(dot(at(value), mid, name,
                                    f"{name}: {result.median(workload, name):,.1f} {result.problem.unit}",
                                    is_hollow=not low <= value <= high))
            y += ROW
        y += 8
    grid = []
    for value in steps(low, high):
        grid.append(line(at(value), first, at(value), y, "#dddddd"))
        grid.append(text(at(value), y + 14, times(value), 10, "middle", "#555555"))
    grid.append(line(at(1), first - 6, at(1), y, "#000000", 2))
    grid.append(text(at(1), first - 9, "asx", 11, "middle", weight="bold"))
    return [*out, *grid, *rows], y + 34 - top


def dot(x, y, name, title="", is_hollow=False):
    color = LIBRARIES[name].color if name in LIBRARIES else "#888888"
    fill, stroke = ("#ffffff", color) if is_hollow else (color, "#ffffff")
    said = f"<title>{html.escape(title)}</title>" if title else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{stroke}">{said}</circle>'


def triangle(x, y, color):
    return f'<path d="M{x - 4:.1f} {y - 2:.1f} h8 l-4 6 z" fill="{color}"/>'


def plots(result, top):
    """A small plot a kind of thing: cost against number, both logarithmic."""
    grown = scaling.growth(result)
    sizes = scaling.sizes_of(result)
    kinds = []
    for g in grown:
        if (kind := g["operation"].split(":")[0]) not in kinds:
            kinds.append(kind)
    if len(sizes) < 2:
        return [], 0
    out = [text(20, top + 20, "Cost of one against the number of all", 16, weight="bold"),
           text(20, top + 38, f"ns, medians; dashed: with the journal's digest; grey: log n from {scaling.FROM:,} on",
                11, color="#555555")]
    wide, tall = 330, 220
    for i, kind in enumerate(kinds):
        x, y = 70 + (i % 2) * 480, top + 70 + (i // 2) * (tall + 70)
        out += plot(kind, [g for g in grown if g["operation"].split(":")[0] == kind], sizes, x, y, wide, tall)
    return out, 70 + (len(kinds) + 1) // 2 * (tall + 70)


def plot(kind, grown, sizes, left, top, wide, tall):
    costs = [max(c, 0.5) for g in grown for c in g["costs"].values()]
    low, high = min(costs) / 1.3, max(costs) * 1.3

    def at(n, cost):
        cost = min(max(cost, low), high)
        return (left + wide * (math.log(n) - math.log(sizes[0])) / (math.log(sizes[-1]) - math.log(sizes[0])),
                top + tall - tall * (math.log(cost) - math.log(low)) / (math.log(high) - math.log(low)))

    out = [text(left, top - 8, kind, 13, weight="bold")]
    for n in sizes:
        x, _ = at(n, low)
        said = f"{n:,}" if n < 1e6 else "1 million"
        out += [line(x, top, x, top + tall), text(x, top + tall + 14, said, 10, "middle", "#555555")]
    for cost in steps(low, high):
        _, y = at(sizes[0], cost)
        said = f"{cost:,.0f}" if cost >= 1 else f"{cost:g}"
        out += [line(left, y, left + wide, y), text(left - 6, y + 4, said, 10, "end", "#555555")]
    middle = sorted(costs)[len(costs) // 2]
    shape = [at(n, middle * math.log(n) / math.log(scaling.FROM)) for n in sizes if n >= scaling.FROM]
    if len(shape) > 1 and kind != "memory":
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in shape)}" fill="none" stroke="#aaaaaa" '
                   'stroke-width="6" stroke-opacity="0.5"/>')
    colors, ends = {}, []
    for g in grown:
        name = g["operation"].split(": ")[-1]
        plain = name.removesuffix(", digest")
        color = colors.setdefault(plain, LINES[len(colors) % len(LINES)])
        points = [at(n, max(c, 0.5)) for n, c in sorted(g["costs"].items())]
        dashes = ' stroke-dasharray="4 3"' if name != plain else ""
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{color}" '
                   f'stroke-width="2"{dashes}><title>{html.escape(g["operation"])}</title></polyline>')
        if name == plain:
            ends.append((points[-1][1], plain, color))
    last = -100.0
    for y, name, color in sorted(ends):  # Names beside the ends of the lines, not on top of each other.
        last = max(y, last + 13)
        out.append(text(left + wide + 6, last + 4, name, 11, color=color))
    return out


def document(results):
    """A whole picture of everything that was measured."""
    shapes, height = ratios(results, 10)
    height += 10
    for result in results:
        if result.problem.kind == "scaling" and result.libraries():
            more, tall = plots(result, height)
            shapes += more
            height += tall
    if not shapes:
        shapes, height = [text(20, 40, "nothing to compare")], 60
    body = "\n".join(shapes)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n')
