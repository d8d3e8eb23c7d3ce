// asx/base/config.hpp - what every other header needs to know about the compiler, and the version of asx.
//
// Laws: none. Cancel points: none. Threads: constants only. Lifetime: none.
#pragma once

#define ASX_VERSION_MAJOR 0
#define ASX_VERSION_MINOR 1
#define ASX_VERSION_PATCH 0

// The library is built with hidden visibility: only what carries ASX_API is part of its binary interface.
#if defined(__GNUC__) || defined(__clang__)
#define ASX_API __attribute__((visibility("default")))
#else
#define ASX_API
#endif

// For the few short ways through a header that are worth more than their size.
#if defined(__GNUC__) || defined(__clang__)
#define ASX_ALWAYS_INLINE inline __attribute__((always_inline))
#define ASX_OUT_OF_THE_WAY __attribute__((noinline))
#else
#define ASX_ALWAYS_INLINE inline
#define ASX_OUT_OF_THE_WAY
#endif

// A hint that what lies there is written soon. Any address will do, and nothing happens when it is wrong.
#if defined(__GNUC__) || defined(__clang__)
#define ASX_FETCH(address) __builtin_prefetch((address), 1)
#else
#define ASX_FETCH(address) static_cast<void>(address)
#endif

// A word that is copied by itself: compilers join copies of neighbours, and a load of two words waits long for two
// stores of one that were just made.
#if defined(__GNUC__) || defined(__clang__)
#define ASX_ONE_WORD(word) __asm__("" : "+r"(word))
#else
#define ASX_ONE_WORD(word) static_cast<void>(word)
#endif
