// What the poll form of a channel asks the heap for once it is made: nothing, however many wait, and whoever listens.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "asx/base/testing/counted_new.hpp"
#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

using testing::news;

constexpr std::size_t producers = 4;

enum class form : std::uint8_t { permit, promise, message, list };
constexpr std::string_view names[] = {"permit", "promise", "message", "list"};

struct line {
  struct place {
    line* of = nullptr;
    sender<int> tx;
    tracked_sender<int> tracked;
    reserve_wait waiting;
    int left = 0;
    std::array<int, 5> batch{};
    std::span<int> rest;
  };
  /// One message, or five, where that is a list.
  static status send(place& at, cx& c) {
    switch (at.of->by) {
      case form::permit: {
        send_permit<int> permit;
        const status s = at.tx.poll_reserve(c, at.waiting, permit);
        return s == status::ok ? permit.send(at.left).code : s;
      }
      case form::promise: {
        tracked_permit<int> permit;
        const status s = at.tracked.poll_reserve(c, at.waiting, permit);
        return s == status::ok ? permit.send(at.left).code : s;
      }
      case form::message: return at.tx.poll_send(c, at.waiting, at.left);
      case form::list:
        if (at.rest.empty()) at.rest = at.batch;
        return at.tx.poll_send_many(c, at.waiting, at.rest);
    }
    return status::invalid_argument;
  }
  static poll_result produce(void* context, cx& c) {
    auto& at = *static_cast<place*>(context);
    while (at.left > 0) {
      const status s = send(at, c);
      if (s == status::would_block) {
        ++at.of->waits;
        return poll_result::pending;
      }
      if (s != status::ok) return poll_result::error;
      at.left -= at.of->by == form::list ? 5 : 1;
    }
    at.tx.drop();
    at.tracked.drop();
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
  form by = form::permit;
  std::uint64_t waits = 0;
  std::uint64_t received = 0;
};

void expect_nothing_asked(form by, bool is_quiet, std::uint32_t capacity) {
  runtime_config config;
  if (is_quiet) {
    config.journaling = journal_mode::off;
    config.behaviour.ghosts = ghost_mode::off;
  }
  runtime rt(config);
  line w;  // Its ends go before the runtime.
  w.by = by;
  auto ends = channel<int>(rt.kernel(), rt.root(), capacity);
  ASSERT_EQ(ends.code, status::ok);
  w.rx = std::move(ends.rx);
  task_handle t;
  for (line::place& p : w.places) {
    p.of = &w;
    p.tx = ends.tx;
    p.tracked = tracked_sender<int>(ends.tx);
    p.left = 50;
    ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &line::produce, .context = &p}, t), status::ok);
  }
  ends.tx.drop();
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &line::consume, .context = &w}, t), status::ok);
  const std::uint64_t before = news;
  ASSERT_NE(before, 0U) << "the channel was made of something";
  rt.run_until_idle();
  EXPECT_EQ(news, before);
  EXPECT_EQ(w.received, 50U * producers);
  EXPECT_GT(w.waits, 30U) << "each of them waited again and again";
}

TEST(mpsc_memory, a_channel_that_was_made_asks_for_nothing_though_many_wait_often) {
  for (const form by : {form::permit, form::promise, form::message, form::list}) {
    for (const bool is_quiet : {false, true}) {
      for (const std::uint32_t capacity : {1U, 3U}) {
        SCOPED_TRACE(std::string(names[static_cast<std::size_t>(by)]) + (is_quiet ? ", quiet" : ", told") +
                     ", capacity " + std::to_string(capacity));
        expect_nothing_asked(by, is_quiet, capacity);
      }
    }
  }
}

}  // namespace
}  // namespace asx
