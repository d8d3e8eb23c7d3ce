"""What is measured: the problems, the programs' arguments, the libraries that take part, and what asx aims at.

A problem lives in bench/<folder>/<library>.cpp, .rs or .go; the head of its workload.hpp says exactly what is done.
Each run starts one program of each library; a program prints a line of JSON for each workload that it did.
"""

import dataclasses

# Who could be used instead of asx. The others are asx in other dress, and floors: the least code that does the work.
PEERS = ("asio", "asio_try", "tbb", "libuv", "libev", "tokio", "go")


@dataclasses.dataclass(frozen=True)
class Run:
    """One start of a program of each library."""
    arguments: tuple
    quick: tuple
    libraries: tuple = ()       # None named: all of the problem's.
    threads: int = 1            # One: pinned to a processor. More: as the system likes.
    through: str = ""           # A program of the folder that starts the library's.
    instead: dict = dataclasses.field(default_factory=dict)  # library: (arguments, quick)

    def arguments_of(self, library, is_quick):
        full, quick = self.instead.get(library, (self.arguments, self.quick))
        return quick if is_quick else full


@dataclasses.dataclass(frozen=True)
class Aim:
    """asx costs at most so much of what another costs."""
    at_most: float
    against: str                # A library, or a name for the best of `among`.
    among: tuple = PEERS
    workloads: tuple = ()       # None named: all.
    of: str = "asx"             # Or asx in other dress.

    def candidates(self):
        return (self.against,) if self.against in (*PEERS, "floor", "asx") else self.among

    def says(self):
        return f"{'' if self.of == 'asx' else self.of + ' '}at most {self.at_most:g} x {self.against}"


@dataclasses.dataclass(frozen=True)
class Problem:
    name: str
    what: str
    unit: str
    libraries: tuple
    runs: tuple
    folder: str = ""
    value: str = "ns"           # Which number of a row.
    kind: str = "programs"      # Or compile, or scaling.
    reps: int = 5
    quick_reps: int = 3
    aims: tuple = ()
    guards: tuple = ()          # Aims that must hold: a run that breaks one fails.
    by_size: bool = False       # The number of things is a part of the workload's name.
    without_allocations: tuple = ()  # Libraries that must not ask for memory in the steady state: a guard, too.
    is_added: bool = False      # The others are asx and something more: the difference is told, too.
    notes: tuple = ()

    def place(self):
        return self.folder or self.name


BEST = "best peer"
LOOPS = ("asio", "libuv", "libev")
ONE_THREAD = ("1x64", "1x1024", "4x64", "4x1024")
TWO_THREADS = tuple(f"{name} threads" for name in ONE_THREAD)

PROBLEMS = [
    Problem(
        "yield", "tasks that give way to each other", "ns a yield", ("asx", "floor", "asio", "tokio", "go"),
        (Run((1_000_000, 3), (200_000, 3)),),
        aims=(Aim(0.25, BEST),)),
    Problem(
        "spawn", "tasks that begin and end, a thousand at a time and a million at once", "ns a task",
        ("asx", "floor", "asio", "tbb", "tokio", "go"),
        (Run((300_000, 1_000_000, 1), (100_000, 100_000, 3)),
         Run(("threads", 300_000, 1), ("threads", 50_000, 1), libraries=("asx", "tokio", "go"), threads=2)),
        aims=(Aim(0.2, "tokio", workloads=("batches of 1,000",)), Aim(1.0, "tbb", workloads=("batches of 1,000",)),
              Aim(0.5, "tokio", workloads=("batches, threads",)))),
    Problem(
        "channel", "producers x capacity: 64-bit values through a bounded channel to one receiver", "ns a message",
        ("asx", "asx_reserve", "asx_poll", "asx_worker", "floor", "asio", "asio_try", "tokio", "go"),
        (Run(("stream", 400_000, 3), ("stream", 100_000, 3)),
         Run(("threads", 200_000, 3), ("threads", 50_000, 3), libraries=("asx", "asx_reserve", "floor", "asio", "asio_try", "tokio", "go"), threads=2)),
        aims=(Aim(0.2, "tokio", workloads=ONE_THREAD), Aim(0.6, BEST, workloads=ONE_THREAD),
              Aim(2.5, "floor", workloads=ONE_THREAD), Aim(1.3, "asx", workloads=ONE_THREAD, of="asx_worker"),
              Aim(0.8, BEST, workloads=TWO_THREADS)),
        without_allocations=("asx", "asx_reserve", "asx_poll"),
        notes=("asx: coroutines that send; asx_reserve: that reserve and send by the permit; asx_poll: poll functions",
               "asio_try: try_send and try_receive before the await",
               "asx_worker: coroutines on one worker of the many-worker drive, which reads the machine's clock")),
    Problem(
        "batch", "producers x capacity: the same values in lists of 32, as many at a time as there is room for", "ns a message",
        ("asx", "tokio"),
        (Run(("stream", 400_000, 3), ("stream", 100_000, 3)),
         Run(("threads", 200_000, 3), ("threads", 50_000, 3), threads=2)),
        aims=(Aim(0.2, "tokio", workloads=ONE_THREAD), Aim(0.8, "tokio", workloads=TWO_THREADS)),
        without_allocations=("asx",),
        notes=("asx: send_many and recv_many; tokio: reserve_many, a send for each permit, recv_many",)),
    Problem(
        "ping_pong", "a value there, its successor back, through channels of capacity 1", "ns a round trip",
        ("asx", "asx_poll", "floor", "asio", "asio_try", "tokio", "go"),
        (Run(("ping_pong", 200_000, 3), ("ping_pong", 50_000, 3)),
         Run(("ping_pong_threads", 200_000, 3), ("ping_pong_threads", 50_000, 3),
             libraries=("asx", "asio", "asio_try", "tokio", "go"), threads=2)), folder="channel",
        aims=(Aim(0.2, "best asynchronous peer", ("asio", "tokio", "go"), ("ping-pong",)), Aim(0.2, BEST, workloads=("ping-pong",)),
              Aim(1.0, BEST, workloads=("ping-pong threads",))), without_allocations=("asx", "asx_poll")),
    Problem(
        "timers", "timers in a set of n: register, cancel, replace, expire in order", "ns a timer",
        ("asx", "priority_queue", "multimap", "asio", "libuv", "libev", "tokio", "go"),
        (Run((10_000, 7), (10_000, 3)), Run((1_000_000, 1), (100_000, 1))), by_size=True, reps=3, quick_reps=2,
        notes=("asx: its wheel; priority_queue and multimap are there for orientation",),
        aims=(Aim(0.5, "best event loop", LOOPS, ("register", "cancel", "churn")),
              Aim(0.6, "best event loop", LOOPS, ("expire_all", "expire_steps")))),
    Problem(
        "parked", "memory of a million tasks that wait for a slot of a channel, or for time", "bytes a task",
        ("asx", "floor", "asio", "tokio", "go"),
        (Run((1_000_000, 1, "channel"), (100_000, 1, "channel"),
             # Asio searches a channel's queue for each cancel: all of them would take the square of their number.
             instead={"asio": ((20_000, 1, "channel"), (10_000, 1, "channel"))}),
         Run((1_000_000, 1, "timer"), (100_000, 1, "timer"))),
        folder="cancel", value="bytes", reps=3, quick_reps=2,
        aims=(Aim(1.0, "tokio", workloads=("channel",)), Aim(0.3, "tokio", workloads=("timer",)))),
    Problem(
        "cancel", "100,000 tasks wait for a slot of a channel, or for time; all are cancelled and end", "ns a task",
        ("asx", "floor", "asio", "tokio", "go"),
        (Run((100_000, 3, "channel"), (10_000, 3, "channel"),
             instead={"asio": ((10_000, 3, "channel"), (1_000, 3, "channel"))}),
         Run((100_000, 3, "timer"), (10_000, 3, "timer"))),
        aims=(Aim(0.3, BEST),),
        notes=("asio waits for the channel with a tenth of the tasks: its cancel takes the square of their number",)),
    Problem(
        "fork_join", "fib(30), forked at every call", "ns a fork", ("asx", "asx_tasks", "floor", "tbb", "tokio", "go"),
        (Run((30, 1, 1), (22, 3, 1)),
         Run((30, 1, 2), (22, 3, 2), libraries=("asx", "asx_tasks", "tbb", "tokio", "go"), threads=2)),
        aims=(Aim(1.2, "tbb", workloads=("2 threads",)),),
        notes=("asx: pieces of one poll, which is what TBB's groups are for; asx_tasks: a task for each fork, as tokio and Go do it",
               "the floor is plain recursion without tasks")),
    Problem(
        "journal", "what the journal adds to a yield and to a message", "ns each", ("asx", "asx_digest", "asx_full"),
        (Run((500_000, 3), (100_000, 3)),), is_added=True,
        notes=("asx: journal off; asx_digest: the digest alone; asx_full: every event kept in the ring, too",)),
    Problem(
        "startup", "a runtime is made, runs one task, and is gone", "ns each", ("asx", "floor", "asio", "tokio", "go"),
        (Run((1_000, 3), (200, 3), libraries=("asx", "floor", "asio", "tokio")),
         Run((100,), (20,), through="process")),
        notes=("the second is a whole process from start to end: wall time", "go: its runtime is the process's")),
    Problem(
        "compile_time", "hello-region and Asio's coroutine hello: seconds to compile, bytes of the program",
        "seconds, or bytes", ("asx", "floor", "asio"), (), kind="compile", reps=3, quick_reps=2,
        aims=(Aim(0.5, "asio", workloads=("g++", "clang++")),),
        # What the aim says, and the spread of such a measurement: it catches a heavy include, not a slow minute.
        guards=(Aim(0.65, "asio", workloads=("g++", "clang++")),),
        notes=("floor: an empty main()", "single: with the headers that it needs instead of the one with everything")),
    Problem(
        "scaling", "the cost of one operation against the number of tasks, regions, timers, waiters", "ns each",
        ("asx",),
        tuple(Run((n,), (n,) if n in (10, 1_000, 100_000) else ())
              for n in (10, 100, 1_000, 10_000, 100_000, 1_000_000)),
        kind="scaling", by_size=True, reps=2, quick_reps=2),
]
NAMES = [p.name for p in PROBLEMS]
