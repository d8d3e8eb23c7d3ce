// What the poll form of a channel asks the heap for once it is made: nothing, however many wait, and whoever listens.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "asx/chan/mpsc.hpp"
#include "asx/runtime/runtime.hpp"

namespace {
std::uint64_t news = 0;  // Calls of the global operator new.
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++news;
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) std::abort();
  return block;
}
// All forms: a sanitizer has its own of those that are not replaced, and sees blocks of one handed to the other.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++news;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
  return ::operator new(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t& no) noexcept {
  return ::operator new(bytes, no);
}
[[gnu::noinline]] void operator delete[](void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}

namespace asx {
namespace {

constexpr std::size_t producers = 4;

struct line {
  struct place {
    line* of = nullptr;
    sender<int> tx;
    reserve_wait waiting;
    int left = 0;
  };
  static poll_result produce(void* context, cx& c) {
    auto& at = *static_cast<place*>(context);
    while (at.left != 0) {
      send_permit<int> permit;
      const status s = at.tx.poll_reserve(c, at.waiting, permit);
      if (s == status::would_block) {
        ++at.of->waits;
        return poll_result::pending;
      }
      if (s != status::ok || permit.send(at.left--).code != status::ok) return poll_result::error;
    }
    at.tx.drop();
    return poll_result::ready;
  }
  static poll_result consume(void* context, cx& c) {
    auto& at = *static_cast<line*>(context);
    const recv_result<int> r = at.rx.poll_recv(c);
    if (r.code == status::disconnected) return poll_result::ready;
    if (r.code == status::ok) {  // One a poll, so that producers wait.
      ++at.received;
      c.yield();
    }
    return poll_result::pending;
  }

  std::array<place, producers> places;
  receiver<int> rx;
  std::uint64_t waits = 0;
  std::uint64_t received = 0;
};

TEST(mpsc_memory, a_channel_that_was_made_asks_for_nothing_though_many_wait_often) {
  for (const bool is_quiet : {false, true}) {
    for (const std::uint32_t capacity : {1U, 3U}) {
      runtime_config config;
      if (is_quiet) {
        config.journaling = journal_mode::off;
        config.behaviour.ghosts = ghost_mode::off;
      }
      runtime rt(config);
      line w;  // Its ends go before the runtime.
      auto ends = channel<int>(rt.kernel(), rt.root(), capacity);
      ASSERT_EQ(ends.code, status::ok);
      w.rx = std::move(ends.rx);
      task_handle t;
      for (line::place& p : w.places) {
        p.of = &w;
        p.tx = ends.tx;
        p.left = 50;
        ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &line::produce, .context = &p}, t), status::ok);
      }
      ends.tx.drop();
      ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &line::consume, .context = &w}, t), status::ok);
      const std::uint64_t before = news;
      ASSERT_NE(before, 0U) << "the channel was made of something";
      rt.run_until_idle();
      EXPECT_EQ(news, before) << (is_quiet ? "quiet" : "told") << ", capacity " << capacity;
      EXPECT_EQ(w.received, 50U * producers);
      EXPECT_GT(w.waits, 50U) << "each of them waited again and again";
    }
  }
}

}  // namespace
}  // namespace asx
