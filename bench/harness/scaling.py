"""Judges how the cost of one operation grows with the number of things.

The design says O(1) for tasks, regions, timers and waiters, and O(log n) for timed lanes. But a machine is not O(1):
with a thousand things everything lies in a cache, with a million nothing does, and to read one of them at random takes
fifty times as long. So the program also measures such a read, and with n things an operation may cost

    NOISE x (its cost with 1,000) x log n / log 1,000  +  READS x (a read from one of n records)

READS are the places in memory that an operation may come to for the first time, one after the other: record and frame
of a task, what it waits with, its neighbours in lists and in a pool. NOISE is what shared machines add. A search
through a million things takes a hundred microseconds and more, which is tens of times what is allowed; with --quick
(100,000) it still is several times as much. Steps that grow with the square root of n are caught when they leave the
cache.
"""

import math

FROM = 1_000
NOISE = 2.0
READS = 12
YARDSTICK = "memory: touch"
KINDS = ["tasks", "regions", "timers", "waiters", "memory"]


def sizes_of(result):
    return sorted({int(w.rsplit(" ", 1)[1].replace(",", "")) for w in result.workloads})


def operations_of(result):
    found = list(dict.fromkeys(result.base(w) for w in result.workloads))
    return sorted(found, key=lambda name: (KINDS.index(name.split(":")[0]), "digest" in name))


def growth(result):
    """One for each operation: costs by size, the cost with the most over that with FROM, and what is allowed."""
    sizes = sizes_of(result)
    out = []
    for operation in operations_of(result):
        costs = {n: result.median(f"{operation} {n:,}", "asx") for n in sizes}
        costs = {n: c for n, c in costs.items() if c is not None}
        one = {"operation": operation, "costs": costs, "growth": None, "allowed": None, "is_met": None}
        if FROM in costs and max(costs) > FROM:
            base, high = max(costs[FROM], 1.0), max(costs)  # Below a nanosecond nothing is told apart.
            one["growth"] = costs[high] / base
            if operation != YARDSTICK:
                allowed = {n: allowance(base, n, result.median(f"{YARDSTICK} {n:,}", "asx")) for n in costs
                           if n > FROM}
                one["allowed"] = allowed[high]
                one["is_met"] = all(costs[n] <= allowed[n] for n in allowed)
        out.append(one)
    return out


def allowance(base, n, read_ns):
    return NOISE * base * math.log(n) / math.log(FROM) + READS * (read_ns or 0.0)
