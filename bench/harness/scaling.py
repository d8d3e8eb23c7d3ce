"""Judges how the cost of one operation grows with the number of things.

The design says O(1) for tasks, regions, timers and waiters, and O(log n) for timed lanes. What is allowed from 1,000
on is the growth of log n times CACHE: at a thousand everything lies in the second-level cache, at a million nothing
lies in any, and an operation that touches a few lines of records then waits for memory a few times. On machines of
today that is a factor of four to eight for operations of 20 to 100 ns. What the bound catches is a search: at a million
the square root of n would be 32 times, n itself a thousand times as much as at a thousand, and 16 are allowed. With
--quick (100,000) it still catches n.
"""

import math

FROM = 1_000
CACHE = 8.0


def sizes_of(result):
    return sorted({int(w.rsplit(" ", 1)[1].replace(",", "")) for w in result.workloads})


def operations_of(result):
    found = []
    for workload in result.workloads:
        if result.base(workload) not in found:
            found.append(result.base(workload))
    return sorted(found, key=lambda name: (["tasks", "regions", "timers", "waiters"].index(name.split(":")[0])
                                           if ":" in name else 9, "digest" in name))


def growth(result):
    """One for each operation: costs by size, how much it grew from FROM to the largest, and how much is allowed."""
    sizes = sizes_of(result)
    out = []
    for operation in operations_of(result):
        costs = {n: result.median(f"{operation} {n:,}", "asx") for n in sizes}
        costs = {n: c for n, c in costs.items() if c is not None}
        judged = sorted(n for n in costs if n >= FROM)
        if len(judged) < 2:
            out.append({"operation": operation, "costs": costs, "growth": None, "allowed": None, "is_met": None})
            continue
        low, high = judged[0], judged[-1]
        allowed = CACHE * math.log(high) / math.log(low)
        # A cost below a nanosecond is not told apart from none.
        grew = costs[high] / max(costs[low], 1.0)
        out.append({"operation": operation, "costs": costs, "growth": grew, "allowed": allowed,
                    "is_met": grew <= allowed})
    return out
