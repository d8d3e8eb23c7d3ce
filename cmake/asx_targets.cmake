# How this project's own targets are built. Nothing here reaches a user of asx::asx: the flags sit on an
# interface target that is linked privately and left out of the export.
add_library(asx_build_flags INTERFACE)
target_compile_options(asx_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi>
  # As Clang does: a function of the library calls that of the library, and no other of its name. And two words that are
  # stored one by one are not put together in a register of vectors first: lists are made of such pairs.
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition> $<$<CXX_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="  # Assertions name files as the reader knows them, not where they were built.
  $<$<BOOL:${ASX_WERROR}>:-Werror>)

if(ASX_SANITIZE)
  target_compile_options(asx_build_flags INTERFACE "-fsanitize=${ASX_SANITIZE}" -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(asx_build_flags INTERFACE "-fsanitize=${ASX_SANITIZE}")
  if(ASX_SANITIZE MATCHES "address")
    target_compile_definitions(asx_build_flags INTERFACE ASX_POISONS_POOLS)  # Frames lie in pools of our own.
  endif()
endif()
if(ASX_DISTURBED)
  target_compile_definitions(asx_build_flags INTERFACE ASX_DISTURBED)
endif()
if(ASX_COVERAGE)
  target_compile_options(asx_build_flags INTERFACE --coverage)
  target_link_options(asx_build_flags INTERFACE --coverage)
endif()

# What a user of the library needs: its include root and C++20, no more.
function(asx_usage target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        CXX_EXTENSIONS OFF)
endfunction()

# A component is a folder, and what a file is for is in its name: x.cpp is the library's, x_test.cpp a test,
# x_bench.cpp a benchmark. testing.hpp holds helpers of tests and is not installed.
function(asx_library_sources sources_out headers_out)
  set(sources "")
  set(headers "${PROJECT_SOURCE_DIR}/asx/asx.hpp")
  foreach(component ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/asx/${component}/*.cpp"
         "${PROJECT_SOURCE_DIR}/asx/${component}/detail/*.cpp")
    list(FILTER found EXCLUDE REGEX "_(test|bench)\\.cpp$")
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/asx/${component}/*.h"
         "${PROJECT_SOURCE_DIR}/asx/${component}/*.hpp"
         "${PROJECT_SOURCE_DIR}/asx/${component}/detail/*.hpp")
    list(FILTER found EXCLUDE REGEX "/testing\\.hpp$")
    list(APPEND headers ${found})
  endforeach()
  set(${sources_out} "${sources}" PARENT_SCOPE)
  set(${headers_out} "${headers}" PARENT_SCOPE)
endfunction()

# An executable of this project: our warnings, our sanitizers, C++20, the static library.
# Headers of others that take seconds are parsed once for all files of a target: `asx_parse_once(target <json.hpp> ...)`.
# With these flags, and the sloppiness that ./x asks for, ccache still works.
function(asx_parse_once target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                         "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_precompile_headers(${target} ${ARGN})
endfunction()

function(asx_executable target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE asx::static asx_build_flags)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
