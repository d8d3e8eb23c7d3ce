#include "asx/runtime/port_clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "asx/wheel/timer_wheel.hpp"

namespace {

using asx::duration;
using asx::instant;

TEST(virtual_clock, time_stands_still_until_it_is_moved) {  // laws 1 and 2
  asx::virtual_clock clock;
  const asx::clock_port port = clock.port();
  EXPECT_EQ(port.now(), instant{0});
  clock.advance_by(duration::microseconds(3));
  EXPECT_EQ(port.now(), instant{3000});
  clock.advance_to(instant{2999});
  EXPECT_EQ(port.now(), instant{3000}) << "a moment that lies behind changes nothing";
  clock.advance_to(instant{3001});
  EXPECT_EQ(port.now(), instant{3001});
}

TEST(virtual_clock, time_that_would_overflow_is_no_moment) {
  asx::virtual_clock clock;
  EXPECT_DEATH(clock.advance_by(duration::max()), "no moment to jump to");
}

// Goal:   deadlines inside one tick fire in their order and never early, driven by a clock that jumps to the next one.
// Method: nine timers within one millisecond, registered out of order; the drive asks the wheel where to jump to.
TEST(virtual_clock, a_drive_that_jumps_to_the_next_deadline_meets_each_exactly) {
  asx::virtual_clock clock;
  const asx::clock_port port = clock.port();
  asx::timer_wheel wheel({.capacity = 16});
  for (const std::uint64_t ns : {900U, 100U, 500U, 100U, 700U, 1U, 999'999U, 500'000U, 2U}) {
    asx::timer_handle handle;
    ASSERT_EQ(wheel.register_timer(instant{ns}, {ns, 0}, handle), asx::status::ok);
  }
  std::vector<std::uint64_t> fired;
  while (wheel.live() > 0) {
    clock.advance_to(wheel.next_deadline());
    std::array<asx::expired_timer, 4> batch;
    const std::size_t count = wheel.collect_expired(port.now(), batch);
    ASSERT_GT(count, 0U) << "next_deadline is exact: somebody is due there";
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(batch[i].deadline, port.now());
      fired.push_back(batch[i].token.record);
    }
  }
  EXPECT_EQ(fired, (std::vector<std::uint64_t>{1, 2, 100, 100, 500, 700, 900, 500'000, 999'999}));
}

}  // namespace
