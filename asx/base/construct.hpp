// asx/base/construct.hpp - std::construct_at, destroy_at and addressof, without all of <memory>: smart pointers bring
// streams and locales with them, a tenth of what a program that includes asx.hpp takes to compile.
//
// Laws, cancel points, threads, lifetime: those of the standard functions.
#pragma once

#include <version>

#if defined(__GLIBCXX__)
#include <bits/stl_construct.h>  // IWYU pragma: export
#else
#include <memory>  // IWYU pragma: export
#endif
