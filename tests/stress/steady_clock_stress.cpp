// The machine's clock behind its port: it begins near zero, never goes back, and may be read by many threads.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "asx/runtime/port_clock.hpp"

namespace {

TEST(steady_clock_stress, it_never_goes_back_in_any_thread) {
  asx::steady_clock clock;
  const asx::clock_port port = clock.port();
  EXPECT_LT(port.now(), asx::instant{} + asx::duration::hours(1)) << "it is counted from when it was made";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([port] {
      asx::instant last = port.now();
      for (int i = 0; i < 100'000; ++i) {
        const asx::instant now = port.now();
        ASSERT_GE(now, last);
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
