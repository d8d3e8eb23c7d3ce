// asx/base/refer.hpp - std::reference_wrapper and std::ref, without all of <functional>: what that has for searching
// brings hash tables and algorithms with it.
//
// Laws, cancel points, threads, lifetime: those of the standard class.
#pragma once

#include <version>

#if defined(__GLIBCXX__)
#include <bits/refwrap.h>  // IWYU pragma: export
#else
#include <functional>  // IWYU pragma: export
#endif
