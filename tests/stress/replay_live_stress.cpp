// A live run with real threads, the machine's clock, a channel, sleeps, wakes from a thread and blocking calls, written
// to a journal and played again: the same digest. Run it under the thread sanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/coro/blocking.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/foreign.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/journal/file.hpp"
#include "asx/lab/replay_live.hpp"
#include "asx/runtime/drive_live.hpp"

namespace {

using asx::cx;
using asx::status;
using asx::task;

// Ready once it was woken from outside so many times as it waits for.
class rung_op {
 public:
  rung_op(asx::foreign_handle& to, std::atomic<bool>& is_there, int times) noexcept
      : to_(to), is_there_(is_there), left_(times) {}
  status poll(cx& c) noexcept {
    if (const status s = c.checkpoint(); s != status::ok) return s;
    if (to_.is_null()) {
      if (const status s = asx::open_foreign(c, to_); s != status::ok) return s;
      is_there_.store(true);
    } else if (--left_ == 0) {
      return status::ok;
    }
    static_cast<void>(c.get_waker());
    return status::would_block;
  }
  void take() const noexcept {}

 private:
  asx::foreign_handle& to_;
  std::atomic<bool>& is_there_;
  int left_;
};

// The whole program, its threads included. `step_ms` is what a changed program changes.
void program(asx::runtime& rt, asx::blocking_pool& pool, std::uint64_t step_ms) {
  asx::foreign_handle bell;
  std::atomic<bool> is_there{false};
  std::atomic<bool> is_over{false};
  std::thread ringer([&] {
    while (!is_there.load() && !is_over.load()) std::this_thread::yield();
    while (!is_over.load()) {  // In a replay nobody hears it.
      bell.wake();
      std::this_thread::yield();
    }
  });
  auto main = asx::spawn_in(rt.kernel(), rt.root(), {.name = "main"}, [&](cx c) -> task<> {
    auto value = asx::foreign_value<int>(c);
    EXPECT_EQ(value.code, status::ok);
    const std::jthread bringer([p = std::move(value.promise)]() mutable { p.set(5); });
    EXPECT_EQ(co_await std::move(value.future), 5);
    auto made = asx::channel<int>(c, 2);
    EXPECT_EQ(made.code, status::ok);
    auto a = co_await asx::start(
        c,
        [step_ms](cx, asx::sender<int> tx) -> task<> {
          for (int i = 0; i < 10; ++i) {
            co_await asx::sleep(asx::duration::milliseconds(step_ms));
            co_await asx::send(tx, i);
          }
        },
        std::move(made.tx));
    auto b = co_await asx::start(
        c,
        [&pool](cx in, asx::receiver<int> rx) -> task<> {
          while (auto got = co_await asx::recv(rx)) {
            const int v = *got;
            EXPECT_EQ(co_await asx::blocking(pool, [v] { return v * v; }), v * v);
            co_await asx::sleep(asx::duration::microseconds(in.now().ns % 500));  // What it does depends on the time.
          }
        },
        std::move(made.rx));
    auto l = co_await asx::start(c, [&](cx) -> task<> { co_await rung_op(bell, is_there, 50); });
    co_await asx::join(a);
    co_await asx::join(b);
    co_await asx::join(l);
  });
  EXPECT_EQ(rt.run_until_quiescent(UINT64_MAX).ended, status::ok);
  is_over.store(true);
  ringer.join();
  bell.drop();
  main.handle.drop();
  rt.run_until_idle();
  EXPECT_TRUE(rt.shutdown(asx::duration::milliseconds(1)).is_quiescent());
}

TEST(replay_live_stress, a_run_with_threads_has_the_same_digest_again) {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::byte> bytes;
    const asx::write_port to{&bytes, [](void* self, std::span<const std::byte> more) noexcept {
                               auto& all = *static_cast<std::vector<std::byte>*>(self);
                               all.insert(all.end(), more.begin(), more.end());
                               return static_cast<std::int64_t>(more.size());
                             }};
    asx::blocking_pool pool({.threads = 2});
    asx::runtime_config config;
    asx::bin_writer file;
    ASSERT_EQ(file.open(asx::heap_memory(), to, asx::journal_header::of("core", 0)), status::ok);
    asx::digest128 live{};
    {
      asx::runtime_config recorded = config;
      recorded.sink = file.sink();
      asx::live_runtime rt(recorded);
      program(*rt, pool, 1);
      live = rt->journal().digest();
    }
    ASSERT_EQ(file.close(), status::ok);
    std::span<const std::byte> all(bytes);
    asx::live_recording run;
    ASSERT_EQ(asx::read_recording(asx::memory_reader(all), run).code, status::ok);
    EXPECT_TRUE(run.is_whole);
    const asx::live_replay again = asx::replay_live(run, config, [&pool](asx::runtime& rt) { program(rt, pool, 1); });
    ASSERT_TRUE(again.is_same()) << again.report();
    EXPECT_EQ(again.digest, live);
    EXPECT_GE(again.inputs_given, 60U);

    const asx::live_replay changed = asx::replay_live(run, config, [&pool](asx::runtime& rt) { program(rt, pool, 2); });
    ASSERT_FALSE(changed.is_same());
    ASSERT_TRUE(changed.found.run && changed.found.reference);
    EXPECT_EQ(changed.found.run->kind, asx::event_kind::timer_registered) << changed.report();
  }
}

}  // namespace
