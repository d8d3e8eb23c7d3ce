#!/usr/bin/env python3
"""Common mistakes are told in a sentence: the first line with `error:` is one that a person understands.

    errors_test.py <compiler> [<compiler> ...]     from the root of the tree; a compiler that is absent is named and left out

Each snippet is a whole program with one mistake. Its twin, with the mistake mended, must compile, so that no snippet is
wrong for another reason than the one it is here for.
"""
import shutil
import subprocess
import sys

HEAD = """#include <asx/asx.hpp>
#include <coroutine>
#include <memory>
#include <string>
using namespace asx;
task<int> worker(cx, int n) { co_return n; }
struct order { int number; std::string text; };
"""

# name, the mistake, the same mended, what the first error says, compilers that see it (None: all)
CASES = [
    ("a coroutine without a cx",
     "task<int> f(int n) { co_return n; }",
     "task<int> f(cx, int n) { co_return n; }",
     "the first parameter of a coroutine that returns asx::task is asx::cx", None),
    ("a member coroutine without a cx",
     "struct s { task<> f(int, int) { co_return; } };",
     "struct s { task<> f(cx, int, int) { co_return; } };",
     "the first parameter of a coroutine that returns asx::task is asx::cx", None),
    ("a task where a function is wanted",
     "task<> f(cx c) { auto s = spawn(c, worker(c, 1)); co_return; }",
     "task<> f(cx c) { auto s = spawn(c, worker, 1); co_return; }",
     "pass the function and its arguments, not the task that it returned", None),
    ("a region around a task",
     "task<> f(cx c) { co_await region(c, worker(c, 1)); }",
     "task<> f(cx c) { co_await region(c, worker, 1); }",
     "pass the function and its arguments, not the task that it returned", None),
    ("a limit on a task",
     "task<> f(cx c) { co_await with_timeout(c, duration::seconds(1), worker(c, 1)); }",
     "task<> f(cx c) { co_await with_timeout(c, duration::seconds(1), worker, 1); }",
     "pass the function and its arguments, not the task that it returned", None),
    ("a function that is no coroutine",
     "int g(cx) { return 1; } task<> f(cx c) { co_await start(c, g); }",
     "task<int> g(cx) { co_return 1; } task<> f(cx c) { co_await start(c, g); }",
     "it must return an asx::task<T>", None),
    ("a function that takes other arguments",
     "task<> f(cx c) { co_await start(c, worker, std::string()); }",
     "task<> f(cx c) { co_await start(c, worker, 1); }",
     "it cannot be called with a cx and these arguments", None),
    ("a reference parameter",
     "task<> g(cx, int& n) { ++n; co_return; } task<> f(cx c) { int n = 0; co_await start(c, g, n); }",
     "task<> g(cx, int* n) { ++*n; co_return; } task<> f(cx c) { int n = 0; co_await start(c, g, &n); }",
     "it cannot be called with a cx and these arguments", None),
    ("a buffer as an argument",
     "task<> g(cx, const char*) { co_return; } task<> f(cx c) { char b[9] = {}; co_await start(c, g, b); }",
     "task<> g(cx, const char*) { co_return; } task<> f(cx c) { co_await start(c, g, \"text\"); }",
     "an array is not copied into the task", None),
    ("an argument that cannot be moved",
     "struct s { s() {} s(s&&) = delete; }; task<> g(cx, s&&) { co_return; }"
     "task<> f(cx c) { co_await start(c, g, s()); }",
     "struct s {}; task<> g(cx, s) { co_return; } task<> f(cx c) { co_await start(c, g, s()); }",
     "arguments are moved into the task, and one of these cannot be", None),
    ("something foreign that is awaited",
     "task<> f(cx) { co_await std::suspend_always(); }",
     "task<> f(cx) { co_await yield(); }",
     "this cannot be awaited in an asx::task", None),
    ("a number that is awaited",
     "task<> f(cx) { co_await 3; }",
     "task<> f(cx) { co_await sleep(duration{3}); }",
     "this cannot be awaited in an asx::task", None),
    ("a task that has a name",
     "task<> f(cx c) { auto t = worker(c, 1); co_await t; }",
     "task<> f(cx c) { auto t = worker(c, 1); co_await std::move(t); }",
     "a task that has a name is awaited once, and moved for it", None),
    ("an operation that has a name",
     "task<> f(cx) { auto op = yield(); co_await op; }",
     "task<> f(cx) { auto op = yield(); co_await std::move(op); }",
     "an operation is awaited where it is made, or moved", None),
    ("a task that is thrown away",
     "task<> f(cx c) { worker(c, 1); co_return; }",
     "task<> f(cx c) { co_await worker(c, 1); }",
     "a task runs when it is awaited or spawned", None),
    ("a refusal that nobody sees",
     "task<> f(cx c) { spawn(c, worker, 1); co_return; }",
     "task<> f(cx c) { co_await start(c, worker, 1); }",
     "a refused spawn must be seen", None),
    ("a lambda that owns its captures, inside an await",
     "task<> f(cx c) { std::string t; co_await start(c, [t](cx) -> task<> { co_return; }); }",
     "task<> f(cx c) { std::string t; auto g = [t](cx) -> task<> { co_return; }; co_await start(c, moved(g)); }",
     "a lambda that owns what it captured must have a name here", "g++-12"),
    ("an aggregate that owns something, inside an await",
     "task<> f(cx, sender<order>& tx) { co_await send(tx, order{1, \"tea\"}); }",
     "task<> f(cx, sender<order>& tx) { auto o = order{1, \"tea\"}; co_await send(tx, moved(o)); }",
     "an aggregate that owns something must have a name here", "g++-12"),
]


def compile_text(compiler, text):
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I.", "-x", "c++", "-"],
                          input=HEAD + text + "\n", capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def is_old_gcc(compiler):
    done = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True)
    macros = dict(line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.count(" ") >= 2)
    return "__clang__" not in macros and int(macros.get("__GNUC__", "99")) < 13


def judge(compiler):
    wrong, seen = [], 0
    for name, mistake, mended, says, only in CASES:
        code, told = compile_text(compiler, mended)
        if code != 0:
            wrong.append(f"{compiler}: {name}: the mended program does not compile:\n{told[:600]}")
        if only is not None and not is_old_gcc(compiler):
            continue
        code, told = compile_text(compiler, mistake)
        seen += 1
        first = next((line for line in told.splitlines() if "error:" in line), "")
        if code == 0:
            wrong.append(f"{compiler}: {name}: it compiles")
        elif says not in first:
            wrong.append(f"{compiler}: {name}: the first error should say '{says}', and is:\n  {first}")
    return wrong, seen


def main():
    compilers = sys.argv[1:]
    if not compilers:
        sys.exit(__doc__)
    wrong, asked = [], 0
    for compiler in compilers:
        if shutil.which(compiler) is None:
            print(f"errors: {compiler} is not installed: left out")
            continue
        asked += 1
        found, seen = judge(compiler)
        wrong += found
        print(f"errors: {compiler}: {seen} mistakes, each told in a sentence" if not found else f"errors: {compiler}:")
    for line in wrong:
        print("  " + line)
    if asked == 0:
        print("errors: no compiler was asked")
    sys.exit(1 if wrong or asked == 0 else 0)


if __name__ == "__main__":
    main()
