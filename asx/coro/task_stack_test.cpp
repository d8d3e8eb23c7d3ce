// The stack stays flat: however often a coroutine awaits, however deep coroutines lie in each other, and however they
// end. Measured by the addresses of stack frames, so that it tells at every optimisation level; build it at -O0 too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "asx/coro/chan.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"

namespace asx {
namespace {

// How far apart the places on the stack were from which it was asked.
class stack_span {
 public:
  [[gnu::noinline]] void look() {
    // Not the address of a local: the address sanitizer keeps those elsewhere.
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, at);
    highest_ = std::max(highest_, at);
  }
  [[nodiscard]] std::uintptr_t bytes() const { return highest_ - lowest_; }

 private:
  std::uintptr_t lowest_ = UINTPTR_MAX;
  std::uintptr_t highest_ = 0;
};

constexpr std::uintptr_t little = 16 * 1024;

#if defined(__SANITIZE_ADDRESS__)
constexpr int many = 200'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr int many = 200'000;
#else
constexpr int many = 10'000'000;
#endif
#else
constexpr int many = 10'000'000;
#endif

task<int> one(cx, stack_span* seen) {
  seen->look();
  co_return 1;
}

TEST(coro_stack, is_flat_after_ten_million_awaits_of_a_child) {
  runtime_config config;
  config.journaling = journal_mode::off;
  runtime rt(config);
  stack_span seen;
  const auto out = testing::outcome_of(
      rt,
      [](cx c, stack_span* s) -> task<std::int64_t> {
        std::int64_t sum = 0;
        for (int i = 0; i < many; ++i) sum += co_await one(c, s);
        co_return sum;
      },
      &seen);
  EXPECT_EQ(out.value(), many);
  EXPECT_LT(seen.bytes(), little);
}

TEST(coro_stack, is_flat_after_a_million_ready_operations) {
  runtime_config config;
  config.journaling = journal_mode::off;
  runtime rt(config);
  stack_span seen;
  const auto out = testing::outcome_of(
      rt,
      [](cx c, stack_span* s) -> task<int> {
        auto [code, tx, rx] = channel<int>(c, 1);
        int sum = 0;
        for (int i = 0; i < many / 10; ++i) {
          co_await send(tx, 1);
          sum += *co_await recv(rx);
          s->look();
        }
        co_return sum;
      },
      &seen);
  EXPECT_EQ(out.value(), many / 10);
  EXPECT_LT(seen.bytes(), little);
}

// Looks at the stack when it dies.
class looks_last {
 public:
  explicit looks_last(stack_span& at) : at_(at) {}
  looks_last(const looks_last&) = delete;
  looks_last& operator=(const looks_last&) = delete;
  ~looks_last() { at_.look(); }

 private:
  stack_span& at_;
};

enum class ending { value, err, cancel, complete, unwatched_cancel };

task<int> deep(cx c, stack_span* going, stack_span* ended, int left, ending how) {
  const looks_last last(*ended);
  going->look();
  if (left == 0) {
    if (how == ending::err) co_await fail(status::corrupt);
    if (how == ending::unwatched_cancel) {
      EXPECT_EQ(c.mask_enter(), status::ok);
      for (;;) co_await sleep(duration::seconds(1));
    }
    if (how != ending::value) co_await sleep(duration::hours(1));
    co_return 0;
  }
  co_return co_await deep(c, going, ended, left - 1, how) + 1;
}

TEST(coro_stack, is_flat_with_ten_thousand_coroutines_in_each_other_however_they_end) {
  constexpr int depth = 10'000;
  for (const ending how : {ending::value, ending::err, ending::cancel, ending::complete, ending::unwatched_cancel}) {
    runtime rt;
    stack_span going;
    stack_span ended;
    auto made = spawn_in(rt.kernel(), rt.root(), {}, deep, &going, &ended, depth, how);
    rt.run_until_idle();
    if (how == ending::cancel || how == ending::unwatched_cancel) {
      EXPECT_EQ(made.handle.cancel({cancel_kind::shutdown, {}}), status::ok);
    }
    if (how == ending::complete) {
      EXPECT_EQ(rt.kernel().complete(made.handle.task(), task_outcome::err({status::corrupt, 0})), status::ok);
    }
    rt.run_until_quiescent();
    outcome<int> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    if (how == ending::value) {
      EXPECT_EQ(out.value(), depth);
    } else {
      EXPECT_FALSE(out.is_ok());
    }
    EXPECT_LT(going.bytes(), little) << static_cast<int>(how);
    EXPECT_LT(ended.bytes(), little) << static_cast<int>(how);
  }
}

}  // namespace
}  // namespace asx
