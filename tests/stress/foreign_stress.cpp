// Values that other threads bring, many at once, some too late. Run it under the thread sanitizer as well.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "asx/coro/foreign.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/time.hpp"

namespace {

using asx::cx;
using asx::status;
using asx::task;

TEST(foreign_stress, every_value_comes_to_the_one_that_waits_for_it) {
  std::vector<std::thread> others;
  const auto out = asx::run([&others](cx c) -> task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      auto made = asx::foreign_value<std::vector<std::uint64_t>>(c);
      if (made.code != status::ok) co_await asx::fail(made.code);
      others.emplace_back([p = std::move(made.promise), i]() mutable { p.set(std::vector<std::uint64_t>(3, i)); });
      const std::vector<std::uint64_t> got = co_await std::move(made.future);
      sum += got.at(0) + got.at(2);
    }
    co_return sum;
  });
  for (std::thread& t : others) t.join();
  ASSERT_TRUE(out.is_ok()) << out.text;
  EXPECT_EQ(out.result.value(), 200U * 199U);
}

TEST(foreign_stress, a_promise_may_be_kept_dropped_or_late_while_its_task_goes) {
  std::vector<std::thread> others;
  const auto out = asx::run([&others](cx c) -> task<int> {
    int answered = 0;
    for (int i = 0; i < 300; ++i) {
      auto made = asx::foreign_value<int>(c);
      if (made.code != status::ok) co_await asx::fail(made.code);
      others.emplace_back([p = std::move(made.promise), i]() mutable {
        if (i % 3 != 0) p.set(i);
      });
      if (i % 2 == 0) continue;  // Nobody waits: the future goes at the same time.
      const auto got = co_await asx::attempt(std::move(made.future));
      EXPECT_EQ(got.code, i % 3 == 0 ? status::disconnected : status::ok);
      ++answered;
      if (i % 50 == 0) co_await asx::yield();
    }
    co_return answered;
  });
  for (std::thread& t : others) t.join();
  ASSERT_TRUE(out.is_ok()) << out.text;
  EXPECT_EQ(out.result.value(), 150);
}

}  // namespace
