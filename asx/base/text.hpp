// asx/base/text.hpp - where a report's text goes, piece by piece, without a string that could ask for memory.
//
//     out << "task " << number << "  " << name << '\n'
//
// A port is two words, so that C can make one, and a runtime that lives in memory of its caller's can describe itself.
//
// Cancel points: none. Threads: one owner. Lifetime: the context outlives the port's users.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace asx {

struct text_port {
  void* context = nullptr;
  void (*put)(void* context, std::string_view text) = nullptr;

  void operator()(std::string_view text) const { put(context, text); }

  const text_port& operator<<(std::string_view text) const {
    put(context, text);
    return *this;
  }
  /// In decimal.
  const text_port& operator<<(std::uint64_t number) const {
    std::array<char, 20> digits{};
    std::size_t at = digits.size();
    do {  // asx: bounded by the digits of a number
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << std::string_view(digits.data() + at, digits.size() - at);
  }
};

}  // namespace asx
