#!/usr/bin/env python3
"""The C interface as a whole: its headers, its symbols, its memory and its binary form.

    tests/gates/capi_test.py SHARED_LIBRARY STATIC_EXAMPLE CC CXX ...      from the repository root

CC and CXX are pairs of compilers; one that is not there is left out. Each failure names what is wrong and what to do.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path.cwd()
LIBRARY = pathlib.Path(sys.argv.pop(1)).resolve()
STATIC = sys.argv.pop(1)
COMPILERS = [c for c in sys.argv[1:] if shutil.which(c)]
sys.argv[1:] = []
HEADERS = sorted((ROOT / "asx/capi").glob("*.h"))
TEXT = "\n".join(h.read_text() for h in HEADERS)
DECLARATION = re.compile(r"/\*((?:(?!\*/).)*)\*/\s*(?:ASX_NODISCARD\s+)?ASX_C_API\s+([^;{}]*?\b(asx_\w+)\([^;{}]*?\));",
                         re.S)


def plain(declaration):
    """On one line, with the stars where the specification has them."""
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", declaration))


DECLARED = {m.group(3): (m.group(1), plain(m.group(2))) for m in DECLARATION.finditer(TEXT)}
# The ten of the specification, word for word.
SIGNATURES = """
asx_status asx_channel_reserve(asx_channel_sender *tx, asx_cx *cx, asx_send_permit *out_permit)
asx_status asx_send_permit_send(asx_send_permit *permit, void *value)
void asx_send_permit_abort(asx_send_permit *permit)
asx_status asx_channel_recv(asx_channel_receiver *rx, asx_cx *cx, void *out_value)
asx_status asx_channel_try_recv(asx_channel_receiver *rx, void *out_value)
asx_status asx_timer_register(asx_timer_wheel *wheel, asx_time deadline, asx_waker waker, asx_timer_handle *out_handle)
asx_status asx_timer_try_register(asx_timer_wheel *wheel, asx_time deadline, asx_waker waker, asx_timer_handle *out_handle)
size_t asx_timer_collect_expired(asx_timer_wheel *wheel, asx_time now, asx_waker *out_wakers, size_t max_wakers)
bool asx_timer_cancel(asx_timer_wheel *wheel, const asx_timer_handle *handle)
asx_timer_handle asx_timer_update(asx_timer_wheel *wheel, const asx_timer_handle *old_handle, asx_time new_deadline, asx_waker waker)
""".strip().splitlines()
# Reports and a log, in memory of the program's own.
TELLING = """
#include "asx/capi/asx.h"
static unsigned char memory[1 << 19];
static size_t told;
static void put(void* to, const char* text, size_t size) { told += to != NULL || text == NULL ? 0 : size; }
static void line(void* to, asx_log_level level, const char* text) { put(to, text, (size_t)level); }
int main(void) {
  asx_runtime* rt;
  asx_runtime_config config;
  if (asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_TINY) != ASX_OK) return 1;
  config.log.log = line;
  if (asx_runtime_create_in(memory, sizeof memory, &config, &rt) != ASX_OK) return 2;
  if (asx_runtime_describe(rt, put, NULL) != ASX_OK || asx_runtime_describe_json(rt, put, NULL) != ASX_OK) return 3;
  return told == 0 || asx_runtime_destroy(rt) != ASX_OK;
}
"""
ALLOCATORS = re.compile(r"\b(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|_Zn[wa]\w*|_Zd[la]\w*)\b")


RIGHT_CALLS = ROOT / "asx/capi/testing/right_calls.hpp"


def code_of(*files):
    """Without comments and texts: only what is called there."""
    text = "\n".join(f.read_text() for f in files)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def not_called(names, code):
    return [name for name in names if not re.search(rf"\b{name}\(", code)]


def nm(*words):
    return subprocess.run(["nm", *words], capture_output=True, text=True, check=True).stdout


def cpp_libraries(program):
    """Those of them that it needs at run time."""
    needed = subprocess.run(["readelf", "-d", str(program)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED.*\[(libstdc\+\+[^]]*|libc\+\+[^]]*|libgcc_s[^]]*)\]", needed)


class the_c_interface(unittest.TestCase):
    def test_each_header_compiles_as_c11_and_as_cpp20(self):
        self.assertTrue(COMPILERS, "no compiler was given that is there")
        for compiler in COMPILERS:
            is_cpp = "++" in compiler
            for header in HEADERS:
                name = header.relative_to(ROOT).as_posix()
                run = subprocess.run([compiler, "-x", "c++" if is_cpp else "c", "-std=c++20" if is_cpp else "-std=c11",
                                      "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I.", "-"],
                                     input=f'#include "{name}"\nint main(void) {{ return 0; }}\n', capture_output=True,
                                     text=True)
                self.assertEqual(run.returncode, 0, f"{compiler}: {name} does not compile alone:\n{run.stderr}")

    def test_a_compiler_that_makes_enums_short_is_refused(self):
        for compiler in COMPILERS:
            if "++" in compiler:
                continue  # There an enum has its width from the header.
            run = subprocess.run([compiler, "-x", "c", "-std=c11", "-fshort-enums", "-fsyntax-only", "-I.", "-"],
                                 input='#include "asx/capi/asx.h"\n', capture_output=True, text=True)
            self.assertIn("an enum is an int", run.stderr, f"{compiler}: structs would be torn apart, and nobody says so")

    def test_the_ten_signatures_are_the_specifications(self):
        for signature in SIGNATURES:
            name = re.search(r"asx_\w+(?=\()", signature).group()
            self.assertEqual(DECLARED.get(name, ("", ""))[1], signature, f"{name} must stay as the specification has it")

    def test_every_function_says_what_it_keeps_where_it_cancels_and_who_may_call_it(self):
        self.assertGreater(len(DECLARED), 100)
        self.assertEqual(len(re.findall(r"^(?:ASX_NODISCARD )?ASX_C_API ", TEXT, re.M)), len(DECLARED), "a declaration without a comment")
        for name, (comment, _) in DECLARED.items():
            for line in ("Keeps: ", "Cancel point: ", "Thread: "):
                self.assertIn(line, re.sub(r"\s*\n \* ", " ", comment), f"{name}: say `{line}...` in its comment")

    def test_every_function_is_tested(self):
        tests = code_of(*(ROOT / "asx/capi").glob("*_test.c*"), RIGHT_CALLS)
        self.assertEqual(not_called(DECLARED, tests), [], "called by no test of asx/capi")

    def test_every_function_of_the_runtimes_thread_is_refused_to_strangers(self):
        calls = code_of(RIGHT_CALLS)
        of_the_thread = [name for name, (comment, _) in DECLARED.items()
                         if "Thread: the runtime's" in re.sub(r"\s*\n \* ", " ", comment)]
        self.assertGreater(len(of_the_thread), 90)
        self.assertEqual(not_called(of_the_thread, calls), [], f"add right calls to {RIGHT_CALLS.relative_to(ROOT)}")

    def test_every_function_is_fuzzed(self):
        fuzzed = code_of(*(ROOT / "tests/fuzz").glob("capi*"))
        self.assertEqual(not_called(DECLARED, fuzzed), [], "called by no fuzzer: tests/fuzz/capi*")

    def test_the_library_exports_these_functions_and_nothing_else(self):
        exported = {line.split()[-1] for line in nm("-D", "--defined-only", str(LIBRARY)).splitlines()}
        self.assertEqual(exported, set(DECLARED), "cmake/asx_c.map and the headers must agree")

    def test_the_shared_library_needs_no_cpp_library(self):
        if STATIC == "-":
            self.skipTest("a sanitizer needs it")
        self.assertEqual(cpp_libraries(LIBRARY), [], "cmake/asx_c.cmake links it into the library; is there a static one?")

    def test_the_first_program_of_the_header_compiles_and_greets(self):
        comment = re.match(r"/\*(.*?)\*/", (ROOT / "asx/capi/asx.h").read_text(), re.S).group(1)
        program = "".join(line[7:].rstrip() + "\n" for line in comment.splitlines() if re.match(r" \*(     |$)", line))
        self.assertIn("int main(void)", program, "the header begins with a whole program, five spaces from its star")
        for compiler in (c for c in COMPILERS if "++" not in c):
            with tempfile.TemporaryDirectory() as folder:
                link = ["-c", "-o", f"{folder}/hello.o"]
                if STATIC != "-":
                    link = ["-x", "none", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}", "-o", f"{folder}/hello"]
                run = subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", "-x", "c", "-",
                                      *link], input=program, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, f"{compiler}: the first program of asx.h:\n{run.stderr}")
                if STATIC != "-":
                    run = subprocess.run([f"{folder}/hello"], capture_output=True, text=True, timeout=60)
                    self.assertEqual((run.returncode, run.stdout), (0, "hello\n"))

    def test_programs_are_linked_as_the_guide_shows(self):
        if STATIC == "-" or not shutil.which("pkg-config"):
            self.skipTest("no pkg-config, or a build that brings more libraries")
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "include").symlink_to(ROOT)
            (here / "lib").symlink_to(LIBRARY.parent)
            (here / "asx_c.pc").write_text(f"libdir={here}/lib\nName: asx_c\nDescription: as it was built\nVersion: 0\n"
                                           f"Libs: -L{here}/lib -lasx_c\nCflags: -I{here}/include\n")
            known = {**os.environ, "PKG_CONFIG_PATH": folder, "LD_LIBRARY_PATH": str(LIBRARY.parent),
                     "CC": next(c for c in COMPILERS if "++" not in c)}
            run = subprocess.run(["sh", "examples/c/link.sh", folder], env=known, capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, f"examples/c/link.sh:\n{run.stderr}")
            for name in ("shared", "archive"):
                run = subprocess.run([here / name], env=known, capture_output=True, text=True, timeout=60)
                self.assertEqual((run.returncode, run.stdout.splitlines()[-1:]), (0, ["  took 5"]), name)
                self.assertEqual(cpp_libraries(here / name), [], f"{name} needs a C++ library")

    def test_a_program_with_its_own_memory_links_no_allocator(self):
        if STATIC == "-":
            self.skipTest("this build brings an allocator of its own")
        symbols = nm(STATIC)
        self.assertFalse(ALLOCATORS.findall(symbols), "something on the way drags the heap in; keep it apart")
        self.assertEqual(cpp_libraries(STATIC), [], "a C program needs no C++ library")

    def test_reports_and_a_log_need_no_allocator_either(self):
        archive = LIBRARY.with_name("libasx_c.a")
        if STATIC == "-" or not archive.exists():
            self.skipTest("there is no static library without an allocator of its own")
        compiler = next(c for c in COMPILERS if "++" not in c)
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "telling"
            run = subprocess.run([compiler, "-x", "c", "-std=c11", "-I.", "-", "-x", "none", str(archive),
                                  "-Wl,--gc-sections", "-o", str(program)], input=TELLING, capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, f"it needs the C++ library:\n{run.stderr}")
            self.assertFalse(ALLOCATORS.findall(nm(str(program))), "a report or a line asks for memory; write it to a port")
            self.assertEqual(subprocess.run([str(program)]).returncode, 0)

    def test_the_binary_interface_is_the_one_that_is_kept(self):
        if not shutil.which("abidiff"):
            self.assertNotEqual(os.environ.get("CI"), "true", "abigail-tools are not there; ./x installs them")
            self.skipTest("abigail-tools are not there")
        kept = ROOT / "abi/libasx_c.abi"
        with tempfile.TemporaryDirectory() as folder:
            now = pathlib.Path(folder) / "now.abi"
            dump(now)
            if "ASX_KEEP_ABI" in os.environ:
                shutil.copy(now, kept)
            run = subprocess.run(["abidiff", str(kept), str(now)], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, "the binary interface has changed; if that is decided, keep the new one: "
                         f"ASX_KEEP_ABI=1 and this test again\n{run.stdout}{run.stderr}")


def dump(into):
    """What the headers promise, by a library of C that does nothing: what C++ does inside is no part of it."""
    compiler = next(c for c in COMPILERS if "++" not in c)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "promise.c"
        source.write_text('#include "asx/capi/asx.h"\n'
                          + "".join(f"{d} {{ __builtin_trap(); }}\n" for _, d in sorted(DECLARED.values(), key=lambda v: v[1])))
        library = pathlib.Path(folder) / "libasx_c.so"
        subprocess.run([compiler, "-std=c11", "-g", "-O0", "-shared", "-fPIC", "-I.", f"-ffile-prefix-map={folder}=.",
                        f"-ffile-prefix-map={ROOT}=.", str(source), "-o", str(library)], check=True)
        subprocess.run(["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--type-id-style", "hash",
                        "--out-file", str(into), str(library)], check=True)


if __name__ == "__main__":
    unittest.main()
