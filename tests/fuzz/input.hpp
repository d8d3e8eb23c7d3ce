// tests/fuzz/input.hpp - reads numbers from a fuzzer's bytes; when they run out every number is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

class fuzz_input {
 public:
  fuzz_input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }
  std::uint64_t number(unsigned bytes) {
    std::uint64_t n = 0;
    for (unsigned i = 0; i < bytes; ++i) n = (n << 8) | byte();
    return n;
  }
  /// 0 when the limit is.
  std::uint32_t below(std::uint32_t limit) {
    if (limit == 0) return 0;
    return static_cast<std::uint32_t>((limit <= 256 ? byte() : number(2)) % limit);
  }

 private:
  std::span<const std::uint8_t> rest_;
};
