"""asx.py - structured concurrency for Python: tasks are generators, over the C interface of asx.

    def greet(name):
        yield asx.sleep(asx.SECOND)            # Cancelled is raised here when somebody asks this task to stop
        print("hello", name)

    with asx.Runtime() as rt:
        rt.spawn(greet("you"))
        rt.run()

One file, no dependency but libasx_c.so: the file that ASX_LIBRARY in the environment names, else one beside this
file, else whatever the loader finds.

1  Every task has a region, and a region ends only when everything in it has ended.
2  A task is a generator that yields operations: sleep, recv, reserve, send, join, closed, timeout, checkpoint, yield_.
   What an operation gives is the value of its `yield`; a refusal is raised there as AsxError with its status. One that
   is not yielded does nothing, and warns.
3  A cancelled task gets Cancelled at the operation that reports it, once. It cleans up with try/finally, and may
   yield more operations, which wait as usual, as long as the cleanup budget of the cancel's kind lasts. When that is
   spent the task is ended: GeneratorExit is raised where it waits.
4  A task that returns is ok, with what it returned; one that lets an AsxError out has failed with that status; one
   that lets Cancelled out is cancelled, and so is one that returns or fails after it; any other exception ends it
   panicked, with the exception's text, which is printed when nobody asks. None crosses into C: KeyboardInterrupt and
   SystemExit shut the runtime down, and are raised again by the run, wherever they came: in a task, in a hook, between
   two polls. A signal's handler runs in the program's own code, or between two polls.
5  A channel keeps a value alive exactly from the send to the receive; what nobody received goes to the channel's
   `destroy`. A refused value stays the caller's.
6  Same program, same seed, same profile: same digest. Time is virtual unless the machine's is asked for: a run moves
   it to what is due next. Nothing of asx is called when Python collects garbage, so a collection changes no digest.

Cancel points: sleep, sleep_until, timeout, recv, reserve, send, join, closed, checkpoint. yield_, consume and plain
functions are none.
Threads: a runtime and what belongs to it is for the thread that made it; another one is refused with WRONG_THREAD.
Lifetime: a runtime lives until `close`, or the end of its `with`; one that is not closed is never freed. What belonged
to it says STALE_HANDLE afterwards. A permit that was neither sent nor aborted goes back when its task ends.
"""

import ctypes
import enum
import inspect
import itertools
import json
import os
import pathlib
import signal
import sys
import threading
import time
import traceback
import warnings
import weakref
from ctypes import byref, c_void_p, sizeof
from dataclasses import dataclass

VERSION = 1000  # What this file was written for: major * 1000000 + minor * 1000 + patch.
MILLISECOND, SECOND = 10**6, 10**9
MAX_STEPS = 10**7
NO_TIME = UNLIMITED = 2**64 - 1

# ---- the C interface: types and functions, as the headers have them ----------------------------------------------

_TYPES = {"u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
          "size": ctypes.c_size_t, "bool": ctypes.c_bool, "int": ctypes.c_int, "ptr": c_void_p, "text": ctypes.c_char_p,
          "void": None, "room": ctypes.c_uint32 * 16}

def _struct(name, fields):
    members = []
    for group in fields.split(";"):
        kind, names = group.split(None, 1)
        members += [(n.strip(), _TYPES[kind]) for n in names.split(",")]
    _TYPES[name] = type(name, (ctypes.Structure,), {"_fields_": members})
    return _TYPES[name]

def _sized(struct, **fields):
    """A struct that begins with its size."""
    return struct(size=sizeof(struct), **fields)

_region_handle = _struct("asx_region_handle", "u64 word, generation")
_task_handle = _struct("asx_task_handle", "u64 word, generation")
_obligation_handle = _struct("asx_obligation_handle", "u64 word, generation")
_timer_handle = _struct("asx_timer_handle", "u64 id, generation")
_sender = _struct("asx_channel_sender", "ptr runtime; u64 word, generation")
_receiver = _struct("asx_channel_receiver", "ptr runtime; u64 word, generation")
_permit = _struct("asx_send_permit", "ptr runtime; u64 word, generation, slot, number")
_text = _struct("asx_text", "ptr data; size size")
_budget = _struct("asx_budget", "u64 deadline, poll_quota, cost_quota; u8 priority")
_reason = _struct("asx_cancel_reason", "int kind; u16 levels; bool truncated; u64 origin_region, origin_task; "
                  "u64 timestamp; asx_text message; u64 cause, cause_life")
_outcome = _struct("asx_outcome", "int kind; bool has_value, overran; u64 value; int error; u64 detail; "
                   "asx_cancel_reason reason; asx_text panic")
_digest = _struct("asx_digest", "u64 high, low")
_event = _struct("asx_event", "u64 seq, time_ns; u16 kind, worker; u32 flags; u64 subject, object, a, b, cause")
_struct("asx_memory", "ptr context, allocate, release")
_struct("asx_clock", "ptr context, now")
_struct("asx_park", "ptr context, park, unpark")
_struct("asx_sink", "ptr context, take")
_struct("asx_panic_hook", "ptr context, panic")
_struct("asx_log_hook", "ptr context, log")
_struct("asx_resource_contract", "u32 version, max_tasks, max_regions, max_obligations, max_timers, max_channels, "
        "max_channel_waiters, max_sync, max_ready_queue, max_cancel_queue, max_cleanup_entries, max_cleanup_per_task, "
        "max_finalizers, max_finalizers_per_region, max_tasks_per_region, max_causes, cause_message_bytes, "
        "max_mask_depth, coop_limit, max_ghost_entries; u64 max_bytes, max_trace_events; int overflow; "
        "bool reserve_all; u32 max_senders, max_waits; room reserved")
_config = _struct("asx_runtime_config", "size size; asx_resource_contract contract; u64 seed; u32 workers; int order; "
                  "u32 cancel_streak_limit, timed_streak_limit; int ready_tiebreak, leaks; "
                  "u32 max_unobserved_cancel_polls; int ghosts; u64 coalesce_window_ns; int journaling, clock_kind; "
                  "asx_clock clock; asx_park park; asx_sink sink; ptr writer; asx_panic_hook panic; asx_log_hook log; "
                  "asx_memory memory; u32 max_foreign; u64 foreign_grace_ns")
_SWITCHES = ("overflow", "reserve_all")  # Of the contract: 0 or 1.
_task_spec = _struct("asx_task_spec", "size size; ptr poll, context, drop; asx_budget budget; u8 priority; "
                     "bool is_held; text name")
_region_spec = _struct("asx_region_spec", "size size; asx_budget budget; u32 max_tasks; "
                       "bool is_held, ends_when_empty, fails_fast; text name; ptr context, closed; "
                       "asx_task_handle owner")
_task_report = _struct("asx_task_report", "size size; u64 id; int state, lane; u64 polls, epoch; int phase; "
                       "asx_cancel_reason reason; u64 cleanup_polls_left; u32 mask_depth; asx_budget left")
_region_report = _struct("asx_region_report", "size size; u64 id; int state; u32 live_tasks, live_regions, reserved; "
                         "u64 leaked; bool has_reason; asx_cancel_reason reason; u64 failed; int error; u64 detail")
_run_report = _struct("asx_run_report", "size size; u64 steps, next_deadline")

# Result and arguments: names without asx_.
_FUNCTIONS = """
int ptr ptr u32 ptr: cancel_reason_level
int u32: version_check
text int: status_name status_sentence region_state_name task_state_name
text u16: event_kind_name
int ptr size int: runtime_config_init
int int int u64 ptr ptr: journal_writer_open
int ptr ptr: runtime_create runtime_now runtime_next_deadline journal_digest journal_size region_root cx_reason
int ptr ptr: channel_clone channel_stop_receiving channel_stop_reserving channel_try_reserve send_permit_send
int ptr ptr: channel_try_send channel_try_recv
int ptr: runtime_destroy checkpoint cx_yield cx_mask sleep_stop channel_drop_sender channel_drop_receiver
int ptr: journal_writer_close
u64 ptr: cx_now
int ptr u64 ptr: runtime_run_until_idle runtime_run_until_quiescent
int ptr u64: runtime_advance cx_consume cx_set_value sleep_until sleep_for
int ptr u64 u64 ptr: runtime_shutdown
int ptr ptr ptr: runtime_describe runtime_describe_json channel_reserve channel_recv
int ptr u64 ptr size ptr: journal_read
int ptr asx_region_handle ptr ptr: region_create task_spawn
int ptr asx_region_handle int text: region_close
int ptr asx_region_handle ptr: region_inspect region_outcome obligation_reserve
int ptr asx_region_handle: region_await_closed region_stop_awaiting
int ptr asx_task_handle: task_stop_joining
int ptr asx_region_handle u64 ptr: region_add_timer
int ptr asx_timer_handle ptr: region_cancel_timer
int ptr asx_task_handle int text ptr: task_request_cancel
int ptr asx_task_handle ptr: task_inspect task_outcome task_join
int ptr asx_obligation_handle: obligation_commit obligation_abort
bool ptr: send_permit_is_held
int ptr int u64: cx_set_error
int ptr text: cx_panic
int ptr int text: runtime_begin_shutdown
int ptr asx_region_handle u32 ptr ptr ptr: channel_create
void ptr: send_permit_abort"""
_NAMES = []

def _load():
    beside = pathlib.Path(__file__).resolve().parent / "libasx_c.so"
    named = os.environ.get("ASX_LIBRARY")
    places = [named] if named else [str(beside), "libasx_c.so", "libasx_c.so.0.1"]
    failures = []
    for place in places:
        try:
            library = ctypes.CDLL(place)
            break
        except OSError as e:
            failures.append(f"  {place}: {e}")
    else:
        looked = "what ASX_LIBRARY names" if named else "ASX_LIBRARY is not set; beside asx.py, then the loader"
        raise ImportError(f"the shared library of asx was not found. Looked for ({looked}):\n" + "\n".join(failures))
    for kinds, names in (line.split(":") for line in _FUNCTIONS.split("\n")[1:]):
        result, *arguments = (_TYPES[k] for k in kinds.split())
        for name in ("asx_" + n for n in names.split()):
            if not hasattr(library, name):
                raise ImportError(f"{place} has no function {name}: it is no libasx_c, or one of another version")
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            _NAMES.append(name)
    if library.asx_version_check(VERSION) != 0:
        raise ImportError(f"{place} is of another version than this asx.py serves ({VERSION})")
    return library

_c = _load()

# ---- numbers -----------------------------------------------------------------------------------------------------

class _Told(enum.IntEnum):
    @property
    def sentence(self):
        """What happened, and what to do about it."""
        return _c.asx_status_sentence(self).decode()

Status = _Told("Status", [(n, i) for i, n in enumerate(
    "OK INVALID_TRANSITION REGION_NOT_OPEN REGION_CLOSED ADMISSION_CLOSED OBLIGATION_ALREADY_RESOLVED "
    "OBLIGATION_LEAKED UNRESOLVED_OBLIGATIONS INCOMPLETE_CHILDREN STALE_HANDLE RESOURCE_EXHAUSTED BUDGET_EXHAUSTED "
    "TASKS_STILL_ACTIVE OBLIGATIONS_UNRESOLVED REGIONS_NOT_CLOSED TIMERS_PENDING CHANNEL_NOT_DRAINED "
    "WITNESS_TASK_MISMATCH WITNESS_REGION_MISMATCH WITNESS_EPOCH_MISMATCH WITNESS_PHASE_REGRESSION "
    "WITNESS_REASON_WEAKENED DISCONNECTED "
    "CANCELLED FULL EMPTY WOULD_BLOCK TIMER_DURATION_EXCEEDED".split())] + [(n, i) for i, n in enumerate(
        "INVALID_ARGUMENT WRONG_THREAD REENTRANT STEP_LIMIT IO CORRUPT VERSION LAGGED".split(), 100)])
CancelKind = enum.IntEnum("CancelKind", "USER TIMEOUT DEADLINE POLL_QUOTA COST_BUDGET FAIL_FAST RACE_LOST "
                          "LINKED_EXIT PARENT RESOURCE SHUTDOWN", start=0)
OutcomeKind = enum.IntEnum("OutcomeKind", "OK ERR CANCELLED PANICKED", start=0)
Profile = enum.IntEnum("Profile", "CORE TINY SERVER", start=0)
LeakPolicy = enum.IntEnum("LeakPolicy", "PROCEED HOLD", start=0)
Clock = enum.IntEnum("Clock", "VIRTUAL MACHINE", start=0)
_PENDING, _READY, _ERROR = 0, 1, 2

class AsxError(Exception):
    """A refusal: nothing has changed. `status` says which."""

    def __init__(self, status, more=""):
        self.status = Status(status)
        super().__init__(f"{self.status.name}: {self.status.sentence}{more}")

class Disconnected(AsxError):
    """Nothing is queued and nobody can send any more; or nobody receives any more."""

class Cancelled(BaseException):
    """This task is asked to stop; `reason` says why. Not an Exception, so that no `except Exception` swallows it."""

    def __init__(self, reason):
        self.reason = reason
        super().__init__(f"{reason.kind.name}: {reason.root.message}")

def _is_interrupt(e):
    return not isinstance(e, (Exception, Cancelled, GeneratorExit))

def _error(status, more=""):
    return (Disconnected if status == Status.DISCONNECTED else AsxError)(status, more)

def _ok(status):
    if status != 0:
        raise _error(status)

def _bytes(text):
    return None if text is None else str(text).replace("\0", "?").encode("utf-8", "replace")

def _str(text):
    return ctypes.string_at(text.data, text.size).decode("utf-8", "replace") if text.size else ""

def _word(number, bits=64):
    """ctypes would cut it silently."""
    if not isinstance(number, int) or not 0 <= number < 2**bits:
        raise _error(Status.INVALID_ARGUMENT, f" ({number!r} is no unsigned number of {bits} bits)")
    return number

def _one_of(kinds, number):
    if not isinstance(number, int) or number not in list(kinds):
        raise _error(Status.INVALID_ARGUMENT, f" ({number!r} is no {kinds.__name__})")
    return number

def _callable(function, what):
    if function is not None and not callable(function):
        raise TypeError(f"{what} is called, and {function!r} cannot be")
    return function

# ---- values ------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Reason:
    """Why something is cancelled."""
    kind: CancelKind
    message: str
    origin_region: int
    origin_task: int
    timestamp: int
    cause: object = None  # The Reason behind it: a closed region's, a parent's.

    @property
    def root(self):
        """The oldest cause: who asked first, and with which message."""
        return self if self.cause is None else self.cause.root

    @classmethod
    def _of(cls, head, runtime):
        told = None
        for level in reversed(range(head.levels)):
            r = _reason()
            if _c.asx_cancel_reason_level(runtime, byref(head), level, byref(r)) == 0:
                told = cls(CancelKind(r.kind), _str(r.message), r.origin_region, r.origin_task, r.timestamp, told)
        return told

@dataclass(frozen=True)
class Outcome:
    """How a task or a region ended: what does not belong to its kind is None."""
    kind: OutcomeKind
    value: object = None          # ok
    error: Status | None = None   # err; of a cancelled one, what its cleanup failed with
    reason: Reason | None = None  # cancelled
    panic: str | None = None      # panicked
    overran: bool = False         # cancelled: the cleanup budget was exceeded

    @classmethod
    def _of(cls, o, value, runtime):
        kind = OutcomeKind(o.kind)
        cancelled = kind == OutcomeKind.CANCELLED
        return cls(kind, value if kind == OutcomeKind.OK else None, Status(o.error) if o.error else None,
                   Reason._of(o.reason, runtime) if cancelled else None,
                   _str(o.panic) if kind == OutcomeKind.PANICKED else None, cancelled and o.overran)

def budget(deadline=NO_TIME, polls=UNLIMITED, cost=UNLIMITED):
    """What a task or a region may use: until when (ns), how many polls, how much cost."""
    return _budget(_word(deadline), _word(polls), _word(cost), 0)

# ---- what C holds of ours, by number: no pointer to a Python object crosses --------------------------------------

_numbers = itertools.count(1)
_kept = {}    # Tasks and regions, until they have ended.
_values = {}  # What channels hold: the value, and the end that sent it, which knows who is told when nobody receives.
_taken = set()  # Generators that are tasks.

_border = set()  # Code that C calls, that calls the program's, or that no signal may cut in two.

def _at_border(function):
    _border.add(function.__code__)
    return function

def _take(number):
    return _values.pop(number)[0]

@_at_border
def _give(send, at, value, end):
    """Hands a value over; a refused one is the caller's again."""
    number = next(_numbers)
    _values[number] = (value, end)
    status = send(at, number)
    if status != 0:
        _take(number)
    return status

# An exception that leaves one of these is printed by sys.unraisablehook; C does not see it. Interrupts do not leave.
@ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)
@_at_border
def _poll(number, cx):
    return _kept[number]._step(cx)

@ctypes.CFUNCTYPE(None, c_void_p)
@_at_border
def _drop(number):
    _kept.pop(number)._end()

@ctypes.CFUNCTYPE(None, c_void_p, _region_handle)
@_at_border
def _closed(number, _region):
    _kept.pop(number)._end()

@ctypes.CFUNCTYPE(None, c_void_p)
@_at_border
def _destroy(number):
    value, end = _values.pop(number)
    try:
        if end._destroy is not None:
            end._destroy(value)
    except BaseException as e:
        end._home._caught(e)

_TEXT = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_size_t)
_LOG = ctypes.CFUNCTYPE(None, c_void_p, ctypes.c_int, ctypes.c_char_p)
_PANIC = ctypes.CFUNCTYPE(None, c_void_p, ctypes.c_char_p)

def _address(function):
    return ctypes.cast(function, c_void_p).value

# ---- signals: while C runs, none of them raises inside of asx ----------------------------------------------------

_handlers = {}  # Whom _note stands in for.
_noted = []     # Signals that wait for the next poll, or for the end of the call.
_depth = 0      # How many calls that call back are under way on the main thread.

def _note(number, frame):
    """In the program's code a signal acts at once, and its task gets what the handler raises. In asx's own, called by
    C, an exception would be lost, and with it the half of a step: there it waits. In a function of asx that a task
    called it waits as well, unless another one waits already: the task might never yield."""
    inner, is_ours = None, frame.f_globals is globals()
    while frame is not None and frame.f_code not in _border:
        inner, frame = frame, frame.f_back
    is_called = frame is not None and inner is not None and inner.f_globals is not globals()
    if _depth == 0 or is_called and (not is_ours or _noted):
        return _handlers[number](number, frame)
    _noted.append(number)

class _Shield:
    """Around a call of C that calls back. The outermost of a runtime raises what interrupted it."""

    def __init__(self, home):
        self._home = home

    def __enter__(self):
        global _depth
        if threading.current_thread() is threading.main_thread():  # The others get no signals.
            for number in range(1, signal.NSIG) if _depth == 0 else ():
                handler = signal.getsignal(number)
                if callable(handler) and handler is not _note:
                    _handlers[number] = handler
                    signal.signal(number, _note)
            _depth += 1
        self._home._calls += 1

    def __exit__(self, *_):
        global _depth
        self._home._calls -= 1
        if threading.current_thread() is threading.main_thread():
            _depth -= 1  # From here on _note only passes on: one that is left in place does no harm.
            for number, handler in list(_handlers.items()) if _depth == 0 else ():
                if signal.getsignal(number) is _note:
                    signal.signal(number, handler)
        if self._home._calls != 0:
            return
        self._home._heed()
        interrupt, self._home._interrupt = self._home._interrupt, None
        try:
            if interrupt is not None:
                raise interrupt
        finally:
            del interrupt  # Its traceback leads here.

# ---- operations: what a task yields ------------------------------------------------------------------------------

class Operation:
    """Asked at each poll until it says something else than WOULD_BLOCK: a status and a value. Yielded once."""
    __slots__ = ("_name", "_ask", "_stop", "_is_yielded")

    def __init__(self, name, ask, stop=None):
        self._name, self._ask, self._stop, self._is_yielded = name, ask, stop, False  # stop(cx): gives the wait up.

    @_at_border
    def __del__(self):
        if not self._is_yielded:
            self._warn()

    def _warn(self):
        warnings.warn(f"{self._name} was not yielded, so nothing was done: yield it", RuntimeWarning, stacklevel=3)

def sleep(ns):
    """Waits that long; virtual time. Cancel point: yes."""
    _word(ns)
    return Operation("sleep", lambda cx: (_c.asx_sleep_for(cx, ns), None))

def sleep_until(deadline):
    """Waits for a moment, in nanoseconds from where the run began. Cancel point: yes."""
    _word(deadline)
    return Operation("sleep_until", lambda cx: (_c.asx_sleep_until(cx, deadline), None))

def timeout(operation, ns):
    """Another operation, one that waits for others, but no longer than that. TimeoutError: it was given up, and did
    nothing. Cancel point: yes."""
    _word(ns)
    if not isinstance(operation, Operation) or operation._stop is None or operation._is_yielded:
        raise TypeError("a timeout is for recv, reserve, send, join or closed, not yielded yet")
    operation._is_yielded, deadline = True, None

    def ask(cx):
        nonlocal deadline
        if deadline is None:
            deadline = min(_c.asx_cx_now(cx) + ns, NO_TIME)
        status, value = operation._ask(cx)
        if status != Status.WOULD_BLOCK:
            _c.asx_sleep_stop(cx)
            return status, value
        status = _c.asx_sleep_until(cx, deadline)
        if status != Status.WOULD_BLOCK:
            operation._stop(cx)
        if status == 0:
            raise TimeoutError(f"{operation._name} was given up after {ns} ns")
        return status, None
    return Operation("timeout", ask)

def checkpoint():
    """Goes on at once, unless this task is cancelled. Cancel point: yes."""
    return Operation("checkpoint", lambda cx: (_c.asx_checkpoint(cx), None))

def consume(cost):
    """Takes from the cost budget. BUDGET_EXHAUSTED: nothing was taken, a cancel is asked for. Cancel point: no."""
    _word(cost)
    return Operation("consume", lambda cx: (_c.asx_cx_consume(cx, cost), None))

def yield_():
    """Lets the others go first. Cancel point: no."""
    has_yielded = False

    def ask(cx):
        nonlocal has_yielded
        if has_yielded:
            return 0, None
        has_yielded = True
        status = _c.asx_cx_yield(cx)
        return (Status.WOULD_BLOCK if status == 0 else status), None
    return Operation("yield_", ask)

def _await_end(name, of, wait, stop):
    was_asked = False

    def ask(cx):
        nonlocal was_asked
        if of._outcome is not None and not was_asked:
            return _c.asx_checkpoint(cx), of.outcome
        was_asked = True
        status = wait(cx)
        if status == Status.STALE_HANDLE and of._outcome is not None:
            status = 0
        return status, of.outcome if status == 0 else None
    return Operation(name, ask, stop)

# ---- tasks and regions -------------------------------------------------------------------------------------------

class _Owned:
    def __init__(self, home):
        self._home, self._handle, self._value = home, self._names(), None
        self._outcome = None

    @_at_border
    def _begin(self, ask, region, spec):
        """C keeps it by number until it has ended; a refused one it does not keep."""
        runtime, number = self._home._alive, next(_numbers)
        spec.context = number
        _kept[number] = self
        status = ask(runtime, region, byref(spec), byref(self._handle))
        if status != 0:
            del _kept[number]
            raise _error(status)
        self.id = self._report().id
        return self

    def _report(self):
        report = _sized(self._reports)
        _ok(self._inspect(self._home._alive, self._handle, byref(report)))
        return report

    def _end(self):
        ended = _outcome()
        _ok(self._ended(self._home._alive, self._handle, byref(ended)))
        self._outcome, self._value = Outcome._of(ended, self._value, self._home._alive), None

    @property
    def outcome(self):
        """How it ended; None until then."""
        self._home._news.pop(id(self), None)
        return self._outcome

    @property
    def state(self):
        return self._last if self._outcome is not None else self._state(self._report().state).decode()

class Task(_Owned):
    """A generator that runs. `outcome` is None until it has ended; `traceback` says where it failed or panicked. A
    panic that nobody asks about, by join or outcome, is printed when its task is collected or its runtime is closed,
    unless that has a log, which was told."""
    _names, _reports, _last, _state = _task_handle, _task_report, "completed", _c.asx_task_state_name
    _inspect, _ended = _c.asx_task_inspect, _c.asx_task_outcome

    def __init__(self, home, generator, name):
        super().__init__(home)
        self._generator, self.name, self.traceback = generator, name, None
        self._operation, self._hears = None, False

    def __repr__(self):
        return f"<asx.Task {self.id} {self.name!r}>"

    def join(self):
        """Operation: waits until it has ended, and gives its outcome. Cancel point: yes."""
        return _await_end("join", self, lambda cx: _c.asx_task_join(cx, self._handle, None),
                          lambda cx: _c.asx_task_stop_joining(cx, self._handle))

    def cancel(self, kind=CancelKind.USER, message=None):
        """Asks it to stop; whether that is news. Nothing for one that has ended."""
        if self._outcome is not None:
            return False
        newly = ctypes.c_bool()
        _one_of(CancelKind, kind)
        _ok(_c.asx_task_request_cancel(self._home._alive, self._handle, kind, _bytes(message), byref(newly)))
        return newly.value

    @_at_border
    def _step(self, cx):
        """One poll: goes on until an operation waits, or coop_limit of them were ready (R-136)."""
        try:
            failure, value, ready = None, None, 0
            if _noted or self._home._must_stop:
                self._home._heed()
            while True:
                if self._operation is not None:
                    try:
                        status, value = self._operation._ask(cx)
                    except (AsxError, TimeoutError) as e:  # Of a runtime that is closed; of timeout.
                        status, value, failure = 0, None, e
                    if status == Status.WOULD_BLOCK:
                        return _PENDING
                    self._operation = None
                    ready += 1
                    if status == Status.CANCELLED:
                        failure = self._hear(cx)
                    elif status != 0:
                        failure = _error(status)
                asked = self._generator.send(value) if failure is None else self._generator.throw(failure)
                failure = value = None
                if not isinstance(asked, Operation):
                    failure = TypeError(f"a task yields operations of asx, and not {asked!r}")
                elif asked._is_yielded:
                    failure = RuntimeError(f"{asked._name} was yielded before: an operation is good for once")
                else:
                    self._operation, asked._is_yielded = asked, True
                    if ready >= self._home._coop_limit:
                        _c.asx_cx_yield(cx)
                        return _PENDING
        except StopIteration as end:
            return self._return(cx, end.value)
        except BaseException as e:
            failure = None  # Its traceback leads here.
            return self._fail(cx, e)

    def _return(self, cx, value):
        self._value = value
        if isinstance(value, int) and 0 <= value <= UNLIMITED:
            _c.asx_cx_set_value(cx, value)
        return _READY

    def _fail(self, cx, e):
        if isinstance(e, Cancelled) and self._hears:
            return _READY
        self.traceback = "".join(traceback.format_exception(type(e), e, e.__traceback__.tb_next))  # Without _step.
        if isinstance(e, AsxError):
            _c.asx_cx_set_error(cx, e.status, 0)
            return _ERROR
        try:
            text = f"{type(e).__name__}: {e}"
        except Exception:
            text = type(e).__name__
        _c.asx_cx_panic(cx, _bytes(text))
        if _is_interrupt(e):
            self._home._stop_for(e)
        elif self._home._log is None:
            self._home._news[id(self)] = weakref.ref(self)
        return _READY

    @_at_border
    def __del__(self):
        self._tell()

    def _tell(self):
        """Nothing of asx is called here."""
        if self._home._news.pop(id(self), None) is not None and sys.stderr is not None:
            named = f" '{self.name}'" if self.name else ""
            print(f"asx: task {self.id}{named} panicked, and nobody asked how it ended.\n{self.traceback}", end="",
                  file=sys.stderr)

    def _hear(self, cx):
        """From here on operations wait as usual, so that cleanup may use them."""
        self._hears = True
        reason = _reason()
        _ok(_c.asx_cx_reason(cx, byref(reason)))
        _ok(_c.asx_cx_mask(cx))
        return Cancelled(Reason._of(reason, self._home._alive))

    @_at_border
    def _end(self):
        _Owned._end(self)
        generator, self._generator, self._operation = self._generator, None, None
        _taken.discard(generator)
        try:
            generator.close()
        except BaseException as e:
            self._home._caught(e)

class Region(_Owned):
    """Owns tasks, channels, timers, obligations, regions. Once closed it has an `outcome`, and `leaked` counts."""
    _names, _reports, _last, _state = _region_handle, _region_report, "closed", _c.asx_region_state_name
    _inspect, _ended, leaked = _c.asx_region_inspect, _c.asx_region_outcome, 0

    def region(self, name=None, *, ends_when_empty=False, fails_fast=False, max_tasks=2**32 - 1, limits=None):
        """A region below this one."""
        spec = _sized(_region_spec, budget=limits or budget(), max_tasks=_word(max_tasks, 32), name=_bytes(name),
                      ends_when_empty=ends_when_empty, fails_fast=fails_fast, closed=_address(_closed))
        return Region(self._home)._begin(_c.asx_region_create, self._handle, spec)

    def spawn(self, generator, name=None, *, limits=None, priority=128):
        """A task of this region. It begins when the runtime runs."""
        if not inspect.isgenerator(generator) or inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
            raise TypeError("a task is a generator that has not begun: spawn(work(...)), where work yields")
        if generator in _taken:
            raise ValueError("a generator is one task, and this one already is: call its function again for another")
        spec = _sized(_task_spec, poll=_address(_poll), drop=_address(_drop), budget=limits or budget(),
                      priority=_word(priority, 8), name=_bytes(name))
        task = Task(self._home, generator, name)._begin(_c.asx_task_spawn, self._handle, spec)
        _taken.add(generator)
        return task

    def channel(self, capacity, destroy=None):
        """A sender and a receiver. destroy(value) is told of each value that nobody received."""
        if _word(capacity, 32) == 0:
            raise _error(Status.INVALID_ARGUMENT, " (a channel has at least one slot)")
        tx, rx = Sender(self._home, _sender(), _callable(destroy, "destroy")), Receiver(self._home, _receiver())
        _ok(_c.asx_channel_create(self._home._alive, self._handle, capacity, _address(_destroy), byref(tx._end),
                                  byref(rx._end)))
        return tx, rx

    def obligation(self):
        """A promise, to be committed or aborted before this region closes, once; else it has leaked."""
        made = Obligation(self._home, _obligation_handle())
        _ok(_c.asx_obligation_reserve(self._home._alive, self._handle, byref(made._handle)))
        return made

    def timer(self, deadline):
        """A timer that wakes nobody: a run goes that far."""
        made = Timer(self._home, _timer_handle())
        _ok(_c.asx_region_add_timer(self._home._alive, self._handle, _word(deadline), byref(made._handle)))
        return made

    def close(self, kind=CancelKind.USER, message=None):
        """Asks everything below to cancel; the runtime brings it to its end."""
        _one_of(CancelKind, kind)
        with _Shield(self._home):
            _ok(_c.asx_region_close(self._home._alive, self._handle, kind, _bytes(message)))

    def closed(self):
        """Operation: waits until this region is closed, and gives its outcome. Cancel point: yes."""
        return _await_end("closed", self, lambda cx: _c.asx_region_await_closed(cx, self._handle),
                          lambda cx: _c.asx_region_stop_awaiting(cx, self._handle))

    @property
    def live_tasks(self):
        return 0 if self._outcome is not None else self._report().live_tasks

    def _end(self):
        self.leaked = self._report().leaked
        super()._end()

class _Thing:
    def __init__(self, home, handle):
        self._home, self._handle = home, handle

class Obligation(_Thing):
    def commit(self):
        _ok(_c.asx_obligation_commit(self._home._alive, self._handle))

    def abort(self):
        _ok(_c.asx_obligation_abort(self._home._alive, self._handle))

class Timer(_Thing):
    def cancel(self):
        """False: it fired or was cancelled before, which is no error."""
        was_live = ctypes.c_bool()
        _ok(_c.asx_region_cancel_timer(self._home._alive, self._handle, byref(was_live)))
        return was_live.value

# ---- channels ----------------------------------------------------------------------------------------------------

class _End:
    def __init__(self, home, end, destroy=None):
        self._home, self._end, self._destroy = home, end, destroy

    @property
    def _at(self):
        self._home._alive  # The end points to the runtime.
        return byref(self._end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.drop()
        except AsxError as e:  # Dropped before, or gone with its runtime: nothing is left to do.
            if e.status != Status.STALE_HANDLE:
                raise

class Sender(_End):
    """`with tx:` drops it at the end; the last one that goes tells the receiver. One that is collected does not."""

    def clone(self):
        other = Sender(self._home, _sender(), self._destroy)
        _ok(_c.asx_channel_clone(self._at, byref(other._end)))
        return other

    def drop(self):
        _ok(_c.asx_channel_drop_sender(self._at))

    def reserve(self):
        """Operation: waits for a slot, first come, first served, and gives a Permit. Cancel point: yes."""
        def ask(cx):
            permit = Permit(self._home, _permit(), self._destroy)
            return _c.asx_channel_reserve(self._at, cx, byref(permit._end)), permit
        return Operation("reserve", ask, self._stop)

    def send(self, value):
        """Operation: reserves, then sends. Cancel point: yes; a cancelled one has sent nothing."""
        def ask(cx):
            permit = _permit()
            status = _c.asx_channel_reserve(self._at, cx, byref(permit))
            if status == 0:
                status = _give(_c.asx_send_permit_send, byref(permit), value, self)
            return status, None
        return Operation("send", ask, self._stop)

    def _stop(self, cx):
        _c.asx_channel_stop_reserving(self._at, cx)

    def try_reserve(self):
        permit = Permit(self._home, _permit(), self._destroy)
        _ok(_c.asx_channel_try_reserve(self._at, byref(permit._end)))
        return permit

    def try_send(self, value):
        """FULL: no slot, or others wait for one."""
        _ok(_give(_c.asx_channel_try_send, self._at, value, self))

class Permit(_End):
    """A slot of a channel: to be sent or aborted, once. `with permit:` aborts what was not sent."""

    def send(self, value):
        """Never waits. Disconnected: nobody receives any more, and the value is still the caller's."""
        _ok(_give(_c.asx_send_permit_send, self._at, value, self))

    def abort(self):
        _c.asx_send_permit_abort(self._at)

    drop = abort

    @property
    def is_held(self):
        return _c.asx_send_permit_is_held(self._at)

class Receiver(_End):
    """For one task at a time. `with rx:` drops it at the end: what is queued is destroyed, and senders are told."""

    def recv(self):
        """Operation: waits for the oldest value. Disconnected: the last was received. Cancel point: yes."""
        def ask(cx):
            number = c_void_p()
            status = _c.asx_channel_recv(self._at, cx, byref(number))
            return status, _take(number.value) if status == 0 else None
        return Operation("recv", ask, lambda cx: _c.asx_channel_stop_receiving(self._at, cx))

    @_at_border
    def try_recv(self):
        """EMPTY: nothing is queued now."""
        number = c_void_p()
        _ok(_c.asx_channel_try_recv(self._at, byref(number)))
        return _take(number.value)

    def drop(self):
        with _Shield(self._home):
            _ok(_c.asx_channel_drop_receiver(self._at))

# ---- runtimes ----------------------------------------------------------------------------------------------------

class Runtime:
    """A whole runtime. `contract` sets limits by their C names: Runtime(max_tasks=10)."""

    def __init__(self, *, seed=None, profile=Profile.CORE, log=None, clock=Clock.VIRTUAL, leaks=LeakPolicy.PROCEED,
                 journal=None, **contract):
        """log(level, line) is told of leaks, failed cleanups, forced ends and panics; it must not call asx.
        leaks: whether a region waits for its unresolved obligations. journal: the path of a file for `asx journal`."""
        config, _ = _config(), _callable(log, "log")
        self._runtime = self._last_digest = self._log = None
        self._news = {}  # Tasks that panicked, and nobody asked.
        self._interrupt, self._must_stop = None, False  # What the run will raise; whether C does not know yet.
        self._calls = 0  # Shields that are up.
        self._is_main = threading.current_thread() is threading.main_thread()
        _ok(_c.asx_runtime_config_init(byref(config), sizeof(config), _one_of(Profile, profile)))
        if seed is not None:
            config.seed = _word(seed)
        for limit, number in contract.items():
            kind = dict(config.contract._fields_).get(limit)
            if kind in (None, _TYPES["room"]):
                raise TypeError(f"there is no limit '{limit}' in a resource contract")
            setattr(config.contract, limit, _word(number, 1 if limit in _SWITCHES else 8 * sizeof(kind)))
        if log is not None:  # Kept as long as this runtime, which calls it.
            @_at_border
            def tell(_, level, line):
                try:
                    log(level, line.decode("utf-8", "replace"))
                except BaseException as e:
                    self._caught(e)
            self._log, self._panic = _LOG(tell), _PANIC(_at_border(lambda _, text: tell(None, 2, text)))
            config.log.log, config.panic.panic = _address(self._log), _address(self._panic)
        self._coop_limit, self._clock = config.contract.coop_limit, _one_of(Clock, clock)
        config.clock_kind, config.leaks = clock, _one_of(LeakPolicy, leaks)
        self._writer, self._file = c_void_p(), None
        if journal is not None:
            self._file = open(journal, "wb", buffering=0)
            _ok(_c.asx_journal_writer_open(self._file.fileno(), profile, config.seed, None, byref(self._writer)))
            config.writer = self._writer
        made = c_void_p()
        status = _c.asx_runtime_create(byref(config), byref(made))
        if status != 0:
            self._close_journal()
            raise _error(status)
        self._runtime = made.value
        self.root = Region(self)
        _ok(_c.asx_region_root(self._runtime, byref(self.root._handle)))

    def region(self, *words, **named):
        """Below the root: Region.region."""
        return self.root.region(*words, **named)

    def spawn(self, *words, **named):
        """A task of the root: Region.spawn."""
        return self.root.spawn(*words, **named)

    def channel(self, *words, **named):
        """A channel of the root: Region.channel."""
        return self.root.channel(*words, **named)

    @property
    def _alive(self):
        if self._runtime is None:
            raise _error(Status.STALE_HANDLE, " (the runtime is closed)")
        return self._runtime

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self, grace_ns=0):
        """Shuts down and frees; again: nothing. What does not come to rest is not freed, and told."""
        if self._runtime is None:
            return
        with _Shield(self):
            status = _c.asx_runtime_shutdown(self._runtime, _word(grace_ns), MAX_STEPS, None)
            if status in (Status.REENTRANT, Status.WRONG_THREAD):
                raise _error(status)
            if status != 0:
                raise _error(status, "\n" + self.describe())
            self._last_digest = self.digest()
            self.root._end()
            _ok(_c.asx_runtime_destroy(self._runtime))
            self._runtime = None
            for task in [there() for there in self._news.values()]:
                task._tell()
            self._close_journal()

    def _close_journal(self):
        if self._file is not None:
            status = _c.asx_journal_writer_close(self._writer)
            self._file.close()
            _ok(status)

    def run(self, max_steps=MAX_STEPS):
        """Until nothing is left to do; time jumps to what is due, or that is waited for when it is the machine's.
        How many steps it took. STEP_LIMIT: work is left. Who is left says `unfinished`."""
        if self._clock == Clock.VIRTUAL:
            return self._run(_c.asx_runtime_run_until_quiescent, max_steps)
        steps = 0
        while True:  # The waiting is done here, where signals are heard; in pieces, since a handler may use asx.
            steps += self._run(_c.asx_runtime_run_until_idle, max_steps - steps)
            deadline = self.next_deadline
            if deadline is None:
                return steps
            try:
                time.sleep(min(max(deadline - self.now, 0), 20 * MILLISECOND) / SECOND)
            except BaseException:
                self._must_stop = True
                self._heed()
                raise

    @property
    def unfinished(self):
        """Tasks that have not ended, oldest first. After a run they wait for what nobody will do; describe says why."""
        return [t for t in _kept.values() if isinstance(t, Task) and t._home is self]

    def run_until_idle(self, max_steps=MAX_STEPS):
        """The same, now: time does not move."""
        return self._run(_c.asx_runtime_run_until_idle, max_steps)

    def _run(self, function, max_steps):
        report = _sized(_run_report)
        with _Shield(self):
            _ok(function(self._alive, _word(max_steps), byref(report)))
        return report.steps

    def _caught(self, e):
        """What a hook let out: an interrupt is the run's to raise, anything else is nobody's, and printed."""
        if not _is_interrupt(e):
            raise e
        self._stop_for(e)

    def _stop_for(self, e):
        self._interrupt = self._interrupt or e
        self._must_stop = True
        self._heed()

    def _heed(self):
        """Signals that were noted have their turn, and C learns of an interrupt; a hook cannot tell it."""
        while _noted and self._is_main:
            number = _noted.pop(0)
            try:
                _handlers[number](number, inspect.currentframe())
            except BaseException as e:
                self._interrupt, self._must_stop = self._interrupt or e, True
        if self._must_stop and self._runtime is not None:
            status = _c.asx_runtime_begin_shutdown(self._runtime, CancelKind.SHUTDOWN, b"interrupted")
            self._must_stop = status == Status.REENTRANT

    def _ask(self, function, out):
        _ok(function(self._alive, byref(out)))
        return out

    @property
    def now(self):
        return self._ask(_c.asx_runtime_now, ctypes.c_uint64()).value

    @property
    def next_deadline(self):
        """When something will be due by itself; None: never."""
        deadline = self._ask(_c.asx_runtime_next_deadline, ctypes.c_uint64()).value
        return None if deadline == NO_TIME else deadline

    def advance(self, ns):
        """Moves the time; nothing happens before the next run."""
        _ok(_c.asx_runtime_advance(self._alive, _word(ns)))

    def describe(self):
        """Who is alive and why, as lines of text."""
        return self._text(_c.asx_runtime_describe)

    def report(self):
        """The same as a Python value."""
        return json.loads(self._text(_c.asx_runtime_describe_json))

    def _text(self, function):
        pieces = []
        put = _TEXT(_at_border(lambda _, text, size: pieces.append(ctypes.string_at(text, size))))
        with _Shield(self):
            _ok(function(self._alive, _address(put), None))
        return b"".join(pieces).decode("utf-8", "replace")

    def digest(self):
        """Of what happened so far; of a closed runtime, of all that happened. Two runs that agree have the same."""
        if self._runtime is None:
            return self._last_digest
        d = self._ask(_c.asx_journal_digest, _digest())
        return f"{d.high:016x}{d.low:016x}"

    def events(self):
        """The kept events as dictionaries, oldest first; docs/spec/events.md says what the numbers mean."""
        size = self._ask(_c.asx_journal_size, ctypes.c_uint64()).value
        events, count = (_event * size)(), ctypes.c_size_t()
        _ok(_c.asx_journal_read(self._alive, 0, events, size, byref(count)))
        told = [{name: getattr(e, name) for name, _ in e._fields_} for e in events[:count.value]]
        for event in told:
            event["kind"] = (_c.asx_event_kind_name(event["kind"]) or b"unknown").decode()
        return told

    def lines(self):
        """The same, a line each."""
        return [f"{e['seq']} {e['time_ns']} {e['kind']} {e['subject']} {e['object']} a={e['a']} b={e['b']} "
                f"cause={e['cause']}" for e in self.events()]
