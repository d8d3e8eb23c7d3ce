"""gdb: asx's values in words, and who waits for what, in a live process or a core.

    (gdb) source tools/gdb/asx_gdb.py
    (gdb) print when                      3.5 s, and not {ns = 3500000000}
    (gdb) asx tasks                       of the runtime that the selected frame, or one above it, can see
    (gdb) asx tasks rt                    of a runtime by name: an asx::runtime, live_runtime, threaded_runtime or kernel,
                                          or a pointer or a reference to one
    region 1 root  open
      task 4 'reader'  running, waits for a message of channel 2 at io.cpp:9 < orders.cpp:40  polls 17  spawned orders.cpp:31
        in reads(asx::cx, asx::receiver<int>)  io.cpp:9
        in session(asx::cx)  orders.cpp:40

Below a task stand the coroutines that await each other, the innermost first, each with the line of the co_await where it
stands; asx's own among them have no place in the task's line. Nothing of the program is called, so a core will do. It reads asx/kernel/detail/records.hpp and asx/coro/detail/frame.hpp; tests/gates/gdb_test.py notices when those
have moved on.
"""
import gdb
import gdb.printing

MOST = 100_000  # Elements of one list: a core may be broken in any way.


def seconds(ns):
    if ns == 2**64 - 1:
        return "never"
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns and ns % (size // 1000 if size > 1000 else 1) == 0 and ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns} ns"


def word(value):
    """An enumerator without its type."""
    return str(value).rsplit("::", 1)[-1]


def text_of(view):
    """A std::string_view, of libstdc++."""
    size = int(view["_M_len"])
    return view["_M_str"].string("utf-8", "replace", length=size) if 0 < size < 4096 else ""


# ---- values

class instant_printer:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return seconds(int(self.value["ns"]))


class handle_printer:
    KINDS = {0: "none", 1: "region", 2: "task", 3: "obligation", 4: "cancel_witness", 5: "timer", 6: "channel"}

    def __init__(self, value):
        self.value = value

    def to_string(self):
        bits, life = int(self.value["word"]), int(self.value["generation"])
        if bits == 0:
            return "no handle"
        return f"handle of {self.KINDS.get(bits >> 48, f'kind {bits >> 48}')} #{bits & 0xffffffff}, life {life}"


class outcome_printer:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        kind = word(self.value["kind_"])
        if kind == "ok":
            return f"ok {self.value['value_']}" if self.value["has_value_"] else "ok"
        if kind == "err":
            return f"err {self.value['error_']}"
        if kind == "panicked":
            return f"panicked: {text_of(self.value['panic_']['text'])}"
        return kind


class error_printer:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        detail = int(self.value["detail"])
        return word(self.value["code"]) + (f", {detail}" if detail else "")


def printers():
    found = gdb.printing.RegexpCollectionPrettyPrinter("asx")
    found.add_printer("instant", r"^asx::(instant|duration)$", instant_printer)
    found.add_printer("handle", r"^asx::(handle|typed_handle<.*>)$", handle_printer)
    found.add_printer("outcome", r"^asx::outcome<.*>$", outcome_printer)
    found.add_printer("error", r"^asx::error$", error_printer)
    return found


# ---- records

def elements(ring_list, record):
    """Those of an intrusive_list, as references to `record`."""
    ring = ring_list["ring_"]
    at, end = ring["next_"], ring.address
    for _ in range(MOST):
        if int(at) == int(end) or int(at) == 0:
            return
        yield at.cast(record.pointer()).dereference()
        at = at.dereference()["next_"]


def name_in(record):
    size = int(record["name"]["size_"])
    array = record["name"]["bytes_"]["_M_elems"]
    return "".join(chr(int(array[i]) & 0xff) for i in range(min(size, 23)))


MOST_SITES = 8  # In the line of a task, as in asx/kernel/report.cpp.


def place_at(impl):
    """What a std::source_location points to, of libstdc++."""
    if int(impl) == 0:
        return ""
    file = impl["_M_file_name"].string("utf-8", "replace")
    return f"{file.rsplit('/', 1)[-1]}:{int(impl['_M_line'])}"


def site_in(record):
    return place_at(record["site"]["_M_impl"])


WAITS = {1: "a message of channel", 2: "a slot of channel", 3: "timer", 4: "the end of task", 5: "the close of region",
         6: "a turn of sync", 7: "an answer from outside"}


def is_polled(task, kernel):
    return bool(task["is_polled"]) or int(kernel["current_"]) == int(task.address)


def doing(task, kernel):
    if word(task["state"]) == "completed":
        return "held"
    place = task.cast(gdb.lookup_type("asx::place"))
    if int(place["where_"]["_M_i"]) & 0x8000_0000:
        return "queued"
    if is_polled(task, kernel):
        return "being polled"
    if task["is_leaving"]:
        return "waits for the regions that it owns, then ends"
    what = int(task["waits_for"])
    if what == 4 and int(task["waits_on"]) == 0:
        return "waits for the end of one of several tasks"
    return f"waits for {WAITS[what]} {int(task['waits_on'])}" if what in WAITS else "waits for a wake"


def symbol_at(address):
    told = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return "" if told.startswith("No symbol") else told.split(" in section")[0].strip()


def coroutine_named(symbol):
    """`reads(...)` out of what a compiler calls the part of it that is resumed."""
    for mark in (" [clone", ".actor", ".resume", " + "):
        symbol = symbol.split(mark)[0]
    return symbol.split("(_Z")[0]  # GCC's has the frame for its parameter.


def await_stack(task, kernel):
    """The coroutines of a task, the innermost first: a name, the place of its co_await, and whether it is asx's own."""
    if not task["tells_sites"] or is_polled(task, kernel):  # One that is polled stands nowhere.
        return
    root = task["context"].cast(gdb.lookup_type("asx::detail::coro_root").pointer()).dereference()
    if int(root["waiting_"]) == 0:
        return
    pointer = gdb.lookup_type("unsigned long").pointer()
    promise = root["waiting_"].dereference()["promise_"].address
    site_type = gdb.lookup_type("std::source_location::__impl").pointer()
    for _ in range(MOST):
        frame = gdb.Value(int(promise) - 2 * pointer.sizeof).cast(pointer)  # Before it: how to resume it, to destroy it.
        yield coroutine_named(symbol_at(int(frame[0]))), place_at(promise["site"].cast(site_type)), promise["is_unlisted"]
        if int(promise["parent"]) == 0:
            return
        promise = promise["parent"].dereference()["parent_"].address


def kernel_of(text):
    if text:
        return as_kernel(gdb.parse_and_eval(text))
    frame = gdb.selected_frame()
    while frame is not None:
        try:
            block = frame.block()
        except RuntimeError:
            block = None
        while block is not None:
            for symbol in block:
                if symbol.is_variable or symbol.is_argument:
                    try:
                        found = as_kernel(symbol.value(frame))
                    except (gdb.error, gdb.MemoryError):
                        continue
                    if found is not None:
                        return found
            block = block.superblock if block.function is None else None
        frame = frame.older()
    raise gdb.GdbError("no frame here knows a runtime of asx or a kernel: say which, as in `asx tasks rt`")


REFERRING = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)

# Where each of them has its kernel, or what has it: an asx::kernel is known by its root.
LEADS_ON = {"asx::kernel": "root_", "asx::runtime_core": "kernel_", "asx::runtime": "kernel_",
            "asx::live_runtime": "runtime_", "asx::threaded_runtime": "runtime_"}


def as_kernel(value):
    """The kernel of what a program has of asx, or of what refers to it; None of anything else."""
    while value.type.strip_typedefs().code in REFERRING:
        value = value.referenced_value()
    kind = str(value.type.strip_typedefs().unqualified())
    if kind not in LEADS_ON:
        return None
    try:
        member = value[LEADS_ON[kind]]
    except gdb.error:
        raise gdb.GdbError(f"gdb knows no members of {kind}: build asx with -g, or what uses it with -g and, by Clang, "
                           "-fstandalone-debug") from None
    return value if kind == "asx::kernel" else as_kernel(member)


def tell_task(task, kernel, depth, out):
    number = int(task.cast(gdb.lookup_type("asx::place"))["task_"]["value"])
    label = f" '{name_in(task)}'" if name_in(task) else ""
    reason = f"  ({word(task['why']['reason']['reason_']['kind'])})" if int(task["why"]) else ""
    stack = list(await_stack(task, kernel))
    sites = [site for _, site, is_unlisted in stack if not is_unlisted]
    if len(sites) > MOST_SITES:
        sites[MOST_SITES:] = ["..."]
    stands, spawned = (f" at {' < '.join(sites)}", "spawned ") if sites else ("", "")
    out.append(f"{'  ' * depth}task {number}{label}  {word(task['state'])}, {doing(task, kernel)}{stands}{reason}  "
               f"polls {int(task['polls'])}  {spawned}{site_in(task)}")
    for name, site, _ in stack:
        out.append(f"{'  ' * (depth + 1)}in {name or 'a coroutine without a symbol'}  {site}")


def tell_region(region, kernel, depth, out):
    name = name_in(region) or ("root" if int(region["parent"]) == 0 else "")
    label = f"'{name}'" if name_in(region) else name
    out.append(f"{'  ' * depth}region {int(region['id']['value'])} {label}  {word(region['state'])}".rstrip())
    for task in elements(region["tasks"], gdb.lookup_type("asx::detail::task_record")):
        tell_task(task, kernel, depth + 1, out)
    for child in elements(region["children"], gdb.lookup_type("asx::detail::region_record")):
        tell_region(child, kernel, depth + 1, out)


class asx_command(gdb.Command):
    """asx tasks [runtime]: regions, tasks, what they wait for, and the coroutines that await each other."""

    def __init__(self):
        super().__init__("asx", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        verb, _, of = argument.strip().partition(" ")
        if verb != "tasks":
            raise gdb.GdbError("there is `asx tasks [runtime]`")
        kernel = kernel_of(of.strip())
        if kernel is None:
            raise gdb.GdbError(f"'{of}' is no runtime of asx and no kernel")
        out = [f"now {seconds(int(kernel['now_']['ns']))}, {int(kernel['live_tasks_'])} tasks live"]
        tell_region(kernel["root_"].dereference(), kernel, 0, out)
        gdb.write("\n".join(out) + "\n")


asx_command()
gdb.printing.register_pretty_printer(None, printers(), replace=True)
