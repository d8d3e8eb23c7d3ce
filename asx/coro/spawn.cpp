#include "asx/coro/spawn.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#if defined(__cpp_rtti) && defined(__has_include)
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>

#include <typeinfo>
#define ASX_HAS_TYPE_NAMES 1
#endif
#endif

namespace asx::detail {

void tell_exception([[maybe_unused]] std::span<char> out) noexcept {
#if defined(__cpp_exceptions)
  const char* text = "";
  const auto tell = [&](const char* type) {
    std::snprintf(out.data(), out.size(), *text == 0 ? "%s" : "%s: %s", type, text);
  };
  try {
    throw;
  } catch (const std::exception& e) {
    text = e.what() == nullptr ? "" : e.what();
#if defined(ASX_HAS_TYPE_NAMES)
    int failed = 0;
    char* const type = abi::__cxa_demangle(typeid(e).name(), nullptr, nullptr, &failed);
    tell(type == nullptr ? typeid(e).name() : type);
    std::free(type);
#else
    tell("an exception");
#endif
  } catch (...) {
    tell("an exception that is no std::exception");
  }
#endif
}

void panic_with_exception(cx& c) noexcept {
  std::array<char, 160> said{};
  tell_exception(said);
  extension::panic(c, said.data());
}

}  // namespace asx::detail
