#include "asx/sync/notify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "asx/runtime/testing/actor.hpp"

namespace asx {
namespace {

using testing::actor;

struct world {
  notify n;
  notify_wait waits[3];
  actor actors[3];
  task_handle tasks[3];
  std::vector<int> told;

  // Three tasks wait, in order; each ends when it is told.
  void start(runtime& rt) {
    EXPECT_EQ(notify::create(rt.kernel(), rt.root(), n, "news"), status::ok);
    for (int i = 0; i < 3; ++i) {
      actors[i].body = [this, i](cx& c) {
        const status s = n.poll_wait(c, waits[i]);
        if (s == status::would_block) return poll_result::pending;
        if (s == status::ok) told.push_back(i);
        return poll_result::ready;
      };
      EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &actors[i]}, tasks[i]), status::ok);
    }
    rt.run_until_idle();
  }
  void expect(std::uint32_t waiters, bool is_kept) const {
    std::uint32_t count = 0;
    bool kept = false;
    EXPECT_EQ(n.inspect(count, kept), status::ok);
    EXPECT_EQ(count, waiters);
    EXPECT_EQ(kept, is_kept);
  }
};

TEST(notify, tells_one_in_order_and_keeps_one_for_the_next_who_asks) {
  world w;
  runtime rt;
  w.start(rt);
  w.expect(3, false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(w.n.notify_one(), status::ok);
    rt.run_until_idle();
  }
  EXPECT_EQ(w.told, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(w.n.notify_one(), status::ok);
  EXPECT_EQ(w.n.notify_one(), status::ok);
  w.expect(0, true);
  EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &w.actors[1]}, w.tasks[1]), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.told.back(), 1);
  w.expect(0, false);
}

// who went on because of which notification is in the journal, also when nobody waited for it.
TEST(notify, journals_who_takes_the_notification_that_was_kept) {
  world w;
  runtime rt;
  w.start(rt);
  const auto taken = [&rt] {
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
      if (rt.journal().at(i).kind == event_kind::sync_notice_taken) out.push_back(rt.journal().at(i).object);
    }
    return out;
  };
  EXPECT_EQ(w.n.notify_all(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(taken(), std::vector<std::uint64_t>{}) << "they waited: that is told by the end of their waits";
  EXPECT_EQ(w.n.notify_one(), status::ok);
  task_handle late;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &w.actors[1], .is_held = true}, late),
            status::ok);
  task_report r;
  ASSERT_EQ(rt.kernel().inspect(late, r), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(taken(), std::vector<std::uint64_t>{r.id.value});
  EXPECT_EQ(rt.kernel().release_task(late), status::ok);
}

TEST(notify, tells_all_who_wait_and_keeps_nothing) {
  world w;
  runtime rt;
  w.start(rt);
  EXPECT_EQ(w.n.notify_all(), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.told, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(w.n.notify_all(), status::ok);
  w.expect(0, false);
}

// R-246, by each way to go away between being told and seeing it.
TEST(notify, passes_on_what_a_waiter_was_told_and_did_not_see) {
  enum class going { cancelled, dropped, ended };
  for (const going how : {going::cancelled, going::dropped, going::ended}) {
    world w;
    runtime rt;
    w.start(rt);
    EXPECT_EQ(w.n.notify_one(), status::ok);  // The first is told, and not polled yet.
    switch (how) {
      case going::cancelled: EXPECT_EQ(rt.kernel().request_cancel(w.tasks[0]), status::ok); break;
      case going::dropped: {
        const notify_wait moved = std::move(w.waits[0]);
        w.actors[0].body = [](cx&) { return poll_result::ready; };
        break;
      }
      case going::ended:
        EXPECT_EQ(rt.kernel().complete(w.tasks[0], task_outcome::err({status::io, 0})), status::ok);
        break;
    }
    rt.run_until_idle();
    EXPECT_EQ(w.told, (std::vector<int>{1}));
    w.expect(1, false);
    EXPECT_EQ(w.n.notify_one(), status::ok);
    rt.run_until_idle();
  }
}

TEST(notify, keeps_what_the_last_waiter_did_not_see) {
  world w;
  runtime rt;
  w.start(rt);
  EXPECT_EQ(w.n.notify_all(), status::ok);
  rt.run_until_idle();
  w.told.clear();
  EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &w.actors[0]}, w.tasks[0]), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.n.notify_one(), status::ok);
  EXPECT_EQ(rt.kernel().request_cancel(w.tasks[0]), status::ok);
  rt.run_until_idle();
  EXPECT_TRUE(w.told.empty());
  w.expect(0, true);
}

TEST(notify, says_disconnected_when_its_region_is_gone) {
  notify n;
  notify_wait wait;
  actor a;
  std::vector<status> got;
  runtime rt;
  region_handle region;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, region), status::ok);
  ASSERT_EQ(notify::create(rt.kernel(), region, n), status::ok);
  a.body = [&](cx& c) {
    got.push_back(n.poll_wait(c, wait));
    return got.back() == status::would_block ? poll_result::pending : poll_result::ready;
  };
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &actor::poll, .context = &a}, t), status::ok);
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(got, (std::vector<status>{status::would_block, status::disconnected}));
  EXPECT_EQ(n.notify_one(), status::disconnected);
  EXPECT_EQ(notify().notify_one(), status::stale_handle);
}

}  // namespace
}  // namespace asx
