"""The libraries: how a program of each is built, what must be there for it, and which version was used."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    language: str = "cxx"       # cxx, rust, go
    stem: str = ""              # Of the source; the name if empty.
    flags: tuple = ()
    link: tuple = ()
    header: str = ""            # It must be there,
    package: str = ""           # and comes with this package of Debian.
    tool: str = ""              # Or a tool that must be there.
    version: tuple = ()         # Macros of a header that say the version: (header, macro, ...)
    color: str = "#888888"      # In the picture.

    def uses_asx(self):
        return self.name.startswith("asx")


ASIO = {"header": "asio/experimental/channel.hpp", "package": "libasio-dev", "link": ("-lpthread",),
        "version": ("asio/version.hpp", "ASIO_VERSION")}
LIBRARIES = {lib.name: lib for lib in [
    Library("asx", color="#000000"),
    Library("asx_poll", color="#555555"),
    Library("asx_tasks", color="#333333"),
    Library("asx_worker", stem="asx", flags=("-DBENCH_ONE_WORKER",), color="#444444"),
    Library("asx_reserve", stem="asx", flags=("-DBENCH_RESERVES",), color="#555555"),
    Library("asx_digest", stem="asx", flags=("-DBENCH_JOURNAL=digest_only",), color="#777777"),
    Library("asx_full", stem="asx", flags=("-DBENCH_JOURNAL=full",), color="#bbbbbb"),
    Library("floor", link=("-lpthread",), color="#9aa5b1"),
    Library("priority_queue", color="#b8c0c8"),
    Library("multimap", color="#d0d5da"),
    Library("asio", color="#d1495b", **ASIO),
    Library("asio_try", stem="asio", flags=("-DBENCH_TRY",), color="#f08a98", **ASIO),
    Library("tbb", header="tbb/task_group.h", package="libtbb-dev", link=("-ltbb",),
            version=("tbb/version.h", "TBB_VERSION_MAJOR", "TBB_VERSION_MINOR"), color="#3a7ca5"),
    Library("libuv", header="uv.h", package="libuv1-dev", link=("-luv",),
            version=("uv/version.h", "UV_VERSION_MAJOR", "UV_VERSION_MINOR", "UV_VERSION_PATCH"), color="#7b5ea7"),
    Library("libev", header="ev.h", package="libev-dev", link=("-lev",),
            version=("ev.h", "EV_VERSION_MAJOR", "EV_VERSION_MINOR"), color="#b497d6"),
    Library("tokio", language="rust", tool="cargo", color="#e08e2b"),
    Library("go", language="go", tool="go", color="#2a9d8f"),
]}


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def preprocessed(compiler, text):
    return subprocess.run([compiler, "-E", "-P", "-x", "c++", "-"], input=text, text=True, capture_output=True)


def default_compiler():
    for name in (os.environ.get("CXX"), "g++-12", "g++"):
        if name and shutil.which(name):
            return name
    return "g++"


def why_absent(library, compiler):
    """A sentence, or nothing when it is there."""
    if library.tool and shutil.which(library.tool) is None:
        return f"{library.tool} is not there"
    if library.header and preprocessed(compiler, f"#include <{library.header}>\n").returncode != 0:
        return f"{library.header} is not there; apt-get install {library.package}"
    return ""


def versions(names, compiler):
    """Of the compiler and of the libraries named."""
    found = {"compiler": (output_of([compiler, "--version"]) or "?").splitlines()[0]}
    for name in names:
        library = LIBRARIES.get(name)
        if library is None or name in ("asio_try",):
            continue
        if name == "asx":
            found[name] = output_of(["git", "-C", str(ROOT), "describe", "--always", "--dirty"]) or "?"
        elif library.version:
            header, *macros = library.version
            text = preprocessed(compiler, f"#include <{header}>\n{' '.join(macros)}\n").stdout.strip()
            last = text.splitlines()[-1].replace('"', "") if text else "?"
            if name == "asio" and last.isdigit():
                last = f"{int(last) // 100000} {int(last) // 100 % 1000} {int(last) % 100}"
            found[name] = last.replace(" ", ".")
        elif library.language == "rust":
            found.update(locked_versions())
            found["rustc"] = output_of(["rustc", "--version"]).removeprefix("rustc ").split(" ")[0]
        elif library.language == "go":
            found[name] = output_of(["go", "version"]).removeprefix("go version ")
    return found


def locked_versions():
    found = {}
    for package in (BENCH / "Cargo.lock").read_text().split("[[package]]"):
        for name in ("tokio", "tokio-util"):
            if f'name = "{name}"\n' in package:
                found[name] = package.split('version = "')[1].split('"')[0]
    return found
