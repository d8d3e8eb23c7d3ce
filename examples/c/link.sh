#!/bin/sh
# Links C programs with asx in each way, into a folder: examples/c/link.sh FOLDER. pkg-config must find asx_c.
set -eu
cd "$(dirname "$0")"
cc="${CC:-cc} -std=c11 $(pkg-config --cflags asx_c)"
archive=$(pkg-config --variable=libdir asx_c)/libasx_c.a

# The shared library.
$cc producer_consumer.c -o "$1/shared" $(pkg-config --libs asx_c)

# The archive. The linker leaves out what is not used, and with it every need for the C++ library.
$cc producer_consumer.c -o "$1/archive" "$archive" -Wl,--gc-sections

# Foreign handles do use it.
$cc host_loop.c -o "$1/archive_with_threads" "$archive" -Wl,--gc-sections -lstdc++ -pthread
