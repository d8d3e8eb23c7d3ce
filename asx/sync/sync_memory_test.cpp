// What a semaphore, a mutex and a notify ask the heap for once they are made: nothing, however often tasks wait.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "asx/base/testing/counted_new.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/sync/mutex.hpp"
#include "asx/sync/notify.hpp"
#include "asx/sync/semaphore.hpp"

namespace asx {
namespace {

using testing::news;

struct crowd {
  struct place {
    crowd* of = nullptr;
    std::uint64_t wants = 1;
    semaphore_wait for_units, for_lock;
    notify_wait for_word;
    semaphore_units units;
    mutex_guard<int> guard;
    int left = 50;
    int step = 0;
  };
  /// Units, then the lock, which it keeps over a poll, then a word from whoever is next.
  static poll_result work(void* context, cx& c) {
    auto& at = *static_cast<place*>(context);
    crowd& all = *at.of;
    while (at.left != 0) {
      status s = status::ok;
      if (at.step == 0) s = all.few.poll_acquire(c, at.for_units, at.wants, at.units);
      if (at.step == 1) s = all.one.poll_lock(c, at.for_lock, at.guard);
      if (at.step == 3) s = all.word.poll_wait(c, at.for_word);
      if (s == status::would_block) {
        ++all.waits;
        return poll_result::pending;
      }
      if (s != status::ok) return poll_result::error;
      if (++at.step == 2) {
        c.yield();
        return poll_result::pending;
      }
      if (at.step == 3) {
        ++*at.guard;
        at.guard.unlock();
        at.units.release();
        static_cast<void>(all.word.notify_one());
      }
      if (at.step != 4) continue;
      at.step = 0;
      --at.left;
    }
    static_cast<void>(all.word.notify_one());
    return poll_result::ready;
  }

  semaphore few;
  mutex<int> one;
  notify word;
  std::array<place, 5> places;
  std::uint64_t waits = 0;
};

TEST(sync_memory, what_was_made_asks_for_nothing_though_many_wait_often) {
  for (const bool is_quiet : {false, true}) {
    runtime_config config;
    if (is_quiet) {
      config.journaling = journal_mode::off;
      config.behaviour.ghosts = ghost_mode::off;
    }
    crowd w;
    runtime rt(config);
    ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 3, w.few), status::ok);
    ASSERT_EQ(mutex<int>::create(rt.kernel(), rt.root(), w.one, "counted", 0), status::ok);
    ASSERT_EQ(notify::create(rt.kernel(), rt.root(), w.word), status::ok);
    task_handle t;
    std::uint64_t wants = 1;
    for (crowd::place& p : w.places) {
      p.of = &w;
      p.wants = 1 + wants++ % 3;
      ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &crowd::work, .context = &p}, t), status::ok);
    }
    const std::uint64_t before = news;
    ASSERT_NE(before, 0U) << "they were made of something";
    rt.run_until_idle();
    EXPECT_EQ(news, before) << (is_quiet ? "quiet" : "told");
    mutex_guard<int> guard;
    ASSERT_EQ(w.one.try_lock(guard), status::ok);
    EXPECT_EQ(*guard, 250);
    EXPECT_GT(w.waits, 250U) << "each of them waited again and again";
    guard.unlock();
  }
}

}  // namespace
}  // namespace asx
