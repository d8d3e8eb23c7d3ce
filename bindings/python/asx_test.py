#!/usr/bin/env python3
"""The Python bindings: what asx.py promises at its top, and that it says what the C headers say.

    bindings/python/asx_test.py SHARED_LIBRARY      from the repository root
"""

import contextlib
import ctypes
import gc
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import weakref

HERE = pathlib.Path(__file__).resolve().parent
if len(sys.argv) > 1:
    os.environ["ASX_LIBRARY"] = str(pathlib.Path(sys.argv.pop(1)).resolve())
sys.path.insert(0, str(HERE))
import asx  # noqa: E402
from asx import CancelKind, OutcomeKind, Status  # noqa: E402

HEADERS = "\n".join(re.sub(r"/\*.*?\*/", "", h.read_text(), flags=re.S)
                    for h in sorted((HERE / "../../asx/capi").glob("*.h")))


class Thing:
    """Something that can be watched."""


def nothing():
    yield asx.checkpoint()


def produce(tx, values):
    with tx:
        for value in values:
            permit = yield tx.reserve()
            permit.send(value)


def collect(rx):
    got = []
    try:
        while True:
            got.append((yield rx.recv()))
    except asx.Disconnected:
        return got


def of_asx(source):
    """A function that a signal takes for asx's own code."""
    names = {}
    exec(source, asx.__dict__, names)
    return names.popitem()[1]


class bindings(unittest.TestCase):
    def setUp(self):
        self.assertEqual((asx._kept, asx._values), ({}, {}), "an earlier test left something with C")

    def tearDown(self):
        self.assertEqual((asx._kept, asx._values), ({}, {}), "C holds something after the runtime was closed")
        self.assertEqual((asx._taken, asx._noted, asx._depth), (set(), [], 0))

    def refused(self, status, call, *words, **named):
        with self.assertRaises(asx.AsxError) as caught:
            call(*words, **named)
        self.assertEqual(caught.exception.status, status)

    # ---- the interface is that of the headers ----

    def test_numbers_are_those_of_the_headers(self):
        def numbers(prefix):
            return {name: int(number) for name, number in re.findall(rf"\b{prefix}(\w+) = (\d+)", HEADERS)}
        errors = {"OK": 0, **numbers("ASX_E_")}
        self.assertEqual({s.name: s.value for s in Status}, errors)
        block = re.search(r"ASX_ENUM\(asx_cancel_kind\)\{(.*?)\}", HEADERS, re.S).group(1)
        self.assertEqual({k.name: k.value for k in CancelKind},
                         {n: int(v) for n, v in re.findall(r"ASX_CANCEL_(\w+) = (\d+)", block)})
        self.assertEqual({k.name: k.value for k in OutcomeKind}, numbers("ASX_OUTCOME_"))
        self.assertEqual({k.name: k.value for k in asx.Profile}, numbers("ASX_PROFILE_"))
        self.assertEqual({k.name: k.value for k in asx.LeakPolicy}, numbers("ASX_LEAKS_"))
        self.assertEqual({k.name: k.value for k in asx.Clock} | {"HOST": 2}, numbers("ASX_CLOCK_"))

    def test_functions_are_declared_as_in_the_headers(self):
        kinds = {"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "asx_time": "u64",
                 "size_t": "size", "bool": "bool", "void": "void"}
        enums = set(re.findall(r"ASX_ENUM\((\w+)\)", HEADERS))

        def kind(words):
            words = words.replace("const ", "").strip()
            if words.startswith("char*"):
                return "text"
            if "*" in words or re.match(r"asx_\w+_fn\b", words):
                return "ptr"
            name = words.split()[0]
            return "int" if name in enums else kinds.get(name, name)
        declared = {}
        for result, name, arguments in re.findall(r"ASX_C_API\s+([\w* ]+?)\s*\b(asx_\w+)\(([^;]*?)\);", HEADERS):
            declared[name] = [kind(result), *(kind(a) for a in arguments.split(",") if a.strip() != "void")]
        self.assertGreater(len(asx._NAMES), 40)
        for name in asx._NAMES:
            function = getattr(asx._c, name)
            self.assertEqual([function.restype, *function.argtypes], [asx._TYPES[k] for k in declared[name]], name)

    def test_structs_are_laid_out_as_c_lays_them_out(self):
        structs = {n: t for n, t in asx._TYPES.items() if isinstance(t, type) and issubclass(t, ctypes.Structure)}
        lines = []
        for name, struct in structs.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{f} %zu %zu\\n", offsetof({name}, {f}), sizeof((({name}*)0)->{f}));'
                      for f, _ in struct._fields_]
        program = '#include <stdio.h>\n#include "asx/capi/asx.h"\nint main(void) {' + "\n".join(lines) + "}"
        try:
            subprocess.run(["cc", "--version"], capture_output=True, check=True)
        except OSError:
            self.skipTest("there is no C compiler")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cc", "-I", HERE / "../..", "-x", "c", "-", "-o", f"{folder}/layout"], input=program,
                           text=True, check=True)
            told = subprocess.run([f"{folder}/layout"], capture_output=True, text=True, check=True).stdout.splitlines()
        ours = []
        for name, struct in structs.items():
            ours.append(f"{name} {ctypes.sizeof(struct)}")
            ours += [f"{name}.{f} {getattr(struct, f).offset} {getattr(struct, f).size}" for f, _ in struct._fields_]
        self.assertEqual(ours, told)

    def test_a_status_has_a_sentence_of_the_library(self):
        self.assertEqual(len({s.sentence for s in Status}), len(Status))
        self.assertIn(Status.FULL.sentence, str(asx.AsxError(Status.FULL)))

    def test_a_library_that_is_not_there_is_told(self):
        run = subprocess.run([sys.executable, "-c", "import asx"], cwd=HERE, capture_output=True, text=True,
                             env={**os.environ, "ASX_LIBRARY": "/no/such/libasx_c.so"})
        self.assertIn("ImportError: the shared library of asx was not found", run.stderr)
        self.assertIn("/no/such/libasx_c.so", run.stderr)

    # ---- regions, tasks, channels, time ----

    def test_a_region_ends_when_its_tasks_have_ended(self):
        def child(ns):
            yield asx.sleep(ns)
            return ns

        def parent():
            outcome = yield region.closed()
            return outcome.kind, rt.now
        with asx.Runtime() as rt:
            region = rt.region("room", ends_when_empty=True)
            children = [region.spawn(child(n * asx.SECOND), name=f"child {n}") for n in (3, 1, 2)]
            waits = rt.spawn(parent())
            self.assertEqual((region.state, region.live_tasks, children[0].state), ("open", 3, "created"))
            rt.run()
            self.assertEqual([c.outcome.value for c in children], [3 * asx.SECOND, asx.SECOND, 2 * asx.SECOND])
            self.assertEqual(waits.outcome.value, (OutcomeKind.OK, 3 * asx.SECOND))
            self.assertEqual((region.state, region.live_tasks, region.leaked), ("closed", 0, 0))

    def test_a_pipeline_carries_objects_in_order(self):
        def square(rx, tx):
            with tx, rx:
                try:
                    while True:
                        yield tx.send((yield rx.recv()) ** 2)
                except asx.Disconnected:
                    pass
        with asx.Runtime() as rt:
            first, middle = rt.channel(2)
            second, last = rt.channel(1)
            rt.spawn(produce(first, range(20)))
            rt.spawn(square(middle, second))
            end = rt.spawn(collect(last))
            rt.run()
            self.assertEqual(end.outcome.value, [n * n for n in range(20)])

    def test_time_is_virtual_and_jumps(self):
        seen = []

        def work():
            yield asx.sleep_until(3600 * asx.SECOND)
            seen.append(rt.now)
            yield asx.sleep(asx.SECOND)
            seen.append(rt.now)
        with asx.Runtime() as rt:
            rt.spawn(work())
            rt.run_until_idle()
            self.assertEqual((seen, rt.next_deadline), ([], 3600 * asx.SECOND))
            rt.advance(3600 * asx.SECOND)
            rt.run_until_idle()
            self.assertEqual(seen, [3600 * asx.SECOND])
            timer = rt.root.timer(9000 * asx.SECOND)
            rt.run()
            self.assertEqual((seen[1], rt.now), (3601 * asx.SECOND, 9000 * asx.SECOND))
            self.assertFalse(timer.cancel())
            self.assertTrue(rt.root.timer(10000 * asx.SECOND).cancel())
            self.assertIsNone(rt.next_deadline)

    def test_the_machines_time_is_waited_for_and_can_be_interrupted(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        def work():
            for _ in range(3):
                yield asx.sleep(10 * asx.MILLISECOND)
            began.append(rt.now)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            yield asx.sleep(1000 * asx.SECOND)
        began = []
        with asx.Runtime(clock=asx.Clock.MACHINE) as rt:
            self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
            task = rt.spawn(work())
            self.assertRaises(KeyboardInterrupt, rt.run)
            self.assertGreaterEqual(began[0], 30 * asx.MILLISECOND)
            self.refused(Status.INVALID_ARGUMENT, rt.advance, 1)
            self.refused(Status.REGION_NOT_OPEN, rt.spawn, nothing())
        self.assertEqual(task.outcome.kind, OutcomeKind.CANCELLED)

    def test_who_is_left_is_told(self):
        def waits(rx):
            yield rx.recv()
        with asx.Runtime() as rt, asx.Runtime() as other:
            other.spawn(nothing())
            rt.spawn(nothing())
            stuck = rt.spawn(waits(rt.channel(1)[1]), name="stuck")  # Its sender is collected, which tells nobody.
            gc.collect()
            rt.region()
            rt.run()
            self.assertEqual(rt.unfinished, [stuck])
            self.assertRegex(repr(rt.unfinished), r"\[<asx.Task \d+ 'stuck'>\]")
        self.assertEqual(rt.unfinished, [])

    def test_join_gives_the_outcome_before_and_after_the_end(self):
        def short():
            yield asx.checkpoint()
            return "done"

        def late():
            first = yield task.join()
            yield asx.yield_()
            return first.value, (yield task.join()).value
        with asx.Runtime() as rt:
            task = rt.spawn(short())
            joins = rt.spawn(late())
            rt.run()
            self.assertEqual(joins.outcome.value, ("done", "done"))

    def test_joins_leave_no_wait_behind(self):
        def short():
            yield asx.yield_()

        def many():
            for _ in range(200):
                yield rt.spawn(short()).join()
        with asx.Runtime(max_waits=2) as rt:
            task = rt.spawn(many())
            rt.run()
            self.assertEqual(task.outcome.kind, OutcomeKind.OK)

    def test_what_is_always_ready_lets_others_run(self):
        # `other` would wait for ever behind one poll that never ends.
        def busy():
            for _ in range(1000):
                yield asx.checkpoint()
                seen.append("busy")

        def other():
            seen.append("other")
            yield asx.checkpoint()
        for limit in (128, 5):
            seen = []
            with asx.Runtime(coop_limit=limit) as rt:
                rt.spawn(busy())
                rt.spawn(other())
                rt.run()
                self.assertEqual((seen.index("other"), len(seen)), (limit, 1001))
        with asx.Runtime() as rt:
            task = rt.spawn(busy(), limits=asx.budget(polls=3))
            rt.run()
            self.assertEqual((task.outcome.kind, task.outcome.reason.kind),
                             (OutcomeKind.CANCELLED, CancelKind.POLL_QUOTA))

    def test_a_timeout_gives_a_wait_up(self):
        def sleeper():
            yield asx.sleep(100 * asx.SECOND)

        def impatient():
            for ask in (rx.recv, full.reserve, lambda: full.send(1), other.join, region.closed):
                began = rt.now
                try:
                    yield asx.timeout(ask(), 5 * asx.SECOND)
                except TimeoutError as e:
                    said.append(str(e))
                yield asx.sleep(asx.SECOND)  # The task's one sleep is free again, and so is the runtime's one wait.
                took.append(rt.now - began)
            said.append(rt.describe())
            held.try_recv()
            full.try_send("again")  # Nobody is left in the queue.
        said, took = [], []
        with asx.Runtime(max_waits=1) as rt:
            tx, rx = rt.channel(1)
            full, held = rt.channel(1)
            full.try_send("held")
            other, region = rt.spawn(sleeper()), rt.region()
            task = rt.spawn(impatient())
            rt.run()
            self.assertEqual(said[:-1], [f"{name} was given up after 5000000000 ns"
                                         for name in ("recv", "reserve", "send", "join", "closed")])
            self.assertEqual((took, task.outcome.kind), ([6 * asx.SECOND] * 5, OutcomeKind.OK))
            self.assertNotIn("the receiver waits", said[-1])
            self.assertEqual(held.try_recv(), "again")

    def test_a_timeout_that_is_not_needed_leaves_nothing(self):
        def waits(rx):
            got = yield asx.timeout(rx.recv(), 5 * asx.SECOND)
            yield asx.sleep(8 * asx.SECOND)  # Its own, and not what is left of the limit.
            return got, rt.now
        with asx.Runtime() as rt:
            (tx, rx), (_, silent) = rt.channel(1), rt.channel(1)
            tasks = [rt.spawn(waits(rx)), rt.spawn(waits(silent))]
            rt.run_until_idle()
            tx.try_send("in time")
            tasks[1].cancel()
            rt.run()
            self.assertEqual(tasks[0].outcome.value, ("in time", 8 * asx.SECOND))
            self.assertEqual(tasks[1].outcome.kind, OutcomeKind.CANCELLED)
            used = rx.recv()
            with self.assertWarns(RuntimeWarning):
                self.assertRaises(TypeError, asx.timeout, asx.timeout(used, 1), 1)
                self.assertRaises(TypeError, asx.timeout, used, 1)
                self.assertRaises(TypeError, asx.timeout, asx.sleep(1), 1)

    # ---- cancel ----

    def test_cleanup_may_yield_when_cancelled(self):
        told = []

        def work(tx):
            try:
                yield asx.sleep(100 * asx.SECOND)
            except asx.Cancelled as c:
                told.append((c.reason.kind, c.reason.message))
                raise
            finally:
                yield asx.sleep(asx.SECOND)
                yield tx.send("goodbye")
                told.append(rt.now)
        with asx.Runtime() as rt:
            tx, rx = rt.channel(1)
            task = rt.spawn(work(tx))
            rt.run_until_idle()
            self.assertTrue(task.cancel(CancelKind.TIMEOUT, "too late"))
            self.assertFalse(task.cancel(CancelKind.TIMEOUT, "too late"))
            rt.run()
            self.assertEqual(told, [(CancelKind.TIMEOUT, "too late"), asx.SECOND])
            self.assertEqual(rx.try_recv(), "goodbye")
            self.assertEqual((task.outcome.kind, task.outcome.reason.message), (OutcomeKind.CANCELLED, "too late"))
            self.assertFalse(task.outcome.overran)
            self.assertFalse(task.cancel())

    def test_who_was_told_to_cancel_is_cancelled_whatever_follows(self):
        def work(then):
            try:
                yield asx.sleep(asx.SECOND)
            except asx.Cancelled:
                return then()

        def fails():
            raise asx.AsxError(Status.IO)

        def breaks():
            raise ValueError("broken")
        with asx.Runtime() as rt:
            tasks = [rt.spawn(work(then)) for then in (lambda: 5, fails, breaks)]
            rt.run_until_idle()
            for task in tasks:
                task.cancel()
            rt.run()
            self.assertEqual([(t.outcome.kind, t.outcome.value, t.outcome.error) for t in tasks],
                             [(OutcomeKind.CANCELLED, None, None), (OutcomeKind.CANCELLED, None, Status.IO),
                              (OutcomeKind.PANICKED, None, None)])

    def test_cleanup_without_end_is_ended(self):
        closed = []

        def work():
            try:
                yield asx.sleep(asx.SECOND)
            finally:
                try:
                    while True:
                        yield asx.yield_()
                finally:
                    closed.append(True)
        with asx.Runtime() as rt:
            task = rt.spawn(work())
            rt.run_until_idle()
            task.cancel()
            rt.run()
            self.assertEqual((task.outcome.kind, task.outcome.overran, closed), (OutcomeKind.CANCELLED, True, [True]))

    def test_closing_a_region_destroys_what_nobody_received(self):
        destroyed = []

        def stuck(tx):
            for n in range(10):
                yield tx.send(n)
        with asx.Runtime() as rt:
            region = rt.region()
            tx, rx = region.channel(3, destroy=destroyed.append)
            task = region.spawn(stuck(tx))
            rt.run()
            self.assertEqual(rx.try_recv(), 0)
            region.close(message="closing time")
            rt.run()
            self.assertEqual(destroyed, [1, 2])  # 3 had a slot, but its task was cancelled before it knew.
            self.assertEqual((task.outcome.kind, region.outcome.kind), (OutcomeKind.CANCELLED, OutcomeKind.CANCELLED))
            why = task.outcome.reason
            self.assertEqual((why.kind, why.root.kind, why.root.message),
                             (CancelKind.PARENT, CancelKind.USER, "closing time"))
            self.refused(Status.DISCONNECTED, rx.try_recv)

    def test_cost_is_limited(self):
        def greedy():
            yield asx.consume(3)
            try:
                yield asx.consume(3)
            except asx.AsxError as e:
                refusals.append(e.status)
            yield asx.checkpoint()
        refusals = []
        with asx.Runtime() as rt:
            task = rt.spawn(greedy(), limits=asx.budget(cost=5))
            rt.run()
            self.assertEqual((task.outcome.kind, task.outcome.reason.kind),
                             (OutcomeKind.CANCELLED, CancelKind.COST_BUDGET))
            self.assertEqual(refusals, [Status.BUDGET_EXHAUSTED])

    # ---- failures ----

    def test_an_exception_panics_its_task_and_no_other(self):
        def bad():
            yield asx.checkpoint()
            raise ValueError("no such order\0here")

        def good():
            yield asx.sleep(1)
            return "good"
        with asx.Runtime() as rt:
            one, other = rt.spawn(bad()), rt.spawn(good())
            rt.run()
            self.assertEqual((one.outcome.kind, one.outcome.panic),
                             (OutcomeKind.PANICKED, "ValueError: no such order?here"))
            self.assertIn("in bad", one.traceback)
            self.assertNotIn("asx.py", one.traceback)
            self.assertEqual(other.outcome.value, "good")

    def test_a_refusal_that_is_not_caught_fails_the_task(self):
        def work(rx):
            yield rx.recv()
        with asx.Runtime() as rt:
            tx, rx = rt.channel(1)
            tx.drop()
            task = rt.spawn(work(rx))
            rt.run()
            self.assertEqual((task.outcome.kind, task.outcome.error), (OutcomeKind.ERR, Status.DISCONNECTED))

    def test_a_failure_says_where(self):
        def sleeps_badly():
            yield asx.sleep(1.5)
        with asx.Runtime() as rt:
            task = rt.spawn(sleeps_badly())
            rt.run()
            self.assertEqual((task.outcome.kind, task.outcome.error), (OutcomeKind.ERR, Status.INVALID_ARGUMENT))
            self.assertIn("in sleeps_badly", task.traceback)
            self.assertIn("1.5 is no unsigned number", task.traceback)

    def test_a_panic_that_nobody_asks_about_is_printed(self):
        def misspelt():
            yield asx.checkpoint()
            undefined_name  # noqa: F821

        def joins(task):
            yield task.join()

        def printed(asks, log=None):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                with asx.Runtime(log=log) as rt:
                    asks(rt)
                    while_open = errors.getvalue()
            return while_open, errors.getvalue()

        def forgets(rt):
            rt.spawn(misspelt(), name="careless")
            rt.run()
        while_open, in_all = printed(forgets)
        self.assertRegex(while_open, "asx: task 1 'careless' panicked, and nobody asked[^$]*in misspelt[^$]*NameError")
        self.assertEqual(in_all, while_open)
        self.assertEqual(printed(forgets, log=lambda level, line: None), ("", ""))
        kept = []

        def keeps(rt):
            kept.append(rt.spawn(misspelt()))
            rt.run()
        while_open, in_all = printed(keeps)
        self.assertEqual((while_open, in_all.count("NameError")), ("", 1))

        def looks(rt):
            task = rt.spawn(misspelt())
            rt.run()
            self.assertEqual(task.outcome.kind, OutcomeKind.PANICKED)

        def waits(rt):
            rt.spawn(joins(rt.spawn(misspelt())))
            rt.run()
        self.assertEqual((printed(looks), printed(waits)), (("", ""), ("", "")))

    def test_an_operation_is_yielded_and_once(self):
        def forgets(tx):
            tx.send(1)
            yield asx.checkpoint()

        def again():
            operation = asx.sleep(asx.SECOND)
            yield operation
            try:
                yield operation
            except RuntimeError as e:
                return str(e), rt.now
        with asx.Runtime() as rt:
            tx, rx = rt.channel(1)
            rt.spawn(forgets(tx))
            with self.assertWarnsRegex(RuntimeWarning, "send was not yielded") as caught:
                rt.run()
            self.assertEqual(caught.filename, __file__)
            task = rt.spawn(again())
            rt.run()
            self.assertEqual(task.outcome.value,
                             ("sleep was yielded before: an operation is good for once", asx.SECOND))
            self.refused(Status.EMPTY, rx.try_recv)

    def test_an_interrupt_is_raised_by_the_run(self):
        def work():
            yield asx.checkpoint()
            raise KeyboardInterrupt

        def endless():
            while True:
                yield asx.sleep(asx.SECOND)
        with asx.Runtime() as rt:
            task, other = rt.spawn(work()), rt.spawn(endless())
            with self.assertRaises(KeyboardInterrupt):
                rt.run()
            self.assertEqual((task.outcome.kind, other.outcome.kind), (OutcomeKind.PANICKED, OutcomeKind.CANCELLED))

    def test_no_signal_is_lost_and_nothing_with_it(self):
        # Goal:   wherever in a run a handler raises, the run raises it, and every task still gets its outcome.
        # Method: a timer interrupts thirty runs, each a little later, so that it meets polls, ends and hooks alike.
        def interrupt(*_):
            raise KeyboardInterrupt
        lost = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lost.append
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        told = 0
        for n in range(30):
            rt = asx.Runtime(log=lambda level, line: None)
            tasks = []
            for _ in range(70):
                tx, rx = rt.channel(1, destroy=lambda value: None)
                tasks += [rt.spawn(produce(tx, [[1], [2], [3]])), rt.spawn(collect(rx))]
            is_told = is_over = False
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 * (n + 1))
                rt.run()
                is_over = True
                rt.close()
                is_over = signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0
            except KeyboardInterrupt:
                is_told = True
            self.assertNotEqual((is_told, is_over), (False, False))
            told += is_told
            rt.close()
            self.assertEqual([t.outcome for t in tasks if t.outcome is None], [])
        self.assertGreater(told, 0)
        self.assertEqual((asx._kept, asx._values, asx._noted, lost), ({}, {}, [], []))

    def test_an_interrupt_in_a_hook_is_raised_by_the_run(self):
        def interrupt(*_):
            signal.raise_signal(signal.SIGINT)

        def leaves_a_value(tx, rx):
            yield tx.send(1)
            rx.drop()
            yield asx.sleep(asx.SECOND)

        def panics(*_):
            yield asx.checkpoint()
            raise ValueError

        def stubborn(*_):
            try:
                while True:
                    yield asx.yield_()
            except GeneratorExit:
                interrupt()
                raise

        def endless():
            while True:
                yield asx.sleep(asx.SECOND)
        for work, hooks in ((leaves_a_value, {"destroy": interrupt}), (panics, {"log": interrupt}), (stubborn, {})):
            with self.subTest(work.__name__), asx.Runtime(log=hooks.get("log")) as rt:
                task = rt.spawn(work(*rt.channel(1, destroy=hooks.get("destroy"))), limits=asx.budget(polls=50))
                other = rt.spawn(endless())
                with self.assertRaises(KeyboardInterrupt):
                    rt.run(max_steps=10000)
                ends = OutcomeKind.PANICKED if work is panics else OutcomeKind.CANCELLED
                self.assertEqual((task.outcome.kind, other.outcome.kind), (ends, OutcomeKind.CANCELLED))
        with asx.Runtime() as rt:
            tx, rx = rt.channel(1, destroy=interrupt)
            tx.try_send(1)
            self.assertRaises(KeyboardInterrupt, rx.drop)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_task_that_does_not_yield_can_be_interrupted(self):
        def endless(spin, repeats):
            signal.setitimer(signal.ITIMER_REAL, 0.02, repeats)
            spin()
            yield

        def interrupt(*_):
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt
        spin = "def spin():\n  ends = time.monotonic() + 5\n  while time.monotonic() < ends: pass"
        its_own = {"time": time}
        exec(spin, its_own)
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        for work, repeats in ((its_own["spin"], 0), (of_asx(spin), 0.02)):  # In asx's own code the second one acts.
            with asx.Runtime() as rt:
                task = rt.spawn(endless(work, repeats))
                self.assertRaises(KeyboardInterrupt, rt.run)
                self.assertEqual(task.outcome.panic, "KeyboardInterrupt: ")  # It was not left to the end of the spin.

    def test_an_interrupt_leaves_nothing_for_the_collector(self):
        class stop(KeyboardInterrupt):
            pass

        def work():
            yield asx.checkpoint()
            thrown = stop()
            seen.append(weakref.ref(thrown))
            try:
                raise thrown
            finally:
                del thrown

        def fails(rx):
            yield rx.recv()
        seen = []
        gc.disable()
        try:
            with asx.Runtime() as rt:
                tx, rx = rt.channel(1)
                tx.drop()
                seen.append(weakref.ref(rt.spawn(fails(rx))))
                rt.run()
                rt.spawn(work())
                try:
                    rt.run()
                except stop:
                    pass
                self.assertEqual([s() for s in seen], [None, None])
        finally:
            gc.enable()

    def test_a_handler_of_the_program_is_called_and_may_use_asx(self):
        def stop(*_):
            calls.append(signal.getsignal(signal.SIGTERM))
            day.close(message="closing time")

        def work(comes):
            yield asx.sleep(asx.SECOND)
            yield asx.Operation("signal", comes)
            while True:
                yield asx.sleep(asx.SECOND)
        at_once = lambda cx: (signal.raise_signal(signal.SIGTERM) or 0, None)  # noqa: E731
        later = of_asx("def ask(cx):\n  signal.raise_signal(signal.SIGTERM)\n  return 0, list(_noted)")
        self.addCleanup(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, stop))
        for comes in (at_once, later):
            calls = []
            with asx.Runtime() as rt:
                day = rt.region()
                task = day.spawn(work(comes))
                rt.run(max_steps=1000)
                self.assertEqual((len(calls), task.outcome.reason.root.message), (1, "closing time"))
            self.assertIs(signal.getsignal(signal.SIGTERM), stop)

    def test_a_run_without_end_meets_its_limit(self):
        def endless():
            while True:
                yield asx.sleep(asx.SECOND)
        with asx.Runtime() as rt:
            rt.spawn(endless())
            self.refused(Status.STEP_LIMIT, rt.run, max_steps=10)

    def test_a_leak_is_counted_reported_and_journalled(self):
        lines = []
        with asx.Runtime(log=lambda level, line: lines.append(line)) as rt:
            region = rt.region("careless")
            region.obligation()
            kept, back = region.obligation(), region.obligation()
            kept.commit()
            back.abort()
            self.refused(Status.OBLIGATION_ALREADY_RESOLVED, kept.commit)
            self.assertIn("careless", rt.describe())
            self.assertEqual(len(rt.report()["regions"][0]["regions"][0]["obligations"]), 1)
            region.close()
            rt.run()
            self.assertEqual(region.leaked, 1)
            self.assertIn("region_leaked", [e["kind"] for e in rt.events()])
        self.assertTrue(any("leaked" in line for line in lines), lines)

    def test_a_region_may_wait_for_its_obligations(self):
        for leaks, state in ((asx.LeakPolicy.PROCEED, "closed"), (asx.LeakPolicy.HOLD, "finalizing")):
            with asx.Runtime(leaks=leaks) as rt:
                region = rt.region()
                promise = region.obligation()
                region.close()
                rt.run()
                self.assertEqual(region.state, state)
                if state != "closed":
                    promise.commit()
                    rt.run()
                    self.assertEqual((region.state, region.leaked), ("closed", 0))

    def test_wrong_use_is_refused(self):
        def yields_no_operation():
            try:
                yield 5
            except TypeError as e:
                return str(e)

        def closes_its_runtime():
            yield asx.checkpoint()
            rt.close()
        with asx.Runtime(max_tasks=3) as rt:
            self.assertRaises(TypeError, rt.spawn, nothing)
            self.assertRaises(TypeError, asx.Runtime, max_unicorns=1)
            begun = nothing()
            operation = next(begun)
            operation._is_yielded = True  # By hand.
            self.assertRaises(TypeError, rt.spawn, begun)
            self.refused(Status.INVALID_ARGUMENT, rt.channel, 0)
            self.refused(Status.INVALID_ARGUMENT, asx.sleep, -1)
            self.refused(Status.INVALID_ARGUMENT, asx.sleep, 0.5)
            tx, rx = rt.channel(1)
            permit = tx.try_reserve()
            self.refused(Status.FULL, tx.try_send, 1)
            permit.send(1)
            self.refused(Status.OBLIGATION_ALREADY_RESOLVED, permit.send, 2)
            self.assertEqual((rx.try_recv(), permit.is_held), (1, False))
            self.refused(Status.EMPTY, rx.try_recv)
            with tx.try_reserve():
                pass
            tx.drop()
            self.refused(Status.STALE_HANDLE, tx.try_send, 1)
            self.refused(Status.DISCONNECTED, rx.try_recv)
            odd, ends = rt.spawn(yields_no_operation()), rt.spawn(closes_its_runtime())
            last = rt.spawn(nothing())
            self.refused(Status.RESOURCE_EXHAUSTED, rt.spawn, nothing())
            thread_says = []
            thread = threading.Thread(target=lambda: thread_says.append(self.refused(Status.WRONG_THREAD, last.cancel)))
            thread.start()
            thread.join()
            self.assertEqual(thread_says, [None])
            rt.run()
            self.assertIn("a task yields operations of asx, and not 5", odd.outcome.value)
            self.assertEqual((ends.outcome.kind, ends.outcome.error), (OutcomeKind.ERR, Status.REENTRANT))
            region = rt.region()
            region.close()
            rt.run()
            self.refused(Status.STALE_HANDLE, region.spawn, nothing())
        for call in (rt.run, rx.try_recv, rt.describe, rt.events, lambda: rt.root.timer(1)):
            self.refused(Status.STALE_HANDLE, call)
        rt.close()

    def test_numbers_that_do_not_fit_are_refused(self):
        for limits in ({"max_tasks": 2**32}, {"max_tasks": 2**32 + 5}, {"max_tasks": 1.5}, {"max_bytes": -5},
                       {"overflow": 9}, {"reserve_all": 7}, {"profile": 9}, {"profile": "tiny"}, {"seed": 2**64}):
            self.refused(Status.INVALID_ARGUMENT, asx.Runtime, **limits)
        self.assertRaises(TypeError, asx.Runtime, log=3)
        with asx.Runtime(max_bytes=2**40, reserve_all=True) as rt:
            task, region = rt.spawn(nothing()), rt.region()
            for kind in (2**32, 2**32 + 10, 99, "user"):
                self.refused(Status.INVALID_ARGUMENT, task.cancel, kind)
                self.refused(Status.INVALID_ARGUMENT, region.close, kind)
            self.assertRaises(TypeError, rt.channel, 1, destroy=3)
            self.assertEqual((task.state, region.state), ("created", "open"))

    def test_a_generator_is_one_task(self):
        with asx.Runtime(max_tasks=1) as rt:
            first, second = nothing(), nothing()
            task = rt.spawn(first)
            self.assertRaises(ValueError, rt.spawn, first)
            self.refused(Status.RESOURCE_EXHAUSTED, rt.spawn, second)
            rt.run()
            self.assertEqual(task.outcome.kind, OutcomeKind.OK)
            rt.spawn(second)  # A refused one was not taken.

    def test_a_closed_runtime_refuses_and_keeps_nothing(self):
        with asx.Runtime() as rt:
            region = rt.region()
            self.assertIsNone(rt.root.outcome)
        for call in (lambda: rt.spawn(nothing()), lambda: region.spawn(nothing()), rt.region,
                     lambda: rt.channel(1)):
            self.refused(Status.STALE_HANDLE, call)
        self.assertEqual(asx._kept, {})
        self.assertEqual((rt.root.state, rt.root.outcome.kind, rt.root.leaked), ("closed", OutcomeKind.OK, 0))

    def test_with_accepts_an_end_that_was_dropped_in_it(self):
        def work(tx, rx):
            with tx, rx:
                yield tx.send(1)
                tx.drop()
                rx.drop()
        with asx.Runtime() as rt:
            task = rt.spawn(work(*rt.channel(1)))
            rt.run()
            self.assertEqual(task.outcome.kind, OutcomeKind.OK)
            tx, rx = rt.channel(1)
            tx.drop()
            self.refused(Status.STALE_HANDLE, tx.drop)

    # ---- the same again ----

    @staticmethod
    def digest_of_a_run(seed=1, collects=False):
        def worker(rx, n):
            got = 0
            try:
                while True:
                    yield asx.sleep(1 + n % 3)
                    got += yield rx.recv()
                    if collects:
                        gc.collect()
            except asx.Disconnected:
                return got
        with asx.Runtime(seed=seed) as rt:
            for n in range(5):
                tx, rx = rt.channel(2)
                rt.spawn(produce(tx, range(10)))
                rt.spawn(worker(rx, n))
            victim = rt.spawn(collect(rt.channel(1)[1]))
            rt.run()
            victim.cancel(message="enough")
            rt.run()
        return rt.digest()

    def test_the_same_program_gives_the_same_digest(self):
        first = self.digest_of_a_run()
        self.assertRegex(first, "^[0-9a-f]{32}$")
        self.assertEqual(self.digest_of_a_run(), first)
        self.assertEqual(self.digest_of_a_run(collects=True), first)

        def other():
            yield asx.checkpoint()
        with asx.Runtime() as rt:
            rt.spawn(other())
        self.assertNotEqual(rt.digest(), first)

    def test_the_journal_is_dictionaries_and_lines(self):
        def work():
            yield asx.checkpoint()
        with asx.Runtime() as rt:
            task = rt.spawn(work())
            rt.run()
            events, lines = rt.events(), rt.lines()
            self.assertEqual(len(events), len(lines))
            self.assertEqual([e["seq"] for e in events], sorted(e["seq"] for e in events))
            self.assertTrue(any(e["kind"].startswith("task_") and e["subject"] == task.id for e in events))
            self.assertIn(events[-1]["kind"], lines[-1])

    def test_a_journal_is_written_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.asx")

            def written(seed):
                with asx.Runtime(seed=seed, journal=path) as rt:
                    rt.spawn(collect(rt.channel(1)[1]))
                    rt.run()
                    events = len(rt.events())
                self.assertGreater(path.stat().st_size, 16 * events)
                return path.read_bytes()
            first = written(1)
            self.assertTrue(first.startswith(b"\x89ASXJ"))
            self.assertEqual(written(1), first)
            self.assertNotEqual(written(2), first)
            with warnings.catch_warnings(record=True) as unclosed:
                warnings.simplefilter("always")
                self.refused(Status.INVALID_ARGUMENT, asx.Runtime, journal=path, version=9)
                gc.collect()
                self.assertEqual(unclosed, [])
            with self.assertRaises(OSError):
                asx.Runtime(journal=path / "no folder")

    # ---- objects ----

    def test_a_channel_keeps_a_value_exactly_while_it_holds_it(self):
        with asx.Runtime() as rt:
            tx, rx = rt.channel(2)
            thing, lost = Thing(), Thing()
            seen, gone = weakref.ref(thing), weakref.ref(lost)
            tx.try_send(thing)
            tx.try_send(lost)
            del thing, lost
            gc.collect()
            self.assertIsNotNone(seen())
            self.assertIs(rx.try_recv(), seen())
            self.assertIsNone(seen())
            rx.drop()
            self.assertIsNone(gone())
            refused = Thing()
            count = sys.getrefcount(refused)
            self.refused(Status.DISCONNECTED, tx.try_send, refused)
            gc.collect()
            self.assertEqual(sys.getrefcount(refused), count)

    def test_nothing_is_left_when_tasks_and_runtimes_end(self):
        def holds(thing, how):
            try:
                yield asx.sleep(asx.SECOND)
                if how == "panics":
                    raise ValueError(thing)
            finally:
                thing = None
        gc.disable()
        try:
            things = []
            rt = asx.Runtime(log=lambda level, line: None)
            for how in ("returns", "panics", "cancelled"):
                thing = Thing()
                things.append(weakref.ref(thing))
                task = rt.spawn(holds(thing, how))
            del thing
            rt.run_until_idle()
            task.cancel()
            rt.run()
            self.assertEqual([t() for t in things], [None] * 3)
            rt.close()
            home = weakref.ref(rt)
            del rt, task
            gc.collect()
            self.assertIsNone(home())
        finally:
            gc.enable()

    def test_many_tasks_with_collections_in_between(self):
        def work(n):
            yield asx.sleep(n % 7)
            if n % 50 == 0:
                gc.collect()
            return n
        with asx.Runtime(max_tasks=1000) as rt:
            region = rt.region(ends_when_empty=True)
            tasks = [region.spawn(work(n)) for n in range(1000)]
            rt.run()
            self.assertEqual(sum(t.outcome.value for t in tasks), 499500)
            self.assertEqual(region.state, "closed")

    def test_the_examples_run(self):
        for example in ("example.py", "workers.py"):
            run = subprocess.run([sys.executable, HERE / example], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
