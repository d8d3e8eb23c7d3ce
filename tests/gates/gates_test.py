#!/usr/bin/env python3
"""Plants one broken rule at a time in a copy of the tree: each gate must fail and say what to do.

    tests/gates/gates_test.py PATH_OF_SPEC_TABLES COMPILER       from the repository root
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path.cwd()
SPEC_TABLES = pathlib.Path(sys.argv.pop(1)).resolve()
COMPILER = sys.argv.pop(1)


class a_broken_rule(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree = pathlib.Path(self.folder.name)
        shutil.copytree(ROOT / "asx", self.tree / "asx")
        shutil.copytree(ROOT / "docs", self.tree / "docs")
        shutil.copytree(ROOT / "conformance", self.tree / "conformance")
        shutil.copy(ROOT / "LAYERS", self.tree / "LAYERS")
        for page in ROOT.glob("*.md"):
            shutil.copy(page, self.tree)

    def tearDown(self):
        self.folder.cleanup()

    def plant(self, path, text):
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def run_tool(self, *command):
        run = subprocess.run(command, capture_output=True, text=True, cwd=self.tree)
        return run.returncode, run.stdout + run.stderr

    def layers(self, *more):
        return self.run_tool(sys.executable, str(ROOT / "tools/layers.py"), *more)

    def assert_refused(self, result, *parts):
        code, text = result
        self.assertEqual(code, 1, text)
        for part in parts:
            self.assertIn(part, text)

    def test_the_tree_as_it_is_passes(self):
        self.assertEqual(self.layers()[0], 0, self.layers()[1])

    def test_an_upward_include_is_refused(self):
        self.plant("asx/base/upward.hpp", '#pragma once\n#include "asx/model/status.hpp"\n')
        self.assert_refused(self.layers(), "asx/base/upward.hpp:2: upward include", "turn the dependency round")

    def test_a_sideways_include_is_refused(self):
        self.plant("asx/wheel/probe_a.hpp", "#pragma once\n")
        self.plant("asx/sched/probe_b.hpp", '#pragma once\n#include "asx/wheel/probe_a.hpp"\n')
        self.assert_refused(self.layers(), "asx/sched/probe_b.hpp:2: sideways include", "a layer below")

    def test_a_private_header_of_another_component_is_refused(self):
        self.plant("asx/base/detail/secret.hpp", "#pragma once\n")
        self.plant("asx/model/peek.hpp", '#pragma once\n#include "asx/base/detail/secret.hpp"\n')
        self.assert_refused(self.layers(), "asx/model/peek.hpp:2", "private to base")

    def test_an_include_of_nothing_is_refused(self):
        self.plant("asx/model/lost.hpp", '#pragma once\n#include "asx/base/nowhere.hpp"\n')
        self.assert_refused(self.layers(), "asx/base/nowhere.hpp, which does not exist")

    def test_a_clock_in_the_kernel_is_refused(self):
        self.plant("asx/kernel/clocked.cpp", "#include <chrono>\nauto t() { return std::chrono::steady_clock::now(); }\n")
        self.assert_refused(self.layers(), "asx/kernel/clocked.cpp:2", "reads a clock", "clock port")

    def test_threads_entropy_hash_tables_and_thread_locals_are_refused(self):
        for line, what in [("#include <thread>", "threading header"), ("std::mutex m;", "uses threads"),
                           ("thread_local int x;", "keeps state in a thread"),
                           ("std::random_device d;", "draws entropy"), ("int r = rand();", "draws entropy"),
                           ("#include <unordered_map>", "hash table"),
                           ("std::unordered_set<int> s;", "hash table"), ("std::hash<int> h;", "standard library"),
                           ("auto n = std::time(nullptr);", "reads a clock")]:
            self.plant("asx/kernel/probe.cpp", f"// banner\n{line}\n")
            self.assert_refused(self.layers(), "asx/kernel/probe.cpp:2", what)

    def test_words_in_comments_and_strings_are_not_code(self):
        self.plant("asx/kernel/probe.cpp", '// std::thread is banned\nconst char* s = "steady_clock::now()";\n')
        self.assertEqual(self.layers()[0], 0, self.layers()[1])

    def test_a_drive_may_use_the_machine(self):
        self.plant("asx/runtime/drive_threads.cpp", "#include <thread>\n")
        self.assertEqual(self.layers()[0], 0, self.layers()[1])
        self.plant("asx/runtime/step.cpp", "#include <thread>\n")
        self.assert_refused(self.layers(), "asx/runtime/step.cpp:1")

    def test_an_atomic_that_stress_would_not_disturb_is_refused(self):
        self.plant("asx/runtime/drive_probe.cpp", "// std::atomic<int>\nstd::atomic<int> word;\n")
        self.assert_refused(self.layers(), "asx/runtime/drive_probe.cpp:2", "use atomic_word")

    def test_a_folder_that_LAYERS_does_not_know_is_refused(self):
        self.plant("asx/attic/old.hpp", "#pragma once\n")
        self.assert_refused(self.layers(), "component 'attic' is not in LAYERS")

    def test_a_header_that_does_not_compile_alone_is_refused(self):
        for part in (self.tree / "asx").iterdir():  # The others are compiled by a gate of their own.
            if part.is_dir() and part.name not in ("base", "model"):
                shutil.rmtree(part)
        self.plant("asx/model/needy.hpp", "#pragma once\nnamespace asx { inline std::string forgot; }\n")
        self.assert_refused(self.layers("--headers", COMPILER, "-std=c++20"), "asx/model/needy.hpp: does not compile alone",
                            "include what it uses")

    def test_a_compiler_that_is_not_there_is_told(self):
        code, text = self.layers("--headers", "no-such-compiler")
        self.assertEqual(code, 2, text)
        self.assertIn("cannot run no-such-compiler", text)

    def test_a_way_round_the_words_is_refused_too(self):
        for line in ("auto t = time(nullptr);", "auto c = clock();", "void f() { sleep(1); }", "std::minstd_rand r;",
                     "using namespace std; unordered_map<int, int> m;", "std::set<int*> s;", "std::map<void*, int> m;",
                     "#include <random>", "#include <ctime>"):
            self.plant("asx/kernel/probe.cpp", f"// banner\n{line}\n")
            self.assert_refused(self.layers(), "asx/kernel/probe.cpp:2")

    def test_an_include_that_does_not_start_at_the_root_is_refused(self):
        for include in ("../model/status.hpp", "status.hpp", "tests/fuzz/input.hpp"):
            self.plant("asx/base/probe.hpp", f'#pragma once\n#include "{include}"\n')
            self.assert_refused(self.layers(), "asx/base/probe.hpp:2", "start at the include root")

    def test_a_stale_diagram_is_refused(self):
        page = self.tree / "docs/spec/lifecycles.md"
        page.write_text(page.read_text().replace("T1", "T99", 1))
        self.assert_refused(self.run_tool(str(SPEC_TABLES), "--check", "docs/spec"), "docs/spec/lifecycles.md: stale",
                            "run ./x docs")

    def test_a_law_that_no_page_names_is_refused(self):
        for page in (self.tree / "docs/spec").glob("*.md"):
            page.write_text(page.read_text().replace("INV-CH-06", "that law"))
        self.assert_refused(self.run_tool(sys.executable, str(ROOT / "tools/spec_check.py")), "INV-CH-06")

    # ---- which fixture and which test shows a law

    def coverage(self, *more):
        return self.run_tool(sys.executable, str(ROOT / "tools/coverage_table.py"), *more)

    def plant_fixtures(self, **changed):
        """A file for every fixture; `changed` maps an id, with _ for -, to its fields, or None for no file."""
        shutil.rmtree(self.tree / "conformance/fixtures", ignore_errors=True)
        shutil.copytree(ROOT / "tests", self.tree / "tests")
        for row in json.loads((self.tree / "conformance/catalog.json").read_text())["fixtures"]:
            fields = changed.get(row["id"].replace("-", "_"), {})
            if fields is not None:
                fixture = {"scenario_dsl_version": 1, "id": row["id"], "domain": row["domain"], "pins": ["R-01"], **fields}
                self.plant(f"conformance/fixtures/{row['domain']}/{row['id']}.json", json.dumps(fixture))
        self.coverage()

    def test_laws_that_are_all_shown_pass(self):
        self.plant_fixtures(ch_fifo_001={"pins": ["INV-CH-02", "004 s1.4"]})
        code, text = self.coverage("--check")
        self.assertEqual(code, 0, text)
        self.assertIn("147 of 147 fixtures", text)
        page = (self.tree / "docs/spec/coverage.md").read_text()
        self.assertIn("| `ch-fifo-001` | [ch-fifo-001.json](../../conformance/fixtures/channel/ch-fifo-001.json) |", page)
        self.assertIn("\n| INV-CH-02 | `ch-fifo-001` | ", page)

    def test_a_fixture_without_a_file_is_refused(self):
        self.plant_fixtures(tm_skip_001=None)
        self.assert_refused(self.coverage("--check"), "conformance/fixtures/timer: tm-skip-001 has no file")

    def test_a_law_that_nothing_shows_is_refused(self):
        self.plant_fixtures()
        for test in (self.tree / "asx").glob("**/*_test.cpp"):
            text = test.read_text().replace("FB-302", "it").replace("fb_302", "it")
            if "FB-300 to" in text:
                text = text.replace("FB-300 to FB-304", "others")
            test.write_text(text)
        self.coverage()
        self.assert_refused(self.coverage("--check"), "no fixture pins FB-302 and no test names it")

    def test_a_fixture_that_contradicts_the_catalogue_is_refused(self):
        self.plant_fixtures(ch_fifo_001={"id": "ch-fifo-999"}, tm_skip_001={"pins": ["R-999"]},
                            tm_wrap_001={"same_as": "tm-none-001"}, sc_edf_001={"domain": "timer"}, sc_steal_001={"id": "sc-edf-001"})
        self.assert_refused(self.coverage("--check"), "ch-fifo-999 is no fixture of the catalogue", "it pins R-999, which does not exist",
                            "same_as tm-none-001, which is no file", "domain 'timer', the catalogue says 'scheduler'",
                            "sc-edf-001 has a file already")

    def test_a_stale_coverage_page_is_refused(self):
        self.plant_fixtures()
        page = self.tree / "docs/spec/coverage.md"
        page.write_text(page.read_text().replace("INV-CH-01", "INV-CH-99", 1))
        self.assert_refused(self.coverage("--check"), "docs/spec/coverage.md: stale; run ./x docs")

    def test_a_ruling_that_names_a_test_which_is_gone_is_refused(self):
        self.plant_fixtures()
        rulings = self.tree / "docs/spec/rulings.md"
        text = rulings.read_text()
        for name in ("`r258_…`", "`asx/chan/oneshot_test.cpp`"):
            self.assertIn(f"Test: {name}", text)
        rulings.write_text(text.replace("Test: `r258_…`", "Test: `r2580_…`")
                           .replace("Test: `asx/chan/oneshot_test.cpp`", "Test: `asx/chan/threeshot_test.cpp`"))
        self.assert_refused(self.coverage("--check"), "R-258 is shown by r2580_…, which is no test of asx/chan/broadcast_test.cpp",
                            "is shown by asx/chan/threeshot_test.cpp, which does not exist")

    def test_a_row_of_the_state_machines_that_names_nothing_is_refused(self):
        self.plant_fixtures()
        data = self.tree / "conformance/invariants/task.json"
        data.write_text(data.read_text().replace('"R-16"', '"R-1616"', 2))
        self.assert_refused(self.coverage("--check"), "conformance/invariants/task.json: TF01 names R-1616")

    # ---- faults that are planted (./x mutate)

    def test_a_fault_whose_text_is_gone_is_told(self):
        shutil.copytree(ROOT / "tools", self.tree / "tools")
        tool = [sys.executable, str(ROOT / "tools/mutate.py"), "--check"]
        self.assertEqual(self.run_tool(*tool)[0], 0)
        source = self.tree / "asx/wheel/timer_wheel_expiry.cpp"
        source.write_text(source.read_text().replace("now_ = later(now_, now);", "now_ = std::max(now_, now);"))
        self.assert_refused(self.run_tool(*tool), "asx/wheel/timer_wheel_expiry.cpp", "occurs 0 times, not once", "adapt the row")

    # ---- loops on a cancel path (FB-203)

    def cancel_loops(self, *more):
        return self.run_tool(sys.executable, str(ROOT / "tools/cancel_loops.py"), *more)

    def loop_in_poll(self, loop, head="poll_result serve(void* self, cx& c)"):
        self.plant("user.cpp", f"{head} {{\n{loop}\n  return poll_result::ready;\n}}\n")
        return self.cancel_loops("user.cpp")

    def test_the_loops_of_this_tree_pass(self):
        result = self.cancel_loops("--also", "unwind,run_finalizers", "asx/kernel", "asx/runtime")
        self.assertEqual(result[0], 0, result[1])

    def test_a_loop_of_the_kernels_unwinding_that_says_no_bound_is_refused(self):
        source = self.tree / "asx/kernel/kernel_tasks.cpp"
        source.write_text(source.read_text().replace("// asx: bounded by max_cleanup_per_task", ""))
        self.assert_refused(self.cancel_loops("--also", "unwind", "asx/kernel"), "asx/kernel/kernel_tasks.cpp:",
                            "`while` in kernel::unwind")

    def test_a_loop_on_a_cancel_path_that_never_looks_is_refused(self):
        for loop in ("  while (more()) work();",
                     "  for (;;) { work(); }",
                     "  for (auto& x : many) { use(x); }",
                     "  for (std::size_t i = 0; i < size; ++i) sum += i;",
                     "  for (int i = 0; i < 1'000'000; ++i) work();",
                     "  for (int i = 0; i < 10 || more(); ++i) work();",
                     "  do { work(); } while (more());",
                     "  while (more()) { // checkpoint() is never called\n say(\"return\"); }",
                     "  while (more()) { each([](int x) { return x; }); }",
                     "  while (more()) { switch (next()) { case 1: break; } }",
                     "  while (more()) { for (;;) { break; } }"):
            self.assert_refused(self.loop_in_poll(loop), "user.cpp:2: `", "in serve", "FB-203", "call checkpoint()",
                                "// asx: bounded")

    def test_a_loop_that_looks_or_leaves_or_is_bounded_passes(self):
        for loop in ("  while (more()) { if (c.checkpoint() != status::ok) return poll_result::ready; }",
                     "  while (!c.is_cancelled()) work();",
                     "  for (;;) { co_await next(); }",
                     "  for (;;) { if (done()) break; }",
                     "  for (auto& x : many) { if (x == 3) return poll_result::ready; }",
                     "  for (int i = 0; i < 16; ++i) work();",
                     "  for (int i = 8; i > 0; --i) work();",
                     "  for (int x : {1, 2, 3}) work(x);",
                     "  do { work(); } while (false);",
                     "  while (more()) work();  // asx: bounded by the size of a page",
                     "  // asx: bounded by the size of a page\n  while (more()) work();"):
            code, text = self.loop_in_poll(loop)
            self.assertEqual(code, 0, f"{loop}\n{text}")

    def test_every_shape_of_a_cancel_path_is_seen(self):
        loop = "  while (more()) work();"
        for head in ("poll_result serve(void* self, asx::cx& c) noexcept", "auto f = [&](cx& c)",
                     "auto f = [](cx &c) mutable -> poll_result", "task<int> serve(cx& c, int n)",
                     "status undo(void* context)", "status last(void* x, region_handle r, kernel& k)",
                     "void a::b::serve(cx& c) const noexcept", "worker::worker(cx& c) : a_(c), b_{1}"):
            self.assert_refused(self.loop_in_poll(loop, head), "user.cpp:2")
        for head in ("int plain(int n)", "void declared(cx& c);\nint plain(int n)", "int with_copy(cx c)"):
            self.assertEqual(self.loop_in_poll(loop, head)[0], 0, head)

    def test_cancel_loops_answers_programs_and_refuses_wrong_calls(self):
        self.plant("user.cpp", "void f(cx& c) {\n  for (;;) work();\n}\n")
        code, text = self.cancel_loops("--json", "user.cpp")
        self.assertEqual(code, 1, text)
        told = json.loads(text)
        self.assertEqual(told["files"], 1)
        self.assertEqual([(f["file"], f["line"], f["function"], f["loop"]) for f in told["findings"]],
                         [("user.cpp", 2, "f", "for")])
        for call in ((), ("nowhere.cpp",), ("--what", "user.cpp")):
            self.assertEqual(self.cancel_loops(*call)[0], 2, call)

    def test_what_only_the_second_compiler_sees_is_told(self):
        if shutil.which("clang-19") is None:
            self.skipTest("clang-19 is not here")
        self.plant("a.c", "int f(int x) {\n  int y;\n  if (x && (y = x)) return y;\n  return y;\n}\n")
        self.plant("b.c", "int g(void);\nint g(void) { return 0; }\n")
        command = "gcc-12 -Wall -MD -MT x.o -MF x.d -o x.o -c "
        self.plant("commands.json", json.dumps([{"directory": str(self.tree), "file": str(self.tree / f), "command": command + f}
                                                for f in ("a.c", "b.c")]))
        tool = str(ROOT / "tools/second_compiler.py")
        self.assert_refused(self.run_tool(sys.executable, tool, "commands.json", "*.c"), "a.c: Clang has something to say",
                            "-Wsometimes-uninitialized")
        code, text = self.run_tool(sys.executable, tool, "commands.json", "b.c")
        self.assertEqual((code, text), (0, "second_compiler: not a word of 1 sources\n"))
        self.assertEqual(self.run_tool(sys.executable, tool, "commands.json", "c.c")[0], 2)
        self.assertEqual(self.run_tool(sys.executable, tool, "nowhere.json", "b.c")[0], 2)

    def test_only_the_command_may_include_an_example(self):
        self.plant("asx/cli/probe.cpp", '#include "examples/order_service.hpp"\n')
        self.assertEqual(self.layers()[0], 0, self.layers()[1])
        self.plant("asx/lab/probe.cpp", '#include "examples/order_service.hpp"\n')
        self.assert_refused(self.layers(), "asx/lab/probe.cpp:1", "quoted includes start at the include root")


class a_page(unittest.TestCase):
    """Pages of a small tree of their own, with an example that is a script."""

    CODE = "int before;\n// cut: part\nint shown;\n  // cut: inner\n  int nested;\n  // end: inner\n// end: part\n"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree = pathlib.Path(self.folder.name)
        for folder in ("docs/guide", "examples", "bin"):
            (self.tree / folder).mkdir(parents=True)
        (self.tree / "examples/small.cpp").write_text(self.CODE)
        self.program("small", "echo hello")
        (self.tree / "README.md").write_text(
            "<!-- file: examples/small.cpp -->\n```cpp\nint before;\nint shown;\n  int nested;\n```\n"
            "\n<!-- output: small -->\n```\nhello\n```\n")

    def tearDown(self):
        self.folder.cleanup()

    def program(self, name, script):
        path = self.tree / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def judged(self, text, *more):
        page = self.tree / "docs/guide/page.md"
        page.write_text(text)
        run = subprocess.run([sys.executable, str(ROOT / "tools/readme_check.py"), "bin", *more], capture_output=True,
                             text=True, cwd=self.tree)
        return run.returncode, run.stdout + run.stderr, page.read_text()

    def refused(self, text, *parts):
        code, said, _ = self.judged(text)
        self.assertEqual(code, 1, said)
        for part in parts:
            self.assertIn(part, said)

    def test_what_is_true_passes(self):
        code, said, _ = self.judged("# Page\n\n<!-- cut: examples/small.cpp part -->\n```cpp\nint shown;\n  int nested;\n```\n"
                                    "See [it](../../README.md#top) and `[](no_link)`.\n")
        self.assertEqual((code, said), (0, "pages: 3 blocks of code and output are what is compiled and printed\n"))

    def test_a_cut_is_moved_to_the_left(self):
        code, said, _ = self.judged("<!-- cut: examples/small.cpp inner -->\n```cpp\nint nested;\n```\n")
        self.assertEqual(code, 0, said)

    def test_code_that_differs_is_refused_and_mended(self):
        lie = "<!-- cut: examples/small.cpp inner -->\n```cpp\nint other;\n```\n"
        self.refused(lie, "docs/guide/page.md:1: differs from the cut examples/small.cpp inner", "--fix")
        code, said, text = self.judged(lie, "--fix")
        self.assertEqual(code, 0, said)
        self.assertIn("1 were mended", said)
        self.assertEqual(text, lie.replace("other", "nested"))

    def test_output_that_was_not_printed_is_refused(self):
        self.refused("<!-- output: small -->\n```\ngoodbye\n```\n", "page.md:1: differs from the output small")
        self.program("small", "echo hello; echo broken >&2; exit 3")
        self.refused("", "README.md:8: the example 'small' ends with 3: broken")
        (self.tree / "bin/small").unlink()
        self.refused("", "the example 'small' cannot be run")

    def test_a_mark_that_names_nothing_is_refused(self):
        block = "```cpp\n```\n"
        self.refused(f"<!-- cut: examples/small.cpp prat -->\n{block}", "0 cuts called 'prat'; it has: part, inner")
        self.refused(f"<!-- cut: examples/gone.cpp part -->\n{block}", "cannot read 'examples/gone.cpp'")
        self.refused(f"<!-- file: docs/guide/page.md -->\n{block}", "which are compiled")

    def test_the_guide_has_no_block_that_nothing_checks(self):
        self.refused("Text\n\n```cpp\nint lie;\n```\n", "docs/guide/page.md:3: a block that nothing checks")
        self.refused("See [it](gone.md).\n", "page.md:1: the link 'gone.md' leads nowhere")

    def test_every_example_is_shown_or_named(self):
        (self.tree / "examples/lonely.cpp").write_text("int main() {}\n")
        self.refused("", "examples/lonely.cpp: no page shows or names it")
        self.assertEqual(self.judged("`examples/lonely.cpp`\n")[0], 0)

    def test_an_answer_that_is_awaited_in_a_condition_has_a_name(self):
        (self.tree / "asx/coro").mkdir(parents=True)
        header = self.tree / "asx/coro/near.hpp"
        for shape in ("while (co_await recv(rx)) go();", "if (!co_await recv(rx)) go();", "switch (co_await kind()) {"):
            header.write_text(f"// asx/coro/near.hpp\n//     {shape}\n")
            self.refused("", "asx/coro/near.hpp:2: `", "GCC 12 miscompiles", "name the answer")
            header.write_text("//     while (const auto m = co_await recv(rx)) go();\n")
            self.refused(f"Write `{shape}`\n", "docs/guide/page.md:1: `")
            (self.tree / "examples/small.cpp").write_text(f"{self.CODE}// {shape}\n")
            self.refused("", "examples/small.cpp:8: `")
            (self.tree / "examples/small.cpp").write_text(self.CODE)
        self.assertEqual(self.judged("Awaits in the condition of an `if`.\n")[0], 0)

    def test_an_example_is_short(self):
        page = "`examples/long.cpp`\n"
        (self.tree / "examples/long.cpp").write_text("int i;\n" * 60)
        self.assertEqual(self.judged(page)[0], 0)
        (self.tree / "examples/long.cpp").write_text("int i;\n" * 61)
        self.refused(page, "examples/long.cpp: 61 lines; an example has at most 60")


if __name__ == "__main__":
    unittest.main(verbosity=1)
