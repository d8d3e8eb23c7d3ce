#!/usr/bin/env bash
# Builds a foreign program against asx in every way there is - find_package (static and shared), add_subdirectory,
# FetchContent, pkg-config - runs it, and checks that nothing of asx's own build leaks into it.
#
#     tests/consumer/run.sh      from the repository root; works in build/consumer
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly root=$PWD work=$PWD/build/consumer prefix=$PWD/build/consumer/prefix
rm -rf "$work"
mkdir -p "$work"

fail() { printf 'consumer: %s\n' "$*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; fail "failed: $*"; }; }
runs() { [[ $("$@") == "err full" ]] || fail "$* did not print 'err full'"; }

# Nothing but what every consumer must have may stand on the compiler's command line of main.cpp.
clean_flags() {  # clean_flags BUILD_FOLDER
  local command
  command=$(grep -o '"command": ".*main\.cpp.*"' "$1/compile_commands.json")
  if grep -qE -- '-W[a-z]|-Werror|-fsanitize|-fvisibility|--coverage|-fno-|-D[A-Z]' <<<"$command"; then
    fail "flags leak into the consumer: $command"
  fi
}

export CXX=${CXX:-g++-12}
quietly cmake -S . -B "$work/asx" -G Ninja -DASX_BUILD_TESTS=OFF -DASX_BUILD_CLI=OFF -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/asx"
quietly cmake --install "$work/asx" --prefix "$prefix"
[[ -z $(find "$prefix" -name '*_test*' -o -name 'testing.hpp') ]] || fail "tests were installed"
[[ -f $prefix/share/asx/gdb/asx_gdb.py ]] || fail "gdb's script was not installed"
readelf -d "$prefix"/lib*/libasx.so 2>/dev/null | grep -q 'SONAME.*libasx\.so\.0\.1' || readelf -d "$(find "$prefix" -name libasx.so)" | grep -q 'SONAME.*libasx\.so\.0\.1' || fail "libasx.so has no versioned soname"
exported=$(nm -DC --defined-only "$(find "$prefix" -name libasx.so)" | awk '$2 ~ /[TWVB]/' | grep -v ' asx::' | grep -vE ' (_init|_fini|std::|typeinfo|vtable)' || true)
[[ -z $exported ]] || fail "symbols outside asx:: are visible: $exported"

for form in static shared; do
  quietly cmake -S tests/consumer/find_package -B "$work/find_$form" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    "-DBUILD_SHARED_LIBS=$([[ $form == shared ]] && echo ON || echo OFF)" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  quietly cmake --build "$work/find_$form"
  runs "$work/find_$form/consumer"
  clean_flags "$work/find_$form"
  linked=$(readelf -d "$work/find_$form/consumer" | grep -c 'NEEDED.*libasx' || true)
  [[ $linked == $([[ $form == shared ]] && echo 1 || echo 0) ]] || fail "find_package took the wrong form for $form"
  readelf -d "$work/find_$form/consumer" | grep -q 'NEEDED.*xxhash' && fail "xxHash is needed at run time"
  echo "consumer: find_package, $form: ok"
done

# Compatible versions only: before 1.0 another minor version is another interface.
mkdir -p "$work/version"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(v CXX)\nfind_package(asx 0.2 CONFIG REQUIRED)\n' >"$work/version/CMakeLists.txt"
if cmake -S "$work/version" -B "$work/version/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
  fail "find_package(asx 0.2) was satisfied by 0.1"
fi

for way in OFF ON; do
  quietly cmake -S tests/consumer/add_subdirectory -B "$work/sub_$way" -G Ninja -DASX_SOURCE="$root" \
    -DUSE_FETCH_CONTENT=$way -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  quietly cmake --build "$work/sub_$way"
  runs "$work/sub_$way/consumer"
  clean_flags "$work/sub_$way"
  [[ -z $(find "$work/sub_$way" -name 'libasx.so*' -o -name 'test_*') ]] || fail "a sub-project builds more than it was asked for"
  echo "consumer: $([[ $way == ON ]] && echo FetchContent || echo add_subdirectory): ok"
done

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name asx.pc)")
export PKG_CONFIG_PATH
# pkg-config escapes spaces for a shell, so a shell reads its answer.
eval "pkg_flags=($(pkg-config --cflags --libs asx))"
libdir=$(dirname "$(find "$prefix" -name libasx.so)")
quietly "$CXX" -std=c++20 tests/consumer/main.cpp -o "$work/pkg" "${pkg_flags[@]}" "-Wl,-rpath,$libdir"
runs "$work/pkg"
[[ $(pkg-config --modversion asx) == 0.1.0 ]] || fail "pkg-config reports the wrong version"
eval "pkg_flags=($(pkg-config --cflags asx))"
[[ ${#pkg_flags[@]} == 1 && ${pkg_flags[0]} == -I* && -f ${pkg_flags[0]#-I}/asx/asx.hpp ]] || fail "pkg-config gives wrong flags: ${pkg_flags[*]}"
echo "consumer: pkg-config: ok"

# The C interface by itself: a C compiler, no C++ in sight.
eval "pkg_flags=($(pkg-config --cflags --libs asx_c))"
quietly "${CC:-gcc-12}" -std=c11 examples/c/timer_loop.c -o "$work/pkg_c" "${pkg_flags[@]}" "-Wl,-rpath,$libdir"
[[ $("$work/pkg_c" | tail -n 1) == "the tea can not be cancelled any more" ]] || fail "a C program with pkg-config does not run"
if [[ $prefix != *" "* ]]; then  # As the guide shows it, which quotes no folders.
  mkdir -p "$work/linked"
  quietly env CC="${CC:-gcc-12}" sh examples/c/link.sh "$work/linked"
  [[ $("$work/linked/archive" | tail -n 1) == "  took 5" ]] || fail "a C program with the archive does not run"
  needed=$(readelf -d "$work/linked/archive" "$work/linked/shared" "$libdir/libasx_c.so" | grep 'NEEDED.*libstdc++' || true)
  [[ -z $needed ]] || fail "a C program needs the C++ library: $needed"
fi
exported=$(nm -D --defined-only "$(find "$prefix" -name libasx_c.so)" | awk '{print $3}' | grep -v '^asx_' || true)
[[ -z $exported ]] || fail "libasx_c.so shows more than asx_*: $exported"
mkdir -p "$work/c"
cat >"$work/c/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(c_consumer C CXX)
find_package(asx 0.1 CONFIG REQUIRED)
add_executable(consumer "$root/examples/c/timer_loop.c")
target_link_libraries(consumer PRIVATE asx::c)
TEXT
quietly cmake -S "$work/c" -B "$work/c/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/c/build"
"$work/c/build/consumer" >/dev/null || fail "a C program with find_package does not run"
echo "consumer: C: ok"

# The package may be moved: nothing in it names where it was built or first installed.
if grep -rIl "$root" "$prefix" >"$work/log"; then fail "installed files name the build folder: $(cat "$work/log")"; fi
if grep -aq "$root" "$(find "$prefix" -name libasx.so)"; then fail "libasx.so names the source folder"; fi
mv "$prefix" "$work/moved"
quietly cmake -S tests/consumer/find_package -B "$work/moved_build" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved"
quietly cmake --build "$work/moved_build"
runs "$work/moved_build/consumer"
echo "consumer: moved prefix: ok"
