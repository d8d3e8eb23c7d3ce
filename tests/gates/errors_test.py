#!/usr/bin/env python3
"""Common mistakes are told in a sentence: the first line with `error:` is one that a person understands.

    errors_test.py <compiler> [<compiler> ...]     from the root of the tree; a compiler that is absent is named and left out

Each snippet is a whole program with one mistake. Its twin, with the mistake mended, must compile, so that no snippet is
wrong for another reason than the one it is here for.

Who awaits mostly wants what it gives. So each mistake that is awaited, and its value dropped, is made once more with
the value in a variable: what follows from the mistake is told behind it, too.

A guard that is awaited and dropped is gone at once. Clang says so; GCC does not, and docs/guide does.

Nor does the sentence drown: what a compiler adds of its own - where a template was called, what it would rather have -
fits a screen or two, and mostly half of one (stdexec_1719_errors_are_unreadable).
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEAD = """#include <asx/asx.hpp>
#include <coroutine>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>
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
    ("a value that is kept and has a pointer in it",
     "task<> f(cx, blocking_pool* p) { co_await blocking_kept(*p, [] { return std::string(); }); }",
     "task<> f(cx, blocking_pool* p) { co_await blocking(*p, [] { return std::string(); }); }",
     "a value that is kept is a number, an enumeration", None),
    ("a value that is kept and has gaps",
     "task<> f(cx, blocking_pool* p) { struct s { char c; int i; }; co_await blocking_kept(*p, [] { return s{}; }); }",
     "task<> f(cx, blocking_pool* p) { struct s { int c; int i; }; co_await blocking_kept(*p, [] { return s{}; }); }",
     "a value that is kept is a number, an enumeration", None),
    ("a reference parameter",
     "task<> g(cx, int& n) { ++n; co_return; } task<> f(cx c) { int n = 0; co_await start(c, g, n); }",
     "task<> g(cx, int* n) { ++*n; co_return; } task<> f(cx c) { int n = 0; co_await start(c, g, &n); }",
     "it cannot be called with a cx and these arguments", None),
    ("an argument that is converted for a reference",
     "task<> g(cx, const std::string&) { co_return; } task<> f(cx c) { co_await start(c, g, \"tea\"); }",
     "task<> g(cx, const std::string&) { co_return; } task<> f(cx c) { co_await start(c, g, std::string(\"tea\")); }",
     "an argument would be converted for a reference parameter", None),
    ("an argument that is converted for a reference of a function that was moved",
     "task<> f(cx c) { auto g = [](cx, const std::string&) -> task<> { co_return; };"
     "co_await start(c, moved(g), \"tea\"); }",
     "task<> f(cx c) { auto g = [](cx, const std::string&) -> task<> { co_return; };"
     "co_await start(c, moved(g), std::string(\"tea\")); }",
     "an argument would be converted for a reference parameter", None),
    ("an argument that is converted for a reference of a function that throws nothing",
     "task<> f(cx c) { auto g = [](cx, const std::string&) noexcept -> task<int> { co_return 1; };"
     "co_await region(c, g, \"tea\"); }",
     "task<> f(cx c) { auto g = [](cx, const std::string&) noexcept -> task<int> { co_return 1; };"
     "co_await region(c, g, std::string(\"tea\")); }",
     "an argument would be converted for a reference parameter", None),
    ("a reference that is left to its default",
     "task<> f(cx c) { co_await start(c, [](cx, int, const std::string& = \"tea\") -> task<> { co_return; }, 1); }",
     "task<> f(cx c) { co_await start(c, [](cx, int, std::string = \"tea\") -> task<> { co_return; }, 1); }",
     "one is left to its default", None),
    ("a buffer as an argument",
     "task<> g(cx, const char*) { co_return; } task<> f(cx c) { char b[9] = {}; co_await start(c, g, b); }",
     "task<> g(cx, const char*) { co_return; } task<> f(cx c) { co_await start(c, g, \"text\"); }",
     "an array is not copied into the task", None),
    ("an argument that cannot be moved",
     "struct s { s() {} s(s&&) = delete; }; task<> g(cx, s&&) { co_return; }"
     "task<> f(cx c) { co_await start(c, g, s()); }",
     "struct s {}; task<> g(cx, s) { co_return; } task<> f(cx c) { co_await start(c, g, s()); }",
     "arguments are moved into the task, and one of these cannot be", None),
    ("a task that gives a reference",
     "task<int&> f(cx) { static int n; co_return n; }",
     "task<int*> f(cx) { static int n; co_return &n; }",
     "a task gives a value, or nothing", None),
    ("a task that gives an array",
     "task<int[3]> f(cx) { co_return {}; }",
     "task<std::vector<int>> f(cx) { co_return std::vector<int>(3); }",
     "a task gives a value, or nothing", None),
    ("something foreign that is awaited",
     "task<> f(cx) { co_await std::suspend_always(); }",
     "task<> f(cx) { co_await yield(); }",
     "this cannot be awaited in an asx::task", None),
    ("a number that is awaited",
     "task<> f(cx) { co_await 3; }",
     "task<> f(cx) { co_await sleep(duration{3}); }",
     "a number cannot be awaited", None),
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
    ("a receiver that is awaited itself",
     "task<> f(cx, receiver<int>& rx) { co_await rx; }",
     "task<> f(cx, receiver<int>& rx) { co_await recv(rx); }",
     "co_await recv(rx)", None),
    ("an attempt of a receiver",
     "task<> f(cx, receiver<int>& rx) { (void)co_await attempt(std::move(rx)); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await attempt(recv(rx)); }",
     "co_await recv(rx)", None),
    ("an attempt of what was awaited already",
     "task<> f(cx, receiver<int>& rx) { (void)co_await attempt(co_await recv(rx)); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await attempt(recv(rx)); }",
     "this cannot be awaited in an asx::task", None),
    ("a handle that is awaited itself",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); co_await h; }",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); co_await join(h); }",
     "co_await join(h)", None),
    ("a value of another thread that has a name",
     "task<> f(cx c) { auto m = foreign_value<int>(c); co_await m.future; }",
     "task<> f(cx c) { auto m = foreign_value<int>(c); co_await std::move(m.future); }",
     "an operation is awaited where it is made, or moved", None),
    ("a sleep of a number",
     "task<> f(cx) { co_await sleep(100); }",
     "task<> f(cx) { co_await sleep(duration::milliseconds(100)); }",
     "co_await sleep(asx::duration::seconds(1))", None),
    ("a sleep of a number that the C library takes as it is",
     "#include <unistd.h>\ntask<> f(cx) { co_await sleep(100U); }",
     "#include <unistd.h>\ntask<> f(cx) { co_await sleep(duration::milliseconds(100)); }",
     "co_await sleep(asx::duration::seconds(1))", None),
    ("a sleep of a number that nobody awaits",
     "task<> f(cx) { sleep(100); co_return; }",
     "task<> f(cx) { co_await sleep(duration::milliseconds(100)); }",
     "co_await sleep(asx::duration::seconds(1))", None),
    ("a sleep with a cx",
     "task<> f(cx c) { co_await sleep(c, duration{1}); }",
     "task<> f(cx) { co_await sleep(duration{1}); }",
     "an operation takes no cx", None),
    ("a receive with a cx",
     "task<> f(cx c, receiver<int>& rx) { co_await recv(c, rx); }",
     "task<> f(cx, receiver<int>& rx) { co_await recv(rx); }",
     "an operation takes no cx", None),
    ("a send with a cx",
     "task<> f(cx c, sender<int>& tx) { co_await send(c, tx, 1); }",
     "task<> f(cx, sender<int>& tx) { co_await send(tx, 1); }",
     "an operation takes no cx", None),
    ("a reserve with a cx",
     "task<> f(cx c, sender<int>& tx) { (co_await reserve(c, tx)).abort(); }",
     "task<> f(cx, sender<int>& tx) { (co_await reserve(tx)).abort(); }",
     "an operation takes no cx", None),
    ("a join with a cx",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); co_await join(c, h); }",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); co_await join(h); }",
     "an operation takes no cx", None),
    ("a lock with a cx",
     "task<> f(cx c, mutex<int> m) { auto held = co_await lock(c, m); }",
     "task<> f(cx, mutex<int> m) { auto held = co_await lock(m); }",
     "an operation takes no cx", None),
    ("units with a cx",
     "task<> f(cx c, semaphore s) { auto held = co_await acquire(c, s, 2); }",
     "task<> f(cx, semaphore s) { auto held = co_await acquire(s, 2); }",
     "an operation takes no cx", None),
    ("a wait with a cx",
     "task<> f(cx c, notify n) { co_await wait(c, n); }",
     "task<> f(cx, notify n) { co_await wait(n); }",
     "an operation takes no cx", None),
    ("a mask with a cx",
     "task<> f(cx c) { const auto quiet = co_await mask(c); }",
     "task<> f(cx) { const auto quiet = co_await mask(); }",
     "an operation takes no cx", None),
    ("a start without a cx",
     "task<> f(cx) { co_await start(worker, 1); }",
     "task<> f(cx c) { co_await start(c, worker, 1); }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("a spawn without a cx",
     "task<> f(cx) { auto [code, h] = spawn(worker, 1); co_return; }",
     "task<> f(cx c) { auto [code, h] = spawn(c, worker, 1); co_return; }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("a region without a cx",
     "task<> f(cx) { co_await region([](cx) -> task<> { co_return; }); }",
     "task<> f(cx c) { co_await region(c, [](cx) -> task<> { co_return; }); }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("a limit without a cx",
     "task<> f(cx) { co_await with_timeout(duration{1}, worker, 1); }",
     "task<> f(cx c) { co_await with_timeout(c, duration{1}, worker, 1); }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("a limit of a cleanup without a cx",
     "task<> f(cx) { co_await within(duration{1}, worker, 1); }",
     "task<> f(cx c) { co_await within(c, duration{1}, worker, 1); }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("a finalizer without a cx",
     "task<> g(cx); task<> f(cx) { co_await finally(g); }",
     "task<> g(cx); task<> f(cx c) { co_await finally(c, g); }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("an argument that can only be moved, and is not",
     "task<> g(cx, receiver<int>); task<> f(cx c, receiver<int> rx) { co_await start(c, g, rx); }",
     "task<> g(cx, receiver<int>); task<> f(cx c, receiver<int> rx) { co_await start(c, g, std::move(rx)); }",
     "one of these can only be moved: std::move(rx)", None),
    ("an argument of a region that can only be moved, and is not",
     "task<> g(cx, std::unique_ptr<int>); task<> f(cx c, std::unique_ptr<int> p) { co_await region(c, g, p); }",
     "task<> g(cx, std::unique_ptr<int>); task<> f(cx c, std::unique_ptr<int> p) { co_await region(c, g, std::move(p)); }",
     "one of these can only be moved: std::move(rx)", None),
    ("an argument of a limit that can only be moved, and is not",
     "task<> g(cx, receiver<int>); task<> f(cx c, receiver<int> rx) { co_await with_timeout(c, duration{1}, g, rx); }",
     "task<> g(cx, receiver<int>);"
     "task<> f(cx c, receiver<int> rx) { co_await with_timeout(c, duration{1}, g, std::move(rx)); }",
     "one of these can only be moved: std::move(rx)", None),
    ("a message that can only be moved, and is not",
     "task<> f(cx, sender<std::unique_ptr<int>> tx, std::unique_ptr<int> p) { co_await send(tx, p); }",
     "task<> f(cx, sender<std::unique_ptr<int>> tx, std::unique_ptr<int> p) { co_await send(tx, std::move(p)); }",
     "this one can only be moved: send(tx, std::move(m))", None),
    ("a text where numbers are sent",
     "task<> f(cx, sender<std::uint64_t> tx) { co_await send(tx, \"text\"); }",
     "task<> f(cx, sender<std::uint64_t> tx) { co_await send(tx, 5); }",
     "this does not become a message of that channel by itself", None),
    ("a base where what is derived from it is sent",
     "struct b {}; struct d : b {}; task<> f(cx, sender<d*> tx, b* p) { co_await send(tx, p); }",
     "struct b {}; struct d : b {}; task<> f(cx, sender<b*> tx, d* p) { co_await send(tx, p); }",
     "this does not become a message of that channel by itself", None),
    ("a fraction handed over where whole numbers are",
     "task<> f(cx, rendezvous_sender<int> tx) { co_await hand_over(tx, 3.9); }",
     "task<> f(cx, rendezvous_sender<int> tx) { co_await hand_over(tx, 3); }",
     "this does not become a message of that channel by itself", None),
    # ---- combinators
    ("a race of tasks",
     "task<> f(cx c) { (void)co_await race(c, worker(c, 1), worker(c, 2)); }",
     "task<> f(cx c) { auto g = [](cx own) { return worker(own, 1); }; (void)co_await race(c, g, g); }",
     "pass the function, and not the task that it returned", None),
    ("join_all of operations",
     "task<> f(cx c, receiver<int>& rx) { co_await join_all(c, recv(rx), sleep(duration{1})); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select(recv(rx), sleep(duration{1})); }",
     "this takes functions that run as tasks, and not operations", None),
    ("a race of lambdas without a cx",
     "task<> f(cx c) { (void)co_await race(c, []() -> int { return 1; }); }",
     "task<> f(cx c) { (void)co_await race(c, [](cx) -> task<int> { co_return 1; }); }",
     "it cannot be called with a cx alone", None),
    ("first_ok of functions that take more",
     "task<> f(cx c) { (void)co_await first_ok(c, worker, worker); }",
     "task<> f(cx c) { auto g = [](cx own) { return worker(own, 1); }; (void)co_await first_ok(c, g, g); }",
     "it cannot be called with a cx alone", None),
    ("a race of functions that are no coroutines",
     "int g(cx) { return 1; } task<> f(cx c) { (void)co_await race(c, g, g); }",
     "task<int> g(cx) { co_return 1; } task<> f(cx c) { (void)co_await race(c, g, g); }",
     "it must return an asx::task<T>", None),
    ("a race of different types",
     "task<int> a(cx); task<std::string> b(cx); task<> f(cx c) { (void)co_await race(c, a, b); }",
     "task<int> a(cx); task<int> b(cx); task<> f(cx c) { (void)co_await race(c, a, b); }",
     "those who compete give the same type", None),
    ("first_ok of different types",
     "task<int> a(cx); task<> b(cx); task<> f(cx c) { (void)co_await first_ok(c, a, b); }",
     "task<int> a(cx); task<int> b(cx); task<> f(cx c) { (void)co_await first_ok(c, a, b); }",
     "those who compete give the same type", None),
    ("a race without a cx",
     "task<int> a(cx); task<> f(cx) { (void)co_await race(a, a); }",
     "task<int> a(cx); task<> f(cx c) { (void)co_await race(c, a, a); }",
     "the first argument is the cx", None),
    ("a race of nobody",
     "task<> f(cx c) { (void)co_await race(c); }",
     "task<int> a(cx); task<> f(cx c) { (void)co_await race(c, a); }",
     "there must be somebody to wait for", None),
    ("a quorum without a number",
     "task<int> a(cx); task<> f(cx c) { (void)co_await quorum(c, a, a, a); }",
     "task<int> a(cx); task<> f(cx c) { (void)co_await quorum(c, 2, a, a, a); }",
     "how many are enough comes before the functions", None),
    ("a quorum of tasks",
     "task<> f(cx c) { (void)co_await quorum(c, 1, worker(c, 1), worker(c, 2)); }",
     "task<int> a(cx); task<> f(cx c) { (void)co_await quorum(c, 1, a, a); }",
     "pass the function, and not the task that it returned", None),
    ("a quorum of different types",
     "task<int> a(cx); task<long> b(cx); task<> f(cx c) { (void)co_await quorum(c, 1, a, b); }",
     "task<int> a(cx); task<int> b(cx); task<> f(cx c) { (void)co_await quorum(c, 1, a, b); }",
     "those who compete give the same type", None),
    ("a retry of a task",
     "task<> f(cx c) { co_await retry(c, {.attempts = 2}, worker(c, 1)); }",
     "task<> f(cx c) { co_await retry(c, {.attempts = 2}, [](cx own) { return worker(own, 1); }); }",
     "pass the function, and not the task that it returned", None),
    ("a retry without a policy",
     "task<int> a(cx); task<> f(cx c) { co_await retry(c, a); }",
     "task<int> a(cx); task<> f(cx c) { co_await retry(c, {}, a); }",
     "retry takes a cx, a policy and a function", None),
    ("a retry by a number",
     "task<int> a(cx); task<> f(cx c) { co_await retry(c, 3, a); }",
     "task<int> a(cx); task<> f(cx c) { co_await retry(c, {.attempts = 3}, a); }",
     "retry takes a cx, a policy and a function", None),
    ("for_each without a limit",
     "task<> f(cx c) { std::vector<int> v; co_await for_each(c, v, [](cx, int&) -> task<> { co_return; }, 3); }",
     "task<> f(cx c) { std::vector<int> v; co_await for_each(c, v, 3, [](cx, int&) -> task<> { co_return; }); }",
     "the number of items that are handled at once comes before the function", None),
    ("for_each with a function that takes no item",
     "task<> f(cx c) { std::vector<int> v; co_await for_each(c, v, 3, [](cx) -> task<> { co_return; }); }",
     "task<> f(cx c) { std::vector<int> v; co_await for_each(c, v, 3, [](cx, int) -> task<> { co_return; }); }",
     "the function is called with a cx and an item of the range", None),
    ("for_each with a function that is no coroutine",
     "task<> f(cx c) { std::vector<int> v; co_await for_each(c, v, 3, [](cx, int&) {}); }",
     "task<> f(cx c) { std::vector<int> v; co_await for_each(c, v, 3, [](cx, int&) -> task<> { co_return; }); }",
     "the function is called with a cx and an item of the range", None),
    ("for_each over an array",
     "task<> f(cx c) { int v[3] = {}; co_await for_each(c, v, 3, [](cx, int&) -> task<> { co_return; }); }",
     "task<> f(cx c) { int v[3] = {}; co_await for_each(c, std::span(v), 3, [](cx, int&) -> task<> { co_return; }); }",
     "for_each takes a range that it can keep", None),
    ("a function that can only be moved, and is not",
     "task<> f(cx c) { auto g = [p = std::make_unique<int>()](cx) -> task<int> { co_return *p; };"
     "(void)co_await race(c, g); }",
     "task<> f(cx c) { auto g = [p = std::make_unique<int>()](cx) -> task<int> { co_return *p; };"
     "(void)co_await race(c, moved(g)); }",
     "this one cannot be copied", None),
    # ---- select
    ("a select of tasks",
     "task<> f(cx c) { (void)co_await select(worker(c, 1), sleep(duration{1})); }",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); (void)co_await select(join(h), sleep(duration{1})); }",
     "select waits for operations, and a coroutine runs as a task", None),
    ("a select of functions",
     "task<> g(cx); task<> f(cx) { (void)co_await select(g, sleep(duration{1})); }",
     "task<> g(cx); task<> f(cx c) { (void)co_await race(c, g); }",
     "select waits for operations, and a coroutine runs as a task", None),
    ("a select of a receiver",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select(rx, sleep(duration{1})); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select(recv(rx), sleep(duration{1})); }",
     "select takes operations: recv(rx)", None),
    ("a select of a duration",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select(recv(rx), duration::seconds(1)); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select(recv(rx), sleep(duration::seconds(1))); }",
     "select takes operations: recv(rx)", None),
    ("a select of a handle",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); (void)co_await select(h, sleep(duration{1})); }",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); (void)co_await select(join(h), sleep(duration{1})); }",
     "select takes operations: recv(rx)", None),
    ("a select of an operation that has a name",
     "task<> f(cx, receiver<int>& rx) { auto op = recv(rx); (void)co_await select(op, sleep(duration{1})); }",
     "task<> f(cx, receiver<int>& rx) { auto op = recv(rx); (void)co_await select(std::ref(op), sleep(duration{1})); }",
     "an operation is selected where it is made, or moved", None),
    ("a select of the name of one that does not come back",
     "task<> f(cx, notify n) { auto op = wait(n); (void)co_await select(std::ref(op), sleep(duration{1})); }",
     "task<> f(cx, notify n) { (void)co_await select(wait(n), sleep(duration{1})); }",
     "std::ref in a select is for an operation that can be given up and asked again", None),
    ("a fair select of a receiver",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select_fair(rx, sleep(duration{1})); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select_fair(recv(rx), sleep(duration{1})); }",
     "select takes operations: recv(rx)", None),
    # ---- blocks, limits, links, programs
    ("a region with options around a task",
     "task<> f(cx c) { co_await region(c, {.name = \"b\"}, worker(c, 1)); }",
     "task<> f(cx c) { co_await region(c, {.name = \"b\"}, worker, 1); }",
     "pass the function and its arguments, not the task that it returned", None),
    ("a region around a lambda without a cx",
     "task<> f(cx c) { co_await region(c, []() -> int { return 1; }); }",
     "task<> f(cx c) { co_await region(c, [](cx) -> task<> { co_return; }); }",
     "it cannot be called with a cx and these arguments", None),
    ("a region around an operation",
     "task<> f(cx c, receiver<int>& rx) { co_await region(c, recv(rx)); }",
     "task<> f(cx, receiver<int>& rx) { co_await recv(rx); }",
     "this takes a function that runs as a task, and not an operation", None),
    ("a limit behind the function",
     "task<> f(cx c) { co_await with_timeout(c, worker, duration::seconds(1), 1); }",
     "task<> f(cx c) { co_await with_timeout(c, duration::seconds(1), worker, 1); }",
     "the limit comes before the function, and is an asx::duration", None),
    ("a limit that is a number",
     "task<> f(cx c) { co_await with_timeout(c, 5, worker, 1); }",
     "task<> f(cx c) { co_await with_timeout(c, duration::seconds(5), worker, 1); }",
     "the limit comes before the function, and is an asx::duration", None),
    ("a limit on an operation",
     "task<> f(cx c, receiver<int>& rx) { co_await with_timeout(c, duration{1}, recv(rx)); }",
     "task<> f(cx, receiver<int>& rx) { (void)co_await select(recv(rx), sleep(duration{1})); }",
     "this takes a function that runs as a task, and not an operation", None),
    ("a start with options of a task",
     "task<> f(cx c) { co_await start(c, {.name = \"w\"}, worker(c, 1)); }",
     "task<> f(cx c) { co_await start(c, {.name = \"w\"}, worker, 1); }",
     "pass the function and its arguments, not the task that it returned", None),
    ("a link between results of spawn",
     "task<> f(cx c) { auto a = spawn(c, worker, 1); auto b = spawn(c, worker, 2); (void)link(a, b); co_return; }",
     "task<> f(cx c) { auto a = spawn(c, worker, 1); auto b = spawn(c, worker, 2);"
     "(void)link(a.handle, b.handle); co_return; }",
     "link takes the handles of tasks that were started", None),
    ("a link of one",
     "task<> f(cx c) { auto a = co_await start(c, worker, 1); (void)link(a); }",
     "task<> f(cx c) { auto a = co_await start(c, worker, 1); auto b = co_await start(c, worker, 1); (void)link(a, b); }",
     "a link is between two tasks or more", None),
    ("a join of what spawn gave",
     "task<> f(cx c) { auto s = spawn(c, worker, 1); (void)co_await join(s); }",
     "task<> f(cx c) { auto s = spawn(c, worker, 1); (void)co_await join(s.handle); }",
     "join takes the handle of what spawn gave", None),
    ("a set that is joined",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); (void)co_await join(s); }",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); (void)co_await join_next(s); }",
     "of a set the next that ends is joined", None),
    ("a set that is awaited",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); co_await s; }",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); co_await join_next(s); }",
     "a set is not awaited itself, but one by one", None),
    ("an add of a handle that has a name",
     "task<> f(cx c) { join_set<int> s; auto h = co_await start(c, worker, 1); (void)s.add(h); }",
     "task<> f(cx c) { join_set<int> s; auto h = co_await start(c, worker, 1); (void)s.add(std::move(h)); }",
     "a set takes the handle over", None),
    ("an add of what spawn gave",
     "task<> f(cx c) { join_set<int> s; (void)s.add(spawn(c, worker, 1)); co_return; }",
     "task<> f(cx c) { join_set<int> s; (void)s.add(spawn(c, worker, 1).handle); co_return; }",
     "a set takes the handle of what spawn gave", None),
    ("a set of another type",
     "task<> f(cx c) { join_set<long> s; co_await s.start(c, worker, 1); }",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); }",
     "the tasks of a join_set<T> give a T", None),
    ("a set that starts a task",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker(c, 1)); }",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); }",
     "pass the function and its arguments, not the task that it returned", None),
    ("a set that is started without a cx",
     "task<> f(cx c) { join_set<int> s; co_await s.start(worker, 1); }",
     "task<> f(cx c) { join_set<int> s; co_await s.start(c, worker, 1); }",
     "the first argument is the cx of the coroutine that calls this", None),
    ("join_all of a range without a function",
     "task<> f(cx c, std::vector<int> v) { co_await join_all(c, v); }",
     "task<> f(cx c, std::vector<int> v) { co_await join_all(c, v, worker); }",
     "behind a range stands the function of its items", None),
    ("a race of a range whose function takes something else",
     "task<> f(cx c, std::vector<std::string> v) { (void)co_await race(c, v, worker); }",
     "task<> f(cx c, std::vector<int> v) { (void)co_await race(c, v, worker); }",
     "behind a range stands the function of its items", None),
    ("a quorum of a range whose function is no coroutine",
     "task<> f(cx c, std::vector<int> v) { co_await quorum(c, 2, v, [](cx, int n) { return n; }); }",
     "task<> f(cx c, std::vector<int> v) { (void)co_await quorum(c, 2, v, worker); }",
     "behind a range stands the function of its items", None),
    ("a join of a handle without a name",
     "task<> f(cx c) { (void)co_await join(co_await start(c, worker, 1)); }",
     "task<> f(cx c) { auto h = co_await start(c, worker, 1); (void)co_await join(h); }",
     "a handle that is joined has a name", None),
    ("a program that is no coroutine",
     "int g(cx) { return 1; } int main() { return run(g).is_ok() ? 0 : 1; }",
     "task<int> g(cx) { co_return 1; } int main() { return run(g).is_ok() ? 0 : 1; }",
     "it must return an asx::task<T>", None),
    ("a list that nobody keeps",
     "task<> f(cx, sender<int>& tx) { co_await send_many(tx, std::vector<int>(3)); }",
     "task<> f(cx, sender<int>& tx) { std::vector<int> list(3); co_await send_many(tx, list); }",
     "give it a list with a name", None),
    ("a list that is const",
     "task<> f(cx, sender<int>& tx) { const std::vector<int> list(3); co_await send_many(tx, list); }",
     "task<> f(cx, sender<int>& tx) { std::vector<int> list(3); co_await send_many(tx, std::span(list)); }",
     "send_many takes messages out of a list that lies in one piece and is not const", None),
    ("messages received into one",
     "task<> f(cx, receiver<int>& rx) { int one = 0; co_await recv_many(rx, one, 3); }",
     "task<> f(cx, receiver<int>& rx) { std::vector<int> list; co_await recv_many(rx, list, 3); }",
     "recv_many puts messages into a list of the channel's own type", None),
    ("messages received into a list of others",
     "task<> f(cx, receiver<double>& rx) { std::vector<int> list; co_await recv_many(rx, list, 3); }",
     "task<> f(cx, receiver<double>& rx) { std::vector<double> list; co_await recv_many(rx, list, 3); }",
     "recv_many puts messages into a list of the channel's own type", None),
    ("a piece of something else",
     "void f(cx& c) { parallel(c, [](pieces& p) { p.both([](int) {}, [] {}); }); }",
     "void f(cx& c) { parallel(c, [](pieces& p) { p.both([](pieces&) {}, [] {}); }); }",
     "a piece is called with a pieces&, or with nothing", None),
    ("one piece that returns something",
     "void f(cx& c) { parallel(c, [](pieces& p) { p.both([] { return 1; }, [] {}); }); }",
     "void f(cx& c) { parallel(c, [](pieces& p) { return p.both([] { return 1; }, [] { return 2; }).first; }); }",
     "both gives a pair or nothing: let both functions return something, or neither", None),
    ("a piece that gives a reference",
     "int n; void f(cx& c) { parallel(c, [](pieces& p) { p.both([]() -> int& { return n; }, []() -> int& { return n; }); }); }",
     "int n; void f(cx& c) { parallel(c, [](pieces& p) { p.both([] { return &n; }, [] { return &n; }); }); }",
     "both gives values; a reference may be to what is gone", None),
    ("computing in parallel with nothing to fork by",
     "int f(cx& c) { return parallel(c, [] { return 1; }); }",
     "int f(cx& c) { return parallel(c, [](pieces&) { return 1; }); }",
     "parallel wants a function of a pieces&", None),
    ("each of what is no number",
     "void f(cx& c) { parallel(c, [](pieces& p) { p.each(9, 1, [](std::string) {}); }); }",
     "void f(cx& c) { parallel(c, [](pieces& p) { p.each(9, 1, [](std::size_t) {}); }); }",
     "each calls its function with a number", None),
    ("a sum that is none",
     "int f(cx& c) { return parallel(c, [](pieces& p) { return p.reduce(9, 1, 0, [](std::size_t) { return std::string(); }, std::plus<>()); }); }",
     "int f(cx& c) { return parallel(c, [](pieces& p) { return p.reduce(9, 1, 0, [](std::size_t i) { return int(i); }, std::plus<>()); }); }",
     "reduce calls of(number), and with(sum, what that gave)", None),
    ("a sum of fractions in a whole number",
     "void f(cx& c) { parallel(c, [](pieces& p) { static_cast<void>(p.reduce(9, 1, 0, [](std::size_t) { return 0.5; }, std::plus<>())); }); }",
     "void f(cx& c) { parallel(c, [](pieces& p) { static_cast<void>(p.reduce(9, 1, 0.0, [](std::size_t) { return 0.5; }, std::plus<>())); }); }",
     "the sum would lose its fractions: begin with 0.0", None),
]

# The same, for Clang alone: GCC does not look at what an await gives. With the value kept they are mended.
DROPPED = [
    ("a lock that nobody keeps",
     "task<> f(cx, mutex<int> m) { co_await lock(m); }",
     "task<> f(cx, mutex<int> m) { const auto held = co_await lock(m); }",
     "a guard that nobody keeps unlocks at once"),
    ("a mask that nobody keeps",
     "task<> f(cx) { co_await mask(); }",
     "task<> f(cx) { const auto quiet = co_await mask(); }",
     "a mask lasts as long as its guard"),
    ("a permit that nobody keeps",
     "task<> f(cx, sender<int>& tx) { co_await reserve(tx); }",
     "task<> f(cx, sender<int>& tx) { static_cast<void>((co_await reserve(tx)).send(1)); }",
     "a permit is sent or aborted"),
    ("a tracked permit that nobody keeps",
     "task<> f(cx, tracked_sender<int>& tx) { co_await reserve(tx); }",
     "task<> f(cx, tracked_sender<int>& tx) { static_cast<void>((co_await reserve(tx)).send(1)); }",
     "a tracked permit is sent or aborted"),
    ("units that nobody keeps",
     "task<> f(cx, semaphore s) { co_await acquire(s, 2); }",
     "task<> f(cx, semaphore s) { const auto held = co_await acquire(s, 2); }",
     "units that nobody keeps are given back at once"),
]


MOST_LINES = 150  # Of one mistake,
MOST_ON_AVERAGE = 25  # and of all of them. With senders it is hundreds for each.

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-I."]


def macros_of(compiler):
    done = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True)
    return dict(line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.count(" ") >= 2)


def parse_head(compiler, is_clang, directory):
    """The headers are parsed once: what is compiled behind that takes a tenth of the time."""
    head = pathlib.Path(directory) / "head.hpp"
    head.write_text(HEAD)
    parsed = str(head) + (".pch" if is_clang else ".gch")
    subprocess.run([compiler, *FLAGS, "-x", "c++-header", str(head), "-o", parsed], check=True)
    return ["-include-pch", parsed] if is_clang else ["-include", str(head)]


def compile_text(compiler, head, text):
    done = subprocess.run([compiler, *FLAGS, "-fsyntax-only", *head, "-x", "c++", "-"], input=text + "\n",
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


# The value of what is awaited, where it is dropped: behind a brace, a semicolon, or a cast.
AWAITED = re.compile(r"(?<=[{;])( ?)(?:\(void\))?co_await ")


def mistakes_with_the_value_kept():
    """Each mistake that is awaited and dropped, with its value in a variable."""
    for name, mistake, mended, says, only in CASES:
        kept, changed = AWAITED.subn(r"\1[[maybe_unused]] auto kept = co_await ", mistake)
        if changed == 1:
            yield name + ", and its value kept", kept, None, says, only


def stdexec_1719_errors_are_unreadable(compiler, lines_of):
    """What is wrong with the lengths of what was told: `lines_of` the name of each mistake."""
    wrong = [f"{compiler}: {name}: {lines} lines are told, and {MOST_LINES} are too many"
             for name, lines in lines_of.items() if lines > MOST_LINES]
    average = sum(lines_of.values()) / max(len(lines_of), 1)
    if average > MOST_ON_AVERAGE:
        wrong.append(f"{compiler}: a mistake is told in {average:.0f} lines on average, and {MOST_ON_AVERAGE} are enough")
    return wrong


def judge(compiler, directory):
    wrong, seen, lines_of = [], 0, {}
    macros = macros_of(compiler)
    is_clang = "__clang__" in macros
    is_old_gcc = not is_clang and int(macros.get("__GNUC__", "99")) < 13
    head = parse_head(compiler, is_clang, directory)
    cases = [*CASES, *mistakes_with_the_value_kept()]
    if is_clang:
        cases += [(*case, None) for case in DROPPED]
    for name, mistake, mended, says, only in cases:
        code, told = (0, "") if mended is None else compile_text(compiler, head, mended)
        if code != 0:
            wrong.append(f"{compiler}: {name}: the mended program does not compile:\n{told[:600]}")
        if only is not None and not is_old_gcc:
            continue
        code, told = compile_text(compiler, head, mistake)
        seen += 1
        lines_of[name] = len(told.splitlines())
        first = next((line for line in told.splitlines() if "error:" in line), "")
        if code == 0:
            wrong.append(f"{compiler}: {name}: it compiles")
        elif says not in first:
            wrong.append(f"{compiler}: {name}: the first error should say '{says}', and is:\n  {first}")
    return wrong + stdexec_1719_errors_are_unreadable(compiler, lines_of), seen


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
        with tempfile.TemporaryDirectory() as directory:
            found, seen = judge(compiler, directory)
        wrong += found
        print(f"errors: {compiler}: {seen} mistakes, each told in a sentence" if not found else f"errors: {compiler}:")
    for line in wrong:
        print("  " + line)
    if asked == 0:
        print("errors: no compiler was asked")
    sys.exit(1 if wrong or asked == 0 else 0)


if __name__ == "__main__":
    main()
