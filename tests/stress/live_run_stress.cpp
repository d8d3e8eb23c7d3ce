// A whole program on the machine's clock: it runs as long as it has to.
#include <gtest/gtest.h>

#include <cstdint>

#include "asx/coro/run.hpp"
#include "asx/coro/time.hpp"

namespace {

TEST(live_run_stress, a_program_has_no_limit_of_steps) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "ten million steps take too long under a sanitizer; the other builds run them";
#endif
  const auto out = asx::run([](asx::cx) -> asx::task<std::uint64_t> {
    std::uint64_t done = 0;
    for (; done < asx::runtime::default_max_steps + 10; ++done) co_await asx::yield();
    co_return done;
  });
  ASSERT_TRUE(out.is_ok()) << out.text;
  EXPECT_EQ(out.result.value(), asx::runtime::default_max_steps + 10);
}

}  // namespace
