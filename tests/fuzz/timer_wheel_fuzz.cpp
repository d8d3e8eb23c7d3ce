// tests/fuzz/timer_wheel_fuzz.cpp - bytes become operations; the wheel must do what the model does.
//
// The first byte picks a scenario, the rest answer the draws of operation_source one after another. A difference
// prints the last operations and aborts, so that the fuzzer keeps the input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/wheel/testing/driver.hpp"

namespace {

// Draws from the input: as few bytes as the bound needs, little end first; nothing but zeros after the end.
class byte_draws {
 public:
  byte_draws(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  std::uint64_t next_below(std::uint64_t bound) {
    std::uint64_t value = 0;
    std::uint64_t most = bound - 1;
    for (unsigned shift = 0; most != 0 && left_ != 0; shift += 8, most >>= 8) {
      value |= static_cast<std::uint64_t>(*data_++) << shift;
      --left_;
    }
    return value % bound;
  }

  [[nodiscard]] bool is_empty() const { return left_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

void expect_none(const std::string& difference) {
  if (difference.empty()) return;
  std::fprintf(stderr, "timer_wheel_fuzz: %s\n", difference.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<asx::wheel_scenario> scenarios = asx::wheel_scenarios();
  byte_draws draws(data, size);
  const asx::wheel_scenario& scenario = scenarios[draws.next_below(scenarios.size())];
  asx::operation_source source(draws, scenario);
  asx::wheel_pair pair(scenario.config);
  while (!draws.is_empty()) expect_none(pair.apply(source.draw(pair.model())));
  while (pair.model().live() != 0) {
    expect_none(pair.apply({asx::wheel_call::collect, asx::instant{UINT64_MAX - 1}, 1000, asx::wheel_target::live, 0}));
  }
  expect_none(pair.apply({asx::wheel_call::check, {}, 0, asx::wheel_target::live, 0}));
  return 0;
}
